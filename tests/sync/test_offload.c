/* SPDX-License-Identifier: MIT */
/*
 * Functions on pools: results, bounds, order, what a cancellation does in every state, what the counts say, and
 * what happens when no thread can be had. Nothing here depends on time: a function that is to run until
 * something has happened waits for it.
 */
#include <coir/coir.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#include "runtime/base/pool.h"
#include "runtime/task/workers.h"
#include "tap.h"

#define SAYS(expected, slot, op, ...) do { \
    coir_await(f, slot, op, __VA_ARGS__); \
    EQ(coir_status(slot), expected, "%s: %s at line %d", #op, coir_strerror(expected), __LINE__); \
    } while (0)

/* Functions wait at a gate until a test opens it. */
static sem_t gate, arrived;
static int ran;                          /* atomic: functions that have begun */

static int64_t at_the_gate(void *arg)
{
    __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
    sem_post(&arrived);
    while (sem_wait(&gate) < 0)
        ;
    return (int64_t)(intptr_t)arg;
}

static void open_gate(int n)
{
    while (n-- > 0)
        sem_post(&gate);
}

static void wait_arrived(int n)
{
    while (n > 0)
        n -= sem_wait(&arrived) == 0;
}

/* As if none had come yet. */
static void fresh(void)
{
    while (sem_trywait(&gate) == 0)
        ;
    while (sem_trywait(&arrived) == 0)
        ;
    __atomic_store_n(&ran, 0, __ATOMIC_RELAXED);
}

static int64_t add_one(void *arg)
{
    __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
    return ++*(int64_t *)arg;
}

static int64_t minus_five(void *arg)
{
    (void)arg;
    return -5;
}

/* How many signals are not as they should be: this thread blocks all but those of its own faults. SIGKILL and SIGSTOP
 * cannot be blocked. */
static int64_t misblocked(void *arg)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT };
    sigset_t mask, wanted;
    int n = 0;

    (void)arg;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    sigfillset(&wanted);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&wanted, faults[i]);
    for (int sig = 1; sig < 32; sig++)
        n += sig != SIGKILL && sig != SIGSTOP && sigismember(&mask, sig) != sigismember(&wanted, sig);
    return n;
}

static int64_t shard_id(void *arg)
{
    (void)arg;
    return coir_shard_id();
}

/* ---- one at a time ---- */

struct simple {
    coir_frame_void;
    coir_no_args;
    int64_t number;
    char name[32];
    struct coir_pool_counts counts;
    struct coir_offload offload;
};
static coir_declare(simple);

static __attribute__((noinline)) void *on_the_stack(void)
{
    return __builtin_frame_address(0);
}

coir_body(simple, f) {
    EQ(coir_pool_stats(NULL, &f->counts), -ENOENT, "the default pool is not there before it is used");
    f->number = 41;
    SAYS(0, &f->offload, coir_offload, .fn = add_one, .arg = &f->number);
    EQ(f->offload.result, 42, "the result is what the function returned");
    EQ(f->number, 42, "which saw the frame");
    SAYS(0, &f->offload, coir_offload, .pool = "default", .fn = minus_five);
    EQ(f->offload.result, -5, "a negative value is a result as any other");
    SAYS(0, &f->offload, coir_offload, .fn = misblocked);
    EQ(f->offload.result, 0, "the thread blocks every signal but those of its own faults");
    SAYS(0, &f->offload, coir_offload, .fn = shard_id);
    EQ(f->offload.result, -1, "the thread is no shard");
    SAYS(0, &f->offload, coir_offload, .pool = "file", .fn = minus_five);
    EQ(coir_pool_stats(NULL, &f->counts), 0, "counts of the default pool");
    EQ(f->counts.limit, 8, "eight threads unless said");
    EQ(f->counts.threads, 1, "one was enough");
    EQ(f->counts.done, 4, "four have run on it");
    EQ(f->counts.queued + f->counts.running + f->counts.orphans, 0, "none is left");

    SAYS(-EFAULT, &f->offload, coir_offload, .fn = NULL);
    SAYS(-EFAULT, &f->offload, coir_offload, .fn = add_one, .arg = on_the_stack());
    SAYS(-EFAULT, &f->offload, coir_offload, .pool = on_the_stack(), .fn = add_one);
    SAYS(-ENOENT, &f->offload, coir_offload, .pool = "unheard of", .fn = minus_five);
    EQ(coir_pool_limit("", 3), -EINVAL, "a pool without a name");
    EQ(coir_pool_limit("named", 0), -EINVAL, "a pool without threads");
    EQ(coir_pool_limit("named", 65), -EINVAL, "a pool with too many");
    EQ(coir_pool_limit("a name of twenty-four by", 1), -EINVAL, "a name that is too long");
    EQ(coir_pool_limit("a name of twenty-three.", 64), 0, "one that is not");
    snprintf(f->name, sizeof f->name, "a name of twenty-three.");
    SAYS(0, &f->offload, coir_offload, .pool = f->name, .fn = minus_five);
    EQ(coir_pool_stats("a name of twenty-three.", &f->counts), 0, "its counts");
    EQ(f->counts.limit, 64, "its limit");
} coir_end

