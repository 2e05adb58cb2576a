/* SPDX-License-Identifier: MIT */
/*
 * Writing HTTP/1.1 answers, and finding the file that a request names: plain C.
 */
#ifndef HTTP_ANSWER_H
#define HTTP_ANSWER_H

#include <sys/stat.h>

#include "http_request.h"

/* Opens a file beneath the folder; nothing in the path leads out of it, no ".." and no link. With `cached` only
 * if that needs no disk: -EAGAIN if it does. The descriptor, or a negative errno. */
int http_open(int folder, const char *path, bool cached);

/* The status for an errno of http_open. */
int http_status_of(int err);

/* Room for a head. */
enum { HTTP_ANSWER_MAX = 16384 };

/* Writes an answer that has no file: head, and a line of text for a body. `folder`, or NULL, is the path that
 * the client should have asked for, without its last slash. The length. */
size_t http_plain(char *out, size_t size, int status, const struct http_request *r, const char *folder);

/* Writes the head of an answer with `n` bytes of a file from `offset`, or with none for 304 and 416. */
size_t http_file_head(char *out, size_t size, int status, const struct http_request *r, const struct stat *file,
                      const char *path, int64_t offset, int64_t n);

/* True when the request says that it has this version of the file. */
bool http_is_known(const struct http_request *r, const struct stat *file);

#endif
