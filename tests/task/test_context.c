/* SPDX-License-Identifier: MIT */
/*
 * Context: what is bound is seen below the await that binds it, through awaits, scopes, groups, combinators and on
 * other shards; not beside it, not afterwards, and not by what may outlive it. Cancellation and deadlines pass through
 * a binding as if it were not there.
 */
#include "help.h"

static const struct coir_context_key name_key = { "name", NULL }, level_key = { "level", NULL };
static const struct coir_context_key no_name = { NULL, NULL };

/* Says what it sees: the name, or "-", and the level, or "-". */
struct see {
    coir_frame_void;
    coir_args(int on_the_way;);
    struct coir_sleep sleep;
    struct coir_pass pass;
};
static coir_declare(see);

#define SAY(f) do { \
    trace(coir_context_get(f, &name_key) ? (const char *)coir_context_get(f, &name_key) : "-"); \
    trace(coir_context_get(f, &level_key) ? (const char *)coir_context_get(f, &level_key) : "-"); \
    trace(" "); \
    } while (0)

coir_body(see, f) {
    SAY(f);
    if (f->on_the_way) {
        coir_await(f, &f->pass, coir_pass);
        SAY(f);
    }
} coir_end

/* ---- where it is seen ---- */

struct nested {
    coir_frame_void;
    coir_no_args;
    struct coir_context context;
    struct coir_scope scope;
    struct see see;
};
static coir_declare(nested);

coir_body(nested, f) {
    coir_await(f, &f->see, see);
    coir_with(f, &f->context, &name_key, "inner", &f->see, see, .on_the_way = 1);
    coir_within(f, &f->scope, coir_now() + COIR_S, &f->see, see);
    coir_shield(f, &f->scope, &f->see, see);
    coir_with(f, &f->context, &name_key, NULL, &f->see, see);
    coir_finally(f) {
        SAY(f);
        coir_with(f, &f->context, &level_key, "3", &f->see, see);
    }
} coir_end

struct both {
    coir_frame_void;
    coir_no_args;
    struct coir_context context;
    struct nested nested;
};
static coir_declare(both);

coir_body(both, f) {
    coir_with(f, &f->context, &level_key, "2", &f->nested, nested);
} coir_end

struct program {
    coir_frame_void;
    coir_no_args;
    struct coir_context context;
    union {
        struct see see;
        struct both both;
    };
};
static coir_declare(program);

coir_body(program, f) {
    SAY(f);
    coir_with(f, &f->context, &name_key, "outer", &f->both, both);
    coir_check(f, &f->both);
    SAY(f);
    coir_await(f, &f->see, see);
} coir_end

static void test_awaits(void)
{
    EQ(run(coir_new(program)), 0, "bindings in bindings");
    STR_EQ(traces(), "-- outer2 inner2 inner2 outer2 outer2 -2 outer2 outer3 -- -- ",
           "each is seen below its await only");
}

/* ---- groups, combinators ---- */

struct spawns {
    coir_frame_void;
    coir_args(struct coir_group *outside;);
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_combine all;
    struct coir_task *kids[2];
    struct see see;
};
static coir_declare(spawns);

coir_body(spawns, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(see));
    coir_spawn(f->outside, coir_new(see));
    coir_detach(coir_new(see));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    f->kids[0] = coir_make(&f->see, see);
    f->kids[1] = coir_new(see);
    coir_all(f, &f->all, f->kids, 2);
} coir_end

struct groups {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_context context;
    struct spawns spawns;
};
static coir_declare(groups);

coir_body(groups, f) {
    coir_group_open(f, &f->group);
    coir_with(f, &f->context, &name_key, "a", &f->spawns, spawns, .outside = &f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

static void test_groups(void)
{
    static const struct coir_options drain = { .drain = true };

    EQ(coir_run(&drain, coir_new(groups)), 0, "groups below and outside");
    STR_EQ(traces(), "a- -- -- a- a- ", "members see what the group's opener saw; the detached one nothing");
}

/* ---- through cancellation ---- */

struct sleeps {
    coir_frame_void;
    coir_no_args;
    struct coir_context context;
    struct coir_sleep sleep;
};
static coir_declare(sleeps);

coir_body(sleeps, f) {
    coir_with(f, &f->context, &level_key, "1", &f->sleep, coir_sleep, .ns = COIR_S);
    coir_check(f, &f->sleep);
    coir_finally(f) {
        coir_with(f, &f->context, &level_key, "2", &f->sleep, coir_sleep, .ns = COIR_MS);
        EQ(coir_status(&f->sleep), 0, "a binding in coir_finally is shielded as that is");
        SAY(f);
    }
} coir_end

struct cancels {
    coir_frame_void;
    coir_no_args;
    int64_t began;
    struct coir_context context;
    struct coir_scope scope;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_sleep sleep;
    struct sleeps sleeps;
};
static coir_declare(cancels);

coir_body(cancels, f) {
    f->began = coir_now();
    coir_within(f, &f->scope, f->began + 10 * COIR_MS, &f->sleeps, sleeps);
    EQ(coir_status(&f->sleeps), -ETIMEDOUT, "the deadline is outside the binding");
    EQ(coir_now() - f->began, 11 * COIR_MS, "and on time");
    coir_within(f, &f->scope, coir_now(), &f->sleeps, sleeps);
    EQ(coir_status(&f->sleeps), -ETIMEDOUT, "one that has passed");
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(sleeps));
    coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), 0, "a member was cancelled through its binding");
} coir_end

