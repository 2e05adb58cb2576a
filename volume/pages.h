/* SPDX-License-Identifier: MIT */
/*
 * A set of page numbers, as bits in two levels: finding the next one looks at 4,096 pages at a time, so that
 * a map of millions of pages is not scanned. Owns its memory; knows nothing of what the pages are.
 */
#ifndef COIR_VOLUME_PAGES_H
#define COIR_VOLUME_PAGES_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct coir_pages {
    uint64_t n;                                 /* pages 0 to n - 1 can be in it */
    uint64_t *in;                               /* a bit a page */
    uint64_t *some;                             /* a bit a word of `in`: not 0 */
};

/* An empty set. 0 or -ENOMEM. */
static inline int coir_pages_init(struct coir_pages *s, uint64_t n)
{
    const uint64_t words = n / 64 + 1;

    *s = (struct coir_pages){ .n = n, .in = calloc(words, 8), .some = calloc(words / 64 + 1, 8) };
    return s->in && s->some ? 0 : -ENOMEM;
}

/* Also one whose making failed, or that is all zero. */
static inline void coir_pages_destroy(struct coir_pages *s)
{
    free(s->in);
    free(s->some);
    *s = (struct coir_pages){ 0 };
}

static inline bool coir_pages_has(const struct coir_pages *s, uint64_t page)
{
    return s->in[page / 64] >> page % 64 & 1;
}

static inline void coir_pages_add(struct coir_pages *s, uint64_t page)
{
    s->in[page / 64] |= (uint64_t)1 << page % 64;
    s->some[page / 4096] |= (uint64_t)1 << page / 64 % 64;
}

static inline void coir_pages_drop(struct coir_pages *s, uint64_t page)
{
    s->in[page / 64] &= ~((uint64_t)1 << page % 64);
    if (s->in[page / 64] == 0)
        s->some[page / 4096] &= ~((uint64_t)1 << page / 64 % 64);
}

/* The least page in the set that is `from` or above; `n` when there is none. */
static inline uint64_t coir_pages_next(const struct coir_pages *s, uint64_t from)
{
    uint64_t word = from / 64, rest;

    if (from >= s->n)
        return s->n;
    rest = s->in[word] >> from % 64;
    if (rest)
        return from + (uint64_t)__builtin_ctzll(rest);
    word++;
    rest = s->some[word / 64] >> word % 64 << word % 64;
    for (word /= 64; !rest;) {
        if (++word > s->n / 4096)
            return s->n;
        rest = s->some[word];
    }
    word = word * 64 + (uint64_t)__builtin_ctzll(rest);
    return word * 64 + (uint64_t)__builtin_ctzll(s->in[word]);
}

#endif
