/* SPDX-License-Identifier: MIT */
/*
 * Natives of lists, and of optionals. Elements are moved and held slot by slot, as their type says; what changes a list
 * makes the caller its only holder first. Looking for an element compares in slices: it may be as deep as it likes.
 */
#include "vm/natives/standard.h"
#include "vm/natives/utf8.h"
#include "vm/walk.h"

enum { SLOTS_A_STEP = 4 };

static const struct coir_type *element_of(const struct coir_fiber *f)
{
    return coir_param_type(f, 0)->element;
}

/* An optional of `t`, from its slots or nil. */
static void give_optional(const struct coir_type *t, uint64_t *r, const uint64_t *from)
{
    const uint32_t tag = coir_type_is_ref(t) ? 0 : 1;
    uint64_t saved[COIR_VALUE_SLOTS];

    if (from)
        memcpy(saved, from, t->slots * sizeof *saved);      /* it may lie where the result goes */
    else
        memset(saved, 0, t->slots * sizeof *saved);
    if (tag)
        r[0] = from != NULL;
    memcpy(r + tag, saved, t->slots * sizeof *saved);
}

/* A copy of element i, or nil. */
static enum coir_native_result give_element(struct coir_fiber *f, uint64_t *r, const struct coir_list *l, bool there,
                                            size_t i)
{
    const struct coir_type *const t = element_of(f);
    const uint64_t *const at = there ? coir_list_slot(l, i, t->slots) : NULL;

    if (at)
        coir_hold_value(t, at);
    give_optional(t, r, at);
    return COIR_NATIVE_DONE;
}

/* ---- reading ---- */

static enum coir_native_result list_len(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    r[0] = coir_list_at(r[0])->len;
    return COIR_NATIVE_DONE;
}

static enum coir_native_result list_get(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_list *const l = coir_list_at(r[0]);

    return give_element(f, r, l, r[1] < l->len, r[1]);
}

static enum coir_native_result list_first(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_list *const l = coir_list_at(r[0]);

    return give_element(f, r, l, l->len > 0, 0);
}

static enum coir_native_result list_last(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_list *const l = coir_list_at(r[0]);

    return give_element(f, r, l, l->len > 0, l->len - 1);
}

static enum coir_native_result give_list(struct coir_fiber *f, uint64_t *r, struct coir_list *l)
{
    if (!l)
        return coir_trap_memory(f);
    coir_charge(f, l->len * element_of(f)->slots / SLOTS_A_STEP);
    r[0] = coir_slot_of(l);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result part(struct coir_fiber *f, uint64_t *r, bool inclusive)
{
    const struct coir_list *const l = coir_list_at(r[0]);
    size_t from, to;

    if (!coir_part_of((int64_t)r[1], (int64_t)r[2], inclusive, l->len, &from, &to))
        return coir_trap_part(f, (int64_t)r[1], (int64_t)r[2], inclusive, l->len);
    return give_list(f, r, coir_list_slice(f->heap, l, from, to));
}

static enum coir_native_result list_part(struct coir_fiber *f, uint64_t *r)
{
    return part(f, r, false);
}

static enum coir_native_result list_part_to(struct coir_fiber *f, uint64_t *r)
{
    return part(f, r, true);
}

static enum coir_native_result list_slice(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_list *const l = coir_list_at(r[0]);
    const size_t a = coir_clamp((int64_t)r[1], l->len), b = coir_clamp((int64_t)r[2], l->len);

    return give_list(f, r, coir_list_slice(f->heap, l, a, a < b ? b : a));
}

static enum coir_native_result list_take(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_list *const l = coir_list_at(r[0]);

    return give_list(f, r, coir_list_slice(f->heap, l, 0, coir_clamp((int64_t)r[1], l->len)));
}

/* ---- looking for an element ---- */

struct search {
    struct coir_walk walk;
    size_t at;
    bool walking;
};

static void search_cut(struct coir_fiber *f, void *scratch)
{
    (void)f;
    coir_walk_end(&((struct search *)scratch)->walk);
}

enum { WALK_STEPS = 4000 };

/* *at: where it is, SIZE_MAX if nowhere. */
static enum coir_native_result look_for(struct coir_fiber *f, const uint64_t *r, size_t *at)
{
    const struct coir_type *const t = element_of(f);
    const struct coir_list *const l = coir_list_at(r[0]);
    struct search *const s = coir_scratch(f, sizeof *s, search_cut);
    size_t left = WALK_STEPS;
    bool equal;

