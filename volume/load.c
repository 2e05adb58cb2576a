/* SPDX-License-Identifier: MIT */
/*
 * Opening a store whose devices are there, and closing it. An opening reads heads, map and journal, brings the index
 * up to date in memory, and then, unless the store is read-only, writes a checkpoint of a new epoch before anything
 * is served: from then on no group of the old epoch counts. What fails on the way undoes what was done; nothing that
 * can be read is lost by it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "volume/chunk.h"
#include "volume/load.h"
#include "volume/recover.h"

enum { MEMORY = 64 << 20 };             /* for nodes, unless said */

/* ---- what both do ---- */

/* Gives back all that a store has, as far as it got. Not cancellable: it is in a shield. */
struct store_undo {
    coir_frame_void;
    coir_args(struct coir_store *store;);
    union {
        struct coir_journal_close journal;
        struct coir_event_wait wait;
    };
};
static coir_declare(store_undo);

coir_body(store_undo, f) {
    f->store->state = COIR_STORE_CLOSING;
    coir_event_set(&f->store->due);
    if (f->store->journal.device)
        coir_await(f, &f->journal, coir_journal_close, .journal = &f->store->journal);
    while (f->store->keeping) {
        coir_event_reset(&f->store->kept);
        coir_await(f, &f->wait, coir_event_wait, .event = &f->store->kept);
    }
    if (f->store->catalog.cache)
        coir_catalog_destroy(&f->store->catalog);
    coir_checkpoint_destroy(&f->store->checkpoint);
    if (f->store->cache.o.files)
        coir_cache_destroy(&f->store->cache);
    coir_map_destroy(&f->store->map);
    coir_space_destroy(f->store->space);
    coir_chunks_free(f->store);
    free(f->store->writing);
    free(f->store);
} coir_end

/* ---- opening ---- */

static void released(void *arg, uint64_t address)
{
    struct coir_store *s = arg;

    coir_store_let_go(s, address, 1, s->lsn);
}

static void damaged(void *arg, const struct coir_damage *d)
{
    struct coir_store *s = arg;

    coir_store_say(s, "the index of volume %llu is damaged, level %u, at byte %llu of %s: %s",
                   (unsigned long long)d->tree, d->level,
                   (unsigned long long)COIR_ADDRESS_BLOCK(d->address) << COIR_BLOCK_SHIFT,
                   coir_store_device(s, d->address) ? coir_store_device(s, d->address)->name : "no file", d->what);
}

static void freed(void *arg)
{
    coir_store_progress(arg);
}

static struct coir_store *make(struct coir_files *files, const struct coir_store_options *options)
{
    struct coir_store *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->files = files;
    s->home = (unsigned)coir_shard_id();
    s->log = options ? options->log : NULL;
    s->ctx = options ? options->ctx : NULL;
    s->opened_read_only = s->read_only = options && options->read_only;
    s->volumes = (struct coir_link){ &s->volumes, &s->volumes };
    coir_event_init(&s->checkpointed);
    coir_event_init(&s->progress);
    coir_event_init(&s->idle);
    coir_event_init(&s->due);
    coir_event_init(&s->kept);
    s->removing = true;                 /* perhaps: the keeper looks */
    return s;
}

/* The space, the map, the cache and the catalog of files that were loaded. */
static int build(struct coir_store *s, size_t memory)
{
    struct coir_space_file file[COIR_STORE_FILES];
    const struct coir_disk_super *super = &s->files->super;
    int err;

    for (unsigned i = 0; i < s->files->n; i++) {
        const struct coir_store_file *f = &s->files->file[i];
        s->device[i] = f->device;
        file[i] = (struct coir_space_file){ f->layout.blocks, f->layout.data, f->grown };
    }
    err = coir_space_create(&s->space, file, s->files->n);
    if (err == 0)
        err = coir_map_create(&s->map, s->files);
    if (err)
        return err;
    coir_grower_init(&s->grower, s->files, s->space);
    coir_space_on_free(s->space, freed, s);
    s->next_volume = super->next_volume;
    s->checkpoint_lsn = s->lsn = super->lsn;
    err = coir_cache_init(&s->cache, &(struct coir_cache_options){ .limit = memory ? memory : MEMORY,
        .dirty = (unsigned)coir_space_dirty_cap(s->space), .files = s->device, .n_files = s->files->n,
        .released = released, .damaged = damaged, .arg = s });
    return err ? err : coir_catalog_init(&s->catalog, &s->cache, &super->catalog, &super->names, super->key);
}

