/* SPDX-License-Identifier: MIT */
/*
 * Channels of one shard. The orders of hand-over, cancelling and closing are driven step by step: a driver
 * does several things between two awaits, when nobody else can run, and then lets the others go on.
 */
#include <signal.h>

#include "runtime/base/torture.h"
#include "sync_test.h"

/* What became of one send or receive, in the driver's memory. */
struct outcome {
    struct coir_scope *scope;           /* cancelling it cancels the operation, while `ended` is 0 */
    int status;
    bool got;
    long item;
    int ended;                          /* its place among those that ended; 0: it has not */
};

static int endings;

/* ---- one operation each, in a scope of its own ---- */

struct sender {
    coir_frame_void;
    coir_args(struct coir_channel *channel; long item; struct outcome *out;);
    struct coir_scope scope;
    struct coir_channel_send send;
};
static coir_declare(sender);

coir_body(sender, f) {
    f->out->scope = &f->scope;
    coir_within(f, &f->scope, COIR_NEVER, &f->send, coir_channel_send, .channel = f->channel, .item = &f->item);
    f->out->status = coir_status(&f->send);
    f->out->ended = ++endings;
} coir_end

struct receiver {
    coir_frame_void;
    coir_args(struct coir_channel *channel; struct outcome *out;);
    struct coir_scope scope;
    struct coir_channel_recv recv;
};
static coir_declare(receiver);

coir_body(receiver, f) {
    f->out->scope = &f->scope;
    coir_within(f, &f->scope, COIR_NEVER, &f->recv, coir_channel_recv, .channel = f->channel, .item = &f->out->item);
    f->out->status = coir_status(&f->recv);
    f->out->got = f->recv.result;
    f->out->ended = ++endings;
} coir_end

/* Spawns one, with its outcome cleared. */
static void spawn_sender(struct coir_group *g, struct coir_channel *c, long item, struct outcome *out)
{
    *out = (struct outcome){ .status = 1 };
    OK(coir_spawn(g, coir_new(sender, .channel = c, .item = item, .out = out)) == 0, "a sender of %ld", item);
}

static void spawn_receiver(struct coir_group *g, struct coir_channel *c, struct outcome *out)
{
    *out = (struct outcome){ .status = 1, .item = -1 };
    OK(coir_spawn(g, coir_new(receiver, .channel = c, .out = out)) == 0, "a receiver");
}

static void sent(const struct outcome *o, const char *what)
{
    OK(o->ended, "%s: the send has ended", what);
    EQ(o->status, 0, "%s: well", what);
}

static void received(const struct outcome *o, long item, const char *what)
{
    OK(o->ended, "%s: the receive has ended", what);
    EQ(o->status, 0, "%s: status 0", what);
    OK(o->got, "%s: with an item", what);
    EQ(o->item, item, "%s: which is %ld", what, item);
}

static void failed(const struct outcome *o, int status, const char *what)
{
    OK(o->ended, "%s: it has ended", what);
    EQ(o->status, status, "%s: with %d", what, status);
    OK(!o->got, "%s: without an item", what);
}

/* ---- plain calls ---- */

static void test_plain(void)
{
    struct coir_channel c;
    long item = 7, buffer[2];

    EQ(coir_channel_init(NULL, 8, 1), -EFAULT, "init of NULL");
    EQ(coir_channel_init(&c, SIZE_MAX / 2, 4), -EINVAL, "init of too much");
    EQ(coir_channel_init_in(&c, sizeof item, 2, NULL), -EFAULT, "init in no buffer");
    EQ(coir_channel_init_in(&c, sizeof item, 2, buffer), 0, "init in a buffer");
    EQ(coir_channel_try_send(NULL, &item), -EFAULT, "try_send to NULL");
    EQ(coir_channel_try_send(&c, NULL), -EFAULT, "try_send of NULL");
    EQ(coir_channel_try_recv(&c, NULL), -EFAULT, "try_recv into NULL");
    EQ(coir_channel_try_recv(&c, &item), -EAGAIN, "nothing is in it");
    EQ(coir_channel_try_send(&c, &item), 0, "one goes in");
    item = 8;
    EQ(coir_channel_try_send(&c, &item), 0, "another");
    EQ(coir_channel_try_send(&c, &item), -EAGAIN, "it is full");
    EQ(coir_channel_queued(&c), 2, "with two");
    EQ(coir_channel_try_recv(&c, &item), 0, "one comes out");
    EQ(item, 7, "the first");
    item = 9;
    EQ(coir_channel_try_send(&c, &item), 0, "the place is used again");
    coir_channel_close(&c);
    OK(coir_channel_is_closed(&c), "it is closed");
    coir_channel_close(&c);
    EQ(coir_channel_try_send(&c, &item), -EPIPE, "nothing goes into a closed one");
    EQ(coir_channel_try_recv(&c, &item), 0, "what was there comes out");
    EQ(item, 8, "in order");
    EQ(coir_channel_try_recv(&c, &item), 0, "and the last");
    EQ(item, 9, "in order");
    EQ(coir_channel_try_recv(&c, &item), -EPIPE, "then it is drained");
    coir_channel_destroy(&c);
    coir_channel_destroy(NULL);
}

