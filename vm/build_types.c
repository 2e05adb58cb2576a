/* SPDX-License-Identifier: MIT */
/*
 * The builder's types: made once each, and how many registers a value of one takes, for who emits. It must agree with
 * type.c about layouts; a test compares them.
 */
#include "vm/build_inside.h"

#include <stdlib.h>
#include <string.h>

static struct coir_build_type *type_at(struct coir_build *b, uint32_t type)
{
    if (!b->error && type >= b->types.n)
        coir_build_fail(b, "there is no type %u", type);
    return b->error ? NULL : &b->types.p[type];
}

/* A new type's slots; they may all be words. */
static void set_slots(struct coir_build *b, struct coir_build_type *t, unsigned n)
{
    if (n > COIR_VALUE_SLOTS) {
        coir_build_fail(b, "a value of %u slots: at most %d", n, COIR_VALUE_SLOTS);
        return;
    }
    t->slots = coir_load_arena_alloc(&b->arena, n, sizeof *t->slots);
    if (!t->slots)
        coir_build_fail(b, "no memory");
    else
        t->nslots = n;
}

static void optional_slots(struct coir_build *b, struct coir_build_type *t, uint32_t inner)
{
    const unsigned n = coir_build_slots(b, inner);
    const bool bare = n == 1 && b->types.p[inner].slots[0].is_ref && !b->types.p[inner].slots[0].nullable;

    set_slots(b, t, n + !bare);
    for (unsigned i = 0; i < n && !b->error; i++) {
        t->slots[i + !bare] = b->types.p[inner].slots[i];
        t->slots[i + !bare].nullable = t->slots[i + !bare].is_ref;
    }
}

static void tuple_slots(struct coir_build *b, struct coir_build_type *t, const uint32_t *elements, unsigned count)
{
    unsigned n = 0;

    for (unsigned i = 0; i < count; i++)
        n += coir_build_slots(b, elements[i]);
    set_slots(b, t, n);
    n = 0;
    for (unsigned i = 0; i < count && !b->error; i++) {
        const struct coir_build_type *e = &b->types.p[elements[i]];

        if (e->nslots)
            memcpy(t->slots + n, e->slots, e->nslots * sizeof *e->slots);
        n += e->nslots;
    }
}

/* A type of this kind, head and number, `index` becoming its own if it is new. The number is not in the image. */
static struct coir_build_type *add(struct coir_build *b, enum coir_type_kind kind, struct coir_bytes *head,
                                   uint32_t number, uint32_t *index)
{
    struct coir_bytes key = { 0 };
    bool is_new = false;

    *index = 0;
    coir_put8(b, &key, 'T');
    coir_put8(b, &key, (uint8_t)kind);
    coir_put32(b, &key, number);
    coir_put(b, &key, head->p, head->n);
    if (!b->error)
        *index = coir_build_intern(b, key.p, key.n, b->types.n, &is_new);
    free(key.p);
    if (b->types.n >= COIR_MAX_TYPES)
        coir_build_fail(b, "more than %d types", COIR_MAX_TYPES);
    struct coir_build_type *t = is_new ? COIR_PUSH(b, b->types) : NULL;
    if (!t) {
        free(head->p);
        return NULL;
    }
    t->kind = (uint8_t)kind;
    t->head = *head;
    return t;
}

/* One reference, or one word. */
static uint32_t add_simple(struct coir_build *b, enum coir_type_kind kind, struct coir_bytes *head, uint32_t number,
                           bool ref)
{
    uint32_t index;
    struct coir_build_type *t = add(b, kind, head, number, &index);

    if (t) {
        set_slots(b, t, 1);
        if (!b->error)
            t->slots[0] = (struct coir_build_slot){ ref, false, ref ? index : 0 };
    }
    return index;
}

static uint32_t of_one(struct coir_build *b, enum coir_type_kind kind, uint32_t element)
{
    struct coir_bytes head = { 0 };

    type_at(b, element);
    coir_put32(b, &head, element);
    return add_simple(b, kind, &head, 0, true);
}

