/* SPDX-License-Identifier: MIT */
/*
 * https - an HTTPS server that answers each request with what it knows of the connection.
 *
 * One task a connection: handshake, requests and answers, goodbye, each under a deadline. The context, certificate and
 * key, is made once and shared by all. It serves until it is killed. A certificate for trying it:
 *
 *     openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
 *         -keyout key.pem -out cert.pem
 *     https cert.pem key.pem 127.0.0.1:8443 & curl --cacert cert.pem https://localhost:8443/
 */
#include <coir/coir.h>
#include <coir/tls.h>

#include <stdio.h>
#include <string.h>

#include "listening.h"

enum { PATIENCE_S = 10 };                   /* for a handshake, for a request */

/* One connection. */
struct visit {
    coir_frame_void;
    coir_args(int fd; struct coir_tls_context *context;);
    struct coir_tls tls;
    struct coir_scope scope;
    char request[4096], answer[512];
    size_t have;
    int err;
    bool last;
    union {
        struct coir_tls_handshake handshake;
        struct coir_stream_read read;
        struct coir_stream_write_all write;
        struct coir_stream_close close;
        struct coir_close close_fd;
    };
};
static coir_declare(visit);

/* Composes the answer to the first request of `request`, which is whole, and takes that out. */
static size_t answer(struct visit *f)
{
    char *end = strstr(f->request, "\r\n\r\n") + 4, body[200];
    const char *space = strchr(f->request, ' '), *path = space ? space + 1 : "";
    const size_t length = strcspn(path, " \r\n");
    const int n = snprintf(body, sizeof body, "%.*s over %s\n", (int)(length < 100 ? length : 100), path,
                           coir_tls_version(&f->tls));
    const int len = snprintf(f->answer, sizeof f->answer, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                             "Content-Length: %d\r\n\r\n%s", n, strncmp(f->request, "HEAD ", 5) == 0 ? "" : body);

    end[-2] = '\0';                         /* what follows is another request */
    f->last = strstr(f->request, "\r\nConnection: close\r\n") != NULL;
    f->have -= (size_t)(end - f->request);
    memmove(f->request, end, f->have + 1);
    return (size_t)len;
}

coir_body(visit, f) {
    f->err = coir_tls_init(&f->tls, f->context, f->fd, NULL);
    if (f->err < 0)
        coir_fail(f, f->err);
    coir_within(f, &f->scope, coir_now() + PATIENCE_S * COIR_S, &f->handshake, coir_tls_handshake, .tls = &f->tls);
    coir_check(f, &f->handshake);
    f->have = 0;
    f->request[0] = '\0';
    f->last = false;
    while (!f->last) {
        while (!strstr(f->request, "\r\n\r\n")) {
            if (f->have == sizeof f->request - 1)
                coir_fail(f, EMSGSIZE);
            coir_within(f, &f->scope, coir_now() + PATIENCE_S * COIR_S, &f->read, coir_stream_read,
                        .stream = &f->tls.stream, .buf = f->request + f->have,
                        .len = sizeof f->request - 1 - f->have);
            coir_check(f, &f->read);
            if (f->read.result == 0)
                coir_return(f);             /* it said goodbye */
            f->have += f->read.result;
            f->request[f->have] = '\0';
        }
        coir_within(f, &f->scope, coir_now() + PATIENCE_S * COIR_S, &f->write, coir_stream_write_all,
                    .stream = &f->tls.stream, .buf = f->answer, .len = answer(f));
        coir_check(f, &f->write);
    }
    coir_finally(f) {
        if (coir_status(f) < 0 && coir_status(f) != -ECANCELED)
            fprintf(stderr, "https: %s; %s\n", coir_strerror(coir_status(f)), coir_tls_error(&f->tls));
        if (f->err < 0)
            coir_await(f, &f->close_fd, coir_close, .fd = f->fd);
        else
            coir_await(f, &f->close, coir_stream_close, .stream = &f->tls.stream);
    }
} coir_end

static struct coir_task *greet(int fd, void *context)
{
    return coir_new(visit, .fd = fd, .context = context);
}

static int usage(FILE *to)
{
    fprintf(to, "usage: https CERTIFICATE KEY [ADDRESS]    PEM files; 127.0.0.1:8443 unless said\n");
    return to == stderr ? 2 : 0;
}

int main(int argc, char **argv)
{
    struct coir_tls_context *context;
    char why[512];
    int listener, status;

    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(stdout);
    if (argc < 3 || argc > 4 || argv[1][0] == '-')
        return usage(stderr);
    const struct coir_tls_options options = { .server = true, .certificate = argv[1], .key = argv[2],
                                              .alpn = "http/1.1" };
    if (coir_tls_context_new(&options, &context, why, sizeof why) < 0) {
        fprintf(stderr, "https: %s\n", why);
        return 1;
    }
    listener = listening("https", "https://", argc > 3 ? argv[3] : "127.0.0.1:8443");
    if (listener < 0)
        return 1;
    status = coir_main(coir_new(coir_serve, .handler = greet, .arg = context, .fd = listener));
    coir_tls_context_free(context);
    return status;
}
