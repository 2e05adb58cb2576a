/* SPDX-License-Identifier: MIT */
/*
 * Types on their way into the image: what each type of the program is there, and how its values lie in slots. A type
 * is declared when somebody asks for it, and what it holds is told to the builder before whoever asked goes on: types
 * that hold themselves find themselves declared. The nesting of a type as it is written is bounded by
 * COIR_TY_SIZE_MOST, so declaring recurses; a chain of declarations is not, so what they hold comes one after the
 * other, from a list.
 */
#include <stdio.h>

#include "lang/emit_inside.h"

coir_ty coir_e_ty(struct coir_e *e, coir_ty ty)
{
    const uint32_t n = e->fn ? e->fn->ntypes : 0;

    if (!coir_ty_get(e->table, ty)->open)
        return ty;
    ty = coir_ty_apply(e->table, ty, n, e->args);
    if (ty == COIR_TY_ERROR && e->table->too_large)
        coir_e_too_large(e, COIR_E_INSTANCES, "a generic function is called with types that grow without end here",
                         "it calls itself, or others that call it, with a type that has its own in it");
    if (ty == COIR_TY_ERROR)
        coir_e_no_memory(e);
    return ty;
}

static uint32_t index_of(struct coir_e *e, coir_ty ty)
{
    return coir_e_type(e, ty)->index;
}

static uint32_t tuple_index(struct coir_e *e, const struct coir_ty_info *info)
{
    uint32_t *const list = coir_e_take(e, info->n * sizeof *list);
    const coir_ty *const args = info->args;
    const uint32_t n = info->n;

    for (uint32_t i = 0; i < n; i++)
        list[i] = index_of(e, args[i]);
    return coir_build_tuple(e->build, list, n);
}

static uint32_t func_index(struct coir_e *e, coir_ty ty)
{
    struct coir_e_callee c = coir_e_callee_value(e, ty, 0);

    return coir_build_func(e->build, coir_e_build_params(e, &c, false), c.n, c.result->index);
}

static uint32_t declared(struct coir_e *e, coir_ty ty, const struct coir_ty_decl *d)
{
    char name[512];

    if (ty == e->program->trap)
        return COIR_INDEX_TRAP;
    if (d->kind == COIR_DECL_ACTOR)
        return coir_build_actor_type(e->build, d->name, index_of(e, coir_ty_decl(e->table, d->state, NULL)));
    if (d->kind == COIR_DECL_RESOURCE) {
        snprintf(name, sizeof name, "%s.%s", d->module, d->name);
        return coir_build_resource(e->build, name);
    }
    return coir_build_numbered(e->build, d->kind == COIR_DECL_RECORD ? COIR_TYPE_RECORD
                                         : d->plain ? COIR_TYPE_ENUM : COIR_TYPE_SUM, d->name, ty);
}

/* Records and sums only by their names: what they hold comes later. */
static uint32_t make_index(struct coir_e *e, coir_ty ty)
{
    const struct coir_ty_info info = *coir_ty_get(e->table, ty);

    switch (info.kind) {
    case COIR_TY_INT: return COIR_TYPE_INT;
    case COIR_TY_FLOAT: return COIR_TYPE_FLOAT;
    case COIR_TY_BOOL: return COIR_TYPE_BOOL;
    case COIR_TY_DURATION: return COIR_TYPE_DURATION;
    case COIR_TY_TEXT: return COIR_TYPE_TEXT;
    case COIR_TY_GROUP: return COIR_INDEX_GROUP;
    case COIR_TY_LIST: return coir_build_list(e->build, index_of(e, info.args[0]));
    case COIR_TY_MAP: return coir_build_map(e->build, index_of(e, info.args[0]), index_of(e, info.args[1]));
    case COIR_TY_OPTION: return coir_build_optional(e->build, index_of(e, info.args[0]));
    case COIR_TY_CHAN: return coir_build_chan(e->build, index_of(e, info.args[0]));
    case COIR_TY_TASK: return coir_build_task(e->build, index_of(e, info.args[0]));
    case COIR_TY_TUPLE: return tuple_index(e, &info);
    case COIR_TY_FN: return func_index(e, ty);
    case COIR_TY_DECL: return declared(e, ty, info.decl);
    default: return COIR_TYPE_UNIT;         /* (), and what never comes */
    }
}

static void fill_record(struct coir_e *e, const struct coir_e_type *t, const struct coir_ty_decl *d)
{
    for (uint32_t i = 0; i < d->nfields; i++)
        coir_build_field(e->build, t->index, d->fields[i].name, index_of(e, coir_ty_field(e->table, t->ty, i)));
}

