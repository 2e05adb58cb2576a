/* SPDX-License-Identifier: MIT */
/*
 * coir_recv_lend: data, the end of a stream, resets, cancelling in every state; what happens when every buffer is
 * lent; giving back in any order, twice, never. On the plane the environment says, and on the ring with and without
 * its provided buffers.
 */
#include <coir/coir.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "runtime/plane/lends.h"
#include "runtime/plane/uring.h"
#include "tap.h"
#include "tests/ops/clients.h"

static const char *variant;

static void pair(int fds[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        exit(1);
}

/* One receive as a task of its own. */
struct one {
    coir_frame_void;
    coir_args(int fd; struct coir_lent *lent; int *status; int *order; int64_t deadline;);
    struct coir_recv_lend recv;
    struct coir_scope scope;
};
static coir_declare(one);

static int ended;

coir_body(one, f) {
    coir_within(f, &f->scope, f->deadline ? f->deadline : COIR_NEVER, &f->recv, coir_recv_lend, .fd = f->fd);
    *f->lent = f->recv.result;
    *f->status = coir_status(&f->recv);
    if (f->order)
        *f->order = ++ended;
} coir_end

/* ---- the simple things ---- */

struct plain {
    coir_frame_void;
    coir_no_args;
    int fds[2];
    char big[3 * COIR_LENT_MAX];
    size_t got;
    struct coir_lent lent, more;
    struct coir_group group;
    int status;
    union {
        struct coir_recv_lend recv;
        struct coir_recv plain;
        struct coir_close close;
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_group_wait wait;
    };
};
static coir_declare(plain);

coir_body(plain, f) {
    pair(f->fds);
    EQ(write(f->fds[1], "hello", 5), 5, "%s: the peer writes", variant);
    coir_get(f, f->lent, &f->recv, coir_recv_lend, .fd = f->fds[0]);
    EQ(f->lent.len, 5, "%s: its length", variant);
    if (strcmp(coir_plane_name(), "uring") == 0)
        EQ(coir_uring_self(coir_plane_here())->buffers != NULL, !strstr(variant, "-bufring"),
           "%s: the kernel picks the buffer, unless it may not", variant);
    MEM_EQ(f->lent.data, "hello", 5, "%s: its bytes", variant);
    ((char *)f->lent.data)[0] = 'j';                 /* the loan is writable */
    EQ(write(f->fds[1], "again", 5), 5, "%s: more", variant);
    coir_get(f, f->more, &f->recv, coir_recv_lend, .fd = f->fds[0]);
    MEM_EQ(f->more.data, "again", 5, "%s: a second loan", variant);
    MEM_EQ(f->lent.data, "jello", 5, "%s: leaves the first as it was", variant);
    OK(f->lent.data != f->more.data, "%s: in another buffer", variant);
    coir_lend_back(&f->lent);
    coir_lend_back(&f->more);
    EQ(f->lent.len, 0, "%s: given back, it is empty", variant);
    /* a wait, then data */
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(one, .fd = f->fds[0], .lent = &f->lent, .status = &f->status));
    SETTLE(f);
    EQ(write(f->fds[1], "later", 5), 5, "%s: it waits", variant);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, 0, "%s: until there is data", variant);
    MEM_EQ(f->lent.data, "later", 5, "%s: this", variant);
    coir_lend_back(&f->lent);
    /* more than a buffer holds */
    memset(f->big, 'b', sizeof f->big);
    EQ(write(f->fds[1], f->big, sizeof f->big), (ssize_t)sizeof f->big, "%s: three buffers full", variant);
    for (f->got = 0; f->got < sizeof f->big;) {
        coir_get(f, f->lent, &f->recv, coir_recv_lend, .fd = f->fds[0]);
        if (f->lent.len < 1 || f->lent.len > COIR_LENT_MAX)
            break;
        f->got += f->lent.len;
        coir_lend_back(&f->lent);
    }
    EQ(f->got, sizeof f->big, "%s: come in pieces", variant);
    /* mixed with coir_recv */
    EQ(write(f->fds[1], "mixed", 5), 5, "%s: once more", variant);
    coir_await(f, &f->plain, coir_recv, .fd = f->fds[0], .buf = f->big, .len = 2);
    EQ(f->plain.result, 2, "%s: coir_recv takes two", variant);
    coir_get(f, f->lent, &f->recv, coir_recv_lend, .fd = f->fds[0]);
    EQ(f->lent.len, 3, "%s: the loan has the rest", variant);
    coir_lend_back(&f->lent);
    /* the end */
    close(f->fds[1]);
    for (f->got = 0; f->got < 2; f->got++) {
        coir_get(f, f->lent, &f->recv, coir_recv_lend, .fd = f->fds[0]);
        EQ(f->lent.len, 0, "%s: the end", variant);
        OK(f->lent.data == NULL, "%s: has no buffer", variant);
        coir_lend_back(&f->lent);
        coir_lend_back(&f->lent);                    /* nothing, as often as one likes */
    }
    coir_try(f, &f->close, coir_close, .fd = f->fds[0]);
} coir_end

