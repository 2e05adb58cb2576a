/* SPDX-License-Identifier: MIT */
/*
 * What one case of the differential test happens in: a few descriptors made without coir's help, what may be done
 * to them from outside, and what is seen afterwards. A world is made before a run and looked at after it, so that
 * the planes are compared by what POSIX calls see. Everything here ends the program when it cannot be done.
 */
#ifndef COIR_TESTS_AGREE_WORLD_H
#define COIR_TESTS_AGREE_WORLD_H

#include <arpa/inet.h>
#include <coir/coir.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "tap.h"

enum { ROOM = 512, FILL = '.' };

/* What `fd` of a world is. Those up to PLUMBING are made blocking and, in another case, O_NONBLOCK. */
enum fixture {
    NOTHING,
    FILES,                           /* fd: "file", ten digits; the working directory has "folder" too */
    FOLDER,                          /* fd: the folder, which is empty */
    UNIX, TCP,                       /* fd, peer: connected */
    INFLOW,                          /* fd: the end of a pipe that is read, peer: the other */
    OUTFLOW,                         /* the other way round */
    LISTENER,
    SOCKET,                          /* fd: TCP and not connected, extra: a listener, `at` its address */
    FULL_UNIX,                       /* fd: a Unix stream; `at`: a listener whose backlog is full */
    DEAD_END,                        /* fd: TCP; `at`: where nobody listens */
    PLUMBING,                        /* fd: a pipe's read end, peer its other; extra: a write end, other its other */
    OUTLET,                          /* fd, peer: UNIX; extra: the file */
    PACKETS,                         /* fd, peer: connected Unix sockets of datagrams, without names */
    UNIX_APART,                      /* the same, fd not connected, both with names; `at`: the peer's */
    UDP,                             /* fd, peer: connected; `at`: the peer's address */
    UDP_APART,                       /* the same, fd not connected */
};

/* What fd is instead, when a case says so. */
enum wrong { USUAL, NEGATIVE, CLOSED, A_FILE, A_FOLDER, A_PIPE, A_SOCKET, READ_ONLY, WRITE_ONLY };

enum act {
    NONE,
    SEND2, SEND5, SEND3,             /* the peer sends "he", "hello", "llo" */
    FIN, RST,                        /* the peer closes, rudely */
    BLOCK,                           /* as much is sent as fits */
    DRAIN,                           /* the peer takes what there is */
    CONNECT,                         /* somebody connects to the listener */
    SEND0,                           /* the peer sends an empty datagram */
    REFUSE,                          /* the peer closes, and fd learns that nobody is there */
};

struct world {
    int fd, peer, extra, other;
    int blocked;                     /* bytes that BLOCK has sent */
    int result_fd;
    socklen_t len_of_at;
    struct sockaddr_storage at, from;    /* from: whom an operation says it was */
    socklen_t len_of_from;
    bool apart;                      /* it is sent to `at`, because it is not connected */
    bool named;                      /* the peer has the name `at` */
    char where[COIR_ADDRESS_TEXT];
    char buf[ROOM];
    struct iovec iov[2];
    struct msghdr msg;
    size_t len;
    int flags;
    int64_t offset, deadline;
    const char *text;                /* a path, or whatever is named */
    char *argv[4];                   /* a shell that runs it */
    void *to;                        /* buf, or NULL */
    int status;
    int64_t result;
    bool ended;
};

TAP_UNUSED static int must(int res, const char *what)
{
    if (res < 0) {
        perror(what);
        abort();
    }
    return res;
}
#define MUST(call) must((int)(call), #call)

TAP_UNUSED static int count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = -3;                      /* ".", "..", and this one */

    if (!d)
        return -1;
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

TAP_UNUSED static void close_one(int *fd)
{
    if (*fd >= 0)
        MUST(close(*fd));
    *fd = -1;
}

/* ---- making ---- */

TAP_UNUSED static int tcp_bound(struct world *w)
{
    struct sockaddr_in *in = (struct sockaddr_in *)&w->at;
    const int fd = MUST(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));

    memset(&w->at, 0, sizeof w->at);
    in->sin_family = AF_INET;
    in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    MUST(bind(fd, (struct sockaddr *)in, sizeof *in));
    w->len_of_at = sizeof *in;
    MUST(getsockname(fd, (struct sockaddr *)&w->at, &w->len_of_at));
    coir_address_text(&w->at, w->len_of_at, w->where, sizeof w->where);
    return fd;
}

TAP_UNUSED static int tcp_listener(struct world *w)
{
    const int fd = tcp_bound(w);

    MUST(listen(fd, 8));
    return fd;
}

TAP_UNUSED static int tcp_client(const struct world *w)
{
    const int one = 1, fd = MUST(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));

    MUST(connect(fd, (const struct sockaddr *)&w->at, w->len_of_at));
    MUST(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one));
    return fd;
}

TAP_UNUSED static void make_tcp(struct world *w)
{
    int l = tcp_listener(w);

    w->peer = tcp_client(w);
    w->fd = MUST(accept4(l, NULL, NULL, SOCK_CLOEXEC));
    close_one(&l);
}

