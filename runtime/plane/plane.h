/* SPDX-License-Identifier: MIT */
/*
 * A plane is what a shard asks the kernel through: the ring, or epoll. This is all that the scheduler and the
 * operations know of it.
 *
 * An operation is described once, by a struct coir_io_kind: its system call, and how to say the same to the
 * ring. A plane drives any kind: it makes it happen, leaves the result in io->res and wakes io->task, once,
 * when the kernel has let go of it. A plane never runs a body: completions only queue their tasks, from
 * coir_plane_wait and coir_plane_cancel.
 *
 *          begin              kernel is done           body of the leaf
 *   op ----------> in flight ----------------> queued -----------------> io->res
 *                      |  cancel: asks; the end still comes through the same door
 */
#ifndef COIR_RUNTIME_PLANE_PLANE_H
#define COIR_RUNTIME_PLANE_PLANE_H

#include <coir/io.h>
#include <poll.h>

#include "runtime/base/fault.h"
#include "runtime/plane/fds.h"
#include "runtime/task/home.h"

struct io_uring_sqe;
struct coir_plane;

/* io->state: the planes add theirs. Held: it waits for something in the shard, see coir_io_hold. */
enum { COIR_IO_BEGUN, COIR_IO_ON_POOL, COIR_IO_HELD, COIR_IO_PLANES_OWN };
enum { COIR_IO_ANY = -1 };

/* What an operation is. Static and constant. */
struct coir_io_kind {
    const char *name;
    /* POLLIN or POLLOUT: it waits for a descriptor, `attempt` does not block and says -EAGAIN;
     * COIR_IO_ANY: for what its coir_poll says. 0: it may block, in the disk or elsewhere, and runs on a
     * pool where the ring cannot do it. */
    short events;
    uint8_t opcode;                      /* IORING_OP_..., looked up in what the ring offers */
    bool always;                         /* is done in a cancelled scope too */
    /* many of these on one descriptor are served in order, and may be by one request of the plane's: see struct
     * coir_fd_guest */
    bool shares;
    /* it receives into a buffer that is lent to it (lends.h): the ring picks one, `attempt` takes one */
    bool lends;
    int (*attempt)(struct coir_task *t); /* the system call: its result, or a negative errno */
    /* Where events != 0 and the descriptor may turn out to be a file, which nothing can wait for: the
     * call that may block, for a pool's thread. NULL: then -EPERM. */
    int (*block)(struct coir_task *t);
    /* NULL: the ring has no such operation */
    void (*prepare)(struct coir_task *t, struct io_uring_sqe *sqe);
    /* For what has more than one completion, and for the plane's own: called for each instead of ending
     * the io, with the CQE's flags. Only on the ring. */
    void (*shot)(struct coir_plane *p, struct coir_io *io, int res, unsigned flags);
    /* Takes a held one from where it waits, when it is cancelled. NULL: nothing to do. */
    void (*let_go)(struct coir_io *io);
    /* It works on a second descriptor, whose close ends it as well: where in its frame the struct coir_io is
     * that lists it there. The operation sets that one's fd. 0: it does not. */
    uint16_t other;
};

/* One a shard; planes put their own behind it. */
struct coir_plane {
    const struct coir_plane_kind *kind;
    struct coir_shard *shard;
    struct coir_fds fds;                 /* who waits on which descriptor */
    unsigned in_flight;                  /* operations that have begun and not ended */
    /* of those, the ones that end by themselves: no peer, no time is needed */
    unsigned in_flight_files;
    struct coir_lends *lends;            /* lends.h: made when first used */
};

struct coir_plane_options {
    unsigned entries;                    /* of the submission queue */
    const char *features;                /* COIR_URING */
    bool foreign;                        /* its `fd` will be asked for */
};

struct coir_plane_kind {
    const char *name;
    bool nonblocking;                    /* descriptors that coir itself opens are made O_NONBLOCK */
    /* Makes one for `s`, on its thread. 0; or a negative errno, with the reason in `why`. */
    int (*open)(struct coir_shard *s, const struct coir_plane_options *o, struct coir_plane **out, char *why,
                size_t len);
    /* Gives everything back; nothing is in flight. */
    void (*close)(struct coir_plane *p);
    /* Begins io, whose kind, task and fd are set. False: it has ended already, with io->res. */
    bool (*begin)(struct coir_plane *p, struct coir_io *io);
    /* Asks an io in flight to stop; -ECANCELED, or its success, comes the usual way. */
    void (*cancel)(struct coir_plane *p, struct coir_io *io);
    /* Submits what was begun and reaps what has ended. Waits up to `timeout` ns for something to reap
     * (0: does not wait, COIR_NEVER: for ever), or until nudged. May return early. */
    void (*wait)(struct coir_plane *p, int64_t timeout);
    /* Whether `wait` has something to submit or reap, as far as that can be told without a system call. */
    bool (*peek)(struct coir_plane *p);
    /* Makes the wait of `p` return. Any thread; `from` is the plane of the shard that this thread is, or
     * NULL: then by eventfd. One system call. */
    void (*nudge)(struct coir_plane *p, struct coir_plane *from);
    /* Puts the buffer `id` of p->lends, which is free, into the kernel's hands. False: there are no such, here.
     * NULL: nowhere. */
    bool (*provide)(struct coir_plane *p, unsigned id);
    /* A descriptor that polls readable when `wait` would reap something. */
    int (*fd)(struct coir_plane *p);
};

