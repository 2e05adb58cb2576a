/* SPDX-License-Identifier: MIT */
/*
 * The rules of calls, of what makes and waits for fibers, and of raising traps: see prove_rules.c. A call's window must
 * own nothing but its arguments from its first register on, since the callee's registers lie over it.
 */
#include "vm/prove.h"

static const struct coir_type *type_of(struct coir_proof *p, uint32_t type)
{
    return &p->l->p->types.all[type];
}

/* ---- calls ---- */

struct call {
    const struct coir_param *params;
    uint32_t nparams;
    const struct coir_type *result;
    uint32_t mut, slots;                /* registers of the mut arguments, of all */
};

/* A lent argument lies there without being owned: its register is written over by the result. */
static bool lent_argument(struct coir_proof *p, uint32_t window, uint32_t reg, const struct coir_type *t)
{
    if (!coir_borrow(p, reg, t->layout, t->slots))
        return false;
    for (uint32_t i = 0; i < t->slots; i++) {
        const struct coir_held h = coir_held_at(p, reg + i);

        if (h.kind == COIR_OWNED)
            return coir_proof_wrong(p, "r%u %s, and the parameter is lent: LEND it into the window", reg + i,
                                    coir_held_words(&h).text);
        if (h.kind == COIR_LENT && h.from >= window && h.from < p->nregs)
            return coir_proof_wrong(p, "r%u is lent from r%u, which the callee may drop", reg + i, h.from);
    }
    return true;
}

/* What is not an argument, and owned, at or behind reg. */
static bool nothing_owned(struct coir_proof *p, uint32_t reg)
{
    for (uint32_t i = reg / 64; i < p->nwords; i++) {
        uint64_t bits = p->refs[i];

        if (i == reg / 64)
            bits &= ~UINT64_C(0) << reg % 64;
        for (; bits; bits &= bits - 1) {
            const uint32_t at = i * 64 + (uint32_t)__builtin_ctzll(bits);

            if (p->held[at].kind == COIR_OWNED)
                return coir_proof_wrong(p, "r%u %s, and lies where the callee's registers are", at,
                                        coir_held_words(&p->held[at]).text);
        }
    }
    return coir_proof_pay(p, p->nwords - reg / 64);
}

/* The arguments are the callee's; from the window on everything is empty. */
static bool give(struct coir_proof *p, uint32_t window, const struct call *c)
{
    uint32_t at = window;

    if (!coir_has_registers(p, window, c->slots) || !coir_has_registers(p, window, c->mut + c->result->slots))
        return false;
    for (uint32_t i = 0; i < c->nparams; i++) {
        const struct coir_type *t = c->params[i].type;

        if (!(c->params[i].mode == COIR_MODE_LEND ? lent_argument(p, window, at, t)
                : coir_prove_take(p, at, t->layout, t->slots)))
            return false;
        at += t->slots;
    }
    if (!nothing_owned(p, window))
        return false;
    coir_forget_from(p, window);
    return true;
}

/* The mut arguments are back. */
static bool give_back(struct coir_proof *p, uint32_t window, const struct call *c)
{
    uint32_t at = window;

    for (uint32_t i = 0; i < c->nparams && c->params[i].mode == COIR_MODE_MUT; i++) {
        const struct coir_type *t = c->params[i].type;

        if (!coir_put_layout(p, at, t->layout, t->slots))
            return false;
        at += t->slots;
    }
    return true;
}

static bool put_result(struct coir_proof *p, uint32_t window, const struct call *c)
{
    return coir_put_layout(p, window + c->mut, c->result->layout, c->result->slots);
}

/* Of the callee's frame nothing is left but the mut arguments, if it is left by a trap. */
static bool call(struct coir_proof *p, uint32_t window, const struct call *c)
{
    bool good;

    if (!give(p, window, c) || !give_back(p, window, c))
        return false;
    p->inside = true;
    good = coir_proof_trap(p);
    p->inside = false;
    return good && put_result(p, window, c);
}

