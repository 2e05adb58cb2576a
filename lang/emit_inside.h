/* SPDX-License-Identifier: MIT */
/*
 * What the files of the emitter share.
 *
 * Registers are taken as on a stack: `top` is the first that is free. A value is made in registers that were taken for
 * it ("into"), or is found where it stands ("operand"). What a function owns is on a second stack, `held`, beside what
 * must be done on the way out of it: defers, groups. So every way out (the end of a block, break, return) is a walk
 * down that stack, and the ways that traps take are the regions, whose registers from `keep` on the drop maps empty.
 *
 * Three things must hold wherever a value is made:
 *
 *  1. A value of one word is written to its register last, when all operands have been read: so that `x = x + y` may be
 *     made in the register of x. What owns is made elsewhere and takes the old one's place.
 *  2. What is lent is not used after its owner may have changed: who evaluates one thing after another asks
 *     coir_e_changes of what comes later, and copies then.
 *  3. Below a region's `keep` the same registers own at all its instructions that may trap: a value that is made inside
 *     a region is made above, and moved when the region has ended.
 *
 * Running out of memory, or of what the format has room for, leaves the emitter by longjmp, from wherever it is: all it
 * has is in its arena, its arrays and its builder, and coir_emit frees these.
 */
#ifndef COIR_LANG_EMIT_INSIDE_H
#define COIR_LANG_EMIT_INSIDE_H

#include <setjmp.h>

#include "lang/emit.h"
#include "vm/build.h"

/* ---- types ---- */

/* A type of the program without parameters, as the image has it. */
struct coir_e_type {
    coir_ty ty;
    uint32_t index;             /* in the image */
    uint32_t slots;
    bool flat;                  /* no slot is a reference */
    struct coir_e_type *empty;  /* the next of those whose parts the builder was not told yet */
};

/* ---- functions that are still to be made ---- */

enum coir_e_job_kind {
    COIR_JOB_FN,                /* a function of the program, with types for its parameters */
    COIR_JOB_SPAWNED,           /* the same for a fiber: owns all its parameters */
    COIR_JOB_VALUE,             /* the same as a function value's body */
    COIR_JOB_ASK_SPAWNED,       /* sends the message that is `fn`, for a fiber: owns the actor and the parameters */
    COIR_JOB_CALL_SPAWNED,      /* calls a function value, for a fiber: owns it and the parameters; `ty` is its type */
};

struct coir_e_job {
    enum coir_e_job_kind kind;
    coir_x_fn_id fn;
    coir_ty ty;
    const coir_ty *types;
    uint32_t index;             /* the function in the image */
    uint32_t next;              /* of its hash, plus 1 */
};

/* ---- code ---- */

struct coir_e_label {
    uint32_t id;
    bool made, used, placed;
};

struct coir_e_range {
    uint32_t from, to;          /* labels */
    struct coir_e_range *next;
};

/* Instructions whose traps go on at `pad`. While it is left for a way out it is suspended. */
struct coir_e_region {
    enum coir_handler_kind kind;
    struct coir_e_region *outer;
    struct coir_e_region *told;         /* of those that have ended, the one before */
    struct coir_e_range *ranges;
    struct coir_e_label pad;
    uint32_t keep;
    uint32_t from;
    bool open, pending;                 /* it has begun; it begins with the next instruction */
};

enum coir_e_held_kind { COIR_HELD_VALUE, COIR_HELD_DEFER, COIR_HELD_GROUP, COIR_HELD_SCOPE, COIR_HELD_REGION };

struct coir_e_held {
    enum coir_e_held_kind kind;
    uint32_t reg;
    const struct coir_e_type *type;     /* COIR_HELD_VALUE */
    const struct coir_x *defer;
    struct coir_e_region *region;       /* of a defer, group or try */
};

/* Where a local is. `lent`: it owns nothing. */
struct coir_e_local {
    const struct coir_e_type *type;
    uint32_t reg;
    uint32_t watchers;          /* trys and defers that were around it where it was declared */
    bool lent, known;
};

