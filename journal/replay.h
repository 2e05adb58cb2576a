/* SPDX-License-Identifier: MIT */
/*
 * Replaying a journal: its records from an anchor on, one by one, for who has all up to the anchor's LSN.
 *
 *     err = coir_replay_begin(&f->replay, &f->anchor);
 *     for (;;) {
 *         coir_get(f, f->more, &f->next, coir_replay_next, .replay = &f->replay);
 *         if (!f->more)
 *             break;
 *         ...                                     f->replay.record; verify its data if it says so
 *     }
 *     ...                                         f->replay.report; coir_replay_end(&f->replay), in every case
 *
 * It reads with COIR_DIRECT, so that the page cache cannot vouch for the medium, and writes nothing: it can be begun
 * again, or cut off, at any time. What is read is untrusted; what it gives has been checked as a whole.
 *
 *   group -> group -> group, mark        the last one was durable: nothing is verified
 *   group -> group                       what the last one's records need may not have arrived: verify
 *   group -> ?     -> group              damage, if that group has what was not replayed: the report says where
 */
#ifndef COIR_JOURNAL_REPLAY_H
#define COIR_JOURNAL_REPLAY_H

#include "journal/group.h"
#include "journal/journal.h"

/* A record, good until the next is asked for. */
struct coir_replay_record {
    uint64_t lsn;
    const void *body;
    size_t length;                      /* padding included */
    uint16_t kind;
    bool verify;                        /* nothing says that its data was durable */
};

enum coir_replay_end {
    COIR_REPLAY_NOTHING,                /* no group stands where one is due: the usual end */
    COIR_REPLAY_TORN,                   /* one begins there, and is not whole */
    COIR_REPLAY_UNREADABLE,             /* the device could not read there; counts as damage */
};

struct coir_replay_report {
    uint64_t groups, records;           /* given */
    uint64_t skipped;                   /* records that the anchor has */
    uint64_t bytes;                     /* of groups */
    uint64_t lsn;                       /* the last one; the anchor's if there was none */
    bool marked;                        /* a mark says that the last group was durable */
    enum coir_replay_end end;
    uint64_t at;                        /* byte in the ring where that is */
    bool damaged;                       /* what was durable is lost: at `at`; what proves it at `proof` */
    uint64_t proof;
    uint64_t lost;                      /* the LSN that the proof goes up to */
    uint64_t unreadable;                /* places of the ring that could not be read, looking for a proof */
};

/* Private, but for `record` and `report`. */
struct coir_replay {
    struct coir_replay_record record;
    struct coir_replay_report report;
    struct coir_journal_anchor from;
    uint64_t size;                      /* of the ring */
    /* what was read last */
    unsigned char *window;
    uint64_t window_at;
    size_t window_len;
    /* the group whose records are given */
    unsigned char *group;
    size_t cursor;
    uint64_t lsn;                       /* of its next record */
    bool verify;
    /* the group behind it, in the window */
    size_t found;                       /* its size; 0: there is none */
    uint64_t found_at;
    bool looked, ended;                 /* it was looked for; it was the last, and the report is complete */
    /* what has to come */
    uint64_t place;                     /* byte in the ring; may be its end */
    uint64_t number, previous;
    uint64_t next;                      /* LSN; 0: not known, of the first group */
};

/* Takes memory for two groups. 0, -ENOMEM, or -EINVAL: the anchor makes no sense. On the device's home shard. */
int coir_replay_begin(struct coir_replay *r, const struct coir_journal_anchor *from);
/* Gives it back; also of one that never began, if it is zero. */
void coir_replay_end(struct coir_replay *r);

/* Fills the window from `at` on, with at least `need` bytes. Result false: the medium cannot be read there. Used by
 * those below. */
struct coir_replay_fill {
    coir_frame(bool);
    coir_args(struct coir_replay *replay; uint64_t at; size_t need;);
    size_t len;
    struct iovec iov;
    struct coir_device_read read;
};
coir_declare(coir_replay_fill);

enum coir_replay_seen { COIR_SEEN_NOTHING, COIR_SEEN_TORN, COIR_SEEN_MARK, COIR_SEEN_GROUP, COIR_SEEN_UNREADABLE };

/* What stands at a place and has records above `above`: valid in itself, and in the window, `size` bytes of it. */
struct coir_replay_look {
    coir_frame(enum coir_replay_seen);
    coir_args(struct coir_replay *replay; uint64_t at; uint64_t above;);
    size_t size;
    struct coir_replay_fill fill;
};
coir_declare(coir_replay_look);

/* Looks for the group that has to come. */
struct coir_replay_find {
    coir_frame_void;
    coir_args(struct coir_replay *replay;);
    int i;
    uint64_t due;                       /* where it should be; behind its mark, once that was seen */
    struct coir_replay_look look;
};
coir_declare(coir_replay_find);

/* Looks through the ring for something that proves damage. */
struct coir_replay_scan {
    coir_frame_void;
    coir_args(struct coir_replay *replay;);
    uint64_t at;
    struct coir_replay_look look;
};
coir_declare(coir_replay_scan);

/* Goes on to the next record; result false: there is none, and the report is complete. A medium that cannot be read is
 * an end, and damage; what else fails (-ECANCELED, -ENOMEM) ends nothing, and may be tried again from the beginning. */
struct coir_replay_next {
    coir_frame(bool);
    coir_args(struct coir_replay *replay;);
    union {
        struct coir_replay_find find;
        struct coir_replay_scan scan;
    };
};
coir_declare(coir_replay_next);

/* In words, for messages. Static. */
const char *coir_replay_end_name(enum coir_replay_end end);

#endif
