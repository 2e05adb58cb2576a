/* SPDX-License-Identifier: MIT */
/*
 * Waiting for commits on other shards than the journal's: one message a shard and group however many wait, none to ask
 * for a commit while there is one going on, failures told to everybody, nobody forgotten in any order of things.
 */
#include "journal_test.h"

#include "runtime/base/torture.h"

enum { SHARDS = 3, WAITERS = 100, TASKS = 60, ROUNDS = 40 };

/* ---- a device whose syncs wait for a gate ---- */

struct gate {
    struct coir_device device;
    struct coir_device *inner;
    struct coir_event open;
    int says;                           /* what a sync returns */
};

static struct gate gate;

#define HANDS_ON(name, op) \
    static coir_step name(struct coir_task *t) \
    { \
        ((struct op *)t)->device = gate.inner; \
        t->state = 0; \
        return op##_resume(t); \
    }
HANDS_ON(gate_read, coir_device_read)
HANDS_ON(gate_write, coir_device_write)
HANDS_ON(gate_grow, coir_device_grow)
HANDS_ON(gate_punch, coir_device_punch)
HANDS_ON(gate_close, coir_device_close)

struct gate_sync {
    coir_frame_void;
    coir_args(struct coir_device *device;);
    struct coir_event_wait wait;
};
coir_device_fits(gate_sync, coir_device_sync);
static coir_declare(gate_sync);
coir_body(gate_sync, f) {
    coir_try(f, &f->wait, coir_event_wait, .event = &gate.open);
    coir_fail(f, gate.says);
} coir_end

static const struct coir_device_kind gate_kind = {
    .name = "gate", .read = gate_read, .write = gate_write, .sync = gate_sync_resume, .grow = gate_grow,
    .punch = gate_punch, .close = gate_close,
};

static int open_behind_gate(struct coir_group *group)
{
    struct coir_journal_anchor at;
    int err;

    gate.inner = sim_open(world, 0);
    gate.says = 0;
    coir_event_init(&gate.open);
    coir_device_init(&gate.device, &gate_kind, "gate", gate.inner->size, BLOCK, false);
    device[0] = &gate.device;
    at = test_anchor();
    err = coir_journal_open(&journal, &at, device, 1);
    return err ? err : coir_journal_start(&journal, group);
}

/* ---- a hundred on each of two shards ---- */

static int good, bad, arrived;          /* atomic */

struct waiter {
    coir_frame_void;
    coir_args(uint64_t lsn; int expected;);
    struct coir_journal_commit commit;
};
static coir_declare(waiter);
coir_body(waiter, f) {
    coir_await(f, &f->commit, coir_journal_commit, .journal = &journal, .lsn = f->lsn);
    __atomic_add_fetch(coir_status(&f->commit) == f->expected ? &good : &bad, 1, __ATOMIC_SEQ_CST);
} coir_end

/* Behind the others in their shard's queue: when this runs they all wait. */
struct last {
    coir_frame_void;
    coir_args(struct coir_cell *cell;);
};
static coir_declare(last);
coir_body(last, f) {
    if (__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST) == SHARDS - 1)
        coir_cell_complete(f->cell, 0, 0);
} coir_end

struct many {
    coir_frame_void;
    coir_args(int says;);
    int i;
    struct coir_cell cell;
    struct coir_group group;
    union {
        struct one one;
        struct coir_cell_wait arrive;
        struct coir_journal_close close;
        struct coir_group_wait wait;
        struct waiter waiter;
        struct coir_sleep sleep;
    };
};
static coir_declare(many);

static void send_waiters(struct coir_cell *cell, int expected)
{
    good = bad = arrived = 0;
    for (unsigned shard = 1; shard < SHARDS; shard++) {
        for (unsigned i = 0; i < WAITERS; i++)
            coir_spawn_on(shard, coir_new(waiter, .lsn = 101 + (i * 37) % WAITERS, .expected = expected));
        coir_spawn_on(shard, coir_new(last, .cell = cell));
    }
}

static int told(void)
{
    return __atomic_load_n(&good, __ATOMIC_SEQ_CST) + __atomic_load_n(&bad, __ATOMIC_SEQ_CST);
}

