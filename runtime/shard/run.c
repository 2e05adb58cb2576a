/* SPDX-License-Identifier: MIT */
/*
 * coir_main and coir_run: choosing a plane, making the shards and their threads, ending them in order.
 *
 * Each shard is made on its own thread, since a ring belongs to the thread that makes it. All are made before
 * any runs; if one cannot be, none does. A fork leaves the child without a runtime: coir_here is cleared
 * there and the rings are not inherited.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <coir/abi.h>

#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/shard/catch.h"
#include "runtime/shard/run.h"

static pthread_mutex_t current_lock = PTHREAD_MUTEX_INITIALIZER;
static struct coir_runtime *coir_run_current;    /* under the lock; a shard's thread has its own pointer */

void coir_run_leave(void)
{
    pthread_mutex_unlock(&current_lock);
}

struct coir_runtime *coir_run_enter(void)
{
    pthread_mutex_lock(&current_lock);
    if (coir_run_current && !coir_run_current->closed && coir_run_current->begun)
        return coir_run_current;
    coir_run_leave();
    return NULL;
}

bool coir_run_close(struct coir_runtime *run)
{
    pthread_mutex_lock(&current_lock);
    const bool over = __atomic_load_n(&run->busy, __ATOMIC_SEQ_CST) == 0;
    if (over)
        __atomic_store_n(&run->closed, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&current_lock);
    return over;
}

/* One run at a time: false when there is one. */
static bool become_current(struct coir_runtime *run)
{
    pthread_mutex_lock(&current_lock);
    const bool free_place = !coir_run_current;
    if (free_place)
        coir_run_current = run;
    pthread_mutex_unlock(&current_lock);
    return free_place;
}

static void set_current(struct coir_runtime *run, bool begun)
{
    pthread_mutex_lock(&current_lock);
    coir_run_current = run;
    if (run)
        run->begun = begun;
    pthread_mutex_unlock(&current_lock);
}

/* ---- a shard ---- */

static int say(const char *what, int err)
{
    fprintf(stderr, "coir: %s: %s\n", what, coir_strerror(err));
    return err;
}

/* Of a process's first thread the C library reads it in /proc, which need not be there. */
static void find_stack(struct coir_shard *s)
{
    pthread_attr_t attr;
    void *low = NULL;
    size_t size;

    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &low, &size);
        pthread_attr_destroy(&attr);
    }
    s->stack_unknown = !low;
    s->stack_low = (uintptr_t)low;
    s->stack_top = (uintptr_t)low;           /* nothing is dead until a turn says so */
}

static bool wants_virtual_time(void)
{
    const char *time = getenv("COIR_TIME");

    return time && !strcmp(time, "virtual");
}

/* When no plane was asked for by name, and the ring is denied, epoll has to do: with one line that says
 * why. */
static int open_plane(struct coir_shard *s)
{
    struct coir_runtime *run = s->run;
    const struct coir_plane_options o = { run->options.ring_entries, getenv("COIR_URING"), run->foreign };
    char why[160];
    int err = run->kind->open(s, &o, &s->plane, why, sizeof why);

    if (err && err != -EINVAL && run->probed && s->id == 0) {
        fprintf(stderr, "coir: using epoll: %s\n", why);
        run->kind = &coir_epoll;
        err = run->kind->open(s, &o, &s->plane, why, sizeof why);
    }
    if (err)
        fprintf(stderr, "coir: shard %u has no %s plane: %s\n", s->id, run->kind->name, why);
    return err;
}

int coir_shard_begin(struct coir_runtime *run, unsigned id)
{
    struct coir_shard *s = coir_alloc_fails() ? NULL : aligned_alloc(64, (sizeof *s + 63) / 64 * 64);
    const size_t after_wheel = offsetof(struct coir_shard, virtual_now);    /* the wheel clears itself, as it is used */
    int err;

    if (!s)
        return say("a shard", -ENOMEM);
    memset(s, 0, offsetof(struct coir_shard, wheel));
    memset((char *)s + after_wheel, 0, sizeof *s - after_wheel);
    s->run = run;
    s->id = id;
    s->virtual_now = wants_virtual_time() ? coir_clock_monotonic() : -1;
    s->torture = run->torture;
    coir_torture_begin(id);
    s->spin = COIR_SPIN_FIRST;
    s->visits_end = &s->visits;
    s->shields = &run->shields;
    coir_queue_init(&s->background);
    coir_wheel_init(&s->wheel, s->virtual_now >= 0 ? s->virtual_now : coir_clock_monotonic());
    coir_pool_init(&s->pool, &run->depot);
    coir_inbox_init(&s->inbox);
    find_stack(s);
    if (pthread_getcpuclockid(pthread_self(), &s->cpu) != 0)
        s->cpu = CLOCK_THREAD_CPUTIME_ID;
    coir_here = (struct coir_here){ .shard = s, .ready_end = &s->ready };
    coir_list_init(&s->groups);
    coir_group_begin(&s->root, NULL, NULL, 0);
    err = open_plane(s);
    if (err) {
        coir_here.shard = NULL;
        free(s);
        return err;
    }
    coir_signals_hold(s);
    coir_notes_begin(s);
    run->shard[id] = s;
    coir_watch_begin(s);
    return 0;
}

