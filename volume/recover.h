/* SPDX-License-Identifier: MIT */
/*
 * Bringing a store that was opened up to what its journal says. In memory: nothing is written. Home.
 */
#ifndef COIR_VOLUME_RECOVER_H
#define COIR_VOLUME_RECOVER_H

#include "journal/replay.h"
#include "volume/inside.h"

/* What a recovery found. Zero but `store`, before. */
struct coir_recovery {
    struct coir_store *store;
    uint64_t lsn;                       /* the last one that was applied, or left out */
    uint64_t dropped;                   /* writes of the last group whose data had not arrived */
    struct coir_replay_report report;
    const char *why;                    /* -EBADMSG: what is wrong with record `at`. Static */
    uint64_t at;
};

/*
 * Applies what the journal has beyond the anchor.
 *   0          all of it; the report says where it ended, and whether what follows is damage
 *   -EBADMSG   up to a record that does not fit
 *   -ENOMEM, -ECANCELED, or a node of the index that cannot be read: -EBADMSG without `why`, -EIO
 */
struct coir_store_recover {
    coir_frame_void;
    coir_args(struct coir_recovery *recovery; const struct coir_journal_anchor *anchor;);
    void *room_[1024];
};
coir_declare(coir_store_recover);

#endif
