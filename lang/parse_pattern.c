/* SPDX-License-Identifier: MIT */
/*
 * Patterns of `match`, and what `let` and `for` bind: see lang/parse.h.
 */
#include "lang/parse.h"

/* ---- let and for: names, `_`, tuples of these ---- */

static coir_ast refuse_pattern(struct coir_parser *p, const char *of)
{
    const uint32_t first = p->at;
    const bool list = p->kind != COIR_T_CAPITAL;

    coir_parse_error(p, COIR_E_PATTERN_FORM, first, "%s takes names and tuples of names", of);
    coir_parse_note(p, list ? "take it apart by its fields, or by `get`" :
                    "open a variant by `match`; an optional by `if let x = …`, whose `x` is the value inside");
    if (list) {
        coir_parse_skip_brackets(p);
        return coir_parse_broken(p, first, coir_parse_mark(p));
    }
    return coir_parse_node1(p, COIR_N_ERROR, first, 0, coir_parse_pattern(p));
}

static coir_ast binding_tuple(struct coir_parser *p, const char *of)
{
    const uint32_t open = p->at, mark = coir_parse_mark(p);
    const struct coir_parse_context before = coir_parse_in_brackets(p);

    coir_parse_next(p);
    if (coir_parse_enter(p)) {
        while (p->kind != COIR_T_PAREN_CLOSE && p->kind != COIR_T_END) {
            coir_parse_push(p, coir_parse_binding(p, of));
            if (!coir_parse_comma(p, COIR_T_PAREN_CLOSE))
                break;
        }
        coir_parse_leave(p);
        coir_parse_close(p, COIR_T_PAREN_CLOSE, open);
    }
    p->context = before;
    return coir_parse_node(p, COIR_N_TUPLE_PATTERN, open, 0, mark);
}

coir_ast coir_parse_binding(struct coir_parser *p, const char *of)
{
    const enum coir_token_kind next = coir_parse_peek(p, 1, NULL);
    const uint32_t first = p->at;
    char found[64];

    if (p->kind == COIR_T_UNDERSCORE)
        return coir_parse_leaf(p, COIR_N_ANY);
    if (p->kind == COIR_T_PAREN_OPEN)
        return binding_tuple(p, of);
    if (p->kind == COIR_T_BRACKET_OPEN || p->kind == COIR_T_BRACE_OPEN)
        return refuse_pattern(p, of);
    if (p->kind == COIR_T_CAPITAL && (next == COIR_T_PAREN_OPEN || next == COIR_T_DOT || next == COIR_T_BRACE_OPEN))
        return refuse_pattern(p, of);
    if (p->kind == COIR_T_MUT && (next == COIR_T_NAME || next == COIR_T_CAPITAL || next == COIR_T_PAREN_OPEN)) {
        coir_parse_remark(p, COIR_E_LET_MUT, first, "names are not bound as `mut`");
        coir_parse_note(p, "declare what changes with `var x = …`");
        coir_parse_next(p);
    }
    if (p->kind == COIR_T_NAME || p->kind == COIR_T_CAPITAL || (coir_token_is_word(p->kind) && p->kind != COIR_T_IN)) {
        const uint32_t name = coir_parse_name(p, false, "a variable");
        return coir_parse_node(p, name ? COIR_N_BIND : COIR_N_ERROR, first, name, coir_parse_mark(p));
    }
    coir_parse_error(p, COIR_E_PATTERN, p->at, "expected a name, not %s", coir_parse_found(p, found));
    coir_parse_note(p, "%s takes a name, `_`, or a tuple of names", of);
    if (p->kind == COIR_T_BAD)
        coir_parse_next(p);
    return coir_parse_broken(p, first, coir_parse_mark(p));
}

/* ---- match ---- */

static void refuse_range(struct coir_parser *p)
{
    if ((p->kind != COIR_T_DOTS && p->kind != COIR_T_DOTS_EQUAL) || p->newline)
        return;
    coir_parse_error(p, COIR_E_PATTERN_FORM, p->at, "a range is no pattern");
    coir_parse_note(p, "write a guard: `n if n >= a and n < b => …`");
    while (p->kind == COIR_T_DOTS || p->kind == COIR_T_DOTS_EQUAL || p->kind == COIR_T_MINUS ||
           (p->kind >= COIR_T_INT && p->kind <= COIR_T_DURATION))
        coir_parse_next(p);
}

