/* SPDX-License-Identifier: MIT */
/*
 * Messages: how they come into an actor's mailbox, and how a fiber waits for room and for a reply.
 *
 *     who sends -> line (callers, each with its message in hand) -> mailbox -> handler -> reply
 *
 * A message is memory of its own, so that it can be had before anything is done: no memory traps in who sends, and then
 * its arguments are still its own. In a full mailbox it waits in its caller's hand; when a message is taken out, the
 * first in the line puts its own in.
 *
 * Invariants: 1. Somebody is in the line only while the mailbox is full. 2. A caller that waits for a reply is named in
 * exactly one place, its message or the actor, and `named_by` says which: who is cut writes NULL there, and the reply
 * is dropped. 3. Once an actor is over, nothing comes into its mailbox.
 */
#include <errno.h>

#include "vm/actor_inside.h"
#include "vm/far.h"
#include "vm/probe.h"
#include "vm/raise.h"

/* ---- messages ---- */

static struct coir_mail *mail_new(struct coir_heap *h, const struct coir_actor *a, uint32_t number,
                                  const uint64_t *args)
{
    const uint32_t slots = coir_handler_for(h, a, number)->slots - COIR_ACTOR_SLOTS;
    struct coir_mail *m = coir_heap_alloc(h, sizeof *m + slots * sizeof *args);

    if (!m)
        return NULL;
    m->next = NULL;
    m->caller = NULL;
    m->number = number;
    m->slots = slots;
    for (uint32_t i = 0; i < slots; i++)
        m->args[i] = args[i];
    return m;
}

void coir_mail_drop(struct coir_heap *h, const struct coir_actor *a, struct coir_mail *m)
{
    const struct coir_function *fn = coir_handler_for(h, a, m->number);
    const uint64_t *at = m->args;

    for (uint32_t i = COIR_ACTOR_SLOTS; i < fn->nparams; i++) {
        coir_drop_value(h, fn->params[i].type, at);
        at += fn->params[i].type->slots;
    }
    coir_mail_free(h, m);
}

static void put(struct coir_actor *a, struct coir_mail *m)
{
    *a->last = m;
    a->last = &m->next;
    a->queued++;
}

/* ---- callers ---- */

/* The message is in the mailbox: who wants no reply is done. */
static void posted(struct coir_caller *c, struct coir_mail *m)
{
    c->mail = NULL;
    c->state = COIR_CALLER_REPLY;
    coir_caller_is_at(&m->caller, c);
}

void coir_mail_admit(struct coir_actor *a)
{
    struct coir_caller *c = coir_container_of(coir_list_pop_front(&a->line), struct coir_caller, link);
    struct coir_mail *m = c->mail;

    put(a, m);
    if (c->result) {
        posted(c, m);
    } else {
        c->mail = NULL;
        coir_caller_answer(c, COIR_CALLER_DONE);
    }
}

bool coir_actor_is_full(const struct coir_vm *vm, const struct coir_actor *a)
{
    return a->queued >= vm->mailbox;
}

void coir_actor_wake(struct coir_actor *a)
{
    if (!a->idle)
        return;
    a->idle = false;
    coir_fiber_rouse(a->fiber);
}

enum coir_told coir_actor_tell(struct coir_vm *vm, struct coir_actor *a, uint32_t number, const uint64_t *args,
                               struct coir_caller *c)
{
    const bool full = coir_actor_is_full(vm, a);
    struct coir_mail *m;

    if (a->over)
        return COIR_TOLD_DOWN;
    if (full && !c)
        return COIR_TOLD_FULL;
    m = mail_new(&vm->heap, a, number, args);
    if (!m)
        return COIR_TOLD_NO_MEMORY;
    if (full) {
        c->actor = a;
        c->mail = m;
        c->state = COIR_CALLER_ROOM;
        coir_list_push_back(&a->line, &c->link);
        return COIR_TOLD_WAITS;
    }
    put(a, m);
    coir_actor_wake(a);
    if (!c || !c->result)
        return COIR_TOLD;
    c->actor = a;
    posted(c, m);
    return COIR_TOLD_WAITS;
}

void coir_caller_leaves(struct coir_heap *h, struct coir_caller *c)
{
    if (c->state == COIR_CALLER_ROOM) {
        coir_list_remove(&c->link);
        coir_mail_drop(h, c->actor, c->mail);
    } else if (c->state == COIR_CALLER_REPLY) {
        *c->named_by = NULL;
    }
}

/* ---- a fiber that calls ---- */

static struct coir_fiber *fiber_of(struct coir_caller *c)
{
    return coir_container_of(c, struct coir_fiber, op.caller);
}

/* It may have been woken already, by a cancellation: then it finds this when it runs. */
static void wake_fiber(struct coir_caller *c)
{
    if (fiber_of(c)->task.abort)
        coir_fiber_rouse(fiber_of(c));
}

static void abort_call(struct coir_task *t)
{
    coir_fiber_rouse((struct coir_fiber *)t);
}

