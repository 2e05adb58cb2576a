/* SPDX-License-Identifier: MIT */
/*
 * Between shards, and at the end of a run. A shard is held in a body, which spins on an atomic, until the other has
 * done its part; so a letter stays under way as long as the test likes. And who comes and goes while a run ends.
 */
#include "races.h"

#include <sched.h>

static int step;                         /* atomic: how far the two have come */

static int step_now(void)
{
    return __atomic_load_n(&step, __ATOMIC_SEQ_CST);
}

static void step_is(int n)
{
    __atomic_store_n(&step, n, __ATOMIC_SEQ_CST);
}

/* Holds the shard. */
static void hold_until(int n)
{
    while (step_now() < n)
        sched_yield();
}

/* ---- coir_await_on: the letter that says cancel, and the one that says it has ended ---- */

enum { ENDS, CROSSES, GOES_ON };

struct away {
    coir_frame_void;
    coir_args(int how;);
    struct coir_sleep sleep;
};
static coir_declare(away);

coir_body(away, f) {
    step_is(1);
    if (f->how == CROSSES || f->how == ENDS)
        hold_until(2);                   /* home has sent its cancel by then, or is held until this has ended */
    if (f->how == GOES_ON)
        coir_await(f, &f->sleep, coir_sleep, .ns = 3600 * COIR_S);
    f->task.status = f->how == GOES_ON ? coir_status(&f->sleep) : 0;
} coir_end

struct sends_in {
    coir_frame_void;
    coir_args(int how;);
    struct away away;
};
static coir_declare(sends_in);

coir_body(sends_in, f) {
    coir_await_on(f, 1, &f->away, away, .how = f->how);
    coir_check(f, &f->away);
} coir_end

struct sender {
    coir_frame_void;
    coir_args(int how; struct coir_scope *scope; int *status;);
    struct sends_in in;
};
static coir_declare(sender);

coir_body(sender, f) {
    coir_within(f, f->scope, COIR_NEVER, &f->in, sends_in, .how = f->how);
    *f->status = coir_status(&f->in);
} coir_end

struct letters {
    coir_frame_void;
    coir_args(int how; bool stop;);
    struct coir_scope scope;
    struct coir_group group;
    int status;
    union {
        struct coir_pass pass;
        struct coir_group_wait wait;
    };
};
static coir_declare(letters);

/* In a deadlock's stead a test hangs here and is ended. */
static void wait_for_a_letter(void)
{
    while (coir_inbox_empty(&coir_shard_here()->inbox))
        sched_yield();
}

coir_body(letters, f) {
    step_is(0);
    f->status = 1;
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(sender, .how = f->how, .scope = &f->scope, .status = &f->status));
    while (step_now() < 1)
        coir_await(f, &f->pass, coir_pass);
    if (f->how == ENDS) {
        step_is(2);
        wait_for_a_letter();
    }
    if (f->stop)
        coir_stop();
    else
        coir_scope_cancel(&f->scope);
    step_is(2);
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        RACE_EQ(f->status, f->how == GOES_ON ? -ECANCELED : 0, "what the awaiter gets");
    }
} coir_end

/* ---- a wait on shard 1, which is held while shard 0 hands over ---- */

static const long long seventeen = 17;
static struct coir_xchan *xchan;
static struct coir_cell *cell;
static struct coir_scope *waits_in;      /* shard 1's */

struct waiter {
    coir_frame_void;
    coir_args(bool cell; long long *item; int *status;);
    struct coir_scope scope;
    union {
        struct coir_xchan_recv recv;
        struct coir_cell_wait wait;
    };
};
static coir_declare(waiter);

coir_body(waiter, f) {
    waits_in = &f->scope;
    if (f->cell) {
        coir_within(f, &f->scope, COIR_NEVER, &f->wait, coir_cell_wait, .cell = cell);
        *f->status = coir_status(&f->wait);
        *f->item = f->wait.result;
    } else {
        coir_within(f, &f->scope, COIR_NEVER, &f->recv, coir_xchan_recv, .channel = xchan, .item = f->item);
        *f->status = coir_status(&f->recv);
    }
} coir_end

struct there {
    coir_frame_void;
    coir_args(bool cell; bool first;);
    long long item, left;
    int status, external;
    struct coir_group group;
    union {
        struct coir_pass pass;
        struct coir_group_wait wait;
    };
};
static coir_declare(there);

