/* SPDX-License-Identifier: MIT */
/*
 * The body of coir_device_flush; the invariants stand at the head of flusher.h. Between two awaits nothing else runs at
 * home, so who finds the flusher idle has it.
 */
#include "device/device.h"
#include "device/rules.h"

#include "runtime/base/assert.h"

/* What has to have ended before a call that comes now is content. */
static uint64_t good_enough(const struct coir_flusher *fl)
{
    if (COIR_RULE(FLUSH_BEGINS_AFTER))
        return fl->begun + 1;
    return fl->busy ? fl->begun : fl->begun + 1;
}

static void begins(struct coir_flusher *fl)
{
    COIR_ASSERT(!fl->busy);
    COIR_ASSERT(fl->over == fl->begun);
    fl->busy = true;
    fl->begun++;
}

static void ends(struct coir_flusher *fl, int status)
{
    COIR_ASSERT(fl->busy);
    fl->busy = false;
    fl->over++;
    COIR_ASSERT(fl->over == fl->begun);
    if (COIR_RULE(FLUSH_FAILS_FOR_EVER) && status && !fl->status)
        fl->status = status;
    coir_event_set(&fl->ended);
    coir_event_reset(&fl->ended);
}

coir_body(coir_flush_home, f) {
    COIR_ASSERT(coir_shard_id() == (int)f->device->home);
    f->device->flusher.calls++;
    f->mine = good_enough(&f->device->flusher);
    while (f->device->flusher.status == 0 && f->device->flusher.over < f->mine) {
        if (f->device->flusher.busy) {
            coir_try(f, &f->wait, coir_event_wait, .event = &f->device->flusher.ended);
        } else {
            if (coir_cancelled(f))
                coir_fail(f, ECANCELED);
            begins(&f->device->flusher);
            coir_shield(f, &f->scope, &f->sync, coir_device_sync, .device = f->device);
            ends(&f->device->flusher, coir_status(&f->sync));
            coir_check(f, &f->sync);
        }
    }
    coir_fail(f, f->device->flusher.status);
} coir_end

coir_body(coir_device_flush, f) {
    if (coir_shard_id() == (int)f->device->home)
        coir_await(f, &f->home, coir_flush_home, .device = f->device);
    else
        coir_await_on(f, f->device->home, &f->home, coir_flush_home, .device = f->device);
    coir_check(f, &f->home);
} coir_end
