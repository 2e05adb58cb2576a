/* SPDX-License-Identifier: MIT */
/*
 * Natives of io. What is printed goes into the program's buffer (streams.h), whole or, if it is larger than that, piece
 * by piece while nobody else puts anything in. What goes to stderr goes there at once, after what was printed. One
 * fiber reads stdin at a time; the others wait until it has its line.
 */
#include <coir/coir.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/base/queue.h"
#include "vm/machine.h"
#include "vm/natives/standard.h"

enum { BYTES_A_STEP = 32, READ_AT_ONCE = 65536 };

/* ---- printing ---- */

static enum coir_native_result failed(struct coir_fiber *f, int status)
{
    struct coir_streams *const s = f->vm->streams;

    coir_streams_lock(s);
    s->out.told |= status == s->out.status;
    coir_streams_unlock(s);
    return coir_trap_status(f, status, "stdout");
}

/* Scratch that lies in the fiber begins where its link does, by which it parks. */
struct printing {
    struct coir_waiter line;
    size_t done;
};

static void lay_down_pen(struct coir_fiber *f, struct coir_output *o)
{
    if (o->pen == f) {
        o->pen = NULL;
        coir_output_wake(f->vm);
    }
}

/* What there is room for, now that it is this fiber's turn: all of it, or -EAGAIN, or what it has failed with. */
static int put_part(struct coir_fiber *f, struct coir_output *o, const struct coir_text *t, struct printing *p)
{
    int status = -EAGAIN;
    size_t more;

    if (t->len - p->done <= COIR_OUTPUT_ROOM)
        status = coir_output_put(f->vm, t->bytes + p->done, t->len - p->done);
    if (status == -EAGAIN && t->len - p->done > COIR_OUTPUT_ROOM) {
        o->pen = f;
        status = coir_output_put_some(f->vm, t->bytes + p->done, t->len - p->done, &more);
        p->done += more;
        status = status == 0 ? -EAGAIN : status;
    }
    if (status != -EAGAIN)
        lay_down_pen(f, o);
    return status;
}

/* There was no room for all of it at once, or others were before it. It may be cut short: what was put in stays. */
static enum coir_native_result put_slowly(struct coir_fiber *f, const struct coir_text *t)
{
    struct coir_streams *const s = f->vm->streams;
    struct printing *const p = coir_scratch(f, sizeof *p, NULL);
    enum coir_native_result result = COIR_NATIVE_DONE;
    int status = -EAGAIN;

    if (!p)
        return coir_trap_memory(f);
    coir_streams_lock(s);
    if (f->step ? !s->out.pen || s->out.pen == f : coir_output_is_free(f->vm))     /* it may be by now */
        status = put_part(f, &s->out, t, p);
    f->step = 1;
    if (status == -EAGAIN && coir_fiber_cancelled(f)) {
        lay_down_pen(f, &s->out);
        status = -ECANCELED;
    } else if (status == -EAGAIN) {
        result = coir_output_wait(f);
    }
    coir_streams_unlock(s);
    if (status == -EAGAIN || status == 0)
        return result;
    return status == -ECANCELED ? coir_trap_status(f, status, NULL) : failed(f, status);
}

static enum coir_native_result put(struct coir_fiber *f, const struct coir_text *t)
{
    struct coir_streams *const s = f->vm->streams;
    int status = -EAGAIN;
    bool free;

    if (f->step)
        return put_slowly(f, t);
    coir_charge(f, t->len / BYTES_A_STEP);
    coir_streams_lock(s);
    free = coir_output_is_free(f->vm);
    if (free && t->len <= COIR_OUTPUT_ROOM)
        status = coir_output_put(f->vm, t->bytes, t->len);
    coir_streams_unlock(s);
    if (status == -EAGAIN) {
        f->step = free;
        return put_slowly(f, t);
    }
    return status < 0 ? failed(f, status) : COIR_NATIVE_DONE;
}

static enum coir_native_result io_write(struct coir_fiber *f, uint64_t *r)
{
    return put(f, coir_text_at(r[0]));
}

