/* SPDX-License-Identifier: MIT */
/*
 * The life of a fiber: made, resumed, parked, unwound, ended. Its body is written by hand, since what it waits for is
 * known only when it runs; otherwise it is a task as any other, and what it awaits are libcoir's own leaves.
 *
 * Each resumption goes on with what the state says, until the fiber parks or ends:
 *
 *     RUNS     interpret from pc
 *     CALLS    call f->call again: what it waited for has ended, what it asked for has returned, or its slice has come
 *     UNWINDS  go on leaving frames
 *     CAUGHT   go on at a handler: the slice was over there, which is no landing, so nothing is raised at it
 *     ACTS     of an actor: take the next message, or wait for one
 *     ENDS     of an actor: go on telling those who wait for it
 *
 * A slice ends at the tail of the shard's queue; who is cancelled by then raises that instead. It must never call a
 * native or the interpreter from inside one of them.
 */
#include "vm/fiber.h"

#include <signal.h>

#include "runtime/base/queue.h"
#include "vm/ask.h"
#include "vm/chan.h"
#include "vm/handle.h"
#include "vm/raise.h"
#include "vm/region.h"
#include "vm/scratch.h"
#include "vm/shared.h"
#include "vm/unwind.h"
#include "vm/world.h"

enum { RUNS, CALLS, UNWINDS, CAUGHT, ACTS, ENDS };
enum {
    FIRST_SLOTS = 8,
    BURIED_A_SLICE = 2000,
    FRAME = sizeof(struct coir_fiber) + 48,      /* libcoir's memory, but of the program's limit */
};

static const coir_step parked = { 1 }, done = { 0 };

static coir_step body(struct coir_task *t);

/* ---- the stack ---- */

static void stack_is(struct coir_fiber *f, uint64_t *low, size_t slots)
{
    f->low = low;
    f->high = low + slots;
}

bool coir_stack_grow(struct coir_fiber *f, uint32_t more)
{
    const size_t old = (size_t)(f->high - f->low), back = (size_t)(f->high - (uint64_t *)f->fp);
    const size_t below = (size_t)(f->r - f->low), need = below + more + back + 1;
    uint64_t *const was = f->low, *low;
    size_t slots = old;

    if (back >= COIR_FRAMES) {
        coir_trap(f, COIR_TRAP_STACK, "more than %d calls inside each other", COIR_FRAMES);
        return false;
    }
    while (slots <= need)
        slots *= 2;
    low = coir_heap_alloc(f->heap, slots * sizeof *low);
    if (!low) {
        coir_trap(f, COIR_TRAP_STACK, "no memory for more calls inside each other");
        return false;
    }
    memcpy(low, was, (size_t)((uint64_t *)f->fp - was) * sizeof *low);
    memcpy(low + slots - back, f->fp, back * sizeof *low);
    stack_is(f, low, slots);
    f->fp = (const uint64_t **)(f->high - back);
    f->r = low + below;
#ifdef COIR_TORTURE
    memset(was, 0xA5, old * sizeof *was);
#endif
    coir_heap_free(f->heap, was, old * sizeof *was);
    return true;
}

/* ---- made ---- */

static struct coir_fiber *fiber_new(struct coir_vm *vm, const uint64_t *code, uint32_t nregs, const uint64_t *args,
                                    uint32_t slots, const struct coir_site *site)
{
    const size_t room = nregs + 2 < FIRST_SLOTS ? FIRST_SLOTS : (nregs + 3) / 2 * 2;
    struct coir_fiber *f;
    uint64_t *low;

    if (!coir_heap_charge(&vm->heap, FRAME))
        return NULL;
    low = coir_heap_alloc(&vm->heap, room * sizeof *low);
    f = low ? (struct coir_fiber *)coir_frame_new_(sizeof *f, body, site) : NULL;
    if (!f) {
        if (low)
            coir_heap_free(&vm->heap, low, room * sizeof *low);
        coir_heap_refund(&vm->heap, FRAME);
        return NULL;
    }
    memset((char *)f + sizeof f->task, 0, offsetof(struct coir_fiber, scope) - sizeof f->task);
    f->vm = vm;
    f->heap = &vm->heap;
    stack_is(f, low, room);
    memcpy(low, args, slots * sizeof *low);
    f->r = low;
    f->fp = (const uint64_t **)f->high - 1;
    *f->fp = coir_end_code + 1;
    f->pc = code;
    f->state = RUNS;
    f->stamp = ++vm->clock;
    f->older = vm->newest;
    if (vm->newest)
        vm->newest->newer = f;
    vm->newest = f;
    vm->live++;
    coir_detach(&f->task);
    coir_scope_open_(&f->scope, &f->task, COIR_NEVER, false);
    return f;
}