struct coir_e_loop {
    struct coir_e_loop *outer;
    struct coir_e_label *again, *out;
    uint32_t held;              /* what is above is the body's */
};

/* A place whose indexes have been evaluated, in registers. */
struct coir_e_step {
    enum coir_x_step_kind kind;
    uint32_t slot;              /* of a field */
    uint32_t reg;               /* of an index */
    const struct coir_e_type *type;     /* of what stands there */
    const struct coir_e_type *index;    /* of a key */
};

struct coir_e_place {
    coir_x_local_id root;
    uint32_t reg;               /* of the root */
    uint32_t n;
    struct coir_e_step *steps;
    const struct coir_e_type *type;
};

/* Puts back what a call that trapped was working on, and traps on. Made behind the function's code. */
struct coir_e_pad {
    struct coir_e_pad *next;
    struct coir_e_region *region;
    uint32_t nrestores;
    struct coir_e_restore {
        struct coir_e_place place;
        uint32_t reg;
    } *restores;
    uint32_t nactive;
    struct coir_e_region **active;
};

/* A number that an outermost loop uses, in a register all through it. */
struct coir_e_constant {
    int64_t word;
    uint32_t reg;
};

enum { COIR_E_CONSTANTS = 12 };

struct coir_e {
    jmp_buf out;
    int status;
    struct coir_diagnostics *diagnostics;
    const struct coir_typed *program;
    struct coir_ty_table *table;
    struct coir_build *build;
    struct coir_arena arena;
    /* the program's */
    struct coir_e_type **types;         /* by coir_ty */
    uint32_t ntypes;
    struct coir_e_type *empty;
    bool filling;
    struct coir_e_job *jobs;
    uint32_t njobs, jobs_room, done;
    uint32_t *buckets;                  /* of jobs */
    uint32_t nbuckets;
    uint32_t *instances;                /* how many, by function */
    uint32_t *globals;                  /* slot plus 1 of each, by number; 0: nobody reaches it */
    bool any_global;
    /* the function's */
    const struct coir_x_fn *fn;
    const struct coir_x *x;             /* that was begun last, for reports */
    const coir_ty *args;                /* what its type parameters stand for */
    struct coir_e_local *locals;
    uint32_t top, most;
    uint32_t results;                   /* where a result goes: behind the mut parameters */
    struct coir_e_held *held;
    uint32_t nheld, held_room;
    struct coir_e_region *region, *told;
    uint32_t pending;                   /* regions that are */
    uint32_t watchers;
    struct coir_e_loop *loop;
    struct coir_e_constant constants[COIR_E_CONSTANTS];
    uint32_t nconstants;
    struct coir_e_pad *pads;
    bool falls;                         /* what comes next can be reached */
    uint32_t line;
};

/* ---- emit.c: the program, its instances ---- */

/* The function of the image for that of the program, with these types. */
uint32_t coir_e_instance(struct coir_e *e, enum coir_e_job_kind kind, coir_x_fn_id fn, const coir_ty *types,
                         coir_ty ty);
/* The first slot of a global. */
uint32_t coir_e_global(struct coir_e *e, coir_x_global_id global);
/* Leaves the emitter. */
void coir_e_no_memory(struct coir_e *e) __attribute__((noreturn));
void coir_e_too_large(struct coir_e *e, enum coir_code code, const char *what, const char *note)
    __attribute__((noreturn));
/* Zeros that live as long as the emitter. */
void *coir_e_take(struct coir_e *e, size_t size);

/* ---- emit_types.c ---- */

