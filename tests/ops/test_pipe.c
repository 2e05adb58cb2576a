/* SPDX-License-Identifier: MIT */
/*
 * coir_read, coir_write, their vectored forms, coir_splice and coir_poll on what is no socket: pipes, blocking and
 * not, files, terminals, an eventfd, /dev/null. Waits are ended by data, by the end of it, by cancelling, by closing.
 */
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <termios.h>

#include "runtime/task/home.h"
#include "scratch.h"

union slots {
    struct coir_read read;
    struct coir_write write;
    struct coir_write_all write_all;
    struct coir_readv readv;
    struct coir_writev writev;
    struct coir_splice splice;
    struct coir_poll poll;
    struct coir_close close;
    struct coir_open open;
    struct coir_pass pass;
};

/* A pipe as a program that knows nothing of coir makes it: its ends block. */
static int blocking_pipe(int fds[2])
{
    return pipe2(fds, O_CLOEXEC);
}

static int nonblocking_pipe(int fds[2])
{
    return pipe2(fds, O_CLOEXEC | O_NONBLOCK);
}

/* Reads once, and keeps how that ended. */
struct reader {
    coir_frame(int);
    coir_args(int fd; char *to; size_t len; int *status; size_t *got;);
    struct coir_read read;
};
static coir_declare(reader);
coir_body(reader, f) {
    *f->status = 1;
    coir_await(f, &f->read, coir_read, .fd = f->fd, .buf = f->to, .len = f->len);
    *f->got = f->read.result;
    *f->status = coir_status(&f->read);
} coir_end

/* ---- bytes through a pipe ---- */

struct simple {
    coir_frame_void;
    coir_args(int (*make)(int fds[2]););
    int fd[2], status;
    size_t got;
    char to[32], more[8];
    struct iovec iov[2];
    struct coir_group group;
    struct coir_group_wait wait;
    union slots u;
};
static coir_declare(simple);
coir_body(simple, f) {
    EQ(f->make(f->fd), 0, "a pipe");
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(reader, .fd = f->fd[0], .to = f->to, .len = 32, .status = &f->status,
                                   .got = &f->got));
    coir_await(f, &f->u.pass, coir_pass);
    EQ(f->status, 1, "a reader waits for an empty pipe");
    SAYS(0, &f->u.write, coir_write, .fd = f->fd[1], .buf = "abc", .len = 3);
    EQ(f->u.write.result, 3, "three bytes in");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, 0, "the reader has ended");
    EQ(f->got, 3, "with three bytes");
    MEM_EQ(f->to, "abc", 3, "the three");

    f->iov[0] = (struct iovec){ (void *)"12", 2 };
    f->iov[1] = (struct iovec){ (void *)"3456", 4 };
    SAYS(0, &f->u.writev, coir_writev, .fd = f->fd[1], .iov = f->iov, .iovcnt = 2);
    EQ(f->u.writev.result, 6, "six bytes of two pieces");
    f->iov[0] = (struct iovec){ f->to, 3 };
    f->iov[1] = (struct iovec){ f->more, 8 };
    SAYS(0, &f->u.readv, coir_readv, .fd = f->fd[0], .iov = f->iov, .iovcnt = 2);
    EQ(f->u.readv.result, 6, "six bytes into two");
    MEM_EQ(f->more, "456", 3, "three in the second");

    SAYS(-EBADF, &f->u.read, coir_read, .fd = f->fd[1], .buf = f->to, .len = 1);
    SAYS(-EBADF, &f->u.write, coir_write, .fd = f->fd[0], .buf = f->to, .len = 1);
    SAYS(0, &f->u.read, coir_read, .fd = f->fd[0], .buf = f->to, .len = 0);
    SAYS(0, &f->u.write, coir_write, .fd = f->fd[1], .buf = "last", .len = 4);
    coir_await(f, &f->u.close, coir_close, .fd = f->fd[1]);
    SAYS(0, &f->u.read, coir_read, .fd = f->fd[0], .buf = f->to, .len = 32);
    EQ(f->u.read.result, 4, "what was written before the end");
    SAYS(0, &f->u.read, coir_read, .fd = f->fd[0], .buf = f->to, .len = 32);
    EQ(f->u.read.result, 0, "the end");
    coir_await(f, &f->u.close, coir_close, .fd = f->fd[0]);

    EQ(f->make(f->fd), 0, "a pipe");
    coir_await(f, &f->u.close, coir_close, .fd = f->fd[0]);
    SAYS(-EPIPE, &f->u.write, coir_write, .fd = f->fd[1], .buf = "x", .len = 1);
    SAYS(-EPIPE, &f->u.write_all, coir_write_all, .fd = f->fd[1], .buf = "x", .len = 1);
    coir_await(f, &f->u.close, coir_close, .fd = f->fd[1]);
} coir_end

