/* SPDX-License-Identifier: MIT */
/*
 * Waits of one shard and of cells against what may end them: items, permits and values are counted. Whoever hands
 * over does it in one step, so of two orders one has been when the other comes: the loser finds nothing to do.
 */
#include "races.h"

static bool waits(struct world *w)
{
    return w->begun && w->thing;
}

/* ---- channels: receiving ---- */

static struct coir_channel channel;

static bool begin_rendezvous(struct world *w)
{
    (void)w;
    return coir_channel_init(&channel, sizeof world.item, 0) == 0;
}

static bool begin_buffered(struct world *w)
{
    (void)w;
    return coir_channel_init(&channel, sizeof world.item, 2) == 0;
}

static bool a_receiver_waits(struct world *w)
{
    (void)w;
    return channel.receivers.next != &channel.receivers;
}

static bool a_sender_waits(struct world *w)
{
    (void)w;
    return channel.senders.next != &channel.senders;
}

/* What comes of it is kept: 0 where somebody, or the buffer, has the item. */
static void an_item_comes(struct world *w)
{
    const long long item = 17;

    w->other = coir_channel_try_send(&channel, &item);
}

RACE_WAITS(receives, f->w->number = f->slot.result, coir_channel_recv, .channel = &channel, .item = &f->w->item)

static void check_received(struct world *w)
{
    long long left = 0;
    const bool is_left = coir_channel_try_recv(&channel, &left) == 0;

    RACE_EQ(w->number, w->won, "it says whether there is an item");
    RACE_EQ(w->item, w->won ? 17 : 0, "and has it, or nothing");
    RACE_EQ(w->other, w->won || channel.capacity ? 0 : -EAGAIN, "who sends knows whether somebody has it");
    RACE_EQ(is_left, !w->won && channel.capacity, "it is in one place");
}

static void end_channel(struct world *w)
{
    (void)w;
    coir_channel_destroy(&channel);
}

static const struct contest receive_contest = {
    "channel recv, rendezvous", begin_rendezvous, make_receives, an_item_comes, check_received, end_channel,
    a_receiver_waits, .rivals = BUT_CLOSE };
static const struct contest take_contest = {
    "channel recv, buffered", begin_buffered, make_receives, an_item_comes, check_received, end_channel,
    a_receiver_waits, .rivals = BUT_CLOSE };

/* ---- channels: sending ---- */

/* The first item found; a rendezvous has only the contender's. */
static void an_item_is_taken(struct world *w)
{
    w->other = coir_channel_try_recv(&channel, &w->item);
}

static bool begin_full(struct world *w)
{
    const long long one = 1, two = 2;

    return begin_buffered(w) && coir_channel_try_send(&channel, &one) == 0
        && coir_channel_try_send(&channel, &two) == 0;
}

static const long long three = 3;

RACE_WAITS(sends, (void)0, coir_channel_send, .channel = &channel, .item = &three)

static void check_sent(struct world *w)
{
    long long item, sum = w->item;

    while (coir_channel_try_recv(&channel, &item) == 0)
        sum = 10 * sum + item;
    if (channel.capacity)
        RACE_EQ(sum, w->won ? 123 : 12, "in order, once each, the contender's only if it was sent");
    else
        RACE_EQ(sum, w->won ? 3 : 0, "somebody has it, or nobody");
    RACE_EQ(w->other, w->won || channel.capacity ? 0 : -EAGAIN, "who receives knows");
}

static const struct contest give_contest = {
    "channel send, rendezvous", begin_rendezvous, make_sends, an_item_is_taken, check_sent, end_channel, a_sender_waits,
    .rivals = BUT_CLOSE };
static const struct contest put_contest = {
    "channel send, buffered", begin_full, make_sends, an_item_is_taken, check_sent, end_channel, a_sender_waits,
    .rivals = BUT_CLOSE };

/* ---- the same between shards ---- */

static struct coir_xchan *xchan;

static bool begin_xchan(struct world *w)
{
    (void)w;
    xchan = coir_xchan_new(sizeof world.item, 2);
    return xchan;
}

