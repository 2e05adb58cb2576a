/* SPDX-License-Identifier: MIT */
/*
 * Groups: who owns what is spawned.
 *
 * Members are heap frames, linked through their struct coir_birth, and have no awaiter: their end comes to
 * coir_member_ended. A group hangs in the list of the scope it was opened in, so that cancelling that scope
 * finds it.
 *
 * Invariants: 1. live is the number of links in first..last. 2. spawners wait only while live == limit; a
 * place that becomes free goes to the oldest at once, by spawning its task then and there, so nobody barges.
 * 3. waiter is set only while live > 0.
 */
#include <stdlib.h>

#include "runtime/base/queue.h"
#include "runtime/task/home.h"
#include "runtime/task/owed.h"

/* `t` stands where it is misused. Nothing of the group is looked at that may be rubbish. */
static void group_misused(const struct coir_task *t, const char *what)
{
    const struct coir_task *up = t->awaiter ? t->awaiter : t;
    const struct coir_site *at = up->site;

    fprintf(stderr, "coir: %s (at %s:%u, task %s)\n", what, at ? at->file : "?", at ? at->line : 0,
            at ? at->task : "?");
    abort();
}

void coir_group_begin(struct coir_group *g, struct coir_task *opener, struct coir_scope *outer, uint32_t limit)
{
    coir_scope_begin(&g->scope, outer, COIR_SCOPE_GROUP_);
    g->opener = opener;
    g->first = g->last = NULL;
    g->waiter = NULL;
    coir_list_init(&g->spawners);
    g->site = NULL;
    g->live = 0;
    g->limit = limit ? limit : UINT32_MAX;
    g->status = 0;
    g->home = coir_shard_here();
    g->closing = 0;
    g->keep_going = 0;
    g->late = opener && (opener->flags & COIR_TASK_FINALLY_);
    if (opener && (opener->flags & COIR_TASK_SHIELD_))
        g->scope.shield = COIR_SHIELDED_BY_FINALLY_;
    coir_list_push_front(&g->home->groups, &g->all);
    g->next = NULL;
    g->link = NULL;
    if (!outer)
        return;
    g->link = &outer->groups;
    g->next = outer->groups;
    if (g->next)
        g->next->link = &g->next;
    outer->groups = g;
}

void coir_group_open_(struct coir_task *opener, struct coir_group *g, struct coir_group_options o,
                      const struct coir_site *site)
{
    coir_must_live(opener, g, "coir_group_open");
    opener->flags |= COIR_TASK_GROUPS_;
    coir_group_begin(g, opener, opener->scope, o.limit);
    g->keep_going = o.keep_going;
    g->site = site;
}

static void group_end(struct coir_group *g)
{
    coir_scope_end(&g->scope);
    coir_list_remove(&g->all);
    g->home = NULL;
    if (!g->link)
        return;
    *g->link = g->next;
    if (g->next)
        g->next->link = g->link;
}

/* ---- members ---- */

void coir_group_abandon(struct coir_group *g)
{
    coir_shard_here()->stats.ended += g->live;
    for (struct coir_birth *b = g->first; b; b = b->next) {
        coir_born(b)->status = -EDEADLK;
        COIR_NOTE(coir_shard_here(), coir_noted_end(coir_shard_here(), b));
        if (b->reaper)
            b->reaper->ended(b->reaper, coir_born(b));
    }
    g->first = g->last = NULL;
    g->live = 0;
    coir_owes_nothing();
}

static bool group_is_full(const struct coir_group *g)
{
    return g->live >= g->limit;
}

/* Nothing of the group is looked at: it may be rubbish, or another shard's. */
static void check_open(const struct coir_group *g, const struct coir_task *t)
{
    const struct coir_site *at;

    if (COIR_LIKELY(g->home == coir_shard_here() && g->home))
        return;
    coir_must_be_new(t);
    at = t->site;
    fprintf(stderr, "coir: task %s made at %s:%u is spawned into a group that is not open here: it was not opened, "
            "has been left, or is another shard's\n", at->task, at->file, at->line);
    abort();
}

int coir_spawn(struct coir_group *g, struct coir_task *t)
{
    if (!t)
        return -ENOMEM;
    check_open(g, t);
    if (group_is_full(g)) {
        coir_discard(t);
        return -EAGAIN;
    }
    coir_frame_begins(t);
    coir_group_adopt(g, t);
    return 0;
}

int coir_detach(struct coir_task *t)
{
    struct coir_shard *s = coir_shard_here();

    if (s)
        return coir_spawn(&s->root, t);
    coir_discard(t);
    return t ? -EINVAL : -ENOMEM;
}

void coir_group_cancel(struct coir_group *g)
{
    coir_scope_cancel(&g->scope);
}

