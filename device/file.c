/* SPDX-License-Identifier: MIT */
/*
 * Reading, writing, syncing, growing and punching a file or block device. What the kernel moves in part goes on where
 * it stopped: the rest of the piece alone, then the pieces behind it, so that nothing is copied or allocated.
 * Opening stands in file_open.c.
 */
#include "device/file.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <unistd.h>

#include "runtime/base/assert.h"

enum { PIECES = 1024 };                  /* that the kernel takes at once */

static struct coir_file_device *file_of(struct coir_device *d)
{
    return coir_container_of(d, struct coir_file_device, device);
}

/* ---- how far it has come ---- */

struct progress {
    int piece;                           /* the first that is not done */
    size_t moved;                        /* bytes of that one */
    uint64_t at;                         /* where the next byte lies */
};

/* Goes on by n bytes, and past pieces without any. */
static void advance(struct progress *p, const struct iovec *iov, int n, size_t bytes)
{
    p->at += bytes;
    p->moved += bytes;
    while (p->piece < n && p->moved >= iov[p->piece].iov_len)
        p->moved -= iov[p->piece++].iov_len;
    COIR_ASSERT(p->piece < n || p->moved == 0);
}

/* Whether the next move is of one piece, or what is left of it. */
static bool is_single(const struct progress *p, int n)
{
    return p->moved > 0 || p->piece == n - 1;
}

static int pieces(const struct progress *p, int n)
{
    return n - p->piece < PIECES ? n - p->piece : PIECES;
}

/* ---- read ---- */

struct file_read {
    coir_frame_void;
    coir_args(struct coir_device *device; const struct iovec *iov; int n; uint64_t offset; int flags;);
    struct progress p;
    int fd;
    union {
        struct coir_preadv preadv;
        struct coir_pread_exact pread;
    };
};
coir_device_fits(file_read, coir_device_read);
static coir_declare(file_read);

static size_t length(const struct iovec *iov, int n)
{
    size_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += iov[i].iov_len;
    return sum;
}

/* Where the filesystem cannot read past its cache: what is clean of these pages is dropped from it. */
static int without_direct(struct file_read *f)
{
    const int fd = file_of(f->device)->fd;

    posix_fadvise(fd, (off_t)f->offset, (off_t)length(f->iov, f->n), POSIX_FADV_DONTNEED);
    return fd;
}

static int choose(struct file_read *f)
{
    if (!(f->flags & COIR_DIRECT))
        return file_of(f->device)->fd;
    return file_of(f->device)->direct >= 0 ? file_of(f->device)->direct : without_direct(f);
}

/* There are filesystems that open a file so and then do not read it, and an end that is not aligned. */
static bool was_refused(struct file_read *f, int status)
{
    return status == -EINVAL && f->fd != file_of(f->device)->fd;
}

coir_body(file_read, f) {
    f->fd = choose(f);
    f->p = (struct progress){ .at = f->offset };
    advance(&f->p, f->iov, f->n, 0);
    while (f->p.piece < f->n) {
        if (is_single(&f->p, f->n)) {
            coir_await(f, &f->pread, coir_pread_exact, .fd = f->fd,
                       .buf = (char *)f->iov[f->p.piece].iov_base + f->p.moved,
                       .len = f->iov[f->p.piece].iov_len - f->p.moved, .offset = (int64_t)f->p.at);
            advance(&f->p, f->iov, f->n, f->pread.result);
            if (!was_refused(f, coir_status(&f->pread)))
                coir_check(f, &f->pread);
            else
                f->fd = without_direct(f);
        } else {
            coir_await(f, &f->preadv, coir_preadv, .fd = f->fd, .iov = f->iov + f->p.piece,
                       .iovcnt = pieces(&f->p, f->n), .offset = (int64_t)f->p.at);
            if (coir_status(&f->preadv) == 0 && f->preadv.result == 0)
                coir_fail(f, ENODATA);
            advance(&f->p, f->iov, f->n, f->preadv.result);
            if (!was_refused(f, coir_status(&f->preadv)))
                coir_check(f, &f->preadv);
            else
                f->fd = without_direct(f);
        }
    }
} coir_end

/* ---- write ---- */

struct file_write {
    coir_frame_void;
    coir_args(struct coir_device *device; const struct iovec *iov; int n; uint64_t offset;);
    struct progress p;
    union {
        struct coir_pwritev pwritev;
        struct coir_pwrite_all pwrite;
    };
};
coir_device_fits(file_write, coir_device_write);
static coir_declare(file_write);

