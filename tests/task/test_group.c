/* SPDX-License-Identifier: MIT */
/*
 * Groups: who is in one, who waits for a place, what the first failure and a cancel do, how they are left.
 */
#include "help.h"

/* Notes its letter when it begins and when it ends; sleeps in between, fails if it is told to. */
struct member {
    coir_frame_void;
    coir_args(const char *name; int64_t ns; int fails;);
    struct coir_sleep sleep;
};
static coir_declare(member);

static int inside, most, begun, ended, cancelled;

coir_body(member, f) {
    begun++;
    if (++inside > most)
        most = inside;
    if (f->name)
        trace(f->name);
    coir_try(f, &f->sleep, coir_sleep, .ns = f->ns);
    if (f->fails)
        coir_fail(f, f->fails);
    coir_finally(f) {
        inside--;
        ended++;
        cancelled += f->task.status == -ECANCELED;
    }
} coir_end

static void forget(void)
{
    inside = most = begun = ended = cancelled = 0;
    traces();
}

/* ---- a limit ---- */

struct limited {
    coir_frame_void;
    coir_no_args;
    int i;
    struct coir_group group;
    union {
        struct coir_group_spawn spawn;
        struct coir_group_wait wait;
    };
};
static coir_declare(limited);

coir_body(limited, f) {
    static const char *const names[] = { "0", "1", "2", "3", "4", "5", "6", "7", "8", "9" };
    forget();
    coir_group_open(f, &f->group, .limit = 3);
    for (f->i = 0; f->i < 10; f->i++) {
        coir_await(f, &f->spawn, coir_group_spawn, .group = &f->group,
                   .spawn = coir_new(member, .name = names[f->i], .ns = (10 - f->i) * COIR_MS));
        EQ(coir_status(&f->spawn), 0, "spawn %d of 10", f->i);
    }
    EQ(f->group.live, 3, "the group is full");
    EQ(coir_spawn(&f->group, coir_new(member)), -EAGAIN, "coir_spawn does not wait");
    EQ(coir_spawn(&f->group, NULL), -ENOMEM, "a NULL task");
    coir_await(f, &f->spawn, coir_group_spawn, .group = &f->group, .spawn = NULL);
    EQ(coir_status(&f->spawn), -ENOMEM, "a NULL task waits for no place");
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(most, 3, "never more than three at once");
    EQ(ended, 10, "all ten ran");
    STR_EQ(traces(), "0123456789", "in order");
} coir_end

/* Several spawners wait for places: who came first is served first. */
struct spawner {
    coir_frame_void;
    coir_args(struct coir_group *group; const char *name;);
    struct coir_group_spawn spawn;
};
static coir_declare(spawner);

coir_body(spawner, f) {
    coir_try(f, &f->spawn, coir_group_spawn, .group = f->group, .spawn = coir_new(member, .name = f->name,
                                                                                  .ns = COIR_MS));
    coir_try(f, &f->spawn, coir_group_spawn, .group = f->group, .spawn = coir_new(member, .name = f->name,
                                                                                  .ns = COIR_MS));
} coir_end

struct fifo {
    coir_frame_void;
    coir_no_args;
    struct coir_group small, spawners;
    struct coir_group_wait wait;
};
static coir_declare(fifo);

coir_body(fifo, f) {
    static const char *const names[] = { "a", "b", "c", "d" };
    forget();
    coir_group_open(f, &f->small, .limit = 1);
    coir_group_open(f, &f->spawners);
    for (int i = 0; i < 4; i++)
        coir_spawn(&f->spawners, coir_new(spawner, .group = &f->small, .name = names[i]));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->spawners);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->small);
    /* a gets the free place and at once asks for a second, before b, c and d have run for the first time; as
     * torture each await is a step, and so they have */
    STR_EQ(traces(), TORTURE ? "abcdabcd" : "aabcdbcd", "spawners take turns, nobody barges");
    EQ(most, 1, "one at a time");
} coir_end

/* A spawner that waits for a place is cancelled: its frame is gone, the others keep their turns. */
struct giving_up {
    coir_frame_void;
    coir_no_args;
    struct coir_group group, others;
    struct coir_scope scope;
    union {
        struct coir_group_spawn spawn;
        struct coir_group_wait wait;
    };
};
static coir_declare(giving_up);

