/* SPDX-License-Identifier: MIT */
/*
 * What each instruction asks of the registers, and what it leaves: a rule each, in the order of opcodes.h, but for
 * those whose operands are all words, which need none, for lists, maps and texts (prove_lists.c), and for calls and
 * fibers (prove_calls.c). A rule may assume that registers, types and numbers are in range, not that a window of
 * several registers is. Before it is asked, what is lent from a register that the instruction changes is gone, and the
 * traps are dealt with.
 */
#include "vm/prove.h"

static const struct coir_type *type_of(struct coir_proof *p, uint32_t type)
{
    return &p->l->p->types.all[type];
}

/* ---- moves ---- */

static bool rule_move(struct coir_proof *p, uint64_t w)
{
    const struct coir_held h = coir_held_at(p, COIR_I_B(w));

    if (h.kind != COIR_OWNED && h.kind != COIR_NULL)
        return coir_proof_wrong(p, "r%u %s, and is to give up what it owns", COIR_I_B(w), coir_held_words(&h).text);
    if (COIR_I_A(w) == COIR_I_B(w))
        return coir_proof_wrong(p, "r%u is moved to itself", COIR_I_A(w));
    if (COIR_I_OP(w) == COIR_OP_SET) {
        const struct coir_held old = coir_held_at(p, COIR_I_A(w));

        if (old.kind != COIR_OWNED && old.kind != COIR_NULL)
            return coir_proof_wrong(p, "r%u %s, and is to be dropped", COIR_I_A(w), coir_held_words(&old).text);
        coir_unlend(p, COIR_I_A(w));
        coir_forget(p, COIR_I_A(w));
    }
    coir_unlend(p, COIR_I_B(w));
    coir_forget(p, COIR_I_B(w));
    return coir_put_held(p, COIR_I_A(w), h) && coir_put_held(p, COIR_I_B(w), (struct coir_held){ .kind = COIR_NULL });
}

static bool is_ref(struct coir_proof *p, uint32_t reg, const struct coir_held *h)
{
    return h->kind == COIR_OWNED || h->kind == COIR_LENT || h->kind == COIR_NULL
        || coir_proof_wrong(p, "r%u %s, not a reference", reg, coir_held_words(h).text);
}

static bool rule_lend(struct coir_proof *p, uint64_t w)
{
    struct coir_held h = coir_held_at(p, COIR_I_B(w));

    if (!is_ref(p, COIR_I_B(w), &h))
        return false;
    if (h.kind == COIR_OWNED) {
        h.kind = COIR_LENT;
        h.from = COIR_I_B(w);
    }
    return coir_put_held(p, COIR_I_A(w), h);
}

static bool rule_copy(struct coir_proof *p, uint64_t w)
{
    struct coir_held h = coir_held_at(p, COIR_I_B(w));

    if (!is_ref(p, COIR_I_B(w), &h) || (h.kind != COIR_NULL && !coir_may_copy(p, h.type)))
        return false;
    if (h.kind == COIR_LENT)
        h = (struct coir_held){ .kind = COIR_OWNED, .type = h.type, .nullable = h.nullable };
    return coir_put_held(p, COIR_I_A(w), h);
}

static bool rule_drop(struct coir_proof *p, uint64_t w)
{
    const struct coir_held h = coir_held_at(p, COIR_I_A(w));

    if (h.kind != COIR_OWNED && h.kind != COIR_NULL)
        return coir_proof_wrong(p, "r%u %s, and is to be dropped", COIR_I_A(w), coir_held_words(&h).text);
    coir_unlend(p, COIR_I_A(w));
    coir_forget(p, COIR_I_A(w));
    return true;
}

static bool rule_null(struct coir_proof *p, uint64_t w)
{
    return coir_put_held(p, COIR_I_A(w), (struct coir_held){ .kind = COIR_NULL });
}

/* The register is null, or not, from here on. */
static void refine(struct coir_proof *p, uint32_t reg, bool null)
{
    if (!coir_bit(p->refs, reg) || p->held[reg].kind == COIR_NULL)
        return;
    if (!null) {
        p->held[reg].nullable = false;
        return;
    }
    coir_unlend(p, reg);
    p->held[reg] = (struct coir_held){ .kind = COIR_NULL };
}

