/* SPDX-License-Identifier: MIT */
/*
 * Groups, withins and shields: opened, failed, waited for, left. See region.h.
 *
 * Invariants: 1. f->regions are the open ones, innermost first; of those that have a scope each lies in the next one's,
 * the last in the fiber's own, and the task stands in the first's. 2. The task has libcoir's mark of a shield exactly
 * while the innermost region is a shield: a scope that is opened there takes the mark over, until it is left. 3. A
 * group's members are linked in it, and it stays until the last has ended; only its own fiber waits for it.
 */
#include "vm/region.h"

#include <coir/shard.h>

#include "runtime/base/queue.h"
#include "vm/raise.h"
#include "vm/shared.h"

static struct coir_fiber *member_of(struct coir_link *link)
{
    return coir_container_of(link, struct coir_fiber, member);
}

/* The task stands where its regions say. */
static void stand(struct coir_fiber *f)
{
    const struct coir_region *g = f->regions;

    f->task.flags &= (uint8_t)~COIR_TASK_SHIELD_;
    if (g && g->kind == COIR_REGION_SHIELD)
        f->task.flags |= COIR_TASK_SHIELD_;
    while (g && g->kind == COIR_REGION_SHIELD)
        g = g->outer;
    f->task.scope = g ? (struct coir_scope *)(uintptr_t)&g->scope : &f->scope;
}

static struct coir_region *region_new(struct coir_fiber *f, enum coir_region_kind kind, int64_t deadline)
{
    struct coir_region *g = coir_heap_alloc(f->heap, sizeof *g);

    if (!g)
        return NULL;
    memset(g, 0, sizeof *g);
    g->head.count = 1;
    g->head.type = COIR_CELL_REGION;
    g->kind = (uint8_t)kind;
    g->open = true;
    g->fiber = f;
    coir_list_init(&g->members);
    coir_list_init(&g->waiters);
    if (kind != COIR_REGION_SHIELD)
        coir_scope_open_(&g->scope, &f->task, deadline, false);
    g->outer = f->regions;
    f->regions = g;
    stand(f);
    return g;
}

static void note_failure(struct coir_region *g, uint64_t trap)
{
    if (g->failure)
        return;
    g->failure = trap;
    coir_hold(coir_ref(trap));
}

static void fail(struct coir_region *g, uint64_t trap)
{
    note_failure(g, trap);
    if (g->open)
        coir_scope_cancel(&g->scope);
    for (struct coir_link *at = g->members.next; at != &g->members; at = at->next)
        coir_fiber_cancel(member_of(at));
}

/* The scope that lies directly in this one's, of the same fiber, is told of the next. */
static void unlink_region(struct coir_region *g)
{
    struct coir_fiber *f = g->fiber;
    struct coir_region **at = &f->regions, *within = NULL;

    for (; *at != g; at = &(*at)->outer) {
        if ((*at)->kind != COIR_REGION_SHIELD)
            within = *at;
    }
    *at = g->outer;
    if (g->kind == COIR_REGION_SHIELD)
        return;
    if (within)
        within->scope.outer = g->scope.outer;
    coir_scope_shut_(&g->scope, &f->task);
}

static void free_region(struct coir_heap *h, struct coir_region *g)
{
    const uint64_t failure = g->failure;

    coir_heap_free(h, g, sizeof *g);
    if (failure)
        coir_drop(h, coir_ref(failure));
}

void coir_region_close(struct coir_heap *h, struct coir_counted *c)
{
    struct coir_region *g = (struct coir_region *)c;
    struct coir_fiber *f = g->fiber;

    g->open = false;
    for (struct coir_link *at = g->members.next; at != &g->members; at = at->next)
        coir_fiber_cancel(member_of(at));
    unlink_region(g);
    stand(f);
    if (g->scope.cancelled)
        f->task.refused = 0;            /* what that cancelled ends with it: the next one is another (refuse.c) */
    g->fiber = NULL;
    if (!g->live)
        free_region(h, g);
}

/* ---- what cancels ---- */

/* Whoever is stopped with the program is cancelled, though a time of its own may be over too: but in its defers, whose
 * catch arms run. */
static bool is_stopped(const struct coir_fiber *f, const struct coir_region *g)
{
    while (g && g->kind != COIR_REGION_SHIELD)
        g = g->outer;
    return f->stopping && !g;
}

bool coir_region_expired(const struct coir_fiber *f)
{
    for (const struct coir_region *g = f->regions; g && g->kind != COIR_REGION_SHIELD; g = g->outer) {
        if (g->scope.cancelled)
            return g->kind == COIR_REGION_WITHIN && g->scope.expired && !is_stopped(f, g);
    }
    return false;
}

