/* SPDX-License-Identifier: MIT */
/*
 * Replay of a journal that was worked out: five groups of two records, in blocks 0, 1 to 2, 3, 4 to 6, 7, and a mark
 * in block 8. Whole; from positions within; with every fault at rest in every block of it, each apart; with each write
 * of a ring that has gone round lost, so that an older group stands there.
 */
#include "journal_test.h"

#include "device/checksum.h"
#include "device/rules.h"
#include "journal/replay.h"

enum { GROUPS = 5 };

static const unsigned begins[GROUPS + 2] = { 0, 1, 3, 4, 7, 8, 9 };      /* blocks; of the mark, of what follows it */
static const size_t bodies[GROUPS] = { 20, 2100, 100, 5000, 3 };         /* bytes of each record */

/* ---- making it ---- */

struct make {
    coir_frame_void;
    coir_args(int groups; bool mark; uint16_t kind_from_3; struct coir_journal_position *at; int at_group;);
    int i, k;
    struct coir_group group;
    struct coir_journal_room room;
    struct coir_journal_record record;
    struct iovec iov;
    uint64_t lsn;
    union {
        struct coir_journal_reserve reserve;
        struct coir_journal_flush flush;
        struct coir_journal_close close;
        struct coir_sleep sleep;
        struct coir_group_wait wait;
    };
};
static coir_declare(make);

