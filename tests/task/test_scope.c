/* SPDX-License-Identifier: MIT */
/*
 * Scopes: deadlines and cancellation as states of one await, under virtual time, so that every time is exact.
 */
#include "help.h"

#include "runtime/task/home.h"

/* Sleeps again and again, whatever the sleeps say, and counts what they say. */
struct stubborn {
    coir_frame(int);
    coir_args(int times;);
    int i;
    struct coir_sleep sleep;
};
static coir_declare(stubborn);

coir_body(stubborn, f) {
    for (f->i = 0; f->i < f->times; f->i++) {
        coir_await(f, &f->sleep, coir_sleep, .ns = COIR_S);
        f->result += coir_status(&f->sleep) == -ECANCELED;
    }
} coir_end

/* Sleeps; its finally sleeps too. */
struct careful {
    coir_frame_void;
    coir_args(int64_t ns; int64_t cleanup;);
    int64_t began;
    struct coir_sleep sleep;
};
static coir_declare(careful);

static int64_t cleanup_took;
static int cleanup_status;

coir_body(careful, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = f->ns);
    coir_finally(f) {
        f->began = coir_now();
        coir_await(f, &f->sleep, coir_sleep, .ns = f->cleanup);
        cleanup_status = coir_status(&f->sleep);
        cleanup_took = coir_now() - f->began;
    }
} coir_end

struct deadlines {
    coir_frame_void;
    coir_no_args;
    int64_t began;
    struct coir_scope scope;
    union {
        struct coir_sleep sleep;
        struct stubborn stubborn;
        struct careful careful;
    };
};
static coir_declare(deadlines);

coir_body(deadlines, f) {
    f->began = coir_now();
    coir_within(f, &f->scope, f->began + 5 * COIR_S, &f->sleep, coir_sleep, .ns = 3 * COIR_S);
    EQ(coir_status(&f->sleep), 0, "in time");
    EQ(coir_now() - f->began, 3 * COIR_S, "after three seconds");
    coir_within(f, &f->scope, f->began + 5 * COIR_S, &f->sleep, coir_sleep, .ns = 3 * COIR_S);
    EQ(coir_status(&f->sleep), -ETIMEDOUT, "too late");
    EQ(coir_now() - f->began, 5 * COIR_S, "after five seconds");
    coir_within(f, &f->scope, COIR_NEVER, &f->sleep, coir_sleep, .ns = COIR_S);
    EQ(coir_status(&f->sleep), 0, "no deadline");
    f->began = coir_now();
    coir_within(f, &f->scope, f->began - 1, &f->sleep, coir_sleep, .ns = COIR_S);
    EQ(coir_status(&f->sleep), -ETIMEDOUT, "a deadline in the past");
    coir_within(f, &f->scope, INT64_MIN, &f->sleep, coir_sleep, .ns = COIR_S);
    EQ(coir_status(&f->sleep), -ETIMEDOUT, "in the furthest past");
    coir_within(f, &f->scope, f->began, &f->sleep, coir_sleep, .ns = 0);
    EQ(coir_status(&f->sleep), 0, "what does not suspend succeeds all the same");
    EQ(coir_now(), f->began, "and no time passes");
    coir_within(f, &f->scope, f->began + COIR_S, &f->stubborn, stubborn, .times = 10);
    EQ(coir_status(&f->stubborn), 0, "who goes on in a cancelled scope ends as it likes");
    EQ(f->stubborn.result, 10, "every await says -ECANCELED, again and again");
    EQ(coir_now() - f->began, COIR_S, "at once");
    f->began = coir_now();
    coir_within(f, &f->scope, f->began + COIR_S, &f->careful, careful, .ns = 3600 * COIR_S,
                .cleanup = 4 * COIR_S);
    EQ(coir_status(&f->careful), -ETIMEDOUT, "a task with a finally that takes its time");
    EQ(cleanup_status, 0, "is not cancelled in it");
    EQ(cleanup_took, 4 * COIR_S, "and has it");
    EQ(coir_now() - f->began, 5 * COIR_S, "in all");
    f->began = coir_now();
    coir_within(f, &f->scope, f->began + COIR_S, &f->careful, careful, .ns = 3600 * COIR_S,
                .cleanup = 3600 * COIR_S);
    EQ(coir_status(&f->careful), -ETIMEDOUT, "a finally that would take an hour");
    EQ(cleanup_status, -ECANCELED, "is cancelled too");
    EQ(cleanup_took, 10 * COIR_S, "after ten seconds");
    f->began = coir_now();
    coir_within(f, &f->scope, f->began, &f->careful, careful, .ns = 3600 * COIR_S, .cleanup = 3600 * COIR_S);
    EQ(coir_status(&f->careful), -ETIMEDOUT, "the same, its deadline being past from the beginning");
    EQ(cleanup_took, 10 * COIR_S, "is bounded too");
    f->began = coir_now();
    coir_within(f, &f->scope, f->began + COIR_S, &f->careful, careful, .ns = 0, .cleanup = 3600 * COIR_S);
    EQ(coir_status(&f->careful), 0, "a deadline that passes while the task is in finally");
    EQ(cleanup_took, 11 * COIR_S, "leaves it ten seconds from then");
} coir_end

