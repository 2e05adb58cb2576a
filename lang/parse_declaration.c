/* SPDX-License-Identifier: MIT */
/*
 * A module and what it declares: see lang/parse.h. What stands outside of a declaration is parsed as a statement, and
 * reported once for the whole file.
 */
#include "lang/parse.h"

/* ---- use, test ---- */

static coir_ast module_name(struct coir_parser *p)
{
    const uint32_t first = p->at;

    if (p->kind == COIR_T_TEXT_OPEN) {
        coir_parse_error(p, COIR_E_EXPECTED, first, "a module is named without quotes");
        coir_parse_note(p, "write `use net`; a file beside this one is named without `.coir`");
        return coir_parse_text(p, false);
    }
    const uint32_t name = coir_parse_name(p, false, "a module");
    if (coir_parse_here(p, COIR_T_DOT) || coir_parse_here(p, COIR_T_SLASH) || coir_parse_is_name(p, "as")) {
        coir_parse_error(p, COIR_E_EXPECTED, p->at, "a module is named by one word, which it keeps");
        coir_parse_note(p, "write `use net`; what it exports is then `net.listen`");
    }
    return coir_parse_node(p, name ? COIR_N_NAME : COIR_N_ERROR, first, name, coir_parse_mark(p));
}

static coir_ast use(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);

    coir_parse_next(p);
    do
        coir_parse_push(p, module_name(p));
    while (coir_parse_here(p, COIR_T_COMMA) && coir_parse_accept(p, COIR_T_COMMA));
    return coir_parse_node(p, COIR_N_USE, first, 0, mark);
}

static coir_ast test(struct coir_parser *p)
{
    const uint32_t first = p->at;
    coir_ast name = 0;
    char found[64];

    coir_parse_next(p);
    if (p->kind == COIR_T_TEXT_OPEN) {
        name = coir_parse_text(p, true);
    } else {
        coir_parse_error(p, COIR_E_EXPECTED, p->at, "expected the name of the test, not %s",
                         coir_parse_found(p, found));
        coir_parse_note(p, "write `test \"what holds\" { assert … }`");
        if (p->kind == COIR_T_NAME || p->kind == COIR_T_CAPITAL)
            coir_parse_next(p);
    }
    return coir_parse_node2(p, COIR_N_TEST, first, 0, name, coir_parse_block(p, "`test`"));
}

/* ---- types ---- */

static coir_ast variant_field(struct coir_parser *p)
{
    const enum coir_token_kind next = coir_parse_peek(p, 1, NULL);
    const uint32_t first = p->at;

    if (next == COIR_T_COLON)
        return coir_parse_field(p, false, false);
    return coir_parse_node3(p, COIR_N_FIELD, first, 0, 0, coir_parse_type(p), 0);
}

static coir_ast variant(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);
    const uint32_t name = coir_parse_name(p, true, "a variant");
    const struct coir_parse_context before = p->context;

    if (coir_parse_here(p, COIR_T_PAREN_OPEN)) {
        const uint32_t open = p->at;
        coir_parse_in_brackets(p);
        coir_parse_next(p);
        while (p->kind != COIR_T_PAREN_CLOSE && p->kind != COIR_T_END) {
            coir_parse_push(p, variant_field(p));
            if (!coir_parse_comma(p, COIR_T_PAREN_CLOSE))
                break;
        }
        if (coir_parse_mark(p) == mark && p->kind == COIR_T_PAREN_CLOSE) {
            coir_parse_remark(p, COIR_E_EXPECTED, open, "a variant without values has no parentheses");
            coir_parse_note(p, "leave them out");
        }
        coir_parse_close(p, COIR_T_PAREN_CLOSE, open);
        p->context = before;
    } else if (coir_parse_here(p, COIR_T_BRACE_OPEN)) {
        coir_parse_error(p, COIR_E_EXPECTED, p->at, "the values of a variant stand in parentheses");
        coir_parse_note(p, "write `Circle(r: Float)`");
        coir_parse_skip_brackets(p);
    }
    return coir_parse_node(p, name ? COIR_N_VARIANT : COIR_N_ERROR, first, name, mark);
}

