/* SPDX-License-Identifier: MIT */
/*
 * What happens to a TLS connection between two awaits: the stores of bytes that OpenSSL reads from and writes to, its
 * steps, and what its errors mean. It owns the SSL and the stores, not the descriptor. All memory is OpenSSL's
 * allocator's, so that who replaces that one has all of it.
 */
#include <openssl/err.h>
#include <string.h>
#include <sys/socket.h>

#include "runtime/tls/connection.h"

/* ---- the stores ---- */

static size_t left_of(const struct coir_tls_bytes *b)
{
    return b->end - b->at;
}

/* Makes room for `more` bytes behind `end`. False: no memory. */
static bool reserve(struct coir_tls_bytes *b, size_t more)
{
    const size_t size = (b->end + more + 4095) & ~(size_t)4095;
    unsigned char *buf;

    if (b->end + more <= b->size)
        return true;
    buf = OPENSSL_realloc(b->buf, size);
    if (!buf)
        return false;
    b->buf = buf;
    b->size = size;
    return true;
}

static void release(struct coir_tls_bytes *b)
{
    OPENSSL_free(b->buf);
    *b = (struct coir_tls_bytes){ 0 };
}

static int store_write(BIO *bio, const char *from, int len)
{
    struct coir_tls_connection *c = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    if (len <= 0)
        return 0;
    if (!reserve(&c->pending, (size_t)len)) {
        c->no_memory = true;
        return -1;
    }
    memcpy(c->pending.buf + c->pending.end, from, (size_t)len);
    c->pending.end += (size_t)len;
    return len;
}

static int store_read(BIO *bio, char *to, int len)
{
    struct coir_tls_connection *c = BIO_get_data(bio);
    const size_t n = left_of(&c->in) < (size_t)len ? left_of(&c->in) : (size_t)len;

    BIO_clear_retry_flags(bio);
    if (len <= 0)
        return 0;
    if (n == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(to, c->in.buf + c->in.at, n);
    c->in.at += n;
    return (int)n;
}

static long store_ctrl(BIO *bio, int what, long num, void *ptr)
{
    (void)bio, (void)num, (void)ptr;
    return what == BIO_CTRL_FLUSH;
}

static int store_create(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

BIO_METHOD *coir_tls_stores(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "coir");

    if (m && BIO_meth_set_write(m, store_write) && BIO_meth_set_read(m, store_read)
        && BIO_meth_set_ctrl(m, store_ctrl) && BIO_meth_set_create(m, store_create))
        return m;
    BIO_meth_free(m);
    return NULL;
}

/* ---- life ---- */

struct coir_tls_connection *coir_tls_connection_new(struct coir_tls_context *context, int fd)
{
    struct coir_tls_connection *c = OPENSSL_zalloc(sizeof *c);
    BIO *bio = NULL;

    if (!c)
        return NULL;
    coir_tls_context_hold(context);
    c->context = context;
    c->fd = fd;
    coir_semaphore_init(&c->gone, 0);
    c->ssl = SSL_new(context->ssl);
    if (c->ssl)
        bio = BIO_new(context->method);
    if (!bio || !reserve(&c->in, COIR_TLS_IN)) {
        BIO_free(bio);
        coir_tls_connection_free(c);
        return NULL;
    }
    BIO_set_data(bio, c);
    SSL_set_bio(c->ssl, bio, bio);
    if (context->server)
        SSL_set_accept_state(c->ssl);
    else
        SSL_set_connect_state(c->ssl);
    return c;
}

void coir_tls_connection_free(struct coir_tls_connection *c)
{
    SSL_free(c->ssl);
    release(&c->in);
    release(&c->flying);
    release(&c->pending);
    coir_tls_context_free(c->context);
    ERR_clear_error();
    OPENSSL_free(c);
}

int coir_tls_begin(struct coir_tls_connection *c, unsigned use)
{
    if ((use & COIR_TLS_READS && c->reading) || (use & COIR_TLS_WRITES && c->writing))
        return -EBUSY;
    if (c->status < 0)
        return c->status;
    if (use & COIR_TLS_WRITES && c->write_status < 0)
        return c->write_status;
    if (!c->established && use != (COIR_TLS_READS | COIR_TLS_WRITES))
        return -ENOTCONN;
    c->reading |= (use & COIR_TLS_READS) != 0;
    c->writing |= (use & COIR_TLS_WRITES) != 0;
    c->users++;
    return 0;
}

void coir_tls_end(struct coir_tls_connection *c, unsigned use)
{
    if (use & COIR_TLS_READS)
        c->reading = false;
    if (use & COIR_TLS_WRITES)
        c->writing = false;
    c->users--;
    if (c->closed)
        coir_release(&c->gone, 1);
}

/* ---- what its errors mean ---- */

static int die(struct coir_tls_connection *c, int status, const char *says, const char *more)
{
    if (c->status == 0) {
        c->status = status;
        snprintf(c->why, sizeof c->why, "%s%s%s", says, *more ? ": " : "", more);
    }
    ERR_clear_error();
    return c->status;
}

static const char *reason_of(unsigned long error)
{
    const char *text = ERR_reason_error_string(error);

    return text ? text : "an unknown error of OpenSSL's";
}

/* The oldest error has caused the others; but that memory ran out is more than what follows of it. */
static int die_of_openssl(struct coir_tls_connection *c)
{
    const unsigned long error = ERR_peek_last_error();
    const int reason = ERR_GET_REASON(error);
    const long verified = SSL_get_verify_result(c->ssl);

    if (c->no_memory || reason == ERR_R_MALLOC_FAILURE || ERR_GET_REASON(ERR_peek_error()) == ERR_R_MALLOC_FAILURE)
        return die(c, -ENOMEM, "no memory", "");
    if (error == 0)
        return die(c, -EPROTO, "OpenSSL failed, and does not say why", "");
    if (ERR_GET_LIB(error) != ERR_LIB_SSL)
        return die(c, -EPROTO, "OpenSSL", reason_of(error));
    switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
        return die(c, -EKEYREJECTED, "the peer's certificate was refused", X509_verify_cert_error_string(verified));
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        return die(c, -EKEYREJECTED, "the peer has no certificate", "");
    case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC:
    case SSL_R_DIGEST_CHECK_FAILED:
        return die(c, -EBADMSG, "what came was altered on the way", reason_of(error));
    }
    if (reason > SSL_AD_REASON_OFFSET)
        return die(c, -EPROTO, "the peer refused", SSL_alert_desc_string_long(reason - SSL_AD_REASON_OFFSET));
    return die(c, -EPROTO, "the peer does not speak TLS as it should", reason_of(error));
}

