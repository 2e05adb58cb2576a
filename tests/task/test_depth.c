/* SPDX-License-Identifier: MIT */
/*
 * Deep chains and long steps: a wake-up resumes the leaf whatever the depth, recursion does not use up the C
 * stack, and what is always ready does not keep others from running.
 */
#include "help.h"

/* ---- a chain of heap frames ---- */

struct chain {
    coir_frame(long);
    coir_args(long n; int naps;);
    struct chain *below;
};
static coir_declare(chain);

struct bottom {
    coir_frame(long);
    coir_args(int naps;);
    int i;
    uint64_t before;
    struct coir_sleep sleep;
};
static coir_declare(bottom);

coir_body(bottom, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = 1);
    f->before = steps_now();
    for (f->i = 0; f->i < f->naps; f->i++)
        coir_try(f, &f->sleep, coir_sleep, .ns = 1);
    if (f->naps)
        EQ(steps_now() - f->before, f->naps * (1 + TORTURE), "%d wake-ups take %d steps", f->naps,
           f->naps * (1 + TORTURE));
    coir_return(f, 1);
} coir_end

static struct bottom bottom_slot;

coir_body(chain, f) {
    if (f->n == 0) {
        coir_get(f, f->result, &bottom_slot, bottom, .naps = f->naps);
        coir_return(f, f->result);
    }
    f->below = malloc(sizeof *f->below);
    coir_get(f, f->result, f->below, chain, .n = f->n - 1, .naps = f->naps);
    f->result++;
    coir_finally(f) {
        if (f->n)
            free(f->below);
    }
} coir_end

struct deep {
    coir_frame_void;
    coir_args(long n; int naps;);
    uint64_t queued;
    struct coir_stats stats;
    struct chain chain;
};
static coir_declare(deep);

coir_body(deep, f) {
    coir_stats(0, &f->stats);
    f->queued = f->stats.queued_awaits;
    coir_try(f, &f->chain, chain, .n = f->n, .naps = f->naps);
    EQ(f->chain.result, f->n + 1, "%ld deep: each level has ended once", f->n);
    coir_stats(0, &f->stats);
    /* n + 1 links, one bottom, its sleep: of a step's 128 awaits the last is queued, and depth 256 * k is one of
     * those */
    if (f->naps == 0 && !TORTURE)
        EQ(f->stats.queued_awaits - f->queued, (f->n + 3) / 128, "%ld deep: of 128 awaits one is queued",
           f->n);
} coir_end

static void *run_deep(void *n)
{
    EQ(run(coir_new(deep, .n = *(long *)n)), 0, "%ld awaits deep, on a small stack", *(long *)n);
    return NULL;
}

static void small_stack(long n)
{
    pthread_attr_t attr;
    pthread_t thread;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, SANITIZED ? 1024 * 1024 : 256 * 1024);
    if (OK(pthread_create(&thread, &attr, run_deep, &n) == 0, "a thread with a small stack"))
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

/* ---- recursion through combinators ---- */

struct twice {
    coir_frame(long);
    coir_args(long n;);
    struct coir_task *kids[1];
    struct coir_combine all;
};
static coir_declare(twice);

coir_body(twice, f) {
    if (f->n == 0)
        coir_return(f, 1);
    f->kids[0] = coir_new(twice, .n = f->n - 1);
    coir_all(f, &f->all, f->kids, 1);
    coir_check(f, &f->all);
} coir_end

static void *run_twice(void *n)
{
    EQ(run(coir_new(twice, .n = *(long *)n)), 0, "%ld combinators deep, on a small stack", *(long *)n);
    return NULL;
}

static void combinators_on_small_stack(long n)
{
    pthread_attr_t attr;
    pthread_t thread;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, SANITIZED ? 1024 * 1024 : 256 * 1024);
    if (OK(pthread_create(&thread, &attr, run_twice, &n) == 0, "a thread with a small stack"))
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

/* ---- what is always ready ---- */

struct ready {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(ready);

static int awaits, seen_by_other;
static bool stop;

coir_body(ready, f) {
    awaits++;
} coir_end

struct greedy {
    coir_frame_void;
    coir_no_args;
    struct ready ready;
};
static coir_declare(greedy);

coir_body(greedy, f) {
    while (!stop)
        coir_try(f, &f->ready, ready);
} coir_end

struct other {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(other);

coir_body(other, f) {
    seen_by_other = awaits;
    stop = true;
} coir_end

struct starve {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(starve);

coir_body(starve, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(greedy));
    coir_spawn(&f->group, coir_new(other));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(seen_by_other, TORTURE ? 0 : 127, "127 awaits that do not suspend, then another task has its turn");
    EQ(awaits, TORTURE ? 1 : 128, "and the one that was queued still runs");
} coir_end

/* Many of them at once, under one combinator: what is spent stays spent. */
struct crowd {
    coir_frame_void;
    coir_no_args;
    int i;
    struct coir_group group;
    struct coir_task *kids[200];
    union {
        struct coir_combine all;
        struct coir_group_wait wait;
    };
};
static coir_declare(crowd);

coir_body(crowd, f) {
    stop = false;
    awaits = 0;
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(other));
    for (f->i = 0; f->i < 200; f->i++)
        f->kids[f->i] = coir_new(greedy);
    coir_all(f, &f->all, f->kids, 200);
    /* the combinator is the first of the step's 128 awaits, the first child the second, the 128th is queued */
    EQ(seen_by_other, TORTURE ? 0 : 125, "200 greedy children have 128 awaits between them");
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

int main(void)
{
    const bool less = SANITIZED || TORTURE;

    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    EQ(run(coir_new(deep, .n = 0, .naps = 100)), 0, "a chain of one");
    EQ(run(coir_new(deep, .n = 10000, .naps = 100)), 0, "a chain of 10,000");
    small_stack(less ? 100000 : 1000000);
    combinators_on_small_stack(less ? 20000 : 200000);
    EQ(run(coir_new(starve)), 0, "starvation");
    EQ(run(coir_new(crowd)), 0, "starvation by a crowd");
    return DONE();
}
