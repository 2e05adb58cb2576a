/* SPDX-License-Identifier: MIT */
/*
 * A loaded program as text: its types, then its functions, an instruction a line. What is said beside the code stands
 * behind a #; the rest is what the tests' assembler reads.
 */
#ifndef COIR_VM_DIS_H
#define COIR_VM_DIS_H

#include <stdio.h>

#include "vm/load.h"

enum {
    COIR_DIS_STATES = 1,        /* what each register holds, wherever code is come to by a branch */
    COIR_DIS_MAPS = 2,          /* the drop maps */
};

/* The whole program. 0; -ENOMEM; -EIO if `to` has an error. */
int coir_dis(const struct coir_program *p, unsigned what, FILE *to);

/* One function. */
int coir_dis_function(const struct coir_program *p, const struct coir_function *f, unsigned what, FILE *to);

#endif
