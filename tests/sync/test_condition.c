/* SPDX-License-Identifier: MIT */
/*
 * Conditions: who is told, what a cancellation before or after that changes, and that whoever comes back holds the
 * mutex.
 *
 * Scripts: s and b, one or all are told; l and u, the driver locks and unlocks the mutex. A task that has come back is
 * what it was told, while it holds the mutex, or ! if it does not hold it; and D, C or L once it has unlocked.
 */
#include <signal.h>

#include "script.h"

static struct coir_mutex mutex;
static struct coir_condition condition;

struct waiter {
    WAITER_FRAME;
    struct coir_condition_wait op;
    struct coir_lock lock;
};
static coir_declare(waiter);

static char over(char state)
{
    return state == '0' ? 'D' : state == 'x' ? 'C' : state == 't' ? 'L' : '!';
}

coir_body(waiter, f) {
    coir_await(f, &f->lock, coir_lock, .mutex = &mutex);
    if (coir_status(&f->lock) < 0)
        coir_fail(f, EIO);
    WAIT_EITHER(f, coir_condition_wait, .condition = &condition, .mutex = &mutex);
    if (!coir_holds(f, &mutex))
        f->actor->state = '!';
    WAIT_FOR_GO(f);
    coir_finally(f) {
        if (coir_holds(f, &mutex)) {
            coir_unlock(f, &mutex);
            cancels_after();
            f->actor->state = over(f->actor->state);
        }
    }
} coir_end

static void init(void)
{
    memset(&condition, 0xA5, sizeof condition);
    memset(&mutex, 0xA5, sizeof mutex);
    coir_mutex_init(&mutex);
    coir_condition_init(&condition);
}

static void end(struct script *f)
{
    CHECK(f, !coir_mutex_is_held(&mutex), "nobody holds the mutex at the end");
    coir_condition_destroy(&condition);
    coir_mutex_destroy(&mutex);
}

static struct coir_task *new_waiter(struct actor *a, int64_t deadline, bool raced)
{
    return coir_new(waiter, .actor = a, .deadline = deadline, .raced = raced);
}

static void move(struct script *f, char m)
{
    if (m == 's')
        coir_condition_signal(&condition);
    else if (m == 'b')
        coir_condition_broadcast(&condition);
    else if (m == 'l')
        CHECK(f, coir_try_lock(f, &mutex) == 0, "the driver locks it");
    else if (m == 'o')                  /* its life ends, while those who were told wait for the mutex */
        coir_condition_destroy(&condition);
    else if (m == 'u' || coir_holds(f, &mutex))
        coir_unlock(f, &mutex);
}

static const char *const scripts[] = {
    "s+.[-]s.[0]g0.[D]",                /* what is said to nobody is not kept */
    "+++.[---]s.[0--]g0.[D--]s.[D0-]g1.s.[DD0]",
    "+++.ss.[0--]g0.[D0-]",
    "+++.b.[0--]g0.[D0-]g1.[DD0]g2.[DDD]",
    "+++.b+.[0---]g0.[D0--]g1.[DD0-]g2.[DDD-]s.[DDD0]",     /* who comes later is not among all */
    "+++.sc0.[0--]g0.[D--]",            /* told, then cancelled: it counts as told */
    "+++.c0s.[x--]g0.[C0-]",            /* cancelled, then one is told: the next */
    "+++.c0c1c2s.[x--]g0.[Cx-]g1.[CCx]g2.[CCC]",
    "+++.sc1.[0--]g0.[Dx-]",
    "++.l.[--]s.[--]u.[0-]",
    "++.lsc0.[--]u.[0-]",               /* told, waits for the mutex, is cancelled: it was told, and has it */
    "++.ls.c0.[--]u.[0-]",
    "++.lc0s.[--]u.[x-]g0.[C0]",
    "++.lc0.c0.[--]u.[x-]g0.[C-]",      /* cancelled, waits for the mutex, is cancelled again */
    "++.lb.A.[--]u.[DD]",               /* all cancelled while they wait for it: each has it in its turn */
    "++.lA.[--]u.[CC]",
    "++.A.[CC]",
    "++.lbo.[--]u.[0-]g0.[D0]",         /* a condition may end when all have been told */
    "+++.k1s.g0.[Dx-]g1.[DC-]",         /* k: in the same step as the unlock, who waits on is cancelled */
    "+++.bk1g0.[D0-]",
    "T+.w.[t-]g0.s.[L0]",
    "T+.lw.[--]u.[t-]",                 /* the deadline ends the wait, and not before the mutex is free */
    "T+.lsw.[--]u.[0-]",
    "T+.sw.[0-]",
    "TT.w.[t-]g0.[Lt]",
};

