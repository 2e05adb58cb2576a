/* SPDX-License-Identifier: MIT */
/*
 * From bytes to tokens: see lang/token.h. One pass, one token after the other, without a gap. It reports what no token
 * is made of, and the operators of other languages, for which it gives the token that was meant: so the parser says
 * nothing more of them. Nothing here recurses.
 */
#include "lang/lexer.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

void coir_lexer_add(struct coir_lexer *l, uint32_t start, enum coir_token_kind kind)
{
    if (!coir_budget_grow(l->budget, &l->to->list, &l->to->room, l->to->count, sizeof *l->to->list)) {
        l->starved = true;
        return;
    }
    l->to->list[l->to->count++] = (struct coir_token){ start, (uint8_t)kind, l->bad };
    l->bad = false;
}

__attribute__((format(printf, 4, 5)))
static void report(struct coir_lexer *l, enum coir_code code, uint32_t start, const char *format, ...);

static void report(struct coir_lexer *l, enum coir_code code, uint32_t start, const char *format, ...)
{
    char text[256];
    va_list more;

    va_start(more, format);
    vsnprintf(text, sizeof text, format, more);
    va_end(more);
    coir_diagnose(l->d, code, l->source, start, l->at, "%s", text);
    l->bad = true;
}

/* ---- names ---- */

static enum coir_token_kind word_kind(const char *text, uint32_t n)
{
    static const struct { const char *text; enum coir_token_kind kind; } words[] = {
#define COIR_WORD(text, name) { text, COIR_T_##name },
        COIR_WORDS
#undef COIR_WORD
    };
    size_t from = 0, to = sizeof words / sizeof *words;

    while (from < to) {                         /* they are in the order of the alphabet */
        const size_t middle = (from + to) / 2;
        const int order = strncmp(text, words[middle].text, n);
        if (order == 0 && words[middle].text[n] == '\0')
            return words[middle].kind;
        if (order > 0)
            from = middle + 1;
        else
            to = middle;
    }
    if (text[0] >= 'A' && text[0] <= 'Z')
        return COIR_T_CAPITAL;
    return n == 1 && text[0] == '_' ? COIR_T_UNDERSCORE : COIR_T_NAME;
}

static void name(struct coir_lexer *l)
{
    const uint32_t start = l->at;

    while (coir_lexer_is_word(coir_lexer_peek(l, 0)))
        l->at++;
    coir_lexer_add(l, start, word_kind(l->text + start, l->at - start));
}

/* ---- what is between tokens ---- */

static uint32_t line_end(const struct coir_lexer *l)
{
    const char *const end = memchr(l->text + l->at, '\n', l->size - l->at);
    uint32_t at = end ? (uint32_t)(end - l->text) : l->size;

    if (at > l->at && l->text[at - 1] == '\r')
        at--;
    return at;
}

static void comment(struct coir_lexer *l)
{
    const uint32_t start = l->at;
    const bool doc = coir_lexer_peek(l, 2) == '/' && coir_lexer_peek(l, 3) != '/';

    l->at = line_end(l);
    coir_lexer_add(l, start, doc ? COIR_T_DOC : COIR_T_COMMENT);
}

static void foreign_comment(struct coir_lexer *l)
{
    const uint32_t start = l->at;
    const bool block = l->text[start] == '/';
    const bool look = block && !l->no_block_end;
    const char *const end = look ? memmem(l->text + start + 2, l->size - start - 2, "*/", 2) : NULL;

    if (look && !end)
        l->no_block_end = true;             /* or a file full of them would be searched for each */
    l->at = start + 1 + block;
    report(l, COIR_E_COMMENT, start, "comments begin with `//`");
    coir_diagnose_note(l->d, block ? "write `//` before each line" : "write `//` instead of `#`");
    l->at = end ? (uint32_t)(end + 2 - l->text) : line_end(l);
    coir_lexer_add(l, start, COIR_T_COMMENT);
}

static void blank(struct coir_lexer *l)
{
    const uint32_t start = l->at;

    while (l->at < l->size && (l->text[l->at] == ' ' || l->text[l->at] == '\t' || l->text[l->at] == '\r'))
        l->at++;
    coir_lexer_add(l, start, COIR_T_BLANK);
}

/* ---- operators, and what is none ---- */

static bool starts(const struct coir_lexer *l, const char *text)
{
    const size_t n = strlen(text);

    return n <= l->size - l->at && memcmp(l->text + l->at, text, n) == 0;
}

