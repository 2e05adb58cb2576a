/* SPDX-License-Identifier: MIT */
/*
 * Random trees of tasks: scopes, shields, groups with limits, combinators, cells and failures in each other, cut off
 * by deadlines at random times. Whatever happens, each body that was entered is left through its finally once, and
 * nothing is left over in the shard. Under virtual time, so that a seed says everything.
 */
#include "help.h"

#include "runtime/task/home.h"

enum { TREES = SANITIZED || TORTURE ? 300 : 1500, DEPTH = 5 };

static int entered, finished;
static uint32_t seed;

static uint32_t draw(uint32_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed % below;
}

/* Mostly short; at times as long as everything else together. */
static int64_t draw_ns(void)
{
    return draw(8) == 0 ? 100 * COIR_S : draw(6) == 0 ? 0 : (int64_t)draw(3000) * COIR_MS;
}

/* Completes a cell when its time has come, and leaves it. */
struct completer {
    coir_frame_void;
    coir_args(struct coir_cell *cell; int64_t ns;);
    struct coir_sleep sleep;
};
static coir_declare(completer);

coir_body(completer, f) {
    entered++;
    coir_try(f, &f->sleep, coir_sleep, .ns = f->ns);
    coir_finally(f) {
        finished++;
        coir_cell_complete(f->cell, 0, 1);
        coir_cell_drop(f->cell);
    }
} coir_end

enum what { NAP, PASS, FAIL, WITHIN, SHIELD, ALL, ANY, RACE, GROUP, CELL, DETACH, PLAIN, WHATS };

struct tree {
    coir_frame_void;
    coir_args(int depth;);
    enum what what;
    int times, i, n;
    bool in_group;
    struct tree *below;
    struct coir_cell *cell;
    struct coir_task *kids[4];
    struct coir_group group;
    struct coir_scope scope;
    union {
        struct coir_sleep sleep;
        struct coir_pass pass;
        struct coir_combine combine;
        struct coir_group_spawn spawn;
        struct coir_group_wait wait;
        struct coir_cell_wait cell_wait;
    };
};
static coir_declare(tree);

/* Children for a combinator: some on the heap, one perhaps NULL, one perhaps an operation. */
static void make_kids(struct tree *f)
{
    f->n = 1 + (int)draw(4);
    for (int i = 0; i < f->n; i++)
        f->kids[i] = i == 0 ? coir_make(f->below, tree, .depth = f->depth - 1)
                   : draw(12) == 0 ? NULL
                   : coir_new(tree, .depth = f->depth - 1);
}

coir_body(tree, f) {
    entered++;
    f->in_group = false;
    f->below = NULL;
    f->below = f->depth ? malloc(sizeof *f->below) : NULL;
    f->times = 1 + (int)draw(3);
    for (f->i = 0; f->i < f->times; f->i++) {
        f->what = f->depth ? (enum what)draw(WHATS) : (enum what)draw(WITHIN);
        if (f->what == NAP) {
            coir_try(f, &f->sleep, coir_sleep, .ns = draw_ns());
        } else if (f->what == PASS) {
            coir_try(f, &f->pass, coir_pass);
        } else if (f->what == FAIL) {
            if (draw(3) == 0)
                coir_fail(f, EIO);
        } else if (f->what == WITHIN) {
            coir_within(f, &f->scope, coir_now() + draw_ns() - COIR_MS, f->below, tree,
                        .depth = f->depth - 1);
        } else if (f->what == SHIELD) {
            coir_shield(f, &f->scope, f->below, tree, .depth = f->depth - 1);
        } else if (f->what == ALL || f->what == ANY || f->what == RACE) {
            make_kids(f);
            coir_await(f, &f->combine, coir_combine, .kids = f->kids, .n = (size_t)f->n,
                       .how = f->what - ALL + COIR_ALL);
            if (draw(2))
                coir_check(f, &f->combine);
        } else if (f->what == GROUP) {
            coir_group_open(f, &f->group, .limit = draw(3));
            f->in_group = true;
            for (f->n = (int)draw(5); f->n > 0; f->n--)
                coir_try(f, &f->spawn, coir_group_spawn, .group = &f->group, .spawn = coir_new(tree,
                                                                                               .depth = f->depth - 1));
            if (draw(3) == 0)
                coir_group_cancel(&f->group);
            coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
            f->in_group = false;
            coir_check(f, &f->wait);
        } else if (f->what == CELL) {
            f->cell = coir_cell_new();
            coir_detach(coir_new(completer, .cell = f->cell, .ns = draw_ns()));
            coir_within(f, &f->scope, coir_now() + draw_ns(), &f->cell_wait, coir_cell_wait, .cell = f->cell);
            coir_cell_drop(f->cell);
            coir_check(f, &f->cell_wait);
        } else if (f->what == DETACH) {
            coir_detach(coir_new(tree, .depth = f->depth - 1));
        } else {
            coir_try(f, f->below, tree, .depth = f->depth - 1);
        }
    }
    coir_finally(f) {
        if (f->in_group)
            coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        if (draw(4) == 0)
            coir_await(f, &f->sleep, coir_sleep, .ns = draw_ns());
        free(f->below);
        finished++;
    }
} coir_end

struct forest {
    coir_frame_void;
    coir_args(uint32_t seed; int64_t deadline;);
    struct coir_scope scope;
    struct tree tree;
};
static coir_declare(forest);

coir_body(forest, f) {
    seed = f->seed;
    coir_within(f, &f->scope, coir_now() + f->deadline, &f->tree, tree, .depth = DEPTH);
} coir_end

/* Runs beside what main leaves behind, and sees that the end of it all is clean: in the reaper's stead. */
static bool clean;

static void grow(uint32_t n, bool drain)
{
    const struct coir_options o = { .drain = drain };
    int err;

    entered = finished = 0;
    seed = n * 2654435761u + 1;
    err = coir_run(&o, coir_new(forest, .seed = seed | 1, .deadline = (int64_t)draw(6000) * COIR_MS));
    clean = clean && err == 0 && entered == finished && coir_here.cancelled == 0;
    if (!clean)
        NOTE("seed %u, drain %d: status %d, %d entered, %d left", n, drain, err, entered, finished);
}

int main(void)
{
    long all = 0;

    setenv("COIR_TIME", "virtual", 1);
    for (int drain = 0; drain < 2; drain++) {
        clean = true;
        for (uint32_t n = 0; n < TREES && clean; n++) {
            grow(n, drain);
            all += entered;
        }
        OK(clean, "%d random trees, %s: whatever was entered was left", TREES, drain ? "drained" : "cut off");
    }
    NOTE("%ld tasks", all);
    return DONE();
}
