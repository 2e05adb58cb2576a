/* SPDX-License-Identifier: MIT */
/*
 * The program whose traces tests/see/trace reads: `traced MODE`. What it prints is for that script: counters that the
 * trace has to agree with, or that it has come so far. It includes recorded.h, whose events are known.
 */
#include <coir/coir.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorded.h"

enum { SHARDS = 3, WORKERS = 40, ROUNDS = 10, BATCH = 1000 };

/* ---- on several shards: operations, channels, letters, offloads, cancellations ---- */

static int64_t half(void *arg)
{
    return *(int *)arg / 2;
}

struct worker {
    coir_frame_void;
    coir_args(int id; unsigned shards; bool quiet; struct coir_channel *channel;);
    int i, fds[2];
    char byte;
    struct coir_scope scope;
    union {
        struct coir_sleep sleep;
        struct coir_pass pass;
        struct coir_channel_send send;
        struct coir_offload offload;
        struct coir_read read;
        struct coir_write write;
        struct coir_close close;
        struct kid kid;
    };
};
static coir_declare(worker);

coir_body(worker, f) {
    f->fds[0] = f->fds[1] = -1;
    if (coir_pipe(f->fds))
        coir_fail(f, errno);
    for (f->i = 0; f->i < ROUNDS; f->i++) {
        coir_try(f, &f->write, coir_write, .fd = f->fds[1], .buf = "x", .len = 1);
        coir_try(f, &f->read, coir_read, .fd = f->fds[0], .buf = &f->byte, .len = 1);
        coir_within(f, &f->scope, coir_now() + COIR_MS / 10, &f->read, coir_read, .fd = f->fds[0], .buf = &f->byte,
                    .len = 1);
        coir_try(f, &f->pass, coir_pass);
        if (!f->quiet)
            coir_try(f, &f->offload, coir_offload, .fn = half, .arg = &f->id);
        coir_try(f, &f->send, coir_channel_send, .channel = f->channel, .item = &f->i);
        coir_await_on(f, (unsigned)(f->id + f->i) % f->shards, &f->kid, kid, .ms = 0);
    }
    coir_finally(f) {
        coir_await(f, &f->close, coir_close, .fd = f->fds[0]);
        coir_await(f, &f->close, coir_close, .fd = f->fds[1]);
    }
} coir_end

struct sink {
    coir_frame_void;
    coir_args(struct coir_channel *channel; int n;);
    int item;
    struct coir_channel_recv recv;
};
static coir_declare(sink);

coir_body(sink, f) {
    for (; f->n > 0; f->n--)
        coir_try(f, &f->recv, coir_channel_recv, .channel = f->channel, .item = &f->item);
} coir_end

/* All workers of a shard, on it. */
struct crowd {
    coir_frame_void;
    coir_args(unsigned shards; bool quiet;);
    struct coir_channel channel;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(crowd);

coir_body(crowd, f) {
    coir_channel_init(&f->channel, sizeof(int), 1);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(sink, .channel = &f->channel, .n = WORKERS * ROUNDS));
    for (int i = 0; i < WORKERS; i++)
        coir_spawn(&f->group, coir_new(worker, .id = i, .shards = f->shards, .quiet = f->quiet,
                                       .channel = &f->channel));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_finally(f) {
        coir_channel_destroy(&f->channel);
    }
} coir_end

/* A crowd on a shard. */
struct there {
    coir_frame_void;
    coir_args(unsigned shard; unsigned shards; bool quiet;);
    struct crowd crowd;
};
static coir_declare(there);

coir_body(there, f) {
    coir_await_on(f, f->shard, &f->crowd, crowd, .shards = f->shards, .quiet = f->quiet);
    coir_check(f, &f->crowd);
} coir_end

static int threads_of_process(void)
{
    char line[80];
    int n = 0;
    FILE *status = fopen("/proc/self/status", "r");

    while (status && fgets(line, sizeof line, status))
        sscanf(line, "Threads: %d", &n);
    if (status)
        fclose(status);
    return n;
}

