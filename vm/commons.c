/* SPDX-License-Identifier: MIT */
/*
 * What heaps share. See commons.h.
 *
 * A list of free cells goes into the depot as it is, whole: nothing is walked, and the lock is held for a few words. A
 * heap gives all of its lists when its lives have fallen by FREED, or when it has made MADE since it gave last: so
 * what it keeps is bounded by what it freed meanwhile, whether it frees more than it makes, or as many, of other
 * classes. Nor is a list in the depot longer, and who takes one comes back before long.
 *
 * Invariant: the quotas and `left` are the limit, always, and no heap uses more than its quota. So all of them together
 * do not use more than the limit; up to two chunks a heap may lie idle.
 */
#include "vm/commons.h"

enum { FREED = 1024, MADE = 4096, CHUNK = 1 << 20 };

void coir_commons_init(struct coir_commons *c, size_t limit, unsigned heaps, uint64_t seed)
{
    const size_t part = limit / 32 / heaps;
    struct coir_heap h;

    memset(c, 0, sizeof *c);
    if (limit && limit < COIR_HEAP_UNLIMITED) {
        c->left = (int64_t)limit;
        c->chunk = part > CHUNK ? CHUNK : part > 0 ? (int64_t)part : 1;
    }
    coir_heap_init(&h, NULL, NULL, 0, seed);
    memcpy(c->seed, h.seed, sizeof c->seed);
    pthread_mutex_init(&c->lock, NULL);
}

void coir_commons_end(struct coir_commons *c)
{
    pthread_mutex_destroy(&c->lock);
}

void coir_heap_join(struct coir_heap *h, struct coir_commons *c)
{
    h->commons = c;
    h->shared = true;
    h->quota = c->chunk ? 0 : COIR_HEAP_UNLIMITED;
    h->low = -FREED;
    memcpy(h->seed, c->seed, sizeof h->seed);
}

/* ---- the limit ---- */

bool coir_commons_take(struct coir_heap *h, int64_t more)
{
    struct coir_commons *const c = h->commons;
    int64_t left = __atomic_load_n(&c->left, __ATOMIC_RELAXED), taken;

    do {
        if (left < more)
            return false;
        taken = left - more > c->chunk ? more + c->chunk : left;
    } while (!__atomic_compare_exchange_n(&c->left, &left, left - taken, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    h->quota += taken;
    return true;
}

/* Less is used: gives back what is far too much. */
void coir_heap_surplus(struct coir_heap *h)
{
    struct coir_commons *const c = h->commons;
    const int64_t room = h->quota - h->used;

    if (!c->chunk || room <= 2 * c->chunk)
        return;
    h->quota -= room - c->chunk;
    __atomic_add_fetch(&c->left, room - c->chunk, __ATOMIC_RELAXED);
}

/* ---- free cells ---- */

#ifndef COIR_HEAP_EXACT

/* A free cell: the next of its list, and of the first in the depot, the next list. */
struct spare {
    void *next;
    void *chain;
};
_Static_assert(sizeof(struct spare) <= COIR_HEAP_GRAIN, "it lies in the smallest cell");

/* The lock is held. */
static void give_all(struct coir_heap *h)
{
    for (size_t class = 0; class < COIR_HEAP_CLASSES; class++) {
        struct spare *const first = h->free[class];

        if (!first)
            continue;
        first->chain = h->commons->chains[class];
        h->commons->chains[class] = first;
        h->free[class] = NULL;
    }
    h->shared_at = h->allocations;
    h->low = h->lives - FREED;
}

static bool has_to_give(const struct coir_heap *h)
{
    return h->lives < h->low || h->allocations - h->shared_at >= MADE;
}

void coir_heap_share(struct coir_heap *h)
{
    if (!h->commons)
        return;
    if (has_to_give(h)) {
        pthread_mutex_lock(&h->commons->lock);
        give_all(h);
        pthread_mutex_unlock(&h->commons->lock);
    } else if (h->low < h->lives - FREED) {
        h->low = h->lives - FREED;
    }
}

bool coir_commons_cells(struct coir_heap *h, size_t class, void **cell)
{
    struct coir_commons *const c = h->commons;
    struct spare *first;

    pthread_mutex_lock(&c->lock);
    if (has_to_give(h))
        give_all(h);
    first = c->chains[class];
    if (first)
        c->chains[class] = first->chain;
    pthread_mutex_unlock(&c->lock);
    if (!first)
        return false;
    h->free[class] = first->next;
    *cell = first;
    return true;
}

#else

void coir_heap_share(struct coir_heap *h)
{
    (void)h;
}

#endif