bool coir_region_timed(const struct coir_fiber *f)
{
    for (const struct coir_region *g = f->regions; g; g = g->outer) {
        if (g->kind == COIR_REGION_WITHIN && !g->scope.cancelled)
            return true;
    }
    return false;
}

/* ---- members ---- */

bool coir_group_is_shielded(const struct coir_region *g)
{
    for (; g && g->open; g = g->fiber->member_of)
        for (const struct coir_region *around = g->outer; around; around = around->outer)
            if (around->kind == COIR_REGION_SHIELD)
                return true;
    return false;
}

void coir_group_joined(struct coir_region *g, struct coir_fiber *member)
{
    member->member_of = g;
    coir_list_push_back(&g->members, &member->member);
    g->live++;
    if (g->failure)
        coir_fiber_cancel(member);
}

void coir_group_member_ended(struct coir_region *g, struct coir_fiber *member, uint64_t trap)
{
    const bool cancelled = trap && coir_trap_is(trap, COIR_TRAP_CANCELLED);

    coir_list_remove(&member->member);
    g->live--;
    if (cancelled && member->stopping)
        note_failure(g, trap);          /* who was stopped with the program takes nobody along: each has its turn */
    else if (trap && !(cancelled && (g->failure || member->excused)))
        fail(g, trap);
    if (!coir_list_empty(&g->waiters))
        coir_fiber_wake(coir_container_of(g->waiters.next, struct coir_fiber, op.waiter.link));
    if (!g->open && !g->live)
        free_region(member->heap, g);
}

/* ---- instructions ---- */

static enum coir_native_result opened(struct coir_fiber *f, uint64_t *r, struct coir_region *g)
{
    if (!g)
        return coir_trap_memory(f);
    r[COIR_I_A(*f->pc)] = coir_slot_of(g);
    return COIR_NATIVE_DONE;
}

enum coir_native_result coir_op_group(struct coir_fiber *f, uint64_t *r)
{
    const int64_t limit = (int64_t)r[COIR_I_B(*f->pc)];
    struct coir_region *g = region_new(f, COIR_REGION_GROUP, COIR_NEVER);

    if (g)
        g->limit = limit > 0 && limit < UINT32_MAX ? (uint32_t)limit : UINT32_MAX;
    return opened(f, r, g);
}

enum coir_native_result coir_op_within(struct coir_fiber *f, uint64_t *r)
{
    const int64_t now = coir_now();
    int64_t at;

    if (__builtin_add_overflow(now, (int64_t)r[COIR_I_B(*f->pc)], &at))
        at = (int64_t)r[COIR_I_B(*f->pc)] > 0 ? COIR_NEVER : 0;
    return opened(f, r, region_new(f, COIR_REGION_WITHIN, at));
}

enum coir_native_result coir_op_shield(struct coir_fiber *f, uint64_t *r)
{
    return opened(f, r, region_new(f, COIR_REGION_SHIELD, COIR_NEVER));
}

enum coir_native_result coir_op_gfail(struct coir_fiber *f, uint64_t *r)
{
    struct coir_region *g = coir_region_at(r[COIR_I_A(*f->pc)]);

    if (!g->failure)
        fail(g, r[COIR_I_B(*f->pc)]);
    return COIR_NATIVE_DONE;
}

enum coir_native_result coir_op_groom(struct coir_fiber *f, uint64_t *r)
{
    struct coir_region *g = coir_region_at(r[COIR_I_A(*f->pc)]);

    if (g->live < g->limit)
        return COIR_NATIVE_DONE;
    if (coir_fiber_cancelled(f) || f->deadlocked)
        return coir_trap_cancelled(f);
    f->inner = true;
    return coir_park(f, &g->waiters);
}

/* Who is cancelled while it waits fails the group, and goes on waiting, since members end by themselves. */
enum coir_native_result coir_op_gwait(struct coir_fiber *f, uint64_t *r)
{
    struct coir_region *g = coir_region_at(r[COIR_I_A(*f->pc)]);

    if (!g->live)
        return g->failure ? coir_trap_again(f, g->failure) : COIR_NATIVE_DONE;
    if (!g->failure && (coir_fiber_cancelled(f) || f->deadlocked)) {
        coir_trap_cancelled(f);
        fail(g, f->trap);
        coir_drop(f->heap, coir_ref(f->trap));
        f->trap = 0;
    }
    f->inner = true;
    return coir_park(f, &g->waiters);
}
