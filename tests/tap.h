/* SPDX-License-Identifier: MIT */
/*
 * What every test program reports with: the Test Anything Protocol, one line a check, on file descriptor 1.
 *
 *     int main(void)
 *     {
 *         EQ(add(2, 2), 4, "two and two");
 *         OK(strlen(s) > 0, "round %d has a name", i);
 *         return DONE();
 *     }
 *
 * It owns the counters and may be used from any number of threads of one process, not from a signal handler;
 * a forked child has counters of its own and must leave with _exit and without DONE. Each line is one
 * write(2), so that a crash shows the last check that ran. Included by the one file of the program that has
 * main; a second file of the same program would count by itself. All checks are plain expressions without a
 * declaration, and so may stand in a coroutine body. A check never ends the program: that is for the test to
 * decide, from its value.
 */
#ifndef COIR_TESTS_TAP_H
#define COIR_TESTS_TAP_H

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One check: passes when cond is true. The rest is its name, printf style. Value: whether it passed. */
#define OK(cond, ...) tap_ok((cond) ? true : false, #cond, __FILE__, __LINE__, __VA_ARGS__)

/* Passes when two integers or two pointers are equal, compared as 64-bit values; a failure prints both. */
#define EQ(a, b, ...) \
    tap_eq((long long)(a), (long long)(b), #a, #b, __FILE__, __LINE__, __VA_ARGS__)

/* Passes when two strings are equal, or both NULL; a failure prints both. */
#define STR_EQ(a, b, ...) tap_str_eq((a), (b), #a, #b, __FILE__, __LINE__, __VA_ARGS__)

/* Passes when two runs of n bytes are equal; a failure prints where they first differ. */
#define MEM_EQ(a, b, n, ...) tap_mem_eq((a), (b), (n), __FILE__, __LINE__, __VA_ARGS__)

/* One check that cannot be made here, and why, printf style. It counts as skipped, never as passed. */
#define SKIP(...) tap_skip(__VA_ARGS__)

/* Leaves the program, before any check was made: none of it can run here, and why, printf style. */
#define SKIP_ALL(...) tap_skip_all(__VA_ARGS__)

/* A remark in the log, printf style, one line. */
#define NOTE(...) tap_note(__VA_ARGS__)

/* In the torture build, before the first run: leaves a kind of chance out of it, with the words of
 * runtime/base/torture.h. For tests that say what the order is, or how many bytes there are at once. */
#define WITHOUT_CHANCE(words) tap_without_chance(words)

/* Prints the plan. Value: what main returns, 0 when nothing failed. */
#define DONE() tap_done()

#define TAP_UNUSED __attribute__((unused))
#define TAP_PRINTF(fmt, first) __attribute__((unused, format(printf, fmt, first)))

static pthread_mutex_t tap_lock = PTHREAD_MUTEX_INITIALIZER; /* over the counters and the order of lines */
static int tap_count;                                        /* checks so far, skipped ones included */
static int tap_failed;

/* One line in one write. Longer lines are cut: a log line nobody can read helps nobody. */
TAP_PRINTF(1, 2) static void tap_line(const char *fmt, ...)
{
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line - 1, fmt, ap);
    va_end(ap);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof line - 2 ? (size_t)n : sizeof line - 2;
    line[len++] = '\n';
    for (size_t at = 0; at < len;) {
        ssize_t w = write(STDOUT_FILENO, line + at, len - at);
        if (w <= 0)
            return;
        at += (size_t)w;
    }
}

/* Formats a name, less what would mean something in the protocol: a line's end, the mark of a directive. */
static void tap_name(char *to, size_t size, const char *fmt, va_list ap)
{
    vsnprintf(to, size, fmt, ap);
    for (char *c = to; *c; c++) {
        if (*c == '\n')
            *c = ' ';
        if (*c == '#')
            *c = '_';
    }
}

/* Counts and prints one check. The lock is held by the caller, so that what follows stays with it. */
static void tap_result(bool passed, const char *name)
{
    tap_count++;
    tap_failed += !passed;
    tap_line("%sok %d - %s", passed ? "" : "not ", tap_count, name);
}

