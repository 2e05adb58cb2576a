/* SPDX-License-Identifier: MIT */
/*
 * Semaphores: who gets permits, in which order, and what a cancellation before or after the hand-over changes.
 * A driver does several things between two awaits, when nobody else can run, and then lets the others go on.
 */
#include <signal.h>

#include "sync_test.h"

struct outcome {
    struct coir_scope *scope;           /* cancelling it cancels the acquire, while `ended` is 0 */
    int status;
    int ended;                          /* its place among those that ended; 0: it has not */
};

static int endings;

struct taker {
    coir_frame_void;
    coir_args(struct coir_semaphore *semaphore; size_t n; struct outcome *out;);
    struct coir_scope scope;
    struct coir_acquire acquire;
};
static coir_declare(taker);

coir_body(taker, f) {
    f->out->scope = &f->scope;
    coir_within(f, &f->scope, COIR_NEVER, &f->acquire, coir_acquire, .semaphore = f->semaphore, .n = f->n);
    f->out->status = coir_status(&f->acquire);
    f->out->ended = ++endings;
} coir_end

static void spawn_taker(struct coir_group *g, struct coir_semaphore *s, size_t n, struct outcome *out)
{
    *out = (struct outcome){ .status = 1 };
    OK(coir_spawn(g, coir_new(taker, .semaphore = s, .n = n, .out = out)) == 0, "a task that takes %zu", n);
}

static void test_plain(void)
{
    struct coir_semaphore s;

    coir_semaphore_init(&s, 3);
    EQ(coir_semaphore_permits(&s), 3, "three permits");
    EQ(coir_try_acquire(NULL, 1), -EFAULT, "try of NULL");
    EQ(coir_try_acquire(&s, 0), -EINVAL, "try of none");
    EQ(coir_try_acquire(&s, 4), -EAGAIN, "four are not there");
    EQ(coir_try_acquire(&s, 2), 0, "two are");
    EQ(coir_try_acquire(&s, 2), -EAGAIN, "and then one");
    EQ(coir_try_acquire(&s, 1), 0, "which is taken");
    coir_release(&s, 0);
    EQ(coir_semaphore_permits(&s), 0, "giving none changes nothing");
    coir_release(&s, 5);
    EQ(coir_semaphore_permits(&s), 5, "more can be given than was taken");
    coir_semaphore_destroy(&s);
    coir_semaphore_destroy(NULL);
}

/* ---- in lines ---- */

struct lines {
    coir_frame_void;
    coir_args(size_t permits; const size_t *takes; int n; void (*then)(struct lines *); const char *before;
              const char *after; size_t left; const char *name;);
    struct coir_semaphore s;
    struct coir_group group;
    struct outcome o[6];
    int i;
    struct rest rest;
    struct coir_group_wait wait;
};
static coir_declare(lines);

/* What each has come to: "-" waits, "0" has its permits, "x" was cancelled. */
static void states(const struct lines *f, const char *want, const char *when)
{
    char is[8] = "";

    for (int i = 0; i < f->n; i++)
        is[i] = !f->o[i].ended ? '-' : f->o[i].status == 0 ? '0' : f->o[i].status == -ECANCELED ? 'x' : '?';
    STR_EQ(is, want, "%s: %s", f->name, when);
}

/* Those who have their permits got them in the order in which they came. */
static void in_order(const struct lines *f)
{
    int last = 0;

    for (int i = 0; i < f->n; i++) {
        if (!f->o[i].ended || f->o[i].status)
            continue;
        OK(f->o[i].ended > last, "%s: task %d in its turn", f->name, i);
        last = f->o[i].ended;
    }
}

coir_body(lines, f) {
    endings = 0;
    coir_semaphore_init(&f->s, f->permits);
    coir_group_open(f, &f->group);
    for (f->i = 0; f->i < f->n; f->i++)
        spawn_taker(&f->group, &f->s, f->takes[f->i], &f->o[f->i]);
    coir_await(f, &f->rest, rest);
    states(f, f->before, "at first");
    f->then(f);
    coir_await(f, &f->rest, rest);
    states(f, f->after, "then");
    in_order(f);
    EQ(coir_semaphore_permits(&f->s), f->left, "%s: permits left", f->name);
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_semaphore_destroy(&f->s);
} coir_end

static void nobody_barges(struct lines *f)
{
    EQ(coir_try_acquire(&f->s, 1), -EAGAIN, "a permit that is too few for the first in line is not for others");
}

static void gives_one(struct lines *f)
{
    coir_release(&f->s, 1);
}

static void gives_three(struct lines *f)
{
    coir_release(&f->s, 1);
    coir_release(&f->s, 2);
}

static void cancels_first(struct lines *f)
{
    coir_scope_cancel(f->o[0].scope);
}

