/* SPDX-License-Identifier: MIT */
/*
 * coir_listen: a socket, bound and listening. It looks up no names and blocks on nothing, so it is a plain
 * function that needs no shard.
 */
#include <arpa/inet.h>
#include <coir/listen.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "runtime/ops/op.h"

enum { BACKLOG = 4096 };

struct place {
    struct sockaddr_storage addr;
    socklen_t len;
    bool any;                            /* every address, of either family */
};

static int parse_port(const char *text, uint16_t *port)
{
    unsigned long n = 0;
    size_t i;

    for (i = 0; text[i] >= '0' && text[i] <= '9' && i < 6; i++)
        n = n * 10 + (unsigned long)(text[i] - '0');
    if (i == 0 || text[i] || n > 65535)
        return -EINVAL;
    *port = htons((uint16_t)n);
    return 0;
}

static int parse_unix(const char *name, struct place *at)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&at->addr;
    const size_t len = strlen(name);

    if (len == 0 || (*name == '@' && len == 1) || len >= sizeof un->sun_path)
        return -EINVAL;
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, name, len);
    if (*name == '@')
        un->sun_path[0] = '\0';
    at->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (*name != '@'));
    return 0;
}

static int parse_v6(const char *ip, uint16_t port, struct place *at)
{
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&at->addr;

    in6->sin6_family = AF_INET6;
    in6->sin6_port = port;
    at->len = sizeof *in6;
    return inet_pton(AF_INET6, ip, &in6->sin6_addr) == 1 ? 0 : -EINVAL;
}

static int parse_v4(const char *ip, uint16_t port, struct place *at)
{
    struct sockaddr_in *in = (struct sockaddr_in *)&at->addr;

    in->sin_family = AF_INET;
    in->sin_port = port;
    at->len = sizeof *in;
    return inet_pton(AF_INET, ip, &in->sin_addr) == 1 ? 0 : -EINVAL;
}

static int parse(const char *where, struct place *at)
{
    const char *colon = where ? strrchr(where, ':') : NULL;
    char ip[INET6_ADDRSTRLEN + 2];
    uint16_t port;

    memset(at, 0, sizeof *at);
    if (where && !strncmp(where, "unix:", 5))
        return parse_unix(where + 5, at);
    if (!colon || (size_t)(colon - where) >= sizeof ip || parse_port(colon + 1, &port) < 0)
        return -EINVAL;
    memcpy(ip, where, (size_t)(colon - where));
    ip[colon - where] = '\0';
    at->any = !*ip;
    if (at->any)
        return parse_v6("::", port, at);
    if (*ip != '[')
        return parse_v4(ip, port, at);
    if (colon[-1] != ']')
        return -EINVAL;
    ip[colon - where - 1] = '\0';
    return parse_v6(ip + 1, port, at);
}

/* True when the file is a socket that nobody listens on: its server is gone. */
static bool is_stale(const struct place *at)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)&at->addr;
    struct stat st;
    bool stale;
    int fd;

    if (!un->sun_path[0] || lstat(un->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
        return false;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    stale = connect(fd, (const struct sockaddr *)un, at->len) < 0 && errno == ECONNREFUSED;
    close(fd);
    return stale;
}

static int bind_unix(int fd, const struct place *at, unsigned mode)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)&at->addr;
    int res = bind(fd, (const struct sockaddr *)un, at->len);

    if (res < 0 && errno == EADDRINUSE) {
        if (!is_stale(at) || unlink(un->sun_path) < 0)
            return -EADDRINUSE;
        res = bind(fd, (const struct sockaddr *)un, at->len);
    }
    if (res == 0 && mode && un->sun_path[0])     /* nobody can connect before it listens */
        res = chmod(un->sun_path, mode);
    return res < 0 ? -errno : 0;
}

static int bind_inet(int fd, const struct place *at, const struct coir_listen_options *o)
{
    const int on = 1, v6only = o->v6only;

    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0
        || (o->reuse_port && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) < 0)
        || (at->addr.ss_family == AF_INET6
            && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof v6only) < 0)
        || bind(fd, (const struct sockaddr *)&at->addr, at->len) < 0)
        return -errno;
    return 0;
}

static int listen_at(const struct place *at, const struct coir_listen_options *o)
{
    const struct coir_shard *s = coir_shard_here();
    const int flags = SOCK_STREAM | SOCK_CLOEXEC | (s && s->plane->kind->nonblocking ? SOCK_NONBLOCK : 0);
    const int fd = socket(at->addr.ss_family, flags, 0);
    int err;

    if (fd < 0)
        return -errno;
    err = at->addr.ss_family == AF_UNIX ? bind_unix(fd, at, o->mode) : bind_inet(fd, at, o);
    if (!err && listen(fd, o->backlog ? o->backlog : BACKLOG) < 0)
        err = -errno;
    if (!err)
        return fd;
    close(fd);
    return err;
}

int coir_listen(const char *where, const struct coir_listen_options *options)
{
    static const struct coir_listen_options defaults;
    const struct coir_listen_options *o = options ? options : &defaults;
    struct place at;
    int res = parse(where, &at);

    if (res < 0)
        return res;
    if (o->backlog < 0 || o->mode > 07777 || (o->reuse_port && at.addr.ss_family == AF_UNIX))
        return -EINVAL;
    res = listen_at(&at, o);
    if (at.any && (res == -EAFNOSUPPORT || res == -EADDRNOTAVAIL)) {     /* a machine without IPv6 */
        const uint16_t port = ((struct sockaddr_in6 *)&at.addr)->sin6_port;
        memset(&at, 0, sizeof at);
        parse_v4("0.0.0.0", port, &at);
        res = listen_at(&at, o);
    }
    return res;
}