/* `type A = List[Int]`, `type A = Int`: there are no aliases. */
static bool is_alias(const struct coir_parser *p)
{
    static const char *const types[] = { "Int", "Float", "Bool", "Text", "Duration" };
    bool newline;
    const enum coir_token_kind next = coir_parse_peek(p, 1, &newline);

    if (p->kind == COIR_T_FN || p->kind == COIR_T_PAREN_OPEN || (p->kind == COIR_T_NAME && next == COIR_T_DOT))
        return true;
    if (p->kind != COIR_T_CAPITAL)
        return false;
    if (!newline && (next == COIR_T_BRACKET_OPEN || next == COIR_T_QUESTION || next == COIR_T_OR_ELSE))
        return true;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (coir_parse_token_is(p, p->at, types[i]) && (newline || next == COIR_T_BAR || next == COIR_T_END))
            return true;
    return false;
}

static void pass_leading_bar(struct coir_parser *p)
{
    if (p->kind != COIR_T_BAR)
        return;
    coir_parse_remark(p, COIR_E_SEPARATOR, p->at, "a line does not begin with `|`");
    coir_parse_note(p, "put it at the end of the line before");
    coir_parse_next(p);
}

/* The variants, behind `=`. */
static enum coir_ast_kind variants(struct coir_parser *p)
{
    if (p->kind == COIR_T_BRACE_OPEN) {
        coir_parse_error(p, COIR_E_EXPECTED, p->at, "a record has no `=` before its `{`");
        coir_parse_note(p, "write `type P { x: Int }`");
        coir_parse_skip_brackets(p);
        return COIR_N_ERROR;
    }
    if (is_alias(p)) {
        coir_parse_error(p, COIR_E_ALIAS, p->at, "a type has one name");
        coir_parse_note(p, "use the type itself, or put it into a record: `type P { x: T }`");
        coir_parse_type(p);
        return COIR_N_ERROR;
    }
    do {
        pass_leading_bar(p);
        coir_parse_push(p, variant(p));
    } while (p->kind == COIR_T_BAR && (!p->newline || coir_parse_peek(p, 1, NULL) == COIR_T_CAPITAL) &&
             (p->newline || coir_parse_accept(p, COIR_T_BAR)));
    if (!p->newline && p->kind == COIR_T_COMMA) {
        coir_parse_error(p, COIR_E_SEPARATOR, p->at, "variants are separated by `|`, not by `,`");
        coir_parse_note(p, "write `type Shape = Circle(r: Float) | Empty`");
    }
    return COIR_N_SUM_TYPE;
}

/* `{ Red, Green }`. */
static bool has_variants(const struct coir_parser *p)
{
    const enum coir_token_kind third = coir_parse_peek(p, 2, NULL);

    return coir_parse_peek(p, 1, NULL) == COIR_T_CAPITAL &&
        (third == COIR_T_COMMA || third == COIR_T_BRACE_CLOSE || third == COIR_T_PAREN_OPEN || third == COIR_T_BAR);
}

static coir_ast type(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);
    enum coir_ast_kind kind = COIR_N_RECORD_TYPE;
    unsigned flags = 0;
    char found[64];

    coir_parse_next(p);
    const uint32_t name = coir_parse_name(p, true, "a type");
    coir_parse_push(p, coir_parse_type_params(p));
    if (p->kind == COIR_T_BRACE_OPEN && has_variants(p)) {
        coir_parse_error(p, COIR_E_ENUM, p->at, "the variants of a type do not stand in braces");
        coir_parse_note(p, "write `type Color = Red | Green | Blue`");
        coir_parse_skip_brackets(p);
        kind = COIR_N_ERROR;
    } else if (p->kind == COIR_T_BRACE_OPEN && !p->newline) {
        coir_parse_members(p, COIR_OF_RECORD, "a type");
    } else if (coir_parse_here(p, COIR_T_ASSIGN)) {
        coir_parse_next(p);
        kind = variants(p);
    } else if (p->options.natives && p->newline) {
        flags = COIR_F_NATIVE;
    } else {
        coir_parse_error(p, COIR_E_EXPECTED, p->at, "expected `{` or `=` after the name of the type, not %s",
                         coir_parse_found(p, found));
        coir_parse_note(p, "write `type P { x: Int }`, or `type Shape = Circle(r: Float) | Empty`");
        if (p->kind == COIR_T_BRACE_OPEN)
            coir_parse_members(p, COIR_OF_RECORD, "a type");
    }
    return coir_parse_flag(p, coir_parse_node(p, name ? kind : COIR_N_ERROR, first, name, mark), flags);
}

