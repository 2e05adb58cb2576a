/* SPDX-License-Identifier: MIT */
/*
 * Unwinding: from where a fiber has trapped, frame by frame, to the first handler around the pc, or out of its last
 * frame. What a frame owns is dropped by the loader's drop map of the pc. It is a state of the fiber, not a loop that
 * runs to its end: after so many frames and drops it comes back, and goes on in the fiber's next slice.
 *
 * A handler's code is run by the interpreter as any other. A cleanup ends by raising the Trap again.
 */
#include "vm/unwind.h"

#include "vm/raise.h"
#include "vm/region.h"

enum { A_SLICE = 1000 };

static void drop_registers(struct coir_fiber *f, const struct coir_function *fn, uint32_t at, uint32_t keep)
{
    const struct coir_drop_map *map = coir_drop_map(fn, at, f->inside);

    for (uint32_t i = map ? map->count : 0; i-- > 0;) {
        const uint16_t r = fn->drops[map->first + i];

        if (r < keep)
            break;
        if (f->r[r]) {
            const uint64_t old = f->r[r];

            f->r[r] = 0;
            coir_drop(f->heap, coir_ref(old));
        }
    }
}

/* The frame is left: pc is the call it was called by. */
static void pop(struct coir_fiber *f)
{
    const uint64_t *back = *f->fp++;

    f->r -= COIR_I_A(back[-1]);
    f->pc = back - 1;
    f->inside = true;
}

/* Of a program that stops the catch arms do not run, neither of who is stopped nor of who hears of that from another;
 * but those of a defer are its own. */
static bool passes_catch_arms(const struct coir_fiber *f)
{
    const struct coir_region *g = f->regions;

    while (g && g->kind != COIR_REGION_SHIELD)
        g = g->outer;
    return !g && (f->stopping || (f->vm->stopping && coir_trap_is(f->trap, COIR_TRAP_CANCELLED)));
}

enum coir_unwound coir_unwind(struct coir_fiber *f)
{
    for (int i = 0; i < A_SLICE; i++) {
        uint32_t at;
        const struct coir_function *fn = coir_function_at(f->vm, f->pc, &at);
        const struct coir_handler *handler;

        if (!fn)
            return COIR_UNWOUND_WHOLE;
        handler = coir_handler_of(fn, at, passes_catch_arms(f));
        drop_registers(f, fn, at, handler ? handler->keep : 0);
        if (handler) {
            f->pc += (int64_t)handler->at - at;
            f->r[handler->keep] = f->trap;
            f->trap = 0;
            f->inside = false;
            return COIR_UNWOUND_CAUGHT;
        }
        pop(f);
    }
    return COIR_UNWOUND_MORE;
}
