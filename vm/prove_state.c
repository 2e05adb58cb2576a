/* SPDX-License-Identifier: MIT */
/*
 * The current state of the proof: reading and writing registers in it. What is wrong is said here, in one form: the
 * register, what it holds, what was wanted. Nothing here knows instructions.
 */
#include "vm/prove.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool coir_proof_wrong(struct coir_proof *p, const char *format, ...)
{
    char what[256];
    va_list ap;

    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    return coir_load_wrong(p->l, "function %s, pc %u, line %u: %s: %s", p->f->name, p->pc, coir_line_of(p->f, p->pc),
                           coir_ops[COIR_I_OP(p->f->code[p->pc])].name, what);
}

struct coir_held coir_held_at(const struct coir_proof *p, uint32_t reg)
{
    if (coir_bit(p->refs, reg))
        return p->held[reg];
    return (struct coir_held){ .kind = coir_bit(p->words, reg) ? COIR_HAS_WORD : COIR_EMPTY };
}

struct coir_words coir_held_words(const struct coir_held *h)
{
    struct coir_words w;
    char type[64];

    switch (h->kind) {
    case COIR_EMPTY:
        snprintf(w.text, sizeof w.text, "is empty");
        break;
    case COIR_HAS_WORD:
        snprintf(w.text, sizeof w.text, "is a word");
        break;
    case COIR_NULL:
        snprintf(w.text, sizeof w.text, "is null");
        break;
    case COIR_PLACE:
        snprintf(w.text, sizeof w.text, "is a place");
        break;
    default:
        snprintf(w.text, sizeof w.text, "%s %s%s", h->kind == COIR_OWNED ? "owns" : "is lent",
                 coir_write_type(h->type, type, sizeof type), h->nullable ? " or null" : "");
    }
    return w;
}

struct coir_words coir_slot_words(const struct coir_slot *slot)
{
    struct coir_words w;
    char type[64];

    if (!slot->ref)
        snprintf(w.text, sizeof w.text, "a word");
    else
        snprintf(w.text, sizeof w.text, "%s%s", coir_write_type(slot->ref, type, sizeof type),
                 slot->nullable ? " or null" : "");
    return w;
}

/* "r3 is a word, not Text". */
static bool not_that(struct coir_proof *p, uint32_t reg, const struct coir_held *h, const char *want)
{
    return coir_proof_wrong(p, "r%u %s, not %s", reg, coir_held_words(h).text, want);
}

bool coir_has_registers(struct coir_proof *p, uint32_t reg, uint32_t n)
{
    return reg + n <= p->nregs
        || coir_proof_wrong(p, "%u registers from r%u: there are %u", n, reg, p->nregs);
}

/* ---- reading ---- */

bool coir_read_word(struct coir_proof *p, uint32_t reg)
{
    const struct coir_held h = coir_held_at(p, reg);

    return h.kind == COIR_HAS_WORD || not_that(p, reg, &h, "a word");
}

static bool fits(const struct coir_held *h, const struct coir_slot *slot, bool owned)
{
    if (!slot->ref)
        return h->kind == COIR_HAS_WORD;
    if (h->kind == COIR_NULL)
        return slot->nullable;
    if (h->kind != COIR_OWNED && (owned || h->kind != COIR_LENT))
        return false;
    return h->type == slot->ref && (slot->nullable || !h->nullable);
}

