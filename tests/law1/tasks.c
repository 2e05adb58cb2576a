/* SPDX-License-Identifier: MIT */
/*
 * The body, in C.
 */
#include "tasks.h"

coir_body(adder, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = 1000);
    *f->sum = f->a + f->b;
} coir_end
