/* SPDX-License-Identifier: MIT */
/*
 * Joint selects: several of which one is served (runtime/task/arm.h). What one shard sees is driven step by step; where
 * it depends on another thread's having tried a joint, a thread plays that. What depends on real shards is counted:
 * tasks select over channels of several shards, beside plain senders, receivers and selects, and are cancelled at
 * random; every item that somebody says he sent is received once, or left, and no other is. Runs under ThreadSanitizer
 * too. From a seed that is printed: COIR_SEED repeats it, as far as threads do.
 */
#include <pthread.h>

#include "runtime/base/assert.h"
#include "runtime/sync/select.h"
#include "select_test.h"

#define REST(f) coir_await(f, &(f)->rest, rest)

#define DRIVER(name, ...) \
    struct name { \
        coir_frame_void; \
        coir_no_args; \
        struct coir_group group; \
        struct coir_channel a, b; \
        struct coir_joint joint[2]; \
        struct chosen one, two, three; \
        long item[4]; \
        int ended[4], i; \
        struct rest rest; \
        struct coir_group_wait wait; \
        __VA_ARGS__ \
    }; \
    static coir_declare(name)

/* `a` is a rendezvous, `b` has room for one. */
#define BEGIN(f) do { \
        coir_channel_init(&(f)->a, sizeof(long), 0); \
        coir_channel_init(&(f)->b, sizeof(long), 1); \
        coir_group_open(f, &(f)->group); \
        memset((f)->ended, 0, sizeof (f)->ended); \
        memset((f)->joint, 0, sizeof (f)->joint); \
    } while (0)

#define END(f) do { \
        coir_try(f, &(f)->wait, coir_group_wait, .group = &(f)->group); \
        EQ((f)->a.arms + (f)->b.arms, 0, "no arm is left in a line"); \
        coir_channel_destroy(&(f)->a); \
        coir_channel_destroy(&(f)->b); \
    } while (0)

/* Some select of another shard, that has won. */
static struct coir_select foreign;

/* All arms off; with a joint, the first is its. */
static void clear(struct chosen *o, struct coir_joint *j)
{
    for (int i = 0; i < ARMS; i++) {
        o->item[i] = -1;
        coir_arm_off(&o->arms[i]);
    }
    if (j)
        coir_arm_joint(&o->arms[0], j);
}

static void sends(struct chosen *o, int i, struct coir_channel *c, long item)
{
    o->item[i] = item;
    coir_arm_send(&o->arms[i], c, &o->item[i]);
}

static void receives(struct chosen *o, int i, struct coir_channel *c)
{
    o->item[i] = -1;
    coir_arm_recv(&o->arms[i], c, &o->item[i]);
}

static void cancel(const struct chosen *o)
{
    if (!o->ended)
        coir_scope_cancel(o->scope);
}

static int push(struct coir_channel *c, long item)
{
    return coir_channel_try_send(c, &item);
}

/* The item, or the error. */
static long pop(struct coir_channel *c)
{
    long item = -1;
    const int err = coir_channel_try_recv(c, &item);

    return err ? err : item;
}

static void lost(const struct chosen *o, const char *what)
{
    OK(o->ended, "%s: the select has ended", what);
    EQ(o->status, -ECANCELED, "%s: with nothing", what);
    for (int i = 0; i < ARMS; i++) {
        if (o->arms[i].kind == COIR_ARM_RECV_)
            EQ(o->item[i], -1, "%s: nothing is received by arm %d", what, i);
    }
}

static bool is_won(const struct coir_joint *j)
{
    return j->claim > COIR_ARMS_CANCELLED;
}

/* ---- one alone ---- */

DRIVER(begins,);

