/* SPDX-License-Identifier: MIT */
/*
 * coir_select on one shard: channels, times, cells, descriptors. Who comes first is driven step by step: a driver does
 * several things between two awaits, when nobody else can run, and then lets the others go on.
 */
#include "runtime/base/torture.h"
#include "select_test.h"

#define REST(f) coir_await(f, &(f)->rest, rest)

/* A driver's frame. */
#define DRIVER(name, ...) \
    struct name { \
        coir_frame_void; \
        coir_no_args; \
        struct coir_group group; \
        struct coir_channel a, b; \
        struct chosen one, two; \
        long item[4]; \
        int ended[4], i; \
        int64_t began; \
        struct coir_sleep sleep; \
        struct coir_select select; \
        struct rest rest; \
        struct coir_group_wait wait; \
        __VA_ARGS__ \
    }; \
    static coir_declare(name)

#define BEGIN(f, capacity) do { \
        coir_channel_init(&(f)->a, sizeof(long), capacity); \
        coir_channel_init(&(f)->b, sizeof(long), capacity); \
        coir_group_open(f, &(f)->group); \
        (f)->one.scope = (f)->two.scope = NULL; \
        for ((f)->i = 0; (f)->i < 4; (f)->i++) \
            (f)->ended[(f)->i] = 0; \
    } while (0)

#define END(f) do { \
        coir_try(f, &(f)->wait, coir_group_wait, .group = &(f)->group); \
        coir_channel_destroy(&(f)->a); \
        coir_channel_destroy(&(f)->b); \
    } while (0)

/* ---- several are ready: the first as listed ---- */

DRIVER(ready, struct coir_cell cell; int fds[2];);

coir_body(ready, f) {
    BEGIN(f, 1);
    coir_cell_init(&f->cell);
    coir_cell_complete(&f->cell, -ENOENT, 77);
    OK(coir_pipe(f->fds) == 0 && write(f->fds[1], "x", 1) == 1, "a pipe with a byte");
    f->item[0] = 5;
    EQ(coir_channel_try_send(&f->a, &f->item[0]), 0, "one can be received");
    /* Each kind is first once, all others are ready behind it. */
    for (f->i = 0; f->i < 5; f->i++) {
        for (int k = 0; k < 5; k++) {
            struct coir_arm *arm = &f->one.arms[(k - f->i + 5) % 5];
            f->one.item[k] = 40 + k;
            if (k == 0)
                coir_arm_recv(arm, &f->a, &f->one.item[0]);
            else if (k == 1)
                coir_arm_send(arm, &f->b, &f->one.item[1]);
            else if (k == 2)
                coir_arm_cell(arm, &f->cell);
            else if (k == 3)
                coir_arm_until(arm, coir_now());
            else
                coir_arm_ready(arm, f->fds[0], POLLIN);
        }
        coir_await(f, &f->select, coir_select, .arms = f->one.arms, .n = 5);
        EQ(coir_status(&f->select), 0, "kind %d: well", f->i);
        EQ(f->select.result, 0, "kind %d: the first is taken", f->i);
        EQ(coir_channel_queued(&f->a), f->i == 0 ? 0 : 1, "kind %d: received", f->i);
        EQ(coir_channel_queued(&f->b), f->i == 1 ? 1 : 0, "kind %d: sent", f->i);
        EQ(coir_arm_status(&f->one.arms[0]), f->i == 2 ? -ENOENT : 0, "kind %d: its status", f->i);
        EQ(coir_arm_received(&f->one.arms[0]), f->i == 0, "kind %d: received", f->i);
        if (f->i == 0) {
            EQ(f->one.item[0], 5, "the item");
            EQ(coir_channel_try_send(&f->a, &f->item[0]), 0, "back again");
        }
        if (f->i == 1) {
            EQ(coir_channel_try_recv(&f->b, &f->item[1]), 0, "what was sent");
            EQ(f->item[1], 41, "is it");
        }
        if (f->i == 2)
            EQ(coir_arm_value(&f->one.arms[0]), 77, "the cell's value");
        if (f->i == 4)
            EQ(coir_arm_events(&f->one.arms[0]), POLLIN, "the events");
    }
    close(f->fds[0]);
    close(f->fds[1]);
    END(f);
} coir_end

/* ---- each kind, waited for, with all others beside it ---- */

