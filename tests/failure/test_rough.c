/* SPDX-License-Identifier: MIT */
/*
 * Peers and limits as they are in bad weather: a reader that takes a long send a few bytes at a time, or goes away in
 * the middle of it; thousands of clients that connect and vanish, some with a word, some rudely; RLIMIT_NOFILE
 * lowered while the program runs.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#include "../ops/net.h"

enum { LONG_SEND = 3 << 20 };

/* ---- a slow reader ---- */

struct slow {
    pthread_t thread;
    int fd;
    size_t until;                    /* then it closes, rudely when that is before the end */
    size_t got;
    bool good;
};

static void *read_slowly(void *arg)
{
    struct slow *const s = arg;
    static unsigned char buf[1 << 16];
    const struct timespec pause = { 0, 200000 };
    size_t piece = 7;
    ssize_t n;

    s->good = true;
    while (s->got < s->until && (n = read(s->fd, buf, piece)) > 0) {
        s->good &= is_pattern(buf, s->got, (size_t)n);
        s->got += (size_t)n;
        if (piece < 40000)
            nanosleep(&pause, NULL);
        piece = piece * 5 / 4 + 1 < sizeof buf ? piece * 5 / 4 + 1 : sizeof buf;
    }
    if (s->until < LONG_SEND)
        close_rudely(s->fd);
    else
        close(s->fd);
    return NULL;
}

struct sends {
    coir_frame_void;
    coir_args(enum kind kind; size_t until; bool vectored;);
    int fd[2];
    unsigned char *data;
    struct slow slow;
    struct coir_send_all send;
    struct coir_write_all write;
    struct coir_close close;
};
static coir_declare(sends);

coir_body(sends, f) {
    make_pair(f->kind, f->fd);
    make_narrow(f->kind, f->fd);
    MUST(fcntl(f->fd[1], F_SETFL, O_RDWR));      /* the reader blocks */
    f->data = malloc(LONG_SEND);
    for (size_t i = 0; i < LONG_SEND; i++)
        f->data[i] = pattern(i);
    f->slow = (struct slow){ .fd = f->fd[1], .until = f->until };
    MUST(-pthread_create(&f->slow.thread, NULL, read_slowly, &f->slow));
    if (f->vectored) {
        coir_await(f, &f->write, coir_write_all, .fd = f->fd[0], .buf = f->data, .len = LONG_SEND);
        f->send.task.status = coir_status(&f->write);
        f->send.result = f->write.result;
    } else {
        coir_await(f, &f->send, coir_send_all, .fd = f->fd[0], .buf = f->data, .len = LONG_SEND);
    }
    coir_await(f, &f->close, coir_close, .fd = f->fd[0]);
    pthread_join(f->slow.thread, NULL);
    OK(f->slow.good, "%s: the reader got the bytes in order", kind_names[f->kind]);
    if (f->until == LONG_SEND) {
        EQ(coir_status(&f->send), 0, "%s: all of a long send", kind_names[f->kind]);
        EQ(f->send.result, LONG_SEND, "%s: is counted", kind_names[f->kind]);
        EQ(f->slow.got, LONG_SEND, "%s: and arrived", kind_names[f->kind]);
    } else {
        OK(coir_status(&f->send) == -ECONNRESET || coir_status(&f->send) == -EPIPE, "%s: the reader has gone: %s",
           kind_names[f->kind], coir_strerror(coir_status(&f->send)));
        OK(f->send.result >= f->slow.got && f->send.result < LONG_SEND, "%s: what was sent is counted",
           kind_names[f->kind]);
    }
    free(f->data);
} coir_end

/* ---- clients that vanish ---- */

