/* SPDX-License-Identifier: MIT */
/*
 * Expressions that make something: records, variants, lists, maps, tuples. Whatever is stored in what is made is kept
 * (coir_keep); what is generic has its types from its parts, or from what is wanted.
 */
#include "lang/checker.h"

/* ---- records ---- */

/* What is named is no record, or with `spawned` no actor. */
static void say_no_record(struct coir_checker *c, coir_ast n, const struct coir_item *item, bool spawned)
{
    const char *const name = coir_symbol_text(c, coir_symbol_at(c, n));

    if (item && item->kind == COIR_ITEM_TYPE && c->types->decls[item->index]->kind == COIR_DECL_ACTOR) {
        coir_say(c, COIR_E_ACTOR_LITERAL, n, "`%s` is an actor: it is not made as a record is", name);
        coir_note(c, "write `spawn %s{ … }`", name);
        return;
    }
    if (spawned && item && item->kind == COIR_ITEM_TYPE) {
        coir_say(c, COIR_E_SPAWN, n, "`%s` is no actor, and cannot be spawned", name);
        coir_note(c, "`spawn` takes the call of a function, or an actor");
        return;
    }
    coir_say(c, COIR_E_UNKNOWN_TYPE, n, "there is no %s `%s` here", spawned ? "actor" : "record", name);
    if (item && item->kind == COIR_ITEM_VARIANT)
        coir_note(c, "a variant takes its payload in parentheses: `%s(…)`", name);
    else if (!item)
        coir_suggest(c, coir_symbol_at(c, n), coir_owner_module((uint32_t)(c->module - c->modules)));
}

/* The record that n names; with `spawned` the state of the actor. */
static struct coir_ty_decl *record_named(struct coir_checker *c, coir_ast n, bool spawned)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const coir_ast module = coir_ast_type_name_module(t, n);
    const coir_symbol s = coir_symbol_at(c, n);
    const struct coir_item *item = NULL;

    if (module) {
        const uint32_t m = coir_module_named(c, module);
        if (m == COIR_NONE) {
            const struct coir_item *const other = coir_item_here(c, coir_symbol_at(c, module));
            if (!other || other->kind != COIR_ITEM_LATER)
                coir_say(c, COIR_E_UNKNOWN_MODULE, module, "no module `%s` is named here",
                         coir_symbol_text(c, coir_symbol_at(c, module)));
            return NULL;
        }
        item = coir_module_item(c, n, m);
        if (!item)
            return NULL;
    } else {
        item = coir_item_here(c, s);
    }
    if (item && item->kind == COIR_ITEM_LATER)
        return NULL;
    struct coir_ty_decl *const d = item && item->kind == COIR_ITEM_TYPE ? c->types->decls[item->index] : NULL;
    if (!d || d->kind != (spawned ? COIR_DECL_ACTOR : COIR_DECL_RECORD)) {
        say_no_record(c, n, item, spawned);
        return NULL;
    }
    return spawned ? d->state : d;
}

struct record {
    struct coir_ty_decl *d;
    struct coir_operand *operands;      /* those that are written */
    uint32_t *fields;                   /* of each operand: which field it is */
    uint32_t n;
    const bool *given;
};