DRIVER(waited, struct coir_cell cell, again; int fds[2]; struct coir_cell_wait await;);

static void fill_all(struct waited *f)
{
    coir_arm_recv(&f->one.arms[0], &f->a, &f->one.item[0]);
    coir_arm_send(&f->one.arms[1], &f->b, &f->one.item[1]);
    coir_arm_cell(&f->one.arms[2], &f->cell);
    coir_arm_until(&f->one.arms[3], f->i == 3 ? coir_now() + COIR_S : COIR_NEVER);
    coir_arm_ready(&f->one.arms[4], f->fds[0], POLLIN);
    coir_arm_off(&f->one.arms[5]);
    f->one.item[0] = -1;
    f->one.item[1] = 21;
}

/* Makes kind f->i ready. */
static void make_ready(struct waited *f)
{
    f->item[0] = 20;
    if (f->i == 0)
        EQ(coir_channel_try_send(&f->a, &f->item[0]), 0, "somebody receives");
    if (f->i == 1)
        EQ(coir_channel_try_recv(&f->b, &f->item[1]), 0, "somebody sends");
    if (f->i == 2)
        EQ(coir_cell_complete(&f->cell, 0, 22), 0, "somebody awaits");
    if (f->i == 4)
        EQ(write(f->fds[1], "x", 1), 1, "a byte");
}

coir_body(waited, f) {
    BEGIN(f, 0);
    OK(coir_pipe(f->fds) == 0, "a pipe");
    for (f->i = 0; f->i < 5; f->i++) {
        coir_cell_init(&f->cell);
        f->began = coir_now();
        fill_all(f);
        spawn_select(&f->group, &f->one, 6);
        REST(f);
        waits(&f->one, "nothing is ready");
        make_ready(f);
        /* Time for the kernel to let go of the descriptor, too. */
        coir_await(f, &f->sleep, coir_sleep, .ns = f->i == 3 ? 2 * COIR_S : COIR_MS);
        REST(f);
        chose(&f->one, (size_t)f->i, 0, "one is ready");
        if (f->i == 0)
            EQ(f->one.item[0], 20, "what was received");
        if (f->i == 1)
            EQ(f->item[1], 21, "what was sent");
        if (f->i == 2)
            EQ(coir_arm_value(&f->one.arms[2]), 22, "the value");
        if (f->i == 4)
            EQ(coir_arm_events(&f->one.arms[4]), POLLIN, "the events");
        /* Nothing is left of it, and nothing was done. */
        EQ(coir_channel_try_send(&f->a, &f->item[0]), -EAGAIN, "nobody receives any more");
        EQ(coir_channel_try_recv(&f->b, &f->item[1]), -EAGAIN, "nobody sends any more");
        EQ(coir_cell_done(&f->cell), f->i == 2, "the cell is as it was");
        if (f->i != 2) {
            coir_cell_complete(&f->cell, 0, 7);
            coir_await(f, &f->await, coir_cell_wait, .cell = &f->cell);
            EQ(f->await.result, 7, "and can be awaited");
        }
    }
    EQ(read(f->fds[0], f->item, 8), 1, "the byte is still there");
    close(f->fds[0]);
    close(f->fds[1]);
    END(f);
} coir_end

/* ---- the same shard's turn: served is decided ---- */

DRIVER(same_turn,);

