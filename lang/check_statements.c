/* SPDX-License-Identifier: MIT */
/*
 * Blocks and plain statements. A block's value is that of its last statement if it is wanted and there is one; what
 * does not end makes the block not end. Statements have the type () or never.
 */
#include "lang/checker.h"

#include <string.h>

/* ---- several ways to one value ---- */

void coir_merge_begin(struct coir_checker *c, struct coir_merge *m, coir_ty want)
{
    *m = (struct coir_merge){ .want = want, .type = COIR_TY_NEVER, .wanted = want != COIR_NOTHING_WANTED };
    m->decided = m->wanted && want && !coir_info(c, want)->holes;
}

coir_ty coir_merge_want(const struct coir_merge *m)
{
    return !m->wanted || m->decided || m->type == COIR_TY_NEVER || m->type == COIR_TY_ERROR ? m->want : m->type;
}

struct coir_x *coir_merge(struct coir_checker *c, struct coir_merge *m, struct coir_x *x)
{
    if (!m->wanted) {
        if (x->type != COIR_TY_NEVER && m->type != COIR_TY_ERROR)
            m->type = coir_is_error(x) ? COIR_TY_ERROR : COIR_TY_UNIT;
        return x;
    }
    if (m->decided)
        x = coir_fit(c, x, m->want);
    else if (m->type != COIR_TY_NEVER)
        x = coir_fit(c, x, m->type);
    if (x->type != COIR_TY_NEVER && m->type != COIR_TY_ERROR)
        m->type = x->type;
    return coir_keep(c, x);
}

/* ---- blocks ---- */

static void warn_unreached(struct coir_checker *c, const struct coir_x *x)
{
    if (!c->module->asked)
        return;
    coir_say_at(c, COIR_W_UNREACHED, x->at, x->end, "this is never reached");
    coir_note(c, "what stands before it does not end");
}

struct coir_x *coir_check_block(struct coir_checker *c, coir_ast n, coir_ty want)
{
    const struct coir_ast_list list = coir_ast_block_statements(coir_tree_of(c), n);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_BLOCK, COIR_TY_UNIT);
    const struct coir_x **const statements = coir_take(c, (list.count + 1) * sizeof *statements);
    bool ends = true, warned = false;

    coir_scope_open(c);
    for (uint32_t i = 0; i < list.count; i++) {
        const bool last = i + 1 == list.count && want != COIR_NOTHING_WANTED;
        struct coir_x *s = coir_check_expr(c, list.at[i], last ? want : COIR_NOTHING_WANTED);
        if (!ends && !warned) {
            warn_unreached(c, s);
            warned = true;
        }
        if (last && ends && s->type != COIR_TY_UNIT && s->type != COIR_TY_NEVER) {
            s = coir_keep(c, coir_fit(c, s, want));
            x->block.value = s;
            x->type = s->type;
            break;
        }
        if (s->type == COIR_TY_NEVER)
            ends = false;
        statements[x->block.n++] = s;
    }
    coir_scope_close(c);
    x->block.statements = statements;
    if (!ends)
        x->type = COIR_TY_NEVER;
    return x;
}

struct coir_x *coir_check_arm(struct coir_checker *c, coir_ast n, coir_ty want)
{
    struct coir_x *const x = coir_check_expr(c, n, want);

    if (want != COIR_NOTHING_WANTED)
        return coir_keep(c, x);
    if (x->type == COIR_TY_UNIT || x->type == COIR_TY_NEVER || coir_is_error(x))
        return x;
    struct coir_x *const block = coir_x_new(c, n, COIR_X_BLOCK, COIR_TY_UNIT);      /* whose value is dropped */
    const struct coir_x **const statement = coir_take(c, sizeof *statement);
    statement[0] = x;
    block->block.statements = statement;
    block->block.n = 1;
    return block;
}

/* ---- statements ---- */

