/* SPDX-License-Identifier: MIT */
/*
 * Memory for nodes: slabs of pages and of struct coir_node, what is free of them, who is evicted, and the promises that
 * credits are. It knows of trees only where a node hangs: in its parent's entry, or as its tree's top.
 *
 *   1. A page is free, or one node's page, or one node's image.
 *   2. There are at least as many free pages, and free nodes, as are promised.
 *   3. Nothing is allocated while the limit has not been reached a second time: slabs are kept.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "volume/nodes.h"

enum {
    LEAST_PAGES = 8, EVICT_MORE = 8,
    SMALL_SLAB = 16 * COIR_BLOCK, LARGE_SLAB = 2 << 20,     /* bytes; a large one can be one page of the processor's */
};

/* At its beginning, then come its nodes, then its pages. */
struct coir_slab {
    struct coir_slab *next;
    size_t size;
    unsigned n;
    struct coir_node node[];
};

int coir_cache_init(struct coir_cache *c, const struct coir_cache_options *o)
{
    *c = (struct coir_cache){ .o = *o };
    if (o->limit < LEAST_PAGES * COIR_BLOCK || o->dirty == 0 || !o->released)
        return -EINVAL;
    c->limit = (unsigned)(o->limit / COIR_BLOCK < UINT32_MAX / 4 ? o->limit / COIR_BLOCK : UINT32_MAX / 4);
    coir_link_init(&c->nodes);
    coir_link_init(&c->clean);
    coir_link_init(&c->changed_trees);
    coir_link_init(&c->frozen_trees);
    for (int k = 0; k < COIR_CLASSES; k++) {
        for (int i = 0; i < COIR_TREE_LEVELS; i++) {
            coir_link_init(&c->lists[0][k][i]);
            coir_link_init(&c->lists[1][k][i]);
        }
    }
    return 0;
}

void coir_cache_destroy(struct coir_cache *c)
{
    while (c->slabs) {
        struct coir_slab *s = c->slabs;

        c->slabs = s->next;
        coir_asan_unpoison(s, s->size);
        free(s);
    }
    *c = (struct coir_cache){ .limit = 0 };
}

void coir_damage_report(struct coir_cache *c, const struct coir_damage *damage)
{
    if (c->o.damaged)
        c->o.damaged(c->o.arg, damage);
}

/* ---- pages ---- */

/* Its first bytes are the link. */
void coir_page_free(struct coir_cache *c, struct coir_disk_node *page)
{
    *(void **)page = c->pages;
    c->pages = page;
    c->n_pages++;
    c->used--;
    coir_asan_poison((char *)page + sizeof(void *), COIR_BLOCK - sizeof(void *));
}

static struct coir_disk_node *page_take(struct coir_cache *c)
{
    struct coir_disk_node *page = c->pages;

    COIR_ASSERT(page != NULL);
    coir_asan_unpoison(page, COIR_BLOCK);
    c->pages = *(void **)page;
    c->n_pages--;
    c->used++;
    return page;
}

static struct coir_node *node_take(struct coir_cache *c)
{
    struct coir_node *n;

    COIR_ASSERT(!coir_link_empty(&c->nodes));
    n = coir_container_of(c->nodes.next, struct coir_node, link);
    coir_link_cut(&n->link);
    c->n_nodes--;
    *n = (struct coir_node){ .page = page_take(c) };
    coir_link_init(&n->link);
    coir_link_init(&n->side[0]);
    coir_link_init(&n->side[1]);
    c->counts.nodes++;
    return n;
}

