/* SPDX-License-Identifier: MIT */
/*
 * The life of an operation, whichever plane drives it: begun, or ended at once in a cancelled scope; listed
 * under its descriptor, or both of them; cancelled through its task; ended once. And how a close finds an end to all of
 * them.
 */
#include <fcntl.h>

#include "runtime/plane/plane.h"
#include "runtime/task/workers.h"

/* In a cancelled scope a socket operation is tried once without waiting, anything else is not started. */
static int in_cancelled_scope(struct coir_task *t, const struct coir_io_kind *kind)
{
    if (!kind->events && !kind->always)
        return coir_refuse(t);
    const int res = coir_io_attempt(kind, t);
    return res == -EAGAIN ? coir_refuse(t) : res;
}

/* At the end: the oldest is served first, and there are hardly ever more than two. Second descriptors go `first`: they
 * are not served, and may be many, when a file is sent to many at once. */
static void list(struct coir_fd *e, struct coir_io *io, bool first)
{
    struct coir_io **at = &e->waits;

    while (*at && !first)
        at = &(*at)->next;
    io->next = *at;
    if (io->next)
        io->next->link = &io->next;
    io->link = at;
    *at = io;
}

static void unlist(struct coir_io *io)
{
    if (!io->link)
        return;
    *io->link = io->next;
    if (io->next)
        io->next->link = io->link;
    io->link = NULL;
}

/* 0, or why nothing may begin on the descriptor. */
static int enlist(struct coir_plane *p, struct coir_io *io, bool first)
{
    struct coir_fd *e;

    io->link = NULL;
    if (io->fd < 0)
        return 0;
    /* A number beyond all seen so far may be no descriptor at all, and the table would grow for it. */
    if (!coir_fd_find(&p->fds, io->fd) && fcntl(io->fd, F_GETFD) < 0)
        return -EBADF;
    e = coir_fd_get(&p->fds, io->fd);
    if (!e)
        return -errno;
    if (e->closer)
        return e->closer == io->task ? 0 : -EBADF;
    list(e, io, first);
    return 0;
}

/* What lists io under its second descriptor: a wait that nobody ends but with io itself. NULL: it has only one. */
static struct coir_io *other_of(const struct coir_io *io)
{
    return io->kind->other ? (struct coir_io *)(void *)((char *)io->task + io->kind->other) : NULL;
}

static int enlist_all(struct coir_plane *p, struct coir_io *io)
{
    struct coir_io *other = other_of(io);
    int err = enlist(p, io, false);

    if (err < 0 || !other)
        return err;
    other->kind = io->kind;
    other->task = io->task;
    other->state = COIR_IO_HELD;
    other->link = NULL;
    err = other->fd == io->fd ? 0 : enlist(p, other, true);
    if (err < 0)
        unlist(io);
    return err;
}

/* It has ended before it parked. A next step compares with `slot`. */
static bool ends_at_once(struct coir_plane *p, struct coir_io *io, int res)
{
    const struct coir_fd *e = coir_fd_find(&p->fds, io->fd);

    io->res = res;
    io->slot = e ? e->closes : 0;
    return true;
}

static void set_out(struct coir_task *t, struct coir_io *io, const struct coir_io_kind *kind, int fd)
{
    io->kind = kind;
    io->task = t;
    io->fd = fd;
    io->state = io->asked = io->owed = io->tries = 0;
}

static bool parks(struct coir_task *t, struct coir_io *io)
{
    t->state = 1;
    t->waits_for = io;
    t->abort = coir_io_abort;
    return false;
}

bool coir_io_begin(struct coir_task *t, struct coir_io *io, const struct coir_io_kind *kind, int fd)
{
    struct coir_plane *p = coir_plane_here();

    set_out(t, io, kind, fd);
    if (coir_is_cancelled(t))
        return ends_at_once(p, io, in_cancelled_scope(t, kind));
    io->res = enlist_all(p, io);
    if (io->res < 0)
        return true;
    p->shard->stats.submissions++;
    COIR_NOTE(p->shard, coir_noted_io(p->shard, io));
    if (!p->kind->begin(p, io)) {
        p->shard->stats.completions++;
        COIR_NOTE(p->shard, coir_noted_io_end(p->shard, io));
        unlist(io);
        if (kind->other)
            unlist(other_of(io));
        return ends_at_once(p, io, io->res);
    }
    p->in_flight++;
    p->in_flight_files += !kind->events;
    return parks(t, io);
}

bool coir_io_begin_next(struct coir_task *t, struct coir_io *io, const struct coir_io_kind *kind, int fd)
{
    if (t->state == 0 || coir_fd_is_still(fd, io->slot))
        return coir_io_begin(t, io, kind, fd);
    io->res = -ECANCELED;
    return true;
}

