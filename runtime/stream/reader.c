/* SPDX-License-Identifier: MIT */
/*
 * The buffered reader: making one, filling its buffer, and the operations that count bytes; those that look for a
 * delimiter stand in until.c.
 *
 * Every operation is a loop: take what the buffer has, await coir_reader_fill, which is the only one that waits. So an
 * operation that ends early, for whatever reason, ends between two steps in which nothing is half moved.
 *
 * Moving bytes to the front of the buffer costs no more than reading them did: it is done when as many have been taken
 * out as are moved, or when there would be no room for what is needed.
 */
#include <stdlib.h>

#include "runtime/stream/buffered.h"

/* ---- making one ---- */

int coir_buffer_for(void **buffer, size_t size)
{
    if (size < COIR_BUFFER_LEAST || size > PTRDIFF_MAX)
        return -EINVAL;
    if (!*buffer)
        *buffer = coir_alloc_fails() ? NULL : malloc(size);
    return *buffer ? 0 : -ENOMEM;
}

static int reader_make(struct coir_reader *r, struct coir_stream *stream, void *buffer, size_t size)
{
    const bool owned = !buffer;
    int err;

    if (!r)
        return -EFAULT;
    *r = (struct coir_reader){ .stream = NULL };
    if (!stream)
        return -EFAULT;
    err = coir_buffer_for(&buffer, size);
    if (err)
        return err;
    *r = (struct coir_reader){ .stream = stream, .buffer = buffer, .size = size - 1, .owned = owned };
    return 0;
}

int coir_reader_init(struct coir_reader *r, struct coir_stream *stream, size_t size)
{
    return reader_make(r, stream, NULL, size);
}

int coir_reader_init_in(struct coir_reader *r, struct coir_stream *stream, void *buffer, size_t size)
{
    return buffer ? reader_make(r, stream, buffer, size) : -EFAULT;
}

void coir_reader_destroy(struct coir_reader *r)
{
    if (!r)
        return;
    if (r->user)
        coir_destroyed_under(r->user, "reader");
    if (r->owned)
        free(r->buffer);
    *r = (struct coir_reader){ .stream = NULL };
}

struct coir_bytes coir_reader_buffered(const struct coir_reader *r)
{
    return r && r->buffer ? coir_reader_view(r) : (struct coir_bytes){ NULL, 0 };
}

int coir_reader_drop(struct coir_reader *r, size_t n)
{
    if (!r)
        return -EFAULT;
    if (r->user)
        return -EBUSY;
    if (n > coir_reader_has(r))
        return -EINVAL;
    r->begin += n;
    return 0;
}

/* ---- filling ---- */

static void make_room(struct coir_reader *r, size_t need)
{
    const size_t has = coir_reader_has(r);

    if (has > r->begin && r->size - r->end >= need)
        return;
    memmove(r->buffer, r->buffer + r->begin, has);
    r->begin = 0;
    r->end = has;
}

/* Where it reads to. */
static void aim(struct coir_reader_fill *f)
{
    struct coir_reader *r = f->reader;

    f->direct = f->buf != NULL;
    if (!f->direct) {
        make_room(r, f->need);
        f->buf = r->buffer + r->end;
        f->len = r->size - r->end;
    }
    r->user = coir_user_of(f->task.awaiter);
}

static void took(struct coir_reader_fill *f, int status)
{
    struct coir_reader *r = f->reader;

    r->user = NULL;
    if (status < 0) {
        r->error = coir_error_lasts(status) ? status : 0;
        return;
    }
    COIR_ASSERT(f->read.result <= f->len);
    f->result = f->read.result;
    if (!f->direct)
        r->end += f->result;
}

coir_body(coir_reader_fill, f) {
    if (f->reader->error)
        coir_fail(f, f->reader->error);
    aim(f);
    coir_await(f, &f->read, coir_stream_read, .stream = f->reader->stream, .buf = f->buf, .len = f->len);
    took(f, coir_status(&f->read));
    coir_check(f, &f->read);
} coir_end

/* ---- bytes ---- */

/* 0, or why not; for one that moves bytes to `buf`. */
static int check_to(struct coir_task *t, struct coir_reader *r, const void *buf, size_t len, const char *name)
{
    const int bad = coir_reader_check(t, r, buf, name);

    return bad ? bad : !buf && len ? -EFAULT : 0;
}

coir_body(coir_read_some, f) {
    {
        const int bad = check_to(&f->task, f->reader, f->buf, f->len, "coir_read_some");
        if (bad)
            coir_fail(f, bad);
    }
    if (f->len == 0)
        coir_return(f);
    if (coir_reader_has(f->reader) == 0) {
        coir_try(f, &f->fill, coir_reader_fill, .reader = f->reader, .need = 1,
                 .buf = f->len >= f->reader->size ? f->buf : NULL, .len = f->len);
        if (f->fill.direct)
            coir_return(f, f->fill.result);
    }
    f->result = coir_reader_take(f->reader, f->buf, f->len);
} coir_end

coir_body(coir_read_exact, f) {
    {
        const int bad = check_to(&f->task, f->reader, f->buf, f->len, "coir_read_exact");
        if (bad)
            coir_fail(f, bad);
    }
    if (f->len == 0)                     /* also to nowhere */
        coir_return(f);
    for (;;) {
        f->result += coir_reader_take(f->reader, (char *)f->buf + f->result, f->len - f->result);
        if (f->result == f->len)
            break;
        f->direct = f->len - f->result >= f->reader->size;
        coir_try(f, &f->fill, coir_reader_fill, .reader = f->reader, .need = 1,
                 .buf = f->direct ? (char *)f->buf + f->result : NULL, .len = f->len - f->result);
        if (f->fill.result == 0)
            coir_fail(f, ENODATA);
        if (f->direct)
            f->result += f->fill.result;
    }
} coir_end

static int peeks(struct coir_peek *f)
{
    const int bad = coir_reader_check(&f->task, f->reader, NULL, "coir_peek");

    if (bad)
        return bad;
    f->result = coir_reader_view(f->reader);
    return f->n > f->reader->size ? -EMSGSIZE : 0;
}

coir_body(coir_peek, f) {
    {
        const int bad = peeks(f);
        if (bad)
            coir_fail(f, bad);
    }
    while (f->result.len < f->n) {
        coir_await(f, &f->fill, coir_reader_fill, .reader = f->reader, .need = f->n - f->result.len);
        f->result = coir_reader_view(f->reader);
        coir_check(f, &f->fill);
        if (f->fill.result == 0)
            coir_fail(f, ENODATA);
    }
} coir_end

/* Skips what is there. True: that was all. */
static bool skips(struct coir_skip *f)
{
    const size_t has = coir_reader_has(f->reader);
    const size_t n = f->n - f->result < has ? (size_t)(f->n - f->result) : has;

    f->reader->begin += n;
    f->result += n;
    return f->result == f->n;
}

coir_body(coir_skip, f) {
    {
        const int bad = coir_reader_check(&f->task, f->reader, NULL, "coir_skip");
        if (bad)
            coir_fail(f, bad);
    }
    while (!skips(f)) {
        coir_try(f, &f->fill, coir_reader_fill, .reader = f->reader, .need = 1);
        if (f->fill.result == 0)
            coir_fail(f, ENODATA);
    }
} coir_end
