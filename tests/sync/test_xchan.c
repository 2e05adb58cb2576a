/* SPDX-License-Identifier: MIT */
/*
 * Channels between shards. What depends on who comes first is driven step by step on one shard, where a thread
 * that is started and joined within one step plays the other side: its letters are under way until the step
 * ends. What depends on real threads is counted: everything sent is received once, or left. Runs under
 * ThreadSanitizer too.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "runtime/base/assert.h"
#include "sync_test.h"

enum { SCALE = COIR_TSAN || COIR_ASAN ? 10 : 1 };

/* ---- plain calls, on a thread that is no shard ---- */

static int push(struct coir_xchan *x, long item)
{
    return coir_xchan_try_send(x, &item);
}

/* The item, or the error. */
static long pop(struct coir_xchan *x)
{
    long item = -1;
    const int err = coir_xchan_try_recv(x, &item);

    return err ? err : item;
}

static void test_plain(void)
{
    struct coir_xchan *x;
    long item = 1;

    errno = 0;
    OK(!coir_xchan_new(8, 0) && errno == EINVAL, "no channel of capacity 0");
    OK(!coir_xchan_new(SIZE_MAX / 4, 8) && errno == EINVAL, "none of more than there can be");
    EQ(coir_xchan_try_send(NULL, &item), -EFAULT, "try_send to NULL");
    EQ(coir_xchan_try_recv(NULL, &item), -EFAULT, "try_recv from NULL");
    x = coir_xchan_new(sizeof item, 2);
    OK(x != NULL, "a channel of two");
    EQ(coir_xchan_capacity(x), 2, "of two");
    EQ(coir_xchan_try_send(x, NULL), -EFAULT, "try_send of NULL");
    EQ(coir_xchan_try_recv(x, NULL), -EFAULT, "try_recv into NULL");
    EQ(pop(x), -EAGAIN, "nothing is in it");
    EQ(push(x, 1), 0, "one");
    EQ(push(x, 2), 0, "two");
    EQ(push(x, 3), -EAGAIN, "no third");
    EQ(coir_xchan_queued(x), 2, "two are queued");
    EQ(pop(x), 1, "the first comes first");
    EQ(push(x, 4), 0, "its place is free");
    coir_xchan_close(x);
    coir_xchan_close(x);
    EQ(push(x, 5), -EPIPE, "nothing goes into a closed one");
    EQ(pop(x), 2, "what was there");
    EQ(coir_xchan_queued(x), 1, "one is left");
    EQ(pop(x), 4, "comes out");
    EQ(pop(x), -EPIPE, "then it is drained");
    coir_xchan_free(x);
    coir_xchan_free(NULL);
}

/* Each capacity holds exactly so many, lap after lap. */
static void test_laps(void)
{
    for (size_t capacity = 1; capacity <= 9; capacity++) {
        struct coir_xchan *x = coir_xchan_new(sizeof(long), capacity);
        long in = 0, out = 0, wrong = 0;

        for (int lap = 0; lap < 50; lap++) {
            while (push(x, in) == 0)
                in++;
            wrong += coir_xchan_queued(x) != capacity || in - out != (long)capacity;
            for (int i = 0; i <= lap % (int)capacity; i++)
                wrong += pop(x) != out++;
            wrong += coir_xchan_queued(x) != (size_t)(in - out);
        }
        EQ(wrong, 0, "50 laps of a channel of %zu", capacity);
        coir_xchan_free(x);
    }
}

static void test_sizes(void)
{
    static const size_t sizes[] = { 0, 1, 3, 4, 8, 12, 16, 40 };
    unsigned char in[40], out[40];

    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        struct coir_xchan *x = coir_xchan_new(sizes[n], 3);
        for (int round = 0; round < 5; round++) {
            memset(in, 16 * (int)n + round, sizeof in);
            memset(out, 0, sizeof out);
            OK(coir_xchan_try_send(x, in) == 0 && coir_xchan_try_recv(x, out) == 0, "%zu bytes, round %d", sizes[n],
               round);
            OK(memcmp(in, out, sizes[n]) == 0, "all of them");
            OK(sizes[n] == sizeof out || out[sizes[n]] == 0, "and no more");
        }
        coir_xchan_free(x);
    }
}

/* ---- one operation each, in a scope of its own ---- */

struct outcome {
    struct coir_scope *scope;           /* cancelling it cancels the operation, while `ended` is false */
    int status;
    bool got, ended;
    long item;
};

struct sender {
    coir_frame_void;
    coir_args(struct coir_xchan *channel; long item; struct outcome *out;);
    struct coir_scope scope;
    struct coir_xchan_send send;
};
static coir_declare(sender);

