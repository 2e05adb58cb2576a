/* SPDX-License-Identifier: MIT */
/*
 * Opening a file or block device: what it is, the lock, how large, the way past the page cache. It owns the descriptors
 * until all of that is known; on every way out that is not a device they are closed.
 */
#include "device/file.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>

enum {
    GRAIN = 4096,
    HELD_PAUSE_MS = 10,
    HELD_TRIES = 200,       /* after that the holder is no dead process */
};

/* What open(2) is to be told. A block device that is to be written is opened so that it cannot be mounted. */
static int how(int flags, bool is_block)
{
    if (flags & COIR_FILE_READ_ONLY)
        return O_RDONLY | O_NOCTTY;
    if (is_block)
        return O_RDWR | O_NOCTTY | O_EXCL;
    return O_RDWR | O_NOCTTY | (flags & (COIR_FILE_CREATE | COIR_FILE_NEW) ? O_CREAT : 0)
        | (flags & COIR_FILE_NEW ? O_EXCL : 0);
}

/* Against everybody, or for a reader against who writes. */
static int lock(int fd, bool read_only)
{
    if (flock(fd, (read_only ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0)
        return 0;
    return errno == EWOULDBLOCK ? -EBUSY : -errno;
}

static int look(int fd, bool *is_block, uint64_t *size, uint32_t *grain)
{
    struct stat st;
    unsigned physical = 0;
    int logical = 0;

    if (fstat(fd, &st) < 0)
        return -errno;
    *is_block = S_ISBLK(st.st_mode);
    *size = (uint64_t)st.st_size;
    *grain = GRAIN;
    if (S_ISREG(st.st_mode))
        return 0;
    if (!*is_block)
        return -ENOTBLK;
    if (ioctl(fd, BLKGETSIZE64, size) < 0 || ioctl(fd, BLKPBSZGET, &physical) < 0 || ioctl(fd, BLKSSZGET, &logical) < 0)
        return -errno;
    while (*grain < physical || *grain < (unsigned)logical)
        *grain *= 2;
    return 0;
}

/* What open(2) says of a filesystem that cannot do it; and there may be no /proc. */
static bool has_no_direct(int status)
{
    return status == -EINVAL || status == -EOPNOTSUPP || status == -ENOENT;
}

static void say_not_direct(const char *path, int status)
{
    fprintf(stderr, "coir: %s cannot be read past the page cache (%s): what recovery and scrub read may be memory's\n",
            path, coir_strerror(status));
}

coir_body(coir_file_open, f) {
    f->fd = -1;
    coir_await(f, &f->statx, coir_statx, .dirfd = AT_FDCWD, .path = f->path, .mask = STATX_TYPE, .statxbuf = &f->st);
    if (coir_status(&f->statx) == -ENOENT)
        f->st.stx_mode = S_IFREG;
    else
        coir_check(f, &f->statx);
    if (!S_ISREG(f->st.stx_mode) && !S_ISBLK(f->st.stx_mode))
        coir_fail(f, ENOTBLK);
    if (S_ISBLK(f->st.stx_mode) && (f->flags & COIR_FILE_NEW))
        coir_fail(f, EEXIST);
    for (f->tries = 0;; f->tries++) {
        if (f->fd < 0) {
            coir_await(f, &f->open, coir_open, .path = f->path, .flags = how(f->flags, S_ISBLK(f->st.stx_mode)),
                       .mode = 0600);
            f->err = coir_status(&f->open);
            f->fd = f->err ? -1 : f->open.result;
        }
        if (f->fd >= 0)
            f->err = lock(f->fd, f->flags & COIR_FILE_READ_ONLY);
        if (f->err != -EBUSY || !(f->flags & COIR_FILE_WAIT) || f->tries == HELD_TRIES)
            break;
        coir_try(f, &f->sleep, coir_sleep, .ns = HELD_PAUSE_MS * COIR_MS);
    }
    if (f->err == 0)
        f->err = look(f->fd, &f->is_block, &f->size, &f->grain);
    if (f->err)
        coir_fail(f, f->err);
    /* By what is open: the path may be another file's by now. */
    snprintf(f->again, sizeof f->again, "/proc/self/fd/%d", f->fd);
    coir_await(f, &f->open, coir_open, .path = f->again, .flags = O_RDONLY | O_DIRECT);
    if (has_no_direct(coir_status(&f->open)))
        say_not_direct(f->path, coir_status(&f->open));
    else
        coir_check(f, &f->open);
    coir_device_init(&f->file->device, &coir_file_kind, f->path, f->size, f->grain, f->flags & COIR_FILE_READ_ONLY);
    f->file->fd = f->fd;
    f->file->direct = f->open.result;
    f->file->is_block = f->is_block;
    coir_finally(f) {
        if (coir_status(f) && f->fd >= 0)
            coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end
