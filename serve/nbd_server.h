/* SPDX-License-Identifier: MIT */
/*
 * What the files of the NBD server share, and where each is. A connection lives on one shard; what shards share is
 * constant, but for the counters.
 *
 *      coir_nbd_serve                                  nbd.c
 *        coir_serve, for each address
 *          coir_nbd_connection                         nbd_connection.c: from its first byte to its close
 *            coir_nbd_handshake                        nbd_handshake.c, nbd_options.c, nbd_export.c
 *            coir_nbd_receive      reads requests      nbd_receive.c, nbd_check.c, nbd_input.c
 *            coir_nbd_run          one for each        nbd_run.c
 *            coir_nbd_send         sends the answers   nbd_send.c, nbd_answer.c
 *
 * The bounds. Of requests a connection has at most `depth`, and `in_flight` bytes of their data; while it has them
 * nothing is read from it. Of the data of all its connections a shard has at most `memory`, for which they wait in
 * line; but NBD_OWN bytes each connection has for itself, so that others can never take the small requests from it.
 * Beyond that a connection has its frame and NBD_INPUT bytes.
 */
#ifndef COIR_SERVE_NBD_SERVER_H
#define COIR_SERVE_NBD_SERVER_H

#include <coir/coir.h>

#include "serve/nbd.h"
#include "serve/nbd_buffers.h"
#include "serve/socket_file.h"

enum {
    NBD_OWN = 128 << 10,
    NBD_MEMORY_LEAST = 64 << 20,    /* of a shard: any request fits */
};

struct coir_nbd_connection;
struct coir_nbd_request;

/* A shard's part. Used there only, but for the counters, which others read. */
struct coir_nbd_shard {
    _Alignas(64) struct coir_nbd_server *server;
    bool begun, stopping;
    struct coir_semaphore memory;
    struct coir_nbd_buffers buffers;
    struct coir_nbd_request *unused;            /* objects for the next requests */
    struct coir_nbd_connection *first;          /* its connections */
    struct coir_nbd_counts counts;              /* atomic */
};

struct coir_nbd_server {
    struct coir_nbd_options options;            /* with what was 0 filled in */
    size_t memory;                              /* bytes for each shard */
    unsigned shards;
    int listener[NBD_ADDRESSES];                /* until they are their kid's */
    struct coir_task *kids[NBD_ADDRESSES + 1];
    struct coir_socket_file files[NBD_ADDRESSES];   /* of the addresses that are such */
    struct coir_nbd_shard shard[];
};

/* A counter of the shard that this is. */
static inline void coir_nbd_add(uint64_t *counter, uint64_t by)
{
    __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + by, __ATOMIC_RELAXED);
}

#endif