static void cancels_first_and_gives_one(struct lines *f)
{
    coir_scope_cancel(f->o[0].scope);
    coir_release(&f->s, 1);
}

static void gives_one_and_cancels_first(struct lines *f)
{
    coir_release(&f->s, 1);
    coir_scope_cancel(f->o[0].scope);
}

static void cancels_second_and_gives_two(struct lines *f)
{
    coir_scope_cancel(f->o[1].scope);
    coir_release(&f->s, 2);
}

static void gives_one_and_cancels_all(struct lines *f)
{
    coir_release(&f->s, 1);
    coir_group_cancel(&f->group);
}

static void lines_of(const char *name, size_t permits, const size_t *takes, int n, const char *before,
                     void (*then)(struct lines *), const char *after, size_t left)
{
    run_one(name, coir_new(lines, .permits = permits, .takes = takes, .n = n, .then = then, .before = before,
                           .after = after, .left = left, .name = name));
}

static void test_lines(void)
{
    static const size_t big_in_line[] = { 1, 3, 1, 1 }, big_first[] = { 3, 1, 1 }, ones[] = { 1, 1, 1 };
    static const size_t big_second[] = { 1, 5, 1 };

    lines_of("nobody barges", 2, big_in_line, 4, "0---", nobody_barges, "0---", 1);
    lines_of("two are not three", 2, big_in_line, 4, "0---", gives_one, "0---", 2);
    lines_of("the large before the small", 2, big_in_line, 4, "0---", gives_three, "000-", 0);
    lines_of("the large one leaves", 1, big_first, 3, "---", cancels_first, "x0-", 0);
    lines_of("the large one leaves, and one is given", 1, big_first, 3, "---", cancels_first_and_gives_one, "x00", 0);
    lines_of("the first leaves, and one is given", 0, ones, 3, "---", cancels_first_and_gives_one, "x0-", 0);
    lines_of("one is given, and the first cancelled", 0, ones, 3, "---", gives_one_and_cancels_first, "0--", 0);
    lines_of("the second leaves, two are given", 0, big_second, 3, "---", cancels_second_and_gives_two, "0x0", 0);
    lines_of("one is given, all are cancelled", 0, ones, 3, "---", gives_one_and_cancels_all, "0xx", 0);
    lines_of("all are there", 8, big_in_line, 4, "0000", gives_one, "0000", 3);
}

/* ---- arguments, combinators, coir_finally ---- */

struct odds {
    coir_frame_void;
    coir_no_args;
    struct coir_semaphore s;
    struct coir_task *kids[2];
    struct coir_sleep sleep;
    struct coir_combine race;
    struct coir_scope scope;
    struct coir_acquire acquire;
};
static coir_declare(odds);

static __attribute__((noinline)) void *on_the_stack(void)
{
    return (char *)__builtin_frame_address(0) - 64;
}

coir_body(odds, f) {
    coir_semaphore_init(&f->s, 1);
    coir_await(f, &f->acquire, coir_acquire, .semaphore = &f->s);
    EQ(coir_status(&f->acquire), -EINVAL, "an acquire without a number");
    coir_await(f, &f->acquire, coir_acquire, .semaphore = NULL, .n = 1);
    EQ(coir_status(&f->acquire), -EFAULT, "an acquire of NULL");
    coir_await(f, &f->acquire, coir_acquire, .semaphore = on_the_stack(), .n = 1);
    EQ(coir_status(&f->acquire), -EFAULT, "an acquire of what is on the C stack");
    f->kids[0] = coir_make(&f->acquire, coir_acquire, .semaphore = &f->s, .n = 2);
    f->kids[1] = coir_make(&f->sleep, coir_sleep, .ns = COIR_S);
    coir_race(f, &f->race, f->kids, 2);
    EQ(f->race.result, 1, "a race that the acquire loses");
    EQ(coir_status(&f->acquire), -ECANCELED, "takes nothing");
    EQ(coir_semaphore_permits(&f->s), 1, "the permit is there");
    f->kids[0] = coir_make(&f->acquire, coir_acquire, .semaphore = &f->s, .n = 1);
    f->kids[1] = coir_make(&f->sleep, coir_sleep, .ns = COIR_S);
    coir_race(f, &f->race, f->kids, 2);
    EQ(f->race.result, 0, "a race that it wins");
    EQ(coir_semaphore_permits(&f->s), 0, "has the permit");
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->acquire, coir_acquire, .semaphore = &f->s, .n = 1);
    EQ(coir_status(&f->acquire), -ETIMEDOUT, "an acquire with a deadline");
    coir_release(&f->s, 1);
    EQ(coir_semaphore_permits(&f->s), 1, "loses no permit");
    coir_finally(f) {
        coir_await(f, &f->acquire, coir_acquire, .semaphore = &f->s, .n = 1);
        EQ(coir_status(&f->acquire), 0, "an acquire in coir_finally");
        coir_semaphore_destroy(&f->s);
    }
} coir_end