static uint32_t named(struct coir_build *b, enum coir_type_kind kind, const char *name, uint32_t number)
{
    struct coir_bytes head = { 0 };

    coir_put32(b, &head, coir_build_name(b, name));
    return add_simple(b, kind, &head, number, kind != COIR_TYPE_ENUM);
}

uint32_t coir_build_list(struct coir_build *b, uint32_t element)
{
    return of_one(b, COIR_TYPE_LIST, element);
}

uint32_t coir_build_chan(struct coir_build *b, uint32_t element)
{
    return of_one(b, COIR_TYPE_CHAN, element);
}

uint32_t coir_build_task(struct coir_build *b, uint32_t result)
{
    return of_one(b, COIR_TYPE_TASK, result);
}

uint32_t coir_build_map(struct coir_build *b, uint32_t key, uint32_t value)
{
    struct coir_bytes head = { 0 };

    type_at(b, key);
    type_at(b, value);
    coir_put32(b, &head, key);
    coir_put32(b, &head, value);
    return add_simple(b, COIR_TYPE_MAP, &head, 0, true);
}

uint32_t coir_build_optional(struct coir_build *b, uint32_t inner)
{
    struct coir_bytes head = { 0 };
    uint32_t index;

    type_at(b, inner);
    coir_put32(b, &head, inner);
    struct coir_build_type *t = add(b, COIR_TYPE_OPTIONAL, &head, 0, &index);
    if (t)
        optional_slots(b, t, inner);
    return index;
}

uint32_t coir_build_tuple(struct coir_build *b, const uint32_t *elements, unsigned n)
{
    struct coir_bytes head = { 0 };
    uint32_t index;

    coir_put16(b, &head, (uint16_t)n);
    for (unsigned i = 0; i < n; i++) {
        type_at(b, elements[i]);
        coir_put32(b, &head, elements[i]);
    }
    struct coir_build_type *t = add(b, COIR_TYPE_TUPLE, &head, 0, &index);
    if (t)
        tuple_slots(b, t, elements, n);
    return index;
}

uint32_t coir_build_func(struct coir_build *b, const struct coir_build_param *params, unsigned n, uint32_t result)
{
    struct coir_bytes head = { 0 };

    for (unsigned i = 0; i < n; i++)
        type_at(b, params[i].type);
    type_at(b, result);
    coir_build_params(b, &head, params, n);
    coir_put32(b, &head, result);
    return add_simple(b, COIR_TYPE_FUNC, &head, 0, true);
}

uint32_t coir_build_resource(struct coir_build *b, const char *name)
{
    return named(b, COIR_TYPE_RESOURCE, name, 0);
}

uint32_t coir_build_record(struct coir_build *b, const char *name)
{
    return named(b, COIR_TYPE_RECORD, name, 0);
}

uint32_t coir_build_actor_type(struct coir_build *b, const char *name, uint32_t state)
{
    struct coir_bytes head = { 0 };

    type_at(b, state);
    coir_put32(b, &head, coir_build_name(b, name));
    coir_put32(b, &head, state);
    return add_simple(b, COIR_TYPE_ACTOR, &head, 0, true);
}

uint32_t coir_build_sum(struct coir_build *b, const char *name)
{
    return named(b, COIR_TYPE_SUM, name, 0);
}

uint32_t coir_build_enum(struct coir_build *b, const char *name)
{
    return named(b, COIR_TYPE_ENUM, name, 0);
}

uint32_t coir_build_numbered(struct coir_build *b, enum coir_type_kind kind, const char *name, uint32_t number)
{
    return named(b, kind, name, number);
}

static void put_field(struct coir_build *b, struct coir_build_type *t, const char *name, uint32_t type)
{
    const uint32_t string = coir_build_name(b, name);

    type_at(b, type);
    coir_put32(b, &t->rest, string);
    coir_put32(b, &t->rest, type);
}

