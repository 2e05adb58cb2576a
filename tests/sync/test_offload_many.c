/* SPDX-License-Identifier: MIT */
/*
 * Two shards that share pools: thousands of functions, cancelled at random, each either run once and delivered
 * or not run at all. What ThreadSanitizer is to look at.
 */
#include <coir/coir.h>

#include "tap.h"

enum { TASKS = 600, ROUNDS = 4 };

static int ran, delivered, refused;      /* atomic */

static int64_t work(void *arg)
{
    unsigned long *seed = arg;

    for (int i = 0; i < 200; i++)
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
    return (int64_t)(*seed >> 40);
}

struct one {
    coir_frame_void;
    coir_args(unsigned long seed; const char *pool; int64_t ns;);
    struct coir_scope scope;
    struct coir_offload offload;
    int rounds;
};
static coir_declare(one);
coir_body(one, f) {
    for (f->rounds = 0; f->rounds < ROUNDS; f->rounds++) {
        f->seed += f->rounds;
        coir_within(f, &f->scope, coir_now() + f->ns, &f->offload, coir_offload, .pool = f->pool, .fn = work,
                    .arg = &f->seed);
        if (coir_status(&f->offload) == 0 && f->offload.result == (int64_t)(f->seed >> 40))
            __atomic_add_fetch(&delivered, 1, __ATOMIC_RELAXED);
        if (coir_status(&f->offload) == -ETIMEDOUT)
            __atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
    }
} coir_end

struct half {
    coir_frame_void;
    coir_args(unsigned long seed;);
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(half);
coir_body(half, f) {
    coir_group_open(f, &f->group);
    for (int i = 0; i < TASKS; i++) {
        const int64_t ns = i % 3 == 0 ? COIR_US * (i % 200) : COIR_S * 1000;
        coir_spawn(&f->group, coir_new(one, .seed = f->seed + (unsigned)i, .pool = i % 2 ? "even" : NULL, .ns = ns));
    }
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

struct both {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
    struct half here;
    struct coir_pool_counts counts;
    uint64_t done;
};
static coir_declare(both);
struct other {
    coir_frame_void;
    coir_no_args;
    struct half half;
};
static coir_declare(other);
coir_body(other, f) {
    coir_await_on(f, 1, &f->half, half, .seed = 1000003);
} coir_end

coir_body(both, f) {
    EQ(coir_pool_limit("even", 4), 0, "a second pool");
    coir_group_open(f, &f->group);
    EQ(coir_spawn(&f->group, coir_new(other)), 0, "the other shard");
    coir_await(f, &f->here, half, .seed = 17);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_pool_stats("even", &f->counts), 0, "counts");
    f->done = f->counts.done;
    EQ(f->counts.queued + f->counts.running + f->counts.orphans, 0, "nothing is left on the one");
    EQ(coir_pool_stats(NULL, &f->counts), 0, "counts");
    EQ(f->counts.queued + f->counts.running + f->counts.orphans, 0, "nor on the other");
    EQ(f->counts.done + f->done, ran, "both pools have counted what ran");
} coir_end

int main(void)
{
    const struct coir_options two = { .shards = 2, .unpinned = true };

    EQ(coir_run(&two, coir_new(both)), 0, "two shards");
    EQ(delivered, ran, "what ran was delivered, all of it");
    EQ(delivered + refused, 2 * TASKS * ROUNDS, "each ended, in one of two ways");
    NOTE("%d ran, %d were cancelled before", ran, refused);
    return DONE();
}
