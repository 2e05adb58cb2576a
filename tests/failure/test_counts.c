/* SPDX-License-Identifier: MIT */
/*
 * What an echo exchange costs in the steady state, exactly: no memory, and as many system calls as can be counted by
 * hand. The clients are a forked process that blocks, so that nothing of theirs is counted.
 *
 * On the ring an exchange of one connection is: a receive that waits (queued, not submitted), and at the next turn
 * one io_uring_enter that submits it and waits for data; then the send is queued and submitted by another, which
 * brings its completion back at once. So one enter for the receive and one for the send: 2. With 64 connections whose
 * requests come in rounds of 64 a turn serves all that have come, and an exchange costs its share of that turn's:
 * at most the 2 of a lone one, when each came by itself.
 *
 * On epoll an exchange is a recv that says "again", an epoll_ctl, an epoll_pwait2, a recv and a send: 5.
 */
#include <signal.h>
#include <sys/wait.h>

#include "runtime/base/torture.h"
#include "../ops/net.h"

enum { EXCHANGES = 10000, WARM = 100, SIZE = 64, MOST = 64 };

struct echo {
    coir_frame_void;
    coir_args(int fd; long *exchanges;);
    char buf[SIZE];
    size_t n;
    union {
        struct coir_recv recv;
        struct coir_send_all send;
    };
};
static coir_declare(echo);
coir_body(echo, f) {
    for (;;) {
        coir_get(f, f->n, &f->recv, coir_recv, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf);
        if (f->n == 0)
            break;
        coir_try(f, &f->send, coir_send_all, .fd = f->fd, .buf = f->buf, .len = f->n);
        ++*f->exchanges;
    }
} coir_end

/* One process for all clients: every round it sends on each connection, then receives from each. */
static void exchange(const int *fds, int n, long rounds)
{
    char buf[SIZE];

    memset(buf, 'x', sizeof buf);
    for (long r = 0; r < rounds; r++) {
        for (int i = 0; i < n; i++)
            MUST((int)send(fds[i], buf, SIZE, 0));
        for (int i = 0; i < n; i++)
            MUST((int)recv(fds[i], buf, SIZE, MSG_WAITALL));
    }
}

/* Sees the counters when so many exchanges have been made, from within the server that made the last. */
struct watcher {
    coir_frame_void;
    coir_args(int fd; int n; struct coir_stats *before, *after; long *exchanges, *at_before, *at_after;);
    char c;
    struct coir_recv recv;
    struct coir_send send;
};
static coir_declare(watcher);

coir_body(watcher, f) {
    coir_try(f, &f->recv, coir_recv, .fd = f->fd, .buf = &f->c, .len = 1);
    coir_stats(0, f->before);
    *f->at_before = *f->exchanges;
    coir_try(f, &f->send, coir_send, .fd = f->fd, .buf = "g", .len = 1);
    coir_try(f, &f->recv, coir_recv, .fd = f->fd, .buf = &f->c, .len = 1);
    coir_stats(0, f->after);
    *f->at_after = *f->exchanges;
    coir_try(f, &f->send, coir_send, .fd = f->fd, .buf = "e", .len = 1);
} coir_end

struct server {
    coir_frame_void;
    coir_args(const int *fds; int n; int control;);
    long exchanges, at_before, at_after;
    struct coir_stats before, after;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(server);

static void judge(const struct server *f)
{
    const long exchanges = f->at_after - f->at_before;
    const uint64_t calls = f->after.syscalls - f->before.syscalls;
    const bool ring = !strcmp(coir_plane_name(), "uring");
    /* what the watcher itself did meanwhile: a send, a receive that waited, and a turn for each */
    const uint64_t watching = 8;

    EQ(f->after.allocations - f->before.allocations, 0, "%d connections: no allocation", f->n);
    EQ(f->after.chunks - f->before.chunks, 0, "%d connections: no memory for the pool", f->n);
    EQ(exchanges, EXCHANGES / f->n * f->n, "%d connections: so many exchanges", f->n);
    NOTE("%d connections: %.3f system calls an exchange", f->n, (double)calls / (double)exchanges);
    OK(COIR_TORTURED || calls <= (ring ? 2u : 5u) * (uint64_t)exchanges + watching,
       "%d connections: no more system calls (%llu) than that", f->n, (unsigned long long)calls);
    OK(f->after.submissions - f->before.submissions == f->after.completions - f->before.completions || COIR_TORTURED,
       "%d connections: as many receives wait as before", f->n);
}

coir_body(server, f) {
    f->exchanges = 0;
    coir_group_open(f, &f->group);
    for (int i = 0; i < f->n; i++)
        coir_spawn(&f->group, coir_new(echo, .fd = f->fds[i], .exchanges = &f->exchanges));
    coir_spawn(&f->group, coir_new(watcher, .fd = f->control, .n = f->n, .before = &f->before, .after = &f->after,
                                   .exchanges = &f->exchanges, .at_before = &f->at_before, .at_after = &f->at_after));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), 0, "%d connections: all went well", f->n);
    judge(f);
} coir_end

static _Noreturn void be_clients(const int *fds, int n, int control)
{
    char c;

    exchange(fds, n, WARM);
    MUST((int)send(control, "b", 1, 0));
    MUST((int)recv(control, &c, 1, 0));
    exchange(fds, n, EXCHANGES / n);
    MUST((int)send(control, "e", 1, 0));
    MUST((int)recv(control, &c, 1, 0));
    _exit(0);
}

static void count(int n)
{
    int servers[MOST], clients[MOST], control[2];
    pid_t child;

    make_pair(TCP_BLOCKING, control);
    for (int i = 0; i < n; i++) {
        int fds[2];

        make_pair(TCP_BLOCKING, fds);
        servers[i] = fds[0];
        clients[i] = fds[1];
    }
    child = MUST(fork());
    if (child == 0) {
        for (int i = 0; i < n; i++)
            close(servers[i]);
        close(control[0]);
        be_clients(clients, n, control[1]);
    }
    for (int i = 0; i < n; i++)
        close(clients[i]);
    close(control[1]);
    EQ(coir_run(NULL, coir_new(server, .fds = servers, .n = n, .control = control[0])), 0, "the server of %d", n);
    MUST(waitpid(child, NULL, 0));
    for (int i = 0; i < n; i++)
        close(servers[i]);
    close(control[0]);
}

int main(void)
{
    WITHOUT_CHANCE("fifo,whole,prompt"); /* it counts */
    alarm(60);
    count(1);
    count(64);
    return DONE();
}
