/* SPDX-License-Identifier: MIT */
/*
 * coir/sync.h - tasks of one shard that wait for each other: semaphore, event, once, barrier. Mutex and condition
 * are in coir/lock.h.
 *
 * Between two awaits nothing else runs on a shard, so what is touched only between awaits needs none of this.
 * First come, first served; cancellable; without atomics, allocation or system calls.
 */
#ifndef COIR_SYNC_H
#define COIR_SYNC_H

#include <coir/task.h>

#ifdef __cplusplus
extern "C" {
#endif
# 18 "coir/sync.h"

/* A place in a line of waiters. Private. */
#ifndef COIR_LINK_DECLARED
#define COIR_LINK_DECLARED
struct coir_link {
    struct coir_link *prev, *next;
};
#endif

/* ---- semaphore --------------------------------------------------------------------------------------- */

/*
 * A counting semaphore: a number of permits that tasks take and give back. In memory of the caller's: a
 * frame, the heap, main's variables; not on the C stack of a body. It is used from one shard (one made
 * before the run belongs to the first that uses it), and its address must not change. The members are
 * private.
 *
 * Permits are handed over: what is given back goes to the task that has waited longest, as soon as that is
 * enough for it, and to nobody else, so a large request is not starved by small ones behind it. A waiter
 * that is cancelled takes nothing, and those behind it go on if there is enough for them; one that was
 * handed its permits before it was cancelled has them, with status 0.
 */
struct coir_semaphore {
    struct coir_link waiters;             /* oldest first; the first asks for more than `permits` */
    struct coir_shard *home;
    size_t permits;                       /* that nobody has */
};

/* Makes a semaphore with `permits` to give. Cannot fail. */
COIR_API void coir_semaphore_init(struct coir_semaphore *s, size_t permits);

/* Ends its life. Stops the program if a task waits, and says which, and where. Otherwise not needed. NULL is
 * allowed. */
COIR_API void coir_semaphore_destroy(struct coir_semaphore *s);

/*
 * Takes `n` permits, waiting until they are there and nobody waits who came before.
 *   0            it has them, and gives them back with coir_release
 *   -EINVAL      `n` is 0, or was not named
 *   -ECANCELED   cancelled while it waited: it has none
 *   -EFAULT      `semaphore` is NULL, or on the C stack
 */
struct coir_acquire {
    coir_frame_void;
    coir_args(struct coir_semaphore *semaphore; size_t n;);
    struct coir_link link;
    void *spare_[1];
};
coir_export(coir_acquire);

/* Takes `n` permits if they are there and nobody waits: 0; otherwise -EAGAIN. -EINVAL for 0, -EFAULT for
 * NULL. */
COIR_API int coir_try_acquire(struct coir_semaphore *s, size_t n);

/* Gives `n` permits back, or adds new ones: whoever gives need not have taken. 0 does nothing. Never
 * suspends. Stops the program when the number of permits would pass SIZE_MAX. */
COIR_API void coir_release(struct coir_semaphore *s, size_t n);

/* Permits that nobody has. While a task waits there may be some, too few for it. */
static inline size_t coir_semaphore_permits(const struct coir_semaphore *s)
{
    return s->permits;
}

/* ---- what the rest of this header, and coir/lock.h, are made of; private ----------------------------- */

/* Who waits for one thing, oldest first. Private. */
struct coir_line {
    struct coir_link waiters;
    struct coir_shard *home;              /* whose tasks use it; NULL: nobody has yet */
};

/* ---- event, once, barrier: what holds for them all --------------------------------------------------- */

/* Like a semaphore each of these lies in memory of the caller's, not on the C stack of a body, is used from one
 * shard, and keeps its address. The `_destroy` functions stop the program if a task waits, and say which, and where;
 * otherwise they are not needed. NULL is allowed. */

/* ---- event ------------------------------------------------------------------------------------------- */

/*
 * An event: set, or not. Whoever waits goes on when it is set, all of them at once, and whoever comes while it is
 * set does not wait. It stays set until it is reset. Who waited when it was set goes on with status 0, also when it
 * is reset, or he is cancelled, before he has run: so an event that is set and reset at once wakes all who wait.
 *
 * There is none that resets itself: a semaphore made with no permits is that, and it counts. The members are private.
 */
struct coir_event {
    struct coir_line line;
    bool set;
};

/* Makes an event that is not set. Cannot fail. */
COIR_API void coir_event_init(struct coir_event *e);
COIR_API void coir_event_destroy(struct coir_event *e);

/* Set it: wakes all who wait. Or not: who comes from now on waits. Neither suspends, nor minds how it was. */
COIR_API void coir_event_set(struct coir_event *e);
COIR_API void coir_event_reset(struct coir_event *e);

/* Whether it is set now. */
static inline bool coir_event_is_set(const struct coir_event *e)
{
    return e->set;
}

/*
 * Waits until it is set.
 *   0            it is, or was at some moment since
 *   -ECANCELED   cancelled before
 *   -EFAULT      `event` is NULL, or on the C stack
 */
struct coir_event_wait {
    coir_frame_void;
    coir_args(struct coir_event *event;);
    void *spare_[1];
    struct coir_link link;
};
coir_export(coir_event_wait);

/* ---- once -------------------------------------------------------------------------------------------- */

/*
 * What is done once, by whoever comes first, while the others wait for it:
 *
 *     coir_body(open_store, f) {
 *         coir_get(f, f->first, &f->begin, coir_once_begin, .once = f->once);
 *         if (f->first)
 *             coir_try(f, &f->open, ...);                    (anything, awaits too)
 *         coir_finally(f) {
 *             coir_once_done(f, f->once, coir_status(f));
 *         }
 *     } coir_end
 *
 * If the first fails, or is cancelled, the one who has waited longest is told to do it, and so on; if nobody waits,
 * the next who comes. Once it has succeeded nobody waits any more. The members are private.
 */
struct coir_once {
    struct coir_line line;
    struct coir_task *runner;             /* who is doing it; NULL: nobody */
    const struct coir_site *since;        /* where it was told to */
    bool done;
};

/* Makes one that has not been done. Cannot fail. */
COIR_API void coir_once_init(struct coir_once *o);
COIR_API void coir_once_destroy(struct coir_once *o);

/* Whether it has been done: then coir_once_begin does not wait. */
static inline bool coir_once_is_done(const struct coir_once *o)
{
    return o->done;
}

/*
 * Result true: the task that awaits this does it now, and owes a coir_once_done. False: it has been done.
 *   -ECANCELED   cancelled while another was at it. Whoever has been told to do it before he was cancelled does it.
 *   -EDEADLK     this task, or one that awaits it, is the one who does it
 *   -EINVAL      it was spawned by itself: nobody awaits it who could do anything
 *   -EFAULT      `once` is NULL, or on the C stack
 */
struct coir_once_begin {
    coir_frame(bool);
    coir_args(struct coir_once *once;);
    struct coir_link link;
};
coir_export(coir_once_begin);

/* coir_once_done(f, once, status) - by task `f`, if it is the one who does it; otherwise nothing happens, so that
 * coir_finally may call it in every case. Status 0: it is done, all who wait go on. Any other: it failed, the next
 * does it. Never suspends. A task that ends without it stops the program, as one that ends holding a mutex does. */
#define coir_once_done(f, once, status) coir_once_done_(&(f)->task, once, status)
COIR_API void coir_once_done_(struct coir_task *t, struct coir_once *o, int status);

/* ---- barrier ----------------------------------------------------------------------------------------- */

/*
 * A barrier of n parties: who comes waits until n have, then all go on, and it begins anew. A waiter that is
 * cancelled has not come: its place is given back, and the others wait for somebody in its stead. One who was
 * cancelled after the last had come has passed. The members are private.
 */
struct coir_barrier {
    struct coir_line line;
    size_t parties, waiting;
};

/* Makes a barrier of `parties`; 0, or -EINVAL for none. */
COIR_API int coir_barrier_init(struct coir_barrier *b, size_t parties);
COIR_API void coir_barrier_destroy(struct coir_barrier *b);

/* How many wait: from 0 to one less than the parties. */
static inline size_t coir_barrier_waiting(const struct coir_barrier *b)
{
    return b->waiting;
}

/*
 * Comes to the barrier. Result true for the one who came last, who does not wait; false for the others.
 *   -ECANCELED   cancelled before the last came: it does not count
 *   -EFAULT      `barrier` is NULL, or on the C stack
 */
struct coir_barrier_wait {
    coir_frame(bool);
    coir_args(struct coir_barrier *barrier;);
    struct coir_link link;
};
coir_export(coir_barrier_wait);

#ifdef __cplusplus
}
#endif
#endif
