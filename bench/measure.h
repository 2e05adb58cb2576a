/* SPDX-License-Identifier: MIT */
/*
 * What every benchmark program in C and C++ needs: clocks, resident memory, a seeded generator, pinning
 * and the one output format, `row value unit` on a line of its own, which bench/run reads. It measures
 * the calling process only, and must never be on a path that is being timed except for reading the clock
 * at its two ends.
 */
#ifndef COIR_BENCH_MEASURE_H
#define COIR_BENCH_MEASURE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The seed of every program's random sleeps, so that all peers sleep the same times. */
#define BENCH_SEED 88172645463325252ull

/* Pause between two round trips of the idle cross-shard row: long enough that both threads are asleep. */
#define BENCH_IDLE_NS 5000000ull

static inline uint64_t bench_clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static inline uint64_t bench_now_ns(void)
{
    return bench_clock_ns(CLOCK_MONOTONIC);
}

/* CPU time of the whole process, all threads, user and system. */
static inline uint64_t bench_cpu_ns(void)
{
    return bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static inline uint64_t bench_rss_bytes(void)
{
    unsigned long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu %lu", &size, &resident) != 2) {
        perror("/proc/self/statm");
        exit(1);
    }
    fclose(file);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* xorshift64; the same sequence in every peer's language. */
static inline uint32_t bench_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 32);
}

/* A sleep of the timers row, uniform in 0..1 s, in nanoseconds. */
static inline uint64_t bench_random_sleep_ns(uint64_t *state)
{
    return (uint64_t)(bench_random(state) % 1000000u) * 1000u;
}

static inline void bench_report(const char *row, double value, const char *unit)
{
    printf("%s %.3f %s\n", row, value, unit);
    fflush(stdout);
}

/* A benchmark that computed the wrong thing has measured nothing. */
static inline void bench_check(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "wrong: %s\n", what);
        exit(1);
    }
}

static inline long bench_number(const char *text)
{
    char *end;
    const long value = strtol(text, &end, 10);
    bench_check(end != text && *end == '\0' && value >= 0, text);
    return value;
}

/* One of the two CPUs that bench/run chose: which is 0 or 1. */
static inline int bench_cpu(int which)
{
    const char *value = getenv(which ? "BENCH_CPU_B" : "BENCH_CPU_A");
    return value ? (int)bench_number(value) : which;
}

static inline void bench_pin(int which)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(bench_cpu(which), &set);
    sched_setaffinity(0, sizeof set, &set);
}

static inline int bench_compare_u64(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts the samples. */
static inline uint64_t bench_median(uint64_t *samples, size_t count)
{
    qsort(samples, count, sizeof *samples, bench_compare_u64);
    return samples[count / 2];
}

static inline void bench_sleep_ns(uint64_t ns)
{
    struct timespec t = { (time_t)(ns / 1000000000ull), (long)(ns % 1000000000ull) };
    nanosleep(&t, NULL);
}

#endif