static int add_slab(struct coir_cache *c)
{
    const size_t size = c->limit < 4 * LARGE_SLAB / COIR_BLOCK ? SMALL_SLAB : LARGE_SLAB;
    struct coir_slab *s = aligned_alloc(size == LARGE_SLAB ? size : COIR_BLOCK, size);
    char *pages = (char *)s + size;

    if (!s)
        return -ENOMEM;
    if (size == LARGE_SLAB)
        madvise(s, size, MADV_HUGEPAGE);            /* where there are none it is as good as before */
    *s = (struct coir_slab){ .next = c->slabs, .size = size };
    s->n = (unsigned)((size - sizeof *s) / (COIR_BLOCK + sizeof s->node[0]));
    c->slabs = s;
    c->used += s->n;                    /* which freeing takes back */
    for (unsigned i = s->n; i-- > 0;) {
        pages -= COIR_BLOCK;
        coir_page_free(c, (void *)pages);
        s->node[i] = (struct coir_node){ .page = NULL };
        coir_link_push(&c->nodes, &s->node[i].link);
    }
    c->n_nodes += s->n;
    c->counts.pages += s->n;
    return 0;
}

unsigned coir_cache_pages_in_use(const struct coir_cache *c)
{
    unsigned n = 0;

    for (const struct coir_slab *s = c->slabs; s; s = s->next) {
        for (unsigned i = 0; i < s->n; i++)
            n += (s->node[i].page != NULL) + (s->node[i].image != NULL);
    }
    return n;
}

/* ---- who is evicted ---- */

void coir_node_detach(struct coir_node *n)
{
    struct coir_disk_child *entry;

    if (!n->parent) {
        COIR_ASSERT(n->tree->top == n);
        n->tree->top = NULL;
        return;
    }
    entry = &coir_children(n->parent->page)[coir_node_place(n)];
    *entry = (struct coir_disk_child){ .key = entry->key, .address = n->address, .crc = n->crc, .era = n->era };
    n->parent->children--;
    n->parent = NULL;
}

void coir_node_free(struct coir_cache *c, struct coir_node *n)
{
    COIR_ASSERT(n->pins == 0 && n->image == NULL);
    if (n->page)
        coir_page_free(c, n->page);
    n->page = NULL;
    coir_link_push(&c->nodes, &n->link);
    c->n_nodes++;
    c->counts.nodes--;
}

void coir_node_gone(struct coir_cache *c, struct coir_node *n)
{
    COIR_ASSERT(n->flags & COIR_NODE_GONE);
    if (n->pins == 0 && !coir_node_is_frozen(n))
        coir_node_free(c, n);
}

void coir_node_unpin(struct coir_cache *c, struct coir_node *n)
{
    COIR_ASSERT(n->pins > 0);
    n->pins--;
    if (n->flags & COIR_NODE_GONE)
        coir_node_gone(c, n);
}

void coir_node_is_clean(struct coir_cache *c, struct coir_node *n)
{
    COIR_ASSERT(n->address != 0 && coir_link_empty(&n->link));
    coir_link_push(&c->clean, &n->link);
    c->n_clean++;
}

static void evict(struct coir_cache *c, struct coir_node *n)
{
    COIR_ASSERT(n->address != 0 && !(n->flags & (COIR_NODE_SIDE0 | COIR_NODE_SIDE1 | COIR_NODE_READING)));
    coir_link_cut(&n->link);
    c->n_clean--;
    coir_node_detach(n);
    coir_node_free(c, n);
}

static bool may_go(const struct coir_node *n)
{
    return n->pins == 0 && n->children == 0;
}

/* However many nodes are dirty, some that are clean can stay: who needs two of them must not wait for ever. */
static unsigned floor_of(const struct coir_cache *c)
{
    return c->limit / 4 > LEAST_PAGES ? c->limit / 4 : LEAST_PAGES;
}

/* The clock: one round for those that have been used since the last, and another. False: nobody can go. */
static bool evict_one(struct coir_cache *c)
{
    for (unsigned i = 2 * c->n_clean; i > 0; i--) {
        struct coir_node *n = coir_container_of(c->clean.prev, struct coir_node, link);

        if (may_go(n) && !(n->flags & COIR_NODE_USED)) {
            evict(c, n);
            c->counts.evicted++;
            return true;
        }
        n->flags &= (uint8_t)~COIR_NODE_USED;
        coir_link_cut(&n->link);
        coir_link_push(&c->clean, &n->link);
    }
    return false;
}