static enum coir_native_result print(struct coir_fiber *f, uint64_t *r)
{
    const enum coir_native_result result = put(f, coir_text_at(r[0]));

    if (result == COIR_NATIVE_DONE)
        coir_drop(f->heap, coir_ref(r[0]));
    return result;
}

/* ---- stderr ---- */

struct eprint {
    struct coir_waiter line;
    struct coir_write_all op;
    size_t done;
    bool waited;
};

static enum coir_native_result error_written(struct coir_fiber *f, int status)
{
    struct coir_streams *const s = f->vm->streams;

    coir_streams_lock(s);
    if (s->out.error_pen == f) {
        s->out.error_pen = NULL;
        coir_output_wake(f->vm);
    }
    coir_streams_unlock(s);
    return status < 0 ? coir_trap_status(f, status, "stderr") : COIR_NATIVE_DONE;
}

/* Its turn to write to stderr: all of stdout is written, or fails, and nobody else does. If not it waits, `*result` is
 * what to return. */
static bool takes_error_pen(struct coir_fiber *f, enum coir_native_result *result)
{
    struct coir_streams *const s = f->vm->streams;
    struct coir_output *const o = &s->out;
    bool waits, cancelled;

    coir_streams_lock(s);
    waits = o->error_pen ? o->error_pen != f : !coir_output_is_empty(o) && !o->status;
    cancelled = waits && coir_fiber_cancelled(f);
    if (!waits)
        o->error_pen = f;
    else if (!cancelled)
        *result = coir_output_wait(f);
    coir_streams_unlock(s);
    if (cancelled)
        *result = coir_trap_status(f, -ECANCELED, NULL);
    return !waits;
}

/* Waits for stdout, or for who writes to stderr, and then for that. */
static enum coir_native_result error_slowly(struct coir_fiber *f, const struct coir_text *t, size_t done)
{
    struct eprint *const s = coir_scratch(f, sizeof *s, NULL);
    enum coir_native_result result;

    if (!s)
        return error_written(f, -ENOMEM);
    if (f->step == 0)
        s->done = done;
    if (s->waited) {
        s->waited = false;
        s->done += s->op.result;
        if (coir_status(&s->op) < 0 && !(coir_status(&s->op) == -ECANCELED && coir_fiber_waits_again(f)))
            return error_written(f, coir_status(&s->op));
    }
    if (s->done == t->len)
        return error_written(f, 0);
    if (!takes_error_pen(f, &result)) {
        f->step = 1;
        return result;
    }
    s->waited = true;
    return coir_wait_for(f, &s->op, coir_write_all, .fd = STDERR_FILENO, .buf = t->bytes + s->done,
                         .len = t->len - s->done);
}

static enum coir_native_result put_error(struct coir_fiber *f, const struct coir_text *t)
{
    struct coir_streams *const s = f->vm->streams;
    struct coir_output *const o = &s->out;
    ssize_t n = 0;

    if (f->step)
        return error_slowly(f, t, 0);
    coir_streams_lock(s);
    coir_output_now(o);
    if ((coir_output_is_empty(o) || o->status) && !o->error_pen) {
        n = coir_write_now(STDERR_FILENO, t->bytes, t->len);
        if (n == -EAGAIN || (n >= 0 && n < (ssize_t)t->len))
            o->error_pen = f;
    }
    coir_streams_unlock(s);
    if (n < 0 && n != -EAGAIN)
        return error_written(f, (int)n);
    return n == (ssize_t)t->len ? COIR_NATIVE_DONE : error_slowly(f, t, n < 0 ? 0 : (size_t)n);
}

static enum coir_native_result eprint(struct coir_fiber *f, uint64_t *r)
{
    const enum coir_native_result result = put_error(f, coir_text_at(r[0]));

    if (result == COIR_NATIVE_DONE)
        coir_drop(f->heap, coir_ref(r[0]));
    return result;
}

/* ---- reading ---- */

struct input {
    struct coir_waiter line;
    struct coir_read op;
    size_t searched;
};

