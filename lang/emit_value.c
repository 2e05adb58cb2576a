/* SPDX-License-Identifier: MIT */
/*
 * Values: constants, names, making and reading. Two ways to have the value of an expression: made in registers that
 * wait for it (coir_e_into), or found where it is (coir_e_operand), which for names costs nothing.
 */
#include "lang/emit_inside.h"
#include "runtime/base/assert.h"

#define NOBODY UINT32_MAX

/* ---- what is lent from whom ---- */

coir_x_local_id coir_e_root(const struct coir_x *x)
{
    for (;;) {
        switch (x->kind) {
        case COIR_X_LOCAL: return x->local;
        case COIR_X_FIELD:
        case COIR_X_SOME: x = x->of; break;
        case COIR_X_INDEX: x = x->pair.a; break;
        default: return NOBODY;
        }
    }
}

bool coir_e_lendable(struct coir_e *e, const struct coir_x *x)
{
    for (;;) {
        switch (x->kind) {
        case COIR_X_LOCAL:
        case COIR_X_GLOBAL:
        case COIR_X_TEXT: return true;
        case COIR_X_FIELD:
        case COIR_X_SOME: x = x->of; break;
        case COIR_X_INDEX: x = x->pair.a; break;
        default: return coir_e_type_of(e, x)->flat;
        }
    }
}

bool coir_e_changes(const struct coir_x *x, const struct coir_x *of)
{
    const coir_x_local_id root = coir_e_root(of);

    return x && root != NOBODY && coir_e_changes_local(x, root);
}

/* ---- locals ---- */

struct coir_e_local *coir_e_local(struct coir_e *e, coir_x_local_id id, uint32_t reg, bool lent)
{
    struct coir_e_local *const l = &e->locals[id];

    *l = (struct coir_e_local){
        .type = coir_e_type(e, e->fn->locals[id].type), .reg = reg, .watchers = e->watchers, .lent = lent,
        .known = true };
    return l;
}

/* ---- making ---- */

uint32_t coir_e_fresh(struct coir_e *e, const struct coir_x *x)
{
    const uint32_t at = coir_e_alloc(e, coir_e_type_of(e, x)->slots);

    coir_e_into(e, x, at);
    return at;
}

static void make_text(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    coir_e_wide(e, COIR_OP_CONSTT, to, coir_build_text(e->build, x->text.bytes, x->text.size));
}

/* A lent register in which something owned is wanted: by way of another. */
static void own(struct coir_e *e, const struct coir_e_type *t, uint32_t to, uint32_t lent)
{
    coir_e_copy_value(e, t, to, lent);
}

static void text_into(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const uint32_t top = e->top, lent = coir_e_alloc(e, 1);

    make_text(e, x, lent);
    own(e, coir_e_type_of(e, x), to, lent);
    e->top = top;
}

void coir_e_nil(struct coir_e *e, const struct coir_e_type *optional, uint32_t to)
{
    for (uint32_t i = 0; i < optional->slots; i++) {
        if (coir_e_slot(e, optional, i).is_ref)
            coir_e_op(e, COIR_OP_NULL, to + i, 0, 0, 0);
        else
            coir_e_load(e, to + i, 0);
    }
}

void coir_e_inside(struct coir_e *e, const struct coir_e_type *optional, uint32_t from, uint32_t to, bool move)
{
    const struct coir_e_type *const t = coir_e_arg(e, optional, 0);

    if (!coir_e_is_bare(e, optional))
        from++;
    if (move)
        coir_e_move_value(e, t, to, from);
    else
        coir_e_lend_value(e, t, to, from);
    for (uint32_t i = 0; i < t->slots && !coir_e_is_bare(e, optional); i++) {
        const struct coir_build_slot s = coir_e_slot(e, t, i);

        if (s.is_ref && !s.nullable)
            coir_e_op(e, COIR_OP_NONNULL, to + i, 0, 0, 0);
    }
}

void coir_e_jump_nil(struct coir_e *e, const struct coir_e_type *optional, uint32_t at, bool nil,
                     struct coir_e_label *to)
{
    if (coir_e_is_bare(e, optional))
        coir_e_jump(e, nil ? COIR_OP_JNULL : COIR_OP_JNNULL, at, 0, 0, to);
    else
        coir_e_jump(e, nil ? COIR_OP_JF : COIR_OP_JT, at, 0, 0, to);
}

