/* SPDX-License-Identifier: MIT */
/*
 * What channels and coir_select know of each other: how an arm gets into a line and out of it, and who is told that
 * it was served. All on the select's shard.
 */
#ifndef COIR_RUNTIME_SYNC_SELECT_H
#define COIR_RUNTIME_SYNC_SELECT_H

#include "runtime/sync/wait.h"
#include "runtime/task/arm.h"

/* An arm that was claimed, on its shard, has what it waited for: its select ends, and its others leave. */
void coir_arm_served(struct coir_task *arm);

/* Lines up an arm to send or to receive that has just been tried. It waits. */
void coir_channel_arm_waits(struct coir_arm *a);
/* Takes it out, if it is still there. */
void coir_channel_arm_leaves(struct coir_arm *a);

/* Bytes of an item. */
size_t coir_xchan_item(const struct coir_xchan *x);
/* The same between shards. False: it does not wait, and either was served at once or its select is another arm's. */
bool coir_xchan_arm_waits(struct coir_arm *a);
/* Not for the one that was served: to that a letter is under way. */
void coir_xchan_arm_leaves(struct coir_arm *a);

#endif
