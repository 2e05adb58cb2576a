/* SPDX-License-Identifier: MIT */
/*
 * Calls: of functions, methods, values, variants, and what only looks like one: print, Int("4"), chan[T](n). Arguments
 * are checked by coir_infer_operands; here they are counted, their `mut` and `own` held against the parameters, and
 * places made of what is `mut`.
 */
#include "lang/checker.h"

#include <string.h>

void coir_use_new(struct coir_checker *c, coir_ast n, const struct coir_x_call *call)
{
    const struct coir_place at = coir_ast_place(coir_tree_of(c), n);

    if (c->fns[call->fn].fn->ntypes == 0 || !c->fns[call->fn].types)
        return;
    c->uses = coir_more(c, c->uses, &c->uses_room, c->nuses, sizeof *c->uses);
    const struct coir_fn_item *from = c->item;
    if (from) {
        struct coir_fn_item *const copy = coir_take_scratch(c, sizeof *copy);
        *copy = *from;
        from = copy;
    }
    c->uses[c->nuses++] = (struct coir_use){ .fn = call->fn, .types = call->types, .from = from, .source = at.source,
                                             .at = at.start, .end = at.end };
}

struct coir_x *coir_give_up(struct coir_checker *c, coir_ast n, struct coir_ast_list args)
{
    const struct coir_tree *const t = coir_tree_of(c);

    for (uint32_t i = 0; i < args.count; i++) {
        const coir_ast arg = coir_ast_is(t, args.at[i], COIR_N_ARG) ? coir_ast_arg_value(t, args.at[i]) : args.at[i];
        if (!coir_is_shy(c, arg))
            coir_check_expr(c, arg, 0);
    }
    return coir_x_error(c, n);
}

/* ---- arguments ---- */

static bool count_args(struct coir_checker *c, coir_ast n, const struct coir_call *call, uint32_t have)
{
    const uint32_t want = call->nparams - call->ngiven;

    if (want == have)
        return true;
    coir_say_main(c, COIR_E_ARGUMENTS, n, "`%s` takes %u argument%s, and here %s %u", call->name, want,
                  want == 1 ? "" : "s", have == 1 ? "is" : "are", have);
    if (call->said_in)
        coir_diagnose_see(c->d, call->said_in, call->said_at, call->said_end, "it is declared here");
    return false;
}

static bool argument(struct coir_checker *c, struct coir_operand *o, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const bool marked = coir_ast_is(t, n, COIR_N_ARG);
    const bool mut = marked && coir_ast_flags(t, n) & COIR_F_MUT;

    o->node = marked ? coir_ast_arg_value(t, n) : n;
    if (mut && o->mode != COIR_MUT) {
        coir_say(c, COIR_E_ARGUMENT_MODE, n, "this parameter is not `mut`");
        coir_note(c, "leave `mut` out: the function cannot change it");
        return false;
    }
    if (marked && !mut && o->mode != COIR_OWN) {
        coir_say(c, COIR_E_ARGUMENT_MODE, n, "this parameter is not `own`");
        coir_note(c, "leave `own` out: it is only lent");
        return false;
    }
    if (!mut && o->mode == COIR_MUT) {
        coir_say(c, COIR_E_ARGUMENT_MODE, n, "this parameter is `mut`: the function changes what it is given");
        coir_note(c, "write `mut` before the argument");
        return false;
    }
    return true;
}

static bool overlaps(struct coir_checker *c, const struct coir_x_arg *args, uint32_t n)
{
    const struct coir_x_place *const p = args[n].place;

    for (uint32_t i = 0; i < n; i++) {
        if (args[i].mode != COIR_MUT || args[i].place->root != p->root)
            continue;
        const bool state = coir_is_state(c, p->root);
        coir_say_at(c, COIR_E_MUT_TWICE, p->at, p->end, "`%s` is changed twice by one call",
                    c->body->locals[p->root].name);
        coir_diagnose_see(c->d, coir_tree_of(c)->source, args[i].place->at, args[i].place->end, "here as well");
        coir_note(c, state ? "the fields of an actor count as one variable, which its own functions get whole" :
                  "two places of one call must begin at different variables");
        return true;
    }
    return false;
}

