/* SPDX-License-Identifier: MIT */
/*
 * The inbox of a shard: a lock-free queue of intrusive messages, many producers, one consumer. It owns no
 * memory: a message belongs to its producer until it is pushed, to the inbox until it is taken, to the
 * consumer afterwards.
 *
 * It is a stack whose one atomic word is the newest message; the consumer takes the whole stack by one
 * exchange and reverses it. So:
 *   1. Each take is in order of arrival, and takes follow each other: FIFO per producer, and in all.
 *   2. Nobody ever dereferences a message that another party may take, so there is no ABA problem and no
 *      reclamation: a push writes into its own message only.
 *   3. A message must never be in two inboxes, nor twice in one: `next` is its only link.
 *
 *        head --> newest --> ... --> oldest --> NULL          (pushed: linked towards the past)
 *        take_all() = oldest --> ... --> newest --> NULL      (taken: linked in order of arrival)
 *
 * Who sleeps on an empty inbox keeps a flag of its own. The consumer stores `asleep` (seq_cst), then asks
 * coir_inbox_empty() and sleeps only if it is; the producer pushes, then loads `asleep` (seq_cst) and wakes
 * if it is set. Both operations here are seq_cst, so at least one of the two sees the other and no wake-up
 * is lost.
 */
#ifndef COIR_RUNTIME_BASE_INBOX_H
#define COIR_RUNTIME_BASE_INBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* The link of a message: embed it, push it, find the message by coir_container_of(). `next` is plain:
 * before the push only the producer has it, after the take only the consumer; the head's ordering hands it
 * over. */
#ifndef COIR_MSG_DECLARED
#define COIR_MSG_DECLARED
struct coir_msg {
    struct coir_msg *next;
};
#endif

/* On a cache line of its own: producers on other cores write it, and would slow down whatever shared the
 * line. */
struct coir_inbox {
    _Alignas(64) _Atomic(struct coir_msg *) head; /* the newest message, NULL when empty */
};

_Static_assert(sizeof(struct coir_msg) == 8, "a message costs one pointer");
_Static_assert(sizeof(struct coir_inbox) == 64, "the inbox fills its cache line");

/* Makes an empty inbox. Before any other thread knows of it. */
static inline void coir_inbox_init(struct coir_inbox *inbox)
{
    atomic_init(&inbox->head, NULL);
}

/* Appends a message. Any thread. True when the inbox was empty before: the consumer may have to be woken;
 * false: whoever made it non-empty has seen to that. The message may be consumed and freed before this
 * returns. */
static inline bool coir_inbox_push(struct coir_inbox *inbox, struct coir_msg *msg)
{
    /* Relaxed: `newest` is a number to us, it is linked to and compared but never followed. */
    struct coir_msg *newest = atomic_load_explicit(&inbox->head, memory_order_relaxed);

    do {
        msg->next = newest;
        /* The release in seq_cst publishes msg->next and the payload to the take's acquire. Older messages
         * of the stack stay published too: each push is a read-modify-write and so continues their release
         * sequences. Its seq_cst orders the push before the caller's following load of the consumer's
         * `asleep` flag (see the head of the file); on x86 it is the same locked instruction, on arm64 the
         * same casal. Failure is relaxed: it only brings a new number. */
    } while (!atomic_compare_exchange_weak_explicit(&inbox->head, &newest, msg, memory_order_seq_cst,
                                                    memory_order_relaxed));
    return newest == NULL;
}

/* True when nothing waits. Any thread; exact only for the consumer, and only in the sense that what it
 * missed will see a flag that the consumer stored (seq_cst) before asking. */
static inline bool coir_inbox_empty(const struct coir_inbox *inbox)
{
    /* seq_cst: this load may not be satisfied before the consumer's earlier seq_cst store of `asleep` is
     * visible. A plain mov on x86. */
    return atomic_load_explicit(&inbox->head, memory_order_seq_cst) == NULL;
}

/* Takes everything that waits, oldest first, linked by `next`, NULL-terminated; NULL when nothing does. The
 * consumer only. Read `next` before handing a message on. */
static inline struct coir_msg *coir_inbox_take_all(struct coir_inbox *inbox)
{
    struct coir_msg *newest, *oldest = NULL;

    /* Relaxed: the usual answer in a busy loop is "nothing", and a load leaves the line shared. Missing a
     * message that arrives now is the same as having looked earlier. */
    if (atomic_load_explicit(&inbox->head, memory_order_relaxed) == NULL)
        return NULL;
    /* Acquire pairs with the release of every push in the batch: their `next` and payloads are ours to
     * read. */
    newest = atomic_exchange_explicit(&inbox->head, NULL, memory_order_acquire);
    while (newest != NULL) {
        struct coir_msg *older = newest->next;

        newest->next = oldest;
        oldest = newest;
        newest = older;
    }
    return oldest;
}

#endif
