/* SPDX-License-Identifier: MIT */
/*
 * Writing the map: level by level from the bottom, since a page holds the sums of those below it. Invariants:
 *
 *   1. A page goes into the slot that its pointer does not name. Pointers change in coir_map_commit, and only there.
 *   2. What is pending is sorted by page, each page once; `entry` is known as soon as the page's write has begun.
 */
#include "volume/map.h"

#include "device/rules.h"
#include "runtime/base/assert.h"

#include <stdlib.h>
#include <string.h>

struct coir_map_change {
    uint64_t page;
    struct coir_map_pointer pointer;    /* what will be said of it */
};

/* ---- what changes ------------------------------------------------------------------------------------ */

static void forget(struct coir_map_file *file)
{
    for (unsigned level = 0; level < file->shape.levels; level++) {
        free(file->pending[level].change);
        file->pending[level] = (struct coir_map_level){ NULL, 0 };
    }
}

/* Lists the pages of `file` that are frozen, from the first on, and those above them. 0 or -ENOMEM. */
static int list_changes(struct coir_map_write *f)
{
    struct coir_map_file *const file = &f->map->file[f->file];
    uint64_t n = 0;

    while (f->first + n < f->frozen->n && f->frozen->pages[f->first + n].file == f->file)
        n++;
    for (unsigned level = 0; level < file->shape.levels && n > 0; level++) {
        struct coir_map_level *const pending = &file->pending[level];

        pending->change = calloc(n, sizeof *pending->change);
        if (!pending->change)
            return -ENOMEM;
        if (level == 0) {
            for (; pending->n < n; pending->n++)
                pending->change[pending->n].page = f->frozen->pages[f->first + pending->n].page;
            continue;
        }
        const struct coir_map_level *const below = &file->pending[level - 1];
        for (uint64_t i = 0; i < below->n; i++) {
            const uint64_t page = below->change[i].page / COIR_MAP_ENTRIES;

            if (pending->n == 0 || pending->change[pending->n - 1].page != page)
                pending->change[pending->n++].page = page;
        }
        n = pending->n;
    }
    return 0;
}

