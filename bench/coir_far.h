/* SPDX-License-Identifier: MIT */
/*
 * A child in another file, which the compiler cannot inline into its awaiter. Result: x + 1.
 */
#ifndef COIR_BENCH_FAR_H
#define COIR_BENCH_FAR_H

#include <coir/task.h>

struct far_child {
    coir_frame(long);
    coir_args(long x;);
};
coir_declare(far_child);

#endif
