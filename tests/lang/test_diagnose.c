/* SPDX-License-Identifier: MIT */
/*
 * How reports are printed: order, carets, tabs, what is not printable, long lines, how many; and what is left of them
 * when there is no memory.
 */
#include "../tap.h"

#include <errno.h>

#include "cases.h"

static struct coir_budget budget;
static struct coir_source source;
static struct coir_diagnostics d;

static void begin(const char *text, size_t n)
{
    coir_diagnostics_init(&d, &budget);
    EQ(coir_source_init(&source, &budget, "a.coir", text, n), 0, "a source");
}

/* Compares what is printed, and gives everything back. */
static void ends(const char *expected, const char *name)
{
    char *text = NULL;
    size_t size;
    FILE *const to = open_memstream(&text, &size);

    coir_diagnostics_print(&d, to);
    fclose(to);
    STR_EQ(text, expected, "%s", name);
    free(text);
    coir_diagnostics_free(&d);
    coir_source_free(&source);
    EQ(budget.used, 0, "%s: all memory is given back", name);
}

static void one(const char *text, size_t n, uint32_t start, uint32_t end, const char *expected, const char *name)
{
    begin(text, n);
    coir_diagnose(&d, COIR_E_ESCAPE, &source, start, end, "no");
    ends(expected, name);
}

#define LINE(text, start, end, expected, name) one(text, sizeof text - 1, start, end, "a.coir:" expected, name)

static void lines(void)
{
    LINE("ab cd", 3, 5, "1:4: error[E106]: no\n    1 | ab cd\n      |    ^^\n", "a word");
    LINE("ab\ncd", 3, 3, "2:1: error[E106]: no\n    2 | cd\n      | ^\n", "a place between two");
    LINE("ab", 2, 2, "1:3: error[E106]: no\n    1 | ab\n      |   ^\n", "the end");
    LINE("ab\n", 3, 3, "2:1: error[E106]: no\n    2 | \n      | ^\n", "an empty last line");
    LINE("a\tb\tc", 2, 5, "1:3: error[E106]: no\n    1 | a    b    c\n      |      ^^^^^^\n", "tabs");
    LINE("a\r\nb", 0, 2, "1:1: error[E106]: no\n    1 | a\n      | ^\n", "a carriage return at the end");
    LINE("ab\ncd\nef", 1, 7, "1:2: error[E106]: no\n    1 | ab\n      |  ^\n", "over lines: the first");
    LINE("\xC3\xA4\xC3\xB6 x", 5, 6, "1:6: error[E106]: no\n    1 | \xC3\xA4\xC3\xB6 x\n      |    ^\n",
         "letters of UTF-8");
    LINE("a\x1B\xFF" "b", 1, 3, "1:2: error[E106]: no\n    1 | a\\x1b\\xffb\n      |  ^^^^^^^^\n",
         "what is not printable");
    LINE("\xC2\x9B\xE2\x80\xAE", 0, 1, "1:1: error[E106]: no\n    1 | \\xc2\\x9b\\xe2\\x80\\xae\n      | ^^^^\n",
         "letters that would change the terminal");
    LINE("\xED\xA0\x80\xC0\x80", 3, 4,
         "1:4: error[E106]: no\n    1 | \\xed\\xa0\\x80\\xc0\\x80\n      |             ^^^^\n",
         "no UTF-8");
    LINE("a\0b", 1, 2, "1:2: error[E106]: no\n    1 | a\\x00b\n      |  ^^^^\n", "a NUL");
}

