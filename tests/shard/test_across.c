/* SPDX-License-Identifier: MIT */
/*
 * From shard to shard: tasks begun elsewhere, children that run elsewhere and come home, cancelling them in every
 * order; threads that are no shard; stopping with work in flight everywhere.
 */
#include "task/help.h"

#include <sched.h>

#include "runtime/base/torture.h"

enum { SHARDS = 3, ROUNDS = SANITIZED ? 200 : 2000 };

static int add(int *to)
{
    return __atomic_add_fetch(to, 1, __ATOMIC_RELAXED);
}

static int of(int *from)
{
    return __atomic_load_n(from, __ATOMIC_RELAXED);
}

static int begun, cleaning, ended, cancelled, wrong;

static void forget(void)
{
    begun = cleaning = ended = cancelled = wrong = 0;
}

/* Runs on `shard`, takes `ns`, `cleanup` more in its finally. Its result: the shard it ran on. */
struct there {
    coir_frame(int);
    coir_args(int shard; int64_t ns; int64_t cleanup; int fails;);
    union {
        struct coir_sleep sleep;
        struct coir_pass pass;
    };
};
static coir_declare(there);

coir_body(there, f) {
    add(&begun);
    if (coir_shard_id() != f->shard)
        add(&wrong);
    coir_try(f, &f->sleep, coir_sleep, .ns = f->ns);
    if (f->fails)
        coir_fail(f, f->fails);
    coir_return(f, coir_shard_id() + 100);
    coir_finally(f) {
        add(&cleaning);
        coir_await(f, &f->sleep, coir_sleep, .ns = f->cleanup);
        if (coir_shard_id() != f->shard)
            add(&wrong);
        add(&ended);
        if (f->task.status == -ECANCELED)
            add(&cancelled);
    }
} coir_end

/* ---- coir_await_on ---- */

struct homes {
    coir_frame_void;
    coir_no_args;
    int i;
    int64_t began;
    struct there there;
    struct coir_scope scope;
};
static coir_declare(homes);

coir_body(homes, f) {
    forget();
    for (f->i = 0; f->i < SHARDS; f->i++) {
        coir_await_on(f, (unsigned)f->i, &f->there, there, .shard = f->i, .ns = COIR_MS);
        EQ(coir_status(&f->there), 0, "a child on shard %d", f->i);
        EQ(f->there.result, 100 + f->i, "its result comes home");
        EQ(coir_shard_id(), 0, "and so does its awaiter");
        coir_await_on(f, (unsigned)f->i, &f->there, there, .shard = f->i, .fails = EIO);
        EQ(coir_status(&f->there), -EIO, "a failure on shard %d", f->i);
    }
    EQ(wrong, 0, "each ran where it was sent");
    coir_await_on(f, SHARDS, &f->there, there, .shard = 0);
    EQ(coir_status(&f->there), -EINVAL, "a shard that is not there");
    for (f->i = 0; f->i < ROUNDS; f->i++)
        coir_await_on(f, 1u + (unsigned)f->i % 2, &f->there, there, .shard = 1 + f->i % 2);
    EQ(ended, 2 * SHARDS + ROUNDS, "there and back %d times", ROUNDS);
} coir_end

/* Awaits away, so that the whole is under a scope at home. */
struct goes {
    coir_frame(int);
    coir_args(int shard; int64_t ns; int64_t cleanup;);
    struct there there;
};
static coir_declare(goes);

coir_body(goes, f) {
    coir_await_on(f, (unsigned)f->shard, &f->there, there, .shard = f->shard, .ns = f->ns,
                  .cleanup = f->cleanup);
    coir_check(f, &f->there);
    coir_return(f, f->there.result);
} coir_end

/* Cancels a scope when somebody cleans up. */
struct interrupts {
    coir_frame_void;
    coir_args(struct coir_scope *scope; int before;);
    struct coir_pass pass;
};
static coir_declare(interrupts);

coir_body(interrupts, f) {
    while (of(&cleaning) == f->before)
        coir_await(f, &f->pass, coir_pass);
    coir_scope_cancel(f->scope);
} coir_end

