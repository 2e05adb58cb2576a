/* SPDX-License-Identifier: MIT */
/*
 * Clients for the tests of listeners, in plain blocking calls: a connect to a loopback listener is answered by
 * the kernel, from the backlog, so a coroutine body may make it too. What a process has open; and a pause in
 * which a shard gets on with whatever it can.
 */
#ifndef COIR_TESTS_OPS_CLIENTS_H
#define COIR_TESTS_OPS_CLIENTS_H

#include <arpa/inet.h>
#include <coir/coir.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int port_of(int fd) __attribute__((unused));
static int client(int port) __attribute__((unused));
static int vanish(int port) __attribute__((unused));
static int open_fds(void) __attribute__((unused));

/* Of a socket on IPv4 or IPv6; -1 for another. */
static int port_of(int fd)
{
    struct sockaddr_storage at;
    socklen_t len = sizeof at;

    if (getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        return -1;
    return ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
                                          : ((struct sockaddr_in *)&at)->sin_port);
}

/* A connected socket, or a negative errno. */
static int client(int port)
{
    const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    const int err = -errno;
    close(fd);
    return err;
}

/* Connects and is gone, by RST, so that no port lingers. 0 or a negative errno. */
static int vanish(int port)
{
    const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
    const int fd = client(port);

    if (fd < 0)
        return fd;
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fd);
    return 0;
}

/* How many descriptors this process has open. */
static int open_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 3;                        /* ".", "..", and the folder's own */
}

/* Several turns of the shard, however late its thread is: what needs no time is done by then. */
struct settle {
    coir_frame_void;
    coir_no_args;
    int i;
    struct coir_sleep sleep;
};
static coir_declare(settle) __attribute__((unused));

coir_body(settle, f) {
    for (f->i = 0; f->i < 10; f->i++)
        coir_await(f, &f->sleep, coir_sleep, .ns = 300 * COIR_US);
} coir_end

#define SETTLE(f) coir_await(f, &(f)->settle, settle)

#endif
