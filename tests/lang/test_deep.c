/* SPDX-License-Identifier: MIT */
/*
 * Long and deep sources: chains of any length are one node and cost no depth; 200 levels of nesting are parsed, of each
 * kind of nesting, and one more is an error; and no tree is higher than it promises.
 */
#include "../tap.h"

#include "cases.h"
#include "whole.h"

static char *repeat(const char *head, const char *piece, unsigned n, const char *middle, const char *closing,
                    const char *tail)
{
    char *text = NULL;
    size_t size;
    FILE *const to = open_memstream(&text, &size);

    fputs(head, to);
    for (unsigned i = 0; i < n; i++)
        fputs(piece, to);
    fputs(middle, to);
    for (unsigned i = 0; i < n; i++)
        fputs(closing, to);
    fputs(tail, to);
    fclose(to);
    return text;
}

/* ---- chains ---- */

static void chain(const char *head, const char *piece, unsigned n, const char *tail, enum coir_ast_kind kind,
                  uint32_t children)
{
    struct parsed p;
    char *const text = repeat(head, piece, n, "", "", tail);
    coir_ast found = 0;

    parse_text(&p, text, strlen(text), false);
    EQ(p.status, 0, "%u times `%s`", n, piece);
    EQ(p.d.errors, 0, "nothing is reported");
    for (coir_ast i = 1; i < p.tree.count; i++)
        if (coir_ast_is(&p.tree, i, kind))
            found = i;
    EQ(coir_ast_count(&p.tree, found), children, "it is one %s", coir_ast_kind_text(kind));
    OK(p.tree.nodes[p.tree.root].height < 12, "the tree is %u high", p.tree.nodes[p.tree.root].height);
    const char *const wrong = whole(&p.tree);
    OK(!wrong, "it is whole: %s", wrong ? wrong : "");
    OK(parse_free(&p), "all memory is given back");
    free(text);
}

static void check_chains(void)
{
    enum { MANY = 1000000, SOME = 100000 };

    chain("let x = 1", "+1", MANY, "\n", COIR_N_BINARY, 2 * MANY + 1);
    chain("let x = a", " or a", SOME, "\n", COIR_N_BINARY, 2 * SOME + 1);
    chain("let x = a", "\n  \?\? a", SOME, "\n", COIR_N_BINARY, 2 * SOME + 1);
    chain("let x = a", "-b\n  and c", SOME, "\n", COIR_N_BINARY, 2 * SOME + 1);
    chain("fn f() { if a { }", " else if a { }", SOME, " else { } }\n", COIR_N_IF, SOME + 2);
    chain("let x = [", "1, ", MANY, "]\n", COIR_N_LIST, MANY);
    chain("let x = \"", "a${b}", SOME, "\"\n", COIR_N_TEXT, 2 * SOME);
    chain("fn f() {", "a\n", MANY, "}\n", COIR_N_BLOCK, MANY);
    chain("type A = B", " | B", SOME, "\n", COIR_N_SUM_TYPE, SOME + 2);
    chain("fn f() { match a { 1", " | 1", SOME, " => b } }\n", COIR_N_OR_PATTERN, SOME + 1);
}

/* ---- nesting ---- */

/* `levels` of the nesting are parsed, one more is not. */
static void nested(const char *head, const char *opening, const char *middle, const char *closing, const char *tail,
                   unsigned levels)
{
    for (unsigned more = 0; more < 2; more++) {
        struct parsed p;
        char *const text = repeat(head, opening, levels + more, middle, closing, tail);
        parse_text(&p, text, strlen(text), false);
        char *const reports = parse_reports(&p);
        if (more)
            OK(p.d.count == 1 && p.d.list[0].code == COIR_E_NESTING, "%u times `%s` is too deep: %.300s", levels + 1,
               opening, reports);
        else
            EQ(p.d.errors, 0, "%u times `%s`: %.300s", levels, opening, reports);
        const char *const wrong = whole(&p.tree);
        OK(!wrong, "the tree is whole: %s", wrong ? wrong : "");
        free(reports);
        free(text);
        parse_free(&p);
    }
}

static void check_nesting(void)
{
    nested("let x = ", "(", "1", ")", "\n", 200);
    nested("let x = ", "[", "1", "]", "\n", 200);
    nested("let x = ", "[a: ", "1", "]", "\n", 200);
    nested("let x = ", "(1, ", "1", ")", "\n", 200);
    nested("let x = ", "f(", "1", ")", "\n", 200);
    nested("let x = ", "f[", "1", "]", "\n", 200);
    nested("let x = ", "P{ x: ", "1", " }", "\n", 200);
    nested("let x = ", "-", "1", "", "\n", 200);
    nested("let x = ", "not ", "a", "", "\n", 200);
    nested("let x = ", "x => ", "a", "", "\n", 200);
    nested("let x = ", "\"${", "a", "}\"", "\n", 200);
    nested("let x = ", "return ", "a", "", "\n", 200);
    nested("let x = ", "{ ", "a", " }", "\n", 200);
    nested("fn f() ", "{ if a ", "{ }", " }", "\n", 199);
    nested("fn f() { ", "while a { ", "b", " }", " }\n", 199);
    nested("fn f() { ", "if a { } else { ", "b", " }", " }\n", 199);
    nested("fn f() { ", "match a { _ => ", "b", " }", " }\n", 199);
    nested("fn f() { ", "try { ", "b", " } catch e { }", " }\n", 199);
    nested("fn f() { ", "select { else => ", "b", " }", " }\n", 199);
    nested("fn f() { ", "let y = fn() { ", "b", " }", " }\n", 199);
    nested("fn f() { match a { ", "(", "b", ")", " => c } }\n", 198);
    nested("fn f() { match a { ", "A(", "b", ")", " => c } }\n", 198);
    nested("fn f() { let ", "(a, ", "b", ")", " = c }\n", 199);
    nested("let x: ", "List[", "Int", "]", " = 1\n", 200);
    nested("let x: ", "(", "Int", ")", " = 1\n", 200);
    nested("let x: ", "fn() -> ", "Int", "", " = 1\n", 200);
    nested("let x = ", "f(\"${[", "1", "]}\")", "\n", 66);
}

/* ---- height ---- */

static void high(const char *head, const char *piece, const char *tail, unsigned fits)
{
    for (unsigned more = 0; more < 2; more++) {
        struct parsed p;
        char *const text = repeat(head, piece, more ? 100000 : fits, "", "", tail);
        parse_text(&p, text, strlen(text), false);
        if (more)
            OK(p.d.count == 1 && p.d.list[0].code == COIR_E_NESTING, "100000 times `%s` is too high", piece);
        else
            EQ(p.d.errors, 0, "%u times `%s` is not", fits, piece);
        const char *const wrong = whole(&p.tree);
        OK(!wrong, "the tree is whole: %s", wrong ? wrong : "");
        free(text);
        parse_free(&p);
    }
}

static void check_height(void)
{
    high("let x = a", ".b", "\n", 1500);
    high("let x = a", "()", "\n", 1500);
    high("let x = a", "[1]", "\n", 1500);
    high("let x: T", "?", " = 1\n", 1500);
    high("let x = a", "\n  .b()", "\n", 1500);
}

int main(void)
{
    check_chains();
    check_nesting();
    check_height();
    return DONE();
}
