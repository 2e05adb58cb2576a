/* SPDX-License-Identifier: MIT */
/*
 * Operators: arithmetic from the left, comparisons, and conditions, which are branches first, and values only where
 * somebody keeps one.
 */
#include "lang/emit_inside.h"
#include "runtime/base/assert.h"
#include "vm/trap.h"

static bool is_small(const struct coir_x *x, int64_t *value)
{
    if (x->kind != COIR_X_INT && x->kind != COIR_X_DURATION && x->kind != COIR_X_BOOL)
        return false;
    *value = x->integer;
    return x->integer >= INT16_MIN && x->integer <= INT16_MAX;
}

/* ---- arithmetic ---- */

static enum coir_op word_op(enum coir_x_op op)
{
    switch (op) {
    case COIR_XOP_ADD: return COIR_OP_ADD;
    case COIR_XOP_SUB: return COIR_OP_SUB;
    case COIR_XOP_MUL: return COIR_OP_MUL;
    case COIR_XOP_DIV: return COIR_OP_DIV;
    case COIR_XOP_REM: return COIR_OP_MOD;
    case COIR_XOP_BIT_OR: return COIR_OP_OR;
    case COIR_XOP_BIT_XOR: return COIR_OP_XOR;
    case COIR_XOP_BIT_AND: return COIR_OP_AND;
    case COIR_XOP_SHIFT_LEFT: return COIR_OP_SHL;
    default: return COIR_OP_SHR;
    }
}

static enum coir_op float_op(enum coir_x_op op)
{
    switch (op) {
    case COIR_XOP_ADD: return COIR_OP_FADD;
    case COIR_XOP_SUB: return COIR_OP_FSUB;
    case COIR_XOP_MUL: return COIR_OP_FMUL;
    case COIR_XOP_DIV: return COIR_OP_FDIV;
    default: return COIR_OP_FMOD;
    }
}

/* to = a op C: false if there is no such instruction. */
static bool small_step(struct coir_e *e, enum coir_x_op op, uint32_t to, uint32_t a, int64_t c)
{
    enum coir_op small;

    switch (op) {
    case COIR_XOP_ADD: small = COIR_OP_ADDI; break;
    case COIR_XOP_SUB: small = COIR_OP_ADDI; c = -c; break;
    case COIR_XOP_MUL: small = COIR_OP_MULI; break;
    case COIR_XOP_DIV: small = COIR_OP_DIVI; break;
    case COIR_XOP_REM: small = COIR_OP_MODI; break;
    case COIR_XOP_BIT_AND: small = COIR_OP_ANDI; break;
    case COIR_XOP_SHIFT_LEFT: small = COIR_OP_SHLI; break;
    case COIR_XOP_SHIFT_RIGHT: small = COIR_OP_SHRI; break;
    default: return false;
    }
    if (c > INT16_MAX || ((small == COIR_OP_DIVI || small == COIR_OP_MODI) && (c == 0 || c == -1))
        || ((small == COIR_OP_SHLI || small == COIR_OP_SHRI) && (c < 0 || c > 63)))
        return false;
    coir_e_op(e, small, to, a, (uint16_t)c, 0);
    return true;
}

static void join_lists(struct coir_e *e, const struct coir_e_type *t, uint32_t to, uint32_t a, uint32_t b)
{
    const struct coir_e_type *const params[] = { t, t };
    static const enum coir_ty_mode modes[] = { COIR_LEND, COIR_LEND };
    const uint32_t top = e->top, window = coir_e_alloc(e, 2);

    coir_e_lend_value(e, t, window, a);
    coir_e_lend_value(e, t, window + 1, b);
    coir_e_native(e, "List.joined", 2, params, modes, t, window);
    coir_e_move_value(e, t, to, window);
    e->top = top;
}

