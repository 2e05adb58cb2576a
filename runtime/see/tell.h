/* SPDX-License-Identifier: MIT */
/*
 * From records to a trace: Trace Event JSON, in its array form, which readers take without its end. Of the writer's
 * thread alone; what it knows of a run is what it was told, one record after the other, a shard's in their order.
 *
 *   step        a slice of its shard's track (B, E), named by the task that stood there
 *   asleep      the same
 *   task        an asynchronous slice (b, e), from its spawn to its end
 *   operation   the same; wait: one that waits for something in the shard
 *   wake        an arrow (s, f) from the step, or the letter's sender, to the step it led to
 *   letter, cancel, missing                  instants (i)
 *   ready, tasks, operations                 counters (C), of each shard
 *
 * Whatever is missing, because it came too fast, slices of a track nest: an end without a beginning is left out, and
 * what is open is ended before the next begins.
 */
#ifndef COIR_RUNTIME_SEE_TELL_H
#define COIR_RUNTIME_SEE_TELL_H

#include "runtime/see/pairs.h"
#include "runtime/see/record.h"
#include "runtime/see/text.h"
#include "runtime/task/home.h"

enum { COIR_TELL_ROOM = 1 << 16, COIR_TELL_MOST = 4096 };   /* bytes; of one event, at most */

struct coir_teller {
    struct coir_text text;              /* to be written; at least COIR_TELL_MOST of it is free */
    char room[COIR_TELL_ROOM];
    bool any;                           /* an event has been told: the next one is parted from it */
    int pid;
    unsigned run;                       /* of the process, from 1 */
    int64_t origin;                     /* what times are counted from */
    int64_t last;                       /* the greatest told so far, from the origin */
    struct coir_lane {
        bool named;                     /* the shard has shown up */
        bool step, asleep;              /* that slice is open */
        uint64_t letter;                /* the arrow of the letter that is being delivered; 0: none */
        uint64_t missing;
    } lane[COIR_MAX_SHARDS];
    struct coir_pairs operations, wakes, letters;
    bool crowded;                       /* some operations found no place in their table: they are named by address */
    uint64_t names, arrows;             /* given so far */
};

/* From one that is all zeroes, or was in use. False: no memory. */
bool coir_teller_init(struct coir_teller *t);
void coir_teller_free(struct coir_teller *t);

/* A run begins at `began`, of the real clock or a virtual one, which never goes back for who reads the trace. */
void coir_tell_run(struct coir_teller *t, int64_t began, bool virtual_time);
void coir_tell(struct coir_teller *t, unsigned shard, const struct coir_record *r);
/* `n` events of a shard are missing here. */
void coir_tell_missing(struct coir_teller *t, unsigned shard, uint64_t n, int64_t at);
void coir_tell_run_end(struct coir_teller *t);
/* How many are missing in this run. */
uint64_t coir_teller_missing(const struct coir_teller *t);

static inline bool coir_teller_is_full(const struct coir_teller *t)
{
    return t->text.end - t->text.at < COIR_TELL_MOST;
}

#endif
