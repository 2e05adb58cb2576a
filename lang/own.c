/* SPDX-License-Identifier: MIT */
/*
 * Out of a typed body makes what happens to its resources (own.h). On the way it keeps two lists of what holds just
 * here, wherever one came from: what is lent (a loop runs over it, a name of a pattern stands for a part of it, an
 * argument before this one lends it), and what the `defer`s of the open blocks name. Neither may move, nor be changed.
 *
 * Bodies without a resource, nearly all, are left at once.
 */
#include "lang/own.h"

/* Lent, or named by a defer, as long as it is on the list. */
struct held {
    coir_x_local_id local;
    uint32_t at, end;           /* where */
    bool deferred;
};

struct loop {
    struct loop *outer;
    uint32_t again;             /* where `continue` goes */
    uint32_t breaks;            /* the steps that leave it, chained by their targets, plus 1 */
    uint32_t continues;
};

struct own {
    struct coir_checker *c;
    const struct coir_x_fn *fn;
    struct coir_own_program p;
    uint32_t handler;
    struct held *held;
    uint32_t nheld, held_room;
    uint32_t *depths;           /* of each local: how many defers are around where it is declared */
    uint32_t defers;
    struct loop *loop;
};

static void walk(struct own *o, const struct coir_x *x);

/* ---- steps ---- */

static uint32_t add(struct own *o, enum coir_own_kind kind, coir_x_local_id local, uint32_t at, uint32_t end)
{
    struct coir_own_program *const p = &o->p;

    p->steps = coir_more(o->c, p->steps, &p->room, p->n, sizeof *p->steps);
    p->steps[p->n] = (struct coir_own_step){ .kind = kind, .local = local, .handler = o->handler, .at = at,
                                             .end = end };
    return p->n++;
}

static uint32_t branch(struct own *o)
{
    return add(o, COIR_OWN_BRANCH, COIR_NONE, 0, 0);
}

static uint32_t jump(struct own *o)
{
    return add(o, COIR_OWN_JUMP, COIR_NONE, 0, 0);
}

static void jump_to(struct own *o, uint32_t target)
{
    const uint32_t at = jump(o);

    o->p.steps[at].target = target;
}

static void lands_here(struct own *o, uint32_t from)
{
    o->p.steps[from].target = o->p.n;
}

/* Steps that are chained by their targets, plus 1, go to `target`. */
static void land_all(struct own *o, uint32_t chain, uint32_t target)
{
    while (chain) {
        struct coir_own_step *const s = &o->p.steps[chain - 1];
        chain = s->target;
        s->target = target;
    }
}

/* ---- what is held ---- */

static bool owned(const struct own *o, coir_x_local_id local)
{
    return coir_is_resource(o->c, o->fn->locals[local].type);
}

static void hold(struct own *o, coir_x_local_id local, uint32_t at, uint32_t end, bool deferred)
{
    o->held = coir_more(o->c, o->held, &o->held_room, o->nheld, sizeof *o->held);
    o->held[o->nheld++] = (struct held){ local, at, end, deferred };
}

/* The local that a lent expression is a part of, or is; COIR_NONE: nobody else owns it. */
static coir_x_local_id root_of(const struct coir_x *x)
{
    for (;;) {
        switch (x->kind) {
        case COIR_X_LOCAL: return x->local;
        case COIR_X_FIELD: case COIR_X_SOME: x = x->of; break;
        case COIR_X_INDEX: x = x->pair.a; break;
        default: return COIR_NONE;
        }
    }
}

/* x, of a resource, is lent from here until nheld is set back. */
static void lend(struct own *o, const struct coir_x *x)
{
    const coir_x_local_id root = coir_is_resource(o->c, x->type) ? root_of(x) : COIR_NONE;

    if (root != COIR_NONE)
        hold(o, root, x->at, x->end, false);
}