struct coir_x *coir_check_let(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const coir_ast type = coir_ast_let_type(t, n);
    const coir_ty want = type ? coir_check_type(c, type) : 0;
    struct coir_x *value;

    if (type && coir_info(c, want)->bad && coir_is_shy(c, coir_ast_let_value(t, n)))
        value = coir_x_error(c, n);
    else
        value = coir_check_own(c, coir_ast_let_value(t, n), want);
    if (value->kind == COIR_X_IF && !value->branch.otherwise && value->type == COIR_TY_UNIT) {
        coir_say_at(c, COIR_E_VALUELESS, value->at, value->end, "this gives no value that could be kept");
        coir_note(c, "without an `else`, an `if` gives none");
        value->type = COIR_TY_ERROR;
    }
    struct coir_x *const x = coir_x_new(c, n, COIR_X_LET, COIR_TY_UNIT);
    x->let.value = value;
    x->let.pattern = coir_check_binding(c, coir_ast_let_pattern(t, n), type ? want : value->type, false,
                                        coir_ast_flags(t, n) & COIR_F_VAR ? COIR_LOCAL_VAR : COIR_LOCAL_LET);
    return value->type == COIR_TY_NEVER ? value : x;    /* then nobody is ever given a value */
}

struct coir_x *coir_check_assert(struct coir_checker *c, coir_ast n)
{
    struct coir_x *const x = coir_x_new(c, n, COIR_X_ASSERT, COIR_TY_UNIT);

    x->of = coir_check_as(c, coir_ast_assert_condition(coir_tree_of(c), n), COIR_TY_BOOL);
    return x;
}

static bool in_defer(struct coir_checker *c, coir_ast n, const char *word)
{
    if (!c->body->defers)
        return false;
    coir_say(c, COIR_E_DEFER_EXIT, n, "`%s` cannot leave a `defer`", word);
    coir_note(c, "a `defer` runs while its block is being left: it runs to its end, or traps");
    return true;
}

/* The value of `return`, in a function whose result is b->result. */
static struct coir_x *return_value(struct coir_checker *c, coir_ast n, coir_ast value)
{
    struct coir_body *const b = c->body;

    if (!value) {
        if (b->result == COIR_TY_HOLE)
            b->result = COIR_TY_UNIT;
        if (b->result != COIR_TY_UNIT && !coir_info(c, b->result)->bad) {
            coir_say(c, COIR_E_VALUELESS, n, "`return` needs a value here, %s is wanted", coir_type_text(c, b->result));
        }
        return NULL;
    }
    struct coir_x *x = coir_check_expr(c, value, b->result == COIR_TY_UNIT ? 0 : b->result);
    if (b->result == COIR_TY_HOLE)
        b->result = x->type == COIR_TY_NEVER ? COIR_TY_HOLE : x->type;
    if (b->result == COIR_TY_UNIT && x->type != COIR_TY_UNIT && x->type != COIR_TY_NEVER &&
        !coir_info(c, x->type)->bad) {
        coir_say_at(c, COIR_E_MISMATCH, x->at, x->end, "this is %s, and the function gives nothing",
                    coir_type_text(c, x->type));
        coir_note(c, "declare what it gives: `-> %s`", coir_type_text(c, x->type));
        return x;
    }
    return coir_keep(c, coir_fit(c, x, b->result));
}

struct coir_x *coir_check_return(struct coir_checker *c, coir_ast n)
{
    struct coir_x *const x = coir_x_new(c, n, COIR_X_RETURN, COIR_TY_NEVER);

    in_defer(c, n, "return");
    x->of = return_value(c, n, coir_ast_return_value(coir_tree_of(c), n));
    return x;
}

struct coir_x *coir_check_leave_loop(struct coir_checker *c, coir_ast n)
{
    const bool leaves = coir_ast_is(coir_tree_of(c), n, COIR_N_BREAK);
    const char *const word = leaves ? "break" : "continue";

