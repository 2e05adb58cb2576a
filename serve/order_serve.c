/* SPDX-License-Identifier: MIT */
/*
 * Orders over sockets: a session, and the listeners beside a store's files. Whoever may connect (the sockets are the
 * owner's alone) is believed; who sends no order loses his session, and nothing else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <coir/coir.h>

#include "serve/again.h"
#include "serve/order.h"
#include "volume/inside.h"

enum { SESSIONS = 64, BUFFER = 8192 };
#define GRACE (2 * COIR_S)                /* that an order under way may go on when serving ends */

/* ---- a session ---- */

struct session {
    coir_frame_void;
    coir_args(struct coir_store *store; int fd;);
    struct coir_fd_stream stream;
    struct coir_reader in;
    struct coir_writer out;
    char line[COIR_ORDER_MAX];
    union {
        struct coir_read_line read;
        struct coir_order order;
        struct coir_flush flush;
        struct coir_close close;
    };
};
static coir_declare(session);
_Static_assert(sizeof(struct session) <= sizeof(struct coir_order_session), "it lies in the public frame");

coir_step coir_order_session_resume(struct coir_task *t)
{
    return session_resume(t);
}

coir_body(session, f) {
    f->in = (struct coir_reader){ 0 };
    f->out = (struct coir_writer){ 0 };
    coir_fd_stream_init(&f->stream, f->fd, f->fd);
    if (coir_reader_init(&f->in, &f->stream.stream, COIR_ORDER_MAX + 1)
        || coir_writer_init(&f->out, &f->stream.stream, BUFFER))
        coir_fail(f, -ENOMEM);
    for (;;) {
        coir_try(f, &f->read, coir_read_line, .reader = &f->in);
        if (!f->read.result.data)
            break;
        memcpy(f->line, f->read.result.data, f->read.result.len);
        f->line[f->read.result.len] = '\0';
        coir_try(f, &f->order, coir_order, .store = f->store, .line = f->line, .to = &f->out);
        coir_try(f, &f->flush, coir_flush, .writer = &f->out);
    }
    coir_finally(f) {
        coir_writer_discard(&f->out);
        coir_writer_destroy(&f->out);
        coir_reader_destroy(&f->in);
        coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end

/* ---- listening ---- */

static struct coir_task *begin_session(int fd, void *store)
{
    return coir_new(coir_order_session, .store = store, .fd = fd);
}

struct serve {
    coir_frame_void;
    coir_args(struct coir_store *store; char *why; size_t why_size; struct coir_event *ready;);
    struct coir_group group;
    union {
        struct coir_group_wait wait;
        struct coir_sleep sleep;
    };
    unsigned n, tries;
    int err;
};
static coir_declare(serve);
_Static_assert(sizeof(struct serve) <= sizeof(struct coir_order_serve), "it lies in the public frame");

coir_step coir_order_serve_resume(struct coir_task *t)
{
    return serve_resume(t);
}

/* Where the socket beside file i is, as coir_listen takes it; false: the path is too long for a socket. */
static bool socket_of(const struct coir_store *s, unsigned i, char to[128])
{
    return snprintf(to, 128, "unix:%s.sock", s->files->file[i].path) < 5 + 108;
}

static int listen_beside(struct serve *f, unsigned i)
{
    char where[128];
    int fd;

    if (!socket_of(f->store, i, where))
        fd = -ENAMETOOLONG;
    else
        fd = coir_listen(where, &(struct coir_listen_options){ .mode = 0600 });
    if (fd < 0) {
        if (f->why)
            snprintf(f->why, f->why_size, "%s.sock: %s", f->store->files->file[i].path, coir_strerror(fd));
        return fd;
    }
    return coir_spawn(&f->group, coir_new(coir_serve, .handler = begin_session, .arg = f->store, .fd = fd,
                                          .limit = SESSIONS, .grace = GRACE));
}

coir_body(serve, f) {
    coir_group_open(f, &f->group);
    for (f->n = 0; f->n < f->store->files->n; f->n++) {
        for (f->tries = 0; (f->err = listen_beside(f, f->n)) == -EADDRINUSE && f->tries < AGAIN_TRIES; f->tries++)
            coir_try(f, &f->sleep, coir_sleep, .ns = AGAIN_PAUSE_MS * COIR_MS);
        if (f->err)
            coir_fail(f, f->err);
    }
    if (f->ready)
        coir_event_set(f->ready);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_finally(f) {
        coir_group_cancel(&f->group);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        for (unsigned i = 0; i < f->n; i++) {
            char where[128];
            if (socket_of(f->store, i, where))
                unlink(where + 5);
        }
    }
} coir_end
