/* SPDX-License-Identifier: MIT */
/*
 * Long runs: a range of so many full leaves that one step cannot have them all is given back, from an index that is
 * not in memory; and what large writes leave behind is free again before long.
 */
#include "engine.h"

enum { M = 1 << 20, BLOCKS = 49152, VOLUME = 60 };      /* 192 MiB; MiB of the volume */

static unsigned char out[M], in[M];

struct long_runs {
    coir_frame_void;
    coir_args(struct engine *e;);
    struct coir_volume *v;
    struct iovec iov;
    struct coir_volume_facts facts;
    uint64_t checkpoints;
    unsigned i;
    union {
        struct engine_make make;
        struct engine_open open;
        struct engine_close close;
        struct coir_volume_create create;
        struct coir_volume_remove remove;
        struct coir_volume_open volume;
        struct coir_volume_close leave;
        struct coir_volume_write write;
        struct coir_volume_read read;
        struct coir_volume_unmap unmap;
        struct coir_store_check check;
        struct coir_sleep sleep;
    };
};
static coir_declare(long_runs);

static uint64_t mapped(struct long_runs *f)
{
    coir_volume_describe(f->v, &f->facts);
    return f->facts.mapped / M;
}

static uint64_t fresh(const struct engine *e)
{
    struct coir_space_counts counts;

    coir_space_count(e->store->space, -1, &counts);
    return counts.fresh;
}

#define SAYS(slot, name, ...) do { \
    coir_await(f, slot, name, __VA_ARGS__); \
    EQ(coir_status(slot), 0, #name " at line %d", __LINE__); \
    } while (0)
#define WRITE_MIB(at) do { \
    f->iov = (struct iovec){ out, M }; \
    coir_try(f, &f->write, coir_volume_write, .volume = f->v, .iov = &f->iov, .n = 1, .offset = (uint64_t)(at) * M); \
    } while (0)
#define REOPEN() do { \
    SAYS(&f->leave, coir_volume_close, .volume = f->v); \
    SAYS(&f->close, engine_close, .e = f->e); \
    SAYS(&f->open, engine_open, .e = f->e); \
    SAYS(&f->volume, coir_volume_open, .store = f->e->store, .name = "v"); \
    f->v = f->volume.result; \
    } while (0)

coir_body(long_runs, f) {
    SAYS(&f->make, engine_make, .e = f->e, .blocks = BLOCKS);
    SAYS(&f->open, engine_open, .e = f->e);
    SAYS(&f->create, coir_volume_create, .store = f->e->store, .name = "v", .size = (uint64_t)VOLUME * M);
    SAYS(&f->volume, coir_volume_open, .store = f->e->store, .name = "v");
    f->v = f->volume.result;
    for (f->i = 0; f->i < VOLUME; f->i++)
        WRITE_MIB(f->i);
    REOPEN();
    EQ(mapped(f), VOLUME, "sixty extents of 256 blocks, three in a leaf");
    SAYS(&f->unmap, coir_volume_unmap, .volume = f->v, .offset = 0, .length = (uint64_t)VOLUME * M);
    EQ(mapped(f), 0, "given back, from leaves that were not in memory");
    f->iov = (struct iovec){ in, M };
    SAYS(&f->read, coir_volume_read, .volume = f->v, .iov = &f->iov, .n = 1, .offset = 17 * M);
    OK(in[0] == 0 && memcmp(in, in + 1, M - 1) == 0, "it reads as zeros");

    /* A sixteenth of the store is 12 MiB less what is not data: two and a half of it are overwritten. */
    SAYS(&f->sleep, coir_sleep, .ns = COIR_S);
    EQ(fresh(f->e) < 12 * M / 4096, 1, "checkpoints have given back what was unmapped, but for the last of it");
    f->checkpoints = f->e->store->checkpoints;
    for (f->i = 0; f->i < 34; f->i++)
        WRITE_MIB(f->i % 4);
    SAYS(&f->sleep, coir_sleep, .ns = COIR_S);
    EQ(f->e->store->checkpoints - f->checkpoints, 2, "two checkpoints in a second, since so much was overwritten");
    OK(fresh(f->e) < 12 * M / 4096, "and less than that awaits the next one");

    for (f->i = 0; f->i < VOLUME; f->i++)
        WRITE_MIB(f->i);
    REOPEN();
    SAYS(&f->leave, coir_volume_close, .volume = f->v);
    SAYS(&f->remove, coir_volume_remove, .store = f->e->store, .name = "v");
    SAYS(&f->sleep, coir_sleep, .ns = 10 * COIR_S);
    EQ(f->e->store->removing, false, "removed, and taken to pieces");
    SAYS(&f->check, coir_store_check, .store = f->e->store);
    SAYS(&f->close, engine_close, .e = f->e);
} coir_end

int main(void)
{
    struct sim *w;
    struct engine *e;

    setenv("COIR_TIME", "virtual", 1);
    for (size_t i = 0; i < M; i++)
        out[i] = (unsigned char)(i * 7 + 1);
    w = sim_new(sim_seed(1), 100 * COIR_US);
    sim_add(w, 0, 4096);
    e = engine_new(w, 1);
    EQ(coir_run(NULL, coir_new(long_runs, .e = e)), 0, "the program");
    if (e->complaint.status)
        NOTE("%s", e->complaint.text);
    if (e->logged)
        NOTE("%s", e->log);
    free(e);
    sim_free(w);
    return DONE();
}
