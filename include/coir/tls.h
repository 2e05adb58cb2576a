/* SPDX-License-Identifier: MIT */
/*
 * coir/tls.h - TLS over a connected socket, as a stream: OpenSSL's, in a library of its own, coir-tls.
 *
 *     f->err = coir_tls_init(&f->tls, context, fd, "example.org");
 *     ...
 *     coir_try(f, &f->handshake, coir_tls_handshake, .tls = &f->tls);
 *     coir_try(f, &f->write, coir_stream_write_all, .stream = &f->tls.stream, .buf = request, .len = len);
 *     coir_get(f, f->n, &f->read, coir_stream_read, .stream = &f->tls.stream, .buf = f->buf, .len = sizeof f->buf);
 *     ...
 *     coir_finally(f) {
 *         coir_await(f, &f->close, coir_stream_close, .stream = &f->tls.stream);
 *     }
 *
 * coir.h does not include it, since libcoir needs no OpenSSL: `pkg-config coir-tls`. TLS 1.2 and 1.3.
 * Renegotiation is refused; key updates and tickets are dealt with inside reads and writes. The peer's certificate
 * is verified unless that is turned off by a name that cannot be overlooked.
 *
 * Cryptography runs on the shard: a handshake keeps it busy for about a millisecond (RSA 2048, server), 16 KiB for
 * a few microseconds. OpenSSL never does I/O here; what it reads and writes goes through coir_recv and coir_send_all.
 *
 * Errors, besides those of the socket. coir_tls_error says each in a sentence.
 *   -EKEYREJECTED   the peer's certificate was not accepted: expired, unknown issuer, wrong host, none...
 *   -EPROTO         the peer broke the protocol, is none of TLS, wants what is not allowed here, or refused in its
 *                   turn (by an alert)
 *   -EBADMSG        a record was altered on the way
 *   -ECONNRESET     the connection ended without the peer's having said so: what was read may be truncated
 * After these, and after an error of the socket, the connection is dead: every later call says the same.
 * Cancellation and deadlines kill nothing: the call is made again and goes on.
 */
#ifndef COIR_TLS_H
#define COIR_TLS_H

#include <coir/stream.h>

