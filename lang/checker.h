/* SPDX-License-Identifier: MIT */
/*
 * The inside of the checker: one struct that all its files work on. Trees go in, struct coir_typed comes out (typed.h).
 *
 *   names.c             words as numbers; the scopes of a body; what a module declares
 *   declare.c           items, records, sums, signatures; fixed before any body is looked at
 *   declare_actor.c     the same of actors: their state, messages, private functions
 *   constants.c         the `let`s of modules, in the order in which they need each other
 *   check_types.c       types as they are written
 *   check_expr.c …      bodies: one function a kind of node, each gives a struct coir_x
 *   check_actors.c      what an actor's functions see of it, and what is done with one from outside
 *   infer.c             the type arguments of a call
 *   check_patterns.c    patterns; match.c: whether they leave something out
 *   own.c, own_flow.c   over finished bodies: what is used after it has moved
 *
 * Rules for all of them. Who finds an error reports it where it is and gives a coir_x of type COIR_TY_ERROR; whoever
 * meets that type is silent. Everything is allocated in two arenas; running out of memory, or of the room for types,
 * leaves by longjmp to coir_check, so nobody looks for NULL, and nobody holds what is not in an arena. Recursion goes
 * along the tree, whose height is bounded, and nowhere else.
 */
#ifndef COIR_LANG_CHECKER_H
#define COIR_LANG_CHECKER_H

#include <setjmp.h>

#include "lang/check.h"

#define COIR_NOTHING_WANTED UINT32_MAX  /* as a wanted type: the value will be dropped */
#define COIR_NONE UINT32_MAX

/* A word as a number, from 0: two are the same if their numbers are. */
typedef uint32_t coir_symbol;

struct coir_symbol_info {
    const char *text;           /* with a NUL behind it */
    uint32_t size, hash;
    uint32_t bound;             /* the innermost binding of it, plus 1; 0: none */
};

/* (owner, symbol) to a number. Owners are modules, declarations, kinds of built-in types: coir_owner_… */
struct coir_lookup {
    struct coir_lookup_entry {
        uint32_t owner, symbol, value;
    } *list;
    uint32_t count, room;
};

enum coir_item_kind {
    COIR_ITEM_FN,               /* index: its coir_x_fn_id */
    COIR_ITEM_TYPE,             /* index: the number of its declaration */
    COIR_ITEM_VARIANT,          /* index: the number of its sum; variant */
    COIR_ITEM_GLOBAL,           /* index: into checker.lets */
    COIR_ITEM_MODULE,           /* `use`: index: a module's number */
    COIR_ITEM_LATER,            /* a table, a shared type: said once, silent from there on */
};

struct coir_item {
    enum coir_item_kind kind;
    uint32_t module, index, variant;
    coir_symbol name;
    bool pub, used;
    uint32_t at, end;           /* of its name */
};

/* A `let` of a module. */
struct coir_let_item {
    uint32_t module;
    coir_ast node, bind;        /* the LET, and in its pattern the name */
    uint32_t state;             /* of the walk that orders them */
    coir_x_global_id global;    /* COIR_NONE until it is checked */
    struct coir_x_global made;
};

/* A function that has been declared, and where its body is. */
struct coir_fn_item {
    struct coir_x_fn *fn;
    uint32_t module;
    coir_ast node;              /* FN, HANDLER, TEST, or the expression of a default */
    bool used;                  /* a private function of an actor: it is called */
    struct coir_ty_param *types;        /* fn->types, to be changed */
};

/* One name in a scope of a body. */
struct coir_binding {
    coir_symbol name;
    coir_x_local_id local;
    struct coir_body *body;     /* whose local it is */
    uint32_t hidden;            /* the binding that this one hides, plus 1 */
    uint32_t scope;             /* the depth of its scope */
};

/* A function while its body is checked. */
struct coir_body {
    struct coir_body *outer;    /* of a closure: what it stands in */
    struct coir_x_fn *fn;
    coir_x_fn_id id;
    struct coir_x_local *locals;
    uint32_t *uses;             /* of each local: how often it is named */
    uint32_t nlocals, locals_room;
    struct coir_x_capture *captures;
    uint32_t ncaptures, captures_room;
    coir_ty result;             /* COIR_TY_HOLE: a closure's, not known yet */
    uint32_t loops;             /* around where we are, up to the innermost `defer` */
    uint32_t defers;
    bool broken;                /* there is a `break` out of the loop around us */
    uint32_t errors;            /* that there were when it began */
    bool constant;              /* only what a constant may be made of */
};

