/* SPDX-License-Identifier: MIT */
/*
 * Memory for frames: a size-class allocator per shard (the pool) over one stock of memory for a whole run
 * (the depot). A pool is used by one thread at a time and takes no lock on its hot path; a depot is used by
 * all, under its mutex. Blocks are 16-byte aligned and not zeroed.
 *
 *   pool   per class two lists of free blocks, `loaded` and `spare`; one chunk that new blocks are cut from
 *   depot  all chunks; per class the batches of free blocks that some pool had too many of
 *
 *      free:  loaded --full--> spare --full too--> depot
 *      alloc: loaded <--empty-- spare <--empty too-- depot <--empty too-- chunk <--used up-- allocator
 *
 * Invariants:
 *   1. A block is freed with the size it was allocated with, into any pool of the same depot: memory
 *      migrates, and what a shard only ever frees goes back through the depot, a batch at a time, to the
 *      shard that only allocates.
 *   2. `spare` is NULL or a full batch; a depot's batches are full. So a pool holds less than two batches a
 *      class (of 16 KiB or 8 blocks, whichever is more) beyond what its owner uses.
 *   3. Chunks go back to the allocator when the depot is destroyed, not before. A pool owns nothing that
 *      would have to be given back, so there is no coir_pool_destroy.
 *   4. What is larger than COIR_POOL_MAX goes to the allocator and back each time, and is its owner's to
 *      free.
 *
 * Under AddressSanitizer, and when COIR_POOL_MALLOC is defined, everything is as in 4, with exact sizes, so
 * that a use after free or past the end is found where it happens.
 */
#ifndef COIR_RUNTIME_BASE_POOL_H
#define COIR_RUNTIME_BASE_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/assert.h"
#include "runtime/base/torture.h"

#if COIR_ASAN || defined(COIR_POOL_MALLOC)
#define COIR_POOL_DIRECT 1
#else
#define COIR_POOL_DIRECT 0
#endif

/* Where memory comes from. Both are called from any thread, by several at once; memory must be aligned to
 * 16 bytes; `alloc` returns NULL when there is none; `free` gets the size that `alloc` was asked for, and
 * never NULL. */
#ifndef COIR_ALLOCATOR_DECLARED
#define COIR_ALLOCATOR_DECLARED
struct coir_allocator {
    void *(*alloc)(size_t size, void *ctx);
    void (*free)(void *ptr, size_t size, void *ctx);
    void *ctx; /* passed to both */
};
#endif

#define COIR_POOL_SMALL_CLASSES (COIR_POOL_SMALL / 16)
#define COIR_POOL_CLASSES (COIR_POOL_SMALL_CLASSES + (COIR_POOL_MAX - COIR_POOL_SMALL) / 128)

/* A free block. The second word is used in the first block of a batch in the depot only. */
struct coir_block {
    struct coir_block *next;
    struct coir_block *next_batch;
};

struct coir_chunk; /* the head of a chunk, see pool.c */

struct coir_pool_depot {
    pthread_mutex_t lock;                             /* over everything below but `allocator` */
    struct coir_allocator allocator;                  /* constant */
    struct coir_chunk *chunks;                        /* all, newest first */
    struct coir_block *batches[COIR_POOL_CLASSES];    /* stacks of full batches */
};

struct coir_pool_class {
    struct coir_block *loaded; /* the free list that blocks come from and go to */
    struct coir_block *spare;  /* inv 2 */
    uint32_t count;            /* blocks in `loaded`, at most `batch` */
    uint32_t batch;            /* blocks in a full batch */
};

struct coir_pool {
    uint64_t allocs;           /* blocks handed out, large ones too; not failures */
    uint64_t frees;            /* blocks taken back */
    uint64_t chunk_allocs;     /* chunks asked of the allocator and got; 0 in direct mode */
    struct coir_pool_depot *depot;
    char *cut, *end;           /* what is left of the current chunk */
    size_t next_chunk;         /* the size of the next one */
    struct coir_pool_class class[COIR_POOL_CLASSES];
};

/* Makes a depot over an allocator, which is copied, or over malloc when it is NULL. 0 or a negative errno. */
int coir_depot_init(struct coir_pool_depot *depot, const struct coir_allocator *allocator);

/* Gives every chunk back. No pool of it, and no block of any, may be used afterwards. */
void coir_depot_destroy(struct coir_pool_depot *depot);

/* Makes an empty pool; it takes its first memory when it first needs some. Cannot fail. */
void coir_pool_init(struct coir_pool *pool, struct coir_pool_depot *depot);

#ifdef COIR_FAULTS
/* The number of allocations of this thread, those of blocks and those of chunks, until one fails: it counts
 * down to 0, and the one that reaches it returns NULL. 0: none will. Only with COIR_FAULTS, for tests. */
extern _Thread_local long coir_fail_alloc_at;

static inline bool coir_alloc_fails(void)
{
    return coir_fail_alloc_at > 0 && --coir_fail_alloc_at == 0;
}
#else
static inline bool coir_alloc_fails(void)
{
    return false;
}
#endif

/* The cold paths. */
void *coir_pool_alloc_slow(struct coir_pool *pool, unsigned class_index);
void coir_pool_free_slow(struct coir_pool *pool, struct coir_pool_class *class);
void *coir_pool_alloc_direct(struct coir_pool *pool, size_t size);
void coir_pool_free_direct(struct coir_pool *pool, void *ptr, size_t size);

/* The class of a size in [0, COIR_POOL_MAX]; folded where the size is a constant. Size 0 counts as 1. */
static inline unsigned coir_pool_class_of(size_t size)
{
    if (size <= COIR_POOL_SMALL)
        return (unsigned)((size + (size == 0) - 1) / 16);
    return (unsigned)(COIR_POOL_SMALL_CLASSES + (size - COIR_POOL_SMALL - 1) / 128);
}

/* The size of a class's blocks. */
static inline size_t coir_pool_class_size(unsigned class_index)
{
    if (class_index < COIR_POOL_SMALL_CLASSES)
        return (class_index + 1) * (size_t)16;
    return COIR_POOL_SMALL + (class_index - COIR_POOL_SMALL_CLASSES + 1) * (size_t)128;
}

/* A block of at least `size` bytes, or NULL when there is no memory. The pool's thread only. */
static inline void *coir_pool_alloc(struct coir_pool *pool, size_t size)
{
    struct coir_pool_class *class;
    struct coir_block *block;
    unsigned index;

    if (coir_alloc_fails())
        return NULL;
    if (COIR_POOL_DIRECT || size > COIR_POOL_MAX)
        return coir_pool_alloc_direct(pool, size);
    index = coir_pool_class_of(size);
    class = &pool->class[index];
    block = class->loaded;
    if (COIR_UNLIKELY(block == NULL))
        return coir_pool_alloc_slow(pool, index);
    class->loaded = block->next;
    class->count--;
    pool->allocs++;
    return block;
}

/* Takes back a block of `size` bytes (inv 1); NULL is ignored. The pool's thread only. */
static inline void coir_pool_free(struct coir_pool *pool, void *ptr, size_t size)
{
    struct coir_pool_class *class;
    struct coir_block *block = ptr;

    if (block == NULL)
        return;
    if (COIR_POOL_DIRECT || size > COIR_POOL_MAX) {
        coir_pool_free_direct(pool, ptr, size);
        return;
    }
    class = &pool->class[coir_pool_class_of(size)];
    if (COIR_UNLIKELY(class->count == class->batch))
        coir_pool_free_slow(pool, class);
    block->next = class->loaded;
    class->loaded = block;
    class->count++;
    pool->frees++;
}

#endif
