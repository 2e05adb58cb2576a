/* SPDX-License-Identifier: MIT */
/*
 * Blocks, branches, loops, and the ways out of them.
 */
#include "lang/emit_inside.h"
#include "runtime/base/assert.h"

/* ---- blocks ---- */

/* A local of this block that nobody can see any more gives its value up. */
static bool gives_local(struct coir_e *e, const struct coir_x *x, uint32_t held, uint32_t to)
{
    const struct coir_e_local *l;

    if (x->kind != COIR_X_LOCAL)
        return false;
    l = &e->locals[x->local];
    if (l->lent || l->type->flat || e->watchers != l->watchers)
        return false;
    for (uint32_t i = held; i < e->nheld; i++) {
        if (e->held[i].kind == COIR_HELD_VALUE && e->held[i].reg == l->reg) {
            coir_e_move_value(e, l->type, to, l->reg);
            return true;
        }
    }
    return false;
}

static bool has_defer(const struct coir_e *e, uint32_t held)
{
    for (uint32_t i = held; i < e->nheld; i++)
        if (e->held[i].kind == COIR_HELD_DEFER)
            return true;
    return false;
}

void coir_e_block(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const uint32_t top = e->top, held = e->nheld, watchers = e->watchers;
    const struct coir_x *const value = x->block.value;
    uint32_t at;

    for (uint32_t i = 0; i < x->block.n; i++)
        coir_e_effect(e, x->block.statements[i]);
    if (value && has_defer(e, held)) {
        at = coir_e_fresh(e, value);
        coir_e_drop_to(e, held);
        coir_e_move_value(e, coir_e_type_of(e, x), to, at);
    } else {
        if (value && !(e->falls && gives_local(e, value, held, to)))
            coir_e_into(e, value, to);
        coir_e_drop_to(e, held);
    }
    e->watchers = watchers;
    e->top = top;
}

void coir_e_let(struct coir_e *e, const struct coir_x *x)
{
    coir_e_bind(e, x->let.pattern, coir_e_fresh(e, x->let.value), true);
}

/* ---- if, while ---- */

/* Goes to `no` unless the test is met; then the pattern's names are there, and what they own is held. `body`: what runs
 * while they are. */
static void test(struct coir_e *e, const struct coir_x_test *t, const struct coir_x *body, struct coir_e_label *no)
{
    const struct coir_e_type *inner;
    struct coir_e_label yes = { 0 };
    struct coir_e_value v;
    uint32_t at;

    if (!t->pattern) {
        coir_e_condition(e, t->value, false, no);
        return;
    }
    v = coir_e_operand_or_take(e, t->value, body);
    if (v.owned && !coir_e_is_bare(e, v.type)) {
        coir_e_jump_nil(e, v.type, v.reg, false, &yes);
        coir_e_drop_value(e, v.type, v.reg);
        coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, no);
        coir_e_place(e, &yes);
    } else {
        coir_e_jump_nil(e, v.type, v.reg, true, no);
    }
    if (v.owned)
        coir_e_let_go(e, 1);
    inner = coir_e_arg(e, v.type, 0);
    at = coir_e_is_bare(e, v.type) ? v.reg : coir_e_alloc(e, inner->slots);
    if (at != v.reg)
        coir_e_inside(e, v.type, v.reg, at, v.owned);
    coir_e_bind(e, t->pattern, at, v.owned);
}

/* What is inside is taken from a value that is made for it, else lent. */
struct coir_e_value coir_e_operand_or_take(struct coir_e *e, const struct coir_x *x, const struct coir_x *body)
{
    struct coir_e_value v = { .type = coir_e_type_of(e, x) };

    if (coir_e_lendable(e, x) && coir_e_root(x) != UINT32_MAX && !coir_e_changes(body, x))
        return coir_e_operand(e, x, true);
    v.reg = coir_e_fresh(e, x);
    v.owned = !v.type->flat;
    if (v.owned)
        coir_e_hold(e, v.type, v.reg);
    return v;
}

void coir_e_if(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    struct coir_e_label end = { 0 };
    const uint32_t top = e->top, held = e->nheld;

    for (uint32_t i = 0; i < x->branch.n; i++) {
        const struct coir_x_branch_arm *const arm = &x->branch.arms[i];
        struct coir_e_label next = { 0 };

        test(e, &arm->test, arm->body, &next);
        coir_e_into(e, arm->body, to);
        coir_e_drop_to(e, held);
        if (x->branch.otherwise || i + 1 < x->branch.n)
            coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, &end);
        coir_e_place(e, &next);
        e->top = top;
    }
    if (x->branch.otherwise)
        coir_e_into(e, x->branch.otherwise, to);
    coir_e_place(e, &end);
    e->top = top;
}

