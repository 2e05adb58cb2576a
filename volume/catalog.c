/* SPDX-License-Identifier: MIT */
/*
 * The catalog: what sound entries are, finding, opening, listing, and what is written at a freeze. Changing it is in
 * catalog_change.c.
 *
 *   1. An entry in the tree says of a volume that is open what the last freeze wrote there; its root, what the last
 *      checkpoint that is done wrote.
 *   2. A changed volume's entry is in a dirty leaf (coir_extents_touch), so that freezing makes nothing dirty; and one
 *      that is frozen is in a leaf that is frozen or dirty, so that its root can be set when the checkpoint is done.
 *   3. A volume that nobody has open any more stays while it is changed or frozen.
 */
#include "volume/catalog.h"

#include <stdlib.h>

#include "volume/siphash.h"

/* ---- what sound entries are ---- */

static const char *check_volume(const struct coir_entry *e, uint64_t *next)
{
    static const struct coir_disk_root none;
    const struct coir_disk_volume *v = e->value;

    (void)next;
    if (e->key < COIR_FIRST_VOLUME)
        return "a volume's id cannot be";
    if (e->length < sizeof *v || e->length != sizeof *v + v->name_length)
        return "a volume's entry has the wrong length";
    if (v->name_length == 0 || v->name_length > COIR_NAME_MAX)
        return "a volume's name has a length that cannot be";
    if (v->shift < COIR_BLOCK_SHIFT || v->shift > COIR_VOLUME_SHIFT_MAX)
        return "a volume's block size cannot be";
    if (v->state != COIR_VOLUME_READY && v->state != COIR_VOLUME_REMOVING)
        return "a volume's state cannot be";
    if (memcmp(&v->dead, &none, sizeof none))
        return "a volume has a list that this version does not know";
    return coir_root_verify(&v->root);
}

static const char *check_name(const struct coir_entry *e, uint64_t *next)
{
    const uint64_t *id = e->value;

    (void)next;
    if (e->length <= sizeof *id || e->length > sizeof *id + COIR_NAME_MAX)
        return "a name has a length that cannot be";
    return *id < COIR_FIRST_VOLUME ? "a name's id cannot be" : NULL;
}

/* A leaf is written: the roots of open volumes are those that this checkpoint has written, or the last one. */
static void complete_leaf(void *owner, struct coir_disk_node *page)
{
    for (unsigned at = 0; at < page->used; at = coir_entry_next(page, at)) {
        struct coir_disk_volume *v = coir_entry_value(coir_entry_at(page, at));
        const struct coir_extents *x = coir_catalog_get(owner, coir_entry_at(page, at)->key);

        if (x)
            v->root = x->tree.frozen ? x->tree.to : x->tree.root;
    }
}

const struct coir_tree_kind coir_kind_catalog = {
    .name = "catalog", .check = check_volume, .complete = complete_leaf,
};
const struct coir_tree_kind coir_kind_names = { .name = "names", .check = check_name };

/* ---- the whole ---- */

enum { LISTS = 256 };

int coir_catalog_init(struct coir_catalog *c, struct coir_cache *cache, const struct coir_disk_root *volumes,
                      const struct coir_disk_root *names, const uint8_t key[16])
{
    int err;

    *c = (struct coir_catalog){ .cache = cache, .n_lists = LISTS };
    memcpy(c->key, key, sizeof c->key);
    err = coir_tree_init(&c->volumes, cache, &coir_kind_catalog, COIR_TREE_CATALOG, volumes);
    if (!err)
        err = coir_tree_init(&c->names, cache, &coir_kind_names, COIR_TREE_NAMES, names);
    if (err)
        return err;
    c->volumes.owner = c;
    c->open = malloc(LISTS * sizeof *c->open);
    for (unsigned i = 0; c->open && i < LISTS; i++)
        c->open[i].prev = c->open[i].next = &c->open[i];
    return c->open ? 0 : -ENOMEM;
}

uint64_t coir_catalog_hash(const struct coir_catalog *c, const void *name, size_t n)
{
    return coir_siphash(c->key, name, n);
}

/* ---- open ones ---- */

static struct coir_link *list_of(struct coir_catalog *c, uint64_t id)
{
    return &c->open[id & (c->n_lists - 1)];
}

struct coir_extents *coir_catalog_get(struct coir_catalog *c, uint64_t id)
{
    struct coir_link *list = list_of(c, id);

    for (struct coir_link *l = list->next; l != list; l = l->next) {
        struct coir_extents *x = coir_container_of(l, struct coir_extents, link);

        if (x->tree.id == id)
            return x;
    }
    return NULL;
}

static void cut(struct coir_link *l)
{
    l->prev->next = l->next;
    l->next->prev = l->prev;
}

static void push(struct coir_link *list, struct coir_link *l)
{
    l->prev = list;
    l->next = list->next;
    l->next->prev = l;
    list->next = l;
}

