/* SPDX-License-Identifier: MIT */
/*
 * Orders of events that are rare by nature, each brought about on purpose: a cancel while a child is on its way
 * home, a cancel by a child that has just begun, stopping while shields are open here and elsewhere, a thread
 * in coir_sync whose task is abandoned.
 */
#include <pthread.h>

#include "task/help.h"

/* ---- a cancel walks past a child that has come home, before its awaiter has run ---- */

static struct coir_cell cell;

struct far { coir_frame_void; coir_no_args; };
static coir_declare(far);

coir_body(far, f) {
    coir_cell_complete(&cell, 0, 0);
} coir_end

struct traveller { coir_frame_void; coir_no_args; struct far far; };
static coir_declare(traveller);

coir_body(traveller, f) {
    coir_await_on(f, 1, &f->far, far);
} coir_end

/* Holds the shard until both letters, the cell's and the child's, lie in its inbox. */
struct holds { coir_frame_void; coir_no_args; };
static coir_declare(holds);

coir_body(holds, f) {
    const int64_t end = coir_now() + 20 * COIR_MS;
    while (coir_now() < end)
        ;
} coir_end

struct homecoming {
    coir_frame_void;
    coir_no_args;
    int i;
    struct coir_group group;
    struct coir_cell_wait cell;
    struct coir_group_wait wait;
};
static coir_declare(homecoming);

coir_body(homecoming, f) {
    for (f->i = 0; f->i < 5; f->i++) {
        coir_cell_init(&cell);
        coir_group_open(f, &f->group);
        coir_spawn(&f->group, coir_new(traveller));
        coir_spawn(&f->group, coir_new(holds));
        coir_await(f, &f->cell, coir_cell_wait, .cell = &cell);
        coir_group_cancel(&f->group);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        EQ(coir_status(&f->wait), 0, "a child that has come home meets a cancel, round %d", f->i);
    }
} coir_end

/* ---- a combinator's second child cancels the scope around, while the first is parked ---- */

static struct coir_group *around;

struct canceller { coir_frame_void; coir_no_args; };
static coir_declare(canceller);

coir_body(canceller, f) {
    coir_group_cancel(around);
} coir_end

struct both {
    coir_frame_void;
    coir_no_args;
    int64_t began;
    struct coir_task *kids[2];
    struct coir_combine all;
    struct coir_sleep sleep;
    struct canceller canceller;
};
static coir_declare(both);

coir_body(both, f) {
    f->began = coir_now();
    f->kids[0] = coir_make(&f->sleep, coir_sleep, .ns = 60 * COIR_S);
    f->kids[1] = coir_make(&f->canceller, canceller);
    coir_all(f, &f->all, f->kids, 2);
    EQ(coir_status(&f->all), -ECANCELED, "the first child is cancelled by the second");
    EQ(coir_now() - f->began, 0, "at once");
} coir_end

struct surrounds {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(surrounds);

coir_body(surrounds, f) {
    coir_group_open(f, &f->group);
    around = &f->group;
    coir_spawn(&f->group, coir_new(both));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

/* ---- stopping waits for a shield, and for what another shard does for it ---- */

struct commit { coir_frame_void; coir_no_args; struct coir_sleep sleep; };
static coir_declare(commit);

coir_body(commit, f) {
    coir_await(f, &f->sleep, coir_sleep, .ns = 50 * COIR_MS);
    coir_cell_complete(&cell, coir_status(&f->sleep), 0);
} coir_end

struct stops { coir_frame_void; coir_no_args; };
static coir_declare(stops);

coir_body(stops, f) {
    coir_stop();
} coir_end

struct commits {
    coir_frame_void;
    coir_no_args;
    struct coir_scope scope;
    struct coir_cell_wait wait;
};
static coir_declare(commits);

coir_body(commits, f) {
    coir_cell_init(&cell);
    EQ(coir_spawn_on(coir_shard_count() - 1, coir_new(commit)), 0, "a commit");
    EQ(coir_detach(coir_new(stops)), 0, "and who stops, once this has parked in its shield");
    coir_shield(f, &f->scope, &f->wait, coir_cell_wait, .cell = &cell);
    EQ(coir_status(&f->wait), 0, "what a shield waits for is not cancelled, wherever it is");
} coir_end

/* Two tasks that shield in turn, so that there is always one; they stop when they are cancelled. */
struct shields { coir_frame_void; coir_no_args; int n; struct coir_scope scope; struct coir_sleep sleep; };
static coir_declare(shields);

coir_body(shields, f) {
    for (f->n = 0; f->n < 2000 && !coir_cancelled(f); f->n++)
        coir_shield(f, &f->scope, &f->sleep, coir_sleep, .ns = 2 * COIR_MS);
    OK(f->n < 2000, "shields that overlap do not hold a stop for ever (%d)", f->n);
} coir_end

struct overlaps {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_sleep sleep;
};
static coir_declare(overlaps);

coir_body(overlaps, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(shields));
    coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    coir_spawn(&f->group, coir_new(shields));
    coir_await(f, &f->sleep, coir_sleep, .ns = 10 * COIR_MS);
    coir_stop();
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

/* ---- a deadlock abandons the task that a thread waits for ---- */

static struct coir_channel never;

struct stubborn { coir_frame_void; coir_no_args; char item; struct coir_scope scope; struct coir_channel_recv recv; };
static coir_declare(stubborn);

static bool waits;

coir_body(stubborn, f) {
    waits = true;
    coir_shield(f, &f->scope, &f->recv, coir_channel_recv, .channel = &never, .item = &f->item);
} coir_end

static void *waits_for_it(void *said)
{
    *(int *)said = coir_sync(0, coir_new(stubborn));
    return NULL;
}

struct abandons { coir_frame_void; coir_args(pthread_t *thread; int *said;); char item; struct coir_sleep sleep;
                  struct coir_channel_recv recv; };
static coir_declare(abandons);

coir_body(abandons, f) {
    OK(pthread_create(f->thread, NULL, waits_for_it, f->said) == 0, "a thread that waits");
    while (!waits)
        coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    coir_await(f, &f->recv, coir_channel_recv, .channel = &never, .item = &f->item);
} coir_end

static int abandoned(void)
{
    pthread_t thread;
    int said = 0;

    coir_channel_init(&never, 1, 0);
    if (coir_run(NULL, coir_new(abandons, .thread = &thread, .said = &said)) != -EDEADLK)
        return 1;
    pthread_join(thread, NULL);
    return said == -EDEADLK ? 0 : 2;
}

int main(void)
{
    const struct coir_options two = { .shards = 2 };

    EQ(coir_run(&two, coir_new(homecoming)), 0, "homecoming");
    setenv("COIR_TIME", "virtual", 1);
    EQ(coir_run(NULL, coir_new(surrounds)), 0, "a cancel by a child that begins");
    unsetenv("COIR_TIME");
    EQ(coir_run(&two, coir_new(commits)), 0, "a commit on another shard");
    EQ(coir_run(NULL, coir_new(commits)), 0, "a commit on this shard");
    EQ(coir_run(NULL, coir_new(overlaps)), 0, "shields in turn");
    if (getenv("COIR_SANITIZE") && strcmp(getenv("COIR_SANITIZE"), "none"))
        SKIP("an abandoned task is a leak");
    else
        EQ(abandoned(), 0, "a thread whose task is abandoned is told");
    return DONE();
}
