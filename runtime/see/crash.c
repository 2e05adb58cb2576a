/* SPDX-License-Identifier: MIT */
/*
 * A fatal signal: before the program dies of it, which task ran is said, where, the C stack, and the last events of
 * every shard. Then it dies of the same signal, with the core that it would have left.
 *
 * Only where the signal's disposition is the default: what the program or a sanitizer has installed is theirs. The
 * handler runs on a stack of its own, as the thread's may be used up, and calls nothing that is not safe there: no
 * allocation, no lock, no stdio. Memory is read by look.h, since any pointer may be the one that is broken.
 *
 * Names and lines need memory and files; so the watchdog's thread is asked for them, if there is one, and for a while:
 * it may be stuck behind a lock that the crashed thread holds, or crash itself. Without an answer the stack is written
 * as files and offsets, for addr2line.
 *
 * One thread reports. Another that crashes meanwhile waits for the end; one that crashes in its own report dies.
 */
#include "runtime/see/crash.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "runtime/see/look.h"
#include "runtime/see/report.h"
#include "runtime/see/symbols.h"
#include "runtime/see/watchdog.h"
#include "runtime/shard/run.h"

enum { FRAMES = 48, HANDLERS = 8, EVENTS = 20, STACK = 1 << 16, NEAR = 1 << 16, PATIENCE_MS = 3000 };

static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
enum { FATAL = sizeof fatal / sizeof *fatal };

static bool taken[FATAL];
static bool has_watchdog;
static void *stacks[COIR_MAX_SHARDS];    /* each its shard's */

static int reporter;                     /* atomic: the thread that reports; 0: none does */
static uintptr_t places[FRAMES];         /* of it */
static size_t n_places;

enum { NOT_ASKED, ASKED, ANSWERING, ANSWERED };
static int names;                        /* atomic: what the watchdog is asked for */

/* ---- what is said ---- */

static uintptr_t register_of(const void *context, bool pc)
{
    const ucontext_t *c = context;

#if defined(__x86_64__)
    return (uintptr_t)c->uc_mcontext.gregs[pc ? REG_RIP : REG_RSP];
#elif defined(__aarch64__)
    return (uintptr_t)(pc ? c->uc_mcontext.pc : c->uc_mcontext.sp);
#else
    (void)c;
    return 0;
#endif
}

static void put_cause(struct coir_text *t, int number, const siginfo_t *info, const void *context)
{
    const uintptr_t at = (uintptr_t)info->si_addr, sp = register_of(context, false);

    if (info->si_code <= 0 && number != SIGABRT) {
        coir_text_str(t, ", sent by process ");
        coir_text_unsigned(t, (uint64_t)info->si_pid);
    } else if (number == SIGSEGV && sp && (at < sp ? sp - at : at - sp) < NEAR) {
        coir_text_str(t, ", as the C stack is used up");
    } else if (number == SIGSEGV || number == SIGBUS) {
        coir_text_str(t, " at address 0x");
        coir_text_hex(t, at);
    }
}

static void say_who(int number, const siginfo_t *info, const void *context)
{
    const struct coir_shard *const s = coir_shard_here();
    const char *const name = sigabbrev_np(number);
    char buf[1024], task[80];
    struct coir_text t = coir_text_in(buf, sizeof buf);

    coir_text_str(&t, "coir: SIG");
    coir_text_str(&t, name);
    put_cause(&t, number, info, context);
    if (!s) {
        coir_text_str(&t, ", on a thread that is no shard");
    } else {
        coir_text_str(&t, ", on shard ");
        coir_text_unsigned(&t, s->id);
        coir_text_str(&t, ": in ");
        if (!coir_look_at_step(s, &t, task, sizeof task))
            coir_text_str(&t, "; no task runs");
    }
    coir_text_char(&t, '\n');
    coir_report_write(buf, &t);
}

/* What the handler and the kernel's way into it left is not the program's. */
static void find_places(const void *context)
{
    void *place[FRAMES + HANDLERS];
    const int n = backtrace(place, FRAMES + HANDLERS);
    int first = 0;

    while (first < n && (uintptr_t)place[first] != register_of(context, true))
        first++;
    if (first == n)                          /* it jumped to where nothing is: its caller is still known */
        first = n > 2 ? 2 : 0;
    for (int i = first; i < n && n_places < FRAMES; i++)
        places[n_places++] = (uintptr_t)place[i] - (i > first);
}

/* The file that the place is in, and where it was loaded; without a lock of the loader's. */
static const char *file_of(uintptr_t pc, uintptr_t *base)
{
    struct dl_find_object found;

    *base = 0;
    if (_dl_find_object((void *)pc, &found) < 0)
        return NULL;
    *base = found.dlfo_link_map->l_addr;
    return found.dlfo_link_map->l_name;
}