coir_body(begins, f) {
    BEGIN(f);
    EQ(push(&f->b, 1), 0, "one is queued");
    coir_spawn(&f->group, coir_new(giving, .channel = &f->b, .item = 2, .ended = &f->ended[0]));
    REST(f);
    clear(&f->one, &f->joint[0]);
    receives(&f->one, 1, &f->a);
    receives(&f->one, 2, &f->b);
    spawn_select(&f->group, &f->one, 3);
    REST(f);
    chose(&f->one, 2, 0, "what is queued");
    OK(coir_arm_received(&f->one.arms[2]) && f->one.item[2] == 1, "it has been received");
    OK(is_won(&f->joint[0]), "the joint is won");
    OK(f->ended[0] && coir_channel_queued(&f->b) == 1, "who waited behind it has its place");
    EQ(pop(&f->b), 2, "its item");

    f->joint[0].claim = 0;
    coir_spawn(&f->group, coir_new(taking, .channel = &f->a, .item = &f->item[0], .ended = &f->ended[1]));
    REST(f);
    sends(&f->one, 1, &f->a, 3);
    sends(&f->one, 2, &f->b, 4);
    spawn_select(&f->group, &f->one, 3);
    REST(f);
    chose(&f->one, 1, 0, "a waiting receiver");
    OK(f->ended[1] && f->item[0] == 3, "has it");
    f->joint[0].claim = 0;
    spawn_select(&f->group, &f->one, 3);
    REST(f);
    chose(&f->one, 2, 0, "room");
    EQ(pop(&f->b), 4, "is taken");
    f->joint[0].claim = 0;
    coir_spawn(&f->group, coir_new(giving, .channel = &f->a, .item = 5, .ended = &f->ended[2]));
    REST(f);
    receives(&f->one, 1, &f->a);
    spawn_select(&f->group, &f->one, 2);
    REST(f);
    chose(&f->one, 1, 0, "a waiting sender");
    OK(f->ended[2] && f->one.item[1] == 5, "its item");

    coir_channel_close(&f->a);
    coir_channel_close(&f->b);
    for (f->i = 0; f->i < 4; f->i++) {
        f->joint[0].claim = 0;
        if (f->i & 1)
            receives(&f->one, 1, f->i & 2 ? &f->a : &f->b);
        else
            sends(&f->one, 1, f->i & 2 ? &f->a : &f->b, 6);
        spawn_select(&f->group, &f->one, 2);
        REST(f);
        chose(&f->one, 1, f->i & 1 ? 0 : -EPIPE, "closed");
        OK(!coir_arm_received(&f->one.arms[1]) && is_won(&f->joint[0]), "and taken all the same");
    }
    END(f);
} coir_end

DRIVER(waiting,);

coir_body(waiting, f) {
    BEGIN(f);
    for (f->i = 0; f->i < 2; f->i++) {
        f->joint[0].claim = 0;
        clear(&f->one, &f->joint[0]);
        receives(&f->one, 1, &f->a);
        receives(&f->one, 2, &f->b);
        receives(&f->one, 3, &f->b);
        spawn_select(&f->group, &f->one, 4);
        REST(f);
        waits(&f->one, "nothing is there");
        OK(!is_won(&f->joint[0]), "nobody has won");
        EQ(push(f->i ? &f->b : &f->a, 1), 0, "one comes");
        OK(is_won(&f->joint[0]), "the joint is won at once");
        EQ(push(&f->a, 2), -EAGAIN, "nobody waits at a");
        EQ(push(&f->b, 3), 0, "and at b");
        cancel(&f->one);     /* too late */
        REST(f);
        chose(&f->one, f->i ? 2 : 1, 0, "it");
        EQ(pop(&f->b), 3, "what came after it is left");
    }
    EQ(push(&f->b, 4), 0, "b is full");
    for (f->i = 0; f->i < 2; f->i++) {
        f->joint[0].claim = 0;
        sends(&f->one, 1, &f->a, 5);
        sends(&f->one, 2, &f->b, 6);
        spawn_select(&f->group, &f->one, 3);
        REST(f);
        waits(&f->one, "there is no room");
        EQ(f->i ? pop(&f->b) : pop(&f->a), f->i ? 4 : 5, "one is received");
        REST(f);
        chose(&f->one, f->i ? 2 : 1, 0, "sent");
    }
    EQ(pop(&f->b), 6, "into the room there was");

    f->joint[0].claim = 0;
    receives(&f->one, 2, &f->b);
    spawn_select(&f->group, &f->one, 3);
    REST(f);
    cancel(&f->one);
    EQ(push(&f->b, 7), 0, "one comes too late");
    REST(f);
    EQ(f->one.status, -ECANCELED, "it is cancelled");
    EQ(f->joint[0].claim, COIR_ARMS_OPEN, "the joint is for others to win");
    EQ(pop(&f->b), 7, "the item is left");
    spawn_select(&f->group, &f->one, 3);
    REST(f);
    coir_channel_close(&f->a);
    REST(f);
    chose(&f->one, 1, -EPIPE, "closed meanwhile");
    EQ(push(&f->b, 8), 0, "nobody waits at b");
    END(f);
} coir_end

DRIVER(refused, struct coir_sleep sleep; struct coir_select select; struct coir_xchan *x;);

