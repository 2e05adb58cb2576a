/* SPDX-License-Identifier: MIT */
/*
 * coir/channel.h - passing items from task to task, by value.
 *
 *     coir_try(f, &f->send, coir_channel_send, .channel = f->out, .item = &f->job);
 *
 *     for (;;) {
 *         coir_get(f, f->more, &f->recv, coir_channel_recv, .channel = f->in, .item = &f->job);
 *         if (!f->more)
 *             break;                      (closed, and nothing is left)
 *         ...
 *     }
 *
 * Items have one size, are copied, and come out in the order they went in, each to one receiver. Whoever
 * has waited longest is served first, by hand-over: the item is put into the memory of the oldest waiting
 * receiver and is its own from then on, so nobody barges in, and a cancellation that comes later changes
 * nothing. One that comes before takes the waiter out of the line: its status is -ECANCELED, and it has
 * received or sent nothing. So an item is never lost and never doubled.
 *
 * There are two: coir_channel between tasks of one shard, without atomics, locks, allocation or system
 * calls, and coir_xchan between shards and foreign threads.
 */
#ifndef COIR_CHANNEL_H
#define COIR_CHANNEL_H

#include <coir/task.h>

#ifdef __cplusplus
extern "C" {
#endif
# 32 "coir/channel.h"

/* A place in a line of waiters. Private. */
#ifndef COIR_LINK_DECLARED
#define COIR_LINK_DECLARED
struct coir_link {
    struct coir_link *prev, *next;
};
#endif

/* ---- on one shard ------------------------------------------------------------------------------------ */

/* A channel. In memory of the caller's: a frame, the heap, main's variables; not on the C stack of a body.
 * It is used from one shard (one made before the run belongs to the first that uses it), and its address must
 * not change. The members are private. */
struct coir_channel {
    struct coir_link senders;             /* who waits to send, oldest first; only while it is full */
    struct coir_link receivers;           /* who waits to receive, oldest first; only while it is empty */
    struct coir_shard *usual;             /* its home, if it is open, of words, and no select waits */
    size_t queued, capacity;              /* items in the ring; at most */
    struct coir_shard *home;              /* whose tasks use it; NULL: nobody has yet */
    size_t item;                          /* bytes */
    size_t first;                         /* the oldest of them, in bytes from `buffer` */
    char *buffer;                         /* `capacity` items, a ring */
    uint8_t closed;
    uint8_t owned;                        /* `buffer` is from malloc */
    uint32_t arms;                        /* of selects, that stand in the lines */
};

/*
 * Makes an empty, open channel of items of `item` bytes. Capacity 0 is a rendezvous: a send ends when its
 * item has been received. Otherwise up to `capacity` items lie in a buffer that is allocated here. Items
 * may have size 0: then only their number passes, and the operations' `item` is not looked at. 0; -ENOMEM;
 * -EINVAL when item * capacity does not fit; -EFAULT for NULL.
 */
COIR_API int coir_channel_init(struct coir_channel *c, size_t item, size_t capacity);

/* The same with a buffer of the caller's, item * capacity bytes without alignment, which must live as long as
 * the channel. -EFAULT also for a NULL buffer where one is needed. */
COIR_API int coir_channel_init_in(struct coir_channel *c, size_t item, size_t capacity, void *buffer);

/* Ends the life of a channel, and of the items left in it. Stops the program if somebody waits, and says
 * who, and where. Needed only for one whose buffer was allocated. NULL is allowed. */
COIR_API void coir_channel_destroy(struct coir_channel *c);

/* Closes it: nothing can be sent any more, what is in the buffer can still be received. Waiting senders
 * say -EPIPE, their items are not delivered; waiting receivers say that nothing is left. Never suspends.
 * Closing a second time does nothing. */
COIR_API void coir_channel_close(struct coir_channel *c);

/* Items in the buffer, and whether it is closed. */
static inline size_t coir_channel_queued(const struct coir_channel *c)
{
    return c->queued;
}
static inline bool coir_channel_is_closed(const struct coir_channel *c)
{
    return c->closed;
}

/*
 * Sends a copy of the item at `item`, which lies in a frame or on the heap and is read before the send ends.
 *   0            a receiver has it, or the buffer
 *   -EPIPE       the channel is closed, or was while this waited: nobody gets the item
 *   -ECANCELED   cancelled before there was a place: nobody gets it
 *   -EFAULT      `channel` or `item` is NULL, or on the C stack
 */
struct coir_channel_send {
    coir_frame_void;
    coir_args(struct coir_channel *channel; const void *item;);
    struct coir_link link;
    void *spare_[1];
};
coir_export(coir_channel_send);

/*
 * Receives the oldest item into `item`, in a frame or on the heap. Status 0 and result true: it is there; and
 * result false: the channel is closed and nothing is left in it. Otherwise `item` is untouched.
 *   -ECANCELED   cancelled before one came
 *   -EFAULT      `channel` or `item` is NULL, or on the C stack
 */
struct coir_channel_recv {
    coir_frame(bool);
    coir_args(struct coir_channel *channel; void *item;);
    struct coir_link link;
    void *spare_[1];
};
coir_export(coir_channel_recv);

/* The same without waiting; plain calls. `item` may lie anywhere.
 *   0          sent; received
 *   -EAGAIN    it would have to wait
 *   -EPIPE     closed; for receiving: closed, and nothing is left
 *   -EFAULT    NULL */
COIR_API int coir_channel_try_send(struct coir_channel *c, const void *item);
COIR_API int coir_channel_try_recv(struct coir_channel *c, void *item);

/* ---- from any thread to any shard -------------------------------------------------------------------- */

/*
 * A bounded channel that any number of shards, and threads that are no shards, send to and receive from.
 * While nobody waits an item costs two atomic operations on each side and no lock; who waits is woken by a
 * letter to its shard, which costs a system call only if that shard sleeps. Who waits on one counts as
 * somebody whom an outsider will wake: it is never taken for a deadlock.
 *
 * The items are in the order in which their senders got their places; of one sender, in the order sent.
 */
struct coir_xchan;

/* An empty, open channel of at most `capacity` items, at least 1, of `item` bytes each, 0 or more. NULL and
 * errno: ENOMEM, or EINVAL for a capacity of 0 or a size that does not fit. Any thread. */
COIR_API struct coir_xchan *coir_xchan_new(size_t item, size_t capacity) __attribute__((warn_unused_result));

/* Frees it, with the items left in it. Nobody may use it any more, with one exception. Who has received the
 * last item that was sent, or learnt that it is closed and nothing is left, may free it at once: calls of
 * other threads that brought that about, which sent an item, received one or closed it, may not have returned
 * yet. One of them may even be copying its item; that is waited for, blocking the thread as long as the copy
 * takes. Stops the program if a task waits, and says which, and where. NULL is allowed. Any thread. */
COIR_API void coir_xchan_free(struct coir_xchan *x);

/* As coir_channel_close. Any thread. */
COIR_API void coir_xchan_close(struct coir_xchan *x);

/* Items in it, as of some moment during the call; and what it was made for. Any thread. */
COIR_API size_t coir_xchan_queued(const struct coir_xchan *x);
COIR_API size_t coir_xchan_capacity(const struct coir_xchan *x);

/* As coir_channel_send, with its errors. A shard's thread, as every await. */
struct coir_xchan_send {
    coir_frame_void;
    coir_args(struct coir_xchan *channel; const void *item;);
    struct coir_link link;
    void *letter[2];
    struct coir_shard *home;
    void *spare_[1];
};
coir_export(coir_xchan_send);

/* As coir_channel_recv, with its errors and its result. */
struct coir_xchan_recv {
    coir_frame(bool);
    coir_args(struct coir_xchan *channel; void *item;);
    struct coir_link link;
    void *letter[2];
    struct coir_shard *home;
};
coir_export(coir_xchan_recv);

/* As coir_channel_try_send and coir_channel_try_recv. Never wait, not even for a lock that somebody
 * holds for long. Any thread, a shard's or not; not a signal handler. -EAGAIN also while another thread
 * is in the middle of putting in, or taking out, the item that is next. */
COIR_API int coir_xchan_try_send(struct coir_xchan *x, const void *item);
COIR_API int coir_xchan_try_recv(struct coir_xchan *x, void *item);

#ifdef __cplusplus
}
#endif
#endif
