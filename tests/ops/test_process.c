/* SPDX-License-Identifier: MIT */
/*
 * Child processes one by one: how they end, why they do not start, what they are given and what not, signals, groups.
 * After every run no descriptor and no child is left.
 */
#include <sys/resource.h>

#include "children.h"

static char *const sleeper[] = { "sleep", "1000", NULL };

union slots {
    struct coir_process_start start;
    struct coir_process_wait wait;
    struct coir_process_close close;
    struct coir_read read;
    struct coir_write write;
    struct coir_close close_fd;
    struct coir_pass pass;
    struct coir_sleep sleep;
};

/* ---- how they end ---- */

struct ends {
    coir_frame_void;
    coir_no_args;
    int i;
    struct coir_process p;
    union slots u;
};
static coir_declare(ends);

static const struct ending {
    char *argv[4];
    int code, signal;
} endings[] = {
    { { "true" }, 0, 0 },
    { { "false" }, 1, 0 },
    { { "sh", "-c", "exit 255" }, 255, 0 },
    { { "sh", "-c", "kill -KILL $$" }, -1, SIGKILL },
    { { "sh", "-c", "kill -TERM $$" }, -1, SIGTERM },
    { { "sh", "-c", "ulimit -c 0; kill -SEGV $$" }, -1, SIGSEGV },
};

coir_body(ends, f) {
    for (f->i = 0; f->i < (int)(sizeof endings / sizeof *endings); f->i++) {
        SAYS(0, &f->u.start, coir_process_start, .process = &f->p, .argv = endings[f->i].argv);
        OK(f->p.pid > 0 && f->p.in == -1 && f->p.out == -1 && f->p.err == -1, "it is there, without pipes");
        SAYS(0, &f->u.wait, coir_process_wait, .process = &f->p);
        EQ(f->u.wait.result.code, endings[f->i].code, "%d: its code", f->i);
        EQ(f->u.wait.result.signal, endings[f->i].signal, "%d: the signal", f->i);
        EQ(f->u.wait.result.core, false, "%d: no core", f->i);
        OK(f->u.wait.result.max_rss > 4096, "%d: it used memory", f->i);
        SAYS(0, &f->u.wait, coir_process_wait, .process = &f->p);
        EQ(f->u.wait.result.code, endings[f->i].code, "%d: waiting again says the same", f->i);
        EQ(coir_process_kill(&f->p, 0), -ESRCH, "%d: it is gone", f->i);
        SAYS(0, &f->u.close, coir_process_close, .process = &f->p);
        EQ(f->p.exit.code, endings[f->i].code, "%d: nor does closing it", f->i);
    }
} coir_end

/* ---- two wait for one ---- */

struct waiter {
    coir_frame_void;
    coir_args(struct coir_process *p; int *codes;);
    struct coir_process_wait wait;
};
static coir_declare(waiter);

coir_body(waiter, f) {
    coir_try(f, &f->wait, coir_process_wait, .process = f->p);
    *f->codes += f->wait.result.code;
} coir_end

struct two {
    coir_frame_void;
    coir_args(bool close; int expected;);
    int codes, signals;
    struct coir_process p;
    struct coir_group group;
    struct coir_group_wait members;
    union slots u;
};
static coir_declare(two);

coir_body(two, f) {
    static char *const waits[] = { "sh", "-c", "read x; exit 7", NULL };

    f->codes = 0;
    SAYS(0, &f->u.start, coir_process_start, .process = &f->p, .argv = waits,
         .options = { .in = COIR_STDIO_PIPE });
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(waiter, .p = &f->p, .codes = &f->codes));
    coir_spawn(&f->group, coir_new(waiter, .p = &f->p, .codes = &f->codes));
    coir_await(f, &f->u.sleep, coir_sleep, .ns = 5 * COIR_MS);
    EQ(coir_process_kill(&f->p, 0), 0, "it runs");
    if (f->close)
        SAYS(0, &f->u.close, coir_process_close, .process = &f->p, .grace = -1);
    else
        SAYS(0, &f->u.write, coir_write, .fd = f->p.in, .buf = "x\n", .len = 2);
    SAYS(0, &f->members, coir_group_wait, .group = &f->group);
    EQ(f->codes, f->expected, "both were told the code");
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p);
} coir_end

