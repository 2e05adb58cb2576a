/* SPDX-License-Identifier: MIT */
/*
 * What a reader has, on to others: coir_copy writes it to a stream, coir_reader_stream is one that begins with it. What
 * has not been taken there stays in the reader's buffer.
 */
#include "runtime/stream/buffered.h"

/* ---- copy ---- */

static int copy_begins(struct coir_copy *f)
{
    const int bad = coir_reader_check(&f->task, f->reader, f->to, "coir_copy");

    return bad ? bad : f->to ? 0 : -EFAULT;
}

/* How many bytes to write next; the reader is kept from others meanwhile. */
static size_t next_write(struct coir_copy *f)
{
    const uint64_t left = f->count - f->result;
    const size_t has = coir_reader_has(f->reader);

    f->reader->user = coir_user_of(&f->task);
    return left < has ? (size_t)left : has;
}

static void wrote(struct coir_copy *f)
{
    f->reader->user = NULL;
    COIR_ASSERT(f->write.result <= f->n);
    f->reader->begin += f->write.result;
    f->result += f->write.result;
}

coir_body(coir_copy, f) {
    {
        const int bad = copy_begins(f);
        if (bad)
            coir_fail(f, bad);
    }
    while (f->result < f->count) {
        if (coir_reader_has(f->reader) == 0) {
            coir_try(f, &f->fill, coir_reader_fill, .reader = f->reader, .need = 1);
            if (f->fill.result == 0)
                coir_fail(f, f->count == COIR_TO_THE_END ? 0 : -ENODATA);
        }
        f->n = next_write(f);
        coir_await(f, &f->write, coir_stream_write_all, .stream = f->to, .buf = f->reader->buffer + f->reader->begin,
                   .len = f->n);
        wrote(f);
        coir_check(f, &f->write);
    }
} coir_end

/* ---- a stream that begins with what a reader has ---- */

static struct coir_reader *reader_of(const struct coir_stream *s)
{
    return coir_container_of(s, struct coir_reader_stream, stream)->reader;
}

static coir_step first_read(struct coir_task *t)
{
    struct coir_stream_read *op = (struct coir_stream_read *)t;
    struct coir_reader *r = reader_of(op->stream);
    const int bad = coir_reader_check(t, r, NULL, "coir_stream_read");

    if (!bad)
        op->result = coir_reader_take(r, op->buf, op->len);
    if (bad || op->result || r->error)
        return coir_leaf_ends(t, bad ? bad : op->result ? 0 : r->error);
    op->stream = r->stream;
    return coir_stream_read_resume(t);
}

static coir_step first_write_all(struct coir_task *t)
{
    struct coir_stream_write_all *op = (struct coir_stream_write_all *)t;

    op->stream = reader_of(op->stream)->stream;
    return coir_stream_write_all_resume(t);
}

static coir_step first_shutdown(struct coir_task *t)
{
    struct coir_stream_shutdown *op = (struct coir_stream_shutdown *)t;

    op->stream = reader_of(op->stream)->stream;
    return coir_stream_shutdown_resume(t);
}

static coir_step first_close(struct coir_task *t)
{
    struct coir_stream_close *op = (struct coir_stream_close *)t;

    op->stream = reader_of(op->stream)->stream;
    return coir_stream_close_resume(t);
}

static const struct coir_stream_kind reader_kind = {
    .name = "reader",
    .read = first_read,
    .write_all = first_write_all,
    .shutdown = first_shutdown,
    .close = first_close,
};

int coir_reader_stream_init(struct coir_reader_stream *s, struct coir_reader *reader)
{
    if (!s || !reader)
        return -EFAULT;
    *s = (struct coir_reader_stream){ { &reader_kind }, reader };
    return 0;
}
