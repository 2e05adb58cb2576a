/* SPDX-License-Identifier: MIT */
/*
 * Bodies of records. Each kind begins with a fixed part, whose struct is here; a write is followed by its extents
 * and sums, a name by zeros up to a multiple of 8.
 */
#include "volume/record.h"

#include <string.h>

#include "runtime/base/assert.h"

struct write {
    uint64_t volume, lba;
    uint32_t count, extents;
};
COIR_SIZE_(write, 24);

struct unmap {
    uint64_t volume, lba, count;
};
COIR_SIZE_(unmap, 24);

struct create {
    uint64_t volume, blocks;
    uint8_t shift, zero;
    uint16_t name_length;
    uint32_t zero2;
};
COIR_SIZE_(create, 24);

struct named {
    uint64_t volume;
    uint16_t name_length;
    uint8_t zero[6];
};
COIR_SIZE_(named, 16);

struct resize {
    uint64_t volume, blocks;
};
COIR_SIZE_(resize, 16);

static size_t padded(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

static size_t write_size(uint64_t extents, uint64_t count)
{
    return sizeof(struct write) + extents * sizeof(struct coir_record_extent) + padded(count * sizeof(uint32_t));
}

size_t coir_record_bytes(const struct coir_record *r)
{
    switch (r->kind) {
    case COIR_RECORD_WRITE:
        return write_size(r->n_extents, r->count);
    case COIR_RECORD_UNMAP:
        return sizeof(struct unmap);
    case COIR_RECORD_CREATE:
        return sizeof(struct create) + padded(r->name_length);
    case COIR_RECORD_RENAME:
        return sizeof(struct named) + padded(r->name_length);
    case COIR_RECORD_RESIZE:
        return sizeof(struct resize);
    case COIR_RECORD_REMOVE:
    case COIR_RECORD_GONE:
        return sizeof r->volume;
    }
    COIR_ASSERT(!"a kind of record");
    return 0;
}

static void put_write(const struct coir_record *r, unsigned char *to)
{
    const struct write head = { r->volume, r->lba, (uint32_t)r->count, r->n_extents };

    memcpy(to, &head, sizeof head);
    to += sizeof head;
    memcpy(to, r->extents, r->n_extents * sizeof *r->extents);
    to += r->n_extents * sizeof *r->extents;
    memcpy(to, r->crcs, r->count * sizeof *r->crcs);
}

static void put_name(const struct coir_record *r, unsigned char *to)
{
    if (r->kind == COIR_RECORD_CREATE) {
        const struct create head = { r->volume, r->blocks, (uint8_t)r->shift, 0, (uint16_t)r->name_length, 0 };
        memcpy(to, &head, sizeof head);
        memcpy(to + sizeof head, r->name, r->name_length);
    } else {
        const struct named head = { .volume = r->volume, .name_length = (uint16_t)r->name_length };
        memcpy(to, &head, sizeof head);
        memcpy(to + sizeof head, r->name, r->name_length);
    }
}

void coir_record_put(const struct coir_record *r, void *to)
{
    const uint64_t fixed[3] = { r->volume, r->kind == COIR_RECORD_RESIZE ? r->blocks : r->lba, r->count };
    const size_t size = coir_record_bytes(r);

    memset(to, 0, size);
    if (r->kind == COIR_RECORD_WRITE)
        put_write(r, to);
    else if (r->kind == COIR_RECORD_CREATE || r->kind == COIR_RECORD_RENAME)
        put_name(r, to);
    else
        memcpy(to, fixed, size);        /* one, two or three numbers, in this order */
}

/* The extents cover the write, no more and no less, and lie somewhere. */
static bool extents_agree(const struct coir_record *r)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < r->n_extents; i++) {
        if (r->extents[i].count == 0 || r->extents[i].zero || r->extents[i].address == 0)
            return false;
        sum += r->extents[i].count;
    }
    return sum == r->count;
}

static bool read_write(struct coir_record *r, const unsigned char *body, size_t n)
{
    struct write head;

    if (n < sizeof head)
        return false;
    memcpy(&head, body, sizeof head);
    if (head.count == 0 || head.count > COIR_EXTENT_MAX || head.extents == 0 || head.extents > head.count
        || n != write_size(head.extents, head.count) || head.lba + head.count < head.lba)
        return false;
    r->volume = head.volume;
    r->lba = head.lba;
    r->count = head.count;
    r->n_extents = head.extents;
    r->extents = (const struct coir_record_extent *)(const void *)(body + sizeof head);
    r->crcs = (const uint32_t *)(const void *)(r->extents + head.extents);
    return extents_agree(r);
}

static bool read_name(struct coir_record *r, const unsigned char *body, size_t n)
{
    const size_t head = r->kind == COIR_RECORD_CREATE ? sizeof(struct create) : sizeof(struct named);
    uint16_t length;

    if (n < head)
        return false;
    memcpy(&r->volume, body, sizeof r->volume);
    if (r->kind == COIR_RECORD_CREATE) {
        memcpy(&r->blocks, body + offsetof(struct create, blocks), sizeof r->blocks);
        r->shift = body[offsetof(struct create, shift)];
        memcpy(&length, body + offsetof(struct create, name_length), sizeof length);
        if (r->shift < COIR_BLOCK_SHIFT || r->shift > COIR_VOLUME_SHIFT_MAX)
            return false;
    } else {
        memcpy(&length, body + offsetof(struct named, name_length), sizeof length);
    }
    r->name = (const char *)body + head;
    r->name_length = length;
    return length > 0 && length <= COIR_NAME_MAX && n == head + padded(length);
}

bool coir_record_read(struct coir_record *r, unsigned kind, const void *body, size_t n)
{
    uint64_t fixed[3] = { 0 };

    *r = (struct coir_record){ .kind = kind };
    switch (kind) {
    case COIR_RECORD_WRITE:
        return read_write(r, body, n);
    case COIR_RECORD_CREATE:
    case COIR_RECORD_RENAME:
        return read_name(r, body, n);
    case COIR_RECORD_UNMAP:
    case COIR_RECORD_RESIZE:
    case COIR_RECORD_REMOVE:
    case COIR_RECORD_GONE:
        if (n != coir_record_bytes(r))
            return false;
        memcpy(fixed, body, n);
        r->volume = fixed[0];
        *(kind == COIR_RECORD_RESIZE ? &r->blocks : &r->lba) = fixed[1];
        r->count = fixed[2];
        return kind != COIR_RECORD_UNMAP || (r->count > 0 && r->lba + r->count >= r->lba);
    default:
        return false;
    }
}
