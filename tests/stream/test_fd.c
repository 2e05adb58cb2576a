/* SPDX-License-Identifier: MIT */
/*
 * Streams over descriptors: sockets, pipes, a terminal, files. What arrives, both ends' ends, what is given up and not
 * lost, closing under a wait, and every argument that is wrong.
 */
#include "carry.h"

enum { MUCH = 1 << 20 };

union slots {
    struct coir_stream_read read;
    struct coir_stream_write_all write;
    struct coir_stream_shutdown shutdown;
    struct coir_stream_close close;
    struct coir_open open;
    struct coir_pass pass;
};

/* ---- bytes both ways, and the end ---- */

struct both {
    coir_frame_void;
    coir_args(int carrier;);
    struct coir_fd_stream s[2];
    char to[16];
    union slots u;
};
static coir_declare(both);
coir_body(both, f) {
    make_streams(f->carrier, f->s);
    for (int i = 0; i < 2; i++) {
        OK(f->s[i].in_socket == (f->carrier < KINDS) && f->s[i].out_socket == f->s[i].in_socket, "sockets are known");
    }
    SAYS(0, &f->u.write, coir_stream_write_all, .stream = &f->s[0].stream, .buf = "hello", .len = 5);
    EQ(f->u.write.result, 5, "five bytes go");
    SAYS(0, &f->u.read, coir_stream_read, .stream = &f->s[1].stream, .buf = f->to, .len = 3);
    EQ(f->u.read.result, 3, "as many as were asked for");
    SAYS(0, &f->u.read, coir_stream_read, .stream = &f->s[1].stream, .buf = f->to + 3, .len = 13);
    EQ(f->u.read.result, 2, "the others");
    MEM_EQ(f->to, "hello", 5, "and come");
    SAYS(0, &f->u.write, coir_stream_write_all, .stream = &f->s[1].stream, .buf = "yes", .len = 3);
    SAYS(0, &f->u.read, coir_stream_read, .stream = &f->s[0].stream, .buf = f->to, .len = 16);
    EQ(f->u.read.result, 3, "the other way");
    if (f->carrier == TERMINAL) {
        SAYS(-ENOTSOCK, &f->u.shutdown, coir_stream_shutdown, .stream = &f->s[0].stream);
    } else {
        SAYS(0, &f->u.write, coir_stream_write_all, .stream = &f->s[0].stream, .buf = "last", .len = 4);
        SAYS(0, &f->u.shutdown, coir_stream_shutdown, .stream = &f->s[0].stream);
        SAYS(0, &f->u.shutdown, coir_stream_shutdown, .stream = &f->s[0].stream);
        SAYS(-EPIPE, &f->u.write, coir_stream_write_all, .stream = &f->s[0].stream, .buf = "x", .len = 1);
        EQ(f->u.write.result, 0, "nothing was taken");
        SAYS(0, &f->u.read, coir_stream_read, .stream = &f->s[1].stream, .buf = f->to, .len = 16);
        EQ(f->u.read.result, 4, "what was written before the end");
        SAYS(0, &f->u.read, coir_stream_read, .stream = &f->s[1].stream, .buf = f->to, .len = 16);
        EQ(f->u.read.result, 0, "the end");
        SAYS(0, &f->u.write, coir_stream_write_all, .stream = &f->s[1].stream, .buf = "still", .len = 5);
        SAYS(0, &f->u.read, coir_stream_read, .stream = &f->s[0].stream, .buf = f->to, .len = 16);
        EQ(f->u.read.result, 5, "reading goes on");
    }
    SAYS(0, &f->u.close, coir_stream_close, .stream = &f->s[0].stream);
    SAYS(-EBADF, &f->u.close, coir_stream_close, .stream = &f->s[0].stream);
    SAYS(-EBADF, &f->u.read, coir_stream_read, .stream = &f->s[0].stream, .buf = f->to, .len = 16);
    SAYS(-EBADF, &f->u.write, coir_stream_write_all, .stream = &f->s[0].stream, .buf = "x", .len = 1);
    SAYS(-EBADF, &f->u.shutdown, coir_stream_shutdown, .stream = &f->s[0].stream);
    if (f->carrier == PIPES)
        SAYS(-EPIPE, &f->u.write, coir_stream_write_all, .stream = &f->s[1].stream, .buf = "x", .len = 1);
    SAYS(0, &f->u.close, coir_stream_close, .stream = &f->s[1].stream);
} coir_end

/* ---- much at once ---- */

