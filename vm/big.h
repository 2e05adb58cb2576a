/* SPDX-License-Identifier: MIT */
/*
 * What takes long of lists and maps, in slices: copying one that others hold, and making room in a map. The interpreter
 * calls these as it calls slow instructions, with the place of the list or map as the window, and runs the instruction
 * again afterwards: then it finds one that is the place's own, or has room. See big.c.
 */
#ifndef COIR_VM_BIG_H
#define COIR_VM_BIG_H

#include "vm/fiber.h"
#include "vm/list.h"
#include "vm/map.h"

enum { COIR_BIG_SLOTS = 16384, COIR_BIG_ENTRIES = 8192 };

static inline bool coir_list_is_big(const struct coir_heap *h, uint64_t list)
{
    const struct coir_list *l = coir_list_at(list);

    return l->len > COIR_BIG_SLOTS / 4 && l->len * h->types[l->head.type].cell_slots > COIR_BIG_SLOTS;
}

static inline bool coir_map_is_big(uint64_t map)
{
    return coir_map_at(map)->used > COIR_BIG_ENTRIES;
}

coir_native_fn coir_big_list_copy, coir_big_map_copy, coir_big_map_grow;

#endif
