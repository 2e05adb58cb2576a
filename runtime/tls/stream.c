/* SPDX-License-Identifier: MIT */
/*
 * TLS as a stream: the awaits of a connection. Each body is a loop over a step of OpenSSL's (connection.h), what that
 * made is sent, what it lacks is received.
 *
 * An operation counts itself in the connection's `users` until its end, and only its own side: so a reader and a writer
 * are there at most once each. The one who closes waits until both have gone before he closes the descriptor: nobody
 * may come back to a number that is another file's by then.
 */
#include <arpa/inet.h>
#include <coir/shard.h>
#include <fcntl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <string.h>

#include "runtime/tls/connection.h"

enum { PATIENCE_S = 1 };                 /* of a close, with a socket that takes nothing */

static struct coir_tls_connection *connection_of(struct coir_stream *stream)
{
    return stream ? ((struct coir_tls *)stream)->connection : NULL;
}

/* Begins an operation on a stream; *out is set only when it has begun. */
static int begin(struct coir_stream *stream, unsigned use, struct coir_tls_connection **out)
{
    struct coir_tls_connection *c = connection_of(stream);
    const int err = c ? coir_tls_begin(c, use) : -EBADF;

    *out = err ? NULL : c;
    return err;
}

/* ---- sending ---- */

/* Sends what is to be sent. One at a time: who awaits it has `writing`. */
struct tls_flush {
    coir_frame_void;
    coir_args(struct coir_tls_connection *c;);
    int err;
    struct coir_send_all send;
};
static coir_declare(tls_flush);

coir_body(tls_flush, f) {
    while (coir_tls_load(f->c)) {
        f->c->sending = true;
        coir_await(f, &f->send, coir_send_all, .fd = f->c->fd, .buf = f->c->flying.buf + f->c->flying.at,
                   .len = f->c->flying.end - f->c->flying.at);
        f->c->sending = false;
        f->err = coir_tls_sent(f->c, coir_status(&f->send), f->send.result);
        if (f->err < 0)
            coir_fail(f, f->err);
    }
} coir_end

/* ---- the handshake ---- */

struct tls_shake {
    coir_frame_void;
    coir_args(struct coir_tls *tls;);
    struct coir_tls_connection *c;
    int step, err;
    unsigned use;
    union {
        struct tls_flush flush;
        struct coir_recv recv;
    };
};
static coir_declare(tls_shake);
_Static_assert(sizeof(struct tls_shake) <= sizeof(struct coir_tls_handshake), "it lies in the public frame");

/* After the handshake there is nothing left to do but to send what a cancelled one has left. */
static int begin_shake(struct coir_tls *tls, unsigned *use, struct coir_tls_connection **out)
{
    struct coir_tls_connection *c = tls ? tls->connection : NULL;

    *out = NULL;
    *use = c && c->established ? COIR_TLS_WRITES : COIR_TLS_READS | COIR_TLS_WRITES;
    if (!tls)
        return -EFAULT;
    if (c && c->established && c->writing)
        return 0;
    return begin(&tls->stream, *use, out);
}

coir_body(tls_shake, f) {
    f->err = begin_shake(f->tls, &f->use, &f->c);
    if (f->err < 0)
        coir_fail(f, f->err);
    if (!f->c)
        coir_return(f);
    for (;;) {
        f->step = coir_tls_shake(f->c);
        if (f->step < 0 && f->step != -EAGAIN) {
            coir_tls_push(f->c);         /* the alert */
            coir_fail(f, f->step);
        }
        coir_try(f, &f->flush, tls_flush, .c = f->c);
        if (f->step == 0)
            break;
        coir_await(f, &f->recv, coir_recv, .fd = f->c->fd, .buf = f->c->in.buf, .len = f->c->in.size);
        f->err = coir_tls_arrived(f->c, coir_status(&f->recv), f->recv.result);
        if (f->err < 0)
            coir_fail(f, f->err);
    }
    coir_finally(f) {
        if (f->c)
            coir_tls_end(f->c, f->use);
    }
} coir_end

/* The frame goes on under another name, which the compiler may not draw conclusions from. */
coir_step coir_tls_handshake_resume(struct coir_task *t)
{
    coir_step step;

    t->body = tls_shake_resume;
    __asm__ volatile("" : : : "memory");
    step = tls_shake_resume(t);
    __asm__ volatile("" : : : "memory");
    return step;
}

