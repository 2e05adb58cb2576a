/* SPDX-License-Identifier: MIT */
/*
 * Pools of threads for calls that block: named, bounded, each with a queue of its own, so that slow names
 * never starve files. A job lies in its owner's memory; it runs on some thread of its pool and then comes
 * home by letter.
 *
 *      submit            a thread is free           its function returns          delivered
 *   ---------> QUEUED ------------------> RUNNING ---------------------> AWAY ------------> home()
 *                 | revoke: it is the owner's again   | revoke: an orphan, runs on
 *
 * Threads start when there is work and nobody idle, up to the pool's limit; they end when they have been
 * idle for coir_workers_patience, or when the run does.
 */
#ifndef COIR_RUNTIME_TASK_WORKERS_H
#define COIR_RUNTIME_TASK_WORKERS_H

#include <coir/offload.h>
#include <sched.h>

#include "runtime/task/home.h"

struct coir_workers;
struct coir_job;

/* What a job does. Static and constant. */
struct coir_job_kind {
    void (*run)(struct coir_job *);                        /* on a thread of the pool */
    void (*home)(struct coir_shard *, struct coir_job *);  /* then, on the shard that submitted it */
};

struct coir_job {
    struct coir_letter letter;       /* its link is the pool's queue, then the way home */
    const struct coir_job_kind *kind;
    struct coir_shard *shard;
    uint8_t state;                   /* under the pool's lock: COIR_JOB_... */
    bool orphan;                     /* under the pool's lock: it was to be revoked, and ran already */
};

enum { COIR_JOB_QUEUED, COIR_JOB_RUNNING, COIR_JOB_AWAY };

/* Nanoseconds that a thread waits for work before it ends: 10 s. Tests change it while there is no pool. */
extern int64_t coir_workers_patience;

/* Queues a job of the calling shard's. 0; -ENOMEM for a NULL pool, -EAGAIN when it has no thread and
 * none could be started. */
int coir_workers_submit(struct coir_workers *w, struct coir_job *job, const struct coir_job_kind *kind);

/* Takes a job back that has not begun. False: it runs, or has run, and its way home goes on. */
bool coir_workers_revoke(struct coir_workers *w, struct coir_job *job);

/* True while no thread has taken the job: for coir_dump. */
bool coir_workers_queued(struct coir_workers *w, const struct coir_job *job);

/* Makes a pool, in front of `next`; NULL for no memory. At most `limit` threads, up to COIR_POOL_THREADS_MAX, that run
 * on `cpus`, which stays the caller's (NULL: where the thread may that starts them); of the name the first
 * COIR_POOL_NAME_MAX bytes. */
struct coir_workers *coir_workers_open(const char *name, unsigned limit, const cpu_set_t *cpus,
                                       struct coir_workers *next);

/* Another limit. Threads beyond it end when they are idle. */
void coir_workers_limit(struct coir_workers *w, unsigned limit);

void coir_workers_count(struct coir_workers *w, struct coir_pool_counts *out);

const char *coir_workers_name(const struct coir_workers *w);

/* The pool of that name in a list, or NULL. */
struct coir_workers *coir_workers_find(struct coir_workers *list, const char *name);

/* Ends all pools of a list; their queues are empty. Blocks until every thread has ended. */
void coir_workers_close_all(struct coir_workers *list);

#endif
