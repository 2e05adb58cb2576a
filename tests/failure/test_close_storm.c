/* SPDX-License-Identifier: MIT */
/*
 * A storm of closing: many tasks receive, send, accept, dial, poll, splice and borrow on descriptors that others close
 * with coir_close and replace, so that numbers are reused all the time, while operations are cancelled and time out.
 * What an operation says is open, it may meet any file; but each ends, once; nothing is left at the end, neither
 * descriptors nor operations; and a close that succeeded has closed.
 *
 * The seed is printed; COIR_TEST_SEED=n has the same storm again, as far as the kernel plays along.
 */
#include <signal.h>

#include "../ops/net.h"

enum { PLACES = 10, TASKS = 120, CLOSERS = 8, ROOM = 200 };

static uint64_t seed;
static int rounds;

static uint32_t random_below(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 11) % n);
}

/* What is at a place now: a stream and its other end, the two ends of a pipe, or a listener. */
static struct place {
    int fd, peer;
    bool listens;
    union { struct sockaddr_in in; struct sockaddr_storage any; } at;
    char where[COIR_ADDRESS_TEXT];
} places[PLACES];
static uint64_t begun, ended, closed, refused;

static void furnish(struct place *p)
{
    int fds[2];

    p->listens = random_below(4) == 0;
    if (p->listens) {
        p->fd = tcp_listener(&p->at.in, 16);
        p->peer = -1;
        coir_address_text(&p->at.any, sizeof p->at.in, p->where, sizeof p->where);
        return;
    }
    if (random_below(3) == 0)
        MUST(pipe2(fds, O_CLOEXEC));
    else
        make_pair((enum kind)random_below(KINDS), fds);
    p->fd = fds[0];
    p->peer = fds[1];
}

/* ---- one operation ---- */

enum { RECV, RECV_EXACT, LEND, READ, SEND_ALL, WRITE_ALL, ACCEPT, DIAL, POLL, SPLICE, SENDFILE, OPERATIONS };

struct once {
    coir_frame_void;
    coir_args(int kind; int fd; int other; const char *where; int file;);
    char buf[ROOM];
    int result_fd;
    union {
        struct coir_recv recv;
        struct coir_recv_exact recv_exact;
        struct coir_recv_lend lend;
        struct coir_read read;
        struct coir_send_all send_all;
        struct coir_write_all write_all;
        struct coir_accept accept;
        struct coir_dial dial;
        struct coir_poll poll;
        struct coir_splice splice;
        struct coir_sendfile sendfile;
        struct coir_close close;
    };
};
static coir_declare(once);

coir_body(once, f) {
    begun++;
    f->result_fd = -1;
    if (f->kind == RECV)
        coir_await(f, &f->recv, coir_recv, .fd = f->fd, .buf = f->buf, .len = ROOM);
    else if (f->kind == RECV_EXACT)
        coir_await(f, &f->recv_exact, coir_recv_exact, .fd = f->fd, .buf = f->buf, .len = ROOM);
    else if (f->kind == READ)
        coir_await(f, &f->read, coir_read, .fd = f->fd, .buf = f->buf, .len = ROOM);
    else if (f->kind == SEND_ALL)
        coir_await(f, &f->send_all, coir_send_all, .fd = f->other, .buf = f->buf, .len = ROOM);
    else if (f->kind == WRITE_ALL)
        coir_await(f, &f->write_all, coir_write_all, .fd = f->other, .buf = f->buf, .len = ROOM);
    else if (f->kind == POLL)
        coir_await(f, &f->poll, coir_poll, .fd = f->fd, .events = POLLIN);
    else if (f->kind == SPLICE)
        coir_await(f, &f->splice, coir_splice, .fd_in = f->fd, .off_in = -1, .fd_out = f->other, .off_out = -1,
                   .len = ROOM);
    else if (f->kind == SENDFILE)
        coir_await(f, &f->sendfile, coir_sendfile, .out_fd = f->other, .in_fd = f->file, .offset = 0, .count = ROOM);
    if (f->kind == LEND) {
        coir_await(f, &f->lend, coir_recv_lend, .fd = f->fd);
        if (coir_status(&f->lend) == 0)
            coir_lend_back(&f->lend.result);
    }
    if (f->kind == ACCEPT) {
        coir_await(f, &f->accept, coir_accept, .fd = f->fd);
        f->result_fd = coir_status(&f->accept) == 0 ? f->accept.result : -1;
    }
    if (f->kind == DIAL) {
        coir_await(f, &f->dial, coir_dial, .where = f->where);
        f->result_fd = coir_status(&f->dial) == 0 ? f->dial.result : -1;
    }
    ended++;
    coir_finally(f) {
        if (f->result_fd >= 0)
            coir_await(f, &f->close, coir_close, .fd = f->result_fd);
    }
} coir_end