static int two_wait(bool close, int expected)
{
    return clean_run(NULL, coir_new(two, .close = close, .expected = expected), "two wait");
}

/* ---- what does not start ---- */

static char huge[256 * 1024];

struct fails {
    coir_frame_void;
    coir_no_args;
    char *argv[3];
    struct coir_process p;
    union slots u;
};
static coir_declare(fails);

#define FAILS(status, part, ...) do { \
        SAYS(status, &f->u.start, coir_process_start, .process = &f->p, __VA_ARGS__); \
        EQ(f->p.failed, part, "what failed, at line %d", __LINE__); \
        OK(f->p.in == -1 && f->p.out == -1 && f->p.err == -1 && !f->p.pid, "nothing is there, at line %d", __LINE__); \
    } while (0)

coir_body(fails, f) {
    static char *const none[] = { "no-such-program", NULL }, *const path[] = { "/no/such/program", NULL };
    static char *const folder[] = { "/", NULL }, *const plain[] = { "./plain", NULL };
    static char *const text[] = { "./text", NULL };
    static char *const named[] = { "plain", NULL }, *const empty[] = { NULL }, *const unnamed[] = { "", NULL };
    static char *const good[] = { "true", NULL };

    FAILS(-ENOENT, COIR_PROCESS_PROGRAM, .argv = none);
    FAILS(-ENOENT, COIR_PROCESS_PROGRAM, .argv = none,
          .options = { .out = COIR_STDIO_PIPE, .in = COIR_STDIO_PIPE, .err = COIR_STDIO_PIPE });
    FAILS(-ENOENT, COIR_PROCESS_PROGRAM, .argv = path);
    FAILS(-ENOENT, COIR_PROCESS_PROGRAM, .argv = unnamed);
    FAILS(-EACCES, COIR_PROCESS_PROGRAM, .argv = folder);
    FAILS(-EACCES, COIR_PROCESS_PROGRAM, .argv = plain);
    FAILS(-ENOENT, COIR_PROCESS_PROGRAM, .argv = good, .options = { .exact = true });
    FAILS(-ENOENT, COIR_PROCESS_PROGRAM, .argv = named);
    FAILS(-ENOEXEC, COIR_PROCESS_PROGRAM, .argv = text);
    memset(huge, 'x', sizeof huge - 1);
    f->argv[0] = "true";
    f->argv[1] = huge;
    f->argv[2] = NULL;
    FAILS(-E2BIG, COIR_PROCESS_PROGRAM, .argv = f->argv);
    FAILS(-ENOENT, COIR_PROCESS_CWD, .argv = good, .options = { .cwd = "nowhere" });
    FAILS(-ENOTDIR, COIR_PROCESS_CWD, .argv = good, .options = { .cwd = "plain" });
    FAILS(-EBADF, COIR_PROCESS_STREAMS, .argv = good, .options = { .out = COIR_STDIO_FD(900) });
    FAILS(-EBADF, COIR_PROCESS_ARGUMENTS, .argv = good, .options = { .out = COIR_STDIO_FD(-1) });
    FAILS(-EINVAL, COIR_PROCESS_ARGUMENTS, .argv = good, .options = { .in = COIR_STDIO_STDOUT });
    FAILS(-EINVAL, COIR_PROCESS_ARGUMENTS, .argv = good, .options = { .in = 7 });
    FAILS(-EINVAL, COIR_PROCESS_ARGUMENTS, .argv = empty);
    FAILS(-EFAULT, COIR_PROCESS_ARGUMENTS, .argv = NULL);
    SAYS(-EFAULT, &f->u.start, coir_process_start, .argv = good);
    SAYS(-EFAULT, &f->u.wait, coir_process_wait, .process = NULL);
    SAYS(-EFAULT, &f->u.close, coir_process_close, .process = NULL);
    EQ(coir_process_kill(NULL, 0), -EFAULT, "no process at all");
    SAYS(-ESRCH, &f->u.wait, coir_process_wait, .process = &f->p);
    EQ(coir_process_kill(&f->p, 0), -ESRCH, "none was started");
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p);
} coir_end