struct errors {
    coir_frame_void;
    coir_no_args;
    int fds[2], listener, status;
    struct coir_lent lent;
    struct coir_group group;
    struct linger at_once;
    union {
        struct coir_recv_lend recv;
        struct coir_accept accept;
        struct coir_close close;
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_group_wait wait;
    };
};
static coir_declare(errors);

coir_body(errors, f) {
    coir_await(f, &f->recv, coir_recv_lend, .fd = -1);
    EQ(coir_status(&f->recv), -EBADF, "%s: -1", variant);
    coir_await(f, &f->recv, coir_recv_lend, .fd = 1000);
    EQ(coir_status(&f->recv), -EBADF, "%s: not open", variant);
    EQ(pipe2(f->fds, O_CLOEXEC), 0, "a pipe");
    coir_await(f, &f->recv, coir_recv_lend, .fd = f->fds[0]);
    EQ(coir_status(&f->recv), -ENOTSOCK, "%s: a pipe", variant);
    close(f->fds[1]);
    coir_await(f, &f->close, coir_close, .fd = f->fds[0]);
    f->fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    coir_await(f, &f->recv, coir_recv_lend, .fd = f->fds[0]);
    EQ(coir_status(&f->recv), -ENOTCONN, "%s: not connected", variant);
    coir_await(f, &f->close, coir_close, .fd = f->fds[0]);
    /* a reset while it waits, with nothing and then with something to read before */
    f->listener = coir_listen("127.0.0.1:0", NULL);
    f->fds[1] = client(port_of(f->listener));
    coir_get(f, f->fds[0], &f->accept, coir_accept, .fd = f->listener);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(one, .fd = f->fds[0], .lent = &f->lent, .status = &f->status));
    SETTLE(f);
    f->at_once = (struct linger){ .l_onoff = 1 };
    setsockopt(f->fds[1], SOL_SOCKET, SO_LINGER, &f->at_once, sizeof f->at_once);
    close(f->fds[1]);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, -ECONNRESET, "%s: a reset", variant);
    EQ(f->lent.len, 0, "%s: lends nothing", variant);
    coir_await(f, &f->close, coir_close, .fd = f->fds[0]);
    coir_await(f, &f->close, coir_close, .fd = f->listener);
} coir_end

/* ---- cancelling ---- */

enum { STORM = 300 };

struct cancels {
    coir_frame_void;
    coir_no_args;
    int fds[2], status[STORM], i, good, bytes, sent, late;
    unsigned seed;
    struct coir_lent lent[STORM], last;
    struct coir_group group;
    union {
        struct coir_recv_lend recv;
        struct coir_close close;
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_group_wait wait;
    };
};
static coir_declare(cancels);

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

