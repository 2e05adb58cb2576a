/* SPDX-License-Identifier: MIT */
/*
 * Natives of connections. Whoever reads waits without a buffer of its own, for a loan of the shard's (coir/lend.h), and
 * what is not given out of it stays in the connection; so what has come is not lost when the wait for more is cut
 * short. No two fibers use one of these at a time, since nobody but its owner can lend it; the two halves of a socket
 * are one for each way.
 */
#include <coir/coir.h>
#include <coir/lend.h>
#include <errno.h>
#include <stdlib.h>

#include "vm/machine.h"
#include "vm/natives/net.h"

enum { BYTES_A_STEP = 32, LONGEST_LINE = 1 << 20 };

static struct coir_conn *conn_at(uint64_t slot)
{
    return (struct coir_conn *)coir_ref(slot);
}

/* ---- made and ended ---- */

static void release(struct coir_heap *h, struct coir_conn *c)
{
    struct coir_endpoint *const s = c->socket;

    coir_rest_drop(h, &c->rest);
    c->socket = NULL;
    if (!s || --s->holders)
        return;
    coir_close_later(s->fd);
    coir_heap_free(h, s, sizeof *s);
}

static void conn_drop(struct coir_heap *h, struct coir_counted *c)
{
    release(h, (struct coir_conn *)c);
}

/* The other side reads the end, even if somebody still reads from it here. */
static void writer_drop(struct coir_heap *h, struct coir_counted *c)
{
    const struct coir_endpoint *const s = ((struct coir_conn *)c)->socket;

    if (s && s->holders > 1)
        shutdown(s->fd, SHUT_WR);
    release(h, (struct coir_conn *)c);
}

static int conn_descriptor(const struct coir_counted *c)
{
    const struct coir_conn *conn = (const struct coir_conn *)c;

    return conn->socket ? conn->socket->fd : -1;
}

const struct coir_resource coir_conn_resource = {
    .name = "net.Conn", .size = sizeof(struct coir_conn), .drop = conn_drop, .descriptor = conn_descriptor,
};

/* The other half may be waiting on the same socket: the shard cannot let go of it. */
static const char half_stays[] = "a half of a connection belongs to the shard where it was split";

const struct coir_resource coir_reader_resource = {
    .name = "net.Reader", .size = sizeof(struct coir_conn), .drop = conn_drop, .stays = half_stays,
};
const struct coir_resource coir_writer_resource = {
    .name = "net.Writer", .size = sizeof(struct coir_conn), .drop = writer_drop, .stays = half_stays,
};

enum coir_native_result coir_give_conn(struct coir_fiber *f, uint64_t *r, int fd, const struct sockaddr_storage *peer,
                                       socklen_t peer_len)
{
    struct coir_endpoint *const s = coir_heap_alloc(f->heap, sizeof *s);
    struct coir_conn *const c = s ? (struct coir_conn *)coir_resource_new(f->heap, coir_result_type(f)) : NULL;

    if (!c) {
        if (s)
            coir_heap_free(f->heap, s, sizeof *s);
        coir_close_later(fd);
        return coir_trap_memory(f);
    }
    *s = (struct coir_endpoint){ .fd = fd, .holders = 1 };
    if (peer->ss_family != AF_UNIX && peer_len <= sizeof s->peer) {
        s->peer_len = peer_len;
        memcpy(s->peer, peer, peer_len);
    }
    c->socket = s;
    r[0] = coir_slot_of(c);
    return COIR_NATIVE_DONE;
}

/* ---- addresses ---- */

typedef int name_fn(int fd, struct sockaddr *addr, socklen_t *len);

static int ask_peer(int fd, struct sockaddr *addr, socklen_t *len)
{
    return getpeername(fd, addr, len);
}

static int ask_own(int fd, struct sockaddr *addr, socklen_t *len)
{
    return getsockname(fd, addr, len);
}

/* 0, or a negative errno. */
static int name_of(name_fn *ask, const struct coir_endpoint *s, char *to)
{
    struct sockaddr_storage addr = { 0 };
    socklen_t len = sizeof addr;

    if (ask == ask_peer && s->peer_len) {
        len = s->peer_len;
        memcpy(&addr, s->peer, len);
    } else if (ask(s->fd, (struct sockaddr *)&addr, &len) < 0) {
        memcpy(to, "unix:", sizeof "unix:");
        return -errno;
    }
    coir_address_text(&addr, len, to, COIR_ADDRESS_TEXT);
    return 0;
}

