/* SPDX-License-Identifier: MIT */
/*
 * Datagrams: coir_bind, coir_recvfrom and coir_sendto with UDP over both families and with Unix sockets. What they do
 * when cancelled, late or closed stands in the table of tests/agree.
 */
#include <sys/stat.h>

#include "ops/net.h"

static int port_of(int fd)
{
    struct sockaddr_storage at;
    socklen_t len = sizeof at;

    if (getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        return -1;
    return ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
                                          : ((struct sockaddr_in *)&at)->sin_port);
}

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t len = sizeof value;

    return getsockopt(fd, level, name, &value, &len) < 0 ? -1 : value;
}

/* ---- binding ---- */

static void bind_inet(void)
{
    const struct coir_bind_options ports = { .reuse_port = true }, addresses = { .reuse_address = true };
    const int fd = coir_bind("127.0.0.1:0", NULL);
    char where[40];
    int other, again;

    OK(fd >= 0, "127.0.0.1:0 gives a descriptor");
    EQ(option(fd, SOL_SOCKET, SO_TYPE), SOCK_DGRAM, "for datagrams");
    OK(port_of(fd) > 0, "port 0 is replaced by a free one");
    EQ(option(fd, SOL_SOCKET, SO_REUSEADDR), 0, "not SO_REUSEADDR: nobody may listen in");
    EQ(option(fd, SOL_SOCKET, SO_REUSEPORT), 0, "nor SO_REUSEPORT");
    EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC, "close-on-exec");
    snprintf(where, sizeof where, "127.0.0.1:%d", port_of(fd));
    EQ(coir_bind(where, NULL), -EADDRINUSE, "a second one on the same port");
    close(fd);

    other = coir_bind("127.0.0.1:0", &ports);
    snprintf(where, sizeof where, "127.0.0.1:%d", port_of(other));
    again = coir_bind(where, &ports);
    OK(other >= 0 && again >= 0, "two that share a port");
    close(other);
    close(again);
    other = coir_bind("0.0.0.0:0", &addresses);
    snprintf(where, sizeof where, "0.0.0.0:%d", port_of(other));
    again = coir_bind(where, &addresses);
    OK(other >= 0 && again >= 0, "two for multicast");
    close(other);
    close(again);
    EQ(coir_bind("nonsense", NULL), -EINVAL, "no address");
    EQ(coir_bind(NULL, NULL), -EINVAL, "NULL");
    EQ(coir_bind("localhost:1", NULL), -EINVAL, "a name");
    EQ(coir_bind("192.0.2.1:0", NULL), -EADDRNOTAVAIL, "an address of somebody else");
    EQ(coir_bind("127.0.0.1:0", &(struct coir_bind_options){ .mode = 010000 }), -EINVAL, "a mode that is none");
}

static void bind_unix(void)
{
    char folder[] = "/tmp/coir-datagram-XXXXXX", where[64];
    struct stat st = { .st_mode = 0 };
    int fd, stream;

    if (!OK(mkdtemp(folder) != NULL, "a folder"))
        return;
    snprintf(where, sizeof where, "unix:%s/s", folder);
    fd = coir_bind(where, &(struct coir_bind_options){ .mode = 0640 });
    OK(fd >= 0, "a Unix socket by its file");
    OK(stat(where + 5, &st) == 0, "which is there");
    EQ(st.st_mode & 0777, 0640, "with its mode");
    EQ(coir_bind(where, NULL), -EADDRINUSE, "a second one");
    EQ(coir_listen(where, NULL), -EADDRINUSE, "a listener there");
    close(fd);
    fd = coir_bind(where, NULL);
    OK(fd >= 0, "the file of one that is gone is replaced");
    close(fd);
    unlink(where + 5);
    stream = coir_listen(where, NULL);
    EQ(coir_bind(where, NULL), -EADDRINUSE, "not that of a listener");
    close(stream);
    unlink(where + 5);
    rmdir(folder);
    snprintf(where, sizeof where, "unix:@coir-datagram-%d", (int)getpid());
    fd = coir_bind(where, NULL);
    OK(fd >= 0, "an abstract name");
    EQ(coir_bind(where, NULL), -EADDRINUSE, "is taken then");
    close(fd);
    EQ(coir_bind(where, &(struct coir_bind_options){ .reuse_port = true }), -EINVAL, "Unix ports cannot be shared");
}

/* ---- there and back ---- */

