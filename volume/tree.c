/* SPDX-License-Identifier: MIT */
/*
 * Trees in one step: going down to a leaf, looking for keys, and changing the entries of a leaf. Where an entry does
 * not fit, or a leaf has become sparse, shape.c has the rest. Nothing here suspends; what is not in memory is said,
 * not read.
 */
#include "volume/nodes.h"

int coir_tree_init(struct coir_tree *t, struct coir_cache *c, const struct coir_tree_kind *kind, uint64_t id,
                   const struct coir_disk_root *root)
{
    *t = (struct coir_tree){ .cache = c, .kind = kind, .id = id, .root = *root, .empty = root->address == 0 };
    t->class = kind == &coir_kind_catalog ? COIR_CLASS_CATALOG : COIR_CLASS_TREE;
    coir_link_init(&t->link);
    coir_link_init(&t->frozen_link);
    return coir_root_verify(root) ? -EBADMSG : 0;
}

unsigned coir_tree_height(const struct coir_tree *t)
{
    return t->empty ? 0 : t->top ? t->top->level + 1u : t->root.level + 1u;
}

/* ---- going down ---- */

struct coir_node *coir_tree_descend(struct coir_tree *t, uint64_t key, unsigned level, uint64_t *low, uint64_t *last)
{
    struct coir_node *n = t->top;

    *low = 0;
    *last = UINT64_MAX;
    if (!coir_node_is_there(n))
        return NULL;
    while (n->level > level) {
        const unsigned at = coir_child_of(n->page, key);

        n->flags |= COIR_NODE_USED;
        if (at)
            *low = coir_children(n->page)[at].key;
        *last = coir_child_last(n->page, at, *last);
        n = coir_child(n->page, at);
        if (!coir_node_is_there(n))
            return NULL;
    }
    n->flags |= COIR_NODE_USED;
    return n;
}

bool coir_btree_seek(struct coir_tree *t, uint64_t key, struct coir_cursor *c)
{
    *c = (struct coir_cursor){ .tree = t, .before = -1, .last = UINT64_MAX };
    if (t->empty)
        return true;
    c->leaf = coir_tree_descend(t, key, 0, &c->low, &c->last);
    if (!c->leaf)
        return false;
    c->at = coir_leaf_find(c->leaf->page, key, &c->before);
    t->cache->counts.hits++;
    return true;
}

bool coir_cursor_has(const struct coir_cursor *c)
{
    return c->leaf && c->at < c->leaf->page->used;
}

uint64_t coir_cursor_key(const struct coir_cursor *c)
{
    COIR_ASSERT(coir_cursor_has(c));
    return coir_entry_at(c->leaf->page, c->at)->key;
}

void *coir_cursor_value(const struct coir_cursor *c, unsigned *length)
{
    struct coir_disk_entry *e;

    COIR_ASSERT(coir_cursor_has(c));
    e = coir_entry_at(c->leaf->page, c->at);
    *length = e->length;
    return coir_entry_value(e);
}

unsigned coir_cursor_after(const struct coir_cursor *c)
{
    COIR_ASSERT(coir_cursor_has(c));
    return coir_entry_next(c->leaf->page, c->at);
}

unsigned coir_leaf_used(const struct coir_node *leaf)
{
    return leaf->page->used;
}

uint64_t coir_node_address(const struct coir_node *n)
{
    return n->address;
}

int coir_cursor_next(struct coir_cursor *c, uint64_t *missing)
{
    struct coir_cursor next = *c;

    if (coir_cursor_has(c)) {
        next.before = (int)c->at;
        next.at = coir_entry_next(c->leaf->page, c->at);
    }
    while (next.leaf && next.at >= next.leaf->page->used) {
        if (next.last == UINT64_MAX)
            break;
        *missing = next.last + 1;
        if (!coir_btree_seek(c->tree, next.last + 1, &next))
            return -EAGAIN;
    }
    *c = next;
    return coir_cursor_has(c);
}

bool coir_cursor_previous(struct coir_cursor *c)
{
    if (c->before < 0)
        return false;
    c->at = coir_leaf_find(c->leaf->page, coir_entry_at(c->leaf->page, (unsigned)c->before)->key, &c->before);
    return true;
}

/* From the beginning of a leaf to the last entry of the one before it. */
static int last_before(struct coir_cursor *c, uint64_t *missing)
{
    if (c->low == 0)
        return 0;
    *missing = c->low - 1;
    if (!coir_btree_seek(c->tree, c->low - 1, c))
        return -EAGAIN;
    return coir_cursor_has(c) || coir_cursor_previous(c);
}

int coir_btree_find(struct coir_tree *t, uint64_t key, enum coir_find how, struct coir_cursor *c, uint64_t *missing)
{
    *missing = key;
    if (!coir_btree_seek(t, key, c))
        return -EAGAIN;
    if (coir_cursor_has(c) && coir_cursor_key(c) == key)
        return 1;
    switch (how) {
    case COIR_FIND_EXACT:
        return 0;
    case COIR_FIND_AT_MOST:
        return !c->leaf ? 0 : coir_cursor_previous(c) ? 1 : last_before(c, missing);
    case COIR_FIND_AT_LEAST:
        return coir_cursor_has(c) ? 1 : coir_cursor_next(c, missing);
    }
    return -EINVAL;
}

/* ---- changing a leaf ---- */

