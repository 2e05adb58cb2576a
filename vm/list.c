/* SPDX-License-Identifier: MIT */
/*
 * Lists: room, copies, moving elements about. See list.h.
 */
#include "vm/list.h"

/* The bytes of `cap` elements. False: more than there can be. */
static bool bytes_for(size_t cap, uint32_t stride, size_t *size)
{
    return !__builtin_mul_overflow(cap, stride * sizeof(uint64_t), size) && *size <= SIZE_MAX / 4;
}

struct coir_list *coir_list_new(struct coir_heap *h, const struct coir_type *t, size_t cap)
{
    struct coir_list *l;
    size_t size;

    if (!bytes_for(cap, t->cell_slots, &size))
        return NULL;
    l = coir_heap_alloc(h, sizeof *l);
    if (!l)
        return NULL;
    coir_head_init(&l->head, t, 0);
    l->len = 0;
    l->cap = cap;
    l->data = NULL;
    if (!size)
        return l;
    l->data = coir_heap_alloc(h, size);
    if (l->data)
        return l;
    coir_heap_free(h, l, sizeof *l);
    return NULL;
}

static size_t grown(const struct coir_list *l, size_t room)
{
    const size_t least = l->len + room, more = l->cap + l->cap / 2 + 4;

    return least > more ? least : more;
}

static bool grow(struct coir_heap *h, struct coir_list *l, size_t cap)
{
    const uint32_t stride = h->types[l->head.type].cell_slots;
    size_t size;
    uint64_t *data;

    if (!bytes_for(cap, stride, &size))
        return false;
    if (size) {
        data = coir_heap_resize(h, l->data, l->cap * stride * sizeof(uint64_t), size);
        if (!data)
            return false;
        l->data = data;
    }
    l->cap = cap;
    return true;
}

struct coir_list *coir_list_slice(struct coir_heap *h, const struct coir_list *l, size_t from, size_t to)
{
    const struct coir_type *t = &h->types[l->head.type];
    struct coir_list *copy = coir_list_new(h, t, to - from);

    if (!copy)
        return NULL;
    copy->len = to - from;
    if (t->cell_slots && to > from)
        memcpy(copy->data, coir_list_slot(l, from, t->cell_slots), (to - from) * t->cell_slots * sizeof(uint64_t));
    if (t->deep) {
        for (size_t i = 0; i < copy->len; i++)
            coir_hold_slots(t->cell, t->cell_slots, coir_list_slot(copy, i, t->cell_slots));
    }
    return copy;
}

bool coir_list_own_slow(struct coir_heap *h, uint64_t *place, size_t room)
{
    struct coir_list *l = coir_list_at(*place), *copy;

    if (room > SIZE_MAX / 16 - l->len)
        return false;
    if (!coir_sole(&l->head)) {
        copy = coir_list_slice(h, l, 0, l->len);
        if (!copy)
            return false;
        if (copy->cap - copy->len < room && !grow(h, copy, grown(copy, room))) {
            coir_drop(h, &copy->head);
            return false;
        }
        h->copies++;
        *place = coir_slot_of(copy);
        coir_drop(h, &l->head);
        return true;
    }
    return l->cap - l->len >= room || grow(h, l, grown(l, room));
}

void coir_list_insert_at(struct coir_heap *h, struct coir_list *l, size_t at, const uint64_t *element)
{
    const uint32_t stride = h->types[l->head.type].cell_slots;

    if (stride) {
        memmove(coir_list_slot(l, at + 1, stride), coir_list_slot(l, at, stride),
                (l->len - at) * stride * sizeof(uint64_t));
        memcpy(coir_list_slot(l, at, stride), element, stride * sizeof(uint64_t));
    }
    l->len++;
}

void coir_list_remove_at(struct coir_heap *h, struct coir_list *l, size_t at, uint64_t *to)
{
    const uint32_t stride = h->types[l->head.type].cell_slots;

    l->len--;
    if (!stride)
        return;
    memcpy(to, coir_list_slot(l, at, stride), stride * sizeof(uint64_t));
    memmove(coir_list_slot(l, at, stride), coir_list_slot(l, at + 1, stride),
            (l->len - at) * stride * sizeof(uint64_t));
}
