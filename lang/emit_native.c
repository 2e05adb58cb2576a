/* SPDX-License-Identifier: MIT */
/*
 * Functions of the library that are an instruction. The library has each as a native, too, which is what a function
 * value or a fiber of it calls.
 */
#include <string.h>

#include "lang/emit_inside.h"

struct intrinsic {
    const char *name;
    enum coir_op op;
};

/* rA = op rB, and = op rB rC: all arguments are read. */
static const struct intrinsic readers[] = {
    { "List.len", COIR_OP_LLEN }, { "Text.len", COIR_OP_TLEN }, { "Map.len", COIR_OP_MLEN },
    { "Text.byte", COIR_OP_TBYTE }, { "Map.has", COIR_OP_MHAS }, { "Map.get", COIR_OP_MGETO },
    { "Int.to_float", COIR_OP_ITOF }, { "Float.abs", COIR_OP_FABS }, { "math.sqrt", COIR_OP_FSQRT },
};

static const struct intrinsic *find(const char *name)
{
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (!strcmp(readers[i].name, name))
            return &readers[i];
    return NULL;
}

static void read_into(struct coir_e *e, const struct coir_x *x, enum coir_op op, uint32_t to)
{
    const struct coir_x_arg *const args = x->call.args;
    const bool two = x->call.nargs > 1;
    const uint32_t top = e->top;
    struct coir_e_value a, b = { .reg = 0 };

    a = coir_e_operand(e, args[0].value, !two || !coir_e_changes(args[1].value, args[0].value));
    if (two)
        b = coir_e_operand(e, args[1].value, true);
    coir_e_line(e, x->at);
    coir_e_op(e, op, to, a.reg, b.reg, 0);
    coir_e_done(e, b, e->top);
    coir_e_done(e, a, top);
}

/* xs.push(value) where the list stands. */
static void push(struct coir_e *e, const struct coir_x *x)
{
    const uint32_t top = e->top, held = e->nheld;
    const struct coir_e_place p = coir_e_place_of(e, x->call.args[0].place, NULL,
                                                  x->call.args[1].value);
    const struct coir_e_type *const of = coir_e_arg(e, p.type, 0);
    const bool word = of->flat && of->slots == 1;
    uint32_t value, at;

    if (word)
        value = coir_e_operand(e, x->call.args[1].value, true).reg;
    else
        value = coir_e_fresh(e, x->call.args[1].value);
    coir_e_line(e, x->at);
    if (p.n == 0) {
        coir_e_op(e, word ? COIR_OP_LPUSHW : COIR_OP_LPUSH, p.reg, value, 0, 0);
    } else {
        coir_e_hold(e, of, value);
        at = coir_e_alloc(e, 1);
        coir_e_walk(e, &p, at);
        coir_e_op(e, COIR_OP_PPUSH, at, 0, value, 0);
        coir_e_let_go(e, 1);
    }
    coir_e_drop_to(e, held);
    e->top = top;
}

bool coir_e_intrinsic(struct coir_e *e, const struct coir_x *x, uint32_t to, struct coir_e_value *v)
{
    const struct coir_x_fn *const fn = e->program->fns[x->call.fn];
    const struct intrinsic *found;

    if (fn->kind != COIR_FN_NATIVE)
        return false;
    v->owned = false;
    v->reg = to;
    if (!strcmp(fn->native, "List.push")) {
        push(e, x);
        return true;
    }
    found = find(fn->native);
    if (!found)
        return false;
    if (to == UINT32_MAX)
        v->reg = coir_e_alloc(e, v->type->slots);
    read_into(e, x, found->op, v->reg);
    if (to == UINT32_MAX && !v->type->flat) {
        coir_e_hold(e, v->type, v->reg);
        v->owned = true;
    }
    return true;
}
