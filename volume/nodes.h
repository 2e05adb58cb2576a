/* SPDX-License-Identifier: MIT */
/*
 * A node in memory, for the files that make up the cache and the trees: cache.c (memory, eviction), tree.c and
 * shape.c (going down, changing, splitting and merging), pin.c (reading, pinning), freeze.c (checkpoints), audit.c.
 * Nobody else includes this. The rules are in volume/cache.h.
 *
 * An entry of an inner node whose child is in memory has, instead of an address, a pointer to that child under the tag
 * 0xff, which is no file's index. Its crc and era are then of no meaning: the child knows them, and writes them back
 * when it is evicted. An image, which a checkpoint writes, has tags only for children that are frozen too.
 */
#ifndef COIR_VOLUME_NODES_H
#define COIR_VOLUME_NODES_H

#include "volume/btree.h"

/* Freezing must not look at the nodes: so what is dirty and what is frozen is the same bit and the same list, 0 or 1,
 * and the cache's `side` says which of the two is dirty. */
enum {
    COIR_NODE_SIDE0 = 1, COIR_NODE_SIDE1 = 2,
    COIR_NODE_COPIED = 4,               /* frozen, and no longer needed for it */
    COIR_NODE_READING = 8,              /* the page is not filled; waiters have pins, and wait for `read` */
    COIR_NODE_GONE = 16,                /* not in the tree any more; is freed when unpinned and not frozen */
    COIR_NODE_USED = 32,                /* since the clock's hand last came by */
};

/* What is looked at on the way down is in the first 64 bytes, one cache line. */
struct coir_node {
    struct coir_disk_node *page;        /* GONE: NULL */
    struct coir_node *parent;           /* NULL: the root */
    struct coir_tree *tree;
    uint64_t low;                       /* the key of its entry in the parent; 0 for the root */
    uint64_t changed;                   /* the tree's `changes` when its keys last became others */
    uint32_t pins;
    uint16_t children;                  /* in memory */
    uint8_t level, flags;
    struct coir_link link;              /* free, or clean */
    struct coir_disk_node *image;       /* frozen, when the page has been changed since: what was frozen */
    uint64_t address;                   /* where it stands on the medium; 0: dirty */
    uint64_t to;                        /* frozen and copied: where the checkpoint writes it */
    uint32_t crc, era;                  /* of what stands at `address` */
    uint32_t to_crc, to_era;            /* of what stands at `to` */
    struct coir_link side[2];           /* dirty, frozen */
    int status;                         /* GONE since it could not be read: why */
    struct coir_event read;
} __attribute__((aligned(64)));

/* Differs from the medium, and is in the next freeze. */
static inline bool coir_node_is_dirty(const struct coir_node *n)
{
    return n->flags >> n->tree->cache->side & 1;
}

/* Belongs to the checkpoint under way. */
static inline bool coir_node_is_frozen(const struct coir_node *n)
{
    return n->flags >> !n->tree->cache->side & 1;
}

/* ---- lists ---- */

static inline void coir_link_init(struct coir_link *head)
{
    head->prev = head->next = head;
}

static inline bool coir_link_empty(const struct coir_link *head)
{
    return head->next == head;
}

/* At the front. */
static inline void coir_link_push(struct coir_link *head, struct coir_link *l)
{
    l->prev = head;
    l->next = head->next;
    head->next->prev = l;
    head->next = l;
}

static inline void coir_link_push_last(struct coir_link *head, struct coir_link *l)
{
    coir_link_push(head->prev, l);
}

/* Takes it out; also what is in no list, and was initialised. */
static inline void coir_link_cut(struct coir_link *l)
{
    l->prev->next = l->next;
    l->next->prev = l->prev;
    coir_link_init(l);
}

