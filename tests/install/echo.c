/* SPDX-License-Identifier: MIT */
/*
 * The first program of the manual, word for word, as a stranger would type it. It owns nothing of coir and
 * must need nothing but the installed headers and library: the install check compiles it against those.
 */
#include <coir/coir.h>

/* Echoes what it reads from fd until the peer closes. Result: bytes echoed. */
struct echo {
    coir_frame(size_t);                 /* the 64-byte header, and `size_t result` */
    coir_args(int fd;);                 /* arguments: f->fd, and .fd in a call; none: coir_no_args; */
    char buf[4096];                     /* lives across awaits; not touched by the call */
    size_t n;
    union {                             /* callees' frames, in ours: no allocation */
        struct coir_recv recv;
        struct coir_send_all send;
        struct coir_close close;
    };
};
static coir_declare(echo);              /* without `static`, in a header: awaitable from other files */

coir_body(echo, f) {
    for (;;) {
        coir_get(f, f->n, &f->recv, coir_recv, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf);
        if (f->n == 0)
            break;
        coir_try(f, &f->send, coir_send_all, .fd = f->fd, .buf = f->buf, .len = f->n);
        f->result += f->n;
    }
    coir_finally(f) {                   /* every exit path comes through here, once */
        coir_await(f, &f->close, coir_close, .fd = f->fd);   /* awaiting in it is allowed */
    }
} coir_end

int main(void) { return coir_main(coir_new(echo, .fd = 0)); }
