/* SPDX-License-Identifier: MIT */
/*
 * The cold halves of the task macros: queueing a child that is not to run in place, and the ends of programs
 * that broke a rule a macro could only check at run time. Each names the task and the place it stood at.
 */
#include <stdlib.h>

#include "runtime/task/home.h"
#include "runtime/task/owed.h"

__thread struct coir_here coir_here __attribute__((tls_model("initial-exec")));

coir_step coir_queue_(struct coir_task *t)
{
    struct coir_shard *s = coir_shard_here();

    if (!s) {                           /* a generator awaiting on no shard: its coir_next will tell */
        coir_here.budget = COIR_STEP_AWAITS;
        return t->body(t);
    }
    if (coir_arguments_live(t, NULL, "coir_await")) {
        t->state = COIR_LEFT_;
        return COIR_DONE_;
    }
    s->stats.queued_awaits++;
    if (coir_here.budget == 0)          /* it stays spent: a combinator goes on and starts its other children */
        coir_here.budget = 1;
    coir_ready_on(s, t);
    return COIR_PARK_;
}

static const char *site_file(const struct coir_task *t)
{
    return t->site ? t->site->file : "the beginning";
}

static unsigned site_line(const struct coir_task *t)
{
    return t->site ? t->site->line : 0;
}

void coir_lost_(struct coir_task *t, const char *name)
{
    const char *why = t->state == COIR_LEFT_ ? "was resumed after its end"
                    : t->flags & COIR_TASK_FINALLY_ ? "came to its coir_finally a second time"
                    : "was resumed where it has no resume point: is there an await inside a switch?";

    fprintf(stderr, "coir: task %s %s; it last parked at %s:%u (state %d)\n", name, why, site_file(t), site_line(t),
            t->state);
    abort();
}

void coir_left_open_(struct coir_task *t, const char *name)
{
    for (struct coir_group *g = t->scope ? t->scope->groups : NULL; g; g = g->next) {
        if (g->opener != t)
            continue;
        fprintf(stderr, "coir: task %s ended with an open group of %u tasks, opened at %s:%u; leave it with "
                "coir_group_wait, on every path (last parked at %s:%u)\n", name, g->live, g->site->file, g->site->line,
                site_file(t), site_line(t));
        abort();
    }
    coir_must_not_owe(t, name);
}

void coir_not_a_generator_(struct coir_task *t)
{
    fprintf(stderr, "coir: a generator suspended on something other than coir_yield (last at %s:%u)\n", site_file(t),
            site_line(t));
    abort();
}