coir_body(same_turn, f) {
    BEGIN(f, 0);
    coir_arm_recv(&f->one.arms[0], &f->a, &f->one.item[0]);
    coir_arm_recv(&f->one.arms[1], &f->b, &f->one.item[1]);
    spawn_select(&f->group, &f->one, 2);
    coir_spawn(&f->group, coir_new(taking, .channel = &f->b, .item = &f->item[2], .ended = &f->ended[0]));
    REST(f);
    f->item[0] = 1;
    EQ(coir_channel_try_send(&f->a, &f->item[0]), 0, "one to a: the select has it");
    EQ(coir_channel_try_send(&f->a, &f->item[0]), -EAGAIN, "and nobody else waits there");
    f->item[0] = 2;
    EQ(coir_channel_try_send(&f->b, &f->item[0]), 0, "one to b");
    EQ(f->item[2], 2, "which the next waiter has");
    waits(&f->one, "it has not run");
    REST(f);
    chose(&f->one, 0, 0, "after its turn");
    EQ(f->one.item[0], 1, "with its item");
    OK(f->one.ended < f->ended[0], "who was served first goes on first");

    /* Two selects that wait for each other meet once. */
    f->one.item[0] = 11;
    coir_arm_send(&f->one.arms[0], &f->a, &f->one.item[0]);
    coir_arm_recv(&f->one.arms[1], &f->b, &f->one.item[1]);
    coir_arm_recv(&f->two.arms[0], &f->a, &f->two.item[0]);
    f->two.item[1] = 12;
    coir_arm_send(&f->two.arms[1], &f->b, &f->two.item[1]);
    spawn_select(&f->group, &f->one, 2);
    spawn_select(&f->group, &f->two, 2);
    REST(f);
    chose(&f->one, 0, 0, "the one");
    chose(&f->two, 0, 0, "the other");
    EQ(f->two.item[0], 11, "has it");
    EQ(coir_channel_try_send(&f->b, &f->item[0]), -EAGAIN, "nobody waits at b");
    EQ(coir_channel_try_recv(&f->b, &f->item[0]), -EAGAIN, "in neither line");

    /* It does not meet itself. */
    coir_arm_send(&f->one.arms[0], &f->a, &f->one.item[0]);
    coir_arm_recv(&f->one.arms[1], &f->a, &f->one.item[1]);
    coir_arm_recv(&f->one.arms[2], &f->a, &f->one.item[2]);
    spawn_select(&f->group, &f->one, 3);
    REST(f);
    waits(&f->one, "sending to and receiving from one channel");
    f->item[0] = 13;
    EQ(coir_channel_try_send(&f->a, &f->item[0]), 0, "another sends");
    EQ(coir_channel_try_recv(&f->a, &f->item[0]), -EAGAIN, "the rest of it is gone");
    EQ(coir_channel_try_send(&f->a, &f->item[0]), -EAGAIN, "from both lines");
    REST(f);
    chose(&f->one, 1, 0, "the first of those that receive");
    EQ(f->one.item[1], 13, "has the item");

    /* Two of that sort, one after the other. */
    coir_arm_send(&f->two.arms[0], &f->a, &f->two.item[0]);
    coir_arm_recv(&f->two.arms[1], &f->a, &f->two.item[1]);
    spawn_select(&f->group, &f->one, 3);
    REST(f);
    spawn_select(&f->group, &f->two, 2);
    f->two.item[0] = 14;
    REST(f);
    chose(&f->two, 0, 0, "the second sends");
    chose(&f->one, 1, 0, "the first receives");
    EQ(f->one.item[1], 14, "its item");
    END(f);
} coir_end

/* ---- order in the line ---- */

DRIVER(in_line,);

coir_body(in_line, f) {
    BEGIN(f, 0);
    coir_spawn(&f->group, coir_new(taking, .channel = &f->a, .item = &f->item[0], .ended = &f->ended[0]));
    REST(f);
    coir_arm_recv(&f->one.arms[0], &f->b, &f->one.item[0]);
    coir_arm_recv(&f->one.arms[1], &f->a, &f->one.item[1]);
    spawn_select(&f->group, &f->one, 2);
    REST(f);
    coir_spawn(&f->group, coir_new(taking, .channel = &f->a, .item = &f->item[1], .ended = &f->ended[1]));
    REST(f);
    for (f->i = 1; f->i <= 3; f->i++) {
        f->item[3] = f->i;
        EQ(coir_channel_try_send(&f->a, &f->item[3]), 0, "item %d", f->i);
    }
    REST(f);
    chose(&f->one, 1, 0, "in the line");
    EQ(f->item[0], 1, "who came first has the first");
    EQ(f->one.item[1], 2, "the select the second");
    EQ(f->item[1], 3, "who came last the last");

    /* A send arm behind a sender, into a buffer that gets room. */
    coir_channel_destroy(&f->b);
    coir_channel_init(&f->b, sizeof(long), 1);
    f->item[3] = 30;
    EQ(coir_channel_try_send(&f->b, &f->item[3]), 0, "full");
    f->ended[0] = 0;
    coir_spawn(&f->group, coir_new(giving, .channel = &f->b, .item = 31, .ended = &f->ended[0]));
    REST(f);
    f->one.item[0] = 32;
    coir_arm_send(&f->one.arms[0], &f->b, &f->one.item[0]);
    coir_arm_recv(&f->one.arms[1], &f->a, &f->one.item[1]);
    spawn_select(&f->group, &f->one, 2);
    REST(f);
    waits(&f->one, "behind a sender");
    for (f->i = 30; f->i <= 32; f->i++) {
        EQ(coir_channel_try_recv(&f->b, &f->item[3]), 0, "there is one");
        EQ(f->item[3], f->i, "in order");
    }
    EQ(coir_channel_queued(&f->b), 0, "then none");
    REST(f);
    chose(&f->one, 0, 0, "sent");
    END(f);
} coir_end

