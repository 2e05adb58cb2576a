/* SPDX-License-Identifier: MIT */
/*
 * What the checker takes and refuses: the cases of tests/lang/checks, each with the places and codes of what is
 * reported; and that running out of memory, at any point, is an error that is reported, after which nothing is left.
 * The samples of docs/errors.md are for tests/lang/codes.
 */
#include "../tap.h"

#include <errno.h>

#include "cases.h"
#include "lang/compile.h"
#include "whole_typed.h"

struct checked {
    struct coir_budget budget;
    struct coir_compilation c;
    int status;
};

static void check_text(struct checked *k, const char *text, size_t n, size_t limit)
{
    *k = (struct checked){ .budget = { .limit = limit } };
    k->status = coir_compile_text(&k->c, &k->budget, "a.coir", text, n);
}

/* Value: whether all memory was given back. */
static bool check_free(struct checked *k)
{
    coir_compilation_free(&k->c);
    return k->budget.used == 0;
}

/* "line:column code" of all reports, a line each: freed by the caller. */
static char *places_of(struct checked *k)
{
    char *text = NULL, code[8];
    size_t size;
    FILE *const to = open_memstream(&text, &size);

    coir_diagnostics_sort(&k->c.diagnostics);
    for (uint32_t i = 0; i < k->c.diagnostics.count; i++) {
        const struct coir_diagnostic *const d = &k->c.diagnostics.list[i];
        const struct coir_position at = coir_source_position(d->at.source, d->at.start);
        fprintf(to, "%u:%u %s\n", at.line, at.column, coir_code_text(d->code, code));
    }
    fclose(to);
    return text;
}

/* ---- cases ---- */

static char *trimmed(char *text)
{
    size_t n = strlen(text);

    while (n > 0 && text[n - 1] == '\n' && (n == 1 || text[n - 2] == '\n'))
        text[--n] = '\0';
    return text;
}

static void check_cases(const char *name, unsigned least)
{
    char *const cases = tree_file(name);
    struct test_case c;
    unsigned count = 0;

    if (!OK(cases != NULL, "%s can be read", name))
        return;
    for (char *at = cases; next_case(&at, &c); count++) {
        struct checked k;
        check_text(&k, c.source, strlen(c.source), 0);
        char *const places = places_of(&k);
        STR_EQ(places, trimmed(c.expected), "%s: %.70s", name, c.source);
        free(places);
        if (k.status == 0 && k.c.diagnostics.errors == 0) {
            struct typed_look look;
            STR_EQ(typed_wrong(&look, &k.c.typed), "", "and the program is whole");
        }
        OK(check_free(&k), "all memory is given back");
    }
    OK(count >= least, "%s has %u cases", name, count);
    free(cases);
}

/* What looks at programs finds what is wrong with one. */
static void check_look(void)
{
    static const char source[] = "fn f(x: Int) -> Int { x + 1 }\nfn main() { print(f(1)) }\n";
    struct typed_look look;
    struct checked k;

    check_text(&k, source, strlen(source), 0);
    struct coir_x_fn *f = NULL;
    for (uint32_t i = 0; i < k.c.typed.nfns; i++) {
        if (!strcmp(k.c.typed.fns[i]->module, "a") && !strcmp(k.c.typed.fns[i]->name, "f"))
            f = (struct coir_x_fn *)k.c.typed.fns[i];
    }
    if (OK(f && f->body, "the function is there")) {
        STR_EQ(typed_wrong(&look, &k.c.typed), "", "its program is whole");
        f->result = COIR_TY_TEXT;
        OK(*typed_wrong(&look, &k.c.typed), "a body of another type than the function gives is found");
        f->result = COIR_TY_INT;
        ((struct coir_x *)f->body->block.value)->type = COIR_TY_ERROR;
        OK(*typed_wrong(&look, &k.c.typed), "a type that is an error is found");
    }
    check_free(&k);
}

/* ---- no memory ---- */

static void check_limits(void)
{
    static const char source[] =
        "type Shape = Circle(r: Float) | Empty\n"
        "type P[T] { x: T, n: Int = 1, fn get(self) -> T { self.x } }\n"
        "let xs = [1, 2, 3]\n"
        "fn map[T, U](a: List[T], f: fn(T) -> U) -> List[U] { var b: List[U] = []; for x in a { b.push(f(x)) }; b }\n"
        "fn main() {\n"
        "    let ys = map(xs, x => \"${x}\")\n"
        "    match Circle(1.0) { Circle(r) if r > 0.0 => print(r, ys), _ => print(P{ x: 1 }.get()) }\n"
        "    let c = chan[Int](1)\n"
        "    try { select { v = c.recv() => print(v ?? 0), else => { } } } catch e { print(e.code) }\n"
        "}\n";
    struct checked k;
    unsigned refused = 0;

    check_text(&k, source, strlen(source), 0);
    EQ(k.c.diagnostics.errors, 0, "the program is right");
    OK(check_free(&k), "all memory is given back");
    for (size_t limit = 1024;; limit += limit / 64) {
        check_text(&k, source, strlen(source), limit);
        const bool good = k.status == 0 && k.c.diagnostics.errors == 0;
        const bool said = k.status == -ENOMEM || k.c.diagnostics.errors > 0;
        const bool freed = check_free(&k);
        if (!freed || good == said) {
            OK(false, "with %zu bytes it is right (%d) or refused (%d), and all memory given back (%d)", limit, good,
               said,
               freed);
            return;
        }
        if (good)
            break;
        refused++;
    }
    OK(refused > 100, "with %u limits it is refused, and all memory is given back", refused);
}

int main(void)
{
    check_cases("tests/lang/checks/actors.txt", 50);
    check_cases("tests/lang/checks/names.txt", 50);
    check_cases("tests/lang/checks/types.txt", 70);
    check_cases("tests/lang/checks/flow.txt", 12);
    check_cases("tests/lang/checks/match.txt", 18);
    check_cases("tests/lang/checks/own.txt", 30);
    check_look();
    check_limits();
    return DONE();
}
