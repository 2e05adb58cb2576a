/* SPDX-License-Identifier: MIT */
/*
 * Texts: made, joined, appended to, hashed. See text.h. Nothing here knows what the bytes mean.
 */
#include "vm/text.h"

/* Cells come in steps of 16 bytes, so there is room for what would be lost. */
static size_t room_for(size_t len)
{
    return (len + COIR_HEAP_GRAIN - 1) / COIR_HEAP_GRAIN * COIR_HEAP_GRAIN;
}

static struct coir_text *with_room(struct coir_heap *h, size_t len, size_t cap)
{
    struct coir_text *t;

    if (cap < len || cap > SIZE_MAX / 2)
        return NULL;
    t = coir_heap_alloc(h, sizeof *t + cap);
    if (!t)
        return NULL;
    coir_head_init(&t->head, &h->types[COIR_TYPE_TEXT], 0);
    t->len = len;
    t->cap = cap;
    return t;
}

struct coir_text *coir_text_new(struct coir_heap *h, size_t len)
{
    return with_room(h, len, room_for(len));
}

struct coir_text *coir_text_of(struct coir_heap *h, const void *bytes, size_t len)
{
    struct coir_text *t = coir_text_new(h, len);

    if (t && len)
        memcpy(t->bytes, bytes, len);
    return t;
}

struct coir_text *coir_text_join(struct coir_heap *h, const struct coir_text *a, const struct coir_text *b)
{
    struct coir_text *t = coir_text_new(h, a->len + b->len);

    if (t) {
        memcpy(t->bytes, a->bytes, a->len);
        memcpy(t->bytes + a->len, b->bytes, b->len);
    }
    return t;
}

struct coir_text *coir_text_constant(struct coir_types *ts, const void *bytes, size_t len)
{
    struct coir_text *t = coir_types_alloc(ts, sizeof *t + len);

    if (!t)
        return NULL;
    t->head = (struct coir_counted){ .count = COIR_IMMORTAL, .type = COIR_TYPE_TEXT };
    t->len = t->cap = len;
    if (len)
        memcpy(t->bytes, bytes, len);
    return t;
}

size_t coir_int_digits(int64_t n, char out[COIR_INT_DIGITS])
{
    char digits[COIR_INT_DIGITS];
    uint64_t rest = n < 0 ? -(uint64_t)n : (uint64_t)n;
    size_t at = sizeof digits;

    do
        digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (n < 0)
        digits[--at] = '-';
    memcpy(out, digits + at, sizeof digits - at);
    return sizeof digits - at;
}

static bool append_elsewhere(struct coir_heap *h, uint64_t *place, const char *bytes, size_t len)
{
    struct coir_text *old = coir_text_at(*place), *t;
    const size_t whole = old->len + len;
    const size_t cap = room_for(whole + (old->len < whole / 4 ? 0 : whole / 2));
    const bool inside = bytes >= old->bytes && bytes < old->bytes + old->cap;
    const size_t from = inside ? (size_t)(bytes - old->bytes) : 0;
    const bool sole = coir_sole(&old->head);

    if (sole) {
        t = coir_heap_resize(h, old, sizeof *old + old->cap, sizeof *old + cap);
        if (!t)
            return false;
        t->cap = cap;
        t->head.aux = 0;
    } else {
        t = with_room(h, old->len, cap);
        if (!t)
            return false;
        memcpy(t->bytes, old->bytes, old->len);
        h->copies++;
    }
    memcpy(t->bytes + t->len, inside ? t->bytes + from : bytes, len);
    t->len = whole;
    *place = coir_slot_of(t);
    if (!sole)
        coir_drop(h, &old->head);
    return true;
}

bool coir_text_append(struct coir_heap *h, uint64_t *place, const void *bytes, size_t len)
{
    struct coir_text *t = coir_text_at(*place);

    if (!len)
        return true;
    if (__builtin_expect(!coir_sole(&t->head) || t->cap - t->len < len, 0))
        return append_elsewhere(h, place, bytes, len);
    memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
    t->head.aux = 0;
    return true;
}

bool coir_text_reserve(struct coir_heap *h, uint64_t *place, size_t more)
{
    struct coir_text *t = coir_text_at(*place);
    const size_t need = t->len + more, half = t->len / 2;
    size_t cap;

    if (coir_sole(&t->head) && t->cap - t->len >= more)
        return true;
    if (need < more || need > SIZE_MAX / 4)
        return false;
    cap = room_for(need + (half > more ? half - more : 0));
    if (coir_sole(&t->head)) {
        t = coir_heap_resize(h, t, sizeof *t + t->cap, sizeof *t + cap);
        if (!t)
            return false;
        t->cap = cap;
    } else {
        struct coir_text *const copy = with_room(h, t->len, cap);

        if (!copy)
            return false;
        memcpy(copy->bytes, t->bytes, t->len);
        h->copies++;
        coir_drop(h, &t->head);
        t = copy;
    }
    *place = coir_slot_of(t);
    return true;
}

/* ---- the hash: products of 64 by 64 bits, folded, with the heap's secret in every factor ---- */

static uint32_t finish(uint64_t x)
{
    const uint32_t hash = (uint32_t)(x >> 32) ^ (uint32_t)x;

    return hash ? hash : 1;
}

uint32_t coir_text_hash(const struct coir_heap *h, struct coir_text *t)
{
    uint64_t x = h->seed[0] ^ t->len, last = 0;
    const char *p = t->bytes;
    size_t left = t->len;
    uint32_t hash;

    if (t->head.aux)
        return t->head.aux;
    for (; left >= 8; left -= 8, p += 8) {
        uint64_t word;

        memcpy(&word, p, 8);
        x = coir_hash_mix(x ^ word, h->seed[1]);
    }
    memcpy(&last, p, left);
    hash = finish(coir_hash_mix(x ^ last, h->seed[1] ^ UINT64_C(0xa0761d6478bd642f)));
    if (t->head.count < COIR_IMMORTAL)       /* what is read by several shards nobody writes */
        t->head.aux = hash;
    return hash;
}

int coir_text_compare(const struct coir_text *a, const struct coir_text *b)
{
    const int c = memcmp(a->bytes, b->bytes, a->len < b->len ? a->len : b->len);

    return c ? c : (a->len > b->len) - (a->len < b->len);
}
