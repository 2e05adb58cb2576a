/* SPDX-License-Identifier: MIT */
/*
 * The trees' part of a checkpoint. In one step:
 *
 *     n = coir_cache_dirty(cache);                         and the engine takes addresses for n nodes
 *     coir_checkpoint_freeze(&ck, cache, runs, n_runs, generation);       cannot fail, does not look at the nodes
 *     coir_space_freeze(...);                              the same step: the map has the new nodes
 *
 * From then on who changes a frozen node copies it first. Then
 *
 *     coir_await(f, &f->write, coir_checkpoint_write, .checkpoint = &ck);
 *
 * sums and writes the frozen nodes, children before parents, the catalog last, some at a time: only there are the
 * nodes read, so the freeze is short however many there are. Afterwards the roots are known (coir_tree.to). When the
 * engine has made them durable it calls coir_checkpoint_done; or, at any time, coir_checkpoint_failed: nothing is
 * lost in memory, and all that was frozen is dirty again.
 *
 * What was `released` before the freeze may be given out again when this checkpoint is durable; what is released after
 * it, or by coir_checkpoint_done, when the next one is. A failed checkpoint's own runs are the caller's again.
 */
#ifndef COIR_VOLUME_FREEZE_H
#define COIR_VOLUME_FREEZE_H

#include "volume/btree.h"

struct coir_run;

enum { COIR_CHECKPOINT_LANES = 4, COIR_CHECKPOINT_BATCH = 32 };     /* writes in flight, and blocks of each */

struct coir_checkpoint {
    struct coir_cache *cache;
    const struct coir_run *runs;        /* the caller's, until done or failed */
    unsigned n_runs, run;
    uint64_t at;                        /* blocks of runs[run] that are used up */
    uint64_t generation;
    unsigned class, level;              /* what is copied next, in the list of these */
    struct coir_link *next;
    unsigned left;                      /* nodes to be copied */
    struct coir_disk_node *buffer;      /* of all lanes */
};

/* Memory to write with: once for each checkpoint, before the freeze. 0 or -ENOMEM. All zero before the first. */
int coir_checkpoint_prepare(struct coir_checkpoint *ck, struct coir_cache *c);

/* Gives that memory back. */
void coir_checkpoint_destroy(struct coir_checkpoint *ck);

/* Nodes that a freeze would freeze now. */
static inline unsigned coir_cache_dirty(const struct coir_cache *c)
{
    return c->counts.dirty;
}

/* Freezes what is dirty. The runs have exactly as many blocks, and last until done or failed. No other checkpoint is
 * under way. coir_catalog_freeze does what has to be done before, and calls this. */
void coir_checkpoint_freeze(struct coir_checkpoint *ck, const struct coir_run *runs, unsigned n,
                            uint64_t generation);

struct coir_checkpoint_lane {
    coir_frame_void;
    coir_args(struct coir_checkpoint *checkpoint; struct coir_disk_node *buffer;);
    uint64_t address;
    unsigned n;
    struct iovec iov;
    struct coir_device_write write;
};
coir_declare(coir_checkpoint_lane);

/* Writes what is frozen; flushes nothing. When it fails, coir_checkpoint_failed is due: it cannot be awaited again. */
struct coir_checkpoint_write {
    coir_frame_void;
    coir_args(struct coir_checkpoint *checkpoint;);
    struct coir_task *kids[COIR_CHECKPOINT_LANES];
    struct coir_combine all;
    struct coir_checkpoint_lane lane[COIR_CHECKPOINT_LANES];
};
coir_declare(coir_checkpoint_write);

/* The superblocks name it durably: what was frozen and has not been changed since is clean. Calls `released` for what
 * has been. */
void coir_checkpoint_done(struct coir_checkpoint *ck);

/* It is given up: everything is dirty again. Nothing in memory names an address of its runs. */
void coir_checkpoint_failed(struct coir_checkpoint *ck);

#endif