/* ---- cancelled, and deadlines ---- */

DRIVER(cancelled, int fds[2]; struct coir_cell cell;);

coir_body(cancelled, f) {
    BEGIN(f, 0);
    OK(coir_pipe(f->fds) == 0, "a pipe");
    coir_cell_init(&f->cell);
    coir_arm_recv(&f->one.arms[0], &f->a, &f->one.item[0]);
    coir_arm_send(&f->one.arms[1], &f->b, &f->one.item[1]);
    coir_arm_cell(&f->one.arms[2], &f->cell);
    coir_arm_until(&f->one.arms[3], coir_now() + 100 * COIR_S);
    coir_arm_ready(&f->one.arms[4], f->fds[0], POLLIN);
    spawn_select(&f->group, &f->one, 5);
    REST(f);
    coir_scope_cancel(f->one.scope);
    EQ(coir_channel_try_send(&f->a, &f->item[0]), -EAGAIN, "nobody receives any more");
    EQ(coir_channel_try_recv(&f->b, &f->item[0]), -EAGAIN, "nobody sends any more");
    coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    OK(f->one.ended, "it has ended");
    EQ(f->one.status, -ECANCELED, "cancelled");
    OK(coir_cell_revoke(&f->cell), "the cell is whose it was");

    /* What was served stays served. */
    coir_cell_init(&f->cell);
    spawn_select(&f->group, &f->one, 3);
    REST(f);
    f->item[0] = 50;
    EQ(coir_channel_try_send(&f->a, &f->item[0]), 0, "handed over");
    coir_scope_cancel(f->one.scope);
    REST(f);
    chose(&f->one, 0, 0, "handed over, then cancelled");
    EQ(f->one.item[0], 50, "it has it");
    spawn_select(&f->group, &f->one, 3);
    REST(f);
    EQ(coir_cell_complete(&f->cell, 0, 51), 0, "completed");
    coir_scope_cancel(f->one.scope);
    REST(f);
    chose(&f->one, 2, 0, "completed, then cancelled");
    EQ(coir_arm_value(&f->one.arms[2]), 51, "it has it");

    /* A deadline; and one in the past, which lets take what is ready. */
    coir_cell_init(&f->cell);
    f->one.ended = 0;
    f->began = coir_now();
    coir_spawn(&f->group, coir_new(selecting, .out = &f->one, .n = 5, .deadline = f->began + COIR_S));
    coir_await(f, &f->sleep, coir_sleep, .ns = 2 * COIR_S);
    OK(f->one.ended, "it has ended");
    EQ(f->one.status, -ETIMEDOUT, "at its deadline");
    f->one.ended = 0;
    coir_spawn(&f->group, coir_new(selecting, .out = &f->one, .n = 5, .deadline = f->began));
    REST(f);
    EQ(f->one.status, -ETIMEDOUT, "in the past, nothing is ready");
    coir_spawn(&f->group, coir_new(giving, .channel = &f->a, .item = 52, .ended = &f->ended[0]));
    REST(f);
    f->one.ended = 0;
    coir_spawn(&f->group, coir_new(selecting, .out = &f->one, .n = 5, .deadline = f->began));
    REST(f);
    chose(&f->one, 0, 0, "in the past, one is ready");
    EQ(f->one.item[0], 52, "which it has");
    close(f->fds[0]);
    close(f->fds[1]);
    END(f);
} coir_end

/* ---- closed ---- */

DRIVER(closed, int fds[2]; struct coir_close close; struct coir_cell cell; struct coir_cell_wait await;);

