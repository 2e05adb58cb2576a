/* SPDX-License-Identifier: MIT */
/*
 * The watchdog: a step that holds its shard is named while it does, with what it is doing and where; nobody else is.
 * Steps here hold their shard until the watchdog has counted them, so no time is waited for.
 */
#include "task/help.h"

#include <coir/abi.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "runtime/see/symbols.h"
#include "runtime/see/text.h"
#include "runtime/task/watch.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DEFERS_SIGNALS 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define DEFERS_SIGNALS 1
#endif
#ifndef DEFERS_SIGNALS
#define DEFERS_SIGNALS 0        /* ThreadSanitizer calls handlers when the thread calls something */
#endif

enum { LIMIT_MS = 20 };

/* Lines that reports name; shared with the child process. */
static struct lines {
    int await, up, spawn, call;
} *lines;

static uint64_t slow_steps(unsigned shard)
{
    struct coir_stats s;

    coir_stats(shard, &s);
    return s.slow_steps;
}

static int64_t cpu_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return ts.tv_sec * COIR_S + ts.tv_nsec;
}

/* ---- what holds a shard ---- */

enum how { UNTIL_SEEN, IN_READ, LOCKED, FOR_A_WHILE, NAPS, STOPPED, IN_POLL, NOT_AT_ALL };

static atomic_uint seen;

__attribute__((noinline)) static void spin_until_seen(unsigned shard)
{
    const uint64_t before = slow_steps(shard);

    while (slow_steps(shard) == before)
        seen++;
}

__attribute__((noinline)) static void spin_for(int64_t ns)
{
    const int64_t end = cpu_ns() + ns;

    while (cpu_ns() < end)
        seen++;
}

/* Another thread ends the wait when the watchdog has seen it. */
static void *write_when_seen(void *arg)
{
    while (slow_steps(0) == 0)
        sched_yield();
    if (write(*(int *)arg, "x", 1) != 1)
        abort();
    return NULL;
}

__attribute__((noinline)) static int read_until_seen(void)
{
    pthread_t thread;
    int fds[2];
    char c;

    if (pipe(fds) || pthread_create(&thread, NULL, write_when_seen, &fds[1]))
        return -1;
    const ssize_t n = read(fds[0], &c, 1);
    pthread_join(thread, NULL);
    close(fds[0]);
    close(fds[1]);
    return n == 1 ? 0 : -1;
}

static int hold_locked(void)
{
    void *p = malloc(100000);            /* some of its state is the thread's by now */

    flockfile(stderr);
    spin_until_seen(0);
    funlockfile(stderr);
    free(p);
    return 0;
}

/* Neither may be woken by the watchdog. */
static int nap(bool in_poll)
{
    const struct timespec ts = { 0, 10 * LIMIT_MS * 1000000L };
    const int err = in_poll ? poll(NULL, 0, 10 * LIMIT_MS) : nanosleep(&ts, NULL);

    while (slow_steps(0) == 0)
        sched_yield();
    return err;
}

static int hold(enum how how)
{
    if (how == UNTIL_SEEN)
        spin_until_seen((unsigned)coir_shard_id());
    else if (how == FOR_A_WHILE)
        spin_for(300 * COIR_MS);
    else if (how == STOPPED)
        raise(SIGSTOP);
    else if (how == IN_READ)
        return read_until_seen();
    else if (how == LOCKED)
        return hold_locked();
    else if (how == NAPS || how == IN_POLL)
        return nap(how == IN_POLL);
    return 0;
}

struct holds {
    coir_frame(int);
    coir_args(enum how how;);
    struct coir_pass pass;
};
static coir_declare(holds);

coir_body(holds, f) {
    lines->await = __LINE__; coir_try(f, &f->pass, coir_pass);
    lines->call = __LINE__; f->result = hold(f->how);
    if (f->result)
        coir_fail(f, EIO);
} coir_end

struct outer {
    coir_frame_void;
    coir_args(enum how how;);
    struct holds holds;
};
static coir_declare(outer);

coir_body(outer, f) {
    lines->up = __LINE__; coir_try(f, &f->holds, holds, .how = f->how);
} coir_end

static struct coir_options options;
static uint64_t debug_bit;

static int run_holding(enum how how)
{
    lines->spawn = __LINE__; struct coir_task *t = coir_new(outer, .how = how);
    return coir_run_(&options, t, COIR_ABI_ | debug_bit) ? 1 : 0;
}

/* ---- cases, each in a process of its own ---- */

