/* SPDX-License-Identifier: MIT */
/*
 * Child processes against all that may happen to their owner: cancelled at any moment, stopped, on two shards, inside
 * another loop, in virtual time; and what others may do to their ends. After every run no descriptor and no child is
 * left.
 */
#include <poll.h>

#include "children.h"

static char *const sleeper[] = { "sleep", "1000", NULL };
static char *const quick[] = { "true", NULL };
static char *const cat[] = { "cat", NULL };

union slots {
    struct coir_process_start start;
    struct coir_process_wait wait;
    struct coir_process_close close;
    struct coir_process_run run;
    struct coir_sleep sleep;
    struct coir_pass pass;
};

/* ---- cancelled at any moment ---- */

/* An owner as they are: starts, talks, waits, and leaves in coir_finally. */
struct owner {
    coir_frame_void;
    coir_args(int *status;);
    char said[8];
    struct coir_process p;
    union {
        struct coir_process_start start;
        struct coir_process_wait wait;
        struct coir_process_close close;
        struct coir_write_all write;
        struct coir_read read;
        struct coir_close close_fd;
    };
};
static coir_declare(owner);

static int take_in(struct coir_process *p)
{
    const int fd = p->in;

    p->in = -1;
    return fd;
}

coir_body(owner, f) {
    f->p = COIR_NO_PROCESS;
    coir_try(f, &f->start, coir_process_start, .process = &f->p, .argv = cat,
             .options = { .in = COIR_STDIO_PIPE, .out = COIR_STDIO_PIPE });
    coir_try(f, &f->write, coir_write_all, .fd = f->p.in, .buf = "hello", .len = 5);
    coir_try(f, &f->read, coir_read, .fd = f->p.out, .buf = f->said, .len = sizeof f->said);
    coir_await(f, &f->close_fd, coir_close, .fd = take_in(&f->p));
    coir_try(f, &f->wait, coir_process_wait, .process = &f->p);
    coir_finally(f) {
        coir_await(f, &f->close, coir_process_close, .process = &f->p, .grace = 100 * COIR_MS);
        *f->status = f->task.status;
    }
} coir_end

/* The same as one operation. */
struct runner {
    coir_frame_void;
    coir_args(int *status;);
    char said[8];
    struct coir_process_run run;
};
static coir_declare(runner);

coir_body(runner, f) {
    coir_await(f, &f->run, coir_process_run, .argv = cat, .input = "hello", .input_len = 5, .out = f->said,
               .out_len = sizeof f->said);
    *f->status = coir_status(&f->run);
    if (*f->status == 0 && (f->run.result.out_len != 5 || memcmp(f->said, "hello", 5)))
        *f->status = -EBADMSG;
} coir_end

struct cancelled {
    coir_frame_void;
    coir_args(bool whole; int64_t after; int passes; int *status;);
    int i;
    struct coir_group group;
    struct coir_group_wait wait;
    union slots u;
};
static coir_declare(cancelled);