/* The numbers that an outermost loop uses are loaded before it, and known until it ends. */
static void keep_numbers(struct coir_e *e, const struct coir_x *loop)
{
    if (e->loop || e->nconstants)
        return;
    coir_e_collect(e, loop);
    for (uint32_t i = 0; i < e->nconstants; i++) {
        e->constants[i].reg = coir_e_alloc(e, 1);
        coir_e_load(e, e->constants[i].reg, e->constants[i].word);
    }
}

static void forget_numbers(struct coir_e *e)
{
    if (!e->loop)
        e->nconstants = 0;
}

static void loop_begin(struct coir_e *e, struct coir_e_loop *l, struct coir_e_label *again, struct coir_e_label *out)
{
    *l = (struct coir_e_loop){ e->loop, again, out, e->nheld };
    e->loop = l;
}

/* One round of a loop's body, where its names are bound; all it holds is dropped. */
static void round_of(struct coir_e *e, const struct coir_x *body, struct coir_e_loop *l)
{
    coir_e_effect(e, body);
    coir_e_drop_to(e, l->held);
}

/* The condition stands at the end, where the body goes on to it; a short one before it as well. */
static void while_condition(struct coir_e *e, const struct coir_x *x)
{
    struct coir_e_label again = { 0 }, body = { 0 }, out = { 0 };
    struct coir_e_loop loop;

    loop_begin(e, &loop, &again, &out);
    if (coir_e_is_short(x->loop.test.value))
        coir_e_condition(e, x->loop.test.value, false, &out);
    else
        coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, &again);
    body.used = true;
    coir_e_place(e, &body);
    round_of(e, x->loop.body, &loop);
    coir_e_place(e, &again);
    coir_e_condition(e, x->loop.test.value, true, &body);
    coir_e_place(e, &out);
    e->loop = loop.outer;
}

static void while_let(struct coir_e *e, const struct coir_x *x)
{
    struct coir_e_label again = { 0 }, out = { 0 };
    struct coir_e_loop loop;

    loop_begin(e, &loop, &again, &out);
    coir_e_place(e, &again);
    test(e, &x->loop.test, x->loop.body, &out);
    round_of(e, x->loop.body, &loop);
    coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, &again);
    coir_e_place(e, &out);
    e->loop = loop.outer;
}

void coir_e_while(struct coir_e *e, const struct coir_x *x)
{
    const uint32_t top = e->top;

    keep_numbers(e, x);
    if (x->loop.test.pattern)
        while_let(e, x);
    else
        while_condition(e, x);
    forget_numbers(e);
    e->top = top;
}

void coir_e_loop(struct coir_e *e, const struct coir_x *x)
{
    struct coir_e_label again = { 0 }, out = { 0 };
    const uint32_t top = e->top;
    struct coir_e_loop loop;

    keep_numbers(e, x);
    loop_begin(e, &loop, &again, &out);
    coir_e_place(e, &again);
    round_of(e, x->loop.body, &loop);
    coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, &again);
    coir_e_place(e, &out);
    e->loop = loop.outer;
    forget_numbers(e);
    e->top = top;
}

/* ---- for ---- */

static void each_range(struct coir_e *e, const struct coir_x *x)
{
    struct coir_e_label body = { 0 }, again = { 0 }, out = { 0 };
    const uint32_t i = coir_e_fresh(e, x->each.value), end = coir_e_fresh(e, x->each.to);
    struct coir_e_loop loop;

    loop_begin(e, &loop, &again, &out);
    coir_e_jump(e, x->each.inclusive ? COIR_OP_JLT : COIR_OP_JLE, end, i, 0, &out);
    coir_e_place(e, &body);
    coir_e_bind(e, x->each.pattern, i, false);
    round_of(e, x->each.body, &loop);
    coir_e_place(e, &again);
    coir_e_line(e, x->at);
    coir_e_jump(e, x->each.inclusive ? COIR_OP_FORE : COIR_OP_FORI, i, end, 0, &body);
    coir_e_place(e, &out);
    e->loop = loop.outer;
}

/* What is run over, as it is now, and the place in it behind. What is lent stays as it is while the body runs. */
static uint32_t each_begin(struct coir_e *e, const struct coir_x *x)
{
    const uint32_t of = coir_e_alloc(e, 2);
    const struct coir_x *const value = x->each.value;

    if (coir_e_lendable(e, value) && !coir_e_changes(x->each.body, value)) {
        coir_e_lend(e, value, of);
    } else {
        coir_e_into(e, value, of);
        coir_e_hold(e, coir_e_type_of(e, value), of);
    }
    coir_e_load(e, of + 1, 0);
    return of;
}

