/* SPDX-License-Identifier: MIT */
/*
 * The buffers a shard lends to who receives (coir/lend.h): where they are, who has them, who waits for one. On the
 * ring most of them lie in the kernel's hands; on both planes some may be free here.
 */
#ifndef COIR_RUNTIME_PLANE_LENDS_H
#define COIR_RUNTIME_PLANE_LENDS_H

#include <coir/lend.h>

#include "runtime/base/queue.h"
#include "runtime/plane/plane.h"

enum { COIR_LENDS_GROUP = 0 };

struct coir_loan {
    const struct coir_site *site;        /* of the await that has it */
    uint32_t turn;                       /* counts its loans, so that an old struct coir_lent can tell */
    bool out;
};

/* Buffers are numbered from 0 to n - 1. Each is `out`, or free here, or in the kernel's hands. */
struct coir_lends {
    struct coir_plane *plane;
    char *slab[COIR_LENT_BUFFERS / COIR_LENDS_SLAB];
    unsigned n, out;
    unsigned n_free;
    struct coir_link wanting;            /* held, oldest first; their links lie in `spare` */
    uint16_t free[COIR_LENT_BUFFERS];
    struct coir_loan loan[COIR_LENT_BUFFERS];
};

/* Makes the first buffers, if need be. 0 or -ENOMEM. */
int coir_lends_ready(struct coir_plane *p);
/* Makes more. 0; -ENOBUFS at the limit; -ENOMEM. */
int coir_lends_grow(struct coir_plane *p);

static inline char *coir_lends_at(const struct coir_lends *l, unsigned id)
{
    return l->slab[id / COIR_LENDS_SLAB] + (size_t)(id % COIR_LENDS_SLAB) * COIR_LENT_MAX;
}

/* One that is free here, which is then out; or -ENOBUFS. */
int coir_lends_take(struct coir_plane *p);
/* The kernel has filled `len` bytes of one, which is then out. */
void coir_lends_filled(struct coir_lends *l, unsigned id, size_t len);
/* One that is out comes back: to the oldest io that wants one, or it is free again. */
void coir_lends_release(struct coir_lends *l, unsigned id);

/* io, which is held, waits for a buffer; it ends with the buffer in its lends_id. And the contrary. */
void coir_lends_want(struct coir_lends *l, struct coir_io *io);
void coir_lends_forget(struct coir_io *io);

/* Names what is still lent, and frees everything. At the end of the shard. */
void coir_lends_destroy(struct coir_plane *p);

/* Which buffer an operation has got, or -1. */
static inline int coir_lends_id(const struct coir_io *io)
{
    return (int)(uintptr_t)io->spare[2] - 1;
}

static inline void coir_lends_set_id(struct coir_io *io, int id)
{
    io->spare[2] = (void *)(uintptr_t)(id + 1);
}

#endif
