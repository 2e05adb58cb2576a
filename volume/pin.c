/* SPDX-License-Identifier: MIT */
/*
 * Bringing nodes into memory, and keeping them there: the only operations of trees that suspend. Each looks at the tree
 * anew after every await, from the root: whatever happened meanwhile, it goes on from what is there.
 *
 * A node that is being read hangs in the tree already, READING, so that nobody else reads it; those who want it pin it
 * and wait for its event. If it cannot be read it is taken out again, GONE, and stays only until the last of them has
 * seen why.
 */
#include "volume/nodes.h"

/* ---- reading one ---- */

/* A node, not filled, in place of the address in its parent's entry `at`, or as the root of a tree. */
static struct coir_node *hang(struct coir_tree *t, struct coir_node *parent, unsigned at)
{
    struct coir_node *n = coir_node_new(t->cache);

    if (!n)
        return NULL;
    n->tree = t;
    n->flags = COIR_NODE_READING;
    coir_event_init(&n->read);
    coir_node_pin(n);
    if (!parent) {
        n->level = (uint8_t)t->root.level;
        n->address = t->root.address;
        n->crc = t->root.crc;
        t->top = n;
        return n;
    }
    {
        struct coir_disk_child *entry = &coir_children(parent->page)[at];

        n->level = (uint8_t)(parent->level - 1);
        n->parent = parent;
        n->low = entry->key;
        n->address = entry->address;
        n->crc = entry->crc;
        n->era = entry->era;
        entry->address = coir_tag(n);
        parent->children++;
    }
    return n;
}

enum { THERE, TO_WAIT, TO_READ };

/* Goes down as far as it can. THERE; or the node that is being read, pinned; or one to be read; or -ENOMEM. */
static int look(struct coir_btree_load *f)
{
    struct coir_tree *t = f->tree;
    struct coir_node *n = t->top, *parent = NULL;
    unsigned at = 0;

    if (t->empty)
        return THERE;
    while (coir_node_is_there(n)) {
        if (n->level <= f->level)
            return THERE;
        parent = n;
        at = coir_child_of(n->page, f->key);
        n = coir_child(n->page, at);
        parent->flags |= COIR_NODE_USED;
    }
    if (n) {
        f->node = n;
        coir_node_pin(n);
        return TO_WAIT;
    }
    if (parent)                         /* making room must not evict it */
        coir_node_pin(parent);
    f->node = hang(t, parent, at);
    if (parent)
        coir_node_unpin(t->cache, parent);
    return f->node ? TO_READ : -ENOMEM;
}

/* Where it stands on a device. NULL: nowhere. */
static struct coir_device *device_of(const struct coir_cache *c, uint64_t address)
{
    const unsigned file = COIR_ADDRESS_FILE(address);

    return file < c->o.n_files ? c->o.files[file] : NULL;
}

/* What has been read is it, or not. */
static const char *verify(struct coir_node *n)
{
    const struct coir_node_want want = {
        .tree = n->tree->id, .address = n->address, .crc = n->crc, .era = n->era, .any_era = !n->parent,
        .level = n->level, .shift = n->tree->shift, .low = coir_node_lowest(n), .last = coir_node_last(n),
        .kind = n->tree->kind,
    };

    return coir_node_verify(n->page, &want);
}

/* The reading has ended with `status`. Value: how the load ends, if it does. A node where no file is, or no longer, is
 * damage like any other. */
static int filled(struct coir_node *n, int status)
{
    struct coir_cache *c = n->tree->cache;
    const char *what = status == -ENODATA ? "the file is too short" : status == -ENXIO ? "the file is not there"
        : "it cannot be read";

    if (status != -ECANCELED)
        c->counts.reads++;
    if (status == 0) {
        what = verify(n);
        status = what ? -EBADMSG : 0;
    }
    if (status == 0) {
        n->era = n->page->era;
        n->flags = COIR_NODE_USED;
        coir_node_is_clean(c, n);
    } else {
        const struct coir_damage damage = {
            .status = status, .level = n->level, .tree = n->tree->id, .address = n->address, .what = what,
        };

        coir_node_detach(n);
        status = status == -ENODATA || status == -ENXIO ? -EBADMSG : status;
        n->flags = COIR_NODE_GONE;
        n->status = status;
        if (status != -ECANCELED)
            coir_damage_report(c, &damage);
    }
    coir_event_set(&n->read);
    coir_node_unpin(c, n);
    return status;
}

