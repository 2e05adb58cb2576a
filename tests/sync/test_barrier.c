/* SPDX-License-Identifier: MIT */
/*
 * Barriers of three: who passes together, who is the last, and that whoever is cancelled has not come.
 */
#include <signal.h>

#include "script.h"

static struct coir_barrier barrier;

struct party {
    WAITER_FRAME;
    struct coir_barrier_wait op;
};
static coir_declare(party);

coir_body(party, f) {
    WAIT_EITHER(f, coir_barrier_wait, .barrier = &barrier);
    if (f->said == 0 && f->op.result)
        f->actor->state = '1';
    cancels_after();
} coir_end

static void init(void)
{
    memset(&barrier, 0xA5, sizeof barrier);
    coir_barrier_init(&barrier, 3);
}

static void end(struct script *f)
{
    CHECK(f, coir_barrier_waiting(&barrier) == 0, "nobody waits at the end");
    coir_barrier_destroy(&barrier);
}

static struct coir_task *new_party(struct actor *a, int64_t deadline, bool raced)
{
    return coir_new(party, .actor = a, .deadline = deadline, .raced = raced);
}

/* A digit: so many wait. */
static void move(struct script *f, char m)
{
    if (m)
        CHECK(f, coir_barrier_waiting(&barrier) == (size_t)(m - '0'), "%c wait", m);
}

static const char *const scripts[] = {
    "+.[-]1+.[--]2+.[001]0",
    "++++++.[001001]",
    "+++++.[001--]2+.[001001]",
    "++.c0.[x-]1+.[x--]2+.[x001]",      /* who is cancelled has not come */
    "++.c0c1.[xx]0+++.[xx001]",
    "++.+c0.[x--]2+.[x001]",            /* cancelled before the last has come */
    "++.k0+.[001]",                     /* the last has come, then one is cancelled: it has passed */
    "++.k1+.[001]+++.[001001]",
    "++.A.[xx]0",
    "++.+A.[xxx]0",
    "T+.w.[t-]1++.[t001]",
    "TT.+w.[001]",
};

/* ---- random scripts ---- */

static void model_begins(void)
{
}

static void model_turn(void)
{
    for (unsigned n = one_of(4); n > 0; n--) {
        const int some = (int)one_of((unsigned)model.used + 1);
        if (one_of(3) && some < model.used && model.state[some] == '-') {
            add_move('c', some);
            model_leaves(some);
        } else {
            add_move((char)('0' + model.waiting), -1);
        }
    }
    if (one_of(2)) {
        add_move('+', -1);
        const int n = model_comes();
        if (model.waiting == 3) {
            while (model.waiting)
                model.state[model_pops()] = '0';
            model.state[n] = '1';
        }
    }
}

static const struct subject subject = { "barrier", init, end, new_party, move, model_begins, model_turn };

/* ---- arguments ---- */

static __attribute__((noinline)) void *on_the_stack(void)
{
    return (char *)__builtin_frame_address(0) - 64;
}

struct odds {
    coir_frame_void;
    coir_no_args;
    bool last;
    struct coir_barrier_wait wait;
    struct coir_scope scope;
    struct coir_group group;
    struct rest rest;
    struct coir_group_wait end;
};
static coir_declare(odds);

coir_body(odds, f) {
    EQ(coir_barrier_init(&barrier, 0), -EINVAL, "a barrier of none");
    EQ(coir_barrier_init(&barrier, 1), 0, "of one");
    coir_await(f, &f->wait, coir_barrier_wait, .barrier = NULL);
    EQ(coir_status(&f->wait), -EFAULT, "NULL");
    coir_await(f, &f->wait, coir_barrier_wait, .barrier = on_the_stack());
    EQ(coir_status(&f->wait), -EFAULT, "on the C stack");
    coir_get(f, f->last, &f->wait, coir_barrier_wait, .barrier = &barrier);
    OK(f->last, "of one everybody is the last");
    coir_within(f, &f->scope, 0, &f->wait, coir_barrier_wait, .barrier = &barrier);
    EQ(coir_status(&f->wait), 0, "who does not wait passes, in a cancelled scope too");
    coir_barrier_init(&barrier, 2);
    coir_within(f, &f->scope, 0, &f->wait, coir_barrier_wait, .barrier = &barrier);
    EQ(coir_status(&f->wait), -ETIMEDOUT, "a deadline in the past");
    EQ(coir_barrier_waiting(&barrier), 0, "is not counted");
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(coir_barrier_wait, .barrier = &barrier));
    coir_spawn(&f->group, coir_new(coir_barrier_wait, .barrier = &barrier));
    coir_spawn(&f->group, coir_new(coir_barrier_wait, .barrier = &barrier));
    coir_await(f, &f->rest, rest);
    EQ(f->group.live, 1, "two that were spawned by themselves pass, the third waits");
    coir_get(f, f->last, &f->wait, coir_barrier_wait, .barrier = &barrier);
    OK(f->last, "for the fourth");
    coir_await(f, &f->end, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->end), 0, "then all have passed");
    coir_barrier_destroy(&barrier);
    coir_barrier_destroy(NULL);
} coir_end

