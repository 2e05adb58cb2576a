/* SPDX-License-Identifier: MIT */
/*
 * Signals as a stream, on one shard: what is told of a signal, between awaits too; cancelling, deadlines, closing;
 * dispositions and masks before and after; children. The signals are real, and most come from other processes.
 */
#include "task/help.h"

#include <poll.h>
#include <sys/time.h>

#include "runtime/base/fault.h"
#include "runtime/base/pool.h"

static pid_t self;

/* A process that sends `number` to this one, once or several times, and has ended. */
static pid_t sent(int number, int times)
{
    const pid_t pid = fork();
    int status;

    if (pid == 0) {
        for (int i = 0; i < times; i++)
            kill(self, number);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return pid;
}

static int disposition(int number, void (*handler)(int))
{
    struct sigaction now;

    sigaction(number, NULL, &now);
    return !(now.sa_flags & SA_SIGINFO) && now.sa_handler == handler;
}

static bool is_blocked(int number)
{
    sigset_t now;

    pthread_sigmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, number);
}

/* ---- what is told ---- */

struct told {
    coir_frame_void;
    coir_no_args;
    struct coir_signals *signals, *also;
    struct coir_signal came;
    struct coir_signal_next next;
    struct coir_sleep sleep;
    pid_t pid;
};
static coir_declare(told);