static bool begin_full_xchan(struct world *w)
{
    const long long one = 1, two = 2;

    return begin_xchan(w) && coir_xchan_try_send(xchan, &one) == 0 && coir_xchan_try_send(xchan, &two) == 0;
}

/* An outsider may end it: so it is counted. */
static bool an_outsider_is_waited_for(struct world *w)
{
    (void)w;
    return coir_shard_here()->external > 0;
}

static void an_xitem_comes(struct world *w)
{
    const long long item = 17;

    w->other = coir_xchan_try_send(xchan, &item);
}

static void an_xitem_is_taken(struct world *w)
{
    w->other = coir_xchan_try_recv(xchan, &w->item);
}

RACE_WAITS(xreceives, f->w->number = f->slot.result, coir_xchan_recv, .channel = xchan, .item = &f->w->item)
RACE_WAITS(xsends, (void)0, coir_xchan_send, .channel = xchan, .item = &three)

static void check_xreceived(struct world *w)
{
    long long left = 0;
    const bool is_left = coir_xchan_try_recv(xchan, &left) == 0;

    RACE_EQ(w->number, w->won, "it says whether there is an item");
    RACE_EQ(w->other, 0, "it was sent");
    RACE_EQ(w->item + left, 17, "and is in one place");
    RACE_EQ(is_left, !w->won, "the right one");
}

static void check_xsent(struct world *w)
{
    long long item, sum = w->item;

    while (coir_xchan_try_recv(xchan, &item) == 0)
        sum = 10 * sum + item;
    RACE_EQ(w->other, 0, "one was received");
    RACE_EQ(sum, w->won ? 123 : 12, "in order, once each, the contender's only if it was sent");
}

static void end_xchan(struct world *w)
{
    (void)w;
    coir_xchan_free(xchan);
}

static const struct contest xreceive_contest = {
    "xchan recv", begin_xchan, make_xreceives, an_xitem_comes, check_xreceived, end_xchan, an_outsider_is_waited_for,
    .rivals = BUT_CLOSE };
static const struct contest xsend_contest = {
    "xchan send", begin_full_xchan, make_xsends, an_xitem_is_taken, check_xsent, end_xchan, an_outsider_is_waited_for,
    .rivals = BUT_CLOSE };

/* ---- permits ---- */

static struct coir_semaphore semaphore;

static bool begin_semaphore(struct world *w)
{
    (void)w;
    coir_semaphore_init(&semaphore, 1);
    return true;
}

static bool somebody_waits(struct world *w)
{
    (void)w;
    return semaphore.waiters.next != &semaphore.waiters;
}

static void a_permit_comes(struct world *w)
{
    (void)w;
    coir_release(&semaphore, 1);
}

RACE_WAITS(acquires, (void)0, coir_acquire, .semaphore = &semaphore, .n = 2)

static void check_permits(struct world *w)
{
    RACE_EQ(semaphore.permits, w->won ? 0 : 2, "each permit is the contender's, or nobody's");
}

static const struct contest acquire_contest = {
    "semaphore", begin_semaphore, make_acquires, a_permit_comes, check_permits, NULL, somebody_waits,
    .rivals = BUT_CLOSE };

/* ---- cells ---- */

static struct coir_cell own;
static struct coir_cell *counted;

static bool begin_own(struct world *w)
{
    coir_cell_init(&own);
    w->thing = &own;
    return true;
}

static bool begin_counted(struct world *w)
{
    w->thing = counted = coir_cell_new();
    return counted;
}

static bool a_cell_is_awaited(struct world *w)
{
    return waits(w) && coir_shard_here()->external > 0;
}

static void it_is_completed(struct world *w)
{
    w->other = coir_cell_complete((struct coir_cell *)w->thing, 0, 17);
}

RACE_WAITS(awaits, f->w->number = f->slot.result, coir_cell_wait, .cell = f->w->thing)

static void check_cell(struct world *w)
{
    RACE_EQ(w->other, 0, "it was completed");
    RACE_OK(coir_cell_done(w->thing), "and stays so");
    RACE_EQ(w->number, w->won ? 17 : 0, "the value is there with the success");
    RACE_EQ(coir_shard_here()->external, 0, "nobody outside is waited for any more");
}

