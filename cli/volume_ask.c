/* SPDX-License-Identifier: MIT */
/*
 * Asking a store: through its socket when another process serves it, else by opening it here, with a session at the
 * other end of a pair of sockets. The answers are the same.
 */
#include <coir/coir.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/verb.h"
#include "cli/volume.h"
#include "serve/again.h"
#include "serve/order.h"

enum { WHY = 1100, ANSWER = 16384 };

/* ---- the two ends ---- */

struct ask {
    coir_frame_void;
    coir_args(const char *line; int fd; struct volume_printer *printer;);
    struct coir_fd_stream stream;
    struct coir_reader in;
    union {
        struct coir_stream_write_all write;
        struct coir_read_line read;
        struct coir_close close;
    };
};
static coir_declare(ask);

coir_body(ask, f) {
    f->in = (struct coir_reader){ 0 };
    coir_fd_stream_init(&f->stream, f->fd, f->fd);
    if (coir_reader_init(&f->in, &f->stream.stream, ANSWER))
        coir_fail(f, -ENOMEM);
    coir_try(f, &f->write, coir_stream_write_all, .stream = &f->stream.stream, .buf = f->line, .len = strlen(f->line));
    while (f->printer->status == 1) {
        coir_try(f, &f->read, coir_read_line, .reader = &f->in);
        if (!f->read.result.data)
            coir_fail(f, -ECONNRESET);
        f->printer->heard = true;
        volume_print(f->printer, f->read.result.data);
    }
    coir_finally(f) {
        coir_reader_destroy(&f->in);
        coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end

static void drop(void *ctx, const char *line)
{
    (void)ctx;
    (void)line;
}

/* Opens the store, and asks it over a pair of sockets. */
struct inside {
    coir_frame_void;
    coir_args(const struct volume_arguments *arguments; const char *line; struct volume_printer *printer; char *why;);
    struct coir_store_options options;
    struct coir_store *store;
    int pair[2], err;
    struct coir_task *kids[2];
    struct coir_combine both;
    union {
        struct coir_store_open open;
        struct coir_store_close close;
        struct {
            struct coir_order_session session;
            struct ask ask;
        };
    };
};
static coir_declare(inside);

coir_body(inside, f) {
    f->store = NULL;
    f->options = (struct coir_store_options){ .moved = f->arguments->moved, .moved_index = f->arguments->moved_index,
        .n_moved = f->arguments->n_moved, .log = f->arguments->quiet ? drop : NULL };
    coir_get(f, f->store, &f->open, coir_store_open, .path = f->arguments->path[0], .options = &f->options,
             .why = f->why, .why_size = WHY);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, f->pair))
        coir_fail(f, -errno);
    f->kids[0] = coir_make(&f->session, coir_order_session, .store = f->store, .fd = f->pair[0]);
    f->kids[1] = coir_make(&f->ask, ask, .line = f->line, .fd = f->pair[1], .printer = f->printer);
    coir_all(f, &f->both, f->kids, 2);
    coir_check(f, &f->both);
    coir_finally(f) {
        if (f->store) {
            coir_await(f, &f->close, coir_store_close, .store = f->store);
            f->err = coir_status(&f->close);
            if (f->err)
                snprintf(f->why, WHY, "%s: closing: %s", f->arguments->path[0], coir_strerror(f->err));
        }
    }
} coir_end

/* ---- from outside ---- */

/* A connection to who serves the store; -1: nobody does. */
static int connect_beside(const char *path)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    int fd;

    if (snprintf(to.sun_path, sizeof to.sun_path, "%s.sock", path) >= (int)sizeof to.sun_path)
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof to)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int ask_once(const char *line, struct volume_printer *printer, char *why)
{
    const char *const path = printer->arguments->path[0];
    const int fd = connect_beside(path);

    if (fd >= 0)
        return coir_run(NULL, coir_new(ask, .line = line, .fd = fd, .printer = printer));
    return coir_run(NULL, coir_new(inside, .arguments = printer->arguments, .line = line, .printer = printer,
                                   .why = why));
}

/* A server that was killed can be connected to a moment longer, and says nothing. */
static bool was_dead(int run, const struct volume_printer *printer)
{
    return (run == -ECONNRESET || run == -EPIPE) && !printer->heard;
}

int volume_ask(const struct volume_arguments *a)
{
    struct volume_printer printer = { .arguments = a, .status = 1 };
    char line[COIR_ORDER_MAX], why[WHY] = "";
    int run;

    if (!volume_order(a, line))
        return cli_misused("volume", "a name has no tabs and no line ends");
    run = ask_once(line, &printer, why);
    for (unsigned i = 0; i < AGAIN_TRIES && was_dead(run, &printer); i++) {
        poll(NULL, 0, AGAIN_PAUSE_MS);
        run = ask_once(line, &printer, why);
    }
    if (run) {
        fprintf(stderr, "coir: %s\n", *why ? why : coir_strerror(run));
        return EXIT_FAILED;
    }
    if (printer.status) {
        fprintf(stderr, "coir: %s: %s%s%s\n", a->path[0], a->name ? a->name : "", a->name ? ": " : "", printer.error);
        return EXIT_FAILED;
    }
    return 0;
}

/* ---- init ---- */

static void show_progress(void *ctx, uint64_t done, uint64_t all)
{
    (void)ctx;
    fprintf(stderr, "\r%3u%%%s", (unsigned)(all ? done * 100 / all : 100), done == all ? "\r    \r" : "");
}

int volume_init(const struct volume_arguments *a)
{
    char why[WHY] = "";
    const bool shows = !a->quiet && isatty(STDERR_FILENO);
    const int run = coir_run(NULL, coir_new(coir_store_init, .paths = a->path, .n = a->n_paths, .size = a->size,
        .journal = a->journal, .force = a->force, .why = why, .why_size = sizeof why,
        .progress = shows ? show_progress : NULL));

    if (run) {
        fprintf(stderr, "coir: %s\n", *why ? why : coir_strerror(run));
        return EXIT_FAILED;
    }
    return 0;
}
