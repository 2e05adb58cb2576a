/* SPDX-License-Identifier: MIT */
/*
 * Texts and numbers: see lang/lexer.h. A text that does not end costs one report, and ends for the rest of the source
 * at the end of its line.
 */
#include "lang/lexer.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "lang/literal.h"

/* ---- texts ---- */

static bool at_quotes(const struct coir_lexer *l)
{
    return l->size - l->at >= 3 && memcmp(l->text + l->at, "\"\"\"", 3) == 0;
}

void coir_lexer_open_text(struct coir_lexer *l)
{
    const uint32_t start = l->at;
    const bool lines = at_quotes(l);

    if (!coir_budget_grow(l->budget, &l->open, &l->open_room, l->open_count, sizeof *l->open)) {
        l->starved = true;
        return;
    }
    l->open[l->open_count++] = (struct coir_open_text){ .start = start, .token = l->to->count, .lines = lines };
    l->at += lines ? 3 : 1;
    if (lines && coir_lexer_peek(l, 0) == '\r' && coir_lexer_peek(l, 1) == '\n')
        l->at += 2;
    else if (lines && coir_lexer_peek(l, 0) == '\n')
        l->at++;
    coir_lexer_add(l, start, COIR_T_TEXT_OPEN);
}

void coir_lexer_cut_text(struct coir_lexer *l, bool source_ends)
{
    uint32_t from = l->open_count - 1;

    while (from > 0 && (source_ends || !l->open[from - 1].lines))
        from--;
    const struct coir_open_text cut = l->open[from];
    coir_diagnose(l->d, COIR_E_TEXT_END, l->source, cut.start, cut.start + (cut.lines ? 3 : 1),
                  cut.hole ? "this text has a `${` without its `}`" : "this text does not end");
    if (cut.hole)
        coir_diagnose_note(l->d, "close the hole with `}`%s",
                           cut.lines ? "" : "; in a text of one line an expression goes over lines only in brackets");
    else if (cut.lines)
        coir_diagnose_note(l->d, "end it with `\"\"\"`");
    else
        coir_diagnose_note(l->d, "end it with `\"` on the same line; a text of several lines stands in `\"\"\"`");
    for (; l->open_count > from; l->open_count--) {
        const uint32_t token = l->open[l->open_count - 1].token;
        if (l->open_count - 1 > from && token < l->to->count)
            l->to->list[token].bad = true;      /* the `"` behind `${x`, which was meant as the end */
        if (l->open[l->open_count - 1].hole) {
            l->bad = true;
            coir_lexer_add(l, l->at, COIR_T_HOLE_CLOSE);
        }
        l->bad = true;
        coir_lexer_add(l, l->at, COIR_T_TEXT_CLOSE);
    }
}

static void escape(struct coir_lexer *l)
{
    char value[4];
    uint32_t used = 0;
    const uint32_t start = l->at++;
    const uint32_t n = coir_literal_escape(l->text + l->at, l->size - l->at, value, &used);
    const char c = coir_lexer_peek(l, 0);

    l->at += n;
    if (n > 0)
        return;
    const bool numeric = c == 'x' || c == 'u';
    const bool shown = (unsigned char)c > ' ' && (unsigned char)c < 0x7F;
    coir_diagnose(l->d, COIR_E_ESCAPE, l->source, start, start + 1 + shown, "there is no escape `\\%.*s`%s", shown, &c,
                  numeric ? " of this form" : "");
    coir_diagnose_note(l->d, c == 'x' ? "write two hexadecimal digits: `\\x41`" :
                             c == 'u' ? "write a letter's number in hexadecimal, at most 10FFFF: `\\u{1F600}`" :
                             "there are \\n \\r \\t \\0 \\\" \\$ \\\\ \\x41 \\u{1F600}; a backslash itself is `\\\\`");
}

