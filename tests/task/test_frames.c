/* SPDX-License-Identifier: MIT */
/*
 * Frames: what an await writes of one, and what it leaves alone; the orders in which a body can be left, and
 * that coir_finally is passed once in each.
 */
#include "help.h"

/* ---- what a callee finds ---- */

struct probe {
    coir_frame(uint64_t);
    coir_args(int a; double d; void *p; char text[5]; int b;);
    unsigned char rest[32];
};
static coir_declare(probe);

static uint64_t found_result;
static int found_a, found_b;
static double found_d;
static void *found_p;
static char found_text[5];
static unsigned char found_rest[32];

coir_body(probe, f) {
    found_result = f->result;
    found_a = f->a;
    found_b = f->b;
    found_d = f->d;
    found_p = f->p;
    memcpy(found_text, f->text, sizeof found_text);
    memcpy(found_rest, f->rest, sizeof found_rest);
    f->result = 99;
} coir_end

struct frames {
    coir_frame_void;
    coir_no_args;
    struct probe probe;
    struct coir_task *kids[1];
    struct coir_combine all;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(frames);

static void check_rest(int untouched, const char *how)
{
    unsigned char expected[32];

#ifdef COIR_DEBUG
    untouched = 0xA5;
#endif
    memset(expected, untouched, sizeof expected);
    MEM_EQ(found_rest, expected, sizeof expected, "%s: the rest of the frame is 0x%02x", how, untouched);
}

coir_body(frames, f) {
    memset(&f->probe, 0x77, sizeof f->probe);
    coir_await(f, &f->probe, probe, .a = 1, .text = "abcd");
    EQ(found_result, 0, "the result is zero to begin with");
    EQ(found_a, 1, "an argument that is named");
    EQ(found_b, 0, "an argument that is not named is zero");
    OK(found_d == 0 && found_p == NULL, "of any type");
    MEM_EQ(found_text, "abcd", 5, "an array argument");
    EQ(f->probe.result, 99, "the result stays in the slot");
    EQ(coir_status(&f->probe), 0, "and so does the status");
    check_rest(0x77, "await");
    memset(&f->probe, 0x66, sizeof f->probe);
    f->probe.a = 5;
    coir_await(f, &f->probe, probe, .b = f->probe.a + 1);
    EQ(found_b, 6, "arguments may read what the slot held before");
    EQ(found_a, 0, "and what it held is gone");
    memset(&f->probe, 0x55, sizeof f->probe);
    f->kids[0] = coir_make(&f->probe, probe, .b = 7);
    OK(f->kids[0] == &f->probe.task, "coir_make gives the slot's task");
    EQ(found_b, 6, "and runs nothing");
    coir_all(f, &f->all, f->kids, 1);
    EQ(found_b, 7, "until it is awaited");
    check_rest(0x55, "coir_make");
    coir_group_open(f, &f->group);
    EQ(coir_spawn(&f->group, coir_new(probe, .b = 8)), 0, "a heap frame is spawned");
    EQ(found_b, 7, "it does not run in place");
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(found_b, 8, "but later");
    EQ(found_a, 0, "a heap frame's other arguments are zero");
    EQ(found_result, 0, "and its result");
#ifdef COIR_DEBUG
    check_rest(0xA5, "coir_new");
#endif
} coir_end

/* ---- ways out ---- */

enum way { END, RETURN, FAIL, FAIL_POSITIVE, TRY, GET, CHECK, AWAIT_ONLY };

struct fails {
    coir_frame(int);
    coir_args(int with; bool parks;);
    struct coir_pass pass;
};
static coir_declare(fails);

coir_body(fails, f) {
    if (f->parks)
        coir_await(f, &f->pass, coir_pass);
    if (f->with)
        coir_fail(f, f->with);
    coir_return(f, 5);
} coir_end

struct leaves {
    coir_frame(int);
    coir_args(enum way way; bool parks; int cleanup;);
    int got;
    struct fails fails;
    struct coir_pass pass;
};
static coir_declare(leaves);

coir_body(leaves, f) {
    f->got = -1;
    trace("b");
    if (f->way == RETURN)
        coir_return(f, 7);
    if (f->way == FAIL)
        coir_fail(f, -EIO);
    if (f->way == FAIL_POSITIVE)
        coir_fail(f, EIO);
    if (f->way == TRY)
        coir_try(f, &f->fails, fails, .with = -EIO, .parks = f->parks);
    if (f->way == GET)
        coir_get(f, f->got, &f->fails, fails, .with = -EIO, .parks = f->parks);
    if (f->way == CHECK || f->way == AWAIT_ONLY)
        coir_await(f, &f->fails, fails, .with = -EIO, .parks = f->parks);
    if (f->way == CHECK)
        coir_check(f, &f->fails);
    trace("e");
    coir_finally(f) {
        trace("f");
        EQ(f->got, -1, "way %d: a failed coir_get assigns nothing", f->way);
        coir_await(f, &f->fails, fails, .with = f->cleanup, .parks = f->parks);
        trace("g");
        coir_await(f, &f->pass, coir_pass);
        trace("h");
    }
} coir_end

struct ways {
    coir_frame_void;
    coir_args(bool parks;);
    int way, cleanup, got;
    struct leaves leaves;
    struct fails fails;
};
static coir_declare(ways);

coir_body(ways, f) {
    for (f->cleanup = 0; f->cleanup >= -EBADF; f->cleanup -= EBADF) {
        for (f->way = END; f->way <= AWAIT_ONLY; f->way++) {
            coir_await(f, &f->leaves, leaves, .way = (enum way)f->way, .parks = f->parks,
                       .cleanup = f->cleanup);
            const bool good = f->way == END || f->way == RETURN || f->way == AWAIT_ONLY;
            STR_EQ(traces(), f->way == END || f->way == AWAIT_ONLY ? "befgh" : "bfgh",
                   "way %d, cleanup %d, parks %d: "
                   "finally once", f->way, f->cleanup, f->parks);
            EQ(coir_status(&f->leaves), good ? 0 : -EIO, "way %d, cleanup %d: the first error is kept",
               f->way, f->cleanup);
            EQ(f->leaves.result, f->way == RETURN ? 7 : 0, "way %d, cleanup %d: the result", f->way,
               f->cleanup);
        }
    }
    f->got = -1;
    coir_get(f, f->got, &f->fails, fails, .parks = f->parks);
    EQ(f->got, 5, "coir_get assigns");
    coir_return(f);
} coir_end

/* ---- failing deep down ---- */

struct deep {
    coir_frame(int);
    coir_args(int n; bool parks;);
    struct deep *below;
    struct coir_pass pass;
};
static coir_declare(deep);

coir_body(deep, f) {
    if (f->parks)
        coir_await(f, &f->pass, coir_pass);
    if (f->n == 0)
        coir_fail(f, ENOTTY);
    f->below = calloc(1, sizeof *f->below);
    coir_try(f, f->below, deep, .n = f->n - 1, .parks = f->parks);
    trace("never");
    coir_finally(f) {
        static const char *const digits[] = { "0", "1", "2", "3", "4", "5" };
        trace(digits[f->n]);
        if (f->n)
            free(f->below);
        if (f->parks)
            coir_await(f, &f->pass, coir_pass);
    }
} coir_end

static int evaluated;

static int count_evaluated(void)
{
    evaluated++;
    return -EIO;
}

struct once {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(once);

coir_body(once, f) {
    coir_fail(f, count_evaluated());
} coir_end

/* ---- two tasks of one line ---- */

#define PAIR(f) do { \
        coir_await(f, &f->pass, coir_pass); trace("1"); coir_await(f, &f->pass, coir_pass); trace("2"); \
    } while (0)

struct line {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
    int i;
};
static coir_declare(line);

coir_body(line, f) {
    coir_await(f, &f->pass, coir_pass); trace("a"); coir_await(f, &f->pass, coir_pass); trace("b");
    PAIR(f); PAIR(f);
    for (f->i = 0; f->i < 2; f->i++) { PAIR(f); }
    if (f->i == 2) coir_try(f, &f->pass, coir_pass); else coir_fail(f, EIO);
} coir_end

int main(void)
{
    EQ(sizeof(struct coir_task), 64, "a header is one cache line");
    EQ(run(coir_new(frames)), 0, "frames");
    EQ(run(coir_new(ways)), 0, "ways out, in place");
    EQ(run(coir_new(ways, .parks = true)), 0, "ways out, parked");
    EQ(run(coir_new(deep, .n = 5)), -ENOTTY, "a failure five awaits down comes up");
    STR_EQ(traces(), "012345", "through each coir_finally, the innermost first");
    EQ(run(coir_new(deep, .n = 5, .parks = true)), -ENOTTY, "also when all park");
    STR_EQ(traces(), "012345", "in the same order");
    EQ(run(coir_new(once)), -EIO, "coir_fail of a call");
    EQ(evaluated, 1, "evaluates it once");
    EQ(run(coir_new(line)), 0, "awaits that share a line or a macro");
    STR_EQ(traces(), "ab12121212", "are told apart");
    EQ(coir_main(NULL), 1, "coir_main without a task");
    EQ(run(NULL), -ENOMEM, "coir_run without one");
    coir_free(NULL);
    return DONE();
}