/* An instance of a generic function that was asked for, to be looked at when all bodies are known: does it compare? */
struct coir_use {
    coir_x_fn_id fn;
    const coir_ty *types;
    const struct coir_fn_item *from;    /* the function that asks, whose parameters may be in `types` */
    const struct coir_source *source;
    uint32_t at, end;
};

struct coir_checker {
    jmp_buf out;
    struct coir_budget *memory;
    struct coir_diagnostics *d;
    struct coir_typed *typed;
    struct coir_ty_table *types;
    struct coir_arena scratch;          /* until coir_check returns */
    const struct coir_module *modules;
    uint32_t nmodules;

    struct coir_symbol_info *symbols;
    uint32_t nsymbols, symbols_room, *symbol_buckets, nbuckets;
    struct coir_lookup lookup;
    struct coir_item *items;
    uint32_t nitems, items_room;
    struct coir_let_item *lets;
    uint32_t nlets, lets_room;
    struct coir_fn_item *fns;
    uint32_t nfns, fns_room;
    struct coir_use *uses;
    uint32_t nuses, uses_room;

    struct coir_binding *bindings;
    uint32_t nbindings, bindings_room;
    uint32_t scope;                     /* depth */
    struct coir_body *body;             /* NULL: in no body */
    const struct coir_module *module;   /* whose text we are in */
    const struct coir_fn_item *item;    /* the declared function around us */
    const struct coir_ty_param *params; /* the type parameters that can be seen, ntypes of them */
    uint32_t ntypes;

    coir_symbol self, print_, eprint_, main_, monitor_;
    char texts[4][160];                 /* coir_type_text */
    uint32_t text;
    bool failed;                        /* an error node was made: something was reported */
    struct coir_rebinding *rebinding;   /* check_patterns.c */
    struct coir_arena match;            /* match.c: while one match is looked at */
    uint32_t steps, cells, match_depth;
};

/* ---- check.c: memory and reports ---- */

/* Zeroed; of the program, or until the check has ended. They come back only with what was asked for. */
void *coir_take(struct coir_checker *c, size_t size);
void *coir_take_scratch(struct coir_checker *c, size_t size);
/* Room for one more in an array of the scratch arena: its new address. */
void *coir_more(struct coir_checker *c, void *list, uint32_t *room, uint32_t count, size_t item);
/* Leaves the check: there is no memory. */
_Noreturn void coir_check_leave(struct coir_checker *c);

/* Reports at a node: at all of it, or at its main token. */
__attribute__((format(printf, 4, 5)))
void coir_say(struct coir_checker *c, enum coir_code code, coir_ast n, const char *format, ...);
__attribute__((format(printf, 4, 5)))
void coir_say_main(struct coir_checker *c, enum coir_code code, coir_ast n, const char *format, ...);
__attribute__((format(printf, 5, 6)))
void coir_say_at(struct coir_checker *c, enum coir_code code, uint32_t at, uint32_t end, const char *format, ...);
#define coir_note(c, ...) coir_diagnose_note((c)->d, __VA_ARGS__)

/* As it is written here. Four of them at a time. */
const char *coir_type_text(struct coir_checker *c, coir_ty ty);
/* What was asked of the table of types, which is never COIR_TY_ERROR without a report: at [at, end). */
coir_ty coir_made(struct coir_checker *c, coir_ty ty, uint32_t at, uint32_t end);

/* What a part of the declared type `of` is, which in its declaration is `declared`. Reported at n when too large. */
coir_ty coir_part_type(struct coir_checker *c, coir_ast n, coir_ty of, coir_ty declared);

static inline const struct coir_tree *coir_tree_of(const struct coir_checker *c)
{
    return c->module->tree;
}
static inline const struct coir_ty_info *coir_info(const struct coir_checker *c, coir_ty ty)
{
    return coir_ty_get(c->types, ty);
}
static inline enum coir_ty_kind coir_kind(const struct coir_checker *c, coir_ty ty)
{
    return coir_ty_kind(c->types, ty);
}

/* ---- names.c ---- */

coir_symbol coir_symbol_of(struct coir_checker *c, const char *text, uint32_t size);
coir_symbol coir_symbol_at(struct coir_checker *c, coir_ast n);         /* its main token */
static inline const char *coir_symbol_text(const struct coir_checker *c, coir_symbol s)
{
    return c->symbols[s].text;
}

