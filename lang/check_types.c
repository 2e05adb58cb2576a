/* SPDX-License-Identifier: MIT */
/*
 * Types as they are written: names to declarations, arguments counted and held against their bounds. The types of the
 * language have no module; a type parameter hides a declared type of its name.
 */
#include "lang/checker.h"

#include <string.h>

static const struct builtin {
    const char *name;
    enum coir_ty_kind kind;
    uint32_t args;
} builtins[] = {
    { "Int", COIR_TY_INT, 0 }, { "Float", COIR_TY_FLOAT, 0 }, { "Bool", COIR_TY_BOOL, 0 }, { "Text", COIR_TY_TEXT, 0 },
    { "Duration", COIR_TY_DURATION, 0 }, { "List", COIR_TY_LIST, 1 }, { "Map", COIR_TY_MAP, 2 },
    { "Chan", COIR_TY_CHAN, 1 }, { "Task", COIR_TY_TASK, 1 },
};

static const struct builtin *builtin_of(const char *name)
{
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++) {
        if (!strcmp(builtins[i].name, name))
            return &builtins[i];
    }
    return NULL;
}

bool coir_is_builtin_type(struct coir_checker *c, coir_symbol s)
{
    return builtin_of(coir_symbol_text(c, s)) || coir_lookup_get(c, coir_owner_all(), s) != COIR_NONE;
}

bool coir_check_bound(struct coir_checker *c, const struct coir_ty_param *p, coir_ty ty, uint32_t at, uint32_t end)
{
    if (coir_info(c, ty)->bad)
        return true;
    if (p->bound == COIR_BOUND_ORD && !coir_ty_is_ordered(c->types, ty, c->params)) {
        coir_say_at(c, COIR_E_BOUND, at, end, "`%s: Ord` cannot be %s, which has no order", p->name,
                    coir_type_text(c, ty));
        coir_note(c, "Int, Float, Text, Bool, Duration and tuples of them are ordered");
        return false;
    }
    if (p->bound == COIR_BOUND_KEY && !coir_ty_is_key(c->types, ty, c->params)) {
        coir_say_at(c, COIR_E_BOUND, at, end, "`%s: Key` cannot be %s", p->name, coir_type_text(c, ty));
        coir_note(c, "keys are Int, Text, Bool, Duration, sums without payload, and tuples of keys");
        return false;
    }
    return true;
}

/* ---- names ---- */

static bool count_args(struct coir_checker *c, coir_ast n, const char *name, uint32_t want, uint32_t have)
{
    if (want == have)
        return true;
    if (want == 0)
        coir_say(c, COIR_E_TYPE_ARGUMENTS, n, "`%s` takes no types", name);
    else
        coir_say(c, COIR_E_TYPE_ARGUMENTS, n, "`%s` takes %u type%s, and here %s %u", name, want, want == 1 ? "" : "s",
                 have == 1 ? "is" : "are", have);
    if (want == 1)
        coir_note(c, "write `%s[T]`", name);
    else if (want == 2)
        coir_note(c, "write `%s[K, V]`", name);
    return false;
}

static coir_ty builtin_type(struct coir_checker *c, coir_ast n, const struct builtin *b)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list args = coir_ast_type_name_args(t, n);
    const struct coir_place at = coir_ast_place(t, n);
    coir_ty ty = b->kind;

    if (!count_args(c, n, b->name, b->args, args.count))
        return COIR_TY_ERROR;
    if (b->args == 0)
        return ty;
    const coir_ty first = coir_check_type(c, args.at[0]);
    switch (b->kind) {
    case COIR_TY_LIST:
        ty = coir_ty_list(c->types, first);
        break;
    case COIR_TY_CHAN:
        ty = coir_ty_chan(c->types, first);
        break;
    case COIR_TY_TASK:
        ty = coir_ty_task(c->types, first);
        break;
    default: {
        const coir_ty value = coir_check_type(c, args.at[1]);
        const struct coir_place key = coir_ast_place(t, args.at[0]);
        const struct coir_ty_param k = { .name = "K", .bound = COIR_BOUND_KEY };
        if (!coir_check_bound(c, &k, first, key.start, key.end))
            return COIR_TY_ERROR;
        ty = coir_ty_map(c->types, first, value);
    }
    }
    return coir_made(c, ty, at.start, at.end);
}

static coir_ty declared_type(struct coir_checker *c, coir_ast n, struct coir_ty_decl *d)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list args = coir_ast_type_name_args(t, n);
    const struct coir_place at = coir_ast_place(t, n);

    if (!count_args(c, n, d->name, d->ntypes, args.count))
        return COIR_TY_ERROR;
    coir_ty *const list = coir_take_scratch(c, (args.count + 1) * sizeof *list);
    for (uint32_t i = 0; i < args.count; i++) {
        const struct coir_place place = coir_ast_place(t, args.at[i]);
        list[i] = coir_check_type(c, args.at[i]);
        if (!coir_check_bound(c, &d->types[i], list[i], place.start, place.end))
            return COIR_TY_ERROR;
    }
    return coir_made(c, coir_ty_decl(c->types, d, list), at.start, at.end);
}

