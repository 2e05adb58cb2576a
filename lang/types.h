/* SPDX-License-Identifier: MIT */
/*
 * Types of the language, each there once: a type is a number, two types are the same if their numbers are. And what a
 * program declares: records, sums, resources. Types only come, none goes while the table lives. No type is larger than
 * COIR_TY_SIZE_MOST, so walking one may recurse; whoever asks for a larger one gets COIR_TY_ERROR.
 *
 *     coir_ty list = coir_ty_list(types, COIR_TY_INT);
 *     coir_ty_get(types, list)->args[0] == COIR_TY_INT
 *
 * Which fields and variants a type has stands in its declaration, in terms of the declaration's parameters:
 * coir_ty_field and coir_ty_payload put the type's own arguments in.
 */
#ifndef COIR_LANG_TYPES_H
#define COIR_LANG_TYPES_H

#include "lang/source.h"

typedef uint32_t coir_ty;

/* The first kinds have one type each, whose number is the kind: COIR_TY_INT is a coir_ty too. */
enum coir_ty_kind {
    COIR_TY_ERROR,              /* something was reported; fits everything, so that nothing more is */
    COIR_TY_HOLE,               /* the checker's own: not known yet */
    COIR_TY_NEVER,              /* of what does not end */
    COIR_TY_UNIT,               /* () */
    COIR_TY_INT,
    COIR_TY_FLOAT,
    COIR_TY_BOOL,
    COIR_TY_DURATION,
    COIR_TY_TEXT,
    COIR_TY_GROUP,              /* of the name of a group; cannot be written */
    COIR_TY_SIMPLE_KINDS,
    COIR_TY_LIST = COIR_TY_SIMPLE_KINDS,        /* args[0]: the elements */
    COIR_TY_MAP,                /* args[0]: the keys, args[1]: the values */
    COIR_TY_OPTION,             /* args[0]: what is inside */
    COIR_TY_CHAN,               /* args[0] */
    COIR_TY_TASK,               /* args[0] */
    COIR_TY_TUPLE,              /* args: two or more */
    COIR_TY_FN,                 /* args: the parameters, and last the result; modes: of the parameters */
    COIR_TY_DECL,               /* decl, with its arguments */
    COIR_TY_PARAM,              /* parameter `param` of the declaration or function it stands in */
};

struct coir_ty_info {
    enum coir_ty_kind kind;
    bool open;                  /* a COIR_TY_PARAM is in it */
    bool bad;                   /* a COIR_TY_ERROR is in it */
    bool holes;                 /* a COIR_TY_HOLE is in it */
    uint8_t owned;              /* for coir_ty_is_resource: what it found */
    uint16_t size;              /* 1 more than the sizes of the arguments together */
    uint32_t n;
    const coir_ty *args;
    const uint8_t *modes;       /* COIR_TY_FN: enum coir_ty_mode, n - 1 of them */
    struct coir_ty_decl *decl;
    uint32_t param;
    uint32_t next;              /* of its hash */
    uint32_t hash;
};

enum { COIR_TY_SIZE_MOST = 1000 };

enum coir_ty_bound {
    COIR_BOUND_NONE,            /* any value */
    COIR_BOUND_ORD,
    COIR_BOUND_KEY,
};

struct coir_ty_param {
    const char *name;
    enum coir_ty_bound bound;
    bool compared;              /* something is done with it that needs == */
    bool resources;             /* may stand for a resource too: parameters of types, and of some natives */
    uint32_t at, end;
};

enum coir_ty_decl_kind {
    COIR_DECL_RECORD,
    COIR_DECL_SUM,
    COIR_DECL_RESOURCE,         /* of the library: nothing of it is known here */
    COIR_DECL_ACTOR,            /* its handles: a value that holds nothing, == by identity. What it has is a record,
                                   `state`, which nobody else can name */
};

struct coir_ty_field {
    const char *name;           /* NULL: a payload's, without one */
    coir_ty type;
    uint32_t init;              /* the function that gives its default; UINT32_MAX if it has none */
    uint32_t node, at, end;
};

struct coir_ty_variant {
    const char *name;
    uint32_t nfields;           /* of its payload */
    struct coir_ty_field *fields;
    uint32_t node, at, end;
};

/* What an actor can be sent. */
struct coir_ty_message {
    const char *name;
    uint32_t fn;                /* its handler */
    uint32_t at, end;
};

