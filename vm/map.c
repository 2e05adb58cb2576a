/* SPDX-License-Identifier: MIT */
/*
 * Maps: entries in the order of insertion, and an index by open addressing. See cell.h and map.h.
 *
 * Invariants: 1. An entry that is there is in the index once, on the run of places that begins where its hash says.
 * 2. A place of an entry that was removed stays, so that runs do not break; it goes when the map is rebuilt. 3. There
 * is always a free place. 4. A map is rebuilt when its entries run out of room: another takes those that are there.
 */
#include "vm/map.h"

#include "vm/text.h"

enum { LEAST = 8 };

static bool is_word(const struct coir_type *key)
{
    return key->slots == 1 && key->kind != COIR_TYPE_TEXT;
}

static uint32_t word_hash(const struct coir_heap *h, uint64_t word)
{
    const uint64_t x = coir_hash_mix(h->seed[0] ^ word, h->seed[1]);

    return (uint32_t)(x >> 32) ^ (uint32_t)x;
}

static uint32_t key_hash(const struct coir_heap *h, const struct coir_type *key, const uint64_t *slots)
{
    uint64_t x = h->seed[0];

    if (is_word(key))
        return word_hash(h, slots[0]);
    if (key->kind == COIR_TYPE_TEXT)
        return coir_text_hash(h, coir_text_at(slots[0]));
    for (uint32_t i = 0; i < key->slots; i++) {
        const uint64_t word = key->layout[i].ref ? coir_text_hash(h, coir_text_at(slots[i])) : slots[i];

        x = coir_hash_mix(x ^ word, h->seed[1]);
    }
    return (uint32_t)(x >> 32) ^ (uint32_t)x;
}

static bool same_key(const struct coir_type *key, const uint64_t *a, const uint64_t *b)
{
    for (uint32_t i = 0; i < key->slots; i++) {
        if (a[i] != b[i] && !(key->layout[i].ref && coir_text_equal(coir_text_at(a[i]), coir_text_at(b[i]))))
            return false;
    }
    return true;
}

static uint64_t *entry_at(const struct coir_map *m, uint32_t stride, uint32_t i)
{
    return m->entries + (size_t)i * stride;
}

/* ---- which entries are there: bits behind the index ---- */

static uint32_t *gone_bits(const struct coir_map *m)
{
    return m->index + m->mask + 1;
}

bool coir_map_is_gone(const struct coir_map *m, uint32_t i)
{
    return m->live != m->used && (gone_bits(m)[i / 32] >> i % 32 & 1);
}

/* ---- finding ---- */

/* The number of an entry is less than the places, so it leaves the bits of the hash that do not choose the place. */
static uint32_t index_place(const struct coir_map *m, uint32_t hash, uint32_t entry)
{
    return (hash & ~m->mask) | (entry + 1);
}

/* The entry of `key`, and its number; NULL: none. Only if the map has an index. */
static uint64_t *find(const struct coir_map *m, const struct coir_type *t, const uint64_t *key, uint32_t hash,
                      uint32_t *number)
{
    uint32_t place;

    for (uint32_t at = hash & m->mask; (place = m->index[at]); at = (at + 1) & m->mask) {
        uint64_t *e;

        if ((place ^ hash) & ~m->mask)
            continue;
        *number = (place & m->mask) - 1;
        e = entry_at(m, t->cell_slots, *number);
        if (!coir_map_is_gone(m, *number) && same_key(t->key, e, key))
            return e;
    }
    return NULL;
}

/* The same for keys of one word, which are the most. */
static uint64_t *find_word(const struct coir_map *m, uint32_t stride, uint64_t key, uint32_t hash)
{
    uint32_t place;

    for (uint32_t at = hash & m->mask; (place = m->index[at]); at = (at + 1) & m->mask) {
        uint64_t *e;

        if ((place ^ hash) & ~m->mask)
            continue;
        e = entry_at(m, stride, (place & m->mask) - 1);
        if (*e == key && !coir_map_is_gone(m, (place & m->mask) - 1))
            return e;
    }
    return NULL;
}

static uint64_t *find_hashed(const struct coir_map *m, const struct coir_type *t, const uint64_t *key, uint32_t hash)
{
    uint32_t number;

    if (!m->live)
        return NULL;
    return is_word(t->key) ? find_word(m, t->cell_slots, *key, hash) : find(m, t, key, hash, &number);
}

uint64_t *coir_map_find(const struct coir_heap *h, const struct coir_map *m, const uint64_t *key)
{
    const struct coir_type *t = &h->types[m->head.type];
    uint64_t *e;

    if (!m->live)
        return NULL;
    e = find_hashed(m, t, key, key_hash(h, t->key, key));
    return e ? e + t->key->slots : NULL;
}

uint64_t *coir_map_next(const struct coir_heap *h, const struct coir_map *m, uint64_t *at)
{
    const uint32_t stride = h->types[m->head.type].cell_slots;

    for (uint64_t i = *at; i < m->used; i++) {
        if (!coir_map_is_gone(m, (uint32_t)i)) {
            *at = i + 1;
            return entry_at(m, stride, (uint32_t)i);
        }
    }
    *at = m->used;
    return NULL;
}

/* ---- room ---- */

struct coir_map *coir_map_new(struct coir_heap *h, const struct coir_type *t)
{
    struct coir_map *m = coir_heap_alloc(h, sizeof *m);

    if (!m)
        return NULL;
    memset(m, 0, sizeof *m);
    coir_head_init(&m->head, t, 0);
    return m;
}

/* An entry may have no slots: a map of () to (). */
static size_t entries_size(uint32_t cap, uint32_t stride)
{
    return (size_t)cap * (stride ? stride : 1) * sizeof(uint64_t);
}

