/* SPDX-License-Identifier: MIT */
/*
 * Searching for a ring. A fiber that sleeps waits for others: a call, or a send for want of room, for the actor; a join
 * for the task; the end of a group for each of its members, since one that never ends is enough. A fiber that a time
 * will wake does not sleep, so a `within` around its wait, its own, is no part of a ring; nor is what waits for a
 * channel, for room in a group, or for anything outside.
 *
 * The search goes from fiber to fiber, along those calls only that are older than the one it began with: so a ring is
 * found from the call that was made last in it, and that one traps. Calls are ordered by stamp, those of different
 * shards with the same stamp by shard.
 *
 * On one shard nothing runs meanwhile. A fiber that waits for something of another shard has a visit there (far.h):
 * that is noted, as struct coir_ring_visit, and looked for there, and if it stands there still the search goes on from
 * whom it waits for. When that comes to the first fiber, and that waits in the same call, it is a ring:
 *
 *     f1 waits for f2, seen at t1; f2 for f3, seen at t2 > t1; ... fn for f1, seen at tn
 *
 * At t1 the wait of f2 was there, and at t2 it still was: so between t1 and t2 f2 did nothing, and the wait of f1,
 * which only f2 can end, was there at t2. By the same words f2's wait, and so f1's, is there at t3; at tn all are, and
 * then nobody of them will ever end one. But from outside: who is cancelled at that moment may be in a ring that is
 * told, and what has come to the first one after all is taken (mail.c).
 *
 * A visit is told from a later one in the same memory by its stamp. None is followed twice, so that a ring which does
 * not lead through the first is gone around once. The memory of a search is touched by whoever carries it on, which is
 * one task at a time; of what it has noted nothing is touched but on the shard whose it is.
 */
#include "vm/ring.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/queue.h"
#include "vm/far.h"
#include "vm/handle.h"
#include "vm/raise.h"
#include "vm/region.h"

enum { NAMED = 8, ROOM_FIRST = 16, LONGEST = 400 };

/* A fiber that was come to, from the one at `from`. */
struct coir_ring_step {
    struct coir_fiber *fiber;           /* good while the search is where it came to it */
    size_t from;
    struct coir_site site;              /* where it stood */
};

/* The fiber at `from` is away. */
struct coir_ring_visit {
    const struct coir_far *far;
    uint64_t stamp;
    struct coir_vm *there;
    size_t from;
    bool followed;
};

/* Without memory the search is over, and has found nothing. */
static bool grow(struct coir_ring *s, void **array, size_t n, size_t *room, size_t size)
{
    const size_t more = *room ? *room * 2 : ROOM_FIRST;
    void *grown;

    if (n < *room)
        return true;
    grown = realloc(*array, more * size);
    if (!grown) {
        s->over = true;
        return false;
    }
    *array = grown;
    *room = more;
    return true;
}

static void add_step(struct coir_ring *s, struct coir_fiber *f, size_t from)
{
    void *steps = s->steps;

    if (!grow(s, &steps, s->n, &s->room, sizeof *s->steps))
        return;
    s->steps = steps;
    s->steps[s->n++] = (struct coir_ring_step){ f, from, { 0 } };
    f->probed = true;
}

static void add_visit(struct coir_ring *s, const struct coir_far *far, size_t from)
{
    void *visits = s->visits;

    for (size_t i = 0; i < s->nvisits; i++) {
        if (s->visits[i].far == far && s->visits[i].stamp == far->caller.stamp)
            return;
    }
    if (!grow(s, &visits, s->nvisits, &s->visits_room, sizeof *s->visits))
        return;
    s->visits = visits;
    s->visits[s->nvisits++] = (struct coir_ring_visit){ far, far->caller.stamp, far->there, from, false };
}

/* ---- from fiber to fiber ---- */

/* Of a fiber in coir_op_msg. */
static struct coir_caller *caller_of(struct coir_fiber *f)
{
    return f->away ? &((struct coir_far *)f->scratch)->caller : &f->op.caller;
}

/* Whether the fiber is away and nothing cuts that short. */
static bool stays_away(struct coir_fiber *f)
{
    return !f->deadlocked && !coir_fiber_cancelled(f) && coir_task_leaf(&f->task)->abort
        && !((struct coir_far *)f->scratch)->ring;
}

/* Whether the first, which sleeps, does so in the same call as when the search began. */
static bool waits_still(const struct coir_ring *s)
{
    struct coir_fiber *f = s->first;

    return f->call == coir_op_msg && coir_link_in_list(&caller_of(f)->asking) && caller_of(f)->stamp == s->stamp
        && (!f->away || stays_away(f));
}

static void come_to(struct coir_ring *s, struct coir_vm *here, struct coir_fiber *f, size_t from)
{
    if (s->over || !f || !f->asleep)
        return;
    if (here == s->vm && f == s->first) {
        s->found = s->over = waits_still(s);
        s->last = from;
    } else if (!f->probed) {
        add_step(s, f, from);
    }
}

static bool is_older(const struct coir_ring *s, const struct coir_vm *here, const struct coir_caller *c)
{
    return c->stamp != s->stamp ? c->stamp < s->stamp : here->shard <= s->vm->shard;
}

