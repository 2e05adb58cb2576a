/* SPDX-License-Identifier: MIT */
/*
 * Patterns. Two kinds: those that fit everything (let, for, if let), and those of the arms of a match. What they name
 * is bound in the scope that is open. All alternatives of `A | B` bind the same names: the first declares them, the
 * others must name the same again (struct coir_rebinding).
 */
#include "lang/checker.h"

#include <string.h>

/* While an alternative after the first is looked at: the bindings [from, to) are its names. */
struct coir_rebinding {
    uint32_t from, to;
    bool *seen;
    bool said;                  /* that a name does not belong there */
};

static struct coir_x_pattern *pattern_new(struct coir_checker *c, coir_ast n, enum coir_x_pattern_kind kind, coir_ty ty)
{
    const struct coir_place at = coir_ast_place(coir_tree_of(c), n);
    struct coir_x_pattern *const p = coir_take(c, sizeof *p);

    *p = (struct coir_x_pattern){ .kind = kind, .type = ty, .at = at.start, .end = at.end };
    return p;
}

static void set_items(struct coir_x_pattern *p, const struct coir_x_pattern **items, uint32_t n)
{
    p->items = items;
    p->n = n;
}

/* ---- patterns that fit everything ---- */

/* What is in a pattern that is held against a value of type `of`, which has no such parts. */
static coir_ty part_of(coir_ty of)
{
    return of == COIR_TY_NEVER ? of : (coir_ty)COIR_TY_ERROR;
}

static const struct coir_x_pattern *tuple_binding(struct coir_checker *c, coir_ast n, coir_ty ty, bool lent,
                                                  enum coir_x_local_kind kind)
{
    const struct coir_ast_list list = coir_ast_tuple_pattern_list(coir_tree_of(c), n);
    const struct coir_ty_info i = *coir_info(c, ty);
    struct coir_x_pattern *const p = pattern_new(c, n, COIR_PATTERN_TUPLE, ty);
    const struct coir_x_pattern **const items = coir_take(c, (list.count + 1) * sizeof *items);
    const bool fits = i.kind == COIR_TY_TUPLE && i.n == list.count;

    if (!fits && !i.bad && i.kind != COIR_TY_NEVER) {
        coir_say(c, COIR_E_TUPLE, n, "this takes %u things apart, and it is held against %s", list.count,
                 coir_type_text(c, ty));
        if (i.kind == COIR_TY_DECL)
            coir_note(c, "records are read by their fields: `x.name`");
    }
    for (uint32_t k = 0; k < list.count; k++)
        items[k] = coir_check_binding(c, list.at[k], fits ? i.args[k] : part_of(ty), lent, kind);
    set_items(p, items, list.count);
    return p;
}

const struct coir_x_pattern *coir_check_binding(struct coir_checker *c, coir_ast n, coir_ty ty, bool lent,
                                                enum coir_x_local_kind kind)
{
    const struct coir_tree *const t = coir_tree_of(c);

    while (coir_ast_is(t, n, COIR_N_PAREN_PATTERN))
        n = coir_ast_paren_pattern_pattern(t, n);
    switch (coir_ast_kind(t, n)) {
    case COIR_N_TUPLE_PATTERN:
        return tuple_binding(c, n, ty, lent, kind);
    case COIR_N_BIND: {
        struct coir_x_pattern *const p = pattern_new(c, n, COIR_PATTERN_NAME, ty);
        p->local = coir_bind_new(c, n, ty, kind);
        c->body->locals[p->local].lent = lent && ty != COIR_TY_ERROR && coir_is_resource(c, ty);
        return p;
    }
    default:
        return pattern_new(c, n, COIR_PATTERN_ANY, ty);
    }
}

/* ---- arms ---- */

static const struct coir_x_pattern *arm_pattern(struct coir_checker *c, coir_ast n, coir_ty ty, bool lent);

/* p, which fits what is inside of `ty` as many optionals deep as it takes. */
static const struct coir_x_pattern *wrapped(struct coir_checker *c, coir_ast n, const struct coir_x_pattern *p,
                                            coir_ty ty)
{
    if (ty == p->type || coir_kind(c, ty) != COIR_TY_OPTION)
        return p;
    struct coir_x_pattern *const some = pattern_new(c, n, COIR_PATTERN_SOME, ty);
    const struct coir_x_pattern **const items = coir_take(c, sizeof *items);
    items[0] = wrapped(c, n, p, coir_info(c, ty)->args[0]);
    set_items(some, items, 1);
    return some;
}

