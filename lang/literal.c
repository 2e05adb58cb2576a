/* SPDX-License-Identifier: MIT */
/*
 * What literals are worth: see lang/literal.h. Nothing here depends on the locale of the process.
 */
#include "lang/literal.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

uint64_t coir_literal_unit(struct coir_word unit)
{
    static const struct { char text[3]; uint64_t ns; } units[] = {
        { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 }, { "m", 60000000000 },
        { "h", 3600000000000 },
    };

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].text) == unit.size && memcmp(units[i].text, unit.text, unit.size) == 0)
            return units[i].ns;
    return 0;
}

/* 0 to 15, or 16 for what is no digit. */
static unsigned hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    return (c | 32) >= 'a' && (c | 32) <= 'f' ? (unsigned)((c | 32) - 'a') + 10 : 16;
}

bool coir_literal_int(struct coir_word w, uint64_t *value)
{
    const bool hex = w.size > 2 && w.text[0] == '0' && (w.text[1] | 32) == 'x';
    const unsigned base = hex ? 16 : 10;
    bool fits = true;
    uint32_t i = hex ? 2 : 0;

    *value = 0;
    for (; i < w.size; i++) {
        const unsigned digit = hex_digit(w.text[i]);
        if (w.text[i] == '_')
            continue;
        if (digit >= base)
            break;
        if (__builtin_mul_overflow(*value, (uint64_t)base, value) ||
                __builtin_add_overflow(*value, (uint64_t)digit, value))
            fits = false;
    }
    if (i < w.size && __builtin_mul_overflow(*value, coir_literal_unit((struct coir_word){ w.text + i, w.size - i }),
                                             value))
        fits = false;
    return fits;
}

double coir_literal_float(struct coir_word w)
{
    char text[COIR_LITERAL_FLOAT + 1];
    size_t used = 0;

    for (uint32_t i = 0; i < w.size && used < sizeof text - 1; i++)
        if (w.text[i] != '_')
            text[used++] = w.text[i];
    text[used] = '\0';
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const double value = plain ? strtod_l(text, NULL, plain) : strtod(text, NULL);
    if (plain)
        freelocale(plain);
    return value;
}

/* ---- escapes ---- */

static uint32_t put_utf8(uint32_t c, char *to)
{
    static const unsigned char lead[] = { 0, 0xC0, 0xE0, 0xF0 };

    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    const uint32_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    to[0] = (char)(lead[more] | c >> 6 * more);
    for (uint32_t i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3F));
    return more + 1;
}

/* `u{1F600}`. */
static uint32_t unicode(const char *at, uint32_t n, char *to, uint32_t *used)
{
    uint32_t value = 0, i = 2;

    for (; i < n && i < 8 && hex_digit(at[i]) < 16; i++)
        value = value * 16 + hex_digit(at[i]);
    if (i == 2 || i >= n || at[i] != '}' || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
        return 0;
    *used += put_utf8(value, to + *used);
    return i + 1;
}

uint32_t coir_literal_escape(const char *at, uint32_t n, char *to, uint32_t *used)
{
    static const char from[] = "nrt0\"\\$", into[] = "\n\r\t\0\"\\$";
    const char *const plain = n > 0 && at[0] ? strchr(from, at[0]) : NULL;

    if (plain) {
        to[(*used)++] = into[plain - from];
        return 1;
    }
    if (n >= 3 && at[0] == 'x' && hex_digit(at[1]) < 16 && hex_digit(at[2]) < 16) {
        to[(*used)++] = (char)(hex_digit(at[1]) * 16 + hex_digit(at[2]));
        return 3;
    }
    return n >= 4 && at[0] == 'u' && at[1] == '{' ? unicode(at, n, to, used) : 0;
}
