/* SPDX-License-Identifier: MIT */
/*
 * Patterns, in two passes: first it is tested whether a value fits, and nothing is changed; then the names get what
 * they stand for. They are lent it, from a value that stays where it is; or take it, from one that is taken apart, and
 * what no name takes is dropped. A name of a part that has registers of its own stands in these.
 */
#include "lang/emit_inside.h"
#include "vm/trap.h"

static bool has_names(const struct coir_x_pattern *p)
{
    if (p->kind == COIR_PATTERN_NAME)
        return true;
    for (uint32_t i = 0; i < p->n; i++)
        if (has_names(p->items[i]))
            return true;
    return false;
}

/* Some value does not fit. */
static bool refuses(const struct coir_x_pattern *p)
{
    if (p->kind == COIR_PATTERN_NAME || p->kind == COIR_PATTERN_ANY)
        return false;
    if (p->kind != COIR_PATTERN_TUPLE)
        return true;
    for (uint32_t i = 0; i < p->n; i++)
        if (refuses(p->items[i]))
            return true;
    return false;
}

static const struct coir_e_type *type_of(struct coir_e *e, const struct coir_x_pattern *p)
{
    return coir_e_type(e, p->type);
}

/* ---- parts ---- */

/* Value i of the payload of the sum at reg, lent, in new registers. */
static uint32_t lend_payload(struct coir_e *e, const struct coir_x_pattern *p, uint32_t i, uint32_t reg)
{
    uint32_t slot, at;
    const struct coir_e_type *const t = coir_e_payload(e, type_of(e, p), p->index, i, &slot);

    at = coir_e_alloc(e, t->slots);
    for (uint32_t k = 0; k < t->slots; k++)
        coir_e_op(e, coir_e_slot(e, t, k).is_ref ? COIR_OP_LENDP : COIR_OP_GETPW, at + k, reg, slot + k, p->index);
    return at;
}

/* What is inside the optional at reg, lent. */
static uint32_t lend_inside(struct coir_e *e, const struct coir_x_pattern *p, uint32_t reg)
{
    uint32_t at;

    if (coir_e_is_bare(e, type_of(e, p)))
        return reg;
    at = coir_e_alloc(e, coir_e_arg(e, type_of(e, p), 0)->slots);
    coir_e_inside(e, type_of(e, p), reg, at, false);
    return at;
}

/* ---- testing ---- */

static void test_value(struct coir_e *e, const struct coir_x_pattern *p, uint32_t reg, struct coir_e_label *no)
{
    const struct coir_x *const c = p->constant;
    const uint32_t other = coir_e_alloc(e, 2);

    coir_e_line(e, p->at);
    if (c->kind == COIR_X_TEXT) {
        coir_e_wide(e, COIR_OP_CONSTT, other, coir_build_text(e->build, c->text.bytes, c->text.size));
        coir_e_op(e, COIR_OP_TEQ, other + 1, reg, other, 0);
        coir_e_jump(e, COIR_OP_JF, other + 1, 0, 0, no);
    } else if (c->kind == COIR_X_FLOAT) {
        coir_e_into(e, c, other);
        coir_e_jump(e, COIR_OP_JFNE, reg, other, 0, no);
    } else if (c->kind == COIR_X_BOOL) {
        coir_e_jump(e, c->integer ? COIR_OP_JF : COIR_OP_JT, reg, 0, 0, no);
    } else if (c->integer >= INT16_MIN && c->integer <= INT16_MAX) {
        coir_e_jump(e, COIR_OP_JNEI, reg, (uint16_t)c->integer, 0, no);
    } else {
        coir_e_load(e, other, c->integer);
        coir_e_jump(e, COIR_OP_JNE, reg, other, 0, no);
    }
}

static void test_variant(struct coir_e *e, const struct coir_x_pattern *p, uint32_t reg, struct coir_e_label *no)
{
    if (type_of(e, p)->flat) {
        const uint32_t other = coir_e_alloc(e, 1);

        coir_e_load(e, other, p->index);
        coir_e_jump(e, COIR_OP_JNE, reg, other, 0, no);
        return;
    }
    coir_e_jump(e, COIR_OP_JISNT, reg, 0, p->index, no);
    for (uint32_t i = 0; i < p->n; i++)
        if (refuses(p->items[i]))
            coir_e_test(e, p->items[i], lend_payload(e, p, i, reg), no);
}

static void test_either(struct coir_e *e, const struct coir_x_pattern *p, uint32_t reg, struct coir_e_label *no)
{
    struct coir_e_label yes = { 0 };

    for (uint32_t i = 0; i + 1 < p->n; i++) {
        struct coir_e_label next = { 0 };

        coir_e_test(e, p->items[i], reg, &next);
        coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, &yes);
        coir_e_place(e, &next);
    }
    coir_e_test(e, p->items[p->n - 1], reg, no);
    coir_e_place(e, &yes);
}

