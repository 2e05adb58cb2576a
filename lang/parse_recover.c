/* SPDX-License-Identifier: MIT */
/*
 * What the parser says, and how it goes on after an error: see lang/parse.h. One mistake is to cost one report: after
 * one the parser is in panic, and silent, until the statement, arm or member is over. What the lexer has reported
 * counts as said too. Skipping passes brackets whole, but stops where the line of the next declaration begins.
 */
#include "lang/parse.h"

#include <stdarg.h>
#include <string.h>

/* ---- saying ---- */

/* Whether the lexer has reported this token, the one before it, or what is between them. */
static bool lexer_said(const struct coir_parser *p, uint32_t token)
{
    if (p->tokens[token].bad)
        return true;
    while (token-- > 0) {
        if (p->tokens[token].bad)
            return true;
        if (!coir_token_is_space((enum coir_token_kind)p->tokens[token].kind))
            return false;
    }
    return false;
}

static void say(struct coir_parser *p, enum coir_code code, uint32_t token, const char *format, va_list more)
{
    char text[512];
    const struct coir_place at = coir_token_place(p->tree, token);

    if (lexer_said(p, token) || lexer_said(p, p->at))
        return;
    vsnprintf(text, sizeof text, format, more);
    coir_diagnose(p->d, code, p->source, at.start, at.end, "%s", text);
}

void coir_parse_error(struct coir_parser *p, enum coir_code code, uint32_t token, const char *format, ...)
{
    va_list more;

    p->d->dropped = true;                       /* then notes go nowhere */
    if (p->panic)
        return;
    p->panic = true;
    va_start(more, format);
    say(p, code, token, format, more);
    va_end(more);
}

void coir_parse_remark(struct coir_parser *p, enum coir_code code, uint32_t token, const char *format, ...)
{
    va_list more;

    p->d->dropped = true;
    if (p->panic)
        return;
    va_start(more, format);
    say(p, code, token, format, more);
    va_end(more);
}

void coir_parse_note(struct coir_parser *p, const char *format, ...)
{
    char text[512];
    va_list more;

    va_start(more, format);
    vsnprintf(text, sizeof text, format, more);
    va_end(more);
    coir_diagnose_note(p->d, "%s", text);
}

const char *coir_parse_found(const struct coir_parser *p, char to[64])
{
    enum { MOST = 40 };
    const struct coir_word w = coir_token_word(p->tree, p->at);

    if (p->newline && p->context.lines && p->kind != COIR_T_END)
        return "the end of the line";
    if (p->kind < COIR_T_INT || (p->kind >= COIR_T_TEXT_OPEN && p->kind <= COIR_T_TEXT_CLOSE))
        return coir_token_kind_text(p->kind);
    snprintf(to, 64, "`%.*s%s`", w.size < MOST ? (int)w.size : MOST, w.text, w.size < MOST ? "" : "…");
    return to;
}

bool coir_parse_expect(struct coir_parser *p, enum coir_token_kind kind, const char *where)
{
    char found[64];

    if (p->kind == kind && !(p->newline && p->context.lines)) {
        coir_parse_next(p);
        return true;
    }
    coir_parse_error(p, COIR_E_EXPECTED, p->at, "expected %s %s, not %s", coir_token_kind_text(kind), where,
                     coir_parse_found(p, found));
    return false;
}

/* ---- skipping ---- */

static bool is_opening(enum coir_token_kind kind)
{
    return kind == COIR_T_PAREN_OPEN || kind == COIR_T_BRACKET_OPEN || kind == COIR_T_BRACE_OPEN;
}

static bool is_round(enum coir_token_kind kind)
{
    return kind == COIR_T_PAREN_CLOSE || kind == COIR_T_BRACKET_CLOSE;
}

