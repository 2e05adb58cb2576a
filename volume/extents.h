/* SPDX-License-Identifier: MIT */
/*
 * Where the blocks of a volume are: a tree of extents (docs/volume-format.md, "A volume's tree"), and how many there
 * are. lba and count are in volume blocks here, addresses and runs in blocks.
 *
 * An open volume's is kept by the catalog (volume/catalog.h), which opens and closes it. As in volume/btree.h what
 * waits is apart. A write:
 *
 *     coir_try(f, &f->pins, coir_extents_pin, .extents = x, .pin = &f->pin, .lba = lba, .count = count);
 *     need = coir_extents_need(x, &f->pin, count, runs);        and coir_credit_take, which may have to wait
 *     ... the data is written ...
 *     err = coir_extents_ready(x, &f->pin, &f->credit, count, runs);      else begin again, with pins or with credit
 *     coir_extents_map(x, &f->credit, ...);                     in the same step
 *
 * A pin may not reach over all of a large range (pin->last): then the rest is another write, in a step of its own.
 *
 * An extent lies within the keys of one leaf, so that a block is found in one leaf. Runs that reach over a leaf's last
 * key become two extents.
 *
 * The home shard only. Nothing but the operations with a frame suspends.
 */
#ifndef COIR_VOLUME_EXTENTS_H
#define COIR_VOLUME_EXTENTS_H

#include "volume/btree.h"

struct coir_run;
struct coir_catalog;

struct coir_extents {
    struct coir_tree tree;              /* `era`: that of what is mapped from now on */
    uint64_t blocks;                    /* the volume's size; not looked at here */
    uint64_t mapped;
    uint64_t origin;
    uint8_t state;                      /* COIR_VOLUME_... */
    struct coir_catalog *catalog;       /* NULL: a tree alone, for tests */
    struct coir_pin entry;              /* the leaf with the volume's entry in the catalog */
    unsigned users;                     /* of coir_catalog_open */
    struct coir_link link;              /* of the catalog's table of open ones */
};

/* Blocks to a volume block. */
static inline unsigned coir_extents_unit(const struct coir_extents *x)
{
    return 1u << (x->tree.shift - COIR_BLOCK_SHIFT);
}

/* ---- looking up -------------------------------------------------------------------------------------- */

/* Volume blocks that lie one behind the other. */
struct coir_mapped {
    uint64_t address;                   /* of the first; 0: a hole */
    uint64_t count;
};

/*
 * What stands at lba and behind, at most `count`: into at most `max` pieces, neighbours joined. The sum of block i is
 * crcs[i]; a hole's is 0. `crcs` may be NULL; then a piece may be long, and no more than `count` limits it. The
 * result is the number of pieces, `*covered` the sum of their counts: less than `count` when there are more pieces,
 * or a leaf is not in memory, which is when it is called again. 0 and 0: the first leaf is not.
 */
unsigned coir_extents_lookup(struct coir_extents *x, uint64_t lba, uint64_t count, struct coir_mapped *pieces,
                             unsigned max, uint32_t *crcs, uint64_t *covered);

/* The same, bringing leaves into memory, until `count` is covered or there are `max` pieces. Errors as
 * coir_btree_load. */
struct coir_extents_find {
    coir_frame(uint64_t);               /* covered */
    coir_args(struct coir_extents *extents; uint64_t lba; uint64_t count; struct coir_mapped *pieces; unsigned max;
              uint32_t *crcs;);
    unsigned n;                         /* pieces; a result too */
    uint64_t at;
    bool more;
    struct coir_btree_load load;
};
coir_declare(coir_extents_find);

/* Puts a cursor at the first extent that ends behind `at`, or behind the last of that leaf. False: the leaf is not in
 * memory. */
bool coir_extents_seek(struct coir_extents *x, uint64_t at, struct coir_cursor *c);

/* ---- changing ---------------------------------------------------------------------------------------- */

enum { COIR_MAP_MAX = 256 };            /* volume blocks that one map takes */

/* Pins what a change of lba to lba + count - 1 needs: the leaves, as many as fit (pin->last says how far), and the
 * volume's entry in the catalog. Errors as coir_btree_load. */
struct coir_extents_pin {
    coir_frame_void;
    coir_args(struct coir_extents *extents; struct coir_pin *pin; uint64_t lba; uint64_t count;);
    union {
        struct coir_btree_load load;
        struct coir_btree_pin pins;
    };
};
coir_declare(coir_extents_pin);