    if (c->body->loops == 0 && !in_defer(c, n, word)) {
        coir_say(c, COIR_E_OUTSIDE_LOOP, n, "`%s` stands in no loop", word);
        if (c->body->fn->kind == COIR_FN_CLOSURE)
            coir_note(c, "a closure is a function of its own: `return` leaves it");
    }
    c->body->broken |= leaves;
    return coir_x_new(c, n, leaves ? COIR_X_BREAK : COIR_X_CONTINUE, COIR_TY_NEVER);
}

struct coir_x *coir_check_trap(struct coir_checker *c, coir_ast n)
{
    struct coir_x *const x = coir_x_new(c, n, COIR_X_TRAP, COIR_TY_NEVER);
    const struct coir_x *const of = coir_check_expr(c, coir_ast_trap_value(coir_tree_of(c), n), 0);

    if (of->type != COIR_TY_TEXT && of->type != c->typed->trap && of->type != COIR_TY_NEVER &&
        !coir_info(c, of->type)->bad) {
        coir_say_at(c, COIR_E_MISMATCH, of->at, of->end, "this is %s, and a Text or a Trap is wanted",
                    coir_type_text(c, of->type));
        coir_note(c, "give what went wrong as a text: `trap \"…\"`; for codes of your own, return a sum type");
    }
    x->of = of;
    return x;
}

/* ---- loops ---- */

void coir_check_test(struct coir_checker *c, coir_ast n, struct coir_x_test *to)
{
    const struct coir_tree *const t = coir_tree_of(c);

    if (!coir_ast_is(t, n, COIR_N_LET_CONDITION)) {
        *to = (struct coir_x_test){ .value = coir_check_as(c, n, COIR_TY_BOOL) };
        return;
    }
    const struct coir_x *const value = coir_check_expr(c, coir_ast_let_condition_value(t, n), 0);
    coir_ty inside = value->type == COIR_TY_NEVER ? (coir_ty)COIR_TY_NEVER : (coir_ty)COIR_TY_ERROR;
    if (coir_kind(c, value->type) == COIR_TY_OPTION) {
        inside = coir_info(c, value->type)->args[0];
    } else if (!coir_info(c, value->type)->bad && value->type != COIR_TY_NEVER) {
        coir_say_at(c, COIR_E_NOT_OPTIONAL, value->at, value->end,
                    "`if let` and `while let` take an optional, and this is %s",
                    coir_type_text(c, value->type));
        coir_note(c, "it is never nil: write a plain `let`");
    }
    to->value = value;
    to->pattern = coir_check_binding(c, coir_ast_let_condition_pattern(t, n), inside, coir_is_place(value),
                                     COIR_LOCAL_LET);
}

/* The body of a loop, and whether a `break` leaves it. */
static const struct coir_x *loop_body(struct coir_checker *c, coir_ast n, bool *broken)
{
    const bool outer = c->body->broken;

    c->body->broken = false;
    c->body->loops++;
    const struct coir_x *const body = coir_check_block(c, n, COIR_NOTHING_WANTED);
    c->body->loops--;
    if (broken)
        *broken = c->body->broken;
    c->body->broken = outer;
    return body;
}

/* What stands for a statement that is left before it began. */
static struct coir_x *never(struct coir_checker *c, const struct coir_x *value)
{
    struct coir_x *const x = coir_take(c, sizeof *x);

    *x = *value;
    return x;
}

struct coir_x *coir_check_while(struct coir_checker *c, coir_ast n)
{
    struct coir_x *const x = coir_x_new(c, n, COIR_X_WHILE, COIR_TY_UNIT);

    coir_scope_open(c);
    coir_check_test(c, coir_ast_while_condition(coir_tree_of(c), n), &x->loop.test);
    x->loop.body = loop_body(c, coir_ast_while_body(coir_tree_of(c), n), NULL);
    coir_scope_close(c);
    if (x->loop.test.value->type == COIR_TY_NEVER)
        return never(c, x->loop.test.value);
    return x;
}

