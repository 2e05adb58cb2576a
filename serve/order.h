/* SPDX-License-Identifier: MIT */
/*
 * An order: what somebody asks of a store in one line, and its answer in lines of JSON. So `coir volume` speaks to a
 * store that another process serves, and to one that it has opened itself.
 *
 *     create\tname=vm0\tsize=10737418240\tblock=4096\n             fields are separated by tabs; values have none
 *     {"status":0}\n
 *
 * Each answer ends with a line that has a "status": 0, or a negative errno, and then "error", in words. Before it come
 * the lines of what was asked for, and those with a "progress" from 0 to 1 for what takes long.
 */
#ifndef COIR_SERVE_ORDER_H
#define COIR_SERVE_ORDER_H

#include <coir/stream.h>
#include <coir/volume.h>
#include <coir/writer.h>

enum { COIR_ORDER_MAX = 1024 };         /* bytes of the line, its end included */

/* Carries out the order in `line`, which is changed by it, and writes the answer. Fails only if the writer does. Any
 * shard of the run. */
struct coir_order {
    coir_frame_void;
    coir_args(struct coir_store *store; char *line; struct coir_writer *to;);
    void *room_[2200];
};
coir_declare(coir_order);

/* Serves orders on a connected stream socket, one after the other, until the peer has sent its last, or sends what is
 * none. Takes the descriptor. */
struct coir_order_session {
    coir_frame_void;
    coir_args(struct coir_store *store; int fd;);
    void *room_[2600];
};
coir_declare(coir_order_session);

/* Listens beside each file of the store, at its path with ".sock" behind it, mode 0600, and serves orders until it is
 * cancelled; the sockets are removed then. `ready`, unless NULL, is set when it listens. -ENAMETOOLONG, or what
 * coir_listen says: `why` says where. */
struct coir_order_serve {
    coir_frame_void;
    coir_args(struct coir_store *store; char *why; size_t why_size; struct coir_event *ready;);
    void *room_[512];
};
coir_declare(coir_order_serve);

#endif
