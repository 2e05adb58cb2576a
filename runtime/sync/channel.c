/* SPDX-License-Identifier: MIT */
/*
 * Channels of one shard. Everything happens on that shard between two awaits, so there is nothing to lock.
 *
 * Invariants, between any two calls:
 *   1. Receivers wait only while nothing is queued; senders wait only while `queued` is `capacity`. So never
 *      both.
 *   2. Nobody waits in a closed channel.
 *   3. A waiter is in its line as long as it may be aborted. Who hands it something takes it out and calls
 *      coir_leaf_goes_on: from then on a cancellation finds nothing to abort, and success stands.
 *   4. `usual` is set for a channel that lies where it may and in whose lines no arm of a select stands: so one
 *      comparison says that the channel is open, of words, at home, not on the C stack, and that who waits is who
 *      will be served. Everything else is seen to apart.
 *   5. Who comes finds nobody before him whom he could serve or who would have to be served first: each call
 *      serves the oldest waiter itself.
 *   6. An arm is claimed when it is taken out of its line. One whose select is decided, by another thread that has
 *      yet to tell, is taken out and passed over; and as it is nobody, it does not count for 1. The two arms of one
 *      select, or of one joint, may wait in both lines: whoever comes serves one, and the other leaves.
 *   7. A joint select that begins claims its joint before anything moves, and whom it meets with it. The arms of its
 *      own joint stay where they are; once it has won they are nobody.
 */
#include <coir/channel.h>
#include <stdlib.h>

#include "runtime/sync/select.h"

_Static_assert(sizeof(struct coir_channel) == 96, "it lies in the program's frames");
_Static_assert(sizeof(struct coir_channel_send) == 104 && sizeof(struct coir_channel_recv) == 112, "the same");

static struct coir_channel_send *sender_of(struct coir_link *link)
{
    return coir_container_of(link, struct coir_channel_send, link);
}

static struct coir_channel_recv *receiver_of(struct coir_link *link)
{
    return coir_container_of(link, struct coir_channel_recv, link);
}

/* ---- making and ending ---- */

int coir_channel_init_in(struct coir_channel *c, size_t item, size_t capacity, void *buffer)
{
    size_t bytes;

    if (!c)
        return -EFAULT;
    if (__builtin_mul_overflow(item, capacity, &bytes) || bytes > PTRDIFF_MAX)
        return -EINVAL;
    if (bytes && !buffer)
        return -EFAULT;
    *c = (struct coir_channel){ .item = item, .capacity = capacity };
    c->buffer = bytes ? buffer : (char *)c;      /* of no bytes: any address will do, but NULL */
    coir_list_init(&c->senders);
    coir_list_init(&c->receivers);
    return 0;
}

int coir_channel_init(struct coir_channel *c, size_t item, size_t capacity)
{
    void *buffer = NULL;
    size_t bytes;
    int err;

    if (!c)
        return -EFAULT;
    if (__builtin_mul_overflow(item, capacity, &bytes) || bytes > PTRDIFF_MAX)
        return -EINVAL;
    if (bytes) {
        buffer = coir_alloc_fails() ? NULL : malloc(bytes);
        if (!buffer)
            return -ENOMEM;
    }
    err = coir_channel_init_in(c, item, capacity, buffer);
    c->owned = buffer != NULL;
    return err;
}

static const struct coir_task *waiter_of(const struct coir_channel *c)
{
    if (!coir_list_empty(&c->senders))
        return &sender_of(c->senders.next)->task;
    if (!coir_list_empty(&c->receivers))
        return &receiver_of(c->receivers.next)->task;
    return NULL;
}

/* Arms whose selects have been decided elsewhere wait no more. */
static void drop_arms_that_are_over(struct coir_channel *c)
{
    struct coir_link *link, *after;

    COIR_LIST_FOR_SAFE(link, after, &c->senders) {
        if (coir_is_arm(&sender_of(link)->task) && coir_arm_is_over(&sender_of(link)->task))
            coir_list_remove(link);
    }
    COIR_LIST_FOR_SAFE(link, after, &c->receivers) {
        if (coir_is_arm(&receiver_of(link)->task) && coir_arm_is_over(&receiver_of(link)->task))
            coir_list_remove(link);
    }
}

