/* SPDX-License-Identifier: MIT */
/*
 * The ring plane: real operations, one submit a turn of the loop.
 *
 * Invariants:
 *   1. An io has a slot from its first send until its last completion; only that ends it (or its end on the
 *      pool). A cancel's own completion ends nothing; but one that found nobody is sent again, see missed().
 *   2. Every submission queue entry is taken by coir_uring_sqe, which zeroes it, and tagged by whoever takes it
 *      in the same breath.
 *   3. A full submission queue, also one the kernel does not take (EBUSY, EAGAIN), delays: operations and
 *      cancels wait in lists in the frames of their ios and go first at the next turn. Nothing is dropped and
 *      nothing needs memory to be cancelled.
 *   4. No body runs in here.
 */
#include "runtime/plane/uring.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- slots ---- */

static int take_slot(struct coir_uring_plane *p, struct coir_io *io)
{
    if (p->free_slot == p->n_slots) {
        const uint32_t n = p->n_slots ? p->n_slots * 2 : COIR_RING_SLOTS;
        struct coir_slot *grown = coir_alloc_fails() ? NULL : realloc(p->slots, n * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        for (uint32_t i = p->n_slots; i < n; i++)
            grown[i] = (struct coir_slot){ .next_free = i + 1 };
        p->slots = grown;
        p->n_slots = n;
    }
    struct coir_slot *slot = &p->slots[p->free_slot];
    io->slot = p->free_slot;
    p->free_slot = slot->next_free;
    slot->io = io;
    return 0;
}

void coir_uring_free_slot(struct coir_uring_plane *p, struct coir_io *io)
{
    struct coir_slot *slot = &p->slots[io->slot];

    slot->io = NULL;
    slot->generation = (slot->generation + 1) & (uint32_t)((COIR_TAG_CANCEL - 1) >> 32);
    slot->next_free = p->free_slot;
    p->free_slot = io->slot;
}

static uint64_t tag(const struct coir_uring_plane *p, const struct coir_io *io)
{
    return (uint64_t)p->slots[io->slot].generation << 32 | io->slot;
}

/* ---- lists of ios ---- */

/* An io that waits for something here is in one list, and leaves from its middle: many may be cancelled at once. Its
 * `spare` holds the links; what runs on a pool, which needs all of it, waits for nothing here. */
enum { NEXT = 0, STATE = 1, LINK = 3 };

static struct coir_io **next_of(struct coir_io *io)
{
    return (struct coir_io **)(void *)&io->spare[NEXT];
}

static struct coir_io ***link_of(struct coir_io *io)
{
    return (struct coir_io ***)(void *)&io->spare[LINK];
}

static void link_at(struct coir_io **at, struct coir_io *io)
{
    *next_of(io) = *at;
    *link_of(io) = at;
    if (*at)
        *link_of(*at) = next_of(io);
    *at = io;
}

/* What is in no list stays so. */
static void unlink_io(struct coir_io *io)
{
    struct coir_io **at = *link_of(io), *next = *next_of(io);

    if (!at)
        return;
    *at = next;
    if (next)
        *link_of(next) = at;
    *link_of(io) = NULL;
}

/* ---- sending ---- */

static int submit(struct coir_uring_plane *p)
{
    coir_count_syscall();
    return io_uring_submit(&p->ring);
}

struct io_uring_sqe *coir_uring_sqe(struct coir_uring_plane *p)
{
    struct io_uring_sqe *sqe;

    if (coir_plane_plays(&p->base, 8))
        return NULL;
    sqe = io_uring_get_sqe(&p->ring);
    if (!sqe && submit(p) > 0)
        sqe = io_uring_get_sqe(&p->ring);
    if (sqe)
        memset(sqe, 0, sizeof *sqe);
    return sqe;
}

/* The last receive left nothing behind: to try before waiting, as the kernel does, would be in vain. */
static bool expects_to_wait(const struct coir_uring_plane *p, const struct coir_io *io)
{
    const struct coir_fd *e = coir_fd_find(&p->base.fds, io->fd);

    return e && e->drained && (p->features & COIR_RING_POLL_FIRST);
}

static void note_drained(struct coir_uring_plane *p, const struct coir_io *io, int res, unsigned flags)
{
    struct coir_fd *e = coir_fd_find(&p->base.fds, io->fd);

    if (e)
        e->drained = res > 0 && !(flags & IORING_CQE_F_SOCK_NONEMPTY);
}

/* Puts io into the queue as its state says: the operation itself, or a wait for its descriptor. */
static bool put(struct coir_uring_plane *p, struct coir_io *io)
{
    struct io_uring_sqe *sqe = coir_uring_sqe(p);

    if (!sqe)
        return false;
    if (io->state == COIR_IO_POLLING)
        io_uring_prep_poll_add(sqe, io->fd, (unsigned)coir_io_events(io));
    else
        io->kind->prepare(io->task, sqe);
    if (sqe->opcode == IORING_OP_RECV && expects_to_wait(p, io))
        sqe->ioprio |= IORING_RECVSEND_POLL_FIRST;
    io_uring_sqe_set_data64(sqe, tag(p, io));
    io->owed = 1;
    return true;
}

static void put_later(struct coir_uring_plane *p, struct coir_io *io)
{
    io->spare[STATE] = (void *)(uintptr_t)io->state;
    io->state = COIR_IO_UNSENT;
    link_at(p->unsent_end, io);
    p->unsent_end = next_of(io);
}

static void send_as(struct coir_uring_plane *p, struct coir_io *io, uint8_t state)
{
    io->state = state;
    if (p->unsent || !put(p, io))
        put_later(p, io);
}

int coir_uring_send(struct coir_uring_plane *p, struct coir_io *io, uint8_t state)
{
    if (take_slot(p, io) < 0)
        return -ENOMEM;
    send_as(p, io, state);
    return 0;
}

static bool ring_has(const struct coir_uring_plane *p, const struct coir_io_kind *kind)
{
    return kind->prepare && coir_uring_can(p, kind->opcode) && !(kind->lends && !(p->features & COIR_RING_BUFRING));
}

static bool ended_at_once(struct coir_io *io, int res)
{
    io->res = res;
    return false;
}

/* What the ring cannot do: the call itself, when its descriptor is ready, or on the pool. */
static bool begin_without(struct coir_uring_plane *p, struct coir_io *io)
{
    if (!io->kind->events && !io->kind->always)
        return coir_io_on_pool(&p->base, io);
    const int res = coir_io_attempt(io->kind, io->task);
    if (res != -EAGAIN || io->fd < 0)
        return ended_at_once(io, res);
    return coir_uring_send(p, io, COIR_IO_POLLING) < 0 ? ended_at_once(io, -ENOMEM) : true;
}

static bool uring_begin(struct coir_plane *plane, struct coir_io *io)
{
    struct coir_uring_plane *p = coir_uring_self(plane);
    const int fault = coir_io_fault(io);
    int err;

    if (fault)
        return ended_at_once(io, fault);
    if (io->kind->shares) {
        const enum coir_share share = coir_uring_share(p, io);
        if (share != COIR_SHARES_NOT)
            return share == COIR_SHARE_WAITS;
    }
    if (!ring_has(p, io->kind))
        return begin_without(p, io);
    err = coir_uring_send(p, io, COIR_IO_IN_RING);
    if (err && io->kind->always)             /* a close needs no memory */
        err = io->kind->attempt(io->task);
    else if (!err)
        return true;
    return ended_at_once(io, err);
}

/* ---- cancelling ---- */

/* The kernel has given it up, perhaps with what it waits for there already: what has arrived wins. */
static int last_try(const struct coir_io *io)
{
    const int res = io->kind->events ? coir_io_attempt(io->kind, io->task) : -EAGAIN;

    return res == -EAGAIN ? -ECANCELED : res;
}

static void unsend(struct coir_uring_plane *p, struct coir_io *io)
{
    if (p->unsent_end == next_of(io))
        p->unsent_end = *link_of(io);
    unlink_io(io);
}

static bool put_cancel(struct coir_uring_plane *p, struct coir_io *io)
{
    struct io_uring_sqe *sqe = coir_uring_sqe(p);

    if (!sqe)
        return false;
    io_uring_prep_cancel64(sqe, tag(p, io), 0);
    io_uring_sqe_set_data64(sqe, tag(p, io) | COIR_TAG_CANCEL);
    return true;
}

static void ask(struct coir_uring_plane *p, struct coir_io *io)
{
    *link_of(io) = NULL;
    if (!put_cancel(p, io))
        link_at(&p->uncancelled, io);
}

void coir_uring_cancel(struct coir_plane *plane, struct coir_io *io)
{
    struct coir_uring_plane *p = coir_uring_self(plane);

    if (io->state == COIR_IO_ON_POOL) {
        if (coir_io_off_pool(plane, io))
            coir_io_ended(plane, io, -ECANCELED);
    } else if (io->state == COIR_IO_SHARING) {
        coir_io_ended(plane, io, last_try(io));
    } else if (io->state == COIR_IO_UNSENT && io->kind->shot) {
        unsend(p, io);
        io->kind->shot(plane, io, -ECANCELED, 0);
    } else if (io->state == COIR_IO_UNSENT) {
        unsend(p, io);
        coir_uring_free_slot(p, io);
        coir_io_ended(plane, io, last_try(io));
    } else {
        ask(p, io);
    }
}

/* What found no place, cancels first: they make some. */
static void send_what_waits(struct coir_uring_plane *p)
{
    struct coir_io *io;

    while ((io = p->uncancelled) && put_cancel(p, io))
        unlink_io(io);
    while ((io = p->unsent)) {
        io->state = (uint8_t)(uintptr_t)io->spare[STATE];
        if (!put(p, io)) {
            io->state = COIR_IO_UNSENT;
            return;
        }
        unsend(p, io);
    }
}

/* ---- completions ---- */

static void end(struct coir_uring_plane *p, struct coir_io *io, int res)
{
    if (io->asked) {
        unlink_io(io);
        if (res == -ECANCELED || res == -EINTR || res == -EAGAIN)    /* all are said of what was cancelled */
            res = last_try(io);
    }
    coir_uring_free_slot(p, io);
    coir_io_ended(&p->base, io, res);
}

/* A file operation that says "again" is sent again, a few times, then done on the pool. */
static void again(struct coir_uring_plane *p, struct coir_io *io)
{
    if (++io->tries < COIR_IO_TRIES) {
        send_as(p, io, COIR_IO_IN_RING);
        return;
    }
    coir_uring_free_slot(p, io);
    if (!coir_io_on_pool(&p->base, io))
        coir_io_ended(&p->base, io, io->res);
}

/* Its descriptor is ready: the operation is sent again, or tried where the ring has no such. */
static void polled(struct coir_uring_plane *p, struct coir_io *io, int res)
{
    if (res < 0) {
        end(p, io, res);
    } else if (ring_has(p, io->kind) && !io->asked) {
        send_as(p, io, COIR_IO_IN_RING);
    } else {
        res = coir_io_attempt(io->kind, io->task);
        if (res == -EAGAIN && !io->asked)
            send_as(p, io, COIR_IO_POLLING);
        else
            end(p, io, res);
    }
}

static void completed(struct coir_uring_plane *p, struct coir_io *io, int res, unsigned flags)
{
    if (io->kind->shot) {
        if (!(flags & IORING_CQE_F_MORE)) {
            io->owed = 0;
            if (io->asked)
                unlink_io(io);
        }
        io->kind->shot(&p->base, io, res, flags);
        return;
    }
    io->owed = 0;
    if (io->kind->opcode == IORING_OP_RECV)
        note_drained(p, io, res, flags);
    if (io->kind->lends)
        coir_uring_lent(p, io, res, flags);
    if (io->state == COIR_IO_POLLING)
        polled(p, io, res);
    else if (res == -EINTR && !io->asked)
        send_as(p, io, COIR_IO_IN_RING);
    else if (res == -EAGAIN && !io->asked && io->kind->events)
        send_as(p, io, COIR_IO_POLLING);     /* the descriptor is O_NONBLOCK */
    else if (res == -EAGAIN && !io->asked)
        again(p, io);
    else
        end(p, io, res);
}

/* A cancel does not find its operation when that is over, or when the kernel has just woken it and not tried it
 * again: then it may go back to waiting, and must be asked once more. The same of one that a thread of the kernel's
 * is trying, unless it is in a file, where it ends by itself. That thread may be held up: after a few
 * times there is no hurry. */
static void missed(struct coir_uring_plane *p, uint64_t data, int res)
{
    const uint32_t slot = (uint32_t)data, generation = (uint32_t)(data >> 32);
    struct coir_io *io = slot < p->n_slots && p->slots[slot].generation == generation ? p->slots[slot].io : NULL;

    if (!io || !(res == -ENOENT || io->kind->events))
        return;
    if (io->asked <= COIR_PROMPT_CANCELS || p->base.shard->virtual_now >= 0) {
        io->asked += io->asked <= COIR_PROMPT_CANCELS;
        ask(p, io);
        return;
    }
    link_at(&p->missed, io);
    if (!coir_timer_armed(&p->again.timer))
        coir_wheel_add(&p->base.shard->wheel, &p->again.timer, coir_now() + COIR_MS);
}

void coir_uring_cancel_again(struct coir_alarm *alarm)
{
    struct coir_uring_plane *p = coir_container_of(alarm, struct coir_uring_plane, again);
    struct coir_io *io;

    while ((io = p->missed)) {               /* what finds no place waits in `uncancelled` */
        unlink_io(io);
        ask(p, io);
    }
}

static void complete(struct coir_uring_plane *p, uint64_t data, int res, unsigned flags)
{
    const uint32_t slot = (uint32_t)data, generation = (uint32_t)(data >> 32);

    if (data & COIR_TAG_CANCEL && slot < COIR_SLOT_NUDGING) {
        if (res == -ENOENT || res == -EALREADY)
            missed(p, data & ~COIR_TAG_CANCEL, res);
        return;
    }
    if (slot == COIR_SLOT_NUDGING && res < 0)
        coir_nudge_by_eventfd(p->base.shard->run, generation);
    if (slot >= COIR_SLOT_NUDGING)
        return;
    if (slot >= p->n_slots || !p->slots[slot].io || p->slots[slot].generation != generation) {
        p->base.shard->stats.stale++;
        if (flags & IORING_CQE_F_BUFFER)
            coir_uring_lent(p, NULL, res, flags);
        return;
    }
    if (res <= COIR_RING_RESTART && res >= COIR_RING_RESTART - 4)
        res = -EINTR;
    completed(p, p->slots[slot].io, res, flags);
}

/* Torture: what is left is late. In another loop somebody has to say that there is something. */
static void leave_late(struct coir_uring_plane *p)
{
    const uint64_t one = 1;

    while (p->registered >= 0 && write(p->registered, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

unsigned coir_uring_reap(struct coir_uring_plane *p)
{
    const unsigned most = !p->closing && coir_plane_plays(&p->base, 2) ? 1 : ~0u;
    struct io_uring_cqe *cqe;
    unsigned head, n = 0;

    io_uring_for_each_cqe(&p->ring, head, cqe) {
        if (n == most) {
            leave_late(p);
            break;
        }
        p->reaped = ++n;
        complete(p, cqe->user_data, cqe->res, cqe->flags);
    }
    io_uring_cq_advance(&p->ring, n);
    p->reaped = 0;
    return n;
}

int coir_uring_brought(struct coir_uring_plane *p, const struct coir_io *io)
{
    struct io_uring_cqe *cqe;
    unsigned head, n = 0;

    io_uring_for_each_cqe(&p->ring, head, cqe) {
        const int res = cqe->res;
        if (n++ < p->reaped || cqe->user_data != tag(p, io) || res < 0)
            continue;
        cqe->res = -ECONNABORTED;
        return res;
    }
    return -EAGAIN;
}

/* ---- waiting ---- */

/* The kernel's own slack for whoever waits in poll or epoll, which a ring's timeout does not have: timers
 * that are close together share a wake-up. */
#define SLACK (50 * COIR_US)

static bool kernel_has_work(const struct coir_uring_plane *p)
{
    return __atomic_load_n(p->ring.sq.kflags, __ATOMIC_RELAXED) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW);
}

void coir_uring_enter(struct coir_uring_plane *p, int64_t timeout)
{
    if (timeout != 0 && timeout < COIR_NEVER - SLACK)
        timeout += SLACK;
    struct __kernel_timespec ts = { .tv_sec = timeout / COIR_S, .tv_nsec = timeout % COIR_S };
    struct io_uring_cqe *cqe;
    int res;

    if (timeout == 0) {
        if (!io_uring_sq_ready(&p->ring) && !kernel_has_work(p) && (p->features & COIR_RING_COOP))
            return;
        coir_count_syscall();
        res = io_uring_submit_and_get_events(&p->ring);
    } else {
        coir_count_syscall();
        res = io_uring_submit_and_wait_timeout(&p->ring, &cqe, 1, timeout == COIR_NEVER ? NULL : &ts, NULL);
    }
    /* -ETIME and -EINTR are ordinary. -EBUSY: reap first. -EAGAIN: the kernel is short of memory; with
     * nothing to reap only time helps. */
    if (res == -EAGAIN && !io_uring_cq_ready(&p->ring))
        poll(NULL, 0, 1);
}

/* A thread of the kernel's adds work for us, and says so a moment later. When we have done it in between, the kernel
 * goes on saying so until there is other work: whoever believes it turns in circles. Nor is a round that brought
 * nothing the end: work is done in portions, and not all of it completes something. The ring's descriptor knows. */
static bool says_in_vain(const struct coir_uring_plane *p)
{
    struct pollfd ring = { .fd = p->ring.ring_fd, .events = POLLIN };

    if (!kernel_has_work(p))
        return false;
    coir_count_syscall();
    return poll(&ring, 1, 0) == 0;
}

/* Before the ring is looked at: what comes later makes the eventfd readable again. */
static void quieten(struct coir_uring_plane *p)
{
    uint64_t count;

    coir_count_syscall();
    if (read(p->registered, &count, sizeof count) < 0)
        return;                          /* it was quiet */
}

static void uring_wait(struct coir_plane *plane, int64_t timeout)
{
    struct coir_uring_plane *p = coir_uring_self(plane);

    if (p->registered >= 0)
        quieten(p);
    send_what_waits(p);
    if (p->unsent || p->uncancelled || io_uring_cq_ready(&p->ring))
        timeout = 0;
    coir_uring_enter(p, timeout);
    p->in_vain = coir_uring_reap(p) == 0 && timeout == 0 && says_in_vain(p);
}

static bool uring_peek(struct coir_plane *plane)
{
    struct coir_uring_plane *p = coir_uring_self(plane);

    return io_uring_sq_ready(&p->ring) || p->unsent || p->uncancelled || io_uring_cq_ready(&p->ring)
        || (kernel_has_work(p) && !p->in_vain);
}

/* ---- being woken ---- */

static void wake_prepare(struct coir_task *t, struct io_uring_sqe *sqe)
{
    struct coir_uring_plane *p = (struct coir_uring_plane *)(void *)t;

    io_uring_prep_read(sqe, p->wake, &p->wake_count, sizeof p->wake_count, 0);
}

static void wake_shot(struct coir_plane *plane, struct coir_io *io, int res, unsigned flags)
{
    struct coir_uring_plane *p = coir_uring_self(plane);

    (void)res;
    (void)flags;
    if (!p->closing)
        send_as(p, io, COIR_IO_IN_RING);
    else
        coir_uring_free_slot(p, io);
}

static const struct coir_io_kind wake_kind = {
    .name = "wake",
    .opcode = IORING_OP_READ,
    .prepare = wake_prepare,
    .shot = wake_shot,
};

int coir_uring_arm_wake(struct coir_uring_plane *p)
{
    p->wake_io.kind = &wake_kind;
    p->wake_io.task = (struct coir_task *)(void *)p;
    p->wake_io.fd = p->wake;
    return coir_uring_send(p, &p->wake_io, COIR_IO_IN_RING);
}

static bool nudge_by_message(struct coir_uring_plane *p, struct coir_plane *from)
{
    struct coir_uring_plane *f = coir_uring_self(from);
    struct io_uring_sqe *sqe;

    if (!(f->features & p->features & COIR_RING_MSG) || !(sqe = coir_uring_sqe(f)))
        return false;
    io_uring_prep_msg_ring(sqe, p->ring.ring_fd, 0, COIR_SLOT_NUDGED, 0);
    io_uring_sqe_set_data64(sqe, (uint64_t)p->base.shard->id << 32 | COIR_SLOT_NUDGING);
    return submit(f) > 0;
}

static void uring_nudge(struct coir_plane *plane, struct coir_plane *from)
{
    struct coir_uring_plane *p = coir_uring_self(plane);
    const uint64_t one = 1;

    if (from && from->kind == &coir_uring && nudge_by_message(p, from))
        return;
    if (from)
        from->shard->stats.syscalls++;
    while (write(p->wake, &one, sizeof one) < 0 && errno == EINTR)
        ;
    /* In another loop the ring would tell its eventfd. But an eventfd that is signalled from within the signal of
     * another one is told late, and by some kernels never. */
    while (p->registered >= 0 && write(p->registered, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

static int uring_fd(struct coir_plane *plane)
{
    struct coir_uring_plane *p = coir_uring_self(plane);

    if (p->registered >= 0)
        return p->registered;
    p->registered = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->registered < 0)
        return -errno;
    const int err = io_uring_register_eventfd(&p->ring, p->registered);
    if (err < 0) {
        close(p->registered);
        p->registered = -1;
        return err;
    }
    return p->registered;
}

const struct coir_plane_kind coir_uring = {
    .name = "uring",
    .open = coir_uring_open,
    .close = coir_uring_close,
    .begin = uring_begin,
    .cancel = coir_uring_cancel,
    .wait = uring_wait,
    .peek = uring_peek,
    .nudge = uring_nudge,
    .provide = coir_uring_provide,
    .fd = uring_fd,
};
