/* SPDX-License-Identifier: MIT */
/*
 * Printing reports: the place, the message, the line with a caret under what is meant, a second place, what to do. What
 * comes from a source is not trusted: no byte of it reaches the terminal that is not printable, and no line is longer
 * than a window around the place. Columns of the caret are those of what was printed, a wide letter counted as one.
 */
#include "lang/diagnose.h"

#include <string.h>

enum { WINDOW = 100, BEFORE = 60, TAB = 4 };

/* How many bytes the letter at `at` has, of n that are there; 0 for what is no UTF-8 or not printable. */
static uint32_t letter(const char *at, uint32_t n)
{
    const unsigned char c = (unsigned char)at[0];
    const uint32_t size = c < 0x80 ? 1 : c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 :
                          c >= 0xF0 && c < 0xF5 ? 4 : 0;

    if (size == 1)
        return c >= 0x20 && c != 0x7F;
    if (size == 0 || size > n)
        return 0;
    for (uint32_t i = 1; i < size; i++)
        if (((unsigned char)at[i] & 0xC0) != 0x80)
            return 0;
    const unsigned char second = (unsigned char)at[1];
    const bool control = c == 0xC2 && second < 0xA0;
    const bool mark = c == 0xE2 && ((second == 0x80 && (unsigned char)at[2] >= 0x8B && (unsigned char)at[2] <= 0x8F) ||
                                    (second == 0x80 && (unsigned char)at[2] >= 0xA8 && (unsigned char)at[2] <= 0xAE) ||
                                    (second == 0x81 && (unsigned char)at[2] >= 0xA6 && (unsigned char)at[2] <= 0xA9));
    const bool overlong = (c == 0xE0 && second < 0xA0) || (c == 0xED && second >= 0xA0) ||
                          (c == 0xF0 && second < 0x90) || (c == 0xF4 && second >= 0x90);
    return control || mark || overlong ? 0 : size;
}

/* Prints one letter, tab or byte, unless `to` is NULL. Value: its columns; *size is how many bytes it took. */
static uint32_t put(FILE *to, const char *at, uint32_t n, uint32_t *size)
{
    *size = letter(at, n);
    if (*size > 0) {
        if (to)
            fwrite(at, 1, *size, to);
        return 1;
    }
    *size = 1;
    if (*at == '\t') {
        if (to)
            fprintf(to, "%*s", TAB, "");
        return TAB;
    }
    if (to)
        fprintf(to, "\\x%02x", (unsigned char)*at);
    return 4;
}

/* Prints n bytes, at most `most` columns of them. Value: how many columns they took; *stopped is where it ended. */
static uint32_t put_all(FILE *to, const char *at, uint32_t n, uint32_t most, uint32_t *stopped)
{
    uint32_t columns = 0, size = 0, i = 0;

    for (; i < n; i += size) {
        const uint32_t more = put(NULL, at + i, n - i, &size);
        if (columns + more > most)
            break;
        columns += more;
        put(to, at + i, n - i, &size);
    }
    *stopped = i;
    return columns;
}

static void put_text(FILE *to, const char *text)
{
    uint32_t stopped;

    put_all(to, text, (uint32_t)strlen(text), UINT32_MAX, &stopped);
}

/* Where the window begins in a line of n bytes, so that the byte `at` is in it. */
static uint32_t window(const char *line, uint32_t n, uint32_t at)
{
    uint32_t stopped, size, from = 0;

    put_all(NULL, line, n, WINDOW, &stopped);
    if (stopped == n)
        return 0;
    for (uint32_t before = put_all(NULL, line, at, UINT32_MAX, &stopped); before > BEFORE; from += size)
        before -= put(NULL, line + from, at - from, &size);
    return from;
}

static void put_line(FILE *to, const struct coir_place *p, struct coir_position at)
{
    const struct coir_source *const s = p->source;
    const char *const line = s->text + s->starts[at.line - 1];
    const char *const end = memchr(line, '\n', s->size - s->starts[at.line - 1]);
    uint32_t n = (uint32_t)((end ? end : s->text + s->size) - line), stopped;

    if (n > 0 && line[n - 1] == '\r')
        n--;
    const uint32_t column = at.column - 1 < n ? at.column - 1 : n;
    const uint32_t from = window(line, n, column);
    const uint32_t length = p->end - p->start < n - column ? p->end - p->start : n - column;
    fprintf(to, "%5u | %s", at.line, from > 0 ? "…" : "");
    const uint32_t shown = put_all(to, line + from, n - from, WINDOW, &stopped);
    fprintf(to, "%s\n      | %s", from + stopped < n ? "…" : "", from > 0 ? " " : "");
    const uint32_t before = put_all(NULL, line + from, column - from, UINT32_MAX, &stopped);
    uint32_t carets = put_all(NULL, line + column, length, UINT32_MAX, &stopped);
    if (before + carets > shown)
        carets = shown > before ? shown - before : 0;
    fprintf(to, "%*s^", (int)before, "");
    for (uint32_t i = 1; i < carets; i++)
        fputc('^', to);
    fputc('\n', to);
}

static void put_place(FILE *to, const struct coir_place *p, struct coir_position at)
{
    put_text(to, p->source->path);
    fprintf(to, ":%u:%u: ", at.line, at.column);
}

static void put_one(FILE *to, const struct coir_diagnostic *d)
{
    const struct coir_position at = coir_source_position(d->at.source, d->at.start);
    char code[8];

    put_place(to, &d->at, at);
    fprintf(to, "%s[%s]: ", d->code < COIR_WARNINGS ? "error" : "warning", coir_code_text(d->code, code));
    put_text(to, d->message);
    fputc('\n', to);
    put_line(to, &d->at, at);
    if (d->other.source) {
        put_place(to, &d->other, coir_source_position(d->other.source, d->other.start));
        fputs("note: ", to);
        put_text(to, d->other_message);
        fputc('\n', to);
    }
    if (d->note) {
        fputs("note: ", to);
        put_text(to, d->note);
        fputc('\n', to);
    }
}

void coir_diagnostics_print(struct coir_diagnostics *d, FILE *to)
{
    const uint32_t all = d->errors + d->warnings;
    const uint32_t shown = d->count < COIR_DIAGNOSTICS_SHOWN ? d->count : COIR_DIAGNOSTICS_SHOWN;
    uint32_t errors = 0, left[2];       /* how many more errors are shown; warnings: they have what errors leave */

    coir_diagnostics_sort(d);
    for (uint32_t i = 0; i < d->count; i++)
        errors += d->list[i].code < COIR_WARNINGS;
    left[0] = errors < shown ? errors : shown;
    left[1] = shown - left[0];
    for (uint32_t i = 0; i < d->count; i++) {
        uint32_t *const one = &left[d->list[i].code >= COIR_WARNINGS];
        if (*one > 0) {
            put_one(to, &d->list[i]);
            --*one;
        }
    }
    if (all > shown)
        fprintf(to, "…and %u more\n", all - shown);
    if (d->starved) {
        put_text(to, d->starved->path);
        fputs(": error[E902]: out of memory\nnote: the source needs more than the limit allows\n", to);
    }
}
