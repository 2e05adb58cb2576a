/* SPDX-License-Identifier: MIT */
/*
 * Files by position: what is moved where, every argument that can be wrong, the limits. The expected values are
 * those of the man pages, and hold on both planes.
 */
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "scratch.h"

#define GIB (INT64_C(1) << 30)

union slots {
    struct coir_open open;
    struct coir_close close;
    struct coir_pread pread;
    struct coir_pwrite pwrite;
    struct coir_pread_exact pread_exact;
    struct coir_pwrite_all pwrite_all;
    struct coir_preadv preadv;
    struct coir_pwritev pwritev;
    struct coir_fsync fsync;
    struct coir_fdatasync fdatasync;
    struct coir_fallocate fallocate;
    struct coir_ftruncate ftruncate;
};

/* ---- moving bytes ---- */

struct moving {
    coir_frame_void;
    coir_no_args;
    int fd;
    char got[64], out[64];
    union slots u;
};
static coir_declare(moving);
coir_body(moving, f) {
    coir_get(f, f->fd, &f->u.open, coir_open, .path = "moved", .flags = O_RDWR | O_CREAT | O_EXCL, .mode = 0640);
    EQ(fcntl(f->fd, F_GETFD), FD_CLOEXEC, "a descriptor of coir_open is closed by exec");
    memcpy(f->out, "0123456789", 10);

    SAYS(0, &f->u.pwrite_all, coir_pwrite_all, .fd = f->fd, .buf = f->out, .len = 10, .offset = 0);
    EQ(f->u.pwrite_all.result, 10, "all ten are written");
    SAYS(0, &f->u.pwrite, coir_pwrite, .fd = f->fd, .buf = "ab", .len = 2, .offset = 4);
    EQ(f->u.pwrite.result, 2, "two are written over the fifth and sixth");
    SAYS(0, &f->u.pread, coir_pread, .fd = f->fd, .buf = f->got, .len = sizeof f->got, .offset = 0);
    EQ(f->u.pread.result, 10, "a file of ten gives ten of 64 asked for");
    MEM_EQ(f->got, "0123ab6789", 10, "and those that were written");
    SAYS(0, &f->u.pread, coir_pread, .fd = f->fd, .buf = f->got, .len = 3, .offset = 8);
    EQ(f->u.pread.result, 2, "two before the end");
    SAYS(0, &f->u.pread, coir_pread, .fd = f->fd, .buf = f->got, .len = 3, .offset = 10);
    EQ(f->u.pread.result, 0, "none at the end");
    EQ(lseek(f->fd, 0, SEEK_CUR), 0, "the file's own position has not moved");

    SAYS(0, &f->u.pread_exact, coir_pread_exact, .fd = f->fd, .buf = f->got, .len = 6, .offset = 4);
    EQ(f->u.pread_exact.result, 6, "exactly six");
    MEM_EQ(f->got, "ab6789", 6, "the last six");
    SAYS(-ENODATA, &f->u.pread_exact, coir_pread_exact, .fd = f->fd, .buf = f->got, .len = 7, .offset = 4);
    EQ(f->u.pread_exact.result, 6, "seven are not there, and six were read");
    SAYS(0, &f->u.pread_exact, coir_pread_exact, .fd = f->fd, .buf = f->got, .len = 0, .offset = 400);
    EQ(f->u.pread_exact.result, 0, "none are always there");
    coir_await(f, &f->u.close, coir_close, .fd = f->fd);
} coir_end

/* ---- pieces ---- */

