/* SPDX-License-Identifier: MIT */
/*
 * What lang/typed.h promises of a program that was checked without errors, looked at from outside: every operand has
 * the type that its place wants, every local is one of its function, moves are of resources that are owned, and so on.
 * Used by the tests of the checker and its fuzzer.
 */
#ifndef COIR_TESTS_LANG_WHOLE_TYPED_H
#define COIR_TESTS_LANG_WHOLE_TYPED_H

#include <stdio.h>

#include "lang/typed.h"

struct typed_look {
    const struct coir_typed *program;
    const struct coir_x_fn *fn;
    unsigned loops;
    char wrong[200];            /* the first that is wrong; "" if all is well */
};

#define TYPED_MUST(l, cond, x) typed_must((l), (cond), #cond, (x) ? (int)(x)->kind : -1, (x) ? (x)->at : 0, __LINE__)

static inline void typed_must(struct typed_look *l, bool good, const char *what, int kind, uint32_t at, int line)
{
    if (!good && !*l->wrong)
        snprintf(l->wrong, sizeof l->wrong, "%s.%s at %u, kind %d: %s (line %d)", l->fn->module, l->fn->name, at, kind,
                 what,
                 line);
}

static inline const struct coir_ty_info *typed_info(const struct typed_look *l, coir_ty ty)
{
    return coir_ty_get(l->program->types, ty);
}

static inline coir_ty typed_arg(const struct typed_look *l, coir_ty ty, uint32_t i)
{
    return i < typed_info(l, ty)->n ? typed_info(l, ty)->args[i] : (coir_ty)COIR_TY_ERROR;
}

static inline void typed_expr(struct typed_look *l, const struct coir_x *x);

/* x stands where `want` is wanted. */
static inline void typed_as(struct typed_look *l, const struct coir_x *x, coir_ty want)
{
    TYPED_MUST(l, x->type == want || x->type == COIR_TY_NEVER, x);
    typed_expr(l, x);
}

/* A value that may be dropped: of any type. */
static inline void typed_any(struct typed_look *l, const struct coir_x *x)
{
    if (x)
        typed_expr(l, x);
}

static inline void typed_items(struct typed_look *l, const struct coir_x_items *items)
{
    for (uint32_t i = 0; i < items->n; i++)
        typed_expr(l, items->list[i]);
}

static inline void typed_pattern(struct typed_look *l, const struct coir_x_pattern *p, coir_ty ty)
{
    TYPED_MUST(l, p->type == ty || ty == COIR_TY_NEVER, p);
    const struct coir_ty_info *const i = typed_info(l, ty);
    if (p->kind == COIR_PATTERN_NAME) {
        TYPED_MUST(l, p->local < l->fn->nlocals, p);
        TYPED_MUST(l, l->fn->locals[p->local].type == ty, p);
    } else if (p->kind == COIR_PATTERN_VALUE) {
        typed_as(l, p->constant, ty);
    } else if (p->kind == COIR_PATTERN_VARIANT) {
        TYPED_MUST(l, i->kind == COIR_TY_DECL && p->index < i->decl->nvariants, p);
        TYPED_MUST(l, p->n == i->decl->variants[p->index].nfields, p);
    } else if (p->kind == COIR_PATTERN_SOME || p->kind == COIR_PATTERN_NIL) {
        TYPED_MUST(l, i->kind == COIR_TY_OPTION, p);
    } else if (p->kind == COIR_PATTERN_TUPLE && ty != COIR_TY_NEVER) {
        TYPED_MUST(l, i->kind == COIR_TY_TUPLE && p->n == i->n, p);
    }
    for (uint32_t k = 0; !*l->wrong && k < p->n; k++)
        typed_pattern(l, p->items[k], p->kind == COIR_PATTERN_EITHER || ty == COIR_TY_NEVER ? ty :
                      p->kind == COIR_PATTERN_VARIANT ? coir_ty_payload(l->program->types, ty, p->index, k) :
                      typed_arg(l, ty, k));
}

