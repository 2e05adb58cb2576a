/* SPDX-License-Identifier: MIT */
/*
 * The echo row for coir, on one shard: a task a connection, with its buffer in its frame, in a group that
 * owns them all. Usage: echo echo PORT; serves until it is killed. COIR_IO chooses the plane.
 */
#include "peers/listen.h"

#include <coir/coir.h>

struct connection {
    coir_frame_void;
    coir_args(int fd;);
    char buffer[4096];
    union {
        struct coir_recv recv;
        struct coir_send_all send;
        struct coir_close close;
    };
};
static coir_declare(connection);

coir_body(connection, f) {
    for (;;) { /* a connection that breaks ends, and is no failure of the group's */
        coir_await(f, &f->recv, coir_recv, .fd = f->fd, .buf = f->buffer, .len = sizeof f->buffer);
        if (coir_status(&f->recv) < 0 || f->recv.result == 0)
            break;
        coir_await(f, &f->send, coir_send_all, .fd = f->fd, .buf = f->buffer, .len = f->recv.result);
        if (coir_status(&f->send) < 0)
            break;
    }
    coir_finally(f) {
        coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end

struct server {
    coir_frame_void;
    coir_args(int listener;);
    int fd;
    struct coir_group group;
    union {
        struct coir_accept accept;
        struct coir_group_wait wait;
    };
};
static coir_declare(server);

coir_body(server, f) {
    coir_group_open(f, &f->group);
    for (;;) {
        coir_get(f, f->fd, &f->accept, coir_accept, .fd = f->listener);
        set_nodelay(f->fd);
        bench_check(coir_spawn(&f->group, coir_new(connection, .fd = f->fd)) == 0, "coir_spawn");
    }
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

int main(int argc, char **argv)
{
    return coir_main(coir_new(server, .listener = listen_on(argc, argv)));
}
