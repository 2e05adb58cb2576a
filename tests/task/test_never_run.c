/* SPDX-License-Identifier: MIT */
/*
 * What was made and never ran is named, with the line that made it; what ran is not. A debug build, whatever the
 * library is, so that children in a frame are reported too.
 */
#ifndef COIR_DEBUG
#define COIR_DEBUG 1
#endif
#include "help.h"

#include <sys/mman.h>

struct nothing {
    coir_frame(int);
    coir_no_args;
};
static coir_declare(nothing);

coir_body(nothing, f) {
    if (f->result)
        coir_fail(f, EIO);
} coir_end

struct numbers {
    coir_frame(int);
    coir_no_args;
};
static coir_declare(numbers);

coir_body(numbers, f) {
    coir_yield(f, 1);
    coir_yield(f, 2);
} coir_end

/* ---- heap frames ---- */

/* Where the last was made; shared with the child process that made it. */
static int *line;

static int freed(void)
{
    struct coir_task *t = coir_new(nothing); *line = __LINE__;
    coir_free(t);
    return 0;
}

struct forgets {
    coir_frame_void;
    coir_no_args;
    struct coir_task *t;
};
static coir_declare(forgets);

coir_body(forgets, f) {
    f->t = coir_new(nothing); *line = __LINE__;
} coir_end

static int forgotten(void)
{
    return run(coir_new(forgets));
}

/* A child leaves with _exit, so the report at exit is asked for here. */
static int left_at_exit(void)
{
    struct coir_task *t = coir_new(nothing); *line = __LINE__;

    (void)t;
    exit(0);
}

static int all_given(void)
{
    struct coir_task *later = coir_new(nothing);

    if (run(coir_new(nothing)))
        return 1;
    return run(later);                  /* made before another run: it is still there */
}

/* ---- children in a frame ---- */

struct embeds {
    coir_frame_void;
    coir_args(bool awaits; bool fails;);
    struct nothing a, b;
    struct coir_task *kids[2];
    struct coir_combine all;
};
static coir_declare(embeds);

coir_body(embeds, f) {
    f->kids[0] = coir_make(&f->a, nothing); *line = __LINE__;
    f->kids[1] = coir_make(&f->b, nothing); *line = __LINE__;
    if (f->awaits)
        coir_all(f, &f->all, f->kids, 2);
} coir_end

static int never_awaited(void)
{
    return run(coir_new(embeds));
}

static int awaited(void)
{
    return run(coir_new(embeds, .awaits = true));
}

struct again {
    coir_frame_void;
    coir_no_args;
    struct nothing a;
    struct coir_task *kids[1];
    struct coir_combine all;
};
static coir_declare(again);

coir_body(again, f) {
    f->kids[0] = coir_make(&f->a, nothing); *line = __LINE__;
    f->kids[0] = coir_make(&f->a, nothing);
    coir_all(f, &f->all, f->kids, 1);
} coir_end

static int made_again(void)
{
    return run(coir_new(again));
}

struct generates {
    coir_frame_void;
    coir_args(int pulls; bool stops;);
    struct numbers gen;
};
static coir_declare(generates);

coir_body(generates, f) {
    coir_make(&f->gen, numbers); *line = __LINE__;
    for (int i = 0; i < f->pulls; i++)
        coir_next(&f->gen);
    if (f->stops)
        coir_next_stop(&f->gen);
} coir_end

static int pulled(void)
{
    return run(coir_new(generates, .pulls = 2));
}

static int stopped(void)
{
    return run(coir_new(generates, .stops = true));
}

static int never_pulled(void)
{
    return run(coir_new(generates));
}

/* The race was decided before the second child's turn: that is no mistake of the program. */
struct decided {
    coir_frame_void;
    coir_no_args;
    struct nothing a, b;
    struct coir_task *kids[2];
    struct coir_combine race;
};
static coir_declare(decided);

coir_body(decided, f) {
    f->kids[0] = coir_make(&f->a, nothing);
    f->kids[1] = coir_make(&f->b, nothing);
    coir_race(f, &f->race, f->kids, 2);
} coir_end

static int race_decided(void)
{
    return run(coir_new(decided));
}

/* In nobody's frame: there the shard's end is the last that can tell. */
static struct nothing nowhere;

struct makes_elsewhere {
    coir_frame_void;
    coir_args(bool awaits;);
    struct coir_task *kids[1];
    struct coir_combine all;
};
static coir_declare(makes_elsewhere);

coir_body(makes_elsewhere, f) {
    f->kids[0] = coir_make(&nowhere, nothing); *line = __LINE__;
    if (f->awaits)
        coir_all(f, &f->all, f->kids, 1);
} coir_end

static int left_elsewhere(void)
{
    return run(coir_new(makes_elsewhere));
}

static int awaited_elsewhere(void)
{
    return run(coir_new(makes_elsewhere, .awaits = true));
}

/* More than is remembered: the program runs all the same. */
enum { CROWD = 5000 };
static struct nothing crowd[CROWD];
static struct coir_task *crowd_list[CROWD];

struct crowds {
    coir_frame_void;
    coir_no_args;
    struct coir_combine all;
};
static coir_declare(crowds);

coir_body(crowds, f) {
    for (int i = 0; i < CROWD; i++)
        crowd_list[i] = coir_make(&crowd[i], nothing);
    coir_all(f, &f->all, crowd_list, CROWD);
    coir_check(f, &f->all);
} coir_end

static int crowded(void)
{
    return run(coir_new(crowds));
}

/* Runs fn in a child: the task of that name is reported `times` times, the last one made by its line. */
static void says(int (*fn)(void), const char *task, int times, const char *name)
{
    const struct ending *e = in_child(fn);
    char text[256];
    int n = 0;

    OK(WIFEXITED(e->status) && WEXITSTATUS(e->status) == 0, "%s: the program goes on", name);
    snprintf(text, sizeof text, "coir: task %s made at %s:", task, __FILE__);
    for (const char *at = e->said; (at = strstr(at, text)); at++)
        n++;
    if (!EQ(n, times, "%s: reported %d times", name, times))
        NOTE("it said: %s", e->said);
    if (times == 0) {
        STR_EQ(e->said, "", "%s: nothing else is said", name);
        return;
    }
    snprintf(text, sizeof text, "coir: task %s made at %s:%d never ran", task, __FILE__, *line);
    OK(strstr(e->said, text), "%s: with its line", name);
}

int main(void)
{
    line = mmap(NULL, sizeof *line, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    says(freed, "nothing", 1, "a frame that is freed");
    says(forgotten, "nothing", 1, "a frame that a body forgets");
    says(left_at_exit, "nothing", 1, "a frame left at the end of the process");
    says(all_given, "nothing", 0, "frames that run");
    says(never_awaited, "nothing", 2, "two children in a frame that ends");
    says(awaited, "nothing", 0, "two children that are awaited");
    says(made_again, "nothing", 1, "a slot made twice");
    says(pulled, "numbers", 0, "a generator that is pulled");
    says(stopped, "numbers", 0, "a generator that is stopped");
    says(never_pulled, "numbers", 1, "a generator that never is");
    says(race_decided, "nothing", 0, "a child whose race was over");
    says(left_elsewhere, "nothing", 1, "a child in no frame");
    says(awaited_elsewhere, "nothing", 0, "a child in no frame that is awaited");
    says(crowded, "nothing", 0, "a crowd");
    return DONE();
}
