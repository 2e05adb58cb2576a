/* SPDX-License-Identifier: MIT */
/*
 * Changes of the catalog: what creating, renaming, resizing, removing and taking to pieces have in common. Home.
 */
#ifndef COIR_VOLUME_MANAGE_H
#define COIR_VOLUME_MANAGE_H

#include "volume/inside.h"

/* What a change of the catalog holds. All zero: nothing. */
struct coir_change {
    struct coir_store *store;
    struct coir_catalog_change catalog;
    struct coir_pin pin;                /* of a volume's tree, when the change is one of an open volume */
    struct coir_credit credit;
    struct coir_journal_room room;
    bool entered;
};

/* Enters the store and brings all that the change needs: who awaits it makes the change at once, in the same step.
 * `bytes`: of the record's body; `name`, `other`: NULL, or the names concerned. */
struct coir_change_begin {
    coir_frame_void;
    coir_args(struct coir_store *store; struct coir_change *change; uint64_t id; const char *name; const char *other;
              size_t bytes;);
    void *room_[300];
};
coir_declare(coir_change_begin);

/* Appends the record of a change that was made in this step (coir_store_step). */
void coir_change_record(struct coir_change *c, const struct coir_record *r);

/* Lets go of everything. Also twice, and of one that did not begin. */
void coir_change_end(struct coir_change *c);

/* 0: that is a name for a volume; -EINVAL. */
int coir_volume_name_check(const char *name);

/* Volume blocks of a size in bytes, rounded up; 0: no volume has that size. */
uint64_t coir_volume_blocks(uint64_t size, unsigned shift);

/* The open volume of that id, or NULL. */
struct coir_volume *coir_volume_get(struct coir_store *s, uint64_t id);

/* Its count of mapped blocks may have changed. */
void coir_volume_counted(struct coir_volume *v);

/* Opens a volume, or adds a user to one that is open. (handle.c) */
struct coir_handle_open {
    coir_frame(struct coir_volume *);
    coir_args(struct coir_store *store; const char *name;);
    void *room_[240];
};
coir_declare(coir_handle_open);
void coir_handle_close(struct coir_volume *v);

/* Removes all mappings of an open volume from lba on. (unmap.c) */
struct coir_unmap_home {
    coir_frame(uint64_t);               /* LSN of the last record; 0: nothing was mapped */
    coir_args(struct coir_volume *volume; uint64_t lba; uint64_t count;);
    void *room_[280];
};
coir_declare(coir_unmap_home);

#endif
