/* SPDX-License-Identifier: MIT */
/* The ledger of the crash tests: its superblocks, its opening, its work. One at a time on a shard. */
#include "ledger.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/checksum.h"
#include "runtime/base/assert.h"

enum { OWNER = 77, MAGIC = 0x4C454447 };

struct super {
    uint32_t magic, crc;
    uint64_t generation, epoch, lsn, start, number, previous;
};

static _Alignas(LEDGER_BLOCK) unsigned char page[LEDGER_BLOCK];       /* of the one who opens */

static void wrong(struct ledger *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void wrong(struct ledger *l, const char *fmt, ...)
{
    va_list ap;

    if (l->wrong[0])
        return;
    va_start(ap, fmt);
    vsnprintf(l->wrong, sizeof l->wrong, fmt, ap);
    va_end(ap);
}

/* ---- superblocks and data as bytes ---- */

static uint32_t sum(const struct super *s, int copy)
{
    return coir_crc((uint64_t)copy, (const char *)s + 8, sizeof *s - 8);
}

static void make_super(const struct ledger *l, int copy, unsigned char *to)
{
    struct super s = { .magic = MAGIC, .generation = l->generation, .epoch = l->epoch, .lsn = l->lsn,
                       .start = l->at.start, .number = l->at.number, .previous = l->at.previous };

    s.crc = sum(&s, copy);
    memset(to, 0, LEDGER_BLOCK);
    memcpy(to, &s, sizeof s);
}

/* Takes what a copy says, if it is whole and newer than what is known. */
static void take_super(struct ledger *l, int copy, const unsigned char *from)
{
    struct super s;

    memcpy(&s, from, sizeof s);
    if (s.magic != MAGIC || s.crc != sum(&s, copy) || s.generation <= l->generation)
        return;
    l->generation = s.generation;
    l->epoch = s.epoch;
    l->lsn = s.lsn;
    l->at = (struct coir_journal_position){ .start = s.start, .number = s.number, .previous = s.previous };
}

static void make_data(uint64_t id, unsigned char *to)
{
    for (uint64_t i = 0; i < LEDGER_BLOCK / 8; i++) {
        const uint64_t word = id * 0x9E3779B97F4A7C15 + i;
        memcpy(to + 8 * i, &word, 8);
    }
}

static bool is_data(uint64_t id, const unsigned char *bytes)
{
    unsigned char good[LEDGER_BLOCK];

    make_data(id, good);
    return memcmp(good, bytes, sizeof good) == 0;
}

/* ---- worlds ---- */

struct ledger *ledger_new(uint64_t seed)
{
    struct ledger *l = calloc(1, sizeof *l);
    unsigned char bytes[LEDGER_BLOCK];

    COIR_ASSERT(l);
    l->random = seed;
    l->w = sim_new(seed, 3 * COIR_MS);
    sim_add(l->w, LEDGER_BLOCKS * LEDGER_BLOCK, LEDGER_BLOCK);
    sim_add(l->w, LEDGER_BLOCKS * LEDGER_BLOCK, LEDGER_BLOCK);
    l->generation = l->epoch = l->at.number = 1;
    l->at.previous = seed;
    l->next_id = 1;
    l->next_block[0] = l->next_block[1] = LEDGER_DATA_AT;
    for (int copy = 0; copy < 2; copy++) {
        make_super(l, copy, bytes);
        sim_poke(l->w, 0, (uint64_t)copy * LEDGER_BLOCK, bytes, sizeof bytes);
    }
    return l;
}

void ledger_free(struct ledger *l)
{
    sim_free(l->w);
    free(l);
}

struct ledger *ledger_cut(struct ledger *l, size_t event, enum sim_keep keep, uint64_t seed)
{
    struct ledger *after = malloc(sizeof *after);

    COIR_ASSERT(after);
    memcpy(after, l, sizeof *after);
    after->w = sim_cut(l->w, event, keep, seed);
    after->random = seed;
    after->generation = 0;
    after->promises = 0;
    after->wrong[0] = 0;
    for (size_t i = 0; i < l->promises; i++)
        if (l->promise[i].at <= event && l->promise[i].lsn > after->floor)
            after->floor = l->promise[i].lsn;
    return after;
}

static void promise(struct ledger *l, uint64_t lsn)
{
    COIR_ASSERT(l->promises < LEDGER_FACTS);
    l->promise[l->promises++] = (struct promise){ sim_events(l->w), lsn };
}

/* ---- opening ---- */

static struct coir_journal_anchor anchor_of(const struct ledger *l)
{
    return (struct coir_journal_anchor){ .device = l->d[0], .block = LEDGER_RING_AT, .blocks = LEDGER_RING,
                                         .grain = LEDGER_BLOCK, .owner = OWNER, .epoch = l->epoch,
                                         .start = l->at.start, .number = l->at.number, .previous = l->at.previous,
                                         .lsn = l->lsn };
}

/* A record that was replayed. Its fact, or NULL, and what is wrong is said. */
static const struct fact *check_record(struct ledger *l, const struct coir_replay_record *r, uint64_t expected)
{
    struct fact f;

    if (r->lsn != expected)
        wrong(l, "LSN %llu comes where %llu is due", (unsigned long long)r->lsn, (unsigned long long)expected);
    else if (r->lsn > l->facts)
        wrong(l, "LSN %llu was never given", (unsigned long long)r->lsn);
    else if (r->length < sizeof f || memcmp(r->body, &l->fact[r->lsn], sizeof f))
        wrong(l, "LSN %llu says something else", (unsigned long long)r->lsn);
    return l->wrong[0] ? NULL : &l->fact[r->lsn];
}

/* What the data of a fact is. */
static void check_data(struct ledger *l, uint64_t lsn, bool verify, const unsigned char *bytes)
{
    const bool good = is_data(l->fact[lsn].id, bytes);

    if (!good && !verify && !l->dropped[lsn])
        wrong(l, "the data of LSN %llu is wrong, and nobody verifies it", (unsigned long long)lsn);
    if (!good && verify && lsn <= l->floor)
        wrong(l, "the data of LSN %llu, which was promised, is lost", (unsigned long long)lsn);
    if (verify)
        l->dropped[lsn] = !good;
    l->verified += verify;
}

/* All records are there. */
static void check_end(struct ledger *l, const struct coir_replay_report *report)
{
    if (report->damaged)
        wrong(l, "damage at %llu, because of %llu", (unsigned long long)report->at, (unsigned long long)report->proof);
    if (report->lsn < l->floor)
        wrong(l, "LSN %llu was promised, and %llu is the last", (unsigned long long)l->floor,
              (unsigned long long)report->lsn);
    l->report = *report;
}

static void next_epoch(struct ledger *l)
{
    l->facts = l->lsn = l->report.lsn;
    l->generation++;
    l->epoch++;
    l->at = (struct coir_journal_position){ .start = l->report.at % (LEDGER_RING * LEDGER_BLOCK), .number = 1,
                                            .previous = sim_random(&l->random) };
}

coir_body(ledger_open, f) {
    memset(&f->replay, 0, sizeof f->replay);
    f->l->verified = 0;
    f->l->d[0] = sim_open(f->l->w, 0);
    f->l->d[1] = sim_open(f->l->w, 1);
    f->iov = (struct iovec){ page, sizeof page };
    for (f->copy = 0; f->copy < 2; f->copy++) {
        coir_try(f, &f->read, coir_device_read, .device = f->l->d[0], .iov = &f->iov, .n = 1,
                 .offset = (uint64_t)f->copy * LEDGER_BLOCK, .flags = COIR_DIRECT);
        take_super(f->l, f->copy, page);
    }
    if (f->l->generation == 0) {
        wrong(f->l, "no superblock");
        coir_return(f);
    }
    for (f->i = 1; f->i <= f->l->lsn && f->i <= f->l->facts; f->i++) {
        coir_try(f, &f->read, coir_device_read, .device = f->l->d[f->l->fact[f->i].device], .iov = &f->iov, .n = 1,
                 .offset = f->l->fact[f->i].block * LEDGER_BLOCK, .flags = COIR_DIRECT);
        check_data(f->l, f->i, false, page);
    }
    f->anchor = anchor_of(f->l);
    COIR_ASSERT(coir_replay_begin(&f->replay, &f->anchor) == 0);
    for (f->i = f->l->lsn + 1; !f->l->wrong[0]; f->i++) {
        coir_get(f, f->more, &f->next, coir_replay_next, .replay = &f->replay);
        if (!f->more || !check_record(f->l, &f->replay.record, f->i))
            break;
        coir_try(f, &f->read, coir_device_read, .device = f->l->d[f->l->fact[f->i].device], .iov = &f->iov, .n = 1,
                 .offset = f->l->fact[f->i].block * LEDGER_BLOCK, .flags = COIR_DIRECT);
        check_data(f->l, f->i, f->replay.record.verify, page);
    }
    check_end(f->l, &f->replay.report);
    if (f->l->wrong[0])
        coir_return(f);
    coir_try(f, &f->flush, coir_device_flush, .device = f->l->d[0]);
    coir_try(f, &f->flush, coir_device_flush, .device = f->l->d[1]);
    next_epoch(f->l);
    for (f->copy = 0; f->copy < 2; f->copy++) {
        make_super(f->l, f->copy, page);
        coir_try(f, &f->write, coir_device_write, .device = f->l->d[0], .iov = &f->iov, .n = 1,
                 .offset = (uint64_t)f->copy * LEDGER_BLOCK);
        coir_try(f, &f->flush, coir_device_flush, .device = f->l->d[0]);
    }
    promise(f->l, f->l->lsn);
    coir_finally(f) {
        coir_replay_end(&f->replay);
    }
} coir_end

/* ---- a checkpoint, which takes its time while the others go on ---- */

struct checkpoint {
    coir_frame_void;
    coir_args(struct ledger *l;);
    int copy;
    struct coir_journal_position at;
    struct iovec iov;
    union {
        struct coir_sleep sleep;
        struct coir_device_write write;
        struct coir_device_flush flush;
    };
    unsigned char page[LEDGER_BLOCK];
};
static coir_declare(checkpoint);

coir_body(checkpoint, f) {
    coir_journal_position(&f->l->j, &f->at);
    coir_try(f, &f->sleep, coir_sleep, .ns = (int64_t)sim_below(&f->l->random, 4) * 40 * COIR_MS);
    coir_try(f, &f->flush, coir_device_flush, .device = f->l->d[0]);
    coir_try(f, &f->flush, coir_device_flush, .device = f->l->d[1]);
    f->l->generation++;
    f->l->at = f->at;
    f->l->lsn = f->at.lsn;
    for (f->copy = 0; f->copy < 2; f->copy++) {
        make_super(f->l, f->copy, f->page);
        f->iov = (struct iovec){ f->page, sizeof f->page };
        coir_try(f, &f->write, coir_device_write, .device = f->l->d[0], .iov = &f->iov, .n = 1,
                 .offset = (uint64_t)f->copy * LEDGER_BLOCK);
        coir_try(f, &f->flush, coir_device_flush, .device = f->l->d[0]);
    }
    coir_journal_cut(&f->l->j, &f->at);
} coir_end

/* Whenever the journal is pressed. One that fails is the end of it. */
struct checkpoints {
    coir_frame_void;
    coir_args(struct ledger *l;);
    union {
        struct coir_event_wait wait;
        struct checkpoint checkpoint;
    };
};
static coir_declare(checkpoints);

coir_body(checkpoints, f) {
    for (;;) {
        coir_try(f, &f->wait, coir_event_wait, .event = coir_journal_pressed(&f->l->j));
        coir_try(f, &f->checkpoint, checkpoint, .l = f->l);
    }
    coir_finally(f) {
        if (coir_status(f) != -ECANCELED)
            coir_journal_fail(&f->l->j, coir_status(f));
    }
} coir_end

/* ---- the work ---- */

struct state {
    coir_frame_void;
    coir_args(struct ledger *l; unsigned each;);
    unsigned i;
    int err;
    bool commit;
    size_t bytes;
    struct fact fact;
    uint64_t lsn;
    struct coir_journal_room room;
    struct coir_journal_record record;
    struct iovec data, iov[2];
    union {
        struct coir_journal_reserve reserve;
        struct coir_journal_commit wait;
        struct coir_journal_flush flush;
        struct coir_device_write write;
        struct coir_sleep sleep;
    };
    unsigned char page[LEDGER_BLOCK];
};
static coir_declare(state);

static const char padding[2 * LEDGER_BLOCK];

/* A new fact, its data in `page`; whether it is to be committed at once, and how long its record is. */
static void think_of(struct state *f)
{
    struct ledger *const l = f->l;

    f->fact.id = l->next_id++;
    f->fact.device = sim_below(&l->random, 2);
    f->fact.block = l->next_block[f->fact.device]++;
    COIR_ASSERT(f->fact.block < LEDGER_BLOCKS);
    f->commit = sim_below(&l->random, 3) > 0;
    f->bytes = sim_below(&l->random, 4) ? 8 * sim_below(&l->random, 20) : sim_below(&l->random, sizeof padding);
    make_data(f->fact.id, f->page);
    f->data = (struct iovec){ f->page, sizeof f->page };
    f->iov[0] = (struct iovec){ &f->fact, sizeof f->fact };
    f->iov[1] = (struct iovec){ (void *)padding, f->bytes };
    f->record = (struct coir_journal_record){ .kind = 5, .durable = f->commit, .devices = 1 << f->fact.device,
                                              .iov = f->iov, .n = 2 };
}

static int append(struct state *f)
{
    struct ledger *const l = f->l;
    const int err = coir_journal_append(&l->j, &f->room, &f->record, &f->lsn);

    if (err)
        return err;
    COIR_ASSERT(f->lsn == l->facts + 1 && f->lsn < LEDGER_FACTS);
    l->facts = f->lsn;
    l->fact[f->lsn] = f->fact;
    l->dropped[f->lsn] = false;
    return 0;
}

coir_body(state, f) {
    f->room.bytes = 0;
    for (f->i = 0; f->i < f->each; f->i++) {
        think_of(f);
        coir_try(f, &f->reserve, coir_journal_reserve, .journal = &f->l->j, .bytes = sizeof f->fact + f->bytes,
                 .room = &f->room);
        coir_try(f, &f->write, coir_device_write, .device = f->l->d[f->fact.device], .iov = &f->data, .n = 1,
                 .offset = f->fact.block * LEDGER_BLOCK);
        f->err = append(f);
        if (f->err)
            coir_fail(f, f->err);
        if (f->commit) {
            coir_try(f, &f->wait, coir_journal_commit, .journal = &f->l->j, .lsn = f->lsn);
            promise(f->l, f->lsn);
        } else if (sim_below(&f->l->random, 8) == 0) {
            f->lsn = coir_journal_appended(&f->l->j);
            coir_try(f, &f->flush, coir_journal_flush, .journal = &f->l->j);
            promise(f->l, f->lsn);
        }
        coir_try(f, &f->sleep, coir_sleep, .ns = (int64_t)sim_below(&f->l->random, 8) * COIR_MS);
        if (f->i % 4 == 3)                      /* all are idle together, if not for long, and a mark is written */
            coir_try(f, &f->sleep, coir_sleep, .ns = 5 * COIR_JOURNAL_IDLE);
    }
    coir_finally(f) {
        coir_journal_release(&f->l->j, &f->room);
    }
} coir_end

coir_body(ledger_live, f) {
    f->anchor = anchor_of(f->l);
    COIR_ASSERT(coir_journal_open(&f->l->j, &f->anchor, f->l->d, 2) == 0);
    coir_group_open(f, &f->l->group, .keep_going = true);
    coir_group_open(f, &f->l->aside, .keep_going = true);
    coir_group_open(f, &f->l->work, .keep_going = true);
    COIR_ASSERT(coir_journal_start(&f->l->j, &f->l->group) == 0);
    COIR_ASSERT(coir_spawn(&f->l->aside, coir_new(checkpoints, .l = f->l)) == 0);
    for (unsigned i = 0; i < f->tasks; i++)
        COIR_ASSERT(coir_spawn(&f->l->work, coir_new(state, .l = f->l, .each = f->each)) == 0);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->l->work);
    coir_group_cancel(&f->l->aside);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->l->aside);
    coir_await(f, &f->close, coir_journal_close, .journal = &f->l->j);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->l->group);
} coir_end