static pid_t queued(int number, int value)
{
    const pid_t pid = fork();
    int status;

    if (pid == 0) {
        sigqueue(self, number, (union sigval){ .sival_int = value });
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return pid;
}

static void ring_once(void)
{
    const struct itimerval at = { .it_value = { 0, 1000 } };

    setitimer(ITIMER_REAL, &at, NULL);
}

coir_body(told, f) {
    f->signals = coir_signals_open(SIGUSR1, SIGUSR2, SIGUSR1, SIGRTMIN + 3, SIGALRM);
    f->also = coir_signals_open(SIGCHLD, SIGUSR1);
    if (!OK(f->signals && f->also, "two subscriptions"))
        coir_fail(f, errno);

    f->pid = sent(SIGUSR1, 1);
    coir_get(f, f->came, &f->next, coir_signal_next, .signals = f->signals);
    EQ(f->came.number, SIGUSR1, "a signal from another process");
    EQ(f->came.count, 1, "one");
    EQ(f->came.code, SI_USER, "by kill");
    EQ(f->came.pid, f->pid, "from that process");
    EQ(f->came.uid, getuid(), "of this user");
    OK(!f->came.value.sival_ptr, "it carries nothing");
    coir_get(f, f->came, &f->next, coir_signal_next, .signals = f->also);
    EQ(f->came.number, SIGUSR1, "the other subscription is told as well, of what came first first");
    coir_get(f, f->came, &f->next, coir_signal_next, .signals = f->also);
    EQ(f->came.number, SIGCHLD, "then of its end");
    EQ(f->came.code, CLD_EXITED, "which was an exit");
    EQ(f->came.pid, f->pid, "of the child");
    EQ(f->came.value.sival_int, 0, "with 0");

    kill(self, SIGUSR2);
    kill(self, SIGUSR1);
    kill(self, SIGUSR1);
    kill(self, SIGUSR1);
    coir_get(f, f->came, &f->next, coir_signal_next, .signals = f->signals);
    EQ(f->came.number, SIGUSR2, "nothing that came between two awaits is lost");
    EQ(f->came.count, 1, "one of these");
    coir_get(f, f->came, &f->next, coir_signal_next, .signals = f->signals);
    EQ(f->came.number, SIGUSR1, "and of those");
    EQ(f->came.count, 3, "three");
    EQ(f->came.pid, self, "from here");
    EQ(coir_signals_try_next(f->signals, &f->came), -EAGAIN, "and no more");

    kill(self, SIGUSR2);
    coir_try(f, &f->sleep, coir_sleep, .ns = 1);
    kill(self, SIGUSR1);
    kill(self, SIGUSR2);
    coir_get(f, f->came, &f->next, coir_signal_next, .signals = f->signals);
    EQ(f->came.number, SIGUSR2, "what came first is told first");
    EQ(f->came.count, 2, "with what came of it later");
    coir_get(f, f->came, &f->next, coir_signal_next, .signals = f->signals);
    EQ(f->came.number, SIGUSR1, "then what came in between");

    f->pid = queued(SIGRTMIN + 3, 4711);
    coir_get(f, f->came, &f->next, coir_signal_next, .signals = f->signals);
    EQ(f->came.number, SIGRTMIN + 3, "a real-time signal");
    EQ(f->came.code, SI_QUEUE, "that was queued");
    EQ(f->came.value.sival_int, 4711, "with its value");
    EQ(f->came.pid, f->pid, "and its sender");

    ring_once();
    coir_get(f, f->came, &f->next, coir_signal_next, .signals = f->signals);
    EQ(f->came.number, SIGALRM, "one of the kernel's, while the shard sleeps");
    EQ(f->came.code, SI_KERNEL, "says so");
    EQ(f->came.pid, 0, "and has no sender");

    coir_finally(f) {
        coir_signals_close(f->signals);
        coir_signals_close(f->also);
    }
} coir_end

struct childs_end {
    coir_frame_void;
    coir_no_args;
    struct coir_signals *signals;
    struct coir_signal came;
    struct coir_signal_next next;
    pid_t pid;
    int status;
};
static coir_declare(childs_end);

coir_body(childs_end, f) {
    f->signals = coir_signals_open(SIGCHLD);
    f->pid = fork();
    if (f->pid == 0)
        _exit(7);
    f->came = (struct coir_signal){ 0 };
    while (f->came.pid != f->pid)
        coir_get(f, f->came, &f->next, coir_signal_next, .signals = f->signals);
    EQ(f->came.value.sival_int, 7, "a child's exit status");
    waitpid(f->pid, &f->status, 0);
    coir_finally(f) {
        coir_signals_close(f->signals);
    }
} coir_end

/* ---- cancelling, closing, lines ---- */

struct one {
    coir_frame_void;
    coir_args(struct coir_signals *signals; int *status; struct coir_signal *came;);
    struct coir_signal_next next;
};
static coir_declare(one);

coir_body(one, f) {
    *f->status = 1;
    coir_await(f, &f->next, coir_signal_next, .signals = f->signals);
    *f->status = coir_status(&f->next);
    *f->came = f->next.result;
} coir_end

struct few_turns {
    coir_frame_void;
    coir_no_args;
    int i;
    struct coir_pass pass;
};
static coir_declare(few_turns);

coir_body(few_turns, f) {
    for (f->i = 0; f->i < 8; f->i++)
        coir_await(f, &f->pass, coir_pass);
} coir_end

struct ends {
    coir_frame_void;
    coir_no_args;
    struct coir_signals *signals;
    struct coir_signal_next next;
    struct coir_scope scope;
    struct coir_group group;
    struct coir_group_wait wait;
    struct few_turns turns;
    struct coir_signal came[3];
    int status[3];
};
static coir_declare(ends);

coir_body(ends, f) {
    f->signals = coir_signals_open(SIGUSR1);
    coir_within(f, &f->scope, coir_now() - 1, &f->next, coir_signal_next, .signals = f->signals);
    EQ(coir_status(&f->next), -ETIMEDOUT, "a deadline in the past");
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->next, coir_signal_next, .signals = f->signals);
    EQ(coir_status(&f->next), -ETIMEDOUT, "a deadline");
    kill(self, SIGUSR1);
    coir_within(f, &f->scope, coir_now() - 1, &f->next, coir_signal_next, .signals = f->signals);
    EQ(coir_status(&f->next), 0, "a deadline in the past, and it is there");

    coir_group_open(f, &f->group);
    for (int i = 0; i < 3; i++)
        coir_spawn(&f->group, coir_new(one, .signals = f->signals, .status = &f->status[i], .came = &f->came[i]));
    coir_await(f, &f->turns, few_turns);
    kill(self, SIGUSR1);
    EQ(coir_signals_try_next(f->signals, &f->next.result), -EAGAIN, "who waits was first");
    coir_await(f, &f->turns, few_turns);
    EQ(f->status[0], 0, "the first of three has it");
    EQ(f->status[1], 1, "the second waits");
    EQ(f->status[2], 1, "the third too");
    kill(self, SIGUSR1);
    kill(self, SIGUSR1);
    coir_group_cancel(&f->group);
    coir_await(f, &f->turns, few_turns);
    EQ(f->status[1], 0, "cancelled as it comes: the second has it");
    EQ(f->came[1].count, 2, "both of them");
    EQ(f->status[2], -ECANCELED, "and the third has nothing");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);

    coir_group_open(f, &f->group);
    for (int i = 0; i < 2; i++)
        coir_spawn(&f->group, coir_new(one, .signals = f->signals, .status = &f->status[i], .came = &f->came[i]));
    coir_await(f, &f->turns, few_turns);
    EQ(coir_signals_close(f->signals), 0, "closed, with nothing left untold");
    f->signals = NULL;
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status[0], -ECANCELED, "who waited is told");
    EQ(f->status[1], -ECANCELED, "every one");

    f->signals = coir_signals_open(SIGUSR1, SIGUSR2);
    kill(self, SIGUSR1);
    kill(self, SIGUSR2);
    kill(self, SIGUSR2);
    EQ(coir_signals_close(f->signals), 3, "three were left untold");
    EQ(coir_signals_close(NULL), 0, "closing NULL");
    coir_await(f, &f->next, coir_signal_next);
    EQ(coir_status(&f->next), -EFAULT, "waiting on NULL");
    EQ(coir_signals_try_next(NULL, &f->next.result), -EFAULT, "the same without waiting");
} coir_end