/* With the types of this instance put in. */
coir_ty coir_e_ty(struct coir_e *e, coir_ty ty);
const struct coir_e_type *coir_e_type(struct coir_e *e, coir_ty ty);
static inline const struct coir_e_type *coir_e_type_of(struct coir_e *e, const struct coir_x *x)
{
    return coir_e_type(e, x->type);
}
enum coir_ty_kind coir_e_kind(struct coir_e *e, const struct coir_e_type *t);
struct coir_build_slot coir_e_slot(struct coir_e *e, const struct coir_e_type *t, uint32_t i);
/* T? in one reference, 0 being nil. Else it has a tag, and the rest begins one register behind it. */
bool coir_e_is_bare(struct coir_e *e, const struct coir_e_type *optional);
const struct coir_e_type *coir_e_arg(struct coir_e *e, const struct coir_e_type *t, uint32_t i);
/* The slot of field i of a record, and its type; of value i of a variant's payload; of element i of a tuple. */
const struct coir_e_type *coir_e_field(struct coir_e *e, const struct coir_e_type *record, uint32_t i, uint32_t *slot);
const struct coir_e_type *coir_e_payload(struct coir_e *e, const struct coir_e_type *sum, uint32_t variant, uint32_t i,
                                         uint32_t *slot);
const struct coir_e_type *coir_e_element(struct coir_e *e, const struct coir_e_type *tuple, uint32_t i, uint32_t *slot);
uint32_t coir_e_payload_count(struct coir_e *e, const struct coir_e_type *sum, uint32_t variant);

/* ---- emit_code.c: registers, instructions, ways out ---- */

void coir_e_op(struct coir_e *e, enum coir_op op, uint32_t a, uint32_t b, uint32_t c, uint32_t d);
void coir_e_wide(struct coir_e *e, enum coir_op op, uint32_t a, uint32_t x);
void coir_e_ext(struct coir_e *e, uint32_t a, uint32_t b, uint32_t c, uint32_t d);
void coir_e_load(struct coir_e *e, uint32_t a, int64_t word);
void coir_e_jump(struct coir_e *e, enum coir_op op, uint32_t a, uint32_t b, uint32_t d, struct coir_e_label *to);
void coir_e_arm(struct coir_e *e, enum coir_arm_kind kind, uint32_t reg, uint32_t window, struct coir_e_label *to);
/* Nothing happens to a label that no branch goes to and no flow comes to. */
void coir_e_place(struct coir_e *e, struct coir_e_label *l);
void coir_e_line(struct coir_e *e, uint32_t at);

uint32_t coir_e_alloc(struct coir_e *e, uint32_t n);
/* All registers below `end` are taken. */
static inline void coir_e_take_to(struct coir_e *e, uint32_t end)
{
    if (end > e->top)
        coir_e_alloc(e, end - e->top);
}

/* Values in registers; slots one by one. */
void coir_e_copy_value(struct coir_e *e, const struct coir_e_type *t, uint32_t to, uint32_t from);
void coir_e_move_value(struct coir_e *e, const struct coir_e_type *t, uint32_t to, uint32_t from);
void coir_e_lend_value(struct coir_e *e, const struct coir_e_type *t, uint32_t to, uint32_t from);
void coir_e_drop_value(struct coir_e *e, const struct coir_e_type *t, uint32_t at);
/* `to` owns, or is null, and takes the place of what it had. */
void coir_e_set_value(struct coir_e *e, const struct coir_e_type *t, uint32_t to, uint32_t from);

/* The stack of what is owned. */
void coir_e_hold(struct coir_e *e, const struct coir_e_type *t, uint32_t reg);
void coir_e_hold_that(struct coir_e *e, struct coir_e_held what);
/* The last n are somebody else's now: no code. */
void coir_e_let_go(struct coir_e *e, uint32_t n);
/* Drops all above `held` and forgets it, where the flow goes on; the regions among them have ended. */
void coir_e_drop_to(struct coir_e *e, uint32_t held);
/* Code for a way out past all above `held`, which stay held: jump or return must follow, then coir_e_back. */
void coir_e_leave(struct coir_e *e, uint32_t held);
void coir_e_back(struct coir_e *e, uint32_t held);

