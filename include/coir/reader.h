/* SPDX-License-Identifier: MIT */
/*
 * coir/reader.h - reading a stream through a buffer: lines, up to a delimiter, exact numbers of bytes.
 *
 *     struct coir_reader in;                              in the frame
 *     ...
 *     coir_reader_init(&f->in, &f->socket.stream, 4096);
 *     for (;;) {
 *         coir_get(f, f->line, &f->read, coir_read_line, .reader = &f->in);
 *         if (!f->line.data)
 *             break;                                      the end, after a whole line
 *         ...
 *     }
 *
 * What holds for all operations on a reader:
 *
 *   - What the buffer has costs no system call. A read asks for all that the buffer has room for; one into memory of
 *     the caller's that is as large as the buffer goes there directly.
 *   - Nothing is lost. One that was cancelled, or whose deadline passed, leaves in the buffer what had come, and the
 *     next goes on there; what it had moved to the caller's memory, or skipped, is in its result.
 *   - -ENODATA when the stream ends before what was asked for is there. The end is not remembered: a file that has
 *     grown, or a terminal, is read on.
 *   - What the stream fails with for good (all but -ECANCELED and a want of memory) it fails with again, without
 *     being asked, after what is in the buffer: a second recv(2) on a connection that was reset would find its end.
 *   - -EFAULT for a NULL reader, buffer or delimiter, or memory on the C stack; -EBADF for a reader that is not made;
 *     -EBUSY while another operation on it waits.
 *
 * A reader is used on its stream's shard. It neither closes the stream nor knows that somebody did.
 */
#ifndef COIR_READER_H
#define COIR_READER_H

#include <coir/stream.h>

