/* SPDX-License-Identifier: MIT */
/*
 * Channels of a machine from tasks in C: libcoir's own, whose items are values' slots. An item under way is held by the
 * frame that waits, until the channel has it.
 */
#include <errno.h>

#include "embed/inside.h"
#include "runtime/base/queue.h"
#include "vm/chan.h"

/* What lies in a frame's room. */
struct room {
    struct coir_host_wait wait;
    struct coir_host *host;             /* NULL: nothing was begun */
    struct coir_chan *chan;             /* held */
    uint64_t *item;                     /* of the heap */
    union {
        struct coir_channel_send send;
        struct coir_channel_recv recv;
    };
};
#define ROOM(f) ((struct room *)(void *)(f)->room_)
_Static_assert(sizeof(struct room) <= sizeof(((struct coir_vm_send *)0)->room_), "it lies in the frame");
_Static_assert(sizeof(struct room) <= sizeof(((struct coir_vm_recv *)0)->room_), "it lies in the frame");

static const struct coir_type *element_of(const struct room *r)
{
    return coir_host_heap(r->host)->types[r->chan->head.type].element;
}

static struct coir_chan *chan_of(struct coir_vm_value v, const char *who, struct coir_host **h)
{
    const struct coir_entry *const e = coir_entry_of(v, who, h);

    if (e && (!e->type || e->type->kind != COIR_TYPE_CHAN))
        coir_host_stop(who, "the value is no channel");
    return e ? coir_chan_at(e->word) : NULL;
}

/* The channel and room for an item are held. 0, or a negative errno: nothing was begun. */
static int begin(struct room *r, struct coir_task *task, struct coir_vm_value chan, const char *who)
{
    struct coir_host *h;
    struct coir_chan *const c = chan_of(chan, who, &h);
    const struct coir_type *item;

    r->host = NULL;
    if (!c)
        return -ENOMEM;
    if (h->closing)
        return -ESHUTDOWN;
    item = coir_host_heap(h)->types[c->head.type].element;
    r->item = coir_heap_alloc(coir_host_heap(h), (item->slots + 1) * sizeof *r->item);
    if (!r->item)
        return -ENOMEM;
    r->host = h;
    r->chan = c;
    r->wait.task = task;
    coir_hold(&c->head);
    coir_list_push_back(&h->waits, &r->wait.link);
    return 0;
}

static void end(struct room *r)
{
    struct coir_host *const h = r->host;
    const struct coir_type *const item = element_of(r);

    coir_list_remove(&r->wait.link);
    coir_heap_free(coir_host_heap(h), r->item, (item->slots + 1) * sizeof *r->item);
    coir_drop(coir_host_heap(h), &r->chan->head);
    r->host = NULL;
    if (h->closing || coir_host_heap(h)->dead)
        coir_keeper_wake(coir_host_vm(h));
}

/* The machine's end, and nobody's cancelling, ended it. */
static int status_of(const struct room *r, int status)
{
    return status == -ECANCELED && r->host->closing ? -ESHUTDOWN : status;
}

/* ---- sending ---- */

static int put_item(struct room *r, struct coir_vm_value v)
{
    static const char who[] = "coir_vm_send";

    switch (coir_value_fits(r->host, v, element_of(r), who)) {
    case COIR_FITS:
        coir_value_give(r->host, v, element_of(r), r->item, who);
        return 0;
    case COIR_FITS_NO_MEMORY:
        return -ENOMEM;
    default:
        return -EINVAL;
    }
}

coir_body(coir_vm_send, f) {
    {
        int status = begin(ROOM(f), &f->task, f->chan, "coir_vm_send");

        if (status == 0)
            status = put_item(ROOM(f), f->value);
        if (status)
            coir_fail(f, status);
    }
    coir_await(f, &ROOM(f)->send, coir_channel_send, .channel = &ROOM(f)->chan->channel, .item = ROOM(f)->item);
    if (coir_status(&ROOM(f)->send) < 0) {
        coir_drop_value(coir_host_heap(ROOM(f)->host), element_of(ROOM(f)), ROOM(f)->item);
        coir_fail(f, status_of(ROOM(f), coir_status(&ROOM(f)->send)));
    }
    coir_finally(f) {
        if (ROOM(f)->host)
            end(ROOM(f));
    }
} coir_end

/* ---- receiving ---- */

coir_body(coir_vm_recv, f) {
    {
        const int status = begin(ROOM(f), &f->task, f->chan, "coir_vm_recv");

        if (status)
            coir_fail(f, status);
    }
    coir_await(f, &ROOM(f)->recv, coir_channel_recv, .channel = &ROOM(f)->chan->channel, .item = ROOM(f)->item);
    if (coir_status(&ROOM(f)->recv) < 0)
        coir_fail(f, status_of(ROOM(f), coir_status(&ROOM(f)->recv)));
    if (ROOM(f)->recv.result) {
        f->result = coir_value_take(ROOM(f)->host, element_of(ROOM(f)), ROOM(f)->item);
        if (coir_value_failed(f->result))
            coir_fail(f, ENOMEM);
    }
    coir_finally(f) {
        if (ROOM(f)->host)
            end(ROOM(f));
    }
} coir_end

void coir_vm_chan_close(struct coir_vm_value chan)
{
    struct coir_host *h;
    struct coir_chan *const c = chan_of(chan, "coir_vm_chan_close", &h);

    if (c)
        coir_channel_close(&c->channel);
}