/* ---- random scripts ---- */

enum { NOBODY = -1, DRIVER = -2 };

static struct {
    int holder, line[ACTORS], waiting;
    bool fresh;
    char said[ACTORS];
} lock;

static void model_holds(int n)
{
    lock.holder = n;
    lock.fresh = true;
    if (n >= 0)
        model.state[n] = lock.said[n];
}

static void model_told(int n, char what)
{
    if (n < 0)
        return;
    model.state[n] = '-';
    lock.said[n] = what;
    if (lock.holder == NOBODY)
        model_holds(n);
    else
        lock.line[lock.waiting++] = n;
}

static void model_hands_over(void)
{
    const int first = lock.waiting ? lock.line[0] : NOBODY;

    if (lock.waiting)
        memmove(lock.line, lock.line + 1, (size_t)--lock.waiting * sizeof *lock.line);
    model_holds(first);
}

static void model_begins(void)
{
    memset(&lock, 0, sizeof lock);
    lock.holder = NOBODY;
}

static void model_driver(void)
{
    switch (one_of(4)) {
    case 0:
        add_move('s', -1);
        model_told(model_pops(), '0');
        break;
    case 1:
        if (one_of(3))
            break;
        add_move('b', -1);
        while (model.waiting)
            model_told(model_pops(), '0');
        break;
    default:
        if (lock.holder >= 0)
            break;
        add_move(lock.holder == DRIVER ? 'u' : 'l', -1);
        if (lock.holder == DRIVER)
            model_hands_over();
        else
            model_holds(DRIVER);
    }
}

static void model_last(void)
{
    if (one_of(2) && lock.holder >= 0 && !lock.fresh) {
        add_move(one_of(2) ? 'g' : 'c', lock.holder);
        model.state[lock.holder] = over(model.state[lock.holder]);
        model_hands_over();
    } else if (lock.holder == NOBODY) {
        add_move('+', -1);
        model_comes();
    }
}

static void model_turn(void)
{
    lock.fresh = false;
    for (unsigned n = one_of(4); n > 0; n--) {
        const int some = (int)one_of((unsigned)model.used + 1);
        if (one_of(2)) {
            model_driver();
        } else if (some < model.used && (model.state[some] == '-' || (some == lock.holder && lock.fresh))) {
            add_move('c', some);
            if (model_leaves(some))
                model_told(some, 'x');
        }
    }
    model_last();
}

static const struct subject subject = { "condition", init, end, new_waiter, move, model_begins, model_turn };

/* ---- arguments ---- */

static __attribute__((noinline)) void *on_the_stack(void)
{
    return (char *)__builtin_frame_address(0) - 64;
}

struct helper {
    coir_frame_void;
    coir_no_args;
    struct coir_condition_wait wait;
};
static coir_declare(helper);

coir_body(helper, f) {
    coir_try(f, &f->wait, coir_condition_wait, .condition = &condition, .mutex = &mutex);
} coir_end

struct odds {
    coir_frame_void;
    coir_no_args;
    struct coir_lock lock;
    struct coir_task *kids[2];
    struct coir_combine all;
    struct coir_condition_wait wait, second;
    struct helper helper;
    struct coir_scope scope;
    struct coir_group group;
    struct coir_group_wait end;
};
static coir_declare(odds);

