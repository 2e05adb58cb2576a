/* SPDX-License-Identifier: MIT */
/*
 * Reading. At home the index says where the volume blocks are, and a ticket keeps those places from being given out
 * again; the data is read on the caller's ring and compared with its sums, and the ticket goes home. What does not
 * compare is -EBADMSG, and the caller's memory is wiped: never the data.
 *
 * The ticket is taken before the index is looked at: what is superseded while leaves are being read stays as well.
 */
#include "volume/chunk.h"

/* ---- at home ---- */

struct read_begin {
    coir_frame_void;
    coir_args(struct coir_chunk *chunk;);
    int err;
    struct coir_extents_find find;
};
static coir_declare(read_begin);

/* Where the index says that something is there is data; what the index says may be damaged with a good sum. */
static const struct coir_mapped *strays(const struct coir_chunk *c)
{
    const unsigned up = c->volume->shift - COIR_BLOCK_SHIFT;

    for (unsigned i = 0; i < c->n_pieces; i++)
        if (c->pieces[i].address && !coir_space_has(c->volume->store->space, c->pieces[i].address,
                                                    c->pieces[i].count << up))
            return &c->pieces[i];
    return NULL;
}

static int check_places(const struct coir_chunk *c)
{
    const struct coir_mapped *const piece = strays(c);

    if (!piece)
        return 0;
    coir_store_say(c->volume->store, "volume %s: the index is damaged: of blocks %llu to %llu some are where the store "
                   "has no data, at byte %llu of file %u", c->volume->name, (unsigned long long)c->lba,
                   (unsigned long long)(c->lba + c->count - 1),
                   (unsigned long long)COIR_ADDRESS_BLOCK(piece->address) << COIR_BLOCK_SHIFT,
                   COIR_ADDRESS_FILE(piece->address));
    return -EBADMSG;
}

coir_body(read_begin, f) {
    f->err = coir_store_enter(f->chunk->volume->store, f->chunk->volume, COIR_USE_READ);
    if (f->err)
        coir_fail(f, f->err);
    f->chunk->entered = true;
    f->chunk->ticket = coir_space_read(f->chunk->volume->store->space);
    coir_try(f, &f->find, coir_extents_find, .extents = f->chunk->volume->extents, .lba = f->chunk->lba,
             .count = f->chunk->count, .pieces = f->chunk->pieces, .max = COIR_CHUNK_PIECES, .crcs = f->chunk->crcs);
    f->chunk->n_pieces = f->find.n;
    coir_chunk_shorten(f->chunk, f->find.result);
    f->err = check_places(f->chunk);
    if (f->err)
        coir_fail(f, f->err);
} coir_end

struct read_end {
    coir_frame_void;
    coir_args(struct coir_chunk *chunk;);
};
static coir_declare(read_end);

coir_body(read_end, f) {
    coir_chunk_leave(f->chunk);
} coir_end

/* ---- on the caller's shard ---- */

/* The volume block that is damaged, or from which on nothing could be read, is named in the log, at home. */
struct read_damage {
    coir_frame_void;
    coir_args(struct coir_chunk *chunk; unsigned block; int status;);
};
static coir_declare(read_damage);

static void say_damage(const struct coir_chunk *c, unsigned block, uint64_t address, uint64_t end, int status)
{
    const char *const name = coir_store_device(c->volume->store, address)->name;
    const unsigned long long at = (unsigned long long)COIR_ADDRESS_BLOCK(address) << COIR_BLOCK_SHIFT;

    if (status == -EBADMSG)
        coir_store_say(c->volume->store, "volume %s: block %llu is damaged, at byte %llu of %s", c->volume->name,
                       (unsigned long long)(c->lba + block), at, name);
    else
        coir_store_say(c->volume->store, "volume %s: blocks %llu to %llu cannot be read, at byte %llu of %s: %s",
                       c->volume->name, (unsigned long long)(c->lba + block),
                       (unsigned long long)(c->lba + end - 1), at, name, coir_strerror(status));
}

coir_body(read_damage, f) {
    uint64_t before = 0;

    for (unsigned i = 0; i < f->chunk->n_pieces; i++) {
        const struct coir_mapped *piece = &f->chunk->pieces[i];
        if (f->block < before + piece->count) {
            say_damage(f->chunk, f->block, piece->address
                       + ((f->block - before) << (f->chunk->volume->shift - COIR_BLOCK_SHIFT)),
                       before + piece->count, f->status);
            break;
        }
        before += piece->count;
    }
} coir_end

union read_room {
    struct read_begin begin;
    struct read_end end;
    struct read_damage damage;
};
#define ROOM(f) ((union read_room *)(void *)(f)->room_)
_Static_assert(sizeof(union read_room) <= sizeof(((struct coir_chunk_read *)0)->room_), "it lies in the frame");

coir_body(coir_chunk_read, f) {
    COIR_AT_HOME(f, f->chunk->volume->store, &ROOM(f)->begin, read_begin, .chunk = f->chunk);
    coir_check(f, &ROOM(f)->begin);
    f->n = coir_chunk_lay(f->chunk, f->memory);
    if (f->n < 0)
        coir_fail(f, f->n);
    coir_await(f, &f->chunk->io, coir_chunk_io, .chunk = f->chunk, .flags = f->flags);
    f->err = coir_status(&f->chunk->io);
    if (f->err == -EIO || f->err == -ENODATA) {     /* the latter: the file is shorter than it was */
        COIR_AT_HOME(f, f->chunk->volume->store, &ROOM(f)->damage, read_damage, .chunk = f->chunk,
                     .block = coir_chunk_failed(f->chunk, f->err), .status = f->err);
        coir_fail(f, -EIO);
    }
    if (f->err)
        coir_fail(f, f->err);
    f->n = coir_chunk_verify(f->chunk);
    if (f->n >= 0) {
        COIR_AT_HOME(f, f->chunk->volume->store, &ROOM(f)->damage, read_damage, .chunk = f->chunk,
                     .block = (unsigned)f->n, .status = -EBADMSG);
        coir_fail(f, -EBADMSG);
    }
    coir_finally(f) {
        if (f->chunk->entered && (!f->keep || coir_status(f)))
            COIR_AT_HOME(f, f->chunk->volume->store, &ROOM(f)->end, read_end, .chunk = f->chunk);
    }
} coir_end

/* ---- coir_volume_read ---- */

struct volume_read {
    coir_frame_void;
    coir_args(struct coir_volume *volume; const struct iovec *iov; unsigned n; uint64_t offset;);
    struct coir_chunk *chunk;
    struct coir_memory memory;
    uint64_t at, left;
    int err;
};
coir_public(volume_read, coir_volume_read);

coir_body(volume_read, f) {
    f->chunk = NULL;
    f->at = f->offset;
    f->left = coir_memory_bytes(f->iov, f->n);
    f->memory = (struct coir_memory){ .iov = f->iov, .n = f->n };
    f->err = coir_volume_range(f->volume, f->offset, f->left);
    if (f->err)
        coir_fail(f, f->err);
    f->chunk = coir_chunk_take(f->volume);
    if (!f->chunk)
        coir_fail(f, -ENOMEM);
    while (f->left > 0) {
        coir_chunk_cut(f->chunk, f->at, f->left);
        coir_try(f, &f->chunk->reading, coir_chunk_read, .chunk = f->chunk, .memory = &f->memory);
        f->at += coir_chunk_bytes(f->chunk);
        f->left -= coir_chunk_bytes(f->chunk);
    }
    coir_finally(f) {
        coir_chunk_give(f->chunk);
    }
} coir_end
