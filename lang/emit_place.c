/* SPDX-License-Identifier: MIT */
/*
 * Places: assigning where something stands, and giving it to a function to work on. The indexes are evaluated first;
 * the walk to the place is made in one go when everything else has been, and copies nothing that is not shared.
 *
 * What a function works on is taken out of its place, where a hole stays until it is put back. When the function
 * traps a pad puts it back, if anybody can still see the place: a catch arm, a defer, the caller of a `mut` parameter.
 */
#include "lang/emit_inside.h"
#include "runtime/base/assert.h"

/* Whether what is evaluated after step i, before the place is used, leaves the local that its index is. */
static bool index_stays(const struct coir_x_place *p, uint32_t i, const struct coir_x *later)
{
    for (uint32_t k = i + 1; k < p->nsteps; k++)
        if (p->steps[k].kind != COIR_STEP_FIELD && coir_e_changes(p->steps[k].index, p->steps[i].index))
            return false;
    return !coir_e_changes(later, p->steps[i].index);
}

struct coir_e_place coir_e_place_of(struct coir_e *e, const struct coir_x_place *p, uint32_t *below,
                                    const struct coir_x *later)
{
    struct coir_e_place out = { .root = p->root, .reg = e->locals[p->root].reg, .n = p->nsteps };
    const struct coir_e_type *at = e->locals[p->root].type;

    out.steps = coir_e_take(e, p->nsteps * sizeof *out.steps);
    for (uint32_t i = 0; i < p->nsteps; i++) {
        const struct coir_x_step *const s = &p->steps[i];
        struct coir_e_step *const to = &out.steps[i];

        to->kind = s->kind;
        to->type = coir_e_type(e, s->type);
        if (s->kind == COIR_STEP_FIELD) {
            coir_e_field(e, at, s->field, &to->slot);
        } else if (!below && coir_e_type_of(e, s->index)->flat && coir_e_type_of(e, s->index)->slots == 1) {
            to->index = coir_e_type_of(e, s->index);
            to->reg = coir_e_operand(e, s->index, index_stays(p, i, later)).reg;
        } else {
            to->index = coir_e_type_of(e, s->index);
            to->reg = below ? *below : coir_e_alloc(e, to->index->slots);
            if (below)
                *below += to->index->slots;
            coir_e_into(e, s->index, to->reg);
            if (!to->index->flat)
                coir_e_hold(e, to->index, to->reg);
        }
        at = to->type;
    }
    out.type = at;
    return out;
}

void coir_e_walk(struct coir_e *e, const struct coir_e_place *p, uint32_t to)
{
    coir_e_op(e, COIR_OP_PREG, to, p->reg, 0, 0);
    for (uint32_t i = 0; i < p->n; i++) {
        const struct coir_e_step *const s = &p->steps[i];

        if (s->kind == COIR_STEP_FIELD)
            coir_e_op(e, COIR_OP_PFLD, to, 0, s->slot, 0);
        else
            coir_e_op(e, s->kind == COIR_STEP_KEY ? COIR_OP_PKEY : COIR_OP_PIDX, to, 0, s->reg, 0);
    }
}

void coir_e_take_out(struct coir_e *e, const struct coir_e_place *p, uint32_t to)
{
    const uint32_t top = e->top, at = coir_e_alloc(e, 1);

    if (p->n == 0) {
        coir_e_move_value(e, p->type, to, p->reg);
    } else if (p->type->slots) {
        coir_e_walk(e, p, at);
        for (uint32_t i = 0; i < p->type->slots; i++)
            coir_e_op(e, coir_e_slot(e, p->type, i).is_ref ? COIR_OP_PTAKE : COIR_OP_PLDW, to + i, at, i, 0);
    }
    e->top = top;
}

void coir_e_put_back(struct coir_e *e, const struct coir_e_place *p, uint32_t from)
{
    const uint32_t top = e->top, at = coir_e_alloc(e, 1);

    if (p->n == 0) {
        coir_e_move_value(e, p->type, p->reg, from);
    } else if (p->type->slots) {
        coir_e_walk(e, p, at);
        for (uint32_t i = 0; i < p->type->slots; i++)
            coir_e_op(e, coir_e_slot(e, p->type, i).is_ref ? COIR_OP_PSTR : COIR_OP_PSTW, at, i, from + i, 0);
    }
    e->top = top;
}

