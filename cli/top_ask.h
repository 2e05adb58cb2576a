/* SPDX-License-Identifier: MIT */
/*
 * Asking the window of a program: one request, one answer, which is an object of JSON.
 */
#ifndef COIR_CLI_TOP_ASK_H
#define COIR_CLI_TOP_ASK_H

#include <coir/coir.h>

struct json_object;

/*
 * Connects to `where`, sends the request, and receives the answer, which is the caller's (json_object_put).
 *   -ECONNREFUSED, -ENOENT   nobody is there
 *   -ETIMEDOUT               it does not answer in time
 *   -EBADMSG                 the answer is none: not JSON, or an error of the other side's
 *   -EMSGSIZE                it has no end
 *   -ENOMEM, and what sockets say
 */
struct top_ask {
    coir_frame(struct json_object *);
    coir_args(const char *where; const char *request;);
    int fd;
    char *text;
    size_t len, room;
    struct coir_scope scope;
    union {
        struct coir_dial dial;
        struct coir_send_all send;
        struct coir_recv recv;
        struct coir_close close;
    };
};
coir_declare(top_ask);

#endif
