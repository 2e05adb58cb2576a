/* SPDX-License-Identifier: MIT */
/*
 * The loader's types: from the bytes to what type.c finishes, and what an image may not say of them. Tuples and
 * optionals are of types that stand before them, so one look in order is enough for what holds of values; everything
 * else may refer to what comes later.
 */
#include "vm/load_inside.h"

#include <stdlib.h>
#include <string.h>

/* Memory of the types: a multiple of the image, so that no small image asks for much. */
enum { PER_BYTE = 128, AT_LEAST = 65536 };

static void *types_alloc(struct coir_load *l, size_t n, size_t size)
{
    void *p = coir_types_alloc(&l->p->types, n ? n * size : 1);

    if (!p) {
        if (l->p->types.used + n * size > l->p->types.limit)
            coir_load_wrong(l, "the types are too large for the image");
        else
            coir_load_memory(l);
    }
    return p;
}

/* A part of a value: of a type that stands before `t`. */
static const struct coir_type *get_inside(struct coir_load *l, struct coir_cursor *c, const struct coir_type *t)
{
    const struct coir_type *part = coir_get_type(l, c);

    if (part && part >= t) {
        coir_load_wrong(l, "type %zu is made of a later one", (size_t)(t - l->p->types.all));
        return NULL;
    }
    return part;
}

static bool get_tuple(struct coir_load *l, struct coir_cursor *c, struct coir_type *t)
{
    t->nfields = coir_get16(c);
    if (!coir_get_count(l, c, t->nfields, 4, "elements"))
        return false;
    t->fields = types_alloc(l, t->nfields, sizeof *t->fields);
    if (!t->fields)
        return false;
    for (uint32_t i = 0; i < t->nfields; i++) {
        t->fields[i].type = get_inside(l, c, t);
        if (!t->fields[i].type)
            return false;
    }
    return true;
}

/* Fields in the types' memory; without names if `bare`, where a name may be empty. */
static struct coir_field *get_fields(struct coir_load *l, struct coir_cursor *c, uint32_t n, bool bare)
{
    struct coir_field *fields;

    if (!coir_get_count(l, c, n, 8, "fields"))
        return NULL;
    fields = types_alloc(l, n, sizeof *fields);
    for (uint32_t i = 0; fields && i < n; i++) {
        fields[i].name = coir_get_name(l, c);
        fields[i].type = coir_get_type(l, c);
        if (!fields[i].name || !fields[i].type)
            return NULL;
        if (bare && !*fields[i].name)
            fields[i].name = NULL;
    }
    return fields;
}

static bool get_record(struct coir_load *l, struct coir_cursor *c, struct coir_type *t)
{
    t->name = coir_get_name(l, c);
    t->nfields = coir_get16(c);
    t->fields = t->name ? get_fields(l, c, t->nfields, false) : NULL;
    return t->fields;
}

static bool get_sum(struct coir_load *l, struct coir_cursor *c, struct coir_type *t)
{
    const bool sum = t->kind == COIR_TYPE_SUM;

    t->name = coir_get_name(l, c);
    t->nvariants = coir_get16(c);
    if (!t->name || !coir_get_count(l, c, t->nvariants, sum ? 6 : 4, "variants"))
        return false;
    if (sum && t->nvariants > COIR_MAX_PAYLOADS)
        return coir_load_wrong(l, "sum %s has %u variants: at most %d", t->name, t->nvariants, COIR_MAX_PAYLOADS);
    t->variants = types_alloc(l, t->nvariants, sizeof *t->variants);
    for (uint32_t i = 0; t->variants && i < t->nvariants; i++) {
        struct coir_variant *v = &t->variants[i];

        v->name = coir_get_name(l, c);
        v->nfields = sum ? coir_get16(c) : 0;
        v->fields = v->name && v->nfields ? get_fields(l, c, v->nfields, true) : NULL;
        if (!v->name || (v->nfields && !v->fields))
            return false;
    }
    return t->variants;
}

static bool get_func(struct coir_load *l, struct coir_cursor *c, struct coir_type *t)
{
    t->params = coir_get_params(l, c, &t->nparams);
    t->element = t->params ? coir_get_type(l, c) : NULL;
    return t->element;
}

/* Its handlers are looked at when there are functions. */
static bool get_actor(struct coir_load *l, struct coir_cursor *c, struct coir_type *t)
{
    t->name = coir_get_name(l, c);
    t->element = t->name ? coir_get_type(l, c) : NULL;
    t->nmessages = coir_get16(c);
    if (!t->element || !coir_get_count(l, c, t->nmessages, 8, "messages"))
        return false;
    t->messages = types_alloc(l, t->nmessages, sizeof *t->messages);
    for (uint32_t i = 0; t->messages && i < t->nmessages; i++) {
        t->messages[i].name = coir_get_name(l, c);
        t->messages[i].function = coir_get32(c);
        if (!t->messages[i].name)
            return false;
    }
    return t->messages;
}

static bool get_resource(struct coir_load *l, struct coir_cursor *c, struct coir_type *t)
{
    struct coir_resource *unknown;

    t->name = coir_get_name(l, c);
    if (!t->name)
        return false;
    if (l->library) {
        t->resource = l->library->resource(l->library, t->name);
        return t->resource || coir_load_wrong(l, "there is no resource %s", t->name);
    }
    unknown = types_alloc(l, 1, sizeof *unknown);
    if (!unknown)
        return false;
    unknown->name = t->name;
    unknown->size = sizeof(uint64_t) * 2;
    t->resource = unknown;
    return true;
}

