/* SPDX-License-Identifier: MIT */
/*
 * Chunks: cutting a range to pieces, laying the caller's memory along them, sums over it. On the shard of the
 * operation; no I/O happens here, and nothing suspends.
 */
#include "volume/chunk.h"

#include <stdlib.h>
#include <string.h>

#include "device/checksum.h"

static const unsigned char zeros[1 << COIR_VOLUME_SHIFT_MAX];

struct coir_chunk *coir_chunk_take(struct coir_volume *v)
{
    struct coir_chunk **free_list = &v->store->chunks[coir_shard_id()], *c = *free_list;

    if (c)
        *free_list = c->next;
    else
        c = calloc(1, sizeof *c);
    if (c)
        c->volume = v;
    return c;
}

void coir_chunk_give(struct coir_chunk *c)
{
    struct coir_chunk **free_list;

    if (!c)
        return;
    COIR_ASSERT(!c->entered && !c->reserved && !c->ticket);
    free_list = &c->volume->store->chunks[coir_shard_id()];
    c->next = *free_list;
    *free_list = c;
}

void coir_chunks_free(struct coir_store *s)
{
    struct coir_chunk *next;

    for (size_t i = 0; i < sizeof s->chunks / sizeof s->chunks[0]; i++) {
        for (struct coir_chunk *c = s->chunks[i]; c; c = next) {
            next = c->next;
            free(c->vec);
            free(c->edges);
            free(c->many);
            free(c);
        }
    }
}

uint64_t coir_memory_bytes(const struct iovec *iov, unsigned n)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < n; i++) {
        if ((!iov[i].iov_base && iov[i].iov_len) || __builtin_add_overflow(sum, iov[i].iov_len, &sum))
            return UINT64_MAX;
    }
    return sum;
}

void coir_chunk_cut(struct coir_chunk *c, uint64_t offset, uint64_t length)
{
    const unsigned shift = c->volume->shift;
    const uint64_t block = (uint64_t)1 << shift, end = offset + length;
    const uint64_t most = COIR_CHUNK_BYTES >> shift;

    c->lba = offset >> shift;
    c->skip = (unsigned)(offset & (block - 1));
    c->rest = 0;
    c->count = 0;
    coir_chunk_shorten(c, most < COIR_CHUNK_BLOCKS ? most : COIR_CHUNK_BLOCKS);
    if (((c->lba + c->count) << shift) >= end) {
        c->count = (unsigned)(((end - 1) >> shift) - c->lba + 1);
        c->rest = (unsigned)(((c->lba + c->count) << shift) - end);
    }
}

void coir_chunk_shorten(struct coir_chunk *c, uint64_t count)
{
    c->rest = count == c->count ? c->rest : 0;
    c->count = (unsigned)count;
}

/* ---- memory along the pieces ---- */

static int add(struct coir_chunk *c, void *base, size_t len)
{
    if (c->n_vec == c->room_vec) {
        const unsigned room = c->room_vec ? 2 * c->room_vec : 32;
        struct iovec *more = realloc(c->vec, room * sizeof *more);
        if (!more)
            return -ENOMEM;
        c->vec = more;
        c->room_vec = room;
    }
    c->vec[c->n_vec++] = (struct iovec){ base, len };
    return 0;
}

/* The next bytes of the caller's, at most `most`. */
static struct iovec take(struct coir_memory *m, uint64_t most)
{
    struct iovec got;

    if (!m->iov)
        return (struct iovec){ (void *)zeros, most < sizeof zeros ? most : sizeof zeros };
    while (m->at == m->iov->iov_len) {
        COIR_ASSERT(m->n > 1);
        m->iov++;
        m->n--;
        m->at = 0;
    }
    got = (struct iovec){ (char *)m->iov->iov_base + m->at, m->iov->iov_len - m->at };
    if (got.iov_len > most)
        got.iov_len = most;
    m->at += got.iov_len;
    return got;
}

int coir_chunk_need_edges(struct coir_chunk *c)
{
    const unsigned shift = c->volume->shift;

    if (c->edges && c->edges_shift >= shift)
        return 0;
    free(c->edges);
    c->edges = aligned_alloc(COIR_BLOCK, (size_t)2 << shift);
    c->edges_shift = shift;
    return c->edges ? 0 : -ENOMEM;
}

int coir_chunk_lay(struct coir_chunk *c, struct coir_memory *memory)
{
    const uint64_t block = (uint64_t)1 << c->volume->shift, total = (uint64_t)c->count << c->volume->shift;
    const uint64_t end = total - c->rest;
    uint64_t at = 0, up_to = 0;
    int err = c->skip || c->rest ? coir_chunk_need_edges(c) : 0;

    c->n_vec = 0;
    for (unsigned i = 0; i < c->n_pieces && !err; i++) {
        c->first[i] = c->n_vec;
        up_to += c->pieces[i].count << c->volume->shift;
        while (at < up_to && !err) {
            struct iovec part;
            if (at < c->skip)
                part = (struct iovec){ c->edges + at, c->skip - at };
            else if (at >= end)
                part = (struct iovec){ c->edges + (c->count > 1 ? block : 0) + (at & (block - 1)), up_to - at };
            else
                part = take(memory, (up_to < end ? up_to : end) - at);
            err = add(c, part.iov_base, part.iov_len);
            at += part.iov_len;
        }
    }
    c->first[c->n_pieces] = c->n_vec;
    return err;
}

