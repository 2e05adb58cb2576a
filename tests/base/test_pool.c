/* SPDX-License-Identifier: MIT */
/*
 * The pool over an allocator that counts, fails on demand and knows what it has out. What the counts of
 * chunks are is checked where the pool has chunks: under AddressSanitizer, and with COIR_POOL_MALLOC, every
 * block is the allocator's own.
 */
#include "runtime/base/pool.h"

#include "tap.h"

struct source {
    long calls, live; /* blocks asked for; blocks and bytes not given back */
    size_t bytes;
    long left; /* how many more it gives; negative: without end */
};

static struct source source;
static struct coir_pool_depot depot;

static void *source_alloc(size_t size, void *ctx)
{
    struct source *s = ctx;
    void *ptr;

    s->calls++;
    if (s->left == 0)
        return NULL;
    s->left -= s->left > 0;
    ptr = malloc(size);
    s->live++;
    s->bytes += size;
    return ptr;
}

static void source_free(void *ptr, size_t size, void *ctx)
{
    struct source *s = ctx;

    s->live--;
    s->bytes -= size;
    free(ptr);
}

static void open_depot(void)
{
    const struct coir_allocator allocator = { source_alloc, source_free, &source };

    source = (struct source){ .left = -1 };
    EQ(coir_depot_init(&depot, &allocator), 0, "a depot opens");
}

static void close_depot(void)
{
    coir_depot_destroy(&depot);
    EQ(source.live, 0, "the depot gives everything back");
    EQ(source.bytes, 0, "with the sizes it was asked for");
}

static void test_classes(void)
{
    static const struct {
        size_t size, block;
    } rows[] = {
        { 0, 16 }, { 1, 16 }, { 16, 16 }, { 17, 32 }, { 240, 240 }, { 241, 256 }, { 1023, 1024 },
        { 1024, 1024 },
        { 1025, 1152 }, { 1152, 1152 }, { 1153, 1280 }, { 8064, 8064 }, { 8065, 8192 }, { 8192, 8192 },
    };
    bool good = true;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        EQ(coir_pool_class_size(coir_pool_class_of(rows[i].size)), rows[i].block, "%zu bytes", rows[i].size);
    EQ(coir_pool_class_of(COIR_POOL_MAX), COIR_POOL_CLASSES - 1, "the largest size has the last class");
    for (unsigned i = 0; i < COIR_POOL_CLASSES; i++)
        good = good && coir_pool_class_of(coir_pool_class_size(i)) == i;
    OK(good, "each class is the one of its own size");
}

/* Blocks around the borders of classes: aligned, as large as asked for, apart from each other. */
static void test_blocks(void)
{
    static const size_t sizes[] = { 1, 16, 17, 1024, 1025, 8192, 8193 };
    enum { SIZES = sizeof sizes / sizeof *sizes, ROUNDS = 40, N = SIZES * ROUNDS };
    unsigned char *blocks[N];
    struct coir_pool pool;
    int misaligned = 0, damaged = 0;

    open_depot();
    coir_pool_init(&pool, &depot);
    for (int i = 0; i < N; i++) {
        blocks[i] = coir_pool_alloc(&pool, sizes[i % SIZES]);
        misaligned += (uintptr_t)blocks[i] % 16 != 0;
        memset(blocks[i], i % 251, sizes[i % SIZES]);
    }
    for (int i = 0; i < N; i++)
        for (size_t k = 0; k < sizes[i % SIZES]; k++)
            damaged += blocks[i][k] != i % 251;
    EQ(misaligned, 0, "all blocks are aligned to 16 bytes");
    EQ(damaged, 0, "no block lies in another one");
    for (int i = 0; i < N; i++)
        coir_pool_free(&pool, blocks[i], sizes[i % SIZES]);
    coir_pool_free(&pool, NULL, 16);
    EQ(pool.allocs, N, "allocations are counted");
    EQ(pool.frees, N, "frees are counted, NULL is not one");
    close_depot();
}

static void test_reuse(void)
{
    struct coir_pool pool;
    void *first, *second;

    if (COIR_POOL_DIRECT) {
        SKIP("blocks come from the allocator itself");
        return;
    }
    open_depot();
    coir_pool_init(&pool, &depot);
    EQ(source.calls, 0, "a new pool has taken no memory");
    first = coir_pool_alloc(&pool, 100);
    EQ(source.bytes, COIR_POOL_CHUNK_FIRST, "the first chunk is small");
    coir_pool_free(&pool, first, 100);
    second = coir_pool_alloc(&pool, 112);
    OK(first == second, "a freed block is the next one of its class");
    for (int i = 0; i < 10000; i++) {
        coir_pool_free(&pool, second, 112);
        second = coir_pool_alloc(&pool, 97);
    }
    EQ(pool.chunk_allocs, 1, "going round takes no more memory");
    EQ(pool.allocs, 10002, "allocations are counted");
    EQ(pool.frees, 10001, "so are frees");
    close_depot();
}

/* 240 bytes each, 100,000 of them: 24,000,000 bytes, and less than 1 % more. */
static void test_overhead(void)
{
    struct coir_pool pool;

    if (COIR_POOL_DIRECT || COIR_TORTURED) {
        SKIP("%s", COIR_TORTURED ? "chunks are tiny" : "blocks come from the allocator itself");
        return;
    }
    open_depot();
    coir_pool_init(&pool, &depot);
    for (int i = 0; i < 100000; i++)
        coir_pool_alloc(&pool, 240); /* the depot frees them */
    OK(source.bytes >= 24000000 && source.bytes < 24240000, "%zu bytes hold 24000000", source.bytes);
    EQ((uint64_t)source.calls, pool.chunk_allocs, "chunks are counted");
    close_depot();
}

