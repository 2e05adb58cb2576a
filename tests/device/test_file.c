/* SPDX-License-Identifier: MIT */
/*
 * Files as devices: what is moved where, in pieces of every number, the end, the lock, growing and punching, reading
 * past the page cache and where that cannot be had; calls that fail; several shards.
 */
#include "device/file.h"

#include <linux/loop.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "runtime/base/fault.h"
#include "runtime/base/pool.h"

#include "../ops/scratch.h"

enum { BLOCK = 4096, MANY = 2500 };

union slots {
    struct coir_file_open open;
    struct coir_device_read read;
    struct coir_device_write write;
    struct coir_device_flush flush;
    struct coir_device_grow grow;
    struct coir_device_punch punch;
    struct coir_device_close close;
};

static _Alignas(BLOCK) unsigned char page[4 * BLOCK];

/* ---- opening ---- */

struct opening {
    coir_frame_void;
    coir_no_args;
    struct coir_file_device a, b;
    union slots u;
};
static coir_declare(opening);
coir_body(opening, f) {
    SAYS(-ENOENT, &f->u.open, coir_file_open, .file = &f->a, .path = "none");
    SAYS(0, &f->u.open, coir_file_open, .file = &f->a, .path = "one", .flags = COIR_FILE_CREATE);
    EQ(f->a.device.size, 0, "a file that was made is empty");
    EQ(f->a.device.grain, 4096, "with the least grain");
    EQ(f->a.device.home, 0, "at home here");
    OK(!f->a.device.read_only && !f->a.is_block, "to be written, and no block device");
    STR_EQ(f->a.device.name, "one", "it has a name");
    SAYS(-EBUSY, &f->u.open, coir_file_open, .file = &f->b, .path = "one");
    SAYS(-EBUSY, &f->u.open, coir_file_open, .file = &f->b, .path = "one", .flags = COIR_FILE_READ_ONLY);
    SAYS(0, &f->u.close, coir_device_close, .device = &f->a.device);
    SAYS(-EEXIST, &f->u.open, coir_file_open, .file = &f->a, .path = "one", .flags = COIR_FILE_NEW);
    SAYS(0, &f->u.open, coir_file_open, .file = &f->a, .path = "one", .flags = COIR_FILE_READ_ONLY);
    SAYS(0, &f->u.open, coir_file_open, .file = &f->b, .path = "one", .flags = COIR_FILE_READ_ONLY);
    SAYS(0, &f->u.close, coir_device_close, .device = &f->b.device);
    SAYS(-EBUSY, &f->u.open, coir_file_open, .file = &f->b, .path = "one");
    SAYS(0, &f->u.close, coir_device_close, .device = &f->a.device);
    SAYS(0, &f->u.open, coir_file_open, .file = &f->a, .path = "two", .flags = COIR_FILE_NEW);
    SAYS(0, &f->u.close, coir_device_close, .device = &f->a.device);
    SAYS(-ENOTBLK, &f->u.open, coir_file_open, .file = &f->a, .path = "/dev/null");
    SAYS(-ENOTBLK, &f->u.open, coir_file_open, .file = &f->a, .path = ".");
} coir_end

/* The lock is the open description's, and lasts as long as a child has it. */
struct inherited {
    coir_frame_void;
    coir_no_args;
    int go[2], other;
    pid_t child;
    struct coir_file_device a;
    union slots u;
};
static coir_declare(inherited);
static pid_t holds_until_told(int go)
{
    const pid_t child = fork();
    char c;

    if (child == 0)
        _exit(read(go, &c, 1) == 1 ? 0 : 1);
    return child;
}
coir_body(inherited, f) {
    EQ(pipe(f->go), 0, "a pipe");
    SAYS(0, &f->u.open, coir_file_open, .file = &f->a, .path = "held", .flags = COIR_FILE_NEW);
    f->child = holds_until_told(f->go[0]);
    SAYS(0, &f->u.close, coir_device_close, .device = &f->a.device);
    SAYS(-EBUSY, &f->u.open, coir_file_open, .file = &f->a, .path = "held");
    OK(write(f->go[1], "x", 1) == 1 && waitpid(f->child, &f->other, 0) == f->child, "the child ends");
    SAYS(0, &f->u.open, coir_file_open, .file = &f->a, .path = "held");
    SAYS(0, &f->u.close, coir_device_close, .device = &f->a.device);
    close(f->go[0]);
    close(f->go[1]);
} coir_end

