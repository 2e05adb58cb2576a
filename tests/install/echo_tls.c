/* SPDX-License-Identifier: MIT */
/*
 * A stranger's program: echoes over TLS on descriptor 0, a connected socket, until the client says goodbye. Its
 * arguments are the certificate and the key.
 */
#include <coir/coir.h>
#include <coir/tls.h>
#include <stdio.h>

struct echo {
    coir_frame_void;
    coir_args(struct coir_tls_context *context;);
    struct coir_tls tls;
    char buf[1000];
    size_t n;
    struct coir_tls_handshake handshake;
    struct coir_stream_read read;
    struct coir_stream_write_all write;
    struct coir_stream_close close;
};
static coir_declare(echo);

coir_body(echo, f) {
    if (coir_tls_init(&f->tls, f->context, 0, NULL) < 0)
        coir_fail(f, EBADF);
    coir_try(f, &f->handshake, coir_tls_handshake, .tls = &f->tls);
    for (;;) {
        coir_get(f, f->n, &f->read, coir_stream_read, .stream = &f->tls.stream, .buf = f->buf, .len = sizeof f->buf);
        if (f->n == 0)
            break;
        coir_try(f, &f->write, coir_stream_write_all, .stream = &f->tls.stream, .buf = f->buf, .len = f->n);
    }
    coir_finally(f) {
        coir_await(f, &f->close, coir_stream_close, .stream = &f->tls.stream);
    }
} coir_end

int main(int argc, char **argv)
{
    struct coir_tls_context *context;
    char why[300];
    int status;

    if (argc != 3)
        return 2;
    const struct coir_tls_options options = { .server = true, .certificate = argv[1], .key = argv[2] };
    if (coir_tls_context_new(&options, &context, why, sizeof why) < 0) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    status = coir_main(coir_new(echo, .context = context));
    coir_tls_context_free(context);
    return status;
}
