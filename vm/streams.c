/* SPDX-License-Identifier: MIT */
/*
 * The standard streams: the buffer of output, and the task that writes it out; whose turn it is to read. See streams.h.
 * What is under way in the kernel stays where it is in the buffer; what comes meanwhile is put behind it.
 *
 * Who waits stands in a line of its shard, and the shard has a bit, both set under the lock: so whoever changes
 * something finds it. A bit may stay that is no longer true, as when who waited was cancelled; then a shard is rung in
 * vain.
 */
#include "vm/streams.h"

#include <coir/coir.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/base/nonblocking.h"
#include "runtime/base/queue.h"
#include "vm/world.h"

void coir_streams_init(struct coir_streams *s, bool shared)
{
    memset(s, 0, sizeof *s);
    s->shared = shared;
    pthread_mutex_init(&s->lock, NULL);
}

void coir_streams_end(struct coir_streams *s)
{
    free(s->out.buffer);
    s->out.buffer = NULL;
    pthread_mutex_destroy(&s->lock);
}

/* ---- who waits ---- */

static uint64_t bit_of(const struct coir_vm *vm)
{
    return UINT64_C(1) << vm->shard;
}

static void wake_line(struct coir_link *line)
{
    struct coir_link woken;

    coir_list_init(&woken);
    coir_list_splice_back(&woken, line);
    while (!coir_list_empty(&woken))
        coir_fiber_wake(coir_container_of(woken.next, struct coir_fiber, op.waiter.link));
}

bool coir_output_is_free(const struct coir_vm *here)
{
    const struct coir_output *const o = &here->streams->out;

    return !o->pen && coir_list_empty(&here->lines.out) && !(o->waiting & ~bit_of(here));
}

enum coir_native_result coir_output_wait(struct coir_fiber *f)
{
    f->vm->streams->out.waiting |= bit_of(f->vm);
    return coir_park(f, &f->vm->lines.out);
}

void coir_output_wake(struct coir_vm *here)
{
    struct coir_output *const o = &here->streams->out;
    uint64_t others = o->waiting & ~bit_of(here);

    o->waiting = 0;
    wake_line(&here->lines.out);
    for (; others; others &= others - 1)
        coir_world_ring(here->world->vms[__builtin_ctzll(others)]);
}

/* Nobody reads: the first in the line of the next shard behind this one that has a line; this one's own comes last. */
static void offer(struct coir_vm *here)
{
    struct coir_input *const in = &here->streams->in;
    const uint32_t n = here->world->n;

    in->user = NULL;
    in->offered = NULL;
    for (uint32_t i = 1; i < n && (in->waiting & ~bit_of(here)); i++) {
        struct coir_vm *const vm = here->world->vms[(here->shard + i) % n];

        if (in->waiting & bit_of(vm)) {
            in->offered = vm;
            coir_world_ring(vm);
            return;
        }
    }
    if (!coir_list_empty(&here->lines.in))
        coir_fiber_wake(coir_container_of(here->lines.in.next, struct coir_fiber, op.waiter.link));
}

int coir_input_take(struct coir_fiber *f)
{
    struct coir_input *const in = &f->vm->streams->in;
    int status;

    coir_streams_lock(f->vm->streams);
    status = in->user == f;
    if (!status && (in->user || (in->offered && in->offered != f->vm)))
        status = coir_fiber_cancelled(f) ? -ECANCELED : -EAGAIN;
    if (status == -EAGAIN) {
        in->waiting |= bit_of(f->vm);
        coir_park(f, &f->vm->lines.in);
    } else if (status == 0) {
        in->user = f;
        in->offered = NULL;
    }
    coir_streams_unlock(f->vm->streams);
    return status;
}

void coir_input_leave(struct coir_vm *here)
{
    coir_streams_lock(here->streams);
    offer(here);
    coir_streams_unlock(here->streams);
}

void coir_streams_rung(struct coir_vm *here)
{
    struct coir_input *const in = &here->streams->in;

    coir_streams_lock(here->streams);
    wake_line(&here->lines.out);
    if (coir_list_empty(&here->lines.in))
        in->waiting &= ~bit_of(here);
    if (in->offered == here && coir_list_empty(&here->lines.in))
        offer(here);
    else if (in->offered == here)
        coir_fiber_wake(coir_container_of(here->lines.in.next, struct coir_fiber, op.waiter.link));
    coir_streams_unlock(here->streams);
}

/* ---- what was printed ---- */

static void went(struct coir_output *o, size_t n)
{
    o->begin += n;
    if (o->begin == o->end)
        o->begin = o->end = 0;
}

/* ---- at once ---- */

/* Where it is not known how to write without waiting: a file has no need to, and a terminal is told for once. */
static ssize_t write_told(int fd, const char *bytes, size_t len)
{
    struct coir_nonblocking hold;
    struct stat st;
    const bool is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    ssize_t n = is_file ? 0 : coir_nonblocking_begin(&hold, fd);

    if (n < 0)
        return n;
    n = write(fd, bytes, len);
    n = n < 0 ? -errno : n;
    if (!is_file)
        coir_nonblocking_end(&hold);
    return n;
}