void coir_cursor_touch(struct coir_cursor *c, struct coir_credit *credit)
{
    COIR_ASSERT(c->leaf != NULL);
    coir_node_touch(c->leaf, credit);
}

/* Opens a gap for an entry in a leaf that has room for it, and makes the entry there but for its value. */
static void *open_gap(struct coir_node *leaf, unsigned at, uint64_t key, unsigned length)
{
    struct coir_disk_node *page = leaf->page;
    const unsigned size = coir_entry_size(length);
    struct coir_disk_entry *e = coir_entry_at(page, at);

    COIR_ASSERT(page->used + size <= COIR_NODE_BYTES);
    memmove(page->entries + at + size, page->entries + at, page->used - at);
    page->used = (uint16_t)(page->used + size);
    page->count++;
    *e = (struct coir_disk_entry){ .key = key, .length = (uint16_t)length };
    memset((char *)(e + 1) + length, 0, size - sizeof *e - length);
    return e + 1;
}

static void close_gap(struct coir_node *leaf, unsigned at)
{
    struct coir_disk_node *page = leaf->page;
    const unsigned next = coir_entry_next(page, at);

    memmove(page->entries + at, page->entries + next, page->used - next);
    page->used = (uint16_t)(page->used - (next - at));
    page->count--;
}

/* `key` stands between the entries around byte `at`, the second of which begins at `next`. */
static void check_order(const struct coir_cursor *c, uint64_t key, unsigned next)
{
    struct coir_disk_node *page = c->leaf->page;

    COIR_ASSERT(key >= c->low && key <= c->last);
    COIR_ASSERT(c->before < 0 || coir_entry_at(page, (unsigned)c->before)->key < key);
    COIR_ASSERT(next >= page->used || coir_entry_at(page, next)->key > key);
}

void *coir_cursor_insert(struct coir_cursor *c, uint64_t key, unsigned length, struct coir_credit *credit)
{
    const unsigned size = coir_entry_size(length);

    COIR_ASSERT(length <= COIR_VALUE_MAX);
    if (!c->leaf) {
        c->leaf = coir_tree_plant(c->tree, credit);
        c->at = 0;
    }
    check_order(c, key, c->at);
    coir_node_touch(c->leaf, credit);
    if (c->leaf->page->used + size > COIR_NODE_BYTES) {
        coir_leaf_split(c->leaf, c->at, key, size, credit);
        coir_btree_seek(c->tree, key, c);
    }
    return open_gap(c->leaf, c->at, key, length);
}

void *coir_cursor_resize(struct coir_cursor *c, unsigned length, struct coir_credit *credit)
{
    struct coir_disk_node *page = c->leaf->page;
    struct coir_disk_entry *e = coir_entry_at(page, c->at);
    const unsigned old = coir_entry_size(e->length), size = coir_entry_size(length), next = c->at + old;
    const unsigned kept = e->length < length ? e->length : length;

    COIR_ASSERT(coir_cursor_has(c) && length <= COIR_VALUE_MAX);
    coir_node_touch(c->leaf, credit);
    if (page->used + size - old > COIR_NODE_BYTES) {
        uint64_t value[(COIR_VALUE_MAX + 7) / 8];
        const uint64_t key = e->key;

        memcpy(value, e + 1, kept);
        close_gap(c->leaf, c->at);
        return memcpy(coir_cursor_insert(c, key, length, credit), value, kept);
    }
    memmove(page->entries + c->at + size, page->entries + next, page->used - next);
    page->used = (uint16_t)(page->used + size - old);
    e->length = (uint16_t)length;
    memset((char *)(e + 1) + kept, 0, size - sizeof *e - kept);
    return e + 1;
}

void coir_cursor_rekey(struct coir_cursor *c, uint64_t key, struct coir_credit *credit)
{
    COIR_ASSERT(coir_cursor_has(c));
    check_order(c, key, coir_entry_next(c->leaf->page, c->at));
    coir_node_touch(c->leaf, credit);
    coir_entry_at(c->leaf->page, c->at)->key = key;
}

void coir_cursor_delete(struct coir_cursor *c, struct coir_credit *credit)
{
    COIR_ASSERT(coir_cursor_has(c));
    coir_node_touch(c->leaf, credit);
    close_gap(c->leaf, c->at);
}

void coir_cursor_mend(struct coir_cursor *c, struct coir_credit *credit)
{
    if (c->leaf)
        coir_node_mend(c->leaf, credit);
    c->leaf = NULL;
}

void coir_btree_put(struct coir_tree *t, uint64_t key, const void *value, unsigned length, struct coir_credit *credit)
{
    struct coir_cursor c;
    const bool pinned = coir_btree_seek(t, key, &c);
    void *to;

    COIR_ASSERT(pinned);
    if (coir_cursor_has(&c) && coir_cursor_key(&c) == key)
        to = coir_cursor_resize(&c, length, credit);
    else
        to = coir_cursor_insert(&c, key, length, credit);
    memcpy(to, value, length);
}

bool coir_btree_delete(struct coir_tree *t, uint64_t key, struct coir_credit *credit)
{
    struct coir_cursor c;
    const bool pinned = coir_btree_seek(t, key, &c);

    COIR_ASSERT(pinned);
    if (!coir_cursor_has(&c) || coir_cursor_key(&c) != key)
        return false;
    coir_cursor_delete(&c, credit);
    coir_cursor_mend(&c, credit);
    return true;
}