struct send_much {
    coir_frame(size_t);
    coir_args(struct coir_stream *stream; bool end;);
    struct coir_stream_write_all write;
    struct coir_stream_shutdown shutdown;
    unsigned char much[MUCH];
};
static coir_declare(send_much);
coir_body(send_much, f) {
    for (size_t i = 0; i < MUCH; i++)
        f->much[i] = pattern(i);
    coir_get(f, f->result, &f->write, coir_stream_write_all, .stream = f->stream, .buf = f->much, .len = MUCH);
    if (f->end)
        coir_try(f, &f->shutdown, coir_stream_shutdown, .stream = f->stream);
} coir_end

struct take_much {
    coir_frame(size_t);
    coir_args(struct coir_stream *stream; size_t len;);
    bool wrong;
    struct coir_stream_read read;
    unsigned char buf[5000];
};
static coir_declare(take_much);
coir_body(take_much, f) {
    for (f->wrong = false; f->result < f->len; f->result += f->read.result) {
        coir_try(f, &f->read, coir_stream_read, .stream = f->stream, .buf = f->buf, .len = sizeof f->buf);
        if (f->read.result == 0)
            break;
        f->wrong |= !is_pattern(f->buf, f->result, f->read.result);
    }
    OK(!f->wrong, "every byte in its place");
} coir_end

struct much {
    coir_frame_void;
    coir_args(int carrier;);
    struct coir_fd_stream s[2];
    struct coir_task *kids[2];
    struct coir_combine all;
    struct send_much send;
    struct take_much take;
    union slots u;
};
static coir_declare(much);
coir_body(much, f) {
    make_streams(f->carrier, f->s);
    f->kids[0] = coir_make(&f->send, send_much, .stream = &f->s[0].stream, .end = f->carrier != TERMINAL);
    f->kids[1] = coir_make(&f->take, take_much, .stream = &f->s[1].stream,
                           .len = f->carrier == TERMINAL ? MUCH : SIZE_MAX);
    coir_all(f, &f->all, f->kids, 2);
    EQ(coir_status(&f->all), 0, "a mebibyte over %s", carrier_name(f->carrier));
    EQ(f->send.result, MUCH, "all of it is sent");
    EQ(f->take.result, MUCH, "all of it arrives, then the end");
    SAYS(0, &f->u.close, coir_stream_close, .stream = &f->s[0].stream);
    SAYS(0, &f->u.close, coir_stream_close, .stream = &f->s[1].stream);
} coir_end

/* ---- given up, and closed ---- */

struct wait_read {
    coir_frame_void;
    coir_args(struct coir_stream *stream; int *status;);
    char buf[8];
    struct coir_stream_read read;
};
static coir_declare(wait_read);
coir_body(wait_read, f) {
    *f->status = 1;
    coir_await(f, &f->read, coir_stream_read, .stream = f->stream, .buf = f->buf, .len = sizeof f->buf);
    *f->status = coir_status(&f->read);
} coir_end

/* Fills what is between them, and finds as much of it there as was counted. */
struct nobody_reads {
    coir_frame_void;
    coir_args(struct coir_fd_stream *s;);
    size_t sent;
    char to[8];
    char full[MUCH * 8];
    struct coir_scope scope;
    union slots u;
};
static coir_declare(nobody_reads);
coir_body(nobody_reads, f) {
    memset(f->full, 'x', sizeof f->full);
    coir_within(f, &f->scope, coir_now() + 5 * COIR_MS, &f->u.write, coir_stream_write_all, .stream = &f->s[0].stream,
                .buf = f->full, .len = sizeof f->full);
    EQ(coir_status(&f->u.write), -ETIMEDOUT, "nobody reads");
    f->sent = f->u.write.result;
    OK(f->sent > 0 && f->sent < sizeof f->full, "the result counts what was taken");
    while (f->sent > 0) {
        coir_within(f, &f->scope, coir_now() + 20 * COIR_S, &f->u.read, coir_stream_read, .stream = &f->s[1].stream,
                    .buf = f->full, .len = sizeof f->full);
        if (coir_status(&f->u.read) || f->u.read.result > f->sent)
            break;
        f->sent -= f->u.read.result;
    }
    EQ(f->sent, 0, "as many as that arrive");
    coir_within(f, &f->scope, coir_now() - 1, &f->u.read, coir_stream_read, .stream = &f->s[1].stream,
                .buf = f->to, .len = 8);
    EQ(coir_status(&f->u.read), -ETIMEDOUT, "and no more");
} coir_end

