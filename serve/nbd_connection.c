/* SPDX-License-Identifier: MIT */
/*
 * From accept to close. However a connection ends, its requests have ended before its volume is closed, and nothing of
 * it is left.
 */
#include "serve/nbd_connection.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { LINGER_S = 1 };              /* for a client to read the last answers, before what it sends is thrown away */

/* ---- the log ---- */

/* An address; of a Unix socket, whose clients have none, the process. */
static void name_peer(int fd, char *text, size_t size)
{
    struct sockaddr_storage addr;
    socklen_t len = sizeof addr;
    struct ucred process;

    if (getpeername(fd, (struct sockaddr *)&addr, &len) < 0) {
        snprintf(text, size, "a client that is gone");
    } else if (addr.ss_family == AF_UNIX) {
        len = sizeof process;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &process, &len) < 0)
            process.pid = 0;
        snprintf(text, size, "process %ld", (long)process.pid);
    } else {
        coir_address_text(&addr, len, text, size);
    }
}

void coir_nbd_log(struct coir_nbd_connection *c, const char *format, ...)
{
    const struct coir_nbd_options *const o = &c->server->options;
    char line[768], peer[COIR_ADDRESS_TEXT], text[256];
    va_list args;

    if (++c->lines > NBD_LOG_LINES)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    name_peer(c->fd, peer, sizeof peer);
    snprintf(line, sizeof line, "nbd: %s%s%s: %s%s", peer, c->export.volume ? ", " : "",
             c->export.volume ? c->export.name : "", text,
             c->lines == NBD_LOG_LINES ? " (and no more about this one)" : "");
    o->log(o->ctx, line);
}

/* ---- its beginning and its end ---- */

static void prepare_shard(struct coir_nbd_shard *shard)
{
    if (shard->begun)
        return;
    shard->begun = true;
    coir_semaphore_init(&shard->memory, shard->server->memory);
    shard->buffers.keep = shard->server->memory / 2;
}

static int begin(struct coir_nbd_connection *f)
{
    struct coir_nbd_shard *const shard = &f->server->shard[coir_shard_id()];

    prepare_shard(shard);
    f->shard = shard;
    f->next = shard->first;
    f->link = &shard->first;
    if (f->next)
        f->next->link = &f->next;
    shard->first = f;
    f->export.volume = NULL;
    f->in.fd = f->fd;
    f->in.begin = f->in.end = 0;
    f->in.received = 0;
    coir_nbd_output_init(&f->out);
    f->fixed = f->no_zeroes = f->structured = f->contexts = f->idle = f->receiving = f->lingers = false;
    f->stopping = shard->stopping;
    f->stopped_at = 0;
    f->broken = 0;
    f->lines = f->requests = 0;
    f->bytes = f->own = 0;
    coir_event_init(&f->room);
    coir_nbd_add(&shard->counts.connections, 1);
    coir_nbd_add(&shard->counts.live, 1);
    f->in.buffer = coir_nbd_piece_take(&shard->buffers, NBD_INPUT);
    return f->in.buffer ? 0 : -ENOMEM;
}

static void free_requests(struct coir_nbd_shard *shard)
{
    while (shard->unused) {
        struct coir_nbd_request *r = shard->unused;

        shard->unused = r->next;
        free(r);
    }
}

static void end(struct coir_nbd_connection *f)
{
    struct coir_nbd_shard *const shard = f->shard;

    COIR_ASSERT(f->requests == 0 && f->bytes == 0 && f->own == 0);
    coir_nbd_piece_give(&shard->buffers, f->in.buffer, NBD_INPUT);
    *f->link = f->next;
    if (f->next)
        f->next->link = f->link;
    coir_nbd_add(&shard->counts.live, (uint64_t)-1);
    if (shard->first)
        return;
    coir_nbd_buffers_free(&shard->buffers);
    free_requests(shard);
}

/* Who goes before a volume is open, between two options, has done no harm. */
static bool is_harmless(const struct coir_nbd_connection *f, int status)
{
    return (status == -EPIPE || status == -ECONNRESET) && !f->export.volume && coir_nbd_have(&f->in) == 0;
}

