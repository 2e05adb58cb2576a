/* SPDX-License-Identifier: MIT */
/*
 * The volumes of a store: two trees, by id and by name, and those volumes that are open. Opening a store reads none of
 * them; a listing goes page by page.
 *
 * An open volume is a struct coir_extents, one for each id however many have it open. What it says (root, size, state,
 * blocks mapped) is newer than the entry in the tree, into which it is written when a checkpoint is frozen. It stays
 * until that is done, even if nobody has it open.
 *
 * Changes are made in one step, like those of the trees, after pinning:
 *
 *     coir_try(f, &f->pins, coir_catalog_pin, .catalog = c, .change = &f->change, .id = id, .name = ..., .n = ...);
 *     err = coir_credit_take(c->cache, &f->credit, coir_catalog_need(&f->change));
 *     if (!coir_catalog_ready(&f->change, &f->credit))         begin again
 *     err = coir_catalog_create(&f->change, &f->credit, ...);  and the journal's record, in the same step
 *
 * The home shard only. Nothing but the operations with a frame suspends.
 */
#ifndef COIR_VOLUME_CATALOG_H
#define COIR_VOLUME_CATALOG_H

#include "volume/extents.h"
#include "volume/freeze.h"

struct coir_catalog {
    struct coir_cache *cache;
    struct coir_tree volumes, names;
    uint8_t key[16];
    struct coir_link *open;             /* table by id; a power of two of lists */
    unsigned n_lists, n_open;
};

/* With what a superblock says. 0, -ENOMEM, -EBADMSG. */
int coir_catalog_init(struct coir_catalog *c, struct coir_cache *cache, const struct coir_disk_root *volumes,
                      const struct coir_disk_root *names, const uint8_t key[16]);

/* Before the cache's end. Nobody has a volume open; what a checkpoint has not written is lost. */
void coir_catalog_destroy(struct coir_catalog *c);

/* SipHash-2-4 of a name. */
uint64_t coir_catalog_hash(const struct coir_catalog *c, const void *name, size_t n);

/* ---- finding, opening -------------------------------------------------------------------------------- */

/* The id of a name, of `n` bytes. -ENOENT; -EINVAL: a name has 1 to 255 bytes; errors as coir_btree_load. */
struct coir_catalog_find {
    coir_frame(uint64_t);
    coir_args(struct coir_catalog *catalog; const char *name; size_t n;);
    uint64_t hash;
    int what;
    struct coir_btree_load load;
};
coir_declare(coir_catalog_find);

/* Opens a volume, whatever its state. -ENOENT, -ENOMEM, errors as coir_btree_load. */
struct coir_catalog_open {
    coir_frame(struct coir_extents *);
    coir_args(struct coir_catalog *catalog; uint64_t id;);
    int what;
    struct coir_btree_load load;
};
coir_declare(coir_catalog_open);

/* Another user of an open volume; and one less. */
void coir_catalog_share(struct coir_extents *x);
void coir_catalog_close(struct coir_extents *x);

/* One that is in memory, or NULL. */
struct coir_extents *coir_catalog_get(struct coir_catalog *c, uint64_t id);

struct coir_catalog_item {
    uint64_t id, blocks, mapped, origin;
    uint32_t era;
    uint8_t shift, state, name_length;
    char name[COIR_NAME_MAX + 1];       /* ends in a 0 that name_length does not count */
};

/* Fills in `items` from the first volume at or above `from`, in the order of ids, at most `max`. Result: how many; less
 * than `max` when there are no more. */
struct coir_catalog_list {
    coir_frame(unsigned);
    coir_args(struct coir_catalog *catalog; uint64_t from; struct coir_catalog_item *items; unsigned max;);
    uint64_t next;
    unsigned n;
    struct coir_btree_load load;
};
coir_declare(coir_catalog_list);

/* ---- changing ---------------------------------------------------------------------------------------- */

/* What a change needs in memory. All zero: nothing. */
struct coir_catalog_change {
    struct coir_catalog *catalog;
    struct coir_pin volume, name, other;
};

/* Pins the entries of a volume and of one or two names, each of which may be there or not; NULL: no name. */
struct coir_catalog_pin {
    coir_frame_void;
    coir_args(struct coir_catalog *catalog; struct coir_catalog_change *change; uint64_t id; const char *name;
              size_t n; const char *other; size_t n_other;);
    uint64_t hash;
    struct coir_btree_pin pins;
};
coir_declare(coir_catalog_pin);

void coir_catalog_unpin(struct coir_catalog_change *change);

/* Credit for any of the changes below. */
unsigned coir_catalog_need(const struct coir_catalog_change *change);

/* Whether a change can be made now: 0, -ESTALE, -EAGAIN as coir_extents_ready. */
int coir_catalog_ready(const struct coir_catalog_change *change, const struct coir_credit *credit);

/*
 * A volume with no blocks mapped. Pinned are its id, which is new, and its name.
 *   -EEXIST    a volume has the name
 *   -ENOTUNIQ  another name has the same hash: this one cannot be had in this store
 *   -EINVAL    the name's length, the shift
 * A change that fails has changed nothing.
 */
int coir_catalog_create(struct coir_catalog_change *change, struct coir_credit *credit,
                        const struct coir_catalog_item *item);

/* Another name. Pinned are the id, the old and the new name. Errors as create; -ENOENT; -ESTALE: its name is no
 * longer the one that was pinned. */
int coir_catalog_rename(struct coir_catalog_change *change, struct coir_credit *credit, uint64_t id,
                        const char *name, size_t n);

/* It is being removed, and its name is free. Pinned are the id and the name. -ENOENT, also when it is being removed
 * already; -ESTALE. */
int coir_catalog_remove(struct coir_catalog_change *change, struct coir_credit *credit, uint64_t id);

/* Its entry goes. Pinned is the id. -ENOENT; -EBUSY: it is not being removed, its tree is not empty, or somebody has it
 * open. */
int coir_catalog_gone(struct coir_catalog_change *change, struct coir_credit *credit, uint64_t id);

/* ---- checkpoints ------------------------------------------------------------------------------------- */

/* Writes what is new of the open volumes into their entries, then coir_checkpoint_freeze. Makes no node dirty. */
void coir_catalog_freeze(struct coir_catalog *c, struct coir_checkpoint *ck, const struct coir_run *runs, unsigned n,
                         uint64_t generation);

/* The roots for the superblock, when coir_checkpoint_write has succeeded. */
void coir_catalog_roots(const struct coir_catalog *c, struct coir_disk_root *volumes, struct coir_disk_root *names);

/* coir_checkpoint_done and coir_checkpoint_failed of a store. */
void coir_catalog_done(struct coir_catalog *c, struct coir_checkpoint *ck);
void coir_catalog_failed(struct coir_catalog *c, struct coir_checkpoint *ck);

#endif
