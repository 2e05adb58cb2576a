/* SPDX-License-Identifier: MIT */
/*
 * The client's side of HTTP/1.1. Nothing that a server sends is trusted: a line that does not fit the buffer,
 * a length that is none and an early end are errors.
 */
#include "http_client.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool url_parse(const char *text, struct url *url)
{
    static const char scheme[] = "http://";
    const char *host = text + sizeof scheme - 1;

    if (strncasecmp(text, scheme, sizeof scheme - 1) != 0)
        return false;
    const size_t len = strcspn(host, "/?#");
    *url = (struct url){ .text = text, .path = host + len };
    url->name = strrchr(url->path, '/') ? strrchr(url->path, '/') + 1 : "";
    if (len == 0 || len >= sizeof url->host || strpbrk(url->path, "?# \r\n") || url->name[0] == '\0'
        || url->name[0] == '.' || strlen(url->name) > 200)
        return false;
    snprintf(url->host, sizeof url->host, "%.*s", (int)len, host);
    const char *bracket = strchr(url->host, ']');           /* [v6]: colons before it say nothing */
    const bool has_port = strchr(bracket ? bracket : url->host, ':');
    snprintf(url->where, sizeof url->where, has_port ? "%s" : "%s:80", url->host);
    return true;
}

static coir_declare(http_line);

coir_body(http_line, f) {
    coir_await(f, &f->read, coir_read_line, .reader = f->in);
    if (coir_status(&f->read) == -EMSGSIZE)
        coir_fail(f, EPROTO);
    coir_check(f, &f->read);
    if (!f->read.result.data)
        coir_fail(f, ENODATA);
    f->result = f->read.result.data;
} coir_end

/* A number, to the end or to a space or semicolon; HTTP_UNTIL_CLOSE when it is none, or too large. */
static uint64_t number(const char *text, int base)
{
    char *end;

    errno = 0;
    const uint64_t n = strtoull(text, &end, base);
    const bool good = isxdigit((unsigned char)text[0]) && errno == 0 && n <= INT64_MAX;
    return good && strchr(" \t;", *end) ? n : HTTP_UNTIL_CLOSE;
}

/* Looks at one line of the head for what says how the body ends. False when it makes no sense. */
static bool read_field(const char *line, uint64_t *length)
{
    const char *value = strchr(line, ':');

    value = value ? value + 1 + strspn(value + 1, " \t") : "";
    if (strncasecmp(line, "content-length:", 15) == 0 && *length != HTTP_CHUNKED)
        return (*length = number(value, 10)) != HTTP_UNTIL_CLOSE;
    if (strncasecmp(line, "transfer-encoding:", 18) == 0)
        return *length = HTTP_CHUNKED, strcasecmp(value, "chunked") == 0;
    return true;
}

coir_body(http_ask, f) {
    int n;
    n = snprintf(f->request, sizeof f->request, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: coir-fetch\r\n"
                 "Connection: close\r\n\r\n", f->url->path, f->url->host);
    if (n >= (int)sizeof f->request)
        coir_fail(f, ENAMETOOLONG);
    coir_try(f, &f->send, coir_stream_write_all, .stream = f->in->stream, .buf = f->request, .len = (size_t)n);
    coir_get(f, f->line, &f->read, http_line, .in = f->in);
    if (sscanf(f->line, "HTTP/1.%*1[01] %3d", &f->url->code) != 1)
        coir_fail(f, EPROTO);
    f->result = HTTP_UNTIL_CLOSE;
    for (;;) {
        coir_get(f, f->line, &f->read, http_line, .in = f->in);
        if (f->line[0] == '\0')
            break;
        if (!read_field(f->line, &f->result))
            coir_fail(f, EPROTO);
    }
    if (f->url->code != 200)
        coir_fail(f, EREMOTEIO);
} coir_end

coir_body(http_save, f) {
    if (f->length != HTTP_CHUNKED) {
        coir_get(f, f->result, &f->copy, coir_copy, .reader = f->in, .to = f->file, .count = f->length);
        coir_return(f);
    }
    for (;;) {
        coir_get(f, f->line, &f->read, http_line, .in = f->in);
        f->size = number(f->line, 16);
        if (f->size == HTTP_UNTIL_CLOSE)
            coir_fail(f, EPROTO);
        if (f->size == 0)
            break;
        coir_try(f, &f->copy, coir_copy, .reader = f->in, .to = f->file, .count = f->size);
        f->result += f->size;
        coir_get(f, f->line, &f->read, http_line, .in = f->in);             /* the empty line after a chunk */
    }
} coir_end
