/* SPDX-License-Identifier: MIT */
/*
 * Looking for rings. A fiber that sleeps waits for others: a call, or a send for want of room, for the actor; a join
 * for the task; the end of a group for each of its members, since one that never ends is enough. A fiber that a time
 * will wake does not sleep, so a `within` around its wait, its own, is no part of a ring; nor is what waits for a
 * channel, for room in a group, or for anything outside.
 *
 * While somebody waits for an actor a task looks about every tenth of a second: at each such wait that has gone through
 * one whole pause, again after two, four, and so on. It goes from fiber to fiber, along those calls only that are older
 * than the one it began with: so a ring is found from the call that was made last in it, and that one traps. Nothing
 * runs meanwhile, and who sleeps in a ring is woken by nobody in it: a ring that is seen is one.
 *
 * Only fibers of this shard are looked at.
 */
#include "vm/probe.h"

#include <coir/shard.h>
#include <coir/time.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/queue.h"
#include "vm/handle.h"
#include "vm/raise.h"
#include "vm/region.h"

enum { PAUSE_MS = 100, RAREST = 64, NAMED = 8, ROOM_FIRST = 16, LONGEST = 400 };

/* A fiber that was come to, from the one at `from`. */
struct step {
    struct coir_fiber *fiber;
    size_t from;
};

struct search {
    struct step *steps;
    size_t n, room;
    size_t last;                        /* the step that leads back to the first */
    bool ring;
};

static struct coir_fiber *fiber_of(struct coir_link *asking)
{
    return coir_container_of(asking, struct coir_fiber, op.caller.asking);
}

/* Without memory the search is over, and has found nothing. */
static bool come_to(struct search *s, struct coir_fiber *f, size_t from)
{
    if (s->n && f == s->steps[0].fiber) {
        s->ring = true;
        s->last = from;
        return false;
    }
    if (!f || f->probed || !f->asleep)
        return true;
    if (s->n == s->room) {
        const size_t room = s->room ? s->room * 2 : ROOM_FIRST;
        struct step *more = realloc(s->steps, room * sizeof *more);

        if (!more)
            return false;
        s->steps = more;
        s->room = room;
    }
    f->probed = true;
    s->steps[s->n++] = (struct step){ f, from };
    return true;
}

/* Goes on to whom the fiber at `at` waits for. False: the search is over. */
static bool go_on(struct search *s, size_t at)
{
    struct coir_fiber *f = s->steps[at].fiber;

    if (f->call == coir_op_msg) {
        const struct coir_actor *a = coir_actor_at(f->window[COIR_I_A(*f->pc)]);

        if (a->head.aux != f->vm->shard || f->op.caller.stamp > s->steps[0].fiber->op.caller.stamp)
            return true;
        return come_to(s, a->fiber, at);
    }
    if (f->call == coir_task_join) {
        const struct coir_handle *t = (const struct coir_handle *)coir_ref(f->window[0]);

        return t->head.aux != f->vm->shard || come_to(s, t->fiber, at);
    }
    if (f->call != coir_op_gwait)
        return true;
    const struct coir_region *g = coir_region_at(f->window[COIR_I_A(*f->pc)]);
    for (struct coir_link *link = g->members.next; link != &g->members; link = link->next) {
        if (!come_to(s, coir_container_of(link, struct coir_fiber, member), at))
            return false;
    }
    return true;
}

/* Who waits for whom, from the first around to it; of a long one the first few. */
static void tell_of_ring(const struct search *s)
{
    char line[LONGEST];
    size_t order[NAMED], n = 0, len = 0;
    struct coir_site site;

    for (size_t at = s->last; at != 0; at = s->steps[at].from) {
        if (n == NAMED) {
            memmove(order, order + 1, (NAMED - 1) * sizeof *order);
            n--;
        }
        order[n++] = at;
    }
    site = coir_fiber_site(s->steps[0].fiber);
    len = (size_t)snprintf(line, sizeof line, "a ring of waits: %s waits for ", site.task);
    while (n && len < sizeof line) {
        site = coir_fiber_site(s->steps[order[--n]].fiber);
        len += (size_t)snprintf(line + len, sizeof line - len, "%s (%s:%u), which waits for ", site.task, site.file,
                                site.line);
    }
    if (len < sizeof line)
        snprintf(line + len, sizeof line - len, "%s", coir_fiber_site(s->steps[0].fiber).task);
    coir_trap(s->steps[0].fiber, COIR_TRAP_DEADLOCK, "%s", line);
}

/* Whether the fiber made the last call of a ring, which then is told to it. */
static bool look_from(struct coir_fiber *f)
{
    struct search s = { 0 };

    come_to(&s, f, 0);
    for (size_t at = 0; at < s.n && go_on(&s, at); at++)
        ;
    for (size_t i = 0; i < s.n; i++)
        s.steps[i].fiber->probed = false;
    if (s.ring) {
        coir_caller_leaves(f->heap, &f->op.caller);
        f->op.caller.state = COIR_CALLER_RING;
        tell_of_ring(&s);
        coir_fiber_rouse(f);
    }
    free(s.steps);
    return s.ring;
}

bool coir_probe_now(struct coir_vm *vm)
{
    bool found = false;

    for (struct coir_link *at = vm->asking.next; at != &vm->asking; at = at->next) {
        if (fiber_of(at)->asleep)
            found |= look_from(fiber_of(at));
    }
    return found;
}

/* ---- now and then ---- */

struct coir_prober {
    coir_frame_void;
    coir_args(struct coir_vm *vm;);
    struct coir_sleep sleep;
};
static coir_declare(coir_prober);

static void look_about(struct coir_vm *vm)
{
    vm->pauses++;
    for (struct coir_link *at = vm->asking.next; at != &vm->asking; at = at->next) {
        struct coir_fiber *f = fiber_of(at);
        struct coir_caller *c = &f->op.caller;

        if (c->due != vm->pauses)
            continue;
        c->pause = c->pause < RAREST ? c->pause * 2 : RAREST;
        c->due = vm->pauses + c->pause;
        if (f->asleep)
            look_from(f);
    }
}

coir_body(coir_prober, f) {
    while (f->vm && !coir_list_empty(&f->vm->asking)) {
        coir_try(f, &f->sleep, coir_sleep, .ns = PAUSE_MS * COIR_MS);
        if (f->vm)
            look_about(f->vm);
    }
    coir_finally(f) {
        if (f->vm)
            f->vm->prober = NULL;
    }
} coir_end

void coir_probe_waits(struct coir_fiber *f)
{
    struct coir_vm *vm = f->vm;
    struct coir_caller *c = &f->op.caller;

    c->stamp = ++vm->clock;
    c->pause = 1;
    c->due = vm->pauses + 2;                     /* the pause that is under way is not a whole one */
    coir_list_push_back(&vm->asking, &c->asking);
    if (vm->prober)
        return;
    vm->prober = (struct coir_prober *)coir_new(coir_prober, .vm = vm);
    if (vm->prober)                              /* without memory the next one to wait tries again */
        coir_detach(&vm->prober->task);
}

void coir_probe_waited(struct coir_fiber *f)
{
    coir_list_remove(&f->op.caller.asking);
}

void coir_probe_end(struct coir_vm *vm)
{
    if (vm->prober)
        vm->prober->vm = NULL;
}
