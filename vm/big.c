/* SPDX-License-Identifier: MIT */
/*
 * Long work on lists and maps, in slices. See big.h.
 *
 * Until its last slice the old one stays as it is, whole and valid, and what is being made is nobody's but the
 * scratch's: so a fiber that is cut between two slices loses the new one and nothing else. Nobody changes the old one
 * meanwhile: the place belongs to this fiber, and other holders copy before they change anything.
 */
#include "vm/big.h"

#include "vm/native.h"

/* ---- lists ---- */

struct list_copy {
    struct coir_list *copy;
};

static void cut_list(struct coir_fiber *f, void *scratch)
{
    struct list_copy *s = scratch;

    if (s->copy)
        coir_drop(f->heap, &s->copy->head);
}

enum coir_native_result coir_big_list_copy(struct coir_fiber *f, uint64_t *place)
{
    struct coir_list *l = coir_list_at(*place), *copy;
    const struct coir_type *t = &f->heap->types[l->head.type];
    struct list_copy *s = coir_scratch(f, sizeof *s, cut_list);
    size_t end;

    if (s && !s->copy)
        s->copy = coir_list_new(f->heap, t, l->len + l->len / 8 + 1);
    if (!s || !s->copy)
        return coir_trap_memory(f);
    copy = s->copy;
    end = copy->len + COIR_BIG_SLOTS / t->cell_slots + 1;
    if (end > l->len)
        end = l->len;
    memcpy(coir_list_slot(copy, copy->len, t->cell_slots), coir_list_slot(l, copy->len, t->cell_slots),
           (end - copy->len) * t->cell_slots * sizeof(uint64_t));
    for (; t->deep && copy->len < end; copy->len++)
        coir_hold_slots(t->cell, t->cell_slots, coir_list_slot(copy, copy->len, t->cell_slots));
    copy->len = end;
    if (end < l->len)
        return COIR_NATIVE_MORE;
    s->copy = NULL;
    f->heap->copies++;
    *place = coir_slot_of(copy);
    coir_drop(f->heap, &l->head);
    return COIR_NATIVE_DONE;
}

/* ---- maps ---- */

struct map_copy {
    struct coir_map *copy;
    uint32_t at;                        /* entries of the old one that are done */
};

static void cut_map(struct coir_fiber *f, void *scratch)
{
    struct map_copy *s = scratch;

    if (s->copy)
        coir_drop(f->heap, &s->copy->head);
}

static void cut_rebuilt(struct coir_fiber *f, void *scratch)
{
    struct map_copy *s = scratch;

    if (s->copy) {
        s->copy->used = 0;                   /* what is in it belongs to the old one */
        coir_map_free(f->heap, s->copy, &f->heap->types[s->copy->head.type]);
    }
}

/* Some more entries into the new one. True: all of them. */
static bool move_entries(struct coir_fiber *f, struct map_copy *s, const struct coir_map *m, const struct coir_type *t,
                         bool held)
{
    const uint32_t end = m->used - s->at > COIR_BIG_ENTRIES / 2 ? s->at + COIR_BIG_ENTRIES / 2 : m->used;

    for (; s->at < end; s->at++) {
        const uint64_t *e = m->entries + (size_t)s->at * t->cell_slots;

        if (coir_map_is_gone(m, s->at))
            continue;
        coir_map_add(f->heap, s->copy, e);
        if (held && t->deep)
            coir_hold_slots(t->cell, t->cell_slots, e);
    }
    return end == m->used;
}

enum coir_native_result coir_big_map_copy(struct coir_fiber *f, uint64_t *place)
{
    struct coir_map *m = coir_map_at(*place);
    const struct coir_type *t = &f->heap->types[m->head.type];
    struct map_copy *s = coir_scratch(f, sizeof *s, cut_map);

    if (s && !s->copy)
        s->copy = coir_map_with_room(f->heap, t, m->live + 1);
    if (!s || !s->copy)
        return coir_trap_memory(f);
    if (!move_entries(f, s, m, t, true))
        return COIR_NATIVE_MORE;
    f->heap->copies++;
    *place = coir_slot_of(s->copy);
    s->copy = NULL;
    coir_drop(f->heap, &m->head);
    return COIR_NATIVE_DONE;
}

enum coir_native_result coir_big_map_grow(struct coir_fiber *f, uint64_t *place)
{
    struct coir_map *m = coir_map_at(*place);
    const struct coir_type *t = &f->heap->types[m->head.type];
    struct map_copy *s = coir_scratch(f, sizeof *s, cut_rebuilt);

    if (s && !s->copy)
        s->copy = coir_map_with_room(f->heap, t, m->live + m->live / 2);
    if (!s || !s->copy)
        return coir_trap_memory(f);
    if (!move_entries(f, s, m, t, false))
        return COIR_NATIVE_MORE;
    coir_map_swap(m, s->copy);
    cut_rebuilt(f, s);
    s->copy = NULL;
    return COIR_NATIVE_DONE;
}
