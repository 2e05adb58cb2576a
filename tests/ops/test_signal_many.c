/* SPDX-License-Identifier: MIT */
/*
 * Signals and several shards: everybody is told of everything, however fast it comes, and whoever comes and goes
 * meanwhile. The signals come from another process, from a thread of this one, and from a shard.
 */
#include "task/help.h"

#include "runtime/base/assert.h"

enum { SHARDS = 4, STORM = 3000, ROUNDS = 300 };

static pid_t self;
static int ready;                        /* atomic: subscribers that are there */
static int stopped;                      /* atomic */
static unsigned told_of;                 /* atomic: queued ones, by all */

/* ---- a storm from another process ---- */

struct counts {
    coir_frame_void;
    coir_args(unsigned *queued; unsigned *plain;);
    struct coir_signals *signals;
    struct coir_signal_next next;
};
static coir_declare(counts);

static void count(const struct counts *f, const struct coir_signal *came)
{
    *(came->number == SIGRTMIN ? f->queued : f->plain) += came->count;
    if (came->number == SIGRTMIN)
        __atomic_add_fetch(&told_of, came->count, __ATOMIC_SEQ_CST);
}

coir_body(counts, f) {
    f->signals = coir_signals_open(SIGRTMIN, SIGUSR1, SIGTERM);
    if (!f->signals)
        coir_fail(f, errno);
    __atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
    for (;;) {
        coir_try(f, &f->next, coir_signal_next, .signals = f->signals);
        if (f->next.result.number == SIGTERM)
            break;
        count(f, &f->next.result);
    }
    while (coir_signals_try_next(f->signals, &f->next.result) == 0)      /* of those that were still under way */
        count(f, &f->next.result);
    coir_finally(f) {
        coir_signals_close(f->signals);
    }
} coir_end

struct on_shard {
    coir_frame_void;
    coir_args(unsigned shard; unsigned *queued; unsigned *plain;);
    struct counts counts;
};
static coir_declare(on_shard);

coir_body(on_shard, f) {
    coir_await_on(f, f->shard, &f->counts, counts, .queued = f->queued, .plain = f->plain);
    coir_check(f, &f->counts);
} coir_end

/* Sends STORM of each when it reads a byte, and at last, when it reads another, SIGTERM. */
static pid_t storm(int go)
{
    const pid_t pid = fork();
    char byte;

    if (pid)
        return pid;
    if (read(go, &byte, 1) != 1)
        _exit(1);
    for (int i = 0; i < STORM; i++) {
        while (sigqueue(self, SIGRTMIN, (union sigval){ .sival_int = i }) < 0 && errno == EAGAIN)
            usleep(100);
        kill(self, SIGUSR1);
    }
    _exit(0);
}

struct all {
    coir_frame_void;
    coir_args(unsigned shards;);
    unsigned i, queued[SHARDS], plain[SHARDS];
    int go[2], status;
    pid_t pid;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_sleep sleep;
};
static coir_declare(all);

coir_body(all, f) {
    memset(f->queued, 0, sizeof f->queued);
    memset(f->plain, 0, sizeof f->plain);
    if (pipe(f->go) < 0)
        coir_fail(f, errno);
    f->pid = storm(f->go[0]);
    coir_group_open(f, &f->group);
    for (f->i = 0; f->i < f->shards; f->i++)
        coir_spawn(&f->group, coir_new(on_shard, .shard = f->i, .queued = &f->queued[f->i], .plain = &f->plain[f->i]));
    while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < (int)f->shards)
        coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS / 10);
    EQ(write(f->go[1], "x", 1), 1, "%u shards: go", f->shards);
    for (f->status = -1; waitpid(f->pid, &f->status, WNOHANG) == 0;)
        coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    EQ(f->status, 0, "the storm is over");
    /* The last one may be in the hands of another thread than the one that takes the SIGTERM. */
    for (f->i = 0; !COIR_TSAN && f->i < 20000 && __atomic_load_n(&told_of, __ATOMIC_SEQ_CST) < STORM * f->shards;
         f->i++)
        coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    kill(self, SIGTERM);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), 0, "all have seen its end");
    for (f->i = 0; f->i < f->shards; f->i++) {
        if (COIR_TSAN)                   /* it keeps one of each number, and drops what comes meanwhile */
            OK(f->queued[f->i] > 0 && f->queued[f->i] <= STORM, "shard %u was told of queued ones", f->i);
        else
            EQ(f->queued[f->i], STORM, "shard %u was told of every queued one", f->i);
        OK(f->plain[f->i] > 0 && f->plain[f->i] <= STORM, "shard %u: of %u others", f->i, f->plain[f->i]);
        /* each thread may have been in the middle of one when the end was told */
        OK(abs((int)f->plain[f->i] - (int)f->plain[0]) <= SHARDS, "shard %u: as many as the first", f->i);
    }
    coir_finally(f) {
        close(f->go[0]);
        close(f->go[1]);
    }
} coir_end