/* ---- bounds and order ---- */

enum { MANY = 20 };

struct gated {
    coir_frame(int64_t);
    coir_args(const char *pool; intptr_t n;);
    struct coir_offload offload;
};
static coir_declare(gated);
static int order[MANY], ended;

coir_body(gated, f) {
    coir_get(f, f->result, &f->offload, coir_offload, .pool = f->pool, .fn = at_the_gate, .arg = (void *)f->n);
    order[ended++] = (int)f->result;
} coir_end

struct bounded {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_pool_counts counts;
    struct coir_pass pass;
};
static coir_declare(bounded);
coir_body(bounded, f) {
    fresh();
    EQ(coir_pool_limit("three", 3), 0, "a pool of three");
    coir_group_open(f, &f->group);
    for (int i = 0; i < MANY; i++)
        EQ(coir_spawn(&f->group, coir_new(gated, .pool = "three", .n = i)), 0, "spawned");
    do {
        coir_await(f, &f->pass, coir_pass);
        coir_pool_stats("three", &f->counts);
    } while (f->counts.queued + f->counts.running < MANY);
    wait_arrived(3);
    coir_pool_stats("three", &f->counts);
    EQ(f->counts.threads, 3, "three threads");
    EQ(f->counts.running, 3, "three run");
    EQ(f->counts.queued, MANY - 3, "the others wait");

    EQ(coir_pool_limit("three", 5), 0, "raised to five");
    wait_arrived(2);
    coir_pool_stats("three", &f->counts);
    EQ(f->counts.threads, 5, "five threads");
    EQ(coir_pool_limit("three", 1), 0, "lowered to one");
    open_gate(4);
    do {
        coir_await(f, &f->pass, coir_pass);
        coir_pool_stats("three", &f->counts);
    } while (f->counts.threads > 1);
    EQ(f->counts.done, 4, "four end what they do, and then themselves");
    open_gate(MANY);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), 0, "all have ended");
    EQ(ended, MANY, "each once");
    for (int i = 6; i < MANY; i++)
        EQ(order[i], i, "what one thread does it does in the order of asking");
    coir_pool_stats("three", &f->counts);
    EQ(f->counts.done, MANY, "the pool has counted them");
} coir_end

/* ---- cancelling ---- */

struct cancels {
    coir_frame_void;
    coir_no_args;
    struct coir_group first, second;
    struct coir_group_wait wait;
    struct coir_scope scope;
    struct coir_pool_counts counts;
    struct coir_offload offload;
    struct coir_pass pass;
    int64_t number;
};
static coir_declare(cancels);
coir_body(cancels, f) {
    fresh();
    EQ(coir_pool_limit("one", 1), 0, "a pool of one");
    ended = 0;
    coir_group_open(f, &f->first);
    EQ(coir_spawn(&f->first, coir_new(gated, .pool = "one", .n = 1)), 0, "one that will run");
    coir_await(f, &f->pass, coir_pass);
    wait_arrived(1);
    coir_group_open(f, &f->second);
    for (int i = 0; i < 3; i++)
        EQ(coir_spawn(&f->second, coir_new(gated, .pool = "one", .n = 2)), 0, "one that will wait for a thread");
    coir_await(f, &f->pass, coir_pass);
    coir_pool_stats("one", &f->counts);
    EQ(f->counts.queued, 3, "three are queued");

    coir_group_cancel(&f->second);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->second);
    EQ(coir_status(&f->wait), 0, "a cancelled group ends although its thread is taken");
    coir_pool_stats("one", &f->counts);
    EQ(f->counts.queued, 0, "nothing is queued any more");
    EQ(f->counts.orphans, 0, "nothing runs in vain yet");

    coir_group_cancel(&f->first);
    coir_group_cancel(&f->first);
    coir_pool_stats("one", &f->counts);
    EQ(f->counts.running, 1, "what runs goes on");
    EQ(f->counts.orphans, 1, "and is counted, once");
    EQ(f->first.live, 1, "and waited for");
    open_gate(1);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->first);
    EQ(ended, 1, "it ended with its result, although it was cancelled");
    EQ(order[0], 1, "which was delivered");
    EQ(__atomic_load_n(&ran, __ATOMIC_RELAXED), 1, "the cancelled ones never ran");
    coir_pool_stats("one", &f->counts);
    EQ(f->counts.orphans, 0, "no orphan is left");

    f->number = 0;
    coir_within(f, &f->scope, coir_now() - 1, &f->offload, coir_offload, .fn = add_one, .arg = &f->number);
    EQ(coir_status(&f->offload), -ETIMEDOUT, "a deadline in the past: not started");
    EQ(f->number, 0, "not at all");
} coir_end

