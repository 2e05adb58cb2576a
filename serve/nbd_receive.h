/* SPDX-License-Identifier: MIT */
/*
 * Receiving requests. Each is received whole, with its data, and then given a task of its own; what is refused is
 * answered at once. While a connection has too much under way nothing is read from it.
 */
#ifndef COIR_SERVE_NBD_RECEIVE_H
#define COIR_SERVE_NBD_RECEIVE_H

#include <coir/coir.h>

#include "serve/nbd_input.h"
#include "serve/nbd_request.h"

enum {
    NBD_SKIPPED_MAX = 64 << 20,     /* bytes of a WRITE that is refused; more end the connection */
    NBD_QUIET_MS = 100,             /* for so long a server that ends waits for more from a client */
};

/* Room for a request of `cost` bytes of data in the connection, then in the shard. Nobody cancels it but the end of the
 * connection. */
struct coir_nbd_reserve {
    coir_frame_void;
    coir_args(struct coir_nbd_connection *c; struct coir_nbd_request *r; size_t cost;);
    union {
        struct coir_event_wait wait;
        struct coir_acquire acquire;
    };
};
coir_declare(coir_nbd_reserve);

/* The rest of a request whose head has come: room, data, and then its task; or its answer. */
struct coir_nbd_accept {
    coir_frame_void;
    coir_args(struct coir_nbd_connection *c; const struct nbd_request_head *head; bool late;);
    struct coir_nbd_request *r;
    struct coir_scope scope;
    union {
        struct coir_event_wait wait;
        struct coir_nbd_reserve reserve;
        struct coir_nbd_take take;
        struct coir_nbd_skip skip;
    };
};
coir_declare(coir_nbd_accept);

/* Receives until the client wants no more, or there is no going on with it. The result is true when it is the server
 * that ends: the client may be in the middle of something. */
struct coir_nbd_receive {
    coir_frame(bool);
    coir_args(struct coir_nbd_connection *c;);
    bool stopping;                  /* it has seen that the server ends */
    bool late;                      /* the request came after the server was told to stop */
    int next;
    struct nbd_request_head head;
    struct coir_scope scope;
    union {
        struct coir_nbd_fill fill;
        struct coir_nbd_accept accept;
    };
};
coir_declare(coir_nbd_receive);

#endif