void coir_channel_destroy(struct coir_channel *c)
{
    if (!c)
        return;
    if (c->arms)
        drop_arms_that_are_over(c);
    if (waiter_of(c))
        coir_destroyed_under(waiter_of(c), "channel");
    if (c->owned)
        free(c->buffer);
    c->owned = false;
    c->closed = true;
    c->usual = NULL;
    c->arms = 0;
    c->queued = c->capacity = 0;
    c->buffer = (char *)c;
}

/* Inv 4. */
static void find_usual(struct coir_channel *c)
{
    struct coir_shard *home = c->home;
    const bool is = home && coir_is_live(home, c) && c->item == sizeof(void *) && !c->closed && !c->arms;

    c->usual = is ? home : NULL;
}

/* The first use on this shard. A channel may go from shard to shard as long as nobody waits. */
static __attribute__((cold, noinline)) void settle(struct coir_channel *c)
{
    struct coir_shard *here = coir_shard_here();

    if (waiter_of(c))
        coir_other_shard(waiter_of(c), "channel");
    c->home = here;
    find_usual(c);
}

static void check_home(struct coir_channel *c)
{
    if (COIR_UNLIKELY(c->home != coir_shard_here()))
        settle(c);
}

/* ---- the ring ---- */

static size_t ring_bytes(const struct coir_channel *c)
{
    return c->capacity * c->item;
}

static void ring_push(struct coir_channel *c, const void *item)
{
    size_t at = c->first + c->queued * c->item;

    if (at >= ring_bytes(c))
        at -= ring_bytes(c);
    coir_copy_item(c->buffer + at, item, c->item);
    c->queued++;
}

static void ring_pop(struct coir_channel *c, void *item)
{
    coir_copy_item(item, c->buffer + c->first, c->item);
    c->first += c->item;
    if (c->first == ring_bytes(c))
        c->first = 0;
    c->queued--;
}

/* ---- one item ---- */

/* Takes the oldest out of its line. */
static inline struct coir_link *pop_waiter(struct coir_link *line)
{
    struct coir_link *first = line->next;

    line->next = first->next;
    first->next->prev = line;
    return first;
}

/* An arm has been taken out of its line. Whether it is to be served. */
static __attribute__((noinline)) bool claims(struct coir_channel *c, struct coir_task *arm, struct coir_link *link)
{
    coir_link_clear(link);
    if (--c->arms == 0)
        find_usual(c);
    return coir_arm_claim(arm);
}

static __attribute__((noinline)) struct coir_channel_send *pop_sender_or_arm(struct coir_channel *c)
{
    while (!coir_list_empty(&c->senders)) {
        struct coir_channel_send *s = sender_of(pop_waiter(&c->senders));
        if (!coir_is_arm(&s->task) || claims(c, &s->task, &s->link))
            return s;
    }
    return NULL;
}

static __attribute__((noinline)) struct coir_channel_recv *pop_receiver_or_arm(struct coir_channel *c)
{
    while (!coir_list_empty(&c->receivers)) {
        struct coir_channel_recv *r = receiver_of(pop_waiter(&c->receivers));
        if (!coir_is_arm(&r->task) || claims(c, &r->task, &r->link))
            return r;
    }
    return NULL;
}

/* The oldest who is to be served, out of his line; NULL: nobody. */
static inline struct coir_channel_send *pop_sender(struct coir_channel *c)
{
    if (COIR_LIKELY(coir_list_empty(&c->senders)))
        return NULL;
    return COIR_UNLIKELY(c->arms) ? pop_sender_or_arm(c) : sender_of(pop_waiter(&c->senders));
}

