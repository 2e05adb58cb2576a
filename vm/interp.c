/* SPDX-License-Identifier: MIT */
/*
 * The interpreter. The loop is in interp_loop.h; here is what it does more than once, and the choice between its two
 * forms.
 */
/* Global elimination of common parts would carry operands and the table of labels from one instruction to the next, and
 * spill for it; and pairs of the loop's variables would be kept in vectors, since they are saved side by side. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-gcse", "no-tree-slp-vectorize")
#endif

#include <math.h>

#include "vm/big.h"
#include "vm/globals.h"
#include "vm/machine.h"
#include "vm/scratch.h"

const uint64_t coir_end_code[2] = { 0, COIR_OP_END };

static inline double as_float(uint64_t word)
{
    double x;

    memcpy(&x, &word, sizeof x);
    return x;
}

static inline uint64_t as_word(double x)
{
    uint64_t word;

    memcpy(&word, &x, sizeof word);
    return word;
}

/* The nearest Int. */
static int64_t to_int(double x)
{
    if (x != x)
        return 0;
    if (x >= 9223372036854775808.0)
        return INT64_MAX;
    return x < -9223372036854775808.0 ? INT64_MIN : (int64_t)x;
}

static inline uint64_t *place(uint64_t word)
{
    return (uint64_t *)(uintptr_t)word;
}

static inline void copy_slots(uint64_t *to, const uint64_t *from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        to[i] = from[i];
}

/* Words that follow an instruction and are none. */
static inline unsigned further_words(uint64_t w)
{
    return COIR_I_OP(w) == COIR_OP_SELECT ? COIR_I_C(w) : coir_ops[COIR_I_OP(w)].flags & COIR_EXTENDS ? 1 : 0;
}

/* Whether 0 is a value of a slot of a record, payload or closure. */
static bool nullable(const struct coir_heap *h, const struct coir_counted *c, uint32_t slot)
{
    const struct coir_type *t = &h->types[c->type];

    switch (t->kind) {
    case COIR_TYPE_SUM:
        return t->variants[c->aux].layout[slot].nullable;
    case COIR_TYPE_FUNC:
        return h->functions[c->aux].capture_layout[slot].nullable;
    default:
        return t->cell[slot].nullable;
    }
}

static bool element_nullable(const struct coir_heap *h, const struct coir_counted *c, uint32_t slot)
{
    return h->types[c->type].cell[slot].nullable;
}

/* Copies slots, held once more or lent. False: one has been taken out, and nothing is done. */
static bool get_slots(const struct coir_slot *layout, uint32_t n, const uint64_t *from, uint64_t *to, bool held)
{
    for (uint32_t i = 0; i < n; i++) {
        if (layout[i].ref && !layout[i].nullable && !from[i])
            return false;
    }
    if (held)
        coir_hold_slots(layout, n, from);
    copy_slots(to, from, n);
    return true;
}

static inline bool get_element(const struct coir_heap *h, const struct coir_list *l, size_t i, uint64_t *to, bool held)
{
    const struct coir_type *t = &h->types[l->head.type];

    if (!held && t->cell_slots == 1 && __builtin_expect(l->data[i] != 0, 1)) {
        *to = l->data[i];                    /* a row of a table, most often */
        return true;
    }
    return get_slots(t->cell, t->cell_slots, coir_list_slot(l, i, t->cell_slots), to, held);
}

static void set_element(struct coir_heap *h, struct coir_list *l, size_t i, uint64_t *from)
{
    const struct coir_type *t = &h->types[l->head.type];
    uint64_t *at = coir_list_slot(l, i, t->cell_slots);

    for (uint32_t s = 0; s < t->cell_slots; s++) {
        const uint64_t old = at[s];

        at[s] = from[s];
        if (t->cell[s].ref) {
            from[s] = 0;
            if (old)
                coir_drop(h, coir_ref(old));
        }
    }
}

static inline void push(const struct coir_heap *h, struct coir_list *l, uint64_t *from)
{
    const struct coir_type *t = &h->types[l->head.type];
    uint64_t *at = coir_list_slot(l, l->len++, t->cell_slots);

    for (uint32_t s = 0; s < t->cell_slots; s++) {
        at[s] = from[s];
        if (t->cell[s].ref)
            from[s] = 0;
    }
}

static bool get_value(const struct coir_heap *h, const struct coir_map *m, const uint64_t *value, uint64_t *to,
                      bool held)
{
    const struct coir_type *t = h->types[m->head.type].element;

    return get_slots(t->layout, t->slots, value, to, held);
}

static bool get_optional(const struct coir_heap *h, const struct coir_map *m, const uint64_t *key, uint64_t *to)
{
    const struct coir_type *t = h->types[m->head.type].element;
    const uint64_t *value = coir_map_find(h, m, key);
    const bool tagged = !coir_type_is_ref(t);

    if (value && !get_slots(t->layout, t->slots, value, to + tagged, true))
        return false;
    if (!value)
        memset(to, 0, (t->slots + tagged) * sizeof *to);
    else if (tagged)
        to[0] = 1;
    return true;
}

static bool get_entry(const struct coir_heap *h, const struct coir_map *m, const uint64_t *entry, uint64_t *to,
                      bool held)
{
    const struct coir_type *t = &h->types[m->head.type];

    return get_slots(t->cell, t->cell_slots, entry, to, held);
}

/* Puts a value that is moved under a key that is copied. False: no memory, and nothing is done. */
static bool put(struct coir_heap *h, struct coir_map *m, const uint64_t *key, uint64_t *value)
{
    const struct coir_type *t = &h->types[m->head.type];

    coir_hold_value(t->key, key);
    if (!coir_map_put(h, m, key, value)) {
        coir_drop_value(h, t->key, key);
        return false;
    }
    for (uint32_t s = 0; s < t->element->slots; s++) {
        if (t->element->layout[s].ref)
            value[s] = 0;
    }
    return true;
}

static void trap_key(struct coir_fiber *f, struct coir_heap *h, const struct coir_map *m, const uint64_t *key)
{
    const struct coir_type *t = h->types[m->head.type].key;

    if (t->kind == COIR_TYPE_TEXT) {
        const struct coir_text *text = coir_text_at(key[0]);

        coir_trap(f, COIR_TRAP_KEY, "no key \"%.*s\"", text->len < 100 ? (int)text->len : 100, text->bytes);
    } else if (t->kind == COIR_TYPE_INT) {
        coir_trap(f, COIR_TRAP_KEY, "no key %lld", (long long)key[0]);
    } else {
        coir_trap(f, COIR_TRAP_KEY, "no such key");
    }
}

#define LOOP_NAME by_switch
#include "vm/interp_loop.h"
#undef LOOP_NAME

#define THREADED 1
#define LOOP_NAME by_labels
#include "vm/interp_loop.h"
#undef LOOP_NAME

enum coir_stop coir_interpret(struct coir_fiber *f)
{
    return f->vm->by_switch ? by_switch(f) : by_labels(f);
}