static void fill_sum(struct coir_e *e, const struct coir_e_type *t, const struct coir_ty_decl *d)
{
    uint32_t *index = NULL;

    for (uint32_t v = 0; v < d->nvariants; v++) {
        const struct coir_ty_variant *const variant = &d->variants[v];

        /* What a payload needs is declared first: a variant's values follow it without anything between. */
        index = coir_e_take(e, variant->nfields * sizeof *index);
        for (uint32_t i = 0; i < variant->nfields; i++)
            index[i] = index_of(e, coir_ty_payload(e->table, t->ty, v, i));
        coir_build_variant(e->build, t->index, variant->name);
        for (uint32_t i = 0; i < variant->nfields; i++)
            coir_build_payload(e->build, t->index, variant->fields[i].name ? variant->fields[i].name : "", index[i]);
    }
}

static void fill_actor(struct coir_e *e, const struct coir_e_type *t, const struct coir_ty_decl *d)
{
    for (uint32_t i = 0; i < d->nmessages; i++)
        coir_build_message(e->build, t->index, d->messages[i].name,
                           coir_e_instance(e, COIR_JOB_FN, d->messages[i].fn, NULL, 0));
}

static void fill(struct coir_e *e, struct coir_e_type *t)
{
    const struct coir_ty_decl *const d = coir_ty_get(e->table, t->ty)->decl;

    if (t->index == COIR_INDEX_TRAP || !d)
        return;
    if (d->kind == COIR_DECL_RECORD)
        fill_record(e, t, d);
    else if (d->kind == COIR_DECL_SUM)
        fill_sum(e, t, d);
    else if (d->kind == COIR_DECL_ACTOR)
        fill_actor(e, t, d);
}

/* Those that come meanwhile are for the one who is at it. */
static void fill_all(struct coir_e *e)
{
    struct coir_e_type *t;

    if (e->filling)
        return;
    e->filling = true;
    while ((t = e->empty)) {
        e->empty = t->empty;
        fill(e, t);
    }
    e->filling = false;
}

static void make_room(struct coir_e *e, coir_ty ty)
{
    const uint32_t n = ty + 64;

    struct coir_e_type **grown;

    if (ty < e->ntypes)
        return;
    grown = coir_budget_resize(e->program->memory, e->types, e->ntypes * sizeof *grown, n * sizeof *grown);
    if (!grown)
        coir_e_no_memory(e);
    e->types = grown;
    e->ntypes = n;
}

const struct coir_e_type *coir_e_type(struct coir_e *e, coir_ty ty)
{
    struct coir_e_type *t;
    uint32_t index;

    ty = coir_e_ty(e, ty);
    make_room(e, ty);
    if (e->types[ty])
        return e->types[ty];
    index = make_index(e, ty);
    make_room(e, ty);
    if (!e->types[ty]) {
        t = coir_e_take(e, sizeof *t);
        t->ty = ty;
        t->index = index;
        e->types[ty] = t;
        t->slots = coir_build_slots(e->build, index);
        t->flat = true;
        for (uint32_t i = 0; i < t->slots; i++)
            t->flat = t->flat && !coir_build_slot(e->build, index, i).is_ref;
        t->empty = e->empty;
        e->empty = t;
    }
    fill_all(e);
    return e->types[ty];
}

enum coir_ty_kind coir_e_kind(struct coir_e *e, const struct coir_e_type *t)
{
    return coir_ty_kind(e->table, t->ty);
}

struct coir_build_slot coir_e_slot(struct coir_e *e, const struct coir_e_type *t, uint32_t i)
{
    return coir_build_slot(e->build, t->index, i);
}

bool coir_e_is_bare(struct coir_e *e, const struct coir_e_type *optional)
{
    return optional->slots == 1 && coir_e_slot(e, optional, 0).is_ref;
}

const struct coir_e_type *coir_e_arg(struct coir_e *e, const struct coir_e_type *t, uint32_t i)
{
    return coir_e_type(e, coir_ty_get(e->table, t->ty)->args[i]);
}

const struct coir_e_type *coir_e_field(struct coir_e *e, const struct coir_e_type *record, uint32_t i, uint32_t *slot)
{
    *slot = 0;
    for (uint32_t k = 0; k < i; k++)
        *slot += coir_e_type(e, coir_ty_field(e->table, record->ty, k))->slots;
    return coir_e_type(e, coir_ty_field(e->table, record->ty, i));
}

const struct coir_e_type *coir_e_payload(struct coir_e *e, const struct coir_e_type *sum, uint32_t variant, uint32_t i,
                                         uint32_t *slot)
{
    *slot = 0;
    for (uint32_t k = 0; k < i; k++)
        *slot += coir_e_type(e, coir_ty_payload(e->table, sum->ty, variant, k))->slots;
    return coir_e_type(e, coir_ty_payload(e->table, sum->ty, variant, i));
}

uint32_t coir_e_payload_count(struct coir_e *e, const struct coir_e_type *sum, uint32_t variant)
{
    return coir_ty_get(e->table, sum->ty)->decl->variants[variant].nfields;
}

const struct coir_e_type *coir_e_element(struct coir_e *e, const struct coir_e_type *tuple, uint32_t i, uint32_t *slot)
{
    *slot = 0;
    for (uint32_t k = 0; k < i; k++)
        *slot += coir_e_arg(e, tuple, k)->slots;
    return coir_e_arg(e, tuple, i);
}