static inline struct coir_channel_recv *pop_receiver(struct coir_channel *c)
{
    if (coir_list_empty(&c->receivers))
        return NULL;
    return COIR_UNLIKELY(c->arms) ? pop_receiver_or_arm(c) : receiver_of(pop_waiter(&c->receivers));
}

/* Who has been served goes on. */
static inline void goes_on(struct coir_task *t)
{
    if (coir_is_arm(t))
        coir_arm_served(t);
    else
        coir_leaf_goes_on(t);
}

static int put_into_ring(struct coir_channel *c, const void *item)
{
    if (COIR_UNLIKELY(c->closed))
        return -EPIPE;
    if (c->queued == c->capacity)
        return -EAGAIN;
    ring_push(c, item);
    return 0;
}

/* 0, -EPIPE, or -EAGAIN: it would have to wait. */
static inline __attribute__((always_inline)) int put(struct coir_channel *c, const void *item)
{
    struct coir_channel_recv *r = pop_receiver(c);

    if (!r)
        return put_into_ring(c, item);
    coir_copy_item(r->item, item, c->item);
    r->result = true;
    goes_on(&r->task);
    return 0;
}

/* What is queued comes first, and leaves a place to the oldest sender. */
static inline __attribute__((always_inline)) int take_from_ring(struct coir_channel *c, void *item)
{
    struct coir_channel_send *s;

    ring_pop(c, item);
    s = pop_sender(c);
    if (s) {
        ring_push(c, s->item);
        goes_on(&s->task);
    }
    return 0;
}

/* 0, -EPIPE: closed and drained, or -EAGAIN. */
static inline __attribute__((always_inline)) int take(struct coir_channel *c, void *item)
{
    struct coir_channel_send *s;

    if (c->queued)
        return take_from_ring(c, item);
    s = pop_sender(c);
    if (!s)
        return c->closed ? -EPIPE : -EAGAIN;
    coir_copy_item(item, s->item, c->item);
    goes_on(&s->task);
    return 0;
}

int coir_channel_try_send(struct coir_channel *c, const void *item)
{
    if (!c || (!item && c->item))
        return -EFAULT;
    check_home(c);
    return put(c, item);
}

int coir_channel_try_recv(struct coir_channel *c, void *item)
{
    if (!c || (!item && c->item))
        return -EFAULT;
    check_home(c);
    return take(c, item);
}

void coir_channel_close(struct coir_channel *c)
{
    struct coir_channel_send *s;
    struct coir_channel_recv *r;

    check_home(c);
    c->closed = true;
    c->usual = NULL;
    while ((s = pop_sender(c))) {
        s->task.status = -EPIPE;
        goes_on(&s->task);
    }
    while ((r = pop_receiver(c)))
        goes_on(&r->task);
}

/* ---- arms ---- */

static struct coir_link *link_of(struct coir_arm *a)
{
    return a->kind == COIR_ARM_SEND_ ? &a->send.link : &a->recv.link;
}

static struct coir_channel *channel_of(const struct coir_arm *a)
{
    return a->kind == COIR_ARM_SEND_ ? a->send.channel : a->recv.channel;
}

void coir_channel_arm_waits(struct coir_arm *a)
{
    struct coir_channel *c = channel_of(a);

    c->arms++;
    c->usual = NULL;
    if (a->kind == COIR_ARM_RECV_)
        a->recv.result = false;
    coir_list_push_back(a->kind == COIR_ARM_SEND_ ? &c->senders : &c->receivers, link_of(a));
}

/* One that was passed over is out already, and the channel may be gone. */
void coir_channel_arm_leaves(struct coir_arm *a)
{
    struct coir_channel *c = channel_of(a);

    if (!coir_link_in_list(link_of(a)))
        return;
    coir_list_remove(link_of(a));
    if (--c->arms == 0)
        find_usual(c);
}

/* ---- arms of joint selects that begin ---- */