static inline void typed_captures(struct typed_look *l, const struct coir_x *x)
{
    const struct coir_x_fn *const closure = l->program->fns[x->call.fn];

    for (uint32_t i = 0; i < closure->ncaptures && !*l->wrong; i++) {
        const struct coir_x_capture *const c = &closure->captures[i];
        TYPED_MUST(l, c->outer < l->fn->nlocals && c->inner < closure->nlocals, x);
        if (*l->wrong)
            return;
        const coir_ty outer = l->fn->locals[c->outer].type, inner = closure->locals[c->inner].type;
        const bool part = c->field != COIR_NO_FIELD;
        TYPED_MUST(l, !part || (l->fn->actor && c->outer == 0), x);
        TYPED_MUST(l, (part && !*l->wrong ? coir_ty_field(l->program->types, outer, c->field) : outer) == inner, x);
        TYPED_MUST(l, !coir_ty_is_resource(l->program->types, inner), x);
    }
}

static inline void typed_place(struct typed_look *l, const struct coir_x_place *p)
{
    TYPED_MUST(l, p->root < l->fn->nlocals, (const struct coir_x *)NULL);
    const struct coir_x_local *const root = &l->fn->locals[p->root];
    coir_ty ty = root->type;

    TYPED_MUST(l, root->kind == COIR_LOCAL_VAR || (root->kind == COIR_LOCAL_PARAM &&
               l->fn->params[p->root].mode == COIR_MUT), (const struct coir_x *)NULL);
    for (uint32_t i = 0; i < p->nsteps && !*l->wrong; i++) {
        const struct coir_x_step *const s = &p->steps[i];
        if (s->kind == COIR_STEP_FIELD) {
            ty = coir_ty_field(l->program->types, ty, s->field);
        } else {
            const bool map = s->kind == COIR_STEP_KEY;
            TYPED_MUST(l, typed_info(l, ty)->kind == (map ? COIR_TY_MAP : COIR_TY_LIST), s->index);
            typed_as(l, s->index, map ? typed_arg(l, ty, 0) : (coir_ty)COIR_TY_INT);
            ty = typed_arg(l, ty, map);
        }
        TYPED_MUST(l, s->type == ty, s->index);
    }
    TYPED_MUST(l, p->type == ty, (const struct coir_x *)NULL);
}

/* The arguments, for parameters of these types and modes; of a handler, those from the second on. */
static inline void typed_args(struct typed_look *l, const struct coir_x_call *call, const struct coir_x_fn *fn,
                              const struct coir_ty_info *value)
{
    const struct coir_x_param *const params = fn && fn->kind == COIR_FN_HANDLER ? fn->params + 1 :
                                              fn ? fn->params : NULL;
    const uint32_t n = !fn ? value->n - 1 : fn->kind == COIR_FN_HANDLER ? fn->nparams - 1 : fn->nparams;

    TYPED_MUST(l, call->nargs == n || (fn && fn->kind == COIR_FN_DEFAULT), call->callee);
    for (uint32_t i = 0; i < call->nargs && !*l->wrong; i++) {
        const struct coir_x_arg *const a = &call->args[i];
        const coir_ty want = fn ? coir_ty_apply(l->program->types, params[i].type, fn->ntypes, call->types) :
                             value->args[i];
        const enum coir_ty_mode mode = fn ? params[i].mode : value->modes ? value->modes[i] : COIR_LEND;
        TYPED_MUST(l, a->mode == mode, a->value);
        TYPED_MUST(l, (mode == COIR_MUT) == (a->place != NULL) && (mode == COIR_MUT) == (a->value == NULL), a->value);
        if (*l->wrong)
            return;
        if (a->value)
            typed_as(l, a->value, want);
        else
            TYPED_MUST(l, a->place->type == want, a->value);
        if (a->place)
            typed_place(l, a->place);
    }
}

static inline coir_ty typed_call(struct typed_look *l, const struct coir_x_call *call, bool value)
{
    if (value) {
        typed_expr(l, call->callee);
        const struct coir_ty_info *const i = typed_info(l, call->callee->type);
        TYPED_MUST(l, i->kind == COIR_TY_FN, call->callee);
        if (*l->wrong)
            return COIR_TY_ERROR;
        typed_args(l, call, NULL, i);
        return i->args[i->n - 1];
    }
    TYPED_MUST(l, call->fn < l->program->nfns, call->callee);
    if (*l->wrong)
        return COIR_TY_ERROR;
    const struct coir_x_fn *const fn = l->program->fns[call->fn];
    typed_args(l, call, fn, NULL);
    return coir_ty_apply(l->program->types, fn->result, fn->ntypes, call->types);
}

