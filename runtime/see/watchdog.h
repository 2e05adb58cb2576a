/* SPDX-License-Identifier: MIT */
/*
 * The watchdog's thread, as its parts see it: slow steps (watchdog.c), and shards that do not print their tasks when a
 * signal has asked for that (asked.c).
 */
#ifndef COIR_RUNTIME_SEE_WATCHDOG_H
#define COIR_RUNTIME_SEE_WATCHDOG_H

#include <pthread.h>
#include <semaphore.h>

#include "runtime/task/home.h"

/* Of one shard, the step that the watchdog saw last. */
struct coir_watched {
    int64_t began;                           /* of the step; 0: there was none */
    int64_t seen, cpu;                       /* when it was seen last, and what its thread had run by then */
    int64_t own;                             /* ns that the step had */
    int64_t ran;                             /* of those, running */
    int64_t next;                            /* when `own` is so much it is reported */
    bool reported, recorded;                 /* once; twice, and then with the recorder's events */
    char name[80];                           /* of the task, as it was reported */
};

/* Of one shard, which has been asked to print its tasks: by when it has, or is in the step it was in then. */
struct coir_asked {
    int64_t due;                             /* 0: it has not been asked, or has printed, or was reported */
    uint64_t steps;
};

struct coir_watchdog {
    pthread_t thread;
    pthread_mutex_t lock;                    /* over what follows; a shard that begins or ends takes it */
    struct coir_shard *shard[COIR_MAX_SHARDS];   /* NULL: it is not there, or not any more */
    struct coir_watched step[COIR_MAX_SHARDS];
    struct coir_asked asked[COIR_MAX_SHARDS];
    int64_t limit, tick;                     /* 0: steps are not watched */
    int signal;                              /* which asks; 0: none does */
    uint32_t told;                           /* of those that came */
    bool stops;                              /* atomic */
};

/* What wakes the thread: posted also by a signal handler, which may come late, so it is never freed. */
extern sem_t coir_watchdog_bell;

/* ---- printing when a signal asks (asked.c) ---- */

/* What coir_options and the environment say: a signal's number, or 0. -EINVAL, said on stderr: it makes no sense. */
int coir_asked_signal(const struct coir_options *o, int *out);
/* On the shard's thread: from now on, and until coir_catch_shard_ends, it prints its tasks when that comes. */
int coir_asked_begin(struct coir_shard *s, int number);
/* On the watchdog's thread, under the lock. Value: when to look again, on the real clock. */
int64_t coir_asked_look(struct coir_watchdog *d, int64_t now);

#endif
