/* SPDX-License-Identifier: MIT */
/*
 * Instructions that are rare, or may take long, written as natives are: r is the frame's, f->pc the instruction,
 * f->next the one after it. See opcodes.h for what each means.
 */
#include <errno.h>

#include "vm/chan.h"
#include "vm/far.h"
#include "vm/handle.h"
#include "vm/machine.h"
#include "vm/raise.h"
#include "vm/region.h"
#include "vm/walk.h"

enum { STEPS_A_SLICE = 2000 };

static const struct coir_type *type_at(const struct coir_fiber *f, uint32_t index)
{
    return &f->heap->types[index];
}

/* ---- walks ---- */

struct walking {
    struct coir_walk walk;
};

static void cut_walk(struct coir_fiber *f, void *scratch)
{
    (void)f;
    coir_walk_end(&((struct walking *)scratch)->walk);
}

/* The walk that this instruction has begun, or begins. NULL: no memory. */
static struct coir_walk *walk_of(struct coir_fiber *f, const struct coir_type *t, const uint64_t *a, const uint64_t *b)
{
    const bool begins = !f->scratch;
    struct walking *s = coir_scratch(f, sizeof *s, cut_walk);

    if (!s)
        return NULL;
    if (begins) {
        coir_walk_init(&s->walk, f->heap);
        if (!coir_walk_begin(&s->walk, t, a, b))
            return NULL;
    }
    return &s->walk;
}

/* What the walk's slice comes to. */
static enum coir_native_result walked(struct coir_fiber *f, struct coir_walk *w, enum coir_walked how)
{
    if (how == COIR_WALK_MORE)
        return COIR_NATIVE_MORE;
    if (w)
        coir_walk_end(w);
    return how == COIR_WALK_DONE ? COIR_NATIVE_DONE : coir_trap_memory(f);
}

static enum coir_native_result compare(struct coir_fiber *f, uint64_t *r, bool ordered)
{
    const uint64_t w = f->pc[0];
    const struct coir_type *t = type_at(f, COIR_I_A(f->pc[1]));
    struct coir_walk *walk = walk_of(f, t, &r[COIR_I_B(w)], &r[COIR_I_C(w)]);
    enum coir_walked how;
    bool equal;
    int order;

    if (!walk)
        return walked(f, NULL, COIR_WALK_NO_MEMORY);
    coir_charge(f, STEPS_A_SLICE / 100);
    if (ordered)
        how = coir_walk_compare(walk, STEPS_A_SLICE, &order);
    else
        how = coir_walk_equal(walk, STEPS_A_SLICE, &equal);
    if (how == COIR_WALK_DONE)
        r[COIR_I_A(w)] = ordered ? (uint64_t)(int64_t)((order > 0) - (order < 0)) : equal;
    return walked(f, walk, how);
}

enum coir_native_result coir_op_eqv(struct coir_fiber *f, uint64_t *r)
{
    return compare(f, r, false);
}

enum coir_native_result coir_op_cmpv(struct coir_fiber *f, uint64_t *r)
{
    return compare(f, r, true);
}

enum coir_native_result coir_op_format(struct coir_fiber *f, uint64_t *r)
{
    const uint64_t w = *f->pc;
    const struct coir_type *t = type_at(f, COIR_I_C(w));
    struct coir_walk *walk;

    if (t->kind == COIR_TYPE_TEXT && !COIR_I_D(w)) {
        const struct coir_text *text = coir_text_at(r[COIR_I_B(w)]);

        return coir_text_append(f->heap, &r[COIR_I_A(w)], text->bytes, text->len) ? COIR_NATIVE_DONE
                                                                                 : coir_trap_memory(f);
    }
    if (t->kind == COIR_TYPE_INT) {
        char digits[COIR_INT_DIGITS];
        const size_t n = coir_int_digits((int64_t)r[COIR_I_B(w)], digits);

        return coir_text_append(f->heap, &r[COIR_I_A(w)], digits, n) ? COIR_NATIVE_DONE : coir_trap_memory(f);
    }
    walk = walk_of(f, t, &r[COIR_I_B(w)], NULL);
    if (!walk)
        return walked(f, NULL, COIR_WALK_NO_MEMORY);
    return walked(f, walk, coir_walk_text(walk, STEPS_A_SLICE, COIR_I_D(w), &r[COIR_I_A(w)]));
}

/* ---- sums ---- */

enum coir_native_result coir_op_unpack(struct coir_fiber *f, uint64_t *r)
{
    const uint64_t w = *f->pc;
    struct coir_box *box = (struct coir_box *)coir_ref(r[COIR_I_B(w)]);
    const struct coir_variant *v = &type_at(f, box->head.type)->variants[box->head.aux];

