/* SPDX-License-Identifier: MIT */
/*
 * Cells: a one-shot result between two parties, on any threads.
 *
 * `state` decides who comes first, by one atomic exchange each:
 *
 *      EMPTY --wait--> AWAITED --complete--> DONE     the completer posts the waiter home
 *        |   --call--> CALLED  --complete--> DONE     the completer runs the callback
 *        |----complete-----------> DONE               who waits later does not suspend
 *        `----revoke (from EMPTY, AWAITED, CALLED)--> REVOKED
 *
 * Who begins to wait claims the cell first (CLAIMING), so that of two only one writes where it waits.
 *
 * Between its first state and DONE a completer claims the cell (COMPLETING), so that a second one is told
 * from the first, and writes the value. A cell in a frame goes with its frame, and that may be as soon as it
 * is DONE: the completer touches nothing of it afterwards, except for a waiter, who stays until the letter in
 * the cell has been delivered.
 */
#include <coir/cell.h>
#include <stdlib.h>

#include "runtime/task/arm.h"

enum { EMPTY, CLAIMING, AWAITED, CALLED, COMPLETING, DONE, REVOKED };

_Static_assert(sizeof(struct coir_letter) == sizeof ((struct coir_cell *)0)->letter, "a letter lies in the cell");

static struct coir_letter *letter_of(struct coir_cell *c)
{
    return (struct coir_letter *)(void *)c->letter;
}

static const char *file_of(const struct coir_site *at)
{
    return at ? at->file : "?";
}

static unsigned line_of(const struct coir_site *at)
{
    return at ? at->line : 0;
}

void coir_cell_init(struct coir_cell *c)
{
    *c = (struct coir_cell){ .state = EMPTY };
}

struct coir_cell *coir_cell_new(void)
{
    struct coir_cell *c = coir_alloc_fails() ? NULL : malloc(sizeof *c);

    if (c) {
        coir_cell_init(c);
        c->references = 2;
    }
    return c;
}

void coir_cell_drop(struct coir_cell *c)
{
    if (__atomic_sub_fetch(&c->references, 1, __ATOMIC_ACQ_REL) == 0)
        free(c);
}

static uint16_t state_of(const struct coir_cell *c)
{
    return __atomic_load_n(&c->state, __ATOMIC_ACQUIRE);
}