#ifdef __cplusplus
extern "C" {
#endif
# 39 "coir/reader.h"

/* Bytes in a reader's buffer. They are there until the next operation on it. */
struct coir_bytes {
    char *data;
    size_t len;
};

/* Private, but for `stream`. Its address must not change while an operation waits. */
struct coir_reader {
    struct coir_stream *stream;
    char *buffer;
    size_t size;                        /* of it, less a byte for a NUL */
    size_t begin, end;                  /* what is in it lies between */
    struct coir_task *user;             /* who waits in an operation on it, or NULL */
    int error;                          /* what the stream failed with for good, or 0 */
    bool owned;
};

/*
 * Makes a reader of `stream`, in memory of the caller's, with a buffer of `size` bytes from the heap. One of them is
 * kept for a NUL, so that a line and its end have size - 1. 0; -EFAULT for NULL, -EINVAL for a size below 2, -ENOMEM.
 * coir_reader_init_in: the buffer is the caller's, and outlives the reader. Neither suspends; any thread.
 */
COIR_API int coir_reader_init(struct coir_reader *r, struct coir_stream *stream, size_t size);
COIR_API int coir_reader_init_in(struct coir_reader *r, struct coir_stream *stream, void *buffer, size_t size);

/* Gives the buffer back, with what is still in it. The stream stays as it is. Stops the program if an operation
 * waits. NULL is allowed, and one that is destroyed. */
COIR_API void coir_reader_destroy(struct coir_reader *r);

/* What is in the buffer: to be handed on, when the bytes that follow are somebody else's. Never suspends. */
COIR_API struct coir_bytes coir_reader_buffered(const struct coir_reader *r);

/* Takes the first `n` bytes of that out. 0; -EINVAL when it has fewer, -EBUSY while an operation waits. */
COIR_API int coir_reader_drop(struct coir_reader *r, size_t n);

/* One read of the stream into the buffer, or into `buf` if that is given. Private. */
struct coir_reader_fill {
    coir_frame(size_t);
    coir_args(struct coir_reader *reader; size_t need; void *buf; size_t len;);
    bool direct;
    void *spare[2];
    struct coir_stream_read read;
};
coir_export(coir_reader_fill);

/* ---- bytes ------------------------------------------------------------------------------------------- */

/* At least one byte, and at most what the buffer has; the result is 0 at the end. */
struct coir_read_some {
    coir_frame(size_t);
    coir_args(struct coir_reader *reader; void *buf; size_t len;);
    struct coir_reader_fill fill;
};
coir_export(coir_read_some);

/* All of `len` bytes. The result counts those that are in `buf`, also when it failed; with -ENODATA and result 0
 * nothing of them had come. */
struct coir_read_exact {
    coir_frame(size_t);
    coir_args(struct coir_reader *reader; void *buf; size_t len;);
    bool direct;
    struct coir_reader_fill fill;
};
coir_export(coir_read_exact);

/* Waits until the buffer has at least `n` bytes, and takes none of them; the result is all that it has, also when it
 * failed. -EMSGSIZE for more than size - 1. */
struct coir_peek {
    coir_frame(struct coir_bytes);
    coir_args(struct coir_reader *reader; size_t n;);
    struct coir_reader_fill fill;
};
coir_export(coir_peek);

/* Reads `n` bytes that nobody wants; the result counts them, also when it failed. */
struct coir_skip {
    coir_frame(uint64_t);
    coir_args(struct coir_reader *reader; uint64_t n;);
    struct coir_reader_fill fill;
};
coir_export(coir_skip);

/* ---- up to a delimiter ------------------------------------------------------------------------------- */

/*
 * What comes before the delimiter: `len` bytes at `delimiter`, or a string if that is 0 (an empty one is -EINVAL).
 * The result lies in the buffer, without the delimiter, in the place of which there is a NUL; bytes that are NUL
 * themselves are bytes as any. An empty one has data and no length. At the end:
 *
 *   - status 0 and data NULL: the stream has ended behind a delimiter, or was empty.
 *   - -ENODATA: it has ended without one. Half a message is not mistaken for a whole one. `rest`: the end counts as
 *     a delimiter, as it does in text files whose last line has none.
 *
 * -EMSGSIZE: size - 1 bytes are there and no delimiter. Whoever wants such a line takes it in pieces, with
 * coir_reader_drop, or skips it with coir_skip_until.
 *
 * When it fails, whatever for, it has taken nothing: the result is what the buffer has, and is still there.
 */
struct coir_read_until {
    coir_frame(struct coir_bytes);
    coir_args(struct coir_reader *reader; const char *delimiter; size_t len; bool rest;);
    size_t n, searched;
    int found;
    struct coir_reader_fill fill;
};
coir_export(coir_read_until);

/* The same for lines: their end is a LF, and a CR before it belongs to that. */
struct coir_read_line {
    coir_frame(struct coir_bytes);
    coir_args(struct coir_reader *reader; bool rest;);
    size_t searched;
    int found;
    struct coir_reader_fill fill;
};
coir_export(coir_read_line);

/* Reads up to the delimiter, and it too, what nobody wants, however long it is; the result counts the bytes, also when
 * it failed. Cancelled in the middle of a delimiter it has left that in the buffer. */
struct coir_skip_until {
    coir_frame(uint64_t);
    coir_args(struct coir_reader *reader; const char *delimiter; size_t len;);
    size_t n;
    struct coir_reader_fill fill;
};
coir_export(coir_skip_until);

/* ---- on to another ----------------------------------------------------------------------------------- */

/* coir_copy's `count`: all that comes. */
#define COIR_TO_THE_END UINT64_MAX

/* Writes `count` bytes of the reader to `to`, through its buffer. The result counts what `to` has taken, also when it
 * failed, and what it has not taken is still the reader's. */
struct coir_copy {
    coir_frame(uint64_t);
    coir_args(struct coir_reader *reader; struct coir_stream *to; uint64_t count;);
    size_t n;
    union {
        struct coir_reader_fill fill;
        struct coir_stream_write_all write;
    };
};
coir_export(coir_copy);

/* A stream that gives what a reader has in its buffer, and then what the reader's stream gives; what is written goes
 * straight there. To hand a connection on when some of what follows has been read already. */
struct coir_reader_stream {
    struct coir_stream stream;
    struct coir_reader *reader;
};

/* Makes one; the reader outlives it, and may be used beside it. 0; -EFAULT. Does not suspend; any thread. */
COIR_API int coir_reader_stream_init(struct coir_reader_stream *s, struct coir_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
