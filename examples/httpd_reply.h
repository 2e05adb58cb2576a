/* SPDX-License-Identifier: MIT */
/*
 * The answer to one request, as a task.
 */
#ifndef HTTPD_REPLY_H
#define HTTPD_REPLY_H

#include <coir/coir.h>

#include "http_answer.h"
#include "httpd_folder.h"
#include "httpd_receive.h"

/* Sends the answer to `request` to fd: a file beneath `folder`, or what is wrong with the request. Each part of
 * it may take `patience` ns. It fails when the connection cannot be used any more. */
struct reply {
    coir_frame_void;
    coir_args(int fd; int folder; const struct http_request *request; int64_t patience;);
    int file, status;
    struct stat stat;
    int64_t offset, left;           /* of the file: what is to be sent */
    size_t len;                     /* bytes in `out` */
    struct coir_scope scope;
    char path[HTTP_HEAD_MAX + 16], out[HTTP_ANSWER_MAX];
    union {
        struct find find;
        struct listing listing;
        struct coir_pread_exact read;
        struct coir_send_all send;
        struct coir_sendfile sendfile;
        struct coir_close close;
    };
};
coir_declare(reply);

#endif
