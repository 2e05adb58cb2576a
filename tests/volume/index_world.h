/* SPDX-License-Identifier: MIT */
/*
 * What the tests of trees share: a simulated device, a cache over it, and in place of the engine a map of blocks that
 * knows what every block of a node is: never given out twice, released once, not given out again before the checkpoint
 * that lets it go is done. At rest the nodes that can be reached from the roots are just those that are given out.
 *
 * The map belongs to one test at a time, on one shard. Included by one file of a program.
 */
#ifndef COIR_TESTS_VOLUME_INDEX_WORLD_H
#define COIR_TESTS_VOLUME_INDEX_WORLD_H

#include "../device/sim.h"

#include "tap.h"
#include "volume/catalog.h"
#include "volume/space.h"
#include "volume/walk.h"

#ifndef WORLD_DELAY
#define WORLD_DELAY 0                   /* ns that an operation of the device takes at most */
#endif

enum { WORLD_BLOCKS = 1 << 16, WORLD_RUNS = 1 << 14, WORLD_FIRST = 16 };
enum { BLOCK_FREE, BLOCK_NODE, BLOCK_RELEASED, BLOCK_GOING };  /* GOING: when the checkpoint under way is done */

struct index_world {
    struct sim *sim;
    struct coir_device *file[1];
    struct coir_cache cache;
    struct coir_checkpoint ck;
    uint64_t random, generation;
    unsigned char *block;               /* what each is */
    uint64_t hand;                      /* where the next run is looked for */
    unsigned longest;                   /* run that is given out */
    struct coir_run run[WORLD_RUNS];
    unsigned n_runs;
    struct coir_damage damage;          /* the last */
    unsigned damages;
    const char *wrong;                  /* the first thing */
};

TAP_UNUSED static void world_wrong(struct index_world *w, const char *what)
{
    if (!w->wrong)
        w->wrong = what;
}

static void world_released(void *arg, uint64_t address)
{
    struct index_world *w = arg;

    if (address >= WORLD_BLOCKS || w->block[address] != BLOCK_NODE)
        world_wrong(w, "a block was released that is no node");
    else
        w->block[address] = BLOCK_RELEASED;
}

static void world_damaged(void *arg, const struct coir_damage *damage)
{
    struct index_world *w = arg;

    w->damage = *damage;
    w->damages++;
}

/* A cache over what the device holds: after it everything is read anew. */
TAP_UNUSED static void world_reopen(struct index_world *w, unsigned pages, unsigned dirty)
{
    const struct coir_cache_options o = {
        .limit = (size_t)pages * COIR_BLOCK, .dirty = dirty, .files = w->file, .n_files = 1,
        .released = world_released, .damaged = world_damaged, .arg = w,
    };

    coir_checkpoint_destroy(&w->ck);
    coir_cache_destroy(&w->cache);
    if (coir_cache_init(&w->cache, &o))
        world_wrong(w, "no cache");
}

TAP_UNUSED static void world_open(struct index_world *w, uint64_t seed, unsigned pages, unsigned dirty)
{
    *w = (struct index_world){ .random = seed, .longest = 8, .hand = WORLD_FIRST };
    w->sim = sim_new(seed, WORLD_DELAY);
    sim_add(w->sim, (uint64_t)WORLD_BLOCKS * COIR_BLOCK, COIR_BLOCK);
    w->block = calloc(WORLD_BLOCKS, 1);
    world_reopen(w, pages, dirty);
}

/* On the shard. */
TAP_UNUSED static void world_devices(struct index_world *w)
{
    w->file[0] = sim_open(w->sim, 0);
}

/* The same device without a history, as if it had been read in anew: it may be damaged then. On the shard. */
TAP_UNUSED static void world_at_rest(struct index_world *w)
{
    struct sim *rest = sim_cut(w->sim, sim_events(w->sim), SIM_EVERYTHING, 1);

    sim_free(w->sim);
    w->sim = rest;
    world_devices(w);
}

TAP_UNUSED static void world_close(struct index_world *w)
{
    coir_checkpoint_destroy(&w->ck);
    coir_cache_destroy(&w->cache);
    sim_free(w->sim);
    free(w->block);
}

/* ---- checkpoints ---- */

