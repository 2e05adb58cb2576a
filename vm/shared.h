/* SPDX-License-Identifier: MIT */
/*
 * What the heap needs of the cells it does not know: how those end that belong to fibers. Defined by those.
 */
#ifndef COIR_VM_SHARED_H
#define COIR_VM_SHARED_H

#include "vm/cell.h"

/* The last reference to a channel, a task or an actor is gone. */
void coir_shared_end(struct coir_heap *h, struct coir_counted *c, const struct coir_type *t);

/* A holder less of an actor. True: that was the last. */
bool coir_actor_let_go(struct coir_heap *h, struct coir_counted *c);
/* What was let go far from its home, and is an actor's cell that still lives: a holder less of that, here. Its address;
 * NULL: somebody holds it still. */
struct coir_counted *coir_actor_note_comes(struct coir_heap *h, struct coir_counted *note);

/* A group, a within or a shield is left: its register is dropped. */
void coir_region_close(struct coir_heap *h, struct coir_counted *c);

#endif
