/* SPDX-License-Identifier: MIT */
/*
 * What stands around code: try, defer, group, within; and select. A value that is made inside a region stays above its
 * `keep` until the region has ended.
 */
#include "lang/emit_inside.h"
#include "vm/trap.h"

/* ---- try ---- */

void coir_e_try(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct coir_e_type *const t = coir_e_type_of(e, x);
    const uint32_t top = e->top, held = e->nheld;
    struct coir_e_region *const r = coir_e_region_begin(e, COIR_CATCH);
    struct coir_e_label end = { 0 };
    uint32_t at;

    e->watchers++;
    coir_e_hold_that(e, (struct coir_e_held){ .kind = COIR_HELD_REGION, .region = r });
    at = t->flat ? to : coir_e_alloc(e, t->slots);
    coir_e_into(e, x->try.body, at);
    coir_e_let_go(e, 1);
    coir_e_region_end(e, r);
    e->watchers--;
    coir_e_move_value(e, t, to, at);
    coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, &end);
    if (coir_e_pad_begin(e, r)) {
        coir_e_local(e, x->try.local, r->keep, false);
        coir_e_into(e, x->try.handler, to);
        coir_e_drop_to(e, held);
    }
    coir_e_place(e, &end);
    e->top = top;
}

/* ---- defer ---- */

void coir_e_defer(struct coir_e *e, const struct coir_x *x)
{
    struct coir_e_region *const r = coir_e_region_begin(e, COIR_CLEANUP);

    coir_e_hold_that(e, (struct coir_e_held){ .kind = COIR_HELD_DEFER, .defer = x->of, .region = r });
    e->watchers++;
}

void coir_e_deferred(struct coir_e *e, const struct coir_x *body)
{
    const uint32_t top = e->top, held = e->nheld, shield = coir_e_alloc(e, 1);
    struct coir_e_label done = { 0 };
    struct coir_e_region *r;

    coir_e_op(e, COIR_OP_SHIELD, shield, 0, 0, 0);
    coir_e_hold_that(e, (struct coir_e_held){ .kind = COIR_HELD_SCOPE, .reg = shield });
    r = coir_e_region_begin(e, COIR_CLEANUP);       /* also while the program stops */
    e->watchers++;
    coir_e_hold_that(e, (struct coir_e_held){ .kind = COIR_HELD_REGION, .region = r });
    coir_e_effect(e, body);
    coir_e_let_go(e, 1);
    coir_e_region_end(e, r);
    e->watchers--;
    coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, &done);
    if (coir_e_pad_begin(e, r)) {
        coir_e_op(e, COIR_OP_REPORT, r->keep, 0, 0, 0);
        coir_e_drop_to(e, held + 1);
    }
    coir_e_place(e, &done);
    coir_e_drop_to(e, held);
    e->top = top;
}

void coir_e_defer_pad(struct coir_e *e, const struct coir_e_held *h)
{
    const uint32_t top = e->top, held = e->nheld;
    struct coir_e_label end = { 0 };

    if (!h->region->pad.used)
        return;
    coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, &end);
    if (coir_e_pad_begin(e, h->region)) {
        coir_e_deferred(e, h->defer);
        coir_e_op(e, COIR_OP_TRAP, h->region->keep, 0, 0, 0);
        coir_e_let_go(e, e->nheld - held);
    }
    coir_e_place(e, &end);
    e->top = top;
}

/* ---- group ---- */

static void check_limit(struct coir_e *e, uint32_t limit)
{
    static const char text[] = "a group needs a limit of at least 1";
    struct coir_e_label fine = { 0 };
    const uint32_t top = e->top, message = coir_e_alloc(e, 1);

    coir_e_jump(e, COIR_OP_JGTI, limit, 0, 0, &fine);
    coir_e_wide(e, COIR_OP_CONSTT, message, coir_build_text(e->build, text, sizeof text - 1));
    coir_e_op(e, COIR_OP_TRAPM, message, 0, 0, COIR_TRAP_BOUNDS);
    coir_e_place(e, &fine);
    e->top = top;
}

void coir_e_group(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct coir_e_type *const t = coir_e_type_of(e, x);
    const uint32_t top = e->top, held = e->nheld, group = coir_e_alloc(e, 1);
    struct coir_e_label end = { 0 };
    struct coir_e_region *r;
    uint32_t at = coir_e_alloc(e, 1);

    if (x->scope.head) {
        coir_e_into(e, x->scope.head, at);
        coir_e_line(e, x->at);
        check_limit(e, at);
    } else {
        coir_e_load(e, at, 0);
    }
    coir_e_line(e, x->at);
    coir_e_op(e, COIR_OP_GROUP, group, at, 0, 0);
    e->top = at;
    coir_e_local(e, x->scope.local, group, true);
    r = coir_e_region_begin(e, COIR_CLEANUP);
    coir_e_hold_that(e, (struct coir_e_held){ .kind = COIR_HELD_GROUP, .reg = group, .region = r });
    at = coir_e_alloc(e, t->slots);
    coir_e_into(e, x->scope.body, at);
    coir_e_let_go(e, 1);
    coir_e_region_end(e, r);
    coir_e_line(e, x->at);
    coir_e_op(e, COIR_OP_GWAIT, group, 0, 0, 0);
    coir_e_op(e, COIR_OP_DROP, group, 0, 0, 0);
    coir_e_move_value(e, t, to, at);
    coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, &end);
    if (coir_e_pad_begin(e, r)) {
        coir_e_op(e, COIR_OP_GFAIL, group, r->keep, 0, 0);
        coir_e_op(e, COIR_OP_GWAIT, group, 0, 0, 0);
        coir_e_op(e, COIR_OP_TRAP, r->keep, 0, 0, 0);
        coir_e_let_go(e, e->nheld - held);
    }
    coir_e_place(e, &end);
    e->top = top;
}