/* ---- a bound on how many are inside, and what it costs ---- */

enum { WORKERS = 20, ROUNDS = 1000, PLACES = 3 };

struct bound {
    struct coir_semaphore s;
    int inside, most;
    long entered;
};

struct worker {
    coir_frame_void;
    coir_args(struct bound *bound;);
    int i;
    struct coir_acquire acquire;
    struct coir_pass pass;
};
static coir_declare(worker);

coir_body(worker, f) {
    for (f->i = 0; f->i < ROUNDS; f->i++) {
        coir_try(f, &f->acquire, coir_acquire, .semaphore = &f->bound->s, .n = 1);
        f->bound->entered++;
        if (++f->bound->inside > f->bound->most)
            f->bound->most = f->bound->inside;
        coir_await(f, &f->pass, coir_pass);
        f->bound->inside--;
        coir_release(&f->bound->s, 1);
    }
} coir_end

struct bounded {
    coir_frame_void;
    coir_no_args;
    struct bound bound;
    struct coir_group group;
    struct coir_stats before, now;
    int i;
    struct rest rest;
    struct coir_group_wait wait;
};
static coir_declare(bounded);

coir_body(bounded, f) {
    memset(&f->bound, 0, sizeof f->bound);
    coir_semaphore_init(&f->bound.s, PLACES);
    coir_group_open(f, &f->group);
    for (f->i = 0; f->i < WORKERS; f->i++)
        coir_spawn(&f->group, coir_new(worker, .bound = &f->bound));
    coir_await(f, &f->rest, rest);
    coir_stats(0, &f->before);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_stats(0, &f->now);
    EQ(coir_status(&f->wait), 0, "nobody failed");
    EQ(f->bound.most, PLACES, "never more inside than there are permits");
    EQ(f->bound.entered, WORKERS * ROUNDS, "and everybody came in each time");
    EQ(coir_semaphore_permits(&f->bound.s), PLACES, "all permits are back");
    EQ(f->now.allocations, f->before.allocations, "nothing was allocated");
    EQ(f->now.submissions, f->before.submissions, "nothing was asked of the kernel");
    OK(f->now.syscalls - f->before.syscalls <= f->now.turns - f->before.turns, "no system call but the loop's own");
} coir_end

/* ---- against a model ---- */

enum { LIVES = 64, MOVES = 3000 };

struct random_row {
    coir_frame_void;
    coir_args(uint64_t seed;);
    uint64_t state;
    struct coir_semaphore s;
    struct coir_group group;
    struct outcome out[LIVES];
    struct {
        size_t permits, n[LIVES];
        int line[LIVES], waiting;
        int status[LIVES];              /* 1: waits */
    } model;
    int used, move, wrong;
    struct rest rest;
    struct coir_group_wait wait;
};
static coir_declare(random_row);

static void model_serve(struct random_row *f)
{
    while (f->model.waiting && f->model.n[f->model.line[0]] <= f->model.permits) {
        f->model.permits -= f->model.n[f->model.line[0]];
        f->model.status[f->model.line[0]] = 0;
        memmove(f->model.line, f->model.line + 1, (size_t)--f->model.waiting * sizeof *f->model.line);
    }
}

static void new_taker(struct random_row *f)
{
    const int n = f->used++;

    f->model.n[n] = 1 + draw(&f->state) % 5;
    f->model.status[n] = 1;
    f->model.line[f->model.waiting++] = n;
    f->out[n] = (struct outcome){ .status = 1 };
    coir_spawn(&f->group, coir_new(taker, .semaphore = &f->s, .n = f->model.n[n], .out = &f->out[n]));
    model_serve(f);
}

static void cancel_some(struct random_row *f)
{
    const int n = (int)(draw(&f->state) % (unsigned)(f->used ? f->used : 1));

    if (!f->used || f->out[n].ended || !f->out[n].scope)
        return;
    coir_scope_cancel(f->out[n].scope);
    for (int i = 0; i < f->model.waiting; i++) {
        if (f->model.line[i] == n) {
            memmove(f->model.line + i, f->model.line + i + 1, (size_t)(--f->model.waiting - i) * sizeof *f->model.line);
            f->model.status[n] = -ECANCELED;
            break;
        }
    }
    model_serve(f);
}

static void plain_move(struct random_row *f)
{
    const size_t n = draw(&f->state) % 4;

    if (draw(&f->state) % 2) {
        coir_release(&f->s, n);
        f->model.permits += n;
        model_serve(f);
    } else if (n) {
        const int want = !f->model.waiting && f->model.permits >= n ? 0 : -EAGAIN;
        f->model.permits -= want ? 0 : n;
        f->wrong += coir_try_acquire(&f->s, n) != want;
    }
}

