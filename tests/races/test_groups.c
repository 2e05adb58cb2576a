/* SPDX-License-Identifier: MIT */
/*
 * Groups, scopes and combinators: a place, an end, a failure, a beginning, against a cancel, a deadline and each other.
 *
 * A member ends when it is told to, by a permit; that it has ended is seen by looking, between two turns of the
 * driver, and not by counting turns.
 */
#include "races.h"

#include "runtime/base/queue.h"

static struct coir_semaphore ends[3];    /* a permit ends the member of that number */
static int entered, left, cancelled;

static void forget(void)
{
    for (int i = 0; i < 3; i++)
        coir_semaphore_init(&ends[i], 0);
    entered = left = cancelled = 0;
}

/* Waits to be told to end, and does so as it was told. */
struct member { coir_frame_void; coir_args(int n; int fails;); struct coir_acquire acquire; };
static coir_declare(member);

coir_body(member, f) {
    entered++;
    coir_try(f, &f->acquire, coir_acquire, .semaphore = &ends[f->n], .n = 1);
    if (f->fails)
        coir_fail(f, f->fails);
    coir_finally(f) {
        left++;
        cancelled += coir_status(f) == -ECANCELED;
    }
} coir_end

/* ---- a place in a group ---- */

struct spawns { coir_frame_void; coir_args(struct coir_group *g; struct coir_scope *s; int64_t deadline; int *status;);
                struct coir_group_spawn spawn; };
static coir_declare(spawns);

coir_body(spawns, f) {
    coir_within(f, f->s, f->deadline, &f->spawn, coir_group_spawn, .group = f->g, .spawn = coir_new(member, .n = 2));
    *f->status = coir_status(&f->spawn);
} coir_end

struct place {
    coir_frame_void;
    coir_args(enum rival rival; bool first;);
    struct coir_group group, others;
    struct coir_scope scope;
    int64_t at;
    int status;
    union {
        struct coir_pass pass;
        struct coir_group_wait wait;
    };
};
static coir_declare(place);

static void takes_place(struct place *f)
{
    if (f->rival == CANCEL)
        coir_scope_cancel(&f->scope);
    else if (f->rival == FAILURE)
        coir_group_cancel(&f->others);           /* what a failure does */
    else
        coir_shard_here()->virtual_now = f->at;
}

coir_body(place, f) {
    forget();
    f->at = f->rival == DEADLINE ? coir_now() + COIR_MS : COIR_NEVER;
    coir_group_open(f, &f->group, .limit = 1);
    coir_group_open(f, &f->others);
    coir_spawn(&f->group, coir_new(member, .n = 0));
    coir_spawn(&f->others, coir_new(spawns, .g = &f->group, .s = &f->scope, .deadline = f->at, .status = &f->status));
    while (f->group.spawners.next == &f->group.spawners)
        coir_await(f, &f->pass, coir_pass);
    if (!f->first)
        takes_place(f);
    if (!f->first)
        coir_await(f, &f->wait, coir_group_wait, .group = &f->others);
    coir_release(&ends[0], 1);
    while (f->first && f->group.spawners.next != &f->group.spawners)
        coir_await(f, &f->pass, coir_pass);
    if (f->first)
        takes_place(f);
    coir_release(&ends[2], 1);
    if (f->first)
        coir_await(f, &f->wait, coir_group_wait, .group = &f->others);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    RACE_EQ(coir_status(&f->wait), 0, "the group ends well");
    RACE_EQ(f->status, f->first ? 0 : f->rival == DEADLINE ? -ETIMEDOUT : -ECANCELED, "what the spawn says");
    RACE_EQ(entered, f->first ? 2 : 1, "who has a place enters its body, nobody else does");
    RACE_EQ(left, entered, "and leaves it");
} coir_end

/* The group itself fails, with somebody waiting for a place in it. */
struct failing_place {
    coir_frame_void;
    coir_args(bool first;);
    struct coir_group group, others;
    struct coir_scope scope;
    int status;
    union {
        struct coir_pass pass;
        struct coir_group_wait wait;
    };
};
static coir_declare(failing_place);

