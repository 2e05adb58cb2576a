/* SPDX-License-Identifier: MIT */
/*
 * volume/space.h - which blocks of a store are in use, and what may be given out.
 *
 *     n = coir_space_reserve(space, COIR_SPACE_WRITE, shift, count, runs, 8);     step 1
 *     ... the data is written there ...
 *     coir_space_use(space, runs[0].address, runs[0].blocks);                     step 3: the index names it
 *     coir_space_supersede(space, old.address, old.blocks, lsn);                  step 3: it named this until now
 *
 * All in memory, all on the store's home shard, and nothing here suspends: so nothing is locked. Every block from
 * `data` on is in one of these states:
 *
 *              reserve              use                supersede               freeze
 *      free ------------> reserved -----> live --------------------> fresh ------------> awaiting
 *        ^ <-- cancel -------'                                                              |
 *        |                                                                                  | the checkpoint is durable
 *        `------------------------------------------------------ held by reads <------------'
 *
 * Rule 7 (VOLUME.md section 2) is this picture: what LSN s superseded is given out again when a checkpoint with an
 * LSN >= s is durable in both superblocks, and no read runs that began before that checkpoint was frozen; what was
 * reserved and never used when its owner says so, which is when its I/O has ended. A hole punch that is to happen
 * holds its blocks by coir_space_claim, and gives them back by coir_space_cancel.
 *
 * On the medium only `live` is kept: docs/volume-format.md, "The space map". What a reservation held, or a read, is
 * free after a crash.
 *
 * Room: some blocks are kept so that what gives space back never lacks any. `reserve` = twice the most index nodes
 * that may be dirty, and one space map of what the files have grown to. A write leaves `reserve` alone, an unmap half
 * of it, a checkpoint nothing. Only blocks that the files have grown to count (volume/grow.h), so that the reserve
 * stands on the medium and not on a promise of the filesystem below.
 *
 * A run is in one page of the map (126 MiB). Who names blocks to be used, superseded or cancelled may join
 * neighbouring runs, and may split them.
 */
#ifndef COIR_VOLUME_SPACE_H
#define COIR_VOLUME_SPACE_H

#include "volume/format.h"
#include "volume/layout.h"

#include <stdbool.h>

enum { COIR_LONG = 16 };                /* blocks: what wants so many at once is long */

struct coir_space;
struct coir_space_reads;                /* a ticket: the reads that began between two freezes */

struct coir_run {
    uint64_t address;                   /* COIR_ADDRESS of the first block */
    uint64_t blocks;
};

/* ---- making ------------------------------------------------------------------------------------------ */

struct coir_space_file {
    uint64_t blocks;                    /* what it may grow to */
    uint64_t data;                      /* the first block that is given out */
    uint64_t grown;                     /* blocks that it has on the medium; at least `data`, at most `blocks` */
};

/* A space in which everything from `data` on is free. All three are multiples of COIR_REGION. 0 or -ENOMEM. */
int coir_space_create(struct coir_space **space, const struct coir_space_file *files, unsigned n);

/* Frees it, with what was frozen in it. NULL is allowed. */
void coir_space_destroy(struct coir_space *space);

/*
 * What the map on the medium says of one page of level 0, once for a page, before anything was reserved. Untrusted:
 *   0            the page's blocks are free and live as `bits` says
 *   -EBADMSG     a bit before `data` or beyond the file is 0, or one beyond what the file has grown to is 1
 *   -ENOMEM
 */
int coir_space_load(struct coir_space *space, unsigned file, uint64_t page, const uint64_t bits[COIR_MAP_BITS / 64]);

/* Called with `arg` when blocks have become free that a checkpoint or a read had held; it must not call back. */
void coir_space_on_free(struct coir_space *space, void (*freed)(void *arg), void *arg);

/* ---- giving out -------------------------------------------------------------------------------------- */

enum coir_space_class { COIR_SPACE_WRITE, COIR_SPACE_UNMAP, COIR_SPACE_CHECKPOINT };

/*
 * Whether `blocks` may be had now by this class of caller. Reserves nothing.
 *   0            they may
 *   -EFBIG       not before a file has grown: await coir_space_grow, and ask again
 *   -EBUSY       not before reads that run have ended: wait for coir_space_on_free
 *   -EAGAIN      not before a checkpoint is durable
 *   -ENOSPC      no
 */
int coir_space_check(const struct coir_space *space, enum coir_space_class who, uint64_t blocks);

/*
 * Reserves `n` volume blocks of 2^shift blocks each (shift 0 to 4, n at least 1), as few runs as it finds with
 * reasonable effort, each aligned to the volume block and a multiple of it. Small ones are given out one behind the
 * other. The result is the number of runs, 1 to `max`; when that is `max` they may be less than what was asked for,
 * and the caller asks for the rest. Errors are those of coir_space_check, where nothing is reserved, and -ENOMEM.
 * There may be too few aligned volume blocks though there are enough blocks; then the error says what may help.
 */
int coir_space_reserve(struct coir_space *space, enum coir_space_class who, unsigned shift, uint64_t n,
                       struct coir_run *runs, unsigned max);

/* Reserves exactly these, which must be free: for replay, and for `check`, which looks for two owners. 0; -EINVAL
 * when they are not all in a file's grown data, -EEXIST when one is not free (nothing is reserved); -ENOMEM. */
int coir_space_claim(struct coir_space *space, uint64_t address, uint64_t blocks);

/* Reserved blocks are in use from now on, or free again. */
void coir_space_use(struct coir_space *space, uint64_t address, uint64_t blocks);
void coir_space_cancel(struct coir_space *space, uint64_t address, uint64_t blocks);