static void each_of(struct coir_e *e, const struct coir_x *x)
{
    const bool map = x->each.kind == COIR_EACH_MAP;
    const uint32_t held = e->nheld, of = each_begin(e, x);
    const struct coir_e_type *const t = coir_e_type_of(e, x->each.value), *const first = coir_e_arg(e, t, 0);
    const struct coir_e_type *const second = map ? coir_e_arg(e, t, 1) : NULL;
    const uint32_t at = coir_e_alloc(e, first->slots + (map ? second->slots : 0));
    struct coir_e_label body = { 0 }, again = { 0 }, out = { 0 };
    struct coir_e_loop loop;

    loop_begin(e, &loop, &again, &out);
    coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, &again);
    body.used = true;
    coir_e_place(e, &body);
    coir_e_bind(e, x->each.pattern, at, false);
    if (map && x->each.second)
        coir_e_bind(e, x->each.second, at + first->slots, false);
    round_of(e, x->each.body, &loop);
    coir_e_place(e, &again);
    coir_e_line(e, x->at);
    coir_e_jump(e, map ? COIR_OP_MNEXTL : first->slots == 1 && first->flat ? COIR_OP_LNEXTW : COIR_OP_LNEXTL,
                at, of, 0, &body);
    coir_e_place(e, &out);
    e->loop = loop.outer;
    coir_e_drop_to(e, held);
}

static void each_received(struct coir_e *e, const struct coir_x *x)
{
    const uint32_t held = e->nheld;
    const struct coir_x *const value = x->each.value;
    const struct coir_e_value from = coir_e_operand(e, value, !coir_e_changes(x->each.body, value));
    const struct coir_e_type *const t = coir_e_arg(e, from.type, 0);
    const struct coir_e_type *const got = coir_e_type(e, coir_ty_option(e->table, t->ty));
    const enum coir_ty_mode lend = COIR_LEND;
    const struct coir_x_pattern some = { .kind = COIR_PATTERN_SOME, .type = got->ty, .n = 1,
                                         .items = &x->each.pattern };
    struct coir_e_label again = { 0 }, out = { 0 };
    const uint32_t window = coir_e_alloc(e, got->slots > 1 ? got->slots : 1);
    struct coir_e_loop loop;

    loop_begin(e, &loop, &again, &out);
    coir_e_place(e, &again);
    coir_e_line(e, x->at);
    coir_e_lend_value(e, from.type, window, from.reg);
    coir_e_native(e, "Chan.recv", 1, &from.type, &lend, got, window);
    if (coir_e_is_bare(e, got) || got->flat) {
        coir_e_jump_nil(e, got, window, true, &out);
    } else {
        struct coir_e_label some_label = { 0 };

        coir_e_jump_nil(e, got, window, false, &some_label);
        coir_e_drop_value(e, got, window);
        coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, &out);
        coir_e_place(e, &some_label);
    }
    coir_e_bind(e, &some, window, true);
    round_of(e, x->each.body, &loop);
    coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, &again);
    coir_e_place(e, &out);
    e->loop = loop.outer;
    coir_e_drop_to(e, held);
}

void coir_e_each(struct coir_e *e, const struct coir_x *x)
{
    const uint32_t top = e->top;

    keep_numbers(e, x);
    if (x->each.kind == COIR_EACH_RANGE)
        each_range(e, x);
    else if (x->each.kind == COIR_EACH_CHAN)
        each_received(e, x);
    else
        each_of(e, x);
    forget_numbers(e);
    e->top = top;
}

/* ---- ways out ---- */

void coir_e_break(struct coir_e *e, bool again)
{
    struct coir_e_loop *const l = e->loop;

    COIR_ASSERT(l);
    coir_e_leave(e, l->held);
    coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, again ? l->again : l->out);
    coir_e_back(e, l->held);
}

void coir_e_return(struct coir_e *e, const struct coir_x *x)
{
    const struct coir_e_type *t;
    const uint32_t top = e->top;
    uint32_t at = top;

    if (x->of && coir_e_type_of(e, x->of)->flat && coir_e_type_of(e, x->of)->slots == 1 && !has_defer(e, 0)) {
        at = coir_e_operand(e, x->of, true).reg;            /* dropping what is held does not change it */
    } else if (x->of) {
        t = coir_e_type_of(e, x->of);
        at = coir_e_alloc(e, t->slots);
        if (!gives_local(e, x->of, 0, at))
            coir_e_into(e, x->of, at);
    }
    coir_e_line(e, x->at);
    coir_e_leave(e, 0);
    coir_e_give(e, at);
    coir_e_back(e, 0);
    e->top = top;
}

/* Ends the function with the result at reg, when nothing else is held. */
void coir_e_give(struct coir_e *e, uint32_t reg)
{
    const struct coir_e_type *const t = coir_e_type(e, e->fn->result);

    if (t->slots == 1) {
        coir_e_op(e, COIR_OP_RETV, reg, 0, 0, 0);
        return;
    }
    coir_e_move_value(e, t, e->results, reg);
    if (e->results + t->slots > e->most)
        e->most = e->results + t->slots;
    coir_e_op(e, COIR_OP_RET, 0, 0, 0, 0);
}
