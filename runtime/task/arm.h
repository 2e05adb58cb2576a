/* SPDX-License-Identifier: MIT */
/*
 * An arm: one of several waits that a task has at once, of which exactly one may be served (coir_select). It stands
 * where any waiter stands, and who serves waiters has two things to mind: that this one is an arm, and that its
 * select has to be claimed for it before anything is handed over. Who fails to claim takes the arm out of its line
 * and serves the next.
 *
 * The select's claim decides:
 *
 *      OPEN --claim---------------------------> the arm that is taken, for good; or CANCELLED
 *       | ^--let go--.                            ^
 *       `----try----> TRIED --decide--------------'
 *
 * Who cannot know before the attempt whether there will be something to hand over tries; others who want to claim
 * wait meanwhile, for a few instructions of another thread's. Who tries takes no lock and waits for nobody until it
 * is over, so nobody waits in a circle.
 *
 * Joint selects are several that one task makes, of which one is to be served: on each shard one, with arms in
 * channels of that shard, because a channel is one shard's and the task's channels are several shards'. Each has a
 * claim of its own, which only its shard looks at, and all share a second one, the joint's. Served is who has both.
 * So who meets an arm of one in a line claims the joint, and one that begins does so before it takes anything; a
 * plain select that begins has nothing to claim, since nobody has seen it yet.
 *
 * A joint select that begins and meets an arm in a line needs two words, its joint's and its partner's: both or none.
 * It tries the one at the lower address, claims the other for good, and decides the first or lets go of it. Who has
 * tried a word waits only for words at higher addresses: so nobody waits in a circle here either.
 *
 * One whose joint is lost is not told. It waits on, passed over by everybody, until its maker cancels it.
 *
 * An arm's task is never run by the one who awaits it: its awaiter is the select, its body has nothing to do. Where a
 * leaf that was served would go on by itself, as a cell's waiter and a descriptor's do, the arm's body ends at once
 * and the select is resumed by its end.
 */
#ifndef COIR_RUNTIME_TASK_ARM_H
#define COIR_RUNTIME_TASK_ARM_H

#include <coir/select.h>
#include <sched.h>

#include "runtime/base/clock.h"
#include "runtime/task/home.h"

enum { COIR_ARMS_OPEN, COIR_ARMS_TRIED, COIR_ARMS_CANCELLED };      /* below any arm's address */

/* In memory of whoever made the selects of it, who cancels them when one has won, or waits no longer, and waits until
 * all have ended. 0 at first; afterwards OPEN still, if none has won. */
struct coir_joint {
    uintptr_t claim;                     /* atomic: OPEN, TRIED, or the select that has won */
};

/* The body of all arms, by which they are known. */
coir_step coir_arm_resume(struct coir_task *t);

/* Of a waiter in a line, while it is there. Any thread that may look at the line. */
static inline bool coir_is_arm(const struct coir_task *waiter)
{
    return COIR_UNLIKELY(waiter->body == coir_arm_resume);
}

static inline struct coir_select *coir_select_of(const struct coir_task *arm)
{
    return (struct coir_select *)arm->awaiter;
}

static inline uintptr_t coir_select_claim(const struct coir_select *op)
{
    return __atomic_load_n(&op->claim, __ATOMIC_ACQUIRE);
}

/* Claims the select for `as`. True: it is the caller's to serve; false: it is somebody else's, and stays it. Any
 * thread, as the next three. */
bool coir_select_take(struct coir_select *op, uintptr_t as);

static inline bool coir_arm_claim(struct coir_task *arm)
{
    return coir_select_take(coir_select_of(arm), (uintptr_t)arm);
}

static inline bool coir_arm_try(struct coir_task *arm)
{
    return coir_select_take(coir_select_of(arm), COIR_ARMS_TRIED);
}

/* The end of a successful try: there was nothing to hand over; there was, and it has been. */
static inline void coir_arm_let_go(struct coir_task *arm)
{
    __atomic_store_n(&coir_select_of(arm)->claim, COIR_ARMS_OPEN, __ATOMIC_RELEASE);
}

static inline void coir_arm_decide(struct coir_task *arm)
{
    __atomic_store_n(&coir_select_of(arm)->claim, (uintptr_t)arm, __ATOMIC_RELEASE);
}

/* Its select, or its joint, is another's, or cancelled, so it will never be served. */
bool coir_arm_is_over(const struct coir_task *arm);

/* ---- joint selects: on the select's shard ---- */

/* For a select that begins. False: another has won. */
bool coir_joint_take(struct coir_select *op);
/* The same, together with the select of an arm in a line. 0; -ECANCELED: another has won; -ESRCH: that arm is over;
 * -EBUSY: it is of the same joint. Then nobody has been claimed. */
int coir_joint_take_both(struct coir_select *op, struct coir_task *arm);
/* Another has won. */
static inline bool coir_joint_is_lost(const struct coir_select *op)
{
    return __atomic_load_n(&op->joint->claim, __ATOMIC_ACQUIRE) > COIR_ARMS_TRIED;
}

/* Between two looks at what another thread is about to change. */
static inline void coir_pause_a_little(int times)
{
    if (times < 100)
        coir_cpu_relax();
    else
        sched_yield();
}

/* ---- cells (cell.c) ---- */

/* False: it is empty. Otherwise there are a status to end with and a value: what it was completed with; -ECANCELED:
 * revoked; -EINVAL: another awaits it. */
bool coir_cell_look(const struct coir_cell *c, struct coir_task *t, int64_t *value);
/* Lets `waiter`, whose body and abort are set, wait for an empty cell. False: it is not empty. */
bool coir_cell_await(struct coir_cell *c, struct coir_task *waiter);
/* The waiter takes it back. False: the letter is under way to it. */
bool coir_cell_leave(struct coir_cell *c);

#endif
