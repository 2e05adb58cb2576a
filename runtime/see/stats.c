/* SPDX-License-Identifier: MIT */
/*
 * Counters, for whoever asks. Those that live elsewhere (the pool's) are fetched here.
 */
#include <coir/see.h>

#include "runtime/shard/run.h"

/* Another shard may be counting: each counter is read in one piece, and which of two values it has is not promised. */
__attribute__((no_sanitize("thread"), noinline))
static void copy(uint64_t *to, const volatile uint64_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from[i];
}

int coir_stats(unsigned shard, struct coir_stats *out)
{
    const bool foreign = !coir_shard_here();
    const struct coir_runtime *run = foreign ? coir_run_enter() : coir_shard_here()->run;
    const struct coir_shard *s = run && shard < run->n ? run->shard[shard] : NULL;

    if (s) {
        copy((uint64_t *)out, (const uint64_t *)&s->stats, sizeof *out / sizeof(uint64_t));
        copy(&out->allocations, &s->pool.allocs, 1);
        copy(&out->chunks, &s->pool.chunk_allocs, 1);
    }
    if (run && foreign)
        coir_run_leave();
    return s ? 0 : -EINVAL;
}

const char *coir_plane_name(void)
{
    return coir_shard_here() ? coir_shard_here()->plane->kind->name : "";
}
