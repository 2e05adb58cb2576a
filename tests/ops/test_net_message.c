/* SPDX-License-Identifier: MIT */
/*
 * recvmsg and sendmsg: pieces, names, control data, descriptors passed over Unix sockets, and how they end.
 */
#include <sys/stat.h>

#include "ops/net.h"

/* Control data for up to four descriptors. */
union control {
    char bytes[CMSG_SPACE(4 * sizeof(int))];
    size_t align;
};

static void put_fds(struct msghdr *msg, union control *c, const int *fds, size_t n)
{
    memset(c, 0, sizeof *c);
    msg->msg_control = c;
    msg->msg_controllen = CMSG_SPACE(n * sizeof *fds);
    struct cmsghdr *h = CMSG_FIRSTHDR(msg);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(n * sizeof *fds);
    memcpy(CMSG_DATA(h), fds, n * sizeof *fds);
}

/* How many descriptors came. */
static size_t take_fds(struct msghdr *msg, int *fds)
{
    const struct cmsghdr *h = CMSG_FIRSTHDR(msg);

    if (!h || h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
        return 0;
    memcpy(fds, CMSG_DATA(h), h->cmsg_len - CMSG_LEN(0));
    return (h->cmsg_len - CMSG_LEN(0)) / sizeof *fds;
}

struct passes {
    coir_frame_void;
    coir_args(enum kind kind;);
    int fd[2], pipe[2], got[4];
    size_t n;
    char a[4], b[8];
    struct iovec iov[3];
    struct msghdr msg;
    union control control;
    struct coir_recvmsg recv;
    struct coir_sendmsg send;
    struct coir_scope scope;
};
static coir_declare(passes);

coir_body(passes, f) {
    make_pair(f->kind, f->fd);
    f->iov[0] = (struct iovec){ "abc", 3 };
    f->iov[1] = (struct iovec){ NULL, 0 };
    f->iov[2] = (struct iovec){ "defgh", 5 };
    f->msg = (struct msghdr){ .msg_iov = f->iov, .msg_iovlen = 3 };
    coir_get(f, f->n, &f->send, coir_sendmsg, .fd = f->fd[0], .msg = &f->msg);
    EQ(f->n, 8, "sendmsg: three pieces");
    f->iov[0] = (struct iovec){ f->a, 2 };
    f->iov[1] = (struct iovec){ f->b, 8 };
    f->msg = (struct msghdr){ .msg_iov = f->iov, .msg_iovlen = 2, .msg_flags = 77 };
    coir_get(f, f->n, &f->recv, coir_recvmsg, .fd = f->fd[1], .msg = &f->msg);
    EQ(f->n, 8, "recvmsg: into two");
    MEM_EQ(f->a, "ab", 2, "the first");
    MEM_EQ(f->b, "cdefgh", 6, "and the second");
    EQ(f->msg.msg_flags & ~MSG_CMSG_CLOEXEC, 0, "its flags are set");

    coir_await(f, &f->recv, coir_recvmsg, .fd = f->fd[1], .msg = &f->msg, .flags = MSG_DONTWAIT);
    EQ(coir_status(&f->recv), -EAGAIN, "MSG_DONTWAIT does not wait");
    coir_await(f, &f->recv, coir_recvmsg, .fd = f->fd[1], .msg = &f->msg, .flags = MSG_ERRQUEUE);
    OK(coir_status(&f->recv) == -EAGAIN || coir_status(&f->recv) == -EOPNOTSUPP, "neither does MSG_ERRQUEUE");
    coir_within(f, &f->scope, coir_now() - 1, &f->recv, coir_recvmsg, .fd = f->fd[1], .msg = &f->msg);
    EQ(coir_status(&f->recv), -ETIMEDOUT, "before: nothing is there");
    coir_within(f, &f->scope, coir_now() + 3 * COIR_MS, &f->recv, coir_recvmsg, .fd = f->fd[1], .msg = &f->msg);
    EQ(coir_status(&f->recv), -ETIMEDOUT, "during: nothing came");
    MUST((int)write(f->fd[0], "zz", 2));
    coir_within(f, &f->scope, coir_now() - 1, &f->recv, coir_recvmsg, .fd = f->fd[1], .msg = &f->msg);
    EQ(coir_status(&f->recv), 0, "before: what is there comes");
    EQ(f->recv.result, 2, "all of it");
    shutdown(f->fd[0], SHUT_WR);
    coir_get(f, f->n, &f->recv, coir_recvmsg, .fd = f->fd[1], .msg = &f->msg);
    EQ(f->n, 0, "recvmsg: 0 at the end");
    f->iov[0] = (struct iovec){ "x", 1 };
    f->msg = (struct msghdr){ .msg_iov = f->iov, .msg_iovlen = 1 };
    coir_await(f, &f->send, coir_sendmsg, .fd = f->fd[0], .msg = &f->msg);
    EQ(coir_status(&f->send), -EPIPE, "sendmsg after shutdown is -EPIPE");
    coir_finally(f) {
        close(f->fd[0]);
        close(f->fd[1]);
    }
} coir_end

/* Descriptors: three over, of which the sender closes his at once. */
struct rights {
    coir_frame_void;
    coir_args(enum kind kind;);
    int fd[2], pipe[2], sent[3], got[4];
    size_t n;
    char byte[4];
    struct iovec iov;
    struct msghdr msg;
    union control control;
    struct coir_recvmsg recv;
    struct coir_sendmsg send;
    struct coir_scope scope;
    struct stat a, b;
};
static coir_declare(rights);

coir_body(rights, f) {
    make_pair(f->kind, f->fd);
    MUST(pipe2(f->pipe, O_CLOEXEC));
    f->sent[0] = f->pipe[0];
    f->sent[1] = f->pipe[1];
    f->sent[2] = f->fd[1];
    f->iov = (struct iovec){ "f", 1 };
    f->msg = (struct msghdr){ .msg_iov = &f->iov, .msg_iovlen = 1 };
    put_fds(&f->msg, &f->control, f->sent, 3);
    MUST(fstat(f->pipe[1], &f->a));
    coir_try(f, &f->send, coir_sendmsg, .fd = f->fd[0], .msg = &f->msg);
    close(f->pipe[0]);
    close(f->pipe[1]);

    f->iov = (struct iovec){ f->byte, 4 };
    f->msg = (struct msghdr){ .msg_iov = &f->iov, .msg_iovlen = 1, .msg_control = &f->control,
                              .msg_controllen = sizeof f->control };
    coir_try(f, &f->recv, coir_recvmsg, .fd = f->fd[1], .msg = &f->msg);
    EQ(f->recv.result, 1, "one byte comes");
    f->n = take_fds(&f->msg, f->got);
    EQ(f->n, 3, "with three descriptors");
    if (f->n == 3) {
        OK(fcntl(f->got[0], F_GETFD) & FD_CLOEXEC, "close-on-exec");
        MUST(fstat(f->got[1], &f->b));
        EQ(f->a.st_ino, f->b.st_ino, "of the same pipe");
        EQ(write(f->got[1], "p", 1), 1, "that still can be written");
        EQ(read(f->got[0], f->byte, 4), 1, "and read");
        close(f->got[0]);
        close(f->got[1]);
        close(f->got[2]);
    }

    /* One that waits gets them too, and one whose control data has no room leaves none behind. */
    coir_within(f, &f->scope, coir_now() + 2 * COIR_MS, &f->recv, coir_recvmsg, .fd = f->fd[1], .msg = &f->msg);
    EQ(coir_status(&f->recv), -ETIMEDOUT, "nothing more");
    f->iov = (struct iovec){ "g", 1 };
    f->msg = (struct msghdr){ .msg_iov = &f->iov, .msg_iovlen = 1 };
    put_fds(&f->msg, &f->control, f->fd, 2);
    coir_try(f, &f->send, coir_sendmsg, .fd = f->fd[0], .msg = &f->msg);
    f->iov = (struct iovec){ f->byte, 4 };
    f->msg = (struct msghdr){ .msg_iov = &f->iov, .msg_iovlen = 1 };
    coir_try(f, &f->recv, coir_recvmsg, .fd = f->fd[1], .msg = &f->msg);
    EQ(f->recv.result, 1, "the byte comes without its descriptors");
    OK(f->msg.msg_flags & MSG_CTRUNC, "and says so");
    EQ(f->msg.msg_controllen, 0, "none are there");
    coir_finally(f) {
        close(f->fd[0]);
        close(f->fd[1]);
    }
} coir_end

/* Names: sequenced packets from a bound socket. */
struct named {
    coir_frame_void;
    coir_no_args;
    int fd[2];
    char buf[4];
    struct iovec iov;
    struct msghdr msg;
    struct sockaddr_storage at, from;
    struct coir_recvmsg recv;
    struct coir_sendmsg send;
};
static coir_declare(named);

coir_body(named, f) {
    f->fd[0] = MUST(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    f->fd[1] = MUST(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    MUST(bind(f->fd[0], (struct sockaddr *)&(struct sockaddr_un){ AF_UNIX, "" }, 2));
    MUST(bind(f->fd[1], (struct sockaddr *)&(struct sockaddr_un){ AF_UNIX, "" }, 2));
    MUST(getsockname(f->fd[1], (struct sockaddr *)&f->at, &(socklen_t){ sizeof f->at }));
    f->iov = (struct iovec){ "hello", 5 };
    f->msg = (struct msghdr){ .msg_iov = &f->iov, .msg_iovlen = 1, .msg_name = &f->at, .msg_namelen = 2 + 6 };
    coir_try(f, &f->send, coir_sendmsg, .fd = f->fd[0], .msg = &f->msg);
    f->iov = (struct iovec){ f->buf, 4 };
    f->msg = (struct msghdr){ .msg_iov = &f->iov, .msg_iovlen = 1, .msg_name = &f->from,
                              .msg_namelen = sizeof f->from };
    coir_try(f, &f->recv, coir_recvmsg, .fd = f->fd[1], .msg = &f->msg);
    EQ(f->recv.result, 4, "a message that is cut");
    OK(f->msg.msg_flags & MSG_TRUNC, "says so");
    EQ(f->msg.msg_namelen, 2 + 6, "its sender has a name of that length");
    OK(memcmp(&f->from, &f->at, 8) != 0 && f->from.ss_family == AF_UNIX, "another one");
    coir_finally(f) {
        close(f->fd[0]);
        close(f->fd[1]);
    }
} coir_end

struct refuses {
    coir_frame_void;
    coir_no_args;
    int fd[2], file, lost;
    char buf[8];
    struct iovec iov[2];
    struct msghdr msg, empty;
    struct coir_recvmsg recv;
    struct coir_sendmsg send;
};
static coir_declare(refuses);

#define BOTH(wanted, what, m, ...) do { \
    coir_await(f, &f->recv, coir_recvmsg, .fd = (m), __VA_ARGS__); \
    EQ(coir_status(&f->recv), wanted, "recvmsg: " what); \
    coir_await(f, &f->send, coir_sendmsg, .fd = (m), __VA_ARGS__); \
    EQ(coir_status(&f->send), wanted, "sendmsg: " what); \
    } while (0)

static void *here(void)
{
    char *volatile p = __builtin_frame_address(0);

    return p - 64;
}

coir_body(refuses, f) {
    make_pair(UNIX_BLOCKING, f->fd);
    f->file = MUST(open("/dev/null", O_RDWR | O_CLOEXEC));
    f->lost = closed_fd();
    f->iov[0] = (struct iovec){ f->buf, 8 };
    f->msg = (struct msghdr){ .msg_iov = f->iov, .msg_iovlen = 1 };
    f->empty = (struct msghdr){ 0 };
    BOTH(-EBADF, "negative", -1, .msg = &f->msg);
    BOTH(-EBADF, "closed", f->lost, .msg = &f->msg);
    BOTH(-EBADF, "closed, no length", f->lost, .msg = &f->empty);
    BOTH(-ENOTSOCK, "a file", f->file, .msg = &f->msg);
    BOTH(-EFAULT, "NULL", f->fd[0], .msg = NULL);
    BOTH(-EFAULT, "on the stack", f->fd[0], .msg = here());
    BOTH(0, "no length", f->fd[0], .msg = &f->empty);
    BOTH(-EOPNOTSUPP, "MSG_WAITALL", f->fd[0], .msg = &f->msg, .flags = MSG_WAITALL);
    f->msg.msg_iovlen = 1025;
    BOTH(-EMSGSIZE, "too many pieces", f->fd[0], .msg = &f->msg);
    f->msg = (struct msghdr){ .msg_iov = NULL, .msg_iovlen = 1 };
    BOTH(-EFAULT, "NULL pieces", f->fd[0], .msg = &f->msg);
    f->msg.msg_iov = here();
    BOTH(-EFAULT, "pieces on the stack", f->fd[0], .msg = &f->msg);
    f->iov[0] = (struct iovec){ NULL, 8 };
    f->msg.msg_iov = f->iov;
    BOTH(-EFAULT, "a NULL piece", f->fd[0], .msg = &f->msg);
    f->iov[0].iov_base = here();
    BOTH(-EFAULT, "a piece on the stack", f->fd[0], .msg = &f->msg);
    f->iov[0].iov_base = f->buf;
    f->msg.msg_control = here();
    f->msg.msg_controllen = 16;
    BOTH(-EFAULT, "control data on the stack", f->fd[0], .msg = &f->msg);
    f->msg.msg_control = NULL;
    BOTH(-EFAULT, "NULL control data", f->fd[0], .msg = &f->msg);
    f->msg.msg_controllen = 0;
    f->msg.msg_name = here();
    f->msg.msg_namelen = 16;
    BOTH(-EFAULT, "a name on the stack", f->fd[0], .msg = &f->msg);
    coir_finally(f) {
        close(f->fd[0]);
        close(f->fd[1]);
        close(f->file);
    }
} coir_end

int main(void)
{
    WITHOUT_CHANCE("whole");           /* it says how many bytes there are at once */
    for (enum kind k = 0; k < KINDS; k++) {
        NOTE("%s", kind_names[k]);
        RUN(coir_new(passes, .kind = k), "passes");
    }
    RUN(coir_new(rights, .kind = UNIX_BLOCKING), "rights");
    RUN(coir_new(rights, .kind = UNIX_NONBLOCKING), "rights");
    RUN(coir_new(named), "named");
    RUN(coir_new(refuses), "refuses");
    return DONE();
}
