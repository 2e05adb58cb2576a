/* SPDX-License-Identifier: MIT */
/*
 * A node of a tree as bytes: one block, docs/volume-format.md "Trees". In memory it has the same layout, and is
 * edited in place. Here is what can be said of one without knowing the others: where its entries are, whether a block
 * that was read is the node that was meant, and what is in it.
 *
 * What comes from a device is untrusted until coir_node_verify has said 0. Everything else here relies on that.
 * Pure functions, any thread; nothing suspends or allocates.
 */
#ifndef COIR_VOLUME_NODE_H
#define COIR_VOLUME_NODE_H

#include <stdbool.h>
#include <string.h>

#include "runtime/base/assert.h"
#include "volume/format.h"

enum {
    COIR_NODE_BYTES = COIR_BLOCK - 64,  /* of entries */
    COIR_NODE_CHILDREN = COIR_NODE_BYTES / sizeof(struct coir_disk_child),
    COIR_VALUE_MAX = 2000,              /* bytes; two entries of it fit, so a split always makes room for one more */
};
_Static_assert(COIR_NODE_CHILDREN == 168, "docs/volume-format.md");
_Static_assert(2 * (sizeof(struct coir_disk_entry) + COIR_VALUE_MAX) <= COIR_NODE_BYTES, "two fit");

/* ---- what a tree holds ------------------------------------------------------------------------------- */

/* Keys up to `last` are this leaf's. `shift` is the volume's, 0 for the other trees. */
struct coir_entry {
    uint64_t key, last;
    const void *value;
    unsigned length, shift;
};

/* What makes the values of a tree what they are. Static and constant. */
struct coir_tree_kind {
    const char *name;
    /* NULL, or what is wrong with an entry: static, for a message. The value is aligned to 8. `*next`, the least key
     * that may follow, is the entry's and one; it may be raised. 0: none may follow. */
    const char *(*check)(const struct coir_entry *e, uint64_t *next);
    /* A leaf goes to the medium: `page` is the copy that does, to be completed. NULL: nothing to do. */
    void (*complete)(void *owner, struct coir_disk_node *page);
};

extern const struct coir_tree_kind coir_kind_extents, coir_kind_catalog, coir_kind_names;

/* ---- whether it is the one --------------------------------------------------------------------------- */

/* What its pointer says of a node, and where in the tree that stands. */
struct coir_node_want {
    uint64_t tree, address;
    uint32_t crc, era;
    bool any_era;                       /* a root's pointer does not tell it */
    unsigned level, shift;
    uint64_t low, last;                 /* its keys are from `low` to `last` */
    const struct coir_tree_kind *kind;
};

/* The sum of a node as it stands at `address`. */
uint32_t coir_node_sum(const struct coir_disk_node *page, uint64_t address);

/* NULL: this is the node that was wanted, and all that is in it is sound. Otherwise what is wrong: static, for a
 * message. Reads the block and nothing else. */
const char *coir_node_verify(const struct coir_disk_node *page, const struct coir_node_want *want);

/* The same, when the sums are not to be looked at: for the fuzzer, which cannot guess them. */
const char *coir_node_verify_content(const struct coir_disk_node *page, const struct coir_node_want *want);

/* Whether this can be the root of a tree: an address and level that a tree may have. Roots are untrusted too. */
const char *coir_root_verify(const struct coir_disk_root *root);

/* ---- inner nodes ------------------------------------------------------------------------------------- */

static inline struct coir_disk_child *coir_children(struct coir_disk_node *page)
{
    return (struct coir_disk_child *)(void *)page->entries;
}

/* The child that a key belongs to: the last whose key is not above it; the first, for less than all. A node is 64 cache
 * lines that are seldom near: those that the first three steps may look at are asked for at once, then all that are
 * left. */
static inline unsigned coir_child_of(struct coir_disk_node *page, uint64_t key)
{
    const struct coir_disk_child *c = coir_children(page);
    unsigned at = 0, n = page->count;

    for (unsigned i = 1; i < 8; i++)
        __builtin_prefetch(&c[n * i / 8]);
    while (n > 1) {
        const unsigned half = n / 2;

        at += c[at + half].key <= key ? half : 0;
        n -= half;
        if (n * sizeof *c <= 512 && half * sizeof *c > 256) {
            for (unsigned i = 0; i < n; i += 64 / sizeof *c)
                __builtin_prefetch(&c[at + i]);
        }
    }
    return at;
}

/* The last key that child `at` may hold, where `last` is the node's. */
static inline uint64_t coir_child_last(struct coir_disk_node *page, unsigned at, uint64_t last)
{
    return at + 1u < page->count ? coir_children(page)[at + 1].key - 1 : last;
}

/* ---- leaves ------------------------------------------------------------------------------------------ */

/* Bytes that an entry with a value of `length` takes. */
static inline unsigned coir_entry_size(unsigned length)
{
    return (unsigned)sizeof(struct coir_disk_entry) + (length + 7u) / 8 * 8;
}

/* The entry that begins at byte `at` of the entries. */
static inline struct coir_disk_entry *coir_entry_at(struct coir_disk_node *page, unsigned at)
{
    return (struct coir_disk_entry *)(void *)(page->entries + at);
}

static inline void *coir_entry_value(struct coir_disk_entry *e)
{
    return e + 1;
}

static inline unsigned coir_entry_next(struct coir_disk_node *page, unsigned at)
{
    return at + coir_entry_size(coir_entry_at(page, at)->length);
}

/* The byte at which the first entry stands whose key is `key` or above; `used`: there is none. `*before` is that of
 * the one before it; -1: none. */
static inline unsigned coir_leaf_find(struct coir_disk_node *page, uint64_t key, int *before)
{
    unsigned at = 0;

    for (unsigned i = 0; i < COIR_BLOCK; i += 64)
        __builtin_prefetch((char *)page + i);
    *before = -1;
    while (at < page->used && coir_entry_at(page, at)->key < key) {
        *before = (int)at;
        at = coir_entry_next(page, at);
    }
    return at;
}

#endif
