/* SPDX-License-Identifier: MIT */
/*
 * Cancelling file operations in every state: before they begin, queued for the pool, sent to the ring, running,
 * ended. In each the descriptor that an open made is delivered or was never made, and a wait that was given up
 * has touched nothing.
 *
 * To open a FIFO blocks until somebody opens its other end, which is how a test holds an operation.
 */
#include <stdlib.h>

#include "scratch.h"

static bool on_epoll;

/* ---- not started ---- */

struct everything {
    coir_frame_void;
    coir_args(int fd;);
    char buf[512];
    struct iovec iov;
    struct statx st;
    union {
        struct coir_open open;
        struct coir_openat openat;
        struct coir_pread pread;
        struct coir_pwrite pwrite;
        struct coir_pread_exact pread_exact;
        struct coir_pwrite_all pwrite_all;
        struct coir_preadv preadv;
        struct coir_pwritev pwritev;
        struct coir_fsync fsync;
        struct coir_fdatasync fdatasync;
        struct coir_statx statx;
        struct coir_rename rename;
        struct coir_unlink unlink;
        struct coir_mkdir mkdir;
        struct coir_readdir readdir;
        struct coir_fallocate fallocate;
        struct coir_ftruncate ftruncate;
    } u;
};
static coir_declare(everything);
coir_body(everything, f) {
    f->iov = (struct iovec){ f->buf, 5 };
    SAYS(-ECANCELED, &f->u.open, coir_open, .path = "new", .flags = O_WRONLY | O_CREAT, .mode = 0600);
    EQ(f->u.open.result, -1, "no descriptor");
    SAYS(-ECANCELED, &f->u.openat, coir_openat, .dirfd = AT_FDCWD, .path = "new", .flags = O_RDWR | O_CREAT);
    SAYS(-ECANCELED, &f->u.pread, coir_pread, .fd = f->fd, .buf = f->buf, .len = 5);
    SAYS(-ECANCELED, &f->u.pwrite, coir_pwrite, .fd = f->fd, .buf = "wrong", .len = 5);
    SAYS(-ECANCELED, &f->u.pread_exact, coir_pread_exact, .fd = f->fd, .buf = f->buf, .len = 5);
    SAYS(-ECANCELED, &f->u.pwrite_all, coir_pwrite_all, .fd = f->fd, .buf = "wrong", .len = 5);
    EQ(f->u.pwrite_all.result, 0, "nothing was written");
    SAYS(-ECANCELED, &f->u.preadv, coir_preadv, .fd = f->fd, .iov = &f->iov, .iovcnt = 1);
    SAYS(-ECANCELED, &f->u.pwritev, coir_pwritev, .fd = f->fd, .iov = &f->iov, .iovcnt = 1);
    SAYS(-ECANCELED, &f->u.fsync, coir_fsync, .fd = f->fd);
    SAYS(-ECANCELED, &f->u.fdatasync, coir_fdatasync, .fd = f->fd);
    SAYS(-ECANCELED, &f->u.statx, coir_statx, .dirfd = AT_FDCWD, .path = "held", .statxbuf = &f->st);
    SAYS(-ECANCELED, &f->u.rename, coir_rename, .oldpath = "held", .newpath = "moved");
    SAYS(-ECANCELED, &f->u.unlink, coir_unlink, .path = "held");
    SAYS(-ECANCELED, &f->u.mkdir, coir_mkdir, .path = "new", .mode = 0700);
    SAYS(-ECANCELED, &f->u.readdir, coir_readdir, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf);
    SAYS(-ECANCELED, &f->u.fallocate, coir_fallocate, .fd = f->fd, .len = 100);
    SAYS(-ECANCELED, &f->u.ftruncate, coir_ftruncate, .fd = f->fd, .length = 0);
} coir_end

