/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder: the last events of each shard, in a ring that the shard alone writes and anybody reads, at any
 * time, in a signal handler too. A ring is as old as the first run that wanted one for a shard of that number, and
 * stays until the process ends: after a run it holds its last events.
 *
 * Printing them is public: coir_recorder_write, in coir/see.h.
 */
#ifndef COIR_RUNTIME_SEE_RECORDER_H
#define COIR_RUNTIME_SEE_RECORDER_H

#include <coir/see.h>

#include "runtime/see/record.h"

struct coir_recorder;

/* A run begins, whose events are to be told from those of the last one. `began`: what times are counted from; the
 * clock that it was read from is virtual, or it is not. */
void coir_recorder_epoch(int64_t began, bool virtual_time);
/* The ring of shard `id`, for at least `n` events; what it held is no longer printed. NULL: no memory. */
struct coir_recorder *coir_recorder_get(unsigned id, size_t n);
/* The shard's thread. */
void coir_recorder_put(struct coir_recorder *r, const struct coir_record *record);

#endif
