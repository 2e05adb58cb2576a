/* SPDX-License-Identifier: MIT */
/*
 * recv, send, recv_exact, send_all, shutdown: each on pairs of every kind, with every ending a peer, a scope
 * or a close can give them.
 */
#include "ops/net.h"

#include <sys/ioctl.h>

/* ---- what they move ---- */

struct moves {
    coir_frame_void;
    coir_args(enum kind kind;);
    int fd[2];
    char buf[64];
    size_t n;
    union {
        struct coir_recv recv;
        struct coir_send send;
        struct coir_recv_exact exact;
        struct coir_send_all all;
        struct coir_shutdown shutdown;
    };
};
static coir_declare(moves);

coir_body(moves, f) {
    make_pair(f->kind, f->fd);
    coir_get(f, f->n, &f->send, coir_send, .fd = f->fd[0], .buf = "hello", .len = 5);
    EQ(f->n, 5, "send says how many");
    coir_get(f, f->n, &f->recv, coir_recv, .fd = f->fd[1], .buf = f->buf, .len = 3, .flags = MSG_PEEK);
    EQ(f->n, 3, "a peek sees them");
    coir_get(f, f->n, &f->recv, coir_recv, .fd = f->fd[1], .buf = f->buf, .len = sizeof f->buf);
    EQ(f->n, 5, "recv says how many");
    MEM_EQ(f->buf, "hello", 5, "and which");

    coir_await(f, &f->recv, coir_recv, .fd = f->fd[1], .buf = f->buf, .len = 1, .flags = MSG_DONTWAIT);
    EQ(coir_status(&f->recv), -EAGAIN, "MSG_DONTWAIT does not wait");
    coir_get(f, f->n, &f->send, coir_send, .fd = f->fd[0], .buf = "abc", .len = 3, .flags = MSG_DONTWAIT);
    EQ(f->n, 3, "nor to send");
    coir_get(f, f->n, &f->exact, coir_recv_exact, .fd = f->fd[1], .buf = f->buf, .len = 2);
    EQ(f->n, 2, "recv_exact takes no more than it should");
    MEM_EQ(f->buf, "ab", 2, "the first two");
    coir_get(f, f->n, &f->recv, coir_recv, .fd = f->fd[1], .buf = f->buf, .len = 9, .flags = MSG_DONTWAIT);
    EQ(f->n, 1, "and leaves the rest");

    coir_get(f, f->n, &f->all, coir_send_all, .fd = f->fd[0], .buf = "12345", .len = 5);
    EQ(f->n, 5, "send_all counts");
    coir_try(f, &f->shutdown, coir_shutdown, .fd = f->fd[0], .how = SHUT_WR);
    coir_await(f, &f->exact, coir_recv_exact, .fd = f->fd[1], .buf = f->buf, .len = 8);
    EQ(coir_status(&f->exact), -ENODATA, "recv_exact: the end comes too early");
    EQ(f->exact.result, 5, "it says how many there were");
    MEM_EQ(f->buf, "12345", 5, "and has them");
    coir_await(f, &f->exact, coir_recv_exact, .fd = f->fd[1], .buf = f->buf, .len = 8);
    EQ(coir_status(&f->exact), -ENODATA, "recv_exact: at the end");
    EQ(f->exact.result, 0, "nothing is nothing");
    coir_get(f, f->n, &f->recv, coir_recv, .fd = f->fd[1], .buf = f->buf, .len = 8);
    EQ(f->n, 0, "recv: 0 at the end");
    coir_await(f, &f->send, coir_send, .fd = f->fd[0], .buf = "x", .len = 1);
    EQ(coir_status(&f->send), -EPIPE, "send after shutdown is -EPIPE, not a signal");
    coir_await(f, &f->all, coir_send_all, .fd = f->fd[0], .buf = "x", .len = 1);
    EQ(coir_status(&f->all), -EPIPE, "so is send_all");
    EQ(f->all.result, 0, "nothing was sent");
    coir_finally(f) {
        close(f->fd[0]);
        close(f->fd[1]);
    }
} coir_end

/* ---- arguments ---- */

