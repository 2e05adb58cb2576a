/* SPDX-License-Identifier: MIT */
/*
 * A run: the shards of one coir_run, what they share, and when it is over.
 *
 * Threads that are no shard reach the run through coir_run_enter, which holds it open until coir_run_leave.
 *
 * It is over when the main task has ended and nobody is busy. `busy` counts: one for each shard whose root
 * group has members, and one for each letter under way that will make a member (coir_spawn_on). Who posts
 * such a letter counts it before posting; the shard that gets it counts its own first and only then the
 * letter off. So `busy` cannot be 0 while work is under way.
 */
#ifndef COIR_RUNTIME_SHARD_RUN_H
#define COIR_RUNTIME_SHARD_RUN_H

#include <pthread.h>
#include <sched.h>

#include "runtime/plane/plane.h"
#include "runtime/task/home.h"
#include "runtime/task/workers.h"



struct coir_runtime {
    struct coir_options options;
    const struct coir_plane_kind *kind;
    int64_t start;                           /* ns since 1970, by the clock on the wall */
    int64_t began;                           /* the same moment, by the one that only goes on */
    struct coir_window *window;              /* runtime/see's; NULL: nobody is to see it from outside */
    bool probed;                             /* no plane was asked for by name */
    bool begun;                              /* all shards are there: other threads may come in */
    bool torture, debug;                     /* the program was built with COIR_TORTURE, COIR_DEBUG */
    bool pinned;                             /* its shards are, each to one of `cpus`: where the program may run */
    cpu_set_t cpus;
    unsigned n;                              /* shards */
    struct coir_shard *shard[COIR_MAX_SHARDS];
    pthread_t thread[COIR_MAX_SHARDS];       /* of shards 1 to n - 1 */
    struct coir_pool_depot depot;

    pthread_mutex_t pools_lock;              /* over the list; pools are only added */
    struct coir_workers *pools;
    struct coir_workers *files;              /* atomic: the pool "file", once it is there */

    struct coir_watchdog *watchdog;          /* NULL: there is none */

    struct coir_reaper main_reaper;
    int status;                              /* of the main task */
    const struct coir_site *last;            /* the await it last stood at */
    /* foreign.c: the epoll set and the timerfd of a shard in another loop */
    int watch, clock;
    bool foreign;                            /* its shard is in another loop */
    int main_ended;                          /* atomic */
    int closed;                              /* atomic: it is over */
    int stop_asked;                          /* atomic: cancel everything */
    int busy;                                /* atomic: see above */
    int shields;                             /* atomic: open ones that stopping waits for, of all shards */
    int awake;                               /* atomic: shards that are not asleep */
    int dead;                                /* atomic: shards asleep with nothing to wait for */
    unsigned risings;                        /* atomic: how often a dead shard has come back */
    int deadlocked;                          /* atomic: how often everybody was dead */
};

/* The run of this process, held open, or NULL: there is one at a time. Any thread; blocks others, briefly. */
struct coir_runtime *coir_run_enter(void);
void coir_run_leave(void);
/* Shard 0's: nobody is busy. Closes the run to other threads, unless one has just made somebody busy. */
bool coir_run_close(struct coir_runtime *run);

/* Makes shard `id` on the calling thread: it is coir_here's from now on. 0 or a negative errno, said on
 * stderr. */
int coir_shard_begin(struct coir_runtime *run, unsigned id);
/* Gives it back: every task has ended. */
void coir_shard_end(struct coir_shard *s);

/* signals.c: from the one to the other no write of this thread's raises SIGPIPE or SIGXFSZ. */
void coir_signals_hold(struct coir_shard *s);
void coir_signals_release(struct coir_shard *s);

/* run.c */
int coir_run_begin(struct coir_runtime **out, const struct coir_options *o, uint64_t abi);
void coir_run_end(struct coir_runtime *run);
/* Begins the main task on the calling shard. */
void coir_run_start_main(struct coir_runtime *run, struct coir_task *main);
/* Wakes every shard, to look at what has changed in the run. */
void coir_run_nudge_all(struct coir_runtime *run);

/* A named pool, made with `limit` threads if it is not there yet; NULL: no memory. Any shard's thread. */
struct coir_workers *coir_run_workers(struct coir_runtime *run, const char *name, unsigned limit);

/* away.c: a child that was sent here has ended. */
void coir_away_ended(struct coir_task *t);
/* A leaf that stands for a child on another shard. */
bool coir_is_away(const struct coir_task *t);
/* Says what a leaf waits for, if that is a child on another shard. */
bool coir_dump_away(FILE *to, const struct coir_task *t);

/* The window through which another process sees the run (runtime/see/window.c, above). Opened when all shards are there
 * and none runs; shut when shard 0 has left its loop and all are still there: from then on it looks at none. Its
 * memory, which a shard's last turn may still write to, goes with the run. */
void coir_window_open(struct coir_runtime *run);
void coir_window_shut(struct coir_runtime *run);
void coir_window_end(struct coir_runtime *run);
/* Over a fork. */
void coir_window_hold(void);
void coir_window_let_go(void);
void coir_window_forget(void);

/* asked.c: prints the tasks of the calling shard to stderr, in one write. */
void coir_dump_at_once(void);

/* loop.c */
/* One round: letters, tasks, the kernel, timers; waits if `may_wait` and nothing is ready. False: the
 * run is over. */
bool coir_loop_turn(struct coir_shard *s, bool may_wait);
/* When the shard wants its next turn by itself: 0 now, COIR_NEVER; in ns of coir_now(). */
int64_t coir_loop_next(struct coir_shard *s);

#endif
