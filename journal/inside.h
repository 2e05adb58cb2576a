/* SPDX-License-Identifier: MIT */
/*
 * A journal's inside, for journal.c (room, records) and commit.c (groups, waiting): how the ring is counted, and how
 * the committing task is told of work.
 *
 * The ring is counted in bytes of all laps. What is in use lies from `tail` to `head`, the rest at the end of a lap, in
 * which a group did not fit, included. Invariant 3 of journal.h is
 *
 *     in use + the open group + what is reserved, each record a group of its own + the largest group <= size
 *
 * whenever something is reserved. The largest group is what the jump to the beginning of the ring may waste. A jump
 * takes that much off; until `tail` has come past the end too there cannot be another one, and then it is back.
 */
#ifndef COIR_JOURNAL_INSIDE_H
#define COIR_JOURNAL_INSIDE_H

#include "journal/group.h"
#include "journal/journal.h"
#include "runtime/base/assert.h"

static inline bool coir_journal_at_home(const struct coir_journal *j)
{
    return coir_shard_id() == (int)j->home;
}

static inline uint64_t coir_journal_open_size(const struct coir_journal *j)
{
    return j->open.records ? coir_group_size(j->open.length, j->grain) : 0;
}

/* Whether the ring has `more` bytes, whatever becomes of all that is promised. */
static inline bool coir_journal_has(const struct coir_journal *j, uint64_t more)
{
    return coir_journal_used(j) + more + j->largest <= j->size;
}

/* Hands room to those who wait for it, as far as it goes, and says what they wait for. */
void coir_journal_grant(struct coir_journal *j);
/* There will be no more: they are told. */
void coir_journal_refuse(struct coir_journal *j);
/* 0, or what somebody is told who wants to write. */
int coir_journal_refusal(const struct coir_journal *j);

/* A commit of `lsn` is asked for. True: the task dozes, and it is the caller's to wake it. Any shard. */
bool coir_journal_want(struct coir_journal *j, uint64_t lsn);
/* The same at home, and it is woken. */
static inline void coir_journal_want_here(struct coir_journal *j, uint64_t lsn)
{
    if (coir_journal_want(j, lsn))
        coir_event_set(&j->work);
}

#endif
