/* SPDX-License-Identifier: MIT */
/*
 * Functions, their parameters, and what stands in the braces of a type, an actor, a table: see lang/parse.h.
 */
#include "lang/parse.h"

/* ---- type parameters ---- */

static coir_ast type_param(struct coir_parser *p)
{
    const uint32_t first = p->at;
    const uint32_t name = coir_parse_name(p, true, "a type parameter");
    coir_ast bound = 0;

    if (p->kind == COIR_T_COLON) {
        coir_parse_next(p);
        bound = coir_parse_type(p);
    }
    return coir_parse_node1(p, name ? COIR_N_TYPE_PARAM : COIR_N_ERROR, first, name, bound);
}

coir_ast coir_parse_type_params(struct coir_parser *p)
{
    const uint32_t open = p->at, mark = coir_parse_mark(p);
    const struct coir_parse_context before = p->context;

    if (coir_parse_here(p, COIR_T_LESS)) {
        coir_parse_error(p, COIR_E_TYPE, open, "type parameters stand in `[ ]`");
        coir_parse_note(p, "write `fn f[T](x: T)`");
        while (p->kind != COIR_T_PAREN_OPEN && p->kind != COIR_T_BRACE_OPEN && p->kind != COIR_T_END && !p->newline)
            coir_parse_next(p);
        return coir_parse_broken(p, open, mark);
    }
    if (!coir_parse_here(p, COIR_T_BRACKET_OPEN))
        return 0;
    coir_parse_in_brackets(p);
    coir_parse_next(p);
    while (p->kind != COIR_T_BRACKET_CLOSE && p->kind != COIR_T_END) {
        coir_parse_push(p, type_param(p));
        if (!coir_parse_comma(p, COIR_T_BRACKET_CLOSE))
            break;
    }
    coir_parse_close(p, COIR_T_BRACKET_CLOSE, open);
    p->context = before;
    return coir_parse_node(p, COIR_N_TYPE_PARAMS, open, 0, mark);
}

/* ---- parameters ---- */

static coir_ast self_param(struct coir_parser *p, uint32_t first, unsigned flags, bool leads,
                           enum coir_parse_owner owner)
{
    const uint32_t self = p->at;
    coir_ast type = 0;

    if (owner == COIR_OF_ACTOR) {
        coir_parse_remark(p, COIR_E_SELF, self, "what stands in an actor has no parameter `self`");
        coir_parse_note(p, "its fields are known by their names, and `self` is its handle");
    } else if ((owner != COIR_OF_RECORD && !p->options.natives) || !leads) {
        coir_parse_remark(p, COIR_E_SELF, self, leads ? "only a function in a type has `self`" :
                                                        "`self` is the first parameter");
        coir_parse_note(p, leads ? "give the parameter a name and a type" : "write it before the others");
    }
    coir_parse_next(p);
    if (p->kind == COIR_T_COLON) {
        if (!p->options.natives) {
            coir_parse_remark(p, COIR_E_SELF, p->at, "the type of `self` is known");
            coir_parse_note(p, "write `self`, or `mut self`");
        }
        coir_parse_next(p);
        type = coir_parse_type(p);
    }
    return coir_parse_flag(p, coir_parse_node1(p, COIR_N_PARAM, first, self, type), flags);
}

static void complain_no_type(struct coir_parser *p)
{
    char found[64];

    coir_parse_error(p, COIR_E_PARAMETER, p->at, "expected `:` and a type after the name of a parameter, not %s",
                     coir_parse_found(p, found));
    coir_parse_note(p, "write `x: Int`");
}

/* What stands behind a parameter that is complete. */
static void refuse_default(struct coir_parser *p)
{
    if (p->kind != COIR_T_ASSIGN)
        return;
    coir_parse_error(p, COIR_E_PARAMETER, p->at, "parameters have no values of their own");
    coir_parse_note(p, "pass it at every call, or take a record, whose fields can have them");
    coir_parse_next(p);
    coir_parse_binary(p, COIR_S_LOOSEST);
}

