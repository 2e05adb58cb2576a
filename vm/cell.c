/* SPDX-License-Identifier: MIT */
/*
 * The heap of a shard, and the end of cells. See cell.h.
 *
 * Small cells are cut from blocks, by size, and go back to a list of their size; what is larger is malloc's. The limit
 * is asked for where memory is taken from malloc, and nowhere else. With AddressSanitizer every cell is malloc's.
 *
 * Burying never recurses and never allocates: a dead cell's references die by being linked to the others. A long list
 * or map is buried from its end, as far as the caller's number goes, and is linked again.
 */
#include "vm/cell.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

#include "vm/commons.h"
#include "vm/list.h"
#include "vm/map.h"
#include "vm/program.h"
#include "vm/shared.h"
#include "vm/text.h"

enum { BLOCK = 64 * 1024, HUGE = 2 * 1024 * 1024, AT_ONCE = 64, BEFORE_MORE = 4096 };

#ifdef COIR_FAULTS
_Thread_local long coir_heap_fail_at;

static bool fails(void)
{
    return coir_heap_fail_at > 0 && --coir_heap_fail_at == 0;
}
#else
static bool fails(void)
{
    return false;
}
#endif

struct block {
    struct block *next;
    _Alignas(16) char bytes[];
};

static void make_seed(uint64_t seed, uint64_t out[2])
{
    out[0] = seed;
    out[1] = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    if (seed || getrandom(out, 2 * sizeof *out, GRND_NONBLOCK) == 2 * sizeof *out)
        return;
    out[0] = (uint64_t)time(NULL);           /* early in the life of a machine there is nothing better */
    out[1] = (uint64_t)(uintptr_t)out;
}

void coir_heap_init(struct coir_heap *h, const struct coir_type *types, const struct coir_function *functions,
                    size_t limit, uint64_t seed)
{
    memset(h, 0, sizeof *h);
    h->types = types;
    h->functions = functions;
    h->quota = limit && limit < COIR_HEAP_UNLIMITED ? (int64_t)limit : COIR_HEAP_UNLIMITED;
    make_seed(seed, h->seed);
}

void coir_heap_end(struct coir_heap *h)
{
    coir_heap_bury(h, SIZE_MAX);
    for (struct block *b = h->blocks; b;) {
        struct block *next = b->next;

        free(b);
        b = next;
    }
    memset(h, 0, sizeof *h);
}

static bool has_room(struct coir_heap *h, size_t size)
{
    const int64_t room = h->quota - h->used;

    return size <= COIR_HEAP_UNLIMITED
           && (room >= (int64_t)size || (h->commons && coir_commons_take(h, (int64_t)size - room)));
}

/* The dead are buried before anything is refused. */
bool coir_heap_charge_slow(struct coir_heap *h, size_t size)
{
    if (!has_room(h, size)) {
        if (!h->dead)
            return false;
        coir_heap_bury(h, SIZE_MAX);
        if (!has_room(h, size))
            return false;
    }
    h->used += (int64_t)size;
    return true;
}

/* What is that large is used all over, as the index of a map is: huge pages are fewer to be found, and to be made. Only
 * advice. */
static void *in_huge_pages(void *p, size_t size)
{
    const uintptr_t mask = HUGE - 1, from = ((uintptr_t)p + mask) & ~mask, to = ((uintptr_t)p + size) & ~mask;

    if (from < to)
        madvise((void *)from, to - from, MADV_HUGEPAGE);
    return p;
}

/* `size` bytes of malloc's, within the limit. */
static void *from_system(struct coir_heap *h, size_t size)
{
    void *p;

    if (!coir_heap_charge(h, size))
        return NULL;
    p = malloc(size);
    if (!p && h->dead) {
        coir_heap_bury(h, SIZE_MAX);
        p = malloc(size);
    }
    if (!p)
        coir_heap_refund(h, size);
    return !p || size < 2 * HUGE ? p : in_huge_pages(p, size);
}

#ifndef COIR_HEAP_EXACT
static void keep_rest(struct coir_heap *h)
{
    const size_t rest = (size_t)(h->fresh_end - h->fresh);

    if (rest < COIR_HEAP_GRAIN)
        return;
    *(void **)(void *)h->fresh = h->free[rest / COIR_HEAP_GRAIN - 1];
    h->free[rest / COIR_HEAP_GRAIN - 1] = h->fresh;
}

static void *from_block(struct coir_heap *h, size_t size)
{
    const size_t rounded = (size + COIR_HEAP_GRAIN - 1) / COIR_HEAP_GRAIN * COIR_HEAP_GRAIN;
    void *p;

    if ((size_t)(h->fresh_end - h->fresh) < rounded) {
        struct block *b;

        if (h->commons && coir_commons_cells(h, rounded / COIR_HEAP_GRAIN - 1, &p))
            return p;
        b = from_system(h, BLOCK);
        if (!b)
            return NULL;
        keep_rest(h);
        b->next = h->blocks;
        h->blocks = b;
        h->fresh = b->bytes;
        h->fresh_end = (char *)b + BLOCK;
    }
    p = h->fresh;
    h->fresh += rounded;
    return p;
}

