/* SPDX-License-Identifier: MIT */
/*
 * Serving the volumes of a store over NBD. Clients are strangers: whatever one of them sends, keeps back or does not
 * read costs its own connection at most, within the bounds that the options set. docs/nbd.md says what is supported.
 *
 *     f->options = (struct coir_nbd_options){ .store = f->store, .where = f->addresses, .n_where = 1 };
 *     coir_try(f, &f->serve, coir_nbd_serve, .options = &f->options);
 */
#ifndef COIR_SERVE_NBD_H
#define COIR_SERVE_NBD_H

#include <coir/combine.h>
#include <coir/time.h>
#include <coir/volume.h>

#include "serve/nbd_wire.h"

enum { NBD_ADDRESSES = 16 };

/* One line, without its end, about a client that did what it must not, or went; or about what the server cannot do.
 * The line is gone after the call. Called on any shard, and by several at once. */
typedef void coir_nbd_log_line(void *ctx, const char *line);

/* What is 0 or NULL has the value that is said first. */
struct coir_nbd_options {
    struct coir_store *store;
    const char *const *where;           /* addresses as coir_listen takes them: at least one, at most NBD_ADDRESSES */
    unsigned n_where;
    unsigned mode;                      /* of the files of Unix sockets; 0: as the umask says */
    const char *const *exports;         /* names of the volumes that are served, `n_exports`; 0: all of the store */
    unsigned n_exports;
    bool read_only;                     /* all of them */
    unsigned connections;               /* at once, on each shard and by each address; 0: 1,024. More have to wait */
    unsigned depth;                     /* requests of a connection in flight; 0: 256 */
    size_t in_flight;                   /* bytes of their data; 0: 64 MiB */
    /* bytes of the data of all requests; 0: 256 MiB. Each shard has its part, and no less than 64 MiB */
    size_t memory;
    /* Times in ns. All that a client has for its handshake, 0: 30 s. What it has to send or to take something, 0: 30 s,
     * and a second more for every 256 KiB. What requests under way have when the server is stopped, 0: 10 s. */
    int64_t handshake, patience, drain;
    coir_nbd_log_line *log;             /* NULL: to stderr, with "coir: " in front */
    /* is told each address, as it turned out to be, before the first connection; NULL: nobody */
    void (*listening)(void *ctx, const char *address);
    void *ctx;
};

struct coir_nbd_counts {
    uint64_t connections;               /* accepted */
    uint64_t live;                      /* of these, not ended */
    uint64_t served;                    /* came through the handshake */
    uint64_t broken;                    /* ended for a fault: of the protocol, a deadline, a peer that vanished */
    uint64_t requests[NBD_COMMANDS];    /* by the protocol's number; those that were answered with an error too */
    uint64_t errors;                    /* requests that were */
    uint64_t read, written;             /* bytes of data of those that were not */
    uint64_t sends;                     /* writes to clients: an answer costs one or less */
};

struct coir_nbd_server;

/*
 * Serves until it is cancelled. Then it listens no more, answers what was received, says NBD_ESHUTDOWN to what still
 * comes, and closes the connections, after `drain` in any case; volumes are not flushed, that is the store's matter.
 * The files of Unix sockets are removed, unless somebody else has put his own there.
 * The options outlive it. The status is -ECANCELED, or why it could not listen or accept:
 *   -EINVAL      the options make no sense
 *   -ENOMEM, -EADDRINUSE, ... of coir_listen
 * The result is what coir_nbd_counts says at the end. It may run on any shard; connections go to that with the fewest.
 */
struct coir_nbd_serve {
    coir_frame(struct coir_nbd_counts);
    coir_args(const struct coir_nbd_options *options;);
    struct coir_nbd_server *server;
    const char *failed;                 /* once it has ended by an error: the address that could not be listened at */
    unsigned tries;
    int err;
    union {
        struct coir_combine all;
        struct coir_sleep sleep;
    };
};
coir_declare(coir_nbd_serve);

/* The counters, of all shards together: a snapshot while it serves, and what they were at the end afterwards, as long
 * as its memory is not used otherwise. From any shard, once its await has begun. */
void coir_nbd_count(struct coir_nbd_serve *s, struct coir_nbd_counts *out);

#endif
