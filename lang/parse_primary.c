/* SPDX-License-Identifier: MIT */
/*
 * Primary expressions: literals, names, what stands in brackets, closures, records, and what takes the rest of an
 * expression (`return`, `spawn`). See lang/parse.h. What cannot begin an expression is not passed, unless something is
 * known about it: it may belong to what is around.
 */
#include "lang/parse.h"

#include "lang/literal.h"

/* ---- literals ---- */

void coir_parse_check_literal(struct coir_parser *p, uint32_t token)
{
    const enum coir_token_kind kind = (enum coir_token_kind)p->tokens[token].kind;
    const struct coir_word w = coir_token_word(p->tree, token);
    uint64_t value;

    if ((kind != COIR_T_INT && kind != COIR_T_DURATION) || (w.size > 1 && w.text[1] == 'x'))
        return;
    if (coir_literal_int(w, &value) && value == (uint64_t)1 << 63) {
        coir_parse_remark(p, COIR_E_NUMBER_RANGE, token, "this does not fit %s",
                          kind == COIR_T_INT ? "an Int" : "a Duration");
        coir_parse_note(p, "with a `-` right before it, it would be the smallest; the largest is 9223372036854775807");
    }
}

static coir_ast number(struct coir_parser *p)
{
    if (p->minus != p->at)
        coir_parse_check_literal(p, p->at);
    return coir_parse_leaf(p, p->kind == COIR_T_INT ? COIR_N_INT : p->kind == COIR_T_FLOAT ? COIR_N_FLOAT :
                           COIR_N_DURATION);
}

/* ---- what is no expression ---- */

/* `await f()`, `async …`. */
static coir_ast async(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);

    if (p->kind == COIR_T_AWAIT) {
        coir_parse_error(p, COIR_E_ASYNC, first, "there is no `await`: every call waits for its result by itself");
        coir_parse_note(p, "write the call alone: it parks this fiber, not the thread; to go on meanwhile, "
                        "`let t = spawn f(x)` and later `t.join()`");
    } else {
        coir_parse_error(p, COIR_E_ASYNC, first, "there is no `async`: every function may wait, there is one kind");
        coir_parse_note(p, "leave it out; to run something beside, `spawn f(x)`");
    }
    coir_parse_next(p);
    if (coir_parse_begins(p->kind) && !p->newline && coir_parse_enter(p)) {
        coir_parse_push(p, coir_parse_binary(p, COIR_S_LOOSEST));
        coir_parse_leave(p);
    }
    return coir_parse_broken(p, first, mark);
}

/* A word that begins a statement, where a value is expected: it is parsed all the same. */
static coir_ast statement(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);
    bool closed;

    if (p->newline && p->context.lines) {
        coir_parse_error(p, COIR_E_EXPRESSION, first, "expected an expression before the end of the line");
        return coir_parse_broken(p, first, mark);
    }
    coir_parse_error(p, COIR_E_NOT_EXPRESSION, first, "`%.*s` is a statement, and has no value",
                     (int)coir_token_word(p->tree, first).size, coir_token_word(p->tree, first).text);
    coir_parse_note(p, "put it on a line of its own, or in a block `{ … }`");
    if (coir_parse_enter(p)) {
        coir_parse_push(p, coir_parse_statement(p, &closed));
        coir_parse_leave(p);
    }
    return coir_parse_broken(p, first, mark);
}

