/* SPDX-License-Identifier: MIT */
/*
 * sendfile: whole files and parts of them, to readers that are slow, gone, or closed under it; what it counts
 * is what arrived, and the descriptor's mode stays what it was.
 */
#include "ops/net.h"

enum { SIZE = 5000000 };

static int file;                         /* of SIZE bytes of the pattern */

static void make_file(void)
{
    static unsigned char bytes[SIZE];

    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = pattern(i);
    file = MUST(open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (write(file, bytes, SIZE) != SIZE)
        abort();
}

/* ---- who reads ---- */

struct reader {
    coir_frame_void;
    coir_args(int fd; size_t from; size_t *got; bool *good; int pause;);
    unsigned char buf[40000];
    union {
        struct coir_recv recv;
        struct coir_sleep sleep;
    };
};
static coir_declare(reader);

/* Up to the end; -ECONNRESET is one too. */
coir_body(reader, f) {
    *f->got = 0;
    *f->good = true;
    for (;;) {
        coir_try(f, &f->recv, coir_recv, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf);
        if (f->recv.result == 0)
            break;
        if (!is_pattern(f->buf, f->from + *f->got, f->recv.result))
            *f->good = false;
        *f->got += f->recv.result;
        if (f->pause)
            coir_try(f, &f->sleep, coir_sleep, .ns = f->pause);
    }
} coir_end

/* ---- to the end ---- */

struct whole {
    coir_frame_void;
    coir_args(enum kind kind; int64_t offset; size_t count; size_t wanted; int pause;);
    int fd[2], flags;
    size_t got;
    bool good;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_sendfile send;
    struct coir_shutdown shutdown;
};
static coir_declare(whole);

coir_body(whole, f) {
    make_pair(f->kind, f->fd);
    make_narrow(f->kind, f->fd);
    f->flags = fcntl(f->fd[0], F_GETFL);
    MUST((int)lseek(file, 1000, SEEK_SET));
    coir_group_open(f, &f->group);
    EQ(coir_spawn(&f->group, coir_new(reader, .fd = f->fd[1], .from = f->offset < 0 ? 1000 : (size_t)f->offset,
                                      .got = &f->got, .good = &f->good, .pause = f->pause)), 0, "spawned");
    coir_await(f, &f->send, coir_sendfile, .out_fd = f->fd[0], .in_fd = file, .offset = f->offset, .count = f->count);
    EQ(coir_status(&f->send), 0, "sendfile of %zu at %d", f->count, (int)f->offset);
    EQ(f->send.result, f->wanted, "says how many");
    EQ(lseek(file, 0, SEEK_CUR), f->offset < 0 ? 1000 + (off_t)f->wanted : 1000, "the position moves when it is used");
    EQ(fcntl(f->fd[0], F_GETFL), f->flags, "the mode is as it was");
    coir_await(f, &f->shutdown, coir_shutdown, .fd = f->fd[0], .how = SHUT_WR);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), 0, "read");
    EQ(f->got, f->wanted, "that many arrived");
    OK(f->good, "the right ones");
    close(f->fd[0]);
    close(f->fd[1]);
} coir_end

/* ---- cut short ---- */

struct cut {
    coir_frame_void;
    coir_args(enum kind kind; int how;);
    int fd[2], flags;
    size_t got;
    bool good;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_sendfile send;
    struct coir_poll poll;
    struct coir_scope scope;
    struct coir_combine race;
    struct coir_task *kids[2];
};
static coir_declare(cut);

