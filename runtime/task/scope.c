/* SPDX-License-Identifier: MIT */
/*
 * Scopes: what is cancelled, and how whatever is parked under a scope learns of it.
 *
 * That a scope is cancelled is a state: who is about to suspend looks outwards through its scopes
 * (coir_cancelled_). Who is parked already has to be woken, by a walk downwards: from the scope to the chains
 * of awaits that run in it, down each to its leaf, whose `abort` asks it to stop; and into every group that
 * was opened on the way.
 *
 * The walk keeps its work in a list, not on the C stack, since groups and combinators nest as deep as a
 * program likes. No body runs inside it: an abort only queues its leaf or tells the plane. It stops at
 * shields, and at running tasks, whose `awaiting` is NULL and who look for themselves.
 */
#include "runtime/task/home.h"

static bool passes(const struct coir_scope *s, bool final, bool *cancelled)
{
    *cancelled = final ? s->overdue : s->cancelled;
    return s->shield != COIR_SHIELDED_BY_CALL_;
}

static const struct coir_scope *cancelled_in(const struct coir_scope *s, bool final)
{
    bool cancelled;

    for (; s; s = s->outer) {
        const bool outwards = passes(s, final, &cancelled);

        if (cancelled)
            return s;
        if (!outwards)
            return NULL;
        final |= s->shield == COIR_SHIELDED_BY_FINALLY_;
    }
    return NULL;
}

static bool scope_is_cancelled(const struct coir_scope *s, bool final)
{
    return cancelled_in(s, final) != NULL;
}

const struct coir_scope *coir_cancelled_by(const struct coir_task *t)
{
    return cancelled_in(t->scope, t->flags & COIR_TASK_SHIELD_);
}

bool coir_cancelled_(const struct coir_task *t)
{
    return coir_cancelled_by(t) != NULL;
}

bool coir_group_is_cancelled(const struct coir_group *g)
{
    return scope_is_cancelled(&g->scope, false);
}

/* ---- the walk ---- */

/* Of a scope's `visiting`. SAID: somebody else has said that its time is over, if it is. */
enum { LISTED = 1, FINAL = 2, SAID = 4 };

static void visit_later(struct coir_shard *h, struct coir_scope *s, bool final)
{
    if (final)
        s->visiting |= FINAL;
    if (s->visiting & LISTED)
        return;
    s->visiting |= LISTED;
    s->visit = NULL;
    *h->visits_end = s;
    h->visits_end = &s->visit;
}

static void visit_groups(struct coir_shard *h, struct coir_scope *s, bool final)
{
    for (struct coir_group *g = s->groups; g; g = g->next) {
        /* One that was opened in coir_finally is as shielded, and a server's connections always are. */
        if (!g->scope.shield || (final && g->scope.shield != COIR_SHIELDED_BY_CALL_))
            visit_later(h, &g->scope, final);
    }
}

static void report_overdue(const struct coir_task *t)
{
    fprintf(stderr, "coir: a task in coir_finally did not end within 10 s of its cancellation, and is cancelled "
            "there too; it stands at %s:%u (task %s)\n", t->site ? t->site->file : "?", t->site ? t->site->line : 0,
            t->site ? t->site->task : "?");
}

/* Whether a shield lies between a task's scope and one around it. There may be several scopes in between where a task
 * opens one in another before it awaits. */
static bool is_shielded(const struct coir_scope *s, const struct coir_scope *outer, bool final)
{
    for (; s && s != outer; s = s->outer) {
        if (s->shield == COIR_SHIELDED_BY_CALL_ || (s->shield == COIR_SHIELDED_BY_FINALLY_ && !final))
            return true;
    }
    return false;
}

/* Walks from `t`, which runs in `s`, to the leaf of its chain. `final`: through coir_finally too, which is reported if
 * it was not. */
static void stop_chain(struct coir_shard *h, struct coir_task *t, struct coir_scope *s, bool final, bool reported)
{
    for (;; t = t->awaiting) {
        if (t->flags & COIR_TASK_SHIELD_) {
            if (!final)
                return;
            if (!reported)
                report_overdue(t);
            reported = true;
        }
        if (t->scope != s && t->scope) {
            if (is_shielded(t->scope, s, final))
                return;
            s = t->scope;
            visit_groups(h, s, final);
        }
        if (!t->awaiting)
            break;
    }
    if (t->abort)
        t->abort(t);
}

static void visit(struct coir_shard *h, struct coir_scope *s, bool final, bool said)
{
    visit_groups(h, s, final);
    if (s->kind == COIR_SCOPE_GROUP_) {
        struct coir_group *g = coir_container_of(s, struct coir_group, scope);
        for (struct coir_birth *b = g->first; b; b = b->next)
            stop_chain(h, coir_born(b), s, final, said);
    } else if (s->kind == COIR_SCOPE_COMBINE_) {
        coir_combine_each(s, h, final);
    } else {
        stop_chain(h, s->owner, s, final, said);
    }
}