/* Places, and a bit for each entry. */
static size_t index_size(uint32_t mask, uint32_t cap)
{
    return ((size_t)mask + 1 + (cap + 31) / 32) * sizeof(uint32_t);
}

void coir_map_free(struct coir_heap *h, struct coir_map *m, const struct coir_type *t)
{
    if (m->cap) {
        coir_heap_free(h, m->entries, entries_size(m->cap, t->cell_slots));
        coir_heap_free(h, m->index, index_size(m->mask, m->cap));
    }
    coir_heap_free(h, m, sizeof *m);
}

struct coir_map *coir_map_with_room(struct coir_heap *h, const struct coir_type *t, uint32_t entries)
{
    struct coir_map *m = coir_map_new(h, t);
    uint32_t cap = LEAST * 3 / 4, mask = LEAST - 1;

    if (!m || !entries)
        return m;
    for (; cap < entries && cap <= UINT32_MAX / 4; cap *= 2)
        mask = mask * 2 + 1;
    m->entries = cap < entries ? NULL : coir_heap_alloc(h, entries_size(cap, t->cell_slots));
    m->index = m->entries ? coir_heap_alloc(h, index_size(mask, cap)) : NULL;
    if (!m->index) {
        if (m->entries)
            coir_heap_free(h, m->entries, entries_size(cap, t->cell_slots));
        coir_heap_free(h, m, sizeof *m);
        return NULL;
    }
    memset(m->index, 0, index_size(mask, cap));
    m->cap = cap;
    m->mask = mask;
    return m;
}

/* A new entry of that hash, to be filled. */
static uint64_t *add(struct coir_map *m, uint32_t stride, uint32_t hash)
{
    uint32_t at = hash & m->mask;

    while (m->index[at])
        at = (at + 1) & m->mask;
    m->index[at] = index_place(m, hash, m->used);
    m->live++;
    return entry_at(m, stride, m->used++);
}

void coir_map_add(const struct coir_heap *h, struct coir_map *m, const uint64_t *entry)
{
    const struct coir_type *t = &h->types[m->head.type];
    uint64_t *e = add(m, t->cell_slots, key_hash(h, t->key, entry));

    for (uint32_t i = 0; i < t->cell_slots; i++)
        e[i] = entry[i];
}

void coir_map_swap(struct coir_map *a, struct coir_map *b)
{
    const struct coir_map kept = *a;
    const struct coir_counted head = b->head;

    *a = *b;
    a->head = kept.head;
    *b = kept;
    b->head = head;
}

/* All that is there goes into another one, which has room. */
static void add_all(const struct coir_heap *h, struct coir_map *to, const struct coir_map *m)
{
    const uint64_t *entry;

    for (uint64_t at = 0; (entry = coir_map_next(h, m, &at));)
        coir_map_add(h, to, entry);
}

/* Room for one more entry. Where many were removed it may be no more than there was. */
static bool make_room(struct coir_heap *h, struct coir_map *m, const struct coir_type *t)
{
    struct coir_map *grown = coir_map_with_room(h, t, m->live + m->live / 2 + 1);

    if (!grown)
        return false;
    add_all(h, grown, m);
    coir_map_swap(m, grown);
    coir_map_free(h, grown, t);              /* without its entries, which have moved */
    return true;
}

bool coir_map_own(struct coir_heap *h, uint64_t *place)
{
    struct coir_map *m = coir_map_at(*place), *copy;
    const struct coir_type *t = &h->types[m->head.type];

    if (coir_sole(&m->head))
        return true;
    copy = coir_map_with_room(h, t, m->live);
    if (!copy)
        return false;
    add_all(h, copy, m);
    for (uint32_t i = 0; t->deep && i < copy->used; i++)
        coir_hold_slots(t->cell, t->cell_slots, entry_at(copy, t->cell_slots, i));
    h->copies++;
    *place = coir_slot_of(copy);
    coir_drop(h, &m->head);
    return true;
}

/* ---- changing ---- */

bool coir_map_put(struct coir_heap *h, struct coir_map *m, const uint64_t *key, const uint64_t *value)
{
    const struct coir_type *t = &h->types[m->head.type];
    const uint32_t keys = t->key->slots, values = t->element->slots, hash = key_hash(h, t->key, key);
    uint64_t *e = find_hashed(m, t, key, hash);

    if (e) {
        uint64_t before[COIR_VALUE_SLOTS];

        memcpy(before, e + keys, values * sizeof *e);
        memcpy(e + keys, value, values * sizeof *e);
        coir_drop_value(h, t->element, before);
        coir_drop_value(h, t->key, key);
        return true;
    }
    if (m->used == m->cap && !make_room(h, m, t))
        return false;
    e = add(m, t->cell_slots, hash);
    for (uint32_t i = 0; i < keys; i++)
        e[i] = key[i];
    for (uint32_t i = 0; i < values; i++)
        e[keys + i] = value[i];
    return true;
}

bool coir_map_remove(struct coir_heap *h, struct coir_map *m, const uint64_t *key, uint64_t *value)
{
    const struct coir_type *t = &h->types[m->head.type];
    uint32_t number;
    uint64_t *e = m->live ? find(m, t, key, key_hash(h, t->key, key), &number) : NULL;
    uint64_t gone[COIR_VALUE_SLOTS];

    if (!e)
        return false;
    gone_bits(m)[number / 32] |= UINT32_C(1) << number % 32;
    m->live--;
    memcpy(gone, e, t->key->slots * sizeof *e);
    memcpy(value, e + t->key->slots, t->element->slots * sizeof *e);
    if (!m->live) {                          /* empty: it begins anew, so that a queue does not run full */
        m->used = 0;
        memset(m->index, 0, index_size(m->mask, m->cap));
    }
    coir_drop_value(h, t->key, gone);
    return true;
}
