/* SPDX-License-Identifier: MIT */
/*
 * Files by position: pread, pwrite, their exact and vectored forms, fsync, fallocate, ftruncate.
 *
 * None of these waits for a peer: their kinds have no events, so that without the ring they run on the pool
 * "file", and in a cancelled scope they are not started. The ring reads a pipe at any offset; that it has none
 * (-ESPIPE) is asked here, once a descriptor.
 */
#include <coir/fs.h>
#include <fcntl.h>

#include "runtime/ops/op.h"

enum { RING_FTRUNCATE = 55 };            /* Linux 6.9; older headers do not name it */

/* 1, or why the descriptor has no positions. */
static int seekable(int fd)
{
    struct coir_fds *fds = &coir_plane_here()->fds;
    struct coir_fd *e = coir_fd_find(fds, fd);

    if (e && e->seekable)
        return 1;
    coir_count_syscall();
    if (lseek(fd, 0, SEEK_CUR) < 0)
        return -errno;
    e = coir_fd_get(fds, fd);
    if (!e)
        return -errno;
    e->seekable = true;
    return 1;
}

/* `check` is what is said of the other arguments. */
static int check_position(int fd, int64_t offset, int check)
{
    if (offset < 0)
        return -EINVAL;
    return check > 0 ? seekable(fd) : check;
}

static int check_fd(struct coir_task *t, int fd, const char *name)
{
    if (fd < 0)
        return -EBADF;
    return coir_arguments_live(t, NULL, name) ? -EFAULT : 1;
}

/* ---- pread, pwrite, and until all is moved ---- */

/* All four have one frame; what has been moved so far is in `result`. */
_Static_assert(sizeof(struct coir_pread) == sizeof(struct coir_pwrite), "one frame serves both");
_Static_assert(sizeof(struct coir_pread) == sizeof(struct coir_pread_exact), "one frame serves both");
_Static_assert(sizeof(struct coir_pread) == sizeof(struct coir_pwrite_all), "one frame serves both");

static char *at(const struct coir_pread *op)
{
    return (char *)op->buf + op->result;
}

static size_t left(const struct coir_pread *op)
{
    return op->len - op->result;
}

static int64_t position(const struct coir_pread *op)
{
    return op->offset + (int64_t)op->result;
}

static int pread_attempt(struct coir_task *t)
{
    const struct coir_pread *op = (const struct coir_pread *)t;

    return coir_errno(pread(op->fd, at(op), coir_io_reads(op->fd, left(op)), position(op)));
}

static void pread_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_pread *op = (const struct coir_pread *)t;

    io_uring_prep_read(sqe, op->fd, at(op), (unsigned)coir_io_reads(op->fd, left(op)), (uint64_t)position(op));
}

static const struct coir_io_kind pread_kind = {
    .name = "coir_pread",
    .opcode = IORING_OP_READ,
    .attempt = pread_attempt,
    .prepare = pread_prepare,
};

static int pwrite_attempt(struct coir_task *t)
{
    const struct coir_pread *op = (const struct coir_pread *)t;

    return coir_errno(pwrite(op->fd, at(op), coir_io_writes(op->fd, left(op)), position(op)));
}

static void pwrite_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_pread *op = (const struct coir_pread *)t;

    io_uring_prep_write(sqe, op->fd, at(op), (unsigned)coir_io_writes(op->fd, left(op)), (uint64_t)position(op));
}

static const struct coir_io_kind pwrite_kind = {
    .name = "coir_pwrite",
    .opcode = IORING_OP_WRITE,
    .attempt = pwrite_attempt,
    .prepare = pwrite_prepare,
};

static int check_move(const struct coir_pread *op, const char *name)
{
    return check_position(op->fd, op->offset,
                          coir_check_buffer((struct coir_task *)op, op->fd, op->buf, op->len, name));
}

static coir_step move_once(struct coir_task *t, const struct coir_io_kind *kind, const char *name)
{
    struct coir_pread *op = (struct coir_pread *)t;

    if (t->state == 0 && !coir_op_begins(t, &op->io, kind, op->fd, check_move(op, name)))
        return COIR_PARK_;
    return coir_op_ends(t, &op->io, &op->result);
}

