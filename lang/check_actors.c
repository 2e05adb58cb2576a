/* SPDX-License-Identifier: MIT */
/*
 * Actors in bodies. From inside: the fields and private functions of an actor by their bare names, where local 0 is its
 * state and local 1 its handle (typed.h); closures have the values of the fields, and no state. From outside: what is
 * done with a handle, and how one is made.
 */
#include "lang/checker.h"

#include <string.h>

enum { STATE, HANDLE };         /* the first locals of an actor's functions */

/* ---- from inside ---- */

struct coir_ty_decl *coir_actor_around(const struct coir_checker *c)
{
    const coir_ty actor = c->item ? c->item->fn->actor : 0;

    return actor ? coir_info(c, actor)->decl : NULL;
}

uint32_t coir_actor_member(const struct coir_checker *c, coir_symbol s)
{
    const struct coir_ty_decl *const d = coir_actor_around(c);

    return d ? coir_lookup_get(c, coir_owner_decl(d->state->number), s) : COIR_NONE;
}

bool coir_is_state(const struct coir_checker *c, coir_x_local_id local)
{
    return c->body->fn->actor && local == STATE;
}

static struct coir_x *first_local(struct coir_checker *c, coir_ast n, coir_x_local_id local)
{
    struct coir_x *const x = coir_x_new(c, n, COIR_X_LOCAL, c->body->locals[local].type);

    x->local = local;
    return x;
}

struct coir_x *coir_check_actor_name(struct coir_checker *c, coir_ast n, uint32_t member)
{
    if (member & 1) {
        coir_say(c, COIR_E_METHOD, n, "`%s` is a function of the actor: it must be called",
                 coir_symbol_text(c, coir_symbol_at(c, n)));
        coir_note(c, "it works on the actor's fields, so it is no value of its own");
        return coir_x_error(c, n);
    }
    if (c->body->outer) {
        const coir_x_local_id local = coir_field_captured(c, member / 2, n);
        return first_local(c, n, local);
    }
    struct coir_x *const x = coir_x_new(c, n, COIR_X_FIELD, coir_actor_around(c)->state->fields[member / 2].type);
    x->of = first_local(c, n, STATE);
    x->index = member / 2;
    return x;
}

struct coir_x *coir_check_actor_call(struct coir_checker *c, coir_ast n, coir_x_fn_id fn, struct coir_ast_list list,
                                     coir_ty want)
{
    const coir_ast callee = coir_ast_child(coir_tree_of(c), n, 0);

    c->fns[fn].used = true;
    if (c->body->outer) {
        coir_say(c, COIR_E_ACTOR_CLOSURE, callee, "a closure cannot call `%s`, which works on the actor's fields",
                 coir_symbol_text(c, coir_symbol_at(c, callee)));
        coir_note(c, "the closure may outlive the message; call it outside, and let the closure have what it gives");
        return coir_give_up(c, n, list);
    }
    struct coir_call call = { .given = { first_local(c, callee, STATE), first_local(c, callee, HANDLE) }, .ngiven = 2 };
    return coir_call_fn(c, n, fn, &call, list, want);
}

/* ---- messages ---- */

static const struct coir_ty_decl *actor_of(const struct coir_checker *c, coir_ty ty)
{
    const struct coir_ty_info *const i = coir_info(c, ty);

    return i->kind == COIR_TY_DECL && i->decl->kind == COIR_DECL_ACTOR ? i->decl : NULL;
}

/* The main token of n is no message of the actor d. */
static void say_no_message(struct coir_checker *c, coir_ast n, coir_ty ty)
{
    const struct coir_ty_decl *const d = actor_of(c, ty);
    const coir_symbol s = coir_symbol_at(c, n);
    const char *const name = coir_symbol_text(c, s), *const of = coir_type_text(c, ty);
    const uint32_t member = coir_lookup_get(c, coir_owner_decl(d->state->number), s);
    const bool inside = coir_actor_around(c) == d;

    if (member == COIR_NONE) {
        coir_say_main(c, COIR_E_UNKNOWN_MEMBER, n, "%s has no message `%s`", of, name);
        if (!coir_suggest(c, s, coir_owner_decl(d->number)) && !strcmp(name, "send"))
            coir_note(c, "a message is sent by `m.send add(1)`");
        return;
    }
    const bool fn = member & 1;
    coir_say_main(c, COIR_E_ACTOR_INSIDE, n, fn ? "`%s` is a private function of the actor %s" :
                  "`%s` is a field of the actor %s, which only its handlers see", name, of);
    if (inside)
        coir_note(c, fn ? "here it is called without `self.`: `%s(…)`" : "here it is known without `self.`: `%s`",
                  name);
    else if (fn)
        coir_note(c, "declare it by `on` instead of `fn`, and it is a message");
    else
        coir_note(c, "let it have a handler that gives it: `on %s() -> %s { %s }`", name,
                  coir_type_text(c, d->state->fields[member / 2].type), name);
}

