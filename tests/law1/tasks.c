/* SPDX-License-Identifier: MIT */
/*
 * The body of adder, in C, as every body is; the programs in C++ only make the task and run it.
 */
#include "tasks.h"

coir_body(adder, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = 1000);
    *f->sum = f->a + f->b;
} coir_end
