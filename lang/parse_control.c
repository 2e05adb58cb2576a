/* SPDX-License-Identifier: MIT */
/*
 * What has a head and blocks: `if`, `while`, `for`, `match`, `select`, `try`, `group`, `within`. See lang/parse.h. A
 * head is an expression in which `{` never begins a record literal, so that it is the block's.
 */
#include "lang/parse.h"

coir_ast coir_parse_head(struct coir_parser *p)
{
    const struct coir_parse_context before = p->context;
    coir_ast n = 0;

    p->context.head = true;
    p->context.guard = false;
    if (coir_parse_enter(p)) {
        n = coir_parse_expression(p);
        coir_parse_leave(p);
    }
    p->context = before;
    return n;
}

/* ---- if, while ---- */

static coir_ast condition(struct coir_parser *p)
{
    const uint32_t first = p->at;
    coir_ast pattern, value = 0;

    if (p->kind != COIR_T_LET && p->kind != COIR_T_VAR)
        return coir_parse_head(p);
    if (p->kind == COIR_T_VAR) {
        coir_parse_remark(p, COIR_E_EXPECTED, first, "in a condition stands `let`, not `var`");
        coir_parse_note(p, "inside, declare a copy: `var y = x`");
    }
    coir_parse_next(p);
    pattern = coir_parse_binding(p, "`let`");
    if (coir_parse_expect(p, COIR_T_ASSIGN, "and an optional after `let x`"))
        value = coir_parse_head(p);
    return coir_parse_node2(p, COIR_N_LET_CONDITION, first, 0, pattern, value);
}

coir_ast coir_parse_if(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);
    coir_ast otherwise = 0;

    for (;;) {
        const uint32_t arm = p->at;
        coir_parse_next(p);
        const coir_ast head = condition(p);
        coir_parse_push(p, coir_parse_node2(p, COIR_N_IF_ARM, arm, 0, head, coir_parse_block(p, "`if`")));
        if (p->kind != COIR_T_ELSE || coir_parse_peek(p, 1, NULL) == COIR_T_ARROW)      /* that begins an arm */
            break;
        coir_parse_next(p);
        if (p->kind != COIR_T_IF) {
            otherwise = coir_parse_block(p, "`else`");
            break;
        }
    }
    coir_parse_push(p, otherwise);
    return coir_parse_node(p, COIR_N_IF, first, 0, mark);
}

coir_ast coir_parse_while(struct coir_parser *p)
{
    const uint32_t first = p->at;

    coir_parse_next(p);
    const coir_ast head = condition(p);
    return coir_parse_node2(p, COIR_N_WHILE, first, 0, head, coir_parse_block(p, "`while`"));
}

/* ---- for ---- */

/* `(i = 0; i < n; …)`, `(x in xs)`, from the `(` here. */
static bool is_foreign_head(const struct coir_parser *p)
{
    enum { MOST = 100 };
    uint32_t at = p->at;
    unsigned open = 0;

    for (unsigned i = 0; i < MOST; i++) {
        const enum coir_token_kind kind = (enum coir_token_kind)p->tokens[at].kind;
        if (kind == COIR_T_SEMICOLON || kind == COIR_T_IN)
            return true;
        if (kind == COIR_T_PAREN_OPEN)
            open++;
        if ((kind == COIR_T_PAREN_CLOSE && --open == 0) || kind == COIR_T_BRACE_OPEN || kind == COIR_T_END)
            return false;
        at = coir_parse_following(p, at);
    }
    return false;
}

