/* SPDX-License-Identifier: MIT */
/*
 * What stands in the files of a store, as C: docs/volume-format.md says what each field means, and is the one
 * to change first. Only layouts and constants; it assumes a little-endian machine, as all of coir does, and nothing
 * here reads or writes. The journal's own structures are in journal/format.h.
 */
#ifndef COIR_VOLUME_FORMAT_H
#define COIR_VOLUME_FORMAT_H

#include <stddef.h>
#include <stdint.h>

enum {
    COIR_BLOCK = 4096,                  /* bytes */
    COIR_BLOCK_SHIFT = 12,
    COIR_STORE_VERSION = 1,
    COIR_STORE_FILES = 64,              /* most files of a store */
    COIR_VOLUME_SHIFT_MAX = 16,         /* a volume block is at most 64 KiB */
    COIR_NAME_MAX = 255,                /* bytes of a volume's name */

    COIR_AT_HEADER = 0, COIR_AT_HEADER2 = 128,         /* blocks of a file */
    COIR_AT_SUPER = 1, COIR_AT_SUPER2 = 129,
    COIR_AT_PATHS = 2,
    COIR_AT_MAP = 256,
    COIR_REGION = 256,                  /* journal and data begin on a multiple of it, files grow by it */

    COIR_TREE_LEVELS = 16,              /* a tree is at most so high; 42 children a node are 2^64 keys at 12 */
    COIR_TREE_CATALOG = 1, COIR_TREE_NAMES = 2, COIR_FIRST_VOLUME = 16,

    COIR_EXTENT_MAX = 256,              /* volume blocks of one extent */
    COIR_MAP_BITS = 32256,              /* blocks under one page of level 0 */
    COIR_MAP_ENTRIES = 504,             /* pages under one of a higher level */
    COIR_MAP_NONE = 2,                  /* for a slot: the page was never written */
};

#define COIR_MAGIC(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define COIR_MAGIC_HEADER COIR_MAGIC('C', 'R', 'H', 'D')
#define COIR_MAGIC_PATH COIR_MAGIC('C', 'R', 'P', 'T')
#define COIR_MAGIC_SUPER COIR_MAGIC('C', 'R', 'S', 'B')
#define COIR_MAGIC_MAP0 COIR_MAGIC('C', 'R', 'M', '0')
#define COIR_MAGIC_MAP1 COIR_MAGIC('C', 'R', 'M', '1')
#define COIR_MAGIC_NODE COIR_MAGIC('C', 'R', 'N', 'D')

/* Where a block lies: the file's index and the block's number in it. 0 is nowhere. */
#define COIR_FILE_SHIFT 56
#define COIR_ADDRESS(file, block) ((uint64_t)(file) << COIR_FILE_SHIFT | (uint64_t)(block))
#define COIR_ADDRESS_FILE(address) ((unsigned)((address) >> COIR_FILE_SHIFT))
#define COIR_ADDRESS_BLOCK(address) ((address) & (((uint64_t)1 << COIR_FILE_SHIFT) - 1))

