/* SPDX-License-Identifier: MIT */
/*
 * Cells: every order of completing, waiting, revoking, calling and cancelling, on one thread exactly and from
 * other threads many times.
 */
#include "help.h"

#include <sched.h>
#include <sys/mman.h>

enum { ROUNDS = SANITIZED ? 500 : 2000 };

/* ---- on one thread ---- */

struct awaits {
    coir_frame(int64_t);
    coir_args(struct coir_cell *cell;);
    struct coir_cell_wait wait;
};
static coir_declare(awaits);

static int64_t got_value;
static int got_status;

coir_body(awaits, f) {
    coir_await(f, &f->wait, coir_cell_wait, .cell = f->cell);
    got_value = f->wait.result;
    got_status = coir_status(&f->wait);
    trace("w");
} coir_end

static void called(struct coir_cell *c, void *arg)
{
    got_value = c->value;
    got_status = c->status;
    trace(arg);
}

struct orders {
    coir_frame_void;
    coir_no_args;
    struct coir_cell cell, *counted;
    struct coir_group group;
    struct coir_scope scope;
    union {
        struct coir_cell_wait wait;
        struct coir_group_wait group_wait;
        struct coir_sleep sleep;
    };
};
static coir_declare(orders);

coir_body(orders, f) {
    coir_cell_init(&f->cell);
    OK(!coir_cell_done(&f->cell), "an empty cell is not done");
    EQ(coir_cell_complete(&f->cell, 0, 42), 0, "completed first");
    OK(coir_cell_done(&f->cell), "then it is");
    OK(!coir_cell_revoke(&f->cell), "and cannot be revoked");
    coir_await(f, &f->wait, coir_cell_wait, .cell = &f->cell);
    EQ(coir_status(&f->wait), 0, "awaited afterwards");
    EQ(f->wait.result, 42, "its value");
    coir_await(f, &f->wait, coir_cell_wait, .cell = &f->cell);
    EQ(f->wait.result, 42, "awaited again");

    coir_cell_init(&f->cell);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(awaits, .cell = &f->cell));
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    coir_await(f, &f->wait, coir_cell_wait, .cell = &f->cell);
    EQ(coir_status(&f->wait), -EINVAL, "another task awaits it");
    EQ(coir_cell_complete(&f->cell, -EPROTO, -7), 0, "completed second");
    STR_EQ(traces(), "", "the awaiter does not run inside");
    coir_try(f, &f->group_wait, coir_group_wait, .group = &f->group);
    EQ(got_status, -EPROTO, "it gets the status");
    EQ(got_value, -7, "and the value");

    coir_cell_init(&f->cell);
    OK(coir_cell_revoke(&f->cell), "revoked first");
    OK(coir_cell_revoke(&f->cell), "stays revoked");
    EQ(coir_cell_complete(&f->cell, 0, 1), -ECANCELED, "completing it then says so");
    coir_await(f, &f->wait, coir_cell_wait, .cell = &f->cell);
    EQ(coir_status(&f->wait), -ECANCELED, "and so does awaiting it");

    coir_cell_init(&f->cell);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(awaits, .cell = &f->cell));
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    OK(coir_cell_revoke(&f->cell), "revoked while it is awaited");
    coir_try(f, &f->group_wait, coir_group_wait, .group = &f->group);
    EQ(got_status, -ECANCELED, "the awaiter is told");
    traces();
} coir_end

struct callbacks {
    coir_frame_void;
    coir_no_args;
    struct coir_cell cell, *counted;
    struct coir_group group;
    struct coir_scope scope;
    union {
        struct coir_cell_wait wait;
        struct coir_group_wait group_wait;
        struct coir_sleep sleep;
    };
};
static coir_declare(callbacks);

