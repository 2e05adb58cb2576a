/* SPDX-License-Identifier: MIT */
/*
 * C++ wants arguments in their order: which is why that is part of a task's interface.
 *
 * caught: (b) gcc compile "designator order"
 * caught: (b) clang compile "reorder-init-list"
 */
#include "tasks.h"

int main()
{
    int sum = 0;

    return coir_main(coir_new(adder, .sum = &sum, .a = 1));
}
