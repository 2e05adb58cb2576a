/* SPDX-License-Identifier: MIT */
/*
 * When an await has returned the kernel no longer touches the buffers it was given: each operation that receives
 * something is cancelled, or times out, while it waits; then its buffer is filled with a pattern (and poisoned, under
 * AddressSanitizer, for what coir itself would do to it), what it waited for happens, and the loop turns some more.
 * The pattern must be there afterwards.
 *
 * Files do not wait for a peer: on the pool they are held behind a job, on the ring they end on their own, and then
 * what they read came before the await returned.
 */
#include <signal.h>

#include "runtime/base/assert.h"
#include "world.h"

enum { BYTES = 4096, MARK = 0xC3 };

union operation {
    struct coir_recv recv;
    struct coir_recv_exact recv_exact;
    struct coir_recvmsg recvmsg;
    struct coir_recvfrom recvfrom;
    struct coir_read read;
    struct coir_readv readv;
    struct coir_accept accept;
    struct coir_pread pread;
    struct coir_preadv preadv;
    struct coir_statx statx;
    struct coir_readdir readdir;
};

enum how { RECV, RECV_EXACT, RECVMSG, RECVFROM, READ, READV, ACCEPT, PREAD, PREADV, STATX, READDIR, HOWS };

static const struct how_ { const char *name; enum fixture fixture; enum act late; } hows[HOWS] = {
    [RECV] = { "recv", TCP, SEND5 },
    [RECV_EXACT] = { "recv_exact", UNIX, SEND5 },
    [RECVMSG] = { "recvmsg", TCP, SEND5 },
    [RECVFROM] = { "recvfrom and its address", UDP_APART, SEND5 },
    [READ] = { "read", INFLOW, SEND5 },
    [READV] = { "readv", UNIX, SEND5 },
    [ACCEPT] = { "accept's address", LISTENER, CONNECT },
    [PREAD] = { "pread", FILES, NONE },
    [PREADV] = { "preadv", FILES, NONE },
    [STATX] = { "statx", FILES, NONE },
    [READDIR] = { "readdir", FOLDER, NONE },
};

struct patient {                     /* its memory is what must not be touched */
    unsigned char buf[BYTES];
    struct sockaddr_storage addr;
    socklen_t addrlen;
    struct iovec iov[2];
    struct msghdr msg;
};

struct waits {
    coir_frame_void;
    coir_args(enum how how; int fd; struct patient *p; int *status;);
    union operation u;
};
static coir_declare(waits);

#define AWAIT(slot, op, ...) do { \
    coir_await(f, &f->u.slot, op, __VA_ARGS__); \
    *f->status = coir_status(&f->u.slot); \
    } while (0)

coir_body(waits, f) {
    if (f->how == RECV)
        AWAIT(recv, coir_recv, .fd = f->fd, .buf = f->p->buf, .len = BYTES);
    else if (f->how == RECV_EXACT)
        AWAIT(recv_exact, coir_recv_exact, .fd = f->fd, .buf = f->p->buf, .len = BYTES);
    else if (f->how == RECVMSG)
        AWAIT(recvmsg, coir_recvmsg, .fd = f->fd, .msg = &f->p->msg);
    else if (f->how == RECVFROM)
        AWAIT(recvfrom, coir_recvfrom, .fd = f->fd, .buf = f->p->buf, .len = BYTES, .addr = &f->p->addr,
              .addrlen = &f->p->addrlen);
    else if (f->how == READ)
        AWAIT(read, coir_read, .fd = f->fd, .buf = f->p->buf, .len = BYTES);
    else if (f->how == READV)
        AWAIT(readv, coir_readv, .fd = f->fd, .iov = f->p->iov, .iovcnt = 2);
    else if (f->how == ACCEPT)
        AWAIT(accept, coir_accept, .fd = f->fd, .addr = &f->p->addr, .addrlen = &f->p->addrlen);
    else if (f->how == PREAD)
        AWAIT(pread, coir_pread, .fd = f->fd, .buf = f->p->buf, .len = BYTES, .offset = 0);
    else if (f->how == PREADV)
        AWAIT(preadv, coir_preadv, .fd = f->fd, .iov = f->p->iov, .iovcnt = 2, .offset = 0);
    else if (f->how == STATX)
        AWAIT(statx, coir_statx, .dirfd = AT_FDCWD, .path = "file", .mask = STATX_SIZE, .statxbuf = (void *)f->p->buf);
    else
        AWAIT(readdir, coir_readdir, .fd = f->fd, .buf = f->p->buf, .len = BYTES);
} coir_end

