/* SPDX-License-Identifier: MIT */
/*
 * Memory that lives as long as one owner: a loaded program, a builder, a proof. It is given out in pieces and freed as
 * a whole. No piece is ever given back alone.
 */
#ifndef COIR_VM_ARENA_H
#define COIR_VM_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct coir_load_arena_block;

/* All zero is an empty one. */
struct coir_load_arena {
    struct coir_load_arena_block *block;     /* the newest */
    size_t used, size;                  /* of the newest's bytes */
    size_t total;                       /* bytes taken from malloc */
};

/* n * size zero bytes, aligned to 16. NULL: no memory, or the product is none. Of 0 bytes it is not NULL. */
void *coir_load_arena_alloc(struct coir_load_arena *a, size_t n, size_t size);

/* The bytes and a 0 behind them. */
char *coir_load_arena_text(struct coir_load_arena *a, const char *bytes, size_t length);

void coir_load_arena_free(struct coir_load_arena *a);

#endif
