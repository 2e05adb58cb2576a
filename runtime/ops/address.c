/* SPDX-License-Identifier: MIT */
/*
 * Addresses as text: "1.2.3.4:port", "[v6%zone]:port", "unix:/path", "unix:@abstract", and back. Pure
 * functions of their arguments; what reads never looks a name up, and what writes never writes past the size.
 *
 * An address is zero beyond what it says, so that its length can be told from its bytes.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include <coir/net.h>

#include "runtime/ops/net.h"

enum { PATH_AT = offsetof(struct sockaddr_un, sun_path), PATH_ROOM = sizeof ((struct sockaddr_un *)0)->sun_path };

/* "0" to "65535" and nothing else; or -1. */
static int port_of(const char *text)
{
    int port = 0, n = 0;

    for (; *text >= '0' && *text <= '9' && n < 5; text++, n++)
        port = port * 10 + (*text - '0');
    return n && !*text && port <= 65535 ? port : -1;
}

static int read_unix(const char *path, struct sockaddr_un *un)
{
    const size_t len = strlen(path);

    if (len == 0 || (path[0] == '@' && len == 1))
        return -EINVAL;
    if (len > PATH_ROOM - (path[0] != '@'))
        return -ENAMETOOLONG;
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, path, len);
    if (path[0] == '@')
        un->sun_path[0] = '\0';
    return (int)(PATH_AT + len + (path[0] != '@'));
}

static int read_v4(const char *host, int port, struct sockaddr_in *in)
{
    if (inet_pton(AF_INET, host, &in->sin_addr) != 1)
        return -EINVAL;
    in->sin_family = AF_INET;
    in->sin_port = htons((uint16_t)port);
    return (int)sizeof *in;
}

/* A zone is an interface's name or its number. */
static unsigned zone_of(const char *zone)
{
    char *end;
    const unsigned long n = strtoul(zone, &end, 10);

    return *zone >= '0' && *zone <= '9' && !*end && n <= UINT32_MAX ? (unsigned)n : if_nametoindex(zone);
}

static int read_v6(char *host, int port, struct sockaddr_in6 *in)
{
    char *zone = strchr(host, '%');

    if (zone) {
        *zone++ = '\0';
        in->sin6_scope_id = zone_of(zone);
        if (!in->sin6_scope_id)
            return -EINVAL;
    }
    if (inet_pton(AF_INET6, host, &in->sin6_addr) != 1)
        return -EINVAL;
    in->sin6_family = AF_INET6;
    in->sin6_port = htons((uint16_t)port);
    return (int)sizeof *in;
}

int coir_split_address(const char *text, char *host, size_t size, const char **port)
{
    const char *colon = strrchr(text, ':');
    const bool bracketed = text[0] == '[';
    size_t len;

    if (!colon || colon == text || !colon[1])
        return -EINVAL;
    len = (size_t)(colon - text);
    if (bracketed && (len < 3 || colon[-1] != ']'))
        return -EINVAL;
    text += bracketed;
    len -= bracketed * 2;
    if (len >= size)
        return -ENAMETOOLONG;
    memcpy(host, text, len);
    host[len] = '\0';
    if (!bracketed && strchr(host, ':'))
        return -EINVAL;                      /* v6 without brackets: where would the port begin? */
    *port = colon + 1;
    return bracketed ? AF_INET6 : 0;
}

int coir_address(const char *text, struct sockaddr_storage *out)
{
    char host[INET6_ADDRSTRLEN + IF_NAMESIZE];
    const char *port;
    int family, n;

    memset(out, 0, sizeof *out);
    if (!strncmp(text, "unix:", 5))
        return read_unix(text + 5, (struct sockaddr_un *)out);
    family = coir_split_address(text, host, sizeof host, &port);
    if (family < 0)
        return -EINVAL;
    n = port_of(port);
    if (n < 0)
        return -EINVAL;
    n = family == AF_INET6 ? read_v6(host, n, (struct sockaddr_in6 *)out) : read_v4(host, n, (struct sockaddr_in *)out);
    if (n < 0)
        memset(out, 0, sizeof *out);
    return n;
}

socklen_t coir_address_len(const struct sockaddr_storage *addr)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)addr;

    if (addr->ss_family == AF_INET)
        return sizeof(struct sockaddr_in);
    if (addr->ss_family == AF_INET6)
        return sizeof(struct sockaddr_in6);
    if (addr->ss_family != AF_UNIX)
        return 0;
    if (un->sun_path[0])
        return (socklen_t)(PATH_AT + strnlen(un->sun_path, PATH_ROOM - 1) + 1);
    if (un->sun_path[1])
        return (socklen_t)(PATH_AT + 1 + strnlen(un->sun_path + 1, PATH_ROOM - 1));
    return PATH_AT;
}

/* Bytes that are no text are written as '?'. */
static void write_unix(const struct sockaddr_un *un, socklen_t len, char *text, size_t size)
{
    const size_t n = len > PATH_AT ? len - PATH_AT : 0;
    char path[PATH_ROOM + 1];
    size_t used = 0;

    for (; used < n && used < PATH_ROOM; used++) {
        const char c = un->sun_path[used];
        if (!c && used)
            break;
        path[used] = c ? c : '@';
        if ((unsigned char)c < ' ' && used)
            path[used] = '?';
    }
    if (used == 1 && path[0] == '@')
        used = 0;
    path[used] = '\0';
    snprintf(text, size, "unix:%s", path);
}

static void write_v6(const struct sockaddr_in6 *in, char *text, size_t size)
{
    char host[INET6_ADDRSTRLEN], zone[IF_NAMESIZE + 1] = "";

    inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof host);
    if (in->sin6_scope_id) {
        zone[0] = '%';
        if (!if_indextoname(in->sin6_scope_id, zone + 1))
            snprintf(zone + 1, sizeof zone - 1, "%u", in->sin6_scope_id);
    }
    snprintf(text, size, "[%s%s]:%u", host, zone, ntohs(in->sin6_port));
}

char *coir_address_text(const struct sockaddr_storage *addr, socklen_t len, char *text, size_t size)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
    char host[INET_ADDRSTRLEN];

    if (len >= PATH_AT && addr->ss_family == AF_UNIX) {
        write_unix((const struct sockaddr_un *)addr, len, text, size);
    } else if (len >= sizeof *in && addr->ss_family == AF_INET) {
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
        snprintf(text, size, "%s:%u", host, ntohs(in->sin_port));
    } else if (len >= sizeof(struct sockaddr_in6) && addr->ss_family == AF_INET6) {
        write_v6((const struct sockaddr_in6 *)addr, text, size);
    } else {
        snprintf(text, size, "?");
    }
    return text;
}
