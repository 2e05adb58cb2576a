/* SPDX-License-Identifier: MIT */
/*
 * The machines of a program: made, ended, and what they tell each other. See world.h.
 *
 * Whether nothing can happen any more is found by reading what all shards say of themselves, twice: each that rested
 * with the same progress at both times rested in between, so there was a moment when all did; and as the letters that
 * had been sent were as many as had come, none was under way at it.
 *
 * Whose fiber is next to be stopped is found likewise: who changes what it says of itself looks at the others after
 * that, so of two that change at once at least one sees both, and rings for the other.
 */
#include "vm/world.h"

#include <coir/coir.h>
#include <errno.h>
#include <stdlib.h>

#include "runtime/base/queue.h"
#include "vm/globals.h"
#include "vm/keeper.h"

/* ---- made and ended ---- */

static bool make_beside(struct coir_world *w, uint32_t i, size_t limit)
{
    struct coir_vm *const vm = aligned_alloc(_Alignof(struct coir_vm), sizeof *vm);

    if (!vm)
        return false;
    coir_vm_init_beside(vm, w->vms[0], i, limit);
    w->vms[i] = vm;
    return true;
}

int coir_world_init(struct coir_world *w, const struct coir_program *p, uint32_t shards, size_t limit, uint64_t seed)
{
    bool made;

    memset(w, 0, sizeof *w);
    w->n = shards;
    coir_commons_init(&w->commons, limit, shards, seed);
    coir_streams_init(&w->streams, shards > 1);
    w->vms[0] = aligned_alloc(_Alignof(struct coir_vm), sizeof *w->vms[0]);
    made = w->vms[0] && coir_vm_init(w->vms[0], p, limit, seed) == 0;
    for (uint32_t i = 1; made && i < shards; i++)
        made = make_beside(w, i, limit);
    for (uint32_t i = 0; i < shards && w->vms[i]; i++) {
        struct coir_vm *const vm = w->vms[i];

        vm->world = w;
        vm->streams = &w->streams;
        if (shards > 1)
            coir_heap_join(&vm->heap, &w->commons);
        if (shards > 1)
            vm->bell = coir_xchan_new(0, 1);
        made &= shards == 1 || vm->bell;
    }
    if (made)
        return 0;
    coir_world_end(w);
    return -ENOMEM;
}

/* What dies on one shard may end something on another. */
static void bury_all(struct coir_world *w)
{
    bool again;

    do {
        again = false;
        for (uint32_t i = 0; i < w->n; i++) {
            coir_world_take_home(w->vms[i]);
            again |= coir_heap_bury(&w->vms[i]->heap, SIZE_MAX) > 0;
        }
    } while (again);
}

/* The dead may refer to constants: they go first. */
void coir_world_bury(struct coir_world *w)
{
    bury_all(w);
    coir_globals_forget(w->vms[0]);
    coir_rest_drop(&w->vms[0]->heap, &w->streams.in.rest);
    bury_all(w);
}

void coir_world_end(struct coir_world *w)
{
    coir_streams_end(&w->streams);
    for (uint32_t i = w->n; i-- > 0;) {
        if (!w->vms[i])
            continue;
        coir_xchan_free(w->vms[i]->bell);
        coir_vm_end(w->vms[i]);
        free(w->vms[i]);
    }
    coir_commons_end(&w->commons);
    memset(w, 0, sizeof *w);
}

/* ---- ringing ---- */

/* Of each shard: hears what others ring for. */
struct bell {
    coir_frame_void;
    coir_args(struct coir_vm *vm;);
    struct coir_xchan_recv rung;
};
static coir_declare(bell);

coir_body(bell, f) {
    for (;;) {
        coir_try(f, &f->rung, coir_xchan_recv, .channel = f->vm->bell, .item = NULL);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        coir_streams_rung(f->vm);
        coir_keeper_wake(f->vm);
    }
} coir_end

/* That it is full says that the bell has not been heard since it was rung last: who hears it sees what was changed
 * before this, too. */
