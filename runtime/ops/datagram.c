/* SPDX-License-Identifier: MIT */
/*
 * Datagrams: recvfrom and sendto, by recvmsg and sendmsg on both planes, since those say what was cut off. The struct
 * msghdr lies in the frame; what it points at is the caller's, and the one piece is in the frame too.
 *
 * A Unix socket that others send to by its name says nothing about the room in its queue: the sender's own socket is
 * always ready to be written. The ring would spend a kernel thread on that, epoll would spin. So coir_sendto to such a
 * name tries again after a while, the same on both planes, as coir_connect does.
 */
#include <sys/socket.h>

#include "runtime/ops/net.h"

#define FIRST_PAUSE COIR_MS
#define LONGEST_PAUSE (64 * COIR_MS)

/* ---- recvfrom ---- */

static void set_out(struct coir_recvfrom *op)
{
    op->iov = (struct iovec){ op->buf, coir_io_length(op->len) };
    op->hdr = (struct msghdr){ .msg_name = op->addr, .msg_namelen = op->addr ? sizeof *op->addr : 0,
                               .msg_iov = &op->iov, .msg_iovlen = 1 };
}

static int recvfrom_attempt(struct coir_task *t)
{
    struct coir_recvfrom *op = (struct coir_recvfrom *)t;

    set_out(op);
    return coir_errno(recvmsg(op->fd, &op->hdr, op->flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
}

static void recvfrom_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    struct coir_recvfrom *op = (struct coir_recvfrom *)t;

    set_out(op);
    io_uring_prep_recvmsg(sqe, op->fd, &op->hdr, (unsigned)op->flags | MSG_CMSG_CLOEXEC);
}

static const struct coir_io_kind recvfrom_kind = {
    .name = "coir_recvfrom",
    .events = POLLIN,
    .opcode = IORING_OP_RECVMSG,
    .attempt = recvfrom_attempt,
    .prepare = recvfrom_prepare,
};

static int check_recvfrom(struct coir_task *t)
{
    const struct coir_recvfrom *op = (const struct coir_recvfrom *)t;

    if (op->flags & COIR_MSG_REFUSED)
        return -EOPNOTSUPP;
    if (coir_arguments_live(t, op->addr, "coir_recvfrom") || coir_arguments_live(t, op->addrlen, "coir_recvfrom"))
        return -EFAULT;
    return coir_check_bytes(t, op->fd, op->buf, op->len, "coir_recvfrom");
}

coir_step coir_recvfrom_resume(struct coir_task *t)
{
    struct coir_recvfrom *op = (struct coir_recvfrom *)t;
    int check;

    if (t->state == 0) {
        op->hdr = (struct msghdr){ .msg_namelen = 0 };       /* nothing came yet */
        check = check_recvfrom(t);
        if (check > 0 && (op->flags & COIR_RECV_NOW))
            op->io.res = coir_say_now(recvfrom_attempt(t));
        else if (!coir_op_begins(t, &op->io, &recvfrom_kind, op->fd, check))
            return COIR_PARK_;
    }
    op->truncated = op->io.res >= 0 && (op->hdr.msg_flags & MSG_TRUNC);
    if (op->addrlen && op->io.res >= 0)
        *op->addrlen = op->hdr.msg_namelen;
    return coir_op_ends(t, &op->io, &op->result);
}

/* ---- sendto ---- */

static int sendto_attempt(struct coir_task *t)
{
    const struct coir_sendto *op = (const struct coir_sendto *)t;

    return coir_errno(sendmsg(op->fd, &op->hdr, op->flags | MSG_DONTWAIT | MSG_NOSIGNAL));
}

static void sendto_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_sendto *op = (const struct coir_sendto *)t;

    io_uring_prep_sendmsg(sqe, op->fd, &op->hdr, (unsigned)op->flags | MSG_NOSIGNAL);
}

static const struct coir_io_kind sendto_kind = {
    .name = "coir_sendto",
    .events = POLLOUT,
    .opcode = IORING_OP_SENDMSG,
    .attempt = sendto_attempt,
    .prepare = sendto_prepare,
};

/* To a name of a Unix socket: never waits, and notes that it would have to. */
static int named_attempt(struct coir_task *t)
{
    struct coir_sendto *op = (struct coir_sendto *)t;
    const int res = sendto_attempt(t);

    op->full = res == -EAGAIN;
    return op->full ? 0 : res;
}

