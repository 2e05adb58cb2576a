/* SPDX-License-Identifier: MIT */
/*
 * One question to a window. Whoever listens there is a stranger: what comes has a time and a size, and is looked at
 * only once it has been found to be JSON.
 */
#include "cli/top_ask.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 65536, LARGEST = 16 << 20 };
#define PATIENCE (5 * COIR_S)           /* for each step; a window may wait a second for its shards */

static bool has_room(struct top_ask *f)
{
    char *text;

    if (f->room - f->len >= PIECE)
        return true;
    text = realloc(f->text, f->room + 2 * PIECE);
    if (!text)
        return false;
    f->text = text;
    f->room += 2 * PIECE;
    return true;
}

static int parse(const char *text, size_t len, struct json_object **out)
{
    struct json_tokener *tokener = json_tokener_new();

    if (!tokener)
        return -ENOMEM;
    *out = json_tokener_parse_ex(tokener, text, (int)len);
    json_tokener_free(tokener);
    if (*out && json_object_is_type(*out, json_type_object))
        return 0;
    json_object_put(*out);
    *out = NULL;
    return -EBADMSG;
}

coir_body(top_ask, f) {
    f->fd = -1;
    f->text = NULL;
    f->len = f->room = 0;
    coir_within(f, &f->scope, coir_now() + PATIENCE, &f->dial, coir_dial, .where = f->where);
    coir_check(f, &f->dial);
    f->fd = f->dial.result;
    coir_within(f, &f->scope, coir_now() + PATIENCE, &f->send, coir_send_all, .fd = f->fd, .buf = f->request,
                .len = strlen(f->request));
    coir_check(f, &f->send);
    for (;;) {
        if (!has_room(f))
            coir_fail(f, ENOMEM);
        if (f->len > LARGEST)
            coir_fail(f, EMSGSIZE);
        coir_within(f, &f->scope, coir_now() + PATIENCE, &f->recv, coir_recv, .fd = f->fd, .buf = f->text + f->len,
                    .len = PIECE);
        coir_check(f, &f->recv);
        if (f->recv.result == 0)
            break;
        f->len += f->recv.result;
    }
    coir_fail(f, parse(f->text, f->len, &f->result));
    coir_finally(f) {
        free(f->text);
        if (f->fd >= 0)
            coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end
