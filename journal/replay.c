/* SPDX-License-Identifier: MIT */
/*
 * Replay: finding the groups one after another, each given only once the one behind it was looked for. Where a group
 * may stand is decided in one place (candidate), whether it is the one that has to come in another (is_next); that it
 * is a group at all is group.c's.
 */
#include "journal/replay.h"

#include <stdlib.h>
#include <string.h>

#include "device/checksum.h"
#include "device/rules.h"
#include "runtime/base/assert.h"

enum { WINDOW = COIR_GROUP_MAX };

/* ---- beginning, ending ---- */

int coir_replay_begin(struct coir_replay *r, const struct coir_journal_anchor *from)
{
    const uint64_t size = from->blocks * COIR_JOURNAL_BLOCK, grain = from->grain;

    *r = (struct coir_replay){ .from = *from, .size = size, .place = from->start, .number = from->number,
                               .previous = from->previous, .report = { .lsn = from->lsn } };
    if (grain < COIR_JOURNAL_BLOCK || (grain & (grain - 1)) || grain > COIR_GROUP_MAX || size == 0 || size % grain
        || from->blocks > INT64_MAX / COIR_JOURNAL_BLOCK
        || from->block > INT64_MAX / COIR_JOURNAL_BLOCK - from->blocks || from->block * COIR_JOURNAL_BLOCK % grain
        || from->start >= size || from->start % grain || from->number == 0 || from->lsn >= INT64_MAX)
        return -EINVAL;
    r->window = aligned_alloc(COIR_JOURNAL_BLOCK, WINDOW);
    r->group = aligned_alloc(COIR_JOURNAL_BLOCK, COIR_GROUP_MAX);
    if (r->window && r->group)
        return 0;
    coir_replay_end(r);
    return -ENOMEM;
}

void coir_replay_end(struct coir_replay *r)
{
    free(r->window);
    free(r->group);
    r->window = r->group = NULL;
}

const char *coir_replay_end_name(enum coir_replay_end end)
{
    switch (end) {
    case COIR_REPLAY_NOTHING:
        return "no group follows";
    case COIR_REPLAY_TORN:
        return "a group that is not whole";
    case COIR_REPLAY_UNREADABLE:
        return "the device cannot be read";
    }
    return "?";
}

/* ---- reading ---- */

static bool covers(const struct coir_replay *r, uint64_t at, size_t need)
{
    return at >= r->window_at && at - r->window_at <= r->window_len && r->window_len - (at - r->window_at) >= need;
}

static const void *in_window(const struct coir_replay *r, uint64_t at)
{
    return r->window + (at - r->window_at);
}

/* What a device says of its medium, and not of us; -ENODATA also of a file that was cut. */
static bool is_of_the_medium(int status)
{
    return status == -EIO || status == -ENODATA || status == -EILSEQ || status == -EREMOTEIO || status == -ETIMEDOUT;
}

/* First as much as fits, then, since what cannot be read may lie behind it, only what is needed. */
coir_body(coir_replay_fill, f) {
    COIR_ASSERT(f->need <= WINDOW && f->need <= f->replay->size - f->at);
    f->len = f->replay->size - f->at < WINDOW ? f->replay->size - f->at : WINDOW;
    f->replay->window_len = 0;
    for (;; f->len = f->need) {
        f->iov = (struct iovec){ f->replay->window, f->len };
        coir_await(f, &f->read, coir_device_read, .device = f->replay->from.device, .iov = &f->iov, .n = 1,
                   .offset = f->replay->from.block * COIR_JOURNAL_BLOCK + f->at, .flags = COIR_DIRECT);
        if (coir_status(&f->read) == 0)
            break;
        if (!is_of_the_medium(coir_status(&f->read)))
            coir_fail(f, coir_status(&f->read));
        if (f->len == f->need)
            coir_return(f, false);
    }
    f->replay->window_at = f->at;
    f->replay->window_len = f->len;
    coir_return(f, true);
} coir_end