bool coir_e_is_watched(struct coir_e *e, const struct coir_e_place *p)
{
    return e->watchers > e->locals[p->root].watchers
        || (e->fn->locals[p->root].kind == COIR_LOCAL_PARAM && !e->locals[p->root].lent);
}

/* ---- pads ---- */

static void note_active(struct coir_e *e, struct coir_e_pad *pad)
{
    for (const struct coir_e_region *r = e->region; r; r = r->outer)
        pad->nactive += r->open || r->pending;
    pad->active = coir_e_take(e, pad->nactive * sizeof *pad->active);
    pad->nactive = 0;
    for (struct coir_e_region *r = e->region; r; r = r->outer)
        if (r->open || r->pending)
            pad->active[pad->nactive++] = r;
}

struct coir_e_pad *coir_e_taken_begin(struct coir_e *e, uint32_t n, const struct coir_e_place *places,
                                      const uint32_t *regs, uint32_t keep)
{
    struct coir_e_pad *const pad = coir_e_take(e, sizeof *pad);

    pad->restores = coir_e_take(e, n * sizeof *pad->restores);
    for (uint32_t i = 0; i < n; i++)
        if (coir_e_is_watched(e, &places[i]))
            pad->restores[pad->nrestores++] = (struct coir_e_restore){ places[i], regs[i] };
    if (pad->nrestores == 0)
        return NULL;
    note_active(e, pad);
    pad->region = coir_e_region_begin(e, COIR_CLEANUP);
    pad->region->keep = keep;
    return pad;
}

void coir_e_taken_end(struct coir_e *e, struct coir_e_pad *pad)
{
    if (!pad)
        return;
    coir_e_region_end(e, pad->region);
    pad->next = e->pads;
    e->pads = pad;
}

/* A pad traps on in the regions that its call stood in: they get a range more. */
static void make_pad(struct coir_e *e, const struct coir_e_pad *pad)
{
    const uint32_t held = e->nheld;
    uint32_t from, to;

    if (!coir_e_pad_begin(e, pad->region))
        return;
    from = coir_build_label(e->build);
    coir_build_place(e->build, from);
    for (uint32_t i = 0; i < pad->nrestores; i++)
        coir_e_put_back(e, &pad->restores[i].place, pad->restores[i].reg);
    coir_e_op(e, COIR_OP_TRAP, pad->region->keep, 0, 0, 0);
    to = coir_build_label(e->build);
    coir_build_place(e->build, to);
    for (uint32_t i = 0; i < pad->nactive; i++) {
        struct coir_e_range *const range = coir_e_take(e, sizeof *range);

        *range = (struct coir_e_range){ from, to, pad->active[i]->ranges };
        pad->active[i]->ranges = range;
    }
    coir_e_let_go(e, e->nheld - held);
}

void coir_e_make_pads(struct coir_e *e)
{
    for (const struct coir_e_pad *pad = e->pads; pad; pad = pad->next)
        make_pad(e, pad);
    e->pads = NULL;
}

/* ---- assigning ---- */

/* Local = value. What owns is made first and then takes the place of the old. */
static void assign_local(struct coir_e *e, const struct coir_e_place *p, const struct coir_x *value)
{
    const uint32_t held = e->nheld;
    uint32_t at;

    if (p->type->flat && p->type->slots <= 1) {
        if (p->reg + 1 == e->top)           /* so that no call's window begins in it */
            coir_e_alloc(e, 1);
        coir_e_into(e, value, p->reg);
        return;
    }
    if (value->kind == COIR_X_CALL || value->kind == COIR_X_CALL_VALUE || value->kind == COIR_X_ASK)
        at = coir_e_operand(e, value, true).reg;
    else
        at = coir_e_fresh(e, value);
    coir_e_set_value(e, p->type, p->reg, at);
    coir_e_let_go(e, e->nheld - held);
}

/* The last step is a key, which may be new: the map is worked on. */
static void assign_key(struct coir_e *e, struct coir_e_place *p, uint32_t value)
{
    const struct coir_e_step key = p->steps[p->n - 1];
    struct coir_e_place map = *p;
    struct coir_e_pad *pad;
    uint32_t at;

    map.n--;
    map.type = map.n ? map.steps[map.n - 1].type : e->locals[p->root].type;
    if (map.n == 0) {
        coir_e_op(e, COIR_OP_MSET, map.reg, key.reg, value, 0);
        return;
    }
    at = coir_e_alloc(e, 1);
    coir_e_take_out(e, &map, at);
    coir_e_hold(e, map.type, at);
    pad = coir_e_taken_begin(e, 1, &map, &at, e->top);
    coir_e_op(e, COIR_OP_MSET, at, key.reg, value, 0);
    coir_e_taken_end(e, pad);
    coir_e_put_back(e, &map, at);
    coir_e_let_go(e, 1);
}