static enum coir_native_result trap(struct coir_fiber *f, const struct coir_conn *c, int status)
{
    char name[COIR_ADDRESS_TEXT];

    name_of(ask_peer, c->socket, name);
    return coir_trap_status(f, status, name);
}

static enum coir_native_result give(struct coir_fiber *f, uint64_t *r, struct coir_text *t)
{
    if (!t)
        return coir_trap_memory(f);
    coir_charge(f, t->len / BYTES_A_STEP);
    r[0] = coir_slot_of(t);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result give_nil(uint64_t *r)
{
    r[0] = 0;
    return COIR_NATIVE_DONE;
}

static enum coir_native_result give_name(struct coir_fiber *f, uint64_t *r, name_fn *ask)
{
    const struct coir_conn *const c = conn_at(r[0]);
    char name[COIR_ADDRESS_TEXT];
    const int status = name_of(ask, c->socket, name);

    return status < 0 ? coir_trap_status(f, status, NULL) : give(f, r, coir_text_of(f->heap, name, strlen(name)));
}

static enum coir_native_result conn_peer(struct coir_fiber *f, uint64_t *r)
{
    return give_name(f, r, ask_peer);
}

static enum coir_native_result conn_address(struct coir_fiber *f, uint64_t *r)
{
    return give_name(f, r, ask_own);
}

/* ---- reading ---- */

struct receive {
    union {
        struct coir_recv_lend lend;
        struct coir_recv_exact exact;
    };
    size_t searched;
    bool filling;                       /* `exact` is the one */
};

static enum coir_native_result wait_for_bytes(struct coir_fiber *f, const struct coir_conn *c, struct receive *s)
{
    s->filling = false;
    return coir_wait_for(f, &s->lend, coir_recv_lend, .fd = c->socket->fd);
}

/* How the wait has ended. -EAGAIN: it was nobody's will that it did. */
static int ended(const struct coir_fiber *f, struct coir_conn *c, int status)
{
    if (status == -ECANCELED)
        return coir_fiber_waits_again(f) ? -EAGAIN : status;
    if (status < 0 && status != -ENOMEM && status != -ENODATA)
        c->error = status;
    return status;
}

/* Puts what was lent into the rest, and gives it back. 1: there is something; 0: that was the end; or as ended(). */
static int take_loan(struct coir_fiber *f, struct coir_conn *c, struct receive *s)
{
    struct coir_lent *const lent = &s->lend.result;
    const int status = ended(f, c, coir_status(&s->lend));
    bool kept;

    if (status < 0 || lent->len == 0)
        return status;
    kept = coir_rest_add(f->heap, &c->rest, lent->data, lent->len);
    coir_lend_back(lent);
    return kept ? 1 : -ENOMEM;
}

/* What follows a full loan, if it is there. An error comes once: the next read has it. */
static size_t receive_more(struct coir_fiber *f, struct coir_conn *c, size_t most)
{
    ssize_t n;

    if (!f->vm->bulk)
        f->vm->bulk = malloc(COIR_BULK);
    if (!f->vm->bulk)
        return 0;
    n = recv(c->socket->fd, f->vm->bulk, most < COIR_BULK ? most : COIR_BULK, MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        c->error = -errno;
    return n < 0 ? 0 : (size_t)n;
}

/* Up to n bytes of the loan, with what follows it; the rest is kept. */
static struct coir_text *part_of_loan(struct coir_fiber *f, struct coir_conn *c, struct coir_lent *lent, size_t n)
{
    const size_t first = lent->len < n ? lent->len : n;
    const size_t more = n > COIR_LENT_MAX && first == COIR_LENT_MAX ? receive_more(f, c, n - first) : 0;
    struct coir_text *t = coir_text_new(f->heap, first + more);

    if (t && !coir_rest_add(f->heap, &c->rest, (char *)lent->data + first, lent->len - first)) {
        coir_drop(f->heap, &t->head);
        t = NULL;
    }
    if (t) {
        memcpy(t->bytes, lent->data, first);
        if (more)
            memcpy(t->bytes + first, f->vm->bulk, more);
    }
    coir_lend_back(lent);
    return t;
}

static enum coir_native_result conn_read(struct coir_fiber *f, uint64_t *r)
{
    struct coir_conn *const c = conn_at(r[0]);
    const size_t have = coir_rest_len(&c->rest), n = r[1];
    struct receive *s;
    int status;

    if ((int64_t)r[1] < 1)
        return coir_trap(f, COIR_TRAP_BOUNDS, "%lld bytes", (long long)r[1]);
    if (f->step == 0 && have)
        return give(f, r, coir_rest_take(f->heap, &c->rest, n < have ? n : have, 0));
    if (f->step == 0 && c->error)
        return trap(f, c, c->error);
    s = coir_scratch(f, sizeof *s, NULL);
    if (!s)
        return coir_trap_memory(f);
    status = f->step ? ended(f, c, coir_status(&s->lend)) : -EAGAIN;
    if (status == -EAGAIN)
        return wait_for_bytes(f, c, s);
    if (status < 0)
        return trap(f, c, status);
    return s->lend.result.len ? give(f, r, part_of_loan(f, c, &s->lend.result, n)) : give_nil(r);
}

static enum coir_native_result conn_read_line(struct coir_fiber *f, uint64_t *r)
{
    struct coir_conn *const c = conn_at(r[0]);
    struct receive *const s = coir_scratch(f, sizeof *s, NULL);
    int status = -EAGAIN;
    size_t len, skip;

    if (!s)
        return coir_trap_memory(f);
    if (f->step)
        status = take_loan(f, c, s);
    if (status < 0 && status != -EAGAIN)
        return trap(f, c, status);
    if (coir_rest_line(&c->rest, &s->searched, &len, &skip)) {
        if (len <= LONGEST_LINE)
            return give(f, r, coir_rest_take(f->heap, &c->rest, len, skip));
        return trap(f, c, -EMSGSIZE);
    }
    if (coir_rest_len(&c->rest) > LONGEST_LINE + 1)
        return trap(f, c, -EMSGSIZE);
    if (status == 0)
        return coir_rest_len(&c->rest) ? give(f, r, coir_rest_take(f->heap, &c->rest, coir_rest_len(&c->rest), 0))
                                       : give_nil(r);
    return c->error ? trap(f, c, c->error) : wait_for_bytes(f, c, s);
}

/* What `exact` has read lies in the rest, however it has ended. */
static int take_filled(struct coir_fiber *f, struct coir_conn *c, struct receive *s)
{
    const int status = ended(f, c, coir_status(&s->exact));

    coir_rest_came(&c->rest, s->exact.result);
    return status < 0 ? status : 1;
}

/* The first bytes are waited for without a buffer, then there is one for all. */
static enum coir_native_result conn_read_exactly(struct coir_fiber *f, uint64_t *r)
{
    struct coir_conn *const c = conn_at(r[0]);
    const size_t n = r[1];
    struct receive *const s = coir_scratch(f, sizeof *s, NULL);
    int status = -EAGAIN;
    size_t have, room;
    char *to;

    if ((int64_t)r[1] < 0)
        return coir_trap(f, COIR_TRAP_BOUNDS, "%lld bytes", (long long)r[1]);
    if (!s)
        return coir_trap_memory(f);
    if (f->step)
        status = s->filling ? take_filled(f, c, s) : take_loan(f, c, s);
    if (status < 0 && status != -EAGAIN)
        return trap(f, c, status);
    have = coir_rest_len(&c->rest);
    if (have >= n)
        return give(f, r, coir_rest_take(f->heap, &c->rest, n, 0));
    if (status == 0)
        return give_nil(r);
    if (c->error)
        return trap(f, c, c->error);
    if (have == 0)
        return wait_for_bytes(f, c, s);
    to = coir_rest_room(f->heap, &c->rest, n - have, &room);
    if (!to)
        return coir_trap_memory(f);
    s->filling = true;
    return coir_wait_for(f, &s->exact, coir_recv_exact, .fd = c->socket->fd, .buf = to, .len = n - have);
}

/* ---- writing ---- */

struct writing {
    struct coir_send_all op;
    size_t done;
};

static enum coir_native_result conn_write(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_conn *const c = conn_at(r[0]);
    const struct coir_text *const t = coir_text_at(r[1]);
    struct writing *s;
    int status;

    if (t->len == 0)
        return COIR_NATIVE_DONE;
    s = coir_scratch(f, sizeof *s, NULL);
    if (!s)
        return coir_trap_memory(f);
    if (f->step) {
        s->done += s->op.result;
        status = coir_status(&s->op);
        if (s->done == t->len)
            return COIR_NATIVE_DONE;
        if (status < 0 && !(status == -ECANCELED && coir_fiber_waits_again(f)))
            return trap(f, c, status);
    } else {
        coir_charge(f, t->len / BYTES_A_STEP);
    }
    return coir_wait_for(f, &s->op, coir_send_all, .fd = c->socket->fd, .buf = t->bytes + s->done,
                         .len = t->len - s->done);
}

static enum coir_native_result conn_finish(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_conn *const c = conn_at(r[0]);

    return shutdown(c->socket->fd, SHUT_WR) < 0 ? trap(f, c, -errno) : COIR_NATIVE_DONE;
}

/* ---- in two, and closed ---- */

static enum coir_native_result conn_split(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_field *const fields = coir_result_type(f)->fields;
    struct coir_conn *const c = conn_at(r[0]);
    struct coir_conn *const in = (struct coir_conn *)coir_resource_new(f->heap, fields[0].type);
    struct coir_conn *const out = (struct coir_conn *)coir_resource_new(f->heap, fields[1].type);

    if (!in || !out) {
        if (in)
            coir_drop(f->heap, &in->head);
        if (out)
            coir_drop(f->heap, &out->head);
        return coir_trap_memory(f);
    }
    in->socket = out->socket = c->socket;
    c->socket->holders = 2;
    in->rest = c->rest;
    in->error = c->error;
    c->socket = NULL;
    c->rest = (struct coir_rest){ 0 };
    coir_drop(f->heap, &c->head);
    r[0] = coir_slot_of(in);
    r[1] = coir_slot_of(out);
    return COIR_NATIVE_DONE;
}

/* The first of two halves is dropped. Otherwise the socket is closed when this returns. */
static enum coir_native_result conn_close(struct coir_fiber *f, uint64_t *r)
{
    struct coir_conn *const c = conn_at(r[0]);
    struct coir_close *const s = coir_scratch(f, sizeof *s, NULL);
    int fd;

    if (!s)
        return coir_trap_memory(f);
    if (f->step || c->socket->holders > 1) {
        coir_drop(f->heap, &c->head);
        return COIR_NATIVE_DONE;
    }
    fd = c->socket->fd;
    coir_heap_free(f->heap, c->socket, sizeof *c->socket);
    c->socket = NULL;
    return coir_wait_for(f, s, coir_close, .fd = fd);
}

static const struct coir_native natives[] = {
    { "net.Conn.read", "fn read(self: net.Conn, n: Int) -> Text?", conn_read },
    { "net.Conn.read_exactly", "fn read_exactly(self: net.Conn, n: Int) -> Text?", conn_read_exactly },
    { "net.Conn.read_line", "fn read_line(self: net.Conn) -> Text?", conn_read_line },
    { "net.Conn.write", "fn write(self: net.Conn, data: Text)", conn_write },
    { "net.Conn.finish", "fn finish(self: net.Conn)", conn_finish },
    { "net.Conn.peer", "fn peer(self: net.Conn) -> Text", conn_peer },
    { "net.Conn.address", "fn address(self: net.Conn) -> Text", conn_address },
    { "net.Conn.split", "fn split(own self: net.Conn) -> (net.Reader, net.Writer)", conn_split },
    { "net.Conn.close", "fn close(own self: net.Conn)", conn_close },
    { "net.Reader.read", "fn read(self: net.Reader, n: Int) -> Text?", conn_read },
    { "net.Reader.read_exactly", "fn read_exactly(self: net.Reader, n: Int) -> Text?", conn_read_exactly },
    { "net.Reader.read_line", "fn read_line(self: net.Reader) -> Text?", conn_read_line },
    { "net.Reader.close", "fn close(own self: net.Reader)", conn_close },
    { "net.Writer.write", "fn write(self: net.Writer, data: Text)", conn_write },
    { "net.Writer.close", "fn close(own self: net.Writer)", conn_close },
};
const struct coir_natives coir_conn_natives = { natives, sizeof natives / sizeof *natives, NULL, 0 };