static const char *advice(const struct coir_parser *p)
{
    switch (p->kind) {
    case COIR_T_PLUS: return "there is no unary `+`: leave it out";
    case COIR_T_BAR: return "a closure is `x => …` or `(a, b) => …`";
    case COIR_T_AMPERSAND: return "arguments are lent as they are; what is to be changed is passed as `mut x`";
    case COIR_T_TIMES: return "there are no pointers: leave the `*` out, or write what it multiplies";
    case COIR_T_LESS: return "type arguments stand in `[ ]`, and only in types";
    case COIR_T_MUT: return "`mut` stands before arguments, parameters and `self`; a variable is declared with `var`";
    case COIR_T_DOTS: case COIR_T_DOTS_EQUAL: return "ranges stand only in the head of `for` and in an index";
    case COIR_T_ELSE: return "write `if a { b } else { c }`";
    case COIR_T_DOT:
        if (p->tokens[p->at + 1].kind == COIR_T_INT)
            return "a float has a digit before its point, too: `0.5`";
        /* fall through */
    case COIR_T_OR_ELSE: case COIR_T_AND: case COIR_T_OR:
        return "a statement that begins with `if`, `match`, `{`… is over at its last `}`: put it in parentheses";
    default: return NULL;
    }
}

/* Reports that there is no expression here; passes what cannot belong to what is around. */
static coir_ast nothing(struct coir_parser *p)
{
    const uint32_t first = p->at;
    const char *const note = advice(p);
    char found[64];

    if (p->kind == COIR_T_UNDERSCORE) {
        coir_parse_error(p, COIR_E_EXPRESSION, first, "`_` has no value");
        coir_parse_note(p, "it stands only where a name is given, and dropped");
        coir_parse_next(p);
    } else if (coir_token_is_word(p->kind) && !p->newline && !note && p->kind != COIR_T_IN && p->kind != COIR_T_CATCH) {
        coir_parse_error(p, COIR_E_RESERVED, first, "%s is a reserved word, and no value",
                         coir_token_kind_text(p->kind));
        coir_parse_note(p, "take another name");
        coir_parse_next(p);
    } else {
        coir_parse_error(p, COIR_E_EXPRESSION, first, "expected an expression, not %s", coir_parse_found(p, found));
        if (note)
            coir_parse_note(p, "%s", note);
        else if (p->kind == COIR_T_BRACE_OPEN)
            coir_parse_note(p, "without a condition, write `loop { … }`; a block in a head stands in parentheses");
        else
            coir_parse_note(p, "write a value, or leave out what asks for one");
    }
    return coir_parse_broken(p, first, coir_parse_mark(p));
}

/* ---- names, records, channels ---- */

bool coir_parse_record_ahead(const struct coir_parser *p)
{
    const enum coir_token_kind second = coir_parse_peek(p, 1, NULL), third = coir_parse_peek(p, 2, NULL);

    if (second == COIR_T_BRACE_CLOSE)
        return third == COIR_T_BRACE_OPEN;
    return (second == COIR_T_NAME || second == COIR_T_CAPITAL || coir_token_is_word(second)) && third == COIR_T_COLON;
}

static coir_ast field_value(struct coir_parser *p)
{
    const uint32_t first = p->at;
    const uint32_t name = coir_parse_any_word(p, "the name of a field");
    coir_ast value = 0;

    if (p->kind == COIR_T_ASSIGN) {
        coir_parse_error(p, COIR_E_EXPECTED, p->at, "expected `:` after the name of a field, not `=`");
        coir_parse_note(p, "write `P{ x: 1 }`");
        coir_parse_next(p);
        value = coir_parse_binary(p, COIR_S_LOOSEST);
    } else if (name && coir_parse_expect(p, COIR_T_COLON, "after the name of a field")) {
        value = coir_parse_expression(p);
    } else if (name) {
        coir_parse_note(p, "every field is written with its name: `P{ x: x }`");
    }
    return coir_parse_node1(p, name && value ? COIR_N_FIELD_VALUE : COIR_N_ERROR, first, name, value);
}

