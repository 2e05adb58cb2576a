/* SPDX-License-Identifier: MIT */
/*
 * The checker's frame: its beginning, its end, its memory, its reports. The order of the stages stands in `stages`;
 * what each does is in the files that lang/checker.h lists. Nothing outside of this file calls setjmp or frees.
 */
#include "lang/checker.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "runtime/base/assert.h"

/* ---- memory ---- */

_Noreturn void coir_check_leave(struct coir_checker *c)
{
    longjmp(c->out, 1);
}

void *coir_take(struct coir_checker *c, size_t size)
{
    void *const at = coir_arena_take(&c->typed->arena, size);

    if (!at)
        coir_check_leave(c);
    return at;
}

void *coir_take_scratch(struct coir_checker *c, size_t size)
{
    void *const at = coir_arena_take(&c->scratch, size);

    if (!at)
        coir_check_leave(c);
    return at;
}

void *coir_more(struct coir_checker *c, void *list, uint32_t *room, uint32_t count, size_t item)
{
    if (count < *room)
        return list;
    if (count > UINT32_MAX / 2)
        coir_check_leave(c);
    *room = count < 8 ? 8 : count * 2;
    void *const grown = coir_take_scratch(c, *room * item);
    if (count)
        memcpy(grown, list, count * item);
    return grown;
}

/* ---- reports ---- */

static void say(struct coir_checker *c, enum coir_code code, uint32_t at, uint32_t end, const char *format, va_list ap)
{
    char text[600];

    vsnprintf(text, sizeof text, format, ap);
    coir_diagnose(c->d, code, coir_tree_of(c)->source, at, end, "%s", text);
}

void coir_say_at(struct coir_checker *c, enum coir_code code, uint32_t at, uint32_t end, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    say(c, code, at, end, format, ap);
    va_end(ap);
}

void coir_say(struct coir_checker *c, enum coir_code code, coir_ast n, const char *format, ...)
{
    const struct coir_place at = coir_ast_place(coir_tree_of(c), n);
    va_list ap;

    va_start(ap, format);
    say(c, code, at.start, at.end, format, ap);
    va_end(ap);
}

void coir_say_main(struct coir_checker *c, enum coir_code code, coir_ast n, const char *format, ...)
{
    const struct coir_place at = coir_ast_main_place(coir_tree_of(c), n);
    va_list ap;

    va_start(ap, format);
    say(c, code, at.start, at.end, format, ap);
    va_end(ap);
}

const char *coir_type_text(struct coir_checker *c, coir_ty ty)
{
    char *const to = c->texts[c->text++ % 4];

    return coir_ty_text(c->types, ty, c->module->name, c->params, to, sizeof c->texts[0]);
}

coir_ty coir_made(struct coir_checker *c, coir_ty ty, uint32_t at, uint32_t end)
{
    if (ty == COIR_TY_ERROR) {
        if (!c->types->too_large)
            coir_check_leave(c);
        c->types->too_large = false;
        coir_say_at(c, COIR_E_TYPE_SIZE, at, end, "this type has more than %d parts", COIR_TY_SIZE_MOST);
        coir_note(c, "declare a record or a sum for some of it");
    }
    return ty;
}

coir_ty coir_part_type(struct coir_checker *c, coir_ast n, coir_ty of, coir_ty declared)
{
    const struct coir_place at = coir_ast_place(coir_tree_of(c), n);
    const struct coir_ty_info i = *coir_info(c, of);

    if (!coir_info(c, declared)->open || i.n == 0)
        return declared;
    return coir_made(c, coir_ty_apply(c->types, declared, i.n, i.args), at.start, at.end);
}

/* ---- the end: which instances compare ---- */

static bool marks_compared(struct coir_checker *c, const struct coir_use *u, coir_ty ty)
{
    const struct coir_ty_info *const i = coir_info(c, ty);
    bool changed = false;

    if (i->kind == COIR_TY_PARAM && u->from && i->param < u->from->fn->ntypes) {
        struct coir_ty_param *const p = &u->from->types[i->param];
        changed = !p->compared;
        p->compared = true;
        return changed;
    }
    for (uint32_t k = 0; i->open && k < i->n; k++)
        changed |= marks_compared(c, u, i->args[k]);
    return changed;
}

/* Who compares what a parameter stands for, by itself or by what it calls, must not be given functions. */
static void check_compared(struct coir_checker *c)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < c->nuses; i++) {
            const struct coir_use *const u = &c->uses[i];
            const struct coir_fn_item *const f = &c->fns[u->fn];
            for (uint32_t k = 0; k < f->fn->ntypes; k++) {
                if (f->types[k].compared)
                    changed |= marks_compared(c, u, u->types[k]);
            }
        }
    }
    for (uint32_t i = 0; i < c->nuses; i++) {
        const struct coir_use *const u = &c->uses[i];
        const struct coir_fn_item *const f = &c->fns[u->fn];
        for (uint32_t k = 0; k < f->fn->ntypes; k++) {
            if (!f->types[k].compared || coir_ty_is_comparable(c->types, u->types[k], NULL))
                continue;
            c->module = &c->modules[u->from ? u->from->module : 0];
            c->params = u->from ? u->from->types : NULL;
            coir_diagnose(c->d, COIR_E_COMPARE, u->source, u->at, u->end,
                          "`%s` compares values of `%s`, and here that is %s",
                          f->fn->name, f->types[k].name, coir_type_text(c, u->types[k]));
            coir_note(c, "functions and resources have no ==");
        }
    }
}

