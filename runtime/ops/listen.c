/* SPDX-License-Identifier: MIT */
/*
 * coir_listen and coir_bind: a socket, bound, and listening or not. They look up no names and block on nothing, so
 * they are plain functions that need no shard.
 */
#include <coir/listen.h>
#include <coir/net.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "runtime/ops/listen.h"
#include "runtime/ops/op.h"

enum { BACKLOG = 4096 };

struct place {
    struct sockaddr_storage addr;
    socklen_t len;
    bool any;                            /* every address, of either family */
};

/* What coir_address reads, and ":port" besides. */
static int parse(const char *where, struct place *at)
{
    char any[16];
    int len;

    at->any = where && *where == ':';
    if (at->any) {
        len = snprintf(any, sizeof any, "[::]%s", where);
        if (len >= (int)sizeof any)
            return -EINVAL;
        where = any;
    }
    len = where ? coir_address(where, &at->addr) : -EINVAL;
    if (len < 0)
        return len;
    at->len = (socklen_t)len;
    return 0;
}

/* True when the file is a socket of that type that nobody has any more: its server is gone. */
static bool is_stale(const struct place *at, int type)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)&at->addr;
    struct stat st;
    bool stale;
    int fd;

    if (!un->sun_path[0] || lstat(un->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
        return false;
    fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    stale = connect(fd, (const struct sockaddr *)un, at->len) < 0 && errno == ECONNREFUSED;
    close(fd);
    return stale;
}

/* The mode first of the socket, which the file inherits less the umask: nobody may write before that. */
static int bind_unix(int fd, const struct place *at, int type, unsigned mode)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)&at->addr;
    int res = mode ? fchmod(fd, mode) : 0;

    if (res == 0)
        res = bind(fd, (const struct sockaddr *)un, at->len);
    if (res < 0 && errno == EADDRINUSE) {
        if (!is_stale(at, type) || unlink(un->sun_path) < 0)
            return -EADDRINUSE;
        res = bind(fd, (const struct sockaddr *)un, at->len);
    }
    if (res == 0 && mode && un->sun_path[0])
        res = chmod(un->sun_path, mode);
    return res < 0 ? -errno : 0;
}

static int bind_inet(int fd, const struct place *at, const struct coir_bind_options *o)
{
    const int on = 1, v6only = o->v6only;

    if ((o->reuse_address && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0)
        || (o->reuse_port && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) < 0)
        || (at->addr.ss_family == AF_INET6
            && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof v6only) < 0)
        || bind(fd, (const struct sockaddr *)&at->addr, at->len) < 0)
        return -errno;
    return 0;
}

/* `backlog` is for a stream. */
static int open_at(const struct place *at, int type, const struct coir_bind_options *o, int backlog)
{
    const struct coir_shard *s = coir_shard_here();
    const int flags = type | SOCK_CLOEXEC | (s && s->plane->kind->nonblocking ? SOCK_NONBLOCK : 0);
    const int fd = socket(at->addr.ss_family, flags, 0);
    int err;

    if (fd < 0)
        return -errno;
    err = at->addr.ss_family == AF_UNIX ? bind_unix(fd, at, type, o->mode) : bind_inet(fd, at, o);
    if (!err && type == SOCK_STREAM && listen(fd, backlog ? backlog : BACKLOG) < 0)
        err = -errno;
    if (!err)
        return fd;
    close(fd);
    return err;
}

/* The same, on a machine without IPv6 too. */
static int open_anywhere(struct place *at, int type, const struct coir_bind_options *o, int backlog)
{
    int res;

    if (o->mode > 07777 || (o->reuse_port && at->addr.ss_family == AF_UNIX))
        return -EINVAL;
    res = open_at(at, type, o, backlog);
    if (at->any && (res == -EAFNOSUPPORT || res == -EADDRNOTAVAIL)) {
        struct sockaddr_in any = { .sin_family = AF_INET,
                                   .sin_port = ((struct sockaddr_in6 *)&at->addr)->sin6_port };
        memcpy(&at->addr, &any, sizeof any);
        at->len = sizeof any;
        res = open_at(at, type, o, backlog);
    }
    return res;
}

int coir_listen(const char *where, const struct coir_listen_options *options)
{
    static const struct coir_listen_options defaults;
    const struct coir_listen_options *o = options ? options : &defaults;
    const struct coir_bind_options bind_as = { .reuse_port = o->reuse_port, .reuse_address = true, .v6only = o->v6only,
                                               .mode = o->mode };
    struct place at;
    const int res = parse(where, &at);

    if (res < 0)
        return res;
    return o->backlog < 0 ? -EINVAL : open_anywhere(&at, SOCK_STREAM, &bind_as, o->backlog);
}

int coir_bind(const char *where, const struct coir_bind_options *options)
{
    static const struct coir_bind_options defaults;
    struct place at;
    const int res = parse(where, &at);

    return res < 0 ? res : open_anywhere(&at, SOCK_DGRAM, options ? options : &defaults, 0);
}

static int option(int fd, int level, int name)
{
    int value = 0;
    socklen_t len = sizeof value;

    return getsockopt(fd, level, name, &value, &len) < 0 ? 0 : value;
}

bool coir_listener_is_shared(int fd)
{
    return option(fd, SOL_SOCKET, SO_DOMAIN) != AF_UNIX && option(fd, SOL_SOCKET, SO_REUSEPORT);
}

int coir_listen_like(int fd, int backlog)
{
    const struct coir_bind_options o = { .reuse_port = true, .reuse_address = true,
                                         .v6only = option(fd, IPPROTO_IPV6, IPV6_V6ONLY) };
    struct place at = { .len = sizeof at.addr };

    if (getsockname(fd, (struct sockaddr *)&at.addr, &at.len) < 0)
        return -errno;
    return open_at(&at, SOCK_STREAM, &o, backlog);
}
