/* SPDX-License-Identifier: MIT */
/*
 * The loop of a shard. One turn: letters are delivered, ready tasks run, the kernel is asked, timers fire.
 * Whatever happens in the last two only queues tasks; bodies run in one place, step().
 *
 * Scheduling is a function of the inputs: FIFO, a fixed number of steps a turn, timers in order of deadline.
 * No clock decides who runs next.
 */
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/shard/run.h"

enum { SCRIBBLE = 8192, FEW = 8 };

int64_t coir_now(void)
{
    const struct coir_shard *s = coir_shard_here();

    return s && s->virtual_now >= 0 ? s->virtual_now : coir_clock_monotonic();
}

bool coir_time_is_virtual(void)
{
    return coir_shard_here() && coir_shard_here()->virtual_now >= 0;
}

/* ---- running tasks ---- */

/* Torture: nothing that a body left on the C stack survives. */
static __attribute__((noinline)) void scribble(void)
{
    unsigned char dead[SCRIBBLE];

    memset(dead, 0xA5, sizeof dead);
    __asm__ volatile("" : : "r"(dead) : "memory");     /* somebody reads it, for all the compiler knows */
}

static void task_ended(struct coir_task *t)
{
    if (COIR_UNLIKELY(t->flags & COIR_TASK_AWAY_))
        coir_away_ended(t);
    else
        coir_member_ended(t);
}

static void step_begins(struct coir_shard *s, const struct coir_task *t)
{
    if (s->watch.on)
        coir_watch_step(&s->watch);
    COIR_NOTE(s, coir_noted_step(s, t));
}

static void step_ends(struct coir_shard *s, const struct coir_task *t)
{
    COIR_NOTE(s, coir_noted_step_end(s, t));
    if (s->watch.on)
        coir_watch_step_end(&s->watch);
}

/* Resumes `t`, and while somebody ends whoever awaits them. What `stepping` points at is there for as long. */
static inline __attribute__((always_inline)) void step(struct coir_shard *s, struct coir_task *t, const bool noted)
{
    coir_here.budget = COIR_STEP_AWAITS;
    s->stats.steps++;
    if (noted)
        step_begins(s, t);
    for (;;) {
        __atomic_store_n(&s->stepping, t, __ATOMIC_RELAXED);
        if (COIR_UNLIKELY(s->torture))
            scribble();
        if (t->body(t).parked) {
            if (noted)
                step_ends(s, t);
            return;
        }
        struct coir_task *up = t->awaiter;
        if (!up)
            break;
        s->ended = t;
        t = up;
    }
    __atomic_store_n(&s->stepping, &s->root_task, __ATOMIC_RELAXED);
    task_ended(t);
    if (noted)
        step_ends(s, NULL);
}

/* Torture: any of the first few may be next, also of those that have just become ready. */
static struct coir_task *shuffled(struct coir_shard *s, struct coir_task *front)
{
    struct coir_task *t = front, **at = &t;

    if (s->ready && coir_torture_order(2)) {
        t = s->ready;
        s->ready = t->next;
        if (!s->ready)
            coir_here.ready_end = &s->ready;
        t->next = front;
        front = t;
    }
    for (unsigned n = coir_torture_order(FEW); n > 0 && (*at)->next; n--)
        at = &(*at)->next;
    if (*at == front)
        return front;
    t = *at;
    *at = t->next;
    t->next = front;
    return t;
}

/* The queue is taken whole, and again when that is used up: so its front is a register. Every few steps the turn ends
 * if a letter has come: steps may be long, as those of fibers that compute are, and who has sent it may be waiting. The
 * background queue has one step a turn, whatever the others do. `noted` is constant where it is called. */