static struct coir_task *waiter_in(const struct coir_channel *c, const struct coir_link *line, struct coir_link *link)
{
    return line == &c->senders ? &sender_of(link)->task : &receiver_of(link)->task;
}

static int joins_waiter(struct coir_select *op, struct coir_task *waiter)
{
    if (coir_is_arm(waiter))
        return coir_joint_take_both(op, waiter);
    return coir_joint_take(op) ? 0 : -ECANCELED;
}

/* The oldest in a line whom the select can have: claimed with it, and out of the line. 0, -EAGAIN: there is nobody, or
 * -ECANCELED: the joint is lost. */
static int meet(struct coir_channel *c, struct coir_select *op, struct coir_link *line, struct coir_task **whom)
{
    struct coir_link *link, *after;

    COIR_LIST_FOR_SAFE(link, after, line) {
        const int err = joins_waiter(op, *whom = waiter_in(c, line, link));
        if (err == -EBUSY)
            continue;
        if (err == -ECANCELED)
            return err;
        coir_list_remove(link);
        if (coir_is_arm(*whom) && --c->arms == 0)
            find_usual(c);
        if (!err)
            return 0;
    }
    return -EAGAIN;
}

static int join_sending(struct coir_channel *c, const void *item, struct coir_select *op)
{
    struct coir_task *whom;
    int err = meet(c, op, &c->receivers, &whom);

    if (!err) {
        struct coir_channel_recv *r = (struct coir_channel_recv *)whom;
        coir_copy_item(r->item, item, c->item);
        r->result = true;
        goes_on(whom);
    } else if (err == -EAGAIN && (c->closed || c->queued < c->capacity)) {
        err = coir_joint_take(op) ? put_into_ring(c, item) : -ECANCELED;
    }
    return err;
}

static int join_receiving(struct coir_channel *c, void *item, struct coir_select *op)
{
    struct coir_task *whom;
    int err;

    if (c->queued)
        return coir_joint_take(op) ? take_from_ring(c, item) : -ECANCELED;
    err = meet(c, op, &c->senders, &whom);
    if (!err) {
        coir_copy_item(item, ((struct coir_channel_send *)whom)->item, c->item);
        goes_on(whom);
    } else if (err == -EAGAIN && c->closed) {
        err = coir_joint_take(op) ? -EPIPE : -ECANCELED;
    }
    return err;
}

int coir_channel_arm_joins(struct coir_arm *a, struct coir_select *op)
{
    struct coir_channel *c = channel_of(a);
    int err;

    check_home(c);
    if (a->kind == COIR_ARM_SEND_) {
        err = join_sending(c, a->send.item, op);
        a->task.status = err;
    } else {
        err = join_receiving(c, a->recv.item, op);
        a->recv.result = err == 0;
        a->task.status = err == -EPIPE ? 0 : err;
    }
    return err == -EPIPE ? 0 : err;
}

/* ---- the operations ---- */

/* 0, or why the arguments will not do. */
static int check(struct coir_task *t, struct coir_channel *c, const void *item, const char *operation)
{
    if (!c || (!item && c->item))
        return -EFAULT;
    if (coir_arguments_live(t, item, operation) || coir_arguments_live(t, c, operation))
        return -EFAULT;
    check_home(c);
    return 0;
}

/* Nothing is to be said against the arguments, the items are words, the channel open and at home (inv 4). */
static inline bool is_usual(const struct coir_task *t, const struct coir_channel *c, const void *item)
{
    const struct coir_shard *s = coir_shard_here();

    return COIR_LIKELY(t->state == 0 && c && c->usual == s && item && coir_is_live(s, t) && coir_is_live(s, item));
}

/* Parks at the end of a line; or ends, where that cannot be. */
static coir_step line_up(struct coir_task *t, struct coir_channel *c, struct coir_link *line, struct coir_link *link,
                         void (*abort)(struct coir_task *))
{
    if (coir_is_refused(t))
        return coir_leaf_ends(t, -ECANCELED);
    coir_list_push_back(line, link);
    return coir_leaf_parks(t, abort, c);
}