bool coir_parse_at_declaration(const struct coir_parser *p)
{
    const uint32_t start = p->tokens[p->at].start;
    enum coir_token_kind next;

    if (!p->newline)
        return false;
    next = coir_parse_peek(p, 1, NULL);
    if (p->kind == COIR_T_ON)
        return p->in_actor && next != COIR_T_COLON;
    if (start > 0 && p->source->text[start - 1] != '\n')
        return false;
    switch (p->kind) {
    case COIR_T_FN:
        return next == COIR_T_NAME || next == COIR_T_CAPITAL || coir_token_is_word(next);
    case COIR_T_TYPE: case COIR_T_ACTOR: case COIR_T_TABLE:
        return next == COIR_T_CAPITAL;
    case COIR_T_TEST:
        return next == COIR_T_TEXT_OPEN;
    case COIR_T_PUB: case COIR_T_SHARED:
        return next != COIR_T_COLON;
    default:
        return false;
    }
}

/* The lexer keeps texts and their holes balanced. */
static void skip_text(struct coir_parser *p)
{
    uint32_t open = 0;

    do {
        if (p->kind == COIR_T_TEXT_OPEN)
            open++;
        if (p->kind == COIR_T_TEXT_CLOSE)
            open--;
        coir_parse_next(p);
    } while (open > 0 && p->kind != COIR_T_END);
}

void coir_parse_skip_brackets(struct coir_parser *p)
{
    const bool curly = p->kind == COIR_T_BRACE_OPEN;
    uint32_t round = !curly, braces = curly;

    coir_parse_next(p);
    while (p->kind != COIR_T_END && p->kind != COIR_T_HOLE_CLOSE && !coir_parse_at_declaration(p)) {
        const enum coir_token_kind kind = p->kind;
        if (kind == COIR_T_TEXT_OPEN) {
            skip_text(p);
            continue;
        }
        if (kind == COIR_T_BRACE_CLOSE && braces == 0)
            return;                             /* of what is around */
        coir_parse_next(p);
        if (kind == COIR_T_BRACE_OPEN)
            braces++;
        else if (kind == COIR_T_BRACE_CLOSE)
            braces--;
        else if (is_opening(kind) && braces == curly)
            round++;
        else if (is_round(kind) && braces == curly && round > 0)
            round--;
        if (curly ? braces == 0 : braces == 0 && round == 0)
            return;
    }
}

static void skip_until(struct coir_parser *p, bool comma)
{
    while (p->kind != COIR_T_END && p->kind != COIR_T_BRACE_CLOSE && p->kind != COIR_T_HOLE_CLOSE) {
        if (p->context.lines ? p->newline || p->kind == COIR_T_SEMICOLON : is_round(p->kind))
            return;
        if ((comma && p->kind == COIR_T_COMMA) || coir_parse_at_declaration(p))
            return;
        if (is_opening(p->kind))
            coir_parse_skip_brackets(p);
        else if (p->kind == COIR_T_TEXT_OPEN)
            skip_text(p);
        else
            coir_parse_next(p);
    }
}

void coir_parse_skip(struct coir_parser *p)
{
    skip_until(p, false);
}

coir_ast coir_parse_broken(struct coir_parser *p, uint32_t first, uint32_t mark)
{
    return coir_parse_node(p, COIR_N_ERROR, first, 0, mark);
}

/* ---- brackets and what is between ---- */

/* A line that cannot go on inside ( ) or [ ]. */
static bool at_statement(const struct coir_parser *p)
{
    switch (p->kind) {
    case COIR_T_LET: case COIR_T_VAR: case COIR_T_FOR: case COIR_T_WHILE: case COIR_T_LOOP: case COIR_T_DEFER:
    case COIR_T_ASSERT: case COIR_T_RETURN: case COIR_T_USE: case COIR_T_ON:
        return p->newline;
    default:
        return coir_parse_at_declaration(p);
    }
}

