/* SPDX-License-Identifier: MIT */
/*
 * coir/offload.h - blocking and long functions on pools of threads, so that they do not stall a shard.
 *
 *     static int64_t compress(void *arg) { struct job *j = arg; ... return bytes; }
 *
 *     coir_get(f, f->bytes, &f->offload, coir_offload, .fn = compress, .arg = &f->job);
 *
 * A pool has a name, a bound on its threads and a queue. There are "default", and "file", where coir's own
 * file operations run; a program makes others with coir_pool_limit, so that slow work of one kind never
 * starves another. Threads start when there is work and nobody idle, run with every signal blocked, and end
 * after ten idle seconds, or with the run. Pools last as long as the run.
 */
#ifndef COIR_OFFLOAD_H
#define COIR_OFFLOAD_H

#include <coir/scope.h>

#ifdef __cplusplus
extern "C" {
#endif
# 23 "coir/offload.h"

/* Threads that a pool may have unless coir_pool_limit says otherwise; at most; the longest name of a pool. */
enum { COIR_POOL_THREADS = 8, COIR_POOL_THREADS_MAX = 64, COIR_POOL_NAME_MAX = 23 };

/*
 * Runs fn(arg) on a thread of `pool` (NULL: "default") and waits for it. The status is 0 once it has run,
 * whatever it returned; the result is what it returned. `arg` is the function's until then; it may be the
 * awaiter's frame. The function is on no shard: it may block and call what says "any thread".
 *
 *   -ECANCELED   the scope was cancelled before it began: it has not run and will not
 *   -ENOENT      there is no pool of that name
 *   -EAGAIN      the pool has no thread, and none could be started
 *   -EFAULT      fn is NULL, or `arg` or `pool` lies on the C stack
 *   -ENOMEM
 *
 * Once it runs it is waited for to its end, also when it was cancelled or its deadline has passed: nothing
 * can take a function off a thread. Its status is 0 then. A function that may take long should look at a
 * flag of its own.
 */
struct coir_offload {
    coir_frame(int64_t);
    coir_args(const char *pool; int64_t (*fn)(void *arg); void *arg;);
    void *private_[8];
};
coir_export(coir_offload);

/*
 * Makes the pool `name` with at most `threads` threads, or sets the bound of the one that is there: threads
 * beyond a lower one end when they have nothing to do. NULL: "default". On a shard. 0, or -EINVAL for 0 or
 * more than COIR_POOL_THREADS_MAX threads, a name that is empty or longer than COIR_POOL_NAME_MAX, or where
 * no shard runs; -ENOMEM.
 */
COIR_API int coir_pool_limit(const char *name, unsigned threads);

/* What coir_pool_stats tells of a pool. */
struct coir_pool_counts {
    unsigned limit;             /* threads it may have */
    unsigned threads;           /* it has */
    unsigned queued;            /* jobs that have not begun */
    unsigned running;           /* jobs that have */
    unsigned orphans;           /* of those, the ones whose awaiter was cancelled: they run to their end */
    uint64_t done;              /* jobs that have ended on a thread */
};

/* Fills `out`: a snapshot. NULL: "default". On a shard. 0, -ENOENT for a pool that is not there (not used
 * yet, for "default" and "file"), -EINVAL where no shard runs. */
COIR_API int coir_pool_stats(const char *name, struct coir_pool_counts *out);

#ifdef __cplusplus
}
#endif
#endif
