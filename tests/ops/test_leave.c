/* SPDX-License-Identifier: MIT */
/*
 * coir_leave: whoever waits is told, the descriptor stays open and works, here and on another shard; what a listener
 * has accepted ahead is handed over, and no descriptor is lost, whatever room there is for it.
 */
#include <fcntl.h>

#include "tests/ops/clients.h"
#include "tests/ops/net.h"

enum { ROUNDS = 50, CROWD = 40 };

/* ---- what is wrong; who waits ---- */

struct reader {
    coir_frame_void;
    coir_args(int fd; int *status;);
    struct coir_recv recv;
    char byte;
};
static coir_declare(reader);

coir_body(reader, f) {
    coir_await(f, &f->recv, coir_recv, .fd = f->fd, .buf = &f->byte, .len = 1);
    *f->status = coir_status(&f->recv);
} coir_end

struct waiting {
    coir_frame_void;
    coir_no_args;
    int fds[2], status;
    char byte;
    struct coir_group group;
    union {
        struct coir_leave leave;
        struct coir_pass pass;
        struct coir_recv recv;
        struct coir_close close;
        struct coir_group_wait wait;
    };
};
static coir_declare(waiting);

coir_body(waiting, f) {
    coir_await(f, &f->leave, coir_leave, .fd = -1);
    EQ(coir_status(&f->leave), -EBADF, "-1");
    coir_await(f, &f->leave, coir_leave, .fd = 1000);
    EQ(coir_status(&f->leave), -EBADF, "a number that is not open");
    make_pair(UNIX_BLOCKING, f->fds);
    coir_await(f, &f->leave, coir_leave, .fd = f->fds[0], .max = 1);
    EQ(coir_status(&f->leave), -EFAULT, "room that is nowhere");
    coir_group_open(f, &f->group);
    f->status = 1;
    coir_spawn(&f->group, coir_new(reader, .fd = f->fds[0], .status = &f->status));
    coir_try(f, &f->pass, coir_pass);
    coir_try(f, &f->pass, coir_pass);
    coir_try(f, &f->leave, coir_leave, .fd = f->fds[0]);
    EQ(f->leave.result, 0, "a socket has no connections");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, -ECANCELED, "who waits is told");
    EQ(write(f->fds[1], "x", 1), 1, "it is open");
    coir_try(f, &f->recv, coir_recv, .fd = f->fds[0], .buf = &f->byte, .len = 1);
    EQ(f->byte, 'x', "and can be read again");
    coir_try(f, &f->leave, coir_leave, .fd = f->fds[0]);
    coir_try(f, &f->close, coir_close, .fd = f->fds[0]);
    close(f->fds[1]);
} coir_end

/* ---- a listener, here and there ---- */

struct accepts {
    coir_frame(int);
    coir_args(int listener; bool closes;);
    union {
        struct coir_accept accept;
        struct coir_leave leave;
        struct coir_close close;
    };
    int left[CROWD];
};
static coir_declare(accepts);

/* One connection, on whichever shard; what else was accepted is closed. */
coir_body(accepts, f) {
    coir_get(f, f->result, &f->accept, coir_accept, .fd = f->listener);
    if (f->closes) {
        coir_try(f, &f->close, coir_close, .fd = f->listener);
        coir_return(f, f->result);
    }
    coir_try(f, &f->leave, coir_leave, .fd = f->listener, .accepted = f->left, .max = CROWD);
    for (unsigned i = 0; i < f->leave.result; i++)
        close(f->left[i]);
} coir_end

struct listener {
    coir_frame_void;
    coir_args(unsigned clients; unsigned max;);
    int listener, fds, clients_fds[CROWD], accepted[CROWD], i;
    unsigned taken;
    char byte;
    union {
        struct accepts there;
        struct coir_accept accept;
        struct coir_leave leave;
        struct coir_sleep sleep;
    };
};
static coir_declare(listener);

