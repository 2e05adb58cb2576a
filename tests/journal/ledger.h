/* SPDX-License-Identifier: MIT */
/*
 * A journal's owner, as small as can be, for crash tests: it writes blocks of data, each once, and journals that it
 * did. It has two devices: on the first two superblocks, the ring and data, on the second data. What it knows is a list
 * of facts by LSN: which block got what. After a power cut it opens again, and says what is wrong with what it finds:
 *
 *   - a fact whose commit had returned is not there, or its data is not;
 *   - a record is there that never was, or in another order, or twice;
 *   - data that nobody is told to verify is not what was written;
 *   - damage is reported, where there is none.
 *
 * An opening ends with a checkpoint that raises the epoch, in both superblocks.
 */
#ifndef COIR_TESTS_JOURNAL_LEDGER_H
#define COIR_TESTS_JOURNAL_LEDGER_H

#include "journal/replay.h"

#include "../device/sim.h"

enum {
    LEDGER_BLOCK = 4096,
    LEDGER_RING_AT = 16, LEDGER_RING = 32,      /* blocks */
    LEDGER_DATA_AT = 64,
    LEDGER_BLOCKS = 4096,
    LEDGER_FACTS = 1000,
};

/* What a record says. */
struct fact {
    uint64_t id;                        /* of which the data is made */
    uint64_t device, block;
};

struct promise {
    size_t at;                          /* events when it was made */
    uint64_t lsn;
};

struct ledger {
    struct sim *w;
    uint64_t random;
    struct coir_device *d[2];
    struct coir_journal j;
    struct coir_group group, aside, work;       /* the committing task; checkpoints; who states facts */
    uint64_t generation, epoch, lsn;    /* of the superblocks */
    struct coir_journal_position at;    /* theirs too */
    uint64_t next_id, next_block[2];
    uint64_t facts;                     /* the last LSN */
    struct fact fact[LEDGER_FACTS];     /* by LSN */
    bool dropped[LEDGER_FACTS];         /* its data had not arrived, and nobody was promised it */
    uint64_t floor;                     /* promised before this world began */
    size_t promises;
    struct promise promise[LEDGER_FACTS];
    char wrong[200];                    /* "": nothing */
    struct coir_replay_report report;   /* of the last opening */
    uint64_t verified;                  /* facts whose data was read at it */
};

/* A ledger on empty devices. */
struct ledger *ledger_new(uint64_t seed);
void ledger_free(struct ledger *l);
/* What a power cut after an event leaves of it. */
struct ledger *ledger_cut(struct ledger *l, size_t event, enum sim_keep keep, uint64_t seed);

/* Opens it: finds out what is wrong, and writes the checkpoint. A device that fails is its status; nothing is wrong. */
struct ledger_open {
    coir_frame_void;
    coir_args(struct ledger *l;);
    uint64_t i;
    int copy;
    bool more;
    struct coir_journal_anchor anchor;
    struct coir_replay replay;
    struct iovec iov;
    union {
        struct coir_replay_next next;
        struct coir_device_read read;
        struct coir_device_write write;
        struct coir_device_flush flush;
    };
};
coir_declare(ledger_open);

/* Opens the journal, lets `tasks` tasks state `each` facts each, with checkpoints meanwhile, and closes it. Whatever
 * fails, it ends. */
struct ledger_live {
    coir_frame_void;
    coir_args(struct ledger *l; unsigned tasks; unsigned each;);
    struct coir_journal_anchor anchor;
    union {
        struct coir_group_wait wait;
        struct coir_journal_close close;
    };
};
coir_declare(ledger_live);

#endif
