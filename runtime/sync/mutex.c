/* SPDX-License-Identifier: MIT */
/*
 * Mutexes of one shard.
 *
 * Invariants, between any two calls:
 *   1. Nobody waits for a mutex that nobody holds: who gives it up hands it over.
 *   2. `owner` is an address to compare with, and is never looked into: that task may be gone. What messages say of
 *      it is in `since`, which is static.
 *   3. Who is handed the mutex holds it before he runs; he is out of the line, and a cancellation finds nothing to
 *      abort.
 */
#include <stdlib.h>

#include "runtime/sync/line.h"
#include "runtime/task/owed.h"

_Static_assert(sizeof(struct coir_mutex) == 40 && sizeof(struct coir_lock) == 96, "they lie in frames");

void coir_mutex_init(struct coir_mutex *m)
{
    coir_line_init(&m->line);
    m->owner = NULL;
    m->since = NULL;
}

void coir_mutex_destroy(struct coir_mutex *m)
{
    if (!m)
        return;
    if (coir_line_first(&m->line))
        coir_destroyed_under(coir_line_first(&m->line), "mutex");
    if (m->owner)
        coir_destroyed_while("mutex", "holds", m->since);
}

/* A mutex may go from shard to shard as long as nobody holds it. */
static __attribute__((cold, noinline)) void settle(struct coir_mutex *m)
{
    if (m->owner)
        coir_busy_elsewhere("mutex", "holds", m->since);
    coir_line_settle(&m->line, "mutex");
}

void coir_mutex_at_home(struct coir_mutex *m)
{
    if (COIR_UNLIKELY(m->line.home != coir_shard_here()))
        settle(m);
}

static void give(struct coir_mutex *m, struct coir_task *owner, const struct coir_site *since)
{
    m->owner = owner;
    m->since = since;
    coir_owes(owner, m, since, "holds a mutex");
}

/* It is a waiter's: he is out of the line, and goes on. */
static void give_to_leaf(struct coir_mutex *m, struct coir_task *t)
{
    struct coir_task *owner = coir_on_behalf(t);

    give(m, owner, owner->site);
    coir_leaf_goes_on(t);
}

void coir_mutex_hand_over(struct coir_mutex *m)
{
    struct coir_task *first = coir_line_pop(&m->line);

    m->owner = NULL;
    coir_owes_not(m);
    if (first)
        give_to_leaf(m, first);
}

void coir_mutex_take_again(struct coir_mutex *m, struct coir_task *t)
{
    coir_mutex_at_home(m);
    t->abort = NULL;
    t->waits_for = m;
    if (m->owner)
        coir_list_push_back(&m->line.waiters, &((struct coir_lock *)t)->link);
    else
        give_to_leaf(m, t);
}

/* ---- plain calls ---- */

int coir_try_lock_(struct coir_task *t, struct coir_mutex *m, const struct coir_site *at)
{
    if (!m)
        return -EFAULT;
    coir_mutex_at_home(m);
    if (m->owner)
        return m->owner == t || coir_is_for(t, m->owner) ? -EDEADLK : -EAGAIN;
    give(m, t, at);
    return 0;
}

static __attribute__((noreturn, cold)) void not_the_owner(const struct coir_task *t, const struct coir_mutex *m,
                                                          const char *file, unsigned line)
{
    fprintf(stderr, "coir: %s unlocks a mutex at %s:%u that it does not hold: ", coir_site_task(t->site), file, line);
    if (m && m->owner)
        fprintf(stderr, "%s does, since %s:%u\n", coir_site_task(m->since), m->since->file, m->since->line);
    else
        fprintf(stderr, m ? "nobody does\n" : "it is NULL\n");
    abort();
}

void coir_unlock_(struct coir_task *t, struct coir_mutex *m, const char *file, unsigned line)
{
    if (COIR_UNLIKELY(!m || m->owner != t))
        not_the_owner(t, m, file, line);
    coir_mutex_at_home(m);
    coir_mutex_hand_over(m);
}

/* ---- the operation ---- */

coir_step coir_lock_resume(struct coir_task *t)
{
    struct coir_mutex *m = ((struct coir_lock *)t)->mutex;
    struct coir_task *owner;

    if (t->state)
        return coir_leaf_ends(t, t->status);
    if (!m || coir_arguments_live(t, m, "coir_lock"))
        return coir_leaf_ends(t, -EFAULT);
    owner = coir_on_behalf(t);
    if (!owner)
        return coir_leaf_ends(t, -EINVAL);
    coir_mutex_at_home(m);
    if (!m->owner) {
        give(m, owner, owner->site);
        return coir_leaf_ends(t, 0);
    }
    if (coir_is_for(t, m->owner))
        return coir_leaf_ends(t, -EDEADLK);
    return coir_line_up(t, &m->line, coir_line_leave, m);
}
