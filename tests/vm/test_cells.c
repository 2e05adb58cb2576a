/* SPDX-License-Identifier: MIT */
/*
 * Cells, by themselves: what is allocated, what is copied, that nothing is left; texts, lists, maps; values a million
 * deep, dropped, compared and written; and that no memory is an answer everywhere.
 */
#include "tap.h"
#include "vm/list.h"
#include "vm/map.h"
#include "vm/text.h"
#include "vm/walk.h"

enum { TEXTS = COIR_TYPE_FIXED, INTS, AGES, MAYBE_NODE, NODE, TREE, PAIR, MAYBE_INT, POINT, COLOUR, MAYBE_MAYBE,
       TYPES };

static struct coir_types types;
static struct coir_type all[TYPES];

static struct coir_field node_fields[] = { { .name = "n", .type = &all[COIR_TYPE_INT] },
                                           { .name = "next", .type = &all[MAYBE_NODE] } };
static struct coir_field fork_fields[] = { { .type = &all[TREE] }, { .type = &all[TREE] } };
static struct coir_variant tree_variants[] = { { .name = "Leaf" },
                                               { .name = "Fork", .fields = fork_fields, .nfields = 2 } };
static struct coir_field pair_fields[] = { { .type = &all[COIR_TYPE_INT] }, { .type = &all[COIR_TYPE_TEXT] } };
static struct coir_field point_fields[] = { { .name = "x", .type = &all[COIR_TYPE_FLOAT] },
                                            { .name = "tag", .type = &all[MAYBE_INT] } };
static struct coir_variant colours[] = { { .name = "Red" }, { .name = "Green" } };

static void make_types(void)
{
    for (int i = 0; i < COIR_TYPE_FIXED; i++)
        all[i].kind = (uint8_t)i;
    all[TEXTS] = (struct coir_type){ .kind = COIR_TYPE_LIST, .element = &all[COIR_TYPE_TEXT] };
    all[INTS] = (struct coir_type){ .kind = COIR_TYPE_LIST, .element = &all[COIR_TYPE_INT] };
    all[AGES] = (struct coir_type){ .kind = COIR_TYPE_MAP, .key = &all[COIR_TYPE_TEXT],
                                    .element = &all[COIR_TYPE_INT] };
    all[MAYBE_NODE] = (struct coir_type){ .kind = COIR_TYPE_OPTIONAL, .element = &all[NODE] };
    all[NODE] = (struct coir_type){ .kind = COIR_TYPE_RECORD, .name = "Node", .fields = node_fields, .nfields = 2 };
    all[TREE] = (struct coir_type){ .kind = COIR_TYPE_SUM, .name = "Tree", .variants = tree_variants, .nvariants = 2 };
    all[PAIR] = (struct coir_type){ .kind = COIR_TYPE_TUPLE, .fields = pair_fields, .nfields = 2 };
    all[MAYBE_INT] = (struct coir_type){ .kind = COIR_TYPE_OPTIONAL, .element = &all[COIR_TYPE_INT] };
    all[POINT] = (struct coir_type){ .kind = COIR_TYPE_RECORD, .name = "P", .fields = point_fields, .nfields = 2 };
    all[COLOUR] = (struct coir_type){ .kind = COIR_TYPE_ENUM, .name = "Colour", .variants = colours, .nvariants = 2 };
    all[MAYBE_MAYBE] = (struct coir_type){ .kind = COIR_TYPE_OPTIONAL, .element = &all[MAYBE_NODE] };
    types = (struct coir_types){ .all = all, .n = TYPES };
    STR_EQ(coir_types_finish(&types), NULL, "the types are finished");
}

static void layouts(void)
{
    EQ(all[PAIR].slots, 2, "a tuple of a word and a reference has two slots");
    OK(!all[PAIR].layout[0].ref && all[PAIR].layout[1].ref == &all[COIR_TYPE_TEXT], "in order");
    EQ(all[MAYBE_NODE].slots, 1, "an optional record is one reference");
    OK(all[MAYBE_NODE].layout[0].nullable && all[MAYBE_NODE].layout[0].ref == &all[NODE], "which may be 0");
    EQ(all[MAYBE_INT].slots, 2, "an optional word has a tag");
    EQ(all[MAYBE_MAYBE].slots, 2, "and so has an optional of what 0 is a value of");
    EQ(all[POINT].cell_slots, 3, "a record holds the slots of its fields");
    EQ(point_fields[1].slot, 1, "and each knows its first");
    OK(all[INTS].flat == false && !all[INTS].deep, "a list of words is a reference to a cell without any");
    OK(all[TEXTS].deep && all[TREE].deep && all[NODE].deep && !all[POINT].deep, "what refers to cells is deep");
    OK(tree_variants[0].constant && tree_variants[0].constant->count == COIR_IMMORTAL, "a variant without payload is");
}

