/* SPDX-License-Identifier: MIT */
/*
 * The loop of the handshake: an option is received whole, answered, and forgotten. What a client sends here is as large
 * as it says at most twice: what does not fit the input is skipped, and what is absurd ends the connection.
 */
#include "serve/nbd_handshake.h"

#include <string.h>

#include "serve/nbd_connection.h"

static void greet(struct coir_nbd_replies *r)
{
    const struct nbd_greeting greeting = { htobe64(NBD_MAGIC), htobe64(NBD_OPTION_MAGIC),
                                           htobe16(NBD_FIXED_NEWSTYLE | NBD_NO_ZEROES) };

    coir_nbd_put(r, &greeting, sizeof greeting);
}

/* The client's flags: what it does not know to be agreed on it must not say. */
static int take_flags(struct coir_nbd_connection *c)
{
    uint32_t flags;

    memcpy(&flags, coir_nbd_at(&c->in), sizeof flags);
    coir_nbd_took(&c->in, sizeof flags);
    flags = be32toh(flags);
    c->fixed = flags & NBD_FIXED_NEWSTYLE;
    c->no_zeroes = flags & NBD_NO_ZEROES;
    if (!(flags & ~(uint32_t)(NBD_FIXED_NEWSTYLE | NBD_NO_ZEROES)))
        return 0;
    coir_nbd_log(c, "client flags 0x%x, which nobody knows", flags);
    return -EPROTO;
}

/* An option's head. A client that does not know of fixed newstyle cannot be told that an option is refused. */
static int take_head(struct coir_nbd_handshake *f)
{
    struct coir_nbd_connection *const c = f->connection;
    struct nbd_option_head head;

    memcpy(&head, coir_nbd_at(&c->in), sizeof head);
    f->replies.option = be32toh(head.option);
    f->length = be32toh(head.length);
    if (be64toh(head.magic) != NBD_OPTION_MAGIC)
        coir_nbd_log(c, "this is no option");
    else if (!c->fixed && f->replies.option != NBD_OPT_EXPORT_NAME)
        coir_nbd_log(c, "option %u, and the client does not know fixed newstyle", f->replies.option);
    else
        return 0;
    return -EPROTO;
}

/* Options that need nobody; and those that are none of ours. */
static void answer_simple(struct coir_nbd_handshake *f)
{
    struct coir_nbd_replies *const r = &f->replies;
    const bool ours = r->option == NBD_OPT_STRUCTURED_REPLY || r->option == NBD_OPT_STARTTLS
        || r->option == NBD_OPT_LIST;

    if (r->option == NBD_OPT_ABORT) {
        coir_nbd_reply(r, NBD_REP_ACK, NULL);
        f->over = true;
    } else if (f->connection->stopping) {
        coir_nbd_reply(r, NBD_REP_ERR_SHUTDOWN, coir_nbd_error_text(-ESHUTDOWN));
    } else if (ours && f->length > 0) {
        coir_nbd_reply(r, NBD_REP_ERR_INVALID, "this option has no data");
    } else if (r->option == NBD_OPT_STRUCTURED_REPLY) {
        f->connection->structured = true;
        coir_nbd_reply(r, NBD_REP_ACK, NULL);
    } else {
        coir_nbd_reply(r, NBD_REP_ERR_UNSUP, r->option == NBD_OPT_STARTTLS ? "there is no TLS here" : NULL);
    }
}

static bool is_simple(const struct coir_nbd_handshake *f)
{
    switch (f->replies.option) {
    case NBD_OPT_LIST:
        return f->length > 0 || f->connection->stopping;
    case NBD_OPT_INFO:
    case NBD_OPT_GO:
    case NBD_OPT_LIST_META_CONTEXT:
    case NBD_OPT_SET_META_CONTEXT:
        return f->connection->stopping;
    default:
        return true;
    }
}

/* Requests begin: what was said about contexts holds if it was about this export. */
static void enter(struct coir_nbd_handshake *f)
{
    struct coir_nbd_connection *const c = f->connection;

    c->contexts = f->chosen[0] && strcmp(f->chosen, c->export.name) == 0;
    f->result = true;
}

/* What follows an EXPORT_NAME that was accepted: no reply of the usual form. */
static void add_export(struct coir_nbd_handshake *f)
{
    const struct coir_nbd_connection *const c = f->connection;
    const struct nbd_export_reply reply = { .size = htobe64(c->export.size),
                                            .flags = htobe16(coir_nbd_flags(&c->export, c->structured)) };

    coir_nbd_put(&f->replies, &reply, c->no_zeroes ? offsetof(struct nbd_export_reply, zeroes) : sizeof reply);
}

/* The option's data, which lie behind its head in the input. */
static const uint8_t *data_of(const struct coir_nbd_handshake *f)
{
    return coir_nbd_at(&f->connection->in) + sizeof(struct nbd_option_head);
}

/* The name of an EXPORT_NAME, if it is one that could be served. */
static bool read_name(const struct coir_nbd_handshake *f, struct coir_nbd_string *name)
{
    return !f->connection->stopping && coir_nbd_read_name(data_of(f), f->length, name) == 0;
}

