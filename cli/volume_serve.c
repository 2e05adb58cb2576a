/* SPDX-License-Identifier: MIT */
/*
 * coir volume serve - a store's volumes over NBD, and its orders over the socket beside it, until SIGTERM or SIGINT:
 * then clients are drained, the store is flushed and a checkpoint written, and the exit status is 0. A second signal is
 * the system's. Whatever of the two servers fails ends the other.
 */
#include <coir/coir.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/verb.h"
#include "cli/volume.h"
#include "serve/nbd.h"
#include "serve/order.h"

enum { WHY = 1100 };

/* Ends when the program is to end. */
struct until_told {
    coir_frame_void;
    coir_args(struct coir_signals *signals;);
    struct coir_signal_next next;
};
static coir_declare(until_told);

coir_body(until_told, f) {
    coir_try(f, &f->next, coir_signal_next, .signals = f->signals);
} coir_end

/* Clients are served, and it is said where, when orders can be given and signals are waited for. */
struct serve_clients {
    coir_frame_void;
    coir_args(const struct coir_nbd_options *options; struct coir_event *ready; const char **failed;);
    union {
        struct coir_event_wait wait;
        struct coir_nbd_serve serve;
    };
};
static coir_declare(serve_clients);

coir_body(serve_clients, f) {
    coir_try(f, &f->wait, coir_event_wait, .event = f->ready);
    coir_await(f, &f->serve, coir_nbd_serve, .options = f->options);
    *f->failed = f->serve.failed;
    coir_check(f, &f->serve);
} coir_end

struct serve {
    coir_frame_void;
    coir_args(const struct volume_arguments *arguments; char *why;);
    struct coir_store_options options;
    struct coir_nbd_options nbd;
    struct coir_store *store;
    int err;
    struct coir_signals *signals;
    struct coir_event ready;
    const char *failed;                 /* of the clients' server: which address */
    struct coir_task *kids[3];
    struct coir_combine race;
    union {
        struct coir_store_open open;
        struct coir_store_close close;
        struct {
            struct until_told until_told;
            struct coir_order_serve orders;
            struct serve_clients clients;
        };
    };
};
static coir_declare(serve);

/* An error of the clients' server says nothing of which address it was. */
static void say_why(int status, const char *failed, char *why)
{
    if (status < 0 && status != -ECANCELED && failed)
        snprintf(why, WHY, "%s: %s", failed, status == -EINVAL ? "it is no address: HOST:PORT, :PORT, unix:PATH" :
                 coir_strerror(status));
}

static void say_address(void *ctx, const char *address)
{
    const struct volume_arguments *a = ctx;

    if (!a->quiet) {
        printf("%s: serving at %s\n", a->path[0], address);
        cli_flush();
    }
}

coir_body(serve, f) {
    f->store = NULL;
    f->signals = NULL;
    f->options = (struct coir_store_options){ .read_only = f->arguments->read_only, .moved = f->arguments->moved,
        .moved_index = f->arguments->moved_index, .n_moved = f->arguments->n_moved };
    coir_get(f, f->store, &f->open, coir_store_open, .path = f->arguments->path[0], .options = &f->options,
             .why = f->why, .why_size = WHY);
    f->nbd = (struct coir_nbd_options){ .store = f->store, .where = f->arguments->address,
        .n_where = f->arguments->n_addresses, .read_only = f->arguments->read_only, .listening = say_address,
        .ctx = (void *)f->arguments };
    f->signals = coir_signals_open(SIGINT, SIGTERM);
    if (!f->signals)
        coir_fail(f, -errno);
    coir_event_init(&f->ready);
    f->failed = NULL;
    f->kids[0] = coir_make(&f->until_told, until_told, .signals = f->signals);
    f->kids[1] = coir_make(&f->orders, coir_order_serve, .store = f->store, .why = f->why, .why_size = WHY,
                           .ready = &f->ready);
    f->kids[2] = coir_make(&f->clients, serve_clients, .options = &f->nbd, .ready = &f->ready, .failed = &f->failed);
    coir_race(f, &f->race, f->kids, 3);
    say_why(coir_status(&f->clients), f->failed, f->why);
    coir_check(f, &f->race);
    coir_finally(f) {
        if (f->signals)
            coir_signals_close(f->signals);
        if (f->store) {
            coir_await(f, &f->close, coir_store_close, .store = f->store);
            f->err = coir_status(&f->close);
            if (f->err)
                fprintf(stderr, "coir: %s: closing: %s\n", f->arguments->path[0], coir_strerror(f->err));
        }
    }
} coir_end

int volume_serve(const struct volume_arguments *a)
{
    char why[WHY] = "";
    const struct coir_options options = { .shards = (unsigned)a->shards };
    const int run = coir_run(&options, coir_new(serve, .arguments = a, .why = why));

    if (run) {
        fprintf(stderr, "coir: %s\n", *why ? why : coir_strerror(run));
        return EXIT_FAILED;
    }
    return 0;
}