struct cancels {
    coir_frame_void;
    coir_no_args;
    int i, in_time, late, other;
    int64_t began;
    struct goes goes;
    struct coir_scope scope;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(cancels);

coir_body(cancels, f) {
    forget();
    coir_within(f, &f->scope, coir_now(), &f->goes, goes, .shard = 1, .ns = 3600 * COIR_S);
    EQ(coir_status(&f->goes), -ETIMEDOUT, "cancelled before it went");
    EQ(begun, 1, "it went all the same");
    EQ(cancelled, 1, "and its await said -ECANCELED there");
    coir_within(f, &f->scope, coir_now() + 20 * COIR_MS, &f->goes, goes, .shard = 1, .ns = 3600 * COIR_S);
    EQ(coir_status(&f->goes), -ETIMEDOUT, "cancelled while it was there");
    EQ(cancelled, 2, "it was told");
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(interrupts, .scope = &f->scope, .before = of(&cleaning)));
    coir_within(f, &f->scope, COIR_NEVER, &f->goes, goes, .shard = 2, .ns = 1, .cleanup = 60 * COIR_MS);
    EQ(coir_status(&f->goes), 0, "cancelled in its finally, which is left alone");
    EQ(f->goes.result, 102, "its result comes home");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    f->in_time = f->late = f->other = 0;
    for (f->i = 0; f->i < ROUNDS / 4; f->i++) {
        coir_within(f, &f->scope, coir_now() + f->i % 100 * 1000, &f->goes, goes, .shard = 1 + f->i % 2,
                    .ns = 50000);
        f->in_time += coir_status(&f->goes) == 0 && f->goes.result == 101 + f->i % 2;
        f->late += coir_status(&f->goes) == -ETIMEDOUT;
    }
    EQ(f->in_time + f->late, ROUNDS / 4, "cancels that race with the end");
    NOTE("%d in time, %d late", f->in_time, f->late);
    EQ(begun, ended, "whoever began has ended");
    EQ(wrong, 0, "on its shard");
} coir_end

/* Awaits away in its finally: that has ten seconds too, wherever it is spent. */
struct late {
    coir_frame_void;
    coir_no_args;
    int64_t began;
    struct there there;
    struct coir_sleep sleep;
};
static coir_declare(late);

static int late_status, late_seconds;

coir_body(late, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = 3600 * COIR_S);
    coir_finally(f) {
        f->began = coir_now();
        coir_await_on(f, 1, &f->there, there, .shard = 1, .ns = 25 * COIR_S);
        late_status = coir_status(&f->there);
        late_seconds = (int)((coir_now() - f->began) / COIR_S);
    }
} coir_end

struct late_scope {
    coir_frame_void;
    coir_no_args;
    struct coir_scope scope;
    struct late late;
};
static coir_declare(late_scope);

coir_body(late_scope, f) {
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->late, late);
    EQ(coir_status(&f->late), -ETIMEDOUT, "a deadline, and a finally that goes away for long");
    EQ(late_status, -ECANCELED, "it is cancelled there");
    OK(late_seconds >= 9 && late_seconds < 20, "after ten seconds and not twice ten (%d)", late_seconds);
} coir_end

/* Children on three shards race: the losers are cancelled there, and waited for. */
struct race {
    coir_frame_void;
    coir_no_args;
    int i;
    struct goes goes[SHARDS];
    struct coir_task *kids[SHARDS];
    struct coir_combine race;
};
static coir_declare(race);

coir_body(race, f) {
    forget();
    for (f->i = 0; f->i < 50; f->i++) {
        for (int k = 0; k < SHARDS; k++)
            f->kids[k] = coir_make(&f->goes[k], goes, .shard = k,
                                   .ns = (f->i + k) % 3 == 0 ? 1000 : 3600 * COIR_S);
        coir_race(f, &f->race, f->kids, SHARDS);
        if (coir_status(&f->race) != 0 || f->race.result != (size_t)(3 - f->i % 3) % 3)
            add(&wrong);
    }
    EQ(wrong, 0, "races over three shards: the right one wins");
    EQ(ended, 50 * SHARDS, "everybody has ended");
    EQ(cancelled, 50 * (SHARDS - 1), "the losers cancelled");
} coir_end

/* ---- coir_spawn_on ---- */

struct spawns {
    coir_frame_void;
    coir_args(int depth;);
    int i;
    struct coir_pass pass;
};
static coir_declare(spawns);

/* A tree of tasks, each level on the next shard. */
coir_body(spawns, f) {
    add(&begun);
    for (f->i = 0; f->i < 3 && f->depth; f->i++) {
        coir_spawn_on((unsigned)(coir_shard_id() + 1) % SHARDS, coir_new(spawns, .depth = f->depth - 1));
        coir_try(f, &f->pass, coir_pass);
    }
    add(&ended);
} coir_end

struct bad_spawns {
    coir_frame_void;
    coir_no_args;
    struct coir_stats stats;
};
static coir_declare(bad_spawns);