enum { COIR_OWNERS = 1u << 28 };
static inline uint32_t coir_owner_module(uint32_t module) { return module; }
static inline uint32_t coir_owner_decl(uint32_t decl) { return COIR_OWNERS + decl; }
static inline uint32_t coir_owner_all(void) { return 3 * COIR_OWNERS; }      /* types that need no `use` */
static inline uint32_t coir_owner_kind(enum coir_ty_kind kind) { return 2 * COIR_OWNERS + kind; }
void coir_lookup_put(struct coir_checker *c, uint32_t owner, coir_symbol s, uint32_t value);
uint32_t coir_lookup_get(const struct coir_checker *c, uint32_t owner, coir_symbol s);     /* COIR_NONE */

/* The item `s` of the module we are in, or one that needs no `use`; of `module`; NULL. It counts as used. */
struct coir_item *coir_item_here(struct coir_checker *c, coir_symbol s);
struct coir_item *coir_item_of(struct coir_checker *c, uint32_t module, coir_symbol s);
/* The module that the expression `n` names: COIR_NONE if it is none. */
uint32_t coir_module_named(struct coir_checker *c, coir_ast n);
/* A name that is like `s` and known where we are: as a note to the last report. False: there is none. */
bool coir_suggest(struct coir_checker *c, coir_symbol s, uint32_t owner);

void coir_scope_open(struct coir_checker *c);
void coir_scope_close(struct coir_checker *c);
coir_x_local_id coir_local_new(struct coir_checker *c, const char *name, coir_ty type, enum coir_x_local_kind kind,
                               uint32_t at, uint32_t end);
/* A local by the main token of `n`, named from here to the end of the scope; reports one that is there already. */
coir_x_local_id coir_bind_new(struct coir_checker *c, coir_ast n, coir_ty type, enum coir_x_local_kind kind);
void coir_bind_local(struct coir_checker *c, coir_symbol s, coir_x_local_id local);
/* The local of this body that `s` names, captured if need be; COIR_NONE. */
coir_x_local_id coir_local_named(struct coir_checker *c, coir_symbol s, coir_ast n);
bool coir_is_bound(const struct coir_checker *c, coir_symbol s);
/* Field `field` of the state around the closure that we are in, captured. */
coir_x_local_id coir_field_captured(struct coir_checker *c, uint32_t field, coir_ast n);

/* ---- declare.c, declare_actor.c, constants.c ---- */

void coir_declare_all(struct coir_checker *c);
void coir_order_constants(struct coir_checker *c);
coir_x_fn_id coir_fn_new(struct coir_checker *c, struct coir_x_fn fn, uint32_t module, coir_ast node);
void coir_item_new(struct coir_checker *c, coir_ast n, struct coir_item item);
struct coir_ty_decl *coir_decl_new(struct coir_checker *c, coir_ast n, enum coir_ty_decl_kind kind);
/* The name of `n` stood at [at, end) already. */
void coir_say_twice(struct coir_checker *c, coir_ast n, const char *name, uint32_t at, uint32_t end);
/* "a.b", where the dot is `dot`. */
const char *coir_words(struct coir_checker *c, const char *a, const char *dot, const char *b);
/* A member of d by the name of n: `value` is what coir_lookup_get will give, twice the field, or the function, plus 1.
 */
void coir_member_new(struct coir_checker *c, const struct coir_ty_decl *d, coir_ast n, uint32_t value);
/* A function of a module; with d, a method, or a private function of the actor whose state d is. */
coir_x_fn_id coir_declare_fn(struct coir_checker *c, coir_ast n, struct coir_ty_decl *d);

void coir_declare_actor(struct coir_checker *c, coir_ast n);
void coir_declare_messages(struct coir_checker *c, struct coir_ty_decl *actor);
/* Puts the state of an actor, and its handle, before the parameters of fn. */
void coir_actor_params(struct coir_checker *c, struct coir_x_fn *fn, struct coir_ty_decl *state);

/* Looks at everything from inside a module, and with the type parameters of a function. */
void coir_enter(struct coir_checker *c, uint32_t module, const struct coir_ty_param *params, uint32_t ntypes);
/* The parameters of a function or closure as they are written. Types of those that have none: of `self` self, of others
 * those of the function type `want`, if it is one. */
