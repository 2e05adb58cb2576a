/* SPDX-License-Identifier: MIT */
/*
 * Maps, as lists: what changes one takes the place that refers to it, and makes it the only holder first. Keys are Int,
 * Text, Bool, Duration, enums, tuples of those: comparing one takes as long as its texts are, and never recurses.
 */
#ifndef COIR_VM_MAP_H
#define COIR_VM_MAP_H

#include "vm/cell.h"

static inline struct coir_map *coir_map_at(uint64_t slot)
{
    return (struct coir_map *)(uintptr_t)slot;
}

/* An empty map of map type `t`. NULL: no memory. */
struct coir_map *coir_map_new(struct coir_heap *h, const struct coir_type *t);

/* Makes *place the only holder of its map. False: no memory, and nothing has changed. */
bool coir_map_own(struct coir_heap *h, uint64_t *place);

/* The slots of the value under `key`; NULL: none. They stay where they are until the map is changed. */
uint64_t *coir_map_find(const struct coir_heap *h, const struct coir_map *m, const uint64_t *key);

/* Puts `value` under `key`, both moved in: what was there is dropped, and so is the key if there was one. The map is
 * owned. False: no memory, nothing has changed, and key and value are the caller's still. */
bool coir_map_put(struct coir_heap *h, struct coir_map *m, const uint64_t *key, const uint64_t *value);

/* Takes the value under `key` out into `value`; its key is dropped. The map is owned. False: none. */
bool coir_map_remove(struct coir_heap *h, struct coir_map *m, const uint64_t *key, uint64_t *value);

/* The first entry at or after position `*at` that is there, as its key's slots, the value's behind them; *at is then
 * the position after it. NULL: no more. Begin with 0. */
uint64_t *coir_map_next(const struct coir_heap *h, const struct coir_map *m, uint64_t *at);

/* Whether entry `i` of those used was removed. */
bool coir_map_is_gone(const struct coir_map *m, uint32_t i);

/* For work in slices (big.c): an empty map with room for `entries`; an entry's slots moved into one that has room and
 * does not have its key; the contents of two maps of one type exchanged. */
struct coir_map *coir_map_with_room(struct coir_heap *h, const struct coir_type *t, uint32_t entries);
void coir_map_add(const struct coir_heap *h, struct coir_map *m, const uint64_t *entry);
void coir_map_swap(struct coir_map *a, struct coir_map *b);

/* Frees the map's memory; its entries' references have been dropped. For the heap. */
void coir_map_free(struct coir_heap *h, struct coir_map *m, const struct coir_type *t);

#endif
