/* SPDX-License-Identifier: MIT */
/*
 * Bodies: of functions, tests, closures, defaults and constants. Here a struct coir_body begins and ends; what stands
 * in between is for the other check_ files. When a body ends, what nobody used is reported, and its ownership is
 * checked.
 */
#include "lang/checker.h"

#include <stdio.h>
#include <string.h>

void coir_body_open(struct coir_checker *c, struct coir_body *b, struct coir_x_fn *fn, coir_x_fn_id id)
{
    *b = (struct coir_body){ .outer = c->body, .fn = fn, .id = id, .result = fn->result, .errors = c->d->errors };
    c->body = b;
    coir_scope_open(c);
    for (uint32_t i = 0; i < fn->nparams; i++) {
        const struct coir_x_local l = fn->locals[i];
        coir_local_new(c, l.name, l.type, l.kind, l.at, l.end);
        b->locals[i].lent = fn->params[i].mode == COIR_LEND && coir_is_resource(c, l.type);
        if (strcmp(l.name, "_") != 0 && !coir_is_state(c, i))
            coir_bind_local(c, coir_symbol_of(c, l.name, (uint32_t)strlen(l.name)), i);
    }
}

static void unused_locals(struct coir_checker *c, const struct coir_body *b)
{
    if (!c->module->asked || c->d->errors != b->errors)
        return;
    for (uint32_t i = b->fn->nparams; i < b->nlocals; i++) {
        const struct coir_x_local *const l = &b->locals[i];
        if (b->uses[i] || *l->name == '_' || !*l->name || (l->kind != COIR_LOCAL_LET && l->kind != COIR_LOCAL_VAR))
            continue;
        coir_say_at(c, COIR_W_UNUSED, l->at, l->end, "`%s` is never %s", l->name,
                    l->kind == COIR_LOCAL_VAR ? "read" : "used");
        coir_note(c, "write `_`, or a name that begins with it, if that is meant");
    }
}

void coir_body_close(struct coir_checker *c)
{
    struct coir_body *const b = c->body;

    unused_locals(c, b);
    struct coir_x_local *const locals = coir_take(c, (b->nlocals + 1) * sizeof *locals);
    if (b->nlocals)
        memcpy(locals, b->locals, b->nlocals * sizeof *locals);
    struct coir_x_capture *const captures = coir_take(c, (b->ncaptures + 1) * sizeof *captures);
    if (b->ncaptures)
        memcpy(captures, b->captures, b->ncaptures * sizeof *captures);
    b->fn->locals = locals;
    b->fn->nlocals = b->nlocals;
    b->fn->captures = captures;
    b->fn->ncaptures = b->ncaptures;
    coir_scope_close(c);
    c->body = b->outer;
    if (c->d->errors == b->errors)
        coir_check_ownership(c, b->fn);
}

/* ---- functions ---- */

static void say_no_value(struct coir_checker *c, coir_ast block, coir_ty result)
{
    const struct coir_place at = coir_ast_place(coir_tree_of(c), block);
    const struct coir_x_fn *const fn = c->body->fn;

    if (fn->kind == COIR_FN_CLOSURE) {
        coir_say_at(c, COIR_E_MISSING_VALUE, at.end - 1, at.end, "the closure may end without a value, %s is wanted",
                    coir_type_text(c, result));
    } else {
        coir_say_at(c, COIR_E_MISSING_VALUE, fn->at, fn->end, "`%s` may end without a value, %s is wanted", fn->name,
                    coir_type_text(c, result));
        coir_diagnose_see(c->d, fn->source, at.end - 1, at.end, "this end can be reached");
    }
    coir_note(c, "let the block end in an expression, or write `return`");
}