coir_body(bad_spawns, f) {
    EQ(coir_spawn_on(SHARDS, coir_new(there)), -EINVAL, "coir_spawn_on, a shard that is not there");
    EQ(coir_spawn_on(1, NULL), -ENOMEM, "no task");
    EQ(coir_spawn_on(0, coir_new(there, .shard = 0)), 0, "one's own shard");
    EQ(coir_shard_count(), SHARDS, "the number of shards");
    EQ(coir_stats(SHARDS, &f->stats), -EINVAL, "the counters of a shard that is not there");
    EQ(coir_stats(SHARDS - 1, &f->stats), 0, "of another one");
} coir_end

/* ---- pinned threads ---- */

struct cpus {
    coir_frame(int);
    coir_no_args;
};
static coir_declare(cpus);

static int cpus_of_thread(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) < 0 ? -1 : CPU_COUNT(&set);
}

coir_body(cpus, f) {
    coir_return(f, cpus_of_thread());
} coir_end

static int64_t cpus_of_pool(void *arg)
{
    (void)arg;
    return cpus_of_thread();
}

/* The first processor that the thread may run on. */
struct cpu {
    coir_frame(int);
    coir_no_args;
};
static coir_declare(cpu);

static int first_cpu(void)
{
    cpu_set_t set;
    int cpu = 0;

    if (sched_getaffinity(0, sizeof set, &set) < 0)
        return -1;
    while (!CPU_ISSET(cpu, &set))
        cpu++;
    return cpu;
}

coir_body(cpu, f) {
    coir_return(f, first_cpu());
} coir_end

struct pins {
    coir_frame_void;
    coir_args(int expected; int all;);
    int i, first;
    struct cpus cpus;
    struct cpu cpu;
    struct coir_offload offload;
};
static coir_declare(pins);

coir_body(pins, f) {
    for (f->i = 0; f->i < SHARDS; f->i++) {
        coir_await_on(f, (unsigned)f->i, &f->cpus, cpus);
        EQ(f->cpus.result, f->expected, "shard %d may run on %d processors", f->i, f->expected);
    }
    coir_await_on(f, 0, &f->cpu, cpu);
    f->first = f->cpu.result;
    coir_await_on(f, 1, &f->cpu, cpu);
    EQ(f->cpu.result != f->first, f->expected == 1, "shards 0 and 1 are pinned to different ones, if at all");
    coir_await(f, &f->offload, coir_offload, .fn = cpus_of_pool);
    EQ(f->offload.result, f->all, "a thread of a pool may run on all");
} coir_end

static void pinning(const struct coir_options *pinned, const struct coir_options *unpinned)
{
    const struct coir_options one = { .shards = 1 };
    const int all = cpus_of_thread();

    if (all < 2) {
        SKIP("one processor");
        return;
    }
    EQ(coir_run(pinned, coir_new(pins, .expected = 1, .all = all)), 0, "pinned");
    EQ(cpus_of_thread(), all, "the calling thread has its own again afterwards");
    EQ(coir_run(unpinned, coir_new(pins, .expected = all, .all = all)), 0, "unpinned");
    EQ(coir_run(&one, coir_new(cpus)), 0, "one shard is never pinned");
}

/* ---- an allocator of the program's own ---- */

static int blocks;

static void *counted_alloc(size_t size, void *ctx)
{
    add(ctx);
    return malloc(size);
}

static void counted_free(void *p, size_t size, void *ctx)
{
    (void)size;
    __atomic_sub_fetch((int *)ctx, 1, __ATOMIC_RELAXED);
    free(p);
}

struct allocates {
    coir_frame_void;
    coir_no_args;
    int i;
};
static coir_declare(allocates);

coir_body(allocates, f) {
    for (f->i = 0; f->i < 3000; f->i++)
        coir_spawn_on((unsigned)f->i % SHARDS, coir_new(there, .shard = f->i % SHARDS));
    OK(of(&blocks) > 0, "frames come from it");
} coir_end

static void allocator(void)
{
    const struct coir_allocator counted = { counted_alloc, counted_free, &blocks };
    const struct coir_options o = { .shards = SHARDS, .allocator = &counted, .drain = true };

    EQ(coir_run(&o, coir_new(allocates)), 0, "an allocator of the program's own");
    EQ(blocks, 0, "everything goes back to it");
}

/* ---- work in flight ---- */

struct leaves_work {
    coir_frame_void;
    coir_no_args;
    int i;
    struct coir_sleep sleep;
};
static coir_declare(leaves_work);

struct reader {
    coir_frame_void;
    coir_no_args;
    int fds[2];
    char byte;
    union {
        struct coir_read read;
        struct coir_close close;
    };
};
static coir_declare(reader);

