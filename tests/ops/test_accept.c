/* SPDX-License-Identifier: MIT */
/*
 * coir_accept, on the plane the environment says, and on the ring with and without its multishot request: cancelling in
 * every state, closing, connections that were accepted ahead, and that no descriptor is ever lost.
 */
#include <coir/coir.h>
#include <fcntl.h>
#include <pthread.h>

#include "runtime/plane/uring.h"
#include "tap.h"
#include "tests/ops/accepts.h"

enum { MANY = 100, AHEAD = 300, STORM = 400, VANISHING = 10000 };

/* ---- the simple things ---- */

struct plain {
    coir_frame_void;
    coir_no_args;
    int listener, client, fd, fds;
    struct sockaddr_storage addr;
    socklen_t addrlen;
    union {
        struct coir_accept accept;
        struct coir_close close;
    };
};
static coir_declare(plain);

coir_body(plain, f) {
    f->fds = open_fds();
    f->listener = coir_listen("127.0.0.1:0", NULL);
    f->client = client(port_of(f->listener));
    coir_get(f, f->fd, &f->accept, coir_accept, .fd = f->listener);
    EQ(fcntl(f->fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC, "%s: close-on-exec", variant);
    EQ((fcntl(f->fd, F_GETFL) & O_NONBLOCK) != 0, strcmp(coir_plane_name(), "epoll") == 0,
       "%s: non-blocking on epoll only", variant);
    EQ(write(f->client, "x", 1), 1, "%s: the client writes", variant);
    EQ(recv(f->fd, &f->addr, 1, 0), 1, "%s: the server reads", variant);
    close(f->fd);
    close(f->client);
    f->client = client(port_of(f->listener));
    coir_get(f, f->fd, &f->accept, coir_accept, .fd = f->listener, .addr = &f->addr, .addrlen = &f->addrlen);
    EQ(f->addr.ss_family, AF_INET, "%s: the peer's family", variant);
    EQ(ntohs(((struct sockaddr_in *)&f->addr)->sin_port), port_of(f->client), "%s: the peer's port", variant);
    EQ(f->addrlen, sizeof(struct sockaddr_in), "%s: the address's length", variant);
    close(f->fd);
    close(f->client);
    f->client = client(port_of(f->listener));
    coir_get(f, f->fd, &f->accept, coir_accept, .fd = f->listener, .addr = &f->addr);
    EQ(ntohs(((struct sockaddr_in *)&f->addr)->sin_port), port_of(f->client), "%s: without a length", variant);
    close(f->fd);
    close(f->client);
    coir_try(f, &f->close, coir_close, .fd = f->listener);
    EQ(open_fds(), f->fds, "%s: nothing is left open", variant);
} coir_end


struct bad {
    coir_frame_void;
    coir_no_args;
    int fds[2];
    union {
        struct coir_accept accept;
        struct coir_close close;
    };
};
static coir_declare(bad);

coir_body(bad, f) {
    coir_await(f, &f->accept, coir_accept, .fd = -1);
    EQ(coir_status(&f->accept), -EBADF, "%s: -1", variant);
    coir_await(f, &f->accept, coir_accept, .fd = 1000);
    EQ(coir_status(&f->accept), -EBADF, "%s: a number that is not open", variant);
    EQ(pipe(f->fds), 0, "a pipe");
    for (int i = 0; i < 2; i++)
        fcntl(f->fds[i], F_SETFD, FD_CLOEXEC);
    coir_await(f, &f->accept, coir_accept, .fd = f->fds[0]);
    EQ(coir_status(&f->accept), -ENOTSOCK, "%s: a pipe is no socket", variant);
    coir_await(f, &f->close, coir_close, .fd = f->fds[0]);
    close(f->fds[1]);
    f->fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    coir_await(f, &f->accept, coir_accept, .fd = f->fds[0]);
    EQ(coir_status(&f->accept), -EINVAL, "%s: a socket that does not listen", variant);
    coir_await(f, &f->accept, coir_accept, .fd = f->fds[0]);
    EQ(coir_status(&f->accept), -EINVAL, "%s: nor the second time", variant);
    coir_await(f, &f->close, coir_close, .fd = f->fds[0]);
    f->fds[0] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    coir_await(f, &f->accept, coir_accept, .fd = f->fds[0]);
    EQ(coir_status(&f->accept), -EOPNOTSUPP, "%s: datagrams", variant);
    coir_await(f, &f->close, coir_close, .fd = f->fds[0]);
} coir_end

/* A listener that somebody made O_NONBLOCK, or blocking. */
struct modes {
    coir_frame_void;
    coir_args(int flags;);
    int listener, client, fd;
    struct got got;
    struct coir_group group;
    union {
        struct coir_accept accept;
        struct coir_close close;
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_group_wait wait;
    };
};
static coir_declare(modes);

coir_body(modes, f) {
    f->listener = coir_listen("127.0.0.1:0", NULL);
    fcntl(f->listener, F_SETFL, f->flags);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(one, .listener = f->listener, .got = &f->got));
    SETTLE(f);
    f->client = client(port_of(f->listener));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->got.status, 0, "%s: a listener with flags %d", variant, f->flags);
    close(f->got.fd);
    close(f->client);
    f->client = client(port_of(f->listener));
    coir_get(f, f->fd, &f->accept, coir_accept, .fd = f->listener);
    OK(f->fd >= 0, "%s: once more", variant);
    close(f->fd);
    close(f->client);
    coir_try(f, &f->close, coir_close, .fd = f->listener);
} coir_end