static bool rule_nonnull(struct coir_proof *p, uint64_t w)
{
    const struct coir_held h = coir_held_at(p, COIR_I_A(w));

    if (h.kind != COIR_OWNED && h.kind != COIR_LENT)
        return coir_proof_wrong(p, "r%u %s, never a reference", COIR_I_A(w), coir_held_words(&h).text);
    refine(p, COIR_I_A(w), false);
    return true;
}

static bool rule_constt(struct coir_proof *p, uint64_t w)
{
    return coir_put_lent(p, COIR_I_A(w), type_of(p, COIR_TYPE_TEXT), false, COIR_FROM_PROGRAM);
}

static bool rule_global(struct coir_proof *p, uint64_t w)
{
    return coir_lend_layout(p, COIR_I_A(w), &p->l->p->global_layout[COIR_I_X(w)], 1, COIR_FROM_PROGRAM);
}

static bool rule_gset(struct coir_proof *p, uint64_t w)
{
    if (!p->f->is_init)
        return coir_proof_wrong(p, "globals are set in the init function only");
    return coir_prove_take(p, COIR_I_A(w), &p->l->p->global_layout[COIR_I_X(w)], 1);
}

/* ---- branches on references ---- */

static bool rule_jnull(struct coir_proof *p, uint64_t w)
{
    const bool null = COIR_I_OP(w) == COIR_OP_JNULL;
    const struct coir_held h = coir_held_at(p, COIR_I_A(w));

    if (!is_ref(p, COIR_I_A(w), &h))
        return false;
    if (h.kind == COIR_NULL || !h.nullable) {       /* what is known goes one way only */
        p->ends = (h.kind == COIR_NULL) == null;
        return !p->ends || coir_proof_flow(p, p->pc + (uint32_t)COIR_I_SX(w));
    }
    refine(p, COIR_I_A(w), null);
    if (!coir_proof_flow(p, p->pc + (uint32_t)COIR_I_SX(w)))
        return false;
    p->held[COIR_I_A(w)] = h;
    refine(p, COIR_I_A(w), !null);
    return true;
}

static bool rule_jis(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = coir_borrow_kind(p, COIR_I_A(w), COIR_TYPE_SUM);

    if (!t)
        return false;
    if (COIR_I_D(w) >= t->nvariants)
        return coir_proof_wrong(p, "%s has no variant %u", t->name, COIR_I_D(w));
    return coir_proof_flow(p, p->pc + (uint32_t)COIR_I_SX(w));
}

/* ---- records and sums ---- */

static bool rule_new(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = type_of(p, COIR_I_B(w));

    if (t->kind != COIR_TYPE_RECORD)
        return coir_proof_wrong(p, "type %u is no record", t->index);
    return coir_prove_take(p, COIR_I_C(w), t->cell, t->cell_slots) && coir_put_owned(p, COIR_I_A(w), t, false);
}

static const struct coir_variant *variant_of(struct coir_proof *p, const struct coir_type *t, uint32_t variant)
{
    if (t && variant < t->nvariants)
        return &t->variants[variant];
    if (t)
        coir_proof_wrong(p, "%s has no variant %u", t->name, variant);
    return NULL;
}

static bool rule_newv(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = type_of(p, COIR_I_B(w));
    const struct coir_variant *v;

    if (t->kind != COIR_TYPE_SUM)
        return coir_proof_wrong(p, "type %u is no sum with payloads", t->index);
    v = variant_of(p, t, COIR_I_D(w));
    return v && coir_prove_take(p, COIR_I_C(w), v->layout, v->slots) && coir_put_owned(p, COIR_I_A(w), t, false);
}

/* A slot of some, which must be a word or a reference. */
static const struct coir_slot *slot_of(struct coir_proof *p, const struct coir_slot *slots, uint32_t n, uint32_t i,
                                       bool word)
{
    if (i >= n)
        coir_proof_wrong(p, "slot %u of %u", i, n);
    else if (word == (slots[i].ref == NULL))
        return &slots[i];
    else
        coir_proof_wrong(p, "slot %u is %s", i, coir_slot_words(&slots[i]).text);
    return NULL;
}

