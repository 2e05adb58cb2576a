/* SPDX-License-Identifier: MIT */
/*
 * Types, finished: layouts, and what is known of a type once. See type.h.
 *
 * A value's layout needs those of what lies in it without a reference between, members of tuples and what optionals
 * are of; so types are finished in that order, by a walk with a stack of its own. What lies in cells comes after that,
 * when all values are known. It must never take what an image says for granted: `all` is as the file had it.
 */
#include "vm/type.h"

#include <stdlib.h>
#include <string.h>

#include "vm/cell.h"

struct block {
    struct block *next;
    _Alignas(16) char bytes[];
};

void *coir_types_alloc(struct coir_types *ts, size_t size)
{
    struct block *b;

    if (ts->limit && (size > ts->limit || ts->used > ts->limit - size))
        return NULL;
    b = calloc(1, sizeof *b + size);
    if (!b)
        return NULL;
    ts->used += sizeof *b + size;
    b->next = ts->memory;
    ts->memory = b;
    return b->bytes;
}

void coir_types_free(struct coir_types *ts)
{
    for (struct block *b = ts->memory; b;) {
        struct block *next = b->next;

        free(b);
        b = next;
    }
    memset(ts, 0, sizeof *ts);
}

static const char no_memory[] = "no memory";

/* ---- what a kind needs ---- */

static const char *check_fields(const struct coir_field *fields, uint32_t n, bool named)
{
    if (n && !fields)
        return "fields are missing";
    for (uint32_t i = 0; i < n; i++) {
        if (!fields[i].type || (named && !fields[i].name))
            return "a field without a type or a name";
    }
    return NULL;
}

static const char *check_variants(const struct coir_type *t)
{
    bool payload = false;

    if (!t->name || !t->nvariants || !t->variants)
        return "a sum without a name or variants";
    for (uint32_t i = 0; i < t->nvariants; i++) {
        const char *wrong = check_fields(t->variants[i].fields, t->variants[i].nfields, false);

        if (wrong || !t->variants[i].name)
            return wrong ? wrong : "a variant without a name";
        payload |= t->variants[i].nfields > 0;
    }
    return payload == (t->kind == COIR_TYPE_SUM) ? NULL : "a sum is an enum, or an enum has a payload";
}

static const char *check_actor(const struct coir_type *t)
{
    if (!t->name || !t->element || t->element->kind != COIR_TYPE_RECORD)
        return "an actor without a name or a state";
    if (t->nmessages && !t->messages)
        return "an actor's messages are missing";
    for (uint32_t i = 0; i < t->nmessages; i++) {
        if (!t->messages[i].name)
            return "a message without a name";
    }
    return NULL;
}

static const char *check(const struct coir_type *t, uint32_t index)
{
    if (t->kind >= COIR_TYPE_KINDS)
        return "a type of no known kind";
    if ((t->kind < COIR_TYPE_FIXED || index < COIR_TYPE_FIXED) && t->kind != index)
        return "the fixed types are not the first";
    switch (t->kind) {
    case COIR_TYPE_MAP:
        if (!t->key)
            return "a map without a key";
        __attribute__((fallthrough));
    case COIR_TYPE_LIST:
    case COIR_TYPE_OPTIONAL:
    case COIR_TYPE_CHAN:
    case COIR_TYPE_TASK:
        return t->element ? NULL : "a type without an element";
    case COIR_TYPE_TUPLE:
        return check_fields(t->fields, t->nfields, false);
    case COIR_TYPE_RECORD:
        return t->name ? check_fields(t->fields, t->nfields, true) : "a record without a name";
    case COIR_TYPE_SUM:
    case COIR_TYPE_ENUM:
        return check_variants(t);
    case COIR_TYPE_FUNC:
        if (!t->element || (t->nparams && !t->params))
            return "a function type without a result or parameters";
        for (uint32_t i = 0; i < t->nparams; i++) {
            if (!t->params[i].type || t->params[i].mode > COIR_MODE_MUT)
                return "a parameter without a type or of no known mode";
        }
        return NULL;
    case COIR_TYPE_RESOURCE:
        return t->name && t->resource ? NULL : "a resource that nobody knows";
    case COIR_TYPE_ACTOR:
        return check_actor(t);
    default:
        return NULL;
    }
}

/* ---- values ---- */

static const struct coir_slot a_word[1];

static uint32_t parts_of(const struct coir_type *t)
{
    return t->kind == COIR_TYPE_TUPLE ? t->nfields : t->kind == COIR_TYPE_OPTIONAL ? 1 : 0;
}

static const struct coir_type *part_of(const struct coir_type *t, uint32_t i)
{
    return t->kind == COIR_TYPE_TUPLE ? t->fields[i].type : t->element;
}

static struct coir_slot *one_ref(struct coir_types *ts, const struct coir_type *to, bool nullable)
{
    struct coir_slot *s = coir_types_alloc(ts, sizeof *s);

