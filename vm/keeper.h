/* SPDX-License-Identifier: MIT */
/*
 * Who looks after the fibers of a run: the task that coir_run begins. See keeper.c.
 */
#ifndef COIR_VM_KEEPER_H
#define COIR_VM_KEEPER_H

#include "vm/machine.h"

/* Shard 0's: begins main with `args`, a list of texts, which it takes, and the keepers of the other shards; ends when
 * no fiber is left. With `signals` SIGINT and SIGTERM stop the program. NULL: no memory; the list is the caller's. */
struct coir_task *coir_keeper_new(struct coir_vm *vm, uint64_t args, bool signals);

/* Another shard's. NULL: no memory. */
struct coir_task *coir_keeper_beside(struct coir_vm *vm);

/* The program takes SIGINT or SIGTERM itself, and then it does not stop it: once more, `by` 1, or once less, -1. On any
 * shard; on another than 0 one that comes at that very moment may be told to nobody, or twice. */
void coir_keeper_takes(struct coir_vm *vm, int number, int by);

#endif
