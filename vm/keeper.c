/* SPDX-License-Identifier: MIT */
/*
 * The keeper of a shard: unwinds whoever is left when the program stops, the newest first, one after the other; tells
 * main when nothing can wake any more; buries the dead while no fiber does. Shard 0's begins main, and leads: it ends
 * when no fiber is left on any shard, and with it the run.
 *
 * It sleeps in between, and whoever sees something to do wakes it: so it comes after everybody who was ready then. That
 * is how it knows that its shard rests: all fibers are asleep, and none was resumed since it was woken. When all shards
 * rest (world.h) and fibers are left, it is a deadlock. Then the leader orders, one after the other,
 *
 *     a look for rings           PROBE i, which each passes on to the next, the last to the leader: PROBED. Who is told
 *                                of one moves; when all rest again it begins anew
 *     a dump of each shard       DUMP i, likewise: DUMP 0
 *     the newest to be told      TELL i, if it is not main
 */
#include "vm/keeper.h"

#include <coir/see.h>
#include <coir/signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/queue.h"
#include "vm/far.h"
#include "vm/probe.h"
#include "vm/raise.h"
#include "vm/region.h"
#include "vm/world.h"

enum { BURIED_A_TURN = 2000 };
enum { NO_ORDER, OBEYED, PROBED, DUMP = 256, TELL = 512, PROBE = 768 };     /* the last three and a shard */

struct keeper {
    coir_frame_void;
    coir_args(struct coir_vm *vm; uint64_t args; bool signals;);
};
static coir_declare(keeper);

static const struct coir_site keeper_site = { "keeper", __FILE__, __LINE__ };

void coir_keeper_wake(struct coir_vm *vm)
{
    struct coir_task *t = vm->keeper;

    if (!t)
        return;
    vm->keeper = NULL;
    vm->suspected = vm->progress;
    t->abort = NULL;
    coir_ready_(t);
}

/* The run is over, or could not begin: all but the leader are cancelled. */
static void cancelled(struct coir_task *t)
{
    coir_keeper_wake(((struct keeper *)t)->vm);
}

static coir_step parks(struct keeper *k)
{
    k->task.state = 1;
    k->task.abort = k->vm->shard ? cancelled : NULL;
    k->task.site = &keeper_site;
    k->vm->keeper = &k->task;
    return COIR_PARK_;
}

static coir_step goes_on(struct keeper *k)
{
    k->task.state = 1;
    coir_ready_(&k->task);
    return COIR_PARK_;
}

/* ---- stopping ---- */

/* If the newest of all shards is one of this, it is cancelled, unless it is already: when it has ended the keeper comes
 * back. If it is another's, that one is told to look, since it may be so by what has changed here. */
static void stop_newest(struct coir_vm *vm)
{
    const uint64_t before = vm->seen.top;
    struct coir_fiber *f = vm->newest;
    struct coir_vm *next;

    vm->stopping = true;
    while (f && coir_group_is_shielded(f->member_of))
        f = f->older;
    if (f && f->stopping)
        coir_world_stops(vm, f->stamp);
    next = coir_world_newest(vm, f ? f->stamp : 0);
    if (next && next != vm && vm->seen.top != before)
        coir_world_ring(next);
    if (!f || f->stopping || next != vm)
        return;
    f->stopping = true;
    coir_world_stops(vm, f->stamp);
    coir_world_stirs(vm);
    coir_fiber_cancel(f);
}

/* The leader says so, the others are told. */
static bool is_stopping(struct coir_vm *vm)
{
    struct coir_world *const w = vm->world;

    if (vm->shard == 0 && !vm->stopping && (vm->main_ended || coir_world_signal(w))) {
        __atomic_store_n(&w->stopping, true, __ATOMIC_SEQ_CST);
        for (uint32_t i = 1; i < w->n; i++)
            coir_world_ring(w->vms[i]);
    }
    return __atomic_load_n(&w->stopping, __ATOMIC_SEQ_CST);
}

/* ---- resting ---- */

/* Each stands where somebody would have to wake it. One that does not is in the queue: it has been woken, or has yet to
 * begin its wait. */
static bool all_parked(const struct coir_vm *vm)
{
    for (struct coir_fiber *f = vm->newest; f; f = f->older) {
        if (!coir_task_leaf(&f->task)->abort)
            return false;
    }
    for (const struct coir_link *at = vm->visitors.next; at != &vm->visitors; at = at->next) {
        if (!coir_task_leaf(coir_container_of(at, struct coir_visitor, link)->task)->abort)
            return false;
    }
    return true;
}

/* Main, if it has not been told yet; else the newest that has not: who waits for the members of a group that has failed
 * goes on waiting. An actor without a message waits for nobody. */
static struct coir_fiber *whom_to_tell(struct coir_vm *vm)
{
    struct coir_fiber *newest = NULL;

