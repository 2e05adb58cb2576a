/* SPDX-License-Identifier: MIT */
/*
 * What the socket tests share: connected pairs of every kind, without coir's help, and a count of this
 * process's descriptors. Everything here blocks, and says what went wrong by ending the program.
 */
#ifndef COIR_TESTS_OPS_NET_H
#define COIR_TESTS_OPS_NET_H

#include <arpa/inet.h>
#include <coir/coir.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tap.h"

enum kind { UNIX_BLOCKING, UNIX_NONBLOCKING, TCP_BLOCKING, TCP_NONBLOCKING, KINDS };
static const char *const kind_names[] = { "unix, blocking", "unix, O_NONBLOCK", "TCP, blocking", "TCP, O_NONBLOCK" };

TAP_UNUSED static int must(int res, const char *what)
{
    if (res < 0) {
        perror(what);
        abort();
    }
    return res;
}
#define MUST(call) must((call), #call)

/* A listening socket on the loopback, its address in `at`. */
TAP_UNUSED static int tcp_listener(struct sockaddr_in *at, int backlog)
{
    socklen_t len = sizeof *at;
    const int fd = MUST(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));

    memset(at, 0, sizeof *at);
    at->sin_family = AF_INET;
    at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    MUST(bind(fd, (struct sockaddr *)at, sizeof *at));
    MUST(listen(fd, backlog));
    MUST(getsockname(fd, (struct sockaddr *)at, &len));
    return fd;
}

/* A loopback port that nobody listens on: bound, so that nobody else gets it. The descriptor is the caller's. */
TAP_UNUSED static int tcp_dead_port(struct sockaddr_in *at)
{
    socklen_t len = sizeof *at;
    const int fd = MUST(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));

    memset(at, 0, sizeof *at);
    at->sin_family = AF_INET;
    at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    MUST(bind(fd, (struct sockaddr *)at, sizeof *at));
    MUST(getsockname(fd, (struct sockaddr *)at, &len));
    return fd;
}

TAP_UNUSED static void set_nonblocking(int fd)
{
    MUST(fcntl(fd, F_SETFL, MUST(fcntl(fd, F_GETFL)) | O_NONBLOCK));
}

TAP_UNUSED static void make_pair(enum kind kind, int fds[2])
{
    if (kind == UNIX_BLOCKING || kind == UNIX_NONBLOCKING) {
        MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
    } else {
        struct sockaddr_in at;
        const int one = 1, l = tcp_listener(&at, 1);
        fds[0] = MUST(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        MUST(connect(fds[0], (struct sockaddr *)&at, sizeof at));
        fds[1] = MUST(accept4(l, NULL, NULL, SOCK_CLOEXEC));
        MUST(setsockopt(fds[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one));
        MUST(setsockopt(fds[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one));
        close(l);
    }
    if (kind == UNIX_NONBLOCKING || kind == TCP_NONBLOCKING) {
        set_nonblocking(fds[0]);
        set_nonblocking(fds[1]);
    }
}

/* Small buffers, so that a transfer takes many calls; smaller ones than that make TCP wait for its timers. */
TAP_UNUSED static void make_narrow(enum kind kind, int fds[2])
{
    const int size = kind == UNIX_BLOCKING || kind == UNIX_NONBLOCKING ? 4096 : 65536;

    for (int i = 0; i < 2; i++) {
        MUST(setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof size));
        MUST(setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &size, sizeof size));
    }
}

/* The next close resets the connection instead of ending it. */
TAP_UNUSED static void close_rudely(int fd)
{
    const struct linger l = { .l_onoff = 1, .l_linger = 0 };

    MUST(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l));
    MUST(close(fd));
}

/* A number that is no descriptor. */
TAP_UNUSED static int closed_fd(void)
{
    const int fd = MUST(open("/dev/null", O_RDONLY | O_CLOEXEC));

    close(fd);
    return fd;
}

TAP_UNUSED static int count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* A byte of a long pattern with no short period. */
TAP_UNUSED static unsigned char pattern(size_t i)
{
    return (unsigned char)(i * 31 + (i >> 8) * 7 + (i >> 16));
}

TAP_UNUSED static bool is_pattern(const unsigned char *p, size_t from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] != pattern(from + i))
            return false;
    }
    return true;
}

/* Runs one task to its end on a shard of its own, and checks that it left no descriptor behind. */
#define RUN(task, ...) do { \
    const int fds_before_ = count_fds(); \
    EQ(coir_run(NULL, task), 0, __VA_ARGS__); \
    EQ(count_fds(), fds_before_, "no descriptor is left by: " __VA_ARGS__); \
    } while (0)

#endif
