/* SPDX-License-Identifier: MIT */
/*
 * Names, and dialling: what is found, what is refused, which address wins and what becomes of the others, and
 * cancelling at every point, without a socket left behind.
 */
#include "ops/net.h"
#include "runtime/ops/dial.h"

static char path[sizeof ((struct sockaddr_un *)0)->sun_path];

/* ---- names ---- */

struct names {
    coir_frame_void;
    coir_no_args;
    struct sockaddr_storage at[8];
    size_t n;
    char text[COIR_ADDRESS_TEXT];
    struct coir_resolve resolve;
    struct coir_scope scope;
    uint64_t messages;
    struct coir_stats stats;
};
static coir_declare(names);

#define RESOLVE(...) coir_await(f, &f->resolve, coir_resolve, __VA_ARGS__)

static void *here(void)
{
    char *volatile p = __builtin_frame_address(0);

    return p - 64;
}

coir_body(names, f) {
    coir_stats(0, &f->stats);
    f->messages = f->stats.messages;
    RESOLVE(.host = "127.0.0.1", .service = "80", .addrs = f->at, .max = 8);
    EQ(coir_status(&f->resolve), 0, "a number");
    EQ(f->resolve.result, 1, "is one address");
    STR_EQ(coir_address_text(f->at, sizeof *f->at, f->text, sizeof f->text), "127.0.0.1:80", "that one");
    RESOLVE(.host = "::1", .service = "443", .addrs = f->at, .max = 8);
    EQ(coir_status(&f->resolve), 0, "a number of IPv6");
    STR_EQ(coir_address_text(f->at, sizeof *f->at, f->text, sizeof f->text), "[::1]:443", "that one");
    RESOLVE(.host = NULL, .service = "7", .family = AF_INET, .addrs = f->at, .max = 8);
    EQ(coir_status(&f->resolve), 0, "no host");
    STR_EQ(coir_address_text(f->at, sizeof *f->at, f->text, sizeof f->text), "127.0.0.1:7", "is this machine");
    coir_within(f, &f->scope, coir_now() - 1, &f->resolve, coir_resolve, .host = "127.0.0.1", .service = "1",
                .addrs = f->at, .max = 1);
    EQ(coir_status(&f->resolve), 0, "a number needs no waiting: a cancelled scope has it");
    coir_stats(0, &f->stats);
    EQ(f->stats.messages, f->messages, "for all that no thread was asked");

    RESOLVE(.host = "localhost", .service = "80", .family = AF_INET, .addrs = f->at, .max = 8);
    EQ(coir_status(&f->resolve), 0, "a name");
    STR_EQ(coir_address_text(f->at, sizeof *f->at, f->text, sizeof f->text), "127.0.0.1:80", "its address");
    coir_stats(0, &f->stats);
    EQ(f->stats.messages, f->messages + 1, "a thread has looked it up");
    RESOLVE(.host = "127.0.0.1", .service = "http", .addrs = f->at, .max = 8);
    if (coir_status(&f->resolve) == -EINVAL || coir_status(&f->resolve) == -ENOENT)
        SKIP("there is no service http in /etc/services");
    else
        STR_EQ(coir_address_text(f->at, sizeof *f->at, f->text, sizeof f->text), "127.0.0.1:80", "a service by name");
    RESOLVE(.host = "localhost", .service = "80", .addrs = f->at, .max = 1);
    EQ(f->resolve.result, 1, "no more than there is room for");

    RESOLVE(.host = "no such name", .service = "80", .addrs = f->at, .max = 8);
    OK(coir_status(&f->resolve) == -ENOENT || coir_status(&f->resolve) == -EAGAIN, "a name that is none: %s",
       coir_strerror(coir_status(&f->resolve)));
    RESOLVE(.host = "::1", .service = "80", .family = AF_INET, .addrs = f->at, .max = 8);
    EQ(coir_status(&f->resolve), -ENOENT, "no address of that family");
    RESOLVE(.host = "::1", .service = "80", .family = AF_UNIX, .addrs = f->at, .max = 8);
    EQ(coir_status(&f->resolve), -EAFNOSUPPORT, "no such family");
    RESOLVE(.host = "127.0.0.1", .service = "no such service", .addrs = f->at, .max = 8);
    EQ(coir_status(&f->resolve), -EINVAL, "no such service");
    RESOLVE(.host = "localhost", .service = "80", .addrs = f->at, .max = 0);
    EQ(coir_status(&f->resolve), -EINVAL, "no room");
    RESOLVE(.host = "localhost", .service = "80", .addrs = NULL, .max = 8);
    EQ(coir_status(&f->resolve), -EFAULT, "NULL");
    RESOLVE(.addrs = f->at, .max = 8);
    EQ(coir_status(&f->resolve), -EINVAL, "nothing to look up");
    RESOLVE(.host = here(), .service = "80", .addrs = f->at, .max = 8);
    EQ(coir_status(&f->resolve), -EFAULT, "a name on the stack");
    RESOLVE(.host = "localhost", .service = here(), .addrs = f->at, .max = 8);
    EQ(coir_status(&f->resolve), -EFAULT, "a service on the stack");
    RESOLVE(.host = "localhost", .service = "80", .addrs = here(), .max = 1);
    EQ(coir_status(&f->resolve), -EFAULT, "addresses on the stack");

    RESOLVE(.host = "127.0.0.1", .service = "65535", .addrs = f->at, .max = 8);
    EQ(coir_status(&f->resolve), 0, "the largest port");
    RESOLVE(.host = "127.0.0.1", .service = "65536", .addrs = f->at, .max = 8);
    EQ(coir_status(&f->resolve), -EINVAL, "a number that is no port");
    RESOLVE(.host = "localhost", .service = "-1", .addrs = f->at, .max = 8);
    EQ(coir_status(&f->resolve), -EINVAL, "nor is one with a sign");

    coir_within(f, &f->scope, coir_now() - 1, &f->resolve, coir_resolve, .host = "localhost", .service = "80",
                .addrs = f->at, .max = 8);
    EQ(coir_status(&f->resolve), -ETIMEDOUT, "before: a name is not looked up");
    coir_within(f, &f->scope, coir_now() + 20000, &f->resolve, coir_resolve, .host = "localhost", .service = "80",
                .addrs = f->at, .max = 8);
    OK(coir_status(&f->resolve) == 0 || coir_status(&f->resolve) == -ETIMEDOUT, "during: what is found wins");
} coir_end

