/* SPDX-License-Identifier: MIT */
/*
 * The machine's monotonic clock in nanoseconds. Only planes and tests read it: everybody else asks the
 * plane, whose time may be virtual. It must never be compared with wall-clock time.
 */
#ifndef COIR_RUNTIME_BASE_CLOCK_H
#define COIR_RUNTIME_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since an arbitrary point (boot), never decreasing; served by the vDSO, about 20 ns. */
static inline int64_t coir_clock_monotonic(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail: the clock exists and ts is ours */
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Tells the core that this thread only looks, again and again, for what another one writes. */
static inline void coir_cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
