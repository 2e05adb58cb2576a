/* SPDX-License-Identifier: MIT */
/*
 * The epoll plane: for kernels and containers that deny the ring. An operation is tried at once; what would
 * wait is registered, one shot at a time, and tried again when the descriptor is ready. What can block runs
 * on the pool.
 *
 * Registrations are made afresh for every wait (one epoll_ctl), never remembered as true: a descriptor that
 * was closed behind coir's back and opened again as another file is registered with the new one.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/plane/lends.h"
#include "runtime/plane/plane.h"

enum { WAITING = COIR_IO_PLANES_OWN };

struct epoll_plane {
    struct coir_plane base;
    int epfd;
    int wake;                            /* an eventfd: other threads write, `wait` reads */
    bool nudged;                         /* atomic: `wake` has been written, or will be at once */
    bool no_pwait2;                      /* the kernel has only milliseconds */
    unsigned waiting;                    /* operations that wait for a descriptor */
    bool more;                           /* the last wait was given all it had room for */
    struct epoll_event events[COIR_EPOLL_EVENTS];
};

static struct epoll_plane *self(struct coir_plane *p)
{
    return coir_container_of(p, struct epoll_plane, base);
}

/* ---- waiting for a descriptor ---- */

static uint32_t wanted(const struct coir_fd *e)
{
    uint32_t events = EPOLLONESHOT;

    for (const struct coir_io *io = e->waits; io; io = io->next) {
        if (io->state == WAITING)
            events |= (uint32_t)coir_io_events(io);
    }
    return events;
}

static int control(struct epoll_plane *p, int op, int fd, uint32_t events)
{
    struct epoll_event ev = { .events = events, .data.fd = fd };

    const int fault = coir_syscall_fault_lasting();

    coir_count_syscall();
    if (fault)
        return fault;
    return epoll_ctl(p->epfd, op, fd, &ev) < 0 ? -errno : 0;
}

/* Arms the descriptor for all that wait on it. */
static int arm(struct epoll_plane *p, int fd)
{
    struct coir_fd *e = coir_fd_find(&p->base.fds, fd);
    const uint32_t events = wanted(e);
    int err;

    err = control(p, e->known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, events);
    if (err == -ENOENT)
        err = control(p, EPOLL_CTL_ADD, fd, events);
    else if (err == -EEXIST)
        err = control(p, EPOLL_CTL_MOD, fd, events);
    e->known = err == 0;
    return err;
}

static int attempt(struct coir_io *io)
{
    const int fault = io->kind->always ? coir_io_fault(io) : coir_syscall_fault();

    return fault == 0 || fault == -EINTR ? coir_io_attempt(io->kind, io->task) : fault;
}

static bool ended_at_once(struct coir_io *io, int res)
{
    io->res = res;
    return false;
}

static bool wait_armed(struct epoll_plane *p, struct coir_io *io, int *err)
{
    io->state = WAITING;
    p->waiting++;
    *err = arm(p, io->fd);
    p->waiting -= *err != 0;
    return *err == 0;
}