void coir_check_params(struct coir_checker *c, struct coir_x_fn *fn, coir_ast params, coir_ty self, coir_ty want);

/* ---- check_types.c ---- */

coir_ty coir_check_type(struct coir_checker *c, coir_ast n);
bool coir_is_builtin_type(struct coir_checker *c, coir_symbol s);
/* A type parameter is given `ty`: reports what it cannot stand for. */
bool coir_check_bound(struct coir_checker *c, const struct coir_ty_param *p, coir_ty ty, uint32_t at, uint32_t end);

/* ---- check_body.c ---- */

void coir_check_bodies(struct coir_checker *c);
void coir_check_constant(struct coir_checker *c, struct coir_let_item *l);
/* What is common to functions and closures: `body` is begun, and its parameters are bound; a new innermost body. */
void coir_body_open(struct coir_checker *c, struct coir_body *b, struct coir_x_fn *fn, coir_x_fn_id id);
void coir_body_close(struct coir_checker *c);
struct coir_x *coir_check_closure(struct coir_checker *c, coir_ast n, coir_ty want);

/* ---- check_expr.c: expressions ---- */

/* An expression, lent: `want` is what would be liked: 0, a type, which may have holes, or COIR_NOTHING_WANTED. */
struct coir_x *coir_check_expr(struct coir_checker *c, coir_ast n, coir_ty want);
/* The same, which has the type `want` afterwards. */
struct coir_x *coir_check_as(struct coir_checker *c, coir_ast n, coir_ty want);
/* The same, and who asks keeps it: a resource moves. want 0: any type that is known. */
struct coir_x *coir_check_own(struct coir_checker *c, coir_ast n, coir_ty want);
struct coir_x *coir_fit(struct coir_checker *c, struct coir_x *x, coir_ty want);
bool coir_fits(struct coir_checker *c, coir_ty from, coir_ty want);
struct coir_x *coir_keep(struct coir_checker *c, struct coir_x *x);

struct coir_x *coir_x_new(struct coir_checker *c, coir_ast n, enum coir_x_kind kind, coir_ty type);
struct coir_x *coir_x_error(struct coir_checker *c, coir_ast n);
static inline bool coir_is_error(const struct coir_x *x)
{
    return x->type == COIR_TY_ERROR;
}
/* What is inside of T?, as often as it is one; the rest of a wanted type for what makes a value. */
coir_ty coir_peel(const struct coir_checker *c, coir_ty ty);
bool coir_is_resource(struct coir_checker *c, coir_ty ty);

/* What `n` names in a module by its main token: NULL after a report. */
const struct coir_item *coir_module_item(struct coir_checker *c, coir_ast n, uint32_t module);
struct coir_x *coir_check_name(struct coir_checker *c, coir_ast n, coir_ty want);
struct coir_x *coir_check_member(struct coir_checker *c, coir_ast n, coir_ty want);
struct coir_x *coir_check_index(struct coir_checker *c, coir_ast n);
struct coir_x *coir_check_record(struct coir_checker *c, coir_ast n, coir_ty want);
/* The same, of the actor that is spawned: its state. */
struct coir_x *coir_check_state(struct coir_checker *c, coir_ast n);
struct coir_x *coir_check_list(struct coir_checker *c, coir_ast n, coir_ty want);
struct coir_x *coir_check_map(struct coir_checker *c, coir_ast n, coir_ty want);
struct coir_x *coir_check_tuple(struct coir_checker *c, coir_ast n, coir_ty want);
struct coir_x *coir_check_variant(struct coir_checker *c, coir_ast n, const struct coir_item *item,
                                  struct coir_ast_list args, bool called, coir_ty want);

struct coir_x *coir_check_unary(struct coir_checker *c, coir_ast n);
struct coir_x *coir_check_binary(struct coir_checker *c, coir_ast n, coir_ty want);
/* a op b: the type of the result, reported at the operator node. */
coir_ty coir_check_arith(struct coir_checker *c, coir_ast at, enum coir_x_op op, coir_ty a, coir_ty b);
enum coir_x_op coir_op_of(enum coir_token_kind token);

/* ---- check_calls.c, infer.c ---- */

