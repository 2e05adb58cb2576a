/* SPDX-License-Identifier: MIT */
/*
 * Expressions of operators, and what follows a primary one: see lang/parse.h. Operators of one strength in a row are
 * one node, however many, and cost no depth; only what binds tighter is parsed by recursion, which eleven strengths
 * bound.
 */
#include "lang/parse.h"

/* ---- binary operators ---- */

/* The strength of the operator that continues the expression here; COIR_S_LOOSEST if none does. */
static enum coir_parse_strength strength(const struct coir_parser *p)
{
    const bool ended = p->newline && p->context.lines;

    switch (p->kind) {
    case COIR_T_OR: return COIR_S_OR;                   /* these three also begin a line */
    case COIR_T_AND: return COIR_S_AND;
    case COIR_T_OR_ELSE: return COIR_S_OR_ELSE;
    case COIR_T_EQUAL: case COIR_T_UNEQUAL: case COIR_T_LESS: case COIR_T_LESS_EQUAL: case COIR_T_GREATER:
    case COIR_T_GREATER_EQUAL: return ended ? COIR_S_LOOSEST : COIR_S_COMPARE;
    case COIR_T_BAR: return ended ? COIR_S_LOOSEST : COIR_S_BAR;
    case COIR_T_CARET: return ended ? COIR_S_LOOSEST : COIR_S_CARET;
    case COIR_T_AMPERSAND: return ended ? COIR_S_LOOSEST : COIR_S_AMPERSAND;
    case COIR_T_SHIFT_LEFT: case COIR_T_SHIFT_RIGHT: return ended ? COIR_S_LOOSEST : COIR_S_SHIFT;
    case COIR_T_PLUS: case COIR_T_MINUS: return ended ? COIR_S_LOOSEST : COIR_S_SUM;
    case COIR_T_TIMES: case COIR_T_SLASH: case COIR_T_PERCENT: return ended ? COIR_S_LOOSEST : COIR_S_PRODUCT;
    default: return COIR_S_LOOSEST;
    }
}

/* `x++`, `x--`: nothing to add stands behind. */
static bool counts(const struct coir_parser *p)
{
    const uint32_t next = coir_parse_following(p, p->at);
    const uint32_t behind = coir_parse_following(p, next);

    return (p->kind == COIR_T_PLUS || p->kind == COIR_T_MINUS) && p->tokens[next].kind == p->kind &&
        p->tokens[next].start == p->tokens[p->at].start + 1 &&
        (!coir_parse_begins((enum coir_token_kind)p->tokens[behind].kind) || p->kind == COIR_T_PLUS);
}

static void complain_counting(struct coir_parser *p)
{
    const char sign = p->kind == COIR_T_PLUS ? '+' : '-';

    coir_parse_error(p, COIR_E_STRAY_OPERATOR, p->at, "there is no operator `%c%c`", sign, sign);
    coir_parse_note(p, "write `x %c= 1`", sign);
    coir_parse_next(p);
    coir_parse_next(p);
}

/* All operators of strength s in a row, of which `left` is the first operand. */
static coir_ast chain(struct coir_parser *p, coir_ast left, enum coir_parse_strength s)
{
    const uint32_t first = coir_parse_first(p, left), mark = coir_parse_mark(p);
    unsigned count = 0;

    coir_parse_push(p, left);
    do {
        if (s == COIR_S_COMPARE && ++count == 2) {
            coir_parse_error(p, COIR_E_CHAINED, p->at, "comparisons are not chained");
            coir_parse_note(p, "write `a < b and b < c`");
        }
        if (s == COIR_S_SUM && counts(p)) {
            complain_counting(p);
            count = 2;
            break;
        }
        coir_parse_push(p, coir_parse_leaf(p, COIR_N_OPERATOR));
        coir_parse_push(p, coir_parse_binary(p, s + 1));
    } while (!p->over && strength(p) == s);
    return count > 1 ? coir_parse_broken(p, first, mark) : coir_parse_node(p, COIR_N_BINARY, first, 0, mark);
}