/* ---- what they are given ---- */

/* Starts a program whose output is read into `text`, and waits for both. */
struct says {
    coir_frame_void;
    coir_args(char *const *argv; char *text; size_t len; struct coir_process_options options;);
    size_t n;
    struct coir_process p;
    union slots u;
};
static coir_declare(says);

coir_body(says, f) {
    f->p = COIR_NO_PROCESS;
    f->n = 0;
    memset(f->text, 0, f->len);
    f->options.out = COIR_STDIO_PIPE;
    coir_try(f, &f->u.start, coir_process_start, .process = &f->p, .argv = f->argv, .options = f->options);
    for (;;) {
        coir_try(f, &f->u.read, coir_read, .fd = f->p.out, .buf = f->text + f->n, .len = f->len - 1 - f->n);
        if (f->u.read.result == 0)
            break;
        f->n += f->u.read.result;
    }
    coir_try(f, &f->u.wait, coir_process_wait, .process = &f->p);
    EQ(f->p.exit.code, 0, "%s has ended well", f->argv[0]);
    coir_finally(f) {
        coir_await(f, &f->u.close, coir_process_close, .process = &f->p);
    }
} coir_end

struct given {
    coir_frame_void;
    coir_no_args;
    int fd[2];
    char text[4096];
    char *fds[4];
    struct says says;
    union slots u;
};
static coir_declare(given);

#define TEXT(expected, ...) do { \
        SAYS(0, &f->says, says, .text = f->text, .len = sizeof f->text, __VA_ARGS__); \
        STR_EQ(f->text, expected, "what it says, at line %d", __LINE__); \
    } while (0)

static char *const two_names[] = { "ONE=1", "TWO=22", NULL };

coir_body(given, f) {
    static char *const env[] = { "env", NULL }, *const pwd[] = { "sh", "-c", "pwd -P", NULL };
    static char *const here[] = { "./script", NULL }, *const other[] = { "another-name", "-c", "echo $0", NULL };
    static char *const both[] = { "sh", "-c", "echo a; echo b >&2; echo c", NULL };
    static char *const cat[] = { "cat", NULL };

    TEXT("ONE=1\nTWO=22\n", .argv = env, .options = { .env = two_names });
    TEXT("/\n", .argv = pwd, .options = { .cwd = "/" });
    TEXT("a script\n", .argv = here);
    TEXT("a script\n", .argv = here, .options = { .cwd = ".", .exact = true });
    TEXT("another-name\n", .argv = other, .options = { .program = "sh" });
    TEXT("another-name\n", .argv = other, .options = { .program = "/bin/sh" });
    TEXT("a\nb\nc\n", .argv = both, .options = { .err = COIR_STDIO_STDOUT });
    TEXT("a\nc\n", .argv = both, .options = { .err = COIR_STDIO_NULL });
    TEXT("", .argv = cat, .options = { .in = COIR_STDIO_NULL });

    EQ(coir_pipe(f->fd), 0, "a pipe");
    SAYS(0, &f->u.write, coir_write, .fd = f->fd[1], .buf = "from a pipe", .len = 11);
    close(f->fd[1]);
    TEXT("from a pipe", .argv = cat, .options = { .in = COIR_STDIO_FD(f->fd[0]) });
    OK(fcntl(f->fd[0], F_GETFD) >= 0, "the descriptor stays the caller's");

    f->fds[0] = self;
    f->fds[1] = "be";
    f->fds[2] = "fds";
    f->fds[3] = NULL;
    EQ(dup2(f->fd[0], 100), 100, "a descriptor that is not close-on-exec");
    TEXT("0 1 2 ", .argv = f->fds);
    SAYS(0, &f->says, says, .text = f->text, .len = sizeof f->text, .argv = f->fds, .options = { .keep_fds = true });
    OK(strstr(f->text, " 100 "), "it is kept when so asked: %s", f->text);
    close(100);
    close(f->fd[0]);
} coir_end

