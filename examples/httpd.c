/* SPDX-License-Identifier: MIT */
/*
 * httpd - serves the files of a folder over HTTP/1.1: GET and HEAD, keep-alive, pipelining, single ranges.
 *
 * A connection is one task that reads a request, answers it, and begins again. Clients are strangers: the head
 * of a request may have HTTP_HEAD_MAX bytes and has a time to come in, each part of an answer has one to go out,
 * and no path leads out of the folder. http_request.c and http_answer.c know the protocol, httpd_receive.c and
 * httpd_reply.c the client, httpd_folder.c the files.
 */
#include <coir/coir.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "httpd_receive.h"
#include "httpd_reply.h"
#include "listening.h"

static struct {
    int folder;
    int64_t patience;
} config;

struct connection {
    coir_frame_void;
    coir_args(int fd;);
    size_t have, len;               /* bytes in `in`; of them the head that is being answered */
    struct http_request request;
    struct coir_scope scope;
    char in[HTTP_HEAD_MAX];
    union {
        struct receive_head head;
        struct reply reply;
        struct coir_shutdown shutdown;
        struct drain drain;
        struct coir_close close;
    };
};
static coir_declare(connection);

/* What to say to what came, or did not come. False: nothing. */
static bool read_request(struct connection *f)
{
    const int status = coir_status(&f->head);

    f->len = status == 0 ? f->head.result : 0;
    if (f->len > 0)
        http_parse(f->in, f->len, &f->request);
    else if (status == -EMSGSIZE)
        f->request = (struct http_request){ .refuse = 431 };
    else if (status == -ETIMEDOUT && f->have > 0)
        f->request = (struct http_request){ .refuse = 408 };
    else
        return false;
    return true;
}

coir_body(connection, f) {
    f->have = 0;
    do {
        coir_within(f, &f->scope, coir_now() + config.patience, &f->head, receive_head, .fd = f->fd, .in = f->in,
                    .have = &f->have);
        if (!read_request(f))
            coir_return(f);
        coir_try(f, &f->reply, reply, .fd = f->fd, .folder = config.folder, .request = &f->request,
                 .patience = config.patience);
        f->have -= f->len;
        memmove(f->in, f->in + f->len, f->have);
    } while (f->request.keep);
    coir_await(f, &f->shutdown, coir_shutdown, .fd = f->fd, .how = SHUT_WR);
    coir_within(f, &f->scope, coir_now() + COIR_S, &f->drain, drain, .fd = f->fd, .in = f->in);
    coir_finally(f) {
        coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end

/* Makes the task of a connection. */
static struct coir_task *greet(int fd, void *arg)
{
    (void)arg;
    return coir_new(connection, .fd = fd);
}

static int usage(FILE *to, int code)
{
    fprintf(to, "usage: httpd [-s SHARDS] [-t SECONDS] PORT FOLDER\n\n"
            "Serves the files of FOLDER on http://127.0.0.1:PORT/. PORT may also be an address: ':80' is every one of\n"
            "the machine. A client has SECONDS (15 unless said) for each request; SHARDS (1) threads share them.\n");
    return code;
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
    double seconds = 15;
    struct coir_options run = { .shards = 1 };
    char where[COIR_ADDRESS_TEXT];

    for (int c; (c = getopt_long(argc, argv, "s:t:h", options, NULL)) != -1;) {
        if (c == 's')
            run.shards = (unsigned)strtoul(optarg, NULL, 10);
        else if (c == 't')
            seconds = strtod(optarg, NULL);
        else
            return usage(c == 'h' ? stdout : stderr, c == 'h' ? 0 : 2);
    }
    if (optind + 2 != argc || !(seconds > 0 && seconds < 1e6) || run.shards < 1 || run.shards > 64)
        return usage(stderr, 2);
    config.patience = (int64_t)(seconds * COIR_S);
    config.folder = open(argv[optind + 1], O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (config.folder < 0) {
        fprintf(stderr, "httpd: %s: %s\n", argv[optind + 1], coir_strerror(errno));
        return 1;
    }
    snprintf(where, sizeof where, strchr(argv[optind], ':') ? "%s" : "127.0.0.1:%s", argv[optind]);
    const int listener = listening("httpd", "http://", where);
    if (listener < 0)
        return 1;
    /* What is accepted has this too: the end of an answer is not held back. */
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
    const int status = coir_run(&run, coir_new(coir_serve, .handler = greet, .fd = listener,
                                               .spread = COIR_SPREAD_LEAST));
    fprintf(stderr, "httpd: %s\n", coir_strerror(status));
    return 1;
}