/* An operator of another language: it is reported, and taken for the one that was meant. */
static bool foreign_operator(struct coir_lexer *l)
{
    static const struct { char text[4]; enum coir_token_kind kind; const char *note; } foreign[] = {
        { "&&", COIR_T_AND, "write `and`" },
        { "||", COIR_T_OR, "write `or`; a closure is `x => …`" },
        { "!==", COIR_T_UNEQUAL, "write `!=`, which compares content" },
        { "===", COIR_T_EQUAL, "write `==`, which compares content" },
        { "<>", COIR_T_UNEQUAL, "write `!=`" },
        { "...", COIR_T_DOTS, "write `..`, which leaves out the end, or `..=`" },
        { "::", COIR_T_DOT, "write `.`" },
        { ":=", COIR_T_ASSIGN, "declare with `let x = …` or `var x = …`, assign with `=`" },
        { "<<=", COIR_T_ASSIGN, "write `x = x << n`" },
        { ">>=", COIR_T_ASSIGN, "write `x = x >> n`" },
        { "|=", COIR_T_ASSIGN, "write `x = x | y`" },
        { "&=", COIR_T_ASSIGN, "write `x = x & y`" },
        { "^=", COIR_T_ASSIGN, "write `x = x ^ y`" },
        { "\?\?=", COIR_T_ASSIGN, "write `x = x ?? y`" },
        { "**", COIR_T_TIMES, "write `*`; powers are in `math`" },
        { "~", COIR_T_MINUS, "the complement of x is `x ^ -1`" },
    };
    const uint32_t start = l->at;

    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        if (!starts(l, foreign[i].text))
            continue;
        l->at += (uint32_t)strlen(foreign[i].text);
        report(l, COIR_E_STRAY_OPERATOR, start, "there is no operator `%s`", foreign[i].text);
        coir_diagnose_note(l->d, "%s", foreign[i].note);
        coir_lexer_add(l, start, foreign[i].kind);
        return true;
    }
    if (l->text[start] != '!' || coir_lexer_peek(l, 1) == '=')
        return false;
    l->at++;
    report(l, COIR_E_STRAY_OPERATOR, start, "there is no operator `!`");
    coir_diagnose_note(l->d, "write `not x`; an optional is opened by `if let`, `match` or `\?\?`");
    coir_lexer_add(l, start, COIR_T_NOT);
    return true;
}

/* In a hole, brackets are counted. True if this one was the hole's end. */
static bool bracket(struct coir_lexer *l, char c)
{
    struct coir_open_text *const open = l->open_count ? &l->open[l->open_count - 1] : NULL;

    if (!open)
        return false;
    if (c == '(' || c == '[' || c == '{')
        open->depth++;
    else if (c == '}' && open->depth == 0)
        open->hole = false;
    else if ((c == ')' || c == ']' || c == '}') && open->depth > 0)
        open->depth--;
    return !open->hole;
}

static bool mark(struct coir_lexer *l)
{
    static const struct { char text[4]; enum coir_token_kind kind; } marks[] = {
#define COIR_MARK(text, name) { text, COIR_T_##name },
        COIR_MARKS
#undef COIR_MARK
    };
    const uint32_t start = l->at;

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (marks[i].text[0] != l->text[start] || !starts(l, marks[i].text))
            continue;
        const bool ends_hole = bracket(l, l->text[start]);
        l->at += (uint32_t)strlen(marks[i].text);
        coir_lexer_add(l, start, ends_hole ? COIR_T_HOLE_CLOSE : marks[i].kind);
        return true;
    }
    return false;
}

static void single_quoted(struct coir_lexer *l)
{
    enum { MOST = 1000 };
    const uint32_t start = l->at;
    const uint32_t most = l->size - start < MOST ? l->size - start : MOST;
    const char *const line = memchr(l->text + start, '\n', most);
    const uint32_t end = line ? (uint32_t)(line - l->text) : start + most;

    for (l->at++; l->at < end && l->text[l->at] != '\'';)
        l->at += l->text[l->at] == '\\' && l->at + 1 < end ? 2 : 1;
    l->at = l->at < end ? l->at + 1 : start + 1;
    report(l, COIR_E_SINGLE_QUOTE, start, "texts stand in double quotes");
    coir_diagnose_note(l->d, "write \"…\"; there is no type for a single letter, it is a Text too");
    coir_lexer_add(l, start, COIR_T_BAD);
}

