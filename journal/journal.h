/* SPDX-License-Identifier: MIT */
/*
 * A journal: records in a ring on a device, made durable in groups. It knows no volume; its owner says what a record
 * is, what data it needs on which devices, and when a checkpoint has made what is old superfluous.
 *
 *     coir_try(f, &f->reserve, coir_journal_reserve, .journal = j, .bytes = n, .room = &f->room);
 *     ...                                               write the data
 *     coir_journal_append(j, &f->room, &record, &lsn);  no await: the order of LSNs is that of what the owner changes
 *     coir_try(f, &f->commit, coir_journal_commit, .journal = j, .lsn = lsn);         any shard
 *
 * All is done on the journal's home shard, that of its devices, but coir_journal_commit and _flush, which any shard
 * may await. One task commits, in a group of the owner's, from coir_journal_start to coir_journal_close.
 *
 *   reserve -> append -> [ open group ] -> sealed, written -> flushed -> commits return -> cut, its room is free
 *                          what comes meanwhile    one at a time
 *
 * Invariants
 *   1. One group is under way at most. It is written only when the flush of the one before has returned.
 *   2. A flush of a group begins after its records were appended: it covers all data that was written before that, on
 *      each device that a record names. Then its commits return, and not before.
 *   3. What is reserved fits: the ring has room for it, however it falls into groups; the open group too.
 *   4. The first failure of a write or flush, or of the owner, is for ever: no group is written after it, no commit
 *      succeeds that has not.
 *   5. No byte is written again before coir_journal_cut has freed it.
 *
 * After a failure reserve and append say -EROFS, and commits of what is not durable say what the device did. After
 * coir_journal_close, or when the committing task was cancelled, all say -ESHUTDOWN.
 */
#ifndef COIR_JOURNAL_JOURNAL_H
#define COIR_JOURNAL_JOURNAL_H

#include "device/device.h"
#include "journal/format.h"

#ifndef COIR_JOURNAL_IDLE
/* So long nothing is committed before the mark is written that the last group was durable. */
#define COIR_JOURNAL_IDLE (10 * COIR_MS)
#endif

enum { COIR_JOURNAL_DEVICES = 64 };

/* Where a journal lies, and where it goes on. */
struct coir_journal_anchor {
    struct coir_device *device;
    uint64_t block, blocks;             /* the ring, in blocks of 4,096 bytes; whole grains */
    uint32_t grain;                     /* of the store; a group begins on a multiple of it */
    uint64_t owner, epoch;
    uint64_t start;                     /* byte in the ring where the next group stands */
    uint64_t number;                    /* of that group */
    uint64_t previous;                  /* the hash that it carries */
    uint64_t lsn;                       /* the last one that the owner has: of a checkpoint, or of what was replayed */
};

/* Where the journal goes on for who has all up to `lsn`: what a superblock says of it, and what may be cut. */
struct coir_journal_position {
    uint64_t start, number, previous, lsn;      /* as in the anchor */
    uint64_t place;                             /* private: `start`, all laps counted */
};

struct coir_journal_counts {
    uint64_t groups, records, marks;
    uint64_t bytes;                     /* of records, their heads included */
    uint64_t written;                   /* bytes of groups and marks */
    uint64_t waits;                     /* reservations that had to wait */
    uint64_t messages;                  /* to other shards: one a group, and shard that waits for it */
    uint64_t flushes;                   /* of devices, for groups */
    uint64_t busy;                      /* ns of the home shard's time that the committing took */
};

/* Who waits on one shard. */
struct coir_journal_relay {
    struct coir_event news;             /* that shard's: set when something was decided, reset by who then waits */
    struct coir_cell cell;              /* through which home tells it */
    bool led;                           /* that shard's: one of the waiters waits for the cell, the others for news */
    uint8_t armed;                      /* atomic: the cell is to be completed, by who takes this */
    uint64_t least;                     /* atomic: the lowest LSN that is waited for; its shard writes it */
} __attribute__((aligned(64)));

