/* SPDX-License-Identifier: MIT */
/*
 * What the tests of runtime/sync share: running one task as a program, letting every task that can run do so,
 * watching a program die of a broken rule, and random numbers from a printed seed.
 */
#ifndef COIR_TESTS_SYNC_H
#define COIR_TESTS_SYNC_H

#include <fcntl.h>
#include <coir/coir.h>
#include <sys/wait.h>

#include "tap.h"

/* Comes back when everybody who was ready has had his turns, in the torture build too, where an await is a
 * turn more. */
struct rest {
    coir_frame_void;
    coir_no_args;
    int i;
    struct coir_pass pass;
};

static TAP_UNUSED coir_declare(rest);

coir_body(rest, f) {
    for (f->i = 0; f->i < 12; f->i++)
        coir_await(f, &f->pass, coir_pass);
} coir_end

/* Runs a task on one shard under virtual time; its status has to be 0. */
static TAP_UNUSED void run_one(const char *name, struct coir_task *t)
{
    setenv("COIR_TIME", "virtual", 1);
    EQ(coir_run(NULL, t), 0, "%s: the run ends well", name);
    unsetenv("COIR_TIME");
}

/* Runs `breaks` in a child, which has to be stopped by abort() after saying `says` on stderr. */
static TAP_UNUSED void dies(const char *name, void (*breaks)(void), const char *says)
{
    char said[4096] = "";
    size_t n = 0;
    int pipes[2], status;
    pid_t child;

    OK(pipe(pipes) == 0, "%s: a pipe", name);
    child = fork();
    if (child == 0) {
        dup2(pipes[1], STDERR_FILENO);
        dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);    /* its checks are not ours */
        breaks();
        _exit(0);
    }
    close(pipes[1]);
    for (ssize_t got; n < sizeof said - 1 && (got = read(pipes[0], said + n, sizeof said - 1 - n)) > 0;)
        n += (size_t)got;
    said[n] = '\0';
    close(pipes[0]);
    waitpid(child, &status, 0);
    OK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%s: the program is stopped", name);
    if (!OK(strstr(said, says) != NULL, "%s: and says \"%s\"", name, says))
        NOTE("it said: %s", said);
}

/* xorshift64*. */
static TAP_UNUSED uint64_t draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545F4914F6CDD1D);
}

/* COIR_SEED, or one from the clock; printed. */
static TAP_UNUSED uint64_t seed(void)
{
    const char *given = getenv("COIR_SEED");
    struct timespec now;
    uint64_t value;

    clock_gettime(CLOCK_REALTIME, &now);
    value = given ? strtoull(given, NULL, 0) : ((uint64_t)now.tv_sec << 20 ^ (uint64_t)now.tv_nsec) | 1;
    NOTE("COIR_SEED=%llu", (unsigned long long)value);
    return value ? value : 1;
}

#endif