coir_body(cancels, f) {
    pair(f->fds);
    /* in a cancelled scope: once, without waiting */
    for (f->i = 0; f->i < 2; f->i++) {
        if (f->i == 1)
            EQ(write(f->fds[1], "x", 1), 1, "%s: a byte", variant);
        coir_group_open(f, &f->group);
        coir_group_cancel(&f->group);
        coir_spawn(&f->group, coir_new(one, .fd = f->fds[0], .lent = &f->lent[0], .status = &f->status[0]));
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        EQ(f->status[0], f->i ? 0 : -ECANCELED, "%s: cancelled before, %s data", variant, f->i ? "with" : "without");
        coir_lend_back(&f->lent[0]);
    }
    /* deadlines among arrivals: every byte sent is received once, by whoever was not cancelled */
    f->seed = 3;
    f->sent = 0;
    coir_group_open(f, &f->group);
    for (f->i = 0; f->i < STORM; f->i++) {
        coir_spawn(&f->group, coir_new(one, .fd = f->fds[0], .lent = &f->lent[f->i], .status = &f->status[f->i],
                                       .deadline = coir_now() + (int64_t)(next(&f->seed) % 1000) * 1000));
        if (next(&f->seed) % 2)
            f->sent += (int)write(f->fds[1], "xyz", 1 + next(&f->seed) % 3);
        if (next(&f->seed) % 4 == 0)
            coir_await(f, &f->sleep, coir_sleep, .ns = (int64_t)(next(&f->seed) % 300) * 1000);
    }
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    f->good = f->bytes = 0;
    for (int i = 0; i < STORM; i++) {
        f->good += f->status[i] == -ETIMEDOUT ? f->lent[i].len == 0 : f->status[i] == 0 && f->lent[i].len > 0;
        f->bytes += (int)f->lent[i].len;
        coir_lend_back(&f->lent[i]);
    }
    EQ(f->good, STORM, "%s: each ends with data or without", variant);
    close(f->fds[1]);
    f->late = 0;
    do {
        coir_get(f, f->last, &f->recv, coir_recv_lend, .fd = f->fds[0]);
        f->late += (int)f->last.len;
        coir_lend_back(&f->last);
    } while (coir_status(&f->recv) == 0 && f->recv.result.len);
    EQ(f->bytes + f->late, f->sent, "%s: no byte is lost or doubled", variant);
    NOTE("%s: %d of %d bytes in time", variant, f->bytes, f->sent);
    coir_try(f, &f->close, coir_close, .fd = f->fds[0]);
} coir_end

/* A close of the descriptor ends the receives on it. */
struct closing {
    coir_frame_void;
    coir_no_args;
    int fds[2], status[20], right;
    struct coir_lent lent[20];
    struct coir_group group;
    union {
        struct coir_close close;
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_group_wait wait;
    };
};
static coir_declare(closing);

coir_body(closing, f) {
    pair(f->fds);
    coir_group_open(f, &f->group);
    for (int i = 0; i < 20; i++)
        coir_spawn(&f->group, coir_new(one, .fd = f->fds[0], .lent = &f->lent[i], .status = &f->status[i]));
    SETTLE(f);
    coir_try(f, &f->close, coir_close, .fd = f->fds[0]);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    f->right = 0;
    for (int i = 0; i < 20; i++)
        f->right += f->status[i] == -ECANCELED && f->lent[i].len == 0;
    EQ(f->right, 20, "%s: a close ends the receives", variant);
    close(f->fds[1]);
} coir_end

/* ---- all buffers lent ---- */

enum { WAITERS = 6 };

struct all_out {
    coir_frame_void;
    coir_no_args;
    int fds[2], n, done;
    int others[WAITERS][2], status[WAITERS], order[WAITERS];
    struct coir_lent *held, lent[WAITERS];
    struct coir_stats then, now;
    struct coir_group group;
    union {
        struct coir_recv_lend recv;
        struct coir_close close;
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_group_wait wait;
    };
};
static coir_declare(all_out);

/* How many of the loans from `from` to `to` hold their own number. */
static int right(const struct coir_lent *lent, int from, int to)
{
    int n = 0;

    for (int i = from; i < to; i++)
        n += lent[i].len == sizeof i && memcmp(lent[i].data, &i, sizeof i) == 0;
    return n;
}

static void close_pair(const int fds[2], bool both)
{
    close(fds[0]);
    if (both)
        close(fds[1]);
}

/* Every buffer is lent. Six more wait: 0 and 5 have no data; 1 is cancelled, 2, 3 and 4 have some. Three
 * come back, in the order last, first, middle. */
