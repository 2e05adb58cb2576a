/* SPDX-License-Identifier: MIT */
/*
 * Crossing. See cross.h.
 *
 * A step of the worklist is a run of slots. Each reference in it is looked at once:
 *
 *     nil, immortal, counted atomically   it may cross as it is
 *     held once, by this slot             it stays; its own slots become a step
 *     an original that has been copied    the slot refers to the copy too
 *     another                             it is copied, and what the copy refers to is held once more; the slot
 *                                         refers to the copy, whose slots become a step
 *
 * An original that was copied is held by the memo until the end. So it is never taken for one that is held once, when
 * all others of the value have let go of it; and its address is no other cell's. What the memo need not know: of a
 * copied cell, a child that is held by the original and the copy alone. Nobody else of the value can come to it, since
 * the original is not looked at again.
 *
 * A cell that is held more than once is changed by nobody, and one that is held once by this value by nobody else: so
 * between two slices nothing that is left to be looked at changes, but that others may let go of it.
 *
 * The last reference of a step takes the step's place, so that a chain of a million cells needs no more than one.
 */
#include "vm/cross.h"

#include "vm/list.h"
#include "vm/map.h"
#include "vm/text.h"

enum { BYTES_A_STEP = 256, SLOTS_A_STEP = 16, LEAST_ROOM = 8, LEAST_PLACES = 16, MOVED_A_PAIR = 4 };

void coir_cross_init(struct coir_crossing *x, struct coir_heap *h)
{
    memset(x, 0, sizeof *x);
    x->heap = h;
}

/* ---- the worklist ---- */

/* Goes to the next reference of this element; false: there is none left in it. */
static bool settle(struct coir_cross_step *s)
{
    while (s->at < s->n && !(s->layout[s->at].ref && s->slots[s->at]))
        s->at++;
    return s->at < s->n;
}

static void next_element(struct coir_cross_step *s)
{
    s->left--;
    s->entry++;
    s->slots += s->n;
    s->at = s->map && coir_map_is_gone(s->map, s->entry) ? s->n : 0;
}

/* False: no memory. */
static bool push(struct coir_crossing *x, struct coir_cross_step step)
{
    if (!settle(&step) && !step.left)
        return true;
    if (x->depth == x->room) {
        const size_t room = x->room ? x->room * 2 : LEAST_ROOM;
        struct coir_cross_step *steps = coir_heap_resize(x->heap, x->steps, x->room * sizeof *steps,
                                                         room * sizeof *steps);

        if (!steps)
            return false;
        x->steps = steps;
        x->room = room;
    }
    x->steps[x->depth++] = step;
    return true;
}

bool coir_cross_add(struct coir_crossing *x, const struct coir_type *t, uint64_t *slots)
{
    return t->flat || push(x, (struct coir_cross_step){ .layout = t->layout, .slots = slots, .n = t->slots });
}

static bool push_list(struct coir_crossing *x, const struct coir_type *t, const struct coir_list *l, bool copied)
{
    if (!t->deep || !l->len)
        return true;
    return push(x, (struct coir_cross_step){ .layout = t->cell, .slots = l->data, .n = t->cell_slots,
                                             .left = l->len - 1, .copied = copied });
}

static bool push_map(struct coir_crossing *x, const struct coir_type *t, const struct coir_map *m, bool copied)
{
    if (!t->deep || !m->used)
        return true;
    return push(x, (struct coir_cross_step){ .layout = t->cell, .slots = m->entries, .n = t->cell_slots, .map = m,
                                             .at = coir_map_is_gone(m, 0) ? t->cell_slots : 0,
                                             .left = m->used - 1, .copied = copied });
}

static bool push_box(struct coir_crossing *x, struct coir_box *box, bool copied)
{
    uint32_t n;
    const struct coir_slot *layout = coir_box_layout(x->heap, box, &n);

    return push(x, (struct coir_cross_step){ .layout = layout, .slots = box->slots, .n = n, .copied = copied });
}

