/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that are closed behind coir's back, by close(2), while nothing waits on them, and whose numbers become
 * other files; with a dup(2) that keeps the old file alive, too. Nothing may hang, and nothing may take from, or
 * speak for, the file that the number no longer is. And completions of operations that are over: counted, dropped.
 */
#include <signal.h>

#include "../ops/net.h"
#include "runtime/plane/uring.h"

static void put(int fd, const char *text)
{
    MUST((int)write(fd, text, strlen(text)));
}

/* `to` becomes the number of the file of `from`, whose own number goes. What was `to` is closed by that, or not at
 * all when it was duplicated. */
static void becomes(int *from, int to)
{
    MUST(close(to));
    MUST(dup2(*from, to));
    MUST(close(*from));
    *from = -1;
}

enum what { SOCKETS, TCPS, PIPES, WHATS };
static const char *const whats[] = { "sockets", "TCP", "pipes" };

/* fds[0] is read, fds[1] written. */
static void make(enum what what, int fds[2])
{
    if (what == PIPES)
        MUST(pipe2(fds, O_CLOEXEC));
    else
        make_pair(what == TCPS ? TCP_BLOCKING : UNIX_BLOCKING, fds);
}

/* Reads once, waiting; then the number is another file. */
struct reader {
    coir_frame(size_t);
    coir_args(int fd; char *buf; bool by_recv;);
    union {
        struct coir_read read;
        struct coir_recv recv;
    };
};
static coir_declare(reader);
coir_body(reader, f) {
    if (f->by_recv)
        coir_get(f, f->result, &f->recv, coir_recv, .fd = f->fd, .buf = f->buf, .len = 16);
    else
        coir_get(f, f->result, &f->read, coir_read, .fd = f->fd, .buf = f->buf, .len = 16);
} coir_end

struct late {                        /* says something after a while, from within */
    coir_frame_void;
    coir_args(int fd; const char *text;);
    struct coir_sleep sleep;
};
static coir_declare(late);
coir_body(late, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = 2 * COIR_MS);
    put(f->fd, f->text);
} coir_end

struct reuse {
    coir_frame_void;
    coir_args(enum what what; bool dup; bool waits;);
    int fd, old, old_peer, new, new_peer, p[2];
    char buf[16];
    struct coir_group group;
    struct coir_group_wait wait;
    struct reader reader;
    struct coir_scope scope;
    struct coir_sleep sleep;
    struct coir_close close;
};
static coir_declare(reuse);

coir_body(reuse, f) {
    coir_group_open(f, &f->group);
    make(f->what, f->p);
    f->fd = f->p[0];
    f->old_peer = f->p[1];
    if (f->waits) {                  /* the planes get to know the number */
        coir_spawn(&f->group, coir_new(late, .fd = f->old_peer, .text = "first"));
        coir_await(f, &f->reader, reader, .fd = f->fd, .buf = f->buf, .by_recv = f->what != PIPES);
        MEM_EQ(f->buf, "first", 5, "%s: the first file says so", whats[f->what]);
    } else {                         /* and to wait on it in vain */
        coir_within(f, &f->scope, coir_now() + COIR_MS, &f->reader, reader, .fd = f->fd, .buf = f->buf);
        EQ(coir_status(&f->reader), -ETIMEDOUT, "%s: nobody says anything", whats[f->what]);
    }
    f->old = f->dup ? MUST(dup(f->fd)) : -1;
    make(f->what, f->p);
    becomes(&f->p[0], f->fd);
    f->new_peer = f->p[1];
    if (f->dup)
        put(f->old_peer, "wrong");   /* the old file is readable, under another number */
    coir_spawn(&f->group, coir_new(late, .fd = f->new_peer, .text = "second"));
    coir_within(f, &f->scope, coir_now() + 5 * COIR_S, &f->reader, reader, .fd = f->fd, .buf = f->buf,
                .by_recv = f->what != PIPES);
    EQ(coir_status(&f->reader), 0, "%s: reading from the second file", whats[f->what]);
    OK(!f->scope.expired, "%s: when it came", whats[f->what]);
    MEM_EQ(f->buf, "second", 6, "%s: what the second file says", whats[f->what]);
    coir_within(f, &f->scope, coir_now() + 3 * COIR_MS, &f->reader, reader, .fd = f->fd, .buf = f->buf);
    EQ(coir_status(&f->reader), -ETIMEDOUT, "%s: and nothing else", whats[f->what]);
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        coir_await(f, &f->close, coir_close, .fd = f->fd);
        EQ(coir_status(&f->close), 0, "%s: closed", whats[f->what]);
        close(f->old_peer);
        close(f->new_peer);
        if (f->dup)
            close(f->old);
    }
} coir_end

/* A write end that waited for room, closed behind coir's back, reused: the next write waits for the new one. */
struct rewrite {
    coir_frame_void;
    coir_no_args;
    int fd, in, p[2];
    char big[300000];
    size_t n;
    struct coir_scope scope;
    struct coir_write_all all;
};
static coir_declare(rewrite);
coir_body(rewrite, f) {
    memset(f->big, 'x', sizeof f->big);
    MUST(pipe2(f->p, O_CLOEXEC));
    f->fd = f->p[1];
    f->in = f->p[0];
    coir_within(f, &f->scope, coir_now() + 2 * COIR_MS, &f->all, coir_write_all, .fd = f->fd, .buf = f->big,
                .len = sizeof f->big);
    EQ(coir_status(&f->all), -ETIMEDOUT, "a full pipe");
    EQ(f->all.result, 65536, "took what it holds");
    MUST(pipe2(f->p, O_CLOEXEC));
    becomes(&f->p[1], f->fd);
    coir_within(f, &f->scope, coir_now() + 5 * COIR_S, &f->all, coir_write_all, .fd = f->fd, .buf = f->big,
                .len = 65536);
    EQ(coir_status(&f->all), 0, "the new pipe has room for this");
    close(f->in);
    close(f->p[0]);
    close(f->fd);
} coir_end