static bool rule_call(struct coir_proof *p, uint64_t w)
{
    const struct coir_function *f = &p->l->p->functions[COIR_I_X(w)];
    const struct call c = { f->params, f->nparams, f->result, f->mut_slots, f->slots };

    if (f->closure)
        return coir_proof_wrong(p, "%s is the body of a closure, which is called by its value", f->name);
    return call(p, COIR_I_A(w), &c);
}

static bool rule_callc(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = coir_borrow_kind(p, COIR_I_B(w), COIR_TYPE_FUNC);
    struct call c;

    if (!t)
        return false;
    c = (struct call){ .params = t->params, .nparams = t->nparams, .result = t->element };
    coir_count_slots(t->params, t->nparams, &c.mut, &c.slots);
    if (COIR_I_B(w) >= COIR_I_A(w))
        return coir_proof_wrong(p, "the function value r%u lies in the window", COIR_I_B(w));
    const uint32_t from = coir_lender(p, COIR_I_B(w));
    if (from >= COIR_I_A(w) && from < p->nregs)
        return coir_proof_wrong(p, "the function value r%u is lent from r%u, in the window", COIR_I_B(w), from);
    return coir_has_registers(p, COIR_I_A(w), c.slots + 1) && call(p, COIR_I_A(w), &c);
}

/* The own arguments that a native has not taken when it traps are still there; so they are, for the drop map, as they
 * were, and for a handler maybe. */
static bool outside(struct coir_proof *p, uint32_t window, const struct call *c)
{
    uint32_t at = window + c->mut;

    if (!give(p, window, c) || !give_back(p, window, c))
        return false;
    for (uint32_t i = 0; i < c->nparams; i++) {
        const struct coir_type *t = c->params[i].type;

        for (uint32_t k = 0; c->params[i].mode == COIR_MODE_OWN && k < t->slots; k++) {
            if (t->layout[k].ref && !coir_put_owned(p, at + k, t->layout[k].ref, true))
                return false;
        }
        at += c->params[i].mode == COIR_MODE_MUT ? 0 : t->slots;
    }
    if (!coir_proof_trap(p))
        return false;
    coir_forget_from(p, window + c->mut);
    return put_result(p, window, c);
}

static bool rule_calln(struct coir_proof *p, uint64_t w)
{
    const struct coir_import *n = &p->l->p->imports[COIR_I_X(w)];
    const struct call c = { n->params, n->nparams, n->result, n->mut_slots, n->slots };

    return outside(p, COIR_I_A(w), &c);
}

/* The handler's parameters but for the state: the actor, and what is the message's own. Both forms ask the same of the
 * window; who does not wait gets nothing. */
static bool rule_msg(struct coir_proof *p, uint64_t w)
{
    const uint64_t more = p->f->code[p->pc + 1];
    const struct coir_message *m = &type_of(p, COIR_I_A(more))->messages[COIR_I_B(more)];
    const struct coir_function *f = &p->l->p->functions[m->function];
    const struct call c = { f->params + 1, f->nparams - 1, COIR_I_D(w) ? f->result : type_of(p, COIR_TYPE_UNIT), 0,
        f->slots - 1 };

    return outside(p, COIR_I_A(w), &c);
}

static bool rule_closure(struct coir_proof *p, uint64_t w)
{
    const struct coir_function *f = &p->l->p->functions[COIR_I_B(w)];

    if (!f->closure)
        return coir_proof_wrong(p, "%s is not the body of a closure", f->name);
    return coir_prove_take(p, COIR_I_C(w), f->capture_layout, f->capture_slots)
        && coir_put_owned(p, COIR_I_A(w), f->closure, false);
}

/* ---- returns ---- */

/* Nothing is owned any more behind the mut parameters. */
static bool rule_ret(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = p->f->result;

    (void)w;
    return coir_prove_take(p, p->f->mut_slots, t->layout, t->slots) && coir_proof_whole(p)
        && nothing_owned(p, p->f->mut_slots);
}

