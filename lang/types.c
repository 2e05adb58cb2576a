/* SPDX-License-Identifier: MIT */
/*
 * The table of types: see lang/types.h. An entry is never changed once it is made, but for what it remembers of itself
 * (`owned`). Nothing here reports; who gets COIR_TY_ERROR looks at `too_large`.
 */
#include "lang/types.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/assert.h"

static uint32_t mix(uint32_t h, uint32_t x)
{
    h = (h ^ x) * 0x9e3779b1u;
    return h ^ h >> 15;
}

static uint32_t hash_of(const struct coir_ty_info *i)
{
    uint32_t h = mix(i->kind + 1, i->n);

    for (uint32_t k = 0; k < i->n; k++)
        h = mix(h, i->args[k]);
    for (uint32_t k = 0; i->modes && k + 1 < i->n; k++)
        h = mix(h, i->modes[k]);
    return mix(mix(h, i->param), i->decl ? i->decl->number + 1 : 0);
}

static bool same(const struct coir_ty_info *a, const struct coir_ty_info *b)
{
    return a->kind == b->kind && a->n == b->n && a->param == b->param && a->decl == b->decl &&
           (a->n == 0 || !memcmp(a->args, b->args, a->n * sizeof *a->args)) &&
           (!a->modes || !memcmp(a->modes, b->modes, a->n - 1));
}

static bool more_buckets(struct coir_ty_table *t)
{
    const uint32_t n = t->nbuckets ? t->nbuckets * 2 : 256;
    uint32_t *const grown = coir_budget_resize(t->memory, NULL, 0, n * sizeof *grown);

    if (!grown)
        return false;
    coir_budget_resize(t->memory, t->buckets, t->nbuckets * sizeof *grown, 0);
    t->buckets = grown;
    t->nbuckets = n;
    for (uint32_t i = 1; i < t->count; i++) {       /* 0 is COIR_TY_ERROR, which nobody looks up */
        uint32_t *const bucket = &grown[t->list[i].hash & (n - 1)];
        t->list[i].next = *bucket;
        *bucket = i;
    }
    return true;
}

static bool measure(struct coir_ty_table *t, struct coir_ty_info *i)
{
    uint32_t size = 1;

    i->open = i->kind == COIR_TY_PARAM;
    for (uint32_t k = 0; k < i->n; k++) {
        const struct coir_ty_info *const arg = &t->list[i->args[k]];
        size += arg->size;
        i->open |= arg->open;
        i->bad |= arg->bad;
        i->holes |= arg->holes;
        if (size > COIR_TY_SIZE_MOST) {
            t->too_large = true;
            return false;
        }
    }
    i->size = (uint16_t)size;
    return true;
}

/* The type that is like `i`, whose arrays are copied if it is new. */
static coir_ty intern(struct coir_ty_table *t, struct coir_ty_info i)
{
    const uint32_t h = i.hash = hash_of(&i);

    for (uint32_t at = t->buckets[h & (t->nbuckets - 1)]; at; at = t->list[at].next) {
        if (t->list[at].hash == h && same(&t->list[at], &i))
            return at;
    }
    if (!measure(t, &i) || !coir_budget_grow(t->memory, &t->list, &t->room, t->count, sizeof *t->list))
        return COIR_TY_ERROR;
    if (i.n) {
        coir_ty *const args = coir_arena_take(&t->arena, i.n * sizeof *args);
        if (!args)
            return COIR_TY_ERROR;
        i.args = memcpy(args, i.args, i.n * sizeof *args);
    }
    if (i.modes) {
        uint8_t *const modes = coir_arena_take(&t->arena, i.n);
        if (!modes)
            return COIR_TY_ERROR;
        i.modes = memcpy(modes, i.modes, i.n - 1);
    }
    if (t->count >= t->nbuckets && !more_buckets(t))
        return COIR_TY_ERROR;
    i.next = t->buckets[h & (t->nbuckets - 1)];
    t->list[t->count] = i;
    return t->buckets[h & (t->nbuckets - 1)] = t->count++;
}

int coir_ty_init(struct coir_ty_table *t, struct coir_budget *m)
{
    *t = (struct coir_ty_table){ .memory = m, .arena = { .memory = m } };
    if (!coir_budget_grow(m, &t->list, &t->room, 0, sizeof *t->list) || !more_buckets(t))
        return -ENOMEM;
    t->list[0] = (struct coir_ty_info){ .kind = COIR_TY_ERROR, .bad = true, .size = 1 };
    t->count = 1;
    for (uint32_t kind = 1; kind < COIR_TY_SIMPLE_KINDS; kind++) {
        if (intern(t, (struct coir_ty_info){ .kind = kind, .holes = kind == COIR_TY_HOLE }) != kind)
            return -ENOMEM;
    }
    return 0;
}

