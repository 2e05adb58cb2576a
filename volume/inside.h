/* SPDX-License-Identifier: MIT */
/*
 * An open store, for the files that make it up: open.c and recover.c (opening), checkpoint.c, keeper.c (when one is
 * due), begin.c (being in an operation, waiting for room), chunk.c (a piece of an operation: its memory and iovecs),
 * read.c, write.c, unmap.c, flush.c, status.c, manage.c and remove.c (volumes). Nobody else includes this.
 *
 *   1. Everything here but where it is said otherwise is touched on the home shard only, and so without locks.
 *   2. The LSN of a change is given in the step in which the index changes: LSN order is the order of the index.
 *   3. A store that has failed (coir_store_fail) writes nothing any more: no journal, no superblock, no data.
 *   4. Blocks that a write has reserved are cancelled when its I/O has ended, by whoever reserved them.
 *   5. No task lives as long as the store but the keeper, which nobody waits for: what a caller needs he does himself,
 *      or waits for the caller who is at it.
 */
#ifndef COIR_VOLUME_INSIDE_H
#define COIR_VOLUME_INSIDE_H

#include <coir/coir.h>
#include <coir/volume.h>

#include "journal/journal.h"
#include "runtime/base/assert.h"
#include "volume/catalog.h"
#include "volume/grow.h"
#include "volume/map.h"
#include "volume/record.h"
#include "volume/space.h"

struct coir_chunk;

enum coir_store_state { COIR_STORE_OPENING, COIR_STORE_SERVING, COIR_STORE_CLOSING };

struct coir_store {
    unsigned home;                      /* shard; any thread reads it */
    enum coir_store_state state;
    bool opened_read_only;              /* as asked, or since it is damaged */
    bool read_only;                     /* opened so, or failed */
    char why[256];                      /* why; written once, before `failed` */
    int failed;                         /* atomic: `why` can be read */
    coir_store_log *log;
    void *ctx;

    struct coir_files *files;           /* devices, headers, superblocks */
    struct coir_device *device[COIR_STORE_FILES];
    struct coir_cache cache;
    struct coir_catalog catalog;
    struct coir_space *space;
    struct coir_map map;
    struct coir_grower grower;
    struct coir_journal journal;
    struct coir_checkpoint checkpoint;
    bool checkpointing;                 /* somebody is at it */
    void *writing;                      /* the frame of who is */
    struct coir_event checkpointed;     /* it has ended: set and reset at once */
    uint64_t lsn;                       /* of the last step that changed the index */
    uint64_t checkpoints, checkpoint_lsn, next_volume;
    int checkpoint_status;              /* of the last */

    struct coir_event progress;         /* room may be there: set and reset at once */
    unsigned operations;                /* that have begun and not ended */
    struct coir_event idle;             /* none has */
    bool synced;                        /* a flush has reached the devices since the opening */
    struct coir_link volumes;           /* open ones */
    struct coir_chunk *chunks[64];      /* free ones, by shard: each is touched on that shard only */

    struct coir_event due;              /* for the keeper: look whether there is something to do */
    struct coir_event kept;             /* the keeper has begun; then, that it has ended */
    bool keeping;                       /* it is there */
    struct coir_group group;            /* the keeper's: the journal's task */
    bool removing;                      /* volumes that are being removed may be there */
};

struct coir_volume {
    struct coir_store *store;
    struct coir_extents *extents;
    struct coir_link link;
    uint64_t id;
    uint64_t blocks;                    /* atomic: size in volume blocks */
    uint64_t mapped;                    /* atomic: a copy, for coir_volume_describe */
    unsigned shift;                     /* constant: a volume block is 2^shift bytes */
    unsigned users;
    bool removed;
    /* a range that others' writes stay out of, since an unaligned one was overtaken three times; 0 blocks: none */
    uint64_t locked, locked_blocks;
    struct coir_event unlocked;
    char name[COIR_NAME_MAX + 1];
};

/* The device of an address; NULL: the store has none such. */
static inline struct coir_device *coir_store_device(const struct coir_store *s, uint64_t address)
{
    const unsigned file = COIR_ADDRESS_FILE(address);

    return file < COIR_STORE_FILES ? s->device[file] : NULL;
}

/* ---- being in an operation (begin.c) ----------------------------------------------------------------- */

enum coir_store_use { COIR_USE_READ, COIR_USE_WRITE };

/* 0, and the store is not closed before coir_store_leave; or why not: -ESHUTDOWN, -EROFS, -ESTALE. `v` may be NULL. */
int coir_store_enter(struct coir_store *s, const struct coir_volume *v, enum coir_store_use use);
void coir_store_leave(struct coir_store *s);

/* Makes the store read-only if its journal has failed. */
void coir_store_look(struct coir_store *s);

/* What is to be written cannot be: from now on the store is read-only, and says why. The first reason stays. */
void coir_store_fail(struct coir_store *s, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
/* A line for the log. */
void coir_store_say(struct coir_store *s, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/* Wakes who waits for credit, journal or space. */
static inline void coir_store_progress(struct coir_store *s)
{
    coir_event_set(&s->progress);
    coir_event_reset(&s->progress);
}

/* Begins a step that changes the index: the LSN of its record, which is also that of everything which the step
 * supersedes. The journal has not failed (coir_journal_status). */
uint64_t coir_store_step(struct coir_store *s);

/* Appends the step's record, for which room was reserved. */
void coir_store_record(struct coir_store *s, struct coir_journal_room *room, const struct coir_record *r,
                       uint64_t devices);

/* The index names these blocks no longer. That they were in use must be true of the space, too: if not, the store has
 * failed. */
void coir_store_let_go(struct coir_store *s, uint64_t address, uint64_t blocks, uint64_t lsn);

/* For coir_extents_map and _unmap: what they supersede goes to the space, with the LSN of the step. */
struct coir_superseded coir_store_superseded(struct coir_store *s);

/* What was wanted could not be had: `why` is -EAGAIN (a checkpoint gives room), -EBUSY (reads have to end), -EFBIG (a
 * file has to grow). Returns when it is worth while to try again; or the reason why it never will be. */
struct coir_store_room {
    coir_frame_void;
    coir_args(struct coir_store *store; int why;);
    void *room_[200];
};
coir_declare(coir_store_room);

/* ---- checkpoints (checkpoint.c, keeper.c) ------------------------------------------------------------ */

/* Writes a checkpoint, or waits for the end of the one that is being written, which may have begun before. Its failure
 * has made the store read-only. */
struct coir_store_checkpoint {
    coir_frame_void;
    coir_args(struct coir_store *store; bool raise_epoch;);
    void *room_[32];
};
coir_declare(coir_store_checkpoint);

/* Whether nothing has changed since the last one; and whether so much has that one is due. */
bool coir_store_is_clean(const struct coir_store *s);
bool coir_store_is_due(const struct coir_store *s);

/*
 * The keeper: it has the journal's task, writes checkpoints when the journal fills or time has passed, lets files grow
 * ahead, and takes removed volumes to pieces. Ends when the store closes, or the program is stopped. Detached; it sets
 * `kept` when it has begun, and when it has ended.
 */
struct coir_store_keeper {
    coir_frame_void;
    coir_args(struct coir_store *store;);
    void *room_[1600];
};
coir_declare(coir_store_keeper);

/* Takes volumes that are being removed to pieces. (dismantle.c) */
struct coir_store_dismantle {
    coir_frame_void;
    coir_args(struct coir_store *store;);
    void *room_[1400];
};
coir_declare(coir_store_dismantle);

#endif
