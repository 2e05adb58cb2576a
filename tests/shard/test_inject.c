/* SPDX-License-Identifier: MIT */
/*
 * What the kernel may say to the ring's own system calls, said by strace: interrupted, busy, short of memory. The
 * program under it is this one, told what to do by its argument; each operation still succeeds, once.
 */
#include "runtime/base/torture.h"
#include "task/help.h"

enum { ROUNDS = 40 };

struct worker {
    coir_frame_void;
    coir_no_args;
    int i, left, fds[2];
    char buf[8];
    union {
        struct coir_sleep sleep;
        struct coir_write_all write;
        struct coir_read read;
        struct coir_close close;
    };
};
static coir_declare(worker);

static int moved;

coir_body(worker, f) {
    if (coir_pipe(f->fds))
        coir_fail(f, EMFILE);
    for (f->i = 0; f->i < ROUNDS; f->i++) {
        coir_try(f, &f->write, coir_write_all, .fd = f->fds[1], .buf = "abc", .len = 3);
        for (f->left = 3; f->left > 0; f->left -= (int)f->read.result)
            coir_try(f, &f->read, coir_read, .fd = f->fds[0], .buf = f->buf, .len = sizeof f->buf);
        moved += 3;
        coir_try(f, &f->sleep, coir_sleep, .ns = 100000);
    }
    coir_finally(f) {
        coir_await(f, &f->close, coir_close, .fd = f->fds[0]);
        coir_await(f, &f->close, coir_close, .fd = f->fds[1]);
    }
} coir_end

struct inner {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(inner);

coir_body(inner, f) {
    coir_group_open(f, &f->group);
    for (int i = 0; i < 4; i++)
        coir_spawn(&f->group, coir_new(worker));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    fprintf(stderr, "moved %d on %s\n", moved, coir_plane_name());
} coir_end

static const char *self, *inject;

static int traced_run(void)
{
    setenv("COIR_IO", strstr(inject, "setup") ? "" : "uring", 1);
    execlp("strace", "strace", "-f", "-qq", "-e", "trace=io_uring_enter,io_uring_setup", "-e", "signal=none",
           "-o", "/dev/null",
           "-e", inject, self, "inner", (char *)NULL);
    return 77;
}

static void survives(const char *with, const char *says)
{
    const struct ending *e;

    inject = with;
    e = in_child(traced_run);
    EQ(WIFEXITED(e->status) ? WEXITSTATUS(e->status) : -1, 0, "%s: the program ends well", with);
    if (!OK(strstr(e->said, says), "%s: and says \"%s\"", with, says))
        NOTE("it said: %s", e->said);
}

int main(int argc, char **argv)
{
    unsetenv("COIR_TIME");
    self = argv[0];
    if (argc > 1)
        return coir_main(coir_new(inner));
    if (SANITIZED)
        SKIP_ALL("a leak checker does not run under strace");
    inject = "inject=io_uring_enter:error=EINTR:when=60000";
    const struct ending *e = in_child(traced_run);
    if (!WIFEXITED(e->status) || WEXITSTATUS(e->status) != 0)
        SKIP_ALL("strace is not there, or may not trace, or there is no ring");
    survives("inject=io_uring_enter:error=EINTR:when=2+2", "moved 480 on uring");
    survives("inject=io_uring_enter:error=EAGAIN:when=2+3", "moved 480 on uring");
    survives("inject=io_uring_enter:error=EBUSY:when=2+3", "moved 480 on uring");
    survives("inject=io_uring_enter:error=EINTR:when=1", "moved 480 on uring");
    survives(COIR_RING_ENTRIES > 4 ? "inject=io_uring_setup:error=ENOMEM:when=1..2"
                                   : "inject=io_uring_setup:error=ENOMEM:when=1", "moved 480 on uring");
    survives("inject=io_uring_setup:error=ENOMEM:when=1+", "using epoll: no memory for a ring");
    survives("inject=io_uring_setup:error=EINVAL:when=1", "moved 480 on uring");
    survives("inject=io_uring_setup:error=EINVAL:when=1..3", "moved 480 on uring");
    survives("inject=io_uring_setup:error=EINVAL:when=1+", "using epoll: the kernel has no io_uring");
    survives("inject=io_uring_setup:error=EPERM:when=1", "using epoll: the kernel denies io_uring");
    return DONE();
}