coir_body(refused, f) {
    BEGIN(f);
    f->x = coir_xchan_new(sizeof(long), 1);
    clear(&f->one, &f->joint[0]);
    receives(&f->one, 1, &f->a);
    for (f->i = 0; f->i < 5; f->i++) {
        if (f->i == 0)
            coir_arm_joint(&f->one.arms[2], &f->joint[0]);
        else if (f->i == 1)
            coir_arm_until(&f->one.arms[2], COIR_NEVER);
        else if (f->i == 2)
            coir_arm_ready(&f->one.arms[2], 0, POLLIN);
        else if (f->i == 3)
            coir_arm_xrecv(&f->one.arms[2], f->x, &f->one.item[2]);
        else
            coir_arm_joint(&f->one.arms[0], NULL);
        coir_await(f, &f->select, coir_select, .arms = f->one.arms, .n = 3);
        EQ(coir_status(&f->select), -EINVAL, "what a joint select cannot have: %d", f->i);
        EQ(f->select.result, f->i == 4 ? 0 : 2, "and where");
    }
    clear(&f->one, &f->joint[0]);
    coir_await(f, &f->select, coir_select, .arms = f->one.arms, .n = 3, .now = true);
    EQ(coir_status(&f->select), -EAGAIN, "it does not wait when it is not to");
    coir_xchan_free(f->x);
    END(f);
} coir_end

/* ---- the joint is lost ---- */

/* Makes arm 1 of `one` ready in one way or another; `two` waits for some of them. */
enum { QUEUED, SENDER, ROOM, RECEIVER, JOINT_SENDER, JOINT_RECEIVER, PLAIN_RECEIVER, NOTHING, SITUATIONS };

DRIVER(too_late,);

coir_body(too_late, f) {
    BEGIN(f);
    for (f->i = 0; f->i < SITUATIONS; f->i++) {
        clear(&f->one, &f->joint[0]);
        clear(&f->two, f->i == PLAIN_RECEIVER ? NULL : &f->joint[1]);
        memset(f->joint, 0, sizeof f->joint);
        f->joint[0].claim = (uintptr_t)&foreign;
        f->item[0] = -1;
        if (f->i == QUEUED)
            push(&f->b, 1);
        else if (f->i == SENDER)
            coir_spawn(&f->group, coir_new(giving, .channel = &f->a, .item = 1, .ended = &f->ended[0]));
        else if (f->i == RECEIVER)
            coir_spawn(&f->group, coir_new(taking, .channel = &f->a, .item = &f->item[0], .ended = &f->ended[0]));
        else if (f->i == JOINT_SENDER)
            sends(&f->two, 1, &f->a, 1);
        else if (f->i == JOINT_RECEIVER || f->i == PLAIN_RECEIVER)
            receives(&f->two, 1, &f->a);
        if (f->i >= JOINT_SENDER && f->i <= PLAIN_RECEIVER)
            spawn_select(&f->group, &f->two, 2);
        if (f->i == ROOM || f->i == RECEIVER || f->i == JOINT_RECEIVER || f->i == PLAIN_RECEIVER)
            sends(&f->one, 1, f->i == ROOM ? &f->b : &f->a, 2);
        else
            receives(&f->one, 1, f->i == QUEUED ? &f->b : &f->a);
        REST(f);
        spawn_select(&f->group, &f->one, 2);
        REST(f);
        lost(&f->one, "it is too late");
        EQ(coir_channel_queued(&f->b), f->i == QUEUED, "nothing has been queued or taken");
        if (f->i == QUEUED)
            EQ(pop(&f->b), 1, "it is left");
        else if (f->i == SENDER || f->i == JOINT_SENDER)
            EQ(pop(&f->a), 1, "the sender is left");
        else if (f->i == RECEIVER || f->i == JOINT_RECEIVER || f->i == PLAIN_RECEIVER)
            EQ(push(&f->a, 3), 0, "the receiver is left");
        REST(f);
        if (f->i >= JOINT_SENDER && f->i <= PLAIN_RECEIVER)
            chose(&f->two, 1, 0, "and is served then");
        if (f->i == RECEIVER)
            EQ(f->item[0], 3, "and is served then");
    }
    coir_channel_close(&f->a);
    for (f->i = 0; f->i < 2; f->i++) {
        f->i ? receives(&f->one, 1, &f->a) : sends(&f->one, 1, &f->a, 1);
        spawn_select(&f->group, &f->one, 2);
        REST(f);
        lost(&f->one, "closed, and too late");
    }
    END(f);
} coir_end

DRIVER(passed_over,);