void coir_e_test(struct coir_e *e, const struct coir_x_pattern *p, uint32_t reg, struct coir_e_label *no)
{
    const uint32_t top = e->top;
    uint32_t slot;

    switch (p->kind) {
    case COIR_PATTERN_ANY:
    case COIR_PATTERN_NAME:
        break;
    case COIR_PATTERN_VALUE:
        test_value(e, p, reg, no);
        break;
    case COIR_PATTERN_NIL:
        coir_e_jump_nil(e, type_of(e, p), reg, false, no);
        break;
    case COIR_PATTERN_SOME:
        coir_e_jump_nil(e, type_of(e, p), reg, true, no);
        if (refuses(p->items[0]))
            coir_e_test(e, p->items[0], lend_inside(e, p, reg), no);
        break;
    case COIR_PATTERN_VARIANT:
        test_variant(e, p, reg, no);
        break;
    case COIR_PATTERN_TUPLE:
        for (uint32_t i = 0; i < p->n; i++) {
            coir_e_element(e, type_of(e, p), i, &slot);
            coir_e_test(e, p->items[i], reg + slot, no);
        }
        break;
    case COIR_PATTERN_EITHER:
        test_either(e, p, reg, no);
        break;
    }
    e->top = top;
}

/* ---- binding: the registers of names stay taken ---- */

static void bind_variant(struct coir_e *e, const struct coir_x_pattern *p, uint32_t reg, bool take)
{
    const struct coir_e_type *const t = type_of(e, p);
    uint32_t slot = 0, slots = 0, at;

    if (t->flat)
        return;
    if (!take) {
        for (uint32_t i = 0; i < p->n; i++)
            if (has_names(p->items[i]))
                coir_e_bind(e, p->items[i], lend_payload(e, p, i, reg), false);
        return;
    }
    if (coir_e_payload_count(e, t, p->index) == 0) {
        coir_e_op(e, COIR_OP_DROP, reg, 0, 0, 0);
        return;
    }
    for (uint32_t i = 0; i < p->n; i++)
        slots = coir_e_payload(e, t, p->index, i, &slot)->slots + slot;
    at = coir_e_alloc(e, slots);
    coir_e_op(e, COIR_OP_UNPACK, at, reg, 0, p->index);
    for (uint32_t i = 0; i < p->n; i++) {
        coir_e_payload(e, t, p->index, i, &slot);
        coir_e_bind(e, p->items[i], at + slot, true);
    }
}

static void bind_some(struct coir_e *e, const struct coir_x_pattern *p, uint32_t reg, bool take)
{
    const struct coir_e_type *const t = type_of(e, p), *const inner = coir_e_arg(e, t, 0);

    if (!take) {
        if (has_names(p->items[0]))
            coir_e_bind(e, p->items[0], lend_inside(e, p, reg), false);
        return;
    }
    if (!coir_e_is_bare(e, t)) {
        reg++;
        for (uint32_t i = 0; i < inner->slots; i++)
            if (coir_e_slot(e, inner, i).is_ref && !coir_e_slot(e, inner, i).nullable)
                coir_e_op(e, COIR_OP_NONNULL, reg + i, 0, 0, 0);
    }
    coir_e_bind(e, p->items[0], reg, true);
}

/* Names get registers that are the same for all alternatives. */
static void declare(struct coir_e *e, const struct coir_x_pattern *p, bool lent)
{
    if (p->kind == COIR_PATTERN_NAME) {
        const struct coir_e_type *const t = coir_e_type(e, e->fn->locals[p->local].type);

        coir_e_local(e, p->local, coir_e_alloc(e, t->slots), lent);
    }
    for (uint32_t i = 0; i < p->n && (p->kind != COIR_PATTERN_EITHER || i == 0); i++)
        declare(e, p->items[i], lent);
}

/* What the names of one alternative stand for goes to where they were declared; `declared` are the locals of then. */
static void settle(struct coir_e *e, const struct coir_x_pattern *p, const struct coir_e_local *declared, bool take)
{
    if (p->kind == COIR_PATTERN_NAME) {
        struct coir_e_local *const l = &e->locals[p->local];
        const struct coir_e_local home = declared[p->local];

        if (take)
            coir_e_move_value(e, l->type, home.reg, l->reg);
        else
            coir_e_lend_value(e, l->type, home.reg, l->reg);
        *l = home;
    }
    for (uint32_t i = 0; i < p->n && (p->kind != COIR_PATTERN_EITHER || i == 0); i++)
        settle(e, p->items[i], declared, take);
}

static void hold_names(struct coir_e *e, const struct coir_x_pattern *p)
{
    if (p->kind == COIR_PATTERN_NAME && !e->locals[p->local].type->flat)
        coir_e_hold(e, e->locals[p->local].type, e->locals[p->local].reg);
    for (uint32_t i = 0; i < p->n && (p->kind != COIR_PATTERN_EITHER || i == 0); i++)
        hold_names(e, p->items[i]);
}

