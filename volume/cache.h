/* SPDX-License-Identifier: MIT */
/*
 * The nodes that are in memory, of all trees of a store, under a limit.
 *
 *                 read                       changed                     freeze
 *     (medium) ----------> clean (address) ----------> dirty (no address) ------> frozen (is being written)
 *                            |    ^                       ^     ^                    |      |
 *          (medium) <--------'    |                       |     '----- failed -------'      | changed: the page is
 *                  evicted        '------------------------------------- done -------'      v copied first
 *                                                         |                       frozen and dirty
 *                                                         '-- done, failed -----------------'
 *
 * A node in memory is known by its parent: the entry there holds a tagged pointer in place of the address. So who goes
 * down a tree looks nothing up, and:
 *   1. a node in memory has its parent in memory; a node with children in memory is not evicted;
 *   2. a dirty node's parent is dirty: its address will change;
 *   3. what is dirty, frozen or pinned is not evicted, even beyond the limit;
 *   4. a frozen image does not change: whoever changes the node copies its page first.
 * One shard, the store's home: so there are no locks, and what does not suspend happens in one step.
 *
 * Memory comes in slabs and is kept: when the high-water mark has been reached nothing allocates any more. Steps that
 * may not fail draw on a credit that was taken before (struct coir_credit).
 */
#ifndef COIR_VOLUME_CACHE_H
#define COIR_VOLUME_CACHE_H

#include <coir/coir.h>

#include "device/device.h"
#include "volume/node.h"

struct coir_tree;
struct coir_slab;

/* A node that is not what its pointer says, or cannot be read. */
struct coir_damage {
    int status;                         /* -EBADMSG; or what the device said */
    unsigned level;
    uint64_t tree, address;
    const char *what;                   /* static */
};

struct coir_cache_options {
    /* bytes of nodes, at least 8 blocks' worth. What is in rule 3 may go beyond, and a quarter of the limit, or 8
     * blocks, is for clean nodes always */
    size_t limit;
    unsigned dirty;                     /* nodes that may be dirty, frozen ones not counted */
    struct coir_device *const *files;   /* of the store, by index; lasts as long as the cache */
    unsigned n_files;
    bool direct;                        /* reads go past the page cache; may be changed at any time */
    /* No checkpoint from the next to be frozen on names this block of a node. In the step of the change, or of
     * coir_checkpoint_done. Must not call back. */
    void (*released)(void *arg, uint64_t address);
    /* May be NULL. Must not call back. */
    void (*damaged)(void *arg, const struct coir_damage *damage);
    void *arg;
};

struct coir_cache_counts {
    uint64_t hits;                      /* leaves that were in memory when a key was looked for */
    uint64_t reads;                     /* nodes read from a device, damaged ones too */
    uint64_t evicted;
    uint64_t written;                   /* by checkpoints */
    uint64_t copied;                    /* pages, since a frozen node was changed */
    unsigned nodes, dirty, frozen;      /* now */
    unsigned promised;                  /* credit that somebody holds */
    unsigned pages;                     /* of memory, free ones included: the high-water mark */
};

/* By class, in the order in which checkpoints write; the catalog has the roots of the others in its leaves. */
enum { COIR_CLASS_TREE, COIR_CLASS_CATALOG, COIR_CLASSES };

struct coir_cache {
    struct coir_cache_options o;
    struct coir_cache_counts counts;
    unsigned limit;                     /* pages */
    unsigned used;                      /* pages that hold something */
    struct coir_slab *slabs;
    void *pages;                        /* free ones, each with a pointer to the next */
    unsigned n_pages, n_nodes, n_clean; /* free ones; in `clean` */
    struct coir_link nodes;             /* free */
    struct coir_link clean;             /* the clock: its hand is at the end */
    unsigned side;                      /* which of the two is dirty; the other is frozen */
    struct coir_link lists[2][COIR_CLASSES][COIR_TREE_LEVELS];
    struct coir_link changed_trees, frozen_trees;
    struct coir_checkpoint *checkpoint; /* that is under way */
};

/* 0, -EINVAL, -ENOMEM. Takes its first memory when it needs some. */
int coir_cache_init(struct coir_cache *c, const struct coir_cache_options *o);

/* Frees all memory, dirty nodes included. Nobody has pins or credit, no tree is used again. */
void coir_cache_destroy(struct coir_cache *c);

/* Changes the limit; evicts at once what it can. */
void coir_cache_limit(struct coir_cache *c, size_t bytes);

/* Evicts every clean node that is not pinned and has no children in memory, again and again: for tests, and when
 * memory is short. */
void coir_cache_evict_all(struct coir_cache *c);

/* Compares counts and lists. NULL, or what is wrong, static. For tests: it looks at all of it. */
const char *coir_cache_audit(const struct coir_cache *c);

/* ---- credit ------------------------------------------------------------------------------------------ */

/*
 * What a step may need that must not fail: so many nodes may become dirty, each with a page and a node of memory for
 * it. Taken while waiting is still allowed, used by the step, and what is left is given back.
 */
struct coir_credit {
    struct coir_cache *cache;           /* NULL: holds none */
    unsigned nodes;
};

/*
 * Tops the credit up to `nodes`. Does not suspend.
 *   0          it has them
 *   -EAGAIN    so many may not be dirty now: wait until credit has been given back, or for a checkpoint
 *   -ENOMEM    of memory
 * When it fails the credit has what it had before.
 */
int coir_credit_take(struct coir_cache *c, struct coir_credit *credit, unsigned nodes);

/* The same beyond the limit of dirty nodes: for what must go on when that has been reached (replay, removing). */
int coir_credit_force(struct coir_cache *c, struct coir_credit *credit, unsigned nodes);

/* Gives back what is left. */
void coir_credit_give(struct coir_credit *credit);

#endif
