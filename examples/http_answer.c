/* SPDX-License-Identifier: MIT */
/*
 * Answers. A head always fits into HTTP_ANSWER_MAX: all that a client can lengthen is Location, and a path that
 * could be opened has at most 4,095 bytes.
 */
#include "http_answer.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int http_open(int folder, const char *path, bool cached)
{
    const struct open_how how = {
        .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,         /* a FIFO is not waited for */
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (cached ? RESOLVE_CACHED : 0),
    };
    const long fd = syscall(SYS_openat2, folder, path, &how, sizeof how);

    return fd < 0 ? -errno : (int)fd;
}

int http_status_of(int err)
{
    switch (err < 0 ? -err : err) {
    case ENOENT: case ENOTDIR: case EXDEV: case ELOOP: case ENXIO: return 404;
    case EACCES: case EPERM: return 403;
    case ENAMETOOLONG: return 414;
    case EMFILE: case ENFILE: case ENOMEM: case EAGAIN: return 503;
    default: return 500;
    }
}

static const char *reason(int status)
{
    static const struct { int status; const char *text; } reasons[] = {
        { 200, "OK" }, { 206, "Partial Content" }, { 301, "Moved Permanently" }, { 304, "Not Modified" },
        { 400, "Bad Request" }, { 403, "Forbidden" }, { 404, "Not Found" }, { 405, "Method Not Allowed" },
        { 408, "Request Timeout" }, { 414, "URI Too Long" }, { 416, "Range Not Satisfiable" },
        { 431, "Request Header Fields Too Large" }, { 503, "Service Unavailable" },
        { 505, "HTTP Version Not Supported" },
    };

    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status)
            return reasons[i].text;
    return "Internal Server Error";
}

static const char *type_of(const char *path)
{
    static const struct { const char *end, *type; } types[] = {
        { ".html", "text/html; charset=utf-8" }, { ".htm", "text/html; charset=utf-8" },
        { ".css", "text/css; charset=utf-8" }, { ".js", "text/javascript; charset=utf-8" },
        { ".json", "application/json" }, { ".txt", "text/plain; charset=utf-8" },
        { ".md", "text/markdown; charset=utf-8" }, { ".xml", "application/xml" }, { ".svg", "image/svg+xml" },
        { ".png", "image/png" }, { ".jpg", "image/jpeg" }, { ".jpeg", "image/jpeg" }, { ".gif", "image/gif" },
        { ".webp", "image/webp" }, { ".ico", "image/x-icon" }, { ".wasm", "application/wasm" },
        { ".pdf", "application/pdf" }, { ".woff2", "font/woff2" }, { ".mp4", "video/mp4" },
    };
    const char *end = strrchr(path, '.');

    for (size_t i = 0; end && i < sizeof types / sizeof *types; i++)
        if (strcasecmp(end, types[i].end) == 0)
            return types[i].type;
    return "application/octet-stream";
}

enum { DATE = 32 };

static const char *date(time_t when, char text[DATE])
{
    struct tm tm;

    strftime(text, DATE, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&when, &tm));
    return text;
}

/* snprintf at the end of what is there. */
static __attribute__((format(printf, 4, 5))) size_t add(char *out, size_t size, size_t len, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const int n = vsnprintf(out + len, size - len, format, args);
    va_end(args);
    return n < 0 ? len : len + (size_t)n < size ? len + (size_t)n : size - 1;
}

static size_t begin(char *out, size_t size, int status, const struct http_request *r)
{
    char now[DATE];

    return add(out, size, 0, "HTTP/1.1 %d %s\r\nDate: %s\r\nConnection: %s\r\n", status, reason(status),
               date(time(NULL), now), r->keep ? "keep-alive" : "close");
}

/* "/path/", with all that is not plain as %XX. */
static size_t add_location(char *out, size_t size, size_t len, const char *path)
{
    len = add(out, size, len, "Location: /");
    for (; *path; path++)
        len = add(out, size, len, isalnum((unsigned char)*path) || strchr("/-._~", *path) ? "%c" : "%%%02X",
                  (unsigned char)*path);
    return add(out, size, len, "/\r\n");
}

size_t http_plain(char *out, size_t size, int status, const struct http_request *r, const char *folder)
{
    size_t len = begin(out, size, status, r);

    if (folder)
        len = add_location(out, size, len, folder);
    if (status == 405)
        len = add(out, size, len, "Allow: GET, HEAD\r\n");
    len = add(out, size, len, "Content-Type: text/plain\r\nContent-Length: %zu\r\n\r\n", strlen(reason(status)) + 5);
    return r->head ? len : add(out, size, len, "%d %s\n", status, reason(status));
}

size_t http_file_head(char *out, size_t size, int status, const struct http_request *r, const struct stat *file,
                      const char *path, int64_t offset, int64_t n)
{
    char changed[DATE];
    size_t len = begin(out, size, status, r);

    len = add(out, size, len, "Last-Modified: %s\r\nAccept-Ranges: bytes\r\n", date(file->st_mtime, changed));
    if (status == 206)
        len = add(out, size, len, "Content-Range: bytes %lld-%lld/%lld\r\n", (long long)offset,
                  (long long)(offset + n - 1), (long long)file->st_size);
    if (status == 416)
        len = add(out, size, len, "Content-Range: bytes */%lld\r\n", (long long)file->st_size);
    if (status != 304)
        len = add(out, size, len, "Content-Type: %s\r\nContent-Length: %lld\r\n", type_of(path), (long long)n);
    return add(out, size, len, "\r\n");
}

bool http_is_known(const struct http_request *r, const struct stat *file)
{
    char changed[DATE];

    return r->since && r->range == HTTP_WHOLE && strcmp(r->since, date(file->st_mtime, changed)) == 0;
}
