/* SPDX-License-Identifier: MIT */
/*
 * spawn, g.spawn and select. What begins a fiber is checked as the call that it is written as, and turned into a struct
 * coir_x_spawn: it must be a call of a function, nothing in it may be lent that has one owner, and nothing `mut`.
 */
#include "lang/checker.h"

#include <string.h>

/* What a new fiber is given must be its own. */
static bool may_cross(struct coir_checker *c, const struct coir_x_call *call)
{
    for (uint32_t i = 0; i < call->nargs; i++) {
        const struct coir_x_arg *const a = &call->args[i];
        if (a->mode == COIR_MUT) {
            coir_say_at(c, COIR_E_SPAWN, a->place->at, a->place->end, "a new fiber cannot change a place of this one");
            coir_note(c, "give it a value, and take its result by `join()` or over a channel");
            return false;
        }
        if (a->mode == COIR_LEND && coir_is_resource(c, a->value->type)) {
            coir_say_at(c, COIR_E_SPAWN_LENT, a->value->at, a->value->end, "%s cannot be lent to a new fiber",
                        coir_type_text(c, a->value->type));
            coir_note(c, "declare the parameter as `own`, so that it moves there");
            return false;
        }
    }
    return true;
}

static coir_x_local_id group_named(struct coir_checker *c, coir_ast n)
{
    coir_x_local_id local = COIR_NONE;

    if (coir_ast_is(coir_tree_of(c), n, COIR_N_NAME))
        local = coir_local_named(c, coir_symbol_at(c, n), n);
    if (local != COIR_NONE && c->body->locals[local].type == COIR_TY_ERROR)
        return COIR_NONE;
    if (local == COIR_NONE || c->body->locals[local].kind != COIR_LOCAL_GROUP) {
        coir_say(c, COIR_E_GROUP, n, "`.spawn` stands behind the name of a group");
        coir_note(c, "`group g { g.spawn f(x) }`; without a group it is `spawn f(x)`");
        return COIR_NONE;
    }
    return local;
}

struct coir_x *coir_check_spawn(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const bool grouped = coir_ast_is(t, n, COIR_N_GROUP_SPAWN);
    const coir_ast what = grouped ? coir_ast_group_spawn_what(t, n) : coir_ast_spawn_what(t, n);
    const struct coir_place at = coir_ast_place(t, n);
    coir_x_local_id group = 0;

    if (!grouped && coir_ast_spawn_restarts(t, n)) {
        coir_say(c, COIR_E_NOT_YET, n, "`restart` is not there yet");
        coir_note(c, "`monitor` tells what an actor died of");
        return coir_x_error(c, n);
    }
    if (coir_ast_is(t, what, COIR_N_RECORD))
        return coir_check_spawn_actor(c, n);
    if (grouped && (group = group_named(c, coir_ast_group_spawn_group(t, n))) == COIR_NONE)
        return coir_x_error(c, n);
    const struct coir_x *const call = coir_check_expr(c, what, 0);
    if (coir_is_error(call))
        return coir_x_error(c, n);
    const bool asks = call->kind == COIR_X_ASK;
    if (call->kind != COIR_X_CALL && call->kind != COIR_X_CALL_VALUE && !asks) {
        coir_say(c, COIR_E_SPAWN, what, "only the call of a function can be spawned");
        coir_note(c, "write a function that does this, and spawn that");
        return coir_x_error(c, n);
    }
    if (!may_cross(c, &call->call))
        return coir_x_error(c, n);
    const coir_ty ty = coir_made(c, coir_ty_task(c->types, call->type), at.start, at.end);
    struct coir_x *const x = coir_x_new(c, n, grouped ? COIR_X_GROUP_SPAWN : COIR_X_SPAWN, ty);
    x->spawn.call = call->call;
    x->index = call->index;
    x->spawn.value = call->kind == COIR_X_CALL_VALUE;
    x->spawn.asks = asks;
    x->spawn.any = coir_ast_flags(t, n) & COIR_F_ANY;
    x->spawn.group = group;
    return x;
}

/* ---- select ---- */

static bool is_method(struct coir_checker *c, coir_ast n, const char *name)
{
    const struct coir_tree *const t = coir_tree_of(c);

    if (!coir_ast_is(t, n, COIR_N_METHOD))
        return false;
    const struct coir_word w = coir_ast_word(t, n);
    return w.size == strlen(name) && !memcmp(w.text, name, w.size);
}