/* The last thing that the main task does: it is in its last step, and has not ended. */
static void print_stats(unsigned shards)
{
    struct coir_stats s;

    printf("{\"threads\":%d,\"shards\":[", threads_of_process());
    for (unsigned i = 0; i < shards; i++) {
        coir_stats(i, &s);
        printf("%s{\"step\":%llu,\"task\":%llu,\"ended\":%llu,\"operation\":%llu,\"completions\":%llu,\"letter\":%llu,"
               "\"syscalls\":%llu,\"allocations\":%llu}", i ? "," : "", (unsigned long long)s.steps,
               (unsigned long long)s.tasks, (unsigned long long)s.ended, (unsigned long long)s.submissions,
               (unsigned long long)s.completions, (unsigned long long)s.messages, (unsigned long long)s.syscalls,
               (unsigned long long)s.allocations);
    }
    printf("]}\n");
    fflush(stdout);
}

struct many {
    coir_frame_void;
    coir_args(unsigned shards; bool quiet;);
    unsigned i;
    struct there there[SHARDS];
    struct coir_task *kids[SHARDS];
    struct coir_combine all;
};
static coir_declare(many);

coir_body(many, f) {
    for (f->i = 0; f->i < f->shards; f->i++)
        f->kids[f->i] = coir_make(&f->there[f->i], there, .shard = f->i, .shards = f->shards, .quiet = f->quiet);
    coir_all(f, &f->all, f->kids, f->shards);
    coir_check(f, &f->all);
    print_stats(f->shards);
} coir_end

/* `quiet`: without threads of pools, whose letters come when they come. */
static int run_many(unsigned shards, bool quiet)
{
    const struct coir_options o = { .shards = shards };

    return coir_run(&o, coir_new(many, .shards = shards, .quiet = quiet));
}

/* ---- one that waits in the shard: for a buffer to come back ---- */

struct borrows {
    coir_frame(struct coir_lent);
    coir_args(const int *fds;);
    union {
        struct coir_send send;
        struct coir_recv_lend recv;
    };
};
static coir_declare(borrows);

coir_body(borrows, f) {
    coir_try(f, &f->send, coir_send, .fd = f->fds[1], .buf = "x", .len = 1);
    coir_get(f, f->result, &f->recv, coir_recv_lend, .fd = f->fds[0]);
} coir_end

struct late {
    coir_frame_void;
    coir_args(const int *fds;);
    struct borrows borrows;
};
static coir_declare(late);

coir_body(late, f) {
    coir_try(f, &f->borrows, borrows, .fds = f->fds);
    coir_lend_back(&f->borrows.result);
} coir_end

/* Takes every buffer there is, lets another one ask, and gives them back. */
struct lends {
    coir_frame_void;
    coir_no_args;
    int i, fds[2];
    struct coir_lent lent[COIR_LENT_BUFFERS];
    struct borrows borrows;
    struct coir_group group;
    union {
        struct coir_sleep sleep;
        struct coir_group_wait wait;
    };
};
static coir_declare(lends);

coir_body(lends, f) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, f->fds))
        coir_fail(f, errno);
    for (f->i = 0; f->i < COIR_LENT_BUFFERS; f->i++)
        coir_get(f, f->lent[f->i], &f->borrows, borrows, .fds = f->fds);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(late, .fds = f->fds));
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    for (f->i = 0; f->i < COIR_LENT_BUFFERS; f->i++)
        coir_lend_back(&f->lent[f->i]);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    print_stats(1);
} coir_end

/* ---- what never ends by itself ---- */

struct restless {
    coir_frame_void;
    coir_no_args;
    struct coir_sleep sleep;
};
static coir_declare(restless);

coir_body(restless, f) {
    for (;;)
        coir_try(f, &f->sleep, coir_sleep, .ns = 2 * COIR_MS);
} coir_end

/* Whether so many bytes of the trace are, if there is to be one: what is put is written 50 times a second. */
static bool is_written(off_t size)
{
    const char *const trace = getenv("COIR_TRACE");
    struct stat now;

    return !trace || (stat(trace, &now) == 0 && now.st_size >= size);
}

