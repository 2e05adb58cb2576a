/* SPDX-License-Identifier: MIT */
/*
 * The map's pages: what a pointer says, and reading. Level by level from the top, so that every page is judged by one
 * that has been judged; what a page says is taken only when all of it is possible. The pointers to all pages are kept
 * in memory, 8 bytes for each 126 MiB.
 */
#include "volume/map.h"

#include "device/checksum.h"
#include "device/rules.h"
#include "runtime/base/assert.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 1 << 20 };               /* bytes of one read */

int coir_map_create(struct coir_map *map, struct coir_files *files)
{
    *map = (struct coir_map){ .files = files, .file = calloc(files->n, sizeof *map->file) };
    if (!map->file)
        return -ENOMEM;
    for (unsigned i = 0; i < files->n; i++) {
        struct coir_map_file *const file = &map->file[i];

        coir_map_shape(&file->shape, files->file[i].layout.blocks);
        for (unsigned level = 0; level < file->shape.levels; level++) {
            file->pointer[level] = calloc(file->shape.pages[level], sizeof *file->pointer[level]);
            if (!file->pointer[level])
                return -ENOMEM;
        }
    }
    return 0;
}

void coir_map_destroy(struct coir_map *map)
{
    if (map->file)
        coir_map_abort(map);
    for (unsigned i = 0; map->file && i < map->files->n; i++)
        for (unsigned level = 0; level < COIR_MAP_LEVELS; level++)
            free(map->file[i].pointer[level]);
    free(map->file);
    *map = (struct coir_map){ .files = NULL };
}

/* ---- what a page says -------------------------------------------------------------------------------- */

static int bad(const char **why, const char *what)
{
    *why = what;
    return -EBADMSG;
}

int coir_map_page_check(const struct coir_map *map, unsigned file, unsigned level, uint64_t page,
                        const struct coir_disk_map *block, uint64_t generation, const char **why)
{
    const struct coir_map_file *const f = &map->file[file];
    const struct coir_map_pointer *const pointer = &f->pointer[level][page];
    const uint64_t at = coir_map_block(&f->shape, level, page, pointer->slot_or_none - 1u);
    const int r = coir_block_check(block, level ? COIR_MAGIC_MAP1 : COIR_MAGIC_MAP0, COIR_ADDRESS(file, at), why);

    COIR_ASSERT(pointer->slot_or_none > 0);
    if (r < 0)
        return r;
    if (block->head.crc != pointer->crc && COIR_RULE(MAP_AS_MEANT))
        return bad(why, "is not the one that the page above it means, but an older one, or another");
    if (block->level != level || block->page != page)
        return bad(why, "is another page");
    if (block->head.generation == 0 || block->head.generation > generation)
        return bad(why, "is of an impossible generation");
    return block->zero == 0 && coir_is_zero(block->spare, sizeof block->spare)
        ? 0 : bad(why, "has something where zeros must be");
}

static int take_entries(struct coir_map *map, unsigned file, unsigned level, uint64_t page,
                        const struct coir_disk_map *block, const char **why)
{
    struct coir_map_file *const f = &map->file[file];
    const uint64_t first = page * COIR_MAP_ENTRIES, all = f->shape.pages[level - 1];
    const uint64_t n = all - first < COIR_MAP_ENTRIES ? all - first : COIR_MAP_ENTRIES;

    for (uint64_t i = 0; i < n; i++) {
        const struct coir_disk_map_entry *const entry = &block->entry[i];

        if (entry->slot > COIR_MAP_NONE || (entry->slot == COIR_MAP_NONE && entry->crc))
            return bad(why, "has an impossible entry");
        if (level > 1 ? entry->free : entry->free > COIR_MAP_BITS)
            return bad(why, "has an impossible sum of free blocks");
        if (level == 1 && entry->slot == COIR_MAP_NONE
            && entry->free != coir_map_free_at_first(&map->files->file[file].layout, first + i))
            return bad(why, "has an impossible sum of free blocks");
    }
    if (!coir_is_zero(block->entry + n, (COIR_MAP_ENTRIES - n) * sizeof *block->entry))
        return bad(why, "has something where zeros must be");
    for (uint64_t i = 0; i < n; i++) {
        const struct coir_disk_map_entry *const entry = &block->entry[i];

        f->pointer[level - 1][first + i] = (struct coir_map_pointer){
            entry->crc, entry->free, entry->slot == COIR_MAP_NONE ? 0 : (uint16_t)(entry->slot + 1),
        };
    }
    return 0;
}

int coir_map_page_take(struct coir_map *map, struct coir_space *space, unsigned file, unsigned level, uint64_t page,
                       const struct coir_disk_map *block, const char **why)
{
    const struct coir_map_file *const f = &map->file[file];

    if (level > 0)
        return take_entries(map, file, level, page, block, why);
    /* The top, where it is of level 0, has nobody above who counts. */
    if (f->shape.levels > 1 && f->pointer[0][page].free != coir_map_clear_bits(block))
        return bad(why, "has another number of free blocks than the page above it says");
    const int r = coir_space_load(space, file, page, block->bits);
    return r == -EBADMSG ? bad(why, "has blocks in use that cannot be, or free ones that cannot be") : r;
}

/* ---- reading ----------------------------------------------------------------------------------------- */

/* The next pages of a level that were written, as many as one read takes: [page, end) holds them, the first one at
 * `page`. Where a read has failed, the next one alone, without the slot that does not count. False: there are none. */
