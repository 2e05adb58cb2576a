/* SPDX-License-Identifier: MIT */
/*
 * Sorting, of what is ordered: Int, Float, Text, Bool, Duration, tuples of these. Merging from the bottom: runs of a
 * few by insertion, then runs of 8, 16, 32 ... from one buffer into another and back. So it is stable, takes n log n
 * comparisons whatever comes, and can stop anywhere between two elements, to go on when others have had their turn.
 *
 * At every stop the list has the buffer that a pass reads, which is whole: a pass copies, and destroys nothing. So who
 * is cut, or has no memory, leaves a list with all its elements.
 */
#include "vm/natives/standard.h"

enum { RUN = 8, SLICE = 30000 };    /* elements that are sorted by insertion; that are moved before others run */

enum order { ORDER_INT, ORDER_FLOAT, ORDER_TEXT };

struct sort {
    uint64_t *other;                /* the buffer beside the list's; as large */
    size_t size;                    /* of it, in bytes */
    size_t n, width;                /* elements; of a run, 0 while runs are made */
    size_t a;                       /* where this pass has come to: the runs that are merged begin there */
    size_t i, k, at;                /* what is next of the first run, of the second; where it goes. at 0: not begun */
    uint32_t slots;
    enum order order[COIR_VALUE_SLOTS];
};

static void sort_cut(struct coir_fiber *f, void *scratch)
{
    struct sort *const s = scratch;

    if (s->other)
        coir_heap_free(f->heap, s->other, s->size);
}

/* How each slot of the elements is ordered. Tuples are their slots, one after the other, so what is in them is, too; a
 * type is followed inwards by its first part that is not done, and there is one after every slot. */
static void find_orders(struct sort *s, const struct coir_type *t)
{
    struct { const struct coir_type *t; uint32_t at; } open[COIR_VALUE_SLOTS + 1];
    uint32_t depth = 0, n = 0;

    open[depth].t = t;
    open[depth++].at = 0;
    while (depth) {
        const struct coir_type *const top = open[depth - 1].t;

        if (top->kind == COIR_TYPE_TUPLE && open[depth - 1].at < top->nfields) {
            open[depth].t = top->fields[open[depth - 1].at++].type;
            open[depth++].at = 0;
            continue;
        }
        if (top->kind != COIR_TYPE_TUPLE)
            s->order[n++] = top->kind == COIR_TYPE_FLOAT ? ORDER_FLOAT : top->kind == COIR_TYPE_TEXT ? ORDER_TEXT
                                                                                                    : ORDER_INT;
        depth--;
    }
}

/* ---- comparing ---- */

static int compare_floats(uint64_t a, uint64_t b)
{
    double x, y;

    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    if (x != x || y != y)                   /* NaN comes last */
        return (x != x) - (y != y);
    return (x > y) - (x < y);
}

static int compare_slots(enum order order, uint64_t a, uint64_t b)
{
    switch (order) {
    case ORDER_FLOAT: return compare_floats(a, b);
    case ORDER_TEXT: return coir_text_compare(coir_text_at(a), coir_text_at(b));
    default: return ((int64_t)a > (int64_t)b) - ((int64_t)a < (int64_t)b);
    }
}

/* Whether b must come before a. */
static inline bool is_after(const struct sort *s, const uint64_t *a, const uint64_t *b)
{
    for (uint32_t i = 0; i < s->slots; i++) {
        const int order = compare_slots(s->order[i], a[i], b[i]);

        if (order)
            return order > 0;
    }
    return false;
}

/* ---- runs ---- */

