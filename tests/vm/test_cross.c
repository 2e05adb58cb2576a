/* SPDX-License-Identifier: MIT */
/*
 * Values that go to another shard, by themselves: after crossing every cell of one is held by the value alone, exactly
 * as often as the value refers to it; who else held it has what he had; and another heap drops it. Values of every
 * kind, grown by dice, in slices of every size, with memory that fails at each place; deep ones, and such as are small
 * only because they share; and between threads, in a ring, and from who makes to who drops, which must not grow.
 */
#include <pthread.h>

#include "tap.h"
#include "vm/commons.h"
#include "vm/cross.h"
#include "vm/list.h"
#include "vm/map.h"
#include "vm/program.h"
#include "vm/text.h"

enum { TEXTS = COIR_TYPE_FIXED, AGES, SHELF, MAYBE_NODE, NODE, TREE, PAIR, MAYBE_INT, FLAT, TWICE, MAYBE_TWICE, FN,
       CHAN, TASK, SOCKET, ROCK, MAYBE_PAIR, ALL, TYPES };

static struct coir_types types;
static struct coir_type all[TYPES];
static struct coir_field node_fields[] = { { .name = "n", .type = &all[COIR_TYPE_INT] },
                                           { .name = "next", .type = &all[MAYBE_NODE] },
                                           { .name = "last", .type = &all[COIR_TYPE_INT] } };
static struct coir_field fork_fields[] = { { .type = &all[TREE] }, { .type = &all[COIR_TYPE_INT] },
                                           { .type = &all[TREE] } };
static struct coir_variant tree_variants[] = { { .name = "Leaf" },
                                               { .name = "Fork", .fields = fork_fields, .nfields = 3 } };
static struct coir_field pair_fields[] = { { .type = &all[COIR_TYPE_INT] }, { .type = &all[COIR_TYPE_TEXT] } };
static struct coir_field flat_fields[] = { { .name = "x", .type = &all[COIR_TYPE_FLOAT] },
                                           { .name = "y", .type = &all[MAYBE_INT] } };
static struct coir_field twice_fields[] = { { .name = "a", .type = &all[MAYBE_TWICE] },
                                            { .name = "b", .type = &all[MAYBE_TWICE] } };
static struct coir_field all_fields[] = {
    { .name = "texts", .type = &all[TEXTS] }, { .name = "ages", .type = &all[AGES] },
    { .name = "shelf", .type = &all[SHELF] }, { .name = "node", .type = &all[MAYBE_NODE] },
    { .name = "tree", .type = &all[TREE] }, { .name = "pair", .type = &all[PAIR] },
    { .name = "maybe", .type = &all[MAYBE_PAIR] }, { .name = "flat", .type = &all[FLAT] },
    { .name = "chan", .type = &all[CHAN] }, { .name = "call", .type = &all[FN] },
};
static struct coir_field captures[] = { { .type = &all[TEXTS] }, { .type = &all[PAIR] } };
static struct coir_function functions[2];

static int sockets_dropped;

static void drop_socket(struct coir_heap *h, struct coir_counted *c)
{
    (void)h;
    (void)c;
    sockets_dropped++;
}

static int descriptor_of(const struct coir_counted *c)
{
    return (int)((const struct coir_box *)c)->slots[0];
}

static const struct coir_resource socket_kind = { .name = "Socket", .size = sizeof(struct coir_box) + 8,
                                                  .drop = drop_socket, .descriptor = descriptor_of };
static const struct coir_resource rock_kind = { .name = "Rock", .size = sizeof(struct coir_box), .drop = drop_socket,
                                                .stays = "a rock does not move" };