/* Runs for `n` nodes, of random lengths; and what was released until now goes when this checkpoint is done. */
TAP_UNUSED static void world_take(struct index_world *w, unsigned n)
{
    w->n_runs = 0;
    while (n) {
        unsigned most = 1 + (unsigned)sim_below(&w->random, w->longest), got = 0;
        struct coir_run *r = &w->run[w->n_runs];

        if (w->n_runs == WORLD_RUNS)
            abort();
        for (unsigned tries = 0; w->block[w->hand] != BLOCK_FREE; tries++) {
            if (tries == WORLD_BLOCKS)
                abort();
            w->hand = w->hand + 1 < WORLD_BLOCKS ? w->hand + 1 : WORLD_FIRST;
        }
        r->address = w->hand;
        while (got < most && got < n && w->hand < WORLD_BLOCKS && w->block[w->hand] == BLOCK_FREE) {
            w->block[w->hand++] = BLOCK_NODE;
            got++;
        }
        if (w->hand == WORLD_BLOCKS)
            w->hand = WORLD_FIRST;
        r->blocks = got;
        n -= got;
        w->n_runs++;
    }
    for (unsigned i = 0; i < WORLD_BLOCKS; i++)
        w->block[i] = w->block[i] == BLOCK_RELEASED ? BLOCK_GOING : w->block[i];
}

/* After coir_..._done, or _failed: it frees what the last one needed, or what this one would have. */
TAP_UNUSED static void world_ended(struct index_world *w, bool done)
{
    for (unsigned i = 0; !done && i < w->n_runs; i++) {
        for (uint64_t b = 0; b < w->run[i].blocks; b++) {
            if (w->block[w->run[i].address + b] != BLOCK_NODE)
                world_wrong(w, "a node of a failed checkpoint was released");
            w->block[w->run[i].address + b] = BLOCK_FREE;
        }
    }
    for (unsigned i = 0; i < WORLD_BLOCKS; i++) {
        if (w->block[i] == BLOCK_GOING)
            w->block[i] = done ? BLOCK_FREE : BLOCK_RELEASED;
    }
    w->n_runs = 0;
}

/* A checkpoint of trees, or of the catalog and all, without anything meanwhile. Fails as its write. */
struct world_checkpoint {
    coir_frame_void;
    coir_args(struct index_world *w; struct coir_catalog *catalog;);
    struct coir_checkpoint_write write;
};
static TAP_UNUSED coir_declare(world_checkpoint);

static void world_freeze(struct index_world *w, struct coir_catalog *catalog)
{
    world_take(w, coir_cache_dirty(&w->cache));
    if (catalog)
        coir_catalog_freeze(catalog, &w->ck, w->run, w->n_runs, ++w->generation);
    else
        coir_checkpoint_freeze(&w->ck, w->run, w->n_runs, ++w->generation);
}

static void world_end(struct index_world *w, struct coir_catalog *catalog, bool done)
{
    if (catalog)
        (done ? coir_catalog_done : coir_catalog_failed)(catalog, &w->ck);
    else
        (done ? coir_checkpoint_done : coir_checkpoint_failed)(&w->ck);
    world_ended(w, done);
}

coir_body(world_checkpoint, f) {
    if (coir_checkpoint_prepare(&f->w->ck, &f->w->cache))
        coir_fail(f, -ENOMEM);
    world_freeze(f->w, f->catalog);
    coir_await(f, &f->write, coir_checkpoint_write, .checkpoint = &f->w->ck);
    world_end(f->w, f->catalog, coir_status(&f->write) == 0);
    coir_check(f, &f->write);
} coir_end

/* ---- at rest ---- */

/* Walks a tree on the device. Counts its nodes; each must be given out. */
struct world_walk {
    coir_frame(uint64_t);
    coir_args(struct index_world *w; const struct coir_tree_kind *kind; uint64_t tree; unsigned shift;
              const struct coir_disk_root *root; void (*node)(void *arg, const struct coir_disk_node *node);
              void *arg;);
    struct coir_walker walker;
    struct coir_walker_next next;
};
static TAP_UNUSED coir_declare(world_walk);

static int walk_begins(struct world_walk *f)
{
    const struct coir_walk_options o = {
        .files = f->w->file, .n_files = 1, .direct = true, .damaged = world_damaged, .arg = f->w,
    };

    return coir_walker_init(&f->walker, &o, f->kind, f->tree, f->shift, f->root);
}

static void walk_saw(struct world_walk *f)
{
    if (f->w->block[f->walker.node->head.address] != BLOCK_NODE)
        world_wrong(f->w, "a node stands in a block that is not given out");
    if (f->node)
        f->node(f->arg, f->walker.node);
}

coir_body(world_walk, f) {
    if (walk_begins(f))
        coir_fail(f, -EBADMSG);
    for (;;) {
        coir_try(f, &f->next, coir_walker_next, .walker = &f->walker);
        if (!f->next.result)
            break;
        walk_saw(f);
    }
    f->result = f->walker.nodes;
    coir_finally(f) {
        coir_walker_destroy(&f->walker);
    }
} coir_end

/* Blocks that hold nodes. */
TAP_UNUSED static uint64_t world_nodes(const struct index_world *w)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < WORLD_BLOCKS; i++)
        n += w->block[i] == BLOCK_NODE;
    return n;
}

#endif
