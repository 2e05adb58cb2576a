/* SPDX-License-Identifier: MIT */
/* Groups as bytes. Lengths that come from a medium are compared before they are added up, so nothing overflows. */
#include "journal/group.h"

#include <string.h>

#include "device/checksum.h"
#include "runtime/base/assert.h"

enum { HEAD = sizeof(struct coir_disk_group), SUMMED = offsetof(struct coir_disk_group, epoch) };

static uint32_t sum(const void *group, size_t size, uint64_t address)
{
    return coir_crc(address, (const char *)group + SUMMED, size - SUMMED);
}

uint64_t coir_group_seal(void *group, uint64_t address, uint32_t grain)
{
    struct coir_disk_group *const h = group;
    const size_t size = coir_group_size(h->length, grain);

    COIR_ASSERT(size <= COIR_GROUP_MAX);
    COIR_ASSERT((h->records == 0) == (h->length == 0));
    memset((char *)group + HEAD + h->length, 0, size - HEAD - h->length);
    h->magic = COIR_MAGIC_GROUP;
    h->zero = 0;
    h->crc = sum(group, size, address);
    return coir_crc64(group, size);
}

size_t coir_group_looks(const void *header, const struct coir_group_place *at)
{
    struct coir_disk_group h;
    size_t size;

    memcpy(&h, header, sizeof h);
    if (h.magic != COIR_MAGIC_GROUP || h.owner != at->owner || h.epoch != at->epoch || h.zero)
        return 0;
    if (h.length > COIR_GROUP_MAX - HEAD || h.length % 8)
        return 0;
    if (h.records > h.length / sizeof(struct coir_disk_record) || (h.records == 0) != (h.length == 0))
        return 0;
    if (h.number == 0 || h.first == 0 || h.first > INT64_MAX)
        return 0;
    size = coir_group_size(h.length, at->grain);
    return size <= COIR_GROUP_MAX && size <= at->room ? size : 0;
}

/* Whether the records fill the length, each of them whole. */
static bool records_fit(const struct coir_disk_group *h)
{
    const char *const records = (const char *)(h + 1);
    size_t at = 0;

    for (uint32_t i = 0; i < h->records; i++) {
        struct coir_disk_record r;
        if (h->length - at < sizeof r)
            return false;
        memcpy(&r, records + at, sizeof r);
        if (r.length < sizeof r || r.length % 8 || r.zero || r.length > h->length - at)
            return false;
        at += r.length;
    }
    return at == h->length;
}

bool coir_group_valid(const void *group, const struct coir_group_place *at)
{
    const struct coir_disk_group *const h = group;
    const size_t size = coir_group_looks(group, at);
    const char *const bytes = group;

    if (size == 0 || h->crc != sum(group, size, at->address) || !records_fit(h))
        return false;
    for (size_t i = HEAD + h->length; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

bool coir_group_next(const void *group, size_t *at, struct coir_record_view *record)
{
    const struct coir_disk_group *const h = group;
    const struct coir_disk_record *const r = (const void *)((const char *)(h + 1) + *at);

    if (*at == h->length)
        return false;
    COIR_ASSERT(h->length - *at >= sizeof *r);
    COIR_ASSERT(r->length >= sizeof *r && r->length <= h->length - *at);
    *record = (struct coir_record_view){ r + 1, r->length - sizeof *r, r->kind };
    *at += r->length;
    return true;
}