struct coir_e_region *coir_e_region_begin(struct coir_e *e, enum coir_handler_kind kind);
void coir_e_region_end(struct coir_e *e, struct coir_e_region *r);
/* Where its traps go on: the registers from keep on are empty but for the Trap, which is in the first and held. False:
 * nothing in it can trap, and there is nothing to make. */
bool coir_e_pad_begin(struct coir_e *e, struct coir_e_region *r);

/* ---- emit_value.c, emit_compose.c, emit_operator.c: what is computed ---- */

/* A value where it stands. `owned`: it is on the stack of what is held, as the last. */
struct coir_e_value {
    const struct coir_e_type *type;
    uint32_t reg;
    bool owned;
};

/* Makes the value of x in registers that were taken and own nothing, at `to`. It is owned there, and not held. */
void coir_e_into(struct coir_e *e, const struct coir_x *x, uint32_t to);
/* The same for what is put together of other values. */
void coir_e_compose(struct coir_e *e, const struct coir_x *x, uint32_t to);
/* Makes it in new registers. */
uint32_t coir_e_fresh(struct coir_e *e, const struct coir_x *x);
/* For what it does. What a let or a defer leaves, stays. */
void coir_e_effect(struct coir_e *e, const struct coir_x *x);
void coir_e_statement(struct coir_e *e, const struct coir_x *x);
/* A number, not of an operator: its word. */
bool coir_e_number(const struct coir_x *x, int64_t *word);
/* Finds it to be read. `safe`: nothing is evaluated before it is read that could change a local it is lent from. */
struct coir_e_value coir_e_operand(struct coir_e *e, const struct coir_x *x, bool safe);
/* Slots of a record's field, at `to`: copied, or lent. `to` may be the record's own register if it is one word. */
void coir_e_read_field(struct coir_e *e, const struct coir_e_type *record, uint32_t at, uint32_t field, uint32_t to,
                       bool copy);
/* Done with it; if it was owned it is dropped. The registers from `top` on are free again. */
void coir_e_done(struct coir_e *e, struct coir_e_value v, uint32_t top);
/* Lends the value of x at `to`, without a copy and owning nothing: x is coir_e_lendable. */
bool coir_e_lendable(struct coir_e *e, const struct coir_x *x);
void coir_e_lend(struct coir_e *e, const struct coir_x *x, uint32_t to);
/* Whether evaluating x may change the local that `of` is lent from; x may be NULL. */
bool coir_e_changes(const struct coir_x *x, const struct coir_x *of);
bool coir_e_changes_local(const struct coir_x *x, coir_x_local_id local);
bool coir_e_mentions(const struct coir_x *x, coir_x_local_id local);
/* The numbers in x that no instruction holds in itself, into e->constants. */
void coir_e_collect(struct coir_e *e, const struct coir_x *x);
/* Whether x is short enough to be made twice, and calls nothing. */
bool coir_e_is_short(const struct coir_x *x);
/* The local that x is lent from, or UINT32_MAX. */
coir_x_local_id coir_e_root(const struct coir_x *x);

void coir_e_nil(struct coir_e *e, const struct coir_e_type *optional, uint32_t to);
/* What is inside an optional that is not nil, at `from`, at `to`: moved, or lent. */
void coir_e_inside(struct coir_e *e, const struct coir_e_type *optional, uint32_t from, uint32_t to, bool move);
void coir_e_jump_nil(struct coir_e *e, const struct coir_e_type *optional, uint32_t at, bool nil,
                     struct coir_e_label *to);

void coir_e_arith(struct coir_e *e, const struct coir_x *x, uint32_t to);
/* to = a op b, of the type. Texts and lists are borrowed and give an owned one. */
void coir_e_step(struct coir_e *e, enum coir_x_op op, const struct coir_e_type *t, const struct coir_e_type *of,
                 uint32_t to, uint32_t a, uint32_t b);
