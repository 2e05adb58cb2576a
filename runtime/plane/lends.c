/* SPDX-License-Identifier: MIT */
/*
 * The buffers a shard lends.
 *
 * Invariants:
 *   1. A buffer is out, or free here, or in the kernel's hands (kind->provide took it); it goes to the kernel
 *      only while another one is free here: what is tried without waiting, in a cancelled scope, needs one.
 *   2. While an io wants one, none is free here and none is in the kernel's hands, but for what it has not told
 *      of yet.
 *   3. Memory that is not out is poisoned under AddressSanitizer.
 */
#include "runtime/plane/lends.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { SLAB_BYTES = COIR_LENDS_SLAB * COIR_LENT_MAX, NAMED = 10 };

/* An io that wants a buffer is held, and its `spare` free for that. */
static struct coir_link *link_of(struct coir_io *io)
{
    return (struct coir_link *)(void *)io->spare;
}

/* A buffer that nobody has. */
static void place(struct coir_lends *l, unsigned id)
{
    struct coir_link *oldest = coir_list_pop_front(&l->wanting);

    if (oldest) {
        struct coir_io *io = (struct coir_io *)(void *)((char *)oldest - offsetof(struct coir_io, spare));
        l->loan[id].out = true;
        l->out++;
        coir_lends_set_id(io, (int)id);
        coir_io_ended(l->plane, io, 0);
        return;
    }
    if (l->n_free == 0 || !l->plane->kind->provide || !l->plane->kind->provide(l->plane, id))
        l->free[l->n_free++] = (uint16_t)id;
}

int coir_lends_grow(struct coir_plane *p)
{
    struct coir_lends *l = p->lends;
    char *slab;

    if (l->n == COIR_LENT_BUFFERS)
        return -ENOBUFS;
    slab = coir_alloc_fails() ? MAP_FAILED
         : mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slab == MAP_FAILED)
        return -ENOMEM;
    coir_asan_poison(slab, SLAB_BYTES);
    l->slab[l->n / COIR_LENDS_SLAB] = slab;
    for (unsigned i = 0; i < COIR_LENDS_SLAB; i++)
        place(l, l->n++);
    return 0;
}

int coir_lends_ready(struct coir_plane *p)
{
    struct coir_lends *l = p->lends;

    if (l)
        return l->n ? 0 : coir_lends_grow(p);
    l = coir_alloc_fails() ? NULL : calloc(1, sizeof *l);
    if (!l)
        return -ENOMEM;
    l->plane = p;
    coir_list_init(&l->wanting);
    p->lends = l;
    return coir_lends_grow(p);
}

static void goes_out(struct coir_lends *l, unsigned id)
{
    COIR_ASSERT(id < l->n && !l->loan[id].out);
    l->loan[id].out = true;
    l->out++;
}

int coir_lends_take(struct coir_plane *p)
{
    struct coir_lends *l = p->lends;

    if (!l->n_free)
        return -ENOBUFS;
    const unsigned id = l->free[--l->n_free];
    goes_out(l, id);
    return (int)id;
}

void coir_lends_filled(struct coir_lends *l, unsigned id, size_t len)
{
    goes_out(l, id);
    coir_asan_unpoison(coir_lends_at(l, id), len);
}

void coir_lends_release(struct coir_lends *l, unsigned id)
{
    struct coir_loan *loan = &l->loan[id];

    COIR_ASSERT(id < l->n && loan->out);
    coir_asan_poison(coir_lends_at(l, id), COIR_LENT_MAX);
    loan->out = false;
    loan->site = NULL;
    loan->turn++;
    l->out--;
    place(l, id);
}

void coir_lends_want(struct coir_lends *l, struct coir_io *io)
{
    coir_list_push_back(&l->wanting, link_of(io));
}

void coir_lends_forget(struct coir_io *io)
{
    coir_list_remove(link_of(io));
}

static void name_lent(const struct coir_lends *l)
{
    unsigned named = 0;

    for (unsigned id = 0; id < l->n && named < NAMED; id++) {
        const struct coir_site *at = l->loan[id].site;
        if (!l->loan[id].out)
            continue;
        fprintf(stderr, "coir: shard %u: a buffer that was lent to task %s at %s:%u was never given back\n",
                l->plane->shard->id, at ? at->task : "?", at ? at->file : "?", at ? at->line : 0);
        named++;
    }
    if (l->out > named)
        fprintf(stderr, "coir: shard %u: nor were %u more\n", l->plane->shard->id, l->out - named);
}

void coir_lends_destroy(struct coir_plane *p)
{
    struct coir_lends *l = p->lends;

    if (!l)
        return;
    name_lent(l);
    for (unsigned i = 0; i < l->n / COIR_LENDS_SLAB; i++) {
        coir_asan_unpoison(l->slab[i], SLAB_BYTES);
        munmap(l->slab[i], SLAB_BYTES);
    }
    free(l);
    p->lends = NULL;
}
