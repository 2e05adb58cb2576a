/* SPDX-License-Identifier: MIT */
/*
 * coir_dial: from a name to a connected stream.
 *
 * The attempts of happy eyeballs are members of a group; each leaves what became of it in the dialling task's
 * frame, and ends without failing, since a failing member would cancel the others. A socket has one owner at
 * any time: the attempt, then `won`, then the caller; whoever has it when nobody will take it closes it.
 *
 * What takes room (addresses, the frames of a look-up) is on the heap while it goes on, so that a program's
 * frames do not carry it.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "runtime/ops/dial.h"
#include "runtime/ops/net.h"

/* ---- waiting for an attempt ---- */

static void turn_over(struct coir_alarm *a)
{
    coir_wake(&coir_container_of(a, struct coir_dial_turn, alarm)->task);
}

static void turn_ends(struct coir_dial_turn *op, int status)
{
    if (coir_timer_armed(&op->alarm.timer))
        coir_wheel_remove(&coir_shard_here()->wheel, &op->alarm.timer);
    op->task.status = status;
    coir_wake(&op->task);
}

static void turn_abort(struct coir_task *t)
{
    turn_ends((struct coir_dial_turn *)t, -ECANCELED);
}

coir_step coir_dial_turn_resume(struct coir_task *t)
{
    struct coir_dial_turn *op = (struct coir_dial_turn *)t;

    if (t->state == 0 && coir_is_refused(t)) {
        t->status = -ECANCELED;
    } else if (t->state == 0 && !*op->ended) {
        t->state = 1;
        t->abort = turn_abort;
        op->alarm.fire = turn_over;
        op->alarm.timer.next = NULL;
        if (op->ns)
            coir_wheel_add(&coir_shard_here()->wheel, &op->alarm.timer, coir_now() + op->ns);
        return COIR_PARK_;
    }
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

/* An attempt has ended: whoever waits for that goes on. It may be on its way, or not have begun to wait. */
static void nudge(struct coir_dial_any *d)
{
    d->ended = true;
    if (d->task.awaiting == &d->turn.task && d->turn.task.abort)
        turn_ends(&d->turn, 0);
}

/* ---- an attempt ---- */

struct attempt {
    coir_frame_void;
    coir_args(struct coir_dial_any *dial; const struct sockaddr_storage *addr;);
    int fd;
    union {
        struct coir_socket socket;
        struct coir_connect connect;
    };
};
static coir_declare(attempt);

/* It says less than another failure would: this machine has no way to that address. */
static bool says_little(int status)
{
    return status == -ENETUNREACH || status == -EHOSTUNREACH || status == -EADDRNOTAVAIL || status == -EAFNOSUPPORT
        || status == -EPERM || status == -EACCES || status == -ECANCELED;
}

static void failed(struct coir_dial_any *d, int status)
{
    if (!d->error || (says_little(d->error) && !says_little(status)))
        d->error = status;
}

static void connected(struct coir_dial_any *d, int *fd)
{
    const int one = 1;

    if (d->won >= 0)
        return;
    setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);   /* a Unix socket has none, and says so */
    d->won = *fd;
    *fd = -1;
}

/* Nobody waits on it, and closing a socket does not wait: so it cannot fail for want of memory either. */
static void drop(int fd)
{
    coir_fd_forget(coir_plane_here(), fd);
    coir_count_syscall();
    close(fd);
}

coir_body(attempt, f) {
    f->fd = -1;
    coir_get(f, f->fd, &f->socket, coir_socket, .domain = f->addr->ss_family, .type = SOCK_STREAM);
    coir_try(f, &f->connect, coir_connect, .fd = f->fd, .addr = (const struct sockaddr *)f->addr,
             .addrlen = coir_address_len(f->addr));
    connected(f->dial, &f->fd);
    coir_finally(f) {
        if (f->task.status < 0)
            failed(f->dial, f->task.status);
        f->task.status = 0;
        if (f->fd >= 0)
            drop(f->fd);
        f->dial->live--;
        nudge(f->dial);
    }
} coir_end