/* ---- signals as they are by default ---- */

static void nothing(int number)
{
    (void)number;
}

struct normal {
    coir_frame_void;
    coir_no_args;
    char text[256];
    struct says says;
};
static coir_declare(normal);

coir_body(normal, f) {
    static char *const status[] = { "sed", "-n", "/^Sig[BIC]/p", "/proc/self/status", NULL };

    TEXT("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n", .argv = status);
} coir_end

static void signals(void)
{
    struct sigaction before[3];
    sigset_t some, mask;

    sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = nothing }, &before[0]);
    sigaction(SIGUSR2, &(struct sigaction){ .sa_handler = SIG_IGN }, &before[1]);
    sigaction(SIGHUP, &(struct sigaction){ .sa_handler = SIG_IGN }, &before[2]);
    sigemptyset(&some);
    sigaddset(&some, SIGTERM);
    sigaddset(&some, SIGINT);
    pthread_sigmask(SIG_BLOCK, &some, &mask);
    CLEAN(normal);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    sigaction(SIGUSR1, &before[0], NULL);
    sigaction(SIGUSR2, &before[1], NULL);
    sigaction(SIGHUP, &before[2], NULL);
}

/* ---- where this program has closed its own streams ---- */

struct bare {
    coir_frame_void;
    coir_no_args;
    char text[64];
    struct coir_process p;
    union slots u;
};
static coir_declare(bare);

coir_body(bare, f) {
    static char *const both[] = { "sh", "-c", "cat; echo b >&2", NULL };

    SAYS(0, &f->u.start, coir_process_start, .process = &f->p, .argv = both,
         .options = { .in = COIR_STDIO_PIPE, .out = COIR_STDIO_PIPE, .err = COIR_STDIO_STDOUT });
    OK(f->p.in > 2 && f->p.out > 2, "pipes keep out of the way of the standard streams");
    SAYS(0, &f->u.write, coir_write, .fd = f->p.in, .buf = "a\n", .len = 2);
    coir_await(f, &f->u.close_fd, coir_close, .fd = f->p.in);
    f->p.in = -1;
    SAYS(0, &f->u.wait, coir_process_wait, .process = &f->p);
    SAYS(0, &f->u.read, coir_read, .fd = f->p.out, .buf = f->text, .len = sizeof f->text);
    EQ(f->u.read.result, 4, "what it said");
    MEM_EQ(f->text, "a\nb\n", 4, "of both streams");
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p);
    /* 1 and 2 for each other: there is only one to tell them by. */
    SAYS(0, &f->u.start, coir_process_start, .process = &f->p, .argv = (char *const *)sleeper,
         .options = { .out = COIR_STDIO_FD(2), .err = COIR_STDIO_FD(1) });
    snprintf(f->text, sizeof f->text, "/proc/%d/fd/2", (int)f->p.pid);
    EQ(access(f->text, F_OK), 0, "streams can change places");
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p);
} coir_end

static void without_input(void)
{
    const int kept = fcntl(0, F_DUPFD_CLOEXEC, 10);

    close(0);
    CLEAN(bare);
    if (kept >= 0) {
        dup2(kept, 0);
        close(kept);
    }
}

/* ---- groups ---- */

/* A shell and a program that it leaves in the background hold the end of a pipe: the end of both is its end. */
struct groups {
    coir_frame_void;
    coir_args(bool session; bool waits;);
    int fd[2];
    char text[64];
    struct coir_process p;
    union slots u;
};
static coir_declare(groups);

