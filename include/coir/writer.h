/* SPDX-License-Identifier: MIT */
/*
 * coir/writer.h - writing to a stream through a buffer: many small pieces, few system calls.
 *
 *     coir_writer_init(&f->out, &f->socket.stream, 4096);
 *     ...
 *     coir_try(f, &f->room, coir_make_room, .writer = &f->out, .n = 100);
 *     coir_writer_printf(&f->out, "%d bottles\n", f->n);
 *     coir_try(f, &f->put, coir_put, .writer = &f->out, .buf = f->body, .len = f->len);
 *     coir_try(f, &f->flush, coir_flush, .writer = &f->out);
 *
 * What holds for all operations on a writer:
 *
 *   - Bytes leave in the order in which they came. They are sent when the buffer is full and by coir_flush, at no
 *     other time: flush before you wait for an answer. What is as large as the buffer goes past it.
 *   - One that was cancelled, or whose deadline passed, has left in the buffer what the stream had not taken, and
 *     nothing that it had: the next goes on there.
 *   - What the stream fails with for good (all but -ECANCELED and a want of memory) every later operation says too,
 *     without asking it.
 *   - -EFAULT for a NULL writer or buffer, or memory on the C stack; -EBADF for a writer that is not made; -EBUSY
 *     while another operation on it waits.
 *
 * A writer is used on its stream's shard. It does not close the stream.
 */
#ifndef COIR_WRITER_H
#define COIR_WRITER_H

#include <coir/stream.h>
#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif
# 35 "coir/writer.h"

/* Private, but for `stream`. Its address must not change while an operation waits. */
struct coir_writer {
    struct coir_stream *stream;
    char *buffer;
    size_t size;                        /* of it, less a byte for a NUL */
    size_t begin, end;                  /* what the stream has not taken lies between */
    struct coir_task *user;             /* who waits in an operation on it, or NULL */
    const struct coir_site *site;       /* of the last await that put something into it */
    int error;                          /* what the stream failed with for good, or 0 */
    bool owned;
    bool told;                          /* somebody has been told that bytes are left */
};

/*
 * Makes a writer to `stream`, in memory of the caller's, with a buffer of `size` bytes from the heap; one of them is
 * kept for a NUL. 0; -EFAULT for NULL, -EINVAL for a size below 2, -ENOMEM. coir_writer_init_in: the buffer is the
 * caller's, and outlives the writer. Neither suspends; any thread.
 */
COIR_API int coir_writer_init(struct coir_writer *w, struct coir_stream *stream, size_t size);
COIR_API int coir_writer_init_in(struct coir_writer *w, struct coir_stream *stream, void *buffer, size_t size);

/* Gives the buffer back. Returns how many bytes in it were never sent; they are reported on stderr, unless the last
 * operation on the writer failed, and so said it, or coir_writer_discard was called. Stops the program if an operation
 * waits. NULL is allowed, and one that is destroyed. */
COIR_API size_t coir_writer_destroy(struct coir_writer *w);

/* Forgets what was not sent. Returns how many bytes that were; 0 while an operation waits, which goes on. */
COIR_API size_t coir_writer_discard(struct coir_writer *w);

/* How many bytes the stream has not taken yet. Never suspends. */
COIR_API size_t coir_writer_buffered(const struct coir_writer *w);

/*
 * printf(3) into the buffer, whole or not at all. Returns how many bytes that were; -ENOSPC when there is no room for
 * it now: after a coir_flush there is, and after coir_make_room this does not happen; -EMSGSIZE when the buffer is too
 * small for it at any time; -EINVAL for what printf(3) cannot convert; or as an operation. Never suspends.
 */
COIR_API int coir_writer_printf(struct coir_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
COIR_API int coir_writer_vprintf(struct coir_writer *w, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Takes `len` bytes. The result counts those that it has taken, also when it failed: they are in the buffer, or the
 * stream has them. */
struct coir_put {
    coir_frame(size_t);
    coir_args(struct coir_writer *writer; const void *buf; size_t len;);
    int how;
    void *spare[2];
    struct coir_stream_write_all write;
};
coir_export(coir_put);

/* Waits until the stream has taken all; the result counts what it took now, also when it failed. */
struct coir_flush {
    coir_frame(size_t);
    coir_args(struct coir_writer *writer;);
    void *spare[2];
    struct coir_stream_write_all write;
};
coir_export(coir_flush);

/* Flushes if there is no room for `n` bytes. -EMSGSIZE for more than size - 1. */
struct coir_make_room {
    coir_frame_void;
    coir_args(struct coir_writer *writer; size_t n;);
    void *spare[2];
    struct coir_stream_write_all write;
};
coir_export(coir_make_room);

#ifdef __cplusplus
}
#endif
#endif