struct answers {                         /* what came goes back, without its first byte */
    coir_frame_void;
    coir_args(int fd; int times;);
    char buf[64];
    struct sockaddr_storage from;
    socklen_t fromlen;
    struct coir_recvfrom recv;
    struct coir_sendto send;
};
static coir_declare(answers);

coir_body(answers, f) {
    while (f->times-- > 0) {
        coir_try(f, &f->recv, coir_recvfrom, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf, .addr = &f->from,
                 .addrlen = &f->fromlen);
        coir_try(f, &f->send, coir_sendto, .fd = f->fd, .buf = f->buf + 1, .len = f->recv.result - 1,
                 .addr = (struct sockaddr *)&f->from, .addrlen = f->fromlen);
    }
} coir_end

struct asks {
    coir_frame_void;
    coir_args(const char *server; const char *client; bool mapped;);
    int fd, peer;
    char buf[64];
    struct sockaddr_storage at, from;
    socklen_t len, fromlen;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_recvfrom recv;
    struct coir_sendto send;
};
static coir_declare(asks);

coir_body(asks, f) {
    f->peer = MUST(coir_bind(f->server, NULL));
    f->fd = MUST(coir_bind(f->client, NULL));
    f->len = sizeof f->at;
    memset(&f->at, 0, sizeof f->at);
    MUST(getsockname(f->peer, (struct sockaddr *)&f->at, &f->len));
    if (f->mapped) {                     /* the server is bound to everything: one of its addresses */
        const struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port_of(f->peer)),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        memcpy(&f->at, &in, sizeof in);
        f->len = sizeof in;
    }
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(answers, .fd = f->peer, .times = 2));
    coir_get(f, f->len, &f->send, coir_sendto, .fd = f->fd, .buf = "hello", .len = 5,
             .addr = (struct sockaddr *)&f->at, .addrlen = f->len);
    EQ(f->len, 5, "%s: five bytes are sent", f->server);
    coir_try(f, &f->recv, coir_recvfrom, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf, .addr = &f->from,
             .addrlen = &f->fromlen);
    EQ(f->recv.result, 4, "%s: four come back", f->server);
    MEM_EQ(f->buf, "ello", 4, "%s: those", f->server);
    OK(!f->recv.truncated, "%s: whole", f->server);
    if (!f->mapped)
        OK(f->fromlen == coir_address_len(&f->at) && !memcmp(&f->from, &f->at, f->fromlen), "%s: from there",
           f->server);
    coir_try(f, &f->send, coir_sendto, .fd = f->fd, .buf = "x", .len = 1, .addr = (struct sockaddr *)&f->from,
             .addrlen = f->fromlen);
    coir_try(f, &f->recv, coir_recvfrom, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf);
    EQ(f->recv.result, 0, "%s: an empty one comes back for one byte, without an address to put", f->server);
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        close(f->fd);
        close(f->peer);
    }
} coir_end

/* ---- what is wrong ---- */

struct wrong {
    coir_frame_void;
    coir_no_args;
    int fd, peer;
    char *buf;
    struct sockaddr_storage at;
    socklen_t len;
    struct coir_recvfrom recv;
    struct coir_sendto send;
    struct coir_connect connect;
};
static coir_declare(wrong);

#define SENDS(status_, name, ...) do { \
    coir_await(f, &f->send, coir_sendto, __VA_ARGS__); \
    EQ(coir_status(&f->send), status_, "coir_sendto: %s", name); \
    } while (0)

