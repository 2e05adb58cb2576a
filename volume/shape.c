/* SPDX-License-Identifier: MIT */
/*
 * How trees become larger and smaller: making nodes dirty, splitting, merging. All nodes that are changed here are
 * dirty already, or are made so with the credit; a neighbour that is not in memory is left alone.
 *
 *   1. Nodes are made dirty from the root downwards: an image is made of a parent while its children are what they were
 *      at the freeze.
 *   2. Who moves a child to another node tells the child its parent, and both nodes how many children are in memory.
 *   3. `low` of a node in memory is the key of its entry in its parent. That of a first child may be more than the
 *      least key that it may hold (coir_node_lowest), since the child before it has been taken out; it is lowered
 *      before another one is put behind it.
 *   4. Whose range of keys changes notes the tree's `changes`, so that pins see it.
 */
#include <limits.h>
#include <stdlib.h>

#include "volume/nodes.h"

/* ---- dirty ---- */

void coir_tree_change(struct coir_tree *t)
{
    if (t->changed)
        return;
    t->changed = true;
    coir_link_push_last(&t->cache->changed_trees, &t->link);
}

void coir_node_list_dirty(struct coir_node *n)
{
    struct coir_cache *c = n->tree->cache;

    n->flags |= (uint8_t)(1u << c->side);
    coir_link_push_last(&c->lists[c->side][n->tree->class][n->level], &n->side[c->side]);
    c->counts.dirty++;
}

/* What is frozen stays as it is: children that are not are pointed at by their addresses. */
static void keep_image(struct coir_node *n, struct coir_credit *credit)
{
    struct coir_cache *c = n->tree->cache;

    n->image = coir_page_promised(c, credit);
    memcpy(n->image, n->page, COIR_BLOCK);
    c->counts.copied++;
    for (unsigned i = 0; n->level && i < n->image->count; i++) {
        const struct coir_node *child = coir_child(n->image, i);
        struct coir_disk_child *entry = &coir_children(n->image)[i];

        if (!child || coir_node_is_frozen(child))
            continue;
        COIR_ASSERT(child->address != 0);
        *entry = (struct coir_disk_child){ entry->key, child->address, child->crc, child->era };
    }
}

void coir_node_touch(struct coir_node *n, struct coir_credit *credit)
{
    struct coir_cache *c = n->tree->cache;

    if (coir_node_is_dirty(n))
        return;
    COIR_ASSERT(coir_node_is_there(n));
    if (n->parent)
        coir_node_touch(n->parent, credit);         /* 16 deep at most */
    else
        coir_tree_change(n->tree);
    if (coir_node_is_frozen(n) && !(n->flags & COIR_NODE_COPIED)) {
        keep_image(n, credit);
    } else {
        coir_credit_used(c, credit);
    }
    if (n->address) {
        coir_link_cut(&n->link);
        c->n_clean--;
        c->o.released(c->o.arg, n->address);
        n->address = 0;
    }
    n->page->era = n->tree->era;
    coir_node_list_dirty(n);
}

/* An empty node, dirty. */
static struct coir_node *fresh(struct coir_tree *t, unsigned level, struct coir_credit *credit)
{
    struct coir_node *n = coir_node_promised(t->cache, credit);

    COIR_ASSERT(level < COIR_TREE_LEVELS);
    n->tree = t;
    n->level = (uint8_t)level;
    n->changed = t->changes;
    memset(n->page, 0, offsetof(struct coir_disk_node, entries));
    n->page->tree = t->id;
    n->page->level = (uint16_t)level;
    n->page->era = t->era;
    coir_node_list_dirty(n);
    return n;
}

struct coir_node *coir_tree_plant(struct coir_tree *t, struct coir_credit *credit)
{
    COIR_ASSERT(t->empty && !t->top);
    t->changes++;
    coir_tree_change(t);
    t->top = fresh(t, 0, credit);
    t->empty = false;
    return t->top;
}

/* It is out of the tree. What a checkpoint needs of it is an image, or copied. */
static void drop(struct coir_node *n)
{
    struct coir_cache *c = n->tree->cache;

    COIR_ASSERT(coir_node_is_dirty(n) && n->children == 0);
    coir_link_cut(&n->side[c->side]);
    c->counts.dirty--;
    n->flags = (uint8_t)((n->flags & ~(1u << c->side)) | COIR_NODE_GONE);
    n->parent = NULL;
    coir_page_free(c, n->page);
    n->page = NULL;
    coir_node_gone(c, n);
}

/* ---- moving entries ---- */

static void keys_changed(struct coir_node *a, struct coir_node *b)
{
    a->changed = b->changed = ++a->tree->changes;
}

static void adopt(struct coir_node *to, unsigned at, unsigned n)
{
    for (unsigned i = at; i < at + n; i++) {
        struct coir_node *child = coir_child(to->page, i);

        if (!child)
            continue;
        child->parent->children--;
        to->children++;
        child->parent = to;
    }
}