/* Many at once, more than the pool has threads, cancelled in the middle. */
struct one_name {
    coir_frame_void;
    coir_args(int *ended; int *found;);
    struct sockaddr_storage at[4];
    struct coir_resolve resolve;
};
static coir_declare(one_name);

coir_body(one_name, f) {
    RESOLVE(.host = "localhost", .service = "80", .addrs = f->at, .max = 4);
    ++*f->ended;
    *f->found += coir_status(&f->resolve) == 0;
    if (coir_status(&f->resolve) != 0 && coir_status(&f->resolve) != -ECANCELED)
        coir_fail(f, coir_status(&f->resolve));
} coir_end

struct crowd {
    coir_frame_void;
    coir_args(bool cancel;);
    int ended, found;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_pass pass;
};
static coir_declare(crowd);

enum { CROWD = 100 };

coir_body(crowd, f) {
    f->ended = f->found = 0;
    coir_group_open(f, &f->group);
    for (int i = 0; i < CROWD; i++)
        EQ(coir_spawn(&f->group, coir_new(one_name, .ended = &f->ended, .found = &f->found)), 0, "spawned");
    coir_await(f, &f->pass, coir_pass);
    coir_await(f, &f->pass, coir_pass);
    if (f->cancel)
        coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), 0, "a crowd of names");
    EQ(f->ended, CROWD, "all have ended");
    if (!f->cancel)
        EQ(f->found, CROWD, "and been found");
} coir_end

/* ---- dialling ---- */

static int listener_at(int family, int port, int *got)
{
    struct sockaddr_storage at;
    struct sockaddr_in *in = (struct sockaddr_in *)&at;
    char text[64];
    const int one = 1;
    socklen_t len = sizeof at;
    int fd;

    snprintf(text, sizeof text, family == AF_INET ? "127.0.0.1:%d" : "[::1]:%d", port);
    if (coir_address(text, &at) < 0 || (fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&at, coir_address_len(&at)) < 0 || listen(fd, 8) < 0) {
        close(fd);
        return -1;
    }
    MUST(getsockname(fd, (struct sockaddr *)&at, &len));
    *got = ntohs(in->sin_port);              /* at the same place in both */
    return fd;
}

static bool has_nodelay(int fd)
{
    int one = 0;

    return getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, &(socklen_t){ sizeof one }) == 0 && one;
}

static int family_of(int fd)
{
    struct sockaddr_storage at = { .ss_family = 0 };

    getpeername(fd, (struct sockaddr *)&at, &(socklen_t){ sizeof at });
    return at.ss_family;
}