static struct coir_group_spawn *spawner_of(struct coir_link *link)
{
    return coir_container_of(link, struct coir_group_spawn, link);
}

static void place_is_free(struct coir_group *g)
{
    struct coir_group_spawn *op = spawner_of(coir_list_pop_front(&g->spawners));

    coir_frame_begins(op->spawn);
    coir_group_adopt(g, op->spawn);
    coir_wake(&op->task);
}

/* A cancelled member of a cancelled group has done as it was told; nobody waits for the root group's. */
static void member_failed(struct coir_group *g, int status)
{
    if (g->status || g->keep_going || g == &coir_shard_here()->root
        || (status == -ECANCELED && coir_group_is_cancelled(g)))
        return;
    g->status = status;
    coir_scope_cancel(&g->scope);
}

/* What it ends with is decided: a cancellation that comes later changes nothing, and the group is not looked at
 * again. */
static void wait_ends(struct coir_group_wait *op)
{
    struct coir_group *g = op->group;

    group_end(g);
    if (g->status)
        op->task.status = g->status;
    g->status = op->task.status;             /* for who waits again */
}

/* The last member has ended. */
static void left(struct coir_group *g)
{
    struct coir_task *waiter = g->waiter;

    g->waiter = NULL;
    wait_ends((struct coir_group_wait *)waiter);
    coir_wake(waiter);
}

void coir_member_ended(struct coir_task *t)
{
    struct coir_shard *s = coir_shard_here();
    struct coir_birth *b = coir_birth_of(t);
    struct coir_group *g = b->group;
    const int status = t->status;

    *(b->prev ? &b->prev->next : &g->first) = b->next;
    *(b->next ? &b->next->prev : &g->last) = b->prev;
    g->live--;
    s->stats.ended++;
    COIR_NOTE(s, coir_noted_end(s, b));
    if (b->reaper)
        b->reaper->ended(b->reaper, t);
    coir_frame_free(t);
    if (COIR_UNLIKELY(status < 0))
        member_failed(g, status);
    while (!coir_list_empty(&g->spawners) && !group_is_full(g))
        place_is_free(g);
    if (g->live == 0 && g->waiter)
        left(g);
}

/* ---- the two operations ---- */

static void spawn_abort(struct coir_task *t)
{
    struct coir_group_spawn *op = (struct coir_group_spawn *)t;

    coir_list_remove(&op->link);
    coir_discard(op->spawn);
    t->status = -ECANCELED;
    coir_wake(t);
}

coir_step coir_group_spawn_resume(struct coir_task *t)
{
    struct coir_group_spawn *op = (struct coir_group_spawn *)t;
    struct coir_group *g = op->group;

    if (t->state == 1) {
        t->state = COIR_LEFT_;
        return COIR_DONE_;
    }
    if (op->spawn)
        check_open(g, op->spawn);
    if (op->spawn && (group_is_full(g) || !coir_list_empty(&g->spawners))) {
        if (!coir_is_refused(t)) {
            t->state = 1;
            coir_list_push_back(&g->spawners, &op->link);
            t->abort = spawn_abort;
            return COIR_PARK_;
        }
        coir_discard(op->spawn);
        t->status = -ECANCELED;
    } else {
        t->status = coir_spawn(g, op->spawn);
    }
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

/* Cancelling the wait cancels the members, and goes on waiting. */
static void wait_abort(struct coir_task *t)
{
    struct coir_group_wait *op = (struct coir_group_wait *)t;

    t->status = -ECANCELED;
    coir_scope_cancel(&op->group->scope);
}

coir_step coir_group_wait_resume(struct coir_task *t)
{
    struct coir_group_wait *op = (struct coir_group_wait *)t;
    struct coir_group *g = op->group;

    if (t->state == 1) {
        t->state = COIR_LEFT_;
        return COIR_DONE_;
    }
    if (!g->home && g->closing && !g->waiter) {      /* left already: what it said then */
        t->status = g->status;
        t->state = COIR_LEFT_;
        return COIR_DONE_;
    }
    if (g->home != coir_shard_here() || g->waiter)
        group_misused(t, "a group is waited for that is not open, or by two tasks");
    g->closing = 1;
    /* Left by failure: nobody will use what the members still do. */
    if (g->opener && g->opener->status < 0 && !g->late)
        coir_scope_cancel(&g->scope);
    if (g->live == 0) {
        wait_ends(op);
        t->state = COIR_LEFT_;
        return COIR_DONE_;
    }
    t->state = 1;
    g->waiter = t;
    t->abort = wait_abort;
    if (coir_is_refused(t))
        wait_abort(t);
    return COIR_PARK_;
}
