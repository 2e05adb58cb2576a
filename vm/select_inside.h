/* SPDX-License-Identifier: MIT */
/*
 * What the files of `select` share (select.c, select_far.c); nobody else includes it. An arm is a word behind the
 * instruction: its kind in D, where it goes on in SC.
 */
#ifndef COIR_VM_SELECT_INSIDE_H
#define COIR_VM_SELECT_INSIDE_H

#include <coir/time.h>

#include "vm/chan.h"
#include "vm/machine.h"

static inline const struct coir_type *coir_cell_type(const struct coir_fiber *f, const struct coir_counted *c)
{
    return &f->heap->types[c->type];
}

static inline int64_t coir_time_after(int64_t now, int64_t ns)
{
    int64_t at;

    if (!__builtin_add_overflow(now, ns, &at))
        return at;
    return ns > 0 ? COIR_NEVER : 0;
}

/* Goes on where the arm of this word says. */
static inline enum coir_native_result coir_arm_goes(struct coir_fiber *f, uint64_t w)
{
    f->next = f->pc + COIR_I_SC(w);
    return COIR_NATIVE_DONE;
}

static inline bool coir_arm_is_chan(uint64_t w)
{
    return COIR_I_D(w) == COIR_ARM_RECV || COIR_I_D(w) == COIR_ARM_SEND;
}

/* The same when a channel of it is another shard's, or was when it began. */
enum coir_native_result coir_select_far(struct coir_fiber *f, uint64_t *r, unsigned n, bool now);

#endif
