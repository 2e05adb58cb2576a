/* SPDX-License-Identifier: MIT */
/* The intrusive list and FIFO: every operation on none, one and several elements. */
#include "runtime/base/queue.h"

#include "tap.h"

struct item {
    int value;
    struct coir_link link;
    struct coir_node node;
};

static struct item items[5] = {
    { .value = 0 }, { .value = 1 }, { .value = 2 }, { .value = 3 }, { .value = 4 },
};

/* The values of a list as decimal digits, front first, after a 1; the links backwards must say the same. */
static int list_digits(const struct coir_link *head)
{
    int digits = 1, backwards = 0, scale = 1;
    const struct coir_link *link;

    COIR_LIST_FOR(link, head)
        digits = digits * 10 + coir_container_of(link, struct item, link)->value;
    for (link = head->prev; link != head; link = link->prev, scale *= 10)
        backwards += coir_container_of(link, struct item, link)->value * scale;
    return backwards + scale == digits ? digits : -1;
}

static void test_list(void)
{
    struct coir_link list;

    coir_list_init(&list);
    OK(coir_list_empty(&list), "a new list is empty");
    OK(coir_list_first(&list) == NULL && coir_list_pop_front(&list) == NULL, "it has no first element");
    OK(!coir_link_in_list(&items[1].link), "a zeroed link is in no list");
    coir_list_push_back(&list, &items[1].link);
    OK(!coir_list_empty(&list) && coir_link_in_list(&items[1].link), "one element");
    coir_list_push_back(&list, &items[2].link);
    coir_list_push_front(&list, &items[3].link);
    coir_list_insert_before(&items[2].link, &items[4].link);
    EQ(list_digits(&list), 13142, "front, back and middle: 3 1 4 2");
    OK(coir_list_first(&list) == &items[3].link, "the first one is 3");
    coir_list_remove(&items[1].link);
    OK(!coir_link_in_list(&items[1].link), "a removed link is in no list");
    EQ(list_digits(&list), 1342, "removed from the middle");
    coir_list_remove(&items[2].link);
    EQ(list_digits(&list), 134, "removed from the back");
    OK(coir_list_pop_front(&list) == &items[3].link, "popped from the front");
    OK(!coir_link_in_list(&items[3].link), "a popped link is in no list");
    OK(coir_list_pop_front(&list) == &items[4].link, "popped the last one");
    OK(coir_list_empty(&list), "the list is empty again");
}

static void test_list_splice(void)
{
    struct coir_link to, from;

    coir_list_init(&to);
    coir_list_init(&from);
    coir_list_splice_back(&to, &from);
    EQ(list_digits(&to), 1, "nothing behind nothing");
    coir_list_push_back(&from, &items[1].link);
    coir_list_push_back(&from, &items[2].link);
    coir_list_splice_back(&to, &from);
    EQ(list_digits(&to), 112, "two behind nothing");
    OK(coir_list_empty(&from), "the source is empty");
    coir_list_splice_back(&to, &from);
    EQ(list_digits(&to), 112, "nothing behind two");
    coir_list_push_back(&from, &items[3].link);
    coir_list_splice_back(&to, &from);
    EQ(list_digits(&to), 1123, "one behind two");
}

static void test_list_walk_and_remove(void)
{
    struct coir_link list, *link, *after;
    int seen = 1;

    coir_list_init(&list);
    for (int i = 0; i < 5; i++)
        coir_list_push_back(&list, &items[i].link);
    COIR_LIST_FOR_SAFE(link, after, &list) {
        int value = coir_container_of(link, struct item, link)->value;

        seen = seen * 10 + value;
        if (value % 2 == 1)
            coir_list_remove(link);
    }
    EQ(seen, 101234, "a walk that removes sees every element");
    EQ(list_digits(&list), 1024, "and leaves the others");
}

static int fifo_pop(struct coir_fifo *fifo)
{
    struct coir_node *node = coir_fifo_pop(fifo);

    return node == NULL ? -1 : coir_container_of(node, struct item, node)->value;
}

static void test_fifo(void)
{
    struct coir_fifo fifo;

    coir_fifo_init(&fifo);
    OK(coir_fifo_empty(&fifo), "a new FIFO is empty");
    EQ(fifo_pop(&fifo), -1, "and pops nothing");
    coir_fifo_push(&fifo, &items[1].node);
    EQ(fifo_pop(&fifo), 1, "one in, one out");
    EQ(fifo_pop(&fifo), -1, "and no more");
    coir_fifo_push_front(&fifo, &items[2].node);
    coir_fifo_push(&fifo, &items[3].node);
    coir_fifo_push_front(&fifo, &items[4].node);
    OK(!coir_fifo_empty(&fifo), "three elements");
    EQ(fifo_pop(&fifo), 4, "the one that was put in front");
    EQ(fifo_pop(&fifo), 2, "then the one before it");
    coir_fifo_push(&fifo, &items[0].node);
    EQ(fifo_pop(&fifo), 3, "then the one behind");
    EQ(fifo_pop(&fifo), 0, "then what came since");
    OK(coir_fifo_empty(&fifo), "and it is empty");
}

static void test_fifo_append(void)
{
    struct coir_fifo to = { NULL, NULL }, from = { NULL, NULL };

    coir_fifo_append(&to, &from);
    OK(coir_fifo_empty(&to), "nothing behind nothing");
    coir_fifo_push(&from, &items[1].node);
    coir_fifo_push(&from, &items[2].node);
    coir_fifo_append(&to, &from);
    OK(coir_fifo_empty(&from), "the source is empty");
    coir_fifo_append(&to, &from);
    coir_fifo_push(&from, &items[3].node);
    coir_fifo_append(&to, &from);
    coir_fifo_push(&to, &items[4].node);
    for (int i = 1; i < 5; i++)
        EQ(fifo_pop(&to), i, "appended in order: %d", i);
    EQ(fifo_pop(&to), -1, "and no more");
}

int main(void)
{
    test_list();
    test_list_splice();
    test_list_walk_and_remove();
    test_fifo();
    test_fifo_append();
    return DONE();
}
