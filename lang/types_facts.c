/* SPDX-License-Identifier: MIT */
/*
 * What is true of a type: whether it is owned, compared, ordered, a key; and how it is written. What holds of a
 * declaration is worked out once, for all of them together, since they may contain each other: coir_ty_settle.
 */
#include "lang/types.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/assert.h"

/* ---- declarations ---- */

struct settling {
    struct coir_ty_table *t;
    struct coir_ty_decl *of;
    bool changed;
};

static void set(struct settling *s, bool *flag)
{
    s->changed |= !*flag;
    *flag = true;
}

/* A value of s->of holds one of `ty`, or compares it; of what a channel carries it holds nothing. */
static void settle_type(struct settling *s, coir_ty ty)
{
    const struct coir_ty_info *const i = &s->t->list[ty];

    switch (i->kind) {
    case COIR_TY_PARAM:
        if (i->param < s->of->ntypes)
            set(s, &s->of->holds[i->param]);
        break;
    case COIR_TY_FN:
        set(s, &s->of->incomparable);
        break;
    case COIR_TY_CHAN:
        break;
    case COIR_TY_DECL:
        if (i->decl->owned)
            set(s, &s->of->owned);
        if (i->decl->incomparable)
            set(s, &s->of->incomparable);
        for (uint32_t k = 0; k < i->n; k++) {
            if (i->decl->holds[k])
                settle_type(s, i->args[k]);
        }
        break;
    default:
        for (uint32_t k = 0; k < i->n; k++)
            settle_type(s, i->args[k]);
    }
}

static void settle_decl(struct settling *s, struct coir_ty_decl *d)
{
    s->of = d;
    if (d->kind == COIR_DECL_RESOURCE) {
        set(s, &d->owned);
        set(s, &d->incomparable);
    }
    for (uint32_t i = 0; i < d->nfields; i++)
        settle_type(s, d->fields[i].type);
    for (uint32_t v = 0; v < d->nvariants; v++) {
        for (uint32_t i = 0; i < d->variants[v].nfields; i++)
            settle_type(s, d->variants[v].fields[i].type);
    }
}

void coir_ty_settle(struct coir_ty_table *t)
{
    struct settling s = { .t = t, .changed = true };

    /* Downwards, then upwards: programs declare in either order, and a chain of types settles in one round. */
    for (bool down = true; s.changed; down = !down) {
        s.changed = false;
        for (uint32_t i = 0; i < t->ndecls; i++)
            settle_decl(&s, t->decls[down ? i : t->ndecls - 1 - i]);
    }
}

/* ---- facts ---- */

enum { NOT_ASKED, IS_OWNED, IS_VALUE };

bool coir_ty_is_resource(struct coir_ty_table *t, coir_ty ty)
{
    const struct coir_ty_info *const i = &t->list[ty];
    bool owned = false;

    if (i->owned != NOT_ASKED)
        return i->owned == IS_OWNED;
    if (i->kind == COIR_TY_DECL)
        owned = i->decl->owned;
    for (uint32_t k = 0; !owned && k < i->n; k++) {
        if (i->kind != COIR_TY_FN && i->kind != COIR_TY_CHAN && (i->kind != COIR_TY_DECL || i->decl->holds[k]))
            owned = coir_ty_is_resource(t, i->args[k]);
    }
    t->list[ty].owned = owned ? IS_OWNED : IS_VALUE;
    return owned;
}

bool coir_ty_is_comparable(struct coir_ty_table *t, coir_ty ty, const struct coir_ty_param *params)
{
    const struct coir_ty_info *const i = &t->list[ty];

    if (i->kind == COIR_TY_FN || i->kind == COIR_TY_GROUP || (i->kind == COIR_TY_DECL && i->decl->incomparable))
        return false;
    if (i->kind == COIR_TY_PARAM)
        return !params || params[i->param].bound != COIR_BOUND_NONE || params[i->param].compared;
    if (i->kind == COIR_TY_CHAN || i->kind == COIR_TY_TASK)         /* identity */
        return !coir_ty_is_resource(t, ty);
    for (uint32_t k = 0; k < i->n; k++) {
        if ((i->kind != COIR_TY_DECL || i->decl->holds[k]) && !coir_ty_is_comparable(t, i->args[k], params))
            return false;
    }
    return true;
}

static bool all(const struct coir_ty_table *t, coir_ty ty, const struct coir_ty_param *params,
                bool (*is)(const struct coir_ty_table *, coir_ty, const struct coir_ty_param *))
{
    for (uint32_t k = 0; k < t->list[ty].n; k++) {
        if (!is(t, t->list[ty].args[k], params))
            return false;
    }
    return true;
}