static void end_counted(struct world *w)
{
    (void)w;
    coir_cell_drop(counted);
    coir_cell_drop(counted);
}

static const struct contest own_contest = {
    "cell, in a frame", begin_own, make_awaits, it_is_completed, check_cell, NULL, a_cell_is_awaited,
    .rivals = BUT_CLOSE, .stubborn = true };
static const struct contest counted_contest = {
    "cell, counted", begin_counted, make_awaits, it_is_completed, check_cell, end_counted, a_cell_is_awaited,
    .rivals = BUT_CLOSE };

/* ---- time ---- */

static struct coir_sleep *sleeper;

static bool it_sleeps(struct world *w)
{
    (void)w;
    return sleeper && sleeper->task.state == 1;      /* its timer is nothing before */
}

static bool begin_sleep(struct world *w)
{
    (void)w;
    sleeper = NULL;
    return true;
}

/* Its time has come: what the loop does with a timer that is due. */
static void its_time_comes(struct world *w)
{
    w->number = sleeper && coir_timer_armed(&sleeper->alarm.timer);
    if (w->number) {
        coir_wheel_remove(&coir_shard_here()->wheel, &sleeper->alarm.timer);
        sleeper->alarm.fire(&sleeper->alarm);
    }
}

struct sleeps { coir_frame_void; coir_args(struct world *w;); struct coir_sleep slot; };
static coir_declare(sleeps);
coir_body(sleeps, f) {
    sleeper = &f->slot;
    coir_await(f, &f->slot, coir_sleep, .ns = COIR_S);
    sleeper = NULL;
    f->w->status = coir_status(&f->slot);
    coir_check(f, &f->slot);
} coir_end

static struct coir_task *make_sleeps(struct world *w)
{
    return coir_new(sleeps, .w = w);
}

static void check_sleep(struct world *w)
{
    if (w->order == EVENT_FIRST)
        RACE_EQ(w->number, 1, "the timer was there");
}

static const struct contest sleep_contest = {
    "sleep", begin_sleep, make_sleeps, its_time_comes, check_sleep, NULL, it_sleeps, .rivals = BUT_CLOSE,
    .has_no_after = true };

/* ---- a channel that is closed: no rival of the waiter's scope, but an end of another kind ---- */

struct closing {
    coir_frame_void;
    coir_args(bool sends; bool first;);
    long long item;
    struct coir_channel c;
    struct coir_group group;
    union {
        struct coir_pass pass;
        struct coir_group_wait wait;
    };
    struct partner {
        coir_frame_void;
        coir_args(struct closing *c;);
        union {
            struct coir_channel_send send;
            struct coir_channel_recv recv;
        };
    } partner;
    int status, got;
};
static coir_declare(partner);
static coir_declare(closing);

coir_body(partner, f) {
    if (f->c->sends) {
        coir_await(f, &f->send, coir_channel_send, .channel = &f->c->c, .item = &three);
        f->c->status = coir_status(&f->send);
    } else {
        coir_await(f, &f->recv, coir_channel_recv, .channel = &f->c->c, .item = &f->c->item);
        f->c->status = coir_status(&f->recv);
        f->c->got = f->recv.result;
    }
} coir_end

coir_body(closing, f) {
    coir_channel_init(&f->c, sizeof f->item, 0);
    f->item = 0;
    f->got = f->status = -1;
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(partner, .c = f));
    while (f->c.senders.next == &f->c.senders && f->c.receivers.next == &f->c.receivers)
        coir_await(f, &f->pass, coir_pass);
    if (!f->first)
        coir_channel_close(&f->c);
    if (f->sends)
        RACE_EQ(coir_channel_try_recv(&f->c, &f->item), f->first ? 0 : -EPIPE, "who receives knows");
    else
        RACE_EQ(coir_channel_try_send(&f->c, &three), f->first ? 0 : -EPIPE, "who sends knows");
    coir_channel_close(&f->c);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    RACE_EQ(f->item, f->first ? 3 : 0, "the item is handed over, or nobody has it");
    RACE_EQ(f->status, f->first || !f->sends ? 0 : -EPIPE, "what the waiter says");
    if (!f->sends)
        RACE_EQ(f->got, f->first, "it was received, or there is none to come");
} coir_end