/* So is a dying process, whose last writes the kernel has still to end: it is waited for, if that is asked for. */
struct awaited {
    coir_frame_void;
    coir_no_args;
    int other;
    pid_t child;
    struct coir_file_device a;
    union slots u;
};
static coir_declare(awaited);
static pid_t holds_for(unsigned ms)
{
    const pid_t child = fork();

    if (child == 0)
        _exit(poll(NULL, 0, (int)ms));
    return child;
}
coir_body(awaited, f) {
    SAYS(0, &f->u.open, coir_file_open, .file = &f->a, .path = "awaited", .flags = COIR_FILE_NEW);
    f->child = holds_for(300);
    SAYS(0, &f->u.close, coir_device_close, .device = &f->a.device);
    SAYS(0, &f->u.open, coir_file_open, .file = &f->a, .path = "awaited", .flags = COIR_FILE_WAIT);
    OK(waitpid(f->child, &f->other, 0) == f->child && f->other == 0, "the child has ended");
    SAYS(0, &f->u.close, coir_device_close, .device = &f->a.device);
} coir_end

/* ---- moving bytes ---- */

struct moving {
    coir_frame_void;
    coir_args(int n;);
    struct coir_file_device a;
    struct iovec iov[MANY];
    unsigned char out[MANY * 3], in[MANY * 3];
    union slots u;
};
static coir_declare(moving);
/* Pieces of 0 to 5 bytes, n of them; the sum. */
static size_t cut_up(struct iovec *iov, int n, unsigned char *bytes)
{
    size_t at = 0;

    for (int i = 0; i < n; i++) {
        iov[i] = (struct iovec){ bytes + at, (size_t)i * 7 % 6 };
        at += iov[i].iov_len;
    }
    return at;
}
coir_body(moving, f) {
    SAYS(0, &f->u.open, coir_file_open, .file = &f->a, .path = "moved", .flags = COIR_FILE_CREATE);
    for (size_t i = 0; i < sizeof f->out; i++)
        f->out[i] = (unsigned char)(i * 31 + i / 256);
    memset(f->in, 0, sizeof f->in);
    cut_up(f->iov, f->n, f->out);
    SAYS(0, &f->u.write, coir_device_write, .device = &f->a.device, .iov = f->iov, .n = f->n, .offset = 100);
    EQ(size_of("moved"), 100 + (long long)cut_up(f->iov, f->n, f->in), "all of %d pieces is written", f->n);
    SAYS(0, &f->u.read, coir_device_read, .device = &f->a.device, .iov = f->iov, .n = f->n, .offset = 100);
    MEM_EQ(f->in, f->out, cut_up(f->iov, f->n, f->in), "and read again");
    SAYS(0, &f->u.flush, coir_device_flush, .device = &f->a.device);
    EQ(f->a.device.flusher.begun, 1, "synced once");
    f->iov[0] = (struct iovec){ f->in, 101 };
    SAYS(-ENODATA, &f->u.read, coir_device_read, .device = &f->a.device, .iov = f->iov, .n = 1,
         .offset = (uint64_t)size_of("moved") - 100);
    f->iov[0].iov_len = 100;
    f->iov[1] = (struct iovec){ f->in, 1 };
    SAYS(-ENODATA, &f->u.read, coir_device_read, .device = &f->a.device, .iov = f->iov, .n = 2,
         .offset = (uint64_t)size_of("moved") - 100);
    SAYS(-ENODATA, &f->u.read, coir_device_read, .device = &f->a.device, .iov = f->iov, .n = 2,
         .offset = (uint64_t)size_of("moved"));
    SAYS(0, &f->u.read, coir_device_read, .device = &f->a.device, .iov = f->iov, .n = 0, .offset = 1 << 30);
    SAYS(0, &f->u.close, coir_device_close, .device = &f->a.device);
    SAYS(0, &f->u.open, coir_file_open, .file = &f->a, .path = "moved", .flags = COIR_FILE_READ_ONLY);
    SAYS(-EROFS, &f->u.write, coir_device_write, .device = &f->a.device, .iov = f->iov, .n = 1);
    SAYS(-EROFS, &f->u.grow, coir_device_grow, .device = &f->a.device, .size = 1 << 20);
    SAYS(-EROFS, &f->u.punch, coir_device_punch, .device = &f->a.device, .len = 1);
    SAYS(0, &f->u.close, coir_device_close, .device = &f->a.device);
    unlink("moved");
} coir_end