/* A regular file whose call may block. Some in /proc let themselves be waited for, and are always ready. */
static bool is_for_pool(const struct coir_io *io)
{
    struct stat st;

    return io->kind->block && fstat(io->fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* Torture: it waits for what is there already. */
static bool waits_in_vain(struct epoll_plane *p, struct coir_io *io)
{
    struct pollfd ready = { .fd = io->fd, .events = coir_io_events(io) };
    int err;

    return io->fd >= 0 && io->kind->events && coir_plane_plays(&p->base, 4) && poll(&ready, 1, 0) > 0
        && !(ready.revents & POLLNVAL) && !is_for_pool(io) && wait_armed(p, io, &err);
}

/* Others wait for the same, and what has come is theirs: see serve(). */
static bool is_behind(const struct epoll_plane *p, const struct coir_io *io)
{
    const struct coir_fd *e = io->kind->shares ? coir_fd_find(&p->base.fds, io->fd) : NULL;
    const struct coir_io *other = e ? e->waits : NULL;

    while (other && !(other->state == WAITING && other->kind == io->kind))
        other = other->next;
    return other;
}

static bool epoll_begin(struct coir_plane *plane, struct coir_io *io)
{
    struct epoll_plane *p = self(plane);
    int err;

    if (!io->kind->events && !io->kind->always) {
        err = coir_io_fault(io);
        return err ? ended_at_once(io, err) : coir_io_on_pool(plane, io);
    }
    if (is_behind(p, io))
        return wait_armed(p, io, &err) || ended_at_once(io, err);
    if (waits_in_vain(p, io))
        return true;
    err = attempt(io);
    if (err != -EAGAIN || io->fd < 0)
        return ended_at_once(io, err);
    if (!is_for_pool(io) && wait_armed(p, io, &err))
        return true;
    if ((err == -EAGAIN || err == -EPERM) && io->kind->block)    /* a file: nothing can wait for it */
        return coir_io_on_pool(plane, io);
    return ended_at_once(io, err);
}

static void waited(struct epoll_plane *p, struct coir_io *io, int res)
{
    p->waiting--;
    io->state = COIR_IO_BEGUN;
    coir_io_ended(&p->base, io, res);
}

static void epoll_cancel(struct coir_plane *plane, struct coir_io *io)
{
    struct epoll_plane *p = self(plane);
    int res;

    if (io->state == COIR_IO_ON_POOL) {
        if (coir_io_off_pool(plane, io))
            coir_io_ended(plane, io, -ECANCELED);
        return;
    }
    res = attempt(io);                       /* what has arrived wins */
    waited(p, io, res == -EAGAIN ? -ECANCELED : res);
}

/* The descriptor says something: everybody who waits for that tries, the oldest first. Of those that share, who are
 * served in order, none tries behind one that got nothing: it might get what has come in between. Torture overlooks
 * what the descriptor says for all of them, for the same reason. */
static void serve(struct epoll_plane *p, int fd, uint32_t events)
{
    struct coir_fd *e = coir_fd_find(&p->base.fds, fd);
    const bool overlooked = coir_plane_plays(&p->base, 4);
    const struct coir_io_kind *without = NULL;
    struct coir_io *io, *next;
    bool left = false;

    if (events & (EPOLLERR | EPOLLHUP))
        events |= EPOLLIN | EPOLLOUT | EPOLLPRI;
    for (io = e ? e->waits : NULL; io; io = next) {
        int res = -EAGAIN;

        next = io->next;
        if (io->state != WAITING)
            continue;
        if (events & (uint32_t)coir_io_events(io) && !overlooked && io->kind != without)
            res = attempt(io);
        if (res != -EAGAIN) {
            waited(p, io, res);
            continue;
        }
        left = true;
        if (io->kind->shares)
            without = io->kind;
    }
    if (!left)
        return;
    const int err = arm(p, fd);
    for (io = err ? coir_fd_find(&p->base.fds, fd)->waits : NULL; io; io = next) {
        next = io->next;
        if (io->state == WAITING)
            waited(p, io, err);
    }
}

/* Torture: some descriptor that is waited for is said to be ready. */
static void serve_in_vain(struct epoll_plane *p)
{
    const struct coir_fds *fds = &p->base.fds;
    const size_t n = fds->pages * COIR_FDS_PAGE, from = n ? coir_torture_plays((unsigned)n) : 0;

    for (size_t i = 0; i < n; i++) {
        const int fd = (int)((from + i) % n);
        const struct coir_fd *e = coir_fd_find(fds, fd);

        if (!e || !e->waits || e->waits->state != WAITING)
            continue;
        serve(p, fd, EPOLLIN | EPOLLOUT | EPOLLPRI);
        break;
    }
}

/* ---- the loop's side ---- */

static int wait_ns(struct epoll_plane *p, int64_t timeout)
{
    struct timespec ts = { .tv_sec = timeout / COIR_S, .tv_nsec = timeout % COIR_S };
    int n = -1, ms;

    coir_count_syscall();
    if (!p->no_pwait2) {
        n = epoll_pwait2(p->epfd, p->events, COIR_EPOLL_EVENTS, timeout == COIR_NEVER ? NULL : &ts, NULL);
        if (n >= 0 || (errno != ENOSYS && errno != EPERM))
            return n;
        p->no_pwait2 = true;
    }
    ms = timeout == COIR_NEVER ? -1 : timeout >= INT64_C(1000000) * INT32_MAX ? INT32_MAX
       : (int)((timeout + COIR_MS - 1) / COIR_MS);
    return epoll_wait(p->epfd, p->events, COIR_EPOLL_EVENTS, ms);
}

static void epoll_wait_(struct coir_plane *plane, int64_t timeout)
{
    struct epoll_plane *p = self(plane);
    uint64_t count;
    int n;

    p->more = false;
    /* A nudge is read even so: in another loop the descriptor would stay readable for ever. */
    if (timeout == 0 && p->waiting == 0 && !__atomic_load_n(&p->nudged, __ATOMIC_RELAXED))
        return;
    n = wait_ns(p, timeout);
    p->more = n == COIR_EPOLL_EVENTS;
    for (int i = 0; i < n; i++) {
        if (p->events[i].data.fd != p->wake) {
            serve(p, p->events[i].data.fd, p->events[i].events);
            continue;
        }
        coir_count_syscall();
        __atomic_store_n(&p->nudged, false, __ATOMIC_RELAXED);
        if (read(p->wake, &count, sizeof count) < 0)
            continue;                        /* somebody's write will wake us again */
    }
    if (coir_plane_plays(plane, 8))
        serve_in_vain(p);
}

/* Mostly only the kernel knows. */
static bool epoll_peek(struct coir_plane *plane)
{
    return self(plane)->more;
}

static void epoll_nudge(struct coir_plane *plane, struct coir_plane *from)
{
    const uint64_t one = 1;

    if (from)
        from->shard->stats.syscalls++;
    __atomic_store_n(&self(plane)->nudged, true, __ATOMIC_RELAXED);
    while (write(self(plane)->wake, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

static int epoll_fd(struct coir_plane *plane)
{
    return self(plane)->epfd;
}

/* ---- life ---- */

static void epoll_close(struct coir_plane *plane)
{
    struct epoll_plane *p = self(plane);

    coir_lends_destroy(plane);
    coir_fds_destroy(&plane->fds);
    close(p->wake);
    close(p->epfd);
    free(p);
}

static int fail(struct epoll_plane *p, const char *what, char *why, size_t len)
{
    const int err = errno;

    snprintf(why, len, "%s: %s", what, strerror(err));
    if (p->wake >= 0)
        close(p->wake);
    if (p->epfd >= 0)
        close(p->epfd);
    free(p);
    return -err;
}

static int epoll_open(struct coir_shard *s, const struct coir_plane_options *o, struct coir_plane **out, char *why,
                      size_t len)
{
    struct epoll_plane *p = calloc(1, sizeof *p);
    struct epoll_event ev = { .events = EPOLLIN };

    (void)o;
    if (!p) {
        snprintf(why, len, "no memory");
        return -ENOMEM;
    }
    p->base.kind = &coir_epoll;
    p->base.shard = s;
    p->wake = -1;
    p->epfd = epoll_create1(EPOLL_CLOEXEC);
    if (p->epfd < 0)
        return fail(p, "epoll_create1", why, len);
    p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->wake < 0)
        return fail(p, "eventfd", why, len);
    ev.data.fd = p->wake;
    if (epoll_ctl(p->epfd, EPOLL_CTL_ADD, p->wake, &ev) < 0)
        return fail(p, "epoll_ctl", why, len);
    *out = &p->base;
    return 0;
}

const struct coir_plane_kind coir_epoll = {
    .name = "epoll",
    .nonblocking = true,
    .open = epoll_open,
    .close = epoll_close,
    .begin = epoll_begin,
    .cancel = epoll_cancel,
    .wait = epoll_wait_,
    .peek = epoll_peek,
    .nudge = epoll_nudge,
    .fd = epoll_fd,
};
