/* SPDX-License-Identifier: MIT */
/*
 * coir_main and coir_run: what they return, what they say, and which plane they choose: where the ring is denied,
 * where there are too few descriptors, where the environment asks for what there is not. Each case is a process
 * of its own.
 */
#include "task/help.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef __NR_io_uring_setup
#define __NR_io_uring_setup 425
#endif

/* Sends a byte through a pipe and sleeps: works on any plane. 1 in `result` when that was the ring. */
struct work {
    coir_frame(int);
    coir_args(int fails;);
    int fds[2];
    char byte;
    union {
        struct coir_sleep sleep;
        struct coir_write write;
        struct coir_read read;
        struct coir_close close;
    };
};
static coir_declare(work);

static char plane[16];

coir_body(work, f) {
    f->fds[0] = f->fds[1] = -1;
    f->byte = 'x';
    snprintf(plane, sizeof plane, "%s", coir_plane_name());
    if (coir_pipe(f->fds))
        coir_fail(f, EMFILE);
    coir_try(f, &f->write, coir_write, .fd = f->fds[1], .buf = &f->byte, .len = 1);
    f->byte = 0;
    coir_try(f, &f->read, coir_read, .fd = f->fds[0], .buf = &f->byte, .len = 1);
    if (f->byte != 'x')
        coir_fail(f, EIO);
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    if (f->fails)
        coir_fail(f, f->fails);
    coir_finally(f) {
        if (f->fds[0] >= 0) {
            coir_await(f, &f->close, coir_close, .fd = f->fds[0]);
            coir_await(f, &f->close, coir_close, .fd = f->fds[1]);
        }
    }
} coir_end

enum { WORKED = 0, ON_EPOLL = 10, ON_RING = 11, OTHER = 12 };

/* Runs the work; the exit status says on which plane. */
static int works_on(const struct coir_options *o)
{
    const int err = coir_run(o, coir_new(work));

    if (err)
        return OTHER;
    return !strcmp(plane, "epoll") ? ON_EPOLL : !strcmp(plane, "uring") ? ON_RING : OTHER;
}

