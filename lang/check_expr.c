/* SPDX-License-Identifier: MIT */
/*
 * Expressions and statements, one by one: which function checks what, what is allowed in a constant, and the three ways
 * in which a value meets what wants it. coir_fit is the one place where the language converts by itself (T to T?);
 * coir_keep the one where a resource moves.
 */
#include "lang/checker.h"

#include <string.h>

struct coir_x *coir_x_new(struct coir_checker *c, coir_ast n, enum coir_x_kind kind, coir_ty type)
{
    const struct coir_place at = coir_ast_place(coir_tree_of(c), n);
    struct coir_x *const x = coir_take(c, sizeof *x);

    *x = (struct coir_x){ .kind = kind, .type = type, .at = at.start, .end = at.end };
    return x;
}

struct coir_x *coir_x_error(struct coir_checker *c, coir_ast n)
{
    c->failed = true;
    return coir_x_new(c, n, COIR_X_UNIT, COIR_TY_ERROR);
}

coir_ty coir_peel(const struct coir_checker *c, coir_ty ty)
{
    if (ty == COIR_NOTHING_WANTED)
        return 0;
    while (coir_kind(c, ty) == COIR_TY_OPTION)
        ty = coir_info(c, ty)->args[0];
    return ty;
}

bool coir_is_resource(struct coir_checker *c, coir_ty ty)
{
    return coir_ty_is_resource(c->types, ty);
}

/* ---- fitting ---- */

bool coir_fits(struct coir_checker *c, coir_ty from, coir_ty want)
{
    for (;;) {
        if (from == want || from == COIR_TY_NEVER || coir_info(c, from)->bad || coir_info(c, want)->bad)
            return true;
        if (coir_kind(c, want) != COIR_TY_OPTION)
            return false;
        want = coir_info(c, want)->args[0];
    }
}

/* What somebody may have meant. */
static void note_mismatch(struct coir_checker *c, const struct coir_x *x, coir_ty want)
{
    const enum coir_ty_kind from = coir_kind(c, x->type), to = coir_kind(c, want);

    if (from == COIR_TY_OPTION && coir_fits(c, coir_info(c, x->type)->args[0], want))
        coir_note(c, "it may be nil: say what then with `??`, `if let` or `match`");
    else if (from == COIR_TY_INT && to == COIR_TY_FLOAT)
        coir_note(c, x->kind == COIR_X_INT ? "write it with a point: `1.0`" : "write `.to_float()` behind it");
    else if (from == COIR_TY_FLOAT && to == COIR_TY_INT)
        coir_note(c, "write `.to_int()` behind it");
    else if (to == COIR_TY_TEXT)
        coir_note(c, "write it in a text: `\"${…}\"`");
    else if (from == COIR_TY_TEXT && (to == COIR_TY_INT || to == COIR_TY_FLOAT))
        coir_note(c, "`%s(text)` reads a number, and gives an optional", to == COIR_TY_INT ? "Int" : "Float");
    else if (from == COIR_TY_FN && coir_info(c, x->type)->n == 1 && coir_ty_result(c->types, x->type) == want)
        coir_note(c, "call it: write `()` behind it");
    else if (from == COIR_TY_INT && to == COIR_TY_DURATION)
        coir_note(c, "write a unit behind a number: `250ms`, or multiply: `n * 1ms`");
    else if (to == COIR_TY_BOOL && (from == COIR_TY_INT || from == COIR_TY_OPTION))
        coir_note(c, "compare it: `%s`", from == COIR_TY_INT ? "!= 0" : "!= nil");
}

static void say_mismatch(struct coir_checker *c, const struct coir_x *x, coir_ty want)
{
    if (x->type == COIR_TY_UNIT) {
        coir_say_at(c, COIR_E_VALUELESS, x->kind == COIR_X_BLOCK ? x->end - 1 : x->at, x->end,
                    "this gives no value, and %s is wanted", coir_type_text(c, want));
        if (x->kind == COIR_X_IF && !x->branch.otherwise)
            coir_note(c, "without an `else`, an `if` gives none");
        return;
    }
    coir_say_at(c, COIR_E_MISMATCH, x->at, x->end, "this is %s, and %s is wanted", coir_type_text(c, x->type),
                coir_type_text(c, want));
    note_mismatch(c, x, want);
}