/* The program ends: it has nothing to do but that. */
static void begin_stopped(struct coir_fiber *f)
{
    f->stopping = true;
    coir_fiber_cancel(f);
    coir_world_stops(f->vm, f->stamp);
}

struct coir_fiber *coir_fiber_new(struct coir_vm *vm, uint32_t function, const uint64_t *args, uint32_t slots,
                                  struct coir_handle *handle, struct coir_region *group)
{
    const struct coir_callee *to = &vm->callees[function];
    struct coir_fiber *f = fiber_new(vm, to->code, to->nregs, args, slots, vm->sites[function]);

    if (!f)
        return NULL;
    f->handle = handle;
    handle->fiber = f;
    coir_hold(&handle->head);
    if (group)
        coir_group_joined(group, f);
    if (vm->stopping && !coir_group_is_shielded(group))
        begin_stopped(f);
    return f;
}

struct coir_fiber *coir_fiber_actor(struct coir_vm *vm, const struct coir_type *t, struct coir_actor *a,
                                    uint64_t state)
{
    const struct coir_acted *of = &vm->acted[t->index];
    struct coir_fiber *f = fiber_new(vm, coir_end_code + 1, of->nregs, &state, 1, &of->site);

    if (!f)
        return NULL;
    f->is_actor = true;
    f->actor = a;
    f->state = ACTS;
    if (vm->stopping)
        begin_stopped(f);
    return f;
}

struct coir_fiber *coir_fiber_hosted(struct coir_vm *vm, uint32_t function, const uint64_t *args, uint32_t slots,
                                     struct coir_hosted *hosted)
{
    const struct coir_callee *to = &vm->callees[function];
    struct coir_fiber *f = fiber_new(vm, to->code, to->nregs, args, slots, vm->sites[function]);

    if (f) {
        f->is_hosted = true;
        f->hosted = hosted;
    }
    return f;
}

struct coir_fiber *coir_fiber_main(struct coir_vm *vm, uint64_t args)
{
    struct coir_fiber *f = fiber_new(vm, vm->main_code, 2, &args, 1, vm->sites[vm->program->main]);

    if (f)
        f->is_main = true;
    return f;
}

void coir_fiber_cancel(struct coir_fiber *f)
{
    coir_scope_cancel(&f->scope);
}

/* ---- parking ---- */

static coir_step requeue(struct coir_fiber *f)
{
    f->task.awaiting = NULL;
    f->task.state = 1;
    coir_ready_(&f->task);
    return parked;
}

static void abort_park(struct coir_task *t)
{
    coir_fiber_wake((struct coir_fiber *)t);
}

static void wake_waiter(struct coir_waiter *w)
{
    coir_fiber_rouse(coir_container_of(w, struct coir_fiber, op.waiter));
}

bool coir_line_wake(struct coir_link *line)
{
    struct coir_link *first = coir_list_pop_front(line);

    if (first)
        coir_container_of(first, struct coir_waiter, link)->wake(coir_container_of(first, struct coir_waiter, link));
    return first;
}

enum coir_native_result coir_park(struct coir_fiber *f, struct coir_link *line)
{
    f->op.waiter.wake = wake_waiter;
    coir_list_push_back(line, &f->op.waiter.link);
    f->task.abort = abort_park;
    return COIR_NATIVE_PARKED;
}

void coir_fiber_rouse(struct coir_fiber *f)
{
    f->task.abort = NULL;
    if (f->asleep) {
        f->asleep = false;
        f->vm->asleep--;
    }
    coir_ready_(&f->task);
}

void coir_fiber_wake(struct coir_fiber *f)
{
    coir_list_remove(&f->op.waiter.link);
    coir_fiber_rouse(f);
}

/* It parks: if it waits for another fiber, and no time will end that, it sleeps. */
static coir_step falls_asleep(struct coir_fiber *f)
{
    struct coir_vm *vm = f->vm;

    f->task.state = 1;
    if (f->inner && !coir_region_timed(f)) {
        f->asleep = true;
        vm->asleep++;
    }
    f->inner = false;
    if (vm->asleep == vm->live || vm->heap.dead)
        coir_keeper_wake(vm);
    return parked;
}

