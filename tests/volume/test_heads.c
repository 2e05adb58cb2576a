/* SPDX-License-Identifier: MIT */
/*
 * The checks of single blocks: every bit of a header, a path, a superblock and a page of the space map flipped by
 * itself; every way in which two versions of one can be torn at 512 bytes; blocks moved elsewhere; and, with good sums,
 * every field made impossible, which has to be found, and by the check that is meant for it.
 */
#include "volume/heads.h"
#include "volume/map.h"

#include "tap.h"

enum { BLOCKS = 16384, DATA = 1536 };

static const uint8_t store[16] = "sixteen bytes id", key[16] = "and as many more";

static union block {
    unsigned char bytes[COIR_BLOCK];
    struct coir_disk_header header;
    struct coir_disk_path path;
    struct coir_disk_super super;
    struct coir_disk_map map;
} good, other, b;

static struct coir_layout layouts[2];
static const char *why;

/* ---- each kind of block: making two versions, and the check ---- */

enum kind { HEADER, HEADER2, PATH, SUPER, SUPER2, MAP0, MAP1, KINDS };
static const char *const names[] = { "header", "second header", "path", "superblock", "second superblock",
                                     "page of bits", "page of entries" };

static struct coir_map map;
static struct coir_files files = { .n = 2 };

/* Version 0 or 1; 1 is newer where there is such a thing, else another one. */
static void make(enum kind kind, unsigned version, union block *to)
{
    static const uint64_t grown[] = { 2048, 512 };

    memset(to, 0, sizeof *to);
    switch (kind) {
    case HEADER:
    case HEADER2:
        coir_header_make(&to->header, &layouts[0], version ? key : store, 2, 0, 4096,
                         kind == HEADER ? COIR_AT_HEADER : COIR_AT_HEADER2);
        break;
    case PATH:
        coir_path_make(&to->path, 1, 0, version ? "/somewhere/else" : "/srv/disk.coir");
        break;
    case MAP0:
    case MAP1:
        to->map.level = kind == MAP1;
        to->map.page = 0;
        if (kind == MAP0)
            for (unsigned i = 0; i < COIR_MAP_BITS; i++)
                to->map.bits[i / 64] |= (uint64_t)(i < DATA + 700 * version + 5 || i >= BLOCKS) << i % 64;
        coir_block_seal(&to->map, kind == MAP0 ? COIR_MAGIC_MAP0 : COIR_MAGIC_MAP1, 257, version + 1);
        break;
    default:
        coir_super_make(&to->super, layouts, grown, 2, store, key);
        to->super.lsn = 100 + version;
        to->super.live = 7 * version;
        to->super.file[1].grown += 256 * version;
        coir_block_seal(&to->super, COIR_MAGIC_SUPER, kind == SUPER ? COIR_AT_SUPER : COIR_AT_SUPER2, version + 1);
    }
}

static int check(enum kind kind, const union block *block)
{
    struct coir_layout layout;
    bool read_only;

    why = "";
    switch (kind) {
    case HEADER:
    case HEADER2:
        return coir_header_check(&block->header, kind == HEADER ? COIR_AT_HEADER : COIR_AT_HEADER2, &layout, &why);
    case PATH:
        return coir_path_check(&block->path, 1, 0, &why);
    case MAP0:
    case MAP1:
        map.file[0].pointer[kind == MAP1][0] = (struct coir_map_pointer){ good.map.head.crc, 0, 2 };
        return coir_map_page_check(&map, 0, kind == MAP1, 0, &block->map, 2, &why);
    default:
        return coir_super_check(&block->super, kind == SUPER ? COIR_AT_SUPER : COIR_AT_SUPER2, layouts, 2, store,
                                &read_only, &why);
    }
}

/* ---- damage ---- */

static void flips(enum kind kind)
{
    unsigned found = 0;

    for (unsigned bit = 0; bit < COIR_BLOCK * 8; bit++) {
        b = good;
        b.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        found += check(kind, &b) == -EBADMSG;
    }
    EQ(found, COIR_BLOCK * 8, "%s: each flipped bit is found", names[kind]);
}

