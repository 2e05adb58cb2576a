/* SPDX-License-Identifier: MIT */
/*
 * A storm: hundreds of tasks send and receive over a few sockets and pipes, all at once, through a ring of 8 entries,
 * while operations are cancelled at random, time out, and signals interrupt whatever can be. Then the books must
 * balance: every operation has ended once, as many were begun as ended, and every byte that was sent has been
 * received or is still there. Cancelled I/O loses nothing, and receives nothing twice.
 *
 * The seed is printed; COIR_TEST_SEED=n has the same storm again, as far as the kernel plays along.
 */
#include <signal.h>
#include <sys/time.h>

#include "../ops/net.h"

enum { PAIRS = 12, TASKS = 500, LARGEST = 3000 };

static uint64_t seed;
static int rounds;

static uint32_t random_below(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 11) % n);
}

/* A stream of bytes, by number: what was sent, what was received, in bytes. */
struct stream {
    int in, out;
    bool is_pipe;
    uint64_t sent, received;
};

static struct stream streams[2 * PAIRS];
static struct coir_scope *open_scopes[TASKS];
static uint64_t begun, ended, strange, cancelled, succeeded;

static void make_streams(void)
{
    memset(streams, 0, sizeof streams);
    for (int i = 0; i < PAIRS; i++) {
        int fds[2];

        make_pair((enum kind)(i % KINDS), fds);
        streams[2 * i] = (struct stream){ .in = fds[0], .out = fds[1] };
        MUST(pipe2(fds, O_CLOEXEC | (i % 2 ? O_NONBLOCK : 0)));
        streams[2 * i + 1] = (struct stream){ .in = fds[0], .out = fds[1], .is_pipe = true };
    }
}

/* To the end: what TCP could not deliver yet, since its receiver was full, lies with the sender. */
static uint64_t left_in(struct stream *s)
{
    static char away[65536];
    uint64_t n = 0;
    ssize_t got;

    close(s->out);
    while ((got = read(s->in, away, sizeof away)) > 0 || (got < 0 && errno == EAGAIN)) {
        if (got > 0)
            n += (uint64_t)got;
        else
            poll(&(struct pollfd){ .fd = s->in, .events = POLLIN }, 1, -1);
    }
    close(s->in);
    return n;
}

/* ---- one operation ---- */

enum { RECV, RECV_EXACT, RECVMSG, READ, READV, SEND, SEND_ALL, WRITE, WRITE_ALL, POLL, KINDS_OF_OPERATION };

struct once {
    coir_frame(size_t);
    coir_args(int kind; struct stream *s; char *buf; size_t len;);
    struct iovec iov;
    struct msghdr msg;
    union {
        struct coir_recv recv;
        struct coir_recv_exact recv_exact;
        struct coir_recvmsg recvmsg;
        struct coir_read read;
        struct coir_readv readv;
        struct coir_send send;
        struct coir_send_all send_all;
        struct coir_write write;
        struct coir_write_all write_all;
        struct coir_poll poll;
    };
};
static coir_declare(once);

#define DO(slot, op, ...) do { \
    coir_await(f, &f->slot, op, __VA_ARGS__); \
    f->task.status = coir_status(&f->slot); \
    f->result = (size_t)f->slot.result; \
    } while (0)

coir_body(once, f) {
    begun++;
    f->iov = (struct iovec){ f->buf, f->len };
    f->msg = (struct msghdr){ .msg_iov = &f->iov, .msg_iovlen = 1 };
    if (f->kind == POLL)
        DO(poll, coir_poll, .fd = f->s->in, .events = POLLIN);
    else if (f->kind == READV)
        DO(readv, coir_readv, .fd = f->s->in, .iov = &f->iov, .iovcnt = 1);
    else if (f->kind == READ || (f->kind < READ && f->s->is_pipe))
        DO(read, coir_read, .fd = f->s->in, .buf = f->buf, .len = f->len);
    else if (f->kind == RECV)
        DO(recv, coir_recv, .fd = f->s->in, .buf = f->buf, .len = f->len);
    else if (f->kind == RECV_EXACT)
        DO(recv_exact, coir_recv_exact, .fd = f->s->in, .buf = f->buf, .len = f->len);
    else if (f->kind == RECVMSG)
        DO(recvmsg, coir_recvmsg, .fd = f->s->in, .msg = &f->msg);
    else if (f->kind == WRITE_ALL || (f->kind == SEND_ALL && f->s->is_pipe))
        DO(write_all, coir_write_all, .fd = f->s->out, .buf = f->buf, .len = f->len);
    else if (f->kind == WRITE || f->s->is_pipe)
        DO(write, coir_write, .fd = f->s->out, .buf = f->buf, .len = f->len);
    else if (f->kind == SEND)
        DO(send, coir_send, .fd = f->s->out, .buf = f->buf, .len = f->len);
    else
        DO(send_all, coir_send_all, .fd = f->s->out, .buf = f->buf, .len = f->len);
    ended++;
} coir_end

/* ---- many of them ---- */

struct busy {
    coir_frame_void;
    coir_args(int id;);
    int round;
    int kind;
    int64_t deadline;
    struct stream *s;
    size_t len;
    struct coir_scope scope;
    struct once once;
    char buf[LARGEST];
};
static coir_declare(busy);

