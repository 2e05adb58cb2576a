/* SPDX-License-Identifier: MIT */
/*
 * echo - a TCP server that sends back what it is sent.
 *
 * One task a connection, each a struct of some 4 KB and no more; between start and end a connection allocates
 * nothing. It serves until it is killed.
 */
#include <coir/coir.h>

#include <stdio.h>
#include <string.h>

/* Echoes what it reads from fd until the peer closes. Result: bytes echoed. */
struct echo {
    coir_frame(size_t);
    coir_args(int fd;);
    char buf[4096];
    size_t n;
    union {
        struct coir_recv recv;
        struct coir_send_all send;
        struct coir_close close;
    };
};
static coir_declare(echo);

coir_body(echo, f) {
    for (;;) {
        coir_get(f, f->n, &f->recv, coir_recv, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf);
        if (f->n == 0)
            break;
        coir_try(f, &f->send, coir_send_all, .fd = f->fd, .buf = f->buf, .len = f->n);
        f->result += f->n;
    }
    coir_finally(f) {
        coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end

/* Makes the task of a connection. */
static struct coir_task *greet(int fd, void *arg)
{
    (void)arg;
    return coir_new(echo, .fd = fd);
}

static void say_where(int listener)
{
    struct sockaddr_storage addr;
    socklen_t len = sizeof addr;
    char text[COIR_ADDRESS_TEXT];

    if (getsockname(listener, (struct sockaddr *)&addr, &len) == 0)
        printf("echo: listening on %s\n", coir_address_text(&addr, len, text, sizeof text));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *where = argc > 1 ? argv[1] : "127.0.0.1:7777";

    if (argc > 2 || where[0] == '-') {
        const bool help = argc == 2 && strcmp(where, "--help") == 0;
        fprintf(help ? stdout : stderr, "usage: echo [ADDRESS]    127.0.0.1:7777 unless said; others are :80, [::1]:0, "
                "unix:/path\n");
        return help ? 0 : 2;
    }
    const int listener = coir_listen(where, NULL);
    if (listener < 0) {
        fprintf(stderr, "echo: %s: %s\n", where, coir_strerror(listener));
        return 1;
    }
    say_where(listener);
    return coir_main(coir_new(coir_serve, .handler = greet, .fd = listener));
}