struct coir_ty_decl {
    enum coir_ty_decl_kind kind;
    const char *module, *name;  /* "net" and "Conn" */
    uint32_t number;            /* each its own, from 0, as they were declared */
    const struct coir_source *source;
    uint32_t ntypes;
    struct coir_ty_param *types;
    uint32_t nfields;           /* of records */
    struct coir_ty_field *fields;
    uint32_t nvariants;         /* of sums */
    struct coir_ty_variant *variants;
    struct coir_ty_decl *state; /* of actors */
    struct coir_ty_decl *actor; /* of the state of one */
    uint32_t nmessages;
    struct coir_ty_message *messages;
    bool plain;                 /* a sum without any payload */
    bool owned;                 /* holds a resource, whatever its arguments are */
    bool incomparable;          /* holds a function or a resource, whatever its arguments are */
    bool *holds;                /* of each parameter: values of this type hold values of that */
    uint32_t module_number, node, at, end;      /* the checker's */
};

struct coir_ty_table {
    struct coir_budget *memory;
    struct coir_arena arena;
    struct coir_ty_info *list;
    uint32_t count, room;
    uint32_t *buckets;
    uint32_t nbuckets;          /* a power of two, or 0 */
    struct coir_ty_decl **decls;   /* by number */
    uint32_t ndecls, decls_room;
    bool too_large;             /* a type was refused for its size, not for memory; whoever asked may clear it */
};

/* 0; -ENOMEM, and then it is for coir_ty_free only. */
int coir_ty_init(struct coir_ty_table *t, struct coir_budget *m);
void coir_ty_free(struct coir_ty_table *t);

static inline const struct coir_ty_info *coir_ty_get(const struct coir_ty_table *t, coir_ty ty)
{
    return &t->list[ty];
}

static inline enum coir_ty_kind coir_ty_kind(const struct coir_ty_table *t, coir_ty ty)
{
    return t->list[ty].kind;
}

/* Making types: COIR_TY_ERROR if there is no memory, or it would be too large. */
coir_ty coir_ty_list(struct coir_ty_table *t, coir_ty element);
coir_ty coir_ty_map(struct coir_ty_table *t, coir_ty key, coir_ty value);
coir_ty coir_ty_option(struct coir_ty_table *t, coir_ty inside);
coir_ty coir_ty_chan(struct coir_ty_table *t, coir_ty element);
coir_ty coir_ty_task(struct coir_ty_table *t, coir_ty result);
coir_ty coir_ty_tuple(struct coir_ty_table *t, uint32_t n, const coir_ty *elements);
/* n parameters; params and the result after them in one array of n + 1. modes NULL: all lend. */
coir_ty coir_ty_fn(struct coir_ty_table *t, uint32_t n, const coir_ty *params_and_result, const uint8_t *modes);
coir_ty coir_ty_decl(struct coir_ty_table *t, struct coir_ty_decl *decl, const coir_ty *args);
coir_ty coir_ty_param(struct coir_ty_table *t, uint32_t number);

/* `ty` with COIR_TY_PARAM number i replaced by args[i]; parameters from n on stay. */
coir_ty coir_ty_apply(struct coir_ty_table *t, coir_ty ty, uint32_t n, const coir_ty *args);

/* The type of field i of a record, of field i of a variant's payload, with the arguments of `ty` put in. */
coir_ty coir_ty_field(struct coir_ty_table *t, coir_ty ty, uint32_t i);
coir_ty coir_ty_payload(struct coir_ty_table *t, coir_ty ty, uint32_t variant, uint32_t i);

/* Of a function type. */
static inline coir_ty coir_ty_result(const struct coir_ty_table *t, coir_ty ty)
{
    return t->list[ty].args[t->list[ty].n - 1];
}

/* Once coir_ty_settle has been called: whether a value has exactly one owner; whether == is defined on it; whether it
 * is ordered (Int, Float, Text, Bool, Duration, tuples of them); whether it can be a key (Int, Text, Bool, Duration,
 * sums without payload, tuples of them). Parameters: as their bounds, `params`, say, never a resource. */
bool coir_ty_is_resource(struct coir_ty_table *t, coir_ty ty);
bool coir_ty_is_comparable(struct coir_ty_table *t, coir_ty ty, const struct coir_ty_param *params);
bool coir_ty_is_ordered(const struct coir_ty_table *t, coir_ty ty, const struct coir_ty_param *params);
bool coir_ty_is_key(const struct coir_ty_table *t, coir_ty ty, const struct coir_ty_param *params);

/* When the fields of all declarations are known: works out `owned`, `incomparable`, `holds`. */
void coir_ty_settle(struct coir_ty_table *t);

/* As it is written in a module (NULL: in none): "List[Int]", "net.Conn", "fn(Int) -> Text". Parameters by their names.
 * Cut when it does not fit. Value: `to`. */
const char *coir_ty_text(const struct coir_ty_table *t, coir_ty ty, const char *module,
                         const struct coir_ty_param *params, char *to, size_t size);

#endif
