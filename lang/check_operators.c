/* SPDX-License-Identifier: MIT */
/*
 * Operators. A row of them is one node of the tree and becomes one node here. Nothing is converted by itself: both
 * sides have one type, but a T beside a T? is compared as one.
 */
#include "lang/checker.h"

#include <string.h>

enum coir_x_op coir_op_of(enum coir_token_kind token)
{
    switch (token) {
    case COIR_T_PLUS: case COIR_T_PLUS_ASSIGN: return COIR_XOP_ADD;
    case COIR_T_MINUS: case COIR_T_MINUS_ASSIGN: return COIR_XOP_SUB;
    case COIR_T_TIMES: case COIR_T_TIMES_ASSIGN: return COIR_XOP_MUL;
    case COIR_T_SLASH: case COIR_T_SLASH_ASSIGN: return COIR_XOP_DIV;
    case COIR_T_PERCENT: case COIR_T_PERCENT_ASSIGN: return COIR_XOP_REM;
    case COIR_T_BAR: return COIR_XOP_BIT_OR;
    case COIR_T_CARET: return COIR_XOP_BIT_XOR;
    case COIR_T_AMPERSAND: return COIR_XOP_BIT_AND;
    case COIR_T_SHIFT_LEFT: return COIR_XOP_SHIFT_LEFT;
    case COIR_T_SHIFT_RIGHT: return COIR_XOP_SHIFT_RIGHT;
    case COIR_T_EQUAL: return COIR_XOP_EQ;
    case COIR_T_UNEQUAL: return COIR_XOP_NE;
    case COIR_T_LESS: return COIR_XOP_LT;
    case COIR_T_LESS_EQUAL: return COIR_XOP_LE;
    case COIR_T_GREATER: return COIR_XOP_GT;
    case COIR_T_GREATER_EQUAL: return COIR_XOP_GE;
    default: return COIR_XOP_NONE;
    }
}

/* ---- arithmetic ---- */

static coir_ty of_durations(enum coir_x_op op, enum coir_ty_kind a, enum coir_ty_kind b)
{
    if (a == COIR_TY_DURATION && b == COIR_TY_DURATION) {
        if (op == COIR_XOP_ADD || op == COIR_XOP_SUB || op == COIR_XOP_REM)
            return COIR_TY_DURATION;
        return op == COIR_XOP_DIV ? COIR_TY_INT : COIR_TY_ERROR;
    }
    if (a == COIR_TY_DURATION && b == COIR_TY_INT)
        return op == COIR_XOP_MUL || op == COIR_XOP_DIV ? COIR_TY_DURATION : COIR_TY_ERROR;
    if (a == COIR_TY_INT && b == COIR_TY_DURATION)
        return op == COIR_XOP_MUL ? COIR_TY_DURATION : COIR_TY_ERROR;
    return COIR_TY_ERROR;
}

static coir_ty arith_type(struct coir_checker *c, enum coir_x_op op, coir_ty a, coir_ty b)
{
    const enum coir_ty_kind ka = coir_kind(c, a), kb = coir_kind(c, b);

    if (ka == COIR_TY_INT && kb == COIR_TY_INT)
        return COIR_TY_INT;
    if (ka == COIR_TY_FLOAT && kb == COIR_TY_FLOAT && op <= COIR_XOP_REM)
        return COIR_TY_FLOAT;
    if (op == COIR_XOP_ADD && a == b && (ka == COIR_TY_TEXT || (ka == COIR_TY_LIST && !coir_is_resource(c, a))))
        return a;
    return of_durations(op, ka, kb);
}

static void note_arith(struct coir_checker *c, enum coir_x_op op, coir_ty a, coir_ty b)
{
    const enum coir_ty_kind ka = coir_kind(c, a), kb = coir_kind(c, b);
    const bool numbers = (ka == COIR_TY_INT && kb == COIR_TY_FLOAT) || (ka == COIR_TY_FLOAT && kb == COIR_TY_INT);

    if (numbers)
        coir_note(c, "convert one of them: `.to_float()`, `.to_int()`");
    else if (op == COIR_XOP_ADD && (ka == COIR_TY_TEXT || kb == COIR_TY_TEXT))
        coir_note(c, "write it in a text: `\"${…}\"`");
    else if (op == COIR_XOP_MUL && ka == COIR_TY_TEXT && kb == COIR_TY_INT)
        coir_note(c, "say `.repeat(n)`");
    else if (op == COIR_XOP_ADD && ka == COIR_TY_LIST && coir_info(c, a)->args[0] == b)
        coir_note(c, "add one to a list by `.push(x)`, or as a list: `[x]`");
    else if (ka == COIR_TY_OPTION || kb == COIR_TY_OPTION)
        coir_note(c, "it may be nil: say what then with `??`, `if let` or `match`");
    else if ((ka == COIR_TY_DURATION && kb == COIR_TY_INT) || (ka == COIR_TY_INT && kb == COIR_TY_DURATION))
        coir_note(c, "write a unit behind the number, or multiply it: `n * 1ms`");
    else if (ka == COIR_TY_LIST && coir_is_resource(c, a))
        coir_note(c, "lists of resources cannot be copied; `push` and `pop` move");
}

