/* SPDX-License-Identifier: MIT */
/*
 * Which parts of a volume take space. Only the index is looked at, at home.
 */
#include "volume/chunk.h"

struct status_home {
    coir_frame(unsigned);
    coir_args(struct coir_volume *volume; uint64_t offset; uint64_t length; struct coir_volume_piece *pieces;
              unsigned n;);
    struct coir_mapped mapped[16];
    uint64_t at, end;
    int err;
    bool entered;
    struct coir_extents_find find;
};
coir_public(status_home, coir_status_home);

/* Adds `length` bytes to the last piece, or as another one: false when there is no room for it. */
static bool add(struct status_home *f, uint64_t length, bool hole)
{
    if (f->result > 0 && f->pieces[f->result - 1].hole == hole) {
        f->pieces[f->result - 1].length += length;
        return true;
    }
    if (f->result == f->n)
        return false;
    f->pieces[f->result++] = (struct coir_volume_piece){ length, hole };
    return true;
}

/* Adds what was found; f->at moves on. False: enough. */
static bool add_found(struct status_home *f)
{
    const unsigned shift = f->volume->shift;

    for (unsigned i = 0; i < f->find.n; i++) {
        uint64_t up = ((f->at >> shift) + f->mapped[i].count) << shift;
        up = up < f->end ? up : f->end;
        if (!add(f, up - f->at, f->mapped[i].address == 0))
            return false;
        f->at = up;
    }
    return true;
}

coir_body(status_home, f) {
    f->err = coir_store_enter(f->volume->store, f->volume, COIR_USE_READ);
    f->entered = !f->err;
    if (f->err)
        coir_fail(f, f->err);
    f->at = f->offset;
    f->end = f->offset + f->length;
    while (f->at < f->end) {
        coir_try(f, &f->find, coir_extents_find, .extents = f->volume->extents, .lba = f->at >> f->volume->shift,
                 .count = ((f->end - 1) >> f->volume->shift) - (f->at >> f->volume->shift) + 1,
                 .pieces = f->mapped, .max = sizeof f->mapped / sizeof f->mapped[0]);
        if (!add_found(f))
            break;
    }
    coir_finally(f) {
        if (f->entered)
            coir_store_leave(f->volume->store);
    }
} coir_end

struct volume_status {
    coir_frame(unsigned);
    coir_args(struct coir_volume *volume; uint64_t offset; uint64_t length; struct coir_volume_piece *pieces;
              unsigned n;);
    struct coir_chunk *chunk;
    int err;
};
coir_public(volume_status, coir_volume_status);

coir_body(volume_status, f) {
    f->chunk = NULL;
    f->err = f->pieces ? coir_volume_range(f->volume, f->offset, f->length) : -EFAULT;
    if (f->err)
        coir_fail(f, f->err);
    if (f->n == 0 || f->length == 0)
        coir_fail(f, -EINVAL);
    f->chunk = coir_chunk_take(f->volume);
    if (!f->chunk)
        coir_fail(f, -ENOMEM);
    COIR_AT_HOME(f, f->volume->store, &f->chunk->asking, coir_status_home, .volume = f->volume, .offset = f->offset,
                 .length = f->length, .pieces = f->pieces, .n = f->n);
    coir_check(f, &f->chunk->asking);
    f->result = f->chunk->asking.result;
    coir_finally(f) {
        coir_chunk_give(f->chunk);
    }
} coir_end
