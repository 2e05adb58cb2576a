/* SPDX-License-Identifier: MIT */
/*
 * Operations on any descriptor: read, write, their vectored forms, readiness, close, pipes.
 *
 * A descriptor may be anything. On the ring the kernel sorts that out. Without it a read is tried with
 * RWF_NOWAIT, which says -EAGAIN for a file that is not in memory and for a pipe that is empty; the file then
 * turns out to be one when epoll refuses it (-EPERM), and is read on the pool. What does not know RWF_NOWAIT
 * (a terminal) is asked by poll first.
 */
#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "runtime/base/nonblocking.h"
#include "runtime/ops/op.h"

enum { TERMINAL_PIECE = 4096 };          /* what is given to a terminal at once: others have a turn after it */

static bool is_ready(int fd, short events)
{
    struct pollfd p = { .fd = fd, .events = events };

    return poll(&p, 1, 0) > 0;
}

/* It has no readiness that would say anything: what RWF_NOWAIT is not known for is left to a thread. */
static bool is_file(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode));
}

/* readv that does not block, whatever the descriptor is and however it was opened. */
static int readv_now(int fd, const struct iovec *iov, int n)
{
    const ssize_t res = preadv2(fd, iov, n, -1, RWF_NOWAIT);

    if (res >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
        return coir_errno(res);
    return is_ready(fd, POLLIN) && !is_file(fd) ? coir_errno(readv(fd, iov, n)) : -EAGAIN;
}

static int send_iov(int fd, const struct iovec *iov, int n)
{
    const struct msghdr msg = { .msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)n };

    return coir_errno(sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL));
}

/* writev that does not block: RWF_NOWAIT where that is known; a blocking terminal is ready when it has any room, and
 * would then wait for the rest. */
static int writev_now(int fd, const struct iovec *iov, int n)
{
    struct coir_nonblocking hold;
    ssize_t res = send_iov(fd, iov, n);

    if (res != -ENOTSOCK)
        return (int)res;
    if (coir_is_nonblocking(fd))
        return coir_errno(writev(fd, iov, n));
    res = pwritev2(fd, iov, n, -1, RWF_NOWAIT);
    if (res >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
        return coir_errno(res);
    if (!is_ready(fd, POLLOUT) || is_file(fd))
        return -EAGAIN;
    while (n > 1 && iov->iov_len == 0)
        iov++, n--;
    res = coir_nonblocking_begin(&hold, fd);
    if (res)
        return (int)res;
    res = coir_errno(write(fd, iov->iov_base, iov->iov_len < TERMINAL_PIECE ? iov->iov_len : TERMINAL_PIECE));
    coir_nonblocking_end(&hold);
    return (int)res;
}

/* Whether it is a terminal. The ring, too, writes to one as soon as it has any room, and the shard's thread then waits
 * in the kernel for whoever reads it. Looked at once, until the number is closed. */
static bool is_terminal(int fd)
{
    struct coir_fd *e = fd < 0 ? NULL : coir_fd_get(&coir_plane_here()->fds, fd);
    struct stat st;

    if (!e)
        return false;
    if (!e->looked)
        e->terminal = fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && isatty(fd);
    e->looked = true;
    return e->terminal;
}

/* ---- read ---- */

static int read_attempt(struct coir_task *t)
{
    const struct coir_read *op = (const struct coir_read *)t;
    const struct iovec iov = { op->buf, coir_io_reads(op->fd, op->len) };

    return readv_now(op->fd, &iov, 1);
}

static int read_block(struct coir_task *t)
{
    const struct coir_read *op = (const struct coir_read *)t;

    return coir_errno(read(op->fd, op->buf, coir_io_reads(op->fd, op->len)));
}

static void read_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_read *op = (const struct coir_read *)t;

    io_uring_prep_read(sqe, op->fd, op->buf, (unsigned)coir_io_reads(op->fd, op->len), (uint64_t)-1);
}

static const struct coir_io_kind read_kind = {
    .name = "coir_read",
    .events = POLLIN,
    .opcode = IORING_OP_READ,
    .attempt = read_attempt,
    .block = read_block,
    .prepare = read_prepare,
};

coir_step coir_read_resume(struct coir_task *t)
{
    struct coir_read *op = (struct coir_read *)t;

    if (t->state == 0 && !coir_op_begins(t, &op->io, &read_kind, op->fd,
                                         coir_check_buffer(t, op->fd, op->buf, op->len, "coir_read")))
        return COIR_PARK_;
    return coir_op_ends(t, &op->io, &op->result);
}

/* ---- write, write_all ---- */

/* Both have the same frame; write_all moves on by its result. */
_Static_assert(sizeof(struct coir_write) == sizeof(struct coir_write_all), "one kind serves both");

static const char *write_at(const struct coir_write *op)
{
    return (const char *)op->buf + op->result;
}

static size_t write_left(const struct coir_write *op)
{
    return coir_io_writes(op->fd, op->len - op->result);
}

