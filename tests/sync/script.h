/* SPDX-License-Identifier: MIT */
/*
 * Scripts: tasks that wait for one thing, and what a driver does to it and to them, in every order that matters.
 * A character is a move; those between two `.` happen between two awaits of the driver, when nobody else can run.
 *
 *      +         a task that waits            T      one with a deadline a second from now
 *      cN        cancels task N, where it is  A      cancels all
 *      .         everybody runs who can       w      a second passes
 *      gN fN     task N, who has got what it waited for, is to go on with success, or failure
 *      kN        who goes on next cancels task N in the same step, after it
 *      [...]     what each task has come to: - waits, 0 or 1 went on with that result, x cancelled, t its deadline,
 *                ! another error; what comes after that is for the subject to say
 *
 * Others are the subject's own. Each script is run twice: the tasks await the operation, or a race of it. Random ones
 * are drawn turn by turn, from a printed seed, and every turn is compared with what a model makes of it.
 */
#ifndef COIR_TESTS_SYNC_SCRIPT_H
#define COIR_TESTS_SYNC_SCRIPT_H

#include "sync_test.h"

enum { ACTORS = 24, TURN = 64, TURNS = 60 };

struct actor {
    struct coir_scope *scope;           /* cancelling it cancels the task where it stands */
    struct coir_event go;
    bool fails;                         /* when it goes on */
    char state;
};

struct script;

struct subject {
    const char *name;
    void (*init)(void);
    void (*end)(struct script *f);      /* all tasks have ended: the thing is as new, and is destroyed */
    struct coir_task *(*waiter)(struct actor *a, int64_t deadline, bool raced);
    void (*move)(struct script *f, char move);              /* 0: lets go of what the driver holds */
    void (*model_begins)(void);
    void (*model_turn)(void);           /* draws some moves that may stand in one turn (add_move), and makes them */
};

static struct actor actors[ACTORS];
static int cancels_next;                /* kN; -1: nobody */

/* What ought to be: the states, and who waits, oldest first. */
static struct {
    uint64_t seed;
    char state[ACTORS + 1], turn[TURN];
    int used, line[ACTORS], waiting, wrong;
} model;

struct script {
    coir_frame_void;
    coir_args(const struct subject *subject; const char *moves; bool raced; bool random;);
    struct coir_group group;
    const char *at;
    int used, turns;
    char is[ACTORS + 1];
    struct rest rest;
    struct coir_sleep sleep;
    struct coir_group_wait wait;
};
static coir_declare(script);

/* A check that a script makes; random ones make too many for a line each. */
#define CHECK(f, cond, ...) do { \
    if (!(f)->random) \
        OK(cond, __VA_ARGS__); \
    else if (!(cond)) \
        model.wrong++; \
    } while (0)

/* In a waiter: the operation itself under its scope, or in a race in that scope. */
#define WAIT_EITHER(f, name, ...) do { \
    (f)->actor->scope = &(f)->scope; \
    if ((f)->raced) { \
        (f)->kids[0] = coir_make(&(f)->op, name, __VA_ARGS__); \
        (f)->kids[1] = coir_make(&(f)->sleep, coir_sleep, .ns = 1000 * COIR_S); \
        coir_within(f, &(f)->scope, (f)->deadline, &(f)->race, coir_combine, .kids = (f)->kids, .n = 2, \
                    .how = COIR_RACE); \
        (f)->said = coir_status(&(f)->op); \
        if ((f)->said == -ECANCELED && coir_status(&(f)->race) == -ETIMEDOUT) \
            (f)->said = -ETIMEDOUT; \
    } else { \
        coir_within(f, &(f)->scope, (f)->deadline, &(f)->op, name, __VA_ARGS__); \
        (f)->said = coir_status(&(f)->op); \
    } \
    (f)->actor->state = letter((f)->said); \
    } while (0)

/* What that needs in the frame, behind struct NAME op. */
#define WAITER_FRAME \
    coir_frame_void; \
    coir_args(struct actor *actor; int64_t deadline; bool raced;); \
    int said; \
    struct coir_task *kids[2]; \
    struct coir_combine race; \
    struct coir_sleep sleep; \
    struct coir_scope scope; \
    struct coir_event_wait go

/* In a waiter that has got it: waits for gN or fN, or to be cancelled. */
#define WAIT_FOR_GO(f) coir_within(f, &(f)->scope, COIR_NEVER, &(f)->go, coir_event_wait, .event = &(f)->actor->go)

static TAP_UNUSED char letter(int status)
{
    return status == 0 ? '0' : status == -ECANCELED ? 'x' : status == -ETIMEDOUT ? 't' : '!';
}

static TAP_UNUSED void cancels_after(void)
{
    if (cancels_next >= 0)
        coir_scope_cancel(actors[cancels_next].scope);
    cancels_next = -1;
}

static void spawn_actor(struct script *f, int64_t deadline)
{
    struct actor *a = &actors[f->used++];

    *a = (struct actor){ .state = '-' };
    coir_event_init(&a->go);
    if (coir_spawn(&f->group, f->subject->waiter(a, deadline, f->raced)))
        NOTE("a task was not spawned");
}

static struct actor *named(char n)
{
    return &actors[n >= 'a' ? n - 'a' + 10 : n - '0'];
}