static struct coir_build_type *open_type(struct coir_build *b, uint32_t type, bool ok, const char *what)
{
    struct coir_build_type *t = type_at(b, type);

    if (t && !ok)
        coir_build_fail(b, "type %u is no %s", type, what);
    return b->error ? NULL : t;
}

static bool is_kind(struct coir_build *b, uint32_t type, enum coir_type_kind kind)
{
    return !b->error && type < b->types.n && b->types.p[type].kind == kind && type >= COIR_INDEX_FREE;
}

void coir_build_field(struct coir_build *b, uint32_t record, const char *name, uint32_t type)
{
    struct coir_build_type *t = open_type(b, record, is_kind(b, record, COIR_TYPE_RECORD), "record");

    if (!t)
        return;
    if (++t->count == 0)
        coir_build_fail(b, "too many fields");
    put_field(b, t, name, type);
}

void coir_build_variant(struct coir_build *b, uint32_t type, const char *name)
{
    const bool sum = is_kind(b, type, COIR_TYPE_SUM);
    struct coir_build_type *t = open_type(b, type, sum || is_kind(b, type, COIR_TYPE_ENUM), "sum or enum");

    if (!t)
        return;
    const uint32_t string = coir_build_name(b, name);
    if (++t->count == 0)
        coir_build_fail(b, "too many variants");
    coir_put32(b, &t->rest, string);
    t->payload = 0;
    t->payload_at = t->rest.n;
    if (sum)
        coir_put16(b, &t->rest, 0);
}

void coir_build_message(struct coir_build *b, uint32_t actor, const char *name, uint32_t function)
{
    struct coir_build_type *t = open_type(b, actor, is_kind(b, actor, COIR_TYPE_ACTOR), "actor");

    if (!t)
        return;
    const uint32_t string = coir_build_name(b, name);
    if (++t->count == 0)
        coir_build_fail(b, "too many messages");
    coir_put32(b, &t->rest, string);
    coir_put32(b, &t->rest, function);
}

void coir_build_payload(struct coir_build *b, uint32_t sum, const char *name, uint32_t type)
{
    struct coir_build_type *t = open_type(b, sum, is_kind(b, sum, COIR_TYPE_SUM), "sum");

    if (!t)
        return;
    if (!t->count)
        coir_build_fail(b, "a payload without a variant");
    put_field(b, t, name, type);
    if (b->error)
        return;
    t->payload++;
    t->rest.p[t->payload_at] = (uint8_t)t->payload;
    t->rest.p[t->payload_at + 1] = (uint8_t)(t->payload >> 8);
}

unsigned coir_build_slots(struct coir_build *b, uint32_t type)
{
    const struct coir_build_type *t = type_at(b, type);

    return t ? t->nslots : 0;
}

struct coir_build_slot coir_build_slot(struct coir_build *b, uint32_t type, unsigned i)
{
    const struct coir_build_type *t = type_at(b, type);

    if (t && i >= t->nslots)
        coir_build_fail(b, "type %u has no slot %u", type, i);
    return t && i < t->nslots ? t->slots[i] : (struct coir_build_slot){ 0 };
}

void coir_build_types_init(struct coir_build *b)
{
    for (unsigned kind = 0; kind < COIR_TYPE_FIXED; kind++) {
        struct coir_bytes head = { 0 };
        uint32_t index;
        struct coir_build_type *t = add(b, kind, &head, 0, &index);

        if (!t)
            return;
        set_slots(b, t, kind != COIR_TYPE_UNIT);
        if (kind == COIR_TYPE_TEXT && !b->error)
            t->slots[0] = (struct coir_build_slot){ true, false, COIR_TYPE_TEXT };
    }
    add_simple(b, COIR_TYPE_SCOPE, &(struct coir_bytes){ 0 }, 0, true);
    add_simple(b, COIR_TYPE_GROUP, &(struct coir_bytes){ 0 }, 0, true);
    coir_build_list(b, COIR_TYPE_TEXT);
    coir_build_record(b, "Trap");
}
