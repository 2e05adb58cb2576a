/* SPDX-License-Identifier: MIT */
/*
 * Types: see lang/parse.h. What other languages write for a type is told what it is here.
 */
#include "lang/parse.h"

#include <string.h>

/* A type that other languages have; NULL if it is none that is known. */
static const char *meant(const struct coir_parser *p, uint32_t token)
{
    static const struct { const char *text, *here; } types[] = {
        { "int", "Int" }, { "i64", "Int" }, { "int64", "Int" }, { "i32", "Int" }, { "u64", "Int" }, { "u8", "Int" },
        { "long", "Int" }, { "uint", "Int" }, { "size_t", "Int" }, { "usize", "Int" }, { "byte", "Int" },
        { "char", "Text" }, { "float", "Float" }, { "double", "Float" }, { "f64", "Float" }, { "float64", "Float" },
        { "bool", "Bool" }, { "boolean", "Bool" }, { "string", "Text" }, { "str", "Text" }, { "text", "Text" },
        { "list", "List[T]" }, { "vec", "List[T]" }, { "array", "List[T]" }, { "map", "Map[K, V]" },
        { "dict", "Map[K, V]" }, { "duration", "Duration" }, { "func", "fn(A) -> B" },
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (coir_parse_token_is(p, token, types[i].text))
            return types[i].here;
    return NULL;
}

/* `List<Int>`: passed to the `>`. */
static void angles(struct coir_parser *p)
{
    unsigned open = 0;

    coir_parse_error(p, COIR_E_TYPE, p->at, "type arguments stand in `[ ]`");
    coir_parse_note(p, "write `List[Int]`");
    do {
        open += p->kind == COIR_T_LESS;
        open -= p->kind == COIR_T_GREATER && open > 0;
        open -= p->kind == COIR_T_SHIFT_RIGHT ? open < 2 ? open : 2 : 0;
        coir_parse_next(p);
    } while (open > 0 && !p->newline && p->kind != COIR_T_BRACE_OPEN && p->kind != COIR_T_PAREN_CLOSE);
}

/* Pushes the arguments, from `[` to `]`. */
static void type_args(struct coir_parser *p)
{
    const uint32_t open = p->at;
    const struct coir_parse_context before = coir_parse_in_brackets(p);

    coir_parse_next(p);
    if (p->kind == COIR_T_BRACKET_CLOSE) {
        coir_parse_error(p, COIR_E_TYPE, open, "there is nothing between `[` and `]`");
        coir_parse_note(p, "a list of T is `List[T]`");
    }
    if (coir_parse_enter(p)) {
        while (p->kind != COIR_T_BRACKET_CLOSE && p->kind != COIR_T_END) {
            coir_parse_push(p, coir_parse_type(p));
            if (!coir_parse_comma(p, COIR_T_BRACKET_CLOSE))
                break;
        }
        coir_parse_leave(p);
        coir_parse_close(p, COIR_T_BRACKET_CLOSE, open);
    }
    p->context = before;
}

/* The name of a type, a small one reported. */
static uint32_t type_word(struct coir_parser *p)
{
    const uint32_t token = p->at;
    const char *const here = meant(p, token);

    if (p->kind == COIR_T_NAME && here) {
        coir_parse_remark(p, COIR_E_CAPITAL, token, "the name of a type begins with a capital");
        coir_parse_note(p, "write `%s`", here);
        coir_parse_next(p);
        return token;
    }
    return coir_parse_name(p, true, "a type");
}

static coir_ast named(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);
    bool newline;

    if (p->kind == COIR_T_NAME && coir_parse_peek(p, 1, &newline) == COIR_T_DOT && !newline) {
        coir_parse_push(p, coir_parse_leaf(p, COIR_N_NAME));
        coir_parse_next(p);
    } else {
        coir_parse_push(p, 0);
    }
    const uint32_t name = type_word(p);
    if (coir_parse_here(p, COIR_T_BRACKET_OPEN))
        type_args(p);
    else if (coir_parse_here(p, COIR_T_LESS))
        angles(p);
    return coir_parse_node(p, name ? COIR_N_TYPE_NAME : COIR_N_ERROR, first, name, mark);
}

/* A parameter of a function type: a type alone. */
static coir_ast type_param(struct coir_parser *p)
{
    const uint32_t first = p->at;
    const enum coir_token_kind next = coir_parse_peek(p, 1, NULL);
    unsigned flags = 0;

    if (p->kind == COIR_T_MUT || p->kind == COIR_T_OWN) {
        flags = p->kind == COIR_T_MUT ? COIR_F_MUT : COIR_F_OWN;
        coir_parse_next(p);
    } else if (p->kind == COIR_T_NAME && next == COIR_T_COLON) {
        coir_parse_remark(p, COIR_E_PARAMETER, first, "the parameters of a function type have no names");
        coir_parse_note(p, "write `fn(Int) -> Int`");
        coir_parse_next(p);
        coir_parse_next(p);
    }
    const coir_ast type = coir_parse_type(p);
    return coir_parse_flag(p, coir_parse_node1(p, COIR_N_PARAM, first, 0, type), flags);
}