coir_body(passed_over, f) {
    BEGIN(f);
    clear(&f->one, &f->joint[0]);
    receives(&f->one, 1, &f->a);
    receives(&f->one, 2, &f->b);
    spawn_select(&f->group, &f->one, 3);
    REST(f);
    coir_spawn(&f->group, coir_new(taking, .channel = &f->a, .item = &f->item[0], .ended = &f->ended[0]));
    REST(f);
    f->joint[0].claim = (uintptr_t)&foreign;
    EQ(push(&f->a, 1), 0, "one comes");
    EQ(f->item[0], 1, "it goes to the next in the line");
    EQ(push(&f->a, 2), -EAGAIN, "nobody is there any more");
    REST(f);
    waits(&f->one, "it is not told");
    coir_channel_destroy(&f->a);             /* one arm has left it, the other is over */
    coir_channel_destroy(&f->b);
    memset(&f->a, 0xA5, sizeof f->a);
    memset(&f->b, 0xA5, sizeof f->b);
    cancel(&f->one);
    REST(f);
    lost(&f->one, "passed over");
    coir_channel_init(&f->a, sizeof(long), 0);
    coir_channel_init(&f->b, sizeof(long), 1);

    /* The same of senders; nobody behind; and closed. */
    EQ(push(&f->b, 3), 0, "b is full");
    f->joint[0].claim = 0;
    sends(&f->one, 1, &f->a, 4);
    sends(&f->one, 2, &f->b, 5);
    spawn_select(&f->group, &f->one, 3);
    REST(f);
    f->joint[0].claim = (uintptr_t)&foreign;
    EQ(pop(&f->b), 3, "one is received");
    EQ(coir_channel_queued(&f->b), 0, "and none comes after it");
    EQ(pop(&f->a), -EAGAIN, "and none is there");
    coir_channel_close(&f->a);
    waits(&f->one, "it is not told");
    cancel(&f->one);
    REST(f);
    lost(&f->one, "passed over again");
    END(f);
} coir_end

/* ---- two meet ---- */

/* Who begins, in `one`, meets who waits, in `two`: either may be a plain select, and either joint the lower. */
DRIVER(meeting, struct coir_joint *mine, *theirs; int how;);

static void set_meeting(struct meeting *f)
{
    const bool lower = f->how & 4;

    memset(f->joint, 0, sizeof f->joint);
    f->mine = &f->joint[!lower];
    f->theirs = &f->joint[lower];
    clear(&f->one, f->how & 2 ? NULL : f->mine);
    clear(&f->two, f->how & 8 ? NULL : f->theirs);
    f->how & 1 ? sends(&f->one, 1, &f->a, 8) : receives(&f->one, 1, &f->a);
    f->how & 1 ? receives(&f->two, 1, &f->a) : sends(&f->two, 1, &f->a, 8);
    receives(&f->two, 2, &f->b);
}

coir_body(meeting, f) {
    BEGIN(f);
    for (f->how = 0; f->how < 16; f->how++) {
        set_meeting(f);
        spawn_select(&f->group, &f->two, 3);
        REST(f);
        waits(&f->two, "nobody is there");
        spawn_select(&f->group, &f->one, 2);
        REST(f);
        chose(&f->one, 1, 0, "who comes");
        chose(&f->two, 1, 0, "who waited");
        EQ(f->one.item[1] + f->two.item[1], 16, "one has the other's item");
        EQ(is_won(f->mine), !(f->how & 2), "its joint is won");
        EQ(is_won(f->theirs), !(f->how & 8), "and the other's");
    }
    END(f);
} coir_end

DRIVER(next_partner,);

coir_body(next_partner, f) {
    BEGIN(f);
    for (f->i = 0; f->i < 4; f->i++) {
        memset(f->joint, 0, sizeof f->joint);
        memset(f->ended, 0, sizeof f->ended);
        clear(&f->one, &f->joint[0]);
        clear(&f->two, f->i & 2 ? &f->joint[0] : &f->joint[1]);
        f->i & 1 ? sends(&f->one, 1, &f->a, 7) : receives(&f->one, 1, &f->a);
        f->i & 1 ? receives(&f->two, 1, &f->a) : sends(&f->two, 1, &f->a, 8);
        spawn_select(&f->group, &f->two, 2);
        REST(f);
        if (f->i & 1)
            coir_spawn(&f->group, coir_new(taking, .channel = &f->a, .item = &f->item[0], .ended = &f->ended[0]));
        else
            coir_spawn(&f->group, coir_new(giving, .channel = &f->a, .item = 7, .ended = &f->ended[0]));
        REST(f);
        f->joint[1].claim = (uintptr_t)&foreign;
        spawn_select(&f->group, &f->one, 2);
        REST(f);
        chose(&f->one, 1, 0, f->i & 2 ? "not of its own joint, the next" : "not who is over, the next");
        OK(f->ended[0] && (f->i & 1 ? f->item[0] : f->one.item[1]) == 7, "who is served, too");
        waits(&f->two, "the first in the line");
        EQ(f->i & 1 ? push(&f->a, 9) : pop(&f->a), -EAGAIN, "is served no more");
        cancel(&f->two);
        REST(f);
        lost(&f->two, "the first in the line");
    }
    END(f);
} coir_end

DRIVER(itself,);