/* Records of kind 1, from the third group on of another. A position is taken before the second record of a group. */
coir_body(make, f) {
    coir_group_open(f, &f->group);
    EQ(test_open(&f->group), 0, "a journal");
    for (f->i = 0; f->i < f->groups; f->i++) {
        for (f->k = 0; f->k < 2; f->k++) {
            coir_try(f, &f->reserve, coir_journal_reserve, .journal = &journal, .bytes = bodies[f->i],
                     .room = &f->room);
            if (f->at && f->i == f->at_group && f->k == 1)
                coir_journal_position(&journal, f->at);
            f->iov = (struct iovec){ stuff, bodies[f->i] };
            f->record = (struct coir_journal_record){ .kind = f->i >= 2 && f->kind_from_3 ? f->kind_from_3 : 1,
                                                      .iov = &f->iov, .n = 1 };
            EQ(coir_journal_append(&journal, &f->room, &f->record, &f->lsn), 0, "record %d of group %d", f->k, f->i);
        }
        coir_try(f, &f->flush, coir_journal_flush, .journal = &journal);
    }
    if (f->mark)
        coir_try(f, &f->sleep, coir_sleep, .ns = 2 * COIR_JOURNAL_IDLE);
    if (f->at && f->at_group == f->groups)
        coir_journal_position(&journal, f->at);
    coir_try(f, &f->close, coir_journal_close, .journal = &journal);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

/* ---- replaying ---- */

struct found {
    struct coir_replay_report report;
    uint64_t last, verified, kinds;     /* records to be verified; the sum of the kinds */
    int status;
};

struct replays {
    coir_frame_void;
    coir_args(struct sim *w; const struct coir_journal_position *at; struct found *found;);
    bool more;
    struct coir_journal_anchor anchor;
    struct coir_replay replay;
    struct coir_replay_next next;
};
static coir_declare(replays);

coir_body(replays, f) {
    device[0] = sim_open(f->w, 0);
    f->anchor = test_anchor();
    if (f->at) {
        f->anchor.start = f->at->start;
        f->anchor.number = f->at->number;
        f->anchor.previous = f->at->previous;
        f->anchor.lsn = f->at->lsn;
    }
    memset(f->found, 0, sizeof *f->found);
    f->found->last = f->anchor.lsn;
    EQ(coir_replay_begin(&f->replay, &f->anchor), 0, "a replay");
    for (;;) {
        coir_get(f, f->more, &f->next, coir_replay_next, .replay = &f->replay);
        if (!f->more)
            break;
        f->found->verified += f->replay.record.verify;
        f->found->kinds += f->replay.record.kind;
        if (f->replay.record.lsn != ++f->found->last)
            coir_fail(f, EBADMSG);
    }
    f->found->report = f->replay.report;
    coir_finally(f) {
        coir_replay_end(&f->replay);
    }
} coir_end

/* Of a world, which goes. */
static struct found replay(struct sim *w, const struct coir_journal_position *at)
{
    struct found found;
    const int status = coir_run(NULL, coir_new(replays, .w = w, .at = at, .found = &found));

    found.status = status;
    sim_free(w);
    return found;
}

/* What the world's disk would be with all of it. */
static struct sim *whole(void)
{
    return sim_cut(world, sim_events(world), SIM_EVERYTHING, 1);
}

static void make_groups(int groups, bool mark)
{
    test_world(1, COIR_MS);
    EQ(coir_run(NULL, coir_new(make, .groups = groups, .mark = mark)), 0, "%d groups, %d mark", groups, mark);
}

static void is(struct found f, unsigned groups, bool marked, uint64_t verified, const char *name)
{
    EQ(f.status, 0, "%s", name);
    EQ(f.report.groups, groups, "%u groups", groups);
    EQ(f.report.records, 2 * groups, "twice as many records");
    EQ(f.report.lsn, 100 + 2 * groups, "up to their LSN");
    EQ(f.report.bytes, begins[groups] * BLOCK, "their bytes");
    EQ(f.report.marked, marked, "a mark");
    EQ(f.verified, verified, "records to be verified");
    EQ(f.report.damaged, false, "no damage");
}

static void whole_ones(void)
{
    struct found f;

    make_groups(0, false);
    is(replay(whole(), NULL), 0, false, 0, "an empty journal");
    for (int groups = 1; groups <= GROUPS; groups++) {
        make_groups(groups, false);
        f = replay(whole(), NULL);
        is(f, (unsigned)groups, false, 2, "without a mark");
        EQ(f.report.end, COIR_REPLAY_NOTHING, "nothing follows");
        EQ(f.report.at, begins[groups] * BLOCK, "where the next would be");
    }
    make_groups(GROUPS, true);
    f = replay(whole(), NULL);
    is(f, GROUPS, true, 0, "with a mark");
    EQ(f.report.at, begins[GROUPS + 1] * BLOCK, "behind the mark");
}

/* ---- from within ---- */

static void positions(void)
{
    struct coir_journal_position at;
    struct found f;

    for (int group = 0; group < GROUPS; group++) {
        test_world(1, COIR_MS);
        EQ(coir_run(NULL, coir_new(make, .groups = GROUPS, .at = &at, .at_group = group)), 0, "frozen in %d", group);
        EQ(at.start, begins[group] * BLOCK, "the position is that of the group");
        EQ(at.number, group + 1, "with its number");
        EQ(at.lsn, 101 + 2 * group, "the first of its records is known");
        f = replay(whole(), &at);
        EQ(f.status, 0, "from there");
        EQ(f.report.groups, GROUPS - group, "the groups from there on");
        EQ(f.report.skipped, 1, "what is known is left out");
        EQ(f.report.records, 2 * (GROUPS - group) - 1, "and the rest given");
    }
    for (int mark = 0; mark < 2; mark++) {
        test_world(1, COIR_MS);
        EQ(coir_run(NULL, coir_new(make, .groups = GROUPS, .mark = mark, .at = &at, .at_group = GROUPS)), 0,
           "at the end");
        EQ(at.start, begins[GROUPS + mark] * BLOCK, "behind what is written");
        f = replay(whole(), &at);
        EQ(f.report.groups + f.report.skipped, 0, "nothing is new");
        EQ(f.report.lsn, 110, "the LSN is the checkpoint's");
        OK(!f.report.damaged, "what lies before is no damage");
    }
}

/* ---- faults at rest ---- */

/* What a fault in group `k` has to say, when everything behind it is whole. `mark`: there is one behind the last. */
static void is_damage(struct found f, int k, bool mark, const char *what)
{
    const bool proven = k < GROUPS - 1 || mark;

    EQ(f.report.groups, k, "%s in group %d: those before it", what, k);
    EQ(f.report.lsn, 100 + 2 * k, "and no further");
    EQ(f.report.damaged, proven, "damage, if there is a proof");
    EQ(f.report.at, begins[k] * BLOCK, "named where it is");
    EQ(f.report.proof, proven ? begins[k + 1] * BLOCK : 0, "because of the next");
    EQ(f.report.lost, proven ? 110 : 0, "up to the last");
}

static void flip(struct sim *w, unsigned block)
{
    sim_flip(w, 0, (RING_AT + block) * BLOCK + 77, 3);
}

static void zero_sector(struct sim *w, unsigned block)
{
    static const char zeros[SIM_SECTOR];

    sim_poke(w, 0, (RING_AT + block) * BLOCK, zeros, sizeof zeros);
}

static void exchange(struct sim *w, unsigned block)
{
    sim_copy(w, 0, (RING_AT + block) * BLOCK, (RING_AT + (block + 3) % 9) * BLOCK, BLOCK);
}

static void unreadable(struct sim *w, unsigned block)
{
    sim_unreadable(w, 0, (RING_AT + block) * BLOCK, BLOCK);
}

static void faults(bool mark)
{
    static const struct { void (*make)(struct sim *, unsigned); const char *name; } fault[] = {
        { flip, "a bit" }, { zero_sector, "a torn sector" }, { exchange, "another block" },
    };
    struct sim *w;

    make_groups(GROUPS, mark);
    for (size_t i = 0; i < sizeof fault / sizeof *fault; i++) {
        for (int k = 0; k < GROUPS; k++) {
            for (unsigned block = begins[k]; block < begins[k + 1]; block++) {
                w = whole();
                fault[i].make(w, block);
                is_damage(replay(w, NULL), k, mark, fault[i].name);
            }
        }
        if (mark) {
            w = whole();
            fault[i].make(w, begins[GROUPS]);
            is(replay(w, NULL), GROUPS, false, 2, "a mark that is lost is no damage");
        }
    }
}

static void bad_blocks(void)
{
    struct found f;
    struct sim *w;

    make_groups(GROUPS, false);
    for (int k = 0; k <= GROUPS; k++) {
        for (unsigned block = begins[k]; block < begins[k + 1]; block++) {
            w = whole();
            unreadable(w, block);
            f = replay(w, NULL);
            EQ(f.status, 0, "block %u cannot be read", block);
            EQ(f.report.groups, k, "what lies before it can");
            EQ(f.report.end, COIR_REPLAY_UNREADABLE, "that is the end");
            EQ(f.report.damaged, true, "and damage, proven or not");
            EQ(f.report.at, begins[k] * BLOCK, "named where it is");
            EQ(f.report.unreadable, block == begins[k] ? 1 : 2, "the block, and the group whose part it is");
        }
    }
    w = whole();
    unreadable(w, 20);
    f = replay(w, NULL);
    is(f, GROUPS, false, 2, "one that nobody needs");
    EQ(f.report.unreadable, 1, "is counted");
    w = whole();
    sim_shorten(w, 0, (RING_AT + 3) * BLOCK);
    f = replay(w, NULL);
    EQ(f.report.groups, 2, "of a device that was cut two groups are left");
    OK(f.report.damaged && f.report.end == COIR_REPLAY_UNREADABLE, "and it is damaged");
}

/* ---- a group of another history, which has the same number, LSN and place ---- */

static struct found splice(void)
{
    unsigned char group[BLOCK];
    struct sim *w;

    test_world(1, COIR_MS);
    coir_run(NULL, coir_new(make, .groups = GROUPS, .kind_from_3 = 9));
    sim_peek(world, 0, (RING_AT + begins[2]) * BLOCK, group, BLOCK);
    make_groups(GROUPS, false);
    w = whole();
    sim_poke(w, 0, (RING_AT + begins[2]) * BLOCK, group, BLOCK);
    return replay(w, NULL);
}

static void other_histories(void)
{
    struct found f = splice();

    EQ(f.report.groups, 3, "it is believed, since nothing before it differs");
    EQ(f.report.damaged, true, "but the next one says that it should have been another");
    EQ(f.report.at, begins[3] * BLOCK, "where that one is");
    EQ(f.report.lost, 110, "and what is lost");
    coir_rule_broken = COIR_RULE_CHAIN;
    f = splice();
    EQ(f.report.damaged, false, "without CHAIN two histories are mixed");
    EQ(f.kinds, 8 + 2 * 9, "and nobody notices");
    coir_rule_broken = COIR_RULE_NONE;
}

/* ---- what fits but for one field: sums and hashes are right ---- */

static void write_group(struct sim *w, unsigned block, struct coir_disk_group h)
{
    static _Alignas(8) unsigned char bytes[BLOCK];

    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, &h, sizeof h);
    if (h.records)
        memcpy(bytes + sizeof h, (unsigned char[]){ 8, 0, 0, 0, 1, 0, 0, 0 }, 8);
    coir_group_seal(bytes, RING_AT + block, BLOCK);
    sim_poke(w, 0, (RING_AT + block) * BLOCK, bytes, sizeof bytes);
}

