/* SPDX-License-Identifier: MIT */
/*
 * Calls. The window lies at the top of the registers: mut arguments first, then the others in order; arguments are
 * evaluated in the order of the text, straight into the window where they can be. What is lent to the callee is owned
 * by a register below: a local, or one that was taken before the window for a value that nobody else owns.
 */
#include "lang/emit_inside.h"
#include "runtime/base/assert.h"

/* ---- what is called ---- */

/* Where the parameters stand in the window. */
void coir_e_layout(struct coir_e *e, struct coir_e_callee *c, bool owns)
{
    uint32_t at = 0;

    c->at = coir_e_take(e, c->n * sizeof *c->at);
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < c->n; i++) {
            if ((c->modes[i] == COIR_MUT) != (pass == 0))
                continue;
            c->at[i] = at;
            at += c->params[i]->slots;
            if (owns && c->modes[i] == COIR_LEND)
                c->modes[i] = COIR_OWN;
        }
        if (pass == 0)
            c->muts = at;
    }
    c->slots = at;
    c->window = at + 1 > c->muts + c->result->slots ? at + 1 : c->muts + c->result->slots;
}

void coir_e_callee_room(struct coir_e *e, struct coir_e_callee *c, uint32_t n)
{
    if (n > COIR_MAX_PARAMS)
        coir_e_too_large(e, COIR_E_FUNCTION_SIZE, "more than 255 parameters", "take a record of them");
    c->n = n;
    c->params = coir_e_take(e, n * sizeof *c->params);
    c->modes = coir_e_take(e, n * sizeof *c->modes);
}

struct coir_e_callee coir_e_callee_shape(struct coir_e *e, coir_x_fn_id id, const coir_ty *types)
{
    const struct coir_x_fn *const fn = e->program->fns[id];
    struct coir_e_callee c = { .kind = fn->kind == COIR_FN_NATIVE ? COIR_CALLS_NATIVE : COIR_CALLS_FN };

    coir_e_callee_room(e, &c, fn->nparams);
    for (uint32_t i = 0; i < fn->nparams; i++) {
        const coir_ty ty = fn->locals[fn->params[i].local].type;

        c.params[i] = coir_e_type(e, coir_ty_apply(e->table, ty, fn->ntypes, types));
        c.modes[i] = fn->params[i].mode;
    }
    c.result = coir_e_type(e, coir_ty_apply(e->table, fn->result, fn->ntypes, types));
    coir_e_layout(e, &c, false);
    return c;
}

struct coir_e_callee coir_e_callee(struct coir_e *e, coir_x_fn_id id, const coir_ty *types)
{
    const struct coir_x_fn *const fn = e->program->fns[id];
    struct coir_e_callee c = coir_e_callee_shape(e, id, types);

    if (c.kind == COIR_CALLS_NATIVE)
        c.index = coir_build_import(e->build, fn->native, coir_e_build_params(e, &c, false), c.n, c.result->index);
    else
        c.index = coir_e_instance(e, COIR_JOB_FN, id, types, 0);
    return c;
}

struct coir_e_callee coir_e_callee_value(struct coir_e *e, coir_ty ty, uint32_t reg)
{
    struct coir_e_callee c = { .kind = COIR_CALLS_VALUE, .index = reg };
    struct coir_ty_info info;

    ty = coir_e_ty(e, ty);
    info = *coir_ty_get(e->table, ty);
    coir_e_callee_room(e, &c, info.n - 1);
    for (uint32_t i = 0; i < c.n; i++) {
        c.params[i] = coir_e_type(e, info.args[i]);
        c.modes[i] = info.modes ? (enum coir_ty_mode)info.modes[i] : COIR_LEND;
    }
    c.result = coir_e_type(e, info.args[c.n]);
    coir_e_layout(e, &c, false);
    return c;
}

static enum coir_mode mode_of(enum coir_ty_mode mode)
{
    return mode == COIR_MUT ? COIR_MODE_MUT : mode == COIR_OWN ? COIR_MODE_OWN : COIR_MODE_LEND;
}

