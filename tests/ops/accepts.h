/* SPDX-License-Identifier: MIT */
/*
 * What the tests of accepting share: an accept as a task of its own, and the ring's variants. Included once a program.
 */
#ifndef COIR_TESTS_OPS_ACCEPTS_H
#define COIR_TESTS_OPS_ACCEPTS_H

#include <coir/coir.h>

#include "tap.h"
#include "tests/ops/clients.h"

static const char *variant;              /* what COIR_URING says, for the checks' names */

/* ---- one accept as a task of its own, that keeps what it got where its maker looks ---- */

struct got {
    int fd, status, order;
    struct sockaddr_storage addr;
    socklen_t addrlen;
};

static int arrivals;                     /* accepts that have ended, in their order */

struct one {
    coir_frame_void;
    coir_args(int listener; struct got *got; int64_t deadline; bool addr;);
    struct coir_accept accept;
    struct coir_scope scope;
};
static coir_declare(one);

coir_body(one, f) {
    coir_within(f, &f->scope, f->deadline ? f->deadline : COIR_NEVER, &f->accept, coir_accept, .fd = f->listener,
                .addr = f->addr ? &f->got->addr : NULL, .addrlen = f->addr ? &f->got->addrlen : NULL);
    f->got->status = coir_status(&f->accept);
    f->got->fd = f->got->status == 0 ? f->accept.result : -1;
    f->got->order = ++arrivals;
} coir_end

static void run(const char *what, const struct coir_options *o, struct coir_task *t)
{
    EQ(coir_run(o, t), 0, "%s: %s ends", variant, what);
}

#endif
