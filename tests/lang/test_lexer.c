/* SPDX-License-Identifier: MIT */
/*
 * Tokens: where one ends and the next begins, their kinds, what literals are worth, what is between them, texts that do
 * not end; and that neither lexer nor parser loses anything when memory ends at any point.
 */
#include "../tap.h"

#include <errno.h>
#include <math.h>

#include "cases.h"

/* The tokens that are no space, a blank between two, a `!` behind those that were reported; freed by the caller. */
static char *tokens_of(const struct parsed *p)
{
    const struct coir_tokens *const tokens = &p->tree.tokens;
    char *text = NULL;
    size_t size;
    FILE *const to = open_memstream(&text, &size);

    for (uint32_t i = 0; i + 1 < tokens->count; i++) {
        const struct coir_word w = coir_token_word(&p->tree, i);
        if (coir_token_is_space((enum coir_token_kind)tokens->list[i].kind))
            continue;
        fprintf(to, "%s%.*s%s", ftell(to) > 0 ? " " : "", (int)w.size, w.text, tokens->list[i].bad ? "!" : "");
    }
    fclose(to);
    return text;
}

static void splits(const char *text, const char *expected)
{
    struct parsed p;

    parse_text(&p, text, strlen(text), false);
    char *const tokens = tokens_of(&p);
    STR_EQ(tokens, expected, "%s", text);
    free(tokens);
    OK(parse_free(&p), "all memory is given back");
}

static void check_splits(void)
{
    splits("a.b..c..=d", "a . b .. c ..= d");
    splits("1..3 1.5.x 3.to 1.e 2.5e3 2e-3 2e+3 2e", "1 .. 3 1.5 . x 3 . to 1 . e 2.5e3 2e-3 2e+3 2e!");
    splits("0xfg 0xff.a 1_000ms", "0xfg! 0xff . a 1_000ms");
    splits("a->b=>c==d=e!=f", "a -> b => c == d = e != f");
    splits("a<<b<=c<d>>e>=f>g", "a << b <= c < d >> e >= f > g");
    splits("a+=b-=c*=d/=e%=f", "a += b -= c *= d /= e %= f");
    splits("T??,T???b", "T ?? , T ?? ? b");
    splits("a|b^c&d@e:f;g", "a | b ^ c & d @ e : f ; g");
    splits("a&&b||!c===d!==e:=f::g...h<>i", "a &&! b ||! !! c ===! d !==! e :=! f ::! g ...! h <>! i");
    splits("_ _a A_1 iff if", "_ _a A_1 iff if");
    splits("\"a${b}c\"", "\" a ${ b } c \"");
    splits("\"${{}}${[]}\"", "\" ${ { } } ${ [ ] } \"");
    splits("\"\"\"\"a\"\"\"", "\"\"\" \"a \"\"\"");
    splits("'a' 'b", "'a'! '! b");
    splits("\xC3\xA4" "b c\x01", "\xC3\xA4" "b! c \x01!");
}

/* ---- kinds ---- */

static enum coir_token_kind kind_of(const char *text)
{
    struct parsed p;

    parse_text(&p, text, strlen(text), false);
    const enum coir_token_kind kind = (enum coir_token_kind)p.tree.tokens.list[1].kind;
    parse_free(&p);
    return kind;
}

static void check_kinds(void)
{
#define COIR_WORD(text, name) EQ(kind_of(text), COIR_T_##name, "the word %s", text);
    COIR_WORDS
#undef COIR_WORD
#define COIR_MARK(text, name) EQ(kind_of(text), COIR_T_##name, "the mark %s", text);
    COIR_MARKS
#undef COIR_MARK
    EQ(kind_of("iff"), COIR_T_NAME, "a name that begins like a word");
    EQ(kind_of("i"), COIR_T_NAME, "a name that a word begins with");
    EQ(kind_of("After"), COIR_T_CAPITAL, "a capital");
    EQ(kind_of("after"), COIR_T_NAME, "`after` is a name");
    EQ(kind_of("_"), COIR_T_UNDERSCORE, "`_`");
    EQ(kind_of("__"), COIR_T_NAME, "`__` is a name");
    EQ(kind_of("12"), COIR_T_INT, "a number");
    EQ(kind_of("1.5"), COIR_T_FLOAT, "a float");
    EQ(kind_of("5m"), COIR_T_DURATION, "a duration");
    EQ(kind_of(" "), COIR_T_BLANK, "a blank");
    EQ(kind_of("\n"), COIR_T_NEWLINE, "a newline");
    EQ(kind_of("\r\n"), COIR_T_BLANK, "a carriage return is a blank");
    EQ(kind_of("// a"), COIR_T_COMMENT, "a comment");
    EQ(kind_of("/// a"), COIR_T_DOC, "a comment that documents");
    EQ(kind_of("//// a"), COIR_T_COMMENT, "four strokes do not");
    EQ(kind_of("\xEF\xBB\xBF" "a"), COIR_T_NAME, "a byte order mark is passed over");
    EQ(kind_of(""), COIR_T_END, "nothing");
    EQ(kind_of("&&"), COIR_T_AND, "what is meant by `&&`");
}

/* ---- literals ---- */

/* The node of this kind with the smallest number, in `let x = TEXT`. */
static coir_ast find(struct parsed *p, const char *literal, enum coir_ast_kind kind)
{
    char text[256];

    parse_text(p, text, (size_t)snprintf(text, sizeof text, "let x = %s\n", literal), false);
    EQ(p->d.errors, 0, "nothing is wrong with %s", literal);
    for (coir_ast n = 1; n < p->tree.count; n++)
        if (coir_ast_is(&p->tree, n, kind))
            return n;
    return 0;
}

