/* SPDX-License-Identifier: MIT */
/*
 * Paths: open, statx, rename, unlink, mkdir, and every errno they can be made to say, the same on both planes. A
 * tmpfs of its own, where this process may mount one, gives -EXDEV and -ENOSPC.
 */
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "scratch.h"

union slots {
    struct coir_open open;
    struct coir_openat openat;
    struct coir_close close;
    struct coir_statx statx;
    struct coir_rename rename;
    struct coir_unlink unlink;
    struct coir_mkdir mkdir;
    struct coir_pwrite pwrite;
    struct coir_pwrite_all pwrite_all;
    struct coir_fallocate fallocate;
};

static char long_name[257];

/* An address on this thread's stack, below the loop. */
static __attribute__((noinline)) void *on_the_stack(void)
{
    return __builtin_frame_address(0);
}

/* ---- open ---- */

struct opens {
    coir_frame_void;
    coir_no_args;
    int fd, dir;
    union slots u;
};
static coir_declare(opens);
coir_body(opens, f) {
    make_file("file", 'f', 3);
    EQ(symlink("file", "link"), 0, "a link");
    SAYS(-ENOENT, &f->u.open, coir_open, .path = "missing", .flags = O_RDONLY);
    EQ(f->u.open.result, -1, "the result of a failed open is no descriptor");
    SAYS(-ENOENT, &f->u.open, coir_open, .path = "", .flags = O_RDONLY);
    SAYS(-EEXIST, &f->u.open, coir_open, .path = "file", .flags = O_RDWR | O_CREAT | O_EXCL, .mode = 0600);
    SAYS(-ENOTDIR, &f->u.open, coir_open, .path = "file/below", .flags = O_RDONLY);
    SAYS(-ENOTDIR, &f->u.open, coir_open, .path = "file", .flags = O_RDONLY | O_DIRECTORY);
    SAYS(-EISDIR, &f->u.open, coir_open, .path = ".", .flags = O_WRONLY);
    SAYS(-ELOOP, &f->u.open, coir_open, .path = "link", .flags = O_RDONLY | O_NOFOLLOW);
    SAYS(-ENAMETOOLONG, &f->u.open, coir_open, .path = long_name, .flags = O_RDONLY);
    SAYS(-EINVAL, &f->u.open, coir_open, .path = ".", .flags = O_RDONLY | (O_TMPFILE & ~O_DIRECTORY) | O_DIRECTORY,
         .mode = 0600);
    SAYS(-EFAULT, &f->u.open, coir_open, .path = NULL, .flags = O_RDONLY);
    SAYS(-EFAULT, &f->u.open, coir_open, .path = on_the_stack(), .flags = O_RDONLY);
    SAYS(-EFAULT, &f->u.openat, coir_openat, .dirfd = AT_FDCWD, .path = on_the_stack());

    SAYS(0, &f->u.open, coir_open, .path = ".", .flags = O_RDWR | O_TMPFILE, .mode = 0600);
    coir_await(f, &f->u.close, coir_close, .fd = f->u.open.result);
    coir_get(f, f->dir, &f->u.open, coir_open, .path = ".", .flags = O_RDONLY | O_DIRECTORY);
    SAYS(0, &f->u.openat, coir_openat, .dirfd = f->dir, .path = "file", .flags = O_RDONLY);
    f->fd = f->u.openat.result;
    EQ(fcntl(f->fd, F_GETFD), FD_CLOEXEC, "closed by exec");
    SAYS(-ENOTDIR, &f->u.openat, coir_openat, .dirfd = f->fd, .path = "file", .flags = O_RDONLY);
    SAYS(-EBADF, &f->u.openat, coir_openat, .dirfd = -1, .path = "file", .flags = O_RDONLY);
    SAYS(-EBADF, &f->u.openat, coir_openat, .dirfd = 9999, .path = "file", .flags = O_RDONLY);
    coir_await(f, &f->u.close, coir_close, .fd = f->fd);
    SAYS(0, &f->u.openat, coir_openat, .dirfd = 9999, .path = "/dev/null", .flags = O_RDONLY);
    coir_await(f, &f->u.close, coir_close, .fd = f->u.openat.result);
    coir_await(f, &f->u.close, coir_close, .fd = f->dir);

    umask(027);
    SAYS(0, &f->u.open, coir_open, .path = "masked", .flags = O_WRONLY | O_CREAT, .mode = 0666);
    coir_await(f, &f->u.close, coir_close, .fd = f->u.open.result);
    umask(022);
} coir_end

