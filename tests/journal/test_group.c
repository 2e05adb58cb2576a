/* SPDX-License-Identifier: MIT */
/*
 * A group's bytes, worked out by hand from docs/volume-format.md; each thing that makes it none; and that no change of
 * one bit goes unnoticed.
 */
#include "journal/group.h"

#include "device/checksum.h"

#include "tap.h"

enum { BLOCK = 4096 };

static _Alignas(8) unsigned char bytes[2 * BLOCK + COIR_GROUP_MAX];

static const struct coir_group_place place = { .owner = 0x1122334455667788, .epoch = 5, .address = 0x200,
                                               .room = 8 * BLOCK, .grain = BLOCK };

/* Two records: kind 1 with "abcdefghi", kind 7 with nothing. */
static uint64_t two_records(void)
{
    struct coir_disk_group *h = (void *)bytes;

    memset(bytes, 0xEE, sizeof bytes);
    *h = (struct coir_disk_group){ .epoch = 5, .number = 3, .first = 41, .previous = 0xA1A2A3A4A5A6A7A8, .length = 32,
                                   .records = 2, .owner = place.owner };
    memset(bytes + 64, 0, 32);
    memcpy(bytes + 64, (unsigned char[]){ 24, 0, 0, 0, 1, 0, 0, 0 }, 8);
    memcpy(bytes + 72, "abcdefghi", 9);
    memcpy(bytes + 88, (unsigned char[]){ 8, 0, 0, 0, 7, 0, 0, 0 }, 8);
    return coir_group_seal(bytes, place.address, BLOCK);
}

static void layout(void)
{
    static const unsigned char address[8] = { 0, 2 };
    static const unsigned char head[56] = {
        5, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 41, 0, 0, 0, 0, 0, 0, 0,
        0xA8, 0xA7, 0xA6, 0xA5, 0xA4, 0xA3, 0xA2, 0xA1, 32, 0, 0, 0, 2, 0, 0, 0,
        0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0, 0, 0, 0, 0, 0, 0, 0,
    };
    static unsigned char zeros[BLOCK];
    const uint64_t hash = two_records();
    uint32_t crc = coir_crc_more(coir_crc_more(0, address, 8), head, sizeof head);

    crc = coir_crc_more(crc, "\30\0\0\0\1\0\0\0abcdefghi\0\0\0\0\0\0\0\10\0\0\0\7\0\0\0", 32);
    crc = coir_crc_more(crc, zeros, BLOCK - 96);
    MEM_EQ(bytes, "CRJG", 4, "the magic");
    MEM_EQ(bytes + 4, &crc, 4, "the sum of the address and all that follows, padding included");
    MEM_EQ(bytes + 8, head, sizeof head, "the header");
    MEM_EQ(bytes + 96, zeros, BLOCK - 96, "zeros up to the grain");
    EQ(bytes[BLOCK], 0xEE, "and nothing behind");
    EQ((int64_t)hash, (int64_t)coir_crc64(bytes, BLOCK), "the hash is of all its bytes");
    EQ(coir_group_looks(bytes, &place), BLOCK, "it looks like a block");
    OK(coir_group_valid(bytes, &place), "and is one");
}

static void sizes(void)
{
    EQ(coir_group_size(0, BLOCK), BLOCK, "a mark is a grain");
    EQ(coir_group_size(BLOCK - 64, BLOCK), BLOCK, "records that fill a block");
    EQ(coir_group_size(BLOCK - 56, BLOCK), 2 * BLOCK, "and eight bytes more");
    EQ(coir_group_size(100, 16384), 16384, "a larger grain");
    EQ(coir_record_size(0), 8, "a record without a body");
    EQ(coir_record_size(1), 16, "of one byte");
    EQ(coir_record_size(8), 16, "of eight");
    EQ(coir_record_size(9), 24, "of nine");
}

static void walk(void)
{
    struct coir_record_view r;
    size_t at = 0;

    two_records();
    OK(coir_group_next(bytes, &at, &r), "there is a record");
    EQ(r.kind, 1, "of kind 1");
    EQ(r.length, 16, "with sixteen bytes");
    MEM_EQ(r.body, "abcdefghi\0\0\0\0\0\0", 16, "the body and its padding");
    OK(coir_group_next(bytes, &at, &r), "and another");
    EQ(r.kind, 7, "of kind 7");
    EQ(r.length, 0, "with nothing");
    OK(!coir_group_next(bytes, &at, &r), "and no third");
    EQ(at, 32, "they have 32 bytes");
}

