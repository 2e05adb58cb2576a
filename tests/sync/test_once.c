/* SPDX-License-Identifier: MIT */
/*
 * Once: who runs it, who waits, and who is next when it fails or its runner is cancelled.
 *
 * Scripts: a task that runs it is 1, d once it has succeeded, f once it has failed; 0, it has been done by another.
 */
#include <signal.h>

#include "script.h"

static struct coir_once once;
static bool by_finally;                 /* the runner leaves its coir_once_done to coir_finally */

struct user {
    WAITER_FRAME;
    bool runs;
    struct coir_once_begin op;
};
static coir_declare(user);

coir_body(user, f) {
    f->runs = false;
    WAIT_EITHER(f, coir_once_begin, .once = &once);
    f->runs = f->said == 0 && f->op.result;
    if (!f->runs)
        coir_return(f);
    f->actor->state = '1';
    WAIT_FOR_GO(f);
    coir_check(f, &f->go);
    if (f->actor->fails)
        coir_fail(f, EIO);
    if (!by_finally)
        coir_once_done(f, &once, 0);
    coir_finally(f) {
        coir_once_done(f, &once, coir_status(f));
        if (f->runs) {
            cancels_after();
            f->actor->state = coir_status(f) ? 'f' : 'd';
        }
        f->task.status = 0;             /* nobody is to be cancelled for that */
    }
} coir_end

static bool succeeded;                  /* the scripts say whether it is to be done at the end */

static void init(void)
{
    memset(&once, 0xA5, sizeof once);
    coir_once_init(&once);
    succeeded = false;
}

static void end(struct script *f)
{
    CHECK(f, coir_once_is_done(&once) == succeeded, "it is done, or not, at the end");
    coir_once_destroy(&once);
}

static struct coir_task *new_user(struct actor *a, int64_t deadline, bool raced)
{
    return coir_new(user, .actor = a, .deadline = deadline, .raced = raced);
}

static void move(struct script *f, char m)
{
    (void)f;
    if (m == 'Y')
        succeeded = true;
}

static const char *const scripts[] = {
    "+.[1]g0.[d]+.[d0]Y",
    "+++.[1--]g0.[d00]Y",
    "+++.f0.[f1-]g1.[fd0]Y",
    "+++.f0.f1.f2.[fff]+.[fff1]g3.[fffd]Y",
    "+++.c0.[f1-]g1.[fd0]Y",            /* the runner is cancelled */
    "+++.c1g0.[dx0]Y",
    "+++.c1f0.[fx1]g2.Y",
    "+++.k1f0.[f1-]g1.[fd0]Y",          /* told to run it, then cancelled: it runs it */
    "+++.k1g0.[d00]Y",                  /* it is done, then one is cancelled: it is done */
    "+++.k2f0.[f1x]g1.[fdx]Y",
    "+++.A.[fxx]",                      /* everybody is cancelled: it is nobody's */
    "+.c0.[f]+.[f1]g1.[fd]Y",
    "+T.w.[1t]g0.[dt]Y",
    "+TT.g0w.[d00]Y",
    "+T+.f0.[f1-]w.[f1-]g1.[fd0]Y",     /* a deadline passes that has been served */
};

/* ---- random scripts ---- */

static int runner;
static bool fresh;

static void model_begins(void)
{
    runner = -1;
}

static void model_next(void)
{
    runner = model_pops();
    fresh = true;
    if (runner >= 0)
        model.state[runner] = '1';
}

static void model_fails(char move)
{
    add_move(move, runner);
    model.state[runner] = 'f';
    model_next();
}

static void model_comes_here(void)
{
    add_move('+', -1);
    const int n = model_comes();
    if (strchr(model.state, 'd')) {
        model_pops();
        model.state[n] = '0';
    } else if (runner < 0) {
        model_next();
    }
}

static void model_turn(void)
{
    fresh = false;
    for (unsigned n = one_of(3); n > 0; n--) {
        const int some = (int)one_of((unsigned)model.used + 1);
        if (some < model.used && model.state[some] == '-') {
            add_move('c', some);
            model_leaves(some);
        }
    }
    if (one_of(2) && runner >= 0) {
        model_fails(one_of(2) ? 'f' : 'c');
    } else if (one_of(12) == 0 && runner >= 0) {
        add_move('g', runner);
        add_move('Y', -1);
        model.state[runner] = 'd';
        runner = -1;
        while (model.waiting)
            model.state[model_pops()] = '0';
    } else if (one_of(3)) {
        model_comes_here();
    }
}

static const struct subject subject = { "once", init, end, new_user, move, model_begins, model_turn };

/* ---- arguments, and what it costs ---- */

static __attribute__((noinline)) void *on_the_stack(void)
{
    return (char *)__builtin_frame_address(0) - 64;
}

struct helper {
    coir_frame_void;
    coir_no_args;
    struct coir_once_begin begin;
};
static coir_declare(helper);

coir_body(helper, f) {
    coir_try(f, &f->begin, coir_once_begin, .once = &once);
    coir_once_done(f, &once, 0);
} coir_end

struct odds {
    coir_frame_void;
    coir_no_args;
    bool mine;
    struct coir_once_begin begin;
    struct helper helper;
    struct coir_scope scope;
    struct coir_group group;
    struct coir_stats before, now;
    struct rest rest;
    int i;
    struct coir_group_wait end;
};
static coir_declare(odds);