/* ---- cancelling ---- */

/* In a cancelled scope an accept is tried once. */
struct cancelled {
    coir_frame_void;
    coir_no_args;
    int listener, client, round;
    struct got got;
    struct coir_group group;
    union {
        struct coir_accept accept;
        struct coir_close close;
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_group_wait wait;
    };
};
static coir_declare(cancelled);

coir_body(cancelled, f) {
    f->listener = coir_listen("127.0.0.1:0", NULL);
    f->client = client(port_of(f->listener));
    for (f->round = 0; f->round < 2; f->round++) {
        coir_group_open(f, &f->group);
        coir_group_cancel(&f->group);
        coir_spawn(&f->group, coir_new(one, .listener = f->listener, .got = &f->got));
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        EQ(f->got.status, f->round ? -ECANCELED : 0, "%s: round %d", variant, f->round);
        if (!f->got.status)
            close(f->got.fd);
    }
    close(f->client);
    coir_try(f, &f->close, coir_close, .fd = f->listener);
} coir_end

/* What has come counts, wherever it is by then: in the backlog, or accepted by the ring that nobody has looked at.
 * The second of two that wait is cancelled with a connection there, and the first still gets the next; then the
 * listener is closed with one there. */
struct arrived {
    coir_frame_void;
    coir_no_args;
    int listener, clients[3];
    struct got got[3];
    struct coir_group older, younger;
    union {
        struct coir_close close;
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_group_wait wait;
    };
};
static coir_declare(arrived);

coir_body(arrived, f) {
    f->listener = coir_listen("127.0.0.1:0", NULL);
    coir_group_open(f, &f->older);
    coir_group_open(f, &f->younger);
    coir_spawn(&f->older, coir_new(one, .listener = f->listener, .got = &f->got[0], .addr = true));
    SETTLE(f);
    coir_spawn(&f->younger, coir_new(one, .listener = f->listener, .got = &f->got[1], .addr = true));
    SETTLE(f);
    f->clients[1] = client(port_of(f->listener));
    coir_group_cancel(&f->younger);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->younger);
    f->clients[0] = client(port_of(f->listener));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->older);
    coir_group_open(f, &f->older);
    coir_spawn(&f->older, coir_new(one, .listener = f->listener, .got = &f->got[2], .addr = true));
    SETTLE(f);
    f->clients[2] = client(port_of(f->listener));
    coir_try(f, &f->close, coir_close, .fd = f->listener);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->older);
    for (int i = 0; i < 3; i++) {
        EQ(f->got[i].status, 0, "%s: accept %d has what had come", variant, i);
        EQ(ntohs(((struct sockaddr_in *)&f->got[i].addr)->sin_port), port_of(f->clients[i]), "%s: its own", variant);
        close(f->got[i].fd);
        close(f->clients[i]);
    }
} coir_end

/* ---- closing under waiters; connections ahead ---- */

