/* SPDX-License-Identifier: MIT */
/*
 * The buffered writer. What the stream has taken leaves the buffer at once, also when the rest of a write was given
 * up, so nothing is sent twice and nothing is skipped. Bytes that were never sent do not go without a word: either an
 * operation has failed and said it, or the program has said that it does not want them, or they are reported.
 */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/stream/buffered.h"

static size_t held(const struct coir_writer *w)
{
    return w->end - w->begin;
}

/* ---- making one ---- */

static int writer_make(struct coir_writer *w, struct coir_stream *stream, void *buffer, size_t size)
{
    const bool owned = !buffer;
    int err;

    if (!w)
        return -EFAULT;
    *w = (struct coir_writer){ .stream = NULL };
    if (!stream)
        return -EFAULT;
    err = coir_buffer_for(&buffer, size);
    if (err)
        return err;
    *w = (struct coir_writer){ .stream = stream, .buffer = buffer, .size = size - 1, .owned = owned };
    return 0;
}

int coir_writer_init(struct coir_writer *w, struct coir_stream *stream, size_t size)
{
    return writer_make(w, stream, NULL, size);
}

int coir_writer_init_in(struct coir_writer *w, struct coir_stream *stream, void *buffer, size_t size)
{
    return buffer ? writer_make(w, stream, buffer, size) : -EFAULT;
}

static void report(const struct coir_writer *w)
{
    const struct coir_site *at = w->site;

    fprintf(stderr, "coir: a writer is destroyed with %zu bytes that were never sent", held(w));
    if (at)
        fprintf(stderr, ", put there by %s at %s:%u", at->task, at->file, at->line);
    fprintf(stderr, ": coir_flush sends them, coir_writer_discard forgets them\n");
}

size_t coir_writer_destroy(struct coir_writer *w)
{
    size_t n;

    if (!w)
        return 0;
    if (w->user)
        coir_destroyed_under(w->user, "writer");
    n = held(w);
    if (n && !w->told)
        report(w);
    if (w->owned)
        free(w->buffer);
    *w = (struct coir_writer){ .stream = NULL };
    return n;
}

size_t coir_writer_discard(struct coir_writer *w)
{
    const size_t n = w && !w->user ? held(w) : 0;

    if (n)
        w->begin = w->end = 0;
    return n;
}

size_t coir_writer_buffered(const struct coir_writer *w)
{
    return w ? held(w) : 0;
}

/* ---- what the operations share ---- */

/* 0, or why nothing can be written. */
static int is_fit(struct coir_writer *w)
{
    if (!w->stream)
        return -EBADF;
    if (w->user)
        return -EBUSY;
    w->told |= w->error != 0;
    return w->error;
}

static int check(struct coir_task *t, struct coir_writer *w, const void *p, const char *name)
{
    if (!w || coir_arguments_live(t, w, name) || coir_arguments_live(t, p, name))
        return -EFAULT;
    return is_fit(w);
}

/* Whether there is room for `n` bytes, if need be by moving what a flush that was given up has left. */
static bool has_room(struct coir_writer *w, size_t n)
{
    if (n <= w->size - w->end)
        return true;
    if (w->begin == 0 || n > w->size - held(w))
        return false;
    memmove(w->buffer, w->buffer + w->begin, held(w));
    w->end -= w->begin;
    w->begin = 0;
    return true;
}

static void copy_in(struct coir_writer *w, const void *from, size_t n)
{
    memcpy(w->buffer + w->end, from, n);
    w->end += n;
}

/* A write of the stream has ended. */
static void wrote(struct coir_writer *w, int status)
{
    w->user = NULL;
    w->told = status < 0;
    if (coir_error_lasts(status))
        w->error = status;
}

/* The same, of what was in the buffer. */
static void wrote_held(struct coir_writer *w, size_t n, int status)
{
    COIR_ASSERT(n <= held(w));
    w->begin += n;
    if (w->begin == w->end)
        w->begin = w->end = 0;
    wrote(w, status);
}

/* ---- put ---- */

enum { ALL_IN, HELD_FIRST, PAST_IT };

