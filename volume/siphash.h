/* SPDX-License-Identifier: MIT */
/*
 * SipHash-2-4: a hash with a key, so that nobody outside can choose names that collide. Pure, any thread.
 */
#ifndef COIR_VOLUME_SIPHASH_H
#define COIR_VOLUME_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t coir_siphash(const uint8_t key[16], const void *p, size_t n);

#endif
