/* SPDX-License-Identifier: MIT */
/*
 * coir/serve.h - a server: accepting, a task for each connection, over all shards.
 *
 *     struct coir_task *greet(int fd, void *arg) { return coir_new(greeting, .fd = fd); }
 *     ...
 *     coir_try(f, &f->serve, coir_serve, .where = ":8080", .handler = greet, .limit = 10000);
 *
 * With one shard it is the accept loop that every server has, with what such loops forget: a limit, pauses when
 * there are no descriptors, connections whose failure is not the server's, an orderly end. With several it spreads
 * the connections over them too.
 */
#ifndef COIR_SERVE_H
#define COIR_SERVE_H

#include <coir/combine.h>
#include <coir/listen.h>

#ifdef __cplusplus
extern "C" {
#endif
# 23 "coir/serve.h"

/* Which shard a connection goes to. */
enum coir_spread {
    /* Each shard has its own listener on the address (SO_REUSEPORT), and the kernel spreads by a hash: the cheapest,
     * but a few long connections may well end up on one shard. Where the address cannot be shared (a Unix socket, an
     * `fd` without SO_REUSEPORT) it is as the next. */
    COIR_SPREAD_KERNEL,
    COIR_SPREAD_ROUND_ROBIN,        /* one listener; to each shard in turn */
    COIR_SPREAD_LEAST,              /* one listener; to the shard with the fewest connections at the moment */
};

struct coir_serving;

/*
 * Listens, and for each connection spawns the task that `handler` makes, until it is cancelled or the listener
 * fails.
 *
 *   where, options   as coir_listen
 *   fd               a listener, when `where` is NULL; it is taken, and closed in every case
 *   handler          makes the task of a connection, by coir_new, on the shard that will run it; does not suspend. The
 *                    task owns the descriptor and closes it. NULL is no memory: the connection is closed. That the
 *                    task fails is counted and nobody else's matter
 *   limit            connections at once on each shard; more wait to be accepted. 0: any number
 *   grace            when it is cancelled: how long connections may go on, in ns, before they are cancelled too.
 *                    Their end is waited for in any case; listening ends at once. 0: they are cancelled at once
 *
 * The status is -ECANCELED, or why it could not listen or accept. While it serves `result` is what coir_serve_count
 * reads.
 */
struct coir_serve {
    coir_frame(struct coir_serving *);
    coir_args(const char *where; struct coir_task *(*handler)(int fd, void *arg); void *arg; int fd;
              enum coir_spread spread; uint32_t limit; int64_t grace; const struct coir_listen_options *options;);
    struct coir_combine all;
};
coir_export(coir_serve);

/* Counters of one shard in one coir_serve. */
struct coir_served {
    uint64_t taken;                 /* connections it was given */
    uint64_t live;                  /* of those, not ended */
    uint64_t failed;                /* whose task ended with an error */
    uint64_t refused;               /* closed at once: no memory, or the end of serving */
};

/* Reads them; from any shard. -EINVAL when it does not serve (yet, any more), or for a shard that is not there. `s` may
 * be looked at from when its await has begun, which a handler's call proves, and after its end, too, as long as its
 * memory is not freed or used for another await. */
COIR_API int coir_serve_count(const struct coir_serve *s, unsigned shard, struct coir_served *out);

#ifdef __cplusplus
}
#endif
#endif
