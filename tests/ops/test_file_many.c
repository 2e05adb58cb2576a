/* SPDX-License-Identifier: MIT */
/*
 * A thousand tasks, each with a file of its own, on two shards and eight threads; meanwhile a timer interrupts
 * this process a thousand times a second. Every byte is where it was written.
 */
#include <signal.h>
#include <sys/time.h>

#include "scratch.h"

enum { TASKS = 1000, BYTES = 3000 };

static int good;                         /* atomic */
static volatile sig_atomic_t alarms;

static void on_alarm(int sig)
{
    (void)sig;
    alarms++;
}

struct task {
    coir_frame_void;
    coir_args(int n;);
    char path[32], moved[32];
    int fd;
    size_t wrong;
    struct statx st;
    union {
        struct coir_open open;
        struct coir_pwrite_all write;
        struct coir_pread_exact read;
        struct coir_fdatasync sync;
        struct coir_statx statx;
        struct coir_rename rename;
        struct coir_unlink unlink;
        struct coir_close close;
    } u;
    unsigned char buf[BYTES];
};
static coir_declare(task);
coir_body(task, f) {
    snprintf(f->path, sizeof f->path, "many-%d", f->n);
    snprintf(f->moved, sizeof f->moved, "moved-%d", f->n);
    coir_get(f, f->fd, &f->u.open, coir_open, .path = f->path, .flags = O_RDWR | O_CREAT | O_EXCL, .mode = 0600);
    for (int i = 0; i < BYTES; i++)
        f->buf[i] = (unsigned char)(f->n * 7 + i);
    coir_try(f, &f->u.write, coir_pwrite_all, .fd = f->fd, .buf = f->buf, .len = BYTES, .offset = f->n);
    coir_try(f, &f->u.sync, coir_fdatasync, .fd = f->fd);
    memset(f->buf, 0, sizeof f->buf);
    coir_try(f, &f->u.read, coir_pread_exact, .fd = f->fd, .buf = f->buf, .len = BYTES, .offset = f->n);
    f->wrong = 0;
    for (int i = 0; i < BYTES; i++)
        f->wrong += f->buf[i] != (unsigned char)(f->n * 7 + i);
    coir_try(f, &f->u.rename, coir_rename, .oldpath = f->path, .newpath = f->moved, .flags = RENAME_NOREPLACE);
    coir_try(f, &f->u.statx, coir_statx, .dirfd = AT_FDCWD, .path = f->moved, .mask = STATX_SIZE, .statxbuf = &f->st);
    coir_try(f, &f->u.unlink, coir_unlink, .path = f->moved);
    coir_try(f, &f->u.close, coir_close, .fd = f->fd);
    if (f->wrong == 0 && f->st.stx_size == (uint64_t)(BYTES + f->n))
        __atomic_add_fetch(&good, 1, __ATOMIC_RELAXED);
} coir_end

struct half {
    coir_frame_void;
    coir_args(int first;);
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(half);
coir_body(half, f) {
    coir_group_open(f, &f->group);
    for (int i = 0; i < TASKS / 2; i++)
        coir_spawn(&f->group, coir_new(task, .n = f->first + i));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

struct away {
    coir_frame_void;
    coir_no_args;
    struct half half;
};
static coir_declare(away);
coir_body(away, f) {
    coir_await_on(f, 1, &f->half, half, .first = TASKS / 2);
    coir_check(f, &f->half);
} coir_end

struct both {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
    struct half half;
    struct coir_pool_counts counts;
};
static coir_declare(both);
coir_body(both, f) {
    coir_group_open(f, &f->group);
    EQ(coir_spawn(&f->group, coir_new(away)), 0, "half of them on the other shard");
    coir_await(f, &f->half, half, .first = 0);
    EQ(coir_status(&f->half), 0, "the half here");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), 0, "the half there");
    if (coir_pool_stats("file", &f->counts) == 0) {
        OK(f->counts.threads <= 8, "at most eight threads: %u", f->counts.threads);
        EQ(f->counts.queued + f->counts.running, 0, "with nothing left to do");
        NOTE("%d operations ran on the pool", (int)f->counts.done);
    }
} coir_end

int main(void)
{
    const struct coir_options two = { .shards = 2, .unpinned = true };
    const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
    struct sigaction act = { .sa_handler = on_alarm };

    scratch_begin();
    const int before = open_descriptors();
    sigaction(SIGALRM, &act, NULL);      /* without SA_RESTART */
    setitimer(ITIMER_REAL, &often, NULL);
    EQ(coir_run(&two, coir_new(both)), 0, "a thousand tasks");
    setitimer(ITIMER_REAL, &never, NULL);
    EQ(good, TASKS, "each read what it had written");
    NOTE("%d signals interrupted them", (int)alarms);
    EQ(open_descriptors(), before, "nothing is left open");
    scratch_end();
    return DONE();
}
