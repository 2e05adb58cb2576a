/* SPDX-License-Identifier: MIT */
/*
 * Channels between threads: a bounded ring that is used without a lock as long as nobody waits, and under
 * it two lines of waiters, behind a mutex.
 *
 * The ring. `tail` and `head` are the positions of the next send and the next receive. A position is an
 * index into the slots and a lap number above it, so that it never comes back:
 *
 *      position = lap * `lap` + index,  index < capacity,  `lap` a power of two > capacity
 *
 * A slot's stamp says what it is ready for: p: to be filled by the send at p; p + 1: to be emptied by the
 * receive at p, which makes it p + `lap`, ready for the next lap's send. A send takes its position by
 * exchange on `tail`, copies, and then publishes the stamp; a receive likewise.
 *
 *      free (p) --send at p claims, copies, publishes--> full (p + 1) --receive at p--> free (p + lap)
 *
 * The lines. Who cannot go on, or finds somebody waiting, takes the lock and lines up; settle() then serves
 * both lines as far as the ring allows. Whoever still waits depends on one slot, the one at `head` for
 * receivers, at `tail` for senders: under the lock the bit WATCHED is set in its stamp. Who is about to
 * publish a stamp finds by the failure of its exchange that it is watched, takes the lock first, and
 * settles.
 *
 * Invariants:
 *   1. WATCHED is set under the lock only, and while a line is not empty and the lock is free, its slot is
 *      watched. So no wake-up is lost: the two meet in one word.
 *   2. A call's last access to the channel is the publishing exchange or the unlocking. A position is gone from
 *      `head` or `tail` before its slot is published, so that others may learn that nothing is left while an
 *      item is still being copied out: coir_xchan_free waits until every slot is published as what the two
 *      positions say, and looks under the lock. A leaf that has waited holds a reference until it is home,
 *      since a cancellation may ask after its line until then. So who has received the last item may free the
 *      channel.
 *   3. A waiter is in its line exactly as long as it can be cancelled. Who serves it, under the lock, takes it
 *      out and fills in status and result; after the unlocking a letter brings it home. A cancellation in
 *      between finds it gone from the line and leaves it alone: success stands.
 *      An arm of a select also has to be claimed by who serves it, which happens under the lock and takes none; one
 *      whose select is decided is taken out of the line and passed over. Its select takes the lock before it ends,
 *      whether the arm is still in the line or not, and drops its reference then.
 *   4. `closed` is the top bit of `tail`, so that a send cannot get its position after the closing.
 */
#include <coir/channel.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "runtime/sync/select.h"

#define CLOSED (UINT64_C(1) << 63)
#define WATCHED (UINT64_C(1) << 62)

struct slot {
    uint64_t stamp;                       /* atomic; WATCHED: under the lock */
    char item[];
};

struct coir_xchan {
    size_t item, capacity, stride;        /* constant, as the next two */
    uint64_t lap;
    char *slots;
    _Alignas(64) uint64_t tail;           /* atomic */
    _Alignas(64) uint64_t head;           /* atomic */
    _Alignas(64) uint32_t waiting;        /* atomic: how many are in the lines; written under the lock */
    uint32_t references;                  /* atomic: who made it, and each leaf that has not come home (inv 2) */
    pthread_mutex_t lock;                 /* over what follows, and see above */
    struct coir_link senders, receivers;  /* oldest first */
};

/* The waiters that one locked section has served, to be woken when it is over; linked through their
 * letters. `self` is who runs the section. */
struct served {
    struct coir_msg *first, **last;
    struct coir_task *self;
};

_Static_assert(sizeof(struct coir_letter) == sizeof ((struct coir_xchan_send *)0)->letter, "it lies in the frame");
_Static_assert(sizeof(struct coir_xchan_send) == 128 && sizeof(struct coir_xchan_recv) == 128, "as public frames");

static struct coir_xchan_send *sender_of(const struct coir_link *link)
{
    return coir_container_of((struct coir_link *)link, struct coir_xchan_send, link);
}

static struct coir_xchan_recv *receiver_of(const struct coir_link *link)
{
    return coir_container_of((struct coir_link *)link, struct coir_xchan_recv, link);
}

/* ---- making and ending ---- */