TAP_PRINTF(5, 6)
static bool tap_ok(bool passed, const char *cond, const char *file, int line, const char *fmt, ...)
{
    char name[512];
    va_list ap;
    va_start(ap, fmt);
    tap_name(name, sizeof name, fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&tap_lock);
    tap_result(passed, name);
    if (!passed)
        tap_line("# %s:%d: not true: %s", file, line, cond);
    pthread_mutex_unlock(&tap_lock);
    return passed;
}

TAP_PRINTF(7, 8)
static bool tap_eq(long long a, long long b, const char *sa, const char *sb, const char *file, int line,
                   const char *fmt, ...)
{
    char name[512];
    va_list ap;
    va_start(ap, fmt);
    tap_name(name, sizeof name, fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&tap_lock);
    tap_result(a == b, name);
    if (a != b) {
        tap_line("# %s:%d: not equal", file, line);
        tap_line("#   %lld (0x%llx) is %s", a, (unsigned long long)a, sa);
        tap_line("#   %lld (0x%llx) is %s", b, (unsigned long long)b, sb);
    }
    pthread_mutex_unlock(&tap_lock);
    return a == b;
}

TAP_PRINTF(7, 8)
static bool tap_str_eq(const char *a, const char *b, const char *sa, const char *sb, const char *file,
                       int line, const char *fmt, ...)
{
    char name[512];
    va_list ap;
    va_start(ap, fmt);
    tap_name(name, sizeof name, fmt, ap);
    va_end(ap);
    bool same = a && b ? strcmp(a, b) == 0 : a == b;
    pthread_mutex_lock(&tap_lock);
    tap_result(same, name);
    if (!same) {
        tap_line("# %s:%d: not equal", file, line);
        tap_line("#   \"%s\" is %s", a ? a : "(null)", sa);
        tap_line("#   \"%s\" is %s", b ? b : "(null)", sb);
    }
    pthread_mutex_unlock(&tap_lock);
    return same;
}

TAP_PRINTF(6, 7)
static bool tap_mem_eq(const void *a, const void *b, size_t n, const char *file, int line,
                       const char *fmt, ...)
{
    char name[512];
    va_list ap;
    va_start(ap, fmt);
    tap_name(name, sizeof name, fmt, ap);
    va_end(ap);
    const unsigned char *pa = a, *pb = b;
    size_t at = 0;
    while (at < n && pa[at] == pb[at])
        at++;
    pthread_mutex_lock(&tap_lock);
    tap_result(at == n, name);
    if (at < n)
        tap_line("# %s:%d: byte %zu of %zu is 0x%02x and 0x%02x", file, line, at, n, pa[at], pb[at]);
    pthread_mutex_unlock(&tap_lock);
    return at == n;
}

TAP_PRINTF(1, 2) static void tap_skip(const char *fmt, ...)
{
    char why[512];
    va_list ap;
    va_start(ap, fmt);
    tap_name(why, sizeof why, fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&tap_lock);
    tap_count++;
    tap_line("ok %d # SKIP %s", tap_count, why);
    pthread_mutex_unlock(&tap_lock);
}

TAP_PRINTF(1, 2) _Noreturn static void tap_skip_all(const char *fmt, ...)
{
    char why[512];
    va_list ap;
    va_start(ap, fmt);
    tap_name(why, sizeof why, fmt, ap);
    va_end(ap);
    tap_line("1..0 # SKIP %s", why);
    exit(0);
}

TAP_PRINTF(1, 2) static void tap_note(const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    tap_name(text, sizeof text, fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&tap_lock);
    tap_line("# %s", text);
    pthread_mutex_unlock(&tap_lock);
}

TAP_UNUSED static void tap_without_chance(const char *words)
{
    const char *const seed = getenv("COIR_TORTURE_SEED");
    char less[128];

    snprintf(less, sizeof less, "%s,%s", seed && *seed ? seed : "1", words);
    setenv("COIR_TORTURE_SEED", less, 1);
}

TAP_UNUSED static int tap_done(void)
{
    pthread_mutex_lock(&tap_lock);
    tap_line("1..%d", tap_count);
    if (tap_failed)
        tap_line("# %d of %d failed", tap_failed, tap_count);
    if (tap_failed && getenv("COIR_TORTURE_SEED"))
        tap_line("# COIR_TORTURE_SEED=%s", getenv("COIR_TORTURE_SEED"));
    int code = tap_failed ? 1 : 0;
    pthread_mutex_unlock(&tap_lock);
    return code;
}

#endif