static void test_sizes(void)
{
    static const size_t sizes[] = { 1, 3, 4, 8, 12, 16, 40 };
    unsigned char in[40], out[40];
    struct coir_channel c;

    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        OK(coir_channel_init(&c, sizes[n], 3) == 0, "items of %zu bytes", sizes[n]);
        for (int round = 0; round < 5; round++) {
            memset(in, 16 * (int)n + round, sizeof in);
            memset(out, 0, sizeof out);
            OK(coir_channel_try_send(&c, in) == 0 && coir_channel_try_recv(&c, out) == 0, "round %d", round);
            MEM_EQ(in, out, sizes[n], "all of its bytes");
            OK(sizes[n] == sizeof out || out[sizes[n]] == 0, "and no more");
        }
        coir_channel_destroy(&c);
    }
    OK(coir_channel_init(&c, 0, 2) == 0, "items of no bytes");
    EQ(coir_channel_try_send(&c, NULL), 0, "one");
    EQ(coir_channel_try_send(&c, NULL), 0, "two");
    EQ(coir_channel_try_send(&c, NULL), -EAGAIN, "no third");
    EQ(coir_channel_try_recv(&c, NULL), 0, "one comes out");
    EQ(coir_channel_queued(&c), 1, "one is left");
    coir_channel_destroy(&c);
}

/* ---- the driver's frame, for all that follows ---- */

struct driver {
    coir_frame_void;
    coir_args(void (*first)(struct driver *); void (*then)(struct driver *); void (*after)(struct driver *);
              size_t capacity;);
    struct coir_channel c;
    struct coir_group group;
    struct outcome o[8];
    struct rest rest;
    struct coir_group_wait wait;
};
static coir_declare(driver);

/* `first` spawns; everybody parks; `then` does several things in one step; everybody goes on; `after` looks
 * at what came of it. */

coir_body(driver, f) {
    OK(coir_channel_init(&f->c, sizeof(long), f->capacity) == 0, "a channel of %zu", f->capacity);
    endings = 0;
    coir_group_open(f, &f->group);
    f->first(f);
    coir_await(f, &f->rest, rest);
    f->then(f);
    coir_await(f, &f->rest, rest);
    f->after(f);
    coir_channel_close(&f->c);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), 0, "nobody failed");
    coir_channel_destroy(&f->c);
} coir_end

static void drive(const char *name, size_t capacity, void (*first)(struct driver *), void (*then)(struct driver *),
                  void (*after)(struct driver *))
{
    NOTE("%s", name);
    run_one(name, coir_new(driver, .first = first, .then = then, .after = after, .capacity = capacity));
}

static int try_send(struct driver *f, long item)
{
    return coir_channel_try_send(&f->c, &item);
}

static void expect_try_recv(struct driver *f, long item)
{
    long got = -1;

    EQ(coir_channel_try_recv(&f->c, &got), 0, "try_recv");
    EQ(got, item, "takes %ld", item);
}

static void nothing(struct driver *f)
{
    (void)f;
}

/* ---- meeting ---- */

static void three_receivers(struct driver *f)
{
    for (int i = 0; i < 3; i++)
        spawn_receiver(&f->group, &f->c, &f->o[i]);
}

static void three_senders(struct driver *f)
{
    for (int i = 0; i < 3; i++)
        spawn_sender(&f->group, &f->c, 10 + i, &f->o[i]);
}

static void sends_three(struct driver *f)
{
    for (int i = 0; i < 3; i++) {
        OK(!f->o[i].ended, "receiver %d waits", i);
        EQ(try_send(f, 20 + i), 0, "an item for receiver %d", i);
    }
    EQ(try_send(f, 99), -EAGAIN, "none for a fourth");
}

static void first_come_first_served(struct driver *f)
{
    for (int i = 0; i < 3; i++) {
        received(&f->o[i], 20 + i, "a receiver in line");
        EQ(f->o[i].ended, i + 1, "in its turn");
    }
}