coir_body(itself, f) {
    BEGIN(f);
    /* Both ways in one select, and in two of one joint. */
    for (f->i = 0; f->i < 4; f->i++) {
        f->joint[0].claim = 0;
        clear(&f->one, &f->joint[0]);
        clear(&f->two, &f->joint[0]);
        sends(&f->one, 1, &f->a, 1);
        receives(f->i & 1 ? &f->two : &f->one, 2, &f->a);
        spawn_select(&f->group, &f->one, 3);
        REST(f);
        spawn_select(&f->group, &f->two, 3);
        REST(f);
        waits(&f->one, "it does not meet itself");
        waits(&f->two, "nor its like");
        if (f->i & 2)
            EQ(push(&f->a, 2), 0, "a sender comes");
        else
            EQ(pop(&f->a), 1, "a receiver comes");
        EQ(push(&f->a, 3), -EAGAIN, "the receiving arm is over");
        EQ(pop(&f->a), -EAGAIN, "and the sending one");
        cancel(&f->one);
        cancel(&f->two);
        REST(f);
        EQ((f->one.status == 0) + (f->two.status == 0), 1, "one of them is served");
    }
    /* Where there is room for the item: nobody waits, as far as others see. */
    f->joint[0].claim = 0;
    clear(&f->one, &f->joint[0]);
    clear(&f->two, &f->joint[0]);
    receives(&f->one, 1, &f->b);
    sends(&f->two, 1, &f->b, 4);
    spawn_select(&f->group, &f->one, 2);
    REST(f);
    spawn_select(&f->group, &f->two, 2);
    REST(f);
    chose(&f->two, 1, 0, "there is room");
    waits(&f->one, "it is not for its like");
    EQ(push(&f->b, 5), -EAGAIN, "the channel is full");
    EQ(pop(&f->b), 4, "the item is for others");
    cancel(&f->one);
    REST(f);
    lost(&f->one, "its like was served");
    END(f);
} coir_end

/* ---- another thread is just trying a joint ---- */

struct trying {
    uintptr_t *claim, as;
    uintptr_t *other, other_was;         /* shortly before it decides */
    pthread_t thread;
};

static void *decides(void *arg)
{
    struct trying *t = arg;

    nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
    if (t->other)
        t->other_was = __atomic_load_n(t->other, __ATOMIC_ACQUIRE);
    __atomic_store_n(t->claim, t->as, __ATOMIC_RELEASE);
    return NULL;
}

static void begin_to_try(struct trying *t, uintptr_t *claim, uintptr_t as, uintptr_t *other)
{
    t->claim = claim;
    t->as = as;
    t->other = other;
    __atomic_store_n(claim, COIR_ARMS_TRIED, __ATOMIC_RELEASE);
    if (pthread_create(&t->thread, NULL, decides, t))
        abort();
}

DRIVER(tried, struct coir_joint *mine, *theirs; struct trying by; int how;);

/* Bits: it is decided and not let go of; it is the one of who comes; which has the lower address. */
coir_body(tried, f) {
    BEGIN(f);
    for (f->how = 0; f->how < 8; f->how++) {
        memset(f->joint, 0, sizeof f->joint);
        f->mine = &f->joint[f->how / 4];
        f->theirs = &f->joint[!(f->how / 4)];
        clear(&f->one, f->mine);
        clear(&f->two, f->theirs);
        sends(&f->one, 1, &f->a, 1);
        receives(&f->two, 1, &f->a);
        spawn_select(&f->group, &f->two, 2);
        REST(f);
        begin_to_try(&f->by, &(f->how & 2 ? f->mine : f->theirs)->claim, f->how & 1 ? (uintptr_t)&foreign : 0,
                     &(f->how & 2 ? f->theirs : f->mine)->claim);
        spawn_select(&f->group, &f->one, 2);
        REST(f);
        pthread_join(f->by.thread, NULL);
        if (f->by.claim == &f->joint[0].claim)
            EQ(f->by.other_was, COIR_ARMS_OPEN, "nobody waits for the lower who has tried the higher");
        if (!(f->how & 1)) {
            chose(&f->one, 1, 0, "let go of, who comes");
            chose(&f->two, 1, 0, "let go of, who waited");
            continue;
        }
        if (f->how & 2)
            lost(&f->one, "who comes has lost");
        else
            waits(&f->one, "who waited has lost: who comes");
        waits(&f->two, "who waited");
        EQ(f->how & 2 ? f->theirs->claim : f->mine->claim, COIR_ARMS_OPEN, "the other joint is as it was");
        if (f->how & 2)
            EQ(push(&f->a, 1), 0, "who waited is there");
        else
            EQ(pop(&f->a), 1, "who came is there");
        cancel(&f->one);
        cancel(&f->two);
        REST(f);
        EQ(f->one.status, f->how & 2 ? -ECANCELED : 0, "who came");
        EQ(f->two.status, f->how & 2 ? 0 : -ECANCELED, "who waited");
    }
    END(f);
} coir_end