coir_body(wrong, f) {
    f->buf = calloc(1, 70000);
    f->fd = MUST(coir_bind("127.0.0.1:0", NULL));
    f->peer = MUST(coir_bind("127.0.0.1:0", NULL));
    f->len = sizeof f->at;
    MUST(getsockname(f->peer, (struct sockaddr *)&f->at, &f->len));
    SENDS(-EMSGSIZE, "too large", .fd = f->fd, .buf = f->buf, .len = 65508, .addr = (struct sockaddr *)&f->at,
          .addrlen = f->len);
    SENDS(-EDESTADDRREQ, "to nobody", .fd = f->fd, .buf = f->buf, .len = 1);
    SENDS(-EINVAL, "an address without a length", .fd = f->fd, .buf = f->buf, .len = 1,
          .addr = (struct sockaddr *)&f->at);
    SENDS(-EINVAL, "a length that no address has", .fd = f->fd, .buf = f->buf, .len = 1,
          .addr = (struct sockaddr *)&f->at, .addrlen = sizeof f->at + 1);
    SENDS(-EFAULT, "a length without an address", .fd = f->fd, .buf = f->buf, .len = 1, .addrlen = f->len);
    SENDS(0, "the largest there is", .fd = f->fd, .buf = f->buf, .len = 65507, .addr = (struct sockaddr *)&f->at,
          .addrlen = f->len);
    coir_await(f, &f->recv, coir_recvfrom, .fd = f->peer, .buf = f->buf, .len = 70000);
    EQ(f->recv.result, 65507, "which comes");
    SENDS(0, "an empty one", .fd = f->fd, .addr = (struct sockaddr *)&f->at, .addrlen = f->len);
    EQ(recv(f->peer, f->buf, 9, MSG_DONTWAIT), 0, "comes as well, for anybody");

    coir_try(f, &f->connect, coir_connect, .fd = f->fd, .addr = (struct sockaddr *)&f->at, .addrlen = f->len);
    close(f->peer);
    SENDS(0, "to one that has gone", .fd = f->fd, .buf = f->buf, .len = 1);
    SENDS(-ECONNREFUSED, "the next says so", .fd = f->fd, .buf = f->buf, .len = 1);
    f->peer = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    MUST(bind(f->peer, (struct sockaddr *)&f->at, f->len));
    SENDS(0, "somebody is there again", .fd = f->fd, .buf = f->buf, .len = 3);
    coir_await(f, &f->recv, coir_recvfrom, .fd = f->peer, .buf = f->buf, .len = 2);
    EQ(f->recv.result, 2, "two of three bytes");
    OK(f->recv.truncated, "it is said that there were more");
    SENDS(0, "another", .fd = f->fd, .buf = f->buf, .len = 2);
    coir_await(f, &f->recv, coir_recvfrom, .fd = f->peer, .buf = f->buf, .len = 2);
    OK(!f->recv.truncated, "a whole one in the same frame");
    coir_finally(f) {
        close(f->fd);
        close(f->peer);
        free(f->buf);
    }
} coir_end

/* ---- a receiver that is slow ---- */

enum { MANY = 500 };

struct floods {
    coir_frame_void;
    coir_args(int fd; const struct sockaddr_storage *to; socklen_t tolen;);
    int i;
    struct coir_sendto send;
};
static coir_declare(floods);

coir_body(floods, f) {
    for (f->i = 0; f->i < MANY; f->i++)
        coir_try(f, &f->send, coir_sendto, .fd = f->fd, .buf = &f->i, .len = sizeof f->i,
                 .addr = (const struct sockaddr *)f->to, .addrlen = f->tolen);
} coir_end

struct flood {
    coir_frame_void;
    coir_no_args;
    int fd, peer, i, number, wrong;
    struct sockaddr_storage at;
    socklen_t len;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_recvfrom recv;
    struct coir_sleep sleep;
};
static coir_declare(flood);

coir_body(flood, f) {
    f->peer = MUST(coir_bind("unix:@coir-flood", NULL));
    f->fd = MUST(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    f->len = sizeof f->at;
    MUST(getsockname(f->peer, (struct sockaddr *)&f->at, &f->len));
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(floods, .fd = f->fd, .to = &f->at, .tolen = f->len));
    f->wrong = 0;
    for (f->i = 0; f->i < MANY; f->i++) {
        if (f->i % 100 == 0)
            coir_try(f, &f->sleep, coir_sleep, .ns = 5 * COIR_MS);
        coir_try(f, &f->recv, coir_recvfrom, .fd = f->peer, .buf = &f->number, .len = sizeof f->number);
        f->wrong += f->number != f->i;
    }
    EQ(f->wrong, 0, "what is sent faster than it is taken comes, in order");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), 0, "and who sends ends well");
    coir_finally(f) {
        close(f->fd);
        close(f->peer);
    }
} coir_end

int main(void)
{
    bind_inet();
    bind_unix();
    RUN(coir_new(asks, .server = "127.0.0.1:0", .client = "127.0.0.1:0"), "IPv4");
    RUN(coir_new(asks, .server = "[::1]:0", .client = "[::1]:0"), "IPv6");
    RUN(coir_new(asks, .server = ":0", .client = ":0", .mapped = true), "both");
    RUN(coir_new(asks, .server = "unix:@coir-asks-1", .client = "unix:@coir-asks-2"), "Unix");
    RUN(coir_new(wrong), "what is wrong");
    RUN(coir_new(flood), "a flood");
    return DONE();
}
