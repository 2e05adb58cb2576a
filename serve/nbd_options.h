/* SPDX-License-Identifier: MIT */
/*
 * What the data of a client's options say. Pure functions over bytes of a stranger's: everything is checked here, and
 * what they fill in lies inside those bytes.
 */
#ifndef COIR_SERVE_NBD_OPTIONS_H
#define COIR_SERVE_NBD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/nbd_wire.h"

/* A string of the client's: no NUL behind it. */
struct coir_nbd_string {
    const char *data;
    size_t len;
};

/* INFO and GO: which export, and what is asked about it. */
struct coir_nbd_asked {
    struct coir_nbd_string name;
    bool wants_name, wants_block_size;
};

/* LIST_META_CONTEXT and SET_META_CONTEXT: for which export, and what the queries match. */
struct coir_nbd_contexts {
    struct coir_nbd_string name;
    bool any;                       /* there was a query */
    bool allocation;                /* one was base:allocation */
    bool base;                      /* one was base:, which means all that there are where they are listed */
};

/* All: 0; NBD_REP_ERR_INVALID for data that are not so; NBD_REP_ERR_TOO_BIG for a string that is too long. */
uint32_t coir_nbd_read_name(const uint8_t *data, size_t len, struct coir_nbd_string *out);
uint32_t coir_nbd_read_asked(const uint8_t *data, size_t len, struct coir_nbd_asked *out);
uint32_t coir_nbd_read_contexts(const uint8_t *data, size_t len, struct coir_nbd_contexts *out);

#endif