static int spinning(void) { return run_holding(UNTIL_SEEN); }
static int reading(void) { return run_holding(IN_READ); }
static int locked(void) { return run_holding(LOCKED); }
static int napping(void) { return run_holding(NAPS); }
static int polling(void) { return run_holding(IN_POLL); }
static int for_a_while(void) { return run_holding(FOR_A_WHILE); }
static int not_at_all(void) { return run_holding(NOT_AT_ALL); }

static int twice(void)
{
    return run_holding(UNTIL_SEEN) + run_holding(UNTIL_SEEN);
}

static int in_virtual_time(void)
{
    setenv("COIR_TIME", "virtual", 1);
    return run_holding(UNTIL_SEEN);
}

static int forked(void)
{
    int status;

    if (run_holding(UNTIL_SEEN))
        return 1;
    const pid_t pid = fork();
    if (pid == 0)
        _exit(run_holding(UNTIL_SEEN));
    return waitpid(pid, &status, 0) != pid || status;
}

/* A step forks: the child runs on its own, and is not the parent's watchdog's. */
struct forks {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
    pid_t pid;
    int status;
};
static coir_declare(forks);

coir_body(forks, f) {
    coir_try(f, &f->pass, coir_pass);
    f->pid = fork();
    if (f->pid == 0)
        _exit(run_holding(UNTIL_SEEN));
    waitpid(f->pid, &f->status, 0);
    if (f->status)
        coir_fail(f, EIO);
} coir_end

static int in_a_step_forked(void)
{
    return coir_run(&options, coir_new(forks)) ? 1 : 0;
}

/* Much work, in many steps. */
struct works {
    coir_frame_void;
    coir_no_args;
    int i;
    struct coir_pass pass;
};
static coir_declare(works);

coir_body(works, f) {
    for (f->i = 0; f->i < 10 * LIMIT_MS; f->i++) {
        spin_for(COIR_MS);
        coir_try(f, &f->pass, coir_pass);
    }
} coir_end

static int working(void)
{
    return coir_run(&options, coir_new(works)) ? 1 : 0;
}

/* Asleep as a task should be. */
struct sleeps {
    coir_frame_void;
    coir_no_args;
    struct coir_sleep sleep;
};
static coir_declare(sleeps);

coir_body(sleeps, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = 10 * LIMIT_MS * COIR_MS);
} coir_end

static int sleeping(void)
{
    return coir_run(&options, coir_new(sleeps)) ? 1 : 0;
}

/* In a loop that is not coir's only its own turns count. */
static int between_turns(void)
{
    struct coir_shard *s = coir_shard_open(&options, coir_new(sleeps));
    const struct timespec ts = { 0, 5 * LIMIT_MS * 1000000L };

    while (s && coir_turn(s))
        nanosleep(&ts, NULL);
    return !s || coir_shard_close(s);
}

static int in_a_turn(void)
{
    struct coir_shard *s = coir_shard_open(&options, coir_new(outer, .how = UNTIL_SEEN));

    while (s && coir_turn(s))
        ;
    return !s || coir_shard_close(s);
}

struct everywhere {
    coir_frame_void;
    coir_no_args;
    unsigned i;
    struct outer outer;
};
static coir_declare(everywhere);

coir_body(everywhere, f) {
    for (f->i = 0; f->i < 3; f->i++)
        coir_await_on(f, f->i, &f->outer, outer, .how = UNTIL_SEEN);
} coir_end

static int on_three_shards(void)
{
    const struct coir_options three = { .shards = 3, .slow_ms = LIMIT_MS };

    return coir_run(&three, coir_new(everywhere)) ? 1 : 0;
}

static atomic_int handled;

static void on_urg(int number)
{
    (void)number;
    handled++;
}

/* What the program does with SIGURG is left alone, also when it begins to only later. */
static int urg_is_taken(void)
{
    const struct sigaction mine = { .sa_handler = on_urg };
    struct sigaction now;

    sigaction(SIGURG, &mine, NULL);
    if (run_holding(UNTIL_SEEN) || handled)
        return 1;
    return sigaction(SIGURG, NULL, &now) < 0 || now.sa_handler != on_urg;
}

static int urg_is_given_back(void)
{
    struct sigaction now;

    if (run_holding(UNTIL_SEEN))
        return 1;
    return sigaction(SIGURG, NULL, &now) < 0 || now.sa_handler != SIG_DFL;
}

/* ---- looking at what was said ---- */

static const struct ending *e;