static void say_offsets(void)
{
    static char buf[16384], self[4096];
    struct coir_text t = coir_text_in(buf, sizeof buf);
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    self[n > 0 ? n : 0] = '\0';
    for (size_t i = 0; i < n_places; i++) {
        uintptr_t base;
        const char *const file = file_of(places[i], &base);

        coir_text_str(&t, i < 10 ? "    #" : "   #");
        coir_text_unsigned(&t, i);
        coir_text_str(&t, "  ");
        coir_text_str(&t, !file ? "?" : *file ? file : self);
        coir_text_str(&t, "+0x");
        coir_text_hex(&t, places[i] - base);
        coir_text_char(&t, '\n');
    }
    coir_report_write(buf, &t);
}

/* False: nobody answers. */
static bool say_names(void)
{
    const struct timespec tick = { 0, 10 * 1000000L };
    int expected = ASKED;

    if (!has_watchdog)
        return false;
    __atomic_store_n(&names, ASKED, __ATOMIC_RELEASE);
    sem_post(&coir_watchdog_bell);
    for (int ms = 0; ms < PATIENCE_MS && __atomic_load_n(&names, __ATOMIC_ACQUIRE) != ANSWERED; ms += 10)
        nanosleep(&tick, NULL);
    return __atomic_load_n(&names, __ATOMIC_ACQUIRE) == ANSWERED
        || !__atomic_compare_exchange_n(&names, &expected, NOT_ASKED, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void coir_crash_look(void)
{
    int expected = ASKED;
    static char buf[16384];
    struct coir_text t = coir_text_in(buf, sizeof buf);
    struct coir_symbols *symbols;
    unsigned number = 0;

    if (!__atomic_compare_exchange_n(&names, &expected, ANSWERING, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    symbols = coir_symbols_open();
    for (size_t i = 0; i < n_places && coir_symbols_frame(symbols, &t, places[i], &number); i++)
        ;
    coir_report_write(buf, &t);
    __atomic_store_n(&names, ANSWERED, __ATOMIC_RELEASE);
    coir_symbols_close(symbols);
}

/* ---- the handler ---- */

/* It comes again: by the instruction, which has not been done, or as it was sent. It is blocked until then. */
static void die(int number, const siginfo_t *info)
{
    const struct sigaction by_default = { .sa_handler = SIG_DFL };

    sigaction(number, &by_default, NULL);
    if (info->si_code <= 0)
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

static void on_fatal(int number, siginfo_t *info, void *context)
{
    const int me = (int)syscall(SYS_gettid);
    int nobody = 0;

    if (!__atomic_compare_exchange_n(&reporter, &nobody, me, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        while (nobody != me)                 /* the one who reports ends the process */
            pause();
        die(number, info);
        return;
    }
    say_who(number, info, context);
    find_places(context);
    if (!say_names())
        say_offsets();
    coir_recorder_write(STDERR_FILENO, EVENTS);
    die(number, info);
}

/* ---- from the first to the last of a run ---- */

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_fatal;
}

bool coir_crash_asked(const struct coir_runtime *run)
{
    const char *const given = getenv("COIR_CRASH"), *const record = getenv("COIR_RECORD");

    if (given && *given)
        return strcmp(given, "0") != 0;
    return run->debug || (record && *record && strcmp(record, "0"));
}

void coir_crash_open(bool named)
{
    struct sigaction ours = { .sa_sigaction = on_fatal, .sa_flags = SA_SIGINFO | SA_ONSTACK }, before;
    void *first[1];

    backtrace(first, 1);                     /* the first call loads a library */
    has_watchdog = named;
    sigfillset(&ours.sa_mask);
    for (int i = 0; i < FATAL; i++)
        sigdelset(&ours.sa_mask, fatal[i]);
    for (int i = 0; i < FATAL; i++) {
        taken[i] = sigaction(fatal[i], NULL, &before) == 0 && !(before.sa_flags & SA_SIGINFO)
            && before.sa_handler == SIG_DFL && sigaction(fatal[i], &ours, NULL) == 0;
    }
}

void coir_crash_close(void)
{
    struct sigaction now;

    for (int i = 0; i < FATAL; i++) {
        if (taken[i] && sigaction(fatal[i], NULL, &now) == 0 && is_ours(&now)) {
            now = (struct sigaction){ .sa_handler = SIG_DFL };
            sigaction(fatal[i], &now, NULL);
        }
        taken[i] = false;
    }
}

/* A stack for the handlers on this thread, if it has none; a page that nobody may touch is below it. */
void coir_crash_begin(const struct coir_shard *s)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    stack_t now, ours = { .ss_size = STACK };
    char *memory;

    stacks[s->id] = NULL;
    if (sigaltstack(NULL, &now) < 0 || !(now.ss_flags & SS_DISABLE))
        return;
    memory = mmap(NULL, page + STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return;
    ours.ss_sp = memory + page;
    if (mprotect(ours.ss_sp, STACK, PROT_READ | PROT_WRITE) == 0 && sigaltstack(&ours, NULL) == 0)
        stacks[s->id] = memory;
    else
        munmap(memory, page + STACK);
}

void coir_crash_end(const struct coir_shard *s)
{
    const stack_t none = { .ss_flags = SS_DISABLE };

    if (!stacks[s->id])
        return;
    sigaltstack(&none, NULL);
    munmap(stacks[s->id], (size_t)sysconf(_SC_PAGESIZE) + STACK);
    stacks[s->id] = NULL;
}
