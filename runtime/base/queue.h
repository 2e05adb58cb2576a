/* SPDX-License-Identifier: MIT */
/*
 * Intrusive queues, header only: a circular doubly linked list from whose middle a node leaves in O(1), and
 * a singly linked FIFO for what leaves only at its head. They own no memory and know no element: the caller
 * finds it by coir_container_of(). One thread at a time.
 *
 * A link that is in no list has next == NULL, which removal sees to, so coir_link_in_list() can tell,
 * provided that the link was zero, or coir_link_clear()ed, when its memory was made. A node must never be
 * pushed while it is in a list, nor its memory go away.
 */
#ifndef COIR_RUNTIME_BASE_QUEUE_H
#define COIR_RUNTIME_BASE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/assert.h"

/* ---- the list ---- */

/* A node of a list, and the list itself: its head is a link that is never an element.
 *
 *      head <-> first <-> ... <-> last <-> head
 */
#ifndef COIR_LINK_DECLARED
#define COIR_LINK_DECLARED
struct coir_link {
    struct coir_link *prev, *next; /* next == NULL: in no list, and prev means nothing */
};
#endif

/* Makes an empty list of a head. */
static inline void coir_list_init(struct coir_link *head)
{
    head->prev = head->next = head;
}

/* Says of a node that it is in no list. */
static inline void coir_link_clear(struct coir_link *link)
{
    link->prev = link->next = NULL;
}

/* True between a push of this node and its removal. */
static inline bool coir_link_in_list(const struct coir_link *link)
{
    return link->next != NULL;
}

static inline bool coir_list_empty(const struct coir_link *head)
{
    return head->next == head;
}

/* Inserts a node, which must be in no list, before `place`, a node or a head. What the node held is not
 * read, so its memory may be raw. */
static inline void coir_list_insert_before(struct coir_link *place, struct coir_link *link)
{
    link->prev = place->prev;
    link->next = place;
    place->prev->next = link;
    place->prev = link;
}

static inline void coir_list_push_back(struct coir_link *head, struct coir_link *link)
{
    coir_list_insert_before(head, link);
}

static inline void coir_list_push_front(struct coir_link *head, struct coir_link *link)
{
    coir_list_insert_before(head->next, link);
}

/* Takes a node out of the list it is in, whichever that is. */
static inline void coir_list_remove(struct coir_link *link)
{
    COIR_ASSERT(coir_link_in_list(link));
    link->prev->next = link->next;
    link->next->prev = link->prev;
    coir_link_clear(link);
}

/* The first node, left where it is, or NULL. */
static inline struct coir_link *coir_list_first(const struct coir_link *head)
{
    return coir_list_empty(head) ? NULL : head->next;
}

/* Removes and returns the first node, or NULL. */
static inline struct coir_link *coir_list_pop_front(struct coir_link *head)
{
    struct coir_link *link = coir_list_first(head);

    if (link != NULL)
        coir_list_remove(link);
    return link;
}

/* Moves all nodes of `from` behind those of `to`, in order; `from` is empty afterwards. */
static inline void coir_list_splice_back(struct coir_link *to, struct coir_link *from)
{
    if (coir_list_empty(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    coir_list_init(from);
}

/* Walks the list from its front; `link` is a struct coir_link * of the caller's. The list must not change. */
#define COIR_LIST_FOR(link, head) for ((link) = (head)->next; (link) != (head); (link) = (link)->next)

/* The same, and `link` itself may be removed or freed meanwhile, but not `after`, the caller's second
 * pointer. */
#define COIR_LIST_FOR_SAFE(link, after, head) \
    for ((link) = (head)->next; (after) = (link)->next, (link) != (head); (link) = (after))

/* ---- the FIFO ---- */

/* A node of a FIFO: one pointer. */
#ifndef COIR_NODE_DECLARED
#define COIR_NODE_DECLARED
struct coir_node {
    struct coir_node *next; /* meaningless outside a FIFO */
};

/* head == NULL: empty, and tail means nothing. Zeroed memory is an empty FIFO. */
struct coir_fifo {
    struct coir_node *head, *tail;
};
#endif

static inline void coir_fifo_init(struct coir_fifo *fifo)
{
    fifo->head = fifo->tail = NULL;
}

static inline bool coir_fifo_empty(const struct coir_fifo *fifo)
{
    return fifo->head == NULL;
}

/* Appends a node. */
static inline void coir_fifo_push(struct coir_fifo *fifo, struct coir_node *node)
{
    node->next = NULL;
    if (fifo->head == NULL)
        fifo->head = node;
    else
        fifo->tail->next = node;
    fifo->tail = node;
}

/* Puts a node before all others. */
static inline void coir_fifo_push_front(struct coir_fifo *fifo, struct coir_node *node)
{
    node->next = fifo->head;
    if (fifo->head == NULL)
        fifo->tail = node;
    fifo->head = node;
}

/* Removes and returns the first node, or NULL. */
static inline struct coir_node *coir_fifo_pop(struct coir_fifo *fifo)
{
    struct coir_node *node = fifo->head;

    if (node != NULL)
        fifo->head = node->next;
    return node;
}

/* Moves all nodes of `from` behind those of `to`, in order; `from` is empty afterwards. */
static inline void coir_fifo_append(struct coir_fifo *to, struct coir_fifo *from)
{
    if (from->head == NULL)
        return;
    if (to->head == NULL)
        to->head = from->head;
    else
        to->tail->next = from->head;
    to->tail = from->tail;
    from->head = NULL;
}

#endif
