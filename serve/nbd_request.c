/* SPDX-License-Identifier: MIT */
/*
 * The life of a request as an object, and what it is counted with.
 */
#include "serve/nbd_request.h"

#include <stdlib.h>

#include "serve/nbd_connection.h"

_Static_assert((NBD_PIECES + 1) * sizeof(struct iovec) <= NBD_TABLE, "the largest request has a table of one piece");

struct coir_nbd_request *coir_nbd_request_new(struct coir_nbd_connection *c)
{
    struct coir_nbd_request *r = c->shard->unused;

    if (r)
        c->shard->unused = r->next;
    else
        r = malloc(sizeof *r);
    if (!r)
        return NULL;
    *r = (struct coir_nbd_request){ .connection = c, .iov = r->few };
    c->requests++;
    return r;
}

int coir_nbd_request_data(struct coir_nbd_request *r, size_t length)
{
    struct coir_nbd_buffers *const b = &r->connection->shard->buffers;

    if (coir_nbd_pieces(length) >= NBD_FEW) {
        struct iovec *table = coir_nbd_piece_take(b, NBD_TABLE);
        if (!table)
            return -ENOMEM;
        r->iov = table;
    }
    r->n = coir_nbd_pieces_take(b, length, r->iov + 1);
    if (r->n == 0)
        return -ENOMEM;
    r->data = (uint32_t)length;
    return 0;
}

void coir_nbd_request_no_data(struct coir_nbd_request *r)
{
    coir_nbd_pieces_give(&r->connection->shard->buffers, r->data, r->iov + 1);
    r->data = 0;
    r->n = 0;
}

void coir_nbd_request_free(struct coir_nbd_request *r)
{
    struct coir_nbd_connection *const c = r->connection;
    struct coir_nbd_shard *const shard = c->shard;

    coir_nbd_request_no_data(r);
    if (r->iov != r->few)
        coir_nbd_piece_give(&shard->buffers, r->iov, NBD_TABLE);
    coir_nbd_piece_give(&shard->buffers, r->spread, NBD_TABLE);
    c->bytes -= r->cost;
    if (r->shared)
        coir_release(&shard->memory, r->cost);
    else
        c->own -= r->cost;
    c->requests--;
    r->next = shard->unused;
    shard->unused = r;
    coir_event_set(&c->room);
}
