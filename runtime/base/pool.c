/* SPDX-License-Identifier: MIT */
/*
 * The cold half of the pool (see pool.h for the picture and the invariants): batches between pool and
 * depot, chunks, and what goes straight to the allocator. It may assume that a pool is its thread's alone.
 * It must never hold the depot's lock across a call of the allocator, which is a stranger's code, except
 * when the depot dies.
 */
#include "runtime/base/pool.h"

#include <stdlib.h>

/* A chunk: this head, then blocks. */
struct coir_chunk {
    struct coir_chunk *next;
    size_t size;
};

_Static_assert(sizeof(struct coir_chunk) % 16 == 0, "blocks behind the head stay aligned");
_Static_assert(sizeof(struct coir_block) <= 16, "a free block's links fit the smallest class");

#ifdef COIR_FAULTS
_Thread_local long coir_fail_alloc_at;
#endif

static void *system_alloc(size_t size, void *ctx)
{
    (void)ctx;
    return malloc(size);
}

static void system_free(void *ptr, size_t size, void *ctx)
{
    (void)size;
    (void)ctx;
    free(ptr);
}

static void *depot_alloc(const struct coir_pool_depot *depot, size_t size)
{
    void *ptr = depot->allocator.alloc(size, depot->allocator.ctx);

    COIR_ASSERT((uintptr_t)ptr % 16 == 0);
    return ptr;
}

static void depot_free(const struct coir_pool_depot *depot, void *ptr, size_t size)
{
    depot->allocator.free(ptr, size, depot->allocator.ctx);
}

int coir_depot_init(struct coir_pool_depot *depot, const struct coir_allocator *allocator)
{
    static const struct coir_allocator system = { .alloc = system_alloc, .free = system_free };

    *depot = (struct coir_pool_depot){ .allocator = allocator != NULL ? *allocator : system };
    return -pthread_mutex_init(&depot->lock, NULL);
}

void coir_depot_destroy(struct coir_pool_depot *depot)
{
    struct coir_chunk *chunk = depot->chunks;

    while (chunk != NULL) {
        struct coir_chunk *next = chunk->next;

        depot_free(depot, chunk, chunk->size);
        chunk = next;
    }
    depot->chunks = NULL;
    pthread_mutex_destroy(&depot->lock);
}

/* A full batch of a class, or NULL. */
static struct coir_block *depot_take(struct coir_pool_depot *depot, unsigned class_index)
{
    struct coir_block *batch;

    pthread_mutex_lock(&depot->lock);
    batch = depot->batches[class_index];
    if (batch != NULL)
        depot->batches[class_index] = batch->next_batch;
    pthread_mutex_unlock(&depot->lock);
    return batch;
}

static void depot_give(struct coir_pool_depot *depot, unsigned class_index, struct coir_block *batch)
{
    pthread_mutex_lock(&depot->lock);
    batch->next_batch = depot->batches[class_index];
    depot->batches[class_index] = batch;
    pthread_mutex_unlock(&depot->lock);
}

static void depot_add_chunk(struct coir_pool_depot *depot, struct coir_chunk *chunk)
{
    pthread_mutex_lock(&depot->lock);
    chunk->next = depot->chunks;
    depot->chunks = chunk;
    pthread_mutex_unlock(&depot->lock);
}

/* About 16 KiB of blocks: rare enough trips to the depot, little enough that lies idle. */
static uint32_t batch_of(size_t block_size)
{
    size_t blocks = COIR_POOL_BATCH_BYTES / block_size;

    return blocks < COIR_POOL_BATCH_LEAST ? COIR_POOL_BATCH_LEAST : (uint32_t)blocks;
}

void coir_pool_init(struct coir_pool *pool, struct coir_pool_depot *depot)
{
    *pool = (struct coir_pool){ .depot = depot, .next_chunk = COIR_POOL_CHUNK_FIRST };
    for (unsigned i = 0; i < COIR_POOL_CLASSES; i++)
        pool->class[i].batch = batch_of(coir_pool_class_size(i));
}

/* The largest class whose blocks fit into `size` bytes, a multiple of 16 and at least 16. */
static unsigned class_within(size_t size)
{
    if (size < COIR_POOL_SMALL + 128)
        return coir_pool_class_of(size <= COIR_POOL_SMALL ? size : COIR_POOL_SMALL);
    return coir_pool_class_of(size <= COIR_POOL_MAX ? size / 128 * 128 : COIR_POOL_MAX);
}

/* Turns what the last request left of the chunk into free blocks, so that it is not lost. Lists that are
 * full already take no more: at most 8 KiB of a chunk that is given up. */
static void keep_rest(struct coir_pool *pool)
{
    while (pool->cut != pool->end) {
        unsigned index = class_within((size_t)(pool->end - pool->cut));
        struct coir_pool_class *class = &pool->class[index];
        struct coir_block *block = (struct coir_block *)(void *)pool->cut;

        pool->cut += coir_pool_class_size(index);
        if (class->count == class->batch)
            continue;
        block->next = class->loaded;
        class->loaded = block;
        class->count++;
    }
}

/* Starts a chunk with room for a block. False: no memory, and the current chunk stays. */
static bool new_chunk(struct coir_pool *pool, size_t block_size)
{
    struct coir_chunk *chunk;
    size_t size = pool->next_chunk;

    while (size < sizeof *chunk + block_size)
        size *= 2;
    chunk = coir_alloc_fails() ? NULL : depot_alloc(pool->depot, size);
    if (chunk == NULL)
        return false;
    chunk->size = size;
    depot_add_chunk(pool->depot, chunk);
    keep_rest(pool);
    pool->cut = (char *)(chunk + 1);
    pool->end = (char *)chunk + size;
    pool->next_chunk = size < COIR_POOL_CHUNK_MAX ? size * 2 : size;
    pool->chunk_allocs++;
    return true;
}

/* A new block from the chunk, or from the next one. */
static void *cut_block(struct coir_pool *pool, size_t block_size)
{
    void *block;

    if ((size_t)(pool->end - pool->cut) < block_size && !new_chunk(pool, block_size))
        return NULL;
    block = pool->cut;
    pool->cut += block_size;
    pool->allocs++;
    return block;
}

/* `loaded` is empty: the spare batch, else one of the depot's, else a new block. */
void *coir_pool_alloc_slow(struct coir_pool *pool, unsigned class_index)
{
    struct coir_pool_class *class = &pool->class[class_index];
    struct coir_block *batch = class->spare;

    COIR_ASSERT(class->count == 0);
    class->spare = NULL;
    if (batch == NULL)
        batch = depot_take(pool->depot, class_index);
    if (batch == NULL)
        return cut_block(pool, coir_pool_class_size(class_index));
    class->loaded = batch->next;
    class->count = class->batch - 1;
    pool->allocs++;
    return batch;
}

/* `loaded` is full: it becomes the spare batch, and the one that was goes to the depot. */
void coir_pool_free_slow(struct coir_pool *pool, struct coir_pool_class *class)
{
    if (class->spare != NULL)
        depot_give(pool->depot, (unsigned)(class - pool->class), class->spare);
    class->spare = class->loaded;
    class->loaded = NULL;
    class->count = 0;
}

void *coir_pool_alloc_direct(struct coir_pool *pool, size_t size)
{
    void *ptr = depot_alloc(pool->depot, size != 0 ? size : 1);

    if (ptr != NULL)
        pool->allocs++;
    return ptr;
}

void coir_pool_free_direct(struct coir_pool *pool, void *ptr, size_t size)
{
    depot_free(pool->depot, ptr, size != 0 ? size : 1);
    pool->frees++;
}
