/* SPDX-License-Identifier: MIT */
/*
 * Recovery: what the journal has beyond the superblock is applied, record by record, to the index and the space map in
 * memory, as it was when the records were made. Of the last group, unless a mark follows it, the data of each write is
 * read past the page cache and compared with its sums first: a write whose data did not arrive is left out, the others
 * are applied. What is superseded follows from the index as it is now, so a record that was left out frees nothing.
 *
 * What the journal says has been verified as bytes, and is still not believed: a record that does not fit what is there
 * (a volume that is not, blocks that are in use) is damage, and the store is opened read-only up to there. Nothing is
 * written here.
 */
#include "volume/recover.h"

#include <stdlib.h>
#include <string.h>

#include "device/checksum.h"
#include "volume/chunk.h"
#include "volume/manage.h"

/* ---- the data of a write ---- */

struct verify_write {
    coir_frame(bool);                   /* it is all there */
    coir_args(struct coir_store *store; const struct coir_record *record; unsigned shift;);
    unsigned char *buffer;
    unsigned i, k;
    uint64_t b, address;
    struct iovec iov;
    struct coir_device_read read;
};
static coir_declare(verify_write);

coir_body(verify_write, f) {
    f->k = 0;
    f->buffer = aligned_alloc(COIR_GRAIN_MAX, COIR_GRAIN_MAX);
    if (!f->buffer)
        coir_fail(f, -ENOMEM);
    for (f->i = 0; f->i < f->record->n_extents; f->i++) {
        for (f->b = 0; f->b < f->record->extents[f->i].count; f->b++) {
            f->address = f->record->extents[f->i].address + (f->b << (f->shift - COIR_BLOCK_SHIFT));
            f->iov = (struct iovec){ f->buffer, (size_t)1 << f->shift };
            coir_await(f, &f->read, coir_device_read, .device = coir_store_device(f->store, f->address), .iov = &f->iov,
                       .n = 1, .offset = COIR_ADDRESS_BLOCK(f->address) << COIR_BLOCK_SHIFT, .flags = COIR_DIRECT);
            if (coir_status(&f->read) == -ECANCELED)
                coir_fail(f, -ECANCELED);
            if (coir_status(&f->read)
                || coir_crc(f->address, f->buffer, (size_t)1 << f->shift) != f->record->crcs[f->k++])
                coir_return(f, false);
        }
    }
    f->result = true;
    coir_finally(f) {
        free(f->buffer);
    }
} coir_end

/* ---- applying one ---- */

/* A volume whose mappings records change; the same one as for the record before, most of the time. */
struct apply {
    coir_frame_void;                    /* -EBADMSG: it does not fit; `why` says in what */
    coir_args(struct coir_recovery *recovery; const struct coir_record *record; uint64_t lsn; bool verify;);
    struct coir_store *store;
    struct coir_extents *extents;
    struct coir_pin pin;
    struct coir_credit credit;
    uint64_t lba, count;
    int err;
    union {
        struct coir_catalog_open open;
        struct verify_write verify_write;
        struct coir_extents_pin pins;
        struct coir_catalog_pin names;
        struct coir_catalog_list list;
    };
    struct coir_catalog_change change;
    struct coir_catalog_item item;
};
static coir_declare(apply);

static int misfit(struct apply *f, const char *why)
{
    f->recovery->why = why;
    return -EBADMSG;
}

/* Whether what a write names is there at all: before that is read. */
static int check_places(struct apply *f)
{
    const unsigned up = f->extents->tree.shift - COIR_BLOCK_SHIFT;

    for (unsigned i = 0; i < f->record->n_extents; i++)
        if (!coir_space_has(f->store->space, f->record->extents[i].address,
                            (uint64_t)f->record->extents[i].count << up))
            return misfit(f, "it writes to blocks that the store does not have");
    return 0;
}

/* Takes the blocks of a write. 0; or none is taken. */
static int claim(struct apply *f)
{
    const unsigned up = f->extents->tree.shift - COIR_BLOCK_SHIFT;
    int err = 0;
    unsigned i;

    for (i = 0; i < f->record->n_extents && !err; i++) {
        const struct coir_record_extent *e = &f->record->extents[i];
        err = COIR_ADDRESS_BLOCK(e->address) & ((1u << up) - 1)
            ? -EINVAL : coir_space_claim(f->store->space, e->address, (uint64_t)e->count << up);
    }
    if (!err)
        return 0;
    while (--i > 0)
        coir_space_cancel(f->store->space, f->record->extents[i - 1].address,
                          (uint64_t)f->record->extents[i - 1].count << up);
    return err == -ENOMEM ? err : misfit(f, err == -EEXIST ? "it writes to blocks that are in use"
                                                            : "it writes to blocks that the store does not have");
}

