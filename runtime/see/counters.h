/* SPDX-License-Identifier: MIT */
/*
 * What there is to count of a shard: the one table that the metrics, the answers of the see socket, and the tests are
 * made of. A member of struct coir_stats that has no row here does not compile: its place and the number of rows are
 * compared.
 *
 * A row is X(member, kind, what it is); kind is `counter`, which only grows, or `gauge`, which is how it is now.
 */
#ifndef COIR_RUNTIME_SEE_COUNTERS_H
#define COIR_RUNTIME_SEE_COUNTERS_H

#include <coir/see.h>

#include "runtime/shard/run.h"

/* The members of struct coir_stats, in their order. */
#define COIR_COUNTERS(X) \
    X(tasks, counter, "Tasks begun by spawning") \
    X(ended, counter, "Spawned tasks that have ended") \
    X(steps, counter, "Resumptions by the loop") \
    X(turns, counter, "Rounds of the loop") \
    X(queued_awaits, counter, "Awaits that were queued, since the nesting or the awaits of a step were used up") \
    X(allocations, counter, "Frames and other blocks taken from the pool") \
    X(chunks, counter, "Chunks of memory taken from the allocator for the pool") \
    X(submissions, counter, "Operations given to the ring, or begun by system call or on a pool") \
    X(completions, counter, "Operations that have ended") \
    X(syscalls, counter, "System calls made for the plane and its operations") \
    X(messages, counter, "Letters delivered from other threads") \
    X(stale, counter, "Completions of operations that were over, dropped") \
    X(accepts, counter, "Connections accepted") \
    X(slow_steps, counter, "Steps that took longer than COIR_SLOW_MS") \
    X(queue_high, gauge, "Most tasks that one turn found ready")

/* What is not counted but is there: the members of struct coir_snapshot behind `stats`. */
#define COIR_GAUGES(X) \
    X(live, gauge, "Spawned tasks that have not ended") \
    X(timers, gauge, "Deadlines and sleeps that are set") \
    X(in_flight, gauge, "Operations that have begun and not ended") \
    X(blocks, gauge, "Blocks of the pool in use, by the shard that allocated less those it freed") \
    X(asleep, gauge, "1 while the shard waits in the kernel")

/* One shard, as it is now. */
struct coir_snapshot {
    struct coir_stats stats;
#define COIR_MEMBER_(name, kind, help) uint64_t name;
    COIR_GAUGES(COIR_MEMBER_)
#undef COIR_MEMBER_
    uint64_t cpu;                       /* ns that its thread has run, in the kernel too */
};

enum {
#define COIR_PLACE_(name, kind, help) COIR_COUNTER_##name,
    COIR_COUNTERS(COIR_PLACE_)
#undef COIR_PLACE_
    COIR_COUNTER_ROWS
};

#define COIR_CHECK_(name, kind, help) \
    _Static_assert(offsetof(struct coir_stats, name) == COIR_COUNTER_##name * sizeof(uint64_t), \
                   #name ": COIR_COUNTERS has another order than struct coir_stats");
COIR_COUNTERS(COIR_CHECK_)
#undef COIR_CHECK_
_Static_assert(sizeof(struct coir_stats) == COIR_COUNTER_ROWS * sizeof(uint64_t),
               "a member of struct coir_stats has no row in COIR_COUNTERS");

/* A row of the two tables. `at`: where in a struct coir_snapshot. */
struct coir_metric {
    const char *name, *help;
    bool grows;
    uint16_t at;
};

extern const struct coir_metric coir_metric_table[];
extern const unsigned coir_metric_count;

static inline uint64_t coir_metric_value(const struct coir_metric *m, const struct coir_snapshot *s)
{
    return *(const uint64_t *)((const char *)s + m->at);
}

/* Reads a shard from whichever thread, while the run is held open: each value in one piece, and of no one moment. */
void coir_snapshot_take(const struct coir_shard *s, struct coir_snapshot *out);

/* What coir_metrics prints, of a run that is held open. -ENOMEM, or -EIO when `to` did not take it. */
int coir_metrics_of(const struct coir_runtime *run, FILE *to);

#endif
