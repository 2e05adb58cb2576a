/* SPDX-License-Identifier: MIT */
/*
 * The proof's states: what registers hold, how states meet, in which order instructions are looked at, and the drop
 * maps. A state only ever says less where ways meet, so the proof ends; and every step of it is paid for from an
 * account in proportion to the image, so that it ends soon, or is refused.
 *
 *  1. An entry (the start, a branch's target, a handler) keeps the state with which it is come to. An instruction that
 *     is not an entry has one before it, and nothing is kept of it.
 *  2. Places are in no entry: they do not live over a branch.
 *  3. What lends is owned at the same pc, or is the caller or the program: whoever empties a register unlends it.
 */
#include "vm/prove.h"

#include <stdlib.h>
#include <string.h>

bool coir_proof_pay(struct coir_proof *p, uint64_t work)
{
    if (work > p->l->work)
        return coir_load_wrong(p->l, "function %s: too much to prove", p->f->name);
    p->l->work -= work;
    return true;
}

/* ---- entries ---- */

/* A register as an entry sees it: those from `keep` on are not there; of a handler, `keep` has the Trap. */
static struct coir_held seen(const struct coir_proof *p, uint32_t reg, uint32_t keep)
{
    struct coir_held h = coir_held_at(p, reg);

    if (reg >= keep) {
        h = (struct coir_held){ .kind = COIR_EMPTY };
        if (reg == keep && keep < p->nregs)
            h = (struct coir_held){ .kind = COIR_OWNED, .type = &p->l->p->types.all[COIR_INDEX_TRAP] };
    }
    if (h.kind == COIR_PLACE || (h.kind == COIR_LENT && h.from >= keep && h.from < p->nregs))
        h.kind = COIR_EMPTY;
    return h;
}

static uint64_t below(const struct coir_proof *p, uint32_t i, uint32_t keep)
{
    const uint64_t word = p->words[i];

    if (keep / 64 > i)
        return word;
    return keep / 64 < i ? 0 : word & ((UINT64_C(1) << keep % 64) - 1);
}

/* The next register at or after reg that has something about a reference in an entry's eyes; nregs: none. */
static uint32_t next_ref(const struct coir_proof *p, uint32_t reg, uint32_t keep)
{
    for (uint32_t i = reg / 64; i < p->nwords; i++) {
        uint64_t bits = p->refs[i];

        if (i == keep / 64 && keep < p->nregs)
            bits |= UINT64_C(1) << keep % 64;
        if (i == reg / 64)
            bits &= ~UINT64_C(0) << reg % 64;
        if (bits) {
            const uint32_t found = i * 64 + (uint32_t)__builtin_ctzll(bits);

            return found <= keep ? found : p->nregs;
        }
    }
    return p->nregs;
}

static bool first_state(struct coir_proof *p, struct coir_entry *e, uint32_t keep)
{
    uint32_t n = 0;

    for (uint32_t r = next_ref(p, 0, keep); r < p->nregs; r = next_ref(p, r + 1, keep))
        n++;
    if (!coir_proof_pay(p, n + p->nwords))
        return false;
    e->words = coir_load_arena_alloc(&p->arena, p->nwords, sizeof *e->words);
    e->held = coir_load_arena_alloc(&p->arena, n, sizeof *e->held);
    if (!e->words || !e->held)
        return coir_load_memory(p->l);
    if (p->arena.total > (size_t)p->f->ncode * 256 + (1 << 22))
        return coir_load_wrong(p->l, "function %s: too much to prove", p->f->name);
    for (uint32_t i = 0; i < p->nwords; i++)
        e->words[i] = below(p, i, keep);
    for (uint32_t r = next_ref(p, 0, keep); r < p->nregs; r = next_ref(p, r + 1, keep)) {
        const struct coir_held h = seen(p, r, keep);

        if (h.kind != COIR_EMPTY)
            e->held[e->nheld++] = (struct coir_entry_held){ r, h };
        if (r == keep)
            coir_bit_clear(e->words, r);
    }
    e->seen = true;
    return true;
}