/* What is `mut` must be a place of exactly the type. */
static const struct coir_x_place *mut_place(struct coir_checker *c, const struct coir_operand *o, coir_ty want)
{
    if (o->x->type != want && !coir_info(c, want)->bad) {
        coir_say_at(c, COIR_E_MISMATCH, o->x->at, o->x->end, "this is %s, and a place of %s is wanted",
                    coir_type_text(c, o->x->type), coir_type_text(c, want));
        return NULL;
    }
    return coir_check_place(c, o->x, "changed");
}

const struct coir_x_arg *coir_call_arguments(struct coir_checker *c, coir_ast n, struct coir_call *call,
                                             struct coir_ast_list list, coir_ty want)
{
    const uint32_t first = call->ngiven;
    struct coir_x_arg *const args = coir_take(c, (call->nparams + 1) * sizeof *args);
    bool good = count_args(c, n, call, list.count);

    for (uint32_t i = 0; good && i < list.count; i++)
        good &= argument(c, &call->operands[first + i], list.at[i]);
    if (!good) {
        coir_give_up(c, n, list);
        return NULL;
    }
    for (uint32_t i = 0; i < first; i++)
        call->operands[i].x = call->given[i];
    if (!coir_infer_operands(c, &call->f, call->operands, call->nparams, call->result, want, n, call->name))
        return NULL;
    for (uint32_t i = 0; i < call->nparams; i++) {
        const struct coir_operand *const o = &call->operands[i];
        args[i].mode = o->mode;
        if (o->mode != COIR_MUT) {
            args[i].value = o->x;
            continue;
        }
        args[i].place = mut_place(c, o, coir_infer_apply(c, &call->f, o->pattern, n));
        if (!args[i].place || overlaps(c, args, i))
            return NULL;
    }
    return args;
}

/* ---- functions ---- */

bool coir_is_bad_fn(struct coir_checker *c, const struct coir_x_fn *fn)
{
    bool bad = coir_info(c, fn->result)->bad;

    for (uint32_t i = 0; i < fn->nparams; i++) {
        const struct coir_x_param *const p = &fn->params[i];
        const bool handled = fn->kind == COIR_FN_HANDLER && i > 0;
        bad |= coir_info(c, p->type)->bad || (handled && p->mode == COIR_MUT) ||
               (handled && p->mode == COIR_LEND && coir_is_resource(c, p->type));
    }
    return bad;
}

void coir_call_begin(struct coir_checker *c, struct coir_call *call, coir_x_fn_id id, uint32_t from)
{
    const struct coir_x_fn *const fn = c->fns[id].fn;

    call->name = fn->name;
    call->nparams = fn->nparams - from;
    call->result = fn->result;
    call->said_at = fn->at;
    call->said_end = fn->end;
    call->said_in = c->modules[c->fns[id].module].library ? NULL : fn->source;  /* nobody has the library's text */
    call->operands = coir_take_scratch(c, (call->nparams + 1) * sizeof *call->operands);
    for (uint32_t i = 0; i < call->nparams; i++) {
        call->operands[i].pattern = fn->params[from + i].type;
        call->operands[i].mode = fn->params[from + i].mode;
    }
    coir_infer_begin(c, &call->f, fn->ntypes, fn->types);
}

struct coir_x *coir_call_fn(struct coir_checker *c, coir_ast n, coir_x_fn_id id, struct coir_call *call,
                            struct coir_ast_list list, coir_ty want)
{
    const struct coir_x_fn *const fn = c->fns[id].fn;

    if (coir_is_bad_fn(c, fn))
        return coir_give_up(c, n, list);
    coir_call_begin(c, call, id, 0);
    for (uint32_t i = 0; i < call->ngiven; i++)
        call->operands[i].node = coir_ast_child(coir_tree_of(c), n, 0);
    const struct coir_x_arg *const args = coir_call_arguments(c, n, call, list, want);
    if (!args)
        return coir_x_error(c, n);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_CALL, coir_infer_apply(c, &call->f, fn->result, n));
    x->call.fn = id;
    x->call.types = call->f.found;
    x->call.nargs = fn->nparams;
    x->call.args = args;
    coir_use_new(c, n, &x->call);
    return x;
}

