/* SPDX-License-Identifier: MIT */
/*
 * A store over devices that are open: what coir_store_open and coir_store_close are without paths. Home.
 */
#ifndef COIR_VOLUME_LOAD_H
#define COIR_VOLUME_LOAD_H

#include "volume/inside.h"

/*
 * Makes a store of files that were loaded (coir_files_load), and recovers it. `files` stays the caller's, and lasts as
 * long as the store, or until this has failed. Errors as coir_store_open.
 */
struct coir_store_load {
    coir_frame(struct coir_store *);
    coir_args(struct coir_files *files; const struct coir_store_options *options; struct coir_complaint *complaint;);
    void *room_[1400];
};
coir_declare(coir_store_load);

/* Ends it in good order; the devices stay open. In a shield. */
struct coir_store_unload {
    coir_frame_void;
    coir_args(struct coir_store *store;);
    void *room_[128];
};
coir_declare(coir_store_unload);

#endif