/* `local` moves, or is changed, at [at, end). False: that cannot be, and was reported. */
static bool must_be_free(struct own *o, coir_x_local_id local, uint32_t at, uint32_t end, bool moves)
{
    const char *const name = o->fn->locals[local].name;

    for (uint32_t i = o->nheld; i-- > 0;) {
        const struct held h = o->held[i];
        if (h.local != local || (h.deferred && !moves))
            continue;
        if (h.deferred) {
            coir_say_at(o->c, COIR_E_DEFER_MOVE, at, end,
                        "`%s` cannot move: a `defer` uses it when this block is left", name);
            coir_diagnose_see(o->c->d, o->fn->source, h.at, h.end, "it is used here");
            coir_note(o->c, "close it where it is owned, or let the `defer` name something else");
        } else {
            if (o->fn->actor && local == 0)
                coir_say_at(o->c, COIR_E_LENT_CHANGED, at, end,
                            "the fields of `%s` count as one variable, which cannot be changed while one is lent",
                            name);
            else
                coir_say_at(o->c, COIR_E_LENT_CHANGED, at, end, "`%s` cannot %s while it is lent", name,
                            moves ? "move" : "be changed");
            coir_diagnose_see(o->c->d, o->fn->source, h.at, h.end, "it is lent here");
            coir_note(o->c, "what it is lent for must end first");
        }
        return false;
    }
    return true;
}

static void use(struct own *o, coir_x_local_id local, uint32_t at, uint32_t end)
{
    if (owned(o, local))
        add(o, COIR_OWN_USE, local, at, end);
}

static void move(struct own *o, const struct coir_x *x)
{
    if (!must_be_free(o, x->local, x->at, x->end, true))
        return;
    if (o->depths[x->local] < o->defers) {
        coir_say_at(o->c, COIR_E_DEFER_MOVE, x->at, x->end,
                    "a `defer` uses what is outside of it, and gives nothing of it away");
        coir_note(o->c, "the block that is left drops it by itself");
        return;
    }
    add(o, COIR_OWN_MOVE, x->local, x->at, x->end);
}

static void change(struct own *o, const struct coir_x_place *p)
{
    if (!owned(o, p->root))
        return;
    must_be_free(o, p->root, p->at, p->end, false);
    add(o, COIR_OWN_USE, p->root, p->at, p->end);
}

static void bind(struct own *o, const struct coir_x_pattern *p)
{
    if (p->kind == COIR_PATTERN_NAME) {
        o->depths[p->local] = o->defers;
        if (owned(o, p->local))
            add(o, COIR_OWN_INIT, p->local, p->at, p->end);
    }
    for (uint32_t i = 0; i < p->n; i++)
        bind(o, p->items[i]);
}

/* A name of the pattern stands for something that is lent. */
static bool binds_lent(const struct own *o, const struct coir_x_pattern *p)
{
    if (p->kind == COIR_PATTERN_NAME && o->fn->locals[p->local].lent)
        return true;
    for (uint32_t i = 0; i < p->n; i++) {
        if (binds_lent(o, p->items[i]))
            return true;
    }
    return false;
}

/* ---- calls ---- */

/* What moves as an argument moves when the call starts: the move itself, behind what makes it an optional. */
static const struct coir_x *late_move(const struct coir_x_arg *a)
{
    const struct coir_x *x = a->mode == COIR_OWN ? a->value : NULL;

    while (x && x->kind == COIR_X_SOME)
        x = x->of;
    return x && x->kind == COIR_X_MOVE ? x : NULL;
}

static void walk_place(struct own *o, const struct coir_x_place *p)
{
    for (uint32_t i = 0; i < p->nsteps; i++) {
        if (p->steps[i].index)
            walk(o, p->steps[i].index);
    }
}

