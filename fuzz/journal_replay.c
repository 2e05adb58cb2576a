/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the replay of a journal: whatever stands in the ring, it ends, reads nothing but what is there, and gives
 * records in an order without gaps.
 *
 * An input is two bytes, and pieces of the ring: a block of it, a length in words of eight bytes, as many bytes for
 * the beginning of that block. Length 0: the block cannot be read. The rest is zeros. The first byte says what is put
 * right, since no fuzzer guesses checksums: 1 the sums, 2 owner and epoch, 4 the chain of hashes and numbers. The
 * second is the block where the replay begins.
 */
#include "journal/replay.h"

#include <stdlib.h>
#include <string.h>

#include "device/checksum.h"

enum { BLOCK = 4096, BLOCKS = 16, PUT_SUMS = 1, PUT_OWNER = 2, PUT_CHAIN = 4 };

static _Alignas(BLOCK) unsigned char ring[BLOCKS * BLOCK];
static bool bad[BLOCKS];

static void must(bool good)
{
    if (!good)
        abort();
}

/* ---- a device that is the ring ---- */

static coir_step ends(struct coir_task *t, int status)
{
    t->status = status;
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

static coir_step read_ring(struct coir_task *t)
{
    const struct coir_device_read *op = (struct coir_device_read *)t;
    uint64_t at = op->offset;

    must(op->flags & COIR_DIRECT);
    for (int i = 0; i < op->n; at += op->iov[i++].iov_len) {
        must(at + op->iov[i].iov_len <= sizeof ring);
        for (uint64_t b = at / BLOCK; b < (at + op->iov[i].iov_len + BLOCK - 1) / BLOCK; b++)
            if (bad[b])
                return ends(t, -EIO);
        memcpy(op->iov[i].iov_base, ring + at, op->iov[i].iov_len);
    }
    return ends(t, 0);
}

static coir_step refuse(struct coir_task *t)
{
    return ends(t, -EROFS);
}

static const struct coir_device_kind kind = { .name = "ring", .read = read_ring, .write = refuse, .sync = refuse,
                                              .grow = refuse, .punch = refuse, .close = refuse };

/* ---- making the ring of an input ---- */

static void lay(const uint8_t *data, size_t n)
{
    memset(ring, 0, sizeof ring);
    memset(bad, 0, sizeof bad);
    while (n >= 2) {
        const unsigned block = data[0] % BLOCKS;
        size_t len = 8 * (size_t)data[1];
        bad[block] = len == 0;
        data += 2;
        n -= 2;
        len = len < n ? len : n;
        memcpy(ring + block * BLOCK, data, len);
        data += len;
        n -= len;
    }
}

static size_t size_at(unsigned block)
{
    const struct coir_disk_group *h = (const void *)(ring + block * BLOCK);
    const size_t room = sizeof ring - block * BLOCK;
    const uint64_t size = ((uint64_t)h->length + sizeof *h + BLOCK - 1) / BLOCK * BLOCK;

    return h->magic == COIR_MAGIC_GROUP && size <= room ? (size_t)size : 0;
}

static void put_right(unsigned what, const struct coir_journal_anchor *from)
{
    uint64_t number = from->number, previous = from->previous;

    for (unsigned i = 0, size = 0; i < BLOCKS; i += size ? size / BLOCK : 1) {
        const unsigned block = (unsigned)(from->start / BLOCK + i) % BLOCKS;
        struct coir_disk_group *h = (void *)(ring + block * BLOCK);
        size = (unsigned)size_at(block);
        if (size == 0)
            continue;
        if (what & PUT_OWNER)
            h->owner = from->owner, h->epoch = from->epoch;
        if (what & PUT_CHAIN)
            h->number = h->records ? number : number - 1, h->previous = previous;
        if (what & PUT_SUMS)
            h->crc = coir_crc(from->block + block, (unsigned char *)h + 8, size - 8);
        if (h->records)
            number++, previous = coir_crc64(h, size);
    }
}

/* ---- replaying it ---- */

struct replay {
    coir_frame_void;
    coir_args(const struct coir_journal_anchor *from;);
    bool more;
    uint64_t lsn, sum;
    struct coir_device device;
    struct coir_journal_anchor anchor;
    struct coir_replay replay;
    struct coir_replay_next next;
};
static coir_declare(replay);

static uint64_t touch(const struct coir_replay_record *r)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < r->length; i++)
        sum += ((const unsigned char *)r->body)[i];
    return sum;
}

static void check_report(const struct coir_replay_report *r, const struct coir_journal_anchor *from, uint64_t lsn)
{
    must(r->lsn == lsn);
    must(r->records == lsn - from->lsn);
    must(r->at < sizeof ring && r->at % BLOCK == 0);
    must(r->bytes <= sizeof ring);
    must(r->lost == 0 || (r->damaged && r->lost > lsn));
    must(r->end != COIR_REPLAY_UNREADABLE || r->damaged);
}

coir_body(replay, f) {
    coir_device_init(&f->device, &kind, "ring", sizeof ring, BLOCK, true);
    f->anchor = *f->from;
    f->anchor.device = &f->device;
    f->lsn = f->anchor.lsn;
    f->sum = 0;
    must(coir_replay_begin(&f->replay, &f->anchor) == 0);
    for (;;) {
        coir_get(f, f->more, &f->next, coir_replay_next, .replay = &f->replay);
        if (!f->more)
            break;
        must(f->replay.record.lsn == ++f->lsn);
        f->sum += touch(&f->replay.record);
    }
    check_report(&f->replay.report, f->from, f->lsn);
    coir_finally(f) {
        coir_replay_end(&f->replay);
    }
} coir_end

/* ---- one task that replays whatever it is given, on a shard that stays ---- */

static struct coir_journal_anchor anchor = { .blocks = BLOCKS, .grain = BLOCK, .owner = 0x6F776E65720A, .epoch = 3,
                                             .number = 5, .previous = 0x0123456789ABCDEF, .lsn = 40 };
static struct coir_event go;
static bool replayed;

struct forever {
    coir_frame_void;
    coir_no_args;
    union {
        struct coir_event_wait wait;
        struct replay replay;
    };
};
static coir_declare(forever);

coir_body(forever, f) {
    for (;;) {
        coir_try(f, &f->wait, coir_event_wait, .event = &go);
        coir_event_reset(&go);
        coir_await(f, &f->replay, replay, .from = &anchor);
        must(coir_status(&f->replay) == 0);
        replayed = true;
    }
} coir_end

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct coir_shard *shard;
    const struct coir_options epoll = { .io = "epoll" };

    if (!shard) {
        coir_event_init(&go);
        shard = coir_shard_open(&epoll, coir_new(forever));
        must(shard && coir_turn(shard) == 1);
    }
    if (n < 2)
        return 0;
    anchor.start = data[1] % BLOCKS * BLOCK;
    lay(data + 2, n - 2);
    put_right(data[0], &anchor);
    replayed = false;
    coir_event_set(&go);
    while (!replayed)
        must(coir_turn(shard) == 1);
    return 0;
}
