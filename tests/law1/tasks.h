/* SPDX-License-Identifier: MIT */
/*
 * A task with a body in C, for the programs in C++.
 */
#ifndef TASKS_H
#define TASKS_H

#include <coir/coir.h>

struct adder {
    coir_frame_void;
    coir_args(int a; int b; int *sum;);
    struct coir_sleep sleep;
};
coir_declare(adder);

#endif
