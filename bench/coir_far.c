/* SPDX-License-Identifier: MIT */
/*
 * See coir_far.h.
 */
#include "coir_far.h"

coir_body(far_child, f) {
    coir_return(f, f->x + 1);
} coir_end
