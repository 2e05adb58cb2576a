/* SPDX-License-Identifier: MIT */
/*
 * A typed program: what the checker makes of the trees of all modules, and all that the emitter reads. It is a tree of
 * its own: names are resolved, every expression has its type, what the language does silently (a T for a T?, a default
 * of a field, the move of a resource) is a node. It is only complete when no error was reported; then:
 *
 *  1. No type is COIR_TY_ERROR. COIR_TY_NEVER is the type of what does not end: return, break, continue, trap, a loop
 *     without break, and blocks, ifs and matches that end in nothing else. It may stand where any type is wanted.
 *  2. An expression has exactly the type that its place wants, or COIR_TY_NEVER. Blocks and branches whose value nobody
 *     wants have the type () and no value: what they computed last stands among their statements.
 *  3. Generic functions are checked once and stand here once. Inside one, COIR_TY_PARAM number i is its parameter i:
 *     for a method those of its type come first, then its own; closures, and defaults of fields, share those of what
 *     they stand in. To make an instance, replace every type by coir_ty_apply(types, type, arguments).
 *  4. Operands are evaluated in the order in which they stand in the arrays here.
 *  5. Nesting is bounded as that of trees is (COIR_TREE_HEIGHT, twice that at most): chains of operators, of `??`, of
 *     `else if` are arrays. Walks may recurse.
 *  6. Ownership: a resource is what coir_ty_is_resource says. A resource that is read by name and given away is
 *     COIR_X_MOVE, and only that moves one. COIR_X_LOCAL, COIR_X_FIELD and COIR_X_INDEX of a resource lend it, for the
 *     call or statement they stand in. All other expressions of such a type give an owned one, which whoever evaluates
 *     them drops if nobody takes it. On values there are no moves: the emitter copies, lends, or moves what is used
 *     last.
 *
 * Everything lives in the program's arena and goes with it.
 */
#ifndef COIR_LANG_TYPED_H
#define COIR_LANG_TYPED_H

#include "lang/source.h"
#include "lang/types.h"

/* Indexes into the arrays of the program. A local is one of its function. */
typedef uint32_t coir_x_fn_id;
typedef uint32_t coir_x_global_id;
typedef uint32_t coir_x_local_id;

enum coir_ty_mode {
    COIR_LEND,                  /* may be read; a value may be copied */
    COIR_OWN,                   /* is the callee's */
    COIR_MUT,                   /* the caller's own place, changed where it stands */
};

struct coir_x;
struct coir_x_pattern;

/* ---- functions ---- */

enum coir_x_local_kind {
    COIR_LOCAL_LET,
    COIR_LOCAL_VAR,
    COIR_LOCAL_PARAM,           /* its mode: coir_x_fn.params */
    COIR_LOCAL_CAPTURE,         /* of a closure: a copy that was made with it */
    COIR_LOCAL_GROUP,           /* the name of a group, of no use but in COIR_X_GROUP_SPAWN */
};

struct coir_x_local {
    const char *name;           /* as written; "" for what has none */
    coir_ty type;
    enum coir_x_local_kind kind;
    bool lent;                  /* a resource that stays its owner's: never dropped here, and never moved */
    bool field;                 /* a capture: of a field of the actor around it */
    uint32_t at, end;           /* where it is declared */
};

struct coir_x_param {
    coir_x_local_id local;      /* parameter i is local i */
    coir_ty type;
    enum coir_ty_mode mode;
};

/* What a closure takes with it: the value of `outer`, of the function around it, is its own local `inner`. Of the
 * state of an actor it takes one field alone. */
struct coir_x_capture {
    coir_x_local_id outer, inner;
    uint32_t field;             /* of `outer`; COIR_NO_FIELD: all of it */
};

#define COIR_NO_FIELD UINT32_MAX

enum coir_x_fn_kind {
    COIR_FN_PLAIN,
    COIR_FN_NATIVE,             /* no body: written in C, found by its name */
    COIR_FN_CLOSURE,
    COIR_FN_DEFAULT,            /* the default of a field: no parameters, gives the value. One whose body is a constant
                                   may be put where it is called */
    COIR_FN_TEST,               /* no parameters, gives () */
    COIR_FN_GLOBAL,             /* the value of a module's `let`: no parameters */
    COIR_FN_HANDLER,            /* of an actor's message, called by the machine alone. Its first parameter is the state
                                   of the actor, a record, `mut`; its second the handle. The others are the message's,
                                   and owned, also where their mode is COIR_LEND. A private function of an actor has
                                   these two in front, too, and is a COIR_FN_PLAIN otherwise */
};