struct dials {
    coir_frame_void;
    coir_no_args;
    int listener, port, fd;
    char where[128];
    struct coir_dial dial;
    struct coir_scope scope;
};
static coir_declare(dials);

#define DIAL(w) coir_await(f, &f->dial, coir_dial, .where = (w))

coir_body(dials, f) {
    f->listener = listener_at(AF_INET, 0, &f->port);
    snprintf(f->where, sizeof f->where, "127.0.0.1:%d", f->port);
    DIAL(f->where);
    EQ(coir_status(&f->dial), 0, "IPv4");
    OK(has_nodelay(f->dial.result), "TCP_NODELAY is set");
    OK(fcntl(f->dial.result, F_GETFD) & FD_CLOEXEC, "close-on-exec");
    close(f->dial.result);
    snprintf(f->where, sizeof f->where, "localhost:%d", f->port);
    DIAL(f->where);
    EQ(coir_status(&f->dial), 0, "by name, also where only IPv4 listens");
    EQ(family_of(f->dial.result), AF_INET, "there");
    close(f->dial.result);
    coir_within(f, &f->scope, coir_now() - 1, &f->dial, coir_dial, .where = f->where);
    EQ(coir_status(&f->dial), -ETIMEDOUT, "before: a name");
    close(f->listener);
    snprintf(f->where, sizeof f->where, "127.0.0.1:%d", f->port);
    DIAL(f->where);
    EQ(coir_status(&f->dial), -ECONNREFUSED, "nobody listens any more");

    f->listener = listener_at(AF_INET6, 0, &f->port);
    if (f->listener < 0) {
        SKIP("there is no ::1");
    } else {
        snprintf(f->where, sizeof f->where, "[::1]:%d", f->port);
        DIAL(f->where);
        EQ(coir_status(&f->dial), 0, "IPv6");
        EQ(family_of(f->dial.result), AF_INET6, "there");
        close(f->dial.result);
        close(f->listener);
    }
} coir_end

struct dials_unix {
    coir_frame_void;
    coir_no_args;
    int listener;
    char where[128];
    struct coir_dial dial;
    struct coir_scope scope;
    struct sockaddr_un un;
    struct sockaddr_storage at;
};
static coir_declare(dials_unix);

coir_body(dials_unix, f) {
    f->un = (struct sockaddr_un){ .sun_family = AF_UNIX };
    snprintf(f->un.sun_path, sizeof f->un.sun_path, "%s", path);
    f->listener = MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    MUST(bind(f->listener, (struct sockaddr *)&f->un, sizeof f->un));
    snprintf(f->where, sizeof f->where, "unix:%s", path);
    DIAL(f->where);
    EQ(coir_status(&f->dial), -ECONNREFUSED, "a path where nobody listens");
    MUST(listen(f->listener, 8));
    DIAL(f->where);
    EQ(coir_status(&f->dial), 0, "a path");
    EQ(family_of(f->dial.result), AF_UNIX, "there");
    close(f->dial.result);
    coir_within(f, &f->scope, coir_now() - 1, &f->dial, coir_dial, .where = f->where);
    EQ(coir_status(&f->dial), 0, "before: what connects without waiting is connected");
    close(f->dial.result);
    close(f->listener);
    unlink(path);
    DIAL(f->where);
    EQ(coir_status(&f->dial), -ENOENT, "a path that is gone");
    f->listener = MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    snprintf(f->where, sizeof f->where, "unix:@coir-dial-%d", (int)getpid());
    MUST(bind(f->listener, (struct sockaddr *)&f->at, (socklen_t)MUST(coir_address(f->where, &f->at))));
    MUST(listen(f->listener, 8));
    DIAL(f->where);
    EQ(coir_status(&f->dial), 0, "an abstract name");
    close(f->dial.result);
    close(f->listener);
} coir_end

struct misdials {
    coir_frame_void;
    coir_no_args;
    char where[128], name[300];
    struct coir_dial dial;
};
static coir_declare(misdials);

