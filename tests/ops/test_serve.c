/* SPDX-License-Identifier: MIT */
/*
 * coir_serve on one shard and on several: connections are served, counted, limited and spread by each policy;
 * failures of one are nobody else's; cancelling leaves connections their grace and no longer.
 */
#include <coir/coir.h>
#include <fcntl.h>
#include <pthread.h>

#include "runtime/base/pool.h"
#include "tap.h"
#include "tests/ops/clients.h"

static const char *variant;
static int running;                      /* atomic: handlers' tasks that have begun and not ended */
static int most;                         /* atomic: the most there were on one shard */
static _Thread_local int here;

/* Echoes until the peer closes; "f" makes it fail, "q" makes it end. */
struct echo {
    coir_frame_void;
    coir_args(int fd;);
    char c;
    union {
        struct coir_recv recv;
        struct coir_send_all send;
        struct coir_close close;
    };
};
static coir_declare(echo);

static void begins(void)
{
    int seen = __atomic_load_n(&most, __ATOMIC_RELAXED);

    __atomic_add_fetch(&running, 1, __ATOMIC_RELAXED);
    here++;
    while (here > seen && !__atomic_compare_exchange_n(&most, &seen, here, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

static void ends(void)
{
    __atomic_sub_fetch(&running, 1, __ATOMIC_RELAXED);
    here--;
}

coir_body(echo, f) {
    begins();
    for (;;) {
        coir_try(f, &f->recv, coir_recv, .fd = f->fd, .buf = &f->c, .len = 1);
        if (f->recv.result == 0 || f->c == 'q')
            break;
        if (f->c == 'f')
            coir_fail(f, EIO);
        coir_try(f, &f->send, coir_send_all, .fd = f->fd, .buf = &f->c, .len = 1);
    }
    coir_finally(f) {
        coir_await(f, &f->close, coir_close, .fd = f->fd);
        ends();
    }
} coir_end

static int made, refuse;                 /* atomic: handlers called; how many of them make nothing */

static struct coir_task *handler(int fd, void *arg)
{
    if (arg != &made)
        abort();
    __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
    if (__atomic_load_n(&refuse, __ATOMIC_RELAXED) > 0 && __atomic_fetch_sub(&refuse, 1, __ATOMIC_RELAXED) > 0)
        return NULL;
    return coir_new(echo, .fd = fd);
}

/* Waits for what comes about on other shards, at most 5 s: what is checked after it says whether it did. */
#define UNTIL(f, cond) \
    for ((f)->i = 0; (f)->i < 50000 && !(cond); (f)->i++) \
        coir_await(f, &(f)->sleep, coir_sleep, .ns = COIR_MS)

#define AT(counter) __atomic_load_n(&(counter), __ATOMIC_RELAXED)

static void reset(void)
{
    __atomic_store_n(&made, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&running, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&most, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&refuse, 0, __ATOMIC_RELAXED);
}

/* ---- a server, and a test that looks at it ---- */

struct server {
    coir_frame_void;
    coir_args(int fd; enum coir_spread spread; uint32_t limit; int64_t grace; int *status;
              struct coir_serve **look;);
    struct coir_serve serve;
};
static coir_declare(server);

coir_body(server, f) {
    f->serve.result = NULL;
    *f->look = &f->serve;
    coir_await(f, &f->serve, coir_serve, .handler = handler, .arg = &made, .fd = f->fd, .spread = f->spread,
               .limit = f->limit, .grace = f->grace);
    *f->status = coir_status(&f->serve);
} coir_end

static uint64_t sum(const struct coir_serve *s, size_t at)
{
    struct coir_served one;
    uint64_t total = 0;

    for (unsigned i = 0; s && i < coir_shard_count(); i++) {
        if (coir_serve_count(s, i, &one) == 0)
            total += *(uint64_t *)(void *)((char *)&one + at);
    }
    return total;
}
#define SUM(s, field) ((int)sum(s, offsetof(struct coir_served, field)))

/* What comes back for a byte, by a blocking client of the test's: only where the server is on another thread. */
static int says(int fd, char c)
{
    char back = 0;

    return write(fd, &c, 1) == 1 && read(fd, &back, 1) == 1 ? back : -1;
}

enum { CLIENTS = 12 };

struct serves {
    coir_frame_void;
    coir_args(enum coir_spread spread; bool shared;);
    int listener, port, fds, status, i, clients[CLIENTS];
    char c;
    struct coir_serve *look;
    struct coir_served served;
    struct coir_group group;
    union {
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_recv recv;
        struct coir_group_wait wait;
    };
};
static coir_declare(serves);

/* Twelve clients, of whom one fails, one is refused; then the server is cancelled. */
coir_body(serves, f) {
    f->fds = open_fds();
    reset();
    f->listener = coir_listen("127.0.0.1:0", &(struct coir_listen_options){ .reuse_port = f->shared });
    f->port = port_of(f->listener);
    f->look = NULL;
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(server, .fd = f->listener, .spread = f->spread, .status = &f->status,
                                   .look = &f->look));
    SETTLE(f);
    for (f->i = 0; f->i < (int)coir_shard_count(); f->i++)       /* each has had turns since, and serves */
        coir_await_on(f, (unsigned)f->i, &f->settle, settle);
    EQ(coir_serve_count(f->look, coir_shard_count(), &f->served), -EINVAL, "%s: no such shard", variant);
    for (f->i = 0; f->i < CLIENTS; f->i++) {
        f->clients[f->i] = client(f->port);
        EQ(write(f->clients[f->i], "x", 1), 1, "%s: client %d", variant, f->i);
        coir_await(f, &f->recv, coir_recv, .fd = f->clients[f->i], .buf = &f->c, .len = 1);
        EQ(f->recv.result == 1 && f->c == 'x', 1, "%s: is served", variant);
    }
    EQ(SUM(f->look, taken), CLIENTS, "%s: taken are counted", variant);
    EQ(SUM(f->look, live), CLIENTS, "%s: and live", variant);
    EQ(AT(made), CLIENTS, "%s: the handler was called for each", variant);
    for (f->i = 0; f->i < (int)coir_shard_count() && !(f->spread == COIR_SPREAD_KERNEL && f->shared); f->i++) {
        EQ(coir_serve_count(f->look, (unsigned)f->i, &f->served), 0, "%s: shard %d", variant, f->i);
        EQ((int)f->served.taken, CLIENTS / (int)coir_shard_count(), "%s: has its share", variant);
    }
    EQ(write(f->clients[0], "f", 1), 1, "%s: one fails", variant);
    coir_await(f, &f->recv, coir_recv, .fd = f->clients[0], .buf = &f->c, .len = 1);
    EQ(f->recv.result, 0, "%s: and is closed", variant);
    EQ(write(f->clients[1], "y", 1), 1, "%s: the others", variant);
    coir_await(f, &f->recv, coir_recv, .fd = f->clients[1], .buf = &f->c, .len = 1);
    EQ(f->recv.result == 1 && f->c == 'y', 1, "%s: go on", variant);
    __atomic_store_n(&refuse, 1, __ATOMIC_RELAXED);
    close(f->clients[0]);
    f->clients[0] = client(f->port);
    coir_await(f, &f->recv, coir_recv, .fd = f->clients[0], .buf = &f->c, .len = 1);
    EQ(f->recv.result, 0, "%s: without memory for its task a connection is closed", variant);
    UNTIL(f, SUM(f->look, live) == CLIENTS - 1);
    EQ(SUM(f->look, failed), 1, "%s: failures are counted", variant);
    EQ(SUM(f->look, refused), 1, "%s: refusals too", variant);
    EQ(SUM(f->look, live), CLIENTS - 1, "%s: and are no longer live", variant);
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, -ECANCELED, "%s: cancelled", variant);
    EQ(AT(running), 0, "%s: no connection is left", variant);
    EQ(client(f->port), -ECONNREFUSED, "%s: nobody listens", variant);
    for (f->i = 0; f->i < CLIENTS; f->i++)
        close(f->clients[f->i]);
    EQ(open_fds(), f->fds, "%s: nothing is left open", variant);
} coir_end

/* ---- a limit ---- */

struct limits {
    coir_frame_void;
    coir_args(enum coir_spread spread;);
    int listener, port, status, i, served, clients[CLIENTS];
    char c;
    struct coir_serve *look;
    struct coir_scope scope;
    struct coir_group group;
    union {
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_recv recv;
        struct coir_group_wait wait;
    };
};
static coir_declare(limits);

coir_body(limits, f) {
    reset();
    f->listener = coir_listen("127.0.0.1:0", NULL);
    f->port = port_of(f->listener);
    f->look = NULL;
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(server, .fd = f->listener, .spread = f->spread, .limit = 2, .status = &f->status,
                                   .look = &f->look));
    for (int i = 0; i < CLIENTS; i++)
        f->clients[i] = client(f->port);
    UNTIL(f, SUM(f->look, live) == 2 * (int)coir_shard_count());
    SETTLE(f);
    EQ(SUM(f->look, live), 2 * (int)coir_shard_count(), "%s: two live at once on each shard", variant);
    f->served = 0;
    for (f->i = 0; f->i < CLIENTS; f->i++) {
        f->served += (int)write(f->clients[f->i], "zq", 2) == 2;
        coir_within(f, &f->scope, coir_now() + COIR_S, &f->recv, coir_recv, .fd = f->clients[f->i], .buf = &f->c,
                    .len = 1);
        f->served -= coir_status(&f->recv) < 0 || f->recv.result != 1 || f->c != 'z';
        close(f->clients[f->i]);
    }
    EQ(f->served, CLIENTS, "%s: as they end all get their turn", variant);
    EQ(AT(most), 2, "%s: never more than two on a shard", variant);
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, -ECANCELED, "%s: cancelled", variant);
} coir_end