/* ---- scopes in scopes ---- */

struct inner {
    coir_frame_void;
    coir_args(int64_t deadline; int64_t ns;);
    int64_t began;
    int first;
    struct coir_scope scope;
    struct coir_sleep sleep;
};
static coir_declare(inner);

static int inner_status, after_status;
static int64_t after_took;

coir_body(inner, f) {
    coir_within(f, &f->scope, f->deadline, &f->sleep, coir_sleep, .ns = f->ns);
    inner_status = coir_status(&f->sleep);
    f->began = coir_now();
    coir_await(f, &f->sleep, coir_sleep, .ns = COIR_S);
    after_status = coir_status(&f->sleep);
    after_took = coir_now() - f->began;
    coir_check(f, &f->sleep);
} coir_end

struct outer {
    coir_frame_void;
    coir_no_args;
    int64_t t;
    struct coir_scope scope;
    struct inner inner;
};
static coir_declare(outer);

coir_body(outer, f) {
    f->t = coir_now();
    coir_within(f, &f->scope, f->t + 10 * COIR_S, &f->inner, inner, .deadline = f->t + COIR_S,
                .ns = 3600 * COIR_S);
    EQ(inner_status, -ETIMEDOUT, "the inner deadline is the tighter one");
    EQ(after_status, 0, "what comes after it goes on");
    EQ(coir_status(&f->inner), 0, "and the outer one has not expired");
    EQ(coir_now() - f->t, 2 * COIR_S, "after two seconds");
    f->t = coir_now();
    coir_within(f, &f->scope, f->t + COIR_S, &f->inner, inner, .deadline = f->t + 10 * COIR_S,
                .ns = 3600 * COIR_S);
    EQ(inner_status, -ECANCELED, "the outer one is: inside it is cancelled");
    EQ(after_status, -ECANCELED, "all that comes after, too");
    EQ(coir_status(&f->inner), -ETIMEDOUT, "and only the scope that expired says -ETIMEDOUT");
    EQ(coir_now() - f->t, COIR_S, "after one second");
    f->t = coir_now();
    coir_within(f, &f->scope, f->t + COIR_S, &f->inner, inner, .deadline = f->t + COIR_S,
                .ns = 3600 * COIR_S);
    EQ(inner_status, -ECANCELED, "the same time: the outer was first");
    EQ(coir_status(&f->inner), -ETIMEDOUT, "and says so");
    f->t = coir_now();
    coir_within(f, &f->scope, f->t, &f->inner, inner, .deadline = f->t - COIR_S, .ns = 3600 * COIR_S);
    EQ(inner_status, -ECANCELED,
       "a deadline in the past, in a scope that is cancelled already, ends nothing");
    EQ(coir_status(&f->inner), -ETIMEDOUT, "the outer one did");
} coir_end

/* ---- shields ---- */

struct holds {
    coir_frame_void;
    coir_args(int64_t deadline;);
    struct coir_scope scope;
    struct inner inner;
    struct coir_sleep sleep;
};
static coir_declare(holds);

static int shielded_status, unshielded_status;

coir_body(holds, f) {
    coir_shield(f, &f->scope, &f->inner, inner, .deadline = f->deadline, .ns = 5 * COIR_S);
    shielded_status = coir_status(&f->inner);
    coir_await(f, &f->sleep, coir_sleep, .ns = COIR_S);
    unshielded_status = coir_status(&f->sleep);
    coir_check(f, &f->sleep);
} coir_end

