/* SPDX-License-Identifier: MIT */
/*
 * connect(2). The ring connects by itself; without it, and for Unix sockets always, the call is made
 * non-blocking, waited for with POLLOUT and made again, which tells how it went. That is also how a caller
 * joins an attempt which a cancelled connect has left to the kernel.
 *
 * A Unix listener whose backlog is full has no readiness to wait for: the ring would spend a kernel thread on
 * it, epoll would spin. So coir_connect tries again after a while, the same on both planes.
 */
#include <fcntl.h>
#include <sys/socket.h>

#include "runtime/base/nonblocking.h"
#include "runtime/ops/net.h"

enum { FULL = 1 };                       /* of an attempt: there is no place for it now */

#define FIRST_PAUSE COIR_MS
#define LONGEST_PAUSE (64 * COIR_MS)

/* connect that does not wait, however the descriptor was opened. */
static int connect_now(int fd, const struct sockaddr *addr, socklen_t len)
{
    struct coir_nonblocking hold;
    int res = coir_nonblocking_begin(&hold, fd);

    if (res)
        return res;
    res = coir_errno(connect(fd, addr, len));
    coir_nonblocking_end(&hold);
    return res;
}

static int connect_attempt(struct coir_task *t)
{
    struct coir_connect_once *op = (struct coir_connect_once *)t;
    const int res = connect_now(op->fd, op->addr, op->addrlen);

    if (res == -EAGAIN)
        return FULL;
    if (res == -EISCONN && (op->begun || op->io.asked))   /* asked to stop it was waiting, so it had begun */
        return 0;
    if (res != -EINPROGRESS && res != -EALREADY && res != -EINTR)
        return res;
    op->begun = 1;
    return -EAGAIN;
}

static void connect_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_connect_once *op = (const struct coir_connect_once *)t;

    io_uring_prep_connect(sqe, op->fd, op->addr, op->addrlen);
}

static const struct coir_io_kind connect_kind = {
    .name = "coir_connect",
    .events = POLLOUT,
    .opcode = IORING_OP_CONNECT,
    .attempt = connect_attempt,
    .prepare = connect_prepare,
};

/* By system call and POLLOUT on the ring too: Unix sockets, and joining what is under way. */
static const struct coir_io_kind join_kind = {
    .name = "coir_connect",
    .events = POLLOUT,
    .attempt = connect_attempt,
};

static bool is_unix(const struct coir_connect_once *op)
{
    return op->addrlen >= sizeof op->addr->sa_family && op->addr->sa_family == AF_UNIX;
}

/* The ring found an attempt under way. */
static bool joins(struct coir_connect_once *op)
{
    if (coir_fd_is_still(op->fd, op->closes))
        return coir_io_begin(&op->task, &op->io, &join_kind, op->fd);
    op->io.res = -ECANCELED;
    return true;
}

coir_step coir_connect_once_resume(struct coir_task *t)
{
    struct coir_connect_once *op = (struct coir_connect_once *)t;

    if (t->state == 0) {
        op->begun = 0;
        op->closes = coir_fd_closes(op->fd);
        if (!coir_io_begin(t, &op->io, is_unix(op) ? &join_kind : &connect_kind, op->fd))
            return COIR_PARK_;
    }
    if (op->io.res == -EALREADY && !op->begun && !joins(op))
        return COIR_PARK_;
    t->status = op->io.res == FULL ? -EAGAIN : op->io.res;
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

static int check(struct coir_connect *op)
{
    if (op->fd < 0)
        return -EBADF;
    return coir_check_pointer(&op->task, op->addr, "coir_connect");
}

coir_body(coir_connect, f) {
    {
        const int bad = check(f);
        if (bad < 0)
            coir_fail(f, bad);
    }
    f->closes = coir_fd_closes(f->fd);
    for (f->pause = FIRST_PAUSE; ; f->pause = f->pause < LONGEST_PAUSE ? f->pause * 2 : f->pause) {
        coir_await(f, &f->once, coir_connect_once, .fd = f->fd, .addr = f->addr, .addrlen = f->addrlen);
        if (coir_status(&f->once) != -EAGAIN)
            coir_fail(f, coir_status(&f->once));
        coir_try(f, &f->sleep, coir_sleep, .ns = f->pause);
        if (!coir_fd_is_still(f->fd, f->closes))
            coir_fail(f, -ECANCELED);
    }
} coir_end