static bool differ(struct coir_proof *p, uint32_t pc, uint32_t reg, struct coir_held a, struct coir_held b)
{
    return coir_proof_wrong(p, "goes to pc %u, where r%u %s; here it %s", pc, reg, coir_held_words(&a).text,
                            coir_held_words(&b).text);
}

/* *a becomes what is true of both. False: they cannot meet, since one would have to be dropped. */
static bool meet(struct coir_held *a, const struct coir_held *b, bool *changed)
{
    const struct coir_held was = *a;

    if (a->kind == COIR_OWNED || b->kind == COIR_OWNED) {
        if (a->kind == COIR_NULL)
            *a = *b;
        else if (a->kind != COIR_OWNED || (b->kind != COIR_OWNED && b->kind != COIR_NULL)
                || (b->kind == COIR_OWNED && a->type != b->type))
            return false;
        a->nullable = was.nullable || b->nullable || was.kind == COIR_NULL || b->kind == COIR_NULL;
    } else if (a->kind == COIR_LENT && b->kind == COIR_LENT && a->type == b->type && a->from == b->from) {
        a->nullable |= b->nullable;
        a->cell &= b->cell;
    } else if (a->kind == COIR_LENT && b->kind == COIR_NULL) {
        a->nullable = true;
    } else if (a->kind == COIR_NULL && b->kind == COIR_LENT) {
        *a = *b;
        a->nullable = true;
    } else if (a->kind != b->kind || a->kind == COIR_LENT) {
        a->kind = COIR_EMPTY;
    }
    *changed |= a->kind != was.kind || a->nullable != was.nullable || a->cell != was.cell;
    return true;
}

static bool later_state(struct coir_proof *p, struct coir_entry *e, uint32_t keep, bool *changed)
{
    uint32_t reg = next_ref(p, 0, keep), kept = 0;

    if (!coir_proof_pay(p, e->nheld + p->nwords))
        return false;
    for (uint32_t i = 0; i < e->nheld; i++) {
        struct coir_entry_held *h = &e->held[i];

        for (; reg < h->reg; reg = next_ref(p, reg + 1, keep)) {
            const struct coir_held now = seen(p, reg, keep);

            if (now.kind == COIR_OWNED)
                return differ(p, e->pc, reg, (struct coir_held){ .kind = coir_bit(e->words, reg) }, now);
        }
        const struct coir_held now = seen(p, h->reg, keep), was = h->held;
        if (!meet(&h->held, &now, changed))
            return differ(p, e->pc, h->reg, was, now);
        if (h->held.kind != COIR_EMPTY)
            e->held[kept++] = *h;
        if (reg == h->reg)
            reg = next_ref(p, reg + 1, keep);
    }
    for (; reg < p->nregs; reg = next_ref(p, reg + 1, keep)) {
        const struct coir_held now = seen(p, reg, keep);

        if (now.kind == COIR_OWNED)
            return differ(p, e->pc, reg, (struct coir_held){ .kind = coir_bit(e->words, reg) }, now);
    }
    e->nheld = kept;
    for (uint32_t i = 0; i < p->nwords; i++) {
        const uint64_t both = e->words[i] & below(p, i, keep);

        *changed |= both != e->words[i];
        e->words[i] = both;
    }
    return true;
}

/* The current state, up to `keep`, also holds at an entry. */
static bool join(struct coir_proof *p, uint32_t pc, uint32_t keep)
{
    const uint32_t i = p->entry_of[pc] - 1;
    struct coir_entry *e = &p->entries[i];
    bool changed = !e->seen;

    if (p->recording)
        return true;
    if (!(e->seen ? later_state(p, e, keep, &changed) : first_state(p, e, keep)))
        return false;
    if (changed) {
        coir_bit_set(p->queue, i);
        if (i < p->first)
            p->first = i;
    }
    return true;
}

