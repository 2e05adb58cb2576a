/* SPDX-License-Identifier: MIT */
/*
 * Devices in memory, that lose power: what the crash tests of every layer over device/ run on.
 *
 * A world is some devices with one history. It records every write, sync, grow and punch, when each began and when it
 * ended, and builds from that the world that a power cut after any event leaves behind: with it a store is opened anew,
 * and may be cut again.
 *
 * The fault model
 *
 *   - A write is durable when a sync of its device has succeeded that began after the write had ended. Until then any
 *     subset of the sectors (512 bytes) of any subset of the writes is on the medium, of those under way too; where
 *     several cover a sector, any one of them, or what was there before.
 *   - A write that failed, and one that had ended when a sync failed, may be there for ever, or not, and no later sync
 *     makes it durable: so the kernel does.
 *   - Growing a file counts as a write of its new length; punching as one of zeros.
 *   - Operations end in any order: each takes a time of its own, from the seed, under virtual time.
 *   - Calls fail: the n-th of a kind, once or from then on. One that writes has written a part then. In a cancelled
 *     scope nothing begins, what has begun ends by itself.
 *   - Lies: the n-th write is lost, lands elsewhere, or only in part, and succeeds all the same. A read sees it.
 *   - At rest: a bit is flipped, a range is older than it should be, is another's, cannot be read; a device is shorter.
 *
 * What a test would overlook stops the program here: a buffer that changes while it is written, two writes under way to
 * one sector.
 *
 * All of it is a function of the seed, on one shard; on several shards there is a lock, and times are real.
 */
#ifndef COIR_TESTS_DEVICE_SIM_H
#define COIR_TESTS_DEVICE_SIM_H

#include "device/device.h"

enum { SIM_SECTOR = 512, SIM_PAGE = 4096, SIM_DEVICES = 64 };

struct sim;

/* ---- worlds ---- */

/* A world without devices. `delay`: the longest that an operation takes, in ns. Everything is gone with sim_free. */
struct sim *sim_new(uint64_t seed, int64_t delay);
void sim_free(struct sim *w);
/* Adds a device of zeros; its index. */
unsigned sim_add(struct sim *w, uint64_t size, uint32_t grain);
/* The device, its home this shard; also once more, after a coir_device_close. */
struct coir_device *sim_open(struct sim *w, unsigned index);

/* ---- power cuts ---- */

/* How many events there have been. */
size_t sim_events(const struct sim *w);

enum sim_keep {
    SIM_NOTHING,                /* of what was not durable */
    SIM_EVERYTHING,
    SIM_FIRST,                  /* of the writes in order some, and none of those behind them; the seed says how many */
    SIM_LAST,                   /* only the last one */
    SIM_ALL_BUT_ONE,
    SIM_WHOLE,                  /* each as a whole, or not: bit i of the seed for the i-th, the first 64 of them */
    SIM_TORN,                   /* each in any subset of its sectors, in a row or not */
    SIM_KEEPS,
};

/* The writes that a cut after `event` events may keep or lose. Cheapest when asked for events that do not fall. */
size_t sim_pending(struct sim *w, size_t event);
/* The world after that cut: the same devices, no history, `seed` also for what happens in it. */
struct sim *sim_cut(struct sim *w, size_t event, enum sim_keep keep, uint64_t seed);
/* In words, for a failure's report. Static. */
const char *sim_keep_name(enum sim_keep keep);

/* ---- faults ---- */

enum { SIM_FAULTS = 4 };
#define SIM_ALL_DEVICES UINT64_MAX
enum { SIM_READ = 1, SIM_WRITE = 2, SIM_SYNC = 4, SIM_GROW = 8, SIM_PUNCH = 16, SIM_ANY = 31 };

/* The n-th call from now on (1: the next) of one of the kinds in the set `calls` fails with `err`, a negative errno;
 * and all behind it too, if `forever`. n = 0: none does. */
void sim_fail(struct sim *w, unsigned calls, uint64_t n, int err, bool forever);
/* Another one, beside those that were asked for: in calls of these devices, a bit each, which it counts by itself. */
void sim_fail_too(struct sim *w, uint64_t devices, unsigned calls, uint64_t n, int err, bool forever);
/* True: a call that failed has come. */
bool sim_has_failed(const struct sim *w);

enum sim_lie { SIM_LOST, SIM_ELSEWHERE, SIM_PART };
/* The n-th write from now on succeeds, and is not what it seems. */
void sim_lie(struct sim *w, uint64_t n, enum sim_lie lie);

/* ---- lies found out later: what a cut would leave if one write of the history had been another ---- */

struct sim_write_info {
    unsigned device;
    uint64_t offset, len;
};
/* Writes, grows (len 0) and punches so far, and one of them. */
size_t sim_writes(const struct sim *w);
struct sim_write_info sim_write_at(const struct sim *w, size_t i);
/* From now on cuts are made as if the i-th had been lost, so that an older version is there; or had not. */
void sim_lose(struct sim *w, size_t i, bool lost);

/* ---- at rest: of a world in which nothing has happened ---- */

void sim_flip(struct sim *w, unsigned device, uint64_t offset, unsigned bit);
/* The range is a copy of the one at `from`. */
void sim_copy(struct sim *w, unsigned device, uint64_t offset, uint64_t from, uint64_t len);
/* Reads of the range fail with -EIO, until all of it is written at once, when a disk gives it another place; of
 * nothing: none do. */
void sim_unreadable(struct sim *w, unsigned device, uint64_t offset, uint64_t len);
void sim_shorten(struct sim *w, unsigned device, uint64_t size);
/* It has been copied to a device that writes so many bytes at once; before it is opened. */
void sim_move(struct sim *w, unsigned device, uint32_t grain);
/* How long it is. */
uint64_t sim_size(const struct sim *w, unsigned device);
/* Looks, past everything. */
void sim_peek(const struct sim *w, unsigned device, uint64_t offset, void *to, size_t n);
void sim_poke(struct sim *w, unsigned device, uint64_t offset, const void *from, size_t n);

/* ---- counting ---- */

struct sim_counts {
    uint64_t reads, writes, syncs, grows, punches;      /* calls that have begun */
    uint64_t direct;                                    /* reads with COIR_DIRECT */
    uint64_t bytes_written;
};
struct sim_counts sim_counts(const struct sim *w, unsigned device);

/* ---- chance ---- */

static inline uint64_t sim_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

/* From 0 to n - 1. */
static inline uint64_t sim_below(uint64_t *state, uint64_t n)
{
    return sim_random(state) % n;
}

/* The seed of a test: COIR_SIM_SEED, or else `usual`. Tests print it. */
uint64_t sim_seed(uint64_t usual);

/* Of many attempts alike, in order, how far it is from one that is made to the next: 1; more under a sanitizer, where
 * an opening costs ten times as much and some say as much of memory, unless COIR_TEST_LONG is set. */
unsigned sim_stride(void);

#endif
