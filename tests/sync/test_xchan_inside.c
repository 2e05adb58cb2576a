/* SPDX-License-Identifier: MIT */
/*
 * The moments inside a send or receive of a channel between shards at which another thread may do anything:
 * between claiming a position and publishing its slot. Threads meet there too seldom to test; so the file is
 * compiled in here, and the two halves are called by hand, with everything else happening in between, its end too.
 */
#include "runtime/sync/xchan.c"

#include <signal.h>

#include "sync_test.h"

struct outcome {
    int status;
    bool got, ended;
    long item;
};

struct receiver {
    coir_frame_void;
    coir_args(struct coir_xchan *channel; struct outcome *out;);
    struct coir_xchan_recv recv;
};
static coir_declare(receiver);

coir_body(receiver, f) {
    coir_await(f, &f->recv, coir_xchan_recv, .channel = f->channel, .item = &f->out->item);
    *f->out = (struct outcome){ coir_status(&f->recv), f->recv.result, true, f->out->item };
} coir_end

struct sender {
    coir_frame_void;
    coir_args(struct coir_xchan *channel; long item; struct outcome *out;);
    struct coir_xchan_send send;
};
static coir_declare(sender);

coir_body(sender, f) {
    coir_await(f, &f->send, coir_xchan_send, .channel = f->channel, .item = &f->item);
    *f->out = (struct outcome){ coir_status(&f->send), false, true, 0 };
} coir_end

/* ---- the halves ---- */

struct half {
    struct slot *slot;
    uint64_t at;
};

static struct half begin_send(struct coir_xchan *x, long item)
{
    struct half h;

    EQ(claim_free(x, &h.slot, &h.at), 0, "a send of %ld claims its slot", item);
    memcpy(h.slot->item, &item, sizeof item);
    return h;
}

/* True when somebody watched. */
static bool end_send(struct coir_xchan *x, struct half h)
{
    if (publish(h.slot, h.at, h.at + 1))
        return false;
    publish_watched(x, h.slot, h.at + 1);
    return true;
}

static struct half begin_recv(struct coir_xchan *x, long want)
{
    struct half h;
    long got;

    EQ(claim_full(x, &h.slot, &h.at), 0, "a receive claims its slot");
    memcpy(&got, h.slot->item, sizeof got);
    EQ(got, want, "of %ld", want);
    return h;
}

static bool end_recv(struct coir_xchan *x, struct half h)
{
    if (publish(h.slot, h.at + 1, h.at + x->lap))
        return false;
    publish_watched(x, h.slot, h.at + x->lap);
    return true;
}

static int try_push(struct coir_xchan *x, long item)
{
    return coir_xchan_try_send(x, &item);
}

static long try_pop(struct coir_xchan *x)
{
    long item = -1;
    const int err = coir_xchan_try_recv(x, &item);

    return err ? err : item;
}

/* ---- what happens in between ---- */

enum { PHASES = 4 };

/* Runs `phase` after `phase`, and in between lets everybody go on. */
struct inside {
    coir_frame_void;
    coir_args(size_t capacity; void (*phase[PHASES])(struct inside *););
    struct coir_xchan *x;
    struct coir_group group;
    struct outcome o[3];
    struct half first, second;
    int i;
    struct rest rest;
    struct coir_group_wait wait;
};
static coir_declare(inside);

coir_body(inside, f) {
    memset(f->o, 0, sizeof f->o);
    f->x = coir_xchan_new(sizeof(long), f->capacity);
    coir_group_open(f, &f->group);
    for (f->i = 0; f->i < PHASES && f->phase[f->i]; f->i++) {
        f->phase[f->i](f);
        coir_await(f, &f->rest, rest);
    }
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_xchan_free(f->x);
} coir_end

static void receivers(struct inside *f, int n)
{
    for (int i = 0; i < n; i++)
        coir_spawn(&f->group, coir_new(receiver, .channel = f->x, .out = &f->o[i]));
}

static void a_sender(struct inside *f, long item, struct outcome *out)
{
    coir_spawn(&f->group, coir_new(sender, .channel = f->x, .item = item, .out = out));
}

static void got(const struct outcome *o, long item)
{
    OK(o->ended && o->status == 0 && o->got, "a receiver got an item");
    EQ(o->item, item, "%ld", item);
}

