/* SPDX-License-Identifier: MIT */
/*
 * The handshake: from the first byte to where requests begin. Fixed newstyle only. One option at a time, each answered
 * whole before the next is looked at; its data lie in the connection's input until then.
 */
#ifndef COIR_SERVE_NBD_HANDSHAKE_H
#define COIR_SERVE_NBD_HANDSHAKE_H

#include "serve/nbd_export.h"
#include "serve/nbd_input.h"

struct coir_nbd_connection;

enum {
    NBD_OPTION_MAX = NBD_INPUT / 2, /* bytes of an option's data; more are refused */
    NBD_OPTION_SKIPPED = 1 << 20,   /* still more end the connection */
};

/* Replies to an option, collected in a piece of NBD_TABLE bytes. */
struct coir_nbd_replies {
    int fd;
    uint32_t option;
    size_t n;
    uint8_t *buffer;
};

/* Room that a reply takes. */
static inline size_t coir_nbd_reply_room(size_t len)
{
    return sizeof(struct nbd_option_reply) + len;
}

static inline bool coir_nbd_reply_fits(const struct coir_nbd_replies *r, size_t len)
{
    return r->n + coir_nbd_reply_room(len) <= NBD_TABLE;
}

/* Adds bytes; there must be room. */
void coir_nbd_put(struct coir_nbd_replies *r, const void *data, size_t len);

/* Adds a reply's head, whose `len` bytes of data are put next. */
void coir_nbd_reply_head(struct coir_nbd_replies *r, uint32_t type, size_t len);

/* Adds a reply without data; or an error with a text for the client's user, which may be NULL. */
void coir_nbd_reply(struct coir_nbd_replies *r, uint32_t type, const char *text);

/* Sends what was added. */
struct coir_nbd_flush_replies {
    coir_frame_void;
    coir_args(struct coir_nbd_replies *replies;);
    struct coir_send_all send;
};
coir_declare(coir_nbd_flush_replies);

/* ---- options; their replies are added and not yet sent ---- */

/* LIST. */
struct coir_nbd_list {
    coir_frame_void;
    coir_args(const struct coir_nbd_server *server; struct coir_nbd_replies *replies;);
    struct coir_volume_facts *facts;
    uint64_t after;
    unsigned i, n;
    union {
        struct coir_volume_list list;
        struct coir_nbd_flush_replies flush;
    };
};
coir_declare(coir_nbd_list);

/* INFO, and GO: then the export is left open in the connection, and the result is true; otherwise it was refused. */
struct coir_nbd_describe {
    coir_frame(bool);
    coir_args(struct coir_nbd_connection *connection; struct coir_nbd_replies *replies; const uint8_t *data;
              size_t len; bool go;);
    struct coir_nbd_asked asked;
    struct coir_scope scope;
    union {
        struct coir_nbd_open open;
        struct coir_volume_close close;
    };
};
coir_declare(coir_nbd_describe);

/* LIST_META_CONTEXT, SET_META_CONTEXT. A set context is remembered by its export's name in `chosen`. */
struct coir_nbd_contextualize {
    coir_frame_void;
    coir_args(struct coir_nbd_connection *connection; struct coir_nbd_replies *replies; const uint8_t *data;
              size_t len; bool set; char *chosen;);
    struct coir_nbd_contexts asked;
    struct coir_scope scope;
    union {
        struct coir_nbd_open open;
        struct coir_volume_close close;
    };
};
coir_declare(coir_nbd_contextualize);

/* One whose data are too long for the input: refused, and skipped where their length is not absurd. */
struct coir_nbd_refuse_length {
    coir_frame_void;
    coir_args(struct coir_nbd_handshake *h; struct coir_nbd_connection *c;);
    union {
        struct coir_nbd_skip skip;
        struct coir_nbd_flush_replies flush;
    };
};
coir_declare(coir_nbd_refuse_length);

/* One option whose head has come: its data, its replies, and that they are sent. */
struct coir_nbd_answer_option {
    coir_frame_void;
    coir_args(struct coir_nbd_handshake *h; struct coir_nbd_connection *c;);
    struct coir_nbd_string name;
    union {
        struct coir_nbd_fill fill;
        struct coir_nbd_refuse_length refuse;
        struct coir_nbd_flush_replies flush;
        struct coir_nbd_list list;
        struct coir_nbd_describe describe;
        struct coir_nbd_contextualize contextualize;
        struct coir_nbd_open open;
    };
};
coir_declare(coir_nbd_answer_option);

/* The whole. Result true: an export is open, requests may come; false: the client wants none, or the server ends. Fails
 * when there is no going on with the client, which is then told no more. */
struct coir_nbd_handshake {
    coir_frame(bool);
    coir_args(struct coir_nbd_connection *connection;);
    struct coir_nbd_replies replies;
    uint32_t length;                /* of the data of the option that `replies` names */
    bool over;                      /* the client wants no more */
    char chosen[NBD_NAME];          /* the export of the contexts that were set; "" none */
    union {
        struct coir_nbd_fill fill;
        struct coir_nbd_flush_replies flush;
        struct coir_nbd_answer_option answer;
    };
};
coir_declare(coir_nbd_handshake);

#endif
