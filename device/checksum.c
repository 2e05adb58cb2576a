/* SPDX-License-Identifier: MIT */
/*
 * ISA-L takes the widest instructions the processor has. Its CRC-32C neither inverts at the beginning nor at
 * the end, and so can be continued; the usual inversions are made here. Lengths of its are int.
 */
#include "device/checksum.h"

#include <isa-l/crc.h>
#include <isa-l/crc64.h>

enum { STRIDE = 1 << 30 };

/* CRC-32C without the inversions. */
static uint32_t raw(uint32_t crc, const unsigned char *p, size_t n)
{
    for (; n > STRIDE; p += STRIDE, n -= STRIDE)
        crc = crc32_iscsi((unsigned char *)p, STRIDE, crc);
    return n ? crc32_iscsi((unsigned char *)p, (int)n, crc) : crc;
}

uint32_t coir_crc(uint64_t address, const void *p, size_t n)
{
    unsigned char begin[8];

    for (int i = 0; i < 8; i++)
        begin[i] = (unsigned char)(address >> 8 * i);
    return ~raw(raw(UINT32_MAX, begin, sizeof begin), p, n);
}

uint32_t coir_crc_more(uint32_t crc, const void *p, size_t n)
{
    return ~raw(~crc, p, n);
}

uint64_t coir_crc64(const void *p, size_t n)
{
    return crc64_ecma_refl(0, p, n);
}
