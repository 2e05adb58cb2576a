/* SPDX-License-Identifier: MIT */
/*
 * Actors: made, at their messages, monitored, dead. What comes into a mailbox, and who waits for it, is in mail.c.
 *
 * Invariants: 1. `idle`: the fiber is parked, and the mailbox is empty. 2. While the fiber lives it counts as a holder:
 * who comes to 1 is the last but it, and it ends then, if it is idle. 3. When it is over, everybody is told once: who
 * waits for a reply or for room, and the monitors; in slices, since they may be many.
 */
#include <coir/shard.h>

#include "vm/actor_inside.h"
#include "vm/chan.h"
#include "vm/raise.h"
#include "vm/shared.h"

enum { TOLD_A_SLICE = 500, MONITORS = 4 };

/* ---- its fiber ---- */

enum coir_native_result coir_actor_spawn(struct coir_fiber *f, const struct coir_type *t, uint64_t *to, uint64_t state)
{
    struct coir_actor *a = coir_heap_alloc(f->heap, sizeof *a);

    if (!a)
        return coir_trap_memory(f);
    memset(a, 0, sizeof *a);
    a->head = (struct coir_counted){ .count = COIR_SHARED | 2, .type = t->index };
    a->last = &a->first;
    coir_list_init(&a->line);
    a->fiber = coir_fiber_actor(f->vm, t, a, state);
    if (!a->fiber) {
        coir_heap_free(f->heap, a, sizeof *a);
        return coir_trap_memory(f);
    }
    *to = coir_slot_of(a);
    return COIR_NATIVE_DONE;
}

static void abort_idle(struct coir_task *t)
{
    ((struct coir_fiber *)t)->actor->idle = false;
    coir_fiber_rouse((struct coir_fiber *)t);
}

/* Nothing is in the mailbox. */
static enum coir_acting idles(struct coir_fiber *f, struct coir_actor *a)
{
    if (coir_held_once(&a->head))
        return COIR_ACTOR_ENDS;
    a->idle = true;
    f->inner = true;
    f->task.abort = abort_idle;
    return COIR_ACTOR_WAITS;
}

enum coir_acting coir_actor_next(struct coir_fiber *f)
{
    struct coir_actor *a = f->actor;
    struct coir_mail *m = a->first;

    if (f->stopping && coir_fiber_cancelled(f))
        return COIR_ACTOR_ENDS;
    if (!m)
        return idles(f, a);
    coir_mail_take(a);
    a->handler = coir_handler_for(f->heap, a, m->number);
    coir_caller_is_at(&a->caller, m->caller);
    f->r = f->low;
    f->fp = (const uint64_t **)f->high - 1;
    *f->fp = coir_end_code + 1;
    f->pc = f->vm->callees[a->handler->index].code;
    f->r[1] = coir_slot_of(a);
    for (uint32_t i = 0; i < m->slots; i++)
        f->r[COIR_ACTOR_SLOTS + i] = m->args[i];
    coir_mail_free(f->heap, m);
    if (__builtin_expect(!coir_list_empty(&a->line), 0))
        coir_mail_admit(a);
    return COIR_ACTS;
}

void coir_actor_replies(struct coir_fiber *f)
{
    struct coir_actor *a = f->actor;
    const struct coir_type *result = a->handler->result;
    struct coir_caller *c = a->caller;

    if (!c) {
        coir_drop_value(f->heap, result, f->r + 1);
        return;
    }
    for (uint32_t i = 0; i < result->slots; i++)
        c->result[i] = f->r[1 + i];
    a->caller = NULL;
    coir_caller_answer(c, COIR_CALLER_DONE);
}

bool coir_fiber_is_idle(const struct coir_fiber *f)
{
    return f->is_actor && f->actor->idle;
}

/* It has one holder left, its fiber: nobody will ever send to it. */
void coir_actor_alone(struct coir_counted *c)
{
    coir_actor_wake((struct coir_actor *)c);
}

/* ---- monitors ---- */

/* What it died of, if it did, then nothing more. Who has put something else into the channel does without. */
static void tell_monitor(struct coir_chan *c, uint64_t trap)
{
    if (trap && coir_channel_try_send(&c->channel, &trap) == 0)
        coir_hold(coir_ref(trap));
    coir_channel_close(&c->channel);
}

