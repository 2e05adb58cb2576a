/* SPDX-License-Identifier: MIT */
/*
 * The engine, operation by operation, on a simulated device: what is written is read, also after closing and opening;
 * unaligned writes; holes; zeros; sizes and names; what is refused.
 */
#include "engine.h"

enum { BLOCKS = 16384, K = 1024 };      /* 64 MiB */

static unsigned char out[256 * K], in[256 * K];

static void fill(unsigned char *p, size_t n, unsigned seed)
{
    uint64_t state = seed;

    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)sim_random(&state);
}

static bool all(const unsigned char *p, size_t n, int byte)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] != byte)
            return false;
    }
    return true;
}

/* What the programs' frames have. */
#define FRAME \
    coir_frame_void; \
    coir_args(struct engine *e; struct coir_volume *v;); \
    struct iovec iov[4]; \
    struct coir_volume_facts facts[4]; \
    struct coir_volume_piece pieces[8]; \
    union { \
        struct engine_make make; \
        struct engine_open open; \
        struct engine_close close; \
        struct coir_volume_create create; \
        struct coir_volume_open volume; \
        struct coir_volume_close leave; \
        struct coir_volume_write write; \
        struct coir_volume_read read; \
        struct coir_volume_unmap unmap; \
        struct coir_volume_write_zeroes zeroes; \
        struct coir_volume_flush flush; \
        struct coir_volume_status status; \
        struct coir_volume_list list; \
        struct coir_volume_rename rename; \
        struct coir_volume_resize resize; \
        struct coir_volume_remove remove; \
    };

struct bytes { FRAME };
static coir_declare(bytes);
struct names { FRAME };
static coir_declare(names);
struct program {
    coir_frame_void;
    coir_args(struct engine *e;);
    union {
        struct engine_make make;
        struct engine_open open;
        struct coir_volume_create create;
        struct coir_volume_open volume;
        struct bytes bytes;
        struct names names;
    };
};
static coir_declare(program);

/* Awaits an operation and compares its status. */
#define SAYS(status, slot, name, ...) do { \
    coir_await(f, slot, name, __VA_ARGS__); \
    EQ(coir_status(slot), status, #name " at line %d", __LINE__); \
    } while (0)
#define WRITE(from, bytes, at) do { \
    f->iov[0] = (struct iovec){ (from), (bytes) }; \
    SAYS(0, &f->write, coir_volume_write, .volume = f->v, .iov = f->iov, .n = 1, .offset = (at)); \
    } while (0)
#define READ(bytes, at) do { \
    f->iov[0] = (struct iovec){ in, (bytes) }; \
    SAYS(0, &f->read, coir_volume_read, .volume = f->v, .iov = f->iov, .n = 1, .offset = (at)); \
    } while (0)

