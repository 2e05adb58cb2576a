/* SPDX-License-Identifier: MIT */
/*
 * Lists. What changes one takes the place that refers to it: if others hold the list too it is copied first, and the
 * place refers to the copy. What goes in is moved in, what comes out is moved out. Indexes are the caller's to check.
 */
#ifndef COIR_VM_LIST_H
#define COIR_VM_LIST_H

#include "vm/cell.h"

static inline struct coir_list *coir_list_at(uint64_t slot)
{
    return (struct coir_list *)(uintptr_t)slot;
}

/* An empty list of list type `t` with room for `cap` elements. NULL: no memory. */
struct coir_list *coir_list_new(struct coir_heap *h, const struct coir_type *t, size_t cap);

/* Makes *place the only holder of its list, with room for `room` more. False: no memory, and nothing has changed. */
bool coir_list_own_slow(struct coir_heap *h, uint64_t *place, size_t room);

static inline bool coir_list_own(struct coir_heap *h, uint64_t *place, size_t room)
{
    const struct coir_list *l = coir_list_at(*place);

    return __builtin_expect(coir_sole(&l->head) && l->cap - l->len >= room, 1) || coir_list_own_slow(h, place, room);
}

static inline uint64_t *coir_list_slot(const struct coir_list *l, size_t i, uint32_t stride)
{
    return l->data + i * stride;
}

/* A new list of elements `from` up to `to`, which are held once more. NULL: no memory. */
struct coir_list *coir_list_slice(struct coir_heap *h, const struct coir_list *l, size_t from, size_t to);

/* Of a list the caller owns (coir_list_own): an element moved in before index `at`; one moved out into `to`. */
void coir_list_insert_at(struct coir_heap *h, struct coir_list *l, size_t at, const uint64_t *element);
void coir_list_remove_at(struct coir_heap *h, struct coir_list *l, size_t at, uint64_t *to);

#endif
