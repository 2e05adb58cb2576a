/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints. In one step, at LSN X: the dirty nodes get places, the trees and the space map are frozen, and it is
 * noted where the journal goes on. Then, while writes go on, what is frozen is written, every device is flushed
 * (nodes, and the data of all LSNs up to X), and the superblocks, one after the other. Only then is the journal cut
 * and what was superseded freed.
 *
 * One at a time, made by whoever needs it first; others wait for its end. Once begun it is nobody's to cancel. One
 * that fails makes the store read-only: what it has begun to write is named by no superblock.
 */
#include <stdlib.h>

#include "device/rules.h"
#include "volume/chunk.h"

/* Nothing has changed since the last one. */
bool coir_store_is_clean(const struct coir_store *s)
{
    return coir_cache_dirty(&s->cache) == 0 && coir_journal_appended(&s->journal) == s->checkpoint_lsn;
}

struct write_checkpoint {
    coir_frame_void;
    coir_args(struct coir_store *store; bool raise_epoch;);
    struct coir_run *runs;
    unsigned n_runs, i;
    int err;
    bool frozen_trees;
    struct coir_frozen *frozen;
    struct coir_journal_position position;
    union {
        struct coir_event_wait wait;
        struct coir_space_grow grow;
        struct coir_checkpoint_write nodes;
        struct coir_map_write map;
        struct coir_device_flush flush;
        struct coir_super_commit commit;
    };
};
static coir_declare(write_checkpoint);

/* Places for n nodes, in use from now on. 0; or an error, and none is taken. */
static int take_places(struct write_checkpoint *f, unsigned n)
{
    struct coir_space *space = f->store->space;
    unsigned got = 0;
    int runs = 0;

    f->n_runs = 0;
    while (got < n) {
        runs = coir_space_reserve(space, COIR_SPACE_CHECKPOINT, 0, n - got, f->runs + f->n_runs,
                                  n - f->n_runs);
        if (runs <= 0)
            break;
        for (int i = 0; i < runs; i++)
            got += (unsigned)f->runs[f->n_runs++].blocks;
    }
    for (unsigned i = 0; i < f->n_runs; i++) {
        if (got < n)
            coir_space_cancel(space, f->runs[i].address, f->runs[i].blocks);
        else
            coir_space_use(space, f->runs[i].address, f->runs[i].blocks);
    }
    return got < n ? runs : 0;
}

/* The step. 0; or why it cannot be made now, and nothing has happened. */
static int freeze(struct write_checkpoint *f)
{
    struct coir_store *s = f->store;
    const unsigned n = coir_cache_dirty(&s->cache);
    struct coir_run *runs = realloc(f->runs, (n + 1) * sizeof *runs);
    int err;

    if (!runs)
        return -ENOMEM;
    f->runs = runs;
    err = coir_checkpoint_prepare(&s->checkpoint, &s->cache);
    if (err == 0)
        err = take_places(f, n);
    if (err)
        return err;
    err = coir_space_freeze(s->space, coir_journal_appended(&s->journal), &f->frozen);
    if (err) {
        for (unsigned i = 0; i < f->n_runs; i++)
            coir_space_supersede(s->space, f->runs[i].address, f->runs[i].blocks, coir_journal_appended(&s->journal));
        return err;
    }
    coir_journal_position(&s->journal, &f->position);
    coir_catalog_freeze(&s->catalog, &s->checkpoint, f->runs, f->n_runs, s->files->super.head.generation + 1);
    f->frozen_trees = true;
    return 0;
}

/* The superblock that names what has been written. */
static void fill_super(struct write_checkpoint *f)
{
    const struct coir_store *s = f->store;
    struct coir_disk_super *super = &s->files->next;

    *super = s->files->super;
    super->epoch += f->raise_epoch;
    super->lsn = f->frozen->lsn;
    super->journal_start = f->position.start;
    super->journal_number = f->position.number;
    super->journal_previous = f->position.previous;
    super->next_volume = s->next_volume;
    super->live = f->frozen->live;
    coir_catalog_roots(&s->catalog, &super->catalog, &super->names);
    coir_map_roots(&s->map, super);
    for (unsigned i = 0; i < s->files->n; i++)
        super->file[i].grown = coir_space_grown_to(s->space, i);
}

coir_body(write_checkpoint, f) {
    f->runs = NULL;
    f->frozen = NULL;
    f->frozen_trees = false;
    for (;;) {
        f->err = freeze(f);
        if (f->err == 0)
            break;
        if (f->err == -EFBIG)           /* when no file can grow it is said the next time */
            coir_await(f, &f->grow, coir_space_grow, .grower = &f->store->grower);
        else if (f->err == -EBUSY)
            coir_try(f, &f->wait, coir_event_wait, .event = &f->store->progress);
        else
            coir_fail(f, f->err);
    }
    coir_try(f, &f->nodes, coir_checkpoint_write, .checkpoint = &f->store->checkpoint);
    coir_try(f, &f->map, coir_map_write, .map = &f->store->map, .space = f->store->space, .frozen = f->frozen,
             .generation = f->store->files->super.head.generation + 1);
    for (f->i = 0; COIR_RULE(NODES_BEFORE_SUPERBLOCK) && f->i < f->store->files->n; f->i++)
        coir_try(f, &f->flush, coir_device_flush, .device = f->store->device[f->i]);
    fill_super(f);
    coir_try(f, &f->commit, coir_super_commit, .files = f->store->files);
    f->store->synced = true;
    f->store->checkpoint_lsn = f->frozen->lsn;
    f->store->checkpoints++;
    coir_catalog_done(&f->store->catalog, &f->store->checkpoint);
    coir_map_commit(&f->store->map);
    coir_space_durable(f->store->space, f->frozen);
    coir_journal_cut(&f->store->journal, &f->position);
    f->frozen_trees = false;
    f->frozen = NULL;
    coir_finally(f) {
        if (f->frozen_trees)
            coir_catalog_failed(&f->store->catalog, &f->store->checkpoint);
        if (f->frozen) {
            coir_map_abort(&f->store->map);
            coir_space_thaw(f->store->space, f->frozen);
        }
        free(f->runs);
    }
} coir_end

struct store_checkpoint {
    coir_frame_void;
    coir_args(struct coir_store *store; bool raise_epoch;);
    struct coir_scope scope;
    struct write_checkpoint *write;
    struct coir_event_wait wait;
};
coir_public(store_checkpoint, coir_store_checkpoint);

coir_body(store_checkpoint, f) {
    if (f->store->read_only)
        coir_fail(f, -EROFS);
    if (f->store->checkpointing) {
        coir_try(f, &f->wait, coir_event_wait, .event = &f->store->checkpointed);
        if (f->store->checkpoint_status)
            coir_fail(f, f->store->checkpoint_status);
        coir_return(f);
    }
    if (!f->store->writing)             /* the frame is large, and the store's: its awaiters are many */
        f->store->writing = malloc(sizeof(struct write_checkpoint));
    f->write = f->store->writing;
    if (!f->write)
        coir_fail(f, -ENOMEM);
    f->store->checkpointing = true;
    coir_shield(f, &f->scope, f->write, write_checkpoint, .store = f->store, .raise_epoch = f->raise_epoch);
    f->store->checkpointing = false;
    f->store->checkpoint_status = coir_status(f->write);
    if (coir_status(f->write))
        coir_store_fail(f->store, "a checkpoint could not be written: %s", coir_strerror(coir_status(f->write)));
    coir_event_set(&f->store->checkpointed);
    coir_event_reset(&f->store->checkpointed);
    coir_store_progress(f->store);
    coir_check(f, f->write);
} coir_end
