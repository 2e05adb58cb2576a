/* SPDX-License-Identifier: MIT */
/*
 * How an operation is written: a struct coir_io_kind that says what it is, argument checks, and the body of a
 * leaf that has two states. Most bodies are two calls:
 *
 *      coir_step coir_recv_resume(struct coir_task *t)
 *      {
 *          struct coir_recv *op = (struct coir_recv *)t;
 *
 *          if (t->state == 0 && !coir_op_begins(t, &op->io, &kind, op->fd, check(op)))
 *              return COIR_PARK_;
 *          return coir_op_ends(t, &op->io, &op->result);
 *      }
 *
 * A check gives 1 to go on, 0 to end at once with success and a zero result, or a negative errno. An
 * operation must not be touched after it has parked, nor let its frame be touched by the kernel after it has
 * ended.
 */
#ifndef COIR_RUNTIME_OPS_OP_H
#define COIR_RUNTIME_OPS_OP_H

#include <liburing.h>
#include <unistd.h>

#include "runtime/plane/plane.h"

#define COIR_IO_LARGEST 0x7ffff000u      /* bytes moved at once: what read(2) does */

static inline size_t coir_io_length(size_t len)
{
    return len < COIR_IO_LARGEST ? len : COIR_IO_LARGEST;
}

/* How much of `len` the kernel is asked to read from `fd`, or to write. */
static inline size_t coir_io_reads(int fd, size_t len)
{
    return coir_torture_part(fd, coir_io_length(len), false);
}

static inline size_t coir_io_writes(int fd, size_t len)
{
    return coir_torture_part(fd, coir_io_length(len), true);
}

/* 1: go on; 0: nothing to do; negative: no. For a buffer of `len` bytes. */
static inline int coir_check_buffer(struct coir_task *t, int fd, const void *buf, size_t len, const char *name)
{
    if (fd < 0)
        return -EBADF;
    if (!buf && len)
        return -EFAULT;
    if (coir_arguments_live(t, buf, name))
        return -EFAULT;
    return len != 0;
}

/* For one that has no buffer, or a path or structure at `p`. */
static inline int coir_check_pointer(struct coir_task *t, const void *p, const char *name)
{
    return !p || coir_arguments_live(t, p, name) ? -EFAULT : 1;
}

/* The same for `n` pieces (descriptor.c). */
int coir_check_iov(struct coir_task *t, int fd, const struct iovec *iov, int n, const char *name);

/* Begins, or ends at once. True: it has ended, and io->res says how. */
static inline bool coir_op_begins(struct coir_task *t, struct coir_io *io, const struct coir_io_kind *kind, int fd,
                                  int check)
{
    if (check > 0)
        return coir_io_begin(t, io, kind, fd);
    io->res = check;
    return true;
}

/* The end of an operation whose result is a number of bytes. */
static inline coir_step coir_op_ends(struct coir_task *t, const struct coir_io *io, size_t *result)
{
    if (io->res < 0)
        t->status = io->res;
    else
        *result = (size_t)io->res;
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

/* The end of one whose result is a descriptor or another int; NULL: it has none. */
static inline coir_step coir_op_ends_int(struct coir_task *t, const struct coir_io *io, int *result)
{
    if (io->res < 0)
        t->status = io->res;
    else if (result)
        *result = io->res;
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

enum { COIR_OP_AGAIN = 2 };              /* state of an operation that has given others a turn */

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

/* A system call's way of saying it into ours. */
static inline int coir_errno(ssize_t res)
{
    return res < 0 ? -errno : (int)res;
}

#endif
