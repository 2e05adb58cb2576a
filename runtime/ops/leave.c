/* SPDX-License-Identifier: MIT */
/*
 * coir_leave: a close that does not close. What the shard has under way on the descriptor ends, and what its plane
 * remembers of the number is forgotten, so that another shard may use it. No system call but the one that looks whether
 * it is open.
 */
#include <fcntl.h>

#include "runtime/ops/op.h"

enum { QUIETING = 1 };

static int check(struct coir_leave *op)
{
    const struct coir_fd *e = op->fd < 0 ? NULL : coir_fd_find(&coir_plane_here()->fds, op->fd);
    int live;

    if (op->fd < 0 || (e && e->closer))
        return -EBADF;
    if (op->max && !op->accepted)
        return -EFAULT;
    live = coir_arguments_live(&op->task, op->accepted, "coir_leave");
    if (live < 0)
        return live;
    coir_count_syscall();
    return fcntl(op->fd, F_GETFD) < 0 ? -errno : 0;
}

coir_step coir_leave_resume(struct coir_task *t)
{
    struct coir_leave *op = (struct coir_leave *)t;
    struct coir_plane *p = coir_plane_here();

    if (t->state == 0) {
        t->status = (int16_t)check(op);
        op->left = (struct coir_left_){ op->accepted, op->max, 0 };
        if (t->status == 0 && !coir_fd_quiet(p, op->fd, t, &op->left)) {
            t->state = QUIETING;
            return COIR_PARK_;
        }
    }
    if (t->status == 0) {
        coir_fd_forget(p, op->fd);
        op->result = op->left.n;
    }
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}