/* Bytes: written, read, unmapped, zeroed. */
coir_body(bytes, f) {
    READ(128 * K, 0);
    OK(all(in, 128 * K, 0), "a new volume reads as zeros");

    fill(out, sizeof out, 1);
    WRITE(out, 64 * K, 1 << 20);
    READ(128 * K, (1 << 20) - 32 * K);
    OK(all(in, 32 * K, 0) && all(in + 96 * K, 32 * K, 0), "zeros around what was written");
    MEM_EQ(in + 32 * K, out, 64 * K, "what was written is read");
    WRITE(out + 100, 5000, (1 << 20) + 1000);
    READ(64 * K, 1 << 20);
    MEM_EQ(in, out, 1000, "unaligned: what is before stays");
    MEM_EQ(in + 1000, out + 100, 5000, "unaligned: it is there");
    MEM_EQ(in + 6000, out + 6000, 64 * K - 6000, "unaligned: what is behind stays");
    WRITE(out, 10, 3 * K + 7);
    READ(100, 3 * K);
    OK(all(in, 7, 0) && all(in + 17, 83, 0), "unaligned in a hole");
    MEM_EQ(in + 7, out, 10, "ten bytes");
    SAYS(0, &f->flush, coir_volume_flush, .volume = f->v);

    SAYS(0, &f->unmap, coir_volume_unmap, .volume = f->v, .offset = (1 << 20) + 100, .length = 12 * K);
    READ(16 * K, 1 << 20);
    OK(all(in + 4 * K, 8 * K - 4 * K, 0), "unmapped: whole blocks are holes");
    MEM_EQ(in, out, 1000, "unmapped: an edge is left");
    SAYS(0, &f->status, coir_volume_status, .volume = f->v, .offset = 0, .length = 2 << 20, .pieces = f->pieces,
         .n = 8);
    EQ(f->status.result, 6, "block status: six pieces");
    EQ(f->pieces[0].length, 4 * K, "the first block has ten bytes");
    EQ(f->pieces[0].hole, 0, "so it takes space");
    EQ(f->pieces[1].length, (1 << 20) - 4 * K, "then a hole");
    EQ(f->pieces[2].length, 4 * K, "a block");
    EQ(f->pieces[3].length, 8 * K, "what was unmapped");
    EQ(f->pieces[4].length, 52 * K, "the rest of 64 KiB");
    EQ(f->pieces[5].length, (1 << 20) - 64 * K, "a hole up to the end of the range");
    SAYS(0, &f->zeroes, coir_volume_write_zeroes, .volume = f->v, .offset = (1 << 20) + 20 * K + 9, .length = 20 * K);
    READ(64 * K, 1 << 20);
    OK(all(in + 20 * K + 9, 20 * K, 0), "zeros");
    MEM_EQ(in + 16 * K, out + 16 * K, 4 * K + 9, "before them");
    MEM_EQ(in + 40 * K + 9, out + 40 * K + 9, 24 * K - 9, "behind them");
    SAYS(-EINVAL, &f->read, coir_volume_read, .volume = f->v, .iov = f->iov, .n = 1, .offset = (16 << 20) - 4 * K);

} coir_end

/* Names and sizes, and what is there after closing and opening. */
coir_body(names, f) {
    SAYS(0, &f->rename, coir_volume_rename, .store = f->e->store, .name = "vm0", .to = "disk");
    SAYS(-EBUSY, &f->remove, coir_volume_remove, .store = f->e->store, .name = "disk");
    SAYS(0, &f->leave, coir_volume_close, .volume = f->v);
    SAYS(0, &f->close, engine_close, .e = f->e);
    SAYS(0, &f->open, engine_open, .e = f->e);
    SAYS(0, &f->list, coir_volume_list, .store = f->e->store, .facts = f->facts, .n = 4);
    EQ(f->list.result, 1, "one volume");
    STR_EQ(f->facts[0].name, "disk", "its name");
    EQ(f->facts[0].size, 16 << 20, "its size");
    SAYS(0, &f->volume, coir_volume_open, .store = f->e->store, .name = "disk");
    f->v = f->volume.result;
    READ(64 * K, 1 << 20);
    MEM_EQ(in, out, 1000, "after closing and opening it is still there");
    MEM_EQ(in + 40 * K + 9, out + 40 * K + 9, 24 * K - 9, "all of it");
    OK(all(in + 20 * K + 9, 20 * K, 0), "and the zeros");
    SAYS(0, &f->leave, coir_volume_close, .volume = f->v);
    SAYS(0, &f->resize, coir_volume_resize, .store = f->e->store, .name = "disk", .size = 1 << 20);
    SAYS(0, &f->resize, coir_volume_resize, .store = f->e->store, .name = "disk", .size = 4 << 20);
    SAYS(0, &f->volume, coir_volume_open, .store = f->e->store, .name = "disk");
    f->v = f->volume.result;
    READ(64 * K, 1 << 20);
    OK(all(in, 64 * K, 0), "what was cut off is gone");
    SAYS(0, &f->leave, coir_volume_close, .volume = f->v);
    SAYS(0, &f->remove, coir_volume_remove, .store = f->e->store, .name = "disk");
    SAYS(-ENOENT, &f->volume, coir_volume_open, .store = f->e->store, .name = "disk");
    SAYS(0, &f->close, engine_close, .e = f->e);
} coir_end

