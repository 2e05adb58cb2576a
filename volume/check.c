/* SPDX-License-Identifier: MIT */
/*
 * Checking a store: every structure of its last checkpoint is read past the page cache and verified, and what the trees
 * name is compared, block by block, with the space map of that checkpoint. Nothing is written but, where the store is
 * served, the checkpoint with which it begins; reads and writes go on, and a ticket keeps what is being looked at from
 * being given out again. Home.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "volume/inside.h"
#include "volume/walk.h"

struct store_check {
    coir_frame(uint64_t);
    coir_args(struct coir_store *store; coir_store_log *tell; void *ctx;);
    struct coir_space_reads *ticket;
    struct coir_files *files;           /* a copy, with the superblock that is checked */
    struct coir_space *named, *mapped;  /* what the trees name; what the space map says */
    struct coir_map map;
    struct coir_walk_options options;
    struct coir_check_calls calls;
    uint64_t nodes, damage;
    int err;
    bool entered;
    union store_check_frames {
        struct coir_store_checkpoint checkpoint;
        struct coir_check_trees trees;
        struct coir_map_load map;
    } *in;
};
static coir_declare(store_check);
_Static_assert(sizeof(struct store_check) <= sizeof(struct coir_store_check), "it lies in the public frame");

coir_step coir_store_check_resume(struct coir_task *t)
{
    return store_check_resume(t);
}

static void tell(struct store_check *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void tell(struct store_check *f, const char *format, ...)
{
    char line[1024];
    va_list args;

    f->damage++;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (f->tell)
        f->tell(f->ctx, line);
}

static const char *file_of(const struct store_check *f, uint64_t address)
{
    const unsigned i = COIR_ADDRESS_FILE(address);

    return i < f->files->n ? f->files->file[i].device->name : "no file of the store";
}

static void damaged(void *arg, const struct coir_damage *d)
{
    struct store_check *f = arg;

    tell(f, "tree %llu, level %u, at byte %llu of %s: %s", (unsigned long long)d->tree, d->level,
         (unsigned long long)COIR_ADDRESS_BLOCK(d->address) << COIR_BLOCK_SHIFT, file_of(f, d->address), d->what);
}

/* Something names these blocks: nobody else may. */
static void name_blocks(struct store_check *f, uint64_t tree, uint64_t address, uint64_t blocks)
{
    const int err = coir_space_claim(f->named, address, blocks);

    if (err == 0)
        coir_space_use(f->named, address, blocks);
    else
        tell(f, "tree %llu names %llu blocks at byte %llu of %s, which %s", (unsigned long long)tree,
             (unsigned long long)blocks, (unsigned long long)COIR_ADDRESS_BLOCK(address) << COIR_BLOCK_SHIFT,
             file_of(f, address), err == -EEXIST ? "something else names too"
             : err == -ENOMEM ? "there is no memory for" : "the store does not have");
}

static void node(void *arg, uint64_t tree, unsigned level, uint64_t address)
{
    struct store_check *f = arg;

    (void)level;
    f->nodes++;
    name_blocks(f, tree, address, 1);
}

static void extent(void *arg, uint64_t volume, uint64_t lba, unsigned count, uint64_t address, uint64_t blocks)
{
    (void)lba;
    (void)count;
    name_blocks(arg, volume, address, blocks);
}

static int build(struct store_check *f)
{
    struct coir_space_file file[COIR_STORE_FILES];
    int err;

    f->files = malloc(sizeof *f->files);
    if (!f->files)
        return -ENOMEM;
    *f->files = *f->store->files;
    for (unsigned i = 0; i < f->files->n; i++)
        file[i] = (struct coir_space_file){ f->files->file[i].layout.blocks, f->files->file[i].layout.data,
            coir_space_grown_to(f->store->space, i) };
    err = coir_space_create(&f->named, file, f->files->n);
    if (err == 0)
        err = coir_space_create(&f->mapped, file, f->files->n);
    return err ? err : coir_map_create(&f->map, f->files);
}

/* Each block that only one of the two knows. */
static void compare(struct store_check *f)
{
    uint64_t address = 0;

    while (coir_space_differ(f->named, f->mapped, &address)) {
        tell(f, "the block at byte %llu of %s %s", (unsigned long long)COIR_ADDRESS_BLOCK(address) << COIR_BLOCK_SHIFT,
             file_of(f, address), coir_space_is_live(f->named, address, 1)
             ? "is in use, and free in the space map" : "is in use in the space map, and nothing names it");
        address++;
    }
}

coir_body(store_check, f) {
    f->ticket = NULL;
    f->files = NULL;
    f->named = f->mapped = NULL;
    f->map = (struct coir_map){ 0 };
    f->in = NULL;
    f->nodes = f->damage = 0;
    f->err = coir_store_enter(f->store, NULL, COIR_USE_READ);
    f->entered = !f->err;
    if (f->err)
        coir_fail(f, f->err);
    f->in = malloc(sizeof *f->in);
    if (!f->in)
        coir_fail(f, -ENOMEM);
    if (!f->store->read_only)
        coir_try(f, &f->in->checkpoint, coir_store_checkpoint, .store = f->store);
    f->ticket = coir_space_read(f->store->space);
    f->err = build(f);
    if (f->err)
        coir_fail(f, f->err);
    coir_await(f, &f->in->map, coir_map_load, .map = &f->map, .space = f->mapped);
    if (coir_status(&f->in->map) == -ECANCELED || coir_status(&f->in->map) == -ENOMEM)
        coir_fail(f, coir_status(&f->in->map));
    f->err = coir_status(&f->in->map);
    if (f->err)
        tell(f, "the space map cannot be read: %s", coir_strerror(f->err));
    f->options = (struct coir_walk_options){ .files = f->store->device, .n_files = f->files->n, .direct = true,
        .damaged = damaged, .arg = f };
    f->calls = (struct coir_check_calls){ .node = node, .extent = extent };
    coir_try(f, &f->in->trees, coir_check_trees, .options = &f->options, .volumes = &f->files->super.catalog,
             .names = &f->files->super.names, .key = f->files->super.key, .calls = &f->calls);
    if (!f->err && f->in->trees.result == 0)
        compare(f);
    f->result = f->nodes;
    if (f->damage > 0)
        coir_fail(f, -EBADMSG);
    coir_finally(f) {
        if (f->ticket)
            coir_space_read_ends(f->store->space, f->ticket);
        coir_map_destroy(&f->map);
        coir_space_destroy(f->named);
        coir_space_destroy(f->mapped);
        free(f->files);
        free(f->in);
        if (f->entered)
            coir_store_leave(f->store);
    }
} coir_end
