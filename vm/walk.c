/* SPDX-License-Identifier: MIT */
/*
 * Walks over values: equality and order. See walk.h; how values are written is in walk_text.c.
 *
 * A step is a value of which `at` parts are behind it. The last part of a value takes the place of its own step, so
 * that a chain of a million cells needs no more than one.
 */
#include "vm/walk_inside.h"

void coir_walk_init(struct coir_walk *w, struct coir_heap *h)
{
    *w = (struct coir_walk){ .heap = h };
}

void coir_walk_end(struct coir_walk *w)
{
    if (w->room)
        coir_heap_free(w->heap, w->steps, w->room * sizeof *w->steps);
    coir_walk_init(w, w->heap);
}

bool coir_walk_push(struct coir_walk *w, const struct coir_type *t, const uint64_t *a, const uint64_t *b)
{
    if (w->depth == w->room) {
        const size_t room = w->room ? w->room * 2 : 8;
        struct coir_walk_step *steps = coir_heap_resize(w->heap, w->steps, w->room * sizeof *steps,
                                                        room * sizeof *steps);

        if (!steps) {
            w->failed = true;
            return false;
        }
        w->steps = steps;
        w->room = room;
    }
    w->steps[w->depth++] = (struct coir_walk_step){ .type = t, .a = a, .b = b };
    return true;
}

bool coir_walk_begin(struct coir_walk *w, const struct coir_type *t, const uint64_t *a, const uint64_t *b)
{
    w->depth = 0;
    w->failed = false;
    return coir_walk_push(w, t, a, b);
}

/* ---- two values side by side ---- */

static int order_of(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int order_of_floats(uint64_t a, uint64_t b)
{
    double x, y;

    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    if (x != x || y != y)
        return (x != x) - (y != y);
    return (x > y) - (x < y);
}

static bool same_floats(uint64_t a, uint64_t b)
{
    double x, y;

    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x == y;
}

/* The next part; the last takes the step's place. */
static void part(struct coir_walk *w, struct coir_walk_step *s, bool last, const struct coir_type *t, const uint64_t *a,
                 const uint64_t *b)
{
    if (last)
        *s = (struct coir_walk_step){ .type = t, .a = a, .b = b };
    else
        coir_walk_push(w, t, a, b);
}

static int fields(struct coir_walk *w, struct coir_walk_step *s, const struct coir_field *field, uint32_t n,
                  const uint64_t *a, const uint64_t *b)
{
    const uint64_t at = s->at++;

    if (at >= n)
        w->depth--;
    else
        part(w, s, at + 1 == n, field[at].type, a + field[at].slot, b + field[at].slot);
    return 0;
}

static int cells(uint64_t a, uint64_t b)
{
    return (a != 0) - (b != 0);
}

static int lists(struct coir_walk *w, struct coir_walk_step *s, bool ordered)
{
    const struct coir_list *a = coir_list_at(s->a[0]), *b = coir_list_at(s->b[0]);
    const uint32_t stride = s->type->cell_slots;
    const uint64_t at = s->at++;
    const size_t shorter = a->len < b->len ? a->len : b->len;

    if (!ordered && a->len != b->len)
        return 1;
    if (at < shorter) {
        part(w, s, at + 1 == a->len && a->len == b->len, s->type->element, coir_list_slot(a, at, stride),
             coir_list_slot(b, at, stride));
        return 0;
    }
    w->depth--;
    return order_of((int64_t)a->len, (int64_t)b->len);
}

/* In any order: what `a` has, `b` has. Ordered by their sizes alone, as nobody asks for more. */
static int maps(struct coir_walk *w, struct coir_walk_step *s)
{
    const struct coir_map *a = coir_map_at(s->a[0]), *b = coir_map_at(s->b[0]);
    const uint64_t *entry, *found;

    if (a->live != b->live)
        return order_of(a->live, b->live);
    entry = coir_map_next(w->heap, a, &s->position);
    if (!entry) {
        w->depth--;
        return 0;
    }
    found = coir_map_find(w->heap, b, entry);
    if (!found)
        return 1;
    part(w, s, false, s->type->element, entry + s->type->key->slots, found);
    return 0;
}

static int optionals(struct coir_walk *w, struct coir_walk_step *s)
{
    const bool tagged = !coir_type_is_ref(s->type->element);
    const int nil = cells(s->a[0], s->b[0]);

    if (nil || !s->a[0]) {
        w->depth--;
        return nil;
    }
    part(w, s, true, s->type->element, s->a + tagged, s->b + tagged);
    return 0;
}

static int sums(struct coir_walk *w, struct coir_walk_step *s)
{
    const struct coir_box *a = (struct coir_box *)coir_ref(s->a[0]), *b = (struct coir_box *)coir_ref(s->b[0]);
    const struct coir_variant *v = &s->type->variants[a->head.aux];

    if (a->head.aux != b->head.aux)
        return order_of(a->head.aux, b->head.aux);
    return fields(w, s, v->fields, v->nfields, a->slots, b->slots);
}

/* One step. Not 0: they differ, in that order. */
static int side_by_side(struct coir_walk *w, bool ordered)
{
    struct coir_walk_step *s = &w->steps[w->depth - 1];
    const struct coir_type *t = s->type;
    const uint64_t *a = s->a, *b = s->b;

    if (t->slots == 1 && t->layout[0].ref && t->kind != COIR_TYPE_OPTIONAL && t->kind != COIR_TYPE_TUPLE
        && (!a[0] || !b[0])) {
        w->depth--;
        return cells(a[0], b[0]);
    }
    switch (t->kind) {
    case COIR_TYPE_LIST:
        return lists(w, s, ordered);
    case COIR_TYPE_MAP:
        return maps(w, s);
    case COIR_TYPE_TUPLE:
        return fields(w, s, t->fields, t->nfields, a, b);
    case COIR_TYPE_OPTIONAL:
        return optionals(w, s);
    case COIR_TYPE_RECORD:
        return fields(w, s, t->fields, t->nfields, ((struct coir_box *)coir_ref(a[0]))->slots,
                      ((struct coir_box *)coir_ref(b[0]))->slots);
    case COIR_TYPE_SUM:
        return sums(w, s);
    default:
        break;
    }
    w->depth--;
    switch (t->kind) {
    case COIR_TYPE_UNIT:
        return 0;
    case COIR_TYPE_TEXT:
        return ordered ? coir_text_compare(coir_text_at(a[0]), coir_text_at(b[0]))
                       : !coir_text_equal(coir_text_at(a[0]), coir_text_at(b[0]));
    case COIR_TYPE_FLOAT:
        return ordered ? order_of_floats(a[0], b[0]) : !same_floats(a[0], b[0]);
    case COIR_TYPE_BOOL:
        return (a[0] != 0) - (b[0] != 0);
    default:
        return order_of((int64_t)a[0], (int64_t)b[0]);
    }
}

static enum coir_walked walk(struct coir_walk *w, size_t most, bool ordered, int *order)
{
    *order = 0;
    while (w->depth && most--) {
        *order = side_by_side(w, ordered);
        if (w->failed)
            return COIR_WALK_NO_MEMORY;
        if (*order)
            return COIR_WALK_DONE;
    }
    return w->depth ? COIR_WALK_MORE : COIR_WALK_DONE;
}

enum coir_walked coir_walk_equal(struct coir_walk *w, size_t most, bool *equal)
{
    int order;
    const enum coir_walked walked = walk(w, most, false, &order);

    *equal = order == 0;
    return walked;
}

enum coir_walked coir_walk_compare(struct coir_walk *w, size_t most, int *order)
{
    return walk(w, most, true, order);
}