static void wrong_types(void)
{
    struct coir_type bad[COIR_TYPE_FIXED + 2];
    struct coir_field self = { .type = &bad[COIR_TYPE_FIXED] };
    struct coir_types ts = { .all = bad, .n = COIR_TYPE_FIXED + 1 };

    memset(bad, 0, sizeof bad);
    for (int i = 0; i < COIR_TYPE_FIXED; i++)
        bad[i].kind = (uint8_t)i;
    bad[COIR_TYPE_FIXED] = (struct coir_type){ .kind = COIR_TYPE_TUPLE, .fields = &self, .nfields = 1 };
    STR_EQ(coir_types_finish(&ts), "a type that contains itself", "a tuple in itself");
    coir_types_free(&ts);
    ts = (struct coir_types){ .all = bad, .n = COIR_TYPE_FIXED + 1 };
    bad[COIR_TYPE_FIXED] = (struct coir_type){ .kind = COIR_TYPE_LIST };
    STR_EQ(coir_types_finish(&ts), "a type without an element", "a list of nothing");
    coir_types_free(&ts);
    ts = (struct coir_types){ .all = bad, .n = 3 };
    STR_EQ(coir_types_finish(&ts), "the fixed types are missing", "too few types");
    coir_types_free(&ts);
}

static struct coir_heap heap(size_t limit)
{
    struct coir_heap h;

    coir_heap_init(&h, all, NULL, limit, 7);
    return h;
}

static uint64_t text(struct coir_heap *h, const char *s)
{
    return coir_slot_of(coir_text_of(h, s, strlen(s)));
}

static void texts(void)
{
    struct coir_heap h = heap(0);
    uint64_t a = text(&h, "ab"), b;
    uint64_t made;

    for (int i = 0; i < 100000; i++)
        coir_text_append(&h, &a, "xyz", 3);
    EQ(coir_text_at(a)->len, 300002, "appended a hundred thousand times");
    OK(h.allocations < 60, "in %llu steps", (unsigned long long)h.allocations);
    EQ(h.copies, 0, "never copied");
    MEM_EQ(coir_text_at(a)->bytes + 299996, "xyzxyz", 6, "as it should be");
    coir_hold(coir_ref(a));
    b = a;
    made = h.allocations;
    coir_text_append(&h, &b, "!", 1);
    EQ(h.copies, 1, "one that is held twice is copied");
    EQ(h.allocations, made + 1, "at once with room");
    EQ(coir_text_at(a)->len, 300002, "and stays what it was");
    EQ(coir_text_at(b)->len, 300003, "the other is longer");
    EQ(coir_ref(a)->count, 1, "each is held once");
    coir_text_append(&h, &a, coir_text_at(a)->bytes, coir_text_at(a)->len);
    EQ(coir_text_at(a)->len, 600004, "a text appended to itself");
    MEM_EQ(coir_text_at(a)->bytes + 300002, "abxyz", 5, "is there twice");
    coir_drop(&h, coir_ref(a));
    coir_drop(&h, coir_ref(b));
    EQ(h.lives, 0, "nothing is left");
    coir_heap_end(&h);
}

