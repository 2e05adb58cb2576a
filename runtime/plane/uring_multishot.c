/* SPDX-License-Identifier: MIT */
/*
 * Accepting: one request a listener for all the accepts on it. Where the kernel has multishot requests it stays
 * in the kernel between the accepts, which take what it brings; else it is sent again while accepts wait. One
 * for each accept would not do: the kernel wakes one request a connection, and a wake-up of one that is being
 * cancelled is lost to the others. It lives as the guest of the listener's descriptor, from the first accept
 * until the listener is closed, or the shard ends.
 *
 *      kernel --CQE--> the oldest accept that waits
 *             |   \--> or `ahead`, which later accepts take from
 *             \------> or an accept that cannot wait any more, before the CQE is handled
 *
 * Invariants:
 *   1. `ahead` has something only while no accept waits; so connections are handed out in order, to waiters in
 *      order.
 *   2. Every descriptor the kernel brings is handed to an accept, or lies in `ahead`, or is left to who leaves the
 *      listener, or is closed.
 *   3. The request is in the kernel (armed) or it is not, as F_MORE says and nothing else. It is armed when an
 *      accept begins to wait, and again when it ended while one waits, but never while pausing, nor after an
 *      error that would come again at once.
 *   4. With COIR_ACCEPT_AHEAD waiting it is cancelled, and armed again by the accept that finds `ahead` empty.
 *   5. It is never cancelled because an accept is.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/plane/accepting.h"
#include "runtime/plane/uring.h"

enum { NOT_LEAVING, LEAVES, LEFT_LATER, ORPHANED };

struct shots {
    struct coir_task self;           /* what `prepare` is given; it never runs */
    struct coir_io io;
    struct coir_fd_guest guest;
    struct coir_uring_plane *p;
    struct coir_alarm pause;
    int *ahead;                      /* a ring: n descriptors from `head`; room is 0 or a power of two */
    unsigned head, n, room;
    unsigned pauses;                 /* in a row */
    bool armed;
    bool single;                     /* not multishot: the kernel has none, or the listener cannot */
    bool polls;                      /* the listener is O_NONBLOCK: it is polled before each accept */
    uint8_t leaving;
    struct coir_left_ *left;         /* while leaving: for connections that nobody has taken; NULL: they are closed */
    dev_t dev;                       /* which file the listener is */
    ino_t ino;
};

static struct shots *shots_of(struct coir_fd_guest *guest)
{
    return coir_container_of(guest, struct shots, guest);
}

/* ---- what was accepted ahead ---- */

static bool put_ahead(struct shots *s, int fd)
{
    if (s->n == s->room) {
        const unsigned room = s->room ? s->room * 2 : COIR_ACCEPT_ROOM;
        int *grown = coir_alloc_fails() ? NULL : malloc(room * sizeof *grown);
        if (!grown)
            return false;
        for (unsigned i = 0; i < s->n; i++)
            grown[i] = s->ahead[(s->head + i) & (s->room - 1)];
        free(s->ahead);
        s->ahead = grown;
        s->head = 0;
        s->room = room;
    }
    s->ahead[(s->head + s->n++) & (s->room - 1)] = fd;
    return true;
}

static int take_ahead(struct shots *s)
{
    if (!s->n)
        return -EAGAIN;
    s->n--;
    return s->ahead[s->head++ & (s->room - 1)];
}

/* Also what the kernel has accepted and nobody has looked at: it is in the backlog no more, and has arrived. */
static int take(struct coir_fd_guest *guest)
{
    struct shots *s = shots_of(guest);
    const int fd = take_ahead(s);

    return fd >= 0 || !s->armed || s->io.state != COIR_IO_IN_RING ? fd : coir_uring_brought(s->p, &s->io);
}

/* ---- who waits ---- */

static struct coir_io *oldest(const struct shots *s)
{
    struct coir_io *io = coir_fd_find(&s->p->base.fds, s->io.fd)->waits;

    while (io && io->state != COIR_IO_SHARING)
        io = io->next;
    return io;
}

static void end_all(struct shots *s, int err)
{
    struct coir_io *io;

    while ((io = oldest(s)))
        coir_io_ended(&s->p->base, io, err);
}

/* ---- the request ---- */

static void pause_now(struct shots *s)
{
    coir_wheel_add(&s->p->base.shard->wheel, &s->pause.timer, coir_now() + coir_accept_pause(s->pauses));
    s->pauses++;
}

static void arm_as(struct shots *s, uint8_t state)
{
    if (s->armed || s->leaving || coir_timer_armed(&s->pause.timer))
        return;
    s->io.asked = 0;
    if (coir_uring_send(s->p, &s->io, state) < 0)
        pause_now(s);
    else
        s->armed = true;
}

static void arm(struct shots *s)
{
    arm_as(s, s->polls ? COIR_IO_POLLING : COIR_IO_IN_RING);
}

static void arm_if_wanted(struct shots *s)
{
    if (oldest(s))
        arm(s);
}

static void pause_is_over(struct coir_alarm *alarm)
{
    arm_if_wanted(coir_container_of(alarm, struct shots, pause));
}

static void disarm(struct shots *s)
{
    if (!s->armed || s->io.asked)
        return;
    s->io.asked = 1;
    coir_uring_cancel(&s->p->base, &s->io);
}

static void shots_free(struct shots *s)
{
    free(s->ahead);
    free(s);
}

/* A connection that no accept will take. */
static void leave_behind(struct shots *s, int fd)
{
    struct coir_left_ *left = s->left;

    if (left && left->n < left->max)
        left->fds[left->n++] = fd;
    else
        close(fd);
}

