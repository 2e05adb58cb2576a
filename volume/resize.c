/* SPDX-License-Identifier: MIT */
/*
 * Volumes become larger or smaller. What is beyond a smaller size is unmapped first, in steps; a crash in between
 * leaves the old size with a hole at its end. Home.
 */
#include <string.h>

#include "volume/chunk.h"
#include "volume/manage.h"

struct resize_home {
    coir_frame_void;
    coir_args(struct coir_store *store; const char *name; uint64_t size;);
    struct coir_change change;
    struct coir_volume *volume;
    struct coir_record record;
    uint64_t blocks, lsn;
    int err;
    union {
        struct coir_handle_open open;
        struct coir_unmap_home unmap;
        struct coir_change_begin begin;
        struct coir_extents_pin pin;
        struct coir_journal_commit commit;
    };
};
static coir_declare(resize_home);

coir_body(resize_home, f) {
    f->change = (struct coir_change){ 0 };
    f->volume = NULL;
    coir_get(f, f->volume, &f->open, coir_handle_open, .store = f->store, .name = f->name);
    f->blocks = coir_volume_blocks(f->size, f->volume->shift);
    if (f->blocks == 0)
        coir_fail(f, -EINVAL);
    if (f->blocks < f->volume->blocks && f->volume->users > 1)
        coir_fail(f, -EBUSY);
    if (f->blocks < f->volume->blocks)
        coir_try(f, &f->unmap, coir_unmap_home, .volume = f->volume, .lba = f->blocks,
                 .count = f->volume->blocks - f->blocks);
    if (f->blocks < f->volume->blocks && f->volume->users > 1)
        coir_fail(f, -EBUSY);
    f->record = (struct coir_record){ .kind = COIR_RECORD_RESIZE, .volume = f->volume->id, .blocks = f->blocks };
    coir_try(f, &f->begin, coir_change_begin, .store = f->store, .change = &f->change, .id = f->volume->id,
             .bytes = coir_record_bytes(&f->record));
    f->lsn = coir_store_step(f->store);
    f->volume->extents->blocks = f->blocks;
    coir_extents_touch(f->volume->extents, &f->change.credit);
    coir_change_record(&f->change, &f->record);
    __atomic_store_n(&f->volume->blocks, f->blocks, __ATOMIC_RELEASE);
    coir_try(f, &f->commit, coir_journal_commit, .journal = &f->store->journal, .lsn = f->lsn);
    coir_finally(f) {
        coir_change_end(&f->change);
        if (f->volume)
            coir_handle_close(f->volume);
    }
} coir_end

struct volume_resize {
    coir_frame_void;
    coir_args(struct coir_store *store; const char *name; uint64_t size;);
    struct resize_home home;
};
coir_public(volume_resize, coir_volume_resize);

coir_body(volume_resize, f) {
    if (!f->store || !f->name)
        coir_fail(f, -EFAULT);
    COIR_AT_HOME(f, f->store, &f->home, resize_home, .store = f->store, .name = f->name, .size = f->size);
    coir_check(f, &f->home);
} coir_end