struct pieces {
    coir_frame_void;
    coir_no_args;
    int fd;
    char got[16];
    struct iovec iov[3], many[1025];
    union slots u;
};
static coir_declare(pieces);
coir_body(pieces, f) {
    coir_get(f, f->fd, &f->u.open, coir_open, .path = "pieces", .flags = O_RDWR | O_CREAT, .mode = 0600);
    f->iov[0] = (struct iovec){ (void *)"abc", 3 };
    f->iov[1] = (struct iovec){ NULL, 0 };
    f->iov[2] = (struct iovec){ (void *)"defgh", 5 };
    SAYS(0, &f->u.pwritev, coir_pwritev, .fd = f->fd, .iov = f->iov, .iovcnt = 3, .offset = 2);
    EQ(f->u.pwritev.result, 8, "three pieces, one empty, are eight bytes");
    f->iov[0] = (struct iovec){ f->got, 4 };
    f->iov[1] = (struct iovec){ f->got + 8, 8 };
    SAYS(0, &f->u.preadv, coir_preadv, .fd = f->fd, .iov = f->iov, .iovcnt = 2, .offset = 0);
    EQ(f->u.preadv.result, 10, "the hole of two, and the eight");
    MEM_EQ(f->got, "\0\0ab", 4, "four in the first piece");
    MEM_EQ(f->got + 8, "cdefgh", 6, "six in the second");

    SAYS(0, &f->u.preadv, coir_preadv, .fd = f->fd, .iov = f->iov, .iovcnt = 0, .offset = 0);
    EQ(f->u.preadv.result, 0, "no pieces, no bytes");
    SAYS(-EINVAL, &f->u.preadv, coir_preadv, .fd = f->fd, .iov = f->iov, .iovcnt = -1, .offset = 0);
    SAYS(-EINVAL, &f->u.preadv, coir_preadv, .fd = f->fd, .iov = f->iov, .iovcnt = 1, .offset = -1);
    SAYS(-EINVAL, &f->u.pwritev, coir_pwritev, .fd = f->fd, .iov = f->iov, .iovcnt = 1, .offset = INT64_MIN);
    SAYS(-EFAULT, &f->u.pwritev, coir_pwritev, .fd = f->fd, .iov = NULL, .iovcnt = 1, .offset = 0);
    SAYS(-EBADF, &f->u.pwritev, coir_pwritev, .fd = -1, .iov = f->iov, .iovcnt = 1, .offset = 0);
    for (int i = 0; i < 1025; i++)
        f->many[i] = (struct iovec){ f->got, 1 };
    SAYS(-EINVAL, &f->u.pwritev, coir_pwritev, .fd = f->fd, .iov = f->many, .iovcnt = 1025, .offset = 0);
    SAYS(0, &f->u.pwritev, coir_pwritev, .fd = f->fd, .iov = f->many, .iovcnt = 1024, .offset = 0);
    EQ(f->u.pwritev.result, 1024, "1,024 pieces are allowed");
    f->iov[0] = (struct iovec){ NULL, 4 };
    SAYS(-EFAULT, &f->u.preadv, coir_preadv, .fd = f->fd, .iov = f->iov, .iovcnt = 1, .offset = 0);
    coir_await(f, &f->u.close, coir_close, .fd = f->fd);
} coir_end

/* ---- far away, and too much at once ---- */

