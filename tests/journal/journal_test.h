/* SPDX-License-Identifier: MIT */
/*
 * For tests of the journal: a world of two devices, the ring on the first, of 32 blocks behind 16 others, and
 * shorthands for what its owner does. Included once a program, which runs one task at a time over it.
 */
#ifndef COIR_TESTS_JOURNAL_TEST_H
#define COIR_TESTS_JOURNAL_TEST_H

#include "journal/journal.h"

#include "../device/sim.h"
#include "tap.h"

enum { BLOCK = 4096, RING_AT = 16, RING = 32, BIG = 9000 };

/* In a body whose frame is f: awaits, and checks the status. */
#define SAYS(expected, slot, op, ...) do { \
    coir_await(f, slot, op, __VA_ARGS__); \
    EQ(coir_status(slot), expected, "%s: %s at line %d", #op, coir_strerror(expected), __LINE__); \
    } while (0)

static struct sim *world;
static struct coir_device *device[2];
static struct coir_journal journal;
static char stuff[64 * BLOCK];

static inline struct coir_journal_anchor test_anchor(void)
{
    return (struct coir_journal_anchor){ .device = device[0], .block = RING_AT, .blocks = RING, .grain = BLOCK,
                                         .owner = 0x1234, .epoch = 7, .start = 0, .number = 1, .previous = 99,
                                         .lsn = 100 };
}

/* A new world; `delay`: the longest that an operation takes. */
static inline void test_world(uint64_t seed, int64_t delay)
{
    if (world)
        sim_free(world);
    world = sim_new(seed, delay);
    sim_add(world, (RING_AT + RING + 16) * BLOCK, BLOCK);
    sim_add(world, 64 * BLOCK, BLOCK);
    for (size_t i = 0; i < sizeof stuff; i++)
        stuff[i] = (char)(i * 37 + i / 256 + 1);
}

/* Opens the devices, and the journal where the anchor says; in a group of the caller's. */
static inline int test_open(struct coir_group *group)
{
    struct coir_journal_anchor at;
    int err;

    device[0] = sim_open(world, 0);
    device[1] = sim_open(world, 1);
    at = test_anchor();
    err = coir_journal_open(&journal, &at, device, 2);
    return err ? err : coir_journal_start(&journal, group);
}

/* The header that stands at a block of the ring. */
static inline struct coir_disk_group header_at(unsigned block)
{
    struct coir_disk_group h;

    sim_peek(world, 0, (RING_AT + block) * BLOCK, &h, sizeof h);
    return h;
}

/* ---- one record: reserved, appended, and if it is to be, committed ---- */

struct one {
    coir_frame(uint64_t);
    coir_args(size_t bytes; bool durable; bool commit; uint64_t devices;);
    struct coir_journal_room room;
    struct coir_journal_record record;
    struct iovec iov;
    uint64_t lsn;
    int refused;
    union {
        struct coir_journal_reserve reserve;
        struct coir_journal_commit wait;
    };
};
static coir_declare(one);
coir_body(one, f) {
    coir_try(f, &f->reserve, coir_journal_reserve, .journal = &journal, .bytes = f->bytes, .room = &f->room);
    f->iov = (struct iovec){ stuff, f->bytes };
    f->record = (struct coir_journal_record){ .kind = 3, .durable = f->durable, .devices = f->devices, .iov = &f->iov,
                                              .n = 1 };
    f->refused = coir_journal_append(&journal, &f->room, &f->record, &f->lsn);
    if (f->refused)
        coir_fail(f, f->refused);
    f->result = f->lsn;
    if (f->commit)
        coir_try(f, &f->wait, coir_journal_commit, .journal = &journal, .lsn = f->lsn);
} coir_end

#endif