/* Ids are given in order, so the lists are equally long: four on average is the most. Without memory they grow. */
static void widen(struct coir_catalog *c)
{
    struct coir_link *old = c->open, *lists;
    const unsigned n = c->n_lists;

    if (c->n_open < 4 * n || !(lists = malloc(4 * n * sizeof *lists)))
        return;
    for (unsigned i = 0; i < 4 * n; i++)
        lists[i].prev = lists[i].next = &lists[i];
    c->open = lists;
    c->n_lists = 4 * n;
    for (unsigned i = 0; i < n; i++) {
        for (struct coir_link *l = old[i].next, *next; l != &old[i]; l = next) {
            next = l->next;
            push(list_of(c, coir_container_of(l, struct coir_extents, link)->tree.id), l);
        }
    }
    free(old);
}

/* Out of the table, and no more. */
static void end_volume(struct coir_extents *x)
{
    COIR_ASSERT(x->users == 0);
    coir_unpin(&x->entry);
    cut(&x->link);
    x->catalog->n_open--;
    free(x);
}

/* If nobody has it open, and nothing of it is to be written. */
static void end_idle(struct coir_extents *x)
{
    if (x->users || x->tree.changed || x->tree.frozen)
        return;
    coir_tree_forget(&x->tree);
    end_volume(x);
}

void coir_catalog_share(struct coir_extents *x)
{
    COIR_ASSERT(x->users > 0);
    x->users++;
}

void coir_catalog_close(struct coir_extents *x)
{
    COIR_ASSERT(x->users > 0);
    if (--x->users)
        return;
    coir_unpin(&x->entry);
    end_idle(x);
}

void coir_catalog_destroy(struct coir_catalog *c)
{
    for (unsigned i = 0; c->open && i < c->n_lists; i++) {
        while (c->open[i].next != &c->open[i])
            end_volume(coir_container_of(c->open[i].next, struct coir_extents, link));
    }
    free(c->open);
    *c = (struct coir_catalog){ .cache = NULL };
}

/* ---- finding, opening, listing ---- */

/* The entry of just this key. NULL and 0: there is none; -EAGAIN: the leaf is not in memory. */
static int entry_of(struct coir_tree *t, uint64_t key, struct coir_cursor *c, void **value, unsigned *length)
{
    *value = NULL;
    if (!coir_btree_seek(t, key, c))
        return -EAGAIN;
    if (coir_cursor_has(c) && coir_cursor_key(c) == key)
        *value = coir_cursor_value(c, length);
    return 0;
}

static int found_name(struct coir_catalog_find *f)
{
    struct coir_cursor c;
    unsigned length;
    void *value;
    const int err = entry_of(&f->catalog->names, f->hash, &c, &value, &length);

    if (err)
        return err;
    if (!value || length != sizeof(uint64_t) + f->n || memcmp((char *)value + sizeof(uint64_t), f->name, f->n))
        return -ENOENT;
    f->result = *(uint64_t *)value;
    return 0;
}

coir_body(coir_catalog_find, f) {
    if (!f->name || f->n == 0 || f->n > COIR_NAME_MAX)
        coir_fail(f, -EINVAL);
    f->hash = coir_catalog_hash(f->catalog, f->name, f->n);
    for (;;) {
        f->what = found_name(f);
        if (f->what != -EAGAIN)
            break;
        coir_try(f, &f->load, coir_btree_load, .tree = &f->catalog->names, .key = f->hash, .level = 0);
    }
    if (f->what)
        coir_fail(f, f->what);
} coir_end

static int make_volume(struct coir_catalog *c, uint64_t id, const struct coir_disk_volume *v, struct coir_extents **to)
{
    struct coir_extents *x = calloc(1, sizeof *x);
    int err;

    if (!x)
        return -ENOMEM;
    err = coir_tree_init(&x->tree, c->cache, &coir_kind_extents, id, &v->root);
    COIR_ASSERT(err == 0);              /* check_volume has seen to it */
    x->tree.shift = v->shift;
    x->tree.era = v->era;
    x->blocks = v->blocks;
    x->mapped = v->mapped;
    x->origin = v->origin;
    x->state = v->state;
    x->catalog = c;
    x->users = 1;
    push(list_of(c, id), &x->link);
    c->n_open++;
    widen(c);
    *to = x;
    return 0;
}

static int opened(struct coir_catalog_open *f)
{
    struct coir_extents *x = coir_catalog_get(f->catalog, f->id);
    struct coir_cursor c;
    unsigned length;
    void *value;
    int err;

    if (x) {
        x->users++;
        f->result = x;
        return 0;
    }
    err = entry_of(&f->catalog->volumes, f->id, &c, &value, &length);
    if (err)
        return err;
    return value ? make_volume(f->catalog, f->id, value, &f->result) : -ENOENT;
}