/* Maps what has been claimed, as far as leaves are pinned, which is nearly always all; f->lba and count move on. */
static void map_pinned(struct apply *f)
{
    const unsigned up = f->extents->tree.shift - COIR_BLOCK_SHIFT;
    const uint64_t left = f->pin.last - f->lba, begin = f->lba - f->record->lba;
    const unsigned n = (unsigned)(left < f->count - 1 ? left + 1 : f->count);
    struct coir_run runs[COIR_EXTENT_MAX];
    unsigned n_runs = 0;
    const struct coir_superseded superseded = coir_store_superseded(f->store);
    uint64_t at = 0;

    for (unsigned i = 0; i < f->record->n_extents; i++) {   /* those parts that lie in [begin, begin + n) */
        const struct coir_record_extent *e = &f->record->extents[i];
        const uint64_t from = at > begin ? at : begin;
        const uint64_t to = at + e->count < begin + n ? at + e->count : begin + n;
        if (from < to)
            runs[n_runs++] = (struct coir_run){ e->address + ((from - at) << up), (to - from) << up };
        at += e->count;
    }
    for (unsigned i = 0; i < n_runs; i++)
        coir_space_use(f->store->space, runs[i].address, runs[i].blocks);
    coir_extents_map(f->extents, &f->credit, f->lba, n, runs, n_runs, f->record->crcs + begin, &superseded);
    f->lba += n;
    f->count -= n;
}

static void unmap_pinned(struct apply *f)
{
    const struct coir_superseded superseded = coir_store_superseded(f->store);
    const uint64_t n = coir_extents_unmap(f->extents, &f->credit, f->lba, f->count, UINT32_MAX, &superseded);

    f->lba += n;
    f->count -= n;
}

/* Those kinds that change the catalog: in one step. */
static int change_catalog(struct apply *f)
{
    const struct coir_record *r = f->record;
    int err;

    switch (r->kind) {
    case COIR_RECORD_CREATE:
        f->item = (struct coir_catalog_item){ .id = r->volume, .blocks = r->blocks, .shift = (uint8_t)r->shift,
            .state = COIR_VOLUME_READY, .name_length = (uint8_t)r->name_length };
        memcpy(f->item.name, r->name, r->name_length);
        if (r->volume != f->store->next_volume)
            return misfit(f, "it makes a volume whose turn it is not");
        err = coir_catalog_create(&f->change, &f->credit, &f->item);
        if (err == 0)
            f->store->next_volume = r->volume + 1;
        break;
    case COIR_RECORD_RENAME:
        err = coir_catalog_rename(&f->change, &f->credit, r->volume, r->name, r->name_length);
        break;
    case COIR_RECORD_REMOVE:
        err = coir_catalog_remove(&f->change, &f->credit, r->volume);
        break;
    case COIR_RECORD_GONE:
        err = coir_catalog_gone(&f->change, &f->credit, r->volume);
        break;
    default:
        err = -EINVAL;
    }
    return err ? misfit(f, "it changes a volume that is not so") : 0;
}

static bool is_of_catalog(enum coir_record_kind kind)
{
    return kind == COIR_RECORD_CREATE || kind == COIR_RECORD_RENAME || kind == COIR_RECORD_REMOVE
        || kind == COIR_RECORD_GONE;
}

/* Whether the range lies in the volume, and the volume is there. */
static int fits(struct apply *f)
{
    const uint64_t end = f->record->lba + f->record->count;

    if (f->record->kind != COIR_RECORD_RESIZE && end > f->extents->blocks)
        return misfit(f, "it goes beyond the end of its volume");
    if (f->extents->state != COIR_VOLUME_READY && f->record->kind != COIR_RECORD_UNMAP)
        return misfit(f, "its volume is being removed");
    return 0;
}