/* Adds up what was moved. True: there is more to do; else the status is set. `at_end`: what it is when
 * nothing moves any more. */
static bool moved(struct coir_pread *op, int at_end)
{
    const int res = op->io.res;

    if (res > 0)
        op->result += (size_t)res;
    if (op->result == op->len)
        return false;
    if (res <= 0)
        op->task.status = res ? res : at_end;
    return res > 0;
}

static coir_step move_all(struct coir_task *t, const struct coir_io_kind *kind, const char *name, int at_end)
{
    struct coir_pread *op = (struct coir_pread *)t;

    if (t->state == 0 && !coir_op_begins(t, &op->io, kind, op->fd, check_move(op, name)))
        return COIR_PARK_;
    while (moved(op, at_end)) {
        if (!coir_io_begin_next(t, &op->io, kind, op->fd))
            return COIR_PARK_;
    }
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

coir_step coir_pread_resume(struct coir_task *t)
{
    return move_once(t, &pread_kind, "coir_pread");
}

coir_step coir_pwrite_resume(struct coir_task *t)
{
    return move_once(t, &pwrite_kind, "coir_pwrite");
}

coir_step coir_pread_exact_resume(struct coir_task *t)
{
    return move_all(t, &pread_kind, "coir_pread_exact", -ENODATA);
}

coir_step coir_pwrite_all_resume(struct coir_task *t)
{
    return move_all(t, &pwrite_kind, "coir_pwrite_all", -EIO);
}

/* ---- preadv, pwritev ---- */

static int preadv_attempt(struct coir_task *t)
{
    const struct coir_preadv *op = (const struct coir_preadv *)t;
    int n = op->iovcnt;
    const struct iovec *iov = coir_torture_pieces(op->fd, op->iov, &n, false);

    return coir_errno(preadv(op->fd, iov, n, op->offset));
}

static void preadv_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_preadv *op = (const struct coir_preadv *)t;
    int n = op->iovcnt;
    const struct iovec *iov = coir_torture_pieces(op->fd, op->iov, &n, false);

    io_uring_prep_readv(sqe, op->fd, iov, (unsigned)n, (uint64_t)op->offset);
}

static const struct coir_io_kind preadv_kind = {
    .name = "coir_preadv",
    .opcode = IORING_OP_READV,
    .attempt = preadv_attempt,
    .prepare = preadv_prepare,
};

coir_step coir_preadv_resume(struct coir_task *t)
{
    struct coir_preadv *op = (struct coir_preadv *)t;

    if (t->state == 0
        && !coir_op_begins(t, &op->io, &preadv_kind, op->fd,
                           check_position(op->fd, op->offset,
                                          coir_check_iov(t, op->fd, op->iov, op->iovcnt, "coir_preadv"))))
        return COIR_PARK_;
    return coir_op_ends(t, &op->io, &op->result);
}

static int pwritev_attempt(struct coir_task *t)
{
    const struct coir_pwritev *op = (const struct coir_pwritev *)t;
    int n = op->iovcnt;
    const struct iovec *iov = coir_torture_pieces(op->fd, op->iov, &n, true);

    return coir_errno(pwritev(op->fd, iov, n, op->offset));
}

static void pwritev_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_pwritev *op = (const struct coir_pwritev *)t;
    int n = op->iovcnt;
    const struct iovec *iov = coir_torture_pieces(op->fd, op->iov, &n, true);

    io_uring_prep_writev(sqe, op->fd, iov, (unsigned)n, (uint64_t)op->offset);
}

static const struct coir_io_kind pwritev_kind = {
    .name = "coir_pwritev",
    .opcode = IORING_OP_WRITEV,
    .attempt = pwritev_attempt,
    .prepare = pwritev_prepare,
};

coir_step coir_pwritev_resume(struct coir_task *t)
{
    struct coir_pwritev *op = (struct coir_pwritev *)t;

    if (t->state == 0
        && !coir_op_begins(t, &op->io, &pwritev_kind, op->fd,
                           check_position(op->fd, op->offset,
                                          coir_check_iov(t, op->fd, op->iov, op->iovcnt, "coir_pwritev"))))
        return COIR_PARK_;
    return coir_op_ends(t, &op->io, &op->result);
}