coir_body(cancelled, f) {
    coir_group_open(f, &f->group);
    if (f->whole)
        coir_spawn(&f->group, coir_new(runner, .status = f->status));
    else
        coir_spawn(&f->group, coir_new(owner, .status = f->status));
    for (f->i = 0; f->i < f->passes; f->i++)
        coir_await(f, &f->u.pass, coir_pass);
    coir_await(f, &f->u.sleep, coir_sleep, .ns = f->after);
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

static void cancel_at(bool whole, int64_t after, int passes)
{
    const int before = open_descriptors();
    int status = 1;
    const int run = coir_run(NULL, coir_new(cancelled, .whole = whole, .after = after, .passes = passes,
                                            .status = &status));

    if (run || (status && status != -ECANCELED) || open_descriptors() != before || !no_children())
        OK(false, "%s, cancelled after %d passes and %lld us: run %d, status %d, descriptors %+d",
           whole ? "run" : "owner", passes, (long long)after / 1000, run, status, open_descriptors() - before);
}

static void cancel_anywhere(bool whole)
{
    for (int i = 0; i < 10; i++)
        cancel_at(whole, 0, i);
    for (int64_t after = 0; after < 12 * COIR_MS; after += 300 * COIR_US)
        cancel_at(whole, after, 0);
    OK(true, "cancelled anywhere");
}

/* ---- cancelled before it starts, which is known ---- */

struct gate {
    int fd[2];
};

static int64_t wait_at_gate(void *arg)
{
    char byte;

    return read(((struct gate *)arg)->fd[0], &byte, 1);
}

struct queued {
    coir_frame_void;
    coir_args(struct gate *gate;);
    int status;
    struct coir_group group;
    struct coir_group blocked;
    struct coir_group_wait wait;
    union slots u;
};
static coir_declare(queued);

struct blocks {
    coir_frame_void;
    coir_args(struct gate *gate;);
    struct coir_offload offload;
};
static coir_declare(blocks);

coir_body(blocks, f) {
    coir_try(f, &f->offload, coir_offload, .pool = "file", .fn = wait_at_gate, .arg = f->gate);
} coir_end

coir_body(queued, f) {
    f->status = 1;
    EQ(coir_pool_limit("file", 1), 0, "one thread");
    coir_group_open(f, &f->blocked);
    coir_spawn(&f->blocked, coir_new(blocks, .gate = f->gate));
    coir_await(f, &f->u.pass, coir_pass);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(owner, .status = &f->status));
    coir_await(f, &f->u.pass, coir_pass);
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, -ECANCELED, "cancelled in the queue of the pool, it is not started");
    say_out(f->gate->fd[1], "x");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->blocked);
} coir_end

static void in_the_queue(void)
{
    struct gate gate;

    EQ(coir_pipe(gate.fd), 0, "a gate");
    EQ(clean_run(NULL, coir_new(queued, .gate = &gate), "queued"), 0, "it ends");
    close(gate.fd[0]);
    close(gate.fd[1]);
}

/* ---- the program is stopped ---- */

struct stopped {
    coir_frame_void;
    coir_args(int *status;);
    struct coir_group group;
    struct coir_group_wait wait;
    union slots u;
};
static coir_declare(stopped);

struct sleeping {
    coir_frame_void;
    coir_args(int *status;);
    struct coir_process_run run;
};
static coir_declare(sleeping);

coir_body(sleeping, f) {
    coir_await(f, &f->run, coir_process_run, .argv = sleeper);
    *f->status = coir_status(&f->run);
    OK(f->run.result.exit.signal == SIGTERM || !f->run.result.exit.signal, "it was stopped, or not yet started");
} coir_end

coir_body(stopped, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(sleeping, .status = f->status));
    coir_await(f, &f->u.sleep, coir_sleep, .ns = 200 * COIR_MS);
    coir_stop();
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

static void stopping(void)
{
    int status = 1;

    clean_run(NULL, coir_new(stopped, .status = &status), "stopping");
    EQ(status, -ECANCELED, "stopped with the program");
}

/* ---- what others may do to its end ---- */

enum { HURRIES = 50 };

struct robbed {
    coir_frame_void;
    coir_args(bool ignored;);
    int i;
    char said[8];
    struct coir_process p;
    union slots u;
};
static coir_declare(robbed);

coir_body(robbed, f) {
    static char *const says[] = { "echo", "a", NULL };

    SAYS(0, &f->u.start, coir_process_start, .process = &f->p, .argv = quick);
    if (!f->ignored)
        EQ(waitpid(f->p.pid, NULL, 0), f->p.pid, "taken by somebody else");
    SAYS(-ECHILD, &f->u.wait, coir_process_wait, .process = &f->p);
    SAYS(-ECHILD, &f->u.wait, coir_process_wait, .process = &f->p);
    EQ(coir_process_kill(&f->p, 0), -ESRCH, "it has ended");
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p);
    SAYS(0, &f->u.start, coir_process_start, .process = &f->p, .argv = quick, .options = { .group = true });
    if (!f->ignored)
        EQ(waitpid(f->p.pid, NULL, 0), f->p.pid, "taken by somebody else");
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p);
    if (!f->ignored)
        coir_return(f);
    for (f->i = 0; f->i < HURRIES; f->i++) {            /* it may end before anybody has begun to read */
        SAYS(-ECHILD, &f->u.run, coir_process_run, .argv = says, .out = f->said, .out_len = sizeof f->said);
        EQ(f->u.run.result.out_len, 2, "what it said is there all the same");
    }
    SAYS(0, &f->u.start, coir_process_start, .process = &f->p, .argv = sleeper);
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p);
} coir_end

