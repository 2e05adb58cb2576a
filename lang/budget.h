/* SPDX-License-Identifier: MIT */
/*
 * Memory of the front end: counted against a limit, so that no source, however odd, can take more than its caller
 * allows, and running out is an error that is reported, never an abort. Arrays grow by themselves and are addressed by
 * index; an arena keeps what lives as long as the compilation, and is freed whole. One thread at a time.
 */
#ifndef COIR_LANG_BUDGET_H
#define COIR_LANG_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct coir_budget {
    size_t limit;               /* bytes that may be in use at once; 0 is no limit */
    size_t used;                /* bytes that are in use */
};

/* As realloc(old, size), where old has old_size bytes; NULL when the limit or the memory is reached, and then `old`
 * stays. What is added is zeros. Size 0 frees, and gives NULL. */
void *coir_budget_resize(struct coir_budget *m, void *old, size_t old_size, size_t size);

/* Room for one more item of `item` bytes in the array *at, which has *room places, of which `count` are taken. False
 * when there is no memory: the array is as it was. */
bool coir_budget_grow(struct coir_budget *m, void *at, uint32_t *room, uint32_t count, size_t item);

/* Pieces that are freed together. Begins as { .memory = m }. */
struct coir_arena {
    struct coir_budget *memory;
    struct coir_arena_block *blocks;    /* the newest first */
    size_t taken;                       /* bytes of the newest that are given out */
};

/* size bytes of zeros, aligned for anything; NULL when there is no memory. */
void *coir_arena_take(struct coir_arena *a, size_t size);

/* A copy of n bytes with a NUL behind them; NULL when there is no memory. */
char *coir_arena_copy(struct coir_arena *a, const char *text, size_t n);

/* Frees all that was taken. The arena can be used again. */
void coir_arena_free(struct coir_arena *a);

#endif
