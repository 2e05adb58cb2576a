/* SPDX-License-Identifier: MIT */
/*
 * Signals all the time, with handlers that do nothing: poll(2) says -EINTR of those even when it does not wait. No
 * operation does, whether it is done on the shard, in a cancelled scope, or on a thread.
 */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <coir/coir.h>

#include "tap.h"

enum { TURNS = 20000 };

static volatile sig_atomic_t signals;

static void interrupted(int signal)
{
    (void)signal;
    signals++;
}

static void thunder(long us)
{
    const struct itimerval every = { { 0, us }, { 0, us } };

    sigaction(SIGALRM, &(struct sigaction){ .sa_handler = interrupted }, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
}

struct polls {
    coir_frame(int);                     /* how many said something strange */
    coir_args(int fd; int wanted; int turns;);
    int i;
    struct coir_poll poll;
};
static coir_declare(polls);

/* Not from a coir_finally: where the scope is cancelled, all are. */
coir_body(polls, f) {
    for (f->i = 0; f->i < f->turns; f->i++) {
        coir_await(f, &f->poll, coir_poll, .fd = f->fd, .events = POLLIN);
        f->result += coir_status(&f->poll) != f->wanted;
        if (coir_status(&f->poll) != f->wanted && f->result < 4)
            NOTE("%s", coir_strerror(coir_status(&f->poll)));
    }
} coir_end

struct all {
    coir_frame_void;
    coir_args(const int *full; const int *empty;);
    struct coir_scope scope;
    struct polls polls;
};
static coir_declare(all);

coir_body(all, f) {
    f->polls.result = 0;
    coir_await(f, &f->polls, polls, .fd = f->full[0], .wanted = 0, .turns = TURNS);
    EQ(f->polls.result, 0, "what is ready is ready");
    coir_within(f, &f->scope, 0, &f->polls, polls, .fd = f->full[0], .wanted = 0, .turns = TURNS);
    EQ(f->polls.result, 0, "also in a cancelled scope");
    coir_within(f, &f->scope, 0, &f->polls, polls, .fd = f->empty[0], .wanted = -ECANCELED, .turns = TURNS);
    EQ(f->polls.result, 0, "where what is not ready is cancelled");
} coir_end

int main(void)
{
    int full[2], empty[2];

    if (pipe(full) < 0 || pipe(empty) < 0 || write(full[1], "x", 1) != 1)
        return 1;
    thunder(20);
    EQ(coir_main(coir_new(all, .full = full, .empty = empty)), 0, "it went to its end");
    thunder(0);
    OK(signals > 0, "through signals (%d)", (int)signals);
    return DONE();
}
