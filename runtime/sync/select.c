/* SPDX-License-Identifier: MIT */
/*
 * coir_select: one leaf that stands in several lines, by arms (runtime/task/arm.h).
 *
 * It begins by trying its arms in order, as calls that do not wait. If none is ready they line up, and the first that
 * somebody claims is the one. How the select learns of it depends on who served:
 *
 *      channel, timer      on this shard: coir_arm_served, at once
 *      xchan, cell         a letter, or its delivery in place; the arm's task is queued, ends, and resumes the select
 *      descriptor          the plane, the same way; that arm is claimed only when it gets here, or
 *                          takes the claim from a cancellation that had to wait for it
 *
 * Of a joint select, which has arms in channels of this shard only, other selects may be served on other shards
 * instead. It does nothing before it has the joint; when that is lost it ends if it begins, and is cancelled if it
 * waits.
 *
 * Invariants:
 *   1. From the claim on nobody serves another arm. Those in lines of this shard and the timer leave as soon as this
 *      shard knows; whoever meets one before that passes it over.
 *   2. The select ends when no arm `waits`: what is under way to one, a letter or the end of a request to the kernel,
 *      is waited for, whether the arm is taken or not.
 *   3. `abort` is set exactly while nobody has claimed the select, as far as this shard knows. Its joint may be lost.
 *   4. Arms keep what they were filled with; everything else in them is written anew by each select.
 */
#include <coir/select.h>
#include <stdlib.h>

#include "runtime/plane/plane.h"
#include "runtime/sync/select.h"

enum { BEGUN, WAITS, DECIDED };

#define MOST ((size_t)1 << 31)

static struct coir_arm *arm_of(struct coir_task *t)
{
    return (struct coir_arm *)(void *)t;
}

/* ---- before anything is done ---- */

static bool lies_well(struct coir_select *op, const void *p, const char *operation)
{
    return p && coir_arguments_live(&op->task, p, operation) == 0;
}

/* Of items of size 0 nothing is looked at. */
static bool item_lies_well(struct coir_select *op, const void *item, size_t size, const char *operation)
{
    return size == 0 || lies_well(op, item, operation);
}

static bool channel_lies_well(struct coir_select *op, const struct coir_channel *c, const void *item,
                              const char *operation)
{
    return lies_well(op, c, operation) && item_lies_well(op, item, c->item, operation);
}

static bool xchan_lies_well(struct coir_select *op, const struct coir_xchan *x, const void *item, const char *operation)
{
    return x && item_lies_well(op, item, coir_xchan_item(x), operation);
}

static int check_arm(struct coir_select *op, const struct coir_arm *a)
{
    bool well = true;

    switch (a->kind) {
    case COIR_ARM_SEND_:
        well = channel_lies_well(op, a->send.channel, a->send.item, "coir_arm_send");
        break;
    case COIR_ARM_RECV_:
        well = channel_lies_well(op, a->recv.channel, a->recv.item, "coir_arm_recv");
        break;
    case COIR_ARM_XSEND_:
        well = xchan_lies_well(op, a->xsend.channel, a->xsend.item, "coir_arm_xsend");
        break;
    case COIR_ARM_XRECV_:
        well = xchan_lies_well(op, a->xrecv.channel, a->xrecv.item, "coir_arm_xrecv");
        break;
    case COIR_ARM_CELL_:
        well = lies_well(op, a->cell.cell, "coir_arm_cell");
        break;
    case COIR_ARM_OFF_:
    case COIR_ARM_UNTIL_:
    case COIR_ARM_READY_:
        break;
    case COIR_ARM_JOINT_:
        return op->joint && a == op->arms ? 0 : -EINVAL;
    default:
        return -EINVAL;
    }
    if (op->joint && a->kind > COIR_ARM_RECV_)
        return -EINVAL;
    return well ? 0 : -EFAULT;
}

/* 0, or the status to end with. */
static int check(struct coir_select *op)
{
    int err;

    if (op->n == 0 || op->n > MOST)
        return -EINVAL;
    if (!lies_well(op, op->arms, "coir_select"))
        return -EFAULT;
    op->joint = op->arms[0].kind == COIR_ARM_JOINT_ ? op->arms[0].joint : NULL;
    for (op->result = 0; op->result < op->n; op->result++) {
        err = check_arm(op, &op->arms[op->result]);
        if (err)
            return err;
    }
    op->result = 0;
    return 0;
}

/* ---- trying ---- */

/* True: not -EAGAIN. */
static bool is_done(struct coir_task *arm, int status)
{
    arm->status = status;
    return status != -EAGAIN;
}

/* Of receiving, that a channel is closed is said by the result. */
static bool is_received(struct coir_task *arm, bool *result, int err)
{
    *result = err == 0;
    return is_done(arm, err == -EPIPE ? 0 : err);
}

