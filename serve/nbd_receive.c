/* SPDX-License-Identifier: MIT */
/*
 * The receiver of a connection. A request's object is its own until it has given it to a task or to the sender.
 */
#include "serve/nbd_receive.h"

#include <string.h>

#include "serve/nbd_connection.h"

/* ---- room ---- */

static bool is_full(const struct coir_nbd_connection *c, size_t cost)
{
    return c->bytes > 0 && c->bytes + cost > c->server->options.in_flight;
}

static void take_room(struct coir_nbd_reserve *f, bool shared)
{
    f->r->cost = (uint32_t)f->cost;
    f->r->shared = shared;
    f->c->bytes += f->cost;
    if (!shared)
        f->c->own += f->cost;
}

coir_body(coir_nbd_reserve, f) {
    while (is_full(f->c, f->cost)) {
        coir_event_reset(&f->c->room);
        coir_try(f, &f->wait, coir_event_wait, .event = &f->c->room);
    }
    if (f->c->own + f->cost <= NBD_OWN) {
        take_room(f, false);
    } else {
        coir_try(f, &f->acquire, coir_acquire, .semaphore = &f->c->shard->memory, .n = f->cost);
        take_room(f, true);
    }
} coir_end

/* The memory that a request needs; 0: none. */
static size_t cost_of(const struct coir_nbd_request *r)
{
    switch (r->type) {
    case NBD_CMD_READ:
    case NBD_CMD_WRITE:
        return coir_nbd_pieces_size(r->length);
    case NBD_CMD_CACHE:
        return NBD_PIECE;
    case NBD_CMD_BLOCK_STATUS:
        return NBD_TABLE;
    default:
        return 0;
    }
}

/* ---- one request ---- */

static void read_head(struct coir_nbd_accept *f)
{
    struct coir_nbd_request *const r = f->r;

    r->type = be16toh(f->head->type);
    r->flags = be16toh(f->head->flags);
    r->handle = f->head->handle;                    /* the client's own, whatever it is */
    r->offset = be64toh(f->head->offset);
    r->length = be32toh(f->head->length);
    if (r->type < NBD_COMMANDS)
        coir_nbd_add(&f->c->shard->counts.requests[r->type], 1);
    r->status = f->late ? -ESHUTDOWN : coir_nbd_check(f->c, r, &r->why);
}

/* To the sender, without having been done. */
static void refuse(struct coir_nbd_accept *f)
{
    coir_nbd_answer(f->r, NULL, 0);
    coir_nbd_push(f->r);
    f->r = NULL;
}

static void begin(struct coir_nbd_accept *f)
{
    f->r->status = coir_spawn(&f->c->runs, coir_new(coir_nbd_run, .request = f->r, .volume = f->c->export.volume));
    if (f->r->status < 0)
        refuse(f);
    f->r = NULL;
}

static bool is_write(const struct coir_nbd_accept *f)
{
    return be16toh(f->head->type) == NBD_CMD_WRITE;
}

/* Until when the data of a WRITE have to come. What is there already needs no clock. */
static int64_t deadline(const struct coir_nbd_accept *f)
{
    const size_t length = be32toh(f->head->length);

    return coir_nbd_have(&f->c->in) >= length ? COIR_NEVER : coir_nbd_deadline(f->c, length);
}

coir_body(coir_nbd_accept, f) {
    f->r = NULL;
    while (f->c->requests >= f->c->server->options.depth) {
        coir_event_reset(&f->c->room);
        coir_try(f, &f->wait, coir_event_wait, .event = &f->c->room);
    }
    f->r = coir_nbd_request_new(f->c);
    if (!f->r)
        coir_fail(f, ENOMEM);
    read_head(f);
    if (f->r->status == 0)
        coir_try(f, &f->reserve, coir_nbd_reserve, .c = f->c, .r = f->r, .cost = cost_of(f->r));
    if (f->r->status == 0 && is_write(f))
        f->r->status = coir_nbd_request_data(f->r, f->r->length);
    if (f->r->status == 0 && is_write(f)) {
        coir_within(f, &f->scope, deadline(f), &f->take, coir_nbd_take, .in = &f->c->in, .iov = f->r->iov + 1,
                    .n = f->r->n, .length = f->r->length);
        coir_check(f, &f->take);
    }
    if (f->r->status == 0) {
        begin(f);
        coir_return(f);
    }
    /* First the data: clients are not prepared to hear of a request that they have not sent whole. */
    if (is_write(f) && be32toh(f->head->length) <= NBD_SKIPPED_MAX) {
        coir_within(f, &f->scope, deadline(f), &f->skip, coir_nbd_skip, .in = &f->c->in,
                    .length = be32toh(f->head->length));
        coir_check(f, &f->skip);
    }
    refuse(f);
    if (is_write(f) && be32toh(f->head->length) > NBD_SKIPPED_MAX)
        coir_fail(f, EMSGSIZE);
    coir_finally(f) {
        if (f->r)
            coir_nbd_request_free(f->r);
    }
} coir_end

/* ---- all of them ---- */

/* What the wait for a request's first byte says about going on. */
enum next { GOES_ON, AGAIN, ENDS, SERVER_ENDS };

static enum next look(struct coir_nbd_receive *f)
{
    const int status = coir_status(&f->fill);

    if (status == -ENODATA)
        return ENDS;
    if (!f->c->stopping || coir_cancelled(f) || (status != -ECANCELED && status != -ETIMEDOUT))
        return GOES_ON;
    if (f->c->requests == 0 && (status == -ETIMEDOUT || !f->stopping))
        return SERVER_ENDS;
    f->stopping = true;
    return AGAIN;
}

static int read_magic(struct coir_nbd_receive *f)
{
    f->late = f->c->stopping && coir_nbd_position(&f->c->in) >= f->c->stopped_at;
    memcpy(&f->head, coir_nbd_at(&f->c->in), sizeof f->head);
    coir_nbd_took(&f->c->in, sizeof f->head);
    if (be32toh(f->head.magic) == NBD_REQUEST_MAGIC)
        return 0;
    coir_nbd_log(f->c, "0x%08x is no request", be32toh(f->head.magic));
    return -EPROTO;
}

coir_body(coir_nbd_receive, f) {
    f->stopping = false;
    for (;;) {
        if (coir_nbd_have(&f->c->in) == 0) {
            f->c->idle = true;
            coir_within(f, &f->c->waits, f->c->stopping ? coir_now() + NBD_QUIET_MS * COIR_MS : COIR_NEVER, &f->fill,
                        coir_nbd_fill, .in = &f->c->in, .need = 1);
            f->c->idle = false;
            f->next = look(f);
            if (f->next == AGAIN)
                continue;
            if (f->next != GOES_ON)
                coir_return(f, f->next == SERVER_ENDS);
            coir_check(f, &f->fill);
        }
        if (coir_nbd_have(&f->c->in) < sizeof f->head) {
            coir_within(f, &f->scope, coir_nbd_deadline(f->c, sizeof f->head), &f->fill, coir_nbd_fill,
                        .in = &f->c->in, .need = sizeof f->head);
            coir_check(f, &f->fill);
        }
        f->task.status = read_magic(f);
        if (coir_status(f) < 0)
            coir_fail(f, coir_status(f));
        if (be16toh(f->head.type) == NBD_CMD_DISC) {
            coir_nbd_add(&f->c->shard->counts.requests[NBD_CMD_DISC], 1);
            coir_return(f, false);
        }
        coir_try(f, &f->accept, coir_nbd_accept, .c = f->c, .head = &f->head, .late = f->late);
    }
} coir_end
