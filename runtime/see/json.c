/* SPDX-License-Identifier: MIT */
/*
 * Strings as JSON (RFC 8259): escaped where they must be, and always UTF-8.
 */
#include "runtime/see/json.h"

#include <stdint.h>

/* By the table of RFC 3629. */
unsigned coir_json_utf8(const unsigned char *s)
{
    const unsigned n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;

    for (unsigned i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)           /* the NUL at the end too */
            return 0;
    }
    if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xf0 && s[1] < 0x90))      /* longer than it need be */
        return 0;
    if ((*s == 0xed && s[1] > 0x9f) || (*s == 0xf4 && s[1] > 0x8f))      /* half of a pair; beyond the last */
        return 0;
    return n;
}

void coir_json_string(FILE *to, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    if (!s) {
        fputs("null", to);
        return;
    }
    fputc('"', to);
    while (*s) {
        const unsigned n = coir_json_utf8(s);
        if (n == 0)
            fputs("\xef\xbf\xbd", to);       /* U+FFFD */
        else if (*s == '"' || *s == '\\')
            fprintf(to, "\\%c", *s);
        else if (*s < ' ' || *s == 0x7f)
            fprintf(to, "\\u%04x", *s);
        else
            fwrite(s, 1, n, to);
        s += n ? n : 1;
    }
    fputc('"', to);
}

void coir_json_member(FILE *to, const char *name, const char *value)
{
    fprintf(to, "\"%s\":", name);
    coir_json_string(to, value);
    fputc(',', to);
}