static void check_fn(struct coir_checker *c, coir_x_fn_id id)
{
    const struct coir_fn_item item = c->fns[id];
    struct coir_body b;

    coir_enter(c, item.module, item.types, item.fn->ntypes);
    c->item = &item;
    const struct coir_tree *const t = coir_tree_of(c);
    const coir_ast block = item.fn->kind == COIR_FN_TEST ? coir_ast_test_body(t, item.node) :
                           item.fn->kind == COIR_FN_HANDLER ? coir_ast_handler_body(t, item.node) :
                           coir_ast_fn_body(t, item.node);
    const coir_ty result = item.fn->result;
    coir_body_open(c, &b, item.fn, id);
    struct coir_x *body = coir_check_block(c, block, result == COIR_TY_UNIT ? COIR_NOTHING_WANTED : result);
    if (result != COIR_TY_UNIT && body->type == COIR_TY_UNIT)
        say_no_value(c, block, result);
    else if (result != COIR_TY_UNIT)
        body = coir_fit(c, body, result);
    item.fn->body = body;
    coir_body_close(c);
    c->item = NULL;
}

static struct coir_x *constant_body(struct coir_checker *c, coir_x_fn_id id, coir_ast value, coir_ty want)
{
    const struct coir_fn_item item = c->fns[id];
    struct coir_body b;

    c->item = &item;
    coir_body_open(c, &b, item.fn, id);
    b.constant = true;
    struct coir_x *const x = coir_check_own(c, value, want);
    item.fn->body = x;
    item.fn->result = x->type;
    coir_body_close(c);
    c->item = NULL;
    return x;
}

void coir_check_constant(struct coir_checker *c, struct coir_let_item *l)
{
    coir_enter(c, l->module, NULL, 0);
    const struct coir_tree *const t = coir_tree_of(c);
    const coir_ast type = coir_ast_let_type(t, l->node);
    const struct coir_place at = coir_ast_main_place(t, l->bind);
    const char *const name = coir_symbol_text(c, coir_symbol_at(c, l->bind));
    const coir_ty want = type ? coir_check_type(c, type) : 0;
    const coir_x_fn_id id = coir_fn_new(c, (struct coir_x_fn){ .name = name, .kind = COIR_FN_GLOBAL, .at = at.start,
                                                               .end = at.end, .result = want }, l->module, 0);
    const struct coir_x *const x = constant_body(c, id, coir_ast_let_value(t, l->node), want);
    const coir_ty ty = type ? want : x->type;

    if (!coir_is_error(x) && ty != COIR_TY_ERROR && (ty == COIR_TY_NEVER || ty == COIR_TY_UNIT))
        coir_say_at(c, COIR_E_CONSTANT, at.start, at.end, "`%s` has no value", name);
    l->made = (struct coir_x_global){ .module = c->module->name, .name = name, .source = t->source, .at = at.start,
                                      .end = at.end, .type = ty, .init = id };
}

void coir_check_bodies(struct coir_checker *c)
{
    const uint32_t n = c->nfns;         /* closures come after them, and are checked with what they stand in */
    coir_x_fn_id *const tests = coir_take(c, (n + 1) * sizeof *tests);

    for (uint32_t i = 0; i < n; i++) {
        const struct coir_fn_item item = c->fns[i];
        if (item.fn->kind == COIR_FN_DEFAULT) {
            coir_enter(c, item.module, item.types, item.fn->ntypes);
            const coir_ty want = item.fn->result;
            constant_body(c, i, item.node, want);
            item.fn->result = want;
        } else if (item.fn->kind == COIR_FN_PLAIN || item.fn->kind == COIR_FN_TEST ||
                   item.fn->kind == COIR_FN_HANDLER) {
            check_fn(c, i);
        }
        if (item.fn->kind == COIR_FN_TEST && c->modules[item.module].asked)
            tests[c->typed->ntests++] = i;
    }
    c->typed->tests = tests;
}

/* ---- closures ---- */

static const char *closure_name(struct coir_checker *c)
{
    const char *const outer = c->body->fn->name;
    const size_t size = strlen(outer) + sizeof ".closure";
    char *const to = coir_take(c, size);

    if (c->body->fn->kind == COIR_FN_CLOSURE)
        return outer;
    snprintf(to, size, "%s.closure", outer);
    return to;
}

