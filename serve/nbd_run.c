/* SPDX-License-Identifier: MIT */
/*
 * Doing what a request asks for: one operation of the volume for each command, but that a large read, where the client
 * can be told of holes, is asked first where they are. It relies on coir_nbd_check.
 */
#include "serve/nbd_connection.h"

static unsigned flags_of(const struct coir_nbd_request *r)
{
    unsigned flags = 0;

    if (r->flags & NBD_CMD_FUA)
        flags |= COIR_VOLUME_DURABLE;
    if (r->flags & NBD_CMD_NO_HOLE)
        flags |= COIR_VOLUME_NO_HOLE;
    if (r->flags & NBD_CMD_FAST_ZERO)
        flags |= COIR_VOLUME_FAST;
    return flags;
}

static bool may_have_holes(const struct coir_nbd_request *r)
{
    return r->connection->structured && !(r->flags & NBD_CMD_DF) && r->length >= NBD_SIZED;
}

/* The pieces that a volume spoke of, as those of the reply: what it did not come to counts as data, and a read of data
 * alone has none. */
static void plan_pieces(struct coir_nbd_run *f, unsigned n)
{
    uint64_t rest = f->request->length;

    if (n == 0)
        return;
    for (unsigned i = 0; i < n; i++) {
        COIR_ASSERT(f->pieces[i].length > 0 && f->pieces[i].length <= rest);
        rest -= f->pieces[i].length;
    }
    if (rest > 0 && n < NBD_HOLES && f->pieces[n - 1].hole)
        f->pieces[n++] = (struct coir_volume_piece){ .length = 0 };
    f->pieces[n - 1].length += rest;
    f->pieces[n - 1].hole &= rest == 0;
    f->n = n == 1 && !f->pieces[0].hole ? 0 : n;
}

static bool is_all_hole(const struct coir_nbd_run *f)
{
    return f->n == 1;
}

/* The next part of a CACHE, if there is one. Its data go where the last part's went. */
static bool next_part(struct coir_nbd_run *f)
{
    const uint32_t rest = f->request->length - f->done;

    f->iov = (struct iovec){ f->request->iov[1].iov_base, rest < NBD_PIECE ? rest : NBD_PIECE };
    return rest > 0;
}

/* What the volume said it found, into the pieces from which the answer is made. */
static void found_extents(struct coir_nbd_run *f)
{
    f->request->status = coir_status(&f->status);
    f->request->iov[1].iov_len = f->status.result * sizeof(struct coir_volume_piece);
}

coir_body(coir_nbd_run, f) {
    f->n = 0;
    if (f->request->type == NBD_CMD_READ) {
        if (may_have_holes(f->request)) {
            coir_await(f, &f->status, coir_volume_status, .volume = f->volume, .offset = f->request->offset,
                       .length = f->request->length, .pieces = f->pieces, .n = NBD_HOLES);
            if (coir_status(&f->status) == 0)
                plan_pieces(f, f->status.result);
        }
        if (!is_all_hole(f))
            f->request->status = coir_nbd_request_data(f->request, f->request->length);
        if (!is_all_hole(f) && f->request->status == 0) {
            coir_await(f, &f->read, coir_volume_read, .volume = f->volume, .iov = f->request->iov + 1,
                       .n = f->request->n, .offset = f->request->offset);
            f->request->status = coir_status(&f->read);
        }
    } else if (f->request->type == NBD_CMD_WRITE) {
        coir_await(f, &f->write, coir_volume_write, .volume = f->volume, .iov = f->request->iov + 1,
                   .n = f->request->n, .offset = f->request->offset, .flags = flags_of(f->request));
        f->request->status = coir_status(&f->write);
    } else if (f->request->type == NBD_CMD_FLUSH) {
        coir_await(f, &f->flush, coir_volume_flush, .volume = f->volume);
        f->request->status = coir_status(&f->flush);
    } else if (f->request->type == NBD_CMD_TRIM) {
        coir_await(f, &f->unmap, coir_volume_unmap, .volume = f->volume, .offset = f->request->offset,
                   .length = f->request->length, .flags = flags_of(f->request));
        f->request->status = coir_status(&f->unmap);
    } else if (f->request->type == NBD_CMD_WRITE_ZEROES) {
        coir_await(f, &f->zeroes, coir_volume_write_zeroes, .volume = f->volume, .offset = f->request->offset,
                   .length = f->request->length, .flags = flags_of(f->request));
        f->request->status = coir_status(&f->zeroes);
    } else if (f->request->type == NBD_CMD_BLOCK_STATUS) {
        f->request->status = coir_nbd_request_data(f->request, NBD_TABLE);
        if (f->request->status == 0) {
            coir_await(f, &f->status, coir_volume_status, .volume = f->volume, .offset = f->request->offset,
                       .length = f->request->length, .pieces = f->request->iov[1].iov_base,
                       .n = f->request->flags & NBD_CMD_REQ_ONE ? 1 : NBD_EXTENTS);
            found_extents(f);
        }
    } else {
        f->request->status = coir_nbd_request_data(f->request, NBD_PIECE);
        for (f->done = 0; f->request->status == 0 && next_part(f); f->done += (uint32_t)f->iov.iov_len) {
            coir_await(f, &f->read, coir_volume_read, .volume = f->volume, .iov = &f->iov, .n = 1,
                       .offset = f->request->offset + f->done);
            f->request->status = coir_status(&f->read);
        }
    }
    coir_nbd_answer(f->request, f->pieces, f->n);
    coir_nbd_push(f->request);
} coir_end
