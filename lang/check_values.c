/* SPDX-License-Identifier: MIT */
/*
 * Expressions that read what there is: names, of locals and of what modules declare, members, elements, slices. What is
 * read is lent.
 */
#include <string.h>

#include "lang/checker.h"

/* ---- names ---- */

static struct coir_x *global(struct coir_checker *c, coir_ast n, const struct coir_item *item)
{
    const struct coir_let_item *const l = &c->lets[item->index];
    struct coir_x *const x = coir_x_new(c, n, COIR_X_GLOBAL, l->made.type);

    x->global = l->global;
    return x;
}

/* A function as a value. A generic one needs to be wanted as something. */
static struct coir_x *function(struct coir_checker *c, coir_ast n, coir_x_fn_id id, coir_ty want)
{
    const struct coir_x_fn *const fn = c->fns[id].fn;
    const struct coir_place at = coir_ast_place(coir_tree_of(c), n);
    coir_ty *const types = coir_take_scratch(c, (fn->nparams + 1) * sizeof *types);
    uint8_t *const modes = coir_take_scratch(c, fn->nparams + 1);
    struct coir_inference f;

    for (uint32_t i = 0; i < fn->nparams; i++) {
        types[i] = fn->params[i].type;
        modes[i] = fn->params[i].mode;
    }
    types[fn->nparams] = fn->result;
    coir_ty ty = coir_made(c, coir_ty_fn(c->types, fn->nparams, types, modes), at.start, at.end);
    coir_infer_begin(c, &f, fn->ntypes, fn->types);
    if (fn->ntypes) {
        want = coir_peel(c, want);
        if (coir_kind(c, want) == COIR_TY_FN)
            coir_infer_match(c, &f, ty, want);
        if (!coir_infer_end(c, &f, n, fn->name))
            return coir_x_error(c, n);
        ty = coir_infer_apply(c, &f, ty, n);
    }
    struct coir_x *const x = coir_x_new(c, n, COIR_X_FN, ty);
    x->call.fn = id;
    x->call.types = f.found;
    coir_use_new(c, n, &x->call);
    return x;
}

static struct coir_x *item_value(struct coir_checker *c, coir_ast n, const struct coir_item *item, coir_ty want)
{
    const char *const name = coir_symbol_text(c, item->name);

    switch (item->kind) {
    case COIR_ITEM_FN:
        return function(c, n, item->index, want);
    case COIR_ITEM_GLOBAL:
        return global(c, n, item);
    case COIR_ITEM_VARIANT:
        return coir_check_variant(c, n, item, (struct coir_ast_list){ 0 }, false, want);
    case COIR_ITEM_TYPE:
        coir_say_main(c, COIR_E_TYPE_VALUE, n, "`%s` is a type, not a value", name);
        if (c->types->decls[item->index]->kind == COIR_DECL_ACTOR)
            coir_note(c, "an actor is made by `spawn %s{ … }`", name);
        else
            coir_note(c, "a record is made by `%s{ … }`", name);
        break;
    case COIR_ITEM_MODULE:
        coir_say_main(c, COIR_E_TYPE_VALUE, n, "`%s` is a module, not a value", name);
        coir_note(c, "name something in it: `%s.name`", name);
        break;
    case COIR_ITEM_LATER:
        break;
    }
    return coir_x_error(c, n);
}

/* Notes what is said here for a name from other languages. Whether it is one. */
static bool note_habit(struct coir_checker *c, const char *name, bool member)
{
    static const struct { const char *name; bool member; const char *note; } habits[] = {
        { "append", true, "lists have `push`; texts and lists are joined by `+`" },
        { "add", true, "lists have `push`; maps are written by `m[k] = v`" },
        { "length", true, "say `.len()`" },
        { "size", true, "say `.len()`" },
        { "count", true, "say `.len()`" },
        { "delete", true, "say `.remove(…)`" },
        { "each", true, "say `for x in xs { … }`" },
        { "substring", true, "say `t[a..b]`" },
        { "substr", true, "say `t[a..b]`" },
        { "to_upper", true, "say `.upper()`" },
        { "to_lower", true, "say `.lower()`" },
        { "to_int", true, "say `Int(t)` for a text: nil if it is no number" },
        { "strip", true, "say `.trim()`" },
        { "find", true, "say `.index_of(x)`, or `.filter(x => …)`" },
        { "reduce", true, "say `.fold(start, (sum, x) => …)`" },
        { "items", true, "say `for k, v in m { … }`" },
        { "to_text", true, "write a text: `\"${…}\"`" },
        { "to_string", true, "write a text: `\"${…}\"`" },
        { "len", false, "it is a method: `x.len()`" },
        { "chan", false, "say what goes through it: `chan[Int](16)`" },
        { "range", false, "say `for i in 0..n { … }`" },
        { "println", false, "say `print(x)`" },
        { "printf", false, "say `print(\"${x}\")`" },
        { "str", false, "write a text: `\"${…}\"`" },
        { "string", false, "write a text: `\"${…}\"`" },
        { "int", false, "say `Int(t)` for a text, `x.to_int()` for a float" },
        { "float", false, "say `Float(t)` for a text, `x.to_float()` for an integer" },
        { "append", false, "it is a method: `xs.push(x)`" },
        { "sorted", false, "it is a method: `xs.sorted()`" },
        { "open", false, "say `use fs`, and `fs.open(path)`" },
        { "input", false, "say `use io`, and `io.read_line()`" },
        { "panic", false, "say `trap \"message\"`" },
        { "sleep", false, "say `use time`, and `time.sleep(1s)`" },
    };

    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++) {
        if (habits[i].member == member && !strcmp(habits[i].name, name)) {
            coir_note(c, "%s", habits[i].note);
            return true;
        }
    }
    return false;
}

