/* SPDX-License-Identifier: MIT */
/*
 * The rules of lists, maps and texts: see prove_rules.c. What is changed here is register A, whose lents are gone when
 * a rule is asked; so a rule has to refuse A itself as another operand, and nothing else.
 */
#include "vm/prove.h"

static const struct coir_type *type_of(struct coir_proof *p, uint32_t type)
{
    return &p->l->p->types.all[type];
}

/* The list in a register, borrowed, or owned to be changed; NULL if its elements are not one word (or reference). */
static const struct coir_type *list_of(struct coir_proof *p, uint32_t reg, bool own)
{
    return own ? coir_owned_kind(p, reg, COIR_TYPE_LIST) : coir_borrow_kind(p, reg, COIR_TYPE_LIST);
}

static const struct coir_type *list_of_one(struct coir_proof *p, uint32_t reg, bool own, bool word)
{
    const struct coir_type *t = list_of(p, reg, own);
    char text[64];

    if (!t || (t->element->slots == 1 && word == (t->element->layout[0].ref == NULL)))
        return t;
    coir_proof_wrong(p, "the elements of %s are not one %s", coir_write_type(t, text, sizeof text),
                     word ? "word" : "reference");
    return NULL;
}

/* ---- lists ---- */

static bool rule_newl(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = type_of(p, COIR_I_B(w));

    if (t->kind != COIR_TYPE_LIST)
        return coir_proof_wrong(p, "type %u is no list", t->index);
    for (uint32_t i = 0; i < COIR_I_D(w); i++) {
        if (!coir_prove_take(p, COIR_I_C(w) + i * t->element->slots, t->element->layout, t->element->slots))
            return false;
    }
    return coir_put_owned(p, COIR_I_A(w), t, false);
}

static bool rule_llen(struct coir_proof *p, uint64_t w)
{
    return list_of(p, COIR_I_B(w), false) && coir_put_word(p, COIR_I_A(w));
}

static bool rule_lgetw(struct coir_proof *p, uint64_t w)
{
    return list_of_one(p, COIR_I_B(w), false, true) && coir_read_word(p, COIR_I_C(w)) && coir_put_word(p, COIR_I_A(w));
}

static bool rule_lget(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = COIR_I_OP(w) == COIR_OP_LGETR ? list_of_one(p, COIR_I_B(w), false, false)
        : list_of(p, COIR_I_B(w), false);

    return t && coir_read_word(p, COIR_I_C(w)) && coir_may_copy(p, t->element)
        && coir_put_layout(p, COIR_I_A(w), t->element->layout, t->element->slots);
}

static bool rule_llend(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = list_of(p, COIR_I_B(w), false);

    return t && coir_read_word(p, COIR_I_C(w))
        && coir_lend_layout(p, COIR_I_A(w), t->element->layout, t->element->slots, coir_lender(p, COIR_I_B(w)));
}

static bool rule_lsetw(struct coir_proof *p, uint64_t w)
{
    return list_of_one(p, COIR_I_A(w), true, true) && coir_read_word(p, COIR_I_B(w)) && coir_read_word(p, COIR_I_C(w));
}

static bool rule_lset(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = COIR_I_OP(w) == COIR_OP_LSETR ? list_of_one(p, COIR_I_A(w), true, false)
        : list_of(p, COIR_I_A(w), true);

    return t && coir_read_word(p, COIR_I_B(w)) && coir_apart(p, COIR_I_C(w), t->element->slots, COIR_I_A(w))
        && coir_prove_take(p, COIR_I_C(w), t->element->layout, t->element->slots);
}

static bool rule_lpushw(struct coir_proof *p, uint64_t w)
{
    return list_of_one(p, COIR_I_A(w), true, true) && coir_read_word(p, COIR_I_B(w));
}

static bool rule_lpush(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = list_of(p, COIR_I_A(w), true);

    return t && coir_apart(p, COIR_I_B(w), t->element->slots, COIR_I_A(w))
        && coir_prove_take(p, COIR_I_B(w), t->element->layout, t->element->slots);
}

