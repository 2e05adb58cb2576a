/* SPDX-License-Identifier: MIT */
/*
 * The sender of a connection. It alone writes to the socket while requests are served.
 *
 *   1. A request is in the queue from coir_nbd_push until it has been sent whole; nobody else takes one out while the
 *      sender lives.
 *   2. Once `broken` the queue is empty, and what is pushed is given back at once.
 */
#include "serve/nbd_send.h"

#include "serve/nbd_connection.h"

void coir_nbd_output_init(struct coir_nbd_output *out)
{
    out->first = NULL;
    out->last = &out->first;
    out->finished = out->broken = false;
    coir_event_init(&out->more);
}

void coir_nbd_push(struct coir_nbd_request *r)
{
    struct coir_nbd_output *const out = &r->connection->out;

    if (out->broken) {
        coir_nbd_request_free(r);
        return;
    }
    r->next = NULL;
    *out->last = r;
    out->last = &r->next;
    coir_event_set(&out->more);
}

void coir_nbd_finish(struct coir_nbd_output *out)
{
    out->finished = true;
    coir_event_set(&out->more);
}

static struct coir_nbd_request *pop(struct coir_nbd_output *out)
{
    struct coir_nbd_request *r = out->first;

    out->first = r->next;
    if (!out->first)
        out->last = &out->first;
    return r;
}

void coir_nbd_forget(struct coir_nbd_output *out)
{
    while (out->first)
        coir_nbd_request_free(pop(out));
}

/* ---- one writev ---- */

/* Lists as many answers, from the oldest on, as one writev takes. */
static void gather(struct coir_nbd_send *f)
{
    struct coir_nbd_output *const out = &f->connection->out;
    struct coir_nbd_request *r = out->first;

    f->n = 0;
    f->bytes = 0;
    f->requests = 0;
    do {
        for (unsigned i = 0; i < r->n_parts; i++) {
            f->bytes += r->parts[i].iov_len;
            out->iov[f->n++] = r->parts[i];
        }
        f->requests++;
        r = r->next;
    } while (r && (unsigned)f->n + r->n_parts <= NBD_SENT_AT_ONCE);
}

/* Moves past `done` bytes. */
static void move_on(struct coir_nbd_send_iov *f, size_t done)
{
    for (; f->n > 0 && done >= f->iov->iov_len; f->iov++, f->n--)
        done -= f->iov->iov_len;
    if (f->n > 0) {
        f->iov->iov_base = (char *)f->iov->iov_base + done;
        f->iov->iov_len -= done;
    }
}

coir_body(coir_nbd_send_iov, f) {
    while (f->n > 0) {
        coir_nbd_add(f->calls, 1);
        coir_try(f, &f->writev, coir_writev, .fd = f->fd, .iov = f->iov, .iovcnt = f->n);
        move_on(f, f->writev.result);
    }
} coir_end

coir_body(coir_nbd_send, f) {
    for (;;) {
        while (!f->connection->out.first) {
            if (f->connection->out.finished)
                coir_return(f);
            coir_event_reset(&f->connection->out.more);
            coir_try(f, &f->wait, coir_event_wait, .event = &f->connection->out.more);
        }
        gather(f);
        coir_within(f, &f->scope, coir_nbd_deadline(f->connection, f->bytes), &f->send, coir_nbd_send_iov,
                    .fd = f->connection->fd, .iov = f->connection->out.iov, .n = f->n,
                    .calls = &f->connection->shard->counts.sends);
        coir_check(f, &f->send);
        for (; f->requests > 0; f->requests--)
            coir_nbd_request_free(pop(&f->connection->out));
    }
    coir_finally(f) {
        if (coir_status(f) < 0) {
            f->connection->out.broken = true;
            coir_nbd_forget(&f->connection->out);
            coir_nbd_broken(f->connection, coir_status(f));
        }
    }
} coir_end