static struct coir_x *unknown_name(struct coir_checker *c, coir_ast n, coir_symbol s)
{
    if (coir_is_builtin_type(c, s)) {
        coir_say(c, COIR_E_TYPE_VALUE, n, "`%s` is a type, not a value", coir_symbol_text(c, s));
        return coir_x_error(c, n);
    }
    if (s == c->print_ || s == c->monitor_) {
        coir_say(c, COIR_E_TYPE_VALUE, n, "`%s` can only be called", coir_symbol_text(c, s));
        return coir_x_error(c, n);
    }
    coir_say(c, COIR_E_UNKNOWN_NAME, n, "`%s` is not known here", coir_symbol_text(c, s));
    const struct coir_ty_decl *const actor = coir_actor_around(c);
    if (actor && coir_suggest(c, s, coir_owner_decl(actor->state->number)))
        return coir_x_error(c, n);
    if (!note_habit(c, coir_symbol_text(c, s), false))
        coir_suggest(c, s, coir_owner_module((uint32_t)(c->module - c->modules)));
    return coir_x_error(c, n);
}

struct coir_x *coir_check_name(struct coir_checker *c, coir_ast n, coir_ty want)
{
    const bool self = coir_ast_is(coir_tree_of(c), n, COIR_N_SELF);
    const coir_symbol s = self ? c->self : coir_symbol_at(c, n);
    const coir_x_local_id local = coir_local_named(c, s, n);

    if (local != COIR_NONE) {
        const struct coir_x_local *const l = &c->body->locals[local];
        if (l->kind == COIR_LOCAL_GROUP && l->type != COIR_TY_ERROR) {
            coir_say(c, COIR_E_GROUP, n, "a group can only spawn");
            coir_note(c, "write `%s.spawn f(x)`", l->name);
            return coir_x_error(c, n);
        }
        struct coir_x *const x = coir_x_new(c, n, COIR_X_LOCAL, l->type);
        x->local = local;
        return x;
    }
    const uint32_t member = self ? COIR_NONE : coir_actor_member(c, s);
    if (member != COIR_NONE)
        return coir_check_actor_name(c, n, member);
    const struct coir_item *const item = coir_item_here(c, s);
    return item ? item_value(c, n, item, want) : unknown_name(c, n, s);
}

/* ---- members ---- */

const struct coir_item *coir_module_item(struct coir_checker *c, coir_ast n, uint32_t module)
{
    const coir_symbol s = coir_symbol_at(c, n);
    const struct coir_item *const item = coir_item_of(c, module, s);

    if (!item || item->kind == COIR_ITEM_MODULE) {
        coir_say_main(c, COIR_E_UNKNOWN_MEMBER, n, "the module `%s` has no `%s`", c->modules[module].name,
                      coir_symbol_text(c, s));
        coir_suggest(c, s, coir_owner_module(module));
        return NULL;
    }
    if (!item->pub && item->kind != COIR_ITEM_LATER) {
        coir_say_main(c, COIR_E_PRIVATE, n, "`%s` is not exported by `%s`", coir_symbol_text(c, s),
                      c->modules[module].name);
        coir_diagnose_see(c->d, c->modules[module].tree->source, item->at, item->end, "it is declared here");
        coir_note(c, "write `pub` before it there");
    }
    return item;
}

struct coir_x *coir_say_no_member(struct coir_checker *c, coir_ast n, coir_ty ty)
{
    const coir_symbol s = coir_symbol_at(c, n);
    const char *const name = coir_symbol_text(c, s);

    if (coir_kind(c, ty) == COIR_TY_OPTION) {
        coir_say_main(c, COIR_E_UNKNOWN_MEMBER, n, "this is %s, which may be nil and has no `%s`",
                      coir_type_text(c, ty), name);
        coir_note(c, "take what is inside with `if let`, `match` or `??`");
    } else {
        const bool declared = coir_kind(c, ty) == COIR_TY_DECL;
        coir_say_main(c, COIR_E_UNKNOWN_MEMBER, n, "%s has no `%s`", coir_type_text(c, ty), name);
        if (!coir_suggest(c, s, declared ? coir_owner_decl(coir_info(c, ty)->decl->number) :
                                coir_owner_kind(coir_kind(c, ty))) && !declared)
            note_habit(c, name, true);
    }
    return coir_x_error(c, n);
}

