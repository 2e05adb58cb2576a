/* SPDX-License-Identifier: MIT */
/*
 * Every operation as a task of one shape: it awaits the operation with what the world says, under a deadline if the
 * world has one, and leaves status and result there. New operations are added here, and rows for them to the
 * table; test_planes.c fails while one of a header's is missing.
 */
#ifndef COIR_TESTS_AGREE_OPERATIONS_H
#define COIR_TESTS_AGREE_OPERATIONS_H

#include "world.h"

#define W (f->w)

#define OPERATION(name, result_, ...) \
    struct run_##name { coir_frame_void; coir_args(struct world *w;); struct coir_scope scope; struct name op; }; \
    static coir_declare(run_##name); \
    coir_body(run_##name, f) { \
        if (W->deadline) \
            coir_within(f, &f->scope, coir_now() + W->deadline, &f->op, name, __VA_ARGS__); \
        else \
            coir_await(f, &f->op, name, __VA_ARGS__); \
        W->status = coir_status(&f->op); \
        W->result = (result_); \
        W->ended = true; \
    } coir_end \
    static struct coir_task *make_##name(struct world *w) \
    { \
        return coir_new(run_##name, .w = w); \
    }

/* With a number for a result; with none; with a descriptor, of which 1 is told and which is closed later. */
#define NUMBER(name, ...) OPERATION(name, (int64_t)f->op.result, __VA_ARGS__)
#define VOID(name, ...) OPERATION(name, 0, __VA_ARGS__)
#define DESCRIPTOR(name, ...) OPERATION(name, took(W, coir_status(&f->op), f->op.result), __VA_ARGS__)

static int64_t took(struct world *w, int status, int fd)
{
    if (status < 0)
        return fd == 0 || fd == -1 ? 0 : fd;     /* what a failed one leaves is not the same in all of them */
    w->result_fd = fd;
    return (MUST(fcntl(fd, F_GETFD)) & FD_CLOEXEC) ? 1 : 2;
}

static int64_t answer(void *arg)
{
    const struct timespec long_enough = { 0, arg ? ((struct world *)arg)->flags * COIR_MS : 0 };

    if (arg)
        nanosleep(&long_enough, NULL);
    return 42;
}

/* io.h */
NUMBER(coir_poll, .fd = W->fd, .events = W->flags)
NUMBER(coir_read, .fd = W->fd, .buf = W->to, .len = W->len)
NUMBER(coir_write, .fd = W->fd, .buf = W->text, .len = W->len)
NUMBER(coir_write_all, .fd = W->fd, .buf = W->text, .len = W->len)
NUMBER(coir_readv, .fd = W->fd, .iov = W->to ? W->iov : NULL, .iovcnt = (int)W->len)
NUMBER(coir_writev, .fd = W->fd, .iov = W->to ? W->iov : NULL, .iovcnt = (int)W->len)
VOID(coir_close, .fd = W->fd)
NUMBER(coir_leave, .fd = W->fd)
NUMBER(coir_splice, .fd_in = W->fd, .off_in = -1, .fd_out = W->extra, .off_out = -1, .len = W->len)

/* select.h: beside a channel where nobody comes; the status is the arm's */
struct run_coir_select {
    coir_frame_void;
    coir_args(struct world *w;);
    struct coir_scope scope;
    struct coir_channel channel;
    long item;
    struct coir_arm arms[2];
    struct coir_select op;
};
static coir_declare(run_coir_select);

coir_body(run_coir_select, f) {
    coir_channel_init(&f->channel, sizeof f->item, 0);
    coir_arm_recv(&f->arms[0], &f->channel, &f->item);
    coir_arm_ready(&f->arms[1], W->fd, W->flags);
    coir_within(f, &f->scope, W->deadline ? coir_now() + W->deadline : COIR_NEVER, &f->op, coir_select, .arms = f->arms,
                .n = 2);
    W->status = coir_status(&f->op) ? coir_status(&f->op) : coir_arm_status(&f->arms[1]);
    W->result = W->status ? 0 : coir_arm_events(&f->arms[1]);
    W->ended = true;
    coir_channel_destroy(&f->channel);
} coir_end

static struct coir_task *make_coir_select(struct world *w)
{
    return coir_new(run_coir_select, .w = w);
}

/* net.h */
DESCRIPTOR(coir_socket, .domain = W->flags, .type = SOCK_STREAM)
NUMBER(coir_recv, .fd = W->fd, .buf = W->to, .len = W->len, .flags = W->flags)
NUMBER(coir_send, .fd = W->fd, .buf = W->text, .len = W->len, .flags = W->flags)
NUMBER(coir_recv_exact, .fd = W->fd, .buf = W->to, .len = W->len)
NUMBER(coir_send_all, .fd = W->fd, .buf = W->text, .len = W->len)

/* 1000 more when it was cut off, 10000 when the wrong one has sent it. */
static int64_t from_whom(const struct world *w, int status, size_t n, bool truncated)
{
    const bool right = w->named ? w->len_of_from == w->len_of_at && !memcmp(&w->from, &w->at, w->len_of_at)
                     : w->len_of_from == 0;

    return (int64_t)n + (status == 0 && truncated) * 1000 + (status == 0 && w->len && !right) * 10000;
}

OPERATION(coir_recvfrom, from_whom(W, coir_status(&f->op), f->op.result, f->op.truncated),
          .fd = W->fd, .buf = W->to, .len = W->len, .flags = W->flags, .addr = &W->from, .addrlen = &W->len_of_from)
NUMBER(coir_sendto, .fd = W->fd, .buf = W->text, .len = W->len, .flags = W->flags,
       .addr = W->apart ? (struct sockaddr *)&W->at : NULL, .addrlen = W->apart ? W->len_of_at : 0)
NUMBER(coir_recvmsg, .fd = W->fd, .msg = W->to ? &W->msg : NULL, .flags = W->flags)
NUMBER(coir_sendmsg, .fd = W->fd, .msg = W->to ? &W->msg : NULL, .flags = W->flags)
NUMBER(coir_sendfile, .out_fd = W->fd, .in_fd = W->extra, .offset = W->offset, .count = W->len)
VOID(coir_shutdown, .fd = W->fd, .how = W->flags)
VOID(coir_connect, .fd = W->fd, .addr = W->to ? (struct sockaddr *)&W->at : NULL, .addrlen = W->len_of_at)
DESCRIPTOR(coir_dial, .where = W->text ? W->text : W->to ? W->where : NULL)
NUMBER(coir_resolve, .host = W->text, .service = "80", .addrs = W->to ? &W->at : NULL, .max = W->len)

/* listen.h */
DESCRIPTOR(coir_accept, .fd = W->fd, .addr = W->to ? &W->at : NULL, .addrlen = W->to ? &W->len_of_at : NULL)

/* lend.h: what was lent is copied to the buffer and given back */
static int64_t lent(struct world *w, int status, struct coir_lent *loan)
{
    int64_t n = 0;

    if (status == 0) {
        n = (int64_t)loan->len;
        memcpy(w->buf, loan->data ? loan->data : "", loan->len);
        coir_lend_back(loan);
    }
    return n;
}

OPERATION(coir_recv_lend, lent(W, coir_status(&f->op), &f->op.result), .fd = W->fd)

/* fs.h */
DESCRIPTOR(coir_open, .path = W->text, .flags = W->flags, .mode = 0600)
DESCRIPTOR(coir_openat, .dirfd = W->fd, .path = W->text, .flags = W->flags, .mode = 0600)
VOID(coir_statx, .dirfd = W->fd, .path = W->text, .flags = W->flags, .mask = STATX_SIZE, .statxbuf = W->to)
VOID(coir_rename, .oldpath = W->text, .newpath = "new", .flags = (unsigned)W->flags)
VOID(coir_unlink, .path = W->text, .flags = W->flags)
VOID(coir_mkdir, .path = W->text, .mode = 0700)
NUMBER(coir_pread, .fd = W->fd, .buf = W->to, .len = W->len, .offset = W->offset)
NUMBER(coir_pwrite, .fd = W->fd, .buf = W->text, .len = W->len, .offset = W->offset)
NUMBER(coir_pread_exact, .fd = W->fd, .buf = W->to, .len = W->len, .offset = W->offset)
NUMBER(coir_pwrite_all, .fd = W->fd, .buf = W->text, .len = W->len, .offset = W->offset)
NUMBER(coir_preadv, .fd = W->fd, .iov = W->to ? W->iov : NULL, .iovcnt = (int)W->len, .offset = W->offset)
NUMBER(coir_pwritev, .fd = W->fd, .iov = W->to ? W->iov : NULL, .iovcnt = (int)W->len, .offset = W->offset)
VOID(coir_fsync, .fd = W->fd)
VOID(coir_fdatasync, .fd = W->fd)
VOID(coir_fallocate, .fd = W->fd, .offset = W->offset, .len = (int64_t)W->len)
VOID(coir_ftruncate, .fd = W->fd, .length = W->offset)
NUMBER(coir_readdir, .fd = W->fd, .buf = W->to, .len = W->len)

/* offload.h */
NUMBER(coir_offload, .pool = W->text, .fn = W->to ? answer : NULL, .arg = W->flags ? W : NULL)

/* process.h: a shell runs the text */
OPERATION(coir_process_run, (int64_t)f->op.result.out_len, .argv = W->argv, .out = W->to, .out_len = W->len,
          .grace = -1)

#endif