struct coir_x_fn {
    /* For people: "main" and "serve", "main" and "Point.norm"; of closures "serve.closure", of tests the text. */
    const char *module, *name;
    enum coir_x_fn_kind kind;
    const char *native;         /* COIR_FN_NATIVE: "List.push", "fs.open", "net.Conn.read"; each its own */
    const struct coir_source *source;   /* what all `at` and `end` in it count in */
    uint32_t at, end;           /* of its name */
    uint32_t ntypes;            /* its type parameters, those of its type included */
    const struct coir_ty_param *types;
    uint32_t nparams;
    const struct coir_x_param *params;  /* a receiver is the first */
    const char *exported;       /* what a host calls it by; NULL: it does not. Without type parameters, `pub`, of a
                                   module that was asked for: "serve" of the first, "util.serve" of another */
    bool host;                  /* of a module of the host's */
    coir_ty actor;              /* the type of the handle, of handlers and private functions; else 0 */
    coir_ty result;             /* COIR_TY_UNIT when it gives nothing */
    uint32_t nlocals;
    const struct coir_x_local *locals;
    uint32_t ncaptures;         /* closures only */
    const struct coir_x_capture *captures;
    const struct coir_x *body;  /* of the type `result`, or never ending; NULL for natives */
};

/* ---- expressions and statements: both are struct coir_x, a statement has the type () or never ---- */

enum coir_x_kind {
    /* constants: `integer` (also durations, in ns), `number`, `integer` 0 or 1, `text` */
    COIR_X_UNIT,                /* () */
    COIR_X_INT,
    COIR_X_FLOAT,
    COIR_X_BOOL,
    COIR_X_DURATION,
    COIR_X_TEXT,
    COIR_X_NIL,
    /* names */
    COIR_X_LOCAL,               /* `local`: read */
    COIR_X_MOVE,                /* `local`: a resource, given away; the local holds nothing then */
    COIR_X_GLOBAL,              /* `global` */
    COIR_X_FN,                  /* `call`, without arguments: a function, also a native, as a
                                   value */
    COIR_X_CLOSURE,             /* `call.fn`, its captures are in coir_x_fn; call.types as it is: those of the function
                                   around it */
    /* making */
    COIR_X_RECORD,              /* `fields`: every field once, in the order of evaluation */
    COIR_X_VARIANT,             /* `items`: the payload of variant `index` */
    COIR_X_TUPLE,               /* `items` */
    COIR_X_LIST,                /* `items` */
    COIR_X_MAP,                 /* `items`: key, value, key, value; a key that comes again replaces */
    COIR_X_SOME,                /* `of`, a T, as a T?. When `of` lends, so does this */
    COIR_X_INTERPOLATION,       /* `items` of any types, written one after the other, texts bare */
    COIR_X_CHAN,                /* `of`: the room of a new channel */
    COIR_X_SPAWN_ACTOR,         /* `of`: the state of a new actor, a COIR_X_RECORD. Gives its handle. `index` 1: `on
                                   any` */
    COIR_X_MONITOR,             /* `of`: an actor; gives a Chan[Trap] */
    /* reading */
    COIR_X_FIELD,               /* field `index` of the record `of` */
    COIR_X_INDEX,               /* `pair`: a list and an Int (traps Bounds), or a map and a key (traps Key) */
    COIR_X_SLICE,               /* `slice` of a list or a text */
    /* operators */
    COIR_X_ARITH,               /* `arith` */
    COIR_X_COMPARE,             /* `pair` with `op`, EQ to GE: two of one type, by content */
    COIR_X_IS_NIL,              /* `of`, an optional, is nil; with `index` 1: is not */
    COIR_X_NEG,                 /* `of`: Int, Duration (both wrap), Float */
    COIR_X_NOT,                 /* `of` */
    COIR_X_AND,                 /* `items`: two or more, evaluated until one is false */
    COIR_X_OR,                  /* `items`: until one is true */
    COIR_X_ELSE,                /* a ?? b ?? c, `items`: the first that is not nil. All but the last are optionals, of
                                   the node's type R itself, or R?. The last is of type R, and may never end */
    /* calls */
    COIR_X_CALL,                /* `call` */
    COIR_X_CALL_VALUE,          /* `call`: of the value call.callee, a closure or function */
    COIR_X_ASK,                 /* `call`: message `index` of the actor that is its first argument, lent; waits for the
                                   reply. call.fn is the handler, whose parameters from the second on the arguments are
                                   for; those behind the actor are the handler's own: what is lent is copied */
    COIR_X_TELL,                /* the same, without waiting; gives () */
    COIR_X_PRINT,               /* `items` of any types, a space between, a newline behind; `index` 1: to stderr */
    COIR_X_SPAWN,               /* `spawn`: a Task of the call's result */
    COIR_X_GROUP_SPAWN,         /* `spawn` into the group spawn.group: waits for a place, then evaluates arguments */
    /* control */
    COIR_X_BLOCK,               /* `block` */
    COIR_X_IF,                  /* `branch` */
    COIR_X_MATCH,               /* `match` */
    COIR_X_WHILE,               /* `loop.test` and body */
    COIR_X_LOOP,                /* `loop.body`, until a break */
    COIR_X_FOR,                 /* `each` */
    COIR_X_BREAK,               /* of the innermost loop of its function */
    COIR_X_CONTINUE,
    COIR_X_RETURN,              /* `of`: NULL, or what the function gives */
    COIR_X_TRAP,                /* `of`: a Text: traps Explicit with it; a Trap: raises it unchanged */
    COIR_X_ASSERT,              /* `of`: traps Assert when it is false. For the message: the source from of->at to
                                   of->end */
    COIR_X_TRY,                 /* `try` */
    COIR_X_WITHIN,              /* `scope`: the body within the duration scope.head */
    COIR_X_GROUP,               /* `scope`: its name scope.local, its limit scope.head or NULL */
    COIR_X_DEFER,               /* `of`: run when the block is left in which this stands, once this was reached */
    COIR_X_SELECT,              /* `select` */
    /* statements */
    COIR_X_LET,                 /* `let` */
    COIR_X_ASSIGN,              /* `assign` */
};