coir_ast coir_parse_record(struct coir_parser *p, coir_ast type)
{
    const uint32_t first = coir_parse_first(p, type), open = p->at, mark = coir_parse_mark(p);
    const bool head = p->context.head;

    coir_parse_push(p, type);
    if (head) {
        coir_parse_remark(p, COIR_E_HEAD_RECORD, first, "in a head, a record literal needs parentheses");
        coir_parse_note(p, "write `if p == (P{ x: 1 }) { … }`");
    }
    const struct coir_parse_context before = coir_parse_in_braces(p);
    coir_parse_next(p);
    if (coir_parse_enter(p)) {
        while (p->kind != COIR_T_BRACE_CLOSE && p->kind != COIR_T_END && p->kind != COIR_T_HOLE_CLOSE &&
               !coir_parse_at_declaration(p)) {
            const uint32_t start = p->at;
            if (p->kind != COIR_T_COMMA)
                coir_parse_push(p, field_value(p));
            coir_parse_between(p, "fields");
            if (p->at == start)
                coir_parse_next(p);             /* what nothing begins with */
        }
        coir_parse_leave(p);
        coir_parse_close(p, COIR_T_BRACE_CLOSE, open);
    }
    p->context = before;
    return coir_parse_node(p, COIR_N_RECORD, first, 0, mark);
}

static coir_ast channel(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);
    const struct coir_parse_context before = p->context;

    coir_parse_next(p);
    const uint32_t open = p->at;
    coir_parse_in_brackets(p);
    coir_parse_next(p);
    if (coir_parse_enter(p)) {
        coir_parse_push(p, coir_parse_type(p));
        coir_parse_leave(p);
        coir_parse_close(p, COIR_T_BRACKET_CLOSE, open);
    }
    p->context = before;
    if (coir_parse_here(p, COIR_T_PAREN_OPEN)) {
        coir_parse_args(p);
    } else {
        coir_parse_error(p, COIR_E_NEEDS_CALL, first, "a channel needs its capacity");
        coir_parse_note(p, "write `chan[T](n)`");
    }
    return coir_parse_node(p, COIR_N_CHAN, first, 0, mark);
}

static coir_ast name(struct coir_parser *p)
{
    static const char *const nulls[] = { "null", "undefined", "nullptr" };
    const uint32_t first = p->at;
    const bool capital = p->kind == COIR_T_CAPITAL;
    bool newline;

    if (coir_parse_is_name(p, "chan") && coir_parse_peek(p, 1, &newline) == COIR_T_BRACKET_OPEN && !newline)
        return channel(p);
    for (size_t i = 0; !capital && i < sizeof nulls / sizeof *nulls; i++)
        if (coir_parse_is_name(p, nulls[i])) {
            coir_parse_remark(p, COIR_E_NULL_WORD, first, "there is no `%s`", nulls[i]);
            coir_parse_note(p, "the missing value of a `T?` is `nil`");
        }
    coir_parse_next(p);
    if (!coir_parse_here(p, COIR_T_BRACE_OPEN))
        return coir_parse_node(p, COIR_N_NAME, first, first, coir_parse_mark(p));
    if (capital ? !p->context.head || coir_parse_record_ahead(p) :
                  !p->context.head && coir_parse_record_ahead(p) && coir_parse_peek(p, 2, NULL) == COIR_T_COLON) {
        if (!capital) {
            coir_parse_remark(p, COIR_E_CAPITAL, first, "the name of a type begins with a capital");
            coir_parse_note(p, "a record literal is `P{ x: 1 }`");
        }
        return coir_parse_record(p, coir_parse_node1(p, COIR_N_TYPE_NAME, first, first, 0));
    }
    return coir_parse_node(p, COIR_N_NAME, first, first, coir_parse_mark(p));
}

/* ---- in ( ) and [ ] ---- */

static coir_ast parentheses(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);
    const struct coir_parse_context before = coir_parse_in_brackets(p);
    bool tuple = false;

    coir_parse_next(p);
    if (coir_parse_enter(p)) {
        while (p->kind != COIR_T_PAREN_CLOSE && p->kind != COIR_T_END) {
            coir_parse_push(p, coir_parse_expression(p));
            if (p->kind == COIR_T_COLON) {
                coir_parse_error(p, COIR_E_PARAMETER, p->at, "the parameters of an arrow closure have no types");
                coir_parse_note(p, "write `fn(x: Int) -> Int { … }`, or `x => …`");
            }
            if (!coir_parse_comma(p, COIR_T_PAREN_CLOSE))
                break;
            tuple = true;
        }
        coir_parse_leave(p);
        coir_parse_close(p, COIR_T_PAREN_CLOSE, first);
    }
    p->context = before;
    tuple = tuple || coir_parse_mark(p) == mark;
    return coir_parse_node(p, tuple ? COIR_N_TUPLE : COIR_N_PAREN, first, 0, mark);
}