static inline __attribute__((always_inline)) void run_ready(struct coir_shard *s, const bool noted)
{
    struct coir_task *t, *front = s->running;
    unsigned n = 0, end = 0;

    do {
        end += COIR_TURN_LOOK;
        for (; n < end; n++) {
            if (!front) {
                front = s->ready;
                if (!front)
                    break;
                s->ready = NULL;
                coir_here.ready_end = &s->ready;
            }
            t = COIR_TORTURED ? shuffled(s, front) : front;
            front = t->next;
            step(s, t, noted);
        }
    } while (n == end && n < COIR_TURN_STEPS && coir_inbox_empty(&s->inbox));
    s->running = front;
    if (n > s->stats.queue_high)
        s->stats.queue_high = n;
    if (COIR_UNLIKELY(s->background.head))
        step(s, coir_queue_pop(&s->background), noted);
    __atomic_store_n(&s->stepping, NULL, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) void run_ready_noted(struct coir_shard *s)
{
    s->watch.now = 0;
    COIR_NOTE(s, coir_noted_turn(s));
    run_ready(s, true);
}

static void deliver(struct coir_shard *s)
{
    struct coir_msg *next;

    for (struct coir_msg *m = coir_inbox_take_all(&s->inbox); m; m = next) {
        struct coir_letter *letter = coir_container_of(m, struct coir_letter, msg);
        next = m->next;
        s->stats.messages++;
        COIR_NOTE(s, coir_noted_letter(s, letter));
        letter->deliver(s, letter);
    }
}

static void fire_timers(struct coir_shard *s)
{
    struct coir_timer *timer;
    int64_t now;

    if (!s->wheel.count)
        return;
    now = coir_now();
    while ((timer = coir_wheel_pop(&s->wheel, now))) {
        struct coir_alarm *alarm = coir_container_of(timer, struct coir_alarm, timer);
        alarm->fire(alarm);
    }
}

/* ---- being busy, being over ---- */

static void count_busy(struct coir_shard *s)
{
    struct coir_runtime *run = s->run;
    const bool has = s->root.live > 0;
    int off = (int)s->arrived;

    if (has && !s->counted)
        __atomic_add_fetch(&run->busy, 1, __ATOMIC_SEQ_CST);
    if (!has && s->counted)
        off++;
    s->counted = has;
    s->arrived = 0;
    if (off && __atomic_sub_fetch(&run->busy, off, __ATOMIC_SEQ_CST) == 0)
        coir_run_nudge_all(run);
}

/* Shard 0 finds out, under the lock that keeps other threads from making somebody busy meanwhile, and tells
 * the others. */
static bool is_over(const struct coir_shard *s)
{
    struct coir_runtime *run = s->run;

    if (s->id != 0)
        return __atomic_load_n(&run->closed, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&run->main_ended, __ATOMIC_ACQUIRE) && __atomic_load_n(&run->busy, __ATOMIC_SEQ_CST) == 0
        && coir_run_close(run);
}

/* Each shard prints its own tasks, at its next turn, before they are cancelled; the second time they are given up. */
static void see_deadlock(struct coir_shard *s)
{
    const int deadlocks = __atomic_load_n(&s->run->deadlocked, __ATOMIC_ACQUIRE);

    if (COIR_LIKELY(deadlocks == s->deadlocks))
        return;
    s->deadlocks = deadlocks;
    if (s->root.live || s->guests)
        coir_dump_at_once();
    if (deadlocks > 1)
        coir_group_abandon(&s->root);
}

/* Everything on the shard is cancelled once, when that is asked for and no shield is open on any that was
 * opened before. */
static void stop_if_asked(struct coir_shard *s)
{
    const struct coir_runtime *run = s->run;
    const bool asked = __atomic_load_n(&run->stop_asked, __ATOMIC_ACQUIRE)
        || (__atomic_load_n(&run->main_ended, __ATOMIC_ACQUIRE) && !run->options.drain);

    s->stopping |= asked;
    if (s->shields_ended && asked)
        coir_run_nudge_all(s->run);
    s->shields_ended = false;
    if (asked && !s->stopped && (!__atomic_load_n(s->shields, __ATOMIC_SEQ_CST) || s->deadlocks)) {
        s->stopped = true;
        coir_group_cancel(&s->root);
    }
}

/* ---- sleeping ---- */

int64_t coir_loop_next(struct coir_shard *s)
{
    if (s->running || s->ready || s->background.head || !coir_inbox_empty(&s->inbox))
        return 0;
    return s->wheel.count ? coir_wheel_next(&s->wheel) : COIR_NEVER;
}

/* Nothing here can ever happen by itself: no timer, no I/O, nobody outside who was asked for something. */
static bool is_dead(struct coir_shard *s)
{
    return !s->wheel.count && !s->plane->in_flight && __atomic_load_n(&s->external, __ATOMIC_ACQUIRE) == 0;
}

static bool all_inboxes_empty(const struct coir_runtime *run)
{
    for (unsigned i = 0; i < run->n; i++) {
        if (!coir_inbox_empty(&run->shard[i]->inbox))
            return false;
    }
    return true;
}

/* Called with `dead` counted: true when every shard is, and no letter is under way. */
static bool everybody_is_dead(const struct coir_runtime *run)
{
    const unsigned risings = __atomic_load_n(&run->risings, __ATOMIC_SEQ_CST);

    /* A shard may rise in between, take its letter, send another one and be dead again: then that counted. */
    return __atomic_load_n(&run->dead, __ATOMIC_SEQ_CST) == (int)run->n && all_inboxes_empty(run)
        && __atomic_load_n(&run->busy, __ATOMIC_SEQ_CST) > 0
        && __atomic_load_n(&run->risings, __ATOMIC_SEQ_CST) == risings;
}

static void deadlock(struct coir_shard *s)
{
    struct coir_runtime *run = s->run;

    if (__atomic_add_fetch(&run->deadlocked, 1, __ATOMIC_SEQ_CST) == 1) {
        fprintf(stderr, "coir: everything is asleep, and nothing can wake it:\n");
        __atomic_store_n(&run->stop_asked, 1, __ATOMIC_RELEASE);
    } else {
        fprintf(stderr, "coir: what was cancelled went to sleep again, and is abandoned:\n");
        run->status = -EDEADLK;
        __atomic_store_n(&run->main_ended, 1, __ATOMIC_SEQ_CST);
    }
    coir_run_nudge_all(run);
}

/* Looks for letters a while before going to sleep, as long as that pays, others are awake to send some, and
 * the plane has nothing to do. True: there is something. */
static bool spin(struct coir_shard *s, int64_t until)
{
    int64_t end;

    if (s->run->n == 1 || __atomic_load_n(&s->run->awake, __ATOMIC_RELAXED) < 2)
        return false;
    end = coir_clock_monotonic() + s->spin;
    if (end > until)
        return false;
    do {
        for (int i = 0; i < 32; i++) {
            if (!coir_inbox_empty(&s->inbox)) {
                s->spin = s->spin * 2 < COIR_SPIN_MAX ? s->spin * 2 : COIR_SPIN_MAX;
                return true;
            }
            if (s->plane->kind->peek(s->plane))
                return false;
            coir_cpu_relax();
        }
    } while (coir_clock_monotonic() < end);
    s->spin = s->spin / 2 > COIR_SPIN_MIN ? s->spin / 2 : COIR_SPIN_MIN;
    return false;
}

/* Waits in the kernel until `until`. The order is the inbox's: `asleep` first, then a last look at it. */
static void sleep_until(struct coir_shard *s, int64_t until)
{
    struct coir_runtime *run = s->run;
    const bool dead = until == COIR_NEVER && is_dead(s);
    int64_t timeout = COIR_NEVER;

    if (spin(s, until))
        return;
    COIR_NOTE(s, coir_noted_sleep(s));
    __atomic_store_n(&s->asleep, 1, __ATOMIC_SEQ_CST);
    __atomic_sub_fetch(&run->awake, 1, __ATOMIC_RELAXED);
    if (dead)
        __atomic_add_fetch(&run->dead, 1, __ATOMIC_SEQ_CST);
    if (until != COIR_NEVER) {
        timeout = until - coir_now();
        timeout = timeout < 0 ? 0 : timeout;
    }
    if (!coir_inbox_empty(&s->inbox) || is_over(s))
        timeout = 0;
    if (dead && everybody_is_dead(run)) {
        timeout = 0;
        deadlock(s);
    }
    s->plane->kind->wait(s->plane, timeout);
    __atomic_store_n(&s->asleep, 0, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&run->awake, 1, __ATOMIC_RELAXED);
    if (dead) {
        __atomic_add_fetch(&run->risings, 1, __ATOMIC_SEQ_CST);
        __atomic_sub_fetch(&run->dead, 1, __ATOMIC_SEQ_CST);
    }
    COIR_NOTE(s, coir_noted_awake(s));
}

static void jump_to(struct coir_shard *s, int64_t at)
{
    COIR_NOTE(s, coir_noted_sleep(s));
    s->virtual_now = at;
    COIR_NOTE(s, coir_noted_awake(s));
}

/* Idle under virtual time: what the kernel has is taken first, what ends by itself is waited for, then
 * time jumps. */
static void jump(struct coir_shard *s, bool may_wait)
{
    do
        s->plane->kind->wait(s->plane, 0);
    while (coir_loop_next(s) != 0 && s->plane->kind->peek(s->plane));
    if (coir_loop_next(s) == 0 || (s->wheel.count && coir_wheel_next_exact(&s->wheel) <= s->virtual_now))
        return;
    if (!s->plane->in_flight_files && !s->jobs && s->wheel.count)
        jump_to(s, coir_wheel_next_exact(&s->wheel));
    else if (may_wait)
        sleep_until(s, COIR_NEVER);
}

bool coir_loop_turn(struct coir_shard *s, bool may_wait)
{
    int64_t next;

    __atomic_store_n(&s->stack_top, (uintptr_t)__builtin_frame_address(0), __ATOMIC_RELAXED);
    if (COIR_UNLIKELY(s->stack_unknown))
        s->stack_low = s->stack_top;
    s->stats.turns++;
    deliver(s);
    see_deadlock(s);
    count_busy(s);
    stop_if_asked(s);
    if (COIR_UNLIKELY(s->notes || s->watch.on))
        run_ready_noted(s);
    else
        run_ready(s, false);
    stop_if_asked(s);                        /* the main task has ended, a shield has: nobody else will say so */
    count_busy(s);
    if (is_over(s))
        return false;
    next = coir_loop_next(s);
    if (next != 0 && s->virtual_now >= 0)
        jump(s, may_wait);
    else if (next == 0 || !may_wait)
        s->plane->kind->wait(s->plane, 0);
    else
        sleep_until(s, next);
    fire_timers(s);
    return true;
}