struct refuses {
    coir_frame_void;
    coir_no_args;
    int fd[2], file, lost, seq[2];
    char buf[8];
    union {
        struct coir_recv recv;
        struct coir_send send;
        struct coir_recv_exact exact;
        struct coir_send_all all;
        struct coir_shutdown shutdown;
        struct coir_socket socket;
    };
};
static coir_declare(refuses);

#define REFUSES(slot, name, wanted, what, ...) do { \
    coir_await(f, &f->slot, name, __VA_ARGS__); \
    EQ(coir_status(&f->slot), wanted, #name ": " what); \
    EQ(f->slot.result, 0, #name ": " what ", result"); \
    } while (0)

coir_body(refuses, f) {
    make_pair(UNIX_BLOCKING, f->fd);
    f->file = MUST(open("/dev/null", O_RDWR | O_CLOEXEC));
    f->lost = closed_fd();
    REFUSES(recv, coir_recv, -EBADF, "negative", .fd = -1, .buf = f->buf, .len = 1);
    REFUSES(recv, coir_recv, -EBADF, "closed", .fd = f->lost, .buf = f->buf, .len = 1);
    REFUSES(recv, coir_recv, -EBADF, "closed, no length", .fd = f->lost, .buf = f->buf);
    REFUSES(recv, coir_recv, -ENOTSOCK, "a file", .fd = f->file, .buf = f->buf, .len = 1);
    REFUSES(recv, coir_recv, -EFAULT, "NULL", .fd = f->fd[0], .buf = NULL, .len = 1);
    REFUSES(recv, coir_recv, 0, "no length", .fd = f->fd[0], .buf = NULL);
    REFUSES(recv, coir_recv, -EOPNOTSUPP, "MSG_WAITALL", .fd = f->fd[0], .buf = f->buf, .len = 1,
           .flags = MSG_WAITALL);
    REFUSES(send, coir_send, -EBADF, "negative", .fd = -1, .buf = f->buf, .len = 1);
    REFUSES(send, coir_send, -EBADF, "closed", .fd = f->lost, .buf = f->buf, .len = 1);
    REFUSES(send, coir_send, -ENOTSOCK, "a file", .fd = f->file, .buf = f->buf, .len = 1);
    REFUSES(send, coir_send, -ENOTSOCK, "a file, no length", .fd = f->file, .buf = f->buf);
    REFUSES(send, coir_send, -EFAULT, "NULL", .fd = f->fd[0], .buf = NULL, .len = 1);
    REFUSES(send, coir_send, 0, "no length", .fd = f->fd[0], .buf = NULL);
    REFUSES(send, coir_send, -EOPNOTSUPP, "MSG_ZEROCOPY", .fd = f->fd[0], .buf = f->buf, .len = 1,
           .flags = MSG_ZEROCOPY);
    REFUSES(exact, coir_recv_exact, -EBADF, "closed", .fd = f->lost, .buf = f->buf, .len = 1);
    REFUSES(exact, coir_recv_exact, -ENOTSOCK, "a file", .fd = f->file, .buf = f->buf, .len = 1);
    REFUSES(exact, coir_recv_exact, -EFAULT, "NULL", .fd = f->fd[0], .len = 1);
    REFUSES(exact, coir_recv_exact, 0, "no length", .fd = f->fd[0]);
    REFUSES(exact, coir_recv_exact, -EBADF, "closed, no length", .fd = f->lost);
    REFUSES(all, coir_send_all, -EBADF, "closed", .fd = f->lost, .buf = f->buf, .len = 1);
    REFUSES(all, coir_send_all, -ENOTSOCK, "a file", .fd = f->file, .buf = f->buf, .len = 1);
    REFUSES(all, coir_send_all, -EFAULT, "NULL", .fd = f->fd[0], .len = 1);
    REFUSES(all, coir_send_all, 0, "no length", .fd = f->fd[0]);
    REFUSES(socket, coir_socket, -EAFNOSUPPORT, "no family", .domain = 9999, .type = SOCK_STREAM);
    REFUSES(socket, coir_socket, -EINVAL, "no type", .domain = AF_UNIX, .type = 63);

    coir_await(f, &f->shutdown, coir_shutdown, .fd = f->lost, .how = SHUT_RD);
    EQ(coir_status(&f->shutdown), -EBADF, "coir_shutdown: closed");
    coir_await(f, &f->shutdown, coir_shutdown, .fd = f->file, .how = SHUT_RD);
    EQ(coir_status(&f->shutdown), -ENOTSOCK, "coir_shutdown: a file");
    coir_await(f, &f->shutdown, coir_shutdown, .fd = f->fd[0], .how = 17);
    EQ(coir_status(&f->shutdown), -EINVAL, "coir_shutdown: no such way");
    coir_get(f, f->lost, &f->socket, coir_socket, .domain = AF_INET, .type = SOCK_STREAM);
    REFUSES(recv, coir_recv, -ENOTCONN, "not connected", .fd = f->lost, .buf = f->buf, .len = 1);
    REFUSES(send, coir_send, -EPIPE, "not connected", .fd = f->lost, .buf = f->buf, .len = 1);
    coir_await(f, &f->shutdown, coir_shutdown, .fd = f->lost, .how = SHUT_RD);
    EQ(coir_status(&f->shutdown), -ENOTCONN, "coir_shutdown: not connected");
    OK(fcntl(f->lost, F_GETFD) & FD_CLOEXEC, "coir_socket: close-on-exec");
    EQ(!!(fcntl(f->lost, F_GETFL) & O_NONBLOCK), !strcmp(coir_plane_name(), "epoll"),
           "coir_socket: O_NONBLOCK as the plane needs");
    close(f->lost);

    /* Messages: an empty one is one. */
    MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, f->seq));
    coir_try(f, &f->send, coir_send, .fd = f->seq[0], .buf = NULL, .len = 0);
    coir_try(f, &f->send, coir_send, .fd = f->seq[0], .buf = "ab", .len = 2);
    coir_await(f, &f->recv, coir_recv, .fd = f->seq[1], .buf = f->buf, .len = 8);
    EQ(coir_status(&f->recv), 0, "an empty message arrives");
    EQ(f->recv.result, 0, "empty");
    coir_await(f, &f->recv, coir_recv, .fd = f->seq[1], .buf = f->buf, .len = 8);
    EQ(f->recv.result, 2, "before the next one");
    coir_finally(f) {
        close(f->fd[0]);
        close(f->fd[1]);
        close(f->seq[0]);
        close(f->seq[1]);
        close(f->file);
    }
} coir_end

