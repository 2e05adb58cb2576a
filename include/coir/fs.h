/* SPDX-License-Identifier: MIT */
/*
 * coir/fs.h - files by position, paths, directories. What io.h says of every operation holds for these.
 *
 *     coir_get(f, f->fd, &f->open, coir_open, .path = f->path, .flags = O_RDONLY);
 *     coir_get(f, f->n, &f->read, coir_pread, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf, .offset = 0);
 *
 * On top of that:
 *
 *   - These wait for a disk, not for a peer. In a cancelled scope they are not started (-ECANCELED). One that
 *     is cancelled before it has begun ends at once with -ECANCELED; one that runs is waited for, a deadline
 *     only bounds when cancelling starts, and its own end counts: a success is delivered all the same.
 *   - Paths, buffers, iovecs and the struct statx are the caller's and outlive the await. A NULL path is
 *     -EFAULT.
 *   - Offsets are bytes from the beginning of the file, up to INT64_MAX; a negative one is -EINVAL. The
 *     file's own position is neither used nor moved. -ESPIPE for what has none: a pipe, a socket, a terminal.
 *   - A write beyond RLIMIT_FSIZE is -EFBIG. SIGXFSZ never kills the program.
 *   - On the ring they are ring operations where the kernel has them; otherwise, and on epoll, they run on
 *     the pool "file", whose threads coir_pool_limit bounds (8 unless said).
 *
 * read(2) and write(2) at the file's position are coir_read and coir_write of io.h.
 */
#ifndef COIR_FS_H
#define COIR_FS_H

#include <coir/io.h>