coir_body(all_out, f) {
    f->held = calloc(COIR_LENT_BUFFERS, sizeof *f->held);
    pair(f->fds);
    for (f->n = 0; f->n < COIR_LENT_BUFFERS; f->n++) {
        if (write(f->fds[1], &f->n, sizeof f->n) != sizeof f->n)
            break;
        coir_get(f, f->held[f->n], &f->recv, coir_recv_lend, .fd = f->fds[0]);
    }
    EQ(right(f->held, 0, f->n), COIR_LENT_BUFFERS, "%s: each of all the buffers has its own", variant);
    ended = 0;
    coir_group_open(f, &f->group);
    for (int i = 0; i < WAITERS; i++) {
        pair(f->others[i]);
        f->status[i] = f->order[i] = 0;
        if (i > 0 && i < 5 && write(f->others[i][1], &i, sizeof i) < 0)
            break;
        coir_spawn(&f->group, coir_new(one, .fd = f->others[i][0], .lent = &f->lent[i], .status = &f->status[i],
                                       .order = &f->order[i], .deadline = i == 1 ? coir_now() + COIR_MS : 0));
    }
    SETTLE(f);
    SETTLE(f);
    EQ(ended, 1, "%s: who has data waits for a buffer", variant);
    EQ(f->status[1], -ETIMEDOUT, "%s: and may be cancelled", variant);
    coir_stats(0, &f->then);
    coir_await(f, &f->sleep, coir_sleep, .ns = 20 * COIR_MS);
    coir_stats(0, &f->now);
    OK(f->now.turns - f->then.turns < 5, "%s: nothing spins meanwhile", variant);
    coir_lend_back(&f->held[f->n - 1]);
    coir_lend_back(&f->held[0]);
    SETTLE(f);
    EQ(f->order[2], 2, "%s: the oldest of them is the first", variant);
    EQ(f->order[3], 3, "%s: then the next", variant);
    EQ(f->order[4], 0, "%s: the third still waits", variant);
    coir_lend_back(&f->held[f->n / 2]);
    SETTLE(f);
    EQ(f->order[4], 4, "%s: for its own", variant);
    EQ(right(f->lent, 2, 5), 3, "%s: with their data", variant);
    for (int i = 2; i < 5; i++)
        coir_lend_back(&f->lent[i]);
    /* the two that had none: one gets some, the other's peer closes */
    f->done = (int)write(f->others[0][1], "0", 1);
    close(f->others[5][1]);
    SETTLE(f);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status[0] == 0 && f->lent[0].len == 1, 1, "%s: data that comes late", variant);
    EQ(f->status[5] == 0 && f->lent[5].len == 0, 1, "%s: an end that comes late", variant);
    coir_lend_back(&f->lent[0]);
    for (int i = 1; i < f->n - 1; i++) {
        if (i != f->n / 2)
            coir_lend_back(&f->held[i]);
    }
    for (int i = 0; i < WAITERS; i++)
        close_pair(f->others[i], i != 5);
    /* and all of them can be lent again */
    for (f->n = 0; f->n < COIR_LENT_BUFFERS; f->n++) {
        if (write(f->fds[1], &f->n, sizeof f->n) != sizeof f->n)
            break;
        coir_get(f, f->held[f->n], &f->recv, coir_recv_lend, .fd = f->fds[0]);
    }
    EQ(f->n, COIR_LENT_BUFFERS, "%s: they are all there", variant);
    for (int i = 0; i < f->n; i++)
        coir_lend_back(&f->held[(i * 7) % f->n]);
    close_pair(f->fds, true);
    free(f->held);
} coir_end

/* Idle receives hold no buffers: more of them than there are, and then data for each. */
enum { IDLE = 200 };

struct idle {
    coir_frame_void;
    coir_no_args;
    int fds[IDLE][2], status[IDLE], right;
    struct coir_lent lent[IDLE];
    struct coir_group group;
    union {
        struct coir_sleep sleep;
        struct settle settle;
        struct coir_group_wait wait;
    };
};
static coir_declare(idle);