/* There is no member of the name of `n` in `ty`: reports it. */
struct coir_x *coir_say_no_member(struct coir_checker *c, coir_ast n, coir_ty ty);
/* An instance that is asked for, to be looked at in the end. */
void coir_use_new(struct coir_checker *c, coir_ast n, const struct coir_x_call *call);
struct coir_x *coir_check_call(struct coir_checker *c, coir_ast n, coir_ty want);
struct coir_x *coir_check_method(struct coir_checker *c, coir_ast n, coir_ty want);
struct coir_x *coir_check_chan(struct coir_checker *c, coir_ast n);

/* Checks what nothing is known of, for what may be wrong in it. */
struct coir_x *coir_give_up(struct coir_checker *c, coir_ast n, struct coir_ast_list args);
/* Something in its signature is wrong, which was reported where it stands. */
bool coir_is_bad_fn(struct coir_checker *c, const struct coir_x_fn *fn);

/* One of the values that something generic is given. */
struct coir_operand {
    coir_ast node;
    coir_ty pattern;            /* what it is declared as, with the parameters of what is generic */
    enum coir_ty_mode mode;
    struct coir_x *x;           /* what it is; already there if it has been checked */
};

/* What is known of the parameters of something generic while it is used: HOLE, or a type. */
struct coir_inference {
    uint32_t n;
    const struct coir_ty_param *params;
    coir_ty *found;
};
void coir_infer_begin(struct coir_checker *c, struct coir_inference *f, uint32_t n, const struct coir_ty_param *params);
coir_ty coir_infer_apply(struct coir_checker *c, const struct coir_inference *f, coir_ty ty, coir_ast at);
/* `actual` stands where `pattern` is declared: learns from it. False: they are not of one form. */
bool coir_infer_match(struct coir_checker *c, struct coir_inference *f, coir_ty pattern, coir_ty actual);
/* All must be known, and allowed. Reports at `n`, of `what`. */
bool coir_infer_end(struct coir_checker *c, struct coir_inference *f, coir_ast n, const char *what);
/* Checks the operands, and learns from them, and where they say nothing from `want`, which is wanted of a `result`.
 * False after a report. All x are there in any case, as their patterns say; those of mode OWN are kept. */
bool coir_infer_operands(struct coir_checker *c, struct coir_inference *f, struct coir_operand *list, uint32_t n,
                         coir_ty result, coir_ty want, coir_ast at, const char *what);
/* An expression that has no type by itself: [], nil, x => …: it waits for the others. */
bool coir_is_shy(struct coir_checker *c, coir_ast n);

/* A call while its arguments are checked. */
struct coir_call {
    const char *name;
    uint32_t nparams;           /* those of `given` counted */
    struct coir_operand *operands;
    struct coir_x *given[2];    /* what is not written in parentheses: a receiver; an actor's state and handle */
    uint32_t ngiven;
    struct coir_inference f;
    coir_ty result;
    uint32_t said_at, said_end; /* where the function is declared, for who gave too many */
    const struct coir_source *said_in;
};

/* What is called is a function: its name, its parameters from `from` on, and its result. */
void coir_call_begin(struct coir_checker *c, struct coir_call *call, coir_x_fn_id fn, uint32_t from);
/* The arguments of `call`, in the order of the parameters. NULL after a report. */
const struct coir_x_arg *coir_call_arguments(struct coir_checker *c, coir_ast n, struct coir_call *call,
                                             struct coir_ast_list list, coir_ty want);
/* The call of a function: call->given and ngiven are set. */
struct coir_x *coir_call_fn(struct coir_checker *c, coir_ast n, coir_x_fn_id id, struct coir_call *call,
                            struct coir_ast_list list, coir_ty want);

/* ---- check_actors.c ---- */

/* The actor in whose handler or function we are, closures in it included; NULL. */
struct coir_ty_decl *coir_actor_around(const struct coir_checker *c);
/* What `s` is of its state, twice the field, or the function, plus 1: COIR_NONE. Locals hide it. */
uint32_t coir_actor_member(const struct coir_checker *c, coir_symbol s);
/* Whether x is the state itself, as a local. */
bool coir_is_state(const struct coir_checker *c, coir_x_local_id local);
struct coir_x *coir_check_actor_name(struct coir_checker *c, coir_ast n, uint32_t member);
struct coir_x *coir_check_actor_call(struct coir_checker *c, coir_ast n, coir_x_fn_id fn, struct coir_ast_list list,
                                     coir_ty want);