static void give_up(struct coir_task *t, struct coir_link *link)
{
    coir_list_remove(link);
    t->status = -ECANCELED;
    coir_leaf_goes_on(t);
}

static void send_abort(struct coir_task *t)
{
    give_up(t, &((struct coir_channel_send *)t)->link);
}

static void recv_abort(struct coir_task *t)
{
    give_up(t, &((struct coir_channel_recv *)t)->link);
}

/* Of a leaf that was resumed itself everything has been said. */
static __attribute__((noinline)) coir_step send_apart(struct coir_channel_send *op)
{
    struct coir_task *t = &op->task;
    struct coir_channel *c = op->channel;
    int err;

    if (t->state)
        return coir_leaf_ends(t, t->status);
    err = check(t, c, op->item, "coir_channel_send");
    if (!err)
        err = put(c, op->item);
    if (err == -EAGAIN)
        return line_up(t, c, &c->senders, &op->link, send_abort);
    return coir_leaf_ends(t, err);
}

static __attribute__((noinline)) coir_step recv_apart(struct coir_channel_recv *op)
{
    struct coir_task *t = &op->task;
    struct coir_channel *c = op->channel;
    int err;

    if (t->state)
        return coir_leaf_ends(t, t->status);
    err = check(t, c, op->item, "coir_channel_recv");
    if (!err)
        err = take(c, op->item);
    if (err == -EAGAIN)
        return line_up(t, c, &c->receivers, &op->link, recv_abort);
    op->result = err == 0;
    return coir_leaf_ends(t, err == -EPIPE ? 0 : err);
}

static __attribute__((noinline)) coir_step send_into_ring(struct coir_channel_send *op)
{
    ring_push(op->channel, op->item);
    return coir_leaf_ends(&op->task, 0);
}

static __attribute__((noinline)) coir_step recv_from_ring(struct coir_channel_recv *op)
{
    take_from_ring(op->channel, op->item);
    op->result = true;
    return coir_leaf_ends(&op->task, 0);
}

/* What is usual is done here in few steps: hand over a word, or wait. */
coir_step coir_channel_send_resume(struct coir_task *t)
{
    struct coir_channel_send *op = (struct coir_channel_send *)t;
    struct coir_channel *c = op->channel;

    if (!is_usual(t, c, op->item))
        return send_apart(op);
    if (!coir_list_empty(&c->receivers)) {
        struct coir_channel_recv *r = receiver_of(pop_waiter(&c->receivers));
        memcpy(r->item, op->item, sizeof(void *));
        r->result = true;
        t->state = COIR_LEFT_;
        coir_leaf_goes_on(&r->task);
        return COIR_DONE_;
    }
    if (c->queued != c->capacity)
        return send_into_ring(op);
    if (COIR_UNLIKELY(coir_here.cancelled))
        return send_apart(op);
    coir_list_push_back(&c->senders, &op->link);
    return coir_leaf_parks(t, send_abort, c);
}

coir_step coir_channel_recv_resume(struct coir_task *t)
{
    struct coir_channel_recv *op = (struct coir_channel_recv *)t;
    struct coir_channel *c = op->channel;

    if (!is_usual(t, c, op->item))
        return recv_apart(op);
    if (c->queued)
        return recv_from_ring(op);
    if (!coir_list_empty(&c->senders)) {
        struct coir_channel_send *s = sender_of(pop_waiter(&c->senders));
        memcpy(op->item, s->item, sizeof(void *));
        op->result = true;
        t->state = COIR_LEFT_;
        coir_leaf_goes_on(&s->task);
        return COIR_DONE_;
    }
    if (COIR_UNLIKELY(coir_here.cancelled))
        return recv_apart(op);
    coir_list_push_back(&c->receivers, &op->link);
    return coir_leaf_parks(t, recv_abort, c);
}
