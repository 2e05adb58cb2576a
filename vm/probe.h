/* SPDX-License-Identifier: MIT */
/*
 * Rings: fibers that wait for each other in a circle, by calls, full mailboxes, joins and groups. See probe.c.
 */
#ifndef COIR_VM_PROBE_H
#define COIR_VM_PROBE_H

#include "vm/machine.h"

/* The fiber, in coir_op_msg, waits for an actor from now on, as that caller; it does not any more. */
void coir_probe_waits(struct coir_fiber *f, struct coir_caller *c);
void coir_probe_waited(struct coir_caller *c);

/* Ends each ring that is there, on this shard alone: whoever called last in it is woken, and its call traps Deadlock.
 * True: there was one. */
bool coir_probe_now(struct coir_vm *vm);

/* The same for rings over several shards that are closed by a call of this one; then calls `done`. False: no memory. */
bool coir_probe_all(struct coir_vm *vm, void (*done)(struct coir_vm *vm));

/* The machine ends, and the shard may go on. */
void coir_probe_end(struct coir_vm *vm);

#endif
