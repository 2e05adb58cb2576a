/* SPDX-License-Identifier: MIT */
/*
 * What comes from a client of httpd, and goes to the memory of its connection. A client may send what it likes, as
 * slowly as it likes: the bound on the bytes is here, the one on the time is the caller's scope.
 */
#ifndef HTTPD_RECEIVE_H
#define HTTPD_RECEIVE_H

#include <coir/coir.h>

enum { HTTP_HEAD_MAX = 8192 };      /* of a request: what is longer is refused */

/* Receives until `in`, HTTP_HEAD_MAX bytes of which *have are there, begins with a whole head. Result: the head's
 * length; 0 when the client will send no more. -EMSGSIZE for one that does not fit. */
struct receive_head {
    coir_frame(size_t);
    coir_args(int fd; char *in; size_t *have;);
    size_t n;
    struct coir_recv recv;
};
coir_declare(receive_head);

/* Receives, over `in`, what the client still sends: closing without that might take the last answer from it. */
struct drain {
    coir_frame_void;
    coir_args(int fd; char *in;);
    struct coir_recv recv;
};
coir_declare(drain);

#endif
