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
/* Tries an arm of a joint select that begins. 0: it is done, with a status of its own, and the joint is the select's;
 * -EAGAIN: it would have to wait; -ECANCELED: the joint is another's. */
int coir_channel_arm_joins(struct coir_arm *a, struct coir_select *op);

/*
 * What makes a select a joint one (arm.h): its first arm says of which joint. It is never taken, and keeps place 0.
 * The others are to send to or receive from channels of the select's shard, or off; of other kinds -EINVAL. It ends
 * as a plain one does, and says -ECANCELED also when another has won before it began.
 *
 *     coir_arm_joint(&f->arms[0], f->joint);
 *     coir_arm_recv(&f->arms[1], f->channel, &f->item);
 *     coir_await(f, &f->select, coir_select, .arms = f->arms, .n = 2);
 */
static inline void coir_arm_joint(struct coir_arm *a, struct coir_joint *joint)
{
    a->kind = COIR_ARM_JOINT_;
    a->joint = joint;
}

/* Bytes of an item. */
size_t coir_xchan_item(const struct coir_xchan *x);
/* The same between shards. False: it does not wait, and either was served at once or its select is another arm's. */
bool coir_xchan_arm_waits(struct coir_arm *a);
/* Not for the one that was served: to that a letter is under way. */
void coir_xchan_arm_leaves(struct coir_arm *a);

#endif
