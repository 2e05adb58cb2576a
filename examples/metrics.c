/* SPDX-License-Identifier: MIT */
/*
 * metrics - an echo server that a monitoring system can read: its counters over HTTP beside it, as OpenMetrics.
 *
 * The two share nothing but the run. `echo` is any service; `scrape` answers GET /metrics with what coir_metrics
 * writes, and knows of HTTP only what that takes: one request a connection, in the time that it is given.
 */
#include "listening.h"

#include <stdlib.h>
#include <string.h>

static const int64_t PATIENCE = 5 * COIR_S;

struct echo {
    coir_frame_void;
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
    }
    coir_finally(f) {
        coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end

/* The answer to a request whose head is given, from malloc; NULL for no memory. */
static char *answer(const char *head, size_t *len)
{
    static const char *const type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    const bool known = strncmp(head, "GET /metrics ", 13) == 0 || strncmp(head, "GET /metrics?", 13) == 0;
    char *text = NULL, *whole = NULL;
    size_t n = 0;
    FILE *to = known ? open_memstream(&text, &n) : NULL;
    const int err = to ? coir_metrics(to) : 0;

    if (to)
        fclose(to);
    if (known && text && !err)
        *len = (size_t)asprintf(&whole, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                                "Connection: close\r\n\r\n%s", type, n, text);
    else
        *len = (size_t)asprintf(&whole, "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                                known ? "500 Internal Server Error" : "404 Not Found");
    free(text);
    return *len == (size_t)-1 ? NULL : whole;
}

struct scrape {
    coir_frame_void;
    coir_args(int fd;);
    struct coir_fd_stream socket;
    struct coir_reader in;
    char buf[4096];
    char *answer;
    size_t len;
    struct coir_scope scope;
    union {
        struct coir_read_until head;
        struct coir_stream_write_all write;
        struct coir_stream_close close;
    };
};
static coir_declare(scrape);

coir_body(scrape, f) {
    f->answer = NULL;
    coir_fd_stream_init(&f->socket, f->fd, f->fd);
    coir_reader_init_in(&f->in, &f->socket.stream, f->buf, sizeof f->buf);
    coir_within(f, &f->scope, coir_now() + PATIENCE, &f->head, coir_read_until, .reader = &f->in,
                .delimiter = "\r\n\r\n");
    coir_check(f, &f->head);
    if (!f->head.result.data)                   /* closed without a word */
        coir_return(f);
    f->answer = answer(f->head.result.data, &f->len);
    if (!f->answer)
        coir_fail(f, ENOMEM);
    coir_within(f, &f->scope, coir_now() + PATIENCE, &f->write, coir_stream_write_all, .stream = &f->socket.stream,
                .buf = f->answer, .len = f->len);
    coir_finally(f) {
        free(f->answer);
        coir_await(f, &f->close, coir_stream_close, .stream = &f->socket.stream);
    }
} coir_end

static struct coir_task *greet(int fd, void *arg)
{
    (void)arg;
    return coir_new(echo, .fd = fd);
}

static struct coir_task *greet_scraper(int fd, void *arg)
{
    (void)arg;
    return coir_new(scrape, .fd = fd);
}

struct both {                           /* the service and its metrics: if one fails the other ends */
    coir_frame_void;
    coir_args(int service; int metrics;);
    struct coir_serve serve[2];
    struct coir_task *kids[2];
    struct coir_combine all;
};
static coir_declare(both);

coir_body(both, f) {
    f->kids[0] = coir_make(&f->serve[0], coir_serve, .handler = greet, .fd = f->service);
    f->kids[1] = coir_make(&f->serve[1], coir_serve, .handler = greet_scraper, .fd = f->metrics, .limit = 16);
    coir_all(f, &f->all, f->kids, 2);
    coir_check(f, &f->all);
} coir_end

int main(int argc, char **argv)
{
    const bool help = argc == 2 && strcmp(argv[1], "--help") == 0;

    if (argc > 3 || (argc > 1 && argv[1][0] == '-')) {
        fprintf(help ? stdout : stderr, "usage: metrics [ADDRESS [METRICS]]    127.0.0.1:7780 and 127.0.0.1:7781 "
                "unless said\n\nEchoes what it is sent at ADDRESS, and answers GET /metrics at METRICS.\n");
        return help ? 0 : 2;
    }
    const int metrics = listening("metrics", "http://", argc > 2 ? argv[2] : "127.0.0.1:7781");
    const int service = metrics < 0 ? -1 : listening("metrics", "", argc > 1 ? argv[1] : "127.0.0.1:7780");
    return service < 0 ? 1 : coir_run(&(struct coir_options){ .shards = 2 },
                                      coir_new(both, .service = service, .metrics = metrics)) < 0;
}