/* ---- no descriptor left ---- */

struct full {
    coir_frame_void;
    coir_no_args;
    struct rlimit before;
    int status;
    union slots u;
};
static coir_declare(full);
coir_body(full, f) {
    getrlimit(RLIMIT_NOFILE, &f->before);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, f->before.rlim_max });
    coir_await(f, &f->u.open, coir_open, .path = "file", .flags = O_RDONLY);
    f->status = coir_status(&f->u.open);
    setrlimit(RLIMIT_NOFILE, &f->before);
    EQ(f->status, -EMFILE, "no descriptor is left");
} coir_end

/* ---- an open nobody reads the result of ---- */

struct spawned {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
    int before;
};
static coir_declare(spawned);
coir_body(spawned, f) {
    f->before = open_descriptors();
    coir_group_open(f, &f->group);
    for (int i = 0; i < 10; i++)
        EQ(coir_spawn(&f->group, coir_new(coir_open, .path = "file", .flags = O_RDONLY)), 0, "spawned");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), 0, "ten spawned opens succeed");
    EQ(open_descriptors(), f->before, "and leave no descriptor, since nobody could have closed it");
} coir_end

/* ---- statx ---- */

struct looks {
    coir_frame_void;
    coir_no_args;
    int dir;
    struct statx st;
    union slots u;
};
static coir_declare(looks);
coir_body(looks, f) {
    SAYS(0, &f->u.statx, coir_statx, .dirfd = AT_FDCWD, .path = "file", .mask = STATX_BASIC_STATS, .statxbuf = &f->st);
    EQ(f->st.stx_size, 3, "three bytes");
    EQ(f->st.stx_mode, S_IFREG | 0600, "a file of mode 0600");
    SAYS(0, &f->u.statx, coir_statx, .dirfd = AT_FDCWD, .path = "masked", .mask = STATX_MODE, .statxbuf = &f->st);
    EQ(f->st.stx_mode & 0777, 0640, "0666 under a umask of 027");
    SAYS(0, &f->u.statx, coir_statx, .dirfd = AT_FDCWD, .path = "link", .flags = AT_SYMLINK_NOFOLLOW,
         .mask = STATX_TYPE, .statxbuf = &f->st);
    EQ(f->st.stx_mode & S_IFMT, S_IFLNK, "the link itself");
    coir_get(f, f->dir, &f->u.open, coir_open, .path = ".", .flags = O_RDONLY);
    SAYS(0, &f->u.statx, coir_statx, .dirfd = f->dir, .path = "", .flags = AT_EMPTY_PATH, .mask = STATX_TYPE,
         .statxbuf = &f->st);
    EQ(f->st.stx_mode & S_IFMT, S_IFDIR, "the descriptor itself");
    SAYS(0, &f->u.statx, coir_statx, .dirfd = f->dir, .path = "file", .mask = STATX_SIZE, .statxbuf = &f->st);
    EQ(f->st.stx_size, 3, "relative to the directory");
    SAYS(-ENOENT, &f->u.statx, coir_statx, .dirfd = f->dir, .path = "", .mask = STATX_SIZE, .statxbuf = &f->st);
    SAYS(-ENOENT, &f->u.statx, coir_statx, .dirfd = AT_FDCWD, .path = "missing", .statxbuf = &f->st);
    SAYS(-EINVAL, &f->u.statx, coir_statx, .dirfd = AT_FDCWD, .path = "file", .flags = 0x40000000,
         .statxbuf = &f->st);
    SAYS(-EINVAL, &f->u.statx, coir_statx, .dirfd = AT_FDCWD, .path = "file", .mask = STATX__RESERVED,
         .statxbuf = &f->st);
    SAYS(-EBADF, &f->u.statx, coir_statx, .dirfd = 9999, .path = "file", .statxbuf = &f->st);
    SAYS(-EFAULT, &f->u.statx, coir_statx, .dirfd = AT_FDCWD, .path = NULL, .statxbuf = &f->st);
    SAYS(-EFAULT, &f->u.statx, coir_statx, .dirfd = AT_FDCWD, .path = "file", .statxbuf = NULL);
    SAYS(-EFAULT, &f->u.statx, coir_statx, .dirfd = AT_FDCWD, .path = "file", .statxbuf = on_the_stack());
    coir_await(f, &f->u.close, coir_close, .fd = f->dir);
} coir_end

