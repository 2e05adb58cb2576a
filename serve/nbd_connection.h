/* SPDX-License-Identifier: MIT */
/*
 * A client: one task with all that it has, which ends with its connection. Its shard's only.
 */
#ifndef COIR_SERVE_NBD_CONNECTION_H
#define COIR_SERVE_NBD_CONNECTION_H

#include "serve/nbd_export.h"
#include "serve/nbd_handshake.h"
#include "serve/nbd_input.h"
#include "serve/nbd_receive.h"
#include "serve/nbd_send.h"
#include "serve/nbd_server.h"

enum {
    NBD_SLOWEST = 256 << 10,        /* bytes a second that a client has to send or take at least */
    NBD_LOG_LINES = 16,             /* about one connection; what comes after them is only counted */
};

/* Reads what the client still sends, until it closes. */
struct coir_nbd_linger {
    coir_frame_void;
    coir_args(struct coir_nbd_input *in;);
    union {
        struct coir_shutdown shutdown;
        struct coir_nbd_skip skip;
    };
};
coir_declare(coir_nbd_linger);

/* Serves requests. The result is true when it was not the client that ended it. */
struct coir_nbd_session {
    coir_frame(bool);
    coir_args(struct coir_nbd_connection *c;);
    union {
        struct coir_nbd_receive receive;
        struct coir_group_wait wait;
    };
};
coir_declare(coir_nbd_session);

struct coir_nbd_connection {
    coir_frame_void;
    coir_args(int fd; struct coir_nbd_server *server;);
    struct coir_nbd_shard *shard;
    struct coir_nbd_connection *next, **link;   /* among the shard's */
    struct coir_nbd_export export;              /* once there is one */
    struct coir_nbd_input in;
    struct coir_nbd_output out;
    bool fixed, no_zeroes, structured, contexts;    /* what was agreed on */
    bool stopping;                  /* the server ends */
    bool idle;                      /* it waits in `waits`, for the client to begin something */
    bool receiving;                 /* requests, in `receives` */
    bool lingers;                   /* the client may still be sending when it ends */
    int broken;                     /* 0, or why nothing can be sent any more */
    uint64_t stopped_at;            /* how many bytes had come when the server was told to stop */
    unsigned lines;                 /* logged */
    /* its requests, with their data: counted from coir_nbd_request_new to coir_nbd_request_free */
    unsigned requests;
    size_t bytes, own;
    struct coir_event room;         /* they have become fewer */
    struct coir_scope waits, receives;
    struct coir_group runs, sends;
    union {
        struct coir_nbd_handshake handshake;
        struct coir_nbd_session session;
        struct coir_nbd_linger linger;
        struct coir_volume_close close_volume;
        struct coir_close close;
    };
};
coir_declare(coir_nbd_connection);

/* Nothing can be sent any more: what is received is of no use. The sender says so. */
void coir_nbd_broken(struct coir_nbd_connection *c, int status);

/* The server ends: what waits for a client to begin something waits no more. On the connection's shard. */
void coir_nbd_stop(struct coir_nbd_connection *c);

/* A line to the server's log about this client: printf, without the end. */
void coir_nbd_log(struct coir_nbd_connection *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Until when a client may take to send or to take so many bytes. */
static inline int64_t coir_nbd_deadline(const struct coir_nbd_connection *c, size_t bytes)
{
    return coir_now() + c->server->options.patience + (int64_t)(bytes / NBD_SLOWEST) * INT64_C(1000000000);
}

#endif