/* Every parameter must have a type by now. */
static bool closure_params(struct coir_checker *c, struct coir_x_fn *fn, coir_ast params)
{
    const struct coir_ast_list list = coir_ast_params_list(coir_tree_of(c), params);

    for (uint32_t i = 0; i < fn->nparams; i++) {
        if (!coir_info(c, fn->params[i].type)->holes)
            continue;
        coir_say_main(c, COIR_E_NEEDS_TYPE, list.at[i], "the type of `%s` is not known here", fn->locals[i].name);
        coir_note(c, "write `fn(%s: T) { … }`, or give the closure a place that says what it takes",
                  fn->locals[i].name);
        return false;
    }
    return true;
}

static coir_ty closure_type(struct coir_checker *c, const struct coir_x_fn *fn, coir_ty result, coir_ast n)
{
    const struct coir_place at = coir_ast_place(coir_tree_of(c), n);
    coir_ty *const types = coir_take_scratch(c, (fn->nparams + 1) * sizeof *types);
    uint8_t *const modes = coir_take_scratch(c, fn->nparams + 1);

    for (uint32_t i = 0; i < fn->nparams; i++) {
        types[i] = fn->params[i].type;
        modes[i] = fn->params[i].mode;
    }
    types[fn->nparams] = result;
    return coir_made(c, coir_ty_fn(c->types, fn->nparams, types, modes), at.start, at.end);
}

/* The body, whose value is wanted as b->result, or decides it. */
static const struct coir_x *closure_body(struct coir_checker *c, coir_ast n)
{
    struct coir_body *const b = c->body;
    const bool block = coir_ast_is(coir_tree_of(c), n, COIR_N_BLOCK);

    if (b->result == COIR_TY_UNIT)
        return coir_check_arm(c, n, COIR_NOTHING_WANTED);
    const bool open = b->result == COIR_TY_HOLE;
    struct coir_x *x = block ? coir_check_block(c, n, open ? 0 : b->result) :
                       coir_check_own(c, n, open ? 0 : b->result);
    if (b->result == COIR_TY_HOLE)
        b->result = x->type == COIR_TY_NEVER ? COIR_TY_UNIT : x->type;
    if (b->result != COIR_TY_UNIT && x->type == COIR_TY_UNIT && block) {
        say_no_value(c, n, b->result);
        return x;
    }
    x = coir_fit(c, x, b->result);
    return x;
}

struct coir_x *coir_check_closure(struct coir_checker *c, coir_ast n, coir_ty want)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_place at = coir_ast_place(t, n);
    const coir_ast result = coir_ast_closure_result(t, n);
    struct coir_body b;

    want = coir_peel(c, want);
    struct coir_x_fn *const fn = coir_take(c, sizeof *fn);
    *fn = (struct coir_x_fn){ .name = closure_name(c), .kind = COIR_FN_CLOSURE, .at = at.start, .end = at.end,
                              .ntypes = c->ntypes, .types = c->params, .result = COIR_TY_HOLE };
    coir_check_params(c, fn, coir_ast_closure_params(t, n), COIR_TY_ERROR, want);
    if (coir_kind(c, want) == COIR_TY_FN && coir_info(c, want)->n - 1 != fn->nparams) {
        coir_say(c, COIR_E_MISMATCH, n, "this closure takes %u, and %s is wanted", fn->nparams,
                 coir_type_text(c, want));
        return coir_x_error(c, n);
    }
    if (!closure_params(c, fn, coir_ast_closure_params(t, n)))
        return coir_x_error(c, n);
    if (result) {
        fn->result = coir_check_type(c, result);
    } else if (coir_kind(c, want) == COIR_TY_FN && !coir_info(c, coir_ty_result(c->types, want))->holes) {
        fn->result = coir_ty_result(c->types, want);
    }
    const coir_x_fn_id id = coir_fn_new(c, *fn, (uint32_t)(c->module - c->modules), n);
    struct coir_x_fn *const made = c->fns[id].fn;
    coir_body_open(c, &b, made, id);
    const struct coir_x *const body = closure_body(c, coir_ast_closure_body(t, n));
    const coir_ty got = b.result;
    made->body = body;
    made->result = got;
    coir_body_close(c);
    if (body->type == COIR_TY_ERROR && got == COIR_TY_ERROR)
        return coir_x_error(c, n);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_CLOSURE, closure_type(c, made, got, n));
    x->call.fn = id;
    return x;
}