static int put_begins(struct coir_put *f)
{
    const int bad = check(&f->task, f->writer, f->buf, "coir_put");

    if (bad || f->len == 0)
        return bad;
    if (!f->buf)
        return -EFAULT;
    f->writer->site = f->task.awaiter ? f->task.awaiter->site : NULL;
    return 0;
}

/* Copies what there is room for, unless that is worth a write of its own; says what is to be done about the rest. */
static int put_in(struct coir_put *f)
{
    struct coir_writer *w = f->writer;
    const size_t left = f->len - f->result;
    const bool fits = has_room(w, left);
    const size_t n = fits ? left : w->size - w->end;

    if (left >= w->size && held(w) == 0) {
        w->user = coir_user_of(&f->task);
        return PAST_IT;
    }
    if (n)
        copy_in(w, (const char *)f->buf + f->result, n);
    f->result += n;
    if (fits)
        return ALL_IN;
    w->user = coir_user_of(&f->task);
    return HELD_FIRST;
}

coir_body(coir_put, f) {
    {
        const int bad = put_begins(f);
        if (bad)
            coir_fail(f, bad);
    }
    while (f->result < f->len) {
        f->how = put_in(f);
        if (f->how == ALL_IN)
            break;
        if (f->how == HELD_FIRST) {
            coir_await(f, &f->write, coir_stream_write_all, .stream = f->writer->stream,
                       .buf = f->writer->buffer + f->writer->begin, .len = held(f->writer));
            wrote_held(f->writer, f->write.result, coir_status(&f->write));
        } else {
            coir_await(f, &f->write, coir_stream_write_all, .stream = f->writer->stream,
                       .buf = (const char *)f->buf + f->result, .len = f->len - f->result);
            f->result += f->write.result;
            wrote(f->writer, coir_status(&f->write));
        }
        coir_check(f, &f->write);
    }
} coir_end

/* ---- flush, make_room ---- */

coir_body(coir_flush, f) {
    {
        const int bad = check(&f->task, f->writer, NULL, "coir_flush");
        if (bad)
            coir_fail(f, bad);
    }
    if (held(f->writer) == 0)
        coir_return(f, 0);
    f->writer->user = coir_user_of(&f->task);
    coir_await(f, &f->write, coir_stream_write_all, .stream = f->writer->stream,
               .buf = f->writer->buffer + f->writer->begin, .len = held(f->writer));
    f->result = f->write.result;
    wrote_held(f->writer, f->write.result, coir_status(&f->write));
    coir_check(f, &f->write);
} coir_end

/* 1: there is room; 0: there is not; or why there will not be. */
static int looks_for_room(struct coir_make_room *f)
{
    const int bad = check(&f->task, f->writer, NULL, "coir_make_room");

    if (bad)
        return bad;
    return f->n > f->writer->size ? -EMSGSIZE : has_room(f->writer, f->n);
}

coir_body(coir_make_room, f) {
    {
        const int room = looks_for_room(f);
        if (room)
            coir_fail(f, room < 0 ? room : 0);
    }
    f->writer->user = coir_user_of(&f->task);
    coir_await(f, &f->write, coir_stream_write_all, .stream = f->writer->stream,
               .buf = f->writer->buffer + f->writer->begin, .len = held(f->writer));
    wrote_held(f->writer, f->write.result, coir_status(&f->write));
    coir_check(f, &f->write);
} coir_end

/* ---- printf ---- */

int coir_writer_vprintf(struct coir_writer *w, const char *format, va_list args)
{
    va_list again;
    int n, bad = w && format ? is_fit(w) : -EFAULT;

    if (bad)
        return bad;
    va_copy(again, args);
    n = vsnprintf(w->buffer + w->end, w->size - w->end + 1, format, args);
    if (n >= 0 && (size_t)n > w->size - w->end && has_room(w, (size_t)n))
        n = vsnprintf(w->buffer + w->end, w->size - w->end + 1, format, again);
    va_end(again);
    if (n < 0)
        return -EINVAL;
    if ((size_t)n > w->size - w->end)
        return (size_t)n > w->size ? -EMSGSIZE : -ENOSPC;
    w->end += (size_t)n;
    return n;
}

int coir_writer_printf(struct coir_writer *w, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = coir_writer_vprintf(w, format, args);
    va_end(args);
    return n;
}