/* A slot of the cell of a record, or of the closure whose body this is. */
static const struct coir_slot *cell_slot(struct coir_proof *p, uint32_t reg, uint32_t i, bool word)
{
    const struct coir_held h = coir_held_at(p, reg);
    const struct coir_type *t;

    if (h.kind == COIR_LENT && h.cell)
        return slot_of(p, p->f->capture_layout, p->f->capture_slots, i, word);
    t = coir_borrow_kind(p, reg, COIR_TYPE_RECORD);
    return t ? slot_of(p, t->cell, t->cell_slots, i, word) : NULL;
}

static bool rule_getw(struct coir_proof *p, uint64_t w)
{
    return cell_slot(p, COIR_I_B(w), COIR_I_C(w), true) && coir_put_word(p, COIR_I_A(w));
}

static bool put_copy(struct coir_proof *p, uint32_t reg, const struct coir_slot *s)
{
    return s && coir_may_copy(p, s->ref) && coir_put_owned(p, reg, s->ref, s->nullable);
}

static bool rule_getr(struct coir_proof *p, uint64_t w)
{
    return put_copy(p, COIR_I_A(w), cell_slot(p, COIR_I_B(w), COIR_I_C(w), false));
}

static bool rule_lendf(struct coir_proof *p, uint64_t w)
{
    const struct coir_slot *s = cell_slot(p, COIR_I_B(w), COIR_I_C(w), false);

    return s && coir_put_lent(p, COIR_I_A(w), s->ref, s->nullable, coir_lender(p, COIR_I_B(w)));
}

static bool rule_setw(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = coir_owned_kind(p, COIR_I_A(w), COIR_TYPE_RECORD);

    return t && slot_of(p, t->cell, t->cell_slots, COIR_I_B(w), true) && coir_read_word(p, COIR_I_C(w));
}

static bool rule_setr(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = coir_owned_kind(p, COIR_I_A(w), COIR_TYPE_RECORD);
    const struct coir_slot *s = t ? slot_of(p, t->cell, t->cell_slots, COIR_I_B(w), false) : NULL;

    return s && coir_apart(p, COIR_I_C(w), 1, COIR_I_A(w)) && coir_prove_take(p, COIR_I_C(w), s, 1);
}

static bool rule_tag(struct coir_proof *p, uint64_t w)
{
    return coir_borrow_kind(p, COIR_I_B(w), COIR_TYPE_SUM) && coir_put_word(p, COIR_I_A(w));
}

static const struct coir_slot *payload_slot(struct coir_proof *p, uint64_t w, bool word)
{
    const struct coir_variant *v = variant_of(p, coir_borrow_kind(p, COIR_I_B(w), COIR_TYPE_SUM), COIR_I_D(w));

    return v ? slot_of(p, v->layout, v->slots, COIR_I_C(w), word) : NULL;
}

static bool rule_getpw(struct coir_proof *p, uint64_t w)
{
    return payload_slot(p, w, true) && coir_put_word(p, COIR_I_A(w));
}

static bool rule_getpr(struct coir_proof *p, uint64_t w)
{
    return put_copy(p, COIR_I_A(w), payload_slot(p, w, false));
}

static bool rule_lendp(struct coir_proof *p, uint64_t w)
{
    const struct coir_slot *s = payload_slot(p, w, false);

    return s && coir_put_lent(p, COIR_I_A(w), s->ref, s->nullable, coir_lender(p, COIR_I_B(w)));
}

static bool rule_unpack(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = coir_borrow_kind(p, COIR_I_B(w), COIR_TYPE_SUM);
    const struct coir_variant *v = variant_of(p, t, COIR_I_D(w));
    const struct coir_slot whole = { t, false };

    return v && coir_apart(p, COIR_I_A(w), v->slots, COIR_I_B(w)) && coir_prove_take(p, COIR_I_B(w), &whole, 1)
        && coir_put_layout(p, COIR_I_A(w), v->layout, v->slots);
}