coir_body(callbacks, f) {
    coir_cell_init(&f->cell);
    coir_cell_call(&f->cell, called, "c");
    STR_EQ(traces(), "", "a callback waits");
    coir_await(f, &f->wait, coir_cell_wait, .cell = &f->cell);
    EQ(coir_status(&f->wait), -EINVAL, "a cell with a callback cannot be awaited");
    EQ(coir_cell_complete(&f->cell, -EIO, 8), 0, "and is called");
    STR_EQ(traces(), "c", "inline");
    EQ(got_value, 8, "with the value");
    coir_cell_init(&f->cell);
    coir_cell_complete(&f->cell, 0, 9);
    coir_cell_call(&f->cell, called, "d");
    STR_EQ(traces(), "d", "a callback of a complete cell is called at once");
    coir_cell_init(&f->cell);
    coir_cell_call(&f->cell, called, "e");
    OK(coir_cell_revoke(&f->cell), "revoked with a callback");
    EQ(coir_cell_complete(&f->cell, 0, 9), -ECANCELED, "it is not completed");
    STR_EQ(traces(), "", "and nobody is called");
    coir_cell_destroy(&f->cell);
} coir_end

struct cancelled_waits {
    coir_frame_void;
    coir_no_args;
    struct coir_cell cell, *counted;
    struct coir_group group;
    struct coir_scope scope;
    union {
        struct coir_cell_wait wait;
        struct coir_group_wait group_wait;
        struct coir_sleep sleep;
    };
};
static coir_declare(cancelled_waits);

coir_body(cancelled_waits, f) {
    coir_cell_init(&f->cell);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(awaits, .cell = &f->cell));
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    coir_group_cancel(&f->group);
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    STR_EQ(traces(), "", "the wait for a cell in a frame ignores cancellation");
    coir_cell_complete(&f->cell, 0, 5);
    coir_try(f, &f->group_wait, coir_group_wait, .group = &f->group);
    EQ(got_status, 0, "until it is completed");
    traces();

    f->counted = coir_cell_new();
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->wait, coir_cell_wait, .cell = f->counted);
    EQ(coir_status(&f->wait), -ETIMEDOUT, "the wait for a counted one does not");
    coir_await(f, &f->wait, coir_cell_wait, .cell = NULL);
    EQ(coir_status(&f->wait), -EFAULT, "no cell");
    coir_cell_drop(f->counted);
    EQ(coir_cell_complete(f->counted, 0, 1), 0, "the other party completes it all the same");
    coir_cell_drop(f->counted);
    f->counted = coir_cell_new();
    coir_within(f, &f->scope, coir_now(), &f->wait, coir_cell_wait, .cell = f->counted);
    EQ(coir_status(&f->wait), -ETIMEDOUT, "a counted one in a cancelled scope");
    coir_cell_complete(f->counted, 0, 3);
    coir_within(f, &f->scope, coir_now(), &f->wait, coir_cell_wait, .cell = f->counted);
    EQ(coir_status(&f->wait), 0, "a complete one in a cancelled scope");
    EQ(f->wait.result, 3, "has its value");
    coir_cell_drop(f->counted);
    coir_cell_drop(f->counted);
} coir_end

static void every_order(void)
{
    EQ(run(coir_new(orders)), 0, "completing, waiting, revoking");
    EQ(run(coir_new(callbacks)), 0, "callbacks");
    EQ(run(coir_new(cancelled_waits)), 0, "cancelled waits");
}

/* Another task of the shard completes it later: that holds under virtual time, too. */
struct completes {
    coir_frame_void;
    coir_args(struct coir_cell *cell; int64_t ns;);
    struct coir_sleep sleep;
};
static coir_declare(completes);

coir_body(completes, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = f->ns);
    coir_cell_complete(f->cell, 0, 11);
} coir_end

struct later {
    coir_frame_void;
    coir_no_args;
    int64_t began;
    struct coir_cell cell, *counted;
    struct coir_group group;
    struct coir_scope scope;
    union {
        struct coir_cell_wait wait;
        struct coir_group_wait group_wait;
    };
};
static coir_declare(later);