static bool says(const char *text, const char *name)
{
    const bool good = OK(strstr(e->said, text), "%s: says \"%s\"", name, text);

    if (!good)
        NOTE("it said: %s", e->said);
    return good;
}

static int times(const char *text)
{
    int n = 0;

    for (const char *at = e->said; (at = strstr(at, text)); at++)
        n++;
    return n;
}

static void runs(int (*fn)(void), const char *name)
{
    e = in_child(fn);
    if (!OK(WIFEXITED(e->status) && WEXITSTATUS(e->status) == 0, "%s: the program goes on", name))
        NOTE("status 0x%x, it said: %s", e->status, e->said);
}

static void quiet(int (*fn)(void), const char *name)
{
    runs(fn, name);
    STR_EQ(e->said, "", "%s: nothing is said", name);
}

/* One report, and its end; all but times is exact. */
static void reports(int (*fn)(void), int n, const char *name)
{
    char text[512];

    runs(fn, name);
    EQ(times("coir: slow step: "), 2 * n + times(" still holds "), "%s: %d reports, with their ends", name, n);
    snprintf(text, sizeof text, "coir: slow step: task holds, last await at %s:%d, awaited by outer at %s:%d, "
             "spawned at %s:%d, holds shard 0 for ", __FILE__, lines->await, __FILE__, lines->up, __FILE__,
             lines->spawn);
    says(text, name);
    says("coir: slow step: task holds has given back shard 0 after ", name);
}

/* A frame of the C stack: `function at FILE:line`; line 0: any. */
static void has_frame(const char *function, int line, const char *name)
{
    char text[256];

    if (line)
        snprintf(text, sizeof text, "  %s at %s:%d\n", function, __FILE__, line);
    else
        snprintf(text, sizeof text, "  %s at %s:", function, __FILE__);
    says(text, name);
}

/* ---- */

static bool has_libdw(void)
{
    struct coir_symbols *s = coir_symbols_open();
    const bool has = s != NULL;

    coir_symbols_close(s);
    return has;
}

static void what_it_does(void)
{
    reports(spinning, 1, "a loop");
    says("ms: it runs, and has used ", "a loop");
    if (DEFERS_SIGNALS || !has_libdw()) {
        SKIP("the C stack of a loop: %s", DEFERS_SIGNALS ? "ThreadSanitizer defers signals" : "there is no libdw");
    } else {
        has_frame("spin_until_seen", 0, "a loop");
        has_frame("hold", 0, "a loop");
        has_frame("holds_resume", lines->call, "a loop");
        EQ(times("runtime/shard/"), 0, "a loop: its frames end where coir's begin");
    }
    reports(reading, 1, "a blocking read");
    says(" ms: it sleeps in the kernel", "a blocking read");
    if (has_libdw()) {
        has_frame("read_until_seen", 0, "a blocking read");
        has_frame("holds_resume", lines->call, "a blocking read");
    }
    reports(locked, 1, "with stderr locked");
    reports(napping, 1, "nanosleep, which goes on");
    reports(polling, 1, "poll, which goes on");
}

static void who_it_is_not(void)
{
    quiet(not_at_all, "a short step");
    quiet(working, "many short steps");
    quiet(sleeping, "a task that sleeps");
    quiet(between_turns, "another loop between turns");
}

/* A process that is stopped, and continued after a while. */
static void stopped(void)
{
    const struct timespec while_ = { 0, 10 * LIMIT_MS * 1000000L };
    const char *const name = "a process that was stopped";
    int fds[2], status;
    char said[256];

    if (!OK(pipe(fds) == 0, "%s: a pipe", name))
        return;
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], STDERR_FILENO);
        _exit(run_holding(STOPPED));
    }
    close(fds[1]);
    OK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "%s: it is", name);
    nanosleep(&while_, NULL);
    kill(pid, SIGCONT);
    OK(waitpid(pid, &status, 0) == pid && status == 0, "%s: it goes on", name);
    EQ(read(fds[0], said, sizeof said), 0, "%s: nothing is said", name);
    close(fds[0]);
}

static void how_often(void)
{
    options.slow_ms = 10;
    reports(for_a_while, 1, "30 times the limit");
    OK(times(" still holds ") >= 1 && times(" still holds ") <= 4, "30 times the limit: said again after 2, 4, 8, 16");
    setenv("COIR_RECORD", "64", 1);
    reports(for_a_while, 1, "recorded");
    EQ(times(" events, in seconds of the run"), 1, "recorded: the events of the shard, once");
    unsetenv("COIR_RECORD");
    options.slow_ms = LIMIT_MS;
    reports(twice, 2, "two runs");
    reports(forked, 2, "a run, and one in a forked child");
    if (SANITIZED) {
        SKIP("a run in a child forked by a step: ThreadSanitizer allows no threads there, and AddressSanitizer's "
             "allocator may be locked by one of the parent's, for ever");
        return;
    }
    runs(in_a_step_forked, "a run in a child forked by a step");
    EQ(times("coir: slow step: task holds, "), 1, "a run in a child forked by a step: one report of the child");
}

