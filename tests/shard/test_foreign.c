/* SPDX-License-Identifier: MIT */
/*
 * A shard inside another loop, a plain epoll one: timers, I/O and cells from other threads make its descriptor
 * readable; nothing makes the loop spin; what is left at the close is cancelled and waited for.
 */
#include "runtime/plane/uring.h"
#include "task/help.h"

#include <sys/epoll.h>
#include <sys/socket.h>

/* Polls the shard's descriptor and turns it, until everything has ended or `ms` have passed. The number of turns;
 * negative: out of time. */
static int drive(struct coir_shard *s, int ms)
{
    const int ep = epoll_create1(0);
    struct epoll_event ev = { .events = EPOLLIN };
    struct timespec t;
    int turns = 0, more = 1;
    int64_t end;

    epoll_ctl(ep, EPOLL_CTL_ADD, coir_shard_fd(s), &ev);
    clock_gettime(CLOCK_MONOTONIC, &t);
    end = t.tv_sec * 1000 + t.tv_nsec / 1000000 + ms;
    while (more) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        const int64_t left = end - (t.tv_sec * 1000 + t.tv_nsec / 1000000);
        const int n = left > 0 ? epoll_wait(ep, &ev, 1, (int)left) : 0;
        if (n < 0 && errno == EINTR)         /* the ring's completions do that */
            continue;
        if (n <= 0)
            break;
        more = coir_turn(s);
        turns++;
    }
    close(ep);
    return more ? -turns - 1 : turns;
}

struct naps {
    coir_frame_void;
    coir_args(int times;);
    int i;
    struct coir_sleep sleep;
};
static coir_declare(naps);

coir_body(naps, f) {
    for (f->i = 0; f->i < f->times; f->i++)
        coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
} coir_end

static void timers(void)
{
    struct coir_shard *s = coir_shard_open(NULL, coir_new(naps, .times = 20));

    if (!OK(s != NULL, "a shard in this thread"))
        return;
    EQ(coir_shard_id(), 0, "which is shard 0");
    EQ(coir_shard_count(), 1, "of one");
    EQ(coir_run(NULL, coir_new(naps)), -EBUSY, "so that it cannot run another");
    OK(coir_shard_fd(s) >= 0, "it has a descriptor");
    const int turns = drive(s, 20000);
    OK(turns > 0, "timers make it readable");
    OK(turns <= 20 * 4 + 10, "twenty naps take not many more turns (%d): it is not readable for nothing",
       turns);
    EQ(coir_shard_close(s), 0, "it ended well");
    EQ(coir_shard_id(), -1, "this thread is no shard any more");
}

/* ---- sockets ---- */

struct echo {
    coir_frame(size_t);
    coir_args(int fd;);
    char buf[64];
    size_t n;
    union {
        struct coir_read read;
        struct coir_write_all write;
    };
};
static coir_declare(echo);

coir_body(echo, f) {
    for (;;) {
        coir_get(f, f->n, &f->read, coir_read, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf);
        if (f->n == 0)
            break;
        coir_try(f, &f->write, coir_write_all, .fd = f->fd, .buf = f->buf, .len = f->n);
        f->result += f->n;
    }
} coir_end

static int peer_good;

/* The other end, in a thread: 50 times a byte there and back. */
static void *peer(void *fd)
{
    char byte;

    for (int i = 0; i < 50; i++) {
        byte = (char)i;
        usleep(i % 5 * 300);
        if (write(*(int *)fd, &byte, 1) != 1 || read(*(int *)fd, &byte, 1) != 1 || byte != (char)i)
            return NULL;
        peer_good++;
    }
    shutdown(*(int *)fd, SHUT_WR);
    return NULL;
}

static void sockets(void)
{
    struct coir_shard *s;
    pthread_t thread;
    int fds[2];

    peer_good = 0;
    socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
    s = coir_shard_open(NULL, coir_new(echo, .fd = fds[0]));
    pthread_create(&thread, NULL, peer, &fds[1]);
    const int turns = drive(s, 30000);
    OK(turns > 0, "an echo server in another loop");
    pthread_join(thread, NULL);
    EQ(peer_good, 50, "each byte came back");
    OK(turns < 50 * 8, "in %d turns", turns);
    EQ(coir_shard_close(s), 0, "it ended well");
    close(fds[0]);
    close(fds[1]);
}

/* ---- cells ---- */

enum { CELLS = 100 };

static struct coir_cell *volatile handed;

static void *completes(void *unused)
{
    for (int i = 0; i < CELLS; i++) {
        struct coir_cell *c;
        while (!(c = __atomic_exchange_n(&handed, NULL, __ATOMIC_ACQ_REL)))
            usleep(50);
        usleep(i % 3 * 200);
        coir_cell_complete(c, 0, i);
    }
    return unused;
}

struct waits {
    coir_frame(int64_t);
    coir_no_args;
    int i;
    struct coir_cell cell;
    struct coir_cell_wait wait;
};
static coir_declare(waits);

static int64_t cell_sum;

coir_body(waits, f) {
    cell_sum = 0;
    for (f->i = 0; f->i < CELLS; f->i++) {
        coir_cell_init(&f->cell);
        __atomic_store_n(&handed, &f->cell, __ATOMIC_RELEASE);
        coir_try(f, &f->wait, coir_cell_wait, .cell = &f->cell);
        cell_sum += f->wait.result;
    }
} coir_end

