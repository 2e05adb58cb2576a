/* SPDX-License-Identifier: MIT */
/*
 * Functions as values, and as what a fiber runs. A function takes what it is lent from its caller's registers; a fiber
 * has no caller, so it begins in the same function made once more, which owns what that is lent (make_function), or, if
 * what it runs is a native or a function value, in a body that owns the arguments and lends them on. The body of a
 * function value of a plain function calls it in the same way.
 */
#include "lang/emit_inside.h"

void coir_e_closure(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct coir_x_fn *const fn = e->program->fns[x->call.fn];
    const uint32_t f = coir_e_instance(e, COIR_JOB_FN, x->call.fn, e->args, 0), top = e->top;
    uint32_t slots = 0, first, at;

    for (uint32_t i = 0; i < fn->ncaptures; i++)
        slots += coir_e_type(e, fn->locals[fn->captures[i].inner].type)->slots;
    first = at = coir_e_alloc(e, slots);
    for (uint32_t i = 0; i < fn->ncaptures; i++) {
        const struct coir_e_local *const l = &e->locals[fn->captures[i].outer];
        const struct coir_e_type *const t = coir_e_type(e, fn->locals[fn->captures[i].inner].type);

        if (fn->captures[i].field == COIR_NO_FIELD)
            coir_e_copy_value(e, t, at, l->reg);
        else
            coir_e_read_field(e, l->type, l->reg, fn->captures[i].field, at, true);
        at += t->slots;
    }
    coir_e_op(e, COIR_OP_CLOSURE, to, f, first, 0);
    e->top = top;
}

void coir_e_function_value(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const coir_ty ty = coir_e_ty(e, x->type);
    const uint32_t f = coir_e_instance(e, COIR_JOB_VALUE, x->call.fn, coir_e_types(e, &x->call), ty);

    coir_e_op(e, COIR_OP_CLOSURE, to, f, coir_e_alloc(e, 0), 0);
}

/* ---- fibers ---- */

/* A function of the program that is lent nothing: a fiber may begin in it as it is. */
static bool owns_all(const struct coir_e_callee *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->modes[i] != COIR_OWN && !(c->modes[i] == COIR_LEND && c->params[i]->flat))
            return false;
    return c->kind == COIR_CALLS_FN;
}

/* The function that the fiber begins in. */
static uint32_t entry_of(struct coir_e *e, const struct coir_x_call *call, const struct coir_e_callee *c)
{
    if (c->kind == COIR_CALLS_MESSAGE)
        return coir_e_instance(e, COIR_JOB_ASK_SPAWNED, call->fn, NULL, 0);
    if (call->callee)
        return coir_e_instance(e, COIR_JOB_CALL_SPAWNED, 0, NULL, coir_e_ty(e, call->callee->type));
    if (owns_all(c))
        return coir_e_callee(e, call->fn, coir_e_types(e, call)).index;
    return coir_e_instance(e, COIR_JOB_SPAWNED, call->fn, coir_e_types(e, call), 0);
}

void coir_e_spawn(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct coir_x_call *const call = &x->spawn.call;
    const uint32_t top = e->top, held = e->nheld;
    const bool member = x->kind == COIR_X_GROUP_SPAWN;
    const uint32_t group = member ? e->locals[x->spawn.group].reg : 0;
    struct coir_e_callee c = x->spawn.asks ? coir_e_callee_message(e, call->fn, true)
                             : call->callee ? coir_e_callee_value(e, call->callee->type, 0)
                                            : coir_e_callee_shape(e, call->fn, coir_e_types(e, call));
    uint32_t f, first, own = call->callee ? 1 : 0;

    coir_e_line(e, x->at);
    if (member)
        coir_e_op(e, COIR_OP_GROOM, group, 0, 0, 0);
    f = entry_of(e, call, &c);
    first = coir_e_alloc(e, own + c.slots);
    if (call->callee) {
        coir_e_into(e, call->callee, first);
        coir_e_hold(e, coir_e_type_of(e, call->callee), first);
    }
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < c.n; i++) {
            if (coir_e_moves(call->args[i].value) != (pass == 1))
                continue;
            coir_e_into(e, call->args[i].value, first + own + c.at[i]);
            coir_e_hold(e, c.params[i], first + own + c.at[i]);
        }
    }
    coir_e_line(e, x->at);
    coir_e_op(e, member ? COIR_OP_GSPAWN : COIR_OP_SPAWN, to, f, first, x->spawn.any);
    coir_e_ext(e, coir_e_type_of(e, x)->index, group, 0, 0);
    coir_e_let_go(e, e->nheld - held);
    e->top = top;
}

