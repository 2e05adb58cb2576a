/* SPDX-License-Identifier: MIT */
/*
 * Worker pools. The queue of a pool is a list under its lock; jobs are long, so the lock is not what costs.
 *
 * Invariants: 1. a job is in the queue, or running, or on its way home, and nobody but the pool touches it
 * before it is home, except coir_workers_revoke, under the lock. 2. Each submission counts as an outside wait
 * of its shard until it is home, so that a program that waits for a pool is not taken for a deadlock.
 * 3. Every thread is joined: by close_all, or, when it has ended by itself, by whoever starts the next one.
 */
#include "runtime/task/workers.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/thread.h"

struct worker {
    struct coir_workers *pool;
    pthread_t thread;
    bool owed_join;                  /* it was started: only who starts and joins threads writes this */
    bool ended;                      /* by itself: its join will not wait */
};

struct coir_workers {
    struct coir_workers *next;
    char name[COIR_POOL_NAME_MAX + 1];
    pthread_mutex_t lock;
    pthread_cond_t work;
    const cpu_set_t *cpus;
    struct coir_job *head, **tail;
    struct coir_pool_counts count;   /* its `queued` and `threads` are the truth */
    unsigned idle;                   /* threads that wait for work, woken or not, or soon will */
    bool ending;
    struct worker workers[COIR_POOL_THREADS_MAX];
};

int64_t coir_workers_patience = 10 * COIR_S;

static void deliver(struct coir_shard *s, struct coir_letter *letter)
{
    struct coir_job *job = coir_container_of(letter, struct coir_job, letter);

    coir_external(s, -1);
    s->jobs--;
    job->kind->home(s, job);
}

/* ---- the queue; under the lock ---- */

static struct coir_job *next_of(const struct coir_job *job)
{
    return (struct coir_job *)(void *)job->letter.msg.next;
}

static struct coir_job **link_of(struct coir_job *job)
{
    return (struct coir_job **)(void *)&job->letter.msg.next;
}

static void push(struct coir_workers *w, struct coir_job *job)
{
    job->state = COIR_JOB_QUEUED;
    job->letter.msg.next = NULL;
    *w->tail = job;
    w->tail = link_of(job);
    w->count.queued++;
}

/* Takes the job that `at` points at out of the queue. */
static struct coir_job *take(struct coir_workers *w, struct coir_job **at)
{
    struct coir_job *job = *at;

    *at = next_of(job);
    if (!*at)
        w->tail = at;
    job->letter.msg.next = NULL;
    w->count.queued--;
    return job;
}

/* ---- a thread ---- */

/* Runs the oldest job, without the lock. */
static void run_one(struct coir_workers *w)
{
    struct coir_job *job = take(w, &w->head);
    struct coir_shard *home = job->shard;

    job->state = COIR_JOB_RUNNING;
    w->count.running++;
    pthread_mutex_unlock(&w->lock);
    job->kind->run(job);
    pthread_mutex_lock(&w->lock);
    job->state = COIR_JOB_AWAY;
    w->count.running--;
    w->count.done++;
    w->count.orphans -= job->orphan;
    w->idle++;                       /* it is about to look for work: nobody need be started for the next job */
    pthread_mutex_unlock(&w->lock);
    coir_post(home, &job->letter);
    pthread_mutex_lock(&w->lock);
    w->idle--;
}

static struct timespec in(int64_t ns)
{
    const int64_t at = coir_clock_monotonic() + ns;

    return (struct timespec){ .tv_sec = at / COIR_S, .tv_nsec = at % COIR_S };
}

/* Waits for something to do. False: there is nothing, or one thread too many for it; this one is to end. */
static bool wait_for_work(struct coir_workers *w)
{
    const struct timespec until = in(coir_workers_patience);
    int late = 0;

    while (!w->head && !w->ending && !late && w->count.threads <= w->count.limit) {
        w->idle++;
        late = pthread_cond_timedwait(&w->work, &w->lock, &until);
        w->idle--;
    }
    if (w->head && w->count.threads > w->count.limit) {
        pthread_cond_signal(&w->work);               /* it may have been this one that was woken for it */
        return false;
    }
    return w->head;
}

