/* SPDX-License-Identifier: MIT */
/*
 * The walk over all trees of a store, and what must agree between them: the names with the catalog, by a sum over each
 * that does not depend on the order; the mapped blocks of a volume with its extents.
 */
#include "volume/walk.h"

#include "volume/siphash.h"

static void damage(struct coir_check_trees *f, uint64_t tree, const char *what)
{
    const struct coir_damage d = { .status = -EBADMSG, .tree = tree, .what = what };

    f->result++;
    if (f->options->damaged)
        f->options->damaged(f->options->arg, &d);
}

static void saw_node(struct coir_check_trees *f, const struct coir_walker *w)
{
    if (f->calls->node)
        f->calls->node(f->options->arg, w->tree, w->node->level, w->node->head.address);
}

/* What a name is to a volume, as a number; their sum over all names is that over all volumes that have one. */
static uint64_t bond(const struct coir_check_trees *f, uint64_t id, const void *name, size_t n)
{
    unsigned char both[sizeof id + COIR_NAME_MAX];

    memcpy(both, &id, sizeof id);
    memcpy(both + sizeof id, name, n);
    return coir_siphash(f->key, both, sizeof id + n);
}

static void saw_names(struct coir_check_trees *f, const struct coir_disk_node *page)
{
    for (unsigned at = 0; page->level == 0 && at < page->used;) {
        const struct coir_disk_entry *e = (const void *)(page->entries + at);
        const char *name = (const char *)(e + 1) + sizeof(uint64_t);
        const size_t n = e->length - sizeof(uint64_t);

        if (coir_siphash(f->key, name, n) != e->key)
            damage(f, COIR_TREE_NAMES, "a name does not stand where it belongs");
        f->by_name += bond(f, *(const uint64_t *)(const void *)(e + 1), name, n);
        at += coir_entry_size(e->length);
    }
}

static void saw_extents(struct coir_check_trees *f, const struct coir_disk_node *page)
{
    for (unsigned at = 0; page->level == 0 && at < page->used;) {
        const struct coir_disk_entry *e = (const void *)(page->entries + at);
        const struct coir_disk_extent *x = (const void *)(e + 1);
        const uint64_t blocks = (uint64_t)x->count << (f->volume->shift - COIR_BLOCK_SHIFT);

        f->mapped += x->count;
        if (f->calls->extent)
            f->calls->extent(f->options->arg, f->id, e->key, x->count, x->address, blocks);
        at += coir_entry_size(e->length);
    }
}

/* The next volume in the catalog's leaf; false: there is none. */
static bool next_volume(struct coir_check_trees *f)
{
    const struct coir_disk_node *page = f->outer.node;
    const struct coir_disk_entry *e = (const void *)(page->entries + f->byte);

    if (page->level || f->byte >= page->used)
        return false;
    f->byte += coir_entry_size(e->length);
    f->id = e->key;
    f->volume = (const void *)(e + 1);
    f->mapped = 0;
    if (f->volume->state == COIR_VOLUME_READY)
        f->by_id += bond(f, f->id, f->volume->name, f->volume->name_length);
    if (f->calls->volume)
        f->calls->volume(f->options->arg, f->id, f->volume);
    return true;
}

static int begin(struct coir_check_trees *f, struct coir_walker *w, const struct coir_tree_kind *kind, uint64_t tree,
                 unsigned shift, const struct coir_disk_root *root)
{
    const int err = coir_walker_init(w, f->options, kind, tree, shift, root);

    if (err != -EBADMSG)
        return err;
    damage(f, tree, "that cannot be a root");
    return 0;
}

static void end(struct coir_check_trees *f, struct coir_walker *w)
{
    f->result += w->damage;
    coir_walker_destroy(w);
}

coir_body(coir_check_trees, f) {
    f->inner = f->outer = (struct coir_walker){ .pages = NULL };
    f->by_id = f->by_name = 0;
    f->status = begin(f, &f->outer, &coir_kind_names, COIR_TREE_NAMES, 0, f->names);
    if (f->status)
        coir_fail(f, f->status);
    for (;;) {
        coir_try(f, &f->next, coir_walker_next, .walker = &f->outer);
        if (!f->next.result)
            break;
        saw_node(f, &f->outer);
        saw_names(f, f->outer.node);
    }
    end(f, &f->outer);
    f->status = begin(f, &f->outer, &coir_kind_catalog, COIR_TREE_CATALOG, 0, f->volumes);
    if (f->status)
        coir_fail(f, f->status);
    for (;;) {
        coir_try(f, &f->next, coir_walker_next, .walker = &f->outer);
        if (!f->next.result)
            break;
        saw_node(f, &f->outer);
        f->byte = 0;
        while (next_volume(f)) {
            f->status = begin(f, &f->inner, &coir_kind_extents, f->id, f->volume->shift, &f->volume->root);
            if (f->status)
                coir_fail(f, f->status);
            for (;;) {
                coir_try(f, &f->next, coir_walker_next, .walker = &f->inner);
                if (!f->next.result)
                    break;
                saw_node(f, &f->inner);
                saw_extents(f, f->inner.node);
            }
            if (f->inner.damage == 0 && f->mapped != f->volume->mapped)
                damage(f, f->id, "the count of mapped blocks is not that of the extents");
            end(f, &f->inner);
        }
    }
    end(f, &f->outer);
    if (f->result == 0 && f->by_id != f->by_name)
        damage(f, COIR_TREE_NAMES, "the names are not those of the volumes");
    coir_finally(f) {
        coir_walker_destroy(&f->inner);
        coir_walker_destroy(&f->outer);
    }
} coir_end
