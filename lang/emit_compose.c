/* SPDX-License-Identifier: MIT */
/*
 * Values that are put together of others: optionals, records, variants, tuples, lists, maps; and channels. Their parts
 * are made side by side in new registers, held until the instruction takes them: so that a part which leaves, by a trap
 * or a return, leaves nothing behind.
 */
#include "lang/emit_inside.h"

static void some_into(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct coir_e_type *const t = coir_e_type_of(e, x);

    if (coir_e_is_bare(e, t)) {
        coir_e_into(e, x->of, to);
        return;
    }
    coir_e_into(e, x->of, to + 1);
    coir_e_load(e, to, 1);
}

/* Items one after the other in new registers; held until they are taken. Value: the first. The registers are taken one
 * by one, so that the window of a call begins where its result is wanted. */
static uint32_t window_of(struct coir_e *e, uint32_t n, const struct coir_x *const *items, uint32_t *held)
{
    const uint32_t first = coir_e_alloc(e, 0);

    *held = e->nheld;
    for (uint32_t i = 0; i < n; i++) {
        const struct coir_e_type *const t = coir_e_type_of(e, items[i]);
        const uint32_t at = coir_e_alloc(e, t->slots);

        coir_e_into(e, items[i], at);
        coir_e_hold(e, t, at);
    }
    return first;
}

static void record_into(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct coir_e_type *const t = coir_e_type_of(e, x);
    const uint32_t top = e->top, held = e->nheld;
    const uint32_t first = coir_e_alloc(e, 0);
    uint32_t slot;

    for (uint32_t i = 0; i < x->fields.n; i++) {
        const struct coir_e_type *const f = coir_e_field(e, t, x->fields.list[i].index, &slot);

        coir_e_take_to(e, first + slot + f->slots);     /* the field's: a `return` for it has none */
        coir_e_into(e, x->fields.list[i].value, first + slot);
        coir_e_hold(e, f, first + slot);
    }
    coir_e_line(e, x->at);
    coir_e_op(e, COIR_OP_NEW, to, t->index, first, 0);
    coir_e_let_go(e, e->nheld - held);
    e->top = top;
}

static void variant_into(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct coir_e_type *const t = coir_e_type_of(e, x);
    const uint32_t top = e->top;
    uint32_t held, first;

    if (t->flat) {
        coir_e_load(e, to, x->index);
        return;
    }
    if (x->index >= COIR_MAX_PAYLOADS)
        coir_e_too_large(e, COIR_E_FUNCTION_SIZE, "a variant of a type that has more than 256",
                         "put some of them into a type of their own");
    first = window_of(e, x->items.n, x->items.list, &held);
    coir_e_line(e, x->at);
    coir_e_op(e, COIR_OP_NEWV, to, t->index, first, x->index);
    coir_e_let_go(e, e->nheld - held);
    e->top = top;
}

static void tuple_into(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const uint32_t held = e->nheld;

    for (uint32_t i = 0; i < x->items.n; i++) {
        const struct coir_e_type *const t = coir_e_type_of(e, x->items.list[i]);

        coir_e_into(e, x->items.list[i], to);
        coir_e_hold(e, t, to);
        to += t->slots;
    }
    coir_e_let_go(e, e->nheld - held);
}

enum { AT_ONCE = 32 };       /* elements that a list literal evaluates before it takes them */

/* The first few at once, the others pushed. */
static void list_into(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct coir_e_type *const t = coir_e_type_of(e, x), *const of = coir_e_arg(e, t, 0);
    const uint32_t top = e->top, n = x->items.n < AT_ONCE ? x->items.n : AT_ONCE;
    uint32_t held, first = window_of(e, n, x->items.list, &held);

    coir_e_line(e, x->at);
    coir_e_op(e, COIR_OP_NEWL, to, t->index, first, n);
    coir_e_let_go(e, e->nheld - held);
    e->top = top;
    coir_e_hold(e, t, to);
    for (uint32_t i = n; i < x->items.n; i++) {
        first = coir_e_fresh(e, x->items.list[i]);
        coir_e_op(e, of->slots == 1 && of->flat ? COIR_OP_LPUSHW : COIR_OP_LPUSH, to, first, 0, 0);
        e->top = top;
    }
    coir_e_let_go(e, 1);
}

static void map_into(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct coir_e_type *const t = coir_e_type_of(e, x);
    const uint32_t top = e->top;

    coir_e_line(e, x->at);
    coir_e_op(e, COIR_OP_NEWM, to, t->index, 0, 0);
    coir_e_hold(e, t, to);
    for (uint32_t i = 0; i + 1 < x->items.n; i += 2) {
        const struct coir_x *const key = x->items.list[i], *const value = x->items.list[i + 1];
        const uint32_t k = coir_e_fresh(e, key);
        uint32_t v;

        coir_e_hold(e, coir_e_type_of(e, key), k);
        v = coir_e_fresh(e, value);
        coir_e_op(e, COIR_OP_MSET, to, k, v, 0);
        coir_e_drop_to(e, e->nheld - 1);
        e->top = top;
    }
    coir_e_let_go(e, 1);
}

static void chan_into(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    const struct coir_e_type *const t = coir_e_type_of(e, x), *const count = coir_e_type_of(e, x->of);
    const enum coir_ty_mode lend = COIR_LEND;
    const uint32_t top = e->top, window = coir_e_alloc(e, 1);

    coir_e_into(e, x->of, window);
    coir_e_line(e, x->at);
    coir_e_native(e, "chan", 1, &count, &lend, t, window);
    coir_e_move_value(e, t, to, window);
    e->top = top;
}

void coir_e_compose(struct coir_e *e, const struct coir_x *x, uint32_t to)
{
    switch (x->kind) {
    case COIR_X_SOME: some_into(e, x, to); break;
    case COIR_X_RECORD: record_into(e, x, to); break;
    case COIR_X_VARIANT: variant_into(e, x, to); break;
    case COIR_X_TUPLE: tuple_into(e, x, to); break;
    case COIR_X_LIST: list_into(e, x, to); break;
    case COIR_X_MAP: map_into(e, x, to); break;
    default: chan_into(e, x, to); break;
    }
}