extern const struct coir_plane_kind coir_uring, coir_epoll;

/* Of coir_poll and of what else has a struct coir_poll as its frame (descriptor.c). */
extern const struct coir_io_kind coir_poll_kind;

/* What io waits for. */
static inline short coir_io_events(const struct coir_io *io)
{
    return io->kind->events == COIR_IO_ANY ? (short)((struct coir_poll *)io->task)->events : io->kind->events;
}

static inline struct coir_plane *coir_plane_here(void)
{
    return coir_shard_here()->plane;
}

/* Torture: one time in `n`, except under virtual time, where it would be another outcome: what the kernel has comes
 * before the next timer. */
static inline bool coir_plane_plays(const struct coir_plane *p, unsigned n)
{
    return COIR_TORTURED && p->shard->virtual_now < 0 && coir_torture_plays(n) == 1;
}

/* A system call made for the plane or an operation: counted, so that tests can assert how many there are. */
static inline void coir_count_syscall(void)
{
    coir_shard_here()->stats.syscalls++;
}

/* The system call of `t`, an operation of that kind, here and now. A signal's -EINTR is nobody's result: poll(2)
 * says it even when it does not wait. */
static inline int coir_io_attempt(const struct coir_io_kind *kind, struct coir_task *t)
{
    int res;

    do {
        coir_count_syscall();
        res = kind->attempt(t);
    } while (res == -EINTR);
    return res;
}

/* ---- for operations (io.c) ---- */

/* Begins an operation of `t`, whose argument checks have passed. True: it has ended, io->res holds what
 * the kernel said. False: return COIR_PARK_; the body runs again, once, with io->res. */
bool coir_io_begin(struct coir_task *t, struct coir_io *io, const struct coir_io_kind *kind, int fd);

/* How often the number was closed. What works on a descriptor in several steps notes it before the first and
 * compares before the next: between them the number may have become another file's. */
static inline uint32_t coir_fd_closes(int fd)
{
    const struct coir_fd *e = coir_fd_find(&coir_plane_here()->fds, fd);

    return e ? e->closes : 0;
}

/* True while it is the file that it was when `closes` was noted, and is not being closed. */
static inline bool coir_fd_is_still(int fd, uint32_t closes)
{
    const struct coir_fd *e = coir_fd_find(&coir_plane_here()->fds, fd);

    return !e || (!e->closer && e->closes == closes);
}

/* The same for the next step of an operation that takes several on one descriptor, compared with the end of the last
 * step: -ECANCELED when it was closed since. */
bool coir_io_begin_next(struct coir_task *t, struct coir_io *io, const struct coir_io_kind *kind, int fd);

/* Parks an operation that waits for something in the shard, not in the kernel: listed under its
 * descriptor, so that a close finds it, and cancelled by its kind's let_go. Whoever it waits for ends it
 * by coir_io_ended. As coir_io_begin: true, it has ended already. */
bool coir_io_hold(struct coir_task *t, struct coir_io *io, const struct coir_io_kind *kind, int fd);

/* ---- for planes (io.c) ---- */

/* 0, or the error that the call which io is now about to make is to fail with, for tests. Linux closes a descriptor
 * whatever close(2) says, so that is done all the same. */
static inline int coir_io_fault(const struct coir_io *io)
{
    const int fault = coir_syscall_fault_lasting();

    if (fault && io->kind->always)
        io->kind->attempt(io->task);
    return fault;
}

/* Runs io on the pool for blocking calls; it ends as any other. False: it has ended already (no thread
 * to be had). */
bool coir_io_on_pool(struct coir_plane *p, struct coir_io *io);
/* Takes it back from there. True: it has not begun and is the caller's again. */
bool coir_io_off_pool(struct coir_plane *p, struct coir_io *io);

/* The kernel has let go of io: takes it off its descriptor, and wakes its task. */
void coir_io_ended(struct coir_plane *p, struct coir_io *io, int res);

/* The abort of a task that waits for a struct coir_io; by it coir_dump knows one. */
void coir_io_abort(struct coir_task *t);

/* ---- for closing (io.c) ---- */

/* Begins to end everything on `fd` for the coir_close or coir_leave `closer`. True: nothing is left. False: park;
 * `closer` is woken when nothing is. -EBADF semantics are the caller's: an entry whose closer is set
 * already belongs to another. `left`: see struct coir_fd_guest. */
bool coir_fd_quiet(struct coir_plane *p, int fd, struct coir_task *closer, struct coir_left_ *left);

/* The descriptor is about to be closed, or another shard's: what the plane remembers of it no longer holds. */
void coir_fd_forget(struct coir_plane *p, int fd);

/* Something on `fd` has ended: wakes a closer that waited for it. */
void coir_fd_rests(struct coir_plane *p, int fd);

/* Wakes the plane of another shard by its eventfd, when a cheaper way has failed (run.c). */
void coir_nudge_by_eventfd(struct coir_runtime *run, unsigned shard);

#endif