bool coir_proof_flow(struct coir_proof *p, uint32_t pc)
{
    return join(p, pc, p->nregs);
}

/* ---- leaving the frame ---- */

bool coir_proof_whole(struct coir_proof *p)
{
    const struct coir_function *f = p->f;
    uint32_t at = 0;

    for (uint32_t i = 0; i < f->nparams && f->params[i].mode == COIR_MODE_MUT; i++) {
        const struct coir_type *t = f->params[i].type;

        for (uint32_t k = 0; k < t->slots; k++, at++) {
            const struct coir_held h = coir_held_at(p, at);
            const struct coir_slot *s = &t->layout[k];
            const bool whole = !s->ref ? h.kind == COIR_HAS_WORD
                : (h.kind == COIR_OWNED && h.type == s->ref && (s->nullable || !h.nullable))
                || (h.kind == COIR_NULL && s->nullable);

            if (!whole)
                return coir_proof_wrong(p, "the frame may be left here, and r%u, of a mut parameter, %s", at,
                                        coir_held_words(&h).text);
        }
    }
    return true;
}

static bool grow(struct coir_proof *p, void **array, uint32_t *cap, uint32_t need, size_t size)
{
    if (need <= *cap)
        return true;
    const uint32_t more = need * 2 > 64 ? need * 2 : 64;
    void *bigger = realloc(*array, more * size);
    if (!bigger)
        return coir_load_memory(p->l);
    *array = bigger;
    *cap = more;
    return true;
}

/* The drop map of here; a mut parameter is the caller's to drop. The last one's registers are not listed twice. */
static bool record(struct coir_proof *p)
{
    const uint32_t key = p->pc * 2 + p->inside, first = p->ndrops;
    const struct coir_drop_map *last = p->nmaps ? &p->maps[p->nmaps - 1] : NULL;

    if (last && last->key == key)
        return true;
    for (uint32_t r = next_ref(p, p->f->mut_slots, p->nregs); r < p->nregs; r = next_ref(p, r + 1, p->nregs)) {
        if (p->held[r].kind != COIR_OWNED)
            continue;
        if (!grow(p, (void **)&p->drops, &p->drops_cap, p->ndrops + 1, sizeof *p->drops))
            return false;
        p->drops[p->ndrops++] = (uint16_t)r;
    }
    const uint32_t count = p->ndrops - first;
    if (!coir_proof_pay(p, p->nwords + count))
        return false;
    if (!count)
        return true;
    if (!grow(p, (void **)&p->maps, &p->maps_cap, p->nmaps + 1, sizeof *p->maps))
        return false;
    last = p->nmaps ? &p->maps[p->nmaps - 1] : NULL;
    p->maps[p->nmaps] = (struct coir_drop_map){ key, first, count };
    if (last && last->count == count
            && memcmp(p->drops + last->first, p->drops + first, count * sizeof *p->drops) == 0) {
        p->maps[p->nmaps].first = last->first;
        p->ndrops = first;
    } else if (count > p->l->drops) {
        return coir_load_wrong(p->l, "function %s: too much to prove", p->f->name);
    } else {
        p->l->drops -= count;
    }
    p->nmaps++;
    return true;
}

bool coir_proof_trap(struct coir_proof *p)
{
    bool left = true;

    if (!coir_proof_pay(p, 1 + p->f->nhandlers / 16))
        return false;
    for (uint32_t i = 0; left && i < p->f->nhandlers; i++) {
        const struct coir_handler *h = &p->f->handlers[i];

        if (p->pc < h->from || p->pc >= h->to)
            continue;
        if (!join(p, h->at, h->keep))
            return false;
        left = h->kind == COIR_CATCH;               /* who is stopped passes over it */
    }
    if (left && !coir_proof_whole(p))
        return false;
    return !p->recording || record(p);
}

/* ---- the way through ---- */