static void sort_run(const struct sort *s, uint64_t *data, size_t a, size_t b)
{
    const uint32_t n = s->slots;
    uint64_t element[COIR_VALUE_SLOTS];

    for (size_t i = a + 1; i < b; i++) {
        size_t k = i;

        memcpy(element, data + i * n, n * sizeof *data);
        for (; k > a && is_after(s, data + (k - 1) * n, element); k--)
            memcpy(data + k * n, data + (k - 1) * n, n * sizeof *data);
        memcpy(data + k * n, element, n * sizeof *data);
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Words have a loop of their own: there the comparison is all there is. Stops where one run is used up, or at `end`. */
static void merge_words(struct sort *s, const int64_t *from, int64_t *to, size_t m, size_t b, size_t end)
{
    size_t i = s->i, k = s->k, at = s->at;

    while (i < m && k < b && at < end) {
        const bool second = from[k] < from[i];

        to[at++] = second ? from[k] : from[i];
        k += second;
        i += !second;
    }
    s->i = i;
    s->k = k;
    s->at = at;
}

/* Two runs, a..m and m..b, into one, as far as `most` elements go. How many. */
static size_t merge(struct sort *s, const uint64_t *from, uint64_t *to, size_t m, size_t b, size_t most)
{
    const size_t begun = s->at, end = least(b, s->at + most);
    const uint32_t n = s->slots;

    if (n == 1 && s->order[0] == ORDER_INT)
        merge_words(s, (const int64_t *)from, (int64_t *)to, m, b, end);
    for (; s->at < end; s->at++) {
        const bool second = s->i >= m || (s->k < b && is_after(s, from + s->i * n, from + s->k * n));
        size_t *const next = second ? &s->k : &s->i;

        memcpy(to + s->at * n, from + *next * n, n * sizeof *to);
        ++*next;
    }
    return end - begun;
}

/* The pass is over: what it wrote is the list. */
static void turn(struct sort *s, struct coir_list *l)
{
    if (s->width) {
        uint64_t *const data = l->data;

        l->data = s->other;
        s->other = data;
    }
    s->width = s->width ? 2 * s->width : RUN;
    s->a = 0;
}

/* Up to `most` elements of the pass that is going on. */
static size_t step(struct sort *s, struct coir_list *l, size_t most)
{
    const size_t end = least(s->a + (s->width ? 2 * s->width : RUN), s->n), m = least(s->a + s->width, s->n);
    size_t moved = end - s->a;

    if (s->width) {
        if (s->at <= s->a) {
            s->i = s->at = s->a;
            s->k = m;
        }
        moved = merge(s, l->data, s->other, m, end, most);
        if (s->at < end)
            return moved;
    } else {
        sort_run(s, l->data, s->a, end);
    }
    s->a = end;
    if (end == s->n) {
        turn(s, l);
        s->at = 0;
    }
    return moved;
}

/* True: all is sorted. */
static bool go_on(struct sort *s, struct coir_list *l)
{
    for (size_t done = 0; done < SLICE;) {
        done += step(s, l, SLICE - done);
        if (s->width >= s->n)
            return true;
    }
    return false;
}

/* The list is the caller's alone, and its other buffer is there. */
static bool begin(struct coir_fiber *f, struct sort *s, uint64_t *r)
{
    const struct coir_type *const t = coir_param_type(f, 0)->element;
    struct coir_list *l;

    if (!coir_list_own(f->heap, &r[0], 0))
        return false;
    l = coir_list_at(r[0]);
    s->n = l->len;
    s->slots = t->slots;
    find_orders(s, t);
    s->size = l->cap * t->slots * sizeof *s->other;
    if (s->n > RUN)
        s->other = coir_heap_alloc(f->heap, s->size);
    return s->n <= RUN || s->other;
}

static enum coir_native_result list_sort(struct coir_fiber *f, uint64_t *r)
{
    struct sort *s;

    if (coir_list_at(r[0])->len < 2 || coir_param_type(f, 0)->element->slots == 0)
        return COIR_NATIVE_DONE;
    s = coir_scratch(f, sizeof *s, sort_cut);
    if (!s || (s->n == 0 && !begin(f, s, r)))
        return coir_trap_memory(f);
    if (!go_on(s, coir_list_at(r[0])))
        return COIR_NATIVE_MORE;
    coir_charge(f, least(s->n, SLICE));
    sort_cut(f, s);
    return COIR_NATIVE_DONE;
}

static const struct coir_native natives[] = {
    { "List.sort", "fn sort[T](mut self: List[T])", list_sort },
};
const struct coir_natives coir_sort_natives = { natives, sizeof natives / sizeof *natives, NULL, 0 };