static void *work(void *arg)
{
    struct worker *self = arg;
    struct coir_workers *w = self->pool;

    pthread_setname_np(pthread_self(), w->name);     /* fails for names of more than 15 bytes */
    if (w->cpus)                                     /* not on the shard's that has started it, which is busy */
        sched_setaffinity(0, sizeof *w->cpus, w->cpus);
    pthread_mutex_lock(&w->lock);
    while (wait_for_work(w))
        run_one(w);
    w->count.threads--;
    self->ended = true;
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* With every signal blocked, so that the program's handlers run on its own threads. */
static int create(struct worker *worker)
{
    sigset_t before;
    int err;

    coir_block_signals(&before);
    err = coir_alloc_fails() ? EAGAIN : pthread_create(&worker->thread, NULL, work, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err;
}

/* True when a thread has been started. Those that ended by themselves are buried on the way: they have let
 * go of the lock and are done. */
static bool start_thread(struct coir_workers *w)
{
    struct worker *place = NULL;

    for (size_t i = 0; i < COIR_POOL_THREADS_MAX; i++) {
        struct worker *worker = &w->workers[i];
        if (worker->owed_join && worker->ended) {
            pthread_join(worker->thread, NULL);
            worker->owed_join = false;
        }
        if (!worker->owed_join && !place)
            place = worker;
    }
    if (!place)
        return false;
    place->pool = w;
    place->ended = false;
    if (create(place))
        return false;
    place->owed_join = true;
    w->count.threads++;
    return true;
}

/* ---- jobs ---- */

int coir_workers_submit(struct coir_workers *w, struct coir_job *job, const struct coir_job_kind *kind)
{
    struct coir_shard *s = coir_shard_here();
    bool taken;

    if (!w)
        return -ENOMEM;
    job->letter.deliver = deliver;
    job->kind = kind;
    job->shard = s;
    job->orphan = false;
    pthread_mutex_lock(&w->lock);
    if (w->count.queued >= w->idle && w->count.threads < w->count.limit)
        start_thread(w);
    taken = w->count.threads > 0;
    if (taken) {
        coir_external(s, 1);
        s->jobs++;
        push(w, job);
        pthread_cond_signal(&w->work);
    }
    pthread_mutex_unlock(&w->lock);
    return taken ? 0 : -EAGAIN;
}

bool coir_workers_revoke(struct coir_workers *w, struct coir_job *job)
{
    struct coir_job **at = &w->head;

    pthread_mutex_lock(&w->lock);
    const bool found = job->state == COIR_JOB_QUEUED;
    if (found) {
        while (*at != job)
            at = link_of(*at);
        take(w, at);
        coir_external(job->shard, -1);
        job->shard->jobs--;
    } else if (job->state == COIR_JOB_RUNNING && !job->orphan) {
        job->orphan = true;
        w->count.orphans++;
    }
    pthread_mutex_unlock(&w->lock);
    return found;
}

bool coir_workers_queued(struct coir_workers *w, const struct coir_job *job)
{
    pthread_mutex_lock(&w->lock);
    const bool queued = job->state == COIR_JOB_QUEUED;
    pthread_mutex_unlock(&w->lock);
    return queued;
}

/* ---- pools ---- */

struct coir_workers *coir_workers_open(const char *name, unsigned limit, const cpu_set_t *cpus,
                                       struct coir_workers *next)
{
    struct coir_workers *w = coir_alloc_fails() ? NULL : calloc(1, sizeof *w);
    pthread_condattr_t monotonic;

    if (!w)
        return NULL;
    strncpy(w->name, name, sizeof w->name - 1);
    w->count.limit = limit < COIR_POOL_THREADS_MAX ? limit : COIR_POOL_THREADS_MAX;
    w->tail = &w->head;
    w->cpus = cpus;
    w->next = next;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return w;
}

void coir_workers_limit(struct coir_workers *w, unsigned limit)
{
    pthread_mutex_lock(&w->lock);
    w->count.limit = limit;
    for (unsigned n = w->idle; n < w->count.queued && w->count.threads < limit && start_thread(w); n++)
        ;
    pthread_cond_broadcast(&w->work);
    pthread_mutex_unlock(&w->lock);
}

void coir_workers_count(struct coir_workers *w, struct coir_pool_counts *out)
{
    pthread_mutex_lock(&w->lock);
    *out = w->count;
    pthread_mutex_unlock(&w->lock);
}

const char *coir_workers_name(const struct coir_workers *w)
{
    return w->name;
}

struct coir_workers *coir_workers_find(struct coir_workers *list, const char *name)
{
    while (list && strcmp(list->name, name) != 0)
        list = list->next;
    return list;
}

void coir_workers_close_all(struct coir_workers *list)
{
    for (struct coir_workers *next; list; list = next) {
        next = list->next;
        pthread_mutex_lock(&list->lock);
        list->ending = true;
        pthread_cond_broadcast(&list->work);
        pthread_mutex_unlock(&list->lock);
        for (unsigned i = 0; i < COIR_POOL_THREADS_MAX; i++) {
            if (list->workers[i].owed_join)
                pthread_join(list->workers[i].thread, NULL);
        }
        pthread_cond_destroy(&list->work);
        pthread_mutex_destroy(&list->lock);
        free(list);
    }
}
