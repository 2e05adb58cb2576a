/* SPDX-License-Identifier: MIT */
/*
 * Natives of proc.Reader and proc.Writer, and what a proc.Child does with the ends of pipes that it still has. What
 * was read and not given out stays with its end, also when the wait for more is cut short, or the end goes to another
 * owner. No two fibers use one end at a time, since nobody but its owner can lend it.
 */
#include <coir/coir.h>
#include <errno.h>

#include "vm/natives/net.h"
#include "vm/natives/proc.h"

enum { BYTES_A_STEP = 32, LONGEST_LINE = 1 << 20, READ_FIRST = 4096, READ_MOST = 65536 };

/* A proc.Reader, or a proc.Writer. */
struct holder {
    struct coir_counted head;
    struct coir_pipe pipe;
};

static struct coir_pipe *pipe_at(uint64_t slot)
{
    return &((struct holder *)coir_ref(slot))->pipe;
}

void coir_pipe_close(struct coir_heap *h, struct coir_pipe *p)
{
    coir_rest_drop(h, &p->rest);
    if (p->fd < 0)
        return;
    coir_close_later(p->fd);
    p->fd = -1;
    p->gone = COIR_PIPE_ENDED;
}

static void holder_drop(struct coir_heap *h, struct coir_counted *c)
{
    coir_pipe_close(h, &((struct holder *)c)->pipe);
}

static int holder_descriptor(const struct coir_counted *c)
{
    return ((const struct holder *)c)->pipe.fd;
}

static const struct coir_resource reader_resource = {
    .name = "proc.Reader", .size = sizeof(struct holder), .drop = holder_drop, .descriptor = holder_descriptor,
};
static const struct coir_resource writer_resource = {
    .name = "proc.Writer", .size = sizeof(struct holder), .drop = holder_drop, .descriptor = holder_descriptor,
};

static enum coir_native_result trap(struct coir_fiber *f, const struct coir_pipe *p, int status)
{
    return coir_trap_status(f, status, p->program);
}

static enum coir_native_result trap_gone(struct coir_fiber *f, const struct coir_pipe *p)
{
    static const char *const why[] = {
        [COIR_PIPE_NONE] = "this stream of the program is not Piped",
        [COIR_PIPE_TAKEN] = "this stream of the program was taken",
        [COIR_PIPE_ENDED] = "the program's input has ended",
    };

    return coir_trap(f, COIR_TRAP_CLOSED, "%s", why[p->gone]);
}

/* ---- reading ---- */

struct reading {
    struct coir_read op;
    size_t asked;
    size_t searched;
};

/* Most programs say little at a time, and are waited for long; who fills a small read is asked for more at once. */
static enum coir_native_result read_more(struct coir_fiber *f, struct coir_pipe *p, struct reading *s)
{
    const size_t least = p->full ? READ_MOST : READ_FIRST;
    char *const to = coir_rest_room(f->heap, &p->rest, least, &s->asked);

    if (!to)
        return coir_trap_memory(f);
    if (s->asked > READ_MOST)
        s->asked = READ_MOST;
    return coir_wait_for(f, &s->op, coir_read, .fd = p->fd, .buf = to, .len = s->asked);
}

/* 1: something came; 0: that was the end; -EAGAIN: nobody wanted the wait to end; or why it failed. */
static int came(struct coir_fiber *f, struct coir_pipe *p, const struct reading *s)
{
    const int status = coir_status(&s->op);

    if (status == -ECANCELED && coir_fiber_waits_again(f))
        return -EAGAIN;
    if (status < 0)
        return status;
    coir_rest_came(&p->rest, s->op.result);
    p->full = s->op.result == s->asked;
    return s->op.result > 0;
}

static enum coir_native_result give(struct coir_fiber *f, uint64_t *r, struct coir_pipe *p, size_t len, size_t skip)
{
    struct coir_text *const t = coir_rest_take(f->heap, &p->rest, len, skip);

    if (!t)
        return coir_trap_memory(f);
    coir_charge(f, len / BYTES_A_STEP);
    r[0] = coir_slot_of(t);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result give_end(struct coir_fiber *f, uint64_t *r, struct coir_pipe *p)
{
    const size_t len = coir_rest_len(&p->rest);

    if (len)
        return give(f, r, p, len, 0);
    coir_rest_drop(f->heap, &p->rest);
    r[0] = 0;
    return COIR_NATIVE_DONE;
}

enum coir_native_result coir_pipe_read(struct coir_fiber *f, uint64_t *r, struct coir_pipe *p)
{
    const int64_t n = (int64_t)r[1];
    struct reading *s;
    int status = -EAGAIN;
    size_t have;