/* ---- reading ---- */

void coir_e_read_field(struct coir_e *e, const struct coir_e_type *record, uint32_t at, uint32_t field, uint32_t to,
                       bool copy)
{
    uint32_t slot;
    const struct coir_e_type *const t = coir_e_field(e, record, field, &slot);

    for (uint32_t i = 0; i < t->slots; i++) {
        const bool ref = coir_e_slot(e, t, i).is_ref;

        coir_e_op(e, !ref ? COIR_OP_GETW : copy ? COIR_OP_GETR : COIR_OP_LENDF, to + i, at, slot + i, 0);
    }
}

/* xs[i].field of one slot: in one instruction. */
static bool read_element_field(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct coir_e_type *record, *t;
    struct coir_e_value list, index;
    const uint32_t top = e->top;
    uint32_t slot;

    if (x->of->kind != COIR_X_INDEX || coir_e_kind(e, coir_e_type_of(e, x->of->pair.a)) != COIR_TY_LIST)
        return false;
    record = coir_e_type_of(e, x->of);
    t = coir_e_field(e, record, x->index, &slot);
    if (t->slots != 1 || slot > UINT8_MAX)
        return false;
    list = coir_e_operand(e, x->of->pair.a, !coir_e_changes(x->of->pair.b, x->of->pair.a));
    index = coir_e_operand(e, x->of->pair.b, true);
    coir_e_line(e, x->of->at);
    coir_e_op(e, t->flat ? COIR_OP_LFLDW : COIR_OP_LFLDR, to, list.reg, index.reg, slot);
    coir_e_done(e, index, e->top);
    coir_e_done(e, list, top);
    return true;
}

static void field_into(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const uint32_t top = e->top;
    struct coir_e_value of;

    if (read_element_field(e, x, to))
        return;
    of = coir_e_operand(e, x->of, true);
    coir_e_line(e, x->at);
    coir_e_read_field(e, of.type, of.reg, x->index, to, true);
    coir_e_done(e, of, top);
}

static enum coir_op list_read(const struct coir_e_type *t)
{
    return t->slots != 1 ? COIR_OP_LGET : t->flat ? COIR_OP_LGETW : COIR_OP_LGETR;
}

static void index_into(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const uint32_t top = e->top;
    const struct coir_e_value of = coir_e_operand(e, x->pair.a, !coir_e_changes(x->pair.b, x->pair.a));
    const struct coir_e_value at = coir_e_operand(e, x->pair.b, true);
    const bool list = coir_e_kind(e, of.type) == COIR_TY_LIST;

    coir_e_line(e, x->at);
    coir_e_op(e, list ? list_read(coir_e_type_of(e, x)) : COIR_OP_MGET, to, of.reg, at.reg, 0);
    coir_e_done(e, at, e->top);
    coir_e_done(e, of, top);
}

/* A part of a text or list: by the library's function, which takes both ends. */
static void slice_into(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct coir_e_type *const t = coir_e_type_of(e, x), *const word = coir_e_type(e, COIR_TY_INT);
    const struct coir_e_type *const params[] = { t, word, word };
    static const enum coir_ty_mode modes[] = { COIR_LEND, COIR_LEND, COIR_LEND };
    const bool list = coir_e_kind(e, t) == COIR_TY_LIST;
    const uint32_t top = e->top;
    struct coir_e_value of;
    uint32_t window;

    of = coir_e_operand(e, x->slice.of, !coir_e_changes(x->slice.from, x->slice.of)
                                            && !coir_e_changes(x->slice.to, x->slice.of));
    window = coir_e_alloc(e, 3);
    if (x->slice.from)
        coir_e_into(e, x->slice.from, window + 1);
    else
        coir_e_load(e, window + 1, 0);
    if (!x->slice.to)
        coir_e_op(e, list ? COIR_OP_LLEN : COIR_OP_TLEN, window + 2, of.reg, 0, 0);
    else
        coir_e_into(e, x->slice.to, window + 2);
    coir_e_lend_value(e, t, window, of.reg);
    coir_e_line(e, x->at);
    coir_e_native(e, list ? x->slice.to && x->slice.inclusive ? "List.part_to" : "List.part"
                          : x->slice.to && x->slice.inclusive ? "Text.part_to" : "Text.part",
                  3, params, modes, t, window);
    coir_e_move_value(e, t, to, window);
    coir_e_done(e, of, top);
}