/* What one operand makes be expected of the other: of one that leaves, nothing. */
static coir_ty like(coir_ty other)
{
    return other == COIR_TY_NEVER ? 0 : other;
}

coir_ty coir_check_arith(struct coir_checker *c, coir_ast at, enum coir_x_op op, coir_ty a, coir_ty b)
{
    if (coir_info(c, a)->bad || coir_info(c, b)->bad)
        return COIR_TY_ERROR;
    if (a == COIR_TY_NEVER || b == COIR_TY_NEVER)
        return a == COIR_TY_NEVER ? b : a;
    const coir_ty ty = arith_type(c, op, a, b);
    if (ty == COIR_TY_ERROR) {
        const struct coir_word w = coir_ast_word(coir_tree_of(c), at);
        coir_say_main(c, COIR_E_OPERATOR, at, "`%.*s` is not defined on %s and %s", (int)w.size, w.text,
                      coir_type_text(c, a), coir_type_text(c, b));
        note_arith(c, op, a, b);
    }
    return ty;
}

static struct coir_x *check_arith_row(struct coir_checker *c, coir_ast n, struct coir_ast_list list, coir_ty want)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const uint32_t count = list.count / 2;
    struct coir_x *const x = coir_x_new(c, n, COIR_X_ARITH, COIR_TY_ERROR);
    struct coir_x_arith_step *const steps = coir_take(c, (count + 1) * sizeof *steps);
    const struct coir_x *const first = coir_check_expr(c, list.at[0], coir_peel(c, want));
    coir_ty type = first->type;

    for (uint32_t i = 0; i < count; i++) {
        const coir_ast op = list.at[2 * i + 1];
        const struct coir_place at = coir_ast_place(t, op);
        struct coir_x_arith_step *const s = &steps[i];
        s->op = coir_op_of(coir_ast_operator(t, op));
        s->operand = coir_check_expr(c, list.at[2 * i + 2], like(type));
        s->type = type = coir_check_arith(c, op, s->op, type, s->operand->type);
        s->at = at.start;
        s->end = at.end;
    }
    x->type = type;
    x->arith.first = first;
    x->arith.steps = steps;
    x->arith.n = count;
    return x;
}

/* ---- comparisons ---- */

/* == on what holds type parameters: what they will be given must have one. */
static void mark_compared(struct coir_checker *c, coir_ty ty)
{
    const struct coir_ty_info *const i = coir_info(c, ty);

    if (i->kind == COIR_TY_PARAM && c->item && c->item->types && i->param < c->item->fn->ntypes)
        c->item->types[i->param].compared = true;
    for (uint32_t k = 0; i->open && k < i->n; k++) {
        if (i->kind != COIR_TY_DECL || i->decl->holds[k])
            mark_compared(c, i->args[k]);
    }
}

static struct coir_x *check_is_nil(struct coir_checker *c, coir_ast n, coir_ast value, bool negated)
{
    struct coir_x *const x = coir_x_new(c, n, COIR_X_IS_NIL, COIR_TY_BOOL);
    const struct coir_x *const of = coir_check_expr(c, value, 0);

    if (coir_info(c, of->type)->bad)
        return coir_x_error(c, n);
    if (coir_kind(c, of->type) != COIR_TY_OPTION && of->type != COIR_TY_NEVER) {
        coir_say(c, COIR_E_NOT_OPTIONAL, n, "%s is never nil", coir_type_text(c, of->type));
        return coir_x_error(c, n);
    }
    x->index = negated;
    x->of = of;
    return x;
}

static bool can_compare(struct coir_checker *c, coir_ast op, enum coir_x_op how, coir_ty ty)
{
    if (how <= COIR_XOP_NE) {
        if (coir_ty_is_comparable(c->types, ty, NULL)) {
            mark_compared(c, ty);
            return true;
        }
        coir_say_main(c, COIR_E_COMPARE, op, "%s cannot be compared", coir_type_text(c, ty));
        coir_note(c, "functions and resources have no ==");
        return false;
    }
    if (coir_ty_is_ordered(c->types, ty, c->params))
        return true;
    coir_say_main(c, COIR_E_COMPARE, op, "%s has no order", coir_type_text(c, ty));
    if (coir_kind(c, ty) == COIR_TY_PARAM)
        coir_note(c, "write `%s: Ord` where it is declared", coir_type_text(c, ty));
    else if (coir_kind(c, ty) == COIR_TY_OPTION)
        coir_note(c, "it may be nil: say what then with `??`, `if let` or `match`");
    else
        coir_note(c, "Int, Float, Text, Bool, Duration and tuples of them are ordered");
    return false;
}