/* What the committing task has for each device. */
struct coir_journal_one {
    struct coir_device_flush flush;
    uint64_t begun;                     /* the device's syncs when the group was sealed */
};

/* A group in memory. */
struct coir_journal_group {
    unsigned char *bytes;               /* header first */
    size_t length;                      /* of the records */
    uint32_t records;
    uint64_t first;                     /* LSN */
    uint64_t devices;                   /* a bit each */
};

/* Private, but for who tests it. */
struct coir_journal {
    struct coir_device *device;
    struct coir_device *devices[COIR_JOURNAL_DEVICES];
    unsigned n, self;                   /* devices; which of them holds the ring */
    unsigned home;
    uint64_t block, size;               /* the ring: its first block, its bytes */
    uint32_t grain;
    uint64_t owner, epoch;
    /* the ring, in bytes of all laps: start <= tail <= head <= tail + size */
    uint64_t tail, head;
    uint64_t reserved;                  /* at worst, for what is not appended yet */
    uint64_t number, previous;          /* of the next group */
    /* memory */
    size_t largest;                     /* bytes of a group */
    struct coir_journal_group open, flying;
    size_t promised;                    /* bytes of records reserved and not appended */
    struct coir_link waiting;           /* coir_journal_reserve, oldest first */
    struct coir_event pressed;          /* see coir_journal_pressed */
    /* the committing task */
    struct coir_event work, ended;
    bool running, closing, unmarked;
    uint64_t sealed;                    /* the last LSN of the last group */
    uint64_t unflushed;                 /* devices that groups need which were written and not flushed */
    unsigned char *mark;                /* a grain */
    struct coir_journal_one *one;       /* for each device */
    struct coir_task *kids[COIR_JOURNAL_DEVICES];
    /* of all shards, atomic */
    uint64_t appended, wanted, durable; /* LSNs: given; of which a commit is asked for; committed */
    int status;                         /* 0, or why there is no more */
    uint8_t dozing;                     /* the task waits for work; who takes this sets `work` */
    struct coir_journal_relay *relay;   /* one a shard */
    unsigned relays;
    struct coir_journal_counts counts;
};

/*
 * Opens a journal where `at` says, on this shard; `devices` are those that records may name, the ring's among them, all
 * at home here. Reads and writes nothing. 0; -EINVAL: the anchor makes no sense, the ring has less than four grains,
 * or the devices are not these; -ENOMEM. Then coir_journal_run is to be spawned, and coir_journal_close ends it.
 */
int coir_journal_open(struct coir_journal *j, const struct coir_journal_anchor *at, struct coir_device *const *devices,
                      unsigned n);

/* Spawns the task that commits, in a group of the owner's. 0, or what coir_spawn says. The task ends after
 * coir_journal_close, with 0; with the journal's failure; with -ECANCELED when it was cancelled, but not while a commit
 * is waited for. In each case everybody has been told. */
int coir_journal_start(struct coir_journal *j, struct coir_group *group);

/* Waits until the task, if there is one, has committed all that was appended and has ended; frees the journal. Nobody
 * awaits anything of it any more, on any shard. Also in a cancelled scope. */
struct coir_journal_close {
    coir_frame_void;
    coir_args(struct coir_journal *journal;);
    struct coir_scope scope;
    struct coir_event_wait wait;
};
coir_declare(coir_journal_close);

/* Room for one record: what was reserved, until it is appended or released. Zero: none. */
struct coir_journal_room {
    size_t bytes;
};

/*
 * Reserves room for a record whose body has up to `bytes`, waiting for its turn and until there is some: what the
 * journal has written may have to be cut first.
 *   -EINVAL      no group can hold such a record
 *   -EROFS, -ESHUTDOWN      there is no more, see above
 *   -ECANCELED   cancelled while it waited: there is no room
 */
struct coir_journal_reserve {
    coir_frame_void;
    coir_args(struct coir_journal *journal; size_t bytes; struct coir_journal_room *room;);
    struct coir_link link;
    struct coir_event granted;
    struct coir_event_wait wait;
    int outcome;
};
coir_declare(coir_journal_reserve);

