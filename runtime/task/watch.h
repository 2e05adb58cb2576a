/* SPDX-License-Identifier: MIT */
/*
 * What a shard leaves for those who watch it from outside: which task the loop has called and, while a watchdog wants
 * to know, since when. The shard's thread writes, others read: the watchdog's thread, a signal handler, gdb.
 *
 * `stepping` is always kept, for one store a step. Steps are timed only while `on`: the clock is read once for each,
 * since one begins when the last one has ended.
 */
#ifndef COIR_RUNTIME_TASK_WATCH_H
#define COIR_RUNTIME_TASK_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/clock.h"

struct coir_options;
struct coir_runtime;
struct coir_shard;
struct coir_task;

struct coir_watch {
    bool on;                        /* set before the shard's first turn */
    pid_t thread;
    int64_t limit;                  /* ns: a step that is longer is late */
    int64_t now;                    /* the end of the last step of this turn; 0: there was none */
    int64_t began;                  /* atomic: of the step that goes on, on the real clock; 0: none does */
    /* atomic: the last late step, its duration written first */
    int64_t late_took, late_began;
};

static inline void coir_watch_step(struct coir_watch *w)
{
    if (!w->now)
        w->now = coir_clock_monotonic();
    __atomic_store_n(&w->began, w->now, __ATOMIC_RELEASE);
}

static inline void coir_watch_step_end(struct coir_watch *w)
{
    const int64_t began = w->began;

    w->now = coir_clock_monotonic();
    if (w->now - began >= w->limit) {
        __atomic_store_n(&w->late_took, w->now - began, __ATOMIC_RELAXED);
        __atomic_store_n(&w->late_began, began, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&w->began, 0, __ATOMIC_RELEASE);
}

/* What coir_options and the environment say: how long a step may take, in ns; 0: nobody watches. -EINVAL, said on
 * stderr: it makes no sense. `debug`: the program was built with COIR_DEBUG. */
int coir_watch_limit(const struct coir_options *o, bool debug, int64_t *out);
/* 0, or -EINVAL: of that and the rest of what the watchdog does something makes no sense. */
int coir_watch_asked(const struct coir_options *o, bool debug);

/* From the beginning to the end of a run, on the thread that runs it. What cannot be done is said on stderr, and the
 * run goes on unwatched. */
void coir_watch_open(struct coir_runtime *run);
void coir_watch_close(struct coir_runtime *run);
/* From the first turn to the last of a shard, on its thread. */
void coir_watch_begin(struct coir_shard *s);
void coir_watch_end(struct coir_shard *s);
/* In a forked child, which has no such thread. */
void coir_watch_forget(void);

#endif
