/* SPDX-License-Identifier: MIT */
/*
 * Writing, in the steps of VOLUME.md section 2:
 *
 *      write_begin   home    1  everything that can run out: leaves in memory, dirty nodes, journal, blocks
 *      coir_chunk_io caller  2  the data, to blocks that nothing names yet, and its sums
 *      write_apply   home    3  index, space and journal in one step
 *
 * A write that fails before step 3 has changed nothing, and its blocks are free again when its I/O has ended. Of an
 * unaligned write the rest of the volume block is read first; at step 3 the block must still be where it was read,
 * else all begins again; after three times others stay out of the block until it is done.
 */
#include "device/rules.h"
#include "volume/chunk.h"
#include "volume/manage.h"

enum { TRIES = 3 };

static bool is_unaligned(const struct coir_chunk *c)
{
    return c->skip || c->rest;
}

/* ---- 1: reserve, at home ---- */

struct write_begin {
    coir_frame_void;
    coir_args(struct coir_chunk *chunk;);
    struct coir_store *store;
    int n;
    struct coir_run runs[COIR_CHUNK_RUNS];
    union {
        struct coir_event_wait wait;
        struct coir_journal_reserve reserve;
        struct coir_extents_pin pins;
        struct coir_store_room room;
    };
};
static coir_declare(write_begin);

/* Others stay out of a locked range. */
static bool locked_out(const struct coir_chunk *c)
{
    const struct coir_volume *v = c->volume;

    return !c->locks && v->locked_blocks && c->lba < v->locked + v->locked_blocks && v->locked < c->lba + c->count;
}

/* Bytes of the chunk's record at most. */
static size_t record_bytes(const struct coir_chunk *c)
{
    return coir_record_bytes(&(struct coir_record){ .kind = COIR_RECORD_WRITE, .count = c->count,
        .n_extents = COIR_CHUNK_RUNS });
}

/* The reserved runs become the pieces of the chunk, which may have become shorter. */
static void set_pieces(struct coir_chunk *c, const struct coir_run *runs, int n)
{
    uint64_t count = 0;

    for (int i = 0; i < n; i++) {
        const uint64_t blocks = runs[i].blocks >> (c->volume->shift - COIR_BLOCK_SHIFT);
        c->pieces[i] = (struct coir_mapped){ runs[i].address, blocks };
        count += blocks;
    }
    c->n_pieces = (unsigned)n;
    c->reserved = true;
    coir_chunk_shorten(c, count);
}

coir_body(write_begin, f) {
    f->store = f->chunk->volume->store;
    f->n = coir_store_enter(f->store, f->chunk->volume, COIR_USE_WRITE);
    if (f->n)
        coir_fail(f, f->n);
    if (f->chunk->entered)              /* by the reading of an unaligned block, which it still holds */
        coir_store_leave(f->store);
    f->chunk->entered = true;
    while (locked_out(f->chunk))
        coir_try(f, &f->wait, coir_event_wait, .event = &f->chunk->volume->unlocked);
    coir_try(f, &f->reserve, coir_journal_reserve, .journal = &f->store->journal, .bytes = record_bytes(f->chunk),
             .room = &f->chunk->room);
    for (;;) {
        coir_try(f, &f->pins, coir_extents_pin, .extents = f->chunk->volume->extents, .pin = &f->chunk->pin,
                 .lba = f->chunk->lba, .count = f->chunk->count);
        if (f->chunk->pin.last - f->chunk->lba < f->chunk->count - 1)
            coir_chunk_shorten(f->chunk, f->chunk->pin.last - f->chunk->lba + 1);
        f->n = coir_credit_take(&f->store->cache, &f->chunk->credit,
            coir_extents_need(f->chunk->volume->extents, &f->chunk->pin, f->chunk->count, COIR_CHUNK_RUNS));
        if (f->n == 0)
            break;
        coir_unpin(&f->chunk->pin);
        if (f->n != -EAGAIN)
            coir_fail(f, f->n);
        coir_try(f, &f->room, coir_store_room, .store = f->store, .why = -EAGAIN);
    }
    for (;;) {
        f->n = coir_space_reserve(f->store->space, COIR_SPACE_WRITE, f->chunk->volume->shift - COIR_BLOCK_SHIFT,
                                  f->chunk->count, f->runs, COIR_CHUNK_RUNS);
        if (f->n > 0)
            break;
        coir_try(f, &f->room, coir_store_room, .store = f->store, .why = f->n);
    }
    set_pieces(f->chunk, f->runs, f->n);
    coir_finally(f) {
        if (coir_status(f))
            coir_chunk_leave(f->chunk);
    }
} coir_end

/* ---- 3: apply, at home ---- */