static void account(struct busy *f)
{
    const int status = coir_status(&f->once);

    if (f->kind < SEND)
        f->s->received += f->once.result;
    else if (f->kind < POLL)
        f->s->sent += f->once.result;
    succeeded += status == 0;
    cancelled += status == -ECANCELED || status == -ETIMEDOUT;
    if (status && status != -ECANCELED && status != -ETIMEDOUT) {
        strange++;
        NOTE("kind %d: %s", f->kind, coir_strerror(status));
    }
}

coir_body(busy, f) {
    for (f->round = 0; f->round < rounds; f->round++) {
        f->kind = (int)random_below(KINDS_OF_OPERATION);
        f->s = &streams[random_below(2 * PAIRS)];
        f->len = 1 + random_below(LARGEST - 1);
        f->deadline = coir_now() + (int64_t)random_below(4000) * 1000;
        open_scopes[f->id] = &f->scope;
        coir_within(f, &f->scope, f->deadline, &f->once, once, .kind = f->kind, .s = f->s, .buf = f->buf,
                    .len = f->len);
        open_scopes[f->id] = NULL;
        account(f);
    }
} coir_end

/* Cancels whom it meets, until nobody is left. */
struct chaos {
    coir_frame_void;
    coir_args(bool *over;);
    int i;
    struct coir_sleep sleep;
    struct coir_pass pass;
};
static coir_declare(chaos);

coir_body(chaos, f) {
    while (!*f->over) {
        for (f->i = 0; f->i < 60; f->i++) {
            struct coir_scope *const scope = open_scopes[random_below(TASKS)];
            if (scope)
                coir_scope_cancel(scope);
        }
        if (random_below(3))
            coir_await(f, &f->pass, coir_pass);
        else
            coir_await(f, &f->sleep, coir_sleep, .ns = random_below(400000));
    }
} coir_end

struct storm {
    coir_frame_void;
    coir_no_args;
    bool over;
    struct coir_stats stats;
    struct coir_group group, chaos;
    struct coir_group_wait wait;
};
static coir_declare(storm);

coir_body(storm, f) {
    f->over = false;
    coir_group_open(f, &f->group);
    coir_group_open(f, &f->chaos);
    coir_spawn(&f->chaos, coir_new(chaos, .over = &f->over));
    for (int i = 0; i < TASKS; i++)
        coir_spawn(&f->group, coir_new(busy, .id = i));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    f->over = true;
    coir_await(f, &f->wait, coir_group_wait, .group = &f->chaos);
    coir_stats(0, &f->stats);
    EQ(f->stats.submissions, f->stats.completions, "as many operations have ended as were begun");
    OK(f->stats.submissions > 0, "some were");
    EQ(f->stats.stale, 0, "no completion of one that was over");
} coir_end

static void balance(void)
{
    for (int i = 0; i < 2 * PAIRS; i++) {
        struct stream *const s = &streams[i];

        EQ(s->received + left_in(s), s->sent, "stream %d: what was sent was received, or is there", i);
    }
}

static void interrupted(int signal)
{
    (void)signal;
}

/* A signal every `us` microseconds, whose handler does nothing and has no SA_RESTART; 0: no more. */
static void thunder(long us)
{
    const struct itimerval every = { { 0, us }, { 0, us } };

    sigaction(SIGALRM, &(struct sigaction){ .sa_handler = interrupted }, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
}

static void weather(const struct coir_options *o, const char *without, long us, const char *what)
{
    const int before = count_fds();

    if (without)
        setenv("COIR_URING", without, 1);
    begun = ended = strange = cancelled = succeeded = 0;
    make_streams();
    thunder(us);
    EQ(coir_run(o, coir_new(storm)), 0, "%s", what);
    thunder(0);
    balance();
    EQ(ended, begun, "%s: every operation has ended, once", what);
    EQ(begun, (uint64_t)TASKS * (uint64_t)rounds, "%s: all were begun", what);
    EQ(strange, 0, "%s: each succeeded or was cancelled", what);
    OK(cancelled > 0 && succeeded > 0, "%s: some did (%llu), some were (%llu)", what, (unsigned long long)succeeded,
       (unsigned long long)cancelled);
    EQ(count_fds(), before, "%s: no descriptor is left", what);
    unsetenv("COIR_URING");
}

int main(void)
{
    static const struct coir_options tiny = { .ring_entries = 8 }, two = { .ring_entries = 2 }, usual = { 0 };
    const char *const given = getenv("COIR_TEST_SEED"), *const old = "-multishot,-msg_ring,-defer,-coop,-submit_all,"
        "-bufring,-poll_first";
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)now.tv_nsec * 2654435761u + (uint64_t)getpid();
    seed = seed ? seed : 1;
    rounds = getenv("COIR_TEST_LONG") ? 500 : 40;
    NOTE("COIR_TEST_SEED=%llu", (unsigned long long)seed);
    weather(&usual, NULL, 0, "a ring of the usual size");
    weather(&tiny, NULL, 0, "a ring of 8");
    weather(&two, NULL, 0, "a ring of 2");
    weather(&tiny, old, 0, "an old ring of 8");
    weather(&tiny, NULL, 150, "a ring of 8, and signals");
    weather(&tiny, old, 150, "an old ring of 8, and signals");
    return DONE();
}