static void where(void)
{
    reports(in_virtual_time, 1, "under virtual time");
    runs(in_a_turn, "in another loop's turn");
    EQ(times(", holds shard 0 for "), 1, "in another loop's turn: one report");
    runs(on_three_shards, "three shards");
    for (int i = 0; i < 3; i++) {
        char text[64];
        snprintf(text, sizeof text, ", holds shard %d for ", i);
        EQ(times(text), 1, "three shards: one report of shard %d", i);
    }
    if (!DEFERS_SIGNALS && has_libdw())
        EQ(times("  spin_until_seen at "), 3, "three shards: the C stack of each");
    reports(urg_is_taken, 1, "the program catches SIGURG");
    says("\n    its C stack cannot be told\n", "the program catches SIGURG");
    reports(urg_is_given_back, 1, "it does not");
}

/* ---- asking for it ---- */

static int64_t limit_of(int slow_ms, const char *env, bool debug)
{
    const struct coir_options o = { .slow_ms = slow_ms };
    int64_t ns = -1;

    if (env)
        setenv("COIR_SLOW_MS", env, 1);
    else
        unsetenv("COIR_SLOW_MS");
    const int err = coir_watch_limit(&o, debug, &ns);
    unsetenv("COIR_SLOW_MS");
    return err ? err : ns;
}

static int wrong_number(void)
{
    setenv("COIR_SLOW_MS", "soon", 1);
    return coir_run(NULL, coir_new(sleeps)) == -EINVAL ? 0 : 1;
}

static void asked(void)
{
    EQ(limit_of(0, NULL, false), 0, "by default nobody watches");
    EQ(limit_of(0, NULL, true), 100 * COIR_MS, "a debug program is watched: 100 ms");
    EQ(limit_of(0, "50", false), 50 * COIR_MS, "COIR_SLOW_MS");
    EQ(limit_of(0, "0", true), 0, "COIR_SLOW_MS=0: nobody watches a debug program");
    EQ(limit_of(0, "", true), 100 * COIR_MS, "an empty one says nothing");
    EQ(limit_of(30, "50", false), 30 * COIR_MS, "options before the environment");
    EQ(limit_of(-1, "50", true), 0, "negative: nobody watches");
    runs(wrong_number, "COIR_SLOW_MS=soon");
    STR_EQ(e->said, "coir: COIR_SLOW_MS: \"soon\" is no number of milliseconds from 0 to 86400000\n", "it says why");
    options.slow_ms = -1;
    quiet(for_a_while, "not asked for");
    options.slow_ms = 0;
    debug_bit = 2;
    reports(spinning, 1, "a debug program");
    debug_bit = 0;
    options.slow_ms = LIMIT_MS;
}

/* ---- without libdw ---- */

static void offsets(void)
{
    char buf[1024], command[1200], said[256] = "";
    struct coir_text t = coir_text_in(buf, sizeof buf - 1);
    unsigned number = 7;
    FILE *f;

    OK(coir_symbols_frame(NULL, &t, (uintptr_t)spin_for + 1, &number), "a frame without libdw");
    *t.at = '\0';
    EQ(number, 8, "it has its number");
    char *const plus = strrchr(buf, '+');
    if (!OK(!strncmp(buf, "    #7  ", 8) && plus, "it is a file and an offset"))
        return;
    snprintf(command, sizeof command, "addr2line -f -e %.*s %s", (int)(plus - buf - 8), buf + 8, plus + 1);
    command[strcspn(command, "\n")] = '\0';
    f = popen(command, "r");
    if (!f || !fgets(said, sizeof said, f))
        SKIP("what addr2line makes of that: it is not there");
    else
        STR_EQ(said, "spin_for\n", "addr2line finds the function");
    if (f)
        pclose(f);
}

int main(void)
{
    lines = mmap(NULL, sizeof *lines, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    options.slow_ms = LIMIT_MS;
    what_it_does();
    who_it_is_not();
    stopped();
    how_often();
    where();
    asked();
    offsets();
    return DONE();
}