/* ---- reading ---- */

struct tls_read {
    coir_frame(size_t);
    coir_args(struct coir_stream *stream; void *buf; size_t len;);
    struct coir_tls_connection *c;
    ssize_t n;
    int err;
    bool owes;
    union {
        struct coir_recv recv;
        struct coir_poll poll;
    };
};
static coir_declare(tls_read);
_Static_assert(sizeof(struct tls_read) <= sizeof(struct coir_stream_read), "it lies in the public frame");

/* As long as something is to be sent and nobody writes, it waits for the socket to take something, too. */
coir_body(tls_read, f) {
    f->err = begin(f->stream, COIR_TLS_READS, &f->c);
    if (f->err < 0 || f->len == 0)
        coir_fail(f, f->err);
    if (!f->buf)
        coir_fail(f, EFAULT);
    for (;;) {
        f->n = coir_tls_take(f->c, f->buf, f->len);
        coir_tls_push(f->c);
        if (f->n != -EAGAIN)
            break;
        f->owes = coir_tls_owes(f->c);
        if (f->owes) {
            coir_await(f, &f->poll, coir_poll, .fd = f->c->fd, .events = POLLIN | POLLOUT);
            if (f->c->closed || coir_status(&f->poll) < 0)
                coir_fail(f, f->c->closed ? -ECANCELED : coir_status(&f->poll));
        }
        coir_await(f, &f->recv, coir_recv, .fd = f->c->fd, .buf = f->c->in.buf, .len = f->c->in.size,
                   .flags = f->owes ? MSG_DONTWAIT : 0);
        if (f->owes && coir_status(&f->recv) == -EAGAIN && !f->c->closed)
            continue;                    /* nothing came, but the socket takes something */
        f->err = coir_tls_arrived(f->c, coir_status(&f->recv), f->recv.result);
        if (f->err < 0)
            coir_fail(f, f->err);
    }
    if (f->n < 0)
        coir_fail(f, (int)f->n);
    f->result = (size_t)f->n;
    coir_finally(f) {
        if (f->c)
            coir_tls_end(f->c, COIR_TLS_READS);
    }
} coir_end

/* ---- writing ---- */

struct tls_write_all {
    coir_frame(size_t);
    coir_args(struct coir_stream *stream; const void *buf; size_t len;);
    struct coir_tls_connection *c;
    ssize_t n;
    int err;
    struct tls_flush flush;
};
static coir_declare(tls_write_all);
_Static_assert(sizeof(struct tls_write_all) <= sizeof(struct coir_stream_write_all), "it lies in the public frame");

/* What was taken counts at once: it is in the order of the records, and will be sent before anything else. */
coir_body(tls_write_all, f) {
    f->err = begin(f->stream, COIR_TLS_WRITES, &f->c);
    if (f->err < 0)
        coir_fail(f, f->err);
    if (!f->buf && f->len)
        coir_fail(f, EFAULT);
    for (;;) {
        coir_try(f, &f->flush, tls_flush, .c = f->c);
        if (f->result == f->len)
            break;
        f->n = coir_tls_put(f->c, (const char *)f->buf + f->result, f->len - f->result);
        if (f->n < 0)
            coir_fail(f, (int)f->n);
        f->result += (size_t)f->n;
    }
    coir_finally(f) {
        if (f->c) {
            coir_tls_slim(f->c);
            coir_tls_end(f->c, COIR_TLS_WRITES);
        }
    }
} coir_end

struct tls_shutdown {
    coir_frame_void;
    coir_args(struct coir_stream *stream;);
    struct coir_tls_connection *c;
    int err;
    struct tls_flush flush;
};
static coir_declare(tls_shutdown);
_Static_assert(sizeof(struct tls_shutdown) <= sizeof(struct coir_stream_shutdown), "it lies in the public frame");

coir_body(tls_shutdown, f) {
    f->err = begin(f->stream, COIR_TLS_WRITES, &f->c);
    if (f->err == 0)
        f->err = coir_tls_goodbye(f->c);
    if (f->err < 0)
        coir_fail(f, f->err);
    coir_try(f, &f->flush, tls_flush, .c = f->c);
    coir_finally(f) {
        if (f->c)
            coir_tls_end(f->c, COIR_TLS_WRITES);
    }
} coir_end

