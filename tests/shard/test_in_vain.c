/* SPDX-License-Identifier: MIT */
/*
 * Under virtual time what the kernel has comes before the next timer, and time goes on when it has nothing. On the ring
 * both hang on what it says of itself: that it has work, which may be in vain, when a thread of the kernel's has said
 * so too late; and of which a part may be done that completes nothing, with more behind it.
 */
#include <sys/socket.h>

#include "runtime/plane/uring.h"
#include "task/help.h"

enum { CROWD = 70, PATIENCE = 30 };

static const char *variant;

static void hangs(int number)
{
    static const char said[] = "not ok - time does not go on\n";

    (void)number;
    _exit(write(1, said, sizeof said - 1) < 0 ? 3 : 2);
}

/* ---- in vain ---- */

/* As one of the kernel's threads would that was late. */
static void mislead(void)
{
    struct coir_plane *plane = coir_plane_here();

    if (plane->kind == &coir_uring)
        __atomic_fetch_or(coir_uring_self(plane)->ring.sq.kflags, IORING_SQ_TASKRUN, __ATOMIC_SEQ_CST);
}

struct sleeper {
    coir_frame_void;
    coir_no_args;
    int i;
    int64_t before;
    struct coir_sleep sleep;
};
static coir_declare(sleeper);

coir_body(sleeper, f) {
    f->before = coir_now();
    for (f->i = 0; f->i < 10; f->i++) {
        mislead();
        coir_try(f, &f->sleep, coir_sleep, .ns = 3600 * COIR_S);
    }
    EQ(coir_now() - f->before, 10 * 3600 * COIR_S, "%s: ten hours are over", variant);
} coir_end

/* The same with an operation that has nothing to do with it in flight, and one that completes each time. */
struct beside {
    coir_frame_void;
    coir_no_args;
    int i, idle[2], fds[2];
    int64_t before, never;
    char byte;
    struct coir_group group;
    union {
        struct coir_sleep sleep;
        struct coir_read read;
        struct coir_group_wait wait;
    };
};
static coir_declare(beside);

struct reader {
    coir_frame_void;
    coir_args(int fd; int64_t *at;);
    char byte;
    struct coir_recv recv;
};
static coir_declare(reader);

coir_body(reader, f) {
    coir_try(f, &f->recv, coir_recv, .fd = f->fd, .buf = &f->byte, .len = 1);
    *f->at = coir_now();
} coir_end

coir_body(beside, f) {
    EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, f->idle), 0, "a pair of sockets");
    EQ(coir_pipe(f->fds), 0, "a pipe");
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(reader, .fd = f->idle[0], .at = &f->never));
    f->before = coir_now();
    for (f->i = 0; f->i < 10; f->i++) {
        EQ(write(f->fds[1], "x", 1), 1, "a byte");
        mislead();
        coir_try(f, &f->read, coir_read, .fd = f->fds[0], .buf = &f->byte, .len = 1);
        mislead();
        coir_try(f, &f->sleep, coir_sleep, .ns = 3600 * COIR_S);
    }
    EQ(coir_now() - f->before, 10 * 3600 * COIR_S, "%s: ten hours are over beside I/O", variant);
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    for (int i = 0; i < 2; i++) {
        close(f->idle[i]);
        close(f->fds[i]);
    }
} coir_end

/* ---- not in vain ---- */

/* A crowd waits for one socket, which brings a byte, and one for another, which brings one right behind it: the crowd
 * is woken for nothing, but for its first. An hour is not over before both have come. */
struct crowd {
    coir_frame_void;
    coir_no_args;
    int crowded[2], quiet[2];
    int64_t before, at[CROWD], last;
    struct coir_group group;
    union {
        struct coir_sleep sleep;
        struct coir_group_wait wait;
    };
};
static coir_declare(crowd);

static int served_at(const struct crowd *f, int64_t when)
{
    int served = 0;

    for (int i = 0; i < CROWD; i++)
        served += f->at[i] == when;
    return served;
}

coir_body(crowd, f) {
    EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, f->crowded), 0, "a pair of sockets");
    EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, f->quiet), 0, "and another");
    coir_group_open(f, &f->group, .keep_going = true);
    for (int i = 0; i < CROWD; i++) {
        f->at[i] = -1;
        coir_spawn(&f->group, coir_new(reader, .fd = f->crowded[0], .at = &f->at[i]));
    }
    f->last = -1;
    coir_spawn(&f->group, coir_new(reader, .fd = f->quiet[0], .at = &f->last));
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_S);           /* all wait in the kernel */
    f->before = coir_now();
    EQ(write(f->crowded[1], "x", 1), 1, "a byte for one of the crowd");
    EQ(write(f->quiet[1], "x", 1), 1, "and one for the other");
    coir_try(f, &f->sleep, coir_sleep, .ns = 3600 * COIR_S);
    EQ(f->last, f->before, "%s: what waits behind a crowd comes before the next timer", variant);
    EQ(served_at(f, f->before), 1, "%s: and so does one of the crowd", variant);
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    for (int i = 0; i < 2; i++) {
        close(f->crowded[i]);
        close(f->quiet[i]);
    }
} coir_end

int main(void)
{
    static const char *const variants[] = { "", "-defer", "-defer,-coop" };
    const char *plane = getenv("COIR_IO");
    const bool ring = !plane || strcmp(plane, "epoll") != 0;

    sigaction(SIGALRM, &(struct sigaction){ .sa_handler = hangs }, NULL);
    setenv("COIR_TIME", "virtual", 1);
    for (size_t i = 0; i < (ring ? sizeof variants / sizeof *variants : 1); i++) {
        variant = ring ? variants[i] : "epoll";
        setenv("COIR_URING", variants[i], 1);
        alarm(PATIENCE);
        EQ(run(coir_new(sleeper)), 0, "%s: in vain", variant);
        EQ(run(coir_new(beside)), 0, "%s: in vain beside I/O", variant);
        EQ(run(coir_new(crowd)), 0, "%s: a crowd", variant);
        alarm(0);
    }
    return DONE();
}
