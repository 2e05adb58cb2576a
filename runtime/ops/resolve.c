/* SPDX-License-Identifier: MIT */
/*
 * Looking names up: getaddrinfo on a pool of threads of its own, so that slow name servers keep nothing waiting
 * but each other. Numbers are answered on the spot.
 *
 * While a look-up runs its frame and the memory it names belong to the pool's thread; a look-up that has begun
 * cannot be stopped, so a cancelled one is waited for.
 */
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "runtime/ops/net.h"
#include "runtime/shard/run.h"


_Static_assert(sizeof(struct coir_job) <= sizeof ((struct coir_resolve *)0)->job, "a job fits into its frame");

static struct coir_job *job_of(struct coir_resolve *op)
{
    return (struct coir_job *)(void *)op->job;
}

static struct coir_resolve *op_of(struct coir_job *job)
{
    return (struct coir_resolve *)(void *)((char *)job - offsetof(struct coir_resolve, job));
}

static struct coir_workers *pool(void)
{
    return coir_run_workers(coir_shard_here()->run, "name", COIR_NAME_THREADS);
}

/* What getaddrinfo says into ours. */
static int status_of(int said)
{
    switch (said) {
    case 0: return 0;
    case EAI_NONAME: case EAI_NODATA: case EAI_ADDRFAMILY: return -ENOENT;
    case EAI_AGAIN: return -EAGAIN;
    case EAI_SERVICE: return -EINVAL;
    case EAI_MEMORY: return -ENOMEM;
    case EAI_FAMILY: case EAI_SOCKTYPE: return -EAFNOSUPPORT;
    case EAI_SYSTEM: return errno > 0 ? -errno : -EIO;
    default: return -EIO;
    }
}

/* The answer into the caller's memory: how many. */
static int take(const struct coir_resolve *op, const struct addrinfo *list)
{
    size_t n = 0;

    for (; list && n < op->max; list = list->ai_next) {
        if (list->ai_addrlen > sizeof *op->addrs)
            continue;
        memset(&op->addrs[n], 0, sizeof op->addrs[n]);
        memcpy(&op->addrs[n++], list->ai_addr, list->ai_addrlen);
    }
    return n ? (int)n : -ENOENT;
}

/* A number that is no port: getaddrinfo would take the low 16 bits of it, and a sign. */
static bool is_no_port(const char *service)
{
    char *end;
    const unsigned long n = strtoul(service, &end, 10);

    return end != service && !*end && (n > UINT16_MAX || service[0] < '0' || service[0] > '9');
}

static int look_up(const struct coir_resolve *op, int flags)
{
    const struct addrinfo hints = { .ai_family = op->family, .ai_socktype = SOCK_STREAM, .ai_flags = flags };
    struct addrinfo *list = NULL;
    int said, answer;

    if (op->service && is_no_port(op->service))
        return -EINVAL;
    said = getaddrinfo(op->host, op->service, &hints, &list);
    if (said)
        return status_of(said);
    answer = take(op, list);
    freeaddrinfo(list);
    return answer;
}

/* ---- on the pool ---- */

static void run(struct coir_job *job)
{
    struct coir_resolve *op = op_of(job);

    op->answer = look_up(op, 0);
}

static void home(struct coir_shard *s, struct coir_job *job)
{
    (void)s;
    coir_wake(&op_of(job)->task);
}

static const struct coir_job_kind name_job = { .run = run, .home = home };

static void resolve_abort(struct coir_task *t)
{
    struct coir_resolve *op = (struct coir_resolve *)t;

    if (!coir_workers_revoke(pool(), job_of(op)))
        return;                              /* it runs: its end is waited for */
    op->answer = -ECANCELED;
    coir_wake(t);
}

/* ---- the operation ---- */

static int check(struct coir_resolve *op)
{
    struct coir_task *t = &op->task;

    if (coir_check_pointer(t, op->addrs, "coir_resolve") < 0 || coir_arguments_live(t, op->host, "coir_resolve")
        || coir_arguments_live(t, op->service, "coir_resolve"))
        return -EFAULT;
    if (!op->max || (!op->host && !op->service))
        return -EINVAL;
    return 0;
}

/* True: it has ended, with its answer. Once it is submitted the answer is the thread's to write. */
static bool ended_at_once(struct coir_resolve *op)
{
    int err;

    op->answer = check(op);
    if (op->answer)
        return true;
    op->answer = look_up(op, AI_NUMERICHOST | AI_NUMERICSERV);
    if (op->answer > 0 || op->answer == -ENOMEM || op->answer == -EAFNOSUPPORT)
        return true;
    if (coir_is_refused(&op->task)) {
        op->answer = -ECANCELED;
        return true;
    }
    err = coir_workers_submit(pool(), job_of(op), &name_job);
    if (err)
        op->answer = err;
    return err != 0;
}

coir_step coir_resolve_resume(struct coir_task *t)
{
    struct coir_resolve *op = (struct coir_resolve *)t;

    if (t->state == 0 && !ended_at_once(op)) {
        t->state = 1;
        t->abort = resolve_abort;
        return COIR_PARK_;
    }
    if (op->answer < 0)
        t->status = op->answer;
    else
        op->result = (size_t)op->answer;
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}
