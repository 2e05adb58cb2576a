/* SPDX-License-Identifier: MIT */
/*
 * connect: to what listens, to what does not, under a full backlog, cancelled, joined again, and on
 * descriptors of either mode, which it must leave as it found them.
 */
#include "ops/net.h"

static char path[sizeof ((struct sockaddr_un *)0)->sun_path];

static struct sockaddr_un unix_at(const char *name)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };

    snprintf(un.sun_path, sizeof un.sun_path, "%s", name);
    return un;
}

static int unix_listener(int backlog)
{
    const struct sockaddr_un un = unix_at(path);
    const int fd = MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));

    unlink(path);
    MUST(bind(fd, (const struct sockaddr *)&un, sizeof un));
    MUST(listen(fd, backlog));
    return fd;
}

static int tcp_socket(bool nonblocking)
{
    return MUST(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (nonblocking ? SOCK_NONBLOCK : 0), 0));
}

/* ---- plain ---- */

struct plain {
    coir_frame_void;
    coir_args(bool nonblocking;);
    int listener, fd, flags, peer, lost, file;
    struct sockaddr_in in, dead;
    struct sockaddr_un un;
    struct sockaddr_in6 in6;
    struct coir_connect connect;
    struct coir_scope scope;
};
static coir_declare(plain);

#define CONNECT(where, ...) coir_await(f, &f->connect, coir_connect, .fd = f->fd, .addr = (struct sockaddr *)&(where), \
                                       .addrlen = sizeof (where))

coir_body(plain, f) {
    f->listener = tcp_listener(&f->in, 8);
    f->fd = tcp_socket(f->nonblocking);
    f->flags = fcntl(f->fd, F_GETFL);
    CONNECT(f->in);
    EQ(coir_status(&f->connect), 0, "TCP: connects");
    EQ(fcntl(f->fd, F_GETFL), f->flags, "and leaves the descriptor's mode");
    f->peer = MUST(accept4(f->listener, NULL, NULL, SOCK_CLOEXEC));
    EQ(write(f->fd, "x", 1), 1, "to somebody");
    close(f->peer);
    CONNECT(f->in);
    EQ(coir_status(&f->connect), -EISCONN, "a second time: -EISCONN");
    close(f->fd);

    f->lost = tcp_dead_port(&f->dead);
    f->fd = tcp_socket(f->nonblocking);
    CONNECT(f->dead);
    EQ(coir_status(&f->connect), -ECONNREFUSED, "TCP: refused");
    EQ(fcntl(f->fd, F_GETFL), f->flags, "the mode is as it was");
    CONNECT(f->in);
    EQ(coir_status(&f->connect), 0, "the same descriptor can try another address");
    close(f->fd);
    close(f->lost);
    close(f->listener);

    f->listener = unix_listener(8);
    f->un = unix_at(path);
    f->fd = MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (f->nonblocking ? SOCK_NONBLOCK : 0), 0));
    CONNECT(f->un);
    EQ(coir_status(&f->connect), 0, "Unix: connects");
    EQ(fcntl(f->fd, F_GETFL), f->flags, "the mode is as it was");
    CONNECT(f->un);
    EQ(coir_status(&f->connect), -EISCONN, "Unix: a second time");
    close(f->fd);
    close(f->listener);
    f->fd = MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (f->nonblocking ? SOCK_NONBLOCK : 0), 0));
    CONNECT(f->un);
    EQ(coir_status(&f->connect), -ECONNREFUSED, "Unix: a path where nobody listens any more");
    unlink(path);
    CONNECT(f->un);
    EQ(coir_status(&f->connect), -ENOENT, "Unix: no such path");
    CONNECT(f->in);
    EQ(coir_status(&f->connect), -EINVAL, "Unix: an address of another family");
    close(f->fd);

    f->fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    f->in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    f->listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (f->fd < 0 || bind(f->listener, (struct sockaddr *)&f->in6, sizeof f->in6) < 0) {
        SKIP("there is no ::1");
    } else {
        MUST(listen(f->listener, 1));
        MUST(getsockname(f->listener, (struct sockaddr *)&f->in6, &(socklen_t){ sizeof f->in6 }));
        CONNECT(f->in6);
        EQ(coir_status(&f->connect), 0, "IPv6: connects");
    }
    close(f->fd);
    close(f->listener);
} coir_end

struct refuses {
    coir_frame_void;
    coir_no_args;
    int fd, lost;
    struct sockaddr_in in;
    struct coir_connect connect;
};
static coir_declare(refuses);

static void *here(void)
{
    char *volatile p = __builtin_frame_address(0);

    return p - 64;
}