    if (box->head.aux != COIR_I_D(w))
        return coir_trap(f, COIR_TRAP_EXPLICIT, "a value of another variant");
    r[COIR_I_B(w)] = 0;
    memcpy(&r[COIR_I_A(w)], box->slots, v->slots * sizeof *r);
    if (coir_sole(&box->head)) {
        coir_heap_free(f->heap, box, sizeof *box + v->slots * sizeof *r);
        return COIR_NATIVE_DONE;
    }
    coir_hold_slots(v->layout, v->slots, &r[COIR_I_A(w)]);
    coir_drop(f->heap, &box->head);
    return COIR_NATIVE_DONE;
}

/* ---- fibers ---- */

/* Here; what it is given is moved. NULL: no memory, and that is the caller's still. */
static struct coir_handle *task_new(struct coir_vm *here, const struct coir_type *t, uint32_t function,
                                    const uint64_t *args, struct coir_region *group)
{
    struct coir_handle *handle = coir_handle_new(&here->heap, t);

    if (handle && coir_fiber_new(here, function, args, here->program->functions[function].slots, handle, group))
        return handle;
    if (handle)
        coir_drop(&here->heap, &handle->head);
    return NULL;
}

static enum coir_native_result spawn(struct coir_fiber *f, uint64_t *r, struct coir_region *group)
{
    const uint64_t w = f->pc[0];
    struct coir_handle *handle = task_new(f->vm, type_at(f, COIR_I_A(f->pc[1])), COIR_I_B(w), &r[COIR_I_C(w)], group);

    if (!handle)
        return coir_trap_memory(f);
    r[COIR_I_A(w)] = coir_slot_of(handle);
    return COIR_NATIVE_DONE;
}

static int spawn_begins(struct coir_visit *v)
{
    struct coir_far *far = v->far;
    struct coir_handle *handle = task_new(far->there, far->type, far->number, far->goes, NULL);

    if (!handle)
        return -ENOMEM;
    memset(far->goes, 0, far->there->program->functions[far->number].slots * sizeof *far->goes);
    far->made = coir_slot_of(handle);
    return 0;
}

static const struct coir_errand spawn_there = { spawn_begins, NULL };

static enum coir_native_result spawn_far(struct coir_fiber *f, uint64_t *r, uint32_t shard)
{
    const uint64_t w = f->pc[0];
    const struct coir_function *fn = &f->vm->program->functions[COIR_I_B(w)];
    struct coir_far *far = coir_far_scratch(f);

    if (!far)
        return coir_trap_memory(f);
    if (f->step == 0) {
        far->type = type_at(f, COIR_I_A(f->pc[1]));
        far->number = COIR_I_B(w);
        far->params = fn->params;
        far->nparams = fn->nparams;
        far->goes = &r[COIR_I_C(w)];
    }
    if (coir_far_goes(f, far))
        return coir_far_go(f, far, &spawn_there, shard);
    if (far->said < 0)
        return coir_far_trap(f, far);
    r[COIR_I_A(w)] = far->made;
    return COIR_NATIVE_DONE;
}

enum coir_native_result coir_op_spawn(struct coir_fiber *f, uint64_t *r)
{
    const uint64_t w = f->pc[0];
    const struct coir_type *t = type_at(f, COIR_I_A(f->pc[1]));
    uint32_t shard = f->vm->shard;

    if (t->kind == COIR_TYPE_ACTOR)
        return coir_actor_spawn(f, t, &r[COIR_I_A(w)], &r[COIR_I_C(w)]);
    if (COIR_I_D(w) && !f->away)
        shard = coir_world_place(f->vm);
    return f->away || shard != f->vm->shard ? spawn_far(f, r, shard) : spawn(f, r, NULL);
}

enum coir_native_result coir_op_gspawn(struct coir_fiber *f, uint64_t *r)
{
    return spawn(f, r, coir_region_at(r[COIR_I_B(f->pc[1])]));
}

enum coir_native_result coir_op_yield(struct coir_fiber *f, uint64_t *r)
{
    (void)r;
    return f->step++ ? COIR_NATIVE_DONE : COIR_NATIVE_MORE;
}

/* ---- traps ---- */

enum coir_native_result coir_op_trap(struct coir_fiber *f, uint64_t *r)
{
    return coir_trap_again(f, r[COIR_I_A(*f->pc)]);
}

enum coir_native_result coir_op_trapm(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *t = coir_text_at(r[COIR_I_A(*f->pc)]);

    return coir_trap_text(f, (enum coir_trap_code)COIR_I_D(*f->pc), t->bytes, t->len);
}

enum coir_native_result coir_op_report(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    coir_report_trap(f->vm, r[COIR_I_A(*f->pc)]);
    return COIR_NATIVE_DONE;
}
