/* SPDX-License-Identifier: MIT */
/*
 * A census: how many tasks of a shard were spawned where, stand where, and wait for what.
 *
 * It is taken on the shard's thread, a slice a turn, so that a million tasks do not hold the shard up, in memory that
 * is given beforehand and never grows. The one who asked is another thread; it owns the memory, which has to outlive
 * the shard.
 *
 *       ask (asker)            deliver, slice after slice (shard)           done
 *   IDLE ----------> ASKED ------------------------------------------> ANSWERED --> read (asker) --> IDLE
 *
 * Tasks come and go between slices: it is no picture of one moment. Who was there from its beginning to its end is
 * counted once; who was not, once or not at all.
 */
#ifndef COIR_RUNTIME_SEE_CENSUS_H
#define COIR_RUNTIME_SEE_CENSUS_H

#include "runtime/base/queue.h"
#include "runtime/shard/run.h"

enum {
    COIR_CENSUS_ROWS = 1024,            /* kinds of tasks told apart; the others are only counted */
    COIR_CENSUS_DEEPEST = 10000,        /* awaits below one task that are looked at */
    COIR_CENSUS_GUESTS = 1000,          /* tasks of other shards that are looked at */
};

/* The tasks that have these in common. Static memory of the program's, compared by address. */
struct coir_census_row {
    const struct coir_site *born;       /* the coir_new; NULL: a child of another shard's task */
    const struct coir_site *stands;     /* the innermost await of the program's own; NULL: it has not come to one */
    const char *waits;                  /* the operation; NULL: it runs, or is ready to */
    uint64_t count;
};

struct coir_census {
    unsigned rows;
    uint64_t tasks;                     /* that were counted */
    uint64_t other;                     /* of those, in no row */
    struct coir_census_row row[COIR_CENSUS_ROWS];
    uint16_t slot[2 * COIR_CENSUS_ROWS];    /* of the hash table: a row's number and 1 */

    /* while it is taken; the shard's */
    struct coir_shard *shard;
    struct coir_birth *at;              /* the next to be counted; between slices `reaper` is its reaper */
    struct coir_reaper reaper, *displaced;
    struct coir_link mark;              /* among the shard's groups: behind those that have been counted */
    uint64_t left;                      /* as many as there were in the beginning, and no more, are counted */
};

/* Makes it empty; any thread, while nobody takes it. */
void coir_census_clear(struct coir_census *c);

/* Both on the shard's thread, between steps. coir_census_slice: true when it is done. */
void coir_census_begin(struct coir_census *c, struct coir_shard *s);
bool coir_census_slice(struct coir_census *c);

/* Adds the rows of one to another, both at rest. */
void coir_census_add(struct coir_census *to, const struct coir_census *from);

/* What a leaf waits for, by the name of its operation; NULL: nothing. Static. */
const char *coir_wait_name(const struct coir_task *leaf);

#endif
