/* SPDX-License-Identifier: MIT */
/*
 * sendfile(2), which may wait for two things: the disk it reads from and the peer it sends to. Nothing waits
 * for a disk on a shard, and nothing waits for a peer on a thread of a pool. So the call is made on the pool
 * for files, with the descriptor O_NONBLOCK for as long as it takes, and says -EAGAIN when the peer is slow;
 * that is then waited for as POLLOUT, on the shard. Each step is listed under both descriptors, and begins only
 * when both are still what they were.
 *
 * Not by splice on the ring: it goes to a kernel thread twice for each pipe's worth, waits there for the peer
 * too, and what is in the pipe when it is cancelled is lost. SIGPIPE, which sendfile cannot be told not to
 * raise, goes to the pool's thread, where all signals are blocked.
 */
#include <fcntl.h>
#include <sys/sendfile.h>

#include "runtime/base/nonblocking.h"
#include "runtime/ops/net.h"

static ssize_t send_piece(const struct coir_sendfile *op)
{
    const size_t left = op->count - op->result, piece = left < COIR_SENDFILE_PIECE ? left : COIR_SENDFILE_PIECE;
    off64_t at = op->offset + (int64_t)op->result;

    return sendfile64(op->out_fd, op->in_fd, op->offset < 0 ? NULL : &at, coir_io_writes(op->out_fd, piece));
}

static int sendfile_attempt(struct coir_task *t)
{
    const struct coir_sendfile *op = (const struct coir_sendfile *)t;
    struct coir_nonblocking hold;
    int res = coir_nonblocking_begin(&hold, op->out_fd);

    if (res)
        return res;
    res = coir_errno(send_piece(op));
    coir_nonblocking_end(&hold);
    return res;
}

static const struct coir_io_kind piece_kind = {
    .name = "coir_sendfile",
    .attempt = sendfile_attempt,
    .other = offsetof(struct coir_sendfile, other),
};

static int room_attempt(struct coir_task *t)
{
    struct pollfd p = { .fd = ((const struct coir_sendfile *)t)->out_fd, .events = POLLOUT };
    const int n = poll(&p, 1, 0);

    return n < 0 ? -errno : n ? p.revents : -EAGAIN;
}

static void room_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    io_uring_prep_poll_add(sqe, ((const struct coir_sendfile *)t)->out_fd, POLLOUT);
}

static const struct coir_io_kind room_kind = {
    .name = "coir_sendfile",
    .events = POLLOUT,
    .opcode = IORING_OP_POLL_ADD,
    .attempt = room_attempt,
    .prepare = room_prepare,
    .other = offsetof(struct coir_sendfile, other),
};

static bool begins(struct coir_sendfile *op, const struct coir_io_kind *kind)
{
    op->other.fd = op->in_fd;
    if (op->task.state == 0
        || (coir_fd_is_still(op->out_fd, op->closes[0]) && coir_fd_is_still(op->in_fd, op->closes[1])))
        return coir_io_begin(&op->task, &op->io, kind, op->out_fd);
    op->io.kind = kind;
    op->io.res = -ECANCELED;
    return true;
}

/* What comes after io: a kind, or NULL when that was the end. */
static const struct coir_io_kind *after(struct coir_sendfile *op)
{
    const int res = op->io.res;

    if (op->io.kind == &room_kind && res >= 0)
        return &piece_kind;
    if (op->io.kind == &piece_kind && res == -EAGAIN)
        return &room_kind;
    if (res < 0)
        op->task.status = res;
    else
        op->result += (size_t)res;
    return res <= 0 || op->result == op->count ? NULL : &piece_kind;
}

static int check(struct coir_sendfile *op)
{
    if (op->out_fd < 0 || op->in_fd < 0)
        return -EBADF;
    if (op->offset < -1)
        return -EINVAL;
    if (coir_arguments_live(&op->task, NULL, "coir_sendfile"))
        return -EFAULT;
    return op->count ? 1 : fcntl(op->out_fd, F_GETFD) < 0 || fcntl(op->in_fd, F_GETFD) < 0 ? -errno : 0;
}

/* The first kind, or NULL when there is nothing to begin. */
static const struct coir_io_kind *first(struct coir_sendfile *op)
{
    const int checked = check(op);

    op->closes[0] = coir_fd_closes(op->out_fd);
    op->closes[1] = coir_fd_closes(op->in_fd);
    if (checked < 0)
        op->task.status = checked;
    return checked > 0 ? &piece_kind : NULL;
}

coir_step coir_sendfile_resume(struct coir_task *t)
{
    struct coir_sendfile *op = (struct coir_sendfile *)t;
    const struct coir_io_kind *next = t->state == 0 ? first(op) : after(op);

    for (; next; next = after(op)) {
        if (!begins(op, next))
            return COIR_PARK_;
    }
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}