    for (struct coir_fiber *f = vm->newest; f; f = f->older) {
        if (f->is_main && !f->deadlocked)
            return f;
        if (!newest && !f->deadlocked && !coir_fiber_is_idle(f))
            newest = f;
    }
    return newest;
}

/* The tasks of the shard, each fiber with the line it stands at; without memory for that, with the one it began at. In
 * one write: what other programs write does not stand in it. */
static void dump(struct coir_vm *vm)
{
    struct stood { struct coir_site site; const struct coir_site *before; } *stood = calloc(vm->live, sizeof *stood);
    uint32_t n = 0;
    char *words = NULL;
    size_t len;
    FILE *whole;

    for (struct coir_fiber *f = vm->newest; stood && f; f = f->older, n++) {
        stood[n] = (struct stood){ coir_fiber_site(f), f->task.site };
        f->task.site = &stood[n].site;
    }
    coir_output_flush(vm->streams);
    whole = open_memstream(&words, &len);
    if (whole)
        coir_dump(whole);
    if (whole && fclose(whole) == 0)
        fwrite(words, 1, len, stderr);
    else
        coir_dump(stderr);
    free(words);
    n = 0;
    for (struct coir_fiber *f = vm->newest; stood && f; f = f->older)
        f->task.site = stood[n++].before;
    free(stood);
}

/* What it waits for ends, and says Deadlock. */
static void tell(struct coir_vm *vm, struct coir_fiber *f)
{
    coir_world_stirs(vm);
    f->deadlocked = true;
    coir_task_leaf(&f->task)->abort(coir_task_leaf(&f->task));
}

static void set_order(struct coir_world *w, uint32_t what)
{
    __atomic_store_n(&w->order, what, __ATOMIC_SEQ_CST);
}

static void order(struct coir_world *w, uint32_t what, uint32_t shard)
{
    set_order(w, what + shard);
    coir_world_ring(w->vms[shard]);
}

/* The shard has looked for rings. */
static void probed(struct coir_vm *vm)
{
    struct coir_world *const w = vm->world;

    if (vm->shard + 1 < w->n)
        order(w, PROBE, vm->shard + 1);
    else
        order(w, PROBED, 0);
}

static void probe(struct coir_vm *vm)
{
    set_order(vm->world, OBEYED);
    if (!coir_probe_all(vm, probed))
        probed(vm);
}

/* Nothing can happen on any shard, but that somebody is told. `dumped`: all that was just printed. */
static void break_deadlock(struct coir_vm *vm, bool dumped)
{
    struct coir_world *const w = vm->world;
    const uint64_t progress = coir_world_progress(w);
    struct coir_fiber *f = whom_to_tell(vm);
    struct coir_vm *other;

    if (w->n > 1 && w->probed != progress) {
        w->probed = 0;
        w->probing = progress;
        probe(vm);
        return;
    }
    if (f && f->is_main && !dumped) {
        dump(vm);
        if (w->n > 1) {
            order(w, DUMP, 1);
            return;
        }
    }
    other = f && f->is_main ? vm : coir_world_untold(w);
    if (other == vm)
        tell(vm, f);
    else if (other)
        order(w, TELL, other->shard);
}

/* An order to this shard is taken, and done. Whether it was the last dump's, to the leader. */
static bool obey(struct coir_vm *vm)
{
    struct coir_world *const w = vm->world;
    const uint32_t what = __atomic_load_n(&w->order, __ATOMIC_SEQ_CST);
    struct coir_fiber *f;

    if (what == DUMP + vm->shard) {
        if (vm->shard) {
            dump(vm);
            order(w, DUMP, (vm->shard + 1) % w->n);
            return false;
        }
        set_order(w, NO_ORDER);
        return true;
    }
    if (what == PROBE + vm->shard)
        probe(vm);
    if (what == PROBED && vm->shard == 0) {
        w->probed = w->probing;
        set_order(w, NO_ORDER);
    }
    if (what == TELL + vm->shard) {
        f = whom_to_tell(vm);
        set_order(w, NO_ORDER);
        if (f && vm->seen.rests_at == vm->progress + 1)
            tell(vm, f);
    }
    return false;
}

/* Of several shards this one may rest while others move, often: then all are looked at when all rest. */
static bool is_in_rings(struct coir_vm *vm)
{
    return vm->world->n == 1 && coir_probe_now(vm);
}

/* The shard rests. The leader is told if all do, and looks again itself. */
static void rests(struct coir_vm *vm, bool dumped)
{
    struct coir_world *const w = vm->world;
    const struct coir_fiber *f = whom_to_tell(vm);
    enum coir_rest_of_all all;

    coir_world_rests(vm, f ? f->stamp : 0);
    all = coir_world_look(w);
    if (all == COIR_WORLD_STIRS)
        return;
    if (vm->shard)
        coir_world_ring(w->vms[0]);
    else if (all == COIR_WORLD_EMPTY)
        __atomic_store_n(&w->over, true, __ATOMIC_SEQ_CST);
    else if (__atomic_load_n(&w->order, __ATOMIC_SEQ_CST) == NO_ORDER)
        break_deadlock(vm, dumped);
}

