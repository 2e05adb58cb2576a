/* SPDX-License-Identifier: MIT */
/*
 * coir/net.h - sockets: Unix, IPv4 and IPv6, by their POSIX names, and dialling by name.
 *
 * What coir/io.h says of every operation holds here. And of all of these:
 *
 *   - SIGPIPE is never raised: a peer that is gone is -EPIPE.
 *   - Memory handed over by pointer (buffers, iovecs, addresses, control data) outlives the await; a struct
 *     msghdr itself is copied.
 *   - MSG_DONTWAIT means what it says: the call is made at once and may say -EAGAIN, and no other does.
 *     MSG_OOB and MSG_ERRQUEUE never wait when receiving either (wait by coir_poll). MSG_WAITALL and MSG_ZEROCOPY
 *     are -EOPNOTSUPP: the first is coir_recv_exact, the second would leave the buffers with the kernel.
 *   - A zero length on a stream completes with 0, once the descriptor has been found to be a socket; on sockets
 *     that keep messages it is a message like any other.
 */
#ifndef COIR_NET_H
#define COIR_NET_H

#include <coir/io.h>
#include <coir/time.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif
# 27 "coir/net.h"

/* socket(2). Close-on-exec; non-blocking only where the plane wants it so. The result is the descriptor.
 * Does not suspend, so a cancelled scope has it too. */
struct coir_socket {
    coir_frame(int);
    coir_args(int domain; int type; int protocol;);
    void *spare[2];
};
coir_export(coir_socket);

/* ---- bytes ------------------------------------------------------------------------------------------- */

/* recv(2). The result is 0 when the peer has closed. -ECONNRESET when it was rude about it. */
struct coir_recv {
    coir_frame(size_t);
    coir_args(int fd; void *buf; size_t len; int flags;);
    struct coir_io io;
};
coir_export(coir_recv);

/* send(2): at least one byte, and possibly fewer than `len`. */
struct coir_send {
    coir_frame(size_t);
    coir_args(int fd; const void *buf; size_t len; int flags;);
    struct coir_io io;
};
coir_export(coir_send);

/*
 * Receives all of `len` bytes. The result counts the bytes that are in `buf`, also when it failed. When the
 * peer closes before that the status is -ENODATA, an errno that receiving has no other use for; with result
 * 0 nothing of the next message had come, which is how a stream of messages ends in good order.
 */
struct coir_recv_exact {
    coir_frame(size_t);
    coir_args(int fd; void *buf; size_t len;);
    uint32_t closes;
    struct coir_io io;
};
coir_export(coir_recv_exact);

/* Sends all of it. The result counts what the kernel took, also when it failed. */
struct coir_send_all {
    coir_frame(size_t);
    coir_args(int fd; const void *buf; size_t len;);
    uint32_t closes;
    struct coir_io io;
};
coir_export(coir_send_all);

/* ---- datagrams --------------------------------------------------------------------------------------- */

/*
 * recvfrom(2): the next datagram, and who sent it. Sockets for it: coir_bind (coir/listen.h), or coir_socket and
 * coir_connect, which may also be made without an address here: then coir_recv and coir_send do as well.
 * `addr` and `addrlen` receive the sender's address; both may be NULL, and `addrlen` is only written: 0 for one
 * without a name. coir_sendto takes it as it is.
 *
 *   - An empty datagram is one: result 0. It does not mean that anybody has closed.
 *   - What does not fit into `len` bytes is lost. Then `truncated` of this frame is true, and with MSG_TRUNC in
 *     `flags` the result is the datagram's length, more than `len`. A length of 0 takes a datagram and tells nothing
 *     of it, with MSG_PEEK | MSG_TRUNC its length, and leaves it there.
 *   - On a connected socket -ECONNREFUSED says that nobody received what was sent before. The next call goes on.
 */
struct coir_recvfrom {
    coir_frame(size_t);
    coir_args(int fd; void *buf; size_t len; int flags; struct sockaddr_storage *addr; socklen_t *addrlen;);
    bool truncated;
    struct msghdr hdr;                  /* what the kernel sees */
    struct iovec iov;
    struct coir_io io;
};
coir_export(coir_recvfrom);

/*
 * sendto(2): one datagram, of any length from 0, whole or not at all, to `addr`, or, where that is NULL, to whom the
 * socket is connected. UDP waits for room in this socket only, and what the network or a full receiver drops nobody
 * tells. To a Unix socket it waits until the receiver has room; if that was named by `addr` by trying again, after
 * 1 ms at first and then after up to 64.
 *   -EMSGSIZE       larger than a datagram can be: 65,507 bytes over IPv4
 *   -ECONNREFUSED   connected: nobody received what was sent before. Unix: nobody has that name any more
 *   -EDESTADDRREQ, -ENOTCONN    there is no `addr`, and it is not connected
 *   -EINVAL         an `addrlen` that no address has
 */
struct coir_sendto {
    coir_frame(size_t);
    coir_args(int fd; const void *buf; size_t len; int flags; const struct sockaddr *addr; socklen_t addrlen;);
    int64_t pause;
    uint32_t closes;
    bool full;
    struct msghdr hdr;
    struct iovec iov;
    struct coir_io io;
};
coir_export(coir_sendto);

/* ---- messages ---------------------------------------------------------------------------------------- */

/*
 * recvmsg(2). On success msg_namelen, msg_controllen and msg_flags of `msg` are set, as POSIX does.
 * Descriptors that come with it (SCM_RIGHTS) are close-on-exec, and the caller's to close.
 */
struct coir_recvmsg {
    coir_frame(size_t);
    coir_args(int fd; struct msghdr *msg; int flags;);
    struct msghdr hdr;                  /* what the kernel sees */
    struct coir_io io;
};
coir_export(coir_recvmsg);

