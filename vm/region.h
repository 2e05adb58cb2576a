/* SPDX-License-Identifier: MIT */
/*
 * Regions: what a fiber is in. A group, a within, a shield: each is a cell in one of its registers, held there alone,
 * and is left when that is dropped, on whatever path. Each but a shield has a scope of libcoir's, inside that of the
 * region around it; a shield has none, but a mark on the task, as libcoir's coir_finally has.
 */
#ifndef COIR_VM_REGION_H
#define COIR_VM_REGION_H

#include "vm/machine.h"

enum coir_region_kind { COIR_REGION_GROUP, COIR_REGION_WITHIN, COIR_REGION_SHIELD };

struct coir_region {
    struct coir_counted head;           /* held by its register alone; a group left with members is freed by the last */
    uint8_t kind;
    uint8_t open;
    struct coir_fiber *fiber;           /* whose it is, while it is open */
    struct coir_region *outer;
    struct coir_scope scope;
    /* a group's */
    struct coir_link members;           /* fibers that have not ended */
    struct coir_link waiters;           /* its fiber, waiting for room or for all */
    uint32_t live;
    uint32_t limit;
    uint64_t failure;                   /* the Trap of whoever failed first, held; 0: nobody */
};

static inline struct coir_region *coir_region_at(uint64_t slot)
{
    return (struct coir_region *)(uintptr_t)slot;
}

/* Whether it is a within of the fiber's own, and no cancellation from outside, that has cancelled it. */
bool coir_region_expired(const struct coir_fiber *f);
/* Whether some within of its own will end its wait. */
bool coir_region_timed(const struct coir_fiber *f);

/* Whether a defer waits for the group, or for one that its fiber is in: then a stop of the program waits for its
 * members. */
bool coir_group_is_shielded(const struct coir_region *g);

void coir_group_joined(struct coir_region *g, struct coir_fiber *member);
/* It has ended; `trap`: with that. */
void coir_group_member_ended(struct coir_region *g, struct coir_fiber *member, uint64_t trap);

#endif
