/* SPDX-License-Identifier: MIT */
/*
 * Events: who goes on when one is set, and what resetting it, or a cancellation, before or after changes.
 *
 * Scripts: s and r set and reset it.
 */
#include <signal.h>

#include "script.h"

static struct coir_event event;

struct waiter {
    WAITER_FRAME;
    struct coir_event_wait op;
};
static coir_declare(waiter);

coir_body(waiter, f) {
    WAIT_EITHER(f, coir_event_wait, .event = &event);
} coir_end

static void init(void)
{
    memset(&event, 0xA5, sizeof event);
    coir_event_init(&event);
}

static void end(struct script *f)
{
    (void)f;
    coir_event_destroy(&event);
}

static struct coir_task *new_waiter(struct actor *a, int64_t deadline, bool raced)
{
    return coir_new(waiter, .actor = a, .deadline = deadline, .raced = raced);
}

static void move(struct script *f, char m)
{
    (void)f;
    if (m == 's')
        coir_event_set(&event);
    else if (m == 'r')
        coir_event_reset(&event);
}

static const char *const scripts[] = {
    "+++.[---]s.[000]+.[0000]r+.[0000-]s.[00000]",
    "s+.[0]",
    "sr+.[-]",
    "+++.sr.[000]+.[000-]",             /* all who waited when it was set, and nobody else */
    "+++.srs+.[0000]",
    "++.rs.[00]",
    "++.ss.[00]",
    "++.r.[--]",
    "++.c0s.[x0]",
    "++.sc0.[00]",                      /* set, then cancelled: it was set */
    "++.srA.[00]",
    "++.As.[xx]",
    "+++.c1sr.[0x0]",
    "T+.w.[t-]s.[t0]",
    "T+.sw.[00]",
    "T.wsr+.[t-]",
};

/* ---- random scripts ---- */

static bool is_set;

static void model_begins(void)
{
    is_set = false;
}

static void model_turn(void)
{
    for (unsigned n = one_of(4); n > 0; n--) {
        const int some = (int)one_of((unsigned)model.used + 1);
        if (one_of(3) == 0) {
            is_set = !is_set;
            add_move(is_set ? 's' : 'r', -1);
            while (is_set && model.waiting)
                model.state[model_pops()] = '0';
        } else if (some < model.used && model.state[some] == '-') {
            add_move('c', some);
            model_leaves(some);
        }
    }
    if (one_of(2)) {
        add_move('+', -1);
        const int n = model_comes();
        if (is_set) {
            model_pops();
            model.state[n] = '0';
        }
    }
}

static const struct subject subject = { "event", init, end, new_waiter, move, model_begins, model_turn };

/* ---- arguments, spawned by itself, and what it costs ---- */

static __attribute__((noinline)) void *on_the_stack(void)
{
    return (char *)__builtin_frame_address(0) - 64;
}

enum { WAITERS = 100 };

struct odds {
    coir_frame_void;
    coir_no_args;
    struct coir_event_wait wait;
    struct coir_scope scope;
    struct coir_group group;
    struct coir_stats before, now;
    struct rest rest;
    int i;
    struct coir_group_wait end;
};
static coir_declare(odds);

coir_body(odds, f) {
    coir_event_init(&event);
    coir_await(f, &f->wait, coir_event_wait, .event = NULL);
    EQ(coir_status(&f->wait), -EFAULT, "NULL");
    coir_await(f, &f->wait, coir_event_wait, .event = on_the_stack());
    EQ(coir_status(&f->wait), -EFAULT, "on the C stack");
    coir_within(f, &f->scope, 0, &f->wait, coir_event_wait, .event = &event);
    EQ(coir_status(&f->wait), -ETIMEDOUT, "a deadline in the past");
    coir_event_set(&event);
    OK(coir_event_is_set(&event), "it is set");
    coir_within(f, &f->scope, 0, &f->wait, coir_event_wait, .event = &event);
    EQ(coir_status(&f->wait), 0, "what is set does not wait, in a cancelled scope neither");
    coir_event_reset(&event);
    OK(!coir_event_is_set(&event), "it is not");
    coir_group_open(f, &f->group);
    for (f->i = 0; f->i < WAITERS; f->i++)
        coir_spawn(&f->group, coir_new(coir_event_wait, .event = &event));
    coir_await(f, &f->rest, rest);
    EQ(f->group.live, WAITERS, "waits that were spawned by themselves");
    coir_stats(0, &f->before);
    coir_event_set(&event);
    coir_await(f, &f->end, coir_group_wait, .group = &f->group);
    coir_stats(0, &f->now);
    EQ(coir_status(&f->end), 0, "all end");
    EQ(f->now.allocations, f->before.allocations, "nothing was allocated");
    EQ(f->now.submissions, f->before.submissions, "nothing was asked of the kernel");
    OK(f->now.syscalls - f->before.syscalls <= f->now.turns - f->before.turns, "no system call but the loop's own");
    coir_event_reset(&event);
    coir_group_open(f, &f->group, .keep_going = true);
    coir_spawn(&f->group, coir_new(coir_event_wait, .event = &event));
    coir_await(f, &f->rest, rest);
    coir_group_cancel(&f->group);
    coir_await(f, &f->end, coir_group_wait, .group = &f->group);
    coir_event_destroy(&event);
    coir_event_destroy(NULL);
} coir_end

/* ---- the dump, and broken rules ---- */

struct sits {
    coir_frame_void;
    coir_no_args;
    struct coir_event_wait wait;
};
static coir_declare(sits);

coir_body(sits, f) {
    coir_try(f, &f->wait, coir_event_wait, .event = &event);
} coir_end

struct sets_there {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(sets_there);

coir_body(sets_there, f) {
    coir_event_set(&event);
    coir_event_reset(&event);
} coir_end

struct breaker {
    coir_frame_void;
    coir_args(bool destroys; bool elsewhere;);
    struct coir_group group;
    struct sets_there there;
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
    coir_event_init(&event);
    if (f->elsewhere)
        coir_await_on(f, 1, &f->there, sets_there);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(sits));
    coir_await(f, &f->rest, rest);
    if (f->destroys)
        coir_event_destroy(&event);
    if (f->elsewhere)
        coir_await_on(f, 1, &f->there, sets_there);
    dump_into(f->text, sizeof f->text);
    OK(strstr(f->text, "waits for an event"), "a waiter in the dump");
    coir_event_set(&event);
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
    run_scripts(&subject, scripts, sizeof scripts / sizeof *scripts);
    run_random(&subject, 400);
    run_one("odds", coir_new(odds));
    run_one("dump", coir_new(breaker));
    dies("destroying under a waiter", destroys, "an event is destroyed while sits waits for it at ");
    dies("using it elsewhere", used_elsewhere, "an event is used on one thread while sits of another shard waits");
    coir_event_init(&event);
    EQ(coir_run(NULL, coir_new(sits)), -EDEADLK, "waiting for nobody is a deadlock");
    coir_event_set(&event);
    EQ(coir_run(NULL, coir_new(sits)), 0, "one that was set outside of any run");
    return DONE();
}
