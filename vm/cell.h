/* SPDX-License-Identifier: MIT */
/*
 * Cells: the counted objects that values refer to, and the heap they come from.
 *
 * A cell belongs to one shard, and its count is not atomic; but constants are immortal, and what names something
 * shared (channels, tasks, actors) is counted atomically. A cell with a count of 1 has one holder, who may change it in
 * place; with more it is never changed.
 *
 *     COIR_IMMORTAL           count of what is never freed. Any shard reads it, nobody writes it
 *     COIR_SHARED | n         counted atomically
 *     n                       of one shard
 *
 * Dropping the last reference needs no memory and does not recurse: the dead cell is linked, by the word its count was,
 * into the heap's list of the dead, and coir_heap_bury takes from there, a bounded number at a time. Until a cell is
 * buried its own references still count; so the limit of memory is asked for only after burying everything.
 *
 * Nothing here ends the process for want of memory: what makes a cell returns NULL.
 */
#ifndef COIR_VM_CELL_H
#define COIR_VM_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "vm/type.h"

/* The head of every cell. */
struct coir_counted {
    union {
        uint64_t count;
        struct coir_counted *next;      /* of the dead */
    };
    uint32_t type;                      /* index into the program's types */
    uint32_t aux;                       /* a sum: its variant; a text: its hash, or 0; a closure: its function; a
                                           dead map: its entries that are buried */
};
_Static_assert(sizeof(struct coir_counted) == 16, "a cell costs 16 bytes over what it holds");

#define COIR_SHARED (UINT64_C(1) << 63)
#define COIR_IMMORTAL (UINT64_C(3) << 62)

/* In place of a type: a region of a fiber (region.h), which is closed the moment it is dropped. */
#define COIR_CELL_REGION UINT32_MAX
/* And of what says that an actor has a holder less: a part of the actor's cell (actor.h). */
#define COIR_CELL_NOTE (UINT32_MAX - 1)

/* A record, a payload, a closure's captured values: their slots. */
struct coir_box {
    struct coir_counted head;
    uint64_t slots[];
};

/* Bytes, in place; `cap` bytes have room. */
struct coir_text {
    struct coir_counted head;
    size_t len;
    size_t cap;
    char bytes[];
};

/* `len` elements of as many slots as the element type has, one after the other. data is NULL while cap is 0. */
struct coir_list {
    struct coir_counted head;
    size_t len;
    size_t cap;
    uint64_t *data;
};

/*
 * Entries in the order of insertion, the key's slots and the value's, and an index over them by open addressing. The
 * index has a power of two of places, each 0 or the number of an entry plus 1 and, in the bits that this leaves, the
 * hash's: so that an entry is looked at only if it is likely the one. At most three quarters are used. Behind the
 * places a bit for each entry says that it was removed.
 */
struct coir_map {
    struct coir_counted head;
    uint32_t live;                      /* entries that are there: the map's length */
    uint32_t used;                      /* entries, removed ones too */
    uint32_t cap;                       /* entries there is room for; 0: no memory yet */
    uint32_t mask;                      /* places of the index, less 1 */
    uint64_t *entries;
    uint32_t *index;
};

/* ---- the heap of a shard ---- */

#define COIR_HEAP_UNLIMITED (INT64_MAX / 4)
enum { COIR_HEAP_GRAIN = 16, COIR_HEAP_CLASSES = 32, COIR_HEAP_SMALL = COIR_HEAP_GRAIN * COIR_HEAP_CLASSES };

#if defined(__SANITIZE_ADDRESS__) || defined(COIR_FAULTS)
#define COIR_HEAP_EXACT 1               /* every cell is malloc's, so that AddressSanitizer sees each, and may fail */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COIR_HEAP_EXACT 1
#endif
#endif

struct coir_commons;
struct coir_function;