/* A Unix listener that takes no more: its backlog of one is full (Linux lets one more in than it says). */
TAP_UNUSED static void make_full(struct world *w)
{
    const sa_family_t family = AF_UNIX;
    int fd;

    w->extra = MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    MUST(bind(w->extra, (const struct sockaddr *)&family, sizeof family));     /* the kernel finds a name */
    w->len_of_at = sizeof w->at;
    MUST(getsockname(w->extra, (struct sockaddr *)&w->at, &w->len_of_at));
    MUST(listen(w->extra, 0));
    w->peer = MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    MUST(connect(w->peer, (struct sockaddr *)&w->at, w->len_of_at));
    fd = MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    w->fd = fd;
}

TAP_UNUSED static void make_pipe(int *in, int *out)
{
    int p[2];

    MUST(pipe2(p, O_CLOEXEC));
    *in = p[0];
    *out = p[1];
}

TAP_UNUSED static void make_files(void)
{
    const int fd = MUST(open("file", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));

    MUST(write(fd, "0123456789", 10));
    MUST(close(fd));
    unlink("new");
    rmdir("folder/new");
    mkdir("folder", 0700);
}

TAP_UNUSED static void connect_to(int fd, int other)
{
    struct sockaddr_storage at;
    socklen_t len = sizeof at;

    MUST(getsockname(other, (struct sockaddr *)&at, &len));
    MUST(connect(fd, (struct sockaddr *)&at, len));
}

TAP_UNUSED static int datagrams(int family)
{
    const struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const sa_family_t un = AF_UNIX;                      /* the kernel finds a name */
    const int fd = MUST(socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));

    if (family == AF_UNIX)
        MUST(bind(fd, (const struct sockaddr *)&un, sizeof un));
    else
        MUST(bind(fd, (const struct sockaddr *)&in, sizeof in));
    return fd;
}

TAP_UNUSED static void make_datagrams(struct world *w, int family, bool apart)
{
    w->fd = datagrams(family);
    w->peer = datagrams(family);
    connect_to(w->peer, w->fd);
    if (!apart)
        connect_to(w->fd, w->peer);
    w->apart = apart;
    w->named = true;
    w->len_of_at = sizeof w->at;
    MUST(getsockname(w->peer, (struct sockaddr *)&w->at, &w->len_of_at));
}

