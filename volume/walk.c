/* SPDX-License-Identifier: MIT */
/*
 * The walk over one tree: going down reads a child into the block of its level, going up needs no reading.
 */
#include "volume/walk.h"

#include <stdlib.h>

int coir_walker_init(struct coir_walker *w, const struct coir_walk_options *o, const struct coir_tree_kind *kind,
                     uint64_t tree, unsigned shift, const struct coir_disk_root *root)
{
    *w = (struct coir_walker){ .o = *o, .kind = kind, .tree = tree, .shift = shift, .root = *root };
    if (coir_root_verify(root))
        return -EBADMSG;
    if (root->address == 0)
        return 0;
    w->pages = aligned_alloc(COIR_BLOCK, (root->level + (size_t)1) * COIR_BLOCK);
    return w->pages ? 0 : -ENOMEM;
}

void coir_walker_destroy(struct coir_walker *w)
{
    free(w->pages);
    *w = (struct coir_walker){ .pages = NULL };
}

static void report(struct coir_walker *w, const struct coir_node_want *want, int status, const char *what)
{
    const struct coir_damage damage = {
        .status = status, .level = want->level, .tree = want->tree, .address = want->address, .what = what,
    };

    w->damage++;
    if (w->o.damaged)
        w->o.damaged(w->o.arg, &damage);
}

/* What is to be read next. False: nothing. */
static bool next_node(struct coir_walker *w, struct coir_node_want *want)
{
    *want = (struct coir_node_want){ .tree = w->tree, .shift = w->shift, .kind = w->kind };
    if (!w->begun) {
        w->begun = true;
        w->level = w->root.level + 1u;
        want->address = w->root.address;
        want->crc = w->root.crc;
        want->any_era = true;
        want->level = w->root.level;
        want->last = UINT64_MAX;
        return w->root.address != 0;
    }
    while (w->level <= w->root.level && (w->level == 0 || w->at[w->level].next == w->pages[w->level].count))
        w->level++;
    if (w->level > w->root.level)
        return false;
    {
        struct coir_disk_node *page = &w->pages[w->level];
        const unsigned at = w->at[w->level].next++;
        const struct coir_disk_child *c = &coir_children(page)[at];

        want->address = c->address;
        want->crc = c->crc;
        want->era = c->era;
        want->level = w->level - 1;
        want->low = at ? c->key : w->at[w->level].low;
        want->last = coir_child_last(page, at, w->at[w->level].last);
    }
    return true;
}

/* One has been read, or not. True: it is sound, and is the next. */
static bool arrived(struct coir_walker *w, const struct coir_node_want *want, int status)
{
    struct coir_disk_node *page = &w->pages[want->level];
    const char *what = status == -ENODATA ? "the file is too short" : "it cannot be read";

    if (status == 0) {
        what = coir_node_verify(page, want);
        status = what ? -EBADMSG : 0;
    }
    if (status) {
        report(w, want, status, what);
        return false;
    }
    w->nodes++;
    w->node = page;
    w->level = want->level;
    w->at[w->level].next = 0;
    w->at[w->level].low = want->low;
    w->at[w->level].last = want->last;
    return true;
}

coir_body(coir_walker_next, f) {
    f->walker->node = NULL;
    while (next_node(f->walker, &f->want)) {
        f->device = COIR_ADDRESS_FILE(f->want.address) < f->walker->o.n_files
                        ? f->walker->o.files[COIR_ADDRESS_FILE(f->want.address)] : NULL;
        f->status = -ENXIO;
        if (f->device) {
            f->iov = (struct iovec){ &f->walker->pages[f->want.level], COIR_BLOCK };
            coir_await(f, &f->read, coir_device_read, .device = f->device, .iov = &f->iov, .n = 1,
                       .offset = COIR_ADDRESS_BLOCK(f->want.address) * COIR_BLOCK,
                       .flags = f->walker->o.direct ? COIR_DIRECT : 0);
            f->status = coir_status(&f->read);
            if (f->status == -ECANCELED)
                coir_fail(f, -ECANCELED);
        }
        if (arrived(f->walker, &f->want, f->status))
            coir_return(f, true);
    }
} coir_end