struct coir_x *coir_check_member(struct coir_checker *c, coir_ast n, coir_ty want)
{
    const coir_ast object = coir_ast_member_object(coir_tree_of(c), n);
    const uint32_t module = coir_module_named(c, object);

    if (module != COIR_NONE) {
        const struct coir_item *const item = coir_module_item(c, n, module);
        return item ? item_value(c, n, item, want) : coir_x_error(c, n);
    }
    struct coir_x *const of = coir_check_expr(c, object, 0);
    const struct coir_ty_info *const i = coir_info(c, of->type);
    if (of->type == COIR_TY_NEVER)
        return of;
    if (i->bad)
        return coir_x_error(c, n);
    const coir_symbol s = coir_symbol_at(c, n);
    uint32_t member = COIR_NONE;
    if (i->kind == COIR_TY_DECL && i->decl->kind == COIR_DECL_ACTOR)
        return coir_check_actor_part(c, n, of->type);
    if (i->kind == COIR_TY_DECL)
        member = coir_lookup_get(c, coir_owner_decl(i->decl->number), s);
    else
        member = coir_lookup_get(c, coir_owner_kind(i->kind), s) == COIR_NONE ? COIR_NONE : 1;
    if (member == COIR_NONE)
        return coir_say_no_member(c, n, of->type);
    if (member & 1) {
        coir_say_main(c, COIR_E_METHOD, n, "`%s` is a method: it must be called", coir_symbol_text(c, s));
        coir_note(c, "write `.%s()`, or a closure: `x => x.%s()`", coir_symbol_text(c, s), coir_symbol_text(c, s));
        return coir_x_error(c, n);
    }
    const coir_ty ty = coir_part_type(c, n, of->type, i->decl->fields[member / 2].type);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_FIELD, ty);
    x->index = member / 2;
    x->of = of;
    return x;
}

/* ---- elements ---- */

static struct coir_x *check_slice(struct coir_checker *c, coir_ast n, const struct coir_x *of, coir_ast range)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const coir_ast from = coir_ast_range_from(t, range), to = coir_ast_range_to(t, range);
    const enum coir_ty_kind kind = coir_kind(c, of->type);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_SLICE, of->type);

    x->slice.of = of;
    if (from)
        x->slice.from = coir_check_as(c, from, COIR_TY_INT);
    if (to)
        x->slice.to = coir_check_as(c, to, COIR_TY_INT);
    x->slice.inclusive = coir_ast_flags(t, range) & COIR_F_INCLUSIVE;
    if (coir_is_error(of))
        return coir_x_error(c, n);
    if (kind != COIR_TY_LIST && kind != COIR_TY_TEXT) {
        coir_say(c, COIR_E_INDEX, n, "only lists and texts have parts, this is %s", coir_type_text(c, of->type));
        return coir_x_error(c, n);
    }
    if (coir_is_resource(c, of->type)) {
        coir_say(c, COIR_E_RESOURCE, n, "a part of a list is a copy, and %s cannot be copied",
                 coir_type_text(c, of->type));
        return coir_x_error(c, n);
    }
    return x;
}

/* Whether `n` begins with a capital, as types do: `chn[Int](3)`, where only `chn` is wrong. */
static bool names_type(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);

    while (coir_ast_is(t, n, COIR_N_INDEX))
        n = coir_ast_index_object(t, n);
    if (!coir_ast_is(t, n, COIR_N_NAME) && !coir_ast_is(t, n, COIR_N_MEMBER))
        return false;
    const char first = *coir_symbol_text(c, coir_symbol_at(c, n));
    return first >= 'A' && first <= 'Z';
}

struct coir_x *coir_check_index(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    struct coir_x *const of = coir_check_expr(c, coir_ast_index_object(t, n), 0);
    const coir_ast at = coir_ast_index_at(t, n);

    if (of->type == COIR_TY_NEVER)
        return of;
    if (coir_ast_is(t, at, COIR_N_RANGE))
        return check_slice(c, n, of, at);
    const struct coir_ty_info i = *coir_info(c, of->type);
    if (i.kind != COIR_TY_LIST && i.kind != COIR_TY_MAP) {
        if (!names_type(c, at))
            coir_check_expr(c, at, 0);
        if (i.bad)
            return coir_x_error(c, n);
        coir_say(c, COIR_E_INDEX, n, "%s has no elements by index", coir_type_text(c, of->type));
        if (i.kind == COIR_TY_TEXT)
            coir_note(c, "`.byte(i)` gives a byte of a text, `[i..i + 1]` a part of it");
        else if (i.kind == COIR_TY_OPTION)
            coir_note(c, "it may be nil: take what is inside with `if let`, `match` or `??`");
        return coir_x_error(c, n);
    }
    struct coir_x *const x = coir_x_new(c, n, COIR_X_INDEX, i.args[i.kind == COIR_TY_MAP]);
    x->pair.a = of;
    x->pair.b = coir_check_as(c, at, i.kind == COIR_TY_MAP ? i.args[0] : (coir_ty)COIR_TY_INT);
    return coir_is_error(x->pair.b) ? coir_x_error(c, n) : x;
}