coir_body(there, f) {
    f->item = f->left = 0;
    f->external = coir_shard_here()->external;
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(waiter, .cell = f->cell, .item = &f->item, .status = &f->status));
    while (coir_shard_here()->external == f->external)
        coir_await(f, &f->pass, coir_pass);
    if (f->first) {
        step_is(1);
        hold_until(2);                   /* handed over; the letter lies in this shard's inbox */
        coir_scope_cancel(waits_in);
    } else {
        coir_scope_cancel(waits_in);
        step_is(1);
        hold_until(2);
    }
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    /* a value that is there when a cancelled waiter comes to look is taken all the same */
    RACE_EQ(f->status, f->first || f->cell ? 0 : -ECANCELED, "what the waiter says");
    if (f->cell)
        RACE_EQ(coir_cell_done(cell), true, "the cell keeps its value");
    else
        RACE_EQ(coir_xchan_try_recv(xchan, &f->left), f->first ? -EAGAIN : 0, "the item lies in the channel, or not");
    RACE_EQ(f->item + f->left, 17, "it is in one place");
} coir_end

struct hands_over {
    coir_frame_void;
    coir_args(bool cell; bool first;);
    struct coir_group group;
    union {
        struct coir_pass pass;
        struct coir_group_wait wait;
    };
};
static coir_declare(hands_over);

struct goes_there { coir_frame_void; coir_args(bool cell; bool first;); struct there there; };
static coir_declare(goes_there);

coir_body(goes_there, f) {
    coir_await_on(f, 1, &f->there, there, .cell = f->cell, .first = f->first);
    coir_check(f, &f->there);
} coir_end

coir_body(hands_over, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(goes_there, .cell = f->cell, .first = f->first));
    while (step_now() < 1)
        coir_await(f, &f->pass, coir_pass);
    RACE_EQ(f->cell ? coir_cell_complete(cell, 0, 17) : coir_xchan_try_send(xchan, &seventeen), 0, "it is handed over");
    step_is(2);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

static void between_shards(void)
{
    const struct coir_options two = { .shards = 2 };

    for (int i = 0; i < 2; i++) {
        const char order = i ? 'B' : 'A';

        race_is("await_on, the end", "cancel", order);
        RACE_EQ(coir_run(&two, coir_new(letters, .how = i ? GOES_ON : ENDS)), 0, "it ends well");
        race_is("await_on, the end", "stop", order);
        RACE_EQ(coir_run(&two, coir_new(letters, .how = i ? GOES_ON : ENDS, .stop = true)), 0, "it ends well");
        xchan = coir_xchan_new(sizeof(long long), 2);
        step_is(0);
        race_is("xchan recv, the letter under way", "cancel", order);
        RACE_EQ(coir_run(&two, coir_new(hands_over, .first = !i)), 0, "it ends well");
        coir_xchan_free(xchan);
        cell = coir_cell_new();
        step_is(0);
        race_is("cell, the letter under way", "cancel", order);
        RACE_EQ(coir_run(&two, coir_new(hands_over, .cell = true, .first = !i)), 0, "it ends well");
        coir_cell_drop(cell);
        coir_cell_drop(cell);
    }
    race_is("await_on, the end", "cancel", 'A');
    RACE_EQ(coir_run(&two, coir_new(letters, .how = CROSSES)), 0, "the two letters cross");
}

/* ---- the end of a run ---- */

static int entered, left, cancelled;

/* A detached task: waits a second; on its way out it may detach another. */
struct last {
    coir_frame_void;
    coir_args(bool another;);
    struct coir_sleep sleep;
};
static coir_declare(last);

coir_body(last, f) {
    entered++;
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_S);
    coir_finally(f) {
        left++;
        cancelled += coir_status(f) == -ECANCELED;
        if (f->another)
            RACE_EQ(coir_detach(coir_new(last)), 0, "another one is detached");
    }
} coir_end

enum { DETACHES = 1, DETACHES_IN_FINALLY = 2, STOPS_FIRST = 4, FAILS = 8 };

struct ends_run {
    coir_frame_void;
    coir_args(int how;);
};
static coir_declare(ends_run);

coir_body(ends_run, f) {
    entered = left = cancelled = 0;
    if (f->how & STOPS_FIRST)
        coir_stop();
    if (f->how & (DETACHES | DETACHES_IN_FINALLY))
        RACE_EQ(coir_detach(coir_new(last, .another = f->how & DETACHES_IN_FINALLY)), 0, "detached");
    if (f->how & FAILS)
        coir_fail(f, EPROTO);
} coir_end

