/* SPDX-License-Identifier: MIT */
/*
 * coir_select with arms that other threads serve. What depends on who comes first is driven step by step on one shard,
 * where a thread that is started and joined within one step plays the other side: its letters are under way until the
 * step ends. What depends on real threads is counted: everything sent is received once, or left. Runs under
 * ThreadSanitizer too.
 */
#include <pthread.h>
#include <sched.h>

#include "runtime/base/assert.h"
#include "select_test.h"

enum { SCALE = COIR_TSAN || COIR_ASAN ? 10 : 1 };       /* how much slower everything is */

/* Letters come between turns of the loop. */
#define REST(f) do { \
        coir_await(f, &(f)->sleep, coir_sleep, .ns = COIR_MS); \
        coir_await(f, &(f)->rest, rest); \
    } while (0)

/* ---- another thread, within one step ---- */

enum what { END_OF_ORDERS, SEND, RECV, CLOSE, FREE, COMPLETE, REVOKE };

struct order {
    enum what what;
    void *on;
    long item;                           /* sent; received */
    int status;
};

static void *obey(void *arg)
{
    for (struct order *o = arg; o->what != END_OF_ORDERS; o++) {
        if (o->what == SEND)
            o->status = coir_xchan_try_send(o->on, &o->item);
        else if (o->what == RECV)
            o->status = coir_xchan_try_recv(o->on, &o->item);
        else if (o->what == CLOSE)
            coir_xchan_close(o->on);
        else if (o->what == FREE)
            coir_xchan_free(o->on);
        else if (o->what == COMPLETE)
            o->status = coir_cell_complete((struct coir_cell *)o->on, 0, o->item);
        else
            o->status = !coir_cell_revoke(o->on);
    }
    return NULL;
}

static void elsewhere(struct order *orders)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, obey, orders))
        abort();
    pthread_join(thread, NULL);
    for (struct order *o = orders; o->what != END_OF_ORDERS; o++)
        EQ(o->status, 0, "order %td elsewhere", o - orders);
}

#define ELSEWHERE(...) elsewhere((struct order[]){ __VA_ARGS__, { END_OF_ORDERS, NULL, 0, 0 } })

/* The item, or the error. */
static long pop(struct coir_xchan *x)
{
    long item = -1;
    const int err = coir_xchan_try_recv(x, &item);

    return err ? err : item;
}

static int push(struct coir_xchan *x, long item)
{
    return coir_xchan_try_send(x, &item);
}

#define DRIVER(name, ...) \
    struct name { \
        coir_frame_void; \
        coir_no_args; \
        struct coir_group group; \
        struct coir_channel a; \
        struct coir_xchan *x, *y; \
        struct coir_cell cell; \
        struct chosen one, two; \
        long item[4]; \
        int ended[4], i, fds[2]; \
        struct coir_sleep sleep; \
        struct coir_select select; \
        struct coir_cell_wait await; \
        struct rest rest; \
        struct coir_group_wait wait; \
        __VA_ARGS__ \
    }; \
    static coir_declare(name)

#define BEGIN(f) do { \
        coir_channel_init(&(f)->a, sizeof(long), 0); \
        (f)->x = coir_xchan_new(sizeof(long), 1); \
        (f)->y = coir_xchan_new(sizeof(long), 1); \
        coir_cell_init(&(f)->cell); \
        coir_group_open(f, &(f)->group); \
        (f)->one.scope = (f)->two.scope = NULL; \
        memset((f)->ended, 0, sizeof (f)->ended); \
    } while (0)

#define END(f) do { \
        coir_try(f, &(f)->wait, coir_group_wait, .group = &(f)->group); \
        coir_channel_destroy(&(f)->a); \
        coir_xchan_free((f)->x); \
        coir_xchan_free((f)->y); \
    } while (0)

struct xtaking {
    coir_frame_void;
    coir_args(struct coir_xchan *channel; long *item; int *ended;);
    struct coir_xchan_recv recv;
};
static coir_declare(xtaking);