/* Bytes of the first `n` entries from byte `at`, in a leaf or an inner node. */
static unsigned bytes_of(struct coir_node *n, unsigned at, unsigned count)
{
    unsigned end = at;

    if (n->level)
        return count * (unsigned)sizeof(struct coir_disk_child);
    while (count--)
        end = coir_entry_next(n->page, end);
    return end - at;
}

static void shift(struct coir_node *n, unsigned at, int by)
{
    memmove(n->page->entries + at + by, n->page->entries + at, n->page->used - at);
    n->page->used = (uint16_t)(n->page->used + by);
}

/* The last `count` entries, which begin at byte `at`, go to the front of the right neighbour. */
static void move_right(struct coir_node *left, unsigned at, unsigned count, struct coir_node *right)
{
    const unsigned bytes = left->page->used - at;

    shift(right, 0, (int)bytes);
    memcpy(right->page->entries, left->page->entries + at, bytes);
    left->page->used = (uint16_t)at;
    left->page->count = (uint16_t)(left->page->count - count);
    right->page->count = (uint16_t)(right->page->count + count);
    if (left->level)
        adopt(right, 0, count);
}

/* The first `count` entries go to the end of the left neighbour. */
static void move_left(struct coir_node *left, struct coir_node *right, unsigned count)
{
    const unsigned bytes = bytes_of(right, 0, count), first = left->page->count;

    memcpy(left->page->entries + left->page->used, right->page->entries, bytes);
    left->page->used = (uint16_t)(left->page->used + bytes);
    left->page->count = (uint16_t)(left->page->count + count);
    right->page->count = (uint16_t)(right->page->count - count);
    shift(right, bytes, -(int)bytes);
    if (left->level)
        adopt(left, first, count);
}

/* ---- splitting ---- */

uint64_t coir_node_lowest(const struct coir_node *n)
{
    for (; n->parent; n = n->parent) {
        if (coir_node_place(n) > 0)
            return n->low;
    }
    return 0;
}

uint64_t coir_node_last(const struct coir_node *n)
{
    for (; n->parent; n = n->parent) {
        const unsigned next = coir_node_place(n) + 1;

        if (next < n->parent->page->count)
            return coir_children(n->parent->page)[next].key - 1;
    }
    return UINT64_MAX;
}

static void set_low(struct coir_node *n, uint64_t low)
{
    coir_children(n->parent->page)[coir_node_place(n)].key = low;
    n->low = low;
}

static void put_child(struct coir_node *parent, unsigned at, struct coir_node *child)
{
    const unsigned byte = at * (unsigned)sizeof(struct coir_disk_child);

    shift(parent, byte, sizeof(struct coir_disk_child));
    parent->page->count++;
    parent->children++;
    child->parent = parent;
    coir_children(parent->page)[at] = (struct coir_disk_child){ .key = child->low, .address = coir_tag(child) };
}

/* A new root over the old one. */
static void grow(struct coir_tree *t, struct coir_credit *credit)
{
    struct coir_node *old = t->top;

    t->top = fresh(t, old->level + 1u, credit);
    put_child(t->top, 0, old);
}

/* Inserts `right` behind `left` in the parent, which may have to be split for it, and so on upwards. */
static void insert_right(struct coir_node *left, struct coir_node *right, struct coir_credit *credit)
{
    struct coir_node *parent, *other;
    unsigned at, keep;

    if (!left->parent)
        grow(left->tree, credit);
    set_low(left, coir_node_lowest(left));
    parent = left->parent;
    at = coir_node_place(left) + 1;
    if (parent->page->count == COIR_NODE_CHILDREN) {
        /* At the end, as when keys come in order, the left one stays full. */
        keep = at == COIR_NODE_CHILDREN ? at : COIR_NODE_CHILDREN / 2;
        other = fresh(left->tree, parent->level, credit);
        move_right(parent, keep * (unsigned)sizeof(struct coir_disk_child), COIR_NODE_CHILDREN - keep, other);
        if (at > keep || keep == COIR_NODE_CHILDREN) {
            put_child(other, at - keep, right);
        } else {
            put_child(parent, at, right);
        }
        other->low = coir_children(other->page)[0].key;
        keys_changed(parent, other);
        insert_right(parent, other, credit);
        return;
    }
    put_child(parent, at, right);
}

struct cut {
    unsigned at, count;                 /* byte, and entries before it, that stay */
    bool left;                          /* the new entry is the last of what stays, when it is put there */
};

/* Where to cut a leaf that gets an entry of `size` at byte `at`, so that both sides are as equal as can be. */
static struct cut choose_cut(struct coir_node *leaf, unsigned at, unsigned size)
{
    struct coir_disk_node *page = leaf->page;
    const int total = (int)(page->used + size);
    struct cut c = { 0, 0, false }, best = c;
    int best_off = INT_MAX;

