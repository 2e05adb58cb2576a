/* SPDX-License-Identifier: MIT */
/* Arithmetic over docs/volume-format.md. Whoever calls has bounded the numbers; nothing here can overflow then. */
#include "volume/layout.h"

#include "runtime/base/assert.h"

#include <errno.h>

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

void coir_map_shape(struct coir_map_shape *shape, uint64_t blocks)
{
    uint64_t pages = divide_up(blocks, COIR_MAP_BITS);

    COIR_ASSERT(blocks > 0);
    *shape = (struct coir_map_shape){ .levels = 1, .pages = { pages } };
    while (pages > 1) {
        COIR_ASSERT(shape->levels < COIR_MAP_LEVELS);
        pages = divide_up(pages, COIR_MAP_ENTRIES);
        shape->pages[shape->levels++] = pages;
    }
    for (unsigned level = shape->levels; level-- > 0; shape->total += shape->pages[level])
        shape->first[level] = shape->total;
}

int coir_layout(struct coir_layout *layout, uint64_t blocks, uint64_t journal_blocks)
{
    struct coir_map_shape shape;

    COIR_ASSERT(journal_blocks % COIR_REGION == 0);
    if (blocks > COIR_FILE_BLOCKS_MAX || journal_blocks > COIR_FILE_BLOCKS_MAX)
        return -EFBIG;
    blocks -= blocks % COIR_REGION;
    if (blocks == 0)
        return -ENOSPC;
    coir_map_shape(&shape, blocks);
    *layout = (struct coir_layout){ .blocks = blocks, .map = COIR_AT_MAP };
    layout->data = divide_up(COIR_AT_MAP + 2 * shape.total, COIR_REGION) * COIR_REGION;
    if (journal_blocks > 0) {
        layout->journal = layout->data;
        layout->journal_blocks = journal_blocks;
        layout->data += journal_blocks;
    }
    return layout->data <= blocks / 2 ? 0 : -ENOSPC;
}

uint64_t coir_map_free_at_first(const struct coir_layout *layout, uint64_t page)
{
    const uint64_t from = page * COIR_MAP_BITS, to = from + COIR_MAP_BITS;
    const uint64_t first = from > layout->data ? from : layout->data, end = to < layout->blocks ? to : layout->blocks;

    return first < end ? end - first : 0;
}

unsigned coir_map_clear_bits(const struct coir_disk_map *block)
{
    unsigned n = COIR_MAP_BITS;

    for (unsigned word = 0; word < COIR_MAP_BITS / 64; word++)
        n -= (unsigned)__builtin_popcountll(block->bits[word]);
    return n;
}

uint64_t coir_journal_blocks(uint64_t blocks)
{
    const uint64_t least = (4 << 20) / COIR_BLOCK, most = (256 << 20) / COIR_BLOCK;
    const uint64_t part = blocks / 128 / COIR_REGION * COIR_REGION;

    return part < least ? least : part > most ? most : part;
}

uint64_t coir_dirty_cap(uint64_t blocks)
{
    const uint64_t most = (64 << 20) / COIR_BLOCK, part = blocks / 64;

    return part < most ? part : most;
}