/* ---- lending ---- */

static void lend_global(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const uint32_t first = coir_e_global(e, x->global);

    for (uint32_t i = 0; i < coir_e_type_of(e, x)->slots; i++)
        coir_e_wide(e, COIR_OP_GLOBAL, to + i, first + i);
}

/* Where a lent value is, or at new registers. */
static uint32_t lent_at(struct coir_e *e, const struct coir_x *x)
{
    uint32_t at;

    if (x->kind == COIR_X_LOCAL)
        return e->locals[x->local].reg;
    at = coir_e_alloc(e, coir_e_type_of(e, x)->slots);
    coir_e_lend(e, x, at);
    return at;
}

static void lend_index(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const uint32_t of = lent_at(e, x->pair.a);
    const struct coir_e_value at = coir_e_operand(e, x->pair.b, true);
    const bool list = coir_e_kind(e, coir_e_type_of(e, x->pair.a)) == COIR_TY_LIST;

    coir_e_line(e, x->at);
    coir_e_op(e, list ? COIR_OP_LLEND : COIR_OP_MLEND, to, of, at.reg, 0);
    coir_e_done(e, at, e->top);
}

static void lend_some(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    if (coir_e_is_bare(e, coir_e_type_of(e, x))) {
        coir_e_lend(e, x->of, to);
        return;
    }
    coir_e_lend(e, x->of, to + 1);
    coir_e_load(e, to, 1);
}

void coir_e_lend(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const uint32_t top = e->top;

    switch (x->kind) {
    case COIR_X_LOCAL:
        coir_e_lend_value(e, coir_e_type_of(e, x), to, e->locals[x->local].reg);
        break;
    case COIR_X_TEXT:
        make_text(e, x, to);
        break;
    case COIR_X_GLOBAL:
        lend_global(e, x, to);
        break;
    case COIR_X_FIELD:
        coir_e_read_field(e, coir_e_type_of(e, x->of), lent_at(e, x->of), x->index, to, false);
        break;
    case COIR_X_INDEX:
        lend_index(e, x, to);
        break;
    case COIR_X_SOME:
        lend_some(e, x, to);
        break;
    default:
        COIR_ASSERT(coir_e_type_of(e, x)->flat);
        coir_e_into(e, x, to);
    }
    e->top = top;
}

/* What is read of another value is lent from that, which is held in its stead if it is owned. */
static struct coir_e_value part_operand(struct coir_e *e, const struct coir_x *x, bool safe)
{
    const struct coir_x *const inner = x->kind == COIR_X_FIELD ? x->of : x->pair.a;
    const bool field = x->kind == COIR_X_FIELD;
    const struct coir_e_value of = coir_e_operand(e, inner, safe && (field || !coir_e_changes(x->pair.b, inner)));
    struct coir_e_value v = { .type = coir_e_type_of(e, x), .owned = of.owned }, at;

    v.reg = coir_e_alloc(e, v.type->slots);
    if (field) {
        coir_e_line(e, x->at);
        coir_e_read_field(e, of.type, of.reg, x->index, v.reg, false);
        return v;
    }
    at = coir_e_operand(e, x->pair.b, true);
    coir_e_line(e, x->at);
    coir_e_op(e, coir_e_kind(e, of.type) == COIR_TY_LIST ? COIR_OP_LLEND : COIR_OP_MLEND, v.reg, of.reg, at.reg, 0);
    coir_e_done(e, at, v.reg + v.type->slots);
    return v;
}

bool coir_e_number(const struct coir_x *x, int64_t *word)
{
    const union { double d; int64_t i; } bits = { x->kind == COIR_X_FLOAT ? x->number : 0 };

    *word = x->kind == COIR_X_FLOAT ? bits.i : x->integer;
    return x->kind == COIR_X_FLOAT || x->kind == COIR_X_INT || x->kind == COIR_X_DURATION;
}