coir_body(reader, f) {
    f->fds[0] = f->fds[1] = -1;
    add(&begun);
    if (coir_pipe(f->fds))
        coir_fail(f, EMFILE);
    coir_try(f, &f->read, coir_read, .fd = f->fds[0], .buf = &f->byte, .len = 1);
    coir_finally(f) {
        coir_await(f, &f->close, coir_close, .fd = f->fds[0]);
        coir_await(f, &f->close, coir_close, .fd = f->fds[1]);
        add(&ended);
        if (f->task.status == -ECANCELED)
            add(&cancelled);
    }
} coir_end

coir_body(leaves_work, f) {
    forget();
    for (f->i = 0; f->i < 10 * SHARDS; f->i++) {
        coir_spawn_on((unsigned)f->i % SHARDS, coir_new(reader));
        coir_spawn_on((unsigned)f->i % SHARDS, coir_new(there, .shard = f->i % SHARDS, .ns = 3600 * COIR_S,
                                                        .cleanup = COIR_MS));
        coir_spawn_on((unsigned)f->i % SHARDS, coir_new(goes, .shard = (f->i + 1) % SHARDS,
                                                        .ns = 3600 * COIR_S));
    }
    if (f->i % 2)
        coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
} coir_end

/* ---- threads that are no shard ---- */

static void *stops(void *unused)
{
    usleep(20000);
    coir_stop();
    return unused;
}

/* When the other task of `hour` has begun: before the run has, nothing would be stopped. */
static void *stops_hour(void *unused)
{
    while (of(&begun) == 0)
        usleep(1000);
    return stops(unused);
}

struct hour {
    coir_frame_void;
    coir_no_args;
    struct coir_sleep sleep;
};
static coir_declare(hour);

coir_body(hour, f) {
    coir_spawn_on(1, coir_new(there, .shard = 1, .ns = 3600 * COIR_S));
    coir_try(f, &f->sleep, coir_sleep, .ns = 3600 * COIR_S);
} coir_end

static int synced, sync_failed, sync_refused, sync_other;

/* Syncs until the run is gone. */
static void *syncs(void *unused)
{
    for (int i = 0;; i++) {
        const int status = coir_sync((unsigned)i % SHARDS, coir_new(there, .shard = i % SHARDS,
                                                                    .fails = i % 4 == 2 ? EIO : 0));
        if (status == -EINVAL)
            break;
        synced += status == 0;
        sync_failed += status == -EIO;
        sync_refused += status == -ECANCELED;
        sync_other += status != 0 && status != -EIO && status != -ECANCELED;
    }
    return unused;
}

struct short_run {
    coir_frame_void;
    coir_args(int64_t ns;);
    struct coir_sleep sleep;
};
static coir_declare(short_run);

coir_body(short_run, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = f->ns);
} coir_end