static bool get_one(struct coir_load *l, struct coir_cursor *c, struct coir_type *t)
{
    t->kind = coir_get8(c);
    switch (t->kind) {
    case COIR_TYPE_MAP:
        t->key = coir_get_type(l, c);
        if (!t->key)
            return false;
        __attribute__((fallthrough));
    case COIR_TYPE_LIST:
    case COIR_TYPE_CHAN:
    case COIR_TYPE_TASK:
        t->element = coir_get_type(l, c);
        return t->element;
    case COIR_TYPE_OPTIONAL:
        t->element = get_inside(l, c, t);
        return t->element;
    case COIR_TYPE_TUPLE:
        return get_tuple(l, c, t);
    case COIR_TYPE_RECORD:
        return get_record(l, c, t);
    case COIR_TYPE_SUM:
    case COIR_TYPE_ENUM:
        return get_sum(l, c, t);
    case COIR_TYPE_FUNC:
        return get_func(l, c, t);
    case COIR_TYPE_RESOURCE:
        return get_resource(l, c, t);
    case COIR_TYPE_ACTOR:
        return get_actor(l, c, t);
    default:
        return coir_load_wrong(l, "type %zu is of kind %u", (size_t)(t - l->p->types.all), t->kind);
    }
}

/* What every image has, without saying so. */
static bool built_in(struct coir_load *l)
{
    static const struct coir_field trap[] = {
        [COIR_TRAP_AT_CODE] = { .name = "code" }, [COIR_TRAP_AT_MESSAGE] = { .name = "message" },
        [COIR_TRAP_AT_FILE] = { .name = "file" }, [COIR_TRAP_AT_LINE] = { .name = "line" },
        [COIR_TRAP_AT_ERRNO] = { .name = "errno" }, [COIR_TRAP_AT_TRACE] = { .name = "trace" },
    };
    struct coir_type *all = l->p->types.all, *t = &all[COIR_INDEX_TRAP];

    for (unsigned i = 0; i < COIR_TYPE_FIXED; i++)
        all[i].kind = (uint8_t)i;
    all[COIR_INDEX_SCOPE].kind = COIR_TYPE_SCOPE;
    all[COIR_INDEX_GROUP].kind = COIR_TYPE_GROUP;
    all[COIR_INDEX_TEXTS].kind = COIR_TYPE_LIST;
    all[COIR_INDEX_TEXTS].element = &all[COIR_TYPE_TEXT];
    t->kind = COIR_TYPE_RECORD;
    t->name = "Trap";
    t->nfields = COIR_TRAP_SLOTS;
    t->fields = types_alloc(l, COIR_TRAP_SLOTS, sizeof *t->fields);
    if (!t->fields)
        return false;
    memcpy(t->fields, trap, sizeof trap);
    for (unsigned i = 0; i < COIR_TRAP_SLOTS; i++)
        t->fields[i].type = &all[i == COIR_TRAP_AT_TRACE ? (unsigned)COIR_INDEX_TEXTS
            : i == COIR_TRAP_AT_LINE || i == COIR_TRAP_AT_ERRNO ? COIR_TYPE_INT : COIR_TYPE_TEXT];
    return true;
}

/* What may be a key, and what has an order. */
bool coir_load_classify(struct coir_load *l)
{
    l->key = calloc(l->p->types.n, 1);
    l->ordered = calloc(l->p->types.n, 1);
    if (!l->key || !l->ordered)
        return coir_load_memory(l);
    for (uint32_t i = 0; i < l->p->types.n; i++) {
        const struct coir_type *t = &l->p->types.all[i];
        const bool simple = t->kind == COIR_TYPE_INT || t->kind == COIR_TYPE_TEXT || t->kind == COIR_TYPE_BOOL
            || t->kind == COIR_TYPE_DURATION;

        l->key[i] = simple || t->kind == COIR_TYPE_ENUM;
        l->ordered[i] = simple || t->kind == COIR_TYPE_FLOAT;
        if (t->kind != COIR_TYPE_TUPLE)
            continue;
        l->key[i] = l->ordered[i] = t->nfields > 0;
        for (uint32_t k = 0; k < t->nfields; k++) {
            l->key[i] &= l->key[t->fields[k].type->index];
            l->ordered[i] &= l->ordered[t->fields[k].type->index];
        }
    }
    return true;
}

static bool check_uses(struct coir_load *l)
{
    for (uint32_t i = 0; i < l->p->types.n; i++) {
        const struct coir_type *t = &l->p->types.all[i];

        if (t->kind == COIR_TYPE_MAP && !l->key[t->key->index])
            return coir_load_wrong(l, "type %u: a map whose keys are of type %u", i, t->key->index);
    }
    return true;
}

bool coir_load_types(struct coir_load *l)
{
    struct coir_cursor *c = &l->sections[COIR_SECTION_TYPES];
    struct coir_types *ts = &l->p->types;
    const uint32_t own = coir_get32(c);
    const char *wrong;

    if (!coir_get_count(l, c, own, 5, "types"))
        return false;
    if (own > COIR_MAX_TYPES - COIR_INDEX_FREE)
        return coir_load_wrong(l, "%u types: at most %d", own, COIR_MAX_TYPES);
    ts->limit = l->length * PER_BYTE + AT_LEAST;
    ts->all = types_alloc(l, own + COIR_INDEX_FREE, sizeof *ts->all);
    if (!ts->all)
        return false;
    ts->n = own + COIR_INDEX_FREE;
    if (!built_in(l))
        return false;
    for (uint32_t i = COIR_INDEX_FREE; i < ts->n; i++) {
        if (!get_one(l, c, &ts->all[i]))
            return false;
    }
    wrong = coir_types_finish(ts);
    if (wrong && strcmp(wrong, "no memory") == 0 && ts->used < ts->limit / 2)
        return coir_load_memory(l);
    if (wrong)
        return coir_load_wrong(l, "types: %s", wrong);
    return coir_load_classify(l) && check_uses(l);
}
