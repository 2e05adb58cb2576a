/* SPDX-License-Identifier: MIT */
/*
 * Waiting for a time, and for one's next turn. The timer lies in the operation's frame; nothing is allocated.
 */
#include <coir/combine.h>
#include <coir/time.h>

#include "runtime/task/home.h"

/* Both sleeps share their shape: the argument is a number of nanoseconds, the alarm follows. */
_Static_assert(offsetof(struct coir_sleep, alarm) == offsetof(struct coir_sleep_until, alarm), "one body serves both");

static void sleep_over(struct coir_alarm *a)
{
    coir_wake(&coir_container_of(a, struct coir_sleep_until, alarm)->task);
}

static void sleep_abort(struct coir_task *t)
{
    struct coir_sleep_until *op = (struct coir_sleep_until *)t;

    coir_wheel_remove(&coir_shard_here()->wheel, &op->alarm.timer);
    t->status = -ECANCELED;
    coir_wake(t);
}

static coir_step sleep_till(struct coir_sleep_until *op, int64_t at)
{
    if (coir_is_refused(&op->task)) {
        op->task.status = -ECANCELED;
        op->task.state = COIR_LEFT_;
        return COIR_DONE_;
    }
    op->task.state = 1;
    op->task.abort = sleep_abort;
    op->alarm.fire = sleep_over;
    coir_wheel_add(&coir_shard_here()->wheel, &op->alarm.timer, at);
    return COIR_PARK_;
}

coir_step coir_sleep_until_resume(struct coir_task *t)
{
    struct coir_sleep_until *op = (struct coir_sleep_until *)t;

    if (t->state == 0 && !coir_arguments_live(t, &op->at, "coir_sleep_until") && op->at > coir_now())
        return sleep_till(op, op->at);
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

coir_step coir_sleep_resume(struct coir_task *t)
{
    struct coir_sleep *op = (struct coir_sleep *)t;
    int64_t at;

    if (t->state == 0 && !coir_arguments_live(t, &op->ns, "coir_sleep") && op->ns > 0) {
        if (__builtin_add_overflow(coir_now(), op->ns, &at))
            at = COIR_NEVER - 1;
        return sleep_till((struct coir_sleep_until *)op, at);
    }
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

/* What coir_pass_resume does not do in place. */
coir_step coir_pass_apart_(struct coir_task *t)
{
    if (t->state == 0 && !coir_is_refused(t)) {
        t->state = 1;
        coir_ready(t);
        return COIR_PARK_;
    }
    if (t->state == 0)
        t->status = -ECANCELED;
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}