static coir_ast literal(struct coir_parser *p)
{
    const uint32_t first = p->at;
    const bool number = p->kind >= COIR_T_INT && p->kind <= COIR_T_DURATION;
    coir_ast n;

    if (p->kind == COIR_T_TEXT_OPEN) {
        n = coir_parse_text(p, true);
    } else {
        if (number)
            coir_parse_check_literal(p, p->at);
        n = coir_parse_leaf(p, p->kind == COIR_T_INT ? COIR_N_INT : p->kind == COIR_T_FLOAT ? COIR_N_FLOAT :
                            p->kind == COIR_T_DURATION ? COIR_N_DURATION : COIR_N_BOOL);
    }
    n = coir_parse_node1(p, COIR_N_LITERAL_PATTERN, first, 0, n);
    refuse_range(p);
    return n;
}

static coir_ast negative(struct coir_parser *p)
{
    const uint32_t first = p->at;
    coir_ast n;

    coir_parse_next(p);
    if (p->kind < COIR_T_INT || p->kind > COIR_T_DURATION) {
        coir_parse_error(p, COIR_E_PATTERN, p->at, "behind `-` stands a number");
        coir_parse_note(p, "compare with what is computed in a guard: `n if n == -x => …`");
        return coir_parse_broken(p, first, coir_parse_mark(p));
    }
    n = coir_parse_leaf(p, p->kind == COIR_T_INT ? COIR_N_INT : p->kind == COIR_T_FLOAT ? COIR_N_FLOAT :
                        COIR_N_DURATION);
    n = coir_parse_node1(p, COIR_N_UNARY, first, first, n);
    n = coir_parse_node1(p, COIR_N_LITERAL_PATTERN, first, 0, n);
    refuse_range(p);
    return n;
}

/* Pushes the patterns, from `(` to `)`. */
static void pattern_list(struct coir_parser *p, bool *tuple)
{
    const uint32_t open = p->at;
    const struct coir_parse_context before = coir_parse_in_brackets(p);

    coir_parse_next(p);
    *tuple = p->kind == COIR_T_PAREN_CLOSE;
    if (coir_parse_enter(p)) {
        while (p->kind != COIR_T_PAREN_CLOSE && p->kind != COIR_T_END) {
            coir_parse_push(p, coir_parse_pattern(p));
            if (p->kind == COIR_T_COLON) {
                coir_parse_error(p, COIR_E_PATTERN_FORM, p->at, "the values of a variant have no names in a pattern");
                coir_parse_note(p, "write them in their order: `Rect(w, h)`");
            }
            if (!coir_parse_comma(p, COIR_T_PAREN_CLOSE))
                break;
            *tuple = true;
        }
        coir_parse_leave(p);
        coir_parse_close(p, COIR_T_PAREN_CLOSE, open);
    }
    p->context = before;
}

static coir_ast variant(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);
    uint32_t name = p->at;
    bool tuple, module = p->kind == COIR_T_NAME;

    if (!module && coir_parse_peek(p, 1, NULL) == COIR_T_DOT) {
        coir_parse_remark(p, COIR_E_PATTERN_FORM, first, "a variant stands without its type");
        coir_parse_note(p, "write `Circle(r)`; of another module, `mod.Circle(r)`");
        coir_parse_next(p);
        coir_parse_next(p);
    }
    coir_parse_push(p, module ? coir_parse_leaf(p, COIR_N_NAME) : 0);
    if (module)
        coir_parse_next(p);
    name = coir_parse_name(p, true, "a variant");
    if (coir_parse_here(p, COIR_T_PAREN_OPEN)) {
        pattern_list(p, &tuple);
    } else if (coir_parse_here(p, COIR_T_BRACE_OPEN)) {
        coir_parse_error(p, COIR_E_PATTERN_FORM, first, "there are no patterns of records");
        coir_parse_note(p, "bind the whole, and read its fields: `p if p.x == 0 => …`");
        coir_parse_skip_brackets(p);
    }
    return coir_parse_node(p, name ? COIR_N_VARIANT_PATTERN : COIR_N_ERROR, first, name, mark);
}

