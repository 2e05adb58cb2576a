/* SPDX-License-Identifier: MIT */
/*
 * Operations on descriptors against what may end them: in either order nothing is lost. Bytes are counted: what the
 * contender has got, and what is still there, are together what was sent; and so are connections and buffers.
 */
#include "races.h"

#include <netinet/tcp.h>
#include <sys/un.h>

/* ---- receiving ---- */

static bool begin_pair(struct world *w)
{
    int fds[2];

    make_pair(UNIX_BLOCKING, fds);
    w->fd = fds[0];
    w->peer = fds[1];
    w->twin = MUST(fcntl(w->fd, F_DUPFD_CLOEXEC, 0));
    return true;
}

static bool begin_pipe(struct world *w)
{
    int fds[2];

    MUST(pipe2(fds, O_CLOEXEC));
    w->fd = fds[0];
    w->peer = fds[1];
    w->twin = MUST(fcntl(w->fd, F_DUPFD_CLOEXEC, 0));
    return true;
}

static void end_pair(struct world *w)
{
    close(w->twin);
    if (w->peer >= 0)
        close(w->peer);
    if (w->rival != CLOSE)
        close(w->fd);
}

static void five_come(struct world *w)
{
    w->filled += (size_t)MUST(write(w->peer, "hello", 5));
}

static void two_come(struct world *w)
{
    w->filled += (size_t)MUST(write(w->peer, "he", 2));
}

static int left_in(int fd)
{
    int n = 0;

    MUST(ioctl(fd, FIONREAD, &n));
    return n;
}

static void check_bytes(struct world *w)
{
    RACE_EQ(w->result + (size_t)left_in(w->twin), w->filled, "each byte is there once");
    RACE_EQ(w->result, w->won || w->contest->partly ? w->result : 0, "who lost has none");
    if (w->won)
        RACE_EQ(memcmp(w->buf, "hello", 5), 0, "the bytes");
}

#define MOVED f->w->result = f->slot.result

RACE_WAITS(receives, MOVED, coir_recv, .fd = f->w->fd, .buf = f->w->buf, .len = 8)
RACE_WAITS(reads, MOVED, coir_read, .fd = f->w->fd, .buf = f->w->buf, .len = 8)
RACE_WAITS(receives_exactly, MOVED, coir_recv_exact, .fd = f->w->fd, .buf = f->w->buf, .len = 5)

static const struct contest recv_contest = {
    "recv", begin_pair, make_receives, five_come, check_bytes, end_pair, .rivals = ALL_RIVALS };
static const struct contest read_contest = {
    "read from a pipe", begin_pipe, make_reads, five_come, check_bytes, end_pair, .rivals = ALL_RIVALS };
static const struct contest exact_contest = {
    "recv_exact", begin_pair, make_receives_exactly, five_come, check_bytes, end_pair, .rivals = ALL_RIVALS };
static const struct contest half_contest = {
    "recv_exact, of a part", begin_pair, make_receives_exactly, two_come, check_bytes, end_pair,
    .rivals = ALL_RIVALS, .partly = true };

/* The end of the stream instead of bytes. */
static void peer_closes(struct world *w)
{
    close(w->peer);
    w->peer = -1;
}

static void check_end(struct world *w)
{
    char c;

    RACE_EQ(w->result, 0, "no bytes");
    RACE_EQ(recv(w->twin, &c, 1, MSG_DONTWAIT), 0, "the end is still there to be seen");
}

static const struct contest fin_contest = {
    "recv, of the end", begin_pair, make_receives, peer_closes, check_end, end_pair, .rivals = ALL_RIVALS };

/* ---- into a buffer that is lent ---- */

RACE_WAITS(borrows, f->w->lent = f->slot.result; f->w->result = f->slot.result.len, coir_recv_lend, .fd = f->w->fd)

static void check_loan(struct world *w)
{
    RACE_EQ(coir_plane_here()->lends->out, w->won ? 1 : 0, "a buffer is out where there is a loan");
    if (w->won)
        RACE_EQ(memcmp(w->lent.data, "hello", 5), 0, "the bytes");
    RACE_EQ(w->result + (size_t)left_in(w->twin), w->filled, "each byte is there once");
    coir_lend_back(&w->lent);
    RACE_EQ(coir_plane_here()->lends->out, 0, "and all are back");
}

static const struct contest lend_contest = {
    "recv_lend", begin_pair, make_borrows, five_come, check_loan, end_pair, .rivals = ALL_RIVALS };

/* ---- sending ---- */

static void fill(struct world *w, int fd)
{
    static char lots[65536];
    ssize_t n;

    MUST(fcntl(fd, F_SETFL, O_NONBLOCK | MUST(fcntl(fd, F_GETFL))));
    for (size_t size = sizeof lots; size; size /= 2) {
        while ((n = write(fd, lots, size)) > 0)
            w->filled += (size_t)n;
    }
    MUST(fcntl(fd, F_SETFL, ~O_NONBLOCK & MUST(fcntl(fd, F_GETFL))));
}

static bool begin_full_pair(struct world *w)
{
    begin_pair(w);
    fill(w, w->fd);
    return true;
}

static bool begin_full_pipe(struct world *w)
{
    int fds[2];

    MUST(pipe2(fds, O_CLOEXEC));
    w->fd = fds[1];
    w->peer = fds[0];
    w->twin = MUST(fcntl(w->fd, F_DUPFD_CLOEXEC, 0));
    fill(w, w->fd);
    return true;
}

/* The peer takes what there is. */
static void drain(struct world *w)
{
    static char lots[65536];
    ssize_t n;

    set_nonblocking(w->peer);
    while ((n = read(w->peer, lots, sizeof lots)) > 0)
        w->number += n;
}

