/* SPDX-License-Identifier: MIT */
/*
 * The checksum of cksum(1), in POSIX's words: a CRC over the bytes and then over their number.
 */
#ifndef CKSUM_H
#define CKSUM_H

#include <stddef.h>
#include <stdint.h>

struct cksum {
    uint32_t crc;
    uint64_t size;
};

static inline uint32_t cksum_byte(uint32_t crc, uint32_t byte)
{
    static uint32_t table[256];                 /* used by one thread */

    for (uint32_t i = 0; table[255] == 0 && i < 256; i++) {
        table[i] = i << 24;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] << 1 ^ (table[i] >> 31 ? 0x04c11db7 : 0);
    }
    return crc << 8 ^ table[crc >> 24 ^ byte];
}

static inline void cksum_add(struct cksum *sum, const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum->crc = cksum_byte(sum->crc, bytes[i]);
    sum->size += n;
}

/* The number's lowest byte counts first, and no more bytes than it has. */
static inline void cksum_finish(struct cksum *sum)
{
    for (uint64_t n = sum->size; n > 0; n >>= 8)
        sum->crc = cksum_byte(sum->crc, n & 0xff);
    sum->crc = ~sum->crc;
}

#endif