static void lists(void)
{
    struct coir_heap h = heap(0);
    uint64_t a = coir_slot_of(coir_list_new(&h, &all[INTS], 0)), b;
    struct coir_list *l;

    for (uint64_t i = 0; i < 100000; i++) {
        coir_list_own(&h, &a, 1);
        l = coir_list_at(a);
        l->data[l->len++] = i;
    }
    EQ(h.copies, 0, "pushing to a list that is held once copies nothing");
    OK(h.allocations < 60, "and allocates %llu times for 100,000", (unsigned long long)h.allocations);
    b = a;
    coir_hold(coir_ref(b));
    OK(coir_list_own(&h, &b, 0), "the other place makes it its own");
    EQ(h.copies, 1, "by one copy");
    coir_list_at(b)->data[5] = 99;
    EQ(coir_list_at(a)->data[5], 5, "the first is as it was");
    EQ(coir_list_at(b)->data[99999], 99999, "the copy is whole");
    uint64_t out;
    coir_list_remove_at(&h, coir_list_at(b), 0, &out);
    EQ(out, 0, "the first comes out");
    EQ(coir_list_at(b)->data[0], 1, "and the others move up");
    coir_list_insert_at(&h, coir_list_at(b), 2, &(uint64_t){ 77 });
    EQ(coir_list_at(b)->data[2], 77, "one goes in");
    EQ(coir_list_at(b)->data[3], 3, "before that which was there");
    coir_drop(&h, coir_ref(a));
    coir_drop(&h, coir_ref(b));
    EQ(h.lives, 0, "nothing is left");
    coir_heap_end(&h);
}

static void maps(void)
{
    struct coir_heap h = heap(0);
    uint64_t m = coir_slot_of(coir_map_new(&h, &all[AGES])), other, at = 0, value;
    const uint64_t *entry;
    char key[16];
    int wrong = 0, n = 0;

    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "key%d", i);
        const uint64_t k = text(&h, key);

        wrong += !coir_map_put(&h, coir_map_at(m), &k, &(uint64_t){ (uint64_t)i });
    }
    EQ(wrong, 0, "a thousand entries");
    EQ(coir_map_at(m)->live, 1000, "are there");
    for (int i = 0; i < 1000; i += 2) {
        snprintf(key, sizeof key, "key%d", i);
        const uint64_t k = text(&h, key);

        wrong += !coir_map_remove(&h, coir_map_at(m), &k, &value) || value != (uint64_t)i;
        wrong += coir_map_find(&h, coir_map_at(m), &k) != NULL;
        coir_drop(&h, coir_ref(k));
    }
    EQ(wrong, 0, "every other one is removed, and gone");
    while ((entry = coir_map_next(&h, coir_map_at(m), &at))) {
        wrong += entry[1] != (uint64_t)(2 * n + 1);
        n++;
    }
    EQ(n, 500, "the rest is there");
    EQ(wrong, 0, "in the order of insertion");
    other = m;
    coir_hold(coir_ref(other));
    OK(coir_map_own(&h, &other), "copied on the first write");
    EQ(h.copies, 1, "once");
    const uint64_t k = text(&h, "key1");
    coir_map_put(&h, coir_map_at(other), &k, &(uint64_t){ 4711 });
    const uint64_t again = text(&h, "key1");
    EQ(*coir_map_find(&h, coir_map_at(other), &again), 4711, "a value is replaced");
    EQ(*coir_map_find(&h, coir_map_at(m), &again), 1, "in one of them");
    EQ(coir_map_at(other)->live, 500, "without another entry");
    coir_drop(&h, coir_ref(again));
    coir_drop(&h, coir_ref(m));
    coir_drop(&h, coir_ref(other));
    coir_heap_bury(&h, SIZE_MAX);
    EQ(h.lives, 0, "nothing is left");
    coir_heap_end(&h);
}

/* Nodes one in another. */
static uint64_t chain(struct coir_heap *h, int n, uint64_t last)
{
    uint64_t node = 0;

    for (int i = 0; i < n; i++) {
        struct coir_box *b = coir_box_new(h, &all[NODE], 0, 2);

        b->slots[0] = i ? 1 : last;
        b->slots[1] = node;
        node = coir_slot_of(b);
    }
    return node;
}

/* Forks whose left one is a fork, and the right a leaf. */
static uint64_t comb(struct coir_heap *h, int n)
{
    uint64_t tree = coir_slot_of(tree_variants[0].constant);

    for (int i = 0; i < n; i++) {
        struct coir_box *b = coir_box_new(h, &all[TREE], 1, 2);

        b->slots[0] = tree;
        b->slots[1] = coir_slot_of(tree_variants[0].constant);
        tree = coir_slot_of(b);
    }
    return tree;
}