/* Gives room back that is not needed. None: nothing happens. */
void coir_journal_release(struct coir_journal *j, struct coir_journal_room *room);

struct coir_journal_record {
    uint16_t kind;
    bool durable;                       /* a commit is asked for at once, as if somebody waited for it */
    uint64_t devices;                   /* those whose data it needs: bit i for devices[i] of coir_journal_open */
    const struct iovec *iov;            /* the body; copied */
    int n;
};

/* Appends a record in room that was reserved for it, which is gone then. The data that it needs has been written:
 * each of these writes has returned. 0 and the LSN, one more than the last; or -EROFS, -ESHUTDOWN. Never suspends. */
int coir_journal_append(struct coir_journal *j, struct coir_journal_room *room,
                        const struct coir_journal_record *record, uint64_t *lsn);

/* Wakes the committing task: at home, from any shard. Used by coir_journal_commit. */
struct coir_journal_rouse {
    coir_frame_void;
    coir_args(struct coir_journal *journal;);
};
coir_declare(coir_journal_rouse);

struct coir_journal_kick {
    coir_frame_void;
    coir_args(struct coir_journal *journal;);
    struct coir_scope scope;
    union {
        struct coir_journal_rouse rouse;
        struct coir_sleep sleep;
    };
};
coir_declare(coir_journal_kick);

/*
 * Returns 0 when the record `lsn`, which has been appended, is durable, and all before it; the journal's failure when
 * it will not be. It cannot be cancelled: what becomes of the record is decided by its group alone. Any shard.
 */
struct coir_journal_commit {
    coir_frame_void;
    coir_args(struct coir_journal *journal; uint64_t lsn;);
    struct coir_journal_relay *relay;
    struct coir_scope scope;
    union {
        struct coir_event_wait wait;
        struct coir_cell_wait cell;
        struct coir_journal_kick kick;
    };
};
coir_declare(coir_journal_commit);

/* The same of everything that has been appended. Any shard. */
struct coir_journal_flush {
    coir_frame_void;
    coir_args(struct coir_journal *journal;);
    struct coir_journal_commit commit;
};
coir_declare(coir_journal_flush);

/*
 * Where the journal goes on for who has all that has been appended so far: at the freeze of a checkpoint. The first
 * group there may begin with records that it has, which a replay leaves out. Never suspends.
 */
void coir_journal_position(struct coir_journal *j, struct coir_journal_position *p);

/* Frees the room of what lies before: both superblocks that say so are durable. Never suspends. */
void coir_journal_cut(struct coir_journal *j, const struct coir_journal_position *p);

/* The owner has failed at something that is as bad as a flush of its own, a checkpoint: from now on no commit succeeds
 * that has not. `status` is what they say. Nothing happens if the journal has failed already. Never suspends. */
void coir_journal_fail(struct coir_journal *j, int status);

/* Set while more than half of the ring is in use or reserved, or somebody waits for room in it: time for a checkpoint.
 * Not to be set or reset by others. */
static inline struct coir_event *coir_journal_pressed(struct coir_journal *j)
{
    return &j->pressed;
}

/* Bytes of the ring in use or reserved, of coir_journal_size. */
uint64_t coir_journal_used(const struct coir_journal *j);
static inline uint64_t coir_journal_size(const struct coir_journal *j)
{
    return j->size;
}

/* 0; or the failure, or -ESHUTDOWN. Any shard. */
static inline int coir_journal_status(const struct coir_journal *j)
{
    return __atomic_load_n(&j->status, __ATOMIC_ACQUIRE);
}

/* The last LSN that is durable, that was given. Any shard. */
static inline uint64_t coir_journal_durable(const struct coir_journal *j)
{
    return __atomic_load_n(&j->durable, __ATOMIC_ACQUIRE);
}

static inline uint64_t coir_journal_appended(const struct coir_journal *j)
{
    return __atomic_load_n(&j->appended, __ATOMIC_ACQUIRE);
}

static inline struct coir_journal_counts coir_journal_counts(const struct coir_journal *j)
{
    return j->counts;
}

#endif