/* Stops when the main task has ended: it is not cancelled by itself while the run is drained. */
struct stops_late {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
};
static coir_declare(stops_late);

static int main_left;

coir_body(stops_late, f) {
    while (!main_left)
        coir_await(f, &f->pass, coir_pass);
    coir_stop();
} coir_end

struct drained {
    coir_frame_void;
    coir_args(bool stops_first;);
    struct coir_pass pass;
};
static coir_declare(drained);

coir_body(drained, f) {
    entered = left = cancelled = main_left = 0;
    coir_detach(coir_new(last));
    if (f->stops_first)
        coir_stop();
    else
        coir_detach(coir_new(stops_late));
    while (!entered && !f->stops_first)
        coir_await(f, &f->pass, coir_pass);
    main_left = 1;
} coir_end

static void ends(const struct coir_options *o, const char *what, const char *rival, char order, int how, int members,
                 int gone)
{
    race_is(what, rival, order);
    RACE_EQ(coir_run(o, coir_new(ends_run, .how = how)), how & FAILS ? -EPROTO : 0, "the main task's status");
    RACE_EQ(entered, members, "each enters its body");
    RACE_EQ(left, members, "and its coir_finally");
    RACE_EQ(cancelled, gone, "cancelled");
}

static void end_of_a_run(void)
{
    const struct coir_options drain = { .drain = true };

    /* with the run not drained, and drained */
    ends(NULL, "detach", "the end of the main task", 'A', DETACHES, 1, 1);
    ends(&drain, "detach", "the end of the main task", 'A', DETACHES, 1, 0);
    ends(NULL, "detach", "the end of the main task", 'B', DETACHES_IN_FINALLY, 2, 2);
    ends(&drain, "detach", "the end of the main task", 'B', DETACHES_IN_FINALLY, 2, 0);
    ends(NULL, "the main task's failure", "stop", 'A', FAILS | DETACHES, 1, 1);
    ends(NULL, "the main task's failure", "stop", 'B', FAILS | DETACHES | STOPS_FIRST, 1, 1);
    ends(&drain, "the main task's failure", "stop", 'B', FAILS | DETACHES | STOPS_FIRST, 1, 1);
    for (int i = 0; i < 2; i++) {
        race_is("the main task's end, drained", "stop", i ? 'B' : 'A');
        RACE_EQ(coir_run(&drain, coir_new(drained, .stops_first = i)), 0, "the main task's status");
        RACE_EQ(left, 1, "the detached task leaves");
        RACE_EQ(cancelled, 1, "cancelled: who stops does not want to wait");
    }
}

/* ---- a task for another shard, and the end ---- */

static int arrived;                      /* atomic */

struct arrives { coir_frame_void; coir_no_args; struct coir_sleep sleep; };
static coir_declare(arrives);

coir_body(arrives, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = 3600 * COIR_S);
    coir_finally(f) {
        __atomic_add_fetch(&arrived, coir_status(f) == -ECANCELED ? 1 : 100, __ATOMIC_SEQ_CST);
    }
} coir_end

/* On shard 1, until it is cancelled by the end of the run; then it spawns. */
struct spawns_late { coir_frame_void; coir_no_args; struct coir_sleep sleep; };
static coir_declare(spawns_late);

coir_body(spawns_late, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = 3600 * COIR_S);
    coir_finally(f) {
        RACE_EQ(coir_spawn_on(0, coir_new(arrives)), 0, "spawned while the run ends");
    }
} coir_end

struct spawns_over { coir_frame_void; coir_args(bool late;); };
static coir_declare(spawns_over);

coir_body(spawns_over, f) {
    __atomic_store_n(&arrived, 0, __ATOMIC_SEQ_CST);
    if (f->late)
        RACE_EQ(coir_spawn_on(1, coir_new(spawns_late)), 0, "one that will spawn");
    else
        RACE_EQ(coir_spawn_on(1, coir_new(arrives)), 0, "the letter is under way when the main task ends");
} coir_end

int main(void)
{
    const struct coir_options two = { .shards = 2 };

    between_shards();
    for (int i = 0; i < 2; i++) {
        race_is("spawn_on", "the end of the main task", i ? 'B' : 'A');
        RACE_EQ(coir_run(&two, coir_new(spawns_over, .late = i)), 0, "it ends well");
        RACE_EQ(__atomic_load_n(&arrived, __ATOMIC_SEQ_CST), 1, "it entered its body, and left it cancelled");
    }
    setenv("COIR_TIME", "virtual", 1);
    end_of_a_run();
    return DONE();
}
