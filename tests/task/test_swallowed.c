/* SPDX-License-Identifier: MIT */
/*
 * Swallowed cancellation: who goes on for a thousand awaits after it was cancelled is named, once, with its place and
 * with what cancelled it; who goes on for 999, or has a right to, is not.
 */
#include "help.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include "runtime/base/torture.h"

enum { ENOUGH = 1000, MANY = 3 * ENOUGH };

/* Where the guilty one stands, and what cancelled it; shared with the child process that runs the case. */
static struct expected {
    int at, from;
} *expected;

#define AT expected->at = __LINE__
#define FROM expected->from = __LINE__

/* ---- what is awaited again and again ---- */

enum what { SLEEP, PASS, RECV, PREAD, OFFLOAD, CHANNEL, ACQUIRE, SELECT, CELL, AWAY, CHILD, ALL, RACE, GROUP };

static struct world {
    int socket, file;
    struct coir_channel channel;
    struct coir_semaphore semaphore;
    struct coir_cell *cell;
} world;

static int64_t nothing(void *arg)
{
    (void)arg;
    return 0;
}

/* Minds: it ends with what its await said. */
struct minds {
    coir_frame_void;
    coir_no_args;
    struct coir_sleep sleep;
};
static coir_declare(minds);

coir_body(minds, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_S);
} coir_end

/* Awaits `n` times, whatever that says. */
struct goes_on {
    coir_frame_void;
    coir_args(enum what what; int n; bool shields;);
    int i, item, how;
    char byte;
    struct coir_arm arm;
    struct minds kid[2];
    struct coir_task *kids[2];
    struct coir_group group;
    struct coir_scope scope;
    union {
        struct coir_sleep sleep;
        struct coir_pass pass;
        struct coir_recv recv;
        struct coir_pread pread;
        struct coir_offload offload;
        struct coir_channel_recv receive;
        struct coir_acquire acquire;
        struct coir_select select;
        struct coir_cell_wait cell;
        struct coir_combine combine;
        struct coir_group_wait wait;
    };
};
static coir_declare(goes_on);

coir_body(goes_on, f) {
    for (f->i = 0; f->i < f->n; f->i++) {
        if (f->what == SLEEP && f->shields) {
            coir_shield(f, &f->scope, &f->sleep, coir_sleep, .ns = 1);
        } else if (f->what == SLEEP) {
            AT; coir_await(f, &f->sleep, coir_sleep, .ns = COIR_S);
        } else if (f->what == PASS) {
            AT; coir_await(f, &f->pass, coir_pass);
        } else if (f->what == RECV) {
            AT; coir_await(f, &f->recv, coir_recv, .fd = world.socket, .buf = &f->byte, .len = 1);
        } else if (f->what == PREAD) {
            AT; coir_await(f, &f->pread, coir_pread, .fd = world.file, .buf = &f->byte, .len = 1);
        } else if (f->what == OFFLOAD) {
            AT; coir_await(f, &f->offload, coir_offload, .fn = nothing);
        } else if (f->what == CHANNEL) {
            AT; coir_await(f, &f->receive, coir_channel_recv, .channel = &world.channel, .item = &f->item);
        } else if (f->what == ACQUIRE) {
            AT; coir_await(f, &f->acquire, coir_acquire, .semaphore = &world.semaphore, .n = 1);
        } else if (f->what == SELECT) {
            coir_arm_recv(&f->arm, &world.channel, &f->item);
            AT; coir_await(f, &f->select, coir_select, .arms = &f->arm, .n = 1);
        } else if (f->what == CELL) {
            AT; coir_await(f, &f->cell, coir_cell_wait, .cell = world.cell);
        } else if (f->what == AWAY) {
            AT; coir_await_on(f, 1, &f->kid[0], minds);
        } else if (f->what == CHILD) {
            AT; coir_await(f, &f->kid[0], minds);
        } else if (f->what == ALL || f->what == RACE) {
            f->kids[0] = coir_make(&f->kid[0], minds);
            f->kids[1] = coir_make(&f->kid[1], minds);
            f->how = f->what == ALL ? COIR_ALL : COIR_RACE;
            AT; coir_await(f, &f->combine, coir_combine, .kids = f->kids, .n = 2, .how = f->how);
        } else if (f->what == GROUP) {
            coir_group_open(f, &f->group);
            coir_spawn(&f->group, coir_new(minds));
            AT; coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        }
    }
} coir_end

/* ---- what cancels it ---- */

enum by { BY_GROUP, BY_DEADLINE, BY_RACE, BY_STOP };

/* One that goes on in a group, after its first wait was cancelled. */
struct member {
    coir_frame_void;
    coir_args(enum what what; int n; bool in_finally; bool shields;);
    struct coir_sleep sleep;
    struct goes_on loop;
};
static coir_declare(member);