/* Which field each value is for. */
static bool record_fields(struct coir_checker *c, coir_ast n, struct record *r)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list values = coir_ast_record_values(t, n);
    coir_ast *const given = coir_take_scratch(c, (r->d->nfields + 1) * sizeof *given);
    bool *const flags = coir_take_scratch(c, r->d->nfields + 1);
    bool good = true;

    r->operands = coir_take_scratch(c, (values.count + 1) * sizeof *r->operands);
    r->fields = coir_take_scratch(c, (values.count + 1) * sizeof *r->fields);
    r->given = flags;
    for (uint32_t i = 0; i < values.count; i++) {
        const coir_symbol s = coir_symbol_at(c, values.at[i]);
        const uint32_t member = coir_lookup_get(c, coir_owner_decl(r->d->number), s);
        if (member == COIR_NONE || member & 1) {
            coir_say_main(c, COIR_E_UNKNOWN_MEMBER, values.at[i], "`%s` has no field `%s`", r->d->name,
                          coir_symbol_text(c, s));
            coir_suggest(c, s, coir_owner_decl(r->d->number));
            coir_check_expr(c, coir_ast_field_value_value(t, values.at[i]), 0);
            good = false;
            continue;
        }
        if (given[member / 2]) {
            const struct coir_place at = coir_ast_main_place(t, given[member / 2]);
            coir_say_main(c, COIR_E_DUPLICATE, values.at[i], "`%s` is given twice", coir_symbol_text(c, s));
            coir_diagnose_see(c->d, at.source, at.start, at.end, "the first time here");
            good = false;
        }
        given[member / 2] = values.at[i];
        flags[member / 2] = true;
        r->fields[r->n] = member / 2;
        r->operands[r->n++] = (struct coir_operand){ .node = coir_ast_field_value_value(t, values.at[i]),
            .pattern = r->d->fields[member / 2].type, .mode = COIR_OWN };
    }
    return good;
}

/* What is not given comes from the defaults. */
static bool record_missing(struct coir_checker *c, coir_ast n, const struct record *r)
{
    const char *missing = NULL;

    for (uint32_t i = 0; i < r->d->nfields; i++) {
        if (!r->given[i] && r->d->fields[i].init == COIR_NO_FN && !missing)
            missing = r->d->fields[i].name;
    }
    if (!missing)
        return true;
    coir_say(c, COIR_E_FIELDS, n, "`%s` needs its field `%s`", r->d->name, missing);
    coir_note(c, "fields with a default in the %s declaration may be left out", r->d->actor ? "actor's" : "type's");
    return false;
}

static struct coir_x *default_of(struct coir_checker *c, coir_ast n, const struct coir_inference *f,
                                 const struct coir_ty_field *field)
{
    struct coir_x *const x = coir_x_new(c, n, COIR_X_CALL, coir_infer_apply(c, f, field->type, n));

    x->call.fn = field->init;
    x->call.types = f->found;
    return x;
}

static struct coir_x *check_record(struct coir_checker *c, coir_ast n, coir_ty want, bool spawned)
{
    const struct coir_tree *const t = coir_tree_of(c);
    struct record r = { .d = record_named(c, coir_ast_record_type(t, n), spawned) };
    const struct coir_place at = coir_ast_place(t, n);
    struct coir_inference f;

    if (!r.d) {
        const struct coir_ast_list values = coir_ast_record_values(t, n);
        for (uint32_t i = 0; i < values.count; i++)
            coir_check_expr(c, coir_ast_field_value_value(t, values.at[i]), 0);
        return coir_x_error(c, n);
    }
    bool good = record_fields(c, n, &r) && record_missing(c, n, &r);
    coir_infer_begin(c, &f, r.d->ntypes, r.d->types);
    want = coir_peel(c, want);
    if (coir_kind(c, want) == COIR_TY_DECL && coir_info(c, want)->decl == r.d) {
        for (uint32_t i = 0; i < r.d->ntypes; i++)
            f.found[i] = coir_info(c, want)->args[i];
    }
    good &= coir_infer_operands(c, &f, r.operands, r.n, 0, 0, n, r.d->name);
    if (!good)
        return coir_x_error(c, n);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_RECORD, coir_made(c, coir_ty_decl(c->types, r.d, f.found),
                                                                       at.start, at.end));
    struct coir_x_field_value *const list = coir_take(c, (r.d->nfields + 1) * sizeof *list);
    uint32_t count = 0;
    for (; count < r.n; count++)
        list[count] = (struct coir_x_field_value){ r.fields[count], r.operands[count].x };
    for (uint32_t i = 0; i < r.d->nfields; i++) {
        if (!r.given[i])
            list[count++] = (struct coir_x_field_value){ i, default_of(c, n, &f, &r.d->fields[i]) };
    }
    x->fields.list = list;
    x->fields.n = count;
    return x;
}

struct coir_x *coir_check_record(struct coir_checker *c, coir_ast n, coir_ty want)
{
    return check_record(c, n, want, false);
}