static coir_ast minus(struct coir_parser *p)
{
    const uint32_t first = p->at;
    coir_ast operand = 0;

    coir_parse_next(p);
    if (!coir_parse_enter(p))
        return coir_parse_broken(p, first, coir_parse_mark(p));
    const uint32_t literal = p->minus = p->at;
    if (p->kind == COIR_T_MINUS)
        operand = minus(p);
    else
        operand = coir_parse_postfix(p);
    coir_parse_leave(p);
    p->minus = 0;
    if (!coir_parse_is(p, operand, COIR_N_INT) && !coir_parse_is(p, operand, COIR_N_DURATION))
        coir_parse_check_literal(p, literal);
    return coir_parse_node1(p, COIR_N_UNARY, first, first, operand);
}

static coir_ast not(struct coir_parser *p, enum coir_parse_strength least)
{
    const uint32_t first = p->at;
    coir_ast operand;

    if (least > COIR_S_NOT) {
        coir_parse_remark(p, COIR_E_EXPRESSION, first, "`not` needs parentheses behind an operator that binds tighter");
        coir_parse_note(p, "write `(not …)`");
    }
    coir_parse_next(p);
    if (!coir_parse_enter(p))
        return coir_parse_broken(p, first, coir_parse_mark(p));
    if (p->kind == COIR_T_NOT)
        operand = not(p, COIR_S_NOT);
    else
        operand = coir_parse_binary(p, COIR_S_COMPARE);
    coir_parse_leave(p);
    return coir_parse_node1(p, COIR_N_UNARY, first, first, operand);
}

coir_ast coir_parse_binary(struct coir_parser *p, enum coir_parse_strength least)
{
    enum coir_parse_strength s;
    coir_ast left;

    if (p->kind == COIR_T_MINUS)
        left = minus(p);
    else if (p->kind == COIR_T_NOT)
        left = not(p, least);
    else
        left = coir_parse_postfix(p);
    while (!p->over && (s = strength(p)) != COIR_S_LOOSEST && s >= least)
        left = chain(p, left, s);
    return left;
}

/* ---- what cannot follow an expression ---- */

bool coir_parse_assigns(enum coir_token_kind kind)
{
    return kind == COIR_T_ASSIGN || kind == COIR_T_PLUS_ASSIGN || kind == COIR_T_MINUS_ASSIGN ||
        kind == COIR_T_TIMES_ASSIGN || kind == COIR_T_SLASH_ASSIGN || kind == COIR_T_PERCENT_ASSIGN;
}

coir_ast coir_parse_tail(struct coir_parser *p, coir_ast n)
{
    if (p->newline && p->context.lines)
        return n;
    if (p->kind == COIR_T_DOTS || p->kind == COIR_T_DOTS_EQUAL) {
        coir_parse_error(p, COIR_E_RANGE, p->at, "a range stands only in the head of `for` and in an index");
        coir_parse_note(p, "write `for i in a..b`, `xs[a..b]`, or compare: `x >= a and x < b`");
        n = coir_parse_range(p, n, true);
        return coir_parse_node1(p, COIR_N_ERROR, coir_parse_first(p, n), 0, n);
    }
    if (coir_parse_assigns(p->kind)) {
        coir_parse_error(p, COIR_E_ASSIGN_VALUE, p->at, "an assignment is a statement, and has no value");
        coir_parse_note(p, p->kind == COIR_T_ASSIGN ? "compare with `==`; assign on a line of its own, or in a block" :
                                                      "assign on a line of its own, or in a block");
        coir_parse_next(p);
        const coir_ast value = coir_parse_binary(p, COIR_S_LOOSEST);
        return coir_parse_node2(p, COIR_N_ERROR, coir_parse_first(p, n), 0, n, value);
    }
    return n;
}

coir_ast coir_parse_expression(struct coir_parser *p)
{
    return coir_parse_tail(p, coir_parse_binary(p, COIR_S_LOOSEST));
}

