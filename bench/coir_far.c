/* SPDX-License-Identifier: MIT */
/*
 * The body of coir_far.h's child. It must stay in a file of its own, compiled without link-time optimisation:
 * what the row measures is that the compiler cannot see it from its awaiter.
 */
#include "coir_far.h"

coir_body(far_child, f) {
    coir_return(f, f->x + 1);
} coir_end