static const struct coir_io_kind named_kind = {
    .name = "coir_sendto",
    .events = POLLOUT,
    .attempt = named_attempt,
};

/* ---- pausing ---- */

/* The alarm lies where the planes have theirs: a held operation is nobody's but ours. */
static struct coir_alarm *alarm_of(struct coir_io *io)
{
    _Static_assert(sizeof(struct coir_alarm) <= sizeof io->spare, "an alarm fits into an operation");
    return (struct coir_alarm *)(void *)io->spare;
}

static void pause_is_over(struct coir_alarm *alarm)
{
    struct coir_io *io = (struct coir_io *)(void *)((char *)alarm - offsetof(struct coir_io, spare));

    coir_io_ended(coir_plane_here(), io, 0);
}

static void stop_pausing(struct coir_io *io)
{
    coir_wheel_remove(&coir_shard_here()->wheel, &alarm_of(io)->timer);
}

static const struct coir_io_kind pause_kind = {
    .name = "a pause of coir_sendto",
    .let_go = stop_pausing,
};

/* As coir_io_begin: true, it has ended already. */
static bool pauses(struct coir_sendto *op)
{
    struct coir_alarm *alarm = alarm_of(&op->io);

    if (coir_io_hold(&op->task, &op->io, &pause_kind, op->fd))
        return true;
    alarm->fire = pause_is_over;
    coir_wheel_add(&coir_shard_here()->wheel, &alarm->timer, coir_now() + op->pause);
    op->pause = op->pause < LONGEST_PAUSE ? op->pause * 2 : op->pause;
    return false;
}

/* The end of a pause: once more, also where it was cancelled, since there may be room now. As coir_io_begin. */
static bool tries_again(struct coir_sendto *op)
{
    if (coir_fd_is_still(op->fd, op->closes))
        return coir_io_begin(&op->task, &op->io, &named_kind, op->fd);
    op->io.res = -ECANCELED;
    return true;
}

/* True: it is over, and io.res says how. False: it waits again. */
static bool is_over(struct coir_sendto *op)
{
    if (op->io.kind == &pause_kind && !tries_again(op))
        return false;
    if (!op->full)
        return true;
    op->full = false;
    return pauses(op);
}

static bool is_named(const struct coir_sendto *op)
{
    return op->addr && op->addr->sa_family == AF_UNIX;
}

/* ---- the operation ---- */

static int check_sendto(struct coir_task *t)
{
    const struct coir_sendto *op = (const struct coir_sendto *)t;

    if (op->flags & COIR_MSG_REFUSED)
        return -EOPNOTSUPP;
    if ((!op->addr && op->addrlen) || coir_arguments_live(t, op->addr, "coir_sendto"))
        return -EFAULT;
    if (op->addr && (op->addrlen < sizeof op->addr->sa_family || op->addrlen > sizeof(struct sockaddr_storage)))
        return -EINVAL;
    return coir_check_bytes(t, op->fd, op->buf, op->len, "coir_sendto");
}

static void set_out_to_send(struct coir_sendto *op)
{
    op->closes = coir_fd_closes(op->fd);
    op->pause = FIRST_PAUSE;
    op->full = false;
    op->io.kind = NULL;
    op->iov = (struct iovec){ (void *)op->buf, coir_io_length(op->len) };
    op->hdr = (struct msghdr){ .msg_name = (void *)op->addr, .msg_namelen = op->addrlen, .msg_iov = &op->iov,
                               .msg_iovlen = 1 };
}

coir_step coir_sendto_resume(struct coir_task *t)
{
    struct coir_sendto *op = (struct coir_sendto *)t;
    int check;

    if (t->state == 0) {
        check = check_sendto(t);
        set_out_to_send(op);
        if (check > 0 && (op->flags & MSG_DONTWAIT))
            op->io.res = coir_say_now(sendto_attempt(t));
        else if (!coir_op_begins(t, &op->io, check > 0 && is_named(op) ? &named_kind : &sendto_kind, op->fd, check))
            return COIR_PARK_;
    }
    if (!is_over(op))
        return COIR_PARK_;
    return coir_op_ends(t, &op->io, &op->result);
}