coir_ast coir_parse_range(struct coir_parser *p, coir_ast from, bool open)
{
    const uint32_t first = from ? coir_parse_first(p, from) : p->at, main = p->at;
    const bool inclusive = p->kind == COIR_T_DOTS_EQUAL;
    coir_ast to = 0;

    coir_parse_next(p);
    if (coir_parse_begins(p->kind) && !(p->context.head && p->kind == COIR_T_BRACE_OPEN))
        to = coir_parse_binary(p, COIR_S_LOOSEST);
    if (!open && (!from || !to)) {
        coir_parse_error(p, COIR_E_RANGE, main, "the range of a `for` has both ends");
        coir_parse_note(p, "write `for i in 0..n`; without an end, count in a `loop`");
    } else if (inclusive && !to) {
        coir_parse_error(p, COIR_E_RANGE, main, "`..=` needs the end that it includes");
        coir_parse_note(p, "without an end write `..`");
    }
    const coir_ast n = coir_parse_node2(p, COIR_N_RANGE, first, main, from, to);
    return coir_parse_flag(p, n, inclusive ? COIR_F_INCLUSIVE : 0);
}

/* ---- calls, indexes, members ---- */

static coir_ast argument(struct coir_parser *p)
{
    const uint32_t first = p->at;
    const enum coir_token_kind next = coir_parse_peek(p, 1, NULL);

    if (p->kind == COIR_T_MUT || p->kind == COIR_T_OWN) {
        const unsigned flag = p->kind == COIR_T_MUT ? COIR_F_MUT : COIR_F_OWN;
        coir_parse_next(p);
        const coir_ast value = coir_parse_expression(p);
        return coir_parse_flag(p, coir_parse_node1(p, COIR_N_ARG, first, first, value), flag);
    }
    if (p->kind == COIR_T_NAME && (next == COIR_T_COLON || next == COIR_T_ASSIGN)) {
        coir_parse_remark(p, COIR_E_NAMED_ARGUMENT, first, "arguments have no names");
        coir_parse_note(p, "write the value alone; to name what is passed, pass a record");
        coir_parse_next(p);
        coir_parse_next(p);
    }
    return coir_parse_expression(p);
}

void coir_parse_args(struct coir_parser *p)
{
    const uint32_t open = p->at;
    const struct coir_parse_context before = coir_parse_in_brackets(p);

    coir_parse_next(p);
    if (coir_parse_enter(p)) {
        while (p->kind != COIR_T_PAREN_CLOSE && p->kind != COIR_T_END) {
            coir_parse_push(p, argument(p));
            if (!coir_parse_comma(p, COIR_T_PAREN_CLOSE))
                break;
        }
        coir_parse_leave(p);
        coir_parse_close(p, COIR_T_PAREN_CLOSE, open);
    }
    p->context = before;
}

static coir_ast call(struct coir_parser *p, coir_ast callee)
{
    const uint32_t mark = coir_parse_mark(p);

    coir_parse_push(p, callee);
    coir_parse_args(p);
    return coir_parse_node(p, COIR_N_CALL, coir_parse_first(p, callee), 0, mark);
}

static coir_ast index_at(struct coir_parser *p)
{
    coir_ast at = 0;

    if (p->kind == COIR_T_BRACKET_CLOSE) {
        coir_parse_error(p, COIR_E_EXPRESSION, p->at, "an index is missing");
        coir_parse_note(p, "write `xs[i]`; an empty list is `[]`, a type of lists `List[T]`");
        return 0;
    }
    if (p->kind != COIR_T_DOTS && p->kind != COIR_T_DOTS_EQUAL)
        at = coir_parse_binary(p, COIR_S_LOOSEST);
    if (p->kind == COIR_T_DOTS || p->kind == COIR_T_DOTS_EQUAL)
        return coir_parse_range(p, at, true);
    if (p->kind == COIR_T_COMMA) {
        coir_parse_error(p, COIR_E_EXPECTED, p->at, "an index is one expression");
        coir_parse_note(p, "write `m[i][j]`; type arguments are written only in types, and in `chan[T](n)`");
    }
    return coir_parse_tail(p, at);
}

