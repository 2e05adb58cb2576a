/* SPDX-License-Identifier: MIT */
/*
 * Counters, for whoever asks. Those that live elsewhere (the pool's) are fetched here.
 */
#include <coir/see.h>

#include "runtime/shard/run.h"

int coir_stats(unsigned shard, struct coir_stats *out)
{
    const bool foreign = !coir_shard_here();
    const struct coir_runtime *run = foreign ? coir_run_enter() : coir_shard_here()->run;
    const struct coir_shard *s = run && shard < run->n ? run->shard[shard] : NULL;

    if (s) {
        *out = s->stats;
        out->allocations = s->pool.allocs;
        out->chunks = s->pool.chunk_allocs;
    }
    if (run && foreign)
        coir_run_leave();
    return s ? 0 : -EINVAL;
}

const char *coir_plane_name(void)
{
    return coir_shard_here() ? coir_shard_here()->plane->kind->name : "";
}