coir_body(sender, f) {
    f->out->scope = &f->scope;
    coir_within(f, &f->scope, COIR_NEVER, &f->send, coir_xchan_send, .channel = f->channel, .item = &f->item);
    f->out->status = coir_status(&f->send);
    f->out->ended = true;
} coir_end

struct receiver {
    coir_frame_void;
    coir_args(struct coir_xchan *channel; struct outcome *out;);
    struct coir_scope scope;
    struct coir_xchan_recv recv;
};
static coir_declare(receiver);

coir_body(receiver, f) {
    f->out->scope = &f->scope;
    coir_within(f, &f->scope, COIR_NEVER, &f->recv, coir_xchan_recv, .channel = f->channel, .item = &f->out->item);
    f->out->status = coir_status(&f->recv);
    f->out->got = f->recv.result;
    f->out->ended = true;
} coir_end

static void spawn_sender(struct coir_group *g, struct coir_xchan *x, long item, struct outcome *out)
{
    *out = (struct outcome){ .status = 1 };
    OK(coir_spawn(g, coir_new(sender, .channel = x, .item = item, .out = out)) == 0, "a sender of %ld", item);
}

static void spawn_receiver(struct coir_group *g, struct coir_xchan *x, struct outcome *out)
{
    *out = (struct outcome){ .status = 1, .item = -1 };
    OK(coir_spawn(g, coir_new(receiver, .channel = x, .out = out)) == 0, "a receiver");
}

static void sent(const struct outcome *o, const char *what)
{
    OK(o->ended && o->status == 0, "%s: sent (status %d)", what, o->status);
}

static void received(const struct outcome *o, long item, const char *what)
{
    OK(o->ended && o->status == 0 && o->got, "%s: received (status %d)", what, o->status);
    EQ(o->item, item, "%s: %ld", what, item);
}

static void failed(const struct outcome *o, int status, const char *what)
{
    OK(o->ended && !o->got, "%s: ended with nothing", what);
    EQ(o->status, status, "%s: with %d", what, status);
}

/* ---- a thread within a step ---- */

struct errand {
    struct coir_xchan *x;
    long (*run)(struct coir_xchan *x);
    long result;
};

static void *run_errand(void *arg)
{
    struct errand *e = arg;

    e->result = e->run(e->x);
    return NULL;
}

static long elsewhere(struct coir_xchan *x, long (*run)(struct coir_xchan *x))
{
    struct errand e = { x, run, -1 };
    pthread_t thread;

    pthread_create(&thread, NULL, run_errand, &e);
    pthread_join(thread, NULL);
    return e.result;
}

static long push_20(struct coir_xchan *x)
{
    return push(x, 20);
}

static long push_21(struct coir_xchan *x)
{
    return push(x, 21);
}

static long close_it(struct coir_xchan *x)
{
    coir_xchan_close(x);
    return 0;
}

static long pop_and_free(struct coir_xchan *x)
{
    const long item = pop(x);

    coir_xchan_free(x);
    return item;
}

/* ---- steps ---- */

struct driver {
    coir_frame_void;
    coir_args(void (*first)(struct driver *); void (*then)(struct driver *); void (*after)(struct driver *);
              size_t capacity;);
    struct coir_xchan *x;               /* `then` may free it, and says so by NULL */
    struct coir_group group;
    struct outcome o[4];
    struct rest rest;
    struct coir_sleep sleep;
    struct coir_group_wait wait;
};
static coir_declare(driver);

coir_body(driver, f) {
    f->x = coir_xchan_new(sizeof(long), f->capacity);
    coir_group_open(f, &f->group);
    f->first(f);
    coir_await(f, &f->rest, rest);
    f->then(f);
    coir_await(f, &f->sleep, coir_sleep, .ns = 1);        /* letters come with the next turn of the loop */
    coir_await(f, &f->rest, rest);
    f->after(f);
    if (f->x)
        coir_xchan_close(f->x);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), 0, "nobody failed");
    coir_xchan_free(f->x);
} coir_end

static void drive(const char *name, size_t capacity, void (*first)(struct driver *), void (*then)(struct driver *),
                  void (*after)(struct driver *))
{
    NOTE("%s", name);
    run_one(name, coir_new(driver, .first = first, .then = then, .after = after, .capacity = capacity));
}

static void three_receivers(struct driver *f)
{
    for (int i = 0; i < 3; i++)
        spawn_receiver(&f->group, f->x, &f->o[i]);
}

/* One that has a place, and two that wait for one. */
static void three_senders(struct driver *f)
{
    for (int i = 0; i < 3; i++)
        spawn_sender(&f->group, f->x, 10 + i, &f->o[i]);
}