/* ---- sums ---- */

/* The sum of the next volume block of a piece, whose bytes begin `*at` bytes into entry `*v`; both move on. */
static uint32_t sum_block(const struct coir_chunk *c, uint64_t address, unsigned *v, size_t *at)
{
    uint64_t left = (uint64_t)1 << c->volume->shift;
    uint32_t crc = coir_crc(address, NULL, 0);

    while (left > 0) {
        const struct iovec *part = &c->vec[*v];
        const size_t n = part->iov_len - *at < left ? part->iov_len - *at : left;
        crc = coir_crc_more(crc, (const char *)part->iov_base + *at, n);
        left -= n;
        *at += n;
        if (*at == part->iov_len) {
            *at = 0;
            ++*v;
        }
    }
    return crc;
}

void coir_chunk_sum(struct coir_chunk *c)
{
    const unsigned unit = 1u << (c->volume->shift - COIR_BLOCK_SHIFT);
    unsigned k = 0;

    for (unsigned i = 0; i < c->n_pieces; i++) {
        unsigned v = c->first[i];
        size_t at = 0;
        for (uint64_t b = 0; b < c->pieces[i].count; b++)
            c->crcs[k++] = sum_block(c, c->pieces[i].address + b * unit, &v, &at);
    }
}

static void wipe(struct coir_chunk *c, unsigned from, unsigned to)
{
    for (unsigned v = from; v < to; v++)
        memset(c->vec[v].iov_base, 0, c->vec[v].iov_len);
}

int coir_chunk_verify(struct coir_chunk *c)
{
    const unsigned unit = 1u << (c->volume->shift - COIR_BLOCK_SHIFT);
    unsigned k = 0;

    for (unsigned i = 0; i < c->n_pieces; i++) {
        unsigned v = c->first[i];
        size_t at = 0;
        if (c->pieces[i].address == 0) {
            wipe(c, c->first[i], c->first[i + 1]);
            k += (unsigned)c->pieces[i].count;
            continue;
        }
        for (uint64_t b = 0; b < c->pieces[i].count; b++, k++) {
            if (sum_block(c, c->pieces[i].address + b * unit, &v, &at) == c->crcs[k])
                continue;
            wipe(c, 0, c->n_vec);
            return (int)k;
        }
    }
    return -1;
}

/* ---- I/O ---- */

/* The arguments of the I/O of piece i. */
#define COIR_PIECE_(c, i) \
    .device = coir_store_device((c)->volume->store, (c)->pieces[i].address), .iov = &(c)->vec[(c)->first[i]], \
    .n = (int)((c)->first[(i) + 1] - (c)->first[i]), \
    .offset = COIR_ADDRESS_BLOCK((c)->pieces[i].address) << COIR_BLOCK_SHIFT

/* The only piece that is no hole; -1: there is none; -2: there are several. */
static int only_piece(const struct coir_chunk *c)
{
    int found = -1;

    for (unsigned i = 0; i < c->n_pieces; i++) {
        if (c->pieces[i].address != 0)
            found = found == -1 ? (int)i : -2;
    }
    return found;
}

static unsigned make(struct coir_chunk *c, bool write, int flags)
{
    unsigned n = 0;

    for (unsigned i = 0; i < c->n_pieces; i++) {
        if (c->pieces[i].address == 0)
            continue;
        if (write)
            c->many->kids[n] = coir_make(&c->many->write[n], coir_device_write, COIR_PIECE_(c, i));
        else
            c->many->kids[n] = coir_make(&c->many->read[n], coir_device_read, COIR_PIECE_(c, i), .flags = flags);
        n++;
    }
    return n;
}

coir_body(coir_chunk_io, f) {
    f->i = only_piece(f->chunk);
    if (f->i == -1)
        coir_return(f);
    if (f->i == -2) {
        if (!f->chunk->many)
            f->chunk->many = malloc(sizeof *f->chunk->many);
        if (!f->chunk->many)
            coir_fail(f, -ENOMEM);
        f->i = (int)make(f->chunk, f->write, f->flags);
        coir_all(f, &f->chunk->many->all, f->chunk->many->kids, (size_t)f->i);
        coir_check(f, &f->chunk->many->all);
    } else if (f->write) {
        coir_try(f, &f->chunk->write, coir_device_write, COIR_PIECE_(f->chunk, f->i));
    } else {
        coir_try(f, &f->chunk->read, coir_device_read, COIR_PIECE_(f->chunk, f->i), .flags = f->flags);
    }
} coir_end

unsigned coir_chunk_failed(const struct coir_chunk *c, int status)
{
    const struct coir_device_read *read = only_piece(c) == -2 ? c->many->read : &c->read;
    unsigned before = 0;

    for (unsigned i = 0; i < c->n_pieces; i++) {
        if (c->pieces[i].address != 0 && coir_status(read++) == status)
            return before;
        before += (unsigned)c->pieces[i].count;
    }
    return 0;
}