    if (s)
        *s = (struct coir_slot){ to, nullable };
    return s;
}

static const char *optional_layout(struct coir_types *ts, struct coir_type *t)
{
    const struct coir_type *of = t->element;
    struct coir_slot *s;

    t->slots = coir_type_is_ref(of) ? 1 : 1 + of->slots;
    if (t->slots > COIR_VALUE_SLOTS)
        return "a value of too many slots";
    s = coir_types_alloc(ts, t->slots * sizeof *s);
    if (!s)
        return no_memory;
    for (uint32_t i = 0; i < of->slots; i++)
        s[t->slots - of->slots + i] = (struct coir_slot){ of->layout[i].ref, of->layout[i].ref != NULL };
    t->layout = s;
    return NULL;
}

/* The slots of fields, one after the other. NULL, or what is wrong. */
static const char *fields_layout(struct coir_types *ts, struct coir_field *fields, uint32_t n, uint32_t most,
                                 uint32_t *slots, const struct coir_slot **layout)
{
    struct coir_slot *s;
    uint32_t at = 0;

    for (uint32_t i = 0; i < n; i++) {
        fields[i].slot = at;
        at += fields[i].type->slots;
        if (at > most)
            return "a value of too many slots";
    }
    s = coir_types_alloc(ts, (at ? at : 1) * sizeof *s);
    if (!s)
        return no_memory;
    for (uint32_t i = 0; i < n; i++) {
        if (fields[i].type->slots)
            memcpy(s + fields[i].slot, fields[i].type->layout, fields[i].type->slots * sizeof *s);
    }
    *slots = at;
    *layout = s;
    return NULL;
}

static const char *value_layout(struct coir_types *ts, struct coir_type *t)
{
    switch (t->kind) {
    case COIR_TYPE_UNIT:
        t->slots = 0;
        t->layout = a_word;
        return NULL;
    case COIR_TYPE_INT:
    case COIR_TYPE_FLOAT:
    case COIR_TYPE_BOOL:
    case COIR_TYPE_DURATION:
    case COIR_TYPE_ENUM:
        t->slots = 1;
        t->layout = a_word;
        return NULL;
    case COIR_TYPE_TUPLE:
        return fields_layout(ts, t->fields, t->nfields, COIR_VALUE_SLOTS, &t->slots, &t->layout);
    case COIR_TYPE_OPTIONAL:
        return optional_layout(ts, t);
    default:
        t->slots = 1;
        t->layout = one_ref(ts, t, false);
        return t->layout ? NULL : no_memory;
    }
}

struct step { uint32_t type, part; };
enum { UNSEEN, OPEN, FINISHED };

/* Everything that `root` contains, and it. */
static const char *finish_values(struct coir_types *ts, uint32_t root, char *seen, struct step *stack)
{
    uint32_t depth = 0;

    stack[depth++] = (struct step){ root, 0 };
    seen[root] = OPEN;
    while (depth) {
        struct step *at = &stack[depth - 1];
        struct coir_type *t = &ts->all[at->type];

        if (at->part < parts_of(t)) {
            const uint32_t next = (uint32_t)(part_of(t, at->part++) - ts->all);

            if (seen[next] == OPEN)
                return "a type that contains itself";
            if (seen[next] == UNSEEN) {
                seen[next] = OPEN;
                stack[depth++] = (struct step){ next, 0 };
            }
            continue;
        }
        const char *wrong = value_layout(ts, t);
        if (wrong)
            return wrong;
        t->flat = true;
        for (uint32_t i = 0; i < t->slots; i++)
            t->flat &= !t->layout[i].ref;
        seen[at->type] = FINISHED;
        depth--;
    }
    return NULL;
}

/* ---- cells ---- */

static bool refers(const struct coir_slot *layout, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (layout[i].ref)
            return true;
    }
    return false;
}

static const char *variants_layout(struct coir_types *ts, struct coir_type *t)
{
    for (uint32_t i = 0; i < t->nvariants; i++) {
        struct coir_variant *v = &t->variants[i];
        const char *wrong = fields_layout(ts, v->fields, v->nfields, COIR_CELL_SLOTS, &v->slots, &v->layout);

        if (wrong)
            return wrong;
        t->deep |= refers(v->layout, v->slots);
        if (t->kind == COIR_TYPE_ENUM || v->nfields)
            continue;
        v->constant = coir_types_alloc(ts, sizeof *v->constant);
        if (!v->constant)
            return no_memory;
        *v->constant = (struct coir_counted){ .count = COIR_IMMORTAL, .type = t->index, .aux = i };
    }
    return NULL;
}

