/* SPDX-License-Identifier: MIT */
/*
 * Lists of unused pieces, one a size, linked through themselves. Who takes and gives is trusted.
 */
#include "serve/nbd_buffers.h"

#include <stdlib.h>

#include "runtime/base/assert.h"

struct coir_nbd_piece {
    struct coir_nbd_piece *next;
};

static size_t class_size(unsigned class)
{
    return (size_t)NBD_TABLE << 2 * class;
}

static unsigned class_of(size_t size)
{
    unsigned class = 0;

    COIR_ASSERT(size <= NBD_PIECE);
    while (class_size(class) < size)
        class++;
    return class;
}

void *coir_nbd_piece_take(struct coir_nbd_buffers *b, size_t size)
{
    const unsigned class = class_of(size);
    struct coir_nbd_piece *p = b->unused[class];

    if (!p)
        return aligned_alloc(NBD_TABLE, class_size(class));
    b->unused[class] = p->next;
    b->kept -= class_size(class);
    coir_asan_unpoison(p, class_size(class));
    return p;
}

void coir_nbd_piece_give(struct coir_nbd_buffers *b, void *piece, size_t size)
{
    const unsigned class = class_of(size);
    struct coir_nbd_piece *p = piece;

    if (!p)
        return;
    if (b->kept + class_size(class) > b->keep) {
        free(p);
        return;
    }
    p->next = b->unused[class];
    b->unused[class] = p;
    b->kept += class_size(class);
    coir_asan_poison(p + 1, class_size(class) - sizeof *p);
}

static size_t piece_at(size_t length, size_t at)
{
    return length - at < NBD_PIECE ? length - at : NBD_PIECE;
}

unsigned coir_nbd_pieces_take(struct coir_nbd_buffers *b, size_t length, struct iovec *iov)
{
    unsigned n = 0;

    for (size_t at = 0; at < length; at += NBD_PIECE) {
        iov[n].iov_len = piece_at(length, at);
        iov[n].iov_base = coir_nbd_piece_take(b, iov[n].iov_len);
        if (!iov[n].iov_base) {
            while (n > 0) {
                n--;
                coir_nbd_piece_give(b, iov[n].iov_base, iov[n].iov_len);
            }
            return 0;
        }
        n++;
    }
    return n;
}

void coir_nbd_pieces_give(struct coir_nbd_buffers *b, size_t length, const struct iovec *iov)
{
    for (size_t at = 0; at < length; at += NBD_PIECE, iov++)
        coir_nbd_piece_give(b, iov->iov_base, piece_at(length, at));
}

unsigned coir_nbd_pieces(size_t length)
{
    return (unsigned)((length + NBD_PIECE - 1) / NBD_PIECE);
}

size_t coir_nbd_pieces_size(size_t length)
{
    const size_t rest = length % NBD_PIECE;

    return length - rest + (rest ? class_size(class_of(rest)) : 0);
}

void coir_nbd_buffers_free(struct coir_nbd_buffers *b)
{
    for (unsigned i = 0; i < NBD_PIECE_SIZES; i++) {
        while (b->unused[i]) {
            struct coir_nbd_piece *p = b->unused[i];

            b->unused[i] = p->next;
            coir_asan_unpoison(p, class_size(i));
            free(p);
        }
    }
    b->kept = 0;
}
