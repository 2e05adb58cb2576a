/* SPDX-License-Identifier: MIT */
/*
 * A store without an engine, on simulated devices, for the tests of this folder: it is made, opened, has blocks given
 * out and superseded, and checkpoints of nothing but its space map. Everything is in one struct, on the heap, and its
 * operations are tasks of one shard. Included by the one file of a program.
 */
#ifndef COIR_TESTS_VOLUME_STORE_H
#define COIR_TESTS_VOLUME_STORE_H

#include "volume/grow.h"
#include "volume/map.h"

#include "../device/sim.h"

#include "tap.h"

struct store {
    struct sim *w;
    struct coir_files *files;           /* NULL: not open */
    const char *path;                   /* of the first device; NULL: it has none */
    struct coir_space *space;
    struct coir_map map;
    struct coir_grower grower;
    struct coir_complaint complaint;
};

static inline void store_forget(struct store *s)
{
    coir_map_destroy(&s->map);
    coir_space_destroy(s->space);
    free(s->files);
    s->files = NULL;
    s->space = NULL;
}

static inline void store_devices(struct store *s, unsigned n)
{
    s->files = calloc(1, sizeof *s->files);
    s->complaint.status = 0;
    s->files->n = n;
    s->files->file[0].path = s->path;
    for (unsigned i = 0; i < n; i++)
        s->files->file[i].device = sim_open(s->w, i);
}

static inline int store_space(struct store *s)
{
    struct coir_space_file files[COIR_STORE_FILES];

    for (unsigned i = 0; i < s->files->n; i++)
        files[i] = (struct coir_space_file){
            s->files->file[i].layout.blocks, s->files->file[i].layout.data, s->files->file[i].grown,
        };
    const int r = coir_space_create(&s->space, files, s->files->n);
    if (r == 0)
        coir_grower_init(&s->grower, s->files, s->space);
    return r < 0 ? r : coir_map_create(&s->map, s->files);
}

/* ---- making: what is open afterwards is a new store ---- */

struct store_make {
    coir_frame_void;
    coir_args(struct store *s; unsigned n; const uint64_t *blocks; const struct coir_init_options *options;);
    struct coir_files_init init;
};
TAP_UNUSED static coir_declare(store_make);
coir_body(store_make, f) {
    store_devices(f->s, f->n);
    for (unsigned i = 0; i < f->n; i++)
        f->s->files->file[i].layout.blocks = f->blocks[i];
    coir_try(f, &f->init, coir_files_init, .files = f->s->files, .options = f->options,
             .complaint = &f->s->complaint);
    const int r = store_space(f->s);
    if (r < 0)
        coir_fail(f, r);
    coir_finally(f) {
        if (coir_status(f) < 0)
            store_forget(f->s);
    }
} coir_end

/* ---- opening ---- */

struct store_open {
    coir_frame_void;
    coir_args(struct store *s; unsigned n;);
    int err;
    union {
        struct coir_files_load load;
        struct coir_map_load map;
    };
};
TAP_UNUSED static coir_declare(store_open);
coir_body(store_open, f) {
    store_devices(f->s, f->n);
    coir_try(f, &f->load, coir_files_load, .files = f->s->files, .complaint = &f->s->complaint);
    f->err = store_space(f->s);
    if (f->err < 0)
        coir_fail(f, f->err);
    coir_try(f, &f->map, coir_map_load, .map = &f->s->map, .space = f->s->space, .complaint = &f->s->complaint);
    coir_finally(f) {
        if (coir_status(f) < 0)
            store_forget(f->s);
    }
} coir_end

/* ---- closing, also after a failure ---- */

struct store_close {
    coir_frame_void;
    coir_args(struct store *s; unsigned n;);
    unsigned i;
    struct coir_device_close close;
};
TAP_UNUSED static coir_declare(store_close);
coir_body(store_close, f) {
    store_forget(f->s);
    for (f->i = 0; f->i < f->n; f->i++)
        coir_await(f, &f->close, coir_device_close, .device = sim_open(f->s->w, f->i));
} coir_end

/* ---- a checkpoint of the space map ---- */

struct store_checkpoint {
    coir_frame_void;
    coir_args(struct store *s; uint64_t lsn;);
    struct coir_frozen *frozen;
    unsigned i;
    int err;
    union {
        struct coir_map_write write;
        struct coir_device_flush flush;
        struct coir_super_commit commit;
    };
};
TAP_UNUSED static coir_declare(store_checkpoint);
coir_body(store_checkpoint, f) {
    f->err = coir_space_freeze(f->s->space, f->lsn, &f->frozen);
    if (f->err < 0)
        coir_fail(f, f->err);
    f->s->files->next = f->s->files->super;
    f->s->files->next.lsn = f->lsn;
    f->s->files->next.live = f->frozen->live;
    for (f->i = 0; f->i < f->s->files->n; f->i++)
        f->s->files->next.file[f->i].grown = coir_space_grown_to(f->s->space, f->i);
    coir_try(f, &f->write, coir_map_write, .map = &f->s->map, .space = f->s->space, .frozen = f->frozen,
             .generation = f->s->files->super.head.generation + 1, .complaint = &f->s->complaint);
    coir_map_roots(&f->s->map, &f->s->files->next);
    for (f->i = 0; f->i < f->s->files->n; f->i++)
        coir_try(f, &f->flush, coir_device_flush, .device = f->s->files->file[f->i].device);
    coir_try(f, &f->commit, coir_super_commit, .files = f->s->files, .complaint = &f->s->complaint);
    coir_map_commit(&f->s->map);
    coir_space_durable(f->s->space, f->frozen);
    f->frozen = NULL;
    coir_finally(f) {
        if (coir_status(f) < 0 && f->frozen) {
            coir_map_abort(&f->s->map);
            coir_space_thaw(f->s->space, f->frozen);
        }
    }
} coir_end

/* Gives out some blocks and uses them; their address, or 0. */
TAP_UNUSED static uint64_t store_put(struct store *s, uint64_t blocks)
{
    struct coir_run run;

    if (coir_space_reserve(s->space, COIR_SPACE_CHECKPOINT, 0, blocks, &run, 1) != 1 || run.blocks != blocks)
        return 0;
    coir_space_use(s->space, run.address, run.blocks);
    return run.address;
}

#endif