coir_body(cut, f) {
    make_pair(f->kind, f->fd);
    make_narrow(f->kind, f->fd);
    f->flags = fcntl(f->fd[0], F_GETFL);
    if (f->how == 0) {
        coir_within(f, &f->scope, coir_now() + 10 * COIR_MS, &f->send, coir_sendfile, .out_fd = f->fd[0], .in_fd = file,
                    .count = SIZE);
        EQ(coir_status(&f->send), -ETIMEDOUT, "nobody reads: the deadline");
    } else {
        f->kids[0] = coir_make(&f->send, coir_sendfile, .out_fd = f->fd[0], .in_fd = file, .count = SIZE);
        f->kids[1] = coir_make(&f->poll, coir_poll, .fd = f->fd[1], .events = POLLIN);
        coir_race(f, &f->race, f->kids, 2);
        EQ(coir_status(&f->send), -ECANCELED, "cancelled when something has come");
        OK(f->send.result > 0, "that counts");
    }
    OK(f->send.result < SIZE, "a part has gone at most");
    EQ(fcntl(f->fd[0], F_GETFL), f->flags, "the mode is as it was");
    close(f->fd[0]);
    coir_group_open(f, &f->group);
    EQ(coir_spawn(&f->group, coir_new(reader, .fd = f->fd[1], .got = &f->got, .good = &f->good)), 0, "spawned");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->got, f->send.result, "exactly what it said arrives");
    OK(f->good, "the right bytes");
    close(f->fd[1]);
} coir_end

struct sender {
    coir_frame_void;
    coir_args(int fd; int in; int *status; size_t *n;);
    struct coir_scope scope;
    struct coir_sendfile send;
};
static coir_declare(sender);

coir_body(sender, f) {
    coir_within(f, &f->scope, coir_now() + COIR_S, &f->send, coir_sendfile, .out_fd = f->fd, .in_fd = f->in,
                .count = SIZE);
    *f->status = coir_status(&f->send);
    *f->n = f->send.result;
} coir_end

/* The peer goes, politely or not; the descriptor is closed under it. */
struct gone {
    coir_frame_void;
    coir_args(enum kind kind; int how;);
    int fd[2], status;
    size_t n;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_poll poll;
    struct coir_close close;
};
static coir_declare(gone);

coir_body(gone, f) {
    make_pair(f->kind, f->fd);
    make_narrow(f->kind, f->fd);
    coir_group_open(f, &f->group);
    EQ(coir_spawn(&f->group, coir_new(sender, .fd = f->fd[0], .in = file, .status = &f->status, .n = &f->n)), 0,
       "spawned");
    coir_await(f, &f->poll, coir_poll, .fd = f->fd[1], .events = POLLIN);
    if (f->how == 0)
        close(f->fd[1]);
    else
        coir_await(f, &f->close, coir_close, .fd = f->fd[0]);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    if (f->how == 0)
        OK(f->status == -EPIPE || f->status == -ECONNRESET, "the peer is gone, and no signal came: %d", f->status);
    else
        EQ(f->status, -ECANCELED, "closed under it");
    OK(f->n > 0 && f->n < SIZE, "a part had gone");
    close(f->how == 0 ? f->fd[0] : f->fd[1]);
} coir_end

/* The file is closed while there is no room, and its number becomes another file's. */
struct other_file {
    coir_frame_void;
    coir_args(enum kind kind;);
    int fd[2], in, status;
    size_t n, got;
    bool good;
    struct coir_group group, readers;
    struct coir_group_wait wait;
    struct coir_poll poll;
    struct coir_sleep sleep;
    struct coir_close close;
};
static coir_declare(other_file);

coir_body(other_file, f) {
    make_pair(f->kind, f->fd);
    make_narrow(f->kind, f->fd);
    f->in = MUST(dup(file));
    coir_group_open(f, &f->group);
    EQ(coir_spawn(&f->group, coir_new(sender, .fd = f->fd[0], .in = f->in, .status = &f->status, .n = &f->n)), 0,
       "spawned");
    coir_await(f, &f->poll, coir_poll, .fd = f->fd[1], .events = POLLIN);
    coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    coir_await(f, &f->close, coir_close, .fd = f->in);
    EQ(MUST(open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)), f->in, "another file has the number");
    EQ(ftruncate(f->in, SIZE), 0, "with bytes of its own");
    coir_group_open(f, &f->readers);
    EQ(coir_spawn(&f->readers, coir_new(reader, .fd = f->fd[1], .got = &f->got, .good = &f->good)), 0, "spawned");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, -ECANCELED, "closed under it");
    OK(f->n > 0 && f->n < SIZE, "a part had gone");
    close(f->fd[0]);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->readers);
    EQ(f->got, f->n, "exactly that arrives");
    OK(f->good, "of the first file");
    close(f->fd[1]);
    close(f->in);
} coir_end

