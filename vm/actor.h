/* SPDX-License-Identifier: MIT */
/*
 * Actors: a handle, a mailbox, and a fiber that owns the state and runs a handler for each message. See mail.c
 * and actor.c.
 *
 * A handle is counted atomically, by whoever holds it and by the actor's fiber while that lives; all else here is
 * touched on the actor's home shard only. Whoever calls is known by a struct coir_caller, and need not be a fiber.
 */
#ifndef COIR_VM_ACTOR_H
#define COIR_VM_ACTOR_H

#include <coir/channel.h>

#include "vm/cell.h"

struct coir_actor;
struct coir_chan;
struct coir_fiber;
struct coir_function;
struct coir_mail;
struct coir_natives;
struct coir_vm;

enum coir_caller_state {
    COIR_CALLER_ROOM,                   /* it waits for room in the mailbox, its message in hand */
    COIR_CALLER_REPLY,                  /* it waits for the reply */
    COIR_CALLER_DONE,                   /* the message has room, or the reply is where it was to go */
    COIR_CALLER_DOWN,                   /* the actor is over */
    COIR_CALLER_RING,                   /* a fiber's: it is in a ring of waits, and its Trap is made */
};

/* Who waits for an actor. It lives, and holds the actor or is lent it, until it is done or has left. */
struct coir_caller {
    struct coir_link link;              /* in the line of those who wait for room; else in no list */
    struct coir_actor *actor;
    struct coir_mail *mail;             /* while it waits for room */
    struct coir_caller **named_by;      /* while it waits for a reply: what names it, a message or the actor itself */
    uint64_t *result;                   /* where a reply goes, which is moved there; NULL: none is wanted */
    uint64_t trap;                      /* DOWN: what the actor died of, held for this; 0: it was stopped */
    void (*wake)(struct coir_caller *c);    /* tells it that it is done, or that the actor is down */
    uint8_t state;                      /* enum coir_caller_state */
    /* of a fiber, and its shard's, for probe.c */
    uint8_t pause;                      /* between two looks, in its pauses */
    uint32_t due;                       /* when it is looked at */
    struct coir_link asking;            /* of all such on the shard, the oldest first */
    uint64_t stamp;                     /* when it began */
    struct coir_fiber *fiber;
};

struct coir_actor {
    struct coir_counted head;           /* aux: its home shard */
    struct coir_counted note;           /* a holder less, under way to there: coir_actor_let_go */
    struct coir_fiber *fiber;           /* NULL: it is over, and nobody is left to be told */
    struct coir_mail *first, **last;    /* the mailbox */
    struct coir_link line;              /* callers that wait for room, the first come first */
    const struct coir_function *handler;    /* that is under way */
    struct coir_caller *caller;         /* who waits for its reply; NULL: nobody */
    uint64_t trap;                      /* what it died of, held; 0: nothing */
    struct coir_chan **monitors;        /* channels, held */
    uint32_t nmonitors, monitors_room;
    uint32_t queued;                    /* messages in the mailbox */
    uint8_t idle;                       /* its fiber is parked, and waits for a message */
    uint8_t over;                       /* it handles nothing any more */
    uint8_t noted;                      /* atomic: the note is under way */
};

static inline struct coir_actor *coir_actor_at(uint64_t slot)
{
    return (struct coir_actor *)(uintptr_t)slot;
}

/* ---- for whoever calls, on the home shard ---- */

enum coir_told {
    COIR_TOLD,                          /* it is in the mailbox; no reply is wanted */
    COIR_TOLD_WAITS,                    /* the caller is waiting */
    COIR_TOLD_FULL,                     /* there is no room, and no caller to wait: nothing was done */
    COIR_TOLD_DOWN,                     /* the actor is over: nothing was done */
    COIR_TOLD_NO_MEMORY,                /* nothing was done */
};

/* Sends message `number` with its arguments, which are moved. A caller with a place for the result waits for the reply,
 * one without for room if there is none; `c` may be NULL if neither is wanted. Of `c` result and wake are set. */
enum coir_told coir_actor_tell(struct coir_vm *vm, struct coir_actor *a, uint32_t number, const uint64_t *args,
                               struct coir_caller *c);

/* It waits no more: takes its message back, which is dropped, or leaves it, and then the reply is. */
void coir_caller_leaves(struct coir_heap *h, struct coir_caller *c);

bool coir_actor_is_full(const struct coir_vm *vm, const struct coir_actor *a);

/* SPAWN of an actor: `*to` gets it, the state is moved; on the shard whose turn it is. */
enum coir_native_result coir_actor_spawn(struct coir_fiber *f, const struct coir_type *t, uint64_t *to,
                                         uint64_t *state);

/* ---- for its fiber (fiber.c) ---- */

enum coir_acting {
    COIR_ACTS,                          /* the fiber stands at the beginning of a handler */
    COIR_ACTOR_WAITS,                   /* it is to park, until it is woken */
    COIR_ACTOR_ENDS,
};
enum coir_acting coir_actor_next(struct coir_fiber *f);

/* The handler has returned: gives the reply. */
void coir_actor_replies(struct coir_fiber *f);

/* The fiber has ended, with f->trap if it died: tells everybody. False: there is more to do, in another slice. */
bool coir_actor_ends(struct coir_fiber *f);

/* A deadlock is not of its making: it waits for nobody. */
bool coir_fiber_is_idle(const struct coir_fiber *f);

/* The last reference is gone. */
void coir_actor_end(struct coir_heap *h, struct coir_actor *a);

extern const struct coir_natives coir_actor_natives;

#endif