static bool is_over(const struct coir_cache *c, unsigned want)
{
    return c->used + want > c->limit && c->n_clean > floor_of(c);
}

/* Room for n more pages and nodes that nobody has been promised. 0 or -ENOMEM. When a checkpoint has left many more
 * clean nodes than the limit allows they go a few at a time. */
static int make_room(struct coir_cache *c, unsigned n)
{
    const unsigned want = c->counts.promised + n;

    for (unsigned i = 0; i < n + EVICT_MORE && is_over(c, want) && evict_one(c); i++)
        ;
    while (c->n_pages < want || c->n_nodes < want) {
        if (add_slab(c) && !evict_one(c))
            return -ENOMEM;
    }
    return 0;
}

void coir_cache_limit(struct coir_cache *c, size_t bytes)
{
    const size_t pages = bytes / COIR_BLOCK;

    c->limit = pages < LEAST_PAGES ? LEAST_PAGES : pages < UINT32_MAX / 4 ? (unsigned)pages : UINT32_MAX / 4;
    while (is_over(c, c->counts.promised) && evict_one(c))
        ;
}

void coir_cache_evict_all(struct coir_cache *c)
{
    while (evict_one(c))
        ;
}

struct coir_node *coir_node_new(struct coir_cache *c)
{
    return make_room(c, 1) ? NULL : node_take(c);
}

static void forget(struct coir_cache *c, struct coir_node *n)
{
    for (unsigned i = 0; n->level && i < n->page->count; i++) {
        struct coir_node *child = coir_child(n->page, i);

        if (child)
            forget(c, child);
    }
    COIR_ASSERT(may_go(n));
    evict(c, n);
}

void coir_tree_forget(struct coir_tree *t)
{
    COIR_ASSERT(!t->changed && !t->frozen);
    if (t->top)
        forget(t->cache, t->top);
}

/* ---- promises ---- */

static int credit_take(struct coir_cache *c, struct coir_credit *credit, unsigned nodes, bool force)
{
    const unsigned more = nodes > credit->nodes ? nodes - credit->nodes : 0;
    int err;

    COIR_ASSERT(!credit->cache || credit->cache == c);
    if (more == 0)
        return 0;
    if (!force && (uint64_t)c->counts.dirty + c->counts.promised + more > c->o.dirty)
        return -EAGAIN;
    err = make_room(c, more);
    if (err)
        return err;
    c->counts.promised += more;
    credit->nodes += more;
    credit->cache = c;
    return 0;
}

int coir_credit_take(struct coir_cache *c, struct coir_credit *credit, unsigned nodes)
{
    return credit_take(c, credit, nodes, false);
}

int coir_credit_force(struct coir_cache *c, struct coir_credit *credit, unsigned nodes)
{
    return credit_take(c, credit, nodes, true);
}

void coir_credit_give(struct coir_credit *credit)
{
    if (!credit->cache)
        return;
    COIR_ASSERT(credit->cache->counts.promised >= credit->nodes);
    credit->cache->counts.promised -= credit->nodes;
    *credit = (struct coir_credit){ .cache = NULL };
}

void coir_credit_used(struct coir_cache *c, struct coir_credit *credit)
{
    COIR_ASSERT(credit->cache == c && credit->nodes > 0 && c->counts.promised > 0);
    credit->nodes--;
    c->counts.promised--;
}

struct coir_node *coir_node_promised(struct coir_cache *c, struct coir_credit *credit)
{
    coir_credit_used(c, credit);
    return node_take(c);
}

struct coir_disk_node *coir_page_promised(struct coir_cache *c, struct coir_credit *credit)
{
    coir_credit_used(c, credit);
    return page_take(c);
}
