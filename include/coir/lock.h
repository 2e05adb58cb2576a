/* SPDX-License-Identifier: MIT */
/*
 * coir/lock.h - what is held across an await: mutex, and condition.
 *
 *     coir_try(f, &f->lock, coir_lock, .mutex = f->mutex);
 *     while (!f->store->ready)
 *         coir_try(f, &f->wait, coir_condition_wait, .condition = &f->store->changed, .mutex = f->mutex);
 *     ...
 *     coir_finally(f) {
 *         if (coir_holds(f, f->mutex))
 *             coir_unlock(f, f->mutex);
 *     }
 *
 * Between two awaits nothing else runs on a shard: what is touched only between awaits needs no mutex. Both of these
 * lie in memory of the caller's, not on the C stack of a body, are used from one shard (one made before the run
 * belongs to the first that uses it), and keep their address. First come, first served;
 * without atomics, allocation or system calls.
 */
#ifndef COIR_LOCK_H
#define COIR_LOCK_H

#include <coir/sync.h>

#ifdef __cplusplus
extern "C" {
#endif
# 28 "coir/lock.h"

/* ---- mutex ------------------------------------------------------------------------------------------- */

/*
 * A mutex: held by one task, the one that awaited coir_lock, until that task unlocks it. A task is one frame: what it
 * awaits, or is awaited by, does not hold the mutex, and cannot unlock it. What one task takes and another gives back
 * is a semaphore with one permit.
 *
 * It is handed over: who unlocks gives it to the task that has waited longest, which holds it from then on, whatever
 * happens before it runs. So nobody barges in, and who is cancelled after that holds it, with status 0: the status of
 * coir_lock alone says who holds a mutex, also when a coir_race was decided by another.
 *
 * A task that ends holding one stops the program, with the place where it was locked: unless 32 that were locked before
 * are still held on the shard, which is as many as are remembered. Then the mutex stays locked. Of who waits for one
 * coir_dump, and the report of a deadlock, say which task took it, and where. The members are private.
 */
struct coir_mutex {
    struct coir_line line;                /* only while it is held */
    struct coir_task *owner;              /* NULL: nobody holds it */
    const struct coir_site *since;        /* where he took it */
};

/* Makes a mutex that nobody holds. Cannot fail. */
COIR_API void coir_mutex_init(struct coir_mutex *m);

/* Ends its life. Stops the program if a task waits for it or holds it, and says which, and where. Otherwise not
 * needed. NULL is allowed. */
COIR_API void coir_mutex_destroy(struct coir_mutex *m);

/*
 * Takes it, waiting until nobody holds it and nobody waits who came before.
 *   0            the task that awaits this holds it
 *   -ECANCELED   cancelled while it waited: it does not
 *   -EDEADLK     this task, or one that awaits it, holds it already
 *   -EINVAL      it was spawned by itself: there is no task that would hold it
 *   -EFAULT      `mutex` is NULL, or on the C stack
 */
struct coir_lock {
    coir_frame_void;
    coir_args(struct coir_mutex *mutex;);
    void *spare_[1];
    struct coir_link link;
};
coir_export(coir_lock);

/* int coir_try_lock(f, mutex) - takes it for task `f` if nobody holds it: 0; otherwise -EAGAIN, or -EDEADLK as above.
 * -EFAULT for NULL. Never suspends. */
#define coir_try_lock(f, mutex) __extension__({ \
    static const struct coir_site coir_took_ = { 0, __FILE__, __LINE__ }; \
    coir_try_lock_(&(f)->task, mutex, &coir_took_); })
COIR_API int coir_try_lock_(struct coir_task *t, struct coir_mutex *m, const struct coir_site *at);

/* coir_unlock(f, mutex) - task `f` gives it up: the oldest waiter holds it, or nobody. Never suspends. If `f` does not
 * hold it the program is stopped, with this place and the one where it was locked. */
#define coir_unlock(f, mutex) coir_unlock_(&(f)->task, mutex, __FILE__, __LINE__)
COIR_API void coir_unlock_(struct coir_task *t, struct coir_mutex *m, const char *file, unsigned line);

/* bool coir_holds(f, mutex) - whether task `f` holds it: for coir_finally. */
#define coir_holds(f, mutex) ((mutex)->owner == &(f)->task)

/* Whether anybody holds it. */
static inline bool coir_mutex_is_held(const struct coir_mutex *m)
{
    return m->owner != NULL;
}

/* ---- condition --------------------------------------------------------------------------------------- */

/*
 * A condition: where tasks that hold a mutex wait until another tells them that what it guards has changed. Who is
 * told looks again, in a loop: others may have had the mutex since. What is said while nobody waits is not kept. The
 * members are private.
 */
struct coir_condition {
    struct coir_line line;
};

/* Makes a condition. Cannot fail. */
COIR_API void coir_condition_init(struct coir_condition *c);

/* Ends its life. Stops the program if a task waits that has not been told, and says which, and where. Otherwise not
 * needed. NULL is allowed. */
COIR_API void coir_condition_destroy(struct coir_condition *c);

/* Tells the task that has waited longest; or all. They go on one by one, in order, as each gets its mutex. Who tells
 * need not hold it. Never suspends. */
COIR_API void coir_condition_signal(struct coir_condition *c);
COIR_API void coir_condition_broadcast(struct coir_condition *c);

/*
 * Unlocks `mutex` and waits to be told, with nobody in between; then takes the mutex again, at the end of its line,
 * and ends. Having it again is not cancelled: however this ends, the task holds the mutex if it did before.
 *   0            it was told; also if it was cancelled after that, so that no signal is lost
 *   -ECANCELED   cancelled before it was told: a signal that comes later goes to the next
 *   -EPERM       the task does not hold `mutex`
 *   -EINVAL      it was spawned by itself: there is no task that could hold it
 *   -EFAULT      `condition` or `mutex` is NULL, or on the C stack
 * A deadline (coir_within) bounds when the wait for being told ends, not when the mutex is free.
 */
struct coir_condition_wait {
    coir_frame_void;
    coir_args(struct coir_condition *condition; struct coir_mutex *mutex;);
    struct coir_link link;
};
coir_export(coir_condition_wait);

#ifdef __cplusplus
}
#endif
#endif