static coir_ast shared(struct coir_parser *p)
{
    const uint32_t first = p->at;
    coir_ast n;

    coir_parse_next(p);
    if (p->kind != COIR_T_TYPE) {
        coir_parse_error(p, COIR_E_EXPECTED, p->at, "behind `shared` stands `type`");
        coir_parse_note(p, "write `shared type Node { … }`");
        return coir_parse_broken(p, first, coir_parse_mark(p));
    }
    n = type(p);
    if (coir_parse_is(p, n, COIR_N_SUM_TYPE)) {
        coir_parse_remark(p, COIR_E_EXPECTED, first, "only a record can be shared");
        coir_parse_note(p, "put the sum into a field: `shared type Node { value: Shape }`");
    }
    if (n)
        p->tree->nodes[n].first = first;
    return coir_parse_flag(p, n, COIR_F_SHARED);
}

/* `actor`, `table`. */
static coir_ast with_members(struct coir_parser *p, enum coir_ast_kind kind, enum coir_parse_owner owner,
                             const char *of)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);
    char found[64];

    coir_parse_next(p);
    const uint32_t name = coir_parse_name(p, true, of);
    if (coir_parse_here(p, COIR_T_BRACKET_OPEN)) {
        coir_parse_error(p, COIR_E_EXPECTED, p->at, "%s has no type parameters", of);
        coir_parse_note(p, "only functions and types have them");
        coir_parse_skip_brackets(p);
    }
    if (p->kind == COIR_T_BRACE_OPEN && !p->newline) {
        coir_parse_members(p, owner, of);
    } else {
        coir_parse_error(p, COIR_E_EXPECTED, p->at, "expected `{` and the members of %s, not %s", of,
                         coir_parse_found(p, found));
        coir_parse_note(p, "a block stands in `{ }`, which opens on the same line");
        if (p->kind == COIR_T_BRACE_OPEN)
            coir_parse_members(p, owner, of);
    }
    return coir_parse_node(p, name ? kind : COIR_N_ERROR, first, name, mark);
}

/* ---- of other languages ---- */

static bool is_one_of(const struct coir_parser *p, const char *const *words)
{
    for (; p->kind == COIR_T_NAME && *words; words++)
        if (coir_parse_is_name(p, *words))
            return true;
    return false;
}

/* `enum Color { … }`, `struct P { … }`. */
static coir_ast foreign_type(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);
    const bool sum = p->kind == COIR_T_ENUM;
    const struct coir_word w = coir_token_word(p->tree, first);

    coir_parse_error(p, COIR_E_ENUM, first, "there is no `%.*s`", (int)w.size, w.text);
    coir_parse_note(p, sum ? "write `type Color = Red | Green | Blue`" : "write `type P { x: Int, fn f(self) { … } }`");
    coir_parse_next(p);
    while (p->kind != COIR_T_BRACE_OPEN && p->kind != COIR_T_END && !p->newline)
        coir_parse_next(p);
    if (coir_parse_here(p, COIR_T_BRACE_OPEN))
        coir_parse_skip_brackets(p);
    return coir_parse_broken(p, first, mark);
}

static coir_ast foreign_fn(struct coir_parser *p)
{
    const struct coir_word w = coir_token_word(p->tree, p->at);

    coir_parse_error(p, COIR_E_FN_WORD, p->at, "there is no `%.*s`", (int)w.size, w.text);
    coir_parse_note(p, "write `fn f(x: Int) -> Int { … }`");
    return coir_parse_fn(p, COIR_OF_MODULE);
}

static coir_ast async_fn(struct coir_parser *p)
{
    const uint32_t first = p->at;

    coir_parse_remark(p, COIR_E_ASYNC, first, "there is no `async`: every function may wait, there is one kind");
    coir_parse_note(p, "leave it out; to run something beside, `spawn f(x)`");
    coir_parse_next(p);
    return coir_parse_node1(p, COIR_N_ERROR, first, 0, coir_parse_fn(p, COIR_OF_MODULE));
}

/* ---- items ---- */

/* `var` at the top of a module. */
static coir_ast variable(struct coir_parser *p)
{
    const uint32_t first = p->at;

    coir_parse_remark(p, COIR_E_LOAD_TIME, first, "a module has no variables");
    coir_parse_note(p, "declare a constant with `let`; state belongs to an actor");
    return coir_parse_node1(p, COIR_N_ERROR, first, 0, coir_parse_let(p));
}

