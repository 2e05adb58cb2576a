/* SPDX-License-Identifier: MIT */
/*
 * What goes to a client once requests are served: the answers, each whole, in the order in which requests end, as many
 * in one system call as are ready. A client that does not take them in time is not waited for.
 */
#ifndef COIR_SERVE_NBD_SEND_H
#define COIR_SERVE_NBD_SEND_H

#include <coir/coir.h>

#include "serve/nbd_request.h"

enum { NBD_SENT_AT_ONCE = 256 };    /* parts of a writev: more than one answer has */

struct coir_nbd_output {
    struct coir_nbd_request *first, **last;     /* answers, oldest first */
    struct coir_event more;
    bool finished;                  /* no more will come */
    bool broken;                    /* nothing can be sent any more */
    struct iovec iov[NBD_SENT_AT_ONCE];
};

void coir_nbd_output_init(struct coir_nbd_output *out);

/* Takes a request that has been answered. */
void coir_nbd_push(struct coir_nbd_request *r);

/* No more will be pushed: coir_nbd_send ends when it has sent what it has. */
void coir_nbd_finish(struct coir_nbd_output *out);

/* Gives back what was pushed and never sent. */
void coir_nbd_forget(struct coir_nbd_output *out);

/* All of `n` pieces; `iov` is changed. */
struct coir_nbd_send_iov {
    coir_frame_void;
    coir_args(int fd; struct iovec *iov; int n; uint64_t *calls;);
    struct coir_writev writev;
};
coir_declare(coir_nbd_send_iov);

/* Sends what is pushed, until nothing more will be, or nothing can be sent: then it stops the connection's receiver. */
struct coir_nbd_send {
    coir_frame_void;
    coir_args(struct coir_nbd_connection *connection;);
    int n;
    size_t bytes;
    unsigned requests;              /* whose answers are in this writev: more may be pushed meanwhile */
    struct coir_scope scope;
    union {
        struct coir_event_wait wait;
        struct coir_nbd_send_iov send;
    };
};
coir_declare(coir_nbd_send);

#endif