struct coir_x *coir_check_state(struct coir_checker *c, coir_ast n)
{
    return check_record(c, n, 0, true);
}

/* ---- variants ---- */

static bool count_payload(struct coir_checker *c, coir_ast n, const struct coir_ty_variant *v, uint32_t have,
                          bool called)
{
    if (v->nfields == have && called == (v->nfields > 0))
        return true;
    if (v->nfields == 0)
        coir_say(c, COIR_E_ARGUMENTS, n, "`%s` has no payload: write it without parentheses", v->name);
    else
        coir_say(c, COIR_E_ARGUMENTS, n, "`%s` has a payload of %u, and here %s %u", v->name, v->nfields,
                 have == 1 ? "is" : "are", have);
    return false;
}

struct coir_x *coir_check_variant(struct coir_checker *c, coir_ast n, const struct coir_item *item,
                                  struct coir_ast_list args, bool called, coir_ty want)
{
    struct coir_ty_decl *const d = c->types->decls[item->index];
    const struct coir_ty_variant *const v = &d->variants[item->variant];
    const struct coir_place at = coir_ast_place(coir_tree_of(c), n);
    struct coir_operand *const operands = coir_take_scratch(c, (args.count + 1) * sizeof *operands);
    const uint32_t index = item->variant;
    struct coir_inference f;

    bool good = count_payload(c, n, v, args.count, called);
    for (uint32_t i = 0; i < args.count; i++) {
        operands[i] = (struct coir_operand){ .node = args.at[i], .pattern = i < v->nfields ? v->fields[i].type : 0,
                                             .mode = COIR_OWN };
        if (coir_ast_is(coir_tree_of(c), args.at[i], COIR_N_ARG)) {
            coir_say(c, COIR_E_ARGUMENT_MODE, args.at[i], "a payload is a value, without `mut` or `own`");
            operands[i].node = coir_ast_arg_value(coir_tree_of(c), args.at[i]);
            good = false;
        }
    }
    coir_infer_begin(c, &f, d->ntypes, d->types);
    want = coir_peel(c, want);
    if (coir_kind(c, want) == COIR_TY_DECL && coir_info(c, want)->decl == d) {
        for (uint32_t i = 0; i < d->ntypes; i++)
            f.found[i] = coir_info(c, want)->args[i];
    }
    good &= coir_infer_operands(c, &f, operands, args.count, 0, 0, n, v->name);
    if (!good)
        return coir_x_error(c, n);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_VARIANT, coir_made(c, coir_ty_decl(c->types, d, f.found),
                                                                        at.start, at.end));
    const struct coir_x **const items = coir_take(c, (args.count + 1) * sizeof *items);
    for (uint32_t i = 0; i < args.count; i++)
        items[i] = operands[i].x;
    x->index = index;
    x->items.list = items;
    x->items.n = args.count;
    return x;
}

/* ---- lists, maps, tuples ---- */

/* One more element: its type is `*type`, or decides it. */
static const struct coir_x *element(struct coir_checker *c, coir_ast n, coir_ty hint, coir_ty *type, bool *bad)
{
    struct coir_x *x;

    if (*type) {
        x = coir_check_own(c, n, *type);
    } else {
        x = coir_check_own(c, n, hint);
        if (x->type != COIR_TY_NEVER)
            *type = x->type;
    }
    *bad |= coir_is_error(x);
    return x;
}

static struct coir_x *say_needs_type(struct coir_checker *c, coir_ast n, const char *what, const char *how)
{
    coir_say(c, COIR_E_NEEDS_TYPE, n, "the type of this empty %s is not known here", what);
    coir_note(c, "say what it holds: `%s`", how);
    return coir_x_error(c, n);
}