/* The message that n names and gives arguments. */
static struct coir_x *check_message(struct coir_checker *c, coir_ast n, enum coir_x_kind kind, struct coir_x *of,
                                    struct coir_ast_list list)
{
    const struct coir_ty_decl *const d = actor_of(c, of->type);
    const uint32_t message = coir_lookup_get(c, coir_owner_decl(d->number), coir_symbol_at(c, n));

    if (message == COIR_NONE) {
        say_no_message(c, n, of->type);
        return coir_give_up(c, n, list);
    }
    const coir_x_fn_id id = d->messages[message].fn;
    const struct coir_x_fn *const fn = c->fns[id].fn;
    struct coir_call call = { .given = { of }, .ngiven = 1 };
    if (coir_is_bad_fn(c, fn))
        return coir_give_up(c, n, list);
    coir_call_begin(c, &call, id, HANDLE);
    call.operands[0].node = coir_ast_child(coir_tree_of(c), n, 0);
    const struct coir_x_arg *const args = coir_call_arguments(c, n, &call, list, 0);
    if (!args)
        return coir_x_error(c, n);
    struct coir_x *const x = coir_x_new(c, n, kind, kind == COIR_X_ASK ? fn->result : (coir_ty)COIR_TY_UNIT);
    x->index = message;
    x->call.fn = id;
    x->call.types = call.f.found;
    x->call.nargs = call.nparams;
    x->call.args = args;
    return x;
}

struct coir_x *coir_check_ask(struct coir_checker *c, coir_ast n, struct coir_x *of, struct coir_ast_list list)
{
    return check_message(c, n, COIR_X_ASK, of, list);
}

struct coir_x *coir_check_actor_part(struct coir_checker *c, coir_ast n, coir_ty ty)
{
    const coir_symbol s = coir_symbol_at(c, n);

    if (coir_lookup_get(c, coir_owner_decl(actor_of(c, ty)->number), s) == COIR_NONE) {
        say_no_message(c, n, ty);
        return coir_x_error(c, n);
    }
    coir_say_main(c, COIR_E_METHOD, n, "`%s` is a message: it must be called", coir_symbol_text(c, s));
    coir_note(c, "write `.%s(…)`, or without its reply `.send %s(…)`", coir_symbol_text(c, s), coir_symbol_text(c, s));
    return coir_x_error(c, n);
}

struct coir_x *coir_check_tell(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list list = coir_ast_send_args(t, n);
    struct coir_x *const of = coir_check_expr(c, coir_ast_send_actor(t, n), 0);

    if (of->type == COIR_TY_NEVER)
        return of;
    if (coir_info(c, of->type)->bad)
        return coir_give_up(c, n, list);
    if (!actor_of(c, of->type)) {
        coir_say_at(c, COIR_E_NO_ACTOR, of->at, of->end, "%s is no actor, and takes no messages",
                    coir_type_text(c, of->type));
        if (coir_kind(c, of->type) == COIR_TY_CHAN)
            coir_note(c, "into a channel a value is sent: `c.send(x)`");
        else if (coir_kind(c, of->type) == COIR_TY_OPTION)
            coir_note(c, "it may be nil: take what is inside with `if let`, `match` or `??`");
        return coir_give_up(c, n, list);
    }
    return check_message(c, n, COIR_X_TELL, of, list);
}

/* ---- making and watching ---- */

struct coir_x *coir_check_spawn_actor(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_place at = coir_ast_place(t, n);
    const struct coir_x *const state = coir_check_state(c, coir_ast_spawn_what(t, n));

    if (coir_is_error(state))
        return coir_x_error(c, n);
    const coir_ty ty = coir_ty_decl(c->types, coir_info(c, state->type)->decl->actor, NULL);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_SPAWN_ACTOR, coir_made(c, ty, at.start, at.end));
    x->index = (coir_ast_flags(t, n) & COIR_F_ANY) != 0;
    x->of = state;
    return x;
}

struct coir_x *coir_check_monitor(struct coir_checker *c, coir_ast n, struct coir_ast_list list)
{
    const struct coir_place at = coir_ast_place(coir_tree_of(c), n);

    if (list.count != 1 || coir_ast_is(coir_tree_of(c), list.at[0], COIR_N_ARG)) {
        coir_say(c, list.count == 1 ? COIR_E_ARGUMENT_MODE : COIR_E_ARGUMENTS, n, "`monitor` takes one actor");
        return coir_give_up(c, n, list);
    }
    struct coir_x *const of = coir_check_expr(c, list.at[0], 0);
    if (of->type == COIR_TY_NEVER)
        return of;
    if (coir_info(c, of->type)->bad)
        return coir_x_error(c, n);
    if (!actor_of(c, of->type)) {
        coir_say_at(c, COIR_E_NO_ACTOR, of->at, of->end, "`monitor` watches an actor, and this is %s",
                    coir_type_text(c, of->type));
        return coir_x_error(c, n);
    }
    const coir_ty ty = coir_ty_chan(c->types, c->typed->trap);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_MONITOR, coir_made(c, ty, at.start, at.end));
    x->of = of;
    return x;
}
