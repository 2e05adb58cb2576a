/* SPDX-License-Identifier: MIT */
/*
 * The journal on the simulator under virtual time: what it writes and where, how records fall into groups, what is
 * flushed, room and who waits for it, cancelling, the end. All counts were worked out.
 */
#include "journal_test.h"

#include "device/checksum.h"

/* A crowd of tasks with one record each, all at once. */
struct crowd {
    coir_frame_void;
    coir_args(int n; size_t bytes; bool commit; uint64_t devices;);
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(crowd);
coir_body(crowd, f) {
    coir_group_open(f, &f->group);
    for (int i = 0; i < f->n; i++)
        (void)coir_spawn(&f->group, coir_new(one, .bytes = f->bytes, .durable = f->commit, .commit = f->commit,
                                             .devices = f->devices));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

union slots {
    struct one one;
    struct crowd crowd;
    struct coir_sleep sleep;
    struct coir_journal_flush flush;
    struct coir_journal_commit commit;
    struct coir_journal_reserve reserve;
    struct coir_journal_close close;
    struct coir_group_wait wait;
};

/* ---- what is written ---- */

struct written {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    unsigned char block[BLOCK];
    uint64_t hash;
    struct coir_disk_group h;
    union slots u;
};
static coir_declare(written);
coir_body(written, f) {
    coir_group_open(f, &f->group);
    EQ(test_open(&f->group), 0, "a journal");
    SAYS(0, &f->u.one, one, .bytes = 3);
    EQ(f->u.one.result, 101, "the first LSN is one more than the anchor's");
    SAYS(0, &f->u.one, one, .bytes = 0);
    EQ(f->u.one.result, 102, "and so on");
    SAYS(0, &f->u.sleep, coir_sleep, .ns = COIR_S);
    EQ(sim_counts(world, 0).writes, 0, "nothing is written until somebody wants it");
    SAYS(0, &f->u.one, one, .bytes = 3, .durable = true, .commit = true);
    f->h = header_at(0);
    EQ(f->h.magic, COIR_MAGIC_GROUP, "a group at the beginning of the ring");
    EQ(f->h.epoch, 7, "of this epoch");
    EQ(f->h.number, 1, "the first");
    EQ(f->h.first, 101, "with the first LSN");
    EQ(f->h.previous, 99, "and the anchor's hash");
    EQ(f->h.records, 3, "of three records");
    EQ(f->h.length, 16 + 8 + 16, "of forty bytes");
    EQ(f->h.owner, 0x1234, "of this owner");
    EQ(sim_counts(world, 0).bytes_written, BLOCK, "in a block");
    EQ(sim_counts(world, 0).syncs, 1, "with one sync");
    sim_peek(world, 0, RING_AT * BLOCK, f->block, BLOCK);
    f->hash = coir_crc64(f->block, BLOCK);

    SAYS(0, &f->u.sleep, coir_sleep, .ns = COIR_JOURNAL_IDLE + COIR_MS);
    f->h = header_at(1);
    EQ(f->h.magic, COIR_MAGIC_GROUP, "a mark behind it");
    EQ(f->h.number, 1, "with its number");
    EQ(f->h.first, 104, "one more than its last LSN");
    EQ((int64_t)f->h.previous, (int64_t)f->hash, "its hash");
    EQ(f->h.records + f->h.length, 0, "and no records");
    EQ(sim_counts(world, 0).syncs, 1, "unflushed");
    SAYS(0, &f->u.sleep, coir_sleep, .ns = COIR_S);
    EQ(journal.counts.marks, 1, "one mark is enough");

    SAYS(0, &f->u.one, one, .bytes = 5000, .durable = true, .commit = true);
    f->h = header_at(2);
    EQ(f->h.number, 2, "the next group stands behind the mark");
    EQ(f->h.first, 104, "with the next LSN");
    EQ((int64_t)f->h.previous, (int64_t)f->hash, "and the hash of the group, not of the mark");
    EQ(journal.head, 4 * BLOCK, "in two blocks");
    EQ(journal.counts.groups, 2, "two groups");
    EQ(journal.counts.records, 4, "of four records");
    EQ(journal.counts.bytes, 16 + 8 + 16 + 5008, "of their bytes");
    EQ(journal.counts.written, 4 * BLOCK, "in four blocks, the mark's too");
    SAYS(0, &f->u.close, coir_journal_close, .journal = &journal);
    SAYS(0, &f->u.wait, coir_group_wait, .group = &f->group);
} coir_end

/* ---- how groups form ---- */

struct forming {
    coir_frame_void;
    coir_no_args;
    int i;
    struct coir_group group, more;
    union slots u;
};
static coir_declare(forming);
coir_body(forming, f) {
    coir_group_open(f, &f->group);
    EQ(test_open(&f->group), 0, "a journal");
    SAYS(0, &f->u.crowd, crowd, .n = 100, .bytes = 20, .commit = true);
    EQ(journal.counts.groups, 1, "a hundred at once are one group");
    EQ(sim_counts(world, 0).writes, 1, "one write");
    EQ(sim_counts(world, 0).syncs, 1, "one sync");
    EQ(sim_counts(world, 1).syncs, 0, "of the ring's device alone");
    EQ(coir_journal_durable(&journal), 200, "all are durable");

    coir_group_open(f, &f->more);
    (void)coir_spawn(&f->more, coir_new(crowd, .n = 1, .bytes = 20, .commit = true));
    SAYS(0, &f->u.sleep, coir_sleep, .ns = 1);
    EQ(journal.counts.groups, 2, "one is under way");
    (void)coir_spawn(&f->more, coir_new(crowd, .n = 40, .bytes = 20, .commit = true));
    (void)coir_spawn(&f->more, coir_new(crowd, .n = 40, .bytes = 20, .commit = true));
    SAYS(0, &f->u.wait, coir_group_wait, .group = &f->more);
    EQ(journal.counts.groups, 3, "what comes meanwhile is the next");
    EQ(sim_counts(world, 0).syncs, 3, "with one sync");
    EQ(journal.counts.marks, 0, "no mark between them");
    EQ(journal.counts.messages, 0, "and no message: all wait at home");

    SAYS(0, &f->u.one, one, .bytes = 20, .durable = true, .commit = true, .devices = 2);
    EQ(sim_counts(world, 1).syncs, 1, "a record's device is synced with its group");
    EQ(sim_counts(world, 0).syncs, 4, "and the ring's");
    EQ(journal.counts.flushes, 5, "five flushes for four groups");
    SAYS(0, &f->u.one, one, .bytes = 20);
    SAYS(0, &f->u.commit, coir_journal_commit, .journal = &journal, .lsn = 282);
    EQ(journal.counts.groups, 4, "what is durable needs no group");
    SAYS(0, &f->u.flush, coir_journal_flush, .journal = &journal);
    EQ(journal.counts.groups, 5, "a flush commits all that was appended");
    SAYS(0, &f->u.flush, coir_journal_flush, .journal = &journal);
    EQ(journal.counts.groups, 5, "and with nothing new does nothing");

    for (f->i = 0; f->i < 2; f->i++)
        SAYS(0, &f->u.one, one, .bytes = 8 * BLOCK / 4 - 8);
    SAYS(0, &f->u.sleep, coir_sleep, .ns = COIR_S);
    EQ(journal.counts.groups, 5, "half a group is kept in memory");
    SAYS(0, &f->u.one, one, .bytes = 0);
    SAYS(0, &f->u.sleep, coir_sleep, .ns = COIR_S);
    EQ(journal.counts.groups, 6, "more than half is written, though nobody waits");
    EQ(coir_journal_durable(&journal), coir_journal_appended(&journal), "and durable");
    SAYS(0, &f->u.close, coir_journal_close, .journal = &journal);
    SAYS(0, &f->u.wait, coir_group_wait, .group = &f->group);
} coir_end

/* ---- round the ring ---- */

struct around {
    coir_frame_void;
    coir_no_args;
    int i;
    struct coir_group group;
    struct coir_journal_position p;
    union slots u;
};
static coir_declare(around);
coir_body(around, f) {
    coir_group_open(f, &f->group);
    EQ(test_open(&f->group), 0, "a journal");
    for (f->i = 0; f->i < 25; f->i++) {
        SAYS(0, &f->u.one, one, .bytes = BIG, .durable = true, .commit = true);
        EQ(header_at((unsigned)f->i % 10 * 3).number, f->i + 1, "group %d is three blocks, ten of them a lap", f->i);
        coir_journal_position(&journal, &f->p);
        coir_journal_cut(&journal, &f->p);
        EQ(coir_journal_used(&journal), 0, "nothing is left of the ring behind a cut");
    }
    EQ(f->p.start, 15 * BLOCK, "the next one stands where the last one ended");
    EQ(f->p.number, 26, "has the next number");
    EQ(f->p.lsn, 125, "the last LSN");
    EQ(f->p.place, 2 * RING * BLOCK + 15 * BLOCK, "in the third lap");
    for (f->i = 0; f->i < 5; f->i++)
        SAYS(0, &f->u.one, one, .bytes = BIG, .durable = true, .commit = true);
    EQ(coir_journal_used(&journal), 15 * BLOCK, "up to two blocks before the end");
    SAYS(0, &f->u.one, one, .bytes = BIG, .durable = true, .commit = true);
    EQ(coir_journal_used(&journal), 20 * BLOCK, "which are wasted");
    EQ(header_at(0).number, 31, "by a group that does not fit there");
    SAYS(0, &f->u.close, coir_journal_close, .journal = &journal);
    SAYS(0, &f->u.wait, coir_group_wait, .group = &f->group);
} coir_end

/* ---- a full ring ---- */

struct waiting {
    coir_frame_void;
    coir_args(size_t bytes; int *order; int *count;);
    struct one one;
};
static coir_declare(waiting);
coir_body(waiting, f) {
    coir_try(f, &f->one, one, .bytes = f->bytes, .durable = true, .commit = true);
    *f->order = ++*f->count;
} coir_end

struct full {
    coir_frame_void;
    coir_no_args;
    int i, order[3], count;
    struct coir_group group, more;
    struct coir_journal_position p;
    struct coir_scope scope;
    struct coir_journal_room room;
    union slots u;
};
static coir_declare(full);
coir_body(full, f) {
    f->count = 0;
    coir_group_open(f, &f->group);
    EQ(test_open(&f->group), 0, "a journal");
    for (f->i = 1; f->i <= 8; f->i++) {
        SAYS(0, &f->u.one, one, .bytes = BIG, .durable = true, .commit = true);
        EQ(coir_event_is_set(coir_journal_pressed(&journal)), f->i * 3 > 16, "%d of 32 blocks in use", f->i * 3);
    }
    EQ(journal.counts.waits, 0, "eight have three blocks each, and eight blocks are for the jump");
    coir_within(f, &f->scope, coir_now() + COIR_S, &f->u.reserve, coir_journal_reserve, .journal = &journal,
                .bytes = BIG, .room = &f->room);
    EQ(coir_status(&f->u.reserve), -ETIMEDOUT, "the ninth waits");
    EQ(f->room.bytes, 0, "and has nothing");

    coir_group_open(f, &f->more);
    for (int i = 0; i < 3; i++)
        (void)coir_spawn(&f->more, coir_new(waiting, .bytes = i ? 10 : BIG, .order = &f->order[i], .count = &f->count));
    SAYS(0, &f->u.sleep, coir_sleep, .ns = COIR_S);
    EQ(f->count, 0, "small ones do not pass it");
    EQ(journal.counts.waits, 4, "four have waited");
    coir_journal_position(&journal, &f->p);
    SAYS(0, &f->u.sleep, coir_sleep, .ns = COIR_S);
    EQ(f->count, 0, "a position frees nothing");
    coir_journal_cut(&journal, &f->p);
    OK(!coir_event_is_set(coir_journal_pressed(&journal)), "a cut does");
    SAYS(0, &f->u.wait, coir_group_wait, .group = &f->more);
    OK(f->order[0] == 1 && f->order[1] == 2 && f->order[2] == 3, "they go on in their order");
    EQ(header_at(24).records, 3, "in one group behind the last");
    SAYS(0, &f->u.close, coir_journal_close, .journal = &journal);
    SAYS(0, &f->u.wait, coir_group_wait, .group = &f->group);
} coir_end

/* ---- memory ---- */

struct memory {
    coir_frame_void;
    coir_no_args;
    int i, order[3], count;
    struct coir_group group, more;
    struct coir_journal_room room[3], none;
    struct coir_scope scope;
    uint64_t lsn;
    struct coir_journal_record record;
    union slots u;
};
static coir_declare(memory);
coir_body(memory, f) {
    f->count = 0;
    coir_group_open(f, &f->group);
    EQ(test_open(&f->group), 0, "a journal");
    EQ(journal.largest, 8 * BLOCK, "a quarter of the ring is the largest group");
    SAYS(-EINVAL, &f->u.reserve, coir_journal_reserve, .journal = &journal, .bytes = 8 * BLOCK - 71, .room = &f->none);
    SAYS(-EINVAL, &f->u.reserve, coir_journal_reserve, .journal = &journal, .bytes = SIZE_MAX, .room = &f->none);
    SAYS(0, &f->u.reserve, coir_journal_reserve, .journal = &journal, .bytes = 8 * BLOCK - 72, .room = &f->none);
    coir_journal_release(&journal, &f->none);
    coir_journal_release(&journal, &f->none);
    EQ(coir_journal_used(&journal), 0, "what is released is free");

    for (f->i = 0; f->i < 3; f->i++)
        SAYS(0, &f->u.reserve, coir_journal_reserve, .journal = &journal, .bytes = 10000, .room = &f->room[f->i]);
    EQ(coir_journal_used(&journal), 9 * BLOCK, "each may be a group of its own");
    coir_group_open(f, &f->more);
    for (int i = 0; i < 3; i++)
        (void)coir_spawn(&f->more, coir_new(waiting, .bytes = i == 0 ? 10000 : 20, .order = &f->order[i],
                                            .count = &f->count));
    SAYS(0, &f->u.sleep, coir_sleep, .ns = COIR_S);
    EQ(journal.counts.waits, 3, "a fourth does not fit into the group's memory, and those behind it wait");
    f->record = (struct coir_journal_record){ .kind = 1 };
    EQ(coir_journal_append(&journal, &f->room[0], &f->record, &f->lsn), 0, "one is appended, smaller than reserved");
    EQ(f->lsn, 101, "and is the first");
    SAYS(0, &f->u.wait, coir_group_wait, .group = &f->more);
    EQ(f->count, 3, "so the others have room");
    EQ(coir_journal_used(&journal), 2 * 3 * BLOCK + 3 * BLOCK, "two are reserved, 10,144 bytes are a group");
    coir_journal_release(&journal, &f->room[1]);
    f->record.durable = true;
    EQ(coir_journal_append(&journal, &f->room[2], &f->record, &f->lsn), 0, "the last");
    SAYS(0, &f->u.commit, coir_journal_commit, .journal = &journal, .lsn = f->lsn);
    EQ(coir_journal_used(&journal), 3 * BLOCK + BLOCK, "the second group is a block, and nothing is reserved");

    f->lsn = journal.counts.groups;
    for (f->i = 0; f->i < 2; f->i++)
        SAYS(0, &f->u.one, one, .bytes = 8000);
    for (f->i = 0; f->i < 3; f->i++) {
        EQ(journal.counts.groups, f->lsn, "two records and what is reserved fit into a group");
        SAYS(0, &f->u.reserve, coir_journal_reserve, .journal = &journal, .bytes = 8000, .room = &f->room[f->i]);
    }
    EQ(journal.counts.groups, f->lsn + 1,
       "the fifth does not: the two are written for it, though nobody waits for them");
    for (f->i = 0; f->i < 3; f->i++)
        coir_journal_release(&journal, &f->room[f->i]);

    for (f->i = 0; f->i < 3; f->i++)
        SAYS(0, &f->u.reserve, coir_journal_reserve, .journal = &journal, .bytes = 10000, .room = &f->room[f->i]);
    SAYS(0, &f->u.sleep, coir_sleep, .ns = COIR_S);
    coir_group_open(f, &f->more);
    f->count = 0;
    coir_within(f, &f->scope, coir_now() + COIR_S, &f->u.reserve, coir_journal_reserve, .journal = &journal,
                .bytes = 10000, .room = &f->none);
    EQ(coir_status(&f->u.reserve), -ETIMEDOUT, "one gives up");
    (void)coir_spawn(&f->more, coir_new(waiting, .bytes = 2000, .order = &f->order[0], .count = &f->count));
    SAYS(0, &f->u.wait, coir_group_wait, .group = &f->more);
    EQ(f->count, 1, "a smaller one is not kept by it");
    for (int i = 0; i < 3; i++)
        coir_journal_release(&journal, &f->room[i]);
    SAYS(0, &f->u.close, coir_journal_close, .journal = &journal);
    SAYS(0, &f->u.wait, coir_group_wait, .group = &f->group);
} coir_end

/* Who waits first gives up: those behind him go on at once. */
struct gives_up {
    coir_frame_void;
    coir_no_args;
    int i, order, count;
    struct coir_group group, more;
    struct coir_journal_room room[3], none;
    struct coir_scope scope;
    int64_t before;
    union slots u;
};
static coir_declare(gives_up);
coir_body(gives_up, f) {
    f->count = 0;
    coir_group_open(f, &f->group);
    EQ(test_open(&f->group), 0, "a journal");
    for (f->i = 0; f->i < 3; f->i++)
        SAYS(0, &f->u.reserve, coir_journal_reserve, .journal = &journal, .bytes = 10000, .room = &f->room[f->i]);
    coir_group_open(f, &f->more);
    f->before = coir_now();
    (void)coir_spawn(&f->more, coir_new(waiting, .bytes = 20, .order = &f->order, .count = &f->count));
    coir_within(f, &f->scope, f->before + COIR_S, &f->u.reserve, coir_journal_reserve, .journal = &journal,
                .bytes = 10000, .room = &f->none);
    EQ(coir_status(&f->u.reserve), -ETIMEDOUT, "the first gives up");
    SAYS(0, &f->u.wait, coir_group_wait, .group = &f->more);
    EQ(f->count, 1, "the second goes on");
    for (int i = 0; i < 3; i++)
        coir_journal_release(&journal, &f->room[i]);
    SAYS(0, &f->u.close, coir_journal_close, .journal = &journal);
    SAYS(0, &f->u.wait, coir_group_wait, .group = &f->group);
} coir_end

/* ---- cancelling ---- */

struct cancelling {
    coir_frame_void;
    coir_no_args;
    int64_t before;
    struct coir_scope scope;
    struct coir_group group, more;
    union slots u;
};
static coir_declare(cancelling);
coir_body(cancelling, f) {
    coir_group_open(f, &f->group);
    EQ(test_open(&f->group), 0, "a journal");
    SAYS(0, &f->u.one, one, .bytes = 20);
    f->before = coir_now();
    coir_within(f, &f->scope, coir_now() + 1, &f->u.commit, coir_journal_commit, .journal = &journal, .lsn = 101);
    EQ(coir_status(&f->u.commit), 0, "a commit is not abandoned: its group decides");
    OK(coir_now() > f->before + 1, "though its deadline had passed");
    SAYS(0, &f->u.one, one, .bytes = 20);
    coir_within(f, &f->scope, coir_now() - 1, &f->u.commit, coir_journal_commit, .journal = &journal, .lsn = 102);
    EQ(coir_status(&f->u.commit), 0, "not even one that begins too late");
    EQ(coir_journal_durable(&journal), 102, "all is durable");

    coir_group_open(f, &f->more);
    for (int i = 0; i < 5; i++)
        (void)coir_spawn(&f->more, coir_new(one, .bytes = 20, .durable = true, .commit = true));
    SAYS(0, &f->u.sleep, coir_sleep, .ns = 1);
    coir_group_cancel(&f->more);
    SAYS(0, &f->u.wait, coir_group_wait, .group = &f->more);
    EQ(coir_journal_durable(&journal), 107, "what was appended by tasks that are cancelled too");

    coir_group_open(f, &f->more);
    (void)coir_spawn(&f->more, coir_new(one, .bytes = 20, .durable = true, .commit = true));
    SAYS(0, &f->u.sleep, coir_sleep, .ns = 1);
    SAYS(0, &f->u.one, one, .bytes = 20);
    EQ(journal.counts.groups, 4, "a group is being written");
    coir_group_cancel(&f->group);
    SAYS(0, &f->u.wait, coir_group_wait, .group = &f->group);
    SAYS(0, &f->u.wait, coir_group_wait, .group = &f->more);
    EQ(coir_journal_durable(&journal), 108, "it is finished, although the committing task is cancelled");
    EQ(coir_journal_status(&journal), -ESHUTDOWN, "which then is the end of the journal");
    SAYS(-ESHUTDOWN, &f->u.commit, coir_journal_commit, .journal = &journal, .lsn = 109);
    SAYS(0, &f->u.commit, coir_journal_commit, .journal = &journal, .lsn = 108);
    SAYS(-ESHUTDOWN, &f->u.one, one, .bytes = 20);
    SAYS(0, &f->u.close, coir_journal_close, .journal = &journal);
} coir_end

/* ---- the owner fails ---- */

struct owner_fails {
    coir_frame_void;
    coir_no_args;
    struct coir_group group, more;
    union slots u;
};
static coir_declare(owner_fails);
coir_body(owner_fails, f) {
    coir_group_open(f, &f->group, .keep_going = true);
    EQ(test_open(&f->group), 0, "a journal");
    coir_group_open(f, &f->more);
    (void)coir_spawn(&f->more, coir_new(one, .bytes = 20, .durable = true, .commit = true));
    SAYS(0, &f->u.sleep, coir_sleep, .ns = 1);
    EQ(journal.counts.groups, 1, "a group is under way");
    coir_journal_fail(&journal, -ENOSPC);
    SAYS(-ENOSPC, &f->u.wait, coir_group_wait, .group = &f->more);
    coir_journal_fail(&journal, -EIO);
    SAYS(-EROFS, &f->u.one, one, .bytes = 20);
    SAYS(0, &f->u.sleep, coir_sleep, .ns = COIR_S);
    EQ(coir_journal_durable(&journal), 100, "it is not taken for durable, whatever its flush said");
    EQ(coir_journal_status(&journal), -ENOSPC, "the first failure is told");
    SAYS(0, &f->u.close, coir_journal_close, .journal = &journal);
    SAYS(0, &f->u.wait, coir_group_wait, .group = &f->group);
} coir_end

/* ---- the end ---- */

struct ending {
    coir_frame_void;
    coir_no_args;
    int i, order, count;
    struct coir_group group, more;
    struct coir_journal_room room;
    struct coir_journal_record record;
    uint64_t lsn;
    union slots u;
};
static coir_declare(ending);
coir_body(ending, f) {
    f->count = 0;
    coir_group_open(f, &f->group);
    EQ(test_open(&f->group), 0, "a journal");
    SAYS(0, &f->u.close, coir_journal_close, .journal = &journal);
    SAYS(0, &f->u.wait, coir_group_wait, .group = &f->group);

    coir_group_open(f, &f->group);
    EQ(test_open(&f->group), 0, "another one");
    SAYS(0, &f->u.reserve, coir_journal_reserve, .journal = &journal, .bytes = 20, .room = &f->room);
    for (f->i = 0; f->i < 7; f->i++)
        SAYS(0, &f->u.one, one, .bytes = BIG, .durable = f->i < 6, .commit = f->i < 6);
    EQ(coir_journal_durable(&journal), 106, "six of seven are durable");
    coir_group_open(f, &f->more);
    (void)coir_spawn(&f->more, coir_new(waiting, .bytes = BIG, .order = &f->order, .count = &f->count));
    SAYS(0, &f->u.sleep, coir_sleep, .ns = COIR_S);
    SAYS(0, &f->u.close, coir_journal_close, .journal = &journal);
    EQ(coir_journal_durable(&journal), 107, "closing commits what was appended");
    SAYS(0, &f->u.wait, coir_group_wait, .group = &f->group);
    SAYS(-ESHUTDOWN, &f->u.wait, coir_group_wait, .group = &f->more);
    EQ(f->count, 0, "who waited for room is told");
    SAYS(-ESHUTDOWN, &f->u.one, one, .bytes = 20);
    f->record = (struct coir_journal_record){ .kind = 1 };
    EQ(coir_journal_append(&journal, &f->room, &f->record, &f->lsn), -ESHUTDOWN, "who had some too");
    EQ(f->room.bytes, 0, "and has it no more");
    SAYS(0, &f->u.commit, coir_journal_commit, .journal = &journal, .lsn = 107);
    SAYS(0, &f->u.flush, coir_journal_flush, .journal = &journal);
} coir_end

/* ---- anchors ---- */

struct anchors {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(anchors);

#define REFUSES(field, value) do { \
    struct coir_journal_anchor at = test_anchor(); \
    at.field = (value); \
    EQ(coir_journal_open(&journal, &at, device, 2), -EINVAL, "%s = %s", #field, #value); \
    } while (0)

coir_body(anchors, f) {
    device[0] = sim_open(world, 0);
    device[1] = sim_open(world, 1);
    REFUSES(grain, 2048);
    REFUSES(grain, 5000);
    REFUSES(grain, 16 * BLOCK);
    REFUSES(blocks, 3);
    REFUSES(blocks, UINT64_MAX / BLOCK);
    REFUSES(block, UINT64_MAX / 2);
    REFUSES(start, RING * BLOCK);
    REFUSES(start, 100);
    REFUSES(number, 0);
    REFUSES(lsn, UINT64_MAX);
    REFUSES(device, device[1] + 1);
} coir_end

static void on(uint64_t seed, struct coir_task *task, const char *name)
{
    EQ(coir_run(NULL, task), 0, "%s", name);
    test_world(seed, COIR_MS);
}

int main(void)
{
    setenv("COIR_TIME", "virtual", 1);
    WITHOUT_CHANCE("fifo");
    test_world(1, COIR_MS);
    on(2, coir_new(written), "what is written");
    on(3, coir_new(forming), "how groups form");
    on(4, coir_new(around), "round the ring");
    on(5, coir_new(full), "a full ring");
    on(6, coir_new(memory), "memory");
    on(7, coir_new(gives_up), "giving up");
    on(8, coir_new(cancelling), "cancelling");
    on(9, coir_new(owner_fails), "the owner fails");
    on(9, coir_new(ending), "the end");
    on(10, coir_new(anchors), "anchors");
    sim_free(world);
    return DONE();
}
