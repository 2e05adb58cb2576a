/* SPDX-License-Identifier: MIT */
/*
 * The signals of threads that coir starts: none, so that the program's handlers run on the program's threads. Those
 * excepted that a thread raises by a fault of its own: while such a one is blocked the kernel kills the process, and
 * no handler is called.
 */
#ifndef COIR_RUNTIME_BASE_THREAD_H
#define COIR_RUNTIME_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* Around pthread_create, which inherits the mask: `before` is what to set again. */
static inline void coir_block_signals(sigset_t *before)
{
    static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT };
    sigset_t all;

    sigfillset(&all);
    for (unsigned i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&all, own[i]);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

#endif