coir_body(many, f) {
    coir_group_open(f, &f->group, .keep_going = true);
    EQ(open_behind_gate(&f->group), 0, "a journal behind a gate");
    for (f->i = 0; f->i < WAITERS; f->i++)
        coir_try(f, &f->one, one, .bytes = 20);
    coir_cell_init(&f->cell);
    send_waiters(&f->cell, f->says);
    coir_try(f, &f->arrive, coir_cell_wait, .cell = &f->cell);
    EQ(told(), 0, "nobody is told before the gate opens");
    gate.says = f->says;
    coir_event_set(&gate.open);
    while (told() < (SHARDS - 1) * WAITERS)
        coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS / 10);
    EQ(good, (SHARDS - 1) * WAITERS, "then all are, and the right thing");
    EQ(journal.counts.groups, 1, "by one group");
    if (COIR_TORTURED)                  /* there those who are to wait may come when all is done */
        OK(journal.counts.messages <= SHARDS - 1, "and at most one message a shard");
    else
        EQ(journal.counts.messages, SHARDS - 1, "and one message a shard");
    EQ(coir_journal_status(&journal), f->says, "the journal says so too");
    coir_await(f, &f->close, coir_journal_close, .journal = &journal);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    for (f->i = 1; f->i < SHARDS; f->i++) {
        coir_await_on(f, (unsigned)f->i, &f->waiter, waiter, .lsn = 101 + WAITERS - 1, .expected = f->says);
        EQ(bad, 0, "who asks on shard %d when it is closed is told the same", f->i);
    }
} coir_end

/* ---- a shard that waits only for the second group is not told of the first ---- */

struct later {
    coir_frame_void;
    coir_args(bool both;);
    struct coir_cell cell;
    struct coir_group group;
    union {
        struct one one;
        struct coir_cell_wait arrive;
        struct coir_journal_commit commit;
        struct coir_journal_close close;
        struct coir_group_wait wait;
        struct coir_sleep sleep;
    };
};
static coir_declare(later);
coir_body(later, f) {
    coir_group_open(f, &f->group, .keep_going = true);
    EQ(open_behind_gate(&f->group), 0, "a journal behind a gate");
    coir_try(f, &f->one, one, .bytes = 20, .durable = true);
    while (journal.counts.groups == 0)
        coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS / 10);
    coir_try(f, &f->one, one, .bytes = 20);
    good = bad = 0;
    arrived = SHARDS - 2;
    coir_cell_init(&f->cell);
    coir_spawn_on(1, coir_new(waiter, .lsn = 102));
    if (f->both)
        coir_spawn_on(1, coir_new(waiter, .lsn = 101));
    coir_spawn_on(1, coir_new(last, .cell = &f->cell));
    coir_try(f, &f->arrive, coir_cell_wait, .cell = &f->cell);
    EQ(journal.counts.groups, 1, "one waits for the second, the first is under way");
    coir_event_set(&gate.open);
    coir_try(f, &f->commit, coir_journal_commit, .journal = &journal, .lsn = 101);
    EQ(journal.counts.messages, f->both, "when the first is durable there is a message to who waits for it");
    coir_try(f, &f->commit, coir_journal_commit, .journal = &journal, .lsn = 102);
    while (told() < 1 + f->both)
        coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS / 10);
    OK(journal.counts.messages <= 1u + f->both, "when the second is, to who waits for that: %llu messages",
       (unsigned long long)journal.counts.messages);
    EQ(journal.counts.groups, 2, "two groups");
    EQ(good, 1 + f->both, "all are told");
    coir_await(f, &f->close, coir_journal_close, .journal = &journal);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

/* ---- two shards that do nothing but commit: each in the very moments in which the other's group ends ---- */

struct runner {
    coir_frame_void;
    coir_args(int rounds;);
    int i;
    union {
        struct one one;
        struct coir_journal_commit commit;
    };
};
static coir_declare(runner);
coir_body(runner, f) {
    for (f->i = 0; f->i < f->rounds; f->i++) {
        coir_await_on(f, 0, &f->one, one, .bytes = 8);
        coir_check(f, &f->one);
        coir_try(f, &f->commit, coir_journal_commit, .journal = &journal, .lsn = f->one.result);
    }
} coir_end

struct sends_runner {
    coir_frame_void;
    coir_args(unsigned shard; int rounds;);
    struct runner runner;
};
static coir_declare(sends_runner);
coir_body(sends_runner, f) {
    coir_await_on(f, f->shard, &f->runner, runner, .rounds = f->rounds);
    coir_check(f, &f->runner);
} coir_end

/* Cuts whenever it is asked to. */
struct cutter {
    coir_frame_void;
    coir_no_args;
    struct coir_journal_position at;
    struct coir_event_wait wait;
    struct coir_sleep sleep;
};
static coir_declare(cutter);
coir_body(cutter, f) {
    for (;;) {
        coir_try(f, &f->wait, coir_event_wait, .event = coir_journal_pressed(&journal));
        coir_journal_position(&journal, &f->at);
        coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS / 10);
        coir_journal_cut(&journal, &f->at);
    }
} coir_end