struct not_started {
    coir_frame_void;
    coir_no_args;
    int fd;
    struct coir_scope scope;
    struct coir_open open;
    struct coir_close close;
    struct coir_pread pread;
    struct everything everything;
};
static coir_declare(not_started);
coir_body(not_started, f) {
    make_file("held", 'h', 5);
    coir_get(f, f->fd, &f->open, coir_open, .path = "held", .flags = O_RDWR);
    coir_within(f, &f->scope, coir_now() - 1, &f->everything, everything, .fd = f->fd);
    EQ(coir_status(&f->everything), 0, "the task itself ended well");
    EQ(size_of("held"), 5, "nothing of it was done");
    EQ(size_of("new"), -1, "nothing was made");
    coir_within(f, &f->scope, coir_now() - 1, &f->pread, coir_pread, .fd = f->fd, .buf = f->everything.buf, .len = 5);
    EQ(coir_status(&f->pread), -ETIMEDOUT, "the deadline says itself where the operation was awaited");
    coir_await(f, &f->close, coir_close, .fd = f->fd);
} coir_end

/* ---- an open that blocks ---- */

static int ended_as[3];                  /* success, -ECANCELED, anything else */

struct opener {
    coir_frame_void;
    coir_args(const char *path; int flags;);
    struct coir_open open;
    struct coir_close close;
};
static coir_declare(opener);
coir_body(opener, f) {
    coir_await(f, &f->open, coir_open, .path = f->path, .flags = f->flags, .mode = 0600);
    if (coir_status(&f->open) == 0)
        coir_await(f, &f->close, coir_close, .fd = f->open.result);
    ended_as[coir_status(&f->open) == 0 ? 0 : coir_status(&f->open) == -ECANCELED ? 1 : 2]++;
} coir_end

/* Opening a FIFO to read and to write blocks nobody, and lets go whoever waits for a writer. */
static int open_other_end(void)
{
    return open("fifo", O_RDWR | O_CLOEXEC);
}

struct blocks {
    coir_frame_void;
    coir_no_args;
    int fd;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_pool_counts counts;
    struct coir_sleep sleep;
};
static coir_declare(blocks);
coir_body(blocks, f) {
    memset(ended_as, 0, sizeof ended_as);
    coir_group_open(f, &f->group);
    EQ(coir_spawn(&f->group, coir_new(opener, .path = "fifo", .flags = O_RDONLY)), 0, "it waits for a writer");
    do {
        coir_await(f, &f->sleep, coir_sleep, .ns = 2 * COIR_MS);
    } while (on_epoll && (coir_pool_stats("file", &f->counts) || f->counts.running == 0));
    EQ(f->group.live, 1, "it waits");
    coir_group_cancel(&f->group);
    if (on_epoll) {
        coir_await(f, &f->sleep, coir_sleep, .ns = 2 * COIR_MS);
        EQ(f->group.live, 1, "on the pool it cannot be ended, and is waited for");
        coir_pool_stats("file", &f->counts);
        EQ(f->counts.orphans, 1, "that is counted");
        f->fd = open_other_end();
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        EQ(ended_as[0], 1, "its success counts, and the descriptor is delivered");
        close(f->fd);
    } else {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        EQ(ended_as[1], 1, "on the ring the kernel gives it up");
    }
} coir_end

/* ---- queued behind others ---- */

static int64_t wait_for_flag(void *arg)
{
    const struct timespec ms = { 0, 1000000 };

    while (!__atomic_load_n((int *)arg, __ATOMIC_ACQUIRE))
        nanosleep(&ms, NULL);
    return 0;
}

struct holder {
    coir_frame_void;
    coir_args(int *flag;);
    struct coir_offload offload;
};
static coir_declare(holder);
coir_body(holder, f) {
    coir_try(f, &f->offload, coir_offload, .pool = "file", .fn = wait_for_flag, .arg = f->flag);
} coir_end