/* One report for a run of them. */
static void stray(struct coir_lexer *l)
{
    const uint32_t start = l->at;
    const unsigned char c = (unsigned char)l->text[start];

    l->at++;
    if (c >= 0x80) {
        while (l->at < l->size && ((unsigned char)l->text[l->at] >= 0x80 || coir_lexer_is_word(l->text[l->at])))
            l->at++;
        report(l, COIR_E_STRAY_BYTE, start, "only ASCII letters can stand here");
        coir_diagnose_note(l->d, "names are made of a to z, A to Z, 0 to 9 and `_`; other letters belong in texts and "
                           "comments");
    } else if (c > ' ' && c < 0x7F) {
        report(l, COIR_E_STRAY_BYTE, start, "`%c` means nothing here", c);
        coir_diagnose_note(l->d, c == '$' ? "in a text, `${…}` stands for an expression" :
                                 c == '`' ? "texts stand in double quotes" : "leave it out");
    } else {
        report(l, COIR_E_STRAY_BYTE, start, "the byte 0x%02x means nothing here", c);
        coir_diagnose_note(l->d, "leave it out; in a text it is `\\x%02x`", c);
    }
    coir_lexer_add(l, start, COIR_T_BAD);
}

/* ---- the loop ---- */

static void newline(struct coir_lexer *l)
{
    if (l->open_count > 0 && !l->open[l->open_count - 1].lines && l->open[l->open_count - 1].depth == 0)
        coir_lexer_cut_text(l, false);
    l->at++;
    coir_lexer_add(l, l->at - 1, COIR_T_NEWLINE);
}

static void code(struct coir_lexer *l)
{
    const char c = l->text[l->at];

    if (c == '\n')
        newline(l);
    else if (c == ' ' || c == '\t' || c == '\r')
        blank(l);
    else if (c >= '0' && c <= '9')
        coir_lexer_number(l);
    else if (coir_lexer_is_word(c))
        name(l);
    else if (c == '"')
        coir_lexer_open_text(l);
    else if (c == '/' && coir_lexer_peek(l, 1) == '/')
        comment(l);
    else if (c == '#' || (c == '/' && coir_lexer_peek(l, 1) == '*'))
        foreign_comment(l);
    else if (c == '\'')
        single_quoted(l);
    else if (!foreign_operator(l) && !mark(l))
        stray(l);
}

int coir_lex(struct coir_tokens *to, const struct coir_source *source, struct coir_diagnostics *d,
             struct coir_budget *m)
{
    struct coir_lexer l = {
        .source = source, .text = source->text, .size = source->size, .d = d, .budget = m, .to = to,
    };

    *to = (struct coir_tokens){ 0 };
    if (l.size >= 3 && memcmp(l.text, "\xEF\xBB\xBF", 3) == 0)
        l.at = 3;
    coir_lexer_add(&l, 0, COIR_T_BLANK);
    while (l.at < l.size && !l.starved) {
        if (l.open_count > 0 && !l.open[l.open_count - 1].hole)
            coir_lexer_in_text(&l);
        else
            code(&l);
    }
    if (l.open_count > 0 && !l.starved)
        coir_lexer_cut_text(&l, true);
    coir_lexer_add(&l, l.at, COIR_T_END);
    coir_budget_resize(m, l.open, l.open_room * sizeof *l.open, 0);
    return l.starved ? -ENOMEM : 0;
}

void coir_tokens_free(struct coir_tokens *tokens, struct coir_budget *m)
{
    coir_budget_resize(m, tokens->list, tokens->room * sizeof *tokens->list, 0);
    *tokens = (struct coir_tokens){ 0 };
}

const char *coir_token_kind_text(enum coir_token_kind kind)
{
    static const char *const texts[COIR_TOKEN_KINDS] = {
        [COIR_T_END] = "the end of the file", [COIR_T_BLANK] = "a blank", [COIR_T_NEWLINE] = "the end of the line",
        [COIR_T_COMMENT] = "a comment", [COIR_T_DOC] = "a comment", [COIR_T_BAD] = "something unknown",
        [COIR_T_INT] = "a number", [COIR_T_FLOAT] = "a number", [COIR_T_DURATION] = "a duration",
        [COIR_T_TEXT_OPEN] = "a text", [COIR_T_TEXT_PART] = "a text", [COIR_T_HOLE_OPEN] = "`${`",
        [COIR_T_HOLE_CLOSE] = "the `}` of `${`", [COIR_T_TEXT_CLOSE] = "the end of a text", [COIR_T_NAME] = "a name",
        [COIR_T_CAPITAL] = "a name with a capital", [COIR_T_UNDERSCORE] = "`_`",
#define COIR_WORD(text, name) [COIR_T_##name] = "`" text "`",
        COIR_WORDS
#undef COIR_WORD
#define COIR_MARK(text, name) [COIR_T_##name] = "`" text "`",
        COIR_MARKS
#undef COIR_MARK
    };

    return kind < COIR_TOKEN_KINDS ? texts[kind] : "something unknown";
}