/* From one state to another, if it is still that one. */
static bool change(struct coir_cell *c, uint16_t from, uint16_t to)
{
    return __atomic_compare_exchange_n(&c->state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* The state, once nobody is in the middle of beginning to wait. */
static uint16_t claimed(const struct coir_cell *c)
{
    uint16_t state;

    for (int i = 0; (state = state_of(c)) == CLAIMING; i++)
        coir_pause_a_little(i);
    return state;
}

/* The state, once nobody is in the middle of completing: a few instructions of another thread's. */
static uint16_t settled(const struct coir_cell *c)
{
    uint16_t state;

    for (int i = 0; (state = state_of(c)) == COMPLETING || state == CLAIMING; i++)
        coir_pause_a_little(i);
    return state;
}

/* ---- completing ---- */

static void twice(const struct coir_cell *c, const struct coir_site *site)
{
    fprintf(stderr, "coir: a cell is completed a second time at %s:%u (%s); the first time was at %s:%u\n",
            file_of(site), line_of(site), site->task, file_of(c->completed), line_of(c->completed));
    abort();
}

static void deliver(struct coir_shard *s, struct coir_letter *letter)
{
    struct coir_cell *c = (struct coir_cell *)(void *)((char *)letter - offsetof(struct coir_cell, letter));

    coir_external(s, -1);
    coir_wake(c->waiter);
}

/* The waiter stays until its letter is there, also one who wants to have it no more. */
static void wake_waiter(struct coir_cell *c)
{
    struct coir_shard *home = c->home;

    if (coir_is_arm(c->waiter))
        coir_arm_claim(c->waiter);
    if (home == coir_shard_here()) {
        deliver(home, letter_of(c));
        return;
    }
    letter_of(c)->deliver = deliver;
    coir_post(home, letter_of(c));
}

int coir_cell_complete_(struct coir_cell *c, int status, int64_t value, const struct coir_site *site)
{
    uint16_t was;
    void (*call)(struct coir_cell *, void *);
    void *arg;

    do {
        was = claimed(c);
        if (was == REVOKED)
            return -ECANCELED;
        if (was == COMPLETING || was == DONE)
            twice(c, site);
    } while (!change(c, was, COMPLETING));
    call = was == CALLED ? c->call : NULL;
    arg = was == CALLED ? c->arg : NULL;
    c->completed = site;
    c->status = status;
    c->value = value;
    __atomic_store_n(&c->state, DONE, __ATOMIC_RELEASE);
    if (call)
        call(c, arg);
    else if (was == AWAITED)
        wake_waiter(c);
    return 0;
}

bool coir_cell_revoke(struct coir_cell *c)
{
    uint16_t was = settled(c);

    while (was == EMPTY || was == AWAITED || was == CALLED) {
        if (change(c, was, REVOKED)) {
            if (was == AWAITED)
                wake_waiter(c);
            return true;
        }
        was = settled(c);
    }
    return was == REVOKED;
}

void coir_cell_call(struct coir_cell *c, void (*call)(struct coir_cell *, void *), void *arg)
{
    c->call = call;
    c->arg = arg;
    if (!change(c, EMPTY, CALLED) && settled(c) == DONE)
        call(c, arg);
}

bool coir_cell_done(const struct coir_cell *c)
{
    return state_of(c) == DONE;
}

void coir_cell_destroy_(struct coir_cell *c, const struct coir_site *site)
{
    if (settled(c) == AWAITED) {
        const struct coir_task *up = c->waiter->awaiter;
        const struct coir_site *at;

        if (up && coir_is_arm(c->waiter))
            up = up->awaiter;
        at = up ? up->site : NULL;
        fprintf(stderr, "coir: a cell is destroyed at %s:%u (%s) while %s awaits it at %s:%u\n", file_of(site),
                line_of(site), site->task, at ? at->task : "a task", file_of(at), line_of(at));
        abort();
    }
    c->state = REVOKED;
}

/* ---- waiting ---- */

bool coir_cell_await(struct coir_cell *c, struct coir_task *waiter)
{
    struct coir_shard *s = coir_shard_here();

    if (!change(c, EMPTY, CLAIMING))
        return false;
    c->waiter = waiter;
    c->home = s;
    coir_external(s, 1);
    __atomic_store_n(&c->state, AWAITED, __ATOMIC_RELEASE);
    return true;
}

bool coir_cell_leave(struct coir_cell *c)
{
    if (!change(c, AWAITED, EMPTY))
        return false;
    coir_external(coir_shard_here(), -1);
    return true;
}

bool coir_cell_look(const struct coir_cell *c, struct coir_task *t, int64_t *value)
{
    const uint16_t state = settled(c);

    if (state == EMPTY)
        return false;
    t->status = (int16_t)(state == DONE ? c->status : state == REVOKED ? -ECANCELED : -EINVAL);
    if (state == DONE)
        *value = c->value;
    return true;
}

static coir_step wait_ends(struct coir_cell_wait *op)
{
    const struct coir_cell *c = op->cell;

    if (settled(c) == DONE) {
        op->task.status = c->status;
        op->result = c->value;
    } else {
        op->task.status = -ECANCELED;
    }
    op->task.state = COIR_LEFT_;
    return COIR_DONE_;
}

/* Only of a counted cell: the other party keeps a reference of its own. */
static void wait_abort(struct coir_task *t)
{
    struct coir_cell_wait *op = (struct coir_cell_wait *)t;

    if (coir_cell_leave(op->cell))
        coir_wake(t);                    /* else it is complete: the letter is under way */
}

static coir_step fail(struct coir_cell_wait *op, int status)
{
    op->task.status = status;
    op->task.state = COIR_LEFT_;
    return COIR_DONE_;
}

/* It is complete, or revoked; or another waiter has it. */
static coir_step somebody_was_faster(struct coir_cell_wait *op)
{
    const uint16_t state = settled(op->cell);

    op->task.abort = NULL;
    return state == DONE || state == REVOKED ? wait_ends(op) : fail(op, -EINVAL);
}

coir_step coir_cell_wait_resume(struct coir_task *t)
{
    struct coir_cell_wait *op = (struct coir_cell_wait *)t;
    struct coir_cell *c = op->cell;

    if (t->state == 1)
        return wait_ends(op);
    if (!c)
        return fail(op, -EFAULT);
    if (coir_arguments_live(t, c, "coir_cell_wait"))
        return fail(op, -EFAULT);
    const uint16_t state = settled(c);
    /* Read before the other party can know of the wait: it may drop its reference at any moment after. */
    const bool is_counted = __atomic_load_n(&c->references, __ATOMIC_RELAXED) != 0;
    if (state == EMPTY && is_counted && coir_is_refused(t))
        return fail(op, -ECANCELED);
    if (state != EMPTY)
        return somebody_was_faster(op);
    t->state = 1;
    t->waits_for = c;
    t->abort = is_counted ? wait_abort : NULL;
    return coir_cell_await(c, t) ? COIR_PARK_ : somebody_was_faster(op);
}