static void walk_call(struct own *o, const struct coir_x_call *call)
{
    const uint32_t held = o->nheld;

    if (call->callee)
        walk(o, call->callee);
    for (uint32_t i = 0; i < call->nargs; i++) {
        const struct coir_x_arg *const a = &call->args[i];
        if (a->mode == COIR_MUT) {
            walk_place(o, a->place);
        } else if (!late_move(a)) {
            walk(o, a->value);
            if (a->mode == COIR_LEND)
                lend(o, a->value);
        }
    }
    for (uint32_t i = 0; i < call->nargs; i++) {            /* the call starts */
        const struct coir_x_arg *const a = &call->args[i];
        const coir_x_local_id root = a->mode == COIR_LEND && coir_is_resource(o->c, a->value->type) ?
                                     root_of(a->value) :
                                     COIR_NONE;
        if (a->mode == COIR_MUT)
            change(o, a->place);
        else if (root != COIR_NONE)
            use(o, root, a->value->at, a->value->end);
    }
    for (uint32_t i = 0; i < call->nargs; i++) {
        const struct coir_x *const x = late_move(&call->args[i]);
        if (x)
            move(o, x);
    }
    o->nheld = held;
    add(o, COIR_OWN_PASS, COIR_NONE, 0, 0);                 /* where it may trap, with everything moved */
}

/* ---- control ---- */

static void walk_items(struct own *o, const struct coir_x_items *items)
{
    for (uint32_t i = 0; i < items->n; i++)
        walk(o, items->list[i]);
}

/* a and b and c: what stands behind the first may not happen. */
static void walk_some(struct own *o, const struct coir_x_items *items)
{
    uint32_t chain = 0;

    for (uint32_t i = 0; i < items->n; i++) {
        walk(o, items->list[i]);
        if (i + 1 < items->n) {
            const uint32_t at = branch(o);
            o->p.steps[at].target = chain;
            chain = at + 1;
        }
    }
    land_all(o, chain, o->p.n);
}

/* The step that leaves when the test is false. What it lends is held when it returns. */
static uint32_t walk_test(struct own *o, const struct coir_x_test *test)
{
    walk(o, test->value);
    const uint32_t out = branch(o);
    if (test->pattern) {
        if (binds_lent(o, test->pattern))
            lend(o, test->value);
        bind(o, test->pattern);
    }
    return out;
}

static void walk_if(struct own *o, const struct coir_x_branch *b)
{
    uint32_t chain = 0;

    for (uint32_t i = 0; i < b->n; i++) {
        const uint32_t held = o->nheld, out = walk_test(o, &b->arms[i].test);
        walk(o, b->arms[i].body);
        o->nheld = held;
        const uint32_t done = jump(o);
        o->p.steps[done].target = chain;
        chain = done + 1;
        lands_here(o, out);
    }
    if (b->otherwise)
        walk(o, b->otherwise);
    land_all(o, chain, o->p.n);
}

static void walk_match(struct own *o, const struct coir_x_match *m)
{
    uint32_t chain = 0;

    walk(o, m->value);
    for (uint32_t i = 0; i < m->n; i++) {
        const struct coir_x_match_arm *const arm = &m->arms[i];
        const uint32_t held = o->nheld, out = branch(o);
        if (binds_lent(o, arm->pattern))
            lend(o, m->value);
        bind(o, arm->pattern);
        uint32_t refused = COIR_NONE;
        if (arm->guard) {
            walk(o, arm->guard);
            refused = branch(o);
        }
        walk(o, arm->body);
        o->nheld = held;
        const uint32_t done = jump(o);
        o->p.steps[done].target = chain;
        chain = done + 1;
        lands_here(o, out);
        if (refused != COIR_NONE)
            lands_here(o, refused);
    }
    add(o, COIR_OWN_STOP, COIR_NONE, 0, 0);                 /* one of the arms fits */
    land_all(o, chain, o->p.n);
}

/* A loop whose test (NULL: none) stands at its beginning; `each`: or what it runs over. */
static void walk_loop(struct own *o, const struct coir_x_test *test, const struct coir_x_each *each,
                      const struct coir_x *body)
{
    const uint32_t held = o->nheld;
    struct loop l = { .outer = o->loop, .again = o->p.n };
    uint32_t out = COIR_NONE;

    if (test) {
        out = walk_test(o, test);
    } else if (each) {
        out = branch(o);
        if (each->kind != COIR_EACH_RANGE && each->kind != COIR_EACH_CHAN)
            lend(o, each->value);
        bind(o, each->pattern);
        if (each->second)
            bind(o, each->second);
    }
    o->loop = &l;
    walk(o, body);
    o->loop = l.outer;
    jump_to(o, l.again);
    if (out != COIR_NONE)
        lands_here(o, out);
    land_all(o, l.breaks, o->p.n);
    land_all(o, l.continues, l.again);
    add(o, COIR_OWN_PASS, COIR_NONE, 0, 0);
    o->nheld = held;
}

