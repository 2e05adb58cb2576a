/* SPDX-License-Identifier: MIT */
/*
 * Runs one row of the table: a task that begins the operation in a group, and makes happen what the row says.
 */
#ifndef COIR_TESTS_AGREE_DRIVE_H
#define COIR_TESTS_AGREE_DRIVE_H

#include "runtime/plane/uring.h"
#include "table.h"

struct case_ {
    const struct operation *op;
    const struct row *row;
    bool nonblocking;
};

static void make_world(struct world *w, const struct case_ *c)
{
    const struct row *row = c->row;

    memset(w, 0, sizeof *w);
    w->fd = w->peer = w->extra = w->other = w->result_fd = -1;
    memset(w->buf, FILL, sizeof w->buf);
    make_fixture(w, row->fixture);
    make_wrong(w, row->wrong);
    if (c->nonblocking) {
        set_nonblocking(w->fd);
        set_nonblocking(w->extra);
    }
    act(w, row->before);
    w->len = row->len;
    w->flags = row->flags;
    w->offset = row->offset;
    w->deadline = row->deadline;
    w->text = row->text;
    memcpy(w->argv, ((char *[4]){ (char *)"sh", (char *)"-c", (char *)row->text }), sizeof w->argv);
    w->to = row->null ? NULL : w->buf;
    char *const from = row->text && !strcmp(row->text, "hello") ? (char *)row->text : w->buf;
    w->iov[0] = (struct iovec){ from, 2 };
    w->iov[1] = (struct iovec){ from + 2, from == w->buf ? ROOM - 2 : 3 };
    w->msg = (struct msghdr){ .msg_iov = w->iov, .msg_iovlen = row->len };
}

/* A few turns, and a wait that lets the kernel's threads be done. */
struct settle {
    coir_frame_void;
    coir_no_args;
    int i;
    struct coir_pass pass;
    struct coir_sleep sleep;
};
static coir_declare(settle);
coir_body(settle, f) {
    for (f->i = 0; f->i < 3; f->i++)
        coir_await(f, &f->pass, coir_pass);
    coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    coir_await(f, &f->pass, coir_pass);
} coir_end

struct happen {
    coir_frame_void;
    coir_args(struct world *w; const struct row *row; struct coir_group *group;);
    int i;
    struct settle settle;
    struct coir_pass pass;
    struct coir_close close;
};
static coir_declare(happen);

coir_body(happen, f) {
    if (f->row->when == AT_ONCE || f->row->when == BEFORE)
        coir_return(f);
    if (f->row->when == QUICKLY) {
        coir_await(f, &f->pass, coir_pass);
        coir_group_cancel(f->group);
        coir_return(f);
    }
    coir_await(f, &f->settle, settle);
    if (f->row->when == LATER || f->row->when == AFTER || f->row->when == ENDED || f->row->when == PARTLY)
        act(f->w, f->row->act);
    if (f->row->when == ENDED || f->row->when == PARTLY) {
        for (f->i = 0; f->i < 1000 && !f->w->ended && (f->row->when == ENDED || f->i < 2); f->i++)
            coir_await(f, &f->settle, settle);
    }
    if (f->row->when != LATER && f->row->when != CLOSING)
        coir_group_cancel(f->group);
    if (f->row->when == CLOSING) {
        coir_await(f, &f->close, coir_close, .fd = f->w->fd);
        if (f->w->fd >= 0 && fcntl(f->w->fd, F_GETFD) < 0)
            f->w->fd = -1;
    }
} coir_end

struct whole {
    coir_frame_void;
    coir_args(struct world *w; const struct case_ *c;);
    struct coir_group group;
    struct happen happen;
    struct coir_group_wait wait;
};
TAP_UNUSED static coir_declare(whole);

/* Makes the ring forget the operations that Linux 5.11 did not have, the oldest it is used on. */
static bool is_oldest;
static void forget_opcodes(void)
{
    struct coir_plane *const plane = coir_plane_here();

    if (!is_oldest || plane->kind != &coir_uring)
        return;
    for (unsigned op = IORING_OP_MKDIRAT; op < 8 * sizeof coir_uring_self(plane)->can; op++)
        coir_uring_self(plane)->can[op / 8] &= (uint8_t)~(1u << op % 8);
}

coir_body(whole, f) {
    forget_opcodes();
    coir_group_open(f, &f->group);
    if (f->c->row->when == BEFORE)
        coir_group_cancel(&f->group);
    coir_spawn(&f->group, f->c->op->make(f->w));
    coir_await(f, &f->happen, happen, .w = f->w, .row = f->c->row, .group = &f->group);
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

#endif