coir_body(program, f) {
    SAYS(0, &f->make, engine_make, .e = f->e, .blocks = BLOCKS);
    SAYS(0, &f->open, engine_open, .e = f->e);
    SAYS(0, &f->create, coir_volume_create, .store = f->e->store, .name = "vm0", .size = 16 << 20);
    SAYS(-EEXIST, &f->create, coir_volume_create, .store = f->e->store, .name = "vm0", .size = 16 << 20);
    SAYS(-EINVAL, &f->create, coir_volume_create, .store = f->e->store, .name = "a/b", .size = 16 << 20);
    SAYS(-EINVAL, &f->create, coir_volume_create, .store = f->e->store, .name = "odd", .size = 16 << 20, .block = 5000);
    SAYS(-ENOENT, &f->volume, coir_volume_open, .store = f->e->store, .name = "vm1");
    SAYS(0, &f->volume, coir_volume_open, .store = f->e->store, .name = "vm0");
    coir_try(f, &f->bytes, bytes, .e = f->e, .v = f->volume.result);
    coir_try(f, &f->names, names, .e = f->e, .v = f->bytes.v);
} coir_end

/* ---- what nobody flushes ---- */

struct aged {
    coir_frame_void;
    coir_args(struct engine *e; size_t *event;);
    struct coir_volume *v;
    struct iovec iov;
    union {
        struct engine_make make;
        struct engine_open open;
        struct engine_close close;
        struct coir_volume_create create;
        struct coir_volume_open volume;
        struct coir_volume_close leave;
        struct coir_volume_write write;
        struct coir_volume_read read;
        struct coir_sleep sleep;
    };
};
static coir_declare(aged);

/* Writes, and waits; `event` is how many there had been then. With `event` already set: what is left of it. */
coir_body(aged, f) {
    if (*f->event == 0)
        SAYS(0, &f->make, engine_make, .e = f->e, .blocks = BLOCKS);
    SAYS(0, &f->open, engine_open, .e = f->e);
    if (*f->event == 0)
        SAYS(0, &f->create, coir_volume_create, .store = f->e->store, .name = "v", .size = 1 << 20);
    SAYS(0, &f->volume, coir_volume_open, .store = f->e->store, .name = "v");
    f->v = f->volume.result;
    if (*f->event == 0) {
        f->iov = (struct iovec){ out, 8 * K };
        SAYS(0, &f->write, coir_volume_write, .volume = f->v, .iov = &f->iov, .n = 1, .offset = 0);
        SAYS(0, &f->sleep, coir_sleep, .ns = 6 * COIR_S);
        *f->event = sim_events(f->e->w);
    } else {
        f->iov = (struct iovec){ in, 8 * K };
        SAYS(0, &f->read, coir_volume_read, .volume = f->v, .iov = &f->iov, .n = 1, .offset = 0);
        MEM_EQ(in, out, 8 * K, "six seconds after a write the power may go: it is there");
    }
    SAYS(0, &f->leave, coir_volume_close, .volume = f->v);
    SAYS(0, &f->close, engine_close, .e = f->e);
} coir_end

static void check_age(void)
{
    struct sim *w = sim_new(sim_seed(1), 100 * COIR_US), *after;
    struct engine *e;
    size_t event = 0;

    sim_add(w, 0, 4096);
    e = engine_new(w, 1);
    EQ(coir_run(NULL, coir_new(aged, .e = e, .event = &event)), 0, "a write that nobody flushes");
    free(e);
    after = sim_cut(w, event, SIM_NOTHING, 1);
    e = engine_new(after, 1);
    EQ(coir_run(NULL, coir_new(aged, .e = e, .event = &event)), 0, "after a power cut");
    free(e);
    sim_free(after);
    sim_free(w);
}

int main(void)
{
    struct sim *w;
    struct engine *e;

    setenv("COIR_TIME", "virtual", 1);
    w = sim_new(sim_seed(1), 100 * COIR_US);
    sim_add(w, 0, 4096);
    e = engine_new(w, 1);
    EQ(coir_run(NULL, coir_new(program, .e = e)), 0, "the program");
    if (e->complaint.status)
        NOTE("%s", e->complaint.text);
    if (e->logged)
        NOTE("%s", e->log);
    free(e);
    sim_free(w);
    check_age();
    return DONE();
}
