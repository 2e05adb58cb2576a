/* SPDX-License-Identifier: MIT */
/*
 * What the tests of TLS share: contexts that have to be made, both ends of a connection over a pair of sockets, and
 * their handshakes at once.
 */
#ifndef COIR_TESTS_TLS_TLS_H
#define COIR_TESTS_TLS_TLS_H

#include <coir/tls.h>
#include <openssl/ssl.h>

#include "tls/certificates.h"

TAP_UNUSED static struct coir_tls_context *context(struct coir_tls_options o)
{
    struct coir_tls_context *made;
    char why[256];

    if (coir_tls_context_new(&o, &made, why, sizeof why) < 0) {
        fprintf(stderr, "%s\n", why);
        abort();
    }
    return made;
}

/* The usual two. */
TAP_UNUSED static struct coir_tls_context *usual_server(void)
{
    return context((struct coir_tls_options){ .server = true, .certificate = in_folder("server.pem") });
}

TAP_UNUSED static struct coir_tls_context *usual_client(void)
{
    return context((struct coir_tls_options){ .ca_file = in_folder("ca.cert") });
}

TAP_UNUSED static void at_most_12(struct coir_tls_context *c)
{
    SSL_CTX_set_max_proto_version(coir_tls_context_ssl(c), TLS1_2_VERSION);
}

/* A handshake whose status is noted, and that never fails itself; then, if asked, one read, whose status or result
 * is noted. */
struct shake {
    coir_frame_void;
    coir_args(struct coir_tls *tls; int *status; long *read; char *buf;);
    struct coir_tls_handshake handshake;
    struct coir_stream_read op;
};
static TAP_UNUSED coir_declare(shake);

coir_body(shake, f) {
    coir_await(f, &f->handshake, coir_tls_handshake, .tls = f->tls);
    *f->status = coir_status(&f->handshake);
    if (f->read && *f->status == 0) {
        coir_await(f, &f->op, coir_stream_read, .stream = &f->tls->stream, .buf = f->buf, .len = 1);
        *f->read = coir_status(&f->op) < 0 ? coir_status(&f->op) : (long)f->op.result;
    }
} coir_end

/* Both ends of one connection over `fds`, and both handshakes at once. */
struct ends {
    coir_frame_void;
    coir_args(struct coir_tls_context *client_context; struct coir_tls_context *server_context; const char *host;
              enum kind kind; bool client_reads;);
    struct coir_tls client, server;
    int fds[2];                         /* the client's, the server's */
    int client_status, server_status;
    long client_read;
    char byte;
    struct shake a, b;
    struct coir_task *kids[2];
    struct coir_combine all;
};
static TAP_UNUSED coir_declare(ends);

coir_body(ends, f) {
    make_pair(f->kind, f->fds);
    f->client_read = 0;
    MUST(coir_tls_init(&f->client, f->client_context, f->fds[0], f->host));
    MUST(coir_tls_init(&f->server, f->server_context, f->fds[1], NULL));
    f->kids[0] = coir_make(&f->a, shake, .tls = &f->client, .status = &f->client_status,
                           .read = f->client_reads ? &f->client_read : NULL, .buf = &f->byte);
    f->kids[1] = coir_make(&f->b, shake, .tls = &f->server, .status = &f->server_status);
    coir_all(f, &f->all, f->kids, 2);
} coir_end

#define TLS_READ(slot, tls_, buf_, len_) coir_await(f, slot, coir_stream_read, .stream = &(tls_)->stream, \
                                                    .buf = (buf_), .len = (len_))
#define TLS_WRITE(slot, tls_, buf_, len_) coir_await(f, slot, coir_stream_write_all, .stream = &(tls_)->stream, \
                                                     .buf = (buf_), .len = (len_))
#define TLS_CLOSE(slot, tls_) coir_await(f, slot, coir_stream_close, .stream = &(tls_)->stream)

#endif
