/* SPDX-License-Identifier: MIT */
/*
 * A tree: keys of 64 bits to values of at most COIR_VALUE_MAX bytes, in nodes of the cache. What waits and what does
 * not is apart:
 *
 *     coir_try(f, &f->pins, coir_btree_pin, .tree = t, .pin = &f->pin, .first = a, .last = b, .change = true);
 *     err = coir_credit_take(t->cache, &f->credit, coir_pin_need(&f->pin, 1, size));      may have to wait for others
 *     ... other awaits ...
 *     if (!coir_pin_holds(&f->pin))                                                        begin again: pin
 *     if (f->credit.nodes < coir_pin_need(&f->pin, 1, size))                               begin again: credit
 *     coir_btree_seek(t, key, &cursor); coir_cursor_insert(&cursor, ...);                  one step: cannot fail
 *
 * A pin keeps the leaves of a range of keys in memory, and so all above them. Steps that change the tree go by a
 * cursor and take from a credit. They stop the program when a leaf is not in memory, or the credit is used up: both
 * can be asked for before, as above.
 *
 * The home shard only. Nothing but the operations with a frame suspends.
 */
#ifndef COIR_VOLUME_BTREE_H
#define COIR_VOLUME_BTREE_H

#include "volume/cache.h"

struct coir_node;

/* The owner's; fields are private but for those that are marked. Its address must not change. */
struct coir_tree {
    struct coir_cache *cache;
    const struct coir_tree_kind *kind;
    void *owner;                        /* public: `complete` of the kind gets it */
    uint64_t id;                        /* public */
    uint32_t era;                       /* public: of nodes that are written from now on */
    unsigned shift;                     /* public: for the kind */
    unsigned class;
    struct coir_node *top;              /* the root, when it is in memory */
    struct coir_disk_root root;         /* what the last checkpoint that is done wrote; unless it is changed, or empty,
                                           this is the root when `top` is NULL */
    struct coir_disk_root to;           /* what the checkpoint that is under way writes */
    struct coir_node *frozen_top;       /* whose address `to` will be */
    uint64_t changes;                   /* splits, merges and moves so far */
    bool empty;
    bool changed, frozen;               /* is in one of the cache's lists of trees */
    struct coir_link link, frozen_link;
};

/* A tree with the root that a checkpoint wrote; all zero for an empty one. Reads nothing. 0; -EBADMSG: that cannot be a
 * root. */
int coir_tree_init(struct coir_tree *t, struct coir_cache *c, const struct coir_tree_kind *kind, uint64_t id,
                   const struct coir_disk_root *root);

/* The tree will be in the next freeze, though none of its nodes has been changed: its owner has more to write. */
void coir_tree_change(struct coir_tree *t);

/* Takes the tree's nodes out of memory: for one that is not changed, nor frozen, nor pinned, nor being read. */
void coir_tree_forget(struct coir_tree *t);

static inline bool coir_tree_is_empty(const struct coir_tree *t)
{
    return t->empty;
}

/* Nodes from the root to a leaf; 0 when it is empty. */
unsigned coir_tree_height(const struct coir_tree *t);

/* Compares all that is in memory of the tree with the rules (volume/cache.h) and with itself. NULL, or what is wrong,
 * static. For tests. */
const char *coir_tree_audit(struct coir_tree *t);

/* ---- bringing into memory ---------------------------------------------------------------------------- */

/*
 * Brings the node at `level` on the way to `key` into memory, with what is above it. It stays there only until the next
 * await of anybody: who awaits this looks at once. Of several who want a node at once one reads it.
 *   0; also when the tree is not so high, or is empty
 *   -EBADMSG   a node is not what it should be; it has been told to `damaged`
 *   -ENOMEM, -ECANCELED, what the device says
 */
struct coir_btree_load {
    coir_frame_void;
    coir_args(struct coir_tree *tree; uint64_t key; unsigned level;);
    struct coir_node *node;
    struct coir_device *device;
    struct iovec iov;
    int what;
    union {
        struct coir_device_read read;
        struct coir_event_wait wait;
    };
};
coir_declare(coir_btree_load);

enum { COIR_PIN_LEAVES = 16, COIR_PIN_NODES = COIR_PIN_LEAVES + 12 };

/* What is pinned. All zero: nothing. Its fields are private but for those that are marked. */
struct coir_pin {
    struct coir_tree *tree;
    uint64_t first;                     /* public: keys from here */
    uint64_t last;                      /* public: to here have their leaves pinned */
    uint64_t since;                     /* the tree's `changes` then */
    unsigned leaves, n;                 /* the leaves are the first of `node`, in order */
    struct coir_node *node[COIR_PIN_NODES];
};

/*
 * Pins the leaves of the keys `first` to `last`, as many as fit into a pin: at least that of `first`, and pin->last
 * says how far it came. With `change` also the neighbours that keep nodes from becoming sparse when all keys in the
 * range, and one on either side, go away. What the pin had is let go first, also when it fails. Errors as
 * coir_btree_load.
 */
