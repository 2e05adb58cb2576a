/* SPDX-License-Identifier: MIT */
/*
 * Receiving: one recv at a time, into what room there is.
 */
#include "httpd_receive.h"

#include "http_request.h"

coir_body(receive_head, f) {
    while ((f->result = http_head_len(f->in, *f->have)) == 0) {
        if (*f->have == HTTP_HEAD_MAX)
            coir_fail(f, EMSGSIZE);
        coir_get(f, f->n, &f->recv, coir_recv, .fd = f->fd, .buf = f->in + *f->have, .len = HTTP_HEAD_MAX - *f->have);
        if (f->n == 0)
            coir_return(f, 0);
        *f->have += f->n;
    }
} coir_end

coir_body(drain, f) {
    do
        coir_try(f, &f->recv, coir_recv, .fd = f->fd, .buf = f->in, .len = HTTP_HEAD_MAX);
    while (f->recv.result > 0);
} coir_end