static coir_ast param(struct coir_parser *p, bool leads, enum coir_parse_owner owner)
{
    const uint32_t first = p->at;
    unsigned flags = 0;
    uint32_t name;
    coir_ast type = 0;

    if (p->kind == COIR_T_MUT || p->kind == COIR_T_OWN) {
        flags = p->kind == COIR_T_MUT ? COIR_F_MUT : COIR_F_OWN;
        coir_parse_next(p);
    }
    if (p->kind == COIR_T_SELF)
        return self_param(p, first, flags, leads, owner);
    if (p->kind == COIR_T_LET || p->kind == COIR_T_VAR) {
        coir_parse_remark(p, COIR_E_PARAMETER, p->at, "a parameter is its name and its type");
        coir_parse_note(p, "what changes what it was given is `mut x: T`");
        coir_parse_next(p);
    }
    name = p->at;
    if (p->kind == COIR_T_CAPITAL && coir_parse_peek(p, 1, NULL) == COIR_T_NAME) {
        coir_parse_error(p, COIR_E_PARAMETER, name, "the name of a parameter stands before its type");
        coir_parse_note(p, "write `x: Int`");
        coir_parse_next(p);
    }
    if (p->kind == COIR_T_UNDERSCORE)
        coir_parse_next(p);
    else
        name = coir_parse_name(p, false, "a parameter");
    if (p->kind == COIR_T_COLON) {
        coir_parse_next(p);
        if (p->kind == COIR_T_MUT || p->kind == COIR_T_OWN) {
            coir_parse_remark(p, COIR_E_PARAMETER, p->at, "%s stands before the name", coir_token_kind_text(p->kind));
            coir_parse_note(p, "write `%s x: T`", p->kind == COIR_T_MUT ? "mut" : "own");
            coir_parse_next(p);
        }
        type = coir_parse_type(p);
    } else {
        complain_no_type(p);
    }
    refuse_default(p);
    const enum coir_ast_kind kind = name && type ? COIR_N_PARAM : COIR_N_ERROR;
    return coir_parse_flag(p, coir_parse_node1(p, kind, first, name, type), flags);
}

coir_ast coir_parse_params(struct coir_parser *p, enum coir_parse_owner owner)
{
    const uint32_t open = p->at, mark = coir_parse_mark(p);
    const struct coir_parse_context before = p->context;
    char found[64];

    if (!coir_parse_here(p, COIR_T_PAREN_OPEN)) {
        coir_parse_error(p, COIR_E_EXPECTED, p->at, "expected `(` and parameters, not %s", coir_parse_found(p, found));
        coir_parse_note(p, "without parameters write `()`");
        return coir_parse_node(p, COIR_N_PARAMS, open, 0, mark);
    }
    coir_parse_in_brackets(p);
    coir_parse_next(p);
    if (coir_parse_enter(p)) {
        while (p->kind != COIR_T_PAREN_CLOSE && p->kind != COIR_T_END) {
            coir_parse_push(p, param(p, coir_parse_mark(p) == mark, owner));
            if (!coir_parse_comma(p, COIR_T_PAREN_CLOSE))
                break;
        }
        coir_parse_leave(p);
        coir_parse_close(p, COIR_T_PAREN_CLOSE, open);
    }
    p->context = before;
    return coir_parse_node(p, COIR_N_PARAMS, open, 0, mark);
}

coir_ast coir_parse_result(struct coir_parser *p)
{
    if (coir_parse_here(p, COIR_T_GIVES)) {
        coir_parse_next(p);
        return coir_parse_type(p);
    }
    if (coir_parse_here(p, COIR_T_COLON) || coir_parse_here(p, COIR_T_CAPITAL)) {
        coir_parse_error(p, COIR_E_EXPECTED, p->at, "expected `->` before the type of the result");
        coir_parse_note(p, "write `fn f() -> Int { … }`");
        coir_parse_accept(p, COIR_T_COLON);
        return coir_parse_type(p);
    }
    return 0;
}

/* ---- functions and handlers ---- */