struct gives_up {
    coir_frame_void;
    coir_args(int carrier;);
    struct coir_fd_stream s[2];
    int status;
    char to[8];
    struct coir_scope scope;
    struct coir_group group;
    struct coir_group_wait wait;
    struct nobody_reads nobody;
    union slots u;
};
static coir_declare(gives_up);
coir_body(gives_up, f) {
    make_streams(f->carrier, f->s);
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->u.read, coir_stream_read, .stream = &f->s[0].stream,
                .buf = f->to, .len = 8);
    EQ(coir_status(&f->u.read), -ETIMEDOUT, "nothing came in time");
    SAYS(0, &f->u.write, coir_stream_write_all, .stream = &f->s[1].stream, .buf = "kept", .len = 4);
    coir_within(f, &f->scope, coir_now() - 1, &f->u.read, coir_stream_read, .stream = &f->s[0].stream,
                .buf = f->to, .len = 8);
    EQ(coir_status(&f->u.read), 0, "what is there comes in a cancelled scope");
    EQ(f->u.read.result, 4, "all four of it");
    SAYS(0, &f->nobody, nobody_reads, .s = f->s);

    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(wait_read, .stream = &f->s[0].stream, .status = &f->status));
    while (f->status != 1)
        coir_await(f, &f->u.pass, coir_pass);
    coir_await(f, &f->u.pass, coir_pass);
    EQ(f->status, 1, "a reader waits");
    coir_within(f, &f->scope, coir_now() - 1, &f->u.close, coir_stream_close, .stream = &f->s[0].stream);
    EQ(coir_status(&f->u.close), 0, "closed, in a cancelled scope");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, -ECANCELED, "who waited is told");
    SAYS(0, &f->u.close, coir_stream_close, .stream = &f->s[1].stream);
} coir_end

/* ---- one way ---- */

struct one_way {
    coir_frame_void;
    coir_no_args;
    struct coir_fd_stream s;
    char to[16];
    int fds[2];
    union slots u;
};
static coir_declare(one_way);
coir_body(one_way, f) {
    coir_get(f, f->fds[0], &f->u.open, coir_open, .path = "file", .flags = O_RDWR | O_CREAT, .mode = 0600);
    EQ(coir_fd_stream_init(&f->s, -1, f->fds[0]), 0, "a stream to a file");
    SAYS(-EBADF, &f->u.read, coir_stream_read, .stream = &f->s.stream, .buf = f->to, .len = 1);
    SAYS(0, &f->u.write, coir_stream_write_all, .stream = &f->s.stream, .buf = "one", .len = 3);
    SAYS(0, &f->u.write, coir_stream_write_all, .stream = &f->s.stream, .buf = "two", .len = 3);
    SAYS(0, &f->u.shutdown, coir_stream_shutdown, .stream = &f->s.stream);
    OK(fcntl(f->fds[0], F_GETFD) < 0, "what is only written is closed");
    SAYS(-EPIPE, &f->u.write, coir_stream_write_all, .stream = &f->s.stream, .buf = "x", .len = 1);
    SAYS(0, &f->u.close, coir_stream_close, .stream = &f->s.stream);
    SAYS(-EBADF, &f->u.close, coir_stream_close, .stream = &f->s.stream);

    coir_get(f, f->fds[0], &f->u.open, coir_open, .path = "file", .flags = O_RDONLY);
    EQ(coir_fd_stream_init(&f->s, f->fds[0], -1), 0, "a stream from a file");
    SAYS(-EBADF, &f->u.write, coir_stream_write_all, .stream = &f->s.stream, .buf = "x", .len = 1);
    SAYS(-EBADF, &f->u.shutdown, coir_stream_shutdown, .stream = &f->s.stream);
    SAYS(0, &f->u.read, coir_stream_read, .stream = &f->s.stream, .buf = f->to, .len = 4);
    SAYS(0, &f->u.read, coir_stream_read, .stream = &f->s.stream, .buf = f->to + 4, .len = 12);
    MEM_EQ(f->to, "onetwo", 6, "read at its position");
    SAYS(0, &f->u.read, coir_stream_read, .stream = &f->s.stream, .buf = f->to, .len = 16);
    EQ(f->u.read.result, 0, "the end of a file");
    SAYS(0, &f->u.close, coir_stream_close, .stream = &f->s.stream);
    OK(fcntl(f->fds[0], F_GETFD) < 0, "closed");

    make_pair(UNIX_BLOCKING, f->fds);
    EQ(coir_fd_stream_init(&f->s, f->fds[0], f->fds[0]), 0, "a stream over a socket");
    coir_await(f, &f->u.close, coir_stream_close, .stream = &f->s.stream);
    EQ(coir_fd_stream_init(&f->s, -1, f->fds[1]), 0, "whose peer is gone");
    SAYS(-EPIPE, &f->u.write, coir_stream_write_all, .stream = &f->s.stream, .buf = "x", .len = 1);
    SAYS(0, &f->u.close, coir_stream_close, .stream = &f->s.stream);
} coir_end

