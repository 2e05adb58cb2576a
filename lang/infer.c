/* SPDX-License-Identifier: MIT */
/*
 * The type arguments of a call, a record, a variant. Operands are checked from the left, and what they are decides;
 * those that need to be told (shy ones) wait until the others have spoken, and what is wanted of the result is asked
 * last. There are no unknowns in types that anybody keeps: a COIR_TY_HOLE only stands in what is wanted.
 */
#include "lang/checker.h"

#include <string.h>

void coir_infer_begin(struct coir_checker *c, struct coir_inference *f, uint32_t n, const struct coir_ty_param *params)
{
    coir_ty *const found = coir_take(c, (n + 1) * sizeof *found);

    for (uint32_t i = 0; i < n; i++)
        found[i] = COIR_TY_HOLE;
    *f = (struct coir_inference){ .n = n, .params = params, .found = found };
}

coir_ty coir_infer_apply(struct coir_checker *c, const struct coir_inference *f, coir_ty ty, coir_ast at)
{
    const struct coir_place place = coir_ast_place(coir_tree_of(c), at);

    if (f->n == 0 || !coir_info(c, ty)->open)
        return ty;
    for (uint32_t i = 0; i < f->n; i++) {
        if (coir_info(c, f->found[i])->bad)
            return COIR_TY_ERROR;
    }
    return coir_made(c, coir_ty_apply(c->types, ty, f->n, f->found), place.start, place.end);
}

bool coir_infer_match(struct coir_checker *c, struct coir_inference *f, coir_ty pattern, coir_ty actual)
{
    const struct coir_ty_info *const p = coir_info(c, pattern), *const a = coir_info(c, actual);

    if (!p->open || a->kind == COIR_TY_NEVER || a->kind == COIR_TY_HOLE)
        return true;
    if (p->kind == COIR_TY_PARAM) {
        if (p->param >= f->n || a->holes)
            return true;
        if (f->found[p->param] == COIR_TY_HOLE)
            f->found[p->param] = actual;
        return f->found[p->param] == actual;
    }
    if (a->kind == COIR_TY_ERROR) {
        for (uint32_t k = 0; k < p->n; k++)
            coir_infer_match(c, f, p->args[k], actual);
        return true;
    }
    if (p->kind == a->kind && p->n == a->n && p->decl == a->decl) {
        bool good = true;
        for (uint32_t k = 0; k < p->n; k++)
            good &= coir_infer_match(c, f, p->args[k], a->args[k]);
        return good;
    }
    return p->kind == COIR_TY_OPTION && coir_infer_match(c, f, p->args[0], actual);
}

bool coir_infer_end(struct coir_checker *c, struct coir_inference *f, coir_ast n, const char *what)
{
    const struct coir_place at = coir_ast_main_place(coir_tree_of(c), n);
    bool good = true;

    for (uint32_t i = 0; i < f->n; i++) {
        const coir_ty ty = f->found[i];
        if (ty == COIR_TY_HOLE) {
            coir_say_main(c, COIR_E_INFER, n, "what `%s` of `%s` is cannot be told from this", f->params[i].name, what);
            coir_note(c, "say it where the result goes: `let x: T = …`");
            return false;
        }
        if (coir_info(c, ty)->bad)
            return false;
        if (!f->params[i].resources && coir_is_resource(c, ty)) {
            coir_say_main(c, COIR_E_GENERIC_RESOURCE, n, "`%s` of `%s` stands for values, and %s is a resource",
                     f->params[i].name, what, coir_type_text(c, ty));
            coir_note(c, strncmp(what, "List.", 5) && strncmp(what, "Map.", 4) ?
                      "write a function for this type; one that shall keep it takes it by `own`" :
                      "lists and maps of resources have push, insert, pop, remove, len and `for`");
            good = false;
        } else {
            good &= coir_check_bound(c, &f->params[i], ty, at.start, at.end);
        }
    }
    return good;
}

/* ---- operands ---- */

static bool untyped_closure(const struct coir_tree *t, coir_ast n)
{
    const struct coir_ast_list params = coir_ast_params_list(t, coir_ast_closure_params(t, n));

    for (uint32_t i = 0; i < params.count; i++) {
        if (!coir_ast_param_type(t, params.at[i]))
            return true;
    }
    return false;
}