/* A function in a type is called on a value of it. */
static void check_self(struct coir_parser *p, coir_ast fn, coir_ast params)
{
    const struct coir_ast_list list = coir_ast_params_list(p->tree, params);

    for (uint32_t i = 0; i < list.count; i++)
        if (coir_ast_operator(p->tree, list.at[i]) == COIR_T_SELF || coir_parse_is(p, list.at[i], COIR_N_ERROR))
            return;
    coir_parse_remark(p, COIR_E_SELF, p->tree->nodes[fn].main, "a function in a type begins with `self`");
    coir_parse_note(p, "write `fn f(self)`, or move it out of the type");
}

coir_ast coir_parse_fn(struct coir_parser *p, enum coir_parse_owner owner)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);
    unsigned flags = 0;

    coir_parse_next(p);
    const uint32_t name = coir_parse_name(p, false, "a function");
    coir_parse_push(p, coir_parse_type_params(p));
    const coir_ast params = coir_parse_params(p, owner);
    coir_parse_push(p, params);
    coir_parse_push(p, coir_parse_result(p));
    if (p->options.natives && !coir_parse_here(p, COIR_T_BRACE_OPEN)) {
        flags = COIR_F_NATIVE;
        coir_parse_push(p, 0);
    } else {
        coir_parse_push(p, coir_parse_block(p, "the function"));
    }
    const coir_ast n = coir_parse_node(p, name ? COIR_N_FN : COIR_N_ERROR, first, name, mark);
    if (owner == COIR_OF_RECORD && name)
        check_self(p, n, params);
    return coir_parse_flag(p, n, flags);
}

coir_ast coir_parse_handler(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);

    coir_parse_next(p);
    const uint32_t name = coir_parse_any_word(p, "the name of a message");
    if (name && p->tokens[name].kind == COIR_T_CAPITAL) {
        coir_parse_remark(p, COIR_E_LOWER, name, "the name of a message begins with a small letter");
        coir_parse_note(p, "capitals are for types and variants");
    }
    if (coir_parse_here(p, COIR_T_BRACKET_OPEN)) {
        coir_parse_error(p, COIR_E_EXPECTED, p->at, "a handler has no type parameters");
        coir_parse_note(p, "write it for the types that it is sent");
        coir_parse_skip_brackets(p);
    }
    coir_parse_push(p, coir_parse_params(p, COIR_OF_ACTOR));
    coir_parse_push(p, coir_parse_result(p));
    coir_parse_push(p, coir_parse_block(p, "the handler"));
    return coir_parse_node(p, name ? COIR_N_HANDLER : COIR_N_ERROR, first, name, mark);
}

/* ---- fields and members ---- */

static coir_ast attributes(struct coir_parser *p, bool allowed)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);

    if (p->kind != COIR_T_AT)
        return 0;
    if (!allowed) {
        coir_parse_remark(p, COIR_E_EXPECTED, first, "only the fields of a table have attributes");
        coir_parse_note(p, "leave it out");
    }
    while (p->kind == COIR_T_AT) {
        const uint32_t at = p->at;
        coir_parse_next(p);
        const uint32_t word = coir_parse_any_word(p, "the word of an attribute");
        coir_parse_push(p, coir_parse_node(p, word ? COIR_N_ATTRIBUTE : COIR_N_ERROR, at, word, coir_parse_mark(p)));
    }
    return coir_parse_node(p, COIR_N_ATTRIBUTES, first, 0, mark);
}

static void pass_prefix(struct coir_parser *p)
{
    const enum coir_token_kind next = coir_parse_peek(p, 1, NULL);

    if (next == COIR_T_COLON || (p->kind != COIR_T_LET && p->kind != COIR_T_VAR && p->kind != COIR_T_MUT))
        return;
    coir_parse_remark(p, COIR_E_EXPECTED, p->at, "a field is declared without %s", coir_token_kind_text(p->kind));
    coir_parse_note(p, "write `x: Int`, or `x: Int = 0`");
    coir_parse_next(p);
}