struct closing {
    coir_frame_void;
    coir_args(int waiters; int clients;);
    int listener, client, fds, ended;
    struct got *got;
    struct coir_group group;
    union {
        struct coir_accept accept;
        struct coir_close close;
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_group_wait wait;
    };
};
static coir_declare(closing);

/* One accept, so that the ring accepts ahead; `clients` more connections that nobody takes; or `waiters` that get
 * none. Then the listener is closed. */
coir_body(closing, f) {
    f->fds = open_fds();
    f->got = calloc((size_t)f->waiters + 1, sizeof *f->got);
    f->listener = coir_listen("127.0.0.1:0", NULL);
    f->client = client(port_of(f->listener));
    coir_await(f, &f->accept, coir_accept, .fd = f->listener);
    close(f->accept.result);
    close(f->client);
    for (int i = 0; i < f->clients; i++)
        vanish(port_of(f->listener));
    coir_group_open(f, &f->group);
    for (int i = 0; i < f->waiters; i++)
        coir_spawn(&f->group, coir_new(one, .listener = f->listener, .got = &f->got[i]));
    SETTLE(f);
    coir_try(f, &f->close, coir_close, .fd = f->listener);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    f->ended = 0;
    for (int i = 0; i < f->waiters; i++) {
        f->ended += f->got[i].status == -ECANCELED;
        if (!f->got[i].status)
            close(f->got[i].fd);
    }
    if (!f->clients)
        EQ(f->ended, f->waiters, "%s: a close ends %d waiting accepts", variant, f->waiters);
    EQ(open_fds(), f->fds, "%s: nothing is left open of %d connections", variant, f->clients);
    free(f->got);
} coir_end

/* Two closes of a listener at once; and accepts while it is being closed. */
struct twice {
    coir_frame_void;
    coir_no_args;
    int listener;
    struct got got;
    struct coir_group group;
    struct coir_close closes[2];
    struct coir_task *kids[2];
    struct coir_combine all;
    union {
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_accept accept;
        struct coir_group_wait wait;
    };
};
static coir_declare(twice);

coir_body(twice, f) {
    f->listener = coir_listen("127.0.0.1:0", NULL);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(one, .listener = f->listener, .got = &f->got));
    SETTLE(f);
    f->kids[0] = coir_make(&f->closes[0], coir_close, .fd = f->listener);
    f->kids[1] = coir_make(&f->closes[1], coir_close, .fd = f->listener);
    coir_all(f, &f->all, f->kids, 2);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->got.status, -ECANCELED, "%s: the accept ends", variant);
    EQ(coir_status(&f->closes[0]), 0, "%s: one closes it", variant);
    EQ(coir_status(&f->closes[1]), -EBADF, "%s: for the other it is closed", variant);
    coir_await(f, &f->accept, coir_accept, .fd = f->listener);
    EQ(coir_status(&f->accept), -EBADF, "%s: and for an accept", variant);
} coir_end

struct ahead {
    coir_frame_void;
    coir_no_args;
    int listener, fds, held, right, i;
    int clients[AHEAD];
    struct sockaddr_storage addr;
    union {
        struct coir_accept accept;
        struct coir_close close;
        struct coir_sleep sleep;
        struct settle settle;
    };
};
static coir_declare(ahead);

/* What came while nobody accepted is handed out later, in order, and none is missing. */
coir_body(ahead, f) {
    f->fds = open_fds();
    f->listener = coir_listen("127.0.0.1:0", NULL);
    f->clients[0] = client(port_of(f->listener));
    coir_await(f, &f->accept, coir_accept, .fd = f->listener);
    close(f->accept.result);
    close(f->clients[0]);
    for (f->i = 0; f->i < AHEAD; f->i++) {
        f->clients[f->i] = client(port_of(f->listener));
        if (f->i % 50 == 0)
            SETTLE(f);
    }
    SETTLE(f);
    f->held = open_fds() - f->fds - 1 - AHEAD;
    OK(f->held <= 64 + 100, "%s: no more than a burst beyond 64 is accepted ahead (%d)", variant, f->held);
    f->right = 0;
    for (f->i = 0; f->i < AHEAD; f->i++) {
        coir_await(f, &f->accept, coir_accept, .fd = f->listener, .addr = &f->addr);
        f->right += !coir_status(&f->accept)
            && ntohs(((struct sockaddr_in *)&f->addr)->sin_port) == port_of(f->clients[f->i]);
        close(f->accept.result);
    }
    EQ(f->right, AHEAD, "%s: all come, in order", variant);
    for (int i = 0; i < AHEAD; i++)
        close(f->clients[i]);
    coir_try(f, &f->close, coir_close, .fd = f->listener);
    EQ(open_fds(), f->fds, "%s: nothing is left open", variant);
} coir_end

