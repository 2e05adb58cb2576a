/* SPDX-License-Identifier: MIT */
/*
 * The cases of tests/lang/trees.txt and reports.txt, and a source with all that belongs to it. Included by programs
 * that have included tap.h.
 */
#ifndef COIR_TESTS_LANG_CASES_H
#define COIR_TESTS_LANG_CASES_H

#include "lang/parser.h"

/* ---- a source that is parsed ---- */

struct parsed {
    struct coir_budget budget;
    struct coir_source source;
    struct coir_diagnostics d;
    struct coir_tree tree;
    int status;
};

static inline void parse_text(struct parsed *p, const char *text, size_t n, bool natives)
{
    *p = (struct parsed){ .status = 0 };
    coir_diagnostics_init(&p->d, &p->budget);
    p->status = coir_source_init(&p->source, &p->budget, "a.coir", text, n);
    if (p->status == 0)
        p->status = coir_parse(&p->tree, &p->source, &p->d, &p->budget, (struct coir_parse_options){ natives });
}

/* Value: whether all memory was given back. */
static inline bool parse_free(struct parsed *p)
{
    coir_tree_free(&p->tree);
    coir_diagnostics_free(&p->d);
    coir_source_free(&p->source);
    return p->budget.used == 0;
}

/* What is reported, printed: freed by the caller. */
static inline char *parse_reports(struct parsed *p)
{
    char *text = NULL;
    size_t size;
    FILE *const to = open_memstream(&text, &size);

    coir_diagnostics_print(&p->d, to);
    fclose(to);
    return text;
}

/* ---- cases of a file ---- */

struct test_case {
    char *name;         /* behind `=== ` */
    char *source;       /* each of its lines with a newline */
    char *expected;
};

/* A file of the tree, whole; NULL if it cannot be read. */
static inline char *tree_file(const char *name)
{
    const char *const root = getenv("COIR_SOURCE");
    char path[4096], *text = NULL;
    size_t size = 0;

    snprintf(path, sizeof path, "%s/%s", root ? root : ".", name);
    FILE *const from = fopen(path, "r");
    if (!from)
        return NULL;
    FILE *const to = open_memstream(&text, &size);
    for (int c; (c = getc(from)) != EOF;)
        putc(c, to);
    fclose(to);
    fclose(from);
    return text;
}

/* The next case from *at on, which is changed: what it names lies there. False at the end. */
static inline bool next_case(char **at, struct test_case *c)
{
    char *const head = strncmp(*at, "===", 3) == 0 ? *at : strstr(*at, "\n===");
    char *const name = head ? strstr(head, "===") + 3 : NULL;
    char *const source = name ? strchr(name, '\n') : NULL;
    char *const line = source ? strstr(source, "\n---\n") : NULL;
    char *const end = line ? strstr(line + 4, "\n===") : NULL;

    if (!line)
        return false;
    *c = (struct test_case){ name + (*name == ' '), source + 1, line + 5 };
    *source = '\0';
    line[1] = '\0';                         /* the source keeps its last newline, unless it is empty */
    if (line == source)
        c->source = line + 1;
    if (end)
        end[0] = '\0', end[1] = '=';
    *at = end ? end + 1 : line + 5 + strlen(line + 5);
    return true;
}

#endif