static void closings(void)
{
    for (int i = 0; i < 4; i++) {
        race_is(i / 2 ? "channel send" : "channel recv", "close of the channel", i % 2 ? 'B' : 'A');
        RACE_EQ(coir_run(NULL, coir_new(closing, .sends = i / 2, .first = i % 2 == 0)), 0, "it ends well");
    }
}

/* ---- revoking a cell ---- */

struct revoking {
    coir_frame_void;
    coir_args(bool first;);
    struct coir_cell cell;
    struct coir_cell_wait *wait;
    struct coir_group group;
    union {
        struct coir_pass pass;
        struct coir_group_wait leave;
    };
    int64_t value;
    int status;
};
struct revoked {
    coir_frame_void;
    coir_args(struct revoking *r;);
    struct coir_cell_wait wait;
};
static coir_declare(revoked);
static coir_declare(revoking);

coir_body(revoked, f) {
    coir_await(f, &f->wait, coir_cell_wait, .cell = &f->r->cell);
    f->r->status = coir_status(&f->wait);
    f->r->value = f->wait.result;
} coir_end

coir_body(revoking, f) {
    coir_cell_init(&f->cell);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(revoked, .r = f));
    while (coir_shard_here()->external == 0)
        coir_await(f, &f->pass, coir_pass);
    if (f->first)
        RACE_EQ(coir_cell_complete(&f->cell, 0, 17), 0, "it is completed");
    RACE_EQ(coir_cell_revoke(&f->cell), !f->first, "revoking says whether it will ever be");
    if (!f->first)
        RACE_EQ(coir_cell_complete(&f->cell, 0, 17), -ECANCELED, "who completes it is told");
    coir_await(f, &f->leave, coir_group_wait, .group = &f->group);
    RACE_EQ(f->status, f->first ? 0 : -ECANCELED, "what the waiter says");
    RACE_EQ(f->value, f->first ? 17 : 0, "and has");
} coir_end

/* A callback instead of a waiter: the order of setting it and of completing. */
static int called;

static void call(struct coir_cell *c, void *arg)
{
    called += c->value == 17 ? *(int *)arg : 1000;
}

static void callbacks(void)
{
    struct coir_cell c;
    int one = 1;

    for (int i = 0; i < 4; i++) {
        called = 0;
        coir_cell_init(&c);
        race_is(i < 2 ? "cell, completed" : "cell with a callback", i < 2 ? "setting a callback" : "revoke",
                i % 2 ? 'B' : 'A');
        if (i == 0)
            coir_cell_complete(&c, 0, 17);
        if (i == 3)
            RACE_OK(coir_cell_revoke(&c), "it is taken back");
        coir_cell_call(&c, call, &one);
        if (i == 1 || i == 2)
            coir_cell_complete(&c, 0, 17);
        if (i == 2)
            RACE_OK(!coir_cell_revoke(&c), "it is too late");
        if (i == 3)
            RACE_EQ(coir_cell_complete(&c, 0, 17), -ECANCELED, "who completes it is told");
        RACE_EQ(called, i != 3, "it is called once, or never");
    }
}

int main(void)
{
    setenv("COIR_TIME", "virtual", 1);
    race_all(&receive_contest);
    race_all(&take_contest);
    race_all(&give_contest);
    race_all(&put_contest);
    race_all(&xreceive_contest);
    race_all(&xsend_contest);
    race_all(&acquire_contest);
    race_all(&own_contest);
    race_all(&counted_contest);
    race_all(&sleep_contest);
    closings();
    for (int i = 0; i < 2; i++) {
        race_is("cell, in a frame", "revoke", i ? 'B' : 'A');
        RACE_EQ(coir_run(NULL, coir_new(revoking, .first = i == 0)), 0, "it ends well");
    }
    callbacks();
    return DONE();
}
