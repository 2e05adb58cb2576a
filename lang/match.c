/* SPDX-License-Identifier: MIT */
/*
 * Whether the arms of a match leave something out, and whether an arm can be reached: one question, asked of a matrix
 * of patterns, one row an arm, one column a value: is there a row of values that fits `asked` and no row of the matrix?
 * (L. Maranget, "Warnings for pattern matching", 2007.) What is found is also shown: struct witness.
 *
 * The search can be exponential; it counts its steps and gives up after STEPS_MOST, as if all were well, but for what
 * is left out: that is then an error of its own.
 */
#include "lang/checker.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/assert.h"

enum { STEPS_MOST = 100000000, CELLS_MOST = 4000000, DEPTH_MOST = 3000 };

/* A value that no arm fits, as far as it matters; NULL is any. */
struct witness {
    enum coir_x_pattern_kind kind;
    const struct coir_ty_variant *variant;
    const struct coir_x *constant;
    uint32_t n;
    const struct witness **items;
};

struct matrix {
    uint32_t rows, width;
    const struct coir_x_pattern ***list;        /* rows, each of `width` */
    coir_ty *types;                             /* of the columns */
};

static void *take(struct coir_checker *c, size_t size)
{
    void *const at = coir_arena_take(&c->match, size);

    if (!at)
        coir_check_leave(c);
    return at;
}

static bool is_any(const struct coir_x_pattern *p)
{
    return !p || p->kind == COIR_PATTERN_ANY || p->kind == COIR_PATTERN_NAME;
}

static bool same_constant(const struct coir_x *a, const struct coir_x *b)
{
    if (a->kind == COIR_X_TEXT)
        return a->text.size == b->text.size && !memcmp(a->text.bytes, b->text.bytes, a->text.size);
    return a->kind == COIR_X_FLOAT ? a->number == b->number : a->integer == b->integer;
}

/* Two patterns that are not any, of one type, begin alike. */
static bool same_head(const struct coir_x_pattern *a, const struct coir_x_pattern *b)
{
    if (a->kind != b->kind)
        return false;
    return a->kind == COIR_PATTERN_VALUE ? same_constant(a->constant, b->constant) :
           a->kind != COIR_PATTERN_VARIANT || a->index == b->index;
}

/* The types of what is in a value that begins like `head`. */
static void item_types(struct coir_checker *c, const struct coir_x_pattern *head, coir_ty ty, coir_ty *to)
{
    for (uint32_t i = 0; i < head->n; i++)
        to[i] = head->kind == COIR_PATTERN_VARIANT ? coir_ty_payload(c->types, ty, head->index, i) :
                coir_info(c, ty)->args[i];
}

/* ---- smaller matrices ---- */

static const struct coir_x_pattern **row_of(struct coir_checker *c, const struct coir_x_pattern *head, uint32_t n,
                                            const struct coir_x_pattern **row, uint32_t width)
{
    const struct coir_x_pattern **const to = take(c, (n + width) * sizeof *to);

    c->cells += n + width;
    if (c->cells > CELLS_MOST)
        c->steps = STEPS_MOST;
    for (uint32_t i = 0; i < n && !is_any(head); i++)
        to[i] = head->items[i];
    if (width > 1)
        memcpy(to + n, row + 1, (width - 1) * sizeof *to);
    return to;
}

static void add_row(struct coir_checker *c, struct matrix *to, uint32_t *room, const struct coir_x_pattern **row)
{
    if (to->rows == *room) {
        const uint32_t more = *room ? *room * 2 : 8;
        const struct coir_x_pattern ***const list = take(c, more * sizeof *list);
        if (to->rows)
            memcpy(list, to->list, to->rows * sizeof *list);
        to->list = list;
        *room = more;
    }
    to->list[to->rows++] = row;
}

/* The rows of m that fit values that begin like `head` (NULL: like none of the heads there), without that beginning. */
static void add_rows(struct coir_checker *c, const struct coir_x_pattern **row, const struct coir_x_pattern *p,
                     const struct coir_x_pattern *head, uint32_t n, const struct matrix *m, struct matrix *to,
                         uint32_t *room)
{
    c->steps++;
    if (p && p->kind == COIR_PATTERN_EITHER) {
        for (uint32_t i = 0; i < p->n && c->steps < STEPS_MOST; i++)
            add_rows(c, row, p->items[i], head, n, m, to, room);
    } else if (is_any(p) || (head && same_head(p, head))) {
        add_row(c, to, room, row_of(c, p, n, row, m->width));
    }
}