/* ---- rename, unlink, mkdir ---- */

struct names {
    coir_frame_void;
    coir_no_args;
    union slots u;
};
static coir_declare(names);
coir_body(names, f) {
    SAYS(0, &f->u.mkdir, coir_mkdir, .path = "dir", .mode = 0755);
    SAYS(-EEXIST, &f->u.mkdir, coir_mkdir, .path = "dir", .mode = 0755);
    SAYS(-ENOENT, &f->u.mkdir, coir_mkdir, .path = "no/dir", .mode = 0755);
    SAYS(-ENOTDIR, &f->u.mkdir, coir_mkdir, .path = "file/dir", .mode = 0755);
    SAYS(-ENAMETOOLONG, &f->u.mkdir, coir_mkdir, .path = long_name, .mode = 0755);
    SAYS(-EFAULT, &f->u.mkdir, coir_mkdir, .path = NULL, .mode = 0755);
    SAYS(-EFAULT, &f->u.mkdir, coir_mkdir, .path = on_the_stack(), .mode = 0755);

    make_file("one", '1', 1);
    make_file("two", '2', 2);
    SAYS(-EEXIST, &f->u.rename, coir_rename, .oldpath = "one", .newpath = "two", .flags = RENAME_NOREPLACE);
    EQ(size_of("two"), 2, "not replaced");
    SAYS(0, &f->u.rename, coir_rename, .oldpath = "one", .newpath = "two", .flags = RENAME_EXCHANGE);
    EQ(size_of("one"), 2, "exchanged");
    SAYS(0, &f->u.rename, coir_rename, .oldpath = "one", .newpath = "two");
    EQ(size_of("two"), 2, "replaced");
    EQ(size_of("one"), -1, "gone from where it was");
    SAYS(-ENOENT, &f->u.rename, coir_rename, .oldpath = "one", .newpath = "two");
    SAYS(-EISDIR, &f->u.rename, coir_rename, .oldpath = "two", .newpath = "dir");
    SAYS(-ENOTDIR, &f->u.rename, coir_rename, .oldpath = "dir", .newpath = "two");
    SAYS(-EINVAL, &f->u.rename, coir_rename, .oldpath = "dir", .newpath = "dir/below");
    SAYS(-EINVAL, &f->u.rename, coir_rename, .oldpath = "two", .newpath = "three", .flags = 1u << 20);
    SAYS(0, &f->u.rename, coir_rename, .oldpath = "two", .newpath = "dir/two", .flags = RENAME_NOREPLACE);
    SAYS(-EFAULT, &f->u.rename, coir_rename, .oldpath = NULL, .newpath = "two");
    SAYS(-EFAULT, &f->u.rename, coir_rename, .oldpath = "file", .newpath = NULL);
    SAYS(-EFAULT, &f->u.rename, coir_rename, .oldpath = "file", .newpath = on_the_stack());

    SAYS(-EISDIR, &f->u.unlink, coir_unlink, .path = "dir");
    SAYS(-ENOTEMPTY, &f->u.unlink, coir_unlink, .path = "dir", .flags = AT_REMOVEDIR);
    SAYS(-ENOTDIR, &f->u.unlink, coir_unlink, .path = "file", .flags = AT_REMOVEDIR);
    SAYS(-EINVAL, &f->u.unlink, coir_unlink, .path = "file", .flags = AT_SYMLINK_NOFOLLOW);
    SAYS(0, &f->u.unlink, coir_unlink, .path = "dir/two");
    SAYS(0, &f->u.unlink, coir_unlink, .path = "dir", .flags = AT_REMOVEDIR);
    SAYS(-ENOENT, &f->u.unlink, coir_unlink, .path = "dir");
    SAYS(-EFAULT, &f->u.unlink, coir_unlink, .path = NULL);
    SAYS(-EFAULT, &f->u.unlink, coir_unlink, .path = on_the_stack());
} coir_end

