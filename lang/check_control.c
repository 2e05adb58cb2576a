/* SPDX-License-Identifier: MIT */
/*
 * What chooses: if, match, try, and the blocks with a scope of their own: defer, within, group. Their value is that of
 * the branch that was taken; all branches have one type (struct coir_merge).
 */
#include "lang/checker.h"

/* The test of arm i does not end: it stands for all that comes from there on. */
static struct coir_x *never_decided(struct coir_checker *c, struct coir_x *x, const struct coir_x_branch_arm *arms,
                                    uint32_t i)
{
    if (i == 0) {
        *x = *arms[0].test.value;
        return x;
    }
    x->branch.arms = arms;
    x->branch.n = i;
    x->branch.otherwise = arms[i].test.value;
    x->type = COIR_TY_NEVER;
    for (uint32_t k = 0; k < i; k++) {
        if (arms[k].body->type != COIR_TY_NEVER && x->type != COIR_TY_ERROR)
            x->type = arms[k].body->type;
    }
    c->failed |= x->type == COIR_TY_ERROR;
    return x;
}

struct coir_x *coir_check_if(struct coir_checker *c, coir_ast n, coir_ty want)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list list = coir_ast_if_arms(t, n);
    const coir_ast otherwise = coir_ast_if_otherwise(t, n);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_IF, COIR_TY_UNIT);
    struct coir_x_branch_arm *const arms = coir_take(c, (list.count + 1) * sizeof *arms);
    struct coir_merge m;

    coir_merge_begin(c, &m, otherwise ? want : COIR_NOTHING_WANTED);
    for (uint32_t i = 0; i < list.count; i++) {
        coir_scope_open(c);
        coir_check_test(c, coir_ast_if_arm_condition(t, list.at[i]), &arms[i].test);
        arms[i].body = coir_merge(c, &m, coir_check_block(c, coir_ast_if_arm_body(t, list.at[i]), coir_merge_want(&m)));
        coir_scope_close(c);
        if (arms[i].test.value->type == COIR_TY_NEVER)
            return never_decided(c, x, arms, i);
    }
    x->branch.arms = arms;
    x->branch.n = list.count;
    if (otherwise) {
        x->branch.otherwise = coir_merge(c, &m, coir_check_block(c, otherwise, coir_merge_want(&m)));
        x->type = m.type;
    } else if (m.type == COIR_TY_ERROR) {
        x->type = COIR_TY_ERROR;
    }
    return x;
}

/* ---- match ---- */

static bool is_nil_pattern(const struct coir_tree *t, coir_ast n)
{
    while (coir_ast_is(t, n, COIR_N_PAREN_PATTERN))
        n = coir_ast_paren_pattern_pattern(t, n);
    if (coir_ast_is(t, n, COIR_N_OR_PATTERN)) {
        const struct coir_ast_list list = coir_ast_or_pattern_list(t, n);
        for (uint32_t i = 0; i < list.count; i++) {
            if (coir_ast_is(t, list.at[i], COIR_N_NIL_PATTERN))
                return true;
        }
    }
    return coir_ast_is(t, n, COIR_N_NIL_PATTERN);
}

/* Whether a name in any of the patterns would own a part of what is matched. */
static bool any_takes(struct coir_checker *c, struct coir_ast_list arms, coir_ty ty)
{
    for (uint32_t i = 0; i < arms.count; i++) {
        if (coir_pattern_takes(c, coir_ast_match_arm_pattern(coir_tree_of(c), arms.at[i]), ty))
            return true;
    }
    return false;
}

/* The value that is matched: an owned whole gives its parts up, if a name wants one. */
static struct coir_x *subject(struct coir_checker *c, coir_ast n, struct coir_ast_list arms, bool *takes)
{
    struct coir_x *x = coir_check_expr(c, n, 0);

    *takes = false;
    if (coir_info(c, x->type)->bad || !coir_is_resource(c, x->type))
        return x;
    if (!coir_is_place(x)) {
        *takes = true;
    } else if (x->kind == COIR_X_LOCAL) {
        const struct coir_x_local *const l = &c->body->locals[x->local];
        const bool mut = l->kind == COIR_LOCAL_PARAM && c->body->fn->params[x->local].mode == COIR_MUT;
        if (!l->lent && !mut && any_takes(c, arms, x->type)) {
            *takes = true;
            x = coir_keep(c, x);
        }
    }
    return x;
}

/* A guard that is false goes on to the next arm, which needs the value whole: it only looks at the pattern's names. */
static const struct coir_x *check_guard(struct coir_checker *c, coir_ast n, coir_x_local_id from)
{
    const uint32_t to = c->body->nlocals;
    bool *const lent = coir_take_scratch(c, to - from + 1);

    for (uint32_t i = from; i < to; i++) {
        lent[i - from] = c->body->locals[i].lent;
        c->body->locals[i].lent |= !coir_info(c, c->body->locals[i].type)->bad &&
                                   coir_is_resource(c, c->body->locals[i].type);
    }
    const struct coir_x *const x = coir_check_as(c, n, COIR_TY_BOOL);
    for (uint32_t i = from; i < to; i++)
        c->body->locals[i].lent = lent[i - from];
    return x;
}