DRIVER(tried_alone, struct trying by;);

coir_body(tried_alone, f) {
    BEGIN(f);
    for (f->i = 0; f->i < 4; f->i++) {
        f->joint[0].claim = 0;
        clear(&f->one, &f->joint[0]);
        receives(&f->one, 1, f->i & 1 ? &f->b : &f->a);
        if (!(f->i & 1)) {
            spawn_select(&f->group, &f->one, 2);
            REST(f);
        }
        begin_to_try(&f->by, &f->joint[0].claim, f->i & 2 ? (uintptr_t)&foreign : 0, NULL);
        if (f->i & 1) {
            push(&f->b, 1);
            spawn_select(&f->group, &f->one, 2);
        } else {
            EQ(push(&f->a, 1), f->i & 2 ? -EAGAIN : 0, "one comes while it is tried");
        }
        REST(f);
        pthread_join(f->by.thread, NULL);
        if (f->i == 2)
            cancel(&f->one);
        REST(f);
        EQ(f->one.status, f->i & 2 ? -ECANCELED : 0, "let go of or decided");
        EQ(f->one.item[1], f->i & 2 ? -1 : 1, "and the item");
        EQ(pop(&f->b), f->i == 3 ? 1 : -EAGAIN, "is left, or not");
    }
    /* A cancellation waits for nobody. */
    f->joint[0].claim = 0;
    spawn_select(&f->group, &f->one, 2);
    REST(f);
    f->joint[0].claim = COIR_ARMS_TRIED;
    cancel(&f->one);
    REST(f);
    lost(&f->one, "cancelled while it is tried");
    EQ(f->joint[0].claim, COIR_ARMS_TRIED, "which goes on");
    EQ(push(&f->b, 1), 0, "and nobody is in the line");
    END(f);
} coir_end

/* A channel may go under arms that are over, and under no others: who has tried is waited for. */
DRIVER(destroyed, struct trying by;);

coir_body(destroyed, f) {
    BEGIN(f);
    for (f->i = 1; f->i >= 0; f->i--) {
        f->joint[0].claim = 0;
        clear(&f->one, &f->joint[0]);
        receives(&f->one, 1, &f->a);
        spawn_select(&f->group, &f->one, 2);
        REST(f);
        begin_to_try(&f->by, &f->joint[0].claim, f->i ? (uintptr_t)&foreign : 0, NULL);
        coir_channel_destroy(&f->a);
        pthread_join(f->by.thread, NULL);
        coir_channel_init(&f->a, sizeof(long), 0);
        cancel(&f->one);
        REST(f);
    }
    END(f);
} coir_end

static void destroys(void)
{
    coir_run(NULL, coir_new(destroyed));
}

/* ---- real shards ---- */

enum {
    SHARDS = 3, CHANNELS = 3, JOINT = 5, PLAIN = 3, PARTS = 3, WIDTH = 3,
    ROUNDS = COIR_TSAN || COIR_ASAN ? 1200 : 2500,
    SCALE = COIR_TSAN || COIR_ASAN ? 10 : 1,             /* how much slower everything is */
    ITEMS = 1 << 18
};

static struct {
    struct coir_channel channel[SHARDS][CHANNELS];       /* each of one shard; of capacity 0, 1, 3 */
    unsigned char sent[ITEMS], received[ITEMS];          /* atomic, as the next: how often each item was */
    long next;
    long won[2], in_vain, closed, wrong;                 /* joint selects that sent, received, ended by a deadline */
} storm;

static void add(long *to, long n)
{
    __atomic_add_fetch(to, n, __ATOMIC_RELAXED);
}

static void count(unsigned char *of, long item)
{
    if (item < 0 || item >= ITEMS)
        add(&storm.wrong, 1);
    else
        __atomic_add_fetch(&of[item], 1, __ATOMIC_RELAXED);
}

static void set_arm(struct coir_arm *a, long *item, unsigned shard, uint64_t *random)
{
    struct coir_channel *c = &storm.channel[shard][draw(random) % CHANNELS];

    if (draw(random) % 2) {
        *item = __atomic_fetch_add(&storm.next, 1, __ATOMIC_RELAXED);
        coir_arm_send(a, c, item);
    } else {
        *item = -1;
        coir_arm_recv(a, c, item);
    }
}

