/* SPDX-License-Identifier: MIT */
/*
 * Accepting when the process is out of descriptors: it pauses, says so once a second, and goes on by itself when
 * there are some again; nobody's accept fails, and nothing spins.
 */
#include <coir/coir.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "tap.h"
#include "tests/ops/clients.h"

enum { CLIENTS = 5, WAITERS = 20, FILL = 1024 };

static const char *variant;

struct one {
    coir_frame_void;
    coir_args(int listener; int *fd;);
    struct coir_accept accept;
};
static coir_declare(one);

coir_body(one, f) {
    coir_get(f, *f->fd, &f->accept, coir_accept, .fd = f->listener);
} coir_end

static rlim_t limit_fds(rlim_t n)
{
    struct rlimit r;

    getrlimit(RLIMIT_NOFILE, &r);
    const rlim_t before = r.rlim_cur;
    r.rlim_cur = n;
    setrlimit(RLIMIT_NOFILE, &r);
    return before;
}

/* Leaves no free number: fills the holes below the highest that is open, and allows none above. */
static rlim_t exhaust(int *fill, int *n)
{
    int fd, highest = 0;
    rlim_t before;

    for (int i = 0; i < FILL; i++)
        highest = fcntl(i, F_GETFD) >= 0 ? i : highest;
    before = limit_fds((rlim_t)highest + 1);
    *n = 0;
    while (*n < FILL && (fd = fcntl(2, F_DUPFD_CLOEXEC, 0)) >= 0)
        fill[(*n)++] = fd;
    return before;
}

static void relieve(rlim_t before, const int *fill, int n)
{
    limit_fds(before);
    for (int i = 0; i < n; i++)
        close(fill[i]);
}

struct limit {
    coir_frame_void;
    coir_no_args;
    int listener, n, rounds;
    int clients[CLIENTS], fds[WAITERS], fill[FILL];
    rlim_t before;
    struct coir_stats then, now;
    struct coir_scope scope;
    struct coir_group group;
    union {
        struct coir_accept accept;
        struct coir_close close;
        struct coir_sleep sleep;
        struct coir_group_wait wait;
    };
};
static coir_declare(limit);

/* How many of the waiters have a connection. */
static int taken(const int *fds)
{
    int n = 0;

    for (int i = 0; i < WAITERS; i++)
        n += fds[i] >= 0;
    return n;
}

coir_body(limit, f) {
    f->listener = coir_listen("127.0.0.1:0", NULL);
    for (int i = 0; i < CLIENTS; i++)
        f->clients[i] = client(port_of(f->listener));
    f->before = exhaust(f->fill, &f->n);
    coir_within(f, &f->scope, coir_now() + 100 * COIR_MS, &f->accept, coir_accept, .fd = f->listener);
    EQ(coir_status(&f->accept), -ETIMEDOUT, "%s: an accept waits for descriptors, and can be cancelled", variant);
    coir_group_open(f, &f->group);
    for (int i = 0; i < WAITERS; i++) {
        f->fds[i] = -1;
        coir_spawn(&f->group, coir_new(one, .listener = f->listener, .fd = &f->fds[i]));
    }
    coir_stats(0, &f->then);
    coir_await(f, &f->sleep, coir_sleep, .ns = 300 * COIR_MS);
    coir_stats(0, &f->now);
    /* Pauses of 10, 20, 40, 80, 160 ms a waiter: at most 6 tries each, none of which costs over 5 calls. */
    OK(f->now.syscalls - f->then.syscalls <= WAITERS * 6 * 5, "%s: nobody spins (%d system calls)", variant,
       (int)(f->now.syscalls - f->then.syscalls));
    OK(f->now.turns - f->then.turns <= WAITERS * 6 * 5, "%s: nor the loop (%d turns)", variant,
       (int)(f->now.turns - f->then.turns));
    relieve(f->before, f->fill, f->n);
    for (f->rounds = 0; f->rounds < 6000 && taken(f->fds) < CLIENTS; f->rounds++)
        coir_await(f, &f->sleep, coir_sleep, .ns = 10 * COIR_MS);
    EQ(taken(f->fds), CLIENTS, "%s: with descriptors to be had all are accepted", variant);
    coir_await(f, &f->close, coir_close, .fd = f->listener);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->group.status, -ECANCELED, "%s: a close ends the accepts that are left", variant);
    for (int i = 0; i < WAITERS; i++) {
        if (f->fds[i] >= 0)
            close(f->fds[i]);
    }
    for (int i = 0; i < CLIENTS; i++)
        close(f->clients[i]);
} coir_end

/* A close while every accept pauses. */
struct closed_in_pause {
    coir_frame_void;
    coir_no_args;
    int listener, n, fds, client, got[3], fill[FILL];
    rlim_t before;
    struct coir_group group;
    union {
        struct coir_close close;
        struct coir_sleep sleep;
        struct coir_group_wait wait;
    };
};
static coir_declare(closed_in_pause);

coir_body(closed_in_pause, f) {
    f->fds = open_fds();
    f->listener = coir_listen("127.0.0.1:0", NULL);
    f->client = client(port_of(f->listener));
    f->before = exhaust(f->fill, &f->n);
    coir_group_open(f, &f->group);
    for (int i = 0; i < 3; i++)
        coir_spawn(&f->group, coir_new(one, .listener = f->listener, .fd = &f->got[i]));
    coir_await(f, &f->sleep, coir_sleep, .ns = 30 * COIR_MS);
    coir_await(f, &f->close, coir_close, .fd = f->listener);
    EQ(coir_status(&f->close), 0, "%s: a listener closes while its accepts pause", variant);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->group.status, -ECANCELED, "%s: which ends them", variant);
    relieve(f->before, f->fill, f->n);
    close(f->client);
    EQ(open_fds(), f->fds, "%s: nothing is left open", variant);
} coir_end

/* Runs with stderr in a file; the lines about accepting that were written. */
static int complaints(struct coir_task *t)
{
    char line[256];
    FILE *file = tmpfile();
    const int err = dup(2);
    int n = 0;

    fcntl(err, F_SETFD, FD_CLOEXEC);
    dup2(fileno(file), 2);
    EQ(coir_run(NULL, t), 0, "%s: it ends", variant);
    dup2(err, 2);
    close(err);
    rewind(file);
    while (fgets(line, sizeof line, file))
        n += strstr(line, "accepting pauses") != NULL;
    fclose(file);
    return n;
}

int main(void)
{
    static const char *const variants[] = { "", "-multishot" };
    const char *plane = getenv("COIR_IO");
    const bool ring = !plane || strcmp(plane, "epoll") != 0;

    for (int i = 0; i < (ring ? 2 : 1); i++) {
        setenv("COIR_URING", variants[i], 1);
        variant = ring ? variants[i] : "epoll";
        const int n = complaints(coir_new(limit));
        OK(n >= 1 && n <= 3, "%s: one line a second, of two seconds (%d)", variant, n);
        EQ(coir_run(NULL, coir_new(closed_in_pause)), 0, "%s: it ends", variant);
        usleep(1100000);                 /* the next one's line is not of this second */
    }
    return DONE();
}