static void check_arm(struct coir_checker *c, coir_ast n, struct coir_x_match_arm *arm, struct coir_merge *m,
                      const struct coir_x_match *match, uint32_t *nils)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const coir_ast pattern = coir_ast_match_arm_pattern(t, n), guard = coir_ast_match_arm_guard(t, n);

    const coir_x_local_id names = c->body->nlocals;

    coir_scope_open(c);
    arm->pattern = coir_check_pattern(c, pattern, match->value->type, !match->takes, *nils);
    if (guard)
        arm->guard = check_guard(c, guard, names);
    arm->body = coir_merge(c, m, coir_check_arm(c, coir_ast_match_arm_body(t, n), coir_merge_want(m)));
    coir_scope_close(c);
    if (!guard && is_nil_pattern(t, pattern))
        ++*nils;
}

struct coir_x *coir_check_match(struct coir_checker *c, coir_ast n, coir_ty want)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list list = coir_ast_match_arms(t, n);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_MATCH, COIR_TY_UNIT);
    struct coir_x_match_arm *const arms = coir_take(c, (list.count + 1) * sizeof *arms);
    const uint32_t errors = c->d->errors;
    struct coir_merge m;
    uint32_t nils = 0;
    bool takes;

    struct coir_x *const value = subject(c, coir_ast_match_subject(t, n), list, &takes);
    x->match.value = value;
    x->match.takes = takes;
    coir_merge_begin(c, &m, want);
    for (uint32_t i = 0; i < list.count; i++)
        check_arm(c, list.at[i], &arms[i], &m, &x->match, &nils);
    if (value->type == COIR_TY_NEVER)
        return value;
    x->match.arms = arms;
    x->match.n = list.count;
    x->type = list.count ? m.type : (coir_ty)COIR_TY_NEVER;
    if (coir_info(c, x->match.value->type)->bad)
        x->type = COIR_TY_ERROR;
    else if (c->d->errors == errors)
        coir_check_arms(c, n, &x->match);
    return x;
}

/* ---- try, defer, within, group ---- */

struct coir_x *coir_check_try(struct coir_checker *c, coir_ast n, coir_ty want)
{
    const struct coir_tree *const t = coir_tree_of(c);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_TRY, COIR_TY_UNIT);
    const struct coir_place at = coir_ast_main_place(t, n);
    struct coir_merge m;

    coir_merge_begin(c, &m, want);
    x->try.body = coir_merge(c, &m, coir_check_block(c, coir_ast_try_body(t, n), coir_merge_want(&m)));
    coir_scope_open(c);
    if (coir_ast_operator(t, n) == COIR_T_UNDERSCORE)
        x->try.local = coir_local_new(c, "", c->typed->trap, COIR_LOCAL_LET, at.start, at.end);
    else
        x->try.local = coir_bind_new(c, n, c->typed->trap, COIR_LOCAL_LET);
    x->try.handler = coir_merge(c, &m, coir_check_block(c, coir_ast_try_handler(t, n), coir_merge_want(&m)));
    coir_scope_close(c);
    x->type = m.type;
    return x;
}

struct coir_x *coir_check_defer(struct coir_checker *c, coir_ast n)
{
    struct coir_body *const b = c->body;
    struct coir_x *const x = coir_x_new(c, n, COIR_X_DEFER, COIR_TY_UNIT);
    const uint32_t loops = b->loops;
    const bool broken = b->broken;

    b->loops = 0;
    b->defers++;
    x->of = coir_check_block(c, coir_ast_defer_body(coir_tree_of(c), n), COIR_NOTHING_WANTED);
    b->defers--;
    b->loops = loops;
    b->broken = broken;
    return x;
}

struct coir_x *coir_check_within(struct coir_checker *c, coir_ast n, coir_ty want)
{
    const struct coir_tree *const t = coir_tree_of(c);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_WITHIN, COIR_TY_UNIT);
    struct coir_merge m;

    x->scope.head = coir_check_as(c, coir_ast_within_time(t, n), COIR_TY_DURATION);
    coir_merge_begin(c, &m, want);
    x->scope.body = coir_merge(c, &m, coir_check_block(c, coir_ast_within_body(t, n), coir_merge_want(&m)));
    x->type = m.type;
    return x;
}

struct coir_x *coir_check_group(struct coir_checker *c, coir_ast n, coir_ty want)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const coir_ast limit = coir_ast_group_limit(t, n);
    struct coir_x *const x = coir_x_new(c, n, COIR_X_GROUP, COIR_TY_UNIT);
    struct coir_merge m;

    if (limit)
        x->scope.head = coir_check_as(c, limit, COIR_TY_INT);
    coir_scope_open(c);
    x->scope.local = coir_bind_new(c, n, COIR_TY_GROUP, COIR_LOCAL_GROUP);
    coir_merge_begin(c, &m, want);
    x->scope.body = coir_merge(c, &m, coir_check_block(c, coir_ast_group_body(t, n), coir_merge_want(&m)));
    x->type = m.type;
    coir_scope_close(c);
    return x;
}
