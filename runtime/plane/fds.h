/* SPDX-License-Identifier: MIT */
/*
 * Who waits on which descriptor: a table by number, one a shard. It is how a close finds the operations it
 * has to end, and where streams keep what outlives one operation (a multishot accept). It knows numbers,
 * never files: what closes a descriptor behind coir's back leaves at most a stale wait here, never a wrong
 * one.
 */
#ifndef COIR_RUNTIME_PLANE_FDS_H
#define COIR_RUNTIME_PLANE_FDS_H

#include <coir/io.h>
#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/torture.h"

/* Something that stays with a descriptor between operations, and goes when it is closed. */
struct coir_fd_guest {
    /* The descriptor is being closed, or left by the shard: begin to end. True when it is gone; else it sets the
     * entry's guest to NULL later and calls coir_fd_rests. What it holds for operations that have not come goes into
     * `left`, which stays there until then; NULL, or no room: it is closed. */
    bool (*leave)(struct coir_fd_guest *guest, struct coir_left_ *left);
    /* What it holds for an operation that cannot wait: a result, or -EAGAIN. */
    int (*take)(struct coir_fd_guest *guest);
};

struct coir_fd {
    struct coir_io *waits;           /* operations in flight on it */
    struct coir_task *closer;        /* a coir_close that waits for them to end */
    bool seekable;                   /* it has been found to have positions */
    bool looked, terminal;           /* whether it is a terminal has been looked at; it is one */
    struct coir_fd_guest *guest;
    bool known;                      /* epoll: a guess that it is registered */
    bool drained;                    /* uring: a guess that a receive will have to wait */
    /* of this number: who comes back to it after others had a turn compares */
    uint32_t closes;
};

/* In pages of COIR_FDS_PAGE, so that an entry stays where it is: waits link to it. */
struct coir_fds {
    struct coir_fd **page;
    size_t pages;
};

/* The entry, or NULL when it was never made. */
static inline struct coir_fd *coir_fd_find(const struct coir_fds *fds, int fd)
{
    const size_t page = (size_t)fd / COIR_FDS_PAGE;

    return fd >= 0 && page < fds->pages && fds->page[page] ? &fds->page[page][fd % COIR_FDS_PAGE] : NULL;
}

/* The entry of a descriptor, made if need be. It stays there. NULL, and errno: EBADF when it had to be made and
 * the descriptor is not open, ENOMEM. fd >= 0. */
struct coir_fd *coir_fd_get(struct coir_fds *fds, int fd);

/* Asks every guest to leave: the shard ends. True when all are gone. */
bool coir_fds_leave(struct coir_fds *fds);

void coir_fds_destroy(struct coir_fds *fds);

#endif
