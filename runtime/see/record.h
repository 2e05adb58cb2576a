/* SPDX-License-Identifier: MIT */
/*
 * A record: one thing that happened on a shard, as the flight recorder keeps it and the trace is written from it.
 *
 * It may be read long after, on another thread, when everything it speaks of is gone: so there is no pointer in it
 * but to what is static, and `object`, which is only compared.
 */
#ifndef COIR_RUNTIME_SEE_RECORD_H
#define COIR_RUNTIME_SEE_RECORD_H

#include <coir/task.h>

enum coir_record_what {
    COIR_RECORD_SPAWN,          /* site: the coir_new; name: whose group; value: the spawner's number */
    COIR_RECORD_END,            /* site: the coir_new; value: the status */
    COIR_RECORD_STEP,           /* site: where the task stood; object: the leaf */
    COIR_RECORD_PARK,           /* the step is over; site: where it stands now; NULL: it has ended */
    /* site: the await; name: the operation's; object: it; value: the descriptor; how: 1 for one that waits for
     * something in the shard, or on a pool, and is no submission */
    COIR_RECORD_IO,
    COIR_RECORD_IO_END,         /* the same, value: what it ended with */
    COIR_RECORD_CANCEL,         /* site: of whose scope; how: a COIR_CANCELLED_ */
    COIR_RECORD_SLEEP,
    COIR_RECORD_AWAKE,
    COIR_RECORD_POST,           /* object: the letter; value: the shard it goes to */
    COIR_RECORD_LETTER,         /* object: the letter */
    /* for traces only */
    COIR_RECORD_READY,          /* object: a leaf that a step or a letter has queued */
    COIR_RECORD_COUNTS,         /* value: tasks that are ready, 1,024 at most; object: tasks << 32 | operations */
};

enum { COIR_CANCELLED_GROUP, COIR_CANCELLED_AWAIT, COIR_CANCELLED_COMBINE, COIR_CANCELLED_BY_DEADLINE };

struct coir_record {
    int64_t at;                         /* ns of the shard's time */
    const struct coir_site *site;
    const char *name;
    uint64_t object;
    uint32_t task;                      /* the number of the spawned task that it happened to, or in; 0: none known */
    int32_t value;
    uint16_t what;                      /* enum coir_record_what */
    uint16_t how;
    uint32_t missing;                   /* events before this one for which there was no room, of a trace */
};

enum { COIR_RECORD_WORDS = 6 };
_Static_assert(sizeof(struct coir_record) == COIR_RECORD_WORDS * sizeof(uint64_t), "copied word by word");

#endif
