/* SPDX-License-Identifier: MIT */
/*
 * A machine: one shard's part of a running program. It owns the shard's heap and fibers. Shard 0's also has what all
 * machines of the program read: a copy of the code with the loader's promises worked in, which is what the interpreter
 * runs, and the globals. Of the program it only reads.
 */
#ifndef COIR_VM_MACHINE_H
#define COIR_VM_MACHINE_H

#include "vm/native.h"
#include "vm/program.h"
#include "vm/streams.h"

enum { COIR_BULK = 61440, COIR_SEATS = 64 };

/* What a call needs of a function, in 16 bytes. */
struct coir_callee {
    const uint64_t *code;
    uint32_t nregs;
    uint32_t slots;                     /* of the parameters: behind them goes the closure, if it is a closure's body */
};

/* What the other shards are told of this one; each field is atomic, and written here only: see world.h. */
struct coir_seen {
    _Alignas(64) uint64_t rests_at;     /* progress + 1, when nothing more happened by itself; else any other */
    uint64_t live;                      /* fibers, then */
    uint64_t untold;                    /* of them the newest that was not told of a deadlock; 0: none */
    uint64_t top;                       /* the newest to be stopped; 0: none; UINT64_MAX: not known yet */
    uint64_t stops;                     /* the one that is */
    uint64_t sent, got;                 /* letters between the machines */
};

struct coir_world;
struct coir_xchan;

/* What an actor's fiber needs to know of its type. */
struct coir_acted {
    struct coir_site site;              /* what dumps say of it while it waits for messages */
    uint32_t nregs;                     /* that any of its handlers needs */
};

struct coir_vm {
    struct coir_world *world;
    uint32_t shard;                     /* its number, coir_shard_id() there */
    const struct coir_program *program;
    struct coir_heap heap;
    const struct coir_callee *callees;  /* by function */
    uint64_t *code;                     /* of all functions, in their order */
    const struct coir_site **sites;     /* of fibers, by the function they run: what dumps and traces say */
    struct coir_site *own_sites;        /* these, unless a host has others, which outlive the machine */
    struct coir_acted *acted;           /* by type, of actors; NULL: there are none */
    uint32_t mailbox;                   /* messages that one has room for */
    const uint64_t *main_code;          /* calls the init function, then main with r0, at r1 */
    uint64_t *globals;
    uint8_t *global_set;                /* by slot */
    struct coir_kept *kept;             /* the cells of the globals; NULL: none, or there is one shard (globals.c) */
    uint32_t reductions;                /* a slice */
    bool by_switch;                     /* which of the two dispatches */
    bool stopping;                      /* main has returned, or a signal came: who is left is unwound */

    struct coir_fiber *newest;
    uint64_t clock;                     /* the stamp of the newest; or of what is known of other shards */
    struct coir_task *keeper;           /* while it is parked: who looks after the fibers (keeper.c) */
    uint32_t live;                      /* fibers */
    uint32_t asleep;                    /* of them parked where only another fiber can wake them */
    uint64_t progress;                  /* times that a fiber was resumed, and what else has happened. Others read it */
    uint64_t slices;                    /* the time that stops the program; 0: none */
    uint64_t suspected;                 /* that number when the keeper was woken */
    uint64_t main_trap;                 /* what main has ended with, held; 0: by returning */
    int64_t main_result;                /* main's Int */
    bool main_began, main_ended;
    uint64_t out_of_memory;             /* a Trap, made beforehand */
    struct coir_text *trap_names[COIR_TRAP_CODES];
    struct coir_streams *streams;       /* the world's */
    struct coir_lines lines;            /* who waits for them here */
    struct coir_link visitors;          /* what runs here for fibers of other shards */
    struct coir_link seats[COIR_SEATS]; /* those of far.h, by whose they are */
    uint32_t busy;                      /* values that are being made fit to leave: far.h */
    struct coir_link asking;            /* fibers that wait for actors, the oldest wait first: probe.c */
    struct coir_prober *prober;         /* looks at them; NULL: nobody waits */
    uint32_t pauses;                    /* that it has made */
    struct coir_xchan *bell;            /* by which others wake the keeper. NULL: there is one shard */
    struct coir_seen seen;
    _Alignas(64) struct coir_counted *home;     /* atomic: cells of this shard that died on others, which push them */
    struct coir_host *host;             /* what a host's program has of it (embed/); NULL: it runs by itself */
    char *bulk;                         /* COIR_BULK bytes, for what is received at once; NULL: not made yet */
    int argc;                           /* what main is given */
    char *const *argv;
};