/* ---- what cannot be had ---- */

struct refused {
    coir_frame_void;
    coir_no_args;
    struct coir_signals *signals;
};
static coir_declare(refused);

coir_body(refused, f) {
    static const int no[] = { SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPIPE,
                              SIGXFSZ, 0, -1, 32, 33, 65, 1000 };
    sigset_t set;

    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        errno = 0;
        f->signals = coir_signals_open(SIGUSR1, no[i]);
        EQ(errno, EINVAL, "signal %d is refused", no[i]);
        OK(!f->signals, "and nothing is opened");
    }
    OK(disposition(SIGUSR1, SIG_DFL), "nor caught");
    sigemptyset(&set);
    errno = 0;
    f->signals = coir_signals_open_set(&set);
    OK(!f->signals && errno == EINVAL, "none at all");
    f->signals = coir_signals_open_set(NULL);
    OK(!f->signals && errno == EINVAL, "no set");
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGSEGV);
    errno = 0;
    f->signals = coir_signals_open_set(&set);
    OK(!f->signals && errno == EINVAL && disposition(SIGUSR1, SIG_DFL), "one of a set that cannot be had");
#ifdef COIR_FAULTS
    coir_fail_alloc_at = 1;
    f->signals = coir_signals_open(SIGUSR1);
    OK(!f->signals && errno == ENOMEM, "no memory");
    for (int n = 1; n <= 2; n++) {
        coir_fail_syscall_at = n;
        coir_fail_syscall_with = EIO;
        f->signals = coir_signals_open(SIGUSR1, SIGUSR2);
        OK(!f->signals && errno == EIO, "a failing sigaction, the %d-th", n);
        OK(disposition(SIGUSR1, SIG_DFL) && disposition(SIGUSR2, SIG_DFL), "leaves nothing behind");
    }
#endif
} coir_end

/* ---- of a set ---- */

struct of_a_set {
    coir_frame_void;
    coir_no_args;
    struct coir_signals *signals;
    struct coir_signal came;
    struct coir_signal_next next;
};
static coir_declare(of_a_set);

coir_body(of_a_set, f) {
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGRTMAX);
    f->signals = coir_signals_open_set(&set);
    OK(disposition(SIGUSR1, SIG_DFL), "what is not in the set is left alone");
    sent(SIGRTMAX, 1);
    coir_get(f, f->came, &f->next, coir_signal_next, .signals = f->signals);
    EQ(f->came.number, SIGRTMAX, "the last number there is");
    sent(SIGUSR2, 1);
    coir_get(f, f->came, &f->next, coir_signal_next, .signals = f->signals);
    EQ(f->came.number, SIGUSR2, "and another");
    coir_finally(f) {
        EQ(coir_signals_close(f->signals), 0, "nothing else came");
    }
} coir_end

/* ---- dispositions, masks, children ---- */

