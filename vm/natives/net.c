/* SPDX-License-Identifier: MIT */
/* Natives of net: listening, accepting, connecting. What a connection does is in conn.c. */
#include "vm/natives/net.h"

#include <coir/coir.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <unistd.h>

struct listener {
    struct coir_counted head;
    int fd;                             /* -1: closed */
};

static struct listener *listener_at(uint64_t slot)
{
    return (struct listener *)coir_ref(slot);
}

static const char *own_name(int fd, char *to)
{
    struct sockaddr_storage addr = { 0 };
    socklen_t len = sizeof addr;

    if (getsockname(fd, (struct sockaddr *)&addr, &len) < 0)
        return "?";
    return coir_address_text(&addr, len, to, COIR_ADDRESS_TEXT);
}

void coir_close_later(int fd)
{
    if (coir_detach(coir_shard_id() < 0 ? NULL : coir_new(coir_close, .fd = fd)) < 0)
        close(fd);
}

static void listener_drop(struct coir_heap *h, struct coir_counted *c)
{
    const struct listener *const l = (const struct listener *)c;

    (void)h;
    if (l->fd >= 0)
        coir_close_later(l->fd);
}

static const struct coir_resource listener_resource = {
    .name = "net.Listener", .size = sizeof(struct listener), .drop = listener_drop,
    .stays = "a listener belongs to the shard that listens",
};

/* ---- listening ---- */

/* The address, as C has it, lies behind the rest. */
struct listen {
    struct coir_resolve op;
    struct sockaddr_storage addr;
    char *port;                         /* in `where`, behind the host */
    char where[];
};

/* An errno's words are of files: a name that nobody knows is another matter, and so is what is no address. */
static enum coir_native_result trap_address(struct coir_fiber *f, int status, const char *where)
{
    struct sockaddr_storage addr;

    if (status == -EINVAL && coir_address(where, &addr) < 0)
        return coir_trap_outside(f, status, "It is no address, as host:port, [::1]:port or unix:path", where);
    if (status == -ENOENT && strncmp(where, "unix:", 5))
        return coir_trap_outside(f, status, "No such host", where);
    return coir_trap_status(f, status, where);
}

static enum coir_native_result give_listener(struct coir_fiber *f, uint64_t *r, int fd)
{
    struct listener *l;

    if (fd < 0)
        return coir_trap_status(f, fd, coir_text_at(r[0])->bytes);
    l = (struct listener *)coir_resource_new(f->heap, coir_result_type(f));
    if (!l) {
        coir_close_later(fd);
        return coir_trap_memory(f);
    }
    l->fd = fd;
    r[0] = coir_slot_of(l);
    return COIR_NATIVE_DONE;
}

/* "host:port" is cut in two. False: it is none. */
static bool cut(struct listen *s)
{
    char *const colon = strrchr(s->where, ':');

    if (!colon || colon == s->where || s->where[0] == '[' || !strncmp(s->where, "unix:", 5))
        return false;
    *colon = 0;
    s->port = colon + 1;
    return true;
}

/* A name is looked up only if it is no address. */
static enum coir_native_result net_listen(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const address = coir_text_at(r[0]);
    struct listen *const s = coir_scratch(f, sizeof *s + address->len + 1, NULL);
    char numeric[COIR_ADDRESS_TEXT];
    int status;

    if (!s)
        return coir_trap_memory(f);
    if (f->step == 0) {
        memcpy(s->where, address->bytes, address->len);
        status = strlen(s->where) < address->len ? -EINVAL : coir_listen(s->where, NULL);
        if (status != -EINVAL || !cut(s))
            return status < 0 ? trap_address(f, status, s->where) : give_listener(f, r, status);
    } else if (coir_status(&s->op) == 0) {
        coir_address_text(&s->addr, coir_address_len(&s->addr), numeric, sizeof numeric);
        status = coir_listen(numeric, NULL);
        s->port[-1] = ':';
        return status < 0 ? trap_address(f, status, s->where) : give_listener(f, r, status);
    } else if (coir_status(&s->op) != -ECANCELED || !coir_fiber_waits_again(f)) {
        s->port[-1] = ':';
        return trap_address(f, coir_status(&s->op), s->where);
    }
    return coir_wait_for(f, &s->op, coir_resolve, .host = s->where, .service = s->port, .addrs = &s->addr, .max = 1);
}