static void is_int(const char *text, enum coir_ast_kind kind, int64_t value)
{
    struct parsed p;
    const coir_ast n = find(&p, text, kind);

    EQ(coir_ast_int(&p.tree, n), value, "%s", text);
    parse_free(&p);
}

static void is_float(const char *text, double value)
{
    struct parsed p;
    const coir_ast n = find(&p, text, COIR_N_FLOAT);

    OK(coir_ast_float(&p.tree, n) == value, "%s", text);
    parse_free(&p);
}

static void is_text(const char *text, const char *value, size_t size)
{
    char bytes[256];
    struct parsed p;
    const coir_ast n = find(&p, text, COIR_N_TEXT_PART);

    EQ(coir_ast_text(&p.tree, n, bytes), size, "the length of %s", text);
    MEM_EQ(bytes, value, size, "the bytes of %s", text);
    parse_free(&p);
}

static void check_literals(void)
{
    is_int("0", COIR_N_INT, 0);
    is_int("1_000", COIR_N_INT, 1000);
    is_int("007", COIR_N_INT, 7);
    is_int("9223372036854775807", COIR_N_INT, INT64_MAX);
    is_int("-9223372036854775808", COIR_N_INT, INT64_MIN);
    is_int("0xff", COIR_N_INT, 255);
    is_int("0xFFFF_FFFF_FFFF_FFFF", COIR_N_INT, -1);
    is_int("0x8000000000000000", COIR_N_INT, INT64_MIN);
    is_int("5ns", COIR_N_DURATION, 5);
    is_int("5us", COIR_N_DURATION, 5000);
    is_int("250ms", COIR_N_DURATION, 250000000);
    is_int("2s", COIR_N_DURATION, 2000000000);
    is_int("3m", COIR_N_DURATION, 180000000000);
    is_int("2h", COIR_N_DURATION, 7200000000000);
    is_int("2562047h", COIR_N_DURATION, 2562047 * 3600000000000);
    is_float("2.5e3", 2500.0);
    is_float("1_000.25", 1000.25);
    is_float("1e308", 1e308);
    is_float("5e-324", 5e-324);
    is_text("\"a\\n\\r\\t\\0\\\"\\$\\\\\"", "a\n\r\t\0\"$\\", 8);
    is_text("\"\\x41\\xff\"", "A\xFF", 2);
    is_text("\"\\u{41}\\u{e4}\\u{20AC}\\u{1F600}\"", "A\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", 10);
    is_text("\"$ $5 $a\"", "$ $5 $a", 7);
    is_text("\"\"\"\na\n\"b\"\\\\\"\"\"", "a\n\"b\"\\", 6);
    is_text("\"\"\"\r\na\r\n\"\"\"", "a\r\n", 3);
}

/* ---- texts that do not end ---- */

/* "at" is where it was opened: the only report. */
static void cut(const char *text, uint32_t at, const char *tokens)
{
    struct parsed p;

    parse_text(&p, text, strlen(text), false);
    char *const got = tokens_of(&p);
    STR_EQ(got, tokens, "%s", text);
    free(got);
    OK(p.d.count == 1 && p.d.list[0].code == COIR_E_TEXT_END && p.d.list[0].at.start == at, "one report, at %u", at);
    parse_free(&p);
}

static void check_cut(void)
{
    cut("let a = \"b", 8, "let a = \" b !");
    cut("let a = \"b\nlet c = 1", 8, "let a = \" b ! let c = 1");
    cut("let a = \"b ${c\nlet d = 1", 8, "let a = \" b  ${ c ! ! let d = 1");
    cut("let a = \"${\"b\nlet d = 1", 8, "let a = \" ${ \"! b ! ! ! let d = 1");
    cut("let a = \"\"\"b\nlet c = 1", 8, "let a = \"\"\" b\nlet c = 1 !");
    cut("let a = \"\"\"${\"b\n}\"\"\"", 13, "let a = \"\"\" ${ \" b ! } \"\"\"");
}

/* ---- memory that ends ---- */

static void check_memory(void)
{
    static const char text[] = "type P { x: Int }\n"
                               "fn f(p: P) { g(\"a ${p.x + 1} b\", [1, 2], x => { y }) }\n"
                               "let a = )\n";
    struct coir_budget whole = { 0 };
    struct coir_source source;
    size_t limit = 1;
    int status = -ENOMEM;

    EQ(coir_source_init(&source, &whole, "a.coir", text, sizeof text - 1), 0, "a source");
    for (; status == -ENOMEM && limit < 1 << 20; limit += 16) {
        struct coir_budget budget = { .limit = limit };
        struct coir_diagnostics d;
        struct coir_tree tree;
        coir_diagnostics_init(&d, &budget);
        status = coir_parse(&tree, &source, &d, &budget, (struct coir_parse_options){ 0 });
        const bool told = (status == -ENOMEM) == (d.starved != NULL);
        coir_tree_free(&tree);
        coir_diagnostics_free(&d);
        if (!told || budget.used > 0 || (status != 0 && status != -ENOMEM))
            OK(false, "with %zu bytes: %d, told %d, %zu bytes lost", limit, status, told, budget.used);
    }
    EQ(status, 0, "it could be parsed with %zu bytes", limit);
    coir_source_free(&source);
}

int main(void)
{
    check_splits();
    check_kinds();
    check_literals();
    check_cut();
    check_memory();
    return DONE();
}
