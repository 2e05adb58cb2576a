/* SPDX-License-Identifier: MIT */
/*
 * Unwinding: how a fiber that has trapped leaves its frames. See unwind.c.
 */
#ifndef COIR_VM_UNWIND_H
#define COIR_VM_UNWIND_H

#include "vm/machine.h"

enum coir_unwound {
    COIR_UNWOUND_CAUGHT,                /* pc is a handler's: the fiber goes on */
    COIR_UNWOUND_MORE,                  /* a slice of it; call again */
    COIR_UNWOUND_WHOLE,                 /* no frame is left; f->trap is what it ended with */
};

/* Unwinds a fiber with f->trap set, from f->pc. `inside` of the fiber is false when it begins. */
enum coir_unwound coir_unwind(struct coir_fiber *f);

#endif
