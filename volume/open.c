/* SPDX-License-Identifier: MIT */
/*
 * Stores by paths, for programs: made, opened, closed. The devices are found (find.h), and the store is loaded over
 * them (load.h); here the two are one operation, and a complaint becomes the caller's text.
 */
#include <stdio.h>
#include <stdlib.h>

#include "volume/chunk.h"
#include "volume/find.h"
#include "volume/load.h"

/* What went wrong, as the caller's text. */
static void tell(char *why, size_t size, const struct coir_complaint *c, const char *path, int status)
{
    if (!why || size == 0)
        return;
    if (c && c->status)
        snprintf(why, size, "%s", c->text);
    else
        snprintf(why, size, "%s: %s", path ? path : "no path", coir_strerror(status));
}

/* Frames of what is awaited here: large, and so of the heap. */
union store_frames {
    struct coir_files_create create;
    struct coir_store_find find;
    struct coir_store_load load;
    struct coir_files_close close;
};

/* ---- making ---- */

struct store_init {
    coir_frame_void;
    coir_args(const char *const *paths; unsigned n; uint64_t size; uint64_t journal; bool force; char *why;
              size_t why_size; void (*progress)(void *ctx, uint64_t done, uint64_t all); void *ctx;);
    struct coir_files *files;
    struct coir_complaint *complaint;
    struct coir_new_file *list;
    struct coir_init_options options;
    bool made;
    union store_frames *in;
};
coir_public(store_init, coir_store_init);

coir_body(store_init, f) {
    f->made = false;
    f->files = calloc(1, sizeof *f->files);
    f->complaint = calloc(1, sizeof *f->complaint);
    f->list = calloc(f->n ? f->n : 1, sizeof *f->list);
    f->in = malloc(sizeof *f->in);
    if (!f->files || !f->complaint || !f->list || !f->in)
        coir_fail(f, -ENOMEM);
    if (!f->paths || f->n == 0 || f->n > COIR_STORE_FILES)
        coir_fail(f, -EINVAL);
    for (unsigned i = 0; i < f->n; i++)
        f->list[i] = (struct coir_new_file){ .path = f->paths[i], .size = f->size };
    f->options = (struct coir_init_options){ .journal = f->journal, .progress = f->progress, .arg = f->ctx };
    coir_try(f, &f->in->create, coir_files_create, .files = f->files, .list = f->list, .n = f->n, .force = f->force,
             .options = &f->options, .complaint = f->complaint);
    f->made = true;
    coir_finally(f) {
        if (f->made)
            coir_await(f, &f->in->close, coir_files_close, .files = f->files);
        if (coir_status(f))
            tell(f->why, f->why_size, f->complaint, f->paths ? f->paths[0] : NULL, coir_status(f));
        free(f->list);
        free(f->in);
        free(f->complaint);
        free(f->files);
    }
} coir_end

/* ---- opening ---- */

struct store_open {
    coir_frame(struct coir_store *);
    coir_args(const char *path; const struct coir_store_options *options; char *why; size_t why_size;);
    struct coir_files *files;
    struct coir_complaint *complaint;
    struct coir_moved_file *moved;
    unsigned n_moved;
    bool found;
    union store_frames *in;
};
coir_public(store_open, coir_store_open);

coir_body(store_open, f) {
    f->found = false;
    f->n_moved = f->options ? f->options->n_moved : 0;
    f->files = calloc(1, sizeof *f->files);
    f->complaint = calloc(1, sizeof *f->complaint);
    f->moved = calloc(f->n_moved + 1, sizeof *f->moved);
    f->in = malloc(sizeof *f->in);
    if (!f->files || !f->complaint || !f->moved || !f->in)
        coir_fail(f, -ENOMEM);
    if (!f->path)
        coir_fail(f, -EFAULT);
    for (unsigned i = 0; i < f->n_moved; i++)
        f->moved[i] = (struct coir_moved_file){ f->options->moved_index[i], f->options->moved[i] };
    coir_try(f, &f->in->find, coir_store_find, .files = f->files, .path = f->path, .moved = f->moved, .n = f->n_moved,
             .read_only = f->options && f->options->read_only, .complaint = f->complaint);
    f->found = true;
    coir_get(f, f->result, &f->in->load, coir_store_load, .files = f->files, .options = f->options,
             .complaint = f->complaint);
    coir_finally(f) {
        if (coir_status(f)) {
            if (f->found)
                coir_await(f, &f->in->close, coir_files_close, .files = f->files);
            free(f->files);
            tell(f->why, f->why_size, f->complaint, f->path, coir_status(f));
        }
        free(f->moved);
        free(f->in);
        free(f->complaint);
    }
} coir_end

/* ---- closing ---- */

struct store_shut {
    coir_frame_void;
    coir_args(struct coir_store *store;);
    struct coir_files *files;
    int err;
    union {
        struct coir_store_unload unload;
        struct coir_files_close close;
    };
};
static coir_declare(store_shut);

coir_body(store_shut, f) {
    f->files = f->store->files;
    coir_await(f, &f->unload, coir_store_unload, .store = f->store);
    f->err = coir_status(&f->unload);
    coir_await(f, &f->close, coir_files_close, .files = f->files);
    free(f->files);
    if (f->err)
        coir_fail(f, f->err);
} coir_end

struct store_close {
    coir_frame_void;
    coir_args(struct coir_store *store;);
    struct coir_scope scope;
    struct store_shut shut;
};
coir_public(store_close, coir_store_close);

coir_body(store_close, f) {
    if (!f->store)
        coir_fail(f, -EFAULT);
    coir_shield(f, &f->scope, &f->shut, store_shut, .store = f->store);
    coir_check(f, &f->shut);
} coir_end