static void here_then_cancel(struct driver *f)
{
    EQ(push(f->x, 20), 0, "an item for the first");
    EQ(coir_xchan_queued(f->x), 0, "is handed to it");
    coir_group_cancel(&f->group);
}

static void there_then_cancel(struct driver *f)
{
    EQ(elsewhere(f->x, push_20), 0, "another thread sends an item to the first");
    EQ(coir_xchan_queued(f->x), 0, "it is handed to it");
    coir_group_cancel(&f->group);
    OK(!f->o[0].ended, "the letter is under way");
}

static void the_first_got_it(struct driver *f)
{
    received(&f->o[0], 20, "handed over, then cancelled");
    failed(&f->o[1], -ECANCELED, "cancelled");
    failed(&f->o[2], -ECANCELED, "cancelled");
    EQ(f->o[1].item, -1, "its memory is untouched");
}

static void cancel_middle_then_send(struct driver *f)
{
    coir_scope_cancel(f->o[1].scope);
    EQ(elsewhere(f->x, push_20), 0, "to the first");
    EQ(elsewhere(f->x, push_21), 0, "to the third");
    EQ(push(f->x, 22), 0, "into the buffer");
    EQ(coir_xchan_queued(f->x), 1, "where it lies");
}

static void first_and_third(struct driver *f)
{
    received(&f->o[0], 20, "the first");
    failed(&f->o[1], -ECANCELED, "the second");
    received(&f->o[2], 21, "the third");
    EQ(pop(f->x), 22, "what lay there");
}

static void take_then_cancel(struct driver *f)
{
    OK(f->o[0].ended && !f->o[1].ended, "one is in, two wait");
    EQ(elsewhere(f->x, pop), 10, "another thread takes one");
    EQ(coir_xchan_queued(f->x), 1, "the next took its place");
    EQ(push(f->x, 99), -EAGAIN, "so nobody barges in");
    coir_group_cancel(&f->group);
}

static void two_were_sent(struct driver *f)
{
    sent(&f->o[0], "the first");
    sent(&f->o[1], "the second, cancelled with its letter under way");
    failed(&f->o[2], -ECANCELED, "the third");
    EQ(pop(f->x), 11, "the second's item");
    EQ(pop(f->x), -EAGAIN, "and no other");
}

static void cancel_then_take(struct driver *f)
{
    coir_scope_cancel(f->o[1].scope);
    EQ(pop(f->x), 10, "the first's item");
    EQ(pop(f->x), 12, "the third's, who took the place");
}

static void first_and_third_sent(struct driver *f)
{
    sent(&f->o[0], "the first");
    failed(&f->o[1], -ECANCELED, "the second");
    sent(&f->o[2], "the third");
}

static void close_there_then_cancel(struct driver *f)
{
    elsewhere(f->x, close_it);
    coir_group_cancel(&f->group);
}

static void all_told(struct driver *f)
{
    for (int i = 0; i < 3; i++)
        failed(&f->o[i], 0, "a receiver told of the end, then cancelled");
}

static void two_pipe(struct driver *f)
{
    sent(&f->o[0], "the first had a place");
    failed(&f->o[1], -EPIPE, "the second had none");
    failed(&f->o[2], -EPIPE, "nor had the third");
    EQ(pop(f->x), 10, "what was there");
    EQ(pop(f->x), -EPIPE, "and nothing else");
}

static void one_waits(struct driver *f)
{
    spawn_sender(&f->group, f->x, 10, &f->o[0]);
    spawn_sender(&f->group, f->x, 11, &f->o[1]);
}

/* The waiting sender's item is the last: who gets it frees the channel, before the sender is home. */
static void taken_and_freed_then_cancel(struct driver *f)
{
    EQ(elsewhere(f->x, pop), 10, "another thread takes the first's item");
    EQ(elsewhere(f->x, pop_and_free), 11, "and one takes the last, and frees the channel");
    f->x = NULL;
    coir_group_cancel(&f->group);
}

static void both_were_sent(struct driver *f)
{
    sent(&f->o[0], "the first");
    sent(&f->o[1], "the second");
}

static void nothing(struct driver *f)
{
    (void)f;
}

static void spawn_into_cancelled(struct driver *f)
{
    EQ(push(f->x, 20), 0, "one item lies there");
    coir_group_cancel(&f->group);
    spawn_receiver(&f->group, f->x, &f->o[0]);
    spawn_receiver(&f->group, f->x, &f->o[1]);
    spawn_sender(&f->group, f->x, 10, &f->o[2]);
    spawn_sender(&f->group, f->x, 11, &f->o[3]);
}

