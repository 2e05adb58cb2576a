/* SPDX-License-Identifier: MIT */
/*
 * The watchdog: a thread, there only when it is asked for, that names a step which holds its shard for too long, while
 * it does.
 *
 * It looks at every shard each quarter of the limit. A step that it has seen before is watched more closely, so that
 * it is reported when its time is over, and again after twice that, and so on. What counts is time that the step had:
 * running, or asleep in the kernel. A thread that would run, but is not let by the machine, is not slow; nor is one
 * that was stopped, by a signal or a debugger, and when everybody was, the watchdog too, no more of that time counts
 * than it meant to sleep.
 *
 * It takes no lock that a step may hold: it writes to stderr with write(2), and all of a report's first line is there
 * before names are looked for, which allocates and may load a library. It reads of tasks by look.h only, since they
 * live on meanwhile. What it finds is right if the step is still the same afterwards.
 */
#include "runtime/see/watchdog.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/thread.h"
#include "runtime/see/crash.h"
#include "runtime/see/look.h"
#include "runtime/see/report.h"
#include "runtime/shard/catch.h"
#include "runtime/shard/run.h"

enum { EVENTS = 20, DEBUG_MS = 100, MOST_MS = 24 * 3600 * 1000, PARTS = 4 };

sem_t coir_watchdog_bell;

/* ---- what is asked for ---- */

int coir_watch_limit(const struct coir_options *o, bool debug, int64_t *out)
{
    const char *const given = getenv("COIR_SLOW_MS");
    long ms = debug ? DEBUG_MS : 0;
    char *end;

    if (o->slow_ms) {
        ms = o->slow_ms > 0 ? o->slow_ms : 0;
    } else if (given && *given) {
        ms = strtol(given, &end, 10);
        if (*end || ms < 0 || ms > MOST_MS) {
            fprintf(stderr, "coir: COIR_SLOW_MS: \"%s\" is no number of milliseconds from 0 to %d\n", given, MOST_MS);
            return -EINVAL;
        }
    }
    *out = ms * COIR_MS;
    return 0;
}

/* ---- reports ---- */

static void put_ms(struct coir_text *t, int64_t ns)
{
    coir_text_unsigned(t, (uint64_t)(ns / COIR_MS));
    coir_text_str(t, " ms");
}

static void put_shard(struct coir_text *t, const struct coir_shard *s)
{
    coir_text_str(t, "shard ");
    coir_text_unsigned(t, s->id);
}

static bool is_same_step(const struct coir_shard *s, const struct coir_watched *w)
{
    return __atomic_load_n(&s->watch.began, __ATOMIC_ACQUIRE) == w->began;
}

static void report(struct coir_shard *s, struct coir_watched *w, int64_t now, const struct coir_thread *thread)
{
    const uint64_t steps = coir_report_steps(s);
    char buf[1024];
    struct coir_text t = coir_text_in(buf, sizeof buf);

    coir_text_str(&t, "coir: slow step: ");
    if (!coir_look_at_step(s, &t, w->name, sizeof w->name) || !is_same_step(s, w))
        return;
    coir_text_str(&t, w->reported ? ", still holds " : ", holds ");
    put_shard(&t, s);
    coir_text_str(&t, " for ");
    put_ms(&t, now - w->began);
    coir_report_state(&t, thread);
    coir_text_str(&t, ", and has used ");
    put_ms(&t, w->ran);
    coir_text_str(&t, " of CPU");
    coir_text_char(&t, '\n');
    coir_report_write(buf, &t);
    coir_report_stack(s, thread, steps);
    if (!w->reported)
        __atomic_add_fetch(&s->stats.slow_steps, 1, __ATOMIC_RELAXED);
    else if (!w->recorded)              /* it is no hiccup: what led there, if it was recorded */
        coir_recorder_write(STDERR_FILENO, EVENTS);
    w->recorded = w->reported;
    w->reported = true;
}

/* The step that was reported has ended; the shard has left how long it took. */
static void report_end(const struct coir_shard *s, const struct coir_watched *w)
{
    char buf[256];
    struct coir_text t = coir_text_in(buf, sizeof buf);

    coir_text_str(&t, "coir: slow step: ");
    coir_text_str(&t, w->name);
    coir_text_str(&t, " has given back ");
    put_shard(&t, s);
    if (__atomic_load_n(&s->watch.late_began, __ATOMIC_ACQUIRE) == w->began) {
        coir_text_str(&t, " after ");
        put_ms(&t, __atomic_load_n(&s->watch.late_took, __ATOMIC_RELAXED));
    }
    coir_text_char(&t, '\n');
    coir_report_write(buf, &t);
}

/* ---- looking ---- */