static void unclosed(struct coir_parser *p, uint32_t open)
{
    const bool brace = p->tokens[open].kind == COIR_T_BRACE_OPEN;
    const bool other = brace && p->suspect > open;
    const struct coir_place here = coir_token_place(p->tree, other ? p->suspect : p->at);
    const char *const text = coir_token_kind_text((enum coir_token_kind)p->tokens[open].kind);

    coir_parse_error(p, COIR_E_UNCLOSED, open, "this %s is not closed", text);
    if (other)
        coir_diagnose_see(p->d, p->source, here.start, here.end, "or this one: the `}` after it stands further left");
    else
        coir_diagnose_see(p->d, p->source, here.start, here.end, p->kind == COIR_T_END ?
                          "here the file ends" : "it should be closed before this");
    coir_parse_note(p, "close it with `%s`", brace ? "}" : p->tokens[open].kind == COIR_T_PAREN_OPEN ? ")" : "]");
}

static void between_items(struct coir_parser *p, enum coir_token_kind kind, uint32_t open)
{
    char found[64];
    const char *const foreign = coir_parse_foreign(p, p->previous);
    const struct coir_place at = coir_token_place(p->tree, open);

    coir_parse_error(p, COIR_E_SEPARATOR, p->at, "expected `,` or %s, not %s", coir_token_kind_text(kind),
                     coir_parse_found(p, found));
    coir_diagnose_see(p->d, p->source, at.start, at.end, "it is opened here");
    if (foreign)
        coir_parse_note(p, "%s", foreign);
    else
        coir_parse_note(p, "items are separated by commas");
}

static bool cannot_go_on(const struct coir_parser *p)
{
    return p->kind == COIR_T_END || p->kind == COIR_T_BRACE_CLOSE || p->kind == COIR_T_HOLE_CLOSE || at_statement(p);
}

void coir_parse_close(struct coir_parser *p, enum coir_token_kind kind, uint32_t open)
{
    if (coir_parse_accept(p, kind))
        return;
    if (cannot_go_on(p) || is_round(p->kind))
        unclosed(p, open);
    else if (kind == COIR_T_BRACE_CLOSE)
        unclosed(p, open);
    else
        between_items(p, kind, open);
    while (p->kind != kind && !cannot_go_on(p)) {
        if (is_round(p->kind) && kind != COIR_T_BRACE_CLOSE)
            return;                             /* of what is around */
        if (is_opening(p->kind))
            coir_parse_skip_brackets(p);
        else if (p->kind == COIR_T_TEXT_OPEN)
            skip_text(p);
        else
            coir_parse_next(p);
    }
    coir_parse_accept(p, kind);
}

bool coir_parse_comma(struct coir_parser *p, enum coir_token_kind close)
{
    if (p->kind == COIR_T_SEMICOLON) {
        coir_parse_remark(p, COIR_E_SEMICOLON, p->at, "a `;` separates statements, not items");
        coir_parse_note(p, "write `,`");
    } else if (p->kind != COIR_T_COMMA) {
        return false;
    }
    coir_parse_next(p);
    return p->kind != close && p->kind != COIR_T_END;
}

/* `)` and `]` that nobody waits for. */
static bool complain_unopened(struct coir_parser *p)
{
    if (!is_round(p->kind))
        return false;
    coir_parse_error(p, COIR_E_UNOPENED, p->at, "this %s closes nothing", coir_token_kind_text(p->kind));
    coir_parse_note(p, "leave it out, or open it before");
    return true;
}

void coir_parse_between(struct coir_parser *p, const char *what)
{
    char found[64];
    const bool closed = p->tokens[p->previous].kind == COIR_T_BRACE_CLOSE && !p->panic;

    if (!closed && !p->newline && p->kind != COIR_T_COMMA && p->kind != COIR_T_BRACE_CLOSE &&
            p->kind != COIR_T_SEMICOLON) {
        const char *const foreign = coir_parse_foreign(p, p->previous);
        if (!complain_unopened(p)) {
            coir_parse_error(p, COIR_E_SEPARATOR, p->at, "expected `,` or a newline, not %s",
                             coir_parse_found(p, found));
            coir_parse_note(p, "%s%s", foreign ? foreign : what,
                            foreign ? "" : " are separated by commas or newlines");
        }
        skip_until(p, true);
    }
    p->panic = p->over;
    while (p->kind == COIR_T_COMMA || p->kind == COIR_T_SEMICOLON) {
        if (p->kind == COIR_T_SEMICOLON) {
            coir_parse_remark(p, COIR_E_SEMICOLON, p->at, "a `;` separates statements; %s have none", what);
            coir_parse_note(p, "write `,`, or a newline alone");
        }
        coir_parse_next(p);
    }
}