coir_body(closed, f) {
    BEGIN(f, 0);
    coir_arm_recv(&f->one.arms[0], &f->a, &f->one.item[0]);
    coir_arm_send(&f->one.arms[1], &f->b, &f->one.item[1]);
    coir_arm_send(&f->two.arms[0], &f->b, &f->two.item[0]);
    coir_arm_recv(&f->two.arms[1], &f->a, &f->two.item[1]);
    f->one.item[0] = 60;
    spawn_select(&f->group, &f->one, 2);
    spawn_select(&f->group, &f->two, 2);
    REST(f);
    coir_channel_close(&f->a);
    REST(f);
    chose(&f->one, 0, 0, "closed for the one");
    OK(!coir_arm_received(&f->one.arms[0]), "nothing is left");
    EQ(f->one.item[0], 60, "its memory is untouched");
    chose(&f->two, 1, 0, "and for the other");
    coir_channel_close(&f->b);
    spawn_select(&f->group, &f->two, 1);
    REST(f);
    chose(&f->two, 0, -EPIPE, "closed before");
    coir_channel_destroy(&f->b);
    coir_channel_init(&f->b, sizeof(long), 0);
    spawn_select(&f->group, &f->two, 1);
    REST(f);
    waits(&f->two, "sending");
    coir_channel_close(&f->b);
    REST(f);
    chose(&f->two, 0, -EPIPE, "closed while it waits");

    /* A descriptor that is closed meanwhile, one that is none, one that is a file. */
    OK(coir_pipe(f->fds) == 0, "a pipe");
    coir_arm_ready(&f->one.arms[0], f->fds[0], POLLIN);
    spawn_select(&f->group, &f->one, 1);
    REST(f);
    coir_await(f, &f->close, coir_close, .fd = f->fds[0]);
    EQ(coir_status(&f->close), 0, "closed");
    REST(f);
    chose(&f->one, 0, -ECANCELED, "the descriptor was closed");
    close(f->fds[1]);
    spawn_select(&f->group, &f->one, 1);
    REST(f);
    chose(&f->one, 0, -EBADF, "it is none");
    coir_arm_ready(&f->one.arms[0], -1, POLLIN);
    spawn_select(&f->group, &f->one, 1);
    REST(f);
    chose(&f->one, 0, -EBADF, "nor is -1");

    /* A cell that is revoked, one that another awaits, one that was completed with -EAGAIN. */
    coir_cell_init(&f->cell);
    coir_arm_cell(&f->one.arms[0], &f->cell);
    coir_arm_cell(&f->one.arms[1], &f->cell);
    spawn_select(&f->group, &f->one, 1);
    REST(f);
    coir_await(f, &f->await, coir_cell_wait, .cell = &f->cell);
    EQ(coir_status(&f->await), -EINVAL, "one that a select awaits cannot be awaited");
    OK(coir_cell_revoke(&f->cell), "revoked");
    REST(f);
    chose(&f->one, 0, -ECANCELED, "revoked");
    coir_cell_init(&f->cell);
    spawn_select(&f->group, &f->one, 2);
    REST(f);
    chose(&f->one, 1, -EINVAL, "the same cell twice");
    coir_cell_complete(&f->cell, -EAGAIN, 0);
    spawn_select(&f->group, &f->one, 2);
    REST(f);
    chose(&f->one, 0, -EAGAIN, "its status is its own");
    END(f);
} coir_end

/* ---- arguments ---- */

DRIVER(arguments, struct coir_arm arm; void *nowhere;);

static __attribute__((noinline)) void *on_the_stack(void)
{
    char byte;
    void *p = &byte;

    __asm__("" : "+r"(p));
    return (char *)p - 64;
}

