/* SPDX-License-Identifier: MIT */
/*
 * Mutexes: who holds one, in which order, and what a cancellation before or after the hand-over changes.
 *
 * Scripts: l and u, the driver locks and unlocks; y, it cannot lock. A task that holds the mutex is 0, or ! if it does
 * not although it was told so; d once it has unlocked.
 */
#include <signal.h>

#include "script.h"

static struct coir_mutex mutex;

struct user {
    WAITER_FRAME;
    struct coir_lock op;
};
static coir_declare(user);

coir_body(user, f) {
    WAIT_EITHER(f, coir_lock, .mutex = &mutex);
    if ((f->said == 0) != coir_holds(f, &mutex))
        f->actor->state = '!';
    if (f->said == 0)
        WAIT_FOR_GO(f);
    coir_finally(f) {
        if (coir_holds(f, &mutex)) {
            coir_unlock(f, &mutex);
            cancels_after();
            f->actor->state = 'd';
        }
    }
} coir_end

static void init(void)
{
    memset(&mutex, 0xA5, sizeof mutex);
    coir_mutex_init(&mutex);
}

static void end(struct script *f)
{
    CHECK(f, !coir_mutex_is_held(&mutex), "nobody holds it at the end");
    coir_mutex_destroy(&mutex);
}

static struct coir_task *new_user(struct actor *a, int64_t deadline, bool raced)
{
    return coir_new(user, .actor = a, .deadline = deadline, .raced = raced);
}

static void move(struct script *f, char m)
{
    if (m == 'l')
        CHECK(f, coir_try_lock(f, &mutex) == 0, "the driver locks it");
    else if (m == 'y')
        CHECK(f, coir_try_lock(f, &mutex) == -EAGAIN, "the driver cannot");
    else if (m == 'u' || coir_holds(f, &mutex))
        coir_unlock(f, &mutex);
}

static const char *const scripts[] = {
    "+.[0]g0.[d]",
    "+++.[0--]g0.[d0-]g1.[dd0]g2.[ddd]",
    "l+++.[---]u.[0--]g0.[d0-]g1.[dd0]",
    "l+++.u.[0--]c0.[d0-]",             /* who holds it is cancelled */
    "l+++.uc0.[0--]g0.[d0-]",           /* handed over, then cancelled: it holds it */
    "l+++.c0u.[x0-]",
    "l+++.c1u.[0x-]g0.[dx0]",
    "l+++.uc1.[0x-]g0.[dx0]",
    "l+++.c0c1u.[xx0]",
    "l+++.c2c1c0u.[xxx]l+.[xxx-]u.[xxx0]",
    "l+++.uA.[dxx]l",
    "l+++.Au.[xxx]l",
    "l++.uy.[0-]",                      /* nobody barges between hand-over and running */
    "l+.u+.[0-]g0.[d0]",
    "l+.uc0+.[0-]",
    "+++.k1g0.[d0-]",                   /* who unlocks cancels the one that he gave it to */
    "+++.k2g0.[d0x]",
    "lT+.w.[t-]u.[t0]",
    "lT+T.w.[t-t]u.[t0t]",
    "lT+.uw.[0-]",                      /* the deadline has passed behind the hand-over */
    "lT+.wu.[t0]",
};

/* ---- random scripts ---- */

enum { NOBODY = -1, DRIVER = -2 };

static int holder;
static bool fresh;                      /* it was handed over in this turn: who holds it has not run */

static void model_hands_over(void)
{
    holder = model_pops();
    fresh = true;
    if (holder >= 0)
        model.state[holder] = '0';
}

static void model_begins(void)
{
    holder = NOBODY;
}

static void model_driver(void)
{
    add_move(holder == NOBODY ? 'l' : holder == DRIVER ? 'u' : 'y', -1);
    if (holder == NOBODY)
        holder = DRIVER;
    else if (holder == DRIVER)
        model_hands_over();
}

/* Whoever has to run for it: at most one a turn, the last. */
static void model_last(void)
{
    if (one_of(2) && holder >= 0 && !fresh) {
        add_move(one_of(2) ? 'g' : 'c', holder);
        model.state[holder] = 'd';
        model_hands_over();
    } else if (one_of(2)) {
        add_move('+', -1);
        model_comes();
        if (holder == NOBODY)
            model_hands_over();
    }
}

static void model_turn(void)
{
    fresh = false;
    for (unsigned n = one_of(4); n > 0; n--) {
        const int some = (int)one_of((unsigned)model.used + 1);
        if (one_of(2)) {
            model_driver();
        } else if (some < model.used && (model.state[some] == '-' || (some == holder && fresh))) {
            add_move('c', some);
            model_leaves(some);
        }
    }
    model_last();
}