    if (!s)
        return coir_trap_memory(f);
    if (!s->walking && s->at == 0)
        coir_walk_init(&s->walk, f->heap);
    for (; s->at < l->len; s->at++, left--) {
        enum coir_walked walked = COIR_WALK_NO_MEMORY;

        if (left == 0)
            return COIR_NATIVE_MORE;
        if (s->walking || coir_walk_begin(&s->walk, t, coir_list_slot(l, s->at, t->slots), r + 1))
            walked = coir_walk_equal(&s->walk, WALK_STEPS, &equal);
        s->walking = walked == COIR_WALK_MORE;
        if (s->walking)
            return COIR_NATIVE_MORE;
        if (walked == COIR_WALK_NO_MEMORY) {
            coir_walk_end(&s->walk);
            return coir_trap_memory(f);
        }
        if (equal)
            break;
    }
    coir_walk_end(&s->walk);
    coir_charge(f, WALK_STEPS - left);
    *at = s->at < l->len ? s->at : SIZE_MAX;
    return COIR_NATIVE_DONE;
}

static enum coir_native_result list_contains(struct coir_fiber *f, uint64_t *r)
{
    size_t at;
    const enum coir_native_result result = look_for(f, r, &at);

    if (result == COIR_NATIVE_DONE)
        r[0] = at != SIZE_MAX;
    return result;
}

static enum coir_native_result list_index_of(struct coir_fiber *f, uint64_t *r)
{
    size_t at;
    const enum coir_native_result result = look_for(f, r, &at);