/* Reports, and passes what is left of the head. */
static coir_ast foreign_for(struct coir_parser *p, uint32_t first, uint32_t mark)
{
    const bool endless = p->kind == COIR_T_BRACE_OPEN;
    const bool word = p->kind == COIR_T_COLON || coir_parse_is_name(p, "of");
    char found[64];

    if (endless)
        coir_parse_error(p, COIR_E_FOR, p->at, "a `for` runs over something");
    else
        coir_parse_error(p, COIR_E_FOR, p->at, "expected `for x in xs`, not %s", coir_parse_found(p, found));
    coir_parse_note(p, endless ? "without a head, write `loop { … }`" : word ? "write `for x in xs`" :
                    "count with `for i in 0..n`; as long as a condition holds, run `while i < n`");
    while (p->kind != COIR_T_BRACE_OPEN && p->kind != COIR_T_BRACE_CLOSE && p->kind != COIR_T_END &&
           p->kind != COIR_T_HOLE_CLOSE && !p->newline)
        if (p->kind == COIR_T_PAREN_OPEN || p->kind == COIR_T_BRACKET_OPEN)
            coir_parse_skip_brackets(p);
        else
            coir_parse_next(p);
    if (coir_parse_here(p, COIR_T_BRACE_OPEN))
        coir_parse_push(p, coir_parse_block(p, "`for`"));
    return coir_parse_broken(p, first, mark);
}

/* What a `for` runs over. */
static coir_ast over(struct coir_parser *p)
{
    const struct coir_parse_context before = p->context;
    coir_ast n = 0;

    p->context.head = true;
    p->context.guard = false;
    if (coir_parse_enter(p)) {
        if (p->kind != COIR_T_DOTS && p->kind != COIR_T_DOTS_EQUAL)
            n = coir_parse_binary(p, COIR_S_LOOSEST);
        if ((p->kind == COIR_T_DOTS || p->kind == COIR_T_DOTS_EQUAL) && !(p->newline && p->context.lines))
            n = coir_parse_range(p, n, false);
        else
            n = coir_parse_tail(p, n);
        coir_parse_leave(p);
    }
    p->context = before;
    return n;
}

coir_ast coir_parse_for(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);

    coir_parse_next(p);
    if (p->kind == COIR_T_BRACE_OPEN || (p->kind == COIR_T_PAREN_OPEN && is_foreign_head(p)))
        return foreign_for(p, first, mark);
    coir_parse_push(p, coir_parse_binding(p, "`for`"));
    coir_parse_push(p, coir_parse_accept(p, COIR_T_COMMA) ? coir_parse_binding(p, "`for`") : 0);
    if (p->kind != COIR_T_IN)
        return foreign_for(p, first, mark);
    coir_parse_next(p);
    coir_parse_push(p, over(p));
    coir_parse_push(p, coir_parse_block(p, "`for`"));
    return coir_parse_node(p, COIR_N_FOR, first, 0, mark);
}

/* ---- match, select ---- */

/* The `{` of arms; false, and reported, if there is none. */
static bool open_arms(struct coir_parser *p, const char *of)
{
    char found[64];

    if (p->kind != COIR_T_BRACE_OPEN) {
        coir_parse_error(p, COIR_E_NEEDS_BLOCK, p->at, "expected the `{` of %s, not %s", of,
                         coir_parse_found(p, found));
        coir_parse_note(p, "its arms stand in `{ }`");
        return false;
    }
    if (p->newline && p->context.lines) {
        coir_parse_remark(p, COIR_E_NEEDS_BLOCK, p->at, "the `{` of %s stands on its own line", of);
        coir_parse_note(p, "a newline ends a statement: put it at the end of the line before");
    }
    return true;
}

/* The `=>` of an arm, or what was written instead of it. */
static void pass_arrow(struct coir_parser *p)
{
    const bool other = p->kind == COIR_T_GIVES || p->kind == COIR_T_COLON || p->kind == COIR_T_ASSIGN;

    if (coir_parse_expect(p, COIR_T_ARROW, "of the arm"))
        return;
    if (p->kind == COIR_T_COMMA)
        coir_parse_note(p, "patterns of one arm are separated by `|`");
    else
        coir_parse_note(p, "an arm is `pattern => statement`");
    if (other)
        coir_parse_next(p);
    else
        coir_parse_skip(p);
}

/* The statement of an arm. */
static coir_ast arm_body(struct coir_parser *p)
{
    bool closed;

    pass_arrow(p);
    if (p->panic && p->newline)
        return 0;
    return coir_parse_statement(p, &closed);
}