/* ---- room ---- */

static long long room_of(const char *path)
{
    struct stat st;

    return stat(path, &st) < 0 ? -1 : (long long)st.st_blocks * 512;
}

struct room {
    coir_frame_void;
    coir_no_args;
    struct coir_file_device a;
    struct iovec iov;
    union slots u;
};
static coir_declare(room);
coir_body(room, f) {
    SAYS(0, &f->u.open, coir_file_open, .file = &f->a, .path = "room", .flags = COIR_FILE_CREATE);
    SAYS(0, &f->u.grow, coir_device_grow, .device = &f->a.device, .size = 1 << 20);
    EQ(size_of("room"), 1 << 20, "it has grown");
    EQ(f->a.device.size, 1 << 20, "and says so");
    OK(room_of("room") >= 1 << 20, "with room for all of it");
    SAYS(0, &f->u.grow, coir_device_grow, .device = &f->a.device, .size = 5);
    EQ(size_of("room"), 1 << 20, "it never shrinks");
    memset(page, 'x', sizeof page);
    f->iov = (struct iovec){ page, sizeof page };
    SAYS(0, &f->u.write, coir_device_write, .device = &f->a.device, .iov = &f->iov, .n = 1, .offset = BLOCK);
    SAYS(0, &f->u.punch, coir_device_punch, .device = &f->a.device, .offset = 2 * BLOCK, .len = BLOCK);
    SAYS(0, &f->u.read, coir_device_read, .device = &f->a.device, .iov = &f->iov, .n = 1, .offset = BLOCK);
    OK(page[0] == 'x' && page[BLOCK - 1] == 'x' && page[2 * BLOCK] == 'x', "what lies around is there");
    OK(page[BLOCK] == 0 && page[2 * BLOCK - 1] == 0, "what was punched is zeros");
    OK(room_of("room") < 1 << 20, "and its room is free");
    SAYS(0, &f->u.punch, coir_device_punch, .device = &f->a.device, .offset = 2 * BLOCK, .len = 0);
    f->a.is_block = true;
    SAYS(-ENOSPC, &f->u.grow, coir_device_grow, .device = &f->a.device, .size = 2 << 20);
    SAYS(0, &f->u.close, coir_device_close, .device = &f->a.device);
} coir_end

/* ---- past the page cache, and where there is no way past it ---- */