void coir_e_step(struct coir_e *e, enum coir_x_op op, const struct coir_e_type *t, const struct coir_e_type *of,
                 uint32_t to, uint32_t a, uint32_t b)
{
    switch (coir_e_kind(e, of)) {
    case COIR_TY_FLOAT: coir_e_op(e, float_op(op), to, a, b, 0); break;
    case COIR_TY_TEXT: coir_e_op(e, COIR_OP_TCAT, to, a, b, 0); break;
    case COIR_TY_LIST: join_lists(e, t, to, a, b); break;
    default: coir_e_op(e, word_op(op), to, a, b, 0);
    }
}

/* One step: to = acc op operand. */
static void arith_step(struct coir_e *e, const struct coir_x_arith_step *s, const struct coir_e_type *of, uint32_t to,
                       uint32_t acc)
{
    const struct coir_e_type *const t = coir_e_type(e, s->type);
    const bool word = coir_e_kind(e, of) == COIR_TY_INT || coir_e_kind(e, of) == COIR_TY_DURATION;
    const uint32_t top = e->top;
    struct coir_e_value b;
    int64_t small;

    if (word && is_small(s->operand, &small)) {
        coir_e_line(e, s->at);
        if (small_step(e, s->op, to, acc, small))
            return;
    }
    b = coir_e_operand(e, s->operand, true);
    coir_e_line(e, s->at);
    coir_e_step(e, s->op, t, of, to, acc, b.reg);
    coir_e_done(e, b, top);
}

static bool later_changes(const struct coir_x *x, uint32_t from)
{
    for (uint32_t i = from; i < x->arith.n; i++)
        if (coir_e_changes(x->arith.steps[i].operand, x->arith.first))
            return true;
    return false;
}

/* What owns is made in `to` and grows there. */
static void join_texts(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct coir_e_type *const t = coir_e_type_of(e, x);
    const uint32_t top = e->top;
    struct coir_e_value a = coir_e_operand(e, x->arith.first, !later_changes(x, 0)), b;

    arith_step(e, &x->arith.steps[0], t, to, a.reg);
    coir_e_done(e, a, top);
    coir_e_hold(e, t, to);
    for (uint32_t i = 1; i < x->arith.n; i++) {
        b = coir_e_operand(e, x->arith.steps[i].operand, true);
        coir_e_line(e, x->arith.steps[i].at);
        coir_e_op(e, COIR_OP_APPEND, to, b.reg, 0, 0);
        coir_e_done(e, b, top);
    }
    coir_e_let_go(e, 1);
}

static void chain_lists(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct coir_e_type *const t = coir_e_type_of(e, x);
    const uint32_t top = e->top;
    struct coir_e_value a = coir_e_operand(e, x->arith.first, !later_changes(x, 0));
    uint32_t next;

    for (uint32_t i = 0; i + 1 < x->arith.n; i++) {
        next = coir_e_alloc(e, 1);
        arith_step(e, &x->arith.steps[i], t, next, a.reg);
        if (a.owned)
            coir_e_drop_to(e, e->nheld - 1);
        a = (struct coir_e_value){ t, next, true };
        coir_e_hold(e, t, next);
    }
    arith_step(e, &x->arith.steps[x->arith.n - 1], t, to, a.reg);
    coir_e_done(e, a, top);
}

/* Words: all but the last step in a register of its own, so that `to` may be an operand. */
static void chain_words(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const uint32_t top = e->top, last = x->arith.n - 1;
    const struct coir_e_type *of = coir_e_type_of(e, x->arith.first);
    uint32_t acc, own = UINT32_MAX;
    int64_t small;

    if (last == 0 && x->arith.steps[0].op == COIR_XOP_SUB && is_small(x->arith.first, &small)) {
        const struct coir_e_value b = coir_e_operand(e, x->arith.steps[0].operand, true);

        coir_e_line(e, x->arith.steps[0].at);
        coir_e_op(e, COIR_OP_RSUBI, to, b.reg, (uint16_t)small, 0);
        coir_e_done(e, b, top);
        return;
    }
    acc = coir_e_operand(e, x->arith.first, !later_changes(x, 0)).reg;
    for (uint32_t i = 0; i <= last; i++) {
        if (i < last && own == UINT32_MAX)
            own = coir_e_alloc(e, 1);
        arith_step(e, &x->arith.steps[i], of, i < last ? own : to, acc);
        acc = own;
        of = coir_e_type(e, x->arith.steps[i].type);
    }
    e->top = top;
}

