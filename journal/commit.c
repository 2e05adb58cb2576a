/* SPDX-License-Identifier: MIT */
/*
 * Group commit: the task that writes and flushes groups, one at a time, and those who wait for it, on every shard.
 *
 * Who waits on another shard than home shares one relay with all who wait there. One of them leads: it waits for the
 * relay's cell, the others for the event that it sets then. So each group costs a shard at most one message, however
 * many wait there, and asking for a commit costs none while the task is at work:
 *
 *      a shard                                              home
 *      least = LSN; armed = 1;   is it decided? ----------  durable = LSN;   armed, and least <= durable?
 *      wanted = LSN;             does it doze?  ----------  dozing = 1;      wanted > sealed?
 *
 * On each line each side writes first and then looks at what the other has written (all of it sequentially consistent),
 * so one of the two sees that something is to be done, and an exchange says which.
 */
#include "journal/inside.h"

#include <string.h>
#include <time.h>

#include "device/rules.h"

static void put(uint64_t *to, uint64_t value)
{
    __atomic_store_n(to, value, __ATOMIC_SEQ_CST);
}

static uint64_t get(const uint64_t *from)
{
    return __atomic_load_n(from, __ATOMIC_SEQ_CST);
}

static void set_flag(uint8_t *flag)
{
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
}

/* True: it was set, and is the caller's. */
static bool take_flag(uint8_t *flag)
{
    return __atomic_exchange_n(flag, 0, __ATOMIC_SEQ_CST);
}

/* ---- telling ---- */

/* The event stays set until somebody is about to wait for the next one: who has seen nothing decided, and does not wait
 * yet, finds it so. */
static void tell_here(struct coir_journal_relay *r)
{
    coir_event_set(&r->news);
}

static void tell_shard(struct coir_journal *j, struct coir_journal_relay *r)
{
    if (!__atomic_load_n(&r->armed, __ATOMIC_SEQ_CST))
        return;
    if (!j->status && get(&r->least) > j->durable)
        return;
    if (!take_flag(&r->armed))
        return;
    j->counts.messages++;
    coir_cell_complete(&r->cell, 0, 0);
}

/* Something was decided: `durable` or `status` has changed. */
static void tell_all(struct coir_journal *j)
{
    for (unsigned i = 0; i < j->relays; i++) {
        if (i == j->home)
            tell_here(&j->relay[i]);
        else
            tell_shard(j, &j->relay[i]);
    }
}

static void is_durable(struct coir_journal *j, uint64_t lsn)
{
    COIR_ASSERT(lsn >= j->durable && lsn <= j->sealed);
    put(&j->durable, lsn);
    tell_all(j);
}

/* ---- a group ---- */

static uint64_t clock_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * COIR_S + (uint64_t)t.tv_nsec;
}

/* Where the next `size` bytes stand, in bytes of all laps: they do not wrap. */
static uint64_t stand(struct coir_journal *j, uint64_t size)
{
    const uint64_t left = j->size - j->head % j->size;
    uint64_t place;

    if (size > left)
        j->head += left;
    place = j->head;
    j->head += size;
    COIR_ASSERT(j->head - j->tail <= j->size);
    return place;
}

static uint64_t address(const struct coir_journal *j, uint64_t place)
{
    return j->block + place % j->size / COIR_JOURNAL_BLOCK;
}

static void note_syncs(struct coir_journal *j)
{
    for (unsigned i = 0; i < j->n; i++)
        j->one[i].begun = j->devices[i]->flusher.begun;
}

/* The open group has all it will have; another one is open. Where it stands. */
static uint64_t seal(struct coir_journal *j)
{
    struct coir_journal_group g = j->open;
    const size_t size = coir_group_size(g.length, j->grain);
    const uint64_t place = stand(j, size);

    COIR_ASSERT(g.records > 0 && size <= j->largest);
    *(struct coir_disk_group *)(void *)g.bytes = (struct coir_disk_group){
        .epoch = j->epoch, .number = j->number, .first = g.first, .previous = j->previous,
        .length = (uint32_t)g.length, .records = g.records, .owner = j->owner };
    j->previous = coir_group_seal(g.bytes, address(j, place), j->grain);
    j->number++;
    j->sealed = g.first + g.records - 1;
    COIR_ASSERT(j->sealed == j->appended);
    j->unflushed |= g.devices | (uint64_t)1 << j->self;
    j->open = (struct coir_journal_group){ .bytes = j->flying.bytes };
    j->flying = g;
    j->counts.groups++;
    j->counts.written += size;
    note_syncs(j);
    coir_journal_grant(j);
    return place;
}

/* Whether a commit is asked for of something that no group has. */
static bool has_work(const struct coir_journal *j)
{
    return j->open.records && get(&j->wanted) > j->sealed;
}

/* Makes the flushes of all devices that are owed one; how many. */
static size_t make_flushes(struct coir_journal *j)
{
    const uint64_t owed = COIR_RULE(FLUSH_DATA) ? j->unflushed : (uint64_t)1 << j->self;
    size_t n = 0;

    for (unsigned i = 0; i < j->n; i++)
        if (owed >> i & 1)
            j->kids[n++] = coir_make(&j->one[i].flush, coir_device_flush, .device = j->devices[i]);
    j->counts.flushes += n;
    return n;
}