struct echo {
    coir_frame_void;
    coir_args(int fd;);
    char buf[64];
    size_t n;
    union {
        struct coir_recv recv;
        struct coir_send_all send;
        struct coir_close close;
    };
};
static coir_declare(echo);
coir_body(echo, f) {
    for (;;) {
        coir_get(f, f->n, &f->recv, coir_recv, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf);
        if (f->n == 0)
            break;
        coir_try(f, &f->send, coir_send_all, .fd = f->fd, .buf = f->buf, .len = f->n);
    }
    coir_finally(f) {
        coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end

static int clients;

struct crowd {
    pthread_t thread;
    struct sockaddr_in at;
    int failed;
};

static void *vanish(void *arg)
{
    struct crowd *const c = arg;

    for (int i = 0; i < clients; i++) {
        const int fd = MUST(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        char back[4];

        if (connect(fd, (struct sockaddr *)&c->at, sizeof c->at) < 0)
            c->failed++;
        else if (i % 4 == 1 && send(fd, "word", 4, MSG_NOSIGNAL) != 4)
            c->failed++;
        else if (i % 4 == 2 && (send(fd, "ping", 4, MSG_NOSIGNAL) != 4 || recv(fd, back, 4, MSG_WAITALL) != 4))
            c->failed++;
        if (i % 2)
            close_rudely(fd);
        else
            close(fd);
    }
    return NULL;
}

struct server {
    coir_frame_void;
    coir_args(int listener;);
    int fd;
    struct coir_accept accept;
    struct coir_close close;
};
static coir_declare(server);
coir_body(server, f) {
    for (;;) {
        coir_get(f, f->fd, &f->accept, coir_accept, .fd = f->listener);
        if (coir_detach(coir_new(echo, .fd = f->fd)) < 0)
            coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end

struct vanishing {
    coir_frame_void;
    coir_no_args;
    int listener, before;
    struct crowd crowds[2];
    struct coir_stats stats;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_sleep sleep;
    struct coir_close close;
    int64_t until;
    bool joined;
};
static coir_declare(vanishing);

static void start_crowds(struct vanishing *f)
{
    for (int i = 0; i < 2; i++) {
        socklen_t len = sizeof f->crowds[i].at;
        MUST(getsockname(f->listener, (struct sockaddr *)&f->crowds[i].at, &len));
        f->crowds[i].failed = 0;
        MUST(-pthread_create(&f->crowds[i].thread, NULL, vanish, &f->crowds[i]));
    }
}

coir_body(vanishing, f) {
    f->listener = tcp_listener(&f->crowds[0].at, 128);
    f->before = count_fds();
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(server, .listener = f->listener));
    start_crowds(f);
    do {
        coir_await(f, &f->sleep, coir_sleep, .ns = 20 * COIR_MS);
        coir_stats(0, &f->stats);
    } while (f->stats.accepts < 2u * (unsigned)clients && f->stats.turns < 100000000);
    for (int i = 0; i < 2; i++) {
        pthread_join(f->crowds[i].thread, NULL);
        EQ(f->crowds[i].failed, 0, "every client got what it wanted");
    }
    EQ(f->stats.accepts, 2 * clients, "every connection was accepted");
    while (f->stats.ended + 2 < f->stats.tasks) {        /* all but this one and the server */
        coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
        coir_stats(0, &f->stats);
    }
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(count_fds(), f->before, "no connection is left");
    coir_await(f, &f->close, coir_close, .fd = f->listener);
} coir_end

/* ---- no more descriptors ---- */

static void limit(rlim_t n)
{
    struct rlimit r;

    MUST(getrlimit(RLIMIT_NOFILE, &r));
    r.rlim_cur = n;
    MUST(setrlimit(RLIMIT_NOFILE, &r));
}

struct poor {
    coir_frame_void;
    coir_no_args;
    int fds[2], pipe[2];
    char c;
    struct rlimit before;
    struct coir_open open;
    struct coir_socket socket;
    struct coir_dial dial;
    struct coir_send send;
    struct coir_recv recv;
    struct coir_pread pread;
    struct coir_statx statx;
    struct coir_close close;
    char stat[512];
};
static coir_declare(poor);

coir_body(poor, f) {
    make_pair(UNIX_BLOCKING, f->fds);
    MUST(getrlimit(RLIMIT_NOFILE, &f->before));
    limit(3);
    coir_await(f, &f->open, coir_open, .path = "/dev/null", .flags = O_RDONLY);
    EQ(coir_status(&f->open), -EMFILE, "no file can be opened");
    coir_await(f, &f->socket, coir_socket, .domain = AF_UNIX, .type = SOCK_STREAM);
    EQ(coir_status(&f->socket), -EMFILE, "no socket made");
    coir_await(f, &f->dial, coir_dial, .where = "127.0.0.1:1");
    EQ(coir_status(&f->dial), -EMFILE, "nobody called");
    EQ(coir_pipe(f->pipe), -EMFILE, "no pipe made");
    EQ(coir_listen("127.0.0.1:0", NULL), -EMFILE, "no listener");
    coir_await(f, &f->send, coir_send, .fd = f->fds[0], .buf = "x", .len = 1);
    EQ(coir_status(&f->send), 0, "what is open goes on: a send");
    coir_await(f, &f->recv, coir_recv, .fd = f->fds[1], .buf = &f->c, .len = 1);
    EQ(coir_status(&f->recv), 0, "and a receive");
    coir_await(f, &f->statx, coir_statx, .dirfd = AT_FDCWD, .path = "/", .mask = STATX_SIZE,
               .statxbuf = (void *)f->stat);
    EQ(coir_status(&f->statx), 0, "and what needs none");
    MUST(setrlimit(RLIMIT_NOFILE, &f->before));
    coir_await(f, &f->open, coir_open, .path = "/dev/null", .flags = O_RDONLY);
    EQ(coir_status(&f->open), 0, "later it can again");
    coir_await(f, &f->close, coir_close, .fd = f->open.result);
    close(f->fds[0]);
    close(f->fds[1]);
} coir_end

int main(void)
{
    clients = getenv("COIR_TEST_LONG") ? 5000 : 500;
    alarm(getenv("COIR_TEST_LONG") ? 300 : 60);
    for (int kind = 0; kind < KINDS; kind++) {
        RUN(coir_new(sends, .kind = (enum kind)kind, .until = LONG_SEND), "a slow reader");
        RUN(coir_new(sends, .kind = (enum kind)kind, .until = LONG_SEND, .vectored = true), "a slow reader, written");
        RUN(coir_new(sends, .kind = (enum kind)kind, .until = 100000), "a reader that goes");
    }
    RUN(coir_new(vanishing), "clients that vanish");
    RUN(coir_new(poor), "RLIMIT_NOFILE lowered");
    return DONE();
}