coir_body(failing_place, f) {
    forget();
    coir_group_open(f, &f->group, .limit = 2);
    coir_group_open(f, &f->others);
    coir_spawn(&f->group, coir_new(member, .n = 0));
    coir_spawn(&f->group, coir_new(member, .n = 1, .fails = EPROTO));
    coir_spawn(&f->others, coir_new(spawns, .g = &f->group, .s = &f->scope, .deadline = COIR_NEVER,
                                    .status = &f->status));
    while (f->group.spawners.next == &f->group.spawners)
        coir_await(f, &f->pass, coir_pass);
    if (f->first) {
        coir_release(&ends[0], 1);
        while (f->group.spawners.next != &f->group.spawners)
            coir_await(f, &f->pass, coir_pass);
    }
    coir_release(&ends[1], 1);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->others);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    RACE_EQ(coir_status(&f->wait), -EPROTO, "the failure is the group's");
    RACE_EQ(f->status, 0, "the one that waited got its place");
    RACE_EQ(entered, 3, "and entered its body");
    RACE_EQ(left, 3, "all left theirs");
    RACE_EQ(cancelled, f->first ? 1 : 2, "cancelled, who had not ended");
} coir_end

/* ---- the wait for a group ---- */

struct leaves { coir_frame_void; coir_args(struct coir_group *g; struct coir_scope *s; int64_t deadline; int *status;);
                struct coir_group_wait wait; };
static coir_declare(leaves);

coir_body(leaves, f) {
    coir_within(f, f->s, f->deadline, &f->wait, coir_group_wait, .group = f->g);
    *f->status = coir_status(&f->wait);
    *f->s = (struct coir_scope){ .cancelled = 1 };       /* its memory is another's */
} coir_end

struct leaving {
    coir_frame_void;
    coir_args(enum rival rival; bool first;);
    struct coir_group group, others;
    struct coir_scope scope;
    int64_t at;
    int status;
    union {
        struct coir_pass pass;
        struct coir_group_wait wait;
    };
};
static coir_declare(leaving);

coir_body(leaving, f) {
    forget();
    f->at = f->rival == DEADLINE ? coir_now() + COIR_MS : COIR_NEVER;
    coir_group_open(f, &f->group);
    coir_group_open(f, &f->others);
    coir_spawn(&f->group, coir_new(member, .n = 0));
    coir_spawn(&f->others, coir_new(leaves, .g = &f->group, .s = &f->scope, .deadline = f->at, .status = &f->status));
    while (!f->group.waiter)
        coir_await(f, &f->pass, coir_pass);
    if (f->first)
        coir_release(&ends[0], 1);
    while (f->first && f->group.live)
        coir_await(f, &f->pass, coir_pass);
    if (f->rival == DEADLINE)
        coir_shard_here()->virtual_now = f->at;
    else if (f->rival == CANCEL && f->scope.owner && !f->scope.cancelled)
        coir_scope_cancel(&f->scope);
    else if (f->rival == FAILURE)
        coir_group_cancel(&f->others);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->others);
    RACE_EQ(f->status, f->first ? 0 : f->rival == DEADLINE ? -ETIMEDOUT : -ECANCELED, "what the wait says");
    RACE_EQ(left, 1, "it returns when its member has left");
    RACE_EQ(cancelled, !f->first, "cancelled or not");
    RACE_EQ(coir_here.cancelled, 0, "no scope is left cancelled");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    RACE_EQ(coir_status(&f->wait), f->first ? 0 : -ECANCELED, "asked again it says the same");
} coir_end

/* ---- failures ---- */

struct failures {
    coir_frame_void;
    coir_args(int how;);
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_pass pass;
};
static coir_declare(failures);

/* Two ends in one turn: the first of them to run is the group's, and the runtime says which that is. */
coir_body(failures, f) {
    forget();
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(member, .n = 0, .fails = EPROTO));
    coir_spawn(&f->group, coir_new(member, .n = 1, .fails = EIO));
    while (entered < 2)
        coir_await(f, &f->pass, coir_pass);
    while (coir_list_empty(&ends[0].waiters) || coir_list_empty(&ends[1].waiters))
        coir_await(f, &f->pass, coir_pass);
    coir_release(&ends[f->how], 1);
    coir_release(&ends[!f->how], 1);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    if (coir_shard_here()->torture)
        RACE_OK(coir_status(&f->wait) == -EPROTO || coir_status(&f->wait) == -EIO, "one of the two failures");
    else
        RACE_EQ(coir_status(&f->wait), f->how ? -EIO : -EPROTO, "the first failure");
    RACE_EQ(cancelled, 0, "who had been told to fail fails by itself");
    RACE_EQ(left, 2, "both left");
} coir_end

