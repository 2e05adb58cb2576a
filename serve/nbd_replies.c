/* SPDX-License-Identifier: MIT */
/*
 * Replies to options: made in one buffer, sent when it is full or the option is answered.
 */
#include <string.h>

#include "serve/nbd_handshake.h"

void coir_nbd_put(struct coir_nbd_replies *r, const void *data, size_t len)
{
    COIR_ASSERT(len <= NBD_TABLE - r->n);
    memcpy(r->buffer + r->n, data, len);
    r->n += len;
}

void coir_nbd_reply_head(struct coir_nbd_replies *r, uint32_t type, size_t len)
{
    const struct nbd_option_reply head = { htobe64(NBD_OPTION_REPLY_MAGIC), htobe32(r->option), htobe32(type),
                                           htobe32((uint32_t)len) };

    coir_nbd_put(r, &head, sizeof head);
}

void coir_nbd_reply(struct coir_nbd_replies *r, uint32_t type, const char *text)
{
    const size_t len = text ? strlen(text) : 0;

    coir_nbd_reply_head(r, type, len);
    if (len > 0)
        coir_nbd_put(r, text, len);
}

coir_body(coir_nbd_flush_replies, f) {
    coir_try(f, &f->send, coir_send_all, .fd = f->replies->fd, .buf = f->replies->buffer, .len = f->replies->n);
    f->replies->n = 0;
} coir_end