/* The end of the shard closes what was accepted ahead, when the listener was not closed through coir. */
struct leaves_open {
    coir_frame_void;
    coir_args(int listener;);
    int client;
    union {
        struct coir_accept accept;
        struct coir_sleep sleep;
        struct settle settle;
    };
};
static coir_declare(leaves_open);

coir_body(leaves_open, f) {
    f->client = client(port_of(f->listener));
    coir_await(f, &f->accept, coir_accept, .fd = f->listener);
    close(f->accept.result);
    close(f->client);
    for (int i = 0; i < 20; i++)
        vanish(port_of(f->listener));
    SETTLE(f);
} coir_end

/* ---- a storm ---- */

struct storm {
    coir_frame_void;
    coir_no_args;
    int listener, fds, taken, i;
    unsigned seed;
    struct got got[STORM];
    struct coir_group group;
    union {
        struct coir_accept accept;
        struct coir_close close;
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_group_wait wait;
    };
};
static coir_declare(storm);

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Accepts with deadlines of up to 2 ms, clients at random between them: every connection is handed to an accept or
 * closed, every accept ends once. */
coir_body(storm, f) {
    f->seed = 20;
    f->fds = open_fds();
    f->listener = coir_listen("127.0.0.1:0", NULL);
    coir_group_open(f, &f->group);
    memset(f->got, 0xff, sizeof f->got);
    for (f->i = 0; f->i < STORM; f->i++) {
        coir_spawn(&f->group, coir_new(one, .listener = f->listener, .got = &f->got[f->i],
                                       .deadline = coir_now() + (int64_t)(next(&f->seed) % 2000) * 1000));
        if (next(&f->seed) % 2)
            vanish(port_of(f->listener));
        if (next(&f->seed) % 8 == 0)
            coir_await(f, &f->sleep, coir_sleep, .ns = (int64_t)(next(&f->seed) % 500) * 1000);
    }
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    f->taken = f->i = 0;
    for (int i = 0; i < STORM; i++) {
        f->i += f->got[i].status == -ETIMEDOUT || (f->got[i].status == 0 && f->got[i].fd >= 0);
        f->taken += f->got[i].status == 0;
        if (f->got[i].status == 0)
            close(f->got[i].fd);
    }
    EQ(f->i, STORM, "%s: every accept ended by its deadline or with a connection", variant);
    NOTE("%s: %d connections taken", variant, f->taken);
    coir_try(f, &f->close, coir_close, .fd = f->listener);
    EQ(open_fds(), f->fds, "%s: every descriptor is delivered or closed", variant);
} coir_end

/* ---- ten thousand that vanish ---- */

static void *crowd(void *arg)
{
    const int port = *(int *)arg;
    long failed = 0;

    for (int i = 0; i < VANISHING; i++) {
        int err = vanish(port);
        while (err == -EAGAIN || err == -EADDRNOTAVAIL || err == -ETIMEDOUT)
            err = vanish(port);
        failed += err < 0;
    }
    return (void *)failed;
}

struct vanishing {
    coir_frame_void;
    coir_no_args;
    int listener, port, fds, taken;
    pthread_t thread;
    void *failed;
    uint64_t accepts;
    struct coir_stats stats;
    union {
        struct coir_accept accept;
        struct coir_close close;
    };
};
static coir_declare(vanishing);

coir_body(vanishing, f) {
    f->fds = open_fds();
    f->listener = coir_listen("127.0.0.1:0", NULL);
    f->port = port_of(f->listener);
    coir_stats(0, &f->stats);
    f->accepts = f->stats.accepts;
    EQ(pthread_create(&f->thread, NULL, crowd, &f->port), 0, "%s: a crowd", variant);
    for (f->taken = 0; f->taken < VANISHING; f->taken++) {
        coir_try(f, &f->accept, coir_accept, .fd = f->listener);
        close(f->accept.result);
    }
    pthread_join(f->thread, &f->failed);
    EQ((long)f->failed, 0, "%s: all of them connected", variant);
    coir_stats(0, &f->stats);
    EQ(f->stats.accepts - f->accepts, VANISHING, "%s: and were accepted, and counted", variant);
    coir_try(f, &f->close, coir_close, .fd = f->listener);
    EQ(open_fds(), f->fds, "%s: nothing is left open", variant);
} coir_end

