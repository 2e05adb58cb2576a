/* SPDX-License-Identifier: MIT */
/*
 * Failing on purpose: one task that does a little of everything, run again and again with the N-th allocation,
 * then the N-th system call failing, for every N until it succeeds. Each failure is reported, none leaves a
 * descriptor or a file half made, and none hangs.
 */
#include "runtime/base/fault.h"
#include "runtime/base/pool.h"
#include "scratch.h"

#ifdef COIR_FAULTS

static int64_t seven(void *arg)
{
    (void)arg;
    return 7;
}

struct errand {
    coir_frame_void;
    coir_args(long alloc_at; long syscall_at; int err;);
    int fd, dir;
    int64_t value;
    size_t n;
    char buf[512];
    struct statx st;
    struct coir_dirent entry;
    struct iovec iov[2];
    union {
        struct coir_open open;
        struct coir_openat openat;
        struct coir_pread_exact read;
        struct coir_pwrite_all write;
        struct coir_pwritev writev;
        struct coir_fsync fsync;
        struct coir_statx statx;
        struct coir_rename rename;
        struct coir_unlink unlink;
        struct coir_mkdir mkdir;
        struct coir_readdir readdir;
        struct coir_ftruncate ftruncate;
        struct coir_offload offload;
        struct coir_close close;
    } u;
};
static coir_declare(errand);
coir_body(errand, f) {
    f->fd = f->dir = -1;
    coir_fail_alloc_at = f->alloc_at;
    coir_fail_syscall_at = f->syscall_at;
    coir_fail_syscall_with = f->err;
    coir_try(f, &f->u.mkdir, coir_mkdir, .path = "d", .mode = 0700);
    coir_get(f, f->dir, &f->u.open, coir_open, .path = "d", .flags = O_RDONLY);
    coir_get(f, f->fd, &f->u.openat, coir_openat, .dirfd = f->dir, .path = "a", .flags = O_RDWR | O_CREAT,
             .mode = 0600);
    coir_try(f, &f->u.write, coir_pwrite_all, .fd = f->fd, .buf = "0123456789", .len = 10);
    f->iov[0] = f->iov[1] = (struct iovec){ (void *)"ab", 2 };
    coir_try(f, &f->u.writev, coir_pwritev, .fd = f->fd, .iov = f->iov, .iovcnt = 2, .offset = 10);
    coir_try(f, &f->u.fsync, coir_fsync, .fd = f->fd);
    coir_try(f, &f->u.ftruncate, coir_ftruncate, .fd = f->fd, .length = 12);
    coir_try(f, &f->u.read, coir_pread_exact, .fd = f->fd, .buf = f->buf, .len = 12);
    coir_try(f, &f->u.statx, coir_statx, .dirfd = f->dir, .path = "a", .mask = STATX_SIZE, .statxbuf = &f->st);
    coir_try(f, &f->u.rename, coir_rename, .oldpath = "d/a", .newpath = "d/b");
    coir_get(f, f->n, &f->u.readdir, coir_readdir, .fd = f->dir, .buf = f->buf, .len = sizeof f->buf);
    coir_get(f, f->value, &f->u.offload, coir_offload, .fn = seven);
    coir_finally(f) {
        if (f->fd >= 0)
            coir_await(f, &f->u.close, coir_close, .fd = f->fd);
        if (f->fd >= 0 && coir_status(&f->u.close))
            close(f->fd);
        if (f->dir >= 0)
            coir_await(f, &f->u.close, coir_close, .fd = f->dir);
        if (f->dir >= 0 && coir_status(&f->u.close))
            close(f->dir);
        coir_fail_alloc_at = coir_fail_syscall_at = 0;
        unlink("d/a");
        unlink("d/b");
        rmdir("d");
    }
} coir_end

/* Runs it with the N-th failing, for each N; how many failed. */
static int until_it_succeeds(bool allocations, int err)
{
    const int before = open_descriptors();
    int wrong = 0, leaks = 0, left = 0, status = -1;
    long n;

    for (n = 1; n < 1000 && status; n++) {
        status = coir_run(NULL, allocations ? coir_new(errand, .alloc_at = n)
                                            : coir_new(errand, .syscall_at = n, .err = err));
        wrong += status != 0 && status != -err && !(allocations && status == -EAGAIN);
        leaks += open_descriptors() != before;
        left += access("d", F_OK) == 0;
    }
    EQ(status, 0, "it succeeds in the end");
    EQ(wrong, 0, "before, each time with the error that was made");
    EQ(leaks, 0, "no descriptor was lost");
    EQ(left, 0, "nothing was left in the folder");
    return (int)n - 2;
}

int main(void)
{
    WITHOUT_CHANCE("whole");           /* it says how many bytes there are at once */
    scratch_begin();
    const int allocations = until_it_succeeds(true, ENOMEM), calls = until_it_succeeds(false, EIO);
    NOTE("%d allocations and %d system calls were failed", allocations, calls);
    EQ(calls, 11, "each of the eleven file operations is a system call that can fail");
    until_it_succeeds(false, ENOSPC);
    scratch_end();
    return DONE();
}

#else

int main(void)
{
    SKIP_ALL("built without COIR_FAULTS");
}

#endif
