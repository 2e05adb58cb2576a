/* SPDX-License-Identifier: MIT */
/*
 * What fetch needs of HTTP/1.1: a request without a body, and its answer. No redirects, no TLS.
 */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include <coir/coir.h>

/* What http://host[:port]/path says. */
struct url {
    const char *text;               /* the whole */
    const char *path;               /* with its slash; "" where there is none */
    const char *name;               /* the last part of the path: what the file is called here */
    char host[256];                 /* with the port, if the URL has one */
    char where[264];                /* the same with a port in any case, for coir_dial */
    int code;                       /* what the server answered; 0: nothing yet */
};

/* Reads a URL; it goes on pointing into `text`. False when it is none, or names no file. */
bool url_parse(const char *text, struct url *url);

/* A connection with a buffer: the bytes from `at` to `end` have come and were not used yet. */
struct stream {
    int fd;
    size_t at, end;
    char buf[65536];
};

/* How the body of an answer ends, where that is not a number of bytes. */
#define HTTP_UNTIL_CLOSE UINT64_MAX
#define HTTP_CHUNKED (UINT64_MAX - 1)

/* Asks for url->path and reads the head of the answer. Result: the length of the body that follows in the
 * stream. -EPROTO when that is no HTTP; -EREMOTEIO for any url->code but 200. */
struct http_ask {
    coir_frame(uint64_t);
    coir_args(struct stream *stream; struct url *url;);
    char request[4096];
    const char *line;
    struct coir_send_all send;
    struct http_line {              /* reads a line, which is good until the next await on the stream */
        coir_frame(char *);
        coir_args(struct stream *stream;);
        size_t n;
        struct coir_recv recv;
    } read;
};
coir_declare(http_ask);

/* Writes the body, of the length that http_ask said, to a file. Result: its bytes. -ENODATA when the server
 * closes early. */
struct http_save {
    coir_frame(uint64_t);
    coir_args(struct stream *stream; uint64_t length; int file;);
    const char *line;
    uint64_t size;
    union {
        struct http_line read;
        struct http_copy {          /* copies n bytes, or until the end, from the stream to a file */
            coir_frame_void;
            coir_args(struct stream *stream; uint64_t n; int file; uint64_t *copied;);
            size_t part;
            union {
                struct coir_recv recv;
                struct coir_write_all write;
            };
        } copy;
    };
};
coir_declare(http_save);

#endif