/* Those that nobody listens to any more are forgotten. */
static void sweep_monitors(struct coir_heap *h, struct coir_actor *a)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < a->nmonitors; i++) {
        struct coir_chan *c = a->monitors[i];

        if (coir_held_once(&c->head))
            coir_drop(h, &c->head);
        else
            a->monitors[kept++] = c;
    }
    a->nmonitors = kept;
}

static bool add_monitor(struct coir_heap *h, struct coir_actor *a, struct coir_chan *c)
{
    const bool full = a->nmonitors == a->monitors_room;

    if (full)
        sweep_monitors(h, a);
    if (full && a->nmonitors >= a->monitors_room / 2) {
        const uint32_t room = a->monitors_room ? a->monitors_room * 2 : MONITORS;
        struct coir_chan **more = coir_heap_resize(h, a->monitors, a->monitors_room * sizeof *more,
                                                   room * sizeof *more);

        if (!more)
            return false;
        a->monitors = more;
        a->monitors_room = room;
    }
    coir_hold(&c->head);
    a->monitors[a->nmonitors++] = c;
    return true;
}

static enum coir_native_result monitor(struct coir_fiber *f, uint64_t *r)
{
    struct coir_actor *a = coir_actor_at(r[0]);
    struct coir_chan *c = coir_chan_new(f->heap, coir_result_type(f), 1);

    if (!c)
        return coir_trap_memory(f);
    if (a->over) {
        tell_monitor(c, a->trap);
    } else if (!add_monitor(f->heap, a, c)) {
        coir_drop(f->heap, &c->head);
        return coir_trap_memory(f);
    }
    r[0] = coir_slot_of(c);
    return COIR_NATIVE_DONE;
}

/* ---- its end ---- */

static void down_for(struct coir_actor *a, struct coir_caller *c)
{
    c->trap = a->trap;
    if (c->trap)
        coir_hold(coir_ref(c->trap));
    coir_caller_answer(c, COIR_CALLER_DOWN);
}

/* Who called last, and whoever monitors it, knows of the trap; else it is said on stderr, as that of a fiber which
 * nobody joins. */
static void is_over(struct coir_fiber *f, struct coir_actor *a)
{
    sweep_monitors(f->heap, a);
    a->over = true;
    a->trap = f->trap;
    if (a->trap) {
        coir_hold(coir_ref(a->trap));
        if (!a->caller && !a->nmonitors && !coir_trap_is_quiet(a->trap))
            coir_report_trap(f->vm, a->trap);
    }
    if (a->caller)
        down_for(a, a->caller);
    a->caller = NULL;
    for (uint32_t i = 0; i < a->nmonitors; i++) {
        tell_monitor(a->monitors[i], a->trap);
        coir_drop(f->heap, &a->monitors[i]->head);
    }
    if (a->monitors_room)
        coir_heap_free(f->heap, a->monitors, a->monitors_room * sizeof *a->monitors);
    a->nmonitors = a->monitors_room = 0;
    if (f->low[0])
        coir_drop(f->heap, coir_ref(f->low[0]));
}

bool coir_actor_ends(struct coir_fiber *f)
{
    struct coir_actor *a = f->actor;
    size_t most = TOLD_A_SLICE;

    if (!a->over)
        is_over(f, a);
    for (; most && a->first; most--) {
        struct coir_mail *m = coir_mail_take(a);

        if (m->caller)
            down_for(a, m->caller);
        coir_mail_drop(f->heap, a, m);
    }
    for (; most && !coir_list_empty(&a->line); most--) {
        struct coir_caller *c = coir_container_of(coir_list_pop_front(&a->line), struct coir_caller, link);

        coir_mail_drop(f->heap, a, c->mail);
        c->mail = NULL;
        down_for(a, c);
    }
    if (!most)
        return false;
    a->fiber = NULL;
    coir_drop(f->heap, &a->head);
    return true;
}

void coir_actor_end(struct coir_heap *h, struct coir_actor *a)
{
    if (a->trap)
        coir_drop(h, coir_ref(a->trap));
    coir_heap_free(h, a, sizeof *a);
}

static const struct coir_native natives[] = {
    { "monitor", "fn monitor[T](a: T) -> Chan[Trap]", monitor },
};
const struct coir_natives coir_actor_natives = { natives, sizeof natives / sizeof *natives, NULL, 0 };