bool coir_borrow(struct coir_proof *p, uint32_t reg, const struct coir_slot *slots, uint32_t n)
{
    if (!coir_has_registers(p, reg, n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct coir_held h = coir_held_at(p, reg + i);

        if (!fits(&h, &slots[i], false))
            return not_that(p, reg + i, &h, coir_slot_words(&slots[i]).text);
    }
    return true;
}

bool coir_prove_take(struct coir_proof *p, uint32_t reg, const struct coir_slot *slots, uint32_t n)
{
    if (!coir_has_registers(p, reg, n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct coir_held h = coir_held_at(p, reg + i);

        if (!fits(&h, &slots[i], true))
            return coir_proof_wrong(p, "r%u %s, and is to give up %s", reg + i, coir_held_words(&h).text,
                                    coir_slot_words(&slots[i]).text);
        if (!slots[i].ref)
            continue;
        coir_unlend(p, reg + i);
        coir_forget(p, reg + i);
    }
    return true;
}

static const char *kind_words(enum coir_type_kind kind)
{
    static const char *const words[COIR_TYPE_KINDS] = {
        [COIR_TYPE_TEXT] = "a Text", [COIR_TYPE_LIST] = "a list", [COIR_TYPE_MAP] = "a map",
        [COIR_TYPE_RECORD] = "a record", [COIR_TYPE_SUM] = "a sum", [COIR_TYPE_FUNC] = "a function value",
        [COIR_TYPE_CHAN] = "a channel", [COIR_TYPE_GROUP] = "a group", [COIR_TYPE_TASK] = "a Task",
        [COIR_TYPE_ACTOR] = "an actor",
    };

    return words[kind] ? words[kind] : "that";
}

const struct coir_type *coir_borrow_kind(struct coir_proof *p, uint32_t reg, enum coir_type_kind kind)
{
    const struct coir_held h = coir_held_at(p, reg);

    if ((h.kind == COIR_OWNED || h.kind == COIR_LENT) && h.type->kind == kind && !h.nullable)
        return h.type;
    not_that(p, reg, &h, kind_words(kind));
    return NULL;
}

const struct coir_type *coir_owned_kind(struct coir_proof *p, uint32_t reg, enum coir_type_kind kind)
{
    const struct coir_held h = coir_held_at(p, reg);

    if (h.kind == COIR_OWNED && h.type->kind == kind && !h.nullable)
        return h.type;
    coir_proof_wrong(p, "r%u %s, and %s of its own is to be changed", reg, coir_held_words(&h).text, kind_words(kind));
    return NULL;
}

bool coir_apart(struct coir_proof *p, uint32_t reg, uint32_t n, uint32_t root)
{
    return root < reg || root >= reg + n
        || coir_proof_wrong(p, "r%u is what is changed, and an operand, too", root);
}

uint32_t coir_lender(struct coir_proof *p, uint32_t reg)
{
    const struct coir_held h = coir_held_at(p, reg);

    return h.kind == COIR_LENT ? h.from : reg;
}

/* ---- writing ---- */

static bool writable(struct coir_proof *p, uint32_t reg)
{
    const struct coir_held h = coir_held_at(p, reg);

    if (!coir_has_registers(p, reg, 1))
        return false;
    return h.kind != COIR_OWNED
        || coir_proof_wrong(p, "r%u %s, and is written: it must be dropped or moved first", reg,
                            coir_held_words(&h).text);
}

bool coir_put_word(struct coir_proof *p, uint32_t reg)
{
    if (!writable(p, reg))
        return false;
    coir_bit_clear(p->refs, reg);
    coir_bit_set(p->words, reg);
    return true;
}

bool coir_put_held(struct coir_proof *p, uint32_t reg, struct coir_held h)
{
    if (!coir_has_registers(p, reg, 1) || !writable(p, reg))
        return false;
    p->held[reg] = h;
    coir_bit_clear(p->words, reg);
    coir_bit_set(p->refs, reg);
    if ((h.kind == COIR_LENT || h.kind == COIR_PLACE) && h.from < p->nregs)
        coir_bit_set(p->lenders, h.from);
    p->places |= h.kind == COIR_PLACE;
    return true;
}

bool coir_put_owned(struct coir_proof *p, uint32_t reg, const struct coir_type *type, bool nullable)
{
    return coir_put_held(p, reg, (struct coir_held){ .kind = COIR_OWNED, .type = type, .nullable = nullable });
}

bool coir_put_lent(struct coir_proof *p, uint32_t reg, const struct coir_type *type, bool nullable, uint32_t from)
{
    return coir_put_held(p, reg, (struct coir_held){ .kind = COIR_LENT, .type = type, .nullable = nullable,
        .from = from });
}

bool coir_put_layout(struct coir_proof *p, uint32_t reg, const struct coir_slot *slots, uint32_t n)
{
    if (!coir_has_registers(p, reg, n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!(slots[i].ref ? coir_put_owned(p, reg + i, slots[i].ref, slots[i].nullable) : coir_put_word(p, reg + i)))
            return false;
    }
    return true;
}

bool coir_lend_layout(struct coir_proof *p, uint32_t reg, const struct coir_slot *slots, uint32_t n, uint32_t from)
{
    if (!coir_has_registers(p, reg, n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!(slots[i].ref ? coir_put_lent(p, reg + i, slots[i].ref, slots[i].nullable, from)
                : coir_put_word(p, reg + i)))
            return false;
    }
    return true;
}

bool coir_may_copy(struct coir_proof *p, const struct coir_type *type)
{
    char text[64];

    return (!type->owns && type->kind != COIR_TYPE_GROUP && type->kind != COIR_TYPE_SCOPE)
        || coir_proof_wrong(p, "%s has one owner, and cannot be copied", coir_write_type(type, text, sizeof text));
}

/* ---- forgetting ---- */

void coir_forget(struct coir_proof *p, uint32_t reg)
{
    coir_bit_clear(p->refs, reg);
    coir_bit_clear(p->words, reg);
}

void coir_unlend(struct coir_proof *p, uint32_t from)
{
    if (!coir_bit(p->lenders, from))
        return;
    coir_bit_clear(p->lenders, from);
    for (uint32_t i = 0; i < p->nwords; i++) {
        for (uint64_t bits = p->refs[i]; bits; bits &= bits - 1) {
            const uint32_t reg = i * 64 + (uint32_t)__builtin_ctzll(bits);
            const struct coir_held *h = &p->held[reg];

            if ((h->kind == COIR_LENT || h->kind == COIR_PLACE) && h->from == from)
                coir_bit_clear(p->refs, reg);
        }
    }
    coir_proof_pay(p, p->nwords);
}

void coir_forget_from(struct coir_proof *p, uint32_t reg)
{
    const uint64_t keep = (UINT64_C(1) << reg % 64) - 1;

    for (uint32_t i = reg / 64; i < p->nwords; i++) {
        const uint64_t mask = i == reg / 64 ? keep : 0;

        p->refs[i] &= mask;
        p->words[i] &= mask;
    }
    coir_proof_pay(p, p->nwords - reg / 64);
}
