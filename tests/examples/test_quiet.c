/* SPDX-License-Identifier: MIT */
/*
 * A shard inside another loop goes quiet: once nothing is left to do its descriptor is not readable, also after
 * it was woken from outside. A descriptor that stays readable would spin the other loop.
 */
#include <coir/coir.h>

#include <poll.h>
#include <sys/eventfd.h>

#include "tap.h"

struct until {
    coir_frame_void;
    coir_args(struct coir_cell *cell;);
    struct coir_cell_wait wait;
};
static coir_declare(until);

coir_body(until, f) {
    coir_try(f, &f->wait, coir_cell_wait, .cell = f->cell);
} coir_end

struct sleeper {
    coir_frame_void;
    coir_no_args;
    struct coir_sleep sleep;
};
static coir_declare(sleeper);

coir_body(sleeper, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = 3600 * COIR_S);
} coir_end

static int ran;

struct guest {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(guest);

coir_body(guest, f) {
    ran++;
} coir_end

/* Turns while the descriptor is readable, 100 times at most. The number of turns. */
static int turns(struct coir_shard *s)
{
    struct pollfd poll_fd = { .fd = coir_shard_fd(s), .events = POLLIN };
    int n = 0;

    while (n < 100 && poll(&poll_fd, 1, 50) == 1) {
        n++;
        if (!coir_turn(s))
            break;
    }
    return n;
}

static void test_wakes(void)
{
    struct coir_cell cell;
    int n;

    coir_cell_init(&cell);
    struct coir_shard *s = coir_shard_open(NULL, coir_new(until, .cell = &cell));
    if (!OK(s, "a shard opens"))
        return;
    OK(turns(s) < 10, "with its task asleep it is quiet");
    for (int i = 0; i < 5; i++) {
        EQ(coir_spawn_on(0, coir_new(guest)), 0, "guest %d is spawned between turns", i);
        OK(turns(s) < 10, "it is quiet again after guest %d", i);
        EQ(ran, i + 1, "guest %d ran", i);
    }
    coir_cell_complete(&cell, 0, 0);
    n = turns(s);
    OK(n > 0 && n < 10, "the cell's completion makes it readable, its end is the last turn");
    EQ(coir_turn(s), 0, "nothing is left");
    EQ(coir_shard_close(s), 0, "the first task's status");
}

static void test_stop(void)
{
    struct coir_shard *s = coir_shard_open(NULL, coir_new(sleeper));
    int n = turns(s);

    OK(n < 10, "a sleeper is quiet");
    coir_stop();
    n = turns(s);
    OK(n > 0 && n < 10, "coir_stop makes it readable, the sleeper's end is the last turn");
    EQ(coir_shard_close(s), -ECANCELED, "the sleeper's status");
}

/* Reads an eventfd again and again. */
struct counter {
    coir_frame_void;
    coir_args(int fd; int times;);
    uint64_t value;
    struct coir_read read;
};
static coir_declare(counter);

coir_body(counter, f) {
    for (; f->times > 0; f->times--) {
        coir_try(f, &f->read, coir_read, .fd = f->fd, .buf = &f->value, .len = sizeof f->value);
        ran++;
    }
} coir_end

static void test_eventfd(void)
{
    const int fd = eventfd(0, EFD_CLOEXEC);
    struct coir_shard *s = coir_shard_open(NULL, coir_new(counter, .fd = fd, .times = 5));

    ran = 0;
    turns(s);
    for (int i = 1; i <= 5; i++) {
        EQ(eventfd_write(fd, 1), 0, "an eventfd is written");
        turns(s);
        EQ(ran, i, "the task that reads it goes on, time %d", i);
    }
    EQ(coir_shard_close(s), 0, "and ends");
    close(fd);
}

int main(void)
{
    test_wakes();
    test_eventfd();
    test_stop();
    return DONE();
}