coir_body(giving_up, f) {
    forget();
    coir_group_open(f, &f->group, .limit = 1);
    coir_group_open(f, &f->others);
    coir_spawn(&f->group, coir_new(member, .name = "x", .ns = 50 * COIR_MS));
    coir_spawn(&f->others, coir_new(spawner, .group = &f->group, .name = "y"));
    coir_within(f, &f->scope, coir_now() + 10 * COIR_MS, &f->spawn, coir_group_spawn, .group = &f->group,
                .spawn = coir_new(member, .name = "never", .ns = 1));
    EQ(coir_status(&f->spawn), -ETIMEDOUT, "no place in time");
    coir_try(f, &f->wait, coir_group_wait, .group = &f->others);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    STR_EQ(traces(), "xyy", "the other spawner had its turns");
} coir_end

/* ---- failure and cancellation ---- */

struct failing {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(failing);

coir_body(failing, f) {
    forget();
    coir_group_open(f, &f->group);
    for (int i = 0; i < 5; i++)
        coir_spawn(&f->group, coir_new(member, .ns = 3600 * COIR_S));
    coir_spawn(&f->group, coir_new(member, .ns = COIR_MS, .fails = -EIO));
    coir_spawn(&f->group, coir_new(member, .ns = COIR_MS, .fails = -EBADF));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), -EIO, "the first failure is the group's");
    EQ(ended, 7, "every member passed its finally");
    EQ(cancelled, 5, "the others were cancelled");
} coir_end

struct cancelling {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_sleep sleep;
    struct coir_group_wait wait;
};
static coir_declare(cancelling);

coir_body(cancelling, f) {
    forget();
    coir_group_open(f, &f->group);
    for (int i = 0; i < 3; i++)
        coir_spawn(&f->group, coir_new(member, .ns = 3600 * COIR_S));
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    coir_group_cancel(&f->group);
    coir_group_cancel(&f->group);
    EQ(begun, 3, "three members run");
    EQ(ended, 0, "cancelling runs nobody");
    EQ(coir_spawn(&f->group, coir_new(member, .ns = 3600 * COIR_S)), 0,
       "spawning into a cancelled group succeeds");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), 0, "cancelled members are no failure of a cancelled group");
    EQ(begun, 4, "the late one entered its body");
    EQ(cancelled, 4, "and its await said -ECANCELED");
    coir_try(f, &f->sleep, coir_sleep, .ns = 1);
} coir_end

struct cancelled_fails {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(cancelled_fails);

coir_body(cancelled_fails, f) {
    forget();
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(member, .ns = 0, .fails = -EPIPE));
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), -EPIPE, "what fails by itself in a cancelled group is its failure");
} coir_end

/* The wait itself is cancelled. */
struct waits {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(waits);

coir_body(waits, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(member, .ns = 3600 * COIR_S));
    coir_spawn(&f->group, coir_new(member, .ns = 3600 * COIR_S));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

struct within {
    coir_frame_void;
    coir_no_args;
    struct coir_scope scope;
    struct waits waits;
};
static coir_declare(within);

coir_body(within, f) {
    forget();
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->waits, waits);
    EQ(coir_status(&f->waits), -ETIMEDOUT, "a deadline around a group");
    EQ(f->waits.wait.task.status, -ECANCELED, "the wait inside says -ECANCELED");
    EQ(ended, 2, "both members had ended when it returned");
    EQ(cancelled, 2, "cancelled");
} coir_end

/* Left by failure, through coir_finally. */
struct fails_with_group {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    union {
        struct coir_group_wait wait;
        struct coir_sleep sleep;
    };
};
static coir_declare(fails_with_group);

coir_body(fails_with_group, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(member, .ns = 3600 * COIR_S));
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    coir_fail(f, EPROTO);
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

/* ---- groups in groups ---- */

