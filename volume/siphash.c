/* SPDX-License-Identifier: MIT */
/*
 * SipHash-2-4 as its authors describe it (Aumasson and Bernstein, 2012). It assumes a little-endian machine, as all of
 * coir does.
 */
#include "volume/siphash.h"

#include <string.h>

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static void rounds(uint64_t v[4], int n)
{
    while (n--) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

uint64_t coir_siphash(const uint8_t key[16], const void *p, size_t n)
{
    const unsigned char *at = p;
    uint64_t k[2], m, last = (uint64_t)n << 56;
    uint64_t v[4];

    memcpy(k, key, sizeof k);
    v[0] = k[0] ^ UINT64_C(0x736f6d6570736575);
    v[1] = k[1] ^ UINT64_C(0x646f72616e646f6d);
    v[2] = k[0] ^ UINT64_C(0x6c7967656e657261);
    v[3] = k[1] ^ UINT64_C(0x7465646279746573);
    for (; n >= 8; at += 8, n -= 8) {
        memcpy(&m, at, 8);
        v[3] ^= m;
        rounds(v, 2);
        v[0] ^= m;
    }
    for (size_t i = 0; i < n; i++)
        last |= (uint64_t)at[i] << 8 * i;
    v[3] ^= last;
    rounds(v, 2);
    v[0] ^= last;
    v[2] ^= 0xff;
    rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