void coir_e_arith(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct coir_e_type *const t = coir_e_type_of(e, x);
    const uint32_t top = e->top;
    struct coir_e_value v;

    if (x->kind == COIR_X_NEG) {
        v = coir_e_operand(e, x->of, true);
        coir_e_op(e, coir_e_kind(e, t) == COIR_TY_FLOAT ? COIR_OP_FNEG : COIR_OP_NEG, to, v.reg, 0, 0);
        coir_e_done(e, v, top);
    } else if (coir_e_kind(e, t) == COIR_TY_TEXT) {
        join_texts(e, x, to);
    } else if (coir_e_kind(e, t) == COIR_TY_LIST) {
        chain_lists(e, x, to);
    } else {
        chain_words(e, x, to);
    }
}

/* ---- comparing ---- */

static bool is_word(struct coir_e *e, const struct coir_e_type *t)
{
    return t->slots == 1 && t->flat && coir_e_kind(e, t) != COIR_TY_FLOAT;
}

static bool swaps(enum coir_x_op op)
{
    return op == COIR_XOP_GT || op == COIR_XOP_GE;
}

struct pair {
    struct coir_e_value a, b;
    uint32_t top;
};

static struct pair both(struct coir_e *e, const struct coir_x *x)
{
    struct pair p = { .top = e->top };

    p.a = coir_e_operand(e, x->pair.a, !coir_e_changes(x->pair.b, x->pair.a));
    p.b = coir_e_operand(e, x->pair.b, true);
    coir_e_line(e, x->at);
    return p;
}

static void done(struct coir_e *e, struct pair p)
{
    coir_e_done(e, p.b, e->top);
    coir_e_done(e, p.a, p.top);
}

static void compare_words(struct coir_e *e, enum coir_x_op op, bool floats, uint32_t to, uint32_t a, uint32_t b)
{
    const uint32_t left = swaps(op) ? b : a, right = swaps(op) ? a : b;

    switch (op) {
    case COIR_XOP_EQ: coir_e_op(e, floats ? COIR_OP_FEQ : COIR_OP_EQ, to, left, right, 0); break;
    case COIR_XOP_NE: coir_e_op(e, floats ? COIR_OP_FNE : COIR_OP_NE, to, left, right, 0); break;
    case COIR_XOP_LT:
    case COIR_XOP_GT: coir_e_op(e, floats ? COIR_OP_FLT : COIR_OP_LT, to, left, right, 0); break;
    default: coir_e_op(e, floats ? COIR_OP_FLE : COIR_OP_LE, to, left, right, 0);
    }
}

static void compare_cells(struct coir_e *e, const struct coir_x *x, uint32_t to, struct pair p)
{
    const bool equal = x->op == COIR_XOP_EQ || x->op == COIR_XOP_NE, text = coir_e_kind(e, p.a.type) == COIR_TY_TEXT;
    const uint32_t order = coir_e_alloc(e, 2);

    if (p.a.type->slots == 0)
        coir_e_load(e, order, equal);
    else if (text)
        coir_e_op(e, equal ? COIR_OP_TEQ : COIR_OP_TCMP, order, p.a.reg, p.b.reg, 0);
    else
        coir_e_op(e, equal ? COIR_OP_EQV : COIR_OP_CMPV, order, p.a.reg, p.b.reg, 0);
    if (!text && p.a.type->slots)
        coir_e_ext(e, p.a.type->index, 0, 0, 0);
    if (x->op == COIR_XOP_EQ) {
        coir_e_op(e, COIR_OP_MOVW, to, order, 0, 0);
    } else if (x->op == COIR_XOP_NE) {
        coir_e_op(e, COIR_OP_NOT, to, order, 0, 0);
    } else {
        coir_e_load(e, order + 1, 0);
        compare_words(e, x->op, false, to, order, order + 1);
    }
}