static coir_ast map_entry(struct coir_parser *p, coir_ast key)
{
    const uint32_t first = coir_parse_first(p, key);
    coir_ast value = 0;

    if (coir_parse_expect(p, COIR_T_COLON, "after the key of a map"))
        value = coir_parse_expression(p);
    else
        coir_parse_note(p, "each entry of a map is `key: value`");
    return coir_parse_node2(p, value ? COIR_N_MAP_ENTRY : COIR_N_ERROR, first, 0, key, value);
}

static coir_ast brackets(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);
    const struct coir_parse_context before = coir_parse_in_brackets(p);
    bool map = false;

    coir_parse_next(p);
    if (coir_parse_enter(p)) {
        if (p->kind == COIR_T_COLON && coir_parse_peek(p, 1, NULL) == COIR_T_BRACKET_CLOSE) {
            map = true;
            coir_parse_next(p);
        }
        while (p->kind != COIR_T_BRACKET_CLOSE && p->kind != COIR_T_END) {
            coir_ast item = coir_parse_expression(p);
            map = map || (p->kind == COIR_T_COLON && coir_parse_mark(p) == mark);
            if (map)
                item = map_entry(p, item);
            coir_parse_push(p, item);
            if (!coir_parse_comma(p, COIR_T_BRACKET_CLOSE))
                break;
        }
        coir_parse_leave(p);
        coir_parse_close(p, COIR_T_BRACKET_CLOSE, first);
    }
    p->context = before;
    return coir_parse_node(p, map ? COIR_N_MAP : COIR_N_LIST, first, 0, mark);
}

/* ---- closures ---- */

/* The token behind the names of `(a, b) =>`, from the one behind `(`. */
static uint32_t pass_names(const struct coir_parser *p, uint32_t i)
{
    while (p->tokens[i].kind == COIR_T_NAME || p->tokens[i].kind == COIR_T_UNDERSCORE) {
        i = coir_parse_following(p, i);
        if (p->tokens[i].kind != COIR_T_COMMA)
            break;
        i = coir_parse_following(p, i);
    }
    return i;
}

bool coir_parse_at_arrow(const struct coir_parser *p)
{
    uint32_t i = p->at;

    if (p->context.guard)
        return false;
    if (p->kind == COIR_T_NAME || p->kind == COIR_T_UNDERSCORE)
        return p->tokens[coir_parse_following(p, i)].kind == COIR_T_ARROW;
    if (p->kind != COIR_T_PAREN_OPEN)
        return false;
    i = pass_names(p, coir_parse_following(p, i));
    return p->tokens[i].kind == COIR_T_PAREN_CLOSE && p->tokens[coir_parse_following(p, i)].kind == COIR_T_ARROW;
}

static coir_ast arrow_param(struct coir_parser *p)
{
    const uint32_t token = p->at;

    coir_parse_next(p);
    return coir_parse_node1(p, COIR_N_PARAM, token, token, 0);
}

coir_ast coir_parse_arrow(struct coir_parser *p)
{
    const uint32_t first = p->at, mark = coir_parse_mark(p);
    const bool many = coir_parse_accept(p, COIR_T_PAREN_OPEN);
    coir_ast body = 0;

    while (p->kind == COIR_T_NAME || p->kind == COIR_T_UNDERSCORE) {
        coir_parse_push(p, arrow_param(p));
        if (!many || !coir_parse_accept(p, COIR_T_COMMA))
            break;
    }
    if (many)
        coir_parse_accept(p, COIR_T_PAREN_CLOSE);
    const coir_ast params = coir_parse_node(p, COIR_N_PARAMS, first, 0, mark);
    const uint32_t arrow = p->at;
    coir_parse_accept(p, COIR_T_ARROW);
    if (coir_parse_enter(p)) {
        body = coir_parse_expression(p);
        coir_parse_leave(p);
    }
    return coir_parse_node3(p, COIR_N_CLOSURE, first, arrow, params, 0, body);
}