struct coir_build_param *coir_e_build_params(struct coir_e *e, const struct coir_e_callee *c, bool own)
{
    struct coir_build_param *const list = coir_e_take(e, c->n * sizeof *list);
    uint32_t n = 0;

    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < c->n; i++)
            if ((c->modes[i] == COIR_MUT) == (pass == 0))
                list[n++] = (struct coir_build_param){ c->params[i]->index,
                                                       own ? COIR_MODE_OWN : mode_of(c->modes[i]) };
    return list;
}

void coir_e_enter(struct coir_e *e, const struct coir_e_callee *c, uint32_t window)
{
    switch (c->kind) {
    case COIR_CALLS_FN: coir_e_wide(e, COIR_OP_CALL, window, c->index); break;
    case COIR_CALLS_NATIVE: coir_e_wide(e, COIR_OP_CALLN, window, c->index); break;
    case COIR_CALLS_VALUE: coir_e_op(e, COIR_OP_CALLC, window, c->index, 0, 0); break;
    case COIR_CALLS_MESSAGE:
        coir_e_op(e, COIR_OP_MSG, window, 0, 0, c->waits);
        coir_e_ext(e, c->actor->index, c->index, 0, 0);
        break;
    }
}

void coir_e_native(struct coir_e *e, const char *name, uint32_t n, const struct coir_e_type *const *params,
                   const enum coir_ty_mode *modes, const struct coir_e_type *result, uint32_t window)
{
    struct coir_e_callee c = { .kind = COIR_CALLS_NATIVE, .result = result };
    const uint32_t top = e->top;

    coir_e_callee_room(e, &c, n);
    for (uint32_t i = 0; i < n; i++) {
        c.params[i] = params[i];
        c.modes[i] = modes[i];
    }
    coir_e_layout(e, &c, false);
    c.index = coir_build_import(e->build, name, coir_e_build_params(e, &c, false), n, result->index);
    if (window + c.window > e->top)
        coir_e_alloc(e, window + c.window - e->top);
    coir_e_enter(e, &c, window);
    e->top = top;
}

/* ---- arguments ---- */

struct arg {
    const struct coir_x *x;
    const struct coir_e_type *type;     /* of a value that is made below the window, or NULL */
    uint32_t below;                     /* where; of a place: where its indexes are */
};

/* Whether anything that is evaluated after argument i, or taken out for the call, is what x is lent from. */
static bool is_safe(const struct coir_x_call *call, uint32_t i)
{
    const struct coir_x *const x = call->args[i].value;
    const coir_x_local_id root = coir_e_root(x);

    for (uint32_t k = 0; k < call->nargs; k++) {
        if (call->args[k].place) {
            if (call->args[k].place->root == root)
                return false;
        } else if (k > i && coir_e_changes(call->args[k].value, x)) {
            return false;
        }
    }
    return true;
}

/* The resource that a field or element is lent of, if nobody else owns it. */
static const struct coir_x *base_of(const struct coir_x *x)
{
    while (x->kind == COIR_X_FIELD || x->kind == COIR_X_INDEX)
        x = x->kind == COIR_X_FIELD ? x->of : x->pair.a;
    return x;
}

/* Which arguments are lent of a value that is made for the call. */
static void plan_args(struct coir_e *e, const struct coir_x_call *call, const struct coir_e_callee *c, struct arg *args)
{
    for (uint32_t i = 0; i < call->nargs; i++) {
        const struct coir_x *const x = call->args[i].value;

        if (c->modes[i] != COIR_LEND || c->params[i]->flat || (coir_e_lendable(e, x) && is_safe(call, i)))
            continue;
        args[i].x = coir_ty_is_resource(e->table, c->params[i]->ty) ? base_of(x) : x;
        args[i].type = coir_e_type_of(e, args[i].x);
    }
}

