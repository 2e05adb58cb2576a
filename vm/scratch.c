/* SPDX-License-Identifier: MIT */
/* The scratch of natives: in the fiber, or from its heap. See scratch.h, native.h. */
#include "vm/scratch.h"

#include <string.h>

#include "vm/fiber.h"
#include "vm/native.h"

/* What fits lies in the fiber; before anything else lies this. */
struct apart {
    size_t size;
    void (*cut)(struct coir_fiber *f, void *scratch);
};
_Static_assert(sizeof(struct apart) == 16, "what follows it is aligned");

void *coir_scratch(struct coir_fiber *f, size_t size, void (*cut)(struct coir_fiber *f, void *scratch))
{
    struct apart *a;

    if (f->scratch)
        return f->scratch;
    if (size <= sizeof f->op && !cut) {
        f->scratch = &f->op;
    } else {
        a = coir_heap_alloc(f->heap, sizeof *a + size);
        if (!a)
            return NULL;
        *a = (struct apart){ size, cut };
        f->scratch = a + 1;
    }
    return memset(f->scratch, 0, size);
}

void coir_scratch_end(struct coir_fiber *f)
{
    if (f->scratch && f->scratch != &f->op) {
        struct apart *a = (struct apart *)f->scratch - 1;

        coir_heap_free(f->heap, a, sizeof *a + a->size);
    }
    f->scratch = NULL;
}

void coir_scratch_cut(struct coir_fiber *f)
{
    if (f->scratch && f->scratch != &f->op) {
        struct apart *a = (struct apart *)f->scratch - 1;

        if (a->cut)
            a->cut(f, f->scratch);
    }
    coir_scratch_end(f);
}