static void bind_either(struct coir_e *e, const struct coir_x_pattern *p, uint32_t reg, bool take)
{
    const uint32_t n = e->fn->nlocals, held = e->nheld;
    struct coir_e_label end = { 0 };
    struct coir_e_local *declared;
    uint32_t top;

    if (!has_names(p)) {
        if (take)
            coir_e_drop_value(e, type_of(e, p), reg);
        return;
    }
    declare(e, p, !take);
    declared = coir_e_take(e, n * sizeof *declared);
    for (uint32_t i = 0; i < n; i++)
        declared[i] = e->locals[i];
    top = e->top;
    for (uint32_t i = 0; i < p->n; i++) {
        struct coir_e_label next = { 0 };

        if (i + 1 < p->n)
            coir_e_test(e, p->items[i], reg, &next);
        coir_e_bind(e, p->items[i], reg, take);
        settle(e, p->items[i], declared, take);
        coir_e_let_go(e, e->nheld - held);
        coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, &end);
        coir_e_place(e, &next);
        e->top = top;
    }
    coir_e_place(e, &end);
    if (take)
        hold_names(e, p);
}

void coir_e_bind(struct coir_e *e, const struct coir_x_pattern *p, uint32_t reg, bool take)
{
    uint32_t slot;

    switch (p->kind) {
    case COIR_PATTERN_NAME:
        coir_e_local(e, p->local, reg, !take);
        if (take && !type_of(e, p)->flat)
            coir_e_hold(e, type_of(e, p), reg);
        break;
    case COIR_PATTERN_ANY:
    case COIR_PATTERN_VALUE:
        if (take)
            coir_e_drop_value(e, type_of(e, p), reg);
        break;
    case COIR_PATTERN_NIL:
        if (take && !coir_e_is_bare(e, type_of(e, p)))
            coir_e_drop_value(e, type_of(e, p), reg);
        break;
    case COIR_PATTERN_SOME:
        bind_some(e, p, reg, take);
        break;
    case COIR_PATTERN_VARIANT:
        bind_variant(e, p, reg, take);
        break;
    case COIR_PATTERN_TUPLE:
        for (uint32_t i = 0; i < p->n; i++) {
            coir_e_element(e, type_of(e, p), i, &slot);
            coir_e_bind(e, p->items[i], reg + slot, take);
        }
        break;
    case COIR_PATTERN_EITHER:
        bind_either(e, p, reg, take);
        break;
    }
}

/* ---- match ---- */

/* One arm; `taken` is what is matched, held as the last, if the arms take it. */
static void arm(struct coir_e *e, const struct coir_x_match_arm *a, struct coir_e_value v, bool takes, uint32_t to,
                struct coir_e_label *next, struct coir_e_label *end)
{
    const uint32_t top = e->top, held = e->nheld;

    coir_e_test(e, a->pattern, v.reg, next);
    if (a->guard) {
        coir_e_bind(e, a->pattern, v.reg, false);
        coir_e_condition(e, a->guard, false, next);
    }
    if (takes && v.owned)
        coir_e_let_go(e, 1);
    if (takes || !a->guard)
        coir_e_bind(e, a->pattern, v.reg, takes);
    coir_e_into(e, a->body, to);
    coir_e_drop_to(e, takes && v.owned ? held - 1 : held);
    coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, end);
    if (takes && v.owned)
        coir_e_hold(e, v.type, v.reg);
    e->top = top;
}

static struct coir_e_value matched(struct coir_e *e, const struct coir_x *x)
{
    const struct coir_x *const value = x->match.value;
    struct coir_e_value v = { .type = coir_e_type_of(e, value) };
    bool safe = true;

    for (uint32_t i = 0; i < x->match.n; i++)
        safe = safe && !coir_e_changes(x->match.arms[i].guard, value)
            && !coir_e_changes(x->match.arms[i].body, value);
    if (!x->match.takes)
        return coir_e_operand(e, value, safe);
    v.reg = coir_e_fresh(e, value);
    v.owned = !v.type->flat;
    if (v.owned)
        coir_e_hold(e, v.type, v.reg);
    return v;
}

/* That an arm fits was proved; the machine does not know, and traps if none does. */
static void none_fits(struct coir_e *e)
{
    static const char text[] = "no arm of the match fits";
    const uint32_t message = coir_e_alloc(e, 1);

    coir_e_wide(e, COIR_OP_CONSTT, message, coir_build_text(e->build, text, sizeof text - 1));
    coir_e_op(e, COIR_OP_TRAPM, message, 0, 0, COIR_TRAP_EXPLICIT);
}

void coir_e_match(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const uint32_t top = e->top;
    const struct coir_e_value v = matched(e, x);
    struct coir_e_label end = { 0 };

    for (uint32_t i = 0; i < x->match.n; i++) {
        struct coir_e_label next = { 0 };

        arm(e, &x->match.arms[i], v, x->match.takes, to, &next, &end);
        coir_e_place(e, &next);
    }
    none_fits(e);
    if (x->match.takes && v.owned)
        coir_e_let_go(e, 1);
    coir_e_place(e, &end);
    if (x->match.takes)
        e->top = top;
    else
        coir_e_done(e, v, top);
}
