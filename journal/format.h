/* SPDX-License-Identifier: MIT */
/*
 * What stands in a journal, as C: docs/volume-format.md, "The journal", says what each field means, and is the one to
 * change first. Only layouts and constants, on a little-endian machine. What the records' bodies are is their owner's.
 */
#ifndef COIR_JOURNAL_FORMAT_H
#define COIR_JOURNAL_FORMAT_H

#include <stddef.h>
#include <stdint.h>

enum {
    COIR_JOURNAL_BLOCK = 4096,          /* addresses count these */
    COIR_GROUP_MAX = 1 << 20,           /* bytes of a group, header and padding included */
    COIR_GROUP_RECORDS_MAX = (COIR_GROUP_MAX - 64) / 8,
    COIR_JOURNAL_GRAINS = 4,            /* the least that a ring has */
};

#define COIR_MAGIC_GROUP UINT32_C(0x474A5243)           /* "CRJG" */

struct coir_disk_group {
    uint32_t magic, crc;
    uint64_t epoch, number, first, previous;
    uint32_t length, records;
    uint64_t owner, zero;
};
_Static_assert(offsetof(struct coir_disk_group, crc) == 4, "docs/volume-format.md");
_Static_assert(offsetof(struct coir_disk_group, epoch) == 8, "docs/volume-format.md");
_Static_assert(offsetof(struct coir_disk_group, first) == 24, "docs/volume-format.md");
_Static_assert(offsetof(struct coir_disk_group, previous) == 32, "docs/volume-format.md");
_Static_assert(offsetof(struct coir_disk_group, length) == 40, "docs/volume-format.md");
_Static_assert(offsetof(struct coir_disk_group, owner) == 48, "docs/volume-format.md");
_Static_assert(sizeof(struct coir_disk_group) == 64, "docs/volume-format.md");

/* What precedes the body of a record; `length` counts it, and the padding. */
struct coir_disk_record {
    uint32_t length;
    uint16_t kind, zero;
};
_Static_assert(sizeof(struct coir_disk_record) == 8, "docs/volume-format.md");

#endif
