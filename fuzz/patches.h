/* SPDX-License-Identifier: MIT */
/*
 * Patches of the store in memory (medium.h): an input that changes some bytes of some of its blocks. A patch is the
 * number of a block among those that can be patched, two bytes for where in it, a length, and the bytes. Length 0: the
 * block cannot be read. What no fuzzer guesses is put right then, as far as the input asks for it: sums, the sums of
 * children in their parents up to the superblock, the chain of groups in the journal.
 */
#ifndef COIR_FUZZ_PATCHES_H
#define COIR_FUZZ_PATCHES_H

#include "device/checksum.h"
#include "journal/format.h"
#include "medium.h"

enum {
    PATCH_TARGETS = 256, PATCH_REFS = 512,
    PUT_SUMS = 1, PUT_POINTERS = 2, PUT_CHAIN = 4, PUT_BOTH = 8, PUT_ADDRESSES = 16,
};

static struct {
    unsigned targets, refs;
    unsigned target[PATCH_TARGETS];                             /* blocks that can be patched */
    struct { unsigned block, holder, at; } ref[PATCH_REFS];     /* where the sum of a block stands in another */
} patches;

/* ---- what of it can be patched ---- */

static uint32_t patch_magic(unsigned block)
{
    uint32_t magic;

    memcpy(&magic, medium.base + (size_t)block * COIR_BLOCK, sizeof magic);
    return magic;
}

static bool patch_has_head(unsigned block)
{
    const uint32_t m = patch_magic(block);

    return m == COIR_MAGIC_HEADER || m == COIR_MAGIC_PATH || m == COIR_MAGIC_SUPER || m == COIR_MAGIC_MAP0
        || m == COIR_MAGIC_NODE;
}

static void patch_add_ref(unsigned block, unsigned holder, unsigned at)
{
    must(patches.refs < PATCH_REFS);
    patches.ref[patches.refs].block = block;
    patches.ref[patches.refs].holder = holder;
    patches.ref[patches.refs++].at = at;
}

/* Where `holder` has the address of a node, and its sum behind it, or the sum of a page of the map. */
static void patch_find_refs(unsigned block, unsigned holder)
{
    const unsigned char *const bytes = medium.base + (size_t)holder * COIR_BLOCK;
    const struct coir_block_head *const head = (const void *)(medium.base + (size_t)block * COIR_BLOCK);
    const unsigned map = offsetof(struct coir_disk_super, file) + offsetof(struct coir_disk_file, map_crc);

    if (patch_magic(block) == COIR_MAGIC_MAP0 && patch_magic(holder) == COIR_MAGIC_SUPER
        && memcmp(bytes + map, &head->crc, 4) == 0)
        patch_add_ref(block, holder, map);
    if (patch_magic(block) != COIR_MAGIC_NODE
        || (patch_magic(holder) != COIR_MAGIC_NODE && patch_magic(holder) != COIR_MAGIC_SUPER))
        return;
    for (unsigned at = 24; at + 12 <= COIR_BLOCK; at += 8)
        if (memcmp(bytes + at, &head->address, 8) == 0 && memcmp(bytes + at + 8, &head->crc, 4) == 0)
            patch_add_ref(block, holder, at + 8);
}

static void patch_survey(void)
{
    for (unsigned b = 0; b < MEDIUM_BLOCKS && patches.targets < PATCH_TARGETS; b++)
        if (patch_has_head(b) || patch_magic(b) == COIR_MAGIC_GROUP)
            patches.target[patches.targets++] = b;
    for (unsigned i = 0; i < patches.targets; i++)
        for (unsigned k = 0; k < patches.targets; k++)
            patch_find_refs(patches.target[i], patches.target[k]);
    must(patches.targets > 10 && patches.refs > 6);
}

/* ---- an input ---- */

/* Blocks are numbered as in `targets`. */
static void patch_blocks(const unsigned *targets, unsigned n_targets, const uint8_t *data, size_t n)
{
    while (n >= 4) {
        const unsigned block = targets[data[0] % n_targets], at = (data[1] | data[2] << 8) % COIR_BLOCK;
        size_t len = data[3];

        data += 4;
        n -= 4;
        medium.touched[block] = true;
        medium.bad[block] = len == 0;
        len = len < n ? len : n;
        len = len < COIR_BLOCK - at ? len : COIR_BLOCK - at;
        memcpy(medium_block(block) + at, data, len);
        data += len;
        n -= len;
    }
}

static void patch_sum(unsigned block, unsigned what)
{
    struct coir_block_head *const head = (void *)medium_block(block);

    if (what & PUT_ADDRESSES)
        head->address = block;
    if (what & PUT_SUMS)
        head->crc = coir_crc(head->address, (unsigned char *)head + 8, COIR_BLOCK - 8);
}

/* The second copy says what the first one does. */
static void patch_copy(unsigned from, unsigned to, unsigned what)
{
    if (!medium.touched[from] || medium.bad[from])
        return;
    memcpy(medium_block(to), medium_block(from), COIR_BLOCK);
    medium.touched[to] = true;
    patch_sum(to, what | PUT_ADDRESSES);
}

/* From the leaves up: as many rounds as a tree and what is above it have levels. */
static void patch_put_pointers(unsigned what)
{
    for (unsigned round = 0; round < 6; round++)
        for (unsigned i = 0; i < patches.refs; i++) {
            const unsigned block = patches.ref[i].block, holder = patches.ref[i].holder;

            if (!medium.touched[block])
                continue;
            patch_sum(block, what);
            memcpy(medium_block(holder) + patches.ref[i].at, medium_block(block) + 4, 4);
            medium.touched[holder] = true;
        }
}

static void patch_put_groups(unsigned what)
{
    uint64_t previous = 0;
    bool first = true;

    for (unsigned i = 0; i < patches.targets; i++) {
        struct coir_disk_group *const h = (void *)medium_block(patches.target[i]);
        const uint64_t size = ((uint64_t)h->length + sizeof *h + COIR_BLOCK - 1) / COIR_BLOCK * COIR_BLOCK;

        if (patch_magic(patches.target[i]) != COIR_MAGIC_GROUP || size > COIR_GROUP_MAX
            || patches.target[i] * (uint64_t)COIR_BLOCK + size > medium.size)
            continue;
        if (!first && what & PUT_CHAIN)
            h->previous = previous;
        if (what & (PUT_SUMS | PUT_CHAIN) && medium.touched[patches.target[i]]) {
            h->crc = coir_crc(patches.target[i], (unsigned char *)h + 8, size - 8);
            medium.touched[patches.target[i]] = true;
        }
        if (h->records)
            previous = coir_crc64(h, size), first = false;
        if (what & PUT_CHAIN && i + 1 < patches.targets)
            medium.touched[patches.target[i + 1]] = true;
    }
}

static void patch_put_right(unsigned what)
{
    if (what & PUT_POINTERS)
        patch_put_pointers(what);
    if (what & (PUT_SUMS | PUT_ADDRESSES))
        for (unsigned i = 0; i < patches.targets; i++)
            if (medium.touched[patches.target[i]] && patch_has_head(patches.target[i]))
                patch_sum(patches.target[i], what);
    patch_put_groups(what);
    if (what & PUT_BOTH) {
        patch_copy(COIR_AT_HEADER, COIR_AT_HEADER2, what);
        patch_copy(COIR_AT_SUPER, COIR_AT_SUPER2, what);
    }
}

#endif
