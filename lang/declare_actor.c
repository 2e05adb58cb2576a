/* SPDX-License-Identifier: MIT */
/*
 * What actors declare. An actor is two declarations: its handle, which has messages, and the record of its fields, its
 * state, which nobody can name. Fields and private functions are members of the state, messages of the handle; so a
 * message may have the name of the field that it gives.
 */
#include "lang/checker.h"

#include <string.h>

void coir_declare_actor(struct coir_checker *c, coir_ast n)
{
    struct coir_ty_decl *const d = coir_decl_new(c, n, COIR_DECL_ACTOR);
    struct coir_ty_decl *const state = coir_decl_new(c, n, COIR_DECL_RECORD);

    d->state = state;
    state->actor = d;
    coir_item_new(c, n, (struct coir_item){ .kind = COIR_ITEM_TYPE, .index = d->number });
}

/* ---- functions ---- */

void coir_actor_params(struct coir_checker *c, struct coir_x_fn *fn, struct coir_ty_decl *state)
{
    const uint32_t n = fn->nparams;
    const struct coir_ty_decl *const d = state->actor;
    struct coir_x_param *const params = coir_take(c, (n + 2) * sizeof *params);
    struct coir_x_local *const locals = coir_take(c, (n + 2) * sizeof *locals);
    const coir_ty of = coir_made(c, coir_ty_decl(c->types, state, NULL), d->at, d->end);

    fn->actor = coir_made(c, coir_ty_decl(c->types, state->actor, NULL), d->at, d->end);
    params[0] = (struct coir_x_param){ .local = 0, .type = of, .mode = COIR_MUT };
    params[1] = (struct coir_x_param){ .local = 1, .type = fn->actor, .mode = COIR_LEND };
    locals[0] = (struct coir_x_local){ .name = d->name, .type = of, .kind = COIR_LOCAL_PARAM, .at = d->at,
                                       .end = d->end };
    locals[1] = (struct coir_x_local){ .name = coir_symbol_text(c, c->self), .type = fn->actor,
                                       .kind = COIR_LOCAL_PARAM, .at = d->at, .end = d->end };
    for (uint32_t i = 0; i < n; i++) {
        params[i + 2] = fn->params[i];
        params[i + 2].local = i + 2;
        locals[i + 2] = fn->locals[i];
    }
    fn->params = params;
    fn->locals = locals;
    fn->nparams = fn->nlocals = n + 2;
}

/* What the parameters of a message cannot be. */
static void check_message_params(struct coir_checker *c, const struct coir_x_fn *fn, coir_ast params)
{
    const struct coir_ast_list list = coir_ast_params_list(coir_tree_of(c), params);

    for (uint32_t i = 0; i < list.count; i++) {
        const struct coir_x_param *const p = &fn->params[i + 2];
        if (p->mode == COIR_MUT) {
            coir_say(c, COIR_E_ARGUMENT_MODE, list.at[i], "a handler has no `mut`: what it is sent is its own");
            coir_note(c, "give the new value back as the handler's result");
        } else if (p->mode == COIR_LEND && coir_is_resource(c, p->type)) {
            coir_say(c, COIR_E_MESSAGE_LENT, list.at[i], "%s cannot be lent to an actor",
                     coir_type_text(c, p->type));
            coir_note(c, "declare the parameter as `own %s`, so that it moves there", fn->locals[i + 2].name);
        }
    }
}

static coir_x_fn_id declare_handler(struct coir_checker *c, coir_ast n, const struct coir_ty_decl *d)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_place at = coir_ast_main_place(t, n);
    const coir_ast result = coir_ast_handler_result(t, n), params = coir_ast_handler_params(t, n);
    struct coir_x_fn fn = { .name = coir_words(c, d->name, ".", coir_symbol_text(c, coir_symbol_at(c, n))),
                            .kind = COIR_FN_HANDLER, .at = at.start, .end = at.end, .result = COIR_TY_UNIT };

    coir_check_params(c, &fn, params, COIR_TY_ERROR, 0);
    coir_actor_params(c, &fn, d->state);
    check_message_params(c, &fn, params);
    if (result)
        fn.result = coir_check_type(c, result);
    return coir_fn_new(c, fn, d->module_number, n);
}

/* ---- messages ---- */

static void message_new(struct coir_checker *c, struct coir_ty_decl *d, coir_ast n)
{
    const struct coir_place at = coir_ast_main_place(coir_tree_of(c), n);
    const coir_symbol s = coir_symbol_at(c, n);
    const uint32_t other = coir_lookup_get(c, coir_owner_decl(d->number), s);

    if (other != COIR_NONE) {
        coir_say_twice(c, n, coir_symbol_text(c, s), d->messages[other].at, d->messages[other].end);
        return;
    }
    coir_lookup_put(c, coir_owner_decl(d->number), s, d->nmessages);
    d->messages[d->nmessages++] = (struct coir_ty_message){ .name = coir_symbol_text(c, s), .at = at.start,
                                                            .end = at.end, .fn = declare_handler(c, n, d) };
}

void coir_declare_messages(struct coir_checker *c, struct coir_ty_decl *d)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list members = coir_ast_actor_members(t, d->node);

    d->messages = coir_take(c, (members.count + 1) * sizeof *d->messages);
    for (uint32_t i = 0; i < members.count; i++) {
        const coir_ast n = members.at[i];
        if (coir_ast_is(t, n, COIR_N_HANDLER))
            message_new(c, d, n);
        else if (coir_ast_is(t, n, COIR_N_FN))
            coir_member_new(c, d->state, n, coir_declare_fn(c, n, d->state) * 2 + 1);
    }
}