struct write_apply {
    coir_frame_void;
    coir_args(struct coir_chunk *chunk;);
    struct coir_store *store;
    int err;
    union {
        struct coir_extents_pin pins;
        struct coir_store_room room;
    };
};
static coir_declare(write_apply);

/* Whether the block of an unaligned write is still where its rest was read. Its leaf is pinned. */
static bool is_overtaken(const struct coir_chunk *c)
{
    struct coir_mapped now = { 0 };
    uint64_t covered;

    if (!is_unaligned(c))
        return false;
    coir_extents_lookup(c->volume->extents, c->lba, 1, &now, 1, NULL, &covered);
    COIR_ASSERT(covered == 1);
    return now.address != c->expected;
}

/* One step, which cannot fail: journal, space, index. */
static void apply(struct coir_chunk *c)
{
    struct coir_volume *v = c->volume;
    struct coir_store *s = v->store;
    struct coir_record_extent extents[COIR_CHUNK_RUNS];
    struct coir_run runs[COIR_CHUNK_RUNS];
    const struct coir_superseded superseded = coir_store_superseded(s);
    const unsigned unit = v->shift - COIR_BLOCK_SHIFT;
    uint64_t devices = 0, mapped = v->extents->mapped;
    const struct coir_record r = { .kind = COIR_RECORD_WRITE, .volume = v->id, .lba = c->lba, .count = c->count,
        .n_extents = c->n_pieces, .extents = extents, .crcs = c->crcs };

    for (unsigned i = 0; i < c->n_pieces; i++) {
        const uint64_t address = c->pieces[i].address, count = c->pieces[i].count;
        extents[i] = (struct coir_record_extent){ address, (uint32_t)count, 0 };
        runs[i] = (struct coir_run){ address, count << unit };
        devices |= (uint64_t)1 << COIR_ADDRESS_FILE(address);
        coir_space_use(s->space, address, runs[i].blocks);
    }
    c->reserved = false;
    c->lsn = coir_store_step(s);
    coir_extents_map(v->extents, &c->credit, c->lba, c->count, runs, c->n_pieces, c->crcs, &superseded);
    if ((uint64_t)c->count << unit >= COIR_LONG)
        coir_space_by_long(s->space, (mapped + c->count - v->extents->mapped) << unit);
    coir_store_record(s, &c->room, &r, devices);
    coir_volume_counted(v);
}

coir_body(write_apply, f) {
    f->store = f->chunk->volume->store;
    for (;;) {
        if (f->store->read_only || coir_journal_status(&f->store->journal))
            coir_fail(f, -EROFS);
        if (f->chunk->volume->removed)
            coir_fail(f, -ESTALE);
        f->err = coir_extents_ready(f->chunk->volume->extents, &f->chunk->pin, &f->chunk->credit, f->chunk->count,
                                    f->chunk->n_pieces);
        if (f->err == 0)
            break;
        if (f->err == -ESTALE) {
            coir_try(f, &f->pins, coir_extents_pin, .extents = f->chunk->volume->extents, .pin = &f->chunk->pin,
                     .lba = f->chunk->lba, .count = f->chunk->count);
            if (f->chunk->pin.last - f->chunk->lba < f->chunk->count - 1)
                coir_fail(f, -EAGAIN);
        }
        f->err = coir_credit_take(&f->store->cache, &f->chunk->credit,
            coir_extents_need(f->chunk->volume->extents, &f->chunk->pin, f->chunk->count, f->chunk->n_pieces));
        if (f->err == -EAGAIN)
            coir_try(f, &f->room, coir_store_room, .store = f->store, .why = -EAGAIN);
        else if (f->err)
            coir_fail(f, f->err);
    }
    if (is_overtaken(f->chunk))
        coir_fail(f, -EAGAIN);
    apply(f->chunk);
    coir_finally(f) {
        coir_chunk_leave(f->chunk);
    }
} coir_end

/* ---- the three ---- */

/* Home: lets go of what a write holds whose I/O has failed, or that was overtaken. */
struct write_undo {
    coir_frame_void;
    coir_args(struct coir_chunk *chunk; bool lock;);
    struct coir_event_wait wait;
};
static coir_declare(write_undo);

coir_body(write_undo, f) {
    coir_chunk_leave(f->chunk);
    if (!f->lock) {
        coir_chunk_unlock(f->chunk);
    } else {
        while (locked_out(f->chunk))
            coir_try(f, &f->wait, coir_event_wait, .event = &f->chunk->volume->unlocked);
        f->chunk->volume->locked = f->chunk->lba;
        f->chunk->volume->locked_blocks = f->chunk->count;
        f->chunk->locks = true;
    }
} coir_end

union write_room {
    struct write_begin begin;
    struct write_apply apply;
    struct write_undo undo;
};
#define ROOM(f) ((union write_room *)(void *)(f)->room_)
_Static_assert(sizeof(union write_room) <= sizeof(((struct coir_chunk_write *)0)->room_), "it lies in the frame");

