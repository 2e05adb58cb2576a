/* SPDX-License-Identifier: MIT */
/*
 * Places: what is assigned, and changed by `mut`. A place is first checked as the expression it also is; here the
 * expression is turned round, from its root to its end. Whether it may be changed is decided by the root alone.
 */
#include "lang/checker.h"

/* Why the local cannot be changed. */
static void say_fixed(struct coir_checker *c, const struct coir_x *root, const struct coir_x_local *l, const char *verb)
{
    const struct coir_source *const source = coir_tree_of(c)->source;

    switch (l->kind) {
    case COIR_LOCAL_CAPTURE:
        coir_say_at(c, COIR_E_CAPTURED, root->at, root->end, "`%s` cannot be %s in a closure, which has its own copy",
                    l->name, verb);
        coir_diagnose_see(c->d, source, l->at, l->end, l->field ? "it is a field of the actor" :
                          "it belongs to the function around it");
        coir_note(c, "give the new value back, or send it over a channel");
        return;
    case COIR_LOCAL_PARAM:
        if (c->body->fn->actor && root->local == 1) {
            coir_say_at(c, COIR_E_FIXED, root->at, root->end, "`self` cannot be %s: it is the handle of the actor",
                        verb);
            coir_note(c, "the fields of the actor are known by their names alone");
            return;
        }
        coir_say_at(c, COIR_E_FIXED, root->at, root->end, "`%s` cannot be %s: it is a parameter", l->name, verb);
        coir_diagnose_see(c->d, source, l->at, l->end, "it is declared here");
        coir_note(c, "declare it as `mut %s`, or copy it into a `var`", l->name);
        return;
    default:
        coir_say_at(c, COIR_E_FIXED, root->at, root->end, "`%s` cannot be %s: it is no `var`", l->name, verb);
        coir_diagnose_see(c->d, source, l->at, l->end, "it is declared here");
        coir_note(c, "declare it by `var %s`", l->name);
    }
}

static bool root_changes(struct coir_checker *c, const struct coir_x *root, const char *verb)
{
    if (root->kind == COIR_X_GLOBAL) {
        coir_say_at(c, COIR_E_FIXED, root->at, root->end, "a constant cannot be %s", verb);
        coir_note(c, "copy it into a `var`");
        return false;
    }
    if (root->kind != COIR_X_LOCAL) {
        coir_say_at(c, COIR_E_FIXED, root->at, root->end, "this is no place that can be %s", verb);
        coir_note(c, "keep the value in a `var`, and change that");
        return false;
    }
    const struct coir_x_local *const l = &c->body->locals[root->local];
    if (l->kind == COIR_LOCAL_VAR)
        return true;
    if (l->kind == COIR_LOCAL_PARAM && c->body->fn->params[root->local].mode == COIR_MUT)
        return true;
    say_fixed(c, root, l, verb);
    return false;
}

static void fill_step(struct coir_checker *c, struct coir_x_step *s, const struct coir_x *x)
{
    s->type = x->type;
    s->at = x->at;
    s->end = x->end;
    if (x->kind == COIR_X_FIELD) {
        s->kind = COIR_STEP_FIELD;
        s->field = x->index;
    } else {
        s->kind = coir_kind(c, x->pair.a->type) == COIR_TY_MAP ? COIR_STEP_KEY : COIR_STEP_ELEMENT;
        s->index = x->pair.b;
    }
}

static const struct coir_x *inner(const struct coir_x *x)
{
    return x->kind == COIR_X_FIELD ? x->of : x->kind == COIR_X_INDEX ? x->pair.a : NULL;
}

struct coir_x_place *coir_check_place(struct coir_checker *c, const struct coir_x *x, const char *verb)
{
    const struct coir_x *root = x;
    uint32_t n = 0;

    if (coir_is_error(x))
        return NULL;
    for (; inner(root); root = inner(root))
        n++;
    if (!root_changes(c, root, verb))
        return NULL;
    struct coir_x_place *const p = coir_take(c, sizeof *p);
    struct coir_x_step *const steps = coir_take(c, (n + 1) * sizeof *steps);
    *p = (struct coir_x_place){ .root = root->local, .nsteps = n, .steps = steps, .type = x->type, .at = x->at,
                                .end = x->end };
    for (const struct coir_x *at = x; inner(at); at = inner(at))
        fill_step(c, &steps[--n], at);
    return p;
}

/* ---- assignment ---- */

/* A map's element that is assigned is not read: that it is named does not make a local used. */
static void forget_use(struct coir_checker *c, const struct coir_x *target, bool compound)
{
    if (target->kind == COIR_X_LOCAL && !compound && c->body->uses[target->local])
        c->body->uses[target->local]--;
}

struct coir_x *coir_check_assign(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const enum coir_x_op op = coir_op_of(coir_ast_operator(t, n));
    const struct coir_x *const target = coir_check_expr(c, coir_ast_assign_place(t, n), 0);

    forget_use(c, target, op != COIR_XOP_NONE);
    if (coir_is_error(target) && coir_is_shy(c, coir_ast_assign_value(t, n)))
        return coir_x_error(c, n);
    struct coir_x *const value = op == COIR_XOP_NONE ? coir_check_own(c, coir_ast_assign_value(t, n), target->type) :
                                 coir_check_expr(c, coir_ast_assign_value(t, n), target->type);
    struct coir_x_place *const place = coir_check_place(c, target, "assigned");
    if (!place || coir_is_error(value))
        return coir_x_error(c, n);
    if (op != COIR_XOP_NONE) {
        const coir_ty ty = coir_check_arith(c, n, op, target->type, value->type);
        if (ty == COIR_TY_ERROR)
            return coir_x_error(c, n);
        if (ty != target->type) {
            coir_say(c, COIR_E_MISMATCH, n, "this gives %s, and %s is wanted", coir_type_text(c, ty),
                     coir_type_text(c, target->type));
            return coir_x_error(c, n);
        }
    }
    struct coir_x *const x = coir_x_new(c, n, COIR_X_ASSIGN, COIR_TY_UNIT);
    x->assign.place = place;
    x->assign.op = op;
    x->assign.value = value;
    return x;
}