/* A slot of the records that a list's elements are. */
static const struct coir_slot *record_slot(struct coir_proof *p, const struct coir_type *list, uint32_t i, bool word)
{
    const struct coir_type *t = list ? list->element : NULL;

    if (!t)
        return NULL;
    if (t->kind != COIR_TYPE_RECORD)
        coir_proof_wrong(p, "the elements are no records");
    else if (i >= t->cell_slots || word != (t->cell[i].ref == NULL))
        coir_proof_wrong(p, "slot %u of %u is not one, or no %s", i, t->cell_slots, word ? "word" : "reference");
    else
        return &t->cell[i];
    return NULL;
}

static bool rule_lfldw(struct coir_proof *p, uint64_t w)
{
    return record_slot(p, list_of(p, COIR_I_B(w), false), COIR_I_D(w), true) && coir_read_word(p, COIR_I_C(w))
        && coir_put_word(p, COIR_I_A(w));
}

static bool rule_lfldr(struct coir_proof *p, uint64_t w)
{
    const struct coir_slot *s = record_slot(p, list_of(p, COIR_I_B(w), false), COIR_I_D(w), false);

    return s && coir_read_word(p, COIR_I_C(w)) && coir_may_copy(p, s->ref)
        && coir_put_owned(p, COIR_I_A(w), s->ref, s->nullable);
}

static bool rule_lputw(struct coir_proof *p, uint64_t w)
{
    return record_slot(p, list_of(p, COIR_I_A(w), true), COIR_I_D(w), true) && coir_read_word(p, COIR_I_B(w))
        && coir_read_word(p, COIR_I_C(w));
}

static bool rule_lputr(struct coir_proof *p, uint64_t w)
{
    const struct coir_slot *s = record_slot(p, list_of(p, COIR_I_A(w), true), COIR_I_D(w), false);

    return s && coir_read_word(p, COIR_I_B(w)) && coir_apart(p, COIR_I_C(w), 1, COIR_I_A(w))
        && coir_prove_take(p, COIR_I_C(w), s, 1);
}

/* ---- walking over one ---- */

/* What was loaded for the way that jumps is not there on the other. */
static bool loop_back(struct coir_proof *p, uint64_t w, uint32_t n)
{
    if (!coir_proof_flow(p, p->pc + (uint32_t)(int32_t)COIR_I_SC(w)))
        return false;
    for (uint32_t i = 0; i < n; i++)
        coir_forget(p, COIR_I_A(w) + i);
    return true;
}

/* The counter behind what is walked over; and what is loaded lies over neither. */
static bool counter(struct coir_proof *p, uint64_t w, uint32_t n)
{
    return coir_has_registers(p, COIR_I_B(w), 2) && coir_read_word(p, COIR_I_B(w) + 1u)
        && coir_apart(p, COIR_I_A(w), n, COIR_I_B(w)) && coir_apart(p, COIR_I_A(w), n, COIR_I_B(w) + 1u);
}

static bool rule_lnext(struct coir_proof *p, uint64_t w)
{
    const bool lend = COIR_I_OP(w) == COIR_OP_LNEXTL;
    const struct coir_type *t = COIR_I_OP(w) == COIR_OP_LNEXTW ? list_of_one(p, COIR_I_B(w), false, true)
        : list_of(p, COIR_I_B(w), false);
    const struct coir_type *e = t ? t->element : NULL;

    if (!e || !counter(p, w, e->slots) || (!lend && !coir_may_copy(p, e)))
        return false;
    return (lend ? coir_lend_layout(p, COIR_I_A(w), e->layout, e->slots, coir_lender(p, COIR_I_B(w)))
        : coir_put_layout(p, COIR_I_A(w), e->layout, e->slots)) && loop_back(p, w, e->slots);
}

static bool rule_mnext(struct coir_proof *p, uint64_t w)
{
    const bool lend = COIR_I_OP(w) == COIR_OP_MNEXTL;
    const struct coir_type *t = coir_borrow_kind(p, COIR_I_B(w), COIR_TYPE_MAP);
    const uint32_t n = t ? t->cell_slots : 0, from = t ? coir_lender(p, COIR_I_B(w)) : 0;

    if (!t || !counter(p, w, n) || (!lend && !coir_may_copy(p, t->element)))
        return false;
    return (lend ? coir_lend_layout(p, COIR_I_A(w), t->cell, n, from) : coir_put_layout(p, COIR_I_A(w), t->cell, n))
        && loop_back(p, w, n);
}