void coir_e_compare(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct pair p = both(e, x);

    if (is_word(e, p.a.type) || coir_e_kind(e, p.a.type) == COIR_TY_FLOAT)
        compare_words(e, x->op, coir_e_kind(e, p.a.type) == COIR_TY_FLOAT, to, p.a.reg, p.b.reg);
    else
        compare_cells(e, x, to, p);
    done(e, p);
}

/* ---- conditions ---- */

static enum coir_x_op opposite(enum coir_x_op op)
{
    switch (op) {
    case COIR_XOP_EQ: return COIR_XOP_NE;
    case COIR_XOP_NE: return COIR_XOP_EQ;
    case COIR_XOP_LT: return COIR_XOP_GE;
    case COIR_XOP_LE: return COIR_XOP_GT;
    case COIR_XOP_GT: return COIR_XOP_LE;
    default: return COIR_XOP_LT;
    }
}

static enum coir_x_op mirrored(enum coir_x_op op)
{
    switch (op) {
    case COIR_XOP_LT: return COIR_XOP_GT;
    case COIR_XOP_LE: return COIR_XOP_GE;
    case COIR_XOP_GT: return COIR_XOP_LT;
    case COIR_XOP_GE: return COIR_XOP_LE;
    default: return op;
    }
}

static void jump_small(struct coir_e *e, enum coir_x_op op, uint32_t a, int64_t c, struct coir_e_label *to)
{
    static const enum coir_op ops[] = {
        [COIR_XOP_EQ] = COIR_OP_JEQI, [COIR_XOP_NE] = COIR_OP_JNEI, [COIR_XOP_LT] = COIR_OP_JLTI,
        [COIR_XOP_LE] = COIR_OP_JLEI, [COIR_XOP_GT] = COIR_OP_JGTI, [COIR_XOP_GE] = COIR_OP_JGEI,
    };

    coir_e_jump(e, ops[op], a, (uint16_t)c, 0, to);
}

static void jump_words(struct coir_e *e, const struct coir_x *x, bool when, struct coir_e_label *to)
{
    static const enum coir_op ops[] = {
        [COIR_XOP_EQ] = COIR_OP_JEQ, [COIR_XOP_NE] = COIR_OP_JNE, [COIR_XOP_LT] = COIR_OP_JLT,
        [COIR_XOP_LE] = COIR_OP_JLE, [COIR_XOP_GT] = COIR_OP_JLT, [COIR_XOP_GE] = COIR_OP_JLE,
    };
    const enum coir_x_op op = when ? x->op : opposite(x->op);
    const uint32_t top = e->top;
    struct coir_e_value v;
    struct pair p;
    int64_t small;

    if (is_small(x->pair.b, &small)) {
        v = coir_e_operand(e, x->pair.a, true);
        jump_small(e, op, v.reg, small, to);
        e->top = top;
    } else if (is_small(x->pair.a, &small)) {
        v = coir_e_operand(e, x->pair.b, true);
        jump_small(e, mirrored(op), v.reg, small, to);
        e->top = top;
    } else {
        p = both(e, x);
        coir_e_jump(e, ops[op], swaps(op) ? p.b.reg : p.a.reg, swaps(op) ? p.a.reg : p.b.reg, 0, to);
        done(e, p);
    }
}

