/* SPDX-License-Identifier: MIT */
/*
 * Making sockets and shutting them down: system calls that never wait, so they are made where they stand, on
 * both planes and in cancelled scopes too. They park never, and so need no coir_io.
 */
#include <sys/socket.h>

#include "runtime/ops/net.h"

static int open_socket(const struct coir_socket *op)
{
    const bool nonblocking = coir_plane_here()->kind->nonblocking;
    const int fault = coir_syscall_fault_lasting();

    if (fault)
        return fault;
    return coir_say_now(socket(op->domain, op->type | SOCK_CLOEXEC | (nonblocking ? SOCK_NONBLOCK : 0), op->protocol));
}

coir_step coir_socket_resume(struct coir_task *t)
{
    struct coir_socket *op = (struct coir_socket *)t;
    const int res = coir_arguments_live(t, NULL, "coir_socket") ? -EFAULT : open_socket(op);

    if (res < 0)
        t->status = res;
    else
        op->result = res;
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

coir_step coir_shutdown_resume(struct coir_task *t)
{
    const struct coir_shutdown *op = (const struct coir_shutdown *)t;

    t->status = coir_arguments_live(t, NULL, "coir_shutdown") ? -EFAULT : coir_say_now(shutdown(op->fd, op->how));
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}
