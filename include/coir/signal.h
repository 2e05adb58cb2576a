/* SPDX-License-Identifier: MIT */
/*
 * coir/signal.h - signals as a stream.
 *
 *     f->signals = coir_signals_open(SIGHUP, SIGTERM);
 *     if (!f->signals)
 *         coir_fail(f, errno);
 *     for (;;) {
 *         coir_get(f, f->came, &f->next, coir_signal_next, .signals = f->signals);
 *         if (f->came.number == SIGTERM)
 *             break;
 *         ...
 *     }
 *     coir_finally(f) {
 *         coir_signals_close(f->signals);
 *     }
 *
 * As long as anybody subscribes to a signal coir has a handler for it, which may run on any thread: it counts, and
 * wakes the shards that want to know. Every subscription is told of every signal. With the last one the disposition
 * is again what it was before the first. Where nobody subscribes nothing is changed: by default SIGINT and SIGTERM
 * end the program.
 *
 *   - A signal that comes while nobody awaits is kept for the next coir_signal_next. Of one number they are counted,
 *     not queued: `count` says how many came, the rest is the last one's. The kernel itself merges standard
 *     signals that come while one of them is pending; those nobody can count.
 *   - The shard's thread lets the signals through that are subscribed to on it, even if they were blocked, as long
 *     as they are. A system call of the program's own that a handler interrupts is restarted where it can be
 *     (SA_RESTART); poll(2), nanosleep(2) and their like say EINTR.
 *   - A forked child has the dispositions from before, and no subscription. So has a program that is executed; only
 *     what was ignored is not ignored there when posix_spawn(3) or vfork(2) made its process.
 *   - Whoever awaits a signal waits for an outsider: that is no deadlock, and virtual time does not wait for it.
 */
#ifndef COIR_SIGNAL_H
#define COIR_SIGNAL_H

#include <coir/task.h>
#include <signal.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
# 44 "coir/signal.h"

/* A place in a line of waiters. Private. */
#ifndef COIR_LINK_DECLARED
#define COIR_LINK_DECLARED
struct coir_link {
    struct coir_link *prev, *next;
};
#endif

/* What came. All but `number` and `count` is the last one's; of two that come at the same moment on two threads it
 * may be either's. */
struct coir_signal {
    int number;
    unsigned count;                   /* of this number, since the subscription was last told of it; 1 at least */
    int code;                         /* si_code: SI_USER, SI_QUEUE, SI_KERNEL (a terminal's), CLD_EXITED, ... */
    pid_t pid;                        /* who sent it, or of SIGCHLD the child; 0 where the kernel does not say */
    uid_t uid;                        /* likewise */
    union sigval value;               /* of sigqueue(3), timers and message queues; of SIGCHLD sival_int: si_status */
};

struct coir_signals;

/*
 * Subscribes to the signals listed: what comes from now on is told. Belongs to the shard it is called on, and is
 * closed there. NULL and errno:
 *   EINVAL   one of them is no signal, or one that cannot be waited for: SIGKILL and SIGSTOP; SIGSEGV, SIGBUS,
 *            SIGFPE, SIGILL, SIGTRAP, SIGSYS and SIGABRT, which are not sent but happen; SIGPIPE and SIGXFSZ, which
 *            are -EPIPE and -EFBIG here; those that the C library keeps to itself. Or this thread is no shard
 *   ENOMEM
 */
#define coir_signals_open(...) __extension__({ \
    static const struct coir_site coir_signals_site_ = { __func__, __FILE__, __LINE__ }; \
    coir_signals_open_(&coir_signals_site_, __VA_ARGS__, COIR_SIGNALS_END_); })
enum { COIR_SIGNALS_END_ = -77777 };
COIR_API struct coir_signals *coir_signals_open_(const struct coir_site *site, ...) __attribute__((warn_unused_result));

/* The same of a set: for who does not know the numbers when it is written. */
#define coir_signals_open_set(set) __extension__({ \
    static const struct coir_site coir_signals_site_ = { __func__, __FILE__, __LINE__ }; \
    coir_signals_open_set_(&coir_signals_site_, set); })
COIR_API struct coir_signals *coir_signals_open_set_(const struct coir_site *site, const sigset_t *set)
    __attribute__((warn_unused_result));

/*
 * Ends a subscription: who still awaits it says -ECANCELED. Returns how many signals came that it was never told of:
 * who was the last subscriber, and has the default disposition take over, may have to raise them again. NULL is
 * allowed. From another shard it stops the program. One that is left open is named when its shard ends, and closed.
 */
COIR_API unsigned coir_signals_close(struct coir_signals *s);

/*
 * Waits for the next signal of a subscription: of several numbers the one that came first, as far as the shard has
 * seen it; of what came within one turn of its loop, that whose last one is the oldest.
 * Tasks that wait on one subscription are served in order, each signal goes to one. A signal that came wins over
 * cancellation.
 *   -EFAULT     `signals` is NULL
 *   -EINVAL     it is of another shard
 *   -ECANCELED  cancelled, or closed meanwhile
 */
struct coir_signal_next {
    coir_frame(struct coir_signal);
    coir_args(struct coir_signals *signals;);
    struct coir_link link;
    void *spare_[2];
};
coir_export(coir_signal_next);

/* The same without waiting; a plain call. -EAGAIN: none came, or others wait for it. */
COIR_API int coir_signals_try_next(struct coir_signals *s, struct coir_signal *out);

/*
 * Waits for SIGINT or SIGTERM, then calls coir_stop(); the result is the number. From then on the two are the
 * system's again: a second Ctrl-C ends the program at once. For a task of its own:
 *
 *     coir_detach(coir_new(coir_stop_on_signal));
 *
 * ends with the main task, unless options.drain waits for detached ones: then spawn it into a group. Fails as
 * coir_signals_open does, and with -ECANCELED.
 */
struct coir_stop_on_signal {
    coir_frame(int);
    coir_no_args;
    struct coir_signals *signals;
    struct coir_signal_next next;
};
coir_export(coir_stop_on_signal);

#ifdef __cplusplus
}
#endif
#endif