static void enter(struct coir_proof *p, const struct coir_entry *e)
{
    memcpy(p->words, e->words, p->nwords * sizeof *p->words);
    memset(p->refs, 0, p->nwords * sizeof *p->refs);
    memset(p->lenders, 0, p->nwords * sizeof *p->lenders);
    p->places = false;
    for (uint32_t i = 0; i < e->nheld; i++) {
        const struct coir_held *h = &e->held[i].held;

        p->held[e->held[i].reg] = *h;
        coir_bit_set(p->refs, e->held[i].reg);
        if (h->kind == COIR_LENT && h->from < p->nregs)
            coir_bit_set(p->lenders, h->from);
    }
}

/* From an entry to the next, or to where the code does not go on. */
static bool walk(struct coir_proof *p, const struct coir_entry *e)
{
    uint32_t next;

    if (!coir_proof_pay(p, p->nwords + e->nheld))
        return false;
    enter(p, e);
    p->pc = e->pc;
    if (e->landing && !coir_proof_trap(p))
        return false;
    for (;;) {
        if (!coir_proof_pay(p, 1) || !coir_proof_step(p, &next))
            return false;
        if (next == UINT32_MAX)
            return true;
        if (next >= p->f->ncode)
            return coir_proof_wrong(p, "the code goes on behind its end");
        if (p->entry_of[next])
            return coir_proof_flow(p, next);
        p->pc = next;
    }
}

static void mark(uint8_t *marks, uint32_t from, int64_t offset)
{
    const uint32_t to = (uint32_t)(from + offset);

    marks[to] |= to <= from ? 3 : 1;
}

/* Marks every pc that is come to by a branch: 1; by a back edge: 2 as well. */
static void mark_targets(struct coir_proof *p, uint8_t *marks)
{
    marks[0] = 3;
    for (uint32_t pc = 0; pc < p->f->ncode; pc++) {
        const uint64_t w = p->f->code[pc];
        const struct coir_op_info *op = &coir_ops[COIR_I_OP(w)];

        if (!coir_bit(p->starts, pc) || !(op->flags & COIR_BRANCHES))
            continue;
        if (COIR_I_OP(w) != COIR_OP_SELECT)
            mark(marks, pc, op->format[1] == 'J' ? COIR_I_SX(w) : COIR_I_SC(w));
        for (uint32_t i = 1; COIR_I_OP(w) == COIR_OP_SELECT && i <= COIR_I_C(w); i++)
            mark(marks, pc, COIR_I_SC(p->f->code[pc + i]));
    }
    for (uint32_t i = 0; i < p->f->nhandlers; i++)
        marks[p->f->handlers[i].at] |= 1;
}

static bool make_entries(struct coir_proof *p)
{
    uint8_t *marks = calloc(p->f->ncode, 1);
    uint32_t n = 0;

    if (!marks)
        return coir_load_memory(p->l);
    mark_targets(p, marks);
    for (uint32_t pc = 0; pc < p->f->ncode; pc++)
        n += marks[pc] != 0;
    p->entries = coir_load_arena_alloc(&p->arena, n, sizeof *p->entries);
    p->queue = coir_load_arena_alloc(&p->arena, n / 64 + 1, sizeof *p->queue);
    p->entry_of = coir_load_arena_alloc(&p->arena, p->f->ncode, sizeof *p->entry_of);
    for (uint32_t pc = 0; p->entries && p->entry_of && pc < p->f->ncode; pc++) {
        if (!marks[pc])
            continue;
        p->entries[p->nentries].pc = pc;
        p->entries[p->nentries].landing = marks[pc] & 2;
        p->entry_of[pc] = ++p->nentries;
    }
    free(marks);
    return (p->entries && p->queue && p->entry_of) || coir_load_memory(p->l);
}

/* The next entry of the queue; nentries: none. The lowest first: then most are come to by all ways before they are
 * looked at. */