static void takes_three(struct driver *f)
{
    for (int i = 0; i < 3; i++) {
        OK(!f->o[i].ended, "sender %d waits", i);
        expect_try_recv(f, 10 + i);
    }
}

static void all_sent_in_turn(struct driver *f)
{
    for (int i = 0; i < 3; i++) {
        sent(&f->o[i], "a sender in line");
        EQ(f->o[i].ended, i + 1, "in its turn");
    }
}

static void four_senders(struct driver *f)
{
    for (int i = 0; i < 4; i++)
        spawn_sender(&f->group, &f->c, 10 + i, &f->o[i]);
}

static void two_went_in(struct driver *f)
{
    OK(f->o[0].ended && f->o[1].ended, "two found a place");
    OK(!f->o[2].ended && !f->o[3].ended, "two wait");
    EQ(coir_channel_queued(&f->c), 2, "two are queued");
    expect_try_recv(f, 10);
    EQ(coir_channel_queued(&f->c), 2, "the oldest sender's item took the place at once");
    EQ(try_send(f, 99), -EAGAIN, "so nobody barges in");
}

static void the_third_ended(struct driver *f)
{
    sent(&f->o[2], "the third sender");
    OK(!f->o[3].ended, "the fourth waits");
    expect_try_recv(f, 11);
    expect_try_recv(f, 12);
    expect_try_recv(f, 13);
    EQ(coir_channel_queued(&f->c), 0, "all have come out");
}

/* ---- cancelling ---- */

static void one_receiver(struct driver *f)
{
    spawn_receiver(&f->group, &f->c, &f->o[0]);
}

static void one_sender(struct driver *f)
{
    spawn_sender(&f->group, &f->c, 10, &f->o[0]);
}

static void send_then_cancel(struct driver *f)
{
    EQ(try_send(f, 20), 0, "the receiver is handed the item");
    coir_scope_cancel(f->o[0].scope);
    EQ(try_send(f, 21), -EAGAIN, "it takes no second one");
}

static void got_it(struct driver *f)
{
    received(&f->o[0], 20, "handed over, then cancelled");
}

static void cancel_then_send(struct driver *f)
{
    coir_scope_cancel(f->o[0].scope);
    EQ(try_send(f, 20), -EAGAIN, "a cancelled receiver takes nothing");
}

static void is_cancelled(struct driver *f)
{
    failed(&f->o[0], -ECANCELED, "cancelled first");
    EQ(f->o[0].item, -1, "the memory is untouched");
}

static void take_then_cancel(struct driver *f)
{
    expect_try_recv(f, 10);
    coir_scope_cancel(f->o[0].scope);
}

static void it_was_sent(struct driver *f)
{
    sent(&f->o[0], "taken, then cancelled");
}

static void cancel_then_take(struct driver *f)
{
    long got;

    coir_scope_cancel(f->o[0].scope);
    EQ(coir_channel_try_recv(&f->c, &got), -EAGAIN, "a cancelled sender gives nothing");
}

static void it_was_not_sent(struct driver *f)
{
    failed(&f->o[0], -ECANCELED, "cancelled first");
}

static void cancel_the_middle(struct driver *f)
{
    coir_scope_cancel(f->o[1].scope);
    EQ(try_send(f, 20), 0, "to the first");
    EQ(try_send(f, 22), 0, "to the third");
    EQ(try_send(f, 23), -EAGAIN, "nobody else waits");
}

static void first_and_third(struct driver *f)
{
    received(&f->o[0], 20, "the first");
    failed(&f->o[1], -ECANCELED, "the second");
    received(&f->o[2], 22, "the third");
}

static void cancel_the_middle_sender(struct driver *f)
{
    coir_scope_cancel(f->o[1].scope);
    expect_try_recv(f, 10);
    expect_try_recv(f, 12);
}

static void first_and_third_sent(struct driver *f)
{
    sent(&f->o[0], "the first");
    failed(&f->o[1], -ECANCELED, "the second");
    sent(&f->o[2], "the third");
}

static void cancel_all_but_the_sent(struct driver *f)
{
    EQ(try_send(f, 20), 0, "the first is handed an item");
    coir_group_cancel(&f->group);
}

static void only_the_first_got_it(struct driver *f)
{
    received(&f->o[0], 20, "the first, in a cancelled group");
    failed(&f->o[1], -ECANCELED, "the second");
    failed(&f->o[2], -ECANCELED, "the third");
}

static void spawn_into_cancelled(struct driver *f)
{
    EQ(try_send(f, 20), 0, "one item lies there");
    coir_group_cancel(&f->group);
    spawn_receiver(&f->group, &f->c, &f->o[0]);
    spawn_receiver(&f->group, &f->c, &f->o[1]);
    spawn_sender(&f->group, &f->c, 10, &f->o[2]);
    spawn_sender(&f->group, &f->c, 11, &f->o[3]);
}

