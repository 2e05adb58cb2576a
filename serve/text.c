/* SPDX-License-Identifier: MIT */
/* JSON strings. What comes in may be any bytes; what goes out is UTF-8, and a parser takes it. */
#include "serve/text.h"

#include <stdio.h>
#include <string.h>

/* Bytes of the UTF-8 character that begins at `p`; 0: there is none. Overlong forms, surrogates and what is beyond
 * U+10FFFF are none. */
static size_t character(const unsigned char *p)
{
    static const unsigned least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
    const size_t n = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
    unsigned value = n == 1 ? p[0] : p[0] & (0x7Fu >> n);

    for (size_t i = 1; i < n; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        value = value << 6 | (p[i] & 0x3Fu);
    }
    if (n == 0 || value < least[n] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
        return 0;
    return n;
}

void coir_json_text(char *to, size_t size, const char *from)
{
    const unsigned char *p = (const unsigned char *)from;
    size_t at = 0;

    while (*p) {
        const size_t n = character(p);
        char part[8];
        size_t length;
        if (n == 0)
            memcpy(part, "\xEF\xBF\xBD", length = 3);
        else if (n == 1 && (*p < ' ' || *p == '"' || *p == '\\' || *p == 0x7F))
            length = (size_t)snprintf(part, sizeof part, "\\u%04x", *p);
        else
            memcpy(part, p, length = n);
        if (at + length >= size)
            break;
        memcpy(to + at, part, length);
        at += length;
        p += n ? n : 1;
    }
    to[at] = '\0';
}