/* What a cell refers to is to be looked at. False: no memory. */
static bool push_cell(struct coir_crossing *x, struct coir_counted *c, bool copied)
{
    const struct coir_type *t = &x->heap->types[c->type];

    switch (t->kind) {
    case COIR_TYPE_TEXT:
        return true;
    case COIR_TYPE_LIST:
        return push_list(x, t, (struct coir_list *)c, copied);
    case COIR_TYPE_MAP:
        return push_map(x, t, (struct coir_map *)c, copied);
    default:
        return push_box(x, (struct coir_box *)c, copied);
    }
}

/* ---- what has been copied ---- */

static size_t place_of(const struct coir_cross_memo *m, const struct coir_counted *from)
{
    size_t at = (size_t)coir_hash_mix((uintptr_t)from, m->room) & (m->room - 1);

    while (m->places[at].from && m->places[at].from != from)
        at = (at + 1) & (m->room - 1);
    return at;
}

static struct coir_counted *find(const struct coir_crossing *x, const struct coir_counted *from)
{
    struct coir_counted *to = x->memo.used ? x->memo.places[place_of(&x->memo, from)].to : NULL;

    return to || !x->before.used ? to : x->before.places[place_of(&x->before, from)].to;
}

static void put(struct coir_cross_memo *m, struct coir_cross_pair pair)
{
    m->places[place_of(m, pair.from)] = pair;
    m->used++;
}

static void free_memo(struct coir_heap *h, struct coir_cross_memo *m)
{
    if (m->room)
        coir_heap_free(h, m->places, m->room * sizeof *m->places);
    *m = (struct coir_cross_memo){ 0 };
}

/* Room for one more pair. A table that takes over another has room for twice as many, so the other is empty long before
 * it is full itself; what is found in neither place meanwhile is in none. False: no memory. */
static bool memo_room(struct coir_crossing *x)
{
    struct coir_cross_memo larger = { .room = x->memo.room ? x->memo.room * 4 : LEAST_PLACES };

    if (x->memo.used + 1 <= x->memo.room / 2)
        return true;
    larger.places = coir_heap_alloc(x->heap, larger.room * sizeof *larger.places);
    if (!larger.places)
        return false;
    memset(larger.places, 0, larger.room * sizeof *larger.places);
    free_memo(x->heap, &x->before);
    x->before = x->memo;
    x->memo = larger;
    x->moved = 0;
    return true;
}

static void remember(struct coir_crossing *x, struct coir_counted *from, struct coir_counted *to)
{
    put(&x->memo, (struct coir_cross_pair){ from, to });
    for (int i = 0; i < MOVED_A_PAIR && x->moved < x->before.room; i++, x->moved++) {
        if (x->before.places[x->moved].from)
            put(&x->memo, x->before.places[x->moved]);
    }
}

/* The originals of a table are let go, from place `at` on. */
static size_t forget(struct coir_heap *h, struct coir_cross_memo *m, size_t at, size_t most)
{
    for (; at < m->room && most; at++, most--) {
        if (m->places[at].from)
            coir_drop(h, m->places[at].from);
        m->places[at].from = NULL;
    }
    if (at == m->room) {
        free_memo(h, m);
        return 0;
    }
    return at;
}

/* When nothing is left to be looked at. True: all are. `moved` counts as it did: what is before it in `before` is in
 * the other table too. */
static bool forget_all(struct coir_crossing *x, size_t most)
{
    if (x->before.room) {
        x->moved = forget(x->heap, &x->before, x->moved, most);
        return !x->before.room && !x->memo.room;
    }
    x->moved = forget(x->heap, &x->memo, x->moved, most);
    return !x->memo.room;
}

/* ---- copying ---- */

static struct coir_counted *begin_copy(struct coir_heap *h, const struct coir_counted *c)
{
    const struct coir_type *t = &h->types[c->type];
    struct coir_counted *copy;

    switch (t->kind) {
    case COIR_TYPE_TEXT:
        copy = (struct coir_counted *)coir_text_new(h, ((const struct coir_text *)c)->len);
        if (copy)
            copy->aux = c->aux;
        return copy;
    case COIR_TYPE_LIST:
        return (struct coir_counted *)coir_list_new(h, t, ((const struct coir_list *)c)->len);
    case COIR_TYPE_MAP:
        return (struct coir_counted *)coir_map_with_room(h, t, ((const struct coir_map *)c)->live);
    default:
        return (struct coir_counted *)coir_box_copy(h, (const struct coir_box *)c);
    }
}

