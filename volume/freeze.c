/* SPDX-License-Identifier: MIT */
/*
 * Freezing, writing, and what becomes of the frozen nodes. The lanes of a write share one place in the lists of frozen
 * nodes: each takes the next ones, as many as have addresses one behind the other, copies and sums them in its buffer,
 * without an await, and then writes the buffer. So the sum of a child is known when its parent is copied, whichever
 * lane is at work, and a node's image is needed no longer than until it has been copied.
 *
 * Nothing is put into or taken out of the lists of frozen nodes between a freeze and its end.
 */
#include <stdlib.h>

#include "volume/nodes.h"
#include "volume/freeze.h"
#include "volume/space.h"

enum { LANE_BYTES = COIR_CHECKPOINT_BATCH * COIR_BLOCK };

int coir_checkpoint_prepare(struct coir_checkpoint *ck, struct coir_cache *c)
{
    COIR_ASSERT(c->checkpoint != ck);
    ck->cache = c;
    if (!ck->buffer)
        ck->buffer = aligned_alloc(COIR_BLOCK, COIR_CHECKPOINT_LANES * LANE_BYTES);
    return ck->buffer ? 0 : -ENOMEM;
}

void coir_checkpoint_destroy(struct coir_checkpoint *ck)
{
    COIR_ASSERT(!ck->cache || ck->cache->checkpoint != ck);
    free(ck->buffer);
    *ck = (struct coir_checkpoint){ .cache = NULL };
}

/* ---- freezing ---- */

static struct coir_link *frozen_list(struct coir_checkpoint *ck)
{
    return &ck->cache->lists[!ck->cache->side][ck->class][ck->level];
}

void coir_checkpoint_freeze(struct coir_checkpoint *ck, const struct coir_run *runs, unsigned n, uint64_t generation)
{
    struct coir_cache *c = ck->cache;
    uint64_t blocks = 0;

    for (unsigned i = 0; i < n; i++)
        blocks += runs[i].blocks;
    COIR_ASSERT(ck->buffer && !c->checkpoint && blocks == c->counts.dirty);
    ck->runs = runs;
    ck->n_runs = n;
    ck->run = 0;
    ck->at = 0;
    ck->generation = generation;
    ck->class = ck->level = 0;
    ck->left = c->counts.frozen = c->counts.dirty;
    c->counts.dirty = 0;
    c->side = !c->side;
    c->checkpoint = ck;
    ck->next = frozen_list(ck)->next;
    while (!coir_link_empty(&c->changed_trees)) {
        struct coir_tree *t = coir_container_of(c->changed_trees.next, struct coir_tree, link);

        coir_link_cut(&t->link);
        t->changed = false;
        t->frozen = true;
        t->frozen_top = t->top && coir_node_is_frozen(t->top) ? t->top : NULL;
        t->to = t->empty ? (struct coir_disk_root){ .address = 0 } : t->root;
        coir_link_push_last(&c->frozen_trees, &t->frozen_link);
    }
}

/* ---- copying ---- */

/* The next frozen node in the order of writing; there is one. */
static struct coir_node *next_node(struct coir_checkpoint *ck)
{
    struct coir_node *n;

    while (ck->next == frozen_list(ck)) {
        if (++ck->level == COIR_TREE_LEVELS) {
            ck->level = 0;
            ck->class++;
        }
        COIR_ASSERT(ck->class < COIR_CLASSES);
        ck->next = frozen_list(ck)->next;
    }
    n = coir_container_of(ck->next, struct coir_node, side[!ck->cache->side]);
    ck->next = ck->next->next;
    ck->left--;
    return n;
}

/* Where the next node goes. */
static uint64_t peek_address(const struct coir_checkpoint *ck)
{
    COIR_ASSERT(ck->run < ck->n_runs);
    return ck->runs[ck->run].address + ck->at;
}

static void use_address(struct coir_checkpoint *ck)
{
    if (++ck->at == ck->runs[ck->run].blocks) {
        ck->run++;
        ck->at = 0;
    }
}

/* In the copy of an inner node pointers become what they point at. */
static void point_at_children(struct coir_disk_node *page)
{
    for (unsigned i = 0; i < page->count; i++) {
        const struct coir_node *child = coir_child(page, i);
        struct coir_disk_child *entry = &coir_children(page)[i];

        if (!child)
            continue;
        if (coir_node_is_frozen(child)) {
            COIR_ASSERT(child->flags & COIR_NODE_COPIED);
            *entry = (struct coir_disk_child){ entry->key, child->to, child->to_crc, child->to_era };
        } else {
            COIR_ASSERT(child->address != 0);
            *entry = (struct coir_disk_child){ entry->key, child->address, child->crc, child->era };
        }
    }
}