struct coir_x *coir_check_list(struct coir_checker *c, coir_ast n, coir_ty want)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list list = coir_ast_list_items(t, n);
    const struct coir_place at = coir_ast_place(t, n);
    bool bad = false;

    want = coir_peel(c, want);
    const coir_ty hint = coir_kind(c, want) == COIR_TY_LIST ? coir_info(c, want)->args[0] : 0;
    coir_ty type = coir_info(c, hint)->holes ? 0 : hint;
    if (list.count == 0 && type == 0)
        return coir_info(c, want)->bad && want ? coir_x_error(c, n) :
               say_needs_type(c, n, "list", "let xs: List[Int] = []");
    const struct coir_x **const items = coir_take(c, (list.count + 1) * sizeof *items);
    for (uint32_t i = 0; i < list.count; i++)
        items[i] = element(c, list.at[i], hint, &type, &bad);
    if (bad)
        return coir_x_error(c, n);
    const coir_ty ty = coir_ty_list(c->types, type ? type : (coir_ty)COIR_TY_UNIT);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_LIST, coir_made(c, ty, at.start, at.end));
    x->items.list = items;
    x->items.n = list.count;
    return x;
}

struct coir_x *coir_check_map(struct coir_checker *c, coir_ast n, coir_ty want)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list list = coir_ast_map_entries(t, n);
    const struct coir_place at = coir_ast_place(t, n);
    const struct coir_ty_param k = { .name = "K", .bound = COIR_BOUND_KEY };
    bool bad = false;

    want = coir_peel(c, want);
    const bool wanted = coir_kind(c, want) == COIR_TY_MAP;
    const coir_ty hint_key = wanted ? coir_info(c, want)->args[0] : 0, hint = wanted ? coir_info(c, want)->args[1] : 0;
    coir_ty key = coir_info(c, hint_key)->holes ? 0 : hint_key, value = coir_info(c, hint)->holes ? 0 : hint;
    if (list.count == 0 && (!key || !value))
        return coir_info(c, want)->bad && want ? coir_x_error(c, n) :
               say_needs_type(c, n, "map", "let m: Map[Text, Int] = [:]");
    const struct coir_x **const items = coir_take(c, (2 * (size_t)list.count + 1) * sizeof *items);
    for (uint32_t i = 0; i < list.count; i++) {
        items[2 * i] = element(c, coir_ast_map_entry_key(t, list.at[i]), hint_key, &key, &bad);
        items[2 * i + 1] = element(c, coir_ast_map_entry_value(t, list.at[i]), hint, &value, &bad);
    }
    if (bad || !coir_check_bound(c, &k, key, at.start, at.end))
        return coir_x_error(c, n);
    const coir_ty ty = coir_ty_map(c->types, key ? key : (coir_ty)COIR_TY_INT, value ? value : (coir_ty)COIR_TY_UNIT);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_MAP, coir_made(c, ty, at.start, at.end));
    x->items.list = items;
    x->items.n = 2 * list.count;
    return x;
}

struct coir_x *coir_check_tuple(struct coir_checker *c, coir_ast n, coir_ty want)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list list = coir_ast_tuple_items(t, n);
    const struct coir_place at = coir_ast_place(t, n);
    bool bad = false;

    if (list.count == 0)
        return coir_x_new(c, n, COIR_X_UNIT, COIR_TY_UNIT);
    want = coir_peel(c, want);
    const bool wanted = coir_kind(c, want) == COIR_TY_TUPLE && coir_info(c, want)->n == list.count;
    const coir_ty *const hints = wanted ? coir_info(c, want)->args : NULL;
    const struct coir_x **const items = coir_take(c, list.count * sizeof *items);
    coir_ty *const types = coir_take_scratch(c, list.count * sizeof *types);
    for (uint32_t i = 0; i < list.count; i++) {
        items[i] = coir_check_own(c, list.at[i], hints ? hints[i] : 0);
        types[i] = items[i]->type == COIR_TY_NEVER ? (coir_ty)COIR_TY_UNIT : items[i]->type;
        if (items[i]->type == COIR_TY_NEVER && hints && !coir_info(c, hints[i])->holes)
            types[i] = hints[i];
        bad |= coir_is_error(items[i]);
    }
    if (bad)
        return coir_x_error(c, n);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_TUPLE, coir_made(c, coir_ty_tuple(c->types, list.count, types),
                                                                      at.start, at.end));
    x->items.list = items;
    x->items.n = list.count;
    return x;
}
