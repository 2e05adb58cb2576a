/* SPDX-License-Identifier: MIT */
/*
 * The flusher of a device: all that anybody ever does to make it durable goes through this one. The kernel says once,
 * to one caller, that writing back has failed, and calls the lost pages clean afterwards; so whoever flushes past the
 * flusher may take away what another one should have heard.
 *
 * Invariants, on the device's home shard:
 *   1. At most one sync is under way.
 *   2. A call returns 0 only if a sync that began after the call did has succeeded, and none has ever failed.
 *   3. `status` is the first failure, and stays.
 *
 *      call while idle           begins a sync itself, shielded: once begun it is nobody's to cancel
 *      call while one is busy    waits for its end; the first of those who waited begins the next, for all of them
 */
#ifndef COIR_DEVICE_FLUSHER_H
#define COIR_DEVICE_FLUSHER_H

#include <coir/coir.h>

struct coir_flusher {
    struct coir_event ended;            /* set and reset when a sync has ended */
    uint64_t begun, over;               /* syncs */
    uint64_t calls;
    int status;                         /* 0, or what the first sync that failed said */
    bool busy;
};

/* Nothing was flushed yet. */
static inline void coir_flusher_init(struct coir_flusher *fl)
{
    *fl = (struct coir_flusher){ .status = 0 };
    coir_event_init(&fl->ended);
}

#endif
