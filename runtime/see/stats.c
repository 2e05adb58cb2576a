/* SPDX-License-Identifier: MIT */
/*
 * Counters, for whoever asks. Those that live elsewhere (the pool's) are fetched here, and so is what a shard has at
 * the moment: operations in flight, timers.
 */
#include <coir/see.h>

#include "runtime/see/counters.h"

/* Another shard may be counting: each counter is read in one piece, and which of two values it has is not promised. */
__attribute__((no_sanitize("thread"), noinline))
static void copy(uint64_t *to, const volatile uint64_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from[i];
}

/* The same for one that is no uint64_t. */
#define COPY(from) __extension__({ \
    const volatile __typeof__(from) *const from_ = &(from); \
    *from_; })

static void copy_stats(const struct coir_shard *s, struct coir_stats *out)
{
    copy((uint64_t *)out, (const uint64_t *)&s->stats, sizeof *out / sizeof(uint64_t));
    copy(&out->allocations, &s->pool.allocs, 1);
    copy(&out->chunks, &s->pool.chunk_allocs, 1);
}

int coir_stats(unsigned shard, struct coir_stats *out)
{
    const bool foreign = !coir_shard_here();
    const struct coir_runtime *run = foreign ? coir_run_enter() : coir_shard_here()->run;
    const struct coir_shard *s = run && shard < run->n ? run->shard[shard] : NULL;

    if (s)
        copy_stats(s, out);
    if (run && foreign)
        coir_run_leave();
    return s ? 0 : -EINVAL;
}

/* What two counters, read one after the other, leave: the second may have grown meanwhile. */
static uint64_t less(uint64_t begun, uint64_t ended)
{
    return begun > ended ? begun - ended : 0;
}

__attribute__((no_sanitize("thread"), noinline))
void coir_snapshot_take(const struct coir_shard *s, struct coir_snapshot *out)
{
    struct timespec cpu = { 0 };
    uint64_t frees;

    copy(&frees, &s->pool.frees, 1);
    copy_stats(s, &out->stats);
    out->live = less(out->stats.tasks, out->stats.ended);
    out->timers = COPY(s->wheel.count);
    out->in_flight = COPY(s->plane->in_flight);
    out->blocks = less(out->stats.allocations, frees);
    out->asleep = __atomic_load_n(&s->asleep, __ATOMIC_RELAXED) != 0;
    clock_gettime(s->cpu, &cpu);
    out->cpu = (uint64_t)cpu.tv_sec * COIR_S + (uint64_t)cpu.tv_nsec;
}

const char *coir_plane_name(void)
{
    return coir_shard_here() ? coir_shard_here()->plane->kind->name : "";
}