/* ---- the stages ---- */

static void unused_items(struct coir_checker *c)
{
    static const char *const kinds[] = { "function", "type", "variant", "constant", "module", "", "actor" };
    enum { ACTOR = sizeof kinds / sizeof *kinds - 1 };

    for (uint32_t i = 0; c->d->errors == 0 && i < c->nitems; i++) {
        const struct coir_item *const item = &c->items[i];
        const char *const name = coir_symbol_text(c, item->name);
        if (item->used || item->pub || !c->modules[item->module].asked || item->kind == COIR_ITEM_LATER ||
            item->kind == COIR_ITEM_VARIANT || *name == '_')
            continue;
        const bool actor = item->kind == COIR_ITEM_TYPE && c->types->decls[item->index]->kind == COIR_DECL_ACTOR;
        c->module = &c->modules[item->module];
        coir_say_at(c, COIR_W_UNUSED, item->at, item->end, "the %s `%s` is not used",
                    kinds[actor ? (unsigned)ACTOR : item->kind], name);
    }
}

/* Functions of actors, which nobody else can call. */
static void unused_private(struct coir_checker *c)
{
    for (uint32_t i = 0; c->d->errors == 0 && i < c->nfns; i++) {
        const struct coir_fn_item *const f = &c->fns[i];
        const char *const dot = strchr(f->fn->name, '.');
        if (!f->fn->actor || f->fn->kind != COIR_FN_PLAIN || f->used || !c->modules[f->module].asked || dot[1] == '_')
            continue;
        c->module = &c->modules[f->module];
        coir_say_at(c, COIR_W_UNUSED, f->fn->at, f->fn->end, "the function `%s` is not used", dot + 1);
    }
}

static void known_words(struct coir_checker *c)
{
    c->self = coir_symbol_of(c, "self", 4);
    c->print_ = coir_symbol_of(c, "print", 5);
    c->eprint_ = coir_symbol_of(c, "eprint", 6);
    c->main_ = coir_symbol_of(c, "main", 4);
    c->monitor_ = coir_symbol_of(c, "monitor", 7);
}

static void finish(struct coir_checker *c)
{
    struct coir_typed *const t = c->typed;
    const struct coir_x_fn **const fns = coir_take(c, (c->nfns + 1) * sizeof *fns);

    for (uint32_t i = 0; i < c->nfns; i++)
        fns[i] = c->fns[i].fn;
    t->fns = fns;
    t->nfns = c->nfns;
    struct coir_x_global *const globals = coir_take(c, (t->nglobals + 1) * sizeof *globals);
    for (uint32_t i = 0; i < c->nlets; i++) {
        if (c->lets[i].global != COIR_NONE)
            globals[c->lets[i].global] = c->lets[i].made;
    }
    t->globals = globals;
}

static void stages(struct coir_checker *c)
{
    known_words(c);
    coir_declare_all(c);
    coir_order_constants(c);
    coir_check_bodies(c);
    check_compared(c);
    COIR_ASSERT(!c->failed || c->d->errors);    /* who makes an error node has said why */
    unused_items(c);
    unused_private(c);
    finish(c);
}

int coir_check(struct coir_typed *typed, const struct coir_module *modules, uint32_t n, struct coir_diagnostics *d,
               struct coir_budget *m)
{
    *typed = (struct coir_typed){ .memory = m, .arena = { .memory = m }, .main = COIR_NO_FN };
    struct coir_checker *const c = coir_budget_resize(m, NULL, 0, sizeof *c);
    struct coir_ty_table *const types = c ? coir_budget_resize(m, NULL, 0, sizeof *types) : NULL;
    volatile int result = -ENOMEM;

    typed->types = types;
    if (c && types && coir_ty_init(types, m) == 0) {
        *c = (struct coir_checker){ .memory = m, .d = d, .typed = typed, .types = types, .modules = modules,
                                    .nmodules = n, .scratch = { .memory = m },
                                    .match = { .memory = m } };
        if (!setjmp(c->out)) {
            stages(c);
            result = 0;
        }
        coir_arena_free(&c->scratch);
        coir_arena_free(&c->match);
    }
    if (c)
        coir_budget_resize(m, c, sizeof *c, 0);
    if (result < 0 && n)
        coir_diagnose(d, COIR_E_MEMORY, modules[0].tree->source, 0, 0, "there is not enough memory to check this");
    return result;
}

void coir_typed_free(struct coir_typed *typed)
{
    if (typed->types) {
        coir_ty_free(typed->types);
        coir_budget_resize(typed->memory, typed->types, sizeof *typed->types, 0);
    }
    coir_arena_free(&typed->arena);
    *typed = (struct coir_typed){ .memory = typed->memory };
}