/* ---- within ---- */

void coir_e_within(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct coir_e_type *const t = coir_e_type_of(e, x);
    const uint32_t top = e->top, held = e->nheld, scope = coir_e_alloc(e, 1), ns = coir_e_fresh(e, x->scope.head);
    const uint32_t at = t->flat ? to : coir_e_alloc(e, t->slots);

    coir_e_line(e, x->at);
    coir_e_op(e, COIR_OP_WITHIN, scope, ns, 0, 0);
    coir_e_hold_that(e, (struct coir_e_held){ .kind = COIR_HELD_SCOPE, .reg = scope });
    coir_e_into(e, x->scope.body, at);
    coir_e_drop_to(e, held);
    coir_e_move_value(e, t, to, at);
    e->top = top;
}

/* ---- select ---- */

struct ready {
    uint32_t reg;                       /* the channel, or how long */
    uint32_t window;                    /* what is received, or sent */
    const struct coir_e_type *type;     /* of that */
    struct coir_e_label label;
    struct coir_e_held mine;            /* what is sent is held as this, unless it is a word */
    bool holds;
};

static void prepare(struct coir_e *e, const struct coir_x_select_arm *arm, struct ready *r)
{
    const struct coir_e_type *channel;

    if (arm->kind == COIR_SELECT_AFTER) {
        r->reg = coir_e_fresh(e, arm->operand);
        return;
    }
    if (arm->kind == COIR_SELECT_ELSE)
        return;
    channel = coir_e_type_of(e, arm->channel);
    r->reg = coir_e_fresh(e, arm->channel);
    coir_e_hold(e, channel, r->reg);
    if (arm->kind == COIR_SELECT_SEND) {
        r->type = coir_e_type_of(e, arm->operand);
        r->window = coir_e_fresh(e, arm->operand);
        r->holds = !r->type->flat;
        if (r->holds) {
            coir_e_hold(e, r->type, r->window);
            r->mine = e->held[e->nheld - 1];
        }
    } else {
        r->type = coir_e_type(e, coir_ty_option(e->table, coir_e_arg(e, channel, 0)->ty));
        r->window = coir_e_alloc(e, r->type->slots);
    }
}

static enum coir_arm_kind kind_of(enum coir_x_select_kind kind)
{
    return kind == COIR_SELECT_RECV ? COIR_ARM_RECV : kind == COIR_SELECT_SEND ? COIR_ARM_SEND : COIR_ARM_AFTER;
}

/* What was made for the select is dropped, but for what this arm has sent. */
static void drop_rest(struct coir_e *e, const struct ready *r, uint32_t held, uint32_t all)
{
    for (uint32_t i = all; i > held; i--) {
        const struct coir_e_held h = e->held[i - 1];

        if (!(r->holds && h.reg == r->mine.reg))
            coir_e_drop_value(e, h.type, h.reg);
    }
}

static void chosen(struct coir_e *e, const struct coir_x_select_arm *arm, struct ready *r, uint32_t held, uint32_t all,
                   uint32_t to)
{
    const uint32_t top = e->top;

    drop_rest(e, r, held, all);
    e->nheld = held;
    if (arm->kind == COIR_SELECT_RECV) {
        if (arm->pattern)
            coir_e_bind(e, arm->pattern, r->window, true);
        else
            coir_e_drop_value(e, r->type, r->window);
    }
    coir_e_into(e, arm->body, to);
    coir_e_drop_to(e, held);
    e->top = top;
}

void coir_e_select(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const uint32_t top = e->top, held = e->nheld, n = x->select.n;
    const struct coir_x_select_arm *const arms = x->select.arms;
    struct ready *const ready = coir_e_take(e, n * sizeof *ready);
    const bool otherwise = n && arms[n - 1].kind == COIR_SELECT_ELSE;
    struct coir_e_label end = { 0 };
    struct coir_e_held *saved;
    uint32_t all;

    for (uint32_t i = 0; i < n; i++)
        prepare(e, &arms[i], &ready[i]);
    all = e->nheld;
    saved = coir_e_take(e, (all - held) * sizeof *saved);
    for (uint32_t i = held; i < all; i++)
        saved[i - held] = e->held[i];
    coir_e_line(e, x->at);
    coir_e_op(e, COIR_OP_SELECT, 0, 0, 0, otherwise);
    for (uint32_t i = 0; i < n - otherwise; i++)
        coir_e_arm(e, kind_of(arms[i].kind), ready[i].reg, ready[i].window, &ready[i].label);
    if (otherwise)
        chosen(e, &arms[n - 1], &ready[n - 1], held, all, to);
    if (otherwise)
        coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, &end);
    e->falls = false;
    for (uint32_t i = 0; i < n - otherwise; i++) {
        for (uint32_t k = held; k < all; k++)
            e->held[k] = saved[k - held];
        e->nheld = all;
        coir_e_place(e, &ready[i].label);
        chosen(e, &arms[i], &ready[i], held, all, to);
        coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, &end);
    }
    e->nheld = held;
    coir_e_place(e, &end);
    e->top = top;
}
