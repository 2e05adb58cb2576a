/* SPDX-License-Identifier: MIT */
/*
 * What the tests of channels on one shard share: a send and a receive as tasks of their own, each in a scope that can
 * be cancelled, and what became of them.
 */
#ifndef COIR_TESTS_CHANNEL_H
#define COIR_TESTS_CHANNEL_H

#include "sync_test.h"

/* What became of one send or receive, in the driver's memory. */
struct outcome {
    struct coir_scope *scope;           /* cancelling it cancels the operation, while `ended` is 0 */
    int status;
    bool got;
    long item;
    int ended;                          /* its place among those that ended; 0: it has not */
};

static TAP_UNUSED int endings;          /* operations that have ended so far */

/* ---- one operation each, in a scope of its own ---- */

struct sender {
    coir_frame_void;
    coir_args(struct coir_channel *channel; long item; struct outcome *out;);
    struct coir_scope scope;
    struct coir_channel_send send;
};
static TAP_UNUSED coir_declare(sender);

coir_body(sender, f) {
    f->out->scope = &f->scope;
    coir_within(f, &f->scope, COIR_NEVER, &f->send, coir_channel_send, .channel = f->channel, .item = &f->item);
    f->out->status = coir_status(&f->send);
    f->out->ended = ++endings;
} coir_end

struct receiver {
    coir_frame_void;
    coir_args(struct coir_channel *channel; struct outcome *out;);
    struct coir_scope scope;
    struct coir_channel_recv recv;
};
static TAP_UNUSED coir_declare(receiver);

coir_body(receiver, f) {
    f->out->scope = &f->scope;
    coir_within(f, &f->scope, COIR_NEVER, &f->recv, coir_channel_recv, .channel = f->channel, .item = &f->out->item);
    f->out->status = coir_status(&f->recv);
    f->out->got = f->recv.result;
    f->out->ended = ++endings;
} coir_end

/* Spawns one, with its outcome cleared. */
static TAP_UNUSED void spawn_sender(struct coir_group *g, struct coir_channel *c, long item, struct outcome *out)
{
    *out = (struct outcome){ .status = 1 };
    OK(coir_spawn(g, coir_new(sender, .channel = c, .item = item, .out = out)) == 0, "a sender of %ld", item);
}

static TAP_UNUSED void spawn_receiver(struct coir_group *g, struct coir_channel *c, struct outcome *out)
{
    *out = (struct outcome){ .status = 1, .item = -1 };
    OK(coir_spawn(g, coir_new(receiver, .channel = c, .out = out)) == 0, "a receiver");
}

static TAP_UNUSED void sent(const struct outcome *o, const char *what)
{
    OK(o->ended, "%s: the send has ended", what);
    EQ(o->status, 0, "%s: well", what);
}

static TAP_UNUSED void received(const struct outcome *o, long item, const char *what)
{
    OK(o->ended, "%s: the receive has ended", what);
    EQ(o->status, 0, "%s: status 0", what);
    OK(o->got, "%s: with an item", what);
    EQ(o->item, item, "%s: which is %ld", what, item);
}

static TAP_UNUSED void failed(const struct outcome *o, int status, const char *what)
{
    OK(o->ended, "%s: it has ended", what);
    EQ(o->status, status, "%s: with %d", what, status);
    OK(!o->got, "%s: without an item", what);
}

#endif