static struct coir_group_place place_of(const struct coir_replay *r, uint64_t at)
{
    return (struct coir_group_place){ .owner = r->from.owner, .epoch = r->from.epoch, .grain = r->from.grain,
                                      .address = r->from.block + at / COIR_JOURNAL_BLOCK, .room = r->size - at };
}

/* The last LSN that a group has, or that a mark says was durable. */
static uint64_t last_of(const struct coir_disk_group *h)
{
    return h->first + h->records - 1;
}

/* What the header there promises; 0: nothing of interest. */
static size_t promises(const struct coir_replay *r, uint64_t at, uint64_t above)
{
    const struct coir_group_place place = place_of(r, at);
    const size_t size = coir_group_looks(in_window(r, at), &place);

    return size && last_of(in_window(r, at)) > above ? size : 0;
}

static enum coir_replay_seen judge(const struct coir_replay *r, uint64_t at)
{
    const struct coir_group_place place = place_of(r, at);
    const struct coir_disk_group *const h = in_window(r, at);

    if (!coir_group_valid(h, &place))
        return COIR_SEEN_TORN;
    return h->records ? COIR_SEEN_GROUP : COIR_SEEN_MARK;
}

coir_body(coir_replay_look, f) {
    if (!covers(f->replay, f->at, f->replay->from.grain)) {
        coir_try(f, &f->fill, coir_replay_fill, .replay = f->replay, .at = f->at,
                 .need = f->replay->from.grain);
        if (!f->fill.result)
            coir_return(f, COIR_SEEN_UNREADABLE);
    }
    f->size = promises(f->replay, f->at, f->above);
    if (f->size == 0)
        coir_return(f, COIR_SEEN_NOTHING);
    if (!covers(f->replay, f->at, f->size)) {
        coir_try(f, &f->fill, coir_replay_fill, .replay = f->replay, .at = f->at, .need = f->size);
        if (!f->fill.result)
            coir_return(f, COIR_SEEN_UNREADABLE);
    }
    coir_return(f, judge(f->replay, f->at));
} coir_end

/* ---- finding the next group ---- */

/* Where it may stand: where the last one ended; behind a mark; at the ring's beginning, if it did not fit there. */
static uint64_t candidate(const struct coir_replay *r, int i)
{
    const uint64_t due = r->place == r->size ? 0 : r->place;
    const uint64_t behind = due + r->from.grain == r->size ? 0 : due + r->from.grain;

    return i == 0 ? due : i == 1 ? behind : 0;
}

static bool is_candidate(const struct coir_replay *r, int i)
{
    if (i == 1)
        return COIR_RULE(LOST_MARK) || r->report.marked;
    return i == 0 || (candidate(r, 0) != 0 && candidate(r, 1) != 0);
}

static bool is_chained(const struct coir_replay *r, const struct coir_disk_group *h)
{
    return h->previous == r->previous || !COIR_RULE(CHAIN);
}

static bool is_next(const struct coir_replay *r, const struct coir_disk_group *h)
{
    if (h->number != r->number || !is_chained(r, h))
        return false;
    return r->next ? h->first == r->next : h->first <= r->from.lsn + 1;
}

static bool is_its_mark(const struct coir_replay *r, const struct coir_disk_group *h)
{
    return h->number == r->number - 1 && is_chained(r, h) && (r->next == 0 || h->first == r->next);
}

/* Notes what stands at the i-th candidate. True: it is the one. */
static bool note(struct coir_replay *r, int i, enum coir_replay_seen seen, size_t size)
{
    struct coir_replay_report *const report = &r->report;
    const uint64_t at = candidate(r, i);

    if (seen == COIR_SEEN_GROUP && is_next(r, in_window(r, at))) {
        r->found = size;
        r->found_at = at;
        return true;
    }
    if (seen == COIR_SEEN_MARK && i == 0 && is_its_mark(r, in_window(r, at))) {
        report->marked = true;
        report->at = candidate(r, 1);
    }
    if (seen == COIR_SEEN_TORN && report->end == COIR_REPLAY_NOTHING) {
        report->end = COIR_REPLAY_TORN;
        report->at = at;
    }
    if (seen == COIR_SEEN_UNREADABLE && report->end != COIR_REPLAY_UNREADABLE) {
        report->end = COIR_REPLAY_UNREADABLE;
        report->at = at;
    }
    return false;
}