static void make_types(void)
{
    static struct coir_slot capture_slots[3];

    for (int i = 0; i < COIR_TYPE_FIXED; i++)
        all[i].kind = (uint8_t)i;
    all[TEXTS] = (struct coir_type){ .kind = COIR_TYPE_LIST, .element = &all[COIR_TYPE_TEXT] };
    all[AGES] = (struct coir_type){ .kind = COIR_TYPE_MAP, .key = &all[COIR_TYPE_TEXT],
                                    .element = &all[COIR_TYPE_INT] };
    all[SHELF] = (struct coir_type){ .kind = COIR_TYPE_MAP, .key = &all[PAIR], .element = &all[TEXTS] };
    all[MAYBE_NODE] = (struct coir_type){ .kind = COIR_TYPE_OPTIONAL, .element = &all[NODE] };
    all[NODE] = (struct coir_type){ .kind = COIR_TYPE_RECORD, .name = "Node", .fields = node_fields, .nfields = 3 };
    all[TREE] = (struct coir_type){ .kind = COIR_TYPE_SUM, .name = "Tree", .variants = tree_variants, .nvariants = 2 };
    all[PAIR] = (struct coir_type){ .kind = COIR_TYPE_TUPLE, .fields = pair_fields, .nfields = 2 };
    all[MAYBE_PAIR] = (struct coir_type){ .kind = COIR_TYPE_OPTIONAL, .element = &all[PAIR] };
    all[MAYBE_INT] = (struct coir_type){ .kind = COIR_TYPE_OPTIONAL, .element = &all[COIR_TYPE_INT] };
    all[FLAT] = (struct coir_type){ .kind = COIR_TYPE_RECORD, .name = "P", .fields = flat_fields, .nfields = 2 };
    all[TWICE] = (struct coir_type){ .kind = COIR_TYPE_RECORD, .name = "T", .fields = twice_fields, .nfields = 2 };
    all[MAYBE_TWICE] = (struct coir_type){ .kind = COIR_TYPE_OPTIONAL, .element = &all[TWICE] };
    all[FN] = (struct coir_type){ .kind = COIR_TYPE_FUNC, .element = &all[COIR_TYPE_UNIT] };
    all[CHAN] = (struct coir_type){ .kind = COIR_TYPE_CHAN, .element = &all[COIR_TYPE_INT] };
    all[TASK] = (struct coir_type){ .kind = COIR_TYPE_TASK, .element = &all[COIR_TYPE_INT] };
    all[SOCKET] = (struct coir_type){ .kind = COIR_TYPE_RESOURCE, .name = "Socket", .resource = &socket_kind };
    all[ROCK] = (struct coir_type){ .kind = COIR_TYPE_RESOURCE, .name = "Rock", .resource = &rock_kind };
    all[ALL] = (struct coir_type){ .kind = COIR_TYPE_RECORD, .name = "All", .fields = all_fields, .nfields = 10 };
    types = (struct coir_types){ .all = all, .n = TYPES };
    STR_EQ(coir_types_finish(&types), NULL, "the types are finished");
    captures[1].slot = 1;
    capture_slots[0] = all[TEXTS].layout[0];
    memcpy(&capture_slots[1], all[PAIR].layout, 2 * sizeof *capture_slots);
    functions[1] = (struct coir_function){ .captures = captures, .ncaptures = 2, .capture_slots = 3,
                                           .capture_layout = capture_slots };
}

/* A world of heaps. */
static struct coir_commons commons;

static void world(struct coir_heap *heaps, unsigned n, size_t limit)
{
    coir_commons_init(&commons, limit, n, 7);
    for (unsigned i = 0; i < n; i++) {
        coir_heap_init(&heaps[i], all, functions, 0, 3 + i);
        coir_heap_join(&heaps[i], &commons);
    }
}

/* The lives of all. */
static int64_t world_ends(struct coir_heap *heaps, unsigned n)
{
    int64_t lives = 0;

    for (unsigned i = 0; i < n; i++)
        coir_heap_bury(&heaps[i], SIZE_MAX);
    for (unsigned i = 0; i < n; i++)
        lives += heaps[i].lives;
#ifdef COIR_HEAP_EXACT
    int64_t used = 0;
    for (unsigned i = 0; i < n; i++)
        used += heaps[i].used;
    if (used)
        OK(false, "%lld bytes are still counted", (long long)used);
#endif
    for (unsigned i = 0; i < n; i++)
        coir_heap_end(&heaps[i]);
    coir_commons_end(&commons);
    return lives;
}

/* ---- dice ---- */

static _Thread_local uint64_t dice = 1;

static uint32_t roll(uint32_t n)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (uint32_t)(dice >> 20) % n;
}

/* ---- growing values: of parts that were made before, so that they share ---- */

enum { KEPT = 12 };

/* Values that can be parts of others; each is held here once. A 0 stands for nil. */
struct pool {
    struct coir_heap *h;
    uint64_t texts[KEPT], lists[KEPT], ages[KEPT], shelves[KEPT], nodes[KEPT], trees[KEPT], flats[KEPT], chans[KEPT],
        calls[KEPT], everything[KEPT];
    uint32_t n;
};

static uint64_t held(uint64_t slot)
{
    if (slot)
        coir_hold(coir_ref(slot));
    return slot;
}

static uint64_t one_of(const struct pool *p, const uint64_t *kept)
{
    return held(kept[roll(p->n)]);
}

static uint64_t new_text(struct coir_heap *h)
{
    char bytes[400];
    const int n = snprintf(bytes, sizeof bytes, "%u%*u", roll(1000000), roll(40) ? 1 : (int)roll(300), roll(10));

    return coir_slot_of(coir_text_of(h, bytes, (size_t)n));
}

static uint64_t new_list(struct pool *p)
{
    const uint32_t n = roll(6);
    struct coir_list *l = coir_list_new(p->h, &all[TEXTS], n + roll(3));

    while (l->len < n)
        l->data[l->len++] = one_of(p, p->texts);
    return coir_slot_of(l);
}

