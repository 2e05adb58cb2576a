/* SPDX-License-Identifier: MIT */
/*
 * Events of one shard. Invariant: nobody waits for an event that is set.
 */
#include "runtime/sync/line.h"

_Static_assert(sizeof(struct coir_event) == 32 && sizeof(struct coir_event_wait) == 96, "they lie in frames");
COIR_STANDS_IN_LINES(coir_event_wait);

void coir_event_init(struct coir_event *e)
{
    coir_line_init(&e->line);
    e->set = false;
}

void coir_event_destroy(struct coir_event *e)
{
    if (e && coir_line_first(&e->line))
        coir_destroyed_under(coir_line_first(&e->line), "event");
}

static void check_home(struct coir_event *e)
{
    if (COIR_UNLIKELY(e->line.home != coir_shard_here()))
        coir_line_settle(&e->line, "event");
}

void coir_event_set(struct coir_event *e)
{
    struct coir_task *first;

    check_home(e);
    e->set = true;
    while ((first = coir_line_pop(&e->line)))
        coir_leaf_goes_on(first);
}

void coir_event_reset(struct coir_event *e)
{
    check_home(e);
    e->set = false;
}

coir_step coir_event_wait_resume(struct coir_task *t)
{
    struct coir_event *e = ((struct coir_event_wait *)t)->event;

    if (t->state)
        return coir_leaf_ends(t, t->status);
    if (!e || coir_arguments_live(t, e, "coir_event_wait"))
        return coir_leaf_ends(t, -EFAULT);
    check_home(e);
    if (e->set)
        return coir_leaf_ends(t, 0);
    return coir_line_up(t, &e->line, coir_line_leave, e);
}
