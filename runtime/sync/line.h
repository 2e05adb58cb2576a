/* SPDX-License-Identifier: MIT */
/*
 * Lines: who waits for a mutex, condition, event, once or barrier, oldest first, and on whose behalf a leaf of those
 * waits. All of it on the shard of the line; between two awaits, so there is nothing to lock.
 *
 * Invariants, between any two calls:
 *   1. Who is in a line is parked, and nobody else will wake it. Who ends its wait takes it out.
 *   2. It has an `abort` as long as a cancellation may end its wait, and then that takes it out too.
 *   3. All frames that stand in lines have their link at one offset: so one line may hold waits of several kinds.
 */
#ifndef COIR_RUNTIME_SYNC_LINE_H
#define COIR_RUNTIME_SYNC_LINE_H

#include <coir/lock.h>

#include "runtime/sync/wait.h"

enum { COIR_HALF_ = 2 };                 /* state of a condition's wait that waits for its mutex */

#define COIR_STANDS_IN_LINES(name) \
    _Static_assert(offsetof(struct name, link) == offsetof(struct coir_lock, link), #name " stands in lines (inv 3)")

static inline struct coir_task *coir_line_task(struct coir_link *link)
{
    return &coir_container_of(link, struct coir_lock, link)->task;
}

static inline void coir_line_init(struct coir_line *line)
{
    coir_list_init(&line->waiters);
    line->home = NULL;
}

/* The oldest, left where it is; NULL: nobody waits. */
static inline struct coir_task *coir_line_first(const struct coir_line *line)
{
    return coir_list_empty(&line->waiters) ? NULL : coir_line_task(line->waiters.next);
}

/* The oldest, taken out. */
static inline struct coir_task *coir_line_pop(struct coir_line *line)
{
    struct coir_link *first = coir_list_pop_front(&line->waiters);

    return first ? coir_line_task(first) : NULL;
}

/* Stops the program if somebody waits; otherwise the line is this shard's. Like `what`, of some other shard. */
void coir_line_settle(struct coir_line *line, const char *what) __attribute__((cold));

/* Stops the program: `what` is used from here while a task of another shard does something with it, and has
 * since then; or is destroyed, meanwhile. */
void coir_busy_elsewhere(const char *what, const char *does, const struct coir_site *since)
    __attribute__((noreturn, cold));
void coir_destroyed_while(const char *what, const char *does, const struct coir_site *since)
    __attribute__((noreturn, cold));

/* Of a place, when it is known: a coir_try_lock does not know its task. */
static inline const char *coir_site_task(const struct coir_site *at)
{
    return at && at->task ? at->task : "a task";
}

/* On behalf of whom a leaf waits: the task that awaits it, through combinators. NULL: it was spawned by itself. */
static inline struct coir_task *coir_on_behalf(const struct coir_task *leaf)
{
    struct coir_task *up = leaf->awaiter;

    while (COIR_UNLIKELY(up && (up->flags & COIR_TASK_COUNTS_)))
        up = up->awaiter;
    return up;
}

/* Whether `who`, which may be gone, is among those who await `t`. */
bool coir_is_for(const struct coir_task *t, const struct coir_task *who);

/* A leaf begins to wait for `what`, at the end of its line; or ends, in a cancelled scope. */
static inline coir_step coir_line_up(struct coir_task *t, struct coir_line *line, void (*abort)(struct coir_task *),
                                     void *what)
{
    if (coir_is_refused(t))
        return coir_leaf_ends(t, -ECANCELED);
    coir_list_push_back(&line->waiters, &((struct coir_lock *)t)->link);
    return coir_leaf_parks(t, abort, what);
}

/* The abort of a leaf that has nothing to give back. */
void coir_line_leave(struct coir_task *t);

/* ---- a mutex, for the condition (mutex.c) ---- */

/* Stops the program if another shard uses it. */
void coir_mutex_at_home(struct coir_mutex *m);
/* Nobody holds it any more: the oldest waiter does, and goes on with the status it has. */
void coir_mutex_hand_over(struct coir_mutex *m);
/* A parked leaf, in no line, waits to have it again, and cannot be cancelled. */
void coir_mutex_take_again(struct coir_mutex *m, struct coir_task *t);

#endif
