/* SPDX-License-Identifier: MIT */
/*
 * What a store is, and has done: gathered from its parts. Home; changes nothing.
 */
#include <string.h>

#include "volume/inside.h"

static void count_space(const struct coir_store *s, struct coir_store_facts *out)
{
    struct coir_space_counts c;

    coir_space_count(s->space, -1, &c);
    out->size = (c.free + c.reserved + c.live + c.fresh + c.awaiting + c.held + c.ungrown) << COIR_BLOCK_SHIFT;
    out->live = c.live << COIR_BLOCK_SHIFT;
    out->reserve = coir_space_reserve_size(s->space) << COIR_BLOCK_SHIFT;
    out->free = (c.free + c.ungrown) << COIR_BLOCK_SHIFT;
    out->free -= out->reserve < out->free ? out->reserve : out->free;
    out->waiting = (c.fresh + c.awaiting + c.held) << COIR_BLOCK_SHIFT;
}

unsigned coir_store_home(const struct coir_store *s)
{
    return s->home;
}

void coir_store_describe(const struct coir_store *s, struct coir_store_facts *out)
{
    const struct coir_journal_counts j = coir_journal_counts(&s->journal);

    *out = (struct coir_store_facts){
        .files = s->files->n, .read_only = s->read_only, .journal = coir_journal_size(&s->journal),
        .journal_used = s->journal.device ? coir_journal_used(&s->journal) : 0,
        .generation = s->files->super.head.generation, .epoch = s->files->super.epoch,
        .lsn = coir_journal_appended(&s->journal), .durable = coir_journal_durable(&s->journal),
        .checkpoints = s->checkpoints, .records = j.records, .groups = j.groups, .flushes = j.flushes,
        .written = j.written, .waits = j.waits, .busy = j.busy, .nodes = s->cache.counts.nodes,
        .dirty = s->cache.counts.dirty, .reads = s->cache.counts.reads, .hits = s->cache.counts.hits,
    };
    memcpy(out->id, s->files->store, sizeof out->id);
    count_space(s, out);
}