/* How many of `n` there are time for, if one step does `each` of them; those steps are taken off. */
static size_t part(size_t n, size_t each, size_t *most)
{
    const size_t steps = n / each + 1;

    if (steps > *most) {
        n = *most * each;
        *most = 0;
        return n;
    }
    *most -= steps;
    return n;
}

static bool copy_text(struct coir_crossing *x, size_t *most)
{
    const struct coir_text *from = (const struct coir_text *)x->copying.from;
    struct coir_text *to = (struct coir_text *)x->copying.to;
    const size_t n = part(from->len - x->copying.at, BYTES_A_STEP, most);

    memcpy(to->bytes + x->copying.at, from->bytes + x->copying.at, n);
    x->copying.at += n;
    return x->copying.at == from->len;
}

static bool copy_list(struct coir_crossing *x, const struct coir_type *t, size_t *most)
{
    const struct coir_list *from = (const struct coir_list *)x->copying.from;
    struct coir_list *to = (struct coir_list *)x->copying.to;
    const uint32_t stride = t->cell_slots;
    const size_t end = to->len + part(from->len - to->len, 1 + SLOTS_A_STEP / (stride + 1), most);

    if (stride && end > to->len)      /* an empty one may have no memory */
        memcpy(coir_list_slot(to, to->len, stride), coir_list_slot(from, to->len, stride),
               (end - to->len) * stride * sizeof(uint64_t));
    for (; t->deep && to->len < end; to->len++)
        coir_hold_slots(t->cell, stride, coir_list_slot(to, to->len, stride));
    to->len = end;
    return end == from->len;
}

static bool copy_map(struct coir_crossing *x, const struct coir_type *t, size_t *most)
{
    const struct coir_map *from = (const struct coir_map *)x->copying.from;
    struct coir_map *to = (struct coir_map *)x->copying.to;
    const size_t end = x->copying.at + part(from->used - x->copying.at, 1, most);

    for (; x->copying.at < end; x->copying.at++) {
        const uint64_t *entry = from->entries + x->copying.at * t->cell_slots;

        if (coir_map_is_gone(from, (uint32_t)x->copying.at))
            continue;
        coir_map_add(x->heap, to, entry);
        if (t->deep)
            coir_hold_slots(t->cell, t->cell_slots, entry);
    }
    return end == from->used;
}

/* A part of it. True: it is whole. Its slots have to be: what is looked at next may refer to the original again. */
static bool continue_copy(struct coir_crossing *x, size_t *most)
{
    const struct coir_type *t = &x->heap->types[x->copying.from->type];

    switch (t->kind) {
    case COIR_TYPE_TEXT:
        return copy_text(x, most);
    case COIR_TYPE_LIST:
        return copy_list(x, t, most);
    case COIR_TYPE_MAP:
        return copy_map(x, t, most);
    default:
        return true;
    }
}

/* The slot's hold of the original goes to the memo, or ends. False: no memory. */
static bool end_copy(struct coir_crossing *x)
{
    struct coir_counted *from = x->copying.from, *to = x->copying.to;
    const enum coir_type_kind kind = (enum coir_type_kind)x->heap->types[from->type].kind;

    x->copying.from = x->copying.to = NULL;
    *x->copying.place = coir_slot_of(to);
    x->heap->copies += kind == COIR_TYPE_TEXT || kind == COIR_TYPE_LIST || kind == COIR_TYPE_MAP;
    if (x->copying.once)
        coir_drop(x->heap, from);
    else
        remember(x, from, to);
    return push_cell(x, to, true);
}

static enum coir_walked copy_on(struct coir_crossing *x, size_t *most)
{
    if (!continue_copy(x, most))
        return COIR_WALK_MORE;
    return end_copy(x) ? COIR_WALK_DONE : COIR_WALK_NO_MEMORY;
}