/* ---- a deadline passes while it runs ---- */

static int64_t after_the_deadline(void *arg)
{
    const struct timespec ms = { 0, 1000000 };

    while (!__atomic_load_n((int *)arg, __ATOMIC_ACQUIRE))
        nanosleep(&ms, NULL);
    return 7;
}

struct watches {
    coir_frame_void;
    coir_args(int *flag; int64_t at;);
    struct coir_sleep_until sleep;
};
static coir_declare(watches);
coir_body(watches, f) {
    coir_await(f, &f->sleep, coir_sleep_until, .at = f->at);
    __atomic_store_n(f->flag, 1, __ATOMIC_RELEASE);
} coir_end

struct late {
    coir_frame_void;
    coir_no_args;
    int flag;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_scope scope;
    struct coir_offload offload;
};
static coir_declare(late);
coir_body(late, f) {
    f->flag = 0;
    coir_group_open(f, &f->group);
    EQ(coir_spawn(&f->group, coir_new(watches, .flag = &f->flag, .at = coir_now() + 320 * COIR_MS)), 0, "spawned");
    coir_within(f, &f->scope, coir_now() + 300 * COIR_MS, &f->offload, coir_offload, .fn = after_the_deadline,
                .arg = &f->flag);
    EQ(f->flag, 1, "the deadline did not end the wait");
    EQ(coir_status(&f->offload), 0, "the function's end did, and counts");
    EQ(f->offload.result, 7, "with its result");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

/* ---- threads that end when they are idle ---- */

struct idles {
    coir_frame_void;
    coir_no_args;
    struct coir_pool_counts counts;
    struct coir_offload offload;
    struct coir_sleep sleep;
    int rounds;
};
static coir_declare(idles);
coir_body(idles, f) {
    for (f->rounds = 0; f->rounds < 3; f->rounds++) {
        SAYS(0, &f->offload, coir_offload, .fn = minus_five);
        do {
            coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
            coir_pool_stats(NULL, &f->counts);
        } while (f->counts.threads);
    }
    EQ(f->counts.done, 3, "each time a new thread did it");
} coir_end

/* ---- under virtual time ---- */

static int64_t takes_a_while(void *arg)
{
    const struct timespec ms = { 0, 5000000 };

    (void)arg;
    nanosleep(&ms, NULL);
    return 1;
}

struct virtual {
    coir_frame_void;
    coir_no_args;
    int64_t began;
    struct coir_scope scope;
    struct coir_offload offload;
    struct coir_sleep sleep;
};
static coir_declare(virtual);
coir_body(virtual, f) {
    f->began = coir_now();
    coir_within(f, &f->scope, f->began + COIR_MS, &f->offload, coir_offload, .fn = takes_a_while);
    EQ(coir_status(&f->offload), 0, "a function takes no virtual time, so that its deadline does not pass");
    EQ(coir_now(), f->began, "none at all");
    SAYS(0, &f->sleep, coir_sleep, .ns = 3600 * COIR_S);
    EQ(coir_now(), f->began + 3600 * COIR_S, "a sleep does");
} coir_end

/* ---- the program ends meanwhile ---- */

/* When the program is about to end, and a while later. */
static void *open_gate_later(void *leaving)
{
    const struct timespec ms = { 0, 20000000 };

    do
        nanosleep(&ms, NULL);
    while (!__atomic_load_n((int *)leaving, __ATOMIC_ACQUIRE));
    nanosleep(&ms, NULL);
    open_gate(1);
    return NULL;
}

struct leaves {
    coir_frame_void;
    coir_args(bool stop; int *leaving;);
    struct coir_sleep sleep;
};
static coir_declare(leaves);
coir_body(leaves, f) {
    EQ(coir_pool_limit("one", 1), 0, "a pool of one");
    EQ(coir_detach(coir_new(gated, .pool = "one", .n = 1)), 0, "one that will run");
    coir_await(f, &f->sleep, coir_sleep, .ns = 1);
    wait_arrived(1);
    EQ(coir_detach(coir_new(gated, .pool = "one", .n = 2)), 0, "one that will not");
    coir_await(f, &f->sleep, coir_sleep, .ns = 1);
    __atomic_store_n(f->leaving, 1, __ATOMIC_RELEASE);
    if (f->stop) {
        coir_stop();
        SAYS(-ECANCELED, &f->sleep, coir_sleep, .ns = 1000 * COIR_S);
    }
} coir_end

static void ends_meanwhile(bool stop)
{
    pthread_t thread;
    int leaving = 0;

    fresh();
    ended = 0;
    pthread_create(&thread, NULL, open_gate_later, &leaving);
    EQ(coir_run(NULL, coir_new(leaves, .stop = stop, .leaving = &leaving)), 0, "the program has ended");
    EQ(ended, 1, "after what was running had, which counts");
    EQ(__atomic_load_n(&ran, __ATOMIC_RELAXED), 1, "what was queued has not run");
    pthread_join(thread, NULL);
}

/* ---- what coir_dump says ---- */

struct dumps {
    coir_frame_void;
    coir_no_args;
    char *text;
    size_t length;
    FILE *to;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_pass pass;
};
static coir_declare(dumps);
coir_body(dumps, f) {
    fresh();
    EQ(coir_pool_limit("narrow", 1), 0, "a pool of one");
    coir_group_open(f, &f->group);
    for (int i = 0; i < 2; i++)
        EQ(coir_spawn(&f->group, coir_new(gated, .pool = "narrow", .n = 1)), 0, "spawned");
    coir_await(f, &f->pass, coir_pass);
    coir_await(f, &f->pass, coir_pass);
    wait_arrived(1);
    f->to = open_memstream(&f->text, &f->length);
    coir_dump(f->to);
    fclose(f->to);
    OK(strstr(f->text, "waits for a function on pool \"narrow\""), "the one that runs");
    OK(strstr(f->text, "is queued for pool \"narrow\""), "the one that does not");
    free(f->text);
    open_gate(2);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

/* ---- no thread, no memory ---- */

#ifdef COIR_FAULTS
struct starved {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_pool_counts counts;
    struct coir_offload offload;
    struct coir_pass pass;
};
static coir_declare(starved);
coir_body(starved, f) {
    fresh();
    coir_fail_alloc_at = 1;
    SAYS(-ENOMEM, &f->offload, coir_offload, .fn = minus_five);
    coir_fail_alloc_at = 2;
    SAYS(-EAGAIN, &f->offload, coir_offload, .fn = minus_five);
    coir_pool_stats(NULL, &f->counts);
    EQ(f->counts.queued, 0, "what got no thread is not queued");
    coir_group_open(f, &f->group);
    EQ(coir_spawn(&f->group, coir_new(gated, .n = 1)), 0, "one with a thread");
    coir_await(f, &f->pass, coir_pass);
    wait_arrived(1);
    coir_fail_alloc_at = 1;
    open_gate(2);
    SAYS(0, &f->offload, coir_offload, .fn = at_the_gate, .arg = (void *)9);
    EQ(f->offload.result, 9, "with one thread there a second that cannot be had is no error");
    coir_fail_alloc_at = 0;
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

static void with_faults(void)
{
    ended = 0;
    EQ(coir_run(NULL, coir_new(starved)), 0, "starved");
}
#else
static void with_faults(void)
{
    SKIP("built without COIR_FAULTS");
}
#endif

int main(void)
{
    struct coir_pool_counts counts;

    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    sem_init(&gate, 0, 0);
    sem_init(&arrived, 0, 0);
    EQ(coir_pool_limit("early", 2), -EINVAL, "no pool where no shard runs");
    EQ(coir_pool_stats(NULL, &counts), -EINVAL, "nor its counts");
    EQ(coir_run(NULL, coir_new(simple)), 0, "simple");
    EQ(coir_run(NULL, coir_new(bounded)), 0, "bounded");
    EQ(coir_run(NULL, coir_new(cancels)), 0, "cancels");
    EQ(coir_run(NULL, coir_new(late)), 0, "late");
    coir_workers_patience = 2 * COIR_MS;
    EQ(coir_run(NULL, coir_new(idles)), 0, "idles");
    coir_workers_patience = 10 * COIR_S;
    ends_meanwhile(false);
    ends_meanwhile(true);
    ended = 0;
    EQ(coir_run(NULL, coir_new(dumps)), 0, "dumps");
    with_faults();
    setenv("COIR_TIME", "virtual", 1);
    EQ(coir_run(NULL, coir_new(virtual)), 0, "virtual");
    return DONE();
}