static int lines_in(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void exits(int (*fn)(void), int status, const char *says, int lines, const char *name)
{
    const struct ending *e = in_child(fn);

    if (!EQ(WIFEXITED(e->status) ? WEXITSTATUS(e->status) : -WTERMSIG(e->status), status, "%s", name))
        NOTE("it said: %s", e->said);
    if (says && !OK(strstr(e->said, says), "%s: it says \"%s\"", name, says))
        NOTE("it said: %s", e->said);
    if (!EQ(lines_in(e->said), lines, "%s: in %d lines", name, lines))
        NOTE("it said: %s", e->said);
}

/* ---- results ---- */

static int main_good(void)
{
    return coir_main(coir_new(work));
}

static int main_fails(void)
{
    return coir_main(coir_new(work, .fails = EIO));
}

static int main_null(void)
{
    return coir_main(NULL);
}

/* The negated status, so that it fits an exit status. */
static int run_fails(void)
{
    return -coir_run(NULL, coir_new(work, .fails = ENOTTY));
}

static int too_many_shards(void)
{
    const struct coir_options o = { .shards = 65 };
    return -coir_run(&o, coir_new(work));
}

static int odd_ring(void)
{
    const struct coir_options o = { .ring_entries = 100 };
    return -coir_run(&o, coir_new(work));
}

static int huge_ring(void)
{
    const struct coir_options o = { .ring_entries = 8192 };
    return -coir_run(&o, coir_new(work));
}

static int smallest_ring(void)
{
    const struct coir_options o = { .ring_entries = 2 };
    return -coir_run(&o, coir_new(work));
}

static int another_plane(void)
{
    const struct coir_options o = { .io = "kqueue" };
    return -coir_run(&o, coir_new(work));
}

static int virtual_shards(void)
{
    const struct coir_options o = { .shards = 2 };
    setenv("COIR_TIME", "virtual", 1);
    return -coir_run(&o, coir_new(work));
}

static int other_sizes(void)
{
    return -coir_run_(NULL, coir_new(work), COIR_ABI_ + 4);
}

static int other_version(void)
{
    return -coir_run_(NULL, coir_new(work), COIR_ABI_ ^ (uint64_t)1 << 50);
}

struct nests {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(nests);

coir_body(nests, f) {
    f->task.status = coir_run(NULL, coir_new(work));
    if (f->task.status == -EBUSY)
        coir_fail(f, EBUSY);
} coir_end

static int nested(void)
{
    return -coir_run(NULL, coir_new(nests));
}

static int two_threads_status;

static void *second_run(void *unused)
{
    two_threads_status = coir_run(NULL, coir_new(work));
    return unused;
}

struct starts_thread {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(starts_thread);

coir_body(starts_thread, f) {
    pthread_t thread;
    pthread_create(&thread, NULL, second_run, NULL);
    pthread_join(thread, NULL);
} coir_end

static int second_thread(void)
{
    const int err = coir_run(NULL, coir_new(starts_thread));

    return err ? OTHER : -two_threads_status;
}

static int twice_in_a_row(void)
{
    return coir_run(NULL, coir_new(work)) || coir_run(NULL, coir_new(work));
}

static void results(void)
{
    exits(main_good, 0, NULL, 0, "coir_main, a task that succeeds");
    exits(main_fails, 1, "the main task failed: Input/output error", 1, "coir_main, one that fails");
    exits(main_null, 1, "no memory", 2, "coir_main, no task");
    exits(run_fails, ENOTTY, NULL, 0, "coir_run, a task that fails");
    exits(too_many_shards, EINVAL, "options.shards", 1, "65 shards");
    exits(odd_ring, EINVAL, "options.ring_entries", 1, "100 entries");
    exits(huge_ring, EINVAL, "options.ring_entries", 1, "8192 entries");
    exits(smallest_ring, 0, NULL, 0, "2 entries");
    exits(another_plane, EINVAL, "\"kqueue\" is not a plane", 1, "a plane there is not");
    exits(virtual_shards, EINVAL, "COIR_TIME=virtual", 1, "virtual time on two shards");
    exits(other_sizes, ENOEXEC, "another version of libcoir", 1, "frames of other sizes");
    exits(other_version, ENOEXEC, "another version of libcoir", 1, "another version");
    exits(nested, EBUSY, "coir_run", 1, "a coir_run in a coir_run");
    exits(second_thread, EBUSY, "coir_run", 1, "a coir_run beside a coir_run");
    exits(twice_in_a_row, 0, NULL, 0, "a coir_run after a coir_run");
}

/* ---- the environment ---- */

static int env_io_bad(void)
{
    setenv("COIR_IO", "iocp", 1);
    return -coir_run(NULL, coir_new(work));
}

static int env_io_empty(void)
{
    setenv("COIR_IO", "", 1);
    return works_on(NULL) == OTHER;
}

static int env_io_epoll(void)
{
    setenv("COIR_IO", "epoll", 1);
    return works_on(NULL);
}

static int option_beats_env(void)
{
    const struct coir_options o = { .io = "epoll" };
    setenv("COIR_IO", "iocp", 1);
    return works_on(&o);
}

static int env_feature_bad(void)
{
    setenv("COIR_IO", "uring", 1);
    setenv("COIR_URING", "-defer,-magic", 1);
    return -coir_run(NULL, coir_new(work));
}

static int env_feature_plus(void)
{
    setenv("COIR_IO", "uring", 1);
    setenv("COIR_URING", "defer", 1);
    return -coir_run(NULL, coir_new(work));
}

static int env_features_off(void)
{
    setenv("COIR_IO", "uring", 1);
    setenv("COIR_URING", "-multishot,-msg_ring,-defer,-coop,-submit_all,-bufring", 1);
    return works_on(NULL);
}

static int ring(void)
{
    setenv("COIR_IO", "uring", 1);
    return works_on(NULL);
}

static int env_time_bad(void)
{
    setenv("COIR_TIME", "sideways", 1);
    return -coir_run(NULL, coir_new(work));
}

static int env_time_real(void)
{
    setenv("COIR_TIME", "real", 1);
    return coir_run(NULL, coir_new(work));
}

/* ---- a ring that is denied ---- */

static void deny(int err)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)err),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = { sizeof code / sizeof *code, code };

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
        _exit(77);
    unsetenv("COIR_IO");
}

static int denied_eperm(void)
{
    deny(EPERM);
    return works_on(NULL);
}

static int denied_enosys(void)
{
    deny(ENOSYS);
    return works_on(NULL);
}