/* ---- more than a pipe holds ---- */

enum { MUCH = 1 << 20 };

struct drain {
    coir_frame(size_t);
    coir_args(int fd;);
    size_t wrong;
    struct coir_read read;
    char buf[5000];
};
static coir_declare(drain);
coir_body(drain, f) {
    for (f->wrong = 0;;) {
        coir_try(f, &f->read, coir_read, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf);
        if (f->read.result == 0)
            break;
        for (size_t i = 0; i < f->read.result; i++)
            f->wrong += f->buf[i] != (char)((f->result + i) * 31 >> 3);
        f->result += f->read.result;
    }
    EQ(f->wrong, 0, "every byte in its place");
} coir_end

struct fill {
    coir_frame(size_t);
    coir_args(int fd;);
    struct coir_write_all write_all;
    struct coir_close close;
    char much[MUCH];
};
static coir_declare(fill);
coir_body(fill, f) {
    for (size_t i = 0; i < MUCH; i++)
        f->much[i] = (char)(i * 31 >> 3);
    coir_await(f, &f->write_all, coir_write_all, .fd = f->fd, .buf = f->much, .len = MUCH);
    f->result = f->write_all.result;
    coir_await(f, &f->close, coir_close, .fd = f->fd);
} coir_end

struct much {
    coir_frame_void;
    coir_args(int (*make)(int fds[2]););
    int fd[2];
    struct coir_task *kids[2];
    struct coir_combine all;
    struct drain drain;
    struct fill fill;
    struct coir_close close;
};
static coir_declare(much);
coir_body(much, f) {
    EQ(f->make(f->fd), 0, "a pipe");
    f->kids[0] = coir_make(&f->fill, fill, .fd = f->fd[1]);
    f->kids[1] = coir_make(&f->drain, drain, .fd = f->fd[0]);
    coir_all(f, &f->all, f->kids, 2);
    EQ(coir_status(&f->all), 0, "a mebibyte through a pipe");
    EQ(f->fill.result, MUCH, "all written");
    EQ(f->drain.result, MUCH, "all read");
    coir_await(f, &f->close, coir_close, .fd = f->fd[0]);
} coir_end

/* ---- cancelled, closed ---- */

struct gives_up {
    coir_frame_void;
    coir_args(int (*make)(int fds[2]););
    int fd[2], status;
    size_t got;
    char to[8], full[4096];
    struct coir_scope scope;
    struct coir_group group;
    struct coir_group_wait wait;
    union slots u;
};
static coir_declare(gives_up);
coir_body(gives_up, f) {
    EQ(f->make(f->fd), 0, "a pipe");
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->u.read, coir_read, .fd = f->fd[0], .buf = f->to, .len = 8);
    EQ(coir_status(&f->u.read), -ETIMEDOUT, "nothing came in time");
    SAYS(0, &f->u.write, coir_write, .fd = f->fd[1], .buf = "kept", .len = 4);
    coir_within(f, &f->scope, coir_now() - 1, &f->u.read, coir_read, .fd = f->fd[0], .buf = f->to, .len = 8);
    EQ(coir_status(&f->u.read), 0, "what is there is read although the scope is cancelled");
    EQ(f->u.read.result, 4, "and was not lost to the read that was given up");
    coir_within(f, &f->scope, coir_now() - 1, &f->u.read, coir_read, .fd = f->fd[0], .buf = f->to, .len = 8);
    EQ(coir_status(&f->u.read), -ETIMEDOUT, "what is not there is not waited for");
    do {
        coir_within(f, &f->scope, coir_now() + COIR_MS, &f->u.write, coir_write, .fd = f->fd[1], .buf = f->full,
                    .len = sizeof f->full);
    } while (coir_status(&f->u.write) == 0);
    EQ(coir_status(&f->u.write), -ETIMEDOUT, "a full pipe is waited for, until the deadline");

    coir_group_open(f, &f->group);
    do {
        coir_within(f, &f->scope, coir_now() - 1, &f->u.read, coir_read, .fd = f->fd[0], .buf = f->full,
                    .len = sizeof f->full);
    } while (coir_status(&f->u.read) == 0);
    coir_spawn(&f->group, coir_new(reader, .fd = f->fd[0], .to = f->to, .len = 8, .status = &f->status,
                                   .got = &f->got));
    coir_await(f, &f->u.pass, coir_pass);
    SAYS(0, &f->u.close, coir_close, .fd = f->fd[0]);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, -ECANCELED, "a close ends who waits");
    coir_await(f, &f->u.close, coir_close, .fd = f->fd[1]);
} coir_end

