/* SPDX-License-Identifier: MIT */
/*
 * Giving space back: mappings are removed in bounded steps, each of which is a record of its own, so that neither
 * memory nor the shard's time grows with the range. What is not mapped costs a look at the index. Zeros are holes where
 * whole volume blocks are covered, and written at the edges, unless the edge is in a hole already.
 */
#include "volume/chunk.h"
#include "volume/manage.h"

enum { STEP_EXTENTS = 64 };             /* that one step removes */

/* ---- at home ---- */

struct unmap_home {
    coir_frame(uint64_t);               /* LSN of the last record; 0: nothing was mapped */
    coir_args(struct coir_volume *volume; uint64_t lba; uint64_t count;);
    struct coir_store *store;
    struct coir_pin pin;
    struct coir_credit credit;
    struct coir_journal_room room;
    uint64_t lsn;
    int err;
    bool entered;
    union {
        struct coir_event_wait wait;
        struct coir_journal_reserve reserve;
        struct coir_extents_pin pins;
        struct coir_store_room more;
        struct coir_pass pass;
    };
};
coir_public(unmap_home, coir_unmap_home);

static bool locked_out(const struct unmap_home *f)
{
    const struct coir_volume *v = f->volume;

    return v->locked_blocks && f->lba < v->locked + v->locked_blocks && v->locked < f->lba + f->count;
}

static size_t record_bytes(void)
{
    return coir_record_bytes(&(struct coir_record){ .kind = COIR_RECORD_UNMAP });
}

/* What a step needs, if it can be had now. */
static int take_room(struct unmap_home *f)
{
    const unsigned need = coir_extents_need(f->volume->extents, &f->pin, f->count, 0);
    int err = coir_space_check(f->store->space, COIR_SPACE_UNMAP, need);

    return err ? err : coir_credit_take(&f->store->cache, &f->credit, need);
}

/* One step, which cannot fail: what is mapped in the pinned part of the range goes. */
static void step(struct unmap_home *f)
{
    const struct coir_superseded superseded = coir_store_superseded(f->store);
    const uint64_t pinned = f->pin.last - f->lba + 1, mapped = f->volume->extents->mapped;
    const unsigned unit = f->volume->shift - COIR_BLOCK_SHIFT;
    struct coir_record r = { .kind = COIR_RECORD_UNMAP, .volume = f->volume->id, .lba = f->lba };

    f->lsn = coir_store_step(f->store);
    r.count = coir_extents_unmap(f->volume->extents, &f->credit, f->lba, f->count < pinned ? f->count : pinned,
                                 STEP_EXTENTS, &superseded);
    if (r.count << unit >= COIR_LONG)
        coir_space_by_long(f->store->space, (mapped - f->volume->extents->mapped) << unit);
    coir_store_record(f->store, &f->room, &r, 0);
    f->lba += r.count;
    f->count -= r.count;
    coir_volume_counted(f->volume);
}

/* Skips what is not mapped. 1: something is, from lba on; 0: nothing is any more; -EAGAIN: pin again, from lba on. */
static int skip_holes(struct unmap_home *f)
{
    uint64_t at = 0;
    const int found = coir_extents_next(f->volume->extents, f->lba, f->count, &at);

    if (found == 0 || at <= f->lba)
        return found;
    f->count -= at - f->lba;
    f->lba = at;
    return -EAGAIN;
}

coir_body(unmap_home, f) {
    f->store = f->volume->store;
    f->pin = (struct coir_pin){ 0 };
    f->credit = (struct coir_credit){ 0 };
    f->room = (struct coir_journal_room){ 0 };
    f->lsn = 0;
    f->err = coir_store_enter(f->store, f->volume, COIR_USE_WRITE);
    f->entered = !f->err;
    if (f->err)
        coir_fail(f, f->err);
    while (f->count > 0) {
        while (locked_out(f))
            coir_try(f, &f->wait, coir_event_wait, .event = &f->volume->unlocked);
        if (f->room.bytes == 0)
            coir_try(f, &f->reserve, coir_journal_reserve, .journal = &f->store->journal, .bytes = record_bytes(),
                     .room = &f->room);
        coir_try(f, &f->pins, coir_extents_pin, .extents = f->volume->extents, .pin = &f->pin, .lba = f->lba,
                 .count = f->count);
        f->err = skip_holes(f);
        if (f->err == 0)
            break;
        if (f->err == -EAGAIN)
            continue;
        if (f->store->read_only || coir_journal_status(&f->store->journal))
            coir_fail(f, -EROFS);
        f->err = take_room(f);
        if (f->err == 0)
            step(f);
        coir_unpin(&f->pin);
        coir_credit_give(&f->credit);
        if (f->err)
            coir_try(f, &f->more, coir_store_room, .store = f->store, .why = f->err);
        coir_await(f, &f->pass, coir_pass);
    }
    f->result = f->lsn;
    coir_finally(f) {
        coir_unpin(&f->pin);
        coir_credit_give(&f->credit);
        coir_journal_release(&f->store->journal, &f->room);
        if (f->entered)
            coir_store_leave(f->store);
    }
} coir_end