coir_body(member, f) {
    coir_await(f, &f->sleep, coir_sleep, .ns = 1000 * COIR_S);
    if (!f->in_finally)
        coir_await(f, &f->loop, goes_on, .what = f->what, .n = f->n, .shields = f->shields);
    coir_finally(f) {
        if (f->in_finally) {
            for (; f->n > 0; f->n--)
                coir_await(f, &f->sleep, coir_sleep, .ns = 1);
        }
    }
} coir_end

struct program {
    coir_frame_void;
    coir_args(enum by by; enum what what; int n; int members; bool in_finally; bool shields;);
    int i;
    struct coir_scope scope;
    struct coir_group group;
    struct goes_on loop;
    struct minds first;
    struct coir_task *kids[2];
    union {
        struct coir_group_wait wait;
        struct coir_pass pass;
        struct coir_combine race;
    };
};
static coir_declare(program);

coir_body(program, f) {
    if (f->by == BY_STOP) {
        coir_stop();
        coir_await(f, &f->loop, goes_on, .what = PASS, .n = 3);      /* until it has been heard */
        while (!coir_cancelled(f))
            coir_await(f, &f->pass, coir_pass);
        coir_await(f, &f->loop, goes_on, .what = f->what, .n = f->n);
    } else if (f->by == BY_DEADLINE) {
        FROM; coir_within(f, &f->scope, 1, &f->loop, goes_on, .what = f->what, .n = f->n);
    } else if (f->by == BY_RACE) {
        f->kids[0] = coir_make(&f->loop, goes_on, .what = f->what, .n = f->n + 1);     /* its first waits */
        f->kids[1] = coir_new(goes_on, .what = PASS, .n = 1);
        FROM; coir_race(f, &f->race, f->kids, 2);
    } else {
        FROM; coir_group_open(f, &f->group);
        for (f->i = 0; f->i < f->members; f->i++)
            coir_spawn(&f->group, coir_new(member, .what = f->what, .n = f->n, .in_finally = f->in_finally,
                                           .shields = f->shields));
        coir_await(f, &f->pass, coir_pass);
        coir_group_cancel(&f->group);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

/* ---- others that have a right to ---- */

/* Each of its awaits has a deadline of its own, which has passed. */
struct deadlines {
    coir_frame_void;
    coir_no_args;
    int i;
    struct coir_scope scope;
    struct coir_sleep sleep;
    struct goes_on loop;
};
static coir_declare(deadlines);

coir_body(deadlines, f) {
    for (f->i = 0; f->i < MANY; f->i++)
        coir_within(f, &f->scope, 1, &f->sleep, coir_sleep, .ns = COIR_S);
    for (f->i = 0; f->i < 3; f->i++)
        coir_within(f, &f->scope, 1, &f->loop, goes_on, .what = SLEEP, .n = ENOUGH - 1);
} coir_end

/* A combinator over many, each refused once. */
struct wide {
    coir_frame_void;
    coir_no_args;
    struct coir_combine any;
};
static coir_declare(wide);

static struct minds crowd[MANY];
static struct coir_task *crowd_list[MANY];

coir_body(wide, f) {
    for (int i = 0; i < MANY; i++)
        crowd_list[i] = coir_make(&crowd[i], minds);
    coir_any(f, &f->any, crowd_list, MANY);
    coir_check(f, &f->any);
} coir_end

/* Goes back up from the depth, and tries five times more at each level: more than a thousand in all. */
struct deep {
    coir_frame_void;
    coir_args(int left;);
    int i;
    struct deep *below;
    struct coir_sleep sleep;
};
static coir_declare(deep);

coir_body(deep, f) {
    f->below = f->left ? calloc(1, sizeof *f->below) : NULL;
    if (f->below)
        coir_await(f, f->below, deep, .left = f->left - 1);
    free(f->below);
    for (f->i = 0; f->i < 5; f->i++)
        coir_await(f, &f->sleep, coir_sleep, .ns = COIR_S);
} coir_end

/* Runs one of those in a cancelled scope; `deadlines` in one that is not. */
struct outer {
    coir_frame_void;
    coir_args(int which;);
    struct coir_scope scope;
    struct wide wide;
    struct deep deep;
    struct deadlines deadlines;
};
static coir_declare(outer);

coir_body(outer, f) {
    if (f->which == 0)
        coir_await(f, &f->deadlines, deadlines);
    else if (f->which == 1)
        coir_within(f, &f->scope, 1, &f->wide, wide);
    else
        coir_within(f, &f->scope, 1, &f->deep, deep, .left = 400);
} coir_end

/* ---- running them ---- */


static struct coir_task *(*make)(void);
static struct program given;

static struct coir_task *make_program(void)
{
    return coir_new(program, .by = given.by, .what = given.what, .n = given.n, .members = given.members,
                    .in_finally = given.in_finally, .shields = given.shields);
}

static int which;

static struct coir_task *make_outer(void)
{
    return coir_new(outer, .which = which);
}

static void make_world(bool with_data)
{
    static char data[MANY];
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) || (with_data && write(fds[1], data, MANY) != MANY))
        _exit(99);
    world.socket = fds[0];
    world.file = memfd_create("file", 0);
    world.cell = coir_cell_new();
    coir_channel_init(&world.channel, sizeof(int), 0);
    coir_semaphore_init(&world.semaphore, 0);
}