static int64_t cpu_of(const struct coir_shard *s)
{
    struct timespec ts;

    return clock_gettime(s->cpu, &ts) == 0 ? ts.tv_sec * COIR_S + ts.tv_nsec : 0;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A step that was not seen before, or the one that was, since it was seen last. */
static void count(const struct coir_watchdog *d, const struct coir_shard *s, struct coir_watched *w, int64_t began,
                  int64_t now, const struct coir_thread *thread)
{
    const int64_t cpu = cpu_of(s), ran = cpu - w->cpu, most = 2 * d->tick;

    if (w->began != began) {
        w->began = began;
        w->own = w->ran = least(now - began, d->tick);
        w->next = d->limit;
        w->reported = w->recorded = false;
    } else if (thread->state == 'S' || thread->state == 'D') {
        w->own += least(now - w->seen, most);
        w->ran += least(ran, most);
    } else if (thread->state != 'T' && thread->state != 't') {
        w->own += least(ran, most);
        w->ran += least(ran, most);
    }
    w->seen = now;
    w->cpu = cpu;
}

/* Value: when to look again. */
static int64_t look(const struct coir_watchdog *d, struct coir_shard *s, struct coir_watched *w)
{
    const int64_t began = __atomic_load_n(&s->watch.began, __ATOMIC_ACQUIRE);
    struct coir_thread thread = { .state = '\0' };
    const int64_t now = coir_clock_monotonic();

    if (w->began && w->began != began && w->reported)
        report_end(s, w);
    if (!began) {
        w->began = 0;
        return now + d->tick;
    }
    if (w->began == began)
        coir_thread_look(s->watch.thread, &thread);
    count(d, s, w, began, now, &thread);
    if (w->own >= w->next) {
        report(s, w, now, &thread);
        w->next = 2 * w->own;
    }
    return now + (w->next - w->own < COIR_MS ? COIR_MS : least(w->next - w->own, d->tick));
}

static void sleep_until(int64_t until)
{
    const struct timespec at = { until / COIR_S, until % COIR_S };
    int err;

    do
        err = until == COIR_NEVER ? sem_wait(&coir_watchdog_bell)
                                  : sem_clockwait(&coir_watchdog_bell, CLOCK_MONOTONIC, &at);
    while (err < 0 && errno == EINTR);
}

static void *watch(void *arg)
{
    struct coir_watchdog *const d = arg;
    int64_t next;

    pthread_setname_np(pthread_self(), "coir-watchdog");
    while (!__atomic_load_n(&d->stops, __ATOMIC_ACQUIRE)) {
        coir_crash_look();
        pthread_mutex_lock(&d->lock);
        next = coir_asked_look(d, coir_clock_monotonic());
        if (d->limit)
            next = least(next, coir_clock_monotonic() + d->tick);
        for (unsigned i = 0; i < COIR_MAX_SHARDS && d->limit; i++) {
            if (d->shard[i])
                next = least(next, look(d, d->shard[i], &d->step[i]));
        }
        pthread_mutex_unlock(&d->lock);
        sleep_until(next);
    }
    return NULL;
}

/* ---- a run, and its shards ---- */

static int start(struct coir_watchdog *d)
{
    sigset_t before;

    coir_block_signals(&before);
    const int err = pthread_create(&d->thread, NULL, watch, d);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -err;
}

/* Without memory, or a thread, nobody watches. */
static void open_with(struct coir_runtime *run, int64_t limit, int number)
{
    struct coir_watchdog *const d = coir_alloc_fails() ? NULL : calloc(1, sizeof *d);
    int err = d ? 0 : -ENOMEM;

    if (d) {
        d->limit = limit;
        d->tick = limit / PARTS < COIR_MS ? COIR_MS : limit / PARTS;
        d->signal = number;
        d->told = number ? coir_caught_count(number) : 0;
        pthread_mutex_init(&d->lock, NULL);
        sem_init(&coir_watchdog_bell, 0, 0);
        coir_catch_tell(number, &coir_watchdog_bell);
        coir_stack_open();
        err = start(d);
    }
    run->watchdog = err ? NULL : d;
    if (!err)
        return;
    fprintf(stderr, "coir: there is no watchdog: %s\n", coir_strerror(err));
    if (d) {
        coir_stack_close();
        coir_catch_tell(0, NULL);
    }
    free(d);
}

int coir_watch_asked(const struct coir_options *o, bool debug)
{
    int64_t limit;
    int number, err = coir_watch_limit(o, debug, &limit);

    return err ? err : coir_asked_signal(o, &number);
}

void coir_watch_open(struct coir_runtime *run)
{
    int64_t limit = 0;
    int number = 0;
    bool crash;

    if (coir_watch_limit(&run->options, run->debug, &limit) || coir_asked_signal(&run->options, &number))
        return;
    crash = coir_crash_asked(run);
    if (limit || number || crash)
        open_with(run, limit, number);
    if (crash)
        coir_crash_open(run->watchdog);
}

void coir_watch_close(struct coir_runtime *run)
{
    struct coir_watchdog *const d = run->watchdog;

    coir_crash_close();
    if (!d)
        return;
    __atomic_store_n(&d->stops, true, __ATOMIC_RELEASE);
    sem_post(&coir_watchdog_bell);
    pthread_join(d->thread, NULL);
    coir_stack_close();
    coir_catch_tell(0, NULL);
    pthread_mutex_destroy(&d->lock);
    free(d);
    run->watchdog = NULL;
}

void coir_watch_begin(struct coir_shard *s)
{
    struct coir_watchdog *const d = s->run->watchdog;
    int err;

    if (!d)
        return;
    coir_crash_begin(s);
    if (s->id > 0)                           /* shard 0 is a thread of the program's, which has its own mask */
        coir_stack_allow();
    s->watch.thread = (pid_t)syscall(SYS_gettid);
    s->watch.limit = d->limit;
    s->watch.on = d->limit > 0;
    err = d->signal ? coir_asked_begin(s, d->signal) : 0;
    if (err)
        fprintf(stderr, "coir: shard %u: signal %d, which asks for the tasks: %s\n", s->id, d->signal,
                coir_strerror(err));
    pthread_mutex_lock(&d->lock);
    d->shard[s->id] = s;
    d->step[s->id].began = 0;
    d->asked[s->id].due = 0;
    pthread_mutex_unlock(&d->lock);
}

void coir_watch_end(struct coir_shard *s)
{
    struct coir_watchdog *const d = s->run->watchdog;

    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    if (d->step[s->id].began && d->step[s->id].reported)
        report_end(s, &d->step[s->id]);
    d->shard[s->id] = NULL;
    pthread_mutex_unlock(&d->lock);
    s->watch.on = false;
    coir_crash_end(s);
}

void coir_watch_forget(void)
{
    coir_catch_tell(0, NULL);
    coir_crash_close();
    coir_stack_forget();
}