void coir_shard_end(struct coir_shard *s)
{
    coir_watch_end(s);
    coir_children_end(s);
    coir_report_unborn(&s->unborn);
    coir_made_end();
    coir_catch_shard_ends(s);
    /* The last letter may have been its thread's last word. */
    while (__atomic_load_n(&s->posting, __ATOMIC_ACQUIRE))
        sched_yield();
    s->plane->kind->close(s->plane);
    coir_scope_end(&s->root.scope);
    coir_notes_end(s);
    coir_signals_release(s);
    coir_here.shard = NULL;
    free(s);
}

/* ---- a run ---- */

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* No other thread is in the middle of something that the child would inherit half done. */
static void hold(void)
{
    pthread_mutex_lock(&current_lock);
    coir_frames_hold();
    coir_catch_hold();
    coir_window_hold();
    coir_notes_hold();
}

static void let_go(void)
{
    coir_notes_let_go();
    coir_window_let_go();
    coir_catch_let_go();
    coir_frames_let_go();
    pthread_mutex_unlock(&current_lock);
}

/* The child has none of the threads, and none of the rings. */
static void forget_in_child(void)
{
    coir_catch_forget();
    coir_window_forget();
    coir_notes_forget();
    coir_watch_forget();
    coir_here.shard = NULL;
    coir_run_current = NULL;
    let_go();
}

static void watch_forks(void)
{
    pthread_atfork(hold, let_go, forget_in_child);
}

static int64_t real_time(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return ts.tv_sec * COIR_S + ts.tv_nsec;
}

/* The plane that is asked for, or NULL and a line on stderr. `probed`: epoll will do if the ring is
 * denied. */
static const struct coir_plane_kind *choose(const char *name, bool *probed)
{
    *probed = false;
    if (!name || !*name)
        name = getenv("COIR_IO");
    if (!name || !*name) {
        *probed = true;
        return &coir_uring;
    }
    if (!strcmp(name, "uring"))
        return &coir_uring;
    if (!strcmp(name, "epoll"))
        return &coir_epoll;
    fprintf(stderr, "coir: COIR_IO: \"%s\" is not a plane; there are uring and epoll\n", name);
    return NULL;
}

static int check_options(const struct coir_options *o, uint64_t abi)
{
    if ((abi & ~(uint64_t)3) != COIR_ABI_SIZE_) {
        fprintf(stderr, "coir: this program was compiled against another version of libcoir: its frames have "
                "other sizes\n");
        return -ENOEXEC;
    }
    if (coir_shard_here())
        return say("coir_run", -EBUSY);
    if (o->shards > COIR_MAX_SHARDS || (o->ring_entries && (o->ring_entries < 2 || o->ring_entries > 4096
                                                            || (o->ring_entries & (o->ring_entries - 1)))))
        return say("coir_run: options.shards (0 to 64) or options.ring_entries (a power of two, 2 to 4096)", -EINVAL);
    const char *time = getenv("COIR_TIME");
    if (time && *time && strcmp(time, "real") && !wants_virtual_time())
        return say("coir_run: COIR_TIME is \"virtual\" or \"real\"", -EINVAL);
    if (o->shards > 1 && wants_virtual_time())
        return say("coir_run: COIR_TIME=virtual is for one shard", -EINVAL);
    return coir_watch_asked(o, abi & 2);
}

int coir_run_begin(struct coir_runtime **out, const struct coir_options *options, uint64_t abi)
{
    static const struct coir_options defaults;
    const struct coir_options *o = options ? options : &defaults;
    struct coir_runtime *run;
    bool probed;
    int err = check_options(o, abi);

    if (err)
        return err;
    pthread_once(&fork_once, watch_forks);
    run = coir_alloc_fails() ? NULL : calloc(1, sizeof *run);
    if (!run)
        return say("coir_run", -ENOMEM);
    run->options = *o;
    run->start = real_time();
    run->began = coir_clock_monotonic();
    run->n = o->shards ? o->shards : 1;
    run->awake = (int)run->n;
    run->torture = abi & 1;
    run->debug = abi & 2;
    run->kind = choose(o->io, &probed);
    run->probed = probed;
    pthread_mutex_init(&run->pools_lock, NULL);
    err = run->kind ? coir_depot_init(&run->depot, o->allocator) : -EINVAL;
    if (!err && !become_current(run)) {
        coir_depot_destroy(&run->depot);
        err = say("coir_run", -EBUSY);
    }
    if (err) {
        free(run);
        return err;
    }
    coir_notes_open(run);
    coir_watch_open(run);
    *out = run;
    return 0;
}

