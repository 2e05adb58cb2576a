/* SPDX-License-Identifier: MIT */
/*
 * Taking a census. It walks the shard's groups, by a mark that lies in their list, and in each its members, by a
 * reaper: the task that is next when a slice ends tells, should it end before the next one, who comes after it. So
 * between slices nothing points at what may go.
 */
#include "runtime/see/census.h"

#include <string.h>

#include "runtime/base/torture.h"

/* ---- rows ---- */

static size_t hash(const struct coir_census_row *row)
{
    const uint64_t odd = 0x9e3779b97f4a7c15;
    uint64_t h = (uintptr_t)row->born * odd;

    h = (h ^ h >> 29 ^ (uintptr_t)row->stands) * odd;
    h = (h ^ h >> 29 ^ (uintptr_t)row->waits) * odd;
    return (size_t)(h >> 32);
}

static bool is_like(const struct coir_census_row *a, const struct coir_census_row *b)
{
    return a->born == b->born && a->stands == b->stands && a->waits == b->waits;
}

/* The table is never more than half full. */
static void add(struct coir_census *c, const struct coir_census_row *row)
{
    const size_t slots = sizeof c->slot / sizeof *c->slot;
    size_t i = hash(row) % slots;

    c->tasks += row->count;
    for (; c->slot[i]; i = (i + 1) % slots) {
        struct coir_census_row *there = &c->row[c->slot[i] - 1];
        if (is_like(there, row)) {
            there->count += row->count;
            return;
        }
    }
    if (c->rows == COIR_CENSUS_ROWS) {
        c->other += row->count;
        return;
    }
    c->row[c->rows++] = *row;
    c->slot[i] = (uint16_t)c->rows;
}

void coir_census_clear(struct coir_census *c)
{
    c->rows = 0;
    c->tasks = c->other = 0;
    memset(c->slot, 0, sizeof c->slot);
}

void coir_census_add(struct coir_census *to, const struct coir_census *from)
{
    for (unsigned i = 0; i < from->rows; i++)
        add(to, &from->row[i]);
    to->tasks += from->other;
    to->other += from->other;
}

/* ---- one task ---- */

/* An await inside the library is none of the program's: what it is in is an operation, by that name. */
static bool is_own(const struct coir_site *site)
{
    return strncmp(site->task, "coir_", 5) != 0;
}

/* From a task down to its leaf. Value: how many were looked at. */
static unsigned look(const struct coir_task *t, struct coir_census_row *row)
{
    unsigned n = 1;

    row->stands = NULL;
    for (;; t = t->awaiting, n++) {
        const bool stands = t->site && t->state != 0;
        if (stands && is_own(t->site)) {
            row->stands = t->site;
        } else if (stands && row->stands) {
            row->waits = t->site->task;
            return n;
        }
        if (!t->awaiting || n == COIR_CENSUS_DEEPEST)
            break;
    }
    row->waits = coir_wait_name(t);
    return n;
}

static unsigned count_task(struct coir_census *c, const struct coir_task *t, const struct coir_site *born)
{
    struct coir_census_row row = { .born = born, .count = 1 };
    const unsigned n = look(t, &row);

    add(c, &row);
    return n;
}

/* ---- the walk ---- */

static void hold(struct coir_census *c)
{
    c->displaced = c->at->reaper;
    c->at->reaper = &c->reaper;
}

static void let_go(struct coir_census *c)
{
    c->at->reaper = c->displaced;
}

/* The one that is next has ended. It has left its group, and still knows who came after it. */
static void next_has_ended(struct coir_reaper *r, const struct coir_task *t)
{
    struct coir_census *c = coir_container_of(r, struct coir_census, reaper);
    struct coir_birth *const b = c->at;

    let_go(c);
    c->at = b->next;
    if (c->at)
        hold(c);
    if (b->reaper)
        b->reaper->ended(b->reaper, t);
}

/* Goes on to the next group. False: that was the last. */
static bool next_group(struct coir_census *c)
{
    struct coir_link *const link = c->mark.next;

    coir_list_remove(&c->mark);
    if (link == &c->shard->groups)
        return false;
    coir_list_insert_before(link->next, &c->mark);
    c->at = coir_container_of(link, struct coir_group, all)->first;
    return true;
}

static void count_guests(struct coir_census *c)
{
    unsigned n = 0;

    for (const struct coir_guest *g = c->shard->guests; g; g = g->next) {
        if (n++ < COIR_CENSUS_GUESTS) {
            count_task(c, g->task, NULL);
        } else {
            c->tasks++;
            c->other++;
        }
    }
}

void coir_census_begin(struct coir_census *c, struct coir_shard *s)
{
    c->shard = s;
    c->at = NULL;
    c->reaper.ended = next_has_ended;
    c->left = s->stats.tasks - s->stats.ended;
    coir_list_push_front(&s->groups, &c->mark);      /* groups opened from now on lie before it */
    count_guests(c);
}

bool coir_census_slice(struct coir_census *c)
{
    unsigned looked = 0;

    if (c->at)
        let_go(c);
    while (looked < COIR_CENSUS_SLICE) {
        if (c->at && c->left) {
            looked += count_task(c, coir_born(c->at), c->at->site);
            c->left--;
            c->at = c->at->next;
        } else if (!c->left || !next_group(c)) {
            if (coir_link_in_list(&c->mark))
                coir_list_remove(&c->mark);
            c->at = NULL;
            return true;
        } else {
            looked++;
        }
    }
    if (c->at)
        hold(c);
    return false;
}