coir_ast coir_parse_field(struct coir_parser *p, bool with_attributes, bool with_value)
{
    const uint32_t first = p->at;
    const coir_ast attribute = attributes(p, with_attributes);
    coir_ast type = 0, value = 0;

    pass_prefix(p);
    const uint32_t name = coir_parse_any_word(p, "the name of a field");
    if (name && p->tokens[name].kind == COIR_T_CAPITAL) {
        coir_parse_remark(p, COIR_E_LOWER, name, "the name of a field begins with a small letter");
        coir_parse_note(p, "capitals are for types and variants");
    }
    if (name && coir_parse_expect(p, COIR_T_COLON, "and a type after the name of a field"))
        type = coir_parse_type(p);
    else
        coir_parse_note(p, "write `x: Int`, or `x: Int = 0`");
    if (coir_parse_here(p, COIR_T_ASSIGN)) {
        if (!with_value) {
            coir_parse_error(p, COIR_E_PARAMETER, p->at, "the values of a variant have no defaults");
            coir_parse_note(p, "write them at every use");
        }
        coir_parse_next(p);
        value = coir_parse_expression(p);
    }
    return coir_parse_node3(p, name && type ? COIR_N_FIELD : COIR_N_ERROR, first, name, attribute, type, value);
}

/* A function or handler where none stands: it is parsed all the same. */
static coir_ast misplaced(struct coir_parser *p, const char *of)
{
    const uint32_t first = p->at;
    const bool handles = p->kind == COIR_T_ON;

    coir_parse_remark(p, COIR_E_INNER_DECLARATION, first, "%s has no %s", of, handles ? "handlers" : "functions");
    coir_parse_note(p, handles ? "`on` stands in an actor" : "declare it at the top of the module");
    return coir_parse_node1(p, COIR_N_ERROR, first, 0, handles ? coir_parse_handler(p) :
                            coir_parse_fn(p, COIR_OF_RECORD));
}

static coir_ast member(struct coir_parser *p, enum coir_parse_owner owner, const char *of)
{
    enum coir_token_kind next = coir_parse_peek(p, 1, NULL);

    if (p->kind == COIR_T_PUB && next != COIR_T_COLON) {
        coir_parse_remark(p, COIR_E_PUB, p->at, "`pub` stands before a declaration of the module");
        coir_parse_note(p, "who knows the type knows its fields and functions");
        coir_parse_next(p);
        next = coir_parse_peek(p, 1, NULL);
    }
    if (p->kind == COIR_T_FN && next != COIR_T_COLON)
        return owner == COIR_OF_TABLE ? misplaced(p, of) : coir_parse_fn(p, owner);
    if (p->kind == COIR_T_ON && next != COIR_T_COLON)
        return owner == COIR_OF_ACTOR ? coir_parse_handler(p) : misplaced(p, of);
    return coir_parse_field(p, owner == COIR_OF_TABLE, true);
}

/* Members that are indented end where the line of a declaration is not. */
static bool at_next(const struct coir_parser *p, bool indented)
{
    return coir_parse_at_declaration(p) && p->kind != COIR_T_ON && (indented || p->kind != COIR_T_FN);
}

void coir_parse_members(struct coir_parser *p, enum coir_parse_owner owner, const char *of)
{
    const uint32_t open = p->at;
    const struct coir_parse_context before = coir_parse_in_braces(p);
    const bool in_actor = p->in_actor;
    bool indented = false;

    coir_parse_next(p);
    p->panic = p->over;
    p->in_actor = owner == COIR_OF_ACTOR;
    if (coir_parse_enter(p)) {
        while (p->kind != COIR_T_BRACE_CLOSE && p->kind != COIR_T_END && !at_next(p, indented)) {
            const uint32_t start = p->at;
            indented = indented || (p->newline && coir_parse_indent(p, start) > 1);
            if (p->kind != COIR_T_COMMA && p->kind != COIR_T_SEMICOLON)
                coir_parse_push(p, member(p, owner, of));
            coir_parse_between(p, "members");
            if (p->at == start)
                coir_parse_next(p);             /* what nothing begins with */
        }
        coir_parse_leave(p);
        coir_parse_close(p, COIR_T_BRACE_CLOSE, open);
    }
    p->in_actor = in_actor;
    p->context = before;
}