enum coir_x_op {
    COIR_XOP_NONE,
    COIR_XOP_ADD, COIR_XOP_SUB, COIR_XOP_MUL, COIR_XOP_DIV, COIR_XOP_REM,
    COIR_XOP_BIT_OR, COIR_XOP_BIT_XOR, COIR_XOP_BIT_AND, COIR_XOP_SHIFT_LEFT, COIR_XOP_SHIFT_RIGHT,
    COIR_XOP_EQ, COIR_XOP_NE, COIR_XOP_LT, COIR_XOP_LE, COIR_XOP_GT, COIR_XOP_GE,
};

/*
 * Arithmetic from the left: first, then one operand after the other: a + b * c - d is a, (+ (b * c)), (- d). The types
 * say what is done: Int with Int; Float with Float; ADD of two Texts, or two Lists of one type; Durations: +, - and %
 * of two give one, / of two gives an Int; MUL of a Duration and an Int in either order, DIV by an Int. Int and Duration
 * wrap, trap DivZero, and Bounds when they are shifted by what is outside 0..63.
 */
struct coir_x_arith_step {
    enum coir_x_op op;
    const struct coir_x *operand;
    coir_ty type;               /* of the result so far */
    uint32_t at, end;           /* the operator, for the trap's line */
};

struct coir_x_text {
    const char *bytes;          /* any bytes, and a NUL behind them */
    uint32_t size;
};

struct coir_x_items {
    uint32_t n;
    const struct coir_x *const *list;
};

struct coir_x_field_value {
    uint32_t index;
    const struct coir_x *value;
};

/* A place: a local that is a var, a mut parameter or mut self, and what stands in it step by step. Indexes are
 * evaluated in the order of the steps, before anything is changed; the walk is made when all operands have been
 * evaluated. */
enum coir_x_step_kind {
    COIR_STEP_FIELD,            /* field `field` of a record */
    COIR_STEP_ELEMENT,          /* element `index` of a list: traps Bounds */
    COIR_STEP_KEY,              /* the value at the key `index` of a map: traps Key; as the last step of a plain `=`,
                                   inserts */
};