void coir_world_ring(struct coir_vm *vm)
{
    if (vm->world->n == 1 || (int)vm->shard == coir_shard_id()) {      /* a host's is alone, on whatever shard */
        coir_keeper_wake(vm);
        return;
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    coir_xchan_try_send(vm->bell, NULL);
}

bool coir_world_begin(struct coir_world *w)
{
    for (uint32_t i = 1; i < w->n; i++) {
        if (coir_spawn_on(i, coir_keeper_beside(w->vms[i])) < 0
            || coir_spawn_on(i, coir_new(bell, .vm = w->vms[i])) < 0)
            return false;
    }
    return w->n == 1 || coir_spawn_on(0, coir_new(bell, .vm = w->vms[0])) == 0;
}

void coir_world_stop(struct coir_vm *here, int signal)
{
    int none = 0;

    if (__atomic_compare_exchange_n(&here->world->signal, &none, signal, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        coir_world_ring(here->world->vms[0]);
}

/* ---- cells that come home ---- */

void coir_world_gone(struct coir_vm *here, struct coir_counted *c)
{
    struct coir_vm *const home = here->world->vms[c->aux];
    struct coir_counted *first = __atomic_load_n(&home->home, __ATOMIC_RELAXED);

    do
        c->next = first;
    while (!__atomic_compare_exchange_n(&home->home, &first, c, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    if (!first)
        coir_world_ring(home);
}

void coir_world_take_home(struct coir_vm *here)
{
    struct coir_counted *c, *next;

    if (!__atomic_load_n(&here->home, __ATOMIC_RELAXED))
        return;
    /* before they are taken: who sees that there are none sees also that this has happened */
    __atomic_store_n(&here->progress, here->progress + 1, __ATOMIC_RELEASE);
    for (c = __atomic_exchange_n(&here->home, NULL, __ATOMIC_SEQ_CST); c; c = next) {
        next = c->next;
        c->next = here->heap.dead;
        here->heap.dead = c;
    }
}

/* ---- visitors ---- */

void coir_visitor_comes(struct coir_vm *here, struct coir_visitor *v, struct coir_task *task)
{
    v->task = task;
    v->outer = false;
    coir_list_push_back(&here->visitors, &v->link);
}

void coir_visitor_goes(struct coir_visitor *v)
{
    coir_list_remove(&v->link);
}

/* ---- who is to be stopped ---- */

static struct coir_vm *newest_of(const struct coir_world *w)
{
    struct coir_vm *newest = NULL;
    uint64_t best = 0;

    for (uint32_t i = 0; i < w->n; i++) {
        const uint64_t top = __atomic_load_n(&w->vms[i]->seen.top, __ATOMIC_SEQ_CST);

        if (top && top >= best) {
            best = top;
            newest = w->vms[i];
        }
    }
    return newest;
}

struct coir_vm *coir_world_newest(struct coir_vm *here, uint64_t stamp)
{
    __atomic_store_n(&here->seen.top, stamp, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return newest_of(here->world);
}

void coir_world_stops(struct coir_vm *here, uint64_t stamp)
{
    __atomic_store_n(&here->seen.stops, stamp, __ATOMIC_SEQ_CST);
    __atomic_store_n(&here->seen.top, stamp, __ATOMIC_SEQ_CST);
}

/* The program is to stop, and the keeper whose turn it is has yet to see that. */
static bool is_to_stop_one(const struct coir_world *w)
{
    const struct coir_vm *next;

    if (!__atomic_load_n(&w->stopping, __ATOMIC_SEQ_CST))
        return false;
    next = newest_of(w);
    return next && __atomic_load_n(&next->seen.stops, __ATOMIC_SEQ_CST)
        != __atomic_load_n(&next->seen.top, __ATOMIC_SEQ_CST);
}

/* ---- resting ---- */

void coir_world_rests(struct coir_vm *here, uint64_t untold)
{
    struct coir_seen *const s = &here->seen;

    __atomic_store_n(&s->live, here->live, __ATOMIC_RELAXED);
    __atomic_store_n(&s->untold, untold, __ATOMIC_RELAXED);
    __atomic_store_n(&s->rests_at, here->progress + 1, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void coir_world_stirs(struct coir_vm *here)
{
    __atomic_store_n(&here->seen.rests_at, 0, __ATOMIC_SEQ_CST);
}

/* False: somebody does not rest, or a letter is under way. */
static bool all_rest(const struct coir_world *w, uint64_t progress[COIR_SHARDS_MOST], uint64_t *live)
{
    uint64_t under_way = 0;

    *live = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        struct coir_vm *const vm = w->vms[i];
        const struct coir_seen *const s = &vm->seen;

        progress[i] = __atomic_load_n(&vm->progress, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&s->rests_at, __ATOMIC_SEQ_CST) != progress[i] + 1
            || __atomic_load_n(&vm->home, __ATOMIC_SEQ_CST))
            return false;
        under_way += __atomic_load_n(&s->sent, __ATOMIC_RELAXED) - __atomic_load_n(&s->got, __ATOMIC_ACQUIRE);
        *live += __atomic_load_n(&s->live, __ATOMIC_RELAXED);
    }
    return under_way == 0;
}

enum coir_rest_of_all coir_world_look(const struct coir_world *w)
{
    uint64_t first[COIR_SHARDS_MOST], second[COIR_SHARDS_MOST], live;

    if (!all_rest(w, first, &live) || is_to_stop_one(w))
        return COIR_WORLD_STIRS;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!all_rest(w, second, &live) || memcmp(first, second, w->n * sizeof *first) != 0)
        return COIR_WORLD_STIRS;
    return live ? COIR_WORLD_STUCK : COIR_WORLD_EMPTY;
}

uint64_t coir_world_progress(const struct coir_world *w)
{
    uint64_t all = 0;

    for (uint32_t i = 0; i < w->n; i++)
        all += __atomic_load_n(&w->vms[i]->progress, __ATOMIC_ACQUIRE);
    return all;
}

struct coir_vm *coir_world_untold(const struct coir_world *w)
{
    struct coir_vm *newest = NULL;
    uint64_t best = 0;

    for (uint32_t i = 0; i < w->n; i++) {
        const uint64_t untold = __atomic_load_n(&w->vms[i]->seen.untold, __ATOMIC_RELAXED);

        if (untold && untold >= best) {
            best = untold;
            newest = w->vms[i];
        }
    }
    return newest;
}
