/* SPDX-License-Identifier: MIT */
/*
 * SIGPIPE and SIGXFSZ, which a write to a pipe that nobody reads, and one beyond RLIMIT_FSIZE, raise on the
 * thread that makes it: a shard's thread blocks them while it is one, so that the write says -EPIPE or -EFBIG
 * and nobody dies. No disposition is changed; other threads of the program are left alone.
 */
#include <signal.h>

#include "runtime/shard/run.h"

static const int held[] = { SIGPIPE, SIGXFSZ };
enum { HELD = sizeof held / sizeof *held };

void coir_signals_hold(struct coir_shard *s)
{
    sigset_t ours, before;

    sigemptyset(&ours);
    for (int i = 0; i < HELD; i++)
        sigaddset(&ours, held[i]);
    pthread_sigmask(SIG_BLOCK, &ours, &before);
    for (int i = 0; i < HELD; i++)
        s->held_signals[i] = !sigismember(&before, held[i]);
}

/* What came meanwhile is taken first: it must not strike now. */
void coir_signals_release(struct coir_shard *s)
{
    const struct timespec now = { 0, 0 };
    sigset_t ours;

    sigemptyset(&ours);
    for (int i = 0; i < HELD; i++) {
        if (s->held_signals[i])
            sigaddset(&ours, held[i]);
    }
    while (sigtimedwait(&ours, NULL, &now) > 0)
        ;
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
}