struct shields {
    coir_frame_void;
    coir_no_args;
    int64_t t;
    struct coir_scope scope;
    struct holds holds;
};
static coir_declare(shields);

coir_body(shields, f) {
    f->t = coir_now();
    coir_within(f, &f->scope, f->t + COIR_S, &f->holds, holds, .deadline = COIR_NEVER);
    EQ(inner_status, 0, "a shielded wait goes on through the outer deadline");
    EQ(shielded_status, 0, "to its end");
    EQ(unshielded_status, -ECANCELED, "the next one is cancelled");
    EQ(coir_status(&f->holds), -ETIMEDOUT, "by the deadline");
    EQ(coir_now() - f->t, 6 * COIR_S, "after the shielded six seconds");
    f->t = coir_now();
    coir_within(f, &f->scope, f->t + 20 * COIR_S, &f->holds, holds, .deadline = f->t + COIR_S);
    EQ(inner_status, -ETIMEDOUT, "a deadline inside a shield works");
    EQ(coir_status(&f->holds), 0, "and is nobody else's");
    f->t = coir_now();
    coir_within(f, &f->scope, f->t, &f->holds, holds, .deadline = f->t + COIR_S);
    EQ(inner_status, -ETIMEDOUT, "also in a scope that was cancelled before");
    EQ(after_status, 0, "inside the shield nothing is cancelled");
} coir_end

/* ---- within in finally ---- */

struct late {
    coir_frame_void;
    coir_args(int64_t limit;);
    int64_t began;
    struct coir_scope scope;
    struct coir_sleep sleep;
};
static coir_declare(late);

coir_body(late, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = 3600 * COIR_S);
    coir_finally(f) {
        f->began = coir_now();
        coir_within(f, &f->scope, f->began + f->limit, &f->sleep, coir_sleep, .ns = 3600 * COIR_S);
        cleanup_status = coir_status(&f->sleep);
        cleanup_took = coir_now() - f->began;
        coir_await(f, &f->sleep, coir_sleep, .ns = COIR_S);
        after_status = coir_status(&f->sleep);
    }
} coir_end

struct in_finally {
    coir_frame_void;
    coir_no_args;
    int64_t t;
    struct coir_scope scope;
    struct late late;
};
static coir_declare(in_finally);

coir_body(in_finally, f) {
    f->t = coir_now();
    coir_within(f, &f->scope, f->t + COIR_S, &f->late, late, .limit = 2 * COIR_S);
    EQ(cleanup_status, -ETIMEDOUT, "a deadline in finally");
    EQ(cleanup_took, 2 * COIR_S, "is met");
    EQ(after_status, 0, "after it finally goes on");
    f->t = coir_now();
    coir_within(f, &f->scope, f->t + COIR_S, &f->late, late, .limit = 60 * COIR_S);
    EQ(cleanup_status, -ECANCELED, "a longer one does not outlast the ten seconds");
    EQ(cleanup_took, 10 * COIR_S, "of which it has had all");
    EQ(after_status, -ECANCELED, "nor does what comes after");
    EQ(coir_status(&f->late), -ETIMEDOUT, "the task's own deadline did it");
} coir_end

/* ---- cancelled by another task ---- */

struct victim {
    coir_frame_void;
    coir_args(struct coir_scope *scope;);
    struct stubborn stubborn;
};
static coir_declare(victim);

static int victim_status;

coir_body(victim, f) {
    coir_within(f, f->scope, COIR_NEVER, &f->stubborn, stubborn, .times = 3);
    victim_status = f->stubborn.result;
} coir_end

struct by_hand {
    coir_frame_void;
    coir_no_args;
    struct coir_scope scope;
    struct coir_group group;
    struct coir_sleep sleep;
    struct coir_group_wait wait;
};
static coir_declare(by_hand);

coir_body(by_hand, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(victim, .scope = &f->scope));
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    OK(!coir_cancelled(f), "not cancelled");
    coir_scope_cancel(&f->scope);
    coir_scope_cancel(&f->scope);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(victim_status, 3, "coir_scope_cancel: each of its awaits said -ECANCELED");
    EQ(coir_here.cancelled, 0, "no scope is counted as cancelled when all have ended");
} coir_end

/* ---- deep nests ---- */

