/* SPDX-License-Identifier: MIT */
/*
 * Values as C reads them. Nothing here changes one; what is part of a value becomes an entry of its own, lent as long
 * as the whole is lent, else held.
 */
#include <math.h>

#include "embed/inside.h"
#include "vm/chan.h"
#include "vm/program.h"

/* The entry; NULL: no value. Of another kind: stops. */
static struct coir_entry *entry(struct coir_vm_value v, enum coir_type_kind kind, const char *who,
                                struct coir_host **h)
{
    struct coir_entry *const e = coir_entry_of(v, who, h);
    char is[80];

    if (e && (!e->type || e->type->kind != kind))
        coir_host_stop(who, "the value is %s", e->type ? coir_write_type(e->type, is, sizeof is) : "nil");
    return e;
}

/* ---- what it is ---- */

enum coir_vm_kind coir_vm_kind_of(struct coir_vm_value v)
{
    static const enum coir_vm_kind kinds[COIR_TYPE_KINDS] = {
        [COIR_TYPE_INT] = COIR_VM_INT, [COIR_TYPE_FLOAT] = COIR_VM_FLOAT, [COIR_TYPE_BOOL] = COIR_VM_BOOL,
        [COIR_TYPE_DURATION] = COIR_VM_DURATION, [COIR_TYPE_UNIT] = COIR_VM_NOTHING, [COIR_TYPE_TEXT] = COIR_VM_TEXT,
        [COIR_TYPE_LIST] = COIR_VM_LIST, [COIR_TYPE_MAP] = COIR_VM_MAP, [COIR_TYPE_TUPLE] = COIR_VM_TUPLE,
        [COIR_TYPE_OPTIONAL] = COIR_VM_OPTIONAL, [COIR_TYPE_RECORD] = COIR_VM_RECORD, [COIR_TYPE_SUM] = COIR_VM_SUM,
        [COIR_TYPE_ENUM] = COIR_VM_SUM, [COIR_TYPE_FUNC] = COIR_VM_FUNCTION, [COIR_TYPE_CHAN] = COIR_VM_CHAN,
        [COIR_TYPE_TASK] = COIR_VM_OTHER, [COIR_TYPE_RESOURCE] = COIR_VM_RESOURCE, [COIR_TYPE_GROUP] = COIR_VM_OTHER,
        [COIR_TYPE_SCOPE] = COIR_VM_OTHER, [COIR_TYPE_ACTOR] = COIR_VM_OTHER,
    };
    struct coir_host *h;
    const struct coir_entry *const e = coir_entry_of(v, "coir_vm_kind_of", &h);

    return !e ? COIR_VM_NONE : e->type ? kinds[e->type->kind] : COIR_VM_OPTIONAL;
}

const struct coir_type *coir_vm_type_of(struct coir_vm_value v)
{
    struct coir_host *h;
    const struct coir_entry *const e = coir_entry_of(v, "coir_vm_type_of", &h);

    return e ? e->type : NULL;
}

const char *coir_vm_type_text(const struct coir_type *t, char *to, size_t size)
{
    return coir_write_type(t, to, size);
}

const struct coir_type *coir_vm_type(struct coir_vm *vm, const char *text)
{
    struct coir_host *const h = coir_host_of(vm, "coir_vm_type");
    const struct coir_types *const types = &h->program->loaded->types;
    char written[512];

    for (uint32_t i = 0; i < types->n; i++) {
        if (!strcmp(coir_write_type(&types->all[i], written, sizeof written), text))
            return &types->all[i];
    }
    return NULL;
}

const struct coir_type *coir_vm_type_part(const struct coir_type *t, size_t i)
{
    switch ((enum coir_type_kind)t->kind) {
    case COIR_TYPE_MAP: return i == 0 ? t->key : i == 1 ? t->element : NULL;
    case COIR_TYPE_FUNC: return i < t->nparams ? t->params[i].type : i == t->nparams ? t->element : NULL;
    case COIR_TYPE_RECORD: case COIR_TYPE_TUPLE: return i < t->nfields ? t->fields[i].type : NULL;
    case COIR_TYPE_LIST: case COIR_TYPE_OPTIONAL: case COIR_TYPE_CHAN: return i == 0 ? t->element : NULL;
    default: return NULL;
    }
}

/* ---- words ---- */

static uint64_t word(struct coir_vm_value v, enum coir_type_kind kind, const char *who)
{
    struct coir_host *h;
    const struct coir_entry *const e = entry(v, kind, who, &h);

    return e ? e->word : 0;
}

int64_t coir_vm_as_int(struct coir_vm_value v)
{
    return (int64_t)word(v, COIR_TYPE_INT, "coir_vm_as_int");
}