/* ---- scopes ---- */

struct scopes {
    coir_frame_void;
    coir_args(enum kind kind;);
    int fd[2];
    char buf[8], other[8];
    char *big;
    size_t n, taken;
    struct coir_scope scope;
    struct coir_combine race;
    struct coir_task *kids[2];
    struct coir_sleep sleep;
    struct coir_recv recv, recv2;
    struct coir_recv_exact exact;
    struct coir_send_all all;
    struct coir_send send;
    struct coir_shutdown shutdown;
    struct coir_socket socket;
};
static coir_declare(scopes);

enum { BIG = 8 << 20 };

coir_body(scopes, f) {
    f->big = calloc(1, BIG);
    make_pair(f->kind, f->fd);

    coir_within(f, &f->scope, coir_now() - 1, &f->recv, coir_recv, .fd = f->fd[1], .buf = f->buf, .len = 8);
    EQ(coir_status(&f->recv), -ETIMEDOUT, "before: recv without data");
    MUST((int)write(f->fd[0], "xy", 2));
    coir_within(f, &f->scope, coir_now() - 1, &f->recv, coir_recv, .fd = f->fd[1], .buf = f->buf, .len = 8);
    EQ(coir_status(&f->recv), 0, "before: recv with data");
    EQ(f->recv.result, 2, "has it");
    coir_within(f, &f->scope, coir_now() - 1, &f->send, coir_send, .fd = f->fd[1], .buf = "z", .len = 1);
    EQ(coir_status(&f->send), 0, "before: what can be sent is sent");
    coir_try(f, &f->recv, coir_recv, .fd = f->fd[0], .buf = f->buf, .len = 8);
    EQ(f->recv.result, 1, "and arrives");
    coir_within(f, &f->scope, coir_now() - 1, &f->socket, coir_socket, .domain = AF_UNIX, .type = SOCK_STREAM);
    EQ(coir_status(&f->socket), 0, "before: a socket is made all the same");
    close(f->socket.result);

    coir_within(f, &f->scope, coir_now() + 5 * COIR_MS, &f->recv, coir_recv, .fd = f->fd[1], .buf = f->buf, .len = 8);
    EQ(coir_status(&f->recv), -ETIMEDOUT, "during: recv");
    EQ(f->recv.result, 0, "nothing came");
    MUST((int)write(f->fd[0], "abc", 3));
    coir_within(f, &f->scope, coir_now() + 5 * COIR_MS, &f->exact, coir_recv_exact, .fd = f->fd[1],
           .buf = f->buf, .len = 5);
    EQ(coir_status(&f->exact), -ETIMEDOUT, "during: recv_exact");
    EQ(f->exact.result, 3, "what came counts");
    MEM_EQ(f->buf, "abc", 3, "and is there");
    coir_within(f, &f->scope, coir_now() + 5 * COIR_MS, &f->all, coir_send_all, .fd = f->fd[0], .buf = f->big,
           .len = BIG);
    EQ(coir_status(&f->all), -ETIMEDOUT, "during: send_all to one who does not read");
    f->n = f->all.result;
    OK(f->n < BIG, "what went counts");
    f->taken = 0;
    for (;;) {
        coir_await(f, &f->recv, coir_recv, .fd = f->fd[1], .buf = f->big, .len = BIG, .flags = MSG_DONTWAIT);
        if (coir_status(&f->recv) == -EAGAIN && f->taken < f->n)   /* TCP: still under way */
            coir_try(f, &f->recv, coir_recv, .fd = f->fd[1], .buf = f->big, .len = BIG);
        if (coir_status(&f->recv) < 0)
            break;
        f->taken += f->recv.result;
    }
    EQ(f->taken, f->n, "exactly that much arrived");

    f->kids[0] = coir_make(&f->recv, coir_recv, .fd = f->fd[1], .buf = f->buf, .len = 8);
    f->kids[1] = coir_make(&f->sleep, coir_sleep, .ns = 3 * COIR_MS);
    coir_race(f, &f->race, f->kids, 2);
    EQ(f->race.result, 1, "a race against a sleep is lost");
    EQ(coir_status(&f->recv), -ECANCELED, "by being cancelled");

    /* Both have data when the first ends: the other one has it, or left it in the socket. */
    f->kids[0] = coir_make(&f->recv, coir_recv, .fd = f->fd[1], .buf = f->buf, .len = 8);
    f->kids[1] = coir_make(&f->recv2, coir_recv, .fd = f->fd[0], .buf = f->other, .len = 8);
    MUST((int)write(f->fd[0], "1", 1));
    MUST((int)write(f->fd[1], "2", 1));
    coir_race(f, &f->race, f->kids, 2);
    EQ(coir_status(&f->race), 0, "two at once: one wins");
    if (coir_status(&f->recv) == -ECANCELED)
        coir_try(f, &f->recv, coir_recv, .fd = f->fd[1], .buf = f->buf, .len = 8);
    if (coir_status(&f->recv2) == -ECANCELED)
        coir_try(f, &f->recv2, coir_recv, .fd = f->fd[0], .buf = f->other, .len = 8);
    EQ(f->recv.result, 1, "nothing is lost on the one side");
    EQ(f->buf[0], '1', "nor changed");
    EQ(f->recv2.result, 1, "nor on the other");
    EQ(f->other[0], '2', "nor there");
    coir_finally(f) {
        close(f->fd[0]);
        close(f->fd[1]);
        free(f->big);
    }
} coir_end