/* With entries that were removed again. */
static uint64_t new_map(struct pool *p, const struct coir_type *t)
{
    const uint32_t n = roll(20);
    struct coir_map *m = coir_map_new(p->h, t);

    for (uint32_t i = 0; i < n; i++) {
        uint64_t key[2] = { roll(10), one_of(p, p->texts) }, value = t == &all[SHELF] ? one_of(p, p->lists) : roll(9);

        if (roll(4)) {
            coir_map_put(p->h, m, t == &all[SHELF] ? key : key + 1, &value);
        } else {
            if (t == &all[SHELF])
                coir_drop(p->h, coir_ref(value));
            if (coir_map_remove(p->h, m, t == &all[SHELF] ? key : key + 1, &value) && t == &all[SHELF])
                coir_drop(p->h, coir_ref(value));
            coir_drop(p->h, coir_ref(key[1]));
        }
    }
    return coir_slot_of(m);
}

static uint64_t new_box(struct pool *p, int type, uint32_t aux, uint32_t n, const uint64_t *slots)
{
    struct coir_box *b = coir_box_new(p->h, &all[type], aux, n);

    memcpy(b->slots, slots, n * sizeof *slots);
    return coir_slot_of(b);
}

/* What a channel is to a heap: counted atomically. They are held here too, so that none has to end. */
static struct coir_counted chans[KEPT];

static uint64_t new_chan(uint32_t i)
{
    __atomic_add_fetch(&chans[i].count, 1, __ATOMIC_RELAXED);
    return coir_slot_of(&chans[i]);
}

static uint64_t constant;

static void new_values(struct pool *p, uint32_t i)
{
    p->texts[i] = i == 1 ? constant : new_text(p->h);
    p->n = i + 1;
    p->lists[i] = new_list(p);
    p->ages[i] = new_map(p, &all[AGES]);
    p->shelves[i] = new_map(p, &all[SHELF]);
    p->nodes[i] = i ? new_box(p, NODE, 0, 3, (uint64_t[]){ i, one_of(p, p->nodes), i }) : 0;
    p->trees[i] = coir_slot_of(tree_variants[0].constant);
    if (i)
        p->trees[i] = new_box(p, TREE, 1, 3, (uint64_t[]){ one_of(p, p->trees), i, one_of(p, p->trees) });
    p->flats[i] = new_box(p, FLAT, 0, 3, (uint64_t[]){ 0, i & 1, i });
    p->chans[i] = new_chan(i);
    p->calls[i] = new_box(p, FN, 1, 3, (uint64_t[]){ one_of(p, p->lists), i, one_of(p, p->texts) });
    p->everything[i] = new_box(p, ALL, 0, 13, (uint64_t[]){
        one_of(p, p->lists), one_of(p, p->ages), one_of(p, p->shelves), one_of(p, p->nodes), one_of(p, p->trees), i,
        one_of(p, p->texts), i & 1, i, i & 1 ? one_of(p, p->texts) : 0, one_of(p, p->flats), one_of(p, p->chans),
        one_of(p, p->calls) });
}

static void drop_each(struct pool *p, uint64_t *kept, bool all_of_them)
{
    for (uint32_t i = 0; i < p->n; i++) {
        if (kept[i] && (all_of_them || roll(2))) {
            coir_drop(p->h, coir_ref(kept[i]));
            kept[i] = 0;
        }
    }
}

static void drop_pool(struct pool *p, bool all_of_them)
{
    uint64_t *const kept[] = { p->texts, p->lists, p->ages, p->shelves, p->nodes, p->trees, p->flats, p->chans,
                               p->calls, p->everything };

    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        drop_each(p, kept[i], all_of_them);
}

/* ---- what must be so afterwards ---- */

enum { SEEN = 4096 };
static _Thread_local struct { struct coir_counted *c; uint64_t times; } seen[SEEN];
static _Thread_local uint32_t nseen;

static void count_slots(const struct coir_heap *h, const struct coir_slot *layout, uint32_t n, const uint64_t *slots);

static void count_inside(const struct coir_heap *h, struct coir_counted *c)
{
    const struct coir_type *t = &all[c->type];
    const struct coir_list *l = (struct coir_list *)c;
    const struct coir_map *m = (struct coir_map *)c;
    const uint64_t *entry;
    uint32_t n;

    switch (t->kind) {
    case COIR_TYPE_TEXT:
    case COIR_TYPE_CHAN:
    case COIR_TYPE_RESOURCE:
        return;
    case COIR_TYPE_LIST:
        for (size_t i = 0; i < l->len; i++)
            count_slots(h, t->cell, t->cell_slots, coir_list_slot(l, i, t->cell_slots));
        return;
    case COIR_TYPE_MAP:
        for (uint64_t at = 0; (entry = coir_map_next(h, m, &at));)
            count_slots(h, t->cell, t->cell_slots, entry);
        return;
    default: {
        const struct coir_slot *layout = coir_box_layout(h, (struct coir_box *)c, &n);
        count_slots(h, layout, n, ((struct coir_box *)c)->slots);
    }
    }
}

