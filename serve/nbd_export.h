/* SPDX-License-Identifier: MIT */
/*
 * Exports: volumes, by the names that clients say. The empty name is the one export that there is, if there is one.
 */
#ifndef COIR_SERVE_NBD_EXPORT_H
#define COIR_SERVE_NBD_EXPORT_H

#include <coir/volume.h>

#include "serve/nbd_options.h"
#include "serve/nbd_server.h"

enum { NBD_NAME = 256 };            /* a volume's name, and a NUL */

struct coir_nbd_export {
    struct coir_volume *volume;     /* NULL: none */
    uint64_t size;                  /* as the client has been told */
    uint32_t block;
    bool read_only;
    char name[NBD_NAME];
};

/* The protocol's flags of an export, to be told to a client with whom structured replies were agreed on, or not. */
uint16_t coir_nbd_flags(const struct coir_nbd_export *e, bool structured);

/* Opens what a client calls `name`, in `out`, whose volume is then to be closed. -ENOENT: there is no such export; or
 * as coir_volume_open. */
struct coir_nbd_open {
    coir_frame_void;
    coir_args(const struct coir_nbd_server *server; struct coir_nbd_string name; struct coir_nbd_export *out;);
    struct coir_volume_facts *facts;
    union {
        struct coir_volume_list list;
        struct coir_volume_open open;
    };
};
coir_declare(coir_nbd_open);

#endif