/* An argument that is lent of what is owned below: `of` stands there now. */
static void lend_of(struct coir_e *e, const struct coir_x *x, const struct arg *arg, uint32_t to)
{
    const uint32_t top = e->top;
    uint32_t slot, inner;

    if (x == arg->x) {
        coir_e_lend_value(e, arg->type, to, arg->below);
        return;
    }
    if (x->kind == COIR_X_FIELD) {
        inner = coir_e_alloc(e, coir_e_type_of(e, x->of)->slots);
        lend_of(e, x->of, arg, inner);
        coir_e_field(e, coir_e_type_of(e, x->of), x->index, &slot);
        coir_e_op(e, COIR_OP_LENDF, to, inner, slot, 0);
    } else {
        const struct coir_e_type *const t = coir_e_type_of(e, x->pair.a);
        struct coir_e_value at;

        inner = coir_e_alloc(e, t->slots);
        lend_of(e, x->pair.a, arg, inner);
        at = coir_e_operand(e, x->pair.b, true);
        coir_e_op(e, coir_e_kind(e, t) == COIR_TY_LIST ? COIR_OP_LLEND : COIR_OP_MLEND, to, inner, at.reg, 0);
        coir_e_done(e, at, e->top);
    }
    e->top = top;
}

static void make_arg(struct coir_e *e, const struct coir_x *x, const struct arg *arg, enum coir_ty_mode mode,
                     const struct coir_e_type *t, uint32_t to)
{
    coir_e_take_to(e, to + t->slots);
    if (arg->type) {
        coir_e_into(e, arg->x, arg->below);
        coir_e_hold(e, arg->type, arg->below);
        lend_of(e, x, arg, to);
    } else if (mode == COIR_LEND && !t->flat) {
        coir_e_lend(e, x, to);
    } else {
        coir_e_into(e, x, to);
        if (!t->flat)
            coir_e_hold(e, t, to);
    }
}

struct window {
    struct coir_e_callee c;
    uint32_t at;
    uint32_t nplaces;
    struct coir_e_place *places;
    uint32_t *regs;
};

/* What is held in the window is the callee's now; what is below it stays. */
static void give_window(struct coir_e *e, const struct window *w, uint32_t held)
{
    uint32_t kept = held;

    for (uint32_t i = held; i < e->nheld; i++)
        if (e->held[i].reg < w->at)
            e->held[kept++] = e->held[i];
    e->nheld = kept;
}

bool coir_e_moves(const struct coir_x *x)
{
    while (x->kind == COIR_X_SOME)
        x = x->of;
    return x->kind == COIR_X_MOVE;
}

/* What moves as an argument moves when all have been evaluated: the others may still use it. The window's registers are
 * taken as they are filled, so that a call for one of them makes its result there. */
static void fill(struct coir_e *e, const struct coir_x_call *call, struct window *w, struct arg *args)
{
    for (uint32_t i = 0; i < call->nargs; i++) {
        if (call->args[i].place) {
            w->places[w->nplaces] = coir_e_place_of(e, call->args[i].place, &args[i].below, NULL);
            w->regs[w->nplaces++] = w->at + w->c.at[i];
        } else if (!coir_e_moves(call->args[i].value)) {
            make_arg(e, call->args[i].value, &args[i], w->c.modes[i], w->c.params[i], w->at + w->c.at[i]);
        }
    }
    for (uint32_t i = 0; i < call->nargs; i++)
        if (!call->args[i].place && coir_e_moves(call->args[i].value))
            make_arg(e, call->args[i].value, &args[i], w->c.modes[i], w->c.params[i], w->at + w->c.at[i]);
}

/* The indexes of mut places are made below the window, too: they are needed again after the call. */
static uint32_t slots_below(struct coir_e *e, const struct coir_x_call *call, struct arg *args)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < call->nargs; i++) {
        args[i].below = e->top + n;
        if (args[i].type)
            n += args[i].type->slots;
        for (uint32_t k = 0; call->args[i].place && k < call->args[i].place->nsteps; k++)
            if (call->args[i].place->steps[k].index)
                n += coir_e_type_of(e, call->args[i].place->steps[k].index)->slots;
    }
    return n;
}