static void count_slots(const struct coir_heap *h, const struct coir_slot *layout, uint32_t n, const uint64_t *slots)
{
    for (uint32_t i = 0; i < n; i++) {
        struct coir_counted *c = layout[i].ref ? coir_ref(slots[i]) : NULL;
        uint32_t at = 0;

        if (!c || coir_count(c) < 0)
            continue;
        while (at < nseen && seen[at].c != c)
            at++;
        if (at < nseen) {
            seen[at].times++;
            continue;
        }
        if (nseen == SEEN)
            return;
        seen[nseen].c = c;
        seen[nseen++].times = 1;
        count_inside(h, c);
    }
}

/* Cells that are held by others than the value. */
static int held_outside(const struct coir_heap *h, const struct coir_type *t, const uint64_t *slots)
{
    int outside = 0;

    nseen = 0;
    count_slots(h, t->layout, t->slots, slots);
    for (uint32_t i = 0; i < nseen; i++)
        outside += seen[i].c->count != seen[i].times;
    return nseen == SEEN ? -1 : outside;
}

static bool equal(struct coir_heap *h, const struct coir_type *t, const uint64_t *a, const uint64_t *b)
{
    struct coir_walk w;
    bool same = false;

    coir_walk_init(&w, h);
    coir_walk_begin(&w, t, a, b);
    while (coir_walk_equal(&w, SIZE_MAX, &same) == COIR_WALK_MORE)
        ;
    coir_walk_end(&w);
    return same;
}

/* The whole way. False: no memory. */
static bool cross(struct coir_heap *h, const struct coir_type *t, uint64_t *slots, size_t slice)
{
    struct coir_crossing x;
    enum coir_walked how = COIR_WALK_NO_MEMORY;

    coir_cross_init(&x, h);
    if (coir_cross_add(&x, t, slots))
        while ((how = coir_cross(&x, slice)) == COIR_WALK_MORE)
            ;
    coir_cross_end(&x);
    return how == COIR_WALK_DONE;
}

/* ---- every kind ---- */

/* What is compared with cannot be a function, so each kind is asked for alone too. */
static void each_kind(void)
{
    static const struct { int type; size_t at; } kinds[] = {
        { COIR_TYPE_TEXT, offsetof(struct pool, texts) }, { TEXTS, offsetof(struct pool, lists) },
        { AGES, offsetof(struct pool, ages) }, { SHELF, offsetof(struct pool, shelves) },
        { MAYBE_NODE, offsetof(struct pool, nodes) }, { TREE, offsetof(struct pool, trees) },
        { FLAT, offsetof(struct pool, flats) }, { CHAN, offsetof(struct pool, chans) },
        { FN, offsetof(struct pool, calls) }, { ALL, offsetof(struct pool, everything) },
    };
    static const size_t slices[] = { 1, 2, 7, 1000000 };
    int outside = 0, differ = 0, made = 0;

    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct coir_heap h[2];
        struct pool p = { .h = h };
        uint64_t copy[sizeof kinds / sizeof *kinds];

        world(h, 2, 0);
        dice = seed;
        for (uint32_t i = 0; i < KEPT; i++)
            new_values(&p, i);
        if (seed % 3 == 0)
            drop_pool(&p, false);
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            const struct coir_type *t = &all[kinds[k].type];
            const uint64_t *kept = (const uint64_t *)(const void *)((char *)&p + kinds[k].at) + roll(KEPT);

            copy[k] = held(*kept);
            if (!copy[k])
                continue;
            cross(h, t, &copy[k], slices[seed % 4]);
            outside += held_outside(h, t, &copy[k]) != 0;
            made++;
            if (t->kind != COIR_TYPE_FUNC && kinds[k].type != ALL)
                differ += !equal(h, t, &copy[k], kept);
        }
        if (seed % 2)
            drop_pool(&p, true);
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            if (copy[k])
                coir_drop(&h[1], coir_ref(copy[k]));
        }
        if (!(seed % 2))
            drop_pool(&p, true);
        differ += world_ends(h, 2) != 0;
    }
    OK(made > 2000, "%d values of each kind", made);
    EQ(outside, 0, "nothing of one that has crossed is held elsewhere, and all as often as it is referred to");
    EQ(differ, 0, "each is what it was, and nothing is left on either heap");
}

