/* SPDX-License-Identifier: MIT */
/*
 * The timers of a shard: a hierarchical timing wheel with a resolution of 1 ns over all of int64_t. It owns
 * no memory but its slots; a timer lives in its caller's memory (a frame), which must stay where it is
 * while the timer is armed. One thread at a time. It reads no clock: it is told what time it is.
 *
 * Timers fire in exact order: by deadline, and first armed first among equal ones. Arming, removing and
 * firing are O(1): a timer is moved at most once a level on its way down.
 *
 *      level    0      1        2       3      4      5      6      7
 *      a slot   1 ns   256 ns   65 us   17 ms  4.3 s  18 min 3.3 d  2.3 y
 *
 * Invariants, `time` being the wheel's own time:
 *   1. time <= the largest `now` ever given to pop, and it never goes backwards.
 *   2. A timer with at >= time is on the level of the highest byte in which `at` and `time` differ (level 0
 *      when they are equal), in the slot that this byte of `at` names. It is a function of (at, time)
 *      alone, so equal deadlines share a list, in order of arming.
 *   3. Hence all timers of a level are earlier than those of the levels above, no slot before the one of
 *      `time` is used, and the one of `time` itself is used on level 0 only.
 *   4. A timer with at < time at arming is in the `due` list and earlier than everything in the slots.
 *   5. `soonest` is the earliest deadline, or COIR_WHEEL_UNKNOWN; it is never wrong.
 */
#ifndef COIR_RUNTIME_BASE_WHEEL_H
#define COIR_RUNTIME_BASE_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/torture.h"

#define COIR_WHEEL_SLOTS (1 << COIR_WHEEL_BITS)
#define COIR_WHEEL_WORDS ((COIR_WHEEL_SLOTS + 63) / 64)
#define COIR_WHEEL_UNKNOWN INT64_MIN

/* A timer. Its caller reads `at` as long as it is armed and sets next = NULL before its first use, if it
 * wants to ask coir_timer_armed(); the rest is the wheel's. */
#ifndef COIR_TIMER_DECLARED
#define COIR_TIMER_DECLARED
struct coir_timer {
    struct coir_timer *prev, *next; /* next == NULL: not armed */
    int64_t at;                     /* the deadline, in ns of the shard's clock */
};
#endif

_Static_assert(sizeof(struct coir_timer) == 24, "a timer is part of every sleeping frame");

/* About 48 KiB, of which memory is touched only where timers are: the head of a slot is written when its
 * first timer comes, and read only while its bit in `used` is set. */
struct coir_wheel {
    int64_t time;                /* inv 1 */
    int64_t soonest;             /* inv 5; INT64_MAX when empty */
    size_t count;                /* armed timers; read it freely */
    unsigned levels;             /* bit n: level n has a timer */
    bool due_unsorted;           /* `due` is in order of arming, not yet of deadlines */
    struct coir_timer due;       /* inv 4 */
    uint64_t used[COIR_WHEEL_LEVELS][COIR_WHEEL_WORDS]; /* a bit a slot: it has a timer */
    struct coir_timer slot[COIR_WHEEL_LEVELS][COIR_WHEEL_SLOTS]; /* heads of circular lists; `at` unused */
};

/* Makes an empty wheel whose time is now (>= 0). */
void coir_wheel_init(struct coir_wheel *wheel, int64_t now);

/* Arms a timer that is not armed. Any deadline is allowed; one that has passed fires at the next pop, still
 * in order of deadline among those that have not fired. What the timer held before is not read: its memory
 * may be raw. */
void coir_wheel_add(struct coir_wheel *wheel, struct coir_timer *timer, int64_t at);

/* Disarms an armed timer, in O(1). timer->next is NULL afterwards, as it is after a pop. */
void coir_wheel_remove(struct coir_wheel *wheel, struct coir_timer *timer);

/* True between arming and firing or removal. */
static inline bool coir_timer_armed(const struct coir_timer *timer)
{
    return timer->next != NULL;
}

struct coir_timer *coir_wheel_pop_slow(struct coir_wheel *wheel, int64_t now);

/* Disarms and returns the next timer in order with at <= now, or NULL. `now` must not be less than in an
 * earlier call. A timer armed between two pops with at <= now is returned by a later one in its turn: who
 * runs what it popped at once may never see NULL, so collect first, then run. */
static inline struct coir_timer *coir_wheel_pop(struct coir_wheel *wheel, int64_t now)
{
    return now < wheel->soonest ? NULL : coir_wheel_pop_slow(wheel, now);
}

/* When to ask again: INT64_MAX when empty, the earliest deadline when that is known or found among at most
 * 64 timers, otherwise a lower bound of it, the start of the first slot. After pop(now) has returned NULL
 * the answer is greater than that `now`, bound or not, until something is armed. Who wakes at a bound pops
 * nothing and asks again; each time the slots are 256 times finer, so that happens a few times at most. */
int64_t coir_wheel_next(struct coir_wheel *wheel);

/* The earliest deadline, exactly, however many timers must be looked at; INT64_MAX when empty. For virtual
 * time. */
int64_t coir_wheel_next_exact(struct coir_wheel *wheel);

#endif