/* ---- ended ---- */

/* Its Trap, if nobody can join it any more. Asked once: another shard may let go of the handle right now, and then that
 * reports it (handle.c). */
static void report(struct coir_fiber *f)
{
    const bool alone = coir_held_once(&f->handle->head);

    if (!f->member_of && alone && !coir_trap_is_quiet(f->trap))
        coir_report_trap(f->vm, f->trap);
    if (f->member_of || alone)
        f->handle->seen = true;
}

static void settle_main(struct coir_fiber *f)
{
    struct coir_vm *vm = f->vm;

    vm->main_ended = true;
    vm->main_trap = f->trap;
    f->trap = 0;
    if (vm->main_trap && !(coir_world_signal(vm->world) && coir_trap_is_quiet(vm->main_trap)))
        coir_report_trap(vm, vm->main_trap);
    if (!vm->main_trap && vm->program->functions[vm->program->main].result->kind == COIR_TYPE_INT)
        vm->main_result = (int64_t)f->low[1];
    if (f->low[0])
        coir_drop(f->heap, coir_ref(f->low[0]));
}

static coir_step ends(struct coir_fiber *f)
{
    struct coir_vm *vm = f->vm;
    struct coir_handle *handle = f->is_actor || f->is_hosted ? NULL : f->handle;

    if (f->is_actor && !coir_actor_ends(f)) {
        f->state = ENDS;
        return requeue(f);
    }
    if (f->is_main) {
        settle_main(f);
    } else if (f->is_hosted) {
        f->hosted->ended(f->hosted, f, f->trap, f->r);
    } else if (!handle) {
        f->actor = NULL;
    } else if (f->trap) {
        report(f);
        coir_handle_trapped(f->heap, handle, f->trap);
    } else {
        coir_handle_done(f->heap, handle, f->r);
    }
    if (f->member_of)
        coir_group_member_ended(f->member_of, f, f->trap);
    if (handle)
        coir_drop(f->heap, &handle->head);
    if (f->trap)
        coir_drop(f->heap, coir_ref(f->trap));
    *(f->newer ? &f->newer->older : &vm->newest) = f->older;
    if (f->older)
        f->older->newer = f->newer;
    vm->live--;
    coir_heap_free(f->heap, f->low, (size_t)(f->high - f->low) * sizeof *f->low);
    coir_heap_refund(f->heap, FRAME);
    coir_scope_shut_(&f->scope, &f->task);
    f->task.scope = f->scope.outer;
    if (vm->stopping || f->is_main || vm->asleep == vm->live || vm->heap.dead)
        coir_keeper_wake(vm);
    f->task.status = 0;
    f->task.state = COIR_LEFT_;
    return done;
}

/* ---- resumed ---- */

static void trapped(struct coir_fiber *f)
{
    coir_scratch_end(f);
    f->deadlocked = false;
    f->inside = false;
    f->state = UNWINDS;
}

/* A slice is over. True: the fiber is at the tail of the queue; false: it was cancelled, and unwinds. */
static bool slice_over(struct coir_fiber *f)
{
    if (f->heap->dead)
        coir_heap_bury(f->heap, BURIED_A_SLICE);
    if (!coir_fiber_cancelled(f))
        return true;
    if (f->state == CALLS)
        coir_scratch_cut(f);
    coir_trap_cancelled(f);
    trapped(f);
    return false;
}

/* Does what `call` has asked for. True: `*step` is how the body returns. That nothing could wake it is over when its
 * wait is, however that came: the next one is another. */
static bool answer(struct coir_fiber *f, coir_step *step)
{
    switch (f->asked) {
    case COIR_NATIVE_DONE:
        coir_scratch_end(f);
        f->deadlocked = false;
        f->pc = f->next;
        f->state = RUNS;
        return false;
    case COIR_NATIVE_TRAP:
        trapped(f);
        return false;
    case COIR_NATIVE_AWAIT:
        f->state = CALLS;
        coir_child_(f->wait, f->wait->body, &f->task);
        if (!coir_start_(f->wait, f->wait->body).parked) {
            f->inner = false;
            return false;
        }
        f->task.awaiting = f->wait;
        *step = falls_asleep(f);
        return true;
    case COIR_NATIVE_MORE:
        f->state = CALLS;
        if (!slice_over(f))
            return false;
        *step = requeue(f);
        return true;
    case COIR_NATIVE_CALL:
        f->state = RUNS;                /* at the function's first instruction: it has landed there, and pays for it */
        if (--f->budget > 0 || !slice_over(f))
            return false;
        *step = requeue(f);
        return true;
    default:
        f->state = CALLS;
        *step = falls_asleep(f);
        return true;
    }
}