static coir_step ends(struct keeper *k, int status)
{
    coir_heap_bury(&k->vm->heap, SIZE_MAX);
    k->task.status = (int16_t)status;
    k->task.state = COIR_LEFT_;
    return COIR_DONE_;
}

/* ---- signals ---- */

struct stopper {
    coir_frame_void;
    coir_args(struct coir_vm *vm;);
    struct coir_signals *signals;
    struct coir_signal_next next;
    bool seen;                          /* what `next` was told is taken into account */
    bool stops;                         /* a signal that stops the program has come */
};
static coir_declare(stopper);

/* Atomic. */
static uint32_t *takes(struct coir_world *w, int number)
{
    return number == SIGINT ? &w->takes_int : &w->takes_term;
}

static void came(struct stopper *f, int number)
{
    if (__atomic_load_n(takes(f->vm->world, number), __ATOMIC_SEQ_CST))
        return;
    f->stops = true;
    coir_world_stop(f->vm, number);
}

/* What has come so far came under the rules so far. */
static void catch_up(struct stopper *f)
{
    struct coir_signal more;

    while (coir_signals_try_next(f->signals, &more) == 0)
        came(f, more.number);
    if (f->next.result.number && !f->seen) {
        f->seen = true;
        came(f, f->next.result.number);
    }
}

void coir_keeper_takes(struct coir_vm *vm, int number, int by)
{
    if (number != SIGINT && number != SIGTERM)
        return;
    if (vm->shard == 0 && vm->world->stopper)
        catch_up(vm->world->stopper);
    __atomic_add_fetch(takes(vm->world, number), (uint32_t)by, __ATOMIC_SEQ_CST);
}

/* The signal after the one that stops the program finds the system's own way. */
coir_body(stopper, f) {
    f->seen = f->stops = false;
    f->signals = coir_signals_open(SIGINT, SIGTERM);
    if (!f->signals)
        coir_fail(f, errno);
    f->next.result.number = 0;
    f->vm->world->stopper = f;
    while (!f->stops) {
        coir_try(f, &f->next, coir_signal_next, .signals = f->signals);
        if (!f->seen)
            came(f, f->next.result.number);
        f->seen = false;
    }
    coir_finally(f) {
        f->vm->world->stopper = NULL;
        coir_signals_close(f->signals);
    }
} coir_end

/* ---- the body ---- */

/* False: no memory. */
static bool begins(struct keeper *k)
{
    struct coir_vm *vm = k->vm;

    if (vm->shard)
        return true;
    if (!coir_world_begin(vm->world))
        return false;
    if (k->signals)
        coir_detach(coir_new(stopper, .vm = vm));
    vm->main_began = true;
    if (coir_fiber_main(vm, k->args))
        return true;
    coir_drop(&vm->heap, coir_ref(k->args));
    return false;
}

static bool is_over(const struct coir_vm *vm)
{
    return __atomic_load_n(&vm->world->over, __ATOMIC_SEQ_CST);
}

coir_step keeper_resume(struct coir_task *t)
{
    struct keeper *k = (struct keeper *)t;
    struct coir_vm *vm = k->vm;
    bool dumped;

    if (t->state == 0 && !begins(k)) {
        __atomic_store_n(&vm->world->over, true, __ATOMIC_SEQ_CST);
        return ends(k, -ENOMEM);
    }
    if (is_over(vm))
        return ends(k, 0);
    coir_world_take_home(vm);
    if (vm->heap.dead) {
        coir_heap_bury(&vm->heap, BURIED_A_TURN);
        return goes_on(k);
    }
    dumped = obey(vm);
    if (is_stopping(vm))
        stop_newest(vm);
    if (vm->asleep == vm->live) {
        if (vm->suspected != vm->progress) {        /* some ran after it was woken: it looks again behind everybody */
            vm->suspected = vm->progress;
            return goes_on(k);
        }
        if (!all_parked(vm))
            return goes_on(k);
        if (!coir_far_moves(vm) && !is_in_rings(vm))        /* a ring is told so, not main */
            rests(vm, dumped);
    }
    return is_over(vm) ? ends(k, 0) : parks(k);
}

struct coir_task *coir_keeper_new(struct coir_vm *vm, uint64_t args, bool signals)
{
    return coir_new(keeper, .vm = vm, .args = args, .signals = signals);
}

struct coir_task *coir_keeper_beside(struct coir_vm *vm)
{
    return coir_new(keeper, .vm = vm);
}