void coir_lexer_in_text(struct coir_lexer *l)
{
    struct coir_open_text *const open = &l->open[l->open_count - 1];
    const uint32_t start = l->at;

    while (l->at < l->size) {
        const char c = l->text[l->at];
        const bool ends = c == '"' && (!open->lines || at_quotes(l));
        const bool hole = c == '$' && coir_lexer_peek(l, 1) == '{';
        const bool cut = c == '\n' && !open->lines;
        if ((ends || hole || cut) && l->at > start)
            break;
        if (cut) {
            coir_lexer_cut_text(l, false);
            return;
        }
        if (ends) {
            l->at += open->lines ? 3 : 1;
            l->open_count--;
            coir_lexer_add(l, start, COIR_T_TEXT_CLOSE);
            return;
        }
        if (hole) {
            l->at += 2;
            open->hole = true;
            open->depth = 0;
            coir_lexer_add(l, start, COIR_T_HOLE_OPEN);
            return;
        }
        if (c == '\\' && coir_lexer_peek(l, 1) != '\n')
            escape(l);
        else
            l->at++;
    }
    if (l->at > start)
        coir_lexer_add(l, start, COIR_T_TEXT_PART);
}

/* ---- numbers ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

__attribute__((format(printf, 4, 5)))
static void complain(struct coir_lexer *l, enum coir_code code, uint32_t start, const char *format, ...);

static void complain(struct coir_lexer *l, enum coir_code code, uint32_t start, const char *format, ...)
{
    char text[256];
    va_list more;

    if (l->bad)
        return;
    va_start(more, format);
    vsnprintf(text, sizeof text, format, more);
    va_end(more);
    coir_diagnose(l->d, code, l->source, start, l->at, "%s", text);
    l->bad = true;
}

static void note(struct coir_lexer *l, const char *text)
{
    coir_diagnose_note(l->d, "%s", text);
}

static void pass_digits(struct coir_lexer *l)
{
    while (is_digit(coir_lexer_peek(l, 0)) || coir_lexer_peek(l, 0) == '_')
        l->at++;
}

/* Passes `.5` and `e-3`. Whether there was one. */
static bool pass_fraction(struct coir_lexer *l)
{
    bool some = false;

    if (coir_lexer_peek(l, 0) == '.' && is_digit(coir_lexer_peek(l, 1))) {
        l->at++;
        pass_digits(l);
        some = true;
    }
    if ((coir_lexer_peek(l, 0) | 32) == 'e') {
        const uint32_t sign = coir_lexer_peek(l, 1) == '+' || coir_lexer_peek(l, 1) == '-';
        if (is_digit(coir_lexer_peek(l, 1 + sign))) {
            l->at += 1 + sign;
            pass_digits(l);
            some = true;
        }
    }
    return some;
}

static void check_underscores(struct coir_lexer *l, uint32_t start, uint32_t end, bool hex)
{
    const uint32_t from = start + (hex ? 2 : 0);

    for (uint32_t i = from; i < end; i++) {
        const bool first = i == from;
        const bool last = i + 1 == end || l->text[i + 1] == '.' || (!hex && !is_digit(l->text[i + 1]));
        if (l->text[i] == '_' && l->text[i + 1] != '_' && (first || last)) {
            complain(l, COIR_E_NUMBER, start, "a `_` in a number stands between two digits");
            note(l, "write it like 1_000");
            return;
        }
    }
}

/* What follows the digits that began at `start`, without a blank: a unit, or what cannot be there. */
static enum coir_token_kind suffix(struct coir_lexer *l, uint32_t start, bool whole)
{
    const uint32_t from = l->at;

    while (coir_lexer_is_word(coir_lexer_peek(l, 0)))
        l->at++;
    const struct coir_word unit = { l->text + from, l->at - from };
    const int shown = unit.size < 40 ? (int)unit.size : 40;
    if (unit.size == 0)
        return whole ? COIR_T_INT : COIR_T_FLOAT;
    if (!whole && coir_literal_unit(unit)) {
        complain(l, COIR_E_UNIT, start, "a duration is a whole number");
        note(l, "take a smaller unit: 1500ms for one and a half seconds");
    } else if (!coir_literal_unit(unit)) {
        complain(l, COIR_E_UNIT, start, "`%.*s` is no unit of time", shown, unit.text);
        note(l, "the units are ns, us, ms, s, m and h; between a number and a word belongs a blank");
    }
    return COIR_T_DURATION;
}

