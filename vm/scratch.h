/* SPDX-License-Identifier: MIT */
/*
 * The scratch of the native that is under way: native.h is how it is asked for, this how it ends.
 */
#ifndef COIR_VM_SCRATCH_H
#define COIR_VM_SCRATCH_H

struct coir_fiber;

/* It is done, or has trapped: frees what it asked for. */
void coir_scratch_end(struct coir_fiber *f);
/* It is not called again: what it asked for is given back first. */
void coir_scratch_cut(struct coir_fiber *f);

#endif