coir_body(misdials, f) {
    DIAL(NULL);
    EQ(coir_status(&f->dial), -EFAULT, "NULL");
    DIAL(here());
    EQ(coir_status(&f->dial), -EFAULT, "on the stack");
    DIAL("");
    EQ(coir_status(&f->dial), -EINVAL, "nothing");
    DIAL("localhost");
    EQ(coir_status(&f->dial), -EINVAL, "no port");
    DIAL("::1:80");
    EQ(coir_status(&f->dial), -EINVAL, "IPv6 without brackets");
    DIAL("unix:");
    EQ(coir_status(&f->dial), -EINVAL, "no path");
    memset(f->where, 'x', sizeof f->where);
    memcpy(f->where, "unix:", 5);
    f->where[sizeof f->where - 1] = '\0';
    DIAL(f->where);
    EQ(coir_status(&f->dial), -ENAMETOOLONG, "a long path");
    memset(f->name, 'x', sizeof f->name);
    snprintf(f->name + sizeof f->name - 4, 4, ":80");
    DIAL(f->name);
    EQ(coir_status(&f->dial), -ENAMETOOLONG, "a long name");
    DIAL("no such name:80");
    OK(coir_status(&f->dial) == -ENOENT || coir_status(&f->dial) == -EAGAIN, "a name that is none");
    DIAL("localhost:no such service");
    EQ(coir_status(&f->dial), -EINVAL, "a service that is none");
} coir_end

/* ---- happy eyeballs ---- */

/* A listener that answers nobody: its backlog is full. */
struct silent {
    struct sockaddr_storage at;
    int listener, client[16], n;
};

static void be_silent(struct silent *s)
{
    memset(s, 0, sizeof *s);
    s->listener = tcp_listener((struct sockaddr_in *)&s->at, 0);
    while (s->n < 16) {
        struct pollfd p = { .events = POLLOUT };
        s->client[s->n++] = p.fd = MUST(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (connect(p.fd, (struct sockaddr *)&s->at, sizeof(struct sockaddr_in)) == 0 || errno != EINPROGRESS)
            abort();
        if (poll(&p, 1, 50) == 0)
            return;
    }
    abort();
}

static void speak(struct silent *s)
{
    while (s->n > 0)
        close(s->client[--s->n]);
    close(accept4(s->listener, NULL, NULL, SOCK_CLOEXEC));
}

static void gone(struct silent *s)
{
    while (s->n > 0)
        close(s->client[--s->n]);
    close(s->listener);
}

struct eyeballs {
    coir_frame_void;
    coir_no_args;
    struct sockaddr_storage at[4];
    struct silent silent[2];
    int listener, dead, port;
    struct coir_dial_any any;
    struct coir_scope scope;
};
static coir_declare(eyeballs);

#define LONG (1000 * COIR_S)             /* nobody waits for that */
#define ANY(count, ns) coir_await(f, &f->any, coir_dial_any, .addrs = f->at, .n = (count), .delay = (ns))

static int port_of(int fd)
{
    struct sockaddr_in at = { .sin_port = 0 };

    getpeername(fd, (struct sockaddr *)&at, &(socklen_t){ sizeof at });
    return ntohs(at.sin_port);
}

coir_body(eyeballs, f) {
    memset(f->at, 0, sizeof f->at);
    f->listener = listener_at(AF_INET, 0, &f->port);
    f->dead = tcp_dead_port((struct sockaddr_in *)&f->at[0]);
    MUST(getsockname(f->listener, (struct sockaddr *)&f->at[1], &(socklen_t){ sizeof f->at[1] }));
    ANY(2, LONG);
    EQ(coir_status(&f->any), 0, "the first is refused: the second is tried at once");
    EQ(port_of(f->any.result), f->port, "and has it");
    close(f->any.result);
    f->at[2] = f->at[1];
    f->at[1] = f->at[0];
    ANY(3, LONG);
    EQ(coir_status(&f->any), 0, "two are refused");
    close(f->any.result);
    ANY(2, LONG);
    EQ(coir_status(&f->any), -ECONNREFUSED, "all are refused");
    f->at[1].ss_family = AF_UNSPEC;
    ANY(3, LONG);
    EQ(coir_status(&f->any), 0, "one that is no address at all");
    close(f->any.result);
    f->at[0].ss_family = AF_UNSPEC;
    ANY(2, LONG);
    EQ(coir_status(&f->any), -EAFNOSUPPORT, "none that is one");
    f->at[1].ss_family = AF_INET;
    ANY(2, LONG);
    EQ(coir_status(&f->any), -ECONNREFUSED, "what says more is said");
    ANY(0, LONG);
    EQ(coir_status(&f->any), -EINVAL, "no address");

    be_silent(&f->silent[0]);
    be_silent(&f->silent[1]);
    f->at[0] = f->silent[0].at;
    f->at[1] = f->at[2];
    ANY(2, 3 * COIR_MS);
    EQ(coir_status(&f->any), 0, "the first says nothing: the second is tried after the delay");
    EQ(port_of(f->any.result), f->port, "and has it");
    close(f->any.result);
    f->at[1] = f->silent[1].at;
    ANY(3, 2 * COIR_MS);
    EQ(coir_status(&f->any), 0, "two say nothing");
    EQ(port_of(f->any.result), f->port, "the third has it");
    close(f->any.result);
    coir_within(f, &f->scope, coir_now() + 10 * COIR_MS, &f->any, coir_dial_any, .addrs = f->at, .n = 2,
                .delay = 2 * COIR_MS);
    EQ(coir_status(&f->any), -ETIMEDOUT, "cancelled while two attempts go on");
    coir_within(f, &f->scope, coir_now() + 3 * COIR_MS, &f->any, coir_dial_any, .addrs = f->at, .n = 3, .delay = LONG);
    EQ(coir_status(&f->any), -ETIMEDOUT, "cancelled before the delay is over");
    coir_within(f, &f->scope, coir_now() - 1, &f->any, coir_dial_any, .addrs = f->at, .n = 3, .delay = LONG);
    EQ(coir_status(&f->any), -ETIMEDOUT, "cancelled before it began");
    f->at[1] = f->at[2];
    f->at[0] = f->at[2];
    ANY(3, 1);
    EQ(coir_status(&f->any), 0, "three that answer: one has it, the others are closed");
    close(f->any.result);
    gone(&f->silent[0]);
    gone(&f->silent[1]);
    close(f->listener);
    close(f->dead);
} coir_end

/* The first address begins to answer after the second has been asked, which never does. */
struct late {
    coir_frame(int);
    coir_args(const struct sockaddr_storage *addrs; int *status;);
    struct coir_dial_any any;
};
static coir_declare(late);

coir_body(late, f) {
    coir_await(f, &f->any, coir_dial_any, .addrs = f->addrs, .n = 2, .delay = COIR_MS);
    *f->status = coir_status(&f->any);
    if (*f->status == 0)
        close(f->any.result);
} coir_end

struct changes {
    coir_frame_void;
    coir_no_args;
    struct sockaddr_storage at[2];
    struct silent silent[2];
    int status;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_sleep sleep;
};
static coir_declare(changes);

coir_body(changes, f) {
    be_silent(&f->silent[0]);
    be_silent(&f->silent[1]);
    f->at[0] = f->silent[0].at;
    f->at[1] = f->silent[1].at;
    coir_group_open(f, &f->group);
    EQ(coir_spawn(&f->group, coir_new(late, .addrs = f->at, .status = &f->status)), 0, "spawned");
    coir_await(f, &f->sleep, coir_sleep, .ns = 8 * COIR_MS);
    speak(&f->silent[0]);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, 0, "the first answers when the second has been asked: it has it");
    gone(&f->silent[0]);
    gone(&f->silent[1]);
} coir_end