coir_body(groups, f) {
    static char *const leaves[] = { "sh", "-c", "sleep 1000 & echo ready; exit 3", NULL };
    static char *const stays[] = { "sh", "-c", "sleep 1000 & echo ready; wait", NULL };

    EQ(coir_pipe(f->fd), 0, "a pipe");
    SAYS(0, &f->u.start, coir_process_start, .process = &f->p, .argv = f->waits ? leaves : stays,
         .options = { .out = COIR_STDIO_FD(f->fd[1]), .group = !f->session, .session = f->session });
    coir_await(f, &f->u.close_fd, coir_close, .fd = f->fd[1]);
    SAYS(0, &f->u.read, coir_read, .fd = f->fd[0], .buf = f->text, .len = sizeof f->text);
    EQ(f->u.read.result, 6, "they run");
    if (f->waits) {
        SAYS(0, &f->u.wait, coir_process_wait, .process = &f->p);
        EQ(f->u.wait.result.code, 3, "the leader has ended");
        SAYS(0, &f->u.wait, coir_process_wait, .process = &f->p);
        EQ(f->u.wait.result.code, 3, "and it was so again");
        EQ(coir_process_kill(&f->p, 0), 0, "its group has not");
    } else {
        EQ(getpgid(f->p.pid), f->p.pid, "it leads a group");
        EQ(getsid(f->p.pid), f->session ? f->p.pid : getsid(0), "and a session, if so asked");
    }
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p);
    SAYS(0, &f->u.read, coir_read, .fd = f->fd[0], .buf = f->text, .len = sizeof f->text);
    EQ(f->u.read.result, 0, "all have ended");
    EQ(coir_process_kill(&f->p, 0), -ESRCH, "the group is gone");
    coir_await(f, &f->u.close_fd, coir_close, .fd = f->fd[0]);
} coir_end

static int group(bool session, bool waits)
{
    return clean_run(NULL, coir_new(groups, .session = session, .waits = waits), "a group");
}

/* ---- without descriptors ---- */

struct scarce {
    coir_frame_void;
    coir_no_args;
    struct rlimit before, few;
    int refused, before_fds;
    struct coir_process p;
    union slots u;
};
static coir_declare(scarce);

/* With room for none, one, two... more, until there is enough. What is left open is counted each time. */
coir_body(scarce, f) {
    getrlimit(RLIMIT_NOFILE, &f->before);
    f->few = f->before;
    f->few.rlim_cur = 3;
    f->refused = 0;
    f->before_fds = open_descriptors();
    do {
        setrlimit(RLIMIT_NOFILE, &f->few);
        coir_await(f, &f->u.start, coir_process_start, .process = &f->p, .argv = endings[0].argv,
                   .options = { .in = COIR_STDIO_PIPE, .out = COIR_STDIO_PIPE, .err = COIR_STDIO_PIPE });
        setrlimit(RLIMIT_NOFILE, &f->before);
        if (coir_status(&f->u.start) == 0)
            break;
        f->refused++;
        if (coir_status(&f->u.start) != -EMFILE || f->p.failed != COIR_PROCESS_RESOURCES
            || open_descriptors() != f->before_fds)
            OK(false, "limit %d: %s, %+d descriptors", (int)f->few.rlim_cur, coir_strerror(coir_status(&f->u.start)),
               open_descriptors() - f->before_fds);
    } while (f->few.rlim_cur++ < 1000);
    OK(f->refused >= 6 && coir_status(&f->u.start) == 0, "each of %d limits refused it", f->refused);
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p);
    EQ(open_descriptors(), f->before_fds, "nothing is left open");
} coir_end

int main(int argc, char **argv)
{
    child_begin(argc, argv);
    WITHOUT_CHANCE("whole");           /* it says how many bytes there are at once */
    scratch_begin();
    make_file("plain", 'x', 3);
    make_file("text", 'x', 3);
    chmod("text", 0700);
    const int fd = open("script", O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    say_out(fd, "#!/bin/sh\necho a script\n");
    close(fd);
    CLEAN(ends);
    EQ(two_wait(false, 14), 0, "two wait for one");
    EQ(two_wait(true, -2), 0, "two wait for one that is closed");
    CLEAN(fails);
    CLEAN(given);
    signals();
    without_input();
    CLEAN(scarce);
    EQ(group(false, false), 0, "a group that is stopped");
    EQ(group(false, true), 0, "a group whose leader has ended");
    EQ(group(true, false), 0, "a session that is stopped");
    scratch_end();
    return DONE();
}