coir_body(odds, f) {
    init();
    coir_await(f, &f->wait, coir_condition_wait, .condition = &condition, .mutex = &mutex);
    EQ(coir_status(&f->wait), -EPERM, "a wait without the mutex");
    coir_await(f, &f->lock, coir_lock, .mutex = &mutex);
    coir_await(f, &f->wait, coir_condition_wait, .condition = NULL, .mutex = &mutex);
    EQ(coir_status(&f->wait), -EFAULT, "no condition");
    coir_await(f, &f->wait, coir_condition_wait, .condition = &condition);
    EQ(coir_status(&f->wait), -EFAULT, "no mutex");
    coir_await(f, &f->wait, coir_condition_wait, .condition = on_the_stack(), .mutex = &mutex);
    EQ(coir_status(&f->wait), -EFAULT, "a condition on the C stack");
    coir_await(f, &f->wait, coir_condition_wait, .condition = &condition, .mutex = on_the_stack());
    EQ(coir_status(&f->wait), -EFAULT, "a mutex there");
    coir_await(f, &f->helper, helper);
    EQ(coir_status(&f->helper), -EPERM, "a helper does not hold what its awaiter does");
    coir_within(f, &f->scope, 0, &f->wait, coir_condition_wait, .condition = &condition, .mutex = &mutex);
    EQ(coir_status(&f->wait), -ETIMEDOUT, "a deadline in the past");
    OK(coir_holds(f, &mutex), "and the mutex is still held");
    coir_within(f, &f->scope, coir_now() + COIR_S, &f->wait, coir_condition_wait, .condition = &condition,
                .mutex = &mutex);
    EQ(coir_status(&f->wait), -ETIMEDOUT, "a deadline");
    OK(coir_holds(f, &mutex), "and it is held again");
    f->kids[0] = coir_make(&f->wait, coir_condition_wait, .condition = &condition, .mutex = &mutex);
    f->kids[1] = coir_make(&f->second, coir_condition_wait, .condition = &condition, .mutex = &mutex);
    coir_all(f, &f->all, f->kids, 2);
    EQ(coir_status(&f->second), -EPERM, "the second wait at once of one task does not hold it any more");
    OK(coir_holds(f, &mutex), "the first has it again");
    coir_group_open(f, &f->group, .keep_going = true);
    coir_spawn(&f->group, coir_new(coir_condition_wait, .condition = &condition, .mutex = &mutex));
    coir_await(f, &f->end, coir_group_wait, .group = &f->group);
    OK(coir_holds(f, &mutex), "one spawned by itself gives up nobody's");
    coir_condition_destroy(NULL);
    coir_unlock(f, &mutex);
    coir_finally(f) {
        coir_await(f, &f->lock, coir_lock, .mutex = &mutex);
        coir_within(f, &f->scope, coir_now() + COIR_S, &f->wait, coir_condition_wait, .condition = &condition,
                    .mutex = &mutex);
        EQ(coir_status(&f->wait), -ETIMEDOUT, "a wait in coir_finally");
        OK(coir_holds(f, &mutex), "holds it too");
        coir_unlock(f, &mutex);
    }
} coir_end

/* ---- a bounded buffer of two conditions, and what it costs ---- */

enum { PLACES = 3, PAIRS = 4, ITEMS = 2000 };

static struct {
    struct coir_condition filled, emptied;
    int queued, most;
    long put, taken;
} buffer;

struct putter {
    coir_frame_void;
    coir_no_args;
    int i;
    struct coir_lock lock;
    struct coir_condition_wait wait;
};
static coir_declare(putter);

coir_body(putter, f) {
    for (f->i = 0; f->i < ITEMS; f->i++) {
        coir_try(f, &f->lock, coir_lock, .mutex = &mutex);
        while (buffer.queued == PLACES)
            coir_try(f, &f->wait, coir_condition_wait, .condition = &buffer.emptied, .mutex = &mutex);
        buffer.put++;
        if (++buffer.queued > buffer.most)
            buffer.most = buffer.queued;
        coir_condition_signal(&buffer.filled);
        coir_unlock(f, &mutex);
    }
} coir_end

struct getter {
    coir_frame_void;
    coir_no_args;
    int i;
    struct coir_lock lock;
    struct coir_condition_wait wait;
};
static coir_declare(getter);

coir_body(getter, f) {
    for (f->i = 0; f->i < ITEMS; f->i++) {
        coir_try(f, &f->lock, coir_lock, .mutex = &mutex);
        while (buffer.queued == 0)
            coir_try(f, &f->wait, coir_condition_wait, .condition = &buffer.filled, .mutex = &mutex);
        buffer.taken++;
        buffer.queued--;
        coir_condition_signal(&buffer.emptied);
        coir_unlock(f, &mutex);
    }
} coir_end

