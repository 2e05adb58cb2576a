/* SPDX-License-Identifier: MIT */
/*
 * Chan[T]: a channel of libcoir in a cell, whose items are values' slots.
 */
#ifndef COIR_VM_CHAN_H
#define COIR_VM_CHAN_H

#include "vm/machine.h"

/* Who puts into a channel what comes from outside of the program. It is of the channel's shard. */
struct coir_source {
    void (*ends)(struct coir_source *s);    /* the channel is closed, or nobody holds it: let go of it */
};

struct coir_chan {
    struct coir_counted head;
    struct coir_channel channel;
    size_t buffer;                      /* bytes of its buffer */
    struct coir_source *source;         /* NULL: fibers only */
};

static inline struct coir_chan *coir_chan_at(uint64_t slot)
{
    return (struct coir_chan *)(uintptr_t)slot;
}

/* A channel of channel type `t` with room for n items. NULL: no memory. */
struct coir_chan *coir_chan_new(struct coir_heap *h, const struct coir_type *t, size_t n);
void coir_chan_end(struct coir_heap *h, struct coir_chan *c);

/* Whether only another fiber can put something in. */
static inline bool coir_chan_is_inner(const struct coir_chan *c)
{
    return !c->source;
}

/* What is received, as an optional at `r`: where the item goes, behind the tag if there is one; then the rest of it. */
uint64_t *coir_chan_item(const struct coir_type *chan, uint64_t *r);
void coir_chan_received(const struct coir_type *chan, uint64_t *r, bool received);

/* Closed: what was to be sent is the fiber's still. */
enum coir_native_result coir_trap_closed(struct coir_fiber *f) __attribute__((cold));

extern const struct coir_natives coir_chan_natives;

#endif