/* What waits on a number while that is closed: a coir_close of it frees them all, and the next file is well. */
struct under {
    coir_frame_void;
    coir_no_args;
    int fd, p[2];
    char buf[16];
    struct coir_group group;
    struct coir_group_wait wait;
    struct reader reader;
    struct coir_scope scope;
    struct coir_sleep sleep;
    struct coir_close close;
};
static coir_declare(under);
coir_body(under, f) {
    make(SOCKETS, f->p);
    f->fd = f->p[0];
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(reader, .fd = f->fd, .buf = f->buf, .by_recv = true));
    coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    MUST(close(f->fd));
    coir_await(f, &f->close, coir_close, .fd = f->fd);
    EQ(coir_status(&f->close), -EBADF, "closing what is closed");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    OK(coir_status(&f->wait) == -ECANCELED || coir_status(&f->wait) == -EBADF, "who waited on it has its end");
    close(f->p[1]);
} coir_end

/* The kernel is made to send completions with names that are nobody's. */
static void send_strange(void)
{
    struct coir_uring_plane *const p = coir_uring_self(coir_plane_here());

    for (uint64_t slot = 0; slot < 3; slot++) {
        struct io_uring_sqe *sqe;

        while (!(sqe = coir_uring_sqe(p)))
            ;                                /* the torture build says now and then that there is no place */
        io_uring_prep_nop(sqe);
        io_uring_sqe_set_data64(sqe, UINT64_C(0x12345) << 32 | (slot == 2 ? 1000000 : slot));
    }
}

struct stale {
    coir_frame_void;
    coir_no_args;
    struct coir_stats stats;
    struct coir_sleep sleep;
};
static coir_declare(stale);
coir_body(stale, f) {
    if (!strcmp(coir_plane_name(), "uring")) {
        send_strange();
        coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
        coir_stats(0, &f->stats);
        EQ(f->stats.stale, 3, "three strange completions were counted, and nothing else happened");
    }
} coir_end

/* Cancels of what is over find nobody: operations that end in the turn in which they are cancelled. */
struct ends {
    coir_frame_void;
    coir_args(int fd;);
    char c;
    struct coir_read read;
};
static coir_declare(ends);
coir_body(ends, f) {
    coir_await(f, &f->read, coir_read, .fd = f->fd, .buf = &f->c, .len = 1);
    EQ(coir_status(&f->read), 0, "a byte came before the cancel");
} coir_end

struct race {
    coir_frame_void;
    coir_no_args;
    int i, p[2];
    struct coir_stats stats;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_pass pass;
    struct coir_sleep sleep;
};
static coir_declare(race);
coir_body(race, f) {
    MUST(pipe2(f->p, O_CLOEXEC));
    for (f->i = 0; f->i < 50; f->i++) {
        coir_group_open(f, &f->group);
        coir_spawn(&f->group, coir_new(ends, .fd = f->p[0]));
        coir_await(f, &f->sleep, coir_sleep, .ns = 1000);
        put(f->p[1], "c");
        coir_group_cancel(&f->group);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
    coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    coir_stats(0, &f->stats);
    EQ(f->stats.stale, 0, "a cancel too late wakes nobody");
    EQ(f->stats.submissions, f->stats.completions, "each had its end");
    close(f->p[0]);
    close(f->p[1]);
} coir_end

/* A listener that was accepted on, closed behind coir's back, whose number is another listener. */
struct relisten {
    coir_frame_void;
    coir_no_args;
    int fd, next, client, accepted;
    struct sockaddr_in at;
    struct coir_scope scope;
    struct coir_accept accept;
    struct coir_close close;
};
static coir_declare(relisten);

static int client_of(const struct sockaddr_in *at)
{
    const int fd = MUST(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));

    MUST(connect(fd, (const struct sockaddr *)at, sizeof *at));
    return fd;
}

coir_body(relisten, f) {
    f->fd = tcp_listener(&f->at, 8);
    f->client = client_of(&f->at);
    coir_get(f, f->accepted, &f->accept, coir_accept, .fd = f->fd);
    close(f->accepted);
    close(f->client);
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->accept, coir_accept, .fd = f->fd);
    EQ(coir_status(&f->accept), -ETIMEDOUT, "nobody else comes");
    f->next = tcp_listener(&f->at, 8);
    becomes(&f->next, f->fd);
    f->client = client_of(&f->at);
    coir_within(f, &f->scope, coir_now() + 5 * COIR_S, &f->accept, coir_accept, .fd = f->fd);
    EQ(coir_status(&f->accept), 0, "the new listener's connection is accepted");
    OK(!f->scope.expired, "when it came");
    if (coir_status(&f->accept) == 0)
        close(f->accept.result);
    close(f->client);
    coir_await(f, &f->close, coir_close, .fd = f->fd);
    EQ(coir_status(&f->close), 0, "and it closes");
} coir_end

int main(void)
{
    WITHOUT_CHANCE("whole");           /* it says how many bytes there are at once */
    alarm(60);
    for (int what = 0; what < WHATS; what++) {
        for (int i = 0; i < 4; i++)
            RUN(coir_new(reuse, .what = (enum what)what, .dup = i & 1, .waits = i & 2), "a number reused");
    }
    RUN(coir_new(rewrite), "a pipe reused");
    RUN(coir_new(relisten), "a listener reused");
    RUN(coir_new(under), "closed under a wait");
    RUN(coir_new(stale), "stale completions");
    RUN(coir_new(race), "cancelled as it ends");
    return DONE();
}