/* ---- fsync, fdatasync ---- */

static int fsync_attempt(struct coir_task *t)
{
    return coir_errno(fsync(((const struct coir_fsync *)t)->fd));
}

static void fsync_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    io_uring_prep_fsync(sqe, ((const struct coir_fsync *)t)->fd, 0);
}

static const struct coir_io_kind fsync_kind = {
    .name = "coir_fsync",
    .opcode = IORING_OP_FSYNC,
    .attempt = fsync_attempt,
    .prepare = fsync_prepare,
};

coir_step coir_fsync_resume(struct coir_task *t)
{
    struct coir_fsync *op = (struct coir_fsync *)t;

    if (t->state == 0 && !coir_op_begins(t, &op->io, &fsync_kind, op->fd, check_fd(t, op->fd, "coir_fsync")))
        return COIR_PARK_;
    return coir_op_ends_int(t, &op->io, NULL);
}

static int fdatasync_attempt(struct coir_task *t)
{
    return coir_errno(fdatasync(((const struct coir_fdatasync *)t)->fd));
}

static void fdatasync_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    io_uring_prep_fsync(sqe, ((const struct coir_fdatasync *)t)->fd, IORING_FSYNC_DATASYNC);
}

static const struct coir_io_kind fdatasync_kind = {
    .name = "coir_fdatasync",
    .opcode = IORING_OP_FSYNC,
    .attempt = fdatasync_attempt,
    .prepare = fdatasync_prepare,
};

coir_step coir_fdatasync_resume(struct coir_task *t)
{
    struct coir_fdatasync *op = (struct coir_fdatasync *)t;

    if (t->state == 0
        && !coir_op_begins(t, &op->io, &fdatasync_kind, op->fd, check_fd(t, op->fd, "coir_fdatasync")))
        return COIR_PARK_;
    return coir_op_ends_int(t, &op->io, NULL);
}

/* ---- fallocate, ftruncate ---- */

static int fallocate_attempt(struct coir_task *t)
{
    const struct coir_fallocate *op = (const struct coir_fallocate *)t;

    return coir_errno(fallocate(op->fd, op->mode, op->offset, op->len));
}

static void fallocate_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_fallocate *op = (const struct coir_fallocate *)t;

    io_uring_prep_fallocate(sqe, op->fd, op->mode, op->offset, op->len);
}

static const struct coir_io_kind fallocate_kind = {
    .name = "coir_fallocate",
    .opcode = IORING_OP_FALLOCATE,
    .attempt = fallocate_attempt,
    .prepare = fallocate_prepare,
};

coir_step coir_fallocate_resume(struct coir_task *t)
{
    struct coir_fallocate *op = (struct coir_fallocate *)t;

    if (t->state == 0
        && !coir_op_begins(t, &op->io, &fallocate_kind, op->fd, check_fd(t, op->fd, "coir_fallocate")))
        return COIR_PARK_;
    return coir_op_ends_int(t, &op->io, NULL);
}

static int ftruncate_attempt(struct coir_task *t)
{
    const struct coir_ftruncate *op = (const struct coir_ftruncate *)t;

    return coir_errno(ftruncate(op->fd, op->length));
}

static void ftruncate_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_ftruncate *op = (const struct coir_ftruncate *)t;

    sqe->opcode = RING_FTRUNCATE;
    sqe->fd = op->fd;
    sqe->off = (uint64_t)op->length;
}

static const struct coir_io_kind ftruncate_kind = {
    .name = "coir_ftruncate",
    .opcode = RING_FTRUNCATE,
    .attempt = ftruncate_attempt,
    .prepare = ftruncate_prepare,
};

coir_step coir_ftruncate_resume(struct coir_task *t)
{
    struct coir_ftruncate *op = (struct coir_ftruncate *)t;

    if (t->state == 0
        && !coir_op_begins(t, &op->io, &ftruncate_kind, op->fd,
                           op->length < 0 ? -EINVAL : check_fd(t, op->fd, "coir_ftruncate")))
        return COIR_PARK_;
    return coir_op_ends_int(t, &op->io, NULL);
}