struct queued {
    coir_frame_void;
    coir_no_args;
    int flag, before;
    struct coir_group group, held;
    struct coir_group_wait wait;
    struct coir_pool_counts counts;
    struct coir_pass pass;
};
static coir_declare(queued);
coir_body(queued, f) {
    f->before = open_descriptors();
    memset(ended_as, 0, sizeof ended_as);
    f->flag = 0;
    EQ(coir_pool_limit("file", 1), 0, "one thread for files");
    coir_group_open(f, &f->held);
    EQ(coir_spawn(&f->held, coir_new(holder, .flag = &f->flag)), 0, "which is held");
    coir_await(f, &f->pass, coir_pass);
    coir_group_open(f, &f->group);
    for (int i = 0; i < 50; i++)
        EQ(coir_spawn(&f->group, coir_new(opener, .path = "held", .flags = O_RDWR)), 0, "an open");
    coir_await(f, &f->pass, coir_pass);
    coir_pool_stats("file", &f->counts);
    EQ(f->counts.queued + f->counts.running, on_epoll ? 51 : 1, "on epoll they wait for that thread");
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(ended_as[0] + ended_as[1], 50, "each open either succeeded or was cancelled");
    EQ(ended_as[2], 0, "nothing else");
    if (on_epoll)
        EQ(ended_as[1], 50, "on epoll none had begun");
    __atomic_store_n(&f->flag, 1, __ATOMIC_RELEASE);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->held);
    EQ(open_descriptors(), f->before, "no descriptor is left");
} coir_end

/* ---- a ring that is full ---- */

struct small_ring {
    coir_frame_void;
    coir_no_args;
    int before;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_pass pass;
};
static coir_declare(small_ring);
coir_body(small_ring, f) {
    f->before = open_descriptors();
    memset(ended_as, 0, sizeof ended_as);
    coir_group_open(f, &f->group);
    for (int i = 0; i < 200; i++)
        EQ(coir_spawn(&f->group, coir_new(opener, .path = "held", .flags = O_RDWR)), 0, "an open");
    coir_await(f, &f->pass, coir_pass);
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(ended_as[0] + ended_as[1], 200, "two entries are enough to cancel two hundred opens");
    EQ(open_descriptors(), f->before, "no descriptor is left");
} coir_end

/* ---- closed meanwhile ---- */

static int moved_as[3];                  /* as above */

struct mover {
    coir_frame_void;
    coir_args(int fd;);
    char buf[64];
    struct coir_pread pread;
};
static coir_declare(mover);
coir_body(mover, f) {
    coir_await(f, &f->pread, coir_pread, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf, .offset = 0);
    moved_as[coir_status(&f->pread) == 0 ? 0 : coir_status(&f->pread) == -ECANCELED ? 1 : 2]++;
} coir_end

struct closed {
    coir_frame_void;
    coir_no_args;
    int flag, fd;
    struct coir_group group, held;
    struct coir_group_wait wait;
    struct coir_open open;
    struct coir_close close;
    struct coir_pread pread;
    struct coir_pass pass;
    char buf[8];
};
static coir_declare(closed);
coir_body(closed, f) {
    f->flag = 0;
    coir_get(f, f->fd, &f->open, coir_open, .path = "held", .flags = O_RDONLY);
    EQ(coir_pool_limit("file", 1), 0, "one thread for files");
    coir_group_open(f, &f->held);
    EQ(coir_spawn(&f->held, coir_new(holder, .flag = &f->flag)), 0, "which is held");
    coir_await(f, &f->pass, coir_pass);
    coir_group_open(f, &f->group);
    for (int i = 0; i < 20; i++)
        EQ(coir_spawn(&f->group, coir_new(mover, .fd = f->fd)), 0, "a read");
    coir_await(f, &f->pass, coir_pass);
    SAYS(0, &f->close, coir_close, .fd = f->fd);
    EQ(fcntl(f->fd, F_GETFD), -1, "it is closed");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(moved_as[0] + moved_as[1], 20, "each read had succeeded or was cancelled");
    EQ(moved_as[2], 0, "nothing else");
    if (on_epoll)
        EQ(moved_as[1], 20, "on epoll none had begun");
    SAYS(-EBADF, &f->pread, coir_pread, .fd = f->fd, .buf = f->buf, .len = 8);
    __atomic_store_n(&f->flag, 1, __ATOMIC_RELEASE);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->held);
} coir_end

