/* SPDX-License-Identifier: MIT */
/*
 * Code of one function: instructions and labels, registers, what is held, the ways out, and the regions whose traps are
 * looked after. What cannot be reached is not made: after an instruction that ends the flow nothing is, until a label
 * that some branch goes to.
 */
#include "lang/emit_inside.h"
#include "runtime/base/assert.h"

/* ---- instructions ---- */

static uint32_t mark(struct coir_e *e)
{
    const uint32_t label = coir_build_label(e->build);

    coir_build_place(e->build, label);
    return label;
}

static void open_pending(struct coir_e *e)
{
    for (struct coir_e_region *r = e->region; r && e->pending; r = r->outer) {
        if (!r->pending)
            continue;
        r->pending = false;
        e->pending--;
        r->open = true;
        r->from = mark(e);
    }
}

/* Before every instruction: false, nobody comes here. */
static bool begins(struct coir_e *e, enum coir_op op)
{
    if (!e->falls)
        return false;
    if (e->pending)
        open_pending(e);
    if (coir_ops[op].flags & COIR_ENDS)
        e->falls = false;
    return true;
}

void coir_e_op(struct coir_e *e, enum coir_op op, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    if (begins(e, op))
        coir_build_op(e->build, op, a, b, c, d);
}

void coir_e_wide(struct coir_e *e, enum coir_op op, uint32_t a, uint32_t x)
{
    if (begins(e, op))
        coir_build_wide(e->build, op, a, x, 0);
}

/* Of the instruction just made: it is reached when that is, and that one does not end the flow. */
void coir_e_ext(struct coir_e *e, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    if (e->falls)
        coir_build_ext(e->build, a, b, c, d);
}

void coir_e_load(struct coir_e *e, uint32_t a, int64_t word)
{
    if (begins(e, COIR_OP_LOADI))
        coir_build_load(e->build, a, (uint64_t)word);
}

static uint32_t id_of(struct coir_e *e, struct coir_e_label *l)
{
    if (!l->made) {
        l->id = coir_build_label(e->build);
        l->made = true;
    }
    return l->id;
}

void coir_e_jump(struct coir_e *e, enum coir_op op, uint32_t a, uint32_t b, uint32_t d, struct coir_e_label *to)
{
    if (!begins(e, op))
        return;
    to->used = true;
    coir_build_jump(e->build, op, a, b, d, id_of(e, to));
}

void coir_e_arm(struct coir_e *e, enum coir_arm_kind kind, uint32_t reg, uint32_t window, struct coir_e_label *to)
{
    if (!e->falls)
        return;
    to->used = true;
    coir_build_arm(e->build, kind, reg, window, id_of(e, to));
}

void coir_e_place(struct coir_e *e, struct coir_e_label *l)
{
    COIR_ASSERT(!l->placed);
    l->placed = true;
    if (!e->falls && !l->used)
        return;
    coir_build_place(e->build, id_of(e, l));
    e->falls = true;
}

void coir_e_line(struct coir_e *e, uint32_t at)
{
    const uint32_t line = coir_source_position(e->fn->source, at).line;

    if (line == e->line || !e->falls)
        return;
    e->line = line;
    coir_build_line(e->build, line);
}

/* ---- registers ---- */

uint32_t coir_e_alloc(struct coir_e *e, uint32_t n)
{
    const uint32_t first = e->top;

    if (n > COIR_MAX_REGISTERS || e->top + n > COIR_MAX_REGISTERS)
        coir_e_too_large(e, COIR_E_FUNCTION_SIZE, "more than 65,535 values at once in one function", "take it apart");
    e->top += n;
    if (first + (n ? n : 1) > e->most)      /* also a window of nothing is at a register that there is */
        e->most = first + (n ? n : 1);
    return first;
}

void coir_e_copy_value(struct coir_e *e, const struct coir_e_type *t, uint32_t to, uint32_t from)
{
    for (uint32_t i = 0; i < t->slots && to != from; i++)
        coir_e_op(e, coir_e_slot(e, t, i).is_ref ? COIR_OP_COPY : COIR_OP_MOVW, to + i, from + i, 0, 0);
}

void coir_e_move_value(struct coir_e *e, const struct coir_e_type *t, uint32_t to, uint32_t from)
{
    for (uint32_t i = 0; i < t->slots && to != from; i++)
        coir_e_op(e, coir_e_slot(e, t, i).is_ref ? COIR_OP_MOVE : COIR_OP_MOVW, to + i, from + i, 0, 0);
}

void coir_e_lend_value(struct coir_e *e, const struct coir_e_type *t, uint32_t to, uint32_t from)
{
    for (uint32_t i = 0; i < t->slots && to != from; i++)
        coir_e_op(e, coir_e_slot(e, t, i).is_ref ? COIR_OP_LEND : COIR_OP_MOVW, to + i, from + i, 0, 0);
}

