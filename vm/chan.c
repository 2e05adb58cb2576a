/* SPDX-License-Identifier: MIT */
/*
 * Channels. Waiting, its order and its cancelling are libcoir's; here are values that go in and out.
 *
 * An item in a channel's buffer, or under way to a receiver, is nobody's register: it is owned by the channel until it
 * lies in the receiver's window. A receiver that was handed an item has it, also if it was cancelled since.
 */
#include "vm/chan.h"

#include "vm/raise.h"

uint64_t *coir_chan_item(const struct coir_type *chan, uint64_t *r)
{
    return coir_type_is_ref(chan->element) ? r : r + 1;
}

void coir_chan_received(const struct coir_type *chan, uint64_t *r, bool received)
{
    const uint32_t slots = chan->element->slots;

    if (coir_type_is_ref(chan->element)) {
        if (!received)
            r[0] = 0;
        return;
    }
    r[0] = received;
    if (!received)
        memset(r + 1, 0, slots * sizeof *r);
}

static void close_channel(struct coir_chan *c)
{
    struct coir_source *const source = c->source;

    c->source = NULL;
    if (source)
        source->ends(source);
    coir_channel_close(&c->channel);
}

void coir_chan_end(struct coir_heap *h, struct coir_chan *c)
{
    const struct coir_type *item = h->types[c->head.type].element;
    uint64_t slots[COIR_VALUE_SLOTS];
    void *buffer = c->channel.buffer;

    if (c->source)
        close_channel(c);
    if (!item->flat) {
        while (coir_channel_try_recv(&c->channel, slots) == 0)
            coir_drop_value(h, item, slots);
    }
    coir_channel_destroy(&c->channel);
    if (c->buffer)
        coir_heap_free(h, buffer, c->buffer);
    coir_heap_free(h, c, sizeof *c);
}

struct coir_chan *coir_chan_new(struct coir_heap *h, const struct coir_type *t, size_t n)
{
    const size_t item = t->element->slots * sizeof(uint64_t);
    struct coir_chan *c;
    void *buffer = NULL;
    size_t size;

    if (__builtin_mul_overflow(n, item, &size) || size > SIZE_MAX / 4)
        return NULL;
    c = coir_heap_alloc(h, sizeof *c);
    if (c && size)
        buffer = coir_heap_alloc(h, size);
    if (!c || (size && !buffer) || coir_channel_init_in(&c->channel, item, n, size ? buffer : (void *)c) < 0) {
        if (buffer)
            coir_heap_free(h, buffer, size);
        if (c)
            coir_heap_free(h, c, sizeof *c);
        return NULL;
    }
    coir_head_init(&c->head, t, 0);
    c->head.count = coir_first_count(h);
    c->buffer = size;
    c->source = NULL;
    return c;
}

static enum coir_native_result chan_new(struct coir_fiber *f, uint64_t *r)
{
    const int64_t n = (int64_t)r[0];
    struct coir_chan *c;

    if (n < 0)
        return coir_trap(f, COIR_TRAP_BOUNDS, "a channel with room for %lld", (long long)n);
    c = coir_chan_new(f->heap, coir_result_type(f), (size_t)n);
    if (!c)
        return coir_trap_memory(f);
    r[0] = coir_slot_of(c);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result chan_send(struct coir_fiber *f, uint64_t *r)
{
    struct coir_chan *c = coir_chan_at(r[0]);
    int status;

    if (f->step == 0)
        status = coir_channel_try_send(&c->channel, r + 1);
    else
        status = coir_status(&f->op.send);
    if (status == -EAGAIN || (status == -ECANCELED && coir_fiber_waits_again(f))) {
        f->inner = true;
        return coir_wait_for(f, &f->op.send, coir_channel_send, .channel = &c->channel, .item = r + 1);
    }
    if (status == -EPIPE)
        return coir_trap(f, COIR_TRAP_CLOSED, "the channel is closed");
    return status == 0 ? COIR_NATIVE_DONE : coir_trap_status(f, status, NULL);
}

static enum coir_native_result chan_recv(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_type *t = coir_param_type(f, 0);
    struct coir_chan *c = coir_chan_at(r[0]);
    uint64_t *item = coir_chan_item(t, r);
    int status;
    bool received;

    if (f->step == 0) {
        status = coir_channel_try_recv(&c->channel, item);
        received = status == 0;
        if (status == -EPIPE)
            status = 0;
    } else {
        status = coir_status(&f->op.recv);
        received = f->op.recv.result;
    }
    if (status == -EAGAIN || (status == -ECANCELED && coir_fiber_waits_again(f))) {
        f->inner = coir_chan_is_inner(c);
        return coir_wait_for(f, &f->op.recv, coir_channel_recv, .channel = &c->channel, .item = item);
    }
    if (status < 0)
        return coir_trap_status(f, status, NULL);
    coir_chan_received(t, r, received);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result chan_close(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    close_channel(coir_chan_at(r[0]));
    return COIR_NATIVE_DONE;
}

static enum coir_native_result chan_len(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    r[0] = coir_channel_queued(&coir_chan_at(r[0])->channel);
    return COIR_NATIVE_DONE;
}

static const struct coir_native natives[] = {
    { "chan", "fn chan[T](n: Int) -> Chan[T]", chan_new },
    { "Chan.send", "fn send[T](self: Chan[T], own x: T)", chan_send },
    { "Chan.recv", "fn recv[T](self: Chan[T]) -> T?", chan_recv },
    { "Chan.close", "fn close[T](self: Chan[T])", chan_close },
    { "Chan.len", "fn len[T](self: Chan[T]) -> Int", chan_len },
};
const struct coir_natives coir_chan_natives = { natives, sizeof natives / sizeof *natives, NULL, 0 };
