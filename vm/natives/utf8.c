/* SPDX-License-Identifier: MIT */
/* UTF-8 as RFC 3629 has it: no surrogates, nothing longer than need be. Knows bytes only. */
#include "vm/natives/utf8.h"

#include <inttypes.h>

static bool continues(const char *bytes, size_t len, size_t n)
{
    if (len < n)
        return false;
    for (size_t i = 1; i < n; i++)
        if (((unsigned char)bytes[i] & 0xc0) != 0x80)
            return false;
    return true;
}

static uint32_t joined(const char *bytes, size_t n, uint32_t first)
{
    for (size_t i = 1; i < n; i++)
        first = first << 6 | ((unsigned char)bytes[i] & 0x3f);
    return first;
}

size_t coir_utf8_read(const char *bytes, size_t len, uint32_t *code)
{
    const unsigned char c = (unsigned char)bytes[0];
    const size_t n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };

    if (n == 1) {
        *code = c;
        return 1;
    }
    if (n && continues(bytes, len, n)) {
        *code = joined(bytes, n, c & (0x7fu >> n));
        if (*code >= least[n] && *code <= 0x10ffff && !(*code >= 0xd800 && *code <= 0xdfff))
            return n;
    }
    *code = COIR_NOT_UTF8;
    return 1;
}

size_t coir_utf8_count(const char *bytes, size_t len)
{
    size_t n = 0;
    uint32_t code;

    for (size_t i = 0; i < len; n++)
        i += coir_utf8_read(bytes + i, len - i, &code);
    return n;
}

size_t coir_utf8_size(uint32_t code)
{
    return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

size_t coir_utf8_write(uint32_t code, char *to)
{
    static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    const size_t n = coir_utf8_size(code);

    if (n == 1) {
        to[0] = (char)code;
        return 1;
    }
    for (size_t i = n - 1; i > 0; i--) {
        to[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    to[0] = (char)(lead[n] | code);
    return n;
}

bool coir_part_of(int64_t a, int64_t b, bool inclusive, size_t len, size_t *from, size_t *to)
{
    if (inclusive && (b < 0 || (uint64_t)b >= len))
        return false;
    b += inclusive;
    if (a < 0 || b < a || (uint64_t)b > len)
        return false;
    *from = (size_t)a;
    *to = (size_t)b;
    return true;
}

enum coir_native_result coir_trap_part(struct coir_fiber *f, int64_t a, int64_t b, bool inclusive, size_t len)
{
    return coir_trap(f, COIR_TRAP_BOUNDS, "%" PRId64 "..%s%" PRId64 " of %zu", a, inclusive ? "=" : "", b, len);
}