static struct coir_journal_anchor anchor_of(const struct coir_store *s)
{
    const struct coir_disk_super *super = &s->files->super;
    const struct coir_store_file *f = &s->files->file[0];
    struct coir_journal_anchor a = { .device = f->device, .block = f->layout.journal,
        .blocks = f->layout.journal_blocks, .grain = f->grain, .epoch = super->epoch, .start = super->journal_start,
        .number = super->journal_number, .previous = super->journal_previous, .lsn = super->lsn };

    memcpy(&a.owner, s->files->store, sizeof a.owner);
    return a;
}

/* What recovery says of the medium: as much as could be applied is served, read-only. */
static bool is_damage(int status)
{
    return status == -EBADMSG || status == -EIO;
}

/* Says what was replayed and dropped; damage makes the store read-only. */
static void report(struct coir_store *s, const struct coir_recovery *r, int status)
{
    const struct coir_replay_report *p = &r->report;

    if (p->records > 0 || r->dropped > 0)
        coir_store_say(s, "replayed %llu records of %llu groups; %llu writes that were not acknowledged as durable "
                       "had not arrived whole, and are dropped", (unsigned long long)p->records,
                       (unsigned long long)p->groups, (unsigned long long)r->dropped);
    if (status)
        coir_store_fail(s, "record %llu of the journal does not fit the store: %s", (unsigned long long)r->at,
                        r->why ? r->why : status == -EBADMSG ? "a node of the index is damaged"
                                                             : "a node of the index cannot be read");
    else if (p->damaged)
        coir_store_fail(s, "the journal is damaged at its byte %llu (%s), and goes on at %llu: what was acknowledged "
                        "after record %llu, up to %llu, is lost", (unsigned long long)p->at,
                        coir_replay_end_name(p->end), (unsigned long long)p->proof, (unsigned long long)p->lsn,
                        (unsigned long long)p->lost);
    else if (p->end == COIR_REPLAY_TORN)
        coir_store_say(s, "the journal's last group, at its byte %llu, is not whole, and is dropped: it was being "
                       "written, or is damaged", (unsigned long long)p->at);
    if (s->read_only)
        s->opened_read_only = true;
}

/* A journal of a few large grains cannot be written: more than one group has to fit. */
static int check_grain(const struct coir_files *files, struct coir_complaint *complaint)
{
    const uint32_t grain = coir_files_grain(files, 0);

    if (files->file[0].layout.journal_blocks * COIR_BLOCK >= (uint64_t)COIR_JOURNAL_GRAINS * grain)
        return 0;
    return coir_complain(complaint, -EINVAL, "%s: it writes %u bytes at once, and the store's journal has only %llu: "
                         "it may be read with --read-only", files->file[0].device->name, grain,
                         (unsigned long long)files->file[0].layout.journal_blocks * COIR_BLOCK);
}

struct store_load {
    coir_frame(struct coir_store *);
    coir_args(struct coir_files *files; const struct coir_store_options *options; struct coir_complaint *complaint;);
    struct coir_store *store;
    struct coir_journal_anchor anchor;
    struct coir_recovery recovery;
    struct coir_scope scope;
    unsigned i;
    int err;
    union {
        struct coir_device_flush flush;
        struct coir_map_load map;
        struct coir_store_recover recover;
        struct coir_event_wait wait;
        struct coir_store_checkpoint checkpoint;
        struct coir_files_mend mend;
        struct store_undo undo;
    };
};
coir_public(store_load, coir_store_load);

/* The journal of the new epoch, and the keeper. */
static int begin_epoch(struct coir_store *s, struct coir_journal_anchor *a, uint64_t lsn)
{
    int err;

    a->grain = coir_files_grain(s->files, 0);
    a->epoch++;
    a->start = 0;
    a->number = 1;
    a->previous = 0;
    a->lsn = lsn;
    err = coir_journal_open(&s->journal, a, s->device, s->files->n);
    return err ? err : coir_detach(coir_new(coir_store_keeper, .store = s));
}