static coir_ast parentheses(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);
    bool tuple;

    pattern_list(p, &tuple);
    return coir_parse_node(p, tuple ? COIR_N_TUPLE_PATTERN : COIR_N_PAREN_PATTERN, first, 0, mark);
}

/* Reports that no pattern begins here. */
static coir_ast nothing(struct coir_parser *p)
{
    const uint32_t first = p->at;
    char found[64];

    if (p->kind == COIR_T_BRACKET_OPEN || p->kind == COIR_T_BRACE_OPEN) {
        coir_parse_error(p, COIR_E_PATTERN_FORM, first, "there are no patterns of lists, maps and records");
        coir_parse_note(p, "match on what is asked of it: `match (xs.len(), xs.first()) { … }`");
        coir_parse_skip_brackets(p);
    } else if (p->kind == COIR_T_DOTS || p->kind == COIR_T_DOTS_EQUAL) {
        refuse_range(p);
    } else if (coir_token_is_word(p->kind) && !p->newline) {
        coir_parse_error(p, COIR_E_RESERVED, first, "%s is a reserved word, and no pattern",
                         coir_token_kind_text(p->kind));
        coir_parse_note(p, "take another name");
        coir_parse_next(p);
    } else {
        coir_parse_error(p, COIR_E_PATTERN, first, "expected a pattern, not %s", coir_parse_found(p, found));
        coir_parse_note(p, "patterns are literals, names, `_`, `nil`, tuples, and variants");
        if (p->kind == COIR_T_BAD)
            coir_parse_next(p);
    }
    return coir_parse_broken(p, first, coir_parse_mark(p));
}

static coir_ast name(struct coir_parser *p)
{
    const uint32_t first = p->at;
    bool newline;
    const enum coir_token_kind next = coir_parse_peek(p, 1, &newline);

    if (next == COIR_T_DOT || (next == COIR_T_PAREN_OPEN && !newline)) {
        if (next == COIR_T_DOT)
            return variant(p);
        const uint32_t mark = coir_parse_mark(p);
        bool tuple;
        coir_parse_name(p, true, "a variant");
        pattern_list(p, &tuple);
        return coir_parse_broken(p, first, mark);
    }
    if (coir_parse_is_name(p, "null") || coir_parse_is_name(p, "undefined") || coir_parse_is_name(p, "nullptr")) {
        coir_parse_remark(p, COIR_E_NULL_WORD, first, "there is no `null`");
        coir_parse_note(p, "the missing value of a `T?` is `nil`");
    }
    return coir_parse_leaf(p, COIR_N_BIND);
}

static coir_ast single(struct coir_parser *p)
{
    switch (p->kind) {
    case COIR_T_UNDERSCORE: return coir_parse_leaf(p, COIR_N_ANY);
    case COIR_T_NIL: return coir_parse_leaf(p, COIR_N_NIL_PATTERN);
    case COIR_T_NAME: return name(p);
    case COIR_T_CAPITAL: return variant(p);
    case COIR_T_PAREN_OPEN: return parentheses(p);
    case COIR_T_MINUS: return negative(p);
    case COIR_T_INT: case COIR_T_FLOAT: case COIR_T_DURATION: case COIR_T_TEXT_OPEN: case COIR_T_TRUE:
    case COIR_T_FALSE: return literal(p);
    default: return nothing(p);
    }
}

coir_ast coir_parse_pattern(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);
    const coir_ast n = single(p);

    if (p->kind != COIR_T_BAR || (p->newline && p->context.lines))
        return n;
    coir_parse_push(p, n);
    while (p->kind == COIR_T_BAR && !(p->newline && p->context.lines)) {
        coir_parse_next(p);
        coir_parse_push(p, single(p));
    }
    return coir_parse_node(p, COIR_N_OR_PATTERN, first, 0, mark);
}