/* ---- grace ---- */

struct graces {
    coir_frame_void;
    coir_args(int64_t grace; bool finishes;);
    int listener, port, status, client, i;
    char c;
    int64_t then;
    struct coir_serve *look;
    struct coir_group group;
    union {
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_recv recv;
        struct coir_group_wait wait;
    };
};
static coir_declare(graces);

struct late {
    coir_frame_void;
    coir_args(int fd; int *got;);
    char c;
    union {
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_recv recv;
        struct coir_send_all send;
    };
};
static coir_declare(late);

/* Speaks when the server has been cancelled for 20 ms, and quits. */
coir_body(late, f) {
    coir_await(f, &f->sleep, coir_sleep, .ns = 40 * COIR_MS);
    *f->got = 0;
    coir_try(f, &f->send, coir_send_all, .fd = f->fd, .buf = "lq", .len = 2);
    coir_try(f, &f->recv, coir_recv, .fd = f->fd, .buf = &f->c, .len = 1);
    *f->got = f->recv.result == 1 && f->c == 'l';
} coir_end

coir_body(graces, f) {
    reset();
    f->listener = coir_listen("127.0.0.1:0", NULL);
    f->port = port_of(f->listener);
    f->look = NULL;
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(server, .fd = f->listener, .grace = f->grace, .status = &f->status,
                                   .look = &f->look));
    SETTLE(f);
    f->client = client(f->port);
    f->c = 0;
    UNTIL(f, AT(running) == 1);
    EQ(AT(running), 1, "%s: one is served", variant);
    f->then = coir_now();
    coir_group_cancel(&f->group);
    if (f->finishes)
        coir_detach(coir_new(late, .fd = f->client, .got = &f->port));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(AT(running), 0, "%s: no connection is left", variant);
    if (f->finishes) {
        UNTIL(f, f->port == 1);
        EQ(f->port, 1, "%s: a connection may end in its own way while the grace lasts", variant);
        OK(coir_now() - f->then < f->grace, "%s: which does not last longer than need be", variant);
    } else {
        OK(coir_now() - f->then >= f->grace, "%s: one that does not end is cancelled after it", variant);
    }
    close(f->client);
} coir_end