/* Another has read it, or could not. 0: look again. */
static int waited(struct coir_node *n, int status)
{
    struct coir_cache *c = n->tree->cache;

    if (status == 0 && n->flags & COIR_NODE_GONE && n->status != -ECANCELED)
        status = n->status;
    coir_node_unpin(c, n);
    return status;
}

coir_body(coir_btree_load, f) {
    for (;;) {
        f->what = look(f);
        if (f->what < 0)
            coir_fail(f, f->what);
        if (f->what == THERE)
            break;
        if (f->what == TO_WAIT) {
            coir_await(f, &f->wait, coir_event_wait, .event = &f->node->read);
            f->what = waited(f->node, coir_status(&f->wait));
            if (f->what < 0)
                coir_fail(f, f->what);
            continue;
        }
        f->device = device_of(f->tree->cache, f->node->address);
        f->what = -ENXIO;
        if (f->device) {
            f->iov = (struct iovec){ f->node->page, COIR_BLOCK };
            coir_await(f, &f->read, coir_device_read, .device = f->device, .iov = &f->iov, .n = 1,
                       .offset = COIR_ADDRESS_BLOCK(f->node->address) * COIR_BLOCK,
                       .flags = f->tree->cache->o.direct ? COIR_DIRECT : 0);
            f->what = coir_status(&f->read);
        }
        f->what = filled(f->node, f->what);
        if (f->what < 0)
            coir_fail(f, f->what);
    }
} coir_end

/* ---- pins ---- */

void coir_unpin(struct coir_pin *pin)
{
    for (unsigned i = 0; i < pin->n; i++)
        coir_node_unpin(pin->tree->cache, pin->node[i]);
    pin->n = pin->leaves = 0;
    pin->tree = NULL;
}

static void add(struct coir_pin *pin, struct coir_node *n)
{
    coir_node_pin(n);
    pin->node[pin->n++] = n;
}

/* These return -EAGAIN when a node is missing in memory: the one at *level on the way to *missing. */
static int pin_leaves(struct coir_pin *pin, uint64_t last, uint64_t *missing, unsigned *level)
{
    uint64_t at = pin->first, low, end;

    for (;;) {
        struct coir_node *leaf = coir_tree_descend(pin->tree, at, 0, &low, &end);

        if (!leaf) {
            *missing = at;
            *level = 0;
            return -EAGAIN;
        }
        add(pin, leaf);
        pin->leaves = pin->n;
        pin->last = end < last ? end : last;
        if (end >= last || pin->leaves == COIR_PIN_LEAVES)
            return 0;
        at = end + 1;
    }
}

/* Whether a leaf may be sparse when the keys from first to last, and one on either side, have gone. */
static bool leaf_may_be(struct coir_disk_node *page, uint64_t first, uint64_t last)
{
    int before;
    unsigned from = coir_leaf_find(page, first, &before), to = from;

    if (before >= 0)
        from = (unsigned)before;
    while (to < page->used && coir_entry_at(page, to)->key <= last)
        to = coir_entry_next(page, to);
    if (to < page->used)
        to = coir_entry_next(page, to);
    return page->used - (to - from) < COIR_LEAF_SPARSE;
}

static bool may_be_sparse(struct coir_node *n, uint64_t first, uint64_t last)
{
    if (n->level == 0)
        return leaf_may_be(n->page, first, last);
    return n->page->count < COIR_INNER_SPARSE + 1 + coir_child_of(n->page, last) - coir_child_of(n->page, first);
}

/* Pins one beside `n`, unless one is. -EAGAIN: neither is in memory. */
static int pin_neighbour(struct coir_pin *pin, struct coir_node *n, uint64_t *missing, unsigned *level)
{
    struct coir_node *parent = n->parent, *left = NULL, *right = NULL;
    const unsigned at = coir_node_place(n), count = parent->page->count;

    if (pin->n == COIR_PIN_NODES || count == 1)
        return 0;
    if (at > 0)
        left = coir_child(parent->page, at - 1);
    if (at + 1 < count)
        right = coir_child(parent->page, at + 1);
    if (coir_node_is_there(left) || coir_node_is_there(right)) {
        add(pin, coir_node_is_there(left) ? left : right);
        return 0;
    }
    *missing = coir_children(parent->page)[at + 1 < count ? at + 1 : at - 1].key;
    *level = n->level;
    return -EAGAIN;
}