static void cells(void)
{
    struct coir_shard *s = coir_shard_open(NULL, coir_new(waits));
    pthread_t thread;

    pthread_create(&thread, NULL, completes, NULL);
    const int turns = drive(s, 30000);
    OK(turns > 0, "cells completed by a thread make it readable");
    OK(turns <= CELLS * 6 + 10, "a cell takes a few turns (%d for %d): none for nothing", turns, CELLS);
    pthread_join(thread, NULL);
    EQ(cell_sum, CELLS * (CELLS - 1) / 2, "each value came");
    EQ(coir_shard_close(s), 0, "it ended well");
}

/* After a wake-up from another thread, and with nothing to do, the descriptor is quiet. */
struct idle {
    coir_frame_void;
    coir_args(struct coir_cell *cell;);
    union {
        struct coir_cell_wait wait;
        struct coir_sleep sleep;
    };
};
static coir_declare(idle);

coir_body(idle, f) {
    coir_try(f, &f->wait, coir_cell_wait, .cell = f->cell);
    coir_try(f, &f->sleep, coir_sleep, .ns = 3600 * COIR_S);
} coir_end

static void *complete_one(void *c)
{
    usleep(20000);
    coir_cell_complete((struct coir_cell *)c, 0, 0);
    return NULL;
}

static void quiet(void)
{
    struct coir_cell cell;
    pthread_t thread;

    coir_cell_init(&cell);
    struct coir_shard *s = coir_shard_open(NULL, coir_new(idle, .cell = &cell));
    pthread_create(&thread, NULL, complete_one, &cell);
    const int turns = -(drive(s, 300) + 1);
    OK(turns > 0 && turns < 15, "a shard that sleeps for an hour has few turns in 0.3 s (%d)", turns);
    pthread_join(thread, NULL);
    EQ(coir_shard_close(s), -ECANCELED, "closing cancels what is left");
}

/* The ring says that it has work, and has none: as when a thread of the kernel's was late to say so. */
static void mislead(void)
{
    struct coir_plane *plane = coir_plane_here();

    if (plane->kind == &coir_uring)
        __atomic_fetch_or(coir_uring_self(plane)->ring.sq.kflags, IORING_SQ_TASKRUN, __ATOMIC_SEQ_CST);
}

struct misled {
    coir_frame_void;
    coir_no_args;
    struct coir_sleep sleep;
};
static coir_declare(misled);

coir_body(misled, f) {
    mislead();
    coir_try(f, &f->sleep, coir_sleep, .ns = 3600 * COIR_S);
} coir_end

static void in_vain(void)
{
    struct coir_shard *s = coir_shard_open(NULL, coir_new(misled));
    const int turns = -(drive(s, 100) + 1);

    OK(turns > 0 && turns < 15, "nor has one that is told of work that is none (%d)", turns);
    EQ(coir_shard_close(s), -ECANCELED, "closed");
}

/* This thread, between turns, completes a cell and cancels nothing: the next turn is due. */
static void between(void)
{
    struct coir_cell cell;

    coir_cell_init(&cell);
    struct coir_shard *s = coir_shard_open(NULL, coir_new(waits));
    drive(s, 20);
    for (int i = 0; i < CELLS; i++) {
        struct coir_cell *c = __atomic_exchange_n(&handed, NULL, __ATOMIC_ACQ_REL);
        if (c)
            coir_cell_complete(c, 0, 1);
        if (drive(s, i == CELLS - 1 ? 5000 : 20) >= 0)
            break;
    }
    EQ(cell_sum, CELLS, "cells completed between turns");
    EQ(coir_shard_close(s), 0, "it ended well");
}

/* ---- what cannot be opened ---- */

static void errors(void)
{
    const struct coir_options two = { .shards = 2 }, bad = { .io = "kqueue" };

    errno = 0;
    OK(!coir_shard_open(&two, coir_new(naps)) && errno == EINVAL, "two shards in one loop");
    errno = 0;
    OK(!coir_shard_open(&bad, coir_new(naps)) && errno == EINVAL, "no such plane");
    errno = 0;
    OK(!coir_shard_open(NULL, NULL) && errno == ENOMEM, "no task");
    struct coir_shard *s = coir_shard_open(NULL, coir_new(naps));
    errno = 0;
    OK(!coir_shard_open(NULL, coir_new(naps)) && errno == EBUSY, "a second shard");
    EQ(coir_shard_close(s), 0, "closed before its first turn: the task ran");
}

/* Virtual time: each turn may jump, and none waits. */
static void virtual_time(void)
{
    setenv("COIR_TIME", "virtual", 1);
    struct coir_shard *s = coir_shard_open(NULL, coir_new(naps, .times = 1000));
    OK(drive(s, 20000) > 0, "virtual time in another loop");
    EQ(coir_shard_close(s), 0, "it ended well");
    s = coir_shard_open(NULL, coir_new(waits));
    EQ(coir_turn(s), 1, "a turn with nothing to do does not wait");
    EQ(coir_turn(s), 1, "nor does the next");
    struct coir_cell *c = __atomic_exchange_n(&handed, NULL, __ATOMIC_ACQ_REL);
    coir_cell_complete(c, 0, 1);
    while ((c = __atomic_exchange_n(&handed, NULL, __ATOMIC_ACQ_REL)) || coir_turn(s))
        if (c)
            coir_cell_complete(c, 0, 1);
    EQ(coir_shard_close(s), 0, "it ended well");
    unsetenv("COIR_TIME");
}

int main(void)
{
    unsetenv("COIR_TIME");
    timers();
    sockets();
    cells();
    quiet();
    in_vain();
    between();
    errors();
    virtual_time();
    return DONE();
}
