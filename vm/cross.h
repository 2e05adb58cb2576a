/* SPDX-License-Identifier: MIT */
/*
 * Crossing: what makes a value fit to go to another shard. A cell is counted without atomics, so no cell may be held on
 * two shards at once, but for what is immortal and what is counted atomically. A value that has crossed is held by
 * nobody but its own slots, all the way down: these may then be moved to another shard as plain words, and there is
 * nothing to be done there.
 *
 *     struct coir_crossing x;
 *     coir_cross_init(&x, heap);
 *     if (coir_cross_add(&x, type, slots))            what will be sent, as many values as there are
 *         while ((how = coir_cross(&x, 2000)) == COIR_WALK_MORE)
 *             ...                                     everybody else has a turn
 *     coir_cross_end(&x);
 *
 * It works in place. A cell that is held once stays, and what it refers to is looked at; one that others hold too is
 * copied, once, so that what is shared inside the value is shared afterwards: it never becomes larger than it was. What
 * is left to do is kept in memory of the heap's, never on the C stack. Between two slices others may run, and the slots
 * must stay where they are. When there is no memory, or it is given up, the value is whole and equal to what it was.
 */
#ifndef COIR_VM_CROSS_H
#define COIR_VM_CROSS_H

#include "vm/cell.h"
#include "vm/walk.h"

/* What is left to be looked at of a cell, or of a value's slots. */
struct coir_cross_step {
    const struct coir_slot *layout;
    uint64_t *slots;                    /* of the element, or entry, that it is at */
    uint32_t n, at;                     /* its slots, and how many are behind it */
    size_t left;                        /* elements after this one */
    const struct coir_map *map;         /* whose entries they are, of which some may be gone; NULL: of no map */
    uint32_t entry;
    bool copied;                        /* the cell is a copy: what it refers to is held by the original too */
};

/* An original and its copy; the original is held, so that its address stays its own. */
struct coir_cross_pair {
    struct coir_counted *from, *to;
};

/* A table of those by address; two, while the larger one takes over what is in the other, a few with each new pair. */
struct coir_cross_memo {
    struct coir_cross_pair *places;     /* a power of two of them, at most half used */
    size_t room, used;
};

struct coir_crossing {
    struct coir_heap *heap;
    struct coir_cross_step *steps;      /* innermost last */
    size_t depth, room;
    struct coir_cross_memo memo, before;
    size_t moved;                       /* places of `before` that have been emptied */
    struct {                            /* a cell that is being copied; from NULL: none */
        struct coir_counted *from, *to;
        uint64_t *place;
        size_t at;                      /* bytes, elements or entries done */
        bool once;                      /* nothing else of the value refers to it */
    } copying;
    int *descriptors;                   /* of the resources in it: what this shard's plane must let go of */
    size_t ndescriptors, descriptors_room;
    const char *stays;                  /* with COIR_WALK_STAYS: why a resource of it cannot cross */
};

/* Nothing to be freed yet. */
void coir_cross_init(struct coir_crossing *x, struct coir_heap *h);
/* Before it is done: the rest is given up. */
void coir_cross_end(struct coir_crossing *x);

/* One more value, whose slots are owned. False: no memory. */
bool coir_cross_add(struct coir_crossing *x, const struct coir_type *t, uint64_t *slots);

/* At most about `most` steps. */
enum coir_walked coir_cross(struct coir_crossing *x, size_t most);

#endif