struct direct {
    coir_frame_void;
    coir_no_args;
    int round;
    struct coir_file_device a;
    struct iovec iov[3];
    union slots u;
};
static coir_declare(direct);
coir_body(direct, f) {
    SAYS(0, &f->u.open, coir_file_open, .file = &f->a, .path = "direct", .flags = COIR_FILE_CREATE);
    for (size_t i = 0; i < sizeof page; i++)
        page[i] = (unsigned char)(i / BLOCK + 1);
    f->iov[0] = (struct iovec){ page, sizeof page };
    SAYS(0, &f->u.write, coir_device_write, .device = &f->a.device, .iov = f->iov, .n = 1, .offset = 0);
    for (f->round = 0; f->round < 2; f->round++) {
        NOTE("%s", f->a.direct >= 0 ? "O_DIRECT" : "without O_DIRECT");
        memset(page, 0, sizeof page);
        f->iov[0] = (struct iovec){ page + BLOCK, BLOCK };
        f->iov[1] = (struct iovec){ page, 0 };
        f->iov[2] = (struct iovec){ page + 2 * BLOCK, 2 * BLOCK };
        SAYS(0, &f->u.read, coir_device_read, .device = &f->a.device, .iov = f->iov, .n = 3, .offset = BLOCK,
             .flags = COIR_DIRECT);
        OK(page[0] == 0 && page[BLOCK] == 2 && page[2 * BLOCK] == 3 && page[4 * BLOCK - 1] == 4, "three blocks");
        SAYS(-ENODATA, &f->u.read, coir_device_read, .device = &f->a.device, .iov = f->iov, .n = 3,
             .offset = 2 * BLOCK, .flags = COIR_DIRECT);
        SAYS(-ENODATA, &f->u.read, coir_device_read, .device = &f->a.device, .iov = f->iov, .n = 1,
             .offset = 8 * BLOCK, .flags = COIR_DIRECT);
        if (f->a.direct >= 0)
            close(f->a.direct);
        f->a.direct = -1;
    }
    SAYS(0, &f->u.close, coir_device_close, .device = &f->a.device);
    EQ(truncate("direct", 2 * BLOCK + 100), 0, "it is cut within a block");
    SAYS(0, &f->u.open, coir_file_open, .file = &f->a, .path = "direct");
    SAYS(-ENODATA, &f->u.read, coir_device_read, .device = &f->a.device, .iov = f->iov, .n = 3, .offset = 0,
         .flags = COIR_DIRECT);
    SAYS(-ENODATA, &f->u.read, coir_device_read, .device = &f->a.device, .iov = f->iov, .n = 1, .offset = 2 * BLOCK,
         .flags = COIR_DIRECT);
    SAYS(0, &f->u.close, coir_device_close, .device = &f->a.device);
} coir_end

/* ---- a block device: a loop over a file, where we may make one ---- */

static char loop_path[32];

/* The loop's descriptor, which has to stay open; -1: there can be none. */
static int make_loop(size_t size)
{
    const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), file = open("looped", O_RDWR | O_CREAT, 0600);
    const int n = control >= 0 ? ioctl(control, LOOP_CTL_GET_FREE) : -1;
    const struct loop_config config = { .fd = (unsigned)file, .info = { .lo_flags = LO_FLAGS_AUTOCLEAR } };
    int loop = -1;

    snprintf(loop_path, sizeof loop_path, "/dev/loop%d", n);
    if (n >= 0 && file >= 0 && ftruncate(file, (off_t)size) == 0)
        loop = open(loop_path, O_RDWR | O_CLOEXEC);
    if (loop >= 0 && ioctl(loop, LOOP_CONFIGURE, &config) < 0) {
        close(loop);
        loop = -1;
    }
    close(control);
    close(file);
    return loop;
}