/* The whole channel in bytes; false: that does not fit. */
static bool size_of(size_t item, size_t capacity, size_t *stride, size_t *bytes)
{
    if (capacity == 0 || capacity > (size_t)1 << 40 || item > PTRDIFF_MAX - 128)
        return false;
    *stride = (sizeof(struct slot) + item + 7) / 8 * 8;
    if (__builtin_mul_overflow(*stride, capacity, bytes) || *bytes > PTRDIFF_MAX - 1024)
        return false;
    *bytes = (sizeof(struct coir_xchan) + *bytes + 63) / 64 * 64;
    return true;
}

static struct slot *slot_at(const struct coir_xchan *x, uint64_t position)
{
    return (struct slot *)(void *)(x->slots + (size_t)(position & (x->lap - 1)) * x->stride);
}

struct coir_xchan *coir_xchan_new(size_t item, size_t capacity)
{
    size_t stride, bytes;
    struct coir_xchan *x;

    if (!size_of(item, capacity, &stride, &bytes)) {
        errno = EINVAL;
        return NULL;
    }
    x = coir_alloc_fails() ? NULL : aligned_alloc(64, bytes);
    if (!x) {
        errno = ENOMEM;
        return NULL;
    }
    *x = (struct coir_xchan){ .item = item, .capacity = capacity, .stride = stride, .lap = 1, .references = 1 };
    x->slots = (char *)(x + 1);
    while (x->lap <= capacity)
        x->lap *= 2;
    for (size_t i = 0; i < capacity; i++)
        slot_at(x, i)->stamp = i;
    pthread_mutex_init(&x->lock, NULL);
    coir_list_init(&x->senders);
    coir_list_init(&x->receivers);
    return x;
}

static void drop(struct coir_xchan *x)
{
    if (__atomic_sub_fetch(&x->references, 1, __ATOMIC_ACQ_REL))
        return;
    pthread_mutex_destroy(&x->lock);
    free(x);
}

static size_t between(const struct coir_xchan *x, uint64_t head, uint64_t tail)
{
    const size_t from = (size_t)(head & (x->lap - 1)), to = (size_t)(tail & (x->lap - 1));

    if (head == tail)
        return 0;
    return to > from ? to - from : x->capacity - from + to;
}

size_t coir_xchan_queued(const struct coir_xchan *x)
{
    uint64_t tail, head;

    do {
        tail = __atomic_load_n(&x->tail, __ATOMIC_ACQUIRE);
        head = __atomic_load_n(&x->head, __ATOMIC_ACQUIRE);
    } while (tail != __atomic_load_n(&x->tail, __ATOMIC_ACQUIRE));
    return between(x, head, tail & ~CLOSED);
}

size_t coir_xchan_capacity(const struct coir_xchan *x)
{
    return x->capacity;
}

/* ---- the ring ---- */

static uint64_t next(const struct coir_xchan *x, uint64_t position)
{
    const uint64_t index = position & (x->lap - 1);

    return index + 1 < x->capacity ? position + 1 : position - index + x->lap;
}

