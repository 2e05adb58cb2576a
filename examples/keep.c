/* SPDX-License-Identifier: MIT */
/*
 * keep - keeps a program going: some copies of it, each started again when it fails, after a pause that grows while it
 * fails soon. Over HTTP it tells how they do.
 *
 * A copy that ends with exit code 0 is done; when all are, so is keep. SIGTERM and SIGINT end it in good order: whoever
 * is being answered is answered; the copies, and what they have started, get SIGTERM and five seconds.
 */
#include "listening.h"

#include <stdlib.h>
#include <string.h>

static const int64_t FIRST_PAUSE = 100 * COIR_MS, LONGEST_PAUSE = 10 * COIR_S, GRACE = 5 * COIR_S;

enum { COPIES = 100 };

static struct copy {
    const char *state;
    int starts;
} copies[COPIES];
static int n_copies = 1;

struct keeper {                         /* looks after one copy, through all its lives */
    coir_frame_void;
    coir_args(int number; char **command;);
    int64_t began, pause;
    struct coir_process_run run;
    struct coir_sleep sleep;
};
static coir_declare(keeper);

/* What has become of it: NULL if it shall be started again. */
static const char *end_of(const struct keeper *f)
{
    const bool well = coir_status(&f->run) == 0 && f->run.result.exit.code == 0;
    return coir_cancelled(f) ? "stopped" : well ? "done" : NULL;
}

static void log_failure(const struct keeper *f)
{
    const struct coir_exit how = f->run.result.exit;
    char why[32];

    snprintf(why, sizeof why, how.signal ? "signal %d" : "exit code %d", how.signal ? how.signal : how.code);
    fprintf(stderr, "keep: copy %d failed, %s; again in %d ms\n", f->number,
            coir_status(&f->run) < 0 ? coir_strerror(coir_status(&f->run)) : why, (int)(f->pause / COIR_MS));
}

coir_body(keeper, f) {
    for (f->pause = FIRST_PAUSE;; f->pause = f->pause * 2 < LONGEST_PAUSE ? f->pause * 2 : LONGEST_PAUSE) {
        copies[f->number] = (struct copy){ "runs", copies[f->number].starts + 1 };
        f->began = coir_now();
        coir_await(f, &f->run, coir_process_run, .argv = f->command, .options = { .group = true }, .grace = GRACE);
        copies[f->number].state = end_of(f);
        if (copies[f->number].state)
            coir_return(f);
        copies[f->number].state = "failed";
        if (coir_now() - f->began > LONGEST_PAUSE)      /* it did well for a while */
            f->pause = FIRST_PAUSE;
        log_failure(f);
        coir_try(f, &f->sleep, coir_sleep, .ns = f->pause);
    }
} coir_end

struct crew {                           /* all copies */
    coir_frame_void;
    coir_args(char **command;);
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(crew);

coir_body(crew, f) {
    coir_group_open(f, &f->group, .keep_going = true);
    for (int i = 0; i < n_copies; i++)
        coir_spawn(&f->group, coir_new(keeper, .number = i, .command = f->command));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

struct visit {                          /* somebody asks how they do */
    coir_frame_void;
    coir_args(int fd;);
    struct coir_fd_stream socket;
    struct coir_reader in;
    char head[2048], page[64 * (COPIES + 1)];
    size_t n;
    union {
        struct coir_read_line read;
        struct coir_stream_write_all write;
        struct coir_stream_close close;
    };
};
static coir_declare(visit);

coir_body(visit, f) {
    coir_fd_stream_init(&f->socket, f->fd, f->fd);
    coir_reader_init_in(&f->in, &f->socket.stream, f->head, sizeof f->head);
    do
        coir_try(f, &f->read, coir_read_line, .reader = &f->in);
    while (f->read.result.len > 0);                     /* up to the empty line */
    f->n = (size_t)snprintf(f->page, 64, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    for (int i = 0; i < n_copies; i++)
        f->n += (size_t)snprintf(f->page + f->n, 64, "copy %d %s, starts %d\n", i, copies[i].state, copies[i].starts);
    coir_try(f, &f->write, coir_stream_write_all, .stream = &f->socket.stream, .buf = f->page, .len = f->n);
    coir_finally(f) {
        coir_await(f, &f->close, coir_stream_close, .stream = &f->socket.stream);
    }
} coir_end

static struct coir_task *greet(int fd, void *arg)
{
    (void)arg;
    return coir_new(visit, .fd = fd);
}

struct keep {
    coir_frame_void;
    coir_args(int listener; char **command;);
    struct crew crew;
    struct coir_serve serve;
    struct coir_task *kids[2];
    struct coir_combine race;
};
static coir_declare(keep);

coir_body(keep, f) {
    coir_detach(coir_new(coir_stop_on_signal));         /* cancels this task, and by that the two below */
    f->kids[0] = coir_make(&f->crew, crew, .command = f->command);
    f->kids[1] = coir_make(&f->serve, coir_serve, .fd = f->listener, .handler = greet, .grace = GRACE);
    coir_race(f, &f->race, f->kids, 2);                 /* the crew ends when all copies are done */
    if (!coir_cancelled(f))
        coir_check(f, &f->race);                        /* or it could not serve */
    fprintf(stderr, "keep: %s\n", coir_cancelled(f) ? "told to end, and ended" : "all are done");
} coir_end

int main(int argc, char **argv)
{
    const bool help = argc == 2 && strcmp(argv[1], "--help") == 0;

    n_copies = argc > 3 ? (int)strtol(argv[2], NULL, 10) : 0;
    if (n_copies < 1 || n_copies > COPIES) {
        fprintf(help ? stdout : stderr, "usage: keep ADDRESS COPIES COMMAND [ARGUMENT]...\n\n"
                "Keeps 1 to %d copies of a command going, and tells at http://ADDRESS/ how they do.\n", COPIES);
        return help ? 0 : 2;
    }
    const int listener = listening("keep", "http://", argv[1]);
    return listener < 0 ? 1 : coir_main(coir_new(keep, .listener = listener, .command = argv + 3));
}