#ifdef __cplusplus
extern "C" {
#endif
# 40 "coir/tls.h"

/* ---- configuration ----------------------------------------------------------------------------------- */

/* What connections of one kind have in common. Made once, used by any number of connections, from any thread. */
struct coir_tls_context;

/* Whether a server asks its clients for a certificate, and refuses those that have none. */
enum coir_tls_client_certificate { COIR_TLS_NOT_ASKED, COIR_TLS_OPTIONAL, COIR_TLS_REQUIRED };

/* What is not named is 0 or NULL, and means what is said first. All is copied. Files are PEM. */
struct coir_tls_options {
    bool server;                        /* false: a client */
    /* Who is trusted: the system's certificates, or if any of these is given, these: a file, a folder as
     * `openssl rehash` makes it, a text. A server uses them for the certificates of its clients. */
    const char *ca_file, *ca_folder, *ca_text;
    /* This side's certificate and those of its issuers, its own first; a server has to have one. The key is in
     * the same file unless one is named, and not encrypted. */
    const char *certificate, *key;
    enum coir_tls_client_certificate client_certificate;        /* of a server: whether clients need one */
    /* Protocols inside, the preferred first: "h2,http/1.1". A server takes the first of its own that the client
     * offers, and refuses one that offers others only. NULL: none is spoken of. */
    const char *alpn;
    bool tls13_only;                    /* false: 1.2 too */
    /* A client: neither the certificate nor the name is verified. Whoever is in between reads and writes all. */
    bool danger_accept_any_certificate;
};

/* Makes one. 0; or a negative errno, and in `why` (of `size` bytes, may be NULL) which file or option, and what is
 * wrong with it:
 *   -ENOENT, -EACCES, ...   a file cannot be read
 *   -EINVAL                 a file has not in it what it should, key and certificate do not belong together, options
 *                           contradict each other
 *   -ENOMEM, and -ENOEXEC: compiled against another version of coir/tls.h
 * Reads files, so not in a body of a busy shard (coir_offload). Tickets and resumption are as OpenSSL has them by
 * default: a server hands out tickets and takes them back, a client does not resume. */
#define coir_tls_context_new(options, out, why, size) coir_tls_context_new_(options, out, why, size, COIR_TLS_ABI_)
COIR_API int coir_tls_context_new_(const struct coir_tls_options *options, struct coir_tls_context **out, char *why,
                                   size_t size, uint64_t abi);

/* Gives it back; it goes when its last connection has gone. NULL is allowed. Any thread. */
COIR_API void coir_tls_context_free(struct coir_tls_context *context);

/* OpenSSL's SSL_CTX of it, to set what there is no option for, before the first connection is made. */
struct ssl_ctx_st;
COIR_API struct ssl_ctx_st *coir_tls_context_ssl(struct coir_tls_context *context);

/* ---- a connection ------------------------------------------------------------------------------------ */

struct coir_tls_connection;

/* In memory of the caller's; its address must not change. The members are private. */
struct coir_tls {
    struct coir_stream stream;
    struct coir_tls_connection *connection;
};

/*
 * Makes a connection over a connected stream socket, which is its own from then on: coir_stream_close closes it, and
 * gives back all that the connection has. `host` is what the client calls the server, a name or an address: it is sent
 * to the server (SNI; names only) and the certificate has to be for it. A server gives NULL.
 *   -EBADF    `fd` is not open (then, as after every failure, it is still the caller's)
 *   -EINVAL   a client that verifies and has no `host`; or a name that cannot be one
 *   -EFAULT   NULL
 *   -ENOMEM
 * About 50 KiB a connection, OpenSSL's part included, and 90 more while a large write is under way. Does not
 * suspend.
 */
COIR_API int coir_tls_init(struct coir_tls *tls, struct coir_tls_context *context, int fd, const char *host);

/*
 * Makes the handshake. Reading and writing begin after it: -ENOTCONN before. A second one does nothing. What the peer
 * thinks of this side's certificate it says after the handshake, in TLS 1.3: the first read tells a client. Cancelled,
 * it goes on when called again; coir_within gives it a deadline. -EBADF after coir_stream_close, -EBUSY while another
 * task makes it.
 */
struct coir_tls_handshake {
    coir_frame_void;
    coir_args(struct coir_tls *tls;);
    void *room[48];
};
coir_export(coir_tls_handshake);

/*
 * The four operations of coir/stream.h do on it what they do on any, and:
 *
 *   coir_stream_read       the result is 0 when the peer has said goodbye (close_notify), and never because its
 *                          connection broke. Cancelled, it has lost nothing: the next one goes on. While it waits,
 *                          and nobody writes, it sends what the protocol wants answered and what a cancelled write
 *                          has left.
 *   coir_stream_write_all  the result counts what was encrypted. Cancelled, up to 64 KiB of that may not be sent yet:
 *                          it is sent by a read that waits, or first by the next write, shutdown or close. So go on
 *                          behind `result`, and do not write the same again. -EPIPE after a shutdown.
 *   coir_stream_shutdown   says goodbye, after what was written. The socket stays open both ways.
 *   coir_stream_close      says goodbye if nobody did and no write is under way, waiting at most a second for the
 *                          socket to take it; in a cancelled scope not at all. What must arrive is followed by a
 *                          shutdown first. Operations under way end with -ECANCELED.
 *
 * One task may read while another writes; a second of either is -EBUSY.
 */

/* Why it is dead, in a sentence ("the peer's certificate was refused: certificate has expired"); while it is not, that
 * nothing is wrong. Never NULL; good until the next call on the connection. */
COIR_API const char *coir_tls_error(const struct coir_tls *tls);

/* Of the handshake: the protocol of `alpn` that was agreed on, "" for none; "TLSv1.3". */
COIR_API const char *coir_tls_alpn(const struct coir_tls *tls);
COIR_API const char *coir_tls_version(const struct coir_tls *tls);

/* OpenSSL's SSL of it, to ask (the peer's certificate, the cipher) or to set something before the handshake; not to
 * read, write or shut down. NULL after coir_stream_close. */
struct ssl_st;
COIR_API struct ssl_st *coir_tls_ssl(struct coir_tls *tls);

/* Private: what is compiled into the program of this header's layouts. */
#define COIR_TLS_ABI_ ((uint64_t)1 << 48 | (uint64_t)sizeof(struct coir_tls_options) << 32 \
                       | (uint64_t)sizeof(struct coir_tls_handshake) << 16 | (uint64_t)sizeof(struct coir_tls))

#ifdef __cplusplus
}
#endif
#endif