/* Claims the position `*at`, if it is still the current one; if not, `*at` is. */
static bool claim(struct coir_xchan *x, uint64_t *of, uint64_t *at)
{
    return __atomic_compare_exchange_n(of, at, next(x, *at), true, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* What a stamp says, less who watches it. Acquires what was copied before it was published. */
static uint64_t stamp_of(const struct slot *slot)
{
    return __atomic_load_n(&slot->stamp, __ATOMIC_ACQUIRE) & ~WATCHED;
}

/* Finds and claims the slot of the next send. 0; -EPIPE: closed; -EAGAIN: that slot is not free. */
static int claim_free(struct coir_xchan *x, struct slot **slot, uint64_t *position)
{
    uint64_t at = __atomic_load_n(&x->tail, __ATOMIC_RELAXED);

    for (;;) {
        if (at & CLOSED)
            return -EPIPE;
        *slot = slot_at(x, at);
        *position = at;
        if (stamp_of(*slot) == at) {
            if (claim(x, &x->tail, &at))
                return 0;
        } else {
            const uint64_t again = __atomic_load_n(&x->tail, __ATOMIC_RELAXED);
            if (again == at)
                return -EAGAIN;
            at = again;
        }
    }
}

/* Finds and claims the slot of the next receive. 0; -EPIPE: closed and drained; -EAGAIN: it is not
 * full. */
static int claim_full(struct coir_xchan *x, struct slot **slot, uint64_t *position)
{
    uint64_t at = __atomic_load_n(&x->head, __ATOMIC_RELAXED);

    for (;;) {
        *slot = slot_at(x, at);
        *position = at;
        if (stamp_of(*slot) == at + 1) {
            if (claim(x, &x->head, &at))
                return 0;
        } else {
            const uint64_t again = __atomic_load_n(&x->head, __ATOMIC_RELAXED);
            if (again == at)
                return __atomic_load_n(&x->tail, __ATOMIC_ACQUIRE) == (at | CLOSED) ? -EPIPE : -EAGAIN;
            at = again;
        }
    }
}

/* Publishes a slot if nobody watches it; false: the lock first. Nothing may be touched after true. */
static bool publish(struct slot *slot, uint64_t from, uint64_t to)
{
    return __atomic_compare_exchange_n(&slot->stamp, &from, to, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* Under the lock. Who watched is served by settle(). */
static void publish_locked(struct slot *slot, uint64_t to)
{
    __atomic_store_n(&slot->stamp, to, __ATOMIC_RELEASE);
}

static int push_locked(struct coir_xchan *x, const void *item)
{
    struct slot *slot;
    uint64_t at;
    const int err = claim_free(x, &slot, &at);

    if (!err) {
        coir_copy_item(slot->item, item, x->item);
        publish_locked(slot, at + 1);
    }
    return err;
}

static int pop_locked(struct coir_xchan *x, void *item)
{
    struct slot *slot;
    uint64_t at;
    const int err = claim_full(x, &slot, &at);

    if (!err) {
        coir_copy_item(item, slot->item, x->item);
        publish_locked(slot, at + x->lap);
    }
    return err;
}

/* ---- the lines: under the lock ---- */

static void begin(struct coir_xchan *x, struct served *done, struct coir_task *self)
{
    pthread_mutex_lock(&x->lock);
    done->first = NULL;
    done->last = &done->first;
    done->self = self;
}

static void change_waiting(struct coir_xchan *x, int by)
{
    __atomic_store_n(&x->waiting, x->waiting + (uint32_t)by, __ATOMIC_RELAXED);
}

static void line_up(struct coir_xchan *x, struct coir_link *line, struct coir_link *link)
{
    coir_list_push_back(line, link);
    change_waiting(x, 1);
}

static void leave(struct coir_xchan *x, struct coir_link *link)
{
    coir_list_remove(link);
    change_waiting(x, -1);
}

static void is_served(struct served *done, struct coir_task *t, void *letter)
{
    struct coir_msg *msg = &((struct coir_letter *)letter)->msg;

    if (t == done->self)
        return;
    msg->next = NULL;
    *done->last = msg;
    done->last = &msg->next;
}

/* The oldest may be, unless it is an arm whose select is another's. False: it is out, and the next is the oldest. */
static inline bool may_be_served(struct coir_xchan *x, struct coir_task *oldest, struct coir_link *link)
{
    if (!coir_is_arm(oldest) || coir_arm_try(oldest))
        return true;
    leave(x, link);
    return false;
}

/* What may_be_served began ends: `err` is how it went. False: not now. */
static inline bool has_been_served(struct coir_xchan *x, struct coir_task *oldest, struct coir_link *link, int err)
{
    if (err != -EAGAIN)
        leave(x, link);
    if (coir_is_arm(oldest))
        (err == -EAGAIN ? coir_arm_let_go : coir_arm_decide)(oldest);
    return err != -EAGAIN;
}

/* The oldest sender, if its item has a place or will never have one. */
static bool serve_sender(struct coir_xchan *x, struct served *done)
{
    struct coir_xchan_send *op;
    int err;

    if (coir_list_empty(&x->senders))
        return false;
    op = sender_of(x->senders.next);
    if (!may_be_served(x, &op->task, &op->link))
        return true;
    err = push_locked(x, op->item);
    if (err != -EAGAIN)
        op->task.status = err;
    if (!has_been_served(x, &op->task, &op->link, err))
        return false;
    is_served(done, &op->task, op->letter);
    return true;
}

static bool serve_receiver(struct coir_xchan *x, struct served *done)
{
    struct coir_xchan_recv *op;
    int err;

    if (coir_list_empty(&x->receivers))
        return false;
    op = receiver_of(x->receivers.next);
    if (!may_be_served(x, &op->task, &op->link))
        return true;
    err = pop_locked(x, op->item);
    op->result = err == 0;
    if (!has_been_served(x, &op->task, &op->link, err))
        return false;
    is_served(done, &op->task, op->letter);
    return true;
}

/* Watches the slot at `at`, unless it is ready to become `ready`, or no longer the one it all depends on. */
static bool watch(struct coir_xchan *x, const uint64_t *of, uint64_t ready)
{
    const uint64_t at = __atomic_load_n(of, __ATOMIC_RELAXED) & ~CLOSED;
    struct slot *slot = slot_at(x, at);
    uint64_t stamp = __atomic_load_n(&slot->stamp, __ATOMIC_ACQUIRE);

    if ((stamp & ~WATCHED) >= at + ready)
        return false;
    return __atomic_compare_exchange_n(&slot->stamp, &stamp, stamp | WATCHED, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

/* Inv 1. False: something has become possible meanwhile. */
static bool watch_both(struct coir_xchan *x)
{
    return (coir_list_empty(&x->senders) || watch(x, &x->tail, 0))
        && (coir_list_empty(&x->receivers) || watch(x, &x->head, 1));
}

static void settle(struct coir_xchan *x, struct served *done)
{
    bool moved;

    do {
        do {
            moved = serve_sender(x, done);
            moved |= serve_receiver(x, done);
        } while (moved);
    } while (!watch_both(x));
}

/* ---- its end ---- */

/* Nobody is between a claim and its publication. Under the lock; once true it stays so, if nobody begins a
 * call. */
static bool is_quiet(const struct coir_xchan *x)
{
    const uint64_t tail = __atomic_load_n(&x->tail, __ATOMIC_ACQUIRE) & ~CLOSED;
    uint64_t at = __atomic_load_n(&x->head, __ATOMIC_ACQUIRE);
    bool full = true;

    for (size_t i = 0; i < x->capacity; i++, at = next(x, at)) {
        full &= at != tail;
        if (stamp_of(slot_at(x, at)) != at + full)
            return false;
    }
    return true;
}

/* For a copy of an item, and in the worst case for its thread to be given the processor again. */
static void pause_for_copy(unsigned times)
{
    if (times < 100)
        sched_yield();
    else
        nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
}

/* Arms whose selects have been decided elsewhere wait no more. Under the lock. */
static void drop_arms_that_are_over(struct coir_xchan *x)
{
    struct coir_link *link, *after;

    COIR_LIST_FOR_SAFE(link, after, &x->senders) {
        if (coir_is_arm(&sender_of(link)->task) && coir_arm_is_over(&sender_of(link)->task))
            leave(x, link);
    }
    COIR_LIST_FOR_SAFE(link, after, &x->receivers) {
        if (coir_is_arm(&receiver_of(link)->task) && coir_arm_is_over(&receiver_of(link)->task))
            leave(x, link);
    }
}

void coir_xchan_free(struct coir_xchan *x)
{
    bool quiet;

    if (!x)
        return;
    for (unsigned times = 0;; times++) {
        pthread_mutex_lock(&x->lock);
        drop_arms_that_are_over(x);
        if (!coir_list_empty(&x->senders))
            coir_destroyed_under(&sender_of(x->senders.next)->task, "channel between shards");
        if (!coir_list_empty(&x->receivers))
            coir_destroyed_under(&receiver_of(x->receivers.next)->task, "channel between shards");
        quiet = is_quiet(x);
        pthread_mutex_unlock(&x->lock);
        if (quiet)
            break;
        pause_for_copy(times);
    }
    drop(x);
}

/* ---- after the lock ---- */

/* Home, by letter or already there. */
static void send_comes_home(struct coir_shard *s, struct coir_letter *letter)
{
    struct coir_xchan_send *op = (void *)((char *)letter - offsetof(struct coir_xchan_send, letter));

    coir_external(s, -1);
    drop(op->channel);
    coir_leaf_goes_on(&op->task);
}

static void recv_comes_home(struct coir_shard *s, struct coir_letter *letter)
{
    struct coir_xchan_recv *op = (void *)((char *)letter - offsetof(struct coir_xchan_recv, letter));

    coir_external(s, -1);
    drop(op->channel);
    coir_leaf_goes_on(&op->task);
}

static struct coir_shard *home_of(const struct coir_letter *letter)
{
    if (letter->deliver == send_comes_home)
        return ((const struct coir_xchan_send *)(const void *)
                ((const char *)letter - offsetof(struct coir_xchan_send, letter)))->home;
    return ((const struct coir_xchan_recv *)(const void *)
            ((const char *)letter - offsetof(struct coir_xchan_recv, letter)))->home;
}

/* Ends a locked section. What was served may be gone as soon as its letter is posted, the channel too. */
static void end(struct coir_xchan *x, struct served *done)
{
    struct coir_msg *following;

    pthread_mutex_unlock(&x->lock);
    for (struct coir_msg *msg = done->first; msg; msg = following) {
        struct coir_letter *letter = coir_container_of(msg, struct coir_letter, msg);
        struct coir_shard *home = home_of(letter);
        following = msg->next;
        if (home == coir_shard_here())
            letter->deliver(home, letter);
        else
            coir_post(home, letter);
    }
}

/* A slot that is watched: its stamp under the lock, and whoever waited for that. */
static __attribute__((noinline)) void publish_watched(struct coir_xchan *x, struct slot *slot, uint64_t to)
{
    struct served done;

    begin(x, &done, NULL);
    publish_locked(slot, to);
    settle(x, &done);
    end(x, &done);
}

void coir_xchan_close(struct coir_xchan *x)
{
    struct served done;

    begin(x, &done, NULL);
    __atomic_fetch_or(&x->tail, CLOSED, __ATOMIC_ACQ_REL);
    settle(x, &done);
    end(x, &done);
}

/* ---- without waiting ---- */

static bool somebody_waits(const struct coir_xchan *x)
{
    return COIR_UNLIKELY(__atomic_load_n(&x->waiting, __ATOMIC_RELAXED) != 0);
}

/* Behind those who wait, if there are any: as a waiter would, who gives up at once. */
static __attribute__((noinline)) int push_behind(struct coir_xchan *x, const void *item)
{
    struct served done;
    int err = -EAGAIN;

    begin(x, &done, NULL);
    settle(x, &done);
    if (coir_list_empty(&x->senders))
        err = push_locked(x, item);
    settle(x, &done);
    end(x, &done);
    return err;
}

static __attribute__((noinline)) int pop_behind(struct coir_xchan *x, void *item)
{
    struct served done;
    int err = -EAGAIN;

    begin(x, &done, NULL);
    settle(x, &done);
    if (coir_list_empty(&x->receivers))
        err = pop_locked(x, item);
    settle(x, &done);
    end(x, &done);
    return err;
}

static int push(struct coir_xchan *x, const void *item)
{
    struct slot *slot;
    uint64_t at;
    int err;

    if (somebody_waits(x))
        return push_behind(x, item);
    err = claim_free(x, &slot, &at);
    if (!err) {
        coir_copy_item(slot->item, item, x->item);
        if (COIR_UNLIKELY(!publish(slot, at, at + 1)))
            publish_watched(x, slot, at + 1);
    }
    return err;
}

static int pop(struct coir_xchan *x, void *item)
{
    struct slot *slot;
    uint64_t at;
    int err;

    if (somebody_waits(x))
        return pop_behind(x, item);
    err = claim_full(x, &slot, &at);
    if (!err) {
        coir_copy_item(item, slot->item, x->item);
        if (COIR_UNLIKELY(!publish(slot, at + 1, at + x->lap)))
            publish_watched(x, slot, at + x->lap);
    }
    return err;
}

int coir_xchan_try_send(struct coir_xchan *x, const void *item)
{
    return !x || (!item && x->item) ? -EFAULT : push(x, item);
}

int coir_xchan_try_recv(struct coir_xchan *x, void *item)
{
    return !x || (!item && x->item) ? -EFAULT : pop(x, item);
}

/* ---- the operations ---- */

/* False: it has been served already, and its letter is under way (inv 3). */
static bool leaves_line(struct coir_xchan *x, struct coir_link *link)
{
    pthread_mutex_lock(&x->lock);
    const bool waits = coir_link_in_list(link);
    if (waits)
        leave(x, link);
    pthread_mutex_unlock(&x->lock);
    return waits;
}

static void send_abort(struct coir_task *t)
{
    struct coir_xchan_send *op = (struct coir_xchan_send *)t;

    if (!leaves_line(op->channel, &op->link))
        return;
    t->status = -ECANCELED;
    send_comes_home(op->home, (void *)op->letter);
}

static void recv_abort(struct coir_task *t)
{
    struct coir_xchan_recv *op = (struct coir_xchan_recv *)t;

    if (!leaves_line(op->channel, &op->link))
        return;
    t->status = -ECANCELED;
    recv_comes_home(op->home, (void *)op->letter);
}

/* Lines up; true: it has to wait. All of the leaf that is its own to write, but for what its shard's loop
 * alone looks at, is written before somebody else can serve it. */
static bool has_to_wait(struct coir_xchan *x, struct coir_task *t, struct coir_link *line, struct coir_link *link)
{
    struct served done;

    begin(x, &done, t);
    line_up(x, line, link);
    settle(x, &done);
    const bool waits = coir_link_in_list(link);
    if (waits) {
        coir_external(coir_shard_here(), 1);
        __atomic_add_fetch(&x->references, 1, __ATOMIC_RELAXED);
    }
    end(x, &done);
    return waits;
}

static coir_step wait_to_send(struct coir_xchan_send *op)
{
    struct coir_xchan *x = op->channel;

    op->home = coir_shard_here();
    ((struct coir_letter *)(void *)op->letter)->deliver = send_comes_home;
    if (has_to_wait(x, &op->task, &x->senders, &op->link))
        return coir_leaf_parks(&op->task, send_abort, x);
    return coir_leaf_ends(&op->task, op->task.status);
}

static coir_step wait_to_recv(struct coir_xchan_recv *op)
{
    struct coir_xchan *x = op->channel;

    op->home = coir_shard_here();
    ((struct coir_letter *)(void *)op->letter)->deliver = recv_comes_home;
    if (has_to_wait(x, &op->task, &x->receivers, &op->link))
        return coir_leaf_parks(&op->task, recv_abort, x);
    return coir_leaf_ends(&op->task, 0);
}

/* ---- arms ---- */

size_t coir_xchan_item(const struct coir_xchan *x)
{
    return x->item;
}

static struct coir_link *link_of(struct coir_arm *a)
{
    return a->kind == COIR_ARM_XSEND_ ? &a->xsend.link : &a->xrecv.link;
}

static struct coir_xchan *channel_of(const struct coir_arm *a)
{
    return a->kind == COIR_ARM_XSEND_ ? a->xsend.channel : a->xrecv.channel;
}

bool coir_xchan_arm_waits(struct coir_arm *a)
{
    struct coir_xchan *x = channel_of(a);

    a->task.state = 1;
    if (a->kind == COIR_ARM_XSEND_) {
        a->xsend.home = coir_shard_here();
        ((struct coir_letter *)(void *)a->xsend.letter)->deliver = send_comes_home;
        return has_to_wait(x, &a->task, &x->senders, &a->xsend.link);
    }
    a->xrecv.home = coir_shard_here();
    ((struct coir_letter *)(void *)a->xrecv.letter)->deliver = recv_comes_home;
    return has_to_wait(x, &a->task, &x->receivers, &a->xrecv.link);
}

void coir_xchan_arm_leaves(struct coir_arm *a)
{
    struct coir_xchan *x = channel_of(a);

    leaves_line(x, link_of(a));
    coir_external(coir_shard_here(), -1);
    drop(x);
}

/* ---- awaiting ---- */

coir_step coir_xchan_send_resume(struct coir_task *t)
{
    struct coir_xchan_send *op = (struct coir_xchan_send *)t;
    struct coir_xchan *x = op->channel;
    int err;

    if (t->state)
        return coir_leaf_ends(t, t->status);
    if (!x || (!op->item && x->item) || coir_arguments_live(t, op->item, "coir_xchan_send"))
        return coir_leaf_ends(t, -EFAULT);
    err = push(x, op->item);
    if (err != -EAGAIN)
        return coir_leaf_ends(t, err);
    return coir_is_refused(t) ? coir_leaf_ends(t, -ECANCELED) : wait_to_send(op);
}

coir_step coir_xchan_recv_resume(struct coir_task *t)
{
    struct coir_xchan_recv *op = (struct coir_xchan_recv *)t;
    struct coir_xchan *x = op->channel;
    int err;

    if (t->state)
        return coir_leaf_ends(t, t->status);
    if (!x || (!op->item && x->item) || coir_arguments_live(t, op->item, "coir_xchan_recv"))
        return coir_leaf_ends(t, -EFAULT);
    err = pop(x, op->item);
    if (err != -EAGAIN) {
        op->result = err == 0;
        return coir_leaf_ends(t, 0);
    }
    return coir_is_refused(t) ? coir_leaf_ends(t, -ECANCELED) : wait_to_recv(op);
}