struct coir_x *coir_fit(struct coir_checker *c, struct coir_x *x, coir_ty want)
{
    if (want == COIR_TY_ERROR || want == COIR_NOTHING_WANTED || x->type == want || x->type == COIR_TY_NEVER ||
        coir_info(c, want)->holes)
        return x;
    if (!coir_info(c, x->type)->bad && !coir_info(c, want)->bad) {
        if (!coir_fits(c, x->type, want)) {
            say_mismatch(c, x, want);
        } else {
            struct coir_x *const some = coir_take(c, sizeof *some);
            *some = (struct coir_x){ .kind = COIR_X_SOME, .type = want, .at = x->at, .end = x->end };
            some->of = coir_fit(c, x, coir_info(c, want)->args[0]);
            return some;
        }
    }
    struct coir_x *const error = coir_take(c, sizeof *error);
    *error = (struct coir_x){ .kind = COIR_X_UNIT, .type = COIR_TY_ERROR, .at = x->at, .end = x->end };
    return error;
}

static void say_lent(struct coir_checker *c, const struct coir_x *x, const struct coir_x_local *l)
{
    if (l->kind == COIR_LOCAL_PARAM && !l->lent) {
        coir_say_at(c, COIR_E_LENT, x->at, x->end, "`%s` stays the caller's, who lent a place: it cannot be given away",
                    l->name);
        coir_note(c, "let it be an optional, and `.take()` what is in it");
        return;
    }
    coir_say_at(c, COIR_E_LENT, x->at, x->end, "`%s` is only lent here: it cannot be given away, stored or returned",
                l->name);
    coir_diagnose_see(c->d, coir_tree_of(c)->source, l->at, l->end, "it is lent to this name");
    if (l->kind == COIR_LOCAL_PARAM)
        coir_note(c, "declare the parameter as `own %s` to own it", l->name);
    else
        coir_note(c, "take it out of what owns it by `pop`, `remove` or `.take()`, or by a `match` on an owned whole");
}

/* A part that was to be given away: a field of a record or an actor, or an element. */
static void say_part(struct coir_checker *c, const struct coir_x *x)
{
    const bool field = x->kind == COIR_X_FIELD;
    const bool state = field && x->of->kind == COIR_X_LOCAL && coir_is_state(c, x->of->local);
    const char *const type = coir_type_text(c, x->type);

    coir_say_at(c, COIR_E_PART, x->at, x->end, field ? "%s gives its %s up only by `.take()`" :
                "%s gives its %s up only by `pop`, `remove`, `.take()` or `match`",
                state ? "an actor" : field ? "a record" : "a list or map", type);
    if (!field)
        coir_note(c, "a resource has one owner: what contains it keeps it, and lends it");
    else if (coir_kind(c, x->type) == COIR_TY_OPTION)
        coir_note(c, "write `.take()` behind it: the field is nil from then on");
    else
        coir_note(c, "let the field be an optional, `%s?`, and `.take()` what is in it", type);
}

struct coir_x *coir_keep(struct coir_checker *c, struct coir_x *x)
{
    if (x->kind != COIR_X_LOCAL && x->kind != COIR_X_FIELD && x->kind != COIR_X_INDEX && x->kind != COIR_X_SOME)
        return x;
    if (!coir_is_resource(c, x->type))
        return x;
    if (x->kind == COIR_X_SOME) {
        struct coir_x *const inside = coir_take(c, sizeof *inside);
        *inside = *x->of;
        x->of = coir_keep(c, inside);
        return x;
    }
    if (x->kind == COIR_X_LOCAL) {
        const struct coir_x_local *const l = &c->body->locals[x->local];
        if (l->lent || (l->kind == COIR_LOCAL_PARAM && c->body->fn->params[x->local].mode == COIR_MUT))
            say_lent(c, x, l);
        else
            x->kind = COIR_X_MOVE;
        return x;
    }
    say_part(c, x);
    return x;
}

struct coir_x *coir_check_as(struct coir_checker *c, coir_ast n, coir_ty want)
{
    return coir_fit(c, coir_check_expr(c, n, want), want);
}

struct coir_x *coir_check_own(struct coir_checker *c, coir_ast n, coir_ty want)
{
    return coir_keep(c, coir_check_as(c, n, want));
}

/* ---- literals ---- */

static struct coir_x *integer(struct coir_checker *c, coir_ast n, enum coir_x_kind kind, coir_ty type, int64_t value)
{
    struct coir_x *const x = coir_x_new(c, n, kind, type);