/* ---- maps ---- */

static bool rule_newm(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = type_of(p, COIR_I_B(w));

    if (t->kind != COIR_TYPE_MAP)
        return coir_proof_wrong(p, "type %u is no map", t->index);
    return coir_put_owned(p, COIR_I_A(w), t, false);
}

static bool rule_mlen(struct coir_proof *p, uint64_t w)
{
    return coir_borrow_kind(p, COIR_I_B(w), COIR_TYPE_MAP) && coir_put_word(p, COIR_I_A(w));
}

/* The map in B, whose key is in C... */
static const struct coir_type *map_and_key(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = coir_borrow_kind(p, COIR_I_B(w), COIR_TYPE_MAP);

    return t && coir_borrow(p, COIR_I_C(w), t->key->layout, t->key->slots) ? t : NULL;
}

static bool rule_mget(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = map_and_key(p, w);

    return t && coir_may_copy(p, t->element)
        && coir_put_layout(p, COIR_I_A(w), t->element->layout, t->element->slots);
}

/* The layout of an optional, which need not be among the types. */
static bool put_optional(struct coir_proof *p, uint32_t reg, const struct coir_type *t)
{
    const bool bare = coir_type_is_ref(t);

    if (!bare && !coir_put_word(p, reg))
        return false;
    for (uint32_t i = 0; i < t->slots; i++) {
        const struct coir_slot s = { t->layout[i].ref, true };

        if (!coir_put_layout(p, reg + i + !bare, &s, 1))
            return false;
    }
    return true;
}

static bool rule_mgeto(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = map_and_key(p, w);

    return t && coir_may_copy(p, t->element) && coir_has_registers(p, COIR_I_A(w), t->element->slots + 1)
        && put_optional(p, COIR_I_A(w), t->element);
}

static bool rule_mlend(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = map_and_key(p, w);

    return t && coir_lend_layout(p, COIR_I_A(w), t->element->layout, t->element->slots, coir_lender(p, COIR_I_B(w)));
}

static bool rule_mhas(struct coir_proof *p, uint64_t w)
{
    return map_and_key(p, w) && coir_put_word(p, COIR_I_A(w));
}

static bool rule_mset(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = coir_owned_kind(p, COIR_I_A(w), COIR_TYPE_MAP);

    if (!t || !coir_borrow(p, COIR_I_B(w), t->key->layout, t->key->slots)
            || !coir_apart(p, COIR_I_B(w), t->key->slots, COIR_I_A(w))
            || !coir_apart(p, COIR_I_C(w), t->element->slots, COIR_I_A(w)))
        return false;
    /* the key is looked at until the end: it may not be what is taken */
    for (uint32_t i = 0; i < t->element->slots; i++) {
        if (t->element->layout[i].ref && !coir_apart(p, COIR_I_B(w), t->key->slots, COIR_I_C(w) + i))
            return false;
    }
    for (uint32_t i = 0; i < t->key->slots; i++) {
        const struct coir_held h = coir_held_at(p, COIR_I_B(w) + i);

        if (h.kind == COIR_LENT && !coir_apart(p, COIR_I_C(w), t->element->slots, h.from))
            return false;
    }
    return coir_prove_take(p, COIR_I_C(w), t->element->layout, t->element->slots);
}

/* ---- texts ---- */

static bool rule_tnew(struct coir_proof *p, uint64_t w)
{
    return coir_put_owned(p, COIR_I_A(w), type_of(p, COIR_TYPE_TEXT), false);
}

static bool rule_tlen(struct coir_proof *p, uint64_t w)
{
    return coir_borrow_kind(p, COIR_I_B(w), COIR_TYPE_TEXT) && coir_put_word(p, COIR_I_A(w));
}

static bool rule_tbyte(struct coir_proof *p, uint64_t w)
{
    return coir_borrow_kind(p, COIR_I_B(w), COIR_TYPE_TEXT) && coir_read_word(p, COIR_I_C(w))
        && coir_put_word(p, COIR_I_A(w));
}