bool coir_is_shy(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);

    while (coir_ast_is(t, n, COIR_N_PAREN))
        n = coir_ast_paren_inner(t, n);
    switch (coir_ast_kind(t, n)) {
    case COIR_N_NIL:
        return true;
    case COIR_N_LIST:
        return coir_ast_list_items(t, n).count == 0 || coir_is_shy(c, coir_ast_list_items(t, n).at[0]);
    case COIR_N_MAP:
        return coir_ast_map_entries(t, n).count == 0;
    case COIR_N_CLOSURE:
        return untyped_closure(t, n);
    default:
        return false;
    }
}

/* What is wanted of a shy operand has nothing open that it needs: of a function the parameters, of the rest all. */
static bool is_told(struct coir_checker *c, coir_ty want)
{
    const struct coir_ty_info *const i = coir_info(c, coir_peel(c, want));

    if (i->kind != COIR_TY_FN)
        return !coir_info(c, want)->holes;
    for (uint32_t k = 0; k + 1 < i->n; k++) {
        if (coir_info(c, i->args[k])->holes)
            return false;
    }
    return true;
}

static void check_operand(struct coir_checker *c, struct coir_inference *f, struct coir_operand *o)
{
    const coir_ty want = coir_infer_apply(c, f, o->pattern, o->node);

    if (!o->x)
        o->x = coir_info(c, want)->bad && coir_is_shy(c, o->node) ? coir_x_error(c, o->node) :
               coir_check_expr(c, o->node, want);
    if (coir_infer_match(c, f, o->pattern, o->x->type))
        return;
    const coir_ty now = coir_infer_apply(c, f, o->pattern, o->node);
    if (!coir_info(c, now)->holes)
        return;                         /* the form fits, or it is seen when all is known */
    coir_say_at(c, COIR_E_MISMATCH, o->x->at, o->x->end, "this is %s, and %s is wanted", coir_type_text(c, o->x->type),
                coir_type_text(c, now));
    o->x = coir_x_error(c, o->node);
}

/* When all is known: each as its pattern says. */
static bool settle_operands(struct coir_checker *c, struct coir_inference *f, struct coir_operand *list, uint32_t n,
                            coir_ast at)
{
    bool good = true;

    for (uint32_t i = 0; i < n; i++) {
        struct coir_operand *const o = &list[i];
        if (o->mode != COIR_MUT)
            o->x = coir_fit(c, o->x, coir_infer_apply(c, f, o->pattern, at));
        if (o->mode == COIR_OWN)
            o->x = coir_keep(c, o->x);
        good &= !coir_is_error(o->x);
    }
    return good;
}

bool coir_infer_operands(struct coir_checker *c, struct coir_inference *f, struct coir_operand *list, uint32_t n,
                         coir_ty result, coir_ty want, coir_ast at, const char *what)
{
    bool waiting = false, bad = false;

    for (uint32_t i = 0; i < n; i++) {
        if (!list[i].x && coir_is_shy(c, list[i].node) &&
            !is_told(c, coir_infer_apply(c, f, list[i].pattern, list[i].node)))
            waiting = true;
        else
            check_operand(c, f, &list[i]);
    }
    if (want && !coir_info(c, want)->bad && want != COIR_NOTHING_WANTED) {
        coir_ty *const found = coir_take_scratch(c, (f->n + 1) * sizeof *found);
        struct coir_inference wanted = { .n = f->n, .params = f->params, .found = found };
        for (uint32_t i = 0; i < f->n; i++)
            found[i] = COIR_TY_HOLE;
        coir_infer_match(c, &wanted, result, want);
        for (uint32_t i = 0; i < f->n; i++) {
            if (f->found[i] == COIR_TY_HOLE)
                f->found[i] = found[i];
        }
    }
    for (uint32_t i = 0; waiting && i < n; i++) {
        if (!list[i].x)
            check_operand(c, f, &list[i]);
    }
    for (uint32_t i = 0; i < n; i++)
        bad |= coir_info(c, list[i].x->type)->bad;
    if (bad || !coir_infer_end(c, f, at, what))
        return false;
    return settle_operands(c, f, list, n, at);
}