static const struct coir_x_pattern *name_pattern(struct coir_checker *c, coir_ast n, coir_ty ty, bool lent)
{
    struct coir_rebinding *const r = c->rebinding;

    if (!r)
        return coir_check_binding(c, n, ty, lent, COIR_LOCAL_LET);
    struct coir_x_pattern *const p = pattern_new(c, n, COIR_PATTERN_NAME, ty);
    const coir_symbol s = coir_symbol_at(c, n);
    for (uint32_t i = r->from; i < r->to; i++) {
        if (c->bindings[i].name != s)
            continue;
        p->local = c->bindings[i].local;
        const coir_ty first = c->body->locals[p->local].type;
        if (r->seen[i - r->from])
            coir_say(c, COIR_E_DUPLICATE, n, "`%s` is named twice", coir_symbol_text(c, s));
        else if (first != ty && !coir_info(c, first)->bad && !coir_info(c, ty)->bad)
            coir_say(c, COIR_E_OR_NAMES, n, "`%s` is %s here, and %s in the first alternative", coir_symbol_text(c, s),
                     coir_type_text(c, ty), coir_type_text(c, first));
        r->seen[i - r->from] = true;
        return p;
    }
    r->said = true;
    coir_say(c, COIR_E_OR_NAMES, n, "`%s` is not named in the first alternative", coir_symbol_text(c, s));
    coir_note(c, "all alternatives of an arm name the same, or write two arms");
    return p;
}

static const struct coir_x_pattern *literal_pattern(struct coir_checker *c, coir_ast n, coir_ty ty)
{
    const struct coir_x *const x = coir_check_expr(c, coir_ast_literal_pattern_value(coir_tree_of(c), n), 0);
    const coir_ty inside = coir_peel(c, ty);

    if (x->type != inside && !coir_info(c, ty)->bad && ty != COIR_TY_NEVER) {
        coir_say(c, COIR_E_MISMATCH, n, "this is %s, and it is held against %s", coir_type_text(c, x->type),
                 coir_type_text(c, ty));
        return pattern_new(c, n, COIR_PATTERN_ANY, COIR_TY_ERROR);
    }
    struct coir_x_pattern *const p = pattern_new(c, n, COIR_PATTERN_VALUE, inside);
    p->constant = x;
    return wrapped(c, n, p, ty);
}

/* The variant that n names in the sum d: d->nvariants after a report. */
static uint32_t variant_named(struct coir_checker *c, coir_ast n, const struct coir_ty_decl *d)
{
    const coir_ast module = coir_ast_variant_pattern_module(coir_tree_of(c), n);
    const coir_symbol s = coir_symbol_at(c, n);
    const char *const name = coir_symbol_text(c, s);
    const uint32_t here = (uint32_t)(c->module - c->modules);
    uint32_t said = here, v = 0;

    if (module && (said = coir_module_named(c, module)) == COIR_NONE) {
        coir_say(c, COIR_E_UNKNOWN_MODULE, module, "no module `%s` is named here",
                 coir_symbol_text(c, coir_symbol_at(c, module)));
        return d->nvariants;
    }
    while (v < d->nvariants && d->variants[v].name != name)
        v++;
    if (v == d->nvariants) {
        coir_say_main(c, COIR_E_UNKNOWN_NAME, n, "`%s` has no variant `%s`", d->name, name);
        coir_suggest(c, s, coir_owner_module(d->module_number));
    } else if (said != d->module_number) {
        coir_say(c, COIR_E_UNKNOWN_NAME, n, "`%s` is a variant of another module", name);
        coir_note(c, "write `%s.%s`", c->modules[d->module_number].name, name);
        return d->nvariants;
    } else {
        coir_item_of(c, d->module_number, s);           /* it is used */
    }
    return v;
}

static const struct coir_x_pattern *give_up(struct coir_checker *c, coir_ast n, struct coir_ast_list list, coir_ty of)
{
    for (uint32_t i = 0; i < list.count; i++)
        arm_pattern(c, list.at[i], part_of(of), false);
    return pattern_new(c, n, COIR_PATTERN_ANY, COIR_TY_ERROR);
}