/* v = a.recv(), b.send(x): false after a report. */
static bool select_operation(struct coir_checker *c, coir_ast n, struct coir_x_select_arm *arm)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const coir_ast op = coir_ast_select_arm_operation(t, n);
    const bool recv = is_method(c, op, "recv"), send = is_method(c, op, "send");

    if (!recv && !send) {
        coir_say(c, COIR_E_SELECT, op, "an arm of `select` is `v = c.recv()`, `c.send(x)`, `after d` or `else`");
        return false;
    }
    const struct coir_ast_list args = coir_ast_method_args(t, op);
    arm->kind = recv ? COIR_SELECT_RECV : COIR_SELECT_SEND;
    arm->channel = coir_check_expr(c, coir_ast_method_receiver(t, op), 0);
    if (coir_is_error(arm->channel))
        return false;
    if (coir_kind(c, arm->channel->type) != COIR_TY_CHAN) {
        coir_say_at(c, COIR_E_SELECT, arm->channel->at, arm->channel->end,
                    "`select` waits for channels, and this is %s",
                    coir_type_text(c, arm->channel->type));
        return false;
    }
    if (args.count != (send ? 1u : 0u)) {
        coir_say(c, COIR_E_ARGUMENTS, op, "`%s` takes %s", recv ? "recv" : "send",
                 recv ? "no arguments" : "one argument");
        return false;
    }
    if (send) {
        const coir_ast value = coir_ast_is(t, args.at[0], COIR_N_ARG) ? coir_ast_arg_value(t, args.at[0]) : args.at[0];
        arm->operand = coir_check_own(c, value, coir_info(c, arm->channel->type)->args[0]);
    }
    return true;
}

static void select_binding(struct coir_checker *c, coir_ast n, struct coir_x_select_arm *arm, bool good)
{
    const enum coir_token_kind kind = coir_ast_operator(coir_tree_of(c), n);
    coir_ty ty = COIR_TY_ERROR;

    if (kind != COIR_T_NAME && kind != COIR_T_UNDERSCORE)
        return;
    if (good && arm->kind == COIR_SELECT_SEND) {
        coir_say_main(c, COIR_E_SELECT, n, "`send` gives nothing that could be named");
        good = false;
    }
    if (good)
        ty = coir_made(c, coir_ty_option(c->types, coir_info(c, arm->channel->type)->args[0]), arm->at, arm->end);
    const struct coir_place at = coir_ast_main_place(coir_tree_of(c), n);
    struct coir_x_pattern *const p = coir_take(c, sizeof *p);
    *p = (struct coir_x_pattern){ .kind = COIR_PATTERN_ANY, .type = ty, .at = at.start, .end = at.end };
    if (kind == COIR_T_NAME) {
        p->kind = COIR_PATTERN_NAME;
        p->local = coir_bind_new(c, n, ty, COIR_LOCAL_LET);
    }
    arm->pattern = p;
}

static const struct coir_x *select_arm(struct coir_checker *c, coir_ast n, struct coir_x_select_arm *arm)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_place at = coir_ast_place(t, n);
    coir_ast body;

    arm->at = at.start;
    arm->end = at.end;
    coir_scope_open(c);
    switch (coir_ast_kind(t, n)) {
    case COIR_N_SELECT_ARM:
        select_binding(c, n, arm, select_operation(c, n, arm));
        body = coir_ast_select_arm_body(t, n);
        break;
    case COIR_N_SELECT_AFTER:
        arm->kind = COIR_SELECT_AFTER;
        arm->operand = coir_check_as(c, coir_ast_select_after_time(t, n), COIR_TY_DURATION);
        body = coir_ast_select_after_body(t, n);
        break;
    default:
        arm->kind = COIR_SELECT_ELSE;
        body = coir_ast_select_else_body(t, n);
    }
    arm->body = coir_check_arm(c, body, COIR_NOTHING_WANTED);
    coir_scope_close(c);
    return arm->body;
}

struct coir_x *coir_check_select(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list list = coir_ast_select_arms(t, n);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_SELECT, COIR_TY_UNIT);
    struct coir_x_select_arm *const arms = coir_take(c, (list.count + 1) * sizeof *arms);
    bool ends = list.count == 0, otherwise = false;

    if (list.count == 0)
        coir_say(c, COIR_E_SELECT, n, "a `select` without arms would wait for ever");
    for (uint32_t i = 0; i < list.count; i++) {
        if (otherwise) {
            coir_say(c, COIR_E_SELECT, list.at[i], "`else` is the last arm");
            otherwise = false;
        }
        otherwise |= coir_ast_is(t, list.at[i], COIR_N_SELECT_ELSE);
        ends |= select_arm(c, list.at[i], &arms[i])->type != COIR_TY_NEVER;
    }
    x->select.arms = arms;
    x->select.n = list.count;
    if (!ends)
        x->type = COIR_TY_NEVER;
    return x;
}