static uint32_t next_entry(struct coir_proof *p)
{
    for (uint32_t i = p->first / 64; i < p->nentries / 64 + 1; i++) {
        if (p->queue[i]) {
            const uint32_t found = i * 64 + (uint32_t)__builtin_ctzll(p->queue[i]);

            p->first = found;
            return found;
        }
    }
    return p->nentries;
}

/* The parameters, as the caller has left them. */
static bool begin(struct coir_proof *p)
{
    const struct coir_function *f = p->f;
    uint32_t at = 0;

    for (uint32_t i = 0; i < f->nparams; i++) {
        const struct coir_type *t = f->params[i].type;

        if (!(f->params[i].mode == COIR_MODE_LEND ? coir_lend_layout(p, at, t->layout, t->slots, COIR_FROM_CALLER)
                : coir_put_layout(p, at, t->layout, t->slots)))
            return false;
        at += t->slots;
    }
    if (f->closure)
        return coir_put_held(p, at, (struct coir_held){ .kind = COIR_LENT, .from = COIR_FROM_CALLER,
            .type = f->closure, .cell = true });
    return true;
}

/* What an entry says, for who asked. */
static void show(struct coir_proof *p, const struct coir_entry *e)
{
    if (!e->seen)
        return;
    enter(p, e);
    for (uint32_t r = 0; r < p->nregs; r++) {
        const struct coir_held h = coir_held_at(p, r);

        if (h.kind != COIR_EMPTY)
            p->l->see(p->l->see_arg, e->pc, r, coir_held_words(&h).text);
    }
}

static bool prove(struct coir_proof *p)
{
    uint32_t i;

    if (!make_entries(p) || !begin(p) || !coir_proof_flow(p, 0))
        return false;
    while ((i = next_entry(p)) < p->nentries) {
        const uint32_t scanned = p->nentries / 4096;

        coir_bit_clear(p->queue, i);
        if (!coir_proof_pay(p, scanned) || !walk(p, &p->entries[i]))
            return false;
    }
    p->recording = true;
    for (i = 0; i < p->nentries; i++) {
        if (p->l->see)
            show(p, &p->entries[i]);
        else if (p->entries[i].seen && !walk(p, &p->entries[i]))
            return false;
    }
    return true;
}

/* The maps go into the program's memory. */
static bool keep_maps(struct coir_proof *p)
{
    struct coir_drop_map *maps = coir_load_arena_alloc(p->l->arena, p->nmaps, sizeof *maps);
    uint16_t *drops = coir_load_arena_alloc(p->l->arena, p->ndrops, sizeof *drops);

    if (!maps || !drops)
        return coir_load_memory(p->l);
    if (p->nmaps)
        memcpy(maps, p->maps, p->nmaps * sizeof *maps);
    if (p->ndrops)
        memcpy(drops, p->drops, p->ndrops * sizeof *drops);
    p->f->maps = maps;
    p->f->drops = drops;
    p->f->nmaps = p->nmaps;
    p->f->ndrops = p->ndrops;
    return true;
}

bool coir_load_prove(struct coir_load *l, struct coir_function *f, const uint64_t *starts)
{
    struct coir_proof p = { .l = l, .f = f, .starts = starts, .nregs = f->nregs, .nwords = f->nregs / 64 + 1 };
    bool good = false;

    p.held = malloc(p.nregs * sizeof *p.held);
    p.refs = calloc(p.nwords * 3, sizeof *p.refs);
    p.words = p.refs ? p.refs + p.nwords : NULL;
    p.lenders = p.refs ? p.refs + p.nwords * 2 : NULL;
    if (!p.held || !p.refs)
        coir_load_memory(l);
    else
        good = coir_proof_pay(&p, p.nwords) && prove(&p) && (l->see || keep_maps(&p));
    free(p.held);
    free(p.refs);
    free(p.maps);
    free(p.drops);
    coir_load_arena_free(&p.arena);
    return good;
}