static int64_t hold(void *arg)
{
    const struct timespec ms = { 0, 1000000 };

    while (!__atomic_load_n((int *)arg, __ATOMIC_ACQUIRE))
        nanosleep(&ms, NULL);
    return 0;
}

/* Keeps the only thread for files busy until it is released. */
struct holds {
    coir_frame_void;
    coir_args(int *flag;);
    struct coir_offload offload;
};
static coir_declare(holds);
coir_body(holds, f) {
    coir_await(f, &f->offload, coir_offload, .pool = "file", .fn = hold, .arg = f->flag);
} coir_end

struct case_ { enum how how; bool by_deadline; };

struct whole {
    coir_frame_void;
    coir_args(struct world *w; struct patient *p; const struct case_ *c;);
    int status, flag, i;
    struct coir_group group, held;
    struct coir_group_wait wait;
    struct coir_scope scope;
    struct coir_sleep sleep;
    struct waits waits;
};
static coir_declare(whole);

static void prepare(struct patient *p)
{
    memset(p, 0, sizeof *p);
    p->iov[0] = (struct iovec){ p->buf, 3 };
    p->iov[1] = (struct iovec){ p->buf + 3, BYTES - 3 };
    p->msg = (struct msghdr){ .msg_iov = p->iov, .msg_iovlen = 2 };
}

static bool is_intact(const struct patient *p)
{
    const unsigned char *at = (const unsigned char *)p;
    size_t n = 0;

    while (n < sizeof *p && at[n] == MARK)
        n++;
    return n == sizeof *p;
}

coir_body(whole, f) {
    f->status = 1;
    prepare(f->p);
    coir_group_open(f, &f->group);
    coir_group_open(f, &f->held);
    coir_pool_limit("file", 1);
    f->flag = 0;
    coir_spawn(&f->held, coir_new(holds, .flag = &f->flag));
    coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    if (f->c->by_deadline) {
        coir_within(f, &f->scope, coir_now() + COIR_MS, &f->waits, waits, .how = f->c->how, .fd = f->w->fd, .p = f->p,
                    .status = &f->status);
    } else {
        coir_spawn(&f->group, coir_new(waits, .how = f->c->how, .fd = f->w->fd, .p = f->p, .status = &f->status));
        coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
        coir_group_cancel(&f->group);
    }
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    memset(f->p, MARK, sizeof *f->p);
    coir_asan_poison(f->p, sizeof *f->p);
    act(f->w, hows[f->c->how].late);
    __atomic_store_n(&f->flag, 1, __ATOMIC_RELEASE);
    for (f->i = 0; f->i < 5; f->i++)
        coir_await(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->held);
} coir_end

static int last_status;

struct judge {
    coir_frame_void;
    coir_args(struct world *w; struct patient *p; const struct case_ *c;);
    struct whole whole;
};
static coir_declare(judge);
coir_body(judge, f) {
    coir_await(f, &f->whole, whole, .w = f->w, .p = f->p, .c = f->c);
    last_status = f->whole.status;
} coir_end

static void check(enum how how, bool by_deadline)
{
    static struct world w;
    const struct case_ c = { how, by_deadline };
    struct patient *const p = malloc(sizeof *p);
    const int before = count_fds();

    memset(&w, 0, sizeof w);
    w.fd = w.peer = w.extra = w.other = w.result_fd = -1;
    make_fixture(&w, hows[how].fixture);
    EQ(coir_run(NULL, coir_new(judge, .w = &w, .p = p, .c = &c)), 0, "%s: the run", hows[how].name);
    coir_asan_unpoison(p, sizeof *p);
    if (hows[how].late != NONE)
        EQ(last_status, -ECANCELED, "%s was given up", hows[how].name);
    else
        OK(last_status == 0 || last_status == -ECANCELED, "%s ended, or was given up (%d)", hows[how].name,
           last_status);
    OK(is_intact(p), "%s, %s: nothing was written afterwards", hows[how].name, by_deadline ? "deadline" : "cancelled");
    close_world(&w);
    EQ(count_fds(), before, "%s: no descriptor is left", hows[how].name);
    free(p);
}

int main(void)
{
    const char *const where = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    char folder[64];

    snprintf(folder, sizeof folder, "%s/coir-buffers-XXXXXX", where);
    if (!mkdtemp(folder) || chdir(folder) < 0)
        SKIP_ALL("no folder under %s", where);
    alarm(60);
    for (int how = 0; how < HOWS; how++) {
        check((enum how)how, false);
        check((enum how)how, true);
    }
    unlink("file");
    rmdir("folder");
    if (chdir("/") == 0)
        rmdir(folder);
    return DONE();
}