/* ---- splice ---- */

struct splices {
    coir_frame_void;
    coir_no_args;
    int a[2], b[2], in, out;
    char to[16];
    struct coir_scope scope;
    union slots u;
};
static coir_declare(splices);
coir_body(splices, f) {
    EQ(coir_pipe(f->a) + coir_pipe(f->b), 0, "two pipes");
    make_file("in", 'i', 10);
    coir_get(f, f->in, &f->u.open, coir_open, .path = "in", .flags = O_RDONLY);
    coir_get(f, f->out, &f->u.open, coir_open, .path = "out", .flags = O_RDWR | O_CREAT, .mode = 0600);
    SAYS(0, &f->u.splice, coir_splice, .fd_in = f->in, .off_in = 4, .fd_out = f->a[1], .off_out = -1, .len = 100);
    EQ(f->u.splice.result, 6, "from offset 4 of ten, six");
    SAYS(0, &f->u.splice, coir_splice, .fd_in = f->in, .off_in = -1, .fd_out = f->a[1], .off_out = -1, .len = 3);
    EQ(f->u.splice.result, 3, "three from the position, which had not moved");
    EQ(lseek(f->in, 0, SEEK_CUR), 3, "and now has");
    SAYS(0, &f->u.splice, coir_splice, .fd_in = f->a[0], .off_in = -1, .fd_out = f->b[1], .off_out = -1, .len = 100);
    EQ(f->u.splice.result, 9, "nine from pipe to pipe");
    SAYS(0, &f->u.splice, coir_splice, .fd_in = f->b[0], .off_in = -1, .fd_out = f->out, .off_out = 5, .len = 100);
    EQ(size_of("out"), 14, "nine at offset 5");
    SAYS(0, &f->u.splice, coir_splice, .fd_in = f->b[0], .off_in = -1, .fd_out = f->out, .off_out = -1, .len = 0);
    EQ(f->u.splice.result, 0, "none of none");
    SAYS(-EINVAL, &f->u.splice, coir_splice, .fd_in = f->in, .off_in = 0, .fd_out = f->out, .off_out = 0, .len = 3);
    SAYS(-ESPIPE, &f->u.splice, coir_splice, .fd_in = f->a[0], .off_in = 0, .fd_out = f->b[1], .off_out = -1, .len = 3);
    SAYS(-EBADF, &f->u.splice, coir_splice, .fd_in = -1, .off_in = -1, .fd_out = f->b[1], .off_out = -1, .len = 3);
    SAYS(-EBADF, &f->u.splice, coir_splice, .fd_in = f->in, .off_in = -1, .fd_out = 9999, .off_out = -1, .len = 3);
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->u.splice, coir_splice, .fd_in = f->a[0], .off_in = -1,
                .fd_out = f->b[1], .off_out = -1, .len = 3);
    EQ(coir_status(&f->u.splice), -ETIMEDOUT, "an empty pipe is waited for");
    coir_finally(f) {
        coir_await(f, &f->u.close, coir_close, .fd = f->a[0]);
        coir_await(f, &f->u.close, coir_close, .fd = f->a[1]);
        coir_await(f, &f->u.close, coir_close, .fd = f->b[0]);
        coir_await(f, &f->u.close, coir_close, .fd = f->b[1]);
        coir_await(f, &f->u.close, coir_close, .fd = f->in);
        coir_await(f, &f->u.close, coir_close, .fd = f->out);
    }
} coir_end

