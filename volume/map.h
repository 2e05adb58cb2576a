/* SPDX-License-Identifier: MIT */
/*
 * volume/map.h - the space map on the medium: its pages in pairs, each believed only if it is the one that the page
 * above means (docs/volume-format.md, "The space map").
 *
 *     coir_try(f, &f->load, coir_map_load, .map = map, .space = space, .complaint = c);          opening
 *
 *     coir_space_freeze(space, lsn, &frozen);                                                    a checkpoint
 *     coir_try(f, &f->write, coir_map_write, .map = map, .space = space, .frozen = frozen, .generation = g, ...);
 *     ... flush every file; coir_map_roots(map, &files->next); coir_super_commit ...
 *     coir_map_commit(map);
 *     coir_space_durable(space, frozen);
 *
 * Writing overwrites no page that the last durable superblock names: each goes into the slot of its pair that is not
 * named, and which one is named changes in memory only by coir_map_commit, when both superblocks are durable. Until
 * then, and after coir_map_abort, the map is the old one. On the store's home shard.
 */
#ifndef COIR_VOLUME_MAP_H
#define COIR_VOLUME_MAP_H

#include "volume/files.h"
#include "volume/space.h"

enum { COIR_MAP_LANES = 16 };           /* pages that are written at once */

struct coir_map_change;

/* What the page above says of a page: crc, free blocks, and where it stands. Zero: it was never written. */
struct coir_map_pointer {
    uint32_t crc;
    uint16_t free;
    uint16_t slot_or_none;              /* slot + 1; 0: it was never written */
};

/* The changes of one level that are written and not committed; by number of the page. */
struct coir_map_level {
    struct coir_map_change *change;
    uint64_t n;
};

struct coir_map_file {
    struct coir_map_shape shape;
    struct coir_map_pointer *pointer[COIR_MAP_LEVELS];  /* to each page of a level */
    struct coir_map_level pending[COIR_MAP_LEVELS];
};

struct coir_map {
    struct coir_files *files;
    struct coir_map_file *file;
};

/* The map of loaded files, and of a store that was just made: nothing is read yet. 0 or -ENOMEM. */
int coir_map_create(struct coir_map *map, struct coir_files *files);

/* Also one whose making failed, or that is all zero. */
void coir_map_destroy(struct coir_map *map);

/* ---- reading ----------------------------------------------------------------------------------------- */

struct coir_map_load_level {
    coir_frame_void;
    coir_args(struct coir_map *map; struct coir_space *space; unsigned file; unsigned level; char *buffer;
              struct coir_complaint *complaint;);
    uint64_t page, end, block, careful;
    size_t len;
    int err;
    struct iovec iov;
    struct coir_device_read read;
};
coir_declare(coir_map_load_level);

/*
 * Reads the map that `files->super` names, past the page cache, into a space that is new. What is in it is checked
 * against the pages above, up to the superblock, and against its sum of live blocks.
 *   -EBADMSG     a page is not the one that is meant; or the sums differ. The complaint names file, page and block
 *   -ENOMEM, or what a device said
 */
struct coir_map_load {
    coir_frame_void;
    coir_args(struct coir_map *map; struct coir_space *space; struct coir_complaint *complaint;);
    char *buffer;
    unsigned i, level;
    int err;
    struct coir_map_load_level one;
};
coir_declare(coir_map_load);

/* ---- writing ----------------------------------------------------------------------------------------- */

struct coir_map_lane {
    coir_frame_void;
    coir_args(struct coir_map_write *write; struct coir_disk_map *buffer;);
    uint64_t i;
    uint64_t offset;
    struct iovec iov;
    struct coir_device_write device;
};
coir_declare(coir_map_lane);

/*
 * Writes the frozen pages and those above them, into the slots that are not named; flushes nothing. `generation` is the
 * one that the superblock will have. Afterwards coir_map_commit or coir_map_abort; the latter also when it failed.
 *   -ENOMEM, -ECANCELED, or what a device said
 */
struct coir_map_write {
    coir_frame_void;
    coir_args(struct coir_map *map; struct coir_space *space; struct coir_frozen *frozen; uint64_t generation;
              struct coir_complaint *complaint;);
    struct coir_disk_map *buffers;
    unsigned file, level;
    uint64_t first;                     /* of the frozen pages, the file's first one */
    uint64_t next;                      /* of the level's changes, the next to be written */
    int err;
    struct coir_task *kids[COIR_MAP_LANES];
    struct coir_combine all;
    struct coir_map_lane lane[COIR_MAP_LANES];
};
coir_declare(coir_map_write);

/* Fills in `map_crc` and `map_slot` of every file, as after the write that was the last. */
void coir_map_roots(const struct coir_map *map, struct coir_disk_super *super);

/* Both superblocks that name what was written are durable: it is the map from now on. */
void coir_map_commit(struct coir_map *map);

/* It is not. Also when nothing was written. */
void coir_map_abort(struct coir_map *map);

/* ---- a page, for the tests and the fuzzer ------------------------------------------------------------ */

/* Whether the block that was read is page `page` of `level` of file `file` as `pointer` means it, in a checkpoint of at
 * most `generation`. 0, or -EBADMSG and `why`. What its bits or entries say is not looked at. */
int coir_map_page_check(const struct coir_map *map, unsigned file, unsigned level, uint64_t page,
                        const struct coir_disk_map *block, uint64_t generation, const char **why);

/* Takes what a page that was checked says: entries as pointers to the level below, bits into the space. 0, -EBADMSG
 * and `why`, -ENOMEM. */
int coir_map_page_take(struct coir_map *map, struct coir_space *space, unsigned file, unsigned level, uint64_t page,
                       const struct coir_disk_map *block, const char **why);

#endif
