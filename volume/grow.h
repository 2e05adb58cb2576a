/* SPDX-License-Identifier: MIT */
/*
 * volume/grow.h - letting the files of a store grow, when the space says -EFBIG or is short. A file grows in steps of
 * 64 MiB, or what is left of that on the filesystem below, down to 1 MiB; and what has grown is flushed before it is
 * given out, so that no superblock says a length that a power cut takes back. On the store's home shard.
 */
#ifndef COIR_VOLUME_GROW_H
#define COIR_VOLUME_GROW_H

#include "volume/files.h"
#include "volume/space.h"

/* One for a store. */
struct coir_grower {
    struct coir_files *files;
    struct coir_space *space;
    struct coir_event ended;            /* of the one that runs */
    bool busy;
    uint64_t step;                      /* blocks; 0: 64 MiB */
};

void coir_grower_init(struct coir_grower *grower, struct coir_files *files, struct coir_space *space);

struct coir_grow_file {
    coir_frame_void;
    coir_args(struct coir_grower *grower; unsigned file; struct coir_complaint *complaint;);
    struct coir_device *device;
    uint64_t grown, step;
    union {
        struct coir_device_grow grow;
        struct coir_device_flush flush;
    };
};
coir_declare(coir_grow_file);

/*
 * Lets the file that lacks most grow by a step; where its filesystem is full, the next one. Who calls while another one
 * grows waits for that. Afterwards ask the space again.
 *   0            a file may have grown
 *   -ENOSPC      none could, or all are as large as they may be. Those that could not are stuck (coir_space_stuck)
 *                until a later call succeeds: so who is about to say -ENOSPC to somebody calls this once
 *   -ENOMEM, or what a device said: it is broken
 *   -ECANCELED
 */
struct coir_space_grow {
    coir_frame_void;
    coir_args(struct coir_grower *grower; struct coir_complaint *complaint;);
    int file;
    uint64_t tried;                     /* a bit a file */
    bool mine;
    union {
        struct coir_event_wait wait;
        struct coir_grow_file grow;
    };
};
coir_declare(coir_space_grow);

#endif