static const char *cell_layout(struct coir_types *ts, struct coir_type *t)
{
    struct coir_slot *s;
    const char *wrong = NULL;

    switch (t->kind) {
    case COIR_TYPE_RECORD:
        wrong = fields_layout(ts, t->fields, t->nfields, COIR_CELL_SLOTS, &t->cell_slots, &t->cell);
        break;
    case COIR_TYPE_SUM:
    case COIR_TYPE_ENUM:
        return variants_layout(ts, t);
    case COIR_TYPE_LIST:
        t->cell_slots = t->element->slots;
        t->cell = t->element->layout;
        break;
    case COIR_TYPE_MAP:
        t->cell_slots = t->key->slots + t->element->slots;
        s = coir_types_alloc(ts, (t->cell_slots + 1) * sizeof *s);
        if (!s)
            return no_memory;
        memcpy(s, t->key->layout, t->key->slots * sizeof *s);
        memcpy(s + t->key->slots, t->element->layout, t->element->slots * sizeof *s);
        t->cell = s;
        break;
    default:
        return NULL;
    }
    t->deep = !wrong && refers(t->cell, t->cell_slots);
    return wrong;
}

/* ---- who owns a resource ---- */

/* What a type contains for good or ill, cells or not: its `i`-th part; NULL: no more. */
static const struct coir_type *contained(const struct coir_type *t, uint32_t variant, uint32_t i)
{
    switch (t->kind) {
    case COIR_TYPE_LIST:
    case COIR_TYPE_OPTIONAL:
    case COIR_TYPE_TASK:
        return i == 0 && !variant ? t->element : NULL;
    case COIR_TYPE_MAP:
        return variant || i > 1 ? NULL : i ? t->element : t->key;
    case COIR_TYPE_TUPLE:
    case COIR_TYPE_RECORD:
        return !variant && i < t->nfields ? t->fields[i].type : NULL;
    case COIR_TYPE_SUM:
        return variant < t->nvariants && i < t->variants[variant].nfields ? t->variants[variant].fields[i].type : NULL;
    default:
        return NULL;
    }
}

/* Edges backwards, from what is contained to its containers: first[x] up to first[x + 1] in `from`. */
struct edges { uint32_t *first, *from, *queue; };

static void each_edge(const struct coir_types *ts, struct edges *e, bool count)
{
    for (uint32_t t = 0; t < ts->n; t++) {
        const uint32_t variants = ts->all[t].kind == COIR_TYPE_SUM ? ts->all[t].nvariants : 1;

        for (uint32_t v = 0; v < variants; v++) {
            const struct coir_type *part;

            for (uint32_t i = 0; (part = contained(&ts->all[t], v, i)); i++) {
                if (count)
                    e->first[part - ts->all + 1]++;
                else
                    e->from[--e->first[part - ts->all + 1]] = t;
            }
        }
    }
}

static void spread(const struct coir_types *ts, struct edges *e)
{
    uint32_t n = 0;

    for (uint32_t t = 0; t < ts->n; t++) {
        if (ts->all[t].kind == COIR_TYPE_RESOURCE) {
            ts->all[t].owns = true;
            e->queue[n++] = t;
        }
    }
    for (uint32_t at = 0; at < n; at++) {
        const uint32_t t = e->queue[at];

        for (uint32_t i = e->first[t + 1]; i < e->first[t + 2]; i++) {
            struct coir_type *up = &ts->all[e->from[i]];

            if (!up->owns) {
                up->owns = true;
                e->queue[n++] = e->from[i];
            }
        }
    }
}

static const char *find_owners(struct coir_types *ts)
{
    struct edges e = { calloc(ts->n + 2, sizeof(uint32_t)), NULL, calloc(ts->n + 1, sizeof(uint32_t)) };
    const char *wrong = no_memory;

    if (!e.first || !e.queue)
        goto out;
    each_edge(ts, &e, true);
    for (uint32_t t = 0; t <= ts->n; t++)
        e.first[t + 1] += e.first[t];            /* the end of t - 1's; counted down to its beginning below */
    e.from = calloc(e.first[ts->n + 1] + 1, sizeof(uint32_t));
    if (!e.from)
        goto out;
    each_edge(ts, &e, false);
    spread(ts, &e);
    wrong = NULL;
out:
    free(e.first);
    free(e.from);
    free(e.queue);
    return wrong;
}

const char *coir_types_finish(struct coir_types *ts)
{
    char *seen = calloc(ts->n + 1, 1);
    struct step *stack = calloc(ts->n + 1, sizeof *stack);
    const char *wrong = !seen || !stack ? no_memory : ts->n < COIR_TYPE_FIXED ? "the fixed types are missing" : NULL;

    for (uint32_t i = 0; !wrong && i < ts->n; i++) {
        ts->all[i].index = i;
        wrong = check(&ts->all[i], i);
    }
    for (uint32_t i = 0; !wrong && i < ts->n; i++) {
        if (seen[i] == UNSEEN)
            wrong = finish_values(ts, i, seen, stack);
    }
    for (uint32_t i = 0; !wrong && i < ts->n; i++)
        wrong = cell_layout(ts, &ts->all[i]);
    if (!wrong)
        wrong = find_owners(ts);
    free(seen);
    free(stack);
    return wrong;
}
