/* SPDX-License-Identifier: MIT */
/*
 * Follows what may happen to resources after they moved. From each move of a local forward, past branches, round loops
 * and into handlers, until the local holds something new: what names it on that way is reported, and the way ends
 * there. A step is looked at once a local, so a body costs its steps times its resources.
 */
#include "lang/own.h"

struct walk {
    struct coir_checker *c;
    const struct coir_x_fn *fn;
    const struct coir_own_program *p;
    uint32_t *seen;             /* of each step: the number of the last local that came by, plus 1 */
    uint32_t *todo, n, room;
    coir_x_local_id local;
    uint32_t from;              /* the move that is followed */
};

static void go(struct walk *w, uint32_t step)
{
    if (step >= w->p->n || w->seen[step] == w->local + 1)
        return;
    w->seen[step] = w->local + 1;
    w->todo = coir_more(w->c, w->todo, &w->room, w->n, sizeof *w->todo);
    w->todo[w->n++] = step;
}

static void go_on(struct walk *w, uint32_t step)
{
    const struct coir_own_step *const s = &w->p->steps[step];

    if (s->handler)
        go(w, w->p->handlers[s->handler - 1]);
    if (s->kind == COIR_OWN_BRANCH || s->kind == COIR_OWN_JUMP)
        go(w, s->target);
    if (s->kind != COIR_OWN_JUMP && s->kind != COIR_OWN_STOP)
        go(w, step + 1);
}

static void say_moved(struct walk *w, uint32_t step)
{
    const struct coir_own_step *const s = &w->p->steps[step], *const moved = &w->p->steps[w->from];
    const char *const name = w->fn->locals[w->local].name;

    if (step == w->from) {
        coir_say_at(w->c, COIR_E_MOVED, s->at, s->end, "`%s` moves here again in the next turn of the loop", name);
        coir_diagnose_see(w->c->d, w->fn->source, w->fn->locals[w->local].at, w->fn->locals[w->local].end,
                          "it is made only once, here");
        coir_note(w->c, "make it in the loop, or leave the loop after it moved");
        return;
    }
    coir_say_at(w->c, COIR_E_MOVED, s->at, s->end, "`%s` may have moved before it is used here", name);
    coir_diagnose_see(w->c->d, w->fn->source, moved->at, moved->end, "it moves here");
    coir_note(w->c, "a resource has one owner: use it before it is given away, or lend it instead");
}

static void follow(struct walk *w, uint32_t from)
{
    w->from = from;
    w->n = 0;
    go_on(w, from);
    while (w->n) {
        const uint32_t step = w->todo[--w->n];
        const struct coir_own_step *const s = &w->p->steps[step];
        if (s->local == w->local && (s->kind == COIR_OWN_USE || s->kind == COIR_OWN_MOVE))
            say_moved(w, step);
        else if (s->local != w->local || s->kind != COIR_OWN_INIT)
            go_on(w, step);
    }
}

void coir_own_follow(struct coir_checker *c, const struct coir_x_fn *fn, const struct coir_own_program *p)
{
    struct walk w = { .c = c, .fn = fn, .p = p };
    uint32_t *const first = coir_take_scratch(c, (fn->nlocals + 1) * sizeof *first);
    uint32_t *const next = coir_take_scratch(c, (p->n + 1) * sizeof *next);

    w.seen = coir_take_scratch(c, (p->n + 1) * sizeof *w.seen);
    for (uint32_t i = p->n; i-- > 0;) {             /* the moves of each local, in their order */
        if (p->steps[i].kind != COIR_OWN_MOVE)
            continue;
        next[i] = first[p->steps[i].local];
        first[p->steps[i].local] = i + 1;
    }
    for (uint32_t l = 0; l < fn->nlocals; l++) {
        w.local = l;
        for (uint32_t at = first[l]; at; at = next[at - 1])
            follow(&w, at - 1);
    }
}