struct block {
    coir_frame_void;
    coir_no_args;
    struct coir_file_device a, b;
    struct iovec iov;
    union slots u;
};
static coir_declare(block);
coir_body(block, f) {
    SAYS(-EEXIST, &f->u.open, coir_file_open, .file = &f->a, .path = loop_path, .flags = COIR_FILE_NEW);
    SAYS(0, &f->u.open, coir_file_open, .file = &f->a, .path = loop_path);
    EQ(f->a.device.size, 8 << 20, "a block device has the size it has");
    EQ(f->a.device.grain, 4096, "blocks of 512 bytes are less than the least grain");
    OK(f->a.is_block, "and is one");
    SAYS(-EBUSY, &f->u.open, coir_file_open, .file = &f->b, .path = loop_path);
    SAYS(0, &f->u.grow, coir_device_grow, .device = &f->a.device, .size = 8 << 20);
    SAYS(-ENOSPC, &f->u.grow, coir_device_grow, .device = &f->a.device, .size = (8 << 20) + 1);
    memset(page, 'b', sizeof page);
    f->iov = (struct iovec){ page, sizeof page };
    SAYS(0, &f->u.write, coir_device_write, .device = &f->a.device, .iov = &f->iov, .n = 1, .offset = 3 * BLOCK);
    SAYS(0, &f->u.flush, coir_device_flush, .device = &f->a.device);
    memset(page, 0, sizeof page);
    SAYS(0, &f->u.read, coir_device_read, .device = &f->a.device, .iov = &f->iov, .n = 1, .offset = 3 * BLOCK,
         .flags = COIR_DIRECT);
    OK(page[0] == 'b' && page[4 * BLOCK - 1] == 'b', "what was written is read past the cache");
    coir_await(f, &f->u.punch, coir_device_punch, .device = &f->a.device, .offset = 3 * BLOCK, .len = BLOCK);
    OK(coir_status(&f->u.punch) == 0 || coir_status(&f->u.punch) == -EOPNOTSUPP, "a punch is done, or cannot be");
    SAYS(-ENODATA, &f->u.read, coir_device_read, .device = &f->a.device, .iov = &f->iov, .n = 1,
         .offset = (8 << 20) - BLOCK);
    SAYS(0, &f->u.close, coir_device_close, .device = &f->a.device);
} coir_end

static void block_device(void)
{
    const int loop = make_loop(8 << 20);

    if (loop < 0) {
        SKIP("no loop device can be made here");
        return;
    }
    EQ(coir_run(NULL, coir_new(block)), 0, "a block device");
    close(loop);
    unlink("looped");
}

/* ---- calls that fail ---- */

#ifdef COIR_FAULTS
struct errand {
    coir_frame_void;
    coir_args(long alloc_at; long syscall_at;);
    bool open;
    struct coir_file_device a;
    struct iovec iov[2];
    union slots u;
};
static coir_declare(errand);
coir_body(errand, f) {
    f->open = false;
    coir_fail_alloc_at = f->alloc_at;
    coir_fail_syscall_at = f->syscall_at;
    coir_fail_syscall_with = EIO;
    f->iov[0] = f->iov[1] = (struct iovec){ page, BLOCK };
    coir_try(f, &f->u.open, coir_file_open, .file = &f->a, .path = "errand", .flags = COIR_FILE_CREATE);
    f->open = true;
    coir_try(f, &f->u.grow, coir_device_grow, .device = &f->a.device, .size = 16 * BLOCK);
    coir_try(f, &f->u.write, coir_device_write, .device = &f->a.device, .iov = f->iov, .n = 2);
    coir_try(f, &f->u.flush, coir_device_flush, .device = &f->a.device);
    coir_try(f, &f->u.read, coir_device_read, .device = &f->a.device, .iov = f->iov, .n = 2, .flags = COIR_DIRECT);
    coir_try(f, &f->u.punch, coir_device_punch, .device = &f->a.device, .len = BLOCK);
    coir_finally(f) {
        coir_fail_alloc_at = coir_fail_syscall_at = 0;
        if (f->open)
            coir_await(f, &f->u.close, coir_device_close, .device = &f->a.device);
    }
} coir_end