/* Cancelling at every distance from the end: no byte is lost, none comes twice. */
struct storm {
    coir_frame_void;
    coir_args(enum kind kind;);
    int fd[2], i;
    unsigned char buf[4], next, bad;
    struct coir_scope scope;
    struct coir_recv recv;
    struct coir_pass pass;
    int lost, won;
};
static coir_declare(storm);

coir_body(storm, f) {
    make_pair(f->kind, f->fd);
    f->next = f->bad = 0;
    f->lost = f->won = 0;
    for (f->i = 0; f->i < 400; f->i++) {
        unsigned char byte;
        byte = (unsigned char)f->won;
        if (f->i % 3 != 2)
            MUST((int)write(f->fd[0], &byte, 1));
        coir_within(f, &f->scope, coir_now() + (f->i % 7) * 3000, &f->recv, coir_recv, .fd = f->fd[1],
               .buf = f->buf, .len = 1);
        if (coir_status(&f->recv) == -ETIMEDOUT) {
            f->lost++;
            coir_await(f, &f->recv, coir_recv, .fd = f->fd[1], .buf = f->buf, .len = 1, .flags = MSG_DONTWAIT);
        }
        if (coir_status(&f->recv) == -EAGAIN && f->i % 3 != 2)    /* TCP: still under way */
            coir_try(f, &f->recv, coir_recv, .fd = f->fd[1], .buf = f->buf, .len = 1);
        if (coir_status(&f->recv) == -EAGAIN)
            continue;
        coir_check(f, &f->recv);
        f->bad |= f->buf[0] != f->next;
        f->next++;
        f->won++;
    }
    EQ(f->won, 267, "a storm of deadlines loses no byte");
    EQ(f->bad, 0, "and keeps their order");
    OK(f->lost >= 133, "some did time out");
    coir_finally(f) {
        close(f->fd[0]);
        close(f->fd[1]);
    }
} coir_end