/* A call of OpenSSL's returned `ret`, which is no success. -EAGAIN, 0 when the peer has said goodbye, or dead. */
static int failed(struct coir_tls_connection *c, int ret)
{
    switch (SSL_get_error(c->ssl, ret)) {
    case SSL_ERROR_WANT_READ:
        ERR_clear_error();
        return -EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
        ERR_clear_error();
        return 0;
    default:
        return die_of_openssl(c);
    }
}

/* ---- steps ---- */

static void remember_alpn(struct coir_tls_connection *c)
{
    const unsigned char *name;
    unsigned len;

    SSL_get0_alpn_selected(c->ssl, &name, &len);
    if (len && len < sizeof c->alpn)
        memcpy(c->alpn, name, len);      /* what lies behind it is zero */
}

int coir_tls_shake(struct coir_tls_connection *c)
{
    int ret, err;

    if (c->status < 0 || c->established)
        return c->status;
    ERR_clear_error();
    ret = SSL_do_handshake(c->ssl);
    if (ret != 1) {
        err = failed(c, ret);
        return err ? err : die(c, -EPROTO, "the peer said goodbye in the middle of the handshake", "");
    }
    c->established = true;
    remember_alpn(c);
    return 0;
}

ssize_t coir_tls_take(struct coir_tls_connection *c, void *buf, size_t len)
{
    size_t n = 0, taken = 0;
    int err = 0;

    if (c->status < 0)
        return c->status;
    do {
        ERR_clear_error();
        if (!SSL_read_ex(c->ssl, (char *)buf + taken, len - taken, &n)) {
            err = failed(c, 0);
            break;
        }
        taken += n;
    } while (taken < len);
    /* What came before an error is not lost; the next call says the error again. */
    if (left_of(&c->pending) > COIR_TLS_OWED)
        err = die(c, -EPROTO, "the peer asks for answers and does not read them", "");
    return taken ? (ssize_t)taken : err;
}

