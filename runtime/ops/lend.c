/* SPDX-License-Identifier: MIT */
/*
 * coir_recv_lend: receives into a buffer that is found when data has come.
 *
 *      receive --no buffer--> more are made --> receive
 *                    \--at the limit--> wait for data, with poll --> one is free: recv(2)
 *                                                              \--> wait for one to come back --> recv(2)
 *
 * Who waits for a buffer has data waiting, or else a buffer might go to one who does not use it while others are
 * stuck. What comes back is handed to the oldest; if its data has meanwhile gone elsewhere, it hands it on.
 *
 * Behind it stands no multishot receive. One would fill buffers that nobody asked for, on behalf of idle tasks,
 * and a coir_recv on the same descriptor would have to be served from them. Nor would it be faster: with 64
 * connections echoing 64 bytes a plain ring program needs 2.5 to 2.6 us of CPU an exchange either way, since the
 * next receive goes to the kernel with the answer's send, in one call.
 */
#include <sys/socket.h>

#include "runtime/ops/net.h"
#include "runtime/ops/op.h"
#include "runtime/plane/lends.h"

/* recv(2) without waiting into buffer `id`, which is out. Unless something came it is given back. */
static int receive(struct coir_recv_lend *op, int id)
{
    struct coir_lends *l = coir_plane_here()->lends;
    char *at = coir_lends_at(l, (unsigned)id);
    int res;

    coir_lends_set_id(&op->io, -1);
    coir_asan_unpoison(at, COIR_LENT_MAX);
    do
        res = coir_errno(recv(op->fd, at, coir_io_reads(op->fd, COIR_LENT_MAX), MSG_DONTWAIT));
    while (res == -EINTR);
    if (res <= 0) {
        coir_lends_release(l, (unsigned)id);
        return res;
    }
    if (res < COIR_LENT_MAX)
        coir_asan_poison(at + (res + 7) / 8 * 8, (size_t)(COIR_LENT_MAX - (res + 7) / 8 * 8));
    coir_lends_set_id(&op->io, id);
    return res;
}

static int lend_attempt(struct coir_task *t)
{
    const int id = coir_lends_take(coir_plane_here());

    return id < 0 ? id : receive((struct coir_recv_lend *)t, id);
}

static void lend_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct coir_recv_lend *op = (const struct coir_recv_lend *)t;

    io_uring_prep_recv(sqe, op->fd, NULL, coir_io_reads(op->fd, COIR_LENT_MAX), 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = COIR_LENDS_GROUP;
}

static const struct coir_io_kind lend_kind = {
    .name = "coir_recv_lend",
    .events = POLLIN,
    .opcode = IORING_OP_RECV,
    .lends = true,
    .attempt = lend_attempt,
    .prepare = lend_prepare,
};

/* ---- when all buffers are lent ---- */

static int data_attempt(struct coir_task *t)
{
    struct pollfd p = { .fd = ((const struct coir_recv_lend *)t)->fd, .events = POLLIN };
    const int n = poll(&p, 1, 0);

    return n < 0 ? -errno : n == 0 ? -EAGAIN : p.revents & POLLNVAL ? -EBADF : p.revents;
}

static void data_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    io_uring_prep_poll_add(sqe, ((const struct coir_recv_lend *)t)->fd, POLLIN);
}

static const struct coir_io_kind data_kind = {
    .name = "coir_recv_lend, all buffers being lent,",
    .events = POLLIN,
    .opcode = IORING_OP_POLL_ADD,
    .attempt = data_attempt,
    .prepare = data_prepare,
};

static void unwant(struct coir_io *io)
{
    coir_lends_forget(io);
}

static const struct coir_io_kind want_kind = {
    .name = "coir_recv_lend, for a buffer to come back,",
    .let_go = unwant,
};

static bool begins(struct coir_recv_lend *op, const struct coir_io_kind *kind)
{
    coir_lends_set_id(&op->io, -1);
    if (op->task.state == 0 || coir_fd_is_still(op->fd, op->closes))
        return coir_io_begin(&op->task, &op->io, kind, op->fd);
    op->io.kind = kind;
    op->io.res = -ECANCELED;
    return true;
}