/* The listener is being closed, and the kernel has let go. */
static void is_gone(struct shots *s)
{
    struct coir_plane *plane = &s->p->base;
    const int fd = s->io.fd;

    plane->in_flight--;
    coir_fd_find(&plane->fds, fd)->guest = NULL;
    shots_free(s);
    coir_fd_rests(plane, fd);
}

static void is_gone_alone(struct shots *s)
{
    s->p->base.in_flight--;
    shots_free(s);
}

/* True: it is gone. False: when the kernel has let go, it goes as `how` says. */
static bool go(struct shots *s, uint8_t how)
{
    int fd;

    s->leaving = LEAVES;
    while ((fd = take_ahead(s)) >= 0)
        leave_behind(s, fd);
    if (coir_timer_armed(&s->pause.timer))
        coir_wheel_remove(&s->p->base.shard->wheel, &s->pause.timer);
    disarm(s);
    if (!s->armed) {
        shots_free(s);
        return true;
    }
    s->leaving = how;
    s->p->base.in_flight++;          /* a close waits for it, and so does the loop */
    return false;
}

static bool leave(struct coir_fd_guest *guest, struct coir_left_ *left)
{
    struct shots *s = shots_of(guest);

    if (s->leaving)
        return false;
    s->left = left;
    return go(s, LEFT_LATER);
}

/* The listener was closed behind our back: its number is another file's. */
static bool is_another(const struct shots *s)
{
    struct stat st;

    coir_count_syscall();
    return fstat(s->io.fd, &st) == 0 && (st.st_dev != s->dev || st.st_ino != s->ino);
}

/* ---- what the kernel says ---- */

static void came(struct shots *s, int fd)
{
    struct coir_io *io = s->leaving ? NULL : oldest(s);

    s->pauses = 0;
    if (io)
        coir_io_ended(&s->p->base, io, fd);
    else if (s->leaving || !put_ahead(s, fd))
        leave_behind(s, fd);
    else if (s->n >= COIR_ACCEPT_AHEAD)
        disarm(s);
}

/* Not multishot, or not blocking: what is then still wrong is the caller's. */
static bool gives_in(struct shots *s, int err)
{
    if (err == -EAGAIN)
        s->polls = s->single = true;
    else if (err == -EINVAL && !s->single)
        s->single = true;
    else
        return false;
    arm_if_wanted(s);
    return true;
}

static void failed(struct shots *s, int err)
{
    const enum coir_accept_error why = coir_accept_error(err);

    if (s->leaving || gives_in(s, err))
        return;
    if (why == COIR_ACCEPT_SHORT)
        coir_accept_complain(err);
    if (why == COIR_ACCEPT_SHORT || (err == -ECANCELED && !s->io.asked))
        pause_now(s);
    else if (why == COIR_ACCEPT_PASSED || err == -ECANCELED)
        arm_if_wanted(s);
    else
        end_all(s, err);
}

static void shot(struct coir_plane *plane, struct coir_io *io, int res, unsigned flags)
{
    struct shots *s = coir_container_of(io, struct shots, io);
    const bool polled = io->state == COIR_IO_POLLING;

    (void)plane;
    if (!(flags & IORING_CQE_F_MORE)) {
        s->armed = false;
        coir_uring_free_slot(s->p, io);
    }
    if (res >= 0 && polled)
        arm_as(s, COIR_IO_IN_RING);
    else if (res >= 0)
        came(s, res);
    else if (!s->armed)
        failed(s, res);
    if (s->armed)
        return;
    if (s->leaving == LEFT_LATER)
        is_gone(s);
    else if (s->leaving == ORPHANED)
        is_gone_alone(s);
    else if (res >= 0)
        arm_if_wanted(s);
}

static void prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    const struct shots *s = coir_container_of(t, struct shots, self);

    if (s->single)
        io_uring_prep_accept(sqe, s->io.fd, NULL, NULL, SOCK_CLOEXEC);
    else
        io_uring_prep_multishot_accept(sqe, s->io.fd, NULL, NULL, SOCK_CLOEXEC);
}

static const struct coir_io_kind shots_kind = {
    .name = "multishot accept",
    .events = POLLIN,
    .opcode = IORING_OP_ACCEPT,
    .prepare = prepare,
    .shot = shot,
};

/* ---- joining ---- */

static struct shots *settle(struct coir_uring_plane *p, struct coir_fd *e, int fd)
{
    struct shots *s = coir_alloc_fails() ? NULL : calloc(1, sizeof *s);
    struct stat st = { 0 };

    if (!s)
        return NULL;
    coir_count_syscall();
    if (fstat(fd, &st) == 0) {
        s->dev = st.st_dev;
        s->ino = st.st_ino;
    }
    s->io.kind = &shots_kind;
    s->io.task = &s->self;
    s->io.fd = fd;
    s->guest.leave = leave;
    s->guest.take = take;
    s->p = p;
    s->single = !(p->features & COIR_RING_MULTISHOT);
    s->pause.fire = pause_is_over;
    e->guest = &s->guest;
    return s;
}

enum coir_share coir_uring_share(struct coir_uring_plane *p, struct coir_io *io)
{
    struct coir_fd *e = coir_fd_find(&p->base.fds, io->fd);
    struct shots *s = e->guest ? shots_of(e->guest) : NULL;

    if (s && is_another(s)) {
        e->guest = NULL;
        go(s, ORPHANED);
        s = NULL;
    }
    s = s ? s : settle(p, e, io->fd);
    if (!s)
        return COIR_SHARES_NOT;
    io->res = take_ahead(s);
    if (io->res >= 0)
        return COIR_SHARE_TAKEN;
    io->state = COIR_IO_SHARING;
    arm(s);
    return COIR_SHARE_WAITS;
}