coir_body(coir_replay_find, f) {
    f->replay->found = 0;
    f->replay->looked = true;
    f->replay->report.marked = false;
    f->replay->report.end = COIR_REPLAY_NOTHING;
    f->replay->report.at = candidate(f->replay, 0);
    for (f->i = 0; f->i < 3; f->i++) {
        if (!is_candidate(f->replay, f->i))
            continue;
        coir_try(f, &f->look, coir_replay_look, .replay = f->replay, .at = candidate(f->replay, f->i));
        if (note(f->replay, f->i, f->look.result, f->look.size))
            coir_return(f);
    }
} coir_end

/* ---- looking for what proves damage ---- */

static void note_proof(struct coir_replay *r, uint64_t at)
{
    const uint64_t last = last_of(in_window(r, at));

    if (!r->report.damaged)
        r->report.proof = at;
    r->report.damaged = true;
    if (last > r->report.lost)
        r->report.lost = last;
}

coir_body(coir_replay_scan, f) {
    for (f->at = 0; f->at < f->replay->size; f->at += f->look.size) {
        coir_try(f, &f->look, coir_replay_look, .replay = f->replay, .at = f->at, .above = f->replay->report.lsn);
        if (f->look.result == COIR_SEEN_GROUP || f->look.result == COIR_SEEN_MARK)
            note_proof(f->replay, f->at);
        else
            f->look.size = f->replay->from.grain;
        f->replay->report.unreadable += f->look.result == COIR_SEEN_UNREADABLE;
    }
    if (f->replay->report.end == COIR_REPLAY_UNREADABLE)
        f->replay->report.damaged = true;
} coir_end

/* ---- the records ---- */

static void load(struct coir_replay *r)
{
    const struct coir_disk_group *const h = (const void *)r->group;

    memcpy(r->group, in_window(r, r->found_at), r->found);
    r->cursor = 0;
    r->lsn = h->first;
    r->next = h->first + h->records;
    r->number++;
    r->previous = coir_crc64(r->group, r->found);
    r->place = r->found_at + r->found;
    r->report.groups++;
    r->report.bytes += r->found;
}

/* The next record of the group that is loaded, if there is one that the anchor does not have. */
static bool take(struct coir_replay *r)
{
    struct coir_record_view view;

    while (r->report.groups && coir_group_next(r->group, &r->cursor, &view)) {
        const uint64_t lsn = r->lsn++;
        if (lsn <= r->from.lsn) {
            r->report.skipped++;
            continue;
        }
        r->report.records++;
        r->report.lsn = lsn;
        r->record = (struct coir_replay_record){ lsn, view.body, view.length, view.kind, r->verify };
        return true;
    }
    return false;
}

coir_body(coir_replay_next, f) {
    COIR_ASSERT(f->replay->window);
    if (f->replay->ended)
        coir_return(f, false);
    if (!f->replay->looked)
        coir_try(f, &f->find, coir_replay_find, .replay = f->replay);
    while (!take(f->replay)) {
        if (f->replay->found == 0) {
            coir_try(f, &f->scan, coir_replay_scan, .replay = f->replay);
            f->replay->ended = true;
            coir_return(f, false);
        }
        load(f->replay);
        coir_try(f, &f->find, coir_replay_find, .replay = f->replay);
        f->replay->verify = COIR_RULE(VERIFY_LAST) && !f->replay->found && !f->replay->report.marked;
    }
    coir_return(f, true);
} coir_end