static void sent(const struct outcome *o)
{
    OK(o->ended && o->status == 0, "the sender has sent");
}

/* A receiver lines up in the middle of a send. */

static void send_begins(struct inside *f)
{
    f->first = begin_send(f->x, 1);
    EQ(try_pop(f->x), -EAGAIN, "which is not yet there");
    receivers(f, 1);
}

static void send_ends(struct inside *f)
{
    OK(!f->o[0].ended, "the receiver waits");
    OK(end_send(f->x, f->first), "the send finds that it is watched");
}

static void first_got_one(struct inside *f)
{
    got(&f->o[0], 1);
}

/* Two sends are in their middle, and end the other way round. */

static void two_begin(struct inside *f)
{
    f->first = begin_send(f->x, 1);
    f->second = begin_send(f->x, 2);
    EQ(try_push(f->x, 3), -EAGAIN, "there is no place for a third");
    receivers(f, 2);
}

static void second_ends(struct inside *f)
{
    OK(!end_send(f->x, f->second), "nobody watches the second: it is the first that counts");
}

static void first_ends(struct inside *f)
{
    OK(!f->o[0].ended && !f->o[1].ended, "both wait");
    OK(end_send(f->x, f->first), "the first is watched");
}

static void both_got(struct inside *f)
{
    got(&f->o[0], 1);
    got(&f->o[1], 2);
}

/* A sender lines up in the middle of a receive. */

static void recv_begins(struct inside *f)
{
    EQ(try_push(f->x, 1), 0, "one item");
    f->first = begin_recv(f->x, 1);
    EQ(try_push(f->x, 2), -EAGAIN, "its place is not yet free");
    a_sender(f, 2, &f->o[0]);
}

static void recv_ends(struct inside *f)
{
    OK(!f->o[0].ended, "the sender waits");
    OK(end_recv(f->x, f->first), "the receive finds that it is watched");
}

static void sender_has_sent(struct inside *f)
{
    sent(&f->o[0]);
    EQ(try_pop(f->x), 2, "its item");
}

/* Both line up in the middle of a send into a channel of one. */

static void all_line_up(struct inside *f)
{
    f->first = begin_send(f->x, 1);
    receivers(f, 2);
    a_sender(f, 2, &f->o[2]);
}

static void all_wait(struct inside *f)
{
    OK(!f->o[0].ended && !f->o[1].ended && !f->o[2].ended, "all wait");
    OK(end_send(f->x, f->first), "the send is watched");
}

static void all_went(struct inside *f)
{
    got(&f->o[0], 1);
    got(&f->o[1], 2);
    sent(&f->o[2]);
}

/* It is closed in the middle of a send. */

static void two_receivers(struct inside *f)
{
    f->first = begin_send(f->x, 1);
    receivers(f, 2);
}

static void it_is_closed(struct inside *f)
{
    coir_xchan_close(f->x);
    OK(coir_list_first(&f->x->receivers) != NULL, "it is not drained, one item is under way: the receivers wait");
    EQ(try_pop(f->x), -EAGAIN, "as everybody would");
    EQ(try_push(f->x, 2), -EPIPE, "no more can be sent");
    OK(end_send(f->x, f->first), "the send is watched");
}

static void one_got_it_one_was_told(struct inside *f)
{
    got(&f->o[0], 1);
    OK(f->o[1].ended && f->o[1].status == 0 && !f->o[1].got, "the other is told that nothing is left");
}

/* A receive that began before anybody waited takes what a waiter was about to get: the send ends under the
 * lock, as it does, and the other goes first. */

static void overtaken(struct inside *f)
{
    struct served done;

    OK(!publish(f->first.slot, f->first.at, f->first.at + 1), "the send is watched");
    begin(f->x, &done, NULL);
    publish_locked(f->first.slot, f->first.at + 1);
    f->second = begin_recv(f->x, 1);
    settle(f->x, &done);
    end(f->x, &done);
    end_recv(f->x, f->second);
    OK(coir_list_first(&f->x->receivers) != NULL, "the waiter goes on waiting");
    EQ(f->x->waiting, 1, "and is counted");
    f->first = begin_send(f->x, 2);
    OK(end_send(f->x, f->first), "and watches the next slot");
}

static void first_got_two(struct inside *f)
{
    got(&f->o[0], 2);
}

/* Who watched is cancelled. */