coir_body(file_write, f) {
    f->p = (struct progress){ .at = f->offset };
    advance(&f->p, f->iov, f->n, 0);
    while (f->p.piece < f->n) {
        if (is_single(&f->p, f->n)) {
            coir_try(f, &f->pwrite, coir_pwrite_all, .fd = file_of(f->device)->fd,
                     .buf = (char *)f->iov[f->p.piece].iov_base + f->p.moved,
                     .len = f->iov[f->p.piece].iov_len - f->p.moved, .offset = (int64_t)f->p.at);
            advance(&f->p, f->iov, f->n, f->pwrite.result);
        } else {
            coir_try(f, &f->pwritev, coir_pwritev, .fd = file_of(f->device)->fd, .iov = f->iov + f->p.piece,
                     .iovcnt = pieces(&f->p, f->n), .offset = (int64_t)f->p.at);
            if (f->pwritev.result == 0)
                coir_fail(f, EIO);
            advance(&f->p, f->iov, f->n, f->pwritev.result);
        }
    }
} coir_end

/* ---- sync ---- */

struct file_sync {
    coir_frame_void;
    coir_args(struct coir_device *device;);
    struct coir_fdatasync fdatasync;
};
coir_device_fits(file_sync, coir_device_sync);
static coir_declare(file_sync);

coir_body(file_sync, f) {
    coir_try(f, &f->fdatasync, coir_fdatasync, .fd = file_of(f->device)->fd);
} coir_end

/* ---- grow ---- */

static const char zeros[1 << 16];

struct file_grow {
    coir_frame_void;
    coir_args(struct coir_device *device; uint64_t size;);
    uint64_t at;
    union {
        struct coir_fallocate fallocate;
        struct coir_pwrite_all pwrite;
    };
};
coir_device_fits(file_grow, coir_device_grow);
static coir_declare(file_grow);

/* Bytes of zeros to write at once. */
static size_t zeros_from(uint64_t at, uint64_t to)
{
    return to - at < sizeof zeros ? (size_t)(to - at) : sizeof zeros;
}

coir_body(file_grow, f) {
    if (file_of(f->device)->is_block)
        coir_fail(f, ENOSPC);
    f->at = f->device->size;
    coir_await(f, &f->fallocate, coir_fallocate, .fd = file_of(f->device)->fd, .offset = (int64_t)f->at,
               .len = (int64_t)(f->size - f->at));
    if (coir_status(&f->fallocate) != -EOPNOTSUPP) {
        coir_check(f, &f->fallocate);
    } else {
        for (; f->at < f->size; f->at += f->pwrite.result)
            coir_try(f, &f->pwrite, coir_pwrite_all, .fd = file_of(f->device)->fd, .buf = zeros,
                     .len = zeros_from(f->at, f->size), .offset = (int64_t)f->at);
    }
    f->device->size = f->size;
} coir_end

/* ---- punch ---- */

struct file_punch {
    coir_frame_void;
    coir_args(struct coir_device *device; uint64_t offset; uint64_t len;);
    struct coir_fallocate fallocate;
};
coir_device_fits(file_punch, coir_device_punch);
static coir_declare(file_punch);

coir_body(file_punch, f) {
    coir_try(f, &f->fallocate, coir_fallocate, .fd = file_of(f->device)->fd,
             .mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, .offset = (int64_t)f->offset,
             .len = (int64_t)f->len);
} coir_end

/* ---- close ---- */

struct file_close {
    coir_frame_void;
    coir_args(struct coir_device *device;);
    int status;
    struct coir_close close;
};
coir_device_fits(file_close, coir_device_close);
static coir_declare(file_close);

/* Takes the descriptor out: nobody closes it twice. */
static int take(int *fd)
{
    const int taken = *fd;

    *fd = -1;
    return taken;
}

coir_body(file_close, f) {
    if (file_of(f->device)->direct >= 0)
        coir_await(f, &f->close, coir_close, .fd = take(&file_of(f->device)->direct));
    coir_try(f, &f->close, coir_close, .fd = take(&file_of(f->device)->fd));
} coir_end

const struct coir_device_kind coir_file_kind = {
    .name = "file",
    .read = file_read_resume,
    .write = file_write_resume,
    .sync = file_sync_resume,
    .grow = file_grow_resume,
    .punch = file_punch_resume,
    .close = file_close_resume,
};
