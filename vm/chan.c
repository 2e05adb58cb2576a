/* SPDX-License-Identifier: MIT */
/*
 * Channels. Waiting, its order and its cancelling are libcoir's; here are values that go in and out.
 *
 * An item in a channel's buffer, or under way to a receiver, is nobody's register: it is owned by the channel until it
 * lies in the receiver's window. A receiver that was handed an item has it, also if it was cancelled since.
 */
#include "vm/chan.h"

#include <errno.h>

#include "runtime/base/queue.h"
#include "vm/far.h"
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
    coir_head_init(&c->head, t, coir_container_of(h, struct coir_vm, heap)->shard);
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

/* ---- of another shard ---- */

static struct coir_chan *chan_of(const struct coir_far *far)
{
    return (struct coir_chan *)far->cell;
}

static int send_begins(struct coir_visit *v)
{
    v->waits = COIR_VISIT_SENDS;
    return coir_channel_try_send(&chan_of(v->far)->channel, v->far->goes);
}

static const struct coir_errand send_there = { send_begins, NULL };

/* An item has been received, or the channel is closed. */
static int received(struct coir_far *far, bool is)
{
    far->received = is;
    if (is)
        far->brings.type = far->type->element;
    return 0;
}

static int recv_begins(struct coir_visit *v)
{
    struct coir_chan *c = chan_of(v->far);
    const int status = coir_channel_try_recv(&c->channel, v->far->at);

    if (status == 0 || status == -EPIPE)
        return received(v->far, status == 0);
    v->waits = COIR_VISIT_RECEIVES;
    v->visitor.outer = !coir_chan_is_inner(c);
    return status;
}

static int recv_ends(struct coir_visit *v, int status)
{
    return status < 0 ? status : received(v->far, v->recv.result);
}

static const struct coir_errand recv_there = { recv_begins, recv_ends };

static int close_begins(struct coir_visit *v)
{
    close_channel(chan_of(v->far));
    return 0;
}

static const struct coir_errand close_there = { close_begins, NULL };

static int len_begins(struct coir_visit *v)
{
    v->far->made = coir_channel_queued(&chan_of(v->far)->channel);
    return 0;
}

static const struct coir_errand len_there = { len_begins, NULL };

/* The scratch of one of these, whose channel is in r[0]. NULL: no memory. */
static struct coir_far *far_of(struct coir_fiber *f, const uint64_t *r)
{
    struct coir_far *far = coir_far_scratch(f);

    if (far && f->step == 0) {
        far->cell = coir_ref(r[0]);
        far->type = coir_param_type(f, 0);
    }
    return far;
}

enum coir_native_result coir_trap_closed(struct coir_fiber *f)
{
    return coir_trap(f, COIR_TRAP_CLOSED, "the channel is closed");
}

static enum coir_native_result far_send(struct coir_fiber *f, uint64_t *r)
{
    struct coir_far *far = far_of(f, r);

    if (!far)
        return coir_trap_memory(f);
    if (f->step == 0) {
        far->params = &f->import->params[1];
        far->nparams = 1;
        far->goes = r + 1;
    }
    if (coir_far_goes(f, far))
        return coir_far_go(f, far, &send_there, far->cell->aux);
    if (far->said == -EPIPE)
        return coir_trap_closed(f);
    return far->said < 0 ? coir_far_trap(f, far) : COIR_NATIVE_DONE;
}

static enum coir_native_result far_recv(struct coir_fiber *f, uint64_t *r)
{
    struct coir_far *far = far_of(f, r);

    if (!far)
        return coir_trap_memory(f);
    far->at = coir_chan_item(far->type, r);
    if (coir_far_goes(f, far))
        return coir_far_go(f, far, &recv_there, far->cell->aux);
    if (far->said < 0)
        return coir_far_trap(f, far);
    coir_chan_received(far->type, r, far->received);
    return COIR_NATIVE_DONE;
}

/* Closes it, or counts what is in it. */
static enum coir_native_result far_at_once(struct coir_fiber *f, uint64_t *r, const struct coir_errand *errand)
{
    struct coir_far *far = far_of(f, r);

    if (!far)
        return coir_trap_memory(f);
    if (coir_far_goes(f, far))
        return coir_far_go(f, far, errand, far->cell->aux);
    if (far->said < 0)
        return coir_far_trap(f, far);
    r[0] = far->made;
    return COIR_NATIVE_DONE;
}

/* ---- the natives ---- */

static enum coir_native_result chan_send(struct coir_fiber *f, uint64_t *r)
{
    struct coir_chan *c = coir_chan_at(r[0]);
    int status;

    if (coir_is_far(f, r[0]))
        return far_send(f, r);
    if (f->step == 0)
        status = coir_channel_try_send(&c->channel, r + 1);
    else
        status = coir_status(&f->op.send);
    if (status == -EAGAIN || (status == -ECANCELED && coir_fiber_waits_again(f))) {
        f->inner = true;
        return coir_wait_for(f, &f->op.send, coir_channel_send, .channel = &c->channel, .item = r + 1);
    }
    if (status == -EPIPE)
        return coir_trap_closed(f);
    return status == 0 ? COIR_NATIVE_DONE : coir_trap_status(f, status, NULL);
}

static enum coir_native_result chan_recv(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_type *t = coir_param_type(f, 0);
    struct coir_chan *c = coir_chan_at(r[0]);
    uint64_t *item = coir_chan_item(t, r);
    int status;
    bool received;

    if (coir_is_far(f, r[0]))
        return far_recv(f, r);
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
    if (coir_is_far(f, r[0]))
        return far_at_once(f, r, &close_there);
    close_channel(coir_chan_at(r[0]));
    return COIR_NATIVE_DONE;
}

static enum coir_native_result chan_len(struct coir_fiber *f, uint64_t *r)
{
    if (coir_is_far(f, r[0]))
        return far_at_once(f, r, &len_there);
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
