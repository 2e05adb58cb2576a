/* SPDX-License-Identifier: MIT */
/*
 * The ring plane's state, for the files that make it up: uring.c (operations, waiting), uring_setup.c
 * (probing, features, life) and what keeps multishot requests. Nobody else includes this.
 *
 * How an operation is named to the kernel: user_data is a slot of a table and the slot's generation, so that
 * a completion for something that is over is counted and dropped, whatever the kernel or a late cancel sends.
 *
 *       63     62         32 31          0
 *     | cancel | generation |    slot     |     slots COIR_SLOT_... stand for what has no operation
 */
#ifndef COIR_RUNTIME_PLANE_URING_H
#define COIR_RUNTIME_PLANE_URING_H

#include <liburing.h>

#include "runtime/plane/plane.h"

enum {
    /* to -516: how some operations that were interrupted say so, in the kernel's own words (-ERESTARTSYS) */
    COIR_RING_RESTART = -512,
};

/* io->state, besides plane.h's */
enum {
    COIR_IO_IN_RING = COIR_IO_PLANES_OWN,   /* the kernel has it, or has it in the submission queue */
    COIR_IO_POLLING,                 /* the kernel waits for its descriptor; then it is tried */
    COIR_IO_UNSENT,                  /* waits for a place in the submission queue */
    COIR_IO_SHARING,                 /* waits for what its descriptor's one request brings; has no slot */
};

#define COIR_SLOT_IGNORE 0xffffffffu     /* a completion that says nothing to anybody */
#define COIR_TAG_CANCEL (UINT64_C(1) << 63)  /* the completion of a cancel of that slot's operation */
#define COIR_SLOT_NUDGED 0xfffffffeu     /* another shard's MSG_RING */
#define COIR_SLOT_NUDGING 0xfffffffdu    /* our MSG_RING failed; the generation is the other's shard */

/* Optional features of the ring: each can be switched off by COIR_URING=-name. Their names stand in
 * uring_setup.c. */
enum {
    COIR_RING_DEFER = 1,             /* DEFER_TASKRUN and SINGLE_ISSUER, 6.1 */
    COIR_RING_COOP = 2,              /* COOP_TASKRUN and TASKRUN_FLAG, 5.19 */
    COIR_RING_SUBMIT_ALL = 4,        /* 5.18 */
    COIR_RING_MSG = 8,               /* MSG_RING, 5.18 */
    COIR_RING_MULTISHOT = 16,        /* accept 5.19, receive 6.0 */
    COIR_RING_BUFRING = 32,          /* provided buffers as a ring, 5.19 */
    COIR_RING_POLL_FIRST = 128,      /* a receive may begin by waiting, 5.19 */
    COIR_RING_EXT = 64,              /* a timeout in io_uring_enter, 5.11: always there */
};

struct coir_slot {
    struct coir_io *io;              /* NULL: free */
    uint32_t generation;
    uint32_t next_free;
};

struct coir_uring_plane {
    struct coir_plane base;
    struct io_uring ring;
    unsigned features;
    uint8_t can[(IORING_OP_LAST + 64 + 7) / 8];    /* opcodes the kernel has */

    struct coir_slot *slots;
    uint32_t n_slots, free_slot;

    struct coir_io *unsent, **unsent_end;          /* see COIR_IO_UNSENT */
    struct coir_io *uncancelled;     /* asked to stop, no place for the cancel yet */

    struct coir_io *missed;          /* asked in vain more than once, to be asked again */
    struct coir_alarm again;         /* when that is */

    int wake;                        /* an eventfd: threads that are no shard write, the ring reads */
    uint64_t wake_count;
    struct coir_io wake_io;          /* the read of it */
    int registered;                  /* the eventfd that `fd` made, registered with the ring; or -1 */
    unsigned reaped;                 /* completions that have been handled, and are not yet given back */
    bool closing;
    bool in_vain;                    /* at the last wait the kernel said that it had work, and had none */

    void *buffers;                   /* uring_buffers.c: the ring of provided buffers, made when first used */
};

static inline struct coir_uring_plane *coir_uring_self(struct coir_plane *p)
{
    return coir_container_of(p, struct coir_uring_plane, base);
}

static inline bool coir_uring_can(const struct coir_uring_plane *p, unsigned opcode)
{
    return p->can[opcode / 8] >> opcode % 8 & 1;
}

/* uring_multishot.c: an operation whose kind shares is served by one request for all on its descriptor. */
enum coir_share {
    COIR_SHARES_NOT,                 /* no memory for that: it goes by itself */
    COIR_SHARE_TAKEN,                /* something had come already: io->res */
    COIR_SHARE_WAITS,
};
enum coir_share coir_uring_share(struct coir_uring_plane *p, struct coir_io *io);

/* uring_buffers.c */
bool coir_uring_provide(struct coir_plane *plane, unsigned id);
/* A completion of an operation that lends: notes its buffer, or gives it back when there is nothing in it. io is
 * NULL when the operation is over. */
void coir_uring_lent(struct coir_uring_plane *p, struct coir_io *io, int res, unsigned flags);
void coir_uring_unprovide(struct coir_uring_plane *p);

/* uring_setup.c */
int coir_uring_open(struct coir_shard *s, const struct coir_plane_options *o, struct coir_plane **out, char *why,
                    size_t len);
void coir_uring_close(struct coir_plane *plane);

/* uring.c */
/* A place in the submission queue, zeroed, or NULL: then something has to be reaped first. */
struct io_uring_sqe *coir_uring_sqe(struct coir_uring_plane *p);
/* Gives io a slot and sends it, now or when there is room: by its kind's prepare (COIR_IO_IN_RING), or to wait
 * for its descriptor (COIR_IO_POLLING). 0 or -ENOMEM. */
int coir_uring_send(struct coir_uring_plane *p, struct coir_io *io, uint8_t state);
/* The kernel owes io nothing more. */
void coir_uring_free_slot(struct coir_uring_plane *p, struct coir_io *io);
void coir_uring_cancel(struct coir_plane *plane, struct coir_io *io);
/* Asks again whom cancels have missed. */
void coir_uring_cancel_again(struct coir_alarm *alarm);
/* Enters the kernel once: submits everything, and waits up to `timeout` ns for one completion. */
void coir_uring_enter(struct coir_uring_plane *p, int64_t timeout);
/* Handles what has been completed. */
unsigned coir_uring_reap(struct coir_uring_plane *p);
/* A descriptor that the kernel has brought for io, in a completion that is still to be handled: that then says
 * -ECONNABORTED, and who takes it owns it. Or -EAGAIN. */
int coir_uring_brought(struct coir_uring_plane *p, const struct coir_io *io);
/* Arms the read of the wake eventfd. 0 or -ENOMEM. */
int coir_uring_arm_wake(struct coir_uring_plane *p);

#endif
