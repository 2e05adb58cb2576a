/* SPDX-License-Identifier: MIT */
/*
 * Configurations: an SSL_CTX made from the options, and the sentence for what is wrong with them. Files are read here
 * and nowhere else. A context is changed by nobody once it is made, so that every shard may use it; its references
 * are counted atomically.
 */
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>
#include <unistd.h>

#include "runtime/tls/connection.h"

/* Where the reason goes. */
struct why {
    char *text;
    size_t size;
};

static int refuse(const struct why *why, int status, const char *what, const char *says)
{
    if (why->text && why->size)
        snprintf(why->text, why->size, "%s: %s", what, says);
    ERR_clear_error();
    return status;
}

/* The same with OpenSSL's reason, why it does not take `what`: the oldest, which has caused the others. */
static int refuse_of_openssl(const struct why *why, const char *what, const char *part)
{
    const unsigned long error = ERR_peek_error();
    const char *reason = ERR_reason_error_string(error);
    char text[256];

    if (ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE)
        return refuse(why, -ENOMEM, what, "no memory");
    snprintf(text, sizeof text, "the %s is not taken: %s", part, reason ? reason : "OpenSSL does not say why");
    return refuse(why, -EINVAL, what, text);
}

static int no_memory(const struct why *why)
{
    return refuse(why, -ENOMEM, "TLS", "no memory");
}

/* Whether a file, or a folder, can be opened at all: OpenSSL's own words for that are hard to read. */
static int can_open(const struct why *why, const char *path, int flags)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    const int err = errno;

    if (fd < 0)
        return refuse(why, -err, path, coir_strerror(err));
    close(fd);
    return 0;
}

/* ---- the protocols inside ---- */

/* "h2,http/1.1" as TLS has it: every name behind its length. */
static int set_alpn(struct coir_tls_context *c, const char *list, const struct why *why)
{
    const size_t len = strlen(list);
    size_t begin = 0;

    c->alpn = OPENSSL_malloc(len + 1);
    if (!c->alpn)
        return no_memory(why);
    memcpy(c->alpn + 1, list, len);
    for (size_t i = 0; i <= len; i++) {
        if (i < len && list[i] != ',')
            continue;
        if (i == begin || i - begin > 255)
            return refuse(why, -EINVAL, "alpn", "names of 1 to 255 bytes, with commas between them");
        c->alpn[begin] = (unsigned char)(i - begin);
        begin = i + 1;
    }
    if (len + 1 > 65535)
        return refuse(why, -EINVAL, "alpn", "too long");
    c->alpn_len = (unsigned)len + 1;
    return c->server || SSL_CTX_set_alpn_protos(c->ssl, c->alpn, c->alpn_len) == 0 ? 0 : no_memory(why);
}

/* A server's choice: its own order counts. */
static int choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
                       unsigned in_len, void *context)
{
    const struct coir_tls_context *c = context;
    unsigned char *found;

    (void)ssl;
    if (SSL_select_next_proto(&found, out_len, c->alpn, c->alpn_len, in, in_len) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = found;
    return SSL_TLSEXT_ERR_OK;
}

/* ---- certificates ---- */

/* Nobody is there to type a password; OpenSSL's own way is to ask the terminal. It notes that it was asked. */
static int no_password(char *buf, int size, int writing, void *asked)
{
    (void)buf, (void)size, (void)writing;
    if (asked)
        *(bool *)asked = true;
    return -1;
}

static int own_key(SSL_CTX *ssl, const char *key, const struct why *why)
{
    bool asked = false;
    int taken;

    SSL_CTX_set_default_passwd_cb_userdata(ssl, &asked);
    taken = SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM);
    SSL_CTX_set_default_passwd_cb_userdata(ssl, NULL);
    if (taken == 1)
        return 0;
    return asked ? refuse(why, -EINVAL, key, "the key is encrypted") : refuse_of_openssl(why, key, "key");
}

static int own_certificate(SSL_CTX *ssl, const struct coir_tls_options *o, const struct why *why)
{
    const char *key = o->key ? o->key : o->certificate;
    int err = can_open(why, o->certificate, 0);

    if (err == 0 && SSL_CTX_use_certificate_chain_file(ssl, o->certificate) != 1)
        err = refuse_of_openssl(why, o->certificate, "certificate");
    if (err == 0)
        err = can_open(why, key, 0);
    return err ? err : own_key(ssl, key, why);
}

/* The certificates of a text, any number of them but not none. */
static int trust_text(SSL_CTX *ssl, const char *text, const struct why *why)
{
    BIO *bio = BIO_new_mem_buf(text, -1);
    X509 *cert;
    int n = 0, err = 0;

    if (!bio)
        return no_memory(why);
    while (err == 0 && (cert = PEM_read_bio_X509(bio, NULL, no_password, NULL)) != NULL) {
        if (X509_STORE_add_cert(SSL_CTX_get_cert_store(ssl), cert) != 1)
            err = refuse_of_openssl(why, "ca_text", "certificate");
        X509_free(cert);
        n++;
    }
    /* How a text ends in good order: there is no further "-----BEGIN". */
    if (err == 0 && (n == 0 || ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE))
        err = refuse_of_openssl(why, "ca_text", "certificate");
    ERR_clear_error();
    BIO_free(bio);
    return err;
}