static struct coir_x *call_fn(struct coir_checker *c, coir_ast n, coir_x_fn_id id, struct coir_x *receiver,
                              struct coir_ast_list list, coir_ty want)
{
    struct coir_call call = { .given = { receiver }, .ngiven = receiver != NULL };

    return coir_call_fn(c, n, id, &call, list, want);
}

static struct coir_x *call_value(struct coir_checker *c, coir_ast n, struct coir_x *callee,
                                 struct coir_ast_list list)
{
    const struct coir_ty_info i = *coir_info(c, callee->type);

    if (i.kind == COIR_TY_NEVER)
        return callee;
    if (i.bad)
        return coir_give_up(c, n, list);
    if (i.kind != COIR_TY_FN) {
        coir_say_at(c, COIR_E_NOT_CALLABLE, callee->at, callee->end, "%s cannot be called",
                    coir_type_text(c, callee->type));
        return coir_give_up(c, n, list);
    }
    struct coir_call call = { .name = "the function", .nparams = i.n - 1, .result = i.args[i.n - 1] };
    call.operands = coir_take_scratch(c, i.n * sizeof *call.operands);
    for (uint32_t k = 0; k < call.nparams; k++) {
        call.operands[k].pattern = i.args[k];
        call.operands[k].mode = i.modes ? i.modes[k] : COIR_LEND;
    }
    coir_infer_begin(c, &call.f, 0, NULL);
    const struct coir_x_arg *const args = coir_call_arguments(c, n, &call, list, 0);
    if (!args)
        return coir_x_error(c, n);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_CALL_VALUE, call.result);
    x->call.callee = callee;
    x->call.nargs = call.nparams;
    x->call.args = args;
    return x;
}

/* ---- what the language has ---- */

static struct coir_x *call_print(struct coir_checker *c, coir_ast n, struct coir_ast_list list, bool to_stderr)
{
    const struct coir_x **const items = coir_take(c, (list.count + 1) * sizeof *items);

    if (list.count == 0) {
        coir_say(c, COIR_E_ARGUMENTS, n, "`print` takes one value or more");
        coir_note(c, "an empty line is `print(\"\")`");
        return coir_x_error(c, n);
    }
    for (uint32_t i = 0; i < list.count; i++) {
        if (coir_ast_is(coir_tree_of(c), list.at[i], COIR_N_ARG)) {
            coir_say(c, COIR_E_ARGUMENT_MODE, list.at[i], "`print` only looks at its values");
            return coir_give_up(c, n, list);
        }
        items[i] = coir_check_expr(c, list.at[i], 0);
    }
    struct coir_x *const x = coir_x_new(c, n, COIR_X_PRINT, COIR_TY_UNIT);
    x->index = to_stderr;
    x->items.list = items;
    x->items.n = list.count;
    return x;
}

/* Int("42"): `parse` of the library's module of that type. */
static struct coir_x *call_conversion(struct coir_checker *c, coir_ast n, const char *type, const char *module,
                                      struct coir_ast_list list)
{
    const coir_symbol parse = coir_symbol_of(c, "parse", 5);

    for (uint32_t m = 0; m < c->nmodules; m++) {
        if (!c->modules[m].core || strcmp(c->modules[m].name, module) != 0)
            continue;
        const struct coir_item *const item = coir_item_of(c, m, parse);
        if (!item || item->kind != COIR_ITEM_FN)
            break;
        if (list.count == 1 && !coir_ast_is(coir_tree_of(c), list.at[0], COIR_N_ARG)) {
            const uint32_t index = item->index;
            struct coir_x *const x = coir_check_expr(c, list.at[0], 0);
            if (coir_is_error(x))
                return coir_x_error(c, n);
            if (x->type != COIR_TY_TEXT && x->type != COIR_TY_NEVER) {
                coir_say(c, COIR_E_MISMATCH, n, "`%s(…)` reads a Text, and this is %s", type,
                         coir_type_text(c, x->type));
                coir_note(c, "numbers have `.to_int()` and `.to_float()`");
                return coir_x_error(c, n);
            }
            struct coir_x *const call = call_fn(c, n, index, x, (struct coir_ast_list){ 0 }, 0);
            return call;
        }
        coir_say(c, COIR_E_ARGUMENTS, n, "`%s(…)` reads one Text", type);
        break;
    }
    return coir_give_up(c, n, list);
}

