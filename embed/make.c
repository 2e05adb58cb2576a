/* SPDX-License-Identifier: MIT */
/*
 * Values that C makes. Each is whole at any time, and of a type of the program; without memory there is none, and what
 * was to go into it is dropped or stays where it was.
 */
#include "embed/inside.h"
#include "vm/chan.h"
#include "vm/program.h"

static struct coir_vm_value of_word(struct coir_vm *vm, enum coir_type_kind kind, uint64_t word, const char *who)
{
    struct coir_host *const h = coir_host_of(vm, who);

    return coir_value_take(h, &h->program->loaded->types.all[kind], &word);
}

struct coir_vm_value coir_vm_int(struct coir_vm *vm, int64_t n)
{
    return of_word(vm, COIR_TYPE_INT, (uint64_t)n, "coir_vm_int");
}

struct coir_vm_value coir_vm_float(struct coir_vm *vm, double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return of_word(vm, COIR_TYPE_FLOAT, bits, "coir_vm_float");
}

struct coir_vm_value coir_vm_bool(struct coir_vm *vm, bool b)
{
    return of_word(vm, COIR_TYPE_BOOL, b, "coir_vm_bool");
}

struct coir_vm_value coir_vm_duration(struct coir_vm *vm, int64_t ns)
{
    return of_word(vm, COIR_TYPE_DURATION, (uint64_t)ns, "coir_vm_duration");
}

struct coir_vm_value coir_vm_nothing(struct coir_vm *vm)
{
    return of_word(vm, COIR_TYPE_UNIT, 0, "coir_vm_nothing");
}

struct coir_vm_value coir_vm_text(struct coir_vm *vm, const char *bytes, size_t length)
{
    struct coir_host *const h = coir_host_of(vm, "coir_vm_text");
    struct coir_text *const t = coir_text_of(coir_host_heap(h), bytes, length);

    return t ? of_word(vm, COIR_TYPE_TEXT, coir_slot_of(t), "coir_vm_text") : coir_value_fails(h);
}

struct coir_vm_value coir_vm_nil(struct coir_vm *vm)
{
    return coir_value_take(coir_host_of(vm, "coir_vm_nil"), NULL, NULL);
}

/* ---- of a type ---- */

static struct coir_host *of_kind(struct coir_vm *vm, const struct coir_type *t, enum coir_type_kind kind,
                                 enum coir_type_kind or, const char *who)
{
    struct coir_host *const h = coir_host_of(vm, who);
    const struct coir_types *const types = &h->program->loaded->types;
    char is[80];

    if (!t || t < types->all || t >= types->all + types->n)
        coir_host_stop(who, "it is no type of this program");
    if (t->kind != kind && t->kind != or)
        coir_host_stop(who, "the type is %s", coir_write_type(t, is, sizeof is));
    return h;
}

static struct coir_vm_value of_cell(struct coir_host *h, const struct coir_type *t, const void *cell)
{
    const uint64_t slot = coir_slot_of(cell);

    return cell ? coir_value_take(h, t, &slot) : coir_value_fails(h);
}

struct coir_vm_value coir_vm_list(struct coir_vm *vm, const struct coir_type *t)
{
    struct coir_host *const h = of_kind(vm, t, COIR_TYPE_LIST, COIR_TYPE_LIST, "coir_vm_list");

    return of_cell(h, t, coir_list_new(coir_host_heap(h), t, 0));
}

struct coir_vm_value coir_vm_map(struct coir_vm *vm, const struct coir_type *t)
{
    struct coir_host *const h = of_kind(vm, t, COIR_TYPE_MAP, COIR_TYPE_MAP, "coir_vm_map");

    return of_cell(h, t, coir_map_new(coir_host_heap(h), t));
}

struct coir_vm_value coir_vm_chan(struct coir_vm *vm, const struct coir_type *t, size_t n)
{
    struct coir_host *const h = of_kind(vm, t, COIR_TYPE_CHAN, COIR_TYPE_CHAN, "coir_vm_chan");

    return of_cell(h, t, coir_chan_new(coir_host_heap(h), t, n));
}

/* ---- of fields ---- */

/* All of them, or none: false, there is no memory for one. */
static bool put_fields(struct coir_host *h, const struct coir_field *fields, size_t nfields,
                       const struct coir_vm_value *values, size_t n, uint64_t *to, const char *who)
{
    size_t done = 0;

    if (n != nfields)
        coir_host_stop(who, "there are %zu fields, not %zu", nfields, n);
    while (done < n && coir_value_put(h, values[done], fields[done].type, to + fields[done].slot, who))
        done++;
    if (done == n)
        return true;
    while (done-- > 0)
        coir_drop_value(coir_host_heap(h), fields[done].type, to + fields[done].slot);
    return false;
}

/* A cell with these fields. NULL: no memory. */
static struct coir_box *box_of(struct coir_host *h, const struct coir_type *t, uint32_t aux, uint32_t slots,
                               const struct coir_field *fields, size_t nfields, const struct coir_vm_value *values,
                               size_t n, const char *who)
{
    struct coir_box *const box = coir_box_new(coir_host_heap(h), t, aux, slots);

    if (!box)
        return NULL;
    if (put_fields(h, fields, nfields, values, n, box->slots, who))
        return box;
    coir_heap_free(coir_host_heap(h), box, sizeof *box + slots * sizeof(uint64_t));
    return NULL;
}