static void what_need_not_wait(struct driver *f)
{
    received(&f->o[0], 20, "in a cancelled group what is there is received");
    failed(&f->o[1], -ECANCELED, "what is not there is not waited for");
    sent(&f->o[2], "in a cancelled group a free place is used");
    failed(&f->o[3], -ECANCELED, "and none is waited for");
    expect_try_recv(f, 10);
}

/* ---- closing ---- */

static void closes(struct driver *f)
{
    coir_channel_close(&f->c);
}

static void all_pipe(struct driver *f)
{
    long got;

    for (int i = 0; i < 3; i++)
        failed(&f->o[i], -EPIPE, "a sender at a rendezvous, closed");
    EQ(coir_channel_try_recv(&f->c, &got), -EPIPE, "no item was delivered");
}

static void two_drained(struct driver *f)
{
    long got;

    sent(&f->o[0], "the first had a place");
    sent(&f->o[1], "the second had a place");
    failed(&f->o[2], -EPIPE, "the third had none");
    failed(&f->o[3], -EPIPE, "the fourth had none");
    expect_try_recv(f, 10);
    expect_try_recv(f, 11);
    EQ(coir_channel_try_recv(&f->c, &got), -EPIPE, "and no more");
}

static void all_told(struct driver *f)
{
    for (int i = 0; i < 3; i++) {
        failed(&f->o[i], 0, "a receiver of a closed channel");
        EQ(f->o[i].ended, i + 1, "in its turn");
    }
}

static void send_then_close(struct driver *f)
{
    EQ(try_send(f, 20), 0, "the first is handed an item");
    coir_channel_close(&f->c);
    coir_group_cancel(&f->group);
}

static void the_first_got_it_the_rest_were_told(struct driver *f)
{
    received(&f->o[0], 20, "handed over, closed, cancelled");
    failed(&f->o[1], 0, "closed, then cancelled: it was told of the end first");
    failed(&f->o[2], 0, "the same");
}

static void cancel_then_close(struct driver *f)
{
    coir_group_cancel(&f->group);
    coir_channel_close(&f->c);
}

static void all_cancelled(struct driver *f)
{
    for (int i = 0; i < 3; i++)
        failed(&f->o[i], -ECANCELED, "cancelled, then closed");
}

static void use_of_closed(struct driver *f)
{
    spawn_sender(&f->group, &f->c, 10, &f->o[0]);
    spawn_receiver(&f->group, &f->c, &f->o[1]);
}

static void pipe_and_end(struct driver *f)
{
    failed(&f->o[0], -EPIPE, "a send to a closed channel");
    failed(&f->o[1], 0, "a receive from a closed channel");
}

static void test_steps(void)
{
    drive("receivers in line", 0, three_receivers, sends_three, first_come_first_served);
    drive("senders in line", 0, three_senders, takes_three, all_sent_in_turn);
    drive("senders in line, buffered", 2, four_senders, two_went_in, the_third_ended);
    drive("hand over to a receiver, cancel it", 0, one_receiver, send_then_cancel, got_it);
    drive("cancel a receiver, send", 0, one_receiver, cancel_then_send, is_cancelled);
    drive("take from a sender, cancel it", 0, one_sender, take_then_cancel, it_was_sent);
    drive("cancel a sender, receive", 0, one_sender, cancel_then_take, it_was_not_sent);
    drive("cancel a receiver in the middle", 0, three_receivers, cancel_the_middle, first_and_third);
    drive("cancel a sender in the middle", 0, three_senders, cancel_the_middle_sender, first_and_third_sent);
    drive("hand over, cancel the group", 0, three_receivers, cancel_all_but_the_sent, only_the_first_got_it);
    drive("in a cancelled group", 1, nothing, spawn_into_cancelled, what_need_not_wait);
    drive("close on senders", 0, three_senders, closes, all_pipe);
    drive("close on senders, buffered", 2, four_senders, closes, two_drained);
    drive("close on receivers", 0, three_receivers, closes, all_told);
    drive("send, close, cancel", 0, three_receivers, send_then_close, the_first_got_it_the_rest_were_told);
    drive("cancel, close", 0, three_receivers, cancel_then_close, all_cancelled);
    drive("use of a closed one", 0, closes, use_of_closed, pipe_and_end);
}

/* ---- arguments ---- */