/* The first change of a level at `page` or above. */
static uint64_t find(const struct coir_map_level *level, uint64_t page)
{
    uint64_t low = 0, high = level->n;

    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;

        if (level->change[middle].page < page)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- pages ------------------------------------------------------------------------------------------- */

static struct coir_disk_map_entry entry_of(const struct coir_map_pointer *p, uint64_t free)
{
    return (struct coir_disk_map_entry){
        p->crc, (uint16_t)free, p->slot_or_none ? (uint16_t)(p->slot_or_none - 1) : (uint16_t)COIR_MAP_NONE,
    };
}

/* A page above level 0: what stands, with what is pending over it. */
static void draw_entries(const struct coir_map *map, unsigned i, unsigned level, uint64_t page,
                         struct coir_disk_map *block)
{
    const struct coir_map_file *const file = &map->file[i];
    const struct coir_map_level *const below = &file->pending[level - 1];
    const uint64_t first = page * COIR_MAP_ENTRIES, all = file->shape.pages[level - 1];

    memset(block, 0, sizeof *block);
    for (uint64_t k = 0; k < COIR_MAP_ENTRIES && first + k < all; k++) {
        const struct coir_map_pointer *const p = &file->pointer[level - 1][first + k];
        const bool never = level == 1 && !p->slot_or_none;
        const uint64_t free = never ? coir_map_free_at_first(&map->files->file[i].layout, first + k) : p->free;

        block->entry[k] = entry_of(p, free);
    }
    for (uint64_t k = find(below, first); k < below->n && below->change[k].page < first + COIR_MAP_ENTRIES; k++)
        block->entry[below->change[k].page - first] =
            entry_of(&below->change[k].pointer, below->change[k].pointer.free);
}

/* Completes page `i` of the level's changes; says which block is to be written, and where. */
static const void *draw(struct coir_map_write *f, uint64_t i, struct coir_disk_map *buffer, uint64_t *offset)
{
    struct coir_map_file *const file = &f->map->file[f->file];
    struct coir_map_change *const change = &file->pending[f->level].change[i];
    const struct coir_map_pointer *const now = &file->pointer[f->level][change->page];
    const unsigned slot = now->slot_or_none == 1 && COIR_RULE(MAP_OTHER_SLOT) ? 1 : 0;
    const uint64_t at = coir_map_block(&file->shape, f->level, change->page, slot);
    struct coir_disk_map *const block = f->level ? buffer : coir_space_image(f->space, f->frozen, f->first + i);

    if (f->level > 0)
        draw_entries(f->map, f->file, f->level, change->page, block);
    block->level = f->level;
    block->page = change->page;
    coir_block_seal(block, f->level ? COIR_MAGIC_MAP1 : COIR_MAGIC_MAP0, COIR_ADDRESS(f->file, at), f->generation);
    change->pointer = (struct coir_map_pointer){
        .crc = block->head.crc, .slot_or_none = (uint16_t)(slot + 1),
        .free = f->level ? 0 : (uint16_t)coir_map_clear_bits(block),
    };
    *offset = at * COIR_BLOCK;
    return block;
}

/* ---- writing ----------------------------------------------------------------------------------------- */

coir_body(coir_map_lane, f) {
    while (f->write->next < f->write->map->file[f->write->file].pending[f->write->level].n) {
        f->i = f->write->next++;
        f->iov = (struct iovec){ (void *)draw(f->write, f->i, f->buffer, &f->offset), COIR_BLOCK };
        coir_await(f, &f->device, coir_device_write, .device = f->write->map->files->file[f->write->file].device,
                   .iov = &f->iov, .n = 1, .offset = f->offset);
        if (coir_status(&f->device) < 0)
            coir_fail(f, coir_complain(f->write->complaint, coir_status(&f->device),
                                       "%s: cannot write the space map, at block %llu: %s",
                                       f->write->map->files->file[f->write->file].device->name,
                                       (unsigned long long)(f->offset / COIR_BLOCK),
                                       coir_strerror(coir_status(&f->device))));
    }
} coir_end

coir_body(coir_map_write, f) {
    coir_map_abort(f->map);
    f->buffers = aligned_alloc(COIR_BLOCK, COIR_MAP_LANES * sizeof *f->buffers);
    if (!f->buffers)
        coir_fail(f, ENOMEM);
    f->first = 0;
    for (f->file = 0; f->file < f->map->files->n; f->file++) {
        f->err = list_changes(f);
        if (f->err < 0)
            coir_fail(f, f->err);
        for (f->level = 0; f->level < f->map->file[f->file].shape.levels; f->level++) {
            f->next = 0;
            for (unsigned i = 0; i < COIR_MAP_LANES; i++)
                f->kids[i] = coir_make(&f->lane[i], coir_map_lane, .write = f, .buffer = &f->buffers[i]);
            coir_all(f, &f->all, f->kids, COIR_MAP_LANES);
            coir_check(f, &f->all);
        }
        f->first += f->map->file[f->file].pending[0].n;
    }
    COIR_ASSERT(f->first == f->frozen->n);
    coir_finally(f) {
        free(f->buffers);
    }
} coir_end

void coir_map_roots(const struct coir_map *map, struct coir_disk_super *super)
{
    for (unsigned i = 0; i < map->files->n; i++) {
        const struct coir_map_file *const file = &map->file[i];
        const unsigned top = file->shape.levels - 1;
        const struct coir_map_pointer *const p =
            file->pending[top].n ? &file->pending[top].change[0].pointer : &file->pointer[top][0];

        super->file[i].map_crc = p->crc;
        super->file[i].map_slot = p->slot_or_none ? p->slot_or_none - 1u : COIR_MAP_NONE;
    }
}

void coir_map_commit(struct coir_map *map)
{
    for (unsigned i = 0; i < map->files->n; i++) {
        struct coir_map_file *const file = &map->file[i];

        for (unsigned level = 0; level < file->shape.levels; level++)
            for (uint64_t k = 0; k < file->pending[level].n; k++)
                file->pointer[level][file->pending[level].change[k].page] = file->pending[level].change[k].pointer;
        forget(file);
    }
}

void coir_map_abort(struct coir_map *map)
{
    for (unsigned i = 0; i < map->files->n; i++)
        forget(&map->file[i]);
}