/* Makes shard 0's. 0, or -ENOMEM: then it is to be ended all the same. */
int coir_vm_init(struct coir_vm *vm, const struct coir_program *p, size_t limit, uint64_t seed);
/* Makes another's, which has the code, the globals and the constants of the first, and ends before that. */
void coir_vm_init_beside(struct coir_vm *vm, const struct coir_vm *first, uint32_t shard, size_t limit);
void coir_vm_end(struct coir_vm *vm);

/* The function a pc of the running copy lies in; NULL: of none, it is what ends a fiber. */
const struct coir_function *coir_function_at(const struct coir_vm *vm, const uint64_t *pc, uint32_t *at);

/* Where a fiber stands, as a dump says it. */
struct coir_site coir_fiber_site(const struct coir_fiber *f);

/* ---- the interpreter (interp.c) ---- */

enum coir_stop {
    COIR_STOP_SLICE,                    /* the budget is spent; pc is where it has landed */
    COIR_STOP_CALL,                     /* f->call has asked for something that is not yet done: f->asked */
    COIR_STOP_TRAP,                     /* f->trap is set, pc is the instruction */
    COIR_STOP_DONE,                     /* the last return address is reached; r[0]... holds the result */
};

/* Runs the fiber from its pc until one of these. */
enum coir_stop coir_interpret(struct coir_fiber *f);

/* Instructions beyond those of images, which linking puts in: branches back, which cost a reduction, and others. */
#define COIR_BRANCH_OPS(X) \
    X(JMP) X(JT) X(JF) X(JEQ) X(JNE) X(JLT) X(JLE) X(JEQI) X(JNEI) X(JLTI) X(JLEI) X(JGTI) X(JGEI) X(JFEQ) X(JFNE) \
    X(JFLT) X(JFLE) X(JFNLT) X(JFNLE) X(JNULL) X(JNNULL) X(JIS) X(JISNT) X(FORI) X(FORE) X(LNEXTW) X(LNEXT) \
    X(LNEXTL) X(MNEXT) X(MNEXTL)

/* Two instructions in one step. The first has the number of the pair, the second stays as it is: whoever jumps to it
 * finds it. Those that programs have most, one behind the other. */
#define COIR_PAIRS(X) \
    X(LFLDW, LFLDW) X(FSUB, LPUTW) X(FADD, LPUTW) X(FMUL, LFLDW) X(FMUL, FMUL) X(MOVW, FMUL) X(MOVW, LFLDW) \
    X(MOVW, MOVW) X(MOVW, ADDI) X(ADDI, MOVW) X(ADD, ADD) X(ADD, ADDI) X(MUL, ADDI) X(MULI, ADDI) \
    X(ADDI, LGETW) X(MOVW, LGETW) X(LGETW, LGETW) X(LGETW, LSETW) X(LGETW, MOVW) X(LGETW, ADD) X(LSETW, ADDI) \
    X(MODI, ADD) X(MOVW, LEND) X(LEND, MOVW) X(SUB, RETV) X(ADD, RETV)
/* Those whose second works on what the first has made: as its B; FBUS is an FSUB with that as its C. */
#define COIR_CHAINS(X) \
    X(FMUL, FADD) X(FMUL, FSUB) X(FMUL, FBUS) X(FMUL, FMUL) X(FADD, FADD) X(FADD, FMUL) X(FSUB, FADD) X(FSUB, FMUL)
#define COIR_LOADED_CHAINS(X) X(FADD) X(FSUB) X(FBUS) X(FMUL)
/* Three: what `list[i].field += x` and `list[i] += x` are. A list or record that others hold too is left to the three
 * as they stand. */
#define COIR_CHANGES(X) \
    X(LFLDW, FADD) X(LFLDW, FSUB) X(LFLDW, ADD) X(LFLDW, ADDI) X(LGETW, FADD) X(LGETW, FSUB) X(LGETW, ADD) \
    X(LGETW, ADDI)