static void call_window(struct coir_e *e, const struct coir_x *x, struct window *w)
{
    struct coir_e_pad *pad = NULL;

    for (uint32_t i = 0; i < w->nplaces; i++)
        coir_e_take_out(e, &w->places[i], w->regs[i]);
    coir_e_line(e, x->at);
    if (w->nplaces)
        pad = coir_e_taken_begin(e, w->nplaces, w->places, w->regs, w->at + w->c.muts);
    coir_e_enter(e, &w->c, w->at);
    coir_e_taken_end(e, pad);
    for (uint32_t i = w->nplaces; i > 0; i--)
        coir_e_put_back(e, &w->places[i - 1], w->regs[i - 1]);
}

/* ---- the call ---- */

static struct coir_e_callee callee_of(struct coir_e *e, const struct coir_x *x)
{
    const struct coir_x_call *const call = &x->call;
    struct coir_e_value v;
    bool safe = true;

    if (x->kind == COIR_X_CALL)
        return coir_e_callee(e, call->fn, coir_e_types(e, call));
    if (x->kind == COIR_X_ASK || x->kind == COIR_X_TELL)
        return coir_e_callee_message(e, call->fn, x->kind == COIR_X_ASK);
    for (uint32_t i = 0; i < call->nargs; i++)
        safe = safe && !coir_e_changes(call->args[i].value, call->callee)
            && !(call->args[i].place && call->args[i].place->root == coir_e_root(call->callee));
    v = coir_e_operand(e, call->callee, safe);
    return coir_e_callee_value(e, call->callee->type, v.reg);
}

const coir_ty *coir_e_types(struct coir_e *e, const struct coir_x_call *call)
{
    const uint32_t n = e->program->fns[call->fn]->ntypes;
    coir_ty *const types = coir_e_take(e, n * sizeof *types);

    for (uint32_t i = 0; i < n; i++)
        types[i] = coir_e_ty(e, call->types[i]);
    return types;
}

/* The window begins where the result is wanted, if nothing is in between. */
static uint32_t place_window(struct coir_e *e, const struct window *w, uint32_t below, uint32_t to)
{
    if (to != UINT32_MAX && below == 0 && w->c.muts == 0 && to + w->c.result->slots == e->top)
        e->top = to;
    else
        coir_e_alloc(e, below);
    return coir_e_alloc(e, 0);
}

struct coir_e_value coir_e_call(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct coir_x_call *const call = &x->call;
    const uint32_t top = e->top, held = e->nheld;
    struct coir_e_value v = { .type = coir_e_type_of(e, x) };
    struct window w = { .nplaces = 0 };
    struct arg *args;
    uint32_t result;

    if (x->kind == COIR_X_CALL && coir_e_intrinsic(e, x, to, &v))
        return v;
    w.c = callee_of(e, x);
    args = coir_e_take(e, call->nargs * sizeof *args);
    w.places = coir_e_take(e, call->nargs * sizeof *w.places);
    w.regs = coir_e_take(e, call->nargs * sizeof *w.regs);
    plan_args(e, call, &w.c, args);
    w.at = place_window(e, &w, slots_below(e, call, args), to);
    fill(e, call, &w, args);
    coir_e_take_to(e, w.at + w.c.window);
    give_window(e, &w, held);
    call_window(e, x, &w);
    coir_e_drop_to(e, held);
    result = w.at + w.c.muts;
    if (to != UINT32_MAX) {
        coir_e_move_value(e, w.c.result, to, result);
        e->top = top;
        v.reg = to;
        return v;
    }
    v.reg = result;
    e->top = result + v.type->slots;
    v.owned = !v.type->flat;
    if (v.owned)
        coir_e_hold(e, v.type, v.reg);
    return v;
}
