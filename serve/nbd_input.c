/* SPDX-License-Identifier: MIT */
/*
 * Receiving. A read of a request's data has room behind it for what follows, so that the next request's head comes
 * with them.
 */
#include "serve/nbd_input.h"

#include <string.h>

/* Moves what it has to the front: seldom more than a part of a request's head. */
static void move_to_front(struct coir_nbd_input *in)
{
    if (in->begin == 0)
        return;
    memmove(in->buffer, in->buffer + in->begin, coir_nbd_have(in));
    in->end -= in->begin;
    in->begin = 0;
}

coir_body(coir_nbd_fill, f) {
    COIR_ASSERT(f->need <= NBD_INPUT);
    while (coir_nbd_have(f->in) < f->need) {
        move_to_front(f->in);
        coir_try(f, &f->recv, coir_recv, .fd = f->in->fd, .buf = f->in->buffer + f->in->end,
                 .len = NBD_INPUT - f->in->end);
        if (f->recv.result == 0)
            coir_fail(f, ENODATA);
        f->in->end += (uint32_t)f->recv.result;
        f->in->received += f->recv.result;
    }
} coir_end

/* Copies what the buffer has. */
static void take_buffered(struct coir_nbd_take *f)
{
    const size_t have = coir_nbd_have(f->in) < f->length ? coir_nbd_have(f->in) : f->length;

    for (unsigned i = 0; f->done < have; i++) {
        const size_t n = f->iov[i].iov_len < have - f->done ? f->iov[i].iov_len : have - f->done;
        memcpy(f->iov[i].iov_base, coir_nbd_at(f->in) + f->done, n);
        f->done += n;
    }
    coir_nbd_took(f->in, have);
}

/* What is still to come goes to what is left of the pieces, and what follows it to the buffer, which is empty. */
static void list_the_rest(struct coir_nbd_take *f)
{
    struct iovec *const out = f->in->iov;
    size_t at = 0;
    int n = 0;

    for (unsigned i = 0; i < f->n; at += f->iov[i].iov_len, i++) {
        const size_t past = f->done > at ? f->done - at : 0;
        if (past < f->iov[i].iov_len)
            out[n++] = (struct iovec){ (char *)f->iov[i].iov_base + past, f->iov[i].iov_len - past };
    }
    out[n++] = (struct iovec){ f->in->buffer, NBD_INPUT };
    f->pieces = n;
    f->in->begin = f->in->end = 0;
}

/* Takes one read into account. */
static void take_read(struct coir_nbd_take *f, size_t n)
{
    const size_t wanted = f->length - f->done;

    f->in->received += n;
    if (n > wanted)
        f->in->end = (uint32_t)(n - wanted);
    f->done += n < wanted ? n : wanted;
}

coir_body(coir_nbd_take, f) {
    COIR_ASSERT(f->n <= NBD_PIECES);
    f->done = 0;
    take_buffered(f);
    while (f->done < f->length) {
        list_the_rest(f);
        coir_try(f, &f->readv, coir_readv, .fd = f->in->fd, .iov = f->in->iov, .iovcnt = f->pieces);
        if (f->readv.result == 0)
            coir_fail(f, ENODATA);
        take_read(f, f->readv.result);
    }
} coir_end

coir_body(coir_nbd_skip, f) {
    while (f->length > 0) {
        coir_try(f, &f->fill, coir_nbd_fill, .in = f->in, .need = 1);
        {
            const size_t n = coir_nbd_have(f->in) < f->length ? coir_nbd_have(f->in) : (size_t)f->length;
            coir_nbd_took(f->in, n);
            f->length -= n;
        }
    }
} coir_end