bool coir_ty_is_ordered(const struct coir_ty_table *t, coir_ty ty, const struct coir_ty_param *params)
{
    const struct coir_ty_info *const i = &t->list[ty];

    switch (i->kind) {
    case COIR_TY_ERROR: case COIR_TY_NEVER: case COIR_TY_INT: case COIR_TY_FLOAT: case COIR_TY_BOOL:
    case COIR_TY_DURATION: case COIR_TY_TEXT:
        return true;
    case COIR_TY_PARAM:
        return params && params[i->param].bound == COIR_BOUND_ORD;
    case COIR_TY_TUPLE:
        return all(t, ty, params, coir_ty_is_ordered);
    default:
        return false;
    }
}

bool coir_ty_is_key(const struct coir_ty_table *t, coir_ty ty, const struct coir_ty_param *params)
{
    const struct coir_ty_info *const i = &t->list[ty];

    switch (i->kind) {
    case COIR_TY_ERROR: case COIR_TY_NEVER: case COIR_TY_INT: case COIR_TY_BOOL: case COIR_TY_DURATION:
    case COIR_TY_TEXT:
        return true;
    case COIR_TY_DECL:
        return i->decl->plain;
    case COIR_TY_PARAM:
        return params && params[i->param].bound == COIR_BOUND_KEY;
    case COIR_TY_TUPLE:
        return all(t, ty, params, coir_ty_is_key);
    default:
        return false;
    }
}

/* ---- text ---- */

struct writer {
    const struct coir_ty_table *t;
    const char *module;
    const struct coir_ty_param *params;
    char *to;
    size_t size, n;
};

static void put(struct writer *w, const char *text)
{
    for (; *text && w->n + 1 < w->size; text++)
        w->to[w->n++] = *text;
}

static void write_type(struct writer *w, coir_ty ty);

static void write_args(struct writer *w, const char *open, const coir_ty *args, uint32_t n, const char *close)
{
    put(w, open);
    for (uint32_t i = 0; i < n; i++) {
        put(w, i ? ", " : "");
        write_type(w, args[i]);
    }
    put(w, close);
}

static void write_fn(struct writer *w, const struct coir_ty_info *i)
{
    static const char *const modes[] = { "", "own ", "mut " };

    put(w, "fn(");
    for (uint32_t k = 0; k + 1 < i->n; k++) {
        put(w, k ? ", " : "");
        put(w, modes[i->modes ? i->modes[k] : 0]);
        write_type(w, i->args[k]);
    }
    put(w, ")");
    if (i->args[i->n - 1] != COIR_TY_UNIT) {
        put(w, " -> ");
        write_type(w, i->args[i->n - 1]);
    }
}

static void write_option(struct writer *w, coir_ty inside)
{
    const bool fn = w->t->list[inside].kind == COIR_TY_FN;

    put(w, fn ? "(" : "");
    write_type(w, inside);
    put(w, fn ? ")?" : "?");
}

static void write_type(struct writer *w, coir_ty ty)
{
    static const char *const names[] = { "?", "_", "!", "()", "Int", "Float", "Bool", "Duration", "Text", "group",
                                         "List", "Map", "", "Chan", "Task" };
    const struct coir_ty_info *const i = &w->t->list[ty];

    switch (i->kind) {
    case COIR_TY_OPTION:
        write_option(w, i->args[0]);
        break;
    case COIR_TY_TUPLE:
        write_args(w, "(", i->args, i->n, ")");
        break;
    case COIR_TY_FN:
        write_fn(w, i);
        break;
    case COIR_TY_PARAM:
        put(w, w->params ? w->params[i->param].name : "T");
        break;
    case COIR_TY_DECL:
        if (*i->decl->module && (!w->module || strcmp(w->module, i->decl->module))) {
            put(w, i->decl->module);
            put(w, ".");
        }
        put(w, i->decl->name);
        if (i->n)
            write_args(w, "[", i->args, i->n, "]");
        break;
    default:
        put(w, names[i->kind]);
        if (i->n)
            write_args(w, "[", i->args, i->n, "]");
    }
}

const char *coir_ty_text(const struct coir_ty_table *t, coir_ty ty, const char *module,
                         const struct coir_ty_param *params, char *to, size_t size)
{
    struct writer w = { .t = t, .module = module, .params = params, .to = to, .size = size };

    COIR_ASSERT(size > 0);
    write_type(&w, ty);
    to[w.n] = '\0';
    return to;
}
