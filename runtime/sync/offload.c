/* SPDX-License-Identifier: MIT */
/*
 * coir_offload: a function on a pool's thread, awaited. The job lies in the operation's frame, which the pool
 * has from the submission until it comes home or is revoked; meanwhile the shard touches it only through
 * coir_workers_revoke.
 */
#include <coir/offload.h>
#include <string.h>

#include "runtime/shard/run.h"
#include "runtime/sync/dump.h"

struct offload {
    struct coir_job job;
    struct coir_workers *pool;
};
_Static_assert(sizeof(struct offload) <= sizeof ((struct coir_offload *)0)->private_, "a job fits into its frame");

static struct offload *private_of(struct coir_offload *op)
{
    return (struct offload *)(void *)op->private_;
}

static struct coir_offload *op_of(struct coir_job *job)
{
    return (struct coir_offload *)(void *)((char *)job - offsetof(struct coir_offload, private_));
}

/* ---- pools ---- */

/* The pool of that name, or NULL: then *err is -ENOENT, or -ENOMEM for one that is always there. */
static struct coir_workers *find(struct coir_runtime *run, const char *name, int *err)
{
    struct coir_workers *w;

    if (!name || !strcmp(name, "default")) {
        w = coir_run_workers(run, "default", COIR_POOL_THREADS);
        *err = -ENOMEM;
    } else if (!strcmp(name, "file")) {
        w = coir_file_workers(run);
        *err = -ENOMEM;
    } else {
        pthread_mutex_lock(&run->pools_lock);
        w = coir_workers_find(run->pools, name);
        pthread_mutex_unlock(&run->pools_lock);
        *err = -ENOENT;
    }
    return w;
}

int coir_pool_limit(const char *name, unsigned threads)
{
    const struct coir_shard *s = coir_shard_here();
    struct coir_workers *w;

    if (!name)
        name = "default";
    if (!s || !threads || threads > COIR_POOL_THREADS_MAX || !*name || strlen(name) > COIR_POOL_NAME_MAX)
        return -EINVAL;
    w = coir_run_workers(s->run, name, threads);
    if (!w)
        return -ENOMEM;
    coir_workers_limit(w, threads);
    return 0;
}

int coir_pool_stats(const char *name, struct coir_pool_counts *out)
{
    const struct coir_shard *s = coir_shard_here();
    struct coir_workers *w;

    if (!s)
        return -EINVAL;
    pthread_mutex_lock(&s->run->pools_lock);
    w = coir_workers_find(s->run->pools, name ? name : "default");
    pthread_mutex_unlock(&s->run->pools_lock);
    if (!w)
        return -ENOENT;
    coir_workers_count(w, out);
    return 0;
}

/* ---- the operation ---- */

static void run(struct coir_job *job)
{
    struct coir_offload *op = op_of(job);

    op->result = op->fn(op->arg);
}

static void home(struct coir_shard *s, struct coir_job *job)
{
    COIR_NOTE(s, coir_noted_offload_end(s, &op_of(job)->task));
    coir_wake(&op_of(job)->task);
}

static const struct coir_job_kind offload_job = { .run = run, .home = home };

static void offload_abort(struct coir_task *t)
{
    struct offload *p = private_of((struct coir_offload *)t);

    if (!coir_workers_revoke(p->pool, &p->job))
        return;                              /* it runs: its end is waited for */
    t->status = -ECANCELED;
    COIR_NOTE(coir_shard_here(), coir_noted_offload_end(coir_shard_here(), t));
    coir_wake(t);
}

static int begin(struct coir_offload *op)
{
    struct offload *p = private_of(op);
    int err;

    if (!op->fn || coir_arguments_live(&op->task, op->arg, "coir_offload")
        || coir_arguments_live(&op->task, op->pool, "coir_offload"))
        return -EFAULT;
    if (coir_is_refused(&op->task))
        return -ECANCELED;
    p->pool = find(coir_shard_here()->run, op->pool, &err);
    return p->pool ? coir_workers_submit(p->pool, &p->job, &offload_job) : err;
}

coir_step coir_offload_resume(struct coir_task *t)
{
    struct coir_offload *op = (struct coir_offload *)t;

    if (t->state == 0) {
        t->status = begin(op);
        if (t->status == 0) {
            COIR_NOTE(coir_shard_here(), coir_noted_offload(coir_shard_here(), t));
            t->state = 1;
            t->waits_for = private_of(op)->pool;
            t->abort = offload_abort;
            return COIR_PARK_;
        }
    }
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

bool coir_dump_offload(FILE *to, const struct coir_task *t)
{
    struct offload *p = private_of((struct coir_offload *)(void *)t);

    if (t->body != coir_offload_resume || t->abort != offload_abort)
        return false;
    fprintf(to, "%s pool \"%s\"", coir_workers_queued(p->pool, &p->job) ? "is queued for" : "waits for a function on",
            coir_workers_name(p->pool));
    return true;
}