bool coir_io_hold(struct coir_task *t, struct coir_io *io, const struct coir_io_kind *kind, int fd)
{
    struct coir_plane *p = coir_plane_here();

    set_out(t, io, kind, fd);
    io->state = COIR_IO_HELD;
    io->res = coir_is_refused(t) ? -ECANCELED : enlist(p, io, false);
    if (io->res < 0)
        return true;
    COIR_NOTE(p->shard, coir_noted_io(p->shard, io));
    return parks(t, io);
}

void coir_io_abort(struct coir_task *t)
{
    struct coir_io *io = t->waits_for;
    struct coir_plane *p = coir_plane_here();

    if (io->asked || io->kind->always)       /* what is always done ends by itself */
        return;
    io->asked = 1;
    if (io->state != COIR_IO_HELD) {
        p->kind->cancel(p, io);
        return;
    }
    if (io->kind->let_go)
        io->kind->let_go(io);
    coir_io_ended(p, io, -ECANCELED);
}

void coir_io_ended(struct coir_plane *p, struct coir_io *io, int res)
{
    struct coir_io *other = other_of(io);

    io->res = res;
    if (io->state != COIR_IO_HELD) {
        COIR_ASSERT(p->in_flight > 0);
        p->in_flight--;
        p->in_flight_files -= !io->kind->events;
        p->shard->stats.completions++;
    }
    COIR_NOTE(p->shard, coir_noted_io_end(p->shard, io));
    unlist(io);
    coir_wake(io->task);
    if (io->fd >= 0) {
        io->slot = coir_fd_find(&p->fds, io->fd)->closes;
        coir_fd_rests(p, io->fd);
    }
    if (other && other->link) {
        unlist(other);
        coir_fd_rests(p, other->fd);
    }
}

/* ---- closing ---- */

bool coir_fd_quiet(struct coir_plane *p, int fd, struct coir_task *closer, struct coir_left_ *left)
{
    struct coir_fd *e = coir_fd_find(&p->fds, fd);
    struct coir_io *next;

    if (!e)
        return true;
    e->closer = closer;
    e->closes++;
    if (e->guest && e->guest->leave(e->guest, left))
        e->guest = NULL;
    for (struct coir_io *io = e->waits; io; io = next) {
        next = io->next;
        coir_io_abort(io->task);
    }
    if (!e->waits && !e->guest)
        e->closer = NULL;
    return !e->closer;
}

void coir_fd_forget(struct coir_plane *p, int fd)
{
    struct coir_fd *e = coir_fd_find(&p->fds, fd);

    if (!e)
        return;
    e->known = e->seekable = e->drained = e->looked = false;
    e->closer = NULL;
    e->closes++;
}

void coir_fd_rests(struct coir_plane *p, int fd)
{
    struct coir_fd *e = coir_fd_find(&p->fds, fd);
    struct coir_task *closer = e->closer;

    /* At state 0 it is still asking, and sees for itself. It stays the closer until it runs: who has been
     * woken before it must not begin anything here. */
    if (closer && !e->waits && !e->guest && closer->state != 0)
        coir_wake(closer);
}

/* ---- on a pool ---- */

_Static_assert(sizeof(struct coir_job) <= sizeof ((struct coir_io *)0)->spare, "a job fits into an operation");

static struct coir_job *job_of(struct coir_io *io)
{
    return (struct coir_job *)(void *)io->spare;
}

static struct coir_io *io_of(struct coir_job *job)
{
    return (struct coir_io *)(void *)((char *)job - offsetof(struct coir_io, spare));
}

/* On the pool's thread; the shard leaves the operation alone meanwhile. */
static void run_io(struct coir_job *job)
{
    struct coir_io *io = io_of(job);
    int (*const call)(struct coir_task *) = io->kind->block ? io->kind->block : io->kind->attempt;

    do
        io->res = call(io->task);
    while (io->res == -EINTR);
}

static void io_is_home(struct coir_shard *s, struct coir_job *job)
{
    coir_io_ended(s->plane, io_of(job), io_of(job)->res);
}

static const struct coir_job_kind io_job = { .run = run_io, .home = io_is_home };

bool coir_io_on_pool(struct coir_plane *p, struct coir_io *io)
{
    int err;

    io->state = COIR_IO_ON_POOL;
    err = coir_workers_submit(coir_file_workers(p->shard->run), job_of(io), &io_job);
    if (err)
        io->res = err;                       /* else it is the thread's, which may have been here already */
    return err == 0;
}

bool coir_io_off_pool(struct coir_plane *p, struct coir_io *io)
{
    return coir_workers_revoke(coir_file_workers(p->shard->run), job_of(io));
}