/* Credit for mapping `count` volume blocks in `runs` runs, or for unmapping with 0 runs, in the pinned range. */
unsigned coir_extents_need(const struct coir_extents *x, const struct coir_pin *pin, uint64_t count, unsigned runs);

/*
 * Whether the change can be made now.
 *   0          it can, and cannot fail
 *   -ESTALE    a leaf was split meanwhile: pin again
 *   -EAGAIN    the credit is no longer enough, since a leaf has been filled meanwhile: ask for the need, and take it
 */
int coir_extents_ready(const struct coir_extents *x, const struct coir_pin *pin, const struct coir_credit *credit,
                       uint64_t count, unsigned runs);

/* What a change let go: `blocks` blocks from `address` on. In the same step, in the order of lbas; it must not call
 * back. */
struct coir_superseded {
    void (*call)(void *arg, uint64_t address, uint64_t blocks);
    void *arg;
};

/* Maps `count` volume blocks, 1 to COIR_MAP_MAX, all of them pinned, to the runs, which have exactly so many; crcs are
 * one a volume block. What was there is superseded. */
void coir_extents_map(struct coir_extents *x, struct coir_credit *credit, uint64_t lba, unsigned count,
                      const struct coir_run *runs, unsigned n, const uint32_t *crcs,
                      const struct coir_superseded *superseded);

/* Volume blocks in runs, the first `skip` of which are left out, and a sum for each of the others. */
struct coir_blocks {
    const struct coir_run *runs;        /* whole volume blocks */
    unsigned n;
    uint64_t skip;                      /* volume blocks */
    const uint32_t *crcs;
};

/* The same, to what the blocks begin with; there may be more of them. */
void coir_extents_map_part(struct coir_extents *x, struct coir_credit *credit, uint64_t lba, unsigned count,
                           const struct coir_blocks *blocks, const struct coir_superseded *superseded);

/* Makes a hole of the volume blocks from lba on, `count` at most, all of them pinned; stops after `most` extents. The
 * result is how many volume blocks from lba on are a hole now. */
uint64_t coir_extents_unmap(struct coir_extents *x, struct coir_credit *credit, uint64_t lba, uint64_t count,
                            unsigned most, const struct coir_superseded *superseded);

/* Whether there is anything to unmap: the first mapped volume block at lba or above, in memory. 1: `*at` is it; 0: none
 * up to lba + count - 1; -EAGAIN: the leaf of `*at` is to be brought into memory first. */
int coir_extents_next(struct coir_extents *x, uint64_t lba, uint64_t count, uint64_t *at);

/* The size, state or era is about to be changed: the catalog's entry will be written. Its leaf is pinned by
 * coir_extents_pin, the credit is coir_extents_need. */
void coir_extents_touch(struct coir_extents *x, struct coir_credit *credit);

/* ---- both at once: for replay, for removing, for tests ------------------------------------------------- */

/*
 * Maps `count` volume blocks, any number of them, in as many steps as it takes. With `force` the limit of dirty nodes
 * does not count. The result is how many were mapped, in order, also when it fails:
 *   -EAGAIN   so many nodes may not be dirty now
 *   errors as coir_btree_load
 */
struct coir_extents_put {
    coir_frame(uint64_t);
    coir_args(struct coir_extents *extents; uint64_t lba; uint64_t count; const struct coir_blocks *blocks; bool force;
              const struct coir_superseded *superseded;);
    struct coir_pin pin;
    struct coir_credit credit;
    unsigned step;                      /* volume blocks of this step */
    int status;
    struct coir_extents_pin pins;
};
coir_declare(coir_extents_put);

/* Makes a hole of `count` volume blocks in steps of at most `most` extents; stops after `steps` of them (0: does not).
 * The result is how many volume blocks from lba on are a hole, also when it fails; errors as coir_extents_put. */
struct coir_extents_clear {
    coir_frame(uint64_t);
    coir_args(struct coir_extents *extents; uint64_t lba; uint64_t count; unsigned most; unsigned steps; bool force;
              const struct coir_superseded *superseded;);
    struct coir_pin pin;
    struct coir_credit credit;
    unsigned step;
    int status;
    struct coir_extents_pin pins;
};
coir_declare(coir_extents_clear);

#endif