static void what_need_not_wait(struct driver *f)
{
    received(&f->o[0], 20, "in a cancelled group what is there");
    failed(&f->o[1], -ECANCELED, "what is not is not waited for");
    sent(&f->o[2], "a free place is used");
    failed(&f->o[3], -ECANCELED, "none is waited for");
    EQ(pop(f->x), 10, "the item");
}

static void test_steps(void)
{
    drive("hand over, cancel", 2, three_receivers, here_then_cancel, the_first_got_it);
    drive("hand over from elsewhere, cancel", 2, three_receivers, there_then_cancel, the_first_got_it);
    drive("cancel in the middle, hand over", 2, three_receivers, cancel_middle_then_send, first_and_third);
    drive("take from elsewhere, cancel", 1, three_senders, take_then_cancel, two_were_sent);
    drive("cancel in the middle, take", 1, three_senders, cancel_then_take, first_and_third_sent);
    drive("close from elsewhere on receivers, cancel", 2, three_receivers, close_there_then_cancel, all_told);
    drive("close from elsewhere on senders, cancel", 1, three_senders, close_there_then_cancel, two_pipe);
    drive("take, free, cancel", 1, one_waits, taken_and_freed_then_cancel, both_were_sent);
    drive("in a cancelled group", 1, nothing, spawn_into_cancelled, what_need_not_wait);
}

/* ---- arguments, deadlines, combinators, the dump ---- */

struct odds {
    coir_frame_void;
    coir_no_args;
    struct coir_xchan *x;
    long item;
    struct coir_group group;
    struct outcome out;
    struct coir_task *kids[2];
    char text[4096];
    int64_t began;
    struct coir_scope scope;
    struct coir_sleep sleep;
    struct coir_combine race;
    struct rest rest;
    struct coir_xchan_send send;
    struct coir_xchan_recv recv;
    struct coir_group_wait wait;
};
static coir_declare(odds);

static __attribute__((noinline)) void *on_the_stack(void)
{
    return (char *)__builtin_frame_address(0) - 64;
}

static void dump_into(char *text, size_t size)
{
    FILE *to = fmemopen(text, size, "w");

    coir_dump(to);
    fclose(to);
}

coir_body(odds, f) {
    f->x = coir_xchan_new(sizeof f->item, 16);
    f->item = 5;
    coir_await(f, &f->send, coir_xchan_send, .channel = NULL, .item = &f->item);
    EQ(coir_status(&f->send), -EFAULT, "send to NULL");
    coir_await(f, &f->send, coir_xchan_send, .channel = f->x, .item = NULL);
    EQ(coir_status(&f->send), -EFAULT, "send of NULL");
    coir_await(f, &f->send, coir_xchan_send, .channel = f->x, .item = on_the_stack());
    EQ(coir_status(&f->send), -EFAULT, "send from the C stack");
    coir_await(f, &f->recv, coir_xchan_recv, .channel = NULL, .item = &f->item);
    EQ(coir_status(&f->recv), -EFAULT, "receive from NULL");
    coir_await(f, &f->recv, coir_xchan_recv, .channel = f->x, .item = NULL);
    EQ(coir_status(&f->recv), -EFAULT, "receive into NULL");
    coir_await(f, &f->recv, coir_xchan_recv, .channel = f->x, .item = on_the_stack());
    EQ(coir_status(&f->recv), -EFAULT, "receive into the C stack");
    EQ(coir_xchan_queued(f->x), 0, "nothing went in");

    f->began = coir_now();
    coir_within(f, &f->scope, f->began + COIR_S, &f->recv, coir_xchan_recv, .channel = f->x, .item = &f->item);
    EQ(coir_status(&f->recv), -ETIMEDOUT, "a receive with a deadline");
    EQ(coir_now() - f->began, COIR_S, "which is when it ends");
    f->kids[0] = coir_make(&f->recv, coir_xchan_recv, .channel = f->x, .item = &f->item);
    f->kids[1] = coir_make(&f->sleep, coir_sleep, .ns = COIR_S);
    coir_race(f, &f->race, f->kids, 2);
    EQ(f->race.result, 1, "a race that the receive loses");
    EQ(coir_status(&f->recv), -ECANCELED, "it was cancelled");
    EQ(push(f->x, 6), 0, "and is not in line any more");
    EQ(coir_xchan_queued(f->x), 1, "so what comes lies there");
    f->kids[0] = coir_make(&f->recv, coir_xchan_recv, .channel = f->x, .item = &f->item);
    f->kids[1] = coir_make(&f->sleep, coir_sleep, .ns = COIR_S);
    coir_race(f, &f->race, f->kids, 2);
    EQ(f->race.result, 0, "a race that it wins");
    EQ(f->item, 6, "with the item");

    coir_group_open(f, &f->group);
    spawn_receiver(&f->group, f->x, &f->out);
    coir_await(f, &f->rest, rest);
    dump_into(f->text, sizeof f->text);
    OK(strstr(f->text, "waits to receive from a channel between shards (0 of 16 queued)"), "the dump");
    coir_await(f, &f->send, coir_xchan_send, .channel = f->x, .item = &f->item);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    received(&f->out, 6, "from a task of the same shard");
    coir_finally(f) {
        coir_await(f, &f->send, coir_xchan_send, .channel = f->x, .item = &f->item);
        EQ(coir_status(&f->send), 0, "a send in coir_finally");
        coir_xchan_free(f->x);
    }
} coir_end