struct coir_x *coir_check_loop(struct coir_checker *c, coir_ast n)
{
    struct coir_x *const x = coir_x_new(c, n, COIR_X_LOOP, COIR_TY_UNIT);
    bool broken;

    x->loop.body = loop_body(c, coir_ast_loop_body(coir_tree_of(c), n), &broken);
    if (!broken)
        x->type = COIR_TY_NEVER;
    return x;
}

/* What `for` runs over, and what it gives: *first, and of maps *second. */
static void each_over(struct coir_checker *c, struct coir_x *x, coir_ast over, coir_ty *first, coir_ty *second)
{
    const struct coir_tree *const t = coir_tree_of(c);
    struct coir_x_each *const e = &x->each;

    if (coir_ast_is(t, over, COIR_N_RANGE)) {
        e->kind = COIR_EACH_RANGE;
        e->inclusive = coir_ast_flags(t, over) & COIR_F_INCLUSIVE;
        e->value = coir_check_as(c, coir_ast_range_from(t, over), COIR_TY_INT);
        e->to = coir_check_as(c, coir_ast_range_to(t, over), COIR_TY_INT);
        *first = COIR_TY_INT;
        return;
    }
    e->value = coir_check_expr(c, over, 0);
    const struct coir_ty_info *const i = coir_info(c, e->value->type);
    switch (i->kind) {
    case COIR_TY_LIST:
    case COIR_TY_CHAN:
        e->kind = i->kind == COIR_TY_LIST ? COIR_EACH_LIST : COIR_EACH_CHAN;
        *first = i->args[0];
        return;
    case COIR_TY_MAP:
        e->kind = COIR_EACH_MAP;
        *first = i->args[0];
        *second = i->args[1];
        return;
    default:
        if (i->kind == COIR_TY_NEVER)
            *first = *second = COIR_TY_NEVER;
        if (i->bad || i->kind == COIR_TY_NEVER)
            return;
        coir_say_at(c, COIR_E_NOT_ITERABLE, e->value->at, e->value->end, "`for` does not run over %s",
                    coir_type_text(c, e->value->type));
        if (i->kind == COIR_TY_INT)
            coir_note(c, "write a range: `0..n`");
        else if (i->kind == COIR_TY_TEXT)
            coir_note(c, "say over what of it: `.chars()`, `.bytes()`, `.lines()`");
        else
            coir_note(c, "it runs over lists, maps, channels and ranges");
    }
}

struct coir_x *coir_check_for(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const coir_ast second = coir_ast_for_second(t, n);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_FOR, COIR_TY_UNIT);
    coir_ty types[2] = { COIR_TY_ERROR, COIR_TY_ERROR };

    each_over(c, x, coir_ast_for_over(t, n), &types[0], &types[1]);
    const bool map = x->each.kind == COIR_EACH_MAP, known = types[0] != COIR_TY_ERROR && types[0] != COIR_TY_NEVER;
    if (known && map && !second) {
        coir_say(c, COIR_E_TUPLE, coir_ast_for_first(t, n), "a map gives a key and a value");
        coir_note(c, "write `for k, v in …`, or run over `.keys()` or `.values()`");
    } else if (known && !map && second) {
        coir_say(c, COIR_E_TUPLE, second, "only maps give two things");
        coir_note(c, "with positions write `for i in 0..xs.len()`; a tuple is taken apart by `for (a, b) in …`");
    }
    coir_scope_open(c);
    const bool lent = x->each.kind != COIR_EACH_CHAN;
    x->each.pattern = coir_check_binding(c, coir_ast_for_first(t, n), types[0], lent, COIR_LOCAL_LET);
    if (second)
        x->each.second = coir_check_binding(c, second, types[1], lent, COIR_LOCAL_LET);
    x->each.body = loop_body(c, coir_ast_for_body(t, n), NULL);
    coir_scope_close(c);
    return types[0] == COIR_TY_NEVER ? never(c, x->each.value) : x;
}
