/* SPDX-License-Identifier: MIT */
/*
 * A journal's room: opening, reserving, appending, positions and cuts. How the ring is counted stands in inside.h. All
 * of it at home, and none of it waits but a reservation.
 */
#include "journal/inside.h"

#include <stdlib.h>
#include <string.h>

#include "device/rules.h"

enum { HEAD = sizeof(struct coir_disk_group) };

/* ---- opening ---- */

static bool makes_sense(const struct coir_journal_anchor *at)
{
    const uint64_t grain = at->grain, size = at->blocks * COIR_JOURNAL_BLOCK;

    if (grain < COIR_JOURNAL_BLOCK || (grain & (grain - 1)) || grain > COIR_GROUP_MAX)
        return false;
    if (at->blocks > INT64_MAX / COIR_JOURNAL_BLOCK || at->block > INT64_MAX / COIR_JOURNAL_BLOCK - at->blocks)
        return false;
    if (size < COIR_JOURNAL_GRAINS * grain || size % grain || at->block * COIR_JOURNAL_BLOCK % grain)
        return false;
    return at->start < size && at->start % grain == 0 && at->number > 0 && at->lsn < INT64_MAX;
}

/* Takes the devices in; false: the ring's is not among them, or one is not at home here. */
static bool take_devices(struct coir_journal *j, struct coir_device *const *devices, unsigned n)
{
    bool found = false;

    if (n > COIR_JOURNAL_DEVICES)
        return false;
    for (unsigned i = 0; i < n; i++) {
        if (devices[i]->home != j->home)
            return false;
        if (devices[i] == j->device)
            j->self = i;
        found |= devices[i] == j->device;
        j->devices[i] = devices[i];
    }
    j->n = n;
    return found;
}

static void set_anchor(struct coir_journal *j, const struct coir_journal_anchor *at)
{
    j->block = at->block;
    j->size = at->blocks * COIR_JOURNAL_BLOCK;
    j->grain = at->grain;
    j->owner = at->owner;
    j->epoch = at->epoch;
    j->tail = j->head = at->start;
    j->number = at->number;
    j->previous = at->previous;
    j->appended = j->wanted = j->durable = j->sealed = at->lsn;
    j->largest = j->size / COIR_JOURNAL_GRAINS / j->grain * j->grain;
    if (j->largest > COIR_GROUP_MAX)
        j->largest = COIR_GROUP_MAX;
}

static void set_events(struct coir_journal *j)
{
    j->waiting.prev = j->waiting.next = &j->waiting;
    coir_event_init(&j->pressed);
    coir_event_init(&j->work);
    coir_event_init(&j->ended);
    for (unsigned i = 0; i < j->relays; i++) {
        j->relay[i] = (struct coir_journal_relay){ .least = UINT64_MAX };
        coir_event_init(&j->relay[i].news);
    }
}

static void free_memory(struct coir_journal *j)
{
    free(j->open.bytes);
    free(j->flying.bytes);
    free(j->mark);
    free(j->one);
    free(j->relay);
    j->open.bytes = j->flying.bytes = j->mark = NULL;
    j->one = NULL;
    j->relay = NULL;
}

static bool take_memory(struct coir_journal *j)
{
    j->open.bytes = aligned_alloc(COIR_JOURNAL_BLOCK, j->largest);
    j->flying.bytes = aligned_alloc(COIR_JOURNAL_BLOCK, j->largest);
    j->mark = aligned_alloc(COIR_JOURNAL_BLOCK, j->grain);
    j->one = calloc(j->n, sizeof *j->one);
    j->relay = aligned_alloc(64, j->relays * sizeof *j->relay);
    return j->open.bytes && j->flying.bytes && j->mark && j->one && j->relay;
}

int coir_journal_open(struct coir_journal *j, const struct coir_journal_anchor *at, struct coir_device *const *devices,
                      unsigned n)
{
    COIR_ASSERT(coir_shard_id() >= 0);
    *j = (struct coir_journal){ .device = at->device, .home = (unsigned)coir_shard_id() };
    if (!makes_sense(at) || !take_devices(j, devices, n))
        return -EINVAL;
    set_anchor(j, at);
    j->relays = coir_shard_count() > j->home ? coir_shard_count() : j->home + 1;
    if (!take_memory(j)) {
        free_memory(j);
        return -ENOMEM;
    }
    set_events(j);
    return 0;
}