/* A value nobody else holds is not copied. */
static void stays(void)
{
    struct coir_heap h[2];
    struct pool p = { .h = h };
    uint64_t made, copies, tree = coir_slot_of(tree_variants[0].constant);

    world(h, 2, 0);
    for (uint64_t i = 0; i < 1000; i++)
        tree = new_box(&p, TREE, 1, 3, (uint64_t[]){ coir_slot_of(tree_variants[0].constant), i, tree });
    made = h->allocations;
    copies = h->copies;
    OK(cross(h, &all[TREE], &tree, 10), "a tree that nobody else holds");
    EQ(h->copies, copies, "is not copied");
    OK(h->allocations - made <= 1, "and costs nothing but the list of what is left to do");
    coir_drop(&h[1], coir_ref(tree));
    EQ(world_ends(h, 2), 0, "nothing is left");
}

static void sharing(void)
{
    struct coir_heap h[2];
    struct pool p = { .h = h };
    uint64_t top = 0, mine;
    uint64_t copies;

    world(h, 2, 0);
    for (int i = 0; i < 60; i++)
        top = new_box(&p, TWICE, 0, 2, (uint64_t[]){ top, held(top) });
    copies = h->copies;
    OK(cross(h, &all[TWICE], &top, 3), "sixty levels, each twice in the next one");
    OK(h->copies - copies <= 60, "are sixty cells");
    EQ(held_outside(h, &all[TWICE], &top), 0, "all its own");
    mine = held(top);
    copies = h->copies;
    OK(cross(h, &all[TWICE], &top, 1), "and where somebody else holds the whole");
    EQ(h->copies - copies, 60, "sixty are copied");
    EQ(held_outside(h, &all[TWICE], &top), 0, "none of them his");
    EQ(held_outside(h, &all[TWICE], &mine), 0, "and he has what he had");
    coir_drop(&h[1], coir_ref(top));
    coir_drop(&h[0], coir_ref(mine));
    EQ(world_ends(h, 2), 0, "nothing is left");
}

/* Many that are held twice: the memo grows while it is used. */
static void many(void)
{
    enum { MANY = 200000 };
    struct coir_heap h[2];
    uint64_t list, twice[2];
    int wrong = 0;

    world(h, 2, 0);
    list = coir_slot_of(coir_list_new(h, &all[TEXTS], 2 * MANY));
    for (uint64_t i = 0; i < MANY; i++)
        coir_list_at(list)->data[i] = coir_list_at(list)->data[2 * MANY - 1 - i] = held(new_text(h));
    coir_list_at(list)->len = 2 * MANY;
    twice[0] = list;
    twice[1] = held(list);
    OK(cross(h, &all[TEXTS], &twice[0], 100), "%d texts, each twice in a list", MANY);
    for (uint64_t i = 0; i < MANY; i++)
        wrong += coir_list_at(twice[0])->data[i] != coir_list_at(twice[0])->data[2 * MANY - 1 - i]
                 || coir_ref(coir_list_at(twice[0])->data[i])->count != 2;
    EQ(wrong, 0, "are as many afterwards, each twice");
    OK(equal(h, &all[TEXTS], &twice[0], &twice[1]), "and the same");
    coir_drop(&h[1], coir_ref(twice[0]));
    coir_drop(&h[0], coir_ref(twice[1]));
    EQ(world_ends(h, 2), 0, "nothing is left");
}

static void deep(void)
{
    enum { DEEP = 1000000 };
    struct coir_heap h[2];
    struct pool p = { .h = h };
    uint64_t node = 0, tree = coir_slot_of(tree_variants[0].constant), mine[2];
    struct coir_crossing x;
    enum coir_walked how;
    size_t room = 0, slices = 0;

    world(h, 2, 0);
    for (uint64_t i = 0; i < DEEP; i++) {
        node = new_box(&p, NODE, 0, 3, (uint64_t[]){ i, node, i });
        tree = new_box(&p, TREE, 1, 3, (uint64_t[]){ tree, i, coir_slot_of(tree_variants[0].constant) });
    }
    mine[0] = held(node);
    mine[1] = held(tree);
    coir_cross_init(&x, h);
    OK(coir_cross_add(&x, &all[NODE], &node), "a list a million deep");
    for (; (how = coir_cross(&x, 1000)) == COIR_WALK_MORE; slices++)
        room = room < x.room ? x.room : room;
    EQ(how, COIR_WALK_DONE, "is copied");
    OK(slices > 900, "in slices: %zu", slices);
    OK(room <= 8, "on a worklist of one");
    coir_cross_end(&x);
    OK(cross(h, &all[TREE], &tree, 1000), "and a tree whose first branch is the deep one");
    OK(equal(h, &all[NODE], &node, &mine[0]) && equal(h, &all[TREE], &tree, &mine[1]), "as they were");
    coir_drop(&h[1], coir_ref(node));
    coir_drop(&h[1], coir_ref(tree));
    coir_drop(&h[0], coir_ref(mine[0]));
    coir_drop(&h[0], coir_ref(mine[1]));
    EQ(world_ends(h, 2), 0, "nothing is left");
}