static void tears(enum kind kind)
{
    unsigned found = 0, whole = 0;

    for (unsigned mask = 0; mask < 256; mask++) {
        b = good;
        for (unsigned sector = 0; sector < 8; sector++)
            if (mask >> sector & 1)
                memcpy(b.bytes + sector * 512, other.bytes + sector * 512, 512);
        if (memcmp(&b, &good, sizeof b) == 0 || memcmp(&b, &other, sizeof b) == 0)
            whole++;
        else
            found += check(kind, &b) == -EBADMSG;
    }
    OK(whole >= 2 && found + whole == 256, "%s: each tear is found, of %u that leave neither version", names[kind],
       256 - whole);
}

static void moves(enum kind kind)
{
    static const unsigned char zeros[COIR_BLOCK];

    for (enum kind from = HEADER; from < KINDS; from++) {
        make(from, 0, &b);
        if (from != kind)
            EQ(check(kind, &b), -EBADMSG, "a %s is no %s: it %s", names[from], names[kind], why);
    }
    memcpy(&b, zeros, sizeof b);
    EQ(check(kind, &b), -EBADMSG, "nor are zeros");
    STR_EQ(why, "is all zeros", "which is said");
}

/* ---- impossible fields, with good sums ---- */

static void reseal(enum kind kind)
{
    coir_block_seal(&b, b.header.head.magic, b.header.head.address, b.header.head.generation);
    if (kind == MAP0 || kind == MAP1)
        good.map.head.crc = b.map.head.crc;
}

#define IMPOSSIBLE(kind, status, words, change) do { \
    make(kind, 0, &good); \
    b = good; \
    change; \
    reseal(kind); \
    EQ(check(kind, &b), status, "%s: %s", names[kind], #change); \
    OK(strstr(why, words), "it says \"%s\": %s", words, why); \
    } while (0)

static void headers(void)
{
    IMPOSSIBLE(HEADER, -ENOTSUP, "version", b.header.version = 2);
    IMPOSSIBLE(HEADER, -EBADMSG, "number of files", b.header.files = 0);
    IMPOSSIBLE(HEADER, -EBADMSG, "number of files", b.header.files = 65);
    IMPOSSIBLE(HEADER, -EBADMSG, "another place", b.header.index = 1);
    IMPOSSIBLE(HEADER, -EBADMSG, "number of files", b.header.index = 2; b.header.head.address = COIR_ADDRESS(2, 0));
    IMPOSSIBLE(HEADER, -EBADMSG, "number of files", b.header.index = 64);
    IMPOSSIBLE(HEADER, -EBADMSG, "journal where there is none",
               b.header.index = 1; b.header.head.address = COIR_ADDRESS(1, 0));
    IMPOSSIBLE(HEADER, -EBADMSG, "grain", b.header.grain = 2048);
    IMPOSSIBLE(HEADER, -EBADMSG, "grain", b.header.grain = 4097);
    IMPOSSIBLE(HEADER, -EBADMSG, "grain", b.header.grain = 2 << 20);
    IMPOSSIBLE(HEADER, -EBADMSG, "sizes", b.header.blocks = 0);
    IMPOSSIBLE(HEADER, -EBADMSG, "sizes", b.header.blocks++);
    IMPOSSIBLE(HEADER, -EBADMSG, "sizes", b.header.blocks = UINT64_MAX / 256 * 256);
    IMPOSSIBLE(HEADER, -EBADMSG, "sizes", b.header.blocks = 2560);
    IMPOSSIBLE(HEADER, -EBADMSG, "places", b.header.blocks = (uint64_t)1 << 37);
    IMPOSSIBLE(HEADER, -EBADMSG, "sizes", b.header.journal_blocks = UINT64_MAX / 256 * 256);
    IMPOSSIBLE(HEADER, -EBADMSG, "sizes", b.header.journal_blocks = 1);
    IMPOSSIBLE(HEADER, -EBADMSG, "journal where", b.header.journal_blocks = 0);
    IMPOSSIBLE(HEADER, -EBADMSG, "too small for its grain", b.header.journal_blocks = 768; b.header.grain = 1 << 20);
    IMPOSSIBLE(HEADER, -EBADMSG, "places", b.header.journal_blocks = 1280);
    IMPOSSIBLE(HEADER, -EBADMSG, "places", b.header.map = 0);
    IMPOSSIBLE(HEADER, -EBADMSG, "places", b.header.journal += 256);
    IMPOSSIBLE(HEADER, -EBADMSG, "places", b.header.data = UINT64_MAX);
    IMPOSSIBLE(HEADER, -EBADMSG, "zeros", b.header.zero[4000 - 97] = 1);
    IMPOSSIBLE(HEADER, -EBADMSG, "zeros", b.header.head.generation = 1);
}

