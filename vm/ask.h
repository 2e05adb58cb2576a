/* SPDX-License-Identifier: MIT */
/*
 * Natives that have asked for a function of the program to be called: what is kept of each until it has returned, and
 * how the fiber comes back to it. See ask.c; native.h is how a native asks.
 */
#ifndef COIR_VM_ASK_H
#define COIR_VM_ASK_H

#include "vm/machine.h"

/* A native that waits for what it asked for: what struct coir_fiber has of the one under way. */
struct coir_asking {
    struct coir_asking *outer;
    coir_native_fn *call;
    const struct coir_import *import;
    void *scratch;
    const uint64_t *pc, *next;
    size_t r, window;                   /* slots from f->low on, since the stack moves */
    uint32_t step;
};

/* The function that the innermost of them asked for has returned: that one is under way again, and called next. */
void coir_asked_returned(struct coir_fiber *f);

/* It has trapped, and its frames are left: the native gives back what it has, and is left at its own instruction. */
void coir_asked_trapped(struct coir_fiber *f);

#endif