static coir_ty say_unknown(struct coir_checker *c, coir_ast n, coir_symbol s, uint32_t module)
{
    const char *const name = coir_symbol_text(c, s);

    if (module != COIR_NONE) {
        coir_say_main(c, COIR_E_UNKNOWN_TYPE, n, "the module `%s` has no type `%s`", c->modules[module].name, name);
        coir_suggest(c, s, coir_owner_module(module));
        return COIR_TY_ERROR;
    }
    coir_say_main(c, COIR_E_UNKNOWN_TYPE, n, "there is no type `%s` here", name);
    static const struct { const char *other, *ours; } known[] = {
        { "String", "Text" }, { "Str", "Text" }, { "Integer", "Int" }, { "Double", "Float" }, { "Boolean", "Bool" },
        { "Array", "List" }, { "Vec", "List" }, { "Dict", "Map" }, { "HashMap", "Map" }, { "Channel", "Chan" },
        { "Void", "()" }, { "Unit", "()" }, { "Optional", "T?" }, { "Option", "T?" }, { "Char", "Text" },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!strcmp(known[i].other, name)) {
            coir_note(c, "here it is `%s`", known[i].ours);
            return COIR_TY_ERROR;
        }
    }
    coir_suggest(c, s, coir_owner_module((uint32_t)(c->module - c->modules)));
    return COIR_TY_ERROR;
}

static coir_ty type_of_item(struct coir_checker *c, coir_ast n, const struct coir_item *item, coir_symbol s,
                            uint32_t module)
{
    if (!item)
        return say_unknown(c, n, s, module);
    if (item->kind == COIR_ITEM_LATER)
        return COIR_TY_ERROR;
    if (item->kind == COIR_ITEM_VARIANT) {
        coir_say_main(c, COIR_E_UNKNOWN_TYPE, n, "`%s` is a variant; its type is `%s`", coir_symbol_text(c, s),
                      c->types->decls[item->index]->name);
        return COIR_TY_ERROR;
    }
    if (item->kind != COIR_ITEM_TYPE)
        return say_unknown(c, n, s, module);
    if (module != COIR_NONE && !item->pub) {
        coir_say_main(c, COIR_E_PRIVATE, n, "`%s` is not exported by `%s`", coir_symbol_text(c, s),
                      c->modules[module].name);
        coir_note(c, "write `pub` before it there");
    }
    return declared_type(c, n, c->types->decls[item->index]);
}

static coir_ty named_type(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const coir_ast module = coir_ast_type_name_module(t, n);
    const coir_symbol s = coir_symbol_at(c, n);
    const char *const name = coir_symbol_text(c, s);

    if (module) {
        const coir_symbol m = coir_symbol_at(c, module);
        const struct coir_item *const item = coir_item_here(c, m);
        if (item && item->kind == COIR_ITEM_LATER)
            return COIR_TY_ERROR;
        if (!item || item->kind != COIR_ITEM_MODULE) {
            coir_say(c, COIR_E_UNKNOWN_MODULE, module, "no module `%s` is named here", coir_symbol_text(c, m));
            coir_note(c, "write `use %s` at the top of the file", coir_symbol_text(c, m));
            return COIR_TY_ERROR;
        }
        return type_of_item(c, n, coir_item_of(c, item->index, s), s, item->index);
    }
    for (uint32_t i = 0; i < c->ntypes; i++) {
        if (c->params[i].name == name) {
            if (!count_args(c, n, name, 0, coir_ast_type_name_args(t, n).count))
                return COIR_TY_ERROR;
            const coir_ty ty = coir_ty_param(c->types, i);
            return coir_made(c, ty, 0, 0);
        }
    }
    const struct builtin *const b = builtin_of(name);
    return b ? builtin_type(c, n, b) : type_of_item(c, n, coir_item_here(c, s), s, COIR_NONE);
}

/* ---- the others ---- */

static coir_ty tuple_type(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list list = coir_ast_type_tuple_list(t, n);
    const struct coir_place at = coir_ast_place(t, n);

    if (list.count == 0)
        return COIR_TY_UNIT;
    coir_ty *const elements = coir_take_scratch(c, list.count * sizeof *elements);
    for (uint32_t i = 0; i < list.count; i++)
        elements[i] = coir_check_type(c, list.at[i]);
    if (list.count == 1)
        return elements[0];
    return coir_made(c, coir_ty_tuple(c->types, list.count, elements), at.start, at.end);
}

static coir_ty fn_type(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list params = coir_ast_params_list(t, coir_ast_type_fn_params(t, n));
    const coir_ast result = coir_ast_type_fn_result(t, n);
    const struct coir_place at = coir_ast_place(t, n);
    coir_ty *const types = coir_take_scratch(c, (params.count + 1) * sizeof *types);
    uint8_t *const modes = coir_take_scratch(c, params.count + 1);

    for (uint32_t i = 0; i < params.count; i++) {
        const unsigned flags = coir_ast_flags(t, params.at[i]);
        types[i] = coir_check_type(c, coir_ast_param_type(t, params.at[i]));
        modes[i] = flags & COIR_F_MUT ? COIR_MUT : flags & COIR_F_OWN ? COIR_OWN : COIR_LEND;
    }
    types[params.count] = result ? coir_check_type(c, result) : COIR_TY_UNIT;
    return coir_made(c, coir_ty_fn(c->types, params.count, types, modes), at.start, at.end);
}

coir_ty coir_check_type(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_place at = coir_ast_place(t, n);

    switch (coir_ast_kind(t, n)) {
    case COIR_N_TYPE_NAME:
        return named_type(c, n);
    case COIR_N_TYPE_OPTIONAL: {
        const coir_ty inside = coir_check_type(c, coir_ast_type_optional_type(t, n));
        return coir_made(c, coir_ty_option(c->types, inside), at.start, at.end);
    }
    case COIR_N_TYPE_TUPLE:
        return tuple_type(c, n);
    case COIR_N_TYPE_FN:
        return fn_type(c, n);
    case COIR_N_TYPE_PAREN:
        return coir_check_type(c, coir_ast_type_paren_type(t, n));
    default:
        return COIR_TY_ERROR;
    }
}
