/* SPDX-License-Identifier: MIT */
/*
 * What the waits of this folder share: a leaf that parks in a line, how it is ended from outside, how it ends
 * by itself, and the words for who breaks the rules. On the waiter's shard, unless it says otherwise.
 */
#ifndef COIR_RUNTIME_SYNC_WAIT_H
#define COIR_RUNTIME_SYNC_WAIT_H

#include <string.h>

#include "runtime/base/queue.h"
#include "runtime/task/home.h"

/* A leaf's body comes to its end. */
static inline coir_step coir_leaf_ends(struct coir_task *t, int status)
{
    t->status = status;
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

void coir_leaf_goes_on_itself(struct coir_task *t);

/* A leaf that nobody may abort any more, and whose status stands, goes on. Its body has nothing left to do, so
 * its awaiter is queued in its place; a combinator, which wants to know who ended, and a loop that ends a
 * spawned leaf have to see the leaf itself. */
static inline void coir_leaf_goes_on(struct coir_task *t)
{
    struct coir_task *up = t->awaiter;

    t->abort = NULL;
    if (COIR_UNLIKELY(!up || (up->flags & COIR_TASK_COUNTS_))) {
        coir_leaf_goes_on_itself(t);
        return;
    }
    t->state = COIR_LEFT_;
    coir_ready(up);
}

/* A leaf begins to wait. */
static inline coir_step coir_leaf_parks(struct coir_task *t, void (*abort)(struct coir_task *), void *waits_for)
{
    t->state = 1;
    t->abort = abort;
    t->waits_for = waits_for;
    return COIR_PARK_;
}

void coir_copy_bytes(void *to, const void *from, size_t size);

/* Items are of any alignment. Those of a word are copied in place. */
static inline void coir_copy_item(void *to, const void *from, size_t size)
{
    if (COIR_LIKELY(size == 8))
        memcpy(to, from, 8);
    else
        coir_copy_bytes(to, from, size);
}

/* Stops the program: something is used from shard here while tasks of `home` wait for it. */
void coir_other_shard(const struct coir_task *waiter, const char *what) __attribute__((noreturn, cold));

/* Stops the program: something is destroyed while `waiter` waits for it. Any thread. */
void coir_destroyed_under(const struct coir_task *waiter, const char *what) __attribute__((noreturn, cold));

#endif
