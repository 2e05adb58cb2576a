/* SPDX-License-Identifier: MIT */
/*
 * A world: one program on its shards, a machine on each. What the machines have in common is here, and how they speak
 * of the whole: who is next to be stopped, whether anything can still happen, what comes home.
 *
 * Each shard writes only its own machine's part, struct coir_seen; the others read it, at any time. Nothing here needs
 * memory once the program runs, and nothing waits for another shard. With one shard nothing of it is used but the
 * pointers.
 *
 * Who adds a way from shard to shard keeps three rules, so that a deadlock is told from a letter that is under way:
 *
 *     who sends calls coir_world_sends before the letter goes, who gets it coir_world_gets when what it brings is
 *     there: a task that goes to another shard and comes home is two letters
 *     what runs on a shard for another's fiber is a struct coir_visitor there for as long
 *     what is to happen on the other shard has a fiber that waits for it; or a letter is under way
 */
#ifndef COIR_VM_WORLD_H
#define COIR_VM_WORLD_H

#include "vm/commons.h"
#include "vm/machine.h"
#include "vm/vm.h"

struct coir_world {
    uint32_t n;                         /* shards */
    uint32_t next;                      /* atomic: where the next one goes that may go anywhere, modulo n */
    int signal;                         /* atomic: has come, and stops the program */
    uint8_t stopping;                   /* atomic: main has returned, or that: each keeper is to stop who is left */
    uint8_t over;                       /* atomic: nobody is left */
    uint32_t order;                     /* atomic: of the keeper of shard 0 to another: keeper.c */
    uint64_t probing, probed;           /* the leader's: the progress of all at a look for rings, and at the last one */
    uint32_t takes_int, takes_term;     /* atomic: times that the program takes these signals itself */
    struct stopper *stopper;            /* shard 0's, while it waits for one of them: keeper.c */
    struct coir_commons commons;        /* of their heaps, if there are several shards */
    struct coir_vm *vms[COIR_SHARDS_MOST];
    struct coir_streams streams;
};

/* What runs on this shard for a fiber of another one, linked while it does. The task: what is resumed here. */
struct coir_visitor {
    struct coir_link link;
    struct coir_task *task;
    bool outer;                         /* it waits for what comes from outside of the program */
};

/* Makes a machine on each of `shards` shards. 0, or -ENOMEM, and then nothing was made. */
int coir_world_init(struct coir_world *w, const struct coir_program *p, uint32_t shards, size_t limit, uint64_t seed);
/* When no shard runs: the globals and all that died are gone. */
void coir_world_bury(struct coir_world *w);
void coir_world_end(struct coir_world *w);

/* Begins, on shard 0, the keepers of the others and what rings each of them. False: no memory. */
bool coir_world_begin(struct coir_world *w);

/* ---- any shard's ---- */

/* The keeper of that machine looks about, and who waits there for the standard streams. The caller's own keeper. */
void coir_world_ring(struct coir_vm *vm);
/* The program is to stop, as by that signal; the first one counts. */
void coir_world_stop(struct coir_vm *here, int signal);

static inline int coir_world_signal(const struct coir_world *w)
{
    return __atomic_load_n(&w->signal, __ATOMIC_RELAXED);
}

/* The shard for what may run anywhere: round robin, the first behind the caller's own. */
static inline uint32_t coir_world_place(struct coir_vm *here)
{
    struct coir_world *const w = here->world;

    return w->n == 1 ? 0 : (__atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED) + 1) % w->n;
}

/* Something has happened here, but that a fiber was resumed: the keeper looks about behind it. */
static inline void coir_world_moves(struct coir_vm *here)
{
    __atomic_store_n(&here->progress, here->progress + 1, __ATOMIC_RELEASE);
    coir_keeper_wake(here);
}

/* A letter goes: the machine's clock is to go with it. */
static inline uint64_t coir_world_sends(struct coir_vm *here)
{
    __atomic_store_n(&here->seen.sent, here->seen.sent + 1, __ATOMIC_RELAXED);
    coir_world_moves(here);
    return here->clock;
}

/* One has come; `clock` is its sender's. */
static inline void coir_world_gets(struct coir_vm *here, uint64_t clock)
{
    if (clock > here->clock)
        here->clock = clock;
    coir_world_moves(here);                  /* before it counts as come: who sees that sees also that this moves */
    __atomic_store_n(&here->seen.got, here->seen.got + 1, __ATOMIC_RELEASE);
}

/* The cell has died here, and belongs to another shard: it goes there, and is buried there. */
void coir_world_gone(struct coir_vm *here, struct coir_counted *c);

void coir_visitor_comes(struct coir_vm *here, struct coir_visitor *v, struct coir_task *task);
void coir_visitor_goes(struct coir_visitor *v);

/* ---- the keepers' ---- */

/* Of this shard the fiber with that stamp is the newest of those to stop, 0: none is. The machine whose turn it is;
 * NULL: everybody has been stopped. */
struct coir_vm *coir_world_newest(struct coir_vm *here, uint64_t stamp);
/* The fiber with that stamp, the newest here, is being stopped. */
void coir_world_stops(struct coir_vm *here, uint64_t stamp);

/* Nothing happens here by itself; `untold` is the stamp of the newest fiber that was not told, or 0. It holds until the
 * machine makes progress, or coir_world_stirs. */
void coir_world_rests(struct coir_vm *here, uint64_t untold);
void coir_world_stirs(struct coir_vm *here);

/* Whether all shards rest, and no letter is under way. */
enum coir_rest_of_all { COIR_WORLD_STIRS, COIR_WORLD_STUCK, COIR_WORLD_EMPTY };
enum coir_rest_of_all coir_world_look(const struct coir_world *w);

/* What all have done, if they rest: if it is as before they have rested in between. */
uint64_t coir_world_progress(const struct coir_world *w);

/* The machine with the newest fiber that was not told; NULL: there is none. */
struct coir_vm *coir_world_untold(const struct coir_world *w);

/* Cells that have come home are with the dead now. */
void coir_world_take_home(struct coir_vm *here);

#endif