/* Its source has something, its target is full: how often the shard asks before there is room. */
struct waits_for_room {
    coir_frame_void;
    coir_args(int (*make)(int fds[2]););
    int a[2], b[2];
    char full[4096];
    struct coir_scope scope;
    struct coir_stats before, after;
    union slots u;
};
static coir_declare(waits_for_room);
coir_body(waits_for_room, f) {
    EQ(f->make(f->a) + f->make(f->b), 0, "two pipes");
    memset(f->full, 'f', sizeof f->full);
    do {
        coir_within(f, &f->scope, coir_now() - 1, &f->u.write, coir_write, .fd = f->b[1], .buf = f->full,
                    .len = sizeof f->full);
    } while (coir_status(&f->u.write) == 0);
    SAYS(0, &f->u.write, coir_write, .fd = f->a[1], .buf = "to go", .len = 5);
    coir_stats(0, &f->before);
    coir_within(f, &f->scope, coir_now() + 20 * COIR_MS, &f->u.splice, coir_splice, .fd_in = f->a[0], .off_in = -1,
                .fd_out = f->b[1], .off_out = -1, .len = 5);
    EQ(coir_status(&f->u.splice), -ETIMEDOUT, "a full pipe is waited for, until the deadline");
    coir_stats(0, &f->after);
    OK(f->after.syscalls - f->before.syscalls < 20, "without asking again and again: %d system calls",
       (int)(f->after.syscalls - f->before.syscalls));
    SAYS(0, &f->u.read, coir_read, .fd = f->b[0], .buf = f->full, .len = sizeof f->full);
    SAYS(0, &f->u.splice, coir_splice, .fd_in = f->a[0], .off_in = -1, .fd_out = f->b[1], .off_out = -1, .len = 5);
    EQ(f->u.splice.result, 5, "what could not go then was not lost");
    coir_finally(f) {
        coir_await(f, &f->u.close, coir_close, .fd = f->a[0]);
        coir_await(f, &f->u.close, coir_close, .fd = f->a[1]);
        coir_await(f, &f->u.close, coir_close, .fd = f->b[0]);
        coir_await(f, &f->u.close, coir_close, .fd = f->b[1]);
    }
} coir_end

/* Splices once, and keeps how that ended. */
struct splicer {
    coir_frame_void;
    coir_args(int in; int out; int *status;);
    struct coir_scope scope;
    struct coir_splice splice;
};
static coir_declare(splicer);
coir_body(splicer, f) {
    *f->status = 1;
    coir_within(f, &f->scope, coir_now() + 30 * COIR_S, &f->splice, coir_splice, .fd_in = f->in, .off_in = -1,
                .fd_out = f->out, .off_out = -1, .len = 6);
    *f->status = coir_status(&f->splice);
} coir_end

/* What a splice waits for, and which of its descriptors is closed then. */
static const struct closing {
    const char *name;
    bool full, in;
    bool turns;         /* right before the close what it waits for comes, and what it did not wait for goes */
} closings[] = {
    { "waits for bytes, their descriptor is closed", .in = true },
    { "waits for bytes, the other one is closed", .in = false },
    { "waits for room, its descriptor is closed", .full = true },
    { "waits for room, the other one is closed", .full = true, .in = true },
    { "waits for bytes, which come, but the room goes", .in = true, .turns = true },
    { "waits for bytes, which come, but the room goes, the other one is closed", .turns = true },
};

static void fill_up(int fd)
{
    static const char bytes[4096];
    const int flags = fcntl(fd, F_GETFL);

    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    while (write(fd, bytes, sizeof bytes) > 0)
        ;
    fcntl(fd, F_SETFL, flags);
}

static ssize_t empty(int fd)
{
    static char bytes[1 << 20];
    const int flags = fcntl(fd, F_GETFL);

    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    const ssize_t n = read(fd, bytes, sizeof bytes);
    fcntl(fd, F_SETFL, flags);
    return n;
}

