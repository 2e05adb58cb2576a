/* SPDX-License-Identifier: MIT */
/*
 * Blocks and statements: see lang/parse.h. A statement that begins with a construct in braces is over at its last `}`;
 * every other is an expression as long as it can be one, and then perhaps an assignment.
 */
#include "lang/parse.h"

/* ---- blocks ---- */

/* Statements to the end of the block. */
static void statements(struct coir_parser *p)
{
    while (p->kind != COIR_T_BRACE_CLOSE && p->kind != COIR_T_END && p->kind != COIR_T_HOLE_CLOSE &&
           !coir_parse_at_declaration(p)) {
        const uint32_t first = p->at;
        bool closed = false;
        if (p->kind != COIR_T_SEMICOLON)
            coir_parse_push(p, coir_parse_statement(p, &closed));
        coir_parse_end(p, first, closed);
        if (p->at == first)
            coir_parse_next(p);                 /* what nothing begins with, and nobody waits for */
    }
}

/* A block whose `{` is missing, which has been reported: what is indented further, or stands on the line. */
static coir_ast unopened(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);
    const uint32_t base = coir_parse_indent(p, p->previous);
    const struct coir_parse_context before = coir_parse_in_braces(p);
    bool closed;

    if (coir_parse_enter(p)) {
        while (p->kind != COIR_T_END && p->kind != COIR_T_BRACE_CLOSE && p->kind != COIR_T_HOLE_CLOSE &&
               !coir_parse_at_declaration(p) && (!p->newline || coir_parse_indent(p, p->at) > base)) {
            const uint32_t start = p->at;
            coir_parse_push(p, coir_parse_statement(p, &closed));
            coir_parse_end(p, start, closed);
            if (p->at == start)
                coir_parse_next(p);
        }
        coir_parse_leave(p);
    }
    if (p->kind == COIR_T_BRACE_CLOSE && p->newline && coir_parse_indent(p, p->at) == base)
        coir_parse_next(p);
    p->context = before;
    return coir_parse_broken(p, first, mark);
}

static void complain_no_block(struct coir_parser *p, const char *of)
{
    char found[64];
    const bool mark = p->kind == COIR_T_COLON || p->kind == COIR_T_ARROW || p->kind == COIR_T_ASSIGN ||
        coir_parse_is_name(p, "then") || coir_parse_is_name(p, "do");

    coir_parse_error(p, COIR_E_NEEDS_BLOCK, p->at, "expected the `{` of %s, not %s", of, coir_parse_found(p, found));
    coir_parse_note(p, "a block stands in `{ }`, also around a single statement");
    if (mark && !p->newline)
        coir_parse_next(p);
}

coir_ast coir_parse_block(struct coir_parser *p, const char *of)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);

    if (p->kind != COIR_T_BRACE_OPEN) {
        complain_no_block(p, of);
        return unopened(p);
    }
    if (of && p->newline && p->context.lines) {
        coir_parse_remark(p, COIR_E_NEEDS_BLOCK, first, "the `{` of %s stands on its own line", of);
        coir_parse_note(p, "a newline ends a statement: put it at the end of the line before");
    }
    const struct coir_parse_context before = coir_parse_in_braces(p);
    coir_parse_next(p);
    p->panic = p->over;
    if (coir_parse_enter(p)) {
        statements(p);
        coir_parse_leave(p);
        const bool closes = p->kind == COIR_T_BRACE_CLOSE;
        coir_parse_close(p, COIR_T_BRACE_CLOSE, first);
        if (closes)
            coir_parse_compare_indent(p, first);
    }
    p->context = before;
    return coir_parse_node(p, COIR_N_BLOCK, first, 0, mark);
}

/* ---- let, assert, assignments ---- */