coir_body(odds, f) {
    coir_once_init(&once);
    coir_await(f, &f->begin, coir_once_begin, .once = NULL);
    EQ(coir_status(&f->begin), -EFAULT, "NULL");
    coir_await(f, &f->begin, coir_once_begin, .once = on_the_stack());
    EQ(coir_status(&f->begin), -EFAULT, "on the C stack");
    coir_once_done(f, NULL, 0);
    coir_once_done(f, &once, 0);
    OK(!coir_once_is_done(&once), "who does not run it has not done it");
    coir_within(f, &f->scope, 0, &f->begin, coir_once_begin, .once = &once);
    EQ(coir_status(&f->begin), 0, "the first does not wait, in a cancelled scope neither");
    OK(f->begin.result, "and runs it");
    coir_await(f, &f->begin, coir_once_begin, .once = &once);
    EQ(coir_status(&f->begin), -EDEADLK, "the runner again");
    OK(!f->begin.result, "does not run it twice");
    coir_await(f, &f->helper, helper);
    EQ(coir_status(&f->helper), -EDEADLK, "nor what it awaits");
    coir_group_open(f, &f->group, .keep_going = true);
    coir_spawn(&f->group, coir_new(coir_once_begin, .once = &once));
    for (f->i = 0; f->i < 10; f->i++)
        coir_spawn(&f->group, coir_new(helper));
    coir_await(f, &f->rest, rest);
    EQ(f->group.live, 10, "ten wait, one that was spawned by itself does not");
    coir_stats(0, &f->before);
    coir_once_done(f, &once, 1);
    OK(!coir_once_is_done(&once), "a positive status is a failure too");
    coir_await(f, &f->end, coir_group_wait, .group = &f->group);
    coir_stats(0, &f->now);
    OK(coir_once_is_done(&once), "the next has done it");
    EQ(f->now.allocations, f->before.allocations, "nothing was allocated");
    EQ(f->now.submissions, f->before.submissions, "nothing was asked of the kernel");
    OK(f->now.syscalls - f->before.syscalls <= f->now.turns - f->before.turns, "no system call but the loop's own");
    coir_get(f, f->mine, &f->begin, coir_once_begin, .once = &once);
    OK(!f->mine, "it has been done");
    coir_once_destroy(&once);
    coir_once_destroy(NULL);
} coir_end

/* ---- the dump, and broken rules ---- */

struct sits {
    coir_frame_void;
    coir_args(int64_t ns;);
    struct coir_once_begin begin;
    struct coir_sleep sleep;
};
static coir_declare(sits);

coir_body(sits, f) {
    coir_try(f, &f->begin, coir_once_begin, .once = &once);
    coir_await(f, &f->sleep, coir_sleep, .ns = f->ns);
    coir_finally(f) {
        coir_once_done(f, &once, coir_status(f));
    }
} coir_end

struct forgetful {
    coir_frame_void;
    coir_no_args;
    struct coir_once_begin begin;
};
static coir_declare(forgetful);

coir_body(forgetful, f) {
    coir_once_init(&once);
    coir_try(f, &f->begin, coir_once_begin, .once = &once);
} coir_end

static void forgets(void)
{
    coir_run(NULL, coir_new(forgetful));
}

enum { DUMPS, DESTROYS_WAITED, DESTROYS_RUNNING, ELSEWHERE };

struct breaker {
    coir_frame_void;
    coir_args(int how;);
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
    coir_once_init(&once);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(sits, .ns = 1000 * COIR_S));
    coir_await(f, &f->rest, rest);
    if (f->how == DESTROYS_RUNNING)
        coir_once_destroy(&once);
    if (f->how == ELSEWHERE)
        coir_await_on(f, 1, &f->there, sits);
    coir_spawn(&f->group, coir_new(sits, .ns = 1000 * COIR_S));
    coir_await(f, &f->rest, rest);
    if (f->how == DESTROYS_WAITED)
        coir_once_destroy(&once);
    dump_into(f->text, sizeof f->text);
    OK(strstr(f->text, "waits for what sits does once, since "), "a waiter in the dump");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

static void destroys_waited(void)
{
    setenv("COIR_TIME", "virtual", 1);
    coir_run(NULL, coir_new(breaker, .how = DESTROYS_WAITED));
}

static void destroys_running(void)
{
    setenv("COIR_TIME", "virtual", 1);
    coir_run(NULL, coir_new(breaker, .how = DESTROYS_RUNNING));
}

static void used_elsewhere(void)
{
    const struct coir_options two = { .shards = 2 };

    coir_run(&two, coir_new(breaker, .how = ELSEWHERE));
}

int main(void)
{
    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    run_scripts(&subject, scripts, sizeof scripts / sizeof *scripts);
    by_finally = true;
    run_scripts(&subject, scripts, sizeof scripts / sizeof *scripts);
    run_random(&subject, 400);
    run_one("odds", coir_new(odds));
    run_one("dump", coir_new(breaker));
    dies("destroying under a waiter", destroys_waited, "a once is destroyed while sits waits for it at ");
    dies("destroying under the runner", destroys_running, "a once is destroyed while sits runs it, since ");
    dies("using it elsewhere", used_elsewhere, "a once is used on one thread while sits of another shard runs it");
    dies("ending with it", forgets, "task forgetful ended while it is the one to do something once, since ");
    coir_once_init(&once);
    EQ(coir_run(NULL, coir_new(coir_once_begin, .once = &once)), -EINVAL, "the main task of a run has no awaiter");
    return DONE();
}