/* ---- peers and closes ---- */

struct reader {
    coir_frame(int);
    coir_args(int fd; int how; int *status; size_t *n;);
    char buf[16];
    union {
        struct coir_recv recv;
        struct coir_recv_exact exact;
        struct coir_send_all all;
    };
};
static coir_declare(reader);

static char ocean[BIG];

coir_body(reader, f) {
    if (f->how == 0) {
        coir_await(f, &f->recv, coir_recv, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf);
        *f->status = coir_status(&f->recv);
        *f->n = f->recv.result;
    } else if (f->how == 1) {
        coir_await(f, &f->exact, coir_recv_exact, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf);
        *f->status = coir_status(&f->exact);
        *f->n = f->exact.result;
    } else {
        coir_await(f, &f->all, coir_send_all, .fd = f->fd, .buf = ocean, .len = sizeof ocean);
        *f->status = coir_status(&f->all);
        *f->n = f->all.result;
    }
} coir_end

struct endings {
    coir_frame_void;
    coir_args(enum kind kind;);
    int fd[2], how, status;
    size_t n;
    struct coir_group group;
    union {
        struct coir_group_wait wait;
        struct coir_sleep sleep;
        struct coir_close close;
        struct coir_recv recv;
    };
};
static coir_declare(endings);

/* How many bytes have come and were not taken. */
static int unread(int fd)
{
    int n = 0;

    MUST(ioctl(fd, FIONREAD, &n));
    return n;
}

coir_body(endings, f) {
    for (f->how = 0; f->how < 3; f->how++) {
        coir_group_open(f, &f->group);
        make_pair(f->kind, f->fd);
        EQ(coir_spawn(&f->group, coir_new(reader, .fd = f->fd[1], .how = f->how, .status = &f->status,
               .n = &f->n)), 0, "spawned");
        coir_await(f, &f->sleep, coir_sleep, .ns = 2 * COIR_MS);
        if (f->how == 1)
            MUST((int)write(f->fd[0], "abc", 3));
        do
            coir_await(f, &f->sleep, coir_sleep, .ns = 2 * COIR_MS);
        while (f->how == 1 && unread(f->fd[1]) > 0);
        coir_await(f, &f->close, coir_close, .fd = f->fd[1]);
        EQ(coir_status(&f->close), 0, "closed under a wait");
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        EQ(f->status, -ECANCELED, "%s: the wait is told",
               f->how == 0 ? "recv" : f->how == 1 ? "recv_exact" : "send_all");
        if (f->how == 1)
            EQ(f->n, 3, "recv_exact: with what it had");
        if (f->how == 2)
            OK(f->n > 0 && f->n < BIG, "send_all: with what it had sent");
        close(f->fd[0]);
    }
    for (f->how = 0; f->how < 3; f->how++) {
        coir_group_open(f, &f->group);
        make_pair(f->kind, f->fd);
        EQ(coir_spawn(&f->group, coir_new(reader, .fd = f->fd[1], .how = f->how, .status = &f->status,
               .n = &f->n)), 0, "spawned");
        coir_await(f, &f->sleep, coir_sleep, .ns = 4 * COIR_MS);
        close_rudely(f->fd[0]);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        if (f->kind == TCP_BLOCKING || f->kind == TCP_NONBLOCKING)
            EQ(f->status, f->how == 2 && f->status == -EPIPE ? -EPIPE : -ECONNRESET, "a reset connection");
        else
            EQ(f->status,
                   f->how == 0 ? 0 : f->how == 1 ? -ENODATA : f->status == -ECONNRESET ? -ECONNRESET
                   : -EPIPE, "an end");
        close(f->fd[1]);
    }
} coir_end