coir_body(xtaking, f) {
    coir_await(f, &f->recv, coir_xchan_recv, .channel = f->channel, .item = f->item);
    *f->ended = ++endings;
} coir_end

static void fill(struct chosen *o, struct coir_channel *a, struct coir_xchan *x, struct coir_xchan *y,
                 struct coir_cell *cell)
{
    for (int i = 0; i < ARMS; i++) {
        o->item[i] = -1;
        coir_arm_off(&o->arms[i]);
    }
    coir_arm_recv(&o->arms[0], a, &o->item[0]);
    coir_arm_xrecv(&o->arms[1], x, &o->item[1]);
    coir_arm_xrecv(&o->arms[2], y, &o->item[2]);
    coir_arm_cell(&o->arms[3], cell);
    coir_arm_until(&o->arms[4], coir_now() + 1000 * COIR_S);
}

/* ---- decided elsewhere, before this shard knows ---- */

DRIVER(elsewhere_first,);

coir_body(elsewhere_first, f) {
    BEGIN(f);
    fill(&f->one, &f->a, f->x, f->y, &f->cell);
    spawn_select(&f->group, &f->one, 5);
    coir_spawn(&f->group, coir_new(taking, .channel = &f->a, .item = &f->item[0], .ended = &f->ended[0]));
    coir_spawn(&f->group, coir_new(xtaking, .channel = f->y, .item = &f->item[1], .ended = &f->ended[1]));
    REST(f);
    waits(&f->one, "nothing is there");
    ELSEWHERE({ SEND, f->x, 1, 0 }, { SEND, f->y, 2, 0 });
    f->item[3] = 3;
    EQ(coir_channel_try_send(&f->a, &f->item[3]), 0, "a send on this shard");
    EQ(f->item[0], 3, "goes to the waiter behind it");
    EQ(coir_channel_try_send(&f->a, &f->item[3]), -EAGAIN, "and nobody else is there");
    coir_scope_cancel(f->one.scope);
    waits(&f->one, "it does not know yet");
    REST(f);
    chose(&f->one, 1, 0, "x was the first");
    EQ(f->one.item[1], 1, "its item");
    OK(f->ended[1] && f->item[1] == 2, "the waiter behind it at y has y's");

    /* Its line may go meanwhile, here or there. */
    spawn_select(&f->group, &f->one, 5);
    REST(f);
    ELSEWHERE({ SEND, f->x, 4, 0 }, { FREE, f->y, 0, 0 });
    f->y = NULL;
    coir_channel_destroy(&f->a);
    memset(&f->a, 0xA5, sizeof f->a);
    REST(f);
    chose(&f->one, 1, 0, "x again");
    EQ(f->one.item[1], 4, "its item");
    coir_channel_init(&f->a, sizeof(long), 0);
    f->y = coir_xchan_new(sizeof(long), 1);

    /* A cell before an item: the item is left. */
    fill(&f->one, &f->a, f->x, f->y, &f->cell);
    spawn_select(&f->group, &f->one, 5);
    REST(f);
    ELSEWHERE({ COMPLETE, &f->cell, 5, 0 }, { SEND, f->x, 6, 0 });
    EQ(coir_channel_try_send(&f->a, &f->item[3]), -EAGAIN, "it is decided for this shard, too");
    coir_scope_cancel(f->one.scope);
    REST(f);
    chose(&f->one, 3, 0, "the cell");
    EQ(coir_arm_value(&f->one.arms[3]), 5, "its value");
    EQ(pop(f->x), 6, "the item is in the channel");

    /* An item before a cell: the letter to the loser is waited for, and the cell is complete. */
    coir_cell_init(&f->cell);
    spawn_select(&f->group, &f->one, 5);
    REST(f);
    ELSEWHERE({ SEND, f->x, 7, 0 }, { COMPLETE, &f->cell, 8, 0 });
    REST(f);
    chose(&f->one, 1, 0, "the item");
    EQ(f->one.item[1], 7, "it is that");
    coir_await(f, &f->await, coir_cell_wait, .cell = &f->cell);
    EQ(f->await.result, 8, "the cell is there for others");

    /* Cancelled before a cell: likewise. */
    coir_cell_init(&f->cell);
    spawn_select(&f->group, &f->one, 5);
    REST(f);
    coir_scope_cancel(f->one.scope);
    ELSEWHERE({ COMPLETE, &f->cell, 9, 0 }, { SEND, f->x, 10, 0 });
    REST(f);
    EQ(f->one.status, -ECANCELED, "cancelled");
    EQ(pop(f->x), 10, "the item is left");
    coir_await(f, &f->await, coir_cell_wait, .cell = &f->cell);
    EQ(f->await.result, 9, "and the cell");
    END(f);
} coir_end

