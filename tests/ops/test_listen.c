/* SPDX-License-Identifier: MIT */
/*
 * coir_listen: what it takes for an address, what it refuses, and what the listener is like. No shard runs here
 * but in the last test.
 */
#include <arpa/inet.h>
#include <coir/coir.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tap.h"

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

/* 0, or the errno that a blocking connect gets. */
static int connects_v4(int port)
{
    const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int err = connect(fd, (const struct sockaddr *)&to, sizeof to) < 0 ? errno : 0;

    close(fd);
    return err;
}

static int connects_v6(int port)
{
    const struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port),
                                     .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int err = fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof to) < 0 ? errno : 0;

    close(fd);
    return err;
}

static void test_inet(void)
{
    const int fd = coir_listen("127.0.0.1:0", NULL);
    char where[40];

    OK(fd >= 0, "127.0.0.1:0 gives a descriptor");
    OK(port_of(fd) > 0, "port 0 is replaced by a free one");
    EQ(option(fd, SOL_SOCKET, SO_ACCEPTCONN), 1, "it listens");
    EQ(option(fd, SOL_SOCKET, SO_REUSEADDR), 1, "SO_REUSEADDR");
    EQ(option(fd, SOL_SOCKET, SO_REUSEPORT), 0, "not SO_REUSEPORT");
    EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC, "close-on-exec");
    EQ(connects_v4(port_of(fd)), 0, "a client connects");
    snprintf(where, sizeof where, "127.0.0.1:%d", port_of(fd));
    EQ(coir_listen(where, NULL), -EADDRINUSE, "a second listener on the same port");
    close(fd);
}

static void test_any(void)
{
    const int fd = coir_listen(":0", NULL);

    OK(fd >= 0, ":0 gives a descriptor");
    EQ(connects_v4(port_of(fd)), 0, "over IPv4");
    if (option(fd, SOL_SOCKET, SO_DOMAIN) == AF_INET6)
        EQ(connects_v6(port_of(fd)), 0, "over IPv6");
    else
        SKIP("no IPv6 here");
    close(fd);
}

static void test_v6only(void)
{
    const int fd = coir_listen("[::]:0", &(struct coir_listen_options){ .v6only = true });

    if (fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL) {
        SKIP("no IPv6 here");
        return;
    }
    OK(fd >= 0, "[::]:0, IPv6 only");
    EQ(option(fd, IPPROTO_IPV6, IPV6_V6ONLY), 1, "IPV6_V6ONLY");
    EQ(connects_v6(port_of(fd)), 0, "an IPv6 client connects");
    EQ(connects_v4(port_of(fd)), ECONNREFUSED, "an IPv4 client does not");
    close(fd);
}

static void test_reuse_port(void)
{
    const struct coir_listen_options reuse = { .reuse_port = true };
    const int a = coir_listen("127.0.0.1:0", &reuse);
    char where[40];
    int b;

    snprintf(where, sizeof where, "127.0.0.1:%d", port_of(a));
    b = coir_listen(where, &reuse);
    OK(b >= 0, "two listeners share a port");
    EQ(port_of(a), port_of(b), "the same one");
    EQ(coir_listen("unix:/tmp/coir_never", &reuse), -EINVAL, "a Unix socket cannot be shared");
    EQ(access("/tmp/coir_never", F_OK), -1, "and is not made");
    close(a);
    close(b);
}

static void test_refused(void)
{
    static const char *const bad[] = {
        "", "80", ":", ":x", ":80x", ":65536", ":99999999999999999999", "localhost:80", "1.2.3:80", "1.2.3.4",
        "1.2.3.4:",
        "::1:80", "[::1]", "[::1]80", "[::1:80", "::1]:80", "[1.2.3.4]:80", "[]:80", "unix:", "unix:@", ": 80", ":-1",
        "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]:80",
    };
    char path[200];

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EQ(coir_listen(bad[i], NULL), -EINVAL, "\"%s\" is no address", bad[i]);
    EQ(coir_listen(NULL, NULL), -EINVAL, "NULL is no address");
    memset(path, 'x', sizeof path);
    memcpy(path, "unix:/", 6);
    path[sizeof path - 1] = '\0';
    OK(coir_listen(path, NULL) == -EINVAL || coir_listen(path, NULL) == -ENAMETOOLONG, "a path that is too long");
    EQ(coir_listen("127.0.0.1:0", &(struct coir_listen_options){ .backlog = -1 }), -EINVAL, "a negative backlog");
    EQ(coir_listen("192.0.2.1:0", NULL), -EADDRNOTAVAIL, "an address that is not this machine's");
    EQ(coir_listen("unix:/nonexistent/socket", NULL), -ENOENT, "a path in no folder");
}

static int connects_unix(const char *path)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int err;

    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    err = connect(fd, (const struct sockaddr *)&to, sizeof to) < 0 ? errno : 0;
    close(fd);
    return err;
}

static void test_unix(void)
{
    char dir[] = "/tmp/coir_listen_XXXXXX", path[60], where[70];
    struct stat st;
    int fd, file;

    OK(mkdtemp(dir) != NULL, "a folder of our own");
    snprintf(path, sizeof path, "%s/socket", dir);
    snprintf(where, sizeof where, "unix:%s", path);
    fd = coir_listen(where, &(struct coir_listen_options){ .mode = 0600 });
    OK(fd >= 0, "unix:/path gives a descriptor");
    EQ(stat(path, &st), 0, "the file is there");
    EQ(st.st_mode & 07777, 0600, "with its mode");
    EQ(connects_unix(path), 0, "a client connects");
    EQ(coir_listen(where, NULL), -EADDRINUSE, "a live server is not replaced");
    EQ(connects_unix(path), 0, "and goes on");
    close(fd);
    EQ(connects_unix(path), ECONNREFUSED, "its server is gone, the file is not");
    fd = coir_listen(where, NULL);
    OK(fd >= 0, "a dead server's file is replaced");
    EQ(connects_unix(path), 0, "a client connects");
    close(fd);
    unlink(path);
    file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    close(file);
    EQ(coir_listen(where, NULL), -EADDRINUSE, "a file that is no socket is not replaced");
    EQ(stat(path, &st), 0, "it is still there");
    OK(S_ISREG(st.st_mode), "and what it was");
    unlink(path);
    rmdir(dir);
}

static void test_abstract(void)
{
    char where[60];
    int fd;

    snprintf(where, sizeof where, "unix:@coir-listen-%d", (int)getpid());
    fd = coir_listen(where, NULL);
    OK(fd >= 0, "an abstract name");
    EQ(coir_listen(where, NULL), -EADDRINUSE, "twice");
    close(fd);
    fd = coir_listen(where, NULL);
    OK(fd >= 0, "again, when it is free");
    close(fd);
}

struct on_a_shard {
    coir_frame_void;
    coir_no_args;
    int fd;
};
static coir_declare(on_a_shard);

coir_body(on_a_shard, f) {
    f->fd = coir_listen("127.0.0.1:0", NULL);
    OK(f->fd >= 0, "on a shard");
    EQ((fcntl(f->fd, F_GETFL) & O_NONBLOCK) != 0, strcmp(coir_plane_name(), "epoll") == 0,
       "non-blocking on epoll only");
    close(f->fd);
} coir_end

int main(void)
{
    test_inet();
    test_any();
    test_v6only();
    test_reuse_port();
    test_refused();
    test_unix();
    test_abstract();
    EQ(coir_run(NULL, coir_new(on_a_shard)), 0, "the shard ends");
    return DONE();
}
