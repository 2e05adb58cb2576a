/* SPDX-License-Identifier: MIT */
/*
 * C++20 makes a task whose body is in C, and runs it; main's variable is no dead stack.
 */
#include "tasks.h"

#include <coir/coir.h>

int main()
{
    coir_options options = {};
    int sum = 0;

    coir_free(nullptr);
    if (coir_main(coir_new(adder, .a = 1, .b = 2, .sum = &sum)) != 0 || sum != 3)
        return 1;
    options.shards = 2;
    return coir_run(&options, coir_new(adder, .b = 2, .sum = &sum)) != 0 || sum != 2;
}