/* Says that it has begun, when a second task has too, and some of that is in the trace. `how`: what it then does. */
struct forever {
    coir_frame_void;
    coir_args(const char *how;);
    struct coir_sleep sleep;
    struct restless restless;
};
static coir_declare(forever);

coir_body(forever, f) {
    coir_detach(coir_new(coir_stop_on_signal));
    coir_detach(coir_new(restless));
    do
        coir_try(f, &f->sleep, coir_sleep, .ns = 20 * COIR_MS);
    while (!is_written(8192));
    printf("ready\n");
    fflush(stdout);
    if (!strcmp(f->how, "abort"))
        abort();
    if (!strcmp(f->how, "exit"))
        exit(5);
    coir_try(f, &f->restless, restless);
} coir_end

/* ---- children ---- */

static char *self;

/* One that is forked and has a run of its own, and one that is executed; both find COIR_TRACE. */
struct breeds {
    coir_frame_void;
    coir_no_args;
    pid_t child;
    const char *argv[3];
    struct coir_process_run process;
};
static coir_declare(breeds);

coir_body(breeds, f) {
    fflush(stdout);
    f->child = fork();
    if (f->child == 0)
        _exit(coir_run(NULL, new_parent()));
    waitpid(f->child, NULL, 0);
    f->argv[0] = self;
    f->argv[1] = "known";
    f->argv[2] = NULL;
    coir_try(f, &f->process, coir_process_run, .argv = (char *const *)f->argv);
} coir_end

/* ---- a million ---- */

struct million {
    coir_frame_void;
    coir_args(int batches;);
    int i;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(million);

coir_body(million, f) {
    for (f->i = 0; f->i < f->batches; f->i++) {
        coir_group_open(f, &f->group);
        for (int i = 0; i < BATCH; i++)
            coir_spawn(&f->group, coir_new(kid));
        coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

static int run_million(int batches)
{
    struct rusage usage;
    const int status = coir_run(NULL, coir_new(million, .batches = batches));

    getrusage(RUSAGE_SELF, &usage);
    printf("%ld\n", usage.ru_maxrss);
    return status;
}

/* ---- strange names ---- */

#line 7 "a \"strange\" name\\with\ttabs, \xffnonsense and \xc3\xa9.c"
static struct coir_task *new_strange(void)
{
    return coir_new(kid, .ms = 1);      /* line 9 */
}

/* ---- in another loop ---- */

static int run_foreign(void)
{
    struct coir_shard *shard = coir_shard_open(NULL, new_parent());
    struct pollfd fds[1];

    if (!shard)
        return -1;
    fds[0] = (struct pollfd){ .fd = coir_shard_fd(shard), .events = POLLIN };
    do
        poll(fds, 1, -1);
    while (coir_turn(shard));
    return coir_shard_close(shard);
}

static int twice(void)
{
    int status;

    status = coir_run(NULL, new_parent());
    return status ? status : coir_run(NULL, new_parent());
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int status = -EINVAL;

    self = argv[0];
    if (!strcmp(mode, "known"))
        status = coir_run(NULL, new_parent());
    else if (!strcmp(mode, "many"))
        status = run_many(SHARDS, false);
    else if (!strcmp(mode, "one"))
        status = run_many(1, false);
    else if (!strcmp(mode, "quiet"))
        status = run_many(1, true);
    else if (!strcmp(mode, "lends"))
        status = coir_run(NULL, coir_new(lends));
    else if (!strcmp(mode, "strange"))
        status = coir_run(NULL, new_strange());
    else if (!strcmp(mode, "foreign"))
        status = run_foreign();
    else if (!strcmp(mode, "twice"))
        status = twice();
    else if (!strcmp(mode, "breeds"))
        status = coir_run(NULL, coir_new(breeds));
    else if (!strcmp(mode, "million"))
        status = run_million(argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1000);
    else if (!strcmp(mode, "forever"))
        status = coir_run(NULL, coir_new(forever, .how = argc > 2 ? argv[2] : ""));
    if (status)
        fprintf(stderr, "traced: %s\n", coir_strerror(status));
    return status != 0;
}
