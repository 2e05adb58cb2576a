/* SPDX-License-Identifier: MIT */
/*
 * Counted memory: see lang/budget.h. Every byte of the front end comes from here, so that `used` is what it has. No
 * size is multiplied without looking whether it fits.
 */
#include "lang/budget.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/assert.h"

void *coir_budget_resize(struct coir_budget *m, void *old, size_t old_size, size_t size)
{
    COIR_ASSERT(m->used >= old_size);
    if (size == 0) {
        free(old);
        m->used -= old_size;
        return NULL;
    }
    if (m->limit && size > old_size && size - old_size > (m->limit > m->used ? m->limit - m->used : 0))
        return NULL;
    char *const at = realloc(old, size);
    if (!at)
        return NULL;
    m->used += size - old_size;
    if (size > old_size)
        memset(at + old_size, 0, size - old_size);
    return at;
}

bool coir_budget_grow(struct coir_budget *m, void *at, uint32_t *room, uint32_t count, size_t item)
{
    void *old;

    if (count < *room)
        return true;
    const uint32_t more = *room < 16 ? 16 : *room > UINT32_MAX / 2 ? UINT32_MAX : *room * 2;
    if (count >= more || more > SIZE_MAX / item)
        return false;
    memcpy(&old, at, sizeof old);               /* any pointer to objects, all of which look alike here */
    void *const grown = coir_budget_resize(m, old, *room * item, more * item);
    if (!grown)
        return false;
    memcpy(at, &grown, sizeof grown);
    *room = more;
    return true;
}

/* ---- arenas ---- */

enum { BLOCK = 16 << 10, ALIGN = 16 };

struct coir_arena_block {
    struct coir_arena_block *older;
    size_t size;                                /* of this struct and its bytes */
    _Alignas(ALIGN) char bytes[];
};

void *coir_arena_take(struct coir_arena *a, size_t size)
{
    const size_t most = SIZE_MAX - sizeof(struct coir_arena_block) - ALIGN;

    if (size > most)
        return NULL;
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    struct coir_arena_block *b = a->blocks;
    if (!b || b->size - sizeof *b - a->taken < size) {
        const size_t room = sizeof *b + (size > BLOCK ? size : BLOCK);
        b = coir_budget_resize(a->memory, NULL, 0, room);
        if (!b)
            return NULL;
        b->older = a->blocks;
        b->size = room;
        a->blocks = b;
        a->taken = 0;
    }
    char *const at = b->bytes + a->taken;
    a->taken += size;
    return at;
}

char *coir_arena_copy(struct coir_arena *a, const char *text, size_t n)
{
    char *const copy = n < SIZE_MAX ? coir_arena_take(a, n + 1) : NULL;

    if (copy)
        memcpy(copy, text, n);
    return copy;
}

void coir_arena_free(struct coir_arena *a)
{
    while (a->blocks) {
        struct coir_arena_block *const b = a->blocks;
        a->blocks = b->older;
        coir_budget_resize(a->memory, b, b->size, 0);
    }
    a->taken = 0;
}
