/* SPDX-License-Identifier: MIT */
/*
 * How a child comes to be: clone(2) as posix_spawn does it, sharing memory with this thread, which stands still until
 * the child has become the program or has gone. Not posix_spawn itself: that cannot tell what failed, and has no pidfd
 * that comes with the child, before anybody could reap it.
 *
 * The child runs on this thread's stack and with its thread-local storage. So it makes bare system calls and touches
 * nothing but the plan; it must not run a handler of this program's (all signals are blocked until their dispositions
 * are the default), nor allocate, lock, or return. No sanitizer may look at it: to them it would be this thread.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/assert.h"
#include "runtime/ops/process.h"

#if defined(__has_attribute) && __has_attribute(disable_sanitizer_instrumentation)
#define IN_CHILD __attribute__((disable_sanitizer_instrumentation))
#else
#define IN_CHILD __attribute__((no_sanitize("address", "thread", "undefined")))
#endif

#if COIR_TSAN
/* The sanitizer's own clone takes every child for a copy of this process, and this one shares its memory. */
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
#define clone __clone
#endif

enum { STACK = 32 * 1024, SIGNALS = 64 };

struct kernel_sigaction {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

IN_CHILD static void default_signals(void)
{
    const struct kernel_sigaction normal = { .handler = SIG_DFL };

    for (int number = 1; number <= SIGNALS; number++)
        syscall(SYS_rt_sigaction, number, &normal, NULL, sizeof normal.mask);
}

IN_CHILD static void unblock_signals(void)
{
    const uint64_t none = 0;

    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
}

/* Descriptors 0 to 2 that are to become another of them first go out of the way. */
IN_CHILD static bool move_aside(int stream[3])
{
    for (int i = 0; i < 3; i++) {
        if (stream[i] >= 0 && stream[i] < 3 && stream[i] != i) {
            stream[i] = (int)syscall(SYS_fcntl, stream[i], F_DUPFD_CLOEXEC, 3);
            if (stream[i] < 0)
                return false;
        }
    }
    return true;
}

IN_CHILD static bool set_stream(int i, int from)
{
    if (from == COIR_STREAM_AS_IT_IS)
        return true;
    if (from == COIR_STREAM_NULL) {
        from = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC, 0);
        if (from < 0)
            return false;
    }
    if (from == COIR_STREAM_STDOUT)
        from = 1;
    if (from == i)
        return syscall(SYS_fcntl, i, F_SETFD, 0) == 0;
    return syscall(SYS_dup3, from, i, 0) == i;
}

IN_CHILD static bool set_streams(struct coir_plan *plan)
{
    plan->failed = COIR_PROCESS_STREAMS;
    if (!move_aside(plan->stream))
        return false;
    for (int i = 0; i < 3; i++) {
        if (!set_stream(i, plan->stream[i]))
            return false;
    }
    return plan->keep_fds || syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC) == 0;
}

IN_CHILD static bool set_place(struct coir_plan *plan)
{
    plan->failed = COIR_PROCESS_GROUP;
    if (plan->session && syscall(SYS_setsid) < 0)
        return false;
    if (plan->group && !plan->session && syscall(SYS_setpgid, 0, 0) < 0)
        return false;
    plan->failed = COIR_PROCESS_CWD;
    return !plan->cwd || syscall(SYS_chdir, plan->cwd) == 0;
}

/* Joins a folder of the path and the file; an empty folder is the working directory. False: too long. */
IN_CHILD static bool join(char *to, const char *folder, size_t n, const char *file)
{
    size_t at = 0;

    if (n + 2 > PATH_MAX)
        return false;
    for (; at < n; at++)
        to[at] = folder[at];
    if (n)
        to[at++] = '/';
    for (; *file; file++) {
        if (at + 1 >= PATH_MAX)
            return false;
        to[at++] = *file;
    }
    to[at] = '\0';
    return true;
}

/* Whether looking goes on behind a folder in which execve has said this. */
IN_CHILD static bool is_elsewhere(int err)
{
    return err == ENOENT || err == ENOTDIR || err == EACCES || err == ESTALE || err == ENODEV || err == ETIMEDOUT
        || err == ENAMETOOLONG;
}

/* Only comes back when no folder has it: errno of the worst, where a file that may not be run is worse than none. */
IN_CHILD static int run_searched(const struct coir_plan *plan)
{
    char candidate[PATH_MAX];
    const char *folder = plan->path;
    bool denied = false;

    for (;;) {
        size_t n = 0;

        while (folder[n] && folder[n] != ':')
            n++;
        if (join(candidate, folder, n, plan->file)) {
            syscall(SYS_execve, candidate, plan->argv, plan->env);
            if (!is_elsewhere(errno))
                return errno;
            denied |= errno == EACCES;
        }
        if (!folder[n])
            return denied ? EACCES : ENOENT;
        folder += n + 1;
    }
}

IN_CHILD static int run_program(struct coir_plan *plan)
{
    plan->failed = COIR_PROCESS_PROGRAM;
    if (plan->path)
        return run_searched(plan);
    syscall(SYS_execve, plan->file, plan->argv, plan->env);
    return errno;
}

IN_CHILD static int be_child(void *arg)
{
    struct coir_plan *plan = arg;

    default_signals();
    if (!set_streams(plan) || !set_place(plan)) {
        plan->error = errno;
    } else {
        unblock_signals();
        plan->error = run_program(plan);
    }
    syscall(SYS_exit_group, 127);
    return 127;
}

int coir_process_make(struct coir_plan *plan, pid_t *pid, int *pidfd)
{
    _Alignas(16) char stack[STACK];
    siginfo_t info;

    plan->error = 0;
    plan->failed = COIR_PROCESS_RESOURCES;
    *pid = clone(be_child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, plan, pidfd);
    if (*pid < 0)
        return -errno;
    if (!plan->error) {
        plan->failed = COIR_PROCESS_NOTHING;
        return 0;
    }
    while (waitid(P_PIDFD, (id_t)*pidfd, &info, WEXITED) < 0 && errno == EINTR)
        ;
    close(*pidfd);
    return -plan->error;
}