/* A message, which `asks` for a reply of type `result`. */
static inline void typed_message(struct typed_look *l, const struct coir_x *x, const struct coir_x_call *call,
                                 coir_ty result)
{
    const struct coir_x *const to = call->nargs ? call->args[0].value : NULL;

    TYPED_MUST(l, to && !call->callee && call->fn < l->program->nfns, x);
    if (*l->wrong)
        return;
    const struct coir_ty_info *const i = typed_info(l, l->program->fns[call->fn]->actor);
    TYPED_MUST(l, i->kind == COIR_TY_DECL && i->decl->kind == COIR_DECL_ACTOR, x);
    TYPED_MUST(l, *l->wrong || (x->index < i->decl->nmessages && i->decl->messages[x->index].fn == call->fn), x);
    TYPED_MUST(l, typed_call(l, call, false) == result || *l->wrong || x->kind == COIR_X_TELL, x);
}

/* Its type, where it is made, watched, sent to. */
static inline void typed_actor(struct typed_look *l, const struct coir_x *x)
{
    const struct coir_ty_info *const i = typed_info(l, x->kind == COIR_X_MONITOR ? x->of->type : x->type);

    switch (x->kind) {
    case COIR_X_ASK: typed_message(l, x, &x->call, x->type); break;
    case COIR_X_TELL:
        typed_message(l, x, &x->call, 0);
        TYPED_MUST(l, x->type == COIR_TY_UNIT, x);
        break;
    case COIR_X_SPAWN_ACTOR:
        TYPED_MUST(l, i->kind == COIR_TY_DECL && i->decl->kind == COIR_DECL_ACTOR, x);
        TYPED_MUST(l, *l->wrong || coir_ty_get(l->program->types, x->of->type)->decl == i->decl->state, x);
        typed_expr(l, x->of);
        break;
    default:
        TYPED_MUST(l, i->kind == COIR_TY_DECL && i->decl->kind == COIR_DECL_ACTOR, x);
        TYPED_MUST(l, x->type == coir_ty_chan(l->program->types, l->program->trap), x);
        typed_expr(l, x->of);
    }
}

static inline void typed_test(struct typed_look *l, const struct coir_x_test *t)
{
    typed_expr(l, t->value);
    if (!t->pattern) {
        typed_as(l, t->value, COIR_TY_BOOL);
        return;
    }
    TYPED_MUST(l, typed_info(l, t->value->type)->kind == COIR_TY_OPTION || t->value->type == COIR_TY_NEVER, t->value);
    typed_pattern(l, t->pattern, t->value->type == COIR_TY_NEVER ? t->value->type : typed_arg(l, t->value->type, 0));
}

static inline void typed_making(struct typed_look *l, const struct coir_x *x)
{
    const struct coir_ty_info *const i = typed_info(l, x->type);

    switch (x->kind) {
    case COIR_X_RECORD:
        TYPED_MUST(l, i->kind == COIR_TY_DECL && i->decl->nfields == x->fields.n, x);
        for (uint32_t k = 0; !*l->wrong && k < x->fields.n; k++)
            typed_as(l, x->fields.list[k].value, coir_ty_field(l->program->types, x->type, x->fields.list[k].index));
        break;
    case COIR_X_VARIANT:
        TYPED_MUST(l, i->kind == COIR_TY_DECL && x->index < i->decl->nvariants, x);
        for (uint32_t k = 0; !*l->wrong && k < x->items.n; k++)
            typed_as(l, x->items.list[k], coir_ty_payload(l->program->types, x->type, x->index, k));
        break;
    case COIR_X_TUPLE:
        TYPED_MUST(l, i->kind == COIR_TY_TUPLE && i->n == x->items.n, x);
        for (uint32_t k = 0; !*l->wrong && k < x->items.n; k++)
            typed_as(l, x->items.list[k], i->args[k]);
        break;
    case COIR_X_LIST:
        for (uint32_t k = 0; !*l->wrong && k < x->items.n; k++)
            typed_as(l, x->items.list[k], typed_arg(l, x->type, 0));
        break;
    case COIR_X_MAP:
        for (uint32_t k = 0; !*l->wrong && k < x->items.n; k++)
            typed_as(l, x->items.list[k], typed_arg(l, x->type, k % 2));
        break;
    case COIR_X_SOME:
        TYPED_MUST(l, i->kind == COIR_TY_OPTION, x);
        typed_as(l, x->of, typed_arg(l, x->type, 0));
        break;
    case COIR_X_CHAN:
        TYPED_MUST(l, i->kind == COIR_TY_CHAN, x);
        typed_as(l, x->of, COIR_TY_INT);
        break;
    default:
        typed_items(l, &x->items);      /* an interpolation */
    }
}