static void compare(struct random_row *f)
{
    for (int n = 0; n < f->used; n++)
        f->wrong += f->model.status[n] == 1 ? f->out[n].ended != 0
                                            : !f->out[n].ended || f->out[n].status != f->model.status[n];
    f->wrong += coir_semaphore_permits(&f->s) != f->model.permits;
}

/* Permits of tasks that the model has in line. One that leaves when all are cancelled lets those behind it
 * pass who have not been reached yet. */
static size_t taken_since(const struct random_row *f)
{
    size_t taken = 0;

    for (int i = 0; i < f->model.waiting; i++)
        taken += f->out[f->model.line[i]].status == 0 ? f->model.n[f->model.line[i]] : 0;
    return taken;
}

coir_body(random_row, f) {
    f->state = f->seed;
    f->wrong = 0;
    f->move = 0;
    while (f->move < MOVES && f->wrong == 0) {
        memset(&f->model, 0, sizeof f->model);
        f->used = 0;
        coir_semaphore_init(&f->s, 0);
        coir_group_open(f, &f->group);
        while (f->used < LIVES && f->move < MOVES && f->wrong == 0) {
            f->move++;
            if (draw(&f->state) % 3 == 0)
                new_taker(f);
            else
                do {
                    if (draw(&f->state) % 3)
                        plain_move(f);
                    else
                        cancel_some(f);
                } while (draw(&f->state) % 3);
            coir_await(f, &f->rest, rest);
            compare(f);
        }
        coir_group_cancel(&f->group);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        f->wrong += coir_semaphore_permits(&f->s) + taken_since(f) != f->model.permits;
    }
    EQ(f->wrong, 0, "%d random moves, as the model has them (the last was %d)", MOVES, f->move);
} coir_end

/* ---- the dump, and broken rules ---- */

struct dumped {
    coir_frame_void;
    coir_no_args;
    struct coir_semaphore s;
    struct coir_group group;
    struct outcome out;
    char text[4096];
    struct rest rest;
    struct coir_group_wait wait;
};
static coir_declare(dumped);

static void dump_into(char *text, size_t size)
{
    FILE *to = fmemopen(text, size, "w");

    coir_dump(to);
    fclose(to);
}

coir_body(dumped, f) {
    coir_semaphore_init(&f->s, 2);
    coir_group_open(f, &f->group);
    spawn_taker(&f->group, &f->s, 5, &f->out);
    coir_await(f, &f->rest, rest);
    dump_into(f->text, sizeof f->text);
    OK(strstr(f->text, "waits for 5 permits of a semaphore that has 2"), "a waiter in the dump");
    coir_release(&f->s, 3);
    dump_into(f->text, sizeof f->text);
    OK(!strstr(f->text, "waits for 5 permits"), "one that was served waits for nothing");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

struct destroyer {
    coir_frame_void;
    coir_no_args;
    struct coir_semaphore s;
    struct coir_group group;
    struct outcome out;
    struct rest rest;
    struct coir_group_wait wait;
};
static coir_declare(destroyer);

coir_body(destroyer, f) {
    coir_semaphore_init(&f->s, 0);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(taker, .semaphore = &f->s, .n = 1, .out = &f->out));
    coir_await(f, &f->rest, rest);
    coir_semaphore_destroy(&f->s);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

static void destroys_under_a_waiter(void)
{
    setenv("COIR_TIME", "virtual", 1);
    coir_run(NULL, coir_new(destroyer));
}

static void gives_too_much(void)
{
    struct coir_semaphore s;

    coir_semaphore_init(&s, SIZE_MAX);
    coir_release(&s, 1);
}

struct forgotten {
    coir_frame_void;
    coir_no_args;
    struct coir_semaphore s;
    struct coir_acquire acquire;
};
static coir_declare(forgotten);

coir_body(forgotten, f) {
    coir_semaphore_init(&f->s, 0);
    coir_try(f, &f->acquire, coir_acquire, .semaphore = &f->s, .n = 1);
} coir_end

int main(void)
{
    const uint64_t start = seed();

    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    test_plain();
    test_lines();
    run_one("odds", coir_new(odds));
    run_one("bounded", coir_new(bounded));
    for (uint64_t i = 0; i < 3; i++)
        run_one("random", coir_new(random_row, .seed = start + i));
    run_one("dumped", coir_new(dumped));
    dies("destroying under a waiter", destroys_under_a_waiter, "a semaphore is destroyed while taker waits for it at ");
    dies("too many permits", gives_too_much, "more than SIZE_MAX permits");
    EQ(coir_run(NULL, coir_new(forgotten)), -EDEADLK, "waiting for nobody is a deadlock");
    return DONE();
}