static coir_ast closure(struct coir_parser *p)
{
    const uint32_t first = p->at;
    const enum coir_token_kind next = coir_parse_peek(p, 1, NULL);
    coir_ast params, result, body;

    if (next != COIR_T_PAREN_OPEN && next != COIR_T_BRACE_OPEN) {
        coir_parse_remark(p, COIR_E_INNER_DECLARATION, first, "functions are declared at the top of a module");
        coir_parse_note(p, "a local function is a closure: `let f = fn(x: Int) -> Int { … }`");
        return coir_parse_node1(p, COIR_N_ERROR, first, 0, coir_parse_fn(p, COIR_OF_MODULE));
    }
    coir_parse_next(p);
    params = coir_parse_params(p, COIR_OF_MODULE);
    result = coir_parse_result(p);
    if (coir_parse_here(p, COIR_T_ARROW)) {
        coir_parse_error(p, COIR_E_NEEDS_BLOCK, p->at, "behind `fn(…)` stands a block");
        coir_parse_note(p, "write `fn(x: Int) -> Int { … }`, or `x => …`");
        coir_parse_next(p);
        if (coir_parse_enter(p)) {
            body = coir_parse_binary(p, COIR_S_LOOSEST);
            coir_parse_leave(p);
            return coir_parse_node3(p, COIR_N_ERROR, first, 0, params, result, body);
        }
    }
    body = coir_parse_block(p, "a closure");
    return coir_parse_node3(p, COIR_N_CLOSURE, first, first, params, result, body);
}

/* ---- what takes the rest ---- */

/* Whether what `return` and `trap` have behind them begins here. */
static bool value_follows(const struct coir_parser *p)
{
    return coir_parse_begins(p->kind) && !(p->newline && p->context.lines) &&
        !(p->context.head && p->kind == COIR_T_BRACE_OPEN);
}

static coir_ast leaving(struct coir_parser *p)
{
    const uint32_t first = p->at;
    const bool traps = p->kind == COIR_T_TRAP;
    coir_ast value = 0;

    coir_parse_next(p);
    if (value_follows(p) && coir_parse_enter(p)) {
        value = coir_parse_binary(p, COIR_S_LOOSEST);
        coir_parse_leave(p);
    } else if (traps) {
        coir_parse_error(p, COIR_E_EXPRESSION, p->at, "`trap` needs a message, or what was caught");
        coir_parse_note(p, "write `trap \"message\"`, or `trap e`");
    }
    return coir_parse_node1(p, traps ? COIR_N_TRAP : COIR_N_RETURN, first, first, value);
}

static coir_ast spawn(struct coir_parser *p)
{
    const uint32_t first = p->at;
    coir_ast what, restarts = 0, period = 0;
    unsigned any = 0;

    coir_parse_next(p);
    if (p->kind == COIR_T_ON) {
        coir_parse_next(p);
        any = COIR_F_ANY;
        if (coir_parse_is_name(p, "any")) {
            coir_parse_next(p);
        } else {
            coir_parse_error(p, COIR_E_EXPECTED, p->at, "expected `any` after `spawn on`");
            coir_parse_note(p, "write `spawn on any f(x)`");
        }
    }
    what = coir_parse_spawned(p, true);
    if (coir_parse_is_name(p, "restart") && !p->newline) {
        coir_parse_next(p);
        restarts = coir_parse_binary(p, COIR_S_SUM);
        if (coir_parse_expect(p, COIR_T_IN, "after `restart n`"))
            period = coir_parse_binary(p, COIR_S_SUM);
        else
            coir_parse_note(p, "write `spawn M{} restart 3 in 10s`");
    }
    return coir_parse_flag(p, coir_parse_node3(p, COIR_N_SPAWN, first, first, what, restarts, period), any);
}

