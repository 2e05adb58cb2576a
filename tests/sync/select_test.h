/* SPDX-License-Identifier: MIT */
/*
 * What the tests of coir_select share: a task that does one select in a scope of its own, and what became of it in
 * the driver's memory.
 */
#ifndef COIR_TESTS_SELECT_H
#define COIR_TESTS_SELECT_H

#include <poll.h>

#include "sync_test.h"

enum { ARMS = 8 };

struct chosen {
    struct coir_arm arms[ARMS];
    long item[ARMS];
    struct coir_scope *scope;            /* cancelling it cancels the select, while `ended` is 0 */
    int status;
    size_t which;
    int ended;                           /* its place among those that ended; 0: it has not */
};

static TAP_UNUSED int endings;

struct selecting {
    coir_frame_void;
    coir_args(struct chosen *out; size_t n; int64_t deadline; bool now;);
    struct coir_scope scope;
    struct coir_select select;
};
static TAP_UNUSED coir_declare(selecting);

coir_body(selecting, f) {
    f->out->scope = &f->scope;
    coir_within(f, &f->scope, f->deadline, &f->select, coir_select, .arms = f->out->arms, .n = f->n, .now = f->now);
    f->out->status = coir_status(&f->select);
    f->out->which = f->select.result;
    f->out->ended = ++endings;
} coir_end

/* One receive and one send, for company. */
struct taking {
    coir_frame_void;
    coir_args(struct coir_channel *channel; long *item; int *ended;);
    struct coir_channel_recv recv;
};
static TAP_UNUSED coir_declare(taking);

coir_body(taking, f) {
    coir_await(f, &f->recv, coir_channel_recv, .channel = f->channel, .item = f->item);
    *f->ended = ++endings;
} coir_end

struct giving {
    coir_frame_void;
    coir_args(struct coir_channel *channel; long item; int *ended;);
    struct coir_channel_send send;
};
static TAP_UNUSED coir_declare(giving);

coir_body(giving, f) {
    coir_await(f, &f->send, coir_channel_send, .channel = f->channel, .item = &f->item);
    *f->ended = ++endings;
} coir_end

static TAP_UNUSED void spawn_select(struct coir_group *g, struct chosen *out, size_t n)
{
    out->ended = 0;
    out->status = 1;
    out->which = 99;
    OK(coir_spawn(g, coir_new(selecting, .out = out, .n = n, .deadline = COIR_NEVER)) == 0, "a select of %zu", n);
}

static TAP_UNUSED void chose(const struct chosen *o, size_t which, int status, const char *what)
{
    OK(o->ended, "%s: the select has ended", what);
    EQ(o->status, 0, "%s: well", what);
    EQ(o->which, which, "%s: with arm %zu", what, which);
    EQ(coir_arm_status(&o->arms[which]), status, "%s: whose status is %d", what, status);
}

static TAP_UNUSED void waits(const struct chosen *o, const char *what)
{
    OK(!o->ended, "%s: the select waits", what);
}

#endif