struct coir_heap {
    void *free[COIR_HEAP_CLASSES];      /* of 16, 32, ... bytes */
    char *fresh, *fresh_end;            /* what is left of the newest block */
    const struct coir_type *types;      /* the program's */
    const struct coir_function *functions;  /* the program's: what closures hold */
    struct coir_counted *dead;          /* not buried yet */
    void *blocks;
    struct coir_commons *commons;       /* what it shares with the other heaps of a world (commons.h); NULL: alone */
    int64_t used;                       /* bytes taken from malloc, less what others took and this one gave back */
    int64_t quota;                      /* at most so many: its part of the limit */
    uint64_t seed[2];                   /* of the hash */
    uint64_t allocations;               /* ever made, for tests and statistics: cells, and lists' and maps' memory */
    uint64_t copies;                    /* cells copied because they were not held once */
    int64_t lives;                      /* cells and their memory not given back: of a world's heaps the sum is */
    uint64_t shared_at;                 /* allocations when its free cells were last given to the others */
    int64_t low;                        /* fewer lives than this: it has free cells to give */
    bool burying;
    bool shared;                        /* other shards may hold channels and tasks: those are counted atomically */
};

#ifdef COIR_FAULTS
/* Counts down to 0; the allocation that reaches it fails. 0: none will. */
extern _Thread_local long coir_heap_fail_at;
#endif

/* `limit` 0: none. `seed` 0: of the kernel's randomness. */
void coir_heap_init(struct coir_heap *h, const struct coir_type *types, const struct coir_function *functions,
                    size_t limit, uint64_t seed);
/* Gives everything back; who still holds a cell must not use it. Of a world's heaps none ends before all are buried. */
void coir_heap_end(struct coir_heap *h);

/* Memory of the heap: 16-byte aligned, not cleared. NULL when there is none, or the limit is reached. `size` is given
 * again when it is freed. */
void *coir_heap_slow(struct coir_heap *h, size_t size);
void coir_heap_free_slow(struct coir_heap *h, void *p, size_t size);

static inline __attribute__((always_inline)) void *coir_heap_alloc(struct coir_heap *h, size_t size)
{
#ifndef COIR_HEAP_EXACT
    const size_t class = (size - 1) / COIR_HEAP_GRAIN;

    if (__builtin_expect(class < COIR_HEAP_CLASSES && h->free[class], 1)) {
        void *p = h->free[class];

        h->free[class] = *(void **)p;
        h->allocations++;
        h->lives++;
        return p;
    }
#endif
    return coir_heap_slow(h, size);
}

static inline __attribute__((always_inline)) void coir_heap_free(struct coir_heap *h, void *p, size_t size)
{
#ifndef COIR_HEAP_EXACT
    const size_t class = (size - 1) / COIR_HEAP_GRAIN;

    if (__builtin_expect(class < COIR_HEAP_CLASSES, 1)) {
        *(void **)p = h->free[class];
        h->free[class] = p;
        h->lives--;
        return;
    }
#endif
    coir_heap_free_slow(h, p, size);
}

/* Memory of others' that counts for the limit, until it is refunded. False: it is too much. */
bool coir_heap_charge_slow(struct coir_heap *h, size_t size);
void coir_heap_surplus(struct coir_heap *h);

static inline bool coir_heap_charge(struct coir_heap *h, size_t size)
{
    const int64_t used = h->used + (int64_t)size;

    if (__builtin_expect(size > COIR_HEAP_UNLIMITED || used > h->quota, 0))
        return coir_heap_charge_slow(h, size);
    h->used = used;
    return true;
}

static inline void coir_heap_refund(struct coir_heap *h, size_t size)
{
    h->used -= (int64_t)size;
    if (__builtin_expect(h->commons != NULL, 0))
        coir_heap_surplus(h);
}

/* Another size, up to the smaller of both as it was. NULL: no memory, and `p` is as it was. */
void *coir_heap_resize(struct coir_heap *h, void *p, size_t old, size_t size);

/* Buries at most `most` of the dead, and those who die by that. Returns how many it did. */
size_t coir_heap_bury(struct coir_heap *h, size_t most);

