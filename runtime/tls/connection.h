/* SPDX-License-Identifier: MIT */
/*
 * One TLS connection: an SSL between two stores of bytes. What arrived lies in `in` until OpenSSL has taken it; what
 * OpenSSL wants sent is appended to `pending`, and lies in `flying` while it is sent.
 *
 *      socket --recv--> in --> SSL --> plaintext           plaintext --> SSL --> pending --> flying --send--> socket
 *
 * Functions here never wait and never suspend: they are what happens between two awaits, when nothing else runs on the
 * shard. The awaits are in stream.c. Invariants, between any two calls:
 *   1. Bytes leave in the order OpenSSL made them: flying before pending, and nobody but the one who set `sending`
 *      sends, or touches `flying`, until he has cleared it.
 *   2. Whoever reads has set `reading`, whoever writes or shuts down `writing`, a handshake both; `users` counts them.
 *   3. `status`, once negative, stays: the connection is dead.
 *   4. This thread's queue of OpenSSL errors is empty.
 */
#ifndef COIR_RUNTIME_TLS_CONNECTION_H
#define COIR_RUNTIME_TLS_CONNECTION_H

#include <coir/sync.h>
#include <coir/tls.h>
#include <openssl/ssl.h>

enum {
    COIR_TLS_IN = 16384 + 512,           /* a record and a little more */
    COIR_TLS_TAKEN_AT_ONCE = 65536,      /* plaintext that a write encrypts before it sends */
    COIR_TLS_OWED = 262144,              /* answers a peer may leave unread */
};

struct coir_tls_context {
    SSL_CTX *ssl;
    BIO_METHOD *method;                  /* of both stores */
    unsigned refs;                       /* its maker and its connections; atomic */
    unsigned char *alpn;                 /* on the wire: each name behind its length */
    unsigned alpn_len;
    bool server, verifies;
};

/* The bytes from `at` to `end` of `size`. */
struct coir_tls_bytes {
    unsigned char *buf;
    size_t at, end, size;
};

struct coir_tls_connection {
    struct coir_tls_context *context;
    SSL *ssl;
    int fd;
    int status;                          /* negative: dead, and why */
    int write_status;                    /* negative: nothing more can be sent */
    unsigned users;                      /* operations under way */
    bool established, reading, writing, sending;
    bool said_goodbye, closed;
    bool no_memory;                      /* a store could not grow */
    struct coir_tls_bytes in, flying, pending;
    struct coir_semaphore gone;          /* a permit for each operation that ended after `closed` */
    char alpn[256], why[256];
};

enum coir_tls_use { COIR_TLS_READS = 1, COIR_TLS_WRITES = 2 };

/* What an SSL reads from and writes to; NULL for no memory. The contexts' to make and free. */
BIO_METHOD *coir_tls_stores(void);

/* A connection for `context`, of which it takes a reference. NULL: no memory. */
struct coir_tls_connection *coir_tls_connection_new(struct coir_tls_context *context, int fd);
void coir_tls_connection_free(struct coir_tls_connection *c);

/* Begins an operation, and ends it. 0, or the errno that it ends with at once. */
int coir_tls_begin(struct coir_tls_connection *c, unsigned use);
void coir_tls_end(struct coir_tls_connection *c, unsigned use);

/* Each makes OpenSSL do a step. -EAGAIN: more has to arrive first. */
int coir_tls_shake(struct coir_tls_connection *c);                               /* 0: done */
ssize_t coir_tls_take(struct coir_tls_connection *c, void *buf, size_t len);     /* 0: the peer said goodbye */
ssize_t coir_tls_put(struct coir_tls_connection *c, const void *buf, size_t len);
int coir_tls_goodbye(struct coir_tls_connection *c);

/* What a receive into `in`, which was empty, has ended with. 0, or the errno that the operation ends with. */
int coir_tls_arrived(struct coir_tls_connection *c, int status, size_t n);

/* What is to be sent next, into `flying`; false: nothing is. And what became of it. */
bool coir_tls_load(struct coir_tls_connection *c);
int coir_tls_sent(struct coir_tls_connection *c, int status, size_t n);
/* Sends what the socket takes without waiting, unless somebody sends. */
void coir_tls_push(struct coir_tls_connection *c);
/* Whether something is to be sent, and nobody is there who does it. */
bool coir_tls_owes(const struct coir_tls_connection *c);
/* Receives and drops what has arrived, so that closing does not reset the connection. */
void coir_tls_drain(struct coir_tls_connection *c);

/* Gives large stores back, between writes. */
void coir_tls_slim(struct coir_tls_connection *c);

extern const struct coir_stream_kind coir_tls_kind;     /* stream.c */

/* context.c */
void coir_tls_context_hold(struct coir_tls_context *context);

#endif