struct nested {
    coir_frame_void;
    coir_args(int depth; int64_t ns; int fails;);
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(nested);

coir_body(nested, f) {
    coir_group_open(f, &f->group);
    if (f->depth)
        coir_spawn(&f->group, coir_new(nested, .depth = f->depth - 1, .ns = f->ns, .fails = f->fails));
    else
        coir_spawn(&f->group, coir_new(member, .ns = COIR_MS, .fails = f->fails));
    coir_spawn(&f->group, coir_new(member, .ns = f->ns));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

/* A member spawns into its own group while that is waited for. */
struct breeder {
    coir_frame_void;
    coir_args(struct coir_group *group; int n;);
    struct coir_pass pass;
};
static coir_declare(breeder);

coir_body(breeder, f) {
    begun++;
    coir_try(f, &f->pass, coir_pass);
    if (f->n)
        EQ(coir_spawn(f->group, coir_new(breeder, .group = f->group, .n = f->n - 1)), 0,
           "from inside, while it is left");
} coir_end

struct breeding {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(breeding);

coir_body(breeding, f) {
    forget();
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(breeder, .group = &f->group, .n = 3));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(begun, 4, "all of them are waited for");
    coir_group_open(f, &f->group);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_group_open(f, &f->group, .limit = 1);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

/* ---- the root group ---- */

struct detaches {
    coir_frame_void;
    coir_args(int64_t ns; int fails;);
};
static coir_declare(detaches);

coir_body(detaches, f) {
    forget();
    EQ(coir_detach(coir_new(member, .ns = f->ns, .fails = f->fails)), 0, "detached");
    EQ(coir_detach(coir_new(member, .ns = f->ns)), 0, "and another");
    EQ(coir_detach(NULL), -ENOMEM, "a NULL task");
} coir_end

struct shielded {
    coir_frame_void;
    coir_args(int64_t ns;);
    struct coir_scope scope;
    struct coir_sleep sleep;
    int64_t began;
};
static coir_declare(shielded);

static int64_t shield_took;

coir_body(shielded, f) {
    f->began = coir_now();
    coir_shield(f, &f->scope, &f->sleep, coir_sleep, .ns = f->ns);
    shield_took = coir_now() - f->began;
    coir_try(f, &f->sleep, coir_sleep, .ns = 3600 * COIR_S);
} coir_end

struct detaches_shield {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(detaches_shield);

coir_body(detaches_shield, f) {
    forget();
    coir_detach(coir_new(shielded, .ns = 2 * COIR_S));
    coir_detach(coir_new(member, .ns = 3600 * COIR_S));
} coir_end

static void root(void)
{
    const struct coir_options drain = { .drain = true };
    int64_t began;

    EQ(run(coir_new(detaches, .ns = 3600 * COIR_S)), 0, "main ends, detached tasks are left");
    EQ(ended, 2, "they passed their finally");
    EQ(cancelled, 2, "cancelled");
    EQ(coir_run(&drain, coir_new(detaches, .ns = 3600 * COIR_S, .fails = EIO)), 0, "the same, drained");
    EQ(ended, 2, "they ended");
    EQ(cancelled, 0, "by themselves, and one's failure does not cancel the other");
    began = coir_now();
    EQ(run(coir_new(detaches_shield)), 0, "main ends while a shield is open");
    EQ(shield_took, 2 * COIR_S, "stopping waits for the shield");
    EQ(ended, 1, "then everything is cancelled");
    OK(coir_now() - began < 60 * COIR_S, "it takes no longer in real time");
}

/* ---- what stops the program ---- */

struct left_open {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_pass pass;
};
static coir_declare(left_open);

coir_body(left_open, f) {
    coir_group_open(f, &f->group);
    coir_try(f, &f->pass, coir_pass);
} coir_end

static int leaves_open(void)
{
    return run(coir_new(left_open));
}

struct closed {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(closed);

coir_body(closed, f) {
    coir_group_open(f, &f->group);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_spawn(&f->group, coir_new(member));
} coir_end

static int spawns_into_closed(void)
{
    return run(coir_new(closed));
}

/* A server's group: who fails, fails alone. */
struct going_on {
    coir_frame_void;
    coir_no_args;
    int i;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(going_on);

coir_body(going_on, f) {
    forget();
    coir_group_open(f, &f->group, .keep_going = true);
    for (f->i = 0; f->i < 4; f->i++)
        coir_spawn(&f->group, coir_new(member, .ns = (1 + f->i) * COIR_MS, .fails = f->i % 2 ? 0 : EPROTO));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), 0, "a group that keeps going has no failure");
    EQ(ended, 4, "all its members came to their end");
    EQ(cancelled, 0, "none was cancelled");
} coir_end

/* The wait in the body fails, the one in coir_finally finds the group left. */
struct waits_again {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(waits_again);

coir_body(waits_again, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(member, .ns = COIR_MS, .fails = EPROTO));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        EQ(coir_status(&f->wait), -EPROTO, "waiting again says the same");
    }
} coir_end

/* A group for the cleaning up itself is not cancelled by the failure that led there, though the task is. */
struct cleans_up {
    coir_frame_void;
    coir_args(int64_t ns;);
    struct coir_group group, late;
    struct coir_group_wait wait;
};
static coir_declare(cleans_up);

static int64_t cleaned_for;

coir_body(cleans_up, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(member, .ns = 3600 * COIR_S));
    coir_fail(f, EPROTO);
    coir_finally(f) {
        cleaned_for = -coir_now();
        coir_group_open(f, &f->late);
        coir_spawn(&f->late, coir_new(member, .ns = f->ns));
        coir_await(f, &f->wait, coir_group_wait, .group = &f->late);
        cleaned_for += coir_now();
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

struct cleans_within {
    coir_frame_void;
    coir_args(int64_t ns;);
    struct coir_scope scope;
    struct cleans_up cleans;
};
static coir_declare(cleans_within);

coir_body(cleans_within, f) {
    coir_within(f, &f->scope, coir_now() - 1, &f->cleans, cleans_up, .ns = f->ns);
} coir_end

static void cleaning_up(void)
{
    forget();
    EQ(run(coir_new(cleans_up, .ns = 2 * COIR_S)), -EPROTO, "a task fails, and cleans up with a group");
    EQ(cleaned_for, 2 * COIR_S, "its members have the time they need");
    EQ(ended, 2, "and both groups are waited for");
    EQ(cancelled, 1, "only what the body had begun is cancelled");
    EQ(run(coir_new(cleans_within, .ns = 2 * COIR_S)), 0, "the same in a cancelled scope");
    EQ(cleaned_for, 2 * COIR_S, "which does not reach them");
    EQ(run(coir_new(cleans_within, .ns = 3600 * COIR_S)), 0, "for longer than cleaning up may take");
    EQ(cleaned_for, 10 * COIR_S, "it is cancelled after ten seconds");
}

/* Many wait for a place, and are cancelled from the last one on: each leaves its line at once. */
enum { MANY_SPAWNERS = 20000 };

struct many_spawners {
    coir_frame_void;
    coir_no_args;
    int i, gone;
    struct coir_group small;
    struct coir_group *each;
    struct coir_group_wait wait;
    struct coir_pass pass;
};
static coir_declare(many_spawners);

struct one_of_many {
    coir_frame_void;
    coir_args(struct coir_group *small; int *gone;);
    struct coir_group_spawn spawn;
};
static coir_declare(one_of_many);

coir_body(one_of_many, f) {
    coir_await(f, &f->spawn, coir_group_spawn, .group = f->small, .spawn = coir_new(member));
    *f->gone += coir_status(&f->spawn) == -ECANCELED;
} coir_end

coir_body(many_spawners, f) {
    forget();
    coir_group_open(f, &f->small, .limit = 1);
    coir_spawn(&f->small, coir_new(member, .ns = COIR_S));
    f->gone = 0;
    f->each = calloc(MANY_SPAWNERS, sizeof *f->each);
    for (int i = 0; i < MANY_SPAWNERS; i++) {
        coir_group_open(f, &f->each[i]);
        coir_spawn(&f->each[i], coir_new(one_of_many, .small = &f->small, .gone = &f->gone));
    }
    coir_await(f, &f->pass, coir_pass);
    for (int i = MANY_SPAWNERS; i--;)
        coir_group_cancel(&f->each[i]);
    for (f->i = 0; f->i < MANY_SPAWNERS; f->i++)
        coir_await(f, &f->wait, coir_group_wait, .group = &f->each[f->i]);
    EQ(f->gone, MANY_SPAWNERS, "all give up");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->small);
    EQ(begun, 1, "and nobody began");
    free(f->each);
} coir_end

struct waited_twice {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait a, b;
    struct coir_task *kids[2];
    struct coir_combine all;
};
static coir_declare(waited_twice);

coir_body(waited_twice, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(member, .ns = COIR_MS));
    f->kids[0] = coir_make(&f->a, coir_group_wait, .group = &f->group);
    f->kids[1] = coir_make(&f->b, coir_group_wait, .group = &f->group);
    coir_all(f, &f->all, f->kids, 2);
} coir_end

static int waits_twice(void)
{
    return run(coir_new(waited_twice));
}

/* ---- what is given away wrongly ---- */

struct gives_made {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct member kid;
};
static coir_declare(gives_made);

coir_body(gives_made, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_make(&f->kid, member));
} coir_end

static int gives_what_was_made(void)
{
    return run(coir_new(gives_made));
}

static int detaches_what_was_made(void)
{
    static struct member kid;

    return coir_main(coir_make(&kid, member));
}

static struct coir_group *elsewhere;

struct spawns_there {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(spawns_there);

coir_body(spawns_there, f) {
    coir_spawn(elsewhere, coir_new(member));
} coir_end

struct lends_group {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct spawns_there there;
};
static coir_declare(lends_group);

coir_body(lends_group, f) {
    coir_group_open(f, &f->group);
    elsewhere = &f->group;
    coir_await_on(f, 1, &f->there, spawns_there);
} coir_end

static int spawns_into_another_shards(void)
{
    unsetenv("COIR_TIME");
    return coir_run(&((struct coir_options){ .shards = 2 }), coir_new(lends_group));
}

static struct coir_task *handed;

struct spawns_handed {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(spawns_handed);

coir_body(spawns_handed, f) {
    coir_detach(handed);
} coir_end

struct hands_over {
    coir_frame_void;
    coir_no_args;
    struct spawns_handed there;
};
static coir_declare(hands_over);

coir_body(hands_over, f) {
    handed = coir_new(member);
    coir_await_on(f, 1, &f->there, spawns_handed);
} coir_end

static int hands_a_frame_over(void)
{
    unsetenv("COIR_TIME");
    return coir_run(&((struct coir_options){ .shards = 2 }), coir_new(hands_over));
}

int main(void)
{
    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    setenv("COIR_TIME", "virtual", 1);
    EQ(run(coir_new(limited)), 0, "a limit");
    EQ(run(coir_new(fifo)), 0, "spawners in turn");
    EQ(run(coir_new(giving_up)), 0, "a spawner that gives up");
    EQ(run(coir_new(failing)), 0, "the first failure");
    EQ(run(coir_new(cancelling)), 0, "a cancel");
    EQ(run(coir_new(cancelled_fails)), 0, "failing after a cancel");
    EQ(run(coir_new(within)), 0, "a cancelled wait");
    forget();
    EQ(run(coir_new(fails_with_group)), -EPROTO, "a task fails with a group open");
    EQ(cancelled, 1, "leaving it in finally cancels its member");
    forget();
    EQ(run(coir_new(nested, .depth = 20, .ns = 3600 * COIR_S, .fails = EIO)), -EIO,
       "a failure twenty groups down");
    EQ(ended, 22, "ends every member on its way");
    EQ(cancelled, 21, "by cancelling them");
    forget();
    EQ(run(coir_new(nested, .depth = 20, .ns = 2 * COIR_MS)), 0, "twenty groups that end well");
    EQ(ended, 22, "each member ended");
    EQ(run(coir_new(breeding)), 0, "members that spawn");
    root();
    cleaning_up();
    EQ(run(coir_new(many_spawners)), 0, "many that wait for a place");
    STOPS(leaves_open, "left_open ended with an open group of 0 tasks, opened at",
          "a body that ends with an open group");
    STOPS(leaves_open, "test_group.c:", "and the place is named");
    STOPS(spawns_into_closed, "is spawned into a group that is not open here",
          "spawning into a group that was left");
    EQ(run(coir_new(going_on)), 0, "a group that keeps going");
    EQ(run(coir_new(waits_again)), -EPROTO, "a group waited for in the body, then in coir_finally");
    STOPS(gives_what_was_made, "coir_make made it in its maker's memory", "spawning what coir_make made");
    STOPS(detaches_what_was_made, "coir_make made it in its maker's memory", "running what coir_make made");
    STOPS(spawns_into_another_shards, "or is another shard's", "spawning into another shard's group");
    STOPS(hands_a_frame_over, "is spawned on another thread; coir_spawn_on takes", "spawning another shard's frame");
    EQ(coir_detach(coir_new(member)), -EINVAL, "detaching where no shard runs");
    STOPS(waits_twice, "a group is waited for that is not open, or by two tasks", "two waits for one group");
    return DONE();
}
