/* SPDX-License-Identifier: MIT */
/*
 * coir/lend.h - receiving without a buffer of one's own.
 *
 * Who waits for a million connections does not want a million buffers. coir_recv_lend waits without one, and
 * lends one when there is something in it:
 *
 *     coir_get(f, f->lent, &f->recv, coir_recv_lend, .fd = f->fd);
 *     if (f->lent.len == 0)
 *         break;                                    the peer has closed
 *     ... f->lent.data, f->lent.len ...
 *     coir_lend_back(&f->lent);
 *
 * A shard has up to COIR_LENT_BUFFERS of them, made when they are first needed; on the ring the kernel picks one
 * when data comes. When all are lent, receiving waits until one comes back, in order.
 */
#ifndef COIR_LEND_H
#define COIR_LEND_H

#include <coir/io.h>

#ifdef __cplusplus
extern "C" {
#endif
# 26 "coir/lend.h"

/* The sizes of a shard's buffers for this. */
enum {
    COIR_LENT_MAX = 4096,           /* bytes in a buffer */
    COIR_LENT_BUFFERS = 4096,       /* buffers a shard has at most */
};

/* A loan. `data` and `len` are its holder's to read and write until coir_lend_back; the rest is private. */
struct coir_lent {
    void *data;
    size_t len;                     /* 1 to COIR_LENT_MAX; 0, with no data: the peer has closed */
    void *lender;
    uint32_t buffer, turn;
};

/*
 * recv(2) into a buffer of the shard's, which is lent to the caller until coir_lend_back. Data that arrived wins over
 * cancellation: then the status is 0, and there is a loan to give back. May be mixed with coir_recv on the same
 * descriptor. Datagrams are cut to COIR_LENT_MAX.
 *   -ENOMEM   not even the first buffers can be made
 *   otherwise as coir_recv
 */
struct coir_recv_lend {
    coir_frame(struct coir_lent);
    coir_args(int fd;);
    uint32_t closes;
    struct coir_io io;
};
coir_export(coir_recv_lend);

/*
 * Gives a buffer back: exactly once for every loan, at any time, from any task of the shard that lent it. Nothing is
 * done for a loan with len 0, or one that was zeroed. Giving back twice, also by a copy, stops the program. What was
 * never given back is named when the shard ends. Never suspends.
 */
COIR_API void coir_lend_back(struct coir_lent *lent);

#ifdef __cplusplus
}
#endif
#endif
