/* SPDX-License-Identifier: MIT */
/*
 * Failing on purpose: one task that dials, sends and receives in every way, run again and again with the N-th
 * allocation, then the N-th system call failing, for every N until it succeeds. Each failure is reported, none
 * leaves a descriptor, none hangs.
 */
#include "ops/net.h"
#include "runtime/base/fault.h"
#include "runtime/base/pool.h"

#ifdef COIR_FAULTS

struct errand {
    coir_frame_void;
    coir_args(long alloc_at; long syscall_at; int err; bool by_name;);
    int listener, fd, peer, file;
    struct sockaddr_in at;
    char where[64], buf[64];
    struct iovec iov;
    struct msghdr msg;
    union {
        struct coir_dial dial;
        struct coir_socket socket;
        struct coir_connect connect;
        struct coir_send send;
        struct coir_recv recv;
        struct coir_send_all all;
        struct coir_recv_exact exact;
        struct coir_sendmsg sendmsg;
        struct coir_recvmsg recvmsg;
        struct coir_sendfile sendfile;
        struct coir_shutdown shutdown;
    };
};
static coir_declare(errand);

coir_body(errand, f) {
    f->fd = f->peer = -1;
    f->listener = tcp_listener(&f->at, 8);
    f->file = MUST(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    snprintf(f->where, sizeof f->where, "%s:%d", f->by_name ? "localhost" : "127.0.0.1", ntohs(f->at.sin_port));
    coir_fail_alloc_at = f->alloc_at;
    coir_fail_syscall_at = f->syscall_at;
    coir_fail_syscall_with = f->err;
    coir_get(f, f->fd, &f->dial, coir_dial, .where = f->where);
    close(f->fd);
    f->fd = -1;
    close(MUST(accept4(f->listener, NULL, NULL, SOCK_CLOEXEC)));
    coir_get(f, f->fd, &f->socket, coir_socket, .domain = AF_INET, .type = SOCK_STREAM);
    coir_try(f, &f->connect, coir_connect, .fd = f->fd, .addr = (struct sockaddr *)&f->at, .addrlen = sizeof f->at);
    f->peer = MUST(accept4(f->listener, NULL, NULL, SOCK_CLOEXEC));
    coir_try(f, &f->send, coir_send, .fd = f->fd, .buf = "0123", .len = 4);
    coir_try(f, &f->all, coir_send_all, .fd = f->fd, .buf = "4567", .len = 4);
    coir_try(f, &f->recv, coir_recv, .fd = f->peer, .buf = f->buf, .len = 3);
    coir_try(f, &f->exact, coir_recv_exact, .fd = f->peer, .buf = f->buf + 3, .len = 5);
    MEM_EQ(f->buf, "01234567", 8, "what was sent was received");
    f->iov = (struct iovec){ f->buf, 5 };
    f->msg = (struct msghdr){ .msg_iov = &f->iov, .msg_iovlen = 1 };
    coir_try(f, &f->sendmsg, coir_sendmsg, .fd = f->fd, .msg = &f->msg);
    coir_try(f, &f->recvmsg, coir_recvmsg, .fd = f->peer, .msg = &f->msg);
    coir_try(f, &f->sendfile, coir_sendfile, .out_fd = f->fd, .in_fd = f->file, .count = 16);
    coir_try(f, &f->exact, coir_recv_exact, .fd = f->peer, .buf = f->buf, .len = 16);
    MEM_EQ(f->buf, "\177ELF", 4, "the file too");
    coir_try(f, &f->shutdown, coir_shutdown, .fd = f->fd, .how = SHUT_WR);
    coir_finally(f) {
        coir_fail_alloc_at = coir_fail_syscall_at = 0;
        if (f->fd >= 0)
            close(f->fd);
        if (f->peer >= 0)
            close(f->peer);
        close(f->listener);
        close(f->file);
    }
} coir_end

/* Runs it with the N-th failing, for each N; how many failed. */
static int until_it_succeeds(bool allocations, int err, bool by_name)
{
    const int before = count_fds();
    int wrong = 0, leaks = 0, status = -1;
    long n;

    for (n = 1; n < 1000 && status; n++) {
        status = coir_run(NULL, allocations ? coir_new(errand, .alloc_at = n, .by_name = by_name)
                                            : coir_new(errand, .syscall_at = n, .err = err, .by_name = by_name));
        wrong += status != 0 && status != -err && !(allocations && status == -EAGAIN);
        leaks += count_fds() != before;
    }
    EQ(status, 0, "it succeeds in the end");
    EQ(wrong, 0, "before, each time with the error that was made");
    EQ(leaks, 0, "no descriptor was lost");
    return (int)n - 2;
}

int main(void)
{
    WITHOUT_CHANCE("whole,prompt");    /* it says how many bytes there are at once */
    for (int by_name = 0; by_name < 2; by_name++) {
        const int allocations = until_it_succeeds(true, ENOMEM, by_name);
        const int calls = until_it_succeeds(false, EIO, by_name);
        NOTE("%d allocations and %d system calls were failed", allocations, calls);
        OK(allocations >= 2, "dialling allocates its work and an attempt");
        OK(calls >= 10, "at least ten operations ask the kernel");
        until_it_succeeds(false, ENOBUFS, by_name);
    }
    return DONE();
}

#else

int main(void)
{
    SKIP_ALL("built without COIR_FAULTS");
}

#endif