/* An expression before the `=>` of an arm. */
static coir_ast before_arrow(struct coir_parser *p)
{
    const struct coir_parse_context before = p->context;

    p->context.guard = true;
    const coir_ast n = coir_parse_expression(p);
    p->context = before;
    return n;
}

static coir_ast match_arm(struct coir_parser *p)
{
    const uint32_t first = p->at;
    coir_ast pattern, guard = 0, body;

    if (p->kind == COIR_T_ELSE) {
        coir_parse_remark(p, COIR_E_PATTERN_FORM, first, "a `match` has no `else`");
        coir_parse_note(p, "all others are `_ => …`");
        coir_parse_next(p);
        pattern = coir_parse_broken(p, first, coir_parse_mark(p));
    } else {
        if (coir_parse_is_name(p, "case") && coir_parse_peek(p, 1, NULL) != COIR_T_ARROW) {
            coir_parse_remark(p, COIR_E_PATTERN_FORM, first, "an arm begins with its pattern, without `case`");
            coir_parse_note(p, "write `pattern => statement`");
            coir_parse_next(p);
        }
        pattern = coir_parse_pattern(p);
    }
    if (coir_parse_here(p, COIR_T_IF)) {
        coir_parse_next(p);
        guard = before_arrow(p);
    }
    body = arm_body(p);
    return coir_parse_node3(p, COIR_N_MATCH_ARM, first, 0, pattern, guard, body);
}

/* Pushes the arms, from `{` to `}`. */
static void arms(struct coir_parser *p, coir_ast (*arm)(struct coir_parser *p))
{
    const uint32_t open = p->at;
    const struct coir_parse_context before = coir_parse_in_braces(p);

    coir_parse_next(p);
    p->panic = p->over;
    if (coir_parse_enter(p)) {
        while (p->kind != COIR_T_BRACE_CLOSE && p->kind != COIR_T_END && p->kind != COIR_T_HOLE_CLOSE &&
               !coir_parse_at_declaration(p)) {
            const uint32_t start = p->at;
            if (p->kind != COIR_T_COMMA && p->kind != COIR_T_SEMICOLON)
                coir_parse_push(p, arm(p));
            coir_parse_between(p, "arms");
            if (p->at == start)
                coir_parse_next(p);             /* what nothing begins with */
        }
        coir_parse_leave(p);
        const bool closes = p->kind == COIR_T_BRACE_CLOSE;
        coir_parse_close(p, COIR_T_BRACE_CLOSE, open);
        if (closes)
            coir_parse_compare_indent(p, open);
    }
    p->context = before;
}

coir_ast coir_parse_match(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);

    coir_parse_next(p);
    coir_parse_push(p, coir_parse_head(p));
    if (!open_arms(p, "`match`"))
        return coir_parse_broken(p, first, mark);
    arms(p, match_arm);
    return coir_parse_node(p, COIR_N_MATCH, first, 0, mark);
}

/* `after 1s => …`; `after.recv()` is an operation on what has this name. */
static bool is_after(const struct coir_parser *p)
{
    const enum coir_token_kind next = coir_parse_peek(p, 1, NULL);

    return coir_parse_is_name(p, "after") && next != COIR_T_DOT && next != COIR_T_ASSIGN && next != COIR_T_BRACKET_OPEN;
}

static coir_ast operation_arm(struct coir_parser *p)
{
    const uint32_t first = p->at;
    const bool named = p->kind == COIR_T_NAME || p->kind == COIR_T_UNDERSCORE || p->kind == COIR_T_CAPITAL;
    uint32_t name = 0;
    coir_ast operation, body;

    if (named && coir_parse_peek(p, 1, NULL) == COIR_T_ASSIGN) {
        name = p->at;
        if (p->kind != COIR_T_UNDERSCORE)
            coir_parse_name(p, false, "a variable");
        else
            coir_parse_next(p);
        coir_parse_next(p);
    }
    const uint32_t start = p->at;
    operation = before_arrow(p);
    if (!coir_parse_is(p, operation, COIR_N_METHOD)) {
        coir_parse_error(p, COIR_E_SELECT_ARM, start, "an arm of `select` receives, sends, or waits");
        coir_parse_note(p, "write `v = a.recv() => …`, `b.send(x) => …`, `after 1s => …`, `else => …`");
    }
    body = arm_body(p);
    return coir_parse_node2(p, COIR_N_SELECT_ARM, first, name, operation, body);
}