static struct matrix specialised(struct coir_checker *c, const struct matrix *m, const struct coir_x_pattern *head)
{
    const uint32_t n = head ? head->n : 0;
    struct matrix to = { .width = m->width - 1 + n };
    uint32_t room = 0;

    to.types = take(c, (to.width + 1) * sizeof *to.types);
    if (head)
        item_types(c, head, m->types[0], to.types);
    if (m->width > 1)
        memcpy(to.types + n, m->types + 1, (m->width - 1) * sizeof *to.types);
    for (uint32_t i = 0; i < m->rows && c->steps < STEPS_MOST; i++)
        add_rows(c, m->list[i], m->list[i][0], head, n, m, &to, &room);
    return to;
}

/* ---- the heads of a column ---- */

struct heads {
    const struct coir_x_pattern **list;
    uint32_t n, room;
    uint32_t *buckets;          /* of hashes: a number in the list plus 1; twice as many as there is room, a power of
                                   two */
};

static uint32_t head_hash(const struct coir_x_pattern *p)
{
    const struct coir_x *const x = p->kind == COIR_PATTERN_VALUE ? p->constant : NULL;
    uint64_t h = 1469598103934665603u;

    if (x && x->kind == COIR_X_TEXT) {
        for (uint32_t i = 0; i < x->text.size; i++)
            h = (h ^ (unsigned char)x->text.bytes[i]) * 1099511628211u;
    } else if (x && x->kind != COIR_X_FLOAT) {          /* 0.0 and -0.0 are one: floats all go into one bucket */
        h = ((uint64_t)x->integer ^ h) * 0x9e3779b97f4a7c15u;
    } else {
        h = ((uint64_t)p->kind * 31 + p->index) * 0x9e3779b97f4a7c15u;
    }
    return (uint32_t)(h >> 32);
}

/* Where the head is, or would be. */
static uint32_t *head_slot(struct coir_checker *c, const struct heads *h, const struct coir_x_pattern *p)
{
    uint32_t at = head_hash(p) & (h->room * 2 - 1);

    while (h->buckets[at] && !same_head(h->list[h->buckets[at] - 1], p)) {
        at = (at + 1) & (h->room * 2 - 1);
        c->steps++;
    }
    return &h->buckets[at];
}

static void more_heads(struct coir_checker *c, struct heads *h)
{
    const struct heads old = *h;

    h->room = old.room ? old.room * 2 : 8;
    h->list = take(c, h->room * sizeof *h->list);
    h->buckets = take(c, h->room * 2 * sizeof *h->buckets);
    for (uint32_t i = 0; i < old.n; i++) {
        h->list[i] = old.list[i];
        *head_slot(c, h, old.list[i]) = i + 1;
    }
}

static void add_head(struct coir_checker *c, struct heads *h, const struct coir_x_pattern *p)
{
    c->steps++;
    if (is_any(p))
        return;
    if (p->kind == COIR_PATTERN_EITHER) {
        for (uint32_t i = 0; i < p->n; i++)
            add_head(c, h, p->items[i]);
        return;
    }
    if (h->n == h->room)
        more_heads(c, h);
    uint32_t *const slot = head_slot(c, h, p);
    if (*slot)
        return;
    h->list[h->n++] = p;
    *slot = h->n;
}

/* Values of the type begin with one of these heads, and with no other. */
static bool are_all(struct coir_checker *c, const struct heads *h, coir_ty ty)
{
    const struct coir_ty_info *const i = coir_info(c, ty);

    if (h->n == 0)
        return false;
    switch (h->list[0]->kind) {
    case COIR_PATTERN_TUPLE:
        return true;
    case COIR_PATTERN_NIL:
    case COIR_PATTERN_SOME:
        return h->n == 2;
    case COIR_PATTERN_VARIANT:
        return i->kind == COIR_TY_DECL && h->n == i->decl->nvariants;
    default:
        return i->kind == COIR_TY_BOOL && h->n == 2;
    }
}