coir_ast coir_parse_let(struct coir_parser *p)
{
    const uint32_t first = p->at;
    unsigned flags = p->kind == COIR_T_VAR ? COIR_F_VAR : 0;
    coir_ast pattern, type = 0, value = 0;
    char found[64];

    coir_parse_next(p);
    const enum coir_token_kind next = coir_parse_peek(p, 1, NULL);
    if (p->kind == COIR_T_MUT && next != COIR_T_ASSIGN && next != COIR_T_COLON) {
        coir_parse_remark(p, COIR_E_LET_MUT, p->at, "there is no `%s mut`", flags ? "var" : "let");
        coir_parse_note(p, "what changes is declared with `var x = …`");
        flags = COIR_F_VAR;
        coir_parse_next(p);
    }
    pattern = coir_parse_binding(p, flags ? "`var`" : "`let`");
    if (coir_parse_here(p, COIR_T_COLON)) {
        coir_parse_next(p);
        type = coir_parse_type(p);
    }
    if (coir_parse_here(p, COIR_T_ASSIGN)) {
        coir_parse_next(p);
        value = coir_parse_expression(p);
    } else {
        coir_parse_error(p, COIR_E_NO_VALUE, p->at, "expected `=` and a value, not %s", coir_parse_found(p, found));
        coir_parse_note(p, "every variable begins with a value; an optional with `nil`");
    }
    return coir_parse_flag(p, coir_parse_node3(p, COIR_N_LET, first, 0, pattern, type, value), flags);
}

static coir_ast assert_that(struct coir_parser *p)
{
    const uint32_t first = p->at;

    coir_parse_next(p);
    return coir_parse_node1(p, COIR_N_ASSERT, first, 0, coir_parse_expression(p));
}

static bool is_place(const struct coir_parser *p, coir_ast n)
{
    switch (coir_ast_kind(p->tree, n)) {
    case COIR_N_NAME: case COIR_N_SELF: case COIR_N_MEMBER: case COIR_N_INDEX: case COIR_N_ERROR:
        return true;
    default:
        return false;
    }
}

static coir_ast assignment(struct coir_parser *p, coir_ast place)
{
    const uint32_t main = p->at, first = coir_parse_first(p, place);
    const bool tuple = coir_parse_is(p, place, COIR_N_TUPLE);
    coir_ast value;

    if (tuple) {
        coir_parse_error(p, COIR_E_TUPLE_PLACE, first, "a tuple is not assigned to");
        coir_parse_note(p, "take it apart by `let (a, b) = …`, and assign each");
    } else if (!is_place(p, place)) {
        coir_parse_error(p, COIR_E_ASSIGN_PLACE, first, "this is no place that can be assigned");
        coir_parse_note(p, "a place is a variable, with fields and indexes after it%s",
                        coir_parse_is(p, place, COIR_N_BINARY) ? "; compare with `==`" : "");
    }
    const bool good = is_place(p, place);
    coir_parse_next(p);
    value = coir_parse_expression(p);
    return coir_parse_node2(p, good ? COIR_N_ASSIGN : COIR_N_ERROR, first, main, place, value);
}

static coir_ast expression(struct coir_parser *p)
{
    const coir_ast n = coir_parse_binary(p, COIR_S_LOOSEST);

    if (coir_parse_assigns(p->kind) && !(p->newline && p->context.lines))
        return assignment(p, n);
    return coir_parse_tail(p, n);
}

/* ---- what is no statement ---- */

/* `else`, `catch` where none is awaited. */
static coir_ast stray_else(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);
    const bool catches = p->kind == COIR_T_CATCH;

    coir_parse_error(p, COIR_E_ELSE, first, catches ? "this `catch` has no `try` before it" :
                                                      "this `else` has no `if` before it");
    coir_parse_note(p, catches ? "write `try { … } catch e { … }`" :
                    "it stands right behind the `}` of an `if`; in a `match`, all others are `_`");
    coir_parse_next(p);
    if (catches && (p->kind == COIR_T_NAME || p->kind == COIR_T_UNDERSCORE))
        coir_parse_next(p);
    if (p->kind == COIR_T_IF)
        coir_parse_push(p, coir_parse_if(p));
    else if (p->kind == COIR_T_BRACE_OPEN)
        coir_parse_push(p, coir_parse_block(p, NULL));
    return coir_parse_broken(p, first, mark);
}