coir_body(arguments, f) {
    BEGIN(f, 0);
    f->nowhere = on_the_stack();
    coir_await(f, &f->select, coir_select, .arms = f->one.arms, .n = 0);
    EQ(coir_status(&f->select), -EINVAL, "none");
    coir_await(f, &f->select, coir_select, .arms = NULL, .n = 1);
    EQ(coir_status(&f->select), -EFAULT, "NULL");
    memset(&f->arm, 0, sizeof f->arm);
    coir_await(f, &f->select, coir_select, .arms = &f->arm, .n = 1);
    EQ(coir_status(&f->select), -EINVAL, "zero");
    memset(&f->arm, 0xA5, sizeof f->arm);
    coir_await(f, &f->select, coir_select, .arms = &f->arm, .n = 1);
    EQ(coir_status(&f->select), -EINVAL, "rubbish");
    for (f->i = 0; f->i < 9; f->i++) {
        coir_arm_send(&f->one.arms[0], &f->a, &f->one.item[0]);
        if (f->i == 0)
            coir_arm_send(&f->one.arms[1], NULL, &f->one.item[0]);
        else if (f->i == 1)
            coir_arm_recv(&f->one.arms[1], &f->a, NULL);
        else if (f->i == 2)
            coir_arm_xsend(&f->one.arms[1], NULL, &f->one.item[0]);
        else if (f->i == 3)
            coir_arm_cell(&f->one.arms[1], NULL);
        else if (f->i == 4)
            coir_arm_recv(&f->one.arms[1], &f->a, f->nowhere);
        else if (f->i == 5)
            coir_arm_send(&f->one.arms[1], f->nowhere, &f->one.item[0]);
        else if (f->i == 6)
            coir_arm_cell(&f->one.arms[1], f->nowhere);
        else if (f->i == 7)
            coir_arm_xrecv(&f->one.arms[1], NULL, &f->one.item[0]);
        coir_await(f, &f->select, coir_select, .arms = f->i == 8 ? f->nowhere : f->one.arms, .n = 2);
        EQ(coir_status(&f->select), -EFAULT, "fault %d", f->i);
        EQ(f->select.result, f->i == 8 ? 0 : 1, "of that arm");
        EQ(coir_channel_try_recv(&f->a, &f->item[0]), -EAGAIN, "nothing was done");
    }
    coir_arm_recv(&f->one.arms[0], &f->a, &f->one.item[0]);
    coir_arm_until(&f->one.arms[1], coir_now() + 1);
    coir_await(f, &f->select, coir_select, .arms = f->one.arms, .n = 2, .now = true);
    EQ(coir_status(&f->select), -EAGAIN, "now, and none is ready");
    EQ(coir_channel_try_send(&f->a, &f->item[0]), -EAGAIN, "and nobody waits");
    coir_arm_until(&f->one.arms[1], coir_now());
    coir_await(f, &f->select, coir_select, .arms = f->one.arms, .n = 2, .now = true);
    EQ(coir_status(&f->select), 0, "now, and one is");
    EQ(f->select.result, 1, "the second");
    END(f);
} coir_end

/* ---- under combinators, spawned, in a group that is left ---- */

DRIVER(inside, struct coir_task *kids[2]; struct coir_combine combine; struct coir_select other;);

coir_body(inside, f) {
    BEGIN(f, 0);
    coir_arm_recv(&f->one.arms[0], &f->a, &f->one.item[0]);
    coir_arm_until(&f->one.arms[1], coir_now() + COIR_S);
    coir_arm_recv(&f->two.arms[0], &f->b, &f->two.item[0]);
    coir_arm_until(&f->two.arms[1], coir_now() + 2 * COIR_S);
    f->kids[0] = coir_make(&f->other, coir_select, .arms = f->two.arms, .n = 2);
    f->kids[1] = coir_make(&f->select, coir_select, .arms = f->one.arms, .n = 2);
    coir_race(f, &f->combine, f->kids, 2);
    EQ(f->combine.result, 1, "the earlier of two selects");
    EQ(coir_status(&f->combine), 0, "well");
    EQ(f->select.result, 1, "by its time");
    EQ(coir_status(&f->other), -ECANCELED, "the other is cancelled");
    EQ(coir_channel_try_send(&f->b, &f->item[0]), -EAGAIN, "and gone");

    coir_spawn(&f->group, coir_new(giving, .channel = &f->a, .item = 70, .ended = &f->ended[0]));
    coir_spawn(&f->group, coir_new(giving, .channel = &f->b, .item = 71, .ended = &f->ended[0]));
    coir_arm_until(&f->one.arms[1], COIR_NEVER);
    coir_arm_until(&f->two.arms[1], COIR_NEVER);
    f->kids[0] = coir_make(&f->other, coir_select, .arms = f->two.arms, .n = 2);
    f->kids[1] = coir_make(&f->select, coir_select, .arms = f->one.arms, .n = 2);
    coir_all(f, &f->combine, f->kids, 2);
    EQ(coir_status(&f->combine), 0, "both");
    EQ(f->one.item[0], 70, "the one's item");
    EQ(f->two.item[0], 71, "the other's");

    f->two.arms[1].waits = 0;
    EQ(coir_spawn(&f->group, coir_new(coir_select, .arms = f->one.arms, .n = 2)), 0, "spawned itself");
    REST(f);
    f->item[0] = 72;
    EQ(coir_channel_try_send(&f->a, &f->item[0]), 0, "it receives");
    EQ(f->one.item[0], 72, "it has it");
    EQ(coir_spawn(&f->group, coir_new(coir_select, .arms = f->two.arms, .n = 2)), 0, "another");
    REST(f);
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_channel_try_send(&f->b, &f->item[0]), -EAGAIN, "cancelled with its group, and gone");
    coir_channel_destroy(&f->a);
    coir_channel_destroy(&f->b);
} coir_end