/* sendmsg(2), descriptors in SCM_RIGHTS included: they may be closed once it has returned. */
struct coir_sendmsg {
    coir_frame(size_t);
    coir_args(int fd; const struct msghdr *msg; int flags;);
    struct msghdr hdr;
    struct coir_io io;
};
coir_export(coir_sendmsg);

/*
 * sendfile(2): sends `count` bytes of the file in_fd from `offset`, or from its position, which moves, when
 * offset is -1; fewer only when the file ends. The result counts what was sent, also on failure. Reading
 * the file may wait for a disk, so it runs on the pool for files, and a cancelled one returns when the disk
 * has answered.
 * `out_fd`, if it is blocking, is O_NONBLOCK while a call is under way.
 */
struct coir_sendfile {
    coir_frame(size_t);
    coir_args(int out_fd; int in_fd; int64_t offset; size_t count;);
    uint32_t closes[2];
    struct coir_io io, other;
};
coir_export(coir_sendfile);

/* shutdown(2): SHUT_RD, SHUT_WR, SHUT_RDWR. Does not suspend, so a cancelled scope has it too. */
struct coir_shutdown {
    coir_frame_void;
    coir_args(int fd; int how;);
    void *spare[2];
};
coir_export(coir_shutdown);

/* ---- connecting -------------------------------------------------------------------------------------- */

/* One attempt of coir_connect. Private. */
struct coir_connect_once {
    coir_frame_void;
    coir_args(int fd; const struct sockaddr *addr; socklen_t addrlen;);
    int begun;
    uint32_t closes;
    struct coir_io io;
};
coir_export(coir_connect_once);

/*
 * connect(2). -ECONNREFUSED, -ETIMEDOUT, -ENETUNREACH, -ENOENT... as POSIX; never -EINPROGRESS, -EALREADY
 * or -EAGAIN: where a Unix listener's backlog is full it tries again, after 1 ms at first and then after up
 * to 64. Whatever happens the descriptor stays the caller's. When it was cancelled the kernel may go on
 * connecting: close the descriptor, or call coir_connect again, which joins that attempt. A blocking descriptor
 * is O_NONBLOCK for the time of a system call where that has to be made without the ring: on epoll, for Unix
 * sockets, and to join.
 */
struct coir_connect {
    coir_frame_void;
    coir_args(int fd; const struct sockaddr *addr; socklen_t addrlen;);
    int64_t pause;
    uint32_t closes;
    union {
        struct coir_connect_once once;
        struct coir_sleep sleep;
    };
};
coir_export(coir_connect);

/*
 * Connects a stream to `where`: "host:port", "1.2.3.4:port", "[v6]:port", "unix:/path", "unix:@abstract".
 * The result is the descriptor, close-on-exec, TCP_NODELAY set. Names go through coir_resolve, their
 * addresses are tried by RFC 8305 (happy eyeballs): IPv6 and IPv4 in turn, the next one 250 ms after the
 * last or as soon as one fails; the first to connect wins, the others are cancelled and closed. The status
 * is otherwise that of the first attempt that failed, of those that say more than "there is no way to it" if
 * there are such; or as coir_resolve or coir_address. Deadlines: coir_within.
 */
struct coir_dialling;
struct coir_dial {
    coir_frame(int);
    coir_args(const char *where;);
    struct coir_dialling *work;         /* on the heap while it goes on */
    int found;
    void *spare[3];
};
coir_export(coir_dial);

/* ---- names and addresses ----------------------------------------------------------------------------- */

/*
 * Looks up a host and a service (a port's number or name), by getaddrinfo(3), on a pool of threads of its
 * own; numbers are answered at once. Fills `addrs` with up to `max` addresses in the order to try them; the
 * result says how many. `family` is AF_INET, AF_INET6 or 0 for both. `host` NULL: this machine.
 *   -ENOENT   there is no such name, or it has no address of that family
 *   -EAGAIN   the name servers did not answer: later they may
 *   -EIO      they answered that they cannot
 *   -EINVAL   no such service; or max is 0
 *   -EAFNOSUPPORT, -ENOMEM, and what the system's files and sockets say
 * A look-up that has begun cannot be stopped: cancelled, it returns when it has ended.
 */
struct coir_resolve {
    coir_frame(size_t);
    coir_args(const char *host; const char *service; int family; struct sockaddr_storage *addrs; size_t max;);
    void *job[5];
    int answer;
    void *spare[2];
};
coir_export(coir_resolve);

/*
 * Reads an address: "1.2.3.4:port", "[v6]:port" ("[fe80::1%eth0]:port"), "unix:/path", "unix:@abstract".
 * Ports are numbers from 0 to 65535. Never looks a name up. Returns its length in `out`, for connect(2) and
 * bind(2); -EINVAL when it is none of these (it may be a name), -ENAMETOOLONG for a path of over 107 bytes.
 * Does not suspend; any thread.
 */
COIR_API int coir_address(const char *text, struct sockaddr_storage *out);

/* The length of an address as coir_address and coir_resolve leave it, for connect(2) and bind(2); 0 for
 * a family that is not one of theirs. Any thread. */
COIR_API socklen_t coir_address_len(const struct sockaddr_storage *addr);

/* Room for any address's text. */
enum { COIR_ADDRESS_TEXT = 128 };

/* Writes an address the way coir_address reads it, cut to `size` with its NUL; "unix:" is one without a
 * name, "?" one of another family. `len` is the address's, as accept(2) or getsockname(2) gave it.
 * Returns `text`. Any thread. */
COIR_API char *coir_address_text(const struct sockaddr_storage *addr, socklen_t len, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