static void one_move(struct script *f)
{
    const char move = *f->at;
    struct actor *a;

    if (move == '+' || move == 'T') {
        spawn_actor(f, move == 'T' ? coir_now() + COIR_S : COIR_NEVER);
    } else if (move == 'A') {
        coir_group_cancel(&f->group);
    } else if (strchr("cgfk", move)) {
        a = named(*++f->at);
        if (move == 'c')
            coir_scope_cancel(a->scope);
        else if (move == 'k')
            cancels_next = (int)(a - actors);
        else {
            a->fails = move == 'f';
            coir_event_set(&a->go);
        }
    } else {
        f->subject->move(f, move);
    }
}

static void states(struct script *f)
{
    for (int i = 0; i < f->used; i++)
        f->is[i] = actors[i].state;
    f->is[f->used] = '\0';
}

/* At [...]: compares, and goes behind it. */
static void compare_states(struct script *f)
{
    const char *const end = strchr(f->at, ']');
    char want[ACTORS + 1];

    states(f);
    snprintf(want, sizeof want, "%.*s", (int)(end - f->at - 1), f->at + 1);
    STR_EQ(f->is, want, "%s%s: %.*s", f->subject->name, f->raced ? ", raced" : "", (int)(end - f->moves + 1), f->moves);
    f->at = end;
}

/* ---- the model's part ---- */

static TAP_UNUSED char digit(int n)
{
    return (char)(n < 10 ? '0' + n : 'a' + n - 10);
}

/* One move, of task `n` if it is not negative. */
static TAP_UNUSED void add_move(char move, int n)
{
    const size_t len = strlen(model.turn);

    model.turn[len] = move;
    model.turn[len + 1] = n < 0 ? '\0' : digit(n);
    model.turn[n < 0 ? len + 1 : len + 2] = '\0';
}

static TAP_UNUSED unsigned one_of(unsigned n)
{
    return (unsigned)(draw(&model.seed) >> 33) % n;
}

/* A new task comes, to wait. */
static TAP_UNUSED int model_comes(void)
{
    model.state[model.used] = '-';
    model.line[model.waiting++] = model.used;
    return model.used++;
}

/* The oldest waiter leaves the line; -1: there is none. */
static TAP_UNUSED int model_pops(void)
{
    const int first = model.waiting ? model.line[0] : -1;

    if (first >= 0)
        memmove(model.line, model.line + 1, (size_t)--model.waiting * sizeof *model.line);
    return first;
}

/* Task n is cancelled, if it waits. */
static TAP_UNUSED bool model_leaves(int n)
{
    for (int i = 0; i < model.waiting; i++) {
        if (model.line[i] != n)
            continue;
        memmove(model.line + i, model.line + i + 1, (size_t)(--model.waiting - i) * sizeof *model.line);
        model.state[n] = 'x';
        return true;
    }
    return false;
}

/* Draws the next turn; false: that was the last. */
static bool draws_turn(struct script *f)
{
    memset(model.turn, 0, sizeof model.turn);
    if (f->turns++ == TURNS || model.used == ACTORS || model.wrong)
        return false;
    f->subject->model_turn();
    add_move('.', -1);
    f->at = model.turn;
    return true;
}

static void compare_turn(struct script *f)
{
    states(f);
    if (strcmp(f->is, model.state) == 0)
        return;
    model.wrong++;
    NOTE("turn %d, %s: is %s, the model says %s", f->turns, model.turn, f->is, model.state);
}

coir_body(script, f) {
    f->used = f->turns = 0;
    cancels_next = -1;
    f->subject->init();
    coir_group_open(f, &f->group);
    for (f->at = f->moves; *f->at || (f->random && draws_turn(f)); f->at++) {
        if (*f->at == '.') {
            coir_await(f, &f->rest, rest);
            if (f->random)
                compare_turn(f);
        } else if (*f->at == 'w') {
            coir_await(f, &f->sleep, coir_sleep, .ns = COIR_S);
        } else if (*f->at == '[') {
            compare_states(f);
        } else {
            one_move(f);
        }
    }
    f->subject->move(f, '\0');
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    f->subject->end(f);
} coir_end

static TAP_UNUSED void run_random(const struct subject *subject, int rounds)
{
    const uint64_t from = seed();

    model.wrong = 0;
    for (int i = 0; i < rounds && model.wrong == 0; i++) {
        memset(&model, 0, sizeof model);
        model.seed = from + (uint64_t)i;
        draw(&model.seed);
        subject->model_begins();
        setenv("COIR_TIME", "virtual", 1);
        model.wrong += coir_run(NULL, coir_new(script, .subject = subject, .moves = "", .raced = i % 2,
                                               .random = true)) != 0;
        unsetenv("COIR_TIME");
        if (model.wrong)
            NOTE("COIR_SEED=%llu has it in its first round", (unsigned long long)(from + (uint64_t)i));
    }
    EQ(model.wrong, 0, "%s: %d random scripts, as the model has them", subject->name, rounds);
}

static TAP_UNUSED void run_scripts(const struct subject *subject, const char *const *scripts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        run_one(scripts[i], coir_new(script, .subject = subject, .moves = scripts[i]));
        run_one(scripts[i], coir_new(script, .subject = subject, .moves = scripts[i], .raced = true));
    }
}

#endif
