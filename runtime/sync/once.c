/* SPDX-License-Identifier: MIT */
/*
 * What is done once on a shard.
 *
 * Invariants, between any two calls:
 *   1. Somebody waits only while there is a runner; there is none once it is done.
 *   2. `runner` is an address to compare with, and is never looked into: that task may be gone. What messages say of
 *      it is in `since`, which is static.
 *   3. Who is told to do it is the runner before he runs; he is out of the line, and a cancellation finds nothing to
 *      abort.
 */
#include "runtime/sync/line.h"
#include "runtime/task/owed.h"

_Static_assert(sizeof(struct coir_once) == 48 && sizeof(struct coir_once_begin) == 96, "they lie in frames");
COIR_STANDS_IN_LINES(coir_once_begin);

void coir_once_init(struct coir_once *o)
{
    coir_line_init(&o->line);
    o->runner = NULL;
    o->since = NULL;
    o->done = false;
}

void coir_once_destroy(struct coir_once *o)
{
    if (!o)
        return;
    if (coir_line_first(&o->line))
        coir_destroyed_under(coir_line_first(&o->line), "once");
    if (o->runner)
        coir_destroyed_while("once", "runs", o->since);
}

static __attribute__((cold, noinline)) void settle(struct coir_once *o)
{
    if (o->runner)
        coir_busy_elsewhere("once", "runs", o->since);
    coir_line_settle(&o->line, "once");
}

static void check_home(struct coir_once *o)
{
    if (COIR_UNLIKELY(o->line.home != coir_shard_here()))
        settle(o);
}

static void runs(struct coir_once *o, struct coir_once_begin *op, struct coir_task *runner)
{
    o->runner = runner;
    o->since = runner->site;
    op->result = true;
    coir_owes(runner, o, runner->site, "is the one to do something once");
}

static void failed(struct coir_once *o)
{
    struct coir_task *first = coir_line_pop(&o->line);

    o->runner = NULL;
    if (!first)
        return;
    runs(o, (struct coir_once_begin *)first, coir_on_behalf(first));
    coir_leaf_goes_on(first);
}

void coir_once_done_(struct coir_task *t, struct coir_once *o, int status)
{
    struct coir_task *first;

    if (!o || o->runner != t)
        return;
    check_home(o);
    coir_owes_not(o);
    if (status) {
        failed(o);
        return;
    }
    o->runner = NULL;
    o->done = true;
    while ((first = coir_line_pop(&o->line)))
        coir_leaf_goes_on(first);
}

coir_step coir_once_begin_resume(struct coir_task *t)
{
    struct coir_once_begin *op = (struct coir_once_begin *)t;
    struct coir_once *o = op->once;
    struct coir_task *behalf;

    if (t->state)
        return coir_leaf_ends(t, t->status);
    if (!o || coir_arguments_live(t, o, "coir_once_begin"))
        return coir_leaf_ends(t, -EFAULT);
    behalf = coir_on_behalf(t);
    if (!behalf)
        return coir_leaf_ends(t, -EINVAL);
    check_home(o);
    if (o->done)
        return coir_leaf_ends(t, 0);
    if (!o->runner) {
        runs(o, op, behalf);
        return coir_leaf_ends(t, 0);
    }
    if (coir_is_for(t, o->runner))
        return coir_leaf_ends(t, -EDEADLK);
    return coir_line_up(t, &o->line, coir_line_leave, o);
}
