/* SPDX-License-Identifier: MIT */
/*
 * Where things stand in a file of a store: the pages of its space map, the journal, the data. Arithmetic over
 * docs/volume-format.md, without state and without I/O; any thread. Sizes are blocks unless said.
 */
#ifndef COIR_VOLUME_LAYOUT_H
#define COIR_VOLUME_LAYOUT_H

#include <stdbool.h>

#include "volume/format.h"

enum {
    COIR_MAP_LEVELS = 6,                        /* enough for a file of INT64_MAX bytes */
    COIR_STORE_BYTES_MIN = 32 << 20,            /* a store that is smaller is all head and journal */
};

#define COIR_FILE_BLOCKS_MAX ((uint64_t)1 << 38)        /* 1 PiB */

/* Whether blocks may lie there in some store: in a file that it could have, not beyond what that could grow to. */
static inline bool coir_address_may_be(uint64_t address, uint64_t blocks)
{
    const uint64_t block = COIR_ADDRESS_BLOCK(address);

    return COIR_ADDRESS_FILE(address) < COIR_STORE_FILES && block > 0 && block <= COIR_FILE_BLOCKS_MAX
        && blocks <= COIR_FILE_BLOCKS_MAX - block;
}

/* The pages of a space map: level 0 has the bits, level `levels` - 1 is one page, the top. */
struct coir_map_shape {
    unsigned levels;
    uint64_t pages[COIR_MAP_LEVELS];            /* of each level */
    uint64_t first[COIR_MAP_LEVELS];            /* the number, counted from the top, of the level's first page */
    uint64_t total;                             /* pages of all levels; each is a pair of blocks */
};

/* The shape of the map of a file of `blocks`, which is not 0. */
void coir_map_shape(struct coir_map_shape *shape, uint64_t blocks);

/* The block, in the file, of a page's slot 0 or 1. */
static inline uint64_t coir_map_block(const struct coir_map_shape *shape, unsigned level, uint64_t page, unsigned slot)
{
    return COIR_AT_MAP + 2 * (shape->first[level] + page) + slot;
}

struct coir_layout {
    uint64_t blocks;                            /* what the file may grow to; a multiple of COIR_REGION */
    uint64_t map;                               /* first block of the space map */
    uint64_t journal, journal_blocks;           /* both 0: it has none */
    uint64_t data;                              /* first block of data */
};

/*
 * Lays out a file that may grow to `blocks`, which is rounded down to a multiple of COIR_REGION, with a journal of
 * `journal_blocks`, a multiple of COIR_REGION, or 0. 0; -ENOSPC when less than half of it would be left for data;
 * -EFBIG beyond COIR_FILE_BLOCKS_MAX.
 */
int coir_layout(struct coir_layout *layout, uint64_t blocks, uint64_t journal_blocks);

/* Blocks under a page of level 0 that are 0 in the map when nothing is in use: those in [data, blocks). */
uint64_t coir_map_free_at_first(const struct coir_layout *layout, uint64_t page);

/* Bits of a page of level 0 that are 0. */
unsigned coir_map_clear_bits(const struct coir_disk_map *block);

/* The journal that a store of `blocks` in all its files gets unless the user says another size: a 128th, at least
 * 4 MiB, at most 256 MiB. */
uint64_t coir_journal_blocks(uint64_t blocks);

/* The most index nodes that may be dirty at once in a store with `blocks` of data: 64 MiB, at most a 64th. */
uint64_t coir_dirty_cap(uint64_t blocks);

#endif
