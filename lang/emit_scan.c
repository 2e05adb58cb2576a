/* SPDX-License-Identifier: MIT */
/*
 * What an expression does to a local: whether it may change it, or reads it at all. Closures are not looked into: they
 * have copies. Nesting is bounded, so this recurses; it is asked of operands, so an expression is looked at once for
 * each operator around it.
 */
#include "lang/emit_inside.h"

struct scan {
    coir_x_local_id local;
    bool reads;             /* reading counts, too */
    struct coir_e *numbers; /* collects them; nothing counts */
};

static bool scan(const struct scan *s, const struct coir_x *x);

static bool scan_list(const struct scan *s, uint32_t n, const struct coir_x *const *list)
{
    for (uint32_t i = 0; i < n; i++)
        if (scan(s, list[i]))
            return true;
    return false;
}

static bool scan_place(const struct scan *s, const struct coir_x_place *p)
{
    if (p->root == s->local)
        return true;
    for (uint32_t i = 0; i < p->nsteps; i++)
        if (scan(s, p->steps[i].index))
            return true;
    return false;
}

static bool scan_call(const struct scan *s, const struct coir_x_call *c)
{
    if (scan(s, c->callee))
        return true;
    for (uint32_t i = 0; i < c->nargs; i++)
        if (c->args[i].place ? scan_place(s, c->args[i].place) : scan(s, c->args[i].value))
            return true;
    return false;
}

static bool scan_many(const struct scan *s, const struct coir_x *x)
{
    switch (x->kind) {
    case COIR_X_RECORD:
        for (uint32_t i = 0; i < x->fields.n; i++)
            if (scan(s, x->fields.list[i].value))
                return true;
        return false;
    case COIR_X_ARITH:
        for (uint32_t i = 0; i < x->arith.n; i++)
            if (scan(s, x->arith.steps[i].operand))
                return true;
        return scan(s, x->arith.first);
    case COIR_X_IF:
        for (uint32_t i = 0; i < x->branch.n; i++)
            if (scan(s, x->branch.arms[i].test.value) || scan(s, x->branch.arms[i].body))
                return true;
        return scan(s, x->branch.otherwise);
    case COIR_X_MATCH:
        for (uint32_t i = 0; i < x->match.n; i++)
            if (scan(s, x->match.arms[i].guard) || scan(s, x->match.arms[i].body))
                return true;
        return scan(s, x->match.value);
    case COIR_X_SELECT:
        for (uint32_t i = 0; i < x->select.n; i++)
            if (scan(s, x->select.arms[i].channel) || scan(s, x->select.arms[i].operand)
                || scan(s, x->select.arms[i].body))
                return true;
        return false;
    default:
        return scan_list(s, x->items.n, x->items.list);
    }
}

static void collect(struct coir_e *e, const struct coir_x *x)
{
    int64_t word;

    if (!coir_e_number(x, &word) || (x->kind != COIR_X_FLOAT && word >= INT16_MIN && word <= INT16_MAX))
        return;
    for (uint32_t i = 0; i < e->nconstants; i++)
        if (e->constants[i].word == word)
            return;
    if (e->nconstants < COIR_E_CONSTANTS)
        e->constants[e->nconstants++] = (struct coir_e_constant){ .word = word };
}

static bool scan(const struct scan *s, const struct coir_x *x)
{
    if (!x)
        return false;
    switch (x->kind) {
    case COIR_X_INT: case COIR_X_FLOAT: case COIR_X_DURATION:
        if (s->numbers)
            collect(s->numbers, x);
        return false;
    case COIR_X_UNIT: case COIR_X_BOOL: case COIR_X_TEXT: case COIR_X_NIL: case COIR_X_GLOBAL: case COIR_X_FN:
    case COIR_X_BREAK: case COIR_X_CONTINUE:
        return false;
    case COIR_X_CLOSURE:
        return s->reads;            /* it may capture it */
    case COIR_X_LOCAL: return s->reads && x->local == s->local;
    case COIR_X_MOVE: return x->local == s->local;
    case COIR_X_SOME: case COIR_X_CHAN: case COIR_X_FIELD: case COIR_X_IS_NIL: case COIR_X_NEG: case COIR_X_NOT:
    case COIR_X_RETURN: case COIR_X_TRAP: case COIR_X_ASSERT: case COIR_X_DEFER: case COIR_X_SPAWN_ACTOR:
    case COIR_X_MONITOR:
        return scan(s, x->of);
    case COIR_X_INDEX: case COIR_X_COMPARE: return scan(s, x->pair.a) || scan(s, x->pair.b);
    case COIR_X_SLICE: return scan(s, x->slice.of) || scan(s, x->slice.from) || scan(s, x->slice.to);
    case COIR_X_CALL: case COIR_X_CALL_VALUE: case COIR_X_ASK: case COIR_X_TELL: return scan_call(s, &x->call);
    case COIR_X_SPAWN: case COIR_X_GROUP_SPAWN: return scan_call(s, &x->spawn.call);
    case COIR_X_BLOCK: return scan_list(s, x->block.n, x->block.statements) || scan(s, x->block.value);
    case COIR_X_WHILE: case COIR_X_LOOP: return scan(s, x->loop.test.value) || scan(s, x->loop.body);
    case COIR_X_FOR: return scan(s, x->each.value) || scan(s, x->each.to) || scan(s, x->each.body);
    case COIR_X_TRY: return scan(s, x->try.body) || scan(s, x->try.handler);
    case COIR_X_WITHIN: case COIR_X_GROUP: return scan(s, x->scope.head) || scan(s, x->scope.body);
    case COIR_X_LET: return scan(s, x->let.value);
    case COIR_X_ASSIGN: return scan_place(s, x->assign.place) || scan(s, x->assign.value);
    default: return scan_many(s, x);
    }
}

bool coir_e_changes_local(const struct coir_x *x, coir_x_local_id local)
{
    const struct scan s = { local, false, NULL };

    return scan(&s, x);
}

bool coir_e_mentions(const struct coir_x *x, coir_x_local_id local)
{
    const struct scan s = { local, true, NULL };

    return scan(&s, x);
}

void coir_e_collect(struct coir_e *e, const struct coir_x *x)
{
    const struct scan s = { UINT32_MAX, false, e };

    scan(&s, x);
}

/* Nodes of x, or more than SHORT. */
enum { SHORT = 16 };

static uint32_t length(const struct coir_x *x)
{
    uint32_t n = 1;

    switch (x->kind) {
    case COIR_X_INT: case COIR_X_FLOAT: case COIR_X_BOOL: case COIR_X_DURATION: case COIR_X_LOCAL:
        return 1;
    case COIR_X_NOT: case COIR_X_NEG: case COIR_X_FIELD: case COIR_X_IS_NIL:
        return 1 + length(x->of);
    case COIR_X_INDEX: case COIR_X_COMPARE:
        return 1 + length(x->pair.a) + length(x->pair.b);
    case COIR_X_ARITH:
        for (uint32_t i = 0; i < x->arith.n && n <= SHORT; i++)
            n += length(x->arith.steps[i].operand);
        return n + length(x->arith.first);
    case COIR_X_AND: case COIR_X_OR:
        for (uint32_t i = 0; i < x->items.n && n <= SHORT; i++)
            n += length(x->items.list[i]);
        return n;
    default:
        return SHORT + 1;
    }
}

bool coir_e_is_short(const struct coir_x *x)
{
    return length(x) <= SHORT;
}