static void *from_list_or_block(struct coir_heap *h, size_t size)
{
    void **list = &h->free[(size - 1) / COIR_HEAP_GRAIN], *p = *list;

    if (!p)
        return from_block(h, size);
    *list = *(void **)p;
    return p;
}
#endif

void *coir_heap_slow(struct coir_heap *h, size_t size)
{
    void *p;

    if (fails())
        return NULL;
    if (h->dead)                             /* so that the dead never pile up while cells are made */
        coir_heap_bury(h, BEFORE_MORE);
#ifndef COIR_HEAP_EXACT
    if (size <= COIR_HEAP_SMALL)
        p = from_list_or_block(h, size);
    else
#endif
        p = from_system(h, size);
    if (p) {
        h->allocations++;
        h->lives++;
    }
    return p;
}

void coir_heap_free_slow(struct coir_heap *h, void *p, size_t size)
{
    h->lives--;
    free(p);
    coir_heap_refund(h, size);
}

void *coir_heap_resize(struct coir_heap *h, void *p, size_t old, size_t size)
{
    void *q;

#ifndef COIR_HEAP_EXACT
    if (old > COIR_HEAP_SMALL && size > COIR_HEAP_SMALL) {
        if (size > old && !coir_heap_charge(h, size - old))
            return NULL;
        q = realloc(p, size);
        if (!q) {
            coir_heap_refund(h, size > old ? size - old : 0);
            return NULL;
        }
        coir_heap_refund(h, size < old ? old - size : 0);
        h->allocations++;
        return size < 2 * HUGE ? q : in_huge_pages(q, size);
    }
#endif
    q = coir_heap_alloc(h, size);
    if (q && old) {
        memcpy(q, p, old < size ? old : size);
        coir_heap_free(h, p, old);
    }
    return q;
}

/* ---- the dead ---- */

static void lies_dead(struct coir_heap *h, struct coir_counted *c)
{
    c->next = h->dead;
    h->dead = c;
}

static bool let_go_shared(struct coir_heap *h, struct coir_counted *c)
{
    if (h->types[c->type].kind == COIR_TYPE_ACTOR)
        return coir_actor_let_go(h, c);
    return __atomic_sub_fetch(&c->count, 1, __ATOMIC_ACQ_REL) == COIR_SHARED;
}

/* A holder less. True: that was the last. */
static inline bool let_go(struct coir_heap *h, struct coir_counted *c)
{
    const int64_t n = coir_count(c);

    if (n > 0) {
        c->count = (uint64_t)n - 1;
        return n == 1;
    }
    return (uint64_t)n < COIR_IMMORTAL && let_go_shared(h, c);
}

void coir_hold_shared(struct coir_counted *c)
{
    if ((uint64_t)coir_count(c) < COIR_IMMORTAL)
        __atomic_add_fetch(&c->count, 1, __ATOMIC_RELAXED);
}

/* The references of some slots are let go. */
static void let_go_slots(struct coir_heap *h, const struct coir_slot *layout, uint32_t n, const uint64_t *slots)
{
    for (uint32_t i = 0; i < n; i++) {
        if (layout[i].ref && slots[i] && let_go(h, coir_ref(slots[i])))
            lies_dead(h, coir_ref(slots[i]));
    }
}

static void free_box(struct coir_heap *h, struct coir_counted *c, const struct coir_slot *layout, uint32_t slots)
{
    let_go_slots(h, layout, slots, ((struct coir_box *)c)->slots);
    coir_heap_free(h, c, sizeof(struct coir_box) + slots * sizeof(uint64_t));
}

/* False: there is more of it, and it has been linked again. */
static bool bury_list(struct coir_heap *h, struct coir_list *l, const struct coir_type *t, size_t *most)
{
    const uint32_t stride = t->cell_slots;

    if (t->deep) {
        for (; l->len && *most; --*most) {
            l->len--;
            let_go_slots(h, t->cell, stride, coir_list_slot(l, l->len, stride));
        }
        if (l->len)
            return false;
    }
    if (l->cap && stride)
        coir_heap_free(h, l->data, l->cap * stride * sizeof(uint64_t));
    coir_heap_free(h, l, sizeof *l);
    return true;
}

static bool bury_map(struct coir_heap *h, struct coir_map *m, const struct coir_type *t, size_t *most)
{
    uint64_t *entry;

    if (t->deep) {
        for (; m->head.aux < m->used && *most; --*most) {
            entry = m->entries + (size_t)m->head.aux * t->cell_slots;
            if (!coir_map_is_gone(m, m->head.aux++))
                let_go_slots(h, t->cell, t->cell_slots, entry);
        }
        if (m->head.aux < m->used)
            return false;
    }
    coir_map_free(h, m, t);
    return true;
}