/* What follows the last group, if it were this. */
static struct found followed_by(uint64_t number, uint64_t first, uint32_t records)
{
    struct sim *w = whole();
    unsigned char last[BLOCK];

    sim_peek(w, 0, (RING_AT + begins[GROUPS - 1]) * BLOCK, last, sizeof last);
    write_group(w, begins[GROUPS], (struct coir_disk_group){ .epoch = 7, .number = number, .first = first,
                                                             .previous = coir_crc64(last, sizeof last),
                                                             .length = 8 * records, .records = records,
                                                             .owner = 0x1234 });
    return replay(w, NULL);
}

static void nearly(void)
{
    struct found f;
    struct sim *w;

    make_groups(GROUPS, false);
    f = followed_by(GROUPS + 1, 111, 1);
    EQ(f.report.groups, GROUPS + 1, "a group that fits");
    EQ(f.report.lsn, 111, "has the next LSN");
    f = followed_by(GROUPS + 2, 111, 1);
    EQ(f.report.groups, GROUPS, "one with another number does not follow");
    EQ(f.report.damaged, true, "and says that something is missing");
    f = followed_by(GROUPS + 1, 112, 1);
    EQ(f.report.groups, GROUPS, "one with another LSN neither");
    EQ(f.report.damaged, true, "which is damage too");
    is(followed_by(GROUPS, 111, 0), GROUPS, true, 0, "a mark that fits");
    is(followed_by(GROUPS - 1, 111, 0), GROUPS, false, 2, "one of an older group says nothing");
    is(followed_by(GROUPS, 110, 0), GROUPS, false, 2, "nor one with another LSN");
    w = whole();
    write_group(w, 0, (struct coir_disk_group){ .epoch = 7, .number = 1, .first = 105, .previous = 99, .length = 8,
                                                .records = 1, .owner = 0x1234 });
    f = replay(w, NULL);
    EQ(f.report.groups, 0, "the first group begins with what is known, or right behind it");
    EQ(f.report.damaged, true, "or something is missing");
}