/* ---- decided here, before others know ---- */

DRIVER(here_first,);

coir_body(here_first, f) {
    BEGIN(f);
    fill(&f->one, &f->a, f->x, f->y, &f->cell);
    spawn_select(&f->group, &f->one, 5);
    REST(f);
    f->item[0] = 1;
    EQ(coir_channel_try_send(&f->a, &f->item[0]), 0, "here");
    ELSEWHERE({ SEND, f->x, 2, 0 }, { SEND, f->y, 3, 0 }, { COMPLETE, &f->cell, 4, 0 });
    REST(f);
    chose(&f->one, 0, 0, "what was first");
    EQ(f->one.item[0], 1, "its item");
    EQ(pop(f->x), 2, "x's is left");
    EQ(pop(f->y), 3, "y's is left");
    OK(coir_cell_done(&f->cell), "the cell is complete");

    /* The same from this shard's own calls. */
    coir_cell_init(&f->cell);
    spawn_select(&f->group, &f->one, 5);
    REST(f);
    EQ(push(f->y, 5), 0, "one to y");
    EQ(push(f->y, 6), 0, "another is put behind");
    EQ(coir_channel_try_send(&f->a, &f->item[0]), -EAGAIN, "nobody at a");
    REST(f);
    chose(&f->one, 2, 0, "y");
    EQ(f->one.item[2], 5, "the first");
    EQ(pop(f->y), 6, "the second is left");
    spawn_select(&f->group, &f->one, 5);
    REST(f);
    coir_cell_complete(&f->cell, -EIO, 0);
    EQ(push(f->y, 7), 0, "one to y, which is late");
    REST(f);
    chose(&f->one, 3, -EIO, "the cell");
    EQ(pop(f->y), 7, "y's is left");

    /* A time, and late ones. */
    coir_cell_init(&f->cell);
    coir_arm_until(&f->one.arms[4], coir_now() + COIR_S);
    spawn_select(&f->group, &f->one, 5);
    coir_await(f, &f->sleep, coir_sleep, .ns = 2 * COIR_S);
    chose(&f->one, 4, 0, "the time");
    EQ(push(f->y, 8), 0, "one to y");
    EQ(pop(f->y), 8, "is not received by it");
    OK(coir_cell_revoke(&f->cell), "nor is the cell completed");
    END(f);
} coir_end

/* ---- sending, closing, revoking ---- */

DRIVER(sending,);