/* The mixing step of the hash of keys. */
static inline uint64_t coir_hash_mix(uint64_t a, uint64_t b)
{
    const unsigned __int128 product = (unsigned __int128)(a ^ UINT64_C(0x9e3779b97f4a7c15)) * (b | 1);

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* ---- counting ---- */

void coir_hold_shared(struct coir_counted *c);
void coir_drop_last(struct coir_heap *h, struct coir_counted *c);

/* Of any cell: another thread may be counting it. */
static inline int64_t coir_count(const struct coir_counted *c)
{
    return (int64_t)__atomic_load_n(&c->count, __ATOMIC_RELAXED);
}

/* One more holder of a cell. */
static inline void coir_hold(struct coir_counted *c)
{
    const int64_t n = coir_count(c);

    if (__builtin_expect(n > 0, 1))
        c->count = (uint64_t)n + 1;
    else
        coir_hold_shared(c);
}

/* A holder less; the last one's cell dies, and a few of what hung on it are buried with it. */
static inline void coir_drop(struct coir_heap *h, struct coir_counted *c)
{
    const int64_t n = coir_count(c);

    if (__builtin_expect(n > 1, 0))
        c->count = (uint64_t)n - 1;
    else
        coir_drop_last(h, c);
}

static inline bool coir_sole(const struct coir_counted *c)
{
    return c->count == 1;
}

/* Of what other shards may hold: the count of a new one, and whether it has one holder. */
static inline uint64_t coir_first_count(const struct coir_heap *h)
{
    return h->shared ? COIR_SHARED | 1 : 1;
}

static inline bool coir_held_once(const struct coir_counted *c)
{
    return ((uint64_t)coir_count(c) & ~COIR_SHARED) == 1;
}

static inline struct coir_counted *coir_ref(uint64_t slot)
{
    return (struct coir_counted *)(uintptr_t)slot;
}

static inline uint64_t coir_slot_of(const void *cell)
{
    return (uint64_t)(uintptr_t)cell;
}

/* The same for slots of a layout, whose references may be 0. */
void coir_hold_slots(const struct coir_slot *layout, uint32_t n, const uint64_t *slots);
void coir_drop_slots(struct coir_heap *h, const struct coir_slot *layout, uint32_t n, const uint64_t *slots);

static inline void coir_hold_value(const struct coir_type *t, const uint64_t *slots)
{
    if (!t->flat)
        coir_hold_slots(t->layout, t->slots, slots);
}

static inline void coir_drop_value(struct coir_heap *h, const struct coir_type *t, const uint64_t *slots)
{
    if (!t->flat)
        coir_drop_slots(h, t->layout, t->slots, slots);
}

/* ---- making cells ---- */

static inline void coir_head_init(struct coir_counted *c, const struct coir_type *t, uint32_t aux)
{
    c->count = 1;
    c->type = t->index;
    c->aux = aux;
}

/* A record, payload or closure of `slots` slots, not filled. NULL: no memory. */
static inline struct coir_box *coir_box_new(struct coir_heap *h, const struct coir_type *t, uint32_t aux,
                                            uint32_t slots)
{
    struct coir_box *b = coir_heap_alloc(h, sizeof *b + slots * sizeof(uint64_t));

    if (__builtin_expect(b != NULL, 1))
        coir_head_init(&b->head, t, aux);
    return b;
}

/* If `*place` is held by others too, it is copied, the cell alone, and *place is the copy. False: no memory. */
bool coir_box_own(struct coir_heap *h, uint64_t *place);

/* What a record, a payload or a closure holds. */
const struct coir_slot *coir_box_layout(const struct coir_heap *h, const struct coir_box *box, uint32_t *slots);

/* A copy of a box, alone: what it refers to is held once more. NULL: no memory. */
struct coir_box *coir_box_copy(struct coir_heap *h, const struct coir_box *box);

/* A resource's cell, zero but for its head; as large as the resource says. NULL: no memory. */
struct coir_counted *coir_resource_new(struct coir_heap *h, const struct coir_type *t);

#endif