static struct coir_x *check_comparison(struct coir_checker *c, coir_ast n, struct coir_ast_list list)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const coir_ast op = list.at[1];
    const enum coir_x_op how = coir_op_of(coir_ast_operator(t, op));
    struct coir_x *a, *b;

    if (how <= COIR_XOP_NE && coir_ast_is(t, list.at[2], COIR_N_NIL))
        return check_is_nil(c, n, list.at[0], how == COIR_XOP_NE);
    if (how <= COIR_XOP_NE && coir_ast_is(t, list.at[0], COIR_N_NIL))
        return check_is_nil(c, n, list.at[2], how == COIR_XOP_NE);
    if (coir_is_shy(c, list.at[0])) {
        b = coir_check_expr(c, list.at[2], 0);
        a = coir_check_expr(c, list.at[0], like(b->type));
    } else {
        a = coir_check_expr(c, list.at[0], 0);
        b = coir_check_expr(c, list.at[2], like(a->type));
    }
    if (coir_info(c, a->type)->bad || coir_info(c, b->type)->bad)
        return coir_x_error(c, n);
    const coir_ty ty = coir_fits(c, b->type, a->type) ? a->type : b->type;
    if (!coir_fits(c, a->type, ty)) {
        const struct coir_word w = coir_ast_word(t, op);
        coir_say_main(c, COIR_E_OPERATOR, op, "`%.*s` is not defined on %s and %s", (int)w.size, w.text,
                      coir_type_text(c, a->type), coir_type_text(c, b->type));
        note_arith(c, COIR_XOP_NONE, a->type, b->type);
        return coir_x_error(c, n);
    }
    if (!can_compare(c, op, how, ty))
        return coir_x_error(c, n);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_COMPARE, COIR_TY_BOOL);
    x->op = how;
    x->pair.a = coir_fit(c, a, ty);
    x->pair.b = coir_fit(c, b, ty);
    return x;
}

/* ---- and, or, not, minus ---- */

static struct coir_x *check_logic(struct coir_checker *c, coir_ast n, struct coir_ast_list list, enum coir_x_kind kind)
{
    struct coir_x *const x = coir_x_new(c, n, kind, COIR_TY_BOOL);
    const uint32_t count = list.count / 2 + 1;
    const struct coir_x **const items = coir_take(c, count * sizeof *items);

    for (uint32_t i = 0; i < count; i++)
        items[i] = coir_check_as(c, list.at[2 * i], COIR_TY_BOOL);
    x->items.list = items;
    x->items.n = count;
    return x;
}

static struct coir_x *check_minus(struct coir_checker *c, coir_ast n, coir_ast operand)
{
    struct coir_x *const of = coir_check_expr(c, operand, 0);
    const enum coir_ty_kind kind = coir_kind(c, of->type);

    if (of->kind == COIR_X_INT || of->kind == COIR_X_DURATION) {
        struct coir_x *const x = coir_x_new(c, n, of->kind, of->type);
        x->integer = (int64_t)(0 - (uint64_t)of->integer);
        return x;
    }
    if (of->kind == COIR_X_FLOAT) {
        struct coir_x *const x = coir_x_new(c, n, COIR_X_FLOAT, COIR_TY_FLOAT);
        x->number = -of->number;
        return x;
    }
    if (coir_info(c, of->type)->bad)
        return coir_x_error(c, n);
    if (kind != COIR_TY_INT && kind != COIR_TY_FLOAT && kind != COIR_TY_DURATION && kind != COIR_TY_NEVER) {
        coir_say_main(c, COIR_E_OPERATOR, n, "`-` is not defined on %s", coir_type_text(c, of->type));
        return coir_x_error(c, n);
    }
    struct coir_x *const x = coir_x_new(c, n, COIR_X_NEG, of->type);
    x->of = of;
    return x;
}

struct coir_x *coir_check_unary(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const coir_ast operand = coir_ast_unary_operand(t, n);

    if (coir_ast_operator(t, n) != COIR_T_NOT)
        return check_minus(c, n, operand);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_NOT, COIR_TY_BOOL);
    x->of = coir_check_as(c, operand, COIR_TY_BOOL);
    return x;
}

/* ---- ?? ---- */