/* ---- places ---- */

static bool rule_preg(struct coir_proof *p, uint64_t w)
{
    const struct coir_held h = coir_held_at(p, COIR_I_B(w));

    if (h.kind != COIR_OWNED || h.nullable)
        return coir_proof_wrong(p, "r%u %s, and a place is to be in it", COIR_I_B(w), coir_held_words(&h).text);
    coir_unlend(p, COIR_I_B(w));
    return coir_put_held(p, COIR_I_A(w), (struct coir_held){ .kind = COIR_PLACE, .from = COIR_I_B(w),
        .slots = h.type->layout, .nslots = 1 });
}

/* A slot of the place in a register; *from is the register that it is inside of. */
static const struct coir_slot *place_slot(struct coir_proof *p, uint32_t reg, uint32_t i, bool word, uint32_t *from)
{
    const struct coir_held h = coir_held_at(p, reg);

    if (h.kind != COIR_PLACE) {
        coir_proof_wrong(p, "r%u %s, not a place", reg, coir_held_words(&h).text);
        return NULL;
    }
    *from = h.from;
    return slot_of(p, h.slots, h.nslots, i, word);
}

/* What slot B of place A refers to, of this kind. */
static const struct coir_type *place_of(struct coir_proof *p, uint64_t w, enum coir_type_kind kind, uint32_t *from)
{
    const struct coir_slot *s = place_slot(p, COIR_I_A(w), COIR_I_B(w), false, from);

    if (s && s->ref->kind == kind)
        return s->ref;
    if (s)
        coir_proof_wrong(p, "slot %u is %s", COIR_I_B(w), coir_slot_words(s).text);
    return NULL;
}

static bool go_to(struct coir_proof *p, uint64_t w, const struct coir_slot *slots, uint32_t n)
{
    p->held[COIR_I_A(w)].slots = slots;
    p->held[COIR_I_A(w)].nslots = n;
    p->held[COIR_I_A(w)].cell = true;
    return true;
}

static bool rule_pfld(struct coir_proof *p, uint64_t w)
{
    uint32_t from;
    const struct coir_type *t = place_of(p, w, COIR_TYPE_RECORD, &from);

    if (!t)
        return false;
    if (COIR_I_C(w) >= t->cell_slots)
        return coir_proof_wrong(p, "slot %u of %u", COIR_I_C(w), t->cell_slots);
    return go_to(p, w, t->cell + COIR_I_C(w), t->cell_slots - COIR_I_C(w));
}

static bool rule_pidx(struct coir_proof *p, uint64_t w)
{
    uint32_t from;
    const struct coir_type *t = place_of(p, w, COIR_TYPE_LIST, &from);

    return t && coir_read_word(p, COIR_I_C(w)) && go_to(p, w, t->element->layout, t->element->slots);
}

static bool rule_pkey(struct coir_proof *p, uint64_t w)
{
    uint32_t from;
    const struct coir_type *t = place_of(p, w, COIR_TYPE_MAP, &from);

    return t && coir_borrow(p, COIR_I_C(w), t->key->layout, t->key->slots)
        && coir_apart(p, COIR_I_C(w), t->key->slots, from) && go_to(p, w, t->element->layout, t->element->slots);
}

static bool rule_pldw(struct coir_proof *p, uint64_t w)
{
    uint32_t from;

    return place_slot(p, COIR_I_B(w), COIR_I_C(w), true, &from) && coir_put_word(p, COIR_I_A(w));
}

/* Whether null is a value of the slot that a PLDR or PTAKE reads: the address alone does not say, so D does, for the
 * interpreter. There is one way to the instruction, since places live over no branch. */
static void note_null(struct coir_proof *p, const struct coir_slot *s)
{
    uint64_t *word = (uint64_t *)&p->f->code[p->pc];

    if (s->nullable && !COIR_I_D(*word))
        *word |= 1 << 8;
}

static bool rule_pldr(struct coir_proof *p, uint64_t w)
{
    uint32_t from;
    const struct coir_slot *s = place_slot(p, COIR_I_B(w), COIR_I_C(w), false, &from);

    if (s)
        note_null(p, s);
    return put_copy(p, COIR_I_A(w), s);
}