static void own_handler(int number)
{
    (void)number;
}

struct manners {
    coir_frame_void;
    coir_no_args;
    struct coir_signals *signals, *also;
    struct coir_signal_next next;
};
static coir_declare(manners);

static void block(int how, int number)
{
    sigset_t one;

    sigemptyset(&one);
    sigaddset(&one, number);
    pthread_sigmask(how, &one, NULL);
}

coir_body(manners, f) {
    sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = own_handler }, NULL);
    sigaction(SIGHUP, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
    f->signals = coir_signals_open(SIGUSR1, SIGHUP, SIGTERM);
    f->also = coir_signals_open(SIGHUP);
    kill(self, SIGHUP);
    coir_try(f, &f->next, coir_signal_next, .signals = f->also);
    EQ(f->next.result.number, SIGHUP, "what was ignored is told");
    coir_signals_close(f->signals);
    OK(disposition(SIGUSR1, own_handler), "afterwards the program's handler is back");
    OK(disposition(SIGTERM, SIG_DFL), "or the default");
    OK(!disposition(SIGHUP, SIG_IGN), "but not while somebody is left");
    coir_signals_close(f->also);
    OK(disposition(SIGHUP, SIG_IGN), "then that too");

    f->signals = coir_signals_open(SIGHUP);
    sigaction(SIGHUP, &(struct sigaction){ .sa_handler = own_handler }, NULL);
    coir_signals_close(f->signals);
    OK(disposition(SIGHUP, own_handler), "what the program has put there meanwhile is left alone");
    sigaction(SIGHUP, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
    sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);

    block(SIG_BLOCK, SIGUSR2);
    kill(self, SIGUSR2);
    f->signals = coir_signals_open(SIGUSR2);
    OK(!is_blocked(SIGUSR2), "one that was blocked is let through");
    coir_try(f, &f->next, coir_signal_next, .signals = f->signals);
    EQ(f->next.result.number, SIGUSR2, "also the one that was held back");
    coir_signals_close(f->signals);
    OK(is_blocked(SIGUSR2), "and is blocked again");
    block(SIG_UNBLOCK, SIGUSR2);
    OK(is_blocked(SIGPIPE), "SIGPIPE is as ever");
} coir_end

/* How a child ended that did `what`: the signal that killed it, or 1000 and its exit status. */
static int ending_of(pid_t pid)
{
    int status;

    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 1000 + WEXITSTATUS(status);
}

static unsigned long long mask_of(const char *status, const char *name)
{
    const char *const at = strstr(status, name);

    return at ? strtoull(at + strlen(name), NULL, 16) : ~0ull;
}

#define BIT(number) (1ull << ((number) - 1))