struct syncs_itself {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(syncs_itself);

coir_body(syncs_itself, f) {
    coir_fail(f, coir_sync(0, coir_new(there)));
} coir_end

static int sync_on_shard(void)
{
    return -coir_run(NULL, coir_new(syncs_itself));
}

static void threads(const struct coir_options *o)
{
    pthread_t thread, stopper;
    const struct ending *e;

    forget();
    pthread_create(&thread, NULL, stops_hour, NULL);
    EQ(coir_run(o, coir_new(hour)), -ECANCELED, "coir_stop from a thread cancels the main task");
    EQ(cancelled, 1, "and the others");
    pthread_join(thread, NULL);
    coir_stop();
    EQ(coir_sync(0, coir_new(there)), -EINVAL, "coir_sync where nothing runs");
    EQ(coir_sync(0, NULL), -ENOMEM, "coir_sync of nothing");
    EQ(coir_spawn_on(0, coir_new(there)), -EINVAL, "coir_spawn_on where nothing runs");
    EQ(coir_shard_id(), -1, "this thread is no shard");
    EQ(coir_shard_count(), 0, "there is none");
    e = in_child(sync_on_shard);
    EQ(WEXITSTATUS(e->status), EDEADLK, "coir_sync on a shard");
    OK(strstr(e->said, "coir_sync on shard 0 would wait for itself (task there made at ") && strstr(e->said,
                                                                                                    "test_across.c:"),
       "names the place");
    for (int i = 0; i < 20; i++) {
        synced = sync_failed = sync_refused = sync_other = 0;
        forget();
        struct coir_task *const t = coir_new(short_run, .ns = i * COIR_MS);
        /* begins to sync when there is a run, and goes on until there is none */
        pthread_create(&stopper, NULL, stops, NULL);
        const int err = coir_run(o, t);
        OK(err == 0 || err == -ECANCELED, "a run of %d ms and a coir_stop about then", i);
        pthread_join(stopper, NULL);
    }
}

struct with_syncer {
    coir_frame_void;
    coir_args(int64_t ns;);
    struct coir_sleep sleep;
    pthread_t thread;
};
static coir_declare(with_syncer);

static pthread_t syncer;

coir_body(with_syncer, f) {
    pthread_create(&syncer, NULL, syncs, NULL);
    coir_try(f, &f->sleep, coir_sleep, .ns = f->ns);
} coir_end

static void syncing(const struct coir_options *o)
{
    int all = 0;

    for (int i = 0; i < 20; i++) {
        synced = sync_failed = sync_refused = sync_other = 0;
        forget();
        EQ(coir_run(o, coir_new(with_syncer, .ns = (i % 10) * COIR_MS)), 0,
           "a run of %d ms, and a thread that syncs", i % 10);
        pthread_join(syncer, NULL);
        EQ(sync_other, 0, "each call had the task's status");
        EQ(synced + sync_failed, of(&ended) - cancelled, "or was cancelled with the run");
        EQ(wrong, 0, "each ran where it was sent");
        all += synced;
    }
    NOTE("%d calls", all);
}

/* ---- letters among many steps ---- */

enum { PASSERS = 40, LETTERS = 60 };

static long passed;                     /* steps of passers, of one shard */
static bool arrived;

struct passer {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
};
static coir_declare(passer);

coir_body(passer, f) {
    for (;;) {
        coir_try(f, &f->pass, coir_pass);
        passed++;
    }
} coir_end

struct arrives {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(arrives);

coir_body(arrives, f) {
    arrived = true;
} coir_end

struct letters {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_pass pass;
    long before, longest;
    int i;
};
static coir_declare(letters);

/* A turn has many steps, but a letter does not wait for all of them: its task comes behind those that are ready. */
coir_body(letters, f) {
    f->longest = 0;
    coir_group_open(f, &f->group);
    for (f->i = 0; f->i < PASSERS; f->i++)
        coir_spawn(&f->group, coir_new(passer));
    for (f->i = 0; f->i < LETTERS; f->i++) {
        arrived = false;
        f->before = passed;
        coir_spawn_on(0, coir_new(arrives));
        while (!arrived)
            coir_try(f, &f->pass, coir_pass);
        f->longest = passed - f->before > f->longest ? passed - f->before : f->longest;
    }
    if (COIR_TURN_STEPS > COIR_TURN_LOOK)           /* else tasks come in any order */
        OK(f->longest <= 2 * PASSERS + COIR_TURN_LOOK, "%d letters: the latest came after %ld steps", LETTERS,
           f->longest);
    coir_finally(f) {
        coir_group_cancel(&f->group);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

int main(void)
{
    const struct coir_options pinned = { .shards = SHARDS }, unpinned = { .shards = SHARDS,
                                                                          .unpinned = true };
    const struct coir_options drain = { .shards = SHARDS, .drain = true };

    unsetenv("COIR_TIME");
    EQ(coir_run(&pinned, coir_new(homes)), 0, "children on other shards");
    EQ(coir_run(&unpinned, coir_new(homes)), 0, "on threads that are not pinned");
    EQ(coir_run(&pinned, coir_new(cancels)), 0, "cancelling them");
    EQ(coir_run(NULL, coir_new(letters)), 0, "letters among many steps");
    EQ(coir_run(&pinned, coir_new(race)), 0, "racing");
    if (getenv("COIR_TEST_LONG"))
        EQ(coir_run(&pinned, coir_new(late_scope)), 0, "a long finally");
    forget();
    EQ(coir_run(&drain, coir_new(spawns, .depth = 6)), 0, "a tree of tasks over the shards");
    EQ(begun, 1 + 3 + 9 + 27 + 81 + 243 + 729, "each began");
    EQ(ended, begun, "and ended, before coir_run returned");
    EQ(coir_run(&pinned, coir_new(bad_spawns)), 0, "what cannot be spawned");
    pinning(&pinned, &unpinned);
    allocator();
    for (int i = 0; i < 10; i++) {
        EQ(coir_run(&pinned, coir_new(leaves_work)), 0, "main ends with work in flight");
        EQ(begun, ended, "all that began ended");
        EQ(wrong, 0, "where it was");
    }
    threads(&pinned);
    syncing(&pinned);
    return DONE();
}