/* Live blocks are no longer named by the index, since record `lsn`, which no frozen checkpoint contains; or by the
 * checkpoint of that LSN, which is about to be frozen. False, and nothing has changed: not all of them were live, so
 * the index and the space map that were read do not fit each other. */
bool coir_space_supersede(struct coir_space *space, uint64_t address, uint64_t blocks, uint64_t lsn);

/* Whether all of these are data of a file, as far as it has grown. */
bool coir_space_has(const struct coir_space *space, uint64_t address, uint64_t blocks);

/* Whether all of these are live; false for what is in no file. */
bool coir_space_is_live(const struct coir_space *space, uint64_t address, uint64_t blocks);

/* ---- reading ----------------------------------------------------------------------------------------- */

/* A read looks up the index and takes a ticket in one step; what the index named then is not given out before it has
 * handed the ticket back. Cannot fail. */
struct coir_space_reads *coir_space_read(struct coir_space *space);
void coir_space_read_ends(struct coir_space *space, struct coir_space_reads *ticket);

/* ---- checkpoints ------------------------------------------------------------------------------------- */

/* The pages of level 0 that differ from the last durable map. Sorted by file and page. */
struct coir_frozen_page {
    unsigned file;
    uint64_t page;
    struct held *held;                  /* private: what is superseded in it */
};

struct coir_frozen {
    uint64_t lsn;
    uint64_t live;                      /* blocks from `data` on, of all files */
    uint64_t n;
    struct coir_frozen_page *pages;
    struct coir_space_reads *last;      /* private: what was superseded before the freeze */
    struct coir_disk_map *images;       /* private */
};

/*
 * Freezes the map at `lsn`, in the step in which the tree is frozen: after the blocks of the new nodes are in use and
 * those of the old ones superseded. `lsn` is at least that of everything superseded so far. 0, or -ENOMEM, and then
 * nothing has changed. What comes out goes to coir_space_durable or coir_space_thaw before the next freeze. The step
 * is short: a page is copied when its image is asked for, or when it changes, whichever is first.
 */
int coir_space_freeze(struct coir_space *space, uint64_t lsn, struct coir_frozen **frozen);

/* Page `i` of the frozen ones, as it was at the freeze: `page` and `bits` of the disk page, the rest is for who writes
 * it. Aligned to a block; it lasts as long as `frozen`. Cannot fail. */
struct coir_disk_map *coir_space_image(struct coir_space *space, struct coir_frozen *frozen, uint64_t i);

/* Both superblocks that name this map are durable: what was superseded before the freeze, and that no read needs, is
 * free. Frees `frozen`. */
void coir_space_durable(struct coir_space *space, struct coir_frozen *frozen);

/* The map was not written: its pages go into the next one, and nothing is freed. Frees `frozen`. */
void coir_space_thaw(struct coir_space *space, struct coir_frozen *frozen);

/* ---- growing: volume/grow.h calls these -------------------------------------------------------------- */

/* The file has grown to `grown` blocks, which are durable. It can grow again, if it could not. 0 or -ENOMEM. */
int coir_space_grown(struct coir_space *space, unsigned file, uint64_t grown);

/* It could not: until it has grown it is as large as it is. */
void coir_space_stuck(struct coir_space *space, unsigned file);

/* The file that should grow next, the one that lacks most; -1 when all are as large as they may be. Of those that are
 * stuck only with `stuck_too`, and none with its bit in `except`. */
int coir_space_to_grow(const struct coir_space *space, bool stuck_too, uint64_t except);

/* Whether it is time to let a file grow, before somebody waits for it: less than `ahead` blocks are left to writes, and
 * a file can grow. */
bool coir_space_is_short(const struct coir_space *space, uint64_t ahead);

/* `blocks` of those that have just been superseded were it by something long: a write, or a range that is unmapped, of
 * COIR_LONG blocks and more. And how many they are, of what the next checkpoint gives back. If they are the most of it
 * they are given out first to who wants long runs. */
void coir_space_by_long(struct coir_space *space, uint64_t blocks);
uint64_t coir_space_long_fresh(const struct coir_space *space);

/* ---- counting ---------------------------------------------------------------------------------------- */

/* Blocks from `data` on. Their sum is `blocks` - `data`. */
struct coir_space_counts {
    uint64_t free;                      /* may be given out */
    uint64_t reserved;
    uint64_t live;
    uint64_t fresh;                     /* superseded since the last freeze */
    uint64_t awaiting;                  /* superseded before it: the checkpoint is not durable */
    uint64_t held;                      /* the checkpoint is durable, a read is not over */
    uint64_t ungrown;                   /* not on the medium yet */
};

/* Of one file; or, with -1, of all. */
void coir_space_count(const struct coir_space *space, int file, struct coir_space_counts *counts);

/* The blocks that writes leave alone, and the most index nodes that may be dirty. */
uint64_t coir_space_reserve_size(const struct coir_space *space);
uint64_t coir_space_dirty_cap(const struct coir_space *space);

/* What a file has grown to. */
uint64_t coir_space_grown_to(const struct coir_space *space, unsigned file);

/* Compares every bit with every sum and list. NULL, or what is wrong, static. For tests and `check`: it looks at all
 * of the map. */
const char *coir_space_verify(struct coir_space *space);

/* The first block at `*address` or above, in the order of addresses, that is live in one and not in the other; both
 * are of the same files. False: there is none. */
bool coir_space_differ(const struct coir_space *a, const struct coir_space *b, uint64_t *address);

#endif
