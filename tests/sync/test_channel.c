/* SPDX-License-Identifier: MIT */
/*
 * A channel of one shard, call by call: what each says of its arguments, items of every size, and where a send or a
 * receive may stand: in coir_finally, in a race, under a deadline, in the dump.
 */
#include "channel_test.h"

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

int main(void)
{
    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    test_plain();
    test_sizes();
    run_one("arguments", coir_new(arguments));
    run_one("in coir_finally", coir_new(finally_row));
    run_one("racing", coir_new(racing));
    run_one("late", coir_new(late));
    run_one("dumped", coir_new(dumped));
    return DONE();
}
