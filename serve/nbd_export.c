/* SPDX-License-Identifier: MIT */
/*
 * Finding and opening exports. A name is a stranger's until it is a volume's.
 */
#include "serve/nbd_export.h"

#include <stdlib.h>
#include <string.h>

uint16_t coir_nbd_flags(const struct coir_nbd_export *e, bool structured)
{
    unsigned flags = NBD_HAS_FLAGS | NBD_CAN_MULTI_CONN | NBD_SEND_CACHE;

    if (structured)
        flags |= NBD_SEND_DF;
    if (e->read_only)
        flags |= NBD_READ_ONLY;
    else
        flags |= NBD_SEND_FLUSH | NBD_SEND_FUA | NBD_SEND_TRIM | NBD_SEND_WRITE_ZEROES | NBD_SEND_FAST_ZERO;
    return (uint16_t)flags;
}

/* Whether the server serves a volume of that name, if there is one. */
static bool is_served(const struct coir_nbd_options *o, const char *name)
{
    for (unsigned i = 0; i < o->n_exports; i++) {
        if (strcmp(o->exports[i], name) == 0)
            return true;
    }
    return o->n_exports == 0;
}

static int copy_name(char *to, struct coir_nbd_string name)
{
    if (name.len >= NBD_NAME)
        return -ENOENT;
    memcpy(to, name.data, name.len);
    to[name.len] = 0;
    return 0;
}

/* The one export, where the server was told which; otherwise it depends on what the store has. */
static int name_the_default(const struct coir_nbd_options *o, char *to)
{
    if (o->n_exports != 1)
        return -ENOENT;
    return copy_name(to, (struct coir_nbd_string){ o->exports[0], strlen(o->exports[0]) });
}

static void look_at(struct coir_nbd_export *e, struct coir_volume *v, bool read_only)
{
    struct coir_volume_facts facts;

    coir_volume_describe(v, &facts);
    e->volume = v;
    e->size = facts.size;
    e->block = facts.block;
    e->read_only = facts.read_only || read_only;
}

coir_body(coir_nbd_open, f) {
    f->facts = NULL;
    f->out->volume = NULL;
    f->task.status = copy_name(f->out->name, f->name);
    if (f->name.len == 0 && f->server->options.n_exports > 0)
        f->task.status = name_the_default(&f->server->options, f->out->name);
    if (f->task.status < 0)
        coir_fail(f, f->task.status);
    if (f->out->name[0] == 0) {
        f->facts = calloc(2, sizeof *f->facts);
        if (!f->facts)
            coir_fail(f, ENOMEM);
        coir_try(f, &f->list, coir_volume_list, .store = f->server->options.store, .facts = f->facts, .n = 2);
        if (f->list.result != 1)
            coir_fail(f, ENOENT);
        copy_name(f->out->name, (struct coir_nbd_string){ f->facts->name, strlen(f->facts->name) });
    }
    if (!is_served(&f->server->options, f->out->name))
        coir_fail(f, ENOENT);
    coir_try(f, &f->open, coir_volume_open, .store = f->server->options.store, .name = f->out->name);
    look_at(f->out, f->open.result, f->server->options.read_only);
    coir_finally(f) {
        free(f->facts);
    }
} coir_end
