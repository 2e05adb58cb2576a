/* SPDX-License-Identifier: MIT */
/*
 * coir/stream.h - bytes in order, both ways, from whatever brings them: a socket, a pipe, a file, TLS.
 *
 *     struct coir_fd_stream socket;                       in the frame
 *     ...
 *     coir_fd_stream_init(&f->socket, fd, fd);
 *     coir_get(f, f->n, &f->read, coir_stream_read, .stream = &f->socket.stream, .buf = f->buf, .len = sizeof f->buf);
 *
 * Who reads and writes by these four operations need not know what is behind them. What coir/io.h says of every
 * operation holds: data that arrived wins over cancellation, the memory outlives the await, results count on
 * failure where that is said. One task may read while another writes; two that read, or two that write, at the
 * same time are a mistake of the program, and get -EBUSY where that is noticed. A stream is used on one shard.
 */
#ifndef COIR_STREAM_H
#define COIR_STREAM_H

#include <coir/net.h>

#ifdef __cplusplus
extern "C" {
#endif
# 24 "coir/stream.h"

/* What a kind of stream does: four bodies, of tasks whose frames begin as struct coir_stream_read, _write_all,
 * _shutdown and _close do and whose own members, the frames they await among them, lie in `room`. Their contracts
 * are those of the operations below, which have checked the arguments: a body is never called with a NULL buffer or
 * a zero length. NULL: what the kind cannot do, -EOPNOTSUPP. A body may also hand its frame on, to another stream:
 * set `stream` in it, `task.state` to 0, and return coir_stream_read_resume(t). Static and constant. */
struct coir_stream_kind {
    const char *name;
    coir_step (*read)(struct coir_task *);
    coir_step (*write_all)(struct coir_task *);
    coir_step (*shutdown)(struct coir_task *);
    coir_step (*close)(struct coir_task *);
};

/* The first member of every stream; the rest is the kind's. Its address must not change. */
struct coir_stream {
    const struct coir_stream_kind *kind;
};

/* On all four: -EFAULT for a NULL stream or buffer, and for memory on the C stack (law 1); -EBADF for a stream that
 * was never made, its kind NULL. A zero length completes with 0, without asking the kind. */

/* Reads at least one byte; the result is 0 at the end, when the peer has ended its direction in good order. */
struct coir_stream_read {
    coir_frame(size_t);
    coir_args(struct coir_stream *stream; void *buf; size_t len;);
    void *room[48];
};
coir_export(coir_stream_read);

/* Writes all of it; the result counts the bytes that were taken, also when it failed. -EPIPE when the peer is gone
 * or coir_stream_shutdown was called. */
struct coir_stream_write_all {
    coir_frame(size_t);
    coir_args(struct coir_stream *stream; const void *buf; size_t len;);
    void *room[48];
};
coir_export(coir_stream_write_all);

/* Ends the writing direction: the peer reads what was written, then the end. Reading goes on. */
struct coir_stream_shutdown {
    coir_frame_void;
    coir_args(struct coir_stream *stream;);
    void *room[48];
};
coir_export(coir_stream_shutdown);

/* Closes what is behind it: waits of this shard on it end with -ECANCELED; also in a cancelled scope. The stream is
 * not to be used afterwards; a second close is -EBADF. */
struct coir_stream_close {
    coir_frame_void;
    coir_args(struct coir_stream *stream;);
    void *room[48];
};
coir_export(coir_stream_close);

#ifndef __cplusplus
/* In the file of a kind, behind the frame of one of its bodies: `frame` is one for the operation `op`. */
#define coir_stream_fits(frame, op) \
    _Static_assert(sizeof(struct frame) <= sizeof(struct op) \
                   && offsetof(struct frame, coir_args_) == offsetof(struct op, coir_args_) \
                   && sizeof(((struct frame *)0)->coir_args_) == sizeof(((struct op *)0)->coir_args_), \
                   "struct " #frame " begins as struct " #op ", and is no larger")
#endif

/* ---- descriptors ------------------------------------------------------------------------------------- */

/*
 * A stream over descriptors: a socket or terminal is given for both ways, pipes one for each, -1 for a way that is
 * not there (-EBADF). Files are read and written at their position.
 *
 * coir_stream_shutdown on a socket is shutdown(2). A descriptor that is only written is closed, since nothing else
 * ends a pipe; of one that is given for both ways and no socket the ways cannot be told apart: -ENOTSOCK. To do it
 * twice is no mistake.
 */
struct coir_fd_stream {
    struct coir_stream stream;
    int in, out;
    bool in_socket, out_socket;
    bool ended;                         /* `out` was closed, by coir_stream_shutdown */
};

/* Makes one, in memory of the caller's, which owns the descriptors from then on (coir_stream_close closes them).
 * 0; -EFAULT for NULL; -EBADF when neither is a descriptor, or one that is given is not open; -ESOCKTNOSUPPORT for a
 * socket that keeps messages, which a short read would cut: then the descriptors stay the caller's, and every
 * operation on the stream says -EBADF. Does not suspend; any thread. */
COIR_API int coir_fd_stream_init(struct coir_fd_stream *s, int in, int out);

#ifdef __cplusplus
}
#endif
#endif