/* Invariant 2: a sync of each has begun since the group was sealed, and has ended. */
static void must_be_flushed(const struct coir_journal *j)
{
    for (unsigned i = 0; i < j->n; i++)
        COIR_ASSERT(!COIR_RULE(FLUSH_DATA) || !(j->unflushed >> i & 1)
                    || j->devices[i]->flusher.over > j->one[i].begun);
}

/* ---- the mark ---- */

struct write_mark {
    coir_frame_void;
    coir_args(struct coir_journal *journal;);
    uint64_t place;
    struct iovec iov;
    struct coir_device_write write;
};
static coir_declare(write_mark);

/* It stands behind the last group, or nowhere. */
static bool has_room_for_mark(const struct coir_journal *j)
{
    return coir_journal_has(j, j->grain);
}

static uint64_t make_mark(struct coir_journal *j)
{
    const uint64_t place = stand(j, j->grain);

    *(struct coir_disk_group *)(void *)j->mark = (struct coir_disk_group){
        .epoch = j->epoch, .number = j->number - 1, .first = j->sealed + 1, .previous = j->previous,
        .owner = j->owner };
    coir_group_seal(j->mark, address(j, place), j->grain);
    j->counts.marks++;
    j->counts.written += j->grain;
    return place;
}

coir_body(write_mark, f) {
    f->journal->unmarked = false;
    if (!has_room_for_mark(f->journal))
        coir_return(f);
    f->place = make_mark(f->journal);
    f->iov = (struct iovec){ f->journal->mark, f->journal->grain };
    coir_try(f, &f->write, coir_device_write, .device = f->journal->device, .iov = &f->iov, .n = 1,
             .offset = f->journal->block * COIR_JOURNAL_BLOCK + f->place % f->journal->size);
} coir_end

/* ---- committing one group ---- */

struct commit_group {
    coir_frame_void;
    coir_args(struct coir_journal *journal;);
    uint64_t place, since;
    size_t n;
    struct iovec iov;
    union {
        struct coir_device_write write;
        struct write_mark mark;
        struct coir_combine all;
    };
};
static coir_declare(commit_group);

coir_body(commit_group, f) {
    f->since = clock_ns();
    f->place = seal(f->journal);
    f->iov = (struct iovec){ f->journal->flying.bytes, coir_group_size(f->journal->flying.length, f->journal->grain) };
    f->journal->counts.busy += clock_ns() - f->since;
    coir_try(f, &f->write, coir_device_write, .device = f->journal->device, .iov = &f->iov, .n = 1,
             .offset = f->journal->block * COIR_JOURNAL_BLOCK + f->place % f->journal->size);
    if (!COIR_RULE(ACK_AFTER_FLUSH))
        is_durable(f->journal, f->journal->sealed);
    if (!COIR_RULE(NEXT_AFTER_FLUSH) && has_work(f->journal))
        coir_return(f);
    if (!COIR_RULE(MARK_AFTER_FLUSH))
        coir_try(f, &f->mark, write_mark, .journal = f->journal);
    f->n = make_flushes(f->journal);
    coir_all(f, &f->all, f->journal->kids, f->n);
    coir_check(f, &f->all);
    if (f->journal->status)
        coir_fail(f, f->journal->status);
    f->since = clock_ns();
    must_be_flushed(f->journal);
    f->journal->unflushed = 0;
    f->journal->unmarked = COIR_RULE(MARK_AFTER_FLUSH);
    is_durable(f->journal, f->journal->sealed);
    f->journal->counts.busy += clock_ns() - f->since;
} coir_end

/* ---- the task ---- */

struct committer {
    coir_frame_void;
    coir_args(struct coir_journal *journal;);
    struct coir_scope scope;
    union {
        struct coir_event_wait wait;
        struct commit_group group;
        struct write_mark mark;
    };
};
static coir_declare(committer);

/* Before it waits for work: false, there is some, or it is to end. */
static bool dozes(struct coir_journal *j)
{
    coir_event_reset(&j->work);
    set_flag(&j->dozing);
    if (!has_work(j) && !j->closing)
        return true;
    take_flag(&j->dozing);
    return false;
}

/* Nothing is decided any more but by this. */
static void stop(struct coir_journal *j, int status)
{
    if (j->status == 0)
        __atomic_store_n(&j->status, status, __ATOMIC_SEQ_CST);
    coir_journal_refuse(j);
    tell_all(j);
}

/* No group comes any more. */
static void ends(struct coir_journal *j, int status)
{
    stop(j, status == 0 || status == -ECANCELED ? -ESHUTDOWN : status);
    j->running = false;
    coir_event_set(&j->ended);
}

void coir_journal_fail(struct coir_journal *j, int status)
{
    COIR_ASSERT(coir_journal_at_home(j));
    COIR_ASSERT(status < 0);
    stop(j, status);
    coir_event_set(&j->work);
}

