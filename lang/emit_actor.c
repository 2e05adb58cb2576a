/* SPDX-License-Identifier: MIT */
/*
 * Actors: what is sent to one, which is a call whose callee is a message (emit_call.c makes it), how one is made, how
 * it is watched. Their types are in emit_types.c, and handlers are functions like others.
 */
#include "lang/emit_inside.h"
#include "runtime/base/assert.h"

static uint32_t number_of(const struct coir_ty_decl *d, coir_x_fn_id fn)
{
    for (uint32_t i = 0; i < d->nmessages; i++)
        if (d->messages[i].fn == fn)
            return i;
    COIR_ASSERT(false);
    return 0;
}

struct coir_e_callee coir_e_callee_message(struct coir_e *e, coir_x_fn_id id, bool waits)
{
    const struct coir_x_fn *const fn = e->program->fns[id];
    struct coir_e_callee c = { .kind = COIR_CALLS_MESSAGE, .waits = waits, .actor = coir_e_type(e, fn->actor) };

    c.index = number_of(coir_ty_get(e->table, fn->actor)->decl, id);
    coir_e_callee_room(e, &c, fn->nparams - 1);
    for (uint32_t i = 0; i < c.n; i++) {
        c.params[i] = coir_e_type(e, fn->params[i + 1].type);
        c.modes[i] = i ? COIR_OWN : COIR_LEND;
    }
    c.result = coir_e_type(e, waits ? fn->result : (coir_ty)COIR_TY_UNIT);
    coir_e_layout(e, &c, false);
    return c;
}

void coir_e_spawn_actor(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const uint32_t top = e->top, state = coir_e_fresh(e, x->of);

    coir_e_line(e, x->at);
    coir_e_op(e, COIR_OP_SPAWN, to, 0, state, x->index);
    coir_e_ext(e, coir_e_type_of(e, x)->index, 0, 0, 0);
    e->top = top;
}

void coir_e_monitor(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct coir_e_type *const t = coir_e_type_of(e, x);
    const enum coir_ty_mode mode = COIR_LEND;
    const uint32_t top = e->top;
    const struct coir_e_value of = coir_e_operand(e, x->of, true);
    const uint32_t window = coir_e_alloc(e, 1);

    coir_e_lend_value(e, of.type, window, of.reg);
    coir_e_line(e, x->at);
    coir_e_native(e, "monitor", 1, &of.type, &mode, t, window);
    coir_e_move_value(e, t, to, window);
    coir_e_done(e, of, top);
}