static enum coir_walked copy(struct coir_crossing *x, uint64_t *place, bool once, size_t *most)
{
    struct coir_counted *from = coir_ref(*place), *to;

    if (!once && !memo_room(x))
        return COIR_WALK_NO_MEMORY;
    to = begin_copy(x->heap, from);
    if (!to)
        return COIR_WALK_NO_MEMORY;
    x->copying.from = from;
    x->copying.to = to;
    x->copying.place = place;
    x->copying.at = 0;
    x->copying.once = once;
    return copy_on(x, most);
}

/* ---- looking ---- */

static enum coir_walked look_at_resource(struct coir_crossing *x, const struct coir_counted *c)
{
    const struct coir_resource *kind = x->heap->types[c->type].resource;
    const int fd = kind->descriptor ? kind->descriptor(c) : -1;

    if (kind->stays) {
        x->stays = kind->stays;
        return COIR_WALK_STAYS;
    }
    if (fd < 0)
        return COIR_WALK_DONE;
    if (x->ndescriptors == x->descriptors_room) {
        const size_t room = x->descriptors_room ? x->descriptors_room * 2 : LEAST_ROOM;
        int *more = coir_heap_resize(x->heap, x->descriptors, x->descriptors_room * sizeof *more, room * sizeof *more);

        if (!more)
            return COIR_WALK_NO_MEMORY;
        x->descriptors = more;
        x->descriptors_room = room;
    }
    x->descriptors[x->ndescriptors++] = fd;
    return COIR_WALK_DONE;
}

/* What is shared by its nature, whether it is counted atomically or not. */
static bool is_handle(const struct coir_type *t)
{
    return t->kind == COIR_TYPE_CHAN || t->kind == COIR_TYPE_TASK || t->kind == COIR_TYPE_ACTOR;
}

static enum coir_walked look(struct coir_crossing *x, uint64_t *place, bool copied, size_t *most)
{
    struct coir_counted *c = coir_ref(*place), *to;
    const int64_t count = coir_count(c);
    const struct coir_type *t;

    if (count <= 0)
        return COIR_WALK_DONE;
    t = &x->heap->types[c->type];
    if (is_handle(t))
        return COIR_WALK_DONE;
    if (t->kind == COIR_TYPE_RESOURCE)
        return look_at_resource(x, c);
    if (count == 1)
        return push_cell(x, c, false) ? COIR_WALK_DONE : COIR_WALK_NO_MEMORY;
    if (copied && count == 2)
        return copy(x, place, true, most);
    to = find(x, c);
    if (!to)
        return copy(x, place, false, most);
    *place = coir_slot_of(to);
    coir_hold(to);
    coir_drop(x->heap, c);
    return COIR_WALK_DONE;
}

/* The next reference. */
static enum coir_walked go_on(struct coir_crossing *x, size_t *most)
{
    struct coir_cross_step *s = &x->steps[x->depth - 1];
    const bool copied = s->copied;
    uint64_t *place;

    --*most;
    if (!settle(s)) {
        if (s->left)
            next_element(s);
        else
            x->depth--;
        return COIR_WALK_DONE;
    }
    place = &s->slots[s->at++];
    if (!settle(s) && !s->left)
        x->depth--;
    return look(x, place, copied, most);
}

enum coir_walked coir_cross(struct coir_crossing *x, size_t most)
{
    while (x->copying.from || x->depth) {
        const enum coir_walked how = !most ? COIR_WALK_MORE : x->copying.from ? copy_on(x, &most) : go_on(x, &most);

        if (how != COIR_WALK_DONE)
            return how;
    }
    return forget_all(x, most) ? COIR_WALK_DONE : COIR_WALK_MORE;
}

void coir_cross_end(struct coir_crossing *x)
{
    struct coir_heap *h = x->heap;

    if (x->copying.to)
        coir_drop(h, x->copying.to);
    while (!forget_all(x, SIZE_MAX))
        ;
    if (x->room)
        coir_heap_free(h, x->steps, x->room * sizeof *x->steps);
    if (x->descriptors_room)
        coir_heap_free(h, x->descriptors, x->descriptors_room * sizeof *x->descriptors);
    coir_cross_init(x, h);
}