coir_body(sending, f) {
    BEGIN(f);
    EQ(push(f->x, 1), 0, "x is full");
    EQ(push(f->y, 2), 0, "and y");
    f->one.item[0] = 10;
    f->one.item[1] = 11;
    coir_arm_xsend(&f->one.arms[0], f->x, &f->one.item[0]);
    coir_arm_xsend(&f->one.arms[1], f->y, &f->one.item[1]);
    spawn_select(&f->group, &f->one, 2);
    REST(f);
    waits(&f->one, "both are full");
    ELSEWHERE({ RECV, f->y, 0, 0 }, { RECV, f->x, 0, 0 });
    REST(f);
    chose(&f->one, 1, 0, "the one that had room first");
    EQ(pop(f->y), 11, "has its item");
    EQ(pop(f->x), -EAGAIN, "the other has not");

    /* Both ways on one channel: it does not meet itself. */
    EQ(push(f->x, 3), 0, "x is full");
    coir_arm_xsend(&f->one.arms[0], f->x, &f->one.item[0]);
    coir_arm_xsend(&f->one.arms[1], f->x, &f->one.item[1]);
    coir_arm_xrecv(&f->one.arms[2], f->x, &f->one.item[2]);
    spawn_select(&f->group, &f->one, 3);
    REST(f);
    chose(&f->one, 2, 0, "what is there is received");
    EQ(f->one.item[2], 3, "it is");
    spawn_select(&f->group, &f->one, 3);
    REST(f);
    chose(&f->one, 0, 0, "what has room is sent");
    EQ(pop(f->x), 10, "it is");
    EQ(push(f->x, 4), 0, "full again");
    spawn_select(&f->group, &f->one, 2);
    REST(f);
    EQ(pop(f->x), 4, "one comes out");
    REST(f);
    chose(&f->one, 0, 0, "the same channel twice");
    EQ(pop(f->x), 10, "sends once");
    EQ(pop(f->x), -EAGAIN, "only");

    /* Closed elsewhere. */
    coir_arm_xrecv(&f->one.arms[0], f->x, &f->one.item[0]);
    coir_arm_xrecv(&f->one.arms[1], f->x, &f->one.item[1]);
    spawn_select(&f->group, &f->one, 2);
    REST(f);
    ELSEWHERE({ CLOSE, f->x, 0, 0 });
    REST(f);
    chose(&f->one, 0, 0, "closed");
    OK(!coir_arm_received(&f->one.arms[0]), "nothing is left");
    EQ(push(f->y, 5), 0, "full");
    coir_arm_xsend(&f->one.arms[0], f->y, &f->one.item[0]);
    coir_arm_cell(&f->one.arms[1], &f->cell);
    spawn_select(&f->group, &f->one, 2);
    REST(f);
    ELSEWHERE({ CLOSE, f->y, 0, 0 }, { REVOKE, &f->cell, 0, 0 });
    REST(f);
    chose(&f->one, 0, -EPIPE, "closed for sending");
    coir_cell_init(&f->cell);
    spawn_select(&f->group, &f->one, 2);
    REST(f);
    chose(&f->one, 0, -EPIPE, "closed before");
    coir_arm_cell(&f->one.arms[0], &f->cell);
    spawn_select(&f->group, &f->one, 1);
    REST(f);
    ELSEWHERE({ REVOKE, &f->cell, 0, 0 });
    REST(f);
    chose(&f->one, 0, -ECANCELED, "revoked");
    END(f);
} coir_end

/* ---- a descriptor beside what others serve ---- */

DRIVER(descriptor,);

coir_body(descriptor, f) {
    BEGIN(f);
    OK(coir_pipe(f->fds) == 0, "a pipe");
    fill(&f->one, &f->a, f->x, f->y, &f->cell);
    coir_arm_ready(&f->one.arms[5], f->fds[0], POLLIN);
    spawn_select(&f->group, &f->one, 6);
    REST(f);
    ELSEWHERE({ SEND, f->x, 1, 0 });
    OK(write(f->fds[1], "x", 1) == 1, "a byte");
    coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    REST(f);
    chose(&f->one, 1, 0, "x");
    EQ(read(f->fds[0], f->item, 8), 1, "the byte is left");
    spawn_select(&f->group, &f->one, 6);
    REST(f);
    OK(write(f->fds[1], "x", 1) == 1, "a byte");
    coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    REST(f);
    chose(&f->one, 5, 0, "the descriptor");
    EQ(push(f->x, 2), 0, "one to x");
    EQ(pop(f->x), 2, "stays there");
    OK(coir_cell_revoke(&f->cell), "the cell is free");
    close(f->fds[0]);
    close(f->fds[1]);
    END(f);
} coir_end