static void store(struct coir_e *e, const struct coir_e_place *p, uint32_t value)
{
    const uint32_t at = coir_e_alloc(e, 1);

    coir_e_walk(e, p, at);
    for (uint32_t i = 0; i < p->type->slots; i++)
        coir_e_op(e, coir_e_slot(e, p->type, i).is_ref ? COIR_OP_PSTR : COIR_OP_PSTW, at, i, value + i, 0);
}

static enum coir_op list_write(const struct coir_e_type *t)
{
    return t->slots != 1 ? COIR_OP_LSET : t->flat ? COIR_OP_LSETW : COIR_OP_LSETR;
}

/* list[i].field of one slot, the list being a local. */
static bool is_element_field(const struct coir_e_place *p)
{
    return p->n == 2 && p->steps[0].kind == COIR_STEP_ELEMENT && p->steps[1].kind == COIR_STEP_FIELD
        && p->type->slots == 1 && p->steps[1].slot <= UINT8_MAX;
}

static void assign_plain(struct coir_e *e, const struct coir_x *x)
{
    struct coir_e_place p = coir_e_place_of(e, x->assign.place, NULL, x->assign.value);
    uint32_t value;

    if (p.n == 0) {
        assign_local(e, &p, x->assign.value);
        return;
    }
    if (p.type->flat && p.type->slots == 1)
        value = coir_e_operand(e, x->assign.value, true).reg;
    else
        value = coir_e_fresh(e, x->assign.value);
    if (!p.type->flat)
        coir_e_hold(e, p.type, value);
    coir_e_line(e, x->at);
    if (p.steps[p.n - 1].kind == COIR_STEP_KEY)
        assign_key(e, &p, value);
    else if (p.n == 1 && p.steps[0].kind == COIR_STEP_ELEMENT)
        coir_e_op(e, list_write(p.type), p.reg, p.steps[0].reg, value, 0);
    else if (p.n == 1 && p.type->slots == 1)
        coir_e_op(e, p.type->flat ? COIR_OP_SETW : COIR_OP_SETR, p.reg, p.steps[0].slot, value, 0);
    else if (is_element_field(&p))
        coir_e_op(e, p.type->flat ? COIR_OP_LPUTW : COIR_OP_LPUTR, p.reg, p.steps[0].reg, value, p.steps[1].slot);
    else
        store(e, &p, value);
    if (!p.type->flat)
        coir_e_let_go(e, 1);
}

/* ---- place op= value ---- */

static void grow_list(struct coir_e *e, const struct coir_e_place *p, uint32_t value)
{
    const struct coir_e_type *const params[] = { p->type, p->type };
    static const enum coir_ty_mode modes[] = { COIR_MUT, COIR_LEND };
    const uint32_t window = coir_e_alloc(e, 2);
    struct coir_e_pad *pad;

    coir_e_lend_value(e, p->type, window + 1, value);
    coir_e_take_out(e, p, window);
    pad = coir_e_taken_begin(e, 1, p, &window, window + 1);
    coir_e_native(e, "List.append", 2, params, modes, coir_e_type(e, COIR_TY_UNIT), window);
    coir_e_taken_end(e, pad);
    coir_e_put_back(e, p, window);
}

static void grow(struct coir_e *e, const struct coir_e_place *p, uint32_t value)
{
    const uint32_t at = coir_e_alloc(e, 1);

    if (coir_e_kind(e, p->type) == COIR_TY_LIST) {
        grow_list(e, p, value);
    } else if (p->n == 0) {
        coir_e_op(e, COIR_OP_APPEND, p->reg, value, 0, 0);
    } else {
        coir_e_walk(e, p, at);
        coir_e_op(e, COIR_OP_PCAT, at, 0, value, 0);
    }
}

