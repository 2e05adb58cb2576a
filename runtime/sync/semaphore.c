/* SPDX-License-Identifier: MIT */
/*
 * Semaphores of one shard.
 *
 * Invariants, between any two calls:
 *   1. The first waiter asks for more than `permits`; whatever changes either of the two calls hand_over.
 *   2. A waiter is in the line as long as it may be aborted; who hands it its permits takes it out, so that a
 *      cancellation that comes later finds nothing to abort, and the permits are its own.
 *   3. Permits are either in `permits` or somebody's: none is in between.
 */
#include <coir/sync.h>
#include <stdlib.h>

#include "runtime/sync/wait.h"

_Static_assert(sizeof(struct coir_semaphore) == 32 && sizeof(struct coir_acquire) == 104, "they lie in frames");

static struct coir_acquire *waiter_of(struct coir_link *link)
{
    return coir_container_of(link, struct coir_acquire, link);
}

void coir_semaphore_init(struct coir_semaphore *s, size_t permits)
{
    coir_list_init(&s->waiters);
    s->home = NULL;
    s->permits = permits;
}

void coir_semaphore_destroy(struct coir_semaphore *s)
{
    if (s && !coir_list_empty(&s->waiters))
        coir_destroyed_under(&waiter_of(s->waiters.next)->task, "semaphore");
}

/* A semaphore may go from shard to shard as long as nobody waits. */
static __attribute__((cold, noinline)) void settle(struct coir_semaphore *s)
{
    if (!coir_list_empty(&s->waiters))
        coir_other_shard(&waiter_of(s->waiters.next)->task, "semaphore");
    s->home = coir_shard_here();
}

static void check_home(struct coir_semaphore *s)
{
    if (COIR_UNLIKELY(s->home != coir_shard_here()))
        settle(s);
}

/* To the oldest waiters, as far as it goes. */
static void hand_over(struct coir_semaphore *s)
{
    while (!coir_list_empty(&s->waiters)) {
        struct coir_acquire *first = waiter_of(s->waiters.next);
        if (first->n > s->permits)
            break;
        s->permits -= first->n;
        coir_list_remove(&first->link);
        coir_leaf_goes_on(&first->task);
    }
}

static int take(struct coir_semaphore *s, size_t n)
{
    if (n == 0)
        return -EINVAL;
    if (!coir_list_empty(&s->waiters) || n > s->permits)
        return -EAGAIN;
    s->permits -= n;
    return 0;
}

int coir_try_acquire(struct coir_semaphore *s, size_t n)
{
    if (!s)
        return -EFAULT;
    check_home(s);
    return take(s, n);
}

void coir_release(struct coir_semaphore *s, size_t n)
{
    check_home(s);
    if (__builtin_add_overflow(s->permits, n, &s->permits)) {
        fprintf(stderr, "coir: a semaphore is given more than SIZE_MAX permits\n");
        abort();
    }
    hand_over(s);
}

static void acquire_abort(struct coir_task *t)
{
    struct coir_acquire *op = (struct coir_acquire *)t;

    coir_list_remove(&op->link);
    t->status = -ECANCELED;
    coir_leaf_goes_on(t);
    hand_over(op->semaphore);            /* it may have been the one who was too big */
}

coir_step coir_acquire_resume(struct coir_task *t)
{
    struct coir_acquire *op = (struct coir_acquire *)t;
    struct coir_semaphore *s = op->semaphore;
    int err;

    if (t->state)
        return coir_leaf_ends(t, t->status);
    if (!s || coir_arguments_live(t, s, "coir_acquire"))
        return coir_leaf_ends(t, -EFAULT);
    check_home(s);
    err = take(s, op->n);
    if (err != -EAGAIN)
        return coir_leaf_ends(t, err);
    if (coir_is_refused(t))
        return coir_leaf_ends(t, -ECANCELED);
    coir_list_push_back(&s->waiters, &op->link);
    return coir_leaf_parks(t, acquire_abort, s);
}