static inline void typed_operator(struct typed_look *l, const struct coir_x *x)
{
    const struct coir_ty_info *i;

    switch (x->kind) {
    case COIR_X_FIELD:
        typed_expr(l, x->of);
        i = typed_info(l, x->of->type);
        TYPED_MUST(l, i->kind == COIR_TY_DECL && x->index < i->decl->nfields, x);
        if (!*l->wrong)
            TYPED_MUST(l, x->type == coir_ty_field(l->program->types, x->of->type, x->index), x);
        break;
    case COIR_X_INDEX:
        typed_expr(l, x->pair.a);
        i = typed_info(l, x->pair.a->type);
        TYPED_MUST(l, i->kind == COIR_TY_LIST || i->kind == COIR_TY_MAP, x);
        typed_as(l, x->pair.b, i->kind == COIR_TY_MAP ? typed_arg(l, x->pair.a->type, 0) : (coir_ty)COIR_TY_INT);
        TYPED_MUST(l, x->type == typed_arg(l, x->pair.a->type, i->kind == COIR_TY_MAP), x);
        break;
    case COIR_X_SLICE:
        typed_as(l, x->slice.of, x->type);
        if (x->slice.from)
            typed_as(l, x->slice.from, COIR_TY_INT);
        if (x->slice.to)
            typed_as(l, x->slice.to, COIR_TY_INT);
        break;
    case COIR_X_ARITH:
        typed_expr(l, x->arith.first);
        for (uint32_t k = 0; k < x->arith.n; k++)
            typed_expr(l, x->arith.steps[k].operand);
        TYPED_MUST(l, x->arith.n > 0 && x->arith.steps[x->arith.n - 1].type == x->type, x);
        break;
    case COIR_X_COMPARE:
        typed_expr(l, x->pair.a);
        typed_expr(l, x->pair.b);
        TYPED_MUST(l, x->pair.a->type == x->pair.b->type || x->pair.a->type == COIR_TY_NEVER ||
                   x->pair.b->type == COIR_TY_NEVER, x);
        break;
    case COIR_X_IS_NIL:
        typed_expr(l, x->of);
        TYPED_MUST(l, typed_info(l, x->of->type)->kind == COIR_TY_OPTION || x->of->type == COIR_TY_NEVER, x);
        break;
    case COIR_X_NEG:
        typed_as(l, x->of, x->type);
        break;
    case COIR_X_NOT:
    case COIR_X_ASSERT:
        typed_as(l, x->of, COIR_TY_BOOL);
        break;
    case COIR_X_AND:
    case COIR_X_OR:
        for (uint32_t k = 0; k < x->items.n; k++)
            typed_as(l, x->items.list[k], COIR_TY_BOOL);
        break;
    default:                            /* ?? */
        for (uint32_t k = 0; k + 1 < x->items.n; k++) {
            const coir_ty ty = x->items.list[k]->type;
            typed_expr(l, x->items.list[k]);
            TYPED_MUST(l, typed_info(l, ty)->kind == COIR_TY_OPTION &&
                       (ty == x->type || typed_arg(l, ty, 0) == x->type), x);
        }
        typed_as(l, x->items.list[x->items.n - 1], x->type);
    }
}

static inline void typed_branches(struct typed_look *l, const struct coir_x *x)
{
    switch (x->kind) {
    case COIR_X_IF:
        for (uint32_t i = 0; i < x->branch.n; i++) {
            typed_test(l, &x->branch.arms[i].test);
            typed_as(l, x->branch.arms[i].body, x->type);
        }
        TYPED_MUST(l, x->branch.otherwise || x->type == COIR_TY_UNIT, x);
        if (x->branch.otherwise)
            typed_as(l, x->branch.otherwise, x->type);
        break;
    case COIR_X_MATCH:
        typed_expr(l, x->match.value);
        for (uint32_t i = 0; i < x->match.n; i++) {
            typed_pattern(l, x->match.arms[i].pattern, x->match.value->type);
            if (x->match.arms[i].guard)
                typed_as(l, x->match.arms[i].guard, COIR_TY_BOOL);
            typed_as(l, x->match.arms[i].body, x->type);
        }
        break;
    case COIR_X_TRY:
        typed_as(l, x->try.body, x->type);
        typed_as(l, x->try.handler, x->type);
        TYPED_MUST(l, x->try.local < l->fn->nlocals && l->fn->locals[x->try.local].type == l->program->trap, x);
        break;
    case COIR_X_SELECT:
        for (uint32_t i = 0; i < x->select.n; i++) {
            const struct coir_x_select_arm *const a = &x->select.arms[i];
            typed_any(l, a->channel);
            typed_any(l, a->operand);
            if (a->kind == COIR_SELECT_SEND)
                typed_as(l, a->operand, typed_arg(l, a->channel->type, 0));
            if (a->pattern)
                typed_pattern(l, a->pattern, coir_ty_option(l->program->types, typed_arg(l, a->channel->type, 0)));
            typed_as(l, a->body, x->type);
        }
        break;
    default:                            /* group, within */
        if (x->scope.head)
            typed_as(l, x->scope.head, x->kind == COIR_X_GROUP ? COIR_TY_INT : COIR_TY_DURATION);
        typed_as(l, x->scope.body, x->type);
    }
}