void coir_run_end(struct coir_runtime *run)
{
    coir_workers_close_all(run->pools);
    coir_window_end(run);
    coir_watch_close(run);
    coir_notes_close();
    set_current(NULL, false);
    coir_depot_destroy(&run->depot);
    pthread_mutex_destroy(&run->pools_lock);
    free(run);
}

static void main_ended(struct coir_reaper *r, const struct coir_task *t)
{
    struct coir_runtime *run = coir_container_of(r, struct coir_runtime, main_reaper);

    run->status = t->status;
    run->last = t->site;
    __atomic_store_n(&run->main_ended, 1, __ATOMIC_SEQ_CST);
    coir_run_nudge_all(run);
}

void coir_run_start_main(struct coir_runtime *run, struct coir_task *main)
{
    struct coir_shard *s = coir_shard_here();

    coir_frame_begins(main);
    run->main_reaper.ended = main_ended;
    coir_birth_of(main)->reaper = &run->main_reaper;
    coir_group_adopt(&s->root, main);
    set_current(run, true);
}

void coir_run_nudge_all(struct coir_runtime *run)
{
    struct coir_shard *here = coir_shard_here();

    for (unsigned i = 0; i < run->n; i++) {
        struct coir_shard *s = run->shard[i];
        if (s && (s != here || s->outside))
            s->plane->kind->nudge(s->plane, here && s != here ? here->plane : NULL);
    }
}

void coir_nudge_by_eventfd(struct coir_runtime *run, unsigned shard)
{
    if (shard < run->n)
        run->shard[shard]->plane->kind->nudge(run->shard[shard]->plane, NULL);
}

void coir_stop(void)
{
    pthread_mutex_lock(&current_lock);
    if (coir_run_current && !coir_run_current->closed) {
        __atomic_store_n(&coir_run_current->stop_asked, 1, __ATOMIC_RELEASE);
        if (coir_run_current->begun)                  /* else the shards see it in their first turn */
            coir_run_nudge_all(coir_run_current);
    }
    pthread_mutex_unlock(&current_lock);
}

void coir_post(struct coir_shard *s, struct coir_letter *letter)
{
    struct coir_shard *here = coir_shard_here();

    /* The letter may end the run. Shards end together; another thread has to be waited for
     * (coir_shard_end). */
    if (!here)
        __atomic_add_fetch(&s->posting, 1, __ATOMIC_ACQ_REL);
    else
        COIR_NOTE(here, coir_noted_post(here, s, letter));
    coir_inbox_push(&s->inbox, &letter->msg);
    if (__atomic_load_n(&s->asleep, __ATOMIC_SEQ_CST) && __atomic_exchange_n(&s->asleep, 0, __ATOMIC_SEQ_CST))
        s->plane->kind->nudge(s->plane, here && here != s ? here->plane : NULL);
    if (!here)
        __atomic_sub_fetch(&s->posting, 1, __ATOMIC_ACQ_REL);
}

int coir_shard_id(void)
{
    return coir_shard_here() ? (int)coir_shard_here()->id : -1;
}

unsigned coir_shard_count(void)
{
    const struct coir_shard *s = coir_shard_here();
    const struct coir_runtime *run = s ? s->run : coir_run_enter();
    const unsigned n = run ? run->n : 0;

    if (!s && run)
        coir_run_leave();
    return n;
}

/* ---- pools ---- */

struct coir_workers *coir_run_workers(struct coir_runtime *run, const char *name, unsigned limit)
{
    struct coir_workers *w;

    pthread_mutex_lock(&run->pools_lock);
    w = coir_workers_find(run->pools, name);
    if (!w) {
        w = coir_workers_open(name, limit, run->pinned ? &run->cpus : NULL, run->pools);
        if (w)
            run->pools = w;
    }
    pthread_mutex_unlock(&run->pools_lock);
    return w;
}

struct coir_workers *coir_file_workers(struct coir_runtime *run)
{
    struct coir_workers *w = __atomic_load_n(&run->files, __ATOMIC_ACQUIRE);

    if (!w) {
        w = coir_run_workers(run, "file", COIR_FILE_THREADS);
        __atomic_store_n(&run->files, w, __ATOMIC_RELEASE);
    }
    return w;
}

/* ---- threads ---- */

static void pin(const struct coir_runtime *run, unsigned id)
{
    unsigned nth;
    cpu_set_t one;

    if (!run->pinned || CPU_COUNT(&run->cpus) < 2)
        return;
    nth = id % (unsigned)CPU_COUNT(&run->cpus);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &run->cpus) && nth-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
    }
}

