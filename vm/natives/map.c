/* SPDX-License-Identifier: MIT */
/* Natives of maps. Keys are lent, and held once more when they go in; values are moved in and out. */
#include "vm/natives/standard.h"

static const struct coir_type *map_type(const struct coir_fiber *f)
{
    return coir_param_type(f, 0);
}

/* An optional of the value type from slots that are moved, or nil. */
static void give_optional(const struct coir_type *t, uint64_t *r, const uint64_t *from)
{
    const uint32_t tag = coir_type_is_ref(t) ? 0 : 1;

    if (from)
        memmove(r + tag, from, t->slots * sizeof *r);
    else
        memset(r + tag, 0, t->slots * sizeof *r);
    if (tag)
        r[0] = from != NULL;
}

static enum coir_native_result map_len(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    r[0] = coir_map_at(r[0])->live;
    return COIR_NATIVE_DONE;
}

static enum coir_native_result map_has(struct coir_fiber *f, uint64_t *r)
{
    r[0] = coir_map_find(f->heap, coir_map_at(r[0]), r + 1) != NULL;
    return COIR_NATIVE_DONE;
}

static enum coir_native_result map_get(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_type *const t = map_type(f)->element;
    const uint64_t *const value = coir_map_find(f->heap, coir_map_at(r[0]), r + 1);

    if (value)
        coir_hold_value(t, value);
    give_optional(t, r, value);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result map_insert(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_type *const key = map_type(f)->key, *const t = map_type(f)->element;
    uint64_t old[COIR_VALUE_SLOTS];
    uint64_t *there;

    if (!coir_map_own(f->heap, &r[0]))
        return coir_trap_memory(f);
    there = coir_map_find(f->heap, coir_map_at(r[0]), r + 1);
    if (there) {
        memcpy(old, there, t->slots * sizeof *old);
        memcpy(there, r + 1 + key->slots, t->slots * sizeof *old);
        give_optional(t, r + 1, old);
        return COIR_NATIVE_DONE;
    }
    coir_hold_value(key, r + 1);
    if (!coir_map_put(f->heap, coir_map_at(r[0]), r + 1, r + 1 + key->slots)) {
        coir_drop_value(f->heap, key, r + 1);
        return coir_trap_memory(f);
    }
    give_optional(t, r + 1, NULL);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result map_remove(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_type *const t = map_type(f)->element;
    uint64_t value[COIR_VALUE_SLOTS];
    bool there = coir_map_find(f->heap, coir_map_at(r[0]), r + 1) != NULL;

    if (there && !coir_map_own(f->heap, &r[0]))
        return coir_trap_memory(f);
    there = there && coir_map_remove(f->heap, coir_map_at(r[0]), r + 1, value);
    give_optional(t, r + 1, there ? value : NULL);
    return COIR_NATIVE_DONE;
}

/* What each entry has from slot `skip` on, of type t, in a list. */
static enum coir_native_result collect(struct coir_fiber *f, uint64_t *r, const struct coir_type *t, uint32_t skip)
{
    const struct coir_map *const m = coir_map_at(r[0]);
    struct coir_list *const l = coir_list_new(f->heap, coir_result_type(f), m->live);
    uint64_t at = 0, *entry;

    if (!l)
        return coir_trap_memory(f);
    while ((entry = coir_map_next(f->heap, m, &at))) {
        coir_hold_value(t, entry + skip);
        memcpy(coir_list_slot(l, l->len++, t->slots), entry + skip, t->slots * sizeof *entry);
    }
    coir_charge(f, l->len * t->slots / 4);
    r[0] = coir_slot_of(l);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result map_keys(struct coir_fiber *f, uint64_t *r)
{
    return collect(f, r, map_type(f)->key, 0);
}

static enum coir_native_result map_values(struct coir_fiber *f, uint64_t *r)
{
    return collect(f, r, map_type(f)->element, map_type(f)->key->slots);
}

static const struct coir_native natives[] = {
    { "Map.len", "fn len[K, V](self: Map[K, V]) -> Int", map_len },
    { "Map.has", "fn has[K, V](self: Map[K, V], k: K) -> Bool", map_has },
    { "Map.get", "fn get[K, V](self: Map[K, V], k: K) -> V?", map_get },
    { "Map.insert", "fn insert[K, V](mut self: Map[K, V], k: K, own v: V) -> V?", map_insert },
    { "Map.remove", "fn remove[K, V](mut self: Map[K, V], k: K) -> V?", map_remove },
    { "Map.keys", "fn keys[K, V](self: Map[K, V]) -> List[K]", map_keys },
    { "Map.values", "fn values[K, V](self: Map[K, V]) -> List[V]", map_values },
};
const struct coir_natives coir_map_natives = { natives, sizeof natives / sizeof *natives, NULL, 0 };