/* One who does not give up: a wait begun between the end of the last one and the close finds no descriptor. */
struct stubborn {
    coir_frame_void;
    coir_args(int fd; int *first; int *second;);
    char buf[16];
    struct coir_recv recv;
};
static coir_declare(stubborn);

coir_body(stubborn, f) {
    coir_await(f, &f->recv, coir_recv, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf);
    *f->first = coir_status(&f->recv);
    coir_await(f, &f->recv, coir_recv, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf);
    *f->second = coir_status(&f->recv);
} coir_end

struct insists {
    coir_frame_void;
    coir_args(enum kind kind;);
    int fd[2], first, second;
    struct coir_group group;
    struct coir_scope scope;
    union {
        struct coir_group_wait wait;
        struct coir_sleep sleep;
        struct coir_close close;
    };
};
static coir_declare(insists);

coir_body(insists, f) {
    make_pair(f->kind, f->fd);
    coir_group_open(f, &f->group);
    EQ(coir_spawn(&f->group, coir_new(stubborn, .fd = f->fd[1], .first = &f->first, .second = &f->second)), 0,
       "spawned");
    coir_await(f, &f->sleep, coir_sleep, .ns = 2 * COIR_MS);
    coir_await(f, &f->close, coir_close, .fd = f->fd[1]);
    EQ(coir_status(&f->close), 0, "closed");
    coir_within(f, &f->scope, coir_now() + 10 * COIR_S, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), 0, "nobody had to be cancelled");
    EQ(f->first, -ECANCELED, "a wait is ended by a close");
    EQ(f->second, -EBADF, "another one finds it closed");
    close(f->fd[0]);
} coir_end

/* ---- much ---- */

struct slow_reader {
    coir_frame_void;
    coir_args(int fd; size_t total; bool *good;);
    size_t at;
    int rounds;
    unsigned char buf[50000];
    union {
        struct coir_recv recv;
        struct coir_sleep sleep;
    };
};
static coir_declare(slow_reader);

coir_body(slow_reader, f) {
    f->at = 0;
    f->rounds = 0;
    for (;;) {
        coir_try(f, &f->recv, coir_recv, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf);
        if (f->recv.result == 0)
            break;
        if (!is_pattern(f->buf, f->at, f->recv.result))
            *f->good = false;
        f->at += f->recv.result;
        if (++f->rounds % 64 == 0)
            coir_try(f, &f->sleep, coir_sleep, .ns = 300000);
    }
    *f->good &= f->at == f->total;
} coir_end

struct much {
    coir_frame_void;
    coir_args(enum kind kind;);
    int fd[2];
    unsigned char *buf;
    size_t n;
    bool good;
    struct coir_group group;
    union {
        struct coir_group_wait wait;
        struct coir_send_all all;
        struct coir_recv_exact exact;
        struct coir_shutdown shutdown;
    };
};
static coir_declare(much);

enum { MUCH = 10000000 };

