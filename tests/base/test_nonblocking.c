/* SPDX-License-Identifier: MIT */
/*
 * A descriptor's mode, held O_NONBLOCK for the time of a call: two at a time, from two threads, on one number and on
 * two. At the end it is what it was; meanwhile whoever asks is told what it will be. And what once hung: a write that
 * took the mode which another thread's sendfile was holding for the pipe's own, and waited in the kernel.
 */
#include "runtime/base/nonblocking.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <coir/coir.h>

#include "tap.h"

enum { TURNS = 20000, THREADS = 4, WRITTEN = 8000000 };

static bool mode(int fd)
{
    return fcntl(fd, F_GETFL) & O_NONBLOCK;
}

static void test_one_after_the_other(int fd, bool nonblocking)
{
    struct coir_nonblocking a, b;

    OK(coir_is_nonblocking(fd) == nonblocking, "what it is");
    EQ(coir_nonblocking_begin(&a, fd), 0, "held once");
    OK(mode(fd) && coir_is_nonblocking(fd) == nonblocking, "it is O_NONBLOCK, and known for what it will be");
    EQ(coir_nonblocking_begin(&b, fd), 0, "held twice");
    coir_nonblocking_end(&a);
    OK(mode(fd) && coir_is_nonblocking(fd) == nonblocking, "the second one still holds it");
    EQ(coir_nonblocking_begin(&a, fd), 0, "held again");
    coir_nonblocking_end(&a);
    OK(mode(fd), "the second one still does");
    coir_nonblocking_end(&b);
    OK(mode(fd) == nonblocking && coir_is_nonblocking(fd) == nonblocking, "and it is what it was");
}

static void test_two_numbers(int one, int other)
{
    struct coir_nonblocking a, b;

    EQ(coir_nonblocking_begin(&a, one), 0, "one is held");
    EQ(coir_nonblocking_begin(&b, other), 0, "and another");
    coir_nonblocking_end(&a);
    OK(!mode(one) && mode(other), "each has its own");
    coir_nonblocking_end(&b);
    OK(!mode(one) && !mode(other), "both are as before");
    EQ(coir_nonblocking_begin(&a, 12345), -EBADF, "no descriptor: -EBADF");
    OK(!coir_is_nonblocking(12345), "and no mode");
}

static void *hold_often(void *fd)
{
    struct coir_nonblocking hold;
    long lost = 0;

    for (int i = 0; i < TURNS; i++) {
        if (coir_nonblocking_begin(&hold, *(int *)fd))
            return (void *)-1L;
        lost += !mode(*(int *)fd);
        coir_nonblocking_end(&hold);
    }
    return (void *)lost;
}

static void test_threads(int fd)
{
    pthread_t threads[THREADS];
    void *lost;
    long all = 0;

    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, hold_often, &fd);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &lost);
        all += (long)lost;
    }
    EQ(all, 0, "it was O_NONBLOCK whenever somebody held it");
    OK(!mode(fd), "and is what it was");
}

/* ---- writes while another thread holds the mode, and lets go ---- */

static bool over;                        /* atomic */

static void *hold_until_over(void *fd)
{
    struct coir_nonblocking hold;

    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        if (coir_nonblocking_begin(&hold, *(int *)fd))
            abort();
        coir_nonblocking_end(&hold);
    }
    return NULL;
}

struct reader {
    coir_frame_void;
    coir_args(int fd;);
    char buf[3000];
    size_t left;
    struct coir_read read;
};
static coir_declare(reader);

coir_body(reader, f) {
    for (f->left = WRITTEN; f->left; f->left -= f->read.result)
        coir_try(f, &f->read, coir_read, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf);
} coir_end

struct writes {
    coir_frame_void;
    coir_args(const int *pipe; const char *data;);
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_write_all write;
};
static coir_declare(writes);

coir_body(writes, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(reader, .fd = f->pipe[0]));
    coir_try(f, &f->write, coir_write_all, .fd = f->pipe[1], .buf = f->data, .len = WRITTEN);
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

static void test_write(void)
{
    static const char data[WRITTEN];
    pthread_t thread;
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        abort();
    pthread_create(&thread, NULL, hold_until_over, &fds[1]);
    EQ(coir_main(coir_new(writes, .pipe = fds, .data = data)), 0, "a write parks, and never waits in the kernel");
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    OK(!mode(fds[1]), "the pipe blocks as before");
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    int fds[2];

    alarm(60);                           /* a write that waits in the kernel */
    if (pipe2(fds, O_CLOEXEC) < 0)
        return 1;
    test_one_after_the_other(fds[0], false);
    test_two_numbers(fds[0], fds[1]);
    test_threads(fds[1]);
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    test_one_after_the_other(fds[0], true);
    test_write();
    return DONE();
}
