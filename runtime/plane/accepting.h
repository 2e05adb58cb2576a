/* SPDX-License-Identifier: MIT */
/*
 * What accept(2)'s errors mean, for the operation and for the ring's multishot request alike: whose fault
 * it is, and how long to leave it alone.
 */
#ifndef COIR_RUNTIME_PLANE_ACCEPTING_H
#define COIR_RUNTIME_PLANE_ACCEPTING_H

#include <stdint.h>

enum coir_accept_error {
    COIR_ACCEPT_FAILED,                  /* the listener's, or the caller's: it is told */
    COIR_ACCEPT_PASSED,                  /* that one connection's: on to the next */
    COIR_ACCEPT_SHORT,                   /* the system is out of something: later */
};

enum coir_accept_error coir_accept_error(int err);

/* How long to pause after the n-th failure in a row, from 0: 10 ms, doubled up to 1 s. */
int64_t coir_accept_pause(unsigned n);

/* Says on stderr why accepting pauses, at most once a second in this process. Any thread. */
void coir_accept_complain(int err);

#endif
