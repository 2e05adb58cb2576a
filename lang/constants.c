/* SPDX-License-Identifier: MIT */
/*
 * The order of the modules' `let`s: each after those that its value names, of whichever module. A ring is reported
 * where it is closed. The walk keeps a stack of its own, since a chain of constants may be as long as the program.
 */
#include "lang/checker.h"

enum { UNSEEN, OPEN, DONE };

struct walk {
    struct frame {
        uint32_t let;
        coir_ast *todo;         /* nodes of its value that are still to be looked at */
        uint32_t n, room;
    } *stack;
    uint32_t n, room;
};

static void look_at(struct coir_checker *c, struct frame *f, coir_ast n)
{
    f->todo = coir_more(c, f->todo, &f->room, f->n, sizeof *f->todo);
    f->todo[f->n++] = n;
}

static void enter_let(struct coir_checker *c, struct walk *w, uint32_t let)
{
    const struct coir_let_item *const l = &c->lets[let];

    c->lets[let].state = OPEN;
    w->stack = coir_more(c, w->stack, &w->room, w->n, sizeof *w->stack);
    struct frame *const f = &w->stack[w->n++];
    *f = (struct frame){ .let = let };
    coir_enter(c, l->module, NULL, 0);
    look_at(c, f, coir_ast_let_value(coir_tree_of(c), l->node));
}

/* The `let` that node n names: COIR_NONE if it is none. Nothing counts as used by this. */
static uint32_t let_named(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    uint32_t module = (uint32_t)(c->module - c->modules);

    if (coir_ast_is(t, n, COIR_N_MEMBER)) {
        const coir_ast object = coir_ast_member_object(t, n);
        if (!coir_ast_is(t, object, COIR_N_NAME))
            return COIR_NONE;
        const uint32_t at = coir_lookup_get(c, coir_owner_module(module), coir_symbol_at(c, object));
        if (at == COIR_NONE || c->items[at].kind != COIR_ITEM_MODULE)
            return COIR_NONE;
        module = c->items[at].index;
    } else if (!coir_ast_is(t, n, COIR_N_NAME)) {
        return COIR_NONE;
    }
    const uint32_t at = coir_lookup_get(c, coir_owner_module(module), coir_symbol_at(c, n));
    return at != COIR_NONE && c->items[at].kind == COIR_ITEM_GLOBAL ? c->items[at].index : COIR_NONE;
}

static void say_ring(struct coir_checker *c, coir_ast n, uint32_t let)
{
    const struct coir_let_item *const l = &c->lets[let];
    const struct coir_place at = coir_ast_main_place(c->modules[l->module].tree, l->bind);

    coir_say(c, COIR_E_CONSTANT_RING, n, "this constant needs itself");
    coir_diagnose_see(c->d, at.source, at.start, at.end, "it is declared here");
}

/* Looks at one node of the topmost value, or is done with it. */
static void step(struct coir_checker *c, struct walk *w, uint32_t *count)
{
    struct frame *const f = &w->stack[w->n - 1];
    struct coir_let_item *const l = &c->lets[f->let];

    coir_enter(c, l->module, NULL, 0);
    if (f->n == 0) {
        l->state = DONE;
        l->global = (*count)++;
        w->n--;
        return;
    }
    const struct coir_tree *const t = coir_tree_of(c);
    const coir_ast n = f->todo[--f->n];
    const uint32_t other = let_named(c, n);
    for (uint32_t i = 0; i < coir_ast_count(t, n); i++) {
        if (coir_ast_child(t, n, i))
            look_at(c, f, coir_ast_child(t, n, i));
    }
    if (other == COIR_NONE || c->lets[other].state == DONE)
        return;
    if (c->lets[other].state == OPEN)
        say_ring(c, n, other);
    else
        enter_let(c, w, other);
}

void coir_order_constants(struct coir_checker *c)
{
    struct walk w = { 0 };
    uint32_t count = 0;

    for (uint32_t i = 0; i < c->nlets; i++) {
        if (c->lets[i].state != UNSEEN)
            continue;
        enter_let(c, &w, i);
        while (w.n)
            step(c, &w, &count);
    }
    c->typed->nglobals = count;
    uint32_t *const order = coir_take_scratch(c, (count + 1) * sizeof *order);
    for (uint32_t i = 0; i < c->nlets; i++)
        order[c->lets[i].global] = i;
    for (uint32_t i = 0; i < count; i++)
        coir_check_constant(c, &c->lets[order[i]]);
}