struct failure_and_cancel {
    coir_frame_void;
    coir_args(int fails; bool first;);
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_pass pass;
};
static coir_declare(failure_and_cancel);

coir_body(failure_and_cancel, f) {
    forget();
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(member, .n = 0, .fails = f->fails));
    coir_spawn(&f->group, coir_new(member, .n = 1));
    while (coir_list_empty(&ends[0].waiters) || coir_list_empty(&ends[1].waiters))
        coir_await(f, &f->pass, coir_pass);
    if (f->first)
        coir_release(&ends[0], 1);
    coir_group_cancel(&f->group);
    if (!f->first)
        coir_release(&ends[0], 1);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    RACE_EQ(coir_status(&f->wait), f->first ? -f->fails : 0, "a failure of its own is the group's, a cancel is not");
    RACE_EQ(cancelled, f->first ? 1 : 2, "who had its permit was not cancelled");
    RACE_EQ(ends[0].permits, !f->first, "and the permit is somebody's");
} coir_end

/* ---- a member that has not begun ---- */

struct beginning {
    coir_frame_void;
    coir_args(bool first;);
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_pass pass;
};
static coir_declare(beginning);

coir_body(beginning, f) {
    forget();
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(member, .n = 0));
    while (f->first && !entered)
        coir_await(f, &f->pass, coir_pass);
    coir_group_cancel(&f->group);
    RACE_EQ(entered, f->first, "it has begun, or not");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    RACE_EQ(coir_status(&f->wait), 0, "the group was cancelled, and did not fail");
    RACE_EQ(entered, 1, "it enters its body in either case");
    RACE_EQ(left, 1, "and its coir_finally");
    RACE_EQ(cancelled, 1, "cancelled");
} coir_end

/* ---- combinators: two ends in one turn ---- */

struct two_ends {
    coir_frame_void;
    coir_args(int how; int fails[2]; int then;);
    struct coir_task *kids[2];
    struct coir_combine both;
};
static coir_declare(two_ends);

static struct two_ends *two;

coir_body(two_ends, f) {
    two = f;
    for (int i = 0; i < 2; i++)
        f->kids[i] = coir_new(member, .n = i, .fails = f->fails[i]);
    coir_await(f, &f->both, coir_combine, .kids = f->kids, .n = 2, .how = f->how);
    if (f->how != COIR_RACE) {
        RACE_EQ(f->both.result, f->how == COIR_ANY ? 1 : 0, "who decides");
        RACE_EQ(coir_status(&f->both), f->how == COIR_ANY ? 0 : -EPROTO, "with what");
    } else if (coir_shard_here()->torture) {
        RACE_OK(f->both.result < 2, "one of them decides");
    } else {
        RACE_EQ(f->both.result, f->then, "the first decides");
    }
    if (f->how == COIR_RACE)
        RACE_EQ(coir_status(&f->both), 0, "it ended well");
    RACE_EQ(left, 2, "both have ended");
    RACE_EQ(cancelled, 0, "and neither was cancelled: both had their permits");
} coir_end

struct ends_two {
    coir_frame_void;
    coir_args(int how; int fails[2]; int then;);
    struct coir_group group;
    union {
        struct coir_pass pass;
        struct coir_group_wait wait;
    };
};
static coir_declare(ends_two);

coir_body(ends_two, f) {
    forget();
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(two_ends, .how = f->how, .fails = { f->fails[0], f->fails[1] }, .then = f->then));
    while (coir_list_empty(&ends[0].waiters) || coir_list_empty(&ends[1].waiters))
        coir_await(f, &f->pass, coir_pass);
    coir_release(&ends[f->then], 1);
    coir_release(&ends[!f->then], 1);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

/* ---- deadlines ---- */

struct sleeps_until { coir_frame_void; coir_args(int64_t at; int64_t deadline; int *status;);
                      struct coir_scope scope; struct coir_sleep_until sleep; };
static coir_declare(sleeps_until);

coir_body(sleeps_until, f) {
    coir_within(f, &f->scope, f->deadline, &f->sleep, coir_sleep_until, .at = f->at);
    *f->status = coir_status(&f->sleep);
} coir_end