static bool rule_retv(struct coir_proof *p, uint64_t w)
{
    const struct coir_type *t = p->f->result;

    if (t->slots != 1)
        return coir_proof_wrong(p, "a result of %u slots", t->slots);
    return coir_prove_take(p, COIR_I_A(w), t->layout, 1) && coir_proof_whole(p) && nothing_owned(p, p->f->mut_slots);
}

/* ---- fibers ---- */

static bool put_index(struct coir_proof *p, uint32_t reg, uint32_t index)
{
    return coir_put_owned(p, reg, type_of(p, index), false);
}

static bool rule_spawn_actor(struct coir_proof *p, uint64_t w, const struct coir_type *t)
{
    const struct coir_slot state = { t->element, false };

    if (COIR_I_B(w) != 0)
        return coir_proof_wrong(p, "an actor runs no function, and B is %u", COIR_I_B(w));
    return coir_prove_take(p, COIR_I_C(w), &state, 1) && coir_put_owned(p, COIR_I_A(w), t, false);
}

/* A function that a fiber can begin with: all it has is its own. */
static bool rule_spawn(struct coir_proof *p, uint64_t w)
{
    const uint64_t more = p->f->code[p->pc + 1];
    const struct coir_function *f = &p->l->p->functions[COIR_I_B(w)];
    const struct coir_type *t = type_of(p, COIR_I_A(more));
    uint32_t at = COIR_I_C(w);

    if (t->kind == COIR_TYPE_ACTOR && COIR_I_OP(w) == COIR_OP_SPAWN)
        return rule_spawn_actor(p, w, t);
    if (t->kind != COIR_TYPE_TASK || t->element != f->result)
        return coir_proof_wrong(p, "type %u is not the Task of %s", t->index, f->name);
    if (f->closure)
        return coir_proof_wrong(p, "%s is the body of a closure", f->name);
    if (COIR_I_OP(w) == COIR_OP_GSPAWN && !coir_borrow_kind(p, COIR_I_B(more), COIR_TYPE_GROUP))
        return false;
    for (uint32_t i = 0; i < f->nparams; i++) {
        const struct coir_type *param = f->params[i].type;

        if (f->params[i].mode != COIR_MODE_OWN && (f->params[i].mode == COIR_MODE_MUT || !param->flat))
            return coir_proof_wrong(p, "%s has a parameter that is not its own", f->name);
        if (!coir_prove_take(p, at, param->layout, param->slots))
            return false;
        at += param->slots;
    }
    return coir_put_owned(p, COIR_I_A(w), t, false);
}

static bool rule_group(struct coir_proof *p, uint64_t w)
{
    return coir_read_word(p, COIR_I_B(w)) && put_index(p, COIR_I_A(w), COIR_INDEX_GROUP);
}

static bool rule_groom(struct coir_proof *p, uint64_t w)
{
    return coir_borrow_kind(p, COIR_I_A(w), COIR_TYPE_GROUP);
}

static bool is_trap(struct coir_proof *p, uint32_t reg)
{
    const struct coir_slot trap = { type_of(p, COIR_INDEX_TRAP), false };

    return coir_borrow(p, reg, &trap, 1);
}

static bool rule_gfail(struct coir_proof *p, uint64_t w)
{
    return rule_groom(p, w) && is_trap(p, COIR_I_B(w));
}

static bool rule_within(struct coir_proof *p, uint64_t w)
{
    return coir_read_word(p, COIR_I_B(w)) && put_index(p, COIR_I_A(w), COIR_INDEX_SCOPE);
}

static bool rule_shield(struct coir_proof *p, uint64_t w)
{
    return put_index(p, COIR_I_A(w), COIR_INDEX_SCOPE);
}

static bool rule_yield(struct coir_proof *p, uint64_t w)
{
    (void)p;
    (void)w;
    return true;
}

/* ---- select ---- */