static bool next_batch(struct coir_map_load_level *f)
{
    const struct coir_map_file *const file = &f->map->file[f->file];
    const uint64_t grain = f->map->files->file[f->file].device->grain / COIR_BLOCK;
    const uint64_t all = file->shape.pages[f->level], data = f->map->files->file[f->file].layout.data;
    const struct coir_map_pointer *const pointer = file->pointer[f->level];

    for (f->page = f->end; f->page < all && !pointer[f->page].slot_or_none;)
        f->page++;
    if (f->page == all)
        return false;
    if (f->page < f->careful) {
        f->block = coir_map_block(&file->shape, f->level, f->page, pointer[f->page].slot_or_none - 1u) / grain * grain;
        f->end = f->page + 1;
        f->len = grain * COIR_BLOCK;
        return true;
    }
    f->block = coir_map_block(&file->shape, f->level, f->page, 0) / grain * grain;
    const uint64_t last = data - f->block < BATCH / COIR_BLOCK ? data : f->block + BATCH / COIR_BLOCK;
    for (f->end = f->page; f->end < all && coir_map_block(&file->shape, f->level, f->end, 1) < last;)
        f->end++;
    f->len = (last - f->block) * COIR_BLOCK;
    return true;
}

static int take_page(struct coir_map_load_level *f, uint64_t page)
{
    struct coir_map_file *const file = &f->map->file[f->file];
    const struct coir_map_pointer *const pointer = &file->pointer[f->level][page];
    const char *why = "";

    if (!pointer->slot_or_none)
        return 0;
    const uint64_t at = coir_map_block(&file->shape, f->level, page, pointer->slot_or_none - 1u);
    const struct coir_disk_map *const block = (const void *)(f->buffer + (at - f->block) * COIR_BLOCK);
    const uint64_t generation = f->map->files->super.head.generation;
    int r = coir_map_page_check(f->map, f->file, f->level, page, block, generation, &why);

    r = r < 0 ? r : coir_map_page_take(f->map, f->space, f->file, f->level, page, block, &why);
    if (r == -EBADMSG)
        coir_complain(f->complaint, r, "%s: the space map is damaged: page %llu of level %u, at block %llu, %s",
                      f->map->files->file[f->file].device->name, (unsigned long long)page, f->level,
                      (unsigned long long)at, why);
    return r;
}

static int take_pages(struct coir_map_load_level *f)
{
    int r = 0;

    for (uint64_t page = f->page; page < f->end && r == 0; page++)
        r = take_page(f, page);
    return r;
}

coir_body(coir_map_load_level, f) {
    f->careful = 0;
    for (f->end = 0; next_batch(f);) {
        f->iov = (struct iovec){ f->buffer, f->len };
        coir_await(f, &f->read, coir_device_read, .device = f->map->files->file[f->file].device, .iov = &f->iov, .n = 1,
                   .offset = f->block * COIR_BLOCK, .flags = COIR_DIRECT);
        if (coir_status(&f->read) == -EIO && f->page >= f->careful) {
            f->careful = f->end;
            f->end = f->page;
            continue;
        }
        if (coir_status(&f->read) < 0)
            coir_fail(f, coir_complain(f->complaint, coir_status(&f->read),
                                       "%s: cannot read the space map, %zu bytes at block %llu: %s",
                                       f->map->files->file[f->file].device->name, f->len, (unsigned long long)f->block,
                                       coir_strerror(coir_status(&f->read))));
        f->err = take_pages(f);
        if (f->err < 0)
            coir_fail(f, f->err);
    }
} coir_end

static void point_at_top(struct coir_map *map, unsigned i)
{
    const struct coir_disk_file *const file = &map->files->super.file[i];

    map->file[i].pointer[map->file[i].shape.levels - 1][0] = (struct coir_map_pointer){
        .crc = file->map_crc, .slot_or_none = file->map_slot == COIR_MAP_NONE ? 0 : (uint16_t)(file->map_slot + 1),
    };
}

static int compare_sums(const struct coir_map *map, const struct coir_space *space, struct coir_complaint *complaint)
{
    struct coir_space_counts counts;

    coir_space_count(space, -1, &counts);
    if (counts.live == map->files->super.live)
        return 0;
    return coir_complain(complaint, -EBADMSG,
                         "%s: the space map is damaged: it has %llu blocks in use, and the superblock says %llu",
                         map->files->file[0].device->name, (unsigned long long)counts.live,
                         (unsigned long long)map->files->super.live);
}

coir_body(coir_map_load, f) {
    f->buffer = aligned_alloc(COIR_GRAIN_MAX, BATCH);
    if (!f->buffer)
        coir_fail(f, coir_complain(f->complaint, -ENOMEM, "there is no memory to read the space map with"));
    for (f->i = 0; f->i < f->map->files->n; f->i++) {
        point_at_top(f->map, f->i);
        for (f->level = f->map->file[f->i].shape.levels; f->level-- > 0;)
            coir_try(f, &f->one, coir_map_load_level, .map = f->map, .space = f->space, .file = f->i, .level = f->level,
                     .buffer = f->buffer, .complaint = f->complaint);
    }
    f->err = compare_sums(f->map, f->space, f->complaint);
    if (f->err < 0)
        coir_fail(f, f->err);
    coir_finally(f) {
        free(f->buffer);
    }
} coir_end
