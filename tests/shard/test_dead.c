/* SPDX-License-Identifier: MIT */
/*
 * Everything asleep: when nothing can wake anybody coir_run says -EDEADLK, after a dump that names every parked
 * task; when something can, it waits. On one shard and on three, where the tasks are spread.
 */
#include "task/help.h"

enum { SHARDS = 3 };

/* Waits for a place in the group that it fills itself. */
struct selfish {
    coir_frame_void;
    coir_args(struct coir_group *group; bool shielded;);
    struct coir_scope scope;
    struct coir_group_spawn spawn;
};
static coir_declare(selfish);

static int finals;

coir_body(selfish, f) {
    if (f->shielded)
        coir_shield(f, &f->scope, &f->spawn, coir_group_spawn, .group = f->group,
                    .spawn = coir_new(selfish, .group = f->group));
    else
        coir_await(f, &f->spawn, coir_group_spawn, .group = f->group, .spawn = coir_new(selfish,
                                                                                        .group = f->group));
    coir_check(f, &f->spawn);
    coir_finally(f) {
        __atomic_add_fetch(&finals, 1, __ATOMIC_RELAXED);
    }
} coir_end

/* Owns the group. */
struct sleeper {
    coir_frame_void;
    coir_args(bool shielded;);
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(sleeper);

coir_body(sleeper, f) {
    coir_group_open(f, &f->group, .limit = 1);
    coir_spawn(&f->group, coir_new(selfish, .group = &f->group, .shielded = f->shielded));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_check(f, &f->wait);
} coir_end

/* One such on each of `shards`, from the last to the first; main waits for those it awaits. */
struct spread {
    coir_frame_void;
    coir_args(unsigned shards; bool shielded; bool awaits;);
    unsigned i;
    struct sleeper sleeper;
};
static coir_declare(spread);

coir_body(spread, f) {
    for (f->i = 0; f->i < f->shards; f->i++)
        coir_spawn_on(f->i, coir_new(sleeper, .shielded = f->shielded));
    if (f->awaits)
        coir_await_on(f, f->shards - 1, &f->sleeper, sleeper, .shielded = f->shielded);
    else
        coir_await(f, &f->sleeper, sleeper, .shielded = f->shielded);
    coir_check(f, &f->sleeper);
} coir_end

static int run_spread(unsigned shards, bool shielded, bool awaits)
{
    const struct coir_options o = { .shards = shards };

    finals = 0;
    return -coir_run(&o, coir_new(spread, .shards = shards, .shielded = shielded, .awaits = awaits));
}

static int one(void)
{
    const int err = run_spread(1, false, false);

    fprintf(stderr, "finals %d\n", finals);
    return err;
}

static int three(void)
{
    const int err = run_spread(SHARDS, false, false);

    fprintf(stderr, "finals %d\n", finals);
    return err;
}

static int three_away(void)
{
    const int err = run_spread(SHARDS, false, true);

    fprintf(stderr, "finals %d\n", finals);
    return err;
}

static int one_virtual(void)
{
    setenv("COIR_TIME", "virtual", 1);
    return run_spread(1, false, false);
}

static int one_shielded(void)
{
    setenv("COIR_TIME", "virtual", 1);     /* what is shielded has ten seconds */
    return run_spread(1, true, false);
}

static int three_shielded(void)
{
    return run_spread(SHARDS, true, false);
}

/* ---- what is not dead ---- */

struct cell_later {
    coir_frame_void;
    coir_no_args;
    struct coir_cell cell;
    struct coir_cell_wait wait;
    pthread_t thread;
};
static coir_declare(cell_later);

static void *complete_later(void *cell)
{
    usleep(50000);
    coir_cell_complete((struct coir_cell *)cell, 0, 0);
    return NULL;
}

coir_body(cell_later, f) {
    coir_cell_init(&f->cell);
    pthread_create(&f->thread, NULL, complete_later, &f->cell);
    coir_try(f, &f->wait, coir_cell_wait, .cell = &f->cell);
    pthread_join(f->thread, NULL);
} coir_end

struct other_sleeps {
    coir_frame_void;
    coir_no_args;
    struct coir_sleep sleep;
};
static coir_declare(other_sleeps);

static bool slept;

coir_body(other_sleeps, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = 50 * COIR_MS);
    slept = true;
} coir_end

struct away_later {
    coir_frame_void;
    coir_no_args;
    struct other_sleeps sleeps;
};
static coir_declare(away_later);

coir_body(away_later, f) {
    coir_await_on(f, 1, &f->sleeps, other_sleeps);
    coir_check(f, &f->sleeps);
} coir_end

static int alive(void)
{
    const struct coir_options two = { .shards = 2 };
    int err = coir_run(NULL, coir_new(cell_later));

    err = err ? err : coir_run(&two, coir_new(cell_later));
    err = err ? err : coir_run(&two, coir_new(away_later));
    return err ? -err : slept ? 0 : 99;
}

static int count(const char *text, const char *what)
{
    int n = 0;

    while ((text = strstr(text, what))) {
        text++;
        n++;
    }
    return n;
}

static void dies(int (*fn)(void), int waits, const char *more, const char *name)
{
    const struct ending *e = in_child(fn);

    const int status = WIFEXITED(e->status) ? WEXITSTATUS(e->status) : -WTERMSIG(e->status);
    bool good = EQ(status, EDEADLK, "%s: -EDEADLK", name);
    good &= EQ(count(e->said, "coir: everything is asleep, and nothing can wake it:"), 1, "%s: said once",
               name);
    good &= EQ(count(e->said, "waits for a place in a group of 1") >= waits, 1,
               "%s: every parked task is in the dump", name);
    good &= OK(count(e->said, "test_dead.c:") >= 2 * waits, "%s: with the places", name);
    if (more)
        good &= OK(strstr(e->said, more), "%s: and says \"%s\"", name, more);
    if (!good)
        NOTE("it said: %.700s", e->said);
}

int main(void)
{
    const struct ending *e;

    unsetenv("COIR_TIME");
    dies(one, 2, "finals 2", "one shard");
    dies(one_virtual, 2, NULL, "one shard, virtual time");
    dies(three, 4, "finals 4", "three shards");
    dies(three_away, 4, "finals 4", "three shards, and one awaited away");
    if (SANITIZED) {
        SKIP("what is abandoned is leaked");
    } else {
        dies(one_shielded, 2, NULL, "one shard, shielded");
        if (getenv("COIR_TEST_LONG"))
            dies(three_shielded, 4, NULL, "three shards, shielded");
    }
    e = in_child(alive);
    EQ(WIFEXITED(e->status) ? WEXITSTATUS(e->status) : -1, 0,
       "a cell, another shard: what can wake somebody is waited for");
    STR_EQ(e->said, "", "without a word");
    return DONE();
}