coir_body(later, f) {
    f->began = coir_now();
    coir_cell_init(&f->cell);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(completes, .cell = &f->cell, .ns = 3600 * COIR_S));
    coir_try(f, &f->wait, coir_cell_wait, .cell = &f->cell);
    EQ(f->wait.result, 11, "a cell that another task completes after an hour");
    EQ(coir_now() - f->began, 3600 * COIR_S, "of virtual time");
    f->counted = coir_cell_new();
    coir_within(f, &f->scope, coir_now() + COIR_S, &f->wait, coir_cell_wait, .cell = f->counted);
    EQ(coir_status(&f->wait), -ETIMEDOUT, "a cell that nobody completes, and a deadline");
    coir_cell_drop(f->counted);
    coir_cell_drop(f->counted);
    coir_try(f, &f->group_wait, coir_group_wait, .group = &f->group);
} coir_end

/* ---- from threads ---- */

static struct coir_cell *volatile handed;        /* to the thread, one at a time */
static int go, taken;

static struct coir_cell *take(void)
{
    struct coir_cell *c;

    while (!(c = __atomic_exchange_n(&handed, NULL, __ATOMIC_ACQ_REL)) && !__atomic_load_n(&go,
                                                                                           __ATOMIC_ACQUIRE))
        sched_yield();
    return c;
}

static int64_t completed, refused;

static void *complete_all(void *unused)
{
    struct coir_cell *c;

    for (int64_t n = 1; (c = take()); n++) {
        for (int spin = 0; spin < n % 200; spin++)
            __asm__ volatile("");
        if (coir_cell_complete(c, 0, n) == 0)
            completed++;
        else
            refused++;
        __atomic_add_fetch(&taken, 1, __ATOMIC_RELEASE);
    }
    return unused;
}

static void hand(struct coir_cell *c)
{
    __atomic_store_n(&handed, c, __ATOMIC_RELEASE);
}

/* Waits for each of many cells, which the thread completes. The cell is in the frame. */
struct plain {
    coir_frame_void;
    coir_no_args;
    int64_t i, sum;
    struct coir_cell cell;
    struct coir_cell_wait wait;
};
static coir_declare(plain);

coir_body(plain, f) {
    f->sum = 0;
    for (f->i = 1; f->i <= ROUNDS; f->i++) {
        coir_cell_init(&f->cell);
        hand(&f->cell);
        if (f->i % 3 == 0)
            usleep(1);
        coir_try(f, &f->wait, coir_cell_wait, .cell = &f->cell);
        f->sum += f->wait.result;
    }
    EQ(f->sum, (int64_t)ROUNDS * (ROUNDS + 1) / 2, "%d cells completed by a thread: each value once", ROUNDS);
} coir_end

/* The wait and the deadline race with the thread. */
struct races {
    coir_frame_void;
    coir_no_args;
    int64_t i;
    int done, late, other;
    struct coir_cell *cell;
    struct coir_scope scope;
    struct coir_cell_wait wait;
};
static coir_declare(races);

coir_body(races, f) {
    f->done = f->late = f->other = 0;
    for (f->i = 1; f->i <= ROUNDS; f->i++) {
        f->cell = coir_cell_new();
        hand(f->cell);
        coir_within(f, &f->scope, coir_now() + f->i % 50 * 1000, &f->wait, coir_cell_wait, .cell = f->cell);
        f->done += coir_status(&f->wait) == 0;
        f->late += coir_status(&f->wait) == -ETIMEDOUT;
        f->other += coir_status(&f->wait) == 0 && f->wait.result != f->i;
        while (__atomic_load_n(&taken, __ATOMIC_ACQUIRE) < f->i)
            sched_yield();
        coir_cell_drop(f->cell);         /* both parties' */
        coir_cell_drop(f->cell);
    }
    EQ(f->done + f->late, ROUNDS, "%d races of a deadline with a thread: one of the two wins", ROUNDS);
    EQ(f->other, 0, "and a value is the right one");
    NOTE("%d in time, %d late", f->done, f->late);
} coir_end

/* Revoking races with the thread. */
struct revokes {
    coir_frame_void;
    coir_no_args;
    int64_t i;
    int revoked;
    struct coir_cell cell;
    struct coir_cell_wait wait;
    struct coir_pass pass;
};
static coir_declare(revokes);

