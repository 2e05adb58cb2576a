/* SPDX-License-Identifier: MIT */
/*
 * Many tasks select at random over many channels, cells, times and a pipe, on one shard under virtual time, and are
 * cancelled at random. Every item has a number, and what became of it is counted: an item is received exactly if its
 * send was the arm that was taken; who received or sent nothing says so; a cell's value is seen once, by its select or
 * by the wait that follows. From a seed that is printed: COIR_SEED repeats a run.
 */
#include <fcntl.h>
#include <sys/ioctl.h>

#include "select_test.h"

enum { CHANNELS = 6, TASKS = 24, ROUNDS = 400, ITEMS = TASKS * ROUNDS * ARMS };

struct cell_of {
    struct coir_cell cell;
    bool there, completed;
};

static struct {
    uint64_t random;
    struct coir_channel channel[CHANNELS];
    unsigned char sent[ITEMS], received[ITEMS];
    long next;
    struct coir_scope *scope[TASKS];     /* of the select that goes on, or NULL */
    struct cell_of cell[TASKS];
    int fds[2];
    long written, read;
    long taken[COIR_ARM_KINDS_], cancelled, late, now, wrong;
    int live;
} world;

static unsigned below(unsigned n)
{
    return (unsigned)(draw(&world.random) % n);
}

/* ---- one who selects ---- */

struct member {
    coir_frame_void;
    coir_args(unsigned id;);
    int round;
    size_t n;
    bool now;
    struct coir_arm arms[ARMS];
    long item[ARMS];
    struct coir_scope scope;
    struct coir_select select;
    struct coir_cell_wait await;
};
static coir_declare(member);

static void set_arm(struct member *f, size_t i)
{
    struct coir_channel *c = &world.channel[below(CHANNELS)];

    f->item[i] = -1;
    switch (below(12)) {
    case 0:
        coir_arm_until(&f->arms[i], coir_now() + below(20) * COIR_MS);
        break;
    case 1:
        if (!world.cell[f->id].there) {
            world.cell[f->id].there = true;
            world.cell[f->id].completed = false;
            coir_cell_init(&world.cell[f->id].cell);
            coir_arm_cell(&f->arms[i], &world.cell[f->id].cell);
        } else {
            coir_arm_off(&f->arms[i]);
        }
        break;
    case 2:
        coir_arm_ready(&f->arms[i], world.fds[0], POLLIN);
        break;
    case 3: case 4: case 5: case 6:
        f->item[i] = world.next++;
        coir_arm_send(&f->arms[i], c, &f->item[i]);
        break;
    default:
        coir_arm_recv(&f->arms[i], c, &f->item[i]);
    }
}

static void took(struct member *f)
{
    const size_t which = f->select.result;
    const struct coir_arm *a = &f->arms[which];
    char byte;

    world.taken[a->kind]++;
    world.wrong += coir_arm_status(a) != 0;
    if (a->kind == COIR_ARM_SEND_)
        world.sent[f->item[which]]++;
    if (a->kind == COIR_ARM_RECV_) {
        world.wrong += !coir_arm_received(a) || f->item[which] < 0;
        world.received[f->item[which]]++;
    }
    if (a->kind == COIR_ARM_CELL_)
        world.wrong += coir_arm_value(a) != f->id || !world.cell[f->id].completed;
    if (a->kind == COIR_ARM_READY_)
        world.read += read(world.fds[0], &byte, 1) == 1;
}

/* Arms that were not taken are as they were. */
static void left(const struct member *f, size_t taken)
{
    for (size_t i = 0; i < f->n; i++)
        world.wrong += i != taken && f->arms[i].kind == COIR_ARM_RECV_ && f->item[i] != -1;
}

static void look_at(struct member *f)
{
    const int status = coir_status(&f->select);

    if (status == 0)
        took(f);
    else if (status == -ECANCELED)
        world.cancelled++;
    else if (status == -ETIMEDOUT)
        world.late++;
    else if (status == -EAGAIN && f->now)
        world.now++;
    else
        world.wrong++;
    left(f, status ? ARMS : f->select.result);
}