/* What a group is not, though its sum is right. */
static bool sealed_is_valid(void)
{
    struct coir_disk_group *h = (void *)bytes;

    h->crc = coir_crc(place.address, bytes + 8, BLOCK - 8);
    return coir_group_valid(bytes, &place);
}

#define REFUSES(field, value, why) do { \
    two_records(); \
    ((struct coir_disk_group *)(void *)bytes)->field = (value); \
    OK(!sealed_is_valid(), "%s", why); \
    } while (0)

static void refusals(void)
{
    struct coir_group_place other = place;

    two_records();
    OK(sealed_is_valid(), "a sum made by hand is good");
    REFUSES(magic, 1, "another magic");
    REFUSES(epoch, 4, "another epoch");
    REFUSES(owner, 4, "another owner");
    REFUSES(zero, 1, "a later version's field");
    REFUSES(number, 0, "groups count from 1");
    REFUSES(first, 0, "so do records");
    REFUSES(first, UINT64_MAX, "an LSN that will overflow");
    REFUSES(length, 24, "fewer bytes than the records have");
    REFUSES(length, 40, "more");
    REFUSES(length, 36, "no multiple of eight");
    REFUSES(length, UINT32_MAX - 7, "far more");
    REFUSES(length, COIR_GROUP_MAX, "more than a group has");
    REFUSES(length, 0, "none");
    REFUSES(records, 1, "fewer records");
    REFUSES(records, 3, "more records");
    REFUSES(records, UINT32_MAX, "far more records");
    REFUSES(records, 0, "none, and bytes");
    two_records();
    bytes[64] = 32;
    OK(!sealed_is_valid(), "a record that takes the next one's place");
    two_records();
    bytes[64] = 4;
    OK(!sealed_is_valid(), "a record shorter than its head");
    two_records();
    bytes[64] = 12;
    OK(!sealed_is_valid(), "a record of no multiple of eight");
    two_records();
    bytes[67] = 0x80;
    OK(!sealed_is_valid(), "a record that goes on for two gigabytes");
    two_records();
    bytes[70] = 1;
    OK(!sealed_is_valid(), "a record with something in its zero");
    two_records();
    bytes[BLOCK - 1] = 1;
    OK(!sealed_is_valid(), "padding that is not zero");
    two_records();
    other.address++;
    OK(!coir_group_valid(bytes, &other), "in another place");
    other = place;
    other.room = BLOCK - 8;
    EQ(coir_group_looks(bytes, &other), 0, "beyond the end of the ring");
    other = place;
    other.grain = 2 * BLOCK;
    EQ(coir_group_looks(bytes, &other), 2 * BLOCK, "with a larger grain more is summed");
}

static void bits(void)
{
    size_t unnoticed = 0;

    two_records();
    for (size_t i = 0; i < 8 * BLOCK; i++) {
        bytes[i / 8] ^= (unsigned char)(1 << i % 8);
        unnoticed += coir_group_valid(bytes, &place);
        bytes[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    EQ(unnoticed, 0, "no change of one bit goes unnoticed");
}

static void marks(void)
{
    struct coir_disk_group *h = (void *)bytes;
    struct coir_record_view r;
    size_t at = 0;

    *h = (struct coir_disk_group){ .epoch = 5, .number = 3, .first = 43, .previous = 9, .owner = place.owner };
    coir_group_seal(bytes, place.address, BLOCK);
    OK(coir_group_valid(bytes, &place), "a mark is valid");
    OK(!coir_group_next(bytes, &at, &r), "and has no record");
}

static void largest(void)
{
    struct coir_disk_group *h = (void *)bytes;
    struct coir_group_place at = place;

    at.room = COIR_GROUP_MAX;
    *h = (struct coir_disk_group){ .epoch = 5, .number = 3, .first = 43, .length = COIR_GROUP_MAX - 64,
                                   .records = COIR_GROUP_RECORDS_MAX, .owner = place.owner };
    for (size_t i = 64; i < COIR_GROUP_MAX; i += 8)
        memcpy(bytes + i, (unsigned char[]){ 8, 0, 0, 0, 1, 0, 0, 0 }, 8);
    coir_group_seal(bytes, place.address, BLOCK);
    EQ(coir_group_looks(bytes, &at), COIR_GROUP_MAX, "the largest");
    OK(coir_group_valid(bytes, &at), "is valid");
    at.grain = 1 << 16;
    EQ(coir_group_looks(bytes, &at), COIR_GROUP_MAX, "with any grain");
}

int main(void)
{
    layout();
    sizes();
    walk();
    refusals();
    bits();
    marks();
    largest();
    return DONE();
}