static void paths(void)
{
    IMPOSSIBLE(PATH, -EBADMSG, "another file", b.path.index = 1);
    IMPOSSIBLE(PATH, -EBADMSG, "no absolute path", b.path.length = 0);
    IMPOSSIBLE(PATH, -EBADMSG, "no absolute path", b.path.length = 4001);
    IMPOSSIBLE(PATH, -EBADMSG, "no absolute path", b.path.length = UINT32_MAX);
    IMPOSSIBLE(PATH, -EBADMSG, "no absolute path", b.path.length++);
    IMPOSSIBLE(PATH, -EBADMSG, "zeros", b.path.length--);
    IMPOSSIBLE(PATH, -EBADMSG, "no absolute path", b.path.path[0] = 'x');
    IMPOSSIBLE(PATH, -EBADMSG, "zeros", b.path.path[3999] = 'x');
    IMPOSSIBLE(PATH, -EBADMSG, "zeros", b.path.zero[0] = 1);
    IMPOSSIBLE(PATH, -EBADMSG, "zeros", b.path.head.generation = 1);
}

static void superblocks(void)
{
    IMPOSSIBLE(SUPER, -ENOTSUP, "version", b.super.version = 2);
    IMPOSSIBLE(SUPER, -ENOTSUP, "feature", b.super.features_read = 1);
    IMPOSSIBLE(SUPER, -EBADMSG, "another store", b.super.store[15]++);
    IMPOSSIBLE(SUPER, -EBADMSG, "another store", b.super.files = 3);
    IMPOSSIBLE(SUPER, -EBADMSG, "generation", b.super.head.generation = 0);
    IMPOSSIBLE(SUPER, -EBADMSG, "generation", b.super.head.generation = UINT64_MAX);
    IMPOSSIBLE(SUPER, -EBADMSG, "generation", b.super.epoch = UINT64_MAX);
    IMPOSSIBLE(SUPER, -EBADMSG, "LSN", b.super.lsn = UINT64_MAX);
    IMPOSSIBLE(SUPER, -EBADMSG, "volume number", b.super.next_volume = 15);
    IMPOSSIBLE(SUPER, -EBADMSG, "volume number", b.super.next_volume = UINT64_MAX);
    IMPOSSIBLE(SUPER, -EBADMSG, "number of volumes", b.super.volumes = 17);
    IMPOSSIBLE(SUPER, -EBADMSG, "journal", b.super.journal_start = 1);
    IMPOSSIBLE(SUPER, -EBADMSG, "journal", b.super.journal_start = 4 << 20);
    IMPOSSIBLE(SUPER, -EBADMSG, "journal", b.super.journal_number = 0);
    IMPOSSIBLE(SUPER, -EBADMSG, "size of a file", b.super.file[1].blocks = 4096);
    IMPOSSIBLE(SUPER, -EBADMSG, "length of a file", b.super.file[0].grown = 1280);
    IMPOSSIBLE(SUPER, -EBADMSG, "length of a file", b.super.file[0].grown = BLOCKS + 256);
    IMPOSSIBLE(SUPER, -EBADMSG, "length of a file", b.super.file[0].grown = 2049);
    IMPOSSIBLE(SUPER, -EBADMSG, "place of a space map", b.super.file[1].map_slot = 3);
    IMPOSSIBLE(SUPER, -EBADMSG, "place of a space map", b.super.file[1].map_crc = 1);
    IMPOSSIBLE(SUPER, -EBADMSG, "more blocks in use", b.super.live = 513);
    IMPOSSIBLE(SUPER, -EBADMSG, "zeros", b.super.file[2].grown = 1);
    IMPOSSIBLE(SUPER, -EBADMSG, "zeros", b.super.zero[71] = 1);
    IMPOSSIBLE(SUPER, -EBADMSG, "zeros", b.super.rest[0] = 1);
    IMPOSSIBLE(SUPER, -EBADMSG, "root", b.super.catalog.crc = 1);
    IMPOSSIBLE(SUPER, -EBADMSG, "root", b.super.catalog.level = 1);
    IMPOSSIBLE(SUPER, -EBADMSG, "root", b.super.catalog.address = DATA - 1);
    IMPOSSIBLE(SUPER, -EBADMSG, "root", b.super.catalog.address = 2048);
    IMPOSSIBLE(SUPER, -EBADMSG, "root", b.super.names.address = COIR_ADDRESS(2, DATA));
    IMPOSSIBLE(SUPER, -EBADMSG, "root", b.super.names.address = DATA; b.super.names.level = 16);
    IMPOSSIBLE(SUPER, -EBADMSG, "zeros", b.super.names.zero = 1);
    IMPOSSIBLE(SUPER, 0, "", b.super.names.address = DATA; b.super.names.level = 15; b.super.live = 512);
    IMPOSSIBLE(SUPER, 0, "", b.super.journal_start = (4 << 20) - 4096);
    IMPOSSIBLE(SUPER, 0, "", b.super.features = 1; b.super.zero[0] = 1; b.super.rest[0] = 1);
    IMPOSSIBLE(SUPER, 0, "", b.super.features_write = 1; b.super.names.zero = 1);

    bool read_only = true;
    make(SUPER, 0, &b);
    EQ(coir_super_check(&b.super, COIR_AT_SUPER, layouts, 2, store, &read_only, &why), 0, "a superblock");
    EQ(read_only, false, "may be written after");
    b.super.features_write = (uint64_t)1 << 63;
    reseal(SUPER);
    EQ(coir_super_check(&b.super, COIR_AT_SUPER, layouts, 2, store, &read_only, &why), 0, "with a feature to write");
    EQ(read_only, true, "may not");
}

