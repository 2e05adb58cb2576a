/* SPDX-License-Identifier: MIT */
/*
 * Walking trees on the medium, for `check`: every node is read past the cache and verified, and what is damaged is
 * told and left out, with all below it. Memory is a block a level. What is walked is a checkpoint: nobody may write
 * where its nodes stand meanwhile.
 */
#ifndef COIR_VOLUME_WALK_H
#define COIR_VOLUME_WALK_H

#include "volume/cache.h"

/* ---- one tree ---------------------------------------------------------------------------------------- */

struct coir_walk_options {
    struct coir_device *const *files;
    unsigned n_files;
    bool direct;                        /* past the page cache */
    void (*damaged)(void *arg, const struct coir_damage *damage);
    void *arg;
};

struct coir_walker {
    struct coir_walk_options o;
    const struct coir_tree_kind *kind;
    uint64_t tree;
    unsigned shift;
    struct coir_disk_root root;
    struct coir_disk_node *pages;       /* one a level, the leaf's first */
    struct {
        unsigned next;                  /* the child to be read next */
        uint64_t low, last;             /* keys of the node of this level */
    } at[COIR_TREE_LEVELS];
    unsigned level;                     /* where it goes on */
    bool begun;
    uint64_t nodes, damage;             /* so far */
    const struct coir_disk_node *node;  /* the one that coir_walker_next found; valid until it is called again */
};

/* 0; -ENOMEM; -EBADMSG: that cannot be a root. */
int coir_walker_init(struct coir_walker *w, const struct coir_walk_options *o, const struct coir_tree_kind *kind,
                     uint64_t tree, unsigned shift, const struct coir_disk_root *root);

void coir_walker_destroy(struct coir_walker *w);

/* The next sound node, parents before children, keys rising. Result false: that was all. Damage is no failure; only
 * -ECANCELED is. */
struct coir_walker_next {
    coir_frame(bool);
    coir_args(struct coir_walker *walker;);
    struct coir_node_want want;
    struct coir_device *device;
    struct iovec iov;
    int status;
    struct coir_device_read read;
};
coir_declare(coir_walker_next);

/* ---- all of them ------------------------------------------------------------------------------------- */

/* What is in use. The calls must not suspend; they may be NULL. */
struct coir_check_calls {
    /* a node of a tree, and the block it stands in */
    void (*node)(void *arg, uint64_t tree, unsigned level, uint64_t address);
    /* `blocks` blocks from `address` on, which hold `count` volume blocks from lba on */
    void (*extent)(void *arg, uint64_t volume, uint64_t lba, unsigned count, uint64_t address, uint64_t blocks);
    /* each volume, before its nodes */
    void (*volume)(void *arg, uint64_t id, const struct coir_disk_volume *v);
};

/*
 * Walks the catalog, the names, and the tree of every volume. Besides every node it compares the count of mapped volume
 * blocks with the extents, and the names with the catalog. Damage goes to options.damaged; result: how much of it there
 * was. Fails with -ENOMEM and -ECANCELED only.
 */
struct coir_check_trees {
    coir_frame(uint64_t);
    coir_args(const struct coir_walk_options *options; const struct coir_disk_root *volumes;
              const struct coir_disk_root *names; const uint8_t *key; const struct coir_check_calls *calls;);
    struct coir_walker outer, inner;
    const struct coir_disk_volume *volume;      /* in outer's page */
    uint64_t id, mapped;
    uint64_t by_id, by_name;            /* sums over what the catalog, and the names, say */
    unsigned byte;
    int status;
    struct coir_walker_next next;
};
coir_declare(coir_check_trees);

#endif