struct race {
    coir_frame_void;
    coir_args(int rounds;);
    struct coir_group group, aside, work;
    union {
        struct coir_journal_close close;
        struct coir_group_wait wait;
    };
};
static coir_declare(race);
coir_body(race, f) {
    coir_group_open(f, &f->group, .keep_going = true);
    coir_group_open(f, &f->aside);
    coir_group_open(f, &f->work);
    EQ(open_behind_gate(&f->group), 0, "a journal");
    coir_event_set(&gate.open);
    (void)coir_spawn(&f->aside, coir_new(cutter));
    for (unsigned shard = 1; shard < SHARDS; shard++)
        (void)coir_spawn(&f->work, coir_new(sends_runner, .shard = shard, .rounds = f->rounds));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->work);
    EQ(coir_status(&f->wait), 0, "%d commits each, and nobody is forgotten", f->rounds);
    EQ(coir_journal_durable(&journal), 100 + (SHARDS - 1) * f->rounds, "all are durable");
    coir_group_cancel(&f->aside);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->aside);
    coir_await(f, &f->close, coir_journal_close, .journal = &journal);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

/* ---- everybody at once, in any order ---- */

struct worker {
    coir_frame_void;
    coir_args(unsigned n;);
    int round;
    struct coir_scope scope;
    union {
        struct one one;
        struct coir_journal_commit commit;
        struct coir_journal_flush flush;
    };
};
static coir_declare(worker);
coir_body(worker, f) {
    for (f->round = 0; f->round < ROUNDS; f->round++) {
        coir_await_on(f, 0, &f->one, one, .bytes = f->n, .durable = (f->round + f->n) % 3 == 0);
        coir_check(f, &f->one);
        if (f->round % 4 == 3)
            coir_await(f, &f->flush, coir_journal_flush, .journal = &journal);
        else
            coir_within(f, &f->scope, coir_now(), &f->commit, coir_journal_commit, .journal = &journal,
                        .lsn = f->one.result);
        coir_check(f, &f->commit);
        __atomic_add_fetch(&good, 1, __ATOMIC_SEQ_CST);
    }
} coir_end

struct sends {
    coir_frame_void;
    coir_args(unsigned n;);
    struct worker worker;
};
static coir_declare(sends);
coir_body(sends, f) {
    coir_await_on(f, f->n % SHARDS, &f->worker, worker, .n = f->n);
    coir_check(f, &f->worker);
} coir_end

struct storm {
    coir_frame_void;
    coir_args(uint64_t fail;);
    int status;
    struct coir_group group, aside, work;
    union {
        struct coir_journal_close close;
        struct coir_group_wait wait;
    };
};
static coir_declare(storm);
coir_body(storm, f) {
    good = 0;
    coir_group_open(f, &f->group, .keep_going = true);
    coir_group_open(f, &f->aside);
    coir_group_open(f, &f->work, .keep_going = f->fail > 0);
    EQ(test_open(&f->group), 0, "a journal");
    sim_fail(world, SIM_SYNC, f->fail, -EIO, false);
    (void)coir_spawn(&f->aside, coir_new(cutter));
    for (unsigned i = 0; i < TASKS; i++)
        (void)coir_spawn(&f->work, coir_new(sends, .n = i));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->work);
    EQ(coir_status(&f->wait), 0, "all have ended");
    f->status = coir_journal_status(&journal);
    EQ(f->status, f->fail ? -EIO : 0, "the journal has failed, if it was to");
    coir_group_cancel(&f->aside);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->aside);
    coir_await(f, &f->close, coir_journal_close, .journal = &journal);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    if (f->fail == 0) {
        EQ(good, TASKS * ROUNDS, "every commit returned");
        EQ(journal.counts.records, TASKS * ROUNDS, "of a record each");
        EQ(coir_journal_durable(&journal), 100 + TASKS * ROUNDS, "all durable");
    }
    OK(journal.counts.messages <= journal.counts.groups * (SHARDS - 1), "%llu messages for %llu groups",
       (unsigned long long)journal.counts.messages, (unsigned long long)journal.counts.groups);
} coir_end

int main(void)
{
    const struct coir_options shards = { .shards = SHARDS };

    WITHOUT_CHANCE("fifo");
    test_world(1, 0);
    EQ(coir_run(&shards, coir_new(many)), 0, "many wait");
    test_world(1, 0);
    EQ(coir_run(&shards, coir_new(many, .says = -EIO)), 0, "and are disappointed");
    test_world(1, 0);
    EQ(coir_run(&shards, coir_new(later)), 0, "one waits for a later one");
    test_world(1, 0);
    EQ(coir_run(&shards, coir_new(later, .both = true)), 0, "and another for the one before");
    test_world(1, 0);
    EQ(coir_run(&shards, coir_new(race, .rounds = getenv("COIR_TEST_LONG") ? 50000 : 3000)), 0, "a race");
    for (uint64_t fail = 0; fail < 40; fail += 13) {
        test_world(fail + 1, COIR_MS / 5);
        EQ(coir_run(&shards, coir_new(storm, .fail = fail)), 0, "a storm");
    }
    sim_free(world);
    return DONE();
}
