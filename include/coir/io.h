/* SPDX-License-Identifier: MIT */
/*
 * coir/io.h - what holds for every I/O operation, and the operations on any descriptor.
 *
 * An operation is a leaf frame, named coir_ and the POSIX name, with the arguments of its man page. Its status
 * is 0 or a negative errno, the same on both planes; its result what the POSIX call returns. On all of them:
 *
 *   - A descriptor may be blocking or not; nothing here changes that. It is used by one shard at a time: waits
 *     on it are ended by a coir_close on the same shard, which gives them -ECANCELED.
 *   - When the await has returned the kernel no longer touches the buffers, whatever the status.
 *   - What had been done when it was cancelled counts: data that arrived wins over cancellation. The ones that
 *     move an exact number of bytes leave the bytes moved in `result` on failure too.
 *   - -EBADF for a descriptor that is not open, -EFAULT for a NULL buffer, a zero length completes with 0
 *     without waiting.
 *   - -EFAULT, and a line on stderr, for a buffer on the C stack below the loop (law 1).
 *   - -ECANCELED in a cancelled scope: what can be done without waiting is done, other operations are not
 *     started.
 *   - Bytes moved at once are at most 2,147,479,552, as in read(2).
 */
#ifndef COIR_IO_H
#define COIR_IO_H

#include <coir/scope.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif
# 30 "coir/io.h"

struct coir_io_kind;

/* A plane's part of an operation's frame. Private; its size is ABI. */
struct coir_io {
    const struct coir_io_kind *kind;
    struct coir_task *task;
    struct coir_io *next, **link;       /* among the waits on its descriptor, or for a place in the ring */
    int fd;
    int res;                            /* what the kernel said */
    uint32_t slot;                      /* uring: of the table that its user_data names */
    uint8_t state, asked, owed, tries;  /* asked: to stop; owed: completions the kernel still owes it */
    void *spare[5];
};

/* Waits until a descriptor is ready for `events` (POLLIN, POLLOUT, POLLPRI); the result is the events
 * there are, POLLERR and POLLHUP among them. Regular files are always ready. */
struct coir_poll {
    coir_frame(int);
    coir_args(int fd; int events;);
    struct coir_io io;
};
coir_export(coir_poll);

/* read(2): from any descriptor, at its position where it has one. The result is 0 at the end. */
struct coir_read {
    coir_frame(size_t);
    coir_args(int fd; void *buf; size_t len;);
    struct coir_io io;
};
coir_export(coir_read);

/* write(2). A peer that is gone is -EPIPE, never SIGPIPE. A terminal that is blocking is O_NONBLOCK while the call is
 * made. */
struct coir_write {
    coir_frame(size_t);
    coir_args(int fd; const void *buf; size_t len;);
    struct coir_io io;
};
coir_export(coir_write);

/* Writes all of it; the result counts what was written, also when it failed. */
struct coir_write_all {
    coir_frame(size_t);
    coir_args(int fd; const void *buf; size_t len;);
    struct coir_io io;
};
coir_export(coir_write_all);

/* readv(2) and writev(2): at most 1024 pieces, -EINVAL for more. `iov` and what it points at outlive the
 * await. */
struct coir_readv {
    coir_frame(size_t);
    coir_args(int fd; const struct iovec *iov; int iovcnt;);
    struct coir_io io;
};
coir_export(coir_readv);

struct coir_writev {
    coir_frame(size_t);
    coir_args(int fd; const struct iovec *iov; int iovcnt;);
    struct coir_io io;
};
coir_export(coir_writev);

/* Ends every wait of this shard on the descriptor with -ECANCELED, then closes it. Also in a cancelled
 * scope. */
struct coir_close {
    coir_frame_void;
    coir_args(int fd;);
    struct coir_io io;
};
coir_export(coir_close);

/* Where a coir_leave puts what it finds. Private. */
struct coir_left_ {
    int *fds;
    unsigned max, n;
};

/*
 * This shard is done with a descriptor, which stays open: another shard may use it, once this has ended. Ends every
 * wait of this shard on it with -ECANCELED, as coir_close does, and forgets what it knew of it; also in a cancelled
 * scope.
 *
 * Of a listener that is where what was accepted ahead goes (coir/listen.h): those connections are put into
 * `accepted`, which has room for `max`, and are the caller's from then on; the result says how many there are. What
 * finds no room is closed. With nothing waiting on it, and nothing accepted ahead, it does not suspend. -EBADF if it
 * is not open.
 */
struct coir_leave {
    coir_frame(unsigned);
    coir_args(int fd; int *accepted; unsigned max;);
    struct coir_left_ left;
};
coir_export(coir_leave);

/* pipe2(2), close-on-exec: fds[0] reads, fds[1] writes. Does not suspend; any thread. 0 or a negative
 * errno. */
COIR_API int coir_pipe(int fds[2]);

/* splice(2): moves bytes from one descriptor to another, one of them a pipe; offset -1: at the position. A
 * close of either ends it. From and to a file it runs on the pool for files. A socket or terminal that is
 * blocking is O_NONBLOCK while the call is made. */
struct coir_splice {
    coir_frame(size_t);
    coir_args(int fd_in; int64_t off_in; int fd_out; int64_t off_out; size_t len; unsigned flags;);
    uint32_t closes[2];
    unsigned ends;
    struct coir_io io, other;
};
coir_export(coir_splice);

#ifdef __cplusplus
}
#endif
#endif
