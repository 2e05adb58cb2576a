/* SPDX-License-Identifier: MIT */
/*
 * A tree as one line of text, for the tests of the front end: `(kind:word+flag child …)`, a missing child is `-`. Words
 * are those of main tokens; flags pub var mut own shared native incl any. It walks without recursion.
 */
#ifndef COIR_TESTS_LANG_SEXP_H
#define COIR_TESTS_LANG_SEXP_H

#include "lang/parser.h"

static void sexp_begin(FILE *to, const struct coir_tree *t, coir_ast n)
{
    static const char *const flags[] = { "pub", "var", "mut", "own", "shared", "native", "incl", "any" };
    const struct coir_word w = coir_ast_word(t, n);

    fprintf(to, "(%s", coir_ast_kind_text(coir_ast_kind(t, n)));
    if (w.size > 0)
        fprintf(to, ":%.*s", (int)w.size, w.text);
    for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++)
        if (coir_ast_flags(t, n) & 1u << i)
            fprintf(to, "+%s", flags[i]);
}

static inline void sexp_print(FILE *to, const struct coir_tree *t, coir_ast root)
{
    struct { coir_ast node; uint32_t next; } path[COIR_TREE_HEIGHT + 1];
    uint32_t depth = 0;

    if (root == 0) {
        fputs("-", to);
        return;
    }
    sexp_begin(to, t, root);
    path[0].node = root;
    path[0].next = 0;
    for (;;) {
        const coir_ast n = path[depth].node;
        const uint32_t i = path[depth].next++;
        if (i == coir_ast_count(t, n)) {
            fputc(')', to);
            if (depth-- == 0)
                return;
            continue;
        }
        fputc(' ', to);
        const coir_ast child = coir_ast_child(t, n, i);
        if (child == 0) {
            fputc('-', to);
            continue;
        }
        sexp_begin(to, t, child);
        depth++;
        path[depth].node = child;
        path[depth].next = 0;
    }
}

#endif
