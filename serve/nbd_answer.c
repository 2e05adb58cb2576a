/* SPDX-License-Identifier: MIT */
/*
 * Making replies: heads, and which pieces of memory go out with them. Where structured replies were agreed on they are
 * used for what has data, which must be so, and for errors, which then come with a text.
 */
#include <string.h>

#include "serve/nbd_connection.h"

_Static_assert((NBD_PIECES + 2 * NBD_HOLES) * sizeof(struct iovec) + NBD_HOLES * sizeof(struct nbd_chunk) <= NBD_TABLE,
               "a reply with holes has its parts and heads in one piece");
_Static_assert(NBD_PIECES + 2 * NBD_HOLES <= NBD_SENT_AT_ONCE, "every answer fits into a writev");

/* The head goes first, with the next `n` pieces behind it. */
static void goes_out(struct coir_nbd_request *r, size_t head, unsigned n)
{
    r->iov[0] = (struct iovec){ r->head, head };
    r->parts = r->iov;
    r->n_parts = 1 + n;
}

static void answer_simply(struct coir_nbd_request *r)
{
    const struct nbd_simple_reply reply = { htobe32(NBD_SIMPLE_MAGIC), htobe32(coir_nbd_error(r->status)), r->handle };

    memcpy(r->head, &reply, sizeof reply);
    goes_out(r, sizeof reply, r->type == NBD_CMD_READ && r->status == 0 ? r->n : 0);
}

/* A chunk's head, for `length` bytes behind NBD_CHUNK_HEAD. */
static struct nbd_chunk chunk(const struct coir_nbd_request *r, enum nbd_chunk_type type, bool last, size_t length)
{
    return (struct nbd_chunk){ .magic = htobe32(NBD_CHUNK_MAGIC), .flags = htobe16(last ? NBD_CHUNK_DONE : 0),
                               .type = htobe16((uint16_t)type), .handle = r->handle,
                               .length = htobe32((uint32_t)length) };
}

static void answer_error(struct coir_nbd_request *r)
{
    const char *text = r->why ? r->why : coir_nbd_error_text(r->status);
    const size_t len = strlen(text);
    struct nbd_chunk c = chunk(r, NBD_CHUNK_ERROR, true, sizeof c.error + len);

    c.error.error = htobe32(coir_nbd_error(r->status));
    c.error.length = htobe16((uint16_t)len);
    memcpy(r->head, &c, sizeof c);
    r->iov[1] = (struct iovec){ (char *)text, len };
    goes_out(r, NBD_CHUNK_HEAD + sizeof c.error, 1);
}

static void answer_data(struct coir_nbd_request *r)
{
    struct nbd_chunk c = chunk(r, NBD_CHUNK_DATA, true, sizeof c.offset + r->length);

    c.offset = htobe64(r->offset);
    memcpy(r->head, &c, sizeof c);
    goes_out(r, NBD_CHUNK_HEAD + sizeof c.offset, r->n);
}

/* ---- a read with holes ---- */

static void add_part(struct coir_nbd_request *r, const void *p, size_t len)
{
    r->parts[r->n_parts++] = (struct iovec){ (void *)p, len };
}

/* The pieces of memory, and parts of such, that have `len` bytes from `at` on. */
static void add_data(struct coir_nbd_request *r, size_t at, size_t len)
{
    while (len > 0) {
        const struct iovec *piece = &r->iov[1 + at / NBD_PIECE];
        const size_t past = at % NBD_PIECE, n = len < piece->iov_len - past ? len : piece->iov_len - past;

        add_part(r, (const char *)piece->iov_base + past, n);
        at += n;
        len -= n;
    }
}

