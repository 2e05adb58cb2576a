/* SPDX-License-Identifier: MIT */
/*
 * What a census says that tasks wait for: one task for each way to wait, by the operation's name; and what it says of
 * those that no longer do, though nobody has resumed them yet.
 */
#include <pthread.h>

#include "runtime/see/census.h"

#include "task/help.h"

static struct coir_census census;

static struct {
    struct coir_channel channel;
    struct coir_xchan *full, *empty;
    struct coir_semaphore semaphore;
    struct coir_mutex mutex, taken;
    struct coir_condition condition;
    struct coir_event event;
    struct coir_once once;
    struct coir_barrier barrier;
    struct coir_cell cell;
    struct coir_cell *counted;
    struct coir_group full_group;
    int fds[2];
    int item;
    char byte;
    pthread_mutex_t busy;               /* held: what is offloaded waits for it */
} with;

static int64_t blocked(void *arg)
{
    pthread_mutex_lock(arg);
    pthread_mutex_unlock(arg);
    return 0;
}

/* A task that awaits one operation. */
#define WAITER(name, op, ...) \
    struct name { \
        coir_frame_void; \
        coir_no_args; \
        struct op op; \
    }; \
    static coir_declare(name); \
    coir_body(name, f) { \
        coir_try(f, &f->op, op, __VA_ARGS__); \
    } coir_end

WAITER(w_sleep, coir_sleep, .ns = 1000 * COIR_S)
WAITER(w_until, coir_sleep_until, .at = coir_now() + 1000 * COIR_S)
WAITER(w_send, coir_channel_send, .channel = &with.channel, .item = &with.item)
WAITER(w_xsend, coir_xchan_send, .channel = with.full, .item = &with.item)
WAITER(w_xrecv, coir_xchan_recv, .channel = with.empty, .item = &with.item)
WAITER(w_acquire, coir_acquire, .semaphore = &with.semaphore, .n = 1)
WAITER(w_event, coir_event_wait, .event = &with.event)
WAITER(w_once, coir_once_begin, .once = &with.once)
WAITER(w_barrier, coir_barrier_wait, .barrier = &with.barrier)
WAITER(w_cell, coir_cell_wait, .cell = &with.cell)
WAITER(w_counted, coir_cell_wait, .cell = with.counted)
WAITER(w_offload, coir_offload, .fn = blocked, .arg = &with.busy)
WAITER(w_read, coir_read, .fd = with.fds[0], .buf = &with.byte, .len = 1)
WAITER(w_poll, coir_poll, .fd = with.fds[0], .events = POLLIN)
WAITER(w_group_spawn, coir_group_spawn, .group = &with.full_group, .spawn = coir_new(w_sleep))
WAITER(w_lock, coir_lock, .mutex = &with.taken)

struct w_condition {
    coir_frame_void;
    coir_no_args;
    struct coir_lock lock;
    struct coir_condition_wait wait;
};
static coir_declare(w_condition);

coir_body(w_condition, f) {
    coir_try(f, &f->lock, coir_lock, .mutex = &with.mutex);
    coir_await(f, &f->wait, coir_condition_wait, .condition = &with.condition, .mutex = &with.mutex);
    coir_unlock(f, &with.mutex);
} coir_end

struct w_select {
    coir_frame_void;
    coir_no_args;
    struct coir_arm arm;
    struct coir_select select;
};
static coir_declare(w_select);

coir_body(w_select, f) {
    coir_arm_until(&f->arm, coir_now() + 1000 * COIR_S);
    coir_try(f, &f->select, coir_select, .arms = &f->arm, .n = 1);
} coir_end

struct w_signal {
    coir_frame_void;
    coir_no_args;
    struct coir_signals *signals;
    struct coir_signal_next next;
};
static coir_declare(w_signal);

coir_body(w_signal, f) {
    f->signals = coir_signals_open(SIGUSR2);
    coir_try(f, &f->next, coir_signal_next, .signals = f->signals);
    coir_finally(f) {
        coir_signals_close(f->signals);
    }
} coir_end

#define COMBINER(name, call) \
    struct name { \
        coir_frame_void; \
        coir_no_args; \
        struct coir_sleep sleep; \
        struct coir_task *kids[1]; \
        struct coir_combine all; \
    }; \
    static coir_declare(name); \
    coir_body(name, f) { \
        f->kids[0] = coir_make(&f->sleep, coir_sleep, .ns = 1000 * COIR_S); \
        call(f, &f->all, f->kids, 1); \
        coir_check(f, &f->all); \
    } coir_end

COMBINER(w_all, coir_all)
COMBINER(w_any, coir_any)
COMBINER(w_race, coir_race)

struct w_away {
    coir_frame_void;
    coir_no_args;
    struct coir_sleep sleep;
};
static coir_declare(w_away);

coir_body(w_away, f) {
    coir_await_on(f, 1, &f->sleep, coir_sleep, .ns = 1000 * COIR_S);
    coir_check(f, &f->sleep);
} coir_end

/* An operation of the library that is a body itself: its name stands for whatever it waits for inside. */
struct w_stop {
    coir_frame_void;
    coir_no_args;
    struct coir_stop_on_signal stop;
};
static coir_declare(w_stop);

coir_body(w_stop, f) {
    coir_try(f, &f->stop, coir_stop_on_signal);
} coir_end

