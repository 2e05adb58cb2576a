/* SPDX-License-Identifier: MIT */
/*
 * What must not be done with a channel of one shard stops the program, with the task and the place; and a receive that
 * nobody will ever serve is a deadlock.
 */
#include "channel_test.h"

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

int main(void)
{
    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    test_rules();
    return DONE();
}
