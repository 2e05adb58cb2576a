/* SPDX-License-Identifier: MIT */
/*
 * A whole store on simulated devices, for the tests of the engine: made, opened, closed. One shard, virtual time unless
 * the test says otherwise. Included by the one file of a program.
 */
#ifndef COIR_TESTS_VOLUME_ENGINE_H
#define COIR_TESTS_VOLUME_ENGINE_H

#include "volume/load.h"

#include "../device/sim.h"

#include "tap.h"

struct engine {
    struct sim *w;
    unsigned n;                         /* devices */
    const char *path;                   /* of the first device; NULL: it has none */
    struct coir_files *files;           /* NULL: not open */
    struct coir_store *store;
    struct coir_store_options options;
    struct coir_complaint complaint;
    char log[4096];                     /* all lines, each ends in a newline */
    size_t logged;
};

TAP_UNUSED static void engine_log(void *ctx, const char *line)
{
    struct engine *e = ctx;
    const int n = snprintf(e->log + e->logged, sizeof e->log - e->logged, "%s\n", line);

    e->logged = e->logged + (size_t)n < sizeof e->log ? e->logged + (size_t)n : sizeof e->log - 1;
}

static inline struct engine *engine_new(struct sim *w, unsigned n)
{
    struct engine *e = calloc(1, sizeof *e);

    e->w = w;
    e->n = n;
    e->options = (struct coir_store_options){ .log = engine_log, .ctx = e };
    return e;
}

static inline void engine_devices(struct engine *e)
{
    e->files = calloc(1, sizeof *e->files);
    e->files->n = e->n;
    e->files->file[0].path = e->path;
    e->complaint.status = 0;
    for (unsigned i = 0; i < e->n; i++)
        e->files->file[i].device = sim_open(e->w, i);
}

/* Makes a store: each device may grow to `blocks`. It is not open afterwards. */
struct engine_make {
    coir_frame_void;
    coir_args(struct engine *e; uint64_t blocks; uint64_t journal;);
    struct coir_init_options options;
    unsigned i;
    union {
        struct coir_files_init init;
        struct coir_device_close close;
    };
};
static coir_declare(engine_make);
coir_body(engine_make, f) {
    engine_devices(f->e);
    for (unsigned i = 0; i < f->e->n; i++)
        f->e->files->file[i].layout.blocks = f->blocks;
    f->options = (struct coir_init_options){ .journal = f->journal };
    coir_try(f, &f->init, coir_files_init, .files = f->e->files, .options = &f->options,
             .complaint = &f->e->complaint);
    coir_finally(f) {
        for (f->i = 0; f->i < f->e->n; f->i++)
            coir_await(f, &f->close, coir_device_close, .device = f->e->files->file[f->i].device);
        free(f->e->files);
        f->e->files = NULL;
    }
} coir_end

struct engine_open {
    coir_frame_void;
    coir_args(struct engine *e;);
    unsigned i;
    union {
        struct coir_files_load files;
        struct coir_store_load load;
        struct coir_device_close close;
    };
};
static coir_declare(engine_open);
coir_body(engine_open, f) {
    engine_devices(f->e);
    coir_try(f, &f->files, coir_files_load, .files = f->e->files, .complaint = &f->e->complaint);
    coir_get(f, f->e->store, &f->load, coir_store_load, .files = f->e->files, .options = &f->e->options,
             .complaint = &f->e->complaint);
    coir_finally(f) {
        if (coir_status(f)) {
            for (f->i = 0; f->i < f->e->n; f->i++)
                coir_await(f, &f->close, coir_device_close, .device = f->e->files->file[f->i].device);
            free(f->e->files);
            f->e->files = NULL;
        }
    }
} coir_end

struct engine_close {
    coir_frame_void;
    coir_args(struct engine *e;);
    int err;
    unsigned i;
    union {
        struct coir_store_unload unload;
        struct coir_device_close close;
    };
};
static coir_declare(engine_close);
coir_body(engine_close, f) {
    coir_await(f, &f->unload, coir_store_unload, .store = f->e->store);
    f->err = coir_status(&f->unload);
    f->e->store = NULL;
    for (f->i = 0; f->i < f->e->n; f->i++)
        coir_await(f, &f->close, coir_device_close, .device = f->e->files->file[f->i].device);
    free(f->e->files);
    f->e->files = NULL;
    if (f->err)
        coir_fail(f, f->err);
} coir_end

#endif
