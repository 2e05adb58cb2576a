/* SPDX-License-Identifier: MIT */
/*
 * The arena: blocks of malloc, each twice as large as the last up to a bound, so that a small owner costs little and
 * none costs more than half of what it asked for. A piece that is larger than the next block has one of its own.
 */
#include "vm/arena.h"

#include <stdlib.h>
#include <string.h>

struct coir_load_arena_block {
    struct coir_load_arena_block *older;
    _Alignas(16) char bytes[];
};

enum { FIRST = 1024, LARGEST = 256 * 1024 };

static void *new_block(struct coir_load_arena *a, size_t size)
{
    struct coir_load_arena_block *b = calloc(1, sizeof *b + size);

    if (!b)
        return NULL;
    a->total += sizeof *b + size;
    b->older = a->block;
    a->block = b;
    return b->bytes;
}

void *coir_load_arena_alloc(struct coir_load_arena *a, size_t n, size_t size)
{
    size_t want;

    if (__builtin_mul_overflow(n, size, &want) || want > SIZE_MAX / 2)
        return NULL;
    want = want ? (want + 15) & ~(size_t)15 : 16;
    if (want > a->size - a->used) {
        size_t next = a->size ? a->size * 2 : FIRST;

        if (next > LARGEST)
            next = LARGEST;
        if (next < want)
            next = want;
        if (!new_block(a, next))
            return NULL;
        a->size = next;
        a->used = 0;
    }
    void *p = a->block->bytes + a->used;
    a->used += want;
    return p;
}

char *coir_load_arena_text(struct coir_load_arena *a, const char *bytes, size_t length)
{
    char *to = coir_load_arena_alloc(a, length + 1, 1);

    if (to && length)
        memcpy(to, bytes, length);
    return to;
}

void coir_load_arena_free(struct coir_load_arena *a)
{
    for (struct coir_load_arena_block *b = a->block; b;) {
        struct coir_load_arena_block *older = b->older;

        free(b);
        b = older;
    }
    memset(a, 0, sizeof *a);
}