/* ---- in coir_finally, on the background queue, from another shard's await ---- */

struct last_wish {
    coir_frame_void;
    coir_args(struct chosen *out; bool background;);
    struct coir_sleep sleep;
    struct coir_select select;
};
static coir_declare(last_wish);

coir_body(last_wish, f) {
    coir_background(f, f->background);
    coir_await(f, &f->sleep, coir_sleep, .ns = 1000 * COIR_S);
    coir_finally(f) {
        coir_await(f, &f->select, coir_select, .arms = f->out->arms, .n = 5);
        f->out->status = coir_status(&f->select);
        f->out->which = f->select.result;
        f->out->ended = ++endings;
    }
} coir_end

DRIVER(shielded,);

coir_body(shielded, f) {
    BEGIN(f);
    for (f->i = 0; f->i < 6; f->i++) {
        if (f->i)
            coir_group_open(f, &f->group);
        coir_cell_init(&f->cell);
        fill(&f->one, &f->a, f->x, f->y, &f->cell);
        f->one.ended = 0;
        coir_arm_until(&f->one.arms[4], coir_now() + COIR_S);
        coir_spawn(&f->group, coir_new(last_wish, .out = &f->one, .background = f->i % 2));
        REST(f);
        coir_group_cancel(&f->group);
        REST(f);
        waits(&f->one, "cancelled, but in its coir_finally");
        f->item[0] = 3;
        if (f->i / 2 == 0)
            EQ(coir_channel_try_send(&f->a, &f->item[0]), 0, "here");
        else if (f->i / 2 == 1)
            ELSEWHERE({ SEND, f->x, 4, 0 });
        coir_await(f, &f->sleep, coir_sleep, .ns = 2 * COIR_S);
        chose(&f->one, f->i / 2 == 0 ? 0 : f->i / 2 == 1 ? 1 : 4, 0, "shielded");
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        OK(coir_cell_revoke(&f->cell), "the cell is free");
    }
    coir_channel_destroy(&f->a);
    coir_xchan_free(f->x);
    coir_xchan_free(f->y);
} coir_end

/* ---- nobody outside is counted any more: a deadlock is seen ---- */

DRIVER(stuck,);

coir_body(stuck, f) {
    BEGIN(f);
    fill(&f->one, &f->a, f->x, f->y, &f->cell);
    spawn_select(&f->group, &f->one, 5);
    REST(f);
    coir_scope_cancel(f->one.scope);
    REST(f);
    spawn_select(&f->group, &f->one, 5);
    REST(f);
    ELSEWHERE({ SEND, f->x, 1, 0 }, { COMPLETE, &f->cell, 2, 0 });
    REST(f);
    OK(f->one.ended, "both selects have ended");
    coir_arm_recv(&f->one.arms[0], &f->a, &f->one.item[0]);
    coir_await(f, &f->select, coir_select, .arms = f->one.arms, .n = 1);
    EQ(coir_status(&f->select), -ECANCELED, "nothing can wake the third");
    END(f);
} coir_end

/* ---- real threads ---- */

enum { SHARDS = 3, CHANNELS = 3, TASKS = 6, ROUNDS = COIR_TSAN || COIR_ASAN ? 500 : 2000, THREADS = 2 };

static struct {
    struct coir_xchan *x[CHANNELS];
    struct coir_channel local[SHARDS];               /* each of one shard */
    long sent, received, sum_sent, sum_received;     /* atomic */
    long completed, seen, revoked;                   /* atomic: of cells */
    long next;                                       /* atomic: item */
    long waited, taken;                              /* atomic: selects that ended by a time or deadline; by a cell */
    long letters;                                    /* atomic: that came to the shards */
    struct coir_cell *cell[SHARDS * TASKS];          /* atomic: to be completed by a thread, or NULL */
    int over;                                        /* atomic */
} storm;