/* ---- what is wrong ---- */

static const struct coir_stream_kind nothing = { .name = "nothing" };

struct wrong {
    coir_frame_void;
    coir_no_args;
    struct coir_fd_stream s;
    struct coir_stream never, none;
    char to[8];
    int fds[2];
    union slots u;
};
static coir_declare(wrong);
coir_body(wrong, f) {
    EQ(coir_fd_stream_init(NULL, 0, 0), -EFAULT, "NULL");
    EQ(coir_fd_stream_init(&f->s, -1, -1), -EBADF, "no descriptors");
    EQ(coir_fd_stream_init(&f->s, closed_fd(), -1), -EBADF, "a closed one to read");
    EQ(coir_fd_stream_init(&f->s, 0, closed_fd()), -EBADF, "a closed one to write");
    SAYS(-EBADF, &f->u.read, coir_stream_read, .stream = &f->s.stream, .buf = f->to, .len = 8);
    SAYS(-EBADF, &f->u.close, coir_stream_close, .stream = &f->s.stream);
    OK(fcntl(0, F_GETFD) >= 0, "the descriptors of one that failed are the caller's");
    MUST(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, f->fds));
    EQ(coir_fd_stream_init(&f->s, f->fds[0], f->fds[0]), -ESOCKTNOSUPPORT, "a socket of messages");
    close(f->fds[0]);
    close(f->fds[1]);

    make_pair(UNIX_BLOCKING, f->fds);
    EQ(coir_fd_stream_init(&f->s, f->fds[0], f->fds[1]), 0, "its own peer");
    SAYS(-EFAULT, &f->u.read, coir_stream_read, .stream = &f->s.stream, .buf = NULL, .len = 8);
    SAYS(0, &f->u.read, coir_stream_read, .stream = &f->s.stream, .buf = NULL, .len = 0);
    SAYS(-EFAULT, &f->u.write, coir_stream_write_all, .stream = &f->s.stream, .buf = NULL, .len = 8);
    SAYS(0, &f->u.write, coir_stream_write_all, .stream = &f->s.stream, .buf = "x", .len = 0);
    SAYS(-EFAULT, &f->u.read, coir_stream_read, .stream = &f->s.stream, .buf = __builtin_alloca(8), .len = 8);
    SAYS(-EFAULT, &f->u.write, coir_stream_write_all, .stream = &f->s.stream, .buf = __builtin_alloca(8), .len = 8);
    SAYS(-EFAULT, &f->u.close, coir_stream_close, .stream = __builtin_alloca(sizeof(struct coir_stream)));
    SAYS(-EFAULT, &f->u.read, coir_stream_read, .buf = f->to, .len = 8);
    SAYS(-EFAULT, &f->u.write, coir_stream_write_all, .buf = f->to, .len = 8);
    SAYS(-EFAULT, &f->u.shutdown, coir_stream_shutdown);
    SAYS(-EFAULT, &f->u.close, coir_stream_close);
    SAYS(0, &f->u.close, coir_stream_close, .stream = &f->s.stream);
    OK(fcntl(f->fds[0], F_GETFD) < 0 && fcntl(f->fds[1], F_GETFD) < 0, "both are closed");

    f->never = (struct coir_stream){ NULL };
    SAYS(-EBADF, &f->u.read, coir_stream_read, .stream = &f->never, .buf = f->to, .len = 8);
    SAYS(-EBADF, &f->u.close, coir_stream_close, .stream = &f->never);
    f->none = (struct coir_stream){ &nothing };
    SAYS(-EOPNOTSUPP, &f->u.read, coir_stream_read, .stream = &f->none, .buf = f->to, .len = 8);
    SAYS(-EOPNOTSUPP, &f->u.write, coir_stream_write_all, .stream = &f->none, .buf = f->to, .len = 8);
    SAYS(-EOPNOTSUPP, &f->u.shutdown, coir_stream_shutdown, .stream = &f->none);
    SAYS(-EOPNOTSUPP, &f->u.close, coir_stream_close, .stream = &f->none);
} coir_end

int main(void)
{
    WITHOUT_CHANCE("whole");           /* it says how many bytes there are at once */
    scratch_begin();
    for (int carrier = 0; carrier < CARRIERS; carrier++) {
        RUN(coir_new(both, .carrier = carrier), "both ways over %s", carrier_name(carrier));
        RUN(coir_new(much, .carrier = carrier), "much over %s", carrier_name(carrier));
        RUN(coir_new(gives_up, .carrier = carrier), "given up over %s", carrier_name(carrier));
    }
    RUN(coir_new(one_way), "one way");
    RUN(coir_new(wrong), "what is wrong");
    scratch_end();
    return DONE();
}
