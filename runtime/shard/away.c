/* SPDX-License-Identifier: MIT */
/*
 * From shard to shard: beginning tasks elsewhere (coir_spawn_on), running a child elsewhere (coir_await_on),
 * blocking a foreign thread on a task (coir_sync).
 *
 * A child that goes away stays in its awaiter's frame. What travels is a struct away, made at home and freed
 * there; it holds the scope the child runs in over there, since scopes belong to shards. Cancelling sends it
 * a letter; the child's end comes home as one:
 *
 *      home                               there
 *      go ------------------------------> begins, in away.scope
 *      (aborted: cancel) ---------------> coir_scope_cancel(away.scope)
 *      awaiter goes on <----------------- ended
 *
 * The cancel letter may still be under way when the child ends: the end waits for it there, so that `away` is
 * never freed under it.
 */
#include <pthread.h>
#include <stdlib.h>

#include "runtime/shard/run.h"

/* ---- coir_spawn_on ---- */

/* Lies in the birth of the frame: group, prev and next are free until it is adopted. */
struct arrival {
    struct coir_letter letter;
};
_Static_assert(sizeof(struct arrival) <= offsetof(struct coir_birth, site), "an arrival lies in the links of a birth");

static void arrive(struct coir_shard *s, struct coir_letter *letter)
{
    struct coir_birth *b = (struct coir_birth *)(void *)letter;

    s->arrived++;
    coir_group_adopt(&s->root, coir_born(b));
}

static struct coir_shard *shard_of(struct coir_runtime *run, unsigned id)
{
    return run && id < run->n ? run->shard[id] : NULL;
}

int coir_spawn_on(unsigned shard, struct coir_task *t)
{
    struct coir_shard *here = coir_shard_here(), *s;
    struct coir_runtime *run;
    int err = -EINVAL;

    if (!t)
        return -ENOMEM;
    run = here ? here->run : coir_run_enter();
    s = shard_of(run, shard);
    if (s) {
        struct coir_letter *letter = (struct coir_letter *)(void *)coir_birth_of(t);
        coir_frame_begins(t);
        letter->deliver = arrive;
        __atomic_add_fetch(&run->busy, 1, __ATOMIC_SEQ_CST);
        coir_post(s, letter);
        err = 0;
    }
    if (run && !here)
        coir_run_leave();
    if (err)
        coir_discard(t);
    return err;
}

/* ---- coir_await_on ---- */

struct away {
    struct coir_letter letter;               /* there, then home */
    struct coir_letter cancel;               /* there; home too when it came too late */
    struct coir_scope scope;                 /* on `there` */
    struct coir_guest guest;                 /* there's: the child, for whoever looks */
    /* home's: what the awaiter awaits, since the child is another shard's now */
    struct coir_task proxy;
    struct coir_shard *home, *there;
    bool doomed;                             /* home's: it was cancelled before it went */
    bool cancelling;                         /* home's: `cancel` has been posted */
    bool cancelled, ended;                   /* there's: what has happened to the child, in any order */
};

static struct away *away_of(const struct coir_task *child)
{
    return coir_container_of(child->scope, struct away, scope);
}

static void free_away(struct coir_shard *s, struct coir_letter *letter)
{
    struct away *a = coir_container_of(letter, struct away, cancel);

    s->arrived++;
    coir_pool_free(&s->pool, a, sizeof *a);
}

/* In its awaiter's coir_finally it is cancelled only when the ten seconds of that are over. */
static void cancel_guest(struct away *a)
{
    if (a->guest.task->flags & COIR_TASK_SHIELD_)
        coir_scope_give_up(&a->scope);
    else
        coir_scope_cancel(&a->scope);
}

/* There: the child, if it still runs. If not, only `cancel` kept `a` alive, and goes home to say so. */
static void cancel_there(struct coir_shard *s, struct coir_letter *letter)
{
    struct away *a = coir_container_of(letter, struct away, cancel);

    if (a->ended) {
        a->cancel.deliver = free_away;
        coir_post(a->home, &a->cancel);
        return;
    }
    s->arrived++;
    a->cancelled = true;
    cancel_guest(a);
}

static void away_abort(struct coir_task *proxy)
{
    struct away *a = proxy->waits_for;

    if (a->cancelling)
        return;
    a->cancelling = true;
    a->cancel.deliver = cancel_there;
    __atomic_add_fetch(&a->home->run->busy, 1, __ATOMIC_SEQ_CST);
    coir_post(a->there, &a->cancel);
}