static int poll_status(struct coir_poll *op, int res)
{
    op->result = res < 0 ? 0 : res & (op->events | POLLERR | POLLHUP);
    return res < 0 ? res : 0;
}

static bool try_poll(struct coir_poll *op)
{
    const int res = op->fd < 0 ? -EBADF : coir_io_attempt(&coir_poll_kind, &op->task);

    return is_done(&op->task, poll_status(op, res));
}

/* True: it was ready, and is done, or has failed. */
static bool try_arm(struct coir_arm *a)
{
    struct coir_task *t = &a->task;

    switch (a->kind) {
    case COIR_ARM_SEND_:
        return is_done(t, coir_channel_try_send(a->send.channel, a->send.item));
    case COIR_ARM_RECV_:
        return is_received(t, &a->recv.result, coir_channel_try_recv(a->recv.channel, a->recv.item));
    case COIR_ARM_XSEND_:
        return is_done(t, coir_xchan_try_send(a->xsend.channel, a->xsend.item));
    case COIR_ARM_XRECV_:
        return is_received(t, &a->xrecv.result, coir_xchan_try_recv(a->xrecv.channel, a->xrecv.item));
    case COIR_ARM_CELL_:
        return coir_cell_look(a->cell.cell, t, &a->cell.result);
    case COIR_ARM_UNTIL_:
        return is_done(t, a->until.at == COIR_NEVER || a->until.at > coir_now() ? -EAGAIN : 0);
    case COIR_ARM_READY_:
        return try_poll(&a->poll);
    default:
        return false;
    }
}

/* The same of a joint select. 0, -EAGAIN, or -ECANCELED: the joint is lost. */
static __attribute__((noinline)) int join(struct coir_select *op)
{
    int err = coir_joint_is_lost(op) ? -ECANCELED : -EAGAIN;

    for (size_t i = 0; i < op->n && err == -EAGAIN; i++) {
        if (op->arms[i].kind == COIR_ARM_SEND_ || op->arms[i].kind == COIR_ARM_RECV_)
            err = coir_channel_arm_joins(&op->arms[i], op);
        if (!err)
            op->result = i;
    }
    return err;
}

/* 0: one is done. Else the status to end with, or -EAGAIN. */
static int try_all(struct coir_select *op)
{
    if (COIR_UNLIKELY(op->joint != NULL))
        return join(op);
    for (size_t i = 0; i < op->n; i++) {
        if (try_arm(&op->arms[i])) {
            op->result = i;
            return 0;
        }
    }
    return -EAGAIN;
}

/* ---- lining up ---- */

static void time_has_come(struct coir_alarm *alarm)
{
    struct coir_task *t = &coir_container_of(alarm, struct coir_sleep_until, alarm)->task;

    if (coir_arm_claim(t))
        coir_arm_served(t);
}

static bool until_waits(struct coir_sleep_until *op)
{
    op->alarm.timer.next = NULL;
    if (op->at == COIR_NEVER)
        return true;
    op->alarm.fire = time_has_come;
    coir_wheel_add(&coir_shard_here()->wheel, &op->alarm.timer, op->at);
    return true;
}

/* False: meanwhile it is not empty any more. */
static bool cell_waits(struct coir_cell_wait *op)
{
    do {
        if (coir_cell_await(op->cell, &op->task))
            return true;
    } while (!coir_cell_look(op->cell, &op->task, &op->result));
    coir_arm_claim(&op->task);
    return false;
}

static bool poll_waits(struct coir_poll *op)
{
    if (!coir_io_begin(&op->task, &op->io, &coir_poll_kind, op->fd))
        return true;
    op->task.status = poll_status(op, op->io.res);
    coir_arm_claim(&op->task);
    return false;
}

static bool arm_waits(struct coir_arm *a)
{
    switch (a->kind) {
    case COIR_ARM_SEND_:
    case COIR_ARM_RECV_:
        coir_channel_arm_waits(a);
        return true;
    case COIR_ARM_XSEND_:
    case COIR_ARM_XRECV_:
        return coir_xchan_arm_waits(a);
    case COIR_ARM_CELL_:
        return cell_waits(&a->cell);
    case COIR_ARM_UNTIL_:
        return until_waits(&a->until);
    case COIR_ARM_READY_:
        return poll_waits(&a->poll);
    default:
        return false;
    }
}

static bool is_shared(const struct coir_arm *a)
{
    return a->kind == COIR_ARM_XSEND_ || a->kind == COIR_ARM_XRECV_ || a->kind == COIR_ARM_CELL_;
}

/* Ends early when one is claimed meanwhile. */
static void line_up(struct coir_select *op)
{
    op->claim = COIR_ARMS_OPEN;
    op->shared = false;
    op->task.flags |= COIR_TASK_COUNTS_;     /* served arms go on themselves, and resume this */
    for (size_t i = 0; i < op->n; i++) {
        coir_child_(&op->arms[i].task, coir_arm_resume, &op->task);
        op->arms[i].waits = false;
        op->shared |= is_shared(&op->arms[i]);
    }
    for (size_t i = 0; i < op->n && coir_select_claim(op) <= COIR_ARMS_TRIED; i++)
        op->arms[i].waits = arm_waits(&op->arms[i]);
}

