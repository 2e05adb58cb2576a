/* SPDX-License-Identifier: MIT */
/*
 * What a request may be. Only here is a client's request distrusted; whoever does it relies on what stands here.
 */
#include "serve/nbd_connection.h"

/* Whether requests of this type change the export. */
static bool writes(unsigned type)
{
    return type == NBD_CMD_WRITE || type == NBD_CMD_TRIM || type == NBD_CMD_WRITE_ZEROES;
}

static bool has_data(unsigned type)
{
    return type == NBD_CMD_READ || type == NBD_CMD_WRITE || type == NBD_CMD_CACHE;
}

/* The flags that a command may have on this connection. FUA goes with any: it says nothing where nothing is written. */
static unsigned allowed(const struct coir_nbd_connection *c, unsigned type)
{
    const unsigned fua = c->export.read_only ? 0 : NBD_CMD_FUA;

    switch (type) {
    case NBD_CMD_READ:
        return fua | (c->structured ? NBD_CMD_DF : 0);
    case NBD_CMD_WRITE_ZEROES:
        return fua | NBD_CMD_NO_HOLE | NBD_CMD_FAST_ZERO;
    case NBD_CMD_BLOCK_STATUS:
        return fua | NBD_CMD_REQ_ONE;
    default:
        return fua;
    }
}

static int check_range(const struct coir_nbd_connection *c, const struct coir_nbd_request *r, const char **why)
{
    if (r->length == 0) {
        *why = "a length of 0";
        return -EINVAL;
    }
    if (has_data(r->type) && r->length > NBD_BLOCK_MAX) {
        *why = "more than 32 MiB";
        return r->flags & NBD_CMD_DF ? -EOVERFLOW : -EINVAL;
    }
    if (r->offset > c->export.size || r->length > c->export.size - r->offset) {
        *why = "beyond the end of the export";
        return r->type == NBD_CMD_WRITE || r->type == NBD_CMD_WRITE_ZEROES ? -ENOSPC : -EINVAL;
    }
    return 0;
}

int coir_nbd_check(const struct coir_nbd_connection *c, const struct coir_nbd_request *r, const char **why)
{
    if (r->type >= NBD_COMMANDS) {
        *why = "no such command";
        return -EINVAL;
    }
    if (c->export.read_only && writes(r->type))
        return -EPERM;
    if (r->flags & ~allowed(c, r->type)) {
        *why = "flags that the command does not have";
        return -EINVAL;
    }
    if (r->type == NBD_CMD_FLUSH) {
        if (!c->export.read_only && r->offset == 0 && r->length == 0)
            return 0;
        *why = c->export.read_only ? "a read-only export has no FLUSH" : "a FLUSH has no range";
        return -EINVAL;
    }
    if (r->type == NBD_CMD_BLOCK_STATUS && !c->contexts) {
        *why = "no meta context was set for this export";
        return -EINVAL;
    }
    return check_range(c, r, why);
}