static void come_home(struct coir_shard *s, struct coir_letter *letter)
{
    struct away *a = coir_container_of(letter, struct away, letter);
    struct coir_task *awaiter = a->proxy.awaiter;

    awaiter->awaiting = NULL;                /* a cancel may walk past before the awaiter runs */
    if (!a->cancelling || a->cancelled)
        coir_pool_free(&s->pool, a, sizeof *a);
    coir_ready(awaiter);
}

void coir_away_ended(struct coir_task *child)
{
    struct away *a = away_of(child);

    coir_scope_end(&a->scope);
    *a->guest.link = a->guest.next;
    if (a->guest.next)
        a->guest.next->link = a->guest.link;
    a->ended = true;
    a->letter.deliver = come_home;
    coir_post(a->home, &a->letter);
}

static void begin_there(struct coir_shard *s, struct coir_letter *letter)
{
    struct away *a = coir_container_of(letter, struct away, letter);

    a->guest.next = s->guests;
    a->guest.link = &s->guests;
    if (s->guests)
        s->guests->link = &a->guest.next;
    s->guests = &a->guest;
    if (a->doomed)
        cancel_guest(a);
    coir_ready_on(s, a->guest.task);
}

bool coir_is_away(const struct coir_task *t)
{
    return t->abort == away_abort;
}

bool coir_dump_away(FILE *to, const struct coir_task *t)
{
    if (!coir_is_away(t))
        return false;
    fprintf(to, "waits for shard %u", ((const struct away *)t->waits_for)->there->id);
    return true;
}

static struct coir_task *fail(struct coir_task *child, int err)
{
    child->status = err;
    child->state = COIR_LEFT_;
    return NULL;
}

static void make_proxy(struct away *a, struct coir_task *child)
{
    a->proxy = *child;
    a->proxy.abort = away_abort;
    a->proxy.waits_for = a;
    a->proxy.state = 1;
}

struct coir_task *coir_send_away_(struct coir_task *child, unsigned shard)
{
    struct coir_shard *s = coir_shard_here(), *there = shard_of(s->run, shard);
    struct away *a;

    if (coir_arguments_live(child, NULL, "coir_await_on"))
        return fail(child, -EFAULT);
    if (!there)
        return fail(child, -EINVAL);
    if (there == s)
        return coir_start_(child, child->body).parked ? child : NULL;
    a = coir_pool_alloc(&s->pool, sizeof *a);
    if (!a)
        return fail(child, -ENOMEM);
    make_proxy(a, child);
    coir_scope_begin(&a->scope, NULL, COIR_SCOPE_AWAIT_);
    a->scope.owner = child;
    a->scope.context = child->scope ? child->scope->context : NULL;
    a->doomed = coir_is_refused(child);
    a->guest.task = child;
    a->guest.home = s->id;
    a->home = s;
    a->there = there;
    a->cancelling = a->cancelled = a->ended = false;
    a->letter.deliver = begin_there;
    child->flags |= COIR_TASK_AWAY_;
    child->awaiter = NULL;
    child->scope = &a->scope;
    coir_post(there, &a->letter);
    return &a->proxy;
}

/* ---- coir_sync ---- */

struct sync {
    struct coir_reaper reaper;
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool ended;
    int status;
};

static void sync_ended(struct coir_reaper *r, const struct coir_task *t)
{
    struct sync *y = coir_container_of(r, struct sync, reaper);

    pthread_mutex_lock(&y->lock);
    y->status = t->status;
    y->ended = true;
    pthread_cond_signal(&y->done);
    pthread_mutex_unlock(&y->lock);
}

int coir_sync(unsigned shard, struct coir_task *t)
{
    struct sync y = { { sync_ended }, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0 };
    int err;

    if (t)
        coir_must_be_new(t);
    if (t && coir_shard_here()) {
        const struct coir_site *at = coir_birth_of(t)->site;
        fprintf(stderr, "coir: coir_sync on shard %u would wait for itself (task %s made at %s:%u); await it, or use "
                "coir_await_on\n", coir_shard_here()->id, at->task, at->file, at->line);
        coir_discard(t);
        return -EDEADLK;
    }
    if (t)
        coir_birth_of(t)->reaper = &y.reaper;
    err = coir_spawn_on(shard, t);
    if (err)
        return err;
    pthread_mutex_lock(&y.lock);
    while (!y.ended)
        pthread_cond_wait(&y.done, &y.lock);
    pthread_mutex_unlock(&y.lock);
    return y.status;
}
