/* SPDX-License-Identifier: MIT */
/*
 * A store on a device in memory, for the fuzzers of what opens one. It is made once, always the same: two volumes, an
 * index of two levels, and groups in the journal, since the power went. Each input starts from it, and what was changed
 * is put back afterwards. Included by the one file of a fuzzer, which is linked with --wrap=getrandom.
 */
#ifndef COIR_FUZZ_MEDIUM_H
#define COIR_FUZZ_MEDIUM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "volume/load.h"

enum { MEDIUM_BLOCKS = 8192 };

static struct {
    _Alignas(4096) unsigned char now[MEDIUM_BLOCKS * COIR_BLOCK], base[MEDIUM_BLOCKS * COIR_BLOCK];
    uint64_t size, base_size;
    bool touched[MEDIUM_BLOCKS], bad[MEDIUM_BLOCKS];
    struct coir_device device;
} medium;

static void must(bool good)
{
    if (!good)
        abort();
}

/* Every store is the same one. */
ssize_t __wrap_getrandom(void *to, size_t n, unsigned flags);
ssize_t __wrap_getrandom(void *to, size_t n, unsigned flags)
{
    (void)flags;
    memset(to, 0x5A, n);
    return (ssize_t)n;
}

/* ---- the device ---- */

static coir_step medium_ends(struct coir_task *t, int status)
{
    t->status = status;
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

static coir_step medium_read(struct coir_task *t)
{
    const struct coir_device_read *op = (struct coir_device_read *)t;
    uint64_t at = op->offset;

    for (int i = 0; i < op->n; at += op->iov[i++].iov_len) {
        if (at + op->iov[i].iov_len > medium.size)
            return medium_ends(t, -ENODATA);
        for (uint64_t b = at / COIR_BLOCK; b * COIR_BLOCK < at + op->iov[i].iov_len; b++)
            if (medium.bad[b])
                return medium_ends(t, -EIO);
        memcpy(op->iov[i].iov_base, medium.now + at, op->iov[i].iov_len);
    }
    return medium_ends(t, 0);
}

static void medium_touch(uint64_t at, uint64_t n)
{
    must(at + n <= sizeof medium.now);
    for (uint64_t b = at / COIR_BLOCK; b * COIR_BLOCK < at + n; b++)
        medium.touched[b] = true;
}

static coir_step medium_write(struct coir_task *t)
{
    const struct coir_device_write *op = (struct coir_device_write *)t;
    uint64_t at = op->offset;

    for (int i = 0; i < op->n; at += op->iov[i++].iov_len) {
        medium_touch(at, op->iov[i].iov_len);
        memcpy(medium.now + at, op->iov[i].iov_base, op->iov[i].iov_len);
        if (medium.size < at + op->iov[i].iov_len)
            medium.size = at + op->iov[i].iov_len;
    }
    return medium_ends(t, 0);
}

static coir_step medium_sync(struct coir_task *t)
{
    return medium_ends(t, 0);
}

static coir_step medium_grow(struct coir_task *t)
{
    const struct coir_device_grow *op = (struct coir_device_grow *)t;

    must(op->size <= sizeof medium.now);
    if (op->size > medium.size)
        medium.size = op->size;
    op->device->size = op->size;
    return medium_ends(t, 0);
}

static coir_step medium_punch(struct coir_task *t)
{
    return medium_ends(t, -EOPNOTSUPP);
}

static coir_step medium_close(struct coir_task *t)
{
    return medium_ends(t, 0);
}

static const struct coir_device_kind medium_kind = { .name = "memory", .read = medium_read, .write = medium_write,
    .sync = medium_sync, .grow = medium_grow, .punch = medium_punch, .close = medium_close };

/* ---- opening and closing a store on it ---- */

static void medium_log(void *ctx, const char *line)
{
    (void)ctx;
    must(line[0] != '\0');
}

struct medium_open {
    coir_frame(struct coir_store *);
    coir_args(struct coir_files *files; bool make; bool read_only;);
    struct coir_complaint complaint;
    struct coir_store_options options;
    struct coir_init_options init_options;
    union {
        struct coir_files_init init;
        struct coir_files_load files_load;
        struct coir_store_load load;
    };
};
static coir_declare(medium_open);

coir_body(medium_open, f) {
    f->complaint.status = 0;
    f->options = (struct coir_store_options){ .log = medium_log, .read_only = f->read_only, .memory = 1 << 20 };
    f->init_options = (struct coir_init_options){ .journal = 1 << 20 };
    memset(f->files, 0, sizeof *f->files);
    f->files->n = 1;
    f->files->file[0].device = &medium.device;
    f->files->file[0].path = "/srv/disk.coir";
    f->files->file[0].layout.blocks = MEDIUM_BLOCKS;
    coir_device_init(&medium.device, &medium_kind, "memory", medium.size, COIR_BLOCK, false);
    if (f->make)
        coir_try(f, &f->init, coir_files_init, .files = f->files, .options = &f->init_options,
                 .complaint = &f->complaint);
    else
        coir_try(f, &f->files_load, coir_files_load, .files = f->files, .complaint = &f->complaint);
    coir_get(f, f->result, &f->load, coir_store_load, .files = f->files, .options = &f->options,
             .complaint = &f->complaint);
} coir_end

/* ---- the store that all begin with ---- */

struct medium_fill {
    coir_frame_void;
    coir_args(struct coir_store *store; const char *name; unsigned writes; unsigned step; unsigned flags;);
    struct coir_volume *v;
    unsigned i;
    unsigned char bytes[COIR_BLOCK];
    struct iovec iov;
    union {
        struct coir_volume_open open;
        struct coir_volume_write write;
        struct coir_volume_close close;
    };
};
static coir_declare(medium_fill);

coir_body(medium_fill, f) {
    coir_get(f, f->v, &f->open, coir_volume_open, .store = f->store, .name = f->name);
    for (f->i = 0; f->i < f->writes; f->i++) {
        memset(f->bytes, (int)f->i + 1, sizeof f->bytes);
        f->iov = (struct iovec){ f->bytes, sizeof f->bytes };
        coir_try(f, &f->write, coir_volume_write, .volume = f->v, .iov = &f->iov, .n = 1,
                 .offset = (uint64_t)f->i * f->step * COIR_BLOCK, .flags = f->flags);
    }
    coir_await(f, &f->close, coir_volume_close, .volume = f->v);
} coir_end

struct medium_make {
    coir_frame_void;
    coir_no_args;
    struct coir_files *files;
    struct coir_store *store;
    union {
        struct medium_open open;
        struct medium_fill fill;
        struct coir_volume_create create;
        struct coir_store_unload unload;
        struct coir_volume_rename rename;
    };
};
static coir_declare(medium_make);

coir_body(medium_make, f) {
    f->files = malloc(sizeof *f->files);
    coir_get(f, f->store, &f->open, medium_open, .files = f->files, .make = true);
    coir_try(f, &f->create, coir_volume_create, .store = f->store, .name = "v", .size = 4 << 20);
    coir_try(f, &f->create, coir_volume_create, .store = f->store, .name = "w", .size = 1 << 20, .block = 16384);
    coir_try(f, &f->fill, medium_fill, .store = f->store, .name = "v", .writes = 130, .step = 2);
    coir_try(f, &f->fill, medium_fill, .store = f->store, .name = "w", .writes = 5, .step = 4);
    coir_try(f, &f->unload, coir_store_unload, .store = f->store);
    coir_get(f, f->store, &f->open, medium_open, .files = f->files);
    coir_try(f, &f->fill, medium_fill, .store = f->store, .name = "v", .writes = 3, .step = 3,
             .flags = COIR_VOLUME_DURABLE);
    coir_try(f, &f->rename, coir_volume_rename, .store = f->store, .name = "w", .to = "wide");
    memcpy(medium.base, medium.now, sizeof medium.base);        /* the power goes */
    medium.base_size = medium.size;
    coir_try(f, &f->unload, coir_store_unload, .store = f->store);
    free(f->files);
} coir_end

/* ---- what each input begins with ---- */

static unsigned char *medium_block(unsigned block)
{
    return medium.now + (size_t)block * COIR_BLOCK;
}

static void medium_reset(void)
{
    for (unsigned b = 0; b < MEDIUM_BLOCKS; b++) {
        if (medium.touched[b])
            memcpy(medium_block(b), medium.base + (size_t)b * COIR_BLOCK, COIR_BLOCK);
        medium.touched[b] = medium.bad[b] = false;
    }
    medium.size = medium.base_size;
}

#endif