#define COIR_FORI_PAIRS(X) X(ADD) X(FADD) X(LSETW) X(LPUTW)
#define COIR_CALL_PAIRS(X) X(ADDI) X(MOVW)
/* With a branch, forwards and back. */
#define COIR_BRANCH_PAIRS(X) X(LGETW, JLT) X(LGETW, JLE) X(ADDI, JLT) X(ADDI, JLE) X(FADD, JFLT)

enum coir_linked_op {
    COIR_OP_LINKED_ = COIR_OP_COUNT - 1,
#define COIR_BACK_(name) COIR_OP_BACK_##name,
    COIR_BRANCH_OPS(COIR_BACK_)
#undef COIR_BACK_
#define COIR_PAIR_(first, second) COIR_OP_PAIR_##first##_##second,
    COIR_PAIRS(COIR_PAIR_)
#undef COIR_PAIR_
    COIR_OP_CHANGES_,
#define COIR_PAIR_(first, second) COIR_OP_CHANGE_##first##_##second,
    COIR_CHANGES(COIR_PAIR_)
#undef COIR_PAIR_
    COIR_OP_CHANGES_END_,
    COIR_OP_CHAINS_ = COIR_OP_CHANGES_END_,
#define COIR_PAIR_(first, second) COIR_OP_CHAIN_##first##_##second,
    COIR_CHAINS(COIR_PAIR_)
#undef COIR_PAIR_
#define COIR_PAIR_(second) COIR_OP_CHAIN_LFLDW_##second,
    COIR_LOADED_CHAINS(COIR_PAIR_)
#undef COIR_PAIR_
    COIR_OP_CHAINS_END_,
#define COIR_PAIR_(first) COIR_OP_PAIR_##first##_FORI,
    COIR_FORI_PAIRS(COIR_PAIR_)
#undef COIR_PAIR_
#define COIR_PAIR_(first) COIR_OP_PAIR_##first##_CALL,
    COIR_CALL_PAIRS(COIR_PAIR_)
#undef COIR_PAIR_
#define COIR_PAIR_(first, second) COIR_OP_PAIR_##first##_##second, COIR_OP_PAIR_##first##_BACK_##second,
    COIR_BRANCH_PAIRS(COIR_PAIR_)
#undef COIR_PAIR_
    COIR_OP_PAIR_ADDI_LGETW_BACK_JLT,   /* three: the next element, compared */
    COIR_OP_END,                        /* the fiber's last return address */
    COIR_OP_LINKED_COUNT
};
_Static_assert(COIR_OP_LINKED_COUNT <= 256, "an instruction's number has 8 bits");

/* The lowest return address of every fiber: code[0] stands for the call, code[1] is END. */
extern const uint64_t coir_end_code[2];

/* ---- what the interpreter leaves to others; each is called as a native is, with r the frame's, pc the instruction's
 * and next the one after it, which it may change ---- */

coir_native_fn coir_op_format, coir_op_eqv, coir_op_cmpv, coir_op_spawn, coir_op_gspawn, coir_op_group, coir_op_groom,
    coir_op_gwait, coir_op_within, coir_op_shield, coir_op_yield, coir_op_select, coir_op_trap, coir_op_trapm,
    coir_op_report, coir_op_unpack, coir_op_gfail, coir_op_msg;

/* Whether there is room for a frame of `nregs` registers there, and one return address more. */
static inline bool coir_has_room(const struct coir_fiber *f, const uint64_t *frame, uint32_t nregs,
                                 const uint64_t **fp)
{
#ifdef COIR_TORTURE
    (void)f, (void)frame, (void)nregs, (void)fp;
    return false;                            /* so that the stack moves at every call */
#else
    return (uintptr_t)(frame + nregs) < (uintptr_t)fp
        && (uintptr_t)f->high - (uintptr_t)fp < COIR_FRAMES * sizeof *fp;
#endif
}

/* The stack of a fiber is to have room for `more` registers from f->r on, and one return address more; what lies in it
 * is moved. False: it has trapped, Stack. */
bool coir_stack_grow(struct coir_fiber *f, uint32_t more);

#endif
