/* SPDX-License-Identifier: MIT */
/*
 * What the tests of tasks share: a log of letters, running a task to its end, and programs that are meant to
 * stop, in a child process, with what they said on stderr. Included once, by the file that has main.
 */
#ifndef COIR_TESTS_TASK_HELP_H
#define COIR_TESTS_TASK_HELP_H

#include <coir/coir.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tap.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#ifdef COIR_TORTURE
#define TORTURE 1       /* every await is a step of its own */
#else
#define TORTURE 0
#endif

#define HELP_UNUSED __attribute__((unused))

static char trace_[4096];
static size_t traced;

/* Adds to the log. */
HELP_UNUSED static void trace(const char *text)
{
    const size_t n = strlen(text);

    if (traced + n < sizeof trace_) {
        memcpy(trace_ + traced, text, n + 1);
        traced += n;
    }
}

/* The log so far; it is empty afterwards. */
HELP_UNUSED static const char *traces(void)
{
    trace_[traced] = '\0';
    traced = 0;
    return trace_;
}

/* Runs a task on one shard; its status. */
HELP_UNUSED static int run(struct coir_task *t)
{
    return coir_run(NULL, t);
}

HELP_UNUSED static uint64_t steps_now(void)
{
    struct coir_stats s;

    coir_stats(0, &s);
    return s.steps;
}

struct ending {
    int status;             /* of waitpid */
    char said[65536];       /* on stderr */
};

/* Runs fn in a child process. Of what it says stderr is kept; its exit status is what fn returns. */
HELP_UNUSED static struct ending *in_child(int (*fn)(void))
{
    static struct ending e;
    size_t n = 0;
    ssize_t got;
    int fds[2];

    memset(&e, 0, sizeof e);
    if (pipe(fds) < 0)
        return &e;
    const pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit no_core = { 0, 0 };
        setrlimit(RLIMIT_CORE, &no_core);
        close(fds[0]);
        dup2(fds[1], STDERR_FILENO);
        dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);    /* its checks are not ours */
        alarm(50);
        _exit(fn());
    }
    close(fds[1]);
    while (n < sizeof e.said - 1 && (got = read(fds[0], e.said + n, sizeof e.said - 1 - n)) > 0)
        n += (size_t)got;
    close(fds[0]);
    waitpid(pid, &e.status, 0);
    return &e;
}

/* The program stopped itself, and said so. */
#define STOPS(fn, text, name) do { \
        const struct ending *e_ = in_child(fn); \
        OK(WIFSIGNALED(e_->status) && WTERMSIG(e_->status) == SIGABRT, "%s: the program is stopped", name); \
        if (!OK(strstr(e_->said, text), "%s: it says \"%s\"", name, text)) \
            NOTE("it said: %s", e_->said); \
    } while (0)

#endif
