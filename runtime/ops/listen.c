/* SPDX-License-Identifier: MIT */
/*
 * coir_listen: a socket, bound and listening. It looks up no names and blocks on nothing, so it is a plain
 * function that needs no shard.
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
        struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = ((struct sockaddr_in6 *)&at.addr)->sin6_port };
        memcpy(&at.addr, &any, sizeof any);
        at.len = sizeof any;
        res = listen_at(&at, o);
    }
    return res;
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
    const struct coir_listen_options o = { .backlog = backlog, .reuse_port = true,
                                           .v6only = option(fd, IPPROTO_IPV6, IPV6_V6ONLY) };
    struct place at = { .len = sizeof at.addr };

    if (getsockname(fd, (struct sockaddr *)&at.addr, &at.len) < 0)
        return -errno;
    return listen_at(&at, &o);
}
