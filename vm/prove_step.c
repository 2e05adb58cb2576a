/* SPDX-License-Identifier: MIT */
/*
 * One instruction of the proof: what holds of all alike. First what is lent from the register that it changes is gone,
 * since a trap may come after the copy was made; then places die, unless it keeps them; then the ways by traps are
 * taken with what it finds; then its own rule, or, if it has none, its letters: words read, words written, a branch.
 */
#include "vm/prove.h"

/* Whether register A is changed: made unique, and its contents moved. */
static bool changes(unsigned op)
{
    switch (op) {
    case COIR_OP_SETW:
    case COIR_OP_SETR:
    case COIR_OP_LSETW:
    case COIR_OP_LSETR:
    case COIR_OP_LSET:
    case COIR_OP_LPUSHW:
    case COIR_OP_LPUSH:
    case COIR_OP_LPUTW:
    case COIR_OP_LPUTR:
    case COIR_OP_MSET:
    case COIR_OP_APPEND:
    case COIR_OP_FORMAT:
        return true;
    default:
        return false;
    }
}

static void places_die(struct coir_proof *p)
{
    for (uint32_t i = 0; i < p->nwords; i++) {
        for (uint64_t bits = p->refs[i]; bits; bits &= bits - 1) {
            const uint32_t reg = i * 64 + (uint32_t)__builtin_ctzll(bits);

            if (p->held[reg].kind == COIR_PLACE)
                coir_bit_clear(p->refs, reg);
        }
    }
    p->places = false;
    coir_proof_pay(p, p->nwords);
}

/* By the letters of its format, of an instruction of words only. */
static bool by_letters(struct coir_proof *p, uint64_t w)
{
    const struct coir_op_info *op = &coir_ops[COIR_I_OP(w)];
    const uint16_t operands[] = { COIR_I_A(w), COIR_I_B(w), COIR_I_C(w) };

    for (unsigned i = 0; i < 3; i++) {
        if (op->format[i] == 'w' && !coir_read_word(p, operands[i]))
            return false;
    }
    for (unsigned i = 0; i < 3; i++) {
        if (op->format[i] == 'W' && !coir_put_word(p, operands[i]))
            return false;
        if (op->format[i] == 'r')
            return coir_proof_wrong(p, "there is no rule for it");
    }
    if (!(op->flags & COIR_BRANCHES))
        return true;
    return coir_proof_flow(p, p->pc + (uint32_t)(op->format[1] == 'J' ? COIR_I_SX(w) : COIR_I_SC(w)));
}

/* To each of the JMPs' targets; it goes on behind them. */
static bool by_switch(struct coir_proof *p, uint64_t w)
{
    if (!coir_read_word(p, COIR_I_A(w)))
        return false;
    for (uint32_t i = 1; i <= COIR_I_B(w); i++) {
        const uint32_t to = p->pc + i + (uint32_t)COIR_I_SX(p->f->code[p->pc + i]);

        if (!coir_proof_pay(p, 1) || !coir_proof_flow(p, to))
            return false;
    }
    return true;
}

static bool step(struct coir_proof *p, uint64_t w)
{
    const unsigned op = COIR_I_OP(w);
    coir_rule *rule = coir_value_rules[op];

    if (changes(op))
        coir_unlend(p, COIR_I_A(w));
    if (p->places && !(coir_ops[op].flags & COIR_KEEPS))
        places_die(p);
    if ((coir_ops[op].flags & COIR_MAY_TRAP) && op != COIR_OP_CALLN && op != COIR_OP_MSG
            && !coir_proof_trap(p))
        return false;
    if (op == COIR_OP_SWITCH)
        return by_switch(p, w);
    if (!rule)
        rule = coir_list_rules[op] ? coir_list_rules[op] : coir_call_rules[op];
    return rule ? rule(p, w) : by_letters(p, w);
}

bool coir_proof_step(struct coir_proof *p, uint32_t *next)
{
    const uint64_t w = p->f->code[p->pc];
    const struct coir_op_info *op = &coir_ops[COIR_I_OP(w)];
    uint32_t words = 1;

    p->ends = false;
    if (!step(p, w) || p->l->failed)
        return false;
    if (COIR_I_OP(w) == COIR_OP_SELECT || COIR_I_OP(w) == COIR_OP_SWITCH)
        words += COIR_I_OP(w) == COIR_OP_SELECT ? COIR_I_C(w) : COIR_I_B(w);
    else if (op->flags & COIR_EXTENDS)
        words++;
    *next = p->pc + words;
    if ((op->flags & COIR_ENDS) || p->ends || (COIR_I_OP(w) == COIR_OP_SELECT && !(COIR_I_D(w) & 1)))
        *next = UINT32_MAX;
    return true;
}
