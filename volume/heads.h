/* SPDX-License-Identifier: MIT */
/*
 * Headers, paths and superblocks: making them, and the checks that stand between what is read and everything else.
 * Whatever passes a check here is good for use without a further look, whoever wrote it. Pure functions over one block;
 * any thread. `why`, filled by a check that fails, is a few words that go behind "the header at block 0 "; static.
 */
#ifndef COIR_VOLUME_HEADS_H
#define COIR_VOLUME_HEADS_H

#include "volume/layout.h"

#include <stdbool.h>

enum { COIR_GRAIN_MAX = 1 << 20, COIR_PATH_MAX = 4000 };

/* ---- any structure that is one block ----------------------------------------------------------------- */

/* Fills the head of a block that is complete otherwise: what it is, where it goes, the sum. */
void coir_block_seal(void *block, uint32_t magic, uint64_t address, uint64_t generation);

/* 0; -EBADMSG and `why`: it is not what was sealed for this address. */
int coir_block_check(const void *block, uint32_t magic, uint64_t address, const char **why);

/* Whether n bytes are all zero. */
bool coir_is_zero(const void *p, size_t n);

/* ---- headers and paths ------------------------------------------------------------------------------- */

/* A file's header, for block `at` (COIR_AT_HEADER or COIR_AT_HEADER2). */
void coir_header_make(struct coir_disk_header *h, const struct coir_layout *layout, const uint8_t store[16],
                      unsigned files, unsigned index, uint32_t grain, uint64_t at);

/* 0: it is the header of some file of a store, and `layout` is that file's. -ENOTSUP: of a later version. -EBADMSG. */
int coir_header_check(const struct coir_disk_header *h, uint64_t at, struct coir_layout *layout, const char **why);

/* What file `holder` says of where file `index` is: an absolute path of at most COIR_PATH_MAX bytes. */
void coir_path_make(struct coir_disk_path *p, unsigned holder, unsigned index, const char *path);

/* 0: `path` is absolute, and ends in zeros within the block unless it is COIR_PATH_MAX bytes long. -EBADMSG. */
int coir_path_check(const struct coir_disk_path *p, unsigned holder, unsigned index, const char **why);

/* ---- superblocks ------------------------------------------------------------------------------------- */

#define COIR_FEATURES_WRITE ((uint64_t)0)       /* those that this version knows */
#define COIR_FEATURES_READ ((uint64_t)0)

/* The first superblock of a store that has `layouts`, of which the files have `grown`; the head is not filled. */
void coir_super_make(struct coir_disk_super *s, const struct coir_layout *layouts, const uint64_t *grown,
                     unsigned files, const uint8_t store[16], const uint8_t key[16]);

/*
 * Of the superblock read at block `at` of file 0 of a store with these headers:
 *   0            all that it says is possible; `read_only`: it has a feature without which nobody may write
 *   -ENOTSUP     it has a feature without which nobody may read, or is of a later version
 *   -EBADMSG     it is damaged, or another store's
 */
int coir_super_check(const struct coir_disk_super *s, uint64_t at, const struct coir_layout *layouts, unsigned files,
                     const uint8_t store[16], bool *read_only, const char **why);

#endif