/* Large ones take slices, and nothing is lost when that is given up. */
static void given_up(void)
{
    struct coir_heap h[2];
    struct pool p = { .h = h };
    uint64_t big[3], mine[3];
    static const int kinds[] = { COIR_TYPE_TEXT, TEXTS, AGES };
    int wrong = 0;

    world(h, 2, 0);
    big[0] = coir_slot_of(coir_text_new(h, 10000000));
    memset(coir_text_at(big[0])->bytes, 'x', 10000000);
    big[1] = coir_slot_of(coir_list_new(h, &all[TEXTS], 100000));
    big[2] = coir_slot_of(coir_map_new(h, &all[AGES]));
    while (coir_list_at(big[1])->len < 100000) {
        const uint64_t key = new_text(h), value = 1;

        coir_list_at(big[1])->data[coir_list_at(big[1])->len++] = held(key);
        coir_map_put(h, coir_map_at(big[2]), &key, &value);
    }
    for (int i = 0; i < 3; i++) {
        mine[i] = held(big[i]);
        for (size_t after = 1; after < 100000; after = after * 3 + roll(10)) {
            struct coir_crossing x;

            coir_cross_init(&x, p.h);
            coir_cross_add(&x, &all[kinds[i]], &big[i]);
            for (size_t n = 0; n < after && coir_cross(&x, 20) == COIR_WALK_MORE; n++)
                ;
            coir_cross_end(&x);
            wrong += !equal(h, &all[kinds[i]], &big[i], &mine[i]);
        }
        OK(cross(h, &all[kinds[i]], &big[i], 100), "then it crosses");
        EQ(coir_ref(big[i])->count, 1, "and is its own");
        wrong += !equal(h, &all[kinds[i]], &big[i], &mine[i]);
        coir_drop(&h[0], coir_ref(mine[i]));
    }
    EQ(wrong, 0, "cut anywhere it is what it was");
    for (int i = 0; i < 3; i++)
        coir_drop(&h[1], coir_ref(big[i]));
    EQ(world_ends(h, 2), 0, "nothing is left");
}

static void resources(void)
{
    struct coir_heap h[2];
    uint64_t socket, rock;
    struct coir_crossing x;

    world(h, 2, 0);
    socket = coir_slot_of(coir_resource_new(h, &all[SOCKET]));
    ((struct coir_box *)coir_ref(socket))->slots[0] = 42;
    rock = coir_slot_of(coir_resource_new(h, &all[ROCK]));
    coir_cross_init(&x, h);
    coir_cross_add(&x, &all[SOCKET], &socket);
    EQ(coir_cross(&x, 10), COIR_WALK_DONE, "a resource crosses");
    EQ(x.ndescriptors, 1, "and says which descriptor");
    EQ(x.descriptors[0], 42, "the shard is to let go of");
    coir_cross_add(&x, &all[ROCK], &rock);
    EQ(coir_cross(&x, 10), COIR_WALK_STAYS, "another does not");
    STR_EQ(x.stays, "a rock does not move", "and says why");
    coir_cross_end(&x);
    coir_drop(&h[1], coir_ref(socket));
    coir_drop(&h[0], coir_ref(rock));
    EQ(world_ends(h, 2), 0, "nothing is left");
    EQ(sockets_dropped, 2, "each was dropped, once");
}

/* ---- without memory ---- */

static void fails_at_each(void)
{
#ifdef COIR_FAULTS
    int wrong = 0, failed = 0;

    for (uint64_t seed = 1; seed <= 10; seed++) {
        for (long at = 1, done = 0; !done; at++) {
            struct coir_heap h[2];
            struct pool p = { .h = h };
            uint64_t mine, before;
            const struct coir_type *t = &all[seed % 2 ? SHELF : ALL];

            world(h, 2, 0);
            dice = seed;
            for (uint32_t i = 0; i < KEPT; i++)
                new_values(&p, i);
            mine = held(before = seed % 2 ? p.shelves[KEPT - 1] : p.everything[KEPT - 1]);
            coir_heap_fail_at = at;
            cross(h, t, &mine, 5);
            done = coir_heap_fail_at > 0;
            coir_heap_fail_at = 0;
            failed += !done;
            if (seed % 2)
                wrong += !equal(h, t, &mine, &before);
            coir_drop(&h[done], coir_ref(mine));
            drop_pool(&p, true);
            wrong += world_ends(h, 2) != 0;
        }
    }
    OK(failed > 50, "%d allocations failed", failed);
    EQ(wrong, 0, "each time the value is whole, and nothing is lost");
#else
    SKIP("memory fails in other builds");
#endif
}