static bool wants(struct coir_recv_lend *op)
{
    if (coir_io_hold(&op->task, &op->io, &want_kind, op->fd))
        return true;
    coir_lends_want(coir_plane_here()->lends, &op->io);
    return false;
}

/* There is data: into a buffer that is free here, or from the kernel's hands, or wait for one. */
static bool has_data(struct coir_recv_lend *op)
{
    struct coir_plane *p = coir_plane_here();
    const int id = coir_lends_take(p);

    if (id < 0)
        return p->lends->out < p->lends->n ? begins(op, &lend_kind) : wants(op);
    op->io.kind = &lend_kind;
    coir_count_syscall();
    op->io.res = receive(op, id);
    return op->io.res == -EAGAIN ? begins(op, &lend_kind) : true;
}

static bool has_buffer(struct coir_recv_lend *op)
{
    op->io.kind = &lend_kind;
    coir_count_syscall();
    op->io.res = receive(op, coir_lends_id(&op->io));
    return op->io.res == -EAGAIN ? begins(op, &lend_kind) : true;
}

/* ---- the operation ---- */

/* Somebody closed the descriptor while this was about to go on. */
static void is_closed(struct coir_recv_lend *op)
{
    if (op->io.kind == &want_kind)
        coir_lends_release(coir_plane_here()->lends, (unsigned)coir_lends_id(&op->io));
    op->io.kind = &lend_kind;
    op->io.res = -ECANCELED;
}

/* True: it is over, and io.res says how. False: it waits again. */
static bool goes_on(struct coir_recv_lend *op)
{
    bool ended = true;

    while (ended) {
        struct coir_io *io = &op->io;

        if (io->kind != &lend_kind && io->res >= 0 && !coir_fd_is_still(op->fd, op->closes))
            is_closed(op);
        if (io->kind == &lend_kind && io->res == -ENOBUFS && (io->asked || coir_is_cancelled(&op->task)))
            io->res = -ECANCELED;
        if (io->kind == &lend_kind ? io->res != -ENOBUFS : io->res < 0)
            return true;
        if (io->kind == &lend_kind)
            ended = begins(op, coir_lends_grow(coir_plane_here()) == 0 ? &lend_kind : &data_kind);
        else if (io->kind == &data_kind)
            ended = has_data(op);
        else
            ended = has_buffer(op);
    }
    return false;
}

static bool begin(struct coir_recv_lend *op)
{
    op->io.kind = &lend_kind;
    op->io.res = op->fd < 0 ? -EBADF : coir_arguments_live(&op->task, NULL, "coir_recv_lend");
    if (op->io.res == 0)
        op->io.res = coir_lends_ready(coir_plane_here());
    if (op->io.res < 0)
        return true;
    op->closes = coir_fd_closes(op->fd);
    return begins(op, &lend_kind);
}

/* Whose loan it is: the await, in its own words. */
static const struct coir_site *whose(const struct coir_task *t)
{
    return t->awaiter && t->awaiter->site ? t->awaiter->site : t->site;
}

static void lend(struct coir_recv_lend *op)
{
    struct coir_lends *l = coir_plane_here()->lends;
    const unsigned id = (unsigned)coir_lends_id(&op->io);

    l->loan[id].site = whose(&op->task);
    op->result = (struct coir_lent){ coir_lends_at(l, id), (size_t)op->io.res, l, id, l->loan[id].turn };
}

coir_step coir_recv_lend_resume(struct coir_task *t)
{
    struct coir_recv_lend *op = (struct coir_recv_lend *)t;

    if (t->state == 0 && !begin(op))
        return COIR_PARK_;
    if (!goes_on(op))
        return COIR_PARK_;
    if (op->io.res > 0)
        lend(op);
    return coir_op_ends_int(t, &op->io, NULL);
}

void coir_lend_back(struct coir_lent *lent)
{
    struct coir_lends *l = lent->lender;
    struct coir_shard *s = coir_shard_here();

    if (!l)
        return;
    COIR_ASSERT(s && s->plane->lends == l);                    /* on the shard that lent it */
    const struct coir_loan *loan = &l->loan[lent->buffer];
    COIR_ASSERT(loan->out && loan->turn == lent->turn);        /* a loan is given back once */
    lent->data = NULL;
    lent->len = 0;
    coir_lends_release(l, lent->buffer);
}