/* ---- accepting ---- */

struct accept {
    struct coir_accept op;
    struct sockaddr_storage addr;
    socklen_t len;
};

static enum coir_native_result listener_accept(struct coir_fiber *f, uint64_t *r)
{
    struct listener *const l = listener_at(r[0]);
    struct accept *const s = coir_scratch(f, sizeof *s, NULL);
    char name[COIR_ADDRESS_TEXT];
    int status;

    if (!s)
        return coir_trap_memory(f);
    status = f->step ? coir_status(&s->op) : -ECANCELED;
    if (f->step == 0 || (status == -ECANCELED && coir_fiber_waits_again(f)))
        return coir_wait_for(f, &s->op, coir_accept, .fd = l->fd, .addr = &s->addr, .addrlen = &s->len);
    if (status < 0)
        return coir_trap_status(f, status, own_name(l->fd, name));
    if (s->addr.ss_family != AF_UNIX)
        setsockopt(s->op.result, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
    return coir_give_conn(f, r, s->op.result, &s->addr, s->len);
}

static enum coir_native_result listener_address(struct coir_fiber *f, uint64_t *r)
{
    char room[COIR_ADDRESS_TEXT];
    const char *const name = own_name(listener_at(r[0])->fd, room);
    struct coir_text *const t = coir_text_of(f->heap, name, strlen(name));

    if (!t)
        return coir_trap_memory(f);
    r[0] = coir_slot_of(t);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result listener_close(struct coir_fiber *f, uint64_t *r)
{
    struct listener *const l = listener_at(r[0]);
    struct coir_close *const s = coir_scratch(f, sizeof *s, NULL);
    int fd = l->fd;

    if (!s)
        return coir_trap_memory(f);
    if (f->step == 0) {
        l->fd = -1;
        return coir_wait_for(f, s, coir_close, .fd = fd);
    }
    coir_drop(f->heap, &l->head);
    return COIR_NATIVE_DONE;
}

/* ---- connecting ---- */

struct connect {
    struct coir_dial op;
    char where[];
};

static enum coir_native_result net_connect(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const address = coir_text_at(r[0]);
    struct connect *const s = coir_scratch(f, sizeof *s + address->len + 1, NULL);
    struct sockaddr_storage addr = { 0 };
    socklen_t len = sizeof addr;
    int status;

    if (!s)
        return coir_trap_memory(f);
    if (f->step == 0)
        memcpy(s->where, address->bytes, address->len);
    if (strlen(s->where) < address->len)
        return trap_address(f, -EINVAL, s->where);
    status = f->step ? coir_status(&s->op) : -ECANCELED;
    if (f->step == 0 || (status == -ECANCELED && coir_fiber_waits_again(f)))
        return coir_wait_for(f, &s->op, coir_dial, .where = s->where);
    if (status < 0)
        return trap_address(f, status, s->where);
    if (getpeername(s->op.result, (struct sockaddr *)&addr, &len) < 0)
        len = 0;
    return coir_give_conn(f, r, s->op.result, &addr, len);
}

static const struct coir_native natives[] = {
    { "net.listen", "fn listen(address: Text) -> net.Listener", net_listen },
    { "net.connect", "fn connect(address: Text) -> net.Conn", net_connect },
    { "net.Listener.accept", "fn accept(self: net.Listener) -> net.Conn", listener_accept },
    { "net.Listener.address", "fn address(self: net.Listener) -> Text", listener_address },
    { "net.Listener.close", "fn close(own self: net.Listener)", listener_close },
};
static const struct coir_resource *const resources[] = {
    &coir_conn_resource, &listener_resource, &coir_reader_resource, &coir_writer_resource,
};
const struct coir_natives coir_net_natives = { natives, sizeof natives / sizeof *natives, resources,
                                               sizeof resources / sizeof *resources };
