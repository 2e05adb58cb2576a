/* SPDX-License-Identifier: MIT */
/*
 * What the socket operations share: how arguments are checked, and which flags are coir's own. Included by
 * runtime/ops only.
 */
#ifndef COIR_RUNTIME_OPS_NET_H
#define COIR_RUNTIME_OPS_NET_H

#include <coir/net.h>

#include "runtime/ops/op.h"

/* Receiving with one of these never waits. */
#define COIR_RECV_NOW (MSG_DONTWAIT | MSG_OOB | MSG_ERRQUEUE)
/* What would not be the same on both planes, or would leave the buffers with the kernel. */
#define COIR_MSG_REFUSED (MSG_WAITALL | MSG_ZEROCOPY)

/* SOCK_STREAM, ... or -EBADF, -ENOTSOCK. */
static inline int coir_socket_type(int fd)
{
    int type = 0;
    socklen_t len = sizeof type;

    coir_count_syscall();
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ? -errno : type;
}

/* Nothing to move: 0 on a stream, 1 where it is a message, or why not. */
static inline int coir_check_nothing(int fd)
{
    const int type = coir_socket_type(fd);

    return type == SOCK_STREAM ? 0 : type < 0 ? type : 1;
}

/* As coir_check_buffer, for a socket. */
static inline int coir_check_bytes(struct coir_task *t, int fd, const void *buf, size_t len, const char *name)
{
    const int check = coir_check_buffer(t, fd, buf, len, name);

    return check ? check : coir_check_nothing(fd);
}

/* For a call that is made here and now, whatever it says. */
static inline int coir_say_now(ssize_t res)
{
    coir_count_syscall();
    return coir_errno(res);
}

/* Splits "host:port" and "[v6]:port": the host is copied, the port's text pointed at. AF_INET6 for one in
 * brackets, 0 for another; -EINVAL, -ENAMETOOLONG (address.c). */
int coir_split_address(const char *text, char *host, size_t size, const char **port);

#endif