/* ---- loops: the same arms again, fairness ---- */

DRIVER(again, long sum; int got[2];);

coir_body(again, f) {
    BEGIN(f, 0);
    for (f->i = 0; f->i < 300; f->i++)
        coir_spawn(&f->group, coir_new(giving, .channel = f->i % 3 ? &f->a : &f->b, .item = f->i,
                                       .ended = &f->ended[0]));
    coir_arm_recv(&f->one.arms[0], &f->a, &f->one.item[0]);
    coir_arm_recv(&f->one.arms[1], &f->b, &f->one.item[0]);
    f->sum = 0;
    f->got[0] = f->got[1] = 0;
    for (f->i = 0; f->i < 300; f->i++) {
        coir_await(f, &f->select, coir_select, .arms = f->one.arms, .n = 2);
        f->sum += f->one.item[0];
        f->got[f->select.result]++;
    }
    EQ(f->sum, 299 * 150, "each item once");
    EQ(f->got[0], 200, "of the one");
    EQ(f->got[1], 100, "and of the other");

    /* Two selects at one channel share it. */
    f->got[0] = f->got[1] = 0;
    coir_arm_recv(&f->two.arms[0], &f->a, &f->two.item[0]);
    for (f->i = 0; f->i < 20; f->i++) {
        if (f->i == 0 || f->one.ended)
            spawn_select(&f->group, &f->one, 2);
        if (f->i == 0 || f->two.ended)
            spawn_select(&f->group, &f->two, 1);
        REST(f);
        EQ(coir_channel_try_send(&f->a, &f->item[0]), 0, "one");
        REST(f);
        f->got[0] += f->one.ended != 0;
        f->got[1] += f->two.ended != 0;
    }
    EQ(f->got[0], 10, "half of it for the one");
    EQ(f->got[1], 10, "half for the other");
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_channel_destroy(&f->a);
    coir_channel_destroy(&f->b);
} coir_end

/* ---- what it costs ---- */

DRIVER(counted, int fds[2]; struct coir_stats before, after; struct coir_cell cell;);

static unsigned long long calls(const struct counted *f)
{
    return f->after.syscalls - f->before.syscalls;
}

coir_body(counted, f) {
    BEGIN(f, 0);
    OK(coir_pipe(f->fds) == 0, "a pipe");
    coir_cell_init(&f->cell);
    coir_arm_recv(&f->one.arms[0], &f->a, &f->one.item[0]);
    coir_arm_send(&f->one.arms[1], &f->b, &f->one.item[1]);
    coir_arm_until(&f->one.arms[2], coir_now());
    coir_arm_cell(&f->one.arms[3], &f->cell);
    coir_arm_ready(&f->one.arms[4], f->fds[0], POLLIN);
    coir_stats(0, &f->before);
    coir_await(f, &f->select, coir_select, .arms = f->one.arms, .n = 5);
    coir_stats(0, &f->after);
    EQ(f->select.result, 2, "the time");
    EQ(calls(f), 0, "costs no system call");
    EQ(f->after.submissions - f->before.submissions, 0, "nothing of the plane");
    EQ(f->after.allocations - f->before.allocations, 0, "no memory");
    OK(write(f->fds[1], "x", 1) == 1, "a byte");
    coir_arm_until(&f->one.arms[2], COIR_NEVER);
    coir_stats(0, &f->before);
    coir_await(f, &f->select, coir_select, .arms = f->one.arms, .n = 5);
    coir_stats(0, &f->after);
    EQ(f->select.result, 4, "the descriptor");
    OK(calls(f) == 1 || COIR_TORTURED, "costs one poll(2)");
    EQ(f->after.submissions - f->before.submissions, 0, "nothing of the plane");
    close(f->fds[0]);
    close(f->fds[1]);
    END(f);
} coir_end

