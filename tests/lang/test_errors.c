/* SPDX-License-Identifier: MIT */
/*
 * What is reported of sources that are wrong: the cases of tests/lang/reports.txt, each with its places and codes, and
 * a note for every report; and docs/errors.md, which has a section for each code that lexer and parser
 * report, whose sample produces that code and nothing else.
 */
#include "../tap.h"

#include "cases.h"
#include "whole.h"

/* "line:column code" of all reports, a line each: freed by the caller. */
static char *places_of(struct parsed *p)
{
    char *text = NULL, code[8];
    size_t size;
    FILE *const to = open_memstream(&text, &size);

    coir_diagnostics_sort(&p->d);
    for (uint32_t i = 0; i < p->d.count; i++) {
        const struct coir_position at = coir_source_position(&p->source, p->d.list[i].at.start);
        fprintf(to, "%u:%u %s\n", at.line, at.column, coir_code_text(p->d.list[i].code, code));
    }
    fclose(to);
    return text;
}

/* How many reports do not say what to do. */
static unsigned without_note(const struct parsed *p)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < p->d.count; i++)
        count += p->d.list[i].note == NULL;
    return count;
}

/* The end of blank lines at the end of the expectation. */
static char *trimmed(char *text)
{
    size_t n = strlen(text);

    while (n > 1 && text[n - 1] == '\n' && text[n - 2] == '\n')
        text[--n] = '\0';
    return text;
}

static void check_case(struct test_case *c)
{
    struct parsed p;

    parse_text(&p, c->source, strlen(c->source), false);
    const char *const wrong = whole(&p.tree);
    char *const places = places_of(&p);
    STR_EQ(places, trimmed(c->expected), "%.60s", c->source);
    EQ(without_note(&p), 0, "every report says what to do: %.60s", c->source);
    OK(!wrong, "and the tree is whole: %s", wrong ? wrong : "");
    free(places);
    OK(parse_free(&p), "all memory is given back");
}

static void check_reports(void)
{
    char *const cases = tree_file("tests/lang/reports.txt");
    struct test_case c;
    unsigned count = 0;

    if (!OK(cases != NULL, "the cases can be read"))
        return;
    for (char *at = cases; next_case(&at, &c); count++)
        check_case(&c);
    OK(count > 150, "%u cases", count);
    free(cases);
}

/* ---- docs/errors.md ---- */

struct code {
    enum coir_code code;
    const char *title;
};

static const struct code codes[] = {
#define COIR_ERROR(number, name, title) { COIR_E_##name, title },
#define COIR_WARNING(number, name, title) { COIR_W_##name, title },
#include "lang/errors.h"
#undef COIR_ERROR
#undef COIR_WARNING
};
enum { CODES = sizeof codes / sizeof *codes };

/* What the lexer and the parser report. */
static bool is_ours(enum coir_code code)
{
    return code < 200 || code == COIR_E_NESTING || code == COIR_E_MEMORY;
}

static void check_sample(const struct code *c, const char *text, size_t n)
{
    struct parsed p;
    char name[8];

    parse_text(&p, text, n, false);
    char *const reports = parse_reports(&p);
    OK(p.d.count == 1 && p.d.errors == 1 && p.d.list[0].code == c->code,
       "the sample of %s produces it and nothing else: %s", coir_code_text(c->code, name), reports);
    free(reports);
    parse_free(&p);
}

/* The section that begins at `at`, up to the next. */
static void check_section(const struct code *c, const char *at)
{
    const char *const section = strstr(at + 1, "\n### "), *const chapter = strstr(at + 1, "\n## ");
    const char *const last = section ? section : at + strlen(at);
    const char *const next = chapter && chapter < last ? chapter : last;
    unsigned samples = 0;
    char name[8];

    for (const char *sample = at; (sample = strstr(sample, "\n```coir\n")) && sample < next; samples++) {
        sample += strlen("\n```coir\n");
        check_sample(c, sample, (size_t)(strstr(sample, "\n```") + 1 - sample));
    }
    OK(samples > 0 || c->code >= 900, "%s has a sample", coir_code_text(c->code, name));
}

static void check_docs(void)
{
    char *const docs = tree_file("docs/errors.md");

    if (!OK(docs != NULL, "docs/errors.md can be read"))
        return;
    for (int i = 0; i < CODES; i++) {
        char head[256], name[8];
        if (!is_ours(codes[i].code))
            continue;
        snprintf(head, sizeof head, "\n### %s: %s\n", coir_code_text(codes[i].code, name), codes[i].title);
        const char *const at = strstr(docs, head);
        if (OK(at != NULL, "%s, %s, has its section", name, codes[i].title))
            check_section(&codes[i], at);
        STR_EQ(coir_code_title(codes[i].code), codes[i].title, "and its title");
    }
    free(docs);
}

int main(void)
{
    check_reports();
    check_docs();
    return DONE();
}