static enum coir_token_kind hexadecimal(struct coir_lexer *l, uint32_t start)
{
    uint64_t value;

    while (coir_lexer_is_word(coir_lexer_peek(l, 0)))
        l->at++;
    for (uint32_t i = start + 2; i < l->at; i++)
        if (!is_digit(l->text[i]) && l->text[i] != '_' && ((l->text[i] | 32) < 'a' || (l->text[i] | 32) > 'f')) {
            complain(l, COIR_E_NUMBER, start, "`%c` is no hexadecimal digit", l->text[i]);
            note(l, "the digits are 0 to 9 and a to f");
        }
    if (l->at == start + 2) {
        complain(l, COIR_E_NUMBER, start, "a hexadecimal number without digits");
        note(l, "write it like 0xff");
    }
    check_underscores(l, start, l->at, true);
    if (!coir_literal_int((struct coir_word){ l->text + start, l->at - start }, &value)) {
        complain(l, COIR_E_NUMBER_RANGE, start, "this does not fit 64 bits");
        note(l, "the largest is 0xffffffffffffffff, which is -1");
    }
    return COIR_T_INT;
}

static void check_range(struct coir_lexer *l, uint32_t start, enum coir_token_kind kind)
{
    const struct coir_word w = { l->text + start, l->at - start };
    uint64_t value;

    if (kind == COIR_T_FLOAT) {
        if (w.size <= COIR_LITERAL_FLOAT && isfinite(coir_literal_float(w)))
            return;
        complain(l, COIR_E_NUMBER_RANGE, start, "this does not fit a Float");
        note(l, "the largest is about 1.797e308");
    } else if (!coir_literal_int(w, &value) || value > (uint64_t)1 << 63) {
        complain(l, COIR_E_NUMBER_RANGE, start, "this does not fit %s",
                 kind == COIR_T_INT ? "an Int" : "a Duration");
        note(l, kind == COIR_T_INT ? "an Int is at most 9223372036854775807" :
                                     "a Duration is at most 9223372036854775807ns, about 292 years");
    }
}

void coir_lexer_number(struct coir_lexer *l)
{
    const uint32_t start = l->at;
    const char second = coir_lexer_peek(l, 1);
    enum coir_token_kind kind;

    if (l->text[start] == '0' && second == 'x') {
        l->at += 2;
        coir_lexer_add(l, start, hexadecimal(l, start));
        return;
    }
    if (l->text[start] == '0' && (second == 'X' || (second | 32) == 'b' || (second | 32) == 'o')) {
        while (coir_lexer_is_word(coir_lexer_peek(l, 0)))
            l->at++;
        complain(l, COIR_E_NUMBER, start, "there are no numbers that begin with `0%c`", second);
        note(l, "write it in decimal, or in hexadecimal with `0x`");
        coir_lexer_add(l, start, COIR_T_INT);
        return;
    }
    pass_digits(l);
    const bool whole = !pass_fraction(l);
    if (whole && coir_lexer_peek(l, 0) == '.' && coir_lexer_peek(l, 1) != '.' &&
        !coir_lexer_is_word(coir_lexer_peek(l, 1))) {
        l->at++;
        complain(l, COIR_E_NUMBER, start, "a float has a digit behind its point, too");
        note(l, "write `1.0`");
        coir_lexer_add(l, start, COIR_T_FLOAT);
        return;
    }
    check_underscores(l, start, l->at, false);
    kind = suffix(l, start, whole);
    check_range(l, start, kind);
    coir_lexer_add(l, start, kind);
}
