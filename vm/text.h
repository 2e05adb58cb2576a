/* SPDX-License-Identifier: MIT */
/*
 * Texts: bytes that do not change, except at the hands of their only holder, who may append in place.
 */
#ifndef COIR_VM_TEXT_H
#define COIR_VM_TEXT_H

#include "vm/cell.h"

/* A text of `len` bytes, to be filled by the caller at once. NULL: no memory. */
struct coir_text *coir_text_new(struct coir_heap *h, size_t len);
struct coir_text *coir_text_of(struct coir_heap *h, const void *bytes, size_t len);
struct coir_text *coir_text_join(struct coir_heap *h, const struct coir_text *a, const struct coir_text *b);

/* A constant, in the types' memory. NULL: no memory. */
struct coir_text *coir_text_constant(struct coir_types *ts, const void *bytes, size_t len);

/* Appends to the text that *place refers to; it becomes another one unless it was held once and had room. `bytes` may
 * lie in it. Amortised linear. False: no memory, and nothing has changed. */
bool coir_text_append(struct coir_heap *h, uint64_t *place, const void *bytes, size_t len);

/* The same for who reads into the text itself: room for `more` bytes behind its last. */
bool coir_text_reserve(struct coir_heap *h, uint64_t *place, size_t more);

/* The digits of a number, with its sign. Returns how many there are. */
enum { COIR_INT_DIGITS = 20 };
size_t coir_int_digits(int64_t n, char out[COIR_INT_DIGITS]);

/* Not 0, and the same for the same bytes on the same heap; kept in the text. */
uint32_t coir_text_hash(const struct coir_heap *h, struct coir_text *t);

/* < 0, 0, > 0: by bytes, the shorter one first. */
int coir_text_compare(const struct coir_text *a, const struct coir_text *b);

static inline bool coir_text_equal(const struct coir_text *a, const struct coir_text *b)
{
    return a == b || (a->len == b->len && !memcmp(a->bytes, b->bytes, a->len));
}

static inline struct coir_text *coir_text_at(uint64_t slot)
{
    return (struct coir_text *)(uintptr_t)slot;
}

#endif