/* The deadline of a wait for a group, and a timer of a member's, of one instant: who was armed first? */
struct instants {
    coir_frame_void;
    coir_args(bool first; bool deadline;);
    int64_t at;
    int status;
    struct coir_scope scope;
    struct coir_group group;
    struct coir_pass pass;
    struct coir_group_wait wait;
    struct sleeps_until sleeps;
};
static coir_declare(instants);

coir_body(instants, f) {
    f->at = coir_now() + COIR_S;
    f->status = 1;
    if (f->first) {
        coir_group_open(f, &f->group);
        coir_spawn(&f->group, coir_new(sleeps_until, .at = f->deadline ? COIR_NEVER : f->at,
                                       .deadline = f->deadline ? f->at : COIR_NEVER, .status = &f->status));
        while (f->status == 1 && !coir_shard_here()->wheel.count)
            coir_await(f, &f->pass, coir_pass);
        coir_within(f, &f->scope, f->at, &f->wait, coir_group_wait, .group = &f->group);
        RACE_EQ(coir_status(&f->wait), -ETIMEDOUT, "the later one passes all the same: the member has not ended yet");
        RACE_EQ(f->status, f->deadline ? -ETIMEDOUT : 0, "and the first has been");
    } else {
        coir_within(f, &f->scope, f->at, &f->sleeps, sleeps_until, .at = f->deadline ? COIR_NEVER : f->at,
                    .deadline = f->deadline ? f->at : COIR_NEVER, .status = &f->status);
        RACE_EQ(f->status, -ECANCELED, "inside the deadline that was first it is a cancel");
        RACE_EQ(coir_status(&f->sleeps), 0, "which the task has dealt with");
    }
    RACE_EQ(coir_now(), f->at, "at that instant");
} coir_end

static struct coir_scope *by_hand;

static void cancels_by_hand(struct coir_alarm *alarm)
{
    (void)alarm;
    coir_scope_cancel(by_hand);
    coir_scope_cancel(by_hand);
}

/* A nanosecond before, so that it comes behind the deadline that has been armed meanwhile. */
static void arms_itself_again(struct coir_alarm *alarm)
{
    alarm->fire = cancels_by_hand;
    coir_wheel_add(&coir_shard_here()->wheel, &alarm->timer, coir_now() + 1);
}

/* The same scope: its deadline, and a cancel. */
struct own_deadline {
    coir_frame_void;
    coir_args(bool first;);
    int64_t at;
    struct coir_scope scope;
    struct coir_alarm alarm;
    struct coir_sleep sleep;
};
static coir_declare(own_deadline);

coir_body(own_deadline, f) {
    f->at = coir_now() + COIR_S;
    by_hand = &f->scope;
    f->alarm.fire = f->first ? cancels_by_hand : arms_itself_again;
    coir_wheel_add(&coir_shard_here()->wheel, &f->alarm.timer, f->at - !f->first);
    coir_within(f, &f->scope, f->at, &f->sleep, coir_sleep, .ns = 10 * COIR_S);
    RACE_EQ(coir_status(&f->sleep), f->first ? -ECANCELED : -ETIMEDOUT, "who was first says what it is");
    coir_scope_cancel(&f->scope);
    RACE_EQ(coir_here.cancelled, 0, "cancelling a scope that has ended does nothing");
    coir_await(f, &f->sleep, coir_sleep, .ns = 1);
    RACE_EQ(coir_status(&f->sleep), 0, "to nobody");
    coir_finally(f) {
        if (coir_timer_armed(&f->alarm.timer))
            coir_wheel_remove(&coir_shard_here()->wheel, &f->alarm.timer);
    }
} coir_end

/* ---- shields, and coir_finally ---- */

struct guarded {
    coir_frame_void;
    coir_args(bool finally; bool *inside; int *kept; int *after;);
    struct coir_scope scope;
    union {
        struct coir_sleep sleep;
        struct coir_pass pass;
    };
};
static coir_declare(guarded);

coir_body(guarded, f) {
    *f->inside = !f->finally;
    if (f->finally)
        coir_return(f);
    coir_shield(f, &f->scope, &f->sleep, coir_sleep, .ns = COIR_S);
    *f->kept = coir_status(&f->sleep);
    coir_await(f, &f->sleep, coir_sleep, .ns = COIR_S);
    *f->after = coir_status(&f->sleep);
    coir_finally(f) {
        *f->inside = true;
        if (f->finally) {
            coir_await(f, &f->sleep, coir_sleep, .ns = COIR_S);
            *f->kept = coir_status(&f->sleep);
        }
    }
} coir_end

