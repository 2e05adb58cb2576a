/* SPDX-License-Identifier: MIT */
/*
 * A Task[T]: what is known of a fiber outside it. It is counted atomically, by its holders and by the fiber while that
 * lives; when the fiber has ended, its result or its Trap lies here.
 */
#ifndef COIR_VM_HANDLE_H
#define COIR_VM_HANDLE_H

#include "vm/machine.h"

enum coir_handle_state { COIR_HANDLE_RUNS, COIR_HANDLE_DONE, COIR_HANDLE_TRAPPED, COIR_HANDLE_TAKEN };

struct coir_handle {
    struct coir_counted head;
    uint8_t state;                      /* enum coir_handle_state */
    uint8_t seen;                       /* somebody was told of its Trap, or will be */
    struct coir_fiber *fiber;           /* while it runs */
    struct coir_link waiters;           /* fibers that join it */
    uint64_t trap;
    uint64_t result[];
};

/* NULL: no memory. Held once. */
struct coir_handle *coir_handle_new(struct coir_heap *h, const struct coir_type *task);

/* The fiber has ended: with results, which are moved, or with a Trap, held once more. Wakes who joins. */
void coir_handle_done(struct coir_heap *h, struct coir_handle *t, const uint64_t *result);
void coir_handle_trapped(struct coir_heap *h, struct coir_handle *t, uint64_t trap);

void coir_handle_end(struct coir_heap *h, struct coir_handle *t);

/* Task.join: while it waits, the task is in f->window[0]. */
coir_native_fn coir_task_join;

extern const struct coir_natives coir_handle_natives;

#endif
