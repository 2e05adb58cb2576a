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
 *   4. Who comes finds nobody before him whom he could serve or who would have to be served first: each call
 *      serves the oldest waiter itself.
 */
#include <coir/channel.h>
#include <stdlib.h>

#include "runtime/sync/wait.h"

_Static_assert(sizeof(struct coir_channel) == 88, "spare bytes included: it lies in the program's frames");
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

void coir_channel_destroy(struct coir_channel *c)
{
    if (!c)
        return;
    if (waiter_of(c))
        coir_destroyed_under(waiter_of(c), "channel");
    if (c->owned)
        free(c->buffer);
    c->owned = false;
    c->closed = true;
    c->queued = c->capacity = 0;
    c->buffer = (char *)c;
}

/* A channel may go from shard to shard as long as nobody waits. */
static __attribute__((cold, noinline)) void settle(struct coir_channel *c)
{
    if (waiter_of(c))
        coir_other_shard(waiter_of(c), "channel");
    c->home = coir_shard_here();
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
    struct coir_channel_recv *r;

    if (coir_list_empty(&c->receivers))
        return put_into_ring(c, item);
    r = receiver_of(pop_waiter(&c->receivers));
    coir_copy_item(r->item, item, c->item);
    r->result = true;
    coir_leaf_goes_on(&r->task);
    return 0;
}

/* What is queued comes first, and leaves a place to the oldest sender. */
static int take_from_ring(struct coir_channel *c, void *item)
{
    ring_pop(c, item);
    if (!coir_list_empty(&c->senders)) {
        struct coir_channel_send *s = sender_of(pop_waiter(&c->senders));
        ring_push(c, s->item);
        coir_leaf_goes_on(&s->task);
    }
    return 0;
}

/* 0, -EPIPE: closed and drained, or -EAGAIN. */
static inline __attribute__((always_inline)) int take(struct coir_channel *c, void *item)
{
    struct coir_channel_send *s;

    if (c->queued)
        return take_from_ring(c, item);
    if (coir_list_empty(&c->senders))
        return c->closed ? -EPIPE : -EAGAIN;
    s = sender_of(pop_waiter(&c->senders));
    coir_copy_item(item, s->item, c->item);
    coir_leaf_goes_on(&s->task);
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
    check_home(c);
    c->closed = true;
    while (!coir_list_empty(&c->senders)) {
        struct coir_channel_send *s = sender_of(pop_waiter(&c->senders));
        s->task.status = -EPIPE;
        coir_leaf_goes_on(&s->task);
    }
    while (!coir_list_empty(&c->receivers))
        coir_leaf_goes_on(&receiver_of(pop_waiter(&c->receivers))->task);
}

/* ---- the operations ---- */

/* True when there is nothing to say against the arguments; explain() says what else. */
static inline bool are_fine(const struct coir_task *t, const struct coir_channel *c, const void *item)
{
    const struct coir_shard *s = coir_shard_here();

    return COIR_LIKELY(c && c->home == s && (item || !c->item) && coir_is_live(s, t) && coir_is_live(s, item));
}

/* 0: they will do after all. */
static __attribute__((cold, noinline)) int explain(struct coir_task *t, struct coir_channel *c, const void *item,
                                                   const char *operation)
{
    if (!c || (!item && c->item))
        return -EFAULT;
    if (coir_arguments_live(t, item, operation) || coir_arguments_live(t, c, operation))
        return -EFAULT;
    check_home(c);
    return 0;
}

/* Parks at the end of a line; or ends, where that cannot be. */
static coir_step line_up(struct coir_task *t, struct coir_channel *c, struct coir_link *line, struct coir_link *link,
                         void (*abort)(struct coir_task *))
{
    if (coir_arguments_live(t, c, "a channel"))
        return coir_leaf_ends(t, -EFAULT);
    if (coir_is_cancelled(t))
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

static coir_step send_otherwise(struct coir_channel_send *op, int err)
{
    struct coir_channel *c = op->channel;

    if (err == -EAGAIN)
        return line_up(&op->task, c, &c->senders, &op->link, send_abort);
    return coir_leaf_ends(&op->task, err);
}

static coir_step recv_otherwise(struct coir_channel_recv *op, int err)
{
    struct coir_channel *c = op->channel;

    if (err == -EAGAIN)
        return line_up(&op->task, c, &c->receivers, &op->link, recv_abort);
    return coir_leaf_ends(&op->task, err == -EPIPE ? 0 : err);
}

/* Of a leaf that was resumed itself, everything has been said. */
coir_step coir_channel_send_resume(struct coir_task *t)
{
    struct coir_channel_send *op = (struct coir_channel_send *)t;
    int err = 0;

    if (COIR_LIKELY(t->state == 0)) {
        if (!are_fine(t, op->channel, op->item))
            err = explain(t, op->channel, op->item, "coir_channel_send");
        if (!err)
            err = put(op->channel, op->item);
        if (err)
            return send_otherwise(op, err);
    }
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

coir_step coir_channel_recv_resume(struct coir_task *t)
{
    struct coir_channel_recv *op = (struct coir_channel_recv *)t;
    int err = 0;

    if (COIR_LIKELY(t->state == 0)) {
        if (!are_fine(t, op->channel, op->item))
            err = explain(t, op->channel, op->item, "coir_channel_recv");
        if (!err)
            err = take(op->channel, op->item);
        if (err)
            return recv_otherwise(op, err);
        op->result = true;
    }
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}