static void watcher_cancelled(struct inside *f)
{
    coir_group_cancel(&f->group);
    OK(end_send(f->x, f->first), "the slot is watched by nobody, which does no harm");
    OK(!(f->first.slot->stamp & WATCHED), "and is not any more");
}

static void item_is_there(struct inside *f)
{
    OK(f->o[0].ended && f->o[0].status == -ECANCELED, "the receiver was cancelled");
    EQ(try_pop(f->x), 1, "the item is there");
}

/* ---- its end ---- */

struct freeing {
    struct coir_xchan *x;
    int freed;                            /* atomic */
};

static void *frees(void *arg)
{
    struct freeing *f = arg;

    coir_xchan_free(f->x);
    __atomic_store_n(&f->freed, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* A thread frees the channel in the middle of a receive. */
static void freed_inside(const char *name, struct coir_xchan *x, struct half h, bool watched)
{
    struct freeing f = { .x = x };
    pthread_t thread;

    pthread_create(&thread, NULL, frees, &f);
    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    if (OK(!__atomic_load_n(&f.freed, __ATOMIC_ACQUIRE), "%s: it is not freed while an item is copied out", name))
        EQ(end_recv(x, h), watched, "%s: the receive ends", name);
    pthread_join(thread, NULL);
}

static struct coir_xchan *of_two(size_t capacity)
{
    struct coir_xchan *x = coir_xchan_new(sizeof(long), capacity);

    for (long i = 1; i <= 2; i++)
        EQ(try_push(x, i), 0, "item %ld", i);
    return x;
}

static void freed_in_the_middle(void)
{
    struct coir_xchan *x = of_two(3);
    struct half h;

    coir_xchan_close(x);
    EQ(try_pop(x), 1, "one is received");
    h = begin_recv(x, 2);
    EQ(try_pop(x), -EPIPE, "nothing is left for others");
    freed_inside("nothing left", x, h, false);

    x = of_two(2);
    h = begin_recv(x, 1);
    EQ(try_pop(x), 2, "another receives the last");
    freed_inside("the last received", x, h, false);

    x = of_two(2);
    h = begin_recv(x, 1);
    pthread_mutex_lock(&x->lock);
    OK(watch(x, &x->tail, 0), "a sender watched, who has been cancelled");
    pthread_mutex_unlock(&x->lock);
    EQ(try_pop(x), 2, "another receives the last");
    freed_inside("watched", x, h, true);
}

/* Whatever is left in it, in whichever lap, nobody is waited for. */
static void freed_at_rest(void)
{
    for (size_t capacity = 1; capacity <= 4; capacity++)
        for (int passed = 0; passed <= 9; passed++)
            for (size_t left = 0; left <= capacity; left++) {
                struct coir_xchan *x = coir_xchan_new(sizeof(long), capacity);
                size_t good = 0;
                for (int i = 0; i < passed; i++)
                    good += try_push(x, i) == 0 && try_pop(x) == i;
                for (size_t i = 0; i < left; i++)
                    good += try_push(x, 0) == 0;
                if (left % 2)
                    coir_xchan_close(x);
                coir_xchan_free(x);
                EQ(good, (size_t)passed + left, "of %zu, after %d: freed with %zu", capacity, passed, left);
            }
}

static void drive(const char *name, size_t capacity, void (*a)(struct inside *), void (*b)(struct inside *),
                  void (*c)(struct inside *), void (*d)(struct inside *))
{
    NOTE("%s", name);
    run_one(name, coir_new(inside, .capacity = capacity, .phase = { a, b, c, d }));
}

int main(void)
{
    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    drive("a receiver in the middle of a send", 2, send_begins, send_ends, first_got_one, NULL);
    drive("sends that end the other way round", 2, two_begin, second_ends, first_ends, both_got);
    drive("a sender in the middle of a receive", 1, recv_begins, recv_ends, sender_has_sent, NULL);
    drive("everybody in the middle of a send", 1, all_line_up, all_wait, all_went, NULL);
    drive("closed in the middle of a send", 2, two_receivers, it_is_closed, one_got_it_one_was_told, NULL);
    drive("overtaken", 2, send_begins, overtaken, first_got_two, NULL);
    drive("cancelled while watching", 2, send_begins, watcher_cancelled, item_is_there, NULL);
    freed_in_the_middle();
    freed_at_rest();
    return DONE();
}
