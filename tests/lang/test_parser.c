/* SPDX-License-Identifier: MIT */
/*
 * The tree of every construct and of every rule about newlines, from tests/lang/trees.txt; and that every tree, of
 * those sources, of their beginnings, and of what is left when a token is taken out, keeps its promises.
 */
#include "../tap.h"

#include "cases.h"
#include "sexp.h"
#include "whole.h"

/* The source of a case: freed by the caller. */
static char *source_of(const struct test_case *c)
{
    char *text = NULL;

    if (c->name[0] == 't') {
        if (asprintf(&text, "let x: %.*s = 0\n", (int)strcspn(c->source, "\n"), c->source) < 0)
            return NULL;
    } else if (asprintf(&text, c->name[0] == 's' ? "fn f() {\n%s}\n" : "%s", c->source) < 0) {
        return NULL;
    }
    return text;
}

static char *tree_of(const struct parsed *p, char kind)
{
    const struct coir_tree *const t = &p->tree;
    coir_ast n = t->root;
    char *text = NULL;
    size_t size;
    FILE *const to = open_memstream(&text, &size);

    if (kind == 's')
        n = coir_ast_fn_body(t, coir_ast_child(t, n, 0));
    if (kind == 't')
        sexp_print(to, t, coir_ast_let_type(t, coir_ast_child(t, n, 0)));
    for (uint32_t i = 0; kind != 't' && i < coir_ast_count(t, n); i++) {
        fputs(i ? " " : "", to);
        sexp_print(to, t, coir_ast_child(t, n, i));
    }
    fclose(to);
    return text;
}

/* Every run of blanks and line ends becomes one blank, none at the end. */
static char *flat(char *text)
{
    char *to = text;

    for (const char *from = text; *from; from++)
        if (*from != ' ' && *from != '\n')
            *to++ = *from;
        else if (to > text && to[-1] != ' ')
            *to++ = ' ';
    while (to > text && to[-1] == ' ')
        to--;
    *to = '\0';
    return text;
}

static void check_case(struct test_case *c)
{
    struct parsed p;
    char *const source = source_of(c);

    parse_text(&p, source, strlen(source), c->name[0] == 'n');
    char *const tree = tree_of(&p, c->name[0]);
    STR_EQ(flat(tree), flat(c->expected), "%s", c->name + 2);
    if (p.d.errors > 0) {
        char *const reports = parse_reports(&p);
        OK(false, "%s: nothing is reported: %s", c->name + 2, reports);
        free(reports);
    }
    free(tree);
    free(source);
    OK(parse_free(&p), "%s: all memory is given back", c->name + 2);
}

/* ---- what every tree promises ---- */

static const char *keeps(const char *text, size_t n)
{
    struct parsed p;

    parse_text(&p, text, n, false);
    const char *const wrong = p.status < 0 ? "no tree" : whole(&p.tree);
    return parse_free(&p) ? wrong : "memory was lost";
}

/* All beginnings of a source, and all of it but one of its tokens. */
static const char *keeps_broken(const char *text, size_t n)
{
    struct parsed p;
    const char *wrong = NULL;
    char *const less = malloc(n + 1);

    for (size_t i = 0; i < n && !wrong; i++)
        wrong = keeps(text, i);
    parse_text(&p, text, n, false);
    for (uint32_t i = 0; i < p.tree.tokens.count && !wrong; i++) {
        const struct coir_place at = coir_token_place(&p.tree, i);
        memcpy(less, text, at.start);
        memcpy(less + at.start, text + at.end, n - at.end);
        wrong = keeps(less, n - (at.end - at.start));
    }
    parse_free(&p);
    free(less);
    return wrong;
}

static void check_promises(const struct test_case *c)
{
    char *const source = source_of(c);
    const size_t n = strlen(source);
    const char *const wrong = keeps_broken(source, n);

    OK(!wrong, "%s: whole, cut off anywhere, and without any token: %s", c->name + 2, wrong ? wrong : "all is kept");
    free(source);
}

/* ---- places ---- */

static void check_places(void)
{
    static const char text[] = "// a\n\tfn f() {\n    g(\n  1,\t22)\n}\n";
    struct parsed p;
    struct coir_position at;

    parse_text(&p, text, sizeof text - 1, false);
    const struct coir_tree *const t = &p.tree;
    const coir_ast fn = coir_ast_child(t, t->root, 0);
    const coir_ast call = coir_ast_child(t, coir_ast_fn_body(t, fn), 0);
    at = coir_ast_position(t, fn);
    EQ(at.line * 100 + at.column, 202, "the function is at 2:2: a tab is one column");
    at = coir_ast_main_position(t, fn);
    EQ(at.line * 100 + at.column, 205, "its name at 2:5");
    at = coir_ast_position(t, coir_ast_call_args(t, call).at[1]);
    EQ(at.line * 100 + at.column, 406, "the second argument at 4:6");
    EQ(coir_ast_place(t, call).end - coir_ast_place(t, call).start, strlen("g(\n  1,\t22)"), "the call's bytes");
    at = coir_source_position(&p.source, p.source.size);
    EQ(at.line * 100 + at.column, 601, "the end is at 6:1");
    parse_free(&p);
}

static void check_docs(void)
{
    static const char text[] = "/// lost\n\n/// a\n/// b\nfn f() { }\n// no\nfn g() { }\n/// c\n\npub fn h() { }\n";
    struct parsed p;

    parse_text(&p, text, sizeof text - 1, false);
    const uint32_t first = coir_ast_docs(&p.tree, coir_ast_child(&p.tree, p.tree.root, 0));
    MEM_EQ(coir_token_word(&p.tree, first).text, "/// a\n", 6, "what documents f begins behind the empty line");
    EQ(coir_ast_docs(&p.tree, coir_ast_child(&p.tree, p.tree.root, 1)), 0, "g has a comment only");
    EQ(coir_ast_docs(&p.tree, coir_ast_child(&p.tree, p.tree.root, 2)), 0, "h's stands too far away");
    parse_free(&p);
}

int main(void)
{
    char *const cases = tree_file("tests/lang/trees.txt");
    struct test_case c;
    unsigned count = 0;

    if (!OK(cases != NULL, "the cases can be read"))
        return DONE();
    for (char *at = cases; next_case(&at, &c); count++) {
        check_promises(&c);
        check_case(&c);
    }
    OK(count > 100, "%u cases", count);
    free(cases);
    check_places();
    check_docs();
    return DONE();
}
