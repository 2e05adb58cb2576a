/* SPDX-License-Identifier: MIT */
/*
 * Messages over sockets: recvmsg and sendmsg. The struct msghdr that the kernel reads and writes lies in the
 * operation's frame (it is read when the ring takes the request, and written when it completes); what it
 * points at is the caller's and outlives the await.
 */
#include <limits.h>
#include <sys/socket.h>

#include "runtime/ops/net.h"

/* The pieces; as coir_check_buffer, for all of them together. */
static int check_pieces(struct coir_task *t, const struct msghdr *msg, const char *name)
{
    size_t sum = 0;

    if (msg->msg_iovlen > IOV_MAX)
        return -EMSGSIZE;
    if (msg->msg_iovlen && coir_check_pointer(t, msg->msg_iov, name) < 0)
        return -EFAULT;
    for (size_t i = 0; i < msg->msg_iovlen; i++) {
        const struct iovec *piece = &msg->msg_iov[i];

        if ((!piece->iov_base && piece->iov_len) || coir_arguments_live(t, piece->iov_base, name))
            return -EFAULT;
        sum += piece->iov_len;
    }
    return sum != 0;
}

static int check_message(struct coir_task *t, int fd, const struct msghdr *msg, int flags, const char *name)
{
    int check;

    if (fd < 0)
        return -EBADF;
    if (flags & COIR_MSG_REFUSED)
        return -EOPNOTSUPP;
    if (coir_check_pointer(t, msg, name) < 0)
        return -EFAULT;
    if ((!msg->msg_name && msg->msg_namelen) || (!msg->msg_control && msg->msg_controllen)
        || coir_arguments_live(t, msg->msg_name, name) || coir_arguments_live(t, msg->msg_control, name))
        return -EFAULT;
    check = check_pieces(t, msg, name);
    return check ? check : coir_check_nothing(fd);
}

/* ---- recvmsg ---- */

/* The header for the kernel. A part of the pieces is chosen each time anew: of what lasts, the caller's. */
static struct msghdr *recv_header(struct coir_recvmsg *op)
{
    int n = (int)op->msg->msg_iovlen;

    if (COIR_TORTURED && !(op->flags & (MSG_OOB | MSG_ERRQUEUE))) {
        op->hdr.msg_iov = (struct iovec *)coir_torture_pieces(op->fd, op->msg->msg_iov, &n, false);
        op->hdr.msg_iovlen = (size_t)n;
    }
    return &op->hdr;
}

static int recvmsg_attempt(struct coir_task *t)
{
    struct coir_recvmsg *op = (struct coir_recvmsg *)t;

    return coir_errno(recvmsg(op->fd, recv_header(op), op->flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
}

static void recvmsg_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    struct coir_recvmsg *op = (struct coir_recvmsg *)t;

    io_uring_prep_recvmsg(sqe, op->fd, recv_header(op), (unsigned)op->flags | MSG_CMSG_CLOEXEC);
}

static const struct coir_io_kind recvmsg_kind = {
    .name = "coir_recvmsg",
    .events = POLLIN,
    .opcode = IORING_OP_RECVMSG,
    .attempt = recvmsg_attempt,
    .prepare = recvmsg_prepare,
};

/* 1: it is to begin; else it has ended, with io.res. */
static int recvmsg_begin(struct coir_recvmsg *op)
{
    const int check = check_message(&op->task, op->fd, op->msg, op->flags, "coir_recvmsg");

    op->io.res = check;
    if (check > 0)
        op->hdr = *op->msg;
    else if (check == 0)
        op->hdr = (struct msghdr){ 0 };      /* nothing came: no name, no control data, no flags */
    if (check > 0 && (op->flags & COIR_RECV_NOW)) {
        op->io.res = coir_say_now(recvmsg_attempt(&op->task));
        return 0;
    }
    return check > 0;
}

coir_step coir_recvmsg_resume(struct coir_task *t)
{
    struct coir_recvmsg *op = (struct coir_recvmsg *)t;

    if (t->state == 0 && recvmsg_begin(op) > 0 && !coir_io_begin(t, &op->io, &recvmsg_kind, op->fd))
        return COIR_PARK_;
    if (op->io.res >= 0) {
        op->msg->msg_namelen = op->hdr.msg_namelen;
        op->msg->msg_controllen = op->hdr.msg_controllen;
        op->msg->msg_flags = op->hdr.msg_flags;
    }
    return coir_op_ends(t, &op->io, &op->result);
}

/* ---- sendmsg ---- */

/* The header for the kernel, which copies it. A part of the pieces needs one of its own: ours has all of them. */
static const struct msghdr *send_header(const struct coir_sendmsg *op)
{
    int n = (int)op->hdr.msg_iovlen;
    struct msghdr *part;

    if (!COIR_TORTURED || op->flags & MSG_OOB)
        return &op->hdr;
    part = coir_torture_room(sizeof *part);
    *part = op->hdr;
    part->msg_iov = (struct iovec *)coir_torture_pieces(op->fd, op->hdr.msg_iov, &n, true);
    part->msg_iovlen = (size_t)n;
    return part;
}

static int sendmsg_attempt(struct coir_task *t)
{
    const struct coir_sendmsg *op = (const struct coir_sendmsg *)t;

    return coir_errno(sendmsg(op->fd, send_header(op), op->flags | MSG_DONTWAIT | MSG_NOSIGNAL));
}

static void sendmsg_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_sendmsg *op = (const struct coir_sendmsg *)t;

    io_uring_prep_sendmsg(sqe, op->fd, send_header(op), (unsigned)op->flags | MSG_NOSIGNAL);
}

static const struct coir_io_kind sendmsg_kind = {
    .name = "coir_sendmsg",
    .events = POLLOUT,
    .opcode = IORING_OP_SENDMSG,
    .attempt = sendmsg_attempt,
    .prepare = sendmsg_prepare,
};

static int sendmsg_begin(struct coir_sendmsg *op)
{
    const int check = check_message(&op->task, op->fd, op->msg, op->flags, "coir_sendmsg");

    op->io.res = check;
    if (check > 0)
        op->hdr = *op->msg;
    if (check > 0 && (op->flags & MSG_DONTWAIT)) {
        op->io.res = coir_say_now(sendmsg_attempt(&op->task));
        return 0;
    }
    return check > 0;
}

coir_step coir_sendmsg_resume(struct coir_task *t)
{
    struct coir_sendmsg *op = (struct coir_sendmsg *)t;

    if (t->state == 0 && sendmsg_begin(op) > 0 && !coir_io_begin(t, &op->io, &sendmsg_kind, op->fd))
        return COIR_PARK_;
    return coir_op_ends(t, &op->io, &op->result);
}
