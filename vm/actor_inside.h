/* SPDX-License-Identifier: MIT */
/*
 * What the files of actors share (actor.c, mail.c); nobody else includes it.
 */
#ifndef COIR_VM_ACTOR_INSIDE_H
#define COIR_VM_ACTOR_INSIDE_H

#include "runtime/base/queue.h"
#include "vm/machine.h"

/* What a handler is given before the message's own arguments: the state, and the actor. */
enum { COIR_ACTOR_SLOTS = 2 };

struct coir_mail {
    struct coir_mail *next;
    struct coir_caller *caller;         /* NULL: nobody waits for a reply */
    uint32_t number;
    uint32_t slots;
    uint64_t args[];
};

static inline const struct coir_type *coir_actor_type(const struct coir_heap *h, const struct coir_actor *a)
{
    return &h->types[a->head.type];
}

static inline const struct coir_function *coir_handler_for(const struct coir_heap *h, const struct coir_actor *a,
                                                           uint32_t number)
{
    return &h->functions[coir_actor_type(h, a)->messages[number].function];
}

static inline void coir_mail_free(struct coir_heap *h, struct coir_mail *m)
{
    coir_heap_free(h, m, sizeof *m + m->slots * sizeof *m->args);
}

/* Nobody handles it: what it brings is dropped. */
void coir_mail_drop(struct coir_heap *h, const struct coir_actor *a, struct coir_mail *m);

/* The first message of a mailbox that is not empty. */
static inline struct coir_mail *coir_mail_take(struct coir_actor *a)
{
    struct coir_mail *m = a->first;

    a->first = m->next;
    if (!a->first)
        a->last = &a->first;
    a->queued--;
    return m;
}

/* There is room for the message of the first that waits for that. */
void coir_mail_admit(struct coir_actor *a);

/* Who waits for a reply is named there now. */
static inline void coir_caller_is_at(struct coir_caller **place, struct coir_caller *c)
{
    *place = c;
    if (c)
        c->named_by = place;
}

static inline void coir_caller_answer(struct coir_caller *c, enum coir_caller_state state)
{
    c->state = (uint8_t)state;
    c->wake(c);
}

/* The fiber is parked, and waits for a message: it goes on. */
void coir_actor_wake(struct coir_actor *a);

#endif
