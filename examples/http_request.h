/* SPDX-License-Identifier: MIT */
/*
 * Reading HTTP/1 requests for files: plain C over bytes in memory. What http_parse lets through is safe to act
 * on: the path is decoded, holds no NUL and is relative, though it may well hold "..".
 */
#ifndef HTTP_REQUEST_H
#define HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_request {
    int refuse;                 /* 0, or the status to answer with: then only `keep` (false) means something */
    bool head;                  /* HEAD, not GET */
    bool minor;                 /* HTTP/1.1, not 1.0 */
    bool keep;                  /* the connection goes on after the answer */
    char *path;                 /* "" or "a/b", decoded; into the head that was parsed */
    const char *since;          /* If-Modified-Since, or NULL */
    enum { HTTP_WHOLE, HTTP_FROM, HTTP_FROM_TO, HTTP_LAST } range;
    int64_t from, to;           /* HTTP_LAST: the last `to` bytes */
};

/* The length of a request's head that begins at buf, its empty line included; 0 when it is not all there. */
size_t http_head_len(const char *buf, size_t len);

/* Reads a head of that length, and writes on it. */
void http_parse(char *head, size_t len, struct http_request *r);

/* What of a file of `size` bytes is asked for: 200 for all of it, 206 for a part, 416 for none. */
int http_range(const struct http_request *r, int64_t size, int64_t *offset, int64_t *n);

#endif