static int denied_enomem(void)
{
    deny(ENOMEM);
    return works_on(NULL);
}

static int denied_shards(void)
{
    const struct coir_options o = { .shards = 3 };
    deny(EPERM);
    return works_on(&o);
}

static int denied_by_force(void)
{
    deny(EPERM);
    setenv("COIR_IO", "uring", 1);
    return -coir_run(NULL, coir_new(work));
}

static bool seccomp_works(void)
{
    const struct ending *e = in_child(denied_eperm);

    return !(WIFEXITED(e->status) && WEXITSTATUS(e->status) == 77);
}

/* ---- limits ---- */

static int few_descriptors(int more)
{
    struct rlimit limit = { 0, 0 };
    const int lowest = open("/dev/null", O_RDONLY);

    close(lowest);
    limit.rlim_cur = limit.rlim_max = (rlim_t)(lowest + more);
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 77;
    unsetenv("COIR_IO");
    return -coir_run(NULL, coir_new(work));
}

static int no_descriptor(void)
{
    return few_descriptors(0);
}

static int one_descriptor(void)
{
    return few_descriptors(1);
}

static int little_locked_memory(void)
{
    const struct rlimit none = { 0, 0 };

    if (setrlimit(RLIMIT_MEMLOCK, &none) < 0 || (getuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0)))
        return 77;
    unsetenv("COIR_IO");
    return works_on(NULL) == OTHER;
}

static bool ring_works(void)
{
    const struct ending *e = in_child(ring);

    return WIFEXITED(e->status) && WEXITSTATUS(e->status) == ON_RING;
}

static void planes(void)
{
    exits(env_io_bad, EINVAL, "COIR_IO: \"iocp\" is not a plane; there are uring and epoll", 1,
          "COIR_IO, a bad value");
    exits(env_time_bad, EINVAL, "COIR_TIME", 1, "COIR_TIME, a bad value");
    exits(env_time_real, 0, NULL, 0, "COIR_TIME=real");
    exits(env_io_epoll, ON_EPOLL, NULL, 0, "COIR_IO=epoll");
    exits(option_beats_env, ON_EPOLL, NULL, 0, "options.io is stronger than COIR_IO");
    if (!ring_works()) {
        SKIP("this kernel has no ring for us");
        return;
    }
    exits(env_io_empty, 0, NULL, 0, "COIR_IO, empty");
    exits(ring, ON_RING, NULL, 0, "COIR_IO=uring");
    exits(env_feature_bad, EINVAL, "\"-magic\" is not one of -defer", 1, "COIR_URING, a name there is not");
    exits(env_feature_plus, EINVAL, "\"defer\" is not one of -defer", 1,
          "COIR_URING, a name without its minus");
    exits(env_features_off, ON_RING, NULL, 0, "COIR_URING, everything off");
    if (SANITIZED || !seccomp_works()) {
        SKIP("no seccomp filter can be set");
    } else {
        exits(denied_eperm, ON_EPOLL, "coir: using epoll: the kernel denies io_uring", 1,
              "a ring denied with EPERM");
        exits(denied_enosys, ON_EPOLL, "coir: using epoll: the kernel has no io_uring", 1,
              "denied with ENOSYS");
        exits(denied_enomem, ON_EPOLL, "coir: using epoll: no memory for a ring", 1, "denied with ENOMEM");
        exits(denied_shards, ON_EPOLL, "coir: using epoll:", 1, "denied, three shards: one line for all");
        exits(denied_by_force, EPERM, "the kernel denies io_uring", 1, "denied, and asked for by name");
    }
    if (SANITIZED) {
        SKIP("a sanitizer needs descriptors of its own");
        return;
    }
    exits(no_descriptor, EMFILE, "RLIMIT_NOFILE", 2, "no descriptor left");
    exits(one_descriptor, EMFILE, "RLIMIT_NOFILE", 2, "one descriptor left");
    const struct ending *e = in_child(little_locked_memory);
    if (WIFEXITED(e->status) && WEXITSTATUS(e->status) == 77)
        SKIP("limits or users cannot be changed");
    else
        EQ(WIFEXITED(e->status) ? WEXITSTATUS(e->status) : -1, 0,
           "no memory may be locked, not root: some plane works");
}

int main(void)
{
    unsetenv("COIR_TIME");
    results();
    planes();
    return DONE();
}