coir_body(apply, f) {
    f->store = f->recovery->store;
    f->store->lsn = f->lsn;
    f->extents = NULL;
    f->pin = (struct coir_pin){ 0 };
    f->credit = (struct coir_credit){ 0 };
    f->change = (struct coir_catalog_change){ 0 };
    f->lba = f->record->lba;
    f->count = f->record->count;
    if (is_of_catalog(f->record->kind)) {
        coir_try(f, &f->list, coir_catalog_list, .catalog = &f->store->catalog, .from = f->record->volume,
                 .items = &f->item, .max = 1);
        if (f->list.result == 0 || f->item.id != f->record->volume)
            f->item = (struct coir_catalog_item){ 0 };      /* it is not there: its name neither */
        coir_try(f, &f->names, coir_catalog_pin, .catalog = &f->store->catalog, .change = &f->change,
                 .id = f->record->volume, .name = f->item.name_length ? f->item.name : NULL,
                 .n = f->item.name_length, .other = f->record->name, .n_other = f->record->name_length);
        f->err = coir_credit_force(&f->store->cache, &f->credit, coir_catalog_need(&f->change));
        if (f->err == 0)
            f->err = change_catalog(f);
        if (f->err)
            coir_fail(f, f->err);
        coir_return(f);
    }
    coir_await(f, &f->open, coir_catalog_open, .catalog = &f->store->catalog, .id = f->record->volume);
    if (coir_status(&f->open) == -ENOENT)
        coir_fail(f, misfit(f, "it changes a volume that is not there"));
    coir_check(f, &f->open);
    f->extents = f->open.result;
    f->err = fits(f);
    if (f->err)
        coir_fail(f, f->err);
    f->err = f->record->kind == COIR_RECORD_WRITE ? check_places(f) : 0;
    if (f->err)
        coir_fail(f, f->err);
    if (f->verify && f->record->kind == COIR_RECORD_WRITE) {
        coir_try(f, &f->verify_write, verify_write, .store = f->store, .record = f->record,
                 .shift = f->extents->tree.shift);
        if (!f->verify_write.result) {
            f->recovery->dropped++;
            coir_return(f);
        }
    }
    f->err = f->record->kind == COIR_RECORD_WRITE ? claim(f) : 0;
    if (f->err)
        coir_fail(f, f->err);
    do {
        coir_try(f, &f->pins, coir_extents_pin, .extents = f->extents, .pin = &f->pin, .lba = f->lba,
                 .count = f->count ? f->count : 1);
        f->err = coir_credit_force(&f->store->cache, &f->credit, coir_extents_need(f->extents, &f->pin,
            f->record->kind == COIR_RECORD_WRITE ? f->count : 0, f->record->n_extents));
        if (f->err)
            coir_fail(f, f->err);
        if (f->record->kind == COIR_RECORD_WRITE) {
            map_pinned(f);
        } else if (f->record->kind == COIR_RECORD_UNMAP) {
            unmap_pinned(f);
        } else {
            f->extents->blocks = f->record->blocks;
            coir_extents_touch(f->extents, &f->credit);
        }
    } while (f->count > 0);
    coir_finally(f) {
        coir_unpin(&f->pin);
        coir_catalog_unpin(&f->change);
        coir_credit_give(&f->credit);
        if (f->extents)
            coir_catalog_close(f->extents);
    }
} coir_end

/* ---- all of them ---- */

struct store_recover {
    coir_frame_void;
    coir_args(struct coir_recovery *recovery; const struct coir_journal_anchor *anchor;);
    struct coir_replay replay;
    struct coir_record record;
    int err;
    struct coir_replay_next next;
    struct apply apply;
};
coir_public(store_recover, coir_store_recover);

coir_body(store_recover, f) {
    f->replay = (struct coir_replay){ 0 };
    f->err = coir_replay_begin(&f->replay, f->anchor);
    if (f->err)
        coir_fail(f, f->err);
    for (;;) {
        coir_try(f, &f->next, coir_replay_next, .replay = &f->replay);
        if (!f->next.result)
            break;
        if (!coir_record_read(&f->record, f->replay.record.kind, f->replay.record.body, f->replay.record.length)) {
            f->recovery->why = "it is of no kind that this version knows";
            coir_fail(f, -EBADMSG);
        }
        coir_try(f, &f->apply, apply, .recovery = f->recovery, .record = &f->record, .lsn = f->replay.record.lsn,
                 .verify = f->replay.record.verify);
        f->recovery->lsn = f->replay.record.lsn;
    }
    coir_finally(f) {
        f->recovery->at = f->replay.record.lsn;
        f->recovery->report = f->replay.report;
        coir_replay_end(&f->replay);
    }
} coir_end
