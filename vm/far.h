/* SPDX-License-Identifier: MIT */
/*
 * Far: what a fiber does to a channel, a task or an actor of another shard. Such a thing is touched on its home shard
 * only. So a visit is made there in the fiber's stead, and the fiber waits for it to come home:
 *
 *     native -> coir_trip, a task here: packs what goes -> coir_visit, a task there: the errand, packs what comes
 *
 * What goes and what comes lies in the fiber's window all the time, which stands still as long as the fiber waits: who
 * touches it is the one whose turn it is. What is to be done there is an errand, which the file has that has the
 * same at home:
 *
 *     struct coir_far *far = coir_far_scratch(f);
 *     if (!far)
 *         return coir_trap_memory(f);
 *     if (f->step == 0) {
 *         far->cell = c;
 *         far->at = r;
 *     }
 *     if (coir_far_goes(f, far))
 *         return coir_far_go(f, far, &errand, c->head.aux);
 *     if (far->said < 0)
 *         return coir_far_trap(f, far);
 */
#ifndef COIR_VM_FAR_H
#define COIR_VM_FAR_H

#include <coir/channel.h>
#include <coir/io.h>

#include "vm/cross.h"
#include "vm/world.h"

struct coir_visit;

struct coir_errand {
    /* On the home shard: 0 or a negative errno, what it comes to; -EAGAIN: it waits, for what v->waits says. */
    int (*begins)(struct coir_visit *v);
    /* The wait has ended with this status. What it comes to; NULL: the same. */
    int (*ends)(struct coir_visit *v, int status);
};

/* A part of a pack: the slices of the walk. */
struct coir_slices {
    coir_frame_void;
    coir_args(struct coir_crossing *x;);
    enum coir_walked how;
};

/* Makes values fit to leave this shard: in slices; then the shard lets go of their descriptors. Ends with 0, -ENOMEM,
 * or -EXDEV: there is one that cannot, and `stays` says why. Cancelling does not end it. */
struct coir_pack {
    coir_frame_void;
    coir_args(struct coir_vm *vm; const struct coir_param *params; uint32_t n; uint64_t *slots;);
    struct coir_crossing x;
    union {
        struct coir_slices slices;
        struct coir_leave leave;
    };
    size_t at;
    int result_;
    const char *stays;
};

coir_declare(coir_pack);
/* One of one value, on its way home, has ended. Its status; a value that cannot leave is dropped where it is. */
int coir_packed_for_home(struct coir_pack *p);

/* Parks until coir_stand_wake, or a cancellation. */
struct coir_stand {
    coir_frame_void;
    coir_args(bool woken;);             /* false */
};
void coir_stand_wake(struct coir_stand *s);

enum coir_visit_waits { COIR_VISIT_PASSES, COIR_VISIT_STANDS, COIR_VISIT_SENDS, COIR_VISIT_RECEIVES };

struct coir_visit {
    coir_frame_void;
    coir_args(struct coir_far *far;);
    struct coir_visitor visitor;
    struct coir_link seat;              /* of vm->seats */
    uint8_t waits;                      /* enum coir_visit_waits */
    union {
        struct coir_channel_send send;
        struct coir_channel_recv recv;
        struct {
            struct coir_stand stand;
            struct coir_waiter waiter;
        };
        struct coir_pack pack;          /* behind the wait */
    };
};

/* Everybody else has a turn, also of who is cancelled. */
struct coir_turn_of_all {
    coir_frame_void;
    coir_no_args;
};

struct coir_trip {
    coir_frame_void;
    coir_args(struct coir_far *far;);
    union {
        struct coir_pack pack;
        struct coir_visit visit;
        struct coir_turn_of_all turn;
    };
};
coir_declare(coir_trip);

/* All that is known of it, beside the tasks that make it. */
struct coir_far {
    struct coir_vm *here, *there;
    const struct coir_errand *errand;

    /* set before it goes */
    struct coir_counted *cell;          /* that it is about; NULL: something is to be made */
    const struct coir_type *type;       /* of the cell, or of what is to be made */
    uint32_t number;                    /* of a message, a function */
    const struct coir_param *params;    /* what goes; n 0: nothing */
    struct coir_param state;            /* or this one, an actor's state */
    uint32_t nparams;
    uint32_t nslots;
    uint64_t *goes;                     /* its slots; 0 once the errand has taken them */
    uint64_t *at;                       /* where what comes is to lie */
    bool asks;                          /* a message: for a reply */
    struct coir_caller caller;          /* of a message; home's, also between two visits */
    bool left;                          /* its caller waits for nothing any more */
    bool must;                          /* its caller is named there: it cannot stay here, and goes when it can */
    uint64_t ring;                      /* the Trap of a ring it is in, held; 0: none. Home's, as is caller.stamp */
    struct coir_stand *stand;           /* NULL: nobody stands there for it */

    /* set on the way */
    int said;                           /* what it came to */
    const char *stays;                  /* of -EXDEV */
    struct coir_param brings;           /* what comes, by its type, at `at`; NULL: nothing */
    bool received;                      /* of a channel */
    uint64_t made;                      /* a cell, or a number */
    uint64_t trap;                      /* a Trap, held; it is packed too */
    bool packed;
    uint64_t clock;
    struct coir_trip trip;
};

/* Whether what a slot refers to, a channel, a task or an actor, is another shard's, or the fiber comes from there: then
 * something else may lie in the slot. */
static inline bool coir_is_far(const struct coir_fiber *f, uint64_t slot)
{
    return __builtin_expect(f->away || (f->step == 0 && coir_ref(slot)->aux != f->vm->shard), 0);
}

/* The native's scratch. NULL: no memory. */
struct coir_far *coir_far_scratch(struct coir_fiber *f);

/* Whether it is to go: for the first time, or again, since it was cut short for nothing. */
bool coir_far_goes(struct coir_fiber *f, struct coir_far *far);
enum coir_native_result coir_far_go(struct coir_fiber *f, struct coir_far *far, const struct coir_errand *errand,
                                    uint32_t shard);

/* The visit that stands on this shard for what began with that stamp; NULL: there is none. What `far` points to need
 * not be there any more. */
const struct coir_visit *coir_far_stands(const struct coir_vm *here, const struct coir_far *far, uint64_t stamp);

/* Of a visit that came to a negative errno, the trap. */
enum coir_native_result coir_far_trap(struct coir_fiber *f, struct coir_far *far) __attribute__((cold));

/* Whether something happens on this shard that comes to its end by itself, and no fiber of it shows: a pack, a visit
 * that waits for what comes from outside, or one that is on its way home since it was cancelled or is in a ring. */
bool coir_far_moves(const struct coir_vm *vm);

#endif
