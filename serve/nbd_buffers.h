/* SPDX-License-Identifier: MIT */
/*
 * Memory for the data of requests, a store of it for each shard: pieces of four sizes, aligned for direct I/O, kept for
 * the next request when they are given back. Whoever takes pieces has counted them before (nbd_session.h): here is no
 * bound, and no waiting. One shard's tasks only.
 *
 * The data of a request lie in pieces of NBD_PIECE bytes and a smaller one for the rest, so that its length alone says
 * what they are.
 */
#ifndef COIR_SERVE_NBD_BUFFERS_H
#define COIR_SERVE_NBD_BUFFERS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "serve/nbd_wire.h"

enum {
    NBD_PIECE = 256 << 10,
    NBD_PIECES = NBD_BLOCK_MAX / NBD_PIECE,         /* most of a request */
    NBD_TABLE = 4096,                               /* the smallest piece */
    NBD_PIECE_SIZES = 4,                            /* 4, 16, 64 and 256 KiB */
};

struct coir_nbd_piece;

struct coir_nbd_buffers {
    struct coir_nbd_piece *unused[NBD_PIECE_SIZES];
    size_t kept, keep;              /* bytes that are unused; how many at most: its user's to set */
};

/* A piece of at least `size` bytes, at most NBD_PIECE; NULL without memory. It is given back with the same size. */
void *coir_nbd_piece_take(struct coir_nbd_buffers *b, size_t size);
void coir_nbd_piece_give(struct coir_nbd_buffers *b, void *piece, size_t size);

/* The pieces for `length` bytes, 1 to NBD_BLOCK_MAX, into `iov`. How many they are; 0 without memory. */
unsigned coir_nbd_pieces_take(struct coir_nbd_buffers *b, size_t length, struct iovec *iov);
void coir_nbd_pieces_give(struct coir_nbd_buffers *b, size_t length, const struct iovec *iov);

/* How many pieces `length` bytes have, and how much memory. */
unsigned coir_nbd_pieces(size_t length);
size_t coir_nbd_pieces_size(size_t length);

/* Gives back to the system what is not taken. */
void coir_nbd_buffers_free(struct coir_nbd_buffers *b);

#endif