/* ---- another filesystem, a small one ---- */

struct small {
    coir_frame_void;
    coir_no_args;
    int fd;
    char bytes[256 << 10];
    union slots u;
};
static coir_declare(small);
coir_body(small, f) {
    SAYS(-EXDEV, &f->u.rename, coir_rename, .oldpath = "file", .newpath = "mount/file");
    coir_get(f, f->fd, &f->u.open, coir_open, .path = "mount/big", .flags = O_WRONLY | O_CREAT, .mode = 0600);
    memset(f->bytes, 's', sizeof f->bytes);
    SAYS(-ENOSPC, &f->u.pwrite_all, coir_pwrite_all, .fd = f->fd, .buf = f->bytes, .len = sizeof f->bytes, .offset = 0);
    EQ(f->u.pwrite_all.result, 64 << 10, "what there was room for is counted");
    SAYS(-ENOSPC, &f->u.fallocate, coir_fallocate, .fd = f->fd, .mode = 0, .offset = 0, .len = 1 << 20);
    coir_await(f, &f->u.close, coir_close, .fd = f->fd);
    EQ(mount(NULL, "mount", NULL, MS_REMOUNT | MS_RDONLY, NULL), 0, "now it is read-only");
    SAYS(-EROFS, &f->u.open, coir_open, .path = "mount/big", .flags = O_WRONLY);
    SAYS(-EROFS, &f->u.mkdir, coir_mkdir, .path = "mount/dir", .mode = 0700);
    SAYS(-EBUSY, &f->u.unlink, coir_unlink, .path = "mount", .flags = AT_REMOVEDIR);
} coir_end

/* In a mount namespace of this process, so that nothing stays behind whatever happens. Before any ring: the
 * kernel's workers keep the namespace they began in. */
static bool mount_small(void)
{
    mkdir("mount", 0700);
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0
        && mount("small", "mount", "tmpfs", 0, "size=64k") == 0;
}

int main(void)
{
    memset(long_name, 'n', sizeof long_name - 1);
    umask(022);
    scratch_begin();
    const bool mounted = mount_small();
    const int before = open_descriptors();
    EQ(coir_run(NULL, coir_new(opens)), 0, "opens");
    EQ(coir_run(NULL, coir_new(full)), 0, "full");
    EQ(coir_run(NULL, coir_new(spawned)), 0, "spawned");
    EQ(coir_run(NULL, coir_new(looks)), 0, "looks");
    EQ(coir_run(NULL, coir_new(names)), 0, "names");
    if (mounted) {
        EQ(coir_run(NULL, coir_new(small)), 0, "small");
        umount("mount");
    } else {
        SKIP("this process may not mount a tmpfs");
    }
    EQ(open_descriptors(), before, "nothing is left open");
    scratch_end();
    return DONE();
}