    for (;; c.at = coir_entry_next(page, c.at), c.count++) {
        /* Where the new entry would stand both are tried. */
        for (c.left = c.at > at;; c.left = true) {
            const int left = (int)(c.at + (c.left ? size : 0)), off = abs(2 * left - total);

            if (off < best_off && left <= COIR_NODE_BYTES && total - left <= COIR_NODE_BYTES) {
                best_off = off;
                best = c;
            }
            if (c.left || c.at < at)
                break;
        }
        if (c.at >= page->used)
            break;
    }
    COIR_ASSERT(best_off != INT_MAX);
    return best;
}

void coir_leaf_split(struct coir_node *leaf, unsigned at, uint64_t key, unsigned size, struct coir_credit *credit)
{
    struct coir_disk_node *page = leaf->page;
    struct coir_node *right = fresh(leaf->tree, 0, credit);
    struct cut cut;

    /* At an end, as when keys come in order, what is there stays together. */
    if (at == 0)
        cut = (struct cut){ 0, 0, true };
    else if (at == page->used)
        cut = (struct cut){ at, page->count, false };
    else
        cut = choose_cut(leaf, at, size);
    move_right(leaf, cut.at, page->count - cut.count, right);
    right->low = cut.at == at && !cut.left ? key : coir_entry_at(right->page, 0)->key;
    keys_changed(leaf, right);
    insert_right(leaf, right, credit);
}

/* ---- merging ---- */

/* The entry of a child goes. */
static void take_out(struct coir_node *n)
{
    struct coir_node *parent = n->parent;
    const unsigned byte = (coir_node_place(n) + 1) * (unsigned)sizeof(struct coir_disk_child);

    shift(parent, byte, -(int)sizeof(struct coir_disk_child));
    parent->page->count--;
    parent->children--;
    n->tree->changes++;
    drop(n);
}

/* The first key of an inner node that is not its lowest becomes that: its child is to stand behind others. */
static void lower_first(struct coir_node *n)
{
    struct coir_node *child = coir_child(n->page, 0);

    coir_children(n->page)[0].key = n->low;
    if (child)
        child->low = n->low;
}

static uint64_t first_key(struct coir_node *n)
{
    return n->level ? coir_children(n->page)[0].key : coir_entry_at(n->page, 0)->key;
}

/* Makes two neighbours about equal. */
static void balance(struct coir_node *left, struct coir_node *right)
{
    const unsigned half = (left->page->used + right->page->used) / 2u;
    unsigned byte = 0, n = 0;

    if (left->page->used > half) {
        while (byte < half) {
            byte += bytes_of(left, byte, 1);
            n++;
        }
        if (n < left->page->count)
            move_right(left, byte, left->page->count - n, right);
    } else {
        while (left->page->used + byte + bytes_of(right, byte, 1) <= half) {
            byte += bytes_of(right, byte, 1);
            n++;
        }
        move_left(left, right, n);
    }
    set_low(right, first_key(right));
    keys_changed(left, right);
}

/* A sparse node and one beside it become one, or about equal. True: the parent has lost a child. */
static bool share(struct coir_node *n, struct coir_credit *credit)
{
    struct coir_node *left = n, *right = n, *parent = n->parent;
    const unsigned at = coir_node_place(n);
    unsigned sum, most;

    if (at > 0 && coir_node_is_there(coir_child(parent->page, at - 1)))
        left = coir_child(parent->page, at - 1);
    else if (at + 1u < parent->page->count && coir_node_is_there(coir_child(parent->page, at + 1)))
        right = coir_child(parent->page, at + 1);
    else
        return false;
    coir_node_touch(left == n ? right : left, credit);
    set_low(left, coir_node_lowest(left));
    if (n->level)
        lower_first(right);
    sum = n->level ? left->page->count + right->page->count : left->page->used + right->page->used;
    most = n->level ? COIR_INNER_MERGE : COIR_LEAF_MERGE;
    if (sum > most) {
        balance(left, right);
        return false;
    }
    move_left(left, right, right->page->count);
    keys_changed(left, right);
    take_out(right);
    return true;
}

/* A root with one child is not needed. */
static void lower_root(struct coir_tree *t)
{
    while (t->top && t->top->level && t->top->page->count == 1) {
        struct coir_node *old = t->top, *child = coir_child(old->page, 0);

        if (!coir_node_is_there(child) || !coir_node_is_dirty(child))
            return;
        t->top = child;
        child->parent = NULL;
        child->low = 0;
        old->children = 0;
        drop(old);
    }
}

void coir_node_mend(struct coir_node *n, struct coir_credit *credit)
{
    struct coir_tree *t = n->tree;

    if (!coir_node_is_dirty(n))
        return;
    for (struct coir_node *parent; n; n = parent) {
        parent = n->parent;
        if (n->page->count && (!parent || !coir_node_is_sparse(n)))
            break;
        if (n->page->count == 0 && !parent) {
            t->top = NULL;
            t->empty = true;
            t->changes++;
            drop(n);
            return;
        }
        if (n->page->count == 0)
            take_out(n);
        else if (!share(n, credit))
            break;
    }
    lower_root(t);
}
