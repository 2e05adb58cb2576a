/* SPDX-License-Identifier: MIT */
/*
 * The cold half of COIR_ASSERT(). It assumes that the process is already wrong: it allocates nothing, takes
 * no lock of coir's, and must never return.
 */
#include "runtime/base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void coir_assert_failed(const char *file, int line, const char *expression)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
    abort();
}
