/* SPDX-License-Identifier: MIT */
/*
 * Flushing a volume: what had been acknowledged before it began is in the journal, and the journal is committed. The
 * first flush after an opening reaches the devices whatever the journal says: what an earlier server acknowledged, and
 * recovery found in the page cache, is made durable by it.
 */
#include "volume/chunk.h"

/* At home: the LSN that has to be durable. */
struct flush_home {
    coir_frame(uint64_t);
    coir_args(struct coir_volume *volume;);
    struct coir_store *store;
    uint64_t lsn;
    unsigned i;
    int err;
    bool entered;
    struct coir_device_flush flush;
};
static coir_declare(flush_home);

coir_body(flush_home, f) {
    f->store = f->volume->store;
    f->err = coir_store_enter(f->store, f->volume, COIR_USE_READ);
    f->entered = !f->err;
    if (f->err)
        coir_fail(f, f->err);
    if (f->store->opened_read_only)     /* nothing was written */
        coir_return(f, 0);
    if (f->store->read_only)
        coir_fail(f, -EROFS);
    f->lsn = coir_journal_appended(&f->store->journal);
    for (f->i = 0; !f->store->synced && f->i < COIR_STORE_FILES && f->store->device[f->i]; f->i++) {
        coir_await(f, &f->flush, coir_device_flush, .device = f->store->device[f->i]);
        f->err = coir_status(&f->flush);
        if (f->err && f->err != -ECANCELED)
            coir_store_fail(f->store, "%s: flush: %s", f->store->device[f->i]->name, coir_strerror(f->err));
        if (f->err)
            coir_fail(f, f->err);
    }
    f->store->synced = true;
    f->result = f->lsn;
    coir_finally(f) {
        if (f->entered)
            coir_store_leave(f->store);
    }
} coir_end

struct volume_flush {
    coir_frame_void;
    coir_args(struct coir_volume *volume;);
    union {
        struct flush_home home;
        struct coir_journal_commit commit;
    };
};
coir_public(volume_flush, coir_volume_flush);

coir_body(volume_flush, f) {
    if (!f->volume)
        coir_fail(f, -EFAULT);
    COIR_AT_HOME(f, f->volume->store, &f->home, flush_home, .volume = f->volume);
    coir_check(f, &f->home);
    if (f->home.result > 0)
        coir_try(f, &f->commit, coir_journal_commit, .journal = &f->volume->store->journal, .lsn = f->home.result);
} coir_end