coir_body(much, f) {
    make_pair(f->kind, f->fd);
    make_narrow(f->kind, f->fd);
    f->buf = malloc(MUCH);
    for (size_t i = 0; i < MUCH; i++)
        f->buf[i] = pattern(i);
    f->good = true;
    coir_group_open(f, &f->group);
    EQ(coir_spawn(&f->group, coir_new(slow_reader, .fd = f->fd[1], .total = MUCH, .good = &f->good)), 0, "spawned");
    coir_get(f, f->n, &f->all, coir_send_all, .fd = f->fd[0], .buf = f->buf, .len = MUCH);
    EQ(f->n, MUCH, "10 MB to a slow reader");
    coir_try(f, &f->shutdown, coir_shutdown, .fd = f->fd[0], .how = SHUT_WR);
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        EQ(coir_status(&f->wait), 0, "who has read");
        OK(f->good, "every byte in its place");
        close(f->fd[0]);
        close(f->fd[1]);
        free(f->buf);
    }
} coir_end

struct writer {
    coir_frame_void;
    coir_args(int fd; const unsigned char *buf; size_t len;);
    size_t at;
    union {
        struct coir_send send;
        struct coir_sleep sleep;
        struct coir_pass pass;
    };
};
static coir_declare(writer);

/* Sends in pieces of 1, 2, 3... bytes, each by itself. */
coir_body(writer, f) {
    for (f->at = 0; f->at < f->len;) {
        coir_try(f, &f->send, coir_send, .fd = f->fd, .buf = f->buf + f->at,
                 .len = f->at + f->at / 3 + 1 > f->len ? f->len - f->at : f->at / 3 + 1);
        f->at += f->send.result;
        coir_try(f, &f->sleep, coir_sleep, .ns = 100000);
    }
} coir_end

struct segments {
    coir_frame_void;
    coir_args(enum kind kind;);
    int fd[2];
    unsigned char sent[2000], got[2000];
    struct coir_group group;
    union {
        struct coir_group_wait wait;
        struct coir_recv_exact exact;
    };
};
static coir_declare(segments);

coir_body(segments, f) {
    make_pair(f->kind, f->fd);
    for (size_t i = 0; i < sizeof f->sent; i++)
        f->sent[i] = pattern(i);
    coir_group_open(f, &f->group);
    EQ(coir_spawn(&f->group, coir_new(writer, .fd = f->fd[0], .buf = f->sent, .len = sizeof f->sent)), 0, "spawned");
    coir_try(f, &f->exact, coir_recv_exact, .fd = f->fd[1], .buf = f->got, .len = sizeof f->got);
    EQ(f->exact.result, sizeof f->got, "recv_exact over many segments");
    MEM_EQ(f->got, f->sent, sizeof f->got, "in their order");
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        close(f->fd[0]);
        close(f->fd[1]);
    }
} coir_end

/* ---- law 1 ---- */

struct on_stack {
    coir_frame_void;
    coir_no_args;
    int fd[2];
    union {
        struct coir_recv recv;
        struct coir_send_all all;
    };
};
static coir_declare(on_stack);

static void *here(void)
{
    char *volatile p = __builtin_frame_address(0);

    return p - 64;
}

coir_body(on_stack, f) {
    make_pair(UNIX_BLOCKING, f->fd);
    coir_await(f, &f->recv, coir_recv, .fd = f->fd[0], .buf = here(), .len = 8);
    EQ(coir_status(&f->recv), -EFAULT, "recv into the C stack");
    coir_await(f, &f->all, coir_send_all, .fd = f->fd[0], .buf = here(), .len = 8);
    EQ(coir_status(&f->all), -EFAULT, "send_all from it");
    close(f->fd[0]);
    close(f->fd[1]);
} coir_end

int main(void)
{
    WITHOUT_CHANCE("whole");           /* it says how many bytes there are at once */
    for (enum kind k = 0; k < KINDS; k++) {
        NOTE("%s", kind_names[k]);
        RUN(coir_new(moves, .kind = k), "moves");
        RUN(coir_new(scopes, .kind = k), "scopes");
        RUN(coir_new(storm, .kind = k), "storm");
        RUN(coir_new(endings, .kind = k), "endings");
        RUN(coir_new(insists, .kind = k), "insists");
        RUN(coir_new(segments, .kind = k), "segments");
        RUN(coir_new(much, .kind = k), "much");
    }
    RUN(coir_new(refuses), "refuses");
    RUN(coir_new(on_stack), "on the stack");
    return DONE();
}
