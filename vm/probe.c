/* SPDX-License-Identifier: MIT */
/*
 * When to look for rings (ring.c). While somebody waits for an actor a task looks about every tenth of a second: at
 * each such wait that has gone through one whole pause, again after two, four, and so on. And when nothing can happen
 * any more the keeper has all looked at (keeper.c).
 *
 * Who looks at several keeps its place in vm->asking, the list of those that wait, as one of them that has no fiber:
 * while a search is on another shard they come and go.
 *
 * A search is no letter and no progress (world.h): shards that rest do so while they are looked at, or nothing would
 * ever be seen to have come to its end. What it tells somebody is.
 */
#include "vm/probe.h"

#include <coir/shard.h>
#include <coir/time.h>

#include "runtime/base/queue.h"
#include "vm/ring.h"

enum { PAUSE_MS = 100, RAREST = 64 };

static struct coir_caller *caller_at(struct coir_link *asking)
{
    return coir_container_of(asking, struct coir_caller, asking);
}

bool coir_probe_now(struct coir_vm *vm)
{
    bool found = false;

    for (struct coir_link *at = vm->asking.next; at != &vm->asking; at = at->next) {
        struct coir_fiber *f = caller_at(at)->fiber;
        struct coir_ring s;

        if (!f || !f->asleep)
            continue;
        coir_ring_begin(&s, f);
        found |= s.found;
        coir_ring_end(&s);
    }
    return found;
}

/* ---- one after the other ---- */

/* A part of a search, on another shard or on this one. */
struct leg {
    coir_frame_void;
    coir_args(struct coir_ring *ring; struct coir_vm *there;);
};
static coir_declare(leg);

coir_body(leg, f) {
    coir_ring_go_on(f->ring, f->there);
} coir_end

/* Looks from each that waits, or from those that it is time for. */
struct looks {
    coir_frame_void;
    coir_args(struct coir_vm *vm; bool all;);
    struct coir_caller place;           /* the next one is behind it */
    struct coir_fiber *from;
    struct coir_ring ring;
    struct coir_vm *there;
    struct leg leg;
};
static coir_declare(looks);

static bool is_due(const struct coir_vm *vm, struct coir_caller *c)
{
    if (c->due != vm->pauses)
        return false;
    c->pause = c->pause < RAREST ? c->pause * 2 : RAREST;
    c->due = vm->pauses + c->pause;
    return true;
}

static struct coir_fiber *next_one(struct looks *f)
{
    struct coir_link *const end = &f->vm->asking;

    for (struct coir_link *at = f->place.asking.next; at != end; at = at->next) {
        struct coir_caller *c = caller_at(at);

        if (!c->fiber || !(f->all || is_due(f->vm, c)) || !c->fiber->asleep)
            continue;
        coir_list_remove(&f->place.asking);
        coir_list_insert_before(at->next, &f->place.asking);
        return c->fiber;
    }
    return NULL;
}

coir_body(looks, f) {
    if (f->vm) {
        f->place.fiber = NULL;
        coir_list_push_front(&f->vm->asking, &f->place.asking);
        while ((f->from = next_one(f))) {
            coir_ring_begin(&f->ring, f->from);
            while ((f->there = coir_ring_next(&f->ring))) {
                coir_await_on(f, f->there->shard, &f->leg, leg, .ring = &f->ring, .there = f->there);
                if (coir_status(&f->leg) < 0)
                    break;              /* no memory to go there */
            }
            coir_ring_end(&f->ring);
        }
        coir_list_remove(&f->place.asking);
    }
} coir_end

/* ---- all of a shard ---- */

struct sweep {
    coir_frame_void;
    coir_args(struct coir_vm *vm; void (*done)(struct coir_vm *vm););
    struct looks looks;
};
static coir_declare(sweep);

coir_body(sweep, f) {
    coir_await(f, &f->looks, looks, .vm = f->vm, .all = true);
    f->done(f->vm);
} coir_end

bool coir_probe_all(struct coir_vm *vm, void (*done)(struct coir_vm *vm))
{
    struct coir_task *t = coir_new(sweep, .vm = vm, .done = done);

    if (t)
        coir_detach(t);
    return t;
}

/* ---- now and then ---- */

struct coir_prober {
    coir_frame_void;
    coir_args(struct coir_vm *vm;);
    struct coir_sleep sleep;
    struct looks looks;
};
static coir_declare(coir_prober);

coir_body(coir_prober, f) {
    while (f->vm && !coir_list_empty(&f->vm->asking)) {
        coir_try(f, &f->sleep, coir_sleep, .ns = PAUSE_MS * COIR_MS);
        if (f->vm) {
            f->vm->pauses++;
            coir_await(f, &f->looks, looks, .vm = f->vm, .all = false);
        }
    }
    coir_finally(f) {
        if (f->vm)
            f->vm->prober = NULL;
    }
} coir_end

void coir_probe_waits(struct coir_fiber *f, struct coir_caller *c)
{
    struct coir_vm *vm = f->vm;

    c->fiber = f;
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

void coir_probe_waited(struct coir_caller *c)
{
    coir_list_remove(&c->asking);
}

void coir_probe_end(struct coir_vm *vm)
{
    if (vm->prober)
        vm->prober->vm = vm->prober->looks.vm = NULL;
}