/* Why it ended, where that is the client's fault. What was received is ended by the sender's failure, too. */
static void note_end(struct coir_nbd_connection *f, int status, const char *what)
{
    if (status == -ECANCELED)
        status = f->broken;
    if (status == 0 || status == -ECANCELED || is_harmless(f, status))
        return;
    coir_nbd_add(&f->shard->counts.broken, 1);
    if (f->broken)
        coir_nbd_log(f, "does not take its answers: %s", coir_strerror(status));
    else if (status == -ENODATA)
        coir_nbd_log(f, "vanished in the middle of %s", what);
    else if (status == -ETIMEDOUT)
        coir_nbd_log(f, "took too long over %s", what);
    else if (status == -EMSGSIZE)
        coir_nbd_log(f, "sends more than anybody can want");
    else if (status != -EPROTO)
        coir_nbd_log(f, "%s: %s", what, coir_strerror(status));
}

void coir_nbd_broken(struct coir_nbd_connection *c, int status)
{
    c->broken = status;
    if (c->receiving)
        coir_scope_cancel(&c->receives);
}

void coir_nbd_stop(struct coir_nbd_connection *c)
{
    int unread = 0;

    ioctl(c->fd, FIONREAD, &unread);                /* what the kernel has counts too */
    c->stopping = true;
    c->stopped_at = c->in.received + (uint64_t)unread;
    if (c->idle)
        coir_scope_cancel(&c->waits);
}

/* Reads what nobody wants: a close while there is some would take from the client what it has not read. */
coir_body(coir_nbd_linger, f) {
    coir_await(f, &f->shutdown, coir_shutdown, .fd = f->in->fd, .how = SHUT_WR);
    coir_try(f, &f->skip, coir_nbd_skip, .in = f->in, .length = UINT64_MAX);
} coir_end

/* Requests, from the first to the last answer. When no more are received, what is under way is done and answered. */
coir_body(coir_nbd_session, f) {
    coir_group_open(f, &f->c->runs, .keep_going = true);
    coir_group_open(f, &f->c->sends, .keep_going = true);
    if (coir_spawn(&f->c->sends, coir_new(coir_nbd_send, .connection = f->c)) < 0)
        coir_fail(f, ENOMEM);
    f->c->receiving = true;
    coir_within(f, &f->c->receives, COIR_NEVER, &f->receive, coir_nbd_receive, .c = f->c);
    f->c->receiving = false;
    f->result = coir_status(&f->receive) == -EMSGSIZE || (coir_status(&f->receive) == 0 && f->receive.result);
    note_end(f->c, coir_status(&f->receive), "a request");
    coir_try(f, &f->wait, coir_group_wait, .group = &f->c->runs);
    coir_nbd_finish(&f->c->out);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->c->sends);
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->c->runs);
        coir_nbd_finish(&f->c->out);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->c->sends);
        coir_nbd_forget(&f->c->out);
    }
} coir_end

coir_body(coir_nbd_connection, f) {
    f->task.status = begin(f);
    if (coir_status(f) < 0)
        coir_fail(f, coir_status(f));
    coir_within(f, &f->receives, coir_now() + f->server->options.handshake, &f->handshake, coir_nbd_handshake,
                .connection = f);
    note_end(f, coir_status(&f->handshake), "the handshake");
    f->lingers = coir_status(&f->handshake) == -EMSGSIZE;
    if (coir_status(&f->handshake) == 0 && f->handshake.result) {
        coir_nbd_add(&f->shard->counts.served, 1);
        coir_get(f, f->lingers, &f->session, coir_nbd_session, .c = f);
    }
    if (f->lingers && !f->out.broken)
        coir_within(f, &f->receives, coir_now() + LINGER_S * COIR_S, &f->linger, coir_nbd_linger, .in = &f->in);
    coir_finally(f) {
        if (f->export.volume)
            coir_await(f, &f->close_volume, coir_volume_close, .volume = f->export.volume);
        coir_await(f, &f->close, coir_close, .fd = f->fd);
        end(f);
    }
} coir_end
