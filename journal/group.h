/* SPDX-License-Identifier: MIT */
/*
 * Groups as bytes: making one, and believing one. Pure functions, any thread. What is read is untrusted: all that a
 * group has to be is asked in coir_group_valid, and in no other place; who walks its records relies on that.
 */
#ifndef COIR_JOURNAL_GROUP_H
#define COIR_JOURNAL_GROUP_H

#include <stdbool.h>

#include "journal/format.h"

/* A place in a journal where a group may stand. */
struct coir_group_place {
    uint64_t owner, epoch;
    uint64_t address;                   /* of its first block */
    uint64_t room;                      /* bytes to the end of the ring */
    uint32_t grain;
};

/* Bytes that a group takes whose records have `length` bytes. */
static inline size_t coir_group_size(size_t length, uint32_t grain)
{
    return (sizeof(struct coir_disk_group) + length + grain - 1) & ~((size_t)grain - 1);
}

/* Bytes that a record takes whose body has `n`. */
static inline size_t coir_record_size(size_t n)
{
    return sizeof(struct coir_disk_record) + ((n + 7) & ~(size_t)7);
}

/* Completes a group at `group`, whose header is there but for magic and crc, whose records follow it: pads it to its
 * size, which fits, and sums it up for its place. Its hash. */
uint64_t coir_group_seal(void *group, uint64_t address, uint32_t grain);

/* A header as it may stand at this place: the size of its group, of a mark too. 0: it is none. Believed is nothing yet,
 * but that so many bytes may be read. */
size_t coir_group_looks(const void *header, const struct coir_group_place *at);

/* Whether the bytes there, as many as coir_group_looks has said, are a group, or a mark. */
bool coir_group_valid(const void *group, const struct coir_group_place *at);

/* One record of a valid group. */
struct coir_record_view {
    const void *body;
    size_t length;                      /* of the body, padding included */
    uint16_t kind;
};

/* The record at *at, which is 0 for the first, and moves on. False: there are no more. */
bool coir_group_next(const void *group, size_t *at, struct coir_record_view *record);

#endif