    x->integer = value;
    return x;
}

static struct coir_x *plain_text(struct coir_checker *c, coir_ast n, struct coir_ast_list pieces)
{
    const struct coir_tree *const t = coir_tree_of(c);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_TEXT, COIR_TY_TEXT);
    uint32_t room = 1, size = 0;

    for (uint32_t i = 0; i < pieces.count; i++)
        room += coir_ast_word(t, pieces.at[i]).size;
    char *const bytes = coir_take(c, room);
    for (uint32_t i = 0; i < pieces.count; i++)
        size += coir_ast_text(t, pieces.at[i], bytes + size);
    x->text.bytes = bytes;
    x->text.size = size;
    return x;
}

static struct coir_x *check_text(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list pieces = coir_ast_text_pieces(t, n);
    bool plain = true;

    for (uint32_t i = 0; i < pieces.count; i++)
        plain &= coir_ast_is(t, pieces.at[i], COIR_N_TEXT_PART);
    if (plain)
        return plain_text(c, n, pieces);
    const struct coir_x **const items = coir_take(c, pieces.count * sizeof *items);
    for (uint32_t i = 0; i < pieces.count; i++) {
        if (coir_ast_is(t, pieces.at[i], COIR_N_TEXT_PART))
            items[i] = plain_text(c, pieces.at[i], (struct coir_ast_list){ &pieces.at[i], 1 });
        else
            items[i] = coir_check_expr(c, pieces.at[i], 0);
    }
    struct coir_x *const x = coir_x_new(c, n, COIR_X_INTERPOLATION, COIR_TY_TEXT);
    x->items.list = items;
    x->items.n = pieces.count;
    return x;
}

static struct coir_x *check_nil(struct coir_checker *c, coir_ast n, coir_ty want)
{
    if (want == COIR_NOTHING_WANTED || want == COIR_TY_ERROR || want == COIR_TY_HOLE ||
        (coir_kind(c, want) == COIR_TY_OPTION && coir_info(c, want)->holes)) {
        coir_say(c, COIR_E_NEEDS_TYPE, n, "the type of this `nil` is not known here");
        coir_note(c, "say what it may be: `let x: Int? = nil`");
        return coir_x_error(c, n);
    }
    if (coir_kind(c, want) != COIR_TY_OPTION) {
        if (!coir_info(c, want)->bad) {
            coir_say(c, COIR_E_MISMATCH, n, "`nil` is no %s", coir_type_text(c, want));
            coir_note(c, "what may be nil has a type with a `?`");
        }
        return coir_x_error(c, n);
    }
    return coir_x_new(c, n, COIR_X_NIL, want);
}

static struct coir_x *check_number(struct coir_checker *c, coir_ast n)
{
    struct coir_x *const x = coir_x_new(c, n, COIR_X_FLOAT, COIR_TY_FLOAT);

    x->number = coir_ast_float(coir_tree_of(c), n);
    return x;
}

/* ---- what a constant may be made of ---- */

static bool constant_kind(enum coir_ast_kind kind)
{
    switch (kind) {
    case COIR_N_NAME: case COIR_N_INT: case COIR_N_FLOAT: case COIR_N_DURATION: case COIR_N_BOOL: case COIR_N_NIL:
    case COIR_N_TEXT: case COIR_N_LIST: case COIR_N_MAP: case COIR_N_RECORD: case COIR_N_TUPLE: case COIR_N_PAREN:
    case COIR_N_UNARY: case COIR_N_BINARY: case COIR_N_MEMBER: case COIR_N_CLOSURE:
        return true;
    default:
        return false;
    }
}

static bool say_not_constant(struct coir_checker *c, coir_ast n, const struct coir_x *x)
{
    const enum coir_ast_kind kind = coir_ast_kind(coir_tree_of(c), n);

    if (x ? x->kind == COIR_X_VARIANT || coir_is_error(x) :
        constant_kind(kind) || kind == COIR_N_CALL || kind == COIR_N_METHOD)
        return false;
    coir_say(c, COIR_E_CONSTANT, n, "this is not constant: nothing runs before `main`");
    coir_note(c, "constants and defaults are made of literals, operators and other constants");
    return true;
}

/* ---- the switch ---- */