static coir_ast index_of(struct coir_parser *p, coir_ast object)
{
    const uint32_t open = p->at;
    const struct coir_parse_context before = coir_parse_in_brackets(p);
    coir_ast at = 0;

    coir_parse_next(p);
    if (coir_parse_enter(p)) {
        at = index_at(p);
        coir_parse_leave(p);
        coir_parse_close(p, COIR_T_BRACKET_CLOSE, open);
    }
    p->context = before;
    return coir_parse_node2(p, COIR_N_INDEX, coir_parse_first(p, object), 0, object, at);
}

coir_ast coir_parse_spawned(struct coir_parser *p, bool literal)
{
    const uint32_t first = p->at;
    coir_ast what;

    if (!coir_parse_enter(p))
        return coir_parse_broken(p, first, coir_parse_mark(p));
    what = coir_parse_postfix(p);
    coir_parse_leave(p);
    const enum coir_ast_kind kind = coir_ast_kind(p->tree, what);
    if (kind == COIR_N_CALL || kind == COIR_N_METHOD || kind == COIR_N_ERROR || (literal && kind == COIR_N_RECORD))
        return what;
    coir_parse_error(p, COIR_E_NEEDS_CALL, first, literal ? "`spawn` takes a call, or an actor" :
                                                            "`.spawn` takes a call");
    coir_parse_note(p, kind == COIR_N_BLOCK || kind == COIR_N_CLOSURE ?
                    "make it a function and call that: `spawn f(x)`" : "write `spawn f(x)`");
    return coir_parse_node1(p, COIR_N_ERROR, first, 0, what);
}

/* `m.send add(1)`: the name of the message stands here. */
static coir_ast message(struct coir_parser *p, coir_ast actor)
{
    const uint32_t first = coir_parse_first(p, actor), mark = coir_parse_mark(p);
    uint32_t name = 0;

    coir_parse_push(p, actor);
    const bool named = p->kind == COIR_T_NAME || p->kind == COIR_T_CAPITAL || coir_token_is_word(p->kind);
    if (named && !p->newline)
        name = coir_parse_any_word(p, "the name of a message");
    if (name && coir_parse_here(p, COIR_T_PAREN_OPEN))
        coir_parse_args(p);
    else {
        uint32_t where = p->at;
        while (p->newline && (where == p->at || coir_token_is_space((enum coir_token_kind)p->tokens[where].kind)))
            where--;                    /* what begins the next line is not to blame */
        coir_parse_error(p, COIR_E_NEEDS_CALL, where, "`.send` takes a message and its arguments");
        coir_parse_note(p, "write `m.send add(1)`; into a channel, `c.send(x)`");
        return coir_parse_broken(p, first, mark);
    }
    const coir_ast n = coir_parse_node(p, COIR_N_SEND, first, name, mark);
    if (p->kind == COIR_T_DOT || coir_parse_here(p, COIR_T_BRACKET_OPEN) || coir_parse_here(p, COIR_T_PAREN_OPEN)) {
        coir_parse_error(p, COIR_E_NEEDS_CALL, p->at, "what `.send` sends ends in its arguments: there is no reply");
        coir_parse_note(p, "for the reply, call: `m.add(1)`");
    }
    return n;
}

/* `mod.P` before `{`, as the type of a record. */
static coir_ast record_of_module(struct coir_parser *p, coir_ast module, uint32_t name)
{
    const uint32_t first = coir_parse_first(p, module);

    return coir_parse_record(p, coir_parse_node1(p, COIR_N_TYPE_NAME, first, name, module));
}

static coir_ast named_member(struct coir_parser *p, coir_ast object)
{
    const uint32_t first = coir_parse_first(p, object), name = p->at, mark = coir_parse_mark(p);
    const enum coir_token_kind kind = p->kind;
    const bool call_before = coir_parse_is(p, object, COIR_N_CALL) || coir_parse_is(p, object, COIR_N_METHOD);

    coir_parse_next(p);
    if (coir_parse_here(p, COIR_T_PAREN_OPEN)) {
        coir_parse_push(p, object);
        coir_parse_args(p);
        return coir_parse_node(p, COIR_N_METHOD, first, name, mark);
    }
    if (kind == COIR_T_SPAWN)
        return coir_parse_node2(p, COIR_N_GROUP_SPAWN, first, name, object, coir_parse_spawned(p, false));
    if (coir_parse_token_is(p, name, "send"))
        return message(p, object);
    if (kind == COIR_T_AWAIT && call_before) {
        coir_parse_remark(p, COIR_E_ASYNC, name, "there is no `await`: every call waits for its result by itself");
        coir_parse_note(p, "leave it out: the call parks this fiber alone, not the thread");
    }
    if (kind == COIR_T_CAPITAL && coir_parse_here(p, COIR_T_BRACE_OPEN) && coir_parse_is(p, object, COIR_N_NAME) &&
            (!p->context.head || coir_parse_record_ahead(p)))
        return record_of_module(p, object, name);
    return coir_parse_node1(p, COIR_N_MEMBER, first, name, object);
}

