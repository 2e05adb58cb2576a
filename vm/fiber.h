/* SPDX-License-Identifier: MIT */
/*
 * A fiber: a task of libcoir whose body is bytecode. Its frame is this struct, on libcoir's heap; its registers and
 * return addresses lie in one array, which grows, and moves when it does:
 *
 *     low                 r                                     fp             high
 *     | main's registers  | the callee's registers ...  (room)  | return pc ... |
 *
 * A call lays the callee's window over the end of the caller's, so r goes up by the instruction's operand, and the
 * return address goes below the last; both come back together. The lowest return address is that of an instruction
 * which ends the fiber.
 *
 * While the interpreter runs it keeps pc, r, fp and budget in its own variables: here they are right whenever a
 * native runs, and whenever the fiber does not.
 */
#ifndef COIR_VM_FIBER_H
#define COIR_VM_FIBER_H

#include <coir/channel.h>
#include <coir/group.h>
#include <coir/scope.h>

#include "vm/actor.h"

struct coir_asking;
struct coir_fiber;
struct coir_import;
struct coir_program;
struct coir_vm;
struct coir_region;
struct coir_handle;

enum coir_native_result {
    COIR_NATIVE_DONE,
    COIR_NATIVE_TRAP,                   /* by coir_trap... */
    COIR_NATIVE_AWAIT,                  /* by coir_wait_for */
    COIR_NATIVE_MORE,                   /* not done; call it again when everybody else has had a turn */
    COIR_NATIVE_PARKED,                 /* the machine's own: by coir_park */
    COIR_NATIVE_CALL,                   /* by coir_call_back: call it again when the function has returned */
};

/* Who waits in a line of the machine's: a fiber, by coir_park, or a visitor for one (far.h). */
struct coir_waiter {
    struct coir_link link;
    void (*wake)(struct coir_waiter *w);    /* it is out of the line, and goes on */
};

/* `r`: the window. See native.h. */
typedef enum coir_native_result coir_native_fn(struct coir_fiber *f, uint64_t *r);

/* Frames at most: one more traps Stack. */
enum { COIR_FRAMES = 100000 };

struct coir_fiber {
    coir_frame_void;
    struct coir_vm *vm;                 /* the shard's */
    struct coir_heap *heap;             /* the shard's */
    const uint64_t *pc;                 /* the instruction: it comes next, is under way, or has trapped */
    const uint64_t *next;               /* of one under way: where it goes on when it is done */
    uint64_t *r;
    const uint64_t **fp;
    uint64_t *low, *high;
    int64_t budget;                     /* back edges and calls left in this slice; at least 1 while it runs */

    /* what is under way: a native, or an instruction that is written like one */
    coir_native_fn *call;
    uint64_t *window;
    const struct coir_import *import;   /* of a native */
    struct coir_task *wait;             /* what it waits for: a frame that has not begun, but for its body */
    void *scratch;
    uint32_t step;

    uint8_t asked;                      /* enum coir_native_result: what `call` said last */
    uint8_t state;                      /* enum of fiber.c: what to do when it is resumed */
    uint8_t stopping;                   /* the program ends: catch arms are passed over */
    uint8_t inside;                     /* unwinding: the frame has called what was left */
    uint8_t is_main;
    uint8_t is_actor;
    uint8_t is_hosted;
    uint8_t excused;                    /* its Task was cancelled: that it ends of that is no failure of its group */
    uint8_t deadlocked;                 /* nothing can wake it any more: what it waits for says so, once */
    uint8_t inner;                      /* what it waits for comes from another fiber, and is no time */
    uint8_t asleep;                     /* it is counted in vm->asleep */
    uint8_t probed;                     /* ring.c has come to it */
    uint8_t away;                       /* it waits for a visit to another shard: far.h */