static void ends_taken(void)
{
    struct sigaction before;

    EQ(clean_run(NULL, coir_new(robbed, .ignored = false), "robbed"), 0, "somebody else's wait");
    sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_IGN }, &before);
    EQ(clean_run(NULL, coir_new(robbed, .ignored = true), "ignored"), 0, "SIGCHLD is ignored");
    sigaction(SIGCHLD, &before, NULL);
}

/* ---- never closed ---- */

struct careless {
    coir_frame_void;
    coir_args(int *line;);
    union slots u;
    struct coir_process p;
};
static coir_declare(careless);

coir_body(careless, f) {
    coir_await(f, &f->u.start, coir_process_start, .process = &f->p, .argv = sleeper); *f->line = __LINE__;
    coir_dump(stderr);
    coir_await(f, &f->u.start, coir_process_start, .process = &f->p, .argv = quick);
    coir_await(f, &f->u.wait, coir_process_wait, .process = &f->p);
} coir_end

static void never_closed(void)
{
    const int kept = fcntl(2, F_DUPFD_CLOEXEC, 3), file = open("said", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    char said[1024] = "", expected[64];
    int line = 0;

    dup2(file, 2);
    const int status = clean_run(NULL, coir_new(careless, .line = &line), "careless");
    dup2(kept, 2);
    close(kept);
    OK(pread(file, said, sizeof said - 1, 0) > 0, "something is said");
    close(file);
    EQ(status, 0, "it ended well");
    snprintf(expected, sizeof expected, "test_process_life.c:%d (task careless)\n", line);
    OK(strstr(said, "(sleep) was never closed, and is killed") && strstr(said, expected), "with the place: %s", said);
    OK(strstr(said, " (sleep), fd "), "it is in the dump: %s", said);
    OK(!strstr(said, "true"), "one that was waited for holds nothing");
}

/* ---- another shard ---- */

struct foreigner {
    coir_frame_void;
    coir_args(struct coir_process *p;);
    union slots u;
};
static coir_declare(foreigner);

coir_body(foreigner, f) {
    EQ(coir_shard_id(), 1, "on the other shard");
    SAYS(-EINVAL, &f->u.wait, coir_process_wait, .process = f->p);
    SAYS(-EINVAL, &f->u.close, coir_process_close, .process = f->p);
    EQ(coir_process_kill(f->p, SIGKILL), -EINVAL, "a signal");
} coir_end

struct many {
    coir_frame_void;
    coir_args(int n; int *good;);
    int i;
    struct runner runner;
    int status;
};
static coir_declare(many);

coir_body(many, f) {
    for (f->i = 0; f->i < f->n; f->i++) {
        coir_await(f, &f->runner, runner, .status = &f->status);
        __atomic_add_fetch(f->good, f->status == 0, __ATOMIC_SEQ_CST);
    }
} coir_end

struct away {
    coir_frame_void;
    coir_args(unsigned shard; int n; int *good;);
    struct many many;
};
static coir_declare(away);

coir_body(away, f) {
    coir_await_on(f, f->shard, &f->many, many, .n = f->n, .good = f->good);
} coir_end

enum { EACH = 20 };

struct shards {
    coir_frame_void;
    coir_no_args;
    int good;
    struct coir_process p;
    struct foreigner foreigner;
    struct away away[2];
    struct coir_task *kids[2];
    struct coir_combine all;
    union slots u;
};
static coir_declare(shards);

coir_body(shards, f) {
    f->good = 0;
    SAYS(0, &f->u.start, coir_process_start, .process = &f->p, .argv = sleeper);
    coir_await_on(f, 1, &f->foreigner, foreigner, .p = &f->p);
    EQ(coir_process_kill(&f->p, 0), 0, "it runs on");
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p);
    f->kids[0] = coir_make(&f->away[0], away, .shard = 0, .n = EACH, .good = &f->good);
    f->kids[1] = coir_make(&f->away[1], away, .shard = 1, .n = EACH, .good = &f->good);
    coir_all(f, &f->all, f->kids, 2);
    EQ(f->good, 2 * EACH, "programs of two shards");
} coir_end