static const struct {
    const char *task, *waits;
} expected[] = {
    { "w_sleep", "coir_sleep" }, { "w_until", "coir_sleep_until" }, { "w_send", "coir_channel_send" },
    { "w_xsend", "coir_xchan_send" }, { "w_xrecv", "coir_xchan_recv" }, { "w_acquire", "coir_acquire" },
    { "w_event", "coir_event_wait" }, { "w_once", "coir_once_begin" }, { "w_barrier", "coir_barrier_wait" },
    { "w_cell", "coir_cell_wait" }, { "w_counted", "coir_cell_wait" }, { "w_offload", "coir_offload" },
    { "w_read", "coir_read" }, { "w_poll", "coir_poll" }, { "w_group_spawn", "coir_group_spawn" },
    { "w_lock", "coir_lock" }, { "w_condition", "coir_condition_wait" }, { "w_select", "coir_select" },
    { "w_signal", "coir_signal_next" }, { "w_all", "coir_all" }, { "w_any", "coir_any" }, { "w_race", "coir_race" },
    { "w_away", "coir_await_on" }, { "w_stop", "coir_stop_on_signal" }, { "program", NULL },
};

static const char *waits_of(const char *task)
{
    for (unsigned i = 0; i < census.rows; i++) {
        if (census.row[i].stands && !strcmp(census.row[i].stands->task, task))
            return census.row[i].waits;
    }
    return "it is not there";
}

static void take(void)
{
    coir_census_clear(&census);
    coir_census_begin(&census, coir_shard_here());
    while (!coir_census_slice(&census))
        ;
}

static void prepare(void)
{
    coir_channel_init(&with.channel, sizeof with.item, 0);
    with.full = coir_xchan_new(sizeof with.item, 1);
    coir_xchan_try_send(with.full, &with.item);
    with.empty = coir_xchan_new(sizeof with.item, 1);
    coir_semaphore_init(&with.semaphore, 0);
    coir_mutex_init(&with.mutex);
    coir_mutex_init(&with.taken);
    coir_condition_init(&with.condition);
    coir_event_init(&with.event);
    coir_once_init(&with.once);
    coir_barrier_init(&with.barrier, 2);
    coir_cell_init(&with.cell);
    with.counted = coir_cell_new();
    coir_pipe(with.fds);
    pthread_mutex_init(&with.busy, NULL);
    pthread_mutex_lock(&with.busy);
}

static void spawn_all(struct coir_group *g)
{
    struct coir_task *const tasks[] = {
        coir_new(w_until), coir_new(w_send), coir_new(w_xsend), coir_new(w_xrecv), coir_new(w_acquire),
        coir_new(w_event), coir_new(w_once), coir_new(w_barrier), coir_new(w_cell), coir_new(w_counted),
        coir_new(w_offload), coir_new(w_read), coir_new(w_poll), coir_new(w_group_spawn), coir_new(w_lock),
        coir_new(w_condition), coir_new(w_select), coir_new(w_signal), coir_new(w_all), coir_new(w_any),
        coir_new(w_race), coir_new(w_away), coir_new(w_stop),
    };

    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        EQ(coir_spawn(g, tasks[i]), 0, "task %zu begins", i);
}

struct program {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_once_begin once;
    struct coir_lock lock, other;
    struct coir_pass pass;
    int i;
};
static coir_declare(program);

coir_body(program, f) {
    prepare();
    coir_group_open(f, &f->group);
    coir_group_open(f, &with.full_group, .limit = 1);
    coir_await(f, &f->once, coir_once_begin, .once = &with.once);
    coir_await(f, &f->lock, coir_lock, .mutex = &with.taken);
    coir_spawn(&with.full_group, coir_new(w_sleep));
    spawn_all(&f->group);
    for (f->i = 0; f->i < 1000; f->i++)
        coir_await(f, &f->pass, coir_pass);

    take();
    for (f->i = 0; f->i < (int)(sizeof expected / sizeof *expected); f->i++)
        STR_EQ(waits_of(expected[f->i].task), expected[f->i].waits, "%s", expected[f->i].task);

    /* Told of its condition, it waits for the mutex; and who has been served waits no more. */
    coir_await(f, &f->other, coir_lock, .mutex = &with.mutex);
    coir_condition_signal(&with.condition);
    coir_event_set(&with.event);
    coir_release(&with.semaphore, 1);
    take();
    STR_EQ(waits_of("w_condition"), "coir_condition_wait", "who was told of a condition, and has not its mutex");
    STR_EQ(waits_of("w_event"), NULL, "whose event has been set is ready");
    STR_EQ(waits_of("w_acquire"), NULL, "who has got his permit is ready");
    coir_finally(f) {
        coir_unlock(f, &with.mutex);
        coir_once_done(f, &with.once, 0);
        coir_cell_complete(&with.cell, 0, 0);
        pthread_mutex_unlock(&with.busy);
        coir_group_cancel(&f->group);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        coir_unlock(f, &with.taken);
        coir_group_cancel(&with.full_group);
        coir_await(f, &f->wait, coir_group_wait, .group = &with.full_group);
        close(with.fds[0]);
        close(with.fds[1]);
        coir_xchan_free(with.full);
        coir_xchan_free(with.empty);
        coir_cell_drop(with.counted);
        coir_cell_drop(with.counted);
    }
} coir_end

int main(void)
{
    EQ(coir_run(&(struct coir_options){ .shards = 2 }, coir_new(program)), 0, "the program ends well");
    return DONE();
}