static struct coir_x *call_capital(struct coir_checker *c, coir_ast n, coir_ast callee, struct coir_ast_list list,
                                   coir_ty want)
{
    static const struct { const char *type, *module; } conversions[] = {
        { "Int", "int" }, { "Float", "float" }, { "Duration", "duration" },
    };
    const coir_symbol s = coir_symbol_at(c, callee);
    const char *const name = coir_symbol_text(c, s);
    const struct coir_item *const item = coir_item_here(c, s);

    if (item && item->kind == COIR_ITEM_VARIANT)
        return coir_check_variant(c, n, item, list, true, want);
    if (item && item->kind == COIR_ITEM_LATER)
        return coir_give_up(c, n, list);
    for (size_t i = 0; i < sizeof conversions / sizeof *conversions; i++) {
        if (!strcmp(conversions[i].type, name))
            return call_conversion(c, n, name, conversions[i].module, list);
    }
    if (item || coir_is_builtin_type(c, s)) {
        coir_say(c, COIR_E_NOT_CALLABLE, callee, "`%s` is a type, and cannot be called", name);
        const bool actor = item && item->kind == COIR_ITEM_TYPE &&
                           c->types->decls[item->index]->kind == COIR_DECL_ACTOR;
        coir_note(c, actor ? "an actor is made by `spawn %s{ … }`" : strcmp(name, "Text") ?
                  "a record is made by `%s{ … }`" : "write a text: `\"${…}\"`", name);
    } else {
        coir_say(c, COIR_E_UNKNOWN_NAME, callee, "there is no variant `%s` here", name);
        coir_suggest(c, s, coir_owner_module((uint32_t)(c->module - c->modules)));
    }
    return coir_give_up(c, n, list);
}

struct coir_x *coir_check_chan(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list args = coir_ast_chan_args(t, n);
    const struct coir_place at = coir_ast_place(t, n);
    const coir_ty element = coir_check_type(c, coir_ast_chan_type(t, n));

    if (args.count != 1) {
        coir_say(c, COIR_E_ARGUMENTS, n, "`chan` takes one argument: how many values it has room for");
        coir_note(c, "write `chan[%s](16)`", coir_type_text(c, element));
        return coir_x_error(c, n);
    }
    struct coir_x *const x = coir_x_new(c, n, COIR_X_CHAN, coir_made(c, coir_ty_chan(c->types, element), at.start,
                                                                     at.end));
    struct coir_x *const room = coir_check_as(c, args.at[0], COIR_TY_INT);
    if (room->type == COIR_TY_NEVER)
        return room;
    x->of = room;
    return x;
}

/* ---- the two forms ---- */

/* f[Int], where f is a function. */
static bool names_generic(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);

    if (!coir_ast_is(t, n, COIR_N_INDEX) || !coir_ast_is(t, coir_ast_index_object(t, n), COIR_N_NAME))
        return false;
    const coir_symbol s = coir_symbol_at(c, coir_ast_index_object(t, n));
    const bool hidden = coir_is_bound(c, s) || coir_actor_member(c, s) != COIR_NONE;
    const struct coir_item *const item = hidden ? NULL : coir_item_here(c, s);
    return item && item->kind == COIR_ITEM_FN;
}

struct coir_x *coir_check_call(struct coir_checker *c, coir_ast n, coir_ty want)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list list = coir_ast_call_args(t, n);
    const coir_ast callee = coir_ast_call_callee(t, n);

    if (coir_ast_is(t, callee, COIR_N_NAME)) {
        const coir_symbol s = coir_symbol_at(c, callee);
        const uint32_t member = coir_is_bound(c, s) ? COIR_NONE : coir_actor_member(c, s);
        const bool hidden = coir_is_bound(c, s) || member != COIR_NONE;
        const struct coir_item *const item = hidden ? NULL : coir_item_here(c, s);
        const char first = *coir_symbol_text(c, s);
        if (member != COIR_NONE && member & 1)
            return coir_check_actor_call(c, n, member / 2, list, want);
        if (item && item->kind == COIR_ITEM_FN)
            return call_fn(c, n, item->index, NULL, list, want);
        if (first >= 'A' && first <= 'Z' && !hidden)
            return call_capital(c, n, callee, list, want);
        if (!item && s == c->print_ && !hidden)
            return call_print(c, n, list, false);
        if (!item && s == c->monitor_ && !hidden)
            return coir_check_monitor(c, n, list);
    }
    if (names_generic(c, callee)) {
        coir_say(c, COIR_E_TYPE_ARGUMENTS, callee, "types are not written in calls");
        coir_note(c, "they are told from the arguments, and from what the result is wanted for");
        return coir_give_up(c, n, list);
    }
    return call_value(c, n, coir_check_expr(c, callee, 0), list);
}

