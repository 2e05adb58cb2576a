/* SPDX-License-Identifier: MIT */
/*
 * A dump of many tasks: small crowds are printed whole, of large ones each kind once, with its number. The lines are
 * those of this file.
 */
#include "task/help.h"

enum { WHOLE = 20, FAN = 10000 };

#define TEXT_(line) #line
#define TEXT(line) TEXT_(line)

/* Stands at one of two lines. */
struct waits {
    coir_frame_void;
    coir_args(bool elsewhere;);
    struct coir_sleep sleep;
};
static coir_declare(waits);

enum { HERE = __LINE__ + 4, ELSEWHERE = HERE + 2 };

coir_body(waits, f) {
    if (!f->elsewhere) {
        coir_try(f, &f->sleep, coir_sleep, .ns = 1000 * COIR_S);
    } else {
        coir_try(f, &f->sleep, coir_sleep, .ns = 1000 * COIR_S);
    }
} coir_end

/* Two deep: what is told apart is where the last one stands. */
struct above {
    coir_frame_void;
    coir_args(bool elsewhere;);
    struct waits waits;
};
static coir_declare(above);

enum { ABOVE = __LINE__ + 3 };

coir_body(above, f) {
    coir_try(f, &f->waits, waits, .elsewhere = f->elsewhere);
} coir_end

struct crowded {
    coir_frame_void;
    coir_args(int n; int elsewhere; int deep; bool begins; char **text;);
    int i;
    size_t size;
    FILE *to;
    struct coir_group group;
    struct coir_pass pass;
    struct coir_group_wait wait;
};
static coir_declare(crowded);

enum { SPAWN = __LINE__ + 5, DEEP = SPAWN + 2 };

coir_body(crowded, f) {
    coir_group_open(f, &f->group);
    for (f->i = 0; f->i < f->n; f->i++)
        coir_spawn(&f->group, coir_new(waits, .elsewhere = f->i < f->elsewhere));
    for (f->i = 0; f->i < f->deep; f->i++)
        coir_spawn(&f->group, coir_new(above, .elsewhere = f->i == 0));
    f->to = open_memstream(f->text, &f->size);
    for (f->i = f->begins ? 0 : 9; f->i > 0; f->i--)
        coir_await(f, &f->pass, coir_pass);
    coir_dump(f->to);
    fclose(f->to);
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

static char *text;

static int dumped(int n, int elsewhere, int deep, bool begins)
{
    free(text);
    text = NULL;
    return run(coir_new(crowded, .n = n, .elsewhere = elsewhere, .deep = deep, .begins = begins, .text = &text));
}

static int count(const char *part)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        n++;
    return n;
}

/* How often the dump has this line; the formats are of lines of this file. */
#define LINE(times, what, ...) do { \
        char line_[256]; \
        snprintf(line_, sizeof line_, __VA_ARGS__); \
        if (!EQ(count(line_), times, "%s: %d times %s", what, times, line_)) \
            NOTE("it is %.900s", text); \
    } while (0)

#define SLEEPS "\n      waits, spawned at " __FILE__ ":%d\n        waits at " __FILE__ ":%d: sleeps for"
#define MORE "\n      ... and %d more, spawned at " __FILE__ ":%d, standing at " __FILE__ ":%d\n"

static void of_one_kind(void)
{
    EQ(dumped(WHOLE, 0, 0, false), 0, "20 tasks");
    LINE(WHOLE, "20", SLEEPS, SPAWN, HERE);
    LINE(0, "20", "more");
    EQ(dumped(WHOLE + 1, 0, 0, false), 0, "21 tasks");
    LINE(1, "21", SLEEPS, SPAWN, HERE);
    LINE(1, "21", MORE, 20, SPAWN, HERE);
    LINE(1, "21", "\n    group of 21, opened by crowded:\n");
    EQ(dumped(FAN, 0, 0, false), 0, "10,000 tasks");
    LINE(1, "10,000", MORE, 9999, SPAWN, HERE);
    EQ(count("\n"), 7, "and no more lines than for 21");
    EQ(dumped(FAN, 0, 0, true), 0, "10,000 tasks that have not begun");
    LINE(1, "not begun", "\n      ... and 9999 more, spawned at " __FILE__ ":%d, ready to begin\n", SPAWN);
}

/* 26 in all: 3 elsewhere, which are all shown, as they are few; 17 here; of those below another, 1 and 5. */
static void of_some_kinds(void)
{
    EQ(dumped(20, 3, 6, false), 0, "tasks of four kinds");
    LINE(3 + 1, "kinds", "waits at " __FILE__ ":%d: sleeps", ELSEWHERE);
    LINE(1 + 1, "kinds", "waits at " __FILE__ ":%d: sleeps", HERE);
    LINE(1, "kinds", "... and 16 more, spawned at " __FILE__ ":%d, standing at " __FILE__ ":%d\n", SPAWN, HERE);
    LINE(2, "kinds", "above at " __FILE__ ":%d\n", ABOVE);
    LINE(1, "kinds", "... and 4 more, spawned at " __FILE__ ":%d, standing at " __FILE__ ":%d\n", DEEP, HERE);
    LINE(2, "kinds", " more");
}