struct closed_under {
    coir_frame_void;
    coir_args(const struct closing *is; int (*make)(int fds[2]););
    int a[2], b[2], c[2], status;
    struct coir_group group;
    struct coir_group_wait wait;
    union slots u;
};
static coir_declare(closed_under);
coir_body(closed_under, f) {
    EQ(f->make(f->a) + f->make(f->b), 0, "two pipes");
    if (f->is->full) {
        fill_up(f->b[1]);
        EQ(write(f->a[1], "public", 6), 6, "something to go");
    }
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(splicer, .in = f->a[0], .out = f->b[1], .status = &f->status));
    coir_await(f, &f->u.pass, coir_pass);
    EQ(f->status, 1, "it waits");
    if (f->is->turns) {
        fill_up(f->b[1]);
        EQ(write(f->a[1], "public", 6), 6, "something to go");
    }
    coir_await(f, &f->u.close, coir_close, .fd = f->is->in ? f->a[0] : f->b[1]);
    EQ(f->make(f->c), 0, "another pipe");
    EQ(f->c[0], f->is->in ? f->a[0] : f->b[1], "has the number");
    if (f->is->in)
        EQ(write(f->c[1], "SECRET", 6), 6, "and something that is not to go");
    else
        EQ(dup2(f->c[1], f->c[0]), f->c[0], "and can be written");
    empty(f->b[0]);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, -ECANCELED, "the close has ended it");
    OK(empty(f->b[0]) <= 0, "nothing went");
    close(f->is->in ? f->b[1] : f->a[0]);
    close(f->a[1]);
    close(f->b[0]);
    close(f->c[0]);
    close(f->c[1]);
} coir_end

/* A socket that blocks does not block the shard. */
struct with_sockets {
    coir_frame_void;
    coir_no_args;
    int s[2], a[2];
    struct coir_scope scope;
    union slots u;
};
static coir_declare(with_sockets);
coir_body(with_sockets, f) {
    EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, f->s) + coir_pipe(f->a), 0, "sockets and a pipe");
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->u.splice, coir_splice, .fd_in = f->s[0], .off_in = -1,
                .fd_out = f->a[1], .off_out = -1, .len = 9);
    EQ(coir_status(&f->u.splice), -ETIMEDOUT, "nothing comes from a socket");
    EQ(send(f->s[1], "to go", 5, 0), 5, "something");
    SAYS(0, &f->u.splice, coir_splice, .fd_in = f->s[0], .off_in = -1, .fd_out = f->a[1], .off_out = -1, .len = 9);
    EQ(f->u.splice.result, 5, "comes");
    fill_up(f->s[1]);
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->u.splice, coir_splice, .fd_in = f->a[0], .off_in = -1,
                .fd_out = f->s[1], .off_out = -1, .len = 9);
    EQ(coir_status(&f->u.splice), -ETIMEDOUT, "a full socket");
    while (empty(f->s[0]) > 0)
        ;
    SAYS(0, &f->u.splice, coir_splice, .fd_in = f->a[0], .off_in = -1, .fd_out = f->s[1], .off_out = -1, .len = 9);
    EQ(f->u.splice.result, 5, "goes when there is room");
    EQ(empty(f->s[0]), 5, "and has gone");
    OK(!(fcntl(f->s[0], F_GETFL) & O_NONBLOCK) && !(fcntl(f->s[1], F_GETFL) & O_NONBLOCK), "both block as before");
    close(f->s[1]);
    EQ(write(f->a[1], "lost", 4), 4, "something");
    SAYS(-EPIPE, &f->u.splice, coir_splice, .fd_in = f->a[0], .off_in = -1, .fd_out = f->s[0], .off_out = -1, .len = 9);
    close(f->s[0]);
    close(f->a[0]);
    close(f->a[1]);
} coir_end

