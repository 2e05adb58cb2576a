/* SPDX-License-Identifier: MIT */
/*
 * Bytes over sockets: recv, send, and the two that move an exact number.
 *
 * Every call without the ring carries MSG_DONTWAIT, every send MSG_NOSIGNAL, so that the descriptor's own mode
 * does not matter and SIGPIPE is never raised. The exact ones count in `result` as they go; a short transfer is
 * never hidden from that count.
 */
#include <sys/socket.h>

#include "runtime/ops/net.h"

/* ---- recv ---- */

/* Data out of band is one byte, and what a queue of errors has is a message. */
static size_t recv_length(const struct coir_recv *op)
{
    return op->flags & (MSG_OOB | MSG_ERRQUEUE) ? coir_io_length(op->len) : coir_io_reads(op->fd, op->len);
}

static int recv_attempt(struct coir_task *t)
{
    const struct coir_recv *op = (const struct coir_recv *)t;

    return coir_errno(recv(op->fd, op->buf, recv_length(op), op->flags | MSG_DONTWAIT));
}

static void recv_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_recv *op = (const struct coir_recv *)t;

    io_uring_prep_recv(sqe, op->fd, op->buf, recv_length(op), op->flags);
}

static const struct coir_io_kind recv_kind = {
    .name = "coir_recv",
    .events = POLLIN,
    .opcode = IORING_OP_RECV,
    .attempt = recv_attempt,
    .prepare = recv_prepare,
};

static int check_recv(struct coir_task *t)
{
    const struct coir_recv *op = (const struct coir_recv *)t;

    if (op->flags & COIR_MSG_REFUSED)
        return -EOPNOTSUPP;
    return coir_check_bytes(t, op->fd, op->buf, op->len, "coir_recv");
}

coir_step coir_recv_resume(struct coir_task *t)
{
    struct coir_recv *op = (struct coir_recv *)t;
    int check;

    if (t->state == 0) {
        check = check_recv(t);
        if (check > 0 && (op->flags & COIR_RECV_NOW))
            op->io.res = coir_say_now(recv_attempt(t));
        else if (!coir_op_begins(t, &op->io, &recv_kind, op->fd, check))
            return COIR_PARK_;
    }
    return coir_op_ends(t, &op->io, &op->result);
}

/* ---- send ---- */

/* The last byte is what goes out of band. */
static size_t send_length(const struct coir_send *op)
{
    return op->flags & MSG_OOB ? coir_io_length(op->len) : coir_io_writes(op->fd, op->len);
}

static int send_attempt(struct coir_task *t)
{
    const struct coir_send *op = (const struct coir_send *)t;

    return coir_errno(send(op->fd, op->buf, send_length(op), op->flags | MSG_DONTWAIT | MSG_NOSIGNAL));
}

static void send_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_send *op = (const struct coir_send *)t;

    io_uring_prep_send(sqe, op->fd, op->buf, send_length(op), op->flags | MSG_NOSIGNAL);
}

static const struct coir_io_kind send_kind = {
    .name = "coir_send",
    .events = POLLOUT,
    .opcode = IORING_OP_SEND,
    .attempt = send_attempt,
    .prepare = send_prepare,
};

static int check_send(struct coir_task *t)
{
    const struct coir_send *op = (const struct coir_send *)t;

    if (op->flags & COIR_MSG_REFUSED)
        return -EOPNOTSUPP;
    return coir_check_bytes(t, op->fd, op->buf, op->len, "coir_send");
}

coir_step coir_send_resume(struct coir_task *t)
{
    struct coir_send *op = (struct coir_send *)t;
    int check;

    if (t->state == 0) {
        check = check_send(t);
        if (check > 0 && (op->flags & MSG_DONTWAIT))
            op->io.res = coir_say_now(send_attempt(t));
        else if (!coir_op_begins(t, &op->io, &send_kind, op->fd, check))
            return COIR_PARK_;
    }
    return coir_op_ends(t, &op->io, &op->result);
}

/* ---- exact numbers of bytes ---- */