static void walk_leave(struct own *o, bool leaves)
{
    const uint32_t at = jump(o);
    uint32_t *const chain = leaves ? &o->loop->breaks : &o->loop->continues;

    o->p.steps[at].target = *chain;
    *chain = at + 1;
}

static void walk_try(struct own *o, const struct coir_x_try *t)
{
    struct coir_own_program *const p = &o->p;
    const uint32_t outer = o->handler;

    p->handlers = coir_more(o->c, p->handlers, &p->handlers_room, p->nhandlers, sizeof *p->handlers);
    const uint32_t number = ++p->nhandlers;
    o->handler = number;
    walk(o, t->body);
    o->handler = outer;
    const uint32_t done = jump(o);
    p->handlers[number - 1] = p->n;
    walk(o, t->handler);
    lands_here(o, done);
}

/* From here to the end of the block, what the defer names is held. */
static void walk_defer(struct own *o, const struct coir_x *body)
{
    struct loop *const loop = o->loop;
    const uint32_t from = o->p.n;

    o->loop = NULL;
    o->defers++;
    walk(o, body);
    o->defers--;
    o->loop = loop;
    for (uint32_t i = from; i < o->p.n; i++) {
        const struct coir_own_step s = o->p.steps[i];
        if (s.kind == COIR_OWN_USE && o->depths[s.local] <= o->defers)
            hold(o, s.local, s.at, s.end, true);
    }
}

static void walk_select(struct own *o, const struct coir_x_select *s)
{
    uint32_t chain = 0;

    for (uint32_t i = 0; i < s->n; i++) {
        if (s->arms[i].channel)
            walk(o, s->arms[i].channel);
        if (s->arms[i].operand)
            walk(o, s->arms[i].operand);
    }
    for (uint32_t i = 0; i < s->n; i++) {
        const uint32_t out = branch(o);
        if (s->arms[i].pattern)
            bind(o, s->arms[i].pattern);
        walk(o, s->arms[i].body);
        const uint32_t done = jump(o);
        o->p.steps[done].target = chain;
        chain = done + 1;
        lands_here(o, out);
    }
    add(o, COIR_OWN_STOP, COIR_NONE, 0, 0);
    land_all(o, chain, o->p.n);
    add(o, COIR_OWN_PASS, COIR_NONE, 0, 0);
}

static void walk_assign(struct own *o, const struct coir_x_assign *a)
{
    const struct coir_x_place *const p = a->place;

    walk_place(o, p);
    walk(o, a->value);
    if (!owned(o, p->root))
        return;
    must_be_free(o, p->root, p->at, p->end, false);
    add(o, p->nsteps || a->op ? COIR_OWN_USE : COIR_OWN_INIT, p->root, p->at, p->end);
}

static void walk_block(struct own *o, const struct coir_x_block *b)
{
    const uint32_t held = o->nheld;

    for (uint32_t i = 0; i < b->n; i++)
        walk(o, b->statements[i]);
    if (b->value)
        walk(o, b->value);
    o->nheld = held;
}

static void walk_index(struct own *o, const struct coir_x *x)
{
    const uint32_t held = o->nheld;

    walk(o, x->pair.a);
    lend(o, x->pair.a);
    walk(o, x->pair.b);
    o->nheld = held;
}

/* ---- the switch ---- */