static bool equal(struct coir_heap *h, int type, const uint64_t *a, const uint64_t *b, int *slices)
{
    struct coir_walk w;
    enum coir_walked how;
    bool same;

    coir_walk_init(&w, h);
    coir_walk_begin(&w, &all[type], a, b);
    for (*slices = 1; (how = coir_walk_equal(&w, 1000, &same)) == COIR_WALK_MORE; ++*slices)
        ;
    coir_walk_end(&w);
    return how == COIR_WALK_DONE && same;
}

static void deep(void)
{
    enum { DEEP = 1000000 };
    struct coir_heap h = heap(0);
    uint64_t a = chain(&h, DEEP, 1), b = chain(&h, DEEP, 1), c = chain(&h, DEEP, 2);
    uint64_t made;
    int slices, turns = 0;

    EQ(coir_ref(a)->count, 1, "a chain of a million");
    made = h.allocations;
    OK(equal(&h, NODE, &a, &b, &slices), "is equal to another");
    OK(slices > 1000, "in %d slices", slices);
    EQ(h.allocations, made + 1, "with one allocation, since its steps do not pile up");
    OK(!equal(&h, NODE, &a, &c, &slices), "and not to one whose last differs");
    made = h.allocations;
    coir_drop(&h, coir_ref(a));
    while (coir_heap_bury(&h, 1000))
        turns++;
    OK(turns >= 999, "dropped in %d turns", turns);
    EQ(h.allocations, made, "without an allocation");
    coir_drop(&h, coir_ref(b));
    coir_drop(&h, coir_ref(c));
    coir_heap_bury(&h, SIZE_MAX);
    EQ(h.lives, 0, "nothing is left");

    a = comb(&h, DEEP);
    b = comb(&h, DEEP);
    OK(equal(&h, TREE, &a, &b, &slices), "trees a million deep on the left are equal");
    uint64_t out = text(&h, "");
    struct coir_walk w;
    coir_walk_init(&w, &h);
    coir_walk_begin(&w, &all[TREE], &a, NULL);
    while (coir_walk_text(&w, 1000, true, &out) == COIR_WALK_MORE)
        ;
    coir_walk_end(&w);
    EQ(coir_text_at(out)->len, (long long)DEEP * (int)strlen("Fork(, Leaf)") + (int)strlen("Leaf"), "and written");
    MEM_EQ(coir_text_at(out)->bytes, "Fork(Fork(Fork(", 15, "from the outside in");
    coir_drop(&h, coir_ref(a));
    coir_drop(&h, coir_ref(b));
    coir_drop(&h, coir_ref(out));
    coir_heap_bury(&h, SIZE_MAX);
    EQ(h.lives, 0, "nothing is left of them");
    coir_heap_end(&h);
}

static void written(int type, const uint64_t *value, const char *expected)
{
    struct coir_heap h = heap(0);
    uint64_t out = text(&h, "");
    struct coir_walk w;

    coir_walk_init(&w, &h);
    coir_walk_begin(&w, &all[type], value, NULL);
    while (coir_walk_text(&w, 3, true, &out) == COIR_WALK_MORE)
        ;
    coir_walk_end(&w);
    coir_text_append(&h, &out, "", 1);
    STR_EQ(coir_text_at(out)->bytes, expected, "written as %s", expected);
    coir_drop(&h, coir_ref(out));
    coir_heap_end(&h);
}

static void float_written(double x, const char *expected)
{
    uint64_t word;

    memcpy(&word, &x, sizeof word);
    written(COIR_TYPE_FLOAT, &word, expected);
}