/* ---- inside another loop ---- */

struct inside {
    coir_frame_void;
    coir_args(int *status;);
    struct runner runner;
    struct owner owner;
};
static coir_declare(inside);

coir_body(inside, f) {
    coir_await(f, &f->runner, runner, .status = &f->status[0]);
    coir_await(f, &f->owner, owner, .status = &f->status[1]);
} coir_end

static void another_loop(void)
{
    const int before = open_descriptors();
    int status[2] = { 1, 1 };
    struct coir_shard *s = coir_shard_open(NULL, coir_new(inside, .status = status));
    struct pollfd p = { .fd = coir_shard_fd(s), .events = POLLIN };

    do
        poll(&p, 1, 20000);
    while (coir_turn(s));
    EQ(coir_shard_close(s), 0, "inside another loop");
    OK(status[0] == 0 && status[1] == 0, "programs ran there");
    EQ(open_descriptors(), before, "no descriptor is left");
    OK(no_children(), "nor a child");
    /* Closed in the middle. */
    s = coir_shard_open(NULL, coir_new(stopped, .status = status));
    for (int i = 0; i < 20; i++) {
        poll(&p, 1, 5);
        coir_turn(s);
    }
    coir_shard_close(s);
    EQ(open_descriptors(), before, "no descriptor is left");
    OK(no_children(), "nor a child");
}

/* ---- virtual time ---- */

struct instant {
    coir_frame_void;
    coir_no_args;
    char *deaf[4], said[16];
    int64_t before;
    struct coir_process p;
    struct coir_scope scope;
    struct coir_read read;
    union slots u;
};
static coir_declare(instant);

coir_body(instant, f) {
    static char *const naps[] = { "sleep", "0.05", NULL };

    SAYS(0, &f->u.start, coir_process_start, .process = &f->p, .argv = naps);
    f->before = coir_now();
    SAYS(0, &f->u.wait, coir_process_wait, .process = &f->p);
    EQ(f->p.exit.code, 0, "its end comes");
    EQ(coir_now(), f->before, "in no time");
    SAYS(0, &f->u.start, coir_process_start, .process = &f->p, .argv = sleeper);
    coir_within(f, &f->scope, coir_now() + 3600 * COIR_S, &f->u.wait, coir_process_wait, .process = &f->p);
    EQ(coir_status(&f->u.wait), -ETIMEDOUT, "an hour is over at once");
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p);
    f->deaf[0] = self;
    f->deaf[1] = "be";
    f->deaf[2] = "deaf";
    f->deaf[3] = NULL;
    SAYS(0, &f->u.start, coir_process_start, .process = &f->p, .argv = f->deaf,
         .options = { .out = COIR_STDIO_PIPE });
    SAYS(0, &f->read, coir_read, .fd = f->p.out, .buf = f->said, .len = sizeof f->said);
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p, .grace = 3600 * COIR_S);
    EQ(f->p.exit.signal, SIGKILL, "and so is its grace");
} coir_end

int main(int argc, char **argv)
{
    const struct coir_options two = { .shards = 2 };

    child_begin(argc, argv);
    scratch_begin();
    cancel_anywhere(true);
    cancel_anywhere(false);
    in_the_queue();
    stopping();
    ends_taken();
    never_closed();
    EQ(clean_run(&two, coir_new(shards), "two shards"), 0, "two shards");
    another_loop();
    setenv("COIR_TIME", "virtual", 1);
    CLEAN(instant);
    unsetenv("COIR_TIME");
    scratch_end();
    return DONE();
}