void coir_e_set_value(struct coir_e *e, const struct coir_e_type *t, uint32_t to, uint32_t from)
{
    for (uint32_t i = 0; i < t->slots; i++)
        coir_e_op(e, coir_e_slot(e, t, i).is_ref ? COIR_OP_SET : COIR_OP_MOVW, to + i, from + i, 0, 0);
}

void coir_e_drop_value(struct coir_e *e, const struct coir_e_type *t, uint32_t at)
{
    for (uint32_t i = 0; i < t->slots && !t->flat; i++)
        if (coir_e_slot(e, t, i).is_ref)
            coir_e_op(e, COIR_OP_DROP, at + i, 0, 0, 0);
}

/* ---- what is held ---- */

void coir_e_hold_that(struct coir_e *e, struct coir_e_held what)
{
    if (!coir_budget_grow(e->program->memory, &e->held, &e->held_room, e->nheld, sizeof *e->held))
        coir_e_no_memory(e);
    e->held[e->nheld++] = what;
}

void coir_e_hold(struct coir_e *e, const struct coir_e_type *t, uint32_t reg)
{
    coir_e_hold_that(e, (struct coir_e_held){ .kind = COIR_HELD_VALUE, .reg = reg, .type = t });
}

void coir_e_let_go(struct coir_e *e, uint32_t n)
{
    COIR_ASSERT(n <= e->nheld);
    e->nheld -= n;
}

static void suspend(struct coir_e *e, struct coir_e_region *r)
{
    struct coir_e_range *range;

    if (r->pending) {
        r->pending = false;
        e->pending--;
    }
    if (!r->open)
        return;
    r->open = false;
    range = coir_e_take(e, sizeof *range);
    *range = (struct coir_e_range){ r->from, mark(e), r->ranges };
    r->ranges = range;
    r->pad.used = true;
}

/* One step of a way out. */
static void leave_one(struct coir_e *e, struct coir_e_held h)
{
    if (h.region)
        suspend(e, h.region);
    switch (h.kind) {
    case COIR_HELD_VALUE:
        coir_e_drop_value(e, h.type, h.reg);
        break;
    case COIR_HELD_DEFER:
        coir_e_deferred(e, h.defer);
        break;
    case COIR_HELD_GROUP:
        coir_e_op(e, COIR_OP_GWAIT, h.reg, 0, 0, 0);
        coir_e_op(e, COIR_OP_DROP, h.reg, 0, 0, 0);
        break;
    case COIR_HELD_SCOPE:
        coir_e_op(e, COIR_OP_DROP, h.reg, 0, 0, 0);
        break;
    case COIR_HELD_REGION:
        break;
    }
}

/* Not what has regions: these end by themselves, with their pads. */
void coir_e_drop_to(struct coir_e *e, uint32_t held)
{
    while (e->nheld > held) {
        const struct coir_e_held h = e->held[e->nheld - 1];

        if (h.kind == COIR_HELD_DEFER) {
            coir_e_region_end(e, h.region);
            e->nheld--;
            coir_e_deferred(e, h.defer);
            coir_e_defer_pad(e, &h);
            continue;
        }
        COIR_ASSERT(!h.region);
        leave_one(e, h);
        e->nheld--;
    }
}

void coir_e_leave(struct coir_e *e, uint32_t held)
{
    for (uint32_t i = e->nheld; i > held; i--)
        leave_one(e, e->held[i - 1]);
}

void coir_e_back(struct coir_e *e, uint32_t held)
{
    for (uint32_t i = held; i < e->nheld; i++) {
        struct coir_e_region *const r = e->held[i].region;

        if (r && !r->open && !r->pending) {
            r->pending = true;
            e->pending++;
        }
    }
}

/* ---- regions ---- */

struct coir_e_region *coir_e_region_begin(struct coir_e *e, enum coir_handler_kind kind)
{
    struct coir_e_region *const r = coir_e_take(e, sizeof *r);

    *r = (struct coir_e_region){ .kind = kind, .outer = e->region, .keep = e->top, .pending = true };
    e->region = r;
    e->pending++;
    return r;
}

void coir_e_region_end(struct coir_e *e, struct coir_e_region *r)
{
    COIR_ASSERT(e->region == r);
    suspend(e, r);
    e->region = r->outer;
    r->told = e->told;
    e->told = r;
}

bool coir_e_pad_begin(struct coir_e *e, struct coir_e_region *r)
{
    COIR_ASSERT(!e->falls);
    if (!r->pad.used)
        return false;
    coir_e_place(e, &r->pad);
    e->top = r->keep;
    coir_e_hold(e, coir_e_type(e, e->program->trap), coir_e_alloc(e, 1));
    return true;
}
