/* SPDX-License-Identifier: MIT */
/*
 * Conditions of one shard. A wait has two halves: in the condition's line, where it may be aborted, and in the
 * mutex's, where it may not. Who is told, or cancelled, goes from the one to the other at once, with the status that
 * it will end with.
 *
 * Invariants, between any two calls:
 *   1. Who is in the condition's line has not been told. So a signal is given to somebody who will say 0, and a
 *      cancellation to somebody who has had none.
 *   2. Behind its first half a wait does not look at its condition again, which may be gone.
 */
#include "runtime/sync/line.h"

_Static_assert(sizeof(struct coir_condition) == 24 && sizeof(struct coir_condition_wait) == 96, "they lie in frames");
COIR_STANDS_IN_LINES(coir_condition_wait);

void coir_condition_init(struct coir_condition *c)
{
    coir_line_init(&c->line);
}

void coir_condition_destroy(struct coir_condition *c)
{
    if (c && coir_line_first(&c->line))
        coir_destroyed_under(coir_line_first(&c->line), "condition");
}

static void check_home(struct coir_condition *c)
{
    if (COIR_UNLIKELY(c->line.home != coir_shard_here()))
        coir_line_settle(&c->line, "condition");
}

/* The first half is over. */
static void take_again(struct coir_task *t)
{
    t->state = COIR_HALF_;
    coir_mutex_take_again(((struct coir_condition_wait *)t)->mutex, t);
}

void coir_condition_signal(struct coir_condition *c)
{
    struct coir_task *first;

    check_home(c);
    first = coir_line_pop(&c->line);
    if (first)
        take_again(first);
}

void coir_condition_broadcast(struct coir_condition *c)
{
    struct coir_task *first;

    check_home(c);
    while ((first = coir_line_pop(&c->line)))
        take_again(first);
}

static void wait_abort(struct coir_task *t)
{
    coir_list_remove(&((struct coir_condition_wait *)t)->link);
    t->status = -ECANCELED;
    take_again(t);
}

coir_step coir_condition_wait_resume(struct coir_task *t)
{
    struct coir_condition_wait *op = (struct coir_condition_wait *)t;
    struct coir_condition *c = op->condition;
    struct coir_mutex *m = op->mutex;
    struct coir_task *owner;
    coir_step step;

    if (t->state)
        return coir_leaf_ends(t, t->status);
    if (!c || !m || coir_arguments_live(t, c, "coir_condition_wait")
        || coir_arguments_live(t, m, "coir_condition_wait"))
        return coir_leaf_ends(t, -EFAULT);
    owner = coir_on_behalf(t);
    if (!owner)
        return coir_leaf_ends(t, -EINVAL);
    check_home(c);
    if (m->owner != owner)
        return coir_leaf_ends(t, -EPERM);
    coir_mutex_at_home(m);
    step = coir_line_up(t, &c->line, wait_abort, c);
    if (step.parked)
        coir_mutex_hand_over(m);
    return step;
}