coir_body(store_load, f) {
    f->store = make(f->files, f->options);
    if (!f->store)
        coir_fail(f, -ENOMEM);
    if (f->store->files->read_only)
        f->store->opened_read_only = f->store->read_only = true;
    f->err = f->store->read_only ? 0 : check_grain(f->store->files, f->complaint);
    if (f->err == 0)
        f->err = build(f->store, f->options ? f->options->memory : 0);
    if (f->err)
        coir_fail(f, f->err);
    for (f->i = 0; !f->store->read_only && f->i < f->store->files->n; f->i++) {
        coir_await(f, &f->flush, coir_device_flush, .device = f->store->device[f->i]);
        if (coir_status(&f->flush))
            coir_fail(f, coir_complain(f->complaint, coir_status(&f->flush), "%s: what is there cannot be made "
                                       "durable: %s; it may be read with --read-only", f->store->device[f->i]->name,
                                       coir_strerror(coir_status(&f->flush))));
    }
    coir_try(f, &f->map, coir_map_load, .map = &f->store->map, .space = f->store->space, .complaint = f->complaint);
    f->anchor = anchor_of(f->store);
    f->recovery = (struct coir_recovery){ .store = f->store };
    coir_await(f, &f->recover, coir_store_recover, .recovery = &f->recovery, .anchor = &f->anchor);
    if (coir_status(&f->recover) && !is_damage(coir_status(&f->recover)))
        coir_fail(f, coir_status(&f->recover));
    report(f->store, &f->recovery, coir_status(&f->recover));
    if (!f->store->read_only) {
        f->err = begin_epoch(f->store, &f->anchor,
                             f->recovery.lsn > f->store->checkpoint_lsn ? f->recovery.lsn : f->store->checkpoint_lsn);
        if (f->err)
            coir_fail(f, f->err);
        coir_try(f, &f->wait, coir_event_wait, .event = &f->store->kept);
        if (!f->store->keeping)
            coir_fail(f, -ENOMEM);      /* it could not begin */
        coir_try(f, &f->checkpoint, coir_store_checkpoint, .store = f->store, .raise_epoch = true);
        coir_try(f, &f->mend, coir_files_mend, .files = f->store->files, .complaint = f->complaint);
    }
    f->store->state = COIR_STORE_SERVING;
    f->result = f->store;
    coir_finally(f) {
        if (coir_status(f) && f->store && coir_store_why(f->store))
            coir_complain(f->complaint, coir_status(f), "%s", coir_store_why(f->store));
        if (coir_status(f) && f->store)
            coir_shield(f, &f->scope, &f->undo, store_undo, .store = f->store);
    }
} coir_end

/* ---- closing ---- */

struct store_unload {
    coir_frame_void;
    coir_args(struct coir_store *store;);
    struct coir_scope scope;
    union {
        struct coir_event_wait wait;
        struct coir_store_checkpoint checkpoint;
        struct store_undo undo;
    };
};
coir_public(store_unload, coir_store_unload);

coir_body(store_unload, f) {
    COIR_ASSERT(f->store->home == (unsigned)coir_shard_id());
    if (f->store->volumes.next != &f->store->volumes) {
        fprintf(stderr, "coir: a store is closed while volume %s is open\n",
                coir_container_of(f->store->volumes.next, struct coir_volume, link)->name);
        abort();
    }
    f->store->state = COIR_STORE_CLOSING;
    while (f->store->operations > 0)
        coir_await(f, &f->wait, coir_event_wait, .event = &f->store->idle);
    coir_store_look(f->store);
    if (!f->store->read_only && !coir_store_is_clean(f->store)) {
        coir_await(f, &f->checkpoint, coir_store_checkpoint, .store = f->store);
        coir_check(f, &f->checkpoint);
    } else if (f->store->read_only && !f->store->opened_read_only) {
        coir_fail(f, -EROFS);
    }
    coir_finally(f) {
        coir_await(f, &f->undo, store_undo, .store = f->store);
    }
} coir_end
