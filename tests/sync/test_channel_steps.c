/* SPDX-License-Identifier: MIT */
/*
 * The orders of hand-over, cancelling and closing at a channel of one shard, step by step: a driver does several things
 * between two awaits, when nobody else can run, and then lets the others go on.
 */
#include "channel_test.h"

/* ---- the driver's frame ---- */

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

int main(void)
{
    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    test_steps();
    return DONE();
}