static inline void typed_loop(struct typed_look *l, const struct coir_x *x)
{
    if (x->kind == COIR_X_FOR) {
        const struct coir_x_each *const e = &x->each;
        const bool range = e->kind == COIR_EACH_RANGE;
        typed_expr(l, e->value);
        if (e->to)
            typed_as(l, e->to, COIR_TY_INT);
        TYPED_MUST(l, range == (e->to != NULL) && (e->kind == COIR_EACH_MAP) == (e->second != NULL), x);
        typed_pattern(l, e->pattern, range ? (coir_ty)COIR_TY_INT : typed_arg(l, e->value->type, 0));
        if (e->second)
            typed_pattern(l, e->second, typed_arg(l, e->value->type, 1));
    } else if (x->kind == COIR_X_WHILE) {
        typed_test(l, &x->loop.test);
    }
    l->loops++;
    typed_expr(l, x->kind == COIR_X_FOR ? x->each.body : x->loop.body);
    l->loops--;
}

static inline void typed_statement(struct typed_look *l, const struct coir_x *x)
{
    const unsigned loops = l->loops;

    switch (x->kind) {
    case COIR_X_BLOCK:
        for (uint32_t i = 0; i < x->block.n; i++)
            typed_expr(l, x->block.statements[i]);
        TYPED_MUST(l, x->block.value || x->type == COIR_TY_UNIT || x->type == COIR_TY_NEVER, x);
        if (x->block.value)
            typed_as(l, x->block.value, x->type);
        break;
    case COIR_X_BREAK:
    case COIR_X_CONTINUE:
        TYPED_MUST(l, l->loops > 0, x);
        break;
    case COIR_X_RETURN:
        TYPED_MUST(l, x->of || l->fn->result == COIR_TY_UNIT, x);
        if (x->of)
            typed_as(l, x->of, l->fn->result);
        break;
    case COIR_X_TRAP:
        typed_expr(l, x->of);
        TYPED_MUST(l, x->of->type == COIR_TY_TEXT || x->of->type == l->program->trap || x->of->type == COIR_TY_NEVER,
                   x);
        break;
    case COIR_X_DEFER:
        l->loops = 0;
        typed_expr(l, x->of);
        l->loops = loops;
        break;
    case COIR_X_LET:
        typed_expr(l, x->let.value);
        typed_pattern(l, x->let.pattern,
                      x->let.value->type == COIR_TY_NEVER ? x->let.pattern->type : x->let.value->type);
        break;
    default:                            /* assignment */
        typed_place(l, x->assign.place);
        typed_expr(l, x->assign.value);
        if (x->assign.op == COIR_XOP_NONE)
            typed_as(l, x->assign.value, x->assign.place->type);
    }
}

static inline void typed_local(struct typed_look *l, const struct coir_x *x)
{
    const bool resource = coir_ty_is_resource(l->program->types, x->type);

    TYPED_MUST(l, x->local < l->fn->nlocals, x);
    if (*l->wrong)
        return;
    const struct coir_x_local *const local = &l->fn->locals[x->local];
    TYPED_MUST(l, local->type == x->type && local->kind != COIR_LOCAL_GROUP, x);
    if (x->kind == COIR_X_MOVE)
        TYPED_MUST(l, resource && !local->lent && local->kind != COIR_LOCAL_CAPTURE, x);
}