static int answer_with_holes(struct coir_nbd_request *r, const struct coir_volume_piece *pieces, unsigned n)
{
    uint8_t *const memory = coir_nbd_piece_take(&r->connection->shard->buffers, NBD_TABLE);
    struct nbd_chunk *const heads = (struct nbd_chunk *)(void *)(memory + NBD_TABLE) - NBD_HOLES;
    size_t at = 0;

    if (!memory)
        return -ENOMEM;
    r->spread = memory;
    r->parts = (struct iovec *)(void *)memory;
    r->n_parts = 0;
    for (unsigned i = 0; i < n; at += pieces[i].length, i++) {
        struct nbd_chunk *const c = &heads[i];
        const size_t extra = pieces[i].hole ? sizeof c->hole : sizeof c->offset;

        *c = chunk(r, pieces[i].hole ? NBD_CHUNK_HOLE : NBD_CHUNK_DATA, i == n - 1,
                   extra + (pieces[i].hole ? 0 : pieces[i].length));
        c->offset = htobe64(r->offset + at);
        if (pieces[i].hole)
            c->hole.length = htobe32((uint32_t)pieces[i].length);
        add_part(r, c, NBD_CHUNK_HEAD + extra);
        if (!pieces[i].hole)
            add_data(r, at, pieces[i].length);
    }
    return 0;
}

/* ---- BLOCK_STATUS ---- */

/* The extents take the place of the pieces that they are made from: each is half as long, so none is overwritten
 * before it was read. */
static void answer_status(struct coir_nbd_request *r)
{
    const unsigned n = (unsigned)(r->iov[1].iov_len / sizeof(struct coir_volume_piece));
    uint8_t *const memory = r->iov[1].iov_base;
    struct nbd_chunk c = chunk(r, NBD_CHUNK_STATUS, true, sizeof c.context + n * sizeof(struct nbd_extent));

    for (unsigned i = 0; i < n; i++) {
        struct coir_volume_piece piece;
        memcpy(&piece, memory + i * sizeof piece, sizeof piece);
        const struct nbd_extent extent = { htobe32((uint32_t)piece.length),
                                           htobe32(piece.hole ? NBD_STATE_HOLE | NBD_STATE_ZERO : 0) };
        memcpy(memory + i * sizeof extent, &extent, sizeof extent);
    }
    c.context = htobe32(NBD_CONTEXT);
    memcpy(r->head, &c, sizeof c);
    r->iov[1].iov_len = n * sizeof(struct nbd_extent);
    goes_out(r, NBD_CHUNK_HEAD + sizeof c.context, 1);
}

/* ---- */

/* What the log and the counters are told about it. A fast zero that would not be fast is nobody's fault. */
static void note(const struct coir_nbd_request *r)
{
    struct coir_nbd_connection *const c = r->connection;
    struct coir_nbd_counts *const counts = &c->shard->counts;

    if (r->status == 0 && r->type == NBD_CMD_READ)
        coir_nbd_add(&counts->read, r->length);
    if (r->status == 0 && r->type == NBD_CMD_WRITE)
        coir_nbd_add(&counts->written, r->length);
    if (r->status == 0)
        return;
    coir_nbd_add(&counts->errors, 1);
    if (r->status != -EOPNOTSUPP && r->status != -ESHUTDOWN && r->status != -ECANCELED)
        coir_nbd_log(c, "%s of %u bytes at %llu: %s", coir_nbd_command_name(r->type), r->length,
                     (unsigned long long)r->offset, r->why ? r->why : coir_nbd_error_text(r->status));
}

void coir_nbd_answer(struct coir_nbd_request *r, const struct coir_volume_piece *pieces, unsigned n)
{
    const bool structured = r->connection->structured;

    if (r->status == 0 && n > 0)
        r->status = answer_with_holes(r, pieces, n);
    note(r);
    if (r->status == 0 && n > 0)
        return;
    if (r->status < 0)
        coir_nbd_request_no_data(r);
    if (structured && r->status < 0)
        answer_error(r);
    else if (structured && r->type == NBD_CMD_READ)
        answer_data(r);
    else if (r->type == NBD_CMD_BLOCK_STATUS && r->status == 0)
        answer_status(r);
    else
        answer_simply(r);
}