struct guards {
    coir_frame_void;
    coir_args(bool finally; bool first;);
    bool inside;
    int kept, after;
    struct coir_group group;
    union {
        struct coir_pass pass;
        struct coir_group_wait wait;
    };
};
static coir_declare(guards);

coir_body(guards, f) {
    f->inside = false;
    f->kept = f->after = 1;
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(guarded, .finally = f->finally, .inside = &f->inside, .kept = &f->kept,
                                   .after = &f->after));
    while (f->first && !f->inside)
        coir_await(f, &f->pass, coir_pass);
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    RACE_EQ(f->kept, 0, "what is shielded comes to its end");
    if (!f->finally)
        RACE_EQ(f->after, -ECANCELED, "what comes after it is cancelled");
} coir_end

static void scopes_and_failures(void)
{
    for (int i = 0; i < 2; i++) {
        const char order = i ? 'B' : 'A';

        race_is("group failure", "failure of a sibling", order);
        RACE_EQ(coir_run(NULL, coir_new(failures, .how = i)), 0, "it ends well");
        race_is("group failure", "cancel of the group", order);
        RACE_EQ(coir_run(NULL, coir_new(failure_and_cancel, .fails = EPROTO, .first = !i)), 0, "it ends well");
        race_is("beginning", "cancel", order);
        RACE_EQ(coir_run(NULL, coir_new(beginning, .first = !i)), 0, "it ends well");
        race_is("sleep", "deadline of the same instant", order);
        RACE_EQ(coir_run(NULL, coir_new(instants, .first = !i)), 0, "it ends well");
        race_is("deadline", "outer deadline of the same instant", order);
        RACE_EQ(coir_run(NULL, coir_new(instants, .first = !i, .deadline = true)), 0, "it ends well");
        race_is("cancel", "deadline of the same scope", order);
        RACE_EQ(coir_run(NULL, coir_new(own_deadline, .first = !i)), 0, "it ends well");
        race_is("shield", "cancel", order);
        RACE_EQ(coir_run(NULL, coir_new(guards, .first = !i)), 0, "it ends well");
        race_is("coir_finally", "cancel", order);
        RACE_EQ(coir_run(NULL, coir_new(guards, .finally = true, .first = !i)), 0, "it ends well");
        race_is("coir_race", "a second end in the same turn", order);
        RACE_EQ(coir_run(NULL, coir_new(ends_two, .how = COIR_RACE, .then = i)), 0, "it ends well");
        race_is("coir_any, a failure", "a success in the same turn", order);
        RACE_EQ(coir_run(NULL, coir_new(ends_two, .how = COIR_ANY, .fails = { EPROTO, 0 }, .then = i)), 0,
                "it ends well");
        race_is("coir_all, a failure", "a failure in the same turn", order);
        RACE_EQ(coir_run(NULL, coir_new(ends_two, .how = COIR_ALL, .fails = { EPROTO, EIO }, .then = i)), 0,
                "it ends well");
    }
}

int main(void)
{
    static const enum rival rivals[] = { CANCEL, DEADLINE, FAILURE };

    setenv("COIR_TIME", "virtual", 1);
    for (int i = 0; i < 6; i++) {
        race_is("group spawn", rival_names[rivals[i / 2]], i % 2 ? 'B' : 'A');
        RACE_EQ(coir_run(NULL, coir_new(place, .rival = rivals[i / 2], .first = i % 2 == 0)), 0, "it ends well");
        race_is("group wait", rival_names[rivals[i / 2]], i % 2 ? 'B' : 'A');
        RACE_EQ(coir_run(NULL, coir_new(leaving, .rival = rivals[i / 2], .first = i % 2 == 0)), 0, "it ends well");
    }
    for (int i = 0; i < 2; i++) {
        race_is("group spawn", "failure of its group", i ? 'B' : 'A');
        RACE_EQ(coir_run(NULL, coir_new(failing_place, .first = i == 0)), 0, "it ends well");
    }
    scopes_and_failures();
    return DONE();
}