/* ---- older versions: a ring that has gone round, with each of the last groups lost ---- */

struct laps {
    coir_frame_void;
    coir_args(struct coir_journal_position *at;);
    int i;
    struct coir_group group;
    union {
        struct one one;
        struct coir_journal_close close;
        struct coir_group_wait wait;
    };
};
static coir_declare(laps);
coir_body(laps, f) {
    coir_group_open(f, &f->group);
    EQ(test_open(&f->group), 0, "a journal");
    for (f->i = 0; f->i < 23; f->i++) {
        coir_try(f, &f->one, one, .bytes = BIG, .durable = true, .commit = true);
        if (f->i % 5 == 0 && f->i < 20) {
            coir_journal_position(&journal, f->at);
            coir_journal_cut(&journal, f->at);
        }
    }
    coir_try(f, &f->close, coir_journal_close, .journal = &journal);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

/* Twenty-three groups of three blocks, ten a lap; the last checkpoint has sixteen, so seven are to be replayed: four at
 * the end of the second lap, three in the third. */
static void older(void)
{
    struct coir_journal_position at;
    struct found f;
    size_t groups = 0;

    test_world(1, COIR_MS);
    EQ(coir_run(NULL, coir_new(laps, .at = &at)), 0, "two laps and a bit");
    f = replay(whole(), &at);
    EQ(f.report.groups, 7, "seven groups");
    EQ(f.report.damaged, false, "whole");
    for (size_t i = 0; i < sim_writes(world); i++, groups++) {
        const int lost = (int)groups - 16;
        sim_lose(world, i, true);
        f = replay(whole(), &at);
        sim_lose(world, i, false);
        if (lost < 0) {
            EQ(f.report.groups, 7, "group %zu is not needed any more", groups);
            continue;
        }
        EQ(f.report.groups, lost, "without group %zu those before it", groups);
        EQ(f.report.damaged, lost < 6, "and damage, but for the last");
        EQ(f.report.at, groups % 10 * 3 == 0 ? 30 * BLOCK : groups % 10 * 3 * BLOCK, "where it was");
    }
    EQ(groups, 23, "each was a write");
}

/* Each write of five groups lands elsewhere, or in part. */
static void liars(enum sim_lie lie, const char *name)
{
    for (uint64_t n = 1; n <= GROUPS; n++) {
        struct found f;
        test_world(n, COIR_MS);
        sim_lie(world, n, lie);
        coir_run(NULL, coir_new(make, .groups = GROUPS));
        OK(sim_has_failed(world), "write %llu %s", (unsigned long long)n, name);
        f = replay(sim_cut(world, sim_events(world), SIM_EVERYTHING, 1), NULL);
        OK(f.report.groups < GROUPS && f.report.groups <= n, "not all groups are there");
        OK(f.report.damaged || n == GROUPS || f.report.groups == GROUPS - 1, "which is noticed, but for the last");
    }
}

int main(void)
{
    setenv("COIR_TIME", "virtual", 1);
    whole_ones();
    positions();
    faults(false);
    faults(true);
    bad_blocks();
    other_histories();
    nearly();
    older();
    liars(SIM_ELSEWHERE, "lands elsewhere");
    liars(SIM_LOST, "is lost");
    sim_free(world);
    return DONE();
}