static bool rule_pstw(struct coir_proof *p, uint64_t w)
{
    uint32_t from;

    return place_slot(p, COIR_I_A(w), COIR_I_B(w), true, &from) && coir_read_word(p, COIR_I_C(w));
}

static bool rule_pstr(struct coir_proof *p, uint64_t w)
{
    uint32_t from;
    const struct coir_slot *s = place_slot(p, COIR_I_A(w), COIR_I_B(w), false, &from);

    return s && coir_apart(p, COIR_I_C(w), 1, from) && coir_prove_take(p, COIR_I_C(w), s, 1);
}

static bool rule_ptake(struct coir_proof *p, uint64_t w)
{
    const struct coir_held h = coir_held_at(p, COIR_I_B(w));
    uint32_t from;
    const struct coir_slot *s = place_slot(p, COIR_I_B(w), COIR_I_C(w), false, &from);

    if (!s)
        return false;
    if (!h.cell)
        return coir_proof_wrong(p, "r%u is a register's place: that is moved with MOVE", COIR_I_B(w));
    note_null(p, s);
    return coir_put_owned(p, COIR_I_A(w), s->ref, s->nullable);
}

static bool rule_pcat(struct coir_proof *p, uint64_t w)
{
    const struct coir_slot text = { type_of(p, COIR_TYPE_TEXT), false };
    uint32_t from;

    return place_of(p, w, COIR_TYPE_TEXT, &from) && coir_apart(p, COIR_I_C(w), 1, from)
        && coir_borrow(p, COIR_I_C(w), &text, 1);
}

static bool rule_ppush(struct coir_proof *p, uint64_t w)
{
    uint32_t from;
    const struct coir_type *t = place_of(p, w, COIR_TYPE_LIST, &from);

    return t && coir_apart(p, COIR_I_C(w), t->element->slots, from)
        && coir_prove_take(p, COIR_I_C(w), t->element->layout, t->element->slots);
}

coir_rule *const coir_value_rules[COIR_OP_COUNT] = {
    [COIR_OP_MOVE] = rule_move, [COIR_OP_SET] = rule_move, [COIR_OP_LEND] = rule_lend, [COIR_OP_COPY] = rule_copy,
    [COIR_OP_DROP] = rule_drop, [COIR_OP_NULL] = rule_null, [COIR_OP_NONNULL] = rule_nonnull,
    [COIR_OP_CONSTT] = rule_constt, [COIR_OP_GLOBAL] = rule_global, [COIR_OP_GSET] = rule_gset,
    [COIR_OP_JNULL] = rule_jnull, [COIR_OP_JNNULL] = rule_jnull, [COIR_OP_JIS] = rule_jis, [COIR_OP_JISNT] = rule_jis,
    [COIR_OP_NEW] = rule_new, [COIR_OP_NEWV] = rule_newv, [COIR_OP_GETW] = rule_getw, [COIR_OP_GETR] = rule_getr,
    [COIR_OP_LENDF] = rule_lendf, [COIR_OP_SETW] = rule_setw, [COIR_OP_SETR] = rule_setr, [COIR_OP_TAG] = rule_tag,
    [COIR_OP_GETPW] = rule_getpw, [COIR_OP_GETPR] = rule_getpr, [COIR_OP_LENDP] = rule_lendp,
    [COIR_OP_UNPACK] = rule_unpack,
    [COIR_OP_PREG] = rule_preg, [COIR_OP_PFLD] = rule_pfld, [COIR_OP_PIDX] = rule_pidx, [COIR_OP_PKEY] = rule_pkey,
    [COIR_OP_PLDW] = rule_pldw, [COIR_OP_PLDR] = rule_pldr, [COIR_OP_PSTW] = rule_pstw, [COIR_OP_PSTR] = rule_pstr,
    [COIR_OP_PTAKE] = rule_ptake, [COIR_OP_PCAT] = rule_pcat, [COIR_OP_PPUSH] = rule_ppush,
};
