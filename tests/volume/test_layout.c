/* SPDX-License-Identifier: MIT */
/* Where things stand in files of several sizes: the numbers were worked out by hand from docs/volume-format.md. */
#include "volume/layout.h"

#include "tap.h"

#include <errno.h>

#define MIB ((uint64_t)(1 << 20) / COIR_BLOCK)
#define TIB ((uint64_t)1 << 40) / COIR_BLOCK

static void test_shapes(void)
{
    struct coir_map_shape shape;

    coir_map_shape(&shape, 100 * MIB);
    EQ(shape.levels, 1, "100 MiB: its 25,600 blocks are under one page");
    EQ(shape.total, 1, "100 MiB: which is all of the map");
    EQ(coir_map_block(&shape, 0, 0, 1), 257, "100 MiB: slot 1 of it");

    coir_map_shape(&shape, COIR_MAP_BITS);
    EQ(shape.levels, 1, "as many blocks as a page has bits: one level");
    coir_map_shape(&shape, COIR_MAP_BITS + 1);
    EQ(shape.levels, 2, "one more: two");
    EQ(shape.total, 3, "one more: the top and two pages");

    /* 268,435,456 blocks / 32,256 = 8,322.03; 8,323 / 504 = 16.5 */
    coir_map_shape(&shape, TIB);
    EQ(shape.levels, 3, "1 TiB: levels");
    EQ(shape.pages[0], 8323, "1 TiB: pages of level 0");
    EQ(shape.pages[1], 17, "1 TiB: of level 1");
    EQ(shape.pages[2], 1, "1 TiB: the top");
    EQ(shape.first[2], 0, "1 TiB: the top is page 0");
    EQ(shape.first[1], 1, "1 TiB: level 1 follows");
    EQ(shape.first[0], 18, "1 TiB: then level 0");
    EQ(shape.total, 8341, "1 TiB: pages in all");
    EQ(coir_map_block(&shape, 0, 5, 1), 256 + 2 * 23 + 1, "1 TiB: slot 1 of page 5 of level 0");

    /* 17,179,869,184 / 32,256 = 532,610.03; / 504 = 1,056.8; / 504 = 2.1 */
    coir_map_shape(&shape, 64 * TIB);
    EQ(shape.levels, 4, "64 TiB: levels");
    EQ(shape.pages[0], 532611, "64 TiB: pages of level 0");
    EQ(shape.pages[1], 1057, "64 TiB: of level 1");
    EQ(shape.pages[2], 3, "64 TiB: of level 2");
    EQ(shape.first[0], 1061, "64 TiB: level 0 stands behind 1 + 3 + 1,057 pages");
    EQ(shape.total, 533672, "64 TiB: pages in all");

    coir_map_shape(&shape, UINT64_MAX >> 13);
    EQ(shape.levels, COIR_MAP_LEVELS, "INT64_MAX bytes: all the levels there are");
}

static void test_files(void)
{
    struct coir_layout layout;

    EQ(coir_layout(&layout, 64 * MIB, 4 * MIB), 0, "64 MiB with a journal of 4");
    EQ(layout.blocks, 16384, "64 MiB: blocks");
    EQ(layout.map, 256, "64 MiB: the map");
    EQ(layout.journal, 512, "64 MiB: the journal");
    EQ(layout.journal_blocks, 1024, "64 MiB: its blocks");
    EQ(layout.data, 1536, "64 MiB: the data");

    EQ(coir_layout(&layout, 64 * MIB + 255, 0), 0, "a file without one");
    EQ(layout.blocks, 16384, "what is not a whole MiB is not used");
    EQ(layout.journal, 0, "no journal");
    EQ(layout.data, 512, "the data follows the map");

    /* 256 + 2 * 8,341 = 16,938, up to a multiple of 256: 17,152 */
    EQ(coir_layout(&layout, TIB, 256 * MIB), 0, "1 TiB");
    EQ(layout.journal, 17152, "1 TiB: the journal");
    EQ(layout.data, 17152 + 65536, "1 TiB: the data");

    EQ(coir_layout(&layout, 12 * MIB, 4 * MIB), 0, "half of it is left");
    EQ(coir_layout(&layout, 11 * MIB, 4 * MIB), -ENOSPC, "less is not enough");
    EQ(coir_layout(&layout, 255, 0), -ENOSPC, "less than 1 MiB");
    EQ(coir_layout(&layout, 64 * MIB, UINT64_MAX / 256 * 256), -EFBIG, "a journal of any size");
    EQ(coir_layout(&layout, COIR_FILE_BLOCKS_MAX, 0), 0, "1 PiB");
    EQ(coir_layout(&layout, COIR_FILE_BLOCKS_MAX + 256, 0), -EFBIG, "more than 1 PiB");
    EQ(coir_layout(&layout, UINT64_MAX, 0), -EFBIG, "any number");
}

int main(void)
{
    test_shapes();
    test_files();
    EQ(coir_journal_blocks(64 * MIB), 4 * MIB, "a journal is at least 4 MiB");
    EQ(coir_journal_blocks(20480 * MIB), 160 * MIB, "a 128th of 20 GiB");
    EQ(coir_journal_blocks(20479 * MIB), 159 * MIB, "in whole MiB");
    EQ(coir_journal_blocks(64 * TIB), 256 * MIB, "at most 256 MiB");
    EQ(coir_dirty_cap(14848), 232, "dirty nodes: a 64th");
    EQ(coir_dirty_cap(TIB), 64 * MIB, "dirty nodes: at most 64 MiB");
    return DONE();
}
