/* SPDX-License-Identifier: MIT */
/*
 * Scrubbing: all data of all volumes is read past the page cache and compared with its sums, a few volume blocks at a
 * time, as an ordinary read that nobody waits for: on the background queue, so that whoever reads or writes goes first.
 * A chunk that is damaged is read again block by block, so that each damaged one is named. Home.
 */
#include <stdlib.h>

#include "volume/chunk.h"
#include "volume/manage.h"

enum { SCRUB_BYTES = 1 << 20 };

/* Who is told how far it is. */
struct progress {
    void (*call)(void *ctx, uint64_t done, uint64_t all);
    void *ctx;
    uint64_t done;                      /* bytes, of all volumes */
};

/* One volume. */
struct scrub_volume {
    coir_frame(uint64_t);               /* bytes that were compared */
    coir_args(struct coir_store *store; const char *name; unsigned char *buffer; struct progress *progress;);
    struct coir_volume *volume;
    struct coir_chunk *chunk;
    struct iovec iov;
    struct coir_memory memory;
    uint64_t at, end, single, damaged;
    union {
        struct coir_handle_open open;
        struct coir_volume_status status;
    };
    struct coir_volume_piece piece;
};
static coir_declare(scrub_volume);

/* The next bytes to read: at most a buffer's, or one block where a chunk was damaged. */
static uint64_t next_bytes(const struct scrub_volume *f)
{
    const uint64_t block = (uint64_t)1 << f->volume->shift, most = f->at < f->single ? block : SCRUB_BYTES;

    return f->piece.length < most ? f->piece.length : most;
}

static bool is_damage(int status)
{
    return status == -EBADMSG || status == -EIO;
}

static void advance(struct scrub_volume *f, uint64_t bytes)
{
    struct coir_store_facts facts;

    f->progress->done += bytes;
    if (!f->progress->call)
        return;
    coir_store_describe(f->store, &facts);
    f->progress->call(f->progress->ctx, f->progress->done,
                      f->progress->done > facts.live ? f->progress->done : facts.live);
}

coir_body(scrub_volume, f) {
    f->volume = NULL;
    f->chunk = NULL;
    f->at = f->single = f->damaged = 0;
    coir_get(f, f->volume, &f->open, coir_handle_open, .store = f->store, .name = f->name);
    f->chunk = coir_chunk_take(f->volume);
    if (!f->chunk)
        coir_fail(f, -ENOMEM);
    while (f->at < (f->end = f->volume->blocks << f->volume->shift)) {
        coir_try(f, &f->status, coir_volume_status, .volume = f->volume, .offset = f->at, .length = f->end - f->at,
                 .pieces = &f->piece, .n = 1);
        if (f->piece.hole) {
            f->at += f->piece.length;
            continue;
        }
        f->iov = (struct iovec){ f->buffer, next_bytes(f) };
        f->memory = (struct coir_memory){ .iov = &f->iov, .n = 1 };
        coir_chunk_cut(f->chunk, f->at, f->iov.iov_len);
        coir_await(f, &f->chunk->reading, coir_chunk_read, .chunk = f->chunk, .memory = &f->memory,
                   .flags = COIR_DIRECT);
        if (is_damage(coir_status(&f->chunk->reading)) && f->chunk->count > 1 && f->at >= f->single) {
            f->single = f->at + coir_chunk_bytes(f->chunk);
            continue;
        }
        if (is_damage(coir_status(&f->chunk->reading)))
            f->damaged++;
        else
            coir_check(f, &f->chunk->reading);
        f->at += coir_chunk_bytes(f->chunk);
        f->result += coir_chunk_bytes(f->chunk);
        advance(f, coir_chunk_bytes(f->chunk));
    }
    coir_finally(f) {
        coir_chunk_give(f->chunk);
        if (f->volume)
            coir_handle_close(f->volume);
    }
} coir_end

struct scrub_all {
    coir_frame(uint64_t);
    coir_args(struct coir_store *store; void (*progress)(void *ctx, uint64_t done, uint64_t all); void *ctx;);
    uint64_t damaged, after;
    unsigned char *buffer;
    struct progress progress_of_all;
    struct coir_volume_facts volume;
    struct coir_volume_list list;
    struct scrub_volume one;
};
static coir_declare(scrub_all);

coir_body(scrub_all, f) {
    f->damaged = f->after = 0;
    f->progress_of_all = (struct progress){ .call = f->progress, .ctx = f->ctx };
    f->buffer = aligned_alloc(COIR_GRAIN_MAX, SCRUB_BYTES);
    if (!f->buffer)
        coir_fail(f, -ENOMEM);
    for (;;) {
        coir_try(f, &f->list, coir_volume_list, .store = f->store, .after = f->after, .facts = &f->volume, .n = 1);
        if (f->list.result == 0)
            break;
        f->after = f->volume.id;
        coir_await(f, &f->one, scrub_volume, .store = f->store, .name = f->volume.name, .buffer = f->buffer,
                   .progress = &f->progress_of_all);
        if (coir_status(&f->one) != -ENOENT && coir_status(&f->one) != -ESTALE)    /* it was removed meanwhile */
            coir_check(f, &f->one);
        f->result += f->one.result;
        f->damaged += f->one.damaged;
    }
    coir_finally(f) {
        free(f->buffer);
    }
} coir_end

struct store_scrub {
    coir_frame(uint64_t);
    coir_args(struct coir_store *store; void (*progress)(void *ctx, uint64_t done, uint64_t all); void *ctx;);
    uint64_t damaged;
    struct scrub_all *all;
};
coir_public(store_scrub, coir_store_scrub);

coir_body(store_scrub, f) {
    f->all = malloc(sizeof *f->all);
    f->damaged = 0;
    if (!f->all)
        coir_fail(f, -ENOMEM);
    coir_background(f, true);
    coir_await(f, f->all, scrub_all, .store = f->store, .progress = f->progress, .ctx = f->ctx);
    f->result = f->all->result;
    f->damaged = f->all->damaged;
    coir_check(f, f->all);
    if (f->damaged > 0)
        coir_fail(f, -EBADMSG);
    coir_finally(f) {
        free(f->all);
    }
} coir_end