static void faults(void)
{
    const int before = open_descriptors();
    long n = 0;
    int said = -1;

    for (n = 1; said && n < 100; n++) {
        said = coir_run(NULL, coir_new(errand, .syscall_at = n));
        if (said != -EIO && said != 0)
            OK(false, "the system call %ld fails with %s", n, coir_strerror(said));
    }
    EQ(said, 0, "with the system call %ld all is well", n);
    said = -1;
    for (n = 1; said && n < 100; n++) {
        said = coir_run(NULL, coir_new(errand, .alloc_at = n));
        if (said != -ENOMEM && said != -EAGAIN && said != 0)
            OK(false, "the allocation %ld fails with %s", n, coir_strerror(said));
    }
    EQ(said, 0, "with the allocation %ld all is well", n);
    EQ(open_descriptors(), before, "and no descriptor is left");
}
#else
static void faults(void)
{
    SKIP("no calls can be made to fail in this build");
}
#endif

/* ---- several shards ---- */

enum { SHARDS = 3, TASKS = 40 };

struct remote {
    coir_frame(bool);
    coir_args(struct coir_device *d; unsigned n;);
    unsigned char out[BLOCK], in[BLOCK];
    struct iovec iov;
    union slots u;
};
static coir_declare(remote);
coir_body(remote, f) {
    memset(f->out, (int)f->n, sizeof f->out);
    f->iov = (struct iovec){ f->out, sizeof f->out };
    coir_try(f, &f->u.write, coir_device_write, .device = f->d, .iov = &f->iov, .n = 1, .offset = f->n * BLOCK);
    coir_try(f, &f->u.flush, coir_device_flush, .device = f->d);
    f->iov = (struct iovec){ f->in, sizeof f->in };
    coir_try(f, &f->u.read, coir_device_read, .device = f->d, .iov = &f->iov, .n = 1, .offset = f->n * BLOCK);
    if (memcmp(f->in, f->out, sizeof f->in))
        coir_fail(f, EBADMSG);
} coir_end

struct sends {
    coir_frame_void;
    coir_args(struct coir_device *d; unsigned n;);
    struct remote remote;
};
static coir_declare(sends);
coir_body(sends, f) {
    coir_await_on(f, f->n % SHARDS, &f->remote, remote, .d = f->d, .n = f->n);
    coir_check(f, &f->remote);
} coir_end

struct across {
    coir_frame_void;
    coir_no_args;
    struct coir_file_device a;
    struct coir_group group;
    union {
        struct coir_group_wait wait;
        union slots u;
    };
};
static coir_declare(across);
coir_body(across, f) {
    SAYS(0, &f->u.open, coir_file_open, .file = &f->a, .path = "across", .flags = COIR_FILE_CREATE);
    coir_group_open(f, &f->group);
    for (unsigned i = 0; i < TASKS; i++)
        (void)coir_spawn(&f->group, coir_new(sends, .d = &f->a.device, .n = i));
    SAYS(0, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->a.device.flusher.calls, TASKS, "every flush came home");
    OK(f->a.device.flusher.begun <= TASKS, "and %llu syncs served them",
       (unsigned long long)f->a.device.flusher.begun);
    SAYS(0, &f->u.close, coir_device_close, .device = &f->a.device);
} coir_end

int main(void)
{
    const struct coir_options many = { .shards = SHARDS };
    int before;

    scratch_begin();
    before = open_descriptors();
    EQ(coir_run(NULL, coir_new(opening)), 0, "opening");
    EQ(coir_run(NULL, coir_new(inherited)), 0, "the lock");
    EQ(coir_run(NULL, coir_new(awaited)), 0, "a lock that is about to go");
    for (int n = 2; n <= MANY; n = n * 5 + 1)
        EQ(coir_run(NULL, coir_new(moving, .n = n)), 0, "moving %d pieces", n);
    EQ(coir_run(NULL, coir_new(moving, .n = MANY)), 0, "moving %d pieces", MANY);
    EQ(coir_run(NULL, coir_new(room)), 0, "room");
    EQ(coir_run(NULL, coir_new(direct)), 0, "past the cache");
    block_device();
    faults();
    EQ(coir_run(&many, coir_new(across)), 0, "several shards");
    EQ(open_descriptors(), before, "no descriptor is left");
    scratch_end();
    return DONE();
}