static void writing(void)
{
    struct coir_heap h = heap(0);
    uint64_t list = coir_slot_of(coir_list_new(&h, &all[TEXTS], 2)), point[1], pair[2], map;

    written(COIR_TYPE_INT, &(uint64_t){ (uint64_t)-42 }, "-42");
    written(COIR_TYPE_BOOL, &(uint64_t){ 1 }, "true");
    written(COLOUR, &(uint64_t){ 1 }, "Green");
    written(COIR_TYPE_UNIT, &(uint64_t){ 0 }, "()");
    float_written(10, "10.0");
    float_written(0.1, "0.1");
    float_written(-0.0, "-0.0");
    float_written(1e16, "1e16");
    float_written(123456789012345680.0, "1.2345678901234568e17");
    float_written(1e15, "1000000000000000.0");
    float_written(2.5e-7, "2.5e-7");
    float_written(0.0001, "0.0001");
    float_written(1.0 / 3, "0.3333333333333333");
    float_written(5e-324, "5e-324");
    float_written(1.0 / 0.0, "inf");
    float_written(-1.0 / 0.0, "-inf");
    float_written(0.0 / 0.0, "nan");
    written(COIR_TYPE_DURATION, &(uint64_t){ 250000000 }, "250ms");
    written(COIR_TYPE_DURATION, &(uint64_t){ 90000000000 }, "90s");
    written(COIR_TYPE_DURATION, &(uint64_t){ 7200000000000 }, "2h");
    written(COIR_TYPE_DURATION, &(uint64_t){ (uint64_t)-1 }, "-1ns");
    written(COIR_TYPE_DURATION, &(uint64_t){ 0 }, "0s");
    written(TEXTS, &list, "[]");
    coir_list_at(list)->data[0] = text(&h, "a\n\"\\$x${\x01\xff");
    coir_list_at(list)->data[1] = text(&h, "\xc3\xa4");
    coir_list_at(list)->len = 2;
    written(TEXTS, &list, "[\"a\\n\\\"\\\\$x\\${\\x01\\xff\", \"\xc3\xa4\"]");
    written(MAYBE_INT, (uint64_t[]){ 0, 0 }, "nil");
    written(MAYBE_INT, (uint64_t[]){ 1, 5 }, "5");
    point[0] = coir_slot_of(coir_box_new(&h, &all[POINT], 0, 3));
    memcpy(((struct coir_box *)coir_ref(point[0]))->slots, (uint64_t[]){ 0x3ff0000000000000, 1, 7 }, 24);
    written(POINT, point, "P{ x: 1.0, tag: 7 }");
    pair[0] = 3;
    pair[1] = text(&h, "b");
    written(PAIR, pair, "(3, \"b\")");
    map = coir_slot_of(coir_map_new(&h, &all[AGES]));
    written(AGES, &map, "[:]");
    for (uint64_t i = 0; i < 2; i++) {
        const uint64_t key = text(&h, i ? "b" : "a");

        coir_map_put(&h, coir_map_at(map), &key, &i);
    }
    written(AGES, &map, "[\"a\": 0, \"b\": 1]");
    coir_drop(&h, coir_ref(map));
    coir_drop(&h, coir_ref(list));
    coir_drop(&h, coir_ref(point[0]));
    coir_drop(&h, coir_ref(pair[1]));
    EQ(h.lives, 0, "nothing is left");
    coir_heap_end(&h);
}

static void limits(void)
{
    struct coir_heap h = heap(1024 * 1024);
    uint64_t list = coir_slot_of(coir_list_new(&h, &all[INTS], 0));
    size_t n = 0;

    while (coir_list_own(&h, &list, 1)) {
        coir_list_at(list)->data[coir_list_at(list)->len++] = n++;
    }
    OK(n > 10000 && n <= 1024 * 1024 / 8, "a list within a megabyte: %zu", n);
    EQ(coir_list_at(list)->data[n - 1], n - 1, "is still whole when there is no more");
    OK(!coir_list_new(&h, &all[INTS], SIZE_MAX / 8), "and one that nobody can have is refused");
    OK(!coir_text_new(&h, SIZE_MAX - 8), "a text too");
    coir_drop(&h, coir_ref(list));
    list = coir_slot_of(coir_list_new(&h, &all[TEXTS], 300));
    while (coir_list_at(list)->len < 300)
        coir_list_at(list)->data[coir_list_at(list)->len++] = coir_slot_of(coir_text_new(&h, 2000));
    coir_drop(&h, coir_ref(list));
    OK(h.dead, "what is dead and not buried");
    struct coir_text *large = coir_text_new(&h, 1024 * 900);
    OK(large != NULL, "is buried before memory is refused");
    coir_drop(&h, &large->head);
    EQ(h.lives, 0, "nothing is left");
    coir_heap_end(&h);
}

int main(void)
{
    make_types();
    layouts();
    wrong_types();
    texts();
    lists();
    maps();
    deep();
    writing();
    limits();
    coir_types_free(&types);
    return DONE();
}