struct coir_vm_value coir_vm_make(struct coir_vm *vm, const struct coir_type *t, const struct coir_vm_value *fields,
                                  size_t n)
{
    static const char who[] = "coir_vm_make";
    struct coir_host *const h = of_kind(vm, t, COIR_TYPE_RECORD, COIR_TYPE_TUPLE, who);
    uint64_t slots[COIR_VALUE_SLOTS];

    if (t->kind == COIR_TYPE_RECORD)
        return of_cell(h, t, box_of(h, t, 0, t->cell_slots, t->fields, t->nfields, fields, n, who));
    return put_fields(h, t->fields, t->nfields, fields, n, slots, who) ? coir_value_take(h, t, slots)
                                                                       : coir_value_fails(h);
}

struct coir_vm_value coir_vm_variant(struct coir_vm *vm, const struct coir_type *t, const char *name,
                                     const struct coir_vm_value *fields, size_t n)
{
    static const char who[] = "coir_vm_variant";
    struct coir_host *const h = of_kind(vm, t, COIR_TYPE_SUM, COIR_TYPE_ENUM, who);
    uint64_t number = 0;

    while (number < t->nvariants && strcmp(t->variants[number].name, name) != 0)
        number++;
    if (number == t->nvariants)
        coir_host_stop(who, "%s has no variant `%s`", t->name, name);
    const struct coir_variant *const v = &t->variants[number];
    if (v->nfields == 0 && n)
        coir_host_stop(who, "`%s` has no fields", name);
    if (t->kind == COIR_TYPE_ENUM)
        return coir_value_take(h, t, &number);
    if (v->constant)
        return of_cell(h, t, v->constant);
    return of_cell(h, t, box_of(h, t, (uint32_t)number, v->slots, v->fields, v->nfields, fields, n, who));
}

/* ---- changing what has parts ---- */

static struct coir_entry *changed(struct coir_vm_value v, enum coir_type_kind kind, struct coir_host **h,
                                  const char *who)
{
    struct coir_entry *const e = coir_entry_of(v, who, h);
    char is[80];

    if (e && (!e->type || e->type->kind != kind))
        coir_host_stop(who, "the value is %s", e->type ? coir_write_type(e->type, is, sizeof is) : "nil");
    if (e)
        coir_entry_own(*h, e, who);
    return e;
}

bool coir_vm_push(struct coir_vm_value list, struct coir_vm_value element)
{
    static const char who[] = "coir_vm_push";
    struct coir_host *h;
    struct coir_entry *const e = changed(list, COIR_TYPE_LIST, &h, who);
    uint64_t slots[COIR_VALUE_SLOTS];
    struct coir_list *l;

    if (!e)
        return false;
    const struct coir_type *const t = e->type;
    if (coir_value_fits(h, element, t->element, who) == COIR_FITS_NO_MEMORY
        || !coir_list_own(coir_host_heap(h), &e->word, 1)) {
        coir_value_fails(h);
        return false;
    }
    if (!coir_value_put(h, element, t->element, slots, who))
        return false;
    l = coir_list_at(e->word);
    memcpy(coir_list_slot(l, l->len++, t->cell_slots), slots, t->cell_slots * sizeof *slots);
    return true;
}

bool coir_vm_put(struct coir_vm_value map, struct coir_vm_value key, struct coir_vm_value value)
{
    static const char who[] = "coir_vm_put";
    struct coir_host *h;
    struct coir_entry *const e = changed(map, COIR_TYPE_MAP, &h, who);
    struct coir_heap *heap;
    uint64_t k[COIR_VALUE_SLOTS], v[COIR_VALUE_SLOTS];

    if (!e)
        return false;
    heap = coir_host_heap(h);
    const struct coir_type *const t = e->type;
    if (coir_value_fits(h, key, t->key, who) == COIR_FITS_NO_MEMORY
        || coir_value_fits(h, value, t->element, who) == COIR_FITS_NO_MEMORY || !coir_map_own(heap, &e->word)) {
        coir_value_fails(h);
        return false;
    }
    coir_value_put(h, key, t->key, k, who);
    coir_value_put(h, value, t->element, v, who);
    if (coir_map_put(heap, coir_map_at(e->word), k, v))
        return true;
    coir_drop_value(heap, t->key, k);
    coir_drop_value(heap, t->element, v);
    coir_value_fails(h);
    return false;
}

/* ---- resources ---- */

struct coir_vm_value coir_vm_new(struct coir_vm *vm, const char *name, void **state)
{
    static const char who[] = "coir_vm_new";
    struct coir_host *const h = coir_host_of(vm, who);
    const struct coir_types *const types = &h->program->loaded->types;
    const struct coir_type *t = NULL;
    struct coir_counted *c;
    struct coir_vm_value v;

    *state = NULL;
    for (uint32_t i = 0; !t && i < types->n; i++) {
        if (types->all[i].kind == COIR_TYPE_RESOURCE && !strcmp(types->all[i].name, name))
            t = &types->all[i];
    }
    if (!t)
        coir_host_stop(who, "the program has no resource %s", name);
    if (!coir_host_is_own(t->resource))
        coir_host_stop(who, "%s is not of the host's modules", name);
    c = coir_resource_new(coir_host_heap(h), t);
    if (!c)
        return coir_value_fails(h);
    c->aux = COIR_HOST_UNSAID;
    v = of_cell(h, t, c);
    if (!coir_value_failed(v)) {
        c->aux = 0;
        *state = c + 1;
    }
    return v;
}