/* ---- arguments ---- */

struct refuses {
    coir_frame_void;
    coir_no_args;
    int fd[2], lost, readonly;
    char byte;
    struct coir_sendfile send;
    struct coir_scope scope;
};
static coir_declare(refuses);

#define REFUSES(wanted, what, ...) do { \
    coir_await(f, &f->send, coir_sendfile, __VA_ARGS__); \
    EQ(coir_status(&f->send), wanted, what); \
    EQ(f->send.result, 0, what ": nothing was sent"); \
    } while (0)

coir_body(refuses, f) {
    make_pair(UNIX_BLOCKING, f->fd);
    f->readonly = MUST(open("/dev/null", O_RDONLY | O_CLOEXEC));
    f->lost = closed_fd();
    REFUSES(-EBADF, "out negative", .out_fd = -1, .in_fd = file, .count = 1);
    REFUSES(-EBADF, "in negative", .out_fd = f->fd[0], .in_fd = -1, .count = 1);
    REFUSES(-EBADF, "out closed", .out_fd = f->lost, .in_fd = file, .count = 1);
    REFUSES(-EBADF, "in closed", .out_fd = f->fd[0], .in_fd = f->lost, .count = 1);
    REFUSES(-EBADF, "out closed, no count", .out_fd = f->lost, .in_fd = file);
    REFUSES(-EBADF, "in closed, no count", .out_fd = f->fd[0], .in_fd = f->lost);
    REFUSES(-EBADF, "out cannot be written", .out_fd = f->readonly, .in_fd = file, .count = 1);
    REFUSES(-ESPIPE, "in is a socket, which has no offset", .out_fd = f->fd[0], .in_fd = f->fd[1], .count = 1);
    REFUSES(-EINVAL, "in is a socket", .out_fd = f->fd[0], .in_fd = f->fd[1], .offset = -1, .count = 1);
    REFUSES(-EINVAL, "a negative offset", .out_fd = f->fd[0], .in_fd = file, .offset = -2, .count = 1);
    REFUSES(0, "no count", .out_fd = f->fd[0], .in_fd = file);
    REFUSES(0, "past the end", .out_fd = f->fd[0], .in_fd = file, .offset = SIZE, .count = 10);
    coir_within(f, &f->scope, coir_now() - 1, &f->send, coir_sendfile, .out_fd = f->fd[0], .in_fd = file, .count = 1);
    EQ(coir_status(&f->send), -ETIMEDOUT, "before: it is not begun");
    EQ(recv(f->fd[1], &f->byte, 1, MSG_DONTWAIT), -1, "nothing was sent at all");
    shutdown(f->fd[0], SHUT_WR);
    REFUSES(-EPIPE, "after shutdown", .out_fd = f->fd[0], .in_fd = file, .count = 1);
    close(f->fd[0]);
    close(f->fd[1]);
    close(f->readonly);
} coir_end

int main(void)
{
    make_file();
    for (enum kind k = 0; k < KINDS; k++) {
        NOTE("%s", kind_names[k]);
        RUN(coir_new(whole, .kind = k, .offset = 0, .count = SIZE, .wanted = SIZE, .pause = 100000), "a whole file");
        RUN(coir_new(whole, .kind = k, .offset = 12345, .count = 2000000, .wanted = 2000000), "a part");
        RUN(coir_new(whole, .kind = k, .offset = -1, .count = 300000, .wanted = 300000), "from the position");
        RUN(coir_new(whole, .kind = k, .offset = SIZE - 100, .count = 1000, .wanted = 100), "over the end");
        RUN(coir_new(cut, .kind = k, .how = 0), "a deadline");
        RUN(coir_new(cut, .kind = k, .how = 1), "a race");
        RUN(coir_new(gone, .kind = k, .how = 0), "the peer goes");
        RUN(coir_new(gone, .kind = k, .how = 1), "a close");
        RUN(coir_new(other_file, .kind = k), "a close of the file");
    }
    RUN(coir_new(refuses), "refuses");
    close(file);
    return DONE();
}