ssize_t coir_tls_put(struct coir_tls_connection *c, const void *buf, size_t len)
{
    size_t n = 0;
    int err;

    if (c->status < 0)
        return c->status;
    if (c->said_goodbye)
        return -EPIPE;
    if (len > COIR_TLS_TAKEN_AT_ONCE)
        len = COIR_TLS_TAKEN_AT_ONCE;
    if (!reserve(&c->pending, len + (len / 16384 + 2) * 64))
        return -ENOMEM;
    ERR_clear_error();
    if (SSL_write_ex(c->ssl, buf, len, &n))
        return (ssize_t)n;
    err = failed(c, 0);
    return err == -EAGAIN || err == 0 ? die(c, -EPROTO, "writing would have to read first", "") : err;
}

int coir_tls_goodbye(struct coir_tls_connection *c)
{
    int ret;

    if (c->status < 0 || c->said_goodbye)
        return c->status;
    ERR_clear_error();
    ret = SSL_shutdown(c->ssl);
    c->said_goodbye = true;
    return ret < 0 ? die_of_openssl(c) : 0;
}

/* ---- the socket's side ---- */

/* Errors after which the same call may succeed. */
static bool passes(int status)
{
    return status == -ECANCELED || status == -ENOMEM || status == -ENOBUFS;
}

int coir_tls_arrived(struct coir_tls_connection *c, int status, size_t n)
{
    c->in.at = 0;
    c->in.end = n;
    if (c->closed)
        return -ECANCELED;
    if (status < 0)
        return passes(status) ? status : die(c, status, "receiving", coir_strerror(status));
    if (n == 0)
        return die(c, -ECONNRESET, c->established ? "the connection ended without a goodbye: it may be truncated"
                                                  : "the peer closed in the middle of the handshake", "");
    return 0;
}

bool coir_tls_load(struct coir_tls_connection *c)
{
    struct coir_tls_bytes other;

    if (left_of(&c->flying) == 0) {
        other = c->flying;
        c->flying = c->pending;
        c->pending = other;
        c->pending.at = c->pending.end = 0;
    }
    return left_of(&c->flying) != 0;
}

int coir_tls_sent(struct coir_tls_connection *c, int status, size_t n)
{
    struct coir_tls_bytes other;

    c->flying.at += n;
    if (left_of(&c->flying) == 0 && c->pending.size < c->flying.size && c->pending.end == 0) {
        other = c->pending;              /* the larger store is the next to be filled */
        c->pending = c->flying;
        c->flying = other;
        c->pending.at = c->pending.end = 0;
    }
    if (c->closed)
        return -ECANCELED;
    if (status < 0 && !passes(status)) {
        c->write_status = status;
        if (c->status == 0)
            snprintf(c->why, sizeof c->why, "sending: %s", coir_strerror(status));
    }
    return status;
}

void coir_tls_push(struct coir_tls_connection *c)
{
    ssize_t n;

    while (!c->sending && !c->write_status && coir_tls_load(c)) {
        n = send(c->fd, c->flying.buf + c->flying.at, left_of(&c->flying), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            coir_tls_sent(c, -errno, 0); /* who writes next is told */
        if (n <= 0)
            return;
        coir_tls_sent(c, 0, (size_t)n);
    }
}

bool coir_tls_owes(const struct coir_tls_connection *c)
{
    return !c->writing && !c->write_status && (left_of(&c->flying) || left_of(&c->pending));
}

void coir_tls_drain(struct coir_tls_connection *c)
{
    for (int i = 0; i < 16; i++) {
        if (recv(c->fd, c->in.buf, c->in.size, MSG_DONTWAIT) <= 0)
            return;
    }
}

void coir_tls_slim(struct coir_tls_connection *c)
{
    if (c->pending.end == 0 && c->pending.size > COIR_TLS_IN)
        release(&c->pending);
    if (!c->sending && left_of(&c->flying) == 0 && c->flying.size > COIR_TLS_IN)
        release(&c->flying);
}