/* Types in parentheses, each by `item`, as a node of this kind. */
static coir_ast in_parentheses(struct coir_parser *p, enum coir_ast_kind kind, coir_ast (*item)(struct coir_parser *p),
                               bool *tuple)
{
    const uint32_t open = p->at, mark = coir_parse_mark(p);
    const struct coir_parse_context before = coir_parse_in_brackets(p);

    coir_parse_next(p);
    *tuple = p->kind == COIR_T_PAREN_CLOSE;
    if (coir_parse_enter(p)) {
        while (p->kind != COIR_T_PAREN_CLOSE && p->kind != COIR_T_END) {
            coir_parse_push(p, item(p));
            if (!coir_parse_comma(p, COIR_T_PAREN_CLOSE))
                break;
            *tuple = true;
        }
        coir_parse_leave(p);
        coir_parse_close(p, COIR_T_PAREN_CLOSE, open);
    }
    p->context = before;
    if (kind == COIR_N_TYPE_TUPLE && !*tuple)
        kind = COIR_N_TYPE_PAREN;
    return coir_parse_node(p, kind, open, 0, mark);
}

static coir_ast function(struct coir_parser *p)
{
    const uint32_t first = p->at;
    coir_ast params, result = 0;
    bool tuple;

    coir_parse_next(p);
    if (p->kind != COIR_T_PAREN_OPEN) {
        coir_parse_error(p, COIR_E_TYPE, p->at, "a function type has its parameters in `( )`");
        coir_parse_note(p, "write `fn(A) -> B`, or `fn()`");
        return coir_parse_broken(p, first, coir_parse_mark(p));
    }
    params = in_parentheses(p, COIR_N_PARAMS, type_param, &tuple);
    if (coir_parse_here(p, COIR_T_GIVES)) {
        coir_parse_next(p);
        if (coir_parse_enter(p)) {
            result = coir_parse_type(p);
            coir_parse_leave(p);
        }
    }
    return coir_parse_node2(p, COIR_N_TYPE_FN, first, 0, params, result);
}

/* Reports that no type begins here. */
static coir_ast nothing(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);
    char found[64];

    coir_parse_error(p, COIR_E_TYPE, first, "expected a type, not %s", coir_parse_found(p, found));
    if (p->kind == COIR_T_BRACKET_OPEN) {
        coir_parse_note(p, "a list is `List[T]`, a map `Map[K, V]`");
        coir_parse_skip_brackets(p);
        if (p->kind == COIR_T_CAPITAL && !p->newline)
            coir_parse_next(p);
    } else if (p->kind == COIR_T_AMPERSAND || p->kind == COIR_T_TIMES || p->kind == COIR_T_MUT) {
        coir_parse_note(p, "there are no references: a parameter that changes what it is given is `mut x: T`");
        while (p->kind == COIR_T_AMPERSAND || p->kind == COIR_T_TIMES || p->kind == COIR_T_MUT)
            coir_parse_next(p);
        if (p->kind == COIR_T_CAPITAL || p->kind == COIR_T_NAME)
            coir_parse_push(p, named(p));
    } else if (p->kind == COIR_T_QUESTION) {
        coir_parse_note(p, "the `?` of an optional stands behind: `T?`");
        coir_parse_next(p);
        if (p->kind == COIR_T_CAPITAL)
            coir_parse_push(p, named(p));
    } else if (p->kind == COIR_T_NIL) {
        coir_parse_note(p, "the type of no value is `()`");
        coir_parse_next(p);
    } else {
        coir_parse_note(p, "types are `Int`, `List[T]`, `(A, B)`, `T?`, `fn(A) -> B`");
    }
    return coir_parse_broken(p, first, mark);
}

coir_ast coir_parse_type(struct coir_parser *p)
{
    const uint32_t first = p->at;
    const bool word = coir_token_is_word(p->kind) && p->kind != COIR_T_MUT && p->kind != COIR_T_NIL && !p->newline;
    bool tuple;
    coir_ast n;

    if (p->kind == COIR_T_FN)
        return function(p);
    if (p->kind == COIR_T_PAREN_OPEN)
        n = in_parentheses(p, COIR_N_TYPE_TUPLE, coir_parse_type, &tuple);
    else if (p->kind == COIR_T_NAME || p->kind == COIR_T_CAPITAL || word)
        n = named(p);
    else if (p->kind == COIR_T_BAD)
        n = coir_parse_leaf(p, COIR_N_ERROR);
    else
        return nothing(p);
    while (!p->over && (coir_parse_here(p, COIR_T_QUESTION) || coir_parse_here(p, COIR_T_OR_ELSE))) {
        const uint32_t mark = p->at;
        const bool twice = p->kind == COIR_T_OR_ELSE;
        coir_parse_next(p);
        n = coir_parse_node1(p, COIR_N_TYPE_OPTIONAL, first, mark, n);
        if (twice)
            n = coir_parse_node1(p, COIR_N_TYPE_OPTIONAL, first, mark, n);
    }
    if (coir_parse_here(p, COIR_T_BRACKET_OPEN) && coir_parse_peek(p, 1, NULL) == COIR_T_BRACKET_CLOSE)
        type_args(p);
    if (coir_parse_here(p, COIR_T_BAR)) {
        coir_parse_error(p, COIR_E_TYPE, p->at, "a sum has a name");
        coir_parse_note(p, "declare it: `type S = Circle(r: Float) | Empty`");
    }
    if (coir_parse_here(p, COIR_T_GIVES) && p->tokens[first].kind == COIR_T_PAREN_OPEN) {
        coir_parse_error(p, COIR_E_TYPE, first, "a function type begins with `fn`");
        coir_parse_note(p, "write `fn(A) -> B`");
    }
    return n;
}
