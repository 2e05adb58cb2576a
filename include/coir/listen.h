/* SPDX-License-Identifier: MIT */
/*
 * coir/listen.h - listening and accepting, and binding sockets for datagrams.
 *
 *     f->listener = coir_listen(":8080", NULL);
 *     ...
 *     coir_get(f, f->fd, &f->accept, coir_accept, .fd = f->listener);
 *
 * A listener is an ordinary descriptor: any socket on which listen(2) was called will do, an inherited one
 * too. It is closed with coir_close, which ends the accepts on it.
 */
#ifndef COIR_LISTEN_H
#define COIR_LISTEN_H

#include <coir/io.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif
# 22 "coir/listen.h"

/* What coir_listen may be told; 0 means what is said first. */
struct coir_listen_options {
    /* connections that wait for an accept. 0: 4096, or somaxconn if that is less */
    int backlog;
    /* SO_REUSEPORT: several listeners on one address, the kernel spreads over them */
    bool reuse_port;
    bool v6only;                    /* an IPv6 address takes no IPv4 connections. false: it takes both */
    unsigned mode;                  /* of the file of "unix:/path". 0: as the umask says */
};

/*
 * Makes a listener, close-on-exec, with SO_REUSEADDR. Does not suspend, looks up no names; any thread, also
 * where no shard runs. `where` is
 *   "127.0.0.1:80", "[::1]:80"    a numeric address; port 0: any free one (getsockname tells)
 *   ":80"                         every address of the machine, IPv4 and IPv6
 *   "unix:/path", "unix:@name"    a Unix socket, by file or in the abstract name space. A socket file whose
 *                                 server is gone is replaced
 * `options` may be NULL. The descriptor, which is the caller's; or
 *   -EINVAL         that is no such address, or the options make no sense
 *   -EADDRINUSE     somebody listens there, or the path is a file that is no socket
 *   -EADDRNOTAVAIL, -EACCES, -EMFILE, ...   as socket, bind and listen say
 */
COIR_API int coir_listen(const char *where, const struct coir_listen_options *options);

/* What coir_bind may be told. */
struct coir_bind_options {
    bool reuse_port;                /* SO_REUSEPORT: several sockets on one address, each has senders of its own */
    bool reuse_address;             /* SO_REUSEADDR: several on one port; for multicast, where each gets all */
    bool v6only;                    /* as above */
    unsigned mode;                  /* as above */
};

/*
 * Makes a socket for datagrams, close-on-exec, and binds it: UDP, or a Unix one. As coir_listen, with its addresses
 * and its errors; -EADDRINUSE where somebody is bound. For a client, any port: "0.0.0.0:0", "[::]:0", and ":0" for
 * both families; such an IPv6 socket says of IPv4 senders that they are [::ffff:1.2.3.4], and sends to either form. A
 * Unix client binds to a name of its own if it wants answers. Any thread.
 */
COIR_API int coir_bind(const char *where, const struct coir_bind_options *options);

/*
 * accept4(2): waits for a connection; the result is its descriptor, close-on-exec, the caller's. `addr` and
 * `addrlen` receive the peer's address; both may be NULL, and `addrlen` is only written.
 *
 * Waiting accepts are served in order. It does not fail for what is not the listener's fault: connections
 * that were aborted before they were accepted are passed over; without a descriptor or memory to be had
 * (-EMFILE, -ENFILE, -ENOMEM, -ENOBUFS) it tries again after 10 ms, doubled each time up to 1 s, and says
 * so on stderr once a second.
 *
 * On the ring the kernel accepts ahead: a few connections may wait inside the shard for the next
 * coir_accept on the same listener. They are never lost, and closed when the listener is. It stops
 * accepting ahead when 64 wait, so a listener that nobody accepts on any more holds no more than a burst.
 * On epoll the listener is made O_NONBLOCK.
 */
struct coir_accept {
    coir_frame(int);
    coir_args(int fd; struct sockaddr_storage *addr; socklen_t *addrlen;);
    socklen_t len;
    uint32_t pauses, closes;
    struct coir_io io;
};
coir_export(coir_accept);

#ifdef __cplusplus
}
#endif
#endif
