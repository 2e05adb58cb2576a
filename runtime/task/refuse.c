/* SPDX-License-Identifier: MIT */
/*
 * Swallowed cancellation: who goes on for a thousand awaits after it was cancelled is named.
 *
 * Cancellation is a state: every await that would suspend is refused, again and again, and who minds ends soon. What
 * is refused is a leaf; whose await that was is a matter of lives, not of addresses. A task that loops over a child of
 * its own may have a thousand children in one slot, each of which was refused once and ended as it should. So the
 * count lies in the header, where beginning a frame clears it, and a refusal counts for the leaf's awaiter; for the
 * awaiter of that only if it was the child's first; and so on upwards: each await counts once, with the task that
 * makes it. By that the walk is short too: a task walks upwards once in its life.
 *
 * Only who is cancelled itself is counted: not a task whose deadline ended a child, nor what is in coir_finally or
 * under coir_shield. A combinator passes on that it was refused once, however many children it has. On another shard
 * the walk ends, and goes on at home when the child comes back refused.
 */
#include "runtime/task/home.h"

enum { ENOUGH = 1000 };

/* Where the scope was made that is cancelled; NULL: it is the shard's own. */
static const struct coir_site *site_of(const struct coir_scope *s)
{
    if (s->kind == COIR_SCOPE_GROUP_)
        return coir_container_of(s, const struct coir_group, scope)->site;
    return s->owner && s->owner->awaiter ? s->owner->awaiter->site : NULL;
}

static const char *what_of(const struct coir_scope *s)
{
    return s->kind == COIR_SCOPE_GROUP_ ? "the group opened"
         : s->kind == COIR_SCOPE_COMBINE_ ? "the combinator awaited"
         : s->expired ? "the deadline of the await"
         : "the scope of the await";
}

static void report(const struct coir_task *t)
{
    const struct coir_scope *const s = coir_cancelled_by(t);
    const struct coir_site *const at = site_of(s);
    /* cancelling has set the alarm to the end of its patience */
    const double ago = (double)(coir_now() - (s->alarm.timer.at - COIR_PATIENCE)) / 1e9;

    fprintf(stderr, "coir: task %s swallows its cancellation: %d awaits said -ECANCELED, and it goes on; it stands at "
            "%s:%u, and was cancelled %.3f s ago ", t->site ? t->site->task : "?", ENOUGH,
            t->site ? t->site->file : "?", t->site ? t->site->line : 0, ago);
    if (at)
        fprintf(stderr, "by %s at %s:%u\n", what_of(s), at->file, at->line);
    else
        fprintf(stderr, "with all that runs, as the program stops\n");
}

/* True: it was its first. */
static bool counts(struct coir_task *t)
{
    if (t->flags & COIR_TASK_COUNTS_) {
        const bool first = !t->refused;
        t->refused = 1;
        return first;
    }
    if (t->refused < UINT16_MAX && ++t->refused == ENOUGH)
        report(t);
    return t->refused == 1;
}

int coir_refuse(const struct coir_task *t)
{
    for (struct coir_task *up = t->awaiter; up; up = up->awaiter) {
        if (!coir_cancelled_(up) || !counts(up))
            break;
    }
    return -ECANCELED;
}