/* Both have the same frame, and one loop. */
_Static_assert(sizeof(struct coir_recv_exact) == sizeof(struct coir_send_all)
               && offsetof(struct coir_recv_exact, io) == offsetof(struct coir_send_all, io)
               && offsetof(struct coir_recv_exact, len) == offsetof(struct coir_send_all, len), "one loop serves both");

static char *exact_at(const struct coir_recv_exact *op)
{
    return (char *)op->buf + op->result;
}

static size_t exact_left(const struct coir_recv_exact *op)
{
    return op->len - op->result;
}

static int recv_exact_attempt(struct coir_task *t)
{
    const struct coir_recv_exact *op = (const struct coir_recv_exact *)t;

    return coir_errno(recv(op->fd, exact_at(op), coir_io_reads(op->fd, exact_left(op)), MSG_DONTWAIT));
}

static void recv_exact_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_recv_exact *op = (const struct coir_recv_exact *)t;

    io_uring_prep_recv(sqe, op->fd, exact_at(op), coir_io_reads(op->fd, exact_left(op)), 0);
}

static const struct coir_io_kind recv_exact_kind = {
    .name = "coir_recv_exact",
    .events = POLLIN,
    .opcode = IORING_OP_RECV,
    .attempt = recv_exact_attempt,
    .prepare = recv_exact_prepare,
};

static int send_all_attempt(struct coir_task *t)
{
    const struct coir_recv_exact *op = (const struct coir_recv_exact *)t;

    return coir_errno(send(op->fd, exact_at(op), coir_io_writes(op->fd, exact_left(op)), MSG_DONTWAIT | MSG_NOSIGNAL));
}

static void send_all_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_recv_exact *op = (const struct coir_recv_exact *)t;

    io_uring_prep_send(sqe, op->fd, exact_at(op), coir_io_writes(op->fd, exact_left(op)), MSG_NOSIGNAL);
}

static const struct coir_io_kind send_all_kind = {
    .name = "coir_send_all",
    .events = POLLOUT,
    .opcode = IORING_OP_SEND,
    .attempt = send_all_attempt,
    .prepare = send_all_prepare,
};

/* Takes one transfer into account. True: that was the last. */
static bool exact_took(struct coir_recv_exact *op)
{
    const int res = op->io.res;

    if (res > 0)
        op->result += (size_t)res;
    else
        op->task.status = res < 0 ? res : -ENODATA;
    return res <= 0 || op->result == op->len;
}

/* Begins the next transfer, unless the descriptor was closed while others had a turn. */
static bool exact_begins(struct coir_recv_exact *op, const struct coir_io_kind *kind)
{
    if (op->task.state == 0 || coir_fd_is_still(op->fd, op->closes))
        return coir_io_begin(&op->task, &op->io, kind, op->fd);
    op->io.res = -ECANCELED;
    return true;
}

static coir_step exact(struct coir_task *t, const struct coir_io_kind *kind)
{
    struct coir_recv_exact *op = (struct coir_recv_exact *)t;
    bool begins = t->state != 1;

    for (;;) {
        if (begins && !exact_begins(op, kind))
            return COIR_PARK_;
        if (exact_took(op))
            break;
        if (coir_op_gives_turn(t))
            return COIR_PARK_;
        begins = true;
    }
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

/* The start of both; no bytes are nothing to do on any socket. */
static coir_step exact_begin(struct coir_task *t, const struct coir_io_kind *kind)
{
    struct coir_recv_exact *op = (struct coir_recv_exact *)t;
    int check = coir_check_buffer(t, op->fd, op->buf, op->len, kind->name);

    op->closes = coir_fd_closes(op->fd);
    if (check > 0)
        return exact(t, kind);
    if (check == 0)
        check = coir_socket_type(op->fd);
    t->status = check < 0 ? check : 0;
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

coir_step coir_recv_exact_resume(struct coir_task *t)
{
    return t->state == 0 ? exact_begin(t, &recv_exact_kind) : exact(t, &recv_exact_kind);
}

coir_step coir_send_all_resume(struct coir_task *t)
{
    return t->state == 0 ? exact_begin(t, &send_all_kind) : exact(t, &send_all_kind);
}