TAP_UNUSED static void make_fixture(struct world *w, enum fixture fixture)
{
    int p[2];

    switch (fixture) {
    case NOTHING: break;
    case FILES: make_files(); w->fd = MUST(open("file", O_RDWR | O_CLOEXEC)); break;
    case FOLDER: make_files(); w->fd = MUST(open("folder", O_RDONLY | O_DIRECTORY | O_CLOEXEC)); break;
    case TCP: make_tcp(w); break;
    case INFLOW: make_pipe(&w->fd, &w->peer); break;
    case OUTFLOW: make_pipe(&w->peer, &w->fd); break;
    case LISTENER: w->fd = tcp_listener(w); break;
    case SOCKET: w->extra = tcp_listener(w); w->fd = MUST(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); break;
    case FULL_UNIX: make_full(w); break;
    case DEAD_END: w->extra = tcp_bound(w); w->fd = MUST(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); break;
    case UNIX_APART: make_datagrams(w, AF_UNIX, true); break;
    case UDP: make_datagrams(w, AF_INET, false); break;
    case UDP_APART: make_datagrams(w, AF_INET, true); break;
    case PLUMBING: make_pipe(&w->fd, &w->peer); make_pipe(&w->other, &w->extra); break;
    case OUTLET:
    case PACKETS:
    case UNIX:
        MUST(socketpair(AF_UNIX, (fixture == PACKETS ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0, p));
        w->fd = p[0];
        w->peer = p[1];
        if (fixture == OUTLET) {
            make_files();
            w->extra = MUST(open("file", O_RDONLY | O_CLOEXEC));
        }
    }
}

TAP_UNUSED static void make_wrong(struct world *w, enum wrong wrong)
{
    int fd = -1, ignored;

    switch (wrong) {
    case USUAL: return;
    case NEGATIVE: break;
    case CLOSED: fd = MUST(fcntl(0, F_DUPFD_CLOEXEC, 200)); MUST(close(fd)); break;   /* the run opens lower ones */
    case A_FILE: make_files(); fd = MUST(open("file", O_RDWR | O_CLOEXEC)); break;
    case A_FOLDER: make_files(); fd = MUST(open("folder", O_RDONLY | O_CLOEXEC)); break;
    case A_PIPE: make_pipe(&fd, &ignored); MUST(close(ignored)); break;
    case A_SOCKET: fd = MUST(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); break;
    case READ_ONLY: make_files(); fd = MUST(open("file", O_RDONLY | O_CLOEXEC)); break;
    case WRITE_ONLY: make_files(); fd = MUST(open("file", O_WRONLY | O_CLOEXEC)); break;
    }
    close_one(&w->fd);
    w->fd = fd;
}

TAP_UNUSED static void set_nonblocking(int fd)
{
    if (fd >= 0)
        MUST(fcntl(fd, F_SETFL, MUST(fcntl(fd, F_GETFL)) | O_NONBLOCK));
}

/* ---- acting, by plain calls ---- */

TAP_UNUSED static int send_some(const struct world *w, const void *p, size_t n)
{
    const int fd = w->fd;
    const ssize_t res = sendto(fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL, w->apart ? (const struct sockaddr *)&w->at : NULL,
                               w->apart ? w->len_of_at : 0);

    if (res >= 0 || errno != ENOTSOCK)
        return res < 0 ? -errno : (int)res;
    const int flags = MUST(fcntl(fd, F_GETFL));
    MUST(fcntl(fd, F_SETFL, flags | O_NONBLOCK));
    const ssize_t written = write(fd, p, n);
    const int err = errno;
    MUST(fcntl(fd, F_SETFL, flags));
    return written < 0 ? -err : (int)written;
}

TAP_UNUSED static void fill(struct world *w)
{
    static const char block[65536];
    const int small = 16384;
    int n;

    setsockopt(w->fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    if (w->peer >= 0)
        setsockopt(w->peer, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    while ((n = send_some(w, block, sizeof block)) > 0)
        w->blocked += n;
    while ((n = send_some(w, block, 1)) > 0)
        w->blocked += n;
}

TAP_UNUSED static void drain(struct world *w)
{
    static char away[65536];
    const struct iovec iov = { away, sizeof away };
    ssize_t n;

    set_nonblocking(w->peer);
    while ((n = readv(w->peer, &iov, 1)) > 0)
        w->blocked -= (int)n;
}

TAP_UNUSED static void act(struct world *w, enum act what)
{
    const struct linger rudely = { .l_onoff = 1, .l_linger = 0 };

    switch (what) {
    case NONE: break;
    case SEND2: MUST(write(w->peer, "he", 2)); break;
    case SEND5: MUST(write(w->peer, "hello", 5)); break;
    case SEND3: MUST(write(w->peer, "llo", 3)); break;
    case RST: MUST(setsockopt(w->peer, SOL_SOCKET, SO_LINGER, &rudely, sizeof rudely)); close_one(&w->peer); break;
    case FIN: close_one(&w->peer); break;
    case BLOCK: fill(w); break;
    case DRAIN: drain(w); break;
    case CONNECT: w->peer = tcp_client(w); break;
    case SEND0: MUST(send(w->peer, "", 0, 0)); break;
    case REFUSE: close_one(&w->peer); MUST(send(w->fd, "x", 1, 0)); break;
    }
}

/* ---- seeing ---- */

/* What is printed of the buffer: up to the last byte that was changed. */
TAP_UNUSED static void seen_of_buffer(const struct world *w, char *text, size_t size)
{
    size_t n = ROOM;

    while (n > 0 && w->buf[n - 1] == FILL)
        n--;
    if (n > 32)
        snprintf(text, size, "(%s)", "much");
    else
        snprintf(text, size, "%.*s", (int)n, w->buf);
}

/* Datagrams are taken to be counted: what FIONREAD says is the next one's length. */
TAP_UNUSED static int unread(int fd)
{
    char away[ROOM];
    int n = 0, type = 0;
    socklen_t len = sizeof type;
    ssize_t got;

    if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_DGRAM) {
        while ((got = recv(fd, away, sizeof away, MSG_DONTWAIT | MSG_TRUNC)) >= 0)
            n += (int)got;
        return n;
    }
    return fd < 0 || ioctl(fd, FIONREAD, &n) < 0 ? 0 : n;
}

TAP_UNUSED static long long size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) < 0 ? -1 : (long long)st.st_size;
}

/* Two numbers: bytes left for the world's descriptor and for its peer; of a file, its size and the position. */
TAP_UNUSED static void seen_of_descriptors(const struct world *w, enum fixture fixture, long long *in, long long *out)
{
    *in = *out = 0;
    if (fixture == FILES) {
        *in = size_of("file");
        *out = w->fd < 0 ? 0 : lseek(w->fd, 0, SEEK_CUR);
    } else if (fixture == PLUMBING) {
        *in = unread(w->fd);
        *out = unread(w->other);
    } else if (fixture == UNIX || fixture == TCP || fixture == INFLOW || fixture == OUTFLOW
               || fixture >= OUTLET) {
        *in = fixture == OUTFLOW ? 0 : unread(w->fd);
        *out = fixture == INFLOW ? 0 : unread(w->peer) - (w->peer < 0 ? 0 : w->blocked);
    }
}

TAP_UNUSED static void close_world(struct world *w)
{
    close_one(&w->fd);
    close_one(&w->peer);
    close_one(&w->extra);
    close_one(&w->other);
    close_one(&w->result_fd);
}

#endif
