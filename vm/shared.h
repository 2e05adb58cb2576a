/* SPDX-License-Identifier: MIT */
/*
 * What the heap needs of the cells it does not know: how those end that belong to fibers. Defined by those.
 */
#ifndef COIR_VM_SHARED_H
#define COIR_VM_SHARED_H

#include "vm/cell.h"

/* The last reference to a channel, a task or an actor is gone. */
void coir_shared_end(struct coir_heap *h, struct coir_counted *c, const struct coir_type *t);

/* Of an actor one is left: its fiber's. */
void coir_actor_alone(struct coir_counted *c);

/* A group, a within or a shield is left: its register is dropped. */
void coir_region_close(struct coir_heap *h, struct coir_counted *c);

#endif