/* What came of n arms, of which `taken` was served; n: none was. */
static void look_at(const struct coir_arm *arms, const long *item, size_t n, size_t taken)
{
    for (size_t i = 0; i < n; i++) {
        const struct coir_arm *a = &arms[i];
        const bool receives_it = a->kind == COIR_ARM_RECV_;
        if (i != taken)
            add(&storm.wrong, receives_it && item[i] != -1);
        else if (receives_it ? !coir_arm_received(a) : coir_arm_status(a) == -EPIPE)
            add(&storm.closed, 1);
        else
            count(receives_it ? storm.received : storm.sent, item[i]);
    }
}

/* A joint select's part on one shard. */
struct part {
    coir_frame_void;
    coir_args(unsigned shard;);
    size_t n;
    struct coir_arm arms[WIDTH];
    long item[WIDTH];
    struct coir_select select;
};
static coir_declare(part);

coir_body(part, f) {
    coir_await_on(f, f->shard, &f->select, coir_select, .arms = f->arms, .n = f->n);
    coir_check(f, &f->select);
} coir_end

struct joining {
    coir_frame_void;
    coir_args(unsigned shard; bool closes; uint64_t random;);
    int round;
    size_t n;
    struct coir_joint joint;
    struct part part[PARTS];
    struct coir_task *kids[PARTS];
    struct coir_scope scope;
    struct coir_combine any;
};
static coir_declare(joining);

/* Sometimes two parts are on one shard. */
static void set_out(struct joining *f)
{
    f->joint.claim = COIR_ARMS_OPEN;
    f->n = 1 + draw(&f->random) % PARTS;
    for (size_t i = 0; i < f->n; i++) {
        struct part *p = &f->part[i];
        f->kids[i] = coir_make(p, part, .shard = (unsigned)(draw(&f->random) % SHARDS));
        p->n = 2 + draw(&f->random) % (WIDTH - 1);
        coir_arm_joint(&p->arms[0], &f->joint);
        p->item[0] = -1;
        for (size_t k = 1; k < p->n; k++)
            set_arm(&p->arms[k], &p->item[k], p->shard, &f->random);
    }
}

static void account(struct joining *f)
{
    const struct coir_select *winner = NULL;

    for (size_t i = 0; i < f->n; i++) {
        struct part *p = &f->part[i];
        const int status = coir_status(p);
        const size_t taken = status ? p->n : p->select.result;
        look_at(p->arms, p->item, p->n, taken);
        add(&storm.wrong, status != 0 && status != -ECANCELED);
        if (status)
            continue;
        add(&storm.wrong, winner || taken == 0);
        winner = &p->select;
        add(&storm.won[p->arms[taken].kind == COIR_ARM_RECV_], 1);
    }
    add(&storm.wrong, f->joint.claim != (uintptr_t)winner);
    add(&storm.in_vain, !winner);
}

/* From at once to long enough. */
static int64_t some_time(uint64_t *random)
{
    return coir_now() + (int64_t)(draw(random) % (draw(random) % 4 ? 400000 : 40000)) * SCALE;
}

coir_body(joining, f) {
    for (f->round = 0; f->round < ROUNDS; f->round++) {
        set_out(f);
        coir_within(f, &f->scope, some_time(&f->random), &f->any, coir_combine, .kids = f->kids, .n = f->n,
                    .how = COIR_ANY);
        account(f);
        if (f->closes && f->round == ROUNDS * 9 / 10)
            coir_channel_close(&storm.channel[f->shard][draw(&f->random) % CHANNELS]);
    }
} coir_end

/* Sends, receives and selects on its own shard. */
struct plain {
    coir_frame_void;
    coir_args(unsigned shard; uint64_t random;);
    int round;
    uint64_t what;
    long item[WIDTH];
    struct coir_arm arms[WIDTH];
    struct coir_channel *c;
    struct coir_scope scope;
    struct coir_channel_send send;
    struct coir_channel_recv recv;
    struct coir_select select;
    struct coir_pass pass;
};
static coir_declare(plain);

static void try_one(struct plain *f)
{
    if (draw(&f->random) % 2) {
        f->item[0] = __atomic_fetch_add(&storm.next, 1, __ATOMIC_RELAXED);
        if (coir_channel_try_send(f->c, &f->item[0]) == 0)
            count(storm.sent, f->item[0]);
    } else if (coir_channel_try_recv(f->c, &f->item[0]) == 0) {
        count(storm.received, f->item[0]);
    }
}

