/* SPDX-License-Identifier: MIT */
/*
 * What operations of a volume cost, counted: no heap allocation in the steady state, and far less than one flush for
 * each durable write of many. On a file, with both planes; the program is linked so that every allocation comes by
 * here. What checkpoints and growing allocate is not the operations', so that little is written that none is due.
 */
#include "runtime/base/pool.h"
#include "runtime/base/torture.h"
#include "volume/inside.h"

#include <unistd.h>

#include "tap.h"

enum { K = 1024, M = K * K, VOLUME = 16 * M, BLOCKS = VOLUME / 4096, TASKS = 32, EACH = 25 };

#ifdef COIR_DEBUG
enum { REMEMBERS = true };
#else
enum { REMEMBERS = false };
#endif

static uint64_t allocations;            /* atomic */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);

static void counted(void)
{
    __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
}

void *__wrap_malloc(size_t size)
{
    counted();
    return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    counted();
    return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    counted();
    return __real_realloc(p, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
    counted();
    return __real_aligned_alloc(align, size);
}

/* ---- operations, one behind the other ---- */

enum what { READ, WRITE, DURABLE, UNALIGNED, FLUSH, UNMAP, STATUS };

static const struct load {
    const char *name;
    enum what what;
    unsigned bytes, n;
    bool large;                         /* in the volume that is written in large pieces */
} loads[] = {
    { "reads of 4 KiB", READ, 4 * K, 400, false },
    { "writes of 4 KiB", WRITE, 4 * K, 400, false },
    { "durable writes of 4 KiB", DURABLE, 4 * K, 50, false },
    { "writes of 3 KiB in a block", UNALIGNED, 3 * K, 100, false },
    { "flushes", FLUSH, 0, 50, false },
    { "block status", STATUS, 64 * K, 100, false },
    { "writes of 1 MiB", WRITE, M, 8, true },
    { "reads of 1 MiB", READ, M, 16, true },
    { "unmaps of 4 KiB", UNMAP, 4 * K, 100, false },
};

static unsigned char data[M];

/* Where the i-th of a load is: at random, but never beside the last one. */
static uint64_t place(const struct load *l, unsigned i)
{
    const uint64_t blocks = l->bytes / 4096 ? l->bytes / 4096 : 1;

    return (uint64_t)i * 1021 * blocks % BLOCKS * 4096;
}

struct run_load {
    coir_frame_void;
    coir_args(struct coir_volume *volume; const struct load *load; unsigned from;);
    unsigned i;
    struct iovec iov;
    struct coir_volume_piece pieces[4];
    union {
        struct coir_volume_read read;
        struct coir_volume_write write;
        struct coir_volume_flush flush;
        struct coir_volume_unmap unmap;
        struct coir_volume_status status;
    };
};
static coir_declare(run_load);

coir_body(run_load, f) {
    f->iov = (struct iovec){ data, f->load->bytes };
    for (f->i = f->from; f->i < f->from + f->load->n; f->i++) {
        if (f->load->what == READ)
            coir_try(f, &f->read, coir_volume_read, .volume = f->volume, .iov = &f->iov, .n = 1,
                     .offset = place(f->load, f->i));
        else if (f->load->what == FLUSH)
            coir_try(f, &f->flush, coir_volume_flush, .volume = f->volume);
        else if (f->load->what == UNMAP)
            coir_try(f, &f->unmap, coir_volume_unmap, .volume = f->volume, .offset = place(f->load, f->i),
                     .length = f->load->bytes);
        else if (f->load->what == STATUS)
            coir_try(f, &f->status, coir_volume_status, .volume = f->volume, .offset = place(f->load, f->i) / 2,
                     .length = f->load->bytes, .pieces = f->pieces, .n = 4);
        else
            coir_try(f, &f->write, coir_volume_write, .volume = f->volume, .iov = &f->iov, .n = 1,
                     .offset = place(f->load, f->i) + (f->load->what == UNALIGNED ? 100 : 0),
                     .flags = f->load->what == DURABLE ? COIR_VOLUME_DURABLE : 0);
    }
} coir_end

/* ---- many at once ---- */

struct writer {
    coir_frame_void;
    coir_args(struct coir_volume *volume; unsigned from;);
    struct load load;
    struct run_load run;
};
static coir_declare(writer);

coir_body(writer, f) {
    f->load = (struct load){ "", DURABLE, 4 * K, EACH, false };
    coir_try(f, &f->run, run_load, .volume = f->volume, .load = &f->load, .from = f->from);
} coir_end

/* ---- */

struct program {
    coir_frame_void;
    coir_args(const char *path;);
    struct coir_store *store;
    struct coir_volume *small, *large;
    struct load fill;
    struct coir_store_facts before, after;
    uint64_t heap;
    unsigned i;
    struct coir_group group;
    union {
        struct coir_store_init init;
        struct coir_store_open open;
        struct coir_store_close close;
        struct coir_volume_create create;
        struct coir_volume_open volume;
        struct coir_volume_close leave;
        struct coir_group_wait wait;
        struct run_load run;
    };
};
static coir_declare(program);

coir_body(program, f) {
    f->store = NULL;
    f->small = f->large = NULL;
    coir_try(f, &f->init, coir_store_init, .paths = &f->path, .n = 1, .size = (uint64_t)K * M);
    coir_get(f, f->store, &f->open, coir_store_open, .path = f->path);
    coir_try(f, &f->create, coir_volume_create, .store = f->store, .name = "small", .size = VOLUME);
    coir_try(f, &f->create, coir_volume_create, .store = f->store, .name = "large", .size = VOLUME);
    coir_get(f, f->small, &f->volume, coir_volume_open, .store = f->store, .name = "small");
    coir_get(f, f->large, &f->volume, coir_volume_open, .store = f->store, .name = "large");
    f->fill = (struct load){ "", WRITE, 4 * K, BLOCKS, false };
    coir_try(f, &f->run, run_load, .volume = f->small, .load = &f->fill);
    f->fill = (struct load){ "", WRITE, M, 16, true };
    coir_try(f, &f->run, run_load, .volume = f->large, .load = &f->fill);
    OK(__atomic_load_n(&allocations, __ATOMIC_RELAXED) > 10, "allocations are counted");
    for (f->i = 0; f->i < sizeof loads / sizeof loads[0]; f->i++) {
        coir_try(f, &f->run, run_load, .volume = loads[f->i].large ? f->large : f->small, .load = &loads[f->i]);
        f->heap = __atomic_load_n(&allocations, __ATOMIC_RELAXED);
        coir_store_describe(f->store, &f->before);
        coir_try(f, &f->run, run_load, .volume = loads[f->i].large ? f->large : f->small, .load = &loads[f->i],
                 .from = loads[f->i].n);
        f->heap = __atomic_load_n(&allocations, __ATOMIC_RELAXED) - f->heap;
        coir_store_describe(f->store, &f->after);
        if (REMEMBERS)
            SKIP("%s: debug programs allocate, to remember what was made and not begun", loads[f->i].name);
        else
            EQ(f->heap, 0, "%u %s: no heap allocation", loads[f->i].n, loads[f->i].name);
        if (loads[f->i].what == DURABLE)
            EQ(f->after.flushes - f->before.flushes, loads[f->i].n, "one behind the other: each has its flush");
        else if (loads[f->i].what == WRITE || loads[f->i].what == UNMAP)
            OK(f->after.flushes - f->before.flushes <= 1, "and no flush, but for that of every five seconds");
    }
    f->before = f->after;
    coir_group_open(f, &f->group);
    for (unsigned i = 0; i < TASKS; i++)
        OK(coir_spawn(&f->group, coir_new(writer, .volume = f->small, .from = i * EACH)) == 0, "writer %u", i);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_store_describe(f->store, &f->after);
    EQ(f->after.records - f->before.records, TASKS * EACH, "a record each");
    OK((f->after.flushes - f->before.flushes) * 4 <= TASKS * EACH, "%d durable writes, 32 at once, have %d flushes",
       TASKS * EACH, (int)(f->after.flushes - f->before.flushes));
    EQ(f->after.flushes - f->before.flushes, f->after.groups - f->before.groups, "one for each group");
    EQ(f->after.checkpoints, f->before.checkpoints, "and there was no checkpoint");
    OK(f->after.busy > f->before.busy, "the time that committing took is counted");
    coir_finally(f) {
        if (f->small)
            coir_await(f, &f->leave, coir_volume_close, .volume = f->small);
        if (f->large)
            coir_await(f, &f->leave, coir_volume_close, .volume = f->large);
        if (f->store)
            coir_await(f, &f->close, coir_store_close, .store = f->store);
    }
} coir_end

int main(void)
{
    const char *const where = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    char folder[256], path[300];

    if (COIR_POOL_DIRECT || COIR_TORTURED)
        SKIP_ALL("in this build each frame is an allocation, or transfers are short");
    snprintf(folder, sizeof folder, "%s/coir-cost-XXXXXX", where);
    OK(mkdtemp(folder) != NULL, "a folder");
    snprintf(path, sizeof path, "%s/store", folder);
    EQ(coir_run(NULL, coir_new(program, .path = path)), 0, "the program");
    unlink(path);
    rmdir(folder);
    return DONE();
}