static bool two_texts(struct coir_proof *p, uint64_t w)
{
    return coir_borrow_kind(p, COIR_I_B(w), COIR_TYPE_TEXT) && coir_borrow_kind(p, COIR_I_C(w), COIR_TYPE_TEXT);
}

static bool rule_teq(struct coir_proof *p, uint64_t w)
{
    return two_texts(p, w) && coir_put_word(p, COIR_I_A(w));
}

static bool rule_tcat(struct coir_proof *p, uint64_t w)
{
    return two_texts(p, w) && coir_put_owned(p, COIR_I_A(w), type_of(p, COIR_TYPE_TEXT), false);
}

static bool rule_append(struct coir_proof *p, uint64_t w)
{
    return coir_owned_kind(p, COIR_I_A(w), COIR_TYPE_TEXT) && coir_apart(p, COIR_I_B(w), 1, COIR_I_A(w))
        && coir_borrow_kind(p, COIR_I_B(w), COIR_TYPE_TEXT);
}

static bool rule_format(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = type_of(p, COIR_I_C(w));

    return coir_owned_kind(p, COIR_I_A(w), COIR_TYPE_TEXT) && coir_apart(p, COIR_I_B(w), t->slots, COIR_I_A(w))
        && coir_borrow(p, COIR_I_B(w), t->layout, t->slots);
}

static bool rule_eqv(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = type_of(p, COIR_I_A(p->f->code[p->pc + 1]));
    char text[64];

    if (t->owns || (COIR_I_OP(w) == COIR_OP_CMPV && !p->l->ordered[t->index]))
        return coir_proof_wrong(p, "%s cannot be compared", coir_write_type(t, text, sizeof text));
    return coir_borrow(p, COIR_I_B(w), t->layout, t->slots) && coir_borrow(p, COIR_I_C(w), t->layout, t->slots)
        && coir_put_word(p, COIR_I_A(w));
}

coir_rule *const coir_list_rules[COIR_OP_COUNT] = {
    [COIR_OP_NEWL] = rule_newl, [COIR_OP_LLEN] = rule_llen, [COIR_OP_LGETW] = rule_lgetw, [COIR_OP_LGETR] = rule_lget,
    [COIR_OP_LGET] = rule_lget, [COIR_OP_LLEND] = rule_llend, [COIR_OP_LSETW] = rule_lsetw,
    [COIR_OP_LSETR] = rule_lset, [COIR_OP_LSET] = rule_lset, [COIR_OP_LPUSHW] = rule_lpushw,
    [COIR_OP_LPUSH] = rule_lpush, [COIR_OP_LFLDW] = rule_lfldw, [COIR_OP_LFLDR] = rule_lfldr,
    [COIR_OP_LPUTW] = rule_lputw, [COIR_OP_LPUTR] = rule_lputr, [COIR_OP_LNEXTW] = rule_lnext,
    [COIR_OP_LNEXT] = rule_lnext, [COIR_OP_LNEXTL] = rule_lnext,
    [COIR_OP_NEWM] = rule_newm, [COIR_OP_MLEN] = rule_mlen, [COIR_OP_MGET] = rule_mget, [COIR_OP_MGETO] = rule_mgeto,
    [COIR_OP_MLEND] = rule_mlend, [COIR_OP_MHAS] = rule_mhas, [COIR_OP_MSET] = rule_mset,
    [COIR_OP_MNEXT] = rule_mnext, [COIR_OP_MNEXTL] = rule_mnext,
    [COIR_OP_TNEW] = rule_tnew, [COIR_OP_TLEN] = rule_tlen, [COIR_OP_TBYTE] = rule_tbyte, [COIR_OP_TEQ] = rule_teq,
    [COIR_OP_TCMP] = rule_teq, [COIR_OP_TCAT] = rule_tcat, [COIR_OP_APPEND] = rule_append,
    [COIR_OP_FORMAT] = rule_format, [COIR_OP_EQV] = rule_eqv, [COIR_OP_CMPV] = rule_eqv,
};