/* It waits for something of another shard: if for an actor or a task, to be gone on with there. */
static void go_away(struct coir_ring *s, struct coir_fiber *f, size_t at)
{
    if (f->call != coir_op_msg && f->call != coir_task_join)
        return;
    if (stays_away(f) && (f->call == coir_task_join || is_older(s, f->vm, caller_of(f))))
        add_visit(s, f->scratch, at);
}

/* Goes on to whom the fiber at `at` waits for. */
static void go_on(struct coir_ring *s, struct coir_vm *here, size_t at)
{
    struct coir_fiber *f = s->steps[at].fiber;

    if (f->away) {
        go_away(s, f, at);
    } else if (f->call == coir_op_msg) {
        if (is_older(s, here, &f->op.caller))
            come_to(s, here, coir_actor_at(f->window[COIR_I_A(*f->pc)])->fiber, at);
    } else if (f->call == coir_task_join) {
        come_to(s, here, ((const struct coir_handle *)coir_ref(f->window[0]))->fiber, at);
    } else if (f->call == coir_op_gwait) {
        const struct coir_region *g = coir_region_at(f->window[COIR_I_A(*f->pc)]);

        for (struct coir_link *link = g->members.next; link != &g->members; link = link->next)
            come_to(s, here, coir_container_of(link, struct coir_fiber, member), at);
    }
}

/* ---- telling ---- */

/* Who waits for whom, from the first around to it; of a long one the first few. */
static void make_trap(const struct coir_ring *s)
{
    char line[LONGEST];
    size_t order[NAMED], n = 0, len = 0;

    for (size_t at = s->last; at != 0; at = s->steps[at].from) {
        if (n == NAMED) {
            memmove(order, order + 1, (NAMED - 1) * sizeof *order);
            n--;
        }
        order[n++] = at;
    }
    len = (size_t)snprintf(line, sizeof line, "a ring of waits: %s waits for ", s->steps[0].site.task);
    while (n && len < sizeof line) {
        const struct coir_site *site = &s->steps[order[--n]].site;

        len += (size_t)snprintf(line + len, sizeof line - len, "%s (%s:%u), which waits for ", site->task, site->file,
                                site->line);
    }
    if (len < sizeof line)
        snprintf(line + len, sizeof line - len, "%s", s->steps[0].site.task);
    coir_trap(s->first, COIR_TRAP_DEADLOCK, "%s", line);
}

/* Its visit is cut short; when it is home it finds the Trap (mail.c). */
static void tell_away(const struct coir_ring *s, struct coir_far *far)
{
    struct coir_fiber *f = s->first;
    struct coir_task *leaf = coir_task_leaf(&f->task);
    const uint64_t unwinds_with = f->trap;

    f->trap = 0;
    make_trap(s);
    far->ring = f->trap;
    f->trap = unwinds_with;
    leaf->abort(leaf);
}

static void tell(const struct coir_ring *s)
{
    struct coir_fiber *f = s->first;

    coir_world_stirs(s->vm);
    if (f->away) {
        tell_away(s, f->scratch);
        return;
    }
    coir_caller_leaves(f->heap, &f->op.caller);
    f->op.caller.state = COIR_CALLER_RING;
    make_trap(s);
    coir_fiber_rouse(f);
}

/* ---- from shard to shard ---- */

/* Goes on here, from the steps from `at` on. */
static void look(struct coir_ring *s, struct coir_vm *here, size_t at)
{
    const size_t begin = at;

    for (; !s->over && at < s->n; at++)
        go_on(s, here, at);
    for (size_t i = begin; i < s->n; i++) {
        s->steps[i].fiber->probed = false;
        if (s->found || s->next < s->nvisits)
            s->steps[i].site = coir_fiber_site(s->steps[i].fiber);
    }
    if (s->found)
        tell(s);
}

void coir_ring_begin(struct coir_ring *s, struct coir_fiber *first)
{
    *s = (struct coir_ring){ .vm = first->vm, .first = first, .stamp = caller_of(first)->stamp };
    add_step(s, first, 0);
    look(s, first->vm, 0);
}

struct coir_vm *coir_ring_next(struct coir_ring *s)
{
    while (s->next < s->nvisits && s->visits[s->next].followed)
        s->next++;
    return s->over || s->next == s->nvisits ? NULL : s->visits[s->next].there;
}

/* Whom a visit that stands here waits for. */
static struct coir_fiber *waited_for(const struct coir_visit *v)
{
    if (v->far->type->kind == COIR_TYPE_TASK)
        return ((const struct coir_handle *)v->far->cell)->fiber;
    return v->far->caller.state <= COIR_CALLER_REPLY ? ((const struct coir_actor *)v->far->cell)->fiber : NULL;
}

void coir_ring_go_on(struct coir_ring *s, struct coir_vm *here)
{
    const size_t begin = s->n;

    for (size_t i = s->next; i < s->nvisits; i++) {
        struct coir_ring_visit *const at = &s->visits[i];
        const struct coir_visit *v;

        if (at->followed || at->there != here)
            continue;
        at->followed = true;
        v = coir_far_stands(here, at->far, at->stamp);
        if (v)
            come_to(s, here, waited_for(v), at->from);
    }
    look(s, here, begin);
}

void coir_ring_end(struct coir_ring *s)
{
    free(s->steps);
    free(s->visits);
}
