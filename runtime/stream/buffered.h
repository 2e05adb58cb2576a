/* SPDX-License-Identifier: MIT */
/*
 * What the buffered reader and the writer share: their arithmetic, and how they look at an operation before it begins.
 * None of it waits. While `user` is set an operation is in the middle of an await, and only that one moves `begin` and
 * `end`.
 *
 *      buffer       begin            end              size   a byte for a NUL
 *      |            |  what is in it  |  tail          |
 */
#ifndef COIR_RUNTIME_STREAM_BUFFERED_H
#define COIR_RUNTIME_STREAM_BUFFERED_H

#include <coir/reader.h>
#include <coir/writer.h>
#include <string.h>

#include "runtime/sync/wait.h"

enum { COIR_BUFFER_LEAST = 2 };

/* Whether what a stream says now it would not say again by itself, or could even take back. */
static inline bool coir_error_lasts(int status)
{
    switch (status) {
    case -ECANCELED:
    case -ENOMEM:
    case -ENOBUFS:
    case -EAGAIN:
    case -EINTR:
    case -EBUSY:
    case -EFAULT:
        return false;
    default:
        return status < 0;
    }
}

/* A buffer of `size` bytes, given or from the heap. 0, or a negative errno. */
int coir_buffer_for(void **buffer, size_t size);

/* Who waits when the operation `op` does: for messages that name the place. */
static inline struct coir_task *coir_user_of(struct coir_task *op)
{
    return op->awaiter ? op->awaiter : op;
}

/* ---- readers ---- */

static inline size_t coir_reader_has(const struct coir_reader *r)
{
    return r->end - r->begin;
}

/* 0, or why an operation of `t` on it, with memory at `p`, cannot begin. */
static inline int coir_reader_check(struct coir_task *t, const struct coir_reader *r, const void *p, const char *name)
{
    if (!r || coir_arguments_live(t, r, name) || coir_arguments_live(t, p, name))
        return -EFAULT;
    if (!r->stream)
        return -EBADF;
    return r->user ? -EBUSY : 0;
}

static inline struct coir_bytes coir_reader_view(const struct coir_reader *r)
{
    return (struct coir_bytes){ r->buffer + r->begin, r->end - r->begin };
}

/* Moves up to `len` bytes out of the buffer; returns how many. */
static inline size_t coir_reader_take(struct coir_reader *r, void *to, size_t len)
{
    const size_t has = coir_reader_has(r), n = len < has ? len : has;

    if (n)
        memcpy(to, r->buffer + r->begin, n);
    r->begin += n;
    return n;
}

#endif