static bool with_data;

static int run_case(void)
{
    const struct coir_options o = { .shards = 2 };

    make_world(with_data);
    coir_run(&o, make());
    return 0;
}

/* The case says `times` times that `task` is guilty, where AT was, by `how` where FROM was. */
static void says(int times, const char *task, const char *how, const char *name)
{
    const struct ending *e = in_child(run_case);
    char text[256];
    int n = 0;

    OK(WIFEXITED(e->status) && WEXITSTATUS(e->status) == 0, "%s: the program goes on", name);
    for (const char *p = e->said; (p = strstr(p, " swallows its cancellation: ")); p++)
        n++;
    if (!EQ(n, times, "%s: reported %d times", name, times))
        NOTE("it said: %s", e->said);
    if (!times)
        return;
    snprintf(text, sizeof text, "coir: task %s swallows its cancellation: 1000 awaits said -ECANCELED, and it goes on; "
             "it stands at %s:%d, and was cancelled ", task, __FILE__, expected->at);
    if (!OK(strstr(e->said, text), "%s: with its task and place", name))
        NOTE("expected: %s, it said: %s", text, e->said);
    if (expected->from)
        snprintf(text, sizeof text, " by %s at %s:%d\n", how, __FILE__, expected->from);
    else
        snprintf(text, sizeof text, " %s\n", how);
    if (!OK(strstr(e->said, text), "%s: with what cancelled it", name))
        NOTE("expected: %s, it said: %s", text, e->said);
}

static void program_says(struct program with, int times, const char *how, const char *name)
{
    given = with;
    make = make_program;
    *expected = (struct expected){ 0, 0 };
    says(times, "goes_on", how, name);
}

static const char *const name_of[] = {
    [SLEEP] = "coir_sleep", [PASS] = "coir_pass", [RECV] = "coir_recv", [PREAD] = "coir_pread",
    [OFFLOAD] = "coir_offload", [CHANNEL] = "coir_channel_recv", [ACQUIRE] = "coir_acquire",
    [SELECT] = "coir_select", [CELL] = "coir_cell_wait", [AWAY] = "coir_await_on",
    [CHILD] = "a child that minds", [ALL] = "coir_all", [RACE] = "coir_race", [GROUP] = "coir_group_wait",
};

static void each_await(void)
{
    char name[64];

    /* With torture a group's members have ended by the time it is waited for, which suspends no more. */
    for (enum what w = SLEEP; w <= (COIR_TORTURED ? RACE : GROUP); w++) {
        snprintf(name, sizeof name, "a thousand times %s", name_of[w]);
        program_says((struct program){ .what = w, .n = ENOUGH, .members = 1 }, 1, "the group opened", name);
        snprintf(name, sizeof name, "999 times %s", name_of[w]);
        program_says((struct program){ .what = w, .n = ENOUGH - 1, .members = 1 }, 0, NULL, name);
    }
}

static void each_canceller(void)
{
    program_says((struct program){ .by = BY_DEADLINE, .what = PASS, .n = ENOUGH }, 1, "the deadline of the await",
                 "by a deadline");
    program_says((struct program){ .by = BY_RACE, .what = SLEEP, .n = ENOUGH }, 1, "the combinator awaited",
                 "by a race");
    program_says((struct program){ .by = BY_RACE, .what = SLEEP, .n = ENOUGH - 1 }, 0, NULL, "by a race, 999 times");
    program_says((struct program){ .by = BY_STOP, .what = SLEEP, .n = ENOUGH }, 1,
                 "with all that runs, as the program stops", "by coir_stop");
}

static void who_may(void)
{
    static const char *const others[] = { "deadlines of its own", "a combinator over many", "many levels" };

    program_says((struct program){ .what = SLEEP, .n = MANY, .members = 1 }, 1, "the group opened", "for ever so long");
    program_says((struct program){ .what = SLEEP, .n = ENOUGH, .members = 3 }, 3, "the group opened", "three of them");
    program_says((struct program){ .what = SLEEP, .n = 1, .members = MANY }, 0, NULL, "many members, once each");
    program_says((struct program){ .n = MANY, .members = 1, .in_finally = true }, 0, NULL, "in coir_finally");
    program_says((struct program){ .what = SLEEP, .n = MANY, .members = 1, .shields = true }, 0, NULL, "shielded");
    with_data = true;
    program_says((struct program){ .what = RECV, .n = MANY, .members = 1 }, 0, NULL, "what is there is received");
    with_data = false;
    make = make_outer;
    for (which = 0; which < 3; which++)
        says(0, NULL, NULL, others[which]);
}

int main(void)
{
    expected = mmap(NULL, sizeof *expected, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    each_await();
    each_canceller();
    who_may();
    return DONE();
}
