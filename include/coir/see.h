/* SPDX-License-Identifier: MIT */
/*
 * coir/see.h - seeing what a program does.
 */
#ifndef COIR_SEE_H
#define COIR_SEE_H

#include <coir/task.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif
# 15 "coir/see.h"

/* Counters of one shard since it began. They are exact: tests assert them. */
struct coir_stats {
    uint64_t tasks;             /* begun by spawning */
    uint64_t ended;             /* of those */
    uint64_t steps;             /* resumptions by the loop */
    uint64_t turns;             /* rounds of the loop: run, submit, reap */
    uint64_t queued_awaits;     /* awaits that were queued: the nesting or a step's awaits were used up */
    uint64_t allocations;       /* frames and other blocks from the shard's pool */
    uint64_t chunks;            /* of memory taken from the allocator for the pool */
    /* operations given to the kernel's ring, or begun by system call or on a pool */
    uint64_t submissions;
    uint64_t completions;       /* operations that have ended */
    uint64_t syscalls;          /* system calls the shard's thread made for the plane and its operations */
    uint64_t messages;          /* letters delivered from other threads */
    uint64_t stale;             /* completions of operations that were over, dropped */
    uint64_t accepts;           /* connections this shard accepted */
    uint64_t slow_steps;        /* that the watchdog has reported: coir_options.slow_ms */
    uint64_t queue_high;        /* most tasks that one turn found ready */
};

/* Fills `out` with the counters of shard `shard`. From that shard's thread exact; from another thread a
 * snapshot that may be torn between counters. 0, or -EINVAL for a shard that is not there. */
#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"     /* a function and a structure of one name, as stat(2) has them */
#endif
COIR_API int coir_stats(unsigned shard, struct coir_stats *out);
#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

/*
 * Writes every counter and gauge of every shard as OpenMetrics 1.0, which Prometheus and its kin read over HTTP as
 * "application/openmetrics-text; version=1.0.0; charset=utf-8": each member of struct coir_stats as coir_NAME (of those
 * that count the sample is coir_NAME_total), coir_cpu_seconds, coir_start_time_seconds, and what there is at the
 * moment: coir_live, coir_timers, coir_in_flight, coir_blocks, coir_asleep; labelled shard and plane.
 * examples/metrics.c serves it.
 *
 * Any thread. The shards are read before anything is written, and go on meanwhile: as coir_stats, a snapshot. `to` may
 * block, on a shard's thread its shard: there it is a stream in memory (open_memstream). 0; -EINVAL where no program
 * runs, and nothing is written; -ENOMEM; -EIO when `to` did not take it.
 */
COIR_API int coir_metrics(FILE *to);

/* The calling shard's I/O plane: "uring" or "epoll"; "" where no shard runs. Static. */
COIR_API const char *coir_plane_name(void);

/* Prints every task of the calling shard: name, state, where it stands and since which await, who awaits
 * whom, what each leaf waits for. The shard's thread. */
COIR_API void coir_dump(FILE *to);

/* Writes the last events of every shard to `fd`, in lines, the oldest first, at most `most` of each (0: all that are
 * kept): who was spawned, resumed, parked and ended where, operations, cancellations, letters. They are kept by
 * programs compiled with -DCOIR_DEBUG, and by all others where COIR_RECORD=N in the environment says how many; after
 * a run they are there until the next one begins. Nothing is written when there are none. Any thread, while shards
 * run; also from a signal handler. */
COIR_API void coir_recorder_write(int fd, unsigned most);

#ifdef __cplusplus
}
#endif
#endif