void coir_e_compare(struct coir_e *e, const struct coir_x *x, uint32_t to);
/* Goes to the label if x is `when`. */
void coir_e_condition(struct coir_e *e, const struct coir_x *x, bool when, struct coir_e_label *to);
void coir_e_bool(struct coir_e *e, const struct coir_x *x, uint32_t to);
void coir_e_else(struct coir_e *e, const struct coir_x *x, uint32_t to);
void coir_e_raise(struct coir_e *e, const struct coir_x *x);
void coir_e_assert(struct coir_e *e, const struct coir_x *x);
/* Appends items to the Text in a register. */
void coir_e_format(struct coir_e *e, const struct coir_x *x, uint32_t text);

/* ---- emit_place.c ---- */

/* Evaluates the indexes, in new registers, or in those from *at on, which goes past them; what is owned is held.
 * Without `at` a word may be left where it stands, since only `later` is evaluated before the place is used. */
struct coir_e_place coir_e_place_of(struct coir_e *e, const struct coir_x_place *p, uint32_t *at,
                                    const struct coir_x *later);
/* The walk to it: `to` is the place. */
void coir_e_walk(struct coir_e *e, const struct coir_e_place *p, uint32_t to);
void coir_e_assign(struct coir_e *e, const struct coir_x *x);
/* Takes what stands in the place to registers, and back: the place is a hole meanwhile. */
void coir_e_take_out(struct coir_e *e, const struct coir_e_place *p, uint32_t to);
void coir_e_put_back(struct coir_e *e, const struct coir_e_place *p, uint32_t from);
/* Whether somebody would see the hole after a trap. */
bool coir_e_is_watched(struct coir_e *e, const struct coir_e_place *p);
/* The code from begin to end works on what was taken out of n places to `regs`; keep: the registers below. */
struct coir_e_pad *coir_e_taken_begin(struct coir_e *e, uint32_t n, const struct coir_e_place *places,
                                      const uint32_t *regs, uint32_t keep);
void coir_e_taken_end(struct coir_e *e, struct coir_e_pad *pad);
void coir_e_make_pads(struct coir_e *e);

/* ---- emit_call.c, emit_native.c, emit_spawn.c, emit_actor.c ---- */

/* What can be called, and how its window looks. */
struct coir_e_callee {
    enum { COIR_CALLS_FN, COIR_CALLS_NATIVE, COIR_CALLS_VALUE, COIR_CALLS_MESSAGE } kind;
    uint32_t index;                     /* function, import, the register of the value, the message's number */
    const struct coir_e_type *actor;    /* COIR_CALLS_MESSAGE; */
    bool waits;                         /* for the reply */
    uint32_t n;
    const struct coir_e_type **params;
    enum coir_ty_mode *modes;
    uint32_t *at;                       /* where each stands in the window */
    const struct coir_e_type *result;
    uint32_t muts;                      /* slots of mut parameters */
    uint32_t slots;                     /* of all */
    uint32_t window;                    /* registers that it needs */
};

void coir_e_layout(struct coir_e *e, struct coir_e_callee *c, bool owns);
struct coir_e_callee coir_e_callee(struct coir_e *e, coir_x_fn_id fn, const coir_ty *types);
/* The same without an index: nobody calls it yet, so it may never be made. */
struct coir_e_callee coir_e_callee_shape(struct coir_e *e, coir_x_fn_id fn, const coir_ty *types);
struct coir_e_callee coir_e_callee_value(struct coir_e *e, coir_ty ty, uint32_t reg);
/* The message whose handler is `fn`: its parameters are the actor and what the handler owns. */
struct coir_e_callee coir_e_callee_message(struct coir_e *e, coir_x_fn_id fn, bool waits);
/* Room for n parameters. */
void coir_e_callee_room(struct coir_e *e, struct coir_e_callee *c, uint32_t n);
/* The parameters as the builder wants them: mut ones first. */
struct coir_build_param *coir_e_build_params(struct coir_e *e, const struct coir_e_callee *c, bool own);
/* Whether an argument is a move: it is made when all others have been evaluated. */
bool coir_e_moves(const struct coir_x *x);
void coir_e_enter(struct coir_e *e, const struct coir_e_callee *c, uint32_t window);
/* A call; `to` UINT32_MAX: the result stays where it comes, the value says where. */
struct coir_e_value coir_e_call(struct coir_e *e, const struct coir_x *x, uint32_t to);
/* The types that a call is made with, in this instance. */
const coir_ty *coir_e_types(struct coir_e *e, const struct coir_x_call *call);
/* Natives that are an instruction: false if this one is none. */
bool coir_e_intrinsic(struct coir_e *e, const struct coir_x *x, uint32_t to, struct coir_e_value *v);
/* A native of the library by name, for what the language does with it: window at `window`. */
void coir_e_native(struct coir_e *e, const char *name, uint32_t n, const struct coir_e_type *const *params,
                   const enum coir_ty_mode *modes, const struct coir_e_type *result, uint32_t window);