/* ---- at any moment ---- */

struct storm {
    coir_frame_void;
    coir_args(unsigned seed;);
    int i, before;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_sleep sleep;
    char names[8][16];
};
static coir_declare(storm);
coir_body(storm, f) {
    f->before = open_descriptors();
    memset(ended_as, 0, sizeof ended_as);
    for (int i = 0; i < 8; i++)
        snprintf(f->names[i], sizeof f->names[i], "s%d", i);
    for (f->i = 0; f->i < 100; f->i++) {
        coir_group_open(f, &f->group);
        for (int i = 0; i < 10; i++)
            coir_spawn(&f->group, coir_new(opener, .path = f->names[(f->i + i) % 8], .flags = O_RDWR | O_CREAT));
        f->seed = f->seed * 1664525 + 1013904223;
        coir_await(f, &f->sleep, coir_sleep, .ns = (int64_t)(f->seed >> 15));
        coir_group_cancel(&f->group);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
    EQ(ended_as[0] + ended_as[1], 1000, "a thousand opens each ended once");
    EQ(ended_as[2], 0, "with success or -ECANCELED");
    NOTE("%d succeeded, %d were cancelled", ended_as[0], ended_as[1]);
    EQ(open_descriptors(), f->before, "no descriptor is left");
} coir_end

/* ---- among siblings ---- */

struct lets_go {
    coir_frame_void;
    coir_args(const bool *over;);
    int fd;
    struct coir_sleep sleep;
};
static coir_declare(lets_go);
coir_body(lets_go, f) {
    coir_await(f, &f->sleep, coir_sleep, .ns = 20 * COIR_MS);
    f->fd = open_other_end();
    while (!*f->over)
        coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    close(f->fd);
} coir_end

struct siblings {
    coir_frame_void;
    coir_no_args;
    bool over;
    struct coir_task *kids[2];
    struct coir_combine race;
    struct coir_open open;
    struct coir_sleep sleep;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(siblings);
coir_body(siblings, f) {
    coir_group_open(f, &f->group);
    f->over = false;
    coir_spawn(&f->group, coir_new(lets_go, .over = &f->over));
    f->kids[0] = coir_make(&f->open, coir_open, .path = "fifo", .flags = O_RDONLY);
    f->kids[1] = coir_make(&f->sleep, coir_sleep, .ns = 2 * COIR_MS);
    coir_race(f, &f->race, f->kids, 2);
    f->over = true;
    EQ(f->race.result, 1, "the sleep is first");
    OK(coir_status(&f->open) == 0 || coir_status(&f->open) == -ECANCELED, "the loser has ended, one way or the other");
    EQ(f->open.result >= 0, coir_status(&f->open) == 0, "with a descriptor if it succeeded");
    if (coir_status(&f->open) == 0)
        close(f->open.result);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

int main(void)
{
    const struct coir_options tiny = { .ring_entries = 2 };
    const char *io = getenv("COIR_IO");

    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    on_epoll = io && !strcmp(io, "epoll");
    scratch_begin();
    const int before = open_descriptors();
    EQ(mkfifo("fifo", 0600), 0, "a FIFO");
    EQ(coir_run(NULL, coir_new(not_started)), 0, "not started");
    EQ(coir_run(NULL, coir_new(blocks)), 0, "blocks");
    EQ(coir_run(NULL, coir_new(queued)), 0, "queued");
    EQ(coir_run(NULL, coir_new(closed)), 0, "closed");
    EQ(coir_run(&tiny, coir_new(small_ring)), 0, "small ring");
    EQ(coir_run(NULL, coir_new(storm, .seed = 7)), 0, "storm");
    EQ(coir_run(NULL, coir_new(siblings)), 0, "siblings");
    EQ(open_descriptors(), before, "nothing is left open");
    scratch_end();
    return DONE();
}