coir_body(idle, f) {
    coir_group_open(f, &f->group);
    for (int i = 0; i < IDLE; i++) {
        pair(f->fds[i]);
        coir_spawn(&f->group, coir_new(one, .fd = f->fds[i][0], .lent = &f->lent[i], .status = &f->status[i]));
    }
    SETTLE(f);
    EQ(coir_plane_here()->lends->out, 0, "%s: %d that wait have no buffer", variant, IDLE);
    f->right = 0;
    for (int i = 0; i < IDLE; i++)
        f->right += (int)write(f->fds[i][1], &i, sizeof i);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    f->right = 0;
    for (int i = 0; i < IDLE; i++) {
        f->right += f->lent[i].len == sizeof i && memcmp(f->lent[i].data, &i, sizeof i) == 0;
        coir_lend_back(&f->lent[i]);
        close(f->fds[i][0]);
        close(f->fds[i][1]);
    }
    EQ(f->right, IDLE, "%s: each gets its own", variant);
} coir_end

/* ---- what stops the program, or is reported ---- */

struct wrong {
    coir_frame_void;
    coir_args(int how;);
    int fds[2];
    struct coir_lent lent, copy;
    struct coir_recv_lend recv;
};
static coir_declare(wrong);

enum { TWICE, BY_A_COPY, LENT_AGAIN, NEVER };

coir_body(wrong, f) {
    pair(f->fds);
    if (write(f->fds[1], "x", 1) != 1)
        _exit(9);
    coir_get(f, f->lent, &f->recv, coir_recv_lend, .fd = f->fds[0]);
    f->copy = f->lent;
    if (f->how == NEVER)
        coir_return(f);
    coir_lend_back(&f->lent);
    if (f->how == TWICE)
        coir_lend_back(&f->lent);
    if (f->how == BY_A_COPY)
        coir_lend_back(&f->copy);
    if (write(f->fds[1], "y", 1) != 1)
        _exit(9);
    coir_get(f, f->lent, &f->recv, coir_recv_lend, .fd = f->fds[0]);
    if (f->lent.buffer == f->copy.buffer)
        coir_lend_back(&f->copy);
    abort();                                         /* another buffer: that is as good */
} coir_end

/* Runs it in a child: how that ended, and what it wrote to stderr. */
static int in_a_child(int how, char *said, size_t size)
{
    int out[2], status;
    ssize_t n;
    size_t at = 0;

    if (pipe(out) < 0)
        return -1;
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], 2);
        close(out[0]);
        _exit(coir_run(NULL, coir_new(wrong, .how = how)) == 0 ? 7 : 8);
    }
    close(out[1]);
    while (at < size - 1 && (n = read(out[0], said + at, size - 1 - at)) > 0)
        at += (size_t)n;
    said[at] = '\0';
    close(out[0]);
    waitpid(pid, &status, 0);
    return status;
}

static void test_wrong(void)
{
    char said[4000];
    int status;

    for (int how = TWICE; how <= LENT_AGAIN; how++) {
        status = in_a_child(how, said, sizeof said);
        OK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%s: giving back twice (%d) stops the program",
           variant, how);
    }
    status = in_a_child(NEVER, said, sizeof said);
    OK(WIFEXITED(status) && WEXITSTATUS(status) == 7, "%s: never giving back does not", variant);
    OK(strstr(said, "task wrong at") && strstr(said, "test_lend.c"), "%s: but is named", variant);
}

/* ---- all of it ---- */

static void run(const char *what, const struct coir_options *o, struct coir_task *t)
{
    EQ(coir_run(o, t), 0, "%s: %s ends", variant, what);
}

static void run_all(const struct coir_options *o)
{
    run("plain", o, coir_new(plain));
    run("errors", o, coir_new(errors));
    run("cancels", o, coir_new(cancels));
    run("closing", o, coir_new(closing));
    run("idle", o, coir_new(idle));
}

int main(void)
{
    static const char *const variants[] = { "", "-bufring", "-multishot,-msg_ring,-defer", "-bufring,-defer,-coop" };
    const struct coir_options tiny = { .ring_entries = 8 };
    const char *plane = getenv("COIR_IO");
    const bool ring = !plane || strcmp(plane, "epoll") != 0;

    WITHOUT_CHANCE("fifo,whole,prompt");      /* it scripts steps, and says how many bytes there are at once */
    for (size_t i = 0; i < (ring ? sizeof variants / sizeof *variants : 1); i++) {
        setenv("COIR_URING", variants[i], 1);
        variant = ring ? variants[i] : "epoll";
        run_all(NULL);
        if (ring)
            run_all(&tiny);
        run("all out", NULL, coir_new(all_out));
        test_wrong();
    }
    return DONE();
}
