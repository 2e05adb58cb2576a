/* SPDX-License-Identifier: MIT */
/*
 * What coir_dump asks of runtime/sync: what its leaves wait for.
 */
#ifndef COIR_RUNTIME_SYNC_DUMP_H
#define COIR_RUNTIME_SYNC_DUMP_H

#include <coir/task.h>
#include <stdbool.h>
#include <stdio.h>

/* Says what a leaf of runtime/sync waits for ("waits to receive from a channel"). False: it is none of
 * those. */
bool coir_dump_wait(FILE *to, const struct coir_task *t);

/* The same for some of the operations, by the files they stand in. */
bool coir_dump_line(FILE *to, const struct coir_task *t);
bool coir_dump_offload(FILE *to, const struct coir_task *t);

#endif