static int trust(SSL_CTX *ssl, const struct coir_tls_options *o, const struct why *why)
{
    int err = 0;

    if (!o->ca_file && !o->ca_folder && !o->ca_text)
        return SSL_CTX_set_default_verify_paths(ssl) == 1 ? 0 : no_memory(why);
    if (o->ca_file) {
        err = can_open(why, o->ca_file, 0);
        if (err == 0 && SSL_CTX_load_verify_file(ssl, o->ca_file) != 1)
            err = refuse_of_openssl(why, o->ca_file, "certificate");
    }
    if (err == 0 && o->ca_folder) {
        err = can_open(why, o->ca_folder, O_DIRECTORY);
        if (err == 0 && SSL_CTX_load_verify_dir(ssl, o->ca_folder) != 1)
            err = refuse_of_openssl(why, o->ca_folder, "folder");
    }
    return err == 0 && o->ca_text ? trust_text(ssl, o->ca_text, why) : err;
}

/* The issuers that a server names when it asks for a certificate; clients with several choose by that. */
static int name_issuers(SSL_CTX *ssl, const struct coir_tls_options *o, const struct why *why)
{
    STACK_OF(X509_NAME) *names;

    if (!o->ca_file)
        return 0;
    names = SSL_load_client_CA_file(o->ca_file);
    if (!names)
        return refuse_of_openssl(why, o->ca_file, "certificate");
    SSL_CTX_set_client_CA_list(ssl, names);
    return 0;
}

/* ---- all of it ---- */

static int contradicts(const struct coir_tls_options *o, const struct why *why)
{
    if (o->server && !o->certificate)
        return refuse(why, -EINVAL, "certificate", "a server has to have one");
    if (!o->server && o->client_certificate != COIR_TLS_NOT_ASKED)
        return refuse(why, -EINVAL, "client_certificate", "that is for servers");
    if (o->server && o->danger_accept_any_certificate)
        return refuse(why, -EINVAL, "danger_accept_any_certificate", "that is for clients");
    if (o->key && !o->certificate)
        return refuse(why, -EINVAL, "key", "there is no certificate to it");
    if ((unsigned)o->client_certificate > COIR_TLS_REQUIRED)
        return refuse(why, -EINVAL, "client_certificate", "there is no such value");
    return 0;
}

static int verification(struct coir_tls_context *c, const struct coir_tls_options *o, const struct why *why)
{
    int mode = SSL_VERIFY_NONE, err;

    if (o->server && o->client_certificate != COIR_TLS_NOT_ASKED)
        mode = SSL_VERIFY_PEER | (o->client_certificate == COIR_TLS_REQUIRED ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0);
    if (!o->server && !o->danger_accept_any_certificate)
        mode = SSL_VERIFY_PEER;
    SSL_CTX_set_verify(c->ssl, mode, NULL);
    c->verifies = mode != SSL_VERIFY_NONE;
    if (!c->verifies)
        return 0;
    err = trust(c->ssl, o, why);
    return err == 0 && o->server ? name_issuers(c->ssl, o, why) : err;
}

static int fill(struct coir_tls_context *c, const struct coir_tls_options *o, const struct why *why)
{
    static const unsigned char sessions[] = "coir";
    int err;

    c->method = coir_tls_stores();
    c->ssl = SSL_CTX_new(o->server ? TLS_server_method() : TLS_client_method());
    if (!c->method || !c->ssl)
        return no_memory(why);
    c->server = o->server;
    SSL_CTX_set_options(c->ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_clear_options(c->ssl, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(c->ssl, SSL_MODE_AUTO_RETRY | SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_default_passwd_cb(c->ssl, no_password);
    if (SSL_CTX_set_min_proto_version(c->ssl, o->tls13_only ? TLS1_3_VERSION : TLS1_2_VERSION) != 1)
        return refuse_of_openssl(why, "tls13_only", "version");
    if (SSL_CTX_set_session_id_context(c->ssl, sessions, sizeof sessions - 1) != 1)
        return no_memory(why);
    err = o->certificate ? own_certificate(c->ssl, o, why) : 0;
    if (err == 0)
        err = verification(c, o, why);
    if (err == 0 && o->alpn)
        err = set_alpn(c, o->alpn, why);
    if (c->server && c->alpn)
        SSL_CTX_set_alpn_select_cb(c->ssl, choose_alpn, c);
    return err;
}

int coir_tls_context_new_(const struct coir_tls_options *options, struct coir_tls_context **out, char *text,
                          size_t size, uint64_t abi)
{
    const struct why why = { text, size };
    struct coir_tls_context *c;
    int err;

    if (text && size)
        *text = '\0';
    if (!out)
        return -EFAULT;
    *out = NULL;
    if (!options)
        return refuse(&why, -EFAULT, "options", "NULL");
    if (abi != COIR_TLS_ABI_)
        return refuse(&why, -ENOEXEC, "coir/tls.h", coir_strerror(ENOEXEC));
    err = contradicts(options, &why);
    if (err)
        return err;
    ERR_clear_error();
    c = OPENSSL_zalloc(sizeof *c);
    if (!c)
        return no_memory(&why);
    c->refs = 1;
    err = fill(c, options, &why);
    ERR_clear_error();
    if (err)
        coir_tls_context_free(c);
    else
        *out = c;
    return err;
}

void coir_tls_context_hold(struct coir_tls_context *context)
{
    __atomic_add_fetch(&context->refs, 1, __ATOMIC_RELAXED);
}

void coir_tls_context_free(struct coir_tls_context *context)
{
    if (!context || __atomic_sub_fetch(&context->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    SSL_CTX_free(context->ssl);
    BIO_meth_free(context->method);
    OPENSSL_free(context->alpn);
    OPENSSL_free(context);
}

struct ssl_ctx_st *coir_tls_context_ssl(struct coir_tls_context *context)
{
    return context ? context->ssl : NULL;
}
