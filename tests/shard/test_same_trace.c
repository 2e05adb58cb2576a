/* SPDX-License-Identifier: MIT */
/*
 * The same seed, the same trace: a program of timers, groups, races, passes and pipes under virtual time does the
 * same things in the same order at the same times, whenever it is run.
 */
#include "task/help.h"

enum { WORKERS = 60, STEPS = 30, EVENTS = 1 << 16 };

struct event {
    int64_t at;
    int who, what;
};

static struct event events[2][EVENTS];
static int n_events[2], which;
static int64_t began;

static void note(int who, int what)
{
    if (n_events[which] < EVENTS)
        events[which][n_events[which]++] = (struct event){ coir_now() - began, who, what };
}

static uint32_t draw(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

struct nap {
    coir_frame_void;
    coir_args(int who; int64_t ns;);
    struct coir_sleep sleep;
};
static coir_declare(nap);

coir_body(nap, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = f->ns);
    coir_finally(f) {
        note(f->who, f->task.status);
    }
} coir_end

/* Does something, drawn from its seed, again and again. */
struct worker {
    coir_frame_void;
    coir_args(int who; uint32_t seed; const int *fds;);
    int i;
    char byte;
    struct coir_task *kids[2];
    struct coir_group group;
    struct coir_scope scope;
    struct nap nap;
    union {
        struct coir_pass pass;
        struct coir_combine combine;
        struct coir_group_wait wait;
        struct coir_write write;
        struct coir_read read;
    };
};
static coir_declare(worker);

coir_body(worker, f) {
    for (f->i = 0; f->i < STEPS; f->i++) {
        note(f->who, f->i);
        if (draw(&f->seed) % 6 == 0) {
            coir_try(f, &f->pass, coir_pass);
        } else if (f->seed % 6 == 1) {
            coir_within(f, &f->scope, coir_now() + draw(&f->seed) % 1000000, &f->nap, nap, .who = f->who,
                        .ns = draw(&f->seed) % 1000000);
        } else if (f->seed % 6 == 2) {
            f->kids[0] = coir_make(&f->nap, nap, .who = f->who, .ns = draw(&f->seed) % 10000);
            f->kids[1] = coir_new(nap, .who = f->who + 1000, .ns = draw(&f->seed) % 10000);
            coir_race(f, &f->combine, f->kids, 2);
        } else if (f->seed % 6 == 3) {
            coir_group_open(f, &f->group);
            for (int k = 0; k < 5; k++)
                coir_spawn(&f->group, coir_new(nap, .who = f->who + 2000, .ns = draw(&f->seed) % 4 * 1000));
            coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        } else if (f->seed % 6 == 4) {
            coir_try(f, &f->nap, nap, .who = f->who, .ns = draw(&f->seed) % 5000000000);
        } else {
            coir_try(f, &f->write, coir_write, .fd = f->fds[1], .buf = "x", .len = 1);
            coir_try(f, &f->read, coir_read, .fd = f->fds[0], .buf = &f->byte, .len = 1);
        }
    }
} coir_end

struct program {
    coir_frame_void;
    coir_args(uint32_t seed;);
    int i;
    int fds[2];
    struct coir_group group;
    union {
        struct coir_group_wait wait;
        struct coir_close close;
    };
};
static coir_declare(program);

coir_body(program, f) {
    began = coir_now();
    n_events[which] = 0;
    if (coir_pipe(f->fds))
        coir_fail(f, EMFILE);
    coir_group_open(f, &f->group);
    for (f->i = 0; f->i < WORKERS; f->i++)
        coir_spawn(&f->group, coir_new(worker, .who = f->i, .seed = f->seed + (uint32_t)f->i * 7919,
                                       .fds = f->fds));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_finally(f) {
        coir_await(f, &f->close, coir_close, .fd = f->fds[0]);
        coir_await(f, &f->close, coir_close, .fd = f->fds[1]);
    }
} coir_end

int main(void)
{
    setenv("COIR_TIME", "virtual", 1);
    for (uint32_t seed = 1; seed <= 3; seed++) {
        which = 0;
        EQ(run(coir_new(program, .seed = seed)), 0, "seed %u, once", seed);
        OK(n_events[0] > WORKERS * STEPS && n_events[0] < EVENTS, "%d events", n_events[0]);
        for (int again = 0; again < 5; again++) {
            which = 1;
            usleep(1234);
            EQ(run(coir_new(program, .seed = seed)), 0, "seed %u, again", seed);
            EQ(n_events[1], n_events[0], "as many events");
            MEM_EQ(events[1], events[0], sizeof(struct event) * (size_t)n_events[0],
                   "the same ones at the same times");
        }
    }
    return DONE();
}