static int pin_neighbours(struct coir_pin *pin, uint64_t *missing, unsigned *level)
{
    for (unsigned i = 0; i < pin->leaves; i++) {
        struct coir_node *n = pin->node[i], *other = i ? pin->node[i - 1] : NULL;

        /* Up to where the way to the leaf before it was looked at. */
        for (; n != other && n->parent; n = n->parent, other = other ? other->parent : NULL) {
            const int err = may_be_sparse(n, pin->first, pin->last) ? pin_neighbour(pin, n, missing, level) : 0;

            if (err)
                return err;
        }
    }
    return 0;
}

/* Pins what is there. -EAGAIN: something is missing; what has been found until then stays pinned meanwhile. */
static int pin_what_is_there(struct coir_tree *t, struct coir_pin *pin, uint64_t first, uint64_t last, bool change,
                             uint64_t *missing, unsigned *level)
{
    int err;

    coir_unpin(pin);
    pin->tree = t;
    pin->first = first;
    pin->last = last;
    pin->since = t->changes;
    if (t->empty)
        return 0;
    err = pin_leaves(pin, last, missing, level);
    return err || !change ? err : pin_neighbours(pin, missing, level);
}

int coir_pin_now(struct coir_tree *t, struct coir_pin *pin, uint64_t first, uint64_t last, bool change)
{
    uint64_t missing;
    unsigned level;
    const int err = pin_what_is_there(t, pin, first, last, change, &missing, &level);

    if (err)
        coir_unpin(pin);
    return err;
}

coir_body(coir_btree_pin, f) {
    for (;;) {
        if (pin_what_is_there(f->tree, f->pin, f->first, f->last, f->change, &f->missing, &f->level) == 0)
            break;
        coir_await(f, &f->load, coir_btree_load, .tree = f->tree, .key = f->missing, .level = f->level);
        if (coir_status(&f->load) < 0) {
            coir_unpin(f->pin);
            coir_fail(f, coir_status(&f->load));
        }
    }
} coir_end

bool coir_pin_holds(const struct coir_pin *pin)
{
    if (!pin->tree)
        return false;
    if (pin->leaves == 0)
        return pin->tree->empty && pin->tree->changes == pin->since;
    for (unsigned i = 0; i < pin->leaves; i++) {
        if (pin->node[i]->flags & COIR_NODE_GONE || pin->node[i]->changed > pin->since)
            return false;
    }
    return true;
}

/* ---- what a change may need ---- */

/* New nodes at the level of the leaves. Splitting leaves a leaf at least this much room, and one more may come from an
 * entry that is put before or behind all of a full leaf. */
static unsigned new_leaves(const struct coir_pin *pin, unsigned entries, size_t bytes)
{
    enum { ROOM = COIR_NODE_BYTES - COIR_LEAF_MERGE };
    unsigned most = 2 * pin->leaves + (unsigned)(bytes / 960) + 1;
    bool fits = pin->leaves == 1 || bytes <= ROOM;

    for (unsigned i = 0; i < pin->leaves; i++)
        fits = fits && pin->node[i]->page->used + bytes <= COIR_NODE_BYTES;
    return fits ? 0 : most < entries ? most : entries;
}

unsigned coir_pin_need(const struct coir_pin *pin, unsigned entries, size_t bytes)
{
    unsigned old = pin->leaves, inner = 0, leaves, height;

    if (pin->leaves == 0)
        return 1 + entries + 2;
    for (unsigned i = 0; i < pin->leaves; i++) {
        const struct coir_node *n = pin->node[i]->parent, *other = i ? pin->node[i - 1]->parent : NULL;

        for (; n && n != other; n = n->parent, other = other ? other->parent : NULL)
            inner++;
    }
    height = coir_tree_height(pin->tree);
    old += inner + (pin->leaves > 1 ? 2 : 1) * (height - 1);
    leaves = new_leaves(pin, entries, bytes);
    return leaves ? old + leaves + inner + leaves / 32 + 1 : old;
}
