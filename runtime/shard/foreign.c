/* SPDX-License-Identifier: MIT */
/*
 * A shard inside another loop: one descriptor to poll, one call to make when it is readable.
 *
 * The descriptor is an epoll set over the plane's own (for the ring an eventfd registered with it, since a
 * ring's own descriptor says nothing while completions are deferred) and a timerfd that stands at the next
 * timer, or at once when tasks are ready. So the other loop needs to know nothing of timers.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "runtime/shard/run.h"

static int open_watch(struct coir_runtime *run)
{
    struct epoll_event ev = { .events = EPOLLIN };
    struct coir_plane *p = run->shard[0]->plane;
    const int plane_fd = p->kind->fd(p);

    run->watch = epoll_create1(EPOLL_CLOEXEC);
    run->clock = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (plane_fd < 0 || run->watch < 0 || run->clock < 0)
        return plane_fd < 0 ? plane_fd : -errno;
    if (epoll_ctl(run->watch, EPOLL_CTL_ADD, plane_fd, &ev) < 0
        || epoll_ctl(run->watch, EPOLL_CTL_ADD, run->clock, &ev) < 0)
        return -errno;
    return 0;
}

static void close_watch(struct coir_runtime *run)
{
    if (run->watch >= 0)
        close(run->watch);
    if (run->clock >= 0)
        close(run->clock);
}

/* Sets the timerfd to when the shard wants its next turn; at once is 1 ns, since 0 disarms. A turn is due at once
 * also when the last one left something for the kernel, or has read the descriptor's news with its own. */
static void set_clock(struct coir_shard *s)
{
    const int64_t next = coir_loop_next(s);
    const bool now = next == 0 || (s->virtual_now >= 0 && next != COIR_NEVER) || s->plane->kind->peek(s->plane);
    struct itimerspec at = { .it_value = { 0 } };

    if (now)
        at.it_value.tv_nsec = 1;
    else if (next != COIR_NEVER)
        at.it_value = (struct timespec){ next / COIR_S, next % COIR_S };
    coir_count_syscall();
    timerfd_settime(s->run->clock, TFD_TIMER_ABSTIME, &at, NULL);
}

void coir_due_at_once(struct coir_shard *s)
{
    if (!s->outside)
        return;
    s->outside = false;
    set_clock(s);
}

/* A callback of the other loop completes a cell, cancels a group, ...: the next turn is due at once. */
void coir_ready_apart(struct coir_shard *s, struct coir_task *t)
{
    COIR_NOTE(s, coir_noted_ready(s, t));
    if (t->flags & COIR_TASK_BACKGROUND_)
        coir_queue_push(&s->background, t);
    else
        coir_ready_(t);
    coir_due_at_once(s);
}

void coir_member_ready_apart(struct coir_shard *s, struct coir_task *t)
{
    COIR_NOTE(s, coir_noted_spawn(s, t));
    coir_ready_apart(s, t);
}

struct coir_shard *coir_shard_open_(const struct coir_options *o, struct coir_task *main, uint64_t abi)
{
    struct coir_runtime *run;
    int err = main ? o && o->shards > 1 ? -EINVAL : coir_run_begin(&run, o, abi) : -ENOMEM;

    if (err) {
        coir_discard(main);
        errno = -err;
        return NULL;
    }
    run->watch = run->clock = -1;
    run->foreign = true;
    err = coir_shard_begin(run, 0);
    if (!err)
        err = open_watch(run);
    if (err) {
        close_watch(run);
        coir_discard(main);
        if (coir_shard_here())
            coir_shard_end(coir_shard_here());
        coir_run_end(run);
        errno = -err;
        return NULL;
    }
    coir_window_open(run);
    coir_run_start_main(run, main);
    set_clock(run->shard[0]);
    run->shard[0]->outside = true;
    COIR_NOTE(run->shard[0], coir_noted_sleep(run->shard[0]));
    return run->shard[0];
}

int coir_shard_fd(struct coir_shard *s)
{
    return s->run->watch;
}

int coir_turn(struct coir_shard *s)
{
    uint64_t ticks;
    bool more;

    COIR_ASSERT(s == coir_shard_here());
    coir_count_syscall();
    if (read(s->run->clock, &ticks, sizeof ticks) < 0)
        ticks = 0;
    /* Awake while the turn lasts, asleep in between: a letter that comes then has to make the descriptor
     * readable. */
    __atomic_store_n(&s->asleep, 0, __ATOMIC_SEQ_CST);
    s->outside = false;
    COIR_NOTE(s, coir_noted_awake(s));
    more = coir_loop_turn(s, false);
    __atomic_store_n(&s->asleep, 1, __ATOMIC_SEQ_CST);
    set_clock(s);
    s->outside = true;
    COIR_NOTE(s, coir_noted_sleep(s));
    return more;
}

int coir_shard_close(struct coir_shard *s)
{
    struct coir_runtime *run = s->run;
    int status;

    __atomic_store_n(&s->asleep, 0, __ATOMIC_SEQ_CST);
    s->outside = false;
    COIR_NOTE(s, coir_noted_awake(s));
    __atomic_store_n(&run->stop_asked, 1, __ATOMIC_RELEASE);
    while (coir_loop_turn(s, true))
        ;
    status = run->status;
    coir_window_shut(run);
    coir_shard_end(s);
    close_watch(run);
    coir_run_end(run);
    return status;
}