uint32_t coir_parse_indent(struct coir_parser *p, uint32_t token)
{
    const char *const text = p->source->text;
    const uint32_t line = coir_source_position(p->source, p->tokens[token].start).line;
    const uint32_t start = p->source->starts[line - 1];
    uint32_t at = start;

    if (line == p->indent_line)
        return p->indent;                       /* or a line with much on it would be gone through for each */
    while (text[at] == ' ' || text[at] == '\t')
        at++;
    p->indent_line = line;
    p->indent = at - start + 1;
    return p->indent;
}

static bool begins_line(const struct coir_parser *p, uint32_t token)
{
    token -= p->tokens[token - 1].kind == COIR_T_BLANK;
    return token == 0 || p->tokens[token - 1].kind == COIR_T_NEWLINE;
}

void coir_parse_compare_indent(struct coir_parser *p, uint32_t open)
{
    if (p->suspect == 0 && begins_line(p, p->previous) &&
            coir_parse_indent(p, p->previous) < coir_parse_indent(p, open))
        p->suspect = open;
}

static const char *separator_advice(const struct coir_parser *p, uint32_t first)
{
    const char *const foreign = coir_parse_foreign(p, first);

    if (foreign)
        return foreign;
    switch (p->kind) {
    case COIR_T_COMMA: return "a tuple stands in parentheses: `(a, b)`";
    case COIR_T_COLON: return p->tokens[p->previous].kind == COIR_T_NAME ? "declare with `let x: T = …`"
                                                                         : "a map is written `[k: v]`, empty `[:]`";
    case COIR_T_ELSE: return "write `let x = y ?? return`, or `if let x = y { … } else { … }`";
    case COIR_T_ARROW: return "arms stand in `match x { … }`; the parameters of a closure in `( )`";
    case COIR_T_BAR: return "variants go on with a `|` at the end of the line";
    default: return "statements are separated by newlines, or by `;`";
    }
}

void coir_parse_end(struct coir_parser *p, uint32_t first, bool closed)
{
    char found[64];
    const bool separated = p->newline || p->kind == COIR_T_SEMICOLON || p->kind == COIR_T_BRACE_CLOSE ||
        p->kind == COIR_T_HOLE_CLOSE || (closed && !p->panic);

    if (!separated) {
        const char *const note = separator_advice(p, first);
        if (!complain_unopened(p)) {
            coir_parse_error(p, COIR_E_SEPARATOR, p->at, "expected a newline or `;`, not %s",
                             coir_parse_found(p, found));
            coir_parse_note(p, "%s", note);
        }
        coir_parse_skip(p);
    }
    while (p->kind == COIR_T_SEMICOLON)
        coir_parse_next(p);
    p->panic = p->over;
}

/* ---- names ---- */

static void wrong_case(struct coir_parser *p, bool capital, const char *what)
{
    const struct coir_word w = coir_token_word(p->tree, p->at);
    const int rest = w.size < 40 ? (int)w.size - 1 : 39;

    if (capital) {
        coir_parse_remark(p, COIR_E_CAPITAL, p->at, "the name of %s begins with a capital", what);
        if (w.text[0] != '_')
            coir_parse_note(p, "write `%c%.*s`", w.text[0] - 'a' + 'A', rest, w.text + 1);
    } else {
        coir_parse_remark(p, COIR_E_LOWER, p->at, "the name of %s begins with a small letter", what);
        coir_parse_note(p, "write `%c%.*s`; capitals are for types and variants", w.text[0] - 'A' + 'a', rest,
                        w.text + 1);
    }
}

