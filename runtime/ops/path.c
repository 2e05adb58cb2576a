/* SPDX-License-Identifier: MIT */
/*
 * What is done to a path: open, statx, rename, unlink, mkdir. Kinds without events, as in file.c.
 *
 * A descriptor that open has made is never lost: it is delivered also when the open was cancelled meanwhile,
 * and closed here when its frame goes before anybody can read it.
 */
#include <coir/fs.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "runtime/ops/op.h"

/* ---- open, openat ---- */

static coir_step open_ends(struct coir_task *t, const struct coir_io *io, int *result)
{
    *result = -1;
    if (io->res < 0) {
        t->status = io->res;
    } else if (t->flags & COIR_TASK_HEAP_) {     /* the frame is freed with its result in it */
        coir_count_syscall();
        close(io->res);
    } else {
        coir_fd_forget(coir_plane_here(), io->res);
        *result = io->res;
    }
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

/* The ring tries to open without a thread first, and for that adds O_NONBLOCK, with which a FIFO opens, or
 * does not, at once. What may be a FIFO goes to a thread of the kernel's straight away. */
static void prepare_open(struct io_uring_sqe *sqe, int dirfd, const char *path, int flags, mode_t mode)
{
    io_uring_prep_openat(sqe, dirfd, path, flags | O_CLOEXEC, mode);
    if (!(flags & (O_NONBLOCK | O_DIRECTORY | O_PATH)))
        sqe->flags |= IOSQE_ASYNC;
}

static int open_attempt(struct coir_task *t)
{
    const struct coir_open *op = (const struct coir_open *)t;

    return coir_errno(open(op->path, op->flags | O_CLOEXEC, op->mode));
}

static void open_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_open *op = (const struct coir_open *)t;

    prepare_open(sqe, AT_FDCWD, op->path, op->flags, op->mode);
}

static const struct coir_io_kind open_kind = {
    .name = "coir_open",
    .opcode = IORING_OP_OPENAT,
    .attempt = open_attempt,
    .prepare = open_prepare,
};

coir_step coir_open_resume(struct coir_task *t)
{
    struct coir_open *op = (struct coir_open *)t;

    if (t->state == 0
        && !coir_op_begins(t, &op->io, &open_kind, -1, coir_check_pointer(t, op->path, "coir_open")))
        return COIR_PARK_;
    return open_ends(t, &op->io, &op->result);
}

static int openat_attempt(struct coir_task *t)
{
    const struct coir_openat *op = (const struct coir_openat *)t;

    return coir_errno(openat(op->dirfd, op->path, op->flags | O_CLOEXEC, op->mode));
}

static void openat_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_openat *op = (const struct coir_openat *)t;

    prepare_open(sqe, op->dirfd, op->path, op->flags, op->mode);
}

static const struct coir_io_kind openat_kind = {
    .name = "coir_openat",
    .opcode = IORING_OP_OPENAT,
    .attempt = openat_attempt,
    .prepare = openat_prepare,
};

/* An absolute path does not use dirfd, which may be anything then. */
static int relative_to(int dirfd, const char *path)
{
    return path && *path == '/' ? -1 : dirfd;
}

coir_step coir_openat_resume(struct coir_task *t)
{
    struct coir_openat *op = (struct coir_openat *)t;

    if (t->state == 0
        && !coir_op_begins(t, &op->io, &openat_kind, relative_to(op->dirfd, op->path),
                           coir_check_pointer(t, op->path, "coir_openat")))
        return COIR_PARK_;
    return open_ends(t, &op->io, &op->result);
}

/* ---- statx ---- */

static int statx_attempt(struct coir_task *t)
{
    const struct coir_statx *op = (const struct coir_statx *)t;

    return coir_errno(statx(op->dirfd, op->path, op->flags, op->mask, op->statxbuf));
}

static void statx_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_statx *op = (const struct coir_statx *)t;

    io_uring_prep_statx(sqe, op->dirfd, op->path, op->flags, op->mask, op->statxbuf);
}

