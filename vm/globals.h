/* SPDX-License-Identifier: MIT */
/*
 * The constants of modules, which every shard may look at and hold once the init function has set them. See globals.c.
 */
#ifndef COIR_VM_GLOBALS_H
#define COIR_VM_GLOBALS_H

#include "vm/machine.h"

/* Slot i of the globals has just been set, on shard 0: whatever shards there are may look at it from now on. False: no
 * memory; it is set all the same, and the program must not begin. */
bool coir_global_keep(struct coir_vm *vm, uint32_t i);

/* Drops what the globals hold, when no shard runs. */
void coir_globals_forget(struct coir_vm *vm);

#endif
