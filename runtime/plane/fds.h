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

/* Something that stays with a descriptor between operations, and goes when it is closed. */
struct coir_fd_guest {
    /* The descriptor is being closed: begin to end. True when it is gone; else it sets the entry's guest
     * to NULL later and calls coir_fd_rests. */
    bool (*leave)(struct coir_fd_guest *guest);
};

struct coir_fd {
    struct coir_io *waits;           /* operations in flight on it */
    struct coir_task *closer;        /* a coir_close that waits for them to end */
    struct coir_fd_guest *guest;
    bool known;                      /* epoll: a guess that it is registered */
    bool seekable;                   /* it has been found to have positions */
    uint32_t closes;                 /* of this number: who comes back to it after others had a turn compares */
};

struct coir_fds {
    struct coir_fd *at;
    size_t n;
};

/* The entry of a descriptor, made if need be; NULL for no memory. fd >= 0. The address holds until the
 * next call. */
struct coir_fd *coir_fd_get(struct coir_fds *fds, int fd);

/* The entry, or NULL when it was never made. */
static inline struct coir_fd *coir_fd_find(struct coir_fds *fds, int fd)
{
    return fd >= 0 && (size_t)fd < fds->n ? &fds->at[fd] : NULL;
}

void coir_fds_destroy(struct coir_fds *fds);

#endif