/* All of `from` goes to the end of `to`. */
static inline void coir_link_splice(struct coir_link *to, struct coir_link *from)
{
    if (coir_link_empty(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    coir_link_init(from);
}

/* ---- tags ---- */

#define COIR_TAG ((uint64_t)0xff << 56)

static inline uint64_t coir_tag(const struct coir_node *n)
{
    COIR_ASSERT((uintptr_t)n >> 56 == 0);
    return COIR_TAG | (uintptr_t)n;
}

static inline struct coir_node *coir_tagged(uint64_t address)
{
    return address >> 56 == 0xff ? (struct coir_node *)(uintptr_t)(address & ~COIR_TAG) : NULL;
}

/* The child in memory, or NULL. */
static inline struct coir_node *coir_child(struct coir_disk_node *page, unsigned at)
{
    return coir_tagged(coir_children(page)[at].address);
}

/* Where it stands in its parent. */
static inline unsigned coir_node_place(const struct coir_node *n)
{
    const unsigned at = coir_child_of(n->parent->page, n->low);

    COIR_ASSERT(coir_child(n->parent->page, at) == n);
    return at;
}

/* Filled, and in its tree. */
static inline bool coir_node_is_there(const struct coir_node *n)
{
    return n && !(n->flags & (COIR_NODE_READING | COIR_NODE_GONE));
}

/* ---- cache.c ---- */

/* A node with a page, evicting others; in no list, its flags 0, its fields for the caller to set. NULL: no memory. */
struct coir_node *coir_node_new(struct coir_cache *c);

/* The same, and a page alone, out of a credit. Cannot fail. */
struct coir_node *coir_node_promised(struct coir_cache *c, struct coir_credit *credit);
struct coir_disk_node *coir_page_promised(struct coir_cache *c, struct coir_credit *credit);

/* One node of the credit is used up without needing memory. */
void coir_credit_used(struct coir_cache *c, struct coir_credit *credit);

void coir_page_free(struct coir_cache *c, struct coir_disk_node *page);

/* Pages and images that nodes have, counted one by one. */
unsigned coir_cache_pages_in_use(const struct coir_cache *c);

/* One that is in no list and not GONE ends, with its page. */
void coir_node_free(struct coir_cache *c, struct coir_node *n);

/* Frees one that is GONE, unless it is pinned or frozen. */
void coir_node_gone(struct coir_cache *c, struct coir_node *n);

/* The parent, or the tree, has its address again. */
void coir_node_detach(struct coir_node *n);

/* Is clean from now on. */
void coir_node_is_clean(struct coir_cache *c, struct coir_node *n);

static inline void coir_node_pin(struct coir_node *n)
{
    n->pins++;
}

void coir_node_unpin(struct coir_cache *c, struct coir_node *n);

void coir_damage_report(struct coir_cache *c, const struct coir_damage *damage);

/* ---- tree.c ---- */

/* The node at `level` on the way to a key, and the keys that it may hold; NULL: not in memory, or the tree is empty
 * or not so high. */
struct coir_node *coir_tree_descend(struct coir_tree *t, uint64_t key, unsigned level, uint64_t *low, uint64_t *last);

/* ---- shape.c ---- */

/* The least key that belongs to a node. */
uint64_t coir_node_lowest(const struct coir_node *n);

/* The last one. */
uint64_t coir_node_last(const struct coir_node *n);

/* Dirty from now on, and all above it. A frozen page is copied first. */
void coir_node_touch(struct coir_node *n, struct coir_credit *credit);

/* Into the list of dirty nodes. */
void coir_node_list_dirty(struct coir_node *n);

/* The root of an empty tree, a leaf without entries. */
struct coir_node *coir_tree_plant(struct coir_tree *t, struct coir_credit *credit);

/* A dirty leaf is split so that an entry of `size` bytes, of key `key`, at byte `at` of it, fits into the half that the
 * key now belongs to. */
void coir_leaf_split(struct coir_node *leaf, unsigned at, uint64_t key, unsigned size, struct coir_credit *credit);

/* A dirty node has lost entries: repairs it and what is above it. It may be gone afterwards. */
void coir_node_mend(struct coir_node *n, struct coir_credit *credit);

enum {
    COIR_LEAF_SPARSE = COIR_NODE_BYTES / 4, COIR_LEAF_MERGE = COIR_NODE_BYTES * 3 / 4,
    COIR_INNER_SPARSE = COIR_NODE_CHILDREN / 4, COIR_INNER_MERGE = COIR_NODE_CHILDREN * 3 / 4,
};

static inline bool coir_node_is_sparse(const struct coir_node *n)
{
    return n->level ? n->page->count < COIR_INNER_SPARSE : n->page->used < COIR_LEAF_SPARSE;
}

#endif
