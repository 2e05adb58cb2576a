/* SPDX-License-Identifier: MIT */
/*
 * coir_accept.
 */
#include <coir/listen.h>
#include <fcntl.h>

#include "runtime/ops/op.h"

static int accept_flags(void)
{
    return SOCK_CLOEXEC | (coir_plane_here()->kind->nonblocking ? SOCK_NONBLOCK : 0);
}

/* accept4 that does not block, however the listener was opened. There is no flag for that, and asking poll
 * first would not do: another process may be faster. */
static int accept_now(int fd, struct sockaddr_storage *addr, socklen_t *len)
{
    const int flags = fcntl(fd, F_GETFL);
    const bool blocking = flags >= 0 && !(flags & O_NONBLOCK);
    int res;

    if (blocking)
        fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    res = coir_errno(accept4(fd, (struct sockaddr *)addr, addr ? len : NULL, accept_flags()));
    if (blocking && !coir_plane_here()->kind->nonblocking)
        fcntl(fd, F_SETFL, flags);
    return res;
}

static int accept_attempt(struct coir_task *t)
{
    struct coir_accept *op = (struct coir_accept *)t;

    op->len = sizeof *op->addr;
    return accept_now(op->fd, op->addr, &op->len);
}

static void accept_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    struct coir_accept *op = (struct coir_accept *)t;

    op->len = sizeof *op->addr;
    io_uring_prep_accept(sqe, op->fd, (struct sockaddr *)op->addr, op->addr ? &op->len : NULL, accept_flags());
}

static const struct coir_io_kind accept_kind = {
    .name = "coir_accept",
    .events = POLLIN,
    .opcode = IORING_OP_ACCEPT,
    .attempt = accept_attempt,
    .prepare = accept_prepare,
};

static int check(const struct coir_accept *op, struct coir_task *t)
{
    return op->fd < 0 ? -EBADF
         : coir_arguments_live(t, op->addr, "coir_accept") || coir_arguments_live(t, op->addrlen, "coir_accept")
         ? -EFAULT : 1;
}

coir_step coir_accept_resume(struct coir_task *t)
{
    struct coir_accept *op = (struct coir_accept *)t;

    if (t->state == 0 && !coir_op_begins(t, &op->io, &accept_kind, op->fd, check(op, t)))
        return COIR_PARK_;
    if (op->io.res >= 0) {
        coir_plane_here()->shard->stats.accepts++;
        if (op->addr && op->addrlen)
            *op->addrlen = op->len;
    }
    return coir_op_ends_int(t, &op->io, &op->result);
}
