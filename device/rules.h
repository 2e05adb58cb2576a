/* SPDX-License-Identifier: MIT */
/*
 * The rules that keep a store whole when the power goes: one table of all of them, from the flusher up to recovery.
 * Where the engine follows a rule it names it,
 *
 *     if (COIR_RULE(ACK_AFTER_FLUSH))
 *
 * which is the constant true. In the library that the crash tests link (libcoirvol-breakable, COIR_BREAKABLE) it is
 * false while coir_rule_broken says so: a test breaks each rule in turn, and has to find that something is lost. A rule
 * that nobody can break, or whose breach no test finds, does not belong here.
 *
 * Knows nothing of what the rules are about. No rule may be broken outside of tests.
 */
#ifndef COIR_DEVICE_RULES_H
#define COIR_DEVICE_RULES_H

#include <stdbool.h>

/* X(name, what it says). In the order of the layers. */
#define COIR_RULES(X) \
    /* device/flusher.c */ \
    X(FLUSH_BEGINS_AFTER, "a flush covers what was written before it began: who comes later waits for the next") \
    X(FLUSH_FAILS_FOR_EVER, "after the first flush of a device that failed none succeeds") \
    /* journal/commit.c */ \
    X(NEXT_AFTER_FLUSH, "a group is written only when the flush of the one before it has returned") \
    X(ACK_AFTER_FLUSH, "a commit returns only when the flush of its group has") \
    X(FLUSH_DATA, "the flush of a group covers each device that holds data of its records") \
    X(MARK_AFTER_FLUSH, "a mark is written only when the flush of the group that it marks has returned") \
    X(GROUP_FAILS_FOR_EVER, "after the first group that failed none is written") \
    /* journal/journal.c */ \
    X(CUT_AFTER_CHECKPOINT, "room in the journal is free only when no superblock counts what stands there") \
    /* journal/replay.c */ \
    X(CHAIN, "a group counts only if it has the hash of the one before it") \
    X(LOST_MARK, "where a mark is lost the next group is looked for behind it") \
    X(VERIFY_LAST, "data of the last group is verified, unless a mark says that it was durable") \
    /* volume/space_epoch.c */ \
    X(REUSE_AFTER_DURABLE, "what a record superseded is given out again when a checkpoint of it is durable") \
    X(REUSE_AFTER_READS, "and when the reads are over that began before it was frozen") \
    /* volume/grow.c */ \
    X(GROWN_IS_DURABLE, "what a file has grown by is given out, and told, when its length is durable") \
    /* volume/map.c, volume/map_write.c */ \
    X(MAP_AS_MEANT, "a page of the space map is believed when it is the one that the page above means") \
    X(MAP_OTHER_SLOT, "a page is written where the last durable map has none") \
    /* volume/super.c */ \
    X(SUPER_OLDER_FIRST, "of the superblocks the older or invalid one is written first") \
    X(SUPER_ONE_BY_ONE, "the other one is written when the first is durable") \
    /* volume/write.c */ \
    X(DATA_BEFORE_RECORD, "a write's record is appended when its data has been written") \
    /* volume/checkpoint.c */ \
    X(NODES_BEFORE_SUPERBLOCK, "what a superblock names, and the data of its LSNs, is durable before it is written")

enum coir_rule {
    COIR_RULE_NONE,
#define COIR_RULE_NAME_(name, text) COIR_RULE_##name,
    COIR_RULES(COIR_RULE_NAME_)
#undef COIR_RULE_NAME_
    COIR_RULE_COUNT
};

#ifdef COIR_BREAKABLE
/* The rule that does not hold; tests set it before they run a task. */
extern enum coir_rule coir_rule_broken;
#define COIR_RULE(name) (coir_rule_broken != COIR_RULE_##name)
#else
#define COIR_RULE(name) true
#endif

/* Its name in the table, and what it says. Static. */
const char *coir_rule_name(enum coir_rule rule);
const char *coir_rule_text(enum coir_rule rule);

#endif
