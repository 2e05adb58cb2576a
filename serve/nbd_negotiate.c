/* SPDX-License-Identifier: MIT */
/*
 * The options that ask the store: LIST, INFO and GO, the meta contexts.
 */
#include <stdlib.h>
#include <string.h>

#include "serve/nbd_connection.h"

/* What to say to a client when an export could not be opened. */
static void refuse(struct coir_nbd_replies *r, int status)
{
    if (status == -ESHUTDOWN)
        coir_nbd_reply(r, NBD_REP_ERR_SHUTDOWN, coir_nbd_error_text(status));
    else if (status == -ENOENT || status == -EINVAL)
        coir_nbd_reply(r, NBD_REP_ERR_UNKNOWN, "there is no such export");
    else
        coir_nbd_reply(r, NBD_REP_ERR_UNKNOWN, coir_nbd_error_text(status));
}

/* ---- LIST ---- */

enum { LISTED_AT_ONCE = 8 };

static void add_export(struct coir_nbd_replies *r, const char *name)
{
    const uint32_t len = (uint32_t)strlen(name), wire = htobe32(len);

    coir_nbd_reply_head(r, NBD_REP_SERVER, sizeof wire + len);
    coir_nbd_put(r, &wire, sizeof wire);
    coir_nbd_put(r, name, len);
}

/* What comes behind the exports fits too. */
static bool export_fits(const struct coir_nbd_replies *r)
{
    return coir_nbd_reply_fits(r, sizeof(uint32_t) + NBD_NAME + coir_nbd_reply_room(NBD_NAME));
}

/* The names that the server was told; or what the store has, a few at a time. */
coir_body(coir_nbd_list, f) {
    f->facts = NULL;
    f->after = 0;
    for (f->i = 0; f->i < f->server->options.n_exports; f->i++) {
        if (!export_fits(f->replies))
            coir_try(f, &f->flush, coir_nbd_flush_replies, .replies = f->replies);
        add_export(f->replies, f->server->options.exports[f->i]);
    }
    if (f->server->options.n_exports == 0) {
        f->facts = calloc(LISTED_AT_ONCE, sizeof *f->facts);
        if (!f->facts)
            coir_fail(f, ENOMEM);
        do {
            coir_get(f, f->n, &f->list, coir_volume_list, .store = f->server->options.store, .after = f->after,
                     .facts = f->facts, .n = LISTED_AT_ONCE);
            for (f->i = 0; f->i < f->n; f->i++) {
                if (!export_fits(f->replies))
                    coir_try(f, &f->flush, coir_nbd_flush_replies, .replies = f->replies);
                add_export(f->replies, f->facts[f->i].name);
                f->after = f->facts[f->i].id;
            }
        } while (f->n == LISTED_AT_ONCE);
    }
    coir_nbd_reply(f->replies, NBD_REP_ACK, NULL);
    coir_finally(f) {
        free(f->facts);
    }
} coir_end

/* ---- INFO, GO ---- */

static void add_info(struct coir_nbd_replies *r, const struct coir_nbd_asked *asked, const struct coir_nbd_export *e,
                     bool structured)
{
    const struct nbd_info_export export = { htobe16(NBD_INFO_EXPORT), htobe64(e->size),
                                            htobe16(coir_nbd_flags(e, structured)) };
    const struct nbd_info_block_size block = { htobe16(NBD_INFO_BLOCK_SIZE), htobe32(1), htobe32(e->block),
                                               htobe32(NBD_BLOCK_MAX) };
    const uint16_t name = htobe16(NBD_INFO_NAME);

    coir_nbd_reply_head(r, NBD_REP_INFO, sizeof export);
    coir_nbd_put(r, &export, sizeof export);
    if (asked->wants_name) {
        coir_nbd_reply_head(r, NBD_REP_INFO, sizeof name + strlen(e->name));
        coir_nbd_put(r, &name, sizeof name);
        coir_nbd_put(r, e->name, strlen(e->name));
    }
    if (asked->wants_block_size) {
        coir_nbd_reply_head(r, NBD_REP_INFO, sizeof block);
        coir_nbd_put(r, &block, sizeof block);
    }
    coir_nbd_reply(r, NBD_REP_ACK, NULL);
}

coir_body(coir_nbd_describe, f) {
    {
        const uint32_t error = coir_nbd_read_asked(f->data, f->len, &f->asked);
        if (error) {
            coir_nbd_reply(f->replies, error, NULL);
            coir_return(f, false);
        }
    }
    coir_await(f, &f->open, coir_nbd_open, .server = f->connection->server, .name = f->asked.name,
               .out = &f->connection->export);
    if (coir_status(&f->open) < 0) {
        if (coir_status(&f->open) == -ECANCELED)
            coir_fail(f, ECANCELED);
        refuse(f->replies, coir_status(&f->open));
        coir_return(f, false);
    }
    add_info(f->replies, &f->asked, &f->connection->export, f->connection->structured);
    if (f->go)
        coir_return(f, true);
    coir_shield(f, &f->scope, &f->close, coir_volume_close, .volume = f->connection->export.volume);
    f->connection->export.volume = NULL;
} coir_end

/* ---- meta contexts ---- */

static void add_context(struct coir_nbd_replies *r, uint32_t id)
{
    static const char name[] = "base:allocation";
    const uint32_t wire = htobe32(id);

    coir_nbd_reply_head(r, NBD_REP_META_CONTEXT, sizeof wire + strlen(name));
    coir_nbd_put(r, &wire, sizeof wire);
    coir_nbd_put(r, name, strlen(name));
}

coir_body(coir_nbd_contextualize, f) {
    if (f->set)
        f->chosen[0] = 0;
    {
        const uint32_t error = f->set && !f->connection->structured ? NBD_REP_ERR_INVALID
            : coir_nbd_read_contexts(f->data, f->len, &f->asked);
        if (error) {
            coir_nbd_reply(f->replies, error, NULL);
            coir_return(f);
        }
    }
    coir_await(f, &f->open, coir_nbd_open, .server = f->connection->server, .name = f->asked.name,
               .out = &f->connection->export);
    if (coir_status(&f->open) < 0) {
        if (coir_status(&f->open) == -ECANCELED)
            coir_fail(f, ECANCELED);
        refuse(f->replies, coir_status(&f->open));
        coir_return(f);
    }
    if (f->asked.allocation || (!f->set && (f->asked.base || !f->asked.any)))
        add_context(f->replies, f->set ? NBD_CONTEXT : 0);
    if (f->asked.allocation && f->set)
        memcpy(f->chosen, f->connection->export.name, NBD_NAME);
    coir_nbd_reply(f->replies, NBD_REP_ACK, NULL);
    coir_shield(f, &f->scope, &f->close, coir_volume_close, .volume = f->connection->export.volume);
    f->connection->export.volume = NULL;
} coir_end