    uint64_t stamp;                     /* later than that of whoever was there before it was made */
    uint64_t trap;                      /* the Trap it unwinds with, owned; 0: none */
    struct coir_asking *asking;         /* natives that wait for a function they asked for, innermost first */
    struct coir_region *regions;        /* groups, withins and shields it is in, innermost first */
    union {
        struct coir_handle *handle;     /* its Task[T]; NULL: main */
        struct coir_actor *actor;       /* that it is, if is_actor */
        struct coir_hosted *hosted;     /* who has begun it, if is_hosted */
    };
    struct coir_region *member_of;      /* the group it was spawned into */
    struct coir_link member;            /* of that group */
    struct coir_fiber *older, *newer;   /* all of the shard */
    struct coir_scope scope;            /* its own: t.cancel(), and the program's stop */
    union {                             /* what it waits for most often */
        struct coir_channel_send send;
        struct coir_channel_recv recv;
        struct coir_waiter waiter;      /* parked by coir_park: in that line */
        struct coir_caller caller;      /* in coir_op_msg */
        uint64_t scratch[14];           /* what a native asked for, if it fits */
    } op;
};

/* Who has begun a fiber from outside: is told how it has ended, with the slots of its result, which are moved, or with
 * a Trap that is held once more if it is kept. */
struct coir_hosted {
    void (*ended)(struct coir_hosted *h, struct coir_fiber *f, uint64_t trap, const uint64_t *results);
};

/* ---- inside the machine ---- */

/* A fiber that runs `function`, whose own arguments are moved out of args; queued. `handle`, and the group if it is
 * one's member, are held once more. NULL: no memory, and the arguments are the caller's still. */
struct coir_fiber *coir_fiber_new(struct coir_vm *vm, uint32_t function, const uint64_t *args, uint32_t slots,
                                  struct coir_handle *handle, struct coir_region *group);

/* The same for a host: behind the arguments lies the closure, if it is one's body. The lent ones the host keeps until
 * it has ended. */
struct coir_fiber *coir_fiber_hosted(struct coir_vm *vm, uint32_t function, const uint64_t *args, uint32_t slots,
                                     struct coir_hosted *hosted);

/* Whether it is cancelled: what would park raises instead. */
static inline bool coir_fiber_cancelled(const struct coir_fiber *f)
{
    return __builtin_expect(coir_here.cancelled != 0, 0) && coir_cancelled_(&f->task);
}

/* An await of the machine's own has said -ECANCELED: whether to wait again, since nobody of its scopes said so. A walk
 * that cancels does not see every shield between two scopes of one task. */
static inline bool coir_fiber_waits_again(const struct coir_fiber *f)
{
    return !coir_fiber_cancelled(f) && !f->deadlocked;
}

/* An actor's fiber, whose state is moved; queued. NULL: no memory, and the state is the caller's still. */
struct coir_fiber *coir_fiber_actor(struct coir_vm *vm, const struct coir_type *t, struct coir_actor *a,
                                    uint64_t state);

/* main's: runs the init function, then main with `args`, which is moved. NULL: no memory, and it is the caller's. */
struct coir_fiber *coir_fiber_main(struct coir_vm *vm, uint64_t args);

/* Parks at the end of a line of waiters, from which coir_fiber_wake takes it out, or a cancellation: whoever parks asks
 * again. */
enum coir_native_result coir_park(struct coir_fiber *f, struct coir_link *line);
void coir_fiber_wake(struct coir_fiber *f);
/* The first of a line, whoever that is, out of it. False: nobody is in it. */
bool coir_line_wake(struct coir_link *line);
/* What it waits for has come; it is parked, and in no line. It does not sleep from now on, so that nobody looks for a
 * deadlock before it has run. */
void coir_fiber_rouse(struct coir_fiber *f);

/* Tells whoever keeps the fibers that something has happened: one has ended, all sleep, cells are dead. */
void coir_keeper_wake(struct coir_vm *vm);

/* What a task waits for in the end: itself, or the innermost one it awaits. */
static inline struct coir_task *coir_task_leaf(struct coir_task *t)
{
    while (t->awaiting)
        t = t->awaiting;
    return t;
}

/* Cancels the fiber's own scope. */
void coir_fiber_cancel(struct coir_fiber *f);

#endif
