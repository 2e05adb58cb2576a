/* SPDX-License-Identifier: MIT */
/*
 * The types of a program at run time: what a value is made of, and how it is printed, compared and dropped.
 *
 * A value lies in slots of 64 bits, as many as its type has. Each slot is a word, of which any bits are safe, or a
 * reference to a counted cell (cell.h), or 0:
 *
 *     Int Float Bool Duration, enum        one word. An enum's is the number of its variant
 *     ()                                   no slot
 *     Text List Map record sum fn Chan     one reference; so have Task, actors, resources, groups
 *     T?   of one reference                the same, 0 is nil
 *     T?   of anything else                a word that is 0 for nil and 1 for a value, then T's slots
 *     tuple                                the slots of its members, one after the other
 *
 * A record's cell holds the slots of its fields, in order. A sum's cell holds the number of its variant (aux) and the
 * slots of that one's payload; a variant without payload is one immortal cell.
 *
 * Whoever loads a program fills `all`, with memory of coir_types_alloc, and calls coir_types_finish, which works out
 * what is marked with "finish". It may assume nothing of them but that every pointer to a type points into `all`.
 * After that nothing is written any more: any shard reads them. Nothing here recurses: types nest as deep as an image
 * says.
 */
#ifndef COIR_VM_TYPE_H
#define COIR_VM_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct coir_counted;
struct coir_type;

/* The kinds up to COIR_TYPE_TEXT have one type each, and it is the one of that index: all[COIR_TYPE_INT] is Int. */
enum coir_type_kind {
    COIR_TYPE_INT,
    COIR_TYPE_FLOAT,
    COIR_TYPE_BOOL,
    COIR_TYPE_DURATION,
    COIR_TYPE_UNIT,
    COIR_TYPE_TEXT,
    COIR_TYPE_LIST,             /* element */
    COIR_TYPE_MAP,              /* key, element */
    COIR_TYPE_TUPLE,            /* fields, of no name */
    COIR_TYPE_OPTIONAL,         /* element */
    COIR_TYPE_RECORD,           /* name, fields */
    COIR_TYPE_SUM,              /* name, variants: one at least has a payload */
    COIR_TYPE_ENUM,             /* name, variants without payload */
    COIR_TYPE_FUNC,             /* params, element is the result */
    COIR_TYPE_CHAN,             /* element */
    COIR_TYPE_TASK,             /* element */
    COIR_TYPE_RESOURCE,         /* name, resource */
    COIR_TYPE_GROUP,
    COIR_TYPE_SCOPE,            /* what a within or a shield is, in a register */
    COIR_TYPE_ACTOR,            /* name, messages, element is the record of its state */
    COIR_TYPE_KINDS
};
enum { COIR_TYPE_FIXED = COIR_TYPE_TEXT + 1 };

/* Of a value at most; of what a cell holds, a record or a payload, at most COIR_CELL_SLOTS. */
enum { COIR_VALUE_SLOTS = 255, COIR_CELL_SLOTS = 4095 };

struct coir_slot {
    const struct coir_type *ref;        /* whose cell it refers to; NULL: a word */
    bool nullable;                      /* 0 is a value of it */
};

/* Of a record, tuple or payload. A tuple's have no name, nor need those of a payload. */
struct coir_field {
    const char *name;
    const struct coir_type *type;
    uint32_t slot;                      /* finish: the first of its slots */
};

struct coir_variant {
    const char *name;
    struct coir_field *fields;
    uint32_t nfields;
    uint32_t slots;                     /* finish: of the payload */
    const struct coir_slot *layout;     /* finish */
    struct coir_counted *constant;      /* finish: the cell of one without payload, in a sum */
};

enum coir_mode { COIR_MODE_LEND, COIR_MODE_OWN, COIR_MODE_MUT };

struct coir_param {
    const struct coir_type *type;
    enum coir_mode mode;
};

/* What an actor understands: the function with the actor's state (mut) and the actor itself (lent) before the message's
 * own parameters, which are own, or flat. */
struct coir_message {
    const char *name;
    uint32_t function;
};

struct coir_heap;

/* What a resource is: registered by the natives it belongs to. */
struct coir_resource {
    const char *name;                   /* as a type is written: "net.Conn" */
    size_t size;                        /* of its cell, header and all */
    /* It has no owner any more: gives back what it holds and closes what it has open. Neither parks nor fails. */
    void (*drop)(struct coir_heap *h, struct coir_counted *c);
    const char *stays;                  /* why it cannot go to another shard; NULL: it can */
    /* The descriptor that the shard it leaves is to let go of, or -1. NULL: it has none. */
    int (*descriptor)(const struct coir_counted *c);
};

struct coir_type {
    uint8_t kind;                       /* enum coir_type_kind */
    bool owns;                          /* finish: contains a resource, so it is never copied */
    bool flat;                          /* finish: none of its slots is a reference */
    bool deep;                          /* finish: its cells refer to cells; a list, map, record or sum */
    uint32_t index;                     /* finish: in `all` */
    uint32_t slots;                     /* finish: of a value */
    const struct coir_slot *layout;     /* finish */
    const char *name;                   /* of a record, sum, enum, resource, actor: as it is printed */
    const struct coir_type *element;
    const struct coir_type *key;
    struct coir_field *fields;
    uint32_t nfields;
    uint32_t cell_slots;                /* finish: a record's cell; a list's element; a map's key and value */
    const struct coir_slot *cell;       /* finish: their layout */
    struct coir_variant *variants;
    uint32_t nvariants;
    uint32_t nmessages;
    struct coir_message *messages;
    uint32_t nparams;
    struct coir_param *params;
    const struct coir_resource *resource;
};

struct coir_types {
    struct coir_type *all;
    uint32_t n;
    void *memory;                       /* of coir_types_alloc; all of it goes with coir_types_free */
    size_t used;                        /* bytes so far */
    size_t limit;                       /* at most; 0: any number */
};

/* `size` bytes, all zero, aligned to 16, that live as long as the types. NULL: no memory, or the limit. */
void *coir_types_alloc(struct coir_types *ts, size_t size);

/* NULL; or what is wrong with them: a type that contains itself without a reference between, a kind without what it
 * needs, fixed types that are not at their index, too many slots. "no memory" is one of those. */
const char *coir_types_finish(struct coir_types *ts);

void coir_types_free(struct coir_types *ts);

/* Is the type's value one reference that is not nil: what T? needs no tag for. */
static inline bool coir_type_is_ref(const struct coir_type *t)
{
    return t->slots == 1 && t->layout[0].ref && !t->layout[0].nullable;
}

#endif