/* ---- coming to an end ---- */

/* An arm that waits and is not taken leaves. False: something is under way to it. */
static bool leaves(struct coir_arm *a)
{
    switch (a->kind) {
    case COIR_ARM_SEND_:
    case COIR_ARM_RECV_:
        coir_channel_arm_leaves(a);
        return true;
    case COIR_ARM_XSEND_:
    case COIR_ARM_XRECV_:
        coir_xchan_arm_leaves(a);
        return true;
    case COIR_ARM_CELL_:
        return coir_cell_leave(a->cell.cell);
    case COIR_ARM_UNTIL_:
        if (coir_timer_armed(&a->until.alarm.timer))
            coir_wheel_remove(&coir_shard_here()->wheel, &a->until.alarm.timer);
        return true;
    case COIR_ARM_READY_:
        if (a->task.abort)
            a->task.abort(&a->task);
        return false;
    default:
        return true;
    }
}

/* Once it is claimed. False: something is under way to one, which will resume the select. */
static bool all_leave(struct coir_select *op)
{
    const uintptr_t taken = coir_select_claim(op);
    bool all = true;

    for (size_t i = 0; i < op->n; i++) {
        struct coir_arm *a = &op->arms[i];
        if (a->waits && (uintptr_t)a != taken)
            a->waits = !leaves(a);
        all &= !a->waits;
    }
    return all;
}

static void take_result(struct coir_select *op)
{
    const uintptr_t taken = coir_select_claim(op);

    if (taken == COIR_ARMS_CANCELLED)
        op->task.status = -ECANCELED;
    else
        op->result = (size_t)((const struct coir_arm *)taken - op->arms);
}

/* What came in by the arm's own way. */
static void arm_ends(struct coir_arm *a)
{
    a->waits = false;
    if (a->kind == COIR_ARM_CELL_)
        coir_cell_look(a->cell.cell, &a->task, &a->cell.result);
    else if (a->kind == COIR_ARM_READY_)
        a->task.status = poll_status(&a->poll, a->poll.io.res);
}

/* It is claimed, and whoever is to know of it here does. */
static coir_step conclude(struct coir_select *op)
{
    op->task.state = WAITS;
    op->task.abort = NULL;
    if (!all_leave(op))
        return COIR_PARK_;
    take_result(op);
    return coir_leaf_ends(&op->task, op->task.status);
}

/* The same from outside the body. */
static void conclude_from_outside(struct coir_select *op)
{
    op->task.abort = NULL;
    if (!all_leave(op))
        return;
    take_result(op);
    op->task.state = DECIDED;
    coir_leaf_goes_on(&op->task);
}

void coir_arm_served(struct coir_task *arm)
{
    arm_of(arm)->waits = false;
    conclude_from_outside(coir_select_of(arm));
}

static void select_abort(struct coir_task *t)
{
    struct coir_select *op = (struct coir_select *)t;

    if (coir_select_take(op, COIR_ARMS_CANCELLED))
        conclude_from_outside(op);
}

/* An arm has come in by itself. Letters bring only what was claimed before; a descriptor may claim now. It wins over a
 * cancellation that was waiting for it, and nobody else looks at the claim then. */
static void claim_or_not(struct coir_select *op, struct coir_arm *a)
{
    if (!coir_arm_claim(&a->task) && coir_select_claim(op) == COIR_ARMS_CANCELLED && a->kind == COIR_ARM_READY_
        && a->task.status != -ECANCELED) {
        coir_arm_decide(&a->task);
    }
}

static coir_step begin(struct coir_select *op)
{
    struct coir_task *t = &op->task;
    int err = check(op);

    if (!err)
        err = try_all(op);
    if (err != -EAGAIN || op->now)
        return coir_leaf_ends(t, err);
    if (coir_is_refused(t))
        return coir_leaf_ends(t, -ECANCELED);
    line_up(op);
    if (coir_select_claim(op) > COIR_ARMS_TRIED)
        return conclude(op);
    t->state = WAITS;
    t->abort = select_abort;
    t->waits_for = op;
    return COIR_PARK_;
}

/* At first; once for each arm that comes to its end by itself; or to end, for who wants to know that it was this. */
coir_step coir_select_resume(struct coir_task *t)
{
    struct coir_select *op = (struct coir_select *)t;
    struct coir_arm *a;

    if (t->state == BEGUN)
        return begin(op);
    if (t->state == DECIDED)
        return coir_leaf_ends(t, t->status);
    a = arm_of(coir_shard_here()->ended);
    arm_ends(a);
    claim_or_not(op, a);
    return conclude(op);
}
