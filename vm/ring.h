/* SPDX-License-Identifier: MIT */
/*
 * The search for a ring of waits that one call is part of. It goes from shard to shard; see ring.c.
 *
 *     coir_ring_begin(&s, f);
 *     while ((there = coir_ring_next(&s)))
 *         on that machine's shard: coir_ring_go_on(&s, there);
 *     coir_ring_end(&s);
 */
#ifndef COIR_VM_RING_H
#define COIR_VM_RING_H

#include "vm/machine.h"

struct coir_ring_step;
struct coir_ring_visit;

struct coir_ring {
    struct coir_vm *vm;                 /* of the first fiber */
    struct coir_fiber *first;           /* may have gone while the search is elsewhere */
    uint64_t stamp;                     /* of its call */
    struct coir_ring_step *steps;
    size_t n, room;
    struct coir_ring_visit *visits;     /* what leads to other shards, or to another place of this */
    size_t nvisits, visits_room;
    size_t next;                        /* none before it is left to follow */
    size_t last;                        /* the step that leads back to the first */
    bool found;                         /* and was told */
    bool over;                          /* nothing is to be looked at any more */
};

/* Looks from the fiber, which sleeps in coir_op_msg, as far as that goes on its shard; the memory is coir_ring_end's.
 * Here, as in coir_ring_go_on: if it is in a ring it is told, and wakes. */
void coir_ring_begin(struct coir_ring *s, struct coir_fiber *first);
/* Where to go on; NULL: it is over. */
struct coir_vm *coir_ring_next(struct coir_ring *s);
void coir_ring_go_on(struct coir_ring *s, struct coir_vm *here);
void coir_ring_end(struct coir_ring *s);

#endif