static const struct subject subject = { "mutex", init, end, new_user, move, model_begins, model_turn };

/* ---- arguments, who it is that holds it ---- */

static __attribute__((noinline)) void *on_the_stack(void)
{
    return (char *)__builtin_frame_address(0) - 64;
}

/* Locks, or tries to, for whoever awaits it. */
struct helper {
    coir_frame(int);
    coir_no_args;
    struct coir_lock lock;
};
static coir_declare(helper);

coir_body(helper, f) {
    EQ(coir_try_lock(f, &mutex), -EDEADLK, "what awaits me has it: trying");
    coir_await(f, &f->lock, coir_lock, .mutex = &mutex);
    coir_return(f, coir_status(&f->lock));
} coir_end

struct odds {
    coir_frame_void;
    coir_no_args;
    struct coir_mutex other;
    struct coir_task *kids[2];
    struct coir_combine all;
    struct coir_lock lock, second;
    struct helper helper;
    struct coir_scope scope;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(odds);

coir_body(odds, f) {
    coir_mutex_init(&mutex);
    coir_mutex_init(&f->other);
    coir_await(f, &f->lock, coir_lock, .mutex = NULL);
    EQ(coir_status(&f->lock), -EFAULT, "NULL");
    coir_await(f, &f->lock, coir_lock, .mutex = on_the_stack());
    EQ(coir_status(&f->lock), -EFAULT, "on the C stack");
    EQ(coir_try_lock(f, NULL), -EFAULT, "trying NULL");
    OK(!coir_holds(f, &mutex), "held by nobody");
    coir_await(f, &f->lock, coir_lock, .mutex = &mutex);
    EQ(coir_status(&f->lock), 0, "locked");
    OK(coir_holds(f, &mutex) && coir_mutex_is_held(&mutex), "and held");
    coir_await(f, &f->lock, coir_lock, .mutex = &mutex);
    EQ(coir_status(&f->lock), -EDEADLK, "locked again");
    EQ(coir_try_lock(f, &mutex), -EDEADLK, "tried again");
    coir_await(f, &f->helper, helper);
    EQ(f->helper.result, -EDEADLK, "by what it awaits");
    f->kids[0] = coir_make(&f->lock, coir_lock, .mutex = &f->other);
    f->kids[1] = coir_make(&f->helper, helper);
    coir_all(f, &f->all, f->kids, 2);
    EQ(f->helper.result, -EDEADLK, "and through a combinator");
    OK(coir_holds(f, &f->other), "what a combinator locked is its awaiter's");
    coir_unlock(f, &f->other);
    coir_unlock(f, &mutex);
    f->kids[0] = coir_make(&f->lock, coir_lock, .mutex = &mutex);
    f->kids[1] = coir_make(&f->second, coir_lock, .mutex = &mutex);
    coir_all(f, &f->all, f->kids, 2);
    EQ(coir_status(&f->all), -EDEADLK, "twice in one combinator");
    coir_unlock(f, &mutex);
    coir_within(f, &f->scope, 0, &f->lock, coir_lock, .mutex = &mutex);
    EQ(coir_status(&f->lock), 0, "a free one is locked in a cancelled scope too");
    coir_unlock(f, &mutex);
    coir_group_open(f, &f->group, .keep_going = true);
    coir_spawn(&f->group, coir_new(coir_lock, .mutex = &mutex));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    OK(!coir_mutex_is_held(&mutex), "one that was spawned by itself holds nothing");
    f->kids[0] = coir_new(coir_lock, .mutex = &mutex);
    coir_all(f, &f->all, f->kids, 1);
    EQ(coir_status(&f->all), 0, "a heap frame in a combinator");
    OK(coir_holds(f, &mutex), "is its awaiter's too");
    coir_finally(f) {
        coir_unlock(f, &mutex);
        coir_mutex_destroy(&mutex);
        coir_mutex_destroy(NULL);
        coir_mutex_destroy(&f->other);
    }
} coir_end

static void spawned_by_itself(void)
{
    coir_mutex_init(&mutex);
    setenv("COIR_TIME", "virtual", 1);
    EQ(coir_run(NULL, coir_new(coir_lock, .mutex = &mutex)), -EINVAL, "the main task of a run is awaited by nobody");
    unsetenv("COIR_TIME");
}

/* ---- exclusion, and what it costs ---- */

enum { WORKERS = 20, ROUNDS = 1000 };

static int inside, most;
static long entered;

struct worker {
    coir_frame_void;
    coir_no_args;
    int i;
    struct coir_lock lock;
    struct coir_pass pass;
};
static coir_declare(worker);

coir_body(worker, f) {
    for (f->i = 0; f->i < ROUNDS; f->i++) {
        coir_try(f, &f->lock, coir_lock, .mutex = &mutex);
        entered++;
        if (++inside > most)
            most = inside;
        coir_await(f, &f->pass, coir_pass);
        inside--;
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
    inside = most = 0;
    entered = 0;
    coir_mutex_init(&mutex);
    coir_group_open(f, &f->group);
    for (f->i = 0; f->i < WORKERS; f->i++)
        coir_spawn(&f->group, coir_new(worker));
    coir_await(f, &f->rest, rest);
    coir_stats(0, &f->before);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_stats(0, &f->now);
    EQ(most, 1, "never more than one inside");
    EQ(entered, WORKERS * ROUNDS, "and everybody came in each time");
    EQ(f->now.allocations, f->before.allocations, "nothing was allocated");
    EQ(f->now.submissions, f->before.submissions, "nothing was asked of the kernel");
    OK(f->now.syscalls - f->before.syscalls <= f->now.turns - f->before.turns, "no system call but the loop's own");
    coir_mutex_destroy(&mutex);
} coir_end

/* ---- broken rules ---- */

struct breaker {
    coir_frame_void;
    coir_args(int how;);
    struct coir_group group;
    struct coir_lock lock;
    struct rest rest;
    struct coir_pass pass;
    char text[4096];
    struct coir_group_wait wait;
};
static coir_declare(breaker);

struct holder {
    coir_frame_void;
    coir_no_args;
    struct coir_lock lock;
    struct coir_sleep sleep;
};
static coir_declare(holder);

coir_body(holder, f) {
    coir_try(f, &f->lock, coir_lock, .mutex = &mutex);
    coir_await(f, &f->sleep, coir_sleep, .ns = COIR_S);
    coir_unlock(f, &mutex);
} coir_end

static void dump_into(char *text, size_t size)
{
    FILE *to = fmemopen(text, size, "w");

    coir_dump(to);
    fclose(to);
}

enum { UNLOCKS, DESTROYS_WAITED, DESTROYS_HELD, DUMPS };

coir_body(breaker, f) {
    coir_mutex_init(&mutex);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(holder));
    coir_await(f, &f->rest, rest);
    if (f->how == UNLOCKS)
        coir_unlock(f, &mutex);
    if (f->how == DESTROYS_HELD)
        coir_mutex_destroy(&mutex);
    coir_spawn(&f->group, coir_new(holder));
    coir_await(f, &f->rest, rest);
    if (f->how == DESTROYS_WAITED)
        coir_mutex_destroy(&mutex);
    dump_into(f->text, sizeof f->text);
    OK(strstr(f->text, "waits for a mutex that holder holds since "), "a waiter in the dump");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

static void breaks(int how)
{
    setenv("COIR_TIME", "virtual", 1);
    coir_run(NULL, coir_new(breaker, .how = how));
}

static void unlocks_anothers(void)
{
    breaks(UNLOCKS);
}

static void destroys_waited(void)
{
    breaks(DESTROYS_WAITED);
}

static void destroys_held(void)
{
    breaks(DESTROYS_HELD);
}

struct unlocker {
    coir_frame_void;
    coir_args(struct coir_mutex *mutex;);
    struct coir_pass pass;
};
static coir_declare(unlocker);

coir_body(unlocker, f) {
    coir_await(f, &f->pass, coir_pass);
    coir_unlock(f, f->mutex);
} coir_end

static void unlocks_free(void)
{
    coir_mutex_init(&mutex);
    coir_run(NULL, coir_new(unlocker, .mutex = &mutex));
}

static void unlocks_null(void)
{
    coir_run(NULL, coir_new(unlocker, .mutex = NULL));
}

/* A body that ends and still holds it. */
struct forgetful {
    coir_frame_void;
    coir_args(int how;);
    struct coir_task *kids[2];
    struct coir_combine race;
    struct coir_lock lock;
    struct coir_pass pass;
};
static coir_declare(forgetful);

enum { LOCKS, TRIES, LOSES_RACE, LEAVES };

coir_body(forgetful, f) {
    if (f->how == TRIES) {
        coir_await(f, &f->pass, coir_pass);
        coir_try_lock(f, &mutex);
    } else if (f->how == LOSES_RACE) {
        f->kids[0] = coir_make(&f->pass, coir_pass);
        f->kids[1] = coir_make(&f->lock, coir_lock, .mutex = &mutex);
        coir_race(f, &f->race, f->kids, 2);
    } else {
        coir_try(f, &f->lock, coir_lock, .mutex = &mutex);
    }
    if (f->how == LEAVES)
        coir_fail(f, EIO);
} coir_end

struct forgotten {
    coir_frame_void;
    coir_args(int how; int before;);
    struct coir_mutex many[32];
    int i;
    struct forgetful forgetful;
    struct coir_lock lock;
};
static coir_declare(forgotten);

/* Of 32 that are held it is known; one more stays locked, and the next who wants it finds the deadlock. */
coir_body(forgotten, f) {
    coir_mutex_init(&mutex);
    for (f->i = 0; f->i < f->before; f->i++) {
        coir_mutex_init(&f->many[f->i]);
        coir_try(f, &f->lock, coir_lock, .mutex = &f->many[f->i]);
    }
    coir_await(f, &f->forgetful, forgetful, .how = f->how);
    coir_await(f, &f->lock, coir_lock, .mutex = &mutex);
    coir_finally(f) {
        while (f->i-- > 0)
            coir_unlock(f, &f->many[f->i]);
    }
} coir_end

static void forgets(int how, int before)
{
    coir_run(NULL, coir_new(forgotten, .how = how, .before = before));
}

static void forgets_a_lock(void)
{
    forgets(LOCKS, 31);
}

static void forgets_a_try(void)
{
    forgets(TRIES, 0);
}

static void forgets_in_a_race(void)
{
    forgets(LOSES_RACE, 0);
}

static void forgets_on_leaving(void)
{
    forgets(LEAVES, 0);
}

static void forgets_beyond(void)
{
    forgets(LOCKS, 32);
    abort();
}

/* ---- on another shard ---- */

struct locks_there {
    coir_frame_void;
    coir_no_args;
    struct coir_lock lock;
    struct coir_sleep sleep;
};
static coir_declare(locks_there);

coir_body(locks_there, f) {
    coir_try(f, &f->lock, coir_lock, .mutex = &mutex);
    coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    coir_unlock(f, &mutex);
} coir_end

struct two_shards {
    coir_frame_void;
    coir_args(bool held;);
    struct coir_lock lock;
    struct locks_there there;
};
static coir_declare(two_shards);

coir_body(two_shards, f) {
    coir_mutex_init(&mutex);
    coir_try(f, &f->lock, coir_lock, .mutex = &mutex);
    if (!f->held)
        coir_unlock(f, &mutex);
    coir_await_on(f, 1, &f->there, locks_there);
    EQ(coir_status(&f->there), 0, "a mutex that nobody holds goes to another shard");
    coir_await_on(f, 1, &f->lock, coir_lock, .mutex = &mutex);
    EQ(coir_status(&f->lock), -EINVAL, "a lock alone on another shard is nobody's there");
} coir_end

static void used_elsewhere(void)
{
    const struct coir_options two = { .shards = 2 };

    coir_run(&two, coir_new(two_shards, .held = true));
}

int main(void)
{
    const struct coir_options two = { .shards = 2 };

    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    run_scripts(&subject, scripts, sizeof scripts / sizeof *scripts);
    run_random(&subject, 400);
    run_one("odds", coir_new(odds));
    spawned_by_itself();
    run_one("costs", coir_new(costs));
    run_one("dump", coir_new(breaker, .how = DUMPS));
    EQ(coir_run(&two, coir_new(two_shards)), 0, "from shard to shard");
    dies("unlocking another's", unlocks_anothers, "that it does not hold: holder does, since ");
    dies("unlocking a free one", unlocks_free, "that it does not hold: nobody does");
    dies("unlocking NULL", unlocks_null, "that it does not hold: it is NULL");
    dies("destroying under a waiter", destroys_waited, "a mutex is destroyed while holder waits for it at ");
    dies("destroying a held one", destroys_held, "a mutex is destroyed while holder holds it, since ");
    dies("using it elsewhere", used_elsewhere, "a mutex is used on one thread while two_shards of another shard holds");
    dies("ending with it", forgets_a_lock, "task forgetful ended while it holds a mutex, since ");
    dies("ending with one that was tried", forgets_a_try, "task forgetful ended while it holds a mutex, since ");
    dies("ending with a race's", forgets_in_a_race, "task forgetful ended while it holds a mutex, since ");
    dies("leaving with it", forgets_on_leaving, "task forgetful ended while it holds a mutex, since ");
    dies("ending with one too many", forgets_beyond, "waits for a mutex that forgetful holds since ");
    return DONE();
}