static struct coir_x *call_in_module(struct coir_checker *c, coir_ast n, uint32_t module, struct coir_ast_list list,
                                     coir_ty want)
{
    const coir_symbol s = coir_symbol_at(c, n);

    if (c->modules[module].library && !strcmp(c->modules[module].name, "io") && (s == c->print_ || s == c->eprint_))
        return call_print(c, n, list, s == c->eprint_);
    const struct coir_item *const item = coir_module_item(c, n, module);
    if (!item || item->kind == COIR_ITEM_LATER)
        return coir_give_up(c, n, list);
    if (item->kind == COIR_ITEM_FN)
        return call_fn(c, n, item->index, NULL, list, want);
    if (item->kind == COIR_ITEM_VARIANT)
        return coir_check_variant(c, n, item, list, true, want);
    if (item->kind == COIR_ITEM_GLOBAL) {
        struct coir_x *const callee = coir_x_new(c, n, COIR_X_GLOBAL, c->lets[item->index].made.type);
        callee->global = c->lets[item->index].global;
        return call_value(c, n, callee, list);
    }
    coir_say_main(c, COIR_E_NOT_CALLABLE, n, "`%s` is a type, and cannot be called", coir_symbol_text(c, s));
    return coir_give_up(c, n, list);
}

/* p.f(x), where f is a field of a function: `(p.f)(x)` is meant. */
static struct coir_x *say_field_called(struct coir_checker *c, coir_ast n, struct coir_ast_list list, coir_ty ty)
{
    const char *const name = coir_symbol_text(c, coir_symbol_at(c, n));

    coir_say_main(c, COIR_E_METHOD, n, "`%s` is a field of %s, not a method", name, coir_type_text(c, ty));
    coir_note(c, "call what is in it by `(x.%s)(…)`", name);
    return coir_give_up(c, n, list);
}

struct coir_x *coir_check_method(struct coir_checker *c, coir_ast n, coir_ty want)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list list = coir_ast_method_args(t, n);
    const coir_ast receiver = coir_ast_method_receiver(t, n);
    const uint32_t module = coir_module_named(c, receiver);

    if (module != COIR_NONE)
        return call_in_module(c, n, module, list, want);
    struct coir_x *const of = coir_check_expr(c, receiver, 0);
    const struct coir_ty_info *const i = coir_info(c, of->type);
    if (i->kind == COIR_TY_NEVER)
        return of;
    if (i->bad)
        return coir_give_up(c, n, list);
    const coir_symbol s = coir_symbol_at(c, n);
    uint32_t fn = COIR_NONE;
    if (i->kind == COIR_TY_DECL && i->decl->kind == COIR_DECL_ACTOR)
        return coir_check_ask(c, n, of, list);
    if (i->kind == COIR_TY_DECL) {
        const uint32_t member = coir_lookup_get(c, coir_owner_decl(i->decl->number), s);
        if (member != COIR_NONE && !(member & 1))
            return say_field_called(c, n, list, of->type);
        fn = member == COIR_NONE ? COIR_NONE : member / 2;
    } else {
        fn = coir_lookup_get(c, coir_owner_kind(i->kind), s);
    }
    if (fn == COIR_NONE || c->fns[fn].fn->nparams == 0) {
        if (fn == COIR_NONE)
            coir_say_no_member(c, n, of->type);
        return coir_give_up(c, n, list);
    }
    return call_fn(c, n, fn, of, list, want);
}
