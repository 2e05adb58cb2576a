/* SPDX-License-Identifier: MIT */
/*
 * A million items between many senders and receivers of one shard, what a channel costs, and who else has a turn while
 * one is always ready.
 */
#include "runtime/base/torture.h"
#include "sync_test.h"

/* ---- many to many ---- */

enum { SENDERS = 10, RECEIVERS = 7, EACH = 100000 };

struct many_senders {
    coir_frame_void;
    coir_args(struct coir_channel *channel; long from;);
    long item;
    struct coir_channel_send send;
};
static coir_declare(many_senders);

coir_body(many_senders, f) {
    for (f->item = f->from; f->item < f->from + EACH; f->item++)
        coir_try(f, &f->send, coir_channel_send, .channel = f->channel, .item = &f->item);
} coir_end

struct many_receivers {
    coir_frame_void;
    coir_args(struct coir_channel *channel; long *sum; long *count;);
    long item, last[SENDERS], wrong;
    bool more;
    struct coir_channel_recv recv;
};
static coir_declare(many_receivers);

coir_body(many_receivers, f) {
    memset(f->last, 0xff, sizeof f->last);
    f->wrong = 0;
    for (;;) {
        coir_get(f, f->more, &f->recv, coir_channel_recv, .channel = f->channel, .item = &f->item);
        if (!f->more)
            break;
        f->wrong += f->item <= f->last[f->item / EACH];
        f->last[f->item / EACH] = f->item;
        *f->sum += f->item;
        ++*f->count;
    }
    EQ(f->wrong, 0, "the items of each sender come in order");
} coir_end

struct many {
    coir_frame_void;
    coir_args(size_t capacity;);
    struct coir_channel c;
    struct coir_group senders, receivers;
    long sum, count;
    struct coir_group_wait wait;
};
static coir_declare(many);

coir_body(many, f) {
    f->sum = f->count = 0;
    OK(coir_channel_init(&f->c, sizeof f->sum, f->capacity) == 0, "a channel of %zu", f->capacity);
    coir_group_open(f, &f->senders);
    coir_group_open(f, &f->receivers);
    for (long i = 0; i < SENDERS; i++)
        coir_spawn(&f->senders, coir_new(many_senders, .channel = &f->c, .from = i * EACH));
    for (long i = 0; i < RECEIVERS; i++)
        coir_spawn(&f->receivers, coir_new(many_receivers, .channel = &f->c, .sum = &f->sum, .count = &f->count));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->senders);
    EQ(coir_status(&f->wait), 0, "all have sent");
    coir_channel_close(&f->c);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->receivers);
    EQ(coir_status(&f->wait), 0, "all have received");
    EQ(f->count, 1000000, "a million items");
    EQ(f->sum, 499999500000, "each of them once");
    coir_channel_destroy(&f->c);
} coir_end

/* ---- what it costs ---- */

struct echo {
    coir_frame_void;
    coir_args(struct coir_channel *in; struct coir_channel *out;);
    long item;
    bool more;
    struct coir_channel_send send;
    struct coir_channel_recv recv;
};
static coir_declare(echo);

coir_body(echo, f) {
    for (;;) {
        coir_get(f, f->more, &f->recv, coir_channel_recv, .channel = f->in, .item = &f->item);
        if (!f->more)
            break;
        coir_try(f, &f->send, coir_channel_send, .channel = f->out, .item = &f->item);
    }
} coir_end

struct cost {
    coir_frame_void;
    coir_args(size_t capacity;);
    struct coir_channel there, back;
    struct coir_group group;
    struct coir_stats before, now;
    long i, answer;
    struct rest rest;
    struct coir_channel_send send;
    struct coir_channel_recv recv;
    struct coir_group_wait wait;
};
static coir_declare(cost);

coir_body(cost, f) {
    coir_channel_init(&f->there, sizeof f->i, f->capacity);
    coir_channel_init(&f->back, sizeof f->i, f->capacity);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(echo, .in = &f->there, .out = &f->back));
    coir_await(f, &f->rest, rest);
    coir_stats(0, &f->before);
    for (f->i = 0; f->i < 10000; f->i++) {
        coir_try(f, &f->send, coir_channel_send, .channel = &f->there, .item = &f->i);
        coir_try(f, &f->recv, coir_channel_recv, .channel = &f->back, .item = &f->answer);
        if (f->answer != f->i)
            coir_fail(f, -EPROTO);
    }
    coir_stats(0, &f->now);
    EQ(f->now.allocations, f->before.allocations, "10,000 round trips allocate nothing");
    EQ(f->now.chunks, f->before.chunks, "nor take memory");
    EQ(f->now.submissions, f->before.submissions, "nor ask the kernel for anything");
    OK(f->now.syscalls - f->before.syscalls <= f->now.turns - f->before.turns,
       "the only system calls are the loop's own, one a turn: %" PRIu64 " in %" PRIu64 " turns",
       f->now.syscalls - f->before.syscalls, f->now.turns - f->before.turns);
    OK(f->now.turns - f->before.turns <= (f->now.steps - f->before.steps) / COIR_TURN_STEPS + 1,
       "of %d steps each", COIR_TURN_STEPS);
    coir_finally(f) {
        coir_channel_close(&f->there);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        coir_channel_destroy(&f->there);
        coir_channel_destroy(&f->back);
    }
} coir_end

/* ---- a ready channel and the others ---- */

struct bystander {
    coir_frame_void;
    coir_args(long *turns; const bool *over;);
    struct coir_pass pass;
};
static coir_declare(bystander);

coir_body(bystander, f) {
    while (!*f->over) {
        ++*f->turns;
        coir_try(f, &f->pass, coir_pass);
    }
} coir_end

struct greedy {
    coir_frame_void;
    coir_no_args;
    struct coir_channel c;
    struct coir_group group;
    long i, item, turns;
    bool over;
    struct coir_channel_send send;
    struct coir_channel_recv recv;
    struct coir_group_wait wait;
};
static coir_declare(greedy);

coir_body(greedy, f) {
    f->turns = 0;
    f->over = false;
    coir_channel_init(&f->c, sizeof f->item, 4);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(bystander, .turns = &f->turns, .over = &f->over));
    for (f->i = 0; f->i < 12800; f->i++) {
        coir_await(f, &f->send, coir_channel_send, .channel = &f->c, .item = &f->i);
        coir_await(f, &f->recv, coir_channel_recv, .channel = &f->c, .item = &f->item);
    }
    OK(f->turns >= 25600 / 128, "25,600 awaits of a channel that is always ready left the other task %ld turns",
       f->turns);
    f->over = true;
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_channel_destroy(&f->c);
} coir_end

int main(void)
{
    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    run_one("a million, rendezvous", coir_new(many, .capacity = 0));
    run_one("a million, buffered", coir_new(many, .capacity = 64));
    run_one("cost, rendezvous", coir_new(cost, .capacity = 0));
    run_one("cost, buffered", coir_new(cost, .capacity = 1));
    run_one("greedy", coir_new(greedy));
    return DONE();
}