static ssize_t write_once(int fd, const char *bytes, size_t len)
{
    const struct iovec iov = { (void *)(uintptr_t)bytes, len };
    const ssize_t n = pwritev2(fd, &iov, 1, -1, RWF_NOWAIT);

    if (n >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
        return n < 0 ? -errno : n;
    return write_told(fd, bytes, len);
}

ssize_t coir_write_now(int fd, const char *bytes, size_t len)
{
    size_t done = 0;
    ssize_t n = 0;

    while (done < len && (n >= 0 || n == -EINTR)) {
        n = write_once(fd, bytes + done, len - done);
        done += n > 0 ? (size_t)n : 0;
    }
    return done ? (ssize_t)done : n;
}

void coir_output_now(struct coir_output *o)
{
    ssize_t n;

    if (o->begin == o->end || o->under_way || o->status)
        return;
    n = coir_write_now(STDOUT_FILENO, o->buffer + o->begin, o->end - o->begin);
    if (n > 0)
        went(o, (size_t)n);
    else if (n < 0 && n != -EAGAIN)
        o->status = (int)n;
}

void coir_output_flush(struct coir_streams *s)
{
    coir_streams_lock(s);
    coir_output_now(&s->out);
    coir_streams_unlock(s);
}

/* ---- the task ---- */

struct output_writer {
    coir_frame_void;
    coir_args(struct coir_vm *vm;);
    const char *from;
    size_t len;
    struct coir_write write;
};
static coir_declare(output_writer);

/* What is left is under way from here on. False: nothing is, and whoever puts something in needs another writer. */
static bool is_left(struct output_writer *f)
{
    struct coir_streams *const s = f->vm->streams;
    struct coir_output *const o = &s->out;
    bool more;

    coir_streams_lock(s);
    coir_output_now(o);
    more = o->begin < o->end && !o->status;
    f->from = o->buffer + o->begin;
    f->len = o->end - o->begin;
    o->under_way = more;
    o->has_writer = more;
    coir_output_wake(f->vm);
    coir_streams_unlock(s);
    return more;
}

static void is_written(struct output_writer *f)
{
    struct coir_streams *const s = f->vm->streams;
    const int status = coir_status(&f->write);

    coir_streams_lock(s);
    s->out.under_way = false;
    if (status == 0)
        went(&s->out, f->write.result);
    else if (status != -ECANCELED)
        s->out.status = status;
    else
        s->out.has_writer = false;
    coir_output_wake(f->vm);
    coir_streams_unlock(s);
}

/* What is not taken at once is waited for. Cancelled it leaves the rest: the run is ending. */
coir_body(output_writer, f) {
    while (is_left(f)) {
        coir_await(f, &f->write, coir_write, .fd = STDOUT_FILENO, .buf = f->from, .len = f->len);
        is_written(f);
        if (coir_status(&f->write) == -ECANCELED)
            break;
    }
    coir_keeper_wake(f->vm);                /* which may wait for this */
} coir_end

/* There is a buffer, and somebody who will write it. */
static int begin(struct coir_vm *here)
{
    struct coir_output *const o = &here->streams->out;
    struct coir_task *writer;

    if (o->status)
        return o->status;
    if (!o->buffer)
        o->buffer = malloc(COIR_OUTPUT_ROOM);
    if (!o->buffer)
        return -ENOMEM;
    if (o->has_writer)
        return 0;
    writer = coir_new(output_writer, .vm = here);
    if (!writer)
        return -ENOMEM;
    o->has_writer = true;
    coir_detach(writer);
    return 0;
}

static size_t room(struct coir_output *o)
{
    if (o->begin && !o->under_way) {
        memmove(o->buffer, o->buffer + o->begin, o->end - o->begin);
        o->end -= o->begin;
        o->begin = 0;
    }
    return COIR_OUTPUT_ROOM - o->end;
}

static void put(struct coir_output *o, const char *bytes, size_t len)
{
    memcpy(o->buffer + o->end, bytes, len);
    o->end += len;
}

int coir_output_put(struct coir_vm *here, const char *bytes, size_t len)
{
    struct coir_output *const o = &here->streams->out;
    const int status = begin(here);

    if (status < 0)
        return status;
    if (COIR_OUTPUT_ROOM - o->end < len && room(o) < len)
        return -EAGAIN;
    put(o, bytes, len);
    return 0;
}

int coir_output_put_some(struct coir_vm *here, const char *bytes, size_t len, size_t *taken)
{
    struct coir_output *const o = &here->streams->out;
    const int status = begin(here);
    const size_t fits = status < 0 ? 0 : room(o);

    *taken = len < fits ? len : fits;
    if (status < 0)
        return status;
    put(o, bytes, *taken);
    return 0;
}

/* ---- at the end ---- */

static int write_rest(struct coir_output *o)
{
    struct pollfd room_there = { .fd = STDOUT_FILENO, .events = POLLOUT };

    while (o->begin < o->end && !o->status) {
        const ssize_t n = write(STDOUT_FILENO, o->buffer + o->begin, o->end - o->begin);

        if (n >= 0)
            went(o, (size_t)n);
        else if (errno == EAGAIN)
            poll(&room_there, 1, -1);
        else if (errno != EINTR)
            o->status = -errno;
    }
    return o->status && !o->told ? o->status : 0;
}

/* A reader who is gone is told of as in the run, by -EPIPE. */
int coir_output_finish(struct coir_output *o)
{
    struct sigaction ignored = { .sa_handler = SIG_IGN }, before;
    int status;

    if (o->begin == o->end && !o->status)
        return 0;
    sigaction(SIGPIPE, &ignored, &before);
    status = write_rest(o);
    sigaction(SIGPIPE, &before, NULL);
    return status;
}