coir_body(plain, f) {
    for (f->round = 0; f->round < ROUNDS; f->round++) {
        f->c = &storm.channel[f->shard][draw(&f->random) % CHANNELS];
        f->what = draw(&f->random) % 4;
        if (f->what == 0) {
            try_one(f);
            coir_await(f, &f->pass, coir_pass);
        } else if (f->what == 1) {
            f->item[0] = __atomic_fetch_add(&storm.next, 1, __ATOMIC_RELAXED);
            coir_within(f, &f->scope, some_time(&f->random), &f->send, coir_channel_send, .channel = f->c,
                        .item = &f->item[0]);
            if (coir_status(&f->send) == 0)
                count(storm.sent, f->item[0]);
        } else if (f->what == 2) {
            coir_within(f, &f->scope, some_time(&f->random), &f->recv, coir_channel_recv, .channel = f->c,
                        .item = &f->item[0]);
            if (coir_status(&f->recv) == 0 && f->recv.result)
                count(storm.received, f->item[0]);
        } else {
            for (int i = 0; i < WIDTH; i++)
                set_arm(&f->arms[i], &f->item[i], f->shard, &f->random);
            coir_within(f, &f->scope, some_time(&f->random), &f->select, coir_select, .arms = f->arms, .n = WIDTH);
            look_at(f->arms, f->item, WIDTH, coir_status(&f->select) ? WIDTH : f->select.result);
        }
    }
} coir_end

struct members {
    coir_frame_void;
    coir_args(unsigned shard; uint64_t random;);
    int i;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(members);

coir_body(members, f) {
    coir_group_open(f, &f->group);
    for (f->i = 0; f->i < JOINT; f->i++)
        coir_spawn(&f->group, coir_new(joining, .shard = f->shard, .closes = f->i == 0, .random = draw(&f->random)));
    for (f->i = 0; f->i < PLAIN; f->i++)
        coir_spawn(&f->group, coir_new(plain, .shard = f->shard, .random = draw(&f->random)));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

struct on_shard {
    coir_frame_void;
    coir_args(unsigned shard; uint64_t random;);
    struct members members;
};
static coir_declare(on_shard);

coir_body(on_shard, f) {
    coir_await_on(f, f->shard, &f->members, members, .shard = f->shard, .random = f->random);
    EQ(coir_status(&f->members), 0, "shard %u ends well", f->shard);
} coir_end

struct everywhere {
    coir_frame_void;
    coir_args(uint64_t random;);
    unsigned i;
    struct on_shard on[SHARDS];
    struct coir_task *kids[SHARDS];
    struct coir_combine all;
};
static coir_declare(everywhere);

coir_body(everywhere, f) {
    for (f->i = 0; f->i < SHARDS; f->i++)
        f->kids[f->i] = coir_make(&f->on[f->i], on_shard, .shard = f->i, .random = draw(&f->random));
    coir_all(f, &f->all, f->kids, SHARDS);
} coir_end

static void test_storm(void)
{
    const struct coir_options options = { .shards = SHARDS };
    const size_t capacity[CHANNELS] = { 0, 1, 3 };
    long sent = 0, lost_or_made = 0, doubled = 0, item;

    for (int i = 0; i < SHARDS * CHANNELS; i++)
        coir_channel_init(&storm.channel[i / CHANNELS][i % CHANNELS], sizeof(long), capacity[i % CHANNELS]);
    EQ(coir_run(&options, coir_new(everywhere, .random = seed())), 0, "the storm ends well");
    for (int i = 0; i < SHARDS * CHANNELS; i++) {
        while (coir_channel_try_recv(&storm.channel[i / CHANNELS][i % CHANNELS], &item) == 0)
            count(storm.received, item);
        coir_channel_destroy(&storm.channel[i / CHANNELS][i % CHANNELS]);
    }
    for (long i = 0; i < ITEMS; i++) {
        sent += storm.sent[i];
        lost_or_made += storm.sent[i] != storm.received[i];
        doubled += storm.sent[i] > 1 || storm.received[i] > 1;
    }
    NOTE("%ld items; joint selects: %ld sent, %ld received, %ld in vain; %ld closed", sent, storm.won[0], storm.won[1],
         storm.in_vain, storm.closed);
    EQ(lost_or_made, 0, "what was sent was received or left, what was not was not");
    EQ(doubled, 0, "each once");
    EQ(storm.wrong, 0, "at most one of each joint was served, and the others did nothing");
    OK(storm.won[0] > ROUNDS && storm.won[1] > ROUNDS, "many were served");
    OK(storm.in_vain > 0 && storm.closed > 0, "some were not, some were closed");
}

int main(void)
{
    run_one("begins", coir_new(begins));
    run_one("waiting", coir_new(waiting));
    run_one("refused", coir_new(refused));
    run_one("too late", coir_new(too_late));
    run_one("passed over", coir_new(passed_over));
    run_one("meeting", coir_new(meeting));
    run_one("next partner", coir_new(next_partner));
    run_one("itself", coir_new(itself));
    run_one("tried", coir_new(tried));
    run_one("tried alone", coir_new(tried_alone));
    dies("destroyed", destroys, "channel");
    test_storm();
    return DONE();
}