/* Where the shards of a run meet: before any runs, so that all can be reached, and before any ends, so
 * that none is nudged when it is gone. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t open;
    unsigned expected, come, round;
    int failed;                              /* the first error of any */
};

static int gate_meet(struct gate *g, int err)
{
    pthread_mutex_lock(&g->lock);
    const unsigned round = g->round;
    if (err && !g->failed)
        g->failed = err;
    if (++g->come == g->expected) {
        g->come = 0;
        g->round++;
        pthread_cond_broadcast(&g->open);
    }
    while (round == g->round)
        pthread_cond_wait(&g->open, &g->lock);
    err = g->failed;
    pthread_mutex_unlock(&g->lock);
    return err;
}

struct start {
    struct coir_runtime *run;
    struct gate *gate;
    unsigned id;
};

static void run_shard(struct coir_shard *s)
{
    while (coir_loop_turn(s, true))
        ;
    coir_run_nudge_all(s->run);
}

static void *shard_thread(void *arg)
{
    const struct start *start = arg;
    int err;

    pin(start->run, start->id);
    err = coir_shard_begin(start->run, start->id);
    if (gate_meet(start->gate, err) == 0)
        run_shard(coir_shard_here());
    gate_meet(start->gate, 0);
    if (!err)
        coir_shard_end(coir_shard_here());
    return NULL;
}

/* With the signals blocked: the program's handlers run on the thread that called coir_run. The number started. */
static unsigned start_threads(struct coir_runtime *run, struct start *starts, struct gate *gate, int *err)
{
    unsigned i;
    sigset_t before;

    coir_block_signals(&before);
    for (i = 1; i < run->n && !*err; i++) {
        starts[i] = (struct start){ run, gate, i };
        *err = -pthread_create(&run->thread[i], NULL, shard_thread, &starts[i]);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return *err ? i - 1 : i;
}

/* Shard 0 is the calling thread, which has begun. */
static int run_with_threads(struct coir_runtime *run, struct coir_task *main)
{
    struct gate gate = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, run->n, 0, 0, 0 };
    struct start starts[COIR_MAX_SHARDS];
    int err = 0;
    const unsigned started = start_threads(run, starts, &gate, &err);

    if (err)
        say("a shard's thread", err);
    pthread_mutex_lock(&gate.lock);
    gate.expected = started;                 /* nobody has passed: this thread has not come */
    pthread_mutex_unlock(&gate.lock);
    err = gate_meet(&gate, err);
    if (!err) {
        coir_window_open(run);
        coir_run_start_main(run, main);
        run_shard(coir_shard_here());
        coir_window_shut(run);
    }
    gate_meet(&gate, 0);
    for (unsigned i = 1; i < started; i++)
        pthread_join(run->thread[i], NULL);
    return err;
}

static int run_all(struct coir_runtime *run, struct coir_task *main)
{
    int err = coir_shard_begin(run, 0);

    if (err)
        return err;
    /* Before any is pinned: threads inherit that. */
    run->pinned = run->n > 1 && !run->options.unpinned
               && sched_getaffinity(0, sizeof run->cpus, &run->cpus) == 0;
    pin(run, 0);
    err = run_with_threads(run, main);
    coir_shard_end(coir_shard_here());
    if (run->pinned)
        sched_setaffinity(0, sizeof run->cpus, &run->cpus);
    return err;
}

/* `last`: where the main task stood last; NULL when it did not run. */
static int run_main(const struct coir_options *o, struct coir_task *main, uint64_t abi, const struct coir_site **last)
{
    struct coir_runtime *run;
    int err;

    if (!main)
        return say("coir_run: no memory for the main task", -ENOMEM);
    err = coir_run_begin(&run, o, abi);
    if (err) {
        coir_discard(main);
        return err;
    }
    err = run_all(run, main);
    if (err)
        coir_discard(main);
    else
        err = run->deadlocked ? -EDEADLK : run->status;
    *last = run->last;
    coir_run_end(run);
    return err;
}

int coir_run_(const struct coir_options *o, struct coir_task *main, uint64_t abi)
{
    const struct coir_site *last = NULL;

    return run_main(o, main, abi, &last);
}

int coir_main_(struct coir_task *main, uint64_t abi)
{
    const struct coir_site *last = NULL;
    const int err = run_main(NULL, main, abi, &last);

    if (err < 0 && last)
        fprintf(stderr, "coir: the main task failed: %s (%s last stood at %s:%u)\n", coir_strerror(err), last->task,
                last->file, last->line);
    else if (err < 0)
        fprintf(stderr, "coir: the main task failed: %s\n", coir_strerror(err));
    return err < 0;
}