/* What is not among the heads of a column, for the reader. NULL: anything. */
static const struct witness *absent(struct coir_checker *c, const struct heads *h, coir_ty ty)
{
    const struct coir_ty_info *const i = coir_info(c, ty);
    struct witness *const w = take(c, sizeof *w);

    if (h->n == 0)
        return NULL;
    w->kind = h->list[0]->kind;
    if (w->kind == COIR_PATTERN_NIL || w->kind == COIR_PATTERN_SOME) {
        w->kind = w->kind == COIR_PATTERN_NIL ? COIR_PATTERN_SOME : COIR_PATTERN_NIL;
        w->n = w->kind == COIR_PATTERN_SOME;
    } else if (w->kind == COIR_PATTERN_VARIANT && i->kind == COIR_TY_DECL) {
        uint32_t v = 0;
        bool *const there = take(c, i->decl->nvariants + 1);
        for (uint32_t k = 0; k < h->n; k++)
            there[h->list[k]->index] = true;
        while (there[v])
            v++;
        w->variant = &i->decl->variants[v];
        w->n = w->variant->nfields;
    } else if (w->kind == COIR_PATTERN_VALUE && i->kind == COIR_TY_BOOL) {
        struct coir_x *const other = take(c, sizeof *other);
        *other = *h->list[0]->constant;
        other->integer = !other->integer;
        w->constant = other;
    } else {
        return NULL;
    }
    w->items = take(c, (w->n + 1) * sizeof *w->items);
    return w;
}

/* ---- the question ---- */

static bool useful(struct coir_checker *c, const struct matrix *m, const struct coir_x_pattern **asked,
                   const struct witness **found);

/* `found` of what was specialised by `head`, as it was before. */
static void put_together(struct coir_checker *c, const struct coir_x_pattern *head, coir_ty ty,
                         const struct witness **inner, const struct witness **found, uint32_t width)
{
    struct witness *const w = take(c, sizeof *w);

    *w = (struct witness){ .kind = head->kind, .constant = head->constant, .n = head->n, .items = inner };
    if (head->kind == COIR_PATTERN_VARIANT)
        w->variant = &coir_info(c, ty)->decl->variants[head->index];
    found[0] = w;
    for (uint32_t i = 1; i < width; i++)
        found[i] = inner[head->n + i - 1];
}

static bool useful_head(struct coir_checker *c, const struct matrix *m, const struct coir_x_pattern **asked,
                        const struct coir_x_pattern *given, const struct coir_x_pattern *head,
                        const struct witness **found)
{
    const struct matrix s = specialised(c, m, head);
    const struct witness **const inner = take(c, (s.width + 1) * sizeof *inner);

    if (!useful(c, &s, row_of(c, given, head->n, asked, m->width), inner))
        return false;
    put_together(c, head, m->types[0], inner, found, m->width);
    return true;
}

static bool useful_any(struct coir_checker *c, const struct matrix *m, const struct coir_x_pattern **asked,
                       const struct witness **found)
{
    struct heads h = { 0 };

    for (uint32_t i = 0; i < m->rows && c->steps < STEPS_MOST; i++)
        add_head(c, &h, m->list[i][0]);
    if (are_all(c, &h, m->types[0])) {
        for (uint32_t i = 0; i < h.n; i++) {
            if (useful_head(c, m, asked, NULL, h.list[i], found))
                return true;
        }
        return false;
    }
    const struct matrix s = specialised(c, m, NULL);
    const struct witness **const inner = take(c, (s.width + 1) * sizeof *inner);
    if (!useful(c, &s, row_of(c, NULL, 0, asked, m->width), inner))
        return false;
    found[0] = absent(c, &h, m->types[0]);
    for (uint32_t i = 1; i < m->width; i++)
        found[i] = inner[i - 1];
    return true;
}

