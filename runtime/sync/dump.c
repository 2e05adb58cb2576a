/* SPDX-License-Identifier: MIT */
/*
 * What the leaves of this folder wait for, in words, for coir_dump. It reads frames and changes nothing.
 */
#include "runtime/sync/dump.h"

bool coir_dump_wait(FILE *to, const struct coir_task *t)
{
    return coir_dump_offload(to, t);
}
