/* SPDX-License-Identifier: MIT */
/*
 * coir/time.h - waiting for a time. Times are int64_t nanoseconds of coir_now(); a sleep costs a timer in
 * its frame and nothing else.
 * It ends at its time or up to 50 us later, so that sleeps that are close together share a wake-up.
 */
#ifndef COIR_TIME_H
#define COIR_TIME_H

#include <coir/scope.h>

#ifdef __cplusplus
extern "C" {
#endif
# 16 "coir/time.h"

/* 64 bits wide, so that 2500 * COIR_MS does not overflow. */
#define COIR_US INT64_C(1000)
#define COIR_MS INT64_C(1000000)
#define COIR_S INT64_C(1000000000)

/* Sleeps until coir_now() has reached `at`; a time in the past does not suspend. -ECANCELED when
 * cancelled before. */
struct coir_sleep_until {
    coir_frame_void;
    coir_args(int64_t at;);
    struct coir_alarm alarm;
};
coir_export(coir_sleep_until);

/* Sleeps for `ns` nanoseconds; 0 or less does not suspend. */
struct coir_sleep {
    coir_frame_void;
    coir_args(int64_t ns;);
    struct coir_alarm alarm;
};
coir_export(coir_sleep);

#ifdef __cplusplus
}
#endif
#endif