/* A small chunk, then a block that does not fit its rest: the rest is used for a smaller one. */
static void test_rest(void)
{
    struct coir_pool pool;
    void *block;

    if (COIR_POOL_DIRECT || COIR_TORTURED) {
        SKIP("%s", COIR_TORTURED ? "chunks are tiny" : "blocks come from the allocator itself");
        return;
    }
    open_depot();
    coir_pool_init(&pool, &depot);
    block = coir_pool_alloc(&pool, 3072); /* of 4,096 - 16: 1,008 are left */
    OK(block != NULL && coir_pool_alloc(&pool, 8192) != NULL, "a block that does not fit starts a chunk");
    EQ(source.bytes, 4096 + 16384, "which is as large as it must be");
    OK(coir_pool_alloc(&pool, 1008) == (char *)block + 3072, "the rest of the old one serves");
    EQ(source.calls, 2, "without another chunk");
    close_depot();
}

/* One pool only allocates, the other one only frees: memory goes round through the depot. */
static void test_migration(void)
{
    enum { BURST = 1000, ROUNDS = 200 };
    static void *blocks[BURST];
    struct coir_pool giver, taker;

    open_depot();
    coir_pool_init(&giver, &depot);
    coir_pool_init(&taker, &depot);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BURST; i++) {
            blocks[i] = coir_pool_alloc(&giver, 240);
            memset(blocks[i], round, 240);
        }
        for (int i = 0; i < BURST; i++)
            coir_pool_free(&taker, blocks[i], 240);
    }
    EQ(giver.allocs, BURST * ROUNDS, "one pool allocates");
    EQ(giver.frees, 0, "and never frees");
    EQ(taker.frees, BURST * ROUNDS, "the other one frees");
    if (!COIR_POOL_DIRECT) /* 240,000 bytes live, and two batches of 16 KiB that the taker keeps */
        OK(source.bytes < 400000, "the memory goes round: %zu bytes", source.bytes);
    EQ(taker.chunk_allocs, 0, "who only frees takes no chunk");
    close_depot();
}

static void *migrate_thread(void *arg)
{
    struct coir_pool pool;
    void *blocks[300];
    uintptr_t seed = (uintptr_t)arg;

    coir_pool_init(&pool, &depot);
    for (int round = 0; round < 300; round++) {
        for (int i = 0; i < 300; i++) {
            blocks[i] = coir_pool_alloc(&pool, 64 + (size_t)(i % 3) * 500);
            memset(blocks[i], (int)seed, 64);
        }
        for (int i = 0; i < 300; i++)
            coir_pool_free(&pool, blocks[i], 64 + (size_t)(i % 3) * 500);
    }
    return (void *)(uintptr_t)(pool.allocs == pool.frees && pool.allocs == 90000);
}

/* Pools of several threads over one depot; ThreadSanitizer looks on. The source counts without a lock, so
 * here the depot takes its memory from malloc. */
static void test_threads(void)
{
    pthread_t threads[3];
    void *good;

    EQ(coir_depot_init(&depot, NULL), 0, "a depot opens over malloc");
    for (uintptr_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, migrate_thread, (void *)i);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], &good);
        OK(good != NULL, "thread %d got and freed all its blocks", i);
    }
    coir_depot_destroy(&depot);
}

/* An allocator that gives once: a chunk of 4,096 bytes with three blocks of 1,024, or one such block. */
static void test_exhaustion(void)
{
    struct coir_pool pool;
    void *held[8], *block;
    int got = 0;

    open_depot();
    source.left = 1;
    coir_pool_init(&pool, &depot);
    while (got < 8 && (held[got] = coir_pool_alloc(&pool, 1024)) != NULL)
        got++;
    EQ(got, COIR_POOL_DIRECT || COIR_TORTURED ? 1 : 3, "it is used up, then there is no memory");
    OK(coir_pool_alloc(&pool, 100000) == NULL, "nor for a large block");
    EQ(pool.allocs, got, "a refusal is not counted");
    if (!COIR_POOL_DIRECT) {
        coir_pool_free(&pool, held[--got], 1024);
        held[got] = coir_pool_alloc(&pool, 1024);
        OK(held[got++] != NULL, "what is freed can be had again");
    }
    source.left = -1;
    block = coir_pool_alloc(&pool, 8192);
    OK(block != NULL, "when the allocator gives again the pool goes on");
    coir_pool_free(&pool, block, 8192);
    while (got > 0)
        coir_pool_free(&pool, held[--got], 1024);
    close_depot();
}

#ifdef COIR_FAULTS
/* Two blocks from a fresh pool: three allocations, the second of which is the chunk's (two in direct mode).
 * */
static void test_faults(void)
{
    const int steps = COIR_POOL_DIRECT ? 2 : 3;
    struct coir_pool pool;

    for (int n = 1; n <= steps + 1; n++) {
        void *first, *second;

        open_depot();
        coir_pool_init(&pool, &depot);
        coir_fail_alloc_at = n;
        first = coir_pool_alloc(&pool, 64);
        second = coir_pool_alloc(&pool, 64);
        EQ((first == NULL) + (second == NULL), n <= steps, "failing allocation %d of %d", n, steps);
        EQ(coir_fail_alloc_at > 0, n > steps, "the countdown has ended or not");
        coir_fail_alloc_at = 0;
        coir_pool_free(&pool, first, 64);
        coir_pool_free(&pool, second, 64);
        close_depot();
    }
}
#endif

int main(void)
{
    test_classes();
    test_blocks();
    test_reuse();
    test_overhead();
    test_rest();
    test_migration();
    test_threads();
    test_exhaustion();
#ifdef COIR_FAULTS
    test_faults();
#endif
    return DONE();
}