struct arguments {
    coir_frame_void;
    coir_no_args;
    struct coir_channel c;
    long item;
    struct coir_channel_send send;
    struct coir_channel_recv recv;
};
static coir_declare(arguments);

/* Memory on the C stack, through a function, so that no compiler sees it. */
static __attribute__((noinline)) void *on_the_stack(void)
{
    return (char *)__builtin_frame_address(0) - 64;
}

coir_body(arguments, f) {
    OK(coir_channel_init(&f->c, sizeof f->item, 1) == 0, "a channel");
    f->item = 3;
    coir_await(f, &f->send, coir_channel_send, .channel = NULL, .item = &f->item);
    EQ(coir_status(&f->send), -EFAULT, "send to NULL");
    coir_await(f, &f->send, coir_channel_send, .channel = &f->c, .item = NULL);
    EQ(coir_status(&f->send), -EFAULT, "send of NULL");
    coir_await(f, &f->send, coir_channel_send, .channel = &f->c, .item = on_the_stack());
    EQ(coir_status(&f->send), -EFAULT, "send from the C stack");
    coir_await(f, &f->recv, coir_channel_recv, .channel = NULL, .item = &f->item);
    EQ(coir_status(&f->recv), -EFAULT, "receive from NULL");
    coir_await(f, &f->recv, coir_channel_recv, .channel = &f->c, .item = NULL);
    EQ(coir_status(&f->recv), -EFAULT, "receive into NULL");
    coir_await(f, &f->recv, coir_channel_recv, .channel = &f->c, .item = on_the_stack());
    EQ(coir_status(&f->recv), -EFAULT, "receive into the C stack");
    EQ(coir_channel_queued(&f->c), 0, "nothing went in");
    coir_channel_destroy(&f->c);
} coir_end

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

/* ---- in coir_finally, in combinators ---- */

struct in_finally {
    coir_frame_void;
    coir_args(struct coir_channel *channel; long *got; struct coir_scope **scope;);
    struct coir_scope inner;
    struct coir_sleep sleep;
    struct coir_channel_recv recv;
    long item;
};
static coir_declare(in_finally);

coir_body(in_finally, f) {
    *f->scope = &f->inner;
    coir_within(f, &f->inner, COIR_NEVER, &f->sleep, coir_sleep, .ns = COIR_S);
    coir_check(f, &f->sleep);
    coir_finally(f) {
        coir_await(f, &f->recv, coir_channel_recv, .channel = f->channel, .item = &f->item);
        EQ(coir_status(&f->recv), 0, "a receive in coir_finally is not cancelled with its group");
        *f->got = f->item;
    }
} coir_end

struct finally_row {
    coir_frame_void;
    coir_no_args;
    struct coir_channel c;
    struct coir_group group;
    struct coir_scope *scope;
    long got, item;
    struct rest rest;
    struct coir_channel_send send;
    struct coir_group_wait wait;
};
static coir_declare(finally_row);

coir_body(finally_row, f) {
    f->got = -1;
    f->item = 42;
    coir_channel_init(&f->c, sizeof f->item, 0);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(in_finally, .channel = &f->c, .got = &f->got, .scope = &f->scope));
    coir_await(f, &f->rest, rest);
    coir_group_cancel(&f->group);
    coir_await(f, &f->rest, rest);
    EQ(f->got, -1, "it waits in coir_finally");
    coir_await(f, &f->send, coir_channel_send, .channel = &f->c, .item = &f->item);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->got, 42, "and got the item");
    coir_channel_destroy(&f->c);
} coir_end

struct racing {
    coir_frame_void;
    coir_no_args;
    struct coir_channel a, b;
    struct coir_group group;
    struct coir_task *kids[3];
    long got[2];
    struct outcome out;
    struct rest rest;
    struct coir_channel_recv recv[2];
    struct coir_sleep sleep;
    struct coir_combine race;
    struct coir_group_wait wait;
};
static coir_declare(racing);