/* The file is there at once; the pipe is waited for. */
struct with_files {
    coir_frame_void;
    coir_no_args;
    int a[2], file, status;
    struct coir_scope scope;
    struct coir_group group;
    struct coir_group_wait wait;
    union slots u;
};
static coir_declare(with_files);
coir_body(with_files, f) {
    EQ(coir_pipe(f->a), 0, "a pipe");
    make_file("spliced", 's', 10);
    coir_get(f, f->file, &f->u.open, coir_open, .path = "spliced", .flags = O_RDWR);
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->u.splice, coir_splice, .fd_in = f->a[0], .off_in = -1,
                .fd_out = f->file, .off_out = 10, .len = 9);
    EQ(coir_status(&f->u.splice), -ETIMEDOUT, "an empty pipe into a file");
    fill_up(f->a[1]);
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->u.splice, coir_splice, .fd_in = f->file, .off_in = 4,
                .fd_out = f->a[1], .off_out = -1, .len = 9);
    EQ(coir_status(&f->u.splice), -ETIMEDOUT, "a file into a full pipe");
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(splicer, .in = f->file, .out = f->a[1], .status = &f->status));
    coir_await(f, &f->u.pass, coir_pass);
    coir_await(f, &f->u.close, coir_close, .fd = f->file);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, -ECANCELED, "the file is closed under it");
    while (empty(f->a[0]) > 0)
        ;
    coir_get(f, f->file, &f->u.open, coir_open, .path = "spliced", .flags = O_RDWR);
    SAYS(0, &f->u.splice, coir_splice, .fd_in = f->file, .off_in = 4, .fd_out = f->a[1], .off_out = -1, .len = 9);
    EQ(f->u.splice.result, 6, "six of the file");
    SAYS(0, &f->u.splice, coir_splice, .fd_in = f->a[0], .off_in = -1, .fd_out = f->file, .off_out = 10, .len = 9);
    EQ(f->u.splice.result, 6, "back into it");
    EQ(size_of("spliced"), 16, "at its end");
    SAYS(-EINVAL, &f->u.splice, coir_splice, .fd_in = f->file, .off_in = -2, .fd_out = f->a[1], .off_out = -1,
         .len = 9);
    close(f->a[0]);
    close(f->a[1]);
    coir_await(f, &f->u.close, coir_close, .fd = f->file);
} coir_end

/* ---- files at their position, and at their end ---- */

struct files {
    coir_frame_void;
    coir_no_args;
    int fd, dir, null;
    char to[16];
    union slots u;
};
static coir_declare(files);
coir_body(files, f) {
    coir_get(f, f->fd, &f->u.open, coir_open, .path = "plain", .flags = O_RDWR | O_CREAT, .mode = 0600);
    SAYS(0, &f->u.write_all, coir_write_all, .fd = f->fd, .buf = "0123456789", .len = 10);
    SAYS(0, &f->u.write, coir_write, .fd = f->fd, .buf = "ab", .len = 2);
    EQ(size_of("plain"), 12, "one behind the other");
    EQ(lseek(f->fd, 8, SEEK_SET), 8, "back to the ninth");
    SAYS(0, &f->u.read, coir_read, .fd = f->fd, .buf = f->to, .len = 3);
    MEM_EQ(f->to, "89a", 3, "three from there");
    SAYS(0, &f->u.read, coir_read, .fd = f->fd, .buf = f->to, .len = 3);
    EQ(f->u.read.result, 1, "the last one");
    SAYS(0, &f->u.read, coir_read, .fd = f->fd, .buf = f->to, .len = 3);
    EQ(f->u.read.result, 0, "the end");
    SAYS(0, &f->u.poll, coir_poll, .fd = f->fd, .events = POLLIN | POLLOUT);
    EQ(f->u.poll.result, POLLIN | POLLOUT, "a file is always ready");
    coir_await(f, &f->u.close, coir_close, .fd = f->fd);
    coir_get(f, f->dir, &f->u.open, coir_open, .path = ".", .flags = O_RDONLY);
    SAYS(-EISDIR, &f->u.read, coir_read, .fd = f->dir, .buf = f->to, .len = 3);
    SAYS(-EBADF, &f->u.write, coir_write, .fd = f->dir, .buf = f->to, .len = 3);
    coir_await(f, &f->u.close, coir_close, .fd = f->dir);

    /* A regular file that says it is ready, and knows no reading without waiting. */
    coir_get(f, f->null, &f->u.open, coir_open, .path = "/proc/version", .flags = O_RDONLY);
    SAYS(0, &f->u.read, coir_read, .fd = f->null, .buf = f->to, .len = 6);
    MEM_EQ(f->to, "Linux ", 6, "a file in /proc");
    coir_await(f, &f->u.close, coir_close, .fd = f->null);

    coir_get(f, f->null, &f->u.open, coir_open, .path = "/dev/null", .flags = O_RDWR);
    EQ(dup2(f->null, 0), 0, "standard input is /dev/null");
    SAYS(0, &f->u.read, coir_read, .fd = 0, .buf = f->to, .len = 3);
    EQ(f->u.read.result, 0, "which is at its end");
    SAYS(0, &f->u.write, coir_write, .fd = f->null, .buf = f->to, .len = 3);
    EQ(f->u.write.result, 3, "and takes everything");
    coir_await(f, &f->u.close, coir_close, .fd = f->null);
} coir_end