static void test_cancellation(void)
{
    EQ(run(coir_new(cancels)), 0, "cancelled in a binding");
    STR_EQ(traces(), "-- -- -- ", "three times");
}

/* ---- on another shard ---- */

struct elsewhere {
    coir_frame(bool);
    coir_no_args;
    struct coir_context context;
    struct coir_group group;
    struct coir_group_wait wait;
    struct see see;
};
static coir_declare(elsewhere);

coir_body(elsewhere, f) {
    f->result = coir_shard_id() == 1;
    SAY(f);
    coir_with(f, &f->context, &level_key, "9", &f->see, see, .on_the_way = 1);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(see));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

struct far {
    coir_frame_void;
    coir_no_args;
    struct elsewhere elsewhere;
};
static coir_declare(far);

coir_body(far, f) {
    coir_await_on(f, 1, &f->elsewhere, elsewhere);
    OK(f->elsewhere.result, "it was there");
    SAY(f);
} coir_end

struct away {
    coir_frame_void;
    coir_no_args;
    struct coir_context context;
    struct far far;
};
static coir_declare(away);

coir_body(away, f) {
    coir_with(f, &f->context, &name_key, "home", &f->far, far);
    OK(coir_spawn_on(1, coir_new(see)) == 0, "another one begins there");
} coir_end

static void test_shards(void)
{
    static const struct coir_options two = { .shards = 2, .drain = true };

    EQ(coir_run(&two, coir_new(away)), 0, "a child on another shard");
    STR_EQ(traces(), "home- home9 home9 home- home- -- ",
           "a child sees what its awaiter sees, a task spawned there nothing");
}

/* ---- seen ---- */

static void print_number(FILE *to, const void *value)
{
    fprintf(to, "%d", *(const int *)value);
}

static const struct coir_context_key number_key = { "number", print_number };

struct third { coir_frame_void; coir_no_args; struct coir_context context; struct coir_sleep sleep; };
struct second { coir_frame_void; coir_no_args; int number; struct coir_context context; struct third third; };
struct first { coir_frame_void; coir_no_args; struct coir_context context; struct second second; };
static coir_declare(third);
static coir_declare(second);
static coir_declare(first);

coir_body(third, f) {
    coir_with(f, &f->context, &no_name, "hidden", &f->sleep, coir_sleep, .ns = COIR_S);
} coir_end

coir_body(second, f) {
    f->number = 42;
    coir_with(f, &f->context, &number_key, &f->number, &f->third, third);
} coir_end

coir_body(first, f) {
    coir_with(f, &f->context, &name_key, "x", &f->second, second);
} coir_end

struct shown {
    coir_frame_void;
    coir_no_args;
    char *text;
    size_t size;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_sleep sleep;
};
static coir_declare(shown);

static void dump(struct shown *f)
{
    FILE *to = open_memstream(&f->text, &f->size);

    coir_dump(to);
    fclose(to);
    if (!OK(strstr(f->text, ", name\n") && strstr(f->text, ", number 42: sleeps"), "the dump has what has a name"))
        NOTE("%s", f->text);
    free(f->text);
}

coir_body(shown, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(first));
    coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    dump(f);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

struct counts {
    coir_frame_void;
    coir_no_args;
    struct coir_stats before, after;
    struct coir_context context;
    struct see see;
};
static coir_declare(counts);

coir_body(counts, f) {
    coir_stats(0, &f->before);
    coir_with(f, &f->context, &name_key, "x", &f->see, see);
    coir_stats(0, &f->after);
    EQ(f->after.allocations - f->before.allocations, 0, "binding allocates nothing");
    EQ(f->after.syscalls - f->before.syscalls, 0, "and makes no system call");
} coir_end

static void test_seen(void)
{
    EQ(run(coir_new(shown)), 0, "a dump of what runs below bindings");
    EQ(run(coir_new(counts)), 0, "what it costs");
    STR_EQ(traces(), "x- ", "it was bound");
}

/* ---- law 1 ---- */

struct dangling {
    coir_frame_void;
    coir_no_args;
    struct see see;
};
static coir_declare(dangling);

coir_body(dangling, f) {
    struct coir_context on_the_stack;

    coir_with(f, &on_the_stack, &name_key, "x", &f->see, see);
} coir_end

static int dangles(void)
{
    return coir_main(coir_new(dangling));
}

int main(void)
{
    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    setenv("COIR_TIME", "virtual", 1);
    test_awaits();
    test_groups();
    test_cancellation();
    test_seen();
    unsetenv("COIR_TIME");
    test_shards();
    STOPS(dangles, "coir_with", "a binding on the C stack");
    return DONE();
}