static void copy_node(struct coir_checkpoint *ck, struct coir_node *n, struct coir_disk_node *page, uint64_t address)
{
    struct coir_tree *t = n->tree;

    memcpy(page, n->image ? n->image : n->page, COIR_BLOCK);
    if (n->image)
        coir_page_free(ck->cache, n->image);
    n->image = NULL;
    memset(page->entries + page->used, 0, COIR_NODE_BYTES - page->used);
    page->head = (struct coir_block_head){
        .magic = COIR_MAGIC_NODE, .address = address, .generation = ck->generation,
    };
    if (page->level)
        point_at_children(page);
    else if (t->kind->complete)
        t->kind->complete(t->owner, page);
    page->head.crc = coir_node_sum(page, address);
    n->to = address;
    n->to_crc = page->head.crc;
    n->to_era = page->era;
    n->flags |= COIR_NODE_COPIED;
    if (n == t->frozen_top)
        t->to = (struct coir_disk_root){ .address = address, .crc = n->to_crc, .level = page->level };
}

/* Takes nodes for one write; false: there are no more. */
static bool fill(struct coir_checkpoint_lane *f)
{
    struct coir_checkpoint *ck = f->checkpoint;

    for (f->n = 0; f->n < COIR_CHECKPOINT_BATCH && ck->left; f->n++) {
        const uint64_t address = peek_address(ck);

        if (f->n == 0)
            f->address = address;
        else if (address != f->address + f->n)
            break;
        copy_node(ck, next_node(ck), &f->buffer[f->n], address);
        use_address(ck);
    }
    f->iov = (struct iovec){ f->buffer, (size_t)f->n * COIR_BLOCK };
    return f->n > 0;
}

coir_body(coir_checkpoint_lane, f) {
    while (fill(f)) {
        if (COIR_ADDRESS_FILE(f->address) >= f->checkpoint->cache->o.n_files)
            coir_fail(f, -ENXIO);
        coir_try(f, &f->write, coir_device_write,
                 .device = f->checkpoint->cache->o.files[COIR_ADDRESS_FILE(f->address)], .iov = &f->iov, .n = 1,
                 .offset = COIR_ADDRESS_BLOCK(f->address) * COIR_BLOCK);
        f->checkpoint->cache->counts.written += f->n;
    }
} coir_end

coir_body(coir_checkpoint_write, f) {
    COIR_ASSERT(f->checkpoint->cache->checkpoint == f->checkpoint);
    for (int i = 0; i < COIR_CHECKPOINT_LANES; i++) {
        f->kids[i] = coir_make(&f->lane[i], coir_checkpoint_lane, .checkpoint = f->checkpoint,
                               .buffer = f->checkpoint->buffer + (size_t)i * COIR_CHECKPOINT_BATCH);
    }
    coir_all(f, &f->all, f->kids, COIR_CHECKPOINT_LANES);
    coir_check(f, &f->all);
} coir_end

/* ---- the end ---- */

/* A node that is no longer frozen, since its checkpoint is done. */
static void settle(struct coir_cache *c, struct coir_node *n)
{
    if (n->flags & COIR_NODE_GONE) {
        c->o.released(c->o.arg, n->to);
        coir_node_gone(c, n);
    } else if (coir_node_is_dirty(n)) {
        c->o.released(c->o.arg, n->to);
    } else {
        n->address = n->to;
        n->crc = n->to_crc;
        n->era = n->to_era;
        coir_node_is_clean(c, n);
    }
}

/* The same, since it has failed. */
static void restore(struct coir_cache *c, struct coir_node *n)
{
    if (n->image)
        coir_page_free(c, n->image);
    n->image = NULL;
    if (n->flags & COIR_NODE_GONE)
        coir_node_gone(c, n);
    else if (!coir_node_is_dirty(n))
        coir_node_list_dirty(n);
}

static void end(struct coir_checkpoint *ck, void (*what)(struct coir_cache *, struct coir_node *))
{
    struct coir_cache *c = ck->cache;
    const unsigned side = !c->side;

    COIR_ASSERT(c->checkpoint == ck);
    for (int i = 0; i < COIR_CLASSES * COIR_TREE_LEVELS; i++) {
        struct coir_link *list = &c->lists[side][i / COIR_TREE_LEVELS][i % COIR_TREE_LEVELS];

        while (!coir_link_empty(list)) {
            struct coir_node *n = coir_container_of(list->next, struct coir_node, side[side]);

            coir_link_cut(&n->side[side]);
            n->flags &= (uint8_t)~(1u << side | COIR_NODE_COPIED);
            c->counts.frozen--;
            what(c, n);
        }
    }
    COIR_ASSERT(c->counts.frozen == 0);
    c->checkpoint = NULL;
}

void coir_checkpoint_done(struct coir_checkpoint *ck)
{
    struct coir_cache *c = ck->cache;

    COIR_ASSERT(ck->left == 0);
    end(ck, settle);
    while (!coir_link_empty(&c->frozen_trees)) {
        struct coir_tree *t = coir_container_of(c->frozen_trees.next, struct coir_tree, frozen_link);

        coir_link_cut(&t->frozen_link);
        t->frozen = false;
        t->root = t->to;
    }
}

void coir_checkpoint_failed(struct coir_checkpoint *ck)
{
    struct coir_cache *c = ck->cache;

    end(ck, restore);
    while (!coir_link_empty(&c->frozen_trees)) {
        struct coir_tree *t = coir_container_of(c->frozen_trees.next, struct coir_tree, frozen_link);

        coir_link_cut(&t->frozen_link);
        t->frozen = false;
        coir_tree_change(t);
    }
}