/* A declaration where statements stand. */
static coir_ast inner_declaration(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);

    coir_parse_error(p, COIR_E_INNER_DECLARATION, first, "what %s declares stands at the top of a module",
                     coir_token_kind_text(p->kind));
    coir_parse_note(p, p->kind == COIR_T_ON ? "`on` stands in an actor; perhaps a `}` is missing above" :
                                              "move it out of the block; perhaps a `}` is missing above");
    coir_parse_push(p, p->kind == COIR_T_ON ? coir_parse_handler(p) : coir_parse_item(p));
    return coir_parse_broken(p, first, mark);
}

static bool declares(const struct coir_parser *p)
{
    const enum coir_token_kind next = coir_parse_peek(p, 1, NULL);

    switch (p->kind) {
    case COIR_T_TYPE: case COIR_T_ACTOR: case COIR_T_TABLE: case COIR_T_ENUM:
        return next == COIR_T_CAPITAL || next == COIR_T_NAME;
    case COIR_T_TEST:
        return next == COIR_T_TEXT_OPEN;
    case COIR_T_USE:
        return next == COIR_T_NAME;
    case COIR_T_PUB: case COIR_T_SHARED: case COIR_T_ON:
        return true;
    default:
        return false;
    }
}

/* `func f(`, `def f(`. */
static bool is_foreign_fn(const struct coir_parser *p)
{
    static const char *const words[] = { "func", "function", "def", "fun", "proc", "sub" };

    if (p->kind != COIR_T_NAME || coir_parse_peek(p, 1, NULL) != COIR_T_NAME ||
            coir_parse_peek(p, 2, NULL) != COIR_T_PAREN_OPEN)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (coir_parse_is_name(p, words[i]))
            return true;
    return false;
}

/* A closing bracket that nobody waits for. */
static coir_ast unopened_bracket(struct coir_parser *p)
{
    coir_parse_error(p, COIR_E_UNOPENED, p->at, "this %s closes nothing", coir_token_kind_text(p->kind));
    coir_parse_note(p, "leave it out, or open it before");
    return coir_parse_leaf(p, COIR_N_ERROR);
}

/* ---- all of them ---- */

static coir_ast loop(struct coir_parser *p)
{
    const uint32_t first = p->at;

    coir_parse_next(p);
    return coir_parse_node1(p, COIR_N_LOOP, first, 0, coir_parse_block(p, "`loop`"));
}

static coir_ast defer(struct coir_parser *p)
{
    const uint32_t first = p->at;

    coir_parse_next(p);
    return coir_parse_node1(p, COIR_N_DEFER, first, 0, coir_parse_block(p, "`defer`"));
}

coir_ast coir_parse_statement(struct coir_parser *p, bool *closed)
{
    *closed = true;
    switch (p->kind) {
    case COIR_T_IF: return coir_parse_if(p);
    case COIR_T_MATCH: return coir_parse_match(p);
    case COIR_T_FOR: return coir_parse_for(p);
    case COIR_T_WHILE: return coir_parse_while(p);
    case COIR_T_LOOP: return loop(p);
    case COIR_T_TRY: return coir_parse_try(p);
    case COIR_T_GROUP: return coir_parse_group(p);
    case COIR_T_WITHIN: return coir_parse_within(p);
    case COIR_T_SELECT: return coir_parse_select(p);
    case COIR_T_DEFER: return defer(p);
    case COIR_T_BRACE_OPEN: return coir_parse_block(p, NULL);
    case COIR_T_ELSE: case COIR_T_CATCH: return stray_else(p);
    default: break;
    }
    if (declares(p))
        return inner_declaration(p);
    *closed = false;
    switch (p->kind) {
    case COIR_T_LET: case COIR_T_VAR: return coir_parse_let(p);
    case COIR_T_ASSERT: return assert_that(p);
    case COIR_T_PAREN_CLOSE: case COIR_T_BRACKET_CLOSE: return unopened_bracket(p);
    default: break;
    }
    return is_foreign_fn(p) ? coir_parse_item(p) : expression(p);
}