coir_body(racing, f) {
    coir_channel_init(&f->a, sizeof(long), 0);
    coir_channel_init(&f->b, sizeof(long), 0);
    coir_group_open(f, &f->group);
    spawn_sender(&f->group, &f->b, 30, &f->out);
    f->got[0] = f->got[1] = -1;
    f->kids[0] = coir_make(&f->recv[0], coir_channel_recv, .channel = &f->a, .item = &f->got[0]);
    f->kids[1] = coir_make(&f->recv[1], coir_channel_recv, .channel = &f->b, .item = &f->got[1]);
    coir_race(f, &f->race, f->kids, 2);
    EQ(coir_status(&f->race), 0, "a race of two receives");
    EQ(f->race.result, 1, "is won by the one that got something");
    EQ(f->got[1], 30, "which is there");
    EQ(coir_status(&f->recv[0]), -ECANCELED, "the loser was cancelled");
    EQ(f->got[0], -1, "its memory is untouched");
    EQ(coir_channel_try_send(&f->a, &f->got[1]), -EAGAIN, "and it waits no more");
    f->kids[0] = coir_make(&f->recv[0], coir_channel_recv, .channel = &f->a, .item = &f->got[0]);
    f->kids[1] = coir_make(&f->sleep, coir_sleep, .ns = COIR_S);
    coir_race(f, &f->race, f->kids, 2);
    EQ(f->race.result, 1, "a receive against a sleep: the sleep wins when nobody sends");
    EQ(coir_status(&f->recv[0]), -ECANCELED, "the receive was cancelled");
    spawn_sender(&f->group, &f->a, 31, &f->out);
    f->kids[0] = coir_make(&f->recv[0], coir_channel_recv, .channel = &f->a, .item = &f->got[0]);
    f->kids[1] = coir_make(&f->sleep, coir_sleep, .ns = COIR_S);
    coir_race(f, &f->race, f->kids, 2);
    EQ(f->race.result, 0, "the receive wins when somebody does");
    EQ(f->got[0], 31, "with the item");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_channel_destroy(&f->a);
    coir_channel_destroy(&f->b);
} coir_end

/* ---- a send with a deadline ---- */

struct late {
    coir_frame_void;
    coir_no_args;
    struct coir_channel c;
    struct coir_scope scope;
    long item;
    int64_t began;
    struct coir_channel_send send;
};
static coir_declare(late);

coir_body(late, f) {
    coir_channel_init(&f->c, sizeof f->item, 0);
    f->item = 1;
    f->began = coir_now();
    coir_within(f, &f->scope, f->began + 3 * COIR_S, &f->send, coir_channel_send, .channel = &f->c, .item = &f->item);
    EQ(coir_status(&f->send), -ETIMEDOUT, "a send with a deadline that nobody takes");
    EQ(coir_now() - f->began, 3 * COIR_S, "ends at the deadline");
    EQ(coir_channel_try_recv(&f->c, &f->item), -EAGAIN, "and has left nothing behind");
    coir_channel_destroy(&f->c);
} coir_end

/* ---- the dump ---- */

struct dumped {
    coir_frame_void;
    coir_no_args;
    struct coir_channel c, d;
    struct coir_group group;
    struct outcome out[3];
    char text[4096];
    struct rest rest;
    struct coir_group_wait wait;
};
static coir_declare(dumped);

static void dump_into(char *text, size_t size)
{
    FILE *to = fmemopen(text, size, "w");

    coir_dump(to);
    fclose(to);
}

coir_body(dumped, f) {
    coir_channel_init(&f->c, sizeof(long), 16);
    coir_channel_init(&f->d, sizeof(long), 0);
    coir_group_open(f, &f->group);
    spawn_receiver(&f->group, &f->c, &f->out[0]);
    spawn_sender(&f->group, &f->d, 1, &f->out[1]);
    coir_await(f, &f->rest, rest);
    dump_into(f->text, sizeof f->text);
    OK(strstr(f->text, "waits to receive from a channel (0 of 16 queued)"), "a receiver in the dump");
    OK(strstr(f->text, "waits to send to a channel (0 of 0 queued)"), "a sender in the dump");
    coir_channel_close(&f->c);
    dump_into(f->text, sizeof f->text);
    OK(!strstr(f->text, "receive from"), "a receiver that was served waits for nothing");
    coir_channel_close(&f->d);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_channel_destroy(&f->c);
    coir_channel_destroy(&f->d);
} coir_end

/* ---- broken rules ---- */

struct destroyer {
    coir_frame_void;
    coir_no_args;
    struct coir_channel c;
    struct coir_group group;
    struct outcome out;
    struct rest rest;
    struct coir_group_wait wait;
};
static coir_declare(destroyer);

coir_body(destroyer, f) {
    coir_channel_init(&f->c, sizeof(long), 0);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(receiver, .channel = &f->c, .out = &f->out));
    coir_await(f, &f->rest, rest);
    coir_channel_destroy(&f->c);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

static void destroys_under_a_waiter(void)
{
    setenv("COIR_TIME", "virtual", 1);
    coir_run(NULL, coir_new(destroyer));
}

static struct coir_channel shared;

struct stranger {
    coir_frame_void;
    coir_no_args;
    long item;
    struct coir_channel_send send;
};
static coir_declare(stranger);