/* ---- what cannot be served ---- */

struct refuses {
    coir_frame_void;
    coir_no_args;
    int fds, fd;
    struct coir_served served;
    struct coir_serve serve;
};
static coir_declare(refuses);

coir_body(refuses, f) {
    f->fds = open_fds();
    coir_await(f, &f->serve, coir_serve, .where = "nowhere", .handler = handler);
    EQ(coir_status(&f->serve), -EINVAL, "%s: no address", variant);
    EQ(coir_serve_count(&f->serve, 0, &f->served), -EINVAL, "%s: it does not serve", variant);
    coir_await(f, &f->serve, coir_serve, .where = "127.0.0.1:0");
    EQ(coir_status(&f->serve), -EINVAL, "%s: no handler", variant);
    f->fd = coir_listen("127.0.0.1:0", NULL);
    coir_await(f, &f->serve, coir_serve, .handler = NULL, .fd = f->fd);
    EQ(coir_status(&f->serve), -EINVAL, "%s: no handler, but a listener", variant);
    f->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    coir_await(f, &f->serve, coir_serve, .handler = handler, .fd = f->fd);
    EQ(coir_status(&f->serve), -EINVAL, "%s: a socket that does not listen", variant);
    coir_await(f, &f->serve, coir_serve, .handler = handler, .fd = -1);
    EQ(coir_status(&f->serve), -EBADF, "%s: no descriptor", variant);
    EQ(open_fds(), f->fds, "%s: nothing is left open", variant);
} coir_end