static const struct coir_x_pattern *variant_pattern(struct coir_checker *c, coir_ast n, coir_ty ty, bool lent)
{
    const struct coir_ast_list list = coir_ast_variant_pattern_list(coir_tree_of(c), n);
    const coir_ty inside = coir_peel(c, ty);
    const struct coir_ty_info i = *coir_info(c, inside);

    if (i.kind != COIR_TY_DECL || i.decl->kind != COIR_DECL_SUM) {
        if (!i.bad && i.kind != COIR_TY_NEVER)
            coir_say(c, COIR_E_MISMATCH, n, "`%s` is a variant, and it is held against %s",
                     coir_symbol_text(c, coir_symbol_at(c, n)), coir_type_text(c, ty));
        return give_up(c, n, list, inside);
    }
    const uint32_t v = variant_named(c, n, i.decl);
    if (v == i.decl->nvariants)
        return give_up(c, n, list, inside);
    if (list.count != i.decl->variants[v].nfields) {
        coir_say(c, COIR_E_ARGUMENTS, n, "`%s` has a payload of %u, and here %s %u", i.decl->variants[v].name,
                 i.decl->variants[v].nfields, list.count == 1 ? "is" : "are", list.count);
        coir_note(c, "write `_` for what is not needed");
        return give_up(c, n, list, inside);
    }
    struct coir_x_pattern *const p = pattern_new(c, n, COIR_PATTERN_VARIANT, inside);
    const struct coir_x_pattern **const items = coir_take(c, (list.count + 1) * sizeof *items);
    for (uint32_t k = 0; k < list.count; k++)
        items[k] = arm_pattern(c, list.at[k], coir_part_type(c, n, inside, i.decl->variants[v].fields[k].type), lent);
    p->index = v;
    set_items(p, items, list.count);
    return wrapped(c, n, p, ty);
}

static const struct coir_x_pattern *tuple_pattern(struct coir_checker *c, coir_ast n, coir_ty ty, bool lent)
{
    const struct coir_ast_list list = coir_ast_tuple_pattern_list(coir_tree_of(c), n);
    const coir_ty inside = coir_peel(c, ty);
    const struct coir_ty_info i = *coir_info(c, inside);

    if (i.kind != COIR_TY_TUPLE || i.n != list.count) {
        if (!i.bad && i.kind != COIR_TY_NEVER)
            coir_say(c, COIR_E_TUPLE, n, "this takes %u things apart, and it is held against %s", list.count,
                     coir_type_text(c, ty));
        return give_up(c, n, list, inside);
    }
    struct coir_x_pattern *const p = pattern_new(c, n, COIR_PATTERN_TUPLE, inside);
    const struct coir_x_pattern **const items = coir_take(c, list.count * sizeof *items);
    for (uint32_t k = 0; k < list.count; k++)
        items[k] = arm_pattern(c, list.at[k], i.args[k], lent);
    set_items(p, items, list.count);
    return wrapped(c, n, p, ty);
}

static const struct coir_x_pattern *nil_pattern(struct coir_checker *c, coir_ast n, coir_ty ty)
{
    if (coir_kind(c, ty) == COIR_TY_OPTION)
        return pattern_new(c, n, COIR_PATTERN_NIL, ty);
    if (!coir_info(c, ty)->bad && ty != COIR_TY_NEVER)
        coir_say(c, COIR_E_NOT_OPTIONAL, n, "%s is never nil", coir_type_text(c, ty));
    return pattern_new(c, n, COIR_PATTERN_ANY, COIR_TY_ERROR);
}

/* ---- A | B ---- */

static void say_unnamed(struct coir_checker *c, coir_ast n, const struct coir_rebinding *r, const bool *want)
{
    for (uint32_t i = r->from; i < r->to; i++) {
        if (r->seen[i - r->from] == want[i - r->from])
            continue;
        coir_say(c, COIR_E_OR_NAMES, n, "this alternative does not name `%s`",
                 coir_symbol_text(c, c->bindings[i].name));
        coir_note(c, "all alternatives of an arm name the same, or write two arms");
        return;
    }
}

/* The alternatives after the first name again what the first one did: the bindings [from, to), or, inside of another
 * alternative, those of its names that the first named. */
static const struct coir_x_pattern *or_pattern(struct coir_checker *c, coir_ast n, coir_ty ty, bool lent)
{
    const struct coir_ast_list list = coir_ast_or_pattern_list(coir_tree_of(c), n);
    struct coir_x_pattern *const p = pattern_new(c, n, COIR_PATTERN_EITHER, ty);
    const struct coir_x_pattern **const items = coir_take(c, (list.count + 1) * sizeof *items);
    struct coir_rebinding *const outer = c->rebinding;
    struct coir_rebinding r = { .from = outer ? outer->from : c->nbindings };
    const uint32_t names = outer ? outer->to - outer->from : 0;
    bool *const before = coir_take_scratch(c, names + 1);

    if (outer && names)
        memcpy(before, outer->seen, names);
    items[0] = arm_pattern(c, list.at[0], ty, lent);
    r.to = outer ? outer->to : c->nbindings;
    const uint32_t count = r.to - r.from;
    bool *const want = coir_take_scratch(c, count + 1);
    r.seen = outer ? outer->seen : coir_take_scratch(c, count + 1);
    memset(want, true, count);
    if (outer && count)
        memcpy(want, outer->seen, count);
    c->rebinding = &r;
    for (uint32_t i = 1; i < list.count; i++) {
        memset(r.seen, false, count);
        if (outer && count)
            memcpy(r.seen, before, count);
        r.said = false;
        items[i] = arm_pattern(c, list.at[i], ty, lent);
        if (!r.said)
            say_unnamed(c, list.at[i], &r, want);
    }
    if (outer && count)
        memcpy(outer->seen, want, count);
    c->rebinding = outer;
    set_items(p, items, list.count);
    return p;
}