/* ---- an eventfd ---- */

struct events {
    coir_frame_void;
    coir_args(int flags;);
    int fd, status;
    size_t got;
    uint64_t count, to;
    struct coir_group group;
    struct coir_group_wait wait;
    union slots u;
};
static coir_declare(events);
coir_body(events, f) {
    f->fd = eventfd(0, EFD_CLOEXEC | f->flags);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(reader, .fd = f->fd, .to = (char *)&f->to, .len = 8, .status = &f->status,
                                   .got = &f->got));
    coir_await(f, &f->u.pass, coir_pass);
    EQ(f->status, 1, "a reader waits for an eventfd of 0");
    f->count = 5;
    SAYS(0, &f->u.write, coir_write, .fd = f->fd, .buf = &f->count, .len = 8);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, 0, "and ends when it is written to");
    EQ(f->to, 5, "with the count");
    SAYS(-EINVAL, &f->u.read, coir_read, .fd = f->fd, .buf = &f->to, .len = 7);
    SAYS(-EINVAL, &f->u.write, coir_write, .fd = f->fd, .buf = &f->to, .len = 7);
    coir_await(f, &f->u.close, coir_close, .fd = f->fd);
} coir_end

/* ---- a terminal ---- */

struct terminal {
    coir_frame_void;
    coir_args(int master; int slave;);
    int status;
    size_t got;
    char to[32];
    struct coir_scope scope;
    struct coir_group group;
    struct coir_group_wait wait;
    union slots u;
};
static coir_declare(terminal);
coir_body(terminal, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(reader, .fd = f->slave, .to = f->to, .len = 32, .status = &f->status,
                                   .got = &f->got));
    coir_await(f, &f->u.pass, coir_pass);
    SAYS(0, &f->u.write, coir_write, .fd = f->master, .buf = "half", .len = 4);
    coir_await(f, &f->u.pass, coir_pass);
    EQ(f->status, 1, "half a line is not read");
    SAYS(0, &f->u.write, coir_write, .fd = f->master, .buf = " line\n", .len = 6);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, 0, "a whole one is");
    EQ(f->got, 10, "half line and its end");
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->u.read, coir_read, .fd = f->slave, .buf = f->to, .len = 8);
    EQ(coir_status(&f->u.read), -ETIMEDOUT, "a read of a terminal can be given up");
    SAYS(0, &f->u.write_all, coir_write_all, .fd = f->slave, .buf = "out", .len = 3);
    SAYS(0, &f->u.read, coir_read, .fd = f->master, .buf = f->to, .len = 32);
    MEM_EQ(f->to, "out", 3, "what is written comes out on the other side");
    coir_await(f, &f->u.close, coir_close, .fd = f->master);
    SAYS(0, &f->u.read, coir_read, .fd = f->slave, .buf = f->to, .len = 8);
    EQ(f->u.read.result, 0, "a terminal that is gone is at its end");
    SAYS(-EIO, &f->u.write, coir_write, .fd = f->slave, .buf = "x", .len = 1);
    coir_await(f, &f->u.close, coir_close, .fd = f->slave);
} coir_end

/* A terminal takes a write_all in pieces, at once; others have a turn between them. */
struct counts {
    coir_frame_void;
    coir_args(int *n;);
};
static coir_declare(counts);
coir_body(counts, f) {
    ++*f->n;
} coir_end