static struct coir_x *check_control(struct coir_checker *c, coir_ast n, coir_ty want)
{
    switch (coir_ast_kind(coir_tree_of(c), n)) {
    case COIR_N_BLOCK: return coir_check_block(c, n, want);
    case COIR_N_IF: return coir_check_if(c, n, want);
    case COIR_N_MATCH: return coir_check_match(c, n, want);
    case COIR_N_TRY: return coir_check_try(c, n, want);
    case COIR_N_WITHIN: return coir_check_within(c, n, want);
    case COIR_N_GROUP: return coir_check_group(c, n, want);
    case COIR_N_LET: return coir_check_let(c, n);
    case COIR_N_ASSIGN: return coir_check_assign(c, n);
    case COIR_N_ASSERT: return coir_check_assert(c, n);
    case COIR_N_RETURN: return coir_check_return(c, n);
    case COIR_N_BREAK: case COIR_N_CONTINUE: return coir_check_leave_loop(c, n);
    case COIR_N_TRAP: return coir_check_trap(c, n);
    case COIR_N_WHILE: return coir_check_while(c, n);
    case COIR_N_LOOP: return coir_check_loop(c, n);
    case COIR_N_FOR: return coir_check_for(c, n);
    case COIR_N_DEFER: return coir_check_defer(c, n);
    case COIR_N_SPAWN: case COIR_N_GROUP_SPAWN: return coir_check_spawn(c, n);
    case COIR_N_SELECT: return coir_check_select(c, n);
    case COIR_N_SEND: return coir_check_tell(c, n);
    case COIR_N_TRANSACTION:
        coir_say(c, COIR_E_NOT_YET, n, "tables and transactions are not there yet");
        return coir_x_error(c, n);
    default:
        return coir_x_error(c, n);      /* an error node: it has been said */
    }
}

static struct coir_x *check_value(struct coir_checker *c, coir_ast n, coir_ty want)
{
    const struct coir_tree *const t = coir_tree_of(c);

    switch (coir_ast_kind(t, n)) {
    case COIR_N_NAME: return coir_check_name(c, n, want);
    case COIR_N_SELF: return coir_check_name(c, n, want);
    case COIR_N_INT: return integer(c, n, COIR_X_INT, COIR_TY_INT, coir_ast_int(t, n));
    case COIR_N_FLOAT: return check_number(c, n);
    case COIR_N_DURATION: return integer(c, n, COIR_X_DURATION, COIR_TY_DURATION, coir_ast_int(t, n));
    case COIR_N_BOOL: return integer(c, n, COIR_X_BOOL, COIR_TY_BOOL, coir_ast_bool(t, n));
    case COIR_N_NIL: return check_nil(c, n, want);
    case COIR_N_TEXT: return check_text(c, n);
    case COIR_N_LIST: return coir_check_list(c, n, want);
    case COIR_N_MAP: return coir_check_map(c, n, want);
    case COIR_N_RECORD: return coir_check_record(c, n, want);
    case COIR_N_TUPLE: return coir_check_tuple(c, n, want);
    case COIR_N_UNARY: return coir_check_unary(c, n);
    case COIR_N_BINARY: return coir_check_binary(c, n, want);
    case COIR_N_CALL: return coir_check_call(c, n, want);
    case COIR_N_METHOD: return coir_check_method(c, n, want);
    case COIR_N_MEMBER: return coir_check_member(c, n, want);
    case COIR_N_INDEX: return coir_check_index(c, n);
    case COIR_N_CLOSURE: return coir_check_closure(c, n, want);
    case COIR_N_CHAN: return coir_check_chan(c, n);
    default: return NULL;
    }
}

struct coir_x *coir_check_expr(struct coir_checker *c, coir_ast n, coir_ty want)
{
    const struct coir_tree *const t = coir_tree_of(c);

    while (coir_ast_is(t, n, COIR_N_PAREN))
        n = coir_ast_paren_inner(t, n);
    if (c->body->constant && say_not_constant(c, n, NULL))
        return coir_x_error(c, n);
    struct coir_x *const x = check_value(c, n, want == COIR_NOTHING_WANTED ? 0 : want);
    if (!x)
        return check_control(c, n, want);
    if (c->body->constant && (coir_ast_is(t, n, COIR_N_CALL) || coir_ast_is(t, n, COIR_N_METHOD)) &&
        say_not_constant(c, n, x))
        return coir_x_error(c, n);
    return x;
}
