/* SPDX-License-Identifier: MIT */
/*
 * Actors: made, at their messages, monitored, dead. What comes into a mailbox, and who waits for it, is in mail.c.
 *
 * Invariants: 1. `idle`: the fiber is parked, and the mailbox is empty. 2. While the fiber lives it counts as a holder:
 * who comes to 1 is the last but it, and it ends then, if it is idle. 3. When it is over, everybody is told once: who
 * waits for a reply or for room, and the monitors; in slices, since they may be many.
 */
#include <coir/shard.h>
#include <errno.h>

#include "vm/actor_inside.h"
#include "vm/chan.h"
#include "vm/far.h"
#include "vm/raise.h"
#include "vm/shared.h"

enum { TOLD_A_SLICE = 500, MONITORS = 4 };

/* ---- its fiber ---- */

/* Here; the state is moved. NULL: no memory, and it is the caller's still. */
static struct coir_actor *actor_new(struct coir_vm *here, const struct coir_type *t, uint64_t state)
{
    struct coir_actor *a = coir_heap_alloc(&here->heap, sizeof *a);

    if (!a)
        return NULL;
    memset(a, 0, sizeof *a);
    a->head = (struct coir_counted){ .count = COIR_SHARED | 2, .type = t->index, .aux = here->shard };
    a->note = (struct coir_counted){ .type = COIR_CELL_NOTE, .aux = here->shard };
    a->last = &a->first;
    coir_list_init(&a->line);
    a->fiber = coir_fiber_actor(here, t, a, state);
    if (a->fiber)
        return a;
    coir_heap_free(&here->heap, a, sizeof *a);
    return NULL;
}

static int spawn_begins(struct coir_visit *v)
{
    struct coir_far *far = v->far;
    struct coir_actor *a = actor_new(far->there, far->type, far->goes[0]);

    if (!a)
        return -ENOMEM;
    far->goes[0] = 0;
    far->made = coir_slot_of(a);
    return 0;
}

static const struct coir_errand spawn_there = { spawn_begins, NULL };

/* To the shard that it is to live on. */
static enum coir_native_result spawn_far(struct coir_fiber *f, const struct coir_type *t, uint64_t *to, uint64_t *state,
                                         uint32_t shard)
{
    struct coir_far *far = coir_far_scratch(f);

    if (!far)
        return coir_trap_memory(f);
    if (f->step == 0) {
        far->type = t;
        far->state = (struct coir_param){ t->element, COIR_MODE_OWN };
        far->params = &far->state;
        far->nparams = 1;
        far->goes = state;
    }
    if (coir_far_goes(f, far))
        return coir_far_go(f, far, &spawn_there, shard);
    if (far->said < 0)
        return coir_far_trap(f, far);
    *to = far->made;
    return COIR_NATIVE_DONE;
}

enum coir_native_result coir_actor_spawn(struct coir_fiber *f, const struct coir_type *t, uint64_t *to, uint64_t *state)
{
    const uint32_t shard = f->away ? f->vm->shard : coir_world_place(f->vm);
    struct coir_actor *a;

    if (f->away || shard != f->vm->shard)
        return spawn_far(f, t, to, state, shard);
    a = actor_new(f->vm, t, *state);
    if (!a)
        return coir_trap_memory(f);
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

/* ---- its holders ---- */

/* At home. If it has one holder left, its fiber, nobody will ever send to it. */
static bool let_go_here(struct coir_counted *c)
{
    const uint64_t left = __atomic_sub_fetch(&c->count, 1, __ATOMIC_ACQ_REL);

    if (left == (COIR_SHARED | 1))
        coir_actor_wake((struct coir_actor *)c);
    return left == COIR_SHARED;
}

/* Elsewhere the last but one may not just go, since the one left may be the fiber, which is to be told: the hold goes
 * home with the note, and is let go of there. While that is under way it is a holder itself, that will tell. */
bool coir_actor_let_go(struct coir_heap *h, struct coir_counted *c)
{
    struct coir_vm *here = coir_container_of(h, struct coir_vm, heap);
    uint64_t n = (uint64_t)coir_count(c);

    if (c->aux == here->shard)
        return let_go_here(c);
    while (n != (COIR_SHARED | 2) || __atomic_exchange_n(&((struct coir_actor *)c)->noted, 1, __ATOMIC_ACQ_REL)) {
        if (__atomic_compare_exchange_n(&c->count, &n, n - 1, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return n == (COIR_SHARED | 1);
    }
    coir_world_gone(here, &((struct coir_actor *)c)->note);
    return false;
}

struct coir_counted *coir_actor_note_comes(struct coir_heap *h, struct coir_counted *note)
{
    struct coir_actor *a = coir_container_of(note, struct coir_actor, note);

    (void)h;
    __atomic_store_n(&a->noted, 0, __ATOMIC_RELEASE);
    return let_go_here(&a->head) ? &a->head : NULL;
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

/* At home. NULL: no memory. */
static struct coir_chan *monitor_new(struct coir_heap *h, struct coir_actor *a, const struct coir_type *t)
{
    struct coir_chan *c = coir_chan_new(h, t, 1);

    if (!c)
        return NULL;
    if (a->over) {
        tell_monitor(c, a->trap);
    } else if (!add_monitor(h, a, c)) {
        coir_drop(h, &c->head);
        return NULL;
    }
    return c;
}

static int monitor_begins(struct coir_visit *v)
{
    struct coir_far *far = v->far;
    struct coir_chan *c = monitor_new(&far->there->heap, (struct coir_actor *)far->cell, far->type);

    far->made = coir_slot_of(c);
    return c ? 0 : -ENOMEM;
}

static const struct coir_errand monitor_there = { monitor_begins, NULL };

static enum coir_native_result monitor_far(struct coir_fiber *f, uint64_t *r)
{
    struct coir_far *far = coir_far_scratch(f);

    if (!far)
        return coir_trap_memory(f);
    far->cell = coir_ref(r[0]);
    far->type = coir_result_type(f);
    if (coir_far_goes(f, far))
        return coir_far_go(f, far, &monitor_there, far->cell->aux);
    if (far->said < 0)
        return coir_far_trap(f, far);
    r[0] = far->made;
    return COIR_NATIVE_DONE;
}

static enum coir_native_result monitor(struct coir_fiber *f, uint64_t *r)
{
    struct coir_actor *a = coir_actor_at(r[0]);
    struct coir_chan *c;

    if (coir_is_far(f, r[0]))
        return monitor_far(f, r);
    c = monitor_new(f->heap, a, coir_result_type(f));
    if (!c)
        return coir_trap_memory(f);
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