/* ---- several ---- */

static void begin_next(struct coir_dial_any *d)
{
    const int err = coir_spawn(&d->group, coir_new(attempt, .dial = d, .addr = &d->addrs[d->next]));

    d->next++;
    if (err)
        failed(d, err);
    else
        d->live++;
}

coir_body(coir_dial_any, f) {
    f->won = -1;
    f->error = 0;
    f->next = f->live = 0;
    coir_group_open(f, &f->group);
    while (f->won < 0 && (f->next < f->n || f->live)) {
        f->ended = false;
        if (f->next < f->n)
            begin_next(f);
        if (f->live)
            coir_try(f, &f->turn, coir_dial_turn, .ns = f->next < f->n ? f->delay : 0, .ended = &f->ended);
    }
    if (f->won < 0)
        coir_fail(f, f->error ? f->error : -EINVAL);
    coir_finally(f) {
        coir_group_cancel(&f->group);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        if (f->won >= 0)                     /* also when it was cancelled: what has been done counts */
            f->task.status = 0;
        f->result = f->won;
    }
} coir_end

/* ---- by name ---- */

enum { ADDRESSES = 16, HOST = 256 };

struct coir_dialling {
    struct sockaddr_storage addrs[ADDRESSES];
    size_t n;
    char host[HOST];
    const char *service;
    union {
        struct coir_resolve resolve;
        struct coir_dial_any any;
    };
};

/* RFC 8305, section 4: the families in turn, beginning with the one that the resolver prefers. */
static void interleave(struct coir_dialling *w)
{
    struct sockaddr_storage in[ADDRESSES];
    size_t at[2] = { 0, 0 };
    const int first = w->addrs[0].ss_family;

    memcpy(in, w->addrs, w->n * sizeof *in);
    for (size_t i = 0; i < w->n; i++) {
        size_t other = i % 2, *next;

        for (int tries = 0; tries < 2; tries++, other = !other) {
            next = &at[other];
            while (*next < w->n && (in[*next].ss_family == first) == (other == 1))
                ++*next;
            if (*next < w->n)
                break;
        }
        w->addrs[i] = in[at[other]++];
    }
}

/* 1: there is an address; 0: there is a name to look up; or a negative errno. */
static int read_where(struct coir_dialling *w, const char *where)
{
    const int len = coir_address(where, w->addrs);
    int family;

    w->n = 1;
    if (len > 0 || len == -ENAMETOOLONG || !strncmp(where, "unix:", 5))
        return len > 0 ? 1 : len;
    family = coir_split_address(where, w->host, sizeof w->host, &w->service);
    return family < 0 ? family : 0;
}

static int begin_dial(struct coir_dial *op)
{
    if (coir_check_pointer(&op->task, op->where, "coir_dial") < 0)
        return -EFAULT;
    op->work = coir_pool_alloc(&coir_shard_here()->pool, sizeof *op->work);
    return op->work ? read_where(op->work, op->where) : -ENOMEM;
}

coir_body(coir_dial, f) {
    f->work = NULL;
    f->found = begin_dial(f);
    if (f->found < 0)
        coir_fail(f, f->found);
    if (f->found == 0) {
        coir_get(f, f->work->n, &f->work->resolve, coir_resolve, .host = f->work->host, .service = f->work->service,
                 .addrs = f->work->addrs, .max = ADDRESSES);
        interleave(f->work);
    }
    coir_get(f, f->result, &f->work->any, coir_dial_any, .addrs = f->work->addrs, .n = f->work->n,
             .delay = COIR_DIAL_DELAY);
    coir_finally(f) {
        if (f->work)
            coir_pool_free(&coir_shard_here()->pool, f->work, sizeof *f->work);
    }
} coir_end