/* ---- children of a combinator, and tasks of another shard ---- */

enum { KIDS = 50, AWAY = 30 };

struct dumps {
    coir_frame_void;
    coir_args(char **text;);
    size_t size;
    FILE *to;
    struct coir_sleep sleep;
};
static coir_declare(dumps);

coir_body(dumps, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = 20 * COIR_MS);
    f->to = open_memstream(f->text, &f->size);
    coir_dump(f->to);
    fclose(f->to);
} coir_end

struct races {
    coir_frame_void;
    coir_args(char **text;);
    struct waits kid[KIDS];
    struct dumps dumps;
    struct coir_task *kids[KIDS + 1];
    struct coir_combine race;
};
static coir_declare(races);

coir_body(races, f) {
    for (int i = 0; i < KIDS; i++)
        f->kids[i] = coir_make(&f->kid[i], waits, .elsewhere = i % 2);
    f->kids[KIDS] = coir_make(&f->dumps, dumps, .text = f->text);
    coir_race(f, &f->race, f->kids, KIDS + 1);
} coir_end

static void of_kids(void)
{
    free(text);
    text = NULL;
    EQ(run(coir_new(races, .text = &text)), 0, "50 children of a race");
    LINE(1, "kids", "\n      waits at " __FILE__ ":%d: sleeps for", HERE);
    LINE(1, "kids", "\n      waits at " __FILE__ ":%d: sleeps for", ELSEWHERE);
    LINE(1, "kids", "\n      ... and 24 more, standing at " __FILE__ ":%d\n", HERE);
    LINE(1, "kids", "\n      ... and 24 more, standing at " __FILE__ ":%d\n", ELSEWHERE);
}

struct away {
    coir_frame_void;
    coir_no_args;
    struct waits waits;
};
static coir_declare(away);

coir_body(away, f) {
    coir_await_on(f, 1, &f->waits, waits);
} coir_end

struct sends {
    coir_frame_void;
    coir_args(char **text;);
    int i;
    struct coir_group group;
    struct dumps dumps;
    struct coir_group_wait wait;
};
static coir_declare(sends);

coir_body(sends, f) {
    coir_group_open(f, &f->group);
    for (f->i = 0; f->i < AWAY; f->i++)
        coir_spawn(&f->group, coir_new(away));
    coir_await_on(f, 1, &f->dumps, dumps, .text = f->text);
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

static void of_guests(void)
{
    const struct coir_options o = { .shards = 2 };

    free(text);
    text = NULL;
    EQ(coir_run(&o, coir_new(sends, .text = &text)), 0, "30 tasks on another shard");
    LINE(1, "guests", "\n  awaited by shard 0\n    waits at " __FILE__ ":%d: sleeps for", HERE);
    LINE(1, "guests", "\n  ... and 29 more, standing at " __FILE__ ":%d\n", HERE);
}

/* ---- more kinds than are kept ---- */

enum { KINDS = 70 };

/* Each kind has a place of its own, that no compiler made: only the dump looks at it. */
static struct coir_site places[KINDS];

struct everywhere {
    coir_frame_void;
    coir_args(char **text;);
    int i;
    size_t size;
    FILE *to;
    struct coir_task *made;
    struct coir_group group;
    struct coir_pass pass;
    struct coir_group_wait wait;
};
static coir_declare(everywhere);

coir_body(everywhere, f) {
    coir_group_open(f, &f->group);
    for (f->i = 0; f->i < KINDS; f->i++) {
        places[f->i] = (struct coir_site){ "waits", "place.c", (unsigned)f->i };
        f->made = coir_new(waits);
        f->made->site = &places[f->i];
        coir_spawn(&f->group, f->made);
    }
    f->to = open_memstream(f->text, &f->size);
    coir_dump(f->to);
    fclose(f->to);
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

static void of_too_many_kinds(void)
{
    free(text);
    text = NULL;
    EQ(run(coir_new(everywhere, .text = &text)), 0, "70 kinds");
    LINE(64, "70 kinds", "waits at place.c:");
    LINE(1, "70 kinds", "\n      ... and 6 more, of other kinds\n");
}

int main(void)
{
    of_one_kind();
    of_some_kinds();
    of_kids();
    of_guests();
    of_too_many_kinds();
    free(text);
    return DONE();
}