struct takes_turns {
    coir_frame_void;
    coir_args(int slave;);
    int n;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_scope scope;
    union slots u;
    char bytes[6000];
};
static coir_declare(takes_turns);
coir_body(takes_turns, f) {
    memset(f->bytes, 'b', sizeof f->bytes);
    f->n = 0;
    coir_group_open(f, &f->group);
    coir_await(f, &f->u.pass, coir_pass);
    coir_spawn(&f->group, coir_new(counts, .n = &f->n));
    coir_here.budget = 2;                  /* the await has one, the first piece the other */
    coir_within(f, &f->scope, coir_now() + COIR_S, &f->u.write_all, coir_write_all, .fd = f->slave, .buf = f->bytes,
                .len = sizeof f->bytes);
    EQ(coir_status(&f->u.write_all), 0, "two pieces into a terminal");
    EQ(f->u.write_all.result, sizeof f->bytes, "whole");
    EQ(f->n, 1, "somebody had a turn in between");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

static bool open_terminal(int *master, int *slave)
{
    struct termios t;

    *master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*master < 0 || grantpt(*master) || unlockpt(*master))
        return false;
    *slave = open(ptsname(*master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*slave < 0 || tcgetattr(*slave, &t))
        return false;
    t.c_lflag &= ~(tcflag_t)ECHO;
    t.c_oflag &= ~(tcflag_t)OPOST;
    return tcsetattr(*slave, TCSANOW, &t) == 0;
}

int main(void)
{
    int master, slave;

    WITHOUT_CHANCE("fifo,whole");      /* it scripts steps, and says how many bytes there are at once */
    scratch_begin();
    const int before = open_descriptors();
    EQ(coir_run(NULL, coir_new(simple, .make = coir_pipe)), 0, "simple, coir's pipe");
    EQ(coir_run(NULL, coir_new(simple, .make = blocking_pipe)), 0, "simple, a blocking pipe");
    EQ(coir_run(NULL, coir_new(much, .make = coir_pipe)), 0, "much, coir's pipe");
    EQ(coir_run(NULL, coir_new(much, .make = blocking_pipe)), 0, "much, a blocking pipe");
    EQ(coir_run(NULL, coir_new(gives_up, .make = coir_pipe)), 0, "giving up, coir's pipe");
    EQ(coir_run(NULL, coir_new(gives_up, .make = blocking_pipe)), 0, "giving up, a blocking pipe");
    EQ(coir_run(NULL, coir_new(splices)), 0, "splices");
    EQ(coir_run(NULL, coir_new(waits_for_room, .make = coir_pipe)), 0, "waits for room, coir's pipe");
    EQ(coir_run(NULL, coir_new(waits_for_room, .make = blocking_pipe)), 0, "waits for room, a blocking pipe");
    EQ(coir_run(NULL, coir_new(waits_for_room, .make = nonblocking_pipe)), 0, "waits for room, one that does not");
    for (unsigned i = 0; i < sizeof closings / sizeof *closings; i++) {
        NOTE("%s", closings[i].name);
        EQ(coir_run(NULL, coir_new(closed_under, .is = &closings[i], .make = blocking_pipe)), 0, "it blocks");
        EQ(coir_run(NULL, coir_new(closed_under, .is = &closings[i], .make = nonblocking_pipe)), 0, "it does not");
    }
    EQ(coir_run(NULL, coir_new(with_sockets)), 0, "splices with sockets");
    EQ(coir_run(NULL, coir_new(with_files)), 0, "splices with files");
    EQ(coir_run(NULL, coir_new(files)), 0, "files");
    EQ(coir_run(NULL, coir_new(events, .flags = 0)), 0, "an eventfd that blocks");
    EQ(coir_run(NULL, coir_new(events, .flags = EFD_NONBLOCK)), 0, "an eventfd that does not");
    if (open_terminal(&master, &slave)) {
        EQ(coir_run(NULL, coir_new(takes_turns, .slave = slave)), 0, "turns");
        close(master);
        close(slave);
    }
    if (open_terminal(&master, &slave))
        EQ(coir_run(NULL, coir_new(terminal, .master = master, .slave = slave)), 0, "a terminal");
    else
        SKIP("there are no terminals here");
    EQ(open_descriptors(), before, "nothing is left open");
    scratch_end();
    return DONE();
}
