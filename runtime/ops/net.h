/* SPDX-License-Identifier: MIT */
/*
 * What the socket operations share: how arguments are checked, which flags are coir's own, and the turn that
 * an operation of many system calls gives to others. Included by runtime/ops only.
 */
#ifndef COIR_RUNTIME_OPS_NET_H
#define COIR_RUNTIME_OPS_NET_H

#include <coir/net.h>

#include "runtime/ops/op.h"

/* Receiving with one of these never waits. */
#define COIR_RECV_NOW (MSG_DONTWAIT | MSG_OOB | MSG_ERRQUEUE)
/* What would not be the same on both planes, or would leave the buffers with the kernel. */
#define COIR_MSG_REFUSED (MSG_WAITALL | MSG_ZEROCOPY)

enum { COIR_OP_AGAIN = 2 };              /* state of an operation that has given others a turn */

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

/* How often the number was closed. What works on a descriptor in several steps notes it before the first and
 * compares before the next: between them the number may have become another file's. */
static inline uint32_t coir_fd_closes(int fd)
{
    const struct coir_fd *e = coir_fd_find(&coir_plane_here()->fds, fd);

    return e ? e->closes : 0;
}

/* True while it is the file that it was when `closes` was noted, and is not being closed. */
static inline bool coir_fd_is_still(int fd, uint32_t closes)
{
    const struct coir_fd *e = coir_fd_find(&coir_plane_here()->fds, fd);

    return !e || (!e->closer && e->closes == closes);
}

/* True when a loop of calls that never wait has had its share of the step: return COIR_PARK_, the body runs
 * again with state COIR_OP_AGAIN. */
static inline bool coir_op_gives_turn(struct coir_task *t)
{
    if (coir_here.budget > 1) {
        coir_here.budget--;
        return false;
    }
    t->state = COIR_OP_AGAIN;
    t->abort = NULL;
    coir_ready(t);
    return true;
}

/* Splits "host:port" and "[v6]:port": the host is copied, the port's text pointed at. AF_INET6 for one in
 * brackets, 0 for another; -EINVAL, -ENAMETOOLONG (address.c). */
int coir_split_address(const char *text, char *host, size_t size, const char **port);

#endif