static bool recv_arm(struct coir_proof *p, uint64_t arm, const struct coir_type *element, uint32_t to)
{
    const uint32_t window = COIR_I_B(arm);
    const bool bare = coir_type_is_ref(element);

    if (!coir_has_registers(p, window, element->slots + !bare) || (!bare && !coir_put_word(p, window)))
        return false;
    for (uint32_t i = 0; i < element->slots; i++) {
        const struct coir_slot s = { element->layout[i].ref, true };

        if (!coir_put_layout(p, window + i + !bare, &s, 1))
            return false;
    }
    if (!coir_proof_flow(p, to))
        return false;
    for (uint32_t i = 0; i < element->slots + !bare; i++)
        coir_forget(p, window + i);
    return true;
}

/* What is sent is taken on the arm's way only. */
static bool send_arm(struct coir_proof *p, uint64_t arm, const struct coir_type *element, uint32_t to)
{
    const uint32_t window = COIR_I_B(arm);
    struct coir_held kept[COIR_VALUE_SLOTS];

    if (!coir_has_registers(p, window, element->slots))
        return false;
    for (uint32_t i = 0; i < element->slots; i++)
        kept[i] = coir_held_at(p, window + i);
    if (!coir_prove_take(p, window, element->layout, element->slots) || !coir_proof_flow(p, to))
        return false;
    for (uint32_t i = 0; i < element->slots; i++) {
        if (element->layout[i].ref && !coir_put_held(p, window + i, kept[i]))
            return false;
    }
    return true;
}

static bool rule_select(struct coir_proof *p, uint64_t w)
{
    for (uint32_t i = 1; i <= COIR_I_C(w); i++) {
        const uint64_t arm = p->f->code[p->pc + i];
        const uint32_t to = p->pc + (uint32_t)(int32_t)COIR_I_SC(arm);
        const struct coir_type *chan;

        if (COIR_I_D(arm) == COIR_ARM_AFTER) {
            if (!coir_read_word(p, COIR_I_A(arm)) || !coir_proof_flow(p, to))
                return false;
            continue;
        }
        chan = coir_borrow_kind(p, COIR_I_A(arm), COIR_TYPE_CHAN);
        if (!chan || !(COIR_I_D(arm) == COIR_ARM_RECV ? recv_arm : send_arm)(p, arm, chan->element, to))
            return false;
    }
    return COIR_I_C(w) || COIR_I_D(w) || coir_proof_wrong(p, "no arms, and nothing else");
}

/* ---- traps ---- */

static bool rule_trap(struct coir_proof *p, uint64_t w)
{
    return is_trap(p, COIR_I_A(w));
}

static bool rule_trapm(struct coir_proof *p, uint64_t w)
{
    return coir_borrow_kind(p, COIR_I_A(w), COIR_TYPE_TEXT);
}

coir_rule *const coir_call_rules[COIR_OP_COUNT] = {
    [COIR_OP_CALL] = rule_call, [COIR_OP_CALLC] = rule_callc, [COIR_OP_CALLN] = rule_calln,
    [COIR_OP_CLOSURE] = rule_closure, [COIR_OP_RET] = rule_ret, [COIR_OP_RETV] = rule_retv,
    [COIR_OP_MSG] = rule_msg, [COIR_OP_SPAWN] = rule_spawn, [COIR_OP_GSPAWN] = rule_spawn, [COIR_OP_GROUP] = rule_group,
    [COIR_OP_GROOM] = rule_groom, [COIR_OP_GFAIL] = rule_gfail, [COIR_OP_GWAIT] = rule_groom,
    [COIR_OP_WITHIN] = rule_within, [COIR_OP_SHIELD] = rule_shield, [COIR_OP_YIELD] = rule_yield,
    [COIR_OP_SELECT] = rule_select,
    [COIR_OP_TRAP] = rule_trap, [COIR_OP_TRAPM] = rule_trapm, [COIR_OP_REPORT] = rule_trap,
};