static void walk_control(struct own *o, const struct coir_x *x)
{
    switch (x->kind) {
    case COIR_X_BLOCK: walk_block(o, &x->block); break;
    case COIR_X_IF: walk_if(o, &x->branch); break;
    case COIR_X_MATCH: walk_match(o, &x->match); break;
    case COIR_X_WHILE: walk_loop(o, &x->loop.test, NULL, x->loop.body); break;
    case COIR_X_LOOP: walk_loop(o, NULL, NULL, x->loop.body); break;
    case COIR_X_FOR:
        walk(o, x->each.value);
        if (x->each.to)
            walk(o, x->each.to);
        walk_loop(o, NULL, &x->each, x->each.body);
        break;
    case COIR_X_BREAK: walk_leave(o, true); break;
    case COIR_X_CONTINUE: walk_leave(o, false); break;
    case COIR_X_RETURN:
        if (x->of)
            walk(o, x->of);
        add(o, COIR_OWN_STOP, COIR_NONE, 0, 0);
        o->p.steps[o->p.n - 1].handler = 0;
        break;
    case COIR_X_TRAP:
        walk(o, x->of);
        add(o, COIR_OWN_STOP, COIR_NONE, 0, 0);
        break;
    case COIR_X_TRY: walk_try(o, &x->try); break;
    case COIR_X_WITHIN: case COIR_X_GROUP:
        if (x->scope.head)
            walk(o, x->scope.head);
        walk(o, x->scope.body);
        break;
    case COIR_X_DEFER: walk_defer(o, x->of); break;
    case COIR_X_SELECT: walk_select(o, &x->select); break;
    case COIR_X_LET:
        walk(o, x->let.value);
        bind(o, x->let.pattern);
        break;
    case COIR_X_ASSIGN: walk_assign(o, &x->assign); break;
    default: break;             /* constants, functions, closures, globals */
    }
}

static void walk(struct own *o, const struct coir_x *x)
{
    switch (x->kind) {
    case COIR_X_LOCAL: use(o, x->local, x->at, x->end); break;
    case COIR_X_MOVE: move(o, x); break;
    case COIR_X_RECORD:
        for (uint32_t i = 0; i < x->fields.n; i++)
            walk(o, x->fields.list[i].value);
        break;
    case COIR_X_VARIANT: case COIR_X_TUPLE: case COIR_X_LIST: case COIR_X_MAP: case COIR_X_INTERPOLATION:
    case COIR_X_PRINT:
        walk_items(o, &x->items);
        break;
    case COIR_X_SOME: case COIR_X_CHAN: case COIR_X_FIELD: case COIR_X_IS_NIL: case COIR_X_NEG: case COIR_X_NOT:
    case COIR_X_ASSERT: case COIR_X_SPAWN_ACTOR: case COIR_X_MONITOR:
        walk(o, x->of);
        break;
    case COIR_X_INDEX: walk_index(o, x); break;
    case COIR_X_COMPARE:
        walk(o, x->pair.a);
        walk(o, x->pair.b);
        break;
    case COIR_X_SLICE:
        walk(o, x->slice.of);
        if (x->slice.from)
            walk(o, x->slice.from);
        if (x->slice.to)
            walk(o, x->slice.to);
        break;
    case COIR_X_ARITH:
        walk(o, x->arith.first);
        for (uint32_t i = 0; i < x->arith.n; i++)
            walk(o, x->arith.steps[i].operand);
        break;
    case COIR_X_AND: case COIR_X_OR: case COIR_X_ELSE: walk_some(o, &x->items); break;
    case COIR_X_CALL: case COIR_X_CALL_VALUE: case COIR_X_ASK: case COIR_X_TELL: walk_call(o, &x->call); break;
    case COIR_X_SPAWN: case COIR_X_GROUP_SPAWN: walk_call(o, &x->spawn.call); break;
    default: walk_control(o, x);
    }
}

void coir_check_ownership(struct coir_checker *c, const struct coir_x_fn *fn)
{
    struct own o = { .c = c, .fn = fn };
    bool any = false;

    for (uint32_t i = 0; i < fn->nlocals && !any; i++)
        any = coir_is_resource(c, fn->locals[i].type);
    if (!any || !fn->body)
        return;
    o.depths = coir_take_scratch(c, (fn->nlocals + 1) * sizeof *o.depths);
    walk(&o, fn->body);
    coir_own_follow(c, fn, &o.p);
}