/* A line of 300 digits, the place at 200: 60 columns before it, 100 in all. */
static void long_lines(void)
{
    char text[301], expected[512], carets[96] = "";

    for (int i = 0; i < 300; i++)
        text[i] = (char)('0' + i % 10);
    text[300] = '\0';
    snprintf(expected, sizeof expected, "a.coir:1:201: error[E106]: no\n    1 | …%.100s…\n      |  %60s^^^\n",
             text + 140, "");
    one(text, 300, 200, 203, expected, "the middle of a long line");
    memset(carets, '^', 95);
    snprintf(expected, sizeof expected, "a.coir:1:6: error[E106]: no\n    1 | %.100s…\n      |      %s\n", text,
             carets);
    one(text, 300, 5, 300, expected, "its beginning, and carets to the end of the window");
    snprintf(expected, sizeof expected, "a.coir:1:300: error[E106]: no\n    1 | …%.61s\n      |  %59s ^\n",
             text + 239, "");
    one(text, 300, 299, 300, expected, "its end");
}

static void order(void)
{
    begin("abc\ndef\n", 8);
    coir_diagnose(&d, COIR_E_ESCAPE, &source, 4, 5, "second");
    coir_diagnose(&d, COIR_E_NUMBER, &source, 0, 1, "first");
    coir_diagnose_note(&d, "do %d", 1);
    coir_diagnose(&d, COIR_E_NUMBER, &source, 4, 6, "third");
    coir_diagnose_see(&d, &source, 2, 3, "here");
    coir_diagnose_note(&d, "do 2");
    coir_diagnose(&d, COIR_E_ESCAPE, &source, 4, 7, "the same again");
    coir_diagnose_note(&d, "not to be seen");
    EQ(d.errors, 3, "what was reported twice is counted once");
    ends("a.coir:1:1: error[E107]: first\n    1 | abc\n      | ^\nnote: do 1\n"
         "a.coir:2:1: error[E106]: second\n    2 | def\n      | ^\n"
         "a.coir:2:1: error[E107]: third\n    2 | def\n      | ^^\na.coir:1:3: note: here\nnote: do 2\n",
         "sorted by place, then as they were reported");
}

static void many(void)
{
    static const char head[] = "a.coir:1:1: error[E106]: no 0\n";
    char text[2000];

    memset(text, 'a', sizeof text);
    begin(text, sizeof text);
    for (uint32_t i = 0; i < 1500; i++)
        coir_diagnose(&d, COIR_E_ESCAPE, &source, i, i + 1, "no %u", i);
    EQ(d.errors, 1500, "all are counted");
    char *printed = NULL;
    size_t size;
    FILE *const to = open_memstream(&printed, &size);
    coir_diagnostics_print(&d, to);
    fclose(to);
    unsigned shown = 0;
    for (const char *at = printed; (at = strstr(at, "error[")); at++)
        shown++;
    EQ(shown, 20, "twenty are shown");
    MEM_EQ(printed, head, sizeof head - 1, "the first first");
    OK(strstr(printed, "\n…and 1480 more\n"), "the rest is counted");
    free(printed);
    coir_diagnostics_free(&d);
    coir_source_free(&source);
}

static void no_memory(void)
{
    begin("abc", 3);
    budget.limit = 1;
    coir_diagnose(&d, COIR_E_ESCAPE, &source, 0, 1, "no");
    coir_diagnose_note(&d, "lost");
    coir_diagnose_memory(&d, &source);
    EQ(d.errors, 1, "a report that could not be kept is counted");
    budget.limit = 0;
    ends("…and 1 more\na.coir: error[E902]: out of memory\nnote: the source needs more than the limit allows\n",
         "and printed as such");
}

static void sources(void)
{
    struct coir_source s;

    EQ(coir_source_read(&s, &budget, "/does/not/exist"), -ENOENT, "a file that is not there");
    coir_source_free(&s);
    EQ(coir_source_read(&s, &budget, "/"), -EISDIR, "a folder");
    EQ(coir_source_init(&s, &budget, "a", "", (size_t)COIR_SOURCE_MOST + 1), -EFBIG, "one that is too large");
    EQ(coir_source_init(&s, &budget, "a", NULL, 0), 0, "an empty one");
    EQ(s.lines, 1, "has one line");
    coir_source_free(&s);
    EQ(budget.used, 0, "all memory is given back");
}

int main(void)
{
    lines();
    long_lines();
    order();
    many();
    no_memory();
    sources();
    return DONE();
}