/* ---- counting from another shard, until it ends and after ---- */

static int counting;                     /* atomic: the handler has been called: it serves */
static int counts_made;                  /* atomic: by the other shard */

enum { COUNTS = 200 };

static struct coir_task *counted_handler(int fd, void *arg)
{
    __atomic_store_n(&counting, 1, __ATOMIC_SEQ_CST);
    return handler(fd, arg);
}

struct looker {
    coir_frame_void;
    coir_args(const struct coir_serve *look; bool *sane;);
    struct coir_served served;
    int err;
    struct coir_pass pass;
};
static coir_declare(looker);

coir_body(looker, f) {
    while (!__atomic_load_n(&counting, __ATOMIC_SEQ_CST))
        coir_await(f, &f->pass, coir_pass);
    *f->sane = true;
    for (f->err = 0; f->err == 0;) {
        for (int i = 0; i < 20 && (f->err = coir_serve_count(f->look, 1, &f->served)) == 0; i++) {
            *f->sane &= f->served.taken <= 1 && f->served.live <= 1 && f->served.failed + f->served.refused <= 1;
            __atomic_add_fetch(&counts_made, 1, __ATOMIC_RELAXED);
        }
        coir_await(f, &f->pass, coir_pass);
    }
    *f->sane &= f->err == -EINVAL;
} coir_end

struct elsewhere {
    coir_frame_void;
    coir_args(const struct coir_serve *look; bool *sane;);
    struct looker looker;
};
static coir_declare(elsewhere);

coir_body(elsewhere, f) {
    coir_await_on(f, 1, &f->looker, looker, .look = f->look, .sane = f->sane);
} coir_end

struct ender {
    coir_frame_void;
    coir_args(struct coir_scope *scope;);
    struct coir_sleep sleep;
};
static coir_declare(ender);

coir_body(ender, f) {
    while (AT(counts_made) < COUNTS)
        coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    coir_scope_cancel(f->scope);
} coir_end

struct counts {
    coir_frame_void;
    coir_no_args;
    int listener, client, round;
    bool sane;
    struct coir_served served;
    struct coir_group group;
    struct coir_scope scope;
    struct coir_serve serve;
    struct coir_group_wait wait;
};
static coir_declare(counts);