coir_body(coir_journal_close, f) {
    COIR_ASSERT(coir_journal_at_home(f->journal));
    f->journal->closing = true;
    coir_journal_refuse(f->journal);
    coir_journal_want(f->journal, f->journal->appended);
    coir_event_set(&f->journal->work);
    if (f->journal->running)
        coir_shield(f, &f->scope, &f->wait, coir_event_wait, .event = &f->journal->ended);
    __atomic_store_n(&f->journal->status, f->journal->status ? f->journal->status : -ESHUTDOWN, __ATOMIC_RELEASE);
    free_memory(f->journal);
} coir_end

/* ---- room ---- */

uint64_t coir_journal_used(const struct coir_journal *j)
{
    return j->head - j->tail + coir_journal_open_size(j) + j->reserved;
}

static bool memory_has(const struct coir_journal *j, size_t bytes)
{
    return HEAD + j->open.length + j->promised + bytes <= j->largest;
}

static bool ring_has(const struct coir_journal *j, size_t bytes)
{
    return coir_journal_has(j, coir_group_size(bytes, j->grain));
}

static struct coir_journal_reserve *first(const struct coir_journal *j)
{
    return j->waiting.next == &j->waiting ? NULL
        : coir_container_of(j->waiting.next, struct coir_journal_reserve, link);
}

static void unlink_waiter(struct coir_journal_reserve *r)
{
    r->link.prev->next = r->link.next;
    r->link.next->prev = r->link.prev;
    r->link.prev = r->link.next = NULL;
}

static void link_waiter(struct coir_journal *j, struct coir_journal_reserve *r)
{
    r->link.prev = j->waiting.prev;
    r->link.next = &j->waiting;
    r->link.prev->next = r->link.next->prev = &r->link;
    coir_event_init(&r->granted);
    j->counts.waits++;
}

/* Tells the first who waits. */
static void answer(struct coir_journal_reserve *r, int outcome)
{
    unlink_waiter(r);
    r->outcome = outcome;
    coir_event_set(&r->granted);
}

static void take(struct coir_journal *j, size_t bytes, struct coir_journal_room *room)
{
    j->promised += bytes;
    j->reserved += coir_group_size(bytes, j->grain);
    room->bytes = bytes;
}

static void give_back(struct coir_journal *j, struct coir_journal_room *room)
{
    COIR_ASSERT(j->promised >= room->bytes);
    COIR_ASSERT(j->reserved >= coir_group_size(room->bytes, j->grain));
    j->promised -= room->bytes;
    j->reserved -= coir_group_size(room->bytes, j->grain);
    room->bytes = 0;
}

static void press(struct coir_journal *j)
{
    const struct coir_journal_reserve *r = first(j);
    const bool now = coir_journal_used(j) > j->size / 2 || (r && !ring_has(j, coir_record_size(r->bytes)));

    if (now && !coir_event_is_set(&j->pressed))
        coir_event_set(&j->pressed);
    if (!now && coir_event_is_set(&j->pressed))
        coir_event_reset(&j->pressed);
}

void coir_journal_grant(struct coir_journal *j)
{
    struct coir_journal_reserve *r;

    while ((r = first(j))) {
        const size_t bytes = coir_record_size(r->bytes);
        if (!memory_has(j, bytes) && j->open.records)
            coir_journal_want_here(j, j->appended);
        if (!memory_has(j, bytes) || !ring_has(j, bytes))
            break;
        take(j, bytes, r->room);
        answer(r, 0);
    }
    press(j);
}

int coir_journal_refusal(const struct coir_journal *j)
{
    if (j->status)
        return j->status == -ESHUTDOWN ? -ESHUTDOWN : -EROFS;
    return j->closing ? -ESHUTDOWN : 0;
}

void coir_journal_refuse(struct coir_journal *j)
{
    struct coir_journal_reserve *r;

    COIR_ASSERT(coir_journal_refusal(j));
    while ((r = first(j)))
        answer(r, coir_journal_refusal(j));
}