/* ---- shards: sums ---- */

enum { SHARDS = 4 };

struct work {
    struct coir_xchan *x;
    long each;
    long sum, count, wrong;             /* atomic */
    int senders;                        /* atomic: the last closes */
};

static void add(long *to, long what)
{
    __atomic_add_fetch(to, what, __ATOMIC_RELAXED);
}

struct producer {
    coir_frame_void;
    coir_args(struct work *work; long from;);
    long item;
    struct coir_xchan_send send;
};
static coir_declare(producer);

coir_body(producer, f) {
    for (f->item = f->from; f->item < f->from + f->work->each; f->item++)
        coir_try(f, &f->send, coir_xchan_send, .channel = f->work->x, .item = &f->item);
    coir_finally(f) {
        if (__atomic_sub_fetch(&f->work->senders, 1, __ATOMIC_ACQ_REL) == 0)
            coir_xchan_close(f->work->x);
    }
} coir_end

struct consumer {
    coir_frame_void;
    coir_args(struct work *work;);
    long item, sum, count, last[SHARDS * 3];
    bool more;
    struct coir_xchan_recv recv;
};
static coir_declare(consumer);

coir_body(consumer, f) {
    f->sum = f->count = 0;
    memset(f->last, 0xff, sizeof f->last);
    for (;;) {
        coir_get(f, f->more, &f->recv, coir_xchan_recv, .channel = f->work->x, .item = &f->item);
        if (!f->more)
            break;
        f->sum += f->item;
        f->count++;
        if (f->item <= f->last[f->item / f->work->each])
            add(&f->work->wrong, 1);
        f->last[f->item / f->work->each] = f->item;
    }
    add(&f->work->sum, f->sum);
    add(&f->work->count, f->count);
} coir_end

