/* SPDX-License-Identifier: MIT */
/*
 * Walks over values of any type: are two equal, which comes first, how is one written. They keep what is left to do in
 * memory of their own, never on the C stack, and stop after so many steps, to go on where they were: what they walk
 * over must not change meanwhile. A reference that is missing is borne.
 */
#ifndef COIR_VM_WALK_H
#define COIR_VM_WALK_H

#include "vm/cell.h"

/* What is left of one value: `at` counts its parts. */
struct coir_walk_step {
    const struct coir_type *type;
    const uint64_t *a, *b;              /* slots; `b` of what is compared with */
    uint64_t at;
    uint64_t position;                  /* in a map */
};

struct coir_walk {
    struct coir_heap *heap;
    struct coir_walk_step *steps;       /* innermost last */
    size_t depth, room;
    bool failed;                        /* there was no memory */
};

/* The last only when crossing (cross.h): there is a resource that cannot. */
enum coir_walked { COIR_WALK_DONE, COIR_WALK_MORE, COIR_WALK_NO_MEMORY, COIR_WALK_STAYS };

/* Nothing to be freed yet. */
void coir_walk_init(struct coir_walk *w, struct coir_heap *h);
void coir_walk_end(struct coir_walk *w);

/* Begins with a value (two values) of type `t`: false, no memory. Then the same walk is continued until it is done. */
bool coir_walk_begin(struct coir_walk *w, const struct coir_type *t, const uint64_t *a, const uint64_t *b);

/* At most `most` steps. *equal is right when it is done. */
enum coir_walked coir_walk_equal(struct coir_walk *w, size_t most, bool *equal);
/* *order: < 0, 0, > 0. NaN comes last. */
enum coir_walked coir_walk_compare(struct coir_walk *w, size_t most, int *order);
/* Appends to the text in *place. A text that is the whole value is written bare unless `literal`. */
enum coir_walked coir_walk_text(struct coir_walk *w, size_t most, bool literal, uint64_t *place);


#endif