coir_body(coir_catalog_open, f) {
    for (;;) {
        f->what = opened(f);
        if (f->what != -EAGAIN)
            break;
        coir_try(f, &f->load, coir_btree_load, .tree = &f->catalog->volumes, .key = f->id, .level = 0);
    }
    if (f->what)
        coir_fail(f, f->what);
} coir_end

static void fill_item(struct coir_catalog *c, uint64_t id, const struct coir_disk_volume *v,
                      struct coir_catalog_item *item)
{
    const struct coir_extents *x = coir_catalog_get(c, id);

    *item = (struct coir_catalog_item){
        .id = id, .blocks = v->blocks, .mapped = v->mapped, .origin = v->origin, .era = v->era, .shift = v->shift,
        .state = v->state, .name_length = (uint8_t)v->name_length,
    };
    memcpy(item->name, v->name, v->name_length);
    if (x) {
        item->blocks = x->blocks;
        item->mapped = x->mapped;
        item->era = x->tree.era;
        item->state = x->state;
    }
}

/* Lists what is in memory; -EAGAIN: the leaf of f->next is not. */
static int list(struct coir_catalog_list *f)
{
    struct coir_cursor c;
    uint64_t missing = f->next;
    int err;

    if (f->n == f->max)
        return 0;
    for (err = coir_btree_find(&f->catalog->volumes, f->next, COIR_FIND_AT_LEAST, &c, &missing); err > 0;
            err = coir_cursor_next(&c, &missing)) {
        unsigned length;

        fill_item(f->catalog, coir_cursor_key(&c), coir_cursor_value(&c, &length), &f->items[f->n++]);
        f->next = coir_cursor_key(&c) + 1;
        if (f->n == f->max || f->next == 0)
            return 0;
    }
    if (err)
        f->next = missing;
    return err;
}

coir_body(coir_catalog_list, f) {
    f->n = 0;
    f->next = f->from;
    while (list(f) < 0)
        coir_try(f, &f->load, coir_btree_load, .tree = &f->catalog->volumes, .key = f->next, .level = 0);
    coir_return(f, f->n);
} coir_end

/* ---- checkpoints ---- */

static struct coir_extents *volume_of(struct coir_catalog *c, struct coir_tree *t)
{
    return t == &c->volumes || t == &c->names ? NULL : coir_container_of(t, struct coir_extents, tree);
}

/* An open volume's entry, which is in memory (inv 2); NULL: it is gone. */
static struct coir_disk_volume *entry_in_memory(struct coir_extents *x)
{
    struct coir_cursor c;
    unsigned length;
    void *value;
    const int err = entry_of(&x->catalog->volumes, x->tree.id, &c, &value, &length);

    COIR_ASSERT(err == 0);
    return value;
}

void coir_catalog_freeze(struct coir_catalog *c, struct coir_checkpoint *ck, const struct coir_run *runs, unsigned n,
                         uint64_t generation)
{
    for (struct coir_link *l = c->cache->changed_trees.next; l != &c->cache->changed_trees; l = l->next) {
        struct coir_extents *x = volume_of(c, coir_container_of(l, struct coir_tree, link));
        struct coir_disk_volume *v = x ? entry_in_memory(x) : NULL;

        if (!v)
            continue;
        v->blocks = x->blocks;
        v->mapped = x->mapped;
        v->origin = x->origin;
        v->era = x->tree.era;
        v->state = x->state;
    }
    coir_checkpoint_freeze(ck, runs, n, generation);
}

void coir_catalog_roots(const struct coir_catalog *c, struct coir_disk_root *volumes, struct coir_disk_root *names)
{
    *volumes = c->volumes.frozen ? c->volumes.to : c->volumes.root;
    *names = c->names.frozen ? c->names.to : c->names.root;
}

/* Those that were kept only because they were not written yet. */
static void end_all_idle(struct coir_catalog *c)
{
    for (unsigned i = 0; i < c->n_lists; i++) {
        for (struct coir_link *l = c->open[i].next, *next; l != &c->open[i]; l = next) {
            next = l->next;
            end_idle(coir_container_of(l, struct coir_extents, link));
        }
    }
}

void coir_catalog_done(struct coir_catalog *c, struct coir_checkpoint *ck)
{
    for (struct coir_link *l = c->cache->frozen_trees.next; l != &c->cache->frozen_trees; l = l->next) {
        struct coir_extents *x = volume_of(c, coir_container_of(l, struct coir_tree, frozen_link));
        struct coir_disk_volume *v = x ? entry_in_memory(x) : NULL;

        /* What the written image has; so a leaf that has not been changed since is what stands on the medium. */
        if (v)
            v->root = x->tree.to;
    }
    coir_checkpoint_done(ck);
    end_all_idle(c);
}

void coir_catalog_failed(struct coir_catalog *c, struct coir_checkpoint *ck)
{
    (void)c;
    coir_checkpoint_failed(ck);
}