void coir_ty_free(struct coir_ty_table *t)
{
    coir_budget_resize(t->memory, t->list, t->room * sizeof *t->list, 0);
    coir_budget_resize(t->memory, t->buckets, t->nbuckets * sizeof *t->buckets, 0);
    coir_budget_resize(t->memory, t->decls, t->decls_room * sizeof *t->decls, 0);
    coir_arena_free(&t->arena);
    *t = (struct coir_ty_table){ .memory = t->memory };
}

/* ---- making ---- */

static coir_ty made(struct coir_ty_table *t, enum coir_ty_kind kind, uint32_t n, const coir_ty *args)
{
    return intern(t, (struct coir_ty_info){ .kind = kind, .n = n, .args = args });
}

coir_ty coir_ty_list(struct coir_ty_table *t, coir_ty element)
{
    return made(t, COIR_TY_LIST, 1, &element);
}

coir_ty coir_ty_map(struct coir_ty_table *t, coir_ty key, coir_ty value)
{
    return made(t, COIR_TY_MAP, 2, (coir_ty[]){ key, value });
}

coir_ty coir_ty_option(struct coir_ty_table *t, coir_ty inside)
{
    return made(t, COIR_TY_OPTION, 1, &inside);
}

coir_ty coir_ty_chan(struct coir_ty_table *t, coir_ty element)
{
    return made(t, COIR_TY_CHAN, 1, &element);
}

coir_ty coir_ty_task(struct coir_ty_table *t, coir_ty result)
{
    return made(t, COIR_TY_TASK, 1, &result);
}

coir_ty coir_ty_tuple(struct coir_ty_table *t, uint32_t n, const coir_ty *elements)
{
    COIR_ASSERT(n >= 2);
    return made(t, COIR_TY_TUPLE, n, elements);
}

coir_ty coir_ty_fn(struct coir_ty_table *t, uint32_t n, const coir_ty *params_and_result, const uint8_t *modes)
{
    bool lends = true;

    for (uint32_t i = 0; modes && i < n; i++)
        lends &= modes[i] == 0;
    return intern(t, (struct coir_ty_info){ .kind = COIR_TY_FN, .n = n + 1, .args = params_and_result,
                                            .modes = lends ? NULL : modes });
}

coir_ty coir_ty_decl(struct coir_ty_table *t, struct coir_ty_decl *decl, const coir_ty *args)
{
    return intern(t, (struct coir_ty_info){ .kind = COIR_TY_DECL, .n = decl->ntypes, .args = args, .decl = decl });
}

coir_ty coir_ty_param(struct coir_ty_table *t, uint32_t number)
{
    return intern(t, (struct coir_ty_info){ .kind = COIR_TY_PARAM, .param = number });
}

/* ---- instances ---- */

coir_ty coir_ty_apply(struct coir_ty_table *t, coir_ty ty, uint32_t n, const coir_ty *args)
{
    const struct coir_ty_info i = t->list[ty];          /* a copy: the list may move */
    struct coir_ty_info to = i;

    if (!i.open)
        return ty;
    if (i.kind == COIR_TY_PARAM)
        return i.param < n ? args[i.param] : ty;
    COIR_ASSERT(i.n <= COIR_TY_SIZE_MOST);
    coir_ty few[8];
    coir_ty *const applied = i.n <= 8 ? few : coir_budget_resize(t->memory, NULL, 0, i.n * sizeof *applied);
    if (!applied)
        return COIR_TY_ERROR;
    coir_ty result = COIR_TY_ERROR;
    uint32_t k = 0;
    for (; k < i.n; k++) {
        applied[k] = coir_ty_apply(t, i.args[k], n, args);
        if (applied[k] == COIR_TY_ERROR && i.args[k] != COIR_TY_ERROR && !i.bad)
            break;
    }
    to.args = applied;
    to.owned = 0;
    to.open = to.bad = to.holes = false;
    if (k == i.n)
        result = intern(t, to);
    if (applied != few)
        coir_budget_resize(t->memory, applied, i.n * sizeof *applied, 0);
    return result;
}

coir_ty coir_ty_field(struct coir_ty_table *t, coir_ty ty, uint32_t i)
{
    const struct coir_ty_info *const info = &t->list[ty];

    COIR_ASSERT(info->kind == COIR_TY_DECL && i < info->decl->nfields);
    return coir_ty_apply(t, info->decl->fields[i].type, info->n, info->args);
}

coir_ty coir_ty_payload(struct coir_ty_table *t, coir_ty ty, uint32_t variant, uint32_t i)
{
    const struct coir_ty_info *const info = &t->list[ty];

    COIR_ASSERT(info->kind == COIR_TY_DECL && variant < info->decl->nvariants);
    COIR_ASSERT(i < info->decl->variants[variant].nfields);
    return coir_ty_apply(t, info->decl->variants[variant].fields[i].type, info->n, info->args);
}