static enum coir_native_result waits(struct coir_fiber *f)
{
    f->step = 1;
    f->inner = true;
    f->task.abort = abort_call;
    return COIR_NATIVE_PARKED;
}

static enum coir_native_result down(struct coir_fiber *f, const struct coir_actor *a, uint64_t trap)
{
    return coir_trap_down(f, coir_actor_type(f->heap, a)->name, trap);
}

/* It was woken. Who has been handed something takes it, cancelled or not. */
static enum coir_native_result goes_on(struct coir_fiber *f)
{
    struct coir_caller *c = &f->op.caller;
    const uint64_t trap = c->trap;

    if (c->state < COIR_CALLER_DONE && coir_fiber_waits_again(f))
        return waits(f);
    coir_probe_waited(c);
    switch (c->state) {
    case COIR_CALLER_DONE:
        return COIR_NATIVE_DONE;
    case COIR_CALLER_RING:
        return COIR_NATIVE_TRAP;
    case COIR_CALLER_DOWN:
        break;
    default:
        coir_caller_leaves(f->heap, c);
        return coir_trap_cancelled(f);
    }
    if (f->stopping && coir_fiber_cancelled(f))
        coir_trap_cancelled(f);
    else
        down(f, c->actor, trap);
    if (trap)
        coir_drop(f->heap, coir_ref(trap));
    return COIR_NATIVE_TRAP;
}

static bool is_own(const struct coir_fiber *f, const struct coir_actor *a)
{
    return f->is_actor && f->actor == a;
}

/* Whether it would wait for what only itself can do. */
static enum coir_native_result trap_itself(struct coir_fiber *f, const struct coir_actor *a, bool asks)
{
    const char *const name = coir_actor_type(f->heap, a)->name;

    return asks ? coir_trap(f, COIR_TRAP_DEADLOCK, "actor %s calls itself", name)
                : coir_trap(f, COIR_TRAP_DEADLOCK, "actor %s sends to itself, and its mailbox is full", name);
}

static enum coir_native_result near_msg(struct coir_fiber *f, uint64_t *window, uint32_t number, bool asks)
{
    struct coir_caller *c = &f->op.caller;
    struct coir_actor *a = coir_actor_at(window[0]);
    const bool parks = asks || coir_actor_is_full(f->vm, a);

    if (f->step)
        return goes_on(f);
    if (parks && !a->over) {
        if (is_own(f, a))
            return trap_itself(f, a, asks);
        if (coir_fiber_cancelled(f) || f->deadlocked)
            return coir_trap_cancelled(f);
        c->result = asks ? window : NULL;
        c->trap = 0;
        c->wake = wake_fiber;
    }
    switch (coir_actor_tell(f->vm, a, number, window + 1, parks ? c : NULL)) {
    case COIR_TOLD:
        return COIR_NATIVE_DONE;
    case COIR_TOLD_WAITS:
        memset(window + 1, 0, (coir_handler_for(f->heap, a, number)->slots - COIR_ACTOR_SLOTS) * sizeof *window);
        coir_probe_waits(f, c);
        return waits(f);
    case COIR_TOLD_NO_MEMORY:
        return coir_trap_memory(f);
    default:
        return down(f, a, a->trap);
    }
}

/* ---- a fiber of another shard ---- */

static void wake_visit(struct coir_caller *c)
{
    struct coir_far *far = coir_container_of(c, struct coir_far, caller);

    if (far->stand)
        coir_stand_wake(far->stand);
}

/* The actor is over, or has died meanwhile of that, which is held. */
static int is_down(struct coir_far *far, uint64_t trap)
{
    far->trap = trap;
    if (trap) {
        far->at = &far->trap;
        far->brings.type = &far->there->heap.types[COIR_INDEX_TRAP];
    }
    return -EHOSTDOWN;
}

/* What has come of it; -EAGAIN: nothing yet. */
static int told(struct coir_far *far)
{
    const struct coir_actor *a = (struct coir_actor *)far->cell;

    if (far->caller.state == COIR_CALLER_DOWN)
        return is_down(far, far->caller.trap);
    if (far->caller.state != COIR_CALLER_DONE)
        return -EAGAIN;
    if (far->asks)
        far->brings.type = coir_handler_for(&far->there->heap, a, far->number)->result;
    return 0;
}

static int stands(struct coir_visit *v)
{
    v->waits = COIR_VISIT_STANDS;
    v->far->stand = &v->stand;
    return -EAGAIN;
}

static int tell_begins(struct coir_visit *v)
{
    struct coir_far *far = v->far;
    struct coir_actor *a = (struct coir_actor *)far->cell;
    const bool parks = far->asks || coir_actor_is_full(far->there, a);

    far->caller.result = far->asks ? far->at : NULL;
    far->caller.trap = 0;
    far->caller.wake = wake_visit;
    switch (coir_actor_tell(far->there, a, far->number, far->goes, parks ? &far->caller : NULL)) {
    case COIR_TOLD:
        return 0;
    case COIR_TOLD_WAITS:
        memset(far->goes, 0, far->nslots * sizeof *far->goes);
        return stands(v);
    case COIR_TOLD_NO_MEMORY:
        return -ENOMEM;
    default:
        if (a->trap)
            coir_hold(coir_ref(a->trap));
        return is_down(far, a->trap);
    }
}

