/* SPDX-License-Identifier: MIT */
/*
 * UTF-8, and the ends of parts. A byte that begins no sequence of UTF-8 stands alone, as code point U+FFFD.
 */
#ifndef COIR_VM_NATIVES_UTF8_H
#define COIR_VM_NATIVES_UTF8_H

#include "vm/native.h"

#define COIR_NOT_UTF8 0xfffdu

/* How many bytes the first code point of `len` > 0 bytes takes, and which it is. */
size_t coir_utf8_read(const char *bytes, size_t len, uint32_t *code);
/* How many there are. */
size_t coir_utf8_count(const char *bytes, size_t len);
size_t coir_utf8_size(uint32_t code);
size_t coir_utf8_write(uint32_t code, char *to);

/* An end of a slice: moved to what is there. */
static inline size_t coir_clamp(int64_t at, size_t len)
{
    return at < 0 ? 0 : (uint64_t)at > len ? len : (size_t)at;
}

/* a..b of what has `len`: false unless 0 <= a <= b <= len. */
bool coir_part_of(int64_t a, int64_t b, bool inclusive, size_t len, size_t *from, size_t *to);
enum coir_native_result coir_trap_part(struct coir_fiber *f, int64_t a, int64_t b, bool inclusive, size_t len);

#endif