static bool is_option(const struct coir_nbd_answer_option *f, enum nbd_option option)
{
    return f->h->replies.option == option;
}

/* An EXPORT_NAME cannot be refused, and a client that does not know fixed newstyle cannot be told. */
coir_body(coir_nbd_refuse_length, f) {
    coir_nbd_took(&f->c->in, sizeof(struct nbd_option_head));
    coir_nbd_log(f->c, "%u bytes of data with option %u", f->h->length, f->h->replies.option);
    if (f->h->replies.option == NBD_OPT_EXPORT_NAME)
        coir_fail(f, EPROTO);
    if (f->h->replies.option == NBD_OPT_ABORT)
        answer_simple(f->h);
    else
        coir_nbd_reply(&f->h->replies, NBD_REP_ERR_TOO_BIG, "the option's data are too long");
    coir_try(f, &f->flush, coir_nbd_flush_replies, .replies = &f->h->replies);
    if (f->h->length > NBD_OPTION_SKIPPED)
        coir_fail(f, EMSGSIZE);
    if (!f->h->over)
        coir_try(f, &f->skip, coir_nbd_skip, .in = &f->c->in, .length = f->h->length);
} coir_end

coir_body(coir_nbd_answer_option, f) {
    if (f->h->length > NBD_OPTION_MAX) {
        coir_try(f, &f->refuse, coir_nbd_refuse_length, .h = f->h, .c = f->c);
        coir_return(f);
    }
    coir_try(f, &f->fill, coir_nbd_fill, .in = &f->c->in, .need = sizeof(struct nbd_option_head) + f->h->length);
    if (is_option(f, NBD_OPT_EXPORT_NAME)) {
        if (read_name(f->h, &f->name))
            coir_await(f, &f->open, coir_nbd_open, .server = f->c->server, .name = f->name, .out = &f->c->export);
        if (!f->c->export.volume) {
            coir_nbd_log(f->c, "asks for an export that there is not");
            coir_fail(f, EPROTO);
        }
        add_export(f->h);
        enter(f->h);
    } else if (is_simple(f->h)) {
        answer_simple(f->h);
    } else if (is_option(f, NBD_OPT_LIST)) {
        coir_try(f, &f->list, coir_nbd_list, .server = f->c->server, .replies = &f->h->replies);
    } else if (is_option(f, NBD_OPT_INFO) || is_option(f, NBD_OPT_GO)) {
        coir_try(f, &f->describe, coir_nbd_describe, .connection = f->c, .replies = &f->h->replies,
                 .data = data_of(f->h), .len = f->h->length, .go = is_option(f, NBD_OPT_GO));
        if (f->describe.result)
            enter(f->h);
    } else {
        coir_try(f, &f->contextualize, coir_nbd_contextualize, .connection = f->c, .replies = &f->h->replies,
                 .data = data_of(f->h), .len = f->h->length, .set = is_option(f, NBD_OPT_SET_META_CONTEXT),
                 .chosen = f->h->chosen);
    }
    coir_nbd_took(&f->c->in, sizeof(struct nbd_option_head) + f->h->length);
    coir_try(f, &f->flush, coir_nbd_flush_replies, .replies = &f->h->replies);
} coir_end

/* Whether the wait for an option ended in good order: the client has closed, or the server is told to stop. */
static bool wants_no_more(struct coir_nbd_handshake *f)
{
    const int status = coir_status(&f->fill);

    return (status == -ENODATA && coir_nbd_have(&f->connection->in) == 0)
        || (status == -ECANCELED && f->connection->stopping && !coir_cancelled(f));
}

coir_body(coir_nbd_handshake, f) {
    f->replies = (struct coir_nbd_replies){ .fd = f->connection->fd };
    f->over = false;
    f->chosen[0] = 0;
    f->replies.buffer = coir_nbd_piece_take(&f->connection->shard->buffers, NBD_TABLE);
    if (!f->replies.buffer)
        coir_fail(f, ENOMEM);
    greet(&f->replies);
    coir_try(f, &f->flush, coir_nbd_flush_replies, .replies = &f->replies);
    coir_try(f, &f->fill, coir_nbd_fill, .in = &f->connection->in, .need = sizeof(uint32_t));
    f->task.status = take_flags(f->connection);
    if (coir_status(f) < 0)
        coir_fail(f, coir_status(f));
    while (!f->over && !f->result) {
        f->connection->idle = true;
        coir_within(f, &f->connection->waits, COIR_NEVER, &f->fill, coir_nbd_fill, .in = &f->connection->in,
                    .need = sizeof(struct nbd_option_head));
        f->connection->idle = false;
        if (wants_no_more(f))
            coir_return(f, false);
        coir_check(f, &f->fill);
        f->task.status = take_head(f);
        if (coir_status(f) < 0)
            coir_fail(f, coir_status(f));
        coir_try(f, &f->answer, coir_nbd_answer_option, .h = f, .c = f->connection);
    }
    coir_finally(f) {
        coir_nbd_piece_give(&f->connection->shard->buffers, f->replies.buffer, NBD_TABLE);
    }
} coir_end