coir_body(stranger, f) {
    f->item = 1;
    coir_await(f, &f->send, coir_channel_send, .channel = &shared, .item = &f->item);
} coir_end

struct two_shards {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct outcome out;
    struct rest rest;
    struct stranger stranger;
    struct coir_group_wait wait;
};
static coir_declare(two_shards);

coir_body(two_shards, f) {
    coir_channel_init(&shared, sizeof(long), 0);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(receiver, .channel = &shared, .out = &f->out));
    coir_await(f, &f->rest, rest);
    coir_await_on(f, 1, &f->stranger, stranger);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

static void uses_it_from_two_shards(void)
{
    const struct coir_options o = { .shards = 2 };

    coir_run(&o, coir_new(two_shards));
}

struct forgotten {
    coir_frame_void;
    coir_no_args;
    struct coir_channel c;
    long item;
    struct coir_channel_recv recv;
};
static coir_declare(forgotten);

coir_body(forgotten, f) {
    coir_channel_init(&f->c, sizeof f->item, 0);
    coir_try(f, &f->recv, coir_channel_recv, .channel = &f->c, .item = &f->item);
} coir_end

static void test_rules(void)
{
    dies("destroying under a waiter", destroys_under_a_waiter,
         "a channel is destroyed while receiver waits for it at ");
    dies("use from another shard", uses_it_from_two_shards, "between shards there is coir_xchan");
    EQ(coir_run(NULL, coir_new(forgotten)), -EDEADLK, "waiting for nobody is a deadlock");
}

/* ---- against a model ---- */

/* The model knows a channel by three lists of numbers: of the parked senders, of the parked receivers, of the
 * items queued. It says of each operation what has to become of it. */
enum { LIVES = 64, MOVES = 3000 };

struct list {
    int n, at[LIVES + 8];
};

static int shift(struct list *l)
{
    const int first = l->at[0];

    memmove(l->at, l->at + 1, (size_t)--l->n * sizeof *l->at);
    return first;
}

static void append(struct list *l, int what)
{
    l->at[l->n++] = what;
}

static bool erase(struct list *l, int what)
{
    for (int i = 0; i < l->n; i++) {
        if (l->at[i] == what) {
            memmove(l->at + i, l->at + i + 1, (size_t)(--l->n - i) * sizeof *l->at);
            return true;
        }
    }
    return false;
}

struct model {
    struct list senders, receivers, queued;
    int capacity;
    bool closed;
    struct outcome want[LIVES];         /* by number of the operation */
    long item[LIVES];
};

static int model_put(struct model *m, int item)
{
    if (m->closed)
        return -EPIPE;
    if (m->receivers.n) {
        m->want[shift(&m->receivers)] = (struct outcome){ .status = 0, .got = true, .item = item, .ended = 1 };
        return 0;
    }
    if (m->queued.n == m->capacity)
        return -EAGAIN;
    append(&m->queued, item);
    return 0;
}

static int model_take(struct model *m, long *item)
{
    int from;

    if (m->queued.n) {
        *item = shift(&m->queued);
        if (m->senders.n) {
            from = shift(&m->senders);
            append(&m->queued, (int)m->item[from]);
            m->want[from] = (struct outcome){ .status = 0, .ended = 1 };
        }
        return 0;
    }
    if (m->senders.n) {
        from = shift(&m->senders);
        *item = m->item[from];
        m->want[from] = (struct outcome){ .status = 0, .ended = 1 };
        return 0;
    }
    return m->closed ? -EPIPE : -EAGAIN;
}

static void model_close(struct model *m)
{
    m->closed = true;
    while (m->senders.n)
        m->want[shift(&m->senders)] = (struct outcome){ .status = -EPIPE, .ended = 1 };
    while (m->receivers.n)
        m->want[shift(&m->receivers)] = (struct outcome){ .status = 0, .item = -1, .ended = 1 };
}

struct random_row {
    coir_frame_void;
    coir_args(uint64_t seed; int capacity;);
    uint64_t state;
    struct coir_channel c;
    struct coir_group group;
    struct model model;
    struct outcome out[LIVES];
    int used, move, wrong;
    struct rest rest;
    struct coir_group_wait wait;
};
static coir_declare(random_row);

/* One operation of a task's, which has had its turn when the model is asked. */
static void new_sender(struct random_row *f)
{
    const int n = f->used++;
    int r;

    f->model.item[n] = 1000 * f->move + n;
    f->out[n] = (struct outcome){ .status = 1, .item = -1 };
    coir_spawn(&f->group, coir_new(sender, .channel = &f->c, .item = f->model.item[n], .out = &f->out[n]));
    r = model_put(&f->model, (int)f->model.item[n]);
    f->model.want[n] = (struct outcome){ .status = r, .item = -1, .ended = r != -EAGAIN };
    if (r == -EAGAIN)
        append(&f->model.senders, n);
}

