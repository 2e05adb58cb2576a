/* SPDX-License-Identifier: MIT */
/*
 * The census of a shard: who is counted, in which row, and what happens to it when tasks end, are spawned, and groups
 * come and go between two of its slices. It is taken here by a task of the shard itself, slice by slice.
 */
#include "runtime/see/census.h"

#include "task/help.h"

static struct coir_census census;

/* Rows of tasks spawned by that name, standing in it, waiting so. */
static uint64_t counted(const char *born, const char *stands, const char *waits)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < census.rows; i++) {
        const struct coir_census_row *r = &census.row[i];
        const bool same = (born ? r->born && !strcmp(r->born->task, born) : !r->born)
            && (stands ? r->stands && !strcmp(r->stands->task, stands) : !r->stands)
            && (waits ? r->waits && !strcmp(r->waits, waits) : !r->waits);
        n += same ? r->count : 0;
    }
    return n;
}

static unsigned take_all(void)
{
    unsigned slices = 1;

    coir_census_clear(&census);
    coir_census_begin(&census, coir_shard_here());
    while (!coir_census_slice(&census))
        slices++;
    return slices;
}

/* ---- tasks to be counted ---- */

struct sleeper {
    coir_frame_void;
    coir_no_args;
    struct coir_sleep sleep;
};
static coir_declare(sleeper);

coir_body(sleeper, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = 1000 * COIR_S);
} coir_end

struct inner {                          /* the place that `outer` stands in */
    coir_frame_void;
    coir_args(struct coir_channel *channel;);
    int item;
    struct coir_channel_recv recv;
};
static coir_declare(inner);

coir_body(inner, f) {
    coir_try(f, &f->recv, coir_channel_recv, .channel = f->channel, .item = &f->item);
} coir_end

struct outer {
    coir_frame_void;
    coir_args(struct coir_channel *channel;);
    struct inner inner;
};
static coir_declare(outer);

coir_body(outer, f) {
    coir_try(f, &f->inner, inner, .channel = f->channel);
} coir_end

struct family {                         /* `n` sleepers in a group of its own */
    coir_frame_void;
    coir_args(int n;);
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(family);

coir_body(family, f) {
    coir_group_open(f, &f->group);
    for (int i = 0; i < f->n; i++)
        coir_spawn(&f->group, coir_new(sleeper));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

/* Ends when its event is set. */
struct ender {
    coir_frame_void;
    coir_args(struct coir_event *event;);
    struct coir_event_wait wait;
};
static coir_declare(ender);

coir_body(ender, f) {
    coir_try(f, &f->wait, coir_event_wait, .event = f->event);
} coir_end

/* Passes until everybody parks: in whatever order the dice of a torture build have it. */
struct settle {
    coir_frame_void;
    coir_no_args;
    int i;
    struct coir_pass pass;
};
static coir_declare(settle);

coir_body(settle, f) {
    for (f->i = 0; f->i < 1000; f->i++)
        coir_await(f, &f->pass, coir_pass);
} coir_end

/* ---- rows ---- */

struct rows {
    coir_frame_void;
    coir_no_args;
    struct coir_channel channel;
    struct coir_group group, nested;
    union {
        struct settle settle;
        struct coir_group_wait wait;
    };
};
static coir_declare(rows);

coir_body(rows, f) {
    coir_channel_init(&f->channel, sizeof(int), 0);
    coir_group_open(f, &f->group);
    coir_group_open(f, &f->nested);
    for (int i = 0; i < 7; i++)
        coir_spawn(&f->group, coir_new(sleeper));
    for (int i = 0; i < 5; i++)
        coir_spawn(&f->nested, coir_new(outer, .channel = &f->channel));
    for (int i = 0; i < 3; i++)
        coir_spawn(&f->group, coir_new(family, .n = 100));
    coir_await(f, &f->settle, settle);
    coir_spawn(&f->group, coir_new(sleeper));          /* which has not begun */

    take_all();
    EQ(census.tasks, 1 + 7 + 5 + 3 + 300 + 1, "every task is counted once");
    EQ(census.other, 0, "each in a row");
    EQ(counted("sleeper", "sleeper", "coir_sleep"), 307, "sleepers, in two groups, spawned at two lines");
    EQ(counted("outer", "inner", "coir_channel_recv"), 5, "who stands in a callee stands there");
    EQ(counted("family", "family", "coir_group_wait"), 3, "the families");
    EQ(counted("sleeper", NULL, NULL), 1, "one that has not begun stands nowhere");
    EQ(counted("rows", "rows", NULL), 1, "this one runs");
    take_all();
    EQ(census.tasks, 317, "a second one counts the same");
    coir_finally(f) {
        coir_group_cancel(&f->group);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        coir_group_cancel(&f->nested);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->nested);
    }
} coir_end

/* ---- what happens between two slices ---- */

/* A slice looks at so many tasks and awaits: of an ender at two, and at the group first. */
enum { MANY = 5 * COIR_CENSUS_SLICE, FIRST = COIR_CENSUS_SLICE / 2 };

struct between {
    coir_frame_void;
    coir_no_args;
    struct coir_event event, late;
    unsigned slices;
    struct coir_group stays, goes;
    struct coir_task *last;
    union {
        struct settle settle;
        struct coir_group_wait wait;
    };
};
static coir_declare(between);

static void begin(void)
{
    coir_census_clear(&census);
    coir_census_begin(&census, coir_shard_here());
}

static unsigned finish(void)
{
    unsigned slices = 1;

    while (!coir_census_slice(&census))
        slices++;
    return slices;
}

static void spawn_enders(struct coir_group *g, struct coir_event *e, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        coir_spawn(g, coir_new(ender, .event = e));
}

coir_body(between, f) {
    coir_event_init(&f->event);
    coir_event_init(&f->late);
    coir_group_open(f, &f->stays);
    coir_group_open(f, &f->goes);
    spawn_enders(&f->goes, &f->event, MANY);
    spawn_enders(&f->stays, &f->late, MANY);
    coir_await(f, &f->settle, settle);

    begin();
    f->slices = finish();
    EQ(census.tasks, 1 + 2 * MANY, "nothing happens: all are counted");
    if (!TORTURE)
        EQ(f->slices, 2 * 2 * MANY / COIR_CENSUS_SLICE + 1, "in slices of their size");

    /* The group that is being counted ends altogether, the next of it among them. */
    begin();
    OK(!coir_census_slice(&census), "one slice is not all");
    coir_event_set(&f->event);
    coir_await(f, &f->settle, settle);
    EQ(f->goes.live, 0, "the group has lost its members");
    finish();
    EQ(counted("ender", "ender", "coir_event_wait"), MANY + FIRST,
       "those that went were counted before, or not at all; those that stayed are counted");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->goes);