/* A message that waits for room is taken back, its arguments to where they were. */
static void take_back(struct coir_far *far)
{
    struct coir_mail *m = far->caller.mail;

    coir_list_remove(&far->caller.link);
    memcpy(far->goes, m->args, m->slots * sizeof *far->goes);
    coir_mail_free(&far->there->heap, m);
}

/* Who has been handed something takes it, cancelled or not. Who waits for a reply still, and was cut short, says
 * -EINTR: whether that was meant is known where the fiber is. */
static int tell_ends(struct coir_visit *v, int status)
{
    struct coir_far *far = v->far;
    const int said = told(far);

    far->stand = NULL;
    if (said != -EAGAIN)
        return said;
    if (far->caller.state == COIR_CALLER_REPLY)
        return -EINTR;
    take_back(far);
    return status;
}

static const struct coir_errand tell_there = { tell_begins, tell_ends };

/* It waits on for its reply. */
static int wait_begins(struct coir_visit *v)
{
    const int said = told(v->far);

    return said == -EAGAIN ? stands(v) : said;
}

static const struct coir_errand wait_there = { wait_begins, tell_ends };

/* It does not: leaves its message. */
static int leave_begins(struct coir_visit *v)
{
    const int said = told(v->far);

    if (said != -EAGAIN)
        return said;
    coir_caller_leaves(&v->far->there->heap, &v->far->caller);
    return -ECANCELED;
}

static const struct coir_errand leave_there = { leave_begins, NULL };

/* What is to be done there next; NULL: nothing, it has come to something. */
static const struct coir_errand *next_errand(struct coir_fiber *f, struct coir_far *far)
{
    if (f->step == 0)
        return &tell_there;
    if (far->said == -EINTR)
        return coir_fiber_waits_again(f) && !far->ring ? &wait_there : &leave_there;
    return far->said == -ECANCELED && !far->left && !far->ring && coir_fiber_waits_again(f) ? &tell_there : NULL;
}

static void begin_far(struct coir_fiber *f, struct coir_far *far, uint64_t *window, uint32_t number, bool asks)
{
    struct coir_counted *const cell = coir_ref(window[0]);
    const struct coir_function *handler = coir_handler_for(f->heap, (struct coir_actor *)cell, number);

    far->cell = cell;
    far->type = &f->heap->types[cell->type];
    far->number = number;
    far->asks = asks;
    far->params = &handler->params[COIR_ACTOR_SLOTS];
    far->nparams = handler->nparams - COIR_ACTOR_SLOTS;
    far->nslots = handler->slots - COIR_ACTOR_SLOTS;
    far->goes = window + 1;
    far->at = window;
}

static enum coir_native_result down_far(struct coir_fiber *f, const struct coir_far *far)
{
    if (f->stopping && coir_fiber_cancelled(f))
        coir_trap_cancelled(f);
    else
        coir_trap_down(f, far->type->name, far->trap);
    if (far->trap)
        coir_drop(f->heap, coir_ref(far->trap));
    return COIR_NATIVE_TRAP;
}

/* It is in a ring, unless something has come of it after all. */
static bool is_in_ring(struct coir_fiber *f, struct coir_far *far)
{
    const uint64_t trap = far->ring;
    const bool is = trap && far->said == -ECANCELED;

    far->ring = 0;
    if (is)
        coir_trap_again(f, trap);
    if (trap)
        coir_drop(f->heap, coir_ref(trap));
    return is;
}

static enum coir_native_result far_msg(struct coir_fiber *f, uint64_t *window, uint32_t number, bool asks)
{
    struct coir_far *far = coir_far_scratch(f);
    const struct coir_errand *errand;

    if (!far)
        return coir_trap_memory(f);
    if (f->step == 0)
        begin_far(f, far, window, number, asks);
    f->away = false;
    errand = next_errand(f, far);
    if (errand) {
        if (f->step == 0)
            coir_probe_waits(f, &far->caller);
        far->left = errand == &leave_there;
        far->must = errand != &tell_there;
        return coir_far_go(f, far, errand, far->cell->aux);
    }
    coir_probe_waited(&far->caller);
    if (is_in_ring(f, far))
        return COIR_NATIVE_TRAP;
    if (far->said == -EHOSTDOWN)
        return down_far(f, far);
    return far->said < 0 ? coir_far_trap(f, far) : COIR_NATIVE_DONE;
}

enum coir_native_result coir_op_msg(struct coir_fiber *f, uint64_t *r)
{
    const uint64_t w = f->pc[0];
    const uint32_t number = COIR_I_B(f->pc[1]);
    const bool asks = COIR_I_D(w);
    uint64_t *const window = &r[COIR_I_A(w)];

    /* of who is away the actor may be writing a reply there, between two visits */
    if (f->away || coir_is_far(f, window[0]))
        return far_msg(f, window, number, asks);
    return near_msg(f, window, number, asks);
}