static void jump_floats(struct coir_e *e, const struct coir_x *x, bool when, struct coir_e_label *to)
{
    const struct pair p = both(e, x);
    const uint32_t a = swaps(x->op) ? p.b.reg : p.a.reg, b = swaps(x->op) ? p.a.reg : p.b.reg;

    switch (x->op) {
    case COIR_XOP_EQ: coir_e_jump(e, when ? COIR_OP_JFEQ : COIR_OP_JFNE, a, b, 0, to); break;
    case COIR_XOP_NE: coir_e_jump(e, when ? COIR_OP_JFNE : COIR_OP_JFEQ, a, b, 0, to); break;
    case COIR_XOP_LT:
    case COIR_XOP_GT: coir_e_jump(e, when ? COIR_OP_JFLT : COIR_OP_JFNLT, a, b, 0, to); break;
    default: coir_e_jump(e, when ? COIR_OP_JFLE : COIR_OP_JFNLE, a, b, 0, to);
    }
    done(e, p);
}

/* All items must be `all`; else it is the other. */
static void jump_items(struct coir_e *e, const struct coir_x *x, bool all, bool when, struct coir_e_label *to)
{
    struct coir_e_label out = { 0 };

    for (uint32_t i = 0; i < x->items.n; i++) {
        const bool last = i + 1 == x->items.n;

        if (when != all)
            coir_e_condition(e, x->items.list[i], !all, to);
        else if (last)
            coir_e_condition(e, x->items.list[i], all, to);
        else
            coir_e_condition(e, x->items.list[i], !all, &out);
    }
    coir_e_place(e, &out);
}

/* The optional is only looked at; what is owned of it is dropped on both ways. */
static void jump_is_nil(struct coir_e *e, const struct coir_x *x, bool when, struct coir_e_label *to)
{
    const bool nil = (x->index == 0) == when;
    const uint32_t top = e->top, held = e->nheld;
    const struct coir_e_value v = coir_e_operand(e, x->of, true);
    struct coir_e_label other = { 0 };

    if (!v.owned) {
        coir_e_jump_nil(e, v.type, v.reg, nil, to);
    } else {
        coir_e_jump_nil(e, v.type, v.reg, !nil, &other);
        coir_e_leave(e, held);
        coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, to);
        coir_e_place(e, &other);
    }
    coir_e_done(e, v, top);
}

void coir_e_condition(struct coir_e *e, const struct coir_x *x, bool when, struct coir_e_label *to)
{
    const uint32_t top = e->top;
    const struct coir_e_type *t;
    struct coir_e_value v;

    coir_e_line(e, x->at);
    switch (x->kind) {
    case COIR_X_BOOL:
        if ((x->integer != 0) == when)
            coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, to);
        return;
    case COIR_X_NOT:
        coir_e_condition(e, x->of, !when, to);
        return;
    case COIR_X_AND:
    case COIR_X_OR:
        jump_items(e, x, x->kind == COIR_X_AND, when, to);
        return;
    case COIR_X_IS_NIL:
        jump_is_nil(e, x, when, to);
        return;
    case COIR_X_COMPARE:
        t = coir_e_type_of(e, x->pair.a);
        if (is_word(e, t)) {
            jump_words(e, x, when, to);
            return;
        }
        if (coir_e_kind(e, t) == COIR_TY_FLOAT) {
            jump_floats(e, x, when, to);
            return;
        }
        break;
    default:
        break;
    }
    v = coir_e_operand(e, x, true);
    coir_e_jump(e, when ? COIR_OP_JT : COIR_OP_JF, v.reg, 0, 0, to);
    e->top = top;
}

void coir_e_bool(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    struct coir_e_label no = { 0 }, end = { 0 };
    const uint32_t top = e->top;
    struct coir_e_value v;

    if (x->kind == COIR_X_NOT) {
        v = coir_e_operand(e, x->of, true);
        coir_e_op(e, COIR_OP_NOT, to, v.reg, 0, 0);
        e->top = top;
        return;
    }
    coir_e_condition(e, x, false, &no);
    coir_e_load(e, to, 1);
    coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, &end);
    coir_e_place(e, &no);
    coir_e_load(e, to, 0);
    coir_e_place(e, &end);
}