static coir_ast transaction(struct coir_parser *p)
{
    const uint32_t first = p->at;

    coir_parse_next(p);
    return coir_parse_node1(p, COIR_N_TRANSACTION, first, 0, coir_parse_block(p, "`transaction`"));
}

/* ---- all of them ---- */

bool coir_parse_begins(enum coir_token_kind kind)
{
    switch (kind) {
    case COIR_T_INT: case COIR_T_FLOAT: case COIR_T_DURATION: case COIR_T_TEXT_OPEN: case COIR_T_NAME:
    case COIR_T_CAPITAL: case COIR_T_UNDERSCORE: case COIR_T_BAD: case COIR_T_SELF: case COIR_T_TRUE:
    case COIR_T_FALSE: case COIR_T_NIL: case COIR_T_MINUS: case COIR_T_NOT: case COIR_T_PAREN_OPEN:
    case COIR_T_BRACKET_OPEN: case COIR_T_BRACE_OPEN: case COIR_T_FN: case COIR_T_IF: case COIR_T_MATCH:
    case COIR_T_TRY: case COIR_T_GROUP: case COIR_T_WITHIN: case COIR_T_TRANSACTION: case COIR_T_RETURN:
    case COIR_T_BREAK: case COIR_T_CONTINUE: case COIR_T_TRAP: case COIR_T_SPAWN: case COIR_T_ASYNC:
    case COIR_T_AWAIT:
        return true;
    default:
        return false;
    }
}

static coir_ast leaf(struct coir_parser *p)
{
    switch (p->kind) {
    case COIR_T_INT: case COIR_T_FLOAT: case COIR_T_DURATION: return number(p);
    case COIR_T_TEXT_OPEN: return coir_parse_text(p, false);
    case COIR_T_NAME: case COIR_T_CAPITAL: return name(p);
    case COIR_T_SELF: return coir_parse_leaf(p, COIR_N_SELF);
    case COIR_T_TRUE: case COIR_T_FALSE: return coir_parse_leaf(p, COIR_N_BOOL);
    case COIR_T_NIL: return coir_parse_leaf(p, COIR_N_NIL);
    case COIR_T_BREAK: return coir_parse_leaf(p, COIR_N_BREAK);
    case COIR_T_CONTINUE: return coir_parse_leaf(p, COIR_N_CONTINUE);
    case COIR_T_BAD: return coir_parse_leaf(p, COIR_N_ERROR);
    default: return nothing(p);
    }
}

coir_ast coir_parse_primary(struct coir_parser *p)
{
    if (coir_parse_at_arrow(p))
        return coir_parse_arrow(p);
    switch (p->kind) {
    case COIR_T_PAREN_OPEN: return parentheses(p);
    case COIR_T_BRACKET_OPEN: return brackets(p);
    case COIR_T_BRACE_OPEN: return p->context.head ? nothing(p) : coir_parse_block(p, NULL);
    case COIR_T_FN: return closure(p);
    case COIR_T_IF: return coir_parse_if(p);
    case COIR_T_MATCH: return coir_parse_match(p);
    case COIR_T_TRY: return coir_parse_try(p);
    case COIR_T_GROUP: return coir_parse_group(p);
    case COIR_T_WITHIN: return coir_parse_within(p);
    case COIR_T_TRANSACTION: return transaction(p);
    case COIR_T_RETURN: case COIR_T_TRAP: return leaving(p);
    case COIR_T_SPAWN: return spawn(p);
    case COIR_T_ASYNC: case COIR_T_AWAIT: return async(p);
    case COIR_T_LET: case COIR_T_VAR: case COIR_T_WHILE: case COIR_T_FOR: case COIR_T_LOOP: case COIR_T_DEFER:
    case COIR_T_SELECT: case COIR_T_ASSERT: return statement(p);
    default: return leaf(p);
    }
}