/* ---- bodies that only call ---- */

/* A window above what the function has, its arguments lent, moved, taken out of their parameters. */
static void pass_on(struct coir_e *e, const struct coir_e_callee *c, uint32_t window, uint32_t first)
{
    for (uint32_t i = 0; i < c->n; i++) {
        const uint32_t from = first + c->at[i], to = window + c->at[i];

        if (c->modes[i] == COIR_LEND)
            coir_e_lend_value(e, c->params[i], to, from);
        else
            coir_e_move_value(e, c->params[i], to, from);
    }
}

static void give_result(struct coir_e *e, const struct coir_e_callee *c, uint32_t at, uint32_t to)
{
    if (c->result->slots == 1) {
        coir_e_op(e, COIR_OP_RETV, at, 0, 0, 0);
        return;
    }
    coir_e_move_value(e, c->result, to, at);
    coir_e_op(e, COIR_OP_RET, 0, 0, 0, 0);
}

void coir_e_make_spawned(struct coir_e *e, const struct coir_e_job *job)
{
    const bool value = job->kind == COIR_JOB_CALL_SPAWNED;
    struct coir_e_callee c = job->kind == COIR_JOB_ASK_SPAWNED ? coir_e_callee_message(e, job->fn, true)
                             : value ? coir_e_callee_value(e, job->ty, 0) : coir_e_callee(e, job->fn, job->types);
    struct coir_build_param *const lent = coir_e_build_params(e, &c, true);
    struct coir_build_param *const params = coir_e_take(e, (c.n + 1) * sizeof *params);
    uint32_t n = 0, window;

    if (value)
        params[n++] = (struct coir_build_param){ coir_e_type(e, job->ty)->index, COIR_MODE_OWN };
    for (uint32_t i = 0; i < c.n; i++)
        params[n++] = lent[i];
    coir_build_begin(e->build, job->index, params, n, c.result->index);
    coir_e_alloc(e, value + c.window);
    window = coir_e_alloc(e, c.window);
    pass_on(e, &c, window, value);
    coir_e_enter(e, &c, window);
    if (value)
        coir_e_op(e, COIR_OP_DROP, 0, 0, 0, 0);
    for (uint32_t i = 0; i < c.n; i++)
        if (c.modes[i] == COIR_LEND)
            coir_e_drop_value(e, c.params[i], value + c.at[i]);
    give_result(e, &c, window, 0);
}

void coir_e_make_value_body(struct coir_e *e, const struct coir_e_job *job)
{
    struct coir_e_callee c = coir_e_callee(e, job->fn, job->types);
    struct coir_e_place *const places = coir_e_take(e, c.n * sizeof *places);
    uint32_t *const regs = coir_e_take(e, c.n * sizeof *regs);
    struct coir_e_pad *pad;
    uint32_t n = 0, window;

    coir_build_begin(e->build, job->index, coir_e_build_params(e, &c, false), c.n, c.result->index);
    coir_build_body(e->build, coir_e_type(e, job->ty)->index);
    coir_e_alloc(e, c.window);
    window = coir_e_alloc(e, c.window);
    for (uint32_t i = 0; i < c.n; i++) {
        const coir_x_local_id local = e->fn->params[i].local;

        coir_e_local(e, local, c.at[i], c.modes[i] == COIR_LEND);
        if (c.modes[i] != COIR_MUT)
            continue;
        places[n] = (struct coir_e_place){ .root = local, .reg = c.at[i], .type = c.params[i] };
        regs[n++] = window + c.at[i];
    }
    pass_on(e, &c, window, 0);
    pad = coir_e_taken_begin(e, n, places, regs, window + c.muts);
    coir_e_enter(e, &c, window);
    coir_e_taken_end(e, pad);
    for (uint32_t i = 0; i < n; i++)
        coir_e_put_back(e, &places[i], regs[i]);
    give_result(e, &c, window + c.muts, c.muts);
}
