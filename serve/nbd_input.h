/* SPDX-License-Identifier: MIT */
/*
 * What comes from a client, received as far ahead as there is room: one system call brings many small requests. Large
 * data go past the buffer to where they belong. Deadlines are the scopes' of who awaits.
 */
#ifndef COIR_SERVE_NBD_INPUT_H
#define COIR_SERVE_NBD_INPUT_H

#include <coir/coir.h>

#include "runtime/base/assert.h"
#include "serve/nbd_buffers.h"

enum { NBD_INPUT = 64 << 10 };

/* What has come and was not taken lies in `buffer` from `begin` to `end`. */
struct coir_nbd_input {
    int fd;
    uint32_t begin, end;
    uint8_t *buffer;                /* NBD_INPUT bytes, its owner's */
    uint64_t received;              /* bytes in all */
    struct iovec iov[NBD_PIECES + 1];
};

static inline size_t coir_nbd_have(const struct coir_nbd_input *in)
{
    return in->end - in->begin;
}

/* How many bytes have been taken in all. */
static inline uint64_t coir_nbd_position(const struct coir_nbd_input *in)
{
    return in->received - coir_nbd_have(in);
}

/* What it has; there until the next await on it. */
static inline const uint8_t *coir_nbd_at(const struct coir_nbd_input *in)
{
    return in->buffer + in->begin;
}

/* Takes `n` bytes of that. */
static inline void coir_nbd_took(struct coir_nbd_input *in, size_t n)
{
    COIR_ASSERT(n <= coir_nbd_have(in));
    in->begin += (uint32_t)n;
}

/* Waits until it has at least `need` bytes, at most NBD_INPUT. -ENODATA at the end. */
struct coir_nbd_fill {
    coir_frame_void;
    coir_args(struct coir_nbd_input *in; size_t need;);
    struct coir_recv recv;
};
coir_declare(coir_nbd_fill);

/* Takes `length` bytes, into `n` pieces at `iov`. -ENODATA at the end. */
struct coir_nbd_take {
    coir_frame_void;
    coir_args(struct coir_nbd_input *in; const struct iovec *iov; unsigned n; size_t length;);
    size_t done;
    int pieces;
    struct coir_readv readv;
};
coir_declare(coir_nbd_take);

/* Takes `length` bytes that nobody wants. -ENODATA at the end. */
struct coir_nbd_skip {
    coir_frame_void;
    coir_args(struct coir_nbd_input *in; uint64_t length;);
    struct coir_nbd_fill fill;
};
coir_declare(coir_nbd_skip);

#endif
