/* SPDX-License-Identifier: MIT */
/*
 * Compares what is in memory of trees with the rules at the heads of cache.h, cache.c and shape.c. For tests: it
 * looks at all of it. It changes nothing.
 */
#include "volume/nodes.h"

struct audit {
    struct coir_tree *tree;
    unsigned nodes;
};

static const char *audit_page(struct coir_node *n, uint64_t low, uint64_t last)
{
    struct coir_disk_node *page = n->page;
    struct coir_disk_node copy;
    const struct coir_node_want want = {
        .tree = n->tree->id, .level = n->level, .any_era = true, .shift = n->tree->shift, .low = low, .last = last,
        .kind = n->tree->kind,
    };

    memcpy(&copy, page, sizeof copy);
    for (unsigned i = 0; n->level && i < page->count; i++) {
        if (coir_child(page, i))
            coir_children(&copy)[i].address = 1;        /* any that can be */
    }
    return coir_node_verify_content(&copy, &want);
}

static const char *audit_flags(const struct coir_node *n)
{
    const bool dirty = coir_node_is_dirty(n), frozen = coir_node_is_frozen(n);

    if (n->flags & COIR_NODE_GONE)
        return "a node in the tree is gone";
    if ((dirty || frozen) != (n->address == 0))
        return "a node that is not written has an address, or the other way round";
    if (dirty && n->parent && !coir_node_is_dirty(n->parent))
        return "a dirty node's parent is not dirty";
    if (frozen && !dirty && n->parent && !coir_node_is_frozen(n->parent) && !coir_node_is_dirty(n->parent))
        return "a frozen node's parent is clean";
    if (n->image && (!frozen || !dirty || n->flags & COIR_NODE_COPIED))
        return "an image that nobody needs";
    if (frozen && dirty && !(n->flags & COIR_NODE_COPIED) && !n->image)
        return "a frozen node was changed without an image";
    if (frozen && !n->tree->cache->checkpoint)
        return "a node is frozen without a checkpoint";
    if ((dirty || frozen) == !coir_link_empty(&n->link))
        return "a node is in the wrong list";
    return dirty && !n->tree->changed ? "a tree with dirty nodes is not among the changed ones" : NULL;
}

static const char *audit_node(struct audit *a, struct coir_node *n, uint64_t low, uint64_t last)
{
    unsigned children = 0;
    const char *bad = audit_flags(n);

    a->nodes++;
    if (!bad)
        bad = audit_page(n, low, last);
    for (unsigned i = 0; !bad && n->level && i < n->page->count; i++) {
        struct coir_node *child = coir_child(n->page, i);

        if (!child)
            continue;
        children++;
        if (child->parent != n || child->tree != a->tree || child->level + 1 != n->level)
            return "a child does not know where it hangs";
        if (child->low != coir_children(n->page)[i].key)
            return "a child's low is not its entry's key";
        if (child->flags & COIR_NODE_READING) {
            bad = child->pins && child->address ? NULL : "a node is being read for nobody, or from nowhere";
            continue;
        }
        bad = audit_node(a, child, i ? child->low : low, coir_child_last(n->page, i, last));
    }
    return bad ? bad : children != n->children ? "the count of children in memory is wrong" : NULL;
}

const char *coir_tree_audit(struct coir_tree *t)
{
    struct audit a = { .tree = t };

    if (t->empty)
        return t->top ? "an empty tree has a root" : NULL;
    if (!t->top)
        return t->root.address == 0 ? "a tree has no root and is not empty" : NULL;
    if (t->top->parent || t->top->tree != t)
        return "the root hangs somewhere";
    if (t->top->flags & COIR_NODE_READING)
        return NULL;
    if (!coir_node_is_dirty(t->top) && !coir_node_is_frozen(t->top) && t->top->address != t->root.address)
        return "the root is not where the tree says";
    return audit_node(&a, t->top, 0, UINT64_MAX);
}

static unsigned length(const struct coir_link *list)
{
    unsigned n = 0;

    for (const struct coir_link *l = list->next; l != list; l = l->next)
        n++;
    return n;
}

const char *coir_cache_audit(const struct coir_cache *c)
{
    unsigned on[2] = { 0, 0 }, pages = 0;

    for (int i = 0; i < COIR_CLASSES * COIR_TREE_LEVELS; i++) {
        on[0] += length(&c->lists[c->side][i / COIR_TREE_LEVELS][i % COIR_TREE_LEVELS]);
        on[1] += length(&c->lists[!c->side][i / COIR_TREE_LEVELS][i % COIR_TREE_LEVELS]);
    }
    for (void *const *p = c->pages; p; p = *p)
        pages++;
    if (on[0] != c->counts.dirty || on[1] != c->counts.frozen)
        return "the counts of dirty or frozen nodes are wrong";
    if (length(&c->clean) != c->n_clean || length(&c->nodes) != c->n_nodes)
        return "the counts of clean or free nodes are wrong";
    if (pages != c->n_pages || c->used + c->n_pages != c->counts.pages)
        return "the count of free pages is wrong";
    if (coir_cache_pages_in_use(c) != c->used)
        return "a page belongs to nobody, or to two";
    if (c->n_pages < c->counts.promised || c->n_nodes < c->counts.promised)
        return "less is free than is promised";
    if (c->n_nodes + c->counts.nodes != c->counts.pages)
        return "nodes are lost";
    return NULL;
}
