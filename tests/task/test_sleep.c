/* SPDX-License-Identifier: MIT */
/*
 * Sleeps, passes and the two run queues: who goes when. Exact under virtual time; under real time a sleep takes
 * at least as long as it was asked to, and nothing is said about how much longer.
 */
#include "help.h"
#include "runtime/base/torture.h"

struct sleeper {
    coir_frame_void;
    coir_args(const char *name; int64_t ns; int64_t until;);
    int64_t began;
    union {
        struct coir_sleep sleep;
        struct coir_sleep_until until_;
    };
};
static coir_declare(sleeper);

coir_body(sleeper, f) {
    f->began = coir_now();
    if (f->until)
        coir_try(f, &f->until_, coir_sleep_until, .at = f->until);
    else
        coir_try(f, &f->sleep, coir_sleep, .ns = f->ns);
    trace(f->name);
    if (coir_time_is_virtual() && !f->until)
        EQ(coir_now() - f->began, f->ns, "%s slept exactly", f->name);
    else
        OK(coir_now() >= f->began + f->ns && coir_now() >= f->until, "%s slept long enough", f->name);
} coir_end

struct sleepers {
    coir_frame_void;
    coir_no_args;
    int64_t began;
    struct coir_group group;
    union {
        struct coir_group_wait wait;
        struct coir_sleep sleep;
        struct coir_sleep_until until;
    };
};
static coir_declare(sleepers);

coir_body(sleepers, f) {
    f->began = coir_now();
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(sleeper, .name = "d", .ns = 200 * COIR_MS));
    coir_spawn(&f->group, coir_new(sleeper, .name = "b", .ns = 100 * COIR_MS));
    coir_spawn(&f->group, coir_new(sleeper, .name = "c", .until = f->began + 150 * COIR_MS));
    coir_spawn(&f->group, coir_new(sleeper, .name = "a", .until = f->began + 10 * COIR_MS));
    coir_spawn(&f->group, coir_new(sleeper, .name = "e", .ns = 300 * COIR_MS));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    STR_EQ(traces(), "abcde", "in the order of their times");
    f->began = coir_now();
    coir_try(f, &f->sleep, coir_sleep, .ns = 0);
    coir_try(f, &f->sleep, coir_sleep, .ns = -5);
    coir_try(f, &f->sleep, coir_sleep, .ns = INT64_MIN);
    coir_try(f, &f->until, coir_sleep_until, .at = f->began);
    coir_try(f, &f->until, coir_sleep_until, .at = INT64_MIN);
    if (coir_time_is_virtual())
        EQ(coir_now(), f->began, "no time and times in the past do not suspend");
} coir_end

/* Equal times: first come, first woken. */
struct ties {
    coir_frame_void;
    coir_no_args;
    int64_t at;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(ties);

coir_body(ties, f) {
    static const char *const names[] = { "a", "b", "c", "d", "e", "f" };
    f->at = coir_now() + COIR_S;
    coir_group_open(f, &f->group);
    for (int i = 0; i < 6; i++)
        coir_spawn(&f->group, coir_new(sleeper, .name = names[i], .until = f->at));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    STR_EQ(traces(), "abcdef", "equal times in order of arrival");
} coir_end

/* Longest times: no overflow. */
struct forever {
    coir_frame_void;
    coir_no_args;
    struct coir_scope scope;
    struct coir_sleep sleep;
    struct coir_sleep_until until;
};
static coir_declare(forever);

coir_body(forever, f) {
    coir_within(f, &f->scope, coir_now() + COIR_S, &f->sleep, coir_sleep, .ns = INT64_MAX);
    EQ(coir_status(&f->sleep), -ETIMEDOUT, "the longest sleep");
    coir_within(f, &f->scope, coir_now() + COIR_S, &f->until, coir_sleep_until, .at = INT64_MAX);
    EQ(coir_status(&f->until), -ETIMEDOUT, "the latest time");
    coir_within(f, &f->scope, coir_now() + COIR_S, &f->until, coir_sleep_until, .at = INT64_MAX - 1);
    EQ(coir_status(&f->until), -ETIMEDOUT, "and the one before it");
} coir_end

/* ---- passing ---- */

struct passer {
    coir_frame_void;
    coir_args(const char *name; int times; bool background;);
    int i;
    struct coir_pass pass;
};
static coir_declare(passer);

coir_body(passer, f) {
    coir_background(f, f->background);
    if (f->background)
        coir_try(f, &f->pass, coir_pass);
    for (f->i = 0; f->i < f->times; f->i++) {
        trace(f->name);
        coir_try(f, &f->pass, coir_pass);
    }
} coir_end

struct robin {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(robin);

coir_body(robin, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(passer, .name = "a", .times = 5));
    coir_spawn(&f->group, coir_new(passer, .name = "b", .times = 3));
    coir_spawn(&f->group, coir_new(passer, .name = "c", .times = 4));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    STR_EQ(traces(), "abcabcabcaca", "round robin");
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(passer, .name = "x", .times = 3, .background = true));
    coir_spawn(&f->group, coir_new(passer, .name = "a", .times = 8));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    STR_EQ(traces(), COIR_TURN_STEPS > 8 ? "aaaaaaaaxxx" : "axaaxaaxaaa", "the background queue yields to the other");
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(passer, .name = "x", .times = 3, .background = true));
    coir_spawn(&f->group, coir_new(passer, .name = "a", .times = 600));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    const char *const all = traces();
    OK(strstr(all, "xa"), "but is not starved by it");
} coir_end

/* A pass in a cancelled scope does not go. */
struct cancelled_pass {
    coir_frame_void;
    coir_no_args;
    struct coir_scope scope;
    struct coir_pass pass;
};
static coir_declare(cancelled_pass);

coir_body(cancelled_pass, f) {
    coir_within(f, &f->scope, coir_now(), &f->pass, coir_pass);
    EQ(coir_status(&f->pass), -ETIMEDOUT, "a pass in a cancelled scope");
} coir_end

int main(void)
{
    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    setenv("COIR_TIME", "real", 1);
    EQ(run(coir_new(sleepers)), 0, "real time");
    EQ(run(coir_new(robin)), 0, "passing");
    setenv("COIR_TIME", "virtual", 1);
    EQ(run(coir_new(sleepers)), 0, "virtual time");
    EQ(run(coir_new(ties)), 0, "ties");
    EQ(run(coir_new(forever)), 0, "for ever");
    EQ(run(coir_new(cancelled_pass)), 0, "a pass");
    return DONE();
}