/* ---- in step, and what it costs ---- */

enum { PARTIES = 10, ROUNDS = 500 };

static int round_of[PARTIES], apart, lasts;

struct walker {
    coir_frame_void;
    coir_args(int n;);
    bool last;
    struct coir_barrier_wait wait;
};
static coir_declare(walker);

coir_body(walker, f) {
    for (round_of[f->n] = 0; round_of[f->n] < ROUNDS; round_of[f->n]++) {
        for (int i = 0; i < PARTIES; i++)
            apart += round_of[i] - round_of[f->n] > 1 || round_of[f->n] - round_of[i] > 1;
        coir_get(f, f->last, &f->wait, coir_barrier_wait, .barrier = &barrier);
        lasts += f->last;
    }
} coir_end

struct costs {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_stats before, now;
    int i;
    struct coir_group_wait wait;
};
static coir_declare(costs);

coir_body(costs, f) {
    apart = lasts = 0;
    coir_barrier_init(&barrier, PARTIES);
    coir_group_open(f, &f->group);
    for (f->i = 0; f->i < PARTIES; f->i++)
        coir_spawn(&f->group, coir_new(walker, .n = f->i));
    coir_stats(0, &f->before);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_stats(0, &f->now);
    EQ(apart, 0, "nobody is more than a round ahead");
    EQ(lasts, ROUNDS, "one is the last of each round");
    EQ(f->now.allocations, f->before.allocations, "nothing was allocated");
    EQ(f->now.submissions, f->before.submissions, "nothing was asked of the kernel");
    OK(f->now.syscalls - f->before.syscalls <= f->now.turns - f->before.turns, "no system call but the loop's own");
} coir_end

/* ---- the dump, and broken rules ---- */

struct sits {
    coir_frame_void;
    coir_no_args;
    struct coir_barrier_wait wait;
};
static coir_declare(sits);

coir_body(sits, f) {
    coir_try(f, &f->wait, coir_barrier_wait, .barrier = &barrier);
} coir_end

struct breaker {
    coir_frame_void;
    coir_args(bool destroys; bool elsewhere;);
    struct coir_group group;
    struct sits there;
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

coir_body(breaker, f) {
    coir_barrier_init(&barrier, 3);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(sits));
    coir_spawn(&f->group, coir_new(sits));
    coir_await(f, &f->rest, rest);
    if (f->destroys)
        coir_barrier_destroy(&barrier);
    if (f->elsewhere)
        coir_await_on(f, 1, &f->there, sits);
    dump_into(f->text, sizeof f->text);
    OK(strstr(f->text, "waits at a barrier (2 of 3 have come)"), "a waiter in the dump");
    coir_await(f, &f->there, sits);
    dump_into(f->text, sizeof f->text);
    OK(strstr(f->text, "has been served"), "and one that goes on");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

static void destroys(void)
{
    coir_run(NULL, coir_new(breaker, .destroys = true));
}

static void used_elsewhere(void)
{
    const struct coir_options two = { .shards = 2 };

    coir_run(&two, coir_new(breaker, .elsewhere = true));
}

int main(void)
{
    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    run_scripts(&subject, scripts, sizeof scripts / sizeof *scripts);
    run_random(&subject, 400);
    run_one("odds", coir_new(odds));
    run_one("costs", coir_new(costs));
    run_one("dump", coir_new(breaker));
    dies("destroying under a waiter", destroys, "a barrier is destroyed while sits waits for it at ");
    dies("using it elsewhere", used_elsewhere, "a barrier is used on one thread while sits of another shard waits");
    coir_barrier_init(&barrier, 2);
    EQ(coir_run(NULL, coir_new(sits)), -EDEADLK, "waiting for nobody is a deadlock");
    return DONE();
}