void coir_stop_kid(struct coir_shard *h, struct coir_task *kid, struct coir_scope *s, bool final)
{
    stop_chain(h, kid, s, final, false);
}

static void walk(struct coir_scope *s, bool final)
{
    struct coir_shard *h = coir_shard_here();

    visit_later(h, s, final);
    if (h->visiting)
        return;
    h->visiting = true;
    while ((s = h->visits)) {
        const uint8_t how = s->visiting;
        h->visits = s->visit;
        if (!h->visits)
            h->visits_end = &h->visits;
        s->visiting = 0;
        visit(h, s, how & FINAL, how & SAID);
    }
    h->visiting = false;
    if (COIR_UNLIKELY(h->outside))           /* cancels may wait for the kernel, with nobody ready */
        coir_due_at_once(h);
}

/* ---- cancelling ---- */

static void patience_ends(struct coir_alarm *a)
{
    struct coir_scope *s = coir_container_of(a, struct coir_scope, alarm);

    s->overdue = 1;
    walk(s, true);
}

static void cancel(struct coir_scope *s)
{
    struct coir_shard *h = coir_shard_here();

    s->cancelled = 1;
    coir_here.cancelled++;
    COIR_NOTE(h, coir_noted_cancel(h, s));
    if (coir_timer_armed(&s->alarm.timer))
        coir_wheel_remove(&h->wheel, &s->alarm.timer);
    s->alarm.fire = patience_ends;
    coir_wheel_add(&h->wheel, &s->alarm.timer, coir_now() + COIR_PATIENCE);
    walk(s, false);
}

void coir_scope_cancel(struct coir_scope *s)
{
    if (!s->cancelled)
        cancel(s);
}

/* Cancelled from outside already: then its own deadline ends nothing. */
static bool outside_is_cancelled(const struct coir_scope *s)
{
    return s->shield != COIR_SHIELDED_BY_CALL_ && scope_is_cancelled(s->outer, s->shield == COIR_SHIELDED_BY_FINALLY_);
}

void coir_scope_give_up(struct coir_scope *s)
{
    if (!s->cancelled)
        cancel(s);
    if (coir_timer_armed(&s->alarm.timer))
        coir_wheel_remove(&coir_shard_here()->wheel, &s->alarm.timer);      /* its patience is over, too */
    s->overdue = 1;
    s->visiting |= SAID;
    walk(s, true);
}

static void deadline_passes(struct coir_alarm *a)
{
    struct coir_scope *s = coir_container_of(a, struct coir_scope, alarm);

    if (s->cancelled)
        return;
    s->expired = !outside_is_cancelled(s);
    cancel(s);
}

/* ---- a scope's life ---- */

void coir_scope_begin(struct coir_scope *s, struct coir_scope *outer, int kind)
{
    s->outer = outer;
    s->owner = NULL;
    s->groups = NULL;
    s->visit = NULL;
    s->context = outer ? outer->context : NULL;
    s->alarm.timer.next = NULL;
    s->kind = (uint8_t)kind;
    s->cancelled = s->expired = s->shield = s->overdue = s->visiting = s->holds = 0;
}

void coir_scope_end(struct coir_scope *s)
{
    if (coir_timer_armed(&s->alarm.timer))
        coir_wheel_remove(&coir_shard_here()->wheel, &s->alarm.timer);
    if (s->cancelled)
        coir_here.cancelled--;
    s->cancelled = 1;                        /* not counted: who cancels it from now on does nothing */
}

void coir_scope_open_(struct coir_scope *s, struct coir_task *child, int64_t deadline, bool shielded)
{
    struct coir_shard *h = coir_shard_here();

    coir_must_live(child->awaiter, s, "coir_within or coir_shield");
    coir_scope_begin(s, child->scope, COIR_SCOPE_AWAIT_);
    s->owner = child;
    if (shielded) {
        s->shield = COIR_SHIELDED_BY_CALL_;
        s->holds = !h->stopping;
        if (s->holds)
            __atomic_add_fetch(h->shields, 1, __ATOMIC_SEQ_CST);
    } else if (child->flags & COIR_TASK_SHIELD_) {
        s->shield = COIR_SHIELDED_BY_FINALLY_;
    }
    child->flags &= (uint8_t)~COIR_TASK_SHIELD_;
    child->scope = s;
    if (deadline == COIR_NEVER)
        return;
    if (deadline <= coir_now()) {
        s->expired = !outside_is_cancelled(s);
        cancel(s);
        return;
    }
    s->alarm.fire = deadline_passes;
    coir_wheel_add(&h->wheel, &s->alarm.timer, deadline);
}

void coir_scope_shut_(struct coir_scope *s, struct coir_task *child)
{
    coir_scope_end(s);
    if (s->holds && __atomic_sub_fetch(coir_shard_here()->shields, 1, __ATOMIC_SEQ_CST) == 0)
        coir_shard_here()->shields_ended = true;
    if (s->expired && child->status == -ECANCELED)
        child->status = -ETIMEDOUT;
}