static const struct coir_io_kind statx_kind = {
    .name = "coir_statx",
    .opcode = IORING_OP_STATX,
    .attempt = statx_attempt,
    .prepare = statx_prepare,
};

static int check_statx(struct coir_statx *op)
{
    const int check = coir_check_pointer(&op->task, op->path, "coir_statx");

    return check < 0 ? check : coir_check_pointer(&op->task, op->statxbuf, "coir_statx");
}

coir_step coir_statx_resume(struct coir_task *t)
{
    struct coir_statx *op = (struct coir_statx *)t;

    if (t->state == 0
        && !coir_op_begins(t, &op->io, &statx_kind, relative_to(op->dirfd, op->path), check_statx(op)))
        return COIR_PARK_;
    return coir_op_ends_int(t, &op->io, NULL);
}

/* ---- rename ---- */

static int rename_attempt(struct coir_task *t)
{
    const struct coir_rename *op = (const struct coir_rename *)t;

    return coir_errno(renameat2(AT_FDCWD, op->oldpath, AT_FDCWD, op->newpath, op->flags));
}

static void rename_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_rename *op = (const struct coir_rename *)t;

    io_uring_prep_renameat(sqe, AT_FDCWD, op->oldpath, AT_FDCWD, op->newpath, op->flags);
}

static const struct coir_io_kind rename_kind = {
    .name = "coir_rename",
    .opcode = IORING_OP_RENAMEAT,
    .attempt = rename_attempt,
    .prepare = rename_prepare,
};

static int check_rename(struct coir_rename *op)
{
    const int check = coir_check_pointer(&op->task, op->oldpath, "coir_rename");

    return check < 0 ? check : coir_check_pointer(&op->task, op->newpath, "coir_rename");
}

coir_step coir_rename_resume(struct coir_task *t)
{
    struct coir_rename *op = (struct coir_rename *)t;

    if (t->state == 0 && !coir_op_begins(t, &op->io, &rename_kind, -1, check_rename(op)))
        return COIR_PARK_;
    return coir_op_ends_int(t, &op->io, NULL);
}

/* ---- unlink ---- */

static int unlink_attempt(struct coir_task *t)
{
    const struct coir_unlink *op = (const struct coir_unlink *)t;

    return coir_errno(unlinkat(AT_FDCWD, op->path, op->flags));
}

static void unlink_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_unlink *op = (const struct coir_unlink *)t;

    io_uring_prep_unlinkat(sqe, AT_FDCWD, op->path, op->flags);
}

static const struct coir_io_kind unlink_kind = {
    .name = "coir_unlink",
    .opcode = IORING_OP_UNLINKAT,
    .attempt = unlink_attempt,
    .prepare = unlink_prepare,
};

coir_step coir_unlink_resume(struct coir_task *t)
{
    struct coir_unlink *op = (struct coir_unlink *)t;

    if (t->state == 0
        && !coir_op_begins(t, &op->io, &unlink_kind, -1, coir_check_pointer(t, op->path, "coir_unlink")))
        return COIR_PARK_;
    return coir_op_ends_int(t, &op->io, NULL);
}

/* ---- mkdir ---- */

static int mkdir_attempt(struct coir_task *t)
{
    const struct coir_mkdir *op = (const struct coir_mkdir *)t;

    return coir_errno(mkdir(op->path, op->mode));
}

static void mkdir_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_mkdir *op = (const struct coir_mkdir *)t;

    io_uring_prep_mkdirat(sqe, AT_FDCWD, op->path, op->mode);
}

static const struct coir_io_kind mkdir_kind = {
    .name = "coir_mkdir",
    .opcode = IORING_OP_MKDIRAT,
    .attempt = mkdir_attempt,
    .prepare = mkdir_prepare,
};

coir_step coir_mkdir_resume(struct coir_task *t)
{
    struct coir_mkdir *op = (struct coir_mkdir *)t;

    if (t->state == 0
        && !coir_op_begins(t, &op->io, &mkdir_kind, -1, coir_check_pointer(t, op->path, "coir_mkdir")))
        return COIR_PARK_;
    return coir_op_ends_int(t, &op->io, NULL);
}