static void check_sent(struct world *w)
{
    drain(w);
    RACE_EQ(w->number, w->filled + w->result, "the peer has got each byte that was sent, once");
    RACE_EQ(w->result, w->won ? 5 : w->contest->partly ? w->result : 0, "who lost has sent none");
}

RACE_WAITS(sends, MOVED, coir_send, .fd = f->w->fd, .buf = "hello", .len = 5)
RACE_WAITS(writes, MOVED, coir_write, .fd = f->w->fd, .buf = "hello", .len = 5)

static char much[4 << 20];

RACE_WAITS(sends_all, MOVED, coir_send_all, .fd = f->w->fd, .buf = much, .len = sizeof much)

static const struct contest send_contest = {
    "send", begin_full_pair, make_sends, drain, check_sent, end_pair, .rivals = ALL_RIVALS };
static const struct contest write_contest = {
    "write to a pipe", begin_full_pipe, make_writes, drain, check_sent, end_pair, .rivals = ALL_RIVALS };
static const struct contest all_contest = {
    "send_all, of a part", begin_pair, make_sends_all, drain, check_sent, end_pair,
    .rivals = ALL_RIVALS, .partly = true };

/* ---- waiting for readiness ---- */

RACE_WAITS(polls, f->w->number = f->slot.result, coir_poll, .fd = f->w->fd, .events = POLLIN)

static void check_poll(struct world *w)
{
    RACE_EQ(w->number, w->won ? POLLIN : 0, "what it says");
    RACE_EQ(left_in(w->twin), 5, "nothing is taken");
}

static const struct contest poll_contest = {
    "poll", begin_pair, make_polls, five_come, check_poll, end_pair, .rivals = ALL_RIVALS };

/* ---- accepting ---- */

static bool begin_listener(struct world *w)
{
    static struct sockaddr_in at;

    w->fd = tcp_listener(&at, 8);
    w->twin = MUST(fcntl(w->fd, F_DUPFD_CLOEXEC, 0));
    w->thing = &at;
    return true;
}

static void connects(struct world *w)
{
    w->peer = MUST(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    MUST(connect(w->peer, w->thing, sizeof(struct sockaddr_in)));
}

RACE_WAITS(accepts, f->w->other = coir_status(&f->slot) ? -1 : f->slot.result, coir_accept, .fd = f->w->fd)

/* The connection is the contender's, or in the queue; on the ring it may be in the shard, which closes it with the
 * listener. */
static void check_accepted(struct world *w)
{
    int fd = w->other;

    RACE_EQ(fd >= 0, w->won, "a descriptor goes with a success");
    if (fd < 0) {
        set_nonblocking(w->twin);
        fd = accept4(w->twin, NULL, NULL, SOCK_CLOEXEC);
    }
    if (fd >= 0) {
        RACE_EQ(write(fd, "x", 1), 1, "it is the connection");
        RACE_EQ(recv(w->peer, w->buf, 1, 0), 1, "and the peer hears of it");
        close(fd);
    } else {
        w->filled = 1;
        RACE_EQ(strcmp(coir_plane_name(), "uring"), 0, "only a ring accepts ahead");
    }
}

static const struct contest accept_contest = {
    "accept", begin_listener, make_accepts, connects, check_accepted, end_pair, .rivals = ALL_RIVALS };

/* ---- connecting ---- */

/* A listener with a place, for a connection that comes about; or without, for one that waits. */
static bool begin_connecting(struct world *w)
{
    static struct sockaddr_in at;

    w->twin = tcp_listener(&at, 0);
    w->thing = &at;
    w->fd = MUST(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (w->order == EVENT_FIRST)
        return true;
    connects(w);                                 /* one has a place behind a backlog of 0 */
    return true;
}

static bool is_connecting(struct world *w)
{
    (void)w;
    return is_sent();
}

/* The kernel hears of it at the end of the turn; the event needs it now. */
static void goes_through(struct world *w)
{
    struct pollfd p = { .fd = w->fd, .events = POLLOUT };

    if (w->order != EVENT_FIRST) {
        close(MUST(accept4(w->twin, NULL, NULL, SOCK_CLOEXEC)));
        return;
    }
    if (coir_plane_here()->kind == &coir_uring)
        coir_uring_enter(coir_uring_self(coir_plane_here()), 0);
    MUST(poll(&p, 1, -1));
}

RACE_WAITS(dials, (void)0, coir_connect, .fd = f->w->fd, .addr = f->w->thing, .addrlen = sizeof(struct sockaddr_in))

static void check_connected(struct world *w)
{
    int fd;

    if (w->order != EVENT_FIRST)
        return;
    fd = accept4(w->twin, NULL, NULL, SOCK_CLOEXEC);
    RACE_OK(fd >= 0, "the other side has it too");
    close(fd);
}

static const struct contest connect_contest = {
    "connect", begin_connecting, make_dials, goes_through, check_connected, end_pair, .rivals = ALL_RIVALS,
    .ready = is_connecting };

int main(void)
{
    WITHOUT_CHANCE("whole");             /* bytes are counted */
    setenv("COIR_TIME", "virtual", 1);
    race_all(&recv_contest);
    race_all(&read_contest);
    race_all(&exact_contest);
    race_all(&half_contest);
    race_all(&fin_contest);
    race_all(&lend_contest);
    race_all(&send_contest);
    race_all(&write_contest);
    race_all(&all_contest);
    race_all(&poll_contest);
    race_all(&accept_contest);
    race_all(&connect_contest);
    return DONE();
}