coir_body(refuses, f) {
    f->in = (struct sockaddr_in){ .sin_family = AF_INET };
    f->fd = -1;
    CONNECT(f->in);
    EQ(coir_status(&f->connect), -EBADF, "negative");
    f->fd = closed_fd();
    CONNECT(f->in);
    EQ(coir_status(&f->connect), -EBADF, "closed");
    f->in.sin_family = AF_UNIX;
    CONNECT(f->in);
    EQ(coir_status(&f->connect), -EBADF, "closed, a Unix address");
    f->in.sin_family = AF_INET;
    f->fd = MUST(open("/dev/null", O_RDWR | O_CLOEXEC));
    CONNECT(f->in);
    EQ(coir_status(&f->connect), -ENOTSOCK, "a file");
    close(f->fd);
    f->fd = tcp_socket(false);
    coir_await(f, &f->connect, coir_connect, .fd = f->fd, .addr = NULL, .addrlen = 16);
    EQ(coir_status(&f->connect), -EFAULT, "NULL");
    coir_await(f, &f->connect, coir_connect, .fd = f->fd, .addr = here(), .addrlen = 16);
    EQ(coir_status(&f->connect), -EFAULT, "on the stack");
    coir_await(f, &f->connect, coir_connect, .fd = f->fd, .addr = (struct sockaddr *)&f->in, .addrlen = 1);
    EQ(coir_status(&f->connect), -EINVAL, "too short");
    coir_await(f, &f->connect, coir_connect, .fd = f->fd, .addr = (struct sockaddr *)&f->in, .addrlen = 4000);
    EQ(coir_status(&f->connect), -EINVAL, "too long");
    close(f->fd);
} coir_end

/* ---- where there is no place ---- */

/* Fills a Unix listener's backlog; `n` clients are in it. */
static int fill(const struct sockaddr_un *un, int *clients)
{
    int n = 0;

    for (;;) {
        const int fd = MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (connect(fd, (const struct sockaddr *)un, sizeof *un) < 0) {
            if (errno != EAGAIN)
                abort();
            close(fd);
            return n;
        }
        clients[n++] = fd;
    }
}

struct one_connect {
    coir_frame_void;
    coir_args(int fd; const struct sockaddr *addr; socklen_t len; int *status;);
    struct coir_connect connect;
};
static coir_declare(one_connect);

coir_body(one_connect, f) {
    coir_await(f, &f->connect, coir_connect, .fd = f->fd, .addr = f->addr, .addrlen = f->len);
    *f->status = coir_status(&f->connect);
} coir_end

struct full {
    coir_frame_void;
    coir_args(bool nonblocking;);
    int listener, fd, clients[64], n, status, flags;
    struct sockaddr_un un;
    struct coir_connect connect;
    struct coir_scope scope;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_sleep sleep;
    struct coir_close close;
    struct coir_combine race;
    struct coir_task *kids[2];
};
static coir_declare(full);

static int unix_socket(bool nonblocking)
{
    return MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (nonblocking ? SOCK_NONBLOCK : 0), 0));
}

coir_body(full, f) {
    f->listener = unix_listener(0);
    f->un = unix_at(path);
    f->n = fill(&f->un, f->clients);
    OK(f->n > 0, "the backlog is full");
    f->fd = unix_socket(f->nonblocking);
    f->flags = fcntl(f->fd, F_GETFL);
    coir_within(f, &f->scope, coir_now() - 1, &f->connect, coir_connect, .fd = f->fd, .addr = (struct sockaddr *)&f->un,
                .addrlen = sizeof f->un);
    EQ(coir_status(&f->connect), -ETIMEDOUT, "before: no place");
    coir_within(f, &f->scope, coir_now() + 5 * COIR_MS, &f->connect, coir_connect, .fd = f->fd,
                .addr = (struct sockaddr *)&f->un, .addrlen = sizeof f->un);
    EQ(coir_status(&f->connect), -ETIMEDOUT, "during: no place");
    EQ(fcntl(f->fd, F_GETFL), f->flags, "the mode is as it was");
    f->kids[0] = coir_make(&f->connect, coir_connect, .fd = f->fd, .addr = (struct sockaddr *)&f->un,
                           .addrlen = sizeof f->un);
    f->kids[1] = coir_make(&f->sleep, coir_sleep, .ns = 2 * COIR_MS);
    coir_race(f, &f->race, f->kids, 2);
    EQ(coir_status(&f->connect), -ECANCELED, "and in a race");

    coir_group_open(f, &f->group);
    EQ(coir_spawn(&f->group, coir_new(one_connect, .fd = f->fd, .addr = (struct sockaddr *)&f->un, .len = sizeof f->un,
                                      .status = &f->status)), 0, "spawned");
    coir_await(f, &f->sleep, coir_sleep, .ns = 3 * COIR_MS);
    close(MUST(accept4(f->listener, NULL, NULL, SOCK_CLOEXEC)));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, 0, "a place becomes free: it connects");
    close(f->fd);

    f->fd = unix_socket(f->nonblocking);
    coir_group_open(f, &f->group);
    EQ(coir_spawn(&f->group, coir_new(one_connect, .fd = f->fd, .addr = (struct sockaddr *)&f->un, .len = sizeof f->un,
                                      .status = &f->status)), 0, "spawned");
    coir_await(f, &f->sleep, coir_sleep, .ns = 30 * COIR_MS);    /* by then it waits */
    coir_await(f, &f->close, coir_close, .fd = f->fd);
    f->fd = unix_socket(f->nonblocking);     /* the same number: it must not be mistaken for the other */
    close(MUST(accept4(f->listener, NULL, NULL, SOCK_CLOEXEC)));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, -ECANCELED, "closed while it waits for a place");
    close(f->fd);
    while (f->n > 0)
        close(f->clients[--f->n]);
    close(f->listener);
    unlink(path);
} coir_end