/* Deadlines at every distance: a socket, or none. */
struct storm {
    coir_frame_void;
    coir_no_args;
    int listener, port, i, won, lost, other;
    char where[64];
    struct coir_dial dial;
    struct coir_scope scope;
};
static coir_declare(storm);

coir_body(storm, f) {
    f->listener = listener_at(AF_INET, 0, &f->port);
    MUST(listen(f->listener, 512));
    f->won = f->lost = f->other = 0;
    for (f->i = 0; f->i < 200; f->i++) {
        snprintf(f->where, sizeof f->where, f->i % 2 ? "localhost:%d" : "127.0.0.1:%d", f->port);
        coir_within(f, &f->scope, coir_now() + f->i * 3000, &f->dial, coir_dial, .where = f->where);
        if (coir_status(&f->dial) == 0) {
            f->won++;
            close(f->dial.result);
        } else if (coir_status(&f->dial) == -ETIMEDOUT) {
            f->lost++;
        } else {
            f->other++;
        }
    }
    EQ(f->won + f->lost, 200, "a storm of deadlines: connected, or in time");
    EQ(f->other, 0, "and nothing else");
    close(f->listener);
} coir_end

int main(void)
{
    snprintf(path, sizeof path, "/tmp/coir-dial-%d", (int)getpid());
    RUN(coir_new(names), "names");
    RUN(coir_new(crowd), "a crowd");
    RUN(coir_new(crowd, .cancel = true), "a crowd that is cancelled");
    RUN(coir_new(dials), "dials");
    RUN(coir_new(dials_unix), "dials Unix sockets");
    RUN(coir_new(misdials), "misdials");
    RUN(coir_new(eyeballs), "happy eyeballs");
    RUN(coir_new(changes), "changes");
    RUN(coir_new(storm), "storm");
    return DONE();
}
