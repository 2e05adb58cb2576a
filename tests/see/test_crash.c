/* SPDX-License-Identifier: MIT */
/*
 * A program that dies of a signal says before which task ran, where, and its C stack; and it dies of that signal. Who
 * has a handler of its own keeps it, and who did not ask hears nothing.
 */
#include "task/help.h"

#include <coir/abi.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>

#include "runtime/see/crash.h"
#include "runtime/see/symbols.h"

static struct lines {
    int await, up, spawn, crash, call;
    pid_t pid;
} *lines;

/* ---- how it crashes ---- */

enum how {
    READS_NULL, RECURSES, ABORTS, DIVIDES, TRAPS, READS_PAST_FILE, LOCKED, IN_LOADER, UNNAMED, IS_SENT, NOT_AT_ALL
};

static volatile int zero;
static int *volatile null;

__attribute__((noinline)) static int read_null(void)
{
    lines->crash = __LINE__; return *null;
}

__attribute__((noinline)) static int recurse(int n)
{
    volatile char room[512];

    room[n % 512] = (char)n;
    return n < 0 ? 0 : recurse(n + 1) + room[n % 512];
}

static int read_past_file(void)
{
    const int fd = memfd_create("empty", 0);
    const char *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

    return p == MAP_FAILED ? 0 : *(const volatile char *)p;
}

static int in_loader(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)info;
    (void)size;
    (void)arg;
    return read_null() + 1;
}

static int crash(enum how how)
{
    if (how == LOCKED)
        flockfile(stderr);
    if (how == UNNAMED)
        coir_crash_open(false);              /* as where there is no watchdog */
    if (how == READS_NULL || how == LOCKED || how == UNNAMED)
        return read_null();
    if (how == RECURSES)
        return recurse(0);
    if (how == ABORTS)
        abort();
    if (how == DIVIDES)
        return 7 / zero;
    if (how == TRAPS)
        __builtin_trap();
    if (how == READS_PAST_FILE)
        return read_past_file();
    if (how == IN_LOADER)
        return dl_iterate_phdr(in_loader, NULL);
    return how == IS_SENT ? kill(getpid(), SIGSEGV) : 0;
}

struct crashes {
    coir_frame(int);
    coir_args(enum how how;);
    struct coir_pass pass;
};
static coir_declare(crashes);

coir_body(crashes, f) {
    lines->await = __LINE__; coir_try(f, &f->pass, coir_pass);
    lines->call = __LINE__; f->result = crash(f->how);
} coir_end

struct outer {
    coir_frame_void;
    coir_args(enum how how; unsigned shard;);
    struct crashes crashes;
};
static coir_declare(outer);

coir_body(outer, f) {
    if (f->shard) {
        coir_await_on(f, f->shard, &f->crashes, crashes, .how = f->how);
    } else {
        lines->up = __LINE__; coir_try(f, &f->crashes, crashes, .how = f->how);
    }
} coir_end

static uint64_t debug_bit = 2;
static unsigned on_shard;

static int crashing(enum how how)
{
    const struct coir_options o = { .shards = on_shard + 1 };

    lines->pid = getpid();
    lines->spawn = __LINE__; struct coir_task *t = coir_new(outer, .how = how, .shard = on_shard);
    return coir_run_(&o, t, COIR_ABI_ | debug_bit) ? 1 : 0;
}

static int reads_null(void) { return crashing(READS_NULL); }
static int recurses(void) { return crashing(RECURSES); }
static int aborts(void) { return crashing(ABORTS); }
static int divides(void) { return crashing(DIVIDES); }
static int traps(void) { return crashing(TRAPS); }
static int reads_past_file(void) { return crashing(READS_PAST_FILE); }
static int is_sent(void) { return crashing(IS_SENT); }
static int locked(void) { return crashing(LOCKED); }
static int in_the_loader(void) { return crashing(IN_LOADER); }

static int unnamed(void) { return crashing(UNNAMED); }

static int on_the_second(void)
{
    on_shard = 1;
    return crashing(READS_NULL);
}

static int by_environment(void)
{
    debug_bit = 0;
    setenv("COIR_CRASH", "1", 1);
    return crashing(READS_NULL);
}

static int recording(void)
{
    debug_bit = 0;
    setenv("COIR_RECORD", "100", 1);
    return crashing(READS_NULL);
}

static int not_asked(void)
{
    debug_bit = 0;
    return crashing(READS_NULL);
}

static int refused(void)
{
    setenv("COIR_CRASH", "0", 1);
    return crashing(READS_NULL);
}

static void on_segv(int number)
{
    (void)number;
    _exit(7);
}

static int has_a_handler(void)
{
    const struct sigaction mine = { .sa_handler = on_segv };

    sigaction(SIGSEGV, &mine, NULL);
    return crashing(READS_NULL);
}

static int has_a_handler_there(void)
{
    on_shard = 1;
    return has_a_handler();
}

static void *crash_aside(void *arg)
{
    (void)arg;
    read_null();
    return NULL;
}

/* The task waits for a thread that crashes. */
struct waits {
    coir_frame_void;
    coir_no_args;
    pthread_t thread;
    struct coir_sleep sleep;
};
static coir_declare(waits);

coir_body(waits, f) {
    pthread_create(&f->thread, NULL, crash_aside, NULL);
    coir_try(f, &f->sleep, coir_sleep, .ns = 1000 * COIR_S);
} coir_end

