/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the front end up to the typed program: whatever the bytes are, checking them ends, reports what can be
 * printed or makes a program, and gives all memory back.
 *
 * An input is a source behind one byte, which says how much memory there is: 0 for enough. What a program promises
 * stands in tests/lang/whole_typed.h.
 */
#include "lang/compile.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime/base/assert.h"
#include "tests/lang/whole_typed.h"

static void check_program(const struct coir_typed *t)
{
    struct typed_look look;
    const char *const wrong = typed_wrong(&look, t);

    if (*wrong)
        fprintf(stderr, "the program is not whole: %s\n", wrong);
    COIR_ASSERT(!*wrong);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0)
        return 0;
    struct coir_budget budget = { .limit = (size_t)data[0] * 4096 };
    struct coir_compilation c;
    char *text = NULL;
    size_t size;

    const int status = coir_compile_text(&c, &budget, "a.coir", (const char *)data + 1, n - 1);
    COIR_ASSERT(status == 0 || (status == -ENOMEM && budget.limit));
    if (status == 0 && c.diagnostics.errors == 0 && c.checked)
        check_program(&c.typed);
    FILE *const to = open_memstream(&text, &size);
    COIR_ASSERT(to != NULL);
    coir_diagnostics_print(&c.diagnostics, to);
    fclose(to);
    free(text);
    coir_compilation_free(&c);
    COIR_ASSERT(budget.used == 0);
    return 0;
}