/* Another shard counts from the first connection on, through the end, until it is told that nothing serves. */
coir_body(counts, f) {
    for (f->round = 0; f->round < 10; f->round++) {
        reset();
        __atomic_store_n(&counting, 0, __ATOMIC_SEQ_CST);
        __atomic_store_n(&counts_made, 0, __ATOMIC_RELAXED);
        f->listener = coir_listen("127.0.0.1:0", NULL);
        f->client = client(port_of(f->listener));
        coir_group_open(f, &f->group);
        coir_spawn(&f->group, coir_new(elsewhere, .look = &f->serve, .sane = &f->sane));
        coir_spawn(&f->group, coir_new(ender, .scope = &f->scope));
        coir_within(f, &f->scope, COIR_NEVER, &f->serve, coir_serve, .handler = counted_handler, .arg = &made,
                    .fd = f->listener, .spread = COIR_SPREAD_ROUND_ROBIN);
        EQ(coir_status(&f->serve), -ECANCELED, "%s: cancelled", variant);
        EQ(coir_serve_count(&f->serve, 0, &f->served), -EINVAL, "%s: it does not serve any more", variant);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        OK(f->sane, "%s: another shard could count up to the end, and knows of it", variant);
        OK(AT(counts_made) >= COUNTS, "%s: and did", variant);
        close(f->client);
    }
} coir_end

/* ---- by name, and the end of the program ---- */

static char where[40];                   /* outlives the main task */

struct named {
    coir_frame_void;
    coir_args(const char *where;);
    struct coir_serve serve;
};
static coir_declare(named);

coir_body(named, f) {
    coir_try(f, &f->serve, coir_serve, .where = f->where, .handler = handler, .arg = &made,
             .spread = COIR_SPREAD_KERNEL);
} coir_end

struct stops {
    coir_frame_void;
    coir_no_args;
    int fd, i;
    union {
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_dial dial;
    };
};
static coir_declare(stops);

coir_body(stops, f) {
    reset();
    snprintf(where, sizeof where, "unix:@coir-serve-%d", (int)getpid());
    coir_detach(coir_new(named, .where = where));
    SETTLE(f);
    coir_get(f, f->fd, &f->dial, coir_dial, .where = where);
    UNTIL(f, AT(running) == 1);
    EQ(AT(running), 1, "%s: a Unix socket is served", variant);
    close(f->fd);
} coir_end

/* ---- a crowd on several shards ---- */

enum { CROWD = 300, THREADS = 3 };

static void *crowd(void *arg)
{
    const int port = *(int *)arg;
    long good = 0;

    for (int i = 0; i < CROWD; i++) {
        const int fd = client(port);
        good += fd >= 0 && says(fd, 'a') == 'a' && says(fd, 'b') == 'b';
        if (fd >= 0)
            close(fd);
    }
    return (void *)good;
}

struct many {
    coir_frame_void;
    coir_args(enum coir_spread spread; uint32_t limit;);
    int listener, port, status, i;
    long good;
    pthread_t threads[THREADS];
    struct coir_serve *look;
    struct coir_group group;
    union {
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_group_wait wait;
    };
};
static coir_declare(many);

coir_body(many, f) {
    f->listener = coir_listen("127.0.0.1:0", &(struct coir_listen_options){ .reuse_port = true });
    f->port = port_of(f->listener);
    reset();
    f->look = NULL;
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(server, .fd = f->listener, .spread = f->spread, .limit = f->limit,
                                   .status = &f->status, .look = &f->look));
    SETTLE(f);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&f->threads[i], NULL, crowd, &f->port);
    f->i = 0;
    while (f->i++ < 3000 && (SUM(f->look, taken) < CROWD * THREADS || SUM(f->look, live)))
        coir_await(f, &f->sleep, coir_sleep, .ns = 10 * COIR_MS);
    f->good = 0;
    for (int i = 0; i < THREADS; i++) {
        void *good;
        pthread_join(f->threads[i], &good);
        f->good += (long)good;
    }
    EQ(f->good, CROWD * THREADS, "%s: a crowd is served", variant);
    EQ(SUM(f->look, taken), CROWD * THREADS, "%s: and counted", variant);
    EQ(SUM(f->look, failed) + SUM(f->look, refused), 0, "%s: nobody failed", variant);
    if (f->limit)
        OK(AT(most) <= (int)f->limit, "%s: within the limit (%d)", variant, AT(most));
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, -ECANCELED, "%s: cancelled", variant);
} coir_end