/* A chunk with an unaligned end is that one volume block: the others go by themselves. */
static void cut_at_edges(struct coir_chunk *c)
{
    if (c->skip)
        coir_chunk_shorten(c, 1);
    else if (c->rest && c->count > 1)
        coir_chunk_shorten(c, c->count - 1);
}

coir_body(coir_chunk_write, f) {
    cut_at_edges(f->chunk);
    f->before = *f->memory;
    f->skip = f->chunk->skip;
    f->rest = f->chunk->rest;
    for (f->tries = 0;; f->tries++) {
        *f->memory = f->before;
        if (is_unaligned(f->chunk)) {
            f->err = coir_chunk_need_edges(f->chunk);
            if (f->err)
                coir_fail(f, f->err);
            f->block = (struct iovec){ f->chunk->edges, (size_t)1 << f->chunk->volume->shift };
            f->old = (struct coir_memory){ .iov = &f->block, .n = 1 };
            f->chunk->skip = f->chunk->rest = 0;
            coir_await(f, &f->read, coir_chunk_read, .chunk = f->chunk, .memory = &f->old, .keep = true);
            f->chunk->skip = f->skip;
            f->chunk->rest = f->rest;
            coir_check(f, &f->read);
            f->chunk->expected = f->chunk->pieces[0].address;
            if (f->chunk->expected == 0 && f->holes_stay) {
                f->chunk->lsn = 0;
                coir_return(f);
            }
        }
        COIR_AT_HOME(f, f->chunk->volume->store, &ROOM(f)->begin, write_begin, .chunk = f->chunk);
        coir_check(f, &ROOM(f)->begin);
        f->err = coir_chunk_lay(f->chunk, f->memory);
        if (f->err)
            coir_fail(f, f->err);
        coir_chunk_sum(f->chunk);
        if (COIR_RULE(DATA_BEFORE_RECORD))
            coir_try(f, &f->chunk->io, coir_chunk_io, .chunk = f->chunk, .write = true);
        COIR_AT_HOME(f, f->chunk->volume->store, &ROOM(f)->apply, write_apply, .chunk = f->chunk);
        if (coir_status(&ROOM(f)->apply) != -EAGAIN)
            break;
        if (f->tries >= TRIES - 1 && !f->chunk->locks) {
            COIR_AT_HOME(f, f->chunk->volume->store, &ROOM(f)->undo, write_undo, .chunk = f->chunk, .lock = true);
            coir_check(f, &ROOM(f)->undo);
        }
    }
    coir_check(f, &ROOM(f)->apply);
    if (!COIR_RULE(DATA_BEFORE_RECORD))
        coir_try(f, &f->chunk->io, coir_chunk_io, .chunk = f->chunk, .write = true);
    coir_finally(f) {
        if (f->chunk->entered || f->chunk->locks)
            COIR_AT_HOME(f, f->chunk->volume->store, &ROOM(f)->undo, write_undo, .chunk = f->chunk);
    }
} coir_end

/* ---- coir_volume_write, and zeros that are written ---- */

struct volume_write {
    coir_frame_void;
    coir_args(struct coir_volume *volume; const struct iovec *iov; unsigned n; uint64_t offset; unsigned flags;);
    struct coir_chunk *chunk;
    struct coir_memory memory;
    uint64_t at, left, lsn;
    int err;
    struct coir_journal_commit commit;
};
coir_public(volume_write, coir_volume_write);

coir_body(volume_write, f) {
    f->chunk = NULL;
    f->at = f->offset;
    f->left = coir_memory_bytes(f->iov, f->n);
    f->memory = (struct coir_memory){ .iov = f->iov, .n = f->n };
    f->lsn = 0;
    f->err = coir_volume_range(f->volume, f->offset, f->left);
    if (f->err)
        coir_fail(f, f->err);
    f->chunk = coir_chunk_take(f->volume);
    if (!f->chunk)
        coir_fail(f, -ENOMEM);
    while (f->left > 0) {
        coir_chunk_cut(f->chunk, f->at, f->left);
        coir_try(f, &f->chunk->writing, coir_chunk_write, .chunk = f->chunk, .memory = &f->memory);
        f->at += coir_chunk_bytes(f->chunk);
        f->left -= coir_chunk_bytes(f->chunk);
        f->lsn = f->chunk->lsn;
    }
    if (f->flags & COIR_VOLUME_DURABLE && f->lsn)
        coir_try(f, &f->commit, coir_journal_commit, .journal = &f->volume->store->journal, .lsn = f->lsn);
    coir_finally(f) {
        coir_chunk_give(f->chunk);
    }
} coir_end
