/* SPDX-License-Identifier: MIT */
/*
 * Certificates for the tests of TLS, made when the test runs, in a folder that goes with it: an authority, and
 * certificates of its and of nobody's. P-256, because it is quick. Everything here ends the program when it fails.
 */
#ifndef COIR_TESTS_TLS_CERTIFICATES_H
#define COIR_TESTS_TLS_CERTIFICATES_H

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "ops/net.h"

struct identity {
    X509 *cert;
    EVP_PKEY *key;
};

/* What a certificate is to say. Days count from now. */
struct wanted {
    const char *file;                   /* its name in the folder, without .pem */
    const char *subject, *names;        /* names: as in "DNS:a,IP:127.0.0.1"; NULL: an authority */
    int from, to;                       /* 0, 0: yesterday, and tomorrow */
};

static char folder[64];

/* A file of the folder. The text is good for 63 further calls. */
TAP_UNUSED static const char *in_folder(const char *file)
{
    static _Thread_local char paths[64][96];
    static _Thread_local unsigned at;
    char *path = paths[at++ % 64];

    snprintf(path, sizeof paths[0], "%s/%s", folder, file);
    return path;
}

static void *have(void *p, const char *what)
{
    if (!p) {
        fprintf(stderr, "%s\n", what);
        ERR_print_errors_fp(stderr);
        abort();
    }
    return p;
}
#define HAVE(call) have((call), #call)

static void extend(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *ext;

    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    ext = HAVE(X509V3_EXT_conf_nid(NULL, &ctx, nid, value));
    X509_add_ext(cert, ext, -1);
    X509_EXTENSION_free(ext);
}

static void write_pem(const char *file, const char *ending, X509 *cert, EVP_PKEY *key)
{
    char path[128];
    FILE *out;

    snprintf(path, sizeof path, "%s/%s%s", folder, file, ending);
    out = HAVE(fopen(path, "w"));
    if (cert)
        PEM_write_X509(out, cert);
    if (key)
        PEM_write_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL);
    fclose(out);
}

/* Makes one, signed by `by`, or by itself when that is NULL, and writes NAME.pem, with the certificate and the key,
 * NAME.cert and NAME.key. */
TAP_UNUSED static struct identity certify(const struct identity *by, struct wanted w)
{
    static long serial = 1000;
    struct identity made = { HAVE(X509_new()), HAVE(EVP_EC_gen("P-256")) };
    X509 *issuer = by ? by->cert : made.cert;
    X509_NAME *name = X509_get_subject_name(made.cert);

    X509_set_version(made.cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.cert), serial++);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)w.subject, -1, -1, 0);
    X509_set_issuer_name(made.cert, X509_get_subject_name(issuer));
    X509_time_adj_ex(X509_getm_notBefore(made.cert), w.from || w.to ? w.from : -1, 0, NULL);
    X509_time_adj_ex(X509_getm_notAfter(made.cert), w.from || w.to ? w.to : 1, 0, NULL);
    X509_set_pubkey(made.cert, made.key);
    extend(made.cert, issuer, NID_basic_constraints, w.names ? "critical,CA:FALSE" : "critical,CA:TRUE");
    extend(made.cert, issuer, NID_subject_key_identifier, "hash");
    if (w.names)
        extend(made.cert, issuer, NID_subject_alt_name, w.names);
    if (X509_sign(made.cert, by ? by->key : made.key, EVP_sha256()) == 0)
        have(NULL, "X509_sign");
    write_pem(w.file, ".pem", made.cert, made.key);
    write_pem(w.file, ".cert", made.cert, NULL);
    write_pem(w.file, ".key", NULL, made.key);
    return made;
}

TAP_UNUSED static void forget(struct identity i)
{
    X509_free(i.cert);
    EVP_PKEY_free(i.key);
}

/* The folder, an authority "ca", and "server" by it, for localhost and the loopback's addresses. */
TAP_UNUSED static struct identity make_folder(void)
{
    struct identity ca;

    snprintf(folder, sizeof folder, "/tmp/coir-tls-XXXXXX");
    HAVE(mkdtemp(folder));
    ca = certify(NULL, (struct wanted){ "ca", "an authority", NULL, 0, 0 });
    forget(certify(&ca, (struct wanted){ "server", "a server", "DNS:localhost,DNS:*.example.org,IP:127.0.0.1,IP:::1",
                                         0, 0 }));
    forget(certify(&ca, (struct wanted){ "client", "a client", "DNS:client", 0, 0 }));
    return ca;
}

/* Removes the folder and what is in it. */
TAP_UNUSED static void remove_folder(void)
{
    DIR *d = HAVE(opendir(folder));
    struct dirent *e;

    while ((e = readdir(d)) != NULL) {
        if (e->d_name[0] != '.')
            unlink(in_folder(e->d_name));
    }
    closedir(d);
    rmdir(folder);
}

#endif