struct coir_x_step {
    enum coir_x_step_kind kind;
    uint32_t field;
    const struct coir_x *index;
    coir_ty type;               /* of what stands there */
    uint32_t at, end;
};

struct coir_x_place {
    coir_x_local_id root;
    uint32_t nsteps;
    const struct coir_x_step *steps;
    coir_ty type;
    uint32_t at, end;
};

/* An argument: a place for COIR_MUT, else a value. One that is a COIR_X_MOVE (in any COIR_X_SOME) moves when the call
 * starts: those behind it may still use the local. No two mut places of one call have the same root. A value may read
 * the root of a mut place of the same call: it is the value of before the call. Resources never do. */
struct coir_x_arg {
    enum coir_ty_mode mode;
    const struct coir_x *value;
    const struct coir_x_place *place;
};

struct coir_x_call {
    coir_x_fn_id fn;
    const coir_ty *types;       /* as many as the function has type parameters, in terms of those of the caller */
    const struct coir_x *callee;     /* COIR_X_CALL_VALUE only: evaluated first, lent */
    uint32_t nargs;
    const struct coir_x_arg *args;
};

/* What begins a fiber: fn and args, or callee and args, as in a call; or a message, as in COIR_X_ASK. No mut. Callee
 * and arguments are evaluated here; what is lent is copied (it is a value, never a resource). */
struct coir_x_spawn {
    struct coir_x_call call;
    bool value;                 /* a call of call.callee, as in COIR_X_CALL_VALUE */
    bool asks;                  /* the message `index` of the node */
    bool any;                   /* `spawn on any` */
    coir_x_local_id group;        /* COIR_X_GROUP_SPAWN */
};

struct coir_x_block {
    uint32_t n;
    const struct coir_x *const *statements;  /* values that these leave are dropped at once */
    const struct coir_x *value;      /* NULL: the block gives () or never ends */
};

/* A Bool; or, with a pattern, an optional: true if it is not nil, and then the pattern takes what is inside. */
struct coir_x_test {
    const struct coir_x_pattern *pattern; /* NULL, or one that fits everything */
    const struct coir_x *value;
};

struct coir_x_branch_arm {
    struct coir_x_test test;
    const struct coir_x *body;
};

struct coir_x_branch {
    uint32_t n;                 /* if, else if, else if … */
    const struct coir_x_branch_arm *arms;
    const struct coir_x *otherwise;     /* NULL: then the node gives () */
};

struct coir_x_match_arm {
    const struct coir_x_pattern *pattern;
    const struct coir_x *guard;         /* NULL, or a Bool, which sees the pattern's names */
    const struct coir_x *body;
};

/* The first arm that fits. One always does. A guard that is false goes on to the next arm. */
struct coir_x_match {
    const struct coir_x *value;
    uint32_t n;
    const struct coir_x_match_arm *arms;
    bool takes;                 /* of a resource: `value` gives an owned whole, and the names get its parts. Else they
                                   are lent */
};

struct coir_x_loop {
    struct coir_x_test test;
    const struct coir_x *body;
};

enum coir_x_each_kind {
    COIR_EACH_RANGE,            /* from `value` to `to`, two Ints evaluated once */
    COIR_EACH_LIST,             /* the elements of `value`, as it is when the loop begins; resources are lent */
    COIR_EACH_MAP,              /* `pattern` takes the key, `second` the value */
    COIR_EACH_CHAN,             /* what is received, until it is closed and empty */
};

struct coir_x_each {
    enum coir_x_each_kind kind;
    bool inclusive;             /* COIR_EACH_RANGE: `to` is one of them */
    const struct coir_x *value, *to;
    const struct coir_x_pattern *pattern, *second;        /* they fit everything */
    const struct coir_x *body;
};

/* `body`, and if it traps `handler`, with the Trap in `local`. Both give the node's type. */
struct coir_x_try {
    const struct coir_x *body, *handler;
    coir_x_local_id local;
};

struct coir_x_scope {
    const struct coir_x *head;
    coir_x_local_id local;
    const struct coir_x *body;
};

enum coir_x_select_kind {
    COIR_SELECT_RECV,           /* from `channel`; `pattern` takes the T?, or is NULL */
    COIR_SELECT_SEND,           /* `operand` into `channel` */
    COIR_SELECT_AFTER,          /* the duration `operand` */
    COIR_SELECT_ELSE,           /* at most one, the last */
};