    /* Each that is next goes, slice after slice; and the group itself is left. */
    coir_group_open(f, &f->goes);
    spawn_enders(&f->goes, &f->event, 2);
    coir_await(f, &f->settle, settle);
    begin();
    OK(!coir_census_slice(&census), "one slice");
    coir_group_cancel(&f->goes);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->goes);
    finish();
    OK(census.tasks >= 1 + MANY, "a group that was left in between");

    /* Who comes later is not counted for ever. */
    begin();
    OK(!coir_census_slice(&census), "one slice");
    spawn_enders(&f->stays, &f->late, 3 * MANY);
    coir_await(f, &f->settle, settle);
    finish();
    EQ(census.tasks, 1 + MANY, "as many are counted as there were in the beginning");

    begin();
    OK(!coir_census_slice(&census), "one slice");
    coir_finally(f) {
        coir_group_cancel(&f->stays);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->stays);
        OK(!census.at, "with the last of its group the census stands at nobody");
        finish();
        EQ(census.tasks, FIRST + 1, "and finds the main task");
    }
} coir_end

/* ---- somebody else's reaper ---- */

static int told;

static void tell(struct coir_reaper *r, const struct coir_task *t)
{
    (void)r;
    told += t->status == 0 ? 1 : 100;
}

static struct coir_reaper reaper = { .ended = tell };

struct reaped {
    coir_frame_void;
    coir_no_args;
    struct coir_event event;
    struct coir_group group;
    union {
        struct settle settle;
        struct coir_group_wait wait;
    };
};
static coir_declare(reaped);

coir_body(reaped, f) {
    coir_event_init(&f->event);
    coir_group_open(f, &f->group);
    for (int i = 0; i < 2 * COIR_CENSUS_SLICE; i++) {
        struct coir_task *t = coir_new(ender, .event = &f->event);
        if (t)
            coir_birth_of(t)->reaper = &reaper;
        coir_spawn(&f->group, t);
    }
    coir_await(f, &f->settle, settle);
    begin();
    OK(!coir_census_slice(&census), "one slice");
    OK(census.at && census.at->reaper != &reaper, "the next one's reaper is the census's");
    coir_event_set(&f->event);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(told, 2 * COIR_CENSUS_SLICE, "and every reaper is told");
    finish();

    coir_group_open(f, &f->group);
    for (int i = 0; i < 2 * COIR_CENSUS_SLICE; i++) {
        struct coir_task *t = coir_new(sleeper);
        if (t)
            coir_birth_of(t)->reaper = &reaper;
        coir_spawn(&f->group, t);
    }
    begin();
    coir_census_slice(&census);
    finish();
    told = 0;
    for (const struct coir_birth *b = f->group.first; b; b = b->next)
        told += b->reaper == &reaper;
    EQ(told, 2 * COIR_CENSUS_SLICE, "afterwards all reapers are as they were");
    coir_finally(f) {
        coir_group_cancel(&f->group);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

/* ---- the table ---- */

static void table(void)
{
    static struct coir_site sites[COIR_CENSUS_ROWS + 10];
    static struct coir_census one;

    coir_census_clear(&census);
    coir_census_clear(&one);
    for (unsigned i = 0; i < COIR_CENSUS_ROWS; i++)
        one.row[one.rows++] = (struct coir_census_row){ .born = &sites[i], .count = i + 1 };
    one.other = 5;
    coir_census_add(&census, &one);
    coir_census_add(&census, &one);
    EQ(census.rows, COIR_CENSUS_ROWS, "as many rows as there is room for");
    EQ(census.row[7].count, 16, "the same row twice is one");
    EQ(census.tasks, 2 * (COIR_CENSUS_ROWS * (COIR_CENSUS_ROWS + 1) / 2 + 5), "all are counted");
    EQ(census.other, 10, "in no row: those that were in none before");
    for (unsigned i = 0; i < 10; i++)
        one.row[i].born = &sites[COIR_CENSUS_ROWS + i];
    one.rows = 10;
    one.other = 0;
    coir_census_add(&census, &one);
    EQ(census.other, 10 + 55, "and those of a row too many");
    EQ(census.rows, COIR_CENSUS_ROWS, "which gets none");
}

int main(void)
{
    EQ(run(coir_new(rows)), 0, "rows");
    EQ(run(coir_new(between)), 0, "between two slices");
    EQ(run(coir_new(reaped)), 0, "reapers");
    table();
    return DONE();
}