static void quotas(void)
{
    enum { LIMIT = 8 << 20, LARGE = 4096 };
    struct coir_heap h[4];
    static uint64_t lists[4];
    int64_t used = 0;
    size_t n = 0;
    bool more = true;

    world(h, 4, LIMIT);
    for (int i = 0; i < 4; i++)
        lists[i] = coir_slot_of(coir_list_new(&h[i], &all[TEXTS], 4096));
    while (more) {
        struct coir_text *t = coir_text_new(&h[n % 4], LARGE);

        more = t != NULL;
        if (t)
            coir_list_at(lists[n % 4])->data[coir_list_at(lists[n % 4])->len++] = coir_slot_of(t);
        n += more;
    }
    for (int i = 0; i < 4; i++)
        used += h[i].used;
    OK(used <= LIMIT && used > LIMIT / 4 * 3, "four heaps have one limit: %lld bytes in %zu texts", (long long)used, n);
    for (int i = 0; i < 4; i++)
        coir_drop(&h[(i + 1) % 4], coir_ref(lists[i]));     /* another gives it back */
    for (int i = 0; i < 4; i++)
        coir_heap_bury(&h[i], SIZE_MAX);
    struct coir_text *large = coir_text_new(&h[2], LIMIT / 4 * 3);
    OK(large != NULL, "what others have given back may be one's");
    if (large)
        coir_drop(&h[3], &large->head);
    int64_t quotas = commons.left;
    for (int i = 0; i < 4; i++)
        quotas += h[i].quota;
    EQ(quotas, LIMIT, "and there is as much as there was");
    EQ(world_ends(h, 4), 0, "nothing is left");
}

/* ---- between threads ---- */

enum { SHARDS = 4, BOX = 64 };

struct shard {
    pthread_t thread;
    struct coir_heap *h;
    struct shard *next;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t inbox[BOX];
    int queued;
    int turns;
    int wrong;
    int64_t most;                       /* bytes of all, as it saw them */
};

static void post(struct shard *to, uint64_t slot)
{
    pthread_mutex_lock(&to->lock);
    while (to->queued == BOX)
        pthread_cond_wait(&to->changed, &to->lock);
    to->inbox[to->queued++] = slot;
    pthread_cond_broadcast(&to->changed);
    pthread_mutex_unlock(&to->lock);
}

static uint64_t receive(struct shard *at)
{
    uint64_t slot;

    pthread_mutex_lock(&at->lock);
    while (!at->queued)
        pthread_cond_wait(&at->changed, &at->lock);
    slot = at->inbox[0];
    memmove(at->inbox, at->inbox + 1, (size_t)--at->queued * sizeof *at->inbox);
    pthread_cond_broadcast(&at->changed);
    pthread_mutex_unlock(&at->lock);
    return slot;
}

static void start(struct shard *s, struct coir_heap *h, int n, int turns, void *(*run)(void *))
{
    for (int i = 0; i < n; i++) {
        s[i] = (struct shard){ .h = &h[i], .next = &s[(i + 1) % n], .turns = turns };
        pthread_mutex_init(&s[i].lock, NULL);
        pthread_cond_init(&s[i].changed, NULL);
    }
    for (int i = 0; i < n; i++)
        pthread_create(&s[i].thread, NULL, run, &s[i]);
}

static void join(struct shard *s, int n)
{
    for (int i = 0; i < n; i++)
        pthread_join(s[i].thread, NULL);
    for (int i = 0; i < n; i++) {
        pthread_mutex_destroy(&s[i].lock);
        pthread_cond_destroy(&s[i].changed);
    }
}

/* Sends on what it got, with parts of its own, and keeps parts of it for a while. */
static void *in_a_ring(void *arg)
{
    struct shard *s = arg;
    struct pool p = { .h = s->h };

    dice = (uint64_t)(s - s->next) + 1000;
    for (uint32_t i = 0; i < KEPT; i++)
        new_values(&p, i);
    for (int turn = 0; turn < s->turns; turn++) {
        const uint32_t at = roll(KEPT);
        uint64_t mine = held(p.everything[at]);

        if (!cross(s->h, &all[ALL], &mine, 50))
            s->wrong++;
        post(s->next, mine);
        mine = receive(s);
        s->wrong += held_outside(s->h, &all[ALL], &mine) != 0;
        coir_drop(s->h, coir_ref(p.everything[at]));
        p.everything[at] = mine;
        coir_drop(s->h, coir_ref(p.texts[at]));
        p.texts[at] = held(((struct coir_box *)coir_ref(mine))->slots[6]);
        coir_drop(s->h, coir_ref(p.shelves[at]));
        p.shelves[at] = held(((struct coir_box *)coir_ref(mine))->slots[2]);
        coir_heap_share(s->h);
    }
    drop_pool(&p, true);
    coir_heap_bury(s->h, SIZE_MAX);
    return NULL;
}