static bool useful_now(struct coir_checker *c, const struct matrix *m, const struct coir_x_pattern **asked,
                       const struct witness **found)
{
    if (c->match_depth > DEPTH_MOST)
        c->steps = STEPS_MOST;
    if (++c->steps > STEPS_MOST)
        return false;
    if (m->width == 0)
        return m->rows == 0;
    if (m->rows == 0) {
        for (uint32_t i = 0; i < m->width; i++)
            found[i] = NULL;
        return true;
    }
    const struct coir_x_pattern *const p = asked[0];
    if (is_any(p))
        return useful_any(c, m, asked, found);
    if (p->kind != COIR_PATTERN_EITHER)
        return useful_head(c, m, asked, p, p, found);
    for (uint32_t i = 0; i < p->n; i++) {
        const struct coir_x_pattern **const row = row_of(c, NULL, 1, asked, m->width);
        row[0] = p->items[i];
        if (useful(c, m, row, found))
            return true;
    }
    return false;
}

static bool useful(struct coir_checker *c, const struct matrix *m, const struct coir_x_pattern **asked,
                   const struct witness **found)
{
    c->match_depth++;
    const bool is = useful_now(c, m, asked, found);
    c->match_depth--;
    return is;
}

/* ---- what is said ---- */

struct text {
    char bytes[200];
    size_t n;
};

static void put(struct text *to, const char *text)
{
    for (; *text && to->n + 4 < sizeof to->bytes; text++)
        to->bytes[to->n++] = *text;
}

static void put_constant(struct text *to, const struct coir_x *x)
{
    char number[32];

    snprintf(number, sizeof number, "%lld", (long long)x->integer);
    put(to, x->kind == COIR_X_BOOL ? (x->integer ? "true" : "false") : x->kind == COIR_X_INT ? number : "_");
}

static void put_witness(struct text *to, const struct witness *w)
{
    if (!w) {
        put(to, "_");
        return;
    }
    switch (w->kind) {
    case COIR_PATTERN_NIL:
        put(to, "nil");
        return;
    case COIR_PATTERN_VALUE:
        put_constant(to, w->constant);
        return;
    case COIR_PATTERN_SOME:
        put_witness(to, w->items[0]);
        return;
    case COIR_PATTERN_VARIANT:
        put(to, w->variant->name);
        break;
    default:
        break;
    }
    for (uint32_t i = 0; i < w->n; i++) {
        put(to, i ? ", " : "(");
        put_witness(to, w->items[i]);
    }
    put(to, w->n ? ")" : "");
}

static void say_left_out(struct coir_checker *c, coir_ast n, const struct witness *w)
{
    const struct coir_place at = coir_ast_place(coir_tree_of(c), n);
    struct text text = { .n = 0 };

    put_witness(&text, w);
    text.bytes[text.n] = '\0';
    coir_say_at(c, COIR_E_NOT_EXHAUSTIVE, at.start, at.start + 5, "no arm fits `%s`", text.bytes);
    coir_note(c, "add an arm for it, or `_ => …` for all the rest");
}

void coir_check_arms(struct coir_checker *c, coir_ast n, const struct coir_x_match *match)
{
    struct matrix m = { .width = 1 };
    const struct witness *found[1] = { NULL };
    const struct coir_x_pattern *any[1] = { NULL };

    if (match->value->type == COIR_TY_NEVER)
        return;
    c->steps = c->cells = 0;
    m.types = take(c, sizeof *m.types);
    m.types[0] = match->value->type;
    m.list = take(c, (match->n + 1) * sizeof *m.list);
    for (uint32_t i = 0; i < match->n; i++) {
        const struct coir_x_pattern **const row = take(c, sizeof *row);
        row[0] = match->arms[i].pattern;
        if (!useful(c, &m, row, found) && c->steps < STEPS_MOST && c->module->asked) {
            coir_say_at(c, COIR_W_ARM, row[0]->at, row[0]->end, "this arm is never reached");
            coir_note(c, "the arms above it take all that it would fit");
        }
        if (!match->arms[i].guard)
            m.list[m.rows++] = row;
    }
    c->steps = c->cells = 0;
    if (useful(c, &m, any, found))
        say_left_out(c, n, found[0]);
    else if (c->steps >= STEPS_MOST)
        coir_say(c, COIR_E_MATCH_SIZE, n, "this match is too large to be looked through");
    coir_arena_free(&c->match);
}