struct shard_work {
    coir_frame_void;
    coir_args(struct work *work; long producers; long consumers;);
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(shard_work);

coir_body(shard_work, f) {
    coir_group_open(f, &f->group);
    for (long i = 0; i < f->consumers; i++)
        coir_spawn(&f->group, coir_new(consumer, .work = f->work));
    for (long i = 0; i < f->producers; i++)
        coir_spawn(&f->group, coir_new(producer, .work = f->work,
                                       .from = (coir_shard_id() * f->producers + i) * f->work->each));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

struct on {
    coir_frame_void;
    coir_args(unsigned shard; struct work *work; long producers; long consumers;);
    struct shard_work there;
};
static coir_declare(on);

coir_body(on, f) {
    coir_await_on(f, f->shard, &f->there, shard_work, .work = f->work, .producers = f->producers,
                  .consumers = f->consumers);
    coir_check(f, &f->there);
} coir_end

struct all_shards {
    coir_frame_void;
    coir_args(struct work *work; long producers; long consumers;);
    struct coir_task *kids[SHARDS];
    struct on on[SHARDS];
    struct coir_combine all;
};
static coir_declare(all_shards);

coir_body(all_shards, f) {
    for (unsigned i = 0; i < SHARDS; i++)
        f->kids[i] = coir_make(&f->on[i], on, .shard = i, .work = f->work, .producers = f->producers,
                               .consumers = f->consumers);
    coir_all(f, &f->all, f->kids, SHARDS);
    coir_check(f, &f->all);
} coir_end

static void test_sums(size_t capacity, long producers, long consumers, long total)
{
    const struct coir_options o = { .shards = SHARDS };
    struct work w = { .each = total / SCALE / (SHARDS * producers) };
    const long n = w.each * SHARDS * producers;

    w.senders = (int)(SHARDS * producers);
    w.x = coir_xchan_new(sizeof(long), capacity);
    EQ(coir_run(&o, coir_new(all_shards, .work = &w, .producers = producers, .consumers = consumers)), 0,
       "four shards, %ld producers and %ld consumers each, a channel of %zu", producers, consumers, capacity);
    EQ(w.count, n, "each item came");
    EQ(w.sum, n * (n - 1) / 2, "once");
    EQ(w.wrong, 0, "those of a sender in order, at each receiver");
    coir_xchan_free(w.x);
}

/* ---- who got the last item frees the channel, while its sender is on its way out ---- */

enum { FEW = 5 };

struct sends_few {
    coir_frame_void;
    coir_args(struct coir_xchan *x;);
    long item;
    struct coir_xchan_send send;
};
static coir_declare(sends_few);

coir_body(sends_few, f) {
    for (f->item = 0; f->item < FEW; f->item++)
        coir_try(f, &f->send, coir_xchan_send, .channel = f->x, .item = &f->item);
} coir_end

struct frees {
    coir_frame_void;
    coir_args(size_t capacity; long rounds;);
    struct coir_xchan *x;
    long round, i, item, wrong;
    struct coir_xchan_recv recv;
};
static coir_declare(frees);

coir_body(frees, f) {
    f->wrong = 0;
    for (f->round = 0; f->round < f->rounds; f->round++) {
        f->x = coir_xchan_new(sizeof f->item, f->capacity);
        coir_spawn_on(1, coir_new(sends_few, .x = f->x));
        for (f->i = 0; f->i < FEW; f->i++) {
            coir_await(f, &f->recv, coir_xchan_recv, .channel = f->x, .item = &f->item);
            f->wrong += coir_status(&f->recv) != 0 || f->item != f->i;
        }
        coir_xchan_free(f->x);
    }
    EQ(f->wrong, 0, "%ld channels of %zu, freed by who got the last item", f->rounds, f->capacity);
} coir_end

static void test_frees(size_t capacity)
{
    const struct coir_options o = { .shards = 2, .drain = true };

    EQ(coir_run(&o, coir_new(frees, .capacity = capacity, .rounds = 2000 / SCALE)), 0, "a run that frees at once");
}

/* ---- foreign threads on both ends ---- */

static void *foreign_producer(void *arg)
{
    struct work *w = arg;

    for (long i = 0; i < w->each; i++) {
        while (coir_xchan_try_send(w->x, &i) == -EAGAIN)
            sched_yield();
    }
    if (__atomic_sub_fetch(&w->senders, 1, __ATOMIC_ACQ_REL) == 0)
        coir_xchan_close(w->x);
    return NULL;
}

static void *foreign_consumer(void *arg)
{
    struct work *w = arg;
    long item, sum = 0, count = 0;

    for (;;) {
        const int err = coir_xchan_try_recv(w->x, &item);
        if (err == -EPIPE)
            break;
        if (err) {
            sched_yield();
            continue;
        }
        sum += item;
        count++;
    }
    add(&w->sum, sum);
    add(&w->count, count);
    return NULL;
}

static void test_foreign(size_t capacity)
{
    const struct coir_options o = { .shards = 2 };
    struct work w = { .each = 40000 / SCALE, .senders = 4 };
    const long n = w.each;
    pthread_t threads[4];

    w.x = coir_xchan_new(sizeof(long), capacity);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, i % 2 ? foreign_consumer : foreign_producer, &w);
    EQ(coir_run(&o, coir_new(shard_work, .work = &w, .producers = 2, .consumers = 2)), 0,
       "two foreign producers and consumers beside a shard's, a channel of %zu", capacity);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    EQ(w.count, 4 * n, "each item came");
    EQ(w.sum, 2 * (n * (n - 1) / 2) + 2 * n * (2 * n - 1) / 2, "once");
    coir_xchan_free(w.x);
}

/* ---- the cancel storm: everything sent is received, or left ---- */

struct storm {
    struct coir_xchan *x;
    uint64_t seed;
    long rounds;
    long sent, sent_sum, got, got_sum, cancelled, wrong;      /* atomic */
};

struct storm_task {
    coir_frame_void;
    coir_args(struct storm *storm; long number;);
    uint64_t random;
    long i, item, sent, sent_sum, got, got_sum, cancelled, wrong;
    struct coir_scope scope;
    struct coir_pass pass;
    struct coir_sleep sleep;
    union {
        struct coir_xchan_send send;
        struct coir_xchan_recv recv;
    };
};
static coir_declare(storm_task);

/* A deadline that is near, up to 32 us, most often much less: soon enough to pass while the other side is
 * about to serve. */
static int64_t soon(struct storm_task *f)
{
    return coir_now() + (int64_t)(draw(&f->random) % (UINT64_C(1) << draw(&f->random) % 16));
}

coir_body(storm_task, f) {
    f->random = (f->storm->seed + (uint64_t)f->number * 7919) | 1;
    f->sent = f->sent_sum = f->got = f->got_sum = f->cancelled = f->wrong = 0;
    for (f->i = 0; f->i < f->storm->rounds; f->i++) {
        f->item = f->number * 1000000 + f->i;
        if (f->number % 2) {
            coir_within(f, &f->scope, soon(f), &f->send, coir_xchan_send, .channel = f->storm->x, .item = &f->item);
            if (coir_status(&f->send) == 0) {
                f->sent++;
                f->sent_sum += f->item;
            } else {
                f->cancelled++;
                f->wrong += coir_status(&f->send) != -ETIMEDOUT;
            }
        } else {
            coir_within(f, &f->scope, soon(f), &f->recv, coir_xchan_recv, .channel = f->storm->x, .item = &f->item);
            if (coir_status(&f->recv) == 0) {
                f->got++;
                f->got_sum += f->item;
            } else {
                f->cancelled++;
                f->wrong += coir_status(&f->recv) != -ETIMEDOUT || f->item != f->number * 1000000 + f->i;
            }
        }
        if (draw(&f->random) % 4 == 0)
            coir_try(f, &f->pass, coir_pass);
        else if (draw(&f->random) % 8 == 0)
            coir_try(f, &f->sleep, coir_sleep, .ns = (int64_t)(draw(&f->random) % 30000));
    }
    add(&f->storm->sent, f->sent);
    add(&f->storm->sent_sum, f->sent_sum);
    add(&f->storm->got, f->got);
    add(&f->storm->got_sum, f->got_sum);
    add(&f->storm->cancelled, f->cancelled);
    add(&f->storm->wrong, f->wrong);
} coir_end

enum { STORMERS = 6 };

struct storm_shard {
    coir_frame_void;
    coir_args(struct storm *storm;);
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(storm_shard);

coir_body(storm_shard, f) {
    coir_group_open(f, &f->group);
    for (long i = 0; i < STORMERS; i++)
        coir_spawn(&f->group, coir_new(storm_task, .storm = f->storm, .number = coir_shard_id() * STORMERS + i));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

/* Shard 0 begins the other shards' part in their root groups: the run drains them. */
struct storm_main {
    coir_frame_void;
    coir_args(struct storm *storm;);
    struct storm_shard here;
};
static coir_declare(storm_main);

coir_body(storm_main, f) {
    for (unsigned i = 1; i < SHARDS; i++)
        coir_spawn_on(i, coir_new(storm_shard, .storm = f->storm));
    coir_try(f, &f->here, storm_shard, .storm = f->storm);
} coir_end

static void test_storm(size_t capacity, uint64_t start)
{
    const struct coir_options o = { .shards = SHARDS, .drain = true };
    struct storm s = { .seed = start, .rounds = 3000 / SCALE };
    long left = 0, left_sum = 0, item;

    s.x = coir_xchan_new(sizeof(long), capacity);
    EQ(coir_run(&o, coir_new(storm_main, .storm = &s)), 0, "a storm of deadlines on a channel of %zu", capacity);
    for (; coir_xchan_try_recv(s.x, &item) == 0; left++)
        left_sum += item;
    NOTE("%ld sent, %ld received, %ld left, %ld cancelled", s.sent, s.got, left, s.cancelled);
    EQ(s.sent, s.got + left, "what was sent was received, or is left");
    EQ(s.sent_sum, s.got_sum + left_sum, "and is the same");
    EQ(s.wrong, 0, "who was cancelled timed out, its memory untouched");
    OK(s.cancelled > 0, "some were cancelled");
    coir_xchan_free(s.x);
}

/* ---- shutdown, silence, what it costs ---- */

struct left_waiting {
    coir_frame_void;
    coir_args(struct coir_xchan *x; int *cancelled;);
    long item;
    struct coir_xchan_recv recv;
};
static coir_declare(left_waiting);

coir_body(left_waiting, f) {
    coir_await(f, &f->recv, coir_xchan_recv, .channel = f->x, .item = &f->item);
    if (coir_status(&f->recv) == -ECANCELED)
        __atomic_add_fetch(f->cancelled, 1, __ATOMIC_RELAXED);
} coir_end

struct leaves_them {
    coir_frame_void;
    coir_args(struct coir_xchan *x; int *cancelled;);
    struct coir_sleep sleep;
};
static coir_declare(leaves_them);

coir_body(leaves_them, f) {
    for (unsigned i = 0; i < 40; i++)
        coir_spawn_on(i % SHARDS, coir_new(left_waiting, .x = f->x, .cancelled = f->cancelled));
    coir_try(f, &f->sleep, coir_sleep, .ns = 5 * COIR_MS);
} coir_end

static void test_shutdown(void)
{
    const struct coir_options o = { .shards = SHARDS };
    struct coir_xchan *x = coir_xchan_new(sizeof(long), 1);
    int cancelled = 0;

    EQ(coir_run(&o, coir_new(leaves_them, .x = x, .cancelled = &cancelled)), 0, "a run ends with 40 tasks in line");
    EQ(cancelled, 40, "they are cancelled");
    EQ(push(x, 1), 0, "the channel is as it was");
    EQ(pop(x), 1, "and can be used");
    coir_xchan_free(x);
}

struct patient {
    coir_frame_void;
    coir_args(struct coir_xchan *x;);
    long item;
    struct coir_xchan_recv recv;
};
static coir_declare(patient);

coir_body(patient, f) {
    coir_try(f, &f->recv, coir_xchan_recv, .channel = f->x, .item = &f->item);
    EQ(f->item, 77, "what the thread sent");
} coir_end

static void *sends_late(void *arg)
{
    const struct timespec pause = { 0, 50000000 };

    nanosleep(&pause, NULL);
    push(arg, 77);
    return NULL;
}

static void test_silence(void)
{
    struct coir_xchan *x = coir_xchan_new(sizeof(long), 1);
    pthread_t thread;

    pthread_create(&thread, NULL, sends_late, x);
    EQ(coir_run(NULL, coir_new(patient, .x = x)), 0, "waiting for another thread is no deadlock");
    pthread_join(thread, NULL);
    coir_xchan_free(x);
}

struct cost {
    coir_frame_void;
    coir_no_args;
    struct coir_xchan *x;
    struct coir_stats before, now;
    long i, item;
    struct coir_xchan_send send;
    struct coir_xchan_recv recv;
};
static coir_declare(cost);

static long push_thousand(struct coir_xchan *x)
{
    long sum = 0;

    for (long i = 0; i < 1000; i++)
        sum += push(x, i) == 0;
    return sum;
}

coir_body(cost, f) {
    f->x = coir_xchan_new(sizeof f->item, 1024);
    coir_stats(0, &f->before);
    EQ(elsewhere(f->x, push_thousand), 1000, "another thread sends 1,000 items while nobody waits");
    for (f->i = 0; f->i < 1000; f->i++) {
        coir_try(f, &f->recv, coir_xchan_recv, .channel = f->x, .item = &f->item);
        if (f->item != f->i)
            coir_fail(f, -EPROTO);
    }
    for (f->i = 0; f->i < 5000; f->i++) {
        coir_try(f, &f->send, coir_xchan_send, .channel = f->x, .item = &f->i);
        coir_try(f, &f->recv, coir_xchan_recv, .channel = f->x, .item = &f->item);
    }
    coir_stats(0, &f->now);
    EQ(f->now.messages, f->before.messages, "without a letter");
    EQ(f->now.allocations, f->before.allocations, "nor an allocation");
    OK(f->now.syscalls - f->before.syscalls <= f->now.turns - f->before.turns, "nor a system call but the loop's own");
    coir_finally(f) {
        coir_xchan_free(f->x);
    }
} coir_end

/* ---- broken rules ---- */

struct destroyer {
    coir_frame_void;
    coir_no_args;
    struct coir_xchan *x;
    struct coir_group group;
    struct outcome out;
    struct rest rest;
    struct coir_group_wait wait;
};
static coir_declare(destroyer);

coir_body(destroyer, f) {
    f->x = coir_xchan_new(sizeof(long), 1);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(receiver, .channel = f->x, .out = &f->out));
    coir_await(f, &f->rest, rest);
    coir_xchan_free(f->x);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

static void frees_under_a_waiter(void)
{
    setenv("COIR_TIME", "virtual", 1);
    coir_run(NULL, coir_new(destroyer));
}

int main(void)
{
    const uint64_t start = seed();

    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    test_plain();
    test_laps();
    test_sizes();
    test_steps();
    run_one("odds", coir_new(odds));
    run_one("cost", coir_new(cost));
    test_silence();
    test_shutdown();
    dies("freeing under a waiter", frees_under_a_waiter,
         "a channel between shards is destroyed while receiver waits for it at ");
    test_sums(64, 3, 2, 1000000);
    test_sums(2, 1, 3, 60000);
    test_sums(1, 2, 2, 40000);
    test_frees(1);
    test_frees(3);
    test_frees(8);
    test_foreign(8);
    test_foreign(1);
    test_storm(1, start);
    test_storm(4, start + 1);
    return DONE();
}
