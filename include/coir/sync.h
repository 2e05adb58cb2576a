/* SPDX-License-Identifier: MIT */
/*
 * coir/sync.h - tasks of one shard that wait for each other.
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
# 17 "coir/sync.h"

#ifndef COIR_LINK_DECLARED
#define COIR_LINK_DECLARED
struct coir_link {
    struct coir_link *prev, *next;
};
#endif

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

#ifdef __cplusplus
}
#endif
#endif