static int write_attempt(struct coir_task *t)
{
    const struct coir_write *op = (const struct coir_write *)t;
    const struct iovec iov = { (void *)write_at(op), write_left(op) };

    return writev_now(op->fd, &iov, 1);
}

static int write_block(struct coir_task *t)
{
    const struct coir_write *op = (const struct coir_write *)t;

    return coir_errno(write(op->fd, write_at(op), write_left(op)));
}

static void write_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_write *op = (const struct coir_write *)t;

    io_uring_prep_write(sqe, op->fd, write_at(op), (unsigned)write_left(op), (uint64_t)-1);
}

static const struct coir_io_kind write_kind = {
    .name = "coir_write",
    .events = POLLOUT,
    .opcode = IORING_OP_WRITE,
    .attempt = write_attempt,
    .block = write_block,
    .prepare = write_prepare,
};

/* The same without the ring. */
static const struct coir_io_kind terminal_write_kind = {
    .name = "coir_write",
    .events = POLLOUT,
    .attempt = write_attempt,
};

static const struct coir_io_kind *write_kind_of(int fd)
{
    return is_terminal(fd) ? &terminal_write_kind : &write_kind;
}

coir_step coir_write_resume(struct coir_task *t)
{
    struct coir_write *op = (struct coir_write *)t;

    if (t->state == 0 && !coir_op_begins(t, &op->io, write_kind_of(op->fd), op->fd,
                                         coir_check_buffer(t, op->fd, op->buf, op->len, "coir_write")))
        return COIR_PARK_;
    return coir_op_ends(t, &op->io, &op->result);
}

/* Takes one write into account. True: that was the last. */
static bool write_took(struct coir_write_all *op)
{
    const int res = op->io.res;

    if (res < 0)
        op->task.status = res;
    else
        op->result += (size_t)res;
    return res <= 0 || op->result == op->len;
}

static bool write_all_checks(struct coir_write_all *op)
{
    const int check = coir_check_buffer(&op->task, op->fd, op->buf, op->len, "coir_write_all");

    op->task.status = check < 0 ? check : 0;
    return check > 0;
}

coir_step coir_write_all_resume(struct coir_task *t)
{
    struct coir_write_all *op = (struct coir_write_all *)t;
    bool begins = t->state != 1, more = t->state != 0 || write_all_checks(op);

    for (; more; begins = true) {
        if (begins && !coir_io_begin_next(t, &op->io, write_kind_of(op->fd), op->fd))
            return COIR_PARK_;
        more = !write_took(op);
        if (more && coir_op_gives_turn(t))
            return COIR_PARK_;
    }
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

/* ---- readv, writev ---- */

int coir_check_iov(struct coir_task *t, int fd, const struct iovec *iov, int n, const char *name)
{
    size_t sum = 0;

    if (fd < 0)
        return -EBADF;
    if (n < 0 || n > IOV_MAX)
        return -EINVAL;
    if (n == 0)
        return 0;
    if (coir_check_pointer(t, iov, name) < 0)
        return -EFAULT;
    for (int i = 0; i < n; i++) {
        if ((!iov[i].iov_base && iov[i].iov_len) || coir_arguments_live(t, iov[i].iov_base, name))
            return -EFAULT;
        sum += iov[i].iov_len;
    }
    return sum != 0;
}

static int readv_attempt(struct coir_task *t)
{
    const struct coir_readv *op = (const struct coir_readv *)t;
    int n = op->iovcnt;
    const struct iovec *iov = coir_torture_pieces(op->fd, op->iov, &n, false);

    return readv_now(op->fd, iov, n);
}

static int readv_block(struct coir_task *t)
{
    const struct coir_readv *op = (const struct coir_readv *)t;
    int n = op->iovcnt;
    const struct iovec *iov = coir_torture_pieces(op->fd, op->iov, &n, false);

    return coir_errno(readv(op->fd, iov, n));
}

static void readv_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_readv *op = (const struct coir_readv *)t;
    int n = op->iovcnt;
    const struct iovec *iov = coir_torture_pieces(op->fd, op->iov, &n, false);

    io_uring_prep_readv(sqe, op->fd, iov, (unsigned)n, (uint64_t)-1);
}

static const struct coir_io_kind readv_kind = {
    .name = "coir_readv",
    .events = POLLIN,
    .opcode = IORING_OP_READV,
    .attempt = readv_attempt,
    .block = readv_block,
    .prepare = readv_prepare,
};

coir_step coir_readv_resume(struct coir_task *t)
{
    struct coir_readv *op = (struct coir_readv *)t;

    if (t->state == 0 && !coir_op_begins(t, &op->io, &readv_kind, op->fd,
                                         coir_check_iov(t, op->fd, op->iov, op->iovcnt, "coir_readv")))
        return COIR_PARK_;
    return coir_op_ends(t, &op->io, &op->result);
}

static int writev_attempt(struct coir_task *t)
{
    const struct coir_writev *op = (const struct coir_writev *)t;
    int n = op->iovcnt;
    const struct iovec *iov = coir_torture_pieces(op->fd, op->iov, &n, true);

    return writev_now(op->fd, iov, n);
}