coir_body(coir_journal_reserve, f) {
    COIR_ASSERT(coir_journal_at_home(f->journal));
    f->room->bytes = 0;
    if (coir_journal_refusal(f->journal))
        coir_fail(f, coir_journal_refusal(f->journal));
    if (f->bytes > COIR_GROUP_MAX || HEAD + coir_record_size(f->bytes) > f->journal->largest)
        coir_fail(f, EINVAL);
    if (!first(f->journal) && memory_has(f->journal, coir_record_size(f->bytes))
        && ring_has(f->journal, coir_record_size(f->bytes))) {
        take(f->journal, coir_record_size(f->bytes), f->room);
        press(f->journal);
        coir_return(f);
    }
    link_waiter(f->journal, f);
    coir_journal_grant(f->journal);
    coir_await(f, &f->wait, coir_event_wait, .event = &f->granted);
    if (coir_status(&f->wait) == 0)
        coir_fail(f, f->outcome);
    unlink_waiter(f);
    coir_journal_grant(f->journal);
    coir_check(f, &f->wait);
} coir_end

void coir_journal_release(struct coir_journal *j, struct coir_journal_room *room)
{
    COIR_ASSERT(coir_journal_at_home(j));
    if (room->bytes == 0)
        return;
    give_back(j, room);
    coir_journal_grant(j);
}

/* ---- records ---- */

static size_t length(const struct coir_journal_record *r)
{
    size_t sum = 0;

    for (int i = 0; i < r->n; i++)
        sum += r->iov[i].iov_len;
    return sum;
}

/* Puts it behind the others of the open group. The room for it is there. */
static void put(struct coir_journal_group *g, const struct coir_journal_record *r, size_t size)
{
    unsigned char *const to = g->bytes + HEAD + g->length;
    const struct coir_disk_record head = { .length = (uint32_t)size, .kind = r->kind };
    size_t at = sizeof head;

    memcpy(to, &head, sizeof head);
    for (int i = 0; i < r->n; at += r->iov[i++].iov_len)
        if (r->iov[i].iov_len)
            memcpy(to + at, r->iov[i].iov_base, r->iov[i].iov_len);
    COIR_ASSERT(size - at < 8);
    memset(to + at, 0, size - at);
    g->length += size;
    g->records++;
    g->devices |= r->devices;
}

int coir_journal_append(struct coir_journal *j, struct coir_journal_room *room,
                        const struct coir_journal_record *record, uint64_t *lsn)
{
    const size_t size = coir_record_size(length(record));

    COIR_ASSERT(coir_journal_at_home(j));
    COIR_ASSERT(size <= room->bytes);
    COIR_ASSERT(j->n == 64 || record->devices >> j->n == 0);
    if (coir_journal_refusal(j)) {
        give_back(j, room);
        return coir_journal_refusal(j);
    }
    give_back(j, room);
    if (j->open.records == 0)
        j->open.first = j->appended + 1;
    put(&j->open, record, size);
    COIR_ASSERT(HEAD + j->open.length + j->promised <= j->largest);
    j->counts.records++;
    j->counts.bytes += size;
    *lsn = j->appended + 1;
    __atomic_store_n(&j->appended, *lsn, __ATOMIC_RELEASE);
    if (record->durable || j->open.length > j->largest / 2)
        coir_journal_want_here(j, *lsn);
    coir_journal_grant(j);
    return 0;
}

/* ---- positions ---- */

void coir_journal_position(struct coir_journal *j, struct coir_journal_position *p)
{
    COIR_ASSERT(coir_journal_at_home(j));
    *p = (struct coir_journal_position){ .start = j->head % j->size, .number = j->number, .previous = j->previous,
                                         .lsn = j->appended, .place = j->head };
    if (!COIR_RULE(CUT_AFTER_CHECKPOINT))
        coir_journal_cut(j, p);
}

void coir_journal_cut(struct coir_journal *j, const struct coir_journal_position *p)
{
    COIR_ASSERT(coir_journal_at_home(j));
    COIR_ASSERT(p->place >= j->tail && p->place <= j->head);
    j->tail = p->place;
    coir_journal_grant(j);
}
