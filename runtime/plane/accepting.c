/* SPDX-License-Identifier: MIT */
/*
 * What accept(2)'s errors mean. The kernel hands out errors of connections that are gone as if they were the
 * listener's (accept(2), "Error handling"); and it does not take a connection from the backlog while there is
 * no descriptor for it, so whoever tries again at once spins.
 */
#include "runtime/plane/accepting.h"

#include <coir/time.h>
#include <errno.h>
#include <stdio.h>

#include "runtime/base/clock.h"

enum { DOUBLINGS = 7 };

enum coir_accept_error coir_accept_error(int err)
{
    switch (-err) {
    case ECONNABORTED:
    case EINTR:
    case EPROTO:
    case ENOPROTOOPT:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET:
        return COIR_ACCEPT_PASSED;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
        return COIR_ACCEPT_SHORT;
    default:
        return COIR_ACCEPT_FAILED;
    }
}

int64_t coir_accept_pause(unsigned n)
{
    return n < DOUBLINGS ? (int64_t)(10 * COIR_MS) << n : COIR_S;
}

void coir_accept_complain(int err)
{
    static int64_t said;                 /* atomic: when, ns; 0: never */
    const int64_t now = coir_clock_monotonic();
    int64_t last = __atomic_load_n(&said, __ATOMIC_RELAXED);

    if (last && now - last < COIR_S)
        return;
    if (__atomic_compare_exchange_n(&said, &last, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        fprintf(stderr, "coir: accepting pauses: %s%s\n", coir_strerror(err),
                err == -EMFILE ? " (RLIMIT_NOFILE)" : "");
}