/* ---- TCP that takes its time: a listener with a full backlog drops what asks ---- */

struct slow {
    coir_frame_void;
    coir_args(bool nonblocking;);
    int listener, fd, clients[16], n, status, flags;
    struct sockaddr_in in;
    struct coir_connect connect;
    struct coir_scope scope;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_sleep sleep;
    struct coir_close close;
};
static coir_declare(slow);

/* Asks until one is neither connected nor refused for a while. How many ask. */
static int crowd(const struct sockaddr_in *in, int *clients)
{
    for (int n = 0; n < 16; ) {
        struct pollfd p = { .events = POLLOUT };
        clients[n] = p.fd = tcp_socket(true);
        if (connect(p.fd, (const struct sockaddr *)in, sizeof *in) == 0 || errno != EINPROGRESS)
            abort();
        n++;
        if (poll(&p, 1, 50) == 0)
            return n;
    }
    return 16;
}

#define SLOWLY(when) coir_within(f, &f->scope, when, &f->connect, coir_connect, .fd = f->fd, \
                                 .addr = (struct sockaddr *)&f->in, .addrlen = sizeof f->in)

coir_body(slow, f) {
    f->listener = tcp_listener(&f->in, 0);
    f->n = crowd(&f->in, f->clients);
    OK(f->n < 16, "a listener that answers nobody");
    f->fd = tcp_socket(f->nonblocking);
    f->flags = fcntl(f->fd, F_GETFL);
    SLOWLY(coir_now() - 1);
    EQ(coir_status(&f->connect), -ETIMEDOUT, "before: it has asked, and does not wait");
    SLOWLY(coir_now() + 5 * COIR_MS);
    EQ(coir_status(&f->connect), -ETIMEDOUT, "during: joins that attempt, in vain");
    EQ(fcntl(f->fd, F_GETFL), f->flags, "the mode is as it was");
    while (f->n > 0)
        close(f->clients[--f->n]);
    close(accept4(f->listener, NULL, NULL, SOCK_CLOEXEC));
    coir_await(f, &f->connect, coir_connect, .fd = f->fd, .addr = (struct sockaddr *)&f->in, .addrlen = sizeof f->in);
    EQ(coir_status(&f->connect), 0, "a third time, when there is a place: connected");
    coir_await(f, &f->connect, coir_connect, .fd = f->fd, .addr = (struct sockaddr *)&f->in, .addrlen = sizeof f->in);
    EQ(coir_status(&f->connect), -EISCONN, "a fourth time: it is");
    close(f->fd);
    f->n = crowd(&f->in, f->clients);

    f->fd = tcp_socket(f->nonblocking);
    coir_group_open(f, &f->group);
    EQ(coir_spawn(&f->group, coir_new(one_connect, .fd = f->fd, .addr = (struct sockaddr *)&f->in, .len = sizeof f->in,
                                      .status = &f->status)), 0, "spawned");
    coir_await(f, &f->sleep, coir_sleep, .ns = 3 * COIR_MS);
    coir_await(f, &f->close, coir_close, .fd = f->fd);
    EQ(coir_status(&f->close), 0, "closed while it connects");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, -ECANCELED, "it is told");

    f->fd = tcp_socket(f->nonblocking);
    SLOWLY(coir_now() + 2 * COIR_MS);
    EQ(coir_status(&f->connect), -ETIMEDOUT, "cancelled again");
    close(f->listener);                      /* what asks is refused, or goes on asking until it is */
    coir_await(f, &f->connect, coir_connect, .fd = f->fd, .addr = (struct sockaddr *)&f->in, .addrlen = sizeof f->in);
    EQ(coir_status(&f->connect), -ECONNREFUSED, "joined, and refused");
    close(f->fd);
    while (f->n > 0)
        close(f->clients[--f->n]);
} coir_end

int main(void)
{
    snprintf(path, sizeof path, "/tmp/coir-connect-%d", (int)getpid());
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        NOTE("%s", nonblocking ? "O_NONBLOCK" : "blocking");
        RUN(coir_new(plain, .nonblocking = nonblocking), "plain");
        RUN(coir_new(full, .nonblocking = nonblocking), "full");
        RUN(coir_new(slow, .nonblocking = nonblocking), "slow");
    }
    RUN(coir_new(refuses), "refuses");
    unlink(path);
    return DONE();
}