/* m.read(…), where `of` is m; m.read without a call; m.send add(…). */
struct coir_x *coir_check_ask(struct coir_checker *c, coir_ast n, struct coir_x *of, struct coir_ast_list list);
struct coir_x *coir_check_actor_part(struct coir_checker *c, coir_ast n, coir_ty ty);
struct coir_x *coir_check_tell(struct coir_checker *c, coir_ast n);
struct coir_x *coir_check_spawn_actor(struct coir_checker *c, coir_ast n);
struct coir_x *coir_check_monitor(struct coir_checker *c, coir_ast n, struct coir_ast_list list);

/* ---- places.c ---- */

/* What was read as an expression, as a place that is changed; NULL after a report. `verb`: "assigned", "changed". */
struct coir_x_place *coir_check_place(struct coir_checker *c, const struct coir_x *x, const char *verb);
struct coir_x *coir_check_assign(struct coir_checker *c, coir_ast n);

/* ---- check_statements.c, check_control.c, check_fibers.c ---- */

struct coir_x *coir_check_block(struct coir_checker *c, coir_ast n, coir_ty want);
/* A statement, or an expression whose value is wanted: the body of an arm. */
struct coir_x *coir_check_arm(struct coir_checker *c, coir_ast n, coir_ty want);
struct coir_x *coir_check_let(struct coir_checker *c, coir_ast n);
struct coir_x *coir_check_assert(struct coir_checker *c, coir_ast n);
struct coir_x *coir_check_return(struct coir_checker *c, coir_ast n);
struct coir_x *coir_check_leave_loop(struct coir_checker *c, coir_ast n);
struct coir_x *coir_check_trap(struct coir_checker *c, coir_ast n);
struct coir_x *coir_check_while(struct coir_checker *c, coir_ast n);
struct coir_x *coir_check_loop(struct coir_checker *c, coir_ast n);
struct coir_x *coir_check_for(struct coir_checker *c, coir_ast n);
struct coir_x *coir_check_if(struct coir_checker *c, coir_ast n, coir_ty want);
struct coir_x *coir_check_match(struct coir_checker *c, coir_ast n, coir_ty want);
struct coir_x *coir_check_try(struct coir_checker *c, coir_ast n, coir_ty want);
struct coir_x *coir_check_defer(struct coir_checker *c, coir_ast n);
struct coir_x *coir_check_within(struct coir_checker *c, coir_ast n, coir_ty want);
struct coir_x *coir_check_group(struct coir_checker *c, coir_ast n, coir_ty want);
struct coir_x *coir_check_spawn(struct coir_checker *c, coir_ast n);
struct coir_x *coir_check_select(struct coir_checker *c, coir_ast n);

/* The head of `if` and `while`; its names are bound in the scope that is open. */
void coir_check_test(struct coir_checker *c, coir_ast n, struct coir_x_test *to);
/* Reads from where somebody owns it: a name, a field, an element. */
static inline bool coir_is_place(const struct coir_x *x)
{
    return x->kind == COIR_X_LOCAL || x->kind == COIR_X_FIELD || x->kind == COIR_X_INDEX;
}

/* Several ways to one value: what their types come to. Begins with the wanted type. */
struct coir_merge {
    coir_ty want, type;         /* type: NEVER until one ends */
    bool wanted, decided;       /* what is wanted has no holes */
};
void coir_merge_begin(struct coir_checker *c, struct coir_merge *m, coir_ty want);
coir_ty coir_merge_want(const struct coir_merge *m);
struct coir_x *coir_merge(struct coir_checker *c, struct coir_merge *m, struct coir_x *x);

/* ---- check_patterns.c, match.c ---- */

/* A pattern that fits every `ty`; binds its names. */
const struct coir_x_pattern *coir_check_binding(struct coir_checker *c, coir_ast n, coir_ty ty, bool lent,
                                                enum coir_x_local_kind kind);
/* An arm's pattern. `nils`: how many `nil` arms stand above it. */
const struct coir_x_pattern *coir_check_pattern(struct coir_checker *c, coir_ast n, coir_ty ty, bool lent,
                                                uint32_t nils);
bool coir_pattern_takes(struct coir_checker *c, coir_ast n, coir_ty ty);
/* Reports what no arm fits, and arms that are never reached. */
void coir_check_arms(struct coir_checker *c, coir_ast n, const struct coir_x_match *m);

/* ---- own.c, own_flow.c ---- */

/* Of a finished body: reports what is used after it moved. */
void coir_check_ownership(struct coir_checker *c, const struct coir_x_fn *fn);

#endif