static inline void typed_expr(struct typed_look *l, const struct coir_x *x)
{
    const struct coir_ty_info *const i = typed_info(l, x->type);

    TYPED_MUST(l, !i->bad && !i->holes && x->at <= x->end, x);
    if (*l->wrong)
        return;
    switch (x->kind) {
    case COIR_X_UNIT: case COIR_X_INT: case COIR_X_FLOAT: case COIR_X_BOOL: case COIR_X_DURATION: case COIR_X_TEXT:
        break;
    case COIR_X_NIL:
        TYPED_MUST(l, i->kind == COIR_TY_OPTION, x);
        break;
    case COIR_X_LOCAL: case COIR_X_MOVE:
        typed_local(l, x);
        break;
    case COIR_X_GLOBAL:
        TYPED_MUST(l, x->global < l->program->nglobals && l->program->globals[x->global].type == x->type, x);
        break;
    case COIR_X_FN: case COIR_X_CLOSURE:
        TYPED_MUST(l, x->call.fn < l->program->nfns && i->kind == COIR_TY_FN, x);
        if (x->kind == COIR_X_CLOSURE && !*l->wrong)
            typed_captures(l, x);
        break;
    case COIR_X_RECORD: case COIR_X_VARIANT: case COIR_X_TUPLE: case COIR_X_LIST: case COIR_X_MAP: case COIR_X_SOME:
    case COIR_X_INTERPOLATION: case COIR_X_CHAN:
        typed_making(l, x);
        break;
    case COIR_X_CALL: case COIR_X_CALL_VALUE:
        TYPED_MUST(l, typed_call(l, &x->call, x->kind == COIR_X_CALL_VALUE) == x->type || *l->wrong, x);
        break;
    case COIR_X_ASK: case COIR_X_TELL: case COIR_X_SPAWN_ACTOR: case COIR_X_MONITOR:
        typed_actor(l, x);
        break;
    case COIR_X_SPAWN: case COIR_X_GROUP_SPAWN:
        if (x->spawn.asks) {
            typed_message(l, x, &x->spawn.call, typed_arg(l, x->type, 0));
            break;
        }
        TYPED_MUST(l, typed_call(l, &x->spawn.call, x->spawn.value) == typed_arg(l, x->type, 0) || *l->wrong, x);
        break;
    case COIR_X_PRINT:
        typed_items(l, &x->items);
        break;
    case COIR_X_IF: case COIR_X_MATCH: case COIR_X_TRY: case COIR_X_SELECT: case COIR_X_WITHIN: case COIR_X_GROUP:
        typed_branches(l, x);
        break;
    case COIR_X_WHILE: case COIR_X_LOOP: case COIR_X_FOR:
        typed_loop(l, x);
        break;
    case COIR_X_BLOCK: case COIR_X_BREAK: case COIR_X_CONTINUE: case COIR_X_RETURN: case COIR_X_TRAP:
    case COIR_X_DEFER: case COIR_X_LET: case COIR_X_ASSIGN:
        typed_statement(l, x);
        break;
    default:
        typed_operator(l, x);
    }
}

/* What is wrong with a program that was checked without errors; "" if nothing is. In l->wrong. */
static inline const char *typed_wrong(struct typed_look *l, const struct coir_typed *program)
{
    *l = (struct typed_look){ .program = program };
    for (uint32_t i = 0; i < program->nfns && !*l->wrong; i++) {
        l->fn = program->fns[i];
        TYPED_MUST(l, (l->fn->kind == COIR_FN_NATIVE) == (l->fn->native != NULL), (const struct coir_x *)NULL);
        TYPED_MUST(l, (l->fn->kind == COIR_FN_NATIVE) == (l->fn->body == NULL), (const struct coir_x *)NULL);
        if (l->fn->actor)
            TYPED_MUST(l, l->fn->nparams >= 2 && l->fn->params[0].mode == COIR_MUT &&
                       l->fn->params[1].type == l->fn->actor, (const struct coir_x *)NULL);
        TYPED_MUST(l, l->fn->kind != COIR_FN_HANDLER || l->fn->actor, (const struct coir_x *)NULL);
        for (uint32_t k = 0; k < l->fn->nparams; k++)
            TYPED_MUST(l, l->fn->params[k].local == k && l->fn->locals[k].type == l->fn->params[k].type,
                       (const struct coir_x *)NULL);
        if (!*l->wrong && l->fn->body)
            typed_as(l, l->fn->body, l->fn->result);
    }
    return l->wrong;
}

#endif
