/* SPDX-License-Identifier: MIT */
/*
 * A line of text, put together where nothing may be called: no stdio, no memory, no locks, no locale. It fits in the
 * buffer it is given, or is cut; whoever writes it out never looks whether there is room.
 */
#ifndef COIR_RUNTIME_SEE_TEXT_H
#define COIR_RUNTIME_SEE_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct coir_text {
    char *at, *end;
};

static inline struct coir_text coir_text_in(char *buf, size_t size)
{
    return (struct coir_text){ buf, buf + size };
}

static inline void coir_text_char(struct coir_text *t, char c)
{
    if (t->at < t->end)
        *t->at++ = c;
}

/* What would break the line is shown as a question mark. */
static inline void coir_text_str(struct coir_text *t, const char *s)
{
    for (; *s; s++)
        coir_text_char(t, (unsigned char)*s < ' ' ? '?' : *s);
}

/* Right-aligned in `width` columns, filled up with `fill`. */
static inline void coir_text_padded(struct coir_text *t, uint64_t n, int width, char fill)
{
    char digits[20];
    int i = 0;

    do
        digits[i++] = (char)('0' + n % 10);
    while (n /= 10);
    for (; width > i; width--)
        coir_text_char(t, fill);
    while (i > 0)
        coir_text_char(t, digits[--i]);
}

static inline void coir_text_unsigned(struct coir_text *t, uint64_t n)
{
    coir_text_padded(t, n, 0, ' ');
}

static inline void coir_text_hex(struct coir_text *t, uint64_t n)
{
    int shift = 60;

    while (shift > 0 && !(n >> shift))
        shift -= 4;
    for (; shift >= 0; shift -= 4)
        coir_text_char(t, "0123456789abcdef"[n >> shift & 15]);
}

static inline void coir_text_signed(struct coir_text *t, int64_t n)
{
    if (n < 0)
        coir_text_char(t, '-');
    coir_text_unsigned(t, n < 0 ? -(uint64_t)n : (uint64_t)n);
}

#endif