double coir_vm_as_float(struct coir_vm_value v)
{
    const uint64_t bits = word(v, COIR_TYPE_FLOAT, "coir_vm_as_float");
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

bool coir_vm_as_bool(struct coir_vm_value v)
{
    return word(v, COIR_TYPE_BOOL, "coir_vm_as_bool") != 0;
}

int64_t coir_vm_as_duration(struct coir_vm_value v)
{
    return (int64_t)word(v, COIR_TYPE_DURATION, "coir_vm_as_duration");
}

const char *coir_vm_as_text(struct coir_vm_value v, size_t *length)
{
    struct coir_host *h;
    const struct coir_entry *const e = entry(v, COIR_TYPE_TEXT, "coir_vm_as_text", &h);
    const struct coir_text *const t = e ? coir_text_at(e->word) : NULL;

    if (length)
        *length = t ? t->len : 0;
    return t ? t->bytes : "";
}

/* ---- optionals ---- */

bool coir_vm_is_nil(struct coir_vm_value v)
{
    static const char who[] = "coir_vm_is_nil";
    struct coir_host *h;
    const struct coir_entry *e = coir_entry_of(v, who, &h);

    if (!e || e->state == COIR_ENTRY_NIL)
        return true;
    e = entry(v, COIR_TYPE_OPTIONAL, who, &h);
    return coir_slots_nil(e->type, coir_entry_slots(e));
}

struct coir_vm_value coir_vm_inside(struct coir_vm_value v)
{
    static const char who[] = "coir_vm_inside";
    struct coir_host *h;
    const struct coir_entry *e = coir_entry_of(v, who, &h);

    if (!e && coir_value_failed(v))
        return v;
    if (coir_vm_is_nil(v))
        return (struct coir_vm_value){ v.vm, 0, 0 };
    e = entry(v, COIR_TYPE_OPTIONAL, who, &h);
    return coir_value_part(h, e->state == COIR_ENTRY_LENT, e->type->element,
                           coir_slots_inside(e->type, coir_entry_slots(e)), who);
}

/* ---- what has parts ---- */

static const struct coir_variant *variant_of(const struct coir_entry *e)
{
    const bool plain = e->type->kind == COIR_TYPE_ENUM;

    return &e->type->variants[plain ? e->word : coir_ref(e->word)->aux];
}

static struct coir_entry *composite(struct coir_vm_value v, const char *who, struct coir_host **h)
{
    struct coir_entry *const e = coir_entry_of(v, who, h);
    char is[80];

    if (!e)
        return NULL;
    switch (e->type ? (enum coir_type_kind)e->type->kind : COIR_TYPE_UNIT) {
    case COIR_TYPE_LIST: case COIR_TYPE_MAP: case COIR_TYPE_TUPLE: case COIR_TYPE_RECORD: case COIR_TYPE_SUM:
    case COIR_TYPE_ENUM: case COIR_TYPE_TEXT:
        return e;
    default:
        coir_host_stop(who, "the value is %s", e->type ? coir_write_type(e->type, is, sizeof is) : "nil");
    }
}

static size_t count(const struct coir_entry *e)
{
    switch ((enum coir_type_kind)e->type->kind) {
    case COIR_TYPE_TEXT: return coir_text_at(e->word)->len;
    case COIR_TYPE_LIST: return coir_list_at(e->word)->len;
    case COIR_TYPE_MAP: return coir_map_at(e->word)->live;
    case COIR_TYPE_ENUM: return 0;
    case COIR_TYPE_SUM: return variant_of(e)->nfields;
    default: return e->type->nfields;
    }
}

size_t coir_vm_count(struct coir_vm_value v)
{
    struct coir_host *h;
    const struct coir_entry *const e = composite(v, "coir_vm_count", &h);

    return e ? count(e) : 0;
}

/* Part `i` < count: its type, and *slots. */
static const struct coir_type *part(const struct coir_entry *e, size_t i, const uint64_t **slots)
{
    const struct coir_field *f;

    if (e->type->kind == COIR_TYPE_LIST) {
        *slots = coir_list_slot(coir_list_at(e->word), i, e->type->cell_slots);
        return e->type->element;
    }
    f = e->type->kind == COIR_TYPE_SUM ? &variant_of(e)->fields[i] : &e->type->fields[i];
    *slots = (e->type->kind == COIR_TYPE_TUPLE ? coir_entry_slots(e)
                                               : ((struct coir_box *)coir_ref(e->word))->slots) + f->slot;
    return f->type;
}

/* A place from which what has one owner was taken out is a hole. */
static bool is_whole(const struct coir_type *t, const uint64_t *slots)
{
    for (uint32_t i = 0; i < t->slots; i++) {
        if (t->layout[i].ref && !t->layout[i].nullable && !slots[i])
            return false;
    }
    return true;
}

static struct coir_vm_value part_value(struct coir_host *h, const struct coir_entry *e, size_t i, const char *who)
{
    const uint64_t *slots;
    const struct coir_type *const t = part(e, i, &slots);

    if (!is_whole(t, slots))
        return (struct coir_vm_value){ coir_host_vm(h), 0, 0 };
    return coir_value_part(h, e->state == COIR_ENTRY_LENT, t, slots, who);
}

struct coir_vm_value coir_vm_at(struct coir_vm_value v, size_t i)
{
    static const char who[] = "coir_vm_at";
    struct coir_host *h;
    const struct coir_entry *const e = composite(v, who, &h);

    if (!e)
        return v;
    if (e->type->kind == COIR_TYPE_MAP || e->type->kind == COIR_TYPE_TEXT)
        coir_host_stop(who, "a map and a Text have no parts by number");
    if (i >= count(e))
        return (struct coir_vm_value){ v.vm, 0, 0 };
    return part_value(h, e, i, who);
}

struct coir_vm_value coir_vm_field(struct coir_vm_value v, const char *name)
{
    static const char who[] = "coir_vm_field";
    struct coir_host *h;
    const struct coir_entry *const e = entry(v, COIR_TYPE_RECORD, who, &h);
    char is[80];

    if (!e)
        return v;
    for (uint32_t i = 0; i < e->type->nfields; i++) {
        if (!strcmp(e->type->fields[i].name, name))
            return part_value(h, e, i, who);
    }
    coir_host_stop(who, "%s has no field `%s`", coir_write_type(e->type, is, sizeof is), name);
}

const char *coir_vm_variant_of(struct coir_vm_value v)
{
    static const char who[] = "coir_vm_variant_of";
    struct coir_host *h;
    const struct coir_entry *const e = coir_entry_of(v, who, &h);
    char is[80];

    if (!e)
        return "";
    if (!e->type || (e->type->kind != COIR_TYPE_SUM && e->type->kind != COIR_TYPE_ENUM))
        coir_host_stop(who, "the value is %s", e->type ? coir_write_type(e->type, is, sizeof is) : "nil");
    return variant_of(e)->name;
}

struct coir_vm_value coir_vm_get(struct coir_vm_value map, struct coir_vm_value key)
{
    static const char who[] = "coir_vm_get";
    struct coir_host *h;
    const struct coir_entry *e = entry(map, COIR_TYPE_MAP, who, &h);
    uint64_t slots[COIR_VALUE_SLOTS];
    const struct coir_type *t;
    const uint64_t *found;

    if (!e)
        return map;
    t = e->type;
    if (!coir_value_put(h, key, t->key, slots, who))
        return coir_value_fails(h);
    found = coir_map_find(coir_host_heap(h), coir_map_at(e->word), slots);
    coir_drop_value(coir_host_heap(h), t->key, slots);
    if (!found || !is_whole(t->element, found))
        return (struct coir_vm_value){ map.vm, 0, 0 };
    return coir_value_part(h, e->state == COIR_ENTRY_LENT, t->element, found, who);
}

/* ---- one after the other ---- */

static void replace(struct coir_vm_value *at, struct coir_vm_value v)
{
    if (at) {
        coir_vm_release(*at);
        *at = v;
    } else {
        coir_vm_release(v);
    }
}

static bool next_of_list(struct coir_host *h, const struct coir_entry *e, size_t *at, struct coir_vm_value *value,
                         const char *who)
{
    struct coir_vm_value v = { 0 };
    bool more = *at < count(e);

    if (more)
        v = part_value(h, e, (*at)++, who);
    more &= !coir_value_failed(v);
    replace(value, v);
    return more;
}

static bool next_of_map(struct coir_host *h, const struct coir_entry *e, size_t *at, struct coir_vm_value *key,
                        struct coir_vm_value *value, const char *who)
{
    const struct coir_type *const t = e->type;
    const bool lent = e->state == COIR_ENTRY_LENT;
    uint64_t position = *at;
    const uint64_t *const found = coir_map_next(coir_host_heap(h), coir_map_at(e->word), &position);
    struct coir_vm_value k = { 0 }, v = { 0 };

    *at = position;
    if (found && key)
        k = coir_value_part(h, lent, t->key, found, who);
    if (found && value && is_whole(t->element, found + t->key->slots))
        v = coir_value_part(h, lent, t->element, found + t->key->slots, who);
    replace(key, k);
    replace(value, v);
    return found && !coir_value_failed(k) && !coir_value_failed(v);
}

bool coir_vm_next(struct coir_vm_value v, size_t *at, struct coir_vm_value *key, struct coir_vm_value *value)
{
    static const char who[] = "coir_vm_next";
    struct coir_host *h;
    const struct coir_entry *const e = composite(v, who, &h);

    if (!e) {
        replace(key, (struct coir_vm_value){ 0 });
        replace(value, (struct coir_vm_value){ 0 });
        return false;
    }
    if (e->type->kind == COIR_TYPE_MAP)
        return next_of_map(h, e, at, key, value, who);
    if (e->type->kind != COIR_TYPE_LIST)
        coir_host_stop(who, "the value is neither a list nor a map");
    return next_of_list(h, e, at, value, who);
}

/* ---- resources ---- */

void *coir_vm_state(struct coir_vm_value v, const char *name)
{
    static const char who[] = "coir_vm_state";
    struct coir_host *h;
    const struct coir_entry *const e = entry(v, COIR_TYPE_RESOURCE, who, &h);

    if (!e)
        coir_host_stop(who, "it is no value");
    if (strcmp(e->type->name, name) != 0)
        coir_host_stop(who, "the value is %s, not %s", e->type->name, name);
    return coir_ref(e->word) + 1;
}
