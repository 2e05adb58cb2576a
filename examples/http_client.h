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

/* How the body of an answer ends, where that is not a number of bytes. */
#define HTTP_UNTIL_CLOSE COIR_TO_THE_END
#define HTTP_CHUNKED (UINT64_MAX - 1)

/* Asks for url->path and reads the head of the answer. Result: the length of the body that follows. -EPROTO when that
 * is no HTTP; -EREMOTEIO for any url->code but 200. */
struct http_ask {
    coir_frame(uint64_t);
    coir_args(struct coir_reader *in; struct url *url;);
    char request[4096];
    char *line;
    union {
        struct coir_stream_write_all send;
        struct http_line {          /* reads a line, which is good until the next await on the reader */
            coir_frame(char *);
            coir_args(struct coir_reader *in;);
            struct coir_read_line read;
        } read;
    };
};
coir_declare(http_ask);

/* Writes the body, of the length that http_ask said, to a file. Result: its bytes. -ENODATA when the server
 * closes early. */
struct http_save {
    coir_frame(uint64_t);
    coir_args(struct coir_reader *in; uint64_t length; struct coir_stream *file;);
    char *line;
    uint64_t size;
    union {
        struct http_line read;
        struct coir_copy copy;
    };
};
coir_declare(http_save);

#endif
