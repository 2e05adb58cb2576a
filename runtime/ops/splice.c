/* SPDX-License-Identifier: MIT */
/*
 * splice(2), which may wait for either of two descriptors, and for a disk.
 *
 * The kernel never waits in it, on neither plane: the call is made without blocking, and after -EAGAIN the end that
 * is not ready is waited for. Not by the ring's own splice: that waits on a kernel thread for whichever end it is,
 * where a close of the other one does not find it, and says -EAGAIN of an end that is O_NONBLOCK without saying which.
 *
 * Between two ends that both tell of readiness the call is made here, when one of them is waited for and tried. With a
 * file, which does not tell, it is made on the pool; the wait for the other end is then only a wait. Each is
 * listed under both descriptors, and each step checks that both are still what they were.
 *
 * SPLICE_F_NONBLOCK is heard by pipes alone: anything else that is blocking is O_NONBLOCK while the call is made.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "runtime/base/nonblocking.h"
#include "runtime/ops/op.h"

/* An attempt has no result, but the next step can be taken. */
enum { SPLICE_NEXT = -EXFULL };

/* op->ends */
enum { IN_IS_FILE = 1, OUT_IS_FILE = 2, FILES = 3, IN_HAS_MODE = 4, OUT_HAS_MODE = 8 };

static bool is_ready(int fd, short events)
{
    struct pollfd p = { .fd = fd, .events = events };

    return poll(&p, 1, 0) > 0;
}

static int call(const struct coir_splice *op)
{
    off64_t in = op->off_in, out = op->off_out;
    int res;

    do
        res = coir_errno(splice(op->fd_in, in == -1 ? NULL : &in, op->fd_out, out == -1 ? NULL : &out,
                                coir_io_reads(op->fd_in, op->len), op->flags | SPLICE_F_NONBLOCK));
    while (res == -EINTR);
    return res;
}

static int call_now(const struct coir_splice *op)
{
    struct coir_nonblocking in, out;
    int res = op->ends & IN_HAS_MODE ? coir_nonblocking_begin(&in, op->fd_in) : 0;

    if (res)
        return res;
    res = op->ends & OUT_HAS_MODE ? coir_nonblocking_begin(&out, op->fd_out) : 0;
    if (!res) {
        res = call(op);
        if (op->ends & OUT_HAS_MODE)
            coir_nonblocking_end(&out);
    }
    if (op->ends & IN_HAS_MODE)
        coir_nonblocking_end(&in);
    return res;
}

/* -EAGAIN when it is `fd` that has to be waited for. */
static int attempt(const struct coir_splice *op, int fd, short events)
{
    const int res = op->ends & FILES ? -EAGAIN : call_now(op);

    return res == -EAGAIN && is_ready(fd, events) ? SPLICE_NEXT : res;
}

static int in_attempt(struct coir_task *t)
{
    const struct coir_splice *op = (const struct coir_splice *)t;

    return attempt(op, op->fd_in, POLLIN);
}

static int out_attempt(struct coir_task *t)
{
    const struct coir_splice *op = (const struct coir_splice *)t;

    return attempt(op, op->fd_out, POLLOUT);
}

static int file_attempt(struct coir_task *t)
{
    return call((const struct coir_splice *)t);
}

static const struct coir_io_kind in_kind = {
    .name = "coir_splice",
    .events = POLLIN,
    .attempt = in_attempt,
    .other = offsetof(struct coir_splice, other),
};

static const struct coir_io_kind out_kind = {
    .name = "coir_splice",
    .events = POLLOUT,
    .attempt = out_attempt,
    .other = offsetof(struct coir_splice, other),
};

static const struct coir_io_kind file_kind = {
    .name = "coir_splice",
    .attempt = file_attempt,
    .other = offsetof(struct coir_splice, other),
};

static bool begins(struct coir_splice *op, const struct coir_io_kind *kind)
{
    const bool in = kind != &out_kind;

    op->other.fd = in ? op->fd_out : op->fd_in;
    if (op->task.state == 0
        || (coir_fd_is_still(op->fd_in, op->closes[0]) && coir_fd_is_still(op->fd_out, op->closes[1])))
        return coir_io_begin(&op->task, &op->io, kind, in ? op->fd_in : op->fd_out);
    op->io.res = -ECANCELED;
    return true;
}

/* What comes after io: a kind, or NULL when that was the end. */
static const struct coir_io_kind *after(struct coir_splice *op)
{
    const struct coir_io_kind *kind = op->io.kind;

    if (op->io.res != SPLICE_NEXT && !(kind == &file_kind && op->io.res == -EAGAIN))
        return NULL;
    if (op->io.asked || coir_is_cancelled(&op->task)) {
        op->io.res = -ECANCELED;
        return NULL;
    }
    if (op->ends & FILES)
        return kind != &file_kind ? &file_kind : op->ends & IN_IS_FILE ? &out_kind : &in_kind;
    return kind == &in_kind ? &out_kind : &in_kind;
}

/* 0 or its bits, for the first descriptor; or a negative errno. */
static int end_of(int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    return S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) ? IN_IS_FILE : S_ISFIFO(st.st_mode) ? 0 : IN_HAS_MODE;
}

static int check(struct coir_splice *op)
{
    int in, out;

    if (op->fd_in < 0 || op->fd_out < 0)
        return -EBADF;
    if (coir_arguments_live(&op->task, NULL, "coir_splice"))
        return -EFAULT;
    if (op->len == 0)
        return 0;
    in = end_of(op->fd_in);
    out = end_of(op->fd_out);
    if (in < 0 || out < 0)
        return in < 0 ? in : out;
    op->ends = (unsigned)(in | out << 1);
    return 1;
}

/* The first kind, or NULL when there is nothing to begin. */
static const struct coir_io_kind *first(struct coir_splice *op)
{
    op->io.res = check(op);
    if (op->io.res <= 0)
        return NULL;
    op->closes[0] = coir_fd_closes(op->fd_in);
    op->closes[1] = coir_fd_closes(op->fd_out);
    return op->ends & FILES ? &file_kind : &in_kind;
}

coir_step coir_splice_resume(struct coir_task *t)
{
    struct coir_splice *op = (struct coir_splice *)t;
    const struct coir_io_kind *next = t->state == 0 ? first(op) : after(op);

    /* Both ends may be ready and the call still say -EAGAIN: others have their turn. */
    for (bool turn = t->state != 1; next; next = after(op), turn = false) {
        if (!turn && coir_op_gives_turn(t))
            return COIR_PARK_;
        if (!begins(op, next))
            return COIR_PARK_;
    }
    return coir_op_ends(t, &op->io, &op->result);
}
