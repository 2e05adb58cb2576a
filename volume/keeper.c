/* SPDX-License-Identifier: MIT */
/*
 * The keeper of a store: one task that does ahead of time what somebody would otherwise wait for. It writes a
 * checkpoint when the journal or the dirty nodes have half filled, when large writes have superseded much, or half a
 * minute after a change; commits, every five seconds, what nobody has flushed; lets files grow before they are full;
 * takes volumes that are being removed to pieces. Nobody waits for it, and it may end at any time: when the store
 * closes, or the program is stopped.
 */
#include "volume/chunk.h"
#include "volume/grow.h"
#include "volume/manage.h"

#define LOOK (5 * COIR_S)
#define AGE (30 * COIR_S)
#define AHEAD ((uint64_t)8192)          /* blocks: 32 MiB */

/* What large writes supersede is wanted back soon, a sixteenth of the store or 256 MiB of it: writes to pages that the
 * page cache has cost a quarter of those for which it has to find new ones, and a file need not grow meanwhile. */
static uint64_t most_long_fresh(const struct coir_store *s)
{
    return 4 * coir_space_dirty_cap(s->space);
}

bool coir_store_is_due(const struct coir_store *s)
{
    return coir_journal_used(&s->journal) >= coir_journal_size(&s->journal) / 2
        || coir_cache_dirty(&s->cache) >= coir_space_dirty_cap(s->space) / 2
        || coir_space_long_fresh(s->space) >= most_long_fresh(s);
}

struct store_keeper {
    coir_frame_void;
    coir_args(struct coir_store *store;);
    struct coir_scope scope;
    int64_t since;                      /* of the last checkpoint, or of the last time that there was nothing to do */
    int err;
    struct coir_group_wait members;
    union {
        struct coir_event_wait wait;
        struct coir_journal_flush flush;
        struct coir_store_checkpoint checkpoint;
        struct coir_space_grow grow;
        struct coir_store_dismantle dismantle;
    };
};
coir_public(store_keeper, coir_store_keeper);

coir_body(store_keeper, f) {
    coir_group_open(f, &f->store->group);
    f->err = coir_journal_start(&f->store->journal, &f->store->group);
    f->store->keeping = f->err == 0;
    coir_event_set(&f->store->kept);
    f->since = coir_now();
    while (f->err == 0 && f->store->state != COIR_STORE_CLOSING && !coir_cancelled(f)) {
        coir_within(f, &f->scope, coir_now() + LOOK, &f->wait, coir_event_wait, .event = &f->store->due);
        coir_event_reset(&f->store->due);
        coir_store_look(f->store);
        if (f->store->read_only || f->store->state != COIR_STORE_SERVING)
            continue;
        if (coir_status(&f->wait) == -ETIMEDOUT
            && coir_journal_appended(&f->store->journal) > coir_journal_durable(&f->store->journal))
            coir_await(f, &f->flush, coir_journal_flush, .journal = &f->store->journal);
        if (coir_store_is_clean(f->store))
            f->since = coir_now();
        if (coir_store_is_due(f->store) || coir_now() - f->since >= AGE) {
            coir_await(f, &f->checkpoint, coir_store_checkpoint, .store = f->store);
            f->since = coir_now();
        }
        if (coir_space_is_short(f->store->space, AHEAD) && !f->store->read_only)
            coir_await(f, &f->grow, coir_space_grow, .grower = &f->store->grower);
        if (f->store->removing && !f->store->read_only)
            coir_await(f, &f->dismantle, coir_store_dismantle, .store = f->store);
    }
    coir_finally(f) {
        coir_await(f, &f->members, coir_group_wait, .group = &f->store->group);
        f->store->keeping = false;
        coir_event_set(&f->store->kept);
    }
} coir_end