struct costs {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_stats before, now;
    int i;
    struct rest rest;
    struct coir_group_wait wait;
};
static coir_declare(costs);

coir_body(costs, f) {
    coir_mutex_init(&mutex);
    memset(&buffer, 0, sizeof buffer);
    coir_condition_init(&buffer.filled);
    coir_condition_init(&buffer.emptied);
    coir_group_open(f, &f->group);
    for (f->i = 0; f->i < PAIRS; f->i++) {
        coir_spawn(&f->group, coir_new(getter));
        coir_spawn(&f->group, coir_new(putter));
    }
    coir_await(f, &f->rest, rest);
    coir_stats(0, &f->before);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_stats(0, &f->now);
    EQ(buffer.put, PAIRS * ITEMS, "all was put");
    EQ(buffer.taken, PAIRS * ITEMS, "and taken");
    OK(buffer.most <= PLACES, "never more in it than there are places");
    EQ(f->now.allocations, f->before.allocations, "nothing was allocated");
    EQ(f->now.submissions, f->before.submissions, "nothing was asked of the kernel");
    OK(f->now.syscalls - f->before.syscalls <= f->now.turns - f->before.turns, "no system call but the loop's own");
} coir_end

/* ---- the dump, and broken rules ---- */

struct breaker {
    coir_frame_void;
    coir_args(bool destroys;);
    struct coir_group group;
    struct coir_lock lock;
    struct rest rest;
    char text[4096];
    struct coir_group_wait wait;
};
static coir_declare(breaker);

static void dump_into(char *text, size_t size)
{
    FILE *to = fmemopen(text, size, "w");

    coir_dump(to);
    fclose(to);
}

struct sits {
    coir_frame_void;
    coir_no_args;
    struct coir_lock lock;
    struct coir_condition_wait wait;
};
static coir_declare(sits);

coir_body(sits, f) {
    coir_try(f, &f->lock, coir_lock, .mutex = &mutex);
    coir_await(f, &f->wait, coir_condition_wait, .condition = &condition, .mutex = &mutex);
    coir_unlock(f, &mutex);
} coir_end

coir_body(breaker, f) {
    init();
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(sits));
    coir_await(f, &f->rest, rest);
    if (f->destroys)
        coir_condition_destroy(&condition);
    dump_into(f->text, sizeof f->text);
    OK(strstr(f->text, "waits for a condition"), "a waiter in the dump");
    coir_await(f, &f->lock, coir_lock, .mutex = &mutex);
    coir_condition_signal(&condition);
    dump_into(f->text, sizeof f->text);
    OK(strstr(f->text, "waits to have back a mutex that breaker holds since "), "and one that was told");
    coir_unlock(f, &mutex);
    dump_into(f->text, sizeof f->text);
    OK(strstr(f->text, "has been served"), "and one that has it");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

static void destroys(void)
{
    coir_run(NULL, coir_new(breaker, .destroys = true));
}

struct signals_there {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(signals_there);

coir_body(signals_there, f) {
    coir_condition_signal(&condition);
} coir_end

struct two_shards {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct rest rest;
    struct signals_there there;
    struct coir_group_wait wait;
};
static coir_declare(two_shards);

coir_body(two_shards, f) {
    init();
    coir_await_on(f, 1, &f->there, signals_there);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(sits));
    coir_await(f, &f->rest, rest);
    coir_await_on(f, 1, &f->there, signals_there);
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

static void used_elsewhere(void)
{
    const struct coir_options two = { .shards = 2 };

    coir_run(&two, coir_new(two_shards));
}

int main(void)
{
    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    run_scripts(&subject, scripts, sizeof scripts / sizeof *scripts);
    run_random(&subject, 400);
    run_one("odds", coir_new(odds));
    run_one("costs", coir_new(costs));
    run_one("dump", coir_new(breaker));
    dies("destroying under a waiter", destroys, "a condition is destroyed while sits waits for it at ");
    dies("using it elsewhere", used_elsewhere, "a condition is used on one thread while sits of another shard waits");
    init();
    EQ(coir_run(NULL, coir_new(sits)), -EDEADLK, "waiting for nobody is a deadlock");
    OK(!coir_mutex_is_held(&mutex), "which leaves nothing locked");
    return DONE();
}