uint32_t coir_parse_name(struct coir_parser *p, bool capital, const char *what)
{
    char found[64];
    const uint32_t token = p->at;
    const bool word = coir_token_is_word(p->kind) && !p->newline;

    if (!word && p->kind != COIR_T_NAME && p->kind != COIR_T_CAPITAL) {
        coir_parse_error(p, COIR_E_EXPECTED, p->at, "expected the name of %s, not %s", what,
                         coir_parse_found(p, found));
        coir_parse_note(p, "a name is made of letters, digits and `_`");
        return 0;
    }
    if (word) {
        coir_parse_remark(p, COIR_E_RESERVED, token, "%s is a reserved word, and cannot be the name of %s",
                          coir_token_kind_text(p->kind), what);
        coir_parse_note(p, "take another name");
    } else if ((p->kind == COIR_T_CAPITAL) != capital) {
        wrong_case(p, capital, what);
    }
    coir_parse_next(p);
    return token;
}

uint32_t coir_parse_any_word(struct coir_parser *p, const char *what)
{
    char found[64];
    const uint32_t token = p->at;

    if (p->kind == COIR_T_NAME || p->kind == COIR_T_CAPITAL || coir_token_is_word(p->kind)) {
        coir_parse_next(p);
        return token;
    }
    coir_parse_error(p, COIR_E_EXPECTED, p->at, "expected %s, not %s", what, coir_parse_found(p, found));
    coir_parse_note(p, "any word can stand here, and nothing else");
    return 0;
}

const char *coir_parse_foreign(const struct coir_parser *p, uint32_t token)
{
    static const struct { const char *text, *note; } words[] = {
        { "const", "declare with `let`, at the top of a module too" },
        { "val", "declare with `let`" },
        { "local", "declare with `let` or `var`" },
        { "final", "declare with `let`" },
        { "auto", "declare with `let` or `var`" },
        { "switch", "write `match x { … }`" },
        { "case", "an arm is `pattern => statement`, without a word before it" },
        { "when", "write `match x { … }`" },
        { "throw", "write `trap \"message\"`; for errors with a value return a sum type" },
        { "raise", "write `trap \"message\"`; for errors with a value return a sum type" },
        { "panic", "write `trap \"message\"`" },
        { "elif", "write `else if`" },
        { "elsif", "write `else if`" },
        { "elseif", "write `else if`" },
        { "then", "the block of an `if` stands in `{ }`" },
        { "do", "write `loop { … }` and `break`" },
        { "until", "write `while not …`" },
        { "unless", "write `if not …`" },
        { "foreach", "write `for x in xs`" },
        { "repeat", "write `loop { … }` and `break`" },
        { "go", "write `spawn f(x)`" },
        { "yield", "a function gives values through a `chan[T](n)`" },
        { "new", "write the type and its fields: `P{ x: 1 }`" },
        { "del", "write `xs.remove(i)`" },
        { "delete", "write `m.remove(k)`" },
        { "import", "write `use net`" },
        { "from", "write `use net`" },
        { "include", "write `use net`" },
        { "require", "write `use net`" },
        { "finally", "write `defer { … }` at the beginning of the block" },
        { "except", "write `try { … } catch e { … }`" },
        { "int", "declare with `let x: Int = …`" },
        { "is", "compare with `==`, open with `match`" },
        { "instanceof", "open a sum type with `match`" },
        { "as", "conversions are named: `x.to_float()`, `Int(\"42\")`" },
        { "xor", "write `^` for bits, `!=` for Bool" },
        { "echo", "write `print(…)`" },
        { "println", "write `print(…)`" },
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (coir_parse_token_is(p, token, words[i].text))
            return words[i].note;
    return NULL;
}