/* ---- the kernel ends the multishot request when it likes ---- */

struct ended {
    coir_frame_void;
    coir_no_args;
    int listener, client, right, i;
    struct got got;
    struct coir_group group;
    union {
        struct coir_close close;
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_group_wait wait;
    };
};
static coir_declare(ended);

/* As the kernel would: cancels whatever is in flight on the descriptor, behind the runtime's back. */
static void end_multishot(int fd)
{
    struct coir_plane *plane = coir_plane_here();
    struct io_uring_sqe *sqe;

    if (plane->kind != &coir_uring || !(sqe = coir_uring_sqe(coir_uring_self(plane))))
        return;
    io_uring_prep_cancel_fd(sqe, fd, IORING_ASYNC_CANCEL_ALL);
    io_uring_sqe_set_data64(sqe, COIR_SLOT_IGNORE);
}

coir_body(ended, f) {
    f->listener = coir_listen("127.0.0.1:0", NULL);
    f->right = 0;
    for (f->i = 0; f->i < 8; f->i++) {
        coir_group_open(f, &f->group);
        if (f->i & 1)
            end_multishot(f->listener);
        coir_spawn(&f->group, coir_new(one, .listener = f->listener, .got = &f->got));
        if (f->i & 2)
            SETTLE(f);
        if (f->i & 4)
            end_multishot(f->listener);
        SETTLE(f);
        f->client = client(port_of(f->listener));
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        f->right += f->got.status == 0;
        close(f->got.fd);
        close(f->client);
    }
    EQ(f->right, 8, "%s: accepts go on when the request ends at any point", variant);
    coir_try(f, &f->close, coir_close, .fd = f->listener);
} coir_end

/* ---- all of it ---- */

static void run_all(const struct coir_options *o)
{
    run("plain", o, coir_new(plain));
    run("bad", o, coir_new(bad));
    run("blocking", o, coir_new(modes, .flags = 0));
    run("non-blocking", o, coir_new(modes, .flags = O_NONBLOCK));
    run("cancelled", o, coir_new(cancelled));
    run("arrived", o, coir_new(arrived));
    run("closing", o, coir_new(closing, .waiters = MANY));
    run("closing with connections ahead", o, coir_new(closing, .clients = 40));
    run("closing with both", o, coir_new(closing, .waiters = 30, .clients = 10));
    run("twice", o, coir_new(twice));
    run("ahead", o, coir_new(ahead));
    run("storm", o, coir_new(storm));
}

static void test_end_of_shard(void)
{
    const int fds = open_fds(), listener = coir_listen("127.0.0.1:0", NULL);

    run("a listener left open", NULL, coir_new(leaves_open, .listener = listener));
    EQ(open_fds(), fds + 1, "%s: only the listener is open after the shard", variant);
    close(listener);
}

int main(void)
{
    static const char *const variants[] = { "", "-multishot", "-multishot,-msg_ring,-defer", "-defer" };
    const struct coir_options tiny = { .ring_entries = 8 };
    const char *plane = getenv("COIR_IO");
    const bool ring = !plane || strcmp(plane, "epoll") != 0;

    WITHOUT_CHANCE("fifo");            /* it scripts the order of steps */
    for (size_t i = 0; i < (ring ? sizeof variants / sizeof *variants : 1); i++) {
        setenv("COIR_URING", variants[i], 1);
        variant = ring ? variants[i] : "epoll";
        run_all(NULL);
        test_end_of_shard();
        if (!ring)
            break;
        if (!strstr(variants[i], "-multishot"))
            run("ended", NULL, coir_new(ended));
        run_all(&tiny);
    }
    setenv("COIR_URING", "", 1);
    run("vanishing", NULL, coir_new(vanishing));
    setenv("COIR_URING", "-multishot", 1);
    run("vanishing", NULL, coir_new(vanishing));
    return DONE();
}