static const struct coir_x_pattern *arm_pattern(struct coir_checker *c, coir_ast n, coir_ty ty, bool lent)
{
    const struct coir_tree *const t = coir_tree_of(c);

    while (coir_ast_is(t, n, COIR_N_PAREN_PATTERN))
        n = coir_ast_paren_pattern_pattern(t, n);
    switch (coir_ast_kind(t, n)) {
    case COIR_N_BIND: return name_pattern(c, n, ty, lent);
    case COIR_N_NIL_PATTERN: return nil_pattern(c, n, ty);
    case COIR_N_LITERAL_PATTERN: return literal_pattern(c, n, ty);
    case COIR_N_VARIANT_PATTERN: return variant_pattern(c, n, ty, lent);
    case COIR_N_TUPLE_PATTERN: return tuple_pattern(c, n, ty, lent);
    case COIR_N_OR_PATTERN: return or_pattern(c, n, ty, lent);
    default: return pattern_new(c, n, COIR_PATTERN_ANY, ty);
    }
}

const struct coir_x_pattern *coir_check_pattern(struct coir_checker *c, coir_ast n, coir_ty ty, bool lent,
                                                uint32_t nils)
{
    coir_ty inside = ty;

    for (; nils && coir_kind(c, inside) == COIR_TY_OPTION; nils--)
        inside = coir_info(c, inside)->args[0];
    const struct coir_x_pattern *p = arm_pattern(c, n, inside, lent);
    if (p->type == inside || coir_info(c, p->type)->bad) {
        /* below a `nil` arm: from here outwards it is not nil */
        struct coir_x_pattern *const copy = coir_take(c, sizeof *copy);
        *copy = *p;
        p = wrapped(c, n, copy, ty);
    }
    return p;
}

/* ---- does a name own a part? ---- */

static bool any_item_takes(struct coir_checker *c, struct coir_ast_list list, const coir_ty *types)
{
    for (uint32_t i = 0; i < list.count; i++) {
        if (coir_pattern_takes(c, list.at[i], types[i]))
            return true;
    }
    return false;
}

static bool variant_takes(struct coir_checker *c, coir_ast n, coir_ty ty)
{
    const struct coir_ast_list list = coir_ast_variant_pattern_list(coir_tree_of(c), n);
    const char *const name = coir_symbol_text(c, coir_symbol_at(c, n));
    const struct coir_ty_info i = *coir_info(c, ty);

    if (i.kind != COIR_TY_DECL || i.decl->kind != COIR_DECL_SUM)
        return false;
    for (uint32_t v = 0; v < i.decl->nvariants; v++) {
        for (uint32_t k = 0; i.decl->variants[v].name == name && k < i.decl->variants[v].nfields &&
             k < list.count; k++) {
            if (coir_pattern_takes(c, list.at[k], coir_part_type(c, n, ty, i.decl->variants[v].fields[k].type)))
                return true;
        }
    }
    return false;
}

bool coir_pattern_takes(struct coir_checker *c, coir_ast n, coir_ty ty)
{
    const struct coir_tree *const t = coir_tree_of(c);

    switch (coir_ast_kind(t, n)) {
    case COIR_N_PAREN_PATTERN:
        return coir_pattern_takes(c, coir_ast_paren_pattern_pattern(t, n), ty);
    case COIR_N_BIND:
        return coir_is_resource(c, ty);
    case COIR_N_VARIANT_PATTERN:
        return variant_takes(c, n, coir_peel(c, ty));
    case COIR_N_TUPLE_PATTERN: {
        const struct coir_ast_list list = coir_ast_tuple_pattern_list(t, n);
        const struct coir_ty_info *const i = coir_info(c, coir_peel(c, ty));
        return i->kind == COIR_TY_TUPLE && i->n == list.count && any_item_takes(c, list, i->args);
    }
    case COIR_N_OR_PATTERN: {
        const struct coir_ast_list list = coir_ast_or_pattern_list(t, n);
        for (uint32_t i = 0; i < list.count; i++) {
            if (coir_pattern_takes(c, list.at[i], ty))
                return true;
        }
        return false;
    }
    default:
        return false;
    }
}