    if (n < 1)
        return coir_trap(f, COIR_TRAP_BOUNDS, "%lld bytes", (long long)n);
    if (p->fd < 0)
        return trap_gone(f, p);
    s = coir_scratch(f, sizeof *s, NULL);
    if (!s)
        return coir_trap_memory(f);
    if (f->step)
        status = came(f, p, s);
    have = coir_rest_len(&p->rest);
    if (have)
        return give(f, r, p, have < (size_t)n ? have : (size_t)n, 0);
    if (status == -EAGAIN)
        return read_more(f, p, s);
    return status < 0 ? trap(f, p, status) : give_end(f, r, p);
}

enum coir_native_result coir_pipe_read_line(struct coir_fiber *f, uint64_t *r, struct coir_pipe *p)
{
    struct reading *s;
    int status = -EAGAIN;
    size_t len, skip;

    if (p->fd < 0)
        return trap_gone(f, p);
    s = coir_scratch(f, sizeof *s, NULL);
    if (!s)
        return coir_trap_memory(f);
    if (f->step)
        status = came(f, p, s);
    if (status < 0 && status != -EAGAIN)
        return trap(f, p, status);
    if (coir_rest_line(&p->rest, &s->searched, &len, &skip))
        return len > LONGEST_LINE ? trap(f, p, -EMSGSIZE) : give(f, r, p, len, skip);
    if (coir_rest_len(&p->rest) > LONGEST_LINE + 1)
        return trap(f, p, -EMSGSIZE);
    return status == 0 ? give_end(f, r, p) : read_more(f, p, s);
}

static enum coir_native_result reader_read(struct coir_fiber *f, uint64_t *r)
{
    return coir_pipe_read(f, r, pipe_at(r[0]));
}

static enum coir_native_result reader_read_line(struct coir_fiber *f, uint64_t *r)
{
    return coir_pipe_read_line(f, r, pipe_at(r[0]));
}

/* ---- writing ---- */

struct writing {
    struct coir_write_all op;
    size_t done;
};

enum coir_native_result coir_pipe_write(struct coir_fiber *f, uint64_t *r, struct coir_pipe *p)
{
    const struct coir_text *const t = coir_text_at(r[1]);
    struct writing *s;
    int status;

    if (p->fd < 0)
        return trap_gone(f, p);
    if (t->len == 0)
        return COIR_NATIVE_DONE;
    s = coir_scratch(f, sizeof *s, NULL);
    if (!s)
        return coir_trap_memory(f);
    if (f->step) {
        s->done += s->op.result;
        status = coir_status(&s->op);
        if (s->done == t->len)
            return COIR_NATIVE_DONE;
        if (status < 0 && !(status == -ECANCELED && coir_fiber_waits_again(f)))
            return trap(f, p, status);
    } else {
        coir_charge(f, t->len / BYTES_A_STEP);
    }
    return coir_wait_for(f, &s->op, coir_write_all, .fd = p->fd, .buf = t->bytes + s->done, .len = t->len - s->done);
}

static enum coir_native_result writer_write(struct coir_fiber *f, uint64_t *r)
{
    return coir_pipe_write(f, r, pipe_at(r[0]));
}

/* ---- to another owner, and closed ---- */

enum coir_native_result coir_pipe_take(struct coir_fiber *f, uint64_t *r, struct coir_pipe *p)
{
    struct holder *h;

    if (p->fd < 0)
        return trap_gone(f, p);
    h = (struct holder *)coir_resource_new(f->heap, coir_result_type(f));
    if (!h)
        return coir_trap_memory(f);
    h->pipe = *p;
    p->fd = -1;
    p->gone = COIR_PIPE_TAKEN;
    p->rest = (struct coir_rest){ 0 };
    r[0] = coir_slot_of(h);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result holder_close(struct coir_fiber *f, uint64_t *r)
{
    struct coir_pipe *const p = pipe_at(r[0]);
    struct coir_close *const s = coir_scratch(f, sizeof *s, NULL);
    const int fd = p->fd;

    if (!s)
        return coir_trap_memory(f);
    if (f->step == 0) {
        p->fd = -1;
        return coir_wait_for(f, s, coir_close, .fd = fd);
    }
    coir_drop(f->heap, coir_ref(r[0]));
    return COIR_NATIVE_DONE;
}

static const struct coir_native natives[] = {
    { "proc.Reader.read", "fn read(self: proc.Reader, n: Int) -> Text?", reader_read },
    { "proc.Reader.read_line", "fn read_line(self: proc.Reader) -> Text?", reader_read_line },
    { "proc.Reader.close", "fn close(own self: proc.Reader)", holder_close },
    { "proc.Writer.write", "fn write(self: proc.Writer, data: Text)", writer_write },
    { "proc.Writer.close", "fn close(own self: proc.Writer)", holder_close },
};
static const struct coir_resource *const resources[] = { &reader_resource, &writer_resource };
const struct coir_natives coir_pipe_natives = { natives, sizeof natives / sizeof *natives, resources,
                                                sizeof resources / sizeof *resources };
