/* SPDX-License-Identifier: MIT */
/*
 * A request: an object that goes from one task to the next. coir_nbd_receive fills it; its coir_nbd_run does it, makes
 * the reply and ends; coir_nbd_send sends that and gives the object back. Exactly one of them has it.
 *
 *      iov     [0] the reply's head | [1] ... pieces of data, that were received or are to be sent
 *      parts   what is sent: the head; iov, for a reply to READ; or what lies in `spread`, for one with holes
 */
#ifndef COIR_SERVE_NBD_REQUEST_H
#define COIR_SERVE_NBD_REQUEST_H

#include <coir/coir.h>
#include <coir/volume.h>

#include "serve/nbd_buffers.h"
#include "serve/nbd_wire.h"

struct coir_nbd_connection;

enum {
    NBD_FEW = 6,                    /* pieces that need no table */
    NBD_HOLES = 16,                 /* pieces that a read with holes is divided into at most */
    NBD_SIZED = 64 << 10,           /* a read of less is not asked where its holes are */
    NBD_EXTENTS = NBD_TABLE / sizeof(struct coir_volume_piece),     /* of a BLOCK_STATUS at most */
    NBD_CONTEXT = 1,                /* the id of base:allocation */
};

struct coir_nbd_request {
    struct coir_nbd_connection *connection;
    struct coir_nbd_request *next;
    uint16_t type, flags;
    uint32_t length;
    uint64_t handle, offset;
    int status;                     /* how it ended: 0 or a negative errno */
    const char *why;                /* NULL, or more than the status says; static */
    uint32_t cost;                  /* bytes that it is counted with */
    bool shared;                    /* they are of the shard's memory, not the connection's own */
    uint32_t data;                  /* bytes of data in `iov` from 1 on: `n` pieces */
    unsigned n, n_parts;
    struct iovec *iov;              /* `few`, or a piece of NBD_TABLE bytes */
    struct iovec *parts;
    void *spread;                   /* NULL, or a piece of NBD_TABLE bytes: parts and heads of a reply in chunks */
    uint8_t head[sizeof(struct nbd_chunk)];
    struct iovec few[NBD_FEW];
};

/* An object that is counted as one of its connection's, without data yet. NULL without memory. */
struct coir_nbd_request *coir_nbd_request_new(struct coir_nbd_connection *c);

/* Gives it back, with all that it has. */
void coir_nbd_request_free(struct coir_nbd_request *r);

/* Pieces for `length` bytes of data, 1 to NBD_BLOCK_MAX. 0 or -ENOMEM. And giving them back before its end. */
int coir_nbd_request_data(struct coir_nbd_request *r, size_t length);
void coir_nbd_request_no_data(struct coir_nbd_request *r);

/* Whether what a client asks for is allowed at all: 0 or a negative errno, and perhaps why. What does a request relies
 * on it: the command is known, its flags are its own, and its range lies in the export. */
int coir_nbd_check(const struct coir_nbd_connection *c, const struct coir_nbd_request *r, const char **why);

/* Does what a request asks for, and hands it to the sender. */
struct coir_nbd_run {
    coir_frame_void;
    coir_args(struct coir_nbd_request *request; struct coir_volume *volume;);
    uint32_t done;
    unsigned n;                     /* of `pieces` */
    struct iovec iov;
    struct coir_volume_piece pieces[NBD_HOLES];
    union {
        struct coir_volume_read read;
        struct coir_volume_write write;
        struct coir_volume_unmap unmap;
        struct coir_volume_write_zeroes zeroes;
        struct coir_volume_flush flush;
        struct coir_volume_status status;
    };
};
coir_declare(coir_nbd_run);

/* Makes the reply of a request that has ended, from its status and data. `pieces`, `n` of them, say where a READ's data
 * have holes, which `iov` need not have; 0: they have none. */
void coir_nbd_answer(struct coir_nbd_request *r, const struct coir_volume_piece *pieces, unsigned n);

#endif
