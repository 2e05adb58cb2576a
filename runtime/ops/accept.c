/* SPDX-License-Identifier: MIT */
/*
 * coir_accept. On the ring its results may come from the listener's multishot request (uring_multishot.c), which
 * knows no addresses: then the socket is asked.
 */
#include <coir/listen.h>
#include <fcntl.h>

#include "runtime/base/nonblocking.h"
#include "runtime/ops/net.h"
#include "runtime/plane/accepting.h"

static int accept_flags(void)
{
    return SOCK_CLOEXEC | (coir_plane_here()->kind->nonblocking ? SOCK_NONBLOCK : 0);
}

/* accept4 that does not block, however the listener was opened. There is no flag for that, and asking poll
 * first would not do: another process may be faster. Without the ring the listener stays O_NONBLOCK. */
static int accept_now(int fd, struct sockaddr_storage *addr, socklen_t *len)
{
    struct coir_nonblocking hold;
    const bool holds = !coir_plane_here()->kind->nonblocking;
    const int flags = holds ? 0 : fcntl(fd, F_GETFL);
    int res = holds ? coir_nonblocking_begin(&hold, fd) : 0;

    if (res)
        return res;
    if (!holds && flags >= 0 && !(flags & O_NONBLOCK))
        fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    res = coir_errno(accept4(fd, (struct sockaddr *)addr, addr ? len : NULL, accept_flags()));
    if (holds)
        coir_nonblocking_end(&hold);
    return res;
}

/* In a cancelled scope what the multishot request has brought counts as arrived. */
static int accept_attempt(struct coir_task *t)
{
    struct coir_accept *op = (struct coir_accept *)t;
    const struct coir_fd *e = coir_fd_find(&coir_plane_here()->fds, op->fd);
    const int res = e && e->guest ? e->guest->take(e->guest) : -EAGAIN;

    if (res >= 0)
        return res;
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
    .shares = true,
    .attempt = accept_attempt,
    .prepare = accept_prepare,
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
    .name = "a pause of coir_accept",
    .let_go = stop_pausing,
};

/* Somebody closed the listener while this was about to go on. */
static bool is_closed(struct coir_accept *op)
{
    if (op->task.state == 0 || coir_fd_is_still(op->fd, op->closes))
        return false;
    op->io.kind = &accept_kind;
    op->io.res = -ECANCELED;
    return true;
}

static bool pauses(struct coir_accept *op)
{
    struct coir_alarm *alarm = alarm_of(&op->io);

    coir_accept_complain(op->io.res);
    if (is_closed(op) || coir_io_hold(&op->task, &op->io, &pause_kind, op->fd))
        return true;
    alarm->fire = pause_is_over;
    coir_wheel_add(&coir_shard_here()->wheel, &alarm->timer, coir_now() + coir_accept_pause(op->pauses++));
    return false;
}

/* ---- the operation ---- */

static int check(const struct coir_accept *op, struct coir_task *t)
{
    return op->fd < 0 ? -EBADF
         : coir_arguments_live(t, op->addr, "coir_accept") || coir_arguments_live(t, op->addrlen, "coir_accept")
         ? -EFAULT : 1;
}

/* The peer's address, when nobody has asked for it yet. A peer that has gone meanwhile has none: that
 * connection is passed over, as accept(2) would with -ECONNABORTED. */
static void find_address(struct coir_accept *op)
{
    if (!op->addr)
        return;
    if (op->len == 0) {
        op->len = sizeof *op->addr;
        coir_count_syscall();
        if (getpeername(op->io.res, (struct sockaddr *)op->addr, &op->len) < 0) {
            close(op->io.res);
            op->io.res = -ECONNABORTED;
        }
    }
    if (op->addrlen && op->io.res >= 0)
        *op->addrlen = op->len;
}

static bool begins(struct coir_accept *op)
{
    op->len = 0;
    return is_closed(op) || coir_io_begin(&op->task, &op->io, &accept_kind, op->fd);
}

/* True: it is over, and io.res says how. False: it waits again. */
static bool goes_on(struct coir_accept *op)
{
    for (;;) {
        enum coir_accept_error why = COIR_ACCEPT_PASSED;     /* the end of a pause: once more */
        bool ended;

        if (op->io.kind == &accept_kind) {
            if (op->io.res >= 0)
                find_address(op);
            if (op->io.res >= 0)
                return true;
            why = coir_accept_error(op->io.res);
        } else if (op->io.res < 0) {
            return true;
        }
        if (why != COIR_ACCEPT_FAILED && op->io.asked)       /* to stop, and tried once more */
            op->io.res = -ECANCELED;
        if (why == COIR_ACCEPT_FAILED || op->io.asked)
            return true;
        ended = why == COIR_ACCEPT_SHORT ? pauses(op) : begins(op);
        if (!ended)
            return false;
    }
}

coir_step coir_accept_resume(struct coir_task *t)
{
    struct coir_accept *op = (struct coir_accept *)t;

    if (t->state == 0) {
        op->io.res = check(op, t);
        op->pauses = 0;
        op->closes = coir_fd_closes(op->fd);
        if (op->io.res < 0)
            return coir_op_ends_int(t, &op->io, NULL);
        if (!begins(op))
            return COIR_PARK_;
    }
    if (!goes_on(op))
        return COIR_PARK_;
    if (op->io.res >= 0)
        coir_plane_here()->shard->stats.accepts++;
    return coir_op_ends_int(t, &op->io, &op->result);
}