/* One operand that is not the last: what is inside of it, if it is not nil; ERROR after a report. */
static coir_ty inside_of(struct coir_checker *c, const struct coir_x *x)
{
    if (coir_kind(c, x->type) == COIR_TY_OPTION)
        return coir_info(c, x->type)->args[0];
    if (!coir_info(c, x->type)->bad && x->type != COIR_TY_NEVER) {
        coir_say_at(c, COIR_E_NOT_OPTIONAL, x->at, x->end, "what stands before `??` must be optional, and this is %s",
                    coir_type_text(c, x->type));
        coir_note(c, "it is never nil: leave `??` and what follows out");
    }
    return COIR_TY_ERROR;
}

/* The last operand: as what is inside of the one before it, or as that is. */
static struct coir_x *else_last(struct coir_checker *c, coir_ast n, coir_ty before, coir_ty liked)
{
    const coir_ty inside = coir_info(c, before)->args[0];
    const bool whole = coir_ast_is(coir_tree_of(c), n, COIR_N_NIL) || (liked == before && !coir_is_shy(c, n));
    struct coir_x *const x = coir_check_expr(c, n, whole ? before : inside);

    return x->type == before && !coir_fits(c, before, inside) ? x : coir_fit(c, x, inside);
}

static struct coir_x *else_node(struct coir_checker *c, coir_ast n, const struct coir_x **items, uint32_t from,
                                uint32_t end, coir_ty type)
{
    const struct coir_x **const list = coir_take(c, (end - from) * sizeof *list);

    memcpy(list, items + from, (end - from) * sizeof *list);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_ELSE, type);
    x->at = items[from]->at;
    x->items.list = list;
    x->items.n = end - from;
    return x;
}

/* a ?? (b ?? c), from the right: one node as long as what stands before is of its type R, or R?. */
static struct coir_x *else_fold(struct coir_checker *c, coir_ast n, const struct coir_x **items, uint32_t count)
{
    uint32_t end = count;
    coir_ty type = items[count - 1]->type;

    for (uint32_t i = count - 1; i-- > 0;) {
        const coir_ty inside = coir_info(c, items[i]->type)->args[0];
        if (type == COIR_TY_NEVER)
            type = inside;
        if (type == inside || type == items[i]->type)
            continue;
        if (!coir_fits(c, type, inside)) {
            coir_say_at(c, COIR_E_MISMATCH, items[i]->at, items[i]->end, "this is %s, and what follows `??` is %s",
                        coir_type_text(c, items[i]->type), coir_type_text(c, type));
            return coir_x_error(c, n);
        }
        struct coir_x *rest = coir_take(c, sizeof *rest);
        *rest = *items[i + 1];
        if (end - i > 2)
            rest = else_node(c, n, items, i + 1, end, type);
        items[i + 1] = coir_fit(c, rest, inside);
        end = i + 2;
        type = inside;
    }
    return else_node(c, n, items, 0, end, type);
}

static struct coir_x *check_else(struct coir_checker *c, coir_ast n, struct coir_ast_list list, coir_ty want)
{
    const uint32_t count = list.count / 2 + 1;
    const struct coir_x **const items = coir_take_scratch(c, count * sizeof *items);
    const coir_ty liked = coir_info(c, want)->holes ? 0 : want;
    const coir_ty hint = liked ? coir_made(c, coir_ty_option(c->types, coir_peel(c, liked)), 0, 0) : 0;
    bool bad = false;

    for (uint32_t i = 0; i + 1 < count; i++) {
        struct coir_x *const x = coir_check_expr(c, list.at[2 * i], hint);
        bad |= x->type != COIR_TY_NEVER && inside_of(c, x) == COIR_TY_ERROR;
        items[i] = coir_keep(c, x);
        if (x->type == COIR_TY_NEVER && !bad)           /* what stands behind it is never asked */
            return i ? else_fold(c, n, items, i + 1) : x;
    }
    if (bad) {
        if (!coir_is_shy(c, list.at[list.count - 1]))
            coir_check_expr(c, list.at[list.count - 1], liked);
        return coir_x_error(c, n);
    }
    struct coir_x *const last = else_last(c, list.at[list.count - 1], items[count - 2]->type, liked);
    if (coir_is_error(last))
        return coir_x_error(c, n);
    items[count - 1] = coir_keep(c, last);
    return else_fold(c, n, items, count);
}

struct coir_x *coir_check_binary(struct coir_checker *c, coir_ast n, coir_ty want)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list list = coir_ast_binary_list(t, n);
    const enum coir_token_kind op = coir_ast_operator(t, list.at[1]);

    switch (op) {
    case COIR_T_AND:
        return check_logic(c, n, list, COIR_X_AND);
    case COIR_T_OR:
        return check_logic(c, n, list, COIR_X_OR);
    case COIR_T_OR_ELSE:
        return check_else(c, n, list, want);
    default:
        return coir_op_of(op) >= COIR_XOP_EQ ? check_comparison(c, n, list) : check_arith_row(c, n, list, want);
    }
}