/* ---- without memory ---- */

#ifdef COIR_FAULTS
struct faults {
    coir_frame_void;
    coir_args(int nth;);
    int fds, listener, clients[3];
    struct coir_scope scope;
    struct coir_serve serve;
};
static coir_declare(faults);

/* The nth allocation of the shard fails: the server ends with -ENOMEM or serves those it can, and loses nothing. */
coir_body(faults, f) {
    reset();
    f->fds = open_fds();
    f->listener = coir_listen("127.0.0.1:0", NULL);
    for (int i = 0; i < 3; i++)
        f->clients[i] = client(port_of(f->listener));
    coir_fail_alloc_at = f->nth;
    coir_within(f, &f->scope, coir_now() + 3 * COIR_MS, &f->serve, coir_serve, .handler = handler, .arg = &made,
                .fd = f->listener, .limit = 2);
    coir_fail_alloc_at = 0;
    OK(coir_status(&f->serve) == -ETIMEDOUT || coir_status(&f->serve) == -ENOMEM, "%s: allocation %d fails (%d)",
       variant, f->nth, coir_status(&f->serve));
    for (int i = 0; i < 3; i++)
        close(f->clients[i]);
    EQ(AT(running), 0, "%s: no connection is left", variant);
    EQ(open_fds(), f->fds, "%s: nothing is left open", variant);
} coir_end
#endif

/* ---- all of it ---- */

static void run(const char *what, unsigned shards, struct coir_task *t)
{
    const struct coir_options o = { .shards = shards, .unpinned = true };
    static char name[80];

    snprintf(name, sizeof name, "%s on %u", what, shards);
    variant = name;
    EQ(coir_run(&o, t), 0, "%s ends", name);
}

int main(void)
{
    run("refuses", 1, coir_new(refuses));
#ifdef COIR_FAULTS
    for (int n = 1; n <= 24; n++)
        run("faults", 1, coir_new(faults, .nth = n));
#endif
    run("serves", 1, coir_new(serves));
    run("limits", 1, coir_new(limits));
    run("no grace", 1, coir_new(graces));
    run("grace", 1, coir_new(graces, .grace = 60 * COIR_MS));
    run("grace that is used", 1, coir_new(graces, .grace = 60 * COIR_S, .finishes = true));
    for (unsigned n = 1; n <= 3; n += 2)
        run("stops", n, coir_new(stops));
    for (unsigned n = 2; n <= 4; n += 2) {
        run("round robin", n, coir_new(serves, .spread = COIR_SPREAD_ROUND_ROBIN));
        run("least", n, coir_new(serves, .spread = COIR_SPREAD_LEAST));
        run("kernel", n, coir_new(serves, .spread = COIR_SPREAD_KERNEL, .shared = true));
        run("kernel, not shared", n, coir_new(serves, .spread = COIR_SPREAD_KERNEL));
        run("limits, round robin", n, coir_new(limits, .spread = COIR_SPREAD_ROUND_ROBIN));
        run("limits, least", n, coir_new(limits, .spread = COIR_SPREAD_LEAST));
        run("refuses", n, coir_new(refuses));
        run("counts", n, coir_new(counts));
        run("crowd, kernel", n, coir_new(many, .spread = COIR_SPREAD_KERNEL));
        run("crowd, round robin", n, coir_new(many, .spread = COIR_SPREAD_ROUND_ROBIN));
        run("crowd, least, limited", n, coir_new(many, .spread = COIR_SPREAD_LEAST, .limit = 1));
    }
    return DONE();
}