#ifdef __cplusplus
extern "C" {
#endif
# 32 "coir/fs.h"

struct statx;

/* ---- paths: relative to the working directory, or to the directory `dirfd` --------------------------- */

/*
 * open(2) and openat(2): `mode` counts with O_CREAT and O_TMPFILE. The result is the descriptor, the caller's
 * from then on, close-on-exec always; -1 on failure. One that was cancelled and opened the file all the same
 * succeeds, and the caller closes it. A coir_new frame of it, whose result nobody can read, closes the
 * descriptor itself. To open a FIFO whose other end is not open blocks a thread, and on epoll cannot be
 * cancelled: use O_NONBLOCK.
 */
struct coir_open {
    coir_frame(int);
    coir_args(const char *path; int flags; mode_t mode;);
    struct coir_io io;
};
coir_export(coir_open);

struct coir_openat {
    coir_frame(int);
    coir_args(int dirfd; const char *path; int flags; mode_t mode;);
    struct coir_io io;
};
coir_export(coir_openat);

/* statx(2): `dirfd` is AT_FDCWD, or a directory's or, with the path "" and AT_EMPTY_PATH, the file's. */
struct coir_statx {
    coir_frame_void;
    coir_args(int dirfd; const char *path; int flags; unsigned mask; struct statx *statxbuf;);
    struct coir_io io;
};
coir_export(coir_statx);

/* renameat2(2): `flags` is 0 (what is at newpath is replaced), RENAME_NOREPLACE or RENAME_EXCHANGE. */
struct coir_rename {
    coir_frame_void;
    coir_args(const char *oldpath; const char *newpath; unsigned flags;);
    struct coir_io io;
};
coir_export(coir_rename);

/* unlink(2): `flags` is 0 or AT_REMOVEDIR, which removes an empty directory. */
struct coir_unlink {
    coir_frame_void;
    coir_args(const char *path; int flags;);
    struct coir_io io;
};
coir_export(coir_unlink);

/* mkdir(2). */
struct coir_mkdir {
    coir_frame_void;
    coir_args(const char *path; mode_t mode;);
    struct coir_io io;
};
coir_export(coir_mkdir);

/* ---- bytes at a position ----------------------------------------------------------------------------- */

/* pread(2): the result may be less than `len`, and is 0 at the end of the file. */
struct coir_pread {
    coir_frame(size_t);
    coir_args(int fd; void *buf; size_t len; int64_t offset;);
    struct coir_io io;
};
coir_export(coir_pread);

/* pwrite(2): the result may be less than `len`. With O_APPEND Linux appends, whatever the offset. */
struct coir_pwrite {
    coir_frame(size_t);
    coir_args(int fd; const void *buf; size_t len; int64_t offset;);
    struct coir_io io;
};
coir_export(coir_pwrite);

/* Reads exactly `len` bytes; -ENODATA when the file ends before. The result counts the bytes read, also
 * when it failed. */
struct coir_pread_exact {
    coir_frame(size_t);
    coir_args(int fd; void *buf; size_t len; int64_t offset;);
    struct coir_io io;
};
coir_export(coir_pread_exact);

/* Writes all of it; the result counts the bytes written, also when it failed. */
struct coir_pwrite_all {
    coir_frame(size_t);
    coir_args(int fd; const void *buf; size_t len; int64_t offset;);
    struct coir_io io;
};
coir_export(coir_pwrite_all);

/* preadv(2) and pwritev(2): at most 1024 pieces, -EINVAL for more. */
struct coir_preadv {
    coir_frame(size_t);
    coir_args(int fd; const struct iovec *iov; int iovcnt; int64_t offset;);
    struct coir_io io;
};
coir_export(coir_preadv);

struct coir_pwritev {
    coir_frame(size_t);
    coir_args(int fd; const struct iovec *iov; int iovcnt; int64_t offset;);
    struct coir_io io;
};
coir_export(coir_pwritev);

/* ---- whole files ------------------------------------------------------------------------------------- */

/* fsync(2) and fdatasync(2): what was written before they began is on the disk when they have succeeded. */
struct coir_fsync {
    coir_frame_void;
    coir_args(int fd;);
    struct coir_io io;
};
coir_export(coir_fsync);

struct coir_fdatasync {
    coir_frame_void;
    coir_args(int fd;);
    struct coir_io io;
};
coir_export(coir_fdatasync);

/* fallocate(2): `mode` is 0 or FALLOC_FL_... */
struct coir_fallocate {
    coir_frame_void;
    coir_args(int fd; int mode; int64_t offset; int64_t len;);
    struct coir_io io;
};
coir_export(coir_fallocate);

/* ftruncate(2). A ring operation from Linux 6.9. */
struct coir_ftruncate {
    coir_frame_void;
    coir_args(int fd; int64_t length;);
    struct coir_io io;
};
coir_export(coir_ftruncate);

/* ---- directories ------------------------------------------------------------------------------------- */

/*
 * Reads entries of an open directory into the caller's buffer, as many as fit, from the directory's
 * position on, which moves: one at a time a descriptor, and lseek(fd, 0, SEEK_SET) begins anew. The result
 * is the bytes filled, for coir_dirent_next; 0 at the end. -EINVAL when not even one entry fits (280 bytes
 * are always enough), -ENOTDIR for what is no directory. Always on the pool "file".
 */
struct coir_readdir {
    coir_frame(size_t);
    coir_args(int fd; void *buf; size_t len;);
    struct coir_io io;
};
coir_export(coir_readdir);

/* One entry. `name` points into the buffer and ends with a NUL; "." and ".." are among them. `type` is
 * DT_REG, DT_DIR, ..., or DT_UNKNOWN where the filesystem does not say. */
struct coir_dirent {
    const char *name;
    uint64_t ino;
    int64_t off;                        /* where the next one begins, for lseek on the directory */
    unsigned char type;
};

/* The next of the entries in the `n` bytes at `buf`; `*at` is 0 for the first, and moves. False: there are
 * no more. Does not suspend; any thread. */
COIR_API bool coir_dirent_next(struct coir_dirent *entry, const void *buf, size_t n, size_t *at);

#ifdef __cplusplus
}
#endif
#endif