struct coir_btree_pin {
    coir_frame_void;
    coir_args(struct coir_tree *tree; struct coir_pin *pin; uint64_t first; uint64_t last; bool change;);
    uint64_t missing;                   /* the node at `level` on the way to this key */
    unsigned level;
    struct coir_btree_load load;
};
coir_declare(coir_btree_pin);

/* Pins without suspending what is in memory already: 0, or -EAGAIN where coir_btree_pin would have to read, and then
 * nothing is pinned. */
int coir_pin_now(struct coir_tree *t, struct coir_pin *pin, uint64_t first, uint64_t last, bool change);

/* Lets go. Also of one that is all zero, and twice. */
void coir_unpin(struct coir_pin *pin);

/* Whether the pinned leaves still are those of first to last: none of them was split, merged or moved. */
bool coir_pin_holds(const struct coir_pin *pin);

/* Nodes that may become dirty when, in the pinned range, anything is deleted and `entries` are inserted whose sizes
 * (coir_entry_size) are together `bytes`. Depends on how full the leaves are now: ask again in the step itself. */
unsigned coir_pin_need(const struct coir_pin *pin, unsigned entries, size_t bytes);

/* ---- in one step ------------------------------------------------------------------------------------- */

/* A place in a leaf: an entry, or behind the last. Valid until the tree is changed by another one, or an await. */
struct coir_cursor {
    struct coir_tree *tree;
    struct coir_node *leaf;             /* NULL: the tree is empty */
    unsigned at;                        /* byte of the entry */
    int before;                         /* byte of the one before it in the leaf; -1: none, or not known */
    uint64_t low, last;                 /* keys of the leaf */
};

/* Puts the cursor at the first entry at or above `key` in that key's leaf, which may be behind the leaf's last. False:
 * the leaf is not in memory. */
bool coir_btree_seek(struct coir_tree *t, uint64_t key, struct coir_cursor *c);

/* Whether an entry stands there. */
bool coir_cursor_has(const struct coir_cursor *c);

uint64_t coir_cursor_key(const struct coir_cursor *c);

/* The value, aligned to 8, and its length. It is written to only after coir_cursor_touch. */
void *coir_cursor_value(const struct coir_cursor *c, unsigned *length);

/* The byte behind the entry; and how many bytes of entries the leaf has. */
unsigned coir_cursor_after(const struct coir_cursor *c);
unsigned coir_leaf_used(const struct coir_node *leaf);

/* Where a node stands on the medium; 0: it is dirty or frozen. */
uint64_t coir_node_address(const struct coir_node *n);

/* Goes to the next entry of the leaf; behind the last: to the beginning of the next leaf that has one. 1: it stands
 * at an entry; 0: there are none; -EAGAIN: the leaf of key `*missing` is not in memory. */
int coir_cursor_next(struct coir_cursor *c, uint64_t *missing);

/* Goes to the entry before, in this leaf only. False: it is the first. */
bool coir_cursor_previous(struct coir_cursor *c);

/* Of an entry with just this key, at most this one, at least this one: the cursor is put there. 1, 0, -EAGAIN as
 * above. */
enum coir_find { COIR_FIND_EXACT, COIR_FIND_AT_MOST, COIR_FIND_AT_LEAST };
int coir_btree_find(struct coir_tree *t, uint64_t key, enum coir_find how, struct coir_cursor *c, uint64_t *missing);

/* The leaf is about to be changed: it and all above it become dirty. */
void coir_cursor_touch(struct coir_cursor *c, struct coir_credit *credit);

/* Inserts an entry before the cursor, which must be its place in the order, or into an empty tree; then the cursor
 * stands at it. The value is not set: the caller does, where the result points. */
void *coir_cursor_insert(struct coir_cursor *c, uint64_t key, unsigned length, struct coir_credit *credit);

/* Gives the entry another length; as much of the value as fits stays. The result is where it is now. */
void *coir_cursor_resize(struct coir_cursor *c, unsigned length, struct coir_credit *credit);

/* Gives the entry another key, between those around it. */
void coir_cursor_rekey(struct coir_cursor *c, uint64_t key, struct coir_credit *credit);

/* Deletes the entry; the cursor stands at what followed it in the leaf. coir_cursor_mend is owed. */
void coir_cursor_delete(struct coir_cursor *c, struct coir_credit *credit);

/* After deleting: a leaf that is empty is taken out, a sparse one shares with a neighbour, and so for those above. The
 * cursor is of no use afterwards. */
void coir_cursor_mend(struct coir_cursor *c, struct coir_credit *credit);

/* The three at once, for a key whose leaf is pinned. */
void coir_btree_put(struct coir_tree *t, uint64_t key, const void *value, unsigned length, struct coir_credit *credit);
bool coir_btree_delete(struct coir_tree *t, uint64_t key, struct coir_credit *credit);

#endif