static coir_ast select_arm(struct coir_parser *p)
{
    const uint32_t first = p->at;
    coir_ast time;

    if (p->kind == COIR_T_ELSE) {
        coir_parse_next(p);
        return coir_parse_node1(p, COIR_N_SELECT_ELSE, first, 0, arm_body(p));
    }
    if (p->kind == COIR_T_UNDERSCORE && coir_parse_peek(p, 1, NULL) == COIR_T_ARROW) {
        coir_parse_remark(p, COIR_E_SELECT_ARM, first, "the arm that never waits is `else`");
        coir_parse_note(p, "write `else => …`");
        coir_parse_next(p);
        return coir_parse_node1(p, COIR_N_ERROR, first, 0, arm_body(p));
    }
    if (is_after(p)) {
        coir_parse_next(p);
        time = before_arrow(p);
        return coir_parse_node2(p, COIR_N_SELECT_AFTER, first, 0, time, arm_body(p));
    }
    if (p->kind == COIR_T_LET || p->kind == COIR_T_VAR) {
        coir_parse_remark(p, COIR_E_SELECT_ARM, first, "an arm of `select` names what it receives by itself");
        coir_parse_note(p, "write `v = a.recv() => …`");
        coir_parse_next(p);
    }
    return operation_arm(p);
}

coir_ast coir_parse_select(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);

    coir_parse_next(p);
    if (!open_arms(p, "`select`"))
        return coir_parse_broken(p, first, mark);
    arms(p, select_arm);
    return coir_parse_node(p, COIR_N_SELECT, first, 0, mark);
}

/* ---- try, group, within ---- */

coir_ast coir_parse_try(struct coir_parser *p)
{
    const uint32_t first = p->at;
    uint32_t name = 0;
    coir_ast body, handler = 0;
    char found[64];

    coir_parse_next(p);
    body = coir_parse_block(p, "`try`");
    if (p->kind != COIR_T_CATCH) {
        coir_parse_error(p, COIR_E_EXPECTED, p->at, "expected the `catch` of `try`, not %s",
                         coir_parse_found(p, found));
        coir_parse_note(p, "write `try { … } catch e { … }`");
        return coir_parse_node1(p, COIR_N_ERROR, first, 0, body);
    }
    coir_parse_next(p);
    if (p->kind == COIR_T_UNDERSCORE) {
        name = p->at;
        coir_parse_next(p);
    } else {
        name = coir_parse_name(p, false, "what is caught");
        if (!name)
            coir_parse_note(p, "write `catch e { … }`, or `catch _ { … }`");
    }
    if (p->kind == COIR_T_PAREN_OPEN)
        coir_parse_skip_brackets(p);
    handler = coir_parse_block(p, "`catch`");
    return coir_parse_node2(p, name ? COIR_N_TRY : COIR_N_ERROR, first, name, body, handler);
}

coir_ast coir_parse_group(struct coir_parser *p)
{
    const uint32_t first = p->at;
    coir_ast limit = 0;

    coir_parse_next(p);
    const uint32_t name = coir_parse_name(p, false, "the group");
    if (!name)
        coir_parse_note(p, "write `group g { … }`");
    if (coir_parse_is_name(p, "limit") && !p->newline) {
        coir_parse_next(p);
        limit = coir_parse_head(p);
    }
    return coir_parse_node2(p, COIR_N_GROUP, first, name, limit, coir_parse_block(p, "`group`"));
}

coir_ast coir_parse_within(struct coir_parser *p)
{
    const uint32_t first = p->at;

    coir_parse_next(p);
    const coir_ast time = coir_parse_head(p);
    return coir_parse_node2(p, COIR_N_WITHIN, first, 0, time, coir_parse_block(p, "`within`"));
}