static void pages(void)
{
    IMPOSSIBLE(MAP0, -EBADMSG, "another page", b.map.level = 1);
    IMPOSSIBLE(MAP0, -EBADMSG, "another page", b.map.page = 1);
    IMPOSSIBLE(MAP0, -EBADMSG, "zeros", b.map.zero = 1);
    IMPOSSIBLE(MAP0, -EBADMSG, "zeros", b.map.spare[23] = 1);
    IMPOSSIBLE(MAP0, -EBADMSG, "generation", b.map.head.generation = 0);
    IMPOSSIBLE(MAP0, -EBADMSG, "generation", b.map.head.generation = 3);
    make(MAP0, 0, &good);
    make(MAP0, 1, &b);
    EQ(check(MAP0, &b), -EBADMSG, "a good page that is not the one that is meant");
    OK(strstr(why, "not the one that the page above it means"), "which is said: %s", why);
}

int main(void)
{
    EQ(coir_layout(&layouts[0], BLOCKS, 1024), 0, "a file of 64 MiB");
    EQ(coir_layout(&layouts[1], 8192, 0), 0, "another one");
    files.file[0].layout = layouts[0];
    files.file[1].layout = layouts[1];
    EQ(coir_map_create(&map, &files), 0, "a map");
    map.file[0].pointer[1] = calloc(1, sizeof *map.file[0].pointer[1]);
    map.file[0].shape.first[1] = 0;
    for (enum kind kind = HEADER; kind < KINDS; kind++) {
        make(kind, 0, &good);
        make(kind, 1, &other);
        EQ(check(kind, &good), 0, "%s: as it was made", names[kind]);
        flips(kind);
        tears(kind);
        moves(kind);
    }
    headers();
    paths();
    superblocks();
    pages();
    coir_map_destroy(&map);
    return DONE();
}
