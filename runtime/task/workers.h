/* SPDX-License-Identifier: MIT */
/*
 * Pools of threads for calls that block: named, bounded, each with a queue of its own, so that slow names
 * never starve files. A job lies in its owner's memory; it runs on some thread of its pool and then comes
 * home by letter.
 *
 * Threads start when there is work and nobody idle, up to the pool's limit, and end when the run does.
 */
#ifndef COIR_RUNTIME_TASK_WORKERS_H
#define COIR_RUNTIME_TASK_WORKERS_H

#include "runtime/task/home.h"

enum { COIR_WORKERS_MAX = 64 };

struct coir_workers;

struct coir_job {
    struct coir_letter letter;       /* its link is the pool's queue, then the way home */
    void (*run)(struct coir_job *);  /* on a thread of the pool */
    void (*home)(struct coir_shard *, struct coir_job *); /* then, on the shard that submitted it */
    struct coir_shard *shard;
};

/* Queues a job of the calling shard's. 0; -ENOMEM for a NULL pool, -EAGAIN when it has no thread and
 * none could be started. */
int coir_workers_submit(struct coir_workers *w, struct coir_job *job, void (*run)(struct coir_job *),
                        void (*home)(struct coir_shard *, struct coir_job *));

/* Takes a job back that has not begun. False: it runs, or has run, and its way home goes on. */
bool coir_workers_revoke(struct coir_workers *w, struct coir_job *job);

/* Makes a pool, in front of `next`; NULL for no memory. `limit` threads at most, up to COIR_WORKERS_MAX. */
struct coir_workers *coir_workers_open(const char *name, unsigned limit, struct coir_workers *next);

/* The pool of that name in a list, or NULL. */
struct coir_workers *coir_workers_find(struct coir_workers *list, const char *name);

/* Ends all pools of a list; their queues are empty. Blocks until every thread has ended. */
void coir_workers_close_all(struct coir_workers *list);

#endif