static enum coir_native_result input_trap(struct coir_fiber *f, int status)
{
    return status == -ENOMEM ? coir_trap_memory(f) : coir_trap_status(f, status, "stdin");
}

/* Takes what was read into account: 0, 1 at the end, or a negative errno. */
static int came(struct coir_fiber *f, struct coir_input *in, const struct input *s)
{
    const int status = coir_status(&s->op);

    if (status == -ECANCELED && coir_fiber_waits_again(f))
        return 0;
    if (status < 0)
        return status;
    coir_rest_came(&in->rest, s->op.result);
    return s->op.result == 0;
}

static enum coir_native_result read_more(struct coir_fiber *f, struct coir_input *in, struct input *s)
{
    size_t room;
    char *const to = coir_rest_room(f->heap, &in->rest, READ_AT_ONCE / 4, &room);

    if (!to) {
        coir_input_leave(f->vm);
        return coir_trap_memory(f);
    }
    return coir_wait_for(f, &s->op, coir_read, .fd = STDIN_FILENO, .buf = to,
                         .len = room < READ_AT_ONCE ? room : READ_AT_ONCE);
}

/* A line, or all there is up to the end, from the rest. */
static enum coir_native_result give(struct coir_fiber *f, uint64_t *r, struct coir_input *in, size_t len, size_t skip)
{
    struct coir_text *const t = coir_rest_take(f->heap, &in->rest, len, skip);

    coir_input_leave(f->vm);
    if (!t)
        return coir_trap_memory(f);
    coir_charge(f, len / BYTES_A_STEP);
    r[0] = coir_slot_of(t);
    return COIR_NATIVE_DONE;
}

/* Its turn to read, and what it has read is there: 0; 1 at the end; < 0: it is over, `*result` is what to return. */
static int turn(struct coir_fiber *f, struct coir_input *in, struct input **s, enum coir_native_result *result)
{
    int status;

    *s = coir_scratch(f, sizeof **s, NULL);
    if (!*s) {
        *result = coir_trap_memory(f);
        return -1;
    }
    status = coir_input_take(f);
    if (status < 0) {
        *result = status == -EAGAIN ? COIR_NATIVE_PARKED : coir_trap_status(f, status, NULL);
        return status;
    }
    if (status == 1)
        status = came(f, in, *s);
    if (status < 0) {
        coir_input_leave(f->vm);
        *result = input_trap(f, status);
    }
    return status;
}

static enum coir_native_result io_read_line(struct coir_fiber *f, uint64_t *r)
{
    struct coir_input *const in = &f->vm->streams->in;
    enum coir_native_result result;
    struct input *s;
    size_t len, skip;
    const int at_end = turn(f, in, &s, &result);

    if (at_end < 0)
        return result;
    if (coir_rest_line(&in->rest, &s->searched, &len, &skip))
        return give(f, r, in, len, skip);
    if (!at_end)
        return read_more(f, in, s);
    if (coir_rest_len(&in->rest))
        return give(f, r, in, coir_rest_len(&in->rest), 0);
    coir_rest_drop(f->heap, &in->rest);
    coir_input_leave(f->vm);
    r[0] = 0;
    return COIR_NATIVE_DONE;
}

static enum coir_native_result io_read_all(struct coir_fiber *f, uint64_t *r)
{
    struct coir_input *const in = &f->vm->streams->in;
    enum coir_native_result result;
    struct input *s;
    const int at_end = turn(f, in, &s, &result);

    if (at_end < 0)
        return result;
    return at_end ? give(f, r, in, coir_rest_len(&in->rest), 0) : read_more(f, in, s);
}

static const struct coir_native natives[] = {
    { "print", "fn print(own t: Text)", print },
    { "eprint", "fn eprint(own t: Text)", eprint },
    { "io.write", "fn write(t: Text)", io_write },
    { "io.read_line", "fn read_line() -> Text?", io_read_line },
    { "io.read_all", "fn read_all() -> Text", io_read_all },
};
const struct coir_natives coir_io_natives = { natives, sizeof natives / sizeof *natives, NULL, 0 };
