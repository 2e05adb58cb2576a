/* SPDX-License-Identifier: MIT */
/*
 * What the heaps of one world share, a shard each: a seed, so that a hash made on one is right on all; a limit, of
 * which each heap takes a quota in chunks and gives back what it does not need; a depot of free small cells.
 *
 * Cells go from shard to shard (cross.h), so a heap may free what another has made: used and lives of one heap may be
 * negative, and their sums over the world are what counts. Where one shard makes what another frees, the cells would
 * pile up there, and new blocks be cut here; so who frees more than it makes gives its lists of free cells to the
 * depot, and who would need a new block looks there first. A heap that is alone has none of this.
 */
#ifndef COIR_VM_COMMONS_H
#define COIR_VM_COMMONS_H

#include <pthread.h>

#include "vm/cell.h"

struct coir_commons {
    int64_t left;                       /* bytes of the limit that no heap has; any thread, atomically */
    int64_t chunk;                      /* bytes that a heap takes beyond what it needs; 0: there is no limit */
    uint64_t seed[2];
    pthread_mutex_t lock;               /* of what follows */
    void *chains[COIR_HEAP_CLASSES];    /* lists of free cells, by class, as heaps had them: linked by the second word
                                           of their first cell */
};

/* Of `heaps` heaps. `limit` 0: none. `seed` 0: of the kernel's randomness. */
void coir_commons_init(struct coir_commons *c, size_t limit, unsigned heaps, uint64_t seed);
/* After all of its heaps. */
void coir_commons_end(struct coir_commons *c);

/* A heap that has nothing yet becomes one of them. */
void coir_heap_join(struct coir_heap *h, struct coir_commons *c);

/* Whoever has taken something from another shard calls this now and then: free cells that are too many are given to the
 * others. */
void coir_heap_share(struct coir_heap *h);

/* ---- for the heap ---- */

/* `more` bytes of quota, or more. False: there are not so many. */
bool coir_commons_take(struct coir_heap *h, int64_t more);
/* Free cells of a class: one of them, and the others are the heap's list, which was empty. False: there are none. */
bool coir_commons_cells(struct coir_heap *h, size_t class, void **cell);

#endif