/* ---- the dump; a deadlock ---- */

DRIVER(dumped, FILE *to; char *text; size_t len; struct coir_xchan *x; int fds[2]; struct coir_cell cell;);

coir_body(dumped, f) {
    BEGIN(f, 0);
    f->x = coir_xchan_new(sizeof(long), 3);
    OK(coir_pipe(f->fds) == 0, "a pipe");
    coir_cell_init(&f->cell);
    coir_arm_recv(&f->one.arms[0], &f->a, &f->one.item[0]);
    coir_arm_send(&f->one.arms[1], &f->b, &f->one.item[1]);
    coir_arm_xrecv(&f->one.arms[2], f->x, &f->one.item[2]);
    coir_arm_until(&f->one.arms[3], coir_now() + COIR_S);
    coir_arm_cell(&f->one.arms[4], &f->cell);
    coir_arm_ready(&f->one.arms[5], f->fds[0], POLLIN);
    coir_arm_off(&f->one.arms[6]);
    spawn_select(&f->group, &f->one, 7);
    REST(f);
    f->to = open_memstream(&f->text, &f->len);
    coir_dump(f->to);
    fclose(f->to);
    if (!OK(strstr(f->text, "waits to receive from a channel (0 of 0 queued), or to send to a channel (0 of 0 queued), "
                            "or to receive from a channel between shards (0 of 3 queued), or for another 1.000 s, "
                            "or for a cell at 0x"), "the dump says it all"))
        NOTE("%s", f->text);
    OK(strstr(f->text, "or for fd ") && strstr(f->text, " (events 0x1), or for nothing"), "to the end");
    free(f->text);
    coir_scope_cancel(f->one.scope);
    END(f);
    coir_xchan_free(f->x);
    close(f->fds[0]);
    close(f->fds[1]);
} coir_end

DRIVER(stuck,);

coir_body(stuck, f) {
    BEGIN(f, 0);
    coir_arm_recv(&f->one.arms[0], &f->a, &f->one.item[0]);
    coir_arm_off(&f->one.arms[1]);
    coir_arm_until(&f->one.arms[2], COIR_NEVER);
    coir_try(f, &f->select, coir_select, .arms = f->one.arms, .n = 3);
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

static void test_deadlock(void)
{
    EQ(coir_run(NULL, coir_new(stuck)), -EDEADLK, "nothing can wake it");
}

/* ---- broken rules ---- */

DRIVER(destroys,);

coir_body(destroys, f) {
    BEGIN(f, 0);
    coir_arm_recv(&f->one.arms[0], &f->a, &f->one.item[0]);
    coir_arm_recv(&f->one.arms[1], &f->b, &f->one.item[1]);
    spawn_select(&f->group, &f->one, 2);
    REST(f);
    coir_channel_destroy(&f->b);
    END(f);
} coir_end

static void destroys_it(void)
{
    coir_main(coir_new(destroys));
}

DRIVER(destroys_cell, struct coir_cell cell;);

coir_body(destroys_cell, f) {
    BEGIN(f, 0);
    coir_cell_init(&f->cell);
    coir_arm_cell(&f->one.arms[0], &f->cell);
    spawn_select(&f->group, &f->one, 1);
    REST(f);
    coir_cell_destroy(&f->cell);
    END(f);
} coir_end

static void destroys_its_cell(void)
{
    coir_main(coir_new(destroys_cell));
}

int main(void)
{
    WITHOUT_CHANCE("fifo,prompt");     /* it scripts the order of steps, and counts calls */
    run_one("ready", coir_new(ready));
    run_one("waited", coir_new(waited));
    run_one("same turn", coir_new(same_turn));
    run_one("in line", coir_new(in_line));
    run_one("cancelled", coir_new(cancelled));
    run_one("closed", coir_new(closed));
    run_one("arguments", coir_new(arguments));
    run_one("inside", coir_new(inside));
    run_one("again", coir_new(again));
    run_one("counted", coir_new(counted));
    run_one("dumped", coir_new(dumped));
    test_deadlock();
    dies("a channel is destroyed", destroys_it, "a channel is destroyed while selecting waits for it at");
    dies("a cell is destroyed", destroys_its_cell, "while selecting awaits it at");
    return DONE();
}