struct nest {
    coir_frame_void;
    coir_args(int depth; int how;);
    union {
        struct {
            struct coir_group group;
            struct coir_group_wait wait;
        };
        struct {
            struct coir_task *kids[1];
            struct coir_combine all;
        };
        struct {
            struct coir_scope scope;
            struct nest *below;
        };
        struct coir_sleep sleep;
    };
};
static coir_declare(nest);

static int nests_ended, nests_cancelled;
enum { GROUPS, COMBINATORS, SCOPES, MIXED };

/* How level `depth` nests. */
static int way(int how, int depth)
{
    return how == MIXED ? depth % 3 : how;
}

coir_body(nest, f) {
    if (f->depth == 0) {
        coir_try(f, &f->sleep, coir_sleep, .ns = 3600 * COIR_S);
    } else if (way(f->how, f->depth) == GROUPS) {
        coir_group_open(f, &f->group);
        coir_spawn(&f->group, coir_new(nest, .depth = f->depth - 1, .how = f->how));
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        coir_check(f, &f->wait);
    } else if (way(f->how, f->depth) == COMBINATORS) {
        f->kids[0] = coir_new(nest, .depth = f->depth - 1, .how = f->how);
        coir_all(f, &f->all, f->kids, 1);
        coir_check(f, &f->all);
    } else {
        f->below = malloc(sizeof *f->below);
        coir_within(f, &f->scope, COIR_NEVER, f->below, nest, .depth = f->depth - 1, .how = f->how);
        f->task.status = coir_status(f->below);
        free(f->below);
        if (f->task.status)
            coir_fail(f, f->task.status);
    }
    coir_finally(f) {
        nests_ended++;
        nests_cancelled += f->task.status == -ECANCELED;
    }
} coir_end

struct nests {
    coir_frame_void;
    coir_args(int depth; int how;);
    struct coir_scope scope;
    struct nest nest;
};
static coir_declare(nests);

coir_body(nests, f) {
    nests_ended = nests_cancelled = 0;
    coir_within(f, &f->scope, coir_now() + COIR_S, &f->nest, nest, .depth = f->depth, .how = f->how);
    EQ(coir_status(&f->nest), -ETIMEDOUT, "nests, way %d, %d deep, are cancelled", f->how, f->depth);
    EQ(nests_ended, f->depth + 1, "all of them ended");
    EQ(nests_cancelled, f->depth + 1, "cancelled");
    EQ(coir_here.cancelled, 0, "and nothing is counted as cancelled");
} coir_end

static void dump_to_nowhere(void)
{
    FILE *null = fopen("/dev/null", "w");

    coir_dump(null);
    fclose(null);
}

struct dumps {
    coir_frame_void;
    coir_args(int depth;);
    struct coir_group group;
    struct coir_sleep sleep;
    struct coir_group_wait wait;
};
static coir_declare(dumps);

coir_body(dumps, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(nest, .depth = f->depth, .how = MIXED));
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    dump_to_nowhere();
    coir_group_cancel(&f->group);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    OK(true, "a dump of tasks nested %d deep comes to its end", f->depth);
} coir_end

/* All of it on a C stack that no recursion of 100,000 would fit. */
static void *on_small_stack(void *unused)
{
    const int depth = SANITIZED || TORTURE ? 20000 : 100000;

    (void)unused;
    for (int how = GROUPS; how <= MIXED; how++)
        EQ(run(coir_new(nests, .depth = depth, .how = how)), 0, "deep nests, way %d", how);
    EQ(run(coir_new(dumps, .depth = depth)), 0, "a deep dump");
    return NULL;
}

static void small_stack(void)
{
    pthread_attr_t attr;
    pthread_t thread;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, SANITIZED ? 1024 * 1024 : 256 * 1024);
    if (OK(pthread_create(&thread, &attr, on_small_stack, NULL) == 0, "a thread with a small stack"))
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

int main(void)
{
    setenv("COIR_TIME", "virtual", 1);
    EQ(run(coir_new(deadlines)), 0, "deadlines");
    EQ(run(coir_new(outer)), 0, "scopes in scopes");
    EQ(run(coir_new(shields)), 0, "shields");
    EQ(run(coir_new(in_finally)), 0, "scopes in finally");
    EQ(run(coir_new(by_hand)), 0, "cancelled by hand");
    small_stack();
    return DONE();
}
