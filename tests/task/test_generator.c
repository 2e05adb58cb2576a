/* SPDX-License-Identifier: MIT */
/*
 * Generators: tasks that yield to a plain C caller, without a shard and with one.
 */
#include "help.h"

struct count {
    coir_frame(int);
    coir_args(int from; int to; int fails;);
    int i;
};
static coir_declare(count);

coir_body(count, f) {
    for (f->i = f->from; f->i < f->to; f->i++)
        coir_yield(f, f->i);
    if (f->fails)
        coir_fail(f, f->fails);
    coir_finally(f) {
        trace("f");
    }
} coir_end

/* In order, the nodes of a tree that is written as nested pairs of numbers. */
struct node {
    int value;
    const struct node *left, *right;
};

struct walk {
    coir_frame(int);
    coir_args(const struct node *at;);
    struct walk *below;
};
static coir_declare(walk);

coir_body(walk, f) {
    if (!f->at)
        coir_return(f);
    f->below = malloc(sizeof *f->below);
    for (coir_make(f->below, walk, .at = f->at->left); coir_next(f->below); )
        coir_yield(f, f->below->result);
    coir_yield(f, f->at->value);
    for (coir_make(f->below, walk, .at = f->at->right); coir_next(f->below); )
        coir_yield(f, f->below->result);
    coir_finally(f) {
        if (f->at)
            free(f->below);
    }
} coir_end

static void plain(void)
{
    struct count c;
    int sum = 0, n = 0;

    for (coir_make(&c, count, .from = 3, .to = 7); coir_next(&c); n++)
        sum += c.result;
    EQ(sum, 3 + 4 + 5 + 6, "values in a plain for");
    EQ(n, 4, "each once");
    STR_EQ(traces(), "f", "finally ran at the end");
    EQ(coir_status(&c), 0, "it ended well");
    OK(!coir_next(&c) && !coir_next(&c), "it stays ended");
    STR_EQ(traces(), "", "and finally ran once");
    coir_make(&c, count, .from = 0, .to = 1, .fails = EIO);
    OK(coir_next(&c) && !coir_next(&c), "one that fails after a value");
    EQ(coir_status(&c), -EIO, "says so");
    traces();
}

static void stopped(void)
{
    struct count c;

    coir_make(&c, count, .from = 0, .to = 10);
    OK(coir_next(&c) && coir_next(&c), "two values");
    coir_next_stop(&c);
    STR_EQ(traces(), "f", "stopping runs finally");
    EQ(coir_status(&c), -ECANCELED, "the status is -ECANCELED");
    OK(!coir_next(&c), "it has ended");
    coir_next_stop(&c);
    STR_EQ(traces(), "", "stopping again does nothing");
    coir_make(&c, count, .from = 0, .to = 10);
    coir_next_stop(&c);
    OK(!coir_next(&c), "stopped before it began");
    STR_EQ(traces(), "", "it never enters its body");
}

static void nested(void)
{
    static const struct node one = { 1, NULL, NULL }, three = { 3, NULL, NULL }, two = { 2, &one, &three };
    static const struct node six = { 6, NULL, NULL }, five = { 5, NULL, &six }, four = { 4, &two, &five };
    struct walk w;
    int expected = 1;

    for (coir_make(&w, walk, .at = &four); coir_next(&w); expected++)
        EQ(w.result, expected, "node %d of a tree", expected);
    EQ(expected, 7, "six nodes");
}

/* Generators in a body that awaits between their values. */
struct zip {
    coir_frame_void;
    coir_no_args;
    struct count a, b;
    int sum;
    struct coir_pass pass;
};
static coir_declare(zip);

coir_body(zip, f) {
    f->sum = 0;
    coir_make(&f->a, count, .from = 0, .to = 1000);
    coir_make(&f->b, count, .from = 1000, .to = 2000);
    while (coir_next(&f->a) && coir_next(&f->b)) {
        f->sum += f->b.result - f->a.result;
        if (f->a.result % 100 == 0)
            coir_try(f, &f->pass, coir_pass);
    }
    coir_next_stop(&f->b);
    EQ(f->sum, 1000 * 1000, "two generators side by side, in a task");
} coir_end

struct awaiting {
    coir_frame(int);
    coir_no_args;
    struct coir_pass pass;
};
static coir_declare(awaiting);

coir_body(awaiting, f) {
    coir_yield(f, 1);
    coir_await(f, &f->pass, coir_pass);
} coir_end

struct pulls {
    coir_frame_void;
    coir_no_args;
    struct awaiting gen;
};
static coir_declare(pulls);

coir_body(pulls, f) {
    coir_make(&f->gen, awaiting);
    while (coir_next(&f->gen))
        ;
} coir_end

static int suspends(void)
{
    return run(coir_new(pulls));
}

int main(void)
{
    plain();
    stopped();
    nested();
    EQ(run(coir_new(zip)), 0, "in a task");
    STOPS(suspends, "a generator suspended on something other than coir_yield", "a generator that awaits");
    return DONE();
}