/* What it waited for has ended. */
static void wait_ended(struct coir_fiber *f)
{
    f->task.awaiting = NULL;
    f->wait = NULL;
    f->step++;
}

static void woken(struct coir_fiber *f)
{
    struct coir_vm *vm = f->vm;

    __atomic_store_n(&vm->progress, vm->progress + 1, __ATOMIC_RELEASE);
    if (vm->progress == vm->slices)
        coir_world_stop(vm, SIGTERM);
    f->budget = vm->reductions;
    if (f->asleep) {
        f->asleep = false;
        vm->asleep--;
    }
}

static bool interpreted(struct coir_fiber *f, coir_step *step)
{
    switch (coir_interpret(f)) {
    case COIR_STOP_SLICE:
        if (!slice_over(f))
            return false;
        *step = requeue(f);
        return true;
    case COIR_STOP_CALL:
        return answer(f, step);
    case COIR_STOP_TRAP:
        trapped(f);
        return false;
    default:
        if (f->asking) {                /* not the fiber's first function, but one that a native has asked for */
            coir_asked_returned(f);
            f->state = CALLS;
            return false;
        }
        if (!f->is_actor) {
            *step = ends(f);
            return true;
        }
        coir_actor_replies(f);
        f->state = ACTS;
        return false;
    }
}

/* An actor's next message. To have come into its handler is a landing. */
static bool acted(struct coir_fiber *f, coir_step *step)
{
    switch (coir_actor_next(f)) {
    case COIR_ACTS:
        f->state = RUNS;
        if (--f->budget > 0 || !slice_over(f))
            return false;
        *step = requeue(f);
        return true;
    case COIR_ACTOR_WAITS:
        *step = falls_asleep(f);
        return true;
    default:
        *step = ends(f);
        return true;
    }
}

static bool unwound(struct coir_fiber *f, coir_step *step)
{
    switch (coir_unwind(f)) {
    case COIR_UNWOUND_CAUGHT:
        f->state = RUNS;
        if (--f->budget > 0)
            return false;
        f->state = CAUGHT;              /* a handler that traps into itself must not keep the shard */
        *step = requeue(f);
        return true;
    case COIR_UNWOUND_MORE:
        *step = requeue(f);
        return true;
    default:
        if (f->asking) {
            coir_asked_trapped(f);
            return false;
        }
        *step = ends(f);
        return true;
    }
}

static coir_step body(struct coir_task *t)
{
    struct coir_fiber *f = (struct coir_fiber *)t;
    coir_step step;
    bool leaves;

    woken(f);
    if (f->state == CAUGHT) {
        f->state = RUNS;
    } else if (f->state == RUNS && f->stopping && coir_fiber_cancelled(f)) {
        coir_trap_cancelled(f);
        trapped(f);
    }
    do {
        if (f->state == CALLS) {
            if (f->wait)
                wait_ended(f);
            f->asked = f->call(f, f->window);
            leaves = answer(f, &step);
        } else if (f->state == UNWINDS) {
            leaves = unwound(f, &step);
        } else if (f->state == ACTS) {
            leaves = acted(f, &step);
        } else if (f->state == ENDS) {
            step = ends(f);
            leaves = true;
        } else {
            leaves = interpreted(f, &step);
        }
    } while (!leaves);
    return step;
}

void coir_shared_end(struct coir_heap *h, struct coir_counted *c, const struct coir_type *t)
{
    struct coir_vm *here = coir_container_of(h, struct coir_vm, heap);

    if (c->aux != here->shard)
        coir_world_gone(here, c);
    else if (t->kind == COIR_TYPE_TASK)
        coir_handle_end(h, (struct coir_handle *)c);
    else if (t->kind == COIR_TYPE_ACTOR)
        coir_actor_end(h, (struct coir_actor *)c);
    else
        coir_chan_end(h, (struct coir_chan *)c);
}