/* A declaration without `pub`; *exported: whether that could be before it. */
static coir_ast item(struct coir_parser *p, bool *exported)
{
    static const char *const fn_words[] = { "func", "function", "def", "fun", "proc", "sub", NULL };
    static const char *const type_words[] = { "struct", "class", "interface", "trait", "impl", "record", "union",
                                              "protocol", "object", "typedef", "data", NULL };
    const enum coir_token_kind next = coir_parse_peek(p, 1, NULL);
    const bool names = next == COIR_T_NAME || next == COIR_T_CAPITAL;

    *exported = true;
    switch (p->kind) {
    case COIR_T_FN: return coir_parse_fn(p, COIR_OF_MODULE);
    case COIR_T_TYPE: return type(p);
    case COIR_T_SHARED: return shared(p);
    case COIR_T_ACTOR: return with_members(p, COIR_N_ACTOR, COIR_OF_ACTOR, "an actor");
    case COIR_T_TABLE: return with_members(p, COIR_N_TABLE, COIR_OF_TABLE, "a table");
    case COIR_T_LET: return coir_parse_let(p);
    case COIR_T_VAR: return variable(p);
    case COIR_T_ENUM: return foreign_type(p);
    case COIR_T_ASYNC: return next == COIR_T_FN ? async_fn(p) : 0;
    default: break;
    }
    *exported = false;
    if (p->kind == COIR_T_USE)
        return use(p);
    if (p->kind == COIR_T_TEST)
        return test(p);
    if (names && is_one_of(p, fn_words))
        return foreign_fn(p);
    return names && is_one_of(p, type_words) ? foreign_type(p) : 0;
}

coir_ast coir_parse_item(struct coir_parser *p)
{
    const uint32_t first = p->at;
    bool exported;
    coir_ast n;

    if (p->kind != COIR_T_PUB)
        return item(p, &exported);
    coir_parse_next(p);
    n = item(p, &exported);
    if (!exported) {
        coir_parse_remark(p, COIR_E_PUB, first, "`pub` means nothing before this");
        coir_parse_note(p, "it exports functions, types, actors, tables and `let`s of a module");
    }
    if (!n)
        return coir_parse_broken(p, first, coir_parse_mark(p));
    p->tree->nodes[n].first = first;
    return coir_parse_flag(p, n, COIR_F_PUB);
}

/* What is no declaration. */
static coir_ast outside(struct coir_parser *p, bool *closed)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);
    const char *const foreign = coir_parse_foreign(p, first);
    const bool closes = p->kind == COIR_T_PAREN_CLOSE || p->kind == COIR_T_BRACKET_CLOSE;

    if (p->kind == COIR_T_BRACE_CLOSE) {
        coir_parse_error(p, COIR_E_UNOPENED, first, "this %s closes nothing", coir_token_kind_text(p->kind));
        coir_parse_note(p, "leave it out, or look for a `}` too many above");
        return coir_parse_leaf(p, COIR_N_ERROR);
    }
    if (p->kind == COIR_T_AT || p->kind == COIR_T_ON || foreign) {
        coir_parse_error(p, COIR_E_DECLARATION, first, "expected a declaration");
        coir_parse_note(p, "%s", foreign ? foreign : p->kind == COIR_T_ON ? "`on` stands in an actor" :
                        "attributes stand before the fields of a table");
        coir_parse_skip(p);
        if (p->at == first)
            coir_parse_next(p);
        return coir_parse_broken(p, first, mark);
    }
    if (!p->told_load_time && !closes) {
        coir_parse_remark(p, COIR_E_LOAD_TIME, first, "a module declares, and runs nothing when it is loaded");
        coir_parse_note(p, "put it into `fn main() { … }`");
        p->told_load_time = true;
    }
    coir_parse_push(p, coir_parse_statement(p, closed));
    p->panic |= !closes;                        /* one that does not end there either: `print "hello"` */
    return coir_parse_broken(p, first, mark);
}

coir_ast coir_parse_module(struct coir_parser *p)
{
    const uint32_t first = p->at;

    while (p->kind != COIR_T_END) {
        const uint32_t start = p->at;
        bool closed = false;
        if (p->kind != COIR_T_SEMICOLON) {
            const coir_ast n = coir_parse_item(p);
            closed = p->tokens[p->previous].kind == COIR_T_BRACE_CLOSE;
            coir_parse_push(p, n ? n : outside(p, &closed));
        }
        coir_parse_end(p, start, closed);
        if (p->at == start)
            coir_parse_next(p);                 /* what nothing begins with */
    }
    return coir_parse_node(p, COIR_N_MODULE, first, 0, 0);
}