static void ring(void)
{
    struct coir_heap h[SHARDS];
    struct shard s[SHARDS];
    int wrong = 0;

    world(h, SHARDS, 64 << 20);
    start(s, h, SHARDS, 400, in_a_ring);
    join(s, SHARDS);
    for (int i = 0; i < SHARDS; i++)
        wrong += s[i].wrong;
    EQ(wrong, 0, "values go round on %d threads", SHARDS);
    EQ(world_ends(h, SHARDS), 0, "nothing is left");
}

/* ---- what is made here and dropped there must not grow ---- */

static struct coir_heap *pair_of_heaps;

static int64_t used_by_both(void)
{
    return pair_of_heaps[0].used + pair_of_heaps[1].used;
}

/* A text whose cell is of the size that this one makes. */
static uint64_t made_here(struct shard *s, size_t len)
{
    struct coir_text *t = coir_text_new(s->h, len);

    memset(t->bytes, 'a', len);
    return coir_slot_of(t);
}

/* Both wait for each other after each hundred, so that the sum can be read. */
static void exchange(struct shard *a, struct shard *b, size_t from_a, size_t from_b)
{
    for (int turn = 0; turn < a->turns; turn++) {
        uint64_t to_b[100], to_a[100];

        for (int i = 0; i < 100; i++) {
            to_b[i] = from_a ? made_here(a, from_a) : 0;
            to_a[i] = from_b ? made_here(b, from_b) : 0;
        }
        for (int i = 0; i < 100; i++) {
            if (to_b[i])
                coir_drop(b->h, coir_ref(to_b[i]));
            if (to_a[i])
                coir_drop(a->h, coir_ref(to_a[i]));
        }
        coir_heap_share(a->h);
        coir_heap_share(b->h);
        if (used_by_both() > a->most)
            a->most = used_by_both();
    }
}

static void does_not_grow(size_t from_a, size_t from_b, int swaps, const char *what)
{
    struct coir_heap h[2];
    struct shard a = { .h = &h[0], .turns = 2000 }, b = { .h = &h[1] };

    world(h, 2, 0);
    pair_of_heaps = h;
    for (int i = 0; i < swaps; i++)
        exchange(&a, &b, i % 2 ? from_b : from_a, i % 2 ? from_a : from_b);
    OK(a.most < 4 << 20, "%s: %lld bytes at most", what, (long long)a.most);
    EQ(world_ends(h, 2), 0, "nothing is left");
}

static void growth(void)
{
    does_not_grow(20, 0, 1, "made on one, dropped on the other");
    does_not_grow(2000, 0, 1, "the same with large ones");
    does_not_grow(20, 100, 1, "each drops as many as it makes, of another size");
    does_not_grow(20, 0, 8, "now from here, now from there");
}

/* With real threads; nobody waits for the other but where the box is full or empty. */
static void *makes(void *arg)
{
    struct shard *s = arg;

    for (int i = 0; i < s->turns; i++) {
        post(s->next, made_here(s, 20));
        if (i % 100 == 0)
            coir_heap_share(s->h);
    }
    return NULL;
}

static void *drops(void *arg)
{
    struct shard *s = arg;

    for (int i = 0; i < s->turns; i++) {
        coir_drop(s->h, coir_ref(receive(s)));
        if (i % 100 == 0)
            coir_heap_share(s->h);
    }
    return NULL;
}

static void *makes_or_drops(void *arg)
{
    struct shard *s = arg;

    return s->h == pair_of_heaps ? makes(s) : drops(s);
}

static void threads_do_not_grow(void)
{
    struct coir_heap h[2];
    struct shard s[2];

    world(h, 2, 0);
    pair_of_heaps = h;
    start(s, h, 2, 100000, makes_or_drops);
    join(s, 2);
    OK(used_by_both() < 4 << 20, "a hundred thousand from thread to thread: %lld bytes", (long long)used_by_both());
    EQ(world_ends(h, 2), 0, "nothing is left");
}

int main(void)
{
    int held_chans = 0;

    make_types();
    for (int i = 0; i < KEPT; i++)
        chans[i] = (struct coir_counted){ .count = COIR_SHARED | 1, .type = CHAN };
    constant = coir_slot_of(coir_text_constant(&types, "constant", 8));
    each_kind();
    stays();
    sharing();
    many();
    deep();
    given_up();
    resources();
    fails_at_each();
    quotas();
    ring();
    growth();
    threads_do_not_grow();
    for (int i = 0; i < KEPT; i++)
        held_chans += chans[i].count != (COIR_SHARED | 1);
    EQ(held_chans, 0, "nobody holds a channel any more");
    coir_types_free(&types);
    return DONE();
}