/* ---- coming and going in the rain ---- */

static void *rain(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&stopped, __ATOMIC_SEQ_CST)) {
        kill(self, SIGUSR1);
        kill(self, SIGUSR2);
        pthread_kill(pthread_self(), SIGUSR1);
        usleep(20);
    }
    return NULL;
}

struct comes_and_goes {
    coir_frame_void;
    coir_no_args;
    int i;
    struct coir_signals *signals;
    struct coir_scope scope;
    struct coir_signal_next next;
    struct coir_pass pass;
};
static coir_declare(comes_and_goes);

coir_body(comes_and_goes, f) {
    for (f->i = 0; f->i < ROUNDS; f->i++) {
        f->signals = coir_signals_open(SIGUSR1, SIGUSR2);
        if (!f->signals)
            coir_fail(f, errno);
        if (f->i % 3 == 0)
            coir_within(f, &f->scope, coir_now() + 20 * COIR_US, &f->next, coir_signal_next, .signals = f->signals);
        else if (f->i % 3 == 1)
            coir_await(f, &f->next, coir_signal_next, .signals = f->signals);
        else
            coir_await(f, &f->pass, coir_pass);
        if (f->i % 3 == 1 && coir_status(&f->next))
            coir_fail(f, coir_status(&f->next));
        coir_signals_close(f->signals);
    }
} coir_end

struct away {
    coir_frame_void;
    coir_args(unsigned shard;);
    struct comes_and_goes comes_and_goes;
};
static coir_declare(away);

coir_body(away, f) {
    coir_await_on(f, f->shard, &f->comes_and_goes, comes_and_goes);
    coir_check(f, &f->comes_and_goes);
} coir_end

struct crowd {
    coir_frame_void;
    coir_args(unsigned shards;);
    unsigned i;
    pthread_t thread;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(crowd);

coir_body(crowd, f) {
    stopped = 0;
    pthread_create(&f->thread, NULL, rain, NULL);
    coir_group_open(f, &f->group);
    for (f->i = 0; f->i < 3 * f->shards; f->i++)
        coir_spawn(&f->group, coir_new(away, .shard = f->i % f->shards));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), 0, "%u shards: who comes and goes in the rain is told, too", f->shards);
    __atomic_store_n(&stopped, 1, __ATOMIC_SEQ_CST);
    pthread_join(f->thread, NULL);
} coir_end

/* ---- from another shard ---- */

static void close_elsewhere(struct coir_signals *s)
{
    coir_signals_close(s);
}

struct elsewhere {
    coir_frame_void;
    coir_args(struct coir_signals *signals; bool close;);
    struct coir_signal_next next;
};
static coir_declare(elsewhere);

coir_body(elsewhere, f) {
    if (f->close)
        close_elsewhere(f->signals);
    coir_try(f, &f->next, coir_signal_next, .signals = f->signals);
} coir_end

struct lends {
    coir_frame_void;
    coir_args(bool close;);
    struct coir_signals *signals;
    struct elsewhere elsewhere;
};
static coir_declare(lends);

coir_body(lends, f) {
    f->signals = coir_signals_open(SIGUSR1);
    coir_await_on(f, 1, &f->elsewhere, elsewhere, .signals = f->signals, .close = f->close);
    EQ(coir_status(&f->elsewhere), -EINVAL, "a subscription is its shard's");
    coir_finally(f) {
        coir_signals_close(f->signals);
    }
} coir_end

static int closes_elsewhere(void)
{
    return coir_run(&(struct coir_options){ .shards = 2 }, coir_new(lends, .close = true));
}

int main(void)
{
    static const unsigned shards[] = { 1, 2, SHARDS };

    self = getpid();
    unsetenv("COIR_TIME");
    for (size_t i = 0; i < sizeof shards / sizeof *shards; i++) {
        const struct coir_options options = { .shards = shards[i] };
        ready = 0;
        told_of = 0;
        EQ(coir_run(&options, coir_new(all, .shards = shards[i])), 0, "a storm over %u shards", shards[i]);
        /* what the rain leaves when nobody subscribes */
        sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
        sigaction(SIGUSR2, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
        EQ(coir_run(&options, coir_new(crowd, .shards = shards[i])), 0, "rain on %u shards", shards[i]);
        sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
        sigaction(SIGUSR2, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
    }
    EQ(coir_run(&(struct coir_options){ .shards = 2 }, coir_new(lends)), 0, "on another shard");
    STOPS(closes_elsewhere, "is closed on another thread than its shard's", "closing on another shard");
    return DONE();
}
