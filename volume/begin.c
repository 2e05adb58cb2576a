/* SPDX-License-Identifier: MIT */
/*
 * Being in an operation of a store, its failing, and waiting for room. Home, but for coir_store_why and
 * coir_volume_describe, which any thread calls.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "volume/chunk.h"

/* ---- entering ---- */

/* The journal fails by itself, in its own task: whoever comes next finds out, and says it. */
void coir_store_look(struct coir_store *s)
{
    const int status = s->journal.device ? coir_journal_status(&s->journal) : 0;

    if (status && status != -ESHUTDOWN)
        coir_store_fail(s, "the journal could not be made durable: %s", coir_strerror(status));
}

int coir_store_enter(struct coir_store *s, const struct coir_volume *v, enum coir_store_use use)
{
    coir_store_look(s);
    if (s->state == COIR_STORE_CLOSING)
        return -ESHUTDOWN;
    if (v && v->removed)
        return -ESTALE;
    if (use == COIR_USE_WRITE && s->read_only)
        return -EROFS;
    s->operations++;
    return 0;
}

void coir_store_leave(struct coir_store *s)
{
    COIR_ASSERT(s->operations > 0);
    if (--s->operations == 0 && s->state == COIR_STORE_CLOSING)
        coir_event_set(&s->idle);
    coir_store_progress(s);
}

void coir_chunk_leave(struct coir_chunk *c)
{
    struct coir_store *s = c->volume->store;

    if (c->reserved) {
        for (unsigned i = 0; i < c->n_pieces; i++)
            coir_space_cancel(s->space, c->pieces[i].address,
                              c->pieces[i].count << (c->volume->shift - COIR_BLOCK_SHIFT));
    }
    if (c->ticket)
        coir_space_read_ends(s->space, c->ticket);
    c->reserved = false;
    c->ticket = NULL;
    coir_unpin(&c->pin);
    coir_credit_give(&c->credit);
    coir_journal_release(&s->journal, &c->room);
    if (c->entered) {
        c->entered = false;
        coir_store_leave(s);
    }
}

void coir_chunk_unlock(struct coir_chunk *c)
{
    struct coir_volume *v = c->volume;

    if (!c->locks)
        return;
    c->locks = false;
    v->locked_blocks = 0;
    coir_event_set(&v->unlocked);
    coir_event_reset(&v->unlocked);
}

int coir_volume_range(const struct coir_volume *v, uint64_t offset, uint64_t length)
{
    uint64_t size;

    if (!v)
        return -EFAULT;
    size = __atomic_load_n(&v->blocks, __ATOMIC_ACQUIRE) << v->shift;
    return offset <= size && length <= size - offset ? 0 : -EINVAL;
}

/* ---- saying ---- */

static void say(struct coir_store *s, const char *format, va_list args)
{
    char line[1024];

    vsnprintf(line, sizeof line, format, args);
    if (s->log)
        s->log(s->ctx, line);
    else
        fprintf(stderr, "coir: %s\n", line);
}

void coir_store_say(struct coir_store *s, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(s, format, args);
    va_end(args);
}

void coir_store_fail(struct coir_store *s, const char *format, ...)
{
    va_list args;

    s->read_only = true;
    if (__atomic_load_n(&s->failed, __ATOMIC_RELAXED))
        return;
    va_start(args, format);
    vsnprintf(s->why, sizeof s->why, format, args);
    va_end(args);
    __atomic_store_n(&s->failed, 1, __ATOMIC_RELEASE);
    coir_store_say(s, "read-only from now on: %s", s->why);
    coir_store_progress(s);             /* who waits for room will not get any */
}

const char *coir_store_why(const struct coir_store *s)
{
    return __atomic_load_n(&s->failed, __ATOMIC_ACQUIRE) ? s->why : NULL;
}

/* ---- the journal ---- */

uint64_t coir_store_step(struct coir_store *s)
{
    COIR_ASSERT(coir_journal_status(&s->journal) == 0);
    s->lsn = coir_journal_appended(&s->journal) + 1;
    return s->lsn;
}

void coir_store_record(struct coir_store *s, struct coir_journal_room *room, const struct coir_record *r,
                       uint64_t devices)
{
    _Alignas(8) unsigned char body[COIR_RECORD_MAX];
    const struct iovec iov = { body, coir_record_bytes(r) };
    uint64_t lsn = 0;
    int err;

    coir_record_put(r, body);
    err = coir_journal_append(&s->journal, room, &(struct coir_journal_record){ .kind = (uint16_t)r->kind,
        .devices = devices, .iov = &iov, .n = 1 }, &lsn);
    COIR_ASSERT(err == 0);
    COIR_ASSERT(lsn == s->lsn);
    if (coir_store_is_due(s))
        coir_event_set(&s->due);
}

void coir_store_let_go(struct coir_store *s, uint64_t address, uint64_t blocks, uint64_t lsn)
{
    const unsigned file = COIR_ADDRESS_FILE(address);

    if (coir_space_supersede(s->space, address, blocks, lsn))
        return;
    coir_store_fail(s, "the index names %llu blocks at byte %llu of %s that are free, or in no file: the store is "
                    "damaged; check names all of them", (unsigned long long)blocks,
                    (unsigned long long)COIR_ADDRESS_BLOCK(address) << COIR_BLOCK_SHIFT,
                    file < s->files->n ? s->device[file]->name : "no file");
}

static void supersede(void *arg, uint64_t address, uint64_t blocks)
{
    coir_store_let_go(arg, address, blocks, ((struct coir_store *)arg)->lsn);
}

struct coir_superseded coir_store_superseded(struct coir_store *s)
{
    return (struct coir_superseded){ supersede, s };
}

/* ---- waiting for room ---- */

struct store_room {
    coir_frame_void;
    coir_args(struct coir_store *store; int why;);
    union {
        struct coir_event_wait wait;
        struct coir_store_checkpoint checkpoint;
        struct coir_space_grow grow;
    };
};
coir_public(store_room, coir_store_room);

coir_body(store_room, f) {
    if (f->why == -EFBIG) {
        coir_await(f, &f->grow, coir_space_grow, .grower = &f->store->grower);
        if (coir_status(&f->grow) && coir_status(&f->grow) != -ENOSPC)
            coir_fail(f, coir_status(&f->grow));
    } else if (f->why == -EBUSY || (f->why == -EAGAIN && coir_store_is_clean(f->store))) {
        coir_try(f, &f->wait, coir_event_wait, .event = &f->store->progress);
    } else if (f->why == -EAGAIN) {
        coir_try(f, &f->checkpoint, coir_store_checkpoint, .store = f->store);
    } else {
        coir_fail(f, f->why);
    }
    if (f->store->read_only)
        coir_fail(f, -EROFS);
} coir_end