/* A number that the loop around has in a register. */
static bool kept_number(const struct coir_e *e, const struct coir_x *x, uint32_t *reg)
{
    int64_t word;

    if (!e->nconstants || !coir_e_number(x, &word))
        return false;
    for (uint32_t i = 0; i < e->nconstants; i++) {
        if (e->constants[i].word == word) {
            *reg = e->constants[i].reg;
            return true;
        }
    }
    return false;
}

struct coir_e_value coir_e_operand(struct coir_e *e, const struct coir_x *x, bool safe)
{
    struct coir_e_value v = { .type = coir_e_type_of(e, x) };

    if (kept_number(e, x, &v.reg))
        return v;

    if (x->kind == COIR_X_LOCAL && safe && e->locals[x->local].known)
        return (struct coir_e_value){ v.type, e->locals[x->local].reg, false };
    if (x->kind == COIR_X_CALL || x->kind == COIR_X_CALL_VALUE || x->kind == COIR_X_ASK) {
        e->x = x;
        return coir_e_call(e, x, UINT32_MAX);
    }
    if (!v.type->flat && (x->kind == COIR_X_FIELD || x->kind == COIR_X_INDEX))
        return part_operand(e, x, safe);
    if (!v.type->flat && safe && coir_e_lendable(e, x)) {
        v.reg = coir_e_alloc(e, v.type->slots);
        coir_e_lend(e, x, v.reg);
        return v;
    }
    v.reg = coir_e_fresh(e, x);
    v.owned = !v.type->flat;
    if (v.owned)
        coir_e_hold(e, v.type, v.reg);
    return v;
}

void coir_e_done(struct coir_e *e, struct coir_e_value v, uint32_t top)
{
    if (v.owned)
        coir_e_drop_to(e, e->nheld - 1);
    e->top = top;
}

/* ---- an expression ---- */

/* How long the text of items may become, roughly. */
static uint32_t room_for(struct coir_e *e, const struct coir_x *x)
{
    enum { MOST = 4096 };
    uint32_t room = 0;

    for (uint32_t i = 0; i < x->items.n && room < MOST; i++) {
        const struct coir_x *const item = x->items.list[i];

        if (item->kind == COIR_X_TEXT)
            room += item->text.size < MOST ? (uint32_t)item->text.size + 1 : MOST;
        else
            room += coir_e_kind(e, coir_e_type_of(e, item)) == COIR_TY_INT ? 8 : 24;
    }
    return room < MOST ? room : MOST;
}

static void format_into(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct coir_e_type *const t = coir_e_type(e, COIR_TY_TEXT);

    coir_e_line(e, x->at);
    coir_e_op(e, COIR_OP_TNEW, to, room_for(e, x), 0, 0);
    coir_e_hold(e, t, to);
    coir_e_format(e, x, to);
    coir_e_let_go(e, 1);
}

static void print(struct coir_e *e, const struct coir_x *x)
{
    const struct coir_e_type *const text = coir_e_type(e, COIR_TY_TEXT);
    const enum coir_ty_mode own = COIR_OWN;
    const uint32_t top = e->top, window = coir_e_alloc(e, 1);

    format_into(e, x, window);
    coir_e_line(e, x->at);
    coir_e_native(e, x->index ? "eprint" : "print", 1, &text, &own, coir_e_type(e, COIR_TY_UNIT), window);
    e->top = top;
}