coir_body(committer, f) {
    for (;;) {
        if (f->journal->status) {
            coir_fail(f, f->journal->status);
        } else if (has_work(f->journal)) {
            coir_shield(f, &f->scope, &f->group, commit_group, .journal = f->journal);
            if (COIR_RULE(GROUP_FAILS_FOR_EVER))
                coir_check(f, &f->group);
            else if (coir_status(&f->group))
                is_durable(f->journal, f->journal->sealed);
        } else if (f->journal->closing) {
            coir_return(f);
        } else if (!dozes(f->journal)) {
            continue;
        } else if (!f->journal->unmarked) {
            coir_try(f, &f->wait, coir_event_wait, .event = &f->journal->work);
        } else {
            coir_within(f, &f->scope, coir_now() + COIR_JOURNAL_IDLE, &f->wait, coir_event_wait,
                        .event = &f->journal->work);
            if (coir_status(&f->wait) == -ETIMEDOUT) {
                coir_shield(f, &f->scope, &f->mark, write_mark, .journal = f->journal);
                coir_check(f, &f->mark);
            } else {
                coir_check(f, &f->wait);
            }
        }
        take_flag(&f->journal->dozing);
    }
    coir_finally(f) {
        ends(f->journal, coir_status(f));
    }
} coir_end

int coir_journal_start(struct coir_journal *j, struct coir_group *group)
{
    int err;

    COIR_ASSERT(coir_journal_at_home(j));
    COIR_ASSERT(!j->running && !j->closing);
    err = coir_spawn(group, coir_new(committer, .journal = j));
    j->running = err == 0;
    return err;
}

/* ---- waiting ---- */

bool coir_journal_want(struct coir_journal *j, uint64_t lsn)
{
    uint64_t was = get(&j->wanted);

    while (was < lsn)
        if (__atomic_compare_exchange_n(&j->wanted, &was, lsn, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return take_flag(&j->dozing);
    return false;
}

coir_body(coir_journal_rouse, f) {
    coir_event_set(&f->journal->work);
} coir_end

/* Without memory for the way home it is tried again: nobody else will. */
coir_body(coir_journal_kick, f) {
    for (;;) {
        coir_await_on(f, f->journal->home, &f->rouse, coir_journal_rouse, .journal = f->journal);
        if (coir_status(&f->rouse) == 0)
            coir_return(f);
        coir_shield(f, &f->scope, &f->sleep, coir_sleep, .ns = COIR_MS);
    }
} coir_end

static bool is_decided(const struct coir_journal *j, uint64_t lsn)
{
    return get(&j->durable) >= lsn || __atomic_load_n(&j->status, __ATOMIC_SEQ_CST);
}

static int outcome(const struct coir_journal *j, uint64_t lsn)
{
    return get(&j->durable) >= lsn ? 0 : __atomic_load_n(&j->status, __ATOMIC_SEQ_CST);
}

/* Only its shard writes it. */
static void lower(struct coir_journal_relay *r, uint64_t lsn)
{
    if (lsn < get(&r->least))
        put(&r->least, lsn);
}

/* Who leads begins to. False: it is decided already, and nobody will complete the cell. */
static bool leads(struct coir_journal *j, struct coir_journal_relay *r, uint64_t lsn)
{
    coir_cell_init(&r->cell);
    put(&r->least, lsn);
    set_flag(&r->armed);
    return !is_decided(j, lsn) || !take_flag(&r->armed);
}

/* Others follow who leads: they wait for the event. At home nobody leads. */
static bool follows(const struct coir_journal *j, const struct coir_journal_relay *r)
{
    return r == &j->relay[j->home] || r->led;
}

static void has_led(struct coir_journal_relay *r)
{
    r->led = false;
    tell_here(r);
}

coir_body(coir_journal_commit, f) {
    COIR_ASSERT(f->lsn <= coir_journal_appended(f->journal));
    if (is_decided(f->journal, f->lsn))
        coir_fail(f, outcome(f->journal, f->lsn));
    if (coir_journal_want(f->journal, f->lsn))
        coir_await(f, &f->kick, coir_journal_kick, .journal = f->journal);
    f->relay = &f->journal->relay[coir_shard_id()];
    while (!is_decided(f->journal, f->lsn)) {
        if (follows(f->journal, f->relay)) {
            coir_event_reset(&f->relay->news);
            lower(f->relay, f->lsn);
            if (!is_decided(f->journal, f->lsn))
                coir_shield(f, &f->scope, &f->wait, coir_event_wait, .event = &f->relay->news);
        } else if (leads(f->journal, f->relay, f->lsn)) {
            f->relay->led = true;
            coir_await(f, &f->cell, coir_cell_wait, .cell = &f->relay->cell);
            has_led(f->relay);
        }
    }
    coir_fail(f, outcome(f->journal, f->lsn));
} coir_end

coir_body(coir_journal_flush, f) {
    coir_try(f, &f->commit, coir_journal_commit, .journal = f->journal, .lsn = coir_journal_appended(f->journal));
} coir_end