static coir_ast member(struct coir_parser *p, coir_ast object)
{
    const uint32_t first = coir_parse_first(p, object);
    char found[64];

    coir_parse_next(p);
    if (p->kind == COIR_T_NAME || p->kind == COIR_T_CAPITAL || coir_token_is_word(p->kind))
        return named_member(p, object);
    if (p->kind == COIR_T_INT || p->kind == COIR_T_FLOAT) {
        coir_parse_error(p, COIR_E_TUPLE_INDEX, p->at, "the elements of a tuple have no numbers");
        coir_parse_note(p, "take it apart: `let (a, b) = t`");
        coir_parse_next(p);
    } else {
        coir_parse_error(p, COIR_E_EXPECTED, p->at, "expected a name after `.`, not %s", coir_parse_found(p, found));
        coir_parse_note(p, "write a field or a method");
    }
    return coir_parse_node1(p, COIR_N_ERROR, first, 0, object);
}

/* `x?`, `x?.y`, `a ? b : c`. */
static coir_ast question(struct coir_parser *p, coir_ast object)
{
    const uint32_t first = coir_parse_first(p, object), mark = coir_parse_mark(p);

    coir_parse_push(p, object);
    coir_parse_error(p, COIR_E_OPTIONAL_CHAIN, p->at, "a `?` belongs to types only");
    coir_parse_note(p, coir_parse_peek(p, 1, NULL) == COIR_T_DOT ? "open the optional: `if let y = x { … }`" :
                       "choose with `if a { b } else { c }`; a missing value is replaced by `x ?? y`, "
                       "or handed on by `x ?? return nil`");
    coir_parse_next(p);
    if (coir_parse_begins(p->kind) && !p->newline && p->kind != COIR_T_BRACE_OPEN && coir_parse_enter(p)) {
        coir_parse_push(p, coir_parse_binary(p, COIR_S_LOOSEST));
        if (coir_parse_accept(p, COIR_T_COLON))
            coir_parse_push(p, coir_parse_binary(p, COIR_S_LOOSEST));
        coir_parse_leave(p);
    }
    return coir_parse_broken(p, first, mark);
}

/* Whether anything can follow: what took all that it could cannot be followed. */
static bool is_whole(const struct coir_parser *p, coir_ast n)
{
    switch (coir_ast_kind(p->tree, n)) {
    case COIR_N_SPAWN: case COIR_N_RETURN: case COIR_N_BREAK: case COIR_N_CONTINUE: case COIR_N_TRAP:
        return true;
    case COIR_N_CLOSURE:
        return coir_ast_operator(p->tree, n) == COIR_T_ARROW;
    default:
        return false;
    }
}

coir_ast coir_parse_postfix(struct coir_parser *p)
{
    coir_ast n = coir_parse_primary(p);

    while (!p->over && !is_whole(p, n)) {
        if (p->kind == COIR_T_DOT)                      /* also at the beginning of a line */
            n = member(p, n);
        else if (coir_parse_here(p, COIR_T_PAREN_OPEN))
            n = call(p, n);
        else if (coir_parse_here(p, COIR_T_BRACKET_OPEN))
            n = index_of(p, n);
        else if (coir_parse_here(p, COIR_T_QUESTION))
            n = question(p, n);
        else if (coir_parse_here(p, COIR_T_NOT) && p->tokens[p->at].bad)
            coir_parse_next(p);                         /* `x!`, which the lexer has reported */
        else
            break;
    }
    return n;
}