static void make(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    switch (x->kind) {
    case COIR_X_INT:
    case COIR_X_BOOL:
    case COIR_X_DURATION: coir_e_load(e, to, x->integer); break;
    case COIR_X_FLOAT: {
        int64_t word;

        coir_e_number(x, &word);
        coir_e_load(e, to, word);
        break;
    }
    case COIR_X_TEXT: text_into(e, x, to); break;
    case COIR_X_NIL: coir_e_nil(e, coir_e_type_of(e, x), to); break;
    case COIR_X_LOCAL: coir_e_copy_value(e, coir_e_type_of(e, x), to, e->locals[x->local].reg); break;
    case COIR_X_MOVE: coir_e_move_value(e, coir_e_type_of(e, x), to, e->locals[x->local].reg); break;
    case COIR_X_GLOBAL: {
        const uint32_t top = e->top, lent = coir_e_alloc(e, coir_e_type_of(e, x)->slots);

        if (coir_e_type_of(e, x)->flat) {
            lend_global(e, x, to);
            e->top = top;
            break;
        }
        lend_global(e, x, lent);
        own(e, coir_e_type_of(e, x), to, lent);
        e->top = top;
        break;
    }
    case COIR_X_FN: coir_e_function_value(e, x, to); break;
    case COIR_X_CLOSURE: coir_e_closure(e, x, to); break;
    case COIR_X_RECORD: case COIR_X_VARIANT: case COIR_X_TUPLE: case COIR_X_LIST: case COIR_X_MAP: case COIR_X_SOME:
    case COIR_X_CHAN: coir_e_compose(e, x, to); break;
    case COIR_X_INTERPOLATION: format_into(e, x, to); break;
    case COIR_X_FIELD: field_into(e, x, to); break;
    case COIR_X_INDEX: index_into(e, x, to); break;
    case COIR_X_SLICE: slice_into(e, x, to); break;
    case COIR_X_ARITH:
    case COIR_X_NEG: coir_e_arith(e, x, to); break;
    case COIR_X_COMPARE: coir_e_compare(e, x, to); break;
    case COIR_X_IS_NIL:
    case COIR_X_NOT:
    case COIR_X_AND:
    case COIR_X_OR: coir_e_bool(e, x, to); break;
    case COIR_X_ELSE: coir_e_else(e, x, to); break;
    case COIR_X_CALL:
    case COIR_X_CALL_VALUE:
    case COIR_X_ASK:
    case COIR_X_TELL: coir_e_call(e, x, to); break;
    case COIR_X_SPAWN_ACTOR: coir_e_spawn_actor(e, x, to); break;
    case COIR_X_MONITOR: coir_e_monitor(e, x, to); break;
    case COIR_X_SPAWN:
    case COIR_X_GROUP_SPAWN: coir_e_spawn(e, x, to); break;
    case COIR_X_BLOCK: coir_e_block(e, x, to); break;
    case COIR_X_IF: coir_e_if(e, x, to); break;
    case COIR_X_MATCH: coir_e_match(e, x, to); break;
    case COIR_X_TRY: coir_e_try(e, x, to); break;
    case COIR_X_WITHIN: coir_e_within(e, x, to); break;
    case COIR_X_GROUP: coir_e_group(e, x, to); break;
    case COIR_X_SELECT: coir_e_select(e, x, to); break;
    default: coir_e_statement(e, x); break;
    }
}

void coir_e_into(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    if (!e->falls)
        return;
    e->x = x;
    coir_e_line(e, x->at);
    make(e, x, to);
}

/* What gives nothing, or never ends. */
void coir_e_statement(struct coir_e *e, const struct coir_x *x)
{
    switch (x->kind) {
    case COIR_X_UNIT: break;
    case COIR_X_PRINT: print(e, x); break;
    case COIR_X_WHILE: coir_e_while(e, x); break;
    case COIR_X_LOOP: coir_e_loop(e, x); break;
    case COIR_X_FOR: coir_e_each(e, x); break;
    case COIR_X_BREAK: coir_e_break(e, false); break;
    case COIR_X_CONTINUE: coir_e_break(e, true); break;
    case COIR_X_RETURN: coir_e_return(e, x); break;
    case COIR_X_TRAP: coir_e_raise(e, x); break;
    case COIR_X_ASSERT: coir_e_assert(e, x); break;
    case COIR_X_DEFER: coir_e_defer(e, x); break;
    case COIR_X_LET: coir_e_let(e, x); break;
    case COIR_X_ASSIGN: coir_e_assign(e, x); break;
    default: COIR_ASSERT(false);
    }
}

void coir_e_effect(struct coir_e *e, const struct coir_x *x)
{
    const uint32_t top = e->top;
    const bool stays = x->kind == COIR_X_LET || x->kind == COIR_X_DEFER;
    struct coir_e_value v;

    if (!e->falls)
        return;
    if (stays) {                /* what they declare lives to the end of the block */
        coir_e_line(e, x->at);
        coir_e_statement(e, x);
        return;
    }
    coir_e_line(e, x->at);
    v = (struct coir_e_value){ .type = coir_e_type_of(e, x) };
    if (v.type->slots == 0) {
        make(e, x, e->top);
        e->top = top;
        return;
    }
    v = coir_e_operand(e, x, true);
    coir_e_done(e, v, top);
}