static void add(long *to, long n)
{
    __atomic_add_fetch(to, n, __ATOMIC_RELAXED);
}

struct member {
    coir_frame_void;
    coir_args(unsigned id; uint64_t random;);
    struct coir_arm arms[ARMS];
    long item[ARMS];
    struct coir_cell *cell;
    int round;
    size_t n;
    struct coir_scope scope;
    struct coir_select select;
    struct coir_cell_wait await;
};
static coir_declare(member);

/* Which directions one select has. All tasks of a shard have the same for a while, so that they have to wait for
 * others. */
enum { EITHER, SENDS, RECEIVES, NEITHER };

/* Arms in a random order, over all channels: so that locks are taken in all orders. */
static void set_out(struct member *f)
{
    const unsigned way = ((unsigned)f->round / 16 + f->id / TASKS + (unsigned)(draw(&f->random) % 8 == 0)) % 4;

    f->n = way == NEITHER ? 0 : 1 + draw(&f->random) % 3;
    for (size_t i = 0; i < f->n; i++) {
        struct coir_xchan *x = storm.x[draw(&f->random) % CHANNELS];
        struct coir_channel *local = draw(&f->random) % 4 ? NULL : &storm.local[f->id / TASKS];
        const bool sends = way == SENDS || (way == EITHER && draw(&f->random) % 2);
        if (sends)
            f->item[i] = __atomic_add_fetch(&storm.next, 1, __ATOMIC_RELAXED);
        if (local)
            sends ? coir_arm_send(&f->arms[i], local, &f->item[i]) : coir_arm_recv(&f->arms[i], local, &f->item[i]);
        else
            sends ? coir_arm_xsend(&f->arms[i], x, &f->item[i]) : coir_arm_xrecv(&f->arms[i], x, &f->item[i]);
    }
    if (draw(&f->random) % 2 || !f->n)
        coir_arm_until(&f->arms[f->n++], coir_now() + (int64_t)(draw(&f->random) % (50000 * SCALE)));
    if (f->cell) {
        coir_arm_cell(&f->arms[f->n++], f->cell);
        __atomic_store_n(&storm.cell[f->id], f->cell, __ATOMIC_RELEASE);
    }
}

static void account(struct member *f)
{
    const struct coir_arm *a = &f->arms[f->select.result];
    const long item = f->item[f->select.result];

    if (coir_status(&f->select)) {
        add(&storm.waited, 1);
    } else if (a->kind == COIR_ARM_XSEND_ || a->kind == COIR_ARM_SEND_) {
        add(&storm.sent, 1);
        add(&storm.sum_sent, item);
    } else if (coir_arm_received(a)) {
        add(&storm.received, 1);
        add(&storm.sum_received, item);
    } else {
        add(a->kind == COIR_ARM_UNTIL_ ? &storm.waited : &storm.taken, 1);
    }
}

coir_body(member, f) {
    for (f->round = 0; f->round < ROUNDS; f->round++) {
        f->cell = draw(&f->random) % 2 ? coir_cell_new() : NULL;
        set_out(f);
        coir_within(f, &f->scope, coir_now() + (int64_t)(draw(&f->random) % (100000 * SCALE)), &f->select, coir_select,
                    .arms = f->arms, .n = f->n);
        account(f);
        if (!f->cell)
            continue;
        /* Taken back from the table, or it will be completed. */
        if (__atomic_exchange_n(&storm.cell[f->id], NULL, __ATOMIC_ACQ_REL)) {
            coir_cell_drop(f->cell);
            add(&storm.revoked, 1);
        } else {
            coir_await(f, &f->await, coir_cell_wait, .cell = f->cell);
            add(&storm.seen, f->await.result == 5);
        }
        coir_cell_drop(f->cell);
    }
} coir_end

