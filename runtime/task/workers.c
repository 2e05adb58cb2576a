/* SPDX-License-Identifier: MIT */
/*
 * Worker pools. The queue of a pool is a list under its lock; jobs are long, so the lock is not what costs.
 *
 * Invariants: 1. a job is in the queue, or running, or on its way home, and nobody but the pool touches it
 * before it is home, except coir_workers_revoke, under the lock. 2. Each submission counts as an outside wait
 * of its shard until it is home, so that a program that waits for a pool is not taken for a deadlock.
 */
#include "runtime/task/workers.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct coir_worker_job;

struct coir_workers {
    struct coir_workers *next;
    char name[24];
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct coir_job *head, **tail;
    unsigned limit, threads, idle;
    unsigned queued;
    bool ending;
    pthread_t thread[COIR_WORKERS_MAX];
};

static void deliver(struct coir_shard *s, struct coir_letter *letter)
{
    struct coir_job *job = coir_container_of(letter, struct coir_job, letter);

    coir_external(s, -1);
    job->home(s, job);
}

static struct coir_job *next_job(struct coir_workers *w)
{
    struct coir_job *job = w->head;

    w->head = (struct coir_job *)(void *)job->letter.msg.next;
    if (!w->head)
        w->tail = &w->head;
    w->queued--;
    job->letter.msg.next = NULL;
    return job;
}

static void *worker(void *arg)
{
    struct coir_workers *w = arg;

    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (!w->head && !w->ending) {
            w->idle++;
            pthread_cond_wait(&w->work, &w->lock);
            w->idle--;
        }
        if (!w->head)
            break;
        struct coir_job *job = next_job(w);
        struct coir_shard *home = job->shard;
        pthread_mutex_unlock(&w->lock);
        job->run(job);
        coir_post(home, &job->letter);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* With every signal blocked, so that the program's handlers run on its own threads. */
static int start_thread(struct coir_workers *w)
{
    sigset_t all, before;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = coir_alloc_fails() ? EAGAIN : pthread_create(&w->thread[w->threads], NULL, worker, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!err)
        w->threads++;
    return err;
}

int coir_workers_submit(struct coir_workers *w, struct coir_job *job, void (*run)(struct coir_job *),
                        void (*home)(struct coir_shard *, struct coir_job *))
{
    struct coir_shard *s = coir_shard_here();

    if (!w)
        return -ENOMEM;
    job->letter.deliver = deliver;
    job->letter.msg.next = NULL;
    job->run = run;
    job->home = home;
    job->shard = s;
    pthread_mutex_lock(&w->lock);
    if (w->queued >= w->idle && w->threads < w->limit && start_thread(w) && w->threads == 0) {
        pthread_mutex_unlock(&w->lock);
        return -EAGAIN;
    }
    coir_external(s, 1);
    *w->tail = job;
    w->tail = (struct coir_job **)(void *)&job->letter.msg.next;
    w->queued++;
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->lock);
    return 0;
}

bool coir_workers_revoke(struct coir_workers *w, struct coir_job *job)
{
    struct coir_job **at = &w->head;

    pthread_mutex_lock(&w->lock);
    while (*at && *at != job)
        at = (struct coir_job **)(void *)&(*at)->letter.msg.next;
    const bool found = *at;
    if (found) {
        *at = (struct coir_job *)(void *)job->letter.msg.next;
        if (!*at)
            w->tail = at;
        w->queued--;
        coir_external(job->shard, -1);
    }
    pthread_mutex_unlock(&w->lock);
    return found;
}

struct coir_workers *coir_workers_open(const char *name, unsigned limit, struct coir_workers *next)
{
    struct coir_workers *w = coir_alloc_fails() ? NULL : calloc(1, sizeof *w);

    if (!w)
        return NULL;
    strncpy(w->name, name, sizeof w->name - 1);
    w->limit = limit < COIR_WORKERS_MAX ? limit : COIR_WORKERS_MAX;
    w->tail = &w->head;
    w->next = next;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, NULL);
    return w;
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
        for (unsigned i = 0; i < list->threads; i++)
            pthread_join(list->thread[i], NULL);
        pthread_cond_destroy(&list->work);
        pthread_mutex_destroy(&list->lock);
        free(list);
    }
}