struct busy {
    coir_frame_void;
    coir_args(int file;);
    int round, kind;
    struct place *p;
    char where[COIR_ADDRESS_TEXT];
    struct coir_scope scope;
    struct once once;
};
static coir_declare(busy);

coir_body(busy, f) {
    for (f->round = 0; f->round < rounds; f->round++) {
        f->p = &places[random_below(PLACES)];
        f->kind = f->p->listens ? (random_below(2) ? ACCEPT : DIAL) : (int)random_below(OPERATIONS);
        snprintf(f->where, sizeof f->where, "%s", f->p->listens ? f->p->where : "127.0.0.1:1");
        coir_within(f, &f->scope, coir_now() + (int64_t)random_below(3000) * 1000, &f->once, once, .kind = f->kind,
                    .fd = f->p->fd, .other = f->p->peer, .where = f->where, .file = f->file);
    }
} coir_end

/* Closes what is at a place, both ends by coir_close, and puts something else there. */
struct closer {
    coir_frame_void;
    coir_args(bool *over;);
    struct place *p;
    int fd, peer;
    struct coir_sleep sleep;
    struct coir_close close;
};
static coir_declare(closer);

static void judge_close(int status)
{
    closed += status == 0;
    refused += status != 0;
}

coir_body(closer, f) {
    while (!*f->over) {
        coir_await(f, &f->sleep, coir_sleep, .ns = random_below(500000));
        f->p = &places[random_below(PLACES)];
        f->fd = f->p->fd;
        f->peer = f->p->peer;
        furnish(f->p);               /* the old one is ours alone now */
        coir_await(f, &f->close, coir_close, .fd = f->fd);
        judge_close(coir_status(&f->close));
        if (f->peer >= 0) {
            coir_await(f, &f->close, coir_close, .fd = f->peer);
            judge_close(coir_status(&f->close));
        }
    }
} coir_end

struct storm {
    coir_frame_void;
    coir_no_args;
    int file;
    bool over;
    struct coir_stats stats;
    struct coir_group group, closers;
    struct coir_group_wait wait;
};
static coir_declare(storm);

coir_body(storm, f) {
    f->over = false;
    f->file = MUST(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    for (int i = 0; i < PLACES; i++)
        furnish(&places[i]);
    coir_group_open(f, &f->group);
    coir_group_open(f, &f->closers);
    for (int i = 0; i < CLOSERS; i++)
        coir_spawn(&f->closers, coir_new(closer, .over = &f->over));
    for (int i = 0; i < TASKS; i++)
        coir_spawn(&f->group, coir_new(busy, .file = f->file));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), 0, "everybody came to the end");
    f->over = true;
    coir_await(f, &f->wait, coir_group_wait, .group = &f->closers);
    for (int i = 0; i < PLACES; i++) {
        close(places[i].fd);
        if (places[i].peer >= 0)
            close(places[i].peer);
    }
    close(f->file);
    coir_stats(0, &f->stats);
    EQ(f->stats.submissions, f->stats.completions, "as many operations have ended as were begun");
} coir_end

static void weather(const struct coir_options *o, const char *without, const char *what)
{
    const int before = count_fds();

    if (without)
        setenv("COIR_URING", without, 1);
    begun = ended = closed = refused = 0;
    alarm(60);
    EQ(coir_run(o, coir_new(storm)), 0, "%s", what);
    alarm(0);
    EQ(begun, ended, "%s: every operation has ended, once", what);
    EQ(begun, (uint64_t)TASKS * (uint64_t)rounds, "%s: all were begun", what);
    EQ(refused, 0, "%s: every close has closed (%llu)", what, (unsigned long long)closed);
    EQ(count_fds(), before, "%s: no descriptor is left", what);
    unsetenv("COIR_URING");
}

int main(void)
{
    static const struct coir_options tiny = { .ring_entries = 8 }, usual = { 0 };
    const char *const given = getenv("COIR_TEST_SEED");
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)now.tv_nsec * 2654435761u + (uint64_t)getpid();
    seed = seed ? seed : 1;
    rounds = getenv("COIR_TEST_LONG") ? 3000 : 250;
    NOTE("COIR_TEST_SEED=%llu", (unsigned long long)seed);
    weather(&usual, NULL, "a ring of the usual size");
    weather(&tiny, NULL, "a ring of 8");
    weather(&tiny, "-multishot,-msg_ring,-defer,-coop,-submit_all,-bufring,-poll_first", "an old ring of 8");
    return DONE();
}