static void change_word(struct coir_e *e, const struct coir_x *x, const struct coir_e_place *p, uint32_t value)
{
    const enum coir_x_op op = x->assign.op;
    const uint32_t at = coir_e_alloc(e, 1), word = coir_e_alloc(e, 1);

    if (p->n == 1 && p->steps[0].kind == COIR_STEP_FIELD) {
        coir_e_op(e, COIR_OP_GETW, word, p->reg, p->steps[0].slot, 0);
        coir_e_step(e, op, p->type, p->type, word, word, value);
        coir_e_op(e, COIR_OP_SETW, p->reg, p->steps[0].slot, word, 0);
    } else if (p->n == 1 && p->steps[0].kind == COIR_STEP_ELEMENT) {
        coir_e_op(e, COIR_OP_LGETW, word, p->reg, p->steps[0].reg, 0);
        coir_e_step(e, op, p->type, p->type, word, word, value);
        coir_e_op(e, COIR_OP_LSETW, p->reg, p->steps[0].reg, word, 0);
    } else if (is_element_field(p)) {
        coir_e_op(e, COIR_OP_LFLDW, word, p->reg, p->steps[0].reg, p->steps[1].slot);
        coir_e_step(e, op, p->type, p->type, word, word, value);
        coir_e_op(e, COIR_OP_LPUTW, p->reg, p->steps[0].reg, word, p->steps[1].slot);
    } else {
        coir_e_walk(e, p, at);
        coir_e_op(e, COIR_OP_PLDW, word, at, 0, 0);
        coir_e_step(e, op, p->type, p->type, word, word, value);
        coir_e_op(e, COIR_OP_PSTW, at, 0, word, 0);
    }
}

/* A local word: in its register, by what makes any sum. */
static void change_local(struct coir_e *e, const struct coir_x *x, const struct coir_e_place *p)
{
    const struct coir_x read = { .kind = COIR_X_LOCAL, .type = x->assign.place->type, .at = x->at, .end = x->end,
                                 .local = p->root };
    const struct coir_x_arith_step step = { .op = x->assign.op, .operand = x->assign.value,
                                            .type = x->assign.place->type, .at = x->at, .end = x->end };
    const struct coir_x sum = { .kind = COIR_X_ARITH, .type = x->assign.place->type, .at = x->at, .end = x->end,
                                .arith = { &read, 1, &step } };

    if (coir_e_changes_local(x->assign.value, p->root)) {   /* the place is read after the value is known */
        const uint32_t value = coir_e_fresh(e, x->assign.value);

        coir_e_line(e, x->at);
        coir_e_step(e, x->assign.op, p->type, p->type, p->reg, p->reg, value);
        return;
    }
    coir_e_arith(e, &sum, p->reg);
}

static void assign_changed(struct coir_e *e, const struct coir_x *x)
{
    const struct coir_e_place p = coir_e_place_of(e, x->assign.place, NULL, x->assign.value);
    struct coir_e_value value;
    bool lent;

    if (p.n == 0 && p.type->flat) {
        change_local(e, x, &p);
        return;
    }
    /* What is worked on must not be lent as well. */
    lent = p.type->flat || coir_e_root(x->assign.value) != p.root;
    value = coir_e_operand(e, x->assign.value, lent);
    coir_e_line(e, x->at);
    if (p.type->flat)
        change_word(e, x, &p, value.reg);
    else
        grow(e, &p, value.reg);
    if (value.owned)
        coir_e_drop_to(e, e->nheld - 1);
}

/* s = s + a, of a text or list, is s += a: s would be copied for nothing. */
static bool is_growing(struct coir_e *e, const struct coir_x *x, struct coir_x *as)
{
    const struct coir_x *const value = x->assign.value;
    const coir_x_local_id root = x->assign.place->root;

    if (x->assign.place->nsteps || value->kind != COIR_X_ARITH || coir_e_type_of(e, value)->flat
        || value->arith.n != 1 || value->arith.first->kind != COIR_X_LOCAL || value->arith.first->local != root
        || coir_e_mentions(value->arith.steps[0].operand, root))
        return false;
    *as = *x;
    as->assign.op = COIR_XOP_ADD;
    as->assign.value = value->arith.steps[0].operand;
    return true;
}

void coir_e_assign(struct coir_e *e, const struct coir_x *x)
{
    const uint32_t top = e->top, held = e->nheld;
    struct coir_x growing;

    if (x->assign.op != COIR_XOP_NONE)
        assign_changed(e, x);
    else if (is_growing(e, x, &growing))
        assign_changed(e, &growing);
    else
        assign_plain(e, x);
    coir_e_drop_to(e, held);
    e->top = top;
}