static int writev_block(struct coir_task *t)
{
    const struct coir_writev *op = (const struct coir_writev *)t;
    int n = op->iovcnt;
    const struct iovec *iov = coir_torture_pieces(op->fd, op->iov, &n, true);

    return coir_errno(writev(op->fd, iov, n));
}

static void writev_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_writev *op = (const struct coir_writev *)t;
    int n = op->iovcnt;
    const struct iovec *iov = coir_torture_pieces(op->fd, op->iov, &n, true);

    io_uring_prep_writev(sqe, op->fd, iov, (unsigned)n, (uint64_t)-1);
}

static const struct coir_io_kind writev_kind = {
    .name = "coir_writev",
    .events = POLLOUT,
    .opcode = IORING_OP_WRITEV,
    .attempt = writev_attempt,
    .block = writev_block,
    .prepare = writev_prepare,
};

static const struct coir_io_kind terminal_writev_kind = {
    .name = "coir_writev",
    .events = POLLOUT,
    .attempt = writev_attempt,
};

coir_step coir_writev_resume(struct coir_task *t)
{
    struct coir_writev *op = (struct coir_writev *)t;

    if (t->state == 0 && !coir_op_begins(t, &op->io, is_terminal(op->fd) ? &terminal_writev_kind : &writev_kind, op->fd,
                                         coir_check_iov(t, op->fd, op->iov, op->iovcnt, "coir_writev")))
        return COIR_PARK_;
    return coir_op_ends(t, &op->io, &op->result);
}

/* ---- poll ---- */

static int poll_attempt(struct coir_task *t)
{
    const struct coir_poll *op = (const struct coir_poll *)t;
    struct pollfd p = { .fd = op->fd, .events = (short)op->events };
    const int n = poll(&p, 1, 0);

    if (n < 0)
        return -errno;
    return n == 0 ? -EAGAIN : p.revents & POLLNVAL ? -EBADF : p.revents;
}

static void poll_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_poll *op = (const struct coir_poll *)t;

    io_uring_prep_poll_add(sqe, op->fd, (unsigned)op->events);
}

const struct coir_io_kind coir_poll_kind = {
    .name = "coir_poll",
    .events = COIR_IO_ANY,
    .opcode = IORING_OP_POLL_ADD,
    .attempt = poll_attempt,
    .prepare = poll_prepare,
};

coir_step coir_poll_resume(struct coir_task *t)
{
    struct coir_poll *op = (struct coir_poll *)t;

    if (t->state == 0 && !coir_op_begins(t, &op->io, &coir_poll_kind, op->fd, op->fd < 0 ? -EBADF
                                         : coir_arguments_live(t, NULL, "coir_poll") ? -EFAULT : 1))
        return COIR_PARK_;
    if (op->io.res > 0)
        op->io.res &= op->events | POLLERR | POLLHUP;    /* the ring tells of POLLRDHUP unasked */
    return coir_op_ends_int(t, &op->io, &op->result);
}

/* ---- close ---- */

static int close_attempt(struct coir_task *t)
{
    const struct coir_close *op = (const struct coir_close *)t;
    const int res = close(op->fd);

    return res < 0 && errno != EINTR ? -errno : 0;   /* Linux has closed it, also when a signal came */
}

static void close_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    io_uring_prep_close(sqe, ((const struct coir_close *)t)->fd);
}

static const struct coir_io_kind close_kind = {
    .name = "coir_close",
    .opcode = IORING_OP_CLOSE,
    .always = true,
    .attempt = close_attempt,
    /* ThreadSanitizer has to see it: else the number's next use, on another thread, is a race to it */
    .prepare = COIR_TSAN ? NULL : close_prepare,
};

enum { CLOSING = 1, QUIETING = 2 };

coir_step coir_close_resume(struct coir_task *t)
{
    struct coir_close *op = (struct coir_close *)t;
    struct coir_plane *p = coir_plane_here();

    if (t->state == CLOSING)
        return coir_op_ends_int(t, &op->io, NULL);
    if (t->state == 0) {
        struct coir_fd *e = coir_fd_find(&p->fds, op->fd);
        op->io.res = op->fd < 0 || (e && e->closer) ? -EBADF : coir_arguments_live(t, NULL, "coir_close");
        if (op->io.res < 0)
            return coir_op_ends_int(t, &op->io, NULL);
        if (!coir_fd_quiet(p, op->fd, t, NULL)) {
            t->state = QUIETING;
            return COIR_PARK_;
        }
    }
    coir_fd_forget(p, op->fd);
    /* Without a number the close itself is no wait on the descriptor, which may be opened again before
     * it is reaped. */
    if (!coir_io_begin(t, &op->io, &close_kind, -1))
        return COIR_PARK_;
    return coir_op_ends_int(t, &op->io, NULL);
}

/* ---- pipes ---- */

int coir_pipe(int fds[2])
{
    const struct coir_shard *s = coir_shard_here();

    return pipe2(fds, O_CLOEXEC | (s && s->plane->kind->nonblocking ? O_NONBLOCK : 0)) < 0 ? -errno : 0;
}