coir_body(member, f) {
    for (f->round = 0; f->round < ROUNDS; f->round++) {
        f->n = 1 + below(below(3) ? 3 : ARMS);
        for (size_t i = 0; i < f->n; i++)
            set_arm(f, i);
        f->now = below(8) == 0;
        world.scope[f->id] = &f->scope;
        coir_within(f, &f->scope, coir_now() + (1 + below(30)) * COIR_MS, &f->select, coir_select, .arms = f->arms,
                    .n = f->n, .now = f->now);
        world.scope[f->id] = NULL;
        look_at(f);
        if (!world.cell[f->id].there)
            continue;
        world.cell[f->id].there = false;
        if (world.cell[f->id].completed) {
            coir_await(f, &f->await, coir_cell_wait, .cell = &world.cell[f->id].cell);
            world.wrong += coir_status(&f->await) || f->await.result != f->id;
        } else {
            world.wrong += !coir_cell_revoke(&world.cell[f->id].cell);
        }
    }
    world.live--;
} coir_end

/* ---- one who disturbs ---- */

struct disturber {
    coir_frame_void;
    coir_no_args;
    struct coir_sleep sleep;
};
static coir_declare(disturber);

static void disturb(void)
{
    const unsigned id = below(TASKS);
    struct coir_channel *c = &world.channel[below(CHANNELS)];
    long item;

    switch (below(5)) {
    case 0:
        if (world.scope[id])
            coir_scope_cancel(world.scope[id]);
        break;
    case 1:
        if (world.cell[id].there && !world.cell[id].completed) {
            world.cell[id].completed = true;
            coir_cell_complete(&world.cell[id].cell, 0, id);
        }
        break;
    case 2:
        world.written += write(world.fds[1], "x", 1) == 1;
        break;
    case 3:
        item = world.next;
        if (coir_channel_try_send(c, &item) == 0) {
            world.sent[item]++;
            world.next++;
        }
        break;
    default:
        item = -1;
        if (coir_channel_try_recv(c, &item) == 0)
            world.received[item]++;
    }
}

coir_body(disturber, f) {
    while (world.live) {
        for (unsigned n = below(6); n--;)
            disturb();
        coir_await(f, &f->sleep, coir_sleep, .ns = (int64_t)below(2 * COIR_MS));
    }
} coir_end

struct all {
    coir_frame_void;
    coir_no_args;
    unsigned i;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(all);

coir_body(all, f) {
    for (f->i = 0; f->i < CHANNELS; f->i++)
        coir_channel_init(&world.channel[f->i], sizeof(long), f->i / 2);
    OK(coir_pipe(world.fds) == 0 && fcntl(world.fds[0], F_SETFL, O_NONBLOCK) == 0
       && fcntl(world.fds[1], F_SETFL, O_NONBLOCK) == 0, "a pipe");
    coir_group_open(f, &f->group);
    world.live = TASKS;
    for (f->i = 0; f->i < TASKS; f->i++)
        coir_spawn(&f->group, coir_new(member, .id = f->i));
    coir_spawn(&f->group, coir_new(disturber));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    for (f->i = 0; f->i < CHANNELS; f->i++) {
        long item;
        while (coir_channel_try_recv(&world.channel[f->i], &item) == 0)
            world.received[item]++;
        coir_channel_destroy(&world.channel[f->i]);
    }
} coir_end

int main(void)
{
    long lost = 0, sent = 0, doubled = 0;
    int bytes = -1;

    world.random = seed();
    run_one("all", coir_new(all));
    for (long i = 0; i < ITEMS; i++) {
        sent += world.sent[i];
        lost += world.sent[i] != world.received[i];
        doubled += world.received[i] > 1;
    }
    EQ(lost, 0, "what was sent was received, what was not was not");
    EQ(doubled, 0, "each once");
    EQ(world.wrong, 0, "all else is as it has to be");
    EQ(ioctl(world.fds[0], FIONREAD, &bytes), 0, "the pipe");
    EQ(bytes, world.written - world.read, "no byte was read but by who was told to");
    close(world.fds[0]);
    close(world.fds[1]);
    OK(sent > 100 && world.taken[COIR_ARM_RECV_] > 100, "%ld items", sent);
    OK(world.taken[COIR_ARM_CELL_] > 0 && world.taken[COIR_ARM_UNTIL_] > 0 && world.taken[COIR_ARM_READY_] > 0,
       "all kinds were taken");
    OK(world.cancelled > 0 && world.late > 0, "%ld cancelled, %ld late, %ld not now", world.cancelled, world.late,
       world.now);
    return DONE();
}
