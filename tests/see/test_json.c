/* SPDX-License-Identifier: MIT */
/*
 * Strings as JSON: what must be escaped is, and what is no UTF-8 is replaced, byte by byte.
 */
#include "runtime/see/json.h"

#include "tap.h"

static void writes(const char *text, const char *json, const char *name)
{
    char *got = NULL;
    size_t len;
    FILE *to = open_memstream(&got, &len);

    coir_json_string(to, text);
    fclose(to);
    STR_EQ(got, json, "%s", name);
    free(got);
}

#define BAD "\xef\xbf\xbd"      /* U+FFFD */

int main(void)
{
    writes(NULL, "null", "no string");
    writes("", "\"\"", "an empty one");
    writes("a b/c.c", "\"a b/c.c\"", "a path");
    writes("a\"b\\c", "\"a\\\"b\\\\c\"", "a quote and a backslash");
    writes("\1\n\t\x1f\x7f", "\"\\u0001\\u000a\\u0009\\u001f\\u007f\"", "control characters");
    writes("\xc3\xbc", "\"\xc3\xbc\"", "two bytes");
    writes("\xe2\x82\xac", "\"\xe2\x82\xac\"", "three");
    writes("\xf0\x9f\xa7\xb5", "\"\xf0\x9f\xa7\xb5\"", "four");
    writes("\xfc", "\"" BAD "\"", "Latin-1");
    writes("\xc3", "\"" BAD "\"", "half a character at the end");
    writes("\xe2\x82x", "\"" BAD BAD "x\"", "two thirds of one, and another");
    writes("\x80", "\"" BAD "\"", "a byte that goes on with nothing");
    writes("\xc0\xaf", "\"" BAD BAD "\"", "a slash in two bytes");
    writes("\xe0\x80\xaf", "\"" BAD BAD BAD "\"", "and in three");
    writes("\xf0\x80\x80\xaf", "\"" BAD BAD BAD BAD "\"", "and in four");
    writes("\xed\xa0\x80", "\"" BAD BAD BAD "\"", "half of a pair");
    writes("\xf4\x90\x80\x80", "\"" BAD BAD BAD BAD "\"", "beyond the last character");
    writes("\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\"", "the last");
    writes("\xff", "\"" BAD "\"", "a byte that is never there");
    return DONE();
}