coir_body(revokes, f) {
    f->revoked = 0;
    for (f->i = 1; f->i <= ROUNDS; f->i++) {
        coir_cell_init(&f->cell);
        hand(&f->cell);
        for (int spin = 0; spin < f->i % 300; spin++)
            __asm__ volatile("");
        f->revoked += coir_cell_revoke(&f->cell);
        while (__atomic_load_n(&taken, __ATOMIC_ACQUIRE) < f->i)
            sched_yield();
        coir_await(f, &f->wait, coir_cell_wait, .cell = &f->cell);
        if (coir_status(&f->wait) != 0 && coir_status(&f->wait) != -ECANCELED)
            coir_fail(f, coir_status(&f->wait));
    }
    EQ(f->revoked, refused, "%d races of a revoke with a thread: what was revoked was not completed", ROUNDS);
    EQ(completed + refused, ROUNDS, "each is one or the other");
} coir_end

static void with_thread(struct coir_task *t, const char *name)
{
    pthread_t thread;

    handed = NULL;
    go = taken = 0;
    completed = refused = 0;
    pthread_create(&thread, NULL, complete_all, NULL);
    EQ(run(t), 0, "%s", name);
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
}

/* The run ends with the letter's arrival, while its thread is still posting it. */
static void *complete_one(void *c)
{
    coir_cell_complete((struct coir_cell *)c, 0, 1);
    return NULL;
}

static void runs_that_end(void)
{
    int good = 0;

    for (int i = 0; i < ROUNDS / 10; i++) {
        struct coir_cell cell;
        pthread_t thread;
        coir_cell_init(&cell);
        pthread_create(&thread, NULL, complete_one, &cell);
        good += run(coir_new(awaits, .cell = &cell)) == 0;
        pthread_join(thread, NULL);
    }
    EQ(good, ROUNDS / 10, "runs that end as a thread completes their cell");
}

/* ---- what stops the program ---- */

static int *first, *second;             /* lines; shared with the child processes */

static int completes_twice(void)
{
    struct coir_cell c;

    coir_cell_init(&c);
    coir_cell_complete(&c, 0, 1), *first = __LINE__;
    *second = __LINE__, coir_cell_complete(&c, 0, 1);
    return 0;
}

struct destroys {
    coir_frame_void;
    coir_no_args;
    struct coir_cell cell;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_sleep sleep;
};
static coir_declare(destroys);

coir_body(destroys, f) {
    coir_cell_init(&f->cell);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(awaits, .cell = &f->cell));
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    *second = __LINE__; coir_cell_destroy(&f->cell);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

static int destroys_awaited(void)
{
    return run(coir_new(destroys));
}

static void stops(void)
{
    char text[128];

    first = mmap(NULL, 2 * sizeof *first, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    second = first + 1;
    STOPS(completes_twice, "a cell is completed a second time", "completing twice");
    snprintf(text, sizeof text, "at %s:%d (completes_twice)", __FILE__, *second);
    STOPS(completes_twice, text, "the second place");
    snprintf(text, sizeof text, "the first time was at %s:%d", __FILE__, *first);
    STOPS(completes_twice, text, "and the first");
    STOPS(destroys_awaited, "a cell is destroyed", "destroying an awaited cell");
    snprintf(text, sizeof text, "%s:%d", __FILE__, *second);
    STOPS(destroys_awaited, text, "the place is named");
    STOPS(destroys_awaited, "awaits awaits it at", "and who awaits it");
}

int main(void)
{
    every_order();
    with_thread(coir_new(plain), "a thread completes");
    with_thread(coir_new(races), "a deadline and a thread");
    with_thread(coir_new(revokes), "a revoke and a thread");
    runs_that_end();
    traces();
    setenv("COIR_TIME", "virtual", 1);
    every_order();
    EQ(run(coir_new(later)), 0, "virtual time does not wait for cells");
    stops();
    return DONE();
}
