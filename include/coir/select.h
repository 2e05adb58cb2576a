/* SPDX-License-Identifier: MIT */
/*
 * coir/select.h - waiting for the first of several things, and doing exactly that one.
 *
 *     coir_arm_recv(&f->arms[0], f->in, &f->job);
 *     coir_arm_send(&f->arms[1], f->out, &f->answer);
 *     coir_arm_until(&f->arms[2], coir_now() + COIR_S);
 *     for (;;) {
 *         coir_get(f, f->which, &f->select, coir_select, .arms = f->arms, .n = 3);
 *         if (f->which == 0 && !coir_arm_received(&f->arms[0]))
 *             break;                      (closed, and nothing is left)
 *         ...
 *     }
 *
 * Each arm is one thing that could be waited for alone: to receive from a channel or to send to one, a cell,
 * a time, a descriptor that becomes ready. If several are ready when the select begins, the first of them in
 * the array is done; otherwise the first that becomes ready. Who waits that way stands in each line as any
 * other waiter does, in its turn. Whoever serves one arm decides the select: from then on its other arms
 * are passed over, in favour of whoever waits behind them.
 *
 * The arms that were not taken are as they were: no item of theirs has been taken or put in, a cell can be
 * awaited again, nothing is read from a descriptor. Nothing of the select is left anywhere when it has
 * returned. Cancelled before one was ready it says -ECANCELED, and has done nothing.
 */
#ifndef COIR_SELECT_H
#define COIR_SELECT_H

#include <coir/cell.h>
#include <coir/channel.h>
#include <coir/io.h>
#include <coir/time.h>

#ifdef __cplusplus
extern "C" {
#endif
# 37 "coir/select.h"

/*
 * An arm, in a frame or on the heap, filled by one of the calls below. It stays as it was filled: a loop
 * selects with the same arms again and again, and fills anew only what changes. One select uses it at a time.
 * The members are private. The calls below only write it, or read it: they never suspend, and any thread may make them
 * for an arm of its own.
 */
struct coir_arm {
    union {                               /* what would wait for it alone */
        struct coir_task task;
        struct coir_channel_send send;
        struct coir_channel_recv recv;
        struct coir_xchan_send xsend;
        struct coir_xchan_recv xrecv;
        struct coir_cell_wait cell;
        struct coir_sleep_until until;
        struct coir_poll poll;
    };
    uint8_t kind;                         /* COIR_ARM_... */
    uint8_t waits;                        /* it stands in a line, or something of it is under way */
    struct coir_joint *joint;             /* of COIR_ARM_JOINT_ */
    void *spare_[1];
};

/* Private. */
enum {
    COIR_ARM_OFF_ = 1, COIR_ARM_SEND_, COIR_ARM_RECV_, COIR_ARM_XSEND_, COIR_ARM_XRECV_, COIR_ARM_CELL_,
    COIR_ARM_UNTIL_, COIR_ARM_READY_, COIR_ARM_JOINT_, COIR_ARM_KINDS_
};

/* Sends a copy of the item at `item`, as coir_channel_send. Ready when the channel has a receiver or room; or is
 * closed: then the arm's status is -EPIPE. */
static inline void coir_arm_send(struct coir_arm *a, struct coir_channel *channel, const void *item)
{
    a->kind = COIR_ARM_SEND_;
    a->send.channel = channel;
    a->send.item = item;
}

/* Receives into `item`, as coir_channel_recv. Ready when there is an item; or when the channel is closed and nothing
 * is left: then coir_arm_received is false. */
static inline void coir_arm_recv(struct coir_arm *a, struct coir_channel *channel, void *item)
{
    a->kind = COIR_ARM_RECV_;
    a->recv.channel = channel;
    a->recv.item = item;
}

/* The same with a channel between shards. Until the select returns other threads read or write `item`. */
static inline void coir_arm_xsend(struct coir_arm *a, struct coir_xchan *channel, const void *item)
{
    a->kind = COIR_ARM_XSEND_;
    a->xsend.channel = channel;
    a->xsend.item = item;
}
static inline void coir_arm_xrecv(struct coir_arm *a, struct coir_xchan *channel, void *item)
{
    a->kind = COIR_ARM_XRECV_;
    a->xrecv.channel = channel;
    a->xrecv.item = item;
}

/* Waits for a cell, counted or not. Ready when it is complete: the arm's status is the one it was completed
 * with, and coir_arm_value its value; -ECANCELED when it was revoked, -EINVAL when somebody else awaits it, another arm
 * too. A select that does not take it leaves it to be awaited again. It can be cancelled, whichever sort the cell
 * is: who made the cell still has to see to its end. */
static inline void coir_arm_cell(struct coir_arm *a, struct coir_cell *cell)
{
    a->kind = COIR_ARM_CELL_;
    a->cell.cell = cell;
}

/* Ready when coir_now() has reached `at`; COIR_NEVER: never. */
static inline void coir_arm_until(struct coir_arm *a, int64_t at)
{
    a->kind = COIR_ARM_UNTIL_;
    a->until.at = at;
}

/* Ready when the descriptor is, for `events`: POLLIN, POLLOUT, POLLPRI. coir_arm_events says which there are, as the
 * result of coir_poll; the arm's status is its status, -ECANCELED after a coir_close. One poll(2) when the select
 * begins, and an operation of the plane if it has to wait, which is cancelled and over when the select
 * returns. */
static inline void coir_arm_ready(struct coir_arm *a, int fd, int events)
{
    a->kind = COIR_ARM_READY_;
    a->poll.fd = fd;
    a->poll.events = events;
}

/* Never ready: keeps a place, so that the others keep their index. */
static inline void coir_arm_off(struct coir_arm *a)
{
    a->kind = COIR_ARM_OFF_;
}

/* Of the arm that was taken, until the next select with it: its status, 0 or a negative errno; whether an item was
 * received; the value of a cell; the events of a descriptor. */
static inline int coir_arm_status(const struct coir_arm *a)
{
    return a->task.status;
}
static inline bool coir_arm_received(const struct coir_arm *a)
{
    return a->kind == COIR_ARM_XRECV_ ? a->xrecv.result : a->kind == COIR_ARM_RECV_ && a->recv.result;
}
static inline int64_t coir_arm_value(const struct coir_arm *a)
{
    return a->cell.result;
}
static inline int coir_arm_events(const struct coir_arm *a)
{
    return a->poll.result;
}

/*
 * Waits for the first of `n` arms. `now`: does not wait. The result is the index of the arm that was taken, which has
 * a status of its own.
 *   0            that arm is done
 *   -EAGAIN      `now`, and none is ready
 *   -ECANCELED   cancelled before one was ready: nothing has been done
 *   -EINVAL      `n` is 0 or above 2^31, or an arm was not filled; nothing has been done
 *   -EFAULT      `arms`, or a channel, cell or item of one, is NULL or on the C stack; nothing has been done. For this
 *                and the one above `result` is the index of the arm, if it is one's fault
 */
struct coir_select {
    coir_frame(size_t);
    coir_args(struct coir_arm *arms; size_t n; bool now;);
    uintptr_t claim;                      /* who has it: see runtime/task/arm.h */
    bool shared;                          /* other threads may serve an arm */
    struct coir_joint *joint;             /* what it is a part of; NULL: of nothing */
    void *spare_[1];
};
coir_export(coir_select);

#ifdef __cplusplus
}
#endif
#endif
