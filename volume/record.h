/* SPDX-License-Identifier: MIT */
/*
 * What the journal of a store says (docs/volume-format.md, "The journal"): the bodies of its records, written and
 * read. Pure functions over bytes. Reading believes nothing: what coir_record_read has accepted lies within the body,
 * its counts agree with each other, its names have a length. Whether the volume exists, and the blocks are blocks of
 * the store, is for who applies it.
 */
#ifndef COIR_VOLUME_RECORD_H
#define COIR_VOLUME_RECORD_H

#include <stdbool.h>

#include "volume/format.h"

enum coir_record_kind {
    COIR_RECORD_WRITE = 1, COIR_RECORD_UNMAP, COIR_RECORD_CREATE, COIR_RECORD_RENAME, COIR_RECORD_RESIZE,
    COIR_RECORD_REMOVE, COIR_RECORD_GONE,
};

/* Volume blocks that lie one behind the other. */
struct coir_record_extent {
    uint64_t address;
    uint32_t count, zero;
};
COIR_SIZE_(coir_record_extent, 16);

/* Which fields count depends on the kind; `extents`, `crcs` and `name` point into the body. */
struct coir_record {
    enum coir_record_kind kind;
    uint64_t volume, lba;
    uint64_t count;                     /* volume blocks of a write or unmap */
    uint64_t blocks;                    /* volume blocks of a volume: its size */
    unsigned n_extents, shift, name_length;
    const struct coir_record_extent *extents;
    const uint32_t *crcs;               /* one for each volume block */
    const char *name;
};

enum { COIR_RECORD_MAX = 32 + 16 * COIR_EXTENT_MAX + 4 * COIR_EXTENT_MAX };   /* bytes of the largest body */

/* Bytes of the record's body, a multiple of 8. */
size_t coir_record_bytes(const struct coir_record *r);

/* Writes the body, coir_record_bytes bytes, to `to`, which is aligned to 8. */
void coir_record_put(const struct coir_record *r, void *to);

/* Reads a body of n bytes, aligned to 8. False: it is none of this version. */
bool coir_record_read(struct coir_record *r, unsigned kind, const void *body, size_t n);

#endif