/* Channels and operands of all arms are evaluated once, from the top, channel before operand. */
struct coir_x_select_arm {
    enum coir_x_select_kind kind;
    const struct coir_x *channel, *operand;
    const struct coir_x_pattern *pattern;
    const struct coir_x *body;
    uint32_t at, end;
};

struct coir_x_select {
    uint32_t n;
    const struct coir_x_select_arm *arms;
};

struct coir_x_let {
    const struct coir_x_pattern *pattern; /* fits everything: a name, `_`, or a tuple of these */
    const struct coir_x *value;
};

/* op NONE: `place` gets the value, what stood there is dropped. Else place = place op value, as in coir_x_arith_step,
 * where the place is read and written in one walk, after `value` is evaluated. */
struct coir_x_assign {
    const struct coir_x_place *place;
    enum coir_x_op op;
    const struct coir_x *value;
};

struct coir_x {
    enum coir_x_kind kind;
    coir_ty type;
    uint32_t at, end;           /* bytes in the source of the function */
    uint32_t index;             /* field, variant, flag: as the kind says */
    enum coir_x_op op;            /* COIR_X_COMPARE */
    union {
        int64_t integer;
        double number;
        struct coir_x_text text;
        coir_x_local_id local;
        coir_x_global_id global;
        const struct coir_x *of;
        struct {
            const struct coir_x *a, *b;
        } pair;
        struct coir_x_items items;
        struct {
            uint32_t n;
            const struct coir_x_field_value *list;
        } fields;
        struct {
            const struct coir_x *of, *from, *to;     /* NULL where it is open */
            bool inclusive;
        } slice;
        struct {
            const struct coir_x *first;
            uint32_t n;
            const struct coir_x_arith_step *steps;
        } arith;
        struct coir_x_call call;
        struct coir_x_spawn spawn;
        struct coir_x_block block;
        struct coir_x_branch branch;
        struct coir_x_match match;
        struct coir_x_loop loop;
        struct coir_x_each each;
        struct coir_x_try try;
        struct coir_x_scope scope;
        struct coir_x_select select;
        struct coir_x_let let;
        struct coir_x_assign assign;
    };
};

/* ---- patterns ---- */

enum coir_x_pattern_kind {
    COIR_PATTERN_ANY,           /* `_` */
    COIR_PATTERN_NAME,          /* `local` gets the whole */
    COIR_PATTERN_VALUE,         /* equal to `constant`: an Int, Float, Bool, Duration or Text */
    COIR_PATTERN_NIL,
    COIR_PATTERN_SOME,          /* not nil, and `items[0]` fits what is inside */
    COIR_PATTERN_VARIANT,       /* variant `index`, and the items fit its payload */
    COIR_PATTERN_TUPLE,         /* the items fit its elements */
    COIR_PATTERN_EITHER,        /* one of the items fits, tried in order; all bind the same locals */
};

struct coir_x_pattern {
    enum coir_x_pattern_kind kind;
    coir_ty type;               /* of what it is held against */
    uint32_t at, end;
    uint32_t index;
    coir_x_local_id local;
    const struct coir_x *constant;
    uint32_t n;
    const struct coir_x_pattern *const *items;
};

/* ---- the program ---- */

/* A `let` of a module. The value is made of constants, operators, and globals that stand before it. */
struct coir_x_global {
    const char *module, *name;  /* "main" and "limit" */
    const struct coir_source *source;
    uint32_t at, end;
    coir_ty type;
    coir_x_fn_id init;            /* no parameters, gives the value; run once, before main, in the order of the array */
};

#define COIR_NO_FN UINT32_MAX

struct coir_typed {
    struct coir_budget *memory;
    struct coir_arena arena;
    struct coir_ty_table *types;   /* grows while instances are made */
    uint32_t nfns;
    const struct coir_x_fn *const *fns;           /* by coir_x_fn_id; also of the library's that nobody calls */
    uint32_t nglobals;
    const struct coir_x_global *globals;
    uint32_t ntests;
    const coir_x_fn_id *tests;    /* of the modules that were asked for, in the order of the text */
    coir_x_fn_id main;            /* COIR_NO_FN: there is none */
    /* main may take a List[Text], and give an Int */
    coir_ty trap;               /* the record Trap */
};

#endif
