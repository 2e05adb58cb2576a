/* SPDX-License-Identifier: MIT */
/*
 * Asking a thread for its stack, and the handler that answers.
 *
 * The request lies in this file and is never freed, so that a handler that comes late, or to a thread that is about to
 * end, finds what it may touch. `asked` tells whose it is: the id of the thread that is to answer; ANSWERING while it
 * writes; 0. Who asks takes a request back by exchanging the id for 0: either nobody has answered and nobody will, or
 * the answer is being written and is waited for.
 *
 * The handler calls backtrace(), of libgcc: it was called once before, as the first call loads a library. It takes no
 * lock since then, and allocates nothing.
 */
#include "runtime/see/stack.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { ANSWERING = -1, HANDLERS = 8, PATIENCE_MS = 200 };

static int asked;                        /* atomic */
static sem_t answered;
static struct {
    uintptr_t at;                        /* where it was interrupted */
    void *place[COIR_STACK_MOST + HANDLERS];
    int n;
} answer;

static bool is_taken;
static struct sigaction before;

static uintptr_t place_of(const void *context)
{
    const ucontext_t *c = context;

#if defined(__x86_64__)
    return (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)c->uc_mcontext.pc;
#else
    (void)c;
    return 0;
#endif
}

static void on_asked(int number, siginfo_t *info, void *context)
{
    const int kept = errno;
    int me = (int)syscall(SYS_gettid);

    (void)number;
    (void)info;
    if (__atomic_compare_exchange_n(&asked, &me, ANSWERING, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        answer.at = place_of(context);
        answer.n = backtrace(answer.place, COIR_STACK_MOST + HANDLERS);
        __atomic_store_n(&asked, 0, __ATOMIC_RELEASE);
        sem_post(&answered);
    }
    errno = kept;
}

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_asked;
}

void coir_stack_open(void)
{
    struct sigaction ours = { .sa_sigaction = on_asked, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
    void *first[1];

    backtrace(first, 1);
    sem_init(&answered, 0, 0);
    sigfillset(&ours.sa_mask);
    is_taken = sigaction(SIGURG, NULL, &before) == 0 && !(before.sa_flags & SA_SIGINFO)
        && (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) && sigaction(SIGURG, &ours, NULL) == 0;
}

void coir_stack_allow(void)
{
    sigset_t urg;

    sigemptyset(&urg);
    sigaddset(&urg, SIGURG);
    if (is_taken)
        pthread_sigmask(SIG_UNBLOCK, &urg, NULL);
}

void coir_stack_close(void)
{
    struct sigaction now;

    if (is_taken && sigaction(SIGURG, NULL, &now) == 0 && is_ours(&now))
        sigaction(SIGURG, &before, NULL);
    is_taken = false;
}

void coir_stack_forget(void)
{
    coir_stack_close();
    __atomic_store_n(&asked, 0, __ATOMIC_RELAXED);
}

/* ---- asking ---- */

static bool is_answered(void)
{
    struct timespec until;
    int err;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PATIENCE_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    do
        err = sem_timedwait(&answered, &until) < 0 ? errno : 0;
    while (err == EINTR);
    return err == 0;
}

/* What the handler and the kernel's way into it left is not the thread's. */
static size_t places(uintptr_t *out, size_t most)
{
    int first = 0;
    size_t n = 0;

    while (first < answer.n && (uintptr_t)answer.place[first] != answer.at)
        first++;
    if (first == answer.n)
        first = 0;
    for (int i = first; i < answer.n && n < most; i++)
        out[n++] = (uintptr_t)answer.place[i] - (i > first);
    return n;
}

size_t coir_stack_interrupt(pid_t tid, uintptr_t *out, size_t most)
{
    struct sigaction now;
    int expected = (int)tid;

    if (!is_taken || sigaction(SIGURG, NULL, &now) < 0 || !is_ours(&now))
        return 0;
    __atomic_store_n(&asked, expected, __ATOMIC_RELEASE);
    if (syscall(SYS_tgkill, getpid(), tid, SIGURG) < 0) {
        __atomic_store_n(&asked, 0, __ATOMIC_RELAXED);
        return 0;
    }
    if (!is_answered()) {
        if (__atomic_compare_exchange_n(&asked, &expected, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return 0;
        while (sem_wait(&answered) < 0 && errno == EINTR)
            ;
    }
    return places(out, most);
}

/* ---- what the kernel says ---- */

/* Reads a file of the thread's folder; "" if there is none. */
static void read_of(pid_t tid, const char *name, char *out, size_t size)
{
    char path[64];
    ssize_t n = -1;

    snprintf(path, sizeof path, "/proc/self/task/%d/%s", (int)tid, name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, out, size - 1);
        close(fd);
    }
    out[n > 0 ? n : 0] = '\0';
}

void coir_thread_look(pid_t tid, struct coir_thread *out)
{
    char text[256];
    const char *at;
    unsigned long pc, sp;

    *out = (struct coir_thread){ .state = '\0' };
    read_of(tid, "stat", text, sizeof text);
    at = strrchr(text, ')');             /* behind the name, which may hold anything */
    if (at && at[1] == ' ')
        out->state = at[2];
    if (out->state != 'S' && out->state != 'D')
        return;
    read_of(tid, "wchan", out->sleeps_in, sizeof out->sleeps_in);
    if (!strcmp(out->sleeps_in, "0"))
        out->sleeps_in[0] = '\0';
    read_of(tid, "syscall", text, sizeof text);
    at = text;
    for (int i = 0; at && i < 7; i++) {  /* the call and its arguments */
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    if (at && sscanf(at, "%lx %lx", &sp, &pc) == 2) {
        out->sp = sp;
        out->pc = pc;
    }
}