/* a ?? b: an optional that is nil is dropped where it stands, as its slots may own for all that is known of them. */
void coir_e_else(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct coir_e_type *const t = coir_e_type_of(e, x);
    struct coir_e_label end = { 0 };
    const uint32_t top = e->top;

    for (uint32_t i = 0; i + 1 < x->items.n; i++) {
        const struct coir_x *const item = x->items.list[i];
        const struct coir_e_type *const o = coir_e_type_of(e, item);
        struct coir_e_label next = { 0 };
        const uint32_t at = coir_e_fresh(e, item);

        if (coir_e_kind(e, o) == COIR_TY_OPTION) {          /* else it never ends */
            coir_e_jump_nil(e, o, at, true, &next);
            if (o == t)
                coir_e_move_value(e, t, to, at);
            else
                coir_e_inside(e, o, at, to, true);
            coir_e_jump(e, COIR_OP_JMP, 0, 0, 0, &end);
            coir_e_place(e, &next);
            if (!coir_e_is_bare(e, o))
                coir_e_drop_value(e, o, at);
        }
        e->top = top;
    }
    coir_e_into(e, x->items.list[x->items.n - 1], to);
    coir_e_place(e, &end);
}

/* ---- texts that are put together ---- */

static void append_constant(struct coir_e *e, uint32_t text, const char *bytes, uint32_t size)
{
    const uint32_t top = e->top, part = coir_e_alloc(e, 1);

    coir_e_wide(e, COIR_OP_CONSTT, part, coir_build_text(e->build, bytes, size));
    coir_e_op(e, COIR_OP_APPEND, text, part, 0, 0);
    e->top = top;
}

static void append_item(struct coir_e *e, uint32_t text, const struct coir_x *item)
{
    const uint32_t top = e->top;
    struct coir_e_value v;

    if (item->kind == COIR_X_TEXT) {
        append_constant(e, text, item->text.bytes, item->text.size);
        return;
    }
    if (item->kind == COIR_X_INTERPOLATION) {
        coir_e_format(e, item, text);
        return;
    }
    v = coir_e_operand(e, item, true);
    coir_e_line(e, item->at);
    if (coir_e_kind(e, v.type) == COIR_TY_TEXT)
        coir_e_op(e, COIR_OP_APPEND, text, v.reg, 0, 0);
    else
        coir_e_op(e, COIR_OP_FORMAT, text, v.reg, v.type->index, 0);
    coir_e_done(e, v, top);
}

void coir_e_format(struct coir_e *e, const struct coir_x *x, uint32_t text)
{
    const bool print = x->kind == COIR_X_PRINT;

    for (uint32_t i = 0; i < x->items.n; i++) {
        if (print && i)
            append_constant(e, text, " ", 1);
        append_item(e, text, x->items.list[i]);
    }
    if (print)
        append_constant(e, text, "\n", 1);
}

/* ---- traps that the program raises ---- */

void coir_e_raise(struct coir_e *e, const struct coir_x *x)
{
    const uint32_t top = e->top;
    const struct coir_e_value v = coir_e_operand(e, x->of, true);

    coir_e_line(e, x->at);
    if (coir_e_kind(e, v.type) == COIR_TY_TEXT)
        coir_e_op(e, COIR_OP_TRAPM, v.reg, 0, 0, COIR_TRAP_EXPLICIT);
    else
        coir_e_op(e, COIR_OP_TRAP, v.reg, 0, 0, 0);
    coir_e_done(e, v, top);
}

void coir_e_assert(struct coir_e *e, const struct coir_x *x)
{
    const char *const text = e->fn->source->text;
    struct coir_e_label fine = { 0 };
    const uint32_t top = e->top, message = coir_e_alloc(e, 1);

    coir_e_condition(e, x->of, true, &fine);
    coir_e_line(e, x->at);
    coir_e_wide(e, COIR_OP_CONSTT, message, coir_build_text(e->build, text + x->of->at, x->of->end - x->of->at));
    coir_e_op(e, COIR_OP_TRAPM, message, 0, 0, COIR_TRAP_ASSERT);
    coir_e_place(e, &fine);
    e->top = top;
}