/* ---- on the caller's shard ---- */

struct volume_unmap {
    coir_frame_void;
    coir_args(struct coir_volume *volume; uint64_t offset; uint64_t length; unsigned flags;);
    struct coir_chunk *chunk;
    uint64_t lba, end, lsn;
    int err;
    struct coir_journal_commit commit;
};
coir_public(volume_unmap, coir_volume_unmap);

coir_body(volume_unmap, f) {
    f->chunk = NULL;
    f->err = coir_volume_range(f->volume, f->offset, f->length);
    if (f->err)
        coir_fail(f, f->err);
    f->chunk = coir_chunk_take(f->volume);
    if (!f->chunk)
        coir_fail(f, -ENOMEM);
    f->lba = (f->offset + ((uint64_t)1 << f->volume->shift) - 1) >> f->volume->shift;
    f->end = (f->offset + f->length) >> f->volume->shift;
    f->lsn = 0;
    if (f->end > f->lba) {
        COIR_AT_HOME(f, f->volume->store, &f->chunk->unmapping, coir_unmap_home, .volume = f->volume, .lba = f->lba,
                     .count = f->end - f->lba);
        coir_check(f, &f->chunk->unmapping);
        f->lsn = f->chunk->unmapping.result;
    }
    if (f->flags & COIR_VOLUME_DURABLE && f->lsn)
        coir_try(f, &f->commit, coir_journal_commit, .journal = &f->volume->store->journal, .lsn = f->lsn);
    coir_finally(f) {
        coir_chunk_give(f->chunk);
    }
} coir_end

/* ---- zeros ---- */

struct volume_zeroes {
    coir_frame_void;
    coir_args(struct coir_volume *volume; uint64_t offset; uint64_t length; unsigned flags;);
    struct coir_chunk *chunk;
    struct coir_memory memory;
    uint64_t at, end, lsn;
    int err;
    struct coir_journal_commit commit;
};
coir_public(volume_zeroes, coir_volume_write_zeroes);

/* The next part of the range is a hole to be made: whole volume blocks, and holes are welcome. */
static bool is_hole(const struct volume_zeroes *f)
{
    const uint64_t block = (uint64_t)1 << f->volume->shift;

    return !(f->flags & COIR_VOLUME_NO_HOLE) && (f->at & (block - 1)) == 0 && f->end - f->at >= block;
}

/* Where the part to be written ends. */
static uint64_t end_of_edge(const struct volume_zeroes *f)
{
    const uint64_t block = (uint64_t)1 << f->volume->shift, up = (f->at | (block - 1)) + 1;

    return f->flags & COIR_VOLUME_NO_HOLE || up > f->end ? f->end : up;
}

coir_body(volume_zeroes, f) {
    f->chunk = NULL;
    f->at = f->offset;
    f->end = f->offset + f->length;
    f->lsn = 0;
    f->err = coir_volume_range(f->volume, f->offset, f->length);
    if (f->err)
        coir_fail(f, f->err);
    if (f->flags & COIR_VOLUME_FAST && f->flags & COIR_VOLUME_NO_HOLE)
        coir_fail(f, -EOPNOTSUPP);
    f->chunk = coir_chunk_take(f->volume);
    if (!f->chunk)
        coir_fail(f, -ENOMEM);
    while (f->at < f->end) {
        if (is_hole(f)) {
            COIR_AT_HOME(f, f->volume->store, &f->chunk->unmapping, coir_unmap_home, .volume = f->volume,
                         .lba = f->at >> f->volume->shift, .count = (f->end - f->at) >> f->volume->shift);
            coir_check(f, &f->chunk->unmapping);
            f->lsn = f->chunk->unmapping.result > f->lsn ? f->chunk->unmapping.result : f->lsn;
            f->at += (f->end - f->at) >> f->volume->shift << f->volume->shift;
        } else {
            f->memory = (struct coir_memory){ .iov = NULL };
            coir_chunk_cut(f->chunk, f->at, end_of_edge(f) - f->at);
            coir_try(f, &f->chunk->writing, coir_chunk_write, .chunk = f->chunk, .memory = &f->memory,
                     .holes_stay = !(f->flags & COIR_VOLUME_NO_HOLE));
            f->at += coir_chunk_bytes(f->chunk);
            f->lsn = f->chunk->lsn > f->lsn ? f->chunk->lsn : f->lsn;
        }
    }
    if (f->flags & COIR_VOLUME_DURABLE && f->lsn)
        coir_try(f, &f->commit, coir_journal_commit, .journal = &f->volume->store->journal, .lsn = f->lsn);
    coir_finally(f) {
        coir_chunk_give(f->chunk);
    }
} coir_end