/* The clients' bytes come out of the connections that were handed over, or are in the backlog still. */
coir_body(listener, f) {
    f->fds = open_fds();
    f->listener = coir_listen("127.0.0.1:0", NULL);
    for (unsigned i = 0; i < f->clients; i++) {
        f->clients_fds[i] = client(port_of(f->listener));
        EQ(write(f->clients_fds[i], "y", 1), 1, "client %u", i);
    }
    coir_get(f, f->accepted[0], &f->accept, coir_accept, .fd = f->listener);
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);       /* the ring goes on accepting */
    coir_try(f, &f->leave, coir_leave, .fd = f->listener, .accepted = f->accepted + 1, .max = f->max);
    f->taken = 1 + f->leave.result;
    OK(f->taken <= f->clients && f->leave.result <= f->max, "%u of %u were handed over", f->taken, f->clients);
    while (f->max >= f->clients && f->taken < f->clients) {  /* nothing was lost: the rest is to be had */
        coir_get(f, f->accepted[f->taken], &f->accept, coir_accept, .fd = f->listener);
        f->taken++;
    }
    for (unsigned i = 0; i < f->taken; i++) {
        EQ(recv(f->accepted[i], &f->byte, 1, 0), 1, "connection %u works", i);
        close(f->accepted[i]);
    }
    for (unsigned i = 0; i < f->clients; i++)
        close(f->clients_fds[i]);
    coir_try(f, &f->leave, coir_leave, .fd = f->listener, .accepted = f->accepted, .max = 0);
    f->clients_fds[0] = client(port_of(f->listener));
    coir_await_on(f, 1, &f->there, accepts, .listener = f->listener, .closes = true);
    coir_check(f, &f->there);
    OK(f->there.result >= 0, "the other shard accepts, and closes it");
    close(f->there.result);
    close(f->clients_fds[0]);
    EQ(open_fds(), f->fds, "nothing is left open, with room for %u", f->max);
} coir_end

/* ---- back and forth ---- */

struct echoes {
    coir_frame_void;
    coir_args(int fd; bool closes;);
    char byte;
    union {
        struct coir_recv recv;
        struct coir_send_all send;
        struct coir_leave leave;
        struct coir_close close;
    };
};
static coir_declare(echoes);

coir_body(echoes, f) {
    coir_try(f, &f->recv, coir_recv, .fd = f->fd, .buf = &f->byte, .len = 1);
    coir_try(f, &f->send, coir_send_all, .fd = f->fd, .buf = &f->byte, .len = 1);
    if (f->closes)
        coir_try(f, &f->close, coir_close, .fd = f->fd);
    else
        coir_try(f, &f->leave, coir_leave, .fd = f->fd);
} coir_end

struct ferry {
    coir_frame_void;
    coir_no_args;
    int fds[2], i;
    char byte;
    union {
        struct echoes there;
        struct coir_recv recv;
    };
};
static coir_declare(ferry);

/* A connection goes from shard to shard with every byte; the last closes it, and the number comes back as another's. */
coir_body(ferry, f) {
    for (f->i = 0; f->i < ROUNDS; f->i++) {
        if (f->i % 5 == 0)
            make_pair(f->i % 2 ? TCP_BLOCKING : UNIX_BLOCKING, f->fds);
        f->byte = (char)f->i;
        EQ(write(f->fds[1], &f->byte, 1), 1, "round %d", f->i);
        coir_await_on(f, (unsigned)f->i % 2, &f->there, echoes, .fd = f->fds[0], .closes = f->i % 5 == 4);
        coir_check(f, &f->there);
        coir_try(f, &f->recv, coir_recv, .fd = f->fds[1], .buf = &f->byte, .len = 1);
        EQ(f->byte, (char)f->i, "round %d comes back", f->i);
        if (f->i % 5 == 4)
            close(f->fds[1]);
    }
} coir_end

static void run(const char *what, struct coir_task *t)
{
    EQ(coir_run(&(struct coir_options){ .shards = 2 }, t), 0, "%s ends", what);
}

int main(void)
{
    run("waiting", coir_new(waiting));
    run("a listener", coir_new(listener, .clients = 10, .max = CROWD - 1));
    run("a listener, little room", coir_new(listener, .clients = 10, .max = 2));
    run("a listener, no room", coir_new(listener, .clients = 10, .max = 0));
    run("from shard to shard", coir_new(ferry));
    return DONE();
}