void coir_e_closure(struct coir_e *e, const struct coir_x *x, uint32_t to);
void coir_e_function_value(struct coir_e *e, const struct coir_x *x, uint32_t to);
void coir_e_spawn(struct coir_e *e, const struct coir_x *x, uint32_t to);
void coir_e_spawn_actor(struct coir_e *e, const struct coir_x *x, uint32_t to);
void coir_e_monitor(struct coir_e *e, const struct coir_x *x, uint32_t to);
/* Bodies that only call: of fibers, of function values. */
void coir_e_make_spawned(struct coir_e *e, const struct coir_e_job *job);
void coir_e_make_value_body(struct coir_e *e, const struct coir_e_job *job);

/* ---- emit_match.c ---- */

/* Goes to `no` unless the value at reg fits. It stays as it is. */
void coir_e_test(struct coir_e *e, const struct coir_x_pattern *p, uint32_t reg, struct coir_e_label *no);
/* Gives the names what they stand for: lent from reg, or taken from it, and then what no name gets is dropped, and the
 * names are held. */
void coir_e_bind(struct coir_e *e, const struct coir_x_pattern *p, uint32_t reg, bool take);
void coir_e_match(struct coir_e *e, const struct coir_x *x, uint32_t to);

/* ---- emit_flow.c: blocks, branches, loops, ways out ---- */

void coir_e_block(struct coir_e *e, const struct coir_x *x, uint32_t to);
void coir_e_if(struct coir_e *e, const struct coir_x *x, uint32_t to);
void coir_e_while(struct coir_e *e, const struct coir_x *x);
void coir_e_loop(struct coir_e *e, const struct coir_x *x);
void coir_e_each(struct coir_e *e, const struct coir_x *x);
void coir_e_break(struct coir_e *e, bool again);
void coir_e_return(struct coir_e *e, const struct coir_x *x);
void coir_e_let(struct coir_e *e, const struct coir_x *x);
struct coir_e_local *coir_e_local(struct coir_e *e, coir_x_local_id id, uint32_t reg, bool lent);
/* An optional whose inside is wanted while `body` runs: lent, if it is a local's that stays as it is; else owned. */
struct coir_e_value coir_e_operand_or_take(struct coir_e *e, const struct coir_x *x, const struct coir_x *body);
void coir_e_give(struct coir_e *e, uint32_t reg);

/* ---- emit_scope.c: what stands around code ---- */

void coir_e_try(struct coir_e *e, const struct coir_x *x, uint32_t to);
void coir_e_defer(struct coir_e *e, const struct coir_x *x);
/* The code of a defer, where the flow goes on behind it. */
void coir_e_deferred(struct coir_e *e, const struct coir_x *body);
/* The pad of a defer whose block has ended. */
void coir_e_defer_pad(struct coir_e *e, const struct coir_e_held *h);
void coir_e_group(struct coir_e *e, const struct coir_x *x, uint32_t to);
void coir_e_within(struct coir_e *e, const struct coir_x *x, uint32_t to);
void coir_e_select(struct coir_e *e, const struct coir_x *x, uint32_t to);

#endif