/* A note of an actor's. */
static void take_note(struct coir_heap *h, struct coir_counted *note)
{
    struct coir_counted *const actor = coir_actor_note_comes(h, note);

    if (actor)
        lies_dead(h, actor);
}

static void bury_one(struct coir_heap *h, struct coir_counted *c, size_t *most)
{
    if (__builtin_expect(c->type == COIR_CELL_NOTE, 0)) {
        take_note(h, c);
        return;
    }
    const struct coir_type *t = &h->types[c->type];
    bool whole = true;

    switch (t->kind) {
    case COIR_TYPE_TEXT:
        coir_heap_free(h, c, sizeof(struct coir_text) + ((struct coir_text *)c)->cap);
        return;
    case COIR_TYPE_RECORD:
        free_box(h, c, t->cell, t->cell_slots);
        return;
    case COIR_TYPE_SUM:
        free_box(h, c, t->variants[c->aux].layout, t->variants[c->aux].slots);
        return;
    case COIR_TYPE_FUNC:
        free_box(h, c, h->functions[c->aux].capture_layout, h->functions[c->aux].capture_slots);
        return;
    case COIR_TYPE_LIST:
        whole = bury_list(h, (struct coir_list *)c, t, most);
        break;
    case COIR_TYPE_MAP:
        whole = bury_map(h, (struct coir_map *)c, t, most);
        break;
    case COIR_TYPE_RESOURCE:
        t->resource->drop(h, c);
        coir_heap_free(h, c, t->resource->size);
        return;
    default:
        coir_shared_end(h, c, t);            /* channels, tasks, actors */
        return;
    }
    if (!whole)
        lies_dead(h, c);
}

size_t coir_heap_bury(struct coir_heap *h, size_t most)
{
    const size_t begun = most;

    if (h->burying)
        return 0;                            /* a resource's end drops something: the caller above buries it */
    h->burying = true;
    while (h->dead && most) {
        struct coir_counted *c = h->dead;

        h->dead = c->next;
        most--;
        bury_one(h, c, &most);
    }
    h->burying = false;
    return begun - most;
}

void coir_drop_last(struct coir_heap *h, struct coir_counted *c)
{
    if (!let_go(h, c))
        return;
    if (__builtin_expect(c->type == COIR_CELL_REGION, 0)) {
        coir_region_close(h, c);
        return;
    }
    lies_dead(h, c);
    coir_heap_bury(h, AT_ONCE);
}

void coir_hold_slots(const struct coir_slot *layout, uint32_t n, const uint64_t *slots)
{
    for (uint32_t i = 0; i < n; i++) {
        if (layout[i].ref && slots[i])
            coir_hold(coir_ref(slots[i]));
    }
}

void coir_drop_slots(struct coir_heap *h, const struct coir_slot *layout, uint32_t n, const uint64_t *slots)
{
    for (uint32_t i = 0; i < n; i++) {
        if (layout[i].ref && slots[i])
            coir_drop(h, coir_ref(slots[i]));
    }
}

const struct coir_slot *coir_box_layout(const struct coir_heap *h, const struct coir_box *box, uint32_t *slots)
{
    const struct coir_type *t = &h->types[box->head.type];

    switch (t->kind) {
    case COIR_TYPE_SUM:
        *slots = t->variants[box->head.aux].slots;
        return t->variants[box->head.aux].layout;
    case COIR_TYPE_FUNC:
        *slots = h->functions[box->head.aux].capture_slots;
        return h->functions[box->head.aux].capture_layout;
    default:
        *slots = t->cell_slots;
        return t->cell;
    }
}

struct coir_box *coir_box_copy(struct coir_heap *h, const struct coir_box *box)
{
    uint32_t slots;
    const struct coir_slot *layout = coir_box_layout(h, box, &slots);
    struct coir_box *copy = coir_box_new(h, &h->types[box->head.type], box->head.aux, slots);

    if (!copy)
        return NULL;
    memcpy(copy->slots, box->slots, slots * sizeof(uint64_t));
    coir_hold_slots(layout, slots, copy->slots);
    h->copies++;
    return copy;
}

bool coir_box_own(struct coir_heap *h, uint64_t *place)
{
    struct coir_box *old = (struct coir_box *)coir_ref(*place), *copy;

    if (coir_sole(&old->head))
        return true;
    copy = coir_box_copy(h, old);
    if (!copy)
        return false;
    *place = coir_slot_of(copy);
    coir_drop(h, &old->head);
    return true;
}

struct coir_counted *coir_resource_new(struct coir_heap *h, const struct coir_type *t)
{
    struct coir_counted *c = coir_heap_alloc(h, t->resource->size);

    if (c) {
        memset(c, 0, t->resource->size);
        coir_head_init(c, t, 0);
    }
    return c;
}
