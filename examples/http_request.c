/* SPDX-License-Identifier: MIT */
/*
 * The request's head, line by line. Each function returns 0, or the status to refuse the request with; nothing
 * is guessed: what is not HTTP/1 is 400.
 */
#include "http_request.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

size_t http_head_len(const char *buf, size_t len)
{
    const char *end = memmem(buf, len, "\r\n\r\n", 4);

    return end ? (size_t)(end - buf) + 4 : 0;
}

static int hex(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? (c | 0x20) - 'a' + 10 : -1;
}

/* Decodes a target in place, to a path without its first slashes and its query. */
static int read_target(char *target, struct http_request *r)
{
    const bool absolute = strncasecmp(target, "http://", 7) == 0;

    target += absolute ? 7 + strcspn(target + 7, "/") : 0;
    if (*target != '/' && !(absolute && *target == '\0'))
        return 400;
    char *to = target + strspn(target, "/");
    r->path = to;
    for (const char *from = to; *from != '\0' && *from != '?' && *from != '#'; from++) {
        if (*from == '%') {
            const int high = hex(from[1]), low = high < 0 ? -1 : hex(from[2]);
            if (low < 0 || (high | low) == 0)
                return 400;
            *to++ = (char)(high << 4 | low);
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    return 0;
}

/* "GET /path HTTP/1.1" */
static int read_first_line(char *line, struct http_request *r)
{
    char *target = strchr(line, ' '), *version = target ? strchr(target + 1, ' ') : NULL;

    if (!version || target == line)
        return 400;
    *target++ = '\0';
    *version++ = '\0';
    if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0)
        return strncmp(version, "HTTP/", 5) == 0 ? 505 : 400;
    r->minor = version[7] == '1';
    r->keep = r->minor;
    r->head = strcmp(line, "HEAD") == 0;
    if (!r->head && strcmp(line, "GET") != 0)
        return 405;
    return read_target(target, r);
}

/* A number of digits only; -1 for another text, or one too large. */
static int64_t number(const char *text, const char **end)
{
    errno = 0;
    const long long n = isdigit((unsigned char)*text) ? strtoll(text, (char **)end, 10) : -1;
    return errno ? -1 : n;
}

/* "bytes=1-2", "bytes=1-", "bytes=-2". Anything else may be ignored, and is. */
static void read_range(const char *text, struct http_request *r)
{
    if (strncasecmp(text, "bytes=", 6) != 0)
        return;
    text += 6;
    const bool last = *text == '-';
    const int64_t from = last ? 0 : number(text, &text);
    if (from < 0 || *text != '-')
        return;
    text++;
    const bool open = *text == '\0';
    const int64_t to = open ? 0 : number(text, &text);
    if (to < 0 || *text != '\0' || (last && open) || (!last && !open && to < from))
        return;
    r->from = from;
    r->to = to;
    r->range = last ? HTTP_LAST : open ? HTTP_FROM : HTTP_FROM_TO;
}

static int read_field(char *line, struct http_request *r, int *hosts)
{
    char *value = strchr(line, ':');

    if (!value || value == line || strcspn(line, " \t") < (size_t)(value - line))
        return 400;
    *value++ = '\0';
    value += strspn(value, " \t");
    for (char *end = value + strlen(value); end > value && (end[-1] == ' ' || end[-1] == '\t');)
        *--end = '\0';
    if (strcasecmp(line, "host") == 0)
        ++*hosts;
    else if (strcasecmp(line, "range") == 0)
        read_range(value, r);
    else if (strcasecmp(line, "if-modified-since") == 0)
        r->since = value;
    else if (strcasecmp(line, "connection") == 0)
        r->keep = r->minor ? r->keep && !strcasestr(value, "close") : strcasestr(value, "keep-alive") != NULL;
    else if (strcasecmp(line, "transfer-encoding") == 0
             || (strcasecmp(line, "content-length") == 0 && strcmp(value, "0") != 0))
        r->keep = false;                            /* a body follows, which nobody reads */
    return 0;
}

void http_parse(char *head, size_t len, struct http_request *r)
{
    int hosts = 0;
    char *line = head, *end;

    *r = (struct http_request){ .refuse = memchr(head, '\0', len) ? 400 : 0 };
    for (bool first = true; !r->refuse; first = false, line = end + 2) {
        end = memmem(line, len - (size_t)(line - head), "\r\n", 2);
        if (end == line && !first)
            break;
        *end = '\0';
        r->refuse = first ? read_first_line(line, r) : read_field(line, r, &hosts);
    }
    if (!r->refuse && (hosts > 1 || (r->minor && hosts == 0)))
        r->refuse = 400;
    r->keep = r->keep && !r->refuse;
}

int http_range(const struct http_request *r, int64_t size, int64_t *offset, int64_t *n)
{
    const int64_t first = r->range != HTTP_LAST ? r->from : r->to < size ? size - r->to : 0;    /* of all: 0 */
    const int64_t after = r->range == HTTP_FROM_TO && r->to < size ? r->to + 1 : size;

    *offset = first;
    *n = after > first ? after - first : 0;
    return r->range == HTTP_WHOLE ? 200 : *n == 0 ? 416 : 206;
}
