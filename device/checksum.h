/* SPDX-License-Identifier: MIT */
/*
 * The checksums of everything that a store keeps (docs/volume-format.md): CRC-32C that begins with the address
 * at which the bytes stand, so that what was written elsewhere does not verify. Pure functions, any thread.
 */
#ifndef COIR_DEVICE_CHECKSUM_H
#define COIR_DEVICE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* CRC-32C of the eight bytes of `address`, little-endian, followed by n bytes at p. */
uint32_t coir_crc(uint64_t address, const void *p, size_t n);

/* The same of bytes that follow those which gave `crc`: coir_crc(a, p, n + m) is coir_crc_more(coir_crc(a, p, n),
 * p + n, m). */
uint32_t coir_crc_more(uint32_t crc, const void *p, size_t n);

/* CRC-64 (ECMA-182, reflected) of n bytes at p. */
uint64_t coir_crc64(const void *p, size_t n);

#endif