    if (result == COIR_NATIVE_DONE) {
        r[0] = at != SIZE_MAX;
        r[1] = at != SIZE_MAX ? at : 0;
    }
    return result;
}

/* ---- changing ---- */

static enum coir_native_result list_push(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_type *const t = element_of(f);
    struct coir_list *l;

    if (!coir_list_own(f->heap, &r[0], 1))
        return coir_trap_memory(f);
    l = coir_list_at(r[0]);
    memcpy(coir_list_slot(l, l->len++, t->slots), r + 1, t->slots * sizeof *r);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result list_pop(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_type *const t = element_of(f);
    struct coir_list *l = coir_list_at(r[0]);

    if (l->len == 0) {
        give_optional(t, r + 1, NULL);
        return COIR_NATIVE_DONE;
    }
    if (!coir_list_own(f->heap, &r[0], 0))
        return coir_trap_memory(f);
    l = coir_list_at(r[0]);
    l->len--;
    give_optional(t, r + 1, coir_list_slot(l, l->len, t->slots));
    return COIR_NATIVE_DONE;
}

static enum coir_native_result list_insert(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_type *const t = element_of(f);
    const size_t len = coir_list_at(r[0])->len, at = r[1];

    if (at > len)
        return coir_trap_index(f, (int64_t)at, len);
    if (!coir_list_own(f->heap, &r[0], 1))
        return coir_trap_memory(f);
    coir_charge(f, (len - at) * t->slots / SLOTS_A_STEP);
    coir_list_insert_at(f->heap, coir_list_at(r[0]), at, r + 2);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result list_remove(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_type *const t = element_of(f);
    const size_t len = coir_list_at(r[0])->len, at = r[1];

    if (at >= len)
        return coir_trap_index(f, (int64_t)at, len);
    if (!coir_list_own(f->heap, &r[0], 0))
        return coir_trap_memory(f);
    coir_charge(f, (len - at) * t->slots / SLOTS_A_STEP);
    coir_list_remove_at(f->heap, coir_list_at(r[0]), at, r + 1);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result list_reverse(struct coir_fiber *f, uint64_t *r)
{
    const uint32_t n = element_of(f)->slots;
    struct coir_list *l;

    if (!coir_list_own(f->heap, &r[0], 0))
        return coir_trap_memory(f);
    l = coir_list_at(r[0]);
    coir_charge(f, l->len * n / SLOTS_A_STEP);
    for (size_t a = 0, b = l->len; a + 1 < b; a++) {
        b--;
        for (uint32_t i = 0; i < n; i++) {
            const uint64_t slot = l->data[a * n + i];

            l->data[a * n + i] = l->data[b * n + i];
            l->data[b * n + i] = slot;
        }
    }
    return COIR_NATIVE_DONE;
}

/* What b has, held once more, behind what *place has; b may be the same list. False: no memory. */
static bool append(struct coir_fiber *f, uint64_t *place, const struct coir_list *b, const struct coir_type *t)
{
    const size_t n = b->len;
    struct coir_list *l;

    if (!coir_list_own(f->heap, place, n))
        return false;
    l = coir_list_at(*place);
    for (size_t i = 0; i < n && !t->flat; i++)
        coir_hold_value(t, coir_list_slot(b, i, t->slots));
    if (n)
        memcpy(coir_list_slot(l, l->len, t->slots), b->data, n * t->slots * sizeof *b->data);
    l->len += n;
    coir_charge(f, n * t->slots / SLOTS_A_STEP);
    return true;
}

static enum coir_native_result list_append(struct coir_fiber *f, uint64_t *r)
{
    return append(f, &r[0], coir_list_at(r[1]), element_of(f)) ? COIR_NATIVE_DONE : coir_trap_memory(f);
}

static enum coir_native_result list_joined(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_list *const a = coir_list_at(r[0]), *const b = coir_list_at(r[1]);
    struct coir_list *const made = coir_list_new(f->heap, coir_param_type(f, 0), a->len + b->len);
    uint64_t place = coir_slot_of(made);

    if (!made)
        return coir_trap_memory(f);
    if (!append(f, &place, a, element_of(f)) || !append(f, &place, b, element_of(f))) {
        coir_drop(f->heap, coir_ref(place));
        return coir_trap_memory(f);
    }
    r[0] = place;
    return COIR_NATIVE_DONE;
}

/* ---- optionals ---- */

static enum coir_native_result option_take(struct coir_fiber *f, uint64_t *r)
{
    const uint32_t n = coir_param_type(f, 0)->slots;

    memcpy(r + n, r, n * sizeof *r);
    memset(r, 0, n * sizeof *r);
    return COIR_NATIVE_DONE;
}

static const struct coir_native natives[] = {
    { "List.len", "fn len[T](self: List[T]) -> Int", list_len },
    { "List.get", "fn get[T](self: List[T], i: Int) -> T?", list_get },
    { "List.first", "fn first[T](self: List[T]) -> T?", list_first },
    { "List.last", "fn last[T](self: List[T]) -> T?", list_last },
    { "List.part", "fn part[T](self: List[T], a: Int, b: Int) -> List[T]", list_part },
    { "List.part_to", "fn part_to[T](self: List[T], a: Int, b: Int) -> List[T]", list_part_to },
    { "List.slice", "fn slice[T](self: List[T], a: Int, b: Int) -> List[T]", list_slice },
    { "List.take", "fn take[T](self: List[T], n: Int) -> List[T]", list_take },
    { "List.contains", "fn contains[T](self: List[T], x: T) -> Bool", list_contains },
    { "List.index_of", "fn index_of[T](self: List[T], x: T) -> Int?", list_index_of },
    { "List.push", "fn push[T](mut self: List[T], own x: T)", list_push },
    { "List.pop", "fn pop[T](mut self: List[T]) -> T?", list_pop },
    { "List.insert", "fn insert[T](mut self: List[T], i: Int, own x: T)", list_insert },
    { "List.remove", "fn remove[T](mut self: List[T], i: Int) -> T", list_remove },
    { "List.reverse", "fn reverse[T](mut self: List[T])", list_reverse },
    { "List.append", "fn append[T](mut self: List[T], more: List[T])", list_append },
    { "List.joined", "fn joined[T](self: List[T], more: List[T]) -> List[T]", list_joined },
    { "Option.take", "fn take[T](mut self: T?) -> T?", option_take },
};
const struct coir_natives coir_list_natives = { natives, sizeof natives / sizeof *natives, NULL, 0 };