#define COIR_LAYOUT_(type, field, offset) \
    _Static_assert(offsetof(struct type, field) == (offset), "docs/volume-format.md: " #type "." #field)
#define COIR_SIZE_(type, size) _Static_assert(sizeof(struct type) == (size), "docs/volume-format.md: " #type)

/* Every structure that is one block begins so. */
struct coir_block_head {
    uint32_t magic, crc;
    uint64_t address, generation;
};
COIR_SIZE_(coir_block_head, 24);

struct coir_disk_header {
    struct coir_block_head head;
    uint32_t version, files;
    uint8_t store[16];
    uint32_t index, grain;
    uint64_t blocks, map, journal, journal_blocks, data;
    uint8_t zero[COIR_BLOCK - 96];
};
COIR_LAYOUT_(coir_disk_header, store, 32);
COIR_LAYOUT_(coir_disk_header, blocks, 56);
COIR_LAYOUT_(coir_disk_header, data, 88);
COIR_SIZE_(coir_disk_header, COIR_BLOCK);

struct coir_disk_path {
    struct coir_block_head head;
    uint32_t index, length;
    char path[4000];
    uint8_t zero[COIR_BLOCK - 4032];
};
COIR_LAYOUT_(coir_disk_path, path, 32);
COIR_SIZE_(coir_disk_path, COIR_BLOCK);

/* The root of a tree; address 0: the tree is empty. */
struct coir_disk_root {
    uint64_t address;
    uint32_t crc;
    uint16_t level, zero;
};
COIR_SIZE_(coir_disk_root, 16);

struct coir_disk_file {
    uint64_t blocks, grown;
    uint32_t map_crc, map_slot;
};
COIR_SIZE_(coir_disk_file, 24);

struct coir_disk_super {
    struct coir_block_head head;
    uint32_t version, files;
    uint64_t features, features_write, features_read;
    uint8_t store[16];
    uint64_t epoch, lsn, journal_start, journal_number, journal_previous, next_volume;
    struct coir_disk_root catalog, names;
    uint8_t key[16];
    uint64_t live, volumes;
    uint8_t zero[72];
    struct coir_disk_file file[COIR_STORE_FILES];
    uint8_t rest[COIR_BLOCK - 256 - 24 * COIR_STORE_FILES];
};
COIR_LAYOUT_(coir_disk_super, features, 32);
COIR_LAYOUT_(coir_disk_super, store, 56);
COIR_LAYOUT_(coir_disk_super, epoch, 72);
COIR_LAYOUT_(coir_disk_super, next_volume, 112);
COIR_LAYOUT_(coir_disk_super, catalog, 120);
COIR_LAYOUT_(coir_disk_super, key, 152);
COIR_LAYOUT_(coir_disk_super, live, 168);
COIR_LAYOUT_(coir_disk_super, file, 256);
COIR_SIZE_(coir_disk_super, COIR_BLOCK);

struct coir_disk_map_entry {
    uint32_t crc;
    uint16_t free, slot;
};
COIR_SIZE_(coir_disk_map_entry, 8);

struct coir_disk_map {
    struct coir_block_head head;
    uint32_t level, zero;
    uint64_t page;
    uint8_t spare[24];
    union {
        uint64_t bits[COIR_MAP_BITS / 64];
        struct coir_disk_map_entry entry[COIR_MAP_ENTRIES];
    };
};
COIR_LAYOUT_(coir_disk_map, page, 32);
COIR_LAYOUT_(coir_disk_map, bits, 64);
COIR_SIZE_(coir_disk_map, COIR_BLOCK);

struct coir_disk_node {
    struct coir_block_head head;
    uint64_t tree;
    uint16_t level, count, used, zero;
    uint32_t era;
    uint8_t spare[20];
    uint8_t entries[COIR_BLOCK - 64];
};
COIR_LAYOUT_(coir_disk_node, tree, 24);
COIR_LAYOUT_(coir_disk_node, era, 40);
COIR_LAYOUT_(coir_disk_node, entries, 64);
COIR_SIZE_(coir_disk_node, COIR_BLOCK);

/* An entry of an inner node. */
struct coir_disk_child {
    uint64_t key, address;
    uint32_t crc, era;
};
COIR_SIZE_(coir_disk_child, 24);

/* What precedes the value in an entry of a leaf. */
struct coir_disk_entry {
    uint64_t key;
    uint16_t length;
    uint8_t zero[6];
};
COIR_SIZE_(coir_disk_entry, 16);

/* A value in a volume's tree. */
struct coir_disk_extent {
    uint64_t address;
    uint32_t era;
    uint16_t count, zero;
    uint32_t crc[];
};
COIR_SIZE_(coir_disk_extent, 16);

/* A value in the catalog; the name follows. */
struct coir_disk_volume {
    struct coir_disk_root root;
    uint64_t blocks, mapped, origin;
    struct coir_disk_root dead;
    uint32_t era;
    uint8_t shift, state;
    uint16_t name_length;
    char name[];
};
COIR_LAYOUT_(coir_disk_volume, dead, 40);
COIR_LAYOUT_(coir_disk_volume, era, 56);
COIR_SIZE_(coir_disk_volume, 64);

enum { COIR_VOLUME_READY = 1, COIR_VOLUME_REMOVING = 2 };

#endif
