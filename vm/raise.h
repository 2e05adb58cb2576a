/* SPDX-License-Identifier: MIT */
/*
 * Raising, inside the machine. What natives use of it is in native.h.
 */
#ifndef COIR_VM_RAISE_H
#define COIR_VM_RAISE_H

#include <stdio.h>

#include "vm/machine.h"

/* Makes what must be there when nothing can be made any more. False: no memory. */
bool coir_raise_init(struct coir_vm *vm);
void coir_raise_end(struct coir_vm *vm);
/* The same ones for another shard. */
void coir_raise_share(struct coir_vm *vm, const struct coir_vm *first);

/* Raises what the scopes of a fiber say: Timeout where a within of its own has expired, else Cancelled; Deadlock in
 * main when nothing can wake any more. */
enum coir_native_result coir_trap_cancelled(struct coir_fiber *f) __attribute__((cold));

/* Raises `trap`, a Trap that is held once more. */
enum coir_native_result coir_trap_again(struct coir_fiber *f, uint64_t trap);

/* A trap whose message is a text's. */
enum coir_native_result coir_trap_text(struct coir_fiber *f, enum coir_trap_code code, const char *bytes, size_t len);

/* "trap Bounds in serve at echo.coir:14: index 9 of 3", and who called. */
void coir_print_trap(FILE *to, uint64_t trap);

/* The same on stderr, behind what the program has printed as far as stdout takes that now. */
void coir_report_trap(struct coir_vm *vm, uint64_t trap);

/* ActorDown, of an actor of that name, which has died of `trap`, or was stopped (0). */
enum coir_native_result coir_trap_down(struct coir_fiber *f, const char *name, uint64_t trap);

/* Whether nobody need be told of it: Cancelled, or ActorDown of an actor that was. */
bool coir_trap_is_quiet(uint64_t trap);

/* Whether a Trap is of that code. */
bool coir_trap_is(uint64_t trap, enum coir_trap_code code);

#endif