static int on_a_thread(void)
{
    return coir_run_(NULL, coir_new(waits), COIR_ABI_ | debug_bit) ? 1 : 0;
}

/* Afterwards all is as it was. */
static int after(void)
{
    struct sigaction now;
    stack_t stack;

    if (crashing(NOT_AT_ALL))
        return 2;
    if (sigaction(SIGSEGV, NULL, &now) || now.sa_handler != SIG_DFL || sigaltstack(NULL, &stack))
        return 3;
    return SANITIZED || (stack.ss_flags & SS_DISABLE) ? 0 : 4;
}

/* ---- looking at what was said ---- */

static const struct ending *e;

static bool says(const char *name, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const bool good = OK(strstr(e->said, text), "%s: says \"%s\"", name, text);
    if (!good)
        NOTE("it said: %s", e->said);
    return good;
}

static void dies(int (*fn)(void), int number, const char *name)
{
    e = in_child(fn);
    if (!OK(WIFSIGNALED(e->status) && WTERMSIG(e->status) == number, "%s: dies of SIG%s", name, sigabbrev_np(number)))
        NOTE("status 0x%x, it said: %s", e->status, e->said);
}

static void quiet(int (*fn)(void), const char *name)
{
    dies(fn, SIGSEGV, name);
    STR_EQ(e->said, "", "%s: says nothing", name);
}

/* Dies of it, and says who ran. */
static void reports(int (*fn)(void), int number, const char *cause, const char *name)
{
    dies(fn, number, name);
    says(name, "coir: SIG%s%s, on shard 0: in task crashes, last await at %s:%d, awaited by outer at %s:%d, spawned at "
         "%s:%d\n    #0  ", sigabbrev_np(number), cause, __FILE__, lines->await, __FILE__, lines->up, __FILE__,
         lines->spawn);
}

static bool has_libdw(void)
{
    struct coir_symbols *s = coir_symbols_open();
    const bool has = s != NULL;

    coir_symbols_close(s);
    return has;
}

static void each_signal(void)
{
    char sent[64];

    reports(reads_null, SIGSEGV, " at address 0x0", "reading NULL");
    if (has_libdw()) {
        says("reading NULL", "    #0  read_null at %s:%d\n", __FILE__, lines->crash);
        says("reading NULL", "  crashes_resume at %s:%d\n", __FILE__, lines->call);
    }
    reports(recurses, SIGSEGV, ", as the C stack is used up", "recursing");
    reports(divides, SIGFPE, "", "dividing by zero");
    reports(traps, SIGILL, "", "a trap");
    dies(reads_past_file, SIGBUS, "reading past a file");
    says("reading past a file", "coir: SIGBUS at address 0x");
    dies(is_sent, SIGSEGV, "sent by somebody");
    snprintf(sent, sizeof sent, "coir: SIGSEGV, sent by process %d, on shard 0: in task crashes, ", (int)lines->pid);
    says("sent by somebody", "%s", sent);
}

static void where(void)
{
    dies(on_the_second, SIGSEGV, "on another shard");
    says("on another shard", ", on shard 1: in task crashes, last await at %s:%d\n", __FILE__, lines->await);
    dies(on_a_thread, SIGSEGV, "on a thread of the program's");
    says("on a thread of the program's", ", on a thread that is no shard\n    #0  ");
    reports(locked, SIGSEGV, " at address 0x0", "with stderr locked");
    reports(in_the_loader, SIGSEGV, " at address 0x0", "with the loader's lock");
    reports(unnamed, SIGSEGV, " at address 0x0", "when nobody knows names");
    says("when nobody knows names", "/test_see_test_crash+0x");
}

static void asked(void)
{
    reports(by_environment, SIGSEGV, " at address 0x0", "COIR_CRASH=1");
#ifdef COIR_DEBUG
    OK(strstr(e->said, " events, in seconds of the run"), "COIR_CRASH=1: a debug program records");
    reports(not_asked, SIGSEGV, " at address 0x0", "a debug program need not be asked");
#else
    OK(!strstr(e->said, " events, in seconds of the run"), "COIR_CRASH=1: nothing was recorded");
    quiet(not_asked, "not asked for");
#endif
    reports(recording, SIGSEGV, " at address 0x0", "COIR_RECORD=100");
    says("COIR_RECORD=100", "\nshard 0: the last ");
    says("COIR_RECORD=100", "  step    outer #1 at %s:%d\n", __FILE__, lines->spawn);
    quiet(refused, "COIR_CRASH=0");
    e = in_child(has_a_handler);
    OK(WIFEXITED(e->status) && WEXITSTATUS(e->status) == 7, "who has a handler keeps it");
    STR_EQ(e->said, "", "and it alone speaks");
    e = in_child(has_a_handler_there);
    OK(WIFEXITED(e->status) && WEXITSTATUS(e->status) == 7, "also on a shard's thread that is coir's");
    e = in_child(after);
    EQ(WIFEXITED(e->status) ? WEXITSTATUS(e->status) : -1, 0, "after a run all is as it was");
}

int main(void)
{
    lines = mmap(NULL, sizeof *lines, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    reports(aborts, SIGABRT, "", "abort");
    if (SANITIZED) {
        SKIP("faults: the sanitizer has handlers of its own");
    } else {
        each_signal();
        where();
        asked();
    }
    return DONE();
}