/* What a program sees that is executed: the kernel's own account. */
static void look_at_executed(void)
{
    char text[8192];
    size_t n = 0;
    ssize_t got;
    int p[2];

    if (pipe(p) < 0)
        return;
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(p[1], 1);
        execlp("cat", "cat", "/proc/self/status", (char *)NULL);
        _exit(1);
    }
    close(p[1]);
    while (n < sizeof text - 1 && (got = read(p[0], text + n, sizeof text - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    close(p[0]);
    waitpid(pid, NULL, 0);
    EQ(mask_of(text, "SigCgt:\t") & (BIT(SIGTERM) | BIT(SIGHUP) | BIT(SIGUSR1)), 0, "an executed program catches none");
    EQ(mask_of(text, "SigIgn:\t") & (BIT(SIGTERM) | BIT(SIGHUP) | BIT(SIGUSR1)), BIT(SIGHUP),
       "ignores what was ignored");
    EQ(mask_of(text, "SigBlk:\t") & (BIT(SIGTERM) | BIT(SIGHUP) | BIT(SIGUSR1)), BIT(SIGUSR1),
       "and blocks what was blocked");
}

struct childs_own {
    coir_frame_void;
    coir_no_args;
    struct coir_signals *signals;
    struct coir_signal_next next;
};
static coir_declare(childs_own);

coir_body(childs_own, f) {
    f->signals = coir_signals_open(SIGTERM);
    kill(getpid(), SIGTERM);
    coir_try(f, &f->next, coir_signal_next, .signals = f->signals);
    coir_finally(f) {
        coir_signals_close(f->signals);
    }
} coir_end

struct children {
    coir_frame_void;
    coir_no_args;
    struct coir_signals *signals;
    struct coir_signal came;
    pid_t pid;
    char byte;
    int p[2];
};
static coir_declare(children);

/* It lives in our memory until it has gone. Not inlined: a vfork's frame must not be shared. */
static __attribute__((noinline)) pid_t vforked(void)
{
    const pid_t pid = vfork();

    if (pid == 0) {
        kill(getpid(), SIGTERM);
        _exit(3);
    }
    return pid;
}

coir_body(children, f) {
    sigaction(SIGHUP, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
    block(SIG_BLOCK, SIGUSR1);
    f->signals = coir_signals_open(SIGTERM, SIGHUP, SIGUSR1);
    f->pid = fork();
    if (f->pid == 0) {
        kill(getpid(), SIGHUP);
        kill(getpid(), SIGTERM);
        _exit(3);
    }
    EQ(ending_of(f->pid), SIGTERM, "a forked child ignores what was ignored, and ends by SIGTERM");
    f->pid = fork();
    if (f->pid == 0)
        _exit(is_blocked(SIGUSR1) && !is_blocked(SIGTERM) ? 0 : 3);
    EQ(ending_of(f->pid), 1000, "and blocks what was blocked");
    f->pid = fork();
    if (f->pid == 0)
        _exit(coir_run(NULL, coir_new(childs_own)) ? 3 : disposition(SIGTERM, SIG_DFL) ? 0 : 4);
    EQ(ending_of(f->pid), 1000, "it may subscribe in a run of its own");
    EQ(ending_of(vforked()), SIGTERM, "so does SIGTERM end a child in our memory");
    look_at_executed();
    EQ(coir_signals_try_next(f->signals, &f->came), -EAGAIN, "the parent is told of none of this");
    kill(self, SIGTERM);
    EQ(coir_signals_try_next(f->signals, &f->came), 0, "but of its own");
    coir_signals_close(f->signals);
    block(SIG_UNBLOCK, SIGUSR1);
    sigaction(SIGHUP, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
} coir_end

/* ---- stopping ---- */

struct sleeps {
    coir_frame_void;
    coir_args(int ready; int times;);
    struct coir_sleep sleep;
};
static coir_declare(sleeps);

static void tell(int fd)
{
    if (write(fd, "x", 1) != 1)
        _exit(9);
}

coir_body(sleeps, f) {
    coir_detach(coir_new(coir_stop_on_signal));
    coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    tell(f->ready);
    coir_try(f, &f->sleep, coir_sleep, .ns = 3600 * COIR_S);
    coir_finally(f) {
        tell(f->ready);
        if (f->times > 1)
            coir_await(f, &f->sleep, coir_sleep, .ns = 9 * COIR_S);
    }
} coir_end

/* How a program ended that is sent a signal `times`, the next when it has seen the last. */
static int stopped_by(int number, int times)
{
    char byte;
    int p[2];

    if (pipe(p) < 0)
        return -1;
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(50);
        _exit(coir_run(NULL, coir_new(sleeps, .ready = p[1], .times = times)) == -ECANCELED ? 0 : 5);
    }
    close(p[1]);
    for (int i = 0; i < times && read(p[0], &byte, 1) == 1; i++)
        kill(pid, number);
    const int ending = ending_of(pid);
    close(p[0]);
    return ending;
}

/* ---- seeing, deadlocks, other loops ---- */

struct alone {
    coir_frame_void;
    coir_args(int number; bool close;);
    struct coir_signals *signals;
    struct coir_signal_next next;
};
static coir_declare(alone);

coir_body(alone, f) {
    f->signals = coir_signals_open(f->number);
    if (f->close)
        coir_try(f, &f->next, coir_signal_next, .signals = f->signals);
    coir_finally(f) {
        if (f->close)
            coir_signals_close(f->signals);
    }
} coir_end

static int leaves_open(void)
{
    return coir_run(NULL, coir_new(alone, .number = SIGUSR2)) || !disposition(SIGUSR2, SIG_DFL);
}

struct seen {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
    struct few_turns turns;
    char text[4096];
};
static coir_declare(seen);

static void dump_to(char *text, size_t size)
{
    FILE *const to = fmemopen(text, size, "w");

    coir_dump(to);
    fclose(to);
}

coir_body(seen, f) {
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(alone, .number = SIGHUP, .close = true));
    coir_spawn(&f->group, coir_new(alone, .number = SIGRTMIN, .close = true));
    coir_await(f, &f->turns, few_turns);
    dump_to(f->text, sizeof f->text);
    OK(strstr(f->text, ": waits for SIGHUP\n") != NULL, "the dump says who waits for which signal");
    OK(strstr(f->text, ": waits for signal 34\n") != NULL, "by number where there is no name");
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

/* A process that sends a signal again and again until it is killed. */
static pid_t sender(int number)
{
    const pid_t pid = fork();

    if (pid == 0) {
        for (int i = 0; i < 20000; i++) {
            usleep(3000);
            kill(self, number);
        }
        _exit(0);
    }
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static int no_more(int number)
{
    sigaction(number, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
    return number;
}

static void alone_in_the_world(void)
{
    const pid_t pid = sender(no_more(SIGUSR1));

    EQ(run(coir_new(alone, .number = SIGUSR1, .close = true)), 0, "who waits for a signal alone is no deadlock");
    end(pid);
}

static void in_another_loop(void)
{
    const pid_t pid = sender(no_more(SIGUSR1));
    struct coir_shard *const s = coir_shard_open(NULL, coir_new(alone, .number = SIGUSR1, .close = true));
    int more = 1;

    if (OK(s, "a shard in another loop")) {
        struct pollfd fds = { .fd = coir_shard_fd(s), .events = POLLIN };
        while (more) {
            const int n = poll(&fds, 1, 20000);
            if (n < 0 && errno == EINTR)
                continue;
            if (!OK(n == 1, "its descriptor is readable"))
                break;
            more = coir_turn(s);
        }
        EQ(coir_shard_close(s), 0, "a signal wakes it");
    }
    end(pid);
}

/* ---- virtual time ---- */

struct patient {
    coir_frame_void;
    coir_no_args;
    struct coir_signals *signals;
    struct coir_signal_next next;
    struct coir_scope scope;
};
static coir_declare(patient);

coir_body(patient, f) {
    f->signals = coir_signals_open(SIGUSR1);
    coir_within(f, &f->scope, coir_now() + 24 * 3600 * COIR_S, &f->next, coir_signal_next, .signals = f->signals);
    EQ(coir_status(&f->next), -ETIMEDOUT, "virtual time does not wait for signals");
    coir_finally(f) {
        coir_signals_close(f->signals);
    }
} coir_end

int main(void)
{
    self = getpid();
    WITHOUT_CHANCE("fifo");             /* of several who wait the first is served first */
    unsetenv("COIR_TIME");
    OK(!coir_signals_open(SIGUSR1) && errno == EINVAL, "no subscription where there is no shard");
    EQ(run(coir_new(refused)), 0, "what cannot be had");
    EQ(run(coir_new(of_a_set)), 0, "of a set");
    EQ(run(coir_new(told)), 0, "what is told");
    EQ(run(coir_new(childs_end)), 0, "a child's end");
    EQ(run(coir_new(ends)), 0, "how it ends");
    EQ(run(coir_new(manners)), 0, "manners");
    EQ(run(coir_new(children)), 0, "children");
    EQ(stopped_by(SIGTERM, 1), 1000, "SIGTERM: the run ends in good order");
    EQ(stopped_by(SIGINT, 1), 1000, "SIGINT too");
    EQ(stopped_by(SIGINT, 2), SIGINT, "the second one ends the program at once");
    EQ(run(coir_new(seen)), 0, "seeing");
    alone_in_the_world();
    in_another_loop();
    const struct ending *const e = in_child(leaves_open);
    EQ(e->status, 0, "one that is left open is closed at the end");
    OK(strstr(e->said, "coir: shard 0: a subscription to signals, of coir_alone_resume at ")
       || strstr(e->said, "a subscription to signals, of alone_resume at "), "and named: %s", e->said);
    setenv("COIR_TIME", "virtual", 1);
    EQ(run(coir_new(patient)), 0, "under virtual time");
    return DONE();
}
