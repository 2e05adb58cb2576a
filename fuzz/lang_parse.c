/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the front end's lexer and parser: whatever the bytes are, they give a tree that keeps every one of them,
 * within its bounds, and reports that can be printed.
 *
 * An input is a source, behind one byte: 1 says that it is a prelude, the other bits how little memory there is, 0 for
 * enough. What a tree promises stands in tests/lang/whole.h.
 */
#include "lang/parser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/assert.h"
#include "tests/lang/whole.h"

/* What a literal is worth can be asked of any. */
static void check_leaf(const struct coir_tree *t, coir_ast n)
{
    const struct coir_word w = coir_ast_word(t, n);
    char text[4096 + 8];

    if (coir_ast_is(t, n, COIR_N_TEXT_PART) && w.size <= sizeof text)
        COIR_ASSERT(coir_ast_text(t, n, text) <= w.size);
    if (coir_ast_is(t, n, COIR_N_INT) || coir_ast_is(t, n, COIR_N_DURATION))
        coir_ast_int(t, n);
    if (coir_ast_is(t, n, COIR_N_FLOAT))
        COIR_ASSERT(t->errors > 0 || coir_ast_float(t, n) - coir_ast_float(t, n) == 0);
}

static void check_tree(const struct coir_tree *t)
{
    const char *const wrong = whole(t);

    if (wrong)
        fprintf(stderr, "the tree is not whole: %s\n", wrong);
    COIR_ASSERT(!wrong);
    for (coir_ast n = 1; n < t->count; n++)
        check_leaf(t, n);
}

static void check_reports(struct coir_diagnostics *d)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const to = open_memstream(&text, &size);

    COIR_ASSERT(to != NULL);
    coir_diagnostics_print(d, to);
    fclose(to);
    for (size_t i = 0; i < size; i++)
        COIR_ASSERT((unsigned char)text[i] >= ' ' || text[i] == '\n');
    COIR_ASSERT((size > 0) == (d->errors > 0 || d->starved));
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0)
        return 0;
    struct coir_budget source_budget = { 0 }, report_budget = { 0 }, budget = { .limit = (size_t)(data[0] >> 1) * 512 };
    struct coir_source source;
    struct coir_diagnostics d;
    struct coir_tree tree;

    COIR_ASSERT(coir_source_init(&source, &source_budget, "a.coir", data + 1, n - 1) == 0);
    coir_diagnostics_init(&d, &report_budget);
    const int status = coir_parse(&tree, &source, &d, &budget, (struct coir_parse_options){ .natives = data[0] & 1 });
    COIR_ASSERT(status == 0 || (status == -ENOMEM && budget.limit > 0));
    if (status == 0) {
        COIR_ASSERT(tree.errors == d.errors);
        check_tree(&tree);
    }
    check_reports(&d);
    coir_tree_free(&tree);
    coir_diagnostics_free(&d);
    coir_source_free(&source);
    COIR_ASSERT(budget.used == 0 && report_budget.used == 0 && source_budget.used == 0);
    return 0;
}