/* ---- closing ---- */

struct tls_close {
    coir_frame_void;
    coir_args(struct coir_stream *stream;);
    struct coir_tls_connection *c;
    struct coir_scope scope;
    union {
        struct tls_flush flush;
        struct coir_acquire acquire;
        struct coir_close close;
    };
};
static coir_declare(tls_close);
_Static_assert(sizeof(struct tls_close) <= sizeof(struct coir_stream_close), "it lies in the public frame");

/* Nobody can begin anything from here on. True: there is something to send, and this is who sends it. */
static bool takes_leave(struct coir_tls *tls)
{
    struct coir_tls_connection *c = tls->connection;

    tls->connection = NULL;
    if (c->writing)
        return false;
    c->writing = true;
    if (c->established && !c->write_status)
        coir_tls_goodbye(c);
    coir_tls_push(c);
    return c->status == 0 && c->write_status == 0 && coir_tls_load(c);
}

/* Ends what is under way; the descriptor stays open for it. */
static void hurry(struct coir_tls_connection *c)
{
    if (!c->reading)
        coir_tls_drain(c);
    c->closed = true;
    if (c->users)
        shutdown(c->fd, SHUT_RDWR);
}

coir_body(tls_close, f) {
    f->c = connection_of(f->stream);
    if (!f->c)
        coir_fail(f, EBADF);
    if (takes_leave((struct coir_tls *)f->stream))
        coir_within(f, &f->scope, coir_now() + PATIENCE_S * COIR_S, &f->flush, tls_flush, .c = f->c);
    hurry(f->c);
    if (f->c->users)
        coir_shield(f, &f->scope, &f->acquire, coir_acquire, .semaphore = &f->c->gone, .n = f->c->users);
    coir_await(f, &f->close, coir_close, .fd = f->c->fd);
    coir_tls_connection_free(f->c);
    coir_check(f, &f->close);
} coir_end

const struct coir_stream_kind coir_tls_kind = {
    .name = "coir_tls",
    .read = tls_read_resume,
    .write_all = tls_write_all_resume,
    .shutdown = tls_shutdown_resume,
    .close = tls_close_resume,
};

/* ---- making one, and asking it ---- */

/* The name that the certificate has to be for, and that the server is told. */
static int set_host(struct coir_tls_connection *c, const char *host)
{
    unsigned char address[16];
    const bool is_address = inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;

    if (*host == '\0')
        return -EINVAL;
    if (is_address)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(c->ssl), host) == 1 ? 0 : -ENOMEM;
    if (strlen(host) > 255)
        return -EINVAL;
    SSL_set_hostflags(c->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(c->ssl, host) == 1 && SSL_set_tlsext_host_name(c->ssl, host) == 1 ? 0 : -ENOMEM;
}

int coir_tls_init(struct coir_tls *tls, struct coir_tls_context *context, int fd, const char *host)
{
    struct coir_tls_connection *c;
    int err = 0;

    if (!tls)
        return -EFAULT;
    *tls = (struct coir_tls){ .stream = { &coir_tls_kind } };
    if (!context)
        return -EFAULT;
    if (fcntl(fd, F_GETFD) < 0)
        return -EBADF;
    if (!host && context->verifies && !context->server)
        return -EINVAL;
    c = coir_tls_connection_new(context, fd);
    if (!c)
        return -ENOMEM;
    if (host && !context->server)
        err = set_host(c, host);
    if (err)
        coir_tls_connection_free(c);
    else
        tls->connection = c;
    return err;
}

const char *coir_tls_error(const struct coir_tls *tls)
{
    const struct coir_tls_connection *c = tls ? tls->connection : NULL;

    if (!c)
        return "the connection is closed, or was never made";
    return *c->why ? c->why : "nothing is wrong";
}

const char *coir_tls_alpn(const struct coir_tls *tls)
{
    return tls && tls->connection ? tls->connection->alpn : "";
}

const char *coir_tls_version(const struct coir_tls *tls)
{
    return tls && tls->connection && tls->connection->established ? SSL_get_version(tls->connection->ssl) : "";
}

struct ssl_st *coir_tls_ssl(struct coir_tls *tls)
{
    return tls && tls->connection ? tls->connection->ssl : NULL;
}