struct members {
    coir_frame_void;
    coir_args(unsigned shard; uint64_t random;);
    int i;
    long item;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_stats stats;
};
static coir_declare(members);

coir_body(members, f) {
    coir_channel_init(&storm.local[f->shard], sizeof f->item, f->shard % 2);
    coir_group_open(f, &f->group);
    for (f->i = 0; f->i < TASKS; f->i++)
        coir_spawn(&f->group, coir_new(member, .id = f->shard * TASKS + (unsigned)f->i, .random = draw(&f->random)));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    while (coir_channel_try_recv(&storm.local[f->shard], &f->item) == 0) {
        add(&storm.received, 1);
        add(&storm.sum_received, f->item);
    }
    coir_channel_destroy(&storm.local[f->shard]);
    coir_stats(f->shard, &f->stats);
    add(&storm.letters, (long)f->stats.messages);
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

static void *foreign(void *arg)
{
    uint64_t random = (uint64_t)(uintptr_t)arg;
    long item;

    while (!__atomic_load_n(&storm.over, __ATOMIC_ACQUIRE)) {
        struct coir_cell *c = __atomic_exchange_n(&storm.cell[draw(&random) % (SHARDS * TASKS)], NULL,
                                                  __ATOMIC_ACQ_REL);
        struct coir_xchan *x = storm.x[draw(&random) % CHANNELS];
        if (c) {
            add(&storm.completed, coir_cell_complete(c, 0, 5) == 0);
            coir_cell_drop(c);
        }
        item = __atomic_add_fetch(&storm.next, 1, __ATOMIC_RELAXED);
        if (draw(&random) % 2) {
            if (coir_xchan_try_send(x, &item) == 0) {
                add(&storm.sent, 1);
                add(&storm.sum_sent, item);
            }
        } else if (coir_xchan_try_recv(x, &item) == 0) {
            add(&storm.received, 1);
            add(&storm.sum_received, item);
        }
        sched_yield();
    }
    return NULL;
}

static void test_storm(void)
{
    const struct coir_options options = { .shards = SHARDS };
    uint64_t random = seed();
    pthread_t thread[THREADS];
    long item;

    for (int i = 0; i < CHANNELS; i++)
        storm.x[i] = coir_xchan_new(sizeof(long), (size_t)i + 1);
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&thread[i], NULL, foreign, (void *)(uintptr_t)(draw(&random) | 1)))
            abort();
    }
    EQ(coir_run(&options, coir_new(everywhere, .random = random)), 0, "the storm ends well");
    __atomic_store_n(&storm.over, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    NOTE("%ld sent, %ld received, %ld ended by time; cells: %ld completed, %ld taken, %ld left; %ld letters",
         storm.sent, storm.received, storm.waited, storm.completed, storm.taken, storm.revoked, storm.letters);
    for (int i = 0; i < CHANNELS; i++) {
        while (coir_xchan_try_recv(storm.x[i], &item) == 0) {
            add(&storm.received, 1);
            add(&storm.sum_received, item);
        }
        coir_xchan_free(storm.x[i]);
    }
    OK(storm.sent > SHARDS * TASKS, "something was sent");
    EQ(storm.received, storm.sent, "all that was sent was received, or left");
    EQ(storm.sum_received, storm.sum_sent, "and nothing else");
    OK(storm.completed > 0, "cells were completed");
    EQ(storm.seen, storm.completed, "and each was seen by its task");
}

int main(void)
{
    run_one("elsewhere first", coir_new(elsewhere_first));
    run_one("here first", coir_new(here_first));
    run_one("sending", coir_new(sending));
    run_one("descriptor", coir_new(descriptor));
    run_one("shielded", coir_new(shielded));
    EQ(coir_run(NULL, coir_new(stuck)), -EDEADLK, "nobody outside is counted any more");
    test_storm();
    return DONE();
}
