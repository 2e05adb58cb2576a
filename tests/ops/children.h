/* SPDX-License-Identifier: MIT */
/*
 * For tests of child processes: programs that do one thing, as modes of the test program itself, and the proof that a
 * run has left nothing: no descriptor, no child, running or a zombie. Included once a program, which begins its main
 * with child_begin.
 */
#ifndef COIR_TESTS_OPS_CHILDREN_H
#define COIR_TESTS_OPS_CHILDREN_H

#include <signal.h>
#include <sys/wait.h>

#include "scratch.h"

static char self[512];

/* ---- the programs ---- */

static inline void say_out(int fd, const char *text)
{
    if (write(fd, text, strlen(text)) < 0)
        _exit(99);
}

/* n bytes to `fd`, in pieces, each byte a function of its place. */
static inline char byte_at(size_t at)
{
    return (char)('a' + at % 23);
}

static inline size_t write_some(int fd, size_t at, size_t n)
{
    char buf[1000];

    n = n < sizeof buf ? n : sizeof buf;
    for (size_t i = 0; i < n; i++)
        buf[i] = byte_at(at + i);
    return write(fd, buf, n) == (ssize_t)n ? n : (_exit(98), 0);
}

/* Both streams, by turns. */
static inline void spew(size_t out, size_t err)
{
    for (size_t o = 0, e = 0; o < out || e < err;) {
        o += o < out ? write_some(1, o, out - o) : 0;
        e += e < err ? write_some(2, e, err - e) : 0;
    }
}

/* What comes in goes to both streams, and is counted in the end. */
static inline void tee_all(void)
{
    char buf[4096];
    ssize_t n;

    while ((n = read(0, buf, sizeof buf)) > 0) {
        if (write(1, buf, (size_t)n) != n || write(2, buf, (size_t)n) != n)
            _exit(97);
    }
}

static inline void on_term(int number)
{
    (void)number;
    say_out(1, "last words\n");
    _exit(5);
}

static volatile sig_atomic_t told;

static inline void on_told(int number)
{
    told = number;
}

/* It does not end when it is told to: it says whether it was when its input ends, or writes as long as that goes. */
static inline void go_on(bool writing)
{
    char byte;

    sigaction(SIGTERM, &(struct sigaction){ .sa_handler = on_told, .sa_flags = SA_RESTART }, NULL);
    say_out(1, "ready\n");
    while (writing)
        say_out(1, "and on\n");
    while (read(0, &byte, 1) > 0)
        ;
    _exit(told ? 21 : 20);
}

static inline void list_fds(void)
{
    char line[16];

    for (int fd = 0; fd < 1024; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            continue;
        snprintf(line, sizeof line, "%d ", fd);
        say_out(1, line);
    }
}

static inline void be_program(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "";

    if (!strcmp(what, "spew"))
        spew(strtoul(argv[3], NULL, 10), strtoul(argv[4], NULL, 10));
    else if (!strcmp(what, "tee"))
        tee_all();
    else if (!strcmp(what, "fds"))
        list_fds();
    else if (!strcmp(what, "deaf"))
        sigaction(SIGTERM, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
    else if (!strcmp(what, "polite"))
        sigaction(SIGTERM, &(struct sigaction){ .sa_handler = on_term }, NULL);
    else if (!strcmp(what, "reading") || !strcmp(what, "writing"))
        go_on(what[0] == 'w');
    else
        _exit(96);
    if (!strcmp(what, "deaf") || !strcmp(what, "polite")) {
        say_out(1, "ready\n");
        for (;;)
            pause();
    }
    _exit(0);
}

/* First in main: it may be one of the programs. */
static inline void child_begin(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "be"))
        be_program(argc, argv);
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        SKIP_ALL("no /proc");
}

/* ---- nothing is left ---- */

static inline bool no_children(void)
{
    return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

/* A run of `task`: its status, and nothing left. */
static inline int clean_run(const struct coir_options *o, struct coir_task *task, const char *what)
{
    const int before = open_descriptors();
    const int status = coir_run(o, task);

    EQ(open_descriptors(), before, "%s: no descriptor is left", what);
    OK(no_children(), "%s: no child is left", what);
    return status;
}

#define CLEAN(name) EQ(clean_run(NULL, coir_new(name), #name), 0, "%s ends well", #name)

#endif
