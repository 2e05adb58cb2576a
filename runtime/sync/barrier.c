/* SPDX-License-Identifier: MIT */
/*
 * Barriers of one shard. Invariant: `waiting` is the length of the line, and less than `parties`.
 */
#include "runtime/sync/line.h"

_Static_assert(sizeof(struct coir_barrier) == 40 && sizeof(struct coir_barrier_wait) == 96, "they lie in frames");
COIR_STANDS_IN_LINES(coir_barrier_wait);

int coir_barrier_init(struct coir_barrier *b, size_t parties)
{
    coir_line_init(&b->line);
    b->parties = parties;
    b->waiting = 0;
    return parties ? 0 : -EINVAL;
}

void coir_barrier_destroy(struct coir_barrier *b)
{
    if (b && coir_line_first(&b->line))
        coir_destroyed_under(coir_line_first(&b->line), "barrier");
}

static void check_home(struct coir_barrier *b)
{
    if (COIR_UNLIKELY(b->line.home != coir_shard_here()))
        coir_line_settle(&b->line, "barrier");
}

static void wait_abort(struct coir_task *t)
{
    ((struct coir_barrier_wait *)t)->barrier->waiting--;
    coir_line_leave(t);
}

static void all_go_on(struct coir_barrier *b)
{
    struct coir_task *first;

    b->waiting = 0;
    while ((first = coir_line_pop(&b->line)))
        coir_leaf_goes_on(first);
}

coir_step coir_barrier_wait_resume(struct coir_task *t)
{
    struct coir_barrier_wait *op = (struct coir_barrier_wait *)t;
    struct coir_barrier *b = op->barrier;
    coir_step step;

    if (t->state)
        return coir_leaf_ends(t, t->status);
    if (!b || coir_arguments_live(t, b, "coir_barrier_wait"))
        return coir_leaf_ends(t, -EFAULT);
    check_home(b);
    if (b->waiting + 1 >= b->parties) {
        all_go_on(b);
        op->result = true;
        return coir_leaf_ends(t, 0);
    }
    step = coir_line_up(t, &b->line, wait_abort, b);
    b->waiting += step.parked;
    return step;
}