static void new_receiver(struct random_row *f)
{
    const int n = f->used++;
    long item = -1;
    int r;

    f->out[n] = (struct outcome){ .status = 1, .item = -1 };
    coir_spawn(&f->group, coir_new(receiver, .channel = &f->c, .out = &f->out[n]));
    r = model_take(&f->model, &item);
    f->model.want[n] = (struct outcome){ .got = r == 0, .item = item, .ended = r != -EAGAIN };
    if (r == -EAGAIN)
        append(&f->model.receivers, n);
}

/* What a driver can do to the channel at once, without a task: the model has to agree on the spot. */
static void plain_move(struct random_row *f)
{
    long item = 1000 * f->move + 999, want = -1, got = -1;

    if (draw(&f->state) % 2) {
        f->wrong += coir_channel_try_send(&f->c, &item) != model_put(&f->model, (int)item);
    } else {
        f->wrong += coir_channel_try_recv(&f->c, &got) != model_take(&f->model, &want);
        f->wrong += got != want;
    }
}

/* Whatever operation, parked or not: only a parked one minds. */
static void cancel_some(struct random_row *f)
{
    const int n = (int)(draw(&f->state) % (unsigned)(f->used ? f->used : 1));

    if (!f->used || f->out[n].ended || !f->out[n].scope)
        return;
    coir_scope_cancel(f->out[n].scope);
    if (erase(&f->model.senders, n) || erase(&f->model.receivers, n))
        f->model.want[n] = (struct outcome){ .status = -ECANCELED, .item = -1, .ended = 1 };
}

static void compare(struct random_row *f)
{
    for (int n = 0; n < f->used; n++) {
        const struct outcome *want = &f->model.want[n], *is = &f->out[n];
        if (!want->ended != !is->ended) {
            f->wrong++;
            continue;
        }
        if (is->ended)
            f->wrong += is->status != want->status || is->got != want->got || (want->got && is->item != want->item);
    }
    f->wrong += coir_channel_queued(&f->c) != (size_t)f->model.queued.n;
}

/* Several at once now and then: hand-overs, cancellations and closing then meet in one step. */
static void plain_moves(struct random_row *f)
{
    do {
        if (draw(&f->state) % 3)
            plain_move(f);
        else
            cancel_some(f);
    } while (draw(&f->state) % 3);
    if (draw(&f->state) % 500 == 0) {
        coir_channel_close(&f->c);
        model_close(&f->model);
    }
}

coir_body(random_row, f) {
    f->state = f->seed;
    f->wrong = 0;
    f->move = 0;
    while (f->move < MOVES && f->wrong == 0) {
        memset(&f->model, 0, sizeof f->model);
        f->model.capacity = f->capacity;
        f->used = 0;
        coir_channel_init(&f->c, sizeof(long), (size_t)f->capacity);
        coir_group_open(f, &f->group);
        while (f->used < LIVES && f->move < MOVES && f->wrong == 0) {
            f->move++;
            if (draw(&f->state) % 2)
                plain_moves(f);
            else if (draw(&f->state) % 2)
                new_sender(f);
            else
                new_receiver(f);
            coir_await(f, &f->rest, rest);
            compare(f);
        }
        coir_channel_close(&f->c);
        model_close(&f->model);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        compare(f);
        coir_channel_destroy(&f->c);
    }
    EQ(f->wrong, 0, "%d random moves on a channel of %d, as the model has them (the last was %d)", MOVES, f->capacity,
       f->move);
} coir_end

int main(void)
{
    const uint64_t start = seed();

    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    test_plain();
    test_sizes();
    test_steps();
    run_one("arguments", coir_new(arguments));
    run_one("a million, rendezvous", coir_new(many, .capacity = 0));
    run_one("a million, buffered", coir_new(many, .capacity = 64));
    run_one("cost, rendezvous", coir_new(cost, .capacity = 0));
    run_one("cost, buffered", coir_new(cost, .capacity = 1));
    run_one("greedy", coir_new(greedy));
    run_one("in coir_finally", coir_new(finally_row));
    run_one("racing", coir_new(racing));
    run_one("late", coir_new(late));
    run_one("dumped", coir_new(dumped));
    test_rules();
    for (int capacity = 0; capacity < 4; capacity++)
        run_one("random", coir_new(random_row, .seed = start + (uint64_t)capacity, .capacity = capacity));
    return DONE();
}