struct far {
    coir_frame_void;
    coir_no_args;
    int fd;
    void *zeros;
    char got[8];
    union slots u;
};
static coir_declare(far);
coir_body(far, f) {
    coir_get(f, f->fd, &f->u.open, coir_open, .path = "far", .flags = O_RDWR | O_CREAT, .mode = 0600);
    SAYS(0, &f->u.pwrite_all, coir_pwrite_all, .fd = f->fd, .buf = "end", .len = 3, .offset = 5 * GIB);
    EQ(size_of("far"), 5 * GIB + 3, "a file of 5 GiB and three bytes");
    SAYS(0, &f->u.pread, coir_pread, .fd = f->fd, .buf = f->got, .len = 8, .offset = 5 * GIB - 2);
    EQ(f->u.pread.result, 5, "two of the hole and three");
    MEM_EQ(f->got, "\0\0end", 5, "read where they were written");
    SAYS(-EINVAL, &f->u.pread, coir_pread, .fd = f->fd, .buf = f->got, .len = 8, .offset = INT64_MAX - 4);
    SAYS(0, &f->u.pread, coir_pread, .fd = f->fd, .buf = f->got, .len = 8, .offset = INT64_MAX - 8);
    EQ(f->u.pread.result, 0, "the last offset there is lies behind the end");
    SAYS(0, &f->u.ftruncate, coir_ftruncate, .fd = f->fd, .length = 6 * GIB);
    EQ(size_of("far"), 6 * GIB, "longer by ftruncate");
    SAYS(0, &f->u.ftruncate, coir_ftruncate, .fd = f->fd, .length = 1);
    EQ(size_of("far"), 1, "shorter by ftruncate");
    coir_await(f, &f->u.close, coir_close, .fd = f->fd);

    coir_get(f, f->fd, &f->u.open, coir_open, .path = "/dev/null", .flags = O_WRONLY);
    f->zeros = mmap(NULL, 5 * GIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (f->zeros != MAP_FAILED) {
        SAYS(0, &f->u.pwrite, coir_pwrite, .fd = f->fd, .buf = f->zeros, .len = 3 * GIB, .offset = 0);
        EQ(f->u.pwrite.result, 2147479552, "of three GiB what write(2) moves at once");
        SAYS(0, &f->u.pwrite_all, coir_pwrite_all, .fd = f->fd, .buf = f->zeros, .len = 5 * GIB, .offset = 0);
        EQ(f->u.pwrite_all.result, 5 * GIB, "five GiB in three moves");
        munmap(f->zeros, 5 * GIB);
    }
    coir_await(f, &f->u.close, coir_close, .fd = f->fd);
} coir_end

/* ---- what cannot be ---- */

struct wrong {
    coir_frame_void;
    coir_no_args;
    int fd, reader, dir, pipe[2];
    char got[8];
    union slots u;
};
static coir_declare(wrong);
coir_body(wrong, f) {
    make_file("wrong", 'w', 4);
    coir_get(f, f->fd, &f->u.open, coir_open, .path = "wrong", .flags = O_WRONLY);
    coir_get(f, f->reader, &f->u.open, coir_open, .path = "wrong", .flags = O_RDONLY);
    coir_get(f, f->dir, &f->u.open, coir_open, .path = ".", .flags = O_RDONLY | O_DIRECTORY);
    EQ(coir_pipe(f->pipe), 0, "a pipe");

    SAYS(-EBADF, &f->u.pread, coir_pread, .fd = f->fd, .buf = f->got, .len = 8, .offset = 0);
    SAYS(-EBADF, &f->u.pwrite, coir_pwrite, .fd = f->reader, .buf = f->got, .len = 8, .offset = 0);
    SAYS(-EBADF, &f->u.pread, coir_pread, .fd = -1, .buf = f->got, .len = 8, .offset = 0);
    SAYS(-EBADF, &f->u.pread, coir_pread, .fd = 9999, .buf = f->got, .len = 8, .offset = 0);
    SAYS(-EBADF, &f->u.pread, coir_pread, .fd = INT32_MAX, .buf = f->got, .len = 8, .offset = 0);
    SAYS(-EISDIR, &f->u.pread, coir_pread, .fd = f->dir, .buf = f->got, .len = 8, .offset = 0);
    SAYS(-ESPIPE, &f->u.pread, coir_pread, .fd = f->pipe[0], .buf = f->got, .len = 8, .offset = 0);
    SAYS(-ESPIPE, &f->u.pwrite, coir_pwrite, .fd = f->pipe[1], .buf = f->got, .len = 8, .offset = 3);
    SAYS(-EINVAL, &f->u.pread, coir_pread, .fd = f->reader, .buf = f->got, .len = 8, .offset = -1);
    SAYS(-EINVAL, &f->u.pwrite_all, coir_pwrite_all, .fd = f->fd, .buf = f->got, .len = 8, .offset = -7);
    SAYS(-EFAULT, &f->u.pread, coir_pread, .fd = f->reader, .buf = NULL, .len = 8, .offset = 0);
    SAYS(0, &f->u.pread, coir_pread, .fd = f->reader, .buf = NULL, .len = 0, .offset = 0);

    SAYS(-EBADF, &f->u.fsync, coir_fsync, .fd = -1);
    SAYS(-EBADF, &f->u.fsync, coir_fsync, .fd = INT32_MAX);
    SAYS(-EINVAL, &f->u.fsync, coir_fsync, .fd = f->pipe[0]);
    SAYS(-EINVAL, &f->u.fdatasync, coir_fdatasync, .fd = f->pipe[0]);
    SAYS(0, &f->u.fsync, coir_fsync, .fd = f->fd);
    SAYS(0, &f->u.fdatasync, coir_fdatasync, .fd = f->reader);

    SAYS(-EINVAL, &f->u.fallocate, coir_fallocate, .fd = f->fd, .mode = 0, .offset = 0, .len = 0);
    SAYS(-EINVAL, &f->u.fallocate, coir_fallocate, .fd = f->fd, .mode = 0, .offset = -1, .len = 9);
    SAYS(-EBADF, &f->u.fallocate, coir_fallocate, .fd = f->reader, .mode = 0, .offset = 0, .len = 9);
    SAYS(-ESPIPE, &f->u.fallocate, coir_fallocate, .fd = f->pipe[1], .mode = 0, .offset = 0, .len = 9);
    SAYS(-EFBIG, &f->u.fallocate, coir_fallocate, .fd = f->fd, .mode = 0, .offset = INT64_MAX, .len = 9);
    SAYS(0, &f->u.fallocate, coir_fallocate, .fd = f->fd, .mode = 0, .offset = 0, .len = 9);
    EQ(size_of("wrong"), 9, "fallocate has made it longer");
    SAYS(0, &f->u.fallocate, coir_fallocate, .fd = f->fd, .mode = FALLOC_FL_KEEP_SIZE, .offset = 9, .len = 100);
    EQ(size_of("wrong"), 9, "and not, with FALLOC_FL_KEEP_SIZE");
    SAYS(-EINVAL, &f->u.ftruncate, coir_ftruncate, .fd = f->fd, .length = -1);
    SAYS(-EINVAL, &f->u.ftruncate, coir_ftruncate, .fd = f->reader, .length = 3);
    SAYS(-EINVAL, &f->u.ftruncate, coir_ftruncate, .fd = f->pipe[1], .length = 3);
    SAYS(-EBADF, &f->u.ftruncate, coir_ftruncate, .fd = 9999, .length = 3);
    coir_finally(f) {
        coir_await(f, &f->u.close, coir_close, .fd = f->fd);
        coir_await(f, &f->u.close, coir_close, .fd = f->reader);
        coir_await(f, &f->u.close, coir_close, .fd = f->dir);
        coir_await(f, &f->u.close, coir_close, .fd = f->pipe[0]);
        coir_await(f, &f->u.close, coir_close, .fd = f->pipe[1]);
    }
} coir_end

/* ---- memory that does not outlive the await ---- */

struct dead {
    coir_frame_void;
    coir_no_args;
    int fd;
    char got[8];
    struct iovec iov;
    union slots u;
};
static coir_declare(dead);

/* An address on this thread's stack, below the loop. */
static __attribute__((noinline)) void *on_the_stack(void)
{
    return __builtin_frame_address(0);
}

coir_body(dead, f) {
    coir_get(f, f->fd, &f->u.open, coir_open, .path = "dead", .flags = O_RDWR | O_CREAT, .mode = 0600);
    SAYS(-EFAULT, &f->u.pread, coir_pread, .fd = f->fd, .buf = on_the_stack(), .len = 8, .offset = 0);
    SAYS(-EFAULT, &f->u.pwrite_all, coir_pwrite_all, .fd = f->fd, .buf = on_the_stack(), .len = 8, .offset = 0);
    SAYS(-EFAULT, &f->u.preadv, coir_preadv, .fd = f->fd, .iov = on_the_stack(), .iovcnt = 1, .offset = 0);
    f->iov = (struct iovec){ on_the_stack(), 8 };
    SAYS(-EFAULT, &f->u.pwritev, coir_pwritev, .fd = f->fd, .iov = &f->iov, .iovcnt = 1, .offset = 0);
    EQ(size_of("dead"), 0, "nothing of that was written");
    coir_await(f, &f->u.close, coir_close, .fd = f->fd);
} coir_end

/* ---- RLIMIT_FSIZE ---- */

struct limited {
    coir_frame_void;
    coir_no_args;
    int fd;
    struct rlimit before;
    char page[8192];
    int beyond, all, grown;
    size_t n, n_all;
    union slots u;
};
static coir_declare(limited);
coir_body(limited, f) {
    coir_get(f, f->fd, &f->u.open, coir_open, .path = "limited", .flags = O_RDWR | O_CREAT, .mode = 0600);
    memset(f->page, 'l', sizeof f->page);
    getrlimit(RLIMIT_FSIZE, &f->before);
    /* No check in between: the log may be a file of more than 4 KiB. */
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 4096, f->before.rlim_max });
    coir_await(f, &f->u.pwrite, coir_pwrite, .fd = f->fd, .buf = f->page, .len = 8192, .offset = 4096);
    f->beyond = coir_status(&f->u.pwrite);
    coir_await(f, &f->u.pwrite, coir_pwrite, .fd = f->fd, .buf = f->page, .len = 8192, .offset = 0);
    f->n = f->u.pwrite.result;
    coir_await(f, &f->u.pwrite_all, coir_pwrite_all, .fd = f->fd, .buf = f->page, .len = 8192, .offset = 0);
    f->all = coir_status(&f->u.pwrite_all);
    f->n_all = f->u.pwrite_all.result;
    coir_await(f, &f->u.ftruncate, coir_ftruncate, .fd = f->fd, .length = 4097);
    f->grown = coir_status(&f->u.ftruncate);
    setrlimit(RLIMIT_FSIZE, &f->before);
    EQ(f->beyond, -EFBIG, "a write beyond the limit says so, and no SIGXFSZ kills");
    EQ(f->n, 4096, "one across it is short");
    EQ(f->all, -EFBIG, "writing all across it fails");
    EQ(f->n_all, 4096, "and says how much was written");
    EQ(f->grown, -EFBIG, "so does growing");
    coir_await(f, &f->u.close, coir_close, .fd = f->fd);
} coir_end

int main(void)
{
    WITHOUT_CHANCE("whole");           /* it says how many bytes there are at once */
    scratch_begin();
    const int before = open_descriptors();
    EQ(coir_run(NULL, coir_new(moving)), 0, "moving");
    EQ(coir_run(NULL, coir_new(pieces)), 0, "pieces");
    EQ(coir_run(NULL, coir_new(far)), 0, "far");
    EQ(coir_run(NULL, coir_new(wrong)), 0, "wrong");
    EQ(coir_run(NULL, coir_new(dead)), 0, "dead");
    EQ(coir_run(NULL, coir_new(limited)), 0, "limited");
    EQ(open_descriptors(), before, "nothing is left open");
    scratch_end();
    return DONE();
}
